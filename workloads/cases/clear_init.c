/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Kernels that clear memory already when it is allocated or freed, and x86
 * processors without the fast string store, or without any: what a fault brings
 * is as zero as anywhere.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "../klog.h"
#include "lib/clear_util.h"

CASE_PROGRAM("clearing with init_on_alloc, init_on_free, without ERMS, without REP", 60,
	     "cpus=1 boot=init_on_alloc=1 boot=init_on_free=1 "
	     "boot=clearcpuid=erms boot=clearcpuid=rep_good,,erms");
CASES(clear_init);

#define KIB	((size_t)1024)
#define MIB	(1024 * KIB)

CASES(clear_often);
CASES(clear_highmem);

FIXTURE_VARIANT(clear_init) {
	enum clear_kind kind;
	size_t unit, units;
};

#define KIND(name, kind_, unit_, units_) \
	FIXTURE_VARIANT_ADD(clear_init, name) { \
		.kind = kind_, .unit = unit_, .units = units_ }

KIND(anon_4k, CLEAR_ANON, 4 * KIB, 64);
KIND(anon_64k, CLEAR_ANON, 64 * KIB, 64);
KIND(anon_2m, CLEAR_ANON, 2 * MIB, 8);
KIND(shmem_64k, CLEAR_SHMEM, 64 * KIB, 64);
KIND(memfd_2m, CLEAR_MEMFD, 2 * MIB, 8);
KIND(hugetlb_2m, CLEAR_HUGE, 2 * MIB, 8);

FIXTURE_VARIANT(clear_often) {
	enum clear_kind kind;
};

FIXTURE_VARIANT_ADD(clear_often, anon_2m) { .kind = CLEAR_ANON };
FIXTURE_VARIANT_ADD(clear_often, memfd_2m) { .kind = CLEAR_MEMFD };

/* The option that this program is about works in this boot. */
static int has_option(void)
{
	char text[64];

	if (boot_param("init_on_alloc", 0) == 1)
		return klog_has(0, "heap alloc:on") ? 0 :
			case_fail("init_on_alloc=1 did not work");
	if (boot_param("init_on_free", 0) == 1)
		return klog_has(0, "heap free:on") ? 0 :
			case_fail("init_on_free=1 did not work");
	if (!boot_param_text("clearcpuid", text, sizeof(text)))
		return case_lacks("not booted with an option that this is about");
#ifdef __x86_64__
	/* Without REP_GOOD too it is the loop of plain stores. */
	if (!strcmp(text, "erms"))
		return klog_has(0, "Clearing CPUID bits: erms") ? 0 :
			case_fail("clearcpuid=erms did not work");
	return klog_has(0, "Clearing CPUID bits: rep_good erms") ? 0 :
		case_fail("clearcpuid=rep_good,erms did not work");
#else
	return case_lacks("clearcpuid= is of x86");
#endif
}

/*
 * (design 19) What a fault brings is zero also where the allocator cleared it
 * before, or, as with huge pages that wait in their pool, did not.
 */
CASE(clear_init, every_byte_is_zero, 30)
{
	static const enum clear_way ways[] = {
		WAY_WRITE, WAY_POPULATE, WAY_READ_INTO,
	};
	size_t hints[CLEAR_HINTS], n;
	struct clear k;

	CASE_NEEDS(has_option());
	CASE_NEEDS(clear_begin(c, &k, variant->kind, variant->unit,
			       variant->units));
	CASE_NEEDS(clear_soil(c, &k));
	n = clear_hints(k.pages, hints);
	/* Of a PMD every seventh page, and the last one. */
	for (size_t i = 0; i < n; i += n > 64 ? 7 * CLEAR_SLOW : 1) {
		ASSERT_EQ(0, clear_try(&k, hints[i], ways[i % 3]))
			TH_LOG("%s", case_why());
	}
	for (size_t i = 0; i < 3; i++) {
		ASSERT_EQ(0, clear_try(&k, k.pages - 1, ways[i]))
			TH_LOG("%s", case_why());
	}
	TH_LOG("%zu faults on soiled frames, %zu on others", k.faults, k.kept);
}

/* Seconds of one fault of a unit, of so many; -1. */
static double fault_seconds(const struct clear *k, size_t units)
{
	unsigned char *at = clear_map(k, units, NULL);
	double begin, took;

	if (!at)
		return case_fail("can't map memory: %s", strerror(errno));
	begin = guest_seconds();
	for (size_t i = 0; i < units; i++)
		if (clear_fault(at + i * k->unit, 0, WAY_POPULATE, -1))
			return -1;
	took = guest_seconds() - begin;
	if (!clear_frame(at, k->unit))
		return case_fail("no folio of %zu bytes", k->unit);
	munmap(at, units * k->unit);
	return took / (double)units;
}

/*
 * (design 19) Memory is not cleared time and again: a fault of 2 MiB takes, with
 * all its clearing, less than three clears (6.12 with init_on_alloc=1: two).  A
 * huge page that waited in its pool is cleared once.  In a kernel that checks
 * itself init_on_alloc goes page by page, which there takes as long as two clears.
 */
CASE(clear_often, at_most_twice, 30)
{
	struct clear once, k;
	double one, took;

	CASE_NEEDS(has_option());
	CASE_NEEDS(clear_begin(c, &once, CLEAR_HUGE, 2 * MIB, 8));
	CASE_NEEDS(clear_begin(c, &k, variant->kind, 2 * MIB, 8));
	CASE_NEEDS(clear_soil(c, &k));
	one = fault_seconds(&once, 8);
	took = fault_seconds(&k, 8);
	ASSERT_LT(0, one) TH_LOG("%s", case_why());
	ASSERT_LT(0, took) TH_LOG("%s", case_why());
	TH_LOG("a fault of 2 MiB: %.1f us; cleared once: %.1f us; ratio %.2f",
	       took * 1e6, one * 1e6, took / one);
	EXPECT_GT((boot_param("slow", 1) > 1 ? 3.5 : 3) * one, took);
}

/* (design 19) Memory that has no address in the kernel, and has to be mapped. */
CASE(clear_highmem, is_mapped_for_the_clear, 5)
{
	SKIP(return, "a 64-bit kernel maps all memory: there is no HIGHMEM");
}

TEST_HARNESS_MAIN
