/* SPDX-License-Identifier: GPL-2.0 */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "private.h"

#define FORMS	"a kernel is 6.12, 6.12+SERIES, 6.12+SERIES:N (its first N patches), git:PATH@REF or image:PATH"

void spec_free(struct spec *s)
{
	free(s->text);
	free(s->version);
	free(s->path);
	free(s->ref);
	free(s->commit);
	strlist_free(&s->series);
	free(s->mutant);
	memset(s, 0, sizeof(*s));
}

/* A name of a folder, and nothing that leads out of it. */
static bool good_name(const char *name, size_t len)
{
	if (!len || len > 100 || name[0] == '.' || name[0] == '-')
		return false;
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)name[i]) &&
		    !strchr("._-", name[i]))
			return false;
	return true;
}

/* "NAME" of "6.12+SERIES+mutant:NAME": the last word, and behind a series. */
static int parse_mutant(struct spec *s, const char *name, struct err *err)
{
	if (!s->series.n)
		return err_set(err, EXIT_USAGE,
			       "kernel \"%s\": a mutant goes behind the series that it is of, 6.12+SERIES+mutant:NAME",
			       s->text);
	if (!good_name(name, strlen(name)))
		return err_set(err, EXIT_USAGE,
			       "kernel \"%s\": \"%s\" is no name of a mutant; see folab mutants --list",
			       s->text, name);
	s->mutant = xstrdup(name);
	return 0;
}

/* "NAME", or "NAME:N": its first N patches. */
static bool good_series(const char *name, size_t len)
{
	const char *colon = memchr(name, ':', len);
	size_t digits;

	if (!colon)
		return good_name(name, len);
	digits = len - (size_t)(colon + 1 - name);
	return good_name(name, (size_t)(colon - name)) && digits &&
	       digits <= 3 && colon[1] != '0' &&
	       strspn(colon + 1, "0123456789") >= digits;
}

/* "a+b" behind the first plus. */
static int parse_series(struct spec *s, const char *list, struct err *err)
{
	for (;;) {
		size_t len = strcspn(list, "+"), word;
		char *name;

		if (str_starts(list, "mutant:"))
			return parse_mutant(s, list + strlen("mutant:"), err);
		name = xstrndup(list, len);
		if (!good_series(name, len)) {
			err_set(err, EXIT_USAGE,
				strchr(name, ':') ?
				"kernel \"%s\": \"%s\" names no part of a series; SERIES:3 is its first three patches" :
				"kernel \"%s\": \"%s\" is no name of a series; see folab list series",
				s->text, name);
			free(name);
			return -1;
		}
		word = strcspn(name, ":");
		for (size_t i = 0; i < s->series.n; i++)
			if (strcspn(s->series.v[i], ":") == word &&
			    !strncmp(s->series.v[i], name, word))
				err_set(err, EXIT_USAGE,
					"kernel \"%s\" names series %.*s twice",
					s->text, (int)word, name);
		strlist_add(&s->series, name);
		free(name);
		if (err->code)
			return -1;
		if (!list[len])
			return 0;
		list += len + 1;
	}
}

static int parse_source(struct spec *s, struct err *err)
{
	const char *p = s->text;
	size_t major = strspn(p, "0123456789"), minor = 0;

	if (major && p[major] == '.')
		minor = strspn(p + major + 1, "0123456789");
	p += major + 1 + minor;
	if (!minor || major + minor > 8 || (*p && *p != '+'))
		return err_set(err, EXIT_USAGE, "no kernel \"%s\": " FORMS,
			       s->text);
	s->kind = SPEC_SOURCE;
	s->version = xstrndup(s->text, p - s->text);
	return *p ? parse_series(s, p + 1, err) : 0;
}

static char *resolve_ref(const char *path, const char *ref)
{
	struct git g = { .dir = path };
	struct err ignored = { 0 };
	char *name = xasprintf("%s^{commit}", ref), *commit;

	/* "--end-of-options", so that a ref can't be an option. */
	commit = git_line(&g, &ignored, "rev-parse", "--verify", "--quiet",
			  "--end-of-options", name, NULL);
	free(name);
	return commit;
}

/*
 * REF is tried whole first, since a plus is allowed in it; what stands behind
 * a plus is a series only when the rest names a commit.
 */
static int find_commit(struct spec *s, const char *ref, struct err *err)
{
	char *whole = xstrdup(ref), *cut;
	int rc;

	s->commit = resolve_ref(s->path, whole);
	while (!s->commit && (cut = strrchr(whole, '+'))) {
		*cut = '\0';
		s->commit = resolve_ref(s->path, whole);
	}
	if (!s->commit) {
		struct git g = { .dir = s->path };
		char *top = git_line(&g, err, "rev-parse", "--git-dir", NULL);

		/* No repository, or not ours to read: git said it. */
		if (top)
			err_set(err, EXIT_USAGE, "no commit \"%s\" in %s", ref,
				s->path);
		else
			err->code = EXIT_USAGE;
		free(top);
		free(whole);
		return err_prefix(err, "kernel \"%s\"", s->text);
	}
	s->ref = whole;
	rc = ref[strlen(whole)] ?
	     parse_series(s, ref + strlen(whole) + 1, err) : 0;
	return rc;
}

static int parse_git(struct spec *s, struct err *err)
{
	const char *rest = s->text + strlen("git:"), *at;
	struct stat st;

	s->kind = SPEC_GIT;
	/*
	 * Both PATH and REF ("HEAD@{1}") may hold an '@': the first that has
	 * a directory in front of it parts them.
	 */
	for (at = strchr(rest, '@'); at; at = strchr(at + 1, '@')) {
		char *dir = xstrndup(rest, at - rest);

		if (at > rest && !stat(dir, &st) && S_ISDIR(st.st_mode)) {
			s->path = realpath(dir, NULL);
			free(dir);
			break;
		}
		free(dir);
	}
	if (!strchr(rest, '@') || (at && !at[1]))
		return err_set(err, EXIT_USAGE,
			       "kernel \"%s\" lacks a commit: git:PATH@REF, for instance git:PATH@HEAD",
			       s->text);
	if (!at || !s->path)
		return err_set(err, EXIT_USAGE,
			       "kernel \"%s\": there is no directory %.*s",
			       s->text, (int)strcspn(rest, "@"), rest);
	return find_commit(s, at + 1, err);
}

static int parse_image(struct spec *s, struct err *err)
{
	const char *path = s->text + strlen("image:");

	s->kind = SPEC_IMAGE;
	s->path = *path ? realpath(path, NULL) : NULL;
	if (!s->path)
		return err_set(err, EXIT_USAGE, "kernel \"%s\": %s", s->text,
			       *path ? strerror(errno) : "image:PATH lacks a path");
	return 0;
}

int spec_parse(struct spec *s, const char *text, struct err *err)
{
	memset(s, 0, sizeof(*s));
	s->text = xstrdup(text);
	if (!strcmp(text, "running"))
		return err_set(err, EXIT_USAGE,
			       "kernel \"running\" exists on the local machine only, which this version of folab does not have; "
			       FORMS);
	if (str_starts(text, "git:"))
		return parse_git(s, err);
	if (str_starts(text, "image:"))
		return parse_image(s, err);
	return parse_source(s, err);
}

int build_split_spec(const char *text, char **base, struct strlist *series,
		     struct err *err)
{
	struct spec s;
	int rc = spec_parse(&s, text, err);

	if (!rc && s.mutant)
		rc = err_set(err, EXIT_USAGE,
			     "kernel \"%s\" has a mutant: there is nothing to take from it",
			     text);
	if (!rc) {
		for (size_t i = 0; i < s.series.n; i++)
			strlist_add(series, s.series.v[i]);
		*base = s.kind == SPEC_SOURCE ? xstrdup(s.version) :
			s.kind == SPEC_GIT ? xasprintf("git:%s@%s", s.path, s.ref) :
			xstrdup(text);
	}
	spec_free(&s);
	return rc;
}
