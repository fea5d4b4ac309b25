/* SPDX-License-Identifier: GPL-2.0 */
/*
 * watch - how late a thread that goes first wakes up while another one keeps
 * its processor.  Of workloads and of the correctness cases.
 *
 * The watcher is a process of SCHED_FIFO that sleeps until absolute times, one
 * period apart, on the processor of whoever started it.
 */
#ifndef FOLAB_WORKLOADS_WATCH_H
#define FOLAB_WORKLOADS_WATCH_H

#include "../harness/base/base.h"

#define WATCH_PERIOD_NS	53000	/* as a rule; no multiple or part of a tick */
#define WATCH_PRIORITY	50	/* of SCHED_FIFO */

struct delays {
	size_t n;		/* wake-ups that were due during the load */
	size_t expected;	/* that should have been; n if none was lost */
	double load_seconds;	/* that it took */
	double worst, p999;	/* seconds */
};

/*
 * The kernel's preemption model, as it was booted: "none", "voluntary", "full",
 * "lazy".  NULL: this kernel lets nobody choose, or its log has lost the line.
 */
const char *preempt_model(void);

/* ns of CLOCK_MONOTONIC */
int64_t watch_now(void);

/*
 * Start a watcher that is due every @period_ns, and bind it and the calling thread to one processor, until
 * watch_end().  It locks its memory, and with it whatever the caller has
 * mapped, but for what is marked MADV_DONTFORK.  EXIT_ENVIRONMENT: it takes
 * CAP_SYS_NICE and CAP_IPC_LOCK.
 */
struct watch;
int watch_start(struct watch **w, int64_t period_ns, struct err *err);
/*
 * End it and sum up what was due in [@begin, @end), both of watch_now(); @d may
 * be NULL.  @w is freed in any case.
 */
int watch_end(struct watch *w, int64_t begin, int64_t end, struct delays *d,
	      struct err *err);

/* For tests: of @n lates (ns, any order; they get sorted) the two figures. */
void watch_figures(int64_t *late, size_t n, struct delays *d);
/* For tests: how many of the times @first + k periods lie in [@begin, @end). */
size_t watch_due(int64_t first, int64_t period_ns, int64_t begin, int64_t end);

#endif
