/* SPDX-License-Identifier: GPL-2.0 */
/*
 * In which order the pages of a huge page are cleared.  A probe at the function
 * that clears tells (debug config), whatever it is called in this kernel.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "lib/clear_util.h"

CASE_PROGRAM("order in which the pages of a huge page are cleared", 120,
	     "cpus=1");
CASES(clear_order);

#define PMD		((size_t)2 << 20)
#define CALLS		4096
#define NEAR_BYTES	((size_t)32 << 10)	/* the smallest L1 in use */

/* The functions that clear, of kernels with clear_pages() and without. */
static const char *const probes[] = {
#ifdef __aarch64__
	"clear_page_range at=%x0:x64 end=%x1:x64",
	"clear_page at=%x0:x64",
#else
	"clear_pages_erms at=%di:x64 bytes=%cx:x64",
	"clear_page_erms at=%di:x64",
#endif
};

FIXTURE_VARIANT(clear_order) {
	enum clear_kind kind;
};

FIXTURE_VARIANT_ADD(clear_order, anon_2m) { .kind = CLEAR_ANON };
FIXTURE_VARIANT_ADD(clear_order, hugetlb_2m) { .kind = CLEAR_HUGE };

struct call {
	uint64_t at, end;
};

/* Calls since the trace was emptied, in their order: how many, or -1. */
static int calls_read(struct call *calls)
{
	static const char *const names[] = { "at", "end", "bytes" };
	static struct probe_call seen[CALLS];
	int n = probe_calls(names, seen, CALLS);

	for (int i = 0; i < n; i++) {
		calls[i].at = seen[i].arg[0];
		calls[i].end = seen[i].has[1] ? seen[i].arg[1] :
			calls[i].at + (seen[i].has[2] ? seen[i].arg[2] :
				       page_bytes());
	}
	return n;
}

/* ---- what it saw ---------------------------------------------------------------- */

/*
 * The huge page's address in the kernel: that of the only aligned 2 MiB of which
 * all pages are cleared, each once; 0 with case_why().  *last is the last call
 * that clears a part of it.
 */
static uint64_t find_page(const struct call *calls, int n, int *last)
{
	for (int i = 0; i < n; i++) {
		uint64_t base = calls[i].at & ~(uint64_t)(PMD - 1), bytes = 0;

		for (int j = 0; j < n; j++) {
			if (calls[j].at < base || calls[j].end > base + PMD)
				continue;
			bytes += calls[j].end - calls[j].at;
			*last = j;
		}
		if (bytes == PMD)
			return base;
	}
	case_fail("%d calls, and no 2 MiB that they clear once", n);
	return 0;
}

/* Does a fault at page @hint clear that page in the last call?  0, -1. */
static int try_hint(const struct clear *k, size_t hint, struct call *calls)
{
	unsigned char *at = clear_map(k, 1, NULL);
	uint64_t base, page;
	int n, last = 0;

	if (!at)
		return case_fail("can't map memory: %s", strerror(errno));
	if (probe_forget() || clear_fault(at, hint, WAY_WRITE, -1))
		return -1;
	n = calls_read(calls);
	if (n < 0)
		return -1;
	if (!clear_frame(at, PMD))
		return case_fail("no folio of 2 MiB");
	munmap(at, PMD);
	base = find_page(calls, n, &last);
	if (!base)
		return -1;
	page = base + hint * page_bytes();
	if (calls[last].end - calls[last].at > NEAR_BYTES)
		return case_fail("the last call clears %llu KiB: more than a first-level cache keeps",
				 (unsigned long long)(calls[last].end -
						      calls[last].at) >> 10);
	if (calls[last].at <= page && page < calls[last].end)
		return 0;
	return case_fail("page %zu was asked for; cleared last were %llu to %llu",
			 hint,
			 (unsigned long long)(calls[last].at - base) /
			 page_bytes(),
			 (unsigned long long)(calls[last].end - base) /
			 page_bytes() - 1);
}

/*
 * (design 16) The page that was asked for is cleared last, so that its cache
 * lines are there when the task goes on, and no page is cleared twice.
 */
CASE(clear_order, faulting_page_is_last, 60)
{
	static struct call calls[CALLS];
	const size_t n = PMD / page_bytes();
	const size_t hints[] = {
		0, 1, 2, 3, n / 2 - 1, n / 2, n / 2 + 1, n - 4, n - 3, n - 2,
		n - 1,
	};
	struct clear k;
	int rc = 0;

	CASE_NEEDS(clear_begin(c, &k, variant->kind, PMD, 2));
	if (variant->kind == CLEAR_ANON)
		CASE_NEEDS(thp_allow(c, AREA_ANON, pmd_order()));
	CASE_NEEDS(probe_begin(probes, ARRAY_SIZE(probes)));
	for (size_t i = 0; i < ARRAY_SIZE(hints) && !rc; i++)
		rc = try_hint(&k, hints[i], calls);
	ASSERT_EQ(0, rc) TH_LOG("%s", case_why());
}

TEST_HARNESS_MAIN
