/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Private to cmd: a scenario on this host, which folab run and folab tune
 * share.
 */
#ifndef FOLAB_CMD_HERE_H
#define FOLAB_CMD_HERE_H

#include "../machine/machine.h"
#include "cmd.h"

struct here {
	const char *command;	/* "run", "tune" */
	const char *scenario, *out;
	struct strlist params;
	const char *boot_label;	/* NULL: the kernel's id of this boot */
	int64_t reps;		/* 0: the scenario's */
	int64_t node, cpu;	/* -1: anywhere */
	struct host_place place;
	unsigned functions;	/* FUNCTIONS_* */
	bool perf;		/* --cross-check perf */
	bool tune;
	double delay_ms;	/* NAN: no limit */
	struct remote_options there;	/* ->host NULL: on this host */
	struct remote *remote;	/* open while it runs there */
};
#define HERE_INIT(name)	\
	{ .command = name, .node = -1, .cpu = -1, .delay_ms = NAN, \
	  .there.run_timeout = REMOTE_RUN_TIMEOUT }

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
/*
 * Options of both; ->tune takes --delay as well.  0 to go on, with optind behind
 * them; 1 when all is said (*code); -1 with err.
 */
int here_options(struct here *h, int argc, char **argv, const char *help,
		 int *code, struct err *err);

/* From the scenario to the report on standard output; *code: the answer. */
int here_run(struct here *h, int *code, struct err *err);
void here_free(struct here *h);

#endif
