/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What /proc says of pages: Documentation/admin-guide/mm/pagemap.rst,
 * Documentation/filesystems/proc.rst.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib.h"

#define PM_PFN		((UINT64_C(1) << 55) - 1)
#define PM_SOFT_DIRTY	(UINT64_C(1) << 55)
#define PM_EXCLUSIVE	(UINT64_C(1) << 56)
#define PM_UFFD_WP	(UINT64_C(1) << 57)
#define PM_FILE		(UINT64_C(1) << 61)
#define PM_SWAPPED	(UINT64_C(1) << 62)
#define PM_PRESENT	(UINT64_C(1) << 63)

#define IDLE		"/sys/kernel/mm/page_idle/bitmap"
#define MAX_PAGES	(1u << 18)	/* of a folio: 1G of 4K pages */

static int read_words(const char *path, uint64_t first, uint64_t *v, size_t n)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got;

	if (fd < 0)
		return case_fail("can't open %s: %s", path, strerror(errno));
	got = pread(fd, v, n * 8, (off_t)(first * 8));
	close(fd);
	if (got != (ssize_t)(n * 8))
		return case_fail("can't read %s at %" PRIu64, path, first);
	return 0;
}

static int read_pagemap(pid_t pid, const void *at, uint64_t *v, size_t n)
{
	char path[64];

	if (pid)
		snprintf(path, sizeof(path), "/proc/%d/pagemap", pid);
	else
		snprintf(path, sizeof(path), "/proc/self/pagemap");
	return read_words(path, (uintptr_t)at / page_bytes(), v, n);
}

int frame_view(uint64_t pfn, struct page_view *v)
{
	uint64_t count;

	if (read_words("/proc/kpageflags", pfn, &v->flags, 1) ||
	    read_words("/proc/kpagecount", pfn, &count, 1))
		return -1;
	v->pfn = pfn;
	v->mapcount = (int64_t)count;
	return 0;
}

int page_view(pid_t pid, const void *at, struct page_view *v)
{
	uint64_t pm;

	*v = (struct page_view){ 0 };
	if (read_pagemap(pid, at, &pm, 1))
		return -1;
	v->present = pm & PM_PRESENT;
	v->swapped = pm & PM_SWAPPED;
	v->soft_dirty = pm & PM_SOFT_DIRTY;
	v->uffd_wp = pm & PM_UFFD_WP;
	v->exclusive = pm & PM_EXCLUSIVE;
	v->file = pm & PM_FILE;
	v->swap = v->swapped ? pm & PM_PFN : 0;
	if (!v->present || !(pm & PM_PFN))
		return 0;
	return frame_view(pm & PM_PFN, v);
}

static bool frame_has(uint64_t pfn, int bit)
{
	uint64_t flags;

	return !read_words("/proc/kpageflags", pfn, &flags, 1) &&
	       flags & UINT64_C(1) << bit;
}

int folio_order(const void *at)
{
	struct page_view v;
	uint64_t head, n = 1;

	if (page_view(0, at, &v) || !v.pfn)
		return -1;
	head = v.pfn;
	while (frame_has(head, PV_TAIL) && v.pfn - head < MAX_PAGES)
		head--;
	if (!frame_has(head, PV_HEAD))
		return 0;
	while (n < MAX_PAGES && frame_has(head + n, PV_TAIL))
		n++;
	return 63 - __builtin_clzll(n);
}

/* Call @fn for the pagemap entry of each page of the range. */
static void walk(const void *at, size_t bytes,
		 void (*fn)(void *arg, const void *at, uint64_t pm), void *arg)
{
	const char *p = at, *end = p + bytes;
	uint64_t v[256];

	while (p < end) {
		size_t n = (size_t)(end - p) / page_bytes();

		if (n > ARRAY_SIZE(v))
			n = ARRAY_SIZE(v);
		if (!n || read_pagemap(0, p, v, n))
			return;
		for (size_t i = 0; i < n; i++, p += page_bytes())
			fn(arg, p, v[i]);
	}
}

struct counts {
	uint64_t mask;
	size_t n;
	int order;
	uint64_t from, to;	/* frames of the folio seen last */
	bool alike;		/* it has that order */
};

static void count_mask(void *arg, const void *at, uint64_t pm)
{
	struct counts *c = arg;

	c->n += !!(pm & c->mask);
}

size_t pages_present(const void *at, size_t bytes)
{
	struct counts c = { .mask = PM_PRESENT };

	walk(at, bytes, count_mask, &c);
	return c.n;
}

size_t pages_swapped(const void *at, size_t bytes)
{
	struct counts c = { .mask = PM_SWAPPED };

	walk(at, bytes, count_mask, &c);
	return c.n;
}

/* A folio is looked at once for each run of its pages. */
static void count_order(void *arg, const void *at, uint64_t pm)
{
	struct counts *c = arg;
	uint64_t pfn = pm & PM_PFN;

	if (!(pm & PM_PRESENT) || !pfn)
		return;
	if (pfn < c->from || pfn >= c->to) {
		int order = folio_order(at);

		if (order < 0)
			return;
		/* Folios are aligned to their size. */
		c->from = pfn >> order << order;
		c->to = c->from + (UINT64_C(1) << order);
		c->alike = order == c->order;
	}
	c->n += c->alike;
}

size_t pages_of_order(const void *at, size_t bytes, int order)
{
	struct counts c = { .order = order };

	walk(at, bytes, count_order, &c);
	return c.n;
}

size_t pages_cached(const void *at, size_t bytes)
{
	size_t pages = bytes / page_bytes(), n = 0;
	unsigned char *vec = xmalloc(pages ? pages : 1);

	if (!mincore((void *)(uintptr_t)at, bytes, vec))
		for (size_t i = 0; i < pages; i++)
			n += vec[i] & 1;
	free(vec);
	return n;
}

int64_t smaps_get(pid_t pid, const void *at, size_t bytes, const char *field)
{
	uintptr_t lo = (uintptr_t)at, hi = lo + bytes, from, to;
	char path[64], line[512];
	size_t len = strlen(field);
	int64_t sum = 0, kib;
	bool inside = false;
	FILE *f;

	if (pid)
		snprintf(path, sizeof(path), "/proc/%d/smaps", pid);
	else
		snprintf(path, sizeof(path), "/proc/self/smaps");
	f = fopen(path, "re");
	if (!f)
		return case_fail("can't open %s: %s", path, strerror(errno));
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &from, &to) == 2)
			inside = from >= lo && to <= hi;
		else if (inside && !strncmp(line, field, len) &&
			 line[len] == ':' &&
			 sscanf(line + len + 1, "%" SCNd64 " kB", &kib) == 1)
			sum += kib << 10;
	}
	fclose(f);
	return sum;
}

static void count_referenced(void *arg, const void *at, uint64_t pm)
{
	struct counts *c = arg;
	struct page_view v;

	if (pm & PM_PRESENT && pm & PM_PFN && !frame_view(pm & PM_PFN, &v))
		c->n += PV_HAS(&v, PV_REFERENCED);
}

int64_t pages_young(const void *at, size_t bytes)
{
	struct counts c = { 0 };
	int64_t young = smaps_get(0, at, bytes, "Referenced");

	walk(at, bytes, count_referenced, &c);
	if (young < 0 || c.n)
		return case_fail("young PTEs can't be told: a folio is referenced");
	return young / (int64_t)page_bytes();
}

int clear_refs(pid_t pid, int what)
{
	char path[64], text[16];
	int fd, ret = 0;

	if (pid)
		snprintf(path, sizeof(path), "/proc/%d/clear_refs", pid);
	else
		snprintf(path, sizeof(path), "/proc/self/clear_refs");
	snprintf(text, sizeof(text), "%d", what);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		ret = case_fail("can't write %s: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return ret;
}

int idle_set(uint64_t pfn)
{
	uint64_t word = UINT64_C(1) << pfn % 64;
	int fd = open(IDLE, O_WRONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return case_lacks("this kernel does not track idle pages");
	n = pwrite(fd, &word, 8, (off_t)(pfn / 64 * 8));
	close(fd);
	return n == 8 ? 0 : case_fail("can't write " IDLE ": %s",
				      strerror(errno));
}

int idle_get(uint64_t pfn, bool *idle)
{
	uint64_t word;

	if (!file_exists(IDLE))
		return case_lacks("this kernel does not track idle pages");
	if (read_words(IDLE, pfn / 64, &word, 1))
		return -1;
	*idle = word >> pfn % 64 & 1;
	return 0;
}
