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
	enum clear_kind kind;
	enum clear_way way;
	bool unreserved, kept;
	size_t unit, units;
};

#define KIND(name, kind_, way_, unit_, units_, ...) \
	FIXTURE_VARIANT_ADD(clear_kill, name) { \
		.kind = kind_, .way = way_, .unit = unit_, .units = units_, \
		__VA_ARGS__ }

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
	struct kill_plan p = {
		.units = variant->units, .way = variant->way,
		.unreserved = variant->unreserved, .kept = variant->kept,
		.moments = 16,
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
