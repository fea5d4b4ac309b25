/* SPDX-License-Identifier: GPL-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base.h"

bool program_exists(const char *name)
{
	const char *path = getenv("PATH");
	char *copy, *dir, *save, *file;
	bool found = false;

	if (strchr(name, '/'))
		return access(name, X_OK) == 0;
	copy = xstrdup(path ? path : "/usr/bin:/bin");
	for (dir = strtok_r(copy, ":", &save); dir && !found;
	     dir = strtok_r(NULL, ":", &save)) {
		file = xasprintf("%s/%s", dir, name);
		found = access(file, X_OK) == 0;
		free(file);
	}
	free(copy);
	return found;
}

/* In the child: nothing here may return, what fails goes through @report. */
static void become(const struct child_spec *spec, int report, pid_t parent)
{
	const char *input = spec->input ? spec->input : "/dev/null";
	int in, out = spec->output;

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)	/* it died before the line above */
		_exit(127);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	if (out < 0)
		out = open("/dev/null", O_WRONLY | O_CLOEXEC);
	in = open(input, O_RDONLY | O_CLOEXEC);
	if (in < 0 || out < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 ||
	    dup2(out, 2) < 0)
		goto fail;
	for (size_t i = 0; i < spec->n_keep_fds; i++)
		fcntl(spec->keep_fds[i], F_SETFD, 0);
	if (spec->max_file) {
		struct rlimit r = { spec->max_file, spec->max_file };

		setrlimit(RLIMIT_FSIZE, &r);
	}
	if (spec->nice) {
		errno = 0;
		if (nice(spec->nice) == -1 && errno)
			goto fail;
	}
	if (spec->dir && chdir(spec->dir))
		goto fail;
	for (char *const *e = spec->env; e && *e; e++)
		putenv(*e);
	execvp(spec->argv[0], spec->argv);
fail:
	in = errno;
	(void)!write(report, &in, sizeof(in));
	_exit(127);
}

/*
 * PR_SET_PDEATHSIG reaches the child, not what the child starts (make's
 * compilers).  So a guard waits for the end of a pipe that only we hold open,
 * and takes the whole group when we are gone, however we went.
 */
static void start_guard(struct child *c)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC))
		return;
	c->guard = fork();
	if (c->guard == 0) {
		char byte;

		setpgid(0, 0);
		dup2(fds[0], 0);
		/* Other guards' pipes, and whoever waits for our output. */
		close_range(1, ~0U, 0);
		while (read(0, &byte, 1) < 0 && errno == EINTR)
			;
		kill(-c->pid, SIGKILL);
		_exit(0);
	}
	close(fds[0]);
	if (c->guard < 0) {
		c->guard = 0;
		close(fds[1]);
	} else {
		c->guard_fd = fds[1];
	}
}

static void stop_guard(struct child *c)
{
	if (c->guard) {
		kill(c->guard, SIGKILL);
		while (waitpid(c->guard, NULL, 0) < 0 && errno == EINTR)
			;
		close(c->guard_fd);
	}
	c->guard = 0;
	c->guard_fd = -1;
}

int child_start(struct child *c, const struct child_spec *spec,
		struct err *err)
{
	pid_t parent = getpid();
	int report[2], problem = 0;

	c->pid = c->guard = 0;
	c->pidfd = c->guard_fd = -1;
	if (pipe2(report, O_CLOEXEC))
		return err_sys(err, EXIT_ENVIRONMENT, errno, "pipe");
	c->pid = fork();
	if (c->pid == 0)
		become(spec, report[1], parent);
	close(report[1]);
	if (c->pid < 0) {
		c->pid = 0;
		err_sys(err, EXIT_ENVIRONMENT, errno, "fork");
		goto fail;
	}
	/* Both sides do it, so that neither has to wait for the other. */
	setpgid(c->pid, c->pid);
	while (read(report[0], &problem, sizeof(problem)) < 0 && errno == EINTR)
		;
	if (problem) {
		waitpid(c->pid, NULL, 0);
		c->pid = 0;
		err_sys(err, EXIT_ENVIRONMENT, problem, "can't run %s",
			spec->argv[0]);
		goto fail;
	}
	c->pidfd = syscall(SYS_pidfd_open, c->pid, 0);
	if (c->pidfd < 0) {
		err_sys(err, EXIT_ENVIRONMENT, errno, "pidfd_open");
		child_stop(c, 0);
		goto fail;
	}
	start_guard(c);
	close(report[0]);
	return 0;
fail:
	close(report[0]);
	return -1;
}

static void forget(struct child *c)
{
	stop_guard(c);
	if (c->pidfd >= 0)
		close(c->pidfd);
	c->pidfd = -1;
	c->pid = 0;
}

/* poll() until the child ended, @deadline passed (1) or poll failed (-1). */
static int poll_end(struct child *c, double deadline, bool intr)
{
	for (;;) {
		struct pollfd p[2] = {
			{ .fd = c->pidfd, .events = POLLIN },
			{ .fd = intr ? intr_fd() : -1, .events = POLLIN },
		};
		double left = deadline - now_seconds();
		int ms = -1, n;

		if (deadline >= 0)
			ms = left > 0 ? (int)(left * 1000) + 1 : 0;
		n = poll(p, 2, ms);
		if (n < 0 && errno != EINTR)
			return -1;
		if (n >= 0 && p[0].revents)
			return 0;
		if (intr && intr_seen())
			return -1;
		if (n == 0)
			return 1;
	}
}

int child_wait(struct child *c, double seconds, int *status, struct err *err)
{
	int rc;

	if (!c->pid)
		return err_set(err, EXIT_ENVIRONMENT, "no child to wait for");
	rc = poll_end(c, seconds < 0 ? -1 : now_seconds() + seconds, true);
	if (rc > 0)
		return 1;
	if (rc < 0) {
		if (!intr_check(err))
			err_sys(err, EXIT_ENVIRONMENT, errno, "poll");
		return -1;
	}
	while (waitpid(c->pid, status, 0) < 0) {
		if (errno != EINTR) {
			err_sys(err, EXIT_ENVIRONMENT, errno, "waitpid");
			forget(c);
			return -1;
		}
	}
	/* What it left running in its group has no parent to report to. */
	kill(-c->pid, SIGKILL);
	forget(c);
	return 0;
}

void child_stop(struct child *c, double grace)
{
	if (!c->pid)
		return;
	if (grace > 0) {
		kill(-c->pid, SIGTERM);
		if (c->pidfd >= 0)
			poll_end(c, now_seconds() + grace, false);
	}
	kill(-c->pid, SIGKILL);
	kill(c->pid, SIGKILL);
	while (waitpid(c->pid, NULL, 0) < 0 && errno == EINTR)
		;
	forget(c);
}

/* Last line of @text that holds something, in @line. */
static void last_line(const char *text, char *line, size_t len)
{
	const char *end = text + strlen(text), *start;

	while (end > text && (end[-1] == '\n' || end[-1] == ' '))
		end--;
	for (start = end; start > text && start[-1] != '\n'; start--)
		;
	snprintf(line, len, "%.*s", (int)(end - start), start);
}

/* The last line in the open file @fd, which may be long. */
static void tail_of(int fd, char *line, size_t len)
{
	off_t size = lseek(fd, 0, SEEK_END);
	char buf[2048];
	ssize_t n;

	n = pread(fd, buf, sizeof(buf) - 1,
		  size > (off_t)sizeof(buf) - 1 ? size - (off_t)sizeof(buf) + 1 : 0);
	buf[n > 0 ? n : 0] = '\0';
	last_line(buf, line, len);
}

static int ended_badly(const char *name, int status, const char *said, int code,
		       struct err *err)
{
	const char *colon = *said ? ": " : "";

	if (WIFSIGNALED(status))
		return err_set(err, code, "%s was killed by signal %d (%s)%s%s",
			       name, WTERMSIG(status),
			       strsignal(WTERMSIG(status)), colon, said);
	return err_set(err, code, "%s failed with exit code %d%s%s", name,
		       WEXITSTATUS(status), colon, said);
}

int child_run(const struct child_spec *spec, const char *log, int code,
	      struct err *err)
{
	struct child_spec s = *spec;
	struct child c;
	char said[400];
	int fd, status, rc = -1;

	if (log)
		fd = open(log, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	else
		fd = open("/tmp", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_sys(err, EXIT_ENVIRONMENT, errno,
			       "can't write the output of %s to %s",
			       spec->argv[0], log ? log : "/tmp");
	s.output = fd;
	if (child_start(&c, &s, err))
		goto out;
	if (child_wait(&c, -1, &status, err)) {
		child_stop(&c, 5);
		goto out;
	}
	if (!WIFEXITED(status) || WEXITSTATUS(status)) {
		tail_of(fd, said, sizeof(said));
		ended_badly(spec->argv[0], status, said, code, err);
		goto out;
	}
	rc = 0;
out:
	close(fd);
	return rc;
}

#define CAPTURE_MAX	(64u << 20)

/* All that comes through @fd until its end; false: interrupted or too much. */
static bool drain(int fd, char **out, struct err *err)
{
	size_t have = 0, room = 4096;
	char *buf = xmalloc(room);

	for (;;) {
		struct pollfd p[2] = {
			{ .fd = fd, .events = POLLIN },
			{ .fd = intr_fd(), .events = POLLIN },
		};
		ssize_t n;

		poll(p, 2, -1);
		if (intr_check(err))
			break;
		if (!p[0].revents)
			continue;
		n = read(fd, buf + have, room - have - 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			buf[have] = '\0';
			*out = buf;
			return true;
		}
		have += n;
		if (have > CAPTURE_MAX) {
			err_set(err, EXIT_ENVIRONMENT,
				"a program wrote more than 64 MiB");
			break;
		}
		if (have + 1 >= room) {
			room *= 2;
			buf = xrealloc(buf, room, 1);
		}
	}
	free(buf);
	return false;
}

int child_capture(const struct child_spec *spec, bool merge, char **out,
		  struct err *err)
{
	struct child_spec s = *spec;
	int fds[2], status, rc = -1;
	char **argv = NULL;
	struct child c;
	size_t n = 0;

	if (pipe2(fds, O_CLOEXEC))
		return err_sys(err, EXIT_ENVIRONMENT, errno, "pipe");
	s.output = fds[1];
	if (!merge) {
		/* A child has one output; the shell parts them. */
		while (spec->argv[n])
			n++;
		argv = xcalloc(n + 5, sizeof(*argv));
		argv[0] = (char *)"sh";
		argv[1] = (char *)"-c";
		argv[2] = (char *)"exec \"$@\" 2>/dev/null";
		argv[3] = (char *)"sh";
		memcpy(argv + 4, spec->argv, n * sizeof(*argv));
		s.argv = argv;
		if (!program_exists(spec->argv[0])) {
			err_set(err, EXIT_ENVIRONMENT,
				"can't run %s: no such program", spec->argv[0]);
			close(fds[1]);
			goto out;
		}
	}
	*out = NULL;
	rc = child_start(&c, &s, err);
	close(fds[1]);
	if (rc)
		goto out;
	rc = -1;
	if (!drain(fds[0], out, err) || child_wait(&c, -1, &status, err)) {
		child_stop(&c, 1);
		free(*out);
		*out = NULL;
		goto out;
	}
	rc = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
out:
	free(argv);
	close(fds[0]);
	return rc;
}
