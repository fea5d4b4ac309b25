/* SPDX-License-Identifier: GPL-2.0 */
#include <math.h>

#include "here.h"

static const char help[] =
"usage: folab tune [OPTION...]\n"
"\n"
"Measure on this host in which unit a kernel should clear memory: the smallest\n"
"one that gets 95 % of the best bandwidth, and the delay that it costs on a\n"
"kernel that does not preempt.  A table, a plot, and one recommended value with\n"
"its reason.\n"
"\n"
"      --delay=MS       the longest delay that a unit may cost, in milliseconds\n"
HERE_HELP
"\n"
"The parameters are those of clear-chunk.  DIR/tune.svg is the plot, made by\n"
"gnuplot from DIR/tune.gp.\n"
"\n"
"exit: 0 done; 1 no unit can be recommended; 3 this host lacks something\n"
"\n"
"examples:\n"
"  folab tune\n"
"  folab tune --delay 1 --cpu 2\n"
"  folab tune --cross-check perf -o tuned\n";

int cmd_tune(int argc, char **argv)
{
	struct here h = HERE_INIT("tune");
	struct err err = { 0 };
	int code = EXIT_OK, rc;

	h.scenario = "clear-chunk";
	h.tune = true;
	rc = here_options(&h, argc, argv, help, &code, &err);
	if (rc == 0 && optind != argc)
		rc = err_set(&err, EXIT_USAGE,
			     "folab tune takes options only, not \"%s\"",
			     argv[optind]);
	if (rc == 0)
		rc = here_run(&h, &code, &err);
	if (rc < 0)
		code = cmd_fail(&err);
	here_free(&h);
	return code;
}
