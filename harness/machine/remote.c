/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The remote machine: another host, reached by ssh, on which folab's part for
 * such a host (harness/onhost) does what the local machine does here.  With two
 * images, each trial is a boot of its own, by kexec.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "remote.h"

/* One call of the program there. */
struct there {
	struct remote *r;
	const struct machine_setup *setup;
	bool describe;
	const char *boot;	/* word for the boot; NULL: none */
	size_t trial, trials;	/* for the progress line */
	int64_t passes;		/* that are done */
	char side;
};

/* ---- the program there -------------------------------------------------------------- */

static char *command(const struct there *t)
{
	const struct machine_setup *s = t->setup;
	const struct host_place *p = &s->place;
	char *text = NULL, *word;
	size_t len;
	FILE *to = open_memstream(&text, &len);

	if (!to)
		return xstrdup("false");
	fprintf(to, "cd / && exec %s/onhost", t->r->dir);
	if (t->describe)
		fputs(" --describe", to);
	if (t->boot) {
		word = shell_word(t->boot);
		fprintf(to, " --boot %s", word);
		free(word);
	}
	if (p->dir) {
		word = shell_word(p->dir);
		fprintf(to, " --dir %s", word);
		free(word);
	}
	if (p->scratch) {
		word = shell_word(p->scratch);
		fprintf(to, " --scratch %s", word);
		free(word);
	}
	if (p->mount)
		fputs(" --mount", to);
	if (s->bind_node)
		fprintf(to, " --node %d", s->node);
	if (s->bind_cpu)
		fprintf(to, " --cpu %d", s->cpu);
	if (s->functions & FUNCTIONS_SAMPLES)
		fputs(" --samples", to);
	fprintf(to, " %s", t->r->dir);
	fclose(to);
	return text;
}

static void tick(void *arg, const char *said)
{
	struct there *t = arg;
	int64_t passes = t->setup->job->passes;

	t->passes = 0;
	for (const char *at = said; (at = strstr(at, "pass ")); at++)
		t->passes++;
	if (t->setup->boots)
		progress_step(t->trial, t->trials, "kernel %c, pass %" PRId64 " of %" PRId64,
			      t->side, t->passes + 1, passes);
	else
		progress_step(t->passes, passes, t->passes < passes ?
			      "pass %" PRId64 : "functions", t->passes + 1);
}

/* "folab: TEXT" of the program's last words, or all that it said. */
static const char *its_reason(char *out)
{
	char *at = out, *last = NULL;

	while ((at = strstr(at, "folab: "))) {
		if (at == out || at[-1] == '\n')
			last = at + strlen("folab: ");
		at++;
	}
	if (!last)
		last = *out ? out : (char *)"it ended without a word";
	last[strcspn(last, "\n")] = '\0';
	return last;
}

/*
 * Call it.  Its standard input stays open as long as we live, which is how it
 * knows that we do.
 */
static int call_there(struct there *t, struct err *err)
{
	struct remote *r = t->r;
	char *script = command(t), *out = NULL, *input = NULL;
	struct ssh_call call = {
		.script = script,
		.seconds = t->describe ? REMOTE_SHORT :
			   (double)r->opt.run_timeout,
		.tick = t->describe ? NULL : tick,
		.arg = t,
	};
	int fds[2], rc = -1;

	if (pipe2(fds, O_CLOEXEC)) {
		free(script);
		return err_set(err, EXIT_ENVIRONMENT, "no pipe");
	}
	input = xasprintf("/proc/self/fd/%d", fds[0]);
	call.input = input;
	rc = ssh_run(&r->ssh, &call, &out, err);
	/* It broke, or took too long: that is the run's, not the host's. */
	if (rc < 0 && err->code == EXIT_ENVIRONMENT && !t->describe) {
		err->code = EXIT_RUN;
		err_prefix(err, "while it ran");
	}
	if (rc > 0)
		err_set(err, rc < 128 ? rc : EXIT_RUN, "%s: %.400s",
			r->ssh.name, its_reason(out));
	free(out);
	free(input);
	free(script);
	close(fds[0]);
	close(fds[1]);
	return rc ? -1 : 0;
}

static int send_job(struct remote *r, const struct job *job, struct err *err)
{
	char *path = xasprintf("%s/job.json", r->local.path);
	json_t *root = job_to_json(job);
	int rc = js_write(path, root, err);

	json_decref(root);
	if (!rc)
		rc = remote_send(r, path, "job.json", "600", err);
	free(path);
	return rc;
}

static int fetch(struct remote *r, const char *name, struct err *err)
{
	char *script = xasprintf("cat %s/%s && rm -f %s/%s", r->dir, name,
				 r->dir, name);
	char *path = xasprintf("%s/%s", r->local.path, name), *out;
	int rc = remote_sh(r, script, &out, err);

	if (!rc) {
		rc = file_write(path, out, strlen(out), err);
		free(out);
	}
	free(path);
	free(script);
	return rc;
}

/* What it has made of the job, in @from. */
static int run_there(struct there *t, struct result *from, struct err *err)
{
	struct remote *r = t->r;
	struct err ignored = { 0 };
	char *profile = xasprintf("%s/profile-A.json", r->local.path);
	bool profiled = !t->describe && t->setup->functions;
	int rc;

	*from = (struct result){ 0 };
	rc = call_there(t, err) || fetch(r, "result.json", err) ||
	     (profiled && fetch(r, "profile-A.json", err)) ||
	     result_read(r->local.path, from, err);
	if (!rc && !t->describe && from->n_trials != 1)
		rc = err_set(err, EXIT_RUN, "%s: a result of %zu trials",
			     r->ssh.name, from->n_trials);
	file_remove_tree(profile, &ignored);
	free(profile);
	return rc ? -1 : 0;
}

/* ---- describe ----------------------------------------------------------------------------- */

static void take_text(char **to, char **from)
{
	free(*to);
	*to = *from;
	*from = NULL;
}

static void take_description(struct result *to, struct result *from)
{
	take_text(&to->clock, &from->clock);
	take_text(&to->machine, &from->machine);
	take_text(&to->machine_args, &from->machine_args);
	take_text(&to->cmdline, &from->cmdline);
	take_text(&to->fs, &from->fs);
	to->ns_per_instruction = 0;
	host_free(&to->host);
	to->host = from->host;
	to->has_host = from->has_host;
	memset(&from->host, 0, sizeof(from->host));
}

static int remote_describe(const struct machine_setup *setup,
			   struct result *r, struct err *err)
{
	struct there t = {
		.r = setup->remote, .setup = setup, .describe = true,
	};
	struct result from;

	if (send_job(setup->remote, setup->job, err) ||
	    run_there(&t, &from, err))
		return -1;
	take_description(r, &from);
	if (!setup->boots) {
		image_free(&r->side[0]);
		r->side[0] = from.side[0];
		memset(&from.side[0], 0, sizeof(from.side[0]));
	}
	result_free(&from);
	return 0;
}

/* ---- run -------------------------------------------------------------------------------------- */

static void take_trial(struct trial *to, struct result *from)
{
	struct trial *t = &from->trials[0];

	to->samples = t->samples;
	to->n_samples = t->n_samples;
	t->samples = NULL;
	t->n_samples = 0;
	to->profile = from->profile[0];
	memset(&from->profile[0], 0, sizeof(from->profile[0]));
}

static void fail_trial(struct trial *t, const char *why)
{
	t->done = true;
	t->failed = xstrdup(why);
}

/* Of kernels that were booted: what the first one that ran says stands. */
static void describe_again(const struct machine_setup *setup,
			   struct result *from, bool *described)
{
	struct result *r = setup->about;

	if (!r)
		return;
	if (!*described)
		take_description(r, from);
	else if (from->machine_args && r->machine_args &&
		 strcmp(from->machine_args, r->machine_args))
		progress_note("settings differ from boot to boot: %s; %s",
			      r->machine_args, from->machine_args);
	*described = true;
}

/* Boot it, and run there.  0 also if the trial failed. */
static int boot_trial(struct there *t, const struct image *im,
		      struct trial *trial, bool *described, struct err *err)
{
	struct remote *r = t->r;
	struct result from = { 0 };
	struct err failed = { 0 };
	char *why = NULL;
	int rc;

	progress_step(t->trial, t->trials, "kernel %c, booting", t->side);
	trial->started = (int64_t)time(NULL);
	rc = remote_boot(r, im, t->setup->cmdline, &why, err);
	if (rc) {
		if (rc > 0)
			fail_trial(trial, why);
		free(why);
		return rc > 0 ? 0 : -1;
	}
	trial->boot = xstrdup(r->boot_id);
	t->boot = trial->boot;
	rc = send_job(r, t->setup->job, &failed) || run_there(t, &from, &failed);
	if (!rc) {
		trial->done = true;
		take_trial(trial, &from);
		describe_again(t->setup, &from, described);
	} else if (failed.code == EXIT_RUN && !intr_seen()) {
		fail_trial(trial, failed.text);
	} else {
		/* What this host lacks, the next boot lacks as well. */
		result_free(&from);
		return err_set(err, failed.code, "%s", failed.text);
	}
	result_free(&from);
	return 0;
}

/*
 * A kernel that did not boot once is not tried again: each time may cost
 * ->boot_timeout, and a walk to the machine.
 */
static int boot_trials(const struct machine_setup *setup,
		       const struct image *images, struct trial *trials,
		       size_t n, struct err *err)
{
	struct remote *r = setup->remote;
	bool refused[2] = { false }, described = false;
	int rc = 0;

	for (size_t i = 0; i < n && !rc; i++) {
		struct trial *t = &trials[i];
		int side = t->side - 'A';
		struct there there = {
			.r = r, .setup = setup, .side = t->side, .trial = i,
			.trials = n,
		};

		if (r->lost || refused[side]) {
			fail_trial(t, r->lost ?
				   "not tried: the host has not come back" :
				   "not tried: this kernel has failed there before");
			continue;
		}
		r->trial = i;
		r->trials = n;
		rc = boot_trial(&there, &images[side], t, &described, err);
		refused[side] = t->failed != NULL;
	}
	r->trials = 0;
	return rc;
}

static int remote_run(const struct machine_setup *setup,
		      const struct image *images, struct trial *trials,
		      size_t n, struct err *err)
{
	struct remote *r = setup->remote;
	struct there t = {
		.r = r, .setup = setup, .side = 'A', .trials = n,
		.boot = trials[0].boot,
	};
	struct result from;
	int rc;

	if (setup->boots)
		progress_begin("run %zu boots on %s", n, r->ssh.name);
	else
		progress_begin("run %s on %s, %" PRId64 " passes",
			       setup->job->workload, r->ssh.name,
			       setup->job->passes);
	if (setup->boots) {
		rc = boot_trials(setup, images, trials, n, err);
	} else {
		rc = run_there(&t, &from, err);
		if (!rc) {
			trials[0].done = true;
			take_trial(&trials[0], &from);
		}
		result_free(&from);
	}
	progress_end(rc ? NULL : "done");
	return rc;
}

const struct machine_ops machine_remote = {
	.name = "remote",
	.describe = remote_describe,
	.run = remote_run,
};
