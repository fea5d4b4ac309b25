/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Two series, each alone and both: what a comparison of A with B has more of
 * when B is A with two series.
 */
#include <stdlib.h>
#include <string.h>

#include "json.h"

static const char *const sides[] = { "C", "D" };

void two_by_two_forget(struct two_by_two *t)
{
	for (size_t i = 0; i < t->n_rows; i++)
		free(t->rows[i].metric);
	free(t->rows);
	t->rows = NULL;
	t->n_rows = 0;
	strlist_free(&t->reasons);
	t->reasons = (struct strlist){ 0 };
	t->valid = false;
}

void two_by_two_free(struct two_by_two *t)
{
	two_by_two_forget(t);
	for (int s = 0; s < 2; s++) {
		free(t->series[s]);
		image_free(&t->side[s]);
		profile_free(&t->profile[s]);
	}
	for (size_t i = 0; i < t->n_trials; i++)
		trial_free(&t->trials[i]);
	free(t->trials);
	memset(t, 0, sizeof(*t));
}

/* Numbers of a row, and their keys. */
static const struct {
	const char *key;
	size_t offset;
} numbers[] = {
#define NUMBER(f)	{ #f, offsetof(struct two_row, f) }
	NUMBER(a), NUMBER(c), NUMBER(d), NUMBER(b), NUMBER(c_change_pct),
	NUMBER(d_change_pct), NUMBER(b_change_pct), NUMBER(interaction),
	NUMBER(interaction_low), NUMBER(interaction_high),
	NUMBER(interaction_pct),
};

static double *number_at(const struct two_row *row, size_t i)
{
	return (double *)((char *)row + numbers[i].offset);
}

static json_t *row_to_json(const struct two_row *row, const char *clock)
{
	const struct metric *m = metric_find(row->metric);
	json_t *o = json_object();

	json_object_set_new(o, "metric", rec_text(row->metric));
	json_object_set_new(o, "unit", rec_text(m ? metric_unit(m, clock) : NULL));
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		json_object_set_new(o, numbers[i].key,
				    rec_real(*number_at(row, i)));
	json_object_set_new(o, "n", json_integer(row->n));
	json_object_set_new(o, "interacts", json_boolean(row->interacts));
	return o;
}

static int row_from_json(struct two_row *row, const json_t *o, struct err *err)
{
	if (rec_get_text(o, "table", "metric", &row->metric, err) ||
	    js_int(o, "table", "n", &row->n, err) ||
	    js_bool(o, "table", "interacts", &row->interacts, err))
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		if (rec_get_real(o, "table", numbers[i].key, number_at(row, i),
				 err))
			return -1;
	return row->metric ? 0 :
		err_set(err, EXIT_USAGE, "table: a row has no metric");
}

json_t *two_by_two_to_json(const struct two_by_two *t, const char *clock)
{
	json_t *o = json_object(), *images = json_object();
	json_t *series = json_object(), *trials = json_array();
	json_t *rows = json_array();

	for (int s = 0; s < 2; s++) {
		json_object_set_new(images, sides[s],
				    image_to_json(&t->side[s]));
		json_object_set_new(series, sides[s], rec_text(t->series[s]));
	}
	for (size_t i = 0; i < t->n_trials; i++)
		json_array_append_new(trials, trial_to_json(&t->trials[i]));
	for (size_t i = 0; i < t->n_rows; i++)
		json_array_append_new(rows, row_to_json(&t->rows[i], clock));
	json_object_set_new(o, "sides", images);
	json_object_set_new(o, "series", series);
	json_object_set_new(o, "trials", trials);
	json_object_set_new(o, "table", rows);
	json_object_set_new(o, "valid", json_boolean(t->valid));
	json_object_set_new(o, "reasons", rec_strlist(&t->reasons));
	return o;
}

static int sides_from_json(struct two_by_two *t, const json_t *o,
			   struct err *err)
{
	json_t *images, *series, *image;

	if (js_container(o, "two_by_two", "sides", JSON_OBJECT, &images, err) ||
	    js_container(o, "two_by_two", "series", JSON_OBJECT, &series, err))
		return -1;
	for (int s = 0; s < 2; s++)
		if (js_container(images, "sides", sides[s], JSON_OBJECT, &image,
				 err) ||
		    image_from_json(&t->side[s], image, err) ||
		    rec_get_text(series, "series", sides[s], &t->series[s], err))
			return -1;
	return 0;
}

int two_by_two_from_json(struct two_by_two *t, const json_t *o,
			 struct err *err)
{
	json_t *trials, *rows, *v;
	size_t i;

	t->asked = true;
	if (sides_from_json(t, o, err) ||
	    js_container(o, "two_by_two", "trials", JSON_ARRAY, &trials, err) ||
	    js_container(o, "two_by_two", "table", JSON_ARRAY, &rows, err) ||
	    js_bool(o, "two_by_two", "valid", &t->valid, err) ||
	    rec_get_strlist(o, "two_by_two", "reasons", &t->reasons, err))
		return -1;
	t->trials = xcalloc(json_array_size(trials), sizeof(*t->trials));
	json_array_foreach(trials, i, v) {
		struct trial *one = &t->trials[t->n_trials++];

		if (trial_from_json(one, v, err))
			return -1;
		if (one->side != 'C' && one->side != 'D')
			return err_set(err, EXIT_USAGE,
				       "two_by_two: side \"%c\" is neither C nor D",
				       one->side);
	}
	t->rows = xcalloc(json_array_size(rows), sizeof(*t->rows));
	json_array_foreach(rows, i, v)
		if (row_from_json(&t->rows[t->n_rows++], v, err))
			return -1;
	return 0;
}
