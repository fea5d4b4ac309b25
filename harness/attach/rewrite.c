/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Another message for b4's cover commit.  It and all commits above it are
 * written anew, byte by byte but for message and parents: trees, authors,
 * committers and dates stay, so that neither work tree nor index notice.
 */
#include <stdlib.h>
#include <string.h>

#include "private.h"

/* ---- may it be done now? ------------------------------------------------------ */

/* Somebody's half-done work, which goes on from commits that it remembers. */
static int check_under_way(const struct letter *l, struct err *err)
{
	static const struct {
		const char *file, *what;
	} ops[] = {
		{ "rebase-merge", "rebase" },
		{ "rebase-apply", "rebase or am" },
		{ "MERGE_HEAD", "merge" },
		{ "CHERRY_PICK_HEAD", "cherry-pick" },
		{ "REVERT_HEAD", "revert" },
		{ "BISECT_LOG", "bisect" },
	};
	struct git g = { .dir = l->repo };

	for (size_t i = 0; i < ARRAY_SIZE(ops); i++) {
		char *path = git_line(&g, err, "rev-parse",
				      "--path-format=absolute", "--git-path",
				      ops[i].file, NULL);
		bool there = path && file_exists(path);

		free(path);
		if (!path)
			return -1;
		if (there)
			return err_set(err, EXIT_SKIPPED,
				       "%s: a %s is under way in this work tree; end it first",
				       l->name, ops[i].what);
	}
	return 0;
}

/*
 * A rebase elsewhere has its work tree detached and remembers the branch in a
 * file; it would put the old commits back.
 */
static int check_rebase_elsewhere(const struct letter *l, const char *tree,
				  const char *ref, struct err *err)
{
	static const char *const ops[] = { "rebase-merge", "rebase-apply" };
	struct git g = { .dir = tree };
	struct err ignored = { 0 };
	int rc = 0;

	for (size_t i = 0; i < ARRAY_SIZE(ops) && !rc; i++) {
		char *name = xasprintf("%s/head-name", ops[i]), *head = NULL;
		/* A work tree that was removed by hand has none. */
		char *path = git_line(&g, &ignored, "rev-parse",
				      "--path-format=absolute", "--git-path",
				      name, NULL);

		if (path && file_exists(path) &&
		    !file_read(path, 4096, &head, NULL, &ignored) &&
		    str_starts(head, ref) &&
		    strchr("\n", head[strlen(ref)]))
			rc = err_set(err, EXIT_SKIPPED,
				     "%s: it is being rebased in %s; end that first",
				     l->name, tree);
		free(head);
		free(path);
		free(name);
		err_clear(&ignored);
	}
	return rc;
}

static int check_trees(const struct letter *l, const char *ref,
		       const char *here, char *list, struct err *err)
{
	char *save, *line, *tree = NULL;

	for (line = strtok_r(list, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		if (str_starts(line, "worktree ")) {
			tree = line + 9;
			if (check_rebase_elsewhere(l, tree, ref, err))
				return -1;
		} else if (tree && str_starts(line, "branch ") &&
			   !strcmp(line + 7, ref) && strcmp(tree, here)) {
			return err_set(err, EXIT_SKIPPED,
				       "%s: it is checked out in %s; run folab attach there",
				       l->name, tree);
		}
	}
	return 0;
}

static int check_elsewhere(const struct letter *l, const char *ref,
			   struct err *err)
{
	struct git g = { .dir = l->repo };
	char *here = NULL, *list = NULL;
	int rc = git_text(&g, &here, err, "rev-parse", "--show-toplevel", NULL);

	if (rc >= 0)
		rc = git_text(&g, &list, err, "worktree", "list", "--porcelain",
			      NULL);
	if (rc >= 0) {
		/* A bare repository has no work tree: then it is "". */
		here[strcspn(here, "\n")] = '\0';
		rc = check_trees(l, ref, here, list, err);
	}
	free(list);
	free(here);
	return rc;
}

/* ---- commits -------------------------------------------------------------------- */

/* From the cover's commit to the tip, oldest first; each has one parent. */
static int find_chain(const struct letter *l, struct strlist *chain,
		      struct err *err)
{
	struct git g = { .dir = l->repo };
	char *range = xasprintf("%s..%s", l->commit, l->tip);
	char *out = NULL, *save, *line;
	int rc = git_text(&g, &out, err, "--no-replace-objects", "rev-list",
			  "--reverse", "--topo-order", "--parents", range, NULL);

	free(range);
	strlist_add(chain, l->commit);
	for (line = rc ? NULL : strtok_r(out, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		char *parent = strchr(line, ' ');

		if (parent)
			*parent++ = '\0';
		if (!parent || strcmp(parent, chain->v[chain->n - 1])) {
			rc = err_set(err, EXIT_SKIPPED,
				     "%s: commit %.12s above the cover is a merge, or not right on top of the one before; make the branch linear",
				     l->name, line);
			break;
		}
		strlist_add(chain, line);
	}
	free(out);
	if (rc > 0)
		rc = err_set(err, EXIT_ENVIRONMENT,
			     "%s: git rev-list can't read it", l->name);
	return rc;
}

/*
 * @raw with @parent (NULL: as it is), without a signature, with @message (NULL:
 * as it is).
 */
static char *commit_anew(const char *raw, const char *parent,
			 const char *message, bool *was_signed)
{
	const char *end = strstr(raw, "\n\n");
	size_t head = end ? (size_t)(end - raw) + 1 : strlen(raw), len;
	bool skip = false;
	char *out;
	FILE *to = open_memstream(&out, &len);

	if (!to)
		abort();
	for (size_t at = 0; at < head; ) {
		struct line l = line_at(raw, at, head);

		/* What goes over several lines goes on behind a space. */
		if (raw[at] != ' ')
			skip = str_starts(raw + at, "gpgsig");
		*was_signed |= skip;
		if (parent && str_starts(raw + at, "parent "))
			fprintf(to, "parent %s\n", parent);
		else if (!skip)
			fwrite(raw + at, 1, l.next - at, to);
		at = l.next;
	}
	fprintf(to, "\n%s", message ? message : end ? end + 2 : "");
	fclose(to);
	return out;
}

/* The new name of commit @old, NULL with @err set. */
static char *write_anew(const struct letter *l, const char *old,
			const char *parent, const char *message,
			bool *was_signed, struct err *err)
{
	struct git g = { .dir = l->repo };
	char *raw = NULL, *text, *name;
	int rc = git_text(&g, &raw, err, "--no-replace-objects", "cat-file",
			  "commit", old, NULL);

	if (rc) {
		free(raw);
		if (rc > 0)
			err_set(err, EXIT_ENVIRONMENT,
				"%s: can't read commit %s", l->name, old);
		return NULL;
	}
	text = commit_anew(raw, parent, message, was_signed);
	g.input = text;
	name = git_line(&g, err, "hash-object", "-t", "commit", "-w", "--stdin",
			NULL);
	free(text);
	free(raw);
	return name;
}

/* b4's commit changes nothing; one that does is not its cover. */
static int check_empty(const struct letter *l, struct err *err)
{
	struct git g = { .dir = l->repo };
	char *parent = xasprintf("%s^", l->commit), *out = NULL;
	int rc = git_try(&g, &out, err, "--no-replace-objects", "diff-tree",
			 "--quiet", parent, l->commit, NULL);

	free(out);
	free(parent);
	if (rc > 0)
		rc = err_set(err, EXIT_USAGE,
			     "%s: commit %.12s has b4's tracking line, but is no empty commit on top of another",
			     l->name, l->commit);
	return rc;
}

/* Whatever notes the old commits have, the new ones have them, too. */
static int copy_notes(const struct letter *l, const char *pairs,
		      struct err *err)
{
	struct git g = { .dir = l->repo };
	char *refs = NULL, *save, *ref;
	int rc = git_text(&g, &refs, err, "for-each-ref", "--format=%(refname)",
			  "refs/notes/", NULL);

	g.input = pairs;
	for (ref = rc ? NULL : strtok_r(refs, "\n", &save); ref && !rc;
	     ref = strtok_r(NULL, "\n", &save)) {
		char *which = xasprintf("--ref=%s", ref);

		rc = git_run(&g, err, "notes", which, "copy", "-f", "--stdin",
			     NULL);
		free(which);
	}
	free(refs);
	return rc < 0 ? -1 : 0;
}

int rewrite_store(struct letter *l, const char *text, struct strlist *said,
		  struct err *err)
{
	char *ref = xasprintf("refs/heads/%s", l->branch), *tip = NULL;
	struct git g = { .dir = l->repo };
	struct strlist chain = { 0 };
	char *notes = NULL;
	bool was_signed = false;
	int rc = -1;

	if (check_under_way(l, err) || check_elsewhere(l, ref, err) ||
	    check_empty(l, err) || find_chain(l, &chain, err))
		goto out;
	notes = xstrdup("");
	for (size_t i = 0; i < chain.n; i++) {
		char *name = write_anew(l, chain.v[i], tip, i ? NULL : text,
					&was_signed, err), *more;

		if (!name || intr_check(err)) {
			free(name);
			goto out;
		}
		more = xasprintf("%s%s %s\n", notes, chain.v[i], name);
		free(notes);
		notes = more;
		free(tip);
		tip = name;
	}
	if (copy_notes(l, notes, err))
		goto out;
	/* Only if nobody has moved the branch since we looked. */
	if (git_run(&g, err, "update-ref", "--create-reflog", "-m",
		    "folab attach: cover letter", ref, tip, l->tip, NULL))
		goto out;
	strlist_addf(said, "%s is now %.12s; git update-ref %s %s takes it back",
		     l->name, tip, ref, l->tip);
	if (was_signed)
		strlist_addf(said, "%s: commits written anew have lost their signatures",
			     l->name);
	rc = 0;
out:
	strlist_free(&chain);
	free(notes);
	free(tip);
	free(ref);
	return rc;
}
