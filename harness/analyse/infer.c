/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Inference for values that have noise: tests, intervals, and what could have
 * been seen.  docs/method.md says which of them is used where, and why.
 */
#include <gsl/gsl_cdf.h>
#include <gsl/gsl_combination.h>
#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "private.h"

/* Sums that are equal but for rounding. */
#define SAME_SUM	1e-9

/* ---- two samples --------------------------------------------------------------- */

void stat_welch(const double *a, size_t na, const double *b, size_t nb,
		struct welch *w)
{
	double va = gsl_stats_variance(a, 1, na) / na;
	double vb = gsl_stats_variance(b, 1, nb) / nb;
	double all = va + vb;

	w->difference = gsl_stats_mean(b, 1, nb) - gsl_stats_mean(a, 1, na);
	w->error = sqrt(all);
	/* Satterthwaite's; without variance any will do. */
	w->freedom = all > 0 ? all * all / (va * va / (na - 1) +
					    vb * vb / (nb - 1)) :
			       (double)(na + nb - 2);
	w->half = gsl_cdf_tdist_Pinv(0.975, w->freedom) * w->error;
	w->detectable = w->half +
		gsl_cdf_tdist_Pinv(0.8, w->freedom) * w->error;
}

/*
 * Every way to call @na of the values A, if there are no more than
 * PERMUTATIONS_MAX; else so many drawn at random, with a seed that is always
 * the same.
 */
static double ways(size_t n, size_t k)
{
	double all = 1;

	for (size_t i = 1; i <= k; i++)
		all = all * (double)(n - k + i) / (double)i;
	return all;
}

static bool as_far(double sum, double seen, double center, double slack)
{
	return fabs(sum - center) >= fabs(seen - center) - slack;
}

static double permute_all(const double *v, size_t n, size_t na, double seen,
			  double center, double slack)
{
	gsl_combination *c = gsl_combination_calloc(n, na);
	double far = 0, all = 0, sum;

	do {
		sum = 0;
		for (size_t i = 0; i < na; i++)
			sum += v[gsl_combination_get(c, i)];
		far += as_far(sum, seen, center, slack);
		all++;
	} while (gsl_combination_next(c) == GSL_SUCCESS);
	gsl_combination_free(c);
	return far / all;
}

static double permute_some(const double *v, size_t n, size_t na, double seen,
			   double center, double slack)
{
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
	double *chosen = xcalloc(na, sizeof(*chosen)), far = 1;

	gsl_rng_set(rng, 1);
	for (int i = 1; i < PERMUTATIONS_MAX; i++) {
		double sum = 0;

		gsl_ran_choose(rng, chosen, na, (void *)v, n, sizeof(*v));
		for (size_t k = 0; k < na; k++)
			sum += chosen[k];
		far += as_far(sum, seen, center, slack);
	}
	free(chosen);
	gsl_rng_free(rng);
	/* What was seen is one of them. */
	return far / PERMUTATIONS_MAX;
}

double stat_permutation_p(const double *a, size_t na, const double *b,
			  size_t nb)
{
	size_t n = na + nb;
	double *v = xcalloc(n, sizeof(*v)), seen = 0, sum = 0, size = 0, p;
	double center, slack;

	for (size_t i = 0; i < n; i++) {
		v[i] = i < na ? a[i] : b[i - na];
		sum += v[i];
		size += fabs(v[i]);
		if (i < na)
			seen += v[i];
	}
	/* By the sum of A: with the total given it tells the means' distance. */
	center = sum * (double)na / (double)n;
	slack = size * SAME_SUM;
	p = ways(n, na) <= PERMUTATIONS_MAX ?
		permute_all(v, n, na, seen, center, slack) :
		permute_some(v, n, na, seen, center, slack);
	free(v);
	return p;
}

/* In how many ways a sample of @na among @na + @nb ranks has this U, by U. */
static double *count_u(size_t na, size_t nb)
{
	size_t most = na * nb;
	double *count = xcalloc(most + 1, sizeof(*count));

	/* Coefficients of the Gaussian binomial: times (1 - q^(nb+i)) / (1 - q^i). */
	count[0] = 1;
	for (size_t i = 1; i <= na; i++) {
		for (size_t u = most; u >= nb + i && u <= most; u--)
			count[u] -= count[u - nb - i];
		for (size_t u = i; u <= most; u++)
			count[u] += count[u - i];
	}
	return count;
}

static double exact_u_p(double u, size_t na, size_t nb)
{
	double *count = count_u(na, nb), all = 0, low = 0;
	double least = fmin(u, (double)(na * nb) - u);

	for (size_t i = 0; i <= na * nb; i++) {
		all += count[i];
		if ((double)i <= least)
			low += count[i];
	}
	free(count);
	return fmin(1, 2 * low / all);
}

double stat_mann_whitney_p(const double *a, size_t na, const double *b,
			   size_t nb)
{
	size_t n = na + nb;
	double *v = xcalloc(n, sizeof(*v)), u = 0, ties = 0, spread, p;

	for (size_t i = 0; i < na; i++)
		for (size_t k = 0; k < nb; k++)
			u += a[i] > b[k] ? 1 : a[i] == b[k] ? 0.5 : 0;
	memcpy(v, a, na * sizeof(*v));
	memcpy(v + na, b, nb * sizeof(*v));
	gsl_sort(v, 1, n);
	for (size_t i = 0, same; i < n; i += same) {
		for (same = 1; i + same < n && v[i + same] == v[i]; same++)
			;
		ties += (double)same * ((double)same * same - 1);
	}
	free(v);
	if (ties == 0 && n <= EXACT_U_MAX)
		return exact_u_p(u, na, nb);
	spread = sqrt((double)na * nb / 12 *
		      ((double)n + 1 - ties / ((double)n * (n - 1))));
	if (!(spread > 0))
		return 1;	/* all the same */
	/* Half a step nearer to the middle, as U has steps. */
	p = 2 * gsl_cdf_ugaussian_Q(fmax(fabs(u - (double)na * nb / 2) - 0.5,
					 0) / spread);
	return fmin(p, 1);
}

/* ---- many tests ------------------------------------------------------------------- */

void stat_holm(double *p, size_t n)
{
	size_t *order = xcalloc(n + 1, sizeof(*order));
	double least = 0;

	gsl_sort_index(order, p, 1, n);
	for (size_t i = 0; i < n; i++) {
		double adjusted = fmin(1, p[order[i]] * (double)(n - i));

		least = fmax(least, adjusted);
		p[order[i]] = least;
	}
	free(order);
}

/* ---- one group after the other ------------------------------------------------------ */

double stat_modified_z(double away, double mad)
{
	if (mad > 0)
		return 0.6745 * fabs(away) / mad;
	return away == 0 ? 0 : INFINITY;
}

/*
 * Kendall's S of the values against their order, and its variance, with ties
 * among the values.
 */
static void kendall(const double *v, size_t n, double *s, double *variance)
{
	double *sorted = xcalloc(n + 1, sizeof(*sorted)), ties = 0;

	*s = 0;
	for (size_t i = 0; i < n; i++)
		for (size_t k = i + 1; k < n; k++)
			*s += (v[k] > v[i]) - (v[k] < v[i]);
	memcpy(sorted, v, n * sizeof(*v));
	gsl_sort(sorted, 1, n);
	for (size_t i = 0, same; i < n; i += same) {
		for (same = 1; i + same < n && sorted[i + same] == sorted[i];
		     same++)
			;
		ties += (double)same * (same - 1) * (2 * (double)same + 5);
	}
	free(sorted);
	*variance = ((double)n * (n - 1) * (2 * (double)n + 5) - ties) / 18;
}

double stat_trend_p(const struct stat_group *g, size_t n, double *direction)
{
	double s = 0, variance = 0;

	/* Each group against its own order alone: levels may differ. */
	for (size_t i = 0; i < n; i++) {
		double of_group, var;

		if (g[i].n < 2)
			continue;
		kendall(g[i].v, g[i].n, &of_group, &var);
		s += of_group;
		variance += var;
	}
	*direction = s;
	if (!(variance > 0))
		return 1;
	return fmin(1, 2 * gsl_cdf_ugaussian_Q(fmax(fabs(s) - 1, 0) /
					       sqrt(variance)));
}

double stat_at_least_p(size_t seen, size_t of, double chance)
{
	return seen ? gsl_cdf_binomial_Q((unsigned)seen - 1, chance,
					 (unsigned)of) : 1;
}
