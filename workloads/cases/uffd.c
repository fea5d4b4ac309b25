/* SPDX-License-Identifier: GPL-2.0 */
/* Write-protection by userfaultfd: a bit of each PTE that is not reclaim's. */
#include <errno.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/young_util.h"

CASE_PROGRAM("userfaultfd write-protection across reclaim", 30, "quick");
CASES(uffd);

#define ORDER	4
#define PAGES	16
#define WP	(UFFD_FEATURE_PAGEFAULT_FLAG_WP | \
		 UFFD_FEATURE_WP_HUGETLBFS_SHMEM)

/* Writes to each page, in another thread, as it has to wait for us. */
static void *write_all(void *arg)
{
	const struct area *a = arg;

	for (size_t at = 0; at < a->bytes; at += page_bytes())
		fill(a->at + at, page_bytes(), a->seed, at);
	return NULL;
}

/* Let @writes through, one by one; how many came, and each page once. */
static size_t serve(int fd, const struct area *a, size_t writes,
		    unsigned char *seen)
{
	size_t page = page_bytes(), n = 0;
	struct pollfd p = { fd, POLLIN, 0 };
	struct uffd_msg msg;

	/* Two seconds without a write: no more is to come. */
	while (n < writes && poll(&p, 1, 2000) == 1) {
		uintptr_t at;

		if (read(fd, &msg, sizeof(msg)) != sizeof(msg) ||
		    msg.event != UFFD_EVENT_PAGEFAULT)
			continue;
		at = (uintptr_t)msg.arg.pagefault.address & ~(page - 1);
		if (!(msg.arg.pagefault.flags & UFFD_PAGEFAULT_FLAG_WP))
			break;
		seen[(at - (uintptr_t)a->at) / page]++;
		n++;
		if (uffd_protect(fd, (void *)at, page, false))
			break;
	}
	return n;
}

static void protect_and_write(struct __test_metadata *_metadata,
			      struct case_ctx *c, bool out, bool look)
{
	static struct area a, fodder;
	static unsigned char seen[4 * PAGES];
	size_t pages = ARRAY_SIZE(seen);
	pthread_t thread;
	int fd;

	CASE_NEEDS(case_mglru(c, false));
	CASE_NEEDS(case_swap(c, 32 << 20));
	AREA(c, &a, AREA_SHMEM, pages * page_bytes(), ORDER);
	CASE_NEEDS(uffd_open(WP, &fd));
	CASE_NEEDS(anon_fodder(c, &fodder, a.bytes, ORDER));
	ASSERT_EQ(0, uffd_register(fd, a.at, a.bytes,
				   UFFDIO_REGISTER_MODE_WP))
		TH_LOG("%s", case_why());
	ASSERT_EQ(0, uffd_protect(fd, a.at, a.bytes, true))
		TH_LOG("%s", case_why());
	ASSERT_EQ(0, area_age(&a)) TH_LOG("%s", case_why());
	if (look) {
		area_touch(&a, 3, pages - 3);
		CASE_NEEDS(anon_look(c, a.bytes));
		EXPECT_EQ(pages, pages_present(a.at, a.bytes))
			TH_LOG("young folios were swapped out");
	}
	if (out) {
		ASSERT_EQ(0, pageout(a.at, a.bytes)) TH_LOG("%s", case_why());
		EXPECT_EQ(0, pages_present(a.at, a.bytes))
			TH_LOG("nothing is swapped out");
	}
	ASSERT_EQ(0, pthread_create(&thread, NULL, write_all, &a));
	EXPECT_EQ(pages, serve(fd, &a, pages, seen));
	for (size_t i = 0; i < pages; i++) {
		EXPECT_EQ(1, seen[i])
			TH_LOG("page %zu of folio %zu: %u writes seen",
			       i % PAGES, i / PAGES, seen[i]);
	}
	ASSERT_EQ(0, pthread_join(thread, NULL));
	close(fd);
}

/* (design 9) Each protected page tells of the first write to it. */
CASE(uffd, every_page_notifies, 20)
{
	protect_and_write(_metadata, c, false, false);
}

/* (design 9) So it does when reclaim has cleared the young bits. */
CASE(uffd, every_page_notifies_after_a_look, 20)
{
	protect_and_write(_metadata, c, false, true);
}

/* (design 9) So it does after the folio was swapped out: every page, not one. */
CASE(uffd, every_page_notifies_after_pageout, 20)
{
	protect_and_write(_metadata, c, true, false);
}

/*
 * (design 1, 9) Where protection ends in the middle of a folio a batch ends, and
 * the next one begins right there: a page on either side keeps the folio.
 */
CASE(uffd, batches_meet_where_protection_ends, 20)
{
	static const struct {
		uint64_t protect, touch;
	} row[] = {
		{ 0xff00, 0x0100 }, { 0xff00, 0x0080 }, { 0xff00, 0x0200 },
		{ 0xff00, 0x8000 }, { 0xff00, 0x0001 }, { 0xff00, 0x0000 },
		{ 0x00ff, 0x0100 }, { 0x00ff, 0x0080 }, { 0x00ff, 0x0200 },
		{ 0x0100, 0x0100 }, { 0x0100, 0x0200 }, { 0x0100, 0x0400 },
		{ 0x8000, 0x8000 }, { 0x0001, 0x0002 }, { 0x0001, 0x0004 },
		{ 0x00ff, 0x0000 },
	};
	size_t page = page_bytes();
	static struct area a, fodder;
	struct page_view v;
	int fd;

	CASE_NEEDS(case_mglru(c, false));
	CASE_NEEDS(case_swap(c, 32 << 20));
	AREA(c, &a, AREA_SHMEM, ARRAY_SIZE(row) * PAGES * page, ORDER);
	CASE_NEEDS(uffd_open(WP, &fd));
	CASE_NEEDS(anon_fodder(c, &fodder, a.bytes, ORDER));
	ASSERT_EQ(0, uffd_register(fd, a.at, a.bytes,
				   UFFDIO_REGISTER_MODE_WP))
		TH_LOG("%s", case_why());
	for (size_t i = 0; i < ARRAY_SIZE(row); i++) {
		for (size_t p = 0; p < PAGES; p++) {
			if (!(row[i].protect >> p & 1))
				continue;
			ASSERT_EQ(0, uffd_protect(fd, a.at + (i * PAGES + p) *
						  page, page, true));
		}
	}
	ASSERT_EQ(0, area_age(&a)) TH_LOG("%s", case_why());
	for (size_t i = 0; i < ARRAY_SIZE(row); i++) {
		for (size_t p = 0; p < PAGES; p++)
			if (row[i].touch >> p & 1)
				area_touch(&a, i * PAGES + p, 1);
	}
	CASE_NEEDS(anon_look(c, a.bytes));
	for (size_t i = 0; i < ARRAY_SIZE(row); i++) {
		EXPECT_EQ(row[i].touch ? PAGES : 0,
			  pages_present(a.at + i * PAGES * page, PAGES * page))
			TH_LOG("protected 0x%x, touched 0x%x",
			       (unsigned int)row[i].protect,
			       (unsigned int)row[i].touch);
		for (size_t p = 0; p < PAGES; p++) {
			ASSERT_EQ(0, page_view(0, a.at + (i * PAGES + p) * page,
					       &v));
			EXPECT_EQ(row[i].protect >> p & 1, v.uffd_wp)
				TH_LOG("protected 0x%x, page %zu",
				       (unsigned int)row[i].protect, p);
		}
	}
	/* No young bit was left behind anywhere. */
	case_reclaim_all(c, 8);
	EXPECT_EQ(0, pages_present(a.at, a.bytes));
	ASSERT_EQ(0, uffd_protect(fd, a.at, a.bytes, false));
	close(fd);
}

TEST_HARNESS_MAIN
