/* SPDX-License-Identifier: GPL-2.0 */
/*
 * young_util - one look of reclaim at chosen folios, and what came of it.
 *
 * A stage is a file whose folios ("targets") the case maps and touches as it
 * likes.  A look is a request to memory.reclaim that is sure to meet each of
 * them, and no one twice: they are at the cold end of the inactive list, and
 * behind them there is more of clean, unmapped page cache ("fodder") than is
 * asked for.  Fodder is not mapped, so evicting it flushes no TLB, and nothing
 * but the look at the targets changes what a CPU knows of them.
 *
 * What reclaim decided is read off the folio: gone, kept where it was (a
 * reference was seen in one VMA), or made active (in more than one).
 */
#ifndef FOLAB_CASES_YOUNG_UTIL_H
#define FOLAB_CASES_YOUNG_UTIL_H

#include "cases.h"

#define STAGE_FOLIOS	128

enum decision {
	GONE,		/* not one page is in the page cache */
	KEPT,		/* all are; inactive, and marked as referenced */
	ACTIVE,		/* all are; active */
	TORN,		/* some pages are and some are not */
	COLD,		/* all are; inactive and not marked: no look came by */
};
const char *decision_name(enum decision d);

struct stage {
	struct case_ctx *c;
	struct area file;
	int order;
	size_t page;		/* bytes of a base page */
	size_t pages;		/* pages of a folio */
	size_t bytes;		/* bytes of a folio */
	size_t n;		/* folios of the order, in the file's order */
	struct stage_folio {
		size_t offset;	/* in the file */
		uint64_t pfn;	/* of the first page */
	} folios[STAGE_FOLIOS];
	size_t used;		/* folios that were given out */
	struct area fodder;
};

/*
 * Make a stage of at least @folios folios, none of them mapped, referenced or
 * dirty, and the classic LRU.  0, -1, or 1: this machine can't.
 */
int stage_make(struct case_ctx *c, struct stage *s, int order, size_t folios);
/*
 * Give out @n folios that follow each other in the file: index of the first one,
 * -1 if there are no more.
 */
int stage_take(struct stage *s, size_t n);
/*
 * Map @pages pages, from page @first of folio @folio on, at @at (MAP_FIXED,
 * shared, read and write), and fault each in by reading it.  NULL: why is in
 * case_why().
 */
void *stage_map(struct stage *s, void *at, int folio, size_t first,
		size_t pages);
/*
 * All PTEs of this process old, no folio referenced, the TLB without them; and
 * fodder for a look.
 */
int stage_age(struct stage *s);
/* Fodder for one more look, and nothing else changed. */
int stage_stock(struct stage *s);
/* Read page @page of those mapped at @at / each page whose bit is set. */
void stage_touch(struct stage *s, void *at, size_t page);
void stage_touch_mask(struct stage *s, void *at, uint64_t mask);
/*
 * One look at all targets that are still there, behind stage_age() or
 * stage_stock().  The caller's own write(2): no other process runs.
 */
int stage_look(struct stage *s);
enum decision stage_decision(struct stage *s, int folio);
/*
 * Take the referenced flag from all folios but leave the PTEs of this process
 * alone, so that pages_young() counts them: another process maps the folios,
 * and it is there that the flags are cleared.
 */
int stage_settle(struct stage *s);
/* Reclaim all that goes; returns how many pages of the targets stay, or -1. */
int64_t stage_evict(struct stage *s);
/*
 * The same for memory that is swapped: fodder of anonymous memory that nobody
 * touches, and a look that asks for @bytes of such memory only.  Make the targets
 * first, then the fodder, then age both.
 */
int anon_fodder(struct case_ctx *c, struct area *a, size_t bytes, int order);
int anon_look(struct case_ctx *c, size_t bytes);

/*
 * Address space for @n mappings of up to three folios each, and the place of the
 * @i-th in it: @shift pages behind an address where the folio could be folded.
 * No two of them are neighbours, so that each is a VMA of its own.
 */
unsigned char *stage_room(const struct stage *s, size_t n);
unsigned char *stage_place(const struct stage *s, unsigned char *room, size_t i,
			   size_t shift);

/*
 * A stage (stage_make()) of @n folios, and each of them mapped whole, @shift
 * pages off: @folio and @at have room for @n.  0, -1, or 1.
 */
int stage_mapped(struct case_ctx *c, struct stage *s, int order, size_t n,
		 size_t shift, int *folio, unsigned char **at);

/* Number of bits set below @n. */
size_t mask_pages(uint64_t mask, size_t n);

#define EXPECT_DECISION(expected, s, folio, what) do { \
	enum decision d_ = stage_decision(s, folio); \
	EXPECT_EQ((expected), d_) \
		TH_LOG("%s: %s instead of %s", what, decision_name(d_), \
		       decision_name(expected)); \
} while (0)

/* Behind a look and stage_settle(): no PTE of these bytes is young. */
#define EXPECT_OLD(at, bytes, what) \
	EXPECT_EQ(0, pages_young(at, bytes)) \
		TH_LOG("%s: still young after the look", what)

/* Take one folio and map all of it; in the body of a case only. */
#define STAGE_MAP_ONE(s, folio, at, where) do { \
	(folio) = stage_take(s, 1); \
	ASSERT_LE(0, folio) TH_LOG("%s", case_why()); \
	(at) = stage_map(s, where, folio, 0, (s)->pages); \
	ASSERT_NE(NULL, at) TH_LOG("%s", case_why()); \
} while (0)

#endif
