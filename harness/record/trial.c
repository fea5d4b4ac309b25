/* SPDX-License-Identifier: GPL-2.0 */
#include <stdlib.h>
#include <string.h>

#include "json.h"

void trial_free(struct trial *t)
{
	free(t->failed);
	free(t->boot);
	free(t->console_tail);
	strlist_free(&t->warnings);
	for (size_t i = 0; i < t->n_samples; i++)
		sample_free(&t->samples[i]);
	free(t->samples);
	profile_free(&t->profile);
	profile_free(&t->calls);
	memset(t, 0, sizeof(*t));
}

json_t *trial_to_json(const struct trial *t)
{
	const char side[2] = { t->side, '\0' };
	json_t *o = json_object(), *a = json_array();

	for (size_t i = 0; i < t->n_samples; i++)
		json_array_append_new(a, sample_to_json(&t->samples[i]));
	json_object_set_new(o, "side", rec_text(side));
	json_object_set_new(o, "seed", json_integer(t->seed));
	/* Guests of the emulator have a seed, and begin at a fixed time. */
	if (t->boot)
		json_object_set_new(o, "boot", rec_text(t->boot));
	if (t->started)
		json_object_set_new(o, "started", json_integer(t->started));
	json_object_set_new(o, "index", json_integer(t->index));
	json_object_set_new(o, "done", json_boolean(t->done));
	json_object_set_new(o, "failed", rec_text(t->failed));
	json_object_set_new(o, "console_tail", rec_text(t->console_tail));
	json_object_set_new(o, "warnings", rec_strlist(&t->warnings));
	json_object_set_new(o, "samples", a);
	return o;
}

int trial_from_json(struct trial *t, const json_t *o, struct err *err)
{
	const char *side;
	json_t *a, *s;
	size_t i;

	if (js_string(o, "trial", "side", &side, err) ||
	    js_int(o, "trial", "seed", &t->seed, err) ||
	    js_int(o, "trial", "index", &t->index, err) ||
	    js_bool(o, "trial", "done", &t->done, err) ||
	    rec_get_text(o, "trial", "failed", &t->failed, err) ||
	    rec_get_text(o, "trial", "console_tail", &t->console_tail, err) ||
	    rec_get_strlist(o, "trial", "warnings", &t->warnings, err) ||
	    js_container(o, "trial", "samples", JSON_ARRAY, &a, err))
		return -1;
	if ((json_object_get(o, "boot") &&
	     rec_get_text(o, "trial", "boot", &t->boot, err)) ||
	    (json_object_get(o, "started") &&
	     js_int(o, "trial", "started", &t->started, err)))
		return -1;
	if (strlen(side) != 1 || *side < 'A' || *side >= 'A' + SIDES_MAX)
		return err_set(err, EXIT_USAGE,
			       "trial: side \"%.20s\" is neither A nor B",
			       side);
	t->side = side[0];
	t->samples = xcalloc(json_array_size(a), sizeof(*t->samples));
	json_array_foreach(a, i, s) {
		if (sample_from_json(&t->samples[t->n_samples++], s, err))
			return -1;
	}
	return 0;
}
