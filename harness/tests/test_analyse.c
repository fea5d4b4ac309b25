/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A run is valid or it claims nothing; a verdict needs more than noise; what
 * can't be known is not made up.
 */
#include <errno.h>
#include <math.h>

#include "fake_clear.h"

#include "../analyse/analyse.h"
#include "../report/report.h"

static bool any(const struct strlist *l, const char *part)
{
	for (size_t i = 0; i < l->n; i++)
		if (strstr(l->v[i], part))
			return true;
	return false;
}

static void assert_any(const struct strlist *l, const char *part)
{
	if (any(l, part))
		return;
	for (size_t i = 0; i < l->n; i++)
		print_message("there is: %s\n", l->v[i]);
	fail_msg("no \"%s\" among %zu", part, l->n);
}

static const struct row *row_of(const struct result *r, const char *metric)
{
	for (size_t i = 0; i < r->n_rows; i++)
		if (!strcmp(r->rows[i].metric, metric))
			return &r->rows[i];
	return NULL;
}

static void want_only(struct result *r, const char *metric)
{
	strlist_free(&r->wanted);
	r->wanted = (struct strlist){ 0 };
	strlist_add(&r->wanted, metric);
}

#define PER_PAGE	"reclaim.instructions_per_page"
#define SHARE		"reclaim.share.folio_check_references"

/* Instructions of both sides at seeds 1..n. */
static void set_instructions(struct result *r, const int64_t *a,
			     const int64_t *b, int64_t n)
{
	for (int64_t i = 0; i < n; i++) {
		counters_set(&fake_find(r, 'A', i + 1)->samples[0].counters,
			     "pmu.kernel_instructions", a[i]);
		counters_set(&fake_find(r, 'B', i + 1)->samples[0].counters,
			     "pmu.kernel_instructions", b[i]);
	}
	fake_unset(r, 0, "plugin.kernel_instructions");
	/* Of so few, the harness's own would be too many. */
	fake_set(r, 0, "plugin.user_instructions", 0);
}

/* ---- a valid run ----------------------------------------------------------- */

/* The numbers of a good run, worked out by hand. */
static void test_good_run(void **state)
{
	const struct row *row;
	struct result r;

	fake_result(&r, 5);
	analyse(&r);
	assert_int_equal(r.reasons.n, 0);
	assert_true(r.valid);
	assert_int_equal(r.n_rows, 7);
	assert_int_equal(r.alike, 5);
	assert_int_equal(r.alike_of, 5);
	assert_int_equal(r.n_diffs, 0);
	assert_int_equal(r.notes.n, 0);

	row = row_of(&r, PER_PAGE);
	assert_float_equal(row->a, 155.5e6 / 38416, 1e-6);
	assert_float_equal(row->b, 63.6e6 / 38416, 1e-6);
	/* 65.6/155.5 63.6/155.2 64.4/156.6 62.7/157.0 63.6/154.9 */
	assert_float_equal(row->change_pct, (63.6 / 154.9 - 1) * 100, 1e-6);
	assert_float_equal(row->low_pct, (62.7 / 157.0 - 1) * 100, 1e-6);
	assert_float_equal(row->high_pct, (65.6 / 155.5 - 1) * 100, 1e-6);
	assert_float_equal(row->a_stdev_pct, 0.58566, 1e-3);
	assert_int_equal(row->n, 5);
	assert_false(row->has_p);
	assert_int_equal(row->verdict, VERDICT_FASTER);

	/* 48000/16 + 1056/8 + 96/4 folios in 49152 pages */
	row = row_of(&r, "reclaim.tlbi_per_folio");
	assert_float_equal(row->a, 46675 / (38416.0 * 3156 / 49152), 1e-9);
	row = row_of(&r, "reclaim.dsb_per_folio");
	assert_float_equal(row->b, 10800 / (38416.0 * 3156 / 49152), 1e-9);
	row = row_of(&r, SHARE);
	assert_float_equal(row->a, 0.7, 1e-6);
	assert_float_equal(row->b, 0.21, 1e-6);
	/* Of a total that changes too: no way is better. */
	assert_int_equal(row->verdict, VERDICT_NONE);
	row = row_of(&r, "reclaim.pgscan");
	assert_int_equal(row->verdict, VERDICT_NONE);
	row = row_of(&r, "reclaim.sys_seconds");
	assert_float_equal(row->a, 0.311, 1e-9);

	assert_int_equal(r.profile[0].windows, 5);
	assert_int_equal(r.profile[1].windows, 5);
	result_free(&r);
}

/* Analysing again changes nothing. */
static void test_twice(void **state)
{
	struct result r;
	json_t *once, *twice;

	fake_result(&r, 5);
	fake_set(&r, 'B', "memcg.pgactivate", 17);
	analyse(&r);
	once = result_to_json(&r);
	analyse(&r);
	twice = result_to_json(&r);
	assert_true(json_equal(once, twice));
	json_decref(once);
	json_decref(twice);
	result_free(&r);
}

/*
 * Without "metrics" in the scenario all of the table are compared that the
 * instruction clock can tell.
 */
static void test_default_metrics(void **state)
{
	struct result r;
	size_t n = 0;

	fake_result(&r, 3);
	strlist_free(&r.wanted);
	r.wanted = (struct strlist){ 0 };
	analyse(&r);
	/* Of this workload, and without the family. */
	for (size_t i = 0; metric_at(i); i++)
		n += str_starts(metric_at(i)->name, "reclaim.") &&
		     !metric_share(metric_at(i)->name);
	assert_true(n > 8);
	assert_int_equal(r.n_rows, n);
	assert_true(r.valid);
	result_free(&r);
}

/* ---- each rule of validity -------------------------------------------------- */

static void not_run(struct result *r)
{
	fake_find(r, 'B', 2)->done = false;
}

static void failed(struct result *r)
{
	fake_find(r, 'A', 3)->failed = xstrdup("kernel panic: Oops");
}

static void no_sample(struct result *r)
{
	struct trial *t = fake_find(r, 'A', 1);

	sample_free(&t->samples[0]);
	t->n_samples = 0;
}

static void warning(struct result *r)
{
	struct trial *t = fake_find(r, 'B', 5);

	strlist_add(&t->warnings, "WARNING: CPU: 0 PID: 1 at mm/rmap.c:839");
	strlist_add(&t->warnings, "BUG: Bad page state");
}

static void own_reason(struct result *r)
{
	strlist_add(&fake_find(r, 'B', 4)->samples[0].invalid,
		    "nobody touched the file");
}

static void wrong_order(struct result *r)
{
	struct sample *s = &fake_find(r, 'A', 1)->samples[0];

	s->order_pages[0] = 40000;
	s->order_pages[4] = 9152;
}

static void no_order(struct result *r)
{
	struct sample *s = &fake_find(r, 'A', 1)->samples[0];

	memset(s->order_pages, 0, sizeof(s->order_pages));
}

static void other_orders(struct result *r)
{
	struct sample *s = &fake_find(r, 'B', 1)->samples[0];

	s->order_pages[4] = 40000;
	s->order_pages[5] = 8000;
}

static void not_charged(struct result *r)
{
	counters_set(&fake_find(r, 'A', 2)->samples[0].counters,
		     "file.charged", 100 << 20);
}

static void charged_missing(struct result *r)
{
	fake_unset(r, 'A', "file.charged");
}

static void current_did_not_fall(struct result *r)
{
	fake_set(r, 'B', "memory.current_after", 203423744);
}

static void too_little(struct result *r)
{
	fake_set(r, 0, "memcg.pgsteal", 1000);
	fake_set(r, 0, "memory.current_after", 203423744 - 1000 * 4096);
}

static void nothing(struct result *r)
{
	fake_set(r, 0, "memcg.pgsteal", 0);
	fake_set(r, 0, "memory.current_after", 203423744);
	fake_set(r, 0, "reclaim.errno", EAGAIN);
}

static void einval(struct result *r)
{
	fake_set(r, 'B', "reclaim.errno", EINVAL);
}

static void steal_missing(struct result *r)
{
	fake_unset(r, 'B', "memcg.pgsteal");
}

static void overhead(struct result *r)
{
	fake_set(r, 'B', "plugin.user_instructions", 100000);
}

static void kswapd(struct result *r)
{
	fake_set(r, 'A', "vmstat.pgscan_kswapd", 64);
}

static void kswapd_missing(struct result *r)
{
	fake_unset(r, 0, "vmstat.pgscan_kswapd");
}

static void oom(struct result *r)
{
	fake_set(r, 'A', "events.oom", 1);
}

static void oom_kill(struct result *r)
{
	fake_set(r, 'A', "events.oom_kill", 1);
}

static void max_events(struct result *r)
{
	fake_set(r, 'B', "events.max", 7);
}

static void other_bytes(struct result *r)
{
	counters_set(&fake_find(r, 'B', 2)->samples[0].counters,
		     "memcg.pgsteal", 38416 + 400);	/* 1.04 %, allowed 1 */
}

static void probes_disagree(struct result *r)
{
	counters_set(&fake_find(r, 'B', 2)->samples[0].counters,
		     "plugin.kernel_instructions", 64100000);
}

/* More than the time explains in which the thread did not run. */
static void too_much_of_others(struct result *r)
{
	struct counters *c = &fake_find(r, 'A', 2)->samples[0].counters;

	counters_set(c, "plugin.kernel_instructions", 200000000);
	counters_set(c, "time.wall_ns",
		     counters_value(c, "time.sys_ns") + 2 * 40000000);
}

static void pmu_has_more(struct result *r)
{
	struct counters *c = &fake_find(r, 'A', 2)->samples[0].counters;

	counters_set(c, "plugin.kernel_instructions", 150000000);
	counters_set(c, "time.wall_ns", 2 * counters_value(c, "time.sys_ns"));
}

static void pmu_on_one_side(struct result *r)
{
	fake_unset(r, 'B', "pmu.kernel_instructions");
}

static void seed_alone(struct result *r)
{
	fake_find(r, 'B', 5)->seed = 9;
}

static void seed_twice(struct result *r)
{
	fake_find(r, 'A', 5)->seed = 4;
}

static void add_pass(struct trial *t)
{
	t->samples = xrealloc(t->samples, t->n_samples + 1,
			      sizeof(*t->samples));
	memset(&t->samples[t->n_samples], 0, sizeof(*t->samples));
	fake_sample(&t->samples[t->n_samples], t->side, t->seed);
	t->samples[t->n_samples].pass = t->n_samples;
	t->n_samples++;
	t->profile.windows++;
}

static void other_passes(struct result *r)
{
	add_pass(fake_find(r, 'A', 1));
}

static void window_missing(struct result *r)
{
	fake_find(r, 'A', 1)->profile.windows = 2;
}

static void no_clock(struct result *r)
{
	free(r->clock);
	r->clock = xstrdup("sundial");
}

static void no_trials(struct result *r)
{
	for (size_t i = 0; i < r->n_trials; i++)
		trial_free(&r->trials[i]);
	r->n_trials = 0;
}

static void aa_differs(struct result *r)
{
	r->aa = true;
}

static void second_pass(struct result *r)
{
	for (size_t i = 0; i < r->n_trials; i++)
		add_pass(&r->trials[i]);
	counters_set(&fake_find(r, 'A', 1)->samples[1].counters, "events.max",
		     1);
}

static const struct rule {
	const char *name;
	void (*spoil)(struct result *r);
	const char *reason;
} rules[] = {
	{ "not run", not_run, "B seed 2: it did not run" },
	{ "failed", failed, "A seed 3: kernel panic: Oops" },
	{ "no sample", no_sample, "A seed 1: it brought no sample" },
	{ "kernel warning", warning,
	  "B seed 5: 2 kernel warnings, the first: WARNING: CPU: 0" },
	{ "own reason", own_reason, "B seed 4: nobody touched the file" },
	{ "wrong order", wrong_order, "A seed 1: 18.2 % of the pages are in folios of order 4" },
	{ "no order seen", no_order, "A seed 1: no folio orders seen" },
	{ "other orders", other_orders,
	  "seed 1: 16 % of the pages are in folios of other orders on B" },
	{ "not charged", not_charged,
	  "A seed 2: 100.0 MiB of a file of 192.0 MiB were charged" },
	{ "charge not counted", charged_missing, "A seed 1: no counter file.charged" },
	{ "current", current_did_not_fall,
	  "B seed 1: memory.current fell by 0.0 MiB, pgsteal rose by 150.1 MiB" },
	{ "too little", too_little,
	  "memory.reclaim reported 150.0 MiB, pgsteal rose by 3.9 MiB" },
	{ "nothing", nothing, "A seed 1: nothing was reclaimed" },
	{ "errno", einval, "B seed 1: memory.reclaim failed: EINVAL" },
	{ "pgsteal not counted", steal_missing, "no counter memcg.pgsteal" },
	{ "overhead", overhead,
	  "instructions are folab's own, more than 0.1 %" },
	{ "kswapd", kswapd, "A seed 1: 64 pages scanned by kswapd" },
	{ "kswapd not counted", kswapd_missing, "no counter vmstat.pgscan_kswapd" },
	{ "oom", oom, "A seed 1: 1 times out of memory" },
	{ "oom kill", oom_kill, "A seed 1: 1 processes killed" },
	{ "max", max_events, "B seed 1: 7 times that memory.max was hit" },
	{ "other bytes", other_bytes,
	  "seed 2: A reclaimed 150.06 MiB, B 151.62 MiB, which is beyond the tolerance of 1 %" },
	{ "probes", probes_disagree,
	  "B seed 2: the PMU counted 63600000 kernel instructions, the plugin 64100000" },
	{ "others", too_much_of_others, "A seed 2: the PMU counted 155200000" },
	{ "PMU has more", pmu_has_more, "A seed 2: the PMU counted 155200000" },
	{ "one PMU", pmu_on_one_side, "seed 1: the PMU counted on one side only" },
	{ "seed alone", seed_alone, "seed 5: only side A has a trial" },
	{ "seed twice", seed_twice, "A seed 4: more than one trial" },
	{ "other passes", other_passes, "seed 1: A has 2 passes, B 1" },
	{ "window missing", window_missing,
	  "A seed 1: profile of 2 windows, but 1 samples" },
	{ "no clock", no_clock, "needs the instruction clock" },
	{ "no trials", no_trials, "there are no trials" },
	{ "A/A", aa_differs, "a kernel against itself differs in reclaim.instructions_per_page" },
	{ "second pass", second_pass,
	  "A seed 1 pass 1: 1 times that memory.max was hit" },
};

/* Every rule fires, names what it found, and nothing is claimed then. */
static void test_rules(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		struct result r;
		char *text;

		fake_result(&r, 5);
		rules[i].spoil(&r);
		analyse(&r);
		if (r.valid)
			fail_msg("%s: still valid", rules[i].name);
		assert_any(&r.reasons, rules[i].reason);
		for (size_t j = 0; j < r.n_rows; j++)
			assert_int_equal(r.rows[j].verdict, VERDICT_INVALID);
		text = report_text(&r);
		assert_non_null(strstr(text, "INVALID"));
		assert_null(strstr(text, "faster"));
		assert_null(strstr(text, "slower"));
		assert_null(strstr(text, "no difference"));
		free(text);
		result_free(&r);
	}
}

/* What is allowed does not fire: partial success, slack, several passes. */
static void test_no_false_alarm(void **state)
{
	struct result r;

	fake_result(&r, 5);
	fake_set(&r, 0, "reclaim.errno", EAGAIN);
	fake_set(&r, 0, "memcg.pgsteal", 38000);
	fake_set(&r, 'B', "memcg.pgsteal", 38000 + 300);	/* 0.79 % */
	fake_set(&r, 0, "file.charged", (192 << 20) - 256 * 4096);
	analyse(&r);
	if (r.reasons.n)
		fail_msg("%s", r.reasons.v[0]);
	assert_any(&r.notes, "(EAGAIN) in 10 of 10 windows");
	result_free(&r);

	fake_result(&r, 5);
	for (size_t i = 0; i < r.n_trials; i++)
		add_pass(&r.trials[i]);
	analyse(&r);
	assert_true(r.valid);
	result_free(&r);

	/* Flushers ran while the thread waited, and the clocks tell so. */
	fake_result(&r, 5);
	for (size_t i = 0; i < r.n_trials; i++) {
		struct counters *c = &r.trials[i].samples[0].counters;

		counters_add(c, "plugin.kernel_instructions", 40000000);
		counters_set(c, "time.wall_ns",
			     counters_value(c, "time.sys_ns") + 2 * 40000000);
	}
	analyse(&r);
	if (r.reasons.n)
		fail_msg("%s", r.reasons.v[0]);
	assert_any(&r.notes, "did not run for up to 39 % of a window");
	result_free(&r);
}

/* ---- verdicts ---------------------------------------------------------------- */

static enum verdict verdict_of(const int64_t *a, const int64_t *b, int64_t n,
			       struct strlist *notes)
{
	enum verdict verdict;
	struct result r;

	fake_result(&r, n);
	want_only(&r, PER_PAGE);
	set_instructions(&r, a, b, n);
	analyse(&r);
	assert_true(r.valid);
	assert_int_equal(r.n_rows, 1);
	verdict = r.rows[0].verdict;
	if (notes)
		for (size_t i = 0; i < r.notes.n; i++)
			strlist_add(notes, r.notes.v[i]);
	result_free(&r);
	return verdict;
}

static void test_verdicts(void **state)
{
	static const int64_t base[] = { 1000000, 1002000, 998000, 1001000, 999000 };
	static const int64_t less[] = { 900000, 901000, 899000, 902000, 898000 };
	static const int64_t mixed[] = { 1001000, 1000000, 999000, 1000000, 1001000 };
	static const int64_t all_a_bit[] = { 998000, 1000000, 996000, 999000, 997000 };
	static const int64_t one_seed[] = { 999000, 1001000, 997000, 1000000, 800000 };
	static const int64_t flat[] = { 1000, 1000, 1000, 1000, 1000 };
	static const int64_t flat_less[] = { 999, 999, 999, 999, 999 };
	static const int64_t many[] = { 100000, 100000, 100000, 100000, 100000 };
	static const int64_t tick[] = { 99970, 99970, 99970, 99970, 99970 };
	struct strlist notes = { 0 };

	assert_int_equal(verdict_of(base, base, 5, &notes), VERDICT_SAME);
	assert_int_equal(notes.n, 0);	/* exact: nothing could have hidden */
	assert_int_equal(verdict_of(base, less, 5, NULL), VERDICT_FASTER);
	assert_int_equal(verdict_of(less, base, 5, NULL), VERDICT_SLOWER);
	assert_int_equal(verdict_of(base, mixed, 5, &notes), VERDICT_SAME);
	assert_any(&notes, "no difference proven: instructions/page (could have seen 0.4 %)");
	/* One direction, but less than the seeds themselves differ. */
	assert_int_equal(verdict_of(base, all_a_bit, 5, NULL), VERDICT_SAME);
	/* One seed is far off, the median is not. */
	assert_int_equal(verdict_of(base, one_seed, 5, NULL), VERDICT_SAME);
	/* No spread at all: then one instruction in a thousand is real. */
	assert_int_equal(verdict_of(flat, flat_less, 5, NULL), VERDICT_FASTER);
	/* But not what the phase of the tick can do. */
	assert_int_equal(verdict_of(many, tick, 5, &notes), VERDICT_SAME);
	assert_any(&notes, "could have seen 0.05 %");
	strlist_free(&notes);
}

/* Few seeds show no spread, so small differences are not claimed. */
static void test_few_seeds(void **state)
{
	static const int64_t a[] = { 1000000, 1000000, 1000000 };
	static const int64_t near_a[] = { 960000, 960000, 960000 };
	static const int64_t far[] = { 500000, 500000, 500000 };
	struct strlist notes = { 0 };

	for (int64_t n = 1; n <= 3; n++) {
		assert_int_equal(verdict_of(a, near_a, n, &notes), VERDICT_SAME);
		assert_int_equal(verdict_of(a, far, n, NULL), VERDICT_FASTER);
	}
	assert_any(&notes, "fewer than 4 seeds: less than 5 %");
	assert_any(&notes, "could have seen 5 %");
	strlist_free(&notes);
}

/* Numbers with nothing between 0 and 1, but always the same ones. */
static double uniform(void)
{
	static uint64_t x = 88172645463325252;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return (x >> 11) / 9007199254740992.0;
}

static double normal(void)
{
	return sqrt(-2 * log(1 - uniform())) * cos(6.283185307179586 * uniform());
}

/*
 * Two kernels that differ by nothing but the phase of the tick: a difference is
 * found in 1.1 % of the runs with 4 seeds, 0.27 % with 5 (2000 runs; allowed is
 * what 3 standard errors are above).  One of 10 standard deviations is found.
 */
static void test_false_positives(void **state)
{
	static const int64_t seeds[] = { 4, 5, 10 };
	static const int allowed[] = { 36, 13, 3 };

	for (size_t i = 0; i < ARRAY_SIZE(seeds); i++) {
		int64_t n = seeds[i], a[10], b[10];
		int wrong = 0, missed = 0, runs = 2000;
		struct result r;

		fake_result(&r, n);
		want_only(&r, PER_PAGE);
		for (int run = 0; run < 2 * runs; run++) {
			double real = run < runs ? 0 : 1e6;

			for (int64_t s = 0; s < n; s++) {
				a[s] = 150e6 + 1e5 * normal();
				b[s] = 150e6 + 1e5 * normal() - real;
			}
			set_instructions(&r, a, b, n);
			analyse(&r);
			if (run < runs)
				wrong += r.rows[0].verdict != VERDICT_SAME;
			else
				missed += r.rows[0].verdict != VERDICT_FASTER;
		}
		if (wrong > allowed[i] || missed > runs / 100)
			fail_msg("%d seeds: %d of %d wrong, %d missed", (int)n,
				 wrong, runs, missed);
		result_free(&r);
	}
}

/* A kernel against itself: every row 0, no difference, no noise claimed. */
static void test_aa(void **state)
{
	struct result r;

	fake_result(&r, 5);
	r.aa = true;
	for (int64_t seed = 1; seed <= 5; seed++) {
		struct trial *b = fake_find(&r, 'B', seed);
		int64_t index = b->index;

		trial_free(b);
		fake_trial(b, 'A', seed, index);
		b->side = 'B';
	}
	analyse(&r);
	assert_true(r.valid);
	for (size_t i = 0; i < r.n_rows; i++) {
		assert_true(r.rows[i].change_pct == 0);
		assert_true(r.rows[i].low_pct == 0);
		assert_true(r.rows[i].high_pct == 0);
		if (metric_find(r.rows[i].metric)->better)
			assert_int_equal(r.rows[i].verdict, VERDICT_SAME);
	}
	assert_int_equal(r.notes.n, 0);
	result_free(&r);
}

/* From 0 to something is no percentage; from 0 to 0 is no change. */
static void test_zero(void **state)
{
	const struct row *row;
	struct result r;

	fake_result(&r, 5);
	fake_set(&r, 0, "plugin.tlbi_address", 0);
	fake_set(&r, 0, "plugin.tlbi_range", 0);
	fake_set(&r, 'A', "plugin.dsb", 0);
	analyse(&r);
	assert_true(r.valid);
	row = row_of(&r, "reclaim.tlbi_per_folio");
	assert_true(row->change_pct == 0);
	assert_true(row->a_stdev_pct == 0);
	assert_int_equal(row->verdict, VERDICT_SAME);
	row = row_of(&r, "reclaim.dsb_per_folio");
	assert_true(isnan(row->change_pct));
	assert_int_equal(row->verdict, VERDICT_SLOWER);
	result_free(&r);
}

/* 31560 on A, half of it on B; 3156 folios in 49152 pages, 38416 reclaimed. */
static void test_atomics(void **state)
{
	const struct row *row;
	struct result r;

	fake_result(&r, 5);
	strlist_add(&r.wanted, "reclaim.atomics_per_folio");
	analyse(&r);
	row = row_of(&r, "reclaim.atomics_per_folio");
	assert_float_equal(row->a, 31560 / (38416.0 * 3156 / 49152), 1e-9);
	assert_float_equal(row->change_pct, -50, 1e-9);
	assert_int_equal(row->verdict, VERDICT_FASTER);
	result_free(&r);
}

/* ---- what can't be known ------------------------------------------------------ */

static void drop_profile(struct trial *t)
{
	profile_free(&t->profile);
	memset(&t->profile, 0, sizeof(t->profile));
}

static void test_no_profile(void **state)
{
	struct result r;

	fake_result(&r, 5);
	for (size_t i = 0; i < r.n_trials; i++)
		if (r.trials[i].side == 'B')
			drop_profile(&r.trials[i]);
	fake_unset(&r, 0, "plugin.tlbi_range");
	analyse(&r);
	assert_true(r.valid);
	assert_null(row_of(&r, SHARE));
	assert_any(&r.notes, SHARE ": not known");
	assert_null(row_of(&r, "reclaim.tlbi_per_folio"));
	assert_non_null(row_of(&r, PER_PAGE));
	result_free(&r);
}

/* Without PMU the plugin counts instructions (x86_64 guests have none). */
static void test_plugin_instead_of_pmu(void **state)
{
	struct result r;

	fake_result(&r, 5);
	fake_unset(&r, 0, "pmu.kernel_instructions");
	analyse(&r);
	assert_true(r.valid);
	assert_float_equal(row_of(&r, PER_PAGE)->a, 155502100.0 / 38416, 1e-6);
	fake_unset(&r, 0, "plugin.kernel_instructions");
	analyse(&r);
	assert_null(row_of(&r, PER_PAGE));
	result_free(&r);
}

/* An unknown metric is a note; a function that never ran is not 0. */
static void test_unknown_metric(void **state)
{
	struct result r;

	fake_result(&r, 5);
	want_only(&r, "reclaim.beauty");
	strlist_add(&r.wanted, "reclaim.share.no_such_function");
	analyse(&r);
	assert_int_equal(r.n_rows, 0);
	assert_any(&r.notes, "reclaim.beauty: no such metric");
	assert_any(&r.notes, "reclaim.share.no_such_function: not known");
	result_free(&r);
}

/* A function that was inlined at two places has the sum of both. */
static void test_share_inlined_twice(void **state)
{
	struct result r;

	fake_result(&r, 1);
	for (int i = 0; i < 2; i++)
		fake_fn(&r.trials[i].profile, "folio_check_references",
			"evict_folios", 1, 0,
			r.trials[i].profile.kernel_instructions / 10);
	analyse(&r);
	assert_float_equal(row_of(&r, SHARE)->a, 0.8, 1e-6);
	result_free(&r);
}

/* The first of several passes is warm-up; the others' median counts. */
static void test_warm_up(void **state)
{
	static const int64_t of_pass[] = { 999000000, 38416000, 76832000, 115248000 };
	struct result r;

	fake_result(&r, 1);
	want_only(&r, PER_PAGE);
	fake_unset(&r, 0, "plugin.kernel_instructions");
	for (int i = 0; i < 2; i++) {
		struct trial *t = &r.trials[i];

		drop_profile(t);
		for (int p = 0; p < 4; p++) {
			if (p)
				add_pass(t);
			counters_set(&t->samples[p].counters,
				     "pmu.kernel_instructions", of_pass[p]);
			counters_set(&t->samples[p].counters,
				     "plugin.kernel_instructions", of_pass[p]);
		}
		t->profile.windows = 0;
	}
	analyse(&r);
	if (r.reasons.n)
		fail_msg("%s", r.reasons.v[0]);
	assert_float_equal(r.rows[0].a, 2000, 1e-9);
	result_free(&r);
}

/* ---- decisions ----------------------------------------------------------------- */

static void test_decisions(void **state)
{
	struct sample *s;
	struct result r;

	fake_result(&r, 5);
	counters_set(&fake_find(&r, 'B', 2)->samples[0].counters,
		     "memcg.pgscan", 88128);
	s = &fake_find(&r, 'B', 4)->samples[0];
	free(s->survivors);
	s->survivors = xstrdup("other");
	counters_set(&s->counters, "memcg.pgrefill", 49153);
	analyse(&r);
	assert_true(r.valid);
	assert_int_equal(r.alike, 3);
	assert_int_equal(r.alike_of, 5);
	assert_int_equal(r.n_diffs, 2);
	assert_int_equal(r.diffs[0].seed, 2);
	assert_string_equal(r.diffs[0].text, "pgscan 87040 -> 88128 (+1.2 %)");
	assert_int_equal(r.diffs[1].seed, 4);
	assert_string_equal(r.diffs[1].text,
			    "pgrefill 49152 -> 49153 (+0.00 %); other pages survived");
	result_free(&r);
}

/* Where survivors were not seen, alike can't be known, but different can. */
static void test_decisions_unknown(void **state)
{
	struct result r;

	fake_result(&r, 5);
	for (size_t i = 0; i < r.n_trials; i++) {
		free(r.trials[i].samples[0].survivors);
		r.trials[i].samples[0].survivors = NULL;
	}
	analyse(&r);
	assert_int_equal(r.alike_of, 0);
	counters_set(&fake_find(&r, 'A', 3)->samples[0].counters,
		     "memcg.pgactivate", 0);
	analyse(&r);
	assert_int_equal(r.alike, 0);
	assert_int_equal(r.alike_of, 1);
	assert_string_equal(r.diffs[0].text, "pgactivate 0 -> 16");
	result_free(&r);
}

static void test_notes(void **state)
{
	struct err err = { 0 };
	struct result r;

	fake_result(&r, 5);
	assert_int_equal(params_set(&r.params, "lru", "mglru", &err), 0);
	fake_set(&r, 'B', "memcg.pgscan", 88000);
	free(r.side[1].image_hash);
	r.side[1].image_hash = xstrdup(r.side[0].image_hash);
	analyse(&r);
	assert_any(&r.notes, "MGLRU counts young PTEs");
	assert_any(&r.notes, "the same image");
	assert_false(any(&r.notes, "a likely cause"));
	/* A timer that one side met only is named, if they decided otherwise. */
	fake_fn(&r.trials[0].profile, "flush_memcg_stats_dwork", NULL, 2, 10, 10);
	analyse(&r);
	assert_any(&r.notes, "a likely cause: the kernel's flush of memcg statistics, every 2 s, fell 2 times into A's windows, 0 times into B's");
	fake_set(&r, 'B', "memcg.pgscan",
		 counters_value(&fake_find(&r, 'A', 1)->samples[0].counters, "memcg.pgscan"));
	analyse(&r);
	assert_false(any(&r.notes, "a likely cause"));
	result_free(&r);
}

/* A guest's counters may be anything. */
static void test_wild_counters(void **state)
{
	static const char *const names[] = {
		"memcg.pgsteal", "pmu.kernel_instructions", "reclaim.asked",
		"memory.current_before", "memory.current_after", "file.bytes",
		"plugin.kernel_instructions", "plugin.dsb", "time.sys_ns",
		"events.oom", "reclaim.errno", "pages.mapped",
	};
	static const int64_t wild[] = { INT64_MIN, INT64_MAX, -1, 0, 1 };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		for (size_t j = 0; j < ARRAY_SIZE(wild); j++) {
			struct result r;

			fake_result(&r, 3);
			fake_set(&r, j % 2 ? 'A' : 0, names[i], wild[j]);
			r.trials[0].samples[0].order_pages[7] = wild[j];
			analyse(&r);
			free(report_text(&r));
			result_free(&r);
		}
}

/* ---- clearing -------------------------------------------------------------------- */

/* Worked out by hand: 65536 pages in 128 folios, 2 ns an instruction. */
static void test_clear_run(void **state)
{
	const struct row *row;
	struct result r;

	fake_clear_result(&r, 5);
	analyse(&r);
	if (r.reasons.n)
		fail_msg("%s", r.reasons.v[0]);
	assert_true(r.valid);
	row = row_of(&r, "clear.instructions_per_page");
	assert_float_equal(row->a, 18971070 / 65536.0, 1e-9);
	assert_float_equal(row->b, 17813059 / 65536.0, 1e-9);
	assert_int_equal(row->verdict, VERDICT_FASTER);
	row = row_of(&r, "clear.instructions_per_folio");
	assert_float_equal(row->a, 18971070 / 128.0, 1e-6);
	row = row_of(&r, "clear.user_instructions_per_page");
	assert_float_equal(row->a, 172479 / 65536.0, 1e-9);
	assert_int_equal(row->verdict, VERDICT_SAME);
	/* Exactly the program's instructions, whatever the kernel's time is. */
	row = row_of(&r, "clear.user_seconds");
	assert_float_equal(row->a, 172479 * 2e-9, 1e-12);
	assert_true(row->change_pct == 0);
	row = row_of(&r, "clear.sys_seconds");
	assert_float_equal(row->a, (38306896 - 172479 * 2) * 1e-9, 1e-12);
	assert_float_equal(row_of(&r, "clear.share.folio_zero_user")->a, 0.95,
			   1e-6);
	assert_float_equal(row_of(&r, "clear.faults")->a, 128, 0);
	assert_float_equal(row_of(&r, "clear.pages")->b, 65536, 0);
	assert_float_equal(row_of(&r, "clear.folios")->b, 128, 0);
	/* Not time on hardware, and nothing to decide. */
	assert_null(row_of(&r, "clear.gigabytes_per_second"));
	assert_any(&r.notes, "clear.gigabytes_per_second: not on the instruction clock");
	assert_int_equal(r.alike_of, 0);
	result_free(&r);
}

/* Where time is real, it is a figure, and getrusage(2) splits CPU time. */
static void test_clear_real_time(void **state)
{
	const struct row *row;
	struct result r;

	fake_clear_result(&r, 5);
	free(r.clock);
	r.clock = xstrdup("real");
	r.ns_per_instruction = 0;
	fake_set(&r, 0, "time.wall_ns", 268435456 / 8);	/* 8 bytes a ns */
	fake_set(&r, 0, "time.rusage_sys_ns", 36000000);
	fake_set(&r, 0, "time.rusage_user_ns", 4000000);
	analyse(&r);
	row = row_of(&r, "clear.gigabytes_per_second");
	assert_non_null(row);
	assert_float_equal(row->a, 8, 1e-9);
	row = row_of(&r, "clear.user_seconds");
	assert_float_equal(row->a, 0.004, 1e-12);
	result_free(&r);
}

/* What was asked for first is not known: then there is no answer. */
static void test_unknown_decider(void **state)
{
	struct result r;

	fake_clear_result(&r, 4);
	strlist_free(&r.wanted);
	r.wanted = (struct strlist){ 0 };
	strlist_add(&r.wanted, "latency.max_seconds");
	strlist_add(&r.wanted, "clear.pages");
	analyse(&r);
	assert_false(r.valid);
	assert_non_null(strstr(r.reasons.v[0], "decides, and is not known"));
	result_free(&r);
	/* What no emulator can tell is passed over. */
	fake_clear_result(&r, 4);
	strlist_free(&r.wanted);
	r.wanted = (struct strlist){ 0 };
	strlist_add(&r.wanted, "clear.gigabytes_per_second");
	analyse(&r);
	assert_true(r.valid);
	result_free(&r);
}

/* All that a scenario without "metrics" shows is of its own workload. */
static void test_clear_default_metrics(void **state)
{
	struct result r;

	fake_clear_result(&r, 4);
	strlist_free(&r.wanted);
	r.wanted = (struct strlist){ 0 };
	analyse(&r);
	assert_true(r.n_rows >= 8);
	for (size_t i = 0; i < r.n_rows; i++)
		assert_true(str_starts(r.rows[i].metric, "clear."));
	result_free(&r);
}

static void smaller_folios(struct result *r)
{
	struct sample *s = &fake_find(r, 'B', 2)->samples[0];

	s->order_pages[9] -= 512;
	s->order_pages[0] = 512;
}

static void pages_missing(struct result *r)
{
	fake_find(r, 'A', 3)->samples[0].order_pages[9] -= 512;
}

static void other_pages(struct result *r)
{
	struct sample *s = &fake_find(r, 'B', 1)->samples[0];

	s->order_pages[9] = 32768;
	counters_set(&s->counters, "clear.pages", 32768);
	counters_set(&s->counters, "clear.faults", 64);
	counters_set(&s->counters, "clear.soiled_pages", 32768);
}

static void wild_order(struct result *r)
{
	fake_set(r, 'A', "clear.order", INT64_MAX);
}

/* Each breaks one thing, and the run says so and claims nothing. */
static void test_clear_rules(void **state)
{
	static const struct {
		const char *counter;	/* to be set on B, NULL: change() */
		int64_t value;
		void (*change)(struct result *r);
		const char *reason;
	} broken[] = {
		{ NULL, 0, smaller_folios, "65024 of 65536 pages are in folios of order 9, and 65536 are there at all" },
		{ NULL, 0, pages_missing, "65024 of 65536 pages are in folios of order 9, and 65024" },
		{ NULL, 0, other_pages, "seed 1: A faulted in 65536 pages, B 32768" },
		{ NULL, 0, wild_order, "pages are in folios of order" },
		{ "clear.faults", 129, NULL, "129 faults for 128 folios" },
		{ "clear.nonzero_words", 1, NULL, "1 words of 8 bytes were not cleared" },
		{ "clear.soiled_pages", 32767, NULL, "only 32767 of 65536 frames held anything before" },
		{ "mthp.anon_fault_fallback", 1, NULL, "1 folios were refused" },
		{ "vmstat.thp_fault_fallback", 2, NULL, "2 huge pages were refused" },
		{ "vmstat.pgscan_kswapd", 3, NULL, "3 pages scanned by kswapd" },
		{ "vmstat.pgscan_direct", 4, NULL, "4 pages scanned by who needed memory" },
		{ "vmstat.compact_stall", 5, NULL, "5 times that a fault waited" },
		{ "vmstat.compact_migrate_scanned", 6, NULL, "6 pages scanned by compaction" },
		{ "vmstat.oom_kill", 7, NULL, "7 processes killed" },
	};
	static const char *const needed[] = {
		"clear.pages", "clear.order", "clear.faults",
		"clear.nonzero_words", "clear.soiled_pages",
		"vmstat.pgscan_kswapd", "vmstat.compact_stall",
	};
	struct result r;

	for (size_t i = 0; i < ARRAY_SIZE(broken); i++) {
		fake_clear_result(&r, 5);
		if (broken[i].change)
			broken[i].change(&r);
		else
			fake_set(&r, 'B', broken[i].counter, broken[i].value);
		analyse(&r);
		assert_false(r.valid);
		assert_any(&r.reasons, broken[i].reason);
		result_free(&r);
	}
	for (size_t i = 0; i < ARRAY_SIZE(needed); i++) {
		char *text = xasprintf("no counter %s", needed[i]);

		fake_clear_result(&r, 5);
		fake_unset(&r, 'B', needed[i]);
		analyse(&r);
		assert_false(r.valid);
		assert_any(&r.reasons, text);
		free(text);
		result_free(&r);
	}
}

/* ---- the table of metrics -------------------------------------------------------- */

static void test_metrics(void **state)
{
	const struct metric *m = metric_find("reclaim.share.folio_referenced");

	assert_non_null(m);
	assert_ptr_equal(m, metric_find("reclaim.share.folio_referenced"));
	assert_string_equal(m->title, "folio_referenced");
	assert_null(metric_share("reclaim.pages"));
	assert_string_equal(metric_share("clear.share.folio_zero_user"),
			    "folio_zero_user");
	m = metric_find("clear.share.folio_zero_user");
	assert_string_equal(m->title, "folio_zero_user");
	assert_ptr_not_equal(m, metric_find("reclaim.share.folio_zero_user"));
	assert_null(metric_find("clear.share."));
	assert_null(metric_find("reclaim.share."));
	assert_null(metric_find("reclaim.share.a b"));
	assert_null(metric_find("reclaim"));
	for (size_t i = 0; (m = metric_at(i)); i++) {
		assert_non_null(m->unit);
		assert_non_null(m->help);
		assert_true(strlen(m->title) <= 22);
		assert_non_null(metric_find(m->name));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good_run),
		cmocka_unit_test(test_twice),
		cmocka_unit_test(test_default_metrics),
		cmocka_unit_test(test_rules),
		cmocka_unit_test(test_no_false_alarm),
		cmocka_unit_test(test_verdicts),
		cmocka_unit_test(test_few_seeds),
		cmocka_unit_test(test_false_positives),
		cmocka_unit_test(test_aa),
		cmocka_unit_test(test_zero),
		cmocka_unit_test(test_atomics),
		cmocka_unit_test(test_no_profile),
		cmocka_unit_test(test_plugin_instead_of_pmu),
		cmocka_unit_test(test_unknown_metric),
		cmocka_unit_test(test_share_inlined_twice),
		cmocka_unit_test(test_warm_up),
		cmocka_unit_test(test_decisions),
		cmocka_unit_test(test_decisions_unknown),
		cmocka_unit_test(test_notes),
		cmocka_unit_test(test_wild_counters),
		cmocka_unit_test(test_clear_run),
		cmocka_unit_test(test_clear_real_time),
		cmocka_unit_test(test_unknown_decider),
		cmocka_unit_test(test_clear_default_metrics),
		cmocka_unit_test(test_clear_rules),
		cmocka_unit_test(test_metrics),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
