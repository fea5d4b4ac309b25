/* SPDX-License-Identifier: GPL-2.0 */
/*
 * (design, random walk) Whatever processes do to memory and files, and whatever
 * reclaim takes in between: every byte is what it must be, in every process, and
 * the same pages are in memory at the end on every kernel that decides alike.
 *
 *	folab check -k 6.12 -k 6.12+young-batch walk
 *	folab check --seed=7 --boot folab.walk_steps=50000 walk.s03.survives
 *
 * lib/walk_run.h tells how it goes on and what it prints.  Options of the boot:
 *
 *	folab.walk_steps=N	that many steps
 *	folab.walk_trace=1	say after each reclaim what is in memory: where the
 *				lines of two kernels part is the step to look at
 *	folab.walk_jitter=N	up to N us between steps: must change nothing
 */
#include "lib/cases.h"
#include "lib/walk_run.h"

CASE_PROGRAM("twenty random walks of ten thousand steps", 2400,
	     "cpus=1 boot=" WALK_BOOT);
CASES(walk);

FIXTURE_VARIANT(walk) {
	int number;
};
FIXTURE_VARIANT_ADD(walk, s01) { .number = 1 };
FIXTURE_VARIANT_ADD(walk, s02) { .number = 2 };
FIXTURE_VARIANT_ADD(walk, s03) { .number = 3 };
FIXTURE_VARIANT_ADD(walk, s04) { .number = 4 };
FIXTURE_VARIANT_ADD(walk, s05) { .number = 5 };
FIXTURE_VARIANT_ADD(walk, s06) { .number = 6 };
FIXTURE_VARIANT_ADD(walk, s07) { .number = 7 };
FIXTURE_VARIANT_ADD(walk, s08) { .number = 8 };
FIXTURE_VARIANT_ADD(walk, s09) { .number = 9 };
FIXTURE_VARIANT_ADD(walk, s10) { .number = 10 };
FIXTURE_VARIANT_ADD(walk, s11) { .number = 11 };
FIXTURE_VARIANT_ADD(walk, s12) { .number = 12 };
FIXTURE_VARIANT_ADD(walk, s13) { .number = 13 };
FIXTURE_VARIANT_ADD(walk, s14) { .number = 14 };
FIXTURE_VARIANT_ADD(walk, s15) { .number = 15 };
FIXTURE_VARIANT_ADD(walk, s16) { .number = 16 };
FIXTURE_VARIANT_ADD(walk, s17) { .number = 17 };
FIXTURE_VARIANT_ADD(walk, s18) { .number = 18 };
FIXTURE_VARIANT_ADD(walk, s19) { .number = 19 };
FIXTURE_VARIANT_ADD(walk, s20) { .number = 20 };

/* Odd numbers walk with MGLRU, even ones with the classic LRU. */
CASE(walk, survives, 240)
{
	CASE_NEEDS(walk_case(c, variant->number, 10000, false));
}

TEST_HARNESS_MAIN
