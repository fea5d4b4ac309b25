/* SPDX-License-Identifier: GPL-2.0 */
#include <stdlib.h>
#include <string.h>

#include "json.h"

static void series_free(struct image_series *s)
{
	free(s->name);
	free(s->hash);
	free(s->mbox);
}

/* Its texts, one after the other; NULL behind the last. */
static char **text_at(struct image *im, size_t i)
{
	char **const texts[] = {
		&im->spec, &im->kernel, &im->symbols, &im->config,
		&im->release, &im->base, &im->compiler, &im->config_hash,
		&im->image_hash,
	};

	return i < ARRAY_SIZE(texts) ? texts[i] : NULL;
}

static char *copy_text(const char *text)
{
	return text ? xstrdup(text) : NULL;
}

void image_copy(struct image *to, const struct image *from)
{
	char **text;

	*to = *from;
	for (size_t i = 0; (text = text_at(to, i)); i++)
		*text = copy_text(*text);
	to->series = xcalloc(from->n_series, sizeof(*to->series));
	for (size_t i = 0; i < from->n_series; i++)
		to->series[i] = (struct image_series){
			.name = copy_text(from->series[i].name),
			.hash = copy_text(from->series[i].hash),
			.mbox = copy_text(from->series[i].mbox),
			.patches = from->series[i].patches,
		};
}

void image_free(struct image *im)
{
	char **text;

	for (size_t i = 0; (text = text_at(im, i)); i++)
		free(*text);
	for (size_t i = 0; i < im->n_series; i++)
		series_free(&im->series[i]);
	free(im->series);
	memset(im, 0, sizeof(*im));
}

json_t *image_to_json(const struct image *im)
{
	json_t *o = json_object(), *a = json_array();

	json_object_set_new(o, "kernel", rec_text(im->spec));
	json_object_set_new(o, "arch",
			    rec_text(im->arch ? im->arch->name : NULL));
	json_object_set_new(o, "release", rec_text(im->release));
	json_object_set_new(o, "base", rec_text(im->base));
	json_object_set_new(o, "compiler", rec_text(im->compiler));
	json_object_set_new(o, "config_hash", rec_text(im->config_hash));
	json_object_set_new(o, "image_hash", rec_text(im->image_hash));
	for (size_t i = 0; i < im->n_series; i++) {
		json_t *s = json_object();

		json_object_set_new(s, "name", rec_text(im->series[i].name));
		json_object_set_new(s, "hash", rec_text(im->series[i].hash));
		json_object_set_new(s, "patches",
				    json_integer(im->series[i].patches));
		json_array_append_new(a, s);
	}
	json_object_set_new(o, "series", a);
	return o;
}

static int series_from_json(struct image *im, const json_t *a,
			    struct err *err)
{
	json_t *s;
	size_t i;

	im->series = xcalloc(json_array_size(a), sizeof(*im->series));
	json_array_foreach((json_t *)a, i, s) {
		struct image_series *mine = &im->series[im->n_series++];

		if (rec_get_text(s, "series", "name", &mine->name, err) ||
		    rec_get_text(s, "series", "hash", &mine->hash, err) ||
		    js_int(s, "series", "patches", &mine->patches, err))
			return -1;
	}
	return 0;
}

int image_from_json(struct image *im, const json_t *o, struct err *err)
{
	char *arch = NULL;
	json_t *series;

	if (rec_get_text(o, "side", "kernel", &im->spec, err) ||
	    rec_get_text(o, "side", "arch", &arch, err) ||
	    rec_get_text(o, "side", "release", &im->release, err) ||
	    rec_get_text(o, "side", "base", &im->base, err) ||
	    rec_get_text(o, "side", "compiler", &im->compiler, err) ||
	    rec_get_text(o, "side", "config_hash", &im->config_hash, err) ||
	    rec_get_text(o, "side", "image_hash", &im->image_hash, err) ||
	    js_container(o, "side", "series", JSON_ARRAY, &series, err) ||
	    series_from_json(im, series, err)) {
		free(arch);
		return -1;
	}
	im->arch = arch ? arch_find(arch) : NULL;
	free(arch);
	return 0;
}
