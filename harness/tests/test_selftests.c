/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Correctness cases in a result: what is counted, what B broke, that it is the
 * same when it was read back; and a result as KTAP and JUnit.
 */
#include <unistd.h>

#include "fake_result.h"

#include "../analyse/analyse.h"
#include "../report/report.h"

/* ---- runs --------------------------------------------------------------------- */

/* What @lines say of @program; @objection NULL: none. */
static void add_run(struct selftests *s, int side, const char *program,
		    const char *boot, const char *lines, const char *objection)
{
	char *copy = xstrdup(lines), *line, *save = NULL;
	struct case_run *r;

	s->runs[side] = xrealloc(s->runs[side], s->n_runs[side] + 1,
				 sizeof(*s->runs[side]));
	r = &s->runs[side][s->n_runs[side]++];
	case_run_init(r, program, boot);
	for (line = strtok_r(copy, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save))
		case_run_line(r, line);
	case_run_end(r, 0, objection);
	r->seconds = 3.25;	/* wall time: may not show */
	free(copy);
}

#define GOOD	"1..3\nok 1 young.a\n# told\nok 2 young.b\nok 3 young.c # SKIP no zram\n"
#define BAD	"1..3\nok 1 young.a\n# it was 11\nnot ok 2 young.b\nok 3 young.c # SKIP no zram\n"

static void both_good(struct selftests *s)
{
	s->asked = xstrdup("quick");
	for (int side = 0; side < 2; side++) {
		add_run(s, side, "young", "", GOOD, NULL);
		add_run(s, side, "uffd", "mglru=1", "1..1\nok 1 uffd.a\n", NULL);
	}
}

static void one_bad(struct selftests *s, bool a, bool b)
{
	s->asked = xstrdup("young");
	add_run(s, 0, "young", "", a ? BAD : GOOD, NULL);
	add_run(s, 1, "young", "", b ? BAD : GOOD, NULL);
}

static void test_counts(void **state)
{
	struct selftests s = { 0 };
	struct strlist names = { 0 };
	struct case_counts c;

	one_bad(&s, false, true);
	/* No test of it failed, but the kernel complained. */
	add_run(&s, 1, "uffd", "x=1", "1..1\nok 1 uffd.a\n", "kernel log: BUG");
	add_run(&s, 1, "silent", "", "", NULL);
	c = case_counts(s.runs[1], s.n_runs[1]);
	assert_int_equal(c.passed, 2);
	assert_int_equal(c.failed, 3);
	assert_int_equal(c.skipped, 1);
	case_failures(s.runs[1], s.n_runs[1], &names);
	assert_int_equal(names.n, 3);
	assert_string_equal(names.v[0], "young.b");
	assert_string_equal(names.v[1], "uffd x=1");
	assert_string_equal(names.v[2], "silent");
	strlist_free(&names);
	selftests_free(&s);
}

static size_t n_broken(bool a, bool b)
{
	struct selftests s = { 0 };
	struct strlist names = { 0 };
	size_t n;

	one_bad(&s, a, b);
	selftests_broken(&s, &names);
	n = names.n;
	strlist_free(&names);
	selftests_free(&s);
	return n;
}

/* What failed before the series is nothing that the series broke. */
static void test_broken(void **state)
{
	assert_int_equal(n_broken(false, false), 0);
	assert_int_equal(n_broken(false, true), 1);
	assert_int_equal(n_broken(true, true), 0);
	assert_int_equal(n_broken(true, false), 0);
}

/* ---- JSON --------------------------------------------------------------------- */

static json_t *through_text(json_t *o)
{
	char *text = json_dumps(o, JSON_SORT_KEYS);
	json_t *back = json_loads(text, 0, NULL);

	assert_non_null(back);
	free(text);
	json_decref(o);
	return back;
}

static void read_back(const struct result *r, struct result *back)
{
	json_t *o = through_text(result_to_json(r));
	struct err err = { 0 };

	*back = (struct result){ 0 };
	if (result_from_json(back, o, &err))
		fail_msg("%s", err.text);
	json_decref(o);
}

static void test_json(void **state)
{
	struct result r, back;
	char *one, *two;
	json_t *o;

	fake_result(&r, 2);
	analyse(&r);
	o = result_to_json(&r);
	assert_null(json_object_get(o, "selftests"));
	json_decref(o);
	one_bad(&r.selftests, false, true);
	case_run_init(&r.selftests.alike, "alike", "");
	case_run_line(&r.selftests.alike, "1..1");
	case_run_line(&r.selftests.alike, "ok 1 walk 7");
	case_run_end(&r.selftests.alike, 0, NULL);
	o = result_to_json(&r);
	assert_int_equal(json_integer_value(json_object_get(json_object_get(
		json_object_get(o, "selftests"), "B"), "failed")), 1);
	one = json_dumps(o, JSON_SORT_KEYS);
	json_decref(o);
	assert_null(strstr(one, "3.25"));
	read_back(&r, &back);
	o = result_to_json(&back);
	two = json_dumps(o, JSON_SORT_KEYS);
	json_decref(o);
	assert_string_equal(one, two);
	assert_string_equal(back.selftests.runs[1][0].tests[1].notes.v[0],
			    "it was 11");
	free(one);
	free(two);
	result_free(&back);
	result_free(&r);
}

static void expect_refused(const char *text, const char *why)
{
	json_t *o = json_loads(text, 0, NULL);
	struct selftests s = { 0 };
	struct err err = { 0 };

	assert_non_null(o);
	assert_int_equal(selftests_from_json(&s, o, &err), -1);
	if (!strstr(err.text, why))
		fail_msg("\"%s\" lacks \"%s\"", err.text, why);
	json_decref(o);
	selftests_free(&s);
}

static void test_broken_json(void **state)
{
	expect_refused("{}", "asked");
	expect_refused("{\"asked\": null}", "no asked");
	expect_refused("{\"asked\": \"x\", \"A\": {}}", "programs");
	expect_refused("{\"asked\": \"x\", \"A\": {\"programs\": [7]}}", "");
	expect_refused("{\"asked\": \"x\", \"A\": {\"programs\": [{\"program\": \"p\", \"boot\": \"\", \"status\": \"well\"}]}}",
		       "status \"well\"");
	expect_refused("{\"asked\": \"x\", \"A\": {\"programs\": []}, \"B\": {\"programs\": []}, \"alike\": []}",
		       "");
}

/* ---- text --------------------------------------------------------------------- */

static void assert_has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no \"%s\" in\n%s", part, text);
}

static void assert_fits(const char *text)
{
	size_t lines = 0;

	for (; *text; lines++) {
		size_t n = strcspn(text, "\n");

		if (n > 75)
			fail_msg("%zu bytes: %.*s", n, (int)n, text);
		text += n + (text[n] == '\n');
	}
	assert_in_range(lines, 1, 40);
}

static char *text_of(struct result *r)
{
	struct result back;
	char *text, *again;

	analyse(r);
	text = report_text(r);
	assert_fits(text);
	read_back(r, &back);
	for (int s = 0; s < 2; s++)
		profile_add(&back.profile[s], &r->profile[s]);
	again = report_text(&back);
	assert_string_equal(text, again);
	free(again);
	result_free(&back);
	return text;
}

static void test_text(void **state)
{
	struct result r;
	char *text;

	fake_result(&r, 5);
	text = text_of(&r);
	assert_null(strstr(text, "elftests"));
	free(text);
	both_good(&r.selftests);
	text = text_of(&r);
	assert_has(text, "\nselftests run (quick), on both: 3 passed, 0 failed, 1 skipped\n");
	assert_null(strstr(text, "SELFTESTS"));
	free(text);
	result_free(&r);

	fake_result(&r, 5);
	one_bad(&r.selftests, false, true);
	text = text_of(&r);
	assert_has(text, "SELFTESTS FAIL on B, and not on A (1): young.b\n");
	assert_true(strstr(text, "SELFTESTS") < strstr(text, "medians"));
	assert_has(text, "\nselftests run (young), A: 2 passed, 0 failed, 1 skipped\nselftests run (young), B: 1 passed, 1 failed, 1 skipped\n");
	free(text);
	result_free(&r);

	fake_result(&r, 5);
	one_bad(&r.selftests, true, true);
	text = text_of(&r);
	assert_null(strstr(text, "SELFTESTS"));
	assert_has(text, "\nfailed on A (1): young.b\n");
	free(text);
	result_free(&r);
}

static void test_otherwise(void **state)
{
	struct result r;
	char *text;

	fake_result(&r, 5);
	both_good(&r.selftests);
	case_run_init(&r.selftests.alike, "alike", "");
	case_run_line(&r.selftests.alike, "1..1");
	case_run_line(&r.selftests.alike, "not ok 1 walk 7");
	case_run_end(&r.selftests.alike, 0, NULL);
	text = text_of(&r);
	assert_has(text, "SELFTESTS END OTHERWISE on B than on A (1): walk 7\n");
	free(text);
	result_free(&r);
}

/* Long names, and many of them: the numbers stay. */
static void test_many_failures(void **state)
{
	struct result r;
	char *lines = xstrdup("1..90\n"), *longer, *text;

	for (int i = 1; i <= 90; i++) {
		longer = xasprintf("%snot ok %d young.a_case_with_a_name_that_is_long_%d\n",
				   lines, i, i);
		free(lines);
		lines = longer;
	}
	fake_result(&r, 5);
	r.selftests.asked = xstrdup("young,uffd,storms,all,quick");
	add_run(&r.selftests, 0, "young", "", GOOD, NULL);
	add_run(&r.selftests, 1, "young", "", lines, NULL);
	text = text_of(&r);
	assert_has(text, "SELFTESTS FAIL on B, and not on A (90):\nyoung.a_case_with_a_name_that_is_long_1, ...");
	assert_has(text, " 90 failed");
	assert_has(text, "instructions/page");
	free(text);
	free(lines);
	result_free(&r);
}

/* ---- KTAP and JUnit -------------------------------------------------------------- */

/* Read by the reader of guests' KTAP, which wants a plan and keeps to it. */
static void parse(const char *text, struct case_run *r)
{
	char *copy = xstrdup(text), *line, *save = NULL;

	assert_true(str_starts(text, "KTAP version 1\n1.."));
	case_run_init(r, "report", "");
	for (line = strtok_r(copy, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save))
		case_run_line(r, line);
	free(copy);
	assert_true(r->planned > 0);
	assert_int_equal(r->n_tests, r->planned);
	case_run_end(r, 0, NULL);
}

static const struct case_test *find(const struct case_run *r, const char *name)
{
	for (size_t i = 0; i < r->n_tests; i++)
		if (!strcmp(r->tests[i].name, name))
			return &r->tests[i];
	fail_msg("no test \"%s\"", name);
	return NULL;
}

static void expect(const struct case_run *r, const char *name,
		   enum case_status status)
{
	if (find(r, name)->status != status)
		fail_msg("%s: status %d, not %d", name, find(r, name)->status,
			 status);
}

static void test_ktap(void **state)
{
	struct case_run run;
	struct result r;
	char *text;

	fake_result(&r, 5);
	strlist_add(&r.wanted, "reclaim.share.no_such_function");
	analyse(&r);
	both_good(&r.selftests);
	text = report_ktap(&r);
	parse(text, &run);
	assert_has(text, "# reclaim-file on arm64, A: 6.12, B: 6.12+young-batch\n");
	assert_has(text, "# A 4047.8, B 1655.6 instructions, -58.94 % (-60.06..-57.81 with 5 seeds)\nok ");
	assert_has(text, "\n  # Subtest: B:young\n  1..3\n  ok 1 young.a\n  # told\n  ok 2 young.b\n  ok 3 young.c # SKIP no zram\nok ");
	expect(&run, "valid", CASE_PASSED);
	expect(&run, "decisions alike", CASE_PASSED);
	expect(&run, "reclaim.instructions_per_page", CASE_PASSED);
	expect(&run, "reclaim.pgscan", CASE_SKIPPED);
	expect(&run, "reclaim.share.no_such_function", CASE_SKIPPED);
	expect(&run, "A:young", CASE_PASSED);
	expect(&run, "B:uffd mglru=1", CASE_PASSED);
	assert_int_equal(run.status, CASE_PASSED);
	case_run_free(&run);
	free(text);
	result_free(&r);
}

/* A and B the other way round, and a case that B broke. */
static void test_ktap_fails(void **state)
{
	struct case_run run;
	struct result r;
	char *text;

	fake_result(&r, 5);
	for (size_t i = 0; i < r.n_trials; i++)
		r.trials[i].side = r.trials[i].side == 'A' ? 'B' : 'A';
	analyse(&r);
	one_bad(&r.selftests, false, true);
	text = report_ktap(&r);
	parse(text, &run);
	expect(&run, "valid", CASE_PASSED);
	expect(&run, "reclaim.instructions_per_page", CASE_FAILED);
	expect(&run, "reclaim.sys_seconds", CASE_FAILED);
	expect(&run, "A:young", CASE_PASSED);
	expect(&run, "B:young", CASE_FAILED);
	assert_has(text, "  # it was 11\n  not ok 2 young.b\n");
	case_run_free(&run);
	free(text);
	result_free(&r);
}

static void test_ktap_claims_nothing(void **state)
{
	struct case_run run;
	struct result r;
	char *text;

	fake_result(&r, 5);
	fake_set(&r, 'B', "events.max", 1);
	analyse(&r);
	text = report_ktap(&r);
	parse(text, &run);
	expect(&run, "valid", CASE_FAILED);
	expect(&run, "reclaim.instructions_per_page", CASE_SKIPPED);
	assert_has(text, "# SKIP the run is not valid\n");
	assert_null(strstr(text, "-58.9"));
	case_run_free(&run);
	free(text);
	/* Decisions that differ are named by seed. */
	result_free(&r);
	fake_result(&r, 5);
	counters_set(&fake_find(&r, 'B', 2)->samples[0].counters,
		     "memcg.pgscan", 88128);
	analyse(&r);
	text = report_ktap(&r);
	parse(text, &run);
	expect(&run, "decisions alike", CASE_FAILED);
	assert_has(text, "# with 4 of 5 seeds\n# seed 2: pgscan");
	case_run_free(&run);
	free(text);
	result_free(&r);
}

/* Nothing that stands in a result can look like a result of ours. */
static void test_ktap_odd(void **state)
{
	struct case_run run;
	struct result r, back;
	char *text;

	fake_result(&r, 2);
	free(r.scenario);
	r.scenario = xstrdup("x\nnot ok 7 forged\n1..99");
	strlist_add(&r.wanted, "reclaim.share.a # SKIP\nok 9 forged");
	analyse(&r);
	both_good(&r.selftests);
	free(r.selftests.runs[1][0].tests[0].name);
	r.selftests.runs[1][0].tests[0].name =
		xstrdup("a\nok 1 forged # SKIP b");
	read_back(&r, &back);
	text = report_ktap(&back);
	parse(text, &run);
	assert_null(strstr(text, "\nok 9 forged"));
	assert_null(strstr(text, "\nok 1 forged"));
	assert_null(strstr(text, "\nnot ok 7"));
	case_run_free(&run);
	free(text);
	result_free(&back);
	result_free(&r);
}

static void test_junit(void **state)
{
	struct result r;
	char *text;

	fake_result(&r, 5);
	analyse(&r);
	one_bad(&r.selftests, false, true);
	text = report_junit(&r);
	assert_true(str_starts(text, "<?xml version=\"1.0\""));
	assert_has(text, "<testsuite name=\"comparison\" tests=\"");
	assert_has(text, "<testcase classname=\"comparison\" name=\"valid\"/>");
	assert_has(text, "<testsuite name=\"A:young\" tests=\"3\" failures=\"0\"");
	assert_has(text, "<testsuite name=\"B:young\" tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"1\"");
	assert_has(text, "</testsuites>\n");
	assert_ptr_equal(report_format("ktap"), report_ktap);
	assert_ptr_equal(report_format("junit"), report_junit);
	free(text);
	result_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_broken),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_broken_json),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_otherwise),
		cmocka_unit_test(test_many_failures),
		cmocka_unit_test(test_ktap),
		cmocka_unit_test(test_ktap_fails),
		cmocka_unit_test(test_ktap_claims_nothing),
		cmocka_unit_test(test_ktap_odd),
		cmocka_unit_test(test_junit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
