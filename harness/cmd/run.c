/* SPDX-License-Identifier: GPL-2.0 */
#include <math.h>

#include "here.h"

static const char help[] =
"usage: folab run SCENARIO [OPTION...]\n"
"\n"
"Run a scenario on this host, with the kernel that it runs and on real clocks,\n"
"and print the report.  A scenario that needs a file system or a memory cgroup\n"
"of its own is refused: folab ab measures it in guests.\n"
"\n"
HERE_HELP
"\n"
"exit: 0 done; 1 the run is invalid; 3 this host lacks something (says what)\n"
"\n"
"examples:\n"
"  folab run clear-chunk\n"
"  folab run clear-chunk -p size=4G -p to=4G --cpu 2\n"
"  folab run clear-chunk --cross-check perf\n";

/* Returns 0 to go on, 1 when all is said (*code), -1 with err. */
static int parse_options(struct here *h, int argc, char **argv, int *code,
			 struct err *err)
{
	static const struct option options[] = {
		HERE_OPTIONS,
		{ NULL, 0, NULL, 0 }
	};
	int c, rc;

	while ((c = getopt_long(argc, argv, HERE_SHORT, options,
				NULL)) != -1) {
		if (c == 'h') {
			fputs(help, stdout);
			*code = EXIT_OK;
			return 1;
		}
		rc = here_option(h, c, optarg, err);
		if (rc < 0)
			return -1;
		if (rc > 0) {
			*code = cmd_usage("run");
			return 1;
		}
	}
	if (argc - optind != 1)
		return err_set(err, EXIT_USAGE,
			       "folab run takes one SCENARIO (folab list scenarios)");
	h->scenario = argv[optind];
	return 0;
}

int cmd_run(int argc, char **argv)
{
	struct here h = HERE_INIT("run");
	struct err err = { 0 };
	int code = EXIT_OK, rc;

	rc = parse_options(&h, argc, argv, &code, &err);
	if (rc == 0)
		rc = here_run(&h, &code, &err);
	if (rc < 0)
		code = cmd_fail(&err);
	here_free(&h);
	return code;
}
