/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The part of folab that runs on another host: one run of a job with the kernel
 * that runs there, as folab run makes it here.  A static program, so that a
 * host needs nothing of ours; harness/machine/remote.c sends and calls it.
 *
 *	onhost [OPTION...] DIR		DIR/job.json to DIR/result.json
 *
 * On standard output a line for each pass that is done; on standard error, if
 * it fails, one line, and the exit code of folab run.  It ends, and puts back
 * what it has set, when its standard input does: who called it is gone.
 */
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "../machine/machine.h"

struct asked {
	const char *dir;	/* of job and result */
	const char *boot;	/* what tells this boot from others */
	bool describe;		/* say what host this is, run nothing */
	struct machine_setup setup;
};

static int number(const char *option, const char *text, int max, int *value,
		  struct err *err)
{
	int64_t v;

	if (parse_int(text, 0, max, &v))
		return err_set(err, EXIT_USAGE, "--%s %.40s: no such number",
			       option, text);
	*value = (int)v;
	return 0;
}

static int parse_options(struct asked *a, int argc, char **argv,
			 struct err *err)
{
	enum { OPT_DIR = 256, OPT_SCRATCH, OPT_MOUNT, OPT_NODE, OPT_CPU,
	       OPT_BOOT, OPT_SAMPLES, OPT_DESCRIBE };
	static const struct option options[] = {
		{ "dir", required_argument, NULL, OPT_DIR },
		{ "scratch", required_argument, NULL, OPT_SCRATCH },
		{ "mount", no_argument, NULL, OPT_MOUNT },
		{ "node", required_argument, NULL, OPT_NODE },
		{ "cpu", required_argument, NULL, OPT_CPU },
		{ "boot", required_argument, NULL, OPT_BOOT },
		{ "samples", no_argument, NULL, OPT_SAMPLES },
		{ "describe", no_argument, NULL, OPT_DESCRIBE },
		{ NULL, 0, NULL, 0 }
	};
	struct machine_setup *s = &a->setup;
	int c, rc = 0;

	while (!rc && (c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case OPT_DIR: s->place.dir = optarg; break;
		case OPT_SCRATCH: s->place.scratch = optarg; break;
		case OPT_MOUNT: s->place.mount = true; break;
		case OPT_NODE:
			s->bind_node = true;
			rc = number("node", optarg, 1023, &s->node, err);
			break;
		case OPT_CPU:
			s->bind_cpu = true;
			rc = number("cpu", optarg, 65535, &s->cpu, err);
			break;
		case OPT_BOOT: a->boot = optarg; break;
		case OPT_SAMPLES: s->functions = FUNCTIONS_SAMPLES; break;
		case OPT_DESCRIBE: a->describe = true; break;
		default:
			return err_set(err, EXIT_USAGE, "no such option");
		}
	}
	if (!rc && argc - optind != 1)
		return err_set(err, EXIT_USAGE,
			       "this is a part of folab (folab run --machine); it takes one directory");
	a->dir = argv[optind];
	return rc;
}

static int read_job(struct job *job, const char *dir, struct err *err)
{
	char *path = xasprintf("%s/job.json", dir);
	json_t *root = NULL;
	int rc = js_read(path, &root, err);

	if (!rc)
		rc = job_from_json(job, root, workload_params, err);
	json_decref(root);
	if (!rc && !workload_find(job->workload))
		rc = err_set(err, EXIT_USAGE, "%s: no workload \"%.40s\"", path,
			     job->workload ? job->workload : "");
	free(path);
	return rc;
}

/* A child that tells us when nobody is there any more to read what comes. */
static void watch_caller(void)
{
	pid_t parent = getpid();
	char byte;

	if (fork())
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGTERM, SIG_DFL);
	while (getppid() == parent && read(0, &byte, 1) > 0)
		;
	if (getppid() == parent)
		kill(parent, SIGTERM);
	_exit(0);
}

static int after_pass(void *arg, int64_t pass, struct sample *s,
		      struct err *err)
{
	printf("pass %d\n", (int)pass + 1);
	fflush(stdout);
	return 0;
}

static int run(struct asked *a, struct job *job, struct result *r,
	       struct err *err)
{
	struct machine_setup *s = &a->setup;

	s->job = job;
	s->arch = arch_host();
	s->silent = true;
	s->after_pass = after_pass;
	r->workload = xstrdup(job->workload);
	params_copy(&r->params, &job->params);
	r->folab_version = xstrdup(FOLAB_VERSION);
	r->trials = xcalloc(1, sizeof(*r->trials));
	r->n_trials = 1;
	r->trials[0] = (struct trial){
		.side = 'A',
		.seed = 1,
		.boot = a->boot ? xstrdup(a->boot) : NULL,
		.started = (int64_t)time(NULL),
	};
	if (!s->arch)
		return err_set(err, EXIT_ENVIRONMENT,
			       "folab runs on arm64 and x86_64 hosts only");
	if (machine_local.describe(s, r, err) ||
	    (!a->describe &&
	     machine_local.run(s, r->side, r->trials, r->n_trials, err)))
		return -1;
	r->profile[0] = r->trials[0].profile;
	memset(&r->trials[0].profile, 0, sizeof(r->trials[0].profile));
	return result_write(a->dir, r, err);
}

int main(int argc, char **argv)
{
	struct asked a = { 0 };
	struct result r = { 0 };
	struct job job = { 0 };
	struct err err = { 0 };
	int rc;

	progress_quiet(true);
	rc = parse_options(&a, argc, argv, &err);
	if (!rc)
		rc = read_job(&job, a.dir, &err);
	if (!rc && !a.describe)
		rc = machine_local_enter(workload_find(job.workload),
					 &a.setup.place, &err);
	if (!rc) {
		intr_install();
		watch_caller();
		rc = run(&a, &job, &r, &err);
	}
	job_free(&job);
	result_free(&r);
	if (rc)
		fprintf(stderr, "folab: %s\n", err.text);
	return rc ? err.code : EXIT_OK;
}
