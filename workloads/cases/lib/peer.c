/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Other processes, and userfaultfd.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib.h"

static int in_peer(struct peer *me, int (*fn)(struct peer *me, void *arg),
		   void *arg, pid_t maker)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != maker)		/* it died before we asked */
		return 255;
	return fn(me, arg);
}

int peer_start(struct peer *p, int (*fn)(struct peer *me, void *arg),
	       void *arg)
{
	pid_t maker = getpid();
	int to[2], from[2];

	*p = (struct peer){ .in = -1, .out = -1 };
	if (pipe2(to, O_CLOEXEC))
		return case_fail("pipe: %s", strerror(errno));
	if (pipe2(from, O_CLOEXEC)) {
		close(to[0]);
		close(to[1]);
		return case_fail("pipe: %s", strerror(errno));
	}
	fflush(stdout);
	p->pid = fork();
	if (!p->pid) {
		struct peer me = { .in = to[0], .out = from[1] };

		close(to[1]);
		close(from[0]);
		_exit(in_peer(&me, fn, arg, maker));
	}
	close(to[0]);
	close(from[1]);
	p->in = from[0];
	p->out = to[1];
	if (p->pid > 0)
		return 0;
	close(p->in);
	close(p->out);
	p->pid = 0;
	return case_fail("fork: %s", strerror(errno));
}

static int swap_byte(int out, int in, bool write_first)
{
	char b = 0;

	for (int i = 0; i < 2; i++) {
		ssize_t n;

		do {
			n = (i == 0) == write_first ? write(out, &b, 1) :
				read(in, &b, 1);
		} while (n < 0 && errno == EINTR);
		if (n != 1)
			return -1;
	}
	return 0;
}

int peer_step(struct peer *me)
{
	return swap_byte(me->out, me->in, true);
}

int peer_meet(struct peer *p)
{
	if (!swap_byte(p->out, p->in, false))
		return 0;
	return case_fail("the other process is gone");
}

int peer_end(struct peer *p)
{
	int status;

	if (!p->pid)
		return 255;
	close(p->in);
	close(p->out);
	while (waitpid(p->pid, &status, 0) < 0)
		if (errno != EINTR)
			return 255;
	p->pid = 0;
	return WIFSIGNALED(status) ? 256 + WTERMSIG(status) :
		WEXITSTATUS(status);
}

void peer_kill(struct peer *p)
{
	if (p->pid)
		kill(p->pid, SIGKILL);
	peer_end(p);
}

int uffd_open(uint64_t features, int *fd)
{
	struct uffdio_api api = { .api = UFFD_API, .features = features };

	*fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	if (*fd < 0)
		return case_lacks("userfaultfd: %s", strerror(errno));
	if (!ioctl(*fd, UFFDIO_API, &api))
		return 0;
	close(*fd);
	*fd = -1;
	return case_lacks("userfaultfd lacks features of %#llx",
			  (unsigned long long)features);
}

int uffd_register(int fd, void *at, size_t bytes, uint64_t mode)
{
	struct uffdio_register r = {
		.range = { (uintptr_t)at, bytes }, .mode = mode,
	};

	return ioctl(fd, UFFDIO_REGISTER, &r) ?
		case_fail("UFFDIO_REGISTER: %s", strerror(errno)) : 0;
}

int uffd_protect(int fd, void *at, size_t bytes, bool on)
{
	struct uffdio_writeprotect w = {
		.range = { (uintptr_t)at, bytes },
		.mode = on ? UFFDIO_WRITEPROTECT_MODE_WP : 0,
	};

	return ioctl(fd, UFFDIO_WRITEPROTECT, &w) ?
		case_fail("UFFDIO_WRITEPROTECT: %s", strerror(errno)) : 0;
}
