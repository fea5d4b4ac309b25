/* SPDX-License-Identifier: GPL-2.0 */
/* (design, random walk) The short form, for make check: see walk.c. */
#include "lib/cases.h"
#include "lib/walk_run.h"

CASE_PROGRAM("two short random walks", 120, "quick cpus=1 boot=" WALK_BOOT);
CASES(walk_quick);

FIXTURE_VARIANT(walk_quick) {
	int number;
};
FIXTURE_VARIANT_ADD(walk_quick, mglru) { .number = 1 };
FIXTURE_VARIANT_ADD(walk_quick, classic) { .number = 2 };

/* As walk.c, over a thousand steps. */
CASE(walk_quick, survives, 60)
{
	CASE_NEEDS(walk_case(c, variant->number, 1000, false));
}

TEST_HARNESS_MAIN
