/* SPDX-License-Identifier: GPL-2.0 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../workloads/workloads.h"
#include "../analyse/analyse.h"
#include "../build/build.h"
#include "../machine/machine.h"
#include "../plan/plan.h"
#include "../report/report.h"
#include "cmd.h"
#include "outdir.h"
#include "rows.h"
#include "selftests.h"
#include "two_by_two.h"

/* On real clocks the first pass is warm-up, and more tell a boot better. */
#define REMOTE_PASSES	11

static const char help[] =
"usage: folab ab [OPTION...]\n"
"\n"
"Run a scenario on kernel A and on kernel B, compare, print the report.\n"
"\n"
"  -s, --scenario=NAME  scenario, or path of a scenario file (reclaim-file)\n"
"  -a, --arch=ARCH      arm64 (default) or x86_64\n"
"  -A, --kernel-a=SPEC  kernel A (6.12)\n"
"  -B, --kernel-b=SPEC  kernel B (6.12+young-batch); folab build --help tells\n"
"                       what can stand here\n"
"      --aa             compare kernel A with itself\n"
"      --rows[=LIST]    also the scenario's rows, what reviewers ask for: all, or\n"
"                       names between commas\n"
"      --two-by-two     B is A with two series: also measure each of them alone\n"
"      --config=NAME    both kernels with a further config fragment; folab build\n"
"                       --help tells\n"
"      --boots=N        boots a side, each with a seed of its own\n"
"      --reps=N         passes a boot\n"
"  -p, --param=KEY=VALUE  a parameter of the workload; may be given repeatedly\n"
"      --selftests[=LIST]  also run correctness cases on both kernels: quick\n"
"                       (default), all, or names as folab check takes them,\n"
"                       between commas\n"
"  -o, --output=DIR     result directory (results/SCENARIO-ARCH-DATE-TIME);\n"
"                       an earlier result in it becomes DIR.old\n"
"  -j, --jobs=N         compilers and guests at a time\n"
"      --no-profile     without the plugin: no split by function\n"
"  -m, --machine=remote:[USER@]HOST[:PORT]  not in the emulator but on that host,\n"
"                       real clocks: it boots each kernel by kexec, boot after\n"
"                       boot, and its own one at the end; --config metal\n"
"      --boot-timeout=S seconds until it must be back from a boot (300)\n"
"      --run-timeout=S  seconds that the passes of a boot may take (3600)\n"
"      --no-return      it stays in the kernel that it booted last\n"
"  -q, --quiet          no progress line\n"
"  -h, --help           this text\n"
"\n"
"exit: 0 done; 1 B is slower by the scenario's first metric, the run is\n"
"invalid, a row is either, or a selftest fails on B and not on A; 6 a guest\n"
"failed (the report says how); more in man folab\n"
"\n"
"examples:\n"
"  folab ab\n"
"  folab ab -p order=0\n"
"  folab ab --rows\n"
"  folab ab --rows='order 0,MGLRU'\n"
"  folab ab -a x86_64 -B git:$HOME/linux@my-series -A git:$HOME/linux@v6.12\n"
"  folab ab -m remote:root@server --boots 5 --reps 11 -p size=8G -p reclaim=6G\n";

/* Returns 0 to go on, 1 when all is said (*code), -1 with err. */
static int parse_options(struct ab *ab, int argc, char **argv, int *code,
			 struct err *err)
{
	enum { OPT_AA = 256, OPT_BOOTS, OPT_REPS, OPT_NO_PROFILE,
	       OPT_SELFTESTS, OPT_TWO_BY_TWO, OPT_CONFIG, OPT_ROWS,
	       OPT_BOOT_TIMEOUT, OPT_RUN_TIMEOUT, OPT_NO_RETURN };
	static const struct option options[] = {
		{ "scenario", required_argument, NULL, 's' },
		{ "arch", required_argument, NULL, 'a' },
		{ "kernel-a", required_argument, NULL, 'A' },
		{ "kernel-b", required_argument, NULL, 'B' },
		{ "aa", no_argument, NULL, OPT_AA },
		{ "rows", optional_argument, NULL, OPT_ROWS },
		{ "two-by-two", no_argument, NULL, OPT_TWO_BY_TWO },
		{ "config", required_argument, NULL, OPT_CONFIG },
		{ "boots", required_argument, NULL, OPT_BOOTS },
		{ "reps", required_argument, NULL, OPT_REPS },
		{ "param", required_argument, NULL, 'p' },
		{ "selftests", optional_argument, NULL, OPT_SELFTESTS },
		{ "output", required_argument, NULL, 'o' },
		{ "jobs", required_argument, NULL, 'j' },
		{ "no-profile", no_argument, NULL, OPT_NO_PROFILE },
		{ "machine", required_argument, NULL, 'm' },
		{ "boot-timeout", required_argument, NULL, OPT_BOOT_TIMEOUT },
		{ "run-timeout", required_argument, NULL, OPT_RUN_TIMEOUT },
		{ "no-return", no_argument, NULL, OPT_NO_RETURN },
		{ "quiet", no_argument, NULL, 'q' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 }
	};
	int c, rc = 0;

	while (!rc && (c = getopt_long(argc, argv, "s:a:A:B:p:o:j:m:qh", options,
				       NULL)) != -1) {
		switch (c) {
		case 's': ab->scenario = optarg; break;
		case 'a':
			ab->arch_given = true;
			rc = cmd_arch(optarg, &ab->arch, err);
			break;
		case 'A': ab->spec[0] = optarg; break;
		case 'B': ab->spec[1] = optarg; break;
		case 'p': strlist_add(&ab->params, optarg); break;
		case 'o': ab->out = optarg; break;
		case 'j': rc = cmd_count("jobs", optarg, 1, 1000, &ab->jobs, err); break;
		case 'q': progress_quiet(true); break;
		case 'm': rc = cmd_machine(optarg, "emulated", &ab->there.host, err); break;
		case OPT_BOOT_TIMEOUT: rc = cmd_count("boot-timeout", optarg, 1, 86400, &ab->there.boot_timeout, err); break;
		case OPT_RUN_TIMEOUT: rc = cmd_count("run-timeout", optarg, 1, 604800, &ab->there.run_timeout, err); break;
		case OPT_NO_RETURN: ab->there.no_return = true; break;
		case OPT_AA: ab->aa = true; break;
		case OPT_ROWS: ab->rows = optarg ? optarg : ""; break;
		case OPT_TWO_BY_TWO: ab->two_by_two = true; break;
		case OPT_CONFIG:
			ab->fragment = optarg;
			rc = build_check_fragment(optarg, err);
			break;
		case OPT_BOOTS: rc = cmd_count("boots", optarg, 1, 1000, &ab->boots, err); break;
		case OPT_REPS: rc = cmd_count("reps", optarg, 1, 1000, &ab->reps, err); break;
		case OPT_NO_PROFILE: ab->no_profile = true; break;
		case OPT_SELFTESTS: ab->selftests = optarg ? optarg : "quick"; break;
		case 'h':
			fputs(help, stdout);
			*code = EXIT_OK;
			return 1;
		default:
			*code = cmd_usage("ab");
			return 1;
		}
	}
	if (rc)
		return rc;
	if (optind != argc)
		return err_set(err, EXIT_USAGE,
			       "folab ab takes options only, not \"%s\"",
			       argv[optind]);
	return 0;
}

static void add_option(FILE *to, const char *option, const char *value)
{
	fprintf(to, " %s", option);
	cmd_add_word(to, value);
}

/* The value of an optional argument is in the same word; "": it has none. */
static void add_optional(FILE *to, const char *option, const char *value)
{
	char *word = xasprintf("%s%s%s", option, *value ? "=" : "", value);

	cmd_add_word(to, word);
	free(word);
}

/* The command that re-creates the run. */
static char *command_text(const struct ab *ab, const struct scenario *s)
{
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);

	if (!to)
		return xstrdup("folab ab");
	fputs("folab ab", to);
	if (ab->there.host)
		add_option(to, "-m", ab->there.host - strlen("remote:"));
	add_option(to, "-s", ab->scenario);
	add_option(to, "-a", ab->arch->name);
	add_option(to, "-A", ab->spec[0]);
	if (ab->aa)
		fputs(" --aa", to);
	else
		add_option(to, "-B", ab->spec[1]);
	if (ab->two_by_two)
		fputs(" --two-by-two", to);
	fprintf(to, " --boots %d", (int)s->seeds);
	if (s->passes > 1)
		fprintf(to, " --reps %d", (int)s->passes);
	for (size_t i = 0; i < ab->params.n; i++)
		add_option(to, "-p", ab->params.v[i]);
	if (ab->no_profile)
		fputs(" --no-profile", to);
	if (ab->fragment)
		fprintf(to, " --config %s", ab->fragment);
	if (ab->rows)
		add_optional(to, "--rows", ab->rows);
	if (ab->selftests)
		add_optional(to, "--selftests", ab->selftests);
	fclose(to);
	return text;
}

/* Scenario and parameters, checked as far as they can be without a kernel. */
static int load_scenario(struct ab *ab, struct scenario *s,
			 const struct workload **w, struct err *err)
{
	if (scenario_load(s, ab->scenario, workload_params, err))
		return -1;
	for (size_t i = 0; i < ab->params.n; i++)
		if (scenario_set(s, ab->params.v[i], err))
			return -1;
	*w = workload_find(s->workload);
	if ((*w)->check && (*w)->check(&s->params, err))
		return err_prefix(err, "scenario %s", s->name);
	if (ab->boots)
		s->seeds = ab->boots;
	if (ab->reps)
		s->passes = ab->reps;
	else if (ab->there.host && s->passes == 1)
		s->passes = REMOTE_PASSES;
	return 0;
}

/* What there is of all this on another host, and then the host itself. */
static int open_remote(struct ab *ab, const struct workload *w,
		       struct err *err)
{
	static const struct host_place nowhere = { 0 };

	if (ab->rows || ab->two_by_two || ab->selftests)
		return err_set(err, EXIT_USAGE,
			       "-m: %s in the emulator only; leave one of them out",
			       ab->rows ? "--rows are measured" : ab->two_by_two ?
			       "--two-by-two is measured" : "--selftests run");
	ab->there.root = true;
	if (machine_place_check(w, &nowhere, err) ||
	    remote_open(&ab->remote, &ab->there, err) ||
	    remote_can_boot(ab->remote, err))
		return -1;
	if (ab->arch_given && ab->arch != remote_arch(ab->remote))
		return err_set(err, EXIT_USAGE,
			       "-a %s: %s is %s", ab->arch->name,
			       ab->there.host, remote_arch(ab->remote)->name);
	ab->arch = remote_arch(ab->remote);
	if (!ab->fragment)
		ab->fragment = "metal";
	return 0;
}

static int build_sides(struct ab *ab, struct result *r, struct err *err)
{
	struct build_options opt = { .jobs = ab->jobs, .fragment = ab->fragment };
	struct two_by_two *two = &r->two_by_two;
	char *alone[2] = { NULL, NULL };
	const char *spec[4];
	struct image *image[4];
	int n = ab->two_by_two ? 4 : 2, rc = 0;

	if (ab->two_by_two)
		rc = two_by_two_specs(ab->spec, alone, two->series, err);
	for (int i = 0; i < n; i++) {
		spec[i] = i < 2 ? ab->spec[i] : alone[i - 2];
		image[i] = i < 2 ? &r->side[i] : &two->side[i - 2];
	}
	/* All are checked before the first is built: minutes may lie between. */
	for (int i = 0; i < n && !rc; i++)
		rc = build_check_spec(spec[i], ab->arch, err);
	for (int i = 0; i < n && !rc; i++)
		rc = build_kernel(spec[i], ab->arch, &opt, image[i], err);
	free(alone[0]);
	free(alone[1]);
	return rc;
}

/* A row has the images of the first part that is of its architecture. */
static int build_parts(struct part *parts, size_t n, struct err *err)
{
	for (size_t i = 0; i < n; i++) {
		size_t k = 0;

		while (parts[k].ab.arch != parts[i].ab.arch)
			k++;
		for (int s = 0; s < 2 && k < i; s++)
			image_copy(&parts[i].r->side[s], &parts[k].r->side[s]);
		if (k == i && build_sides(&parts[i].ab, parts[i].r, err))
			return -1;
	}
	return 0;
}

static void fill_result(struct ab *ab, const struct scenario *s,
			struct result *r)
{
	r->scenario = xstrdup(s->name);
	r->summary = xstrdup(s->summary);
	r->workload = xstrdup(s->workload);
	params_copy(&r->params, &s->params);
	r->command = command_text(ab, s);
	r->folab_version = xstrdup(FOLAB_VERSION);
	r->tolerance_pct = s->tolerance_pct;
	r->aa = ab->aa;
	r->two_by_two.asked = ab->two_by_two;
	for (size_t i = 0; i < s->metrics.n; i++)
		strlist_add(&r->wanted, s->metrics.v[i]);
	plan_trials_of(ab->two_by_two ? TWO_BY_TWO_ORDER : "AB", s->seeds,
		       &r->trials, &r->n_trials);
}

/* What the scenario and its workload want of the kernel's command line. */
static void kernel_options(const struct ab *ab, const struct scenario *s,
			   const struct workload *w, struct strlist *options)
{
	struct strlist own = { 0 };

	if (w->kernel_options)
		w->kernel_options(&s->params, &own);
	for (size_t i = 0; i < own.n; i++) {
		size_t len = strcspn(own.v[i], ":=");

		if (own.v[i][len] != ':')
			strlist_add(options, own.v[i]);
		else if (len == strlen(ab->arch->name) &&
			 str_starts(own.v[i], ab->arch->name))
			strlist_add(options, own.v[i] + len + 1);
	}
	/* Of the same option the last one counts: that of who wrote it down. */
	for (size_t i = 0; i < s->cmdline.n; i++)
		strlist_add(options, s->cmdline.v[i]);
	strlist_free(&own);
}

/* @share: of a run that is more than this; all zero: it is all. */
static int run_trials(struct ab *ab, const struct scenario *s,
		      const struct workload *w, const char *dir,
		      const struct machine_share *share, struct result *r,
		      struct err *err)
{
	const struct machine_ops *m = ab->remote ? &machine_remote :
						   &machine_emulated;
	const struct image images[4] = {	/* they stay those of r */
		r->side[0], r->side[1],
		r->two_by_two.side[0], r->two_by_two.side[1],
	};
	struct strlist options = { 0 };
	struct job job = {
		.workload = xstrdup(s->workload),
		.passes = s->passes,
		.fs = w->fs ? xstrdup(w->fs) : NULL,
		.fs_bytes = w->fs_bytes ? (int64_t)w->fs_bytes(&s->params) : 0,
	};
	struct machine_setup setup = {
		.arch = ab->arch,
		.job = &job,
		.memory = s->memory ? s->memory : w->memory_bytes(&s->params),
		.budget = s->budget,
		.parallel = ab->jobs,
		.profile = !ab->no_profile,
		.cmdline = &options,
		.dir = dir,
		.share = *share,
		.remote = ab->remote,
		.boots = true,
		.about = r,
	};
	int rc;

	kernel_options(ab, s, w, &options);
	params_copy(&job.params, &s->params);
	rc = m->describe(&setup, r, err);
	if (!rc)
		rc = m->run(&setup, images, r->trials, r->n_trials, err);
	if (ab->two_by_two)
		two_by_two_split(r);
	job_free(&job);
	strlist_free(&options);
	return rc;
}

static int run_parts(struct part *parts, size_t n, const struct workload *w,
		     const char *dir, struct err *err)
{
	struct machine_share share = { 0 };
	int rc = 0;

	for (size_t i = 0; i < n && n > 1; i++)
		share.all += parts[i].r->n_trials;
	for (size_t i = 0; i < n && !rc; i++) {
		struct part *p = &parts[i];
		char *below = p->name ? variant_dir(dir, i - 1) : xstrdup(dir);
		char *label = xasprintf("run %zu of %zu, %s", i + 1, n,
					p->name ? p->name : p->s.name);

		share.label = n > 1 ? label : NULL;
		rc = run_trials(&p->ab, &p->s, w, below, &share, p->r, err);
		share.before += p->r->n_trials;
		free(label);
		free(below);
	}
	return rc;
}

static int copy_to(const char *from, const char *dir, const char *name,
		   struct err *err)
{
	char *to;
	int rc;

	if (!from)
		return 0;
	to = xasprintf("%s/%s", dir, name);
	rc = file_copy(from, to, err);
	free(to);
	return rc;
}

/* The configs of kernels that the run itself does not boot. */
static int write_rows(const char *dir, const struct result *r, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < r->n_variants && !rc; i++) {
		const struct result *v = r->variants[i].r;
		char *below = variant_dir(dir, i);

		if (v->side[0].arch != r->side[0].arch)
			rc = copy_to(v->side[0].config, below,
				     "kernel-A.config", err) ||
			     copy_to(v->side[1].config, below,
				     "kernel-B.config", err) ? -1 : 0;
		free(below);
	}
	return rc;
}

static int write_files(const char *dir, const struct result *r,
		       const char *text, struct err *err)
{
	int rc = cmd_write_reports(dir, r, text, err);
	char *name;

	if (!rc)
		rc = write_rows(dir, r, err);
	/* The series of C and D are those of B. */
	for (int i = 0; i < 4 && !rc; i++) {
		const struct image *im = i < 2 ? &r->side[i] :
						 &r->two_by_two.side[i - 2];

		name = xasprintf("kernel-%c.config", 'A' + i);
		rc = copy_to(im->config, dir, name, err);
		free(name);
		for (size_t k = 0; k < im->n_series && !rc; k++) {
			name = xasprintf("series-%s.mbox", im->series[k].name);
			rc = copy_to(im->series[k].mbox, dir, name, err);
			free(name);
		}
	}
	return rc ? rc : result_write(dir, r, err);
}

/* Does a selftest fail on B that does not on A, or end otherwise there? */
static bool broke(const struct selftests *s)
{
	struct strlist names = { 0 };
	bool any;

	selftests_broken(s, &names);
	any = names.n || (s->alike.program && s->alike.status == CASE_FAILED);
	strlist_free(&names);
	return any;
}

/* What the answer is, as an exit code: the worst of the run's own and its rows'. */
static int answer(const struct result *r, bool died)
{
	const struct row *row = result_decider(r);
	int code = EXIT_OK;

	for (size_t i = 0; i < r->n_variants && code != EXIT_RUN; i++) {
		int of_row = answer(r->variants[i].r, false);

		if (of_row)
			code = of_row;
	}
	if (code == EXIT_RUN)
		return code;
	for (size_t i = 0; i < r->n_trials; i++)
		if (r->trials[i].failed)
			return EXIT_RUN;
	for (size_t i = 0; i < r->two_by_two.n_trials; i++)
		if (r->two_by_two.trials[i].failed)
			return EXIT_RUN;
	if (died)
		return EXIT_RUN;
	if (r->two_by_two.asked && !r->two_by_two.valid)
		return EXIT_NO;
	if (!r->valid || broke(&r->selftests))
		return EXIT_NO;
	return row && row->verdict == VERDICT_SLOWER ? EXIT_NO : code;
}

/* Before an hour is spent on it: would the host come back? */
static int check_images(struct ab *ab, struct result *r, struct strlist *notes,
			struct err *err)
{
	for (int i = 0; i < 2 && ab->remote; i++)
		if (remote_check_image(ab->remote, &r->side[i], notes, err))
			return -1;
	return 0;
}

static int walk(struct ab *ab, struct result *r, struct outdir *out,
		int *code, struct err *err)
{
	const struct workload *w;
	struct selftest_plan tests = { 0 };
	struct scenario s = { 0 };
	struct part *parts = NULL;
	struct strlist notes = { 0 };
	char *name = NULL, *text = NULL;
	size_t n = 0;
	int rc = -1;

	if (load_scenario(ab, &s, &w, err) ||
	    (ab->there.host && open_remote(ab, w, err)) ||
	    parts_make(&parts, &n, ab, &s, w, r, err) ||
	    (ab->selftests && selftests_plan(&tests, ab->selftests, ab->arch,
					     ab->spec, err)))
		goto done;
	name = xasprintf("%s-%s", s.name,
			 ab->remote ? "remote" : ab->arch->name);
	if (outdir_open(out, ab->out, name, err))
		goto done;
	for (size_t i = 0; i < n; i++)
		fill_result(&parts[i].ab, &parts[i].s, parts[i].r);
	if ((n > 1 && parts_check(parts, n, err)) ||
	    build_parts(parts, n, err) ||
	    check_images(ab, r, &notes, err) ||
	    run_parts(parts, n, w, out->partial, err) ||
	    selftests_run(&tests, out->partial, r, err))
		goto done;
	analyse(r);
	for (size_t i = 0; i < notes.n; i++)
		strlist_add(&r->notes, notes.v[i]);
	text = report_text(r);
	if (write_files(out->partial, r, text, err) || intr_check(err) ||
	    outdir_commit(out, err))
		goto done;
	fputs(text, stdout);
	progress_note("result: %s", out->path);
	*code = answer(r, tests.died);
	rc = 0;
done:
	remote_close(ab->remote);
	strlist_free(&notes);
	free(text);
	free(name);
	selftests_plan_free(&tests);
	parts_free(parts, n);
	scenario_free(&s);
	return rc;
}

int cmd_ab(int argc, char **argv)
{
	struct ab ab = {
		.scenario = "reclaim-file",
		.spec = { "6.12", NULL },
		.arch = arch_find("arm64"),
		.there.boot_timeout = REMOTE_BOOT_TIMEOUT,
		.there.run_timeout = REMOTE_RUN_TIMEOUT,
	};
	struct outdir out = { .lock.fd = -1 };
	struct result r = { 0 };
	struct err err = { 0 };
	int code = EXIT_OK, rc;

	rc = parse_options(&ab, argc, argv, &code, &err);
	if (rc == 0) {
		if (ab.aa && ab.spec[1])
			rc = err_set(&err, EXIT_USAGE,
				     "--aa compares kernel A with itself: leave out -B");
		else if (ab.aa && ab.two_by_two)
			rc = err_set(&err, EXIT_USAGE,
				     "--two-by-two wants two series, --aa none: leave one out");
		else if (ab.rows && ab.two_by_two)
			rc = err_set(&err, EXIT_USAGE,
				     "--rows are of two kernels, --two-by-two of four: leave one out");
		else if (ab.aa)
			ab.spec[1] = ab.spec[0];
		else if (!ab.spec[1])
			ab.spec[1] = "6.12+young-batch";
	}
	if (rc == 0) {
		intr_install();
		rc = walk(&ab, &r, &out, &code, &err);
	}
	if (rc < 0)
		code = cmd_fail(&err);
	outdir_close(&out);
	result_free(&r);
	strlist_free(&ab.params);
	return code;
}
