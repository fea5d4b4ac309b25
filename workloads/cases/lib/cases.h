/* SPDX-License-Identifier: GPL-2.0 */
/*
 * cases - what the correctness cases have in common.
 *
 * A case is a test of the kernel's own kselftest harness.  It runs in a process
 * of its own, in a memory cgroup of its own, as root of a guest that has swap,
 * huge pages, and XFS at /scratch.  A program looks like this:
 *
 *	#include "lib/cases.h"
 *
 *	CASE_PROGRAM("young bits of large folios", 120, "quick");
 *	CASES(young);
 *
 *	// (design 1) What reclaim keeps is ...
 *	CASE(young, one_young, 30)
 *	{
 *		struct area a;
 *
 *		AREA(c, &a, AREA_XFS, 4 << 20, 4);
 *		ASSERT_EQ(0, area_age(&a));
 *		area_touch(&a, 0, 1);
 *		EXPECT_EQ(0, case_reclaim(c, 1 << 20));
 *	}
 *
 *	TEST_HARNESS_MAIN
 *
 * In the body there are c (struct case_ctx), variant and _metadata, so that
 * ASSERT_*, EXPECT_*, SKIP() and TH_LOG() work.  Of ASSERT_EQ(expected, seen) the
 * expected value comes first.  Seconds are the guest's: 500 million instructions
 * each, some 4 s of wall time when it is busy and none when it sleeps.
 *
 * After every case, without a line of its own: the content, Rss, Pss and
 * mapcounts of its areas (in the case's process, unless it failed or was
 * skipped); then, when all its processes are gone, the content of its files, the
 * mapcounts of their pages, memory.stat and memory.current of the cgroup, and
 * what the kernel log says since the case began.
 *
 * Functions that can fail say why through case_why() and return -1, or 1 where
 * this machine lacks what is needed: a reason to SKIP.
 */
#ifndef FOLAB_CASES_H
#define FOLAB_CASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "../../../cgroups/cgroups.h"
#include "../../../harness/base/base.h"

#ifndef CASES_LIB		/* the harness can be in one file of a program */
#include "kselftest_harness.h"	/* of the kernel: build/kselftest/ */
#endif

/* ---- the program ----------------------------------------------------------- */

/*
 * Once in a program: what `folab list cases` says of it, its limit in seconds of
 * the guest (all its tests together), and words about it:
 *
 *	quick		belongs to `make check`
 *	hidden		runs only when it is named
 *	boot=OPT[,OPT]	run it in a guest with these kernel options; several such
 *			words: once in each ("boot=" alone: without more);
 *			",," is a comma within an option
 *	memory=SIZE	the guest's memory, if 2G does not do
 *	scratch=SIZE	of the file system, if 384M does not do
 *	needs=NAME	a tree of files beside it, by `make NAME`: stress-ng.  A
 *			machine may lack it: look, and SKIP
 *	cpus=N		of the guest, if it must not be two: with one, and nothing
 *			printed meanwhile, what a program does repeats exactly
 *
 * It lies in a section of the program, where folab reads it for any
 * architecture without running it.
 */
#define CASE_PROGRAM(summary, seconds, words) \
	const char folab_case_program[] \
	__attribute__((used, section(".folab.case"))) = \
	summary "\n" #seconds "\n" words "\n"

/* ---- one case ------------------------------------------------------------- */

#define CASE_AREAS	16
#define CASE_FILES	16

enum area_kind {
	AREA_XFS,	/* page cache of a file, mapped shared; on disk, clean */
	AREA_SHMEM,	/* MAP_SHARED | MAP_ANONYMOUS; mTHP of any order, or lacks */
	AREA_MEMFD,	/* memfd, mapped shared; order 0 or a PMD's */
	AREA_ANON,	/* MAP_PRIVATE | MAP_ANONYMOUS; mTHP of any order, or lacks */
};

struct area {
	unsigned char *at;	/* aligned to a PMD */
	size_t bytes;
	enum area_kind kind;
	int order;
	int fd;			/* AREA_XFS, AREA_MEMFD; else -1 */
	char path[128];		/* AREA_XFS */
	uint64_t seed;		/* of its content */
};

/* Shared between the case's process and the one that cleans up behind it. */
struct case_ctx {
	char name[64];		/* of the fixture */
	char cgroup[64];	/* below /sys/fs/cgroup */
	char dir[80];		/* empty directory on XFS, removed afterwards */
	struct memcg *cg;	/* the case's own; valid in its process */
	int64_t marker;		/* of this case in the kernel log */
	struct case_file {	/* files whose content is known */
		char path[128];
		size_t bytes;
		uint64_t seed;
	} files[CASE_FILES];
	size_t n_files;
	/* As they were made: the case's own variables are gone at its end. */
	struct case_area {
		struct area area;
		const struct area *of;
	} areas[CASE_AREAS];
	size_t n_areas;
	bool loose;		/* case_loose() */
	bool may_warn;		/* case_may_warn() */
};

/* Why the last call of this process failed, or can't be done. */
const char *case_why(void);
int case_fail(const char *fmt, ...) PRINTF(1, 2);	/* sets it, -1 */
int case_lacks(const char *fmt, ...) PRINTF(1, 2);	/* sets it, 1 */

/*
 * Called by CASES(): sweeps up what an earlier case left, makes cgroup and
 * directory, puts the calling process into the cgroup, marks the kernel log,
 * sends khugepaged to sleep.
 */
int case_begin(struct case_ctx *c, const char *name);
/* Called by CASE() behind the body: area_check() of all areas, as they were made
 * or area_changed() last said.  Faults seen. */
int case_check(struct case_ctx *c);
/*
 * Called by CASES() when the case's process is gone: ends what it left running,
 * puts settings back, checks as said above, removes everything.  Returns the
 * number of faults; each is printed as a diagnostic line.
 */
int case_end(struct case_ctx *c);

/* This case leaves memory charged by design (hwpoison): don't check that. */
void case_loose(struct case_ctx *c);
/* This case makes the kernel say something (hwpoison): don't check the log. */
void case_may_warn(struct case_ctx *c);

/*
 * What has to be alike on every kernel (an end, a decision): folab check with
 * several -k compares it.  @name: no blanks, told once in a program.
 */
void case_same(const char *name, const char *fmt, ...) PRINTF(2, 3);

#define CASES(fixture) \
	FIXTURE(fixture) { \
		struct case_ctx c; \
	}; \
	FIXTURE_SETUP(fixture) \
	{ \
		int rc_ = case_begin(&self->c, #fixture); \
		if (rc_ > 0) \
			SKIP(return, "%s", case_why()); \
		ASSERT_EQ(0, rc_) TH_LOG("%s", case_why()); \
	} \
	FIXTURE_TEARDOWN_PARENT(fixture) \
	{ \
		if (case_end(&self->c)) \
			_metadata->exit_code = KSFT_FAIL; \
	} \
	FIXTURE_DATA(fixture)

/*
 * @seconds of a kernel without checks, in seconds of this one: folab check gives
 * folab.slow=N to a kernel of the debug config, where everything costs more.
 */
int case_limit(int seconds);

/* A case of at most @seconds.  With a FIXTURE_VARIANT() there is *variant. */
#define CASE(fixture, test, seconds) \
	static void fixture##_##test##_body( \
		struct __test_metadata *_metadata, struct case_ctx *c, \
		const FIXTURE_VARIANT(fixture) *variant); \
	TEST_F_TIMEOUT(fixture, test, case_limit(seconds)) \
	{ \
		fixture##_##test##_body(_metadata, &self->c, variant); \
		if (!_metadata->exit_code && case_check(&self->c)) \
			_metadata->exit_code = KSFT_FAIL; \
	} \
	static void fixture##_##test##_body( \
		struct __test_metadata __attribute__((unused)) *_metadata, \
		struct case_ctx __attribute__((unused)) *c, \
		const FIXTURE_VARIANT(fixture) \
			__attribute__((unused)) *variant)

/*
 * Do something that returns 0, 1 (this machine lacks it: SKIP the case), or -1
 * (the case failed).  Only in the body itself.
 */
#define CASE_NEEDS(call) do { \
	int rc_ = (call); \
	if (rc_ > 0) \
		SKIP(return, "%s", case_why()); \
	ASSERT_EQ(0, rc_) TH_LOG("%s: %s", #call, case_why()); \
} while (0)

/* ---- a probe at a function of the kernel (the debug config has them) --------- */

#define PROBE_ARGS	3

struct probe_call {
	uint64_t arg[PROBE_ARGS];
	bool has[PROBE_ARGS];	/* the probe has an argument of this name */
};

/*
 * Probe the first of @places that this kernel has: "FUNCTION NAME=%REGISTER:x64"
 * with as many arguments as there are.  One probe at a time; case_end() ends
 * it.  1: no probes, or no such function.
 */
int probe_begin(const char *const *places, size_t n);
int probe_stop(void);	/* what it saw stays; 0 or -1 */
int probe_forget(void);	/* what it saw so far; 0 or -1 */
void probe_end(void);
/*
 * What it saw, in order: arguments of these names (NULL: none), the first of
 * which each call has.  Returns how many calls, or -1, if there are @most, too.
 */
int probe_calls(const char *const names[PROBE_ARGS], struct probe_call *calls,
		int most);

/* ---- settings --------------------------------------------------------------- */

/* Write @value to @path; put back by case_end().  1: there is no such file. */
int case_knob(struct case_ctx *c, const char *path, const char *value);
/* MGLRU on or off (off: the classic LRU).  1: the kernel has no MGLRU. */
int case_mglru(struct case_ctx *c, bool on);
/* Scan every 10 ms, or (as case_begin() asks) not by itself.  1: no THP. */
int case_khugepaged(struct case_ctx *c, bool on);
/* Swap of @bytes on zram until the case ends.  1: no zram. */
int case_swap(struct case_ctx *c, size_t bytes);
/* "folab.NAME=" or NAME= of the kernel command line; @missing if not there. */
int64_t boot_param(const char *name, int64_t missing);
bool boot_param_text(const char *name, char *buf, size_t len);

/* ---- sizes ------------------------------------------------------------------- */

size_t page_bytes(void);	/* base page: 4K; 16K or 64K on some arm64 */
size_t pmd_bytes(void);		/* what a PMD maps: 2M with 4K pages */
int pmd_order(void);
/* Pages that one contpte block has, 0: this architecture has none. */
unsigned int cont_pages(void);

/* ---- areas: memory of known content in folios of a known order ---------------- */

/*
 * Make one of @bytes (a multiple of the folio), map it writable, fill it with
 * fill(seed), fault everything in, and prove that it consists of folios of
 * @order: from /proc/kpageflags.  Of AREA_XFS 2 %, or four folios, may be of other
 * orders: the first ones, as readahead begins with smaller windows.  Registered
 * with @c, so that it is checked at the end until area_unmap() or
 * area_forget().  Charged to the cgroup of the calling process.  AREA_XFS pages
 * are clean afterwards (written back), all PTEs young.
 */
int area_make(struct case_ctx *c, struct area *a, enum area_kind kind,
	      size_t bytes, int order);
#define AREA(c, a, kind, bytes, order) \
	CASE_NEEDS(area_make(c, a, kind, bytes, order))
/* Map it once more at @at (NULL: aligned, anywhere), @offset bytes on: needs fd. */
void *area_map(const struct area *a, void *at, size_t offset, size_t bytes,
	       int prot);
/* Content, Rss == pages present, Pss == their share, mapcounts >= 1.  Faults. */
int area_check(const struct area *a);
/* Content only; reads every page.  -1: alike, else offset of the first wrong byte. */
int64_t area_wrong(const struct area *a);
/* The case has changed ->at, ->bytes or ->seed of it: check that at the end. */
void area_changed(struct case_ctx *c, const struct area *a);
/* The case changes what is in it: from now on nobody looks at it. */
void area_forget(struct case_ctx *c, struct area *a);
void area_unmap(struct case_ctx *c, struct area *a);
/* Clear young from all PTEs and referenced from the folios, flush the TLB. */
int area_age(const struct area *a);
/* Read one byte of each of @pages pages from page @first on. */
void area_touch(const struct area *a, size_t first, size_t pages);

/* Content by position and seed: no two pages, and no shift, look alike. */
void fill(void *at, size_t bytes, uint64_t seed, uint64_t offset);
/* -1: as fill() left it, else the offset (from @at) of the first wrong byte. */
int64_t fill_wrong(const void *at, size_t bytes, uint64_t seed, uint64_t offset);
/* -1: all zero, else the offset of the first byte that is not. */
int64_t zero_wrong(const void *at, size_t bytes);
/* Address space only, PROT_NONE, aligned to @align (at least a page). */
void *reserve(size_t bytes, size_t align);
/*
 * Let what is faulted from now on (AREA_ANON, AREA_SHMEM; AREA_MEMFD: a PMD)
 * come in folios of @order, and in no other but single pages.  1: can't.
 */
int thp_allow(struct case_ctx *c, enum area_kind kind, int order);

/* ---- what /proc says of a page ---------------------------------------------- */

struct page_view {
	bool present, swapped, soft_dirty, uffd_wp, exclusive, file;
	uint64_t pfn;		/* 0: none */
	uint64_t swap;		/* swapped: type, and offset << 5 */
	uint64_t flags;		/* /proc/kpageflags, KPF_* below */
	int64_t mapcount;	/* /proc/kpagecount */
};
enum {				/* bits of flags: linux/kernel-page-flags.h */
	PV_LOCKED = 0, PV_REFERENCED = 2, PV_UPTODATE = 3, PV_DIRTY = 4,
	PV_LRU = 5, PV_ACTIVE = 6, PV_WRITEBACK = 8, PV_MMAP = 11, PV_ANON = 12,
	PV_SWAPCACHE = 13, PV_SWAPBACKED = 14, PV_HEAD = 15, PV_TAIL = 16,
	PV_HUGE = 17, PV_UNEVICTABLE = 18, PV_HWPOISON = 19, PV_THP = 22,
	PV_IDLE = 25, PV_MLOCKED = 33,
};
#define PV_HAS(v, bit)	(!!((v)->flags & (UINT64_C(1) << (bit))))

/* @pid 0: this process.  Returns 0 or -1. */
int page_view(pid_t pid, const void *at, struct page_view *v);
/* Flags and mapcount of a frame. */
int frame_view(uint64_t pfn, struct page_view *v);
/* Order of the folio mapped at @at (which page of it does not matter), -1. */
int folio_order(const void *at);
size_t pages_present(const void *at, size_t bytes);	/* PTEs present */
size_t pages_swapped(const void *at, size_t bytes);
size_t pages_of_order(const void *at, size_t bytes, int order);
/* mincore(2): pages in the page cache (file, shmem), mapped or not. */
size_t pages_cached(const void *at, size_t bytes);

/* One field in bytes ("Rss", "Pss", "Referenced", "Swap", "Locked") of the
 * VMAs of @pid that lie in [at, at + bytes); -1. */
int64_t smaps_get(pid_t pid, const void *at, size_t bytes, const char *field);
/*
 * PTEs of the range that are young.  Exact while no folio of it has the
 * referenced flag (area_age() takes it; reclaim may set it: then -1).
 */
int64_t pages_young(const void *at, size_t bytes);
/* "1" all young and referenced bits, "4" soft-dirty: /proc/PID/clear_refs. */
int clear_refs(pid_t pid, int what);
/* Idle page tracking; 1: the kernel has none. */
int idle_set(uint64_t pfn);
int idle_get(uint64_t pfn, bool *idle);

/* ---- cgroup ------------------------------------------------------------------- */

/* memory.reclaim of the case's cgroup: 0, or errno (EAGAIN: less than asked). */
int case_reclaim(struct case_ctx *c, uint64_t bytes);
/* @text as it is ("10M swappiness=60", rubbish): 0, or errno. */
int case_reclaim_text(struct case_ctx *c, const char *text);
/* Until nothing more goes, at most @rounds times. */
void case_reclaim_all(struct case_ctx *c, int rounds);
/* memory.stat; waits until the kernel's per-CPU counts are in; -1. */
int64_t case_stat(struct case_ctx *c, const char *name);
int64_t case_current(struct case_ctx *c);	/* memory.current, -1 */
/* Any file of any cgroup: path below /sys/fs/cgroup.  0 or errno. */
int cg_write(const char *cgroup, const char *file, const char *text);
int cg_read(const char *cgroup, const char *file, char *buf, size_t len);
int cg_make(const char *cgroup);	/* mkdir, controllers: 0 or errno */
int cg_remove(const char *cgroup);	/* rmdir: 0 or errno */
int cg_attach(const char *cgroup, pid_t pid);	/* @pid 0: this one */
/* A child of the case's cgroup is "%s/NAME" of c->cgroup; case_end() removes it. */

/* pageout of a range: madvise(MADV_PAGEOUT), repeated while anything goes. */
int pageout(void *at, size_t bytes);

/* ---- other processes ------------------------------------------------------------ */

/*
 * A process that does things when it is told.  It inherits the cgroup and the
 * mappings; dies with its maker; is killed by case_end().
 *
 *	static int peer(struct peer *me, void *arg)
 *	{
 *		... ; peer_step(me); ... ; return 0;
 *	}
 *	ASSERT_EQ(0, peer_start(&p, peer, arg));
 *	peer_meet(&p);		both go on when both are there
 *	EXPECT_EQ(0, peer_end(&p));
 */
struct peer {
	pid_t pid;		/* 0: none, or it is the peer itself */
	int in, out;
};
int peer_start(struct peer *p, int (*fn)(struct peer *me, void *arg),
	       void *arg);
int peer_step(struct peer *me);		/* in the peer: wait for peer_meet() */
int peer_meet(struct peer *p);		/* 0; -1: it is gone */
/* Wait for its end: exit status (fn's value, 0..255), or 256 + signal. */
int peer_end(struct peer *p);
void peer_kill(struct peer *p);		/* SIGKILL, reaped */

/* ---- userfaultfd ------------------------------------------------------------------ */

/* UFFD_FEATURE_* wanted; the fd in *fd.  1: the kernel lacks it. */
int uffd_open(uint64_t features, int *fd);
int uffd_register(int fd, void *at, size_t bytes, uint64_t mode);
int uffd_protect(int fd, void *at, size_t bytes, bool on);

/* ---- kernel log --------------------------------------------------------------------- */

/* First line since the case's marker that tells of a fault; false: none. */
bool log_fault(const struct case_ctx *c, char *line, size_t len);
/* Does a line since the marker contain @text? */
bool log_has(const struct case_ctx *c, const char *text);
/* Write a line to the kernel log; 7 is debug, 3 an error.  0 or -1. */
int log_say(int level, const char *fmt, ...) PRINTF(2, 3);

/* Seconds of CLOCK_MONOTONIC, guest time. */
double guest_seconds(void);
/* Sleep; on the instruction clock that costs nothing. */
void guest_sleep(double seconds);

#endif
