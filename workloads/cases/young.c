/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What reclaim learns from the young bits of a large folio, and what it leaves
 * of them.  The reference is a kernel that looks at each PTE by itself.
 */
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/young_util.h"

CASE_PROGRAM("young bits of large folios: seen, cleared, flushed", 40, "quick");
CASES(young);

#define ORDER	4	/* 64K with 4K pages: a contpte block of arm64 */

/* Which pages of a folio of 16 are touched. */
static const struct pattern {
	const char *name;
	uint64_t mask;
} patterns[] = {
	{ "none",		0x0000 },
	{ "all",		0xffff },
	{ "the first",		0x0001 },
	{ "the second",		0x0002 },
	{ "one in the middle",	0x0080 },
	{ "the last but one",	0x4000 },
	{ "the last",		0x8000 },
	{ "both ends",		0x8001 },
	{ "every other",	0x5555 },
	{ "the others",		0xaaaa },
	{ "a few",		0x1248 },
	{ "the first half",	0x00ff },
	{ "the second half",	0xff00 },
};
#define PATTERNS	ARRAY_SIZE(patterns)

/*
 * Map each pattern's folio @shift pages off its natural place, touch, look:
 * what was touched anywhere is kept once, what was not is evicted, and the look
 * leaves no PTE young, so that a second one without touches evicts the rest.
 */
static void look_at_patterns(struct __test_metadata *_metadata,
			     struct case_ctx *c, size_t shift, bool mglru)
{
	unsigned char *at[PATTERNS];
	int folio[PATTERNS];
	struct stage s;

	CASE_NEEDS(stage_mapped(c, &s, ORDER, PATTERNS, shift, folio, at));
	CASE_NEEDS(stage_age(&s));
	for (size_t i = 0; i < PATTERNS; i++)
		stage_touch_mask(&s, at[i], patterns[i].mask);
	/* The premise: with PTEs of its own each page is young by itself. */
	for (size_t i = 0; shift && i < PATTERNS; i++) {
		ASSERT_EQ(mask_pages(patterns[i].mask, s.pages),
			  pages_young(at[i], s.bytes))
			TH_LOG("%s, before the look", patterns[i].name);
	}

	if (mglru)
		CASE_NEEDS(case_mglru(c, true));
	CASE_NEEDS(stage_look(&s));
	for (size_t i = 0; i < PATTERNS; i++) {
		/* A generation is not told from another by a folio's flags. */
		enum decision then = stage_decision(&s, folio[i]);

		if (mglru && then != GONE)
			then = KEPT;
		EXPECT_EQ(patterns[i].mask ? KEPT : GONE, then)
			TH_LOG("%s: %s", patterns[i].name, decision_name(then));
	}
	CASE_NEEDS(stage_settle(&s));
	for (size_t i = 0; i < PATTERNS; i++) {
		EXPECT_OLD(at[i], s.bytes, patterns[i].name);
	}
	EXPECT_EQ(0, stage_evict(&s));
}

/*
 * (design 1) With PTEs that are young one by one, every pattern of touched pages
 * keeps the folio for exactly one more round, none does not, and afterwards no
 * PTE is young.
 */
CASE(young, patterns_of_single_ptes, 20)
{
	look_at_patterns(_metadata, c, 1, false);
}

/*
 * (design 1, 11) The same where arm64 folds the PTEs into a contpte block: a
 * page touched anywhere in it counts for the folio, and once.
 */
CASE(young, patterns_of_folded_ptes, 20)
{
	look_at_patterns(_metadata, c, 0, false);
}

/* (design 1, 8) With MGLRU: the same patterns keep, and none evicts. */
CASE(young, patterns_of_single_ptes_mglru, 20)
{
	look_at_patterns(_metadata, c, 1, true);
}

CASE(young, patterns_of_folded_ptes_mglru, 20)
{
	look_at_patterns(_metadata, c, 0, true);
}

/*
 * (design 1, 8) With MGLRU, a page that is alone in its VMA, so that there is no
 * neighbour to look around at: seen once, and old afterwards.
 */
CASE(young, single_page_vmas_mglru, 20)
{
	enum { N = 8 };
	unsigned char *room, *at[N];
	int folio[N];
	struct stage s;

	CASE_NEEDS(stage_make(c, &s, ORDER, N));
	room = stage_room(&s, N);
	for (size_t i = 0; i < N; i++) {
		folio[i] = stage_take(&s, 1);
		ASSERT_LE(0, folio[i]) TH_LOG("%s", case_why());
		at[i] = stage_map(&s, stage_place(&s, room, i, i), folio[i],
				  2 * i, 1);
		ASSERT_NE(NULL, at[i]) TH_LOG("%s", case_why());
	}
	CASE_NEEDS(stage_age(&s));
	for (size_t i = 0; i < N; i += 2)
		stage_touch(&s, at[i], 0);
	CASE_NEEDS(case_mglru(c, true));
	CASE_NEEDS(stage_look(&s));
	for (size_t i = 0; i < N; i++) {
		EXPECT_EQ(i & 1, stage_decision(&s, folio[i]) == GONE)
			TH_LOG("folio %zu", i);
	}
	CASE_NEEDS(stage_settle(&s));
	for (size_t i = 0; i < N; i++) {
		EXPECT_EQ(0, pages_young(at[i], s.page))
			TH_LOG("folio %zu: still young after the look", i);
	}
	EXPECT_EQ(0, stage_evict(&s));
}

/*
 * (design 1) A folio's look ends with its last PTE: the PTEs of the folios before
 * and behind it in the same VMA keep their young bits until their own turn.
 */
static void look_at_neighbours(struct __test_metadata *_metadata,
			       struct case_ctx *c, size_t shift)
{
	/* Rows of folios; untouched ones between those touched at one end. */
	static const uint64_t row[] = {
		0, 0x0001, 0, 0x8000, 0, 0x0001, 0x8000, 0, 0x8001, 0x0001, 0,
	};
	int first;
	struct stage s;
	unsigned char *at;

	CASE_NEEDS(stage_make(c, &s, ORDER, ARRAY_SIZE(row)));
	first = stage_take(&s, ARRAY_SIZE(row));
	ASSERT_LE(0, first) TH_LOG("%s", case_why());
	at = stage_place(&s, stage_room(&s, ARRAY_SIZE(row)), 0, shift);
	at = mmap(at, ARRAY_SIZE(row) * s.bytes, PROT_READ | PROT_WRITE,
		  MAP_SHARED | MAP_FIXED, s.file.fd,
		  (off_t)s.folios[first].offset);
	ASSERT_NE(MAP_FAILED, at);
	for (size_t i = 0; i < ARRAY_SIZE(row) * s.pages; i++)
		stage_touch(&s, at, i);

	CASE_NEEDS(stage_age(&s));
	for (size_t i = 0; i < ARRAY_SIZE(row); i++)
		stage_touch_mask(&s, at + i * s.bytes, row[i]);
	CASE_NEEDS(stage_look(&s));
	for (size_t i = 0; i < ARRAY_SIZE(row); i++) {
		char what[32];

		snprintf(what, sizeof(what), "folio %zu of the row", i);
		EXPECT_DECISION(row[i] ? KEPT : GONE, &s, first + (int)i, what);
	}
	CASE_NEEDS(stage_settle(&s));
	EXPECT_EQ(0, pages_young(at, ARRAY_SIZE(row) * s.bytes));
	EXPECT_EQ(0, stage_evict(&s));
}

CASE(young, neighbours_of_single_ptes, 20)
{
	look_at_neighbours(_metadata, c, 1);
}

CASE(young, neighbours_of_folded_ptes, 20)
{
	look_at_neighbours(_metadata, c, 0);
}

/*
 * (design 1) References count by VMA and by round, not by PTE: a folio of which
 * all pages were touched stays inactive; touched again in the next round it
 * becomes active; in two VMAs at once it becomes active at the first look.
 */
CASE(young, counted_once_a_vma, 20)
{
	enum { ONE_ROUND, TWO_ROUNDS, TWO_VMAS, TWO_VMAS_ONE_YOUNG, N };
	unsigned char *room, *at[N], *other[N] = { NULL };
	int folio[N];
	struct stage s;

	CASE_NEEDS(stage_make(c, &s, ORDER, N));
	room = stage_room(&s, 2 * N);
	for (size_t i = 0; i < N; i++) {
		STAGE_MAP_ONE(&s, folio[i], at[i], stage_place(&s, room, i, 1));
		if (i != TWO_VMAS && i != TWO_VMAS_ONE_YOUNG)
			continue;
		other[i] = stage_map(&s, stage_place(&s, room, N + i, 0), folio[i],
				     0, s.pages);
		ASSERT_NE(NULL, other[i]) TH_LOG("%s", case_why());
	}
	CASE_NEEDS(stage_age(&s));
	stage_touch_mask(&s, at[ONE_ROUND], 0xffff);
	stage_touch_mask(&s, at[TWO_ROUNDS], 0xffff);
	stage_touch_mask(&s, at[TWO_VMAS], 0xffff);
	stage_touch_mask(&s, other[TWO_VMAS], 0x8000);
	stage_touch_mask(&s, other[TWO_VMAS_ONE_YOUNG], 0xffff);
	CASE_NEEDS(stage_look(&s));
	EXPECT_DECISION(KEPT, &s, folio[ONE_ROUND], "all pages");
	EXPECT_DECISION(KEPT, &s, folio[TWO_ROUNDS], "all pages");
	EXPECT_DECISION(ACTIVE, &s, folio[TWO_VMAS], "two VMAs");
	EXPECT_DECISION(KEPT, &s, folio[TWO_VMAS_ONE_YOUNG], "one of two VMAs");

	CASE_NEEDS(stage_stock(&s));
	/* Where no flush comes with the clearing, another process does it. */
	if (!fork())
		_exit(0);
	wait(NULL);
	stage_touch_mask(&s, at[TWO_ROUNDS], 0x0100);
	CASE_NEEDS(stage_look(&s));
	EXPECT_DECISION(GONE, &s, folio[ONE_ROUND], "no touch since");
	EXPECT_DECISION(ACTIVE, &s, folio[TWO_ROUNDS], "touched in two rounds");
	EXPECT_EQ(0, stage_evict(&s));
}

/*
 * (design 1, 11) With the young bit goes the TLB's entry: a page that is touched
 * after the look, by the process that never left the CPU, is young again.
 * Pages at either end of a batch, of a contpte block, and alone.
 */
CASE(young, touch_after_the_look_is_seen, 20)
{
	static const struct {
		uint64_t before, after;
		size_t shift;
	} row[] = {
		{ 0x0001, 0x0001, 1 }, { 0x8000, 0x8000, 1 },
		{ 0x0080, 0x0080, 1 }, { 0xffff, 0x8000, 1 },
		{ 0x8001, 0x0001, 1 }, { 0x8001, 0x8000, 1 },
		{ 0x0001, 0x0001, 0 }, { 0x8000, 0x8000, 0 },
		{ 0x0080, 0x0080, 0 }, { 0xffff, 0x8000, 0 },
		{ 0x8001, 0x0001, 0 }, { 0x8001, 0x8000, 0 },
	};
	unsigned char *room, *at[ARRAY_SIZE(row)];
	int folio[ARRAY_SIZE(row)];
	struct stage s;

	if (!cont_pages())
		SKIP(return, "x86 leaves the TLB alone when it clears a young bit, by design");
	CASE_NEEDS(stage_make(c, &s, ORDER, ARRAY_SIZE(row)));
	room = stage_room(&s, ARRAY_SIZE(row));
	/*
	 * One look for each, as the flush for another may be larger than was
	 * asked for and hide that one is missing: the others are locked.
	 */
	for (size_t i = 0; i < ARRAY_SIZE(row); i++) {
		STAGE_MAP_ONE(&s, folio[i], at[i],
			      stage_place(&s, room, i, row[i].shift));
		ASSERT_EQ(0, mlock2(at[i], s.bytes, 1 /* MLOCK_ONFAULT */));
	}
	for (size_t i = 0; i < ARRAY_SIZE(row); i++) {
		ASSERT_EQ(0, munlock(at[i], s.bytes));
		CASE_NEEDS(stage_age(&s));
		stage_touch_mask(&s, at[i], row[i].before);
		CASE_NEEDS(stage_look(&s));
		stage_touch_mask(&s, at[i], row[i].after);

		EXPECT_DECISION(KEPT, &s, folio[i], "touched before the look");
		CASE_NEEDS(stage_settle(&s));
		EXPECT_LT(0, pages_young(at[i], s.bytes))
			TH_LOG("touched 0x%llx, looked, touched 0x%llx%s: not seen",
			       (unsigned long long)row[i].before,
			       (unsigned long long)row[i].after,
			       row[i].shift ? "" : " in a block");
		ASSERT_EQ(0, munmap(at[i], s.bytes));
	}
}

/*
 * (design 10) Idle page tracking and reclaim take young bits from each other, and
 * none gets lost: what the tracker has cleared still counts for reclaim, what
 * reclaim has cleared still makes the folio not idle, and after a look a folio
 * that nobody touches is idle.
 */
CASE(young, idle_bits_keep_their_meaning, 20)
{
	enum { TRACKER_FIRST, RECLAIM_FIRST, AFTERWARDS, N };
	unsigned char *at[N];
	int folio[N];
	struct page_view v;
	struct stage s;
	bool idle;

	CASE_NEEDS(stage_mapped(c, &s, ORDER, N, 1, folio, at));
	CASE_NEEDS(stage_age(&s));
	CASE_NEEDS(idle_set(s.folios[folio[RECLAIM_FIRST]].pfn));
	ASSERT_EQ(0, idle_get(s.folios[folio[RECLAIM_FIRST]].pfn, &idle));
	ASSERT_TRUE(idle);
	stage_touch(&s, at[TRACKER_FIRST], s.pages - 1);
	stage_touch(&s, at[RECLAIM_FIRST], s.pages - 1);
	stage_touch(&s, at[AFTERWARDS], s.pages - 1);
	/* Moves the young bit from the PTE to the folio. */
	ASSERT_EQ(0, idle_set(s.folios[folio[TRACKER_FIRST]].pfn));

	CASE_NEEDS(stage_look(&s));
	EXPECT_DECISION(KEPT, &s, folio[TRACKER_FIRST],
			"found young by the idle tracker");
	EXPECT_DECISION(KEPT, &s, folio[RECLAIM_FIRST], "set idle, then touched");
	ASSERT_EQ(0, frame_view(s.folios[folio[RECLAIM_FIRST]].pfn, &v));
	EXPECT_FALSE(PV_HAS(&v, PV_IDLE));

	ASSERT_EQ(0, idle_set(s.folios[folio[AFTERWARDS]].pfn));
	ASSERT_EQ(0, idle_get(s.folios[folio[AFTERWARDS]].pfn, &idle));
	EXPECT_TRUE(idle);
	CASE_NEEDS(stage_settle(&s));
	EXPECT_EQ(0, stage_evict(&s));
}

/*
 * (design 10) A look at a folio leaves soft-dirty to the one page that was
 * written since it was cleared.
 */
CASE(young, soft_dirty_stays_with_its_page, 20)
{
	struct page_view v;
	unsigned char *at;
	struct stage s;
	int folio;

	CASE_NEEDS(stage_mapped(c, &s, ORDER, 1, 1, &folio, &at));
	/* A mapping that is new is soft-dirty as a whole. */
	ASSERT_EQ(0, page_view(0, at, &v));
	if (!v.soft_dirty)
		SKIP(return, "no soft-dirty in this kernel (CONFIG_MEM_SOFT_DIRTY)");
	ASSERT_EQ(0, clear_refs(0, 4)) TH_LOG("%s", case_why());
	CASE_NEEDS(stage_age(&s));
	/* The byte that is there already: contents stay as they were. */
	*(volatile unsigned char *)(at + 5 * s.page) = at[5 * s.page];
	for (size_t i = 0; i < s.pages; i++) {
		ASSERT_EQ(0, page_view(0, at + i * s.page, &v));
		ASSERT_EQ(i == 5, v.soft_dirty) TH_LOG("page %zu", i);
	}
	CASE_NEEDS(stage_look(&s));
	EXPECT_DECISION(KEPT, &s, folio, "written");
	for (size_t i = 0; i < s.pages; i++) {
		ASSERT_EQ(0, page_view(0, at + i * s.page, &v));
		EXPECT_EQ(i == 5, v.soft_dirty) TH_LOG("page %zu", i);
	}
}

/*
 * (design 11) A folio of which one contpte block is folded and the other, though
 * present, is not: both are seen, whichever comes first.
 */
CASE(young, folded_beside_single_ptes, 20)
{
	static const struct {
		const char *name;
		size_t touch;	/* page of the folio; 32: none */
		int single;	/* which block is not folded */
	} row[] = {
		{ "second single, its first page", 16, 1 },
		{ "second single, its second page", 17, 1 },
		{ "second single, its last page", 31, 1 },
		{ "second single, first block", 15, 1 },
		{ "second single, nothing", 32, 1 },
		{ "first single, its first page", 0, 0 },
		{ "first single, its last page", 15, 0 },
		{ "first single, first page of the block", 16, 0 },
		{ "first single, nothing", 32, 0 },
	};
	unsigned char *at[ARRAY_SIZE(row)];
	int folio[ARRAY_SIZE(row)];
	struct stage s;

	if (cont_pages() != 16)
		SKIP(return, "no contpte blocks of 16 pages on this machine");
	CASE_NEEDS(stage_mapped(c, &s, ORDER + 1, ARRAY_SIZE(row), 0, folio,
				at));
	for (size_t i = 0; i < ARRAY_SIZE(row); i++) {
		size_t hole = row[i].single ? 16 + 5 : 5;

		/* The hole unfolds the block; to fill it does not fold it. */
		ASSERT_EQ(0, madvise(at[i] + hole * s.page, s.page,
				     MADV_DONTNEED));
		stage_touch(&s, at[i], hole);
	}
	CASE_NEEDS(stage_age(&s));
	for (size_t i = 0; i < ARRAY_SIZE(row); i++) {
		bool single = (row[i].touch >= 16) == row[i].single;

		if (row[i].touch == 32)
			continue;
		stage_touch(&s, at[i], row[i].touch);
		ASSERT_EQ(single ? 1 : 16, pages_young(at[i], s.bytes))
			TH_LOG("%s: not folded as it should", row[i].name);
	}
	CASE_NEEDS(stage_look(&s));
	for (size_t i = 0; i < ARRAY_SIZE(row); i++) {
		EXPECT_DECISION(row[i].touch < 32 ? KEPT : GONE, &s, folio[i],
				row[i].name);
	}
	CASE_NEEDS(stage_settle(&s));
	for (size_t i = 0; i < ARRAY_SIZE(row); i++) {
		EXPECT_OLD(at[i], s.bytes, row[i].name);
	}
	EXPECT_EQ(0, stage_evict(&s));
}

/*
 * (design 11) A VMA that begins or ends inside a contpte block: the block's young
 * bit is one, it is cleared with the first part that is looked at, and counts
 * once.  A page touched in it afterwards, in either VMA, is seen.
 */
CASE(young, block_in_two_vmas, 20)
{
	static const struct {
		uint64_t touch, again;
	} row[] = {
		{ 0x0001, 0x0001 }, { 0x1000, 0x1000 }, { 0x1001, 0x1000 },
		{ 0x1001, 0x0001 }, { 0x8001, 0x8000 }, { 0x0180, 0x0100 },
		{ 0x0180, 0x0080 }, { 0x0000, 0x0000 },
	};
	unsigned char *at[ARRAY_SIZE(row)];
	int folio[ARRAY_SIZE(row)];
	struct stage s;

	if (cont_pages() != 16)
		SKIP(return, "no contpte blocks of 16 pages on this machine");
	CASE_NEEDS(stage_mapped(c, &s, ORDER, ARRAY_SIZE(row), 0, folio, at));
	for (size_t i = 0; i < ARRAY_SIZE(row); i++) {
		ASSERT_EQ(0, madvise(at[i] + 8 * s.page, 8 * s.page,
				     MADV_DONTDUMP));
	}
	CASE_NEEDS(stage_age(&s));
	for (size_t i = 0; i < ARRAY_SIZE(row); i++) {
		stage_touch_mask(&s, at[i], row[i].touch);
		ASSERT_EQ(row[i].touch ? 16 : 0, pages_young(at[i], s.bytes))
			TH_LOG("the block is not folded");
	}
	CASE_NEEDS(stage_look(&s));
	for (size_t i = 0; i < ARRAY_SIZE(row); i++)
		stage_touch_mask(&s, at[i], row[i].again);
	for (size_t i = 0; i < ARRAY_SIZE(row); i++) {
		EXPECT_DECISION(row[i].touch ? KEPT : GONE, &s, folio[i],
				"a block in two VMAs");
	}
	CASE_NEEDS(stage_settle(&s));
	for (size_t i = 0; i < ARRAY_SIZE(row); i++) {
		EXPECT_EQ(row[i].again ? 16 : 0, pages_young(at[i], s.bytes))
			TH_LOG("touched 0x%llx, looked, touched 0x%llx",
			       (unsigned long long)row[i].touch,
			       (unsigned long long)row[i].again);
	}
	/* All that was touched again is old after one more look. */
	CASE_NEEDS(stage_stock(&s));
	CASE_NEEDS(stage_look(&s));
	CASE_NEEDS(stage_settle(&s));
	EXPECT_EQ(0, pages_young(at[0], (ARRAY_SIZE(row) + 1) * 4 *
				 s.bytes));
	EXPECT_EQ(0, stage_evict(&s));
}

/*
 * (design 11) Young and dirty of a contpte block are those of any of its PTEs,
 * whichever one is read, and whatever the others' bits are.
 */
CASE(young, bits_of_a_block_are_gathered, 20)
{
	size_t page = page_bytes(), bytes;
	static struct area a;
	unsigned char *at;

	if (cont_pages() != 16)
		SKIP(return, "no contpte blocks of 16 pages on this machine");
	bytes = 16 * page;
	AREA(c, &a, AREA_ANON, 4 * bytes, ORDER);
	for (size_t i = 0; i < 4; i++) {
		ASSERT_EQ(0, area_age(&a)) TH_LOG("%s", case_why());
		area_touch(&a, i * 16 + i * 5, 1);
		EXPECT_EQ(16, pages_young(a.at, a.bytes))
			TH_LOG("dirty block %zu, page %zu touched", i, i * 5);
	}

	CASE_NEEDS(thp_allow(c, AREA_SHMEM, ORDER));
	at = reserve(bytes, pmd_bytes());
	ASSERT_EQ(at, mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED |
			   MAP_ANONYMOUS | MAP_FIXED, -1, 0));
	for (size_t i = 0; i < 16; i++)
		(void)*(volatile unsigned char *)(at + i * page);
	if (smaps_get(0, at, bytes, "Private_Dirty") ||
	    pages_of_order(at, bytes, ORDER) != 16)
		SKIP(return, "reading shmem gives no clean folios here");
	at[7 * page] = 1;
	EXPECT_EQ(bytes, smaps_get(0, at, bytes, "Private_Dirty"));
}

/* ---- memory that is swapped ---------------------------------------------------- */

#define ANON_FOLIOS	8

static void write_pages(const struct area *a, uint64_t mask, uint64_t seed)
{
	size_t page = page_bytes();

	for (size_t at = 0; at < a->bytes; at += page)
		if (mask >> at / page % 16 & 1)
			fill(a->at + at, page, seed, at);
}

/* Offset of the first page that is not as write_pages() or make left it, -1. */
static int64_t pages_wrong(const struct area *a, uint64_t mask, uint64_t seed)
{
	size_t page = page_bytes();

	for (size_t at = 0; at < a->bytes; at += page) {
		bool written = mask >> at / page % 16 & 1;

		if (fill_wrong(a->at + at, page, written ? seed : a->seed,
			       at) >= 0)
			return (int64_t)at;
	}
	return -1;
}

/* The other process: it has a copy of one half, and keeps what was in it. */
static int keep_half(struct peer *me, void *arg)
{
	const struct area *a = arg;
	size_t half = 8 * page_bytes();

	peer_step(me);		/* there */
	peer_step(me);		/* the maker has written */
	for (size_t at = 0; at < a->bytes; at += 2 * half)
		if (fill_wrong(a->at + at, half, a->seed, at) >= 0)
			return 1;
	return 0;
}

/*
 * (design 4) One folio whose PTEs may be written in one half and not in the
 * other: shared with a forked process where MADV_DONTFORK was not, one VMA again
 * after MADV_DOFORK.  A look leaves each PTE its own permission: what is written
 * afterwards does not show in the other process, and nothing is lost.
 */
CASE(young, write_bits_stay_with_their_page, 20)
{
	size_t half = 8 * page_bytes();
	static struct area a, fodder;	/* used behind the body */
	struct peer peer;

	CASE_NEEDS(case_mglru(c, false));
	CASE_NEEDS(case_swap(c, 32 << 20));
	AREA(c, &a, AREA_ANON, ANON_FOLIOS * 2 * half, ORDER);
	area_forget(c, &a);
	CASE_NEEDS(anon_fodder(c, &fodder, a.bytes, ORDER));
	for (size_t at = half; at < a.bytes; at += 2 * half) {
		ASSERT_EQ(0, madvise(a.at + at, half, MADV_DONTFORK));
	}
	ASSERT_EQ(0, peer_start(&peer, keep_half, &a)) TH_LOG("%s", case_why());
	ASSERT_EQ(0, peer_meet(&peer));
	ASSERT_EQ(0, madvise(a.at, a.bytes, MADV_DOFORK));
	ASSERT_EQ(0, area_age(&a)) TH_LOG("%s", case_why());
	for (size_t f = 0; f < ANON_FOLIOS; f++)
		area_touch(&a, f * 16 + f, 16 - f);
	CASE_NEEDS(anon_look(c, a.bytes));
	EXPECT_EQ(a.bytes / page_bytes(), pages_present(a.at, a.bytes))
		TH_LOG("young folios were swapped out");
	EXPECT_EQ(-1, pages_wrong(&a, 0, 0));

	write_pages(&a, 0xffff, 77);
	ASSERT_EQ(0, peer_meet(&peer));
	EXPECT_EQ(0, peer_end(&peer))
		TH_LOG("a write shows in the other process");
	EXPECT_EQ(-1, pages_wrong(&a, 0xffff, 77));
	case_reclaim_all(c, 4);
	EXPECT_EQ(-1, pages_wrong(&a, 0xffff, 77));
}

/*
 * (design 1) A look leaves each PTE its own dirty bit, where that is the only
 * thing that knows of a write: shmem that was read first, and written by pages.
 */
CASE(young, dirty_bits_stay_with_their_page, 20)
{
	static const uint64_t written[] = { 0xaaaa, 0x8000, 0x0002, 0x5554 };
	static struct area a = { .kind = AREA_SHMEM, .fd = -1 }, fodder;
	size_t page = page_bytes(), folio = page << ORDER;

	CASE_NEEDS(case_mglru(c, false));
	CASE_NEEDS(case_swap(c, 32 << 20));
	CASE_NEEDS(thp_allow(c, AREA_SHMEM, ORDER));
	a.bytes = ARRAY_SIZE(written) * folio;
	a.at = area_map(&a, NULL, 0, a.bytes, PROT_READ | PROT_WRITE);
	ASSERT_NE(NULL, a.at);
	/* Order by order, or read faults allocate single pages: see below. */
	area_touch(&a, 0, a.bytes / page);
	if (pages_of_order(a.at, a.bytes, ORDER) != a.bytes / page)
		SKIP(return, "reading gives no shmem folios of order %d", ORDER);
	CASE_NEEDS(anon_fodder(c, &fodder, a.bytes, ORDER));
	for (size_t i = 0; i < ARRAY_SIZE(written); i++) {
		for (size_t p = 0; p < 16; p++)
			if (written[i] >> p & 1)
				fill(a.at + i * folio + p * page, page, i, p);
	}
	ASSERT_EQ(0, area_age(&a)) TH_LOG("%s", case_why());
	area_touch(&a, 0, a.bytes / page);
	CASE_NEEDS(anon_look(c, a.bytes));
	EXPECT_EQ(a.bytes / page, pages_present(a.at, a.bytes))
		TH_LOG("young folios were swapped out");
	case_reclaim_all(c, 8);
	EXPECT_EQ(0, pages_present(a.at, a.bytes));
	for (size_t i = 0; i < ARRAY_SIZE(written); i++) {
		for (size_t p = 0; p < 16; p++) {
			unsigned char *at = a.at + i * folio + p * page;

			EXPECT_EQ(-1, written[i] >> p & 1 ?
				  fill_wrong(at, page, i, p) :
				  zero_wrong(at, page))
				TH_LOG("folio %zu, page %zu", i, p);
		}
	}
}

TEST_HARNESS_MAIN
