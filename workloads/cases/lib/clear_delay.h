/* SPDX-License-Identifier: GPL-2.0 */
/*
 * clear_delay - how late a thread that goes first wakes up while another one,
 * on the same CPU, has the kernel clear memory (workloads/watch.h, for cases).
 *
 * The clock runs by instructions, so that neither the host nor anything outside
 * of this guest has a part in a delay.
 */
#ifndef FOLAB_CASES_CLEAR_DELAY_H
#define FOLAB_CASES_CLEAR_DELAY_H

#include "cases.h"
#include "../../watch.h"

/*
 * Run @load while being watched.  It returns 0, or -1 with case_why().
 * A load may change its own scheduling; on one CPU only.
 */
int watch_delays(int (*load)(void *arg), void *arg, struct delays *d);

#endif
