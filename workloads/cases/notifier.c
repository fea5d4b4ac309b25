/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A second MMU that maps the same pages: the kernel's test driver for
 * heterogeneous memory (CONFIG_TEST_HMM), which the debug config has.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/types.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/young_util.h"

CASE_PROGRAM("MMU notifiers across reclaim of large folios", 30, "quick");
CASES(notifier);

#define DEVICE	"/dev/hmm_dmirror0"
#define ORDER	4
#define FOLIOS	8

/* lib/test_hmm_uapi.h of the kernel */
struct mirror_cmd {
	__u64 addr, ptr, npages, cpages, faults;
};
#define MIRROR_READ		_IOWR('H', 0x00, struct mirror_cmd)
#define MIRROR_EXCLUSIVE	_IOWR('H', 0x05, struct mirror_cmd)

static int mirror_read(int fd, void *at, void *to, size_t pages)
{
	struct mirror_cmd cmd = {
		.addr = (uintptr_t)at, .ptr = (uintptr_t)to, .npages = pages,
	};

	if (ioctl(fd, MIRROR_READ, &cmd))
		return case_fail("reading by the mirror: %s", strerror(errno));
	return cmd.cpages == pages ? 0 :
		case_fail("the mirror read %llu of %zu pages",
			  (unsigned long long)cmd.cpages, pages);
}

/*
 * (design 12) When a folio is evicted, its second MMU lets go of every page of
 * it: what is written to the file afterwards is what it reads.
 */
CASE(notifier, every_page_is_invalidated, 20)
{
	unsigned char *room, *at[FOLIOS], *buf;
	size_t bytes;
	struct stage s;
	int folio[FOLIOS], fd;

	fd = open(DEVICE, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		SKIP(return, "no " DEVICE " (CONFIG_TEST_HMM)");
	CASE_NEEDS(stage_make(c, &s, ORDER, FOLIOS));
	c->n_files = 0;		/* the contents change */
	bytes = s.bytes;
	buf = malloc(bytes);
	ASSERT_NE(NULL, buf);
	room = stage_room(&s, FOLIOS);
	for (size_t i = 0; i < FOLIOS; i++) {
		STAGE_MAP_ONE(&s, folio[i], at[i],
			      stage_place(&s, room, i, i & 1));
		ASSERT_EQ(0, mirror_read(fd, at[i], buf, s.pages))
			TH_LOG("%s", case_why());
		EXPECT_EQ(-1, fill_wrong(buf, bytes, s.file.seed,
					 s.folios[folio[i]].offset));
	}
	CASE_NEEDS(stage_age(&s));
	for (size_t i = 0; i < FOLIOS / 2; i++)
		stage_touch(&s, at[i], s.pages - 1 - i);
	CASE_NEEDS(stage_look(&s));
	for (size_t i = 0; i < FOLIOS; i++) {
		EXPECT_DECISION(i < FOLIOS / 2 ? KEPT : GONE, &s, folio[i],
				"mirrored");
	}
	EXPECT_EQ(0, stage_evict(&s));
	for (size_t i = 0; i < FOLIOS; i++) {
		off_t offset = (off_t)s.folios[folio[i]].offset;

		fill(buf, bytes, i + 1000, 0);
		ASSERT_EQ(bytes, pwrite(s.file.fd, buf, bytes, offset));
		memset(buf, 0, bytes);
		ASSERT_EQ(0, mirror_read(fd, at[i], buf, s.pages))
			TH_LOG("%s", case_why());
		EXPECT_EQ(-1, fill_wrong(buf, bytes, i + 1000, 0))
			TH_LOG("the mirror still has old pages of folio %zu",
			       i);
	}
	free(buf);
	close(fd);
}

/* What every notifier of a process is called through (mm/mmu_notifier.c). */
static const char *const probes[] = {
	"__mmu_notifier_clear_flush_young mm=$arg1:x64 start=$arg2:x64 end=$arg3:x64",
};
#define CALLS	4096

/* How often was each page of a mapping told of? */
static void count_calls(const struct probe_call *seen, int n,
			const unsigned char *at, size_t pages,
			unsigned int *calls)
{
	for (int c = 0; c < n; c++)
		for (size_t i = 0; i < pages; i++) {
			uintptr_t page = (uintptr_t)at + i * page_bytes();

			calls[i] += page >= seen[c].arg[0] &&
				page < seen[c].arg[1];
		}
}

/*
 * (design 12) A look tells the notifiers of every page that the process maps,
 * young or old, once, and of none beside them.
 */
CASE(notifier, every_page_is_asked_for, 20)
{
	/* Pages mapped of each folio of 16, and those touched. */
	static const struct {
		size_t first, pages;
		uint64_t touch;
	} row[] = {
		{ 0, 16, 0x0000 }, { 0, 16, 0x8000 }, { 0, 16, 0xffff },
		{ 0, 8, 0x0001 }, { 8, 8, 0x0000 }, { 5, 6, 0x0020 },
	};
	static const char *const names[PROBE_ARGS] = { "start", "end" };
	static struct probe_call seen[CALLS];
	unsigned char *room, *at[ARRAY_SIZE(row)];
	int folio[ARRAY_SIZE(row)], fd, n;
	unsigned int calls[18];
	struct stage s;

	fd = open(DEVICE, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		SKIP(return, "no " DEVICE " (CONFIG_TEST_HMM)");
	CASE_NEEDS(stage_make(c, &s, ORDER, ARRAY_SIZE(row)));
	room = stage_room(&s, ARRAY_SIZE(row));
	for (size_t i = 0; i < ARRAY_SIZE(row); i++) {
		folio[i] = stage_take(&s, 1);
		ASSERT_LE(0, folio[i]) TH_LOG("%s", case_why());
		/* Not at the edge of the room, to see beside it. */
		at[i] = stage_map(&s, stage_place(&s, room, i, 17), folio[i],
				  row[i].first, row[i].pages);
		ASSERT_NE(NULL, at[i]) TH_LOG("%s", case_why());
	}
	/* Opening the device has made this process one with notifiers. */
	CASE_NEEDS(stage_age(&s));
	for (size_t i = 0; i < ARRAY_SIZE(row); i++)
		stage_touch_mask(&s, at[i], row[i].touch);
	CASE_NEEDS(probe_begin(probes, 1));
	ASSERT_EQ(0, stage_look(&s)) TH_LOG("%s", case_why());
	ASSERT_EQ(0, probe_stop()) TH_LOG("%s", case_why());
	n = probe_calls(names, seen, CALLS);
	ASSERT_LE(0, n) TH_LOG("%s", case_why());
	for (size_t i = 0; i < ARRAY_SIZE(row); i++) {
		memset(calls, 0, sizeof(calls));
		count_calls(seen, n, at[i] - s.page, row[i].pages + 2, calls);
		for (size_t p = 0; p < row[i].pages + 2; p++) {
			bool mapped = p && p <= row[i].pages;

			EXPECT_EQ(mapped, calls[p])
				TH_LOG("mapping %zu, page %zd: %u calls", i,
				       (ssize_t)p - 1, calls[p]);
		}
	}
	close(fd);
}

/* ---- what a device has for itself ------------------------------------------------ */

#define PAGES	16

/* What the page table holds of a folio. */
struct entries {
	uint64_t present;	/* by page */
	uint64_t entry[PAGES];	/* of those not present */
};

static int entries_get(const unsigned char *at, struct entries *e)
{
	*e = (struct entries){ 0 };
	for (size_t p = 0; p < PAGES; p++) {
		struct page_view v;

		if (page_view(0, at + p * page_bytes(), &v))
			return -1;
		e->present |= (uint64_t)v.present << p;
		e->entry[p] = v.swap;
	}
	return 0;
}

/*
 * The device takes the folio at @at: on 6.12 it names the first page, and gets
 * all of them.
 */
static int make_exclusive(int fd, unsigned char *at, unsigned char *buf)
{
	struct mirror_cmd cmd = {
		.addr = (uintptr_t)at, .ptr = (uintptr_t)buf, .npages = 1,
	};
	size_t bytes = PAGES * page_bytes();

	if (ioctl(fd, MIRROR_EXCLUSIVE, &cmd))
		return case_fail("HMM_DMIRROR_EXCLUSIVE: %s", strerror(errno));
	if (pages_present(at, bytes) || pages_swapped(at, bytes) != PAGES)
		return case_lacks("exclusive access is not for whole folios here");
	return 0;
}

/*
 * arm64 keeps the type of such an entry in bits 6 to 10, and young in bit 10.
 * folio_referenced_one() of 6.12 takes the entry for a page and makes it old:
 * then it is one of a swap device (type - 16) that does not exist.  Who touches
 * the page faults for ever, and nobody drops the entry's reference.
 */
#define TYPE_TOP_BIT	16

static bool lost_their_type(const struct entries *before,
			    const struct entries *now)
{
	bool lost = false;

	for (size_t p = 0; p < PAGES; p++) {
		if (before->present >> p & 1)
			continue;
		if (!(before->entry[p] & TYPE_TOP_BIT) ||
		    now->entry[p] != before->entry[p] - TYPE_TOP_BIT)
			return false;
		lost = true;
	}
	return lost;
}

/* All else was well; from here on nobody may touch the pages. */
static void expect_lost_types(struct __test_metadata *_metadata,
			      struct case_ctx *c, struct area *a)
{
	char line[200];

	/* The kernel has not complained so far; at our exit it will. */
	ASSERT_FALSE(log_fault(c, line, sizeof(line)))
		TH_LOG("kernel log: %s", line);
	case_loose(c);
	case_may_warn(c);
	area_forget(c, a);
	TH_LOG("expected of this kernel: it took the top bit of a device-exclusive entry's type for young, and cleared it");
}

/*
 * (design 7, 12) Entries of pages that only a device may use, among present
 * ones: a look passes over them, whether the mapping begins with one or not,
 * sees what was touched beside them, and leaves them as they are.
 */
CASE(notifier, exclusive_pages_among_present, 20)
{
	/* Pages of each folio that the process has taken back. */
	static const uint64_t back[] = {
		0x0002, 0x8000, 0x0180, 0xfffe, 0x5554, 0x0001, 0x5555, 0x7fff,
		0xff00, 0x00ff,
	};
	enum { N = ARRAY_SIZE(back) };
	static struct entries before[N], now;
	static struct area a, fodder;
	size_t page = page_bytes(), bytes = PAGES * page;
	unsigned char *buf = malloc(page);
	size_t lost = 0;
	int fd;

	ASSERT_NE(NULL, buf);
	fd = open(DEVICE, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		SKIP(return, "no " DEVICE " (CONFIG_TEST_HMM)");
	CASE_NEEDS(case_mglru(c, false));
	CASE_NEEDS(case_swap(c, 32 << 20));
	AREA(c, &a, AREA_ANON, N * bytes, ORDER);
	CASE_NEEDS(anon_fodder(c, &fodder, a.bytes, ORDER));
	/*
	 * What a fork(2) has shared is copied for the device, page by page; and
	 * to age means to fork.
	 */
	ASSERT_EQ(0, madvise(a.at, a.bytes, MADV_DONTFORK));
	ASSERT_EQ(0, area_age(&a)) TH_LOG("%s", case_why());
	for (size_t i = 0; i < N; i++) {
		CASE_NEEDS(make_exclusive(fd, a.at + i * bytes, buf));
		for (size_t p = 0; p < PAGES; p++)
			if (back[i] >> p & 1)
				area_touch(&a, i * PAGES + p, 1);
		ASSERT_EQ(0, entries_get(a.at + i * bytes, &before[i]));
		ASSERT_EQ(back[i], before[i].present);
	}
	CASE_NEEDS(anon_look(c, a.bytes));
	for (size_t i = 0; i < N; i++) {
		ASSERT_EQ(0, entries_get(a.at + i * bytes, &now));
		EXPECT_EQ(back[i], now.present)
			TH_LOG("folio %zu: swapped out", i);
		if (cont_pages() && lost_their_type(&before[i], &now)) {
			lost++;
			continue;
		}
		for (size_t p = 0; p < PAGES; p++) {
			EXPECT_EQ(before[i].entry[p], now.entry[p])
				TH_LOG("folio %zu, page %zu", i, p);
		}
	}
	if (lost) {
		expect_lost_types(_metadata, c, &a);
		return;
	}
	/* Takes the rest back. */
	EXPECT_EQ(-1, area_wrong(&a));
	EXPECT_EQ(a.bytes / page, pages_present(a.at, a.bytes));
	close(fd);
	free(buf);
}

TEST_HARNESS_MAIN
