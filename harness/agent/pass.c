/* SPDX-License-Identifier: GPL-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent.h"

#define TICKS_PER_SECOND	250	/* CONFIG_HZ of our configs */

/* Behind env->agent. */
struct pass {
	struct lines *lines;
	struct probes *probes;
};

static void phase(struct workload_env *env, const char *name)
{
	struct pass *pass = env->agent;
	struct wire w = { .type = WIRE_PHASE, .text = (char *)name };

	guest_say("phase %s", name);
	lines_add(pass->lines, &w);
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

	wait_for_phase(env->seed);
	probes_begin(pass->probes);
}

static void window_end(struct workload_env *env)
{
	struct pass *pass = env->agent;

	probes_end(pass->probes, env->sample);
}

static int measure(const struct workload *w, struct workload_env *env,
		   struct err *err)
{
	struct pass *pass = env->agent;
	void *state = NULL;
	int ret = -1;

	if (w->prepare(env, &state, err))
		goto out;
	pass->probes = probes_new(env->threads, err);
	if (!pass->probes)
		goto out;
	ret = w->run(env, state, err);
	probes_free(pass->probes);
	if (!ret)
		ret = w->verify(env, state, err);
out:
	w->clean_up(env, state);
	return ret;
}

/*
 * The process that measures: in the root cgroup, so that nothing of its own is
 * charged to the test's.
 */
static int in_child(const struct job *job, const struct workload *w,
		    int64_t number, int fd)
{
	struct lines lines = { 0 };
	struct pass pass = { .lines = &lines };
	struct wire sample = { .type = WIRE_SAMPLE };
	char *dir = xasprintf("%s/pass-%lld",
			      job->fs && job->fs_bytes ? GUEST_SCRATCH : "",
			      (long long)number);
	char *cgroup = xasprintf("folab-%lld", (long long)number);
	struct workload_env env = {
		.params = &job->params,
		.pass = number,
		.seed = guest_seed(),
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
	int ret;

	sample.sample.pass = number;
	if (mkdir(dir, 0700))
		ret = err_sys(&err, EXIT_RUN, errno, "can't make %s", dir);
	else
		ret = measure(w, &env, &err);
	rmdir(dir);
	if (ret)
		lines_add_error(&lines, &err);
	else
		lines_add(&lines, &sample);
	ret = lines_write(&lines, fd) ? EXIT_RUN : ret ? EXIT_NO : EXIT_OK;
	lines_free(&lines);
	sample_free(&sample.sample);
	free(cgroup);
	free(dir);
	return ret;
}

static void collect(int fd, struct lines *l)
{
	char buf[4096];
	ssize_t n;

	while ((n = read(fd, buf, sizeof(buf))) > 0)
		lines_add_raw(l, buf, (size_t)n);
}

int pass_run(const struct job *job, const struct workload *w, int64_t number,
	     struct lines *l, int64_t *samples, struct err *err)
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
		_exit(in_child(job, w, number, fd[1]));
	}
	close(fd[1]);
	collect(fd[0], l);
	close(fd[0]);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return err_sys(err, EXIT_RUN, errno, "waitpid");
	if (WIFSIGNALED(status)) {
		l->len = before;	/* perhaps half a line */
		return err_set(err, EXIT_RUN,
			       "workload %s: pass %lld died of signal %d (%s)",
			       w->name, (long long)number, WTERMSIG(status),
			       strsignal(WTERMSIG(status)));
	}
	if (WEXITSTATUS(status) == EXIT_OK) {
		++*samples;
		return 0;
	}
	if (WEXITSTATUS(status) == EXIT_NO) {
		err->code = EXIT_RUN;	/* the line is there already */
		return -1;
	}
	l->len = before;
	return err_set(err, EXIT_RUN, "workload %s: pass %lld ended with %d",
		       w->name, (long long)number, WEXITSTATUS(status));
}
