/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A run of one kernel: is it valid, and what are its figures.  There is nothing
 * to compare them with, so that no row has a change or a verdict.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "private.h"

static void check_trial(struct result *r, const struct trial *t)
{
	if (!t->done)
		strlist_add(&r->reasons, "it did not run");
	else if (t->failed)
		strlist_addf(&r->reasons, "it failed: %s", t->failed);
	else if (!t->n_samples)
		strlist_add(&r->reasons, "it brought no samples");
	for (size_t i = 0; i < t->n_samples; i++) {
		const struct sample *s = &t->samples[i];

		for (size_t k = 0; k < s->invalid.n; k++)
			strlist_addf(&r->reasons, "pass %" PRId64 ": %s",
				     s->pass, s->invalid.v[k]);
	}
}

static void add_row(struct result *r, const struct metric *metric)
{
	double *v = xcalloc(r->n_trials + 1, sizeof(*v)), spread = NAN;
	size_t n = 0;

	for (size_t i = 0; i < r->n_trials; i++)
		if (trial_usable(&r->trials[i]) &&
		    trial_value(metric, r, &r->trials[i], &v[n]))
			n++;
	if (n == 1)
		spread = trial_spread_pct(metric, r, &r->trials[0]);
	else if (n)
		spread = stat_stdev_pct(v, n);
	if (!n) {
		strlist_addf(&r->notes, "%s: not known, its counters are missing",
			     metric->name);
	} else {
		r->rows = xrealloc(r->rows, r->n_rows + 1, sizeof(*r->rows));
		r->rows[r->n_rows++] = (struct row){
			.metric = xstrdup(metric->name),
			.a = stat_median(v, n),
			.b = NAN,
			.a_stdev_pct = spread,
			.b_stdev_pct = NAN,
			.change_pct = NAN,
			.low_pct = NAN,
			.high_pct = NAN,
			.n = n,
			.verdict = VERDICT_NONE,
		};
	}
	free(v);
}

void single(struct result *r)
{
	if (!r->n_trials)
		strlist_add(&r->reasons, "nothing ran");
	for (size_t i = 0; i < r->n_trials; i++)
		check_trial(r, &r->trials[i]);
	for (size_t i = 0; i < r->wanted.n; i++) {
		const struct metric *metric = metric_find(r->wanted.v[i]);

		if (metric)
			add_row(r, metric);
		else
			strlist_addf(&r->notes, "%s: no such metric",
				     r->wanted.v[i]);
	}
	if (r->host.hypervisor)
		strlist_addf(&r->notes,
			     "this is a virtual machine (%s): neighbours share its caches and its memory",
			     r->host.hypervisor);
}
