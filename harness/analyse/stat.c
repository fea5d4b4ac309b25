/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Order statistics and spread of a handful of numbers.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "private.h"

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double stat_median(const double *v, size_t n)
{
	double *sorted = xmalloc(n * sizeof(*v)), median;

	memcpy(sorted, v, n * sizeof(*v));
	qsort(sorted, n, sizeof(*v), by_value);
	if (n % 2)
		median = sorted[n / 2];
	else
		median = sorted[n / 2 - 1] / 2 + sorted[n / 2] / 2;
	free(sorted);
	return median;
}

double stat_min(const double *v, size_t n)
{
	double min = v[0];

	for (size_t i = 1; i < n; i++)
		if (v[i] < min)
			min = v[i];
	return min;
}

double stat_max(const double *v, size_t n)
{
	double max = v[0];

	for (size_t i = 1; i < n; i++)
		if (v[i] > max)
			max = v[i];
	return max;
}

double stat_stdev_pct(const double *v, size_t n)
{
	double mean = 0, squares = 0;

	if (n < 2)
		return NAN;	/* one value does not deviate */
	/* Not through the sum when all are alike: that one may round. */
	if (stat_min(v, n) == stat_max(v, n))
		return 0;
	for (size_t i = 0; i < n; i++)
		mean += v[i] / n;
	if (mean == 0)
		return 0;
	for (size_t i = 0; i < n; i++)
		squares += (v[i] - mean) * (v[i] - mean);
	return sqrt(squares / (n - 1)) / fabs(mean) * 100;
}

double stat_median_error_pct(const double *v, size_t n)
{
	double median = stat_median(v, n), mad;
	double *away = xmalloc(n * sizeof(*v));

	for (size_t i = 0; i < n; i++)
		away[i] = fabs(v[i] - median);
	mad = stat_median(away, n);
	free(away);
	if (n < 2)
		return NAN;
	/* Of normal noise: sigma is 1.4826 MAD, a median's error 1.2533 of a mean's. */
	return median == 0 ? 0 :
		1.2533 * 1.4826 * mad / sqrt(n) / fabs(median) * 100;
}
