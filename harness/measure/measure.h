/* SPDX-License-Identifier: GPL-2.0 */
/*
 * measure - one pass of a workload: the process that it runs in, the probes
 * around its window, and the lines that say what came of it.  The agent does
 * it in a guest, the local machine on this host.
 */
#ifndef FOLAB_MEASURE_H
#define FOLAB_MEASURE_H

#include "../../workloads/workloads.h"
#include "../record/record.h"

/* ---- lines of the wire, kept until they may go out (lines.c) --------------- */

struct lines {
	char *text;		/* each ends with a newline */
	size_t len, room;
};
void lines_keep(struct lines *l, const struct wire *w);
void lines_keep_error(struct lines *l, const struct err *err);
void lines_keep_raw(struct lines *l, const char *text, size_t len);
int lines_write(const struct lines *l, int fd);		/* 0, or -1 with errno */
void lines_drop(struct lines *l);

/* ---- what else may watch the window -------------------------------------------- */

/*
 * Finds where the kernel's time goes.  It slows what it watches, so it gets a
 * pass of its own.
 */
struct watcher {
	/* Around the clocks, as what begins it takes its time; else within. */
	bool outside;
	/*
	 * In the process that measures, of this thread, @threads: and of those
	 * that it will start.  NULL: EXIT_ENVIRONMENT if this kernel can't.
	 */
	void *(*make)(bool threads, struct err *err);
	void (*begin)(void *state);
	void (*end)(void *state);
	/* Once, after the end: add to @p, put what it cost and missed into @c. */
	int (*take)(void *state, struct profile *p, struct counters *c,
		    struct err *err);
	void (*free)(void *state);
};

/*
 * Samples of the kernel's code, which stand for instructions in the profile;
 * functions.{samples,lost,hertz,cycles} (sampler.c).
 */
extern const struct watcher watcher_sampler;

/* ---- one pass (pass.c) ------------------------------------------------------ */

/* Where a pass runs, and what is usual there. */
struct place {
	const char *dir;	/* parent of its directory; NULL: it gets none */
	const char *cgroup;	/* parent of its cgroup; NULL: the root */
	int64_t seed;
	/*
	 * Begin the window at a phase of the timer tick that hangs on the seed:
	 * on the instruction clock boots would else meet the tick all alike.
	 */
	bool tick_phase;
	/* Memory that can't be locked is an error; else it is left as it is. */
	bool lock_memory;
	/* A new phase, in the process that measures; NULL: nobody listens. */
	void (*say)(const char *fmt, ...) PRINTF(1, 2);
	/*
	 * First thing in the process that measures: bind it.  NULL: nothing to
	 * do.
	 */
	int (*enter)(void *arg, struct err *err);
	/*
	 * In the process that waits for it, some times a second.  False: ask it
	 * to end (SIGTERM; kill it if it does not).  NULL: nothing happens until
	 * the pass is over.
	 */
	bool (*idle)(void *arg);
	void *arg;		/* for enter and idle */
	/* Watches the window, and adds a line with its profile; NULL: nothing. */
	const struct watcher *watcher;
};

/*
 * Run @pass of @job in a process of its own, so that a workload that dies takes
 * nothing along, and add its lines to @l.  @samples counts the samples.
 */
int pass_run(const struct job *job, const struct workload *w, int64_t pass,
	     const struct place *place, struct lines *l, int64_t *samples,
	     struct err *err);

/* ---- probes (probes.c) ------------------------------------------------------- */

/*
 * Around the window, from the outside in: /proc/vmstat, clocks, rusage, PMU,
 * then the marks for the emulator's plugin, which do nothing elsewhere.
 * @sample gets pmu.*, time.* and vmstat.* when the window ends.
 */
struct probes;
/*
 * @lock_memory: it is an error if memory can't be locked.  @threads: of this
 * thread and of those that it will start.  @watcher, NULL: none, with the
 * @watching that it has made.
 */
struct probes *probes_new(bool lock_memory, bool threads,
			  const struct watcher *watcher, void *watching,
			  struct err *err);
/*
 * Whatever of probes_begin() touches memory, if it has to be over before; else
 * probes_begin() does it.
 */
void probes_ready(struct probes *p);
void probes_begin(struct probes *p);
void probes_end(struct probes *p, struct sample *sample);
void probes_free(struct probes *p);

#endif
