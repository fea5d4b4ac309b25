/* SPDX-License-Identifier: GPL-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "agent.h"

#define JOB	"/job.json"

static int read_job(struct job *job, struct err *err)
{
	json_t *root;
	int ret;

	if (js_read(JOB, &root, err))
		return -1;
	ret = job_from_json(job, root, workload_params, err);
	json_decref(root);
	return ret;
}

static int run_workload(const struct job *job, struct lines *l,
			int64_t *samples, struct err *err)
{
	const struct workload *w = workload_find(job->workload);
	struct place place = {
		.dir = job->fs && job->fs_bytes ? GUEST_SCRATCH : "",
		.seed = guest_seed(),
		.tick_phase = true,
		.lock_memory = true,
		.say = guest_say,
	};

	if ((w->check && w->check(&job->params, err)) ||
	    guest_scratch(job, err))
		return -1;
	for (int64_t pass = 0; pass < job->passes; pass++)
		if (pass_run(job, w, pass, &place, l, samples, err))
			return -1;
	return 0;
}

static void send_lines(struct lines *l, int fd)
{
	struct err err = { 0 };

	if (fd < 0)
		fd = guest_channel(&err);
	if (fd < 0) {
		guest_say("%s", err.text);
		return;
	}
	if (lines_write(l, fd))
		guest_say("can't write to the result channel: %s",
			  strerror(errno));
	lines_drop(l);
}

/* Its lines go out at once, so the greeting has to as well. */
static int run_cases(const struct job *job, struct lines *l, int *fd,
		     int64_t *ended, struct err *err)
{
	*fd = guest_channel(err);
	if (*fd < 0)
		return -1;
	send_lines(l, *fd);
	if (guest_scratch(job, err))
		return -1;
	return cases_run(job, *fd, ended, err);
}

int main(int argc, char **argv)
{
	struct wire hello = { .type = WIRE_HELLO };
	struct wire done = { .type = WIRE_DONE };
	struct lines lines = { 0 };
	struct job job = { 0 };
	struct err err = { 0 };
	struct utsname u;
	int fd = -1, ret;

	if (getpid() != 1) {
		fputs("folab's agent is the init of a guest; run folab instead\n",
		      stderr);
		return EXIT_USAGE;
	}
	uname(&u);
	hello.text = u.release;
	lines_keep(&lines, &hello);
	ret = guest_init(&err);
	if (!ret) {
		guest_start_again(argv);
		ret = read_job(&job, &err);
	}
	if (!ret && job.n_cases)
		ret = run_cases(&job, &lines, &fd, &done.code, &err);
	else if (!ret)
		ret = run_workload(&job, &lines, &done.code, &err);
	if (ret && err.text[0]) {
		guest_say("%s", err.text);
		lines_keep_error(&lines, &err);
	}
	lines_keep(&lines, &done);
	guest_say("phase send");
	send_lines(&lines, fd);
	guest_power_off();
}
