/* SPDX-License-Identifier: GPL-2.0 */
#include <math.h>

#include "here.h"

static const char help[] =
"usage: folab run SCENARIO [OPTION...]\n"
"\n"
"Run a scenario on this host, or on another one by ssh, with the kernel that\n"
"runs there and on real clocks, and print the report.  What makes memory\n"
"cgroups or files needs root, and cgroup v2: where systemd runs it gets a scope\n"
"of its own, and XFS on a loop device that goes with the run.\n"
"\n"
HERE_HELP
"  -m, --machine=remote:[USER@]HOST[:PORT]  on that host, which needs nothing of\n"
"                       folab's: sshd, a key of yours, and root or sudo without a\n"
"                       password if the scenario needs root\n"
"      --run-timeout=S  seconds after which a run there has failed (3600)\n"
"      --functions[=samples]  one more pass, in which the kernel's functions are\n"
"                       sampled; =ftrace: two more, in which ftrace counts their\n"
"                       calls and times; =both\n"
"      --boot-label=WORD  what tells this boot from others (the kernel's boot id);\n"
"                       folab compare takes runs of one boot together\n"
"      --scratch=DIR    where the file below the loop device lies (/var/tmp)\n"
"      --dir=DIR        no loop device: files in DIR, whose file system has to give\n"
"                       large folios (XFS, btrfs; ext4 from 6.16)\n"
"      --mount          mount cgroup2 and enable its memory controller where that\n"
"                       is missing, for this run only\n"
"\n"
"To compare two kernels: run, boot the other one, run; repeat; folab compare.\n"
"\n"
"exit: 0 done; 1 the run is invalid; 3 the host lacks something (says what); 6 the\n"
"connection to another host broke; 7 another folab uses that host\n"
"\n"
"examples:\n"
"  folab run clear-chunk\n"
"  folab run clear-chunk -p size=4G -p to=4G --cpu 2\n"
"  folab run clear-chunk --cross-check perf\n"
"  folab run reclaim-file --reps 10 -p size=8G -p reclaim=6G\n"
"  folab run reclaim-file --reps 10 -m remote:root@server\n";

int cmd_run(int argc, char **argv)
{
	struct here h = HERE_INIT("run");
	struct err err = { 0 };
	int code = EXIT_OK, rc;

	rc = here_options(&h, argc, argv, help, &code, &err);
	if (rc == 0 && argc - optind != 1)
		rc = err_set(&err, EXIT_USAGE,
			     "folab run takes one SCENARIO (folab list scenarios)");
	h.scenario = argv[optind];
	if (rc == 0)
		rc = here_run(&h, &code, &err);
	if (rc < 0)
		code = cmd_fail(&err);
	here_free(&h);
	return code;
}
