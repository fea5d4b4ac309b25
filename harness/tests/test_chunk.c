/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is made of samples of clear-chunk: rates, knees, the unit that folab
 * tune recommends, the report of a run that has no side B.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

#include "../analyse/analyse.h"
#include "../machine/internal.h"
#include "../report/report.h"

#define PASSES	5
#define GIB	(INT64_C(1) << 30)

static void set(struct sample *s, const char *method, uint64_t chunk,
		const char *what, double value)
{
	char size[32], *name;

	format_size_short(chunk, size, sizeof(size));
	name = xasprintf("chunk.%s.%s.%s", method, size, what);
	counters_set(&s->counters, name, llrint(value));
	free(name);
}

/* @gbps of 4K, 8K, ...; the first pass is ten times as slow. */
static void add_method(struct trial *t, const char *method, bool kernels,
		       const double *gbps, size_t n, double noise)
{
	for (size_t p = 0; p < t->n_samples; p++) {
		double slow = p ? 1 + noise * ((int)p % 3 - 1) : 10;

		for (size_t i = 0; i < n; i++) {
			struct sample *s = &t->samples[p];
			uint64_t chunk = UINT64_C(4096) << i;

			set(s, method, chunk, "bytes", GIB);
			set(s, method, chunk, "ns", GIB / gbps[i] * slow);
			set(s, method, chunk, "one_ns", chunk / gbps[i] * slow);
			set(s, method, chunk, "one_max_ns",
			    2 * chunk / gbps[i] * slow);
			set(s, method, chunk, "hot_before_ns", 1000);
			set(s, method, chunk, "hot_after_ns", 1000 * (i + 1));
			set(s, method, chunk, "llc_before_ns", 2000);
			set(s, method, chunk, "llc_after_ns", 3000);
			if (kernels)
				set(s, method, chunk, "kernels", 1);
		}
	}
}

static void make_trial(struct trial *t)
{
	*t = (struct trial){ .side = 'A', .seed = 1, .done = true };
	t->n_samples = PASSES;
	t->samples = xcalloc(PASSES, sizeof(*t->samples));
	for (size_t p = 0; p < PASSES; p++) {
		struct counters *c = &t->samples[p].counters;

		t->samples[p].pass = p;
		counters_set(c, "region.bytes", GIB);
		counters_set(c, "region.huge_bytes", GIB);
		counters_set(c, "hot.bytes", 512 << 10);
		counters_set(c, "llc.bytes", 16 << 20);
	}
}

/* 4K to 512K */
static const double knee_at_64k[] = { 10, 11, 10, 10, 38, 40, 39, 40 };
static const double one_outlier[] = { 10, 30, 10, 10, 10, 10, 40, 40 };
static const double rising_flat[] = { 30, 31, 32, 33, 34, 35, 36, 36 };
static const double small_only[] = { 30, 31, 30, 30 };

static void rates_and_knees(void **state)
{
	struct chunk_table table;
	struct trial t;

	make_trial(&t);
	add_method(&t, "rep-stosb", true, knee_at_64k, 8, 0.01);
	add_method(&t, "memset", false, one_outlier, 8, 0.01);
	add_method(&t, "nt-avx2", false, rising_flat, 8, 0.2);
	add_method(&t, "nt-avx512", false, small_only, 4, 0);
	assert_true(chunk_table(&t, &table));
	assert_int_equal(table.n, 4);
	assert_int_equal(table.passes, PASSES - 1);
	/* By name: memset, nt-avx2, nt-avx512, rep-stosb. */
	assert_string_equal(table.method[0].name, "memset");
	assert_string_equal(table.method[3].name, "rep-stosb");
	assert_int_equal(table.method[3].n, 8);
	assert_int_equal(table.method[3].cell[4].chunk, 65536);
	assert_true(fabs(table.method[3].cell[5].rate - 40) < 0.5);
	assert_true(fabs(table.method[3].cell[2].hot - 3) < 1e-9);
	assert_true(fabs(table.method[3].cell[2].llc - 1.5) < 1e-9);
	assert_true(fabs(table.method[3].cell[7].one * 1e9 -
			 (512 << 10) / 40.0) < 200);
	assert_int_equal(table.method[3].knee, 4);
	/* The fast 8K has a slow neighbour. */
	assert_int_equal(table.method[0].knee, 6);
	assert_int_equal(table.method[1].knee, 8);
	assert_int_equal(table.method[2].knee, 4);
	assert_ptr_equal(chunk_kernels(&table), &table.method[3]);
	assert_ptr_equal(chunk_streaming(&table), &table.method[1]);
	assert_false(chunk_noisy(&table.method[3]));
	assert_true(chunk_noisy(&table.method[1]));
	chunk_table_free(&table);
	trial_free(&t);
}

static void nothing_is_guessed(void **state)
{
	struct chunk_table table;
	struct tune tune;
	struct trial t;
	double v;

	make_trial(&t);
	assert_false(chunk_table(&t, &table));
	chunk_table_free(&table);
	/* A cell that a pass lacks has no rate; nonsense is no cell. */
	add_method(&t, "stp", false, small_only, 1, 0);
	for (size_t p = 0; p < PASSES; p++) {
		counters_set(&t.samples[p].counters, "chunk.x.ns", 1);
		counters_set(&t.samples[p].counters, "chunk.x.y.ns", 1);
		counters_set(&t.samples[p].counters, "chunk..ns", 1);
		counters_set(&t.samples[p].counters, "chunk.ns", 1);
	}
	set(&t.samples[3], "stp", 4096, "ns", 0);
	assert_true(chunk_table(&t, &table));
	assert_int_equal(table.n, 1);
	assert_true(isnan(table.method[0].cell[0].rate));
	assert_int_equal(table.method[0].knee, 1);
	assert_false(metric_value(metric_find("chunk.gigabytes_per_second"),
				  &(struct result){ 0 }, &t, &t.samples[3],
				  &v));
	chunk_table_free(&table);
	/* The first cell of several is the one without a rate. */
	add_method(&t, "dc-zva", true, rising_flat, 8, 0);
	set(&t.samples[3], "dc-zva", 4096, "ns", 0);
	assert_true(chunk_table(&t, &table));
	assert_int_equal(chunk_kernels(&table)->best, 6);
	assert_true(chunk_kernels(&table)->plateau > 31);
	tune_choose(&table, NAN, &tune);
	assert_int_equal(tune.unit, 5);
	chunk_table_free(&table);
	t.failed = xstrdup("it died");
	assert_false(chunk_table(&t, &table));
	chunk_table_free(&table);
	trial_free(&t);
}

/* Units that took a tenth of what the rate says: somebody else had the rest. */
static void test_tune_shared(void **state)
{
	static const double flat[] = { 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9 };
	struct chunk_table table;
	struct tune tune;
	struct trial t;

	make_trial(&t);
	add_method(&t, "dc-zva", true, flat, ARRAY_SIZE(flat), 0.01);
	assert_true(chunk_table(&t, &table));
	tune_choose(&table, NAN, &tune);
	assert_false(tune.shared);
	chunk_table_free(&table);
	for (size_t p = 0; p < PASSES; p++)
		for (uint64_t chunk = 1 << 20; chunk <= 8 << 20; chunk *= 2)
			set(&t.samples[p], "dc-zva", chunk, "one_ns",
			    chunk / 90.0);
	assert_true(chunk_table(&t, &table));
	tune_choose(&table, NAN, &tune);
	assert_true(tune.shared);
	chunk_table_free(&table);
	trial_free(&t);
}

static void tune_of(const double *gbps, double limit, struct trial *t,
		    struct chunk_table *table, struct tune *tune)
{
	make_trial(t);
	add_method(t, "dc-zva", true, gbps, 8, 0.01);
	add_method(t, "memset", false, rising_flat, 8, 0.01);
	assert_true(chunk_table(t, table));
	tune_choose(table, limit, tune);
}

static void expect_unit(const double *gbps, double limit, size_t unit,
			bool within, double share)
{
	struct chunk_table table;
	struct tune tune;
	struct trial t;

	tune_of(gbps, limit, &t, &table, &tune);
	assert_string_equal(tune.method->name, "dc-zva");
	assert_int_equal(tune.unit, unit);
	assert_int_equal(tune.within, within);
	assert_true(fabs(tune.share - share) < 0.01);
	chunk_table_free(&table);
	trial_free(&t);
}

static void the_unit_that_is_recommended(void **state)
{
	struct chunk_table none = { 0 };
	struct tune tune;

	/* 38 of 40 is just 95 %. */
	expect_unit(knee_at_64k, NAN, 4, true, 0.95);
	/* 64K at 38 GB/s take 1.7 us; 32K at 10 GB/s 3.3 us. */
	expect_unit(knee_at_64k, 2e-6, 4, true, 0.95);
	/* Only 4K (0.41 us) and 8K (0.74 us) are over within 1 us. */
	expect_unit(knee_at_64k, 1e-6, 1, true, 0.275);
	expect_unit(knee_at_64k, 1e-8, 0, false, 0.25);
	expect_unit(rising_flat, NAN, 5, true, 0.97);
	tune_choose(&none, NAN, &tune);
	assert_null(tune.method);
}

static void make_result(struct result *r)
{
	*r = (struct result){
		.scenario = xstrdup("clear-chunk"),
		.summary = xstrdup("a test"),
		.workload = xstrdup("clear-chunk"),
		.clock = xstrdup("real"),
		.machine = xstrdup("a machine's `id` $(id) \\ \"x\""),
		.machine_args = xstrdup("settings"),
		.cmdline = xstrdup("quiet"),
		.command = xstrdup("folab run clear-chunk"),
		.folab_version = xstrdup("0"),
		.fs = xstrdup("none"),
		.has_host = true,
		.host = { .thp = xstrdup("madvise"), .bound_node = -1,
			  .bound_cpu = 3 },
		.delay_ms = NAN,
		.n_trials = 1,
	};
	strlist_add(&r->wanted, "chunk.gigabytes_per_second");
	r->side[0].spec = xstrdup("running");
	r->side[0].release = xstrdup("6.1");
	r->side[0].arch = arch_find("x86_64");
	r->trials = xcalloc(1, sizeof(*r->trials));
	make_trial(r->trials);
}

/* As many methods as any machine has, up to 1G, with ugly figures. */
static void fill(struct result *r)
{
	static const char *const names[] = { "memset", "nt-avx2", "nt-avx512",
					     "rep-stosb", "rep-stosq" };
	double gbps[19];

	for (size_t i = 0; i < ARRAY_SIZE(gbps); i++)
		gbps[i] = i < 13 ? 10.04 : 123.456;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		add_method(&r->trials[0], names[i], i == 3, gbps,
			   ARRAY_SIZE(gbps), 0.3);
}

static void check_columns(const char *text, size_t lines_max)
{
	size_t lines = 0;

	for (const char *at = text; *at; at = strchr(at, '\n') + 1) {
		assert_non_null(strchr(at, '\n'));
		if (strcspn(at, "\n") > 75)
			fail_msg("too long: %.*s", (int)strcspn(at, "\n"), at);
		lines++;
	}
	assert_true(lines <= lines_max);
}

static void has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("\"%s\" is not in:\n%s", part, text);
}

/* Written, read back: the same bytes, of result and report. */
static void check_round(const struct result *r)
{
	json_t *o = result_to_json(r), *again;
	char *text = report_text(r), *twice;
	struct err err = { 0 };
	struct result back = { 0 };

	assert_null(json_object_get(json_object_get(o, "sides"), "B"));
	assert_int_equal(result_from_json(&back, o, &err), 0);
	again = result_to_json(&back);
	assert_true(json_equal(o, again));
	twice = report_text(&back);
	assert_string_equal(text, twice);
	json_decref(o);
	json_decref(again);
	free(text);
	free(twice);
	result_free(&back);
}

static void the_report_of_one_side(void **state)
{
	struct result r;
	char *text;

	make_result(&r);
	fill(&r);
	for (size_t p = 1; p < PASSES; p++)
		counters_set(&r.trials[0].samples[p].counters,
			     "perf.memset.memset.1G.bytes_per_second",
			     INT64_C(60000000000) + p);
	analyse(&r);
	assert_true(r.valid);
	assert_int_equal(r.n_rows, 1);
	assert_true(fabs(r.rows[0].a - 123.456) < 1);
	assert_true(isnan(r.rows[0].b) && isnan(r.rows[0].change_pct));
	assert_int_equal(r.rows[0].verdict, VERDICT_NONE);
	r.cross_check = xstrdup("perf version 1");
	text = report_text(&r);
	check_columns(text, 40);
	has(text, "knee at 32M: 10.0 -> 123 GB/s");
	has(text, "[K]");
	has(text, "NOISY: medians of rep-stosb are good to");
	has(text, "cross-check: perf version 1");
	has(text, "memset.1G        ours 123.5  perf  60.0 GB/s");
	has(text, "bound to processor 3");
	free(text);
	check_round(&r);
	result_free(&r);
}

static void an_objection_makes_it_invalid(void **state)
{
	struct result r;
	char *text;

	make_result(&r);
	fill(&r);
	r.tune = true;
	strlist_add(&r.trials[0].samples[2].invalid, "byte 7 is not zero");
	analyse(&r);
	assert_false(r.valid);
	text = report_text(&r);
	has(text, "INVALID");
	has(text, "pass 2: byte 7 is not zero");
	has(text, "no unit is recommended: the run is not valid");
	assert_null(strstr(text, "recommended unit:"));
	free(text);
	result_free(&r);
}

static void the_report_of_tune(void **state)
{
	struct result r;
	char *text;

	make_result(&r);
	fill(&r);
	r.tune = true;
	r.delay_ms = 5;
	r.host.hypervisor = xstrdup("a test");
	analyse(&r);
	text = report_text(&r);
	check_columns(text, 1000);
	has(text, "recommended unit: 32M (8192 pages of 4K)");
	has(text, "of the units that are over within 5.00 ms");
	has(text, "* rep-stosb, o nt-avx2, # both");
	has(text, "note: noisy");
	has(text, "user space stands in for the kernel's");
	has(text, "this is a virtual machine (a test)");
	free(text);
	check_round(&r);
	result_free(&r);
}

/* What clear-latency measured stands beside the time of a unit. */
static void the_worst_delay_of_a_watcher(void **state)
{
	struct result r;
	struct trial *t;
	char *text;

	make_result(&r);
	fill(&r);
	r.trials = xrealloc(r.trials, 20, sizeof(*r.trials));
	for (size_t i = 0; i < 19; i++) {
		t = &r.trials[r.n_trials++];
		*t = (struct trial){ .side = 'A', .done = true };
		t->n_samples = 3;
		t->samples = xcalloc(3, sizeof(*t->samples));
		for (int k = 0; k < 3; k++) {
			struct counters *c = &t->samples[k].counters;

			counters_set(c, "latency.unit", INT64_C(4096) << i);
			counters_set(c, "latency.max_ns",
				     (k == 2 ? 1000 : k ? 9000000 : 1234) *
				     ((int64_t)i + 1));
		}
	}
	r.tune = true;
	analyse(&r);
	assert_true(r.valid);
	assert_int_equal(r.n_rows, 1);
	assert_true(fabs(tune_worst(&r, 8192) - 2468e-9) < 1e-12);
	assert_true(isnan(tune_worst(&r, 4097)));
	text = report_text(&r);
	check_columns(text, 1000);
	has(text, "worst re-read");
	/* 32M is the 14th. */
	has(text, "measured: 17.3 us)");
	free(text);
	check_round(&r);
	result_free(&r);
}

static void no_knee_is_said(void **state)
{
	struct result r;
	char *text;

	make_result(&r);
	add_method(&r.trials[0], "rep-stosb", true, rising_flat, 8, 0.01);
	r.tune = true;
	analyse(&r);
	text = report_text(&r);
	has(text, "no knee");
	assert_null(strstr(text, "note: noisy"));
	free(text);
	result_free(&r);
}

/* gnuplot runs what stands in backticks within double quotes. */
static void gnuplot_is_told_no_commands(void **state)
{
	struct result r;
	char *script;

	make_result(&r);
	add_method(&r.trials[0], "rep-stosb", true, knee_at_64k, 8, 0.01);
	add_method(&r.trials[0], "`id`'x", false, knee_at_64k, 8, 0.01);
	r.tune = true;
	analyse(&r);
	script = report_gnuplot(&r);
	has(script, "set terminal svg");
	has(script, "65536 38.");
	assert_null(strchr(script, '`'));
	assert_null(strchr(script, '"'));
	has(script, "'a machine?s ?id? ?(id) ? ?x?'");
	free(script);
	/* Nor do such names get into the text, with what moves a cursor. */
	add_method(&r.trials[0], "a\033[2J\nb", false, knee_at_64k, 8, 0.01);
	for (size_t p = 0; p < PASSES; p++) {
		struct counters *c = &r.trials[0].samples[p].counters;

		counters_set(c, "perf.memset.\033.4K.bytes_per_second", 5);
		counters_set(c, "perf.mmap.\033.4K.bytes_per_second", 5);
	}
	r.cross_check = xstrdup("perf");
	for (r.tune = false;; r.tune = true) {
		script = report_text(&r);
		assert_null(strchr(script, '\033'));
		free(script);
		if (r.tune)
			break;
	}
	result_free(&r);
}

static void facts_of_a_host(void **state)
{
	static const char cpuinfo[] = "processor\t: 0\nmodel name\t: X Y Z\n"
				      "flags\t\t: fpu hypervisor\n";
	char *text;

	text = host_value_of(cpuinfo, "model name");
	assert_string_equal(text, "X Y Z");
	free(text);
	text = host_value_of(cpuinfo, "flags");
	assert_string_equal(text, "fpu hypervisor");
	free(text);
	assert_null(host_value_of(cpuinfo, "bogomips"));
	text = host_chosen_of("always [madvise] never", '[', ']');
	assert_string_equal(text, "madvise");
	free(text);
	assert_null(host_chosen_of("none", '[', ']'));
	assert_null(host_chosen_of("[none", '[', ']'));
}

/* An outlier among many passes is no noise; a spread among few is. */
static void errors_of_medians(void **state)
{
	double calm[21], wild[4] = { 8, 10, 12, 14 };

	for (size_t i = 0; i < ARRAY_SIZE(calm); i++)
		calm[i] = 10 + 0.1 * ((int)i % 3 - 1);
	calm[4] = 1000;
	assert_true(stat_median_error_pct(calm, ARRAY_SIZE(calm)) < 0.5);
	assert_true(stat_stdev_pct(calm, ARRAY_SIZE(calm)) > 100);
	/* MAD 2 of a median of 11. */
	assert_true(fabs(stat_median_error_pct(wild, 4) -
			 1.2533 * 1.4826 * 2 / 2 / 11 * 100) < 1e-9);
	assert_true(isnan(stat_median_error_pct(wild, 1)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tune_shared),
		cmocka_unit_test(rates_and_knees),
		cmocka_unit_test(nothing_is_guessed),
		cmocka_unit_test(the_unit_that_is_recommended),
		cmocka_unit_test(the_report_of_one_side),
		cmocka_unit_test(an_objection_makes_it_invalid),
		cmocka_unit_test(the_report_of_tune),
		cmocka_unit_test(the_worst_delay_of_a_watcher),
		cmocka_unit_test(no_knee_is_said),
		cmocka_unit_test(gnuplot_is_told_no_commands),
		cmocka_unit_test(facts_of_a_host),
		cmocka_unit_test(errors_of_medians),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
