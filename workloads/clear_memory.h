/* SPDX-License-Identifier: GPL-2.0 */
/*
 * clear_memory - anonymous memory that the kernel has to clear when it is
 * faulted in: sizes of pages, what they need of the machine, and which frames
 * they got.  Private to workloads/.
 */
#ifndef FOLAB_WORKLOADS_CLEAR_MEMORY_H
#define FOLAB_WORKLOADS_CLEAR_MEMORY_H

#include "../harness/record/record.h"
#include "folios.h"
#include "knobs.h"

enum clear_kind { CLEAR_BASE, CLEAR_THP, CLEAR_HUGETLB };

struct clear_page {
	const char *name;	/* "2m-thp" */
	enum clear_kind kind;
	unsigned int order;	/* of its folios */
};
/* In the order of clear_page_names; NULL behind the last. */
const struct clear_page *clear_page_at(size_t i);
extern const char *const clear_page_names[];	/* ends with NULL */
uint64_t clear_page_bytes(const struct clear_page *p);
/* @size in whole folios, rounded up. */
uint64_t clear_page_round(const struct clear_page *p, uint64_t size);

struct clear_memory {
	const struct clear_page *page;
	uint64_t bytes;		/* whole folios */
	int node;		/* -1: any */
	char *at;		/* aligned to a folio; NULL: not mapped */
};

/*
 * Make this machine give such folios, and nothing disturb it: huge pages in the
 * pool, sizes of THP enabled, khugepaged and proactive compaction asleep.
 * Pages of 4k are there without.  EXIT_ENVIRONMENT if it can't.
 */
int clear_memory_settings(const struct clear_memory *m, struct knobs *k,
			  struct err *err);
/* This thread, and those that it will start, to processors of the node. */
int clear_memory_bind(const struct clear_memory *m, struct err *err);
/* Map it, bound to the node; no page is there yet. */
int clear_memory_map(struct clear_memory *m, struct err *err);
void clear_memory_unmap(struct clear_memory *m);

/* A set of page frames. */
struct frames {
	uint64_t *bits;
	uint64_t words;
};
/* Add the frames that the memory has. */
int frames_add(struct frames *f, const struct clear_memory *m, struct err *err);
/* How many of the memory's pages have a frame of the set. */
int frames_count(const struct frames *f, const struct clear_memory *m,
		 int64_t *pages, struct err *err);
bool frames_has(const struct frames *f, uint64_t pfn);
void frames_note(struct frames *f, uint64_t pfn);
void frames_free(struct frames *f);

/*
 * pages.nodeN of the memory into @c, asked of the kernel folio by folio.  A
 * kernel that knows no nodes says nothing.
 */
int clear_memory_nodes(const struct clear_memory *m, struct counters *c,
		       struct err *err);

/* A counter of THPs of this size, "anon_fault_alloc"; false: there is none. */
bool clear_memory_thp_stat(const struct clear_page *p, const char *name,
			   int64_t *value);

#endif
