/* SPDX-License-Identifier: GPL-2.0 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "klog.h"
#include "watch.h"

#define MAX_SAMPLES	(1 << 18)	/* 13.9 s */
#define SETTLE_NS	1000000
#define NS		1000000000

/* How a watcher ends. */
enum { WATCHED, NO_PRIORITY, NO_LOCK, NO_CLOCK, TOO_LONG };

/* Shared by both processes. */
struct seen {
	int64_t period;		/* ns */
	volatile bool stop;
	size_t n;
	struct {
		int64_t due, late;	/* ns; late: after due */
	} s[MAX_SAMPLES];
};

struct watch {
	struct seen *seen;
	pid_t pid;
	cpu_set_t before;	/* where the caller could run */
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

int64_t watch_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * NS + ts.tv_nsec;
}

static int sleep_until(int64_t ns)
{
	struct timespec ts = { ns / NS, ns % NS };
	int rc;

	do {
		rc = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
	} while (rc == EINTR);
	return rc;
}

static int watcher(struct seen *w, int ready)
{
	struct sched_param fifo = { .sched_priority = WATCH_PRIORITY };
	int64_t due, now;

	/* No fault of its own may be taken for somebody's delay. */
	if (mlockall(MCL_CURRENT | MCL_FUTURE))
		return NO_LOCK;
	if (sched_setscheduler(0, SCHED_FIFO, &fifo))
		return NO_PRIORITY;
	if (write(ready, "", 1) != 1)
		return NO_CLOCK;
	due = watch_now() + w->period;
	while (!w->stop && w->n < MAX_SAMPLES) {
		if (sleep_until(due))
			return NO_CLOCK;
		now = watch_now();
		/* What was due while it could not run was late as well. */
		for (; due <= now && w->n < MAX_SAMPLES; due += w->period) {
			w->s[w->n].due = due;
			w->s[w->n++].late = now - due;
		}
	}
	return w->n == MAX_SAMPLES ? TOO_LONG : WATCHED;
}

static int bind_here(cpu_set_t *before, struct err *err)
{
	int cpu = sched_getcpu();
	cpu_set_t one;

	CPU_ZERO(&one);
	if (cpu < 0 || sched_getaffinity(0, sizeof(*before), before))
		return err_sys(err, EXIT_RUN, errno, "can't tell the processor");
	CPU_SET(cpu, &one);
	return sched_setaffinity(0, sizeof(one), &one) ?
		err_sys(err, EXIT_RUN, errno, "can't bind to a processor") : 0;
}

static int reap(struct watch *w, struct err *err)
{
	static const char *const why[] = {
		[NO_PRIORITY] = "can't give a thread SCHED_FIFO: it takes CAP_SYS_NICE, run as root",
		[NO_LOCK] = "can't lock the watcher's memory: it takes CAP_IPC_LOCK, run as root",
		[NO_CLOCK] = "the watcher's clock failed",
		[TOO_LONG] = "it took longer than the watcher can note, 13.9 s: clear less",
	};
	int status, code;

	while (waitpid(w->pid, &status, 0) < 0)
		if (errno != EINTR)
			return err_sys(err, EXIT_RUN, errno, "waitpid");
	if (!WIFEXITED(status) || WEXITSTATUS(status) >= (int)ARRAY_SIZE(why))
		return err_set(err, EXIT_RUN, "the watcher died");
	code = WEXITSTATUS(status);
	if (code == WATCHED)
		return 0;
	return err_set(err, code == NO_PRIORITY || code == NO_LOCK ?
		       EXIT_ENVIRONMENT : EXIT_RUN, "%s", why[code]);
}

/* A pipe says that it watches, or by its end that it does not. */
static int fork_watcher(struct watch *w, struct err *err)
{
	pid_t maker = getpid();
	int fd[2];
	char byte;
	ssize_t n;

	if (pipe(fd))
		return err_sys(err, EXIT_RUN, errno, "pipe");
	fflush(stdout);
	w->pid = fork();
	if (!w->pid) {
		close(fd[0]);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(getppid() == maker ? watcher(w->seen, fd[1]) : NO_CLOCK);
	}
	close(fd[1]);
	if (w->pid < 0) {
		err_sys(err, EXIT_RUN, errno, "fork");
		close(fd[0]);
		return -1;
	}
	do {
		n = read(fd[0], &byte, 1);
	} while (n < 0 && errno == EINTR);
	close(fd[0]);
	if (n == 1)
		return 0;
	if (!reap(w, err))
		err_set(err, EXIT_RUN, "the watcher ended at once");
	return -1;
}

static void release(struct watch *w)
{
	sched_setaffinity(0, sizeof(w->before), &w->before);
	munmap(w->seen, sizeof(*w->seen));
	free(w);
}

int watch_start(struct watch **watch, int64_t period_ns, struct err *err)
{
	struct watch *w = xcalloc(1, sizeof(*w));

	*watch = NULL;
	w->seen = mmap(NULL, sizeof(*w->seen), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (w->seen == MAP_FAILED) {
		err_sys(err, EXIT_RUN, errno, "mmap");
		free(w);
		return -1;
	}
	w->seen->period = period_ns;
	if (bind_here(&w->before, err)) {
		munmap(w->seen, sizeof(*w->seen));
		free(w);
		return -1;
	}
	if (fork_watcher(w, err)) {
		release(w);
		return -1;
	}
	/* Let it settle: its first periods are not of interest. */
	sleep_until(watch_now() + SETTLE_NS);
	*watch = w;
	return 0;
}

static int by_late(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

void watch_figures(int64_t *late, size_t n, struct delays *d)
{
	d->n = n;
	d->worst = d->p999 = 0;
	if (!n)
		return;
	qsort(late, n, sizeof(*late), by_late);
	d->worst = (double)late[n - 1] / NS;
	d->p999 = (double)late[(n - 1) * 999 / 1000] / NS;
}

size_t watch_due(int64_t first, int64_t period_ns, int64_t begin, int64_t end)
{
	int64_t from = begin > first ? begin - first : 0;
	int64_t skipped = (from + period_ns - 1) / period_ns;
	int64_t all = end > first ?
		(end - first + period_ns - 1) / period_ns : 0;

	return all > skipped ? (size_t)(all - skipped) : 0;
}

/* Those that were due in [begin, end). */
static void sum_up(const struct seen *w, int64_t begin, int64_t end,
		   struct delays *d)
{
	int64_t *late = xmalloc((w->n + 1) * sizeof(*late));
	size_t n = 0;

	d->load_seconds = (double)(end - begin) / NS;
	for (size_t i = 0; i < w->n; i++)
		if (w->s[i].due >= begin && w->s[i].due < end)
			late[n++] = w->s[i].late;
	d->expected = w->n ? watch_due(w->s[0].due, w->period, begin, end) : 0;
	watch_figures(late, n, d);
	free(late);
}

int watch_end(struct watch *w, int64_t begin, int64_t end, struct delays *d,
	      struct err *err)
{
	int rc;

	w->seen->stop = true;
	rc = reap(w, err);
	if (!rc && d)
		sum_up(w->seen, begin, end, d);
	release(w);
	return rc;
}
