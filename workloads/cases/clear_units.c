/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Huge pages that a kernel clears in several pieces because it cannot be
 * preempted: between two pieces nothing is left out.
 */
#include <string.h>

#include "lib/clear_delay.h"
#include "lib/clear_util.h"

CASE_PROGRAM("clearing in pieces, without preemption: all of it", 240,
	     "memory=5G cpus=1 boot=hugepagesz=1G,hugepages=2,preempt=none");
CASES(clear_units);

#define GIB	((size_t)1 << 30)
#define MIB	((size_t)1 << 20)

FIXTURE_VARIANT(clear_units) {
	size_t unit, units;
};

FIXTURE_VARIANT_ADD(clear_units, hugetlb_32m) { .unit = 32 * MIB, .units = 3 };
FIXTURE_VARIANT_ADD(clear_units, hugetlb_1g) { .unit = GIB, .units = 2 };

/*
 * (design 16) Every byte of a huge page that is cleared in several pieces is
 * zero, whichever page was asked for: at its ends, in the middle of a piece and
 * at the border of two.
 */
CASE(clear_units, every_byte_is_zero, 120)
{
	const size_t n = variant->unit / page_bytes(), mib = MIB / page_bytes();
	const size_t hints[] = { 0, 4 * mib + 1, n / 2, n - 1 };
	const char *model = preempt_model();
	struct clear k;

	if (!model)
		SKIP(return, "this kernel's preemption model is fixed");
	ASSERT_STREQ("none", model);
	CASE_NEEDS(clear_begin(c, &k, CLEAR_HUGE, variant->unit,
			       variant->units));
	CASE_NEEDS(clear_soil(c, &k));
	for (size_t i = 0; i < ARRAY_SIZE(hints); i++) {
		ASSERT_EQ(0, clear_try(&k, hints[i], WAY_POPULATE))
			TH_LOG("%s", case_why());
	}
	TH_LOG("%zu faults on soiled frames, %zu on others", k.faults, k.kept);
}

TEST_HARNESS_MAIN
