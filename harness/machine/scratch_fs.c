/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The scratch file system: made on the host, carried into the guest's RAM
 * disk as the few blocks that are not zero.
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

/* Current mkfs.xfs refuses anything below 300 MB. */
#define XFS_MIN_BYTES	(320ull << 20)
#define BLOCK		4096u
#define RUN_BLOCKS	256u	/* longest run, in blocks */

uint64_t scratch_bytes(const struct job *job)
{
	uint64_t n = job->fs_bytes;

	if (!n)
		return 0;
	if (n < XFS_MIN_BYTES)
		n = XFS_MIN_BYTES;
	return (n + BLOCK - 1) / BLOCK * BLOCK;
}

/* These live in sbin, which an ordinary user's PATH may lack. */
static int find_tool(const char *name, char **path, struct err *err)
{
	static const char *const dirs[] = { "/usr/sbin", "/sbin" };

	*path = xstrdup(name);
	for (size_t i = 0; i < ARRAY_SIZE(dirs) && !program_exists(*path); i++) {
		free(*path);
		*path = xasprintf("%s/%s", dirs[i], name);
	}
	if (program_exists(*path))
		return 0;
	free(*path);
	*path = NULL;
	return err_set(err, EXIT_ENVIRONMENT,
		       "no %s on this host: install the package xfsprogs", name);
}

int scratch_version(char **version, struct err *err)
{
	char *tool, *out = NULL, *number;
	int rc;

	if (find_tool("mkfs.xfs", &tool, err))
		return -1;
	{
		char *argv[] = { tool, (char *)"-V", NULL };
		struct child_spec spec = { .argv = argv, .output = -1 };

		rc = child_capture(&spec, true, &out, err);
	}
	free(tool);
	if (rc < 0)
		return -1;
	out[strcspn(out, "\n")] = '\0';
	number = strrchr(out, ' ');
	*version = xasprintf("mkfs.xfs %s", number ? number + 1 : out);
	free(out);
	return 0;
}

static int run_tool(const char *name, const struct strlist *args,
		    struct err *err)
{
	struct strlist argv = { 0 };
	struct child_spec spec = { .output = -1 };
	char *tool;
	int rc;

	if (find_tool(name, &tool, err))
		return -1;
	strlist_add(&argv, tool);
	for (size_t i = 0; i < args->n; i++)
		strlist_add(&argv, args->v[i]);
	spec.argv = argv.v;
	rc = child_run(&spec, NULL, EXIT_ENVIRONMENT, err);
	strlist_free(&argv);
	free(tool);
	return rc;
}

/*
 * Everything that mkfs.xfs would choose by this host or by its release is
 * pinned, as far as 6.1 knows it.
 */
int scratch_mkfs(const char *image, struct err *err)
{
	static const char *const fixed[] = {
		"-q", "-f", "-K", "-L", "folab", "-b", "size=4096",
		"-s", "size=512", "-i", "size=512,nrext64=0",
		"-d", "agcount=4,noalign", "-l", "size=64m",
		"-m", "crc=1,finobt=1,rmapbt=0,reflink=0,bigtime=1,inobtcount=1",
		"-m", "uuid=0f01ab00-6c61-4b00-8000-000000000001",
	};
	struct strlist args = { 0 };
	int rc;

	for (size_t i = 0; i < ARRAY_SIZE(fixed); i++)
		strlist_add(&args, fixed[i]);
	strlist_add(&args, image);
	rc = run_tool("mkfs.xfs", &args, err);
	strlist_free(&args);
	return rc;
}

/*
 * mkfs.xfs leaves the time of day and a random generation in the three inodes
 * that it makes (root and the two of the realtime device).  xfs_db writes them
 * over and does the checksums.
 */
static int make_repeatable(const char *image, struct err *err)
{
	static const char *const times[] = {
		"core.atime", "core.mtime", "core.ctime", "v3.crtime",
	};
	struct strlist args = { 0 };
	int rc;

	strlist_add(&args, "-x");
	for (int ino = 0; ino < 3; ino++) {
		strlist_add(&args, "-c");
		strlist_add(&args, "sb 0");
		strlist_add(&args, "-c");
		strlist_addf(&args, "addr %s", ino == 0 ? "rootino" :
			     ino == 1 ? "rbmino" : "rsumino");
		strlist_add(&args, "-c");
		strlist_add(&args, "write core.gen 1");
		for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
			strlist_add(&args, "-c");
			strlist_addf(&args, "write %s.sec 0", times[i]);
			strlist_add(&args, "-c");
			strlist_addf(&args, "write %s.nsec 0", times[i]);
		}
	}
	strlist_add(&args, image);
	rc = run_tool("xfs_db", &args, err);
	strlist_free(&args);
	return rc;
}

static bool is_zero(const unsigned char *p, size_t len)
{
	return !p[0] && !memcmp(p, p + 1, len - 1);
}

static int put_run(FILE *out, uint64_t offset, const void *data, uint64_t len)
{
	uint64_t head[2] = { htole64(offset), htole64(len) };

	return fwrite(head, sizeof(head), 1, out) == 1 &&
	       (!len || fwrite(data, len, 1, out) == 1) ? 0 : -1;
}

/* Write the runs within [@from, @to) of @in. */
static int put_extent(int in, uint64_t from, uint64_t to, FILE *out)
{
	static unsigned char buf[RUN_BLOCKS * BLOCK];
	uint64_t pos = from;

	while (pos < to) {
		size_t want = to - pos < sizeof(buf) ? to - pos : sizeof(buf);
		ssize_t got = pread(in, buf, want, pos);
		size_t start = 0, at;

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return -1;
		got -= got % BLOCK;
		if (!got)
			return -1;
		for (at = 0; at <= (size_t)got; at += BLOCK) {
			if (at < (size_t)got && !is_zero(buf + at, BLOCK))
				continue;
			if (at > start && put_run(out, pos + start, buf + start,
						  at - start))
				return -1;
			start = at + BLOCK;
		}
		pos += got;
	}
	return 0;
}

static int put_runs(int in, uint64_t size, FILE *out)
{
	uint64_t end, data = 0;

	for (;;) {
		off_t o = lseek(in, data, SEEK_DATA);

		if (o < 0 && errno == ENXIO)	/* only a hole from here */
			break;
		if (o < 0)
			return -1;
		/* Where holes end depends on the host's file system. */
		data = o / BLOCK * BLOCK;
		o = lseek(in, o, SEEK_HOLE);
		if (o < 0)
			return -1;
		end = (o + BLOCK - 1) / BLOCK * BLOCK;
		if (end > size)
			end = size;
		if (put_extent(in, data, end, out))
			return -1;
		data = end;
		if (data >= size)
			break;
	}
	return put_run(out, size, NULL, 0);
}

static int write_runs(const char *image, uint64_t size, const char *path,
		      struct err *err)
{
	int in = open(image, O_RDONLY | O_CLOEXEC), rc = -1;
	FILE *out;

	if (in < 0)
		return err_sys(err, EXIT_ENVIRONMENT, errno, "can't read %s",
			       image);
	out = fopen(path, "we");
	if (out) {
		rc = put_runs(in, size, out);
		if (fclose(out))
			rc = -1;
	}
	if (rc)
		err_sys(err, EXIT_ENVIRONMENT, errno, "can't write %s", path);
	close(in);
	return rc;
}

int scratch_make(const struct job *job, const char *dir, const char *path,
		 struct err *err)
{
	uint64_t size = scratch_bytes(job);
	char *image;
	int fd, rc = -1;

	if (!job->fs || strcmp(job->fs, "xfs"))
		return err_set(err, EXIT_USAGE,
			       "no way to make a file system %s: it can be xfs",
			       job->fs ? job->fs : "(none)");
	image = xasprintf("%s/fs.img", dir);
	fd = open(image, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, size)) {
		err_sys(err, EXIT_ENVIRONMENT, errno, "can't make %s", image);
		goto out;
	}
	if (!scratch_mkfs(image, err) && !make_repeatable(image, err))
		rc = write_runs(image, size, path, err);
out:
	if (fd >= 0)
		close(fd);
	unlink(image);
	free(image);
	return rc;
}
