/* SPDX-License-Identifier: GPL-2.0 */
/*
 * agent - the program that runs inside the machine.  Private to this room.
 *
 * As /init of a guest it makes the guest usable, runs the job's workload pass
 * by pass, says on the result channel what came of it (record.h, struct wire)
 * and powers off.
 *
 * Nothing reaches the guest from outside while it measures, or two boots would
 * not count alike.  That goes for the result channel too: a write to a virtio
 * port waits for the host in a loop, and how often it turns there is luck.  So
 * all lines are kept until the last window is over; what goes out meanwhile is
 * a line for each phase on the console, whose driver waits for nobody.
 */
#ifndef FOLAB_AGENT_H
#define FOLAB_AGENT_H

#include "../measure/measure.h"

/* ---- the guest (guest.c) --------------------------------------------------- */

#define GUEST_SCRATCH	"/scratch"	/* where the scratch file system is */

/* File systems of the kernel, and a console that shows each phase. */
int guest_init(struct err *err);
/*
 * libnuma looks at /sys before main() begins, and /init has none yet: on a
 * machine of several nodes the program starts once more.
 */
void guest_start_again(char **argv);
/* Fill the RAM disk from /fs.img.runs and mount it. */
int guest_scratch(const struct job *job, struct err *err);
/* "folab: phase NAME" to the kernel log, and with it to the console. */
void guest_say(const char *fmt, ...) PRINTF(1, 2);
/*
 * folab.seed= of the kernel command line, 0: none.  Boots of one kernel would
 * be alike without it, and a figure hang on one layout and one phase of the
 * timer tick.  The seed moves both, and moves them alike on A and B.
 */
int64_t guest_seed(void);
/* The result channel, open for writing; waits for the driver to find it. */
int guest_channel(struct err *err);
void guest_power_off(void) __attribute__((noreturn));

/* ---- correctness cases (cases.c) ---------------------------------------------- */

/*
 * Run the job's programs one after the other and say on @fd what they say, as
 * they say it: nothing is measured, and a kernel that dies must not take along
 * what came before.  @ended counts the programs.
 */
int cases_run(const struct job *job, int fd, int64_t *ended, struct err *err);

#endif
