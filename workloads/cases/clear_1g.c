/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Huge pages of 1 GiB that a fault clears: all of it is zero, whichever page was
 * asked for, and nothing else is.  They are many times what a kernel may clear
 * in one go.
 */
#include "lib/clear_util.h"

CASE_PROGRAM("clearing of pages of 1G: all of it, and nothing beside", 300,
	     "memory=5G cpus=1 boot=hugepagesz=1G,hugepages=2,clearcpuid=erms");
CASES(clear_1g);

#define GIB	((size_t)1 << 30)
#define MIB	((size_t)1 << 20)

FIXTURE_VARIANT(clear_1g) {
	enum clear_kind kind;
	size_t every;		/* of the places to fault at: each so many-th */
	size_t canaries;	/* faults beside one */
};

FIXTURE_VARIANT_ADD(clear_1g, private) {
	.kind = CLEAR_HUGE, .every = 1, .canaries = 4 };
FIXTURE_VARIANT_ADD(clear_1g, file) {
	.kind = CLEAR_HUGE_FILE, .every = 5, .canaries = 2 };

/*
 * (design 16) Every byte of a page of 1 GiB that a fault brings is zero,
 * whichever byte was asked for: at its ends, in its middle, and beside the
 * borders of 2, 8 and 32 MiB, which a kernel may clear at a time.
 */
CASE(clear_1g, every_byte_is_zero, 120)
{
	static const enum clear_way ways[] = {
		WAY_POPULATE, WAY_WRITE, WAY_READ, WAY_READ_INTO,
	};
	const size_t n = GIB / page_bytes(), chunk = MIB / page_bytes();
	const size_t hints[] = {
		0, 1, 2, 2 * chunk - 1, 8 * chunk - 1, 8 * chunk,
		n / 2 - 1, n / 2, n - 32 * chunk, n - 8 * chunk - 1, n - 2,
		n - 1,
	};
	struct clear k;

	CASE_NEEDS(clear_begin(c, &k, variant->kind, GIB, 2));
	CASE_NEEDS(clear_soil(c, &k));
	for (size_t i = 0; i < ARRAY_SIZE(hints); i += variant->every) {
		ASSERT_EQ(0, clear_try(&k, hints[i],
				       ways[i % ARRAY_SIZE(ways)]))
			TH_LOG("%s", case_why());
	}
	if (variant->kind == CLEAR_HUGE_FILE) {
		ASSERT_EQ(0, clear_try(&k, n / 3, WAY_FALLOCATE))
			TH_LOG("%s", case_why());
	}
	TH_LOG("%zu faults on soiled frames, %zu on others", k.faults, k.kept);
}

/*
 * (design 17) Nothing outside of the page is cleared: not in the page of 1 GiB
 * that lies beside it in physical memory.
 */
CASE(clear_1g, nothing_beside_is_touched, 120)
{
	struct clear k;

	CASE_NEEDS(clear_begin(c, &k, variant->kind, GIB, 2));
	CASE_NEEDS(clear_canaries(&k, 2, variant->canaries, 1));
}

TEST_HARNESS_MAIN
