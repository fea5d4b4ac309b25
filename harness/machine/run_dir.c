/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A directory for a run's temporary files, in the cache.  Its lock tells the
 * next run whether its owner still lives.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "internal.h"

/* Remove @name below @parent unless somebody holds its lock. */
static void sweep_one(const char *parent, const char *name)
{
	char *path = xasprintf("%s/%s", parent, name);
	char *file = xasprintf("%s/lock", path);
	struct err ignored = { 0 };
	struct lock lock;

	if (lock_try(&lock, file, &ignored) == 0) {
		/* What can't be removed now stays for the next sweep. */
		file_remove_tree(path, &ignored);
		lock_release(&lock);
	}
	free(file);
	free(path);
}

static void sweep(const char *parent)
{
	DIR *dir = opendir(parent);
	struct dirent *de;

	if (!dir)
		return;
	while ((de = readdir(dir)))
		if (str_starts(de->d_name, "run-"))
			sweep_one(parent, de->d_name);
	closedir(dir);
}

int run_dir_make(struct run_dir *d, struct err *err)
{
	char *cache = cache_dir(err), *parent, *gate_path, *file;
	struct lock gate;
	int rc = -1;

	*d = (struct run_dir){ .lock = { .fd = -1 } };
	if (!cache)
		return -1;
	parent = xasprintf("%s/runs", cache);
	gate_path = xasprintf("%s/lock", parent);
	/* Between making a directory and locking it, nobody may sweep. */
	if (file_mkdirs(parent, err) ||
	    lock_wait(&gate, gate_path, NULL, NULL, err))
		goto out;
	sweep(parent);
	d->path = xasprintf("%s/run-XXXXXX", parent);
	if (!mkdtemp(d->path)) {
		err_sys(err, EXIT_ENVIRONMENT, errno, "can't make %s", d->path);
		free(d->path);
		d->path = NULL;
	} else {
		file = xasprintf("%s/lock", d->path);
		rc = lock_try(&d->lock, file, err);
		free(file);
		if (rc)
			run_dir_remove(d);
	}
	lock_release(&gate);
out:
	free(gate_path);
	free(parent);
	free(cache);
	return rc;
}

void run_dir_remove(struct run_dir *d)
{
	struct err ignored = { 0 };

	if (d->path)
		file_remove_tree(d->path, &ignored);
	lock_release(&d->lock);
	free(d->path);
	d->path = NULL;
}
