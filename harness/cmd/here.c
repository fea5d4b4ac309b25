/* SPDX-License-Identifier: GPL-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../analyse/analyse.h"
#include "../machine/machine.h"
#include "../machine/perf_bench.h"
#include "../plan/plan.h"
#include "../report/report.h"
#include "here.h"
#include "outdir.h"
#include "tune_delay.h"

#define PLOT_SCRIPT	"tune.gp"
#define PLOT		"tune.svg"

#define BOOT_ID		"/proc/sys/kernel/random/boot_id"
#define BOOT_LABEL_MAX	40

enum {
	OPT_DELAY = 256, OPT_REPS, OPT_NODE, OPT_CPU, OPT_CROSS_CHECK,
	OPT_DIR, OPT_SCRATCH, OPT_MOUNT, OPT_FUNCTIONS, OPT_BOOT_LABEL,
	OPT_RUN_TIMEOUT,
};

static int set_delay(struct here *h, const char *text, struct err *err)
{
	char *end;
	double v = strtod(text, &end);

	if (end == text || *end || !(v > 0) || !(v <= 1e6))
		return err_set(err, EXIT_USAGE,
			       "--delay %.40s: must be milliseconds, above 0 and up to 1000000",
			       text);
	h->delay_ms = v;
	return 0;
}

static int set_cross_check(struct here *h, const char *text, struct err *err)
{
	h->perf = !strcmp(text, "perf");
	if (h->perf)
		return 0;
	return err_set(err, EXIT_USAGE, "--cross-check %.40s: there is only perf",
		       text);
}

static int set_boot_label(struct here *h, const char *text, struct err *err)
{
	size_t len = strlen(text);

	h->boot_label = text;
	for (size_t i = 0; i < len; i++)
		if (text[i] <= ' ' || text[i] > '~')
			len = 0;
	if (len && len <= BOOT_LABEL_MAX)
		return 0;
	return err_set(err, EXIT_USAGE,
		       "--boot-label: must be a word of 1 to %d characters",
		       BOOT_LABEL_MAX);
}

static const struct function_word {
	const char *word;
	unsigned functions;
} function_words[] = {
	{ "samples", FUNCTIONS_SAMPLES },
	{ "ftrace", FUNCTIONS_FTRACE },
	{ "both", FUNCTIONS_SAMPLES | FUNCTIONS_FTRACE },
};

/* @text NULL: the first. */
static int set_functions(struct here *h, const char *text, struct err *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(function_words); i++)
		if (!text || !strcmp(text, function_words[i].word)) {
			h->functions = function_words[i].functions;
			return 0;
		}
	return err_set(err, EXIT_USAGE,
		       "--functions=%.40s: there are samples, ftrace and both",
		       text);
}

/* 1: it is none of ours. */
static int take_option(struct here *h, int c, const char *value,
		       struct err *err)
{
	switch (c) {
	case 'p': strlist_add(&h->params, value); return 0;
	case 'o': h->out = value; return 0;
	case 'q': progress_quiet(true); return 0;
	case OPT_DELAY: return set_delay(h, value, err);
	case OPT_REPS: return cmd_count("reps", value, 1, 1000, &h->reps, err);
	case OPT_NODE: return cmd_count("node", value, 0, 1023, &h->node, err);
	case OPT_CPU: return cmd_count("cpu", value, 0, 65535, &h->cpu, err);
	case OPT_DIR: h->place.dir = value; return 0;
	case OPT_SCRATCH: h->place.scratch = value; return 0;
	case OPT_FUNCTIONS: return set_functions(h, value, err);
	case OPT_MOUNT: h->place.mount = true; return 0;
	case OPT_BOOT_LABEL: return set_boot_label(h, value, err);
	case 'm': return cmd_machine(value, "local", &h->there.host, err);
	case OPT_RUN_TIMEOUT:
		return cmd_count("run-timeout", value, 1, 604800,
				 &h->there.run_timeout, err);
	case OPT_CROSS_CHECK: return set_cross_check(h, value, err);
	}
	return 1;
}

int here_options(struct here *h, int argc, char **argv, const char *help,
		 int *code, struct err *err)
{
	static const struct option options[] = {
		{ "delay", required_argument, NULL, OPT_DELAY },
		/* of folab run from here on */
		{ "param", required_argument, NULL, 'p' },
		{ "output", required_argument, NULL, 'o' },
		{ "reps", required_argument, NULL, OPT_REPS },
		{ "node", required_argument, NULL, OPT_NODE },
		{ "cpu", required_argument, NULL, OPT_CPU },
		{ "cross-check", required_argument, NULL, OPT_CROSS_CHECK },
		{ "dir", required_argument, NULL, OPT_DIR },
		{ "scratch", required_argument, NULL, OPT_SCRATCH },
		{ "functions", optional_argument, NULL, OPT_FUNCTIONS },
		{ "mount", no_argument, NULL, OPT_MOUNT },
		{ "boot-label", required_argument, NULL, OPT_BOOT_LABEL },
		{ "machine", required_argument, NULL, 'm' },
		{ "run-timeout", required_argument, NULL, OPT_RUN_TIMEOUT },
		{ "quiet", no_argument, NULL, 'q' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 }
	};
	int c, rc = 0;

	while (!rc && (c = getopt_long(argc, argv, "p:o:m:qh",
				       h->tune ? options : options + 1,
				       NULL)) != -1) {
		if (c == 'h') {
			fputs(help, stdout);
			*code = EXIT_OK;
			return 1;
		}
		rc = take_option(h, c, optarg, err);
	}
	if (rc > 0)
		*code = cmd_usage(h->command);
	return rc;
}

void here_free(struct here *h)
{
	strlist_free(&h->params);
}

/* The command that re-creates the run. */
static char *command_text(const struct here *h, const struct scenario *s)
{
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);

	if (!to)
		return xasprintf("folab %s", h->command);
	fprintf(to, "folab %s", h->command);
	if (!h->tune)
		cmd_add_word(to, h->scenario);
	if (h->there.host) {
		fputs(" -m", to);
		cmd_add_word(to, h->there.host - strlen("remote:"));
	}
	if (isfinite(h->delay_ms))
		fprintf(to, " --delay %g", h->delay_ms);
	fprintf(to, " --reps %d", (int)s->passes);
	if (h->node >= 0)
		fprintf(to, " --node %d", (int)h->node);
	if (h->cpu >= 0)
		fprintf(to, " --cpu %d", (int)h->cpu);
	if (h->place.dir) {
		fputs(" --dir", to);
		cmd_add_word(to, h->place.dir);
	}
	if (h->place.scratch) {
		fputs(" --scratch", to);
		cmd_add_word(to, h->place.scratch);
	}
	if (h->place.mount)
		fputs(" --mount", to);
	for (size_t i = 0; i < ARRAY_SIZE(function_words); i++)
		if (h->functions == function_words[i].functions)
			fprintf(to, " --functions=%s", function_words[i].word);
	if (h->boot_label)
		fprintf(to, " --boot-label %s", h->boot_label);
	for (size_t i = 0; i < h->params.n; i++) {
		fputs(" -p", to);
		cmd_add_word(to, h->params.v[i]);
	}
	if (h->perf)
		fputs(" --cross-check perf", to);
	fclose(to);
	return text;
}

static int load(struct here *h, struct scenario *s, const struct workload **w,
		struct err *err)
{
	if (scenario_load(s, h->scenario, workload_params, err))
		return -1;
	for (size_t i = 0; i < h->params.n; i++)
		if (scenario_set(s, h->params.v[i], err))
			return -1;
	*w = workload_find(s->workload);
	if ((*w)->check && (*w)->check(&s->params, err))
		return err_prefix(err, "scenario %s", s->name);
	if (h->perf && !perf_bench_has(s->workload))
		return err_set(err, EXIT_USAGE,
			       "--cross-check: perf bench has nothing to set beside %s",
			       s->workload);
	if (h->functions &&
	    (h->tune || !strcmp(s->workload, "clear-chunk")))
		return err_set(err, EXIT_USAGE,
			       "--functions: clear-chunk clears in user space, the kernel's functions have no part in it");
	if (h->reps)
		s->passes = h->reps;
	return 0;
}

/* What works here only, and then the host itself. */
static int open_remote(struct here *h, const struct workload *w,
		       struct err *err)
{
	struct remote_options opt = h->there;

	if (h->tune)
		return err_set(err, EXIT_USAGE,
			       "-m: folab tune is for this host; folab run has -m");
	if (h->perf)
		return err_set(err, EXIT_USAGE,
			       "--cross-check runs the perf of this host: leave out -m");
	if (h->functions & FUNCTIONS_FTRACE)
		return err_set(err, EXIT_USAGE,
			       "--functions=ftrace is for this host only; on another one there is --functions=samples");
	opt.root = w->fs || w->memcg;
	return machine_place_check(w, &h->place, err) ||
	       remote_open(&h->remote, &opt, err) ? -1 : 0;
}

static int enter(struct here *h, const struct workload *w, struct err *err)
{
	return h->there.host ? open_remote(h, w, err) :
	       machine_local_enter(w, &h->place, err);
}

/* What tells this boot from others.  Caller frees; NULL: nothing does. */
static char *boot_of(const struct here *h)
{
	struct err ignored = { 0 };
	char *id;

	if (h->boot_label)
		return xstrdup(h->boot_label);
	if (h->remote)
		return xstrdup(remote_boot_id(h->remote));
	if (file_read(BOOT_ID, 64, &id, NULL, &ignored))
		return NULL;
	id[strcspn(id, "\n")] = '\0';
	return id;
}

static void fill_result(const struct here *h, const struct scenario *s,
			struct result *r)
{
	r->scenario = xstrdup(s->name);
	r->summary = xstrdup(s->summary);
	r->workload = xstrdup(s->workload);
	params_copy(&r->params, &s->params);
	r->command = command_text(h, s);
	r->folab_version = xstrdup(FOLAB_VERSION);
	r->tolerance_pct = s->tolerance_pct;
	r->tune = h->tune;
	r->delay_ms = h->delay_ms;
	for (size_t i = 0; i < s->metrics.n; i++)
		strlist_add(&r->wanted, s->metrics.v[i]);
	r->trials = xcalloc(1, sizeof(*r->trials));
	r->n_trials = 1;
	r->trials[0] = (struct trial){
		.side = 'A',
		.seed = 1,
		.boot = boot_of(h),
		.started = (int64_t)time(NULL),
	};
}

static int after_pass(void *arg, int64_t pass, struct sample *s,
		      struct err *err)
{
	return perf_bench_pass(arg, s, err);
}

/* @missing gets what could not be measured. */
static int measure(const struct here *h, const struct scenario *s,
		   struct perf_bench *perf, struct result *r,
		   struct strlist *missing, struct err *err)
{
	const struct machine_ops *m = h->remote ? &machine_remote :
						  &machine_local;
	struct job job = {
		.workload = xstrdup(s->workload),
		.passes = s->passes,
	};
	struct machine_setup setup = {
		.arch = h->remote ? remote_arch(h->remote) : arch_host(),
		.remote = h->remote,
		.job = &job,
		.bind_node = h->node >= 0,
		.bind_cpu = h->cpu >= 0,
		.node = h->node,
		.cpu = h->cpu,
		.after_pass = h->perf ? after_pass : NULL,
		.after_arg = perf,
		.place = h->place,
		.functions = h->functions,
	};
	int rc = 0;

	params_copy(&job.params, &s->params);
	if (!setup.arch)
		rc = err_set(err, EXIT_ENVIRONMENT,
			     "folab runs on arm64 and x86_64 hosts only");
	if (!rc && h->perf)
		rc = perf_bench_probe(perf, s->workload, &s->params, err);
	if (!rc)
		rc = m->describe(&setup, r, err);
	if (!rc)
		rc = m->run(&setup, r->side, r->trials, r->n_trials, err);
	if (!rc && h->tune)
		rc = tune_delays(&setup, r, missing, err);
	job_free(&job);
	return rc;
}

static int write_text(const char *dir, const char *name, const char *text,
		      struct err *err)
{
	char *path = xasprintf("%s/%s", dir, name);
	int rc = file_write(path, text, strlen(text), err);

	free(path);
	return rc;
}

/* The plot; without gnuplot a note says so, which is no failure. */
static int plot(const char *dir, struct result *r, struct err *err)
{
	char *script = report_gnuplot(r), *path, *svg = NULL;
	char *argv[] = { (char *)"gnuplot", (char *)PLOT_SCRIPT, NULL };
	struct child_spec spec = { .argv = argv, .dir = dir };
	struct err failed = { 0 };
	int rc = write_text(dir, PLOT_SCRIPT, script, err);

	free(script);
	if (rc)
		return -1;
	if (!program_exists("gnuplot")) {
		strlist_add(&r->notes,
			    "no plot: gnuplot is not installed (apt-get install gnuplot-nox); then gnuplot " PLOT_SCRIPT " > " PLOT);
		return 0;
	}
	rc = child_capture(&spec, false, &svg, &failed);
	if (rc == 0 && str_starts(svg, "<?xml")) {
		path = xasprintf("%s/" PLOT, dir);
		rc = file_write(path, svg, strlen(svg), err);
		free(path);
	} else if (intr_check(err)) {
		rc = -1;
	} else {
		strlist_add(&r->notes, "no plot: gnuplot failed on " PLOT_SCRIPT);
		rc = 0;
	}
	free(svg);
	return rc;
}

static int finish(const struct here *h, struct perf_bench *perf,
		  const struct strlist *missing, struct outdir *out,
		  struct result *r, struct err *err)
{
	char *text;
	int rc;

	analyse(r);
	if (h->perf)
		r->cross_check = xstrdup(perf->what);
	for (size_t i = 0; i < missing->n; i++)
		strlist_add(&r->notes, missing->v[i]);
	for (size_t i = 0; i < perf->failed.n; i++)
		strlist_addf(&r->notes, "cross-check: perf brought no %s",
			     perf->failed.v[i]);
	if (perf->pool_failed)
		strlist_addf(&r->notes, "cross-check: no huge pages for perf: %s",
			     perf->pool_failed);
	if (h->tune && plot(out->partial, r, err))
		return -1;
	text = report_text(r);
	rc = cmd_write_reports(out->partial, r, text, err);
	if (!rc)
		rc = result_write(out->partial, r, err);
	if (!rc)
		rc = intr_check(err);
	if (!rc)
		rc = outdir_commit(out, err);
	if (!rc)
		fputs(text, stdout);
	free(text);
	return rc;
}

/* folab tune has an answer if there is a unit to recommend. */
static int answer(const struct here *h, const struct result *r)
{
	struct chunk_table table;
	bool found = !h->tune;

	if (h->tune && chunk_table(&r->trials[0], &table)) {
		struct tune tune;

		tune_choose(&table, r->delay_ms / 1e3, &tune);
		found = tune.method && !tune.shared;
		chunk_table_free(&table);
	}
	return r->valid && found ? EXIT_OK : EXIT_NO;
}

int here_run(struct here *h, int *code, struct err *err)
{
	struct outdir out = { .lock.fd = -1 };
	struct perf_bench perf = { 0 };
	struct strlist missing = { 0 };
	struct result r = { 0 };
	const struct workload *w;
	struct scenario s = { 0 };
	char *name = NULL;
	int rc = -1;

	intr_install();
	if (load(h, &s, &w, err) || enter(h, w, err))
		goto done;
	name = xasprintf("%s-%s", h->tune ? "tune" : s.name,
			 h->remote ? "remote" : "here");
	if (outdir_open(&out, h->out, name, err))
		goto done;
	fill_result(h, &s, &r);
	if (measure(h, &s, &perf, &r, &missing, err) ||
	    finish(h, &perf, &missing, &out, &r, err))
		goto done;
	progress_note("result: %s", out.path);
	*code = answer(h, &r);
	rc = 0;
done:
	remote_close(h->remote);
	outdir_close(&out);
	perf_bench_free(&perf);
	strlist_free(&missing);
	result_free(&r);
	scenario_free(&s);
	free(name);
	return rc;
}
