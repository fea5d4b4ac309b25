/* SPDX-License-Identifier: GPL-2.0 */
/*
 * clear_kill - a process that is killed while the kernel clears pages for it.
 *
 * When the kill comes is chosen by the guest's clock, which runs by
 * instructions: from the duration of one clear that nobody disturbed.
 */
#ifndef FOLAB_CASES_CLEAR_KILL_H
#define FOLAB_CASES_CLEAR_KILL_H

#include "clear_util.h"

struct kill_plan {
	enum clear_kind kind;	/* of hugetlb */
	size_t unit, units;	/* bytes of a page; pages, in its pool, too */
	enum clear_way way;	/* WAY_FALLOCATE: of all of them at once */
	bool unreserved;	/* MAP_NORESERVE */
	bool kept;		/* a file that its maker has open, too */
	int moments;		/* kills, evenly over the clear */
	struct clear k;		/* clear_kill() fills this in */
};

/*
 * Kill at each moment, then: the counts of the pool and of the cgroup are what
 * they were, and the same pages, faulted again, are all zero.  At least half of
 * the kills have to come while the kernel clears.  0, -1, or 1: this machine can't.
 */
int clear_kill(struct case_ctx *c, struct kill_plan *p);

#endif
