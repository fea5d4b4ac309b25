/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Rows of a comparison: each is judged for itself, none can hide, all of them
 * find room in 40 lines of 75 columns and come back from a directory.
 */
#include "fake_result.h"

#include "../analyse/analyse.h"
#include "../report/report.h"
#include "check.h"

#define COST	"reclaim.instructions_per_page"
#define PAGES	38416	/* reclaimed, in each fake sample */

/* A row whose every seed takes @a instructions a page on A, @b on B. */
static struct result *add_row(struct result *r, const char *name, int64_t a,
			      int64_t b)
{
	struct variant *v = variant_add(r, name);
	const char *const names[] = { "pmu.kernel_instructions",
				      "plugin.kernel_instructions" };

	strlist_add(&v->set, "order=0");
	fake_result(v->r, 5);
	for (int i = 0; i < 2; i++) {
		fake_set(v->r, 'A', names[i], a * PAGES);
		fake_set(v->r, 'B', names[i], b * PAGES);
	}
	return v->r;
}

static void assert_says(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no \"%s\" in\n%s", part, text);
}

/* Its text in @form, which has to say @part. */
static void says(struct result *r, const char *form, const char *part)
{
	char *text = report_format(form)(r);

	if (!strcmp(form, "text"))
		assert_fits(text);
	assert_says(text, part);
	free(text);
}

/* What a row decided otherwise stands below the table. */
static void otherwise_is_told(void **state)
{
	struct result r, *v;

	fake_result(&r, 5);
	v = add_row(&r, "16 mappers", 4000, 3000);
	for (size_t k = 0; k < v->n_trials; k++)
		if (v->trials[k].side == 'B' && v->trials[k].seed > 3)
			counters_set(&v->trials[k].samples[0].counters,
				     "memcg.pgrefill", 77);
	analyse(&r);
	assert_int_equal(v->alike, 3);
	says(&r, "text", "3 of 5\n  16 mappers, seed 4: pgrefill");
	result_free(&r);
}

static void each_is_judged_for_itself(void **state)
{
	struct result r;

	fake_result(&r, 5);
	add_row(&r, "faster", 4000, 3000);
	add_row(&r, "same", 4000, 4000);
	analyse(&r);
	assert_true(r.valid);
	for (int i = 0; i < 2; i++) {
		const struct result *v = r.variants[i].r;

		assert_true(v->valid);
		assert_int_equal(v->alike, 5);
		assert_int_equal(result_decider(v)->verdict,
				 i ? VERDICT_SAME : VERDICT_FASTER);
	}
	assert_float_equal(result_decider(r.variants[0].r)->change_pct, -25,
			   1e-9);
	says(&r, "text",
	     "rows: B is slower in none of 2; faster in 1, no difference in 1\n");
	says(&r, "text",
	     "\n\nrows: instructions/page        A        B    change          range    alike\n"
	     "faster                    4000.0   3000.0  -25.00 %   -25.0..-25.0   5 of 5\n"
	     "same                      4000.0   4000.0    0.00 %     0.00..0.00   5 of 5\n");
	result_free(&r);
}

/* The words come before the table, whatever else there is to say. */
static void a_slower_row_is_named(void **state)
{
	char *text, *words, *table;
	struct result r;

	fake_result(&r, 5);
	add_row(&r, "order 0", 4000, 4100);
	add_row(&r, "faster", 4000, 3000);
	add_row(&r, "MGLRU", 4000, 4200);
	analyse(&r);
	text = report_text(&r);
	words = strstr(text, "\nB is SLOWER in row: order 0, MGLRU\n");
	table = strstr(text, "\nrows: instructions/page");
	if (!words || !table || words > table)
		fail_msg("%s", text);
	assert_null(strstr(text, "slower in none"));
	free(text);
	says(&r, "ktap", "\nnot ok 10 row order 0\n");
	says(&r, "ktap", "\nok 11 row faster\n");
	says(&r, "ktap", "+2.50 % (+2.50..+2.50 with 5 seeds)");
	says(&r, "junit", "name=\"row MGLRU\"");
	result_free(&r);
}

/* What is wrong with one row is told, and is no matter of the others. */
static void a_bad_row_hides_nothing(void **state)
{
	struct result r, *bad;
	char *text;

	fake_result(&r, 5);
	bad = add_row(&r, "16 mappers", 4000, 3000);
	add_row(&r, "same", 4000, 4000);
	fake_find(bad, 'B', 3)->failed = xstrdup("kernel panic: it broke");
	analyse(&r);
	assert_true(r.valid);
	assert_false(bad->valid);
	assert_true(r.variants[1].r->valid);
	text = report_text(&r);
	assert_says(text, "\nINVALID row 16 mappers: B seed 3: kernel panic: it broke\n");
	assert_says(text, "\n16 mappers                4000.0   3000.0         -              -  INVALID\n");
	assert_says(text, "B is slower in none of 1; faster in 0, no difference in 1\n");
	assert_says(text, "B is faster: instructions/page");
	/* A row that is not valid claims nothing. */
	assert_null(strstr(text, "-25.0"));
	free(text);
	says(&r, "ktap", "not ok 10 row 16 mappers\n");
	says(&r, "ktap", "# B seed 3: kernel panic: it broke\n");
	says(&r, "ktap", "ok 11 row same\n");
	result_free(&r);
}

/* The run itself is not valid: the rows are told all the same. */
static void a_bad_run_hides_no_row(void **state)
{
	struct result r;

	fake_result(&r, 5);
	fake_set(&r, 'B', "vmstat.pgscan_kswapd", 7);
	add_row(&r, "order 0", 4000, 4100);
	analyse(&r);
	assert_false(r.valid);
	assert_true(r.variants[0].r->valid);
	says(&r, "text", "INVALID: this run claims nothing");
	says(&r, "text", "B is SLOWER in row: order 0\n");
	says(&r, "text", "+2.50 %");
	result_free(&r);
}

/* Ten rows, the longest names, half of them not valid. */
static void many_rows_fit(void **state)
{
	struct result r, *bad;

	fake_result(&r, 5);
	for (int i = 0; i < 14; i++) {
		char *name = xasprintf("%02d%020d", i, 0);

		bad = add_row(&r, name, 4000, i < 5 ? 4100 : 3000);
		free(name);
		if (i >= 5 && i < 10)
			fake_find(bad, 'A', 1)->failed = xasprintf("%0500d", 0);
	}
	analyse(&r);
	says(&r, "text", "B is SLOWER in row: 0000000000000000000000, ");
	says(&r, "text", "0400000000000000000000\n");
	says(&r, "text", "INVALID row 0500000000000000000000: A seed 1:");
	says(&r, "text", "INVALID: and 2 more rows\n");
	says(&r, "text", "\n0900000000000000000000 ");
	says(&r, "text", "not time on hardware");
	result_free(&r);
}

static void all_of_it_comes_back(void **state)
{
	const struct variant *v;
	struct result r, back;
	struct err err = { 0 };
	char *dir = test_dir(), *text, *again;

	fake_result(&r, 5);
	add_row(&r, "order 0", 4000, 4100);
	add_row(&r, "x86", 4000, 3000);
	r.variants[1].r->side[0].arch = arch_find("x86_64");
	analyse(&r);
	if (result_write(dir, &r, &err) || result_read(dir, &back, &err))
		fail_msg("%s", err.text);
	for (int i = 0; i < 3; i++) {
		static const char *const forms[] = { "text", "ktap", "json" };

		text = report_format(forms[i])(&r);
		again = report_format(forms[i])(&back);
		assert_string_equal(again, text);
		free(again);
		free(text);
	}
	v = variant_find(&back, "x86");
	assert_non_null(v);
	assert_string_equal(v->set.v[0], "order=0");
	assert_string_equal(v->r->side[0].arch->name, "x86_64");
	assert_int_equal(v->r->n_trials, 10);
	assert_null(variant_find(&back, "x8"));
	/* A row's own report, down to its functions. */
	text = report_text(r.variants[1].r);
	again = report_text(v->r);
	assert_string_equal(again, text);
	assert_says(again, "own instructions per page");
	free(again);
	free(text);
	result_free(&back);
	result_free(&r);
	test_dir_remove(dir);
}

/* Takes the row of a sound result, and breaks it. */
static void refused(void (*spoil)(json_t *list), const char *says_what)
{
	struct result r, back = { 0 };
	struct err err = { 0 };
	json_t *o;

	fake_result(&r, 2);
	add_row(&r, "one", 4000, 3000);
	add_row(&r, "two", 4000, 3000);
	analyse(&r);
	o = result_to_json(&r);
	spoil(json_object_get(o, "variants"));
	assert_int_equal(result_from_json(&back, o, &err), -1);
	assert_err(&err, EXIT_USAGE, says_what);
	json_decref(o);
	result_free(&back);
	result_free(&r);
}

static void nest(json_t *list)
{
	json_t *inner = json_object_get(json_array_get(list, 1), "result");

	json_object_set_new(inner, "variants", json_array());
}

static void name_twice(json_t *list)
{
	json_object_set_new(json_array_get(list, 1), "name",
			    json_string("one"));
}

static void no_name(json_t *list)
{
	json_object_set_new(json_array_get(list, 0), "name", json_null());
}

static void no_result(json_t *list)
{
	json_object_del(json_array_get(list, 0), "result");
}

static void no_set(json_t *list)
{
	json_object_del(json_array_get(list, 0), "set");
}

static void bad_trial(json_t *list)
{
	json_t *inner = json_object_get(json_array_get(list, 0), "result");

	json_object_set_new(inner, "trials", json_integer(3));
}

static void not_an_object(json_t *list)
{
	json_array_set_new(list, 0, json_integer(3));
}

static void broken_ones_are_refused(void **state)
{
	refused(nest, "\"two\": it has variants itself");
	refused(name_twice, "a second variant \"one\"");
	refused(no_name, "name");
	refused(no_result, "result");
	refused(no_set, "set");
	refused(bad_trial, "variant \"one\"");
	refused(not_an_object, "variant");
}

static void an_image_is_copied_whole(void **state)
{
	struct image from, to;

	fake_image(&from, "6.12");
	from.series = xcalloc(1, sizeof(*from.series));
	from.n_series = 1;
	from.series[0].name = xstrdup("one");
	from.config = xstrdup("/config");
	image_copy(&to, &from);
	image_free(&from);
	assert_string_equal(to.spec, "6.12");
	assert_string_equal(to.config, "/config");
	assert_string_equal(to.series[0].name, "one");
	assert_null(to.series[0].mbox);
	assert_null(to.symbols);
	image_free(&to);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_is_judged_for_itself),
		cmocka_unit_test(otherwise_is_told),
		cmocka_unit_test(a_slower_row_is_named),
		cmocka_unit_test(a_bad_row_hides_nothing),
		cmocka_unit_test(a_bad_run_hides_no_row),
		cmocka_unit_test(many_rows_fit),
		cmocka_unit_test(all_of_it_comes_back),
		cmocka_unit_test(broken_ones_are_refused),
		cmocka_unit_test(an_image_is_copied_whole),
	};

	return cmocka_run_group_tests_name("variants", tests, NULL, NULL);
}
