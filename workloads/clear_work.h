/* SPDX-License-Identifier: GPL-2.0 */
/*
 * clear_work - what clear-fault does within its window: fault memory in and
 * read what was cleared, in one thread or in several.  Private to workloads/.
 */
#ifndef FOLAB_WORKLOADS_CLEAR_WORK_H
#define FOLAB_WORKLOADS_CLEAR_WORK_H

#include <pthread.h>

#include "clear_memory.h"

#define CLEAR_MARK		0x5a	/* the byte that a fault writes */
#define CLEAR_LINE_BYTES	64	/* of a cache, on all that we run on */

/* Which cache lines of a folio are read after its fault. */
enum clear_touch {
	CLEAR_TOUCH_NONE,
	CLEAR_TOUCH_FIRST,	/* of its first page */
	CLEAR_TOUCH_NEAR,	/* of the page written to, and two to each side */
	CLEAR_TOUCH_ALL,	/* one behind the other */
	CLEAR_TOUCH_RANDOM,	/* all, in an order that no prefetcher knows */
};

struct clear_work {
	/* to be set before clear_work_start() */
	const struct clear_memory *mem;	/* need not be mapped yet */
	bool populate;		/* by madvise(2), else by a write a folio */
	enum clear_touch touch;
	uint64_t folio;		/* bytes */
	uint64_t hint;		/* byte of a folio that is written */
	uint64_t scatter;	/* the line that random order begins with */
	pthread_mutex_t lock;	/* of gate and n_done */
	pthread_cond_t changed;
	/* its own */
	struct clear_part *parts;
	size_t n_parts, n_threads, n_done;
	enum { GATE_SHUT, GATE_OPEN, GATE_HOME } gate;
};

/*
 * Divide the memory among @n parts; several get a thread each, which waits.
 * clear_work_end() has to follow, whatever comes of it.
 */
int clear_work_start(struct clear_work *w, size_t n, struct err *err);
/* All of it, once. */
void clear_work_do(struct clear_work *w);
/*
 * Let the threads end, done or not.  Returns 0, or what madvise(2) failed
 * with.
 */
int clear_work_end(struct clear_work *w);

/* The line that is read after @line in random order, of @n, a power of two. */
uint64_t clear_work_next(uint64_t line, uint64_t n);

#endif
