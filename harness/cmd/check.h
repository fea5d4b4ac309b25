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

struct check {
	/* options */
	const char *spec, *out, *format;
	const struct arch *arch;
	struct build_options build;
	struct strlist boot;
	int64_t seed, jobs;
	bool quick;
	/* what there is to do */
	struct case_program *programs;
	size_t n_programs;
	struct item *items;
	size_t n_items;
	struct image image;
	/* what came of it */
	FILE *to;		/* NULL: not streamed */
	struct case_run *runs;	/* one for each item that began */
	size_t n_runs;
	double begun;
	int guests;
	bool died;
};

/* check_plan.c: which programs, in which guests.  Fills programs and items. */
int check_plan(struct check *ck, int argc, char **argv, struct err *err);

/*
 * check_guest.c: run the items, those that fit together in one guest, and say
 * to ->to what comes in.  @dir: where consoles are kept, or NULL.
 */
int check_run(struct check *ck, const char *dir, struct err *err);
void check_free(struct check *ck);
/* Are these of one guest?  As strcmp(3). */
int check_same_guest(const struct item *a, const struct item *b);

#endif
