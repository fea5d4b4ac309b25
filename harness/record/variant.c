/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The rows of a comparison that are comparisons themselves.
 */
#include <stdlib.h>
#include <string.h>

#include "variant.h"

char *variant_dir(const char *dir, size_t i)
{
	return xasprintf("%s/row-%zu", dir, i + 1);
}

struct variant *variant_add(struct result *r, const char *name)
{
	struct variant *v;

	r->variants = xrealloc(r->variants, r->n_variants + 1,
			       sizeof(*r->variants));
	v = &r->variants[r->n_variants++];
	*v = (struct variant){
		.name = xstrdup(name),
		.r = xcalloc(1, sizeof(*v->r)),
	};
	return v;
}

const struct variant *variant_find(const struct result *r, const char *name)
{
	for (size_t i = 0; i < r->n_variants; i++)
		if (!strcmp(r->variants[i].name, name))
			return &r->variants[i];
	return NULL;
}

void variants_free(struct result *r)
{
	for (size_t i = 0; i < r->n_variants; i++) {
		free(r->variants[i].name);
		strlist_free(&r->variants[i].set);
		result_free(r->variants[i].r);
		free(r->variants[i].r);
	}
	free(r->variants);
}

json_t *variants_to_json(const struct result *r)
{
	json_t *list = json_array();

	for (size_t i = 0; i < r->n_variants; i++) {
		const struct variant *v = &r->variants[i];
		json_t *o = json_object();

		json_object_set_new(o, "name", rec_text(v->name));
		json_object_set_new(o, "set", rec_strlist(&v->set));
		json_object_set_new(o, "result", result_to_json(v->r));
		json_array_append_new(list, o);
	}
	return list;
}

static int one_from_json(struct result *r, const json_t *o, struct err *err)
{
	struct variant *v;
	const char *name;
	json_t *result;

	if (js_string(o, "variant", "name", &name, err) ||
	    js_container(o, "variant", "result", JSON_OBJECT, &result, err))
		return -1;
	/* Looked at first: a file could hold one in the other without an end. */
	if (json_object_get(result, "variants"))
		return err_set(err, EXIT_USAGE,
			       "variant \"%.40s\": it has variants itself",
			       name);
	if (variant_find(r, name))
		return err_set(err, EXIT_USAGE, "a second variant \"%.40s\"",
			       name);
	v = variant_add(r, name);
	if (rec_get_strlist(o, "variant", "set", &v->set, err) ||
	    result_from_json(v->r, result, err))
		return err_prefix(err, "variant \"%.40s\"", name);
	if (result_one_sided(v->r))
		return err_set(err, EXIT_USAGE,
			       "variant \"%.40s\": it has one side", name);
	return 0;
}

int variants_from_json(struct result *r, const json_t *list, struct err *err)
{
	json_t *o;
	size_t i;

	if (!json_is_array(list))
		return err_set(err, EXIT_USAGE, "variants: not an array");
	json_array_foreach((json_t *)list, i, o)
		if (one_from_json(r, o, err))
			return -1;
	return 0;
}
