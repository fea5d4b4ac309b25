/* SPDX-License-Identifier: GPL-2.0 */
/*
 * plan - scenario files, parameters, the order of trials.
 */
#ifndef FOLAB_PLAN_H
#define FOLAB_PLAN_H

#include "../record/record.h"

/* A row that reviewers ask for: the scenario with other parameters. */
struct scenario_row {
	char *name;			/* "16 mappers" */
	const struct arch *arch;	/* NULL: that of the run */
	struct strlist set;		/* "mappers=16"; not "arch=" */
};
#define ROW_NAME_MAX	22	/* bytes, so that a table can hold it */

struct scenario {
	char *name, *summary, *workload, *path;
	struct params params;
	uint64_t memory;		/* bytes of the guest; 0: ask the workload */
	int64_t budget;			/* seconds of wall time that a guest may take */
	int64_t seeds;			/* default number of seeds */
	int64_t passes;
	double tolerance_pct;		/* bytes reclaimed may differ by so much */
	struct strlist metrics;		/* rows of the report, in order */
	struct strlist cmdline;		/* added to the kernel command line */
	struct scenario_row *rows;	/* in the file's order */
	size_t n_rows;
};

/*
 * @name: a name from workloads/scenarios, or a path (it has a '/' or ends in
 * .ini).  @specs_of gives a workload's parameters, NULL for an unknown one.
 */
int scenario_load(struct scenario *s, const char *name,
		  const struct param_spec *(*specs_of)(const char *workload),
		  struct err *err);
/* "KEY=VALUE" from -p. */
int scenario_set(struct scenario *s, const char *assignment, struct err *err);
/* The scenario's parameters, as they are now, with those of @row; to be freed. */
int scenario_row_params(const struct scenario *s,
			const struct scenario_row *row, struct params *params,
			struct err *err);
void scenario_free(struct scenario *s);
/* Names of all scenarios that come with folab, in order; caller frees. */
int scenario_names(struct strlist *names, struct err *err);

/*
 * Trials for @n seeds (1..n) of @sides ("ACDB"), in that order for the first seed,
 * reversed for the second, and so on: a drift of the host hits all alike.
 */
void plan_trials_of(const char *sides, int64_t n, struct trial **trials,
		    size_t *n_trials);
/* Trials for @n seeds (1..n) in ABBA order: A1 B1, B2 A2, A3 B3, ... */
void plan_trials(int64_t n, struct trial **trials, size_t *n_trials);

/* A built program of correctness cases. */
struct case_program {
	char *name, *summary;
	int64_t seconds;	/* of the guest, for all its tests */
	bool quick;		/* belongs to make check */
	bool hidden;		/* runs only when it is named */
	/* What its guest must have; 0: the usual. */
	uint64_t memory, scratch;	/* bytes */
	int64_t cpus;
	struct strlist needs;	/* trees of files of its guest: "stress-ng" */
	struct strlist boots;	/* kernel options; run it once with each */
};
/* All in @dir, by name. */
int case_programs(const char *dir, struct case_program **list, size_t *n,
		  struct err *err);
void case_programs_free(struct case_program *list, size_t n);

#endif
