/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Finished images, each in a folder images/KEY that is made beside, renamed
 * and never changed again:
 *
 *	Image or bzImage, symbols, config, series-NAME.mbox, image.json,
 *	sums (SHA-256 of all of these, checked at each use)
 *
 * KEY is the hash of everything that goes into the image.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "private.h"

#define SUMS		"sums"
#define SUMS_MAX	(1u << 20)
#define KEEP_SECONDS	(30 * 24 * 3600)

static char *in_entry(const char *dir, const char *name)
{
	char *path = xasprintf("%s/%s", dir, name);

	if (!file_exists(path)) {
		free(path);
		return NULL;
	}
	return path;
}

/* image.json knows no paths: what lies in the folder is found by its name. */
static int fill_paths(struct image *im, const char *dir, struct err *err)
{
	char *copy = xstrdup(im->arch->image);

	im->kernel = in_entry(dir, basename(copy));
	free(copy);
	im->symbols = in_entry(dir, "symbols");
	im->config = in_entry(dir, "config");
	for (size_t i = 0; i < im->n_series; i++) {
		char *name = xasprintf("series-%s.mbox", im->series[i].name);

		im->series[i].mbox = in_entry(dir, name);
		free(name);
	}
	if (!im->kernel)
		return err_set(err, EXIT_ENVIRONMENT,
			       "the cache entry %s is damaged: remove it", dir);
	return 0;
}

/* "HEX  NAME" as sha256sum(1) writes it, for all in @dir but the list itself. */
static char *list_sums(const char *dir, struct err *err)
{
	struct dirent **list;
	char *text = xstrdup("");
	int n = scandir(dir, &list, NULL, alphasort), rc = n < 0 ? -1 : 0;

	if (rc)
		err_sys(err, EXIT_ENVIRONMENT, errno, "can't read %s", dir);
	for (int i = 0; i < n; i++) {
		const char *name = list[i]->d_name;

		if (!rc && name[0] != '.' && strcmp(name, SUMS)) {
			char *path = xasprintf("%s/%s", dir, name), *more;
			struct hash *h = hash_new();
			char hex[HASH_HEX];

			rc = hash_add_file(h, path, err);
			hash_end(h, hex);
			more = xasprintf("%s%s  %s\n", text, hex, name);
			free(text);
			text = more;
			free(path);
		}
		free(list[i]);
	}
	if (n >= 0)
		free(list);
	if (!rc)
		return text;
	free(text);
	return NULL;
}

static int write_sums(const char *dir, struct err *err)
{
	char *path = xasprintf("%s/" SUMS, dir), *text = list_sums(dir, err);
	int rc = text ? file_write(path, text, strlen(text), err) : -1;

	free(text);
	free(path);
	return rc;
}

/* Is all there, and as it was written?  A disk, or a user, may have had a
 * hand in it; a kernel that is cut short would fail in ways of its own. */
static bool is_sound(const char *dir)
{
	char *path = xasprintf("%s/" SUMS, dir), *then = NULL, *now = NULL;
	struct err ignored = { 0 };
	bool sound = false;

	if (!file_read(path, SUMS_MAX, &then, NULL, &ignored)) {
		now = list_sums(dir, &ignored);
		sound = now && !strcmp(then, now);
	}
	free(now);
	free(then);
	free(path);
	return sound;
}

int cache_find(const char *cache, const char *key, struct image *im,
	       struct err *err)
{
	char *dir = xasprintf("%s/images/%s", cache, key);
	char *path = xasprintf("%s/image.json", dir);
	json_t *o = NULL;
	int rc = 1;

	memset(im, 0, sizeof(*im));
	if (file_exists(dir) && !is_sound(dir)) {
		/* As good as not there: it will be made again. */
		rc = file_remove_tree(dir, err) ? -1 : 1;
	} else if (file_exists(path)) {
		rc = js_read(path, &o, err);
		if (!rc)
			rc = image_from_json(im, o, err);
		if (!rc)
			rc = fill_paths(im, dir, err);
		json_decref(o);
		/* For cache_prune(): it was used now. */
		utimensat(AT_FDCWD, dir, NULL, 0);
		if (rc) {
			err->code = EXIT_ENVIRONMENT;
			image_free(im);
			memset(im, 0, sizeof(*im));
		}
	}
	free(path);
	free(dir);
	return rc;
}

char *cache_begin(const char *cache, const char *who, struct err *err)
{
	char *tmp = xasprintf("%s/images/.new-%s", cache, who);

	if (file_remove_tree(tmp, err) || file_mkdirs(tmp, err)) {
		free(tmp);
		return NULL;
	}
	return tmp;
}

int cache_commit(const char *cache, const char *tmp, const char *key,
		 const struct image *im, struct err *err)
{
	char *dir = xasprintf("%s/images/%s", cache, key);
	char *path = xasprintf("%s/image.json", tmp);
	json_t *o = image_to_json(im);
	int rc = js_write(path, o, err);

	json_decref(o);
	if (!rc)
		rc = write_sums(tmp, err);
	if (!rc && rename(tmp, dir)) {
		/* Another folab, in another slot, made the same. */
		if (errno == EEXIST || errno == ENOTEMPTY)
			rc = file_remove_tree(tmp, err);
		else
			rc = err_sys(err, EXIT_ENVIRONMENT, errno,
				     "can't make %s", dir);
	}
	free(path);
	free(dir);
	return rc;
}

void cache_prune(const char *cache)
{
	char *dir = xasprintf("%s/images", cache);
	DIR *d = opendir(dir);
	struct dirent *de;

	while (d && (de = readdir(d))) {
		struct err ignored = { 0 };
		struct stat st;
		char *entry;

		if (!strcmp(de->d_name, ".") || !strcmp(de->d_name, ".."))
			continue;
		entry = xasprintf("%s/%s", dir, de->d_name);
		if (!stat(entry, &st) &&
		    time(NULL) - st.st_mtime > KEEP_SECONDS)
			file_remove_tree(entry, &ignored);
		free(entry);
	}
	if (d)
		closedir(d);
	free(dir);
}
