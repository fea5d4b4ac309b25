/* SPDX-License-Identifier: GPL-2.0 */
/* Locked memory as reclaim meets it in the page tables. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/young_util.h"

CASE_PROGRAM("mlock of large folios, whole and in part", 30, "quick");
CASES(mlock);

#define ORDER	4
#define HALF	8

#ifndef MLOCK_ONFAULT
#define MLOCK_ONFAULT	1
#endif

static bool has_flag(const struct stage *s, int folio, int flag)
{
	struct page_view v;

	return !frame_view(s->folios[folio].pfn, &v) && PV_HAS(&v, flag);
}

/*
 * (design 5) A locked folio is not evicted, touched or not; unlocked, it goes
 * like any other.
 */
CASE(mlock, whole_folio, 20)
{
	unsigned char *room, *at[3];
	int folio[3];
	struct stage s;

	CASE_NEEDS(stage_make(c, &s, ORDER, 3));
	room = stage_room(&s, 3);
	for (size_t i = 0; i < 3; i++) {
		STAGE_MAP_ONE(&s, folio[i], at[i],
			      stage_place(&s, room, i, i & 1));
		if (i < 2) {
			ASSERT_EQ(0, mlock(at[i], s.bytes));
		}
	}
	CASE_NEEDS(stage_age(&s));
	stage_touch(&s, at[0], s.pages - 1);
	CASE_NEEDS(stage_look(&s));
	for (size_t i = 0; i < 2; i++) {
		EXPECT_NE(GONE, stage_decision(&s, folio[i]));
		EXPECT_TRUE(has_flag(&s, folio[i], PV_UNEVICTABLE));
		EXPECT_EQ(s.pages, pages_present(at[i], s.bytes));
	}
	EXPECT_DECISION(GONE, &s, folio[2], "not locked, not touched");
	EXPECT_EQ(2 * s.pages, stage_evict(&s));

	for (size_t i = 0; i < 2; i++) {
		ASSERT_EQ(0, munlock(at[i], s.bytes));
	}
	CASE_NEEDS(stage_settle(&s));
	EXPECT_EQ(0, stage_evict(&s));
}

/*
 * (design 5) A large folio that was mapped into a VMA locked before carries no
 * mark; the look at it makes up for that, whether its PTEs are young or not.
 * Across the end of a page table the mark stays away, but the folio stays, too.
 */
CASE(mlock, missed_mlock_is_restored, 20)
{
	enum { OLD, YOUNG, ONE_YOUNG, STRADDLES, N };
	unsigned char *room, *tables, *at[N];
	int folio[N];
	struct stage s;

	CASE_NEEDS(stage_make(c, &s, ORDER, N));
	room = stage_room(&s, N);
	tables = reserve(2 * pmd_bytes(), pmd_bytes());
	for (size_t i = 0; i < N; i++) {
		unsigned char *to = stage_place(&s, room, i, i & 1);

		if (i == STRADDLES)
			to = tables + pmd_bytes() - HALF * s.page;
		folio[i] = stage_take(&s, 1);
		ASSERT_LE(0, folio[i]) TH_LOG("%s", case_why());
		at[i] = mmap(to, s.bytes, PROT_READ, MAP_SHARED | MAP_FIXED,
			     s.file.fd, (off_t)s.folios[folio[i]].offset);
		ASSERT_NE(MAP_FAILED, at[i]);
		ASSERT_EQ(0, mlock2(at[i], s.bytes, MLOCK_ONFAULT));
		for (size_t p = 0; p < s.pages; p++)
			stage_touch(&s, at[i], p);
		if (has_flag(&s, folio[i], PV_MLOCKED))
			SKIP(return, "this kernel marks large folios when they are mapped");
	}
	CASE_NEEDS(stage_age(&s));
	stage_touch_mask(&s, at[YOUNG], 0xffff);
	stage_touch(&s, at[ONE_YOUNG], 5);
	CASE_NEEDS(stage_look(&s));
	for (size_t i = 0; i < N; i++) {
		EXPECT_NE(GONE, stage_decision(&s, folio[i])) TH_LOG("%zu", i);
		EXPECT_EQ(s.pages, pages_present(at[i], s.bytes));
		EXPECT_EQ(i != STRADDLES, has_flag(&s, folio[i], PV_MLOCKED))
			TH_LOG("%zu", i);
	}
	EXPECT_EQ(N * s.pages, stage_evict(&s));
	for (size_t i = 0; i < N; i++) {
		ASSERT_EQ(0, munlock(at[i], s.bytes));
	}
	CASE_NEEDS(stage_settle(&s));
	EXPECT_EQ(0, stage_evict(&s));
}

/*
 * (design 5) Half of the folio is locked.  The locked half stays mapped; its
 * young bits are left alone and count for nothing; the other half decides.
 */
static void lock_half(struct __test_metadata *_metadata, struct case_ctx *c,
		      size_t first)
{
	static const uint64_t touch[] = {
		0x0000, 0x0001, 0x0080, 0x0100, 0x8000, 0x0180, 0xffff,
	};
	enum { N = ARRAY_SIZE(touch) };
	uint64_t lock_mask = (uint64_t)0xff << first;
	unsigned char *at[N];
	int folio[N];
	struct stage s;

	CASE_NEEDS(stage_mapped(c, &s, ORDER, N, 1, folio, at));
	for (size_t i = 0; i < N; i++) {
		/* Not mlock(2), which touches, and makes folios active. */
		ASSERT_EQ(0, mlock2(at[i] + first * s.page, HALF * s.page,
				    MLOCK_ONFAULT));
	}
	CASE_NEEDS(stage_age(&s));
	for (size_t i = 0; i < N; i++)
		stage_touch_mask(&s, at[i], touch[i]);
	CASE_NEEDS(stage_look(&s));
	for (size_t i = 0; i < N; i++) {
		/* Without a reference it fails to be unmapped: active. */
		EXPECT_DECISION(touch[i] & ~lock_mask ? KEPT : ACTIVE, &s,
				folio[i], "locked in part");
		EXPECT_EQ(HALF, pages_present(at[i] + first * s.page,
					      HALF * s.page));
	}
	CASE_NEEDS(stage_settle(&s));
	for (size_t i = 0; i < N; i++) {
		EXPECT_EQ(mask_pages(touch[i] & lock_mask, s.pages),
			  pages_young(at[i] + first * s.page, HALF * s.page))
			TH_LOG("touched 0x%x: young bits of the locked half",
			       (unsigned int)touch[i]);
		EXPECT_EQ(0, pages_young(at[i] + (HALF - first) * s.page,
					 HALF * s.page))
			TH_LOG("touched 0x%x: young bits of the other half",
			       (unsigned int)touch[i]);
	}
	EXPECT_EQ(N * s.pages, stage_evict(&s));
	for (size_t i = 0; i < N; i++) {
		ASSERT_EQ(0, munlock(at[i] + first * s.page, HALF * s.page));
	}
	EXPECT_EQ(0, stage_evict(&s));
}

CASE(mlock, first_half, 20)
{
	lock_half(_metadata, c, 0);
}

CASE(mlock, second_half, 20)
{
	lock_half(_metadata, c, HALF);
}

struct locker {
	struct stage *s;
	int folio;
	size_t first, pages;
};

/* Lock some pages, sleep, and tell at the end whether they stayed. */
static int lock_and_wait(struct peer *me, void *arg)
{
	struct locker *l = arg;
	struct stage *s = l->s;
	unsigned char *at = stage_place(s, stage_room(s, 1), 0, 1);

	if (!stage_map(s, at, l->folio, l->first, l->pages) ||
	    mlock2(at, l->pages * s->page, MLOCK_ONFAULT) || clear_refs(0, 1))
		return 1;
	peer_step(me);		/* locked */
	peer_step(me);		/* looked at */
	return pages_present(at, l->pages * s->page) == l->pages ? 0 : 2;
}

/*
 * (design 5) Another process has locked the folio, or a part of it: it stays,
 * and its pages stay mapped there, until that process is gone.
 */
CASE(mlock, by_another_process, 20)
{
	enum { WHOLE, PART, N };
	struct locker l[N];
	struct peer peer[N];
	unsigned char *at[N + 1];
	int folio[N + 1];
	struct stage s;

	CASE_NEEDS(stage_mapped(c, &s, ORDER, N + 1, 1, folio, at));
	for (size_t i = 0; i < N; i++) {
		l[i] = (struct locker){ &s, folio[i], i == PART ? 6 : 0,
					i == PART ? 4 : s.pages };
		ASSERT_EQ(0, peer_start(&peer[i], lock_and_wait, &l[i]))
			TH_LOG("%s", case_why());
		ASSERT_EQ(0, peer_meet(&peer[i]));
	}
	CASE_NEEDS(stage_age(&s));
	CASE_NEEDS(stage_look(&s));
	EXPECT_NE(GONE, stage_decision(&s, folio[WHOLE]));
	EXPECT_NE(TORN, stage_decision(&s, folio[WHOLE]));
	EXPECT_DECISION(ACTIVE, &s, folio[PART], "can't be unmapped");
	EXPECT_DECISION(GONE, &s, folio[N], "not locked");
	EXPECT_EQ(N * s.pages, stage_evict(&s));
	for (size_t i = 0; i < N; i++) {
		ASSERT_EQ(0, peer_meet(&peer[i]));
		EXPECT_EQ(0, peer_end(&peer[i]));
	}
	EXPECT_EQ(0, stage_evict(&s));
}

TEST_HARNESS_MAIN
