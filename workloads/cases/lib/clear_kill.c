/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Processes that are killed while the kernel clears pages for them.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sched.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "lib.h"
#include "clear_kill.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE	23
#endif

/* What the process that dies can still tell. */
struct victim {
	struct case_ctx *c;
	const struct kill_plan *plan;
	unsigned char *kept;	/* the maker's mapping of the file, or NULL */
	int kept_fd;
	double began, ended;	/* guest time; 0: not yet */
	int64_t charged;	/* to the cgroup, at the end */
};

/* Ask the kernel for all units in one call. */
static int ask(const struct kill_plan *p, unsigned char *at, int fd)
{
	size_t bytes = p->units * p->unit;

	if (p->way == WAY_FALLOCATE)
		return fallocate(fd, 0, 0, (off_t)bytes);
	return madvise(at, bytes, MADV_POPULATE_WRITE);
}

static unsigned char *map_units(const struct kill_plan *p, int *fd)
{
	unsigned char *at = clear_map(&p->k, p->units, fd);
	size_t bytes = p->units * p->unit;

	if (!at || !p->unreserved)
		return at;
	/* The same once more, without a reservation. */
	at = mmap(at, bytes, PROT_READ | PROT_WRITE,
		  MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB |
		  MAP_NORESERVE |
		  __builtin_ctzl(p->unit) << MAP_HUGE_SHIFT, -1, 0);
	return at == MAP_FAILED ? NULL : at;
}

static int victim(struct peer *me, void *arg)
{
	struct victim *v = arg;
	unsigned char *at = v->kept;
	struct huge_counts h;
	int fd = v->kept_fd;

	if (!at)
		at = map_units(v->plan, &fd);
	if (!at || peer_step(me))
		return 1;
	v->began = guest_seconds();
	if (ask(v->plan, at, fd))
		return 2;
	v->ended = guest_seconds();
	if (huge_counts(v->c, v->plan->unit, &h))
		return 3;
	v->charged = h.charged;
	return 0;
}

/* ---- before and after --------------------------------------------------------- */

/* All of it comes as zeros. */
static int all_zero(const struct kill_plan *p, unsigned char *at)
{
	size_t bytes = p->units * p->unit;
	int64_t wrong;

	if (madvise(at, bytes, MADV_POPULATE_WRITE))
		return case_fail("MADV_POPULATE_WRITE: %s", strerror(errno));
	wrong = clear_wrong(at, bytes);
	if (wrong < 0)
		return 0;
	return case_fail("byte %" PRId64 " of page %" PRId64 " was handed out as %#x",
			 wrong % (int64_t)p->unit,
			 wrong / (int64_t)p->unit, at[wrong]);
}

/* Fill all units, or (@check) see that they come as zeros before. */
static int use_all(const struct kill_plan *p, bool check)
{
	size_t bytes = p->units * p->unit;
	int fd = -1, rc = 0;
	unsigned char *at = clear_map(&p->k, p->units, &fd);

	if (!at)
		return case_fail("can't map %zu huge pages: %s", p->units,
				 strerror(errno));
	if (check)
		rc = all_zero(p, at);
	if (!rc)
		clear_stain(at, bytes);
	munmap(at, bytes);
	if (fd >= 0)
		close(fd);
	return rc;
}

static int same(const char *what, int64_t before, int64_t after)
{
	return before == after ? 0 :
		case_fail("%s: %" PRId64 " before, %" PRId64 " after the kill",
			  what, before, after);
}

static int counts_alike(struct case_ctx *c, const struct kill_plan *p,
			const struct huge_counts *was)
{
	struct huge_counts now;

	if (huge_counts(c, p->unit, &now))
		return -1;
	if (same("huge pages", was->total, now.total) ||
	    same("free huge pages", was->free, now.free) ||
	    same("reserved huge pages", was->reserved, now.reserved) ||
	    same("surplus huge pages", was->surplus, now.surplus) ||
	    same("hugetlb.current", was->charged, now.charged) ||
	    same("hugetlb.rsvd.current", was->charged_reserved,
		 now.charged_reserved))
		return -1;
	return 0;
}

/* ---- the kill ------------------------------------------------------------------ */

static void wait_until(double when)
{
	struct timespec ts = {
		.tv_sec = (time_t)when,
		.tv_nsec = (long)((when - (double)(time_t)when) * 1e9),
	};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) ==
	       EINTR)
		;
}

/*
 * The killer has to run before the clear that it is to disturb; not all the
 * time, or the kernel throttles it (sched_rt_runtime_us).
 */
static int go_first(bool on)
{
	struct sched_param p = { .sched_priority = on ? 50 : 0 };

	return sched_setscheduler(0, on ? SCHED_FIFO : SCHED_OTHER, &p) ?
		case_fail("sched_setscheduler: %s", strerror(errno)) : 0;
}

static int kill_at(pid_t pid, double when, double *killed)
{
	if (go_first(true))
		return -1;
	wait_until(when);
	*killed = guest_seconds();
	kill(pid, SIGKILL);
	return go_first(false);
}

/* One victim; killed at @after seconds from its start, or (< 0) not at all. */
static int one_victim(struct victim *v, double after, double *killed)
{
	struct peer p;
	int rc;

	v->began = v->ended = 0;
	if (peer_start(&p, victim, v) || peer_meet(&p))
		return -1;
	if (after >= 0 && kill_at(p.pid, guest_seconds() + after, killed))
		return -1;
	rc = peer_end(&p);
	if (rc == 256 + SIGKILL ? after < 0 : rc != 0)
		return case_fail("the process that asks for pages ended with %d",
				 rc);
	return 0;
}

/* The file that the victim fills has somebody else, who goes on with it. */
static int keep_file(struct victim *v)
{
	const struct kill_plan *p = v->plan;

	v->kept = NULL;
	v->kept_fd = -1;
	if (!p->kept)
		return 0;
	v->kept = clear_map(&p->k, p->units, &v->kept_fd);
	return v->kept ? 0 : case_fail("can't map %zu huge pages: %s",
				       p->units, strerror(errno));
}

static int end_file(struct victim *v, bool look)
{
	int rc;

	if (!v->kept)
		return 0;
	rc = look ? all_zero(v->plan, v->kept) : 0;
	munmap(v->kept, v->plan->units * v->plan->unit);
	close(v->kept_fd);
	return rc;
}

static int kill_once(struct victim *v, double after,
		     const struct huge_counts *was, int *inside)
{
	double killed;

	if (keep_file(v) || one_victim(v, after, &killed))
		return -1;
	*inside += v->began > 0 && killed > v->began && !v->ended;
	if (end_file(v, true) || counts_alike(v->c, v->plan, was) ||
	    use_all(v->plan, true) || counts_alike(v->c, v->plan, was))
		return -1;
	return 0;
}

/* How long it takes when nobody is killed; and what is counted then. */
static int undisturbed(struct victim *v, double *seconds)
{
	const int64_t want = (int64_t)(v->plan->units * v->plan->unit);

	if (keep_file(v) || one_victim(v, -1, NULL) || end_file(v, false))
		return -1;
	*seconds = v->ended - v->began;
	if (v->charged != want)
		return case_fail("hugetlb.current is %" PRId64 " with %" PRId64 " bytes in use",
				 v->charged, want);
	return use_all(v->plan, true);
}

int clear_kill(struct case_ctx *c, struct kill_plan *p)
{
	struct huge_counts was;
	struct victim *v;
	double seconds;
	int inside = 0;
	int rc = clear_begin(c, &p->k, p->kind, p->unit, p->units);

	if (!rc)
		rc = huge_cgroup(c);
	if (rc)
		return rc;
	v = mmap(NULL, sizeof(*v), PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (v == MAP_FAILED)
		return case_fail("mmap: %s", strerror(errno));
	v->c = c;
	v->plan = p;
	if (huge_counts(c, p->unit, &was) || use_all(p, false) ||
	    undisturbed(v, &seconds))
		return -1;
	for (int i = 0; i < p->moments && !rc; i++)
		rc = kill_once(v, seconds * (2 * i + 1) / (2 * p->moments),
			       &was, &inside);
	munmap(v, sizeof(*v));
	if (rc)
		return -1;
	printf("# %d of %d kills while the kernel cleared, which takes %.0f us\n",
	       inside, p->moments, seconds * 1e6);
	/*
	 * The first and the last ones may come too early or too late: a kernel
	 * that checks itself does not take as long each time.
	 */
	return inside >= p->moments / 2 ? 0 :
		case_fail("%d of %d kills came while the kernel cleared",
			  inside, p->moments);
}
