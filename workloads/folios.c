/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The order of a folio is not written anywhere that user space can read; its
 * length is.  /proc/kpageflags marks the first page of a large folio and each
 * further one, and a folio of the page cache lies at a multiple of its size
 * both in the file and in memory: a head and the tails behind it, met in the
 * order of the file, are one folio.
 *
 * Neither is the contiguous bit of a PTE.  6.12 and later set it whenever
 * they can: for a block of 16 PTEs, aligned in the address space, that maps 16
 * pages of one folio, aligned in memory, with the same permissions
 * (arch/arm64/mm/contpte.c, contpte_try_fold).  Young and dirty don't
 * matter: the hardware may set them on any PTE of the block.  So this counts
 * the blocks that fulfil the conditions.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "folios.h"

#define PM_PRESENT	(UINT64_C(1) << 63)
#define PM_PFN		((UINT64_C(1) << 55) - 1)
#define KPF_HEAD	(UINT64_C(1) << 15)
#define KPF_TAIL	(UINT64_C(1) << 16)

#define BATCH		512	/* pages; as many as one page table holds */

static void close_folio(struct folio_walk *w)
{
	unsigned int order = 0;

	if (!w->folio_pages)
		return;
	while (order < MAX_ORDER_SEEN - 1 &&
	       (UINT64_C(2) << order) <= w->folio_pages)
		order++;
	w->count->order_pages[order] += (int64_t)w->folio_pages;
	w->folio_pages = 0;
}

static void add_to_block(struct folio_walk *w, uint64_t pfn, unsigned int flags)
{
	bool writable = flags & FOLIO_WRITABLE;

	if (!w->block_pages) {
		w->block_pfn = pfn;
		w->block_writable = writable;
	}
	/* A head in the middle begins another folio. */
	if ((flags & FOLIO_PRESENT) && (flags & (FOLIO_HEAD | FOLIO_TAIL)) &&
	    !(w->block_pages && (flags & FOLIO_HEAD)) &&
	    pfn == w->block_pfn + w->block_pages &&
	    w->block_pfn % w->cont_pages == 0 &&
	    writable == w->block_writable)
		w->block_fit++;
	if (++w->block_pages < w->cont_pages)
		return;
	if (w->block_fit == w->cont_pages)
		w->count->contpte += w->cont_pages;
	w->block_pages = 0;
	w->block_fit = 0;
}

void folio_walk_page(struct folio_walk *w, uint64_t pfn, unsigned int flags)
{
	if (!(flags & FOLIO_TAIL) || !(flags & FOLIO_PRESENT))
		close_folio(w);
	if (flags & FOLIO_PRESENT) {
		w->count->mapped++;
		w->folio_pages++;
	}
	if (w->cont_pages)
		add_to_block(w, pfn, flags);
}

void folio_walk_end(struct folio_walk *w)
{
	close_folio(w);
}

static int read_at(int fd, const char *path, void *buf, size_t len,
		   uint64_t entry, struct err *err)
{
	ssize_t n = pread(fd, buf, len, (off_t)(entry * sizeof(uint64_t)));

	if (n < 0)
		return err_sys(err, EXIT_RUN, errno, "can't read %s", path);
	if ((size_t)n != len)
		return err_set(err, EXIT_RUN, "%s ends early", path);
	return 0;
}

/* Flags of @n pages; those with consecutive PFNs are read together. */
static int read_flags(int fd, const uint64_t *map, uint64_t *flags, size_t n,
		      struct err *err)
{
	size_t i = 0, run;

	while (i < n) {
		uint64_t pfn = map[i] & PM_PFN;

		if (!(map[i] & PM_PRESENT)) {
			flags[i++] = 0;
			continue;
		}
		if (!pfn)
			return err_set(err, EXIT_ENVIRONMENT,
				       "/proc/self/pagemap hides page frame numbers; run as root");
		for (run = 1; i + run < n; run++)
			if (!(map[i + run] & PM_PRESENT) ||
			    (map[i + run] & PM_PFN) != pfn + run)
				break;
		if (read_at(fd, "/proc/kpageflags", flags + i,
			    run * sizeof(*flags), pfn, err))
			return -1;
		i += run;
	}
	return 0;
}

/* Pages of the mapping at @addr that a PMD maps, from /proc/self/smaps. */
static int count_pmd(const void *addr, int64_t *pages, struct err *err)
{
	FILE *f = fopen("/proc/self/smaps", "re");
	bool inside = false;
	uintptr_t from, to;
	char line[512];
	long long kib;

	*pages = 0;
	if (!f)
		return err_sys(err, EXIT_RUN, errno,
			       "can't read /proc/self/smaps");
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &from, &to) == 2)
			inside = (uintptr_t)addr >= from && (uintptr_t)addr < to;
		else if (inside &&
			 (sscanf(line, "FilePmdMapped: %lld kB", &kib) == 1 ||
			  sscanf(line, "AnonHugePages: %lld kB", &kib) == 1))
			*pages += kib / (int64_t)(FOLIO_PAGE_SIZE / 1024);
	}
	fclose(f);
	return 0;
}

static int walk(int map_fd, int flags_fd, const void *addr, uint64_t pages,
		bool (*writable)(void *arg, uint64_t page), void *arg,
		struct folio_walk *w, struct err *err)
{
	uint64_t first = (uintptr_t)addr >> FOLIO_PAGE_SHIFT;
	uint64_t map[BATCH], kpf[BATCH];

	for (uint64_t at = 0; at < pages; at += BATCH) {
		size_t n = pages - at < BATCH ? (size_t)(pages - at) : BATCH;

		if (read_at(map_fd, "/proc/self/pagemap", map,
			    n * sizeof(*map), first + at, err) ||
		    read_flags(flags_fd, map, kpf, n, err))
			return -1;
		for (size_t i = 0; i < n; i++) {
			unsigned int flags = 0;

			if (map[i] & PM_PRESENT)
				flags |= FOLIO_PRESENT;
			if (kpf[i] & KPF_HEAD)
				flags |= FOLIO_HEAD;
			if (kpf[i] & KPF_TAIL)
				flags |= FOLIO_TAIL;
			if (writable && writable(arg, at + i))
				flags |= FOLIO_WRITABLE;
			folio_walk_page(w, map[i] & PM_PFN, flags);
		}
	}
	folio_walk_end(w);
	return 0;
}

int folios_count(const void *addr, uint64_t bytes, unsigned int cont_pages,
		 bool (*writable)(void *arg, uint64_t page), void *arg,
		 struct folio_count *count, struct err *err)
{
	struct folio_walk w = { .count = count, .cont_pages = cont_pages };
	int map_fd, flags_fd, ret = -1;

	memset(count, 0, sizeof(*count));
	map_fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	if (map_fd < 0)
		return err_sys(err, EXIT_ENVIRONMENT, errno,
			       "can't open /proc/self/pagemap");
	flags_fd = open("/proc/kpageflags", O_RDONLY | O_CLOEXEC);
	if (flags_fd < 0) {
		err_sys(err, EXIT_ENVIRONMENT, errno,
			"can't open /proc/kpageflags (CONFIG_PROC_PAGE_MONITOR)");
		goto out_map;
	}
	if (walk(map_fd, flags_fd, addr, bytes >> FOLIO_PAGE_SHIFT, writable,
		 arg, &w, err) ||
	    count_pmd(addr, &count->pmd, err))
		goto out;
	/* What a PMD maps has no PTEs, hence no contpte blocks. */
	if (count->contpte)
		count->contpte -= count->pmd;
	ret = 0;
out:
	close(flags_fd);
out_map:
	close(map_fd);
	return ret;
}
