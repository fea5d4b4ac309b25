/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The watcher, and the preemption model that the kernel was booted with.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "lib.h"
#include "../../klog.h"
#include "clear_delay.h"

#define MAX_SAMPLES	65536
#define WATCH_PRIORITY	50
#define NS		1000000000

struct watch {
	volatile bool stop;
	size_t n;
	struct {
		int64_t due, late;	/* ns; late: after due */
	} s[MAX_SAMPLES];
};

const char *preempt_model(void)
{
	static const char *const models[] = {
		"none", "voluntary", "full", "lazy",
	};

	/* Its debugfs file needs an option that would be measured with us. */
	for (size_t i = 0; i < ARRAY_SIZE(models); i++) {
		char *line = xasprintf("Dynamic Preempt: %s", models[i]);
		bool said = klog_has(0, line);

		free(line);
		if (said)
			return models[i];
	}
	return NULL;
}

static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * NS + ts.tv_nsec;
}

static int watcher(struct peer *me, void *arg)
{
	struct sched_param fifo = { .sched_priority = WATCH_PRIORITY };
	struct watch *w = arg;
	int64_t due;

	/* No fault of its own may be taken for somebody's delay. */
	if (mlockall(MCL_CURRENT | MCL_FUTURE) ||
	    sched_setscheduler(0, SCHED_FIFO, &fifo) || peer_step(me))
		return 1;
	due = now_ns() + WATCH_PERIOD_NS;
	while (!w->stop && w->n < MAX_SAMPLES) {
		struct timespec ts = { due / NS, due % NS };
		int64_t now;

		if (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL))
			return 2;
		now = now_ns();
		/* What was due while it could not run was late as well. */
		for (; due <= now && w->n < MAX_SAMPLES; due += WATCH_PERIOD_NS) {
			w->s[w->n].due = due;
			w->s[w->n++].late = now - due;
		}
	}
	return w->n == MAX_SAMPLES ? 3 : 0;
}

static int by_late(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/* Those that were due in [begin, end). */
static void sum_up(const struct watch *w, int64_t begin, int64_t end,
		   struct delays *d)
{
	int64_t *late = xmalloc((w->n + 1) * sizeof(*late));

	d->n = 0;
	d->load_seconds = (double)(end - begin) / NS;
	for (size_t i = 0; i < w->n; i++)
		if (w->s[i].due >= begin && w->s[i].due < end)
			late[d->n++] = w->s[i].late;
	qsort(late, d->n, sizeof(*late), by_late);
	if (d->n) {
		d->worst = (double)late[d->n - 1] / NS;
		d->p999 = (double)late[(d->n - 1) * 999 / 1000] / NS;
	}
	free(late);
}

static int end_watch(struct peer *p, struct watch *w)
{
	int rc;

	w->stop = true;
	rc = peer_end(p);
	return rc ? case_fail("the watcher ended with %d", rc) : 0;
}

int watch_delays(int (*load)(void *arg), void *arg, struct delays *d)
{
	struct watch *w = mmap(NULL, sizeof(*w), PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	int64_t begin, end;
	struct peer p;
	int rc;

	*d = (struct delays){ 0 };
	if (w == MAP_FAILED)
		return case_fail("mmap: %s", strerror(errno));
	if (peer_start(&p, watcher, w) || peer_meet(&p))
		return -1;
	/* Let it settle: its first periods are not of interest. */
	guest_sleep(0.001);
	begin = now_ns();
	rc = load(arg);
	end = now_ns();
	if (end_watch(&p, w))
		rc = -1;
	if (!rc)
		sum_up(w, begin, end, d);
	munmap(w, sizeof(*w));
	return rc;
}
