/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The path itself: a guest in which the cases can run, and helpers that tell
 * the truth.  If something in here fails, look at no other case.
 */
#include "lib/cases.h"

CASE_PROGRAM("the machinery of the cases", 120, "quick");
CASES(smoke);

/* What a file in large folios is made of is what /proc says it is made of. */
CASE(smoke, file_in_large_folios, 30)
{
	const size_t bytes = 2 << 20;
	struct area a;

	AREA(c, &a, AREA_XFS, bytes, 4);
	EXPECT_EQ(bytes / page_bytes(), pages_present(a.at, bytes));
	EXPECT_EQ(bytes, smaps_get(0, a.at, bytes, "Rss"));
	EXPECT_LE(bytes, case_stat(c, "file_mapped"));
	ASSERT_EQ(0, area_age(&a));
	EXPECT_EQ(0, pages_young(a.at, bytes));
	area_touch(&a, 0, 16);
	EXPECT_EQ(16, pages_young(a.at, bytes));
}

/* Clean pages that nobody uses go when memory.reclaim is written, and come back. */
CASE(smoke, reclaim_and_read_back, 30)
{
	const size_t bytes = 4 << 20;
	struct area a;

	AREA(c, &a, AREA_XFS, bytes, 4);
	ASSERT_EQ(0, area_age(&a));
	case_reclaim_all(c, 20);
	EXPECT_EQ(0, pages_cached(a.at, bytes));
	EXPECT_EQ(-1, area_wrong(&a));
}

/* Anonymous memory goes to swap on zram, and comes back. */
CASE(smoke, swap_and_back, 30)
{
	const size_t bytes = 1 << 20;
	struct area a;

	CASE_NEEDS(case_swap(c, 64 << 20));
	AREA(c, &a, AREA_ANON, bytes, 0);
	ASSERT_EQ(0, pageout(a.at, bytes));
	EXPECT_EQ(bytes / page_bytes(), pages_swapped(a.at, bytes));
	EXPECT_EQ(-1, area_wrong(&a));
}

TEST_HARNESS_MAIN
