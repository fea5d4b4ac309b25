/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reclaim beside everything that takes folios, page tables and cgroups apart
 * under it.  What holds: every byte, every count, and no word from the kernel.
 * Rounds are few; a longer storm is a longer run of the random walk.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/cases.h"

CASE_PROGRAM("reclaim beside exits, moves, truncation, collapse, migration", 60,
	     "quick");
CASES(storms);

#define MIB	(1024u * 1024)
#define COMPACT	"/proc/sys/vm/compact_memory"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE	25
#endif

struct job {
	struct case_ctx *c;
	const char *cgroup;
	struct area *a;
	int rounds;
};

/* Ask for a little, again and again, and let others run. */
static int reclaim_on(struct peer *me, void *arg)
{
	struct job *j = arg;

	peer_step(me);
	for (int i = 0; i < j->rounds; i++) {
		int errnum = cg_write(j->cgroup, "memory.reclaim",
				      i & 1 ? "1M swappiness=200" : "512K");

		/* A cgroup that has been removed is what some wait for. */
		if (errnum == ENODEV || errnum == ENOENT)
			return 0;
		if (errnum && errnum != EAGAIN)
			return 1;
		guest_sleep(0.0005);
	}
	return 0;
}

static int compact_on(struct peer *me, void *arg)
{
	struct job *j = arg;
	int fd = open(COMPACT, O_WRONLY | O_CLOEXEC);

	peer_step(me);
	for (int i = 0; i < j->rounds; i++) {
		if (write(fd, "1", 1) != 1)
			return 1;
		guest_sleep(0.001);
	}
	return 0;
}

/* A child that uses all of the area, on and on, until it is killed or done. */
static pid_t start_user(const struct area *a, const char *cgroup, int rounds)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	if (cgroup && cg_attach(cgroup, 0))
		_exit(1);
	for (int i = 0; i < rounds; i++)
		if (area_wrong(a) >= 0)
			_exit(2);
	_exit(0);
}

static int end_user(pid_t pid)
{
	int status;

	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 256;
}

/* (design 6) Processes that map the folios exit while these are looked at. */
CASE(storms, mappers_exit, 30)
{
	struct job j = { .c = c, .cgroup = c->cgroup, .rounds = 60 };
	static struct area a;
	struct peer peer;

	AREA(c, &a, AREA_XFS, MIB, 4);
	ASSERT_EQ(0, peer_start(&peer, reclaim_on, &j));
	ASSERT_EQ(0, peer_meet(&peer));
	for (int i = 0; i < 12; i++) {
		pid_t pid[3];

		for (int k = 0; k < 3; k++)
			pid[k] = start_user(&a, NULL, k);
		for (int k = 0; k < 3; k++) {
			EXPECT_EQ(0, end_user(pid[k]));
		}
	}
	EXPECT_EQ(0, peer_end(&peer));
}

/* (design 13) A cgroup is removed while somebody reclaims from it. */
CASE(storms, cgroup_is_removed, 30)
{
	static struct area a;
	char child[96];

	AREA(c, &a, AREA_XFS, MIB, 4);
	snprintf(child, sizeof(child), "%s-child", c->cgroup);
	for (int i = 0; i < 8; i++) {
		struct job j = { .c = c, .cgroup = child, .rounds = 1000 };
		struct peer peer;

		ASSERT_EQ(0, cg_make(child));
		case_reclaim_all(c, 2);
		/* It is charged for what it brings in. */
		EXPECT_EQ(0, end_user(start_user(&a, child, 1)));
		ASSERT_EQ(0, peer_start(&peer, reclaim_on, &j));
		ASSERT_EQ(0, peer_meet(&peer));
		guest_sleep(0.001 * i);
		ASSERT_EQ(0, cg_remove(child));
		EXPECT_EQ(0, peer_end(&peer));
	}
}

/* (design 13) Processes are forked and moved between two cgroups. */
CASE(storms, forks_move_between_cgroups, 30)
{
	char child[2][96];
	struct job j[2];
	struct peer peer[2];
	static struct area a, anon;

	CASE_NEEDS(case_swap(c, 32 * MIB));
	AREA(c, &a, AREA_XFS, MIB, 4);
	AREA(c, &anon, AREA_ANON, MIB, 4);
	for (int i = 0; i < 2; i++) {
		snprintf(child[i], sizeof(child[i]), "%s-%d", c->cgroup, i);
		ASSERT_EQ(0, cg_make(child[i]));
		j[i] = (struct job){ .c = c, .rounds = 60,
				     .cgroup = i ? c->cgroup : child[0] };
		ASSERT_EQ(0, peer_start(&peer[i], reclaim_on, &j[i]));
		ASSERT_EQ(0, peer_meet(&peer[i]));
	}
	for (int i = 0; i < 24; i++) {
		pid_t pid = start_user(i & 1 ? &a : &anon, child[i / 2 % 2], 2);

		/* And on, to the other one, while it runs. */
		cg_attach(child[(i / 2 + 1) % 2], pid);
		EXPECT_EQ(0, end_user(pid));
	}
	for (int i = 0; i < 2; i++) {
		EXPECT_EQ(0, peer_end(&peer[i]));
		EXPECT_EQ(0, cg_remove(child[i]));
	}
}

/* (design 13) The file is cut to the middle of a folio, and grows again. */
CASE(storms, file_is_cut_and_grows, 30)
{
	struct job j = { .c = c, .cgroup = c->cgroup, .rounds = 80 };
	size_t page = page_bytes(), cut;
	static struct area a;
	struct peer peer;

	AREA(c, &a, AREA_XFS, MIB, 4);
	area_forget(c, &a);
	ASSERT_EQ(0, peer_start(&peer, reclaim_on, &j));
	ASSERT_EQ(0, peer_meet(&peer));
	cut = a.bytes;
	for (int i = 0; i < 20; i++) {
		/* Ever a bit shorter: what is behind stays zero. */
		cut -= (size_t)(5 + i % 7) * page + 100;
		ASSERT_EQ(0, ftruncate(a.fd, (off_t)cut));
		EXPECT_EQ(-1, fill_wrong(a.at, cut / 8 * 8, a.seed, 0));
		ASSERT_EQ(0, ftruncate(a.fd, (off_t)a.bytes));
		EXPECT_EQ(-1, fill_wrong(a.at, cut / 8 * 8, a.seed, 0));
		EXPECT_EQ(-1, zero_wrong(a.at + cut, a.bytes - cut));
	}
	EXPECT_EQ(0, peer_end(&peer));
}

/*
 * 6.12 collapses nothing of which no page may be written, and what was only read
 * since it was swapped in is like that.  0 or errno.
 */
static int collapse_all(const struct area *a)
{
	for (size_t at = 0; at < a->bytes; at += pmd_bytes()) {
		volatile unsigned char *byte = a->at + at;

		*byte = *byte;
	}
	return madvise(a->at, a->bytes, MADV_COLLAPSE) ? errno : 0;
}

/* (design 13) Small folios are collapsed into a huge one, and split by swap. */
CASE(storms, collapse, 30)
{
	struct job j = { .c = c, .cgroup = c->cgroup, .rounds = 60 };
	static struct area a;
	struct peer peer;
	int errnum = EAGAIN;

	CASE_NEEDS(case_swap(c, 32 * MIB));
	AREA(c, &a, AREA_ANON, 2 * pmd_bytes(), 0);
	/* AREA_ANON of order 0 has forbidden it. */
	ASSERT_EQ(0, madvise(a.at, a.bytes, MADV_HUGEPAGE));
	/* With nobody else about, it works or it does not. */
	if (madvise(a.at, a.bytes, MADV_COLLAPSE))
		SKIP(return, "MADV_COLLAPSE: %s", strerror(errno));
	ASSERT_EQ(a.bytes / page_bytes(),
		  pages_of_order(a.at, a.bytes, pmd_order()));
	ASSERT_EQ(0, peer_start(&peer, reclaim_on, &j));
	ASSERT_EQ(0, peer_meet(&peer));
	/* Either may win each of these races. */
	for (int i = 0; i < 10; i++) {
		collapse_all(&a);
		EXPECT_EQ(-1, area_wrong(&a));
	}
	EXPECT_EQ(0, peer_end(&peer));
	/* A page that is just on its way in says EAGAIN. */
	for (int i = 0; i < 5 && errnum == EAGAIN; i++)
		errnum = collapse_all(&a);
	EXPECT_EQ(0, errnum)
		TH_LOG("nobody is about, but: %s", strerror(errnum));
	EXPECT_EQ(-1, area_wrong(&a));
}

/*
 * (design 7, 13) Folios migrate (compaction) while parts of them are unmapped,
 * which queues them for splitting, and the rest is reclaimed and read.
 */
static void migrate(struct __test_metadata *_metadata, struct case_ctx *c,
		    enum area_kind kind, int order)
{
	struct job j = { .c = c, .cgroup = c->cgroup, .rounds = 25 };
	size_t page = page_bytes(), folio = page << order;
	static struct area a;
	struct peer compact, reclaim;

	if (access(COMPACT, W_OK))
		SKIP(return, "no compaction in this kernel");
	CASE_NEEDS(case_swap(c, 32 * MIB));
	AREA(c, &a, kind, 4 * MIB, order);
	area_forget(c, &a);
	ASSERT_EQ(0, peer_start(&compact, compact_on, &j));
	ASSERT_EQ(0, peer_start(&reclaim, reclaim_on, &j));
	ASSERT_EQ(0, peer_meet(&compact));
	ASSERT_EQ(0, peer_meet(&reclaim));
	for (size_t at = 0; at < a.bytes; at += folio) {
		/* Another part of each. */
		size_t first = at / folio % 8 * (folio / 16);
		unsigned char *p = a.at + at;

		ASSERT_EQ(0, munmap(p + first, folio / 2));
		EXPECT_EQ(-1, fill_wrong(p, first, a.seed, at));
		EXPECT_EQ(-1, fill_wrong(p + first + folio / 2,
					 folio / 2 - first, a.seed,
					 at + first + folio / 2));
	}
	EXPECT_EQ(0, peer_end(&compact));
	EXPECT_EQ(0, peer_end(&reclaim));
	for (size_t at = 0; at < a.bytes; at += folio) {
		size_t first = at / folio % 8 * (folio / 16);

		EXPECT_EQ(-1, fill_wrong(a.at + at, first, a.seed, at));
		EXPECT_EQ(-1, fill_wrong(a.at + at + first + folio / 2,
					 folio / 2 - first, a.seed,
					 at + first + folio / 2));
	}
}

CASE(storms, migration_of_anon_64k, 30)
{
	migrate(_metadata, c, AREA_ANON, 4);
}

CASE(storms, migration_of_anon_2m, 30)
{
	migrate(_metadata, c, AREA_ANON, pmd_order());
}

CASE(storms, migration_of_file_64k, 30)
{
	migrate(_metadata, c, AREA_XFS, 4);
}

TEST_HARNESS_MAIN
