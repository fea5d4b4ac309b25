/* SPDX-License-Identifier: GPL-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "young_util.h"

/* More than a scan takes at once, and than it may take too much. */
#define MARGIN		(1u << 20)

const char *decision_name(enum decision d)
{
	static const char *const names[] = {
		[GONE] = "evicted", [KEPT] = "kept", [ACTIVE] = "activated",
		[TORN] = "partly evicted", [COLD] = "not looked at",
	};

	return names[d];
}

size_t mask_pages(uint64_t mask, size_t n)
{
	size_t count = 0;

	for (size_t i = 0; i < n && i < 64; i++)
		count += mask >> i & 1;
	return count;
}

/*
 * Unmap, without the young PTEs making the folios active as they go.  The file
 * stays open, and its content is looked at when the case has ended.
 */
static int put_away(struct case_ctx *c, struct area *a)
{
	int fd = dup(a->fd);

	if (fd < 0)
		return case_fail("dup: %s", strerror(errno));
	if (area_age(a))
		return -1;
	area_unmap(c, a);
	a->fd = fd;
	return 0;
}

static int find_folios(struct stage *s)
{
	for (size_t at = 0; at < s->file.bytes && s->n < STAGE_FOLIOS;
	     at += s->bytes) {
		struct page_view v, last;

		if (page_view(0, s->file.at + at, &v) ||
		    page_view(0, s->file.at + at + s->bytes - s->page, &last))
			return -1;
		/* With one page on either side that is of it, too. */
		if (!v.present || !last.present ||
		    folio_order(s->file.at + at) != s->order ||
		    last.pfn != v.pfn + s->pages - 1 ||
		    (s->order && !PV_HAS(&v, PV_HEAD)))
			continue;
		s->folios[s->n].offset = at;
		s->folios[s->n].pfn = v.pfn;
		s->n++;
	}
	return 0;
}

int stage_make(struct case_ctx *c, struct stage *s, int order, size_t folios)
{
	int ret;

	memset(s, 0, sizeof(*s));
	s->c = c;
	s->order = order;
	s->page = page_bytes();
	s->pages = (size_t)1 << order;
	s->bytes = s->page << order;
	ret = case_mglru(c, false);
	if (ret < 0)
		return ret;
	/* The first ones, and where readahead starts anew, may be smaller. */
	ret = area_make(c, &s->file, AREA_XFS, (folios + folios / 8 + 4) *
			s->bytes, order);
	if (ret)
		return ret;
	if (find_folios(s))
		return -1;
	if (s->n < folios)
		return case_fail("%zu folios of order %d instead of %zu", s->n,
				 order, folios);
	if (put_away(c, &s->file))
		return -1;

	ret = area_make(c, &s->fodder, AREA_XFS, s->file.bytes +
			2 * MARGIN / s->bytes * s->bytes, order);
	if (ret)
		return ret;
	return put_away(c, &s->fodder);
}

int stage_take(struct stage *s, size_t n)
{
	for (size_t i = s->used; i + n <= s->n; i++) {
		size_t j = 1;

		while (j < n && s->folios[i + j].offset ==
		       s->folios[i].offset + j * s->bytes)
			j++;
		if (j == n) {
			s->used = i + n;
			return (int)i;
		}
	}
	case_fail("no %zu folios of order %d in a row are left", n, s->order);
	return -1;
}

void *stage_map(struct stage *s, void *at, int folio, size_t first,
		size_t pages)
{
	size_t offset = s->folios[folio].offset + first * s->page;
	void *map;

	map = mmap(at, pages * s->page, PROT_READ | PROT_WRITE,
		   MAP_SHARED | MAP_FIXED, s->file.fd, (off_t)offset);
	if (map == MAP_FAILED) {
		case_fail("mmap: %s", strerror(errno));
		return NULL;
	}
	for (size_t i = 0; i < pages; i++)
		stage_touch(s, map, i);
	return map;
}

void stage_touch(struct stage *s, void *at, size_t page)
{
	(void)*(volatile unsigned char *)((unsigned char *)at +
					  page * s->page);
}

void stage_touch_mask(struct stage *s, void *at, uint64_t mask)
{
	for (size_t i = 0; i < 64; i++)
		if (mask >> i & 1)
			stage_touch(s, at, i);
}

/* Pages of a file that are in the page cache; leaves no mapping behind. */
static int64_t cached(const struct area *a, size_t offset, size_t bytes)
{
	int64_t n;
	void *map = mmap(NULL, bytes, PROT_READ, MAP_SHARED, a->fd,
			 (off_t)offset);

	if (map == MAP_FAILED)
		return case_fail("mmap: %s", strerror(errno));
	n = (int64_t)pages_cached(map, bytes);
	munmap(map, bytes);
	return n;
}

/* What an earlier look left of it is dropped, then all of it is read. */
int stage_stock(struct stage *s)
{
	static unsigned char buf[256 * 1024];
	int ret;

	ret = posix_fadvise(s->fodder.fd, 0, 0, POSIX_FADV_DONTNEED);
	if (ret)
		return case_fail("posix_fadvise: %s", strerror(ret));
	for (size_t at = 0; at < s->fodder.bytes; at += sizeof(buf))
		if (pread(s->fodder.fd, buf, sizeof(buf), (off_t)at) <= 0)
			return case_fail("can't read the fodder: %s",
					 strerror(errno));
	return 0;
}

int stage_age(struct stage *s)
{
	if (area_age(&s->file))
		return -1;
	return stage_stock(s);
}

int stage_look(struct stage *s)
{
	int errnum = case_reclaim(s->c, s->file.bytes + MARGIN);

	if (errnum)
		return case_fail("memory.reclaim: %s", strerror(errnum));
	return 0;
}

enum decision stage_decision(struct stage *s, int folio)
{
	const struct stage_folio *f = &s->folios[folio];
	int64_t n = cached(&s->file, f->offset, s->bytes);
	struct page_view v;

	if (n == 0)
		return GONE;
	if (n != (int64_t)s->pages || frame_view(f->pfn, &v))
		return TORN;
	if (PV_HAS(&v, PV_ACTIVE))
		return ACTIVE;
	return PV_HAS(&v, PV_REFERENCED) ? KEPT : COLD;
}

/* A process that maps one page of each folio and never comes to itself. */
static pid_t start_witness(struct stage *s)
{
	int fds[2];
	pid_t pid;
	char ready;

	if (pipe(fds))
		return case_fail("pipe: %s", strerror(errno));
	pid = fork();
	if (pid < 0) {
		case_fail("fork: %s", strerror(errno));
		goto out;
	}
	if (!pid) {
		unsigned char *map = mmap(NULL, s->file.bytes, PROT_READ,
					  MAP_SHARED, s->file.fd, 0);

		if (map == MAP_FAILED)
			_exit(1);
		for (size_t i = 0; i < s->n; i++)
			/* No need to bring back what was evicted. */
			if (pages_cached(map + s->folios[i].offset, s->page))
				stage_touch(s, map + s->folios[i].offset, 0);
		if (write(fds[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(fds[1]);
	fds[1] = -1;
	if (read(fds[0], &ready, 1) != 1) {
		waitpid(pid, NULL, 0);
		pid = case_fail("the process that settles died");
	}
out:
	close(fds[0]);
	if (fds[1] >= 0)
		close(fds[1]);
	return pid;
}

int stage_settle(struct stage *s)
{
	pid_t pid = start_witness(s);
	int ret;

	if (pid < 0)
		return -1;
	ret = clear_refs(pid, 1);
	/* Its PTEs are old now: unmapping them refers to nothing. */
	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return ret;
}

int64_t stage_evict(struct stage *s)
{
	case_reclaim_all(s->c, 8);
	return cached(&s->file, 0, s->file.bytes);
}

unsigned char *stage_room(const struct stage *s, size_t n)
{
	return reserve((n + 1) * 4 * s->bytes, pmd_bytes());
}

unsigned char *stage_place(const struct stage *s, unsigned char *room, size_t i,
			   size_t shift)
{
	return room + i * 4 * s->bytes + shift * s->page;
}

int stage_mapped(struct case_ctx *c, struct stage *s, int order, size_t n,
		 size_t shift, int *folio, unsigned char **at)
{
	int rc = stage_make(c, s, order, n);
	unsigned char *room;

	if (rc)
		return rc;
	room = stage_room(s, n);
	for (size_t i = 0; i < n; i++) {
		folio[i] = stage_take(s, 1);
		if (folio[i] < 0)
			return -1;
		at[i] = stage_map(s, stage_place(s, room, i, shift), folio[i],
				  0, s->pages);
		if (!at[i])
			return -1;
	}
	return 0;
}

int anon_fodder(struct case_ctx *c, struct area *a, size_t bytes, int order)
{
	size_t folio = page_bytes() << order;

	bytes = (bytes + 2 * MARGIN + folio - 1) / folio * folio;
	return area_make(c, a, AREA_ANON, bytes, order);
}

int anon_look(struct case_ctx *c, size_t bytes)
{
	char text[64];
	int errnum;

	snprintf(text, sizeof(text), "%zu swappiness=200", bytes + MARGIN);
	errnum = case_reclaim_text(c, text);
	if (errnum)
		return case_fail("memory.reclaim: %s", strerror(errnum));
	return 0;
}
