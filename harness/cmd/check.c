/* SPDX-License-Identifier: GPL-2.0 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../report/report.h"
#include "check.h"
#include "cmd.h"
#include "outdir.h"

static const char help[] =
"usage: folab check [OPTION...] [CASE...]\n"
"\n"
"Boot a kernel, run the correctness cases in it, print KTAP as they go.\n"
"\n"
"CASE is a program, or PROGRAM.TEST (folab list cases; default: all)\n"
"\n"
"  -a, --arch=ARCH      arm64 (default) or x86_64\n"
"  -k, --kernel=SPEC    the kernel (6.12+young-batch); folab build --help tells\n"
"                       what can stand here.  Given repeatedly, one after the\n"
"                       other, and what has to be alike is compared\n"
"      --debug          build it with the debug fragment (KASAN, DEBUG_VM, page\n"
"                       table check, lockdep)\n"
"      --quick          only the programs that make check runs\n"
"      --seed=N         of the guest and of the random walk (1)\n"
"      --boot=OPTION    one more kernel option; may be given repeatedly\n"
"  -f, --format=FORMAT  ktap (default), or junit when all are done\n"
"  -o, --output=DIR     keep the output and the consoles; an earlier result in\n"
"                       it becomes DIR.old\n"
"  -j, --jobs=N         compilers at a time\n"
"  -q, --quiet          no progress line\n"
"  -h, --help           this text\n"
"\n"
"exit: 0 all passed; 1 a case failed; 4 nothing but skips; 6 the guest died,\n"
"and the case that ran is the one named; more in man folab\n"
"\n"
"examples:\n"
"  folab check\n"
"  folab check -a x86_64 -k 6.12 --quick\n"
"  folab check -k 6.12 -k 6.12+young-batch walk\n"
"  folab check -k git:$HOME/linux@my-series young.one_young\n";

/* The command: a struct check for each kernel. */
struct checking {
	struct strlist specs;
	const char *out, *format;
	int64_t jobs;
	struct check options;	/* of all of them */
	struct check *checks;
	struct case_run alike;	/* if there are several */
	FILE *to;		/* KTAP as it comes, or NULL */
};

/* ---- options -------------------------------------------------------------- */

static int number_option(const char *name, const char *text, int64_t max,
			 int64_t *value, struct err *err)
{
	if (!parse_int(text, 1, max, value))
		return 0;
	return err_set(err, EXIT_USAGE, "--%s %s: must be a whole number from 1",
		       name, text);
}

static int format_option(struct checking *cmd, const char *text, struct err *err)
{
	cmd->format = text;
	if (!strcmp(text, "ktap") || !strcmp(text, "junit"))
		return 0;
	return err_set(err, EXIT_USAGE,
		       "no format \"%s\"; there are ktap and junit", text);
}

static int kernel_option(struct checking *cmd, const char *spec, struct err *err)
{
	if (strlist_has(&cmd->specs, spec))
		return err_set(err, EXIT_USAGE, "-k %s is given twice", spec);
	strlist_add(&cmd->specs, spec);
	return 0;
}

/* Behind "--" the kernel would take our own options for those of init. */
static int add_boot(struct check *ck, const char *option, struct err *err)
{
	if (!strcmp(option, "--") || str_starts(option, "-- "))
		return err_set(err, EXIT_USAGE,
			       "--boot \"%s\": -- would end the kernel's options, and folab's with them",
			       option);
	strlist_add(&ck->boot, option);
	return 0;
}

/* Returns 0 to go on, 1 when all is said (*code), -1 with err. */
static int parse_options(struct checking *cmd, int argc, char **argv, int *code,
			 struct err *err)
{
	enum { OPT_DEBUG = 256, OPT_QUICK, OPT_SEED, OPT_BOOT };
	static const struct option options[] = {
		{ "arch", required_argument, NULL, 'a' },
		{ "kernel", required_argument, NULL, 'k' },
		{ "debug", no_argument, NULL, OPT_DEBUG },
		{ "quick", no_argument, NULL, OPT_QUICK },
		{ "seed", required_argument, NULL, OPT_SEED },
		{ "boot", required_argument, NULL, OPT_BOOT },
		{ "format", required_argument, NULL, 'f' },
		{ "output", required_argument, NULL, 'o' },
		{ "jobs", required_argument, NULL, 'j' },
		{ "quiet", no_argument, NULL, 'q' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 }
	};
	struct check *ck = &cmd->options;
	int c, rc = 0;

	while (!rc && (c = getopt_long(argc, argv, "a:k:f:o:j:qh", options,
				       NULL)) != -1) {
		switch (c) {
		case 'a': rc = cmd_arch(optarg, &ck->arch, err); break;
		case 'k': rc = kernel_option(cmd, optarg, err); break;
		case OPT_DEBUG: ck->build.fragment = "debug"; break;
		case OPT_QUICK: ck->quick = true; break;
		case OPT_SEED:
			rc = number_option("seed", optarg, INT32_MAX,
					   &ck->seed, err);
			break;
		case OPT_BOOT: rc = add_boot(ck, optarg, err); break;
		case 'f': rc = format_option(cmd, optarg, err); break;
		case 'o': cmd->out = optarg; break;
		case 'j':
			rc = number_option("jobs", optarg, 4096, &cmd->jobs,
					   err);
			break;
		case 'q': progress_quiet(true); break;
		case 'h':
			fputs(help, stdout);
			*code = EXIT_OK;
			return 1;
		default:
			*code = cmd_usage("check");
			return 1;
		}
	}
	ck->build.jobs = (int)cmd->jobs;
	if (!cmd->specs.n)
		strlist_add(&cmd->specs, "6.12+young-batch");
	return rc;
}

/* ---- all kernels -------------------------------------------------------------- */

static int plan(struct checking *cmd, int argc, char **argv, struct err *err)
{
	size_t n = cmd->specs.n;

	cmd->checks = xcalloc(n, sizeof(*cmd->checks));
	for (size_t i = 0; i < n; i++) {
		struct check *ck = &cmd->checks[i];

		*ck = cmd->options;
		ck->boot = (struct strlist){ 0 };
		for (size_t k = 0; k < cmd->options.boot.n; k++)
			strlist_add(&ck->boot, cmd->options.boot.v[k]);
		ck->spec = cmd->specs.v[i];
		ck->label = n > 1 ? ck->spec : NULL;
		ck->before = i ? cmd->checks[i - 1].before +
			cmd->checks[i - 1].n_items : 0;
		if (build_check_spec(ck->spec, ck->arch, err) ||
		    check_plan(ck, argc, argv, err))
			return -1;
	}
	return 0;
}

static size_t planned(const struct checking *cmd)
{
	const struct check *last = &cmd->checks[cmd->specs.n - 1];

	return last->before + last->n_items + (cmd->specs.n > 1);
}

static int answer(const struct checking *cmd)
{
	size_t failed = cmd->alike.status == CASE_FAILED, skipped = 0, ran = 0;
	bool died = false;

	for (size_t k = 0; k < cmd->specs.n; k++) {
		const struct check *ck = &cmd->checks[k];

		for (size_t i = 0; i < ck->n_runs; i++) {
			failed += ck->runs[i].status == CASE_FAILED;
			skipped += ck->runs[i].status == CASE_SKIPPED;
		}
		ran += ck->n_runs;
		died |= ck->died;
	}
	if (died)
		return EXIT_RUN;
	if (failed)
		return EXIT_NO;
	return skipped == ran ? EXIT_SKIPPED : EXIT_OK;
}

static void print_ktap(const struct checking *cmd, FILE *to)
{
	ktap_begin(to, planned(cmd));
	for (size_t k = 0; k < cmd->specs.n; k++) {
		const struct check *ck = &cmd->checks[k];

		check_head(ck, to);
		for (size_t i = 0; i < ck->n_runs; i++)
			ktap_replay(to, &ck->runs[i], ck->before + i + 1);
	}
	if (cmd->specs.n > 1)
		ktap_replay(to, &cmd->alike, planned(cmd));
}

static void print_junit(const struct checking *cmd, FILE *to)
{
	junit_begin(to);
	for (size_t k = 0; k < cmd->specs.n; k++)
		junit_suites(to, cmd->checks[k].runs, cmd->checks[k].n_runs);
	if (cmd->specs.n > 1)
		junit_suites(to, &cmd->alike, 1);
	junit_end(to);
}

static int write_one(const struct checking *cmd, const char *dir,
		     const char *name,
		     void (*print)(const struct checking *cmd, FILE *to),
		     struct err *err)
{
	char *path = xasprintf("%s/%s", dir, name), *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	int rc;

	if (!f)
		abort();	/* out of memory */
	print(cmd, f);
	fclose(f);
	rc = file_write(path, text, len, err);
	free(path);
	free(text);
	return rc;
}

/* Both forms, for DIR, whichever was asked for on standard output. */
static int write_output(const struct checking *cmd, const char *dir,
			struct err *err)
{
	return write_one(cmd, dir, "check.ktap", print_ktap, err) ||
	       write_one(cmd, dir, "check.xml", print_junit, err) ? -1 : 0;
}

/* Its consoles are guest-N; with several kernels guest-kernel-1-N and so on. */
static int run_kernel(struct checking *cmd, size_t i, const char *dir,
		      struct err *err)
{
	char *prefix = cmd->specs.n == 1 ? xstrdup("guest") :
		xasprintf("guest-kernel-%zu", i + 1);
	int rc;

	cmd->checks[i].to = cmd->to;
	rc = check_run(&cmd->checks[i], dir, prefix, err);
	free(prefix);
	return rc;
}

/* All builds come first: one that fails does so before hours of cases. */
static int run_all(struct checking *cmd, struct outdir *out, struct err *err)
{
	size_t n = cmd->specs.n;
	const char *dir;

	if (cmd->out && outdir_open(out, cmd->out, "check", err))
		return -1;
	dir = cmd->out ? out->partial : NULL;
	for (size_t i = 0; i < n; i++)
		if (build_kernel(cmd->specs.v[i], cmd->checks[i].arch,
				 &cmd->checks[i].build, &cmd->checks[i].image,
				 err))
			return -1;
	if (!strcmp(cmd->format, "ktap")) {
		cmd->to = stdout;
		setvbuf(stdout, NULL, _IOLBF, 0);
		ktap_begin(cmd->to, planned(cmd));
	}
	for (size_t i = 0; i < n; i++)
		if (run_kernel(cmd, i, dir, err))
			return -1;
	if (n > 1) {
		check_alike(cmd->checks, n, &cmd->alike);
		if (cmd->to)
			ktap_replay(cmd->to, &cmd->alike, planned(cmd));
	}
	if (!cmd->to)
		print_junit(cmd, stdout);
	if (cmd->out && (write_output(cmd, dir, err) || outdir_commit(out, err)))
		return -1;
	return 0;
}

void check_free(struct check *ck)
{
	for (size_t i = 0; i < ck->n_runs; i++)
		case_run_free(&ck->runs[i]);
	free(ck->runs);
	for (size_t i = 0; i < ck->n_items; i++)
		strlist_free(&ck->items[i].args);
	free(ck->items);
	case_programs_free(ck->programs, ck->n_programs);
	strlist_free(&ck->boot);
	image_free(&ck->image);
}

static void free_all(struct checking *cmd)
{
	for (size_t i = 0; cmd->checks && i < cmd->specs.n; i++)
		check_free(&cmd->checks[i]);
	free(cmd->checks);
	check_free(&cmd->options);
	case_run_free(&cmd->alike);
	strlist_free(&cmd->specs);
}

int cmd_check(int argc, char **argv)
{
	struct checking cmd = {
		.format = "ktap",
		.options = { .arch = arch_find("arm64"), .seed = 1 },
	};
	struct outdir out = { .lock.fd = -1 };
	struct err err = { 0 };
	int code = EXIT_OK, rc;

	rc = parse_options(&cmd, argc, argv, &code, &err);
	if (rc == 0) {
		intr_install();
		rc = plan(&cmd, argc - optind, argv + optind, &err);
		if (!rc)
			rc = run_all(&cmd, &out, &err);
		if (!rc)
			code = answer(&cmd);
	}
	if (rc < 0) {
		code = cmd_fail(&err);
		if (cmd.to)
			ktap_bail(cmd.to, code == EXIT_INTERRUPTED ?
				  "interrupted" : err.text);
	}
	outdir_close(&out);
	free_all(&cmd);
	return code;
}
