/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What clear-fault asks of a machine suffices; a byte that was not cleared is
 * found wherever it is; and it does to this very host what it says, if this is
 * run as root.
 */
#include <inttypes.h>
#include <sys/mman.h>

#include "../../harness/tests/check.h"
#include "../clear_fault.h"
#include "../clear_work.h"

#define KIB	UINT64_C(1024)
#define MIB	(KIB * 1024)
#define GIB	(MIB * 1024)

/* NULL-terminated pairs of key and text. */
static void set_all(struct params *p, const char *const *pairs)
{
	struct err err = { 0 };

	params_init(p, clear_fault.params);
	for (; *pairs; pairs += 2)
		if (params_set(p, pairs[0], pairs[1], &err))
			fail_msg("%s", err.text);
}

#define SET(p, ...)	set_all(p, (const char *const[]){ __VA_ARGS__, NULL })

/* ---- what a machine has to have ------------------------------------------------- */

static void sizes_are_rounded_up_to_folios(void **state)
{
	static const struct {
		const char *name;
		uint64_t folio, of_one_byte_more;
	} want[] = {
		{ "4k", 4 * KIB, 256 * MIB + 4 * KIB },
		{ "64k-thp", 64 * KIB, 256 * MIB + 64 * KIB },
		{ "2m-thp", 2 * MIB, 258 * MIB },
		{ "2m-hugetlb", 2 * MIB, 258 * MIB },
		{ "1g-hugetlb", GIB, GIB },
	};
	size_t n = 0;

	for (; clear_page_at(n); n++) {
		const struct clear_page *p = clear_page_at(n);

		assert_true(n < ARRAY_SIZE(want));
		assert_string_equal(p->name, want[n].name);
		assert_string_equal(p->name, clear_page_names[n]);
		assert_int_equal(clear_page_bytes(p), want[n].folio);
		assert_int_equal(clear_page_round(p, want[n].folio),
				 want[n].folio);
		assert_int_equal(clear_page_round(p, 256 * MIB + 1),
				 want[n].of_one_byte_more);
	}
	assert_int_equal(n, ARRAY_SIZE(want));
	assert_null(clear_page_names[n]);
}

static uint64_t memory_of(const char *const *pairs)
{
	struct params p;
	uint64_t bytes;

	set_all(&p, pairs);
	bytes = clear_fault.memory_bytes(&p);
	params_free(&p);
	return bytes;
}

#define MEMORY(...)	memory_of((const char *const[]){ __VA_ARGS__, NULL })

static void the_machine_is_large_enough(void **state)
{
	assert_true(MEMORY("size", "256M") >= 700 * MIB);
	assert_true(MEMORY("size", "256M") <= 1024 * MIB);
	/* Below the hole at 4 GiB there is no page of 1 GiB to be had. */
	assert_true(MEMORY("page", "1g-hugetlb") >= 4 * GIB);
	assert_true(MEMORY("page", "1g-hugetlb", "size", "3G") >= 6 * GIB);
	/* Each node has room for all of it. */
	assert_int_equal(MEMORY("node", "0"), 2 * MEMORY("node", "-1"));
	assert_int_equal(MEMORY("node", "3"), 4 * MEMORY("node", "-1"));
}

static char *options_of(const char *const *pairs)
{
	struct strlist words = { 0 };
	char *line = xstrdup("");
	struct params p;

	set_all(&p, pairs);
	clear_fault.kernel_options(&p, &words);
	for (size_t i = 0; i < words.n; i++) {
		char *more = xasprintf("%s%s%s", line, i ? " " : "",
				       words.v[i]);

		free(line);
		line = more;
	}
	strlist_free(&words);
	params_free(&p);
	return line;
}

static void assert_options(const char *want, const char *const *pairs)
{
	char *line = options_of(pairs);

	assert_string_equal(line, want);
	free(line);
}

#define OPTIONS(want, ...) \
	assert_options(want, (const char *const[]){ __VA_ARGS__, NULL })

static void the_kernel_is_told_what_it_must_know_early(void **state)
{
	OPTIONS("", "page", "2m-hugetlb");
	OPTIONS("hugepagesz=1G hugepages=1", "page", "1g-hugetlb");
	OPTIONS("hugepagesz=1G hugepages=3", "page", "1g-hugetlb", "size",
		"2049M");
	OPTIONS("numa=fake=2U", "node", "0");
	OPTIONS("numa=fake=2U", "node", "1");
	OPTIONS("numa=fake=4U hugepagesz=1G hugepages=3:1", "node", "3", "page",
		"1g-hugetlb");
}

static void a_thread_without_a_folio_is_refused(void **state)
{
	struct err err = { 0 };
	struct params p;

	SET(&p, "page", "1g-hugetlb", "size", "2G", "threads", "3");
	assert_int_equal(clear_fault.check(&p, &err), -1);
	assert_err(&err, EXIT_USAGE, "threads = 3, but size = 2G is 2 folios");
	params_free(&p);
	SET(&p, "page", "1g-hugetlb", "size", "2G", "threads", "2");
	assert_int_equal(clear_fault.check(&p, &err), 0);
	params_free(&p);
}

/* ---- bytes ------------------------------------------------------------------------ */

static void a_byte_that_was_not_cleared_is_found(void **state)
{
	const uint64_t bytes = 64 * KIB, hint = 32 * KIB;
	char *folio = xcalloc(1, bytes);

	assert_int_equal(clear_fault_wrong_words(folio, bytes, -1), 0);
	/* The fault's own byte is missing. */
	assert_int_equal(clear_fault_wrong_words(folio, bytes, (int64_t)hint),
			 1);
	folio[hint] = CLEAR_MARK;
	assert_int_equal(clear_fault_wrong_words(folio, bytes, (int64_t)hint),
			 0);
	assert_int_equal(clear_fault_wrong_words(folio, bytes, -1), 1);
	for (uint64_t at = 0; at < bytes; at += 509) {
		if (at == hint)
			continue;
		folio[at] = 1;
		assert_int_equal(clear_fault_wrong_words(folio, bytes,
							 (int64_t)hint), 1);
		folio[at] = 0;
	}
	/* Beside it, in the same word. */
	folio[hint + 7] = (char)0xa5;
	assert_int_equal(clear_fault_wrong_words(folio, bytes, (int64_t)hint),
			 1);
	free(folio);
}

/* Each line once, and not simply one behind the other. */
static void random_order_comes_by_all(void **state)
{
	for (uint64_t n = 64; n <= 32768; n *= 2) {
		char *seen = xcalloc(n, 1);
		uint64_t line = n / 3, next, neighbours = 0;

		for (uint64_t i = 0; i < n; i++) {
			assert_true(line < n);
			assert_int_equal(seen[line], 0);
			seen[line] = 1;
			next = clear_work_next(line, n);
			neighbours += next == line + 1 || line == next + 1;
			line = next;
		}
		assert_int_equal(line, n / 3);
		assert_true(neighbours < n / 8);
		free(seen);
	}
}

/* ---- frames ------------------------------------------------------------------------ */

static void frames_are_told_apart(void **state)
{
	struct frames f = { 0 };

	assert_false(frames_has(&f, 0));
	frames_note(&f, 63);
	frames_note(&f, 100000);
	frames_note(&f, 64);
	assert_true(frames_has(&f, 63) && frames_has(&f, 64));
	assert_true(frames_has(&f, 100000));
	assert_false(frames_has(&f, 62) || frames_has(&f, 65));
	assert_false(frames_has(&f, 99999) || frames_has(&f, 1 << 30));
	/* What no machine has takes no memory. */
	frames_note(&f, UINT64_C(1) << 54);
	assert_false(frames_has(&f, UINT64_C(1) << 54));
	frames_free(&f);
	assert_false(frames_has(&f, 63));
}

/* ---- the whole of it, on this host -------------------------------------------------- */

/* What the agent does, as far as a workload can see. */
static void no_phase(struct workload_env *env, const char *name)
{
}

static void no_window(struct workload_env *env)
{
}

static bool mapped_after_ready;

static void at_ready(struct workload_env *env)
{
	mapped_after_ready = false;
}

static void at_begin(struct workload_env *env)
{
	mapped_after_ready = true;
}

/* A run of 4k pages; 0, or -1 where this host does not let us. */
static int run_here(struct sample *sample, const char *const *pairs)
{
	struct workload_env env = {
		.seed = 1, .phase = no_phase, .window_ready = at_ready,
		.window_begin = at_begin, .window_end = no_window,
		.sample = sample, .dir = "", .cgroup = "",
	};
	struct err err = { 0 };
	void *state = NULL;
	struct params p;
	int ret;

	set_all(&p, pairs);
	env.params = &p;
	ret = clear_fault.prepare(&env, &state, &err);
	if (!ret)
		ret = clear_fault.run(&env, state, &err);
	if (!ret)
		ret = clear_fault.verify(&env, state, &err);
	clear_fault.clean_up(&env, state);
	params_free(&p);
	if (ret && err.code != EXIT_ENVIRONMENT && err.code != EXIT_RUN)
		fail_msg("%s", err.text);
	return ret;
}

static void threads_write_each_folio_once(void **state)
{
	static const char *const threads[] = { "1", "3" };

	for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
		struct sample s = { 0 };

		if (run_here(&s, (const char *const[]){ "page", "4k", "size",
			     "4M", "touch", "random", "threads", threads[i],
			     NULL })) {
			sample_free(&s);
			skip();
		}
		assert_true(mapped_after_ready);
		assert_int_equal(s.order_pages[0], 1024);
		assert_int_equal(counters_value(&s.counters, "pages.mapped"),
				 1024);
		assert_int_equal(counters_value(&s.counters, "clear.pages"),
				 1024);
		/* Whoever was left out has no byte of the fault's. */
		assert_int_equal(counters_value(&s.counters,
						"clear.nonzero_words"), 0);
		/* Without an agent nobody counted faults: it says so. */
		assert_true(s.invalid.n >= 1);
		sample_free(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_are_rounded_up_to_folios),
		cmocka_unit_test(the_machine_is_large_enough),
		cmocka_unit_test(the_kernel_is_told_what_it_must_know_early),
		cmocka_unit_test(a_thread_without_a_folio_is_refused),
		cmocka_unit_test(a_byte_that_was_not_cleared_is_found),
		cmocka_unit_test(random_order_comes_by_all),
		cmocka_unit_test(frames_are_told_apart),
		cmocka_unit_test(threads_write_each_folio_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
