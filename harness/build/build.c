/* SPDX-License-Identifier: GPL-2.0 */
#include <errno.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>

#include "private.h"

static void build_free(struct build *b)
{
	spec_free(&b->spec);
	source_free(&b->source);
	for (size_t i = 0; i < b->n_series; i++)
		series_free(&b->series[i]);
	free(b->series);
	config_free(&b->config);
	free(b->cache);
	free(b->cross);
	free(b->compiler);
	free(b->slot);
	free(b->dir);
	free(b->work);
	free(b->src);
	free(b->out);
	free(b->log);
	free(b->tree);
}

static int make_dirs(const char *cache, struct err *err)
{
	static const char *const names[] = {
		"locks", "sources", "slots", "images",
	};
	int rc = 0;

	for (size_t i = 0; i < ARRAY_SIZE(names) && !rc; i++) {
		char *dir = xasprintf("%s/%s", cache, names[i]);

		rc = file_mkdirs(dir, err);
		free(dir);
	}
	return rc;
}

static int load_series(struct build *b, struct err *err)
{
	size_t n = b->spec.series.n;

	b->series = xcalloc(n + 1, sizeof(*b->series));
	for (size_t i = 0; i < n; i++) {
		b->n_series++;
		if (series_load(&b->series[i], b->source.version,
				b->spec.series.v[i], err))
			return -1;
	}
	if (!b->spec.mutant)
		return 0;
	b->n_series++;
	return mutant_load(&b->series[n], &b->spec.series, b->spec.mutant, err);
}

/* The compiler is in b->key already: all the rest that makes the image. */
static void make_key(struct build *b)
{
	struct hash *h = hash_new();

	hash_add_str(h, "kernel " RECIPE);
	hash_add_str(h, b->key);
	hash_add_str(h, b->arch->name);
	hash_add_str(h, b->config.hash);
	hash_add_str(h, b->source.id);
	for (size_t i = 0; i < b->n_series; i++) {
		hash_add_str(h, b->series[i].name);
		hash_add_str(h, b->series[i].hash);
	}
	hash_end(h, b->key);
}

/* Everything that can be known without building; cheap. */
static int look_up(struct build *b, struct err *err)
{
	if (make_dirs(b->cache, err) ||
	    source_find(&b->source, &b->spec, b->cache, err) ||
	    load_series(b, err) ||
	    config_load(&b->config, b->arch, b->opt->fragment, err) ||
	    make_probe(b, err))
		return -1;
	make_key(b);
	slot_name(b);
	return 0;
}

/* What the entry says of itself need not be what the user called it today. */
static void name_image(struct image *im, const struct build *b)
{
	free(im->spec);
	free(im->base);
	im->spec = xstrdup(b->spec.text);
	im->base = xstrdup(b->source.title);
}

static int keep_series(struct build *b, const char *tmp, struct image *im,
		       struct err *err)
{
	int rc = 0;

	im->series = xcalloc(b->n_series ? b->n_series : 1,
			     sizeof(*im->series));
	for (size_t i = 0; i < b->n_series && !rc; i++) {
		char *mbox = xasprintf("%s/series-%s.mbox", tmp,
				       b->series[i].name);

		im->n_series++;
		im->series[i] = (struct image_series) {
			.name = xstrdup(b->series[i].name),
			.hash = xstrdup(b->series[i].hash),
			.patches = b->series[i].patches.n,
		};
		rc = series_mbox(&b->series[i], mbox, err);
		free(mbox);
	}
	return rc;
}

static int take_release(struct build *b, struct image *im, struct err *err)
{
	char *path = xasprintf("%s/include/config/kernel.release", b->out);
	int rc = file_read(path, 4096, &im->release, NULL, err);

	if (!rc)
		im->release[strcspn(im->release, "\n")] = '\0';
	free(path);
	return rc;
}

/* Copy what make made into the entry in @tmp, and describe it. */
static int harvest(struct build *b, const char *tmp, struct image *im,
		   struct err *err)
{
	char *rel = xstrdup(b->arch->image);
	char *made = xasprintf("%s/%s", b->out, b->arch->image);
	char *kernel = xasprintf("%s/%s", tmp, basename(rel));
	char *made_config = xasprintf("%s/.config", b->out);
	char *config = xasprintf("%s/config", tmp);
	char *vmlinux = xasprintf("%s/vmlinux", b->out);
	char *symbols = xasprintf("%s/symbols", tmp);
	int rc = -1;

	im->arch = b->arch;
	im->compiler = xstrdup(b->compiler);
	name_image(im, b);
	if (file_copy(made, kernel, err) ||
	    file_copy(made_config, config, err) ||
	    symbols_from_vmlinux(vmlinux, b->arch, symbols, err) ||
	    take_release(b, im, err) || keep_series(b, tmp, im, err))
		goto out;
	im->image_hash = hash_of_file(kernel, err);
	im->config_hash = im->image_hash ? hash_of_file(config, err) : NULL;
	rc = im->config_hash ? 0 : -1;
out:
	free(rel);
	free(made);
	free(kernel);
	free(made_config);
	free(config);
	free(vmlinux);
	free(symbols);
	return rc;
}

static int keep_image(struct build *b, struct err *err)
{
	struct image im = { 0 };
	char *tmp = cache_begin(b->cache, b->slot, err);
	int rc = -1;

	if (!tmp)
		return -1;
	progress_step(b->steps, b->steps, "symbols");
	if (!harvest(b, tmp, &im, err))
		rc = cache_commit(b->cache, tmp, b->key, &im, err);
	if (rc)
		file_remove_tree(tmp, &(struct err){ 0 });
	image_free(&im);
	free(tmp);
	return rc;
}

static int build_in_slot(struct build *b, struct err *err)
{
	int rc;

	progress_begin("build %s %s%s%s", b->spec.text, b->arch->name,
		       b->opt->fragment ? " " : "",
		       b->opt->fragment ? b->opt->fragment : "");
	rc = slot_prepare(b, err);
	if (!rc)
		rc = make_config(b, err);
	if (!rc)
		rc = make_image(b, err);
	if (!rc)
		rc = keep_image(b, err);
	if (!rc)
		rc = slot_finish(b, err);
	if (rc)
		slot_fail(b, err);
	progress_end(rc ? NULL : "built");
	return rc;
}

static int make_it(struct build *b, struct image *im, struct err *err)
{
	int rc;

	rc = source_import(&b->source, b->cache, err);
	if (rc || slot_lock(b, err))
		return -1;
	/* The one that we waited for may have made the very same. */
	rc = cache_find(b->cache, b->key, im, err);
	if (rc > 0) {
		rc = build_in_slot(b, err);
		if (!rc)
			rc = cache_find(b->cache, b->key, im, err);
	}
	lock_release(&b->lock);
	if (rc > 0)
		rc = err_set(err, EXIT_ENVIRONMENT,
			     "the image of %s went from the cache %s",
			     b->spec.text, b->cache);
	if (!rc) {
		slot_prune(b->cache);
		cache_prune(b->cache);
	}
	return rc;
}

int build_kernel(const char *spec, const struct arch *arch,
		 const struct build_options *opt, struct image *image,
		 struct err *err)
{
	static const struct build_options plain;
	struct build b = {
		.arch = arch, .opt = opt ? opt : &plain, .lock = { -1 },
	};
	int rc = -1;

	memset(image, 0, sizeof(*image));
	b.cache = cache_dir(err);
	if (!b.cache || spec_parse(&b.spec, spec, err))
		goto out;
	if (strpbrk(b.cache, " :\t")) {
		err_set(err, EXIT_ENVIRONMENT,
			"a kernel can't be built in \"%s\": make takes no space or colon in a path; set XDG_CACHE_HOME",
			b.cache);
		goto out;
	}
	if (b.spec.kind == SPEC_IMAGE) {
		if (!make_dirs(b.cache, err))
			rc = given_image(&b.spec, arch, b.cache, image, err);
		goto out;
	}
	if (look_up(&b, err))
		goto out;
	rc = cache_find(b.cache, b.key, image, err);
	if (rc > 0)
		rc = make_it(&b, image, err);
	if (!rc)
		name_image(image, &b);
out:
	build_free(&b);
	return rc;
}

int build_check_spec(const char *spec, const struct arch *arch, struct err *err)
{
	static const struct build_options plain;
	struct build b = { .arch = arch, .opt = &plain };
	int rc = -1;

	b.cache = cache_dir(err);
	if (!b.cache || spec_parse(&b.spec, spec, err))
		goto out;
	if (b.spec.kind == SPEC_IMAGE)
		rc = given_check(&b.spec, arch, err);
	else
		rc = look_up(&b, err);
out:
	build_free(&b);
	return rc;
}
