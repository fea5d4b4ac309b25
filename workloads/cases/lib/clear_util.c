/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Faults on frames that were soiled before.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib.h"
#include "clear_util.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ	22
#define MADV_POPULATE_WRITE	23
#endif
#ifndef MFD_HUGE_SHIFT
#define MFD_HUGE_SHIFT		26
#endif

#define PM_PRESENT	(UINT64_C(1) << 63)
#define PM_PFN		((UINT64_C(1) << 55) - 1)
#define MAX_FRAMES	(UINT64_C(1) << 22)	/* 16 GiB of 4K pages */
#define TRIES		4096	/* faults until soiled frames come */
#define SOIL_BYTES	(256u << 20)
#define THE_BYTE	0x5a	/* that a fault stores */

struct frames {
	uint64_t bits[MAX_FRAMES / 64];
};

const char *clear_way_name(enum clear_way way)
{
	static const char *const names[] = {
		"a store", "a load", "MADV_POPULATE_WRITE", "read(2)",
		"fallocate(2)",
	};

	return names[way];
}

/* ---- frames ------------------------------------------------------------------- */

static int read_table(const char *path, uint64_t first, uint64_t *v, size_t n)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *to = (char *)v;
	size_t left = n * 8;
	off_t at = (off_t)(first * 8);

	if (fd < 0)
		return case_fail("can't open %s: %s", path, strerror(errno));
	while (left) {
		ssize_t got = pread(fd, to, left, at);

		if (got <= 0)
			break;
		to += got;
		at += got;
		left -= (size_t)got;
	}
	close(fd);
	return left ? case_fail("can't read %s", path) : 0;
}

/* Frames of the range, 0 where nothing is mapped.  NULL, or to be freed. */
static uint64_t *frames_of(const void *at, size_t bytes)
{
	size_t pages = bytes / page_bytes();
	uint64_t *v = xmalloc(pages * 8);

	if (read_table("/proc/self/pagemap", (uintptr_t)at / page_bytes(), v,
		       pages)) {
		free(v);
		return NULL;
	}
	for (size_t i = 0; i < pages; i++)
		v[i] = v[i] & PM_PRESENT ? v[i] & PM_PFN : 0;
	return v;
}

static void frames_add(struct frames *f, const void *at, size_t bytes)
{
	uint64_t *v = frames_of(at, bytes);

	for (size_t i = 0; v && i < bytes / page_bytes(); i++)
		if (v[i] && v[i] < MAX_FRAMES)
			f->bits[v[i] / 64] |= UINT64_C(1) << v[i] % 64;
	free(v);
}

static bool frames_have(const struct frames *f, uint64_t pfn, size_t pages)
{
	for (uint64_t p = pfn; p < pfn + pages; p++)
		if (p >= MAX_FRAMES || !(f->bits[p / 64] >> p % 64 & 1))
			return false;
	return true;
}

bool clear_proven(const struct clear *k, const void *at, size_t bytes)
{
	uint64_t *v = frames_of(at, bytes);
	bool all = v;

	for (size_t i = 0; all && i < bytes / page_bytes(); i++)
		all = v[i] && frames_have(k->soiled, v[i], 1);
	free(v);
	return all;
}

/* Are frames [pfn, pfn + pages) one folio, and no more? */
static bool one_folio(uint64_t pfn, size_t pages)
{
	const uint64_t head = UINT64_C(1) << PV_HEAD;
	const uint64_t tail = UINT64_C(1) << PV_TAIL;
	uint64_t *v = xmalloc(pages * 8);
	bool ok = !read_table("/proc/kpageflags", pfn, v, pages) &&
		  !(v[0] & tail) && (pages == 1) == !(v[0] & head);
	struct page_view next;

	for (size_t i = 1; ok && i < pages; i++)
		ok = v[i] & tail;
	free(v);
	/* The last frames of memory have none behind them. */
	return ok && (frame_view(pfn + pages, &next) ||
		      !PV_HAS(&next, PV_TAIL));
}

uint64_t clear_frame(const void *at, size_t bytes)
{
	size_t pages = bytes / page_bytes();
	uint64_t *v = frames_of(at, bytes), pfn;

	if (!v)
		return 0;
	pfn = v[0];
	for (size_t i = 1; i < pages && pfn; i++)
		if (v[i] != pfn + i)
			pfn = 0;
	free(v);
	return pfn && !(pfn & (pages - 1)) && one_folio(pfn, pages) ? pfn : 0;
}

/* ---- memory ------------------------------------------------------------------- */

static bool is_huge(enum clear_kind kind)
{
	return kind >= CLEAR_HUGE;
}

static bool is_file(enum clear_kind kind)
{
	return kind == CLEAR_MEMFD || kind == CLEAR_HUGE_FILE;
}

/* Frames freed by one CPU wait for its next allocation, not for another's. */
static int stay_here(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	return sched_setaffinity(0, sizeof(set), &set) ?
		case_fail("sched_setaffinity: %s", strerror(errno)) : 0;
}

static enum area_kind as_area(enum clear_kind kind)
{
	return kind == CLEAR_ANON ? AREA_ANON :
		kind == CLEAR_SHMEM ? AREA_SHMEM : AREA_MEMFD;
}

int clear_begin(struct case_ctx *c, struct clear *k, enum clear_kind kind,
		size_t unit, size_t pool)
{
	int rc;

	*k = (struct clear){
		.kind = kind, .unit = unit, .pages = unit / page_bytes(),
	};
	if (!k->pages)
		return case_lacks("a page has more than %zu bytes here", unit);
	if (is_huge(kind)) {
		rc = huge_pool(c, unit, pool);
		if (rc)
			return rc;
	}
	k->soiled = mmap(NULL, sizeof(*k->soiled), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (k->soiled == MAP_FAILED)
		return case_fail("mmap: %s", strerror(errno));
	return stay_here();
}

static int open_file(const struct clear *k, size_t bytes)
{
	unsigned int flags = MFD_CLOEXEC;
	int fd;

	if (k->kind == CLEAR_HUGE_FILE)
		flags |= MFD_HUGETLB | (unsigned int)__builtin_ctzl(k->unit)
			<< MFD_HUGE_SHIFT;
	fd = memfd_create("clear", flags);
	if (fd >= 0 && ftruncate(fd, (off_t)bytes)) {
		close(fd);
		return -1;
	}
	return fd;
}

unsigned char *clear_map(const struct clear *k, size_t units, int *fd)
{
	static const int flags[] = {
		[CLEAR_ANON] = MAP_PRIVATE | MAP_ANONYMOUS,
		[CLEAR_SHMEM] = MAP_SHARED | MAP_ANONYMOUS,
		[CLEAR_MEMFD] = MAP_SHARED,
		[CLEAR_HUGE] = MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB,
		[CLEAR_HUGE_SHARED] = MAP_SHARED | MAP_ANONYMOUS | MAP_HUGETLB,
		[CLEAR_HUGE_FILE] = MAP_SHARED,
	};
	size_t bytes = units * k->unit;
	int more = 0, file = -1;
	unsigned char *at;

	/* The folio's address decides whether it can be one. */
	at = reserve(bytes, k->unit > pmd_bytes() ? k->unit : pmd_bytes());
	if (!at)
		return NULL;
	if (is_file(k->kind)) {
		file = open_file(k, bytes);
		if (file < 0)
			return NULL;
	}
	if (flags[k->kind] & MAP_HUGETLB)
		more = __builtin_ctzl(k->unit) << MAP_HUGE_SHIFT;
	at = mmap(at, bytes, PROT_READ | PROT_WRITE,
		  MAP_FIXED | flags[k->kind] | more, file, 0);
	if (fd)
		*fd = file;
	else if (file >= 0)
		close(file);
	return at == MAP_FAILED ? NULL : at;
}

void clear_stain(void *at, size_t bytes)
{
	const uint64_t all = 0x0101010101010101 * (uint64_t)CLEAR_SOIL;
	volatile uint64_t *w = at;	/* or it becomes a memset(3) */

	for (size_t i = 0; i < bytes / 8; i += 4) {
		w[i] = all;
		w[i + 1] = all;
		w[i + 2] = all;
		w[i + 3] = all;
	}
}

void clear_fill(const struct clear *k, unsigned char *at, size_t bytes)
{
	clear_stain(at, bytes);
	frames_add(k->soiled, at, bytes);
}

/* ---- somebody else ------------------------------------------------------------- */

struct soil_job {
	const struct clear *k;
	size_t bytes;
};

static int soil_peer(struct peer *me, void *arg)
{
	const struct soil_job *job = arg;
	unsigned char *at;

	at = is_huge(job->k->kind) ?
		clear_map(job->k, job->bytes / job->k->unit, NULL) :
		mmap(NULL, job->bytes, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!at || at == MAP_FAILED)
		return 1;
	clear_fill(job->k, at, job->bytes);
	return 0;
}

static int soil_by_peer(const struct clear *k, size_t bytes)
{
	struct soil_job job = { k, bytes };
	struct peer p;
	int rc;

	if (peer_start(&p, soil_peer, &job))
		return -1;
	rc = peer_end(&p);
	return rc ? case_fail("the process that soils memory ended with %d",
			      rc) : 0;
}

int clear_soil(struct case_ctx *c, struct clear *k)
{
	struct huge_counts h;
	size_t pages = k->pages;
	int rc;

	if (is_huge(k->kind)) {
		if (huge_counts(c, k->unit, &h))
			return -1;
		return soil_by_peer(k, (size_t)h.free * k->unit);
	}
	/* In big blocks first: those are split for smaller folios later. */
	rc = thp_allow(c, AREA_ANON, pmd_order());
	if (rc < 0)
		return rc;
	if (soil_by_peer(k, SOIL_BYTES))
		return -1;
	return thp_allow(c, as_area(k->kind), __builtin_ctzl(pages));
}

/* ---- one fault ------------------------------------------------------------------- */

/* Where in its page WAY_WRITE and WAY_READ_INTO store: not twice the same. */
static size_t byte_of(size_t hint)
{
	static const size_t in_page[] = { 0, 1, 8, 63, 64, 2048, 4032, 4095 };

	return in_page[hint % ARRAY_SIZE(in_page)];
}

static int read_into(unsigned char *at)
{
	const unsigned char byte = THE_BYTE;
	int p[2], rc = -1;

	if (pipe2(p, O_CLOEXEC))
		return case_fail("pipe: %s", strerror(errno));
	if (write(p[1], &byte, 1) == 1 && read(p[0], at, 1) == 1)
		rc = 0;
	close(p[0]);
	close(p[1]);
	return rc ? case_fail("read(2) into memory: %s", strerror(errno)) : 0;
}

int clear_fault(unsigned char *at, size_t hint, enum clear_way way, int fd)
{
	size_t page = page_bytes();
	unsigned char *p = at + hint * page;

	switch (way) {
	case WAY_WRITE:
		*(volatile unsigned char *)(p + byte_of(hint)) = THE_BYTE;
		return 0;
	case WAY_READ:
		(void)*(volatile unsigned char *)(p + byte_of(hint));
		return 0;
	case WAY_POPULATE:
		return madvise(p, page, MADV_POPULATE_WRITE) ?
			case_fail("MADV_POPULATE_WRITE: %s", strerror(errno)) :
			0;
	case WAY_READ_INTO:
		return read_into(p + byte_of(hint));
	case WAY_FALLOCATE:
		return fallocate(fd, 0, (off_t)(hint * page), (off_t)page) ?
			case_fail("fallocate: %s", strerror(errno)) : 0;
	}
	return -1;
}

static bool stores(enum clear_way way)
{
	return way == WAY_WRITE || way == WAY_READ_INTO;
}

int64_t clear_wrong(const void *at, size_t bytes)
{
	const uint64_t *w = at;

	for (size_t i = 0; i < bytes / 8; i += 8)
		if (w[i] | w[i + 1] | w[i + 2] | w[i + 3] | w[i + 4] |
		    w[i + 5] | w[i + 6] | w[i + 7])
			return (int64_t)(i * 8) + zero_wrong(w + i, 64);
	return -1;
}

/* The unit at @at, faulted as said, has to be all zero. */
static int judge(struct clear *k, unsigned char *at, size_t hint,
		 enum clear_way way)
{
	size_t stored = hint * page_bytes() + byte_of(hint), page;
	int64_t wrong;

	if (stores(way)) {
		if (at[stored] != THE_BYTE)
			return case_fail("the byte that %s put at page %zu of %zu is %#x",
					 clear_way_name(way), hint, k->pages,
					 at[stored]);
		at[stored] = 0;
	}
	wrong = clear_wrong(at, k->unit);
	if (wrong < 0)
		return 0;
	page = (size_t)wrong / page_bytes();
	return case_fail("fault by %s at page %zu of %zu: byte %zu of page %zu is %#x, not zero",
			 clear_way_name(way), hint, k->pages,
			 (size_t)wrong % page_bytes(), page, at[wrong]);
}

/* 1: all as it should be, 0: but nobody had soiled the frames; -1. */
static int fault_once(struct clear *k, unsigned char *at, size_t hint,
		      enum clear_way way, int fd)
{
	uint64_t pfn;
	bool proven;

	if (clear_fault(at, hint, way, fd) || judge(k, at, hint, way))
		return -1;
	pfn = clear_frame(at, k->unit);
	if (!pfn)
		return case_fail("fault by %s at page %zu: not a folio of %zu bytes, but of order %d",
				 clear_way_name(way), hint, k->unit,
				 folio_order(at + hint * page_bytes()));
	proven = frames_have(k->soiled, pfn, k->pages);
	clear_fill(k, at, k->unit);
	return proven;
}

int clear_try(struct clear *k, size_t hint, enum clear_way way)
{
	for (int i = 0; i < TRIES; i++) {
		int fd = -1, rc;
		unsigned char *at = clear_map(k, 1, &fd);

		if (!at)
			return case_fail("can't map %zu bytes: %s", k->unit,
					 strerror(errno));
		rc = fault_once(k, at, hint, way, fd);
		if (fd >= 0)
			close(fd);
		if (rc < 0)
			return rc;
		if (rc) {
			k->faults++;
			munmap(at, k->unit);
			return 0;
		}
		k->kept++;
	}
	return case_fail("none of %d units came from frames that were soiled",
			 TRIES);
}

/* ---- where -------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b)
{
	size_t x = *(const size_t *)a, y = *(const size_t *)b;

	return x < y ? -1 : x > y;
}

static size_t add_around(size_t pages, size_t at, size_t *hints, size_t n)
{
	for (size_t p = at >= 3 ? at - 3 : 0; p <= at + 3 && p < pages; p++)
		if (n < CLEAR_HINTS)
			hints[n++] = p;
	return n;
}

size_t clear_hints(size_t pages, size_t hints[CLEAR_HINTS])
{
	size_t n = 0, kept = 0;

	if (pages <= pmd_bytes() / page_bytes()) {
		for (n = 0; n < pages && n < CLEAR_HINTS; n++)
			hints[n] = n;
		return n;
	}
	n = add_around(pages, 0, hints, n);
	n = add_around(pages, pages - 1, hints, n);
	n = add_around(pages, pages / 2, hints, n);
	for (size_t p = 32; p < pages / 2; p *= 2) {
		hints[n++] = p - 1;
		hints[n++] = p;
		hints[n++] = pages - p - 1;
		hints[n++] = pages - p;
	}
	qsort(hints, n, sizeof(*hints), by_size);
	for (size_t i = 0; i < n; i++)
		if (!kept || hints[kept - 1] != hints[i])
			hints[kept++] = hints[i];
	return kept;
}
