/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A mutant is patches/mutants/NAME.patch: a small mistake in one of our series,
 * applied behind it, that a correctness case has to catch.  What it is made for
 * stands in its message:
 *
 *	Mutant-of: SERIES
 *	Caught-by: PROGRAM.CASE
 *	Needs-debug: yes|no	(yes: only the debug config shows it)
 *	Arch: arm64|x86_64|any
 */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "private.h"

#define MUTANTS		"patches/mutants"
#define MUTANT_MAX	(1u << 20)

static char *mutant_path(const char *name)
{
	char *rel = xasprintf(MUTANTS "/%s.patch", name);
	char *path = home_path(rel);

	free(rel);
	return path;
}

/*
 * What stands behind @key in the message of the patch, caller frees; NULL with
 * @err set.  Of the message only: a patch may contain such a line, too.
 */
static char *field(const char *patch, const char *name, const char *key,
		   struct err *err)
{
	const char *end = strstr(patch, "\n---\n"), *line = patch;
	size_t len = strlen(key);

	for (; line && end && line < end; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, len) || line[len] != ':')
			continue;
		line += len + 1;
		line += strspn(line, " \t");
		if (!strcspn(line, " \t\r\n"))
			break;
		return xstrndup(line, strcspn(line, "\r\n"));
	}
	err_set(err, EXIT_USAGE, "mutant %s: its message has no \"%s: ...\"",
		name, key);
	return NULL;
}

static int take_choice(const char *patch, const char *name, const char *key,
		       const char *const *choices, struct err *err)
{
	char *value = field(patch, name, key, err);
	int i = -1;

	if (!value)
		return -1;
	for (i = 0; choices[i] && strcmp(choices[i], value); i++)
		;
	if (!choices[i])
		i = err_set(err, EXIT_USAGE, "mutant %s: \"%s: %s\" is unknown",
			    name, key, value);
	free(value);
	return i;
}

/* @mi is zeroed, and to be freed by the caller in any case. */
static int mutant_read(struct mutant_info *mi, const char *name,
		       const char *patch, struct err *err)
{
	static const char *const arches[] = { "any", "arm64", "x86_64", NULL };
	static const char *const answers[] = { "no", "yes", NULL };
	int arch, debug;
	char *dot;

	mi->name = xstrdup(name);
	mi->title = patch_subject(patch);
	mi->of = field(patch, name, "Mutant-of", err);
	mi->caught_by = mi->of ? field(patch, name, "Caught-by", err) : NULL;
	if (!mi->caught_by)
		return -1;
	dot = strchr(mi->caught_by, '.');
	if (!dot || dot == mi->caught_by || !dot[1])
		return err_set(err, EXIT_USAGE,
			       "mutant %s: \"Caught-by: %s\" is no PROGRAM.CASE",
			       name, mi->caught_by);
	debug = take_choice(patch, name, "Needs-debug", answers, err);
	arch = debug < 0 ? -1 : take_choice(patch, name, "Arch", arches, err);
	if (arch < 0)
		return -1;
	mi->debug = debug;
	mi->arch = arch ? arch_find(arches[arch]) : NULL;
	return 0;
}

static void mutant_free(struct mutant_info *mi)
{
	free(mi->name);
	free(mi->title);
	free(mi->of);
	free(mi->caught_by);
}

int mutant_load(struct series *s, const struct strlist *behind,
		const char *name, struct err *err)
{
	char *path = mutant_path(name);
	struct mutant_info mi = { 0 };
	const char *diff;
	struct hash *h;
	int rc;

	memset(s, 0, sizeof(*s));
	s->name = xasprintf("mutant:%s", name);
	s->dir = home_path(MUTANTS);
	s->texts = xcalloc(1, sizeof(*s->texts));
	s->lengths = xcalloc(1, sizeof(*s->lengths));
	strlist_addf(&s->patches, "%s.patch", name);

	if (!file_exists(path))
		rc = err_set(err, EXIT_USAGE,
			     "no mutant \"%s\": there is no %s; folab mutants --list tells them",
			     name, path);
	else
		rc = file_read(path, MUTANT_MAX, &s->texts[0], &s->lengths[0],
			       err);
	free(path);
	if (!rc)
		rc = mutant_read(&mi, name, s->texts[0], err);
	if (!rc && !strlist_has(behind, mi.of))
		rc = err_set(err, EXIT_USAGE,
			     "mutant %s is one of series %s, which this kernel does not have",
			     name, mi.of);
	mutant_free(&mi);
	if (rc)
		return -1;
	/* Who catches it makes no other kernel: the diff alone. */
	diff = strstr(s->texts[0], "\n---\n");
	h = hash_new();
	hash_add_str(h, diff ? diff : s->texts[0]);
	hash_end(h, s->hash);
	return 0;
}

/* ---- all of them ------------------------------------------------------------- */

static int is_patch(const struct dirent *de)
{
	return de->d_name[0] != '.' && str_ends(de->d_name, ".patch");
}

int build_mutants(struct mutant_info **list, size_t *n, struct err *err)
{
	char *dir = home_path(MUTANTS);
	struct dirent **names;
	int found, rc = 0;

	*list = NULL;
	*n = 0;
	found = scandir(dir, &names, is_patch, alphasort);
	for (int i = 0; i < found; i++) {
		char *name = xstrndup(names[i]->d_name,
				      strlen(names[i]->d_name) -
				      strlen(".patch"));
		char *path = mutant_path(name), *patch = NULL;

		free(names[i]);
		if (!rc) {
			*list = xrealloc(*list, *n + 1, sizeof(**list));
			memset(&(*list)[*n], 0, sizeof(**list));
			rc = file_read(path, MUTANT_MAX, &patch, NULL, err);
			if (!rc)
				rc = mutant_read(&(*list)[(*n)++], name, patch,
						 err);
		}
		free(patch);
		free(path);
		free(name);
	}
	if (found >= 0)
		free(names);
	if (!rc && found <= 0)
		rc = err_set(err, EXIT_ENVIRONMENT, "there is no mutant in %s",
			     dir);
	free(dir);
	if (rc) {
		build_mutants_free(*list, *n);
		*list = NULL;
		*n = 0;
	}
	return rc;
}

void build_mutants_free(struct mutant_info *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		mutant_free(&list[i]);
	free(list);
}
