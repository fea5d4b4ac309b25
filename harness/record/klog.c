/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the kernel says about its own health.
 */
#include <string.h>

#include "record.h"

/* The first that matches counts. */
static const struct pattern {
	const char *text;
	enum klog means;
	const char *what;
} patterns[] = {
	{ "Out of memory: Killed process", KLOG_OOM,
	  "the guest ran out of memory" },
	{ "emory cgroup out of memory", KLOG_OOM,
	  "the workload's cgroup ran out of memory" },
	{ "invoked oom-killer", KLOG_OOM, "the guest ran out of memory" },
	{ "Kernel panic - not syncing", KLOG_LOST, "kernel panic" },
	{ "Unable to handle kernel", KLOG_LOST, "kernel oops" },
	{ "BUG: unable to handle", KLOG_LOST, "kernel oops" },
	{ "BUG: kernel NULL pointer", KLOG_LOST, "kernel oops" },
	{ "Internal error: ", KLOG_LOST, "kernel oops" },
	{ "Oops: ", KLOG_LOST, "kernel oops" },
	{ "general protection fault", KLOG_LOST, "kernel oops" },
	{ "kernel BUG at ", KLOG_LOST, "kernel BUG" },
	{ "WARNING: ", KLOG_WARNING, NULL },
	{ "BUG: ", KLOG_WARNING, NULL },
	{ "Bad page", KLOG_WARNING, NULL },
	{ "UBSAN: ", KLOG_WARNING, NULL },
	{ "KASAN: ", KLOG_WARNING, NULL },
	{ "KMSAN: ", KLOG_WARNING, NULL },
	{ "INFO: possible ", KLOG_WARNING, NULL },	/* lockdep */
	{ "INFO: trying to register non-static key", KLOG_WARNING, NULL },
	{ "INFO: task ", KLOG_WARNING, NULL },	/* hung task */
	{ "self-detected stall", KLOG_WARNING, NULL },
	{ "detected stalls on CPUs", KLOG_WARNING, NULL },
	{ "Internal error in XFS", KLOG_WARNING, NULL },
	{ "Corruption detected", KLOG_WARNING, NULL },
	{ "page allocation failure", KLOG_WARNING, NULL },
};

enum klog klog_judge(const char *line, const char **what)
{
	for (size_t i = 0; i < ARRAY_SIZE(patterns); i++) {
		if (!strstr(line, patterns[i].text))
			continue;
		*what = patterns[i].what;
		return patterns[i].means;
	}
	*what = NULL;
	return KLOG_FINE;
}
