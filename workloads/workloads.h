/* SPDX-License-Identifier: GPL-2.0 */
/*
 * workloads - what is measured: fill memory, do the thing, prove that what
 * was meant to happen did.
 *
 * A workload never knows which machine it runs on.  The table is compiled
 * into the agent, which runs it, and into folab, which needs the parameters
 * to check a scenario before anything is built.
 */
#ifndef FOLAB_WORKLOADS_H
#define FOLAB_WORKLOADS_H

#include "../harness/record/record.h"

/*
 * What the agent lends to a workload.  window_begin() and window_end() stand
 * directly around the measured system call: the agent starts and stops its
 * probes there and fills sample->counters (pmu.*, time.*, vmstat.*).
 */
struct workload_env {
	const struct params *params;
	int64_t pass;
	int64_t seed;		/* the boot's; the same on both sides */
	const char *dir;	/* empty directory on the scratch file system */
	const char *cgroup;	/* name for the workload's own cgroup */
	void (*phase)(struct workload_env *env, const char *name);
	/*
	 * For a workload whose window is about mapping memory: the agent locks
	 * its memory now, and not in window_begin(), so that what is mapped
	 * between the two is as any program's.
	 */
	void (*window_ready)(struct workload_env *env);
	void (*window_begin)(struct workload_env *env);
	void (*window_end)(struct workload_env *env);
	/*
	 * To be set in prepare(): run() starts threads, and they belong to the
	 * window.  Instructions and CPU time are then of all of them.
	 */
	bool threads;
	void *agent;		/* the agent's own */
	struct sample *sample;	/* to be filled */
};

struct workload {
	const char *name;
	const char *summary;
	const char *fs;			/* file system it needs: "xfs" */
	bool memcg;			/* makes a memory cgroup of its own */
	const struct param_spec *params;	/* ends with a NULL name */
	/* Refuse what parameters can't say one by one (reclaim > size);
	 * EXIT_USAGE.  Runs on the host too: touches nothing. */
	int (*check)(const struct params *p, struct err *err);
	/* Bytes that the scratch file system's device must have, and memory that
	 * the machine should have for these parameters. */
	uint64_t (*fs_bytes)(const struct params *p);
	uint64_t (*memory_bytes)(const struct params *p);
	/*
	 * Options that the kernel has to be booted with ("hugepagesz=1G"), to be
	 * added to @words; "x86_64:OPTION" is for that architecture only.  NULL:
	 * none.
	 */
	void (*kernel_options)(const struct params *p, struct strlist *words);
	/* In this order; clean_up runs whatever failed, and leaves nothing. *state
	 * is the workload's own. */
	int (*prepare)(struct workload_env *env, void **state, struct err *err);
	int (*run)(struct workload_env *env, void *state, struct err *err);
	int (*verify)(struct workload_env *env, void *state, struct err *err);
	void (*clean_up)(struct workload_env *env, void *state);
};

const struct workload *workload_at(size_t i);		/* NULL behind the last */
const struct workload *workload_find(const char *name);	/* NULL: no such */
const struct param_spec *workload_params(const char *name);	/* for job_from_json() */

/* A line for sample->invalid: it went on, but the number is worth nothing. */
void workload_invalid(struct workload_env *env, const char *fmt, ...)
	PRINTF(2, 3);

#endif
