/* SPDX-License-Identifier: GPL-2.0 */
/* memory.reclaim as its users see it. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/time.h>
#include <unistd.h>

#include "lib/cases.h"

CASE_PROGRAM("memory.reclaim: errors, and how much it takes", 60,
	     "quick memory=3G");
CASES(reclaim);

#define MIB	(1024u * 1024)

/*
 * (design 14) What is no request is refused with EINVAL, and takes nothing away.
 */
CASE(reclaim, bad_requests, 20)
{
	static const char *const bad[] = {
		"x", "-1", "swappiness=60", "1Mx", "1M x", "1M foo=1",
		"1M swappiness", "1M swappiness=", "1M swappiness=x",
		"1M swappiness=-1", "1M swappiness=201", "1M 1M", " ", "\n",
	};
	static struct area a;
	size_t pages;

	AREA(c, &a, AREA_XFS, 2 * MIB, 4);
	ASSERT_EQ(0, area_age(&a));
	pages = pages_cached(a.at, a.bytes);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		EXPECT_EQ(EINVAL, case_reclaim_text(c, bad[i]))
			TH_LOG("\"%s\"", bad[i]);
	}
	EXPECT_EQ(pages, pages_cached(a.at, a.bytes));
}

/* (design 14) Less than a page is nothing, and no error. */
CASE(reclaim, nothing, 20)
{
	static const char *const none[] = { "0", "0 swappiness=0", "4095", "0M",
		"M" /* a suffix is enough for a number */ };
	static struct area a;
	size_t pages;

	AREA(c, &a, AREA_XFS, 2 * MIB, 4);
	ASSERT_EQ(0, area_age(&a));
	pages = pages_cached(a.at, a.bytes);
	for (size_t i = 0; i < ARRAY_SIZE(none); i++) {
		EXPECT_EQ(0, case_reclaim_text(c, none[i]))
			TH_LOG("\"%s\"", none[i]);
	}
	EXPECT_EQ(pages, pages_cached(a.at, a.bytes));
	/* Good ones, in the forms that are documented. */
	EXPECT_EQ(0, case_reclaim_text(c, "64K"));
	EXPECT_EQ(0, case_reclaim_text(c, "65536 swappiness=0\n"));
	EXPECT_GT(pages, pages_cached(a.at, a.bytes));
}

/*
 * (design 14) More than there is: EAGAIN, all that can go has gone, and nothing
 * that can't: locked pages stay, contents come back.
 */
CASE(reclaim, more_than_there_is, 20)
{
	static struct area a, locked;

	AREA(c, &a, AREA_XFS, 4 * MIB, 4);
	AREA(c, &locked, AREA_XFS, 1 * MIB, 4);
	ASSERT_EQ(0, mlock(locked.at, locked.bytes));
	EXPECT_EQ(EAGAIN, case_reclaim_text(c, "1G"));
	EXPECT_EQ(0, pages_cached(a.at, a.bytes));
	EXPECT_EQ(locked.bytes / page_bytes(),
		  pages_present(locked.at, locked.bytes));
	EXPECT_EQ(EAGAIN, case_reclaim_text(c, "1G"));
}

static void on_alarm(int sig)
{
	(void)sig;
}

/*
 * (design 14) A signal in the middle: EINTR, what is gone is gone, the rest is
 * there and can be reclaimed by the next request.
 */
CASE(reclaim, signal_in_the_middle, 20)
{
	struct itimerval soon = { .it_value = { .tv_usec = 4000 } };
	struct sigaction sa = { .sa_handler = on_alarm };
	static struct area a;
	size_t left;

	AREA(c, &a, AREA_XFS, 16 * MIB, 0);
	ASSERT_EQ(0, area_age(&a));
	ASSERT_EQ(0, sigaction(SIGALRM, &sa, NULL));
	ASSERT_EQ(0, setitimer(ITIMER_REAL, &soon, NULL));
	EXPECT_EQ(EINTR, case_reclaim(c, a.bytes));
	left = pages_cached(a.at, a.bytes);
	EXPECT_LT(0, left);
	EXPECT_GT(a.bytes / page_bytes(), left);
	case_reclaim_all(c, 8);
	EXPECT_EQ(0, pages_cached(a.at, a.bytes));
}

struct reader {
	const char *cgroup, *path;
};

/* Its cgroup is charged for what it reads. */
static int read_there(struct peer *me, void *arg)
{
	const struct reader *r = arg;
	static char buf[65536];
	int fd;

	(void)me;
	if (cg_attach(r->cgroup, 0))
		return 1;
	fd = open(r->path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 2;
	while (read(fd, buf, sizeof(buf)) > 0)
		;
	close(fd);
	return 0;
}

/*
 * (design 14) A cgroup that is gone can't be asked any more (ENODEV), and what
 * was charged to it is reclaimed through its parent.
 */
CASE(reclaim, dying_cgroup, 20)
{
	char child[96], path[160];
	struct reader r = { child, NULL };
	struct peer peer;
	static struct area a;
	int fd;

	AREA(c, &a, AREA_XFS, 4 * MIB, 4);
	ASSERT_EQ(0, area_age(&a));
	ASSERT_EQ(EAGAIN, case_reclaim_text(c, "1G"));
	ASSERT_EQ(0, pages_cached(a.at, a.bytes));

	/* A cgroup with processes can't have children with controllers. */
	snprintf(child, sizeof(child), "%s-child", c->cgroup);
	ASSERT_EQ(0, cg_make(child));
	r.path = a.path;
	ASSERT_EQ(0, peer_start(&peer, read_there, &r));
	ASSERT_EQ(0, peer_end(&peer));
	EXPECT_EQ(a.bytes / page_bytes(), pages_cached(a.at, a.bytes));

	snprintf(path, sizeof(path), "/sys/fs/cgroup/%s/memory.reclaim", child);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, cg_remove(child));
	errno = 0;
	EXPECT_EQ(-1, write(fd, "1M", 2));
	EXPECT_EQ(ENODEV, errno);
	close(fd);
	/* The root is its parent; it has no memory.reclaim of its own to lose. */
	EXPECT_EQ(a.bytes / page_bytes(), pages_cached(a.at, a.bytes));
}

/* What a request of @want bytes may take too much. */
static size_t over(size_t want, int order)
{
	/* A scan takes 32 pages or a folio more, in a few places at most. */
	return want / 64 + 4 * (32 + ((size_t)1 << order)) * page_bytes();
}

/*
 * A file that is all holes: page cache without the time to write it.  Read by
 * splice, which copies nothing; in folios of @order for the better part.
 */
static unsigned char *map_holes(struct case_ctx *c, size_t bytes, int order)
{
	static struct area a;
	char path[128];
	void *at;
	int fd, null;

	/* For its readahead setting, which a file takes over when opened. */
	if (area_make(c, &a, AREA_XFS, page_bytes() << (order + 4), order))
		return NULL;
	area_unmap(c, &a);
	case_reclaim_all(c, 8);
	snprintf(path, sizeof(path), "%s/holes", c->dir);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (fd < 0 || null < 0 || ftruncate(fd, (off_t)bytes))
		return NULL;
	for (size_t done = 0; done < bytes; ) {
		ssize_t n = sendfile(null, fd, NULL, bytes - done);

		if (n <= 0)
			return NULL;
		done += (size_t)n;
	}
	at = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
	close(null);
	close(fd);
	return at == MAP_FAILED ? NULL : at;
}

static void ask(struct __test_metadata *_metadata, struct case_ctx *c,
		size_t file, size_t want, int order, bool mglru, bool mapped)
{
	size_t page = page_bytes(), before, after;
	unsigned char *at;

	CASE_NEEDS(case_mglru(c, mglru));
	at = map_holes(c, file, order);
	ASSERT_NE(NULL, at) TH_LOG("%s: %s", case_why(), strerror(errno));
	for (size_t i = 0; mapped && i < file; i += page) {
		(void)*(volatile unsigned char *)(at + i);
	}
	if (mapped) {
		ASSERT_EQ(0, clear_refs(0, 1)) TH_LOG("%s", case_why());
	}
	before = pages_cached(at, file) * page;
	if (before < want + want / 8)
		SKIP(return, "only %zu MiB of page cache in this machine",
		     before / MIB);
	ASSERT_EQ(0, case_reclaim(c, want));
	after = pages_cached(at, file) * page;
	EXPECT_LE(want, before - after);
	EXPECT_GE(want + over(want, order), before - after);
	TH_LOG("asked %zu KiB, took %zu", want >> 10, (before - after) >> 10);
}

/* (design 15) 64M asked, 64M taken, and little more: LRU by LRU. */
CASE(reclaim, take_64m, 20)
{
	ask(_metadata, c, 96 * MIB, 64 * MIB, 4, false, true);
}

CASE(reclaim, take_64m_mglru, 20)
{
	ask(_metadata, c, 96 * MIB, 64 * MIB, 4, true, true);
}

CASE(reclaim, take_64m_of_2m_folios, 20)
{
	ask(_metadata, c, 96 * MIB, 64 * MIB, pmd_order(), false, false);
}

/* (design 15) The same for 1G. */
CASE(reclaim, take_1g, 40)
{
	ask(_metadata, c, 1280u * MIB, 1024u * MIB, 8, false, false);
}

TEST_HARNESS_MAIN
