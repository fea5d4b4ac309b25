/* SPDX-License-Identifier: GPL-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "outdir.h"

/* Names that a run of ours writes; nothing else is ever removed. */
static bool is_our_name(const char *name)
{
	static const char *const names[] = {
		"result.json", "report.txt", "report.html", "profile-A.json",
		"profile-B.json", "kernel-A.config", "kernel-B.config",
		"profile-C.json", "profile-D.json", "calls-A.json", "kernel-C.config",
		"kernel-D.config",
		"check.ktap", "check.xml", "kernel.config",
		"selftests-A.ktap", "selftests-B.ktap",
		"tune.gp", "tune.svg",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		/* A run that was killed while it wrote one: NAME.PID.N.tmp. */
		if (!strcmp(name, names[i]) ||
		    (str_starts(name, names[i]) && str_ends(name, ".tmp")))
			return true;
	}
	return (str_starts(name, "console-") && str_ends(name, ".log")) ||
		(str_starts(name, "series-") &&
		 (str_ends(name, ".mbox") || str_ends(name, ".tmp")));
}

/* Is there nothing in @dir but files with names of ours? */
static bool is_ours(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *de;
	struct stat st;
	bool ours = d != NULL;

	while (d && (de = readdir(d))) {
		if (!strcmp(de->d_name, ".") || !strcmp(de->d_name, ".."))
			continue;
		if (fstatat(dirfd(d), de->d_name, &st, AT_SYMLINK_NOFOLLOW)) {
			ours = false;
		} else if (S_ISDIR(st.st_mode)) {
			/* folab check keeps each guest's console apart, folab
			 * ab those of a row. */
			char *below = xasprintf("%s/%s", dir, de->d_name);

			if ((!str_starts(de->d_name, "guest-") &&
			     !str_starts(de->d_name, "row-")) ||
			    !is_ours(below))
				ours = false;
			free(below);
		} else if (!S_ISREG(st.st_mode) || !is_our_name(de->d_name)) {
			ours = false;
		}
	}
	if (d)
		closedir(d);
	return ours;
}

/* Where results go that have not been told where. */
static char *default_dir(void)
{
	char *tree = home_path("Makefile"), *dir;

	dir = file_exists(tree) ? home_path("results") : xstrdup("results");
	free(tree);
	return dir;
}

static char *default_path(const char *name)
{
	char *dir = default_dir(), *path;
	time_t now = time(NULL);
	struct tm tm;
	char when[32];

	localtime_r(&now, &tm);
	strftime(when, sizeof(when), "%Y%m%d-%H%M%S", &tm);
	path = xasprintf("%s/%s-%s", dir, name, when);
	free(dir);
	return path;
}

static bool is_later(const struct stat *a, const struct stat *b)
{
	return a->st_mtim.tv_sec > b->st_mtim.tv_sec ||
		(a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
		 a->st_mtim.tv_nsec > b->st_mtim.tv_nsec);
}

char *outdir_newest(struct err *err)
{
	char *dir = default_dir(), *best = NULL;
	DIR *d = opendir(dir);
	struct stat st, best_st = { 0 };
	struct dirent *de;

	while (d && (de = readdir(d))) {
		char *json = xasprintf("%s/result.json", de->d_name);

		if (de->d_name[0] != '.' && !str_ends(de->d_name, ".partial") &&
		    !str_ends(de->d_name, ".old") &&
		    !fstatat(dirfd(d), json, &st, 0) &&
		    (!best || is_later(&st, &best_st))) {
			free(best);
			best = xasprintf("%s/%s", dir, de->d_name);
			best_st = st;
		}
		free(json);
	}
	if (d)
		closedir(d);
	if (!best)
		err_set(err, EXIT_USAGE,
			"there is no result in %s; name one with -r", dir);
	free(dir);
	return best;
}

/* May @path, if it is there, be replaced by a result, or removed? */
static int check_ours(const char *path, struct err *err)
{
	struct stat st;

	if (lstat(path, &st)) {
		if (errno == ENOENT)
			return 0;
		return err_sys(err, EXIT_ENVIRONMENT, errno, "can't use %s",
			       path);
	}
	if (!S_ISDIR(st.st_mode))
		return err_set(err, EXIT_USAGE,
			       "%s is there and is no directory; choose another with -o",
			       path);
	if (!is_ours(path))
		return err_set(err, EXIT_USAGE,
			       "%s holds something else than a result; choose another with -o",
			       path);
	return 0;
}

static char *old_path(const struct outdir *d)
{
	return xasprintf("%s.old", d->path);
}

/* All that will be replaced or removed, before an hour of work goes into it. */
static int check_target(const struct outdir *d, struct err *err)
{
	char *old = old_path(d);
	int rc = check_ours(d->path, err);

	if (!rc)
		rc = check_ours(d->partial, err);
	if (!rc)
		rc = check_ours(old, err);
	free(old);
	return rc;
}

static int take_partial(struct outdir *d, struct err *err)
{
	char *parent = xstrdup(d->partial), *lock;
	int rc = file_mkdirs(dirname(parent), err);

	free(parent);
	if (rc)
		return -1;
	lock = xasprintf("%s.lock", d->partial);
	rc = lock_try(&d->lock, lock, err);
	free(lock);
	if (rc > 0)
		return err_set(err, EXIT_BUSY,
			       "another folab is writing to %s; wait for it, or choose another with -o",
			       d->path);
	if (rc)
		return -1;
	/* Ours now: whatever a killed run left in it goes. */
	if (file_remove_tree(d->partial, err) || file_mkdirs(d->partial, err))
		return -1;
	return 0;
}

/* Without -o each run has a name of its own: sweep what killed ones left. */
static void sweep_killed(const char *dir)
{
	struct err ignored = { 0 };
	struct dirent *de;
	struct lock l;
	DIR *d = opendir(dir);

	while (d && (de = readdir(d))) {
		char *lock, *partial;

		if (!str_ends(de->d_name, ".partial.lock"))
			continue;
		lock = xasprintf("%s/%s", dir, de->d_name);
		partial = xstrndup(lock, strlen(lock) - strlen(".lock"));
		err_clear(&ignored);
		if (lock_try(&l, lock, &ignored) == 0) {
			if (is_ours(partial))
				file_remove_tree(partial, &ignored);
			if (!file_exists(partial))
				unlink(lock);
			lock_release(&l);
		}
		free(partial);
		free(lock);
	}
	if (d)
		closedir(d);
}

int outdir_open(struct outdir *d, const char *path, const char *name,
		struct err *err)
{
	char *parent;
	size_t n;

	d->lock.fd = -1;
	d->path = path ? xstrdup(path) : default_path(name);
	n = strlen(d->path);
	while (n > 1 && d->path[n - 1] == '/')
		d->path[--n] = '\0';
	d->partial = xasprintf("%s.partial", d->path);
	/* A name that can't be renamed onto: "/", ".", "..", "DIR/..". */
	if (!n || !strcmp(d->path, "/") || !strcmp(d->path, ".") ||
	    !strcmp(d->path, "..") || str_ends(d->path, "/.") ||
	    str_ends(d->path, "/.."))
		return err_set(err, EXIT_USAGE,
			       "-o needs the name of a directory to make, not \"%s\"",
			       d->path);
	if (check_target(d, err))
		return -1;
	if (!path) {
		parent = xstrdup(d->path);
		sweep_killed(dirname(parent));
		free(parent);
	}
	return take_partial(d, err);
}

/* Move an earlier result out of the way, and the one before that away. */
static int make_room(const struct outdir *d, struct err *err)
{
	char *old;
	int rc;

	if (!file_exists(d->path) || rmdir(d->path) == 0)
		return 0;
	old = old_path(d);
	rc = file_remove_tree(old, err);
	if (!rc && rename(d->path, old))
		rc = err_sys(err, EXIT_ENVIRONMENT, errno,
			     "can't rename %s to %s", d->path, old);
	free(old);
	return rc;
}

int outdir_commit(struct outdir *d, struct err *err)
{
	/* Looked at again: a run takes long, and the directory is not locked. */
	if (!check_target(d, err) && !make_room(d, err)) {
		if (rename(d->partial, d->path) == 0)
			return 0;
		err_sys(err, EXIT_ENVIRONMENT, errno, "can't rename %s to %s",
			d->partial, d->path);
	}
	d->keep = true;
	return err_prefix(err, "the result is whole, but stays in %s",
			  d->partial);
}

void outdir_close(struct outdir *d)
{
	struct err ignored = { 0 };
	char *lock;

	if (d->lock.fd >= 0) {
		if (!d->keep)
			file_remove_tree(d->partial, &ignored);
		lock = xasprintf("%s.lock", d->partial);
		unlink(lock);
		free(lock);
		lock_release(&d->lock);
	}
	free(d->path);
	free(d->partial);
	memset(d, 0, sizeof(*d));
	d->lock.fd = -1;
}
