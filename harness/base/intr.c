/* SPDX-License-Identifier: GPL-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "base.h"

static volatile sig_atomic_t seen;
static int pipe_fd[2] = { -1, -1 };

static void note(int sig)
{
	int saved = errno;

	seen = sig;
	if (pipe_fd[1] >= 0)
		(void)!write(pipe_fd[1], "", 1);
	errno = saved;
}

void intr_install(void)
{
	/* No SA_RESTART: a blocking call has to come back and look. */
	struct sigaction sa = { .sa_handler = note }, old;
	static const int sigs[] = { SIGINT, SIGTERM, SIGHUP };

	if (pipe_fd[0] < 0 && pipe2(pipe_fd, O_CLOEXEC | O_NONBLOCK))
		pipe_fd[0] = pipe_fd[1] = -1;
	for (size_t i = 0; i < ARRAY_SIZE(sigs); i++) {
		/* Under nohup(1) SIGHUP is ignored on purpose: let it be. */
		if (!sigaction(sigs[i], NULL, &old) &&
		    old.sa_handler == SIG_IGN)
			continue;
		sigaction(sigs[i], &sa, NULL);
	}
	/* A closed pipe and a file size limit are errors of write(2). */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
}

bool intr_seen(void)
{
	return seen != 0;
}

int intr_fd(void)
{
	return pipe_fd[0];
}

int intr_check(struct err *err)
{
	if (!seen)
		return 0;
	return err_set(err, EXIT_INTERRUPTED, "interrupted");
}
