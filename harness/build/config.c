/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Config = fragments on allnoconfig.  Kconfig drops without a word what it
 * does not know or whose dependencies are not met, so every option is looked
 * up in the .config that came out.
 */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "private.h"

#define FRAGMENT_MAX	(1u << 20)

void config_free(struct config *c)
{
	for (size_t i = 0; i < c->n; i++) {
		free(c->v[i].name);
		free(c->v[i].value);
		free(c->v[i].where);
	}
	free(c->v);
	memset(c, 0, sizeof(*c));
}

/* A later line, or fragment, overrides an earlier one. */
static void set_option(struct config *c, const char *name, const char *value,
		       bool optional, char *where)
{
	struct option *o = NULL;

	for (size_t i = 0; i < c->n && !o; i++)
		if (!strcmp(c->v[i].name, name))
			o = &c->v[i];
	if (!o) {
		c->v = xrealloc(c->v, c->n + 1, sizeof(*c->v));
		o = &c->v[c->n++];
		memset(o, 0, sizeof(*o));
		o->name = xstrdup(name);
	}
	free(o->value);
	free(o->where);
	o->value = xstrdup(value);
	o->where = where;
	o->optional = optional;
}

/*
 * One line of a fragment or .config: CONFIG_X=VALUE or "# CONFIG_X is not
 * set", each with "# optional" behind it if so.  false: it is another comment
 * or empty; *bad is set when it is neither.
 */
static bool parse_line(char *line, char **name, char **value, bool *optional,
		       bool *bad)
{
	char *mark = strstr(line, " # optional"), *end;

	*bad = false;
	*optional = mark != NULL;
	if (mark)
		*mark = '\0';
	end = line + strlen(line);
	while (end > line && strchr(" \t\r", end[-1]))
		*--end = '\0';
	if (str_starts(line, "# CONFIG_") && str_ends(line, " is not set")) {
		*name = line + 2;
		(*name)[strcspn(*name, " ")] = '\0';
		*value = (char *)"n";
		return true;
	}
	if (!*line || *line == '#')
		return false;
	end = strchr(line, '=');
	if (!str_starts(line, "CONFIG_") || !end || !end[1]) {
		*bad = true;
		return false;
	}
	*end = '\0';
	*name = line;
	*value = end + 1;
	return true;
}

int build_check_fragment(const char *name, struct err *err)
{
	char *dir = home_path("patches/config"), have[400] = "";
	struct dirent **list;
	int n = scandir(dir, &list, NULL, alphasort);
	bool found = false;

	for (int i = 0; i < n; i++) {
		char *word = list[i]->d_name, *end = strstr(word, ".config");
		size_t at = strlen(have);

		if (end && !end[strlen(".config")]) {
			*end = '\0';
			/* Those that every kernel gets are no choice. */
			if (strcmp(word, "base") && !arch_find(word)) {
				found |= !strcmp(word, name);
				snprintf(have + at, sizeof(have) - at, "%s%s",
					 at ? ", " : "", word);
			}
		}
		free(list[i]);
	}
	if (n >= 0)
		free(list);
	if (!found)
		err_set(err, EXIT_USAGE,
			"no config fragment \"%s\" in %s; there is %s", name,
			dir, *have ? have : "none");
	free(dir);
	return found ? 0 : -1;
}

/* "# with: NAME": all that fragment NAME has comes first. */
#define WITH		"# with: "
#define WITH_DEPTH	4

static int load_fragment(struct config *c, const char *file, int depth,
			 struct err *err)
{
	char *rel = xasprintf("patches/config/%s", file);
	char *path = home_path(rel), *text = NULL, *line, *next;
	int number = 0, rc;

	rc = file_read(path, FRAGMENT_MAX, &text, NULL, err);
	for (line = text; !rc && line; line = next) {
		char *name, *value, *where;
		bool optional, bad;

		number++;
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		if (str_starts(line, WITH)) {
			char *other = xasprintf("%s.config",
						line + strlen(WITH));

			rc = depth < WITH_DEPTH ?
			     load_fragment(c, other, depth + 1, err) :
			     err_set(err, EXIT_USAGE,
				     "config fragment %s:%d: fragments that begin with each other",
				     file, number);
			free(other);
			continue;
		}
		where = xasprintf("%s:%d", file, number);
		if (parse_line(line, &name, &value, &optional, &bad)) {
			set_option(c, name, value, optional, where);
			continue;
		}
		if (bad)
			rc = err_set(err, EXIT_USAGE,
				     "config fragment %s: \"%s\" is no CONFIG_X=value",
				     where, line);
		free(where);
	}
	free(text);
	free(path);
	free(rel);
	return rc;
}

static int by_name(const void *a, const void *b)
{
	const struct option *x = a, *y = b;

	return strcmp(x->name, y->name);
}

int config_load(struct config *c, const struct arch *arch, const char *fragment,
		struct err *err)
{
	char *own = xasprintf("%s.config", arch->name);
	char *more = fragment ? xasprintf("%s.config", fragment) : NULL;
	struct hash *h;
	int rc;

	memset(c, 0, sizeof(*c));
	rc = load_fragment(c, "base.config", 0, err);
	if (!rc)
		rc = load_fragment(c, own, 0, err);
	if (!rc && more)
		rc = load_fragment(c, more, 0, err);
	free(more);
	free(own);
	if (c->n)
		qsort(c->v, c->n, sizeof(*c->v), by_name);
	h = hash_new();
	for (size_t i = 0; i < c->n; i++) {
		hash_add_str(h, c->v[i].name);
		hash_add_str(h, c->v[i].value);
		hash_add_str(h, c->v[i].optional ? "optional" : "");
	}
	hash_end(h, c->hash);
	return rc;
}

int config_write(const struct config *c, const char *path, struct err *err)
{
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);
	int rc;

	for (size_t i = 0; i < c->n; i++) {
		if (!strcmp(c->v[i].value, "n"))
			fprintf(to, "# %s is not set\n", c->v[i].name);
		else
			fprintf(to, "%s=%s\n", c->v[i].name, c->v[i].value);
	}
	fclose(to);
	rc = file_write(path, text, len, err);
	free(text);
	return rc;
}

/* All that a .config says, by name, for bsearch(). */
static int read_dotconfig(struct config *c, const char *path, struct err *err)
{
	char *text, *line, *next;

	memset(c, 0, sizeof(*c));
	if (file_read(path, 8u << 20, &text, NULL, err))
		return -1;
	for (line = text; line; line = next) {
		char *name, *value;
		bool optional, bad;

		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		if (!parse_line(line, &name, &value, &optional, &bad))
			continue;
		c->v = xrealloc(c->v, c->n + 1, sizeof(*c->v));
		c->v[c->n++] = (struct option) {
			.name = xstrdup(name), .value = xstrdup(value),
		};
	}
	free(text);
	if (c->n)
		qsort(c->v, c->n, sizeof(*c->v), by_name);
	return 0;
}

int config_check(const struct config *c, const char *path, struct err *err)
{
	const struct option *first = NULL;
	const char *got_first = NULL;
	struct config have;
	size_t lost = 0;

	if (read_dotconfig(&have, path, err))
		return -1;
	for (size_t i = 0; i < c->n; i++) {
		const struct option *o = &c->v[i], *got = NULL;
		const char *value = "n";

		if (have.n)
			got = bsearch(o, have.v, have.n, sizeof(*o), by_name);
		if (got)
			value = got->value;
		if (o->optional || !strcmp(o->value, value))
			continue;
		if (!lost++) {
			first = o;
			got_first = got ? value : NULL;
		}
	}
	if (lost) {
		char more[64] = "";

		if (lost > 1)
			snprintf(more, sizeof(more), " (and %zu more)",
				 lost - 1);
		err_set(err, EXIT_BUILD,
			"Kconfig did not take %s=%s of %s, it is %s%s: its dependencies are not met or this kernel does not have it; correct the fragment, or put \"# optional\" behind the line",
			first->name, first->value, first->where,
			got_first ? got_first : "not there", more);
	}
	config_free(&have);
	return lost ? -1 : 0;
}
