/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Correctness cases on the host's side: what a program prints is understood,
 * what it leaves out is held against it, and what folab makes of it is KTAP.
 */
#include "check.h"

#include "../plan/plan.h"
#include "../report/report.h"

static void feed(struct case_run *r, const char *text)
{
	char *copy = xstrdup(text), *line, *save = NULL;

	for (line = strtok_r(copy, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save))
		case_run_line(r, line);
	free(copy);
}

#define HARNESS \
	"TAP version 13\n" \
	"1..4\n" \
	"# Starting 4 tests from 1 test cases.\n" \
	"#  RUN           young.a ...\n" \
	"#            OK  young.a\n" \
	"ok 1 young.a\n" \
	"#  RUN           young.b ...\n" \
	"# young.c:30:b:Expected 0 (0) == rc (11)\n" \
	"# b: Test failed\n" \
	"#          FAIL  young.b\n" \
	"not ok 2 young.b\n" \
	"#  RUN           young.c ...\n" \
	"#      SKIP      no zram\n" \
	"#            OK  young.c\n" \
	"ok 3 young.c # SKIP no zram\n" \
	"#  RUN           young.d ...\n"

static void what_the_harness_prints(void **state)
{
	struct case_run r;

	case_run_init(&r, "young", "");
	feed(&r, HARNESS "#            OK  young.d\nok 4 young.d\n"
	     "# FAILED: 3 / 4 tests passed.\n"
	     "# Totals: pass:2 fail:1 xfail:0 xpass:0 skip:1 error:0\n");
	case_run_end(&r, 1, NULL);
	assert_int_equal(r.planned, 4);
	assert_int_equal(r.n_tests, 4);
	assert_string_equal(r.tests[0].name, "young.a");
	assert_int_equal(r.tests[0].status, CASE_PASSED);
	assert_int_equal(r.tests[0].notes.n, 0);
	assert_int_equal(r.tests[1].status, CASE_FAILED);
	assert_int_equal(r.tests[1].notes.n, 2);
	assert_string_equal(r.tests[1].notes.v[0],
			    "young.c:30:b:Expected 0 (0) == rc (11)");
	assert_int_equal(r.tests[2].status, CASE_SKIPPED);
	assert_string_equal(r.tests[2].why, "no zram");
	assert_int_equal(r.tests[3].status, CASE_PASSED);
	assert_int_equal(r.status, CASE_FAILED);
	assert_null(r.why);
	case_run_free(&r);
}

/* One that dies in the middle: who ran failed, and who did not get to run too. */
static void what_is_missing_failed(void **state)
{
	struct case_run r;

	case_run_init(&r, "young", "");
	feed(&r, "1..3\n#  RUN           young.a ...\n");
	case_run_end(&r, WIRE_SIGNAL + 11, NULL);
	assert_int_equal(r.n_tests, 3);
	assert_string_equal(r.tests[0].name, "young.a");
	assert_string_equal(r.tests[0].why, "killed by signal 11");
	assert_string_equal(r.tests[2].why, "did not run");
	assert_int_equal(r.tests[2].status, CASE_FAILED);
	assert_int_equal(r.status, CASE_FAILED);
	case_run_free(&r);

	case_run_init(&r, "young", "");
	feed(&r, HARNESS);
	case_run_lost(&r, "the guest died: kernel panic");
	assert_string_equal(r.tests[3].name, "young.d");
	assert_string_equal(r.tests[3].why, "the guest died: kernel panic");
	assert_int_equal(r.status, CASE_FAILED);
	case_run_free(&r);
}

static void expect_end(const char *text, int64_t code, const char *objection,
		       enum case_status status, const char *why)
{
	struct case_run r;

	case_run_init(&r, "young", "");
	feed(&r, text);
	case_run_end(&r, code, objection);
	assert_int_equal(r.status, status);
	if (why)
		assert_string_equal(r.why, why);
	else
		assert_null(r.why);
	case_run_free(&r);
}

static void verdicts(void **state)
{
	expect_end("1..1\nok 1 a\n", 0, NULL, CASE_PASSED, NULL);
	expect_end("1..1\nok 1 a # SKIP no\n", 0, NULL, CASE_SKIPPED, "no");
	expect_end("1..1\nok 1 a # SKIP no\n", 4, NULL, CASE_SKIPPED, "no");
	expect_end("1..2\nok 1 a # SKIP no\nok 2 b\n", 0, NULL, CASE_PASSED,
		   NULL);
	expect_end("1..1\nok 1 a\n", 1, NULL, CASE_FAILED,
		   "ended with exit code 1");
	expect_end("1..1\nok 1 a\n", 0, "kernel log: BUG", CASE_FAILED,
		   "kernel log: BUG");
	expect_end("1..1\nok 1 a\n", WIRE_TIMEOUT, NULL, CASE_FAILED,
		   "timeout");
	expect_end("1..1\n", 0, NULL, CASE_FAILED,
		   "ended with exit code 0 after 0 of 1 tests");
	expect_end("1..0\n", 0, NULL, CASE_FAILED, "no such test");
	expect_end("", 127, NULL, CASE_FAILED,
		   "ended with exit code 127, and without a plan");
	/* More results than planned are noise, and so is one before the plan. */
	expect_end("ok 1 z\n1..1\nnot ok 1 a\nok 2 b\n", 1, NULL, CASE_FAILED,
		   NULL);
}

static void bad_lines_do_no_harm(void **state)
{
	static const char *const lines[] = {
		"1..99999", "1..-1", "1..", "ok", "ok ", "not ok",
		"# RUN  ...", "#", "ok 1\033[2J", "1..1 # SKIP",
	};
	struct case_run r;

	case_run_init(&r, "young", "");
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		case_run_line(&r, lines[i]);
	assert_int_equal(r.planned, -1);
	assert_int_equal(r.n_tests, 0);
	case_run_line(&r, "1..2");
	case_run_line(&r, "ok ");
	case_run_line(&r, "ok 2 a\033[2J\n# b");
	assert_int_equal(r.n_tests, 2);
	assert_string_equal(r.tests[0].name, "(unnamed)");
	assert_string_equal(r.tests[1].name, "a?[2J?# b");
	for (int i = 0; i < 10 * CASE_MAX_NOTES; i++)
		case_run_line(&r, "# a note");
	assert_int_equal(r.notes.n, CASE_MAX_NOTES + 1);
	case_run_end(&r, 0, "an objection");
	case_run_free(&r);
}

static char *printed(void (*print)(FILE *to, const struct case_run *r),
		     const struct case_run *r)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	assert_non_null(f);
	print(f, r);
	fclose(f);
	return text;
}

static void as_ktap(FILE *to, const struct case_run *r)
{
	ktap_begin(to, 1);
	ktap_replay(to, r, 1);
}

static void as_junit(FILE *to, const struct case_run *r)
{
	junit_begin(to);
	junit_suites(to, r, 1);
	junit_end(to);
}

static void what_is_printed(void **state)
{
	struct case_run r;
	char *text;

	case_run_init(&r, "young", "preempt=none");
	feed(&r, HARNESS);
	case_run_end(&r, WIRE_TIMEOUT, NULL);
	text = printed(as_ktap, &r);
	assert_string_equal(text,
		"KTAP version 1\n"
		"1..1\n"
		"  KTAP version 1\n"
		"  # Subtest: young\n"
		"  1..4\n"
		"  ok 1 young.a\n"
		"  # young.c:30:b:Expected 0 (0) == rc (11)\n"
		"  # b: Test failed\n"
		"  not ok 2 young.b\n"
		"  ok 3 young.c # SKIP no zram\n"
		"  not ok 4 young.d # TIMEOUT\n"
		"not ok 1 young preempt=none # TIMEOUT\n");
	free(text);
	text = printed(as_junit, &r);
	assert_non_null(strstr(text, "<testsuite name=\"young preempt=none\" tests=\"5\" failures=\"3\" errors=\"0\" skipped=\"1\""));
	assert_non_null(strstr(text, "<testcase classname=\"young preempt=none\" name=\"young.a\"/>"));
	assert_non_null(strstr(text, "<skipped message=\"no zram\">"));
	assert_non_null(strstr(text, "<failure message=\"timeout\">"));
	free(text);
	case_run_free(&r);

	case_run_init(&r, "a", "");
	feed(&r, "1..1\n# 1 < 2 && \"x\"\nnot ok 1 a<b\n");
	case_run_end(&r, 1, NULL);
	text = printed(as_junit, &r);
	assert_non_null(strstr(text, "1 &lt; 2 &amp;&amp; &quot;x&quot;"));
	assert_non_null(strstr(text, "name=\"a&lt;b\""));
	free(text);
	case_run_free(&r);
}

/* ---- what a program says of itself --------------------------------------------- */

/* An object file with @text in the section; the compiler is there anyway. */
static void make_program(const char *dir, const char *name, const char *text)
{
	char *cmd = xasprintf("printf '.section .folab.case,\"a\"\\n.ascii \"%s\"\\n' | gcc -c -x assembler - -o %s/%s",
			      text, dir, name);

	assert_int_equal(system(cmd), 0);
	free(cmd);
}

static void programs_are_read(void **state)
{
	struct case_program *list;
	struct err err = { 0 };
	char *dir = test_dir();
	size_t n;

	make_program(dir, "young", "Young bits\\\\n30\\\\nquick\\\\n");
	make_program(dir, "clear", "Clearing\\\\n60\\\\nboot= boot=a=1,b=2,,3 memory=4G cpus=1 needs=stress-ng hidden\\\\n");
	assert_int_equal(case_programs(dir, &list, &n, &err), 0);
	assert_int_equal(n, 2);
	assert_string_equal(list[0].name, "clear");
	assert_int_equal(list[0].boots.n, 2);
	assert_string_equal(list[0].boots.v[0], "");
	assert_string_equal(list[0].boots.v[1], "a=1 b=2,3");
	assert_true(list[0].memory == 4ull << 30);
	assert_int_equal(list[0].cpus, 1);
	assert_true(list[0].hidden && !list[0].quick);
	assert_string_equal(list[1].summary, "Young bits");
	assert_int_equal(list[1].seconds, 30);
	assert_int_equal(list[0].needs.n, 1);
	assert_string_equal(list[0].needs.v[0], "stress-ng");
	assert_int_equal(list[1].needs.n, 0);
	assert_true(list[1].quick && !list[1].hidden);
	assert_int_equal(list[1].boots.n, 1);
	case_programs_free(list, n);
	test_dir_remove(dir);
}

static void expect_refused(const char *text, const char *why)
{
	struct case_program *list;
	struct err err = { 0 };
	char *dir = test_dir();
	size_t n;

	make_program(dir, "young", text);
	assert_int_equal(case_programs(dir, &list, &n, &err), -1);
	assert_err(&err, EXIT_ENVIRONMENT, why);
	assert_null(list);
	test_dir_remove(dir);
}

static void broken_programs_are_refused(void **state)
{
	struct case_program *list;
	struct err err = { 0 };
	char *dir = test_dir();
	size_t n;

	expect_refused("only a line\\\\n", "has summary, seconds, words");
	expect_refused("a\\\\n0\\\\n\\\\n", "\"0\" seconds");
	expect_refused("a\\\\n1\\\\nquik\\\\n", "no word \"quik\"");
	expect_refused("a\\\\n1\\\\nmemory=much\\\\n", "no word \"memory=much\"");
	expect_refused("a\\\\n1\\\\nneeds=../x\\\\n", "no word \"needs=../x\"");
	free(test_file(dir, "young", "#!/bin/sh\n"));
	assert_int_equal(case_programs(dir, &list, &n, &err), -1);
	assert_err(&err, EXIT_ENVIRONMENT, "no program of cases");
	test_dir_remove(dir);
}

/* ---- kernel log ---------------------------------------------------------------- */

static void log_lines(void **state)
{
	static const struct {
		const char *line;
		enum klog means;
	} t[] = {
		{ "folab: case young", KLOG_FINE },
		{ "BUG: Bad page state in process x", KLOG_WARNING },
		{ "BUG: Bad rss-counter state mm:1 type:MM_FILEPAGES val:1",
		  KLOG_WARNING },
		{ "WARNING: CPU: 0 PID: 1 at mm/rmap.c:1 x+0x0/0x1",
		  KLOG_WARNING },
		{ "WARNING: possible circular locking dependency detected",
		  KLOG_WARNING },
		{ "BUG: KASAN: use-after-free in x", KLOG_WARNING },
		{ "UBSAN: shift-out-of-bounds in x", KLOG_WARNING },
		{ "must_fail invoked oom-killer: gfp_mask=0x0", KLOG_OOM },
		{ "Kernel panic - not syncing: x", KLOG_LOST },
		{ "Internal error: Oops: 96000004 [#1] PREEMPT SMP", KLOG_LOST },
	};
	const char *what;

	for (size_t i = 0; i < ARRAY_SIZE(t); i++)
		if (klog_judge(t[i].line, &what) != t[i].means)
			fail_msg("%s", t[i].line);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_the_harness_prints),
		cmocka_unit_test(what_is_missing_failed),
		cmocka_unit_test(verdicts),
		cmocka_unit_test(bad_lines_do_no_harm),
		cmocka_unit_test(what_is_printed),
		cmocka_unit_test(programs_are_read),
		cmocka_unit_test(broken_programs_are_refused),
		cmocka_unit_test(log_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
