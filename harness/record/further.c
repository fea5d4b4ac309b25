/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Sides behind A and B: what a comparison of several kernels with A has more.
 */
#include <stdlib.h>
#include <string.h>

#include "json.h"

void further_forget(struct further *f)
{
	for (size_t i = 0; i < f->n_rows; i++)
		free(f->rows[i].metric);
	free(f->rows);
	f->rows = NULL;
	f->n_rows = 0;
	strlist_free(&f->reasons);
	f->reasons = (struct strlist){ 0 };
	strlist_free(&f->notes);
	f->notes = (struct strlist){ 0 };
	f->valid = false;
	f->alike = f->alike_of = 0;
}

void further_free(struct further *f)
{
	further_forget(f);
	image_free(&f->image);
	for (size_t i = 0; i < f->n_trials; i++)
		trial_free(&f->trials[i]);
	free(f->trials);
	memset(f, 0, sizeof(*f));
}

struct result further_view(const struct result *r, const struct further *f)
{
	struct result v = *r;

	v.side[1] = f->image;
	v.trials = xcalloc(r->n_trials + f->n_trials + 1, sizeof(*v.trials));
	v.n_trials = 0;
	for (size_t i = 0; i < r->n_trials; i++)
		if (r->trials[i].side == 'A')
			v.trials[v.n_trials++] = r->trials[i];
	for (size_t i = 0; i < f->n_trials; i++) {
		v.trials[v.n_trials] = f->trials[i];
		v.trials[v.n_trials++].side = 'B';
	}
	memset(v.profile, 0, sizeof(v.profile));
	memset(&v.selftests, 0, sizeof(v.selftests));
	memset(&v.two_by_two, 0, sizeof(v.two_by_two));
	v.rows = f->rows;
	v.n_rows = f->n_rows;
	v.valid = f->valid;
	v.reasons = f->reasons;
	v.notes = f->notes;
	v.alike = f->alike;
	v.alike_of = f->alike_of;
	v.diffs = NULL;
	v.n_diffs = 0;
	v.aa = false;
	v.further = NULL;
	v.n_further = 0;
	return v;
}

json_t *further_to_json(const struct further *f, const char *clock)
{
	const char side[2] = { f->side, '\0' };
	json_t *o = json_object(), *trials = json_array(), *rows = json_array();

	json_object_set_new(o, "side", json_string(side));
	json_object_set_new(o, "kernel", image_to_json(&f->image));
	for (size_t i = 0; i < f->n_trials; i++)
		json_array_append_new(trials, trial_to_json(&f->trials[i]));
	for (size_t i = 0; i < f->n_rows; i++)
		json_array_append_new(rows, rec_row_to_json(&f->rows[i], clock));
	json_object_set_new(o, "trials", trials);
	json_object_set_new(o, "comparison", rows);
	json_object_set_new(o, "valid", json_boolean(f->valid));
	json_object_set_new(o, "reasons", rec_strlist(&f->reasons));
	json_object_set_new(o, "notes", rec_strlist(&f->notes));
	json_object_set_new(o, "alike", json_integer(f->alike));
	json_object_set_new(o, "alike_of", json_integer(f->alike_of));
	return o;
}

int further_from_json(struct further *f, const json_t *o, struct err *err)
{
	json_t *kernel, *trials, *rows, *v;
	const char *side;
	size_t i;

	if (js_string(o, "further", "side", &side, err) ||
	    js_container(o, "further", "kernel", JSON_OBJECT, &kernel, err) ||
	    js_container(o, "further", "trials", JSON_ARRAY, &trials, err) ||
	    js_container(o, "further", "comparison", JSON_ARRAY, &rows, err) ||
	    js_bool(o, "further", "valid", &f->valid, err) ||
	    rec_get_strlist(o, "further", "reasons", &f->reasons, err) ||
	    rec_get_strlist(o, "further", "notes", &f->notes, err) ||
	    js_int(o, "further", "alike", &f->alike, err) ||
	    js_int(o, "further", "alike_of", &f->alike_of, err) ||
	    image_from_json(&f->image, kernel, err))
		return -1;
	if (strlen(side) != 1 || *side < 'C' || *side >= 'A' + SIDES_MAX)
		return err_set(err, EXIT_USAGE,
			       "further: side \"%.20s\" is none behind A and B",
			       side);
	f->side = *side;
	f->trials = xcalloc(json_array_size(trials) + 1, sizeof(*f->trials));
	json_array_foreach(trials, i, v)
		if (trial_from_json(&f->trials[f->n_trials++], v, err))
			return -1;
	f->rows = xcalloc(json_array_size(rows) + 1, sizeof(*f->rows));
	json_array_foreach(rows, i, v)
		if (rec_row_from_json(&f->rows[f->n_rows++], v, err))
			return -1;
	return 0;
}
