/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the random walk (walk.c) found in 6.12 as Debian ships it, shrunk to the
 * steps that matter.  They fail there, and are run only when they are named:
 *
 *	folab check -k 6.12 found
 *
 * The walk leaves such steps out (lib/walk_possible.c).
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "lib/cases.h"

CASE_PROGRAM("bugs of plain 6.12 that the random walk found", 60, "hidden");
CASES(found);

#define PAGES	64

struct view {
	unsigned char *at;
	size_t bytes;
	uint64_t seed;
};

static int child_still_reads_it(struct peer *me, void *arg)
{
	const struct view *v = arg;

	peer_step(me);
	return fill_wrong(v->at, v->bytes, v->seed, 0) >= 0;
}

/*
 * MADV_FREE is about the pages of the process that calls it: one that it shares
 * with its child keeps its content for the child.  In 6.12 a page that came
 * back from zram is neither dirty nor in the swap cache, and only for such
 * pages madvise_free_pte_range() asks who else maps it.
 */
CASE(found, lazyfree_spares_the_child, 30)
{
	struct view v;
	struct peer p;
	struct area a;

	CASE_NEEDS(case_swap(c, 16 << 20));
	AREA(c, &a, AREA_ANON, PAGES * page_bytes(), 0);
	v = (struct view){ a.at, a.bytes, a.seed };
	ASSERT_EQ(0, pageout(a.at, a.bytes)) TH_LOG("%s", case_why());
	ASSERT_EQ(PAGES, pages_swapped(a.at, a.bytes));
	area_touch(&a, 0, PAGES);
	ASSERT_EQ(0, peer_start(&p, child_still_reads_it, &v))
		TH_LOG("%s", case_why());
	area_forget(c, &a);
	ASSERT_EQ(0, madvise(a.at, a.bytes, MADV_FREE))
		TH_LOG("MADV_FREE: %s", strerror(errno));
	case_reclaim_all(c, 20);
	peer_meet(&p);
	EXPECT_EQ(0, peer_end(&p))
		TH_LOG("the child reads something else now");
}

/* PTEs of shared memory are not inherited: both touches are the child's. */
static int child_reads_behind(struct peer *me, void *arg)
{
	volatile unsigned char *at = arg;

	peer_step(me);
	signal(SIGBUS, SIG_DFL);
	at[16 * page_bytes()] = 1;
	(void)at[25 * page_bytes()];
	return 0;
}

/*
 * Shared memory ends where its file ends, also where a large folio goes on: a
 * touch behind it is SIGBUS, however far the mapping was grown.  In 6.12
 * finish_fault() maps the whole folio.
 */
CASE(found, shmem_ends_with_its_file, 30)
{
	size_t page = page_bytes(), pages = 22, grown = 32;
	unsigned char *at, *room;
	struct peer p;

	CASE_NEEDS(thp_allow(c, AREA_SHMEM, 4));
	room = reserve(64 * page, 64 * page);
	ASSERT_NE(NULL, room);
	at = mmap(NULL, pages * page, PROT_READ | PROT_WRITE,
		  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, at);
	at = mremap(at, pages * page, grown * page,
		    MREMAP_MAYMOVE | MREMAP_FIXED, room);
	ASSERT_EQ(room, at);
	at[16 * page] = 1;
	if (folio_order(at + 16 * page) != 4)
		SKIP(return, "no large folio of shared memory here");
	ASSERT_EQ(0, peer_start(&p, child_reads_behind, at))
		TH_LOG("%s", case_why());
	peer_meet(&p);
	EXPECT_EQ(256 + SIGBUS, peer_end(&p));
	munmap(at, grown * page);
}

TEST_HARNESS_MAIN
