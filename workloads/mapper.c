/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which order a folio of the page cache gets is decided by readahead
 * (mm/readahead.c, page_cache_ra_order).  From one window to the next the order
 * grows by two, up to the largest that fits into the window and is aligned
 * there.  So the window is made as large as the wanted folio, and read(2) asks
 * for a window at a time: after one small window for each two orders all
 * folios have the size of the window, whatever larger ones the kernel could
 * make.  Windows have at least four pages.  Two pages come of windows that begin
 * in the middle of an aligned four; single ones of POSIX_FADV_RANDOM, which
 * switches readahead off.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mapper.h"

#define WINDOW_MIN_ORDER	2		/* four pages */
#define FILL_PLAIN		(1024 * 1024)	/* bytes a read without readahead */
#define MAP_ALIGN		(2 * 1024 * 1024)	/* a PMD's reach */
#define MAP_UNIT_MIN		(64 * 1024)		/* a contpte block */

struct order {
	enum mapper_op op;
};

/* At most PIPE_BUF bytes, so that it comes whole. */
struct reply {
	struct err err;
	struct folio_count count;
};
_Static_assert(sizeof(struct reply) <= 4096, "a reply fits into a pipe");

/* The mapper's own side. */
struct self {
	struct mapper_file file;
	int fd;
	unsigned char *map;
	volatile unsigned char sink;
};

int mapper_readahead_kib(int order)
{
	return 4 << (order > WINDOW_MIN_ORDER ? order : WINDOW_MIN_ORDER);
}

static bool chosen(uint64_t page, uint64_t salt, int percent)
{
	uint64_t x = mix64((page + 1) * UINT64_C(0x9e3779b97f4a7c15) + salt);

	return x % 100 < (uint64_t)percent;
}

bool mapper_touches(uint64_t page, int percent)
{
	return chosen(page, 1, percent);
}

bool mapper_dirties(uint64_t page, int percent)
{
	return chosen(page, 2, percent);
}

bool mapper_maps(const struct mapper_file *file, uint64_t page)
{
	uint64_t half = (page << 1) >> file->order;	/* of a folio, counted */

	/* Of four in a row the second and the third. */
	return !file->partial || ((half + 1) >> 1) % 2;
}

uint64_t mapper_pattern(uint64_t page)
{
	return ~page;
}

/* ---- inside the mapper --------------------------------------------------- */

static int fill_range(struct self *s, unsigned char *buf, size_t chunk,
		      uint64_t from, uint64_t to, struct err *err)
{
	while (from < to) {
		size_t want = to - from < chunk ? (size_t)(to - from) : chunk;
		ssize_t n = pread(s->fd, buf, want, (off_t)from);

		if (n < 0)
			return err_sys(err, EXIT_RUN, errno, "can't read %s",
				       s->file.path);
		if (n == 0)
			return err_set(err, EXIT_RUN, "%s ends early",
				       s->file.path);
		from += (uint64_t)n;
	}
	return 0;
}

static int advise(struct self *s, int advice, struct err *err)
{
	int ret = posix_fadvise(s->fd, 0, 0, advice);

	if (ret)
		return err_sys(err, EXIT_RUN, ret, "posix_fadvise(%s)",
			       s->file.path);
	return 0;
}

static int do_fill(struct self *s, struct err *err)
{
	int order = s->file.order;
	size_t window = (size_t)mapper_readahead_kib(order) * 1024;
	uint64_t plain = 0;	/* bytes to be read without readahead */
	unsigned char *buf;
	int ret = -1;

	if (order == 0)
		plain = s->file.bytes;
	else if (order == 1)
		plain = 2 * FOLIO_PAGE_SIZE;
	buf = xmalloc(window > FILL_PLAIN ? window : FILL_PLAIN);
	if (advise(s, POSIX_FADV_RANDOM, err) ||
	    fill_range(s, buf, FILL_PLAIN, 0, plain, err) ||
	    advise(s, POSIX_FADV_NORMAL, err) ||
	    fill_range(s, buf, window, plain, s->file.bytes, err))
		goto out;
	ret = 0;
out:
	free(buf);
	return ret;
}

static void touch(struct self *s, int percent)
{
	for (uint64_t at = 0; at < s->file.bytes; at += FOLIO_PAGE_SIZE) {
		uint64_t page = at >> FOLIO_PAGE_SHIFT;

		if (mapper_maps(&s->file, page) &&
		    (percent == 100 || mapper_touches(page, percent)))
			s->sink = s->map[at];
	}
}

/*
 * What order a folio has shows only where all of it is mapped.  MADV_RANDOM, so
 * that the kernel does not take these accesses for use of the memory: such a
 * mapping leaves no mark on a folio when it goes (vma_has_recency()).
 */
static int count_orders(struct self *s, struct folio_count *count,
			struct err *err)
{
	unsigned char *map = mmap(NULL, s->file.bytes, PROT_READ, MAP_SHARED,
				  s->fd, 0);
	int ret = -1;

	if (map == MAP_FAILED)
		return err_sys(err, EXIT_RUN, errno, "can't map %s",
			       s->file.path);
	if (madvise(map, s->file.bytes, MADV_RANDOM)) {
		err_sys(err, EXIT_RUN, errno, "madvise(MADV_RANDOM)");
		goto out;
	}
	for (uint64_t at = 0; at < s->file.bytes; at += FOLIO_PAGE_SIZE)
		s->sink = map[at];
	ret = folios_count(map, s->file.bytes, 0, NULL, NULL, count, err);
out:
	munmap(map, s->file.bytes);
	return ret;
}

/*
 * How far behind a PMD's boundary the mapping begins.  A whole number of folios
 * and of contpte blocks, so that how they are mapped does not hang on it; which
 * page table a folio's PTEs are in does, as it does in life.
 */
uint64_t mapper_shift(int order, int64_t seed)
{
	uint64_t unit = FOLIO_PAGE_SIZE << order;

	if (unit < MAP_UNIT_MIN)
		unit = MAP_UNIT_MIN;
	return mix64((uint64_t)seed) % (MAP_ALIGN / unit) * unit;
}

/* Bytes from @from on that are mapped, or are not, as its page is. */
static uint64_t stretch(const struct mapper_file *file, uint64_t from)
{
	bool mapped = mapper_maps(file, from >> FOLIO_PAGE_SHIFT);
	uint64_t to = from;

	while (to < file->bytes &&
	       mapper_maps(file, to >> FOLIO_PAGE_SHIFT) == mapped)
		to += FOLIO_PAGE_SIZE;
	return to - from;
}

/* The file at @at, where room is reserved: all of it, or its mapped parts. */
static int map_parts(struct self *s, unsigned char *at, struct err *err)
{
	int prot = PROT_READ | (s->file.dirty ? PROT_WRITE : 0);
	uint64_t bytes;

	for (uint64_t from = 0; from < s->file.bytes; from += bytes) {
		bytes = stretch(&s->file, from);
		if (mapper_maps(&s->file, from >> FOLIO_PAGE_SHIFT) &&
		    mmap(at + from, bytes, prot, MAP_SHARED | MAP_FIXED, s->fd,
			 (off_t)from) == MAP_FAILED)
			return err_sys(err, EXIT_RUN, errno, "can't map %s",
				       s->file.path);
	}
	return 0;
}

static int do_map(struct self *s, struct err *err)
{
	unsigned char *room;
	uintptr_t at;

	room = mmap(NULL, s->file.bytes + 2 * MAP_ALIGN, PROT_NONE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (room == MAP_FAILED)
		return err_sys(err, EXIT_RUN, errno,
			       "can't reserve address space");
	at = ((uintptr_t)room + MAP_ALIGN - 1) & ~(uintptr_t)(MAP_ALIGN - 1);
	at += mapper_shift(s->file.order, s->file.seed);
	s->map = (unsigned char *)at;
	if (map_parts(s, s->map, err))
		return -1;
	touch(s, 100);
	return 0;
}

static void do_dirty(struct self *s)
{
	for (uint64_t page = 0; page < s->file.bytes >> FOLIO_PAGE_SHIFT;
	     page++) {
		uint64_t pattern = mapper_pattern(page);

		if (mapper_maps(&s->file, page) &&
		    mapper_dirties(page, s->file.dirty))
			memcpy(s->map + (page << FOLIO_PAGE_SHIFT), &pattern,
			       sizeof(pattern));
	}
}

/*
 * "1" into clear_refs takes the young bit from each PTE and the referenced
 * flag from each folio, and reclaims nothing.  With contpte it does so block by
 * block, which is what a kernel without use of the memory would have come to:
 * a block is young as a whole.  But it leaves the TLB alone, where a young
 * entry would keep the hardware from marking the PTE again: a fork(2) flushes
 * that, and copies no PTEs of a shared file mapping.
 */
static int do_age(struct err *err)
{
	int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
	pid_t pid;
	ssize_t n;
	int errnum;

	if (fd < 0)
		return err_sys(err, EXIT_ENVIRONMENT, errno,
			       "can't open /proc/self/clear_refs");
	n = write(fd, "1", 1);
	errnum = errno;
	close(fd);
	if (n != 1)
		return err_sys(err, EXIT_RUN, errnum,
			       "can't write to /proc/self/clear_refs");
	pid = fork();
	if (pid < 0)
		return err_sys(err, EXIT_RUN, errno, "fork");
	if (!pid)
		_exit(0);
	if (waitpid(pid, NULL, 0) != pid)
		return err_sys(err, EXIT_RUN, errno, "waitpid");
	return 0;
}

static bool page_dirtied(void *arg, uint64_t page)
{
	const struct self *s = arg;

	return mapper_dirties(page, s->file.dirty);
}

static int carry_out(struct self *s, enum mapper_op op,
		     struct folio_count *count, struct err *err)
{
	switch (op) {
	case MAPPER_FILL:
		return do_fill(s, err);
	case MAPPER_ORDERS:
		return count_orders(s, count, err);
	case MAPPER_MAP:
		return do_map(s, err);
	case MAPPER_DIRTY:
		do_dirty(s);
		return 0;
	case MAPPER_AGE:
		return do_age(err);
	case MAPPER_TOUCH:
		touch(s, s->file.young);
		return 0;
	case MAPPER_COUNT:
		return folios_count(s->map, s->file.bytes, s->file.cont_pages,
				    s->file.dirty ? page_dirtied : NULL, s,
				    count, err);
	}
	return err_set(err, EXIT_RUN, "no such order for a mapper: %d", op);
}

static void __attribute__((noreturn))
live(const struct mapper_file *file, int order_fd, int reply_fd)
{
	struct self s = { .file = *file };
	struct reply r = { 0 };
	struct order o;

	/* read_ahead_kb is looked at when a file is opened. */
	s.fd = open(file->path, (file->dirty ? O_RDWR : O_RDONLY) | O_CLOEXEC);
	if (s.fd < 0)
		err_sys(&r.err, EXIT_RUN, errno, "can't open %s", file->path);
	while (read(order_fd, &o, sizeof(o)) == sizeof(o)) {
		if (!r.err.code)
			carry_out(&s, o.op, &r.count, &r.err);
		if (write(reply_fd, &r, sizeof(r)) != sizeof(r))
			break;
	}
	_exit(0);
}

/* ---- outside ------------------------------------------------------------- */

int mapper_start(struct mapper *m, const struct mapper_file *file,
		 struct err *err)
{
	int order[2], reply[2];
	pid_t maker = getpid();

	if (pipe2(order, O_CLOEXEC))
		return err_sys(err, EXIT_RUN, errno, "pipe");
	if (pipe2(reply, O_CLOEXEC)) {
		err_sys(err, EXIT_RUN, errno, "pipe");
		goto out_order;
	}
	m->pid = fork();
	if (m->pid < 0) {
		err_sys(err, EXIT_RUN, errno, "fork");
		m->pid = 0;
		goto out_reply;
	}
	if (!m->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != maker)
			_exit(0);
		/* A full disk is a SIGBUS here, whatever our maker does then. */
		signal(SIGBUS, SIG_DFL);
		close(order[1]);
		close(reply[0]);
		live(file, order[0], reply[1]);
	}
	close(order[0]);
	close(reply[1]);
	m->order_fd = order[1];
	m->reply_fd = reply[0];
	return 0;

out_reply:
	close(reply[0]);
	close(reply[1]);
out_order:
	close(order[0]);
	close(order[1]);
	return -1;
}

int mapper_do(struct mapper *m, enum mapper_op op, struct folio_count *count,
	      struct err *err)
{
	struct order o = { op };
	struct reply r;
	ssize_t n;

	if (write(m->order_fd, &o, sizeof(o)) != sizeof(o))
		return err_sys(err, EXIT_RUN, errno, "a mapper is gone");
	n = read(m->reply_fd, &r, sizeof(r));
	if (n != sizeof(r))
		return err_set(err, EXIT_RUN,
			       "a mapper died while it %s (out of memory?)",
			       op == MAPPER_FILL ? "filled the file" :
			       "touched the file");
	if (r.err.code)
		return err_set(err, r.err.code, "%s", r.err.text);
	if (count)
		*count = r.count;
	return 0;
}

void mapper_stop(struct mapper *m)
{
	if (!m->pid)
		return;
	kill(m->pid, SIGKILL);
	while (waitpid(m->pid, NULL, 0) < 0 && errno == EINTR)
		;
	close(m->order_fd);
	close(m->reply_fd);
	m->pid = 0;
}
