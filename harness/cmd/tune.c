/* SPDX-License-Identifier: GPL-2.0 */
#include <math.h>
#include <stdlib.h>

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

/* Returns 0 to go on, 1 when all is said (*code), -1 with err. */
static int parse_options(struct here *h, int argc, char **argv, int *code,
			 struct err *err)
{
	enum { OPT_DELAY = 256 };
	static const struct option options[] = {
		{ "delay", required_argument, NULL, OPT_DELAY },
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
		rc = c == OPT_DELAY ? set_delay(h, optarg, err) :
			here_option(h, c, optarg, err);
		if (rc < 0)
			return -1;
		if (rc > 0) {
			*code = cmd_usage("tune");
			return 1;
		}
	}
	if (optind != argc)
		return err_set(err, EXIT_USAGE,
			       "folab tune takes options only, not \"%s\"",
			       argv[optind]);
	return 0;
}

int cmd_tune(int argc, char **argv)
{
	struct here h = HERE_INIT("tune");
	struct err err = { 0 };
	int code = EXIT_OK, rc;

	h.scenario = "clear-chunk";
	h.tune = true;
	rc = parse_options(&h, argc, argv, &code, &err);
	if (rc == 0)
		rc = here_run(&h, &code, &err);
	if (rc < 0)
		code = cmd_fail(&err);
	here_free(&h);
	return code;
}
