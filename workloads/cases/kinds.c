/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Every kind of memory that reclaim deals in, in folios of several orders, on
 * either LRU, and while one gives way to the other.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/young_util.h"

CASE_PROGRAM("kinds of memory and orders, on both LRUs", 120, "quick");
CASES(kinds);

#define MIB	(1024u * 1024)
#define LRU_GEN	"/sys/kernel/mm/lru_gen/enabled"
#define PMD	(-1)	/* the order that a PMD maps */

FIXTURE_VARIANT(kinds) {
	enum area_kind kind;
	int order;
};

#define KIND(name, kind_, order_) \
	FIXTURE_VARIANT_ADD(kinds, name) { .kind = kind_, .order = order_ }

KIND(xfs_single, AREA_XFS, 0);
KIND(xfs_64k, AREA_XFS, 4);
KIND(xfs_2m, AREA_XFS, PMD);
KIND(shmem_single, AREA_SHMEM, 0);
KIND(shmem_64k, AREA_SHMEM, 4);
KIND(memfd_2m, AREA_MEMFD, PMD);
KIND(anon_single, AREA_ANON, 0);
KIND(anon_64k, AREA_ANON, 4);
KIND(anon_2m, AREA_ANON, PMD);

static int real_order(int order)
{
	return order == PMD ? pmd_order() : order;
}

static size_t area_size(int order)
{
	return order > 4 ? 8 * pmd_bytes() : 4 * MIB;
}

/* Units of the area, and which of them are to be touched: the odd ones. */
struct units {
	size_t pages, n;	/* of a unit; units */
	bool whole[256];	/* is one folio, or 64K of single pages */
};

static void find_units(const struct area *a, int order, struct units *u)
{
	size_t page = page_bytes();

	*u = (struct units){ .pages = (size_t)1 << (order > 4 ? order : 4) };
	u->n = a->bytes / page / u->pages;
	for (size_t i = 0; i < u->n; i++) {
		unsigned char *at = a->at + i * u->pages * page;

		u->whole[i] = !order || folio_order(at) == order;
	}
}

/* Its last page: all that is touched of it, or asked of single pages. */
static size_t last_page(const struct units *u, size_t i)
{
	return (i + 1) * u->pages - 1;
}

static void touch_odd(const struct area *a, const struct units *u)
{
	for (size_t i = 1; i < u->n; i += 2)
		area_touch(a, last_page(u, i), 1);
}

/* How many odd (@odd 1) or even units are there, and how many are gone? */
static void count_units(const struct area *a, const struct units *u, size_t odd,
			size_t *there, size_t *gone)
{
	*there = 0;
	*gone = 0;
	for (size_t i = odd; i < u->n; i += 2) {
		if (!u->whole[i])
			continue;
		if (pages_present(a->at + last_page(u, i) * page_bytes(),
				  page_bytes()))
			(*there)++;
		else
			(*gone)++;
	}
}

static int reclaim_kind(struct case_ctx *c, enum area_kind kind, size_t bytes)
{
	char text[64];

	/* What is swapped is asked for by name. */
	snprintf(text, sizeof(text), "%zu%s", bytes,
		 kind == AREA_XFS ? "" : " swappiness=200");
	return case_reclaim_text(c, text);
}

/* Everything; the first requests may do no more than take young bits. */
static void reclaim_all_of(struct case_ctx *c, const struct area *a)
{
	for (int i = 0; i < 40 && pages_present(a->at, a->bytes); i++)
		reclaim_kind(c, a->kind, 2 * a->bytes);
}

static void reclaim_part(struct __test_metadata *_metadata, struct case_ctx *c,
			 enum area_kind kind, int order, bool mglru)
{
	size_t touched, untouched, gone, evicted;
	static struct units u;
	static struct area a;

	order = real_order(order);
	CASE_NEEDS(case_mglru(c, mglru));
	if (kind != AREA_XFS)
		CASE_NEEDS(case_swap(c, 64 * MIB));
	AREA(c, &a, kind, area_size(order), order);
	find_units(&a, order, &u);
	ASSERT_EQ(0, area_age(&a)) TH_LOG("%s", case_why());
	touch_odd(&a, &u);
	/* Less than what was not touched. */
	EXPECT_EQ(0, reclaim_kind(c, kind, a.bytes / 4));
	count_units(&a, &u, 1, &touched, &gone);
	count_units(&a, &u, 0, &untouched, &evicted);
	/* Some of what went was our own: a few pages of code and stack. */
	EXPECT_GE(a.bytes - a.bytes / 4 + 64 * page_bytes(),
		  pages_present(a.at, a.bytes) * page_bytes())
		TH_LOG("less was evicted than was asked for");
	/*
	 * On MGLRU, touched memory that is swapped goes along with what was
	 * not: that it does not fare worse is all one can say.
	 */
	EXPECT_GE(mglru && kind != AREA_XFS ? evicted : 0, gone)
		TH_LOG("touched: %zu of %zu gone; others: %zu of %zu", gone,
		       gone + touched, evicted, evicted + untouched);

	reclaim_all_of(c, &a);
	EXPECT_EQ(0, pages_present(a.at, a.bytes));
	EXPECT_EQ(-1, area_wrong(&a));
}

/*
 * (design 8) On the classic LRU: what was touched stays while there is something
 * that was not, without touches all goes, and everything comes back as it was.
 */
CASE(kinds, classic_lru, 20)
{
	reclaim_part(_metadata, c, variant->kind, variant->order, false);
}

/* (design 8) The same on MGLRU. */
CASE(kinds, mglru, 20)
{
	reclaim_part(_metadata, c, variant->kind, variant->order, true);
}

static int flip_lru(struct peer *me, void *arg)
{
	(void)arg;
	peer_step(me);
	for (int i = 0; i < 20; i++) {
		int fd = open(LRU_GEN, O_WRONLY | O_CLOEXEC);

		if (fd < 0 || write(fd, i & 1 ? "0" : "7", 1) != 1)
			return 1;
		close(fd);
		guest_sleep(0.003);
	}
	return 0;
}

/* (design 8) One LRU gives way to the other, again and again, during reclaim. */
CASE(kinds, lru_is_switched, 20)
{
	int order = real_order(variant->order);
	static struct units u;
	static struct area a;
	struct peer peer;

	/* Recorded, so that it is put back. */
	CASE_NEEDS(case_mglru(c, true));
	if (variant->kind != AREA_XFS)
		CASE_NEEDS(case_swap(c, 64 * MIB));
	AREA(c, &a, variant->kind, area_size(order), order);
	find_units(&a, order, &u);
	ASSERT_EQ(0, peer_start(&peer, flip_lru, NULL));
	ASSERT_EQ(0, peer_meet(&peer));
	for (int i = 0; i < 6; i++) {
		touch_odd(&a, &u);
		reclaim_kind(c, a.kind, a.bytes / 2);
		EXPECT_EQ(-1, area_wrong(&a));
	}
	EXPECT_EQ(0, peer_end(&peer));
	/*
	 * Swap-backed folios that have been to and fro are at times left alone
	 * by the classic LRU of 6.12 (nothing is scanned); under MGLRU they go.
	 */
	if (a.kind != AREA_XFS)
		CASE_NEEDS(case_mglru(c, true));
	reclaim_all_of(c, &a);
	EXPECT_EQ(0, pages_present(a.at, a.bytes));
}

/* ---- MADV_FREE ------------------------------------------------------------------ */

CASES(lazyfree);

/*
 * (design 8) Of memory that was given up with MADV_FREE, pages that were written
 * since are there, whichever page of the folio it was; the others are there or
 * zero, never anything else.
 */
static void give_up(struct __test_metadata *_metadata, struct case_ctx *c,
		    int order, bool mglru)
{
	size_t page = page_bytes(), freed = 0;
	size_t unit = (size_t)1 << (order > 4 ? order : 4);
	/* Page of the unit that is written again, by unit. */
	const size_t again[] = { 0, unit - 1, unit / 2, SIZE_MAX };
	static struct area a;

	CASE_NEEDS(case_mglru(c, mglru));
	AREA(c, &a, AREA_ANON, order > 4 ? 8 * pmd_bytes() : MIB, order);
	area_forget(c, &a);
	ASSERT_EQ(0, madvise(a.at, a.bytes, MADV_FREE));
	for (size_t u = 0; u < a.bytes / page / unit; u++) {
		size_t at = (u * unit + again[u % 4]) * page;

		if (again[u % 4] != SIZE_MAX)
			fill(a.at + at, page, a.seed, at);
	}
	ASSERT_EQ(0, area_age(&a)) TH_LOG("%s", case_why());
	case_reclaim_all(c, 20);
	for (size_t p = 0; p < a.bytes / page; p++) {
		size_t u = p / unit, at = p * page;
		bool zero = zero_wrong(a.at + at, page) < 0;
		bool there = fill_wrong(a.at + at, page, a.seed, at) < 0;

		EXPECT_TRUE(there || (zero && p % unit != again[u % 4]))
			TH_LOG("page %zu of unit %zu, page %zu written again: %s",
			       p % unit, u, again[u % 4],
			       zero ? "lost" : "neither old nor zero");
		freed += zero;
	}
	EXPECT_LE(a.bytes / page / 4, freed)
		TH_LOG("what was not written again is still there");
}

CASE(lazyfree, single_pages, 20)
{
	give_up(_metadata, c, 0, false);
}

CASE(lazyfree, folios_of_64k, 20)
{
	give_up(_metadata, c, 4, false);
}

CASE(lazyfree, folios_of_64k_mglru, 20)
{
	give_up(_metadata, c, 4, true);
}

CASE(lazyfree, folios_of_2m, 20)
{
	give_up(_metadata, c, pmd_order(), false);
}

TEST_HARNESS_MAIN
