/* SPDX-License-Identifier: GPL-2.0 */
/*
 * folab - A/B laboratory for memory-management patches.
 *
 * The table of subcommands, and nothing else.
 */
#include <string.h>

#include "cmd/cmd.h"

static const struct command commands[] = {
	{ "ab", cmd_ab, "run a scenario on two kernels and compare" },
	{ "run", cmd_run, "run a scenario on this host, with its own kernel" },
	{ "tune", cmd_tune, "in which unit should a kernel clear memory here" },
	{ "compare", cmd_compare, "compare earlier runs, of several boots and kernels" },
	{ "check", cmd_check, "run the correctness cases on a kernel, print KTAP" },
	{ "mutants", cmd_mutants, "do the cases catch the mistakes they are there for" },
	{ "report", cmd_report, "print the report of an earlier run" },
	{ "attach", cmd_attach, "put a report into the cover letter of a series" },
	{ "build", cmd_build, "build a kernel, print the image's path" },
	{ "list", cmd_list, "scenarios, series, cases, workloads, metrics" },
	{ "doctor", cmd_doctor, "what this host can and cannot do" },
	{ NULL, NULL, NULL }
};

static void usage(FILE *to)
{
	fputs("usage: folab COMMAND [OPTION...]\n\n", to);
	for (const struct command *c = commands; c->name; c++)
		fprintf(to, "  %-8s %s\n", c->name, c->summary);
	fputs("\nfolab COMMAND --help tells more; man folab tells all.\n", to);
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : NULL;

	cmd_begin();
	if (!name) {
		usage(stderr);
		return EXIT_USAGE;
	}
	if (!strcmp(name, "--help") || !strcmp(name, "-h") ||
	    !strcmp(name, "help")) {
		usage(stdout);
		return cmd_finish(EXIT_OK);
	}
	if (!strcmp(name, "--version")) {
		puts("folab " FOLAB_VERSION);
		return cmd_finish(EXIT_OK);
	}
	for (const struct command *c = commands; c->name; c++)
		if (!strcmp(c->name, name))
			return cmd_finish(c->run(argc - 1, argv + 1));
	fprintf(stderr, "folab: no command \"%s\"; folab --help lists them\n",
		name);
	return EXIT_USAGE;
}
