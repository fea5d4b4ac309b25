/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What clear-latency refuses and asks of a guest; that the watcher sees a
 * delay, loses no wake-up and leaves no trace; that figures are exact.
 */
#include "../../harness/tests/check.h"

#include <errno.h>
#include <sched.h>

#include "../watch.h"
#include "../workloads.h"

#define GIB	(UINT64_C(1) << 30)
#define HOLD_NS	5000000

static const struct workload *it(void)
{
	const struct workload *w = workload_find("clear-latency");

	assert_non_null(w);
	return w;
}

static void set_all(struct params *p, const char *const *pairs)
{
	struct err err = { 0 };

	params_init(p, it()->params);
	for (; *pairs; pairs += 2)
		if (params_set(p, pairs[0], pairs[1], &err))
			fail_msg("%s", err.text);
}

#define SET(p, ...)	set_all(p, (const char *const[]){ __VA_ARGS__, NULL })

static void sizes_are_whole_pages_and_units(void **state)
{
	static const struct {
		const char *const pairs[7];
		const char *says;	/* NULL: fine */
	} tests[] = {
		{ { "size", "1G" }, NULL },
		{ { "size", "1536M" }, "page = 1g-hugetlb" },
		{ { "page", "2m-thp", "size", "6M" }, NULL },
		{ { "page", "2m-thp", "size", "7M" }, "page = 2m-thp" },
		{ { "how", "model", "size", "96M", "unit", "32M" }, NULL },
		{ { "how", "model", "size", "96M", "unit", "64M" }, "unit = 64M" },
		{ { "how", "model", "size", "64M", "unit", "4098" }, "4K" },
		{ { "how", "model", "size", "64M" }, NULL },
		{ { "unit", "4M" }, "how=model" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(tests); i++) {
		struct err err = { 0 };
		struct params p;

		set_all(&p, tests[i].pairs);
		assert_int_equal(it()->check(&p, &err), tests[i].says ? -1 : 0);
		if (tests[i].says)
			assert_err(&err, EXIT_USAGE, tests[i].says);
		params_free(&p);
	}
}

static void the_guest_is_booted_for_it(void **state)
{
	struct strlist options = { 0 };
	struct params p;

	SET(&p, "size", "2G", "preempt", "voluntary");
	it()->kernel_options(&p, &options);
	assert_int_equal(options.n, 4);
	assert_true(strlist_has(&options, "preempt=voluntary"));
	assert_true(strlist_has(&options, "x86_64:clearcpuid=erms"));
	/* The size of a pool stands in front of its pages. */
	assert_string_equal(options.v[2], "hugepagesz=1G");
	assert_string_equal(options.v[3], "hugepages=2");
	assert_true(it()->memory_bytes(&p) >= 5 * GIB);
	strlist_free(&options);
	params_free(&p);

	options = (struct strlist){ 0 };
	SET(&p, "how", "model", "size", "64M");
	it()->kernel_options(&p, &options);
	assert_int_equal(options.n, 0);
	assert_true(it()->memory_bytes(&p) < GIB);
	params_free(&p);
}

static void figures_are_worst_and_percentile(void **state)
{
	struct delays d = { 0 };
	int64_t late[2001];

	for (int i = 0; i < 2001; i++)	/* in no order */
		late[i] = (i * 7) % 2001;
	watch_figures(late, 2001, &d);
	assert_int_equal(d.n, 2001);
	assert_float_equal(d.worst, 2000e-9, 1e-15);
	assert_float_equal(d.p999, 1998e-9, 1e-15);
	watch_figures(late, 0, &d);
	assert_int_equal(d.n, 0);
	assert_float_equal(d.worst, 0, 0);
}

static void due_times_are_counted(void **state)
{
	const int64_t p = WATCH_PERIOD_NS;

	assert_int_equal(watch_due(100, p, 100, 100), 0);
	assert_int_equal(watch_due(100, p, 100, 101), 1);
	assert_int_equal(watch_due(100, p, 101, 100 + p), 0);
	assert_int_equal(watch_due(100, p, 101, 101 + p), 1);
	assert_int_equal(watch_due(100, p, 0, 100 + 10 * p), 10);
	assert_int_equal(watch_due(100, p, 50 + p, 101 + 10 * p), 10);
	assert_int_equal(watch_due(100, p, 0, 50), 0);
}

/* With the processor, at a priority above the watcher's. */
static int64_t hold(int priority)
{
	struct sched_param above = { .sched_priority = priority };
	struct sched_param none = { 0 };
	int64_t end;

	if (sched_setscheduler(0, SCHED_FIFO, &above))
		return -1;
	end = watch_now() + HOLD_NS;
	while (watch_now() < end)
		;
	assert_int_equal(sched_setscheduler(0, SCHED_OTHER, &none), 0);
	return watch_now();
}

static void the_watcher_sees_what_holds_the_processor(void **state)
{
	cpu_set_t before, after;
	struct err err = { 0 };
	struct delays d;
	struct watch *w;
	int64_t begin, end;

	sched_getaffinity(0, sizeof(before), &before);
	if (watch_start(&w, WATCH_PERIOD_NS, &err)) {
		assert_int_equal(err.code, EXIT_ENVIRONMENT);
		skip();		/* not root */
	}
	begin = watch_now();
	end = hold(WATCH_PRIORITY + 1);
	if (watch_end(w, begin, end, &d, &err))
		fail_msg("%s", err.text);
	assert_true(end > begin);
	assert_int_equal(d.n, d.expected);
	assert_true(d.n >= HOLD_NS / WATCH_PERIOD_NS);
	/* Due up to a period behind the moment from which on it was held. */
	assert_true(d.worst * 1e9 > HOLD_NS - 2 * WATCH_PERIOD_NS);
	assert_true(d.worst <= d.load_seconds);
	assert_true(d.p999 <= d.worst);
	sched_getaffinity(0, sizeof(after), &after);
	assert_true(CPU_EQUAL(&before, &after));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_are_whole_pages_and_units),
		cmocka_unit_test(the_guest_is_booted_for_it),
		cmocka_unit_test(figures_are_worst_and_percentile),
		cmocka_unit_test(due_times_are_counted),
		cmocka_unit_test(the_watcher_sees_what_holds_the_processor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
