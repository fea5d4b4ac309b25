/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files of this room share.  Nobody else includes it.
 */
#ifndef FOLAB_ANALYSE_PRIVATE_H
#define FOLAB_ANALYSE_PRIVATE_H

#include "analyse.h"

#define PAGE_BYTES	4096	/* a page, wherever a counter or metric says so */

/* ---- value.c ------------------------------------------------------------ */

/* It ran, did not fail and brought samples. */
bool trial_usable(const struct trial *t);
/* Usable trial of @side ('A', 'B') with @seed; NULL: there is none. */
const struct trial *trial_find(const struct result *r, char side, int64_t seed);
/* Samples behind the warm-up: the first pass of several is one. */
size_t trial_first_sample(const struct trial *t);
/* @metric of all of them, *n: 0 if one of them does not know it; caller frees. */
double *trial_values(const struct metric *metric, const struct result *r,
		     const struct trial *t, size_t *n);
/* Median of @metric over them; false: it can't be known. */
bool trial_value(const struct metric *metric, const struct result *r,
		 const struct trial *t, double *value);
/* Standard deviation over them in percent; NAN: it can't be known. */
double trial_spread_pct(const struct metric *metric, const struct result *r,
			const struct trial *t);
/* In one sample of @t, the rate of the cell that is best in the median. */
bool chunk_best_rate(const struct trial *t, const struct sample *s,
		     double *rate);

/* ---- real.c, and real_notes.c for it ---------------------------------------- */

/* Values of one metric of one side: a group a boot, in the order of the passes. */
struct boots {
	struct stat_group *boot;
	const char **name;	/* of the boot, in the result */
	size_t n;
	double *median;		/* of each boot */
};
void boots_collect(struct boots *b, const struct result *r,
		   const struct metric *metric, char side);
void boots_free(struct boots *b);
/* A comparison on real clocks: reasons and rows, without verdicts. */
void real_rows(struct result *r);
/*
 * p adjusted, and the verdicts that follow from it.  Rows of all results are one
 * family: with more of them, chance finds something more often.
 */
void real_verdicts(struct result *const *r, size_t n_results);
/* Then the notes. */
void real_say(struct result *r);
/* Outliers, drift, a slow first pass: of the metric that decides. */
void real_notes(struct result *r, const struct metric *metric);

/* ---- single.c ----------------------------------------------------------- */

/* Reasons, rows and notes of a run that has no side B. */
void single(struct result *r);
/* That these metrics of a real clock can't be known, if there are any. */
void note_missing(struct result *r, const struct strlist *metrics);

/* ---- validity.c, and validity_clear.c for it ------------------------------ */

/* One sample, and how it is named in a reason. */
struct where {
	struct result *r;
	const struct trial *t;
	const struct sample *s;
	char name[64];
};
void validity_reason(const struct where *w, const char *fmt, ...) PRINTF(2, 3);
/* A counter that the rule @what needs; if it is missing, that is a reason. */
bool validity_need(const struct where *w, const char *what, const char *name,
		   double *value);
/* Counters that have to be 0. */
struct quiet {
	const char *counter, *what, *found;
};
void validity_zeros(const struct where *w, const struct quiet *rules, size_t n);
/* Whatever one sample has to show, by its workload. */
void validity_sample(const struct where *w);
void validity_cleared(const struct where *w);
void validity_latency(const struct where *w);

/* ---- validity.c, decide.c, compare.c ------------------------------------ */

/* Add to r->reasons whatever keeps the run from claiming anything. */
void validity_check(struct result *r);
/* The same on real clocks, where boots are no pairs. */
void validity_check_real(struct result *r);
/* Fill r->alike, alike_of, diffs; the notes that belong to them. */
void decide(struct result *r);
/*
 * Fill r->rows, with the verdicts that they would deserve if the run is valid,
 * and r->profile; adds reasons where the rows themselves show that the clock
 * did not repeat.
 */
void compare(struct result *r);
/* r->profile[] from the trials' */
void sum_profiles(struct result *r);
/* The least that layout and tick are taken to do to @value with @n seeds. */
double compare_least(double value, size_t n);
/* r->two_by_two: what of it is filled by analyse.  After all else. */
void two_by_two(struct result *r);
/* "could have seen" of the rows without a proven difference. */
void compare_notes(struct result *r);

#endif
