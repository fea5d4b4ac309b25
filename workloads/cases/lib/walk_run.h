/* SPDX-License-Identifier: GPL-2.0 */
/*
 * walk_run - a random walk from its first step to its report.
 *
 * Same seed, same walk: what is done next depends on the seed and on the model.
 * With one processor, files that are clean before anything is reclaimed, and
 * the kernel's counts added up before and never during a reclaim, also which
 * pages stay in memory depends on nothing else; on two kernels that decide
 * alike, the same ones do.
 *
 * A walk that fails is tried again without some of its steps, each time in a new
 * cgroup and directory, until no step can be left out or the budget is spent;
 * then it is printed as a C program.  If the kernel itself dies, its console tells
 * seed and step every WALK_MARK steps: with --seed and --boot folab.walk_steps=N it
 * goes exactly as far again.
 */
#ifndef FOLAB_CASES_WALK_RUN_H
#define FOLAB_CASES_WALK_RUN_H

#include "cases.h"
#include "walk_model.h"

/*
 * Slabs are not charged to cgroups: RCU frees nodes of page caches when it comes
 * round to it, and how many there are decides which shadows of evicted pages
 * reclaim drops.
 */
#define WALK_BOOT	"cgroup.memory=nokmem"
/*
 * Every 2 s the kernel adds up what its processors have counted for the cgroups.
 * Reclaim looks at the sums, so does a fault on a page that was evicted: so no
 * step may be on its way then.
 */
#define WALK_FRESH	1.7	/* seconds that steps are done before the next */
#define WALK_MARK	500	/* steps between two lines on the console */
#define WALK_FULL	500	/* steps between two looks at everything */
#define WALK_TRACE	8	/* reclaims between two looks at what is left */

struct walk_plan {
	size_t n, most;
	struct walk_step steps[];
};

struct walk_fail {
	bool failed;
	size_t step;		/* of the plan: it, or what was seen after it */
	char text[300];
	int kind;		/* 0: reply of the step, 1: memory, 2: file */
	int proc, at, object, value, sig;	/* what it must be */
	unsigned int pos;
	struct walk_reply reply;
};

struct walk_result {
	bool done;
	struct walk_fail fail;
	uint64_t bytes;		/* hash of what all walkers and files hold */
	uint64_t resident;	/* hash of which pages are in memory, or swapped */
	uint64_t trace;		/* the same in between: told, not compared */
	uint64_t present, swapped, cached;	/* pages */
	int64_t anon, file, shmem;	/* pages of the cgroup; anon: on LRUs */
	unsigned int reclaims;
	double flushed;		/* when the kernel added up its counts last */
};

/* What one walk is. */
struct walk {
	struct case_ctx *c;
	uint64_t seed;
	size_t steps;
	bool planted;		/* with a mistake of our own */
	bool loud;		/* folab.walk_trace */
	int64_t jitter;		/* folab.walk_jitter */
	struct walk_gen gen;
	struct walk_plan *plan;
	struct walk_result *result;	/* shared with the processes */
	char ctl[128];		/* cgroup of the one who tells */
	unsigned int runs;
};

/*
 * A whole case: @number is added to 1000 times the seed of the boot.  Returns 0,
 * -1 (failed, all is said), or 1: this machine lacks something, case_why().
 */
int walk_case(struct case_ctx *c, int number, size_t steps, bool planted);

static inline uint64_t walk_mix(uint64_t h, uint64_t v)
{
	return mix64(h ^ mix64(v + 1));
}

/* Until the kernel has just added up; when, goes to @w->result.  0, -1. */
int walk_wait_for_flush(struct walk *w);
/* Hash and numbers (into @r) of pages that are in memory or swapped. */
uint64_t walk_resident(const struct walk_exec *x, const bool *alive,
		       struct walk_result *r);

/* Walk @w's plan in a process of its own, or (@plan NULL) make it up. */
int walk_once(struct walk *w, const struct walk_plan *plan);
struct walk_plan *walk_plan_new(size_t most);	/* in shared memory */
void walk_plan_free(struct walk_plan *p);
/* Leave steps out of @w->plan as long as it fails. */
void walk_shrink(struct walk *w);
/* Print the plan, and what failed, as a C program. */
void walk_print(const struct walk *w);
const char *walk_op_name(int op);
/* Paths and values: what this walk sets.  -1: no more. */
int walk_setting(const struct walk *w, int i, char *path, size_t len,
		 const char **value);

#endif
