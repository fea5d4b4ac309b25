/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Pages that a fault clears, up to 32 MiB: all of them is zero, whichever page
 * was asked for, and nothing else is.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/clear_util.h"

CASE_PROGRAM("clearing of pages up to 32M: all of it, and nothing beside", 120,
	     "quick");
CASES(clear);

#define KIB	((size_t)1024)
#define MIB	(1024 * KIB)
#define WAYS	5
#define FAULTS		24	/* at least, of each kind */
#define EVERYWHERE	64	/* pages: up to here each page in each way */

FIXTURE_VARIANT(clear) {
	enum clear_kind kind;
	size_t unit;
	size_t units;		/* of the canaries, and of the pool */
	size_t every;		/* of its pages, each so many-th */
};

#define KIND(name, kind_, unit_, units_, every_) \
	FIXTURE_VARIANT_ADD(clear, name) { \
		.kind = kind_, .unit = unit_, .units = units_, .every = every_ }

KIND(anon_4k, CLEAR_ANON, 4 * KIB, 1024, 1);
KIND(anon_16k, CLEAR_ANON, 16 * KIB, 256, 1);
KIND(anon_64k, CLEAR_ANON, 64 * KIB, 128, 1);
KIND(anon_512k, CLEAR_ANON, 512 * KIB, 32, 1);
KIND(anon_2m, CLEAR_ANON, 2 * MIB, 16, 1);
KIND(shmem_4k, CLEAR_SHMEM, 4 * KIB, 1024, 1);
KIND(shmem_64k, CLEAR_SHMEM, 64 * KIB, 128, 1);
KIND(memfd_2m, CLEAR_MEMFD, 2 * MIB, 16, 7);
KIND(hugetlb_64k, CLEAR_HUGE, 64 * KIB, 64, 1);
KIND(hugetlb_2m, CLEAR_HUGE, 2 * MIB, 12, 1);
KIND(hugetlb_2m_shared, CLEAR_HUGE_SHARED, 2 * MIB, 12, 7);
KIND(hugetlb_2m_file, CLEAR_HUGE_FILE, 2 * MIB, 12, 7);
KIND(hugetlb_32m, CLEAR_HUGE, 32 * MIB, 3, 1);
KIND(hugetlb_32m_file, CLEAR_HUGE_FILE, 32 * MIB, 3, 7);

/* The ways in which that kind of memory can be asked for a page. */
static size_t ways_of(enum clear_kind kind, enum clear_way ways[WAYS])
{
	size_t n = 0;

	ways[n++] = WAY_WRITE;
	ways[n++] = WAY_POPULATE;
	ways[n++] = WAY_READ_INTO;
	if (kind != CLEAR_ANON)
		ways[n++] = WAY_READ;
	if (kind == CLEAR_MEMFD || kind == CLEAR_HUGE_FILE)
		ways[n++] = WAY_FALLOCATE;
	return n;
}

/* Leave eight at either end, and each @every-th between; how many are left. */
static size_t thin_out(size_t *hints, size_t n, size_t every)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		if (i < 8 || i + 8 >= n || i % every == 0 || i == n / 2)
			hints[kept++] = hints[i];
	return kept;
}

/*
 * (design 16) Every byte of a page that a fault brings is zero, whichever byte
 * of it was asked for and how, although its memory held something else before.
 */
CASE(clear, every_byte_is_zero, 60)
{
	size_t hints[CLEAR_HINTS], n, n_ways, rounds;
	enum clear_way ways[WAYS];
	struct clear k;

	CASE_NEEDS(clear_begin(c, &k, variant->kind, variant->unit,
			       variant->units));
	CASE_NEEDS(clear_soil(c, &k));
	n = thin_out(hints, clear_hints(k.pages, hints),
		     variant->every * (k.pages > EVERYWHERE ? CLEAR_SLOW : 1));
	n_ways = ways_of(k.kind, ways);
	/* All of them everywhere, or of many pages each in one way. */
	rounds = k.pages <= EVERYWHERE ? n_ways : 1;
	while (rounds * n < FAULTS)
		rounds += n_ways;
	for (size_t i = 0; i < rounds * n; i++) {
		size_t turn = i / n + i % n + i % n / 8;

		ASSERT_EQ(0, clear_try(&k, hints[i % n], ways[turn % n_ways]))
			TH_LOG("%s", case_why());
	}
	TH_LOG("%zu faults on soiled frames, %zu on others", k.faults, k.kept);
}

/*
 * (design 17) Nothing outside of the page is cleared: what lies before and
 * behind it in physical memory stays what it was.
 */
CASE(clear, nothing_beside_is_touched, 60)
{
	struct clear k;

	CASE_NEEDS(clear_begin(c, &k, variant->kind, variant->unit,
			       variant->units));
	CASE_NEEDS(clear_soil(c, &k));
	/* Three huge pages have one in the middle, or two pairs, mostly. */
	CASE_NEEDS(clear_canaries(&k, variant->units, 8,
				  variant->units > 3 ? 2 : 1));
}

TEST_HARNESS_MAIN
