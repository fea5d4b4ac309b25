/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Private to cmd: a scenario on this host, which folab run and folab tune
 * share.
 */
#ifndef FOLAB_CMD_HERE_H
#define FOLAB_CMD_HERE_H

#include "cmd.h"

struct here {
	const char *command;	/* "run", "tune" */
	const char *scenario, *out;
	struct strlist params;
	int64_t reps;		/* 0: the scenario's */
	int64_t node, cpu;	/* -1: anywhere */
	bool perf;		/* --cross-check perf */
	bool tune;
	double delay_ms;	/* NAN: no limit */
};
#define HERE_INIT(c)	{ .command = c, .node = -1, .cpu = -1, .delay_ms = NAN }

/*
 * The options that both take, for getopt_long(): HERE_SHORT, and a struct
 * option each.  here_option(): 1 if @c is none of them, 0, or -1 with err.
 */
enum { HERE_REPS = 512, HERE_NODE, HERE_CPU, HERE_CROSS_CHECK };
#define HERE_SHORT	"p:o:qh"
#define HERE_OPTIONS \
	{ "param", required_argument, NULL, 'p' }, \
	{ "output", required_argument, NULL, 'o' }, \
	{ "reps", required_argument, NULL, HERE_REPS }, \
	{ "node", required_argument, NULL, HERE_NODE }, \
	{ "cpu", required_argument, NULL, HERE_CPU }, \
	{ "cross-check", required_argument, NULL, HERE_CROSS_CHECK }, \
	{ "quiet", no_argument, NULL, 'q' }, \
	{ "help", no_argument, NULL, 'h' }
#define HERE_HELP \
"  -p, --param=KEY=VALUE  a parameter of the workload; may be given repeatedly\n" \
"      --reps=N         passes; the first of several is warm-up\n" \
"      --node=N         bind it to this NUMA node, processors and memory\n" \
"      --cpu=N          bind it to this processor\n" \
"      --cross-check=perf  perf bench mem of the installed perf between the\n" \
"                       passes, its figures beside ours in the report\n" \
"  -o, --output=DIR     result directory (results/NAME-DATE-TIME); an earlier\n" \
"                       result in it becomes DIR.old\n" \
"  -q, --quiet          no progress line\n" \
"  -h, --help           this text\n"
int here_option(struct here *h, int c, const char *value, struct err *err);

/* From the scenario to the report on standard output; *code: the answer. */
int here_run(struct here *h, int *code, struct err *err);
void here_free(struct here *h);

#endif
