/* SPDX-License-Identifier: GPL-2.0 */
/*
 * memcg_view - what a cgroup's files say at one moment, and what two moments
 * say of the time between.  Private to workloads/.
 */
#ifndef FOLAB_WORKLOADS_MEMCG_VIEW_H
#define FOLAB_WORKLOADS_MEMCG_VIEW_H

#include "../cgroups/cgroups.h"
#include "../harness/record/record.h"

struct memcg_view {
	struct counters stat, events;
	int64_t current;
	int64_t some_us, full_us;	/* pressure; -1: the kernel has no PSI */
};

int memcg_view_read(struct memcg *cg, struct memcg_view *v, struct err *err);
void memcg_view_free(struct memcg_view *v);
/* One value of memory.stat, 0 if it is not there. */
int memcg_view_stat(struct memcg *cg, const char *name, int64_t *value,
		    struct err *err);
/*
 * Into @to: memory.current_*, memcg.KEY (differences; those that are 0 only if
 * a reader expects them), memcg_before.KEY, pressure.*_us, and events.KEY: not
 * a difference but @after's, hence of the cgroup's whole life.
 */
void memcg_view_note(const struct memcg_view *before,
		     const struct memcg_view *after, struct counters *to);

#endif
