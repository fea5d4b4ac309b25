/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Real clocks: the numerics against known tables, intervals and tests against
 * simulated runs, and what a comparison claims and does not.
 */
#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>

#include "check.h"

#include "../analyse/analyse.h"
#include "../report/report.h"

#define PASSES	10

/* ---- known tables -------------------------------------------------------------- */

static void test_mann_whitney(void **state)
{
	const double low[] = { 1, 2, 3, 4 }, high[] = { 5, 6, 7, 8 };
	/* Hollander and Wolfe, tritiated water: U 36 of 50 at 10 and 5. */
	const double term[] = { .80, .83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64,
				.73, 1.46 };
	const double early[] = { 1.15, .88, .90, .74, 1.21 };
	const double same[] = { 3, 3, 3, 3 };
	const double tied[] = { 1, 2, 2, 3 }, more[] = { 2, 4, 4, 5 };

	assert_float_equal(stat_mann_whitney_p(low, 4, high, 4), 2. / 70, 1e-12);
	assert_float_equal(stat_mann_whitney_p(high, 4, low, 4), 2. / 70, 1e-12);
	assert_float_equal(stat_mann_whitney_p(low, 3, high, 3), .1, 1e-12);
	assert_float_equal(stat_mann_whitney_p(low, 4, low, 1), 0.4 * 2 < 1 ?
			   stat_mann_whitney_p(low, 1, low, 4) : 1, 1e-12);
	assert_float_equal(stat_mann_whitney_p(term, 10, early, 5), .2544, 1e-4);
	assert_float_equal(stat_mann_whitney_p(same, 4, same, 4), 1, 0);
	/* Ties, by the normal approximation: U 2, variance 16/12 (9 - 30/56). */
	assert_float_equal(stat_mann_whitney_p(tied, 4, more, 4), .1016, 1e-4);
}

static void test_permutation(void **state)
{
	const double low[] = { 1, 2, 3, 4 }, high[] = { 5, 6, 7, 8 };
	const double same[] = { 3, 3, 3, 3 };
	double a[12], b[12];

	assert_float_equal(stat_permutation_p(low, 4, high, 4), 2. / 70, 1e-12);
	assert_float_equal(stat_permutation_p(low, 3, high, 3), .1, 1e-12);
	assert_float_equal(stat_permutation_p(low, 2, high, 3), .1, 1e-12);
	assert_float_equal(stat_permutation_p(same, 4, same, 4), 1, 0);
	assert_float_equal(stat_permutation_p(low, 4, low, 4), 1, 0);
	/* Too many ways to try each: the least p is one in so many. */
	for (int i = 0; i < 12; i++) {
		a[i] = i;
		b[i] = 100 + i;
	}
	assert_in_range((uintmax_t)(stat_permutation_p(a, 12, b, 12) *
				    PERMUTATIONS_MAX + 0.5), 1, 3);
	assert_float_equal(stat_permutation_p(a, 12, a, 12), 1, 0);
}

static void test_welch(void **state)
{
	/* Worked out by hand; t by integrating its density. */
	const double a[] = { 27.5, 21.0, 19.0, 23.6, 17.0, 17.9 };
	const double b[] = { 27.1, 22.0, 20.8, 23.4, 23.4, 23.5 };
	const double same[] = { 2, 2 }, other[] = { 3, 3, 3 };
	struct welch w;

	stat_welch(a, 6, b, 6, &w);
	assert_float_equal(w.difference, 2.3666667, 1e-6);
	assert_float_equal(w.error, 1.8351506, 1e-6);
	assert_float_equal(w.freedom, 7.636562, 1e-5);
	assert_float_equal(w.half / w.error, 2.3252475, 1e-6);
	assert_float_equal(w.detectable / w.error, 2.3252475 + .8912573, 1e-6);
	stat_welch(same, 2, other, 3, &w);
	assert_float_equal(w.difference, 1, 0);
	assert_float_equal(w.half, 0, 0);
	assert_float_equal(w.detectable, 0, 0);
}

static void test_holm(void **state)
{
	double p[] = { .01, .04, .03, .005 };
	const double want[] = { .03, .06, .06, .02 };
	double one[] = { .04 }, many[] = { .6, .7 };

	stat_holm(p, 4);
	for (int i = 0; i < 4; i++)
		assert_float_equal(p[i], want[i], 1e-12);
	stat_holm(one, 1);
	assert_float_equal(one[0], .04, 0);
	stat_holm(many, 2);
	assert_float_equal(many[0], 1, 0);
	assert_float_equal(many[1], 1, 0);
}

static void test_trend(void **state)
{
	double up[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 };
	double down[] = { 10, 9, 8, 7, 6, 5, 4, 3, 2, 1 };
	double flat[] = { 5, 5, 5, 5, 5, 5, 5, 5, 5, 5 };
	/* Levels apart, no trend within: that is no drift of the passes. */
	struct stat_group one = { up, 10 }, both[] = { { up, 10 }, { down, 10 } };
	struct stat_group still = { flat, 10 }, lone = { up, 1 };
	double direction;

	/* S 45, variance 125: z 44 / sqrt(125). */
	assert_float_equal(stat_trend_p(&one, 1, &direction), 8.303e-5, 1e-7);
	assert_true(direction > 0);
	assert_float_equal(stat_trend_p(both, 2, &direction), 1, 0);
	assert_float_equal(stat_trend_p(&still, 1, &direction), 1, 0);
	assert_float_equal(stat_trend_p(&lone, 1, &direction), 1, 0);
	one.v = down;
	stat_trend_p(&one, 1, &direction);
	assert_true(direction < 0);
	assert_float_equal(stat_at_least_p(9, 10, .1), 9.1e-9, 1e-11);
	assert_float_equal(stat_at_least_p(0, 10, .1), 1, 0);
	assert_float_equal(stat_modified_z(-10, 2), 3.3725, 1e-9);
	assert_true(isinf(stat_modified_z(1, 0)));
	assert_float_equal(stat_modified_z(0, 0), 0, 0);
}

/* ---- simulated hosts -------------------------------------------------------------- */

/* How much boots differ, and passes within one; a few passes are disturbed. */
struct noise {
	const char *name;
	double boots, passes;
	bool disturbed;
};
static const struct noise noises[] = {
	{ "boots 1 %, passes 2 %", .01, .02, false },
	{ "boots 2 %, passes 0.5 %", .02, .005, false },
	{ "boots 1 %, passes 2 %, some disturbed", .01, .02, true },
};

static double one_pass(gsl_rng *rng, const struct noise *noise, double boot)
{
	double v = boot * exp(gsl_ran_gaussian(rng, noise->passes));

	/* Something else ran: up to three times as long. */
	if (noise->disturbed && gsl_rng_uniform(rng) < .05)
		v *= 1 + 2 * gsl_rng_uniform(rng);
	return v;
}

/* Logarithms of the boots' medians; @v[boots][PASSES] gets the passes. */
static void one_side(gsl_rng *rng, const struct noise *noise, size_t boots,
		     double (*v)[PASSES], double *median)
{
	for (size_t i = 0; i < boots; i++) {
		double boot = exp(gsl_ran_gaussian(rng, noise->boots));

		for (int k = 0; k < PASSES; k++)
			v[i][k] = one_pass(rng, noise, boot);
		median[i] = log(stat_median(v[i], PASSES));
	}
}

/* The rival: boots drawn again, then their passes; percentiles of the medians. */
#define DRAWS	300

static double draw(gsl_rng *rng, size_t boots, double (*v)[PASSES])
{
	double median[16], pass[PASSES];

	for (size_t i = 0; i < boots; i++) {
		size_t from = gsl_rng_uniform_int(rng, boots);

		for (int k = 0; k < PASSES; k++)
			pass[k] = v[from][gsl_rng_uniform_int(rng, PASSES)];
		median[i] = stat_median(pass, PASSES);
	}
	return log(stat_median(median, boots));
}

static bool bootstrap_holds(gsl_rng *rng, size_t boots, double (*a)[PASSES],
			    double (*b)[PASSES])
{
	double d[DRAWS];

	for (int i = 0; i < DRAWS; i++)
		d[i] = draw(rng, boots, b) - draw(rng, boots, a);
	gsl_sort(d, 1, DRAWS);
	return gsl_stats_quantile_from_sorted_data(d, 1, DRAWS, .025) <= 0 &&
	       gsl_stats_quantile_from_sorted_data(d, 1, DRAWS, .975) >= 0;
}

/* Both sides alike: how often is the truth, 0, in the interval? */
static void test_coverage(void **state)
{
	static const size_t boots[] = { 4, 5, 10 };
	enum { RUNS = 3000, RIVALS = 300 };
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
	double v[2][16][PASSES], median[2][16];

	gsl_rng_set(rng, 2026);
	for (size_t n = 0; n < ARRAY_SIZE(noises); n++)
		for (size_t k = 0; k < ARRAY_SIZE(boots); k++) {
			double held = 0, rival = 0;

			for (int run = 0; run < RUNS; run++) {
				struct welch w;

				for (int s = 0; s < 2; s++)
					one_side(rng, &noises[n], boots[k],
						 v[s], median[s]);
				stat_welch(median[0], boots[k], median[1],
					   boots[k], &w);
				held += fabs(w.difference) <= w.half;
				if (run < RIVALS)
					rival += bootstrap_holds(rng, boots[k],
								 v[0], v[1]);
			}
			print_message("%2zu boots a side, %s: the interval holds the truth in %.1f %%, a hierarchical bootstrap's in %.1f %%\n",
				      boots[k], noises[n].name,
				      held / RUNS * 100, rival / RIVALS * 100);
			assert_in_range((uintmax_t)(held / RUNS * 1000), 930,
					970);
		}
	gsl_rng_free(rng);
}

/* ---- results of runs that never were ------------------------------------------------ */

/* A run of clear-chunk's kind that only has a rate: @boots a side. */
static void fake_real(struct result *r, const struct noise *noise,
		      size_t boots, double change, unsigned long seed)
{
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);

	gsl_rng_set(rng, seed);
	*r = (struct result){
		.scenario = xstrdup("clear-latency"),
		.workload = xstrdup("other"),
		.clock = xstrdup("real"),
		.has_host = true,
	};
	r->host.bound_cpu = r->host.bound_node = -1;
	strlist_add(&r->wanted, "clear.sys_seconds");
	strlist_add(&r->wanted, "clear.user_seconds");
	for (int s = 0; s < 2; s++) {
		r->side[s].spec = xstrdup("running");
		r->side[s].release = xasprintf("6.12-%c", 'a' + s);
	}
	r->trials = xcalloc(2 * boots, sizeof(*r->trials));
	for (size_t i = 0; i < 2 * boots; i++) {
		struct trial *t = &r->trials[r->n_trials++];
		double boot = exp(gsl_ran_gaussian(rng, noise->boots));

		*t = (struct trial){
			.side = i % 2 ? 'B' : 'A',
			.done = true,
			.index = (int64_t)i,
			.started = (int64_t)i + 1,
			.boot = xasprintf("boot-%zu", i),
			.samples = xcalloc(PASSES + 1, sizeof(*t->samples)),
			.n_samples = PASSES + 1,
		};
		for (size_t k = 0; k < t->n_samples; k++) {
			double ns = 1e8 * one_pass(rng, noise, boot);

			t->samples[k].pass = (int64_t)k;
			if (t->side == 'B')
				ns *= change;
			counters_set(&t->samples[k].counters, "time.rusage_sys_ns",
				     (int64_t)ns);
			counters_set(&t->samples[k].counters,
				     "time.rusage_user_ns", 0);
		}
	}
	gsl_rng_free(rng);
}

static bool noted(const struct result *r, const char *part)
{
	for (size_t i = 0; i < r->notes.n; i++)
		if (strstr(r->notes.v[i], part))
			return true;
	return false;
}

static void assert_valid(const struct result *r)
{
	for (size_t i = 0; i < r->reasons.n; i++)
		print_message("reason: %s\n", r->reasons.v[i]);
	assert_true(r->valid);
}

static void assert_noted(const struct result *r, const char *part)
{
	if (noted(r, part))
		return;
	for (size_t i = 0; i < r->notes.n; i++)
		print_message("there is: %s\n", r->notes.v[i]);
	for (size_t i = 0; i < r->reasons.n; i++)
		print_message("reason: %s\n", r->reasons.v[i]);
	fail_msg("no note \"%s\"", part);
}

/* The acceptance test of a noisy host: ten boots, ten passes, one kernel. */
static void test_aa(void **state)
{
	struct result r;
	char *text;

	fake_real(&r, &noises[2], 10, 1, 2);
	analyse(&r);
	assert_valid(&r);
	assert_int_equal(r.rows[0].verdict, VERDICT_SAME);
	assert_int_equal(r.rows[0].n, 10);
	assert_noted(&r, "no difference proven: system seconds (could have seen");
	text = report_text(&r);
	assert_non_null(strstr(text, "no difference proven"));
	assert_non_null(strstr(text, "10 boots, 100 passes"));
	assert_non_null(strstr(text, "95 % interval"));
	assert_null(strstr(text, "faster"));
	assert_null(strstr(text, "slower"));
	free(text);
	result_free(&r);
}

/* Chance may claim something in 5 % of runs of one kernel against itself. */
static void test_false_positives(void **state)
{
	enum { RUNS = 600 };
	double claims = 0;

	for (int run = 0; run < RUNS; run++) {
		struct result r;

		fake_real(&r, &noises[run % ARRAY_SIZE(noises)], 5, 1,
			  1000 + (unsigned long)run);
		analyse(&r);
		claims += r.rows[0].verdict != VERDICT_SAME;
		result_free(&r);
	}
	print_message("one kernel against itself, 5 boots a side: a difference is claimed in %.1f %% of runs\n",
		      claims / RUNS * 100);
	/* 5 % of 600 is 30, with a standard deviation of 5.3. */
	assert_in_range((uintmax_t)claims, 14, 46);
}

/* A difference as large as "could have seen" is seen in about 80 % of runs. */
static void test_detectable(void **state)
{
	enum { RUNS = 300 };
	double seen = 0, right = 0;

	for (int run = 0; run < RUNS; run++) {
		/* Boots of 1 %, medians of 10 passes of 2 %: 1.27 % a boot. */
		double error = .0127 * sqrt(2. / 6), change = 1 - 3.08 * error;
		struct result r;

		fake_real(&r, &noises[0], 6, change, 5000 + (unsigned long)run);
		analyse(&r);
		seen += r.rows[0].verdict == VERDICT_FASTER;
		right += r.rows[0].verdict != VERDICT_SLOWER;
		result_free(&r);
	}
	print_message("a difference of what could have been seen is seen in %.0f %% of runs\n",
		      seen / RUNS * 100);
	assert_in_range((uintmax_t)(seen / RUNS * 100), 70, 90);
	assert_int_equal(right, RUNS);
}

/* Rows, p values and verdict of a difference that is there; JSON and back. */
static void test_difference(void **state)
{
	struct result r, again = { 0 };
	struct err err = { 0 };
	char *text, *second;
	json_t *o;

	fake_real(&r, &noises[0], 5, .8, 7);
	analyse(&r);
	assert_int_equal(r.rows[0].verdict, VERDICT_FASTER);
	assert_float_equal(r.rows[0].p_alone, 2. / 252, 1e-9);
	assert_float_equal(r.rows[0].change_pct, -20, 3);
	assert_float_equal(r.rows[0].change_pct,
			   (r.rows[0].b / r.rows[0].a - 1) * 100, 1e-9);
	/* All zeros: no logarithms, no difference, nothing to divide by. */
	assert_string_equal(r.rows[1].metric, "clear.user_seconds");
	assert_float_equal(r.rows[1].change_pct, 0, 0);
	assert_float_equal(r.rows[1].p, 1, 0);
	/* Where nothing varies nothing is tested: this is the only row. */
	assert_float_equal(r.rows[0].p, 2. / 252, 1e-9);
	text = report_text(&r);
	assert_non_null(strstr(text, "B is faster: system seconds (p .0079)"));
	o = result_to_json(&r);
	assert_int_equal(result_from_json(&again, o, &err), 0);
	second = report_text(&again);
	assert_string_equal(text, second);
	assert_string_equal(again.trials[0].boot, "boot-0");
	assert_int_equal(again.trials[3].started, 4);
	assert_float_equal(again.rows[0].p_alone, r.rows[0].p_alone, 0);
	json_decref(o);
	free(second);
	free(text);
	result_free(&again);
	result_free(&r);
}

/* What too few boots can't prove is not claimed, however large it is. */
static void test_few_boots(void **state)
{
	struct result r;

	fake_real(&r, &noises[0], 3, .5, 8);
	analyse(&r);
	assert_int_equal(r.rows[0].verdict, VERDICT_SAME);
	assert_noted(&r, "3 and 3 boots can prove nothing in 1 row: p is 0.1 at best; 4 a side can");
	result_free(&r);
	fake_real(&r, &noises[0], 1, .5, 9);
	analyse(&r);
	assert_valid(&r);
	assert_int_equal(r.rows[0].verdict, VERDICT_SAME);
	assert_true(r.rows[0].p < .001);
	assert_noted(&r, "a side has one boot");
	result_free(&r);
	/* Runs within one boot are one boot. */
	fake_real(&r, &noises[0], 5, .5, 10);
	for (size_t i = 0; i < r.n_trials; i++) {
		free(r.trials[i].boot);
		r.trials[i].boot = xstrdup(i % 2 ? "b" : "a");
	}
	analyse(&r);
	assert_int_equal(r.rows[0].n, 1);
	assert_int_equal(r.rows[0].verdict, VERDICT_SAME);
	result_free(&r);
}

/* Samples are kept, whatever they are, and what is odd about them is said. */
static void test_oddities(void **state)
{
	struct result r;
	double before;

	fake_real(&r, &noises[1], 6, 1, 11);
	analyse(&r);
	before = r.rows[0].a;
	assert_false(noted(&r, "first pass"));
	assert_false(noted(&r, "from pass to pass"));
	assert_false(noted(&r, "came before"));
	counters_set(&r.trials[4].samples[7].counters, "time.rusage_sys_ns", 900000000);
	analyse(&r);
	assert_noted(&r, "are far from their boot's median");
	assert_noted(&r, "(A boot boot-4)");
	/* The boot's median has moved by a rank at most. */
	assert_float_equal(r.rows[0].a, before, before * .002);
	result_free(&r);

	fake_real(&r, &noises[1], 6, 1, 12);
	for (size_t i = 0; i < r.n_trials; i++)
		counters_set(&r.trials[i].samples[1].counters, "time.rusage_sys_ns",
			     r.trials[i].side == 'A' ? 150000000 : 90000000);
	analyse(&r);
	assert_noted(&r, "A: the first pass behind the warm-up is the worst in 6 of 6 boots");
	assert_false(noted(&r, "B: the first pass"));
	result_free(&r);

	fake_real(&r, &noises[1], 6, 1, 13);
	for (size_t i = 0; i < r.n_trials; i++)
		for (size_t k = 0; k < r.trials[i].n_samples; k++)
			if (r.trials[i].side == 'B')
				counters_set(&r.trials[i].samples[k].counters,
					     "time.rusage_sys_ns",
					     100000000 + (int64_t)k * 1000000);
	analyse(&r);
	assert_noted(&r, "B: system seconds rises from pass to pass of a boot");
	assert_false(noted(&r, "A: system seconds rises from pass"));
	result_free(&r);

	fake_real(&r, &noises[1], 6, 1, 14);
	for (size_t i = 0; i < r.n_trials; i++)
		if (r.trials[i].side == 'B')
			r.trials[i].started += 100;
	analyse(&r);
	assert_noted(&r, "all boots of A came before all of B");
	result_free(&r);
}

/* ---- joined --------------------------------------------------------------------- */

static void one_run(struct result *r, unsigned long seed, double change)
{
	fake_real(r, &noises[0], 1, change, seed);
	trial_free(&r->trials[1]);
	r->n_trials = 1;
	image_free(&r->side[1]);
	r->side[1] = (struct image){ 0 };
	r->host.cpu = xstrdup("a processor");
	r->folab_version = xstrdup("1");
	free(r->trials[0].boot);
	r->trials[0].boot = xasprintf("boot-%lu", seed);
	if (change != 1)
		for (size_t k = 0; k < r->trials[0].n_samples; k++)
			counters_set(&r->trials[0].samples[k].counters,
				     "time.rusage_sys_ns", (int64_t)(1e8 * change));
}

static int join(struct result *r, char side, struct result *one,
		struct strlist *doubts, struct err *err)
{
	int rc = result_join(r, side, "first", one, 'A', "next", doubts, err);

	result_free(one);
	return rc;
}

static void test_join(void **state)
{
	struct result r = { 0 }, one;
	struct strlist doubts = { 0 };
	struct err err = { 0 };
	struct result again = { 0 };
	char *text, *second;
	json_t *o;

	for (unsigned long i = 0; i < 15; i++) {
		one_run(&one, 100 + i, i < 10 ? 1 : 1.3);
		if (i >= 5) {
			free(one.side[0].release);
			one.side[0].release = xasprintf("6.12-%lu", i / 5);
		}
		assert_int_equal(join(&r, "ABC"[i / 5], &one, &doubts, &err), 0);
	}
	assert_int_equal(doubts.n, 0);
	assert_int_equal(r.n_trials, 10);
	assert_int_equal(r.n_further, 1);
	analyse(&r);
	assert_valid(&r);
	assert_true(r.further[0].valid);
	assert_int_equal(r.rows[0].verdict, VERDICT_SAME);
	assert_int_equal(r.further[0].rows[0].verdict, VERDICT_SLOWER);
	/* B's and C's rows are one family. */
	assert_float_equal(r.further[0].rows[0].p, 2 * 2. / 252, 1e-9);
	text = report_text(&r);
	assert_non_null(strstr(text, "C is slower: system seconds"));
	assert_non_null(strstr(text, "C: running (6.12-2), 5 boots, 50 passes"));
	o = result_to_json(&r);
	assert_int_equal(result_from_json(&again, o, &err), 0);
	second = report_text(&again);
	assert_string_equal(text, second);
	json_decref(o);
	free(text);
	free(second);
	result_free(&again);

	/* Another kernel on the same side. */
	one_run(&one, 200, 1);
	free(one.side[0].release);
	one.side[0].release = xstrdup("6.13");
	assert_int_equal(join(&r, 'A', &one, &doubts, &err), -1);
	assert_err(&err, EXIT_USAGE, "the kernel of side A is");
	err_clear(&err);
	one_run(&one, 200, 1);
	free(one.host.cpu);
	one.host.cpu = xstrdup("another one");
	assert_int_equal(join(&r, 'A', &one, &doubts, &err), -1);
	assert_err(&err, EXIT_USAGE, "the processor is");
	err_clear(&err);
	one_run(&one, 200, 1);
	free(one.workload);
	one.workload = xstrdup("reclaim-file");
	assert_int_equal(join(&r, 'A', &one, &doubts, &err), -1);
	assert_err(&err, EXIT_USAGE, "workload is");
	err_clear(&err);
	one_run(&one, 200, 1);
	one.host.governor = xstrdup("powersave");
	one.host.memory = 1 << 30;
	assert_int_equal(join(&r, 'A', &one, &doubts, &err), 0);
	assert_int_equal(doubts.n, 2);
	assert_string_equal(doubts.v[0], "governor differs: \"\" in first, \"powersave\" in next");
	strlist_free(&doubts);
	result_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mann_whitney),
		cmocka_unit_test(test_permutation),
		cmocka_unit_test(test_welch),
		cmocka_unit_test(test_holm),
		cmocka_unit_test(test_trend),
		cmocka_unit_test(test_coverage),
		cmocka_unit_test(test_aa),
		cmocka_unit_test(test_false_positives),
		cmocka_unit_test(test_detectable),
		cmocka_unit_test(test_difference),
		cmocka_unit_test(test_few_boots),
		cmocka_unit_test(test_oddities),
		cmocka_unit_test(test_join),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
