/* SPDX-License-Identifier: GPL-2.0 */
/*
 * klog - the kernel log of the machine we run in, from a point in time on.
 * Of the agent and of the correctness cases.
 */
#ifndef FOLAB_WORKLOADS_KLOG_H
#define FOLAB_WORKLOADS_KLOG_H

#include "../harness/record/record.h"

/* Sequence number that the next line will have; -1: there is no /dev/kmsg. */
int64_t klog_now(void);
/*
 * First line from @since on that klog_judge() calls worse than @but, into
 * @line.  False: none.  Lines that the kernel has dropped meanwhile are said
 * to be a fault as well.
 */
bool klog_fault(int64_t since, enum klog but, char *line, size_t len);
/* Is there a line from @since on that contains @text? */
bool klog_has(int64_t since, const char *text);

#endif
