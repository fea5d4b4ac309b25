/* SPDX-License-Identifier: GPL-2.0 */
/*
 * analyse - is a run valid, did both kernels decide alike, and what differs.
 */
#ifndef FOLAB_ANALYSE_H
#define FOLAB_ANALYSE_H

#include "../record/record.h"

/*
 * Value of @metric in one sample of a trial of @r; false: it can't be known
 * there.
 */
bool metric_value(const struct metric *metric, const struct result *r,
		  const struct trial *trial, const struct sample *sample,
		  double *value);
/*
 * Of a window that is one system call: instructions in user space, which are
 * the harness's, and all of them.  False: not counted.
 */
bool window_overhead(const struct sample *s, double *own, double *all);
/*
 * Fill r's profile[], rows, valid, reasons, notes, alike and diffs from its trials;
 * those of its variants from theirs.
 */
void analyse(struct result *r);

/* How many boots of @side brought samples, and how many passes count (real.c). */
void boots_count(const struct result *r, char side, size_t *boots,
		 size_t *passes);

/* ---- stat.c: of @n > 0 values, which stay in their order ---------------- */

double stat_median(const double *v, size_t n);
double stat_min(const double *v, size_t n);
double stat_max(const double *v, size_t n);
/* Standard deviation of a sample (n - 1) in percent of the mean; 0 if n is 1
 * or the mean is 0. */
double stat_stdev_pct(const double *v, size_t n);
/*
 * Standard error of the median in percent of it, from the median absolute
 * deviation: an outlier more or less does not count.  NAN if n is 1.
 */
double stat_median_error_pct(const double *v, size_t n);

/* ---- infer.c: values with noise, by GSL -------------------------------------- */

struct welch {
	double difference;	/* of the means, B - A */
	double error;		/* its standard error */
	double freedom;		/* degrees of, by Satterthwaite */
	double half;		/* half of the 95 % interval */
	/* The least difference that 80 % of such comparisons would prove at 5 %. */
	double detectable;
};
/* Of two values a side at least. */
void stat_welch(const double *a, size_t na, const double *b, size_t nb,
		struct welch *w);

/*
 * Two-sided p of the difference of means, by permutation: exact up to
 * PERMUTATIONS_MAX ways to share the values out, else by so many at random,
 * always the same ones.
 */
#define PERMUTATIONS_MAX	200000
double stat_permutation_p(const double *a, size_t na, const double *b,
			  size_t nb);
/* Two-sided p of the ranks; exact up to so many values, without ties. */
#define EXACT_U_MAX	50
double stat_mann_whitney_p(const double *a, size_t na, const double *b,
			   size_t nb);
/* p values adjusted for being so many, in their place (Holm). */
void stat_holm(double *p, size_t n);
/* How far off the median a value is, by the median absolute deviation @mad. */
double stat_modified_z(double away, double mad);

struct stat_group {
	double *v;
	size_t n;
};
/*
 * Two-sided p of a monotone trend within the groups (Mann-Kendall, summed over
 * them); *direction: above 0, values rise.
 */
double stat_trend_p(const struct stat_group *g, size_t n, double *direction);
/* p of @seen or more hits in @of tries of this @chance. */
double stat_at_least_p(size_t seen, size_t of, double chance);

/* ---- clear-chunk: chunks by methods (chunk.c) -------------------------------- */

/* Of the passes behind the warm-up; NAN: not known. */
struct chunk_cell {
	uint64_t chunk;		/* bytes */
	double rate;		/* 10^9 bytes a second, median */
	double spread_pct;	/* standard deviation over the passes */
	double error_pct;	/* standard error of the median */
	double hot, llc;	/* reading a working set again: how many times as long */
	double one, one_max;	/* seconds one chunk takes: median, longest seen */
};
struct chunk_method {
	char *name;
	bool streaming;		/* by non-temporal stores */
	bool kernels;		/* what the kernel uses on this processor */
	struct chunk_cell *cell;	/* by rising chunk */
	size_t n;
	size_t best;		/* fastest cell; its rate is NAN if no rate is known */
	double plateau;		/* rate of small chunks (64K at most), median */
	double middle;		/* halfway from there to the best */
	size_t knee;		/* first cell above it; n: there is none */
};
struct chunk_table {
	struct chunk_method *method;	/* by name */
	size_t n;
	size_t best;		/* fastest method */
	size_t passes;
};
/* false: the trial has no samples of clear-chunk.  To be freed in any case. */
bool chunk_table(const struct trial *t, struct chunk_table *table);
void chunk_table_free(struct chunk_table *table);
/* The kernel's method, the fastest one that streams; NULL: not measured. */
const struct chunk_method *chunk_kernels(const struct chunk_table *table);
const struct chunk_method *chunk_streaming(const struct chunk_table *table);
/* Median of its cells' errors, and is that too much to tell units apart? */
double chunk_noise_pct(const struct chunk_method *m);
bool chunk_noisy(const struct chunk_method *m);

/* ---- folab tune (tune.c) ------------------------------------------------------ */

#define TUNE_SHARE	0.95	/* of the best rate */

struct tune {
	const struct chunk_method *method;	/* NULL: nothing to choose from */
	size_t unit;		/* cell that is recommended */
	double best;		/* best rate of any unit */
	double share;		/* rate of the recommended one / best */
	double limit;		/* seconds, NAN: none */
	bool within;		/* some unit keeps the limit */
	bool knee, noisy;
	bool shared;		/* others ran on the processor, too: no answer */
};
void tune_choose(const struct chunk_table *table, double limit,
		 struct tune *tune);
/*
 * Seconds that a real-time thread waited at worst in a pass in which memory was
 * cleared in units of @unit: the median over the passes, since a hypervisor that
 * takes the processor away once is not the unit's fault.  NAN: not measured.
 */
double tune_worst(const struct result *r, uint64_t unit);

#endif
