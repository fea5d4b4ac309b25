/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A page that the memory controller reports as broken, in the middle of a folio
 * whose other pages are in use.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/young_util.h"

CASE_PROGRAM("a poisoned page among the pages of a folio", 30, "quick");
CASES(poison);

#define ORDER	4
#define PAGES	16
#define BROKEN	5	/* page of the folio */

static volatile sig_atomic_t buses;

static void on_bus(int sig)
{
	(void)sig;
	buses++;
}

/*
 * Poison the page at @at: 0, -1, or 1, the kernel can't.  The frame is lost to
 * the guest, and the kernel says so, by design.
 */
static int poison(struct case_ctx *c, unsigned char *at)
{
	const struct sigaction sa = { .sa_handler = on_bus };

	case_may_warn(c);
	/* It may come at once, not only to who touches the page. */
	if (sigaction(SIGBUS, &sa, NULL))
		return case_fail("sigaction: %s", strerror(errno));
	if (!madvise(at, page_bytes(), MADV_HWPOISON)) {
		case_loose(c);
		return 0;
	}
	if (errno == EINVAL)
		return case_lacks("no hwpoison in this kernel (CONFIG_MEMORY_FAILURE)");
	return case_fail("MADV_HWPOISON: %s", strerror(errno));
}

/*
 * (design 7) A poisoned page of a file that is on disk: it is unmapped, and read
 * again into another frame.  A look sees which of the others was touched, as if
 * nothing had been, and no byte is wrong.
 */
CASE(poison, page_of_a_file, 20)
{
	struct page_view v;
	unsigned char *at;
	struct stage s;
	uint64_t frame;
	int folio;
	bool whole;

	CASE_NEEDS(stage_mapped(c, &s, ORDER, 1, 1, &folio, &at));
	frame = s.folios[folio].pfn + BROKEN;
	CASE_NEEDS(poison(c, at + BROKEN * s.page));
	EXPECT_EQ(0, buses) TH_LOG("SIGBUS, but the page is on disk");
	ASSERT_EQ(0, frame_view(frame, &v)) TH_LOG("%s", case_why());
	EXPECT_TRUE(PV_HAS(&v, PV_HWPOISON));
	EXPECT_EQ(0, pages_present(at + BROKEN * s.page, s.page));
	/* 6.12 takes the folio apart, so that only one page is lost. */
	whole = folio_order(at) == ORDER;
	for (size_t p = 0; p < s.pages; p++)
		if (p != BROKEN)
			stage_touch(&s, at, p);
	EXPECT_EQ(s.pages - 1, pages_present(at, s.bytes));

	CASE_NEEDS(stage_age(&s));
	stage_touch(&s, at, BROKEN + 1);
	CASE_NEEDS(stage_look(&s));
	EXPECT_EQ(1, pages_present(at + (BROKEN + 1) * s.page, s.page))
		TH_LOG("what was touched is evicted");
	EXPECT_EQ(whole ? s.pages - 1 : 1, pages_present(at, s.bytes));

	EXPECT_EQ(-1, fill_wrong(at, s.bytes, s.file.seed,
				 s.folios[folio].offset));
	ASSERT_EQ(0, page_view(0, at + BROKEN * s.page, &v));
	EXPECT_TRUE(v.present);
	EXPECT_NE(frame, v.pfn) TH_LOG("the poisoned frame is in use again");
	EXPECT_EQ(0, buses);
}

static int touch_page(struct peer *me, void *arg)
{
	(void)me;
	signal(SIGBUS, SIG_DFL);
	(void)*(volatile unsigned char *)arg;
	return 0;
}

/* Offset of the first wrong byte beside the page at @but; -1: none. */
static int64_t wrong_beside(const struct area *a, size_t but)
{
	size_t behind = but + page_bytes();
	int64_t wrong = fill_wrong(a->at, but, a->seed, 0);

	if (wrong >= 0)
		return wrong;
	wrong = fill_wrong(a->at + behind, a->bytes - behind, a->seed, behind);
	return wrong < 0 ? -1 : wrong + (int64_t)behind;
}

/*
 * (design 7) A poisoned page of memory that is nowhere else: its entry stays in
 * the page table among the present ones.  A look passes over it, sees the others
 * for what they are, and who uses the page is still told.
 */
CASE(poison, page_of_anonymous_memory, 20)
{
	enum { FIRST, LAST, BROKEN_AND_NEXT, NONE, N };
	static struct area a, fodder;
	size_t page = page_bytes();
	size_t broken = (BROKEN_AND_NEXT * PAGES + BROKEN) * page;
	struct page_view before, v;
	struct peer peer;
	bool whole;

	CASE_NEEDS(case_mglru(c, false));
	CASE_NEEDS(case_swap(c, 32 << 20));
	AREA(c, &a, AREA_ANON, N * PAGES * page, ORDER);
	area_forget(c, &a);
	CASE_NEEDS(anon_fodder(c, &fodder, a.bytes, ORDER));
	ASSERT_EQ(0, page_view(0, a.at + broken, &before));
	CASE_NEEDS(poison(c, a.at + broken));
	ASSERT_EQ(0, frame_view(before.pfn, &v)) TH_LOG("%s", case_why());
	EXPECT_TRUE(PV_HAS(&v, PV_HWPOISON));
	EXPECT_EQ(N * PAGES - 1, pages_present(a.at, a.bytes));
	/* Neither present nor empty. */
	EXPECT_EQ(1, pages_swapped(a.at + broken, page));
	whole = folio_order(a.at + broken + page) == ORDER;

	ASSERT_EQ(0, area_age(&a)) TH_LOG("%s", case_why());
	area_touch(&a, FIRST * PAGES, 1);
	area_touch(&a, LAST * PAGES + PAGES - 1, 1);
	area_touch(&a, BROKEN_AND_NEXT * PAGES + BROKEN + 1, 1);
	CASE_NEEDS(anon_look(c, a.bytes));
	EXPECT_EQ(PAGES, pages_present(a.at + FIRST * PAGES * page,
				       PAGES * page));
	EXPECT_EQ(PAGES, pages_present(a.at + LAST * PAGES * page,
				       PAGES * page));
	EXPECT_EQ(1, pages_present(a.at + broken + page, page))
		TH_LOG("what was touched is swapped out");
	EXPECT_EQ(whole ? PAGES - 1 : 1,
		  pages_present(a.at + BROKEN_AND_NEXT * PAGES * page,
				PAGES * page));
	EXPECT_EQ(0, pages_present(a.at + NONE * PAGES * page, PAGES * page));

	EXPECT_EQ(-1, wrong_beside(&a, broken));
	EXPECT_EQ(0, pages_present(a.at + broken, page));
	EXPECT_EQ(1, pages_swapped(a.at + broken, page));
	ASSERT_EQ(0, peer_start(&peer, touch_page, a.at + broken))
		TH_LOG("%s", case_why());
	EXPECT_EQ(256 + SIGBUS, peer_end(&peer));
}

TEST_HARNESS_MAIN
