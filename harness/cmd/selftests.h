/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Private to cmd: folab ab --selftests, the correctness cases on both kernels
 * of a comparison.
 */
#ifndef FOLAB_CMD_SELFTESTS_H
#define FOLAB_CMD_SELFTESTS_H

#include "check.h"

/* Zeroed: none were asked for. */
struct selftest_plan {
	const char *asked;	/* as the user wrote it */
	struct check side[2];	/* A, B */
	bool died;		/* a guest did */
};

/*
 * @asked: words between commas: "quick" and "all" (not hidden ones) stand for
 * programs, others name a program or PROGRAM.TEST.  EXIT_USAGE for a word that
 * is neither.
 */
int selftests_plan(struct selftest_plan *p, const char *asked,
		   const struct arch *arch, const char *const spec[2],
		   struct err *err);
/*
 * Run what was planned, first all of it on A, and put what came of it into
 * @r->selftests, the KTAP into @dir (selftests-A.ktap), consoles too.
 */
int selftests_run(struct selftest_plan *p, const char *dir, struct result *r,
		  struct err *err);
void selftests_plan_free(struct selftest_plan *p);

#endif
