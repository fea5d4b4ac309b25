/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How a slot begins: as a copy of a finished one that spares it work, or
 * empty.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "private.h"

/* Would a tree of @f spare a build of @b work? */
static bool useful(const struct build *b, const struct finished *f)
{
	const char *fragment = b->opt->fragment ? b->opt->fragment : "";

	return strcmp(f->slot, b->slot) && !strcmp(f->source, b->source.name) &&
	       !strcmp(f->arch, b->arch->name) && !strcmp(f->fragment, fragment);
}

/* As lock_wait() for the slot @name: 0 locked and of use, 1 not, -1 error. */
static int lock_named(struct build *b, char *name, struct finished *f,
		      struct lock *lock, struct err *err)
{
	char *path = slot_lock_path(b->cache, name);
	int rc = 1;

	if (file_exists(path))
		rc = lock_wait(lock, path, slot_waiting, name, err);
	if (!rc && (!finished_read(b->cache, name, "finished", f) ||
		    !useful(b, f))) {
		finished_free(f);
		lock_release(lock);
		rc = 1;
	}
	free(path);
	return rc;
}

/*
 * Lock the slot of the nearest kernel that ours adds to: for "6.12+a+b" that is
 * "6.12+a", or else "6.12".  If another folab builds it now, waiting is the
 * quickest way.  Only ever a shorter name is waited for, so two folabs can't
 * wait for each other.
 */
static int lock_base(struct build *b, struct finished *f, struct lock *lock,
		     struct err *err)
{
	char *stem, *plus;
	const char *end;
	int rc = 1;

	if (!b->n_series)
		return 1;
	stem = xstrdup(b->slot);
	end = b->slot + strlen(b->slot) - strlen(b->arch->name) - 1 -
	      (b->opt->fragment ? strlen(b->opt->fragment) + 1 : 0);
	stem[end - b->slot] = '\0';
	while (rc > 0 && (plus = strrchr(stem, '+'))) {
		char *name;

		*plus = '\0';
		name = xasprintf("%s%s", stem, end);
		rc = lock_named(b, name, f, lock, err);
		free(name);
	}
	free(stem);
	return rc;
}

/* Lock the newest other slot that is of use and free. */
static int lock_any(struct build *b, struct finished *best, struct lock *lock,
		    struct err *err)
{
	char *dir = xasprintf("%s/slots", b->cache);
	DIR *d = opendir(dir);
	struct dirent *de;
	int rc = 1;

	while (d && rc >= 0 && (de = readdir(d))) {
		struct finished f;
		struct lock l;
		char *path;
		int held;

		if (de->d_name[0] == '.' ||
		    !finished_read(b->cache, de->d_name, "finished", &f))
			continue;
		if (!useful(b, &f) || (rc == 0 && f.when <= best->when)) {
			finished_free(&f);
			continue;
		}
		path = slot_lock_path(b->cache, de->d_name);
		held = lock_try(&l, path, err);
		free(path);
		if (held) {
			finished_free(&f);
			if (held < 0)
				rc = -1;
			continue;
		}
		if (rc == 0) {
			lock_release(lock);
			finished_free(best);
		}
		*best = f;
		*lock = l;
		rc = 0;
	}
	if (d)
		closedir(d);
	free(dir);
	return rc;
}

static int run_cp(const char *const *options, const struct strlist *names,
		  const char *from, const char *to, struct err *err)
{
	struct child_spec spec = { .dir = from, .output = -1 };
	struct strlist argv = { 0 };
	char *said = NULL;
	int rc;

	strlist_add(&argv, "env");
	strlist_add(&argv, "LC_ALL=C");
	strlist_add(&argv, "cp");
	for (; *options; options++)
		strlist_add(&argv, *options);
	strlist_add(&argv, "-t");
	strlist_add(&argv, to);
	strlist_add(&argv, "--");
	for (size_t i = 0; i < names->n; i++)
		strlist_add(&argv, names->v[i]);
	spec.argv = argv.v;
	rc = child_capture(&spec, true, &said, err);
	if (rc > 0 && !no_space(said, err))
		err_set(err, EXIT_ENVIRONMENT, "%.*s",
			(int)strcspn(said, "\n"), said);
	free(said);
	strlist_free(&argv);
	return rc ? -1 : 0;
}

/* Sources as hard links (copies where there are none), objects as copies. */
static int copy_trees(const char *from, const char *to, struct err *err)
{
	static const char *const link[] = { "-al", NULL };
	static const char *const copy[] = { "-a", "--reflink=auto", NULL };
	struct strlist source = { 0 }, objects = { 0 };
	DIR *d = opendir(from);
	struct dirent *de;
	int rc;

	if (!d)
		return err_sys(err, EXIT_ENVIRONMENT, errno, "can't read %s",
			       from);
	while ((de = readdir(d)))
		if (strcmp(de->d_name, ".") && strcmp(de->d_name, ".."))
			strlist_add(strcmp(de->d_name, "out") ? &source :
				    &objects, de->d_name);
	closedir(d);
	rc = run_cp(link, &source, from, to, err);
	/* No links here, as on some file systems?  Then copies. */
	if (rc && err->code == EXIT_ENVIRONMENT &&
	    !strstr(err->text, "No space")) {
		err_clear(err);
		rc = file_remove_tree(to, err);
		if (!rc)
			rc = file_mkdirs(to, err);
		if (!rc)
			rc = run_cp(copy, &source, from, to, err);
	}
	if (!rc)
		rc = run_cp(copy, &objects, from, to, err);
	strlist_free(&source);
	strlist_free(&objects);
	return rc;
}

/* For nftw(): a path that commands name in full, and where it is now. */
static struct {
	const char *from, *to;
	struct err *err;
} moved;

static char *replaced(const char *text, size_t *len)
{
	size_t from_len = strlen(moved.from);
	const char *at;
	char *out = NULL;
	FILE *to = open_memstream(&out, len);

	while ((at = strstr(text, moved.from))) {
		fwrite(text, 1, at - text, to);
		fputs(moved.to, to);
		text = at + from_len;
	}
	fputs(text, to);
	fclose(to);
	return out;
}

/* @path is a fresh copy of ours: written in place, and as old as before. */
static int move_rule(const char *path, const struct stat *st, int type,
		     struct FTW *ftw)
{
	const struct timespec times[2] = { st->st_atim, st->st_mtim };
	char *text, *now;
	size_t len;
	FILE *to;
	int bad;

	if (type != FTW_F || (!str_ends(path, ".cmd") && !str_ends(path, ".d")))
		return 0;
	if (file_read(path, 64u << 20, &text, NULL, moved.err))
		return -1;
	if (!strstr(text, moved.from)) {
		free(text);
		return 0;
	}
	now = replaced(text, &len);
	to = fopen(path, "we");
	bad = !to || fwrite(now, 1, len, to) != len;
	if ((to && fclose(to)) || bad || utimensat(AT_FDCWD, path, times, 0))
		err_sys(moved.err, EXIT_ENVIRONMENT, errno, "can't write %s",
			path);
	free(now);
	free(text);
	return moved.err->code ? -1 : 0;
}

/*
 * Most of kbuild's commands name files from where make runs, but those of
 * tools/ (objtool, on which every object of x86 depends) and of the vDSO name
 * them in full, as getcwd(3) does: without symbolic links.  To make, a command
 * that reads otherwise is another command.
 */
static int move_rules(struct build *b, const char *from, const char *copy,
		      struct err *err)
{
	char *out = xasprintf("%s/out", copy);
	char *real_from = realpath(from, NULL), *dir = realpath(b->dir, NULL);
	char *to = dir ? xasprintf("%s/tree/src", dir) : NULL;
	int rc = -1;

	if (real_from && to) {
		moved.from = real_from;
		moved.to = to;
		moved.err = err;
		rc = nftw(out, move_rule, 16, FTW_PHYS);
	}
	if (rc && !err->code)
		err_sys(err, EXIT_ENVIRONMENT, errno, "can't read %s", out);
	free(to);
	free(dir);
	free(real_from);
	free(out);
	return rc ? -1 : 0;
}

static int copy_slot(struct build *b, const struct finished *f,
		     const char *tmp, struct err *err)
{
	char *from = xasprintf("%s/slots/%s/tree/src", b->cache, f->slot);
	char *from_index = xasprintf("%s/slots/%s/tree/index", b->cache,
				     f->slot);
	char *to = xasprintf("%s/src", tmp);
	char *to_index = xasprintf("%s/index", tmp);
	int rc;

	progress_step(0, 0, "copying the tree of %s", f->slot);
	rc = file_mkdirs(to, err);
	if (!rc)
		rc = copy_trees(from, to, err);
	if (!rc)
		rc = move_rules(b, from, to, err);
	if (!rc)
		rc = file_copy(from_index, to_index, err);
	free(from);
	free(from_index);
	free(to);
	free(to_index);
	return rc;
}

/* ---- space ---------------------------------------------------------------------- */

/* Bytes of all files of the tree that will be checked out. */
static int tree_bytes(struct build *b, uint64_t *bytes, struct err *err)
{
	struct git g = { .repo = b->source.repo };
	char *out = NULL, *line, *save;
	int rc;

	rc = git_try(&g, &out, err, "ls-tree", "-r", "-l", b->tree, NULL);
	if (rc > 0)
		git_complain(out, err);
	*bytes = 0;
	for (line = rc ? NULL : strtok_r(out, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		unsigned long long size;

		/* mode blob HASH SIZE\tPATH; a file takes whole blocks */
		if (sscanf(line, "%*s %*s %*s %llu", &size) == 1)
			*bytes += (size + 4095) & ~4095ULL;
	}
	free(out);
	return rc ? -1 : 0;
}

/*
 * A new tree takes its source and a tenth of that for what is built (1.6 GiB
 * and 130 MiB for 6.12); a copy links the source, and its directories and
 * changed files take less than another tenth.
 */
static int room_for(struct build *b, bool seeded, struct err *err)
{
	uint64_t bytes, free_bytes, need;

	if (tree_bytes(b, &bytes, err) ||
	    file_free_space(b->cache, &free_bytes, err))
		return -1;
	need = bytes / 10 * (seeded ? 2 : 11) + (1 << 20);
	if (free_bytes < need)
		return err_set(err, EXIT_ENVIRONMENT,
			       "%s has %" PRIu64 " MiB free, building %s takes about %" PRIu64 " MiB; free some space, or set XDG_CACHE_HOME",
			       b->cache, free_bytes >> 20, b->spec.text,
			       need >> 20);
	return 0;
}

/* work/ is not there: make it beside, rename it when whole. */
int seed_work(struct build *b, struct finished *seed, struct err *err)
{
	char *tmp = xasprintf("%s/tree.new", b->dir);
	char *src = xasprintf("%s/src", tmp);
	struct lock lock = { -1 };
	int rc;

	rc = file_remove_tree(tmp, err);
	if (rc)
		goto out;
	rc = lock_base(b, seed, &lock, err);
	if (rc > 0)
		rc = lock_any(b, seed, &lock, err);
	if (rc < 0)
		goto out;
	if (rc == 0) {
		rc = room_for(b, true, err);
		if (!rc)
			rc = copy_slot(b, seed, tmp, err);
		lock_release(&lock);
	} else {
		rc = room_for(b, false, err);
		if (!rc)
			rc = file_mkdirs(src, err);
	}
	if (!rc && rename(tmp, b->work))
		rc = err_sys(err, EXIT_ENVIRONMENT, errno, "can't make %s",
			     b->work);
	if (rc)
		file_remove_tree(tmp, &(struct err){ 0 });
out:
	free(src);
	free(tmp);
	return rc;
}
