/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory of which the kernel clears a part, or which it copies as it clears:
 * the part is zero, the copy is exact, and the rest is as it was.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/clear_util.h"

CASE_PROGRAM("clearing of parts: tails, holes, partial writes, copies", 60,
	     "quick cpus=1");
CASES(clear_paths);

#define MIB		((size_t)1 << 20)
#define UNIT		(2 * MIB)
#define POOL		4
#define SEED		23

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE	23
#endif

/* First byte of [from, to) that is not zero, from the start of @at; -1. */
static int64_t part_wrong(const unsigned char *at, size_t from, size_t to)
{
	int64_t wrong = -1;

	while (from % 8 && from < to && wrong < 0) {
		wrong = at[from] ? (int64_t)from : -1;
		from++;
	}
	if (wrong < 0 && from < to)
		wrong = zero_wrong(at + from, to - from);
	return wrong < 0 ? -1 : wrong + (int64_t)from;
}

/* A file of @bytes, read back into a private mapping: its last page. */
static unsigned char *map_tail(const char *path, size_t bytes)
{
	static unsigned char text[8192];
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	unsigned char *at = MAP_FAILED;

	memset(text, CLEAR_SOIL, sizeof(text));
	if (fd < 0)
		return NULL;
	if (write(fd, text, bytes) == (ssize_t)bytes && !fsync(fd) &&
	    !posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED))
		at = mmap(NULL, page_bytes(), PROT_READ | PROT_WRITE,
			  MAP_PRIVATE, fd, 0);
	close(fd);
	return at == MAP_FAILED ? NULL : at;
}

/*
 * (design 16) What lies behind the end of a file in its last page is zero when
 * the page is mapped, also in a private copy of it.
 */
CASE(clear_paths, behind_the_end_of_a_file, 30)
{
	size_t page = page_bytes(), proven = 0;
	struct clear k;
	char path[128];

	CASE_NEEDS(clear_begin(c, &k, CLEAR_ANON, page, 0));
	CASE_NEEDS(clear_soil(c, &k));
	/* One file: the inodes of many stay charged for long. */
	snprintf(path, sizeof(path), "%s/tail", c->dir);
	for (size_t i = 0; i < 500 && proven < 32; i++) {
		size_t bytes = 1 + i * 251 % (page - 1);
		unsigned char *at;

		at = map_tail(path, bytes);
		ASSERT_NE(NULL, at) TH_LOG("%s: %m", path);
		ASSERT_EQ(-1, part_wrong(at, bytes, page))
			TH_LOG("file of %zu bytes", bytes);
		proven += clear_proven(&k, at, page);
		/* The private copy's frame is another one. */
		at[0] = 1;
		ASSERT_EQ(-1, part_wrong(at, bytes, page));
		ASSERT_EQ(CLEAR_SOIL, bytes > 1 ? at[bytes - 1] : CLEAR_SOIL);
		proven += clear_proven(&k, at, page);
		/* What the next page may be made of. */
		clear_fill(&k, at, page);
		munmap(at, page);
	}
	EXPECT_LE(32, proven);
}

/*
 * (design 16) A write of a few bytes into the hole of a tmpfs file brings a huge
 * folio that is zero everywhere else.
 */
CASE(clear_paths, write_into_a_hole, 30)
{
	const size_t where[] = { 0, 1, 4095, 4096, UNIT / 2 - 3, UNIT - 9 };
	static const char text[] = "eight by";
	size_t proven = 0;
	struct clear k;

	CASE_NEEDS(clear_begin(c, &k, CLEAR_MEMFD, UNIT, 0));
	CASE_NEEDS(clear_soil(c, &k));
	for (size_t i = 0; i < ARRAY_SIZE(where); i++) {
		unsigned char *at;
		int fd;

		at = clear_map(&k, 1, &fd);
		ASSERT_NE(NULL, at);
		ASSERT_EQ(8, pwrite(fd, text, 8, (off_t)where[i]));
		EXPECT_EQ(0, memcmp(at + where[i], text, 8));
		memset(at + where[i], 0, 8);
		ASSERT_EQ(-1, clear_wrong(at, UNIT));
		ASSERT_NE(0, clear_frame(at, UNIT));
		proven += clear_proven(&k, at, UNIT);
		clear_fill(&k, at, UNIT);
		munmap(at, UNIT);
		close(fd);
	}
	EXPECT_LE(1, proven);
}

/*
 * (design 16) A tmpfs file that is cut in the middle of a page and grows again
 * is zero behind the cut, and what it was before it.
 */
CASE(clear_paths, cut_and_grown, 30)
{
	const size_t cuts[] = { 1, 4095, 4096, 4097, UNIT / 2 + 5, UNIT - 1 };
	struct clear k;

	CASE_NEEDS(clear_begin(c, &k, CLEAR_MEMFD, UNIT, 0));
	CASE_NEEDS(thp_allow(c, AREA_MEMFD, pmd_order()));
	for (size_t i = 0; i < ARRAY_SIZE(cuts); i++) {
		unsigned char *at;
		int fd;

		at = clear_map(&k, 1, &fd);
		ASSERT_NE(NULL, at);
		fill(at, UNIT, SEED, 0);
		ASSERT_NE(0, clear_frame(at, UNIT));
		ASSERT_EQ(0, ftruncate(fd, (off_t)cuts[i]));
		ASSERT_EQ(0, ftruncate(fd, (off_t)UNIT));
		ASSERT_EQ(-1, part_wrong(at, cuts[i], UNIT))
			TH_LOG("cut at %zu", cuts[i]);
		EXPECT_EQ(-1, fill_wrong(at, cuts[i] / 8 * 8, SEED, 0));
		munmap(at, UNIT);
		close(fd);
	}
}

/*
 * (design 16, 17) A hole that is punched into a part of a huge page is zero; the
 * rest of the page is not touched.
 */
CASE(clear_paths, hole_in_a_huge_page, 30)
{
	const struct { size_t from, to; } holes[] = {
		{ 0, 4096 }, { 4096, 8192 }, { UNIT / 2, UNIT },
		{ UNIT - 4096, UNIT }, { 8, UNIT - 8 },
	};
	struct clear k;

	CASE_NEEDS(clear_begin(c, &k, CLEAR_HUGE_FILE, UNIT, POOL));
	for (size_t i = 0; i < ARRAY_SIZE(holes); i++) {
		size_t from = holes[i].from, to = holes[i].to;
		unsigned char *at;
		int fd;

		at = clear_map(&k, 1, &fd);
		ASSERT_NE(NULL, at);
		fill(at, UNIT, SEED, 0);
		ASSERT_EQ(0, fallocate(fd, FALLOC_FL_PUNCH_HOLE |
				       FALLOC_FL_KEEP_SIZE, (off_t)from,
				       (off_t)(to - from)))
			TH_LOG("%m");
		EXPECT_EQ(-1, part_wrong(at, from, to));
		EXPECT_EQ(-1, fill_wrong(at, from, SEED, 0));
		EXPECT_EQ(-1, fill_wrong(at + to, UNIT - to, SEED, to));
		munmap(at, UNIT);
		close(fd);
	}
}

struct copy_job {
	unsigned char *at;
	size_t hint;
};

/* The byte that it writes makes the copy; all others are the maker's. */
static int copy_peer(struct peer *me, void *arg)
{
	struct copy_job *job = arg;
	unsigned char *p = job->at + job->hint * page_bytes() + 7;
	unsigned char was = *p;
	uint64_t frame = clear_frame(job->at, UNIT);

	*p = (unsigned char)~was;
	if (clear_frame(job->at, UNIT) == frame)
		return 1;
	*p = was;
	return fill_wrong(job->at, UNIT, SEED, 0) < 0 ? 0 : 2;
}

/*
 * (design 16) A huge page that is copied on a write is the same in each byte,
 * whichever page of it was written: the copy goes the ways of the clear.
 */
CASE(clear_paths, copy_of_a_huge_page, 60)
{
	size_t hints[CLEAR_HINTS], n;
	struct copy_job job;
	struct clear k;
	struct peer p;

	CASE_NEEDS(clear_begin(c, &k, CLEAR_HUGE, UNIT, POOL));
	CASE_NEEDS(clear_soil(c, &k));
	job.at = clear_map(&k, 1, NULL);
	ASSERT_NE(NULL, job.at);
	fill(job.at, UNIT, SEED, 0);
	n = clear_hints(k.pages, hints);
	for (size_t i = 0; i < n; i += i > 8 && i + 8 < n ? 5 : 1) {
		job.hint = hints[i];
		ASSERT_EQ(0, peer_start(&p, copy_peer, &job));
		ASSERT_EQ(0, peer_end(&p)) TH_LOG("page %zu", hints[i]);
		ASSERT_EQ(-1, fill_wrong(job.at, UNIT, SEED, 0));
	}
}

/*
 * (design 16, 17) A part of a huge folio that was given back is zero when it
 * comes again, in single pages; the part that was not is as it was.
 */
CASE(clear_paths, part_of_a_folio_again, 30)
{
	const size_t from = UNIT / 4, to = UNIT / 2;
	unsigned char *at;
	struct clear k;

	CASE_NEEDS(clear_begin(c, &k, CLEAR_ANON, UNIT, 0));
	CASE_NEEDS(clear_soil(c, &k));
	at = clear_map(&k, 1, NULL);
	ASSERT_NE(NULL, at);
	fill(at, UNIT, SEED, 0);
	ASSERT_NE(0, clear_frame(at, UNIT));
	ASSERT_EQ(0, madvise(at + from, to - from, MADV_DONTNEED));
	ASSERT_EQ(0, madvise(at + from, to - from, MADV_POPULATE_WRITE));
	EXPECT_EQ(-1, part_wrong(at, from, to));
	EXPECT_EQ(-1, fill_wrong(at, from, SEED, 0));
	EXPECT_EQ(-1, fill_wrong(at + to, UNIT - to, SEED, to));
}

TEST_HARNESS_MAIN
