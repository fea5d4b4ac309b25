/* SPDX-License-Identifier: GPL-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "measure.h"

#define TICKS_PER_SECOND	250	/* CONFIG_HZ of our configs */

#define IDLE_MS			200	/* between two calls of place->idle */
#define GRACE_SECONDS		10.0	/* to clean up in, when asked to end */

/* Behind env->agent. */
struct pass {
	const struct place *place;
	struct lines *lines;
	struct probes *probes;
	struct profile profile;		/* what the watcher saw */
};

static void phase(struct workload_env *env, const char *name)
{
	struct pass *pass = env->agent;
	struct wire w = { .type = WIRE_PHASE, .text = (char *)name };

	if (pass->place->say)
		pass->place->say("phase %s", name);
	lines_keep(pass->lines, &w);
}

/* So far into the timer tick's period as the seed says. */
static void wait_for_phase(int64_t seed)
{
	uint64_t tick = 1000000000 / TICKS_PER_SECOND, now, end;
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	now = (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
	end = (now / tick + 1) * tick + mix64((uint64_t)seed) % tick;
	while (now < end) {
		clock_gettime(CLOCK_MONOTONIC, &ts);
		now = (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
	}
}

static void window_ready(struct workload_env *env)
{
	struct pass *pass = env->agent;

	probes_ready(pass->probes);
}

static void window_begin(struct workload_env *env)
{
	struct pass *pass = env->agent;

	if (pass->place->tick_phase)
		wait_for_phase(env->seed);
	probes_begin(pass->probes);
}

static void window_end(struct workload_env *env)
{
	struct pass *pass = env->agent;

	probes_end(pass->probes, env->sample);
}

/* The window, with the probes and perhaps a watcher around it. */
static int watched(const struct workload *w, struct workload_env *env,
		   void *state, struct err *err)
{
	struct pass *pass = env->agent;
	const struct watcher *watcher = pass->place->watcher;
	void *watching = NULL;
	int ret = -1;

	if (watcher) {
		watching = watcher->make(env->threads, err);
		if (!watching)
			return -1;
	}
	pass->probes = probes_new(pass->place->lock_memory, env->threads,
				  watcher, watching, err);
	if (pass->probes)
		ret = w->run(env, state, err);
	if (!ret && watcher)
		ret = watcher->take(watching, &pass->profile,
				    &env->sample->counters, err);
	probes_free(pass->probes);
	if (watcher)
		watcher->free(watching);
	return ret;
}

static int measure(const struct workload *w, struct workload_env *env,
		   struct err *err)
{
	void *state = NULL;
	int ret = w->prepare(env, &state, err);

	if (!ret)
		ret = watched(w, env, state, err);
	if (!ret)
		ret = w->verify(env, state, err);
	w->clean_up(env, state);
	return ret;
}

/* In a directory of its own, if it gets one. */
static int in_dir(const struct workload *w, struct workload_env *env,
		  struct err *err)
{
	int ret;

	if (!env->dir)
		return measure(w, env, err);
	if (mkdir(env->dir, 0700))
		return err_sys(err, EXIT_RUN, errno, "can't make %s", env->dir);
	ret = measure(w, env, err);
	rmdir(env->dir);
	return ret;
}

/*
 * The process that measures: in the cgroup of whoever started it, so that
 * nothing of its own is charged to the test's.
 */
static int in_child(const struct job *job, const struct workload *w,
		    int64_t number, const struct place *place, int fd)
{
	struct lines lines = { 0 };
	struct pass pass = { .place = place, .lines = &lines };
	struct wire sample = { .type = WIRE_SAMPLE };
	char *dir = !place->dir ? NULL :
		xasprintf("%s/pass-%lld", place->dir, (long long)number);
	char *cgroup = xasprintf("%s%sfolab-%lld",
				 place->cgroup ? place->cgroup : "",
				 place->cgroup ? "/" : "", (long long)number);
	struct workload_env env = {
		.params = &job->params,
		.pass = number,
		.seed = place->seed,
		.dir = dir,
		.cgroup = cgroup,
		.phase = phase,
		.window_ready = window_ready,
		.window_begin = window_begin,
		.window_end = window_end,
		.agent = &pass,
		.sample = &sample.sample,
	};
	struct err err = { 0 };
	int ret = 0;

	sample.sample.pass = number;
	if (place->enter)
		ret = place->enter(place->arg, &err);
	if (!ret)
		ret = in_dir(w, &env, &err);
	if (ret)
		lines_keep_error(&lines, &err);
	else
		lines_keep(&lines, &sample);
	if (!ret && place->watcher) {
		struct wire profile_line = { .type = WIRE_PROFILE };

		profile_line.profile = pass.profile;
		lines_keep(&lines, &profile_line);
	}
	profile_free(&pass.profile);
	ret = lines_write(&lines, fd) ? EXIT_RUN : ret ? EXIT_NO : EXIT_OK;
	lines_drop(&lines);
	sample_free(&sample.sample);
	free(cgroup);
	free(dir);
	return ret;
}

/* Wait until @fd can be read, with idle() meanwhile, and no longer than asked. */
static void wait_for(int fd, pid_t pid, const struct place *place,
		     double *asked)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	while (poll(&p, 1, IDLE_MS) <= 0) {
		if (*asked == 0 && !place->idle(place->arg)) {
			kill(pid, SIGTERM);
			*asked = now_seconds();
		}
		if (*asked > 0 && now_seconds() - *asked > GRACE_SECONDS)
			kill(pid, SIGKILL);
	}
}

static void collect(int fd, pid_t pid, const struct place *place,
		    struct lines *l)
{
	double asked = 0;
	char buf[4096];
	ssize_t n;

	do {
		if (place->idle)
			wait_for(fd, pid, place, &asked);
		n = read(fd, buf, sizeof(buf));
		if (n > 0)
			lines_keep_raw(l, buf, (size_t)n);
	} while (n > 0 || (n < 0 && errno == EINTR));
}

/* What its end says; @before: where its lines begin. */
static int judge_end(const struct workload *w, int64_t number, int status,
		     struct lines *l, size_t before, struct err *err)
{
	if (WIFSIGNALED(status)) {
		l->len = before;	/* perhaps half a line */
		return err_set(err, EXIT_RUN,
			       "workload %s: pass %lld died of signal %d (%s)",
			       w->name, (long long)number, WTERMSIG(status),
			       strsignal(WTERMSIG(status)));
	}
	if (WEXITSTATUS(status) == EXIT_OK)
		return 0;
	if (WEXITSTATUS(status) == EXIT_NO) {
		err->code = EXIT_RUN;	/* the line is there already */
		return -1;
	}
	l->len = before;
	return err_set(err, EXIT_RUN, "workload %s: pass %lld ended with %d",
		       w->name, (long long)number, WEXITSTATUS(status));
}

int pass_run(const struct job *job, const struct workload *w, int64_t number,
	     const struct place *place, struct lines *l, int64_t *samples,
	     struct err *err)
{
	size_t before = l->len;
	int fd[2], status;
	pid_t pid;

	if (pipe2(fd, O_CLOEXEC))
		return err_sys(err, EXIT_RUN, errno, "pipe");
	pid = fork();
	if (pid < 0) {
		err_sys(err, EXIT_RUN, errno, "fork");
		close(fd[0]);
		close(fd[1]);
		return -1;
	}
	if (!pid) {
		close(fd[0]);
		_exit(in_child(job, w, number, place, fd[1]));
	}
	close(fd[1]);
	collect(fd[0], pid, place, l);
	close(fd[0]);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return err_sys(err, EXIT_RUN, errno, "waitpid");
	if (judge_end(w, number, status, l, before, err))
		return -1;
	++*samples;
	return 0;
}
