/* SPDX-License-Identifier: GPL-2.0 */
/*
 * knobs - settings in /proc/sys and /sys that a workload changes and puts
 * back.  Of workloads/, and of the machine that sees them die.
 */
#ifndef FOLAB_WORKLOADS_KNOBS_H
#define FOLAB_WORKLOADS_KNOBS_H

#include "../harness/base/base.h"

struct knobs {
	struct knob {
		char *path;
		char *before;	/* what stood there; of "a [b] c" it is b */
	} *v;
	size_t n;
	long journal_from;	/* bytes of the journal that are not ours */
};

/*
 * Write @value to the file @path after noting what it holds, so that it can
 * be written back.  EXIT_ENVIRONMENT if the kernel has no such setting.
 */
int knobs_set(struct knobs *k, const char *path, const char *value,
	      struct err *err);
/* The same for a file that takes commands ("+memory"): @undo takes it back. */
int knobs_do(struct knobs *k, const char *path, const char *command,
	     const char *undo, struct err *err);
/* Write everything back, the last one first, and forget it. */
void knobs_restore(struct knobs *k);

/*
 * From here on, also note in the file @path what settings held before: it
 * outlives a process that is killed.  knobs_restore() takes out what its struct
 * knobs put in, so one may be set within another's time.  NULL: no more.  A
 * guest needs none, it goes as a whole.
 */
void knobs_journal(const char *path);
/* Put back what the journal @path has, remove it, return how many: 0 if there
 * is none. */
size_t knobs_replay(const char *path);

#endif
