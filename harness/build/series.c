/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A series is a folder patches/linux-N.N/NAME with patches as git
 * format-patch writes them, and a file "series" that names them in order.
 */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "private.h"

#define PATCH_MAX	(16u << 20)

void series_free(struct series *s)
{
	free(s->name);
	free(s->dir);
	for (size_t i = 0; s->texts && i < s->patches.n; i++)
		free(s->texts[i]);
	free(s->texts);
	free(s->lengths);
	strlist_free(&s->patches);
	memset(s, 0, sizeof(*s));
}

/* Names of the folders in @dir, sorted. */
static int folders(const char *dir, struct strlist *names)
{
	struct dirent **list;
	int n = scandir(dir, &list, NULL, alphasort);

	for (int i = 0; i < n; i++) {
		char *path = xasprintf("%s/%s", dir, list[i]->d_name);
		struct stat st;

		if (list[i]->d_name[0] != '.' && !stat(path, &st) &&
		    S_ISDIR(st.st_mode))
			strlist_add(names, list[i]->d_name);
		free(path);
		free(list[i]);
	}
	if (n >= 0)
		free(list);
	return n;
}

static int no_such(const char *version, const char *name, struct err *err)
{
	char *rel = xasprintf("patches/linux-%s", version);
	char *dir = home_path(rel), text[400] = "";
	struct strlist have = { 0 };

	folders(dir, &have);
	for (size_t i = 0; i < have.n; i++) {
		size_t at = strlen(text);

		snprintf(text + at, sizeof(text) - at, "%s%s", i ? ", " : "",
			 have.v[i]);
	}
	if (have.n)
		err_set(err, EXIT_USAGE,
			"no series \"%s\" for Linux %s; there is %s", name,
			version, text);
	else
		err_set(err, EXIT_USAGE,
			"no series \"%s\" for Linux %s; there is none in %s",
			name, version, dir);
	strlist_free(&have);
	free(dir);
	free(rel);
	return -1;
}

/* The file "series": a name a line, # begins a comment. */
static int read_order(struct series *s, struct err *err)
{
	char *path = xasprintf("%s/series", s->dir), *text, *line, *save;

	if (!file_exists(path)) {
		err_set(err, EXIT_USAGE,
			"series %s has no file \"series\" that names its patches in order: write one to %s",
			s->name, path);
		free(path);
		return -1;
	}
	if (file_read(path, 1 << 20, &text, NULL, err)) {
		free(path);
		return -1;
	}
	for (line = strtok_r(text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		line[strcspn(line, "#\r")] = '\0';
		line += strspn(line, " \t");
		line[strcspn(line, " \t")] = '\0';
		if (!*line)
			continue;
		if (strchr(line, '/')) {
			err_set(err, EXIT_USAGE,
				"%s: \"%s\" is not in its folder", path, line);
			break;
		}
		strlist_add(&s->patches, line);
	}
	if (!s->patches.n)
		err_set(err, EXIT_USAGE, "%s names no patch", path);
	free(text);
	free(path);
	return err->code ? -1 : 0;
}

/* Of "NAME:N" keep the first N patches. */
static int keep_first(struct series *s, struct err *err)
{
	const char *colon = strchr(s->name, ':');
	size_t n = colon ? strtoul(colon + 1, NULL, 10) : s->patches.n;

	if (n > s->patches.n)
		return err_set(err, EXIT_USAGE,
			       "series %.*s has %zu patch%s, \"%s\" asks for more",
			       (int)(colon - s->name), s->name, s->patches.n,
			       s->patches.n == 1 ? "" : "es", s->name);
	while (s->patches.n > n)
		free(s->patches.v[--s->patches.n]);
	return 0;
}

int series_load(struct series *s, const char *version, const char *name,
		struct err *err)
{
	char *bare = xstrndup(name, strcspn(name, ":"));
	char *rel = xasprintf("patches/linux-%s/%s", version, bare);
	struct stat st;
	struct hash *h;
	int rc = 0;

	memset(s, 0, sizeof(*s));
	s->name = xstrdup(name);
	s->dir = home_path(rel);
	free(rel);
	if (stat(s->dir, &st) || !S_ISDIR(st.st_mode))
		rc = no_such(version, bare, err);
	free(bare);
	if (rc || read_order(s, err) || keep_first(s, err))
		return -1;
	s->texts = xcalloc(s->patches.n, sizeof(*s->texts));
	s->lengths = xcalloc(s->patches.n, sizeof(*s->lengths));
	h = hash_new();
	for (size_t i = 0; i < s->patches.n && !rc; i++) {
		char *path = xasprintf("%s/%s", s->dir, s->patches.v[i]);

		if (!file_exists(path))
			rc = err_set(err, EXIT_USAGE,
				     "series %s names %s, which is not in %s",
				     name, s->patches.v[i], s->dir);
		else
			rc = file_read(path, PATCH_MAX, &s->texts[i],
				       &s->lengths[i], err);
		if (!rc) {
			hash_add(h, &s->lengths[i], sizeof(s->lengths[i]));
			hash_add(h, s->texts[i], s->lengths[i]);
		}
		free(path);
	}
	hash_end(h, s->hash);
	return rc;
}

/*
 * The header of the hunk of @file in the patch that starts at old line @line,
 * caller frees; NULL if there is none.
 */
static char *find_hunk(const char *patch, const char *file, long line)
{
	char *text = xstrdup(patch), *p, *save, *found = NULL;
	bool here = false;

	for (p = strtok_r(text, "\n", &save); p && !found;
	     p = strtok_r(NULL, "\n", &save)) {
		if (str_starts(p, "--- a/"))
			here = !strcmp(p + 6, file);
		else if (here && str_starts(p, "@@ -") &&
			 strtol(p + 4, NULL, 10) == line)
			found = xstrndup(p, 100);
	}
	free(text);
	return found;
}

/* git apply said no: name series, patch, file and hunk. */
static int does_not_apply(const struct source *src, const struct series *s,
			  size_t i, char *said, struct err *err)
{
	const char *what = str_starts(s->name, "mutant:") ? "" : "series ";
	char *failed, *colon, *hunk = NULL;

	if (no_space(said, err))
		goto out;
	failed = strstr(said, "patch failed: ");
	if (failed) {
		failed += strlen("patch failed: ");
		failed[strcspn(failed, "\n")] = '\0';
		colon = strrchr(failed, ':');
		if (colon) {
			*colon = '\0';
			hunk = find_hunk(s->texts[i], failed,
					 strtol(colon + 1, NULL, 10));
			*colon = ':';
		}
	}
	if (hunk) {
		*colon = '\0';
		err_set(err, EXIT_BUILD,
			"%s%s does not apply to %s: patch %s, file %s, hunk %s",
			what, s->name, src->title, s->patches.v[i], failed, hunk);
	} else {
		struct err why = { 0 };

		if (!failed) {
			git_complain(said, &why);
			failed = why.text;
		}
		err_set(err, EXIT_BUILD,
			"%s%s does not apply to %s: patch %s: %s",
			what, s->name, src->title, s->patches.v[i], failed);
	}
out:
	free(hunk);
	return -1;
}

/*
 * What was hashed is what is applied, even if the user saves the patch just
 * now: git reads a copy of ours.
 */
static int apply_one(const struct git *g, const struct source *src,
		     const struct series *s, size_t i, const char *scratch,
		     struct err *err)
{
	char *said = NULL;
	int rc;

	rc = file_write(scratch, s->texts[i], s->lengths[i], err);
	if (!rc)
		rc = git_try(g, &said, err, "apply", "--cached", scratch, NULL);
	if (rc > 0)
		does_not_apply(src, s, i, said, err);
	unlink(scratch);
	free(said);
	return rc ? -1 : 0;
}

int series_apply(const struct source *src, const struct series *s, size_t n,
		 const char *index, char **tree, struct err *err)
{
	struct git g = { .repo = src->repo, .index = index };
	char *name = xasprintf("%s^{tree}", src->rev);
	char *scratch = xasprintf("%s.patch", index);
	char *stale = xasprintf("%s.lock", index);
	int rc = 0;

	/* Left by a git that was killed; the caller holds the slot. */
	unlink(index);
	unlink(stale);

	if (!n) {
		*tree = git_line(&g, err, "rev-parse", "--verify", name, NULL);
		rc = *tree ? 0 : -1;
		goto out;
	}
	rc = git_run(&g, err, "read-tree", name, NULL);
	for (size_t i = 0; i < n && !rc; i++)
		for (size_t k = 0; k < s[i].patches.n && !rc; k++)
			rc = apply_one(&g, src, &s[i], k, scratch, err);
	if (!rc) {
		*tree = git_line(&g, err, "write-tree", NULL);
		rc = *tree ? 0 : -1;
	}
out:
	unlink(index);
	free(stale);
	free(scratch);
	free(name);
	return rc;
}

int series_mbox(const struct series *s, const char *path, struct err *err)
{
	char *all = NULL;
	size_t len;
	FILE *to = open_memstream(&all, &len);
	int rc;

	for (size_t i = 0; i < s->patches.n; i++) {
		size_t n = s->lengths[i];

		fwrite(s->texts[i], 1, n, to);
		if (n && s->texts[i][n - 1] != '\n')
			fputc('\n', to);
	}
	fclose(to);
	rc = file_write(path, all, len, err);
	free(all);
	return rc;
}

/* ---- folab list series ----------------------------------------------------- */

char *patch_subject(const char *patch)
{
	const char *subject = strstr(patch, "\nSubject: ");

	if (!subject)
		return xstrdup("");
	subject += strlen("\nSubject: ");
	if (*subject == '[' && strchr(subject, ']'))
		subject = strchr(subject, ']') + 1;
	subject += strspn(subject, " ");
	return xstrndup(subject, strcspn(subject, "\n"));
}

/* First line of the cover text, or the subject of the first patch. */
static char *title_of(const struct series *s)
{
	char *path = xasprintf("%s/cover", s->dir), *text, *title;
	struct err ignored = { 0 };

	if (file_read(path, 1 << 20, &text, NULL, &ignored)) {
		title = patch_subject(s->texts[0]);
	} else {
		title = xstrndup(text, strcspn(text, "\n"));
		free(text);
	}
	free(path);
	return title;
}

static void look_at(const char *base, const char *name,
		    struct series_info *info)
{
	struct err broken = { 0 };
	struct series s;

	*info = (struct series_info){
		.base = xstrdup(base), .name = xstrdup(name),
	};
	if (series_load(&s, base, name, &broken)) {
		info->broken = xstrdup(broken.text);
	} else {
		info->title = title_of(&s);
		info->patches = (int64_t)s.patches.n;
	}
	series_free(&s);
}

int build_series(struct series_info **list, size_t *n, struct err *err)
{
	struct strlist bases = { 0 }, names = { 0 };
	char *top = home_path("patches");
	int rc = 0;

	*list = NULL;
	*n = 0;
	if (folders(top, &bases) < 0)
		rc = err_set(err, EXIT_ENVIRONMENT, "there is no folder %s",
			     top);
	for (size_t i = 0; i < bases.n; i++) {
		char *dir = xasprintf("%s/%s", top, bases.v[i]);

		if (str_starts(bases.v[i], "linux-"))
			folders(dir, &names);
		for (size_t k = 0; k < names.n; k++) {
			const char *base = bases.v[i] + strlen("linux-");

			*list = xrealloc(*list, *n + 1, sizeof(**list));
			look_at(base, names.v[k], &(*list)[(*n)++]);
		}
		strlist_free(&names);
		memset(&names, 0, sizeof(names));
		free(dir);
	}
	strlist_free(&bases);
	free(top);
	if (rc) {
		build_series_free(*list, *n);
		*list = NULL;
		*n = 0;
	}
	return rc;
}

void build_series_free(struct series_info *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(list[i].base);
		free(list[i].name);
		free(list[i].title);
		free(list[i].broken);
	}
	free(list);
}
