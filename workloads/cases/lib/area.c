/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Areas: memory of known content in folios of a known order.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib.h"
#include "../../mapper.h"

#define WRITE_CHUNK	(1024 * 1024)
#define KPF_ZERO_PAGE	24

/* ---- content ------------------------------------------------------------------ */

static uint64_t word_at(uint64_t salt, uint64_t offset)
{
	return (offset / 8 + 1) * UINT64_C(0x9e3779b97f4a7c15) ^ salt;
}

void fill(void *at, size_t bytes, uint64_t seed, uint64_t offset)
{
	uint64_t *p = at, salt = mix64(seed + 1);

	for (size_t i = 0; i < bytes / 8; i++)
		p[i] = word_at(salt, offset + i * 8);
}

int64_t fill_wrong(const void *at, size_t bytes, uint64_t seed, uint64_t offset)
{
	const uint64_t *p = at;
	uint64_t salt = mix64(seed + 1);

	for (size_t i = 0; i < bytes / 8; i++) {
		uint64_t diff = p[i] ^ word_at(salt, offset + i * 8);

		/* Little endian: the lowest byte comes first. */
		if (diff)
			return (int64_t)(i * 8) + __builtin_ctzll(diff) / 8;
	}
	return -1;
}

int64_t zero_wrong(const void *at, size_t bytes)
{
	const unsigned char *p = at;
	const uint64_t *w = at;
	size_t i = 0;

	for (; i < bytes / 8; i++)
		if (w[i])
			break;
	for (i *= 8; i < bytes; i++)
		if (p[i])
			return (int64_t)i;
	return -1;
}

/* ---- making ------------------------------------------------------------------- */

void *reserve(size_t bytes, size_t align)
{
	unsigned char *room, *at;

	if (align < page_bytes())
		align = page_bytes();
	room = mmap(NULL, bytes + align, PROT_NONE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (room == MAP_FAILED)
		return NULL;
	at = (unsigned char *)(((uintptr_t)room + align - 1) & ~(align - 1));
	if (at > room)
		munmap(room, (size_t)(at - room));
	if (at + bytes < room + bytes + align)
		munmap(at + bytes, (size_t)(room + align - at));
	return at;
}

void *area_map(const struct area *a, void *at, size_t offset, size_t bytes,
	       int prot)
{
	int flags = MAP_FIXED;
	void *p;

	if (!at)
		at = reserve(bytes, pmd_bytes());
	if (!at)
		return NULL;
	if (a->fd >= 0)
		flags |= MAP_SHARED;
	else if (a->kind == AREA_SHMEM)
		flags |= MAP_SHARED | MAP_ANONYMOUS;
	else
		flags |= MAP_PRIVATE | MAP_ANONYMOUS;
	p = mmap(at, bytes, prot, flags, a->fd, (off_t)offset);
	return p == MAP_FAILED ? NULL : p;
}

static int write_file(struct area *a)
{
	unsigned char *buf = xmalloc(WRITE_CHUNK);
	int ret = 0;

	for (size_t at = 0; at < a->bytes && !ret; at += WRITE_CHUNK) {
		size_t n = a->bytes - at < WRITE_CHUNK ? a->bytes - at :
			WRITE_CHUNK;

		fill(buf, n, a->seed, at);
		if (pwrite(a->fd, buf, n, (off_t)at) != (ssize_t)n)
			ret = case_fail("can't write %s: %s", a->path,
					strerror(errno));
	}
	free(buf);
	if (!ret && fsync(a->fd))
		ret = case_fail("fsync %s: %s", a->path, strerror(errno));
	/* What is in the cache now was laid out by write(2). */
	if (!ret)
		posix_fadvise(a->fd, 0, 0, POSIX_FADV_DONTNEED);
	return ret;
}

static int set_readahead(struct case_ctx *c, const struct area *a)
{
	char *path, kib[24];
	struct stat st;
	int ret;

	if (fstat(a->fd, &st))
		return case_fail("fstat %s: %s", a->path, strerror(errno));
	path = xasprintf("/sys/class/bdi/%u:%u/read_ahead_kb",
			 major(st.st_dev), minor(st.st_dev));
	snprintf(kib, sizeof(kib), "%d", mapper_readahead_kib(a->order));
	ret = case_knob(c, path, kib);
	free(path);
	return ret;
}

/* Fill the page cache by reading, so that folios get their order. */
static int read_file(struct area *a)
{
	struct mapper_file file = {
		.path = a->path, .bytes = a->bytes, .order = a->order,
	};
	struct mapper m = { 0 };
	struct err err = { 0 };
	int ret;

	ret = mapper_start(&m, &file, &err);
	if (!ret)
		ret = mapper_do(&m, MAPPER_FILL, NULL, &err);
	mapper_stop(&m);
	return ret ? case_fail("%s", err.text) : 0;
}

static int make_file(struct case_ctx *c, struct area *a)
{
	int64_t rc;

	if (c->n_files == CASE_FILES)
		return case_fail("more than %d files", CASE_FILES);
	snprintf(a->path, sizeof(a->path), "%s/%zu", c->dir, c->n_files);
	a->fd = open(a->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (a->fd < 0)
		return case_fail("can't make %s: %s", a->path, strerror(errno));
	rc = set_readahead(c, a);
	if (!rc)
		rc = write_file(a);
	if (!rc)
		rc = read_file(a);
	if (rc)
		return rc;
	c->files[c->n_files].bytes = a->bytes;
	c->files[c->n_files].seed = a->seed;
	snprintf(c->files[c->n_files++].path, sizeof(a->path), "%s", a->path);
	return 0;
}

static int open_backing(struct case_ctx *c, struct area *a)
{
	if (a->kind == AREA_XFS)
		return make_file(c, a);
	if (a->kind == AREA_MEMFD && a->order && a->order != pmd_order())
		return case_lacks("a memfd has no folios of order %d",
				  a->order);
	if (a->kind == AREA_MEMFD) {
		a->fd = memfd_create("case", MFD_CLOEXEC);
		if (a->fd < 0 || ftruncate(a->fd, (off_t)a->bytes))
			return case_fail("memfd: %s", strerror(errno));
	}
	return thp_allow(c, a->kind, a->order);
}

static int prove(const struct area *a)
{
	size_t pages = a->bytes / page_bytes();
	size_t have = pages_of_order(a->at, a->bytes, a->order);
	/* Readahead begins with smaller windows. */
	size_t want = a->kind == AREA_XFS && a->order ? pages - pages / 50 :
		pages;
	size_t excused = (size_t)4 << a->order, odd = 0;

	if (have >= want || (a->kind == AREA_XFS && a->bytes / page_bytes() -
			     have <= excused && have))
		return 0;
	while (odd < pages && folio_order(a->at + odd * page_bytes()) ==
	       a->order)
		odd++;
	return case_fail("of %zu pages %zu are in folios of order %d; page %zu of order %d",
			 pages, have, a->order, odd,
			 folio_order(a->at + odd * page_bytes()));
}

int area_make(struct case_ctx *c, struct area *a, enum area_kind kind,
	      size_t bytes, int order)
{
	int rc;

	*a = (struct area){
		.kind = kind, .bytes = bytes, .order = order, .fd = -1,
		.seed = mix64(c->n_areas + c->n_files * 100 + 1),
	};
	if (c->n_areas == CASE_AREAS)
		return case_fail("more than %d areas", CASE_AREAS);
	rc = open_backing(c, a);
	if (rc)
		return rc;
	a->at = area_map(a, NULL, 0, bytes, PROT_READ | PROT_WRITE);
	if (!a->at)
		return case_fail("mmap: %s", strerror(errno));
	if (kind == AREA_ANON && !order)
		madvise(a->at, bytes, MADV_NOHUGEPAGE);
	if (kind != AREA_XFS)
		fill(a->at, bytes, a->seed, 0);
	else
		area_touch(a, 0, bytes / page_bytes());
	rc = prove(a);
	if (rc)
		return rc;
	c->areas[c->n_areas++] = (struct case_area){ *a, a };
	return 0;
}

/* ---- what becomes of it ---------------------------------------------------------- */

int64_t area_wrong(const struct area *a)
{
	return fill_wrong(a->at, a->bytes, a->seed, 0);
}

/* Sum of what Pss has to be, and are all mapcounts sane? */
static int sum_pages(const struct area *a, double *pss, size_t *rss)
{
	int faults = 0;

	*pss = 0;
	*rss = 0;
	for (size_t at = 0; at < a->bytes; at += page_bytes()) {
		struct page_view v;

		if (page_view(0, a->at + at, &v))
			return 1;
		if (!v.present || PV_HAS(&v, KPF_ZERO_PAGE))
			continue;
		*rss += page_bytes();
		if (v.mapcount < 1 || v.mapcount > 4096) {
			if (!faults++)
				printf("# page %zu is mapped, but its mapcount is %" PRId64 "\n",
				       at / page_bytes(), v.mapcount);
			continue;
		}
		*pss += (double)page_bytes() / (double)v.mapcount;
	}
	return faults;
}

int area_check(const struct area *a)
{
	int64_t rss_now = smaps_get(0, a->at, a->bytes, "Rss");
	int64_t pss_now = smaps_get(0, a->at, a->bytes, "Pss");
	int64_t wrong;
	double pss;
	size_t rss;
	int faults = sum_pages(a, &pss, &rss);

	if (rss_now != (int64_t)rss) {
		printf("# Rss is %" PRId64 ", the pages present make %zu\n",
		       rss_now, rss);
		faults++;
	}
	/* Each VMA's is cut to KiB. */
	if (pss_now > pss + 1 || pss_now < pss - 64 * 1024) {
		printf("# Pss is %" PRId64 ", the pages' shares make %.0f\n",
		       pss_now, pss);
		faults++;
	}
	wrong = area_wrong(a);
	if (wrong >= 0) {
		printf("# content is wrong from byte %" PRId64 " of %zu on\n",
		       wrong, a->bytes);
		faults++;
	}
	return faults;
}

void file_forget(struct case_ctx *c, const char *path)
{
	for (size_t i = 0; i < c->n_files; i++)
		if (!strcmp(c->files[i].path, path))
			c->files[i].bytes = 0;
}

static void leave_list(struct case_ctx *c, const struct area *a)
{
	for (size_t i = 0; i < c->n_areas; i++)
		if (c->areas[i].of == a)
			c->areas[i--] = c->areas[--c->n_areas];
}

void area_changed(struct case_ctx *c, const struct area *a)
{
	for (size_t i = 0; i < c->n_areas; i++)
		if (c->areas[i].of == a)
			c->areas[i].area = *a;
}

void area_forget(struct case_ctx *c, struct area *a)
{
	leave_list(c, a);
	file_forget(c, a->path);
}

void area_unmap(struct case_ctx *c, struct area *a)
{
	leave_list(c, a);
	munmap(a->at, a->bytes);
	if (a->fd >= 0)
		close(a->fd);
	a->fd = -1;
}

/*
 * "1" into clear_refs takes young and referenced, but leaves the TLB alone,
 * where an entry keeps the processor from marking the PTE again.  A fork(2)
 * flushes that.
 */
int area_age(const struct area *a)
{
	pid_t pid;

	if (clear_refs(0, 1))
		return -1;
	pid = fork();
	if (!pid)
		_exit(0);
	if (pid < 0 || waitpid(pid, NULL, 0) != pid)
		return case_fail("fork: %s", strerror(errno));
	/* The fork copied PTEs of private memory; that set no young bit. */
	return 0;
}

void area_touch(const struct area *a, size_t first, size_t pages)
{
	for (size_t i = first; i < first + pages; i++)
		(void)*(volatile unsigned char *)(a->at + i * page_bytes());
}

int pageout(void *at, size_t bytes)
{
	size_t before, now = pages_present(at, bytes);

	do {
		before = now;
		if (madvise(at, bytes, MADV_PAGEOUT))
			return case_fail("MADV_PAGEOUT: %s", strerror(errno));
		now = pages_present(at, bytes);
	} while (now < before);
	return 0;
}
