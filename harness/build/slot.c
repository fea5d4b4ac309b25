/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A slot is a source tree with its object tree that lives on between builds:
 *
 *	slots/NAME/tree/src		the source, checked out
 *	slots/NAME/tree/src/out		what make made (O=out: then kbuild's
 *					paths are relative, and a copy of the
 *					whole is as up to date as the original)
 *	slots/NAME/tree/index		git's index of src
 *	slots/NAME/tree/building	somebody is, or was killed while, building
 *	slots/NAME/tree/finished	what the last build was, if it was finished
 *	slots/NAME/tree/before		the same of the last that was
 *
 * There is one for each kernel (but for mutants) and architecture.  A new one starts as a copy
 * of a finished one, sources as hard links: git never writes into a file, it
 * replaces it, and so only files whose content differs get a new time.  Then
 * make has only to do what the patch touches.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "private.h"

#define KEEP_SECONDS	(14 * 24 * 3600)

/*
 * Files with a rule of their own in a finished tree of 6.12: what the first
 * build on a machine is measured against.  Later ones know better.
 */
#define STEPS_GUESS	1250

void slot_name(struct build *b)
{
	char name[160];
	size_t n = 0;

	if (b->spec.kind == SPEC_GIT)
		n = snprintf(name, sizeof(name), "%s-%.40s", b->source.name,
			     b->spec.ref);
	else
		n = snprintf(name, sizeof(name), "%s", b->spec.version);
	/* One for all parts of a series: each is a patch from the next. */
	for (size_t i = 0; i < b->spec.series.n && n < 120; i++) {
		const char *of = b->series[i].name;
		int word = (int)strcspn(of, ":");

		n += snprintf(name + n, sizeof(name) - n, "+%.*s%s",
			      word < 60 ? word : 60, of, of[word] ? "_part" : "");
	}
	/* One for all mutants: from one to the next is a file or two. */
	if (b->spec.mutant)
		snprintf(name + n, sizeof(name) - n, "+mutant");
	for (char *p = name; *p; p++)
		if (!isalnum((unsigned char)*p) && !strchr("._+-", *p))
			*p = '_';
	b->slot = xasprintf("%s.%s%s%s", name, b->arch->name,
			    b->opt->fragment ? "." : "",
			    b->opt->fragment ? b->opt->fragment : "");
	b->dir = xasprintf("%s/slots/%s", b->cache, b->slot);
	b->work = xasprintf("%s/tree", b->dir);
	b->src = xasprintf("%s/src", b->work);
	b->out = xasprintf("%s/out", b->src);
	b->log = xasprintf("%s/log", b->dir);
}

char *slot_lock_path(const char *cache, const char *slot)
{
	return xasprintf("%s/locks/slot-%s", cache, slot);
}

void slot_waiting(void *arg)
{
	progress_note("waiting for another folab that builds %s",
		      (const char *)arg);
}

int slot_lock(struct build *b, struct err *err)
{
	char *path = slot_lock_path(b->cache, b->slot);
	int rc = lock_wait(&b->lock, path, slot_waiting, b->slot, err);

	free(path);
	return rc ? -1 : 0;
}

/* ---- finished: what a slot holds ------------------------------------------ */

void finished_free(struct finished *f)
{
	free(f->slot);
	free(f->source);
	free(f->arch);
	free(f->tree);
	free(f->fragment);
	memset(f, 0, sizeof(*f));
}

/* In slots of before there were several: "debug" is true or false. */
static bool read_fragment(const json_t *o, const char *path, struct finished *f,
			  struct err *err)
{
	const char *name = "";
	bool debug;

	if (json_object_get(o, "fragment")) {
		if (js_string(o, path, "fragment", &name, err))
			return false;
	} else if (js_bool(o, path, "debug", &debug, err)) {
		return false;
	} else if (debug) {
		name = "debug";
	}
	f->fragment = xstrdup(name);
	return true;
}

bool finished_read(const char *cache, const char *slot,
		   const char *file, struct finished *f)
{
	char *path = xasprintf("%s/slots/%s/tree/%s", cache, slot, file);
	const char *source, *arch, *tree;
	struct err ignored = { 0 };
	json_t *o = NULL;
	struct stat st;
	bool ok;

	memset(f, 0, sizeof(*f));
	ok = !stat(path, &st) && !js_read(path, &o, &ignored) &&
	     !js_string(o, path, "source", &source, &ignored) &&
	     !js_string(o, path, "arch", &arch, &ignored) &&
	     !js_string(o, path, "tree", &tree, &ignored) &&
	     read_fragment(o, path, f, &ignored) &&
	     !js_int(o, path, "steps", &f->steps, &ignored);
	if (ok) {
		f->slot = xstrdup(slot);
		f->source = xstrdup(source);
		f->arch = xstrdup(arch);
		f->tree = xstrdup(tree);
		f->when = st.st_mtime;
	}
	json_decref(o);
	free(path);
	return ok;
}

static int64_t n_rules;

static int count_rule(const char *path, const struct stat *st, int type,
		      struct FTW *ftw)
{
	const char *name = path + ftw->base;

	if (type == FTW_F && name[0] == '.' && str_ends(name, ".cmd"))
		n_rules++;
	return 0;
}

int slot_finish(struct build *b, struct err *err)
{
	char *path = xasprintf("%s/finished", b->work);
	char *mark = xasprintf("%s/building", b->work);
	json_t *o;
	int rc;

	n_rules = 0;
	nftw(b->out, count_rule, 16, FTW_PHYS);
	o = json_pack("{s:s, s:s, s:s, s:s, s:I}", "source", b->source.name,
		      "arch", b->arch->name, "tree", b->tree, "fragment",
		      b->opt->fragment ? b->opt->fragment : "",
		      "steps", (json_int_t)n_rules);
	rc = js_write(path, o, err);
	json_decref(o);
	if (!rc)
		unlink(mark);
	free(mark);
	free(path);
	return rc;
}

/*
 * make that ended by itself has left nothing half-written.  A new tree on a
 * disk that is full, or of a series that does not apply, is of no use.
 */
void slot_fail(struct build *b, const struct err *err)
{
	char *mark = xasprintf("%s/building", b->work);

	if (err->code == EXIT_BUILD)
		unlink(mark);
	if (b->fresh &&
	    (err->code == EXIT_ENVIRONMENT || !file_exists(b->work)))
		file_remove_tree(b->dir, &(struct err){ 0 });
	free(mark);
}

/* ---- recovery ---------------------------------------------------------------- */

static struct timespec newest, since;

static bool later(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec > b->tv_sec ||
	       (a->tv_sec == b->tv_sec && a->tv_nsec >= b->tv_nsec);
}

static int find_newest(const char *path, const struct stat *st, int type,
		       struct FTW *ftw)
{
	if (type == FTW_F && later(&st->st_mtim, &newest))
		newest = st->st_mtim;
	return 0;
}

static int drop_recent(const char *path, const struct stat *st, int type,
		       struct FTW *ftw)
{
	if (type == FTW_F && later(&st->st_mtim, &since))
		return unlink(path);
	return 0;
}

/*
 * The last build was killed.  A compiler that went with it may have left a
 * half-written object, and make would take it for a new one.  So what was
 * written in the last minute of that build goes; older files were closed.
 */
static int recover(struct build *b, const char *mark, struct err *err)
{
	struct git g = { .repo = b->source.repo, .tree = b->src };
	char *index = xasprintf("%s/index", b->work);
	struct stat st;
	int rc = 0;

	if (stat(mark, &st)) {
		rc = err_sys(err, EXIT_ENVIRONMENT, errno, "%s", mark);
		goto out;
	}
	newest = st.st_mtim;
	nftw(b->out, find_newest, 16, FTW_PHYS);
	since = newest;
	since.tv_sec -= 60;
	if (later(&st.st_mtim, &since))
		since = st.st_mtim;
	if (file_exists(b->out) && nftw(b->out, drop_recent, 16, FTW_PHYS))
		rc = err_sys(err, EXIT_ENVIRONMENT, errno, "can't clean %s",
			     b->out);
	/* Files that were checked out and that the index does not know yet. */
	g.index = index;
	if (!rc && file_exists(index))
		rc = git_run(&g, err, "clean", "-ffdxq", "-e", "/out", NULL);
out:
	free(index);
	return rc;
}

/* ---- how much there will be to do -------------------------------------------- */

static const struct strlist *changed;

/* Does the rule kept in @path depend on one of the changed files? */
static int count_dependent(const char *path, const struct stat *st, int type,
			   struct FTW *ftw)
{
	const char *name = path + ftw->base;
	char *text, needle[600];
	size_t len;

	if (type != FTW_F || name[0] != '.' || !str_ends(name, ".cmd") ||
	    file_read(path, 8u << 20, &text, &len, &(struct err){ 0 }))
		return 0;
	for (size_t i = 0; i < changed->n; i++) {
		int n = snprintf(needle, sizeof(needle), "../%s",
				 changed->v[i]);
		char *at = memmem(text, len, needle, n);

		if (at && isspace((unsigned char)at[n])) {
			n_rules++;
			break;
		}
	}
	free(text);
	return 0;
}

/* Rules that depend on what differs between @from and the tree to build. */
static uint64_t steps_between(struct build *b, const struct finished *from)
{
	struct git g = { .repo = b->source.repo };
	struct strlist names = { 0 };
	struct err ignored = { 0 };
	char *out = NULL, *line, *save;

	n_rules = 0;
	if (!git_try(&g, &out, &ignored, "diff-tree", "-r", "--name-only",
		     from->tree, b->tree, NULL)) {
		for (line = strtok_r(out, "\n", &save); line;
		     line = strtok_r(NULL, "\n", &save))
			strlist_add(&names, line);
		changed = &names;
		/* With more, asking would take longer than it is worth. */
		if (names.n > 200)
			n_rules = from->steps;
		else if (names.n)
			nftw(b->out, count_dependent, 16, FTW_PHYS);
	}
	free(out);
	strlist_free(&names);
	return n_rules;
}

/* ---- preparing --------------------------------------------------------- */

/* Only files whose content differs are written, and get a new time. */
static int check_out(struct build *b, struct err *err)
{
	char *index = xasprintf("%s/index", b->work);
	char *stale = xasprintf("%s.lock", index);
	struct git g = {
		.repo = b->source.repo, .index = index, .tree = b->src,
	};
	int rc;

	/* Left by a git that was killed; we hold the slot. */
	unlink(stale);
	progress_step(0, 0, "checking out %s", b->source.name);
	rc = git_run(&g, err, "read-tree", "--reset", "-u", b->tree, NULL);
	free(stale);
	free(index);
	return rc;
}

int slot_prepare(struct build *b, struct err *err)
{
	char *index = xasprintf("%s/apply.index", b->dir);
	char *mark = xasprintf("%s/building", b->work);
	char *finished = xasprintf("%s/finished", b->work);
	char *before = xasprintf("%s/before", b->work);
	struct finished seed = { 0 };
	int rc;

	b->fresh = !file_exists(b->work);
	rc = file_mkdirs(b->dir, err);
	/* For slot_prune(): it was used now. */
	utimensat(AT_FDCWD, b->dir, NULL, 0);
	if (!rc)
		rc = series_apply(&b->source, b->series, b->n_series, index,
				  &b->tree, err);
	if (!rc && b->fresh)
		rc = seed_work(b, &seed, err);
	if (rc)
		goto out;
	if (!b->fresh) {
		rename(finished, before);
		finished_read(b->cache, b->slot, "before", &seed);
	}
	if (file_exists(mark))
		rc = recover(b, mark, err);
	if (!rc)
		rc = file_write(mark, "", 0, err);
	if (!rc)
		rc = check_out(b, err);
	if (!rc)
		b->steps = seed.slot ? steps_between(b, &seed) : STEPS_GUESS;
out:
	finished_free(&seed);
	free(before);
	free(finished);
	free(mark);
	free(index);
	return rc;
}

void slot_prune(const char *cache)
{
	char *dir = xasprintf("%s/slots", cache);
	DIR *d = opendir(dir);
	struct dirent *de;

	while (d && (de = readdir(d))) {
		struct err ignored = { 0 };
		char *path, *slot;
		struct lock lock;
		struct stat st;

		if (de->d_name[0] == '.')
			continue;
		slot = xasprintf("%s/%s", dir, de->d_name);
		path = slot_lock_path(cache, de->d_name);
		if (!stat(slot, &st) &&
		    time(NULL) - st.st_mtime > KEEP_SECONDS &&
		    !lock_try(&lock, path, &ignored)) {
			file_remove_tree(slot, &ignored);
			lock_release(&lock);
		}
		free(path);
		free(slot);
	}
	if (d)
		closedir(d);
	free(dir);
}
