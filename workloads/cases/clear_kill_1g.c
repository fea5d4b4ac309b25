/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A task dies while the kernel clears a huge page of 1 GiB for it.
 */
#include "lib/clear_kill.h"

CASE_PROGRAM("SIGKILL while a huge page of 1G is cleared", 240,
	     "memory=4G cpus=1 boot=hugepagesz=1G,hugepages=1,clearcpuid=erms,preempt=full");
CASES(clear_kill_1g);

#define GIB	((size_t)1 << 30)

FIXTURE_VARIANT(clear_kill_1g) {
	struct kill_plan plan;
};

FIXTURE_VARIANT_ADD(clear_kill_1g, private) {
	.plan = {
		.kind = CLEAR_HUGE, .way = WAY_POPULATE, .unit = GIB,
		.units = 1, .moments = 16,
	},
};

FIXTURE_VARIANT_ADD(clear_kill_1g, kept_file) {
	.plan = {
		.kind = CLEAR_HUGE_FILE, .way = WAY_POPULATE, .unit = GIB,
		.units = 1, .kept = true, .moments = 8,
	},
};

/* (design 20) As clear_kill.nothing_is_left says. */
CASE(clear_kill_1g, nothing_is_left, 120)
{
	struct kill_plan plan = variant->plan;

	CASE_NEEDS(clear_kill(c, &plan));
}

TEST_HARNESS_MAIN
