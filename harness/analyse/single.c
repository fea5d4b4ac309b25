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

#define FEW_SAMPLES	400

static void check_trial(struct result *r, const struct trial *t)
{
	if (!t->done)
		strlist_add(&r->reasons, "it did not run");
	else if (t->failed)
		strlist_addf(&r->reasons, "it failed: %s", t->failed);
	else if (!t->n_samples)
		strlist_add(&r->reasons, "it brought no samples");
	for (size_t i = 0; i < t->n_samples; i++) {
		struct where w = { .r = r, .t = t, .s = &t->samples[i] };

		snprintf(w.name, sizeof(w.name), "pass %" PRId64, w.s->pass);
		validity_sample(&w);
	}
}

/* False: no sample has what it is made of. */
static bool add_row(struct result *r, const struct metric *metric)
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
	if (n) {
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
	return n > 0;
}

void note_missing(struct result *r, const struct strlist *metrics)
{
	char *list = xstrdup(""), *longer;

	for (size_t i = 0; i < metrics->n; i++) {
		longer = xasprintf("%s%s%s", list, *list ? ", " : "",
				   metrics->v[i]);
		free(list);
		list = longer;
	}
	if (*list)
		strlist_addf(&r->notes, "not known here, what counts it is missing: %s",
			     list);
	free(list);
}

static void add_rows(struct result *r)
{
	struct strlist missing = { 0 };

	for (size_t i = 0; i < r->wanted.n; i++) {
		const struct metric *metric = metric_find(r->wanted.v[i]);

		if (!metric)
			strlist_addf(&r->notes, "%s: no such metric",
				     r->wanted.v[i]);
		else if (!add_row(r, metric))
			strlist_add(&missing, metric->name);
	}
	note_missing(r, &missing);
	strlist_free(&missing);
}

/* What the sampling of functions cost and missed, in its pass. */
static void note_functions(struct result *r)
{
	const struct trial *t = r->n_trials ? &r->trials[0] : NULL;
	const struct counters *c;
	double wall[2] = { 0 };
	int64_t samples, lost;

	if (!t || !t->n_samples)
		return;
	c = &t->samples[t->n_samples - 1].counters;
	if (!counters_get(c, "functions.samples", &samples))
		return;
	wall[0] = counters_value(c, "time.wall_ns");
	wall[1] = counters_value(c, "functions.wall_ns");
	if (wall[0] > 0)
		strlist_addf(&r->notes,
			     "functions: %" PRId64 " samples of %s at %" PRId64 " Hz, in a pass of their own, whose window took %.2f times as long as that of the pass before",
			     samples, counters_value(c, "functions.cycles") ?
			     "cycles" : "the kernel's clock (no PMU here)",
			     counters_value(c, "functions.hertz"),
			     wall[1] / wall[0]);
	if (samples < FEW_SAMPLES)
		strlist_addf(&r->notes,
			     "functions: so few samples tell shares to %.0f %% at best",
			     100 / sqrt(fmax(samples, 1)));
	lost = counters_value(c, "functions.lost");
	if (lost)
		strlist_addf(&r->notes,
			     "functions: the buffer was full, %" PRId64 " or more samples of the window's end are missing",
			     lost);
}

static void sum_calls(struct result *r)
{
	profile_free(&r->calls);
	for (size_t i = 0; i < r->n_trials; i++)
		if (trial_usable(&r->trials[i]))
			profile_add(&r->calls, &r->trials[i].calls);
}

/*
 * What ftrace cost in the pass with callees: by the calls, as each of them costs
 * about the same.
 */
static void note_calls(struct result *r)
{
	const struct trial *t = r->n_trials ? &r->trials[0] : NULL;
	const struct counters *c;
	double wall[2], each;
	char *where;
	int64_t calls, cpu;

	if (!t || !t->n_samples)
		return;
	c = &t->samples[t->n_samples - 1].counters;
	if (!counters_get(c, "ftrace.calls", &calls) || calls <= 0)
		return;
	cpu = counters_value(c, "ftrace.cpu");
	where = cpu < 0 ? xstrdup("on all processors") :
		xasprintf("on processor %" PRId64, cpu);
	wall[0] = counters_value(c, "time.wall_ns");
	wall[1] = counters_value(c, "ftrace.wall_ns");
	each = (wall[1] - wall[0]) / calls;
	strlist_addf(&r->notes,
		     "ftrace: %" PRId64 " calls %s, in two passes of their own, whose windows took %.2f times as long; times have %.0f ns a call of the tracer's in them, callees' too",
		     calls, where, wall[0] > 0 ? wall[1] / wall[0] : NAN,
		     fmax(each, 0));
	free(where);
}

void single(struct result *r)
{
	if (!r->n_trials)
		strlist_add(&r->reasons, "nothing ran");
	for (size_t i = 0; i < r->n_trials; i++)
		check_trial(r, &r->trials[i]);
	add_rows(r);
	sum_profiles(r);
	sum_calls(r);
	note_functions(r);
	note_calls(r);
	if (r->host.hypervisor)
		strlist_addf(&r->notes,
			     "this is a virtual machine (%s): neighbours share its caches and its memory",
			     r->host.hypervisor);
}
