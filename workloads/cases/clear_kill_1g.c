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
	enum clear_kind kind;
	enum clear_way way;
	bool unreserved, kept;
	size_t unit, units;
	int moments;
};

#define KIND(name, kind_, way_, unit_, units_, ...) \
	FIXTURE_VARIANT_ADD(clear_kill_1g, name) { \
		.kind = kind_, .way = way_, .unit = unit_, .units = units_, \
		__VA_ARGS__ }

KIND(private, CLEAR_HUGE, WAY_POPULATE, GIB, 1, .moments = 16);
KIND(kept_file, CLEAR_HUGE_FILE, WAY_POPULATE, GIB, 1, .kept = true,
     .moments = 8);

/*
 * (design 20) A task that is killed at any moment of the clear leaves no page,
 * no reservation and no charge behind, and no page that is cleared in part.
 */
CASE(clear_kill_1g, nothing_is_left, 120)
{
	struct kill_plan p = {
		.units = variant->units, .way = variant->way,
		.unreserved = variant->unreserved, .kept = variant->kept,
		.moments = variant->moments,
	};
	struct kill_seen seen;

	CASE_NEEDS(clear_begin(c, &p.k, variant->kind, variant->unit,
			       variant->units));
	CASE_NEEDS(huge_cgroup(c));
	ASSERT_EQ(0, clear_kill(c, &p, &seen))
		TH_LOG("%s", case_why());
	TH_LOG("%d of %d kills while the kernel cleared, which takes %.0f us",
	       seen.inside, p.moments, seen.clear_seconds * 1e6);
	/* The first and the last may come too early or too late. */
	EXPECT_LE(p.moments - 2, seen.inside);
}

TEST_HARNESS_MAIN
