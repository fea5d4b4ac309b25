/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The correctness cases that ran on both sides of a comparison.  Neither wall
 * time nor what a passed test had to say is kept: the consoles and the KTAP
 * beside the result have it.
 */
#include <stdlib.h>
#include <string.h>

#include "json.h"

static const char *const statuses[] = {
	[CASE_PASSED] = "passed",
	[CASE_FAILED] = "failed",
	[CASE_SKIPPED] = "skipped",
};

void selftests_free(struct selftests *s)
{
	for (int side = 0; side < 2; side++) {
		for (size_t i = 0; i < s->n_runs[side]; i++)
			case_run_free(&s->runs[side][i]);
		free(s->runs[side]);
	}
	case_run_free(&s->alike);
	free(s->asked);
	memset(s, 0, sizeof(*s));
}

/* Something is wrong with the program, beside that tests of it failed. */
static bool failed_whole(const struct case_run *r)
{
	return r->status == CASE_FAILED && r->why;
}

struct case_counts case_counts(const struct case_run *runs, size_t n)
{
	struct case_counts c = { 0 };

	for (size_t i = 0; i < n; i++) {
		c.failed += failed_whole(&runs[i]);
		for (size_t k = 0; k < runs[i].n_tests; k++) {
			c.passed += runs[i].tests[k].status == CASE_PASSED;
			c.failed += runs[i].tests[k].status == CASE_FAILED;
			c.skipped += runs[i].tests[k].status == CASE_SKIPPED;
		}
	}
	return c;
}

static void add_failure(struct strlist *names, const char *name,
			const char *boot)
{
	strlist_addf(names, "%s%s%s", name, *boot ? " " : "", boot);
}

void case_failures(const struct case_run *runs, size_t n,
		   struct strlist *names)
{
	for (size_t i = 0; i < n; i++) {
		const struct case_run *r = &runs[i];

		for (size_t k = 0; k < r->n_tests; k++)
			if (r->tests[k].status == CASE_FAILED)
				add_failure(names, r->tests[k].name, r->boot);
		if (failed_whole(r))
			add_failure(names, r->program, r->boot);
	}
}

void selftests_broken(const struct selftests *s, struct strlist *names)
{
	struct strlist before = { 0 }, after = { 0 };

	case_failures(s->runs[0], s->n_runs[0], &before);
	case_failures(s->runs[1], s->n_runs[1], &after);
	for (size_t i = 0; i < after.n; i++)
		if (!strlist_has(&before, after.v[i]))
			strlist_add(names, after.v[i]);
	strlist_free(&before);
	strlist_free(&after);
}

/* ---- JSON --------------------------------------------------------------------- */

static json_t *test_to_json(const struct case_test *t)
{
	json_t *o = json_object();

	json_object_set_new(o, "name", rec_text(t->name));
	json_object_set_new(o, "status", json_string(statuses[t->status]));
	json_object_set_new(o, "why", rec_text(t->why));
	if (t->status == CASE_FAILED)
		json_object_set_new(o, "notes", rec_strlist(&t->notes));
	return o;
}

static json_t *run_to_json(const struct case_run *r)
{
	json_t *o = json_object(), *tests = json_array();

	json_object_set_new(o, "program", rec_text(r->program));
	json_object_set_new(o, "boot", rec_text(r->boot));
	json_object_set_new(o, "status", json_string(statuses[r->status]));
	json_object_set_new(o, "why", rec_text(r->why));
	if (r->status == CASE_FAILED)
		json_object_set_new(o, "notes", rec_strlist(&r->notes));
	for (size_t i = 0; i < r->n_tests; i++)
		json_array_append_new(tests, test_to_json(&r->tests[i]));
	json_object_set_new(o, "tests", tests);
	return o;
}

static json_t *side_to_json(const struct case_run *runs, size_t n)
{
	struct case_counts c = case_counts(runs, n);
	json_t *o = json_object(), *programs = json_array();
	struct strlist failures = { 0 };

	case_failures(runs, n, &failures);
	json_object_set_new(o, "passed", json_integer(c.passed));
	json_object_set_new(o, "failed", json_integer(c.failed));
	json_object_set_new(o, "skipped", json_integer(c.skipped));
	json_object_set_new(o, "failures", rec_strlist(&failures));
	for (size_t i = 0; i < n; i++)
		json_array_append_new(programs, run_to_json(&runs[i]));
	json_object_set_new(o, "programs", programs);
	strlist_free(&failures);
	return o;
}

json_t *selftests_to_json(const struct selftests *s)
{
	json_t *o = json_object();

	json_object_set_new(o, "asked", rec_text(s->asked));
	json_object_set_new(o, "A", side_to_json(s->runs[0], s->n_runs[0]));
	json_object_set_new(o, "B", side_to_json(s->runs[1], s->n_runs[1]));
	json_object_set_new(o, "alike", s->alike.program ?
			    run_to_json(&s->alike) : json_null());
	return o;
}

static int status_from_json(const json_t *o, enum case_status *status,
			    struct err *err)
{
	const char *text;

	if (js_string(o, "selftests", "status", &text, err))
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(statuses); i++) {
		if (!strcmp(statuses[i], text)) {
			*status = i;
			return 0;
		}
	}
	return err_set(err, EXIT_USAGE, "selftests: status \"%.40s\"", text);
}

/*
 * One line, whatever was written there: it becomes a line of KTAP again, in
 * which nothing may look like ours.
 */
static void one_line(char *s)
{
	for (; s && *s; s++)
		if ((unsigned char)*s < ' ' || *s == 0x7f)
			*s = '?';
}

static int notes_from_json(const json_t *o, enum case_status status,
			   struct strlist *notes, struct err *err)
{
	if (status != CASE_FAILED)
		return 0;
	if (rec_get_strlist(o, "selftests", "notes", notes, err))
		return -1;
	for (size_t i = 0; i < notes->n; i++)
		one_line(notes->v[i]);
	return 0;
}

static int line_from_json(const json_t *o, const char *key, char **line,
			  struct err *err)
{
	if (rec_get_text(o, "selftests", key, line, err))
		return -1;
	one_line(*line);
	return 0;
}

/* The same, of what must be there. */
static int name_from_json(const json_t *o, const char *key, char **name,
			  struct err *err)
{
	if (line_from_json(o, key, name, err))
		return -1;
	return *name ? 0 : err_set(err, EXIT_USAGE, "selftests: no %s", key);
}

static int test_from_json(struct case_test *t, const json_t *o,
			  struct err *err)
{
	if (name_from_json(o, "name", &t->name, err) ||
	    status_from_json(o, &t->status, err) ||
	    line_from_json(o, "why", &t->why, err) ||
	    notes_from_json(o, t->status, &t->notes, err))
		return -1;
	return 0;
}

static int run_from_json(struct case_run *r, const json_t *o, struct err *err)
{
	json_t *tests, *v;
	size_t i;

	if (name_from_json(o, "program", &r->program, err) ||
	    name_from_json(o, "boot", &r->boot, err) ||
	    status_from_json(o, &r->status, err) ||
	    line_from_json(o, "why", &r->why, err) ||
	    notes_from_json(o, r->status, &r->notes, err) ||
	    js_container(o, "selftests", "tests", JSON_ARRAY, &tests, err))
		return -1;
	r->ended = true;
	/* A program that never said a plan has no tests. */
	r->planned = json_array_size(tests) ?
		(int64_t)json_array_size(tests) : -1;
	r->tests = xcalloc(json_array_size(tests), sizeof(*r->tests));
	json_array_foreach(tests, i, v)
		if (test_from_json(&r->tests[r->n_tests++], v, err))
			return -1;
	return 0;
}

static int side_from_json(struct selftests *s, int side, const json_t *o,
			  struct err *err)
{
	json_t *mine, *programs, *v;
	size_t i;

	if (js_container(o, "selftests", side ? "B" : "A", JSON_OBJECT, &mine,
			 err) ||
	    js_container(mine, "selftests", "programs", JSON_ARRAY, &programs,
			 err))
		return -1;
	s->runs[side] = xcalloc(json_array_size(programs),
				sizeof(*s->runs[side]));
	json_array_foreach(programs, i, v)
		if (run_from_json(&s->runs[side][s->n_runs[side]++], v, err))
			return -1;
	return 0;
}

int selftests_from_json(struct selftests *s, const json_t *o, struct err *err)
{
	json_t *alike = json_object_get(o, "alike");

	if (name_from_json(o, "asked", &s->asked, err) ||
	    side_from_json(s, 0, o, err) || side_from_json(s, 1, o, err))
		return -1;
	if (!alike || json_is_null(alike))
		return 0;
	return run_from_json(&s->alike, alike, err);
}
