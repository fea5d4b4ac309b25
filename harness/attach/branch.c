/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A letter of a branch: in the message of b4's empty commit, or in
 * branch.NAME.description, where git format-patch and b4 look for it.
 */
#include <stdlib.h>
#include <string.h>

#include "private.h"

#define SERIES_MAX	"1000"	/* a cover's commit is not farther down */
#define ARG_TEXT_MAX	(100u << 10)	/* Linux takes 128 KiB an argument */

static struct git git_of(const struct letter *l)
{
	return (struct git){ .dir = l->repo };
}

/* A value of the repository's configuration, whole; NULL: none. */
static int config_get(const struct letter *l, const char *key, bool local,
		      char **value, struct err *err)
{
	struct git g = git_of(l);
	/* With -z it ends with a NUL: a newline at its end is its own. */
	int rc = git_text(&g, value, err, "config", local ? "--local" : "-z",
			  "-z", "--get", key, NULL);

	if (rc == 0)
		return 0;
	free(*value);
	*value = NULL;
	return rc < 0 ? -1 : 0;
}

/* b4 may have been told to keep the cover in the description. */
static int wants_description(const struct letter *l, bool *wants,
			     struct err *err)
{
	char *key = xasprintf("branch.%s.b4-prep-cover-strategy", l->branch);
	char *how = NULL;
	int rc = config_get(l, key, false, &how, err);

	if (!rc && !how)
		rc = config_get(l, "b4.prep-cover-strategy", false, &how, err);
	*wants = how && !strcmp(how, "branch-description");
	free(how);
	free(key);
	return rc;
}

/* ---- the commit of b4 prep ---------------------------------------------------- */

static const struct keeper in_commit = { rewrite_store };

/* Where in @message does b4's section begin?  false: nowhere. */
static bool find_tracking(const char *message, size_t *at)
{
	size_t len = strlen(message);

	for (size_t i = 0; i < len; ) {
		struct line l = line_at(message, i, len);

		if (span_matches(message, l.at, l.stop, "^" B4_TRACKING "$")) {
			*at = i;
			return true;
		}
		i = l.next;
	}
	return false;
}

/* The last commit that has the line, as b4 finds it; NULL: none. */
static int find_commit(const struct letter *l, char **commit, struct err *err)
{
	struct git g = git_of(l);
	char *below = xasprintf("%s~" SERIES_MAX, l->tip), *out = NULL;
	int rc = git_text(&g, &out, err, "rev-parse", "--verify", "-q", below,
			  NULL);

	free(out);
	out = NULL;
	if (rc >= 0)
		rc = git_text(&g, &out, err, "rev-list", "--first-parent",
			      "--max-count=1", "--basic-regexp",
			      "--grep=^" B4_TRACKING "$", l->tip,
			      rc == 0 ? "--not" : NULL, below, NULL);
	free(below);
	*commit = NULL;
	if (rc < 0)
		return -1;
	if (rc > 0) {
		free(out);
		return err_set(err, EXIT_ENVIRONMENT,
			       "%s: git rev-list can't read it", l->name);
	}
	out[strcspn(out, "\n")] = '\0';
	if (*out)
		*commit = out;
	else
		free(out);
	return 0;
}

static int open_commit(struct letter *l, struct err *err)
{
	struct git g = git_of(l);
	char *raw = NULL, *message;
	int rc = git_text(&g, &raw, err, "--no-replace-objects", "cat-file",
			  "commit", l->commit, NULL);

	if (rc) {
		free(raw);
		return rc < 0 ? -1 : err_set(err, EXIT_ENVIRONMENT,
					     "%s: can't read commit %s",
					     l->name, l->commit);
	}
	l->keeper = &in_commit;
	message = strstr(raw, "\n\n");
	l->text = xstrdup(message ? message + 2 : "");
	free(raw);
	l->body = 0;
	if (find_tracking(l->text, &l->end))
		return 0;
	return err_set(err, EXIT_USAGE, "%s: commit %.12s is no cover of b4 prep",
		       l->name, l->commit);
}

/* ---- the description ------------------------------------------------------------ */

static int store_description(struct letter *l, const char *text,
			     struct strlist *said, struct err *err)
{
	struct git g = git_of(l);
	char *key = xasprintf("branch.%s.description", l->branch), *now = NULL;
	int rc;

	if (strlen(text) > ARG_TEXT_MAX)
		rc = err_set(err, EXIT_SKIPPED,
			     "%s: a description of more than 100 KiB is too long for git config",
			     l->name);
	else
		rc = config_get(l, key, true, &now, err);
	if (!rc && (!now || strcmp(now, l->text)))
		rc = err_set(err, EXIT_ENVIRONMENT,
			     "%s was changed meanwhile; try again", l->name);
	if (!rc)
		rc = git_run(&g, err, "config", "--local", key, text, NULL);
	free(now);
	free(key);
	return rc;
}

static const struct keeper in_description = { store_description };

static int open_description(struct letter *l, struct err *err)
{
	char *key = xasprintf("branch.%s.description", l->branch);
	int rc = config_get(l, key, true, &l->text, err);

	free(key);
	if (rc)
		return -1;
	if (!l->text)
		return err_set(err, EXIT_USAGE,
			       "%s has no cover letter, neither of b4 prep nor a description; git branch --edit-description %s makes one",
			       l->name, l->branch);
	l->keeper = &in_description;
	l->body = 0;
	l->end = strlen(l->text);
	return 0;
}

int branch_open(struct letter *l, struct err *err)
{
	struct git g = git_of(l);
	char *ref = xasprintf("refs/heads/%s", l->branch);
	bool described;

	l->name = xasprintf("branch %s", l->branch);
	l->tip = git_line(&g, err, "rev-parse", "--verify", "-q", ref, NULL);
	free(ref);
	if (!l->tip)
		return -1;
	if (wants_description(l, &described, err))
		return -1;
	if (!described && find_commit(l, &l->commit, err))
		return -1;
	return l->commit ? open_commit(l, err) : open_description(l, err);
}
