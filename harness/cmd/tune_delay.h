/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Private to cmd: the worst delay of a unit, measured.
 */
#ifndef FOLAB_CMD_TUNE_DELAY_H
#define FOLAB_CMD_TUNE_DELAY_H

#include "../machine/machine.h"

/*
 * For each unit of the kernel's method in @r->trials[0] add a trial in which
 * clear-latency's model clears by that unit while a real-time thread wants to
 * run; "latency.unit" in its samples says which.  @setup: of clear-chunk's run,
 * for where.  What can't be measured (no root) is a line in @missing.  The only
 * error is an interruption.
 */
int tune_delays(const struct machine_setup *setup, struct result *r,
		struct strlist *missing, struct err *err);

#endif
