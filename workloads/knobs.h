/* SPDX-License-Identifier: GPL-2.0 */
/*
 * knobs - settings in /proc/sys and /sys that a workload changes and puts
 * back.  Private to workloads/.
 */
#ifndef FOLAB_WORKLOADS_KNOBS_H
#define FOLAB_WORKLOADS_KNOBS_H

#include "../harness/base/base.h"

#define KNOBS_MAX	4

struct knobs {
	struct knob {
		char *path;
		char *before;	/* what stood there; of several words the one in brackets */
	} v[KNOBS_MAX];
	size_t n;
};

/*
 * Write @value to the file @path after noting what it holds, so that it can
 * be written back.  EXIT_ENVIRONMENT if the kernel has no such setting.
 */
int knobs_set(struct knobs *k, const char *path, const char *value,
	      struct err *err);
/* Write everything back, the last one first. */
void knobs_restore(struct knobs *k);

#endif
