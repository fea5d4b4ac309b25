/* SPDX-License-Identifier: GPL-2.0 */
#include <stdlib.h>
#include <string.h>

#include "json.h"

static const char *const names[] = {
	[WIRE_HELLO] = "hello",
	[WIRE_PHASE] = "phase",
	[WIRE_SAMPLE] = "sample",
	[WIRE_ERROR] = "error",
	[WIRE_DONE] = "done",
	[WIRE_CASE] = "case",
	[WIRE_KTAP] = "ktap",
	[WIRE_CASE_END] = "case_end",
	[WIRE_PROFILE] = "profile",
};

void wire_free(struct wire *w)
{
	free(w->text);
	sample_free(&w->sample);
	profile_free(&w->profile);
	memset(w, 0, sizeof(*w));
}

char *wire_format(const struct wire *w)
{
	json_t *o = json_object();
	char *line;

	json_object_set_new(o, "type", json_string(names[w->type]));
	if (w->type == WIRE_HELLO)
		json_object_set_new(o, "schema", json_string(WIRE_SCHEMA));
	if (w->type == WIRE_SAMPLE)
		json_object_set_new(o, "sample", sample_to_json(&w->sample));
	else if (w->type == WIRE_PROFILE)
		json_object_set_new(o, "profile",
				    profile_to_json(&w->profile));
	else if (w->type != WIRE_DONE)
		json_object_set_new(o, "text", rec_text(w->text));
	if (w->type == WIRE_ERROR || w->type == WIRE_DONE ||
	    w->type == WIRE_CASE_END)
		json_object_set_new(o, "code", json_integer(w->code));
	line = json_dumps(o, JSON_COMPACT | JSON_SORT_KEYS);
	json_decref(o);
	if (!line)
		abort();	/* rec_text() lets nothing through that can't be dumped */
	return line;
}

static int members(const json_t *o, struct wire *w, struct err *err)
{
	const char *schema;
	json_t *sample, *profile;

	switch (w->type) {
	case WIRE_HELLO:
		if (js_string(o, "hello", "schema", &schema, err))
			return -1;
		if (strcmp(schema, WIRE_SCHEMA))
			return err_set(err, EXIT_RUN,
				       "the agent speaks %.40s, not %s",
				       schema, WIRE_SCHEMA);
		return rec_get_text(o, "hello", "text", &w->text, err);
	case WIRE_PHASE:
		return rec_get_text(o, "phase", "text", &w->text, err);
	case WIRE_SAMPLE:
		if (js_container(o, "line", "sample", JSON_OBJECT, &sample,
				 err))
			return -1;
		return sample_from_json(&w->sample, sample, err);
	case WIRE_PROFILE:
		if (js_container(o, "line", "profile", JSON_OBJECT, &profile,
				 err))
			return -1;
		return profile_from_json(&w->profile, profile, err);
	case WIRE_ERROR:
		if (rec_get_text(o, "error", "text", &w->text, err))
			return -1;
		return js_int(o, "error", "code", &w->code, err);
	case WIRE_DONE:
		return js_int(o, "done", "code", &w->code, err);
	case WIRE_CASE:
	case WIRE_KTAP:
		if (rec_get_text(o, "case", "text", &w->text, err))
			return -1;
		if (w->text)
			return 0;
		return err_set(err, EXIT_RUN, "a line of a case without text");
	case WIRE_CASE_END:
		if (rec_get_text(o, "case_end", "text", &w->text, err))
			return -1;
		return js_int(o, "case_end", "code", &w->code, err);
	}
	return -1;
}

int wire_parse(const char *line, size_t len, struct wire *w, struct err *err)
{
	const char *type;
	json_error_t je;
	size_t i;
	json_t *o;
	int rc = -1;

	memset(w, 0, sizeof(*w));
	if (len > WIRE_MAX_LINE)
		return err_set(err, EXIT_RUN, "a line of %zu bytes", len);
	o = json_loadb(line, len, JSON_REJECT_DUPLICATES, &je);
	if (!o)
		return err_set(err, EXIT_RUN, "not JSON: %s", je.text);
	if (js_string(o, "line", "type", &type, err))
		goto out;
	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(names[i], type))
			break;
	if (i == ARRAY_SIZE(names)) {
		err_set(err, EXIT_RUN, "a line of type \"%.40s\"", type);
		goto out;
	}
	w->type = i;
	rc = members(o, w, err);
out:
	if (rc) {
		err->code = EXIT_RUN;
		wire_free(w);
	}
	json_decref(o);
	return rc;
}
