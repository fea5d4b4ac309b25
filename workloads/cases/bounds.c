/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where a batch has to end: at the page table, at the VMA, at a PTE that maps
 * something else or nothing.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/young_util.h"

CASE_PROGRAM("batches that end at a page table, a VMA, or a hole", 60, "quick");
CASES(bounds);

#define ORDER	4
#define HALF	8	/* of its pages */

/* Touched pages of a folio of 16 that is cut in the middle. */
static const struct {
	const char *name;
	uint64_t mask;
} cuts[] = {
	{ "none",				0x0000 },
	{ "first page",				0x0001 },
	{ "last page before the boundary",	0x0080 },
	{ "first page behind the boundary",	0x0100 },
	{ "second page behind the boundary",	0x0200 },
	{ "last page",				0x8000 },
	{ "all pages",				0xffff },
};
#define CUTS	ARRAY_SIZE(cuts)

/* Address space with @n boundaries of page tables inside. */
static unsigned char *tables(size_t n)
{
	return reserve((n + 1) * pmd_bytes(), pmd_bytes());
}

/*
 * Folios that lie across a boundary, @before pages of them before it, moved
 * there by mremap().
 */
static void straddle(struct __test_metadata *_metadata, struct case_ctx *c,
		     int order, size_t before)
{
	unsigned char *room, *from, *at[CUTS];
	int folio[CUTS];
	struct stage s;

	CASE_NEEDS(stage_make(c, &s, order, CUTS));
	room = tables(CUTS);
	from = stage_room(&s, CUTS);
	for (size_t i = 0; i < CUTS; i++) {
		unsigned char *to = room + (i + 1) * pmd_bytes() -
			before * s.page;

		STAGE_MAP_ONE(&s, folio[i], at[i],
			      stage_place(&s, from, i, 0));
		at[i] = mremap(at[i], s.bytes, s.bytes,
			       MREMAP_MAYMOVE | MREMAP_FIXED, to);
		ASSERT_EQ((void *)to, (void *)at[i]);
		/* Whatever mremap() did not carry along. */
		for (size_t p = 0; p < s.pages; p++)
			stage_touch(&s, at[i], p);
	}
	CASE_NEEDS(stage_age(&s));
	for (size_t i = 0; i < CUTS; i++)
		for (size_t bit = 0; bit < 16; bit++)
			if (cuts[i].mask >> bit & 1)
				stage_touch(&s, at[i], bit == 0 ? 0 :
					    bit == 15 ? s.pages - 1 :
					    before + bit - HALF);
	CASE_NEEDS(stage_look(&s));
	for (size_t i = 0; i < CUTS; i++) {
		EXPECT_DECISION(cuts[i].mask ? KEPT : GONE, &s, folio[i],
				cuts[i].name);
	}
	CASE_NEEDS(stage_settle(&s));
	for (size_t i = 0; i < CUTS; i++) {
		EXPECT_OLD(at[i], s.bytes, cuts[i].name);
	}
	EXPECT_EQ(0, stage_evict(&s));
}

/*
 * (design 2) A folio that mremap() put across the end of a page table is looked
 * at on both sides of it, as one.
 */
CASE(bounds, page_table_ends_in_the_folio, 20)
{
	straddle(_metadata, c, ORDER, HALF);
}

/* (design 2, 11) The same with whole contpte blocks on either side. */
CASE(bounds, page_table_ends_between_blocks, 20)
{
	straddle(_metadata, c, ORDER + 1, 16);
}

/*
 * (design 2) What a look does in one page table it does not do in the one that
 * happens to lie behind it in memory.  Two VMAs map the halves of a folio, one at
 * the end of a table, one at the start of another, and that is not the next one:
 * both are young, which is two references.
 */
CASE(bounds, next_page_table_in_memory, 20)
{
	enum { N = 24 };
	unsigned char *first, *second, *a[N], *b[N];
	int folio[N];
	struct stage s;

	CASE_NEEDS(stage_make(c, &s, ORDER, N));
	/* Every second table, so that the next one by address is another. */
	first = tables(2 * N);
	second = tables(2 * N);
	for (size_t i = 0; i < N; i++) {
		size_t pmd = (2 * i + 1) * pmd_bytes();

		folio[i] = stage_take(&s, 1);
		ASSERT_LE(0, folio[i]) TH_LOG("%s", case_why());
		/*
		 * All of the folio is in the first VMA, but its second half
		 * never gets mapped there.  Tables are allocated as they are
		 * needed: often one behind the other.
		 */
		a[i] = mmap(first + pmd - HALF * s.page, s.bytes,
			    PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
			    s.file.fd, (off_t)s.folios[folio[i]].offset);
		ASSERT_NE(MAP_FAILED, a[i]);
		for (size_t p = 0; p < HALF; p++)
			stage_touch(&s, a[i], p);
		b[i] = stage_map(&s, second + pmd, folio[i], HALF, HALF);
		ASSERT_NE(NULL, b[i]) TH_LOG("%s", case_why());
	}
	CASE_NEEDS(stage_age(&s));
	for (size_t i = 0; i < N; i++) {
		stage_touch(&s, a[i], 0);
		stage_touch(&s, b[i], 0);
	}
	CASE_NEEDS(stage_look(&s));
	for (size_t i = 0; i < N; i++) {
		EXPECT_DECISION(ACTIVE, &s, folio[i], "young in two VMAs");
	}
	EXPECT_EQ(0, stage_evict(&s));
}

/*
 * (design 3) A VMA that ends in the folio is one reference, and so is the one
 * that goes on behind it, though their PTEs are neighbours and look alike.
 */
CASE(bounds, vma_ends_in_the_folio, 20)
{
	unsigned char *at[CUTS];
	int folio[CUTS];
	struct stage s;

	CASE_NEEDS(stage_mapped(c, &s, ORDER, CUTS, 1, folio, at));
	for (size_t i = 0; i < CUTS; i++) {
		/* Another VMA from here on, with no PTE changed. */
		ASSERT_EQ(0, madvise(at[i] + HALF * s.page, HALF * s.page,
				     MADV_DONTDUMP));
	}
	CASE_NEEDS(stage_age(&s));
	for (size_t i = 0; i < CUTS; i++)
		stage_touch_mask(&s, at[i], cuts[i].mask);
	CASE_NEEDS(stage_look(&s));
	for (size_t i = 0; i < CUTS; i++) {
		bool both = cuts[i].mask & 0x00ff && cuts[i].mask & 0xff00;

		EXPECT_DECISION(!cuts[i].mask ? GONE : both ? ACTIVE : KEPT,
				&s, folio[i], cuts[i].name);
	}
	CASE_NEEDS(stage_settle(&s));
	for (size_t i = 0; i < CUTS; i++) {
		EXPECT_OLD(at[i], s.bytes, cuts[i].name);
	}
	EXPECT_EQ(0, stage_evict(&s));
}

/*
 * (design 3) References through a VMA that says it has no recency don't count,
 * even if they stand right behind the PTEs of one that does.
 */
CASE(bounds, neighbour_without_recency, 20)
{
	unsigned char *at[CUTS];
	int folio[CUTS];
	struct stage s;

	CASE_NEEDS(stage_mapped(c, &s, ORDER, CUTS, 1, folio, at));
	for (size_t i = 0; i < CUTS; i++) {
		ASSERT_EQ(0, madvise(at[i] + HALF * s.page, HALF * s.page,
				     MADV_RANDOM));
	}
	CASE_NEEDS(stage_age(&s));
	for (size_t i = 0; i < CUTS; i++)
		stage_touch_mask(&s, at[i], cuts[i].mask);
	CASE_NEEDS(stage_look(&s));
	for (size_t i = 0; i < CUTS; i++) {
		EXPECT_DECISION(cuts[i].mask & 0x00ff ? KEPT : GONE, &s,
				folio[i], cuts[i].name);
	}
	EXPECT_EQ(0, stage_evict(&s));
}

/* How a part of the folio's mapping can be taken away or changed. */
enum change { MUNMAP, READ_ONLY, NO_ACCESS, OTHER_MEMORY };

static int change(enum change how, unsigned char *at, size_t bytes)
{
	void *map;

	switch (how) {
	case MUNMAP:
		return munmap(at, bytes);
	case READ_ONLY:
		return mprotect(at, bytes, PROT_READ);
	case NO_ACCESS:
		return mprotect(at, bytes, PROT_NONE);
	case OTHER_MEMORY:
		map = mmap(at, bytes, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		return map == at ? 0 : -1;
	}
	return -1;
}

/*
 * The second half of each folio's mapping is changed; the first half is touched
 * by pattern, so is the second where it still can be.
 */
static void change_half(struct __test_metadata *_metadata, struct case_ctx *c,
			enum change how, size_t shift)
{
	unsigned char *at[CUTS];
	size_t half = HALF * page_bytes();
	int folio[CUTS];
	struct stage s;
	bool folded;

	CASE_NEEDS(stage_mapped(c, &s, ORDER, CUTS, shift, folio, at));
	for (size_t i = 0; i < CUTS; i++) {
		ASSERT_EQ(0, change(how, at[i] + half, half));
		if (how == OTHER_MEMORY)
			fill(at[i] + half, half, i, 0);
	}
	CASE_NEEDS(stage_age(&s));
	for (size_t i = 0; i < CUTS; i++) {
		bool all = how == READ_ONLY || how == OTHER_MEMORY;

		stage_touch_mask(&s, at[i], cuts[i].mask &
				 (all ? 0xffff : 0x00ff));
	}
	/*
	 * mprotect() to what the PTEs are already folds the block again, with
	 * one half in another VMA: then there is one young bit for both.
	 */
	folded = how == READ_ONLY &&
		pages_young(at[1], s.bytes) > 1;
	CASE_NEEDS(stage_look(&s));
	for (size_t i = 0; i < CUTS; i++) {
		bool first = cuts[i].mask & 0x00ff;
		bool second = how == READ_ONLY && cuts[i].mask & 0xff00;

		EXPECT_DECISION(first && second && !folded ? ACTIVE :
				first || second ? KEPT : GONE,
				&s, folio[i], cuts[i].name);
	}
	CASE_NEEDS(stage_settle(&s));
	for (size_t i = 0; i < CUTS; i++) {
		EXPECT_OLD(at[i], half, cuts[i].name);
		if (how != OTHER_MEMORY)
			continue;
		/* There is no swap: nobody looks at anonymous memory. */
		EXPECT_EQ(mask_pages(cuts[i].mask >> HALF, HALF),
			  pages_young(at[i] + half, half))
			TH_LOG("%s: young bits of the memory behind it",
			       cuts[i].name);
		EXPECT_EQ(-1, fill_wrong(at[i] + half, half, i, 0));
	}
	EXPECT_EQ(0, stage_evict(&s));
}

/* (design 3) munmap() of half: the rest decides, and stays reclaimable. */
CASE(bounds, munmap_of_half, 20)
{
	change_half(_metadata, c, MUNMAP, 1);
}

/* (design 3, 11) The same where that breaks up a contpte block. */
CASE(bounds, munmap_of_half_a_block, 20)
{
	change_half(_metadata, c, MUNMAP, 0);
}

/* (design 3) mprotect(PROT_READ) of half: two VMAs, each counts. */
CASE(bounds, mprotect_of_half, 20)
{
	change_half(_metadata, c, READ_ONLY, 1);
}

CASE(bounds, mprotect_of_half_a_block, 20)
{
	change_half(_metadata, c, READ_ONLY, 0);
}

/* (design 3) mprotect(PROT_NONE) of half: its PTEs end the batch. */
CASE(bounds, no_access_to_half, 20)
{
	change_half(_metadata, c, NO_ACCESS, 1);
}

/*
 * (design 3) MAP_FIXED over half: the anonymous memory that is there now keeps
 * its young bits and its content.
 */
CASE(bounds, other_memory_over_half, 20)
{
	change_half(_metadata, c, OTHER_MEMORY, 1);
}

CASE(bounds, other_memory_over_half_a_block, 20)
{
	change_half(_metadata, c, OTHER_MEMORY, 0);
}

/*
 * (design 7) PTEs that were zapped among present ones: every part of the folio
 * that is still mapped counts, on either side of a hole and between holes.
 */
CASE(bounds, holes, 20)
{
	static const struct {
		const char *name;
		uint64_t hole, touch;
	} row[] = {
		{ "hole at the start, touched behind it", 0x0001, 0x0002 },
		{ "hole at the end, touched before it", 0x8000, 0x4000 },
		{ "hole, touched right behind it", 0x0080, 0x0100 },
		{ "hole, touched two behind it", 0x0080, 0x0200 },
		{ "hole, last page touched", 0x0080, 0x8000 },
		{ "hole, touched right before it", 0x0080, 0x0040 },
		{ "every other a hole, last one touched", 0x5555, 0x8000 },
		{ "every other a hole, first one touched", 0xaaaa, 0x0001 },
		{ "all but the last a hole", 0x7fff, 0x8000 },
		{ "hole, all others touched", 0x0180, 0xfe7f },
		{ "hole, nothing touched", 0x0180, 0x0000 },
	};
	unsigned char *at[ARRAY_SIZE(row)];
	int folio[ARRAY_SIZE(row)];
	struct stage s;

	CASE_NEEDS(stage_mapped(c, &s, ORDER, ARRAY_SIZE(row), 1, folio, at));
	CASE_NEEDS(stage_age(&s));
	for (size_t i = 0; i < ARRAY_SIZE(row); i++) {
		for (size_t p = 0; p < s.pages; p++)
			if (row[i].hole >> p & 1) {
				ASSERT_EQ(0, madvise(at[i] + p * s.page, s.page,
						     MADV_DONTNEED));
			}
		stage_touch_mask(&s, at[i], row[i].touch);
		ASSERT_EQ(s.pages - mask_pages(row[i].hole, s.pages),
			  pages_present(at[i], s.bytes));
	}
	CASE_NEEDS(stage_look(&s));
	for (size_t i = 0; i < ARRAY_SIZE(row); i++) {
		EXPECT_DECISION(row[i].touch ? KEPT : GONE, &s, folio[i],
				row[i].name);
	}
	CASE_NEEDS(stage_settle(&s));
	for (size_t i = 0; i < ARRAY_SIZE(row); i++) {
		EXPECT_OLD(at[i], s.bytes, row[i].name);
	}
	EXPECT_EQ(0, stage_evict(&s));
}

/*
 * (design 7) Entries of swapped pages among present ones: a look passes over
 * them, and every page comes back as it was.
 */
CASE(bounds, swapped_among_present, 20)
{
	size_t pages = 16 * 16;
	static struct area a, fodder;
	size_t there;

	CASE_NEEDS(case_mglru(c, false));
	CASE_NEEDS(case_swap(c, 32 << 20));
	CASE_NEEDS(case_knob(c, "/proc/sys/vm/page-cluster", "0"));
	AREA(c, &a, AREA_ANON, pages * page_bytes(), ORDER);
	ASSERT_EQ(0, pageout(a.at, a.bytes)) TH_LOG("%s", case_why());
	ASSERT_EQ(0, pages_present(a.at, a.bytes));
	/* Back they come one by one, and not as the folios that they were. */
	CASE_NEEDS(thp_allow(c, AREA_ANON, 0));
	for (size_t i = 0; i < pages; i += 3)
		area_touch(&a, i, 1);
	there = pages_present(a.at, a.bytes);
	ASSERT_LT(0, there);
	ASSERT_GT(pages, there);
	CASE_NEEDS(anon_fodder(c, &fodder, a.bytes, 0));
	ASSERT_EQ(0, area_age(&a)) TH_LOG("%s", case_why());
	for (size_t i = 0; i < pages; i += 6)
		area_touch(&a, i, 1);
	CASE_NEEDS(anon_look(c, a.bytes));
	/* The others may have been made active when they came back. */
	for (size_t i = 0; i < pages; i += 6) {
		EXPECT_EQ(1, pages_present(a.at + i * page_bytes(),
					   page_bytes()))
			TH_LOG("page %zu", i);
	}
	EXPECT_EQ(-1, area_wrong(&a));
}

TEST_HARNESS_MAIN
