/* SPDX-License-Identifier: GPL-2.0 */
/*
 * walk_step - one step of a random walk, and what comes of it.
 *
 * Up to WALK_PROCS processes ("walkers"), copies of each other, live in one
 * memory cgroup.  They map files, shared and anonymous memory into an arena of
 * WALK_ARENA pages, and do to it what one that stays outside of the cgroup tells
 * them, one step at a time.
 *
 * This, walk_exec.h and walk_replay.h need libc and nothing of ours: a walk that
 * fails is printed as their text and the steps that are left of it
 * (walk_print.c).  So no macro in there has more than one line.
 */
#ifndef FOLAB_CASES_WALK_STEP_H
#define FOLAB_CASES_WALK_STEP_H

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WALK_PROCS 4
#define WALK_ARENA 1024
#define WALK_FILES 3
#define WALK_FILE_PAGES 192
#define WALK_BUF_PAGES 64
#define WALK_HANG 10

enum walk_kind { WALK_NONE, WALK_FILE, WALK_COW, WALK_SHMEM, WALK_ANON };
enum walk_op {
	WALK_MMAP, WALK_MUNMAP, WALK_MPROTECT, WALK_MREMAP, WALK_MADVISE,
	WALK_MLOCK, WALK_MUNLOCK, WALK_FORK, WALK_EXIT, WALK_TOUCH, WALK_STORE,
	WALK_TRUNCATE, WALK_PWRITE, WALK_PREAD, WALK_DROP, WALK_AGE,
	WALK_RECLAIM, WALK_CHECK, WALK_OPS
};

/* Addresses and lengths of the arena are in pages, all else is in bytes. */
struct walk_step {
	int op, proc, at, len, to, kind, object, prot, advice;
	unsigned int pos, bytes, seed;
};

/* What came of it: 0 or -errno; of accesses the pages done and the signal. */
struct walk_reply { int ret, pages, sig; };

/* Of one page that a walker looked at: */
enum walk_seen { WALK_SAME = 0, WALK_OTHER = -1, WALK_WRONG = -2 };
#define WALK_ANY (-1)
#define WALK_SKIP (-2)

struct walk_shared {
	int turn[WALK_PROCS];
	struct walk_step step;
	struct walk_reply reply;
	int want[WALK_ARENA], other[WALK_ARENA], seen[WALK_ARENA];
	uint64_t hash[WALK_ARENA];
	unsigned char buf[];
};

struct walk_exec {
	struct walk_shared *sh;
	unsigned char *arena;
	unsigned char *pool;
	size_t pool_bytes, page;
	pid_t pid[WALK_PROCS];
	int files[WALK_FILES], counts;
	char cgroup[160];
	int planted;
};

/* What is written with @seed: every byte depends on its place. */
static inline void walk_fill(unsigned char *at, size_t bytes, unsigned int seed)
{
	uint64_t salt = (seed + 1) * UINT64_C(0xd6e8feb86659fd93), word;
	size_t i = 0;

	for (; i + 8 <= bytes; i += 8) {
		word = (i / 8 + 1) * UINT64_C(0x9e3779b97f4a7c15) ^ salt;
		memcpy(at + i, &word, 8);
	}
	word = (i / 8 + 1) * UINT64_C(0x9e3779b97f4a7c15) ^ salt;
	memcpy(at + i, &word, bytes - i);
}

#endif
