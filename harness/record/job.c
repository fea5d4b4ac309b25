/* SPDX-License-Identifier: GPL-2.0 */
#include <stdlib.h>
#include <string.h>

#include "json.h"

void job_free(struct job *j)
{
	free(j->workload);
	free(j->fs);
	params_free(&j->params);
	for (size_t i = 0; i < j->n_cases; i++) {
		free(j->cases[i].program);
		strlist_free(&j->cases[i].args);
	}
	free(j->cases);
	strlist_free(&j->extras);
	memset(j, 0, sizeof(*j));
}

bool job_case_name(const char *name)
{
	size_t len = strlen(name);

	return len && len < 60 &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyz"
		      "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == len;
}

struct job_case *job_add_case(struct job *j, const char *program,
			      int64_t seconds)
{
	struct job_case *c;

	j->cases = xrealloc(j->cases, j->n_cases + 1, sizeof(*j->cases));
	c = &j->cases[j->n_cases++];
	*c = (struct job_case){ .program = xstrdup(program),
				.seconds = seconds };
	return c;
}

void job_add_extra(struct job *j, const char *name)
{
	for (size_t i = 0; i < j->extras.n; i++)
		if (!strcmp(j->extras.v[i], name))
			return;
	strlist_add(&j->extras, name);
}

static json_t *cases_to_json(const struct job *j)
{
	json_t *a = json_array();

	for (size_t i = 0; i < j->n_cases; i++) {
		const struct job_case *c = &j->cases[i];
		json_t *o = json_object();

		json_object_set_new(o, "program", rec_text(c->program));
		json_object_set_new(o, "seconds", json_integer(c->seconds));
		json_object_set_new(o, "args", rec_strlist(&c->args));
		json_array_append_new(a, o);
	}
	return a;
}

static int cases_from_json(struct job *j, const json_t *o, struct err *err)
{
	json_t *a, *v;
	size_t i;

	if (js_container(o, "job", "cases", JSON_ARRAY, &a, err))
		return -1;
	json_array_foreach(a, i, v) {
		const char *program;
		struct job_case *c;
		int64_t seconds;

		if (js_string(v, "case", "program", &program, err) ||
		    js_int(v, "case", "seconds", &seconds, err))
			return -1;
		if (!job_case_name(program) || seconds <= 0)
			return err_set(err, EXIT_USAGE,
				       "job: no case \"%.60s\" of %lld seconds",
				       program, (long long)seconds);
		c = job_add_case(j, program, seconds);
		if (rec_get_strlist(v, "case", "args", &c->args, err))
			return -1;
	}
	return 0;
}

json_t *job_to_json(const struct job *j)
{
	json_t *o = json_object();

	json_object_set_new(o, "schema", json_string(JOB_SCHEMA));
	if (j->n_cases) {
		json_object_set_new(o, "mode", json_string("cases"));
		json_object_set_new(o, "cases", cases_to_json(j));
	} else {
		json_object_set_new(o, "workload", rec_text(j->workload));
		json_object_set_new(o, "params", params_to_json(&j->params));
		json_object_set_new(o, "passes", json_integer(j->passes));
	}
	json_object_set_new(o, "fs", rec_text(j->fs));
	json_object_set_new(o, "fs_bytes", json_integer(j->fs_bytes));
	return o;
}

static int workload_from_json(struct job *j, const json_t *o,
		const struct param_spec *(*specs_of)(const char *workload),
		struct err *err)
{
	const struct param_spec *specs;
	json_t *params;

	if (rec_get_text(o, "job", "workload", &j->workload, err) ||
	    js_container(o, "job", "params", JSON_OBJECT, &params, err) ||
	    js_int(o, "job", "passes", &j->passes, err))
		return -1;
	specs = j->workload ? specs_of(j->workload) : NULL;
	if (!specs)
		return err_set(err, EXIT_USAGE, "job: no workload \"%.60s\"",
			       j->workload ? j->workload : "");
	params_init(&j->params, specs);
	return params_from_json(&j->params, params, err);
}

int job_from_json(struct job *j, const json_t *o,
		  const struct param_spec *(*specs_of)(const char *workload),
		  struct err *err)
{
	const char *schema, *mode = NULL;

	if (js_string(o, "job", "schema", &schema, err))
		return -1;
	if (strcmp(schema, JOB_SCHEMA))
		return err_set(err, EXIT_USAGE, "job: schema %.40s, not %s",
			       schema, JOB_SCHEMA);
	if (rec_get_text(o, "job", "fs", &j->fs, err) ||
	    js_int(o, "job", "fs_bytes", &j->fs_bytes, err))
		return -1;
	if (!json_object_get(o, "mode"))
		return workload_from_json(j, o, specs_of, err);
	if (js_string(o, "job", "mode", &mode, err))
		return -1;
	if (strcmp(mode, "cases"))
		return err_set(err, EXIT_USAGE, "job: no mode \"%.40s\"",
			       mode);
	return cases_from_json(j, o, err);
}
