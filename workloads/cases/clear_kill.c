/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A task dies while the kernel clears huge pages of up to 32 MiB for it.
 */
#include "lib/clear_kill.h"

CASE_PROGRAM("SIGKILL while huge pages up to 32M are cleared", 120,
	     "quick cpus=1");
CASES(clear_kill);

#define KIB	((size_t)1024)
#define MIB	(1024 * KIB)

FIXTURE_VARIANT(clear_kill) {
	struct kill_plan plan;
};

#define KIND(name, kind_, way_, unit_, units_, ...) \
	FIXTURE_VARIANT_ADD(clear_kill, name) { .plan = { \
		.kind = kind_, .way = way_, .unit = unit_, .units = units_, \
		.moments = 16, __VA_ARGS__ } }

KIND(private_2m, CLEAR_HUGE, WAY_POPULATE, 2 * MIB, 16);
KIND(unreserved_2m, CLEAR_HUGE, WAY_POPULATE, 2 * MIB, 16, .unreserved = true);
KIND(shared_2m, CLEAR_HUGE_SHARED, WAY_POPULATE, 2 * MIB, 16);
KIND(file_2m, CLEAR_HUGE_FILE, WAY_POPULATE, 2 * MIB, 16);
KIND(fallocate_2m, CLEAR_HUGE_FILE, WAY_FALLOCATE, 2 * MIB, 16);
KIND(kept_file_2m, CLEAR_HUGE_FILE, WAY_POPULATE, 2 * MIB, 16, .kept = true);
KIND(kept_fallocate_2m, CLEAR_HUGE_FILE, WAY_FALLOCATE, 2 * MIB, 16,
     .kept = true);
KIND(private_64k, CLEAR_HUGE, WAY_POPULATE, 64 * KIB, 64);
KIND(private_32m, CLEAR_HUGE, WAY_POPULATE, 32 * MIB, 1);
KIND(kept_file_32m, CLEAR_HUGE_FILE, WAY_POPULATE, 32 * MIB, 1, .kept = true);

/*
 * (design 20) A task that is killed at any moment of the clear leaves no page,
 * no reservation and no charge behind, and no page that is cleared in part.
 */
CASE(clear_kill, nothing_is_left, 60)
{
	struct kill_plan plan = variant->plan;

	CASE_NEEDS(clear_kill(c, &plan));
}

TEST_HARNESS_MAIN
