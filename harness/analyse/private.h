/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files of this room share.  Nobody else includes it.
 */
#ifndef FOLAB_ANALYSE_PRIVATE_H
#define FOLAB_ANALYSE_PRIVATE_H

#include "analyse.h"

#define PAGE_BYTES	4096	/* a page, wherever a counter or metric says so */

/* ---- stat.c: of @n > 0 values, which stay in their order ---------------- */

double stat_median(const double *v, size_t n);
double stat_min(const double *v, size_t n);
double stat_max(const double *v, size_t n);
/* Standard deviation of a sample (n - 1) in percent of the mean; 0 if n is 1
 * or the mean is 0. */
double stat_stdev_pct(const double *v, size_t n);

/* ---- value.c ------------------------------------------------------------ */

/* It ran, did not fail and brought samples. */
bool trial_usable(const struct trial *t);
/* Usable trial of @side ('A', 'B') with @seed; NULL: there is none. */
const struct trial *trial_find(const struct result *r, char side, int64_t seed);
/* Samples behind the warm-up: the first pass of several is one. */
size_t trial_first_sample(const struct trial *t);
/* Median of @metric over them; false: it can't be known. */
bool trial_value(const struct metric *metric, const struct trial *t,
		 double *value);

/* ---- validity.c, decide.c, compare.c ------------------------------------ */

/* Add to r->reasons whatever keeps the run from claiming anything. */
void validity_check(struct result *r);
/* Fill r->alike, alike_of, diffs; the notes that belong to them. */
void decide(struct result *r);
/*
 * Fill r->rows, with the verdicts that they would deserve if the run is valid,
 * and r->profile; adds reasons where the rows themselves show that the clock
 * did not repeat.
 */
void compare(struct result *r);
/* The least that layout and tick are taken to do to @value with @n seeds. */
double compare_least(double value, size_t n);
/* r->two_by_two: what of it is filled by analyse.  After all else. */
void two_by_two(struct result *r);
/* "could have seen" of the rows without a proven difference. */
void compare_notes(struct result *r);

#endif
