/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The frame around each case: a cgroup, a directory and a mark in the kernel
 * log before; the assertions that hold for every case after.
 */
#include <errno.h>
#include <fcntl.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib.h"
#include "../../klog.h"

#define SCRATCH		"/scratch"
#define SETTLE_SECONDS	6.0	/* of the guest, for counts to come in */
/*
 * What may stay charged to an empty cgroup: its processors' stock of 64 pages
 * each, slab objects of the files it had, its own structures.
 */
#define NEAR_ZERO	(1024 * 1024)

#define HARNESS_PAGES	1

static char why[400];

const char *case_why(void)
{
	return why;
}

int case_fail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	return -1;
}

int case_lacks(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	return 1;
}

/* In one write: the line must not be torn by what another process prints. */
void case_same(const char *name, const char *fmt, ...)
{
	char value[400], line[512];
	va_list ap;
	int len;

	va_start(ap, fmt);
	vsnprintf(value, sizeof(value), fmt, ap);
	va_end(ap);
	fflush(stdout);
	len = snprintf(line, sizeof(line), "# same: %.80s %s\n", name, value);
	if (write(STDOUT_FILENO, line, len) != len)
		_exit(1)	/* KSFT_FAIL */;
}

/* The harness asks before main(). */
int case_limit(int seconds)
{
	int64_t slower = boot_param("slow", 1);

	return slower >= 1 && slower <= 1000 ? seconds * (int)slower : seconds;
}

double guest_seconds(void)
{
	return now_seconds();
}

void guest_sleep(double seconds)
{
	struct timespec ts = {
		.tv_sec = (time_t)seconds,
		.tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9),
	};

	nanosleep(&ts, NULL);
}

/* Not with dprintf(3): it wants to know its place in the file, and fails. */
int log_say(int level, const char *fmt, ...)
{
	char text[400];
	int fd = open("/dev/kmsg", O_WRONLY | O_CLOEXEC), n;
	va_list ap;
	ssize_t got;

	if (fd < 0)
		return case_fail("can't open /dev/kmsg: %s", strerror(errno));
	n = snprintf(text, sizeof(text), "<%d>", level);
	va_start(ap, fmt);
	vsnprintf(text + n, sizeof(text) - n, fmt, ap);
	va_end(ap);
	got = write(fd, text, strlen(text));
	close(fd);
	return got < 0 ? case_fail("can't write /dev/kmsg: %s",
				   strerror(errno)) : 0;
}

/* ---- before ------------------------------------------------------------------- */

/* Names in @dir that begin like ours. */
static void each_left(const char *dir, void (*fn)(const char *name))
{
	DIR *d = opendir(dir);
	struct dirent *e;

	if (!d)
		return;
	while ((e = readdir(d)))
		if (str_starts(e->d_name, CASE_PREFIX))
			fn(e->d_name);
	closedir(d);
}

static void sweep_cgroup(const char *name)
{
	cg_destroy(name);
}

static void sweep_dir(const char *name)
{
	char *path = xasprintf(SCRATCH "/%s", name);
	struct err ignored = { 0 };

	file_remove_tree(path, &ignored);
	free(path);
}

static int make_cgroup(struct case_ctx *c)
{
	struct err err = { 0 };

	if (memcg_init(&err) || memcg_create(c->cgroup, &c->cg, &err) ||
	    memcg_attach(c->cg, getpid(), &err))
		return case_fail("%s", err.text);
	return 0;
}

int case_begin(struct case_ctx *c, const char *name)
{
	static unsigned int number;

	*c = (struct case_ctx){ 0 };
	/* A case that was killed could not do this itself. */
	each_left(CGROUPS, sweep_cgroup);
	each_left(SCRATCH, sweep_dir);
	knobs_put_back();
	probe_end();

	number++;
	snprintf(c->name, sizeof(c->name), "%s", name);
	snprintf(c->cgroup, sizeof(c->cgroup), CASE_PREFIX "-%d-%u", getpid(),
		 number);
	snprintf(c->dir, sizeof(c->dir), SCRATCH "/%s", c->cgroup);
	if (mkdir(c->dir, 0700))
		return case_fail("can't make %s: %s", c->dir, strerror(errno));
	c->marker = klog_now();
	if (log_say(6, "folab: case %s", name))
		return -1;
	/* It takes pages out of page tables while somebody counts them. */
	if (case_khugepaged(c, false) < 0)
		return -1;
	return make_cgroup(c);
}

void case_loose(struct case_ctx *c)
{
	c->loose = true;
}

void case_may_warn(struct case_ctx *c)
{
	c->may_warn = true;
	log_say(6, "folab: may warn");	/* the agent looks for that */
}

bool log_fault(const struct case_ctx *c, char *line, size_t len)
{
	return klog_fault(c->marker, KLOG_OOM, line, len);
}

bool log_has(const struct case_ctx *c, const char *text)
{
	return klog_has(c->marker, text);
}

/* ---- after ---------------------------------------------------------------------- */

int case_check(struct case_ctx *c)
{
	int faults = 0;

	for (size_t i = 0; i < c->n_areas; i++)
		faults += area_check(&c->areas[i].area);
	fflush(stdout);
	return faults;
}

/* One file's content, and that nobody but us maps its pages. */
static int check_file(const struct case_file *f)
{
	int fd = open(f->path, O_RDONLY | O_CLOEXEC), faults = 0;
	const unsigned char *p;
	int64_t wrong;

	if (fd < 0)
		return 0;	/* the case removed it */
	p = mmap(NULL, f->bytes, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	if (p == MAP_FAILED) {
		printf("# can't map %s: %s\n", f->path, strerror(errno));
		return 1;
	}
	wrong = fill_wrong(p, f->bytes, f->seed, 0);
	if (wrong >= 0) {
		printf("# file %s is wrong from byte %" PRId64 " on\n", f->path,
		       wrong);
		faults++;
	}
	for (size_t at = 0; at < f->bytes; at += page_bytes()) {
		struct page_view v;

		if (page_view(0, p + at, &v) || !v.present || v.mapcount == 1)
			continue;
		printf("# page %zu of %s: mapcount %" PRId64 ", but only one process maps it\n",
		       at / page_bytes(), f->path, v.mapcount);
		faults++;
		break;
	}
	munmap((void *)(uintptr_t)p, f->bytes);
	return faults;
}

static int complain(const char *what, int64_t bytes)
{
	printf("# %s of the empty cgroup is still %" PRId64 "\n", what, bytes);
	return 1;
}

/*
 * The last processes and files are gone; what counts is left comes in by and
 * by.
 */
static int64_t may_stay(const char *what)
{
	/* The page in which kselftest's harness hands results to its parent
	 * is shared memory, and charged to whichever of them wrote first. */
	if (!strcmp(what, "shmem") || !strcmp(what, "file"))
		return HARNESS_PAGES * (int64_t)page_bytes();
	return 0;
}

static int check_memory(struct case_ctx *c)
{
	static const char *const none[] = {
		"file_mapped", "anon", "shmem", "file_dirty", "file_writeback",
		"anon_thp", "file", "unevictable",
	};
	double end = guest_seconds() + SETTLE_SECONDS;
	int64_t left[ARRAY_SIZE(none)], now;
	int faults = 0;
	bool settled;

	do {
		settled = true;
		for (size_t i = 0; i < ARRAY_SIZE(none); i++) {
			left[i] = cg_pair(c->cgroup, "memory.stat", none[i]);
			if (left[i] > may_stay(none[i]))
				settled = false;
		}
		now = case_current(c);
		if (now > NEAR_ZERO)
			settled = false;
		if (!settled)
			guest_sleep(0.1);
	} while (!settled && guest_seconds() < end);
	for (size_t i = 0; i < ARRAY_SIZE(none) && !settled; i++)
		if (left[i] > may_stay(none[i]))
			faults += complain(none[i], left[i]);
	if (now > NEAR_ZERO)
		faults += complain("memory.current", now);
	return faults;
}

static void drain_lists(void)
{
	int fd = open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC);

	/* Pages that wait on a processor's list for the LRU hold a charge. */
	if (fd < 0)
		return;
	if (write(fd, "1", 1) < 0)
		printf("# can't write drop_caches: %s\n", strerror(errno));
	close(fd);
}

int case_end(struct case_ctx *c)
{
	struct err err = { 0 };
	int faults = 0;
	char line[400];

	if (cg_kill(c->cgroup)) {
		printf("# %s\n", why);
		faults++;
	}
	for (size_t i = 0; i < c->n_files; i++)
		if (c->files[i].bytes)
			faults += check_file(&c->files[i]);
	if (file_remove_tree(c->dir, &err)) {
		printf("# %s\n", err.text);
		faults++;
	}
	knobs_put_back();
	probe_end();
	drain_lists();
	if (!c->loose)
		faults += check_memory(c);
	if (cg_destroy(c->cgroup)) {
		printf("# %s\n", why);
		faults++;
	}
	if (!c->may_warn && log_fault(c, line, sizeof(line))) {
		printf("# kernel log: %s\n", line);
		faults++;
	}
	fflush(stdout);
	return faults;
}
