/* SPDX-License-Identifier: GPL-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "variant.h"

static const char *const verdicts[] = {
	[VERDICT_NONE] = "not compared",
	[VERDICT_FASTER] = "faster",
	[VERDICT_SLOWER] = "slower",
	[VERDICT_SAME] = "no difference",
	[VERDICT_INVALID] = "invalid",
};

const char *verdict_name(enum verdict v)
{
	return verdicts[v];
}

/* Members of struct result that are plain text, and their keys. */
static const struct {
	const char *key;
	size_t offset;
} texts[] = {
#define TEXT(f)	{ #f, offsetof(struct result, f) }
	TEXT(scenario), TEXT(summary), TEXT(workload), TEXT(clock),
	TEXT(machine), TEXT(machine_args), TEXT(cmdline), TEXT(command),
	TEXT(folab_version), TEXT(fs),
};

static char **text_at(const struct result *r, size_t i)
{
	return (char **)((char *)r + texts[i].offset);
}

void result_free(struct result *r)
{
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		free(*text_at(r, i));
	params_free(&r->params);
	strlist_free(&r->wanted);
	for (size_t i = 0; i < r->n_trials; i++)
		trial_free(&r->trials[i]);
	free(r->trials);
	for (int s = 0; s < 2; s++) {
		image_free(&r->side[s]);
		profile_free(&r->profile[s]);
	}
	for (size_t i = 0; i < r->n_rows; i++)
		free(r->rows[i].metric);
	free(r->rows);
	strlist_free(&r->reasons);
	strlist_free(&r->notes);
	for (size_t i = 0; i < r->n_diffs; i++)
		free(r->diffs[i].text);
	free(r->diffs);
	selftests_free(&r->selftests);
	host_free(&r->host);
	free(r->cross_check);
	profile_free(&r->calls);
	two_by_two_free(&r->two_by_two);
	for (size_t i = 0; i < r->n_further; i++)
		further_free(&r->further[i]);
	free(r->further);
	variants_free(r);
	memset(r, 0, sizeof(*r));
}

const struct row *result_decider(const struct result *r)
{
	for (size_t i = 0; i < r->n_rows; i++) {
		const struct metric *m = metric_find(r->rows[i].metric);

		if (m && m->better)
			return &r->rows[i];
	}
	return NULL;
}

bool result_one_sided(const struct result *r)
{
	return r->has_host && !r->side[1].spec;
}

json_t *rec_row_to_json(const struct row *row, const char *clock)
{
	const struct metric *m = metric_find(row->metric);
	json_t *o = json_object();

	json_object_set_new(o, "metric", rec_text(row->metric));
	json_object_set_new(o, "unit", rec_text(m ? metric_unit(m, clock) : NULL));
	json_object_set_new(o, "a", rec_real(row->a));
	json_object_set_new(o, "b", rec_real(row->b));
	json_object_set_new(o, "change_pct", rec_real(row->change_pct));
	json_object_set_new(o, "ci_low", rec_real(row->low_pct));
	json_object_set_new(o, "ci_high", rec_real(row->high_pct));
	json_object_set_new(o, "a_stdev_pct", rec_real(row->a_stdev_pct));
	json_object_set_new(o, "b_stdev_pct", rec_real(row->b_stdev_pct));
	json_object_set_new(o, "n", json_integer(row->n));
	json_object_set_new(o, "p", row->has_p ? rec_real(row->p) : json_null());
	if (row->has_p) {
		json_object_set_new(o, "p_alone", rec_real(row->p_alone));
		json_object_set_new(o, "detectable_pct",
				    rec_real(row->detectable_pct));
	}
	json_object_set_new(o, "verdict", rec_text(verdict_name(row->verdict)));
	return o;
}

static int verdict_from(const char *name, enum verdict *v, struct err *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(verdicts); i++) {
		if (!strcmp(verdicts[i], name)) {
			*v = i;
			return 0;
		}
	}
	return err_set(err, EXIT_USAGE, "row: verdict \"%.40s\"", name);
}

int rec_row_from_json(struct row *row, const json_t *o, struct err *err)
{
	const char *verdict;

	if (rec_get_text(o, "row", "metric", &row->metric, err) ||
	    rec_get_real(o, "row", "a", &row->a, err) ||
	    rec_get_real(o, "row", "b", &row->b, err) ||
	    rec_get_real(o, "row", "change_pct", &row->change_pct, err) ||
	    rec_get_real(o, "row", "ci_low", &row->low_pct, err) ||
	    rec_get_real(o, "row", "ci_high", &row->high_pct, err) ||
	    rec_get_real(o, "row", "a_stdev_pct", &row->a_stdev_pct, err) ||
	    rec_get_real(o, "row", "b_stdev_pct", &row->b_stdev_pct, err) ||
	    js_int(o, "row", "n", &row->n, err) ||
	    rec_get_real(o, "row", "p", &row->p, err) ||
	    js_string(o, "row", "verdict", &verdict, err))
		return -1;
	if (!row->metric)
		return err_set(err, EXIT_USAGE, "row: no metric");
	row->has_p = !json_is_null(json_object_get(o, "p"));
	row->p_alone = row->detectable_pct = NAN;
	if (row->has_p && json_object_get(o, "p_alone") &&
	    (rec_get_real(o, "row", "p_alone", &row->p_alone, err) ||
	     rec_get_real(o, "row", "detectable_pct", &row->detectable_pct,
			  err)))
		return -1;
	return verdict_from(verdict, &row->verdict, err);
}

static json_t *validity_to_json(const struct result *r)
{
	json_t *o = json_object(), *d = json_null(), *diffs = json_array();

	if (r->alike_of) {
		d = json_object();
		json_object_set_new(d, "alike", json_integer(r->alike));
		json_object_set_new(d, "of", json_integer(r->alike_of));
	}
	for (size_t i = 0; i < r->n_diffs; i++) {
		json_t *one = json_object();

		json_object_set_new(one, "seed",
				    json_integer(r->diffs[i].seed));
		json_object_set_new(one, "text", rec_text(r->diffs[i].text));
		json_array_append_new(diffs, one);
	}
	json_object_set_new(o, "valid", json_boolean(r->valid));
	json_object_set_new(o, "reasons", rec_strlist(&r->reasons));
	json_object_set_new(o, "decisions", d);
	json_object_set_new(o, "differences", diffs);
	return o;
}

static int validity_from_json(struct result *r, const json_t *o,
			      struct err *err)
{
	json_t *d = json_object_get(o, "decisions"), *diffs, *one;
	size_t i;

	if (js_bool(o, "validity", "valid", &r->valid, err) ||
	    rec_get_strlist(o, "validity", "reasons", &r->reasons, err) ||
	    js_container(o, "validity", "differences", JSON_ARRAY, &diffs, err))
		return -1;
	if (!json_is_null(d) &&
	    (js_int(d, "decisions", "alike", &r->alike, err) ||
	     js_int(d, "decisions", "of", &r->alike_of, err)))
		return -1;
	r->diffs = xcalloc(json_array_size(diffs), sizeof(*r->diffs));
	json_array_foreach(diffs, i, one) {
		struct decision_diff *mine = &r->diffs[r->n_diffs++];

		if (js_int(one, "difference", "seed", &mine->seed, err) ||
		    rec_get_text(one, "difference", "text", &mine->text, err))
			return -1;
	}
	return 0;
}

/* Members that only runs on a host of its own have. */
static void local_to_json(const struct result *r, json_t *o)
{
	json_t *tune;

	if (r->has_host)
		json_object_set_new(o, "host", host_to_json(&r->host));
	if (r->cross_check)
		json_object_set_new(o, "cross_check",
				    rec_text(r->cross_check));
	if (!r->tune)
		return;
	tune = json_object();
	json_object_set_new(tune, "delay_ms", rec_real(r->delay_ms));
	json_object_set_new(o, "tune", tune);
}

static int local_from_json(struct result *r, const json_t *o, struct err *err)
{
	const json_t *host = json_object_get(o, "host");
	const json_t *tune = json_object_get(o, "tune");

	r->has_host = host != NULL;
	if (host && host_from_json(&r->host, host, err))
		return -1;
	if (json_object_get(o, "cross_check") &&
	    rec_get_text(o, "result", "cross_check", &r->cross_check, err))
		return -1;
	r->tune = tune != NULL;
	return tune ? rec_get_real(tune, "tune", "delay_ms", &r->delay_ms,
				   err) : 0;
}

json_t *result_to_json(const struct result *r)
{
	json_t *o = json_object(), *sides = json_object();
	json_t *trials = json_array(), *rows = json_array();

	json_object_set_new(o, "schema", json_string(RESULT_SCHEMA));
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		json_object_set_new(o, texts[i].key, rec_text(*text_at(r, i)));
	json_object_set_new(o, "params", params_to_json(&r->params));
	json_object_set_new(o, "ns_per_instruction",
			    json_integer(r->ns_per_instruction));
	json_object_set_new(o, "tolerance_pct", rec_real(r->tolerance_pct));
	json_object_set_new(o, "metrics", rec_strlist(&r->wanted));
	json_object_set_new(o, "aa", json_boolean(r->aa));
	json_object_set_new(sides, "A", image_to_json(&r->side[0]));
	if (!result_one_sided(r))
		json_object_set_new(sides, "B", image_to_json(&r->side[1]));
	json_object_set_new(o, "sides", sides);
	for (size_t i = 0; i < r->n_trials; i++)
		json_array_append_new(trials, trial_to_json(&r->trials[i]));
	json_object_set_new(o, "trials", trials);
	for (size_t i = 0; i < r->n_rows; i++)
		json_array_append_new(rows, rec_row_to_json(&r->rows[i],
							   r->clock));
	json_object_set_new(o, "comparison", rows);
	json_object_set_new(o, "validity", validity_to_json(r));
	json_object_set_new(o, "notes", rec_strlist(&r->notes));
	if (r->selftests.asked)
		json_object_set_new(o, "selftests",
				    selftests_to_json(&r->selftests));
	local_to_json(r, o);
	if (r->two_by_two.asked)
		json_object_set_new(o, "two_by_two",
				    two_by_two_to_json(&r->two_by_two,
						       r->clock));
	if (r->n_further) {
		json_t *further = json_array();

		for (size_t i = 0; i < r->n_further; i++)
			json_array_append_new(further,
					      further_to_json(&r->further[i],
							      r->clock));
		json_object_set_new(o, "further", further);
	}
	if (r->n_variants)
		json_object_set_new(o, "variants", variants_to_json(r));
	return o;
}

static int head_from_json(struct result *r, const json_t *o, struct err *err)
{
	json_t *params, *sides, *side;
	const char *schema;

	if (js_string(o, "result", "schema", &schema, err))
		return -1;
	if (strcmp(schema, RESULT_SCHEMA))
		return err_set(err, EXIT_USAGE,
			       "its schema is %.40s; this folab reads %s",
			       schema, RESULT_SCHEMA);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (rec_get_text(o, "result", texts[i].key, text_at(r, i), err))
			return -1;
	if (js_container(o, "result", "params", JSON_OBJECT, &params, err) ||
	    params_from_result(&r->params, params, err) ||
	    js_int(o, "result", "ns_per_instruction", &r->ns_per_instruction,
		   err) ||
	    rec_get_real(o, "result", "tolerance_pct", &r->tolerance_pct, err) ||
	    rec_get_strlist(o, "result", "metrics", &r->wanted, err) ||
	    js_bool(o, "result", "aa", &r->aa, err) ||
	    js_container(o, "result", "sides", JSON_OBJECT, &sides, err))
		return -1;
	for (int s = 0; s < 2; s++) {
		/* What ran on this host alone has nothing to compare with. */
		if (s && r->has_host && !json_object_get(sides, "B"))
			break;
		if (js_container(sides, "sides", s ? "B" : "A", JSON_OBJECT,
				 &side, err) ||
		    image_from_json(&r->side[s], side, err))
			return -1;
	}
	return 0;
}

int result_from_json(struct result *r, const json_t *o, struct err *err)
{
	json_t *trials, *rows, *validity, *v;
	size_t i;

	if (local_from_json(r, o, err) || head_from_json(r, o, err) ||
	    js_container(o, "result", "trials", JSON_ARRAY, &trials, err) ||
	    js_container(o, "result", "comparison", JSON_ARRAY, &rows, err) ||
	    js_container(o, "result", "validity", JSON_OBJECT, &validity, err) ||
	    rec_get_strlist(o, "result", "notes", &r->notes, err) ||
	    validity_from_json(r, validity, err))
		return -1;
	r->trials = xcalloc(json_array_size(trials), sizeof(*r->trials));
	json_array_foreach(trials, i, v) {
		struct trial *t = &r->trials[r->n_trials++];

		if (trial_from_json(t, v, err))
			return -1;
		if (t->side != 'A' && t->side != 'B')
			return err_set(err, EXIT_USAGE,
				       "trial: side \"%c\" is neither A nor B",
				       t->side);
	}
	r->rows = xcalloc(json_array_size(rows), sizeof(*r->rows));
	json_array_foreach(rows, i, v) {
		if (rec_row_from_json(&r->rows[r->n_rows++], v, err))
			return -1;
	}
	v = json_object_get(o, "two_by_two");
	if (v && two_by_two_from_json(&r->two_by_two, v, err))
		return -1;
	rows = json_object_get(o, "further");
	r->further = xcalloc(json_array_size(rows) + 1, sizeof(*r->further));
	json_array_foreach(rows, i, v) {
		if (further_from_json(&r->further[r->n_further++], v, err))
			return -1;
	}
	v = json_object_get(o, "variants");
	if (v && variants_from_json(r, v, err))
		return -1;
	v = json_object_get(o, "selftests");
	return v ? selftests_from_json(&r->selftests, v, err) : 0;
}

#define CALLS	"calls-A.json"	/* the profile that ftrace made */

static int write_in(const char *dir, const char *name, json_t *o,
		    struct err *err)
{
	char *path = xasprintf("%s/%s", dir, name);
	int rc = js_write(path, o, err);

	json_decref(o);
	free(path);
	return rc;
}

static int write_profiles(const char *dir, const struct result *r,
			  struct err *err)
{
	/* Of one side there may be none. */
	if ((!result_one_sided(r) || r->profile[0].windows) &&
	    write_in(dir, "profile-A.json", profile_to_json(&r->profile[0]),
		     err))
		return -1;
	if (r->calls.windows &&
	    write_in(dir, CALLS, profile_to_json(&r->calls), err))
		return -1;
	if (!result_one_sided(r) &&
	    write_in(dir, "profile-B.json", profile_to_json(&r->profile[1]),
		     err))
		return -1;
	if (r->two_by_two.asked &&
	    (write_in(dir, "profile-C.json",
		      profile_to_json(&r->two_by_two.profile[0]), err) ||
	     write_in(dir, "profile-D.json",
		      profile_to_json(&r->two_by_two.profile[1]), err)))
		return -1;
	return 0;
}

int result_write(const char *dir, const struct result *r, struct err *err)
{
	int rc = write_profiles(dir, r, err);

	for (size_t i = 0; i < r->n_variants && !rc; i++) {
		char *below = variant_dir(dir, i);

		rc = file_mkdirs(below, err);
		if (!rc)
			rc = write_profiles(below, r->variants[i].r, err);
		free(below);
	}
	/* Last: where it stands, the rest does too. */
	return rc ? rc : write_in(dir, "result.json", result_to_json(r), err);
}

static int read_in(const char *dir, const char *name, json_t **o,
		   struct err *err)
{
	char *path = xasprintf("%s/%s", dir, name);
	int rc = js_read(path, o, err);

	free(path);
	return rc;
}

static bool has_file(const char *dir, const char *name)
{
	char *path = xasprintf("%s/%s", dir, name);
	bool has = file_exists(path);

	free(path);
	return has;
}

static int read_profile(const char *dir, const char *name, struct profile *p,
			struct err *err)
{
	json_t *o;
	int rc;

	if (read_in(dir, name, &o, err))
		return -1;
	rc = profile_from_json(p, o, err);
	json_decref(o);
	return rc;
}

static int read_profiles(const char *dir, struct result *r, struct err *err)
{
	static const char *const profiles[] = {
		"profile-A.json", "profile-B.json", "profile-C.json",
		"profile-D.json",
	};
	int rc = 0, n = result_one_sided(r) ? has_file(dir, profiles[0]) :
			r->two_by_two.asked ? 4 : 2;

	for (int s = 0; s < n && !rc; s++)
		rc = read_profile(dir, profiles[s],
				  s < 2 ? &r->profile[s] :
				  &r->two_by_two.profile[s - 2], err);
	if (!rc && result_one_sided(r) && has_file(dir, CALLS))
		rc = read_profile(dir, CALLS, &r->calls, err);
	return rc;
}

int result_read(const char *dir, struct result *r, struct err *err)
{
	json_t *o;
	int rc;

	memset(r, 0, sizeof(*r));
	if (read_in(dir, "result.json", &o, err)) {
		err->code = EXIT_USAGE;
		return -1;
	}
	rc = result_from_json(r, o, err);
	json_decref(o);
	if (!rc)
		rc = read_profiles(dir, r, err);
	for (size_t i = 0; i < r->n_variants && !rc; i++) {
		char *below = variant_dir(dir, i);

		rc = read_profiles(below, r->variants[i].r, err);
		free(below);
	}
	if (rc) {
		err->code = EXIT_USAGE;
		err_prefix(err, "%s is not a result of folab", dir);
		result_free(r);
	}
	return rc;
}
