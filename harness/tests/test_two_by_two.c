/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Two series, each alone and both: the arithmetic, what makes the table claim
 * nothing, its place in 40 lines of 75 columns, and its way through result.json.
 */
#include "fake_two_by_two.h"

#include <math.h>

#include "../analyse/analyse.h"
#include "../build/build.h"
#include "../plan/plan.h"
#include "../report/report.h"
#include "check.h"

static const struct two_row *row_of(const struct result *r, const char *metric)
{
	for (size_t i = 0; i < r->two_by_two.n_rows; i++)
		if (!strcmp(r->two_by_two.rows[i].metric, metric))
			return &r->two_by_two.rows[i];
	fail_msg("no row %s", metric);
	return NULL;
}

#define COST	"reclaim.instructions_per_page"
#define PAGES	38416	/* reclaimed, in each fake sample */

/* All seeds of a side take so many instructions; sides 'A' to 'D'. */
static void set_cost(struct result *r, char side, int64_t n)
{
	struct trial *t = side < 'C' ? r->trials : r->two_by_two.trials;
	size_t n_trials = side < 'C' ? r->n_trials : r->two_by_two.n_trials;

	for (size_t i = 0; i < n_trials; i++)
		if (t[i].side == side)
			fake_kernel_instructions(&t[i].samples[0].counters, n);
}

static void set_costs(struct result *r, int64_t a, int64_t c, int64_t d,
		      int64_t b)
{
	set_cost(r, 'A', a * PAGES);
	set_cost(r, 'B', b * PAGES);
	set_cost(r, 'C', c * PAGES);
	set_cost(r, 'D', d * PAGES);
}

static void the_parts_add_up(void **state)
{
	const struct two_row *row;
	struct result r;

	fake_result(&r, 5);
	fake_two_by_two(&r);
	set_costs(&r, 4000, 1600, 3600, 1200);
	analyse(&r);
	assert_true(r.valid);
	assert_true(r.two_by_two.valid);
	row = row_of(&r, COST);
	assert_float_equal(row->a, 4000, 1e-9);
	assert_float_equal(row->c, 1600, 1e-9);
	assert_float_equal(row->d, 3600, 1e-9);
	assert_float_equal(row->b, 1200, 1e-9);
	assert_float_equal(row->c_change_pct, -60, 1e-9);
	assert_float_equal(row->d_change_pct, -10, 1e-9);
	assert_float_equal(row->b_change_pct, -70, 1e-9);
	assert_float_equal(row->interaction, 0, 1e-9);
	assert_int_equal(row->n, 5);
	assert_false(row->interacts);
	result_free(&r);
}

static void what_is_more_than_the_parts_is_told(void **state)
{
	const struct two_row *row;
	struct result r;

	fake_result(&r, 5);
	fake_two_by_two(&r);
	set_costs(&r, 4000, 1600, 3600, 1400);
	analyse(&r);
	row = row_of(&r, COST);
	assert_float_equal(row->interaction, 200, 1e-9);
	assert_float_equal(row->interaction_low, 200, 1e-9);
	assert_float_equal(row->interaction_high, 200, 1e-9);
	assert_float_equal(row->interaction_pct, 5, 1e-9);
	assert_true(row->interacts);
	/* The same with one seed that says the opposite is none. */
	for (size_t i = 0; i < r.n_trials; i++)
		if (r.trials[i].side == 'B' && r.trials[i].seed == 2)
			fake_kernel_instructions(&r.trials[i].samples[0].counters,
						 1100 * PAGES);
	analyse(&r);
	assert_false(row_of(&r, COST)->interacts);
	result_free(&r);
}

/* Smaller than what the seeds do to one kernel. */
static void small_interactions_are_noise(void **state)
{
	struct result r;

	fake_result(&r, 5);
	fake_two_by_two(&r);
	set_costs(&r, 4000, 1600, 3600, 1201);
	analyse(&r);
	assert_float_equal(row_of(&r, COST)->interaction, 1, 1e-9);
	assert_false(row_of(&r, COST)->interacts);
	set_costs(&r, 4000, 1600, 3600, 1203);
	analyse(&r);
	assert_true(row_of(&r, COST)->interacts);
	for (size_t i = 0; i < r.n_trials; i++)
		if (r.trials[i].side == 'A' && r.trials[i].seed == 4)
			fake_kernel_instructions(&r.trials[i].samples[0].counters,
						 4004 * PAGES);
	analyse(&r);
	assert_false(row_of(&r, COST)->interacts);
	result_free(&r);
}

/* A fault of C or D leaves A against B as it is. */
static void a_bad_side_claims_nothing(void **state)
{
	struct result r;
	char *text;

	fake_result(&r, 5);
	fake_two_by_two(&r);
	set_costs(&r, 4000, 1600, 3600, 1400);
	fake_two_set(&r, 'D', "vmstat.pgscan_kswapd", 7);
	analyse(&r);
	assert_true(r.valid);
	assert_false(r.two_by_two.valid);
	assert_false(row_of(&r, COST)->interacts);
	assert_int_equal(r.two_by_two.reasons.n, 5);
	assert_string_equal(r.two_by_two.reasons.v[0],
			    "with D in B's place: B seed 1: 7 pages scanned by kswapd");
	text = report_text(&r);
	assert_non_null(strstr(text, "INVALID, claims nothing: with D in B's place"));
	assert_non_null(strstr(text, "B is faster: instructions/page"));
	assert_null(strstr(text, "interact in"));
	free(text);
	result_free(&r);

	fake_result(&r, 5);
	fake_two_by_two(&r);
	fake_set(&r, 'A', "vmstat.pgscan_kswapd", 7);
	analyse(&r);
	assert_false(r.valid);
	assert_false(r.two_by_two.valid);
	assert_int_equal(r.two_by_two.reasons.n, 0);	/* A's are A's */
	text = report_text(&r);
	assert_null(strstr(text, "-58.9"));
	free(text);
	result_free(&r);
}

static void a_missing_trial_is_told(void **state)
{
	struct result r;

	fake_result(&r, 5);
	fake_two_by_two(&r);
	for (size_t i = 0; i < r.two_by_two.n_trials; i++)
		if (r.two_by_two.trials[i].side == 'C' &&
		    r.two_by_two.trials[i].seed == 3)
			r.two_by_two.trials[i].failed = xstrdup("panic");
	analyse(&r);
	assert_true(r.valid);
	assert_false(r.two_by_two.valid);
	assert_int_equal(row_of(&r, COST)->n, 4);
	result_free(&r);
}

static void the_text_fits_and_comes_back(void **state)
{
	static const char *const parts[] = {
		"two by two              A       C     %       D     %       B     % inter.%\n",
		"instructions/page  4000.0  1600.0 -60.0  3600.0 -10.0  1400.0 -65.0   +5.00\n",
		"\n\ntwo by two ",
		"C: A+young-batch, D: A+clear-pages; inter. = (B - C - D + A) / A\n",
		"\nfolio_check_re...   ",
		"they interact in: instructions/page",
	};
	char *dir = test_dir(), *text, *again;
	struct result r, back;
	struct err err = { 0 };

	fake_result(&r, 5);
	fake_two_by_two(&r);
	set_costs(&r, 4000, 1600, 3600, 1400);
	analyse(&r);
	text = report_text(&r);
	assert_fits(text);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (!strstr(text, parts[i]))
			fail_msg("no \"%s\" in\n%s", parts[i], text);
	if (result_write(dir, &r, &err) || result_read(dir, &back, &err))
		fail_msg("%s", err.text);
	again = report_text(&back);
	assert_string_equal(again, text);
	free(again);
	/* All that it was made from is there: it can be made again. */
	assert_int_equal(back.two_by_two.n_trials, 10);
	assert_int_equal(back.two_by_two.profile[1].windows, 5);
	assert_string_equal(back.two_by_two.side[1].spec, "6.12+clear-pages");
	result_free(&back);
	free(text);
	result_free(&r);
	test_dir_remove(dir);
}

static void a_side_that_is_none_is_refused(void **state)
{
	struct err err = { 0 };
	struct result r, back = { 0 };
	json_t *o;

	fake_result(&r, 2);
	fake_two_by_two(&r);
	analyse(&r);
	r.two_by_two.trials[1].side = 'B';
	o = result_to_json(&r);
	assert_int_equal(result_from_json(&back, o, &err), -1);
	assert_err(&err, EXIT_USAGE, "neither C nor D");
	json_decref(o);
	result_free(&back);
	r.two_by_two.trials[1].side = 'C';
	r.trials[1].side = 'D';
	err_clear(&err);
	o = result_to_json(&r);
	assert_int_equal(result_from_json(&back, o, &err), -1);
	assert_err(&err, EXIT_USAGE, "neither A nor B");
	json_decref(o);
	result_free(&back);
	result_free(&r);
}

static void sides_take_turns(void **state)
{
	struct trial *t;
	size_t n;

	plan_trials_of("ACDB", 3, &t, &n);
	assert_int_equal(n, 12);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(t[i].side, "ACDBBDCAACDB"[i]);
		assert_int_equal(t[i].seed, (int64_t)i / 4 + 1);
		assert_int_equal(t[i].index, (int64_t)i);
	}
	free(t);
}

static void specs_are_split(void **state)
{
	struct strlist series = { 0 };
	struct err err = { 0 };
	char *base = NULL;

	assert_int_equal(build_split_spec("6.12+one+two", &base, &series, &err),
			 0);
	assert_string_equal(base, "6.12");
	assert_int_equal(series.n, 2);
	assert_string_equal(series.v[0], "one");
	assert_string_equal(series.v[1], "two");
	free(base);
	strlist_free(&series);
	series = (struct strlist){ 0 };
	base = NULL;
	assert_int_equal(build_split_spec("6.12+one+mutant:bad", &base, &series,
					  &err), -1);
	assert_err(&err, EXIT_USAGE, "mutant");
	assert_null(base);
	strlist_free(&series);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_parts_add_up),
		cmocka_unit_test(what_is_more_than_the_parts_is_told),
		cmocka_unit_test(small_interactions_are_noise),
		cmocka_unit_test(a_bad_side_claims_nothing),
		cmocka_unit_test(a_missing_trial_is_told),
		cmocka_unit_test(the_text_fits_and_comes_back),
		cmocka_unit_test(a_side_that_is_none_is_refused),
		cmocka_unit_test(sides_take_turns),
		cmocka_unit_test(specs_are_split),
	};

	return cmocka_run_group_tests_name("two_by_two", tests, NULL, NULL);
}
