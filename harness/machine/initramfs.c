/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The initramfs: everything that the guest gets to see.
 *
 * It is neither compressed nor does it hold a time, an owner or an inode
 * number of this host: inflating it would cost the guest more than QEMU needs
 * to load it, and the same input has to give the same boot.
 */
#include <archive.h>
#include <archive_entry.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "internal.h"

#define AGENT_MAX	(64u << 20)
#define RUNS_MAX	(256u << 20)

struct cpio {
	struct archive *a;
	const char *path;
	int64_t ino;
	struct strlist dirs;	/* that are in it */
};

static int failed(struct cpio *c, struct err *err)
{
	const char *text = archive_error_string(c->a);
	int code = archive_errno(c->a);

	if (code > 0 && code != EINVAL)
		return err_sys(err, EXIT_ENVIRONMENT, code, "can't write %s",
			       c->path);
	return err_set(err, EXIT_ENVIRONMENT, "can't write %s: %s", c->path,
		       text ? text : "unknown error");
}

static int add(struct cpio *c, const char *name, mode_t mode, dev_t rdev,
	       const void *data, size_t len, struct err *err)
{
	struct archive_entry *e = archive_entry_new();
	int rc = 0;

	archive_entry_set_pathname(e, name);
	archive_entry_set_mode(e, mode);
	archive_entry_set_nlink(e, S_ISDIR(mode) ? 2 : 1);
	archive_entry_set_ino64(e, ++c->ino);
	archive_entry_set_uid(e, 0);
	archive_entry_set_gid(e, 0);
	archive_entry_set_mtime(e, 0, 0);
	archive_entry_set_rdev(e, rdev);
	archive_entry_set_size(e, len);
	if (archive_write_header(c->a, e) != ARCHIVE_OK ||
	    (len && archive_write_data(c->a, data, len) != (la_ssize_t)len))
		rc = failed(c, err);
	archive_entry_free(e);
	return rc;
}

static int add_file(struct cpio *c, const char *name, mode_t mode,
		    const char *from, size_t max, struct err *err)
{
	size_t len;
	char *data;
	int rc;

	if (file_read(from, max, &data, &len, err))
		return -1;
	rc = add(c, name, S_IFREG | mode, 0, data, len, err);
	free(data);
	return rc;
}

static int add_job(struct cpio *c, const struct job *job, struct err *err)
{
	json_t *o = job_to_json(job);
	char *text = json_dumps(o, JSON_SORT_KEYS | JSON_INDENT(2));
	int rc;

	json_decref(o);
	if (!text)
		return err_set(err, EXIT_USAGE, "the job can't be written as JSON");
	rc = add(c, "job.json", S_IFREG | 0444, 0, text, strlen(text), err);
	free(text);
	return rc;
}

/* A program may stand in the job more than once. */
static bool seen_before(const struct job *job, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (!strcmp(job->cases[k].program, job->cases[i].program))
			return true;
	return false;
}

static int add_cases(struct cpio *c, const struct job *job, const char *dir,
		     struct err *err)
{
	if (add(c, "cases", S_IFDIR | 0755, 0, NULL, 0, err))
		return -1;
	for (size_t i = 0; i < job->n_cases; i++) {
		const char *name = job->cases[i].program;
		char *from, *to;
		int rc;

		if (seen_before(job, i))
			continue;
		from = xasprintf("%s/%s", dir, name);
		to = xasprintf("cases/%s", name);
		rc = add_file(c, to, 0755, from, AGENT_MAX, err);
		free(to);
		free(from);
		if (rc)
			return -1;
	}
	return 0;
}

/* What two trees share, or a tree and ourselves, is there once. */
static int add_dir(struct cpio *c, const char *name, struct err *err)
{
	for (size_t i = 0; i < c->dirs.n; i++)
		if (!strcmp(c->dirs.v[i], name))
			return 0;
	strlist_add(&c->dirs, name);
	return add(c, name, S_IFDIR | 0755, 0, NULL, 0, err);
}

static int add_tree(struct cpio *c, const char *from, const char *to,
		    struct err *err);

/* A regular file, or a directory with all below; anything else is refused. */
static int add_entry(struct cpio *c, const char *from, const char *to,
		     struct err *err)
{
	struct stat st;

	if (lstat(from, &st))
		return err_sys(err, EXIT_ENVIRONMENT, errno, "can't read %s",
			       from);
	if (S_ISREG(st.st_mode))
		return add_file(c, to, st.st_mode & 0100 ? 0755 : 0644, from,
				AGENT_MAX, err);
	if (!S_ISDIR(st.st_mode))
		return err_set(err, EXIT_ENVIRONMENT,
			       "%s is neither file nor directory", from);
	return add_dir(c, to, err) || add_tree(c, from, to, err) ? -1 : 0;
}

/* Everything below directory @from, as @to/... ("": at the top), by name. */
static int add_tree(struct cpio *c, const char *from, const char *to,
		    struct err *err)
{
	struct dirent **list;
	int n = scandir(from, &list, NULL, alphasort), rc = 0;

	if (n < 0)
		return err_sys(err, EXIT_ENVIRONMENT, errno, "can't read %s",
			       from);
	for (int i = 0; i < n; i++) {
		const char *name = list[i]->d_name;

		if (!rc && strcmp(name, ".") && strcmp(name, "..")) {
			char *below = xasprintf("%s/%s", from, name);
			char *path = xasprintf("%s%s%s", to, *to ? "/" : "",
					       name);

			rc = add_entry(c, below, path, err);
			free(path);
			free(below);
		}
		free(list[i]);
	}
	free(list);
	return rc;
}

static int fill(struct cpio *c, const char *agent, const struct job *job,
		const char *runs, const char *cases,
		const struct strlist *trees, struct err *err)
{
	static const char *const dirs[] = {
		"dev", "mnt", "proc", "run", "sys", "tmp",
	};

	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++)
		if (add_dir(c, dirs[i], err))
			return -1;
	/* The kernel opens it as init's standard files before devtmpfs is there. */
	if (add(c, "dev/console", S_IFCHR | 0600, makedev(5, 1), NULL, 0, err) ||
	    add_file(c, "init", 0755, agent, AGENT_MAX, err) ||
	    add_job(c, job, err))
		return -1;
	if (cases && add_cases(c, job, cases, err))
		return -1;
	for (size_t i = 0; trees && i < trees->n; i++)
		if (add_tree(c, trees->v[i], "", err))
			return -1;
	return runs ? add_file(c, "fs.img.runs", 0444, runs, RUNS_MAX, err) : 0;
}

int initramfs_make(const char *path, const char *agent, const struct job *job,
		   const char *runs, const char *cases,
		   const struct strlist *trees, struct err *err)
{
	struct cpio c = { .a = archive_write_new(), .path = path };
	int rc = -1;

	if (!c.a)
		return err_set(err, EXIT_ENVIRONMENT, "out of memory");
	if (archive_write_set_format_cpio_newc(c.a) != ARCHIVE_OK ||
	    archive_write_add_filter_none(c.a) != ARCHIVE_OK ||
	    archive_write_open_filename(c.a, path) != ARCHIVE_OK)
		failed(&c, err);
	else if (!fill(&c, agent, job, runs, cases, trees, err)) {
		/* A full disk may show up only here. */
		if (archive_write_close(c.a) == ARCHIVE_OK)
			rc = 0;
		else
			failed(&c, err);
	}
	archive_write_free(c.a);
	strlist_free(&c.dirs);
	return rc;
}

/* @name in the directory of the running program, or one above (tests). */
static char *beside_us(const char *name)
{
	char exe[PATH_MAX], *path, *slash;
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	if (n <= 0)
		return NULL;
	exe[n] = '\0';
	for (int up = 0; up < 2; up++) {
		slash = strrchr(exe, '/');
		if (!slash)
			return NULL;
		*slash = '\0';
		path = xasprintf("%s/%s", exe, name);
		if (file_exists(path))
			return path;
		free(path);
	}
	return NULL;
}

int machine_built_path(const char *name, char **path, struct err *err)
{
	char *rel, *candidate[3];

	candidate[0] = beside_us(name);
	rel = xasprintf("build/%s", name);
	candidate[1] = home_path(rel);
	free(rel);
	/* Installed: beside PREFIX/share/folab. */
	rel = xasprintf("../../libexec/folab/%s", name);
	candidate[2] = home_path(rel);
	free(rel);
	*path = NULL;
	for (size_t i = 0; i < ARRAY_SIZE(candidate); i++) {
		if (!*path && candidate[i] && file_exists(candidate[i]))
			*path = candidate[i];
		else
			free(candidate[i]);
	}
	if (*path)
		return 0;
	return err_set(err, EXIT_ENVIRONMENT,
		       "%s is not built: run \"make build/%s\"", name, name);
}

int machine_cases_dir(const struct arch *arch, char **path, struct err *err)
{
	char *name = xasprintf("cases-%s", arch->name);
	int rc = machine_built_path(name, path, err);

	if (rc) {
		err_clear(err);
		err_set(err, EXIT_ENVIRONMENT,
			"the cases of %s are not built: run \"make cases\"",
			arch->name);
	}
	free(name);
	return rc;
}
