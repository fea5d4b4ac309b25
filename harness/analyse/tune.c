/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which unit a kernel should clear in on this machine.
 */
#include <math.h>
#include <stdlib.h>

#include "private.h"

#define SHARED_CHUNK	(1 << 20)
#define SHARED_RATIO	2.0

/*
 * The rate is of wall time over the whole region, the time of one chunk is that
 * of the median one.  Where nobody else runs they agree; a processor that is
 * taken away between two chunks makes the rate that of somebody else's load.
 * Of small chunks the call and the clock weigh too much to tell.
 */
static bool shared(const struct chunk_method *m)
{
	size_t far = 0, all = 0;

	for (size_t i = 0; i < m->n; i++) {
		const struct chunk_cell *c = &m->cell[i];
		double alone = (double)c->chunk / c->one / 1e9;

		if (c->chunk < SHARED_CHUNK || !isfinite(alone) ||
		    !isfinite(c->rate))
			continue;
		all++;
		far += alone > SHARED_RATIO * c->rate ||
		       c->rate > SHARED_RATIO * alone;
	}
	return far * 2 > all;
}

/*
 * Smallest unit whose rate is TUNE_SHARE of the best one; of those that are
 * over sooner than @limit (seconds) where there is one.
 */
void tune_choose(const struct chunk_table *table, double limit,
		 struct tune *tune)
{
	const struct chunk_method *m = chunk_kernels(table);
	size_t best = 0;
	bool any = false;

	*tune = (struct tune){ .limit = limit };
	if (!m || !isfinite(m->cell[m->best].rate))
		return;
	tune->method = m;
	tune->best = m->cell[m->best].rate;
	for (size_t i = 0; i < m->n; i++) {
		const struct chunk_cell *c = &m->cell[i];

		if (!isfinite(c->rate) || (isfinite(limit) && !(c->one <= limit)))
			continue;
		if (!any || c->rate > m->cell[best].rate)
			best = i;
		any = true;
	}
	/* Nothing is as short: the smallest comes closest. */
	tune->within = any;
	tune->unit = any ? best : 0;
	for (size_t i = best; any && i-- > 0;)
		if (m->cell[i].rate >= TUNE_SHARE * m->cell[best].rate &&
		    (!isfinite(limit) || m->cell[i].one <= limit))
			tune->unit = i;
	tune->share = m->cell[tune->unit].rate / tune->best;
	tune->knee = m->knee < m->n;
	tune->noisy = chunk_noisy(m);
	tune->shared = shared(m);
}

double tune_worst(const struct result *r, uint64_t unit)
{
	double *v = NULL, worst = NAN;
	size_t n = 0;

	for (size_t i = 0; i < r->n_trials; i++) {
		const struct trial *t = &r->trials[i];

		for (size_t k = 0; k < t->n_samples; k++) {
			const struct counters *c = &t->samples[k].counters;
			int64_t of, ns;

			/* It is warm: the region was faulted in beforehand. */
			if (!counters_get(c, "latency.unit", &of) ||
			    (uint64_t)of != unit ||
			    !counters_get(c, "latency.max_ns", &ns))
				continue;
			v = xrealloc(v, n + 1, sizeof(*v));
			v[n++] = ns / 1e9;
		}
	}
	if (n)
		worst = stat_median(v, n);
	free(v);
	return worst;
}
