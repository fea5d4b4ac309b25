/* SPDX-License-Identifier: GPL-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base.h"

static int read_fd(int fd, size_t max, char **data, size_t *len)
{
	size_t have = 0, room = 0;
	char *buf = NULL;
	ssize_t got;

	for (;;) {
		if (have + 1 >= room) {
			room = room ? room * 2 : 16384;
			buf = xrealloc(buf, room, 1);
		}
		got = read(fd, buf + have, room - have - 1);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		have += got;
		if (have > max) {
			errno = EFBIG;
			got = -1;
			break;
		}
	}
	if (got < 0) {
		free(buf);
		return -1;
	}
	buf[have] = '\0';
	*data = buf;
	if (len)
		*len = have;
	return 0;
}

int file_read(const char *path, size_t max, char **data, size_t *len,
	      struct err *err)
{
	/* O_NONBLOCK: a fifo without a writer must not hold us. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), rc;
	struct stat st;

	if (fd < 0)
		return err_sys(err, EXIT_ENVIRONMENT, errno, "can't open %s",
			       path);
	if (!fstat(fd, &st) && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode))) {
		close(fd);
		return err_set(err, EXIT_ENVIRONMENT, "%s is no regular file",
			       path);
	}
	rc = read_fd(fd, max, data, len);
	if (rc)
		err_sys(err, EXIT_ENVIRONMENT, errno, "can't read %s", path);
	close(fd);
	return rc;
}

static int write_all(int fd, const char *data, size_t len)
{
	while (len) {
		ssize_t n = write(fd, data, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		data += n;
		len -= n;
	}
	return 0;
}

/* A name beside @path that no other process uses. */
static char *beside(const char *path)
{
	static unsigned int serial;

	return xasprintf("%s.%d.%u.tmp", path, (int)getpid(), serial++);
}

/* Make what was renamed survive a crash too; some file systems can't. */
static void sync_dir_of(const char *path)
{
	char *copy = xstrdup(path);
	int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0) {
		(void)!fsync(fd);
		close(fd);
	}
	free(copy);
}

/* Take over what stands in @tmp, open as @fd, as @path. */
static int commit_file(int fd, const char *tmp, const char *path,
		       struct err *err)
{
	int bad = fsync(fd);

	if (close(fd) || bad || rename(tmp, path)) {
		err_sys(err, EXIT_ENVIRONMENT, errno, "can't write %s", path);
		unlink(tmp);
		return -1;
	}
	sync_dir_of(path);
	return 0;
}

int file_write(const char *path, const void *data, size_t len,
	       struct err *err)
{
	char *tmp = beside(path);
	int fd, rc = -1;

	fd = open(tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0) {
		err_sys(err, EXIT_ENVIRONMENT, errno, "can't write %s", path);
	} else if (write_all(fd, data, len)) {
		err_sys(err, EXIT_ENVIRONMENT, errno, "can't write %s", path);
		close(fd);
		unlink(tmp);
	} else {
		rc = commit_file(fd, tmp, path, err);
	}
	free(tmp);
	return rc;
}

/* Does @path still hold @old?  Else it is somebody else's work by now. */
static int check_holds(const char *path, const char *old, struct err *err)
{
	size_t want = strlen(old), len;
	bool same;
	char *now;

	if (file_read(path, want + 1, &now, &len, err)) {
		err_prefix(err, "it changed meanwhile");
		return -1;
	}
	same = len == want && !memcmp(now, old, len);
	free(now);
	return same ? 0 : err_set(err, EXIT_ENVIRONMENT,
				  "%s was changed meanwhile; try again", path);
}

int file_replace(const char *path, const char *old, const char *text,
		 struct err *err)
{
	char *real = realpath(path, NULL), *tmp;
	struct stat st;
	int fd = -1, rc = -1;

	/* A rename(2) would not ask whether the file itself may be written. */
	if (!real || stat(real, &st) || access(real, W_OK)) {
		err_sys(err, EXIT_ENVIRONMENT, errno, "can't write %s", path);
		free(real);
		return -1;
	}
	tmp = beside(real);
	fd = open(tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0) {
		err_sys(err, EXIT_ENVIRONMENT, errno, "can't write %s", path);
		goto out;
	}
	/* The mode last: a change of owner takes set-id bits away. */
	if (write_all(fd, text, strlen(text)) ||
	    fchown(fd, st.st_uid, st.st_gid) ||
	    fchmod(fd, st.st_mode & 07777))
		err_sys(err, EXIT_ENVIRONMENT, errno,
			"can't write %s with its mode and owner", path);
	else if (!check_holds(real, old, err)) {
		rc = commit_file(fd, tmp, real, err);
		goto out;
	}
	close(fd);
	unlink(tmp);
out:
	free(tmp);
	free(real);
	return rc;
}

int file_of_text(const char *text, struct err *err)
{
	int fd = memfd_create("text", MFD_CLOEXEC);

	if (fd >= 0 && !write_all(fd, text, strlen(text)) &&
	    lseek(fd, 0, SEEK_SET) == 0)
		return fd;
	err_sys(err, EXIT_ENVIRONMENT, errno, "can't keep text in memory");
	if (fd >= 0)
		close(fd);
	return -1;
}

static int copy_fd(int in, int out)
{
	char *buf = xmalloc(1 << 20);
	ssize_t n;

	while ((n = read(in, buf, 1 << 20)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 || write_all(out, buf, n))
			break;
	}
	free(buf);
	return n == 0 ? 0 : -1;
}

int file_copy(const char *from, const char *to, struct err *err)
{
	int in, out, rc = -1;
	struct stat st;
	char *tmp;

	in = open(from, O_RDONLY | O_CLOEXEC);
	if (in < 0 || fstat(in, &st)) {
		err_sys(err, EXIT_ENVIRONMENT, errno, "can't open %s", from);
		goto out_in;
	}
	tmp = beside(to);
	out = open(tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
		   st.st_mode & 0777);
	if (out < 0) {
		err_sys(err, EXIT_ENVIRONMENT, errno, "can't write %s", to);
	} else if (copy_fd(in, out)) {
		err_sys(err, EXIT_ENVIRONMENT, errno, "can't copy %s to %s",
			from, to);
		close(out);
		unlink(tmp);
	} else {
		rc = commit_file(out, tmp, to, err);
	}
	free(tmp);
out_in:
	if (in >= 0)
		close(in);
	return rc;
}

int file_mkdirs(const char *path, struct err *err)
{
	char *copy = xstrdup(path), *p = copy;
	int rc = 0;

	while (!rc && *p) {
		p += strspn(p, "/");
		p += strcspn(p, "/");

		char c = *p;

		*p = '\0';
		if (*copy && mkdir(copy, 0777) && errno != EEXIST)
			rc = err_sys(err, EXIT_ENVIRONMENT, errno,
				     "can't make directory %s", copy);
		*p = c;
	}
	free(copy);
	if (!rc) {
		struct stat st;

		if (stat(path, &st) || !S_ISDIR(st.st_mode))
			rc = err_set(err, EXIT_ENVIRONMENT,
				     "%s is there but is no directory", path);
	}
	return rc;
}

static int remove_below(int dirfd, const char *name, dev_t dev)
{
	struct dirent *de;
	struct stat st;
	DIR *dir;
	int fd, rc = 0;

	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? 0 : -1;
	if (!S_ISDIR(st.st_mode))
		return unlinkat(dirfd, name, 0);
	if (dev && st.st_dev != dev) {
		errno = EXDEV;
		return -1;
	}
	fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -1;
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return -1;
	}
	while (!rc && (de = readdir(dir))) {
		if (strcmp(de->d_name, ".") && strcmp(de->d_name, ".."))
			rc = remove_below(fd, de->d_name, st.st_dev);
	}
	closedir(dir);
	return rc ? rc : unlinkat(dirfd, name, AT_REMOVEDIR);
}

int file_remove_tree(const char *path, struct err *err)
{
	if (remove_below(AT_FDCWD, path, 0))
		return err_sys(err, EXIT_ENVIRONMENT, errno,
			       "can't remove %s", path);
	return 0;
}

bool file_exists(const char *path)
{
	return access(path, F_OK) == 0;
}

int file_free_space(const char *path, uint64_t *bytes, struct err *err)
{
	struct statvfs v;

	if (statvfs(path, &v))
		return err_sys(err, EXIT_ENVIRONMENT, errno,
			       "can't tell the free space of %s", path);
	*bytes = (uint64_t)v.f_bavail * v.f_frsize;
	return 0;
}

static int lock_open(struct lock *l, const char *path, struct err *err)
{
	l->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (l->fd < 0)
		return err_sys(err, EXIT_ENVIRONMENT, errno,
			       "can't open the lock file %s", path);
	return 0;
}

/* Did the file go while we waited for it (its holder removed it)? */
static bool gone(const struct lock *l)
{
	struct stat st;

	return fstat(l->fd, &st) == 0 && st.st_nlink == 0;
}

int lock_try(struct lock *l, const char *path, struct err *err)
{
	if (lock_open(l, path, err))
		return -1;
	if (flock(l->fd, LOCK_EX | LOCK_NB) == 0) {
		if (!gone(l))
			return 0;
		close(l->fd);
		return lock_try(l, path, err);
	}
	if (errno != EWOULDBLOCK)
		err_sys(err, EXIT_ENVIRONMENT, errno, "can't lock %s", path);
	close(l->fd);
	l->fd = -1;
	return err->code ? -1 : 1;
}

int lock_wait(struct lock *l, const char *path, void (*waiting)(void *arg),
	      void *arg, struct err *err)
{
	int rc = lock_try(l, path, err);

	if (rc <= 0)
		return rc;
	if (waiting)
		waiting(arg);
	if (lock_open(l, path, err))
		return -1;
	/* Our signal handlers do not restart: a Ctrl-C ends the wait. */
	while (flock(l->fd, LOCK_EX)) {
		if (errno == EINTR && !intr_check(err))
			continue;
		if (!err->code)
			err_sys(err, EXIT_ENVIRONMENT, errno, "can't lock %s",
				path);
		close(l->fd);
		l->fd = -1;
		return -1;
	}
	if (gone(l)) {
		close(l->fd);
		return lock_wait(l, path, waiting, arg, err);
	}
	return 0;
}

void lock_release(struct lock *l)
{
	if (l->fd >= 0)
		close(l->fd);
	l->fd = -1;
}

char *cache_dir(struct err *err)
{
	const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	char *dir;

	/* The XDG specification: a relative path is to be ignored. */
	if (xdg && xdg[0] == '/')
		dir = xasprintf("%s/folab", xdg);
	else if (home && home[0] == '/')
		dir = xasprintf("%s/.cache/folab", home);
	else {
		err_set(err, EXIT_ENVIRONMENT,
			"no place for the cache: set HOME or XDG_CACHE_HOME");
		return NULL;
	}
	if (file_mkdirs(dir, err)) {
		free(dir);
		return NULL;
	}
	return dir;
}

char *home_path(const char *rel)
{
	const char *home = getenv("FOLAB_HOME");
	char exe[4096], *path;
	ssize_t n;

	if (home && *home)
		return xasprintf("%s/%s", home, rel);
	n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	if (n > 0) {
		exe[n] = '\0';
		/* SOURCE/build/folab, or a test in SOURCE/build/tests/. */
		for (int up = 0; up < 3; up++) {
			char *slash = strrchr(exe, '/');

			if (!slash)
				break;
			*slash = '\0';
			path = xasprintf("%s/harness/base/base.h", exe);
			if (file_exists(path)) {
				free(path);
				return xasprintf("%s/%s", exe, rel);
			}
			free(path);
		}
	}
	/* Installed: PREFIX/bin/folab, wherever PREFIX is now. */
	n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	if (n > 0) {
		exe[n] = '\0';
		path = xasprintf("%s/../share/folab", dirname(exe));
		if (file_exists(path)) {
			char *below = xasprintf("%s/%s", path, rel);

			free(path);
			return below;
		}
		free(path);
	}
	return xasprintf(FOLAB_PREFIX "/share/folab/%s", rel);
}

int file_poke(const char *path, int how, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC | how), ret = 0;

	if (fd < 0)
		return errno;
	if (write(fd, text, strlen(text)) < 0)
		ret = errno;
	close(fd);
	return ret;
}
