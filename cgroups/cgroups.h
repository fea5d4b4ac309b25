/* SPDX-License-Identifier: GPL-2.0 */
/*
 * cgroups - the memory cgroup of a workload (cgroup v2), on libcgroup.
 * Knows nothing of workloads.
 */
#ifndef FOLAB_CGROUPS_H
#define FOLAB_CGROUPS_H

#include "../harness/base/base.h"

struct memcg;

/*
 * libcgroup set up, v2 hierarchy with the memory controller found.
 * EXIT_ENVIRONMENT with a line that helps if there is none.
 */
int memcg_init(struct err *err);
/* Where that is mounted; NULL: error.  Caller frees. */
char *memcg_mount(struct err *err);
/*
 * Make a cgroup, memory controller enabled for it.  @name: its path from the
 * root.
 */
int memcg_create(const char *name, struct memcg **cg, struct err *err);
int memcg_attach(struct memcg *cg, pid_t pid, struct err *err);
/* Write @value to memory.KEY ("max", "high", "swap.max", ...). */
int memcg_set(struct memcg *cg, const char *key, const char *value,
	      struct err *err);
/* memory.KEY that holds one number ("current", "peak"; "max" gives INT64_MAX). */
int memcg_get(struct memcg *cg, const char *key, int64_t *value,
	      struct err *err);
/*
 * The pairs of memory.KEY ("stat", "events"): calls @fn for each line "name
 * value".
 */
int memcg_pairs(struct memcg *cg, const char *key,
		void (*fn)(void *arg, const char *name, int64_t value),
		void *arg, struct err *err);
/* memory.pressure: total stall time in microseconds, "some" and "full". */
int memcg_pressure(struct memcg *cg, int64_t *some_us, int64_t *full_us,
		   struct err *err);
/*
 * memory.reclaim is opened and the request made before the window, so that
 * memcg_reclaim() is one write(2) and nothing else.  *errnum gets 0 or errno
 * of the write (EAGAIN: partial success; not an error here).
 */
int memcg_reclaim_prepare(struct memcg *cg, uint64_t bytes, const char *options,
			  struct err *err);
void memcg_reclaim(struct memcg *cg, int *errnum);
/* Processes in it are moved to the root; then it is removed.  Frees cg. */
int memcg_remove(struct memcg *cg, struct err *err);

#endif
