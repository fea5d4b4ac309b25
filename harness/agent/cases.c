/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Correctness cases: programs of the kselftest harness, each started, listened
 * to, stopped after its time, and swept up behind.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent.h"
#include "../../workloads/klog.h"

#define CASES		"/cases"
#define LINE_MAX_BYTES	2000	/* of a program; the rest of a line is cut */
#define SWEEP_SECONDS	20	/* for killed processes to be gone */

/* One program at work. */
struct runner {
	int channel;
	int from;		/* its standard output and error */
	pid_t pid;
	char line[LINE_MAX_BYTES + 1];
	size_t len;
};

static int say(int fd, enum wire_type type, const char *text, int64_t code,
	       struct err *err)
{
	struct wire w = { .type = type, .text = (char *)text, .code = code };
	struct lines l = { 0 };
	int ret;

	lines_keep(&l, &w);
	ret = lines_write(&l, fd);
	lines_drop(&l);
	if (ret)
		return err_sys(err, EXIT_RUN, errno,
			       "can't write to the result channel");
	return 0;
}

static void in_program(const struct job_case *c, const char *path, int out)
{
	char **argv = xcalloc(c->args.n + 2, sizeof(*argv));
	int null = open("/dev/null", O_RDONLY);

	setsid();
	dup2(null, 0);
	dup2(out, 1);
	dup2(out, 2);
	argv[0] = (char *)path;
	for (size_t i = 0; i < c->args.n; i++)
		argv[i + 1] = c->args.v[i];
	execv(path, argv);
	printf("# can't run %s: %s\n", path, strerror(errno));
	fflush(stdout);
	_exit(127);
}

static int start(struct runner *r, const struct job_case *c, struct err *err)
{
	char *path = xasprintf(CASES "/%s", c->program);
	int p[2];

	if (pipe2(p, O_CLOEXEC)) {
		free(path);
		return err_sys(err, EXIT_RUN, errno, "pipe");
	}
	fflush(stdout);
	r->pid = fork();
	if (!r->pid)
		in_program(c, path, p[1]);
	free(path);
	close(p[1]);
	if (r->pid < 0) {
		close(p[0]);
		return err_sys(err, EXIT_RUN, errno, "fork");
	}
	fcntl(p[0], F_SETFL, O_NONBLOCK);
	r->from = p[0];
	return 0;
}

static int end_line(struct runner *r, struct err *err)
{
	r->line[r->len] = '\0';
	r->len = 0;
	return say(r->channel, WIRE_KTAP, r->line, 0, err);
}

static int take(struct runner *r, const char *data, size_t len,
		struct err *err)
{
	for (size_t i = 0; i < len; i++) {
		if (data[i] == '\n') {
			if (end_line(r, err))
				return -1;
		} else if (r->len < LINE_MAX_BYTES && data[i]) {
			r->line[r->len++] = data[i];
		}
	}
	return 0;
}

/* All that is in the pipe now.  1: there may come more, 0: its end, -1. */
static int drain(struct runner *r, struct err *err)
{
	char buf[4096];

	for (;;) {
		ssize_t n = read(r->from, buf, sizeof(buf));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return 1;
		if (n <= 0)
			return 0;
		if (take(r, buf, n, err))
			return -1;
	}
}

/* 1: it has ended, 0: its time is up, -1. */
static int listen_until(struct runner *r, double deadline, struct err *err)
{
	int pidfd = (int)syscall(SYS_pidfd_open, r->pid, 0);
	struct pollfd p[2] = {
		{ r->from, POLLIN, 0 }, { pidfd, POLLIN, 0 },
	};
	int ret = -1;

	if (pidfd < 0)
		return err_sys(err, EXIT_RUN, errno, "pidfd_open");
	for (;;) {
		double left = deadline - now_seconds();
		int more;

		if (left <= 0) {
			ret = 0;
			break;
		}
		if (poll(p, 2, (int)(left * 1000) + 1) < 0 && errno != EINTR) {
			err_sys(err, EXIT_RUN, errno, "poll");
			break;
		}
		more = drain(r, err);
		if (more < 0)
			break;
		if (!more)
			p[0].fd = -1;
		if (p[1].revents) {
			/* What it wrote last may have come behind the drain. */
			ret = drain(r, err) < 0 ? -1 : 1;
			break;
		}
	}
	close(pidfd);
	return ret;
}

/*
 * Kill every process but ourselves, and reap: a case may have left some in any
 * session.  @status gets that of @pid.  Returns how many would not die.
 */
static int sweep(pid_t pid, int *status)
{
	double deadline = now_seconds() + SWEEP_SECONDS;

	for (;;) {
		const struct timespec pause = { .tv_nsec = 5000000 };
		pid_t ended;
		int st;

		kill(-1, SIGKILL);
		ended = waitpid(-1, &st, WNOHANG);
		if (ended < 0 && errno == ECHILD)
			return 0;
		if (ended > 0 && ended == pid)
			*status = st;
		if (ended > 0)
			continue;
		if (now_seconds() > deadline)
			return 1;
		/* No event says that all of them are gone. */
		nanosleep(&pause, NULL);
	}
}

static int64_t end_code(int status, bool timeout)
{
	if (timeout)
		return WIRE_TIMEOUT;
	if (WIFSIGNALED(status))
		return WIRE_SIGNAL + WTERMSIG(status);
	return WEXITSTATUS(status);
}

/* What we object to ourselves; NULL: nothing. */
static char *objection(int64_t since, bool stuck)
{
	char line[400];

	if (stuck)
		return xasprintf("a process would not die within %d s of SIGKILL",
				 SWEEP_SECONDS);
	/* The cases that expect a complaint say so to the kernel log. */
	if (klog_has(since, "folab: may warn"))
		return NULL;
	if (klog_fault(since, KLOG_OOM, line, sizeof(line)))
		return xasprintf("kernel log: %s", line);
	return NULL;
}

static int run_one(const struct job_case *c, int fd, struct err *err)
{
	struct runner r = { .channel = fd };
	int64_t since = klog_now();
	int status = 0, ret;
	bool stuck;
	char *text;

	guest_say("phase case %s", c->program);
	if (say(fd, WIRE_CASE, c->program, 0, err) || start(&r, c, err))
		return -1;
	ret = listen_until(&r, now_seconds() + c->seconds, err);
	if (ret > 0)		/* its status is its own, not our SIGKILL's */
		waitpid(r.pid, &status, 0);
	stuck = sweep(ret > 0 ? 0 : r.pid, &status);
	if (ret >= 0 && drain(&r, err) < 0)
		ret = -1;
	if (ret >= 0 && r.len && end_line(&r, err))
		ret = -1;
	close(r.from);
	if (ret < 0)
		return -1;
	text = objection(since, stuck);
	ret = say(fd, WIRE_CASE_END, text, end_code(status, !ret), err);
	free(text);
	return ret;
}

int cases_run(const struct job *job, int fd, int64_t *ended, struct err *err)
{
	for (size_t i = 0; i < job->n_cases; i++) {
		if (run_one(&job->cases[i], fd, err))
			return -1;
		++*ended;
	}
	return 0;
}
