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
"                       what can stand here\n"
"      --debug          build it with the debug fragment (DEBUG_VM, page table\n"
"                       check, lockdep)\n"
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
"  folab check -k git:$HOME/linux@my-series young.one_young\n";

/* ---- options -------------------------------------------------------------- */

static int number_option(const char *name, const char *text, int64_t max,
			 int64_t *value, struct err *err)
{
	if (!parse_int(text, 1, max, value))
		return 0;
	return err_set(err, EXIT_USAGE, "--%s %s: must be a whole number from 1",
		       name, text);
}

static int format_option(struct check *ck, const char *text, struct err *err)
{
	ck->format = text;
	if (!strcmp(text, "ktap") || !strcmp(text, "junit"))
		return 0;
	return err_set(err, EXIT_USAGE,
		       "no format \"%s\"; there are ktap and junit", text);
}

/* Returns 0 to go on, 1 when all is said (*code), -1 with err. */
static int parse_options(struct check *ck, int argc, char **argv, int *code,
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
	int c, rc = 0;

	while (!rc && (c = getopt_long(argc, argv, "a:k:f:o:j:qh", options,
				       NULL)) != -1) {
		switch (c) {
		case 'a': rc = cmd_arch(optarg, &ck->arch, err); break;
		case 'k': ck->spec = optarg; break;
		case OPT_DEBUG: ck->build.debug = true; break;
		case OPT_QUICK: ck->quick = true; break;
		case OPT_SEED:
			rc = number_option("seed", optarg, INT32_MAX,
					   &ck->seed, err);
			break;
		case OPT_BOOT: strlist_add(&ck->boot, optarg); break;
		case 'f': rc = format_option(ck, optarg, err); break;
		case 'o': ck->out = optarg; break;
		case 'j':
			rc = number_option("jobs", optarg, 4096, &ck->jobs,
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
	ck->build.jobs = (int)ck->jobs;
	return rc;
}

/* ---- the walk ------------------------------------------------------------------ */

static int answer(const struct check *ck)
{
	size_t failed = 0, skipped = 0;

	for (size_t i = 0; i < ck->n_runs; i++) {
		failed += ck->runs[i].status == CASE_FAILED;
		skipped += ck->runs[i].status == CASE_SKIPPED;
	}
	if (ck->died)
		return EXIT_RUN;
	if (failed)
		return EXIT_NO;
	return skipped == ck->n_runs ? EXIT_SKIPPED : EXIT_OK;
}

static void print_ktap(const struct check *ck, FILE *to)
{
	ktap_begin(to, ck->n_items);
	for (size_t i = 0; i < ck->n_runs; i++)
		ktap_replay(to, &ck->runs[i], i + 1);
}

static void print_junit(const struct check *ck, FILE *to)
{
	junit_print(to, ck->runs, ck->n_runs);
}

static int write_one(const struct check *ck, const char *dir, const char *name,
		     void (*print)(const struct check *ck, FILE *to),
		     struct err *err)
{
	char *path = xasprintf("%s/%s", dir, name), *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	int rc;

	if (!f)
		abort();	/* out of memory */
	print(ck, f);
	fclose(f);
	rc = file_write(path, text, len, err);
	free(path);
	free(text);
	return rc;
}

/* Both forms, for DIR, whichever was asked for on standard output. */
static int write_output(const struct check *ck, const char *dir,
			struct err *err)
{
	return write_one(ck, dir, "check.ktap", print_ktap, err) ||
	       write_one(ck, dir, "check.xml", print_junit, err) ? -1 : 0;
}

static int run_all(struct check *ck, struct outdir *out, struct err *err)
{
	const char *dir;

	if (build_check_spec(ck->spec, ck->arch, err) ||
	    (ck->out && outdir_open(out, ck->out, "check", err)))
		return -1;
	dir = ck->out ? out->partial : NULL;
	if (build_kernel(ck->spec, ck->arch, &ck->build, &ck->image, err))
		return -1;
	if (!strcmp(ck->format, "ktap")) {
		ck->to = stdout;
		setvbuf(stdout, NULL, _IOLBF, 0);
	}
	if (check_run(ck, dir, err))
		return -1;
	if (!ck->to)
		print_junit(ck, stdout);
	if (ck->out && (write_output(ck, dir, err) || outdir_commit(out, err)))
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

int cmd_check(int argc, char **argv)
{
	struct check ck = {
		.spec = "6.12+young-batch",
		.format = "ktap",
		.arch = arch_find("arm64"),
		.seed = 1,
	};
	struct outdir out = { .lock.fd = -1 };
	struct err err = { 0 };
	int code = EXIT_OK, rc;

	rc = parse_options(&ck, argc, argv, &code, &err);
	if (rc == 0) {
		intr_install();
		rc = check_plan(&ck, argc - optind, argv + optind, &err);
		if (!rc)
			rc = run_all(&ck, &out, &err);
		if (!rc)
			code = answer(&ck);
	}
	if (rc < 0)
		code = cmd_fail(&err);
	outdir_close(&out);
	check_free(&ck);
	return code;
}
