/* SPDX-License-Identifier: GPL-2.0 */
/*
 * clear_util - memory that the kernel has to clear, and proof that it had to.
 *
 * Only a frame that held something else before can show that it was not
 * cleared.  So somebody fills frames with bytes of which none is zero, notes
 * which frames they were (/proc/PID/pagemap), and gives them back; a fault that
 * is judged got frames that are all noted.  Frames that are not are filled,
 * noted, and kept, so that the kernel has to take others.
 *
 * What comes of it does not depend on which allocator list a frame waits on,
 * only how many faults it takes.
 */
#ifndef FOLAB_CASES_CLEAR_UTIL_H
#define FOLAB_CASES_CLEAR_UTIL_H

#include "cases.h"

#define CLEAR_HINTS	640	/* more than a PMD's pages */
#define CLEAR_SOIL	0xa5	/* what soiled memory consists of */

/*
 * The kernel's string instruction, too: a clear takes some 16 times what it
 * takes on arm64.  So cases clear less often there.
 */
#ifdef __x86_64__
#define CLEAR_SLOW	8
#else
#define CLEAR_SLOW	1
#endif

enum clear_kind {
	CLEAR_ANON,		/* private, folios of @unit */
	CLEAR_SHMEM,		/* MAP_SHARED | MAP_ANONYMOUS, folios of @unit */
	CLEAR_MEMFD,		/* tmpfs file, pages or a PMD's folios */
	CLEAR_HUGE,		/* hugetlb, private */
	CLEAR_HUGE_SHARED,	/* hugetlb, shared */
	CLEAR_HUGE_FILE,	/* hugetlb, a memfd's mapping */
};

/* How a page is asked for. */
enum clear_way {
	WAY_WRITE,		/* store one byte, not the page's first */
	WAY_READ,		/* load (private: gets the zero page; don't) */
	WAY_POPULATE,		/* MADV_POPULATE_WRITE of the one page */
	WAY_READ_INTO,		/* read(2) stores a byte: a fault of the kernel */
	WAY_FALLOCATE,		/* fallocate(2), then loads: files only */
};
const char *clear_way_name(enum clear_way way);

struct frames;			/* a set of page frames, shared with children */

struct clear {
	enum clear_kind kind;
	size_t unit;		/* bytes of a folio or huge page */
	size_t pages;		/* in it */
	struct frames *soiled;	/* were seen to hold CLEAR_SOIL */
	size_t kept;		/* units mapped that were never seen before */
	size_t faults;		/* that were judged */
};

/*
 * Prepare for units of @unit bytes (at least a page, a power of two).  Kinds of
 * hugetlb get a pool of @pool such pages; this process stays on one CPU from now
 * on.  1: this kernel has no such size.
 */
int clear_begin(struct case_ctx *c, struct clear *k, enum clear_kind kind,
		size_t unit, size_t pool);
/*
 * A process of its own soils the pool, or (no hugetlb) a good part of what is
 * free, in folios as big as can be had, and ends.
 */
int clear_soil(struct case_ctx *c, struct clear *k);
/*
 * CLEAR_SOIL everywhere.  Not by memset(3): its string instruction is one
 * instruction a byte of the emulated clock.  @bytes: of 64.
 */
void clear_stain(void *at, size_t bytes);
/* Map @units, nothing in it yet.  *fd (NULL: no matter) is the file or -1. */
unsigned char *clear_map(const struct clear *k, size_t units, int *fd);
/* Fill with CLEAR_SOIL and note the frames. */
void clear_fill(const struct clear *k, unsigned char *at, size_t bytes);

/*
 * Fault at page @hint of a fresh unit in the way @way, on frames that were
 * soiled, and look at every byte: 0, or -1 (not zero; no such folio; no soiled
 * frames came).  Afterwards the unit is soiled and given back.
 */
int clear_try(struct clear *k, size_t hint, enum clear_way way);
/* Just fault: 0 or -1. */
int clear_fault(unsigned char *at, size_t hint, enum clear_way way, int fd);
/* Offset of the first byte of @bytes (of 64) that is not zero, -1. */
int64_t clear_wrong(const void *at, size_t bytes);

/*
 * Pages of a unit of @pages at which a fault matters, ascending: all of them up
 * to a PMD's; of more the ends, the middle, and both sides of the powers of two
 * from 128K on, counted from either end.  Returns their number.
 */
size_t clear_hints(size_t pages, size_t hints[CLEAR_HINTS]);

/* Were all frames of the range seen soiled? */
bool clear_proven(const struct clear *k, const void *at, size_t bytes);

/* First frame of the range, 0: it is not one folio of @bytes (or hugetlb page). */
uint64_t clear_frame(const void *at, size_t bytes);

/*
 * @units next to each other in memory and full of known content: one by one is
 * given back and faulted again, while the content of its physical neighbours is
 * watched.  0 if at least @want of them had neighbours on @sides sides (1 or 2)
 * that were watched and nothing else changed.  1 (for CASE_NEEDS()) if there are
 * three at most, and no two of them are neighbours.
 */
int clear_canaries(struct clear *k, size_t units, size_t want, int sides);

/* ---- hugetlb's counts ------------------------------------------------------------ */

struct huge_counts {
	int64_t total, free, reserved, surplus;		/* pages of the pool */
	int64_t charged, charged_reserved;		/* bytes, the cgroup's */
};
/* Make the cgroup of the case have hugetlb's files.  1: the kernel has none. */
int huge_cgroup(struct case_ctx *c);
/* A pool of @pages of @unit until the case ends.  1: no such size. */
int huge_pool(struct case_ctx *c, size_t unit, size_t pages);
/* 1: there is no such size. */
int huge_counts(struct case_ctx *c, size_t unit, struct huge_counts *h);

#endif
