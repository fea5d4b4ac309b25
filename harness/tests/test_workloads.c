/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A scenario that can't be measured is refused before anything is built; what
 * the workload says of folios is what /proc said; what it changes on the
 * machine it puts back.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "check.h"

#include "../plan/plan.h"
#include "../../workloads/folios.h"
#include "../../workloads/knobs.h"
#include "../../workloads/mapper.h"
#include "../../workloads/workloads.h"

#define MIB	(UINT64_C(1) << 20)

/* ---- parameters ------------------------------------------------------------ */

/* NULL-terminated pairs of key and text. */
static void set_all(struct params *p, const char *const *pairs)
{
	struct err err = { 0 };

	params_init(p, workload_params("reclaim-file"));
	for (; *pairs; pairs += 2)
		if (params_set(p, pairs[0], pairs[1], &err))
			fail_msg("%s", err.text);
}

#define SET(p, ...)	set_all(p, (const char *const[]){ __VA_ARGS__, NULL })

static void refused(const char *part, const char *const *pairs)
{
	const struct workload *w = workload_find("reclaim-file");
	struct err err = { 0 };
	struct params p;

	set_all(&p, pairs);
	assert_int_equal(w->check(&p, &err), -1);
	assert_err(&err, EXIT_USAGE, part);
	params_free(&p);
}

#define REFUSED(part, ...) \
	refused(part, (const char *const[]){ __VA_ARGS__, NULL })

static void each_workload_takes_its_defaults(void **state)
{
	const struct workload *w;
	struct err err = { 0 };
	size_t n = 0;

	for (; (w = workload_at(n)); n++) {
		struct params p;

		assert_ptr_equal(workload_find(w->name), w);
		assert_ptr_equal(workload_params(w->name), w->params);
		params_init(&p, w->params);
		if (w->check(&p, &err))
			fail_msg("%s: %s", w->name, err.text);
		params_free(&p);
	}
	assert_true(n > 0);
	assert_null(workload_find("reclaim"));
	assert_null(workload_params(""));
}

static void impossible_values_are_refused(void **state)
{
	REFUSED("reclaim = 193M is more than size = 192M", "reclaim", "193M");
	REFUSED("multiple of the page size", "reclaim", "150000001");
	REFUSED("too small for folios of order 9: at least 64 MiB",
		"size", "62M", "reclaim", "8M", "order", "9");
	REFUSED("not a multiple of a folio of order 9",
		"size", "193M", "order", "9");
	REFUSED("map = partial wants folios of more than one page",
		"map", "partial", "order", "0");
	REFUSED("163841 of them; a process may have 65000",
		"map", "partial", "size", "10G");
}

static void values_out_of_range_are_refused(void **state)
{
	static const char *const bad[][2] = {
		{ "order", "10" }, { "order", "-1" }, { "mappers", "0" },
		{ "mappers", "65" }, { "young", "101" }, { "dirty", "-1" },
		{ "lru", "fifo" }, { "map", "half" }, { "size", "0" }, { "size", "2T" },
		{ "size", "many" }, { "folios", "4" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct err err = { 0 };
		struct params p;

		params_init(&p, workload_params("reclaim-file"));
		if (!params_set(&p, bad[i][0], bad[i][1], &err))
			fail_msg("%s = %s was taken", bad[i][0], bad[i][1]);
		assert_err(&err, EXIT_USAGE, bad[i][0]);
		params_free(&p);
	}
}

static uint64_t memory_of(const char *const *pairs)
{
	struct params p;
	uint64_t bytes;

	set_all(&p, pairs);
	bytes = workload_find("reclaim-file")->memory_bytes(&p);
	params_free(&p);
	return bytes;
}

#define MEMORY(...)	memory_of((const char *const[]){ __VA_ARGS__, NULL })

/* The file and each mapper's page tables fit, the machine of the series too. */
static void the_machine_is_large_enough(void **state)
{
	uint64_t ten = MEMORY("size", "10G", "reclaim", "8G");

	assert_true(ten > 10752 * MIB);
	assert_true(ten <= 13000 * MIB);
	assert_true(MEMORY("mappers", "64") - MEMORY("mappers", "1") >=
		    63 * 192 * MIB / 512);
	/* Each mapper has 3072 VMAs; a whole mapping is none to speak of. */
	assert_true(MEMORY("mappers", "64", "map", "partial") -
		    MEMORY("mappers", "64") >= 64 * 3072 * 256);
	/* Dirty data lies in the page cache and on the RAM disk. */
	assert_true(MEMORY("dirty", "100") - MEMORY("dirty", "0") >= 192 * MIB);
}

static void the_device_holds_what_is_dirty(void **state)
{
	const struct workload *w = workload_find("reclaim-file");
	struct params p;

	SET(&p, "dirty", "0");
	assert_true(w->fs_bytes(&p) >= 300 * MIB);
	assert_true(w->fs_bytes(&p) < 400 * MIB);
	params_free(&p);
	SET(&p, "dirty", "100");
	assert_true(w->fs_bytes(&p) >= (300 + 192) * MIB);
	params_free(&p);
	/* One page in a hundred dirties 16 in a hundred of order 4. */
	SET(&p, "dirty", "1", "size", "1600M");
	assert_true(w->fs_bytes(&p) >= (320 + 256) * MIB);
	params_free(&p);
}

static void scenarios_that_come_with_us_are_sound(void **state)
{
	struct strlist names = { 0 };
	struct err err = { 0 };
	size_t rows = 0;

	if (scenario_names(&names, &err))
		fail_msg("%s", err.text);
	assert_true(names.n >= 2);
	for (size_t i = 0; i < names.n; i++) {
		struct scenario s = { 0 };
		const struct workload *w;

		if (scenario_load(&s, names.v[i], workload_params, &err))
			fail_msg("%s", err.text);
		w = workload_find(s.workload);
		assert_non_null(w);
		if (w->check(&s.params, &err))
			fail_msg("%s: %s", names.v[i], err.text);
		if (s.memory && s.memory < w->memory_bytes(&s.params))
			fail_msg("%s: memory is less than the workload needs",
				 names.v[i]);
		assert_true(s.budget > 0 && s.seeds > 0 && s.metrics.n > 0);
		for (size_t k = 0; k < s.n_rows; k++) {
			struct params p;

			if (scenario_row_params(&s, &s.rows[k], &p, &err) ||
			    w->check(&p, &err))
				fail_msg("%s, row %s: %s", names.v[i],
					 s.rows[k].name, err.text);
			rows++;
			params_free(&p);
		}
		scenario_free(&s);
	}
	assert_true(rows >= 6);
	strlist_free(&names);
}

/* ---- folios ------------------------------------------------------------------ */

/* @n pages from @pfn on: the first with @first, the others with @rest. */
static void walk_run(struct folio_walk *w, uint64_t pfn, size_t n,
		     unsigned int first, unsigned int rest)
{
	for (size_t i = 0; i < n; i++)
		folio_walk_page(w, pfn + i, i ? rest : first);
}

#define HEAD	(FOLIO_PRESENT | FOLIO_HEAD)
#define TAIL	(FOLIO_PRESENT | FOLIO_TAIL)
#define WHOLE(w, pfn, n)	walk_run(w, pfn, n, HEAD, TAIL)

static void orders_come_from_heads_and_tails(void **state)
{
	struct folio_count c = { 0 };
	struct folio_walk w = { .count = &c };

	folio_walk_page(&w, 100, FOLIO_PRESENT);
	folio_walk_page(&w, 101, FOLIO_PRESENT);
	WHOLE(&w, 200, 4);
	WHOLE(&w, 204, 4);		/* the next in memory, another folio */
	WHOLE(&w, 1024, 16);
	WHOLE(&w, 512, 512);
	folio_walk_page(&w, 0, 0);	/* a hole ends a folio */
	WHOLE(&w, 300, 2);
	folio_walk_end(&w);

	assert_int_equal(c.order_pages[0], 2);
	assert_int_equal(c.order_pages[1], 2);
	assert_int_equal(c.order_pages[2], 8);
	assert_int_equal(c.order_pages[4], 16);
	assert_int_equal(c.order_pages[9], 512);
	assert_int_equal(c.order_pages[3] + c.order_pages[5], 0);
	assert_int_equal(c.mapped, 540);
	assert_int_equal(c.contpte, 0);		/* it has none */
}

static int64_t contpte_of(void (*pages)(struct folio_walk *w))
{
	struct folio_count c = { 0 };
	struct folio_walk w = { .count = &c, .cont_pages = 16 };

	pages(&w);
	folio_walk_end(&w);
	return c.contpte;
}

static void two_of_order_4(struct folio_walk *w)
{
	WHOLE(w, 32, 16);
	WHOLE(w, 160, 16);
}

static void one_of_order_6(struct folio_walk *w)
{
	WHOLE(w, 64, 64);
}

static void sixteen_small_neighbours(struct folio_walk *w)
{
	walk_run(w, 32, 16, FOLIO_PRESENT, FOLIO_PRESENT);
}

static void two_of_order_3(struct folio_walk *w)
{
	WHOLE(w, 32, 8);
	WHOLE(w, 40, 8);
}

/* A folio that is mapped half a block off: file and memory don't align. */
static void shifted_by_eight(struct folio_walk *w)
{
	walk_run(w, 40, 24, TAIL, TAIL);
}

static void one_page_missing(struct folio_walk *w)
{
	WHOLE(w, 32, 7);
	folio_walk_page(w, 39, 0);
	walk_run(w, 40, 8, TAIL, TAIL);
}

static void one_page_writable(struct folio_walk *w)
{
	WHOLE(w, 32, 7);
	folio_walk_page(w, 39, TAIL | FOLIO_WRITABLE);
	walk_run(w, 40, 8, TAIL, TAIL);
}

static void all_writable(struct folio_walk *w)
{
	walk_run(w, 32, 16, HEAD | FOLIO_WRITABLE, TAIL | FOLIO_WRITABLE);
}

static void contpte_blocks_fulfil_every_condition(void **state)
{
	assert_int_equal(contpte_of(two_of_order_4), 32);
	assert_int_equal(contpte_of(one_of_order_6), 64);
	assert_int_equal(contpte_of(all_writable), 16);
	assert_int_equal(contpte_of(sixteen_small_neighbours), 0);
	assert_int_equal(contpte_of(two_of_order_3), 0);
	assert_int_equal(contpte_of(shifted_by_eight), 0);
	assert_int_equal(contpte_of(one_page_missing), 0);
	assert_int_equal(contpte_of(one_page_writable), 0);
}

/* ---- mappers ------------------------------------------------------------------ */

static void readahead_makes_windows_of_one_folio(void **state)
{
	assert_int_equal(mapper_readahead_kib(9), 2048);
	assert_int_equal(mapper_readahead_kib(4), 64);
	assert_int_equal(mapper_readahead_kib(2), 16);
	/* Below that the kernel reads without a window. */
	assert_int_equal(mapper_readahead_kib(1), 16);
	assert_int_equal(mapper_readahead_kib(0), 16);
}

/* As many as asked for, within what chance allows (5 sigma), and scattered. */
static void shares_are_as_asked(void **state)
{
	static const int percents[] = { 0, 1, 10, 50, 99, 100 };
	const int n = 49152;

	for (size_t i = 0; i < ARRAY_SIZE(percents); i++) {
		int p = percents[i], touched = 0, dirty = 0, both = 0;

		for (int page = 0; page < n; page++) {
			touched += mapper_touches(page, p);
			dirty += mapper_dirties(page, p);
			both += mapper_touches(page, p) &&
				mapper_dirties(page, p);
		}
		assert_true(abs(touched - n * p / 100) <= 5 * 111);
		assert_true(abs(dirty - n * p / 100) <= 5 * 111);
		if (p == 0 || p == 100) {
			assert_int_equal(touched, n * p / 100);
			assert_int_equal(dirty, n * p / 100);
		}
		/* Neither choice follows the other. */
		assert_true(abs(both - n / 100 * p * p / 100) <= 5 * 111 + 100);
	}
}

struct a_file {
	char *dir, *path;
	struct mapper_file file;
};

static void make_file(struct a_file *f, uint64_t bytes, int order, int dirty)
{
	int fd;

	f->dir = test_dir();
	f->path = xasprintf("%s/file", f->dir);
	fd = open(f->path, O_RDWR | O_CREAT, 0600);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)bytes), 0);
	close(fd);
	f->file = (struct mapper_file) {
		.path = f->path,
		.bytes = bytes,
		.order = order,
		.young = 50,
		.dirty = dirty,
	};
}

static void drop_file(struct a_file *f)
{
	free(f->path);
	test_dir_remove(f->dir);
}

/* A half of each folio; stretches begin and end in the middle of one. */
static void partial_is_a_half_of_each_folio(void **state)
{
	struct mapper_file f = { .partial = true };
	const struct mapper_file whole = { .order = 4 };

	for (f.order = 1; f.order <= 9; f.order++) {
		uint64_t folio = UINT64_C(1) << f.order;

		for (uint64_t at = 0; at < 5 * folio; at += folio) {
			bool second = at / folio % 2 == 0;

			for (uint64_t i = 0; i < folio; i++)
				assert_int_equal(mapper_maps(&f, at + i),
						 (i >= folio / 2) == second);
		}
	}
	for (uint64_t page = 0; page < 64; page++)
		assert_true(mapper_maps(&whole, page));
}

static void check_written(const struct mapper_file *file)
{
	struct err err = { 0 };
	char *data;
	size_t len;

	assert_int_equal(file_read(file->path, file->bytes, &data, &len, &err),
			 0);
	assert_int_equal(len, file->bytes);
	for (uint64_t page = 0; page < file->bytes / FOLIO_PAGE_SIZE; page++) {
		uint64_t want = mapper_maps(file, page) &&
				mapper_dirties(page, file->dirty) ?
				mapper_pattern(page) : 0;
		uint64_t got;

		memcpy(&got, data + page * FOLIO_PAGE_SIZE, sizeof(got));
		assert_true(got == want);
	}
	free(data);
}

static void a_mapper_writes_its_share_and_no_more(void **state)
{
	struct mapper m = { 0 };
	struct err err = { 0 };
	struct a_file f;

	for (int i = 0; i <= 9; i++) {
		make_file(&f, MIB, i % 5, 30);
		f.file.partial = i > 5;		/* of orders 1 to 4 */
		if (mapper_start(&m, &f.file, &err) ||
		    mapper_do(&m, MAPPER_FILL, NULL, &err) ||
		    mapper_do(&m, MAPPER_MAP, NULL, &err) ||
		    mapper_do(&m, MAPPER_DIRTY, NULL, &err) ||
		    mapper_do(&m, MAPPER_TOUCH, NULL, &err))
			fail_msg("%s", err.text);
		mapper_stop(&m);
		mapper_stop(&m);
		check_written(&f.file);
		drop_file(&f);
	}
}

static void a_mapper_counts_what_it_maps(void **state)
{
	struct mapper m = { 0 };
	struct folio_count c;
	struct err err = { 0 };
	struct a_file f;
	int64_t sum = 0;
	int ret;

	make_file(&f, MIB, 0, 0);
	if (mapper_start(&m, &f.file, &err) ||
	    mapper_do(&m, MAPPER_FILL, NULL, &err) ||
	    mapper_do(&m, MAPPER_MAP, NULL, &err))
		fail_msg("%s", err.text);
	ret = mapper_do(&m, MAPPER_COUNT, &c, &err);
	mapper_stop(&m);
	drop_file(&f);
	if (ret) {
		/* Page frame numbers are for root. */
		assert_int_equal(err.code, EXIT_ENVIRONMENT);
		skip();
	}
	assert_int_equal(c.mapped, MIB / FOLIO_PAGE_SIZE);
	for (size_t i = 0; i < MAX_ORDER_SEEN; i++)
		sum += c.order_pages[i];
	assert_int_equal(sum, c.mapped);
}

/* Whatever folios the file system gives: of its pages a half is mapped. */
static void a_partial_mapper_maps_a_half(void **state)
{
	struct folio_count all, half;
	struct mapper m = { 0 };
	struct err err = { 0 };
	struct a_file f;
	int ret;

	make_file(&f, MIB, 4, 0);
	f.file.partial = true;
	if (mapper_start(&m, &f.file, &err) ||
	    mapper_do(&m, MAPPER_FILL, NULL, &err))
		fail_msg("%s", err.text);
	ret = mapper_do(&m, MAPPER_ORDERS, &all, &err);
	if (!ret && (mapper_do(&m, MAPPER_MAP, NULL, &err) ||
		     mapper_do(&m, MAPPER_COUNT, &half, &err)))
		fail_msg("%s", err.text);
	mapper_stop(&m);
	drop_file(&f);
	if (ret) {
		assert_int_equal(err.code, EXIT_ENVIRONMENT);
		skip();
	}
	assert_int_equal(all.mapped, MIB / FOLIO_PAGE_SIZE);
	assert_int_equal(half.mapped, MIB / FOLIO_PAGE_SIZE / 2);
}

static void a_mapper_says_why_it_can_not(void **state)
{
	struct mapper m = { 0 };
	struct err err = { 0 };
	struct a_file f;

	make_file(&f, MIB, 4, 0);
	f.file.bytes = 2 * MIB;		/* more than is there */
	assert_int_equal(mapper_start(&m, &f.file, &err), 0);
	assert_int_equal(mapper_do(&m, MAPPER_FILL, NULL, &err), -1);
	assert_err(&err, EXIT_RUN, "ends early");
	mapper_stop(&m);
	err_clear(&err);

	/* A page behind the end of the file: SIGBUS, and we hear of it. */
	assert_int_equal(mapper_start(&m, &f.file, &err), 0);
	assert_int_equal(mapper_do(&m, MAPPER_MAP, NULL, &err), -1);
	assert_err(&err, EXIT_RUN, "a mapper died");
	mapper_stop(&m);
	err_clear(&err);

	f.file.path = "/nonexistent/file";
	assert_int_equal(mapper_start(&m, &f.file, &err), 0);
	assert_int_equal(mapper_do(&m, MAPPER_FILL, NULL, &err), -1);
	assert_err(&err, EXIT_RUN, "can't open /nonexistent/file");
	mapper_stop(&m);
	drop_file(&f);
}

/* ---- knobs --------------------------------------------------------------------- */

static void assert_holds(const char *path, const char *text)
{
	struct err err = { 0 };
	char *data;
	size_t len;

	assert_int_equal(file_read(path, 100, &data, &len, &err), 0);
	assert_string_equal(data, text);
	free(data);
}

static void settings_are_put_back(void **state)
{
	char *dir = test_dir();
	char *a = test_file(dir, "a", "128\n");
	char *choice = test_file(dir, "c", "always [madvise] never\n");
	char *missing = xasprintf("%s/missing", dir);
	struct knobs k = { 0 };
	struct err err = { 0 };

	assert_int_equal(knobs_set(&k, a, "64", &err), 0);
	assert_holds(a, "648\n");	/* no truncation: sysfs wants none */
	assert_int_equal(knobs_set(&k, a, "16", &err), 0);
	assert_int_equal(knobs_set(&k, choice, "never", &err), 0);
	assert_int_equal(knobs_set(&k, missing, "1", &err), -1);
	assert_err(&err, EXIT_ENVIRONMENT, "no setting");
	assert_int_equal(k.n, 3);
	knobs_restore(&k);
	assert_int_equal(k.n, 0);
	assert_holds(a, "128\n");
	/* What can be written, not what was read. */
	assert_holds(choice, "madvise[madvise] never\n");
	free(choice);
	free(missing);
	free(a);
	test_dir_remove(dir);
}

/* A process that is killed leaves the journal, and who comes next puts back. */
static void settings_outlive_a_kill(void **state)
{
	char *dir = test_dir();
	char *a = test_file(dir, "a", "128\n");
	char *choice = test_file(dir, "c", "always [madvise] never\n");
	char *journal = xasprintf("%s/journal", dir);
	struct knobs k = { 0 }, lost = { 0 }, inner = { 0 };
	struct err err = { 0 };

	assert_int_equal(knobs_replay(journal), 0);
	knobs_journal(journal);
	assert_int_equal(knobs_set(&lost, a, "640", &err), 0);
	assert_int_equal(knobs_set(&lost, a, "333", &err), 0);
	assert_int_equal(knobs_set(&lost, choice, "never", &err), 0);
	assert_int_equal(knobs_replay(journal), 3);
	/* The first value of what was set twice; no truncation (see above). */
	assert_holds(a, "128\n");
	assert_holds(choice, "madvise[madvise] never\n");
	assert_false(file_exists(journal));
	/* Who ends as he should leaves none. */
	assert_int_equal(knobs_set(&k, a, "640", &err), 0);
	assert_true(file_exists(journal));
	knobs_restore(&k);
	assert_false(file_exists(journal));
	/* One within the other's time takes out what it put in, no more. */
	assert_int_equal(knobs_set(&k, a, "640", &err), 0);
	assert_int_equal(knobs_do(&inner, choice, "+x", "-x", &err), 0);
	knobs_restore(&inner);
	assert_holds(choice, "-xdvise[madvise] never\n");
	assert_int_equal(knobs_replay(journal), 1);
	knobs_restore(&k);
	assert_false(file_exists(journal));
	/* No journal, no change. */
	knobs_journal("/nonexistent/journal");
	assert_int_equal(knobs_set(&k, a, "640", &err), -1);
	assert_holds(a, "128\n");
	knobs_journal(NULL);
	while (lost.n) {
		free(lost.v[--lost.n].path);
		free(lost.v[lost.n].before);
	}
	free(lost.v);
	free(journal);
	free(choice);
	free(a);
	test_dir_remove(dir);
}

/* A seed moves the mapping, by whole folios and contpte blocks, below a PMD. */
static void seeds_move_the_mapping(void **state)
{
	int different = 0;

	for (int order = 0; order <= 9; order++) {
		for (int64_t seed = 0; seed < 100; seed++) {
			uint64_t shift = mapper_shift(order, seed);

			assert_true(shift < 2 << 20);
			assert_int_equal(shift % (4096ull << order), 0);
			assert_int_equal(shift % 65536, 0);
			assert_true(shift == mapper_shift(order, seed));
			different += shift != mapper_shift(order, seed + 1);
		}
	}
	assert_true(different > 700);
	assert_int_equal(mapper_shift(9, 3), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(seeds_move_the_mapping),
		cmocka_unit_test(each_workload_takes_its_defaults),
		cmocka_unit_test(impossible_values_are_refused),
		cmocka_unit_test(values_out_of_range_are_refused),
		cmocka_unit_test(the_machine_is_large_enough),
		cmocka_unit_test(the_device_holds_what_is_dirty),
		cmocka_unit_test(scenarios_that_come_with_us_are_sound),
		cmocka_unit_test(orders_come_from_heads_and_tails),
		cmocka_unit_test(contpte_blocks_fulfil_every_condition),
		cmocka_unit_test(readahead_makes_windows_of_one_folio),
		cmocka_unit_test(shares_are_as_asked),
		cmocka_unit_test(a_mapper_writes_its_share_and_no_more),
		cmocka_unit_test(a_mapper_counts_what_it_maps),
		cmocka_unit_test(partial_is_a_half_of_each_folio),
		cmocka_unit_test(a_partial_mapper_maps_a_half),
		cmocka_unit_test(a_mapper_says_why_it_can_not),
		cmocka_unit_test(settings_are_put_back),
		cmocka_unit_test(settings_outlive_a_kill),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
