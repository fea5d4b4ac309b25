/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Each way of clearing clears what it is told and nothing else, one that does
 * not is found, and each cell has its turn in each pass.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"

#include "../../workloads/clear_chunk.h"
#include "../../workloads/clear_methods.h"
#include "../../workloads/hot_set.h"

#define LARGEST	(1 << 20)

static char *page_aligned(size_t bytes)
{
	void *p = NULL;

	assert_int_equal(posix_memalign(&p, 4096, bytes), 0);
	return p;
}

static void each_method_clears_exactly(void **state)
{
	char *area = page_aligned(LARGEST + 8192);
	size_t usable = 0, byte;

	for (size_t i = 0; i < CLEAR_METHODS; i++) {
		if (!clear_method_usable(&clear_methods[i]))
			continue;
		usable++;
		for (size_t n = 4096; n <= LARGEST; n *= 2)
			assert_int_equal(clear_chunk_prove(clear_methods[i].clear,
							   area + 4096, n, &byte),
					 CLEAR_RIGHT);
		assert_int_equal(clear_chunk_prove(clear_methods[i].clear,
						   area + 4096, 3 * 4096, &byte),
				 CLEAR_RIGHT);
	}
	/* memset and at least one of the architecture's own. */
	assert_true(usable >= 2);
	assert_true(clear_method_usable(clear_method_of_kernel()));
	free(area);
}

static size_t hole;

static void leave_a_hole(void *p, size_t bytes)
{
	char keep = ((char *)p)[hole];

	memset(p, 0, bytes);
	((char *)p)[hole] = keep;
}

static void one_before(void *p, size_t bytes)
{
	memset((char *)p - 1, 0, bytes + 1);
}

static void one_behind(void *p, size_t bytes)
{
	memset(p, 0, bytes + 1);
}

static void wrong_clears_are_found(void **state)
{
	static const size_t holes[] = { 0, 1, 63, 4095, 4096, 8191 };
	char *area = page_aligned(16384);
	size_t byte;

	for (size_t i = 0; i < ARRAY_SIZE(holes); i++) {
		hole = holes[i];
		assert_int_equal(clear_chunk_prove(leave_a_hole, area + 4096,
						   8192, &byte),
				 CLEAR_TOO_LITTLE);
		assert_int_equal(byte, hole);
	}
	assert_int_equal(clear_chunk_prove(one_before, area + 4096, 8192, &byte),
			 CLEAR_TOO_MUCH);
	assert_int_equal(clear_chunk_prove(one_behind, area + 4096, 8192, &byte),
			 CLEAR_TOO_MUCH);
	free(area);
}

static void passes_take_all_cells_and_turn_round(void **state)
{
	static const size_t sizes[] = { 1, 2, 13, 57, 95 };

	for (size_t k = 0; k < ARRAY_SIZE(sizes); k++) {
		size_t n = sizes[k];

		for (int64_t pass = 0; pass < 10; pass++) {
			bool seen[95] = { false };

			for (size_t i = 0; i < n; i++) {
				size_t cell = clear_chunk_cell(pass, n, i);

				assert_true(cell < n && !seen[cell]);
				seen[cell] = true;
				if (pass % 2)
					assert_int_equal(cell,
						clear_chunk_cell(pass - 1, n,
								 n - 1 - i));
			}
		}
		if (n > 2)
			assert_int_not_equal(clear_chunk_cell(0, n, 0),
					     clear_chunk_cell(2, n, 0));
	}
}

/* Reading goes through as many lines as it says, and comes back. */
static void a_hot_set_is_one_ring(void **state)
{
	static const size_t sampled[] = { 1 << 20, 100, 1 };

	for (size_t k = 0; k < ARRAY_SIZE(sampled); k++) {
		struct hot_set h;
		size_t at, n = 0, lines = 65536 / HOT_SET_LINE;

		hot_set_init(&h, 65536, sampled[k]);
		assert_int_equal(h.sampled, lines < sampled[k] ? lines :
				 sampled[k]);
		at = h.start;
		do {
			assert_true(at < lines);
			at = *(size_t *)(h.area + at * HOT_SET_LINE);
			n++;
		} while (at != h.start && n <= lines);
		assert_int_equal(n, h.sampled);
		hot_set_warm(&h);
		assert_true(hot_set_read(&h) > 0);
		hot_set_free(&h);
	}
}

/* @from: NULL, or the value of "from" as well. */
static void refused(const char *key, const char *value, const char *from,
		    const char *part)
{
	const struct workload *w = workload_find("clear-chunk");
	struct err err = { 0 };
	struct params p;

	params_init(&p, w->params);
	assert_int_equal(params_set(&p, key, value, &err), 0);
	if (from)
		assert_int_equal(params_set(&p, "from", from, &err), 0);
	assert_int_equal(w->check(&p, &err), -1);
	assert_err(&err, EXIT_USAGE, part);
	params_free(&p);
}

static void parameters_without_sense_are_refused(void **state)
{
	refused("from", "12K", NULL, "power of two");
	refused("to", "100M", NULL, "power of two");
	refused("size", "3145728", NULL, "multiple of 2M");
	refused("hot", "5000", NULL, "multiple of the page size");
	refused("llc", "5000", NULL, "multiple of the page size");
	refused("to", "64K", "128K", "more than to");
	refused("size", "2M", "4M", "more than size");
}

static void sizes_read_as_they_are_written(void **state)
{
	static const uint64_t sizes[] = { 1, 4096, 4097, 1 << 20, UINT64_C(3) << 30,
					  0 };
	char buf[32];
	uint64_t back;

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		format_size_short(sizes[i], buf, sizeof(buf));
		assert_int_equal(parse_size(buf, &back), 0);
		assert_true(back == sizes[i]);
	}
	assert_string_equal(format_size_short(65536, buf, sizeof(buf)), "64K");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_method_clears_exactly),
		cmocka_unit_test(wrong_clears_are_found),
		cmocka_unit_test(passes_take_all_cells_and_turn_round),
		cmocka_unit_test(a_hot_set_is_one_ring),
		cmocka_unit_test(parameters_without_sense_are_refused),
		cmocka_unit_test(sizes_read_as_they_are_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
