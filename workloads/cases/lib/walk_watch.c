/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a walk sees of the kernel from outside: when it adds up its counts, and
 * which pages are in memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib.h"
#include "walk_run.h"

#define FLUSH_POLL	0.02	/* seconds */
#define FLUSH_POLLS	400

/* ---- the kernel's timer ----------------------------------------------------------- */

static int64_t anon_seen(int fd)
{
	char buf[8192];
	ssize_t n = pread(fd, buf, sizeof(buf) - 1, 0);

	if (n <= 0)
		return -1;
	buf[n] = '\0';
	return strncmp(buf, "anon ", 5) ? -1 : strtoll(buf + 5, NULL, 10);
}

/*
 * A page is counted by this processor, and shows when the sums are made.  Whoever
 * reads memory.stat makes them himself when much has changed: so nothing else may
 * change meanwhile, not even by open(2).
 */
int walk_wait_for_flush(struct walk *w)
{
	char *path = xasprintf(CGROUPS "/%s/memory.stat", w->ctl);
	int fd = open(path, O_RDONLY | O_CLOEXEC), polls = 0;
	char buf[4096];
	int64_t before;
	char *p;

	free(path);
	p = mmap(NULL, page_bytes(), PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (fd < 0 || p == MAP_FAILED || anon_seen(fd) < 0)
		return case_fail("memory.stat: %s", strerror(errno));
	cg_read(w->ctl, "cpu.stat", buf, sizeof(buf));
	before = anon_seen(fd);
	*p = 1;
	while (anon_seen(fd) == before && polls++ < FLUSH_POLLS)
		guest_sleep(FLUSH_POLL);
	munmap(p, page_bytes());
	close(fd);
	w->result->flushed = guest_seconds();
	return polls > 0 && polls < FLUSH_POLLS ? 0 :
		case_fail("can't tell when the kernel adds up its counts (%d)",
			  polls);
}

/* ---- which pages are in memory ---------------------------------------------------- */

static uint64_t hash_walker(const struct walk_exec *x, pid_t pid,
			    struct walk_result *r, uint64_t h)
{
	static uint64_t map[WALK_ARENA];
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/pagemap", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || pread(fd, map, sizeof(map), (off_t)((uintptr_t)
	    x->arena / x->page * 8)) != (ssize_t)sizeof(map))
		memset(map, 0, sizeof(map));
	if (fd >= 0)
		close(fd);
	for (int i = 0; i < WALK_ARENA; i++) {
		r->present += map[i] >> 63;
		r->swapped += map[i] >> 62 & 1;
		/* Present, swapped, of a file. */
		h = (h ^ map[i] >> 61) * UINT64_C(0x9e3779b97f4a7c15);
	}
	return walk_mix(h, 0);
}

static uint64_t hash_file(const struct walk_exec *x, int fd,
			  struct walk_result *r, uint64_t h)
{
	size_t bytes = WALK_FILE_PAGES * x->page;
	unsigned char vec[WALK_FILE_PAGES] = { 0 };
	void *p = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		return h;
	if (mincore(p, bytes, vec))
		memset(vec, 0xff, sizeof(vec));
	munmap(p, bytes);
	for (int i = 0; i < WALK_FILE_PAGES; i++) {
		r->cached += vec[i] & 1;
		h = (h ^ (vec[i] & 1)) * UINT64_C(0x9e3779b97f4a7c15);
	}
	return walk_mix(h, 1);
}

uint64_t walk_resident(const struct walk_exec *x, const bool *alive,
		       struct walk_result *r)
{
	uint64_t h = 0;

	r->present = r->swapped = r->cached = 0;
	for (int i = 0; i < WALK_PROCS; i++)
		if (alive[i])
			h = hash_walker(x, x->pid[i], r, h);
	for (int i = 0; i < WALK_FILES; i++)
		h = hash_file(x, x->files[i], r, h);
	return h;
}
