/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the walk has to find, and to shrink: a mistake of its own
 * (lib/walk_exec.h, walk_plant()).  Run by harness/tests/guest_walk.sh.
 */
#include "lib/cases.h"
#include "lib/walk_run.h"

CASE_PROGRAM("a random walk with a mistake in it", 400, "hidden cpus=1 boot=" WALK_BOOT);
CASES(walk_planted);

/* Fails, and says how in a few steps. */
CASE(walk_planted, found, 300)
{
	CASE_NEEDS(walk_case(c, 1, 1000, true));
}

TEST_HARNESS_MAIN
