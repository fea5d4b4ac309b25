/* SPDX-License-Identifier: GPL-2.0 */
/*
 * clear_delay - how late a thread that goes first wakes up while another one,
 * on the same CPU, has the kernel clear memory.
 *
 * The watcher is a process of SCHED_FIFO that sleeps until absolute times, one
 * period apart.  The clock runs by instructions, so that neither the host nor
 * anything outside of this guest has a part in a delay.
 */
#ifndef FOLAB_CASES_CLEAR_DELAY_H
#define FOLAB_CASES_CLEAR_DELAY_H

#include "cases.h"

#define WATCH_PERIOD_NS	53000	/* no multiple or part of a tick */

struct delays {
	size_t n;		/* wake-ups that were due during the load */
	double load_seconds;	/* that it took */
	double worst, p999;	/* seconds */
};

/*
 * The kernel's preemption model, as it was booted: "none", "voluntary", "full",
 * "lazy".  NULL: this kernel lets nobody choose.
 */
const char *preempt_model(void);
/*
 * Run @load while being watched.  It returns 0, or -1 with case_why().
 * A load may change its own scheduling; on one CPU only.
 */
int watch_delays(int (*load)(void *arg), void *arg, struct delays *d);

#endif
