/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Sources: Documentation/admin-guide/mm/{transhuge,hugetlbpage,pagemap}.rst.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <numa.h>
#include <numaif.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "clear_memory.h"

#define THP		"/sys/kernel/mm/transparent_hugepage"
#define THP_SIZE	THP "/hugepages-%" PRIu64 "kB"
#define POOL		"/sys/kernel/mm/hugepages/hugepages-%" PRIu64 "kB"
#define NODE_POOL	"/sys/devices/system/node/node%d/hugepages/hugepages-%" PRIu64 "kB"
#define PROACTIVENESS	"/proc/sys/vm/compaction_proactiveness"
#define KHUGEPAGED_SLEEP	THP "/khugepaged/scan_sleep_millisecs"
#define AN_HOUR_MS	"3600000"

#define PM_PRESENT	(UINT64_C(1) << 63)
#define PM_PFN		((UINT64_C(1) << 55) - 1)
#define FRAMES_MAX	(UINT64_C(1) << 40)	/* 4 PiB: beyond it is no frame */
#define BATCH		512

/* ---- sizes ---------------------------------------------------------------- */

static const struct clear_page pages[] = {
	{ "4k", CLEAR_BASE, 0 },
	{ "64k-thp", CLEAR_THP, 4 },
	{ "2m-thp", CLEAR_THP, 9 },
	{ "2m-hugetlb", CLEAR_HUGETLB, 9 },
	{ "1g-hugetlb", CLEAR_HUGETLB, 18 },
};

const char *const clear_page_names[] = {
	"4k", "64k-thp", "2m-thp", "2m-hugetlb", "1g-hugetlb", NULL,
};

const struct clear_page *clear_page_at(size_t i)
{
	return i < ARRAY_SIZE(pages) ? &pages[i] : NULL;
}

uint64_t clear_page_bytes(const struct clear_page *p)
{
	return FOLIO_PAGE_SIZE << p->order;
}

uint64_t clear_page_round(const struct clear_page *p, uint64_t size)
{
	uint64_t folio = clear_page_bytes(p);

	return (size + folio - 1) / folio * folio;
}

static uint64_t kib_of(const struct clear_page *p)
{
	return clear_page_bytes(p) >> 10;
}

/* ---- settings --------------------------------------------------------------- */

static int read_number(const char *path, int64_t *value, struct err *err)
{
	char *text;
	int ret;

	if (file_read(path, 64, &text, NULL, err))
		return -1;
	text[strcspn(text, "\n")] = '\0';
	ret = parse_int(text, 0, INT64_MAX, value);
	free(text);
	if (ret)
		return err_set(err, EXIT_RUN, "%s holds no number", path);
	return 0;
}

static char *pool_path(const struct clear_memory *m, const char *file)
{
	return m->node < 0 ?
		xasprintf(POOL "/%s", kib_of(m->page), file) :
		xasprintf(NODE_POOL "/%s", m->node, kib_of(m->page), file);
}

/* Huge pages that nobody has and nobody was promised. */
static int pool_free(const struct clear_memory *m, int64_t *n, struct err *err)
{
	char *path = pool_path(m, "free_hugepages");
	int64_t promised;
	int ret = -1;

	if (!file_exists(path)) {
		err_set(err, EXIT_ENVIRONMENT,
			"this machine has no huge pages of %" PRIu64 " KiB%s",
			kib_of(m->page), m->node < 0 ? "" : " on that node");
		goto out;
	}
	ret = read_number(path, n, err);
	free(path);
	/* Promises are not made by node. */
	path = xasprintf(POOL "/resv_hugepages", kib_of(m->page));
	if (!ret)
		ret = read_number(path, &promised, err);
	if (!ret)
		*n = *n > promised ? *n - promised : 0;
out:
	free(path);
	return ret;
}

static int fill_pool(const struct clear_memory *m, struct knobs *k,
		     struct err *err)
{
	int64_t wanted = (int64_t)(m->bytes / clear_page_bytes(m->page));
	char *path = pool_path(m, "nr_hugepages"), text[32];
	int64_t have, all;
	int ret = -1;

	if (pool_free(m, &have, err))
		goto out;
	if (have < wanted) {
		if (read_number(path, &all, err))
			goto out;
		snprintf(text, sizeof(text), "%" PRId64, all + wanted - have);
		if (knobs_set(k, path, text, err) || pool_free(m, &have, err))
			goto out;
	}
	if (have < wanted)
		err_set(err, EXIT_ENVIRONMENT,
			"%" PRId64 " huge pages of %" PRIu64 " MiB are needed, the kernel has %" PRId64 " to give: boot it with hugepagesz=%" PRIu64 "M hugepages=%" PRId64,
			wanted, kib_of(m->page) >> 10, have,
			kib_of(m->page) >> 10, wanted);
	else
		ret = 0;
out:
	free(path);
	return ret;
}

/* This size and no other. */
static int enable_thp(const struct clear_page *p, struct knobs *k,
		      struct err *err)
{
	bool found = false;
	char *path;
	int ret;

	if (knobs_set(k, THP "/enabled", "madvise", err))
		return -1;
	for (unsigned int order = 1; order < MAX_ORDER_SEEN; order++) {
		path = xasprintf(THP_SIZE "/enabled",
				 (FOLIO_PAGE_SIZE << order) >> 10);
		ret = 0;
		if (file_exists(path)) {
			ret = knobs_set(k, path, order == p->order ?
					"madvise" : "never", err);
			found |= order == p->order;
		}
		free(path);
		if (ret)
			return -1;
	}
	/* Before 6.8 there was one size, and no directory for it. */
	if (!found && p->order != 9)
		return err_set(err, EXIT_ENVIRONMENT,
			       "this kernel has no transparent huge pages of %" PRIu64 " KiB",
			       kib_of(p));
	return 0;
}

int clear_memory_settings(const struct clear_memory *m, struct knobs *k,
			  struct err *err)
{
	if (m->page->kind == CLEAR_BASE)
		return 0;
	if (file_exists(PROACTIVENESS) &&
	    knobs_set(k, PROACTIVENESS, "0", err))
		return -1;
	if (file_exists(KHUGEPAGED_SLEEP) &&
	    knobs_set(k, KHUGEPAGED_SLEEP, AN_HOUR_MS, err))
		return -1;
	if (m->page->kind == CLEAR_THP)
		return enable_thp(m->page, k, err);
	return m->page->kind == CLEAR_HUGETLB ? fill_pool(m, k, err) : 0;
}

bool clear_memory_thp_stat(const struct clear_page *p, const char *name,
			   int64_t *value)
{
	char *path = xasprintf(THP_SIZE "/stats/%s", kib_of(p), name);
	struct err ignored = { 0 };
	bool there = p->kind == CLEAR_THP && file_exists(path) &&
		     !read_number(path, value, &ignored);

	free(path);
	return there;
}

/* ---- nodes ------------------------------------------------------------------- */

int clear_memory_bind(const struct clear_memory *m, struct err *err)
{
	if (m->node < 0)
		return 0;
	if (numa_available() < 0)
		return err_set(err, EXIT_ENVIRONMENT,
			       "node = %d: this kernel knows no NUMA nodes",
			       m->node);
	if (m->node > numa_max_node() ||
	    !numa_bitmask_isbitset(numa_all_nodes_ptr, (unsigned int)m->node))
		return err_set(err, EXIT_ENVIRONMENT,
			       "node = %d: this machine has no such node with memory",
			       m->node);
	if (numa_run_on_node(m->node))
		return err_sys(err, EXIT_ENVIRONMENT, errno,
			       "node = %d: can't run on its processors",
			       m->node);
	return 0;
}

static int bind_memory(const struct clear_memory *m, struct err *err)
{
	struct bitmask *nodes;
	int ret = 0;

	if (m->node < 0)
		return 0;
	nodes = numa_allocate_nodemask();
	numa_bitmask_setbit(nodes, (unsigned int)m->node);
	if (mbind(m->at, m->bytes, MPOL_BIND, nodes->maskp, nodes->size + 1, 0))
		ret = err_sys(err, EXIT_ENVIRONMENT, errno,
			      "can't bind memory to node %d", m->node);
	numa_bitmask_free(nodes);
	return ret;
}

static int ask_nodes(const struct clear_memory *m, uint64_t first, size_t n,
		     struct counters *c, struct err *err)
{
	uint64_t folio = clear_page_bytes(m->page);
	void *at[BATCH];
	int status[BATCH];

	for (size_t i = 0; i < n; i++)
		at[i] = m->at + (first + i) * folio;
	if (numa_move_pages(0, n, at, NULL, status, 0))
		return err_sys(err, EXIT_RUN, errno, "move_pages");
	for (size_t i = 0; i < n; i++) {
		char name[40];

		if (status[i] < 0)
			return err_sys(err, EXIT_RUN, -status[i],
				       "can't tell on which node a page is");
		snprintf(name, sizeof(name), "pages.node%d", status[i]);
		counters_add(c, name, (int64_t)(folio >> FOLIO_PAGE_SHIFT));
	}
	return 0;
}

int clear_memory_nodes(const struct clear_memory *m, struct counters *c,
		       struct err *err)
{
	uint64_t folios = m->bytes / clear_page_bytes(m->page);

	if (numa_available() < 0)
		return 0;
	for (uint64_t i = 0; i < folios; i += BATCH)
		if (ask_nodes(m, i, folios - i < BATCH ? folios - i : BATCH, c,
			      err))
			return -1;
	return 0;
}

/* ---- the mapping --------------------------------------------------------------- */

/* Twice as much address space, of which the aligned part is kept. */
static char *map_aligned(uint64_t bytes, uint64_t align)
{
	char *all = mmap(NULL, bytes + align, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	uint64_t head;

	if (all == MAP_FAILED)
		return NULL;
	head = -(uintptr_t)all & (align - 1);
	if (head)
		munmap(all, head);
	if (align > head)
		munmap(all + head + bytes, align - head);
	return all + head;
}

static char *map_hugetlb(const struct clear_memory *m)
{
	int shift = FOLIO_PAGE_SHIFT + (int)m->page->order;
	void *at = mmap(NULL, m->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE |
			MAP_ANONYMOUS | MAP_HUGETLB | shift << MAP_HUGE_SHIFT,
			-1, 0);

	return at == MAP_FAILED ? NULL : at;
}

int clear_memory_map(struct clear_memory *m, struct err *err)
{
	/* A table's worth at least, as folios_count() wants it. */
	uint64_t align = FOLIO_PAGE_SIZE << (m->page->order > 9 ?
					     m->page->order : 9);
	int advice = m->page->kind == CLEAR_THP ? MADV_HUGEPAGE :
						  MADV_NOHUGEPAGE;

	m->at = m->page->kind == CLEAR_HUGETLB ? map_hugetlb(m) :
		map_aligned(m->bytes, align);
	if (!m->at)
		return err_sys(err, EXIT_RUN, errno,
			       "can't map %" PRIu64 " MiB of %s", m->bytes >> 20,
			       m->page->name);
	/* A kernel without THP gives 4k all the same. */
	if (m->page->kind != CLEAR_HUGETLB &&
	    madvise(m->at, m->bytes, advice) &&
	    m->page->kind != CLEAR_BASE)
		return err_sys(err, EXIT_ENVIRONMENT, errno,
			       "madvise(MADV_HUGEPAGE)");
	return bind_memory(m, err);
}

void clear_memory_unmap(struct clear_memory *m)
{
	if (m->at)
		munmap(m->at, m->bytes);
	m->at = NULL;
}

/* ---- frames --------------------------------------------------------------------- */

bool frames_has(const struct frames *f, uint64_t pfn)
{
	return pfn / 64 < f->words && (f->bits[pfn / 64] >> pfn % 64 & 1);
}

void frames_note(struct frames *f, uint64_t pfn)
{
	uint64_t word = pfn / 64, more;

	if (pfn >= FRAMES_MAX)
		return;
	if (word >= f->words) {
		more = word + word / 2 + 64;
		f->bits = xrealloc(f->bits, more, sizeof(*f->bits));
		memset(f->bits + f->words, 0,
		       (more - f->words) * sizeof(*f->bits));
		f->words = more;
	}
	f->bits[word] |= UINT64_C(1) << pfn % 64;
}

void frames_free(struct frames *f)
{
	free(f->bits);
	*f = (struct frames){ 0 };
}

/* pagemap of @n pages from page @first of the memory on. */
static int read_pagemap(int fd, const struct clear_memory *m, uint64_t first,
			uint64_t *map, size_t n, struct err *err)
{
	uint64_t page = ((uintptr_t)m->at >> FOLIO_PAGE_SHIFT) + first;
	ssize_t got = pread(fd, map, n * sizeof(*map),
			    (off_t)(page * sizeof(*map)));

	if (got != (ssize_t)(n * sizeof(*map)))
		return err_sys(err, EXIT_RUN, got < 0 ? errno : EIO,
			       "can't read /proc/self/pagemap");
	for (size_t i = 0; i < n; i++)
		if ((map[i] & PM_PRESENT) && !(map[i] & PM_PFN))
			return err_set(err, EXIT_ENVIRONMENT,
				       "/proc/self/pagemap hides page frame numbers; run as root");
	return 0;
}

/* Either add to @to, or count those of @in. */
static int each_frame(const struct clear_memory *m, struct frames *to,
		      const struct frames *in, int64_t *n, struct err *err)
{
	uint64_t all = m->bytes >> FOLIO_PAGE_SHIFT, map[BATCH];
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC), ret = 0;

	if (fd < 0)
		return err_sys(err, EXIT_ENVIRONMENT, errno,
			       "can't open /proc/self/pagemap");
	for (uint64_t at = 0; at < all && !ret; at += BATCH) {
		size_t some = all - at < BATCH ? all - at : BATCH;

		ret = read_pagemap(fd, m, at, map, some, err);
		for (size_t i = 0; i < some && !ret; i++) {
			if (!(map[i] & PM_PRESENT))
				continue;
			if (to)
				frames_note(to, map[i] & PM_PFN);
			else
				*n += frames_has(in, map[i] & PM_PFN);
		}
	}
	close(fd);
	return ret;
}

int frames_add(struct frames *f, const struct clear_memory *m, struct err *err)
{
	return each_frame(m, f, NULL, NULL, err);
}

int frames_count(const struct frames *f, const struct clear_memory *m,
		 int64_t *n, struct err *err)
{
	*n = 0;
	return each_frame(m, NULL, f, n, err);
}
