/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Private to cmd: what the files of folab check share.
 */
#ifndef FOLAB_CMD_CHECK_H
#define FOLAB_CMD_CHECK_H

#include "../build/build.h"
#include "../plan/plan.h"

/* A program to be run, in one guest of its kind. */
struct item {
	const struct case_program *program;
	const char *boot;
	struct strlist args;
};

/* One kernel, and what its cases said.  Zeroed, then options and image. */
struct check {
	/* options */
	const char *spec;
	const struct arch *arch;
	struct build_options build;
	struct strlist boot;
	int64_t seed;
	bool quick;
	const char *label;	/* in front of programs' names; NULL: none */
	size_t before;		/* results told of other kernels */
	/* what there is to do */
	struct case_program *programs;
	size_t n_programs;
	struct item *items;
	size_t n_items;
	struct image image;
	/* what came of it */
	FILE *to;		/* streamed to; NULL: nowhere */
	struct case_run *runs;	/* one for each item that began */
	size_t n_runs;
	double begun;
	int guests;
	bool died;
};

/* check_plan.c: which programs, in which guests.  Fills programs and items. */
int check_plan(struct check *ck, int argc, char **argv, struct err *err);

/* What is tested, as comment lines of KTAP: kernel, machine, seed, options. */
void check_head(const struct check *ck, FILE *to);
/*
 * check_guest.c: run the items, those that fit together in one guest, and say
 * to ->to what comes in (the version line and the plan are the caller's).
 * @dir: where consoles are kept, as @prefix-N, or NULL.
 */
int check_run(struct check *ck, const char *dir, const char *prefix,
	      struct err *err);
/*
 * check_alike.c: what cases said with case_same(), of @n kernels: one run, with
 * a test for each name, that fails where a kernel said something else, or
 * nothing.  Skipped if no case said anything.
 */
void check_alike(const struct check *ck, size_t n, struct case_run *r);
void check_free(struct check *ck);
/* Are these of one guest?  As strcmp(3). */
int check_same_guest(const struct item *a, const struct item *b);

#endif
