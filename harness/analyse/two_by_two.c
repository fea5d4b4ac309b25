/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Do two series add up?  A has neither, C the first, D the second, B both.
 * What B has more than the sum of what C and D have is their interaction:
 * (B - A) - (C - A) - (D - A) = B - C - D + A, seed by seed.
 *
 * It is called one only if it has the same sign with every seed, and its median
 * is larger than all that layout and tick can do to the four values together:
 * the sum of the ranges of the four sides over the seeds.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "private.h"

enum { NONE, FIRST, SECOND, BOTH, N_SIDES };

/* A metric on the four sides, and what comes of it, by seed. */
struct quads {
	double *v[N_SIDES];
	double *change[N_SIDES];	/* percent of NONE */
	double *interaction;
	size_t n;
	bool percent;			/* no NONE is 0 */
};

/*
 * @r as if its side B were side C or D, for what looks at two sides.  Shares all
 * but its array of trials with @r.
 */
static struct result with_side(const struct result *r, int k)
{
	const struct two_by_two *t = &r->two_by_two;
	struct result view = *r;

	view.side[1] = t->side[k];
	view.reasons = view.notes = (struct strlist){ 0 };
	view.aa = false;
	view.trials = xcalloc(r->n_trials + t->n_trials, sizeof(*view.trials));
	view.n_trials = 0;
	for (size_t i = 0; i < r->n_trials; i++)
		if (r->trials[i].side == 'A')
			view.trials[view.n_trials++] = r->trials[i];
	for (size_t i = 0; i < t->n_trials; i++) {
		if (t->trials[i].side != 'C' + k)
			continue;
		view.trials[view.n_trials] = t->trials[i];
		view.trials[view.n_trials++].side = 'B';
	}
	return view;
}

/* What keeps C or D from being compared with A, but for what A has itself. */
static void check_side(struct result *r, struct result *view, int k)
{
	validity_check(view);
	for (size_t i = 0; i < view->reasons.n; i++)
		if (!strlist_has(&r->reasons, view->reasons.v[i]))
			strlist_addf(&r->two_by_two.reasons,
				     "with %c in B's place: %s", 'C' + k,
				     view->reasons.v[i]);
	strlist_free(&view->reasons);
}

static void quads_init(struct quads *q, size_t max)
{
	*q = (struct quads){ .percent = true };
	for (int s = 0; s < N_SIDES; s++) {
		q->v[s] = xcalloc(max, sizeof(double));
		q->change[s] = xcalloc(max, sizeof(double));
	}
	q->interaction = xcalloc(max, sizeof(double));
}

static void quads_free(struct quads *q)
{
	for (int s = 0; s < N_SIDES; s++) {
		free(q->v[s]);
		free(q->change[s]);
	}
	free(q->interaction);
}

static void quads_add(struct quads *q, const double v[N_SIDES])
{
	for (int s = 0; s < N_SIDES; s++) {
		q->v[s][q->n] = v[s];
		if (v[NONE] != 0)
			q->change[s][q->n] =
				(v[s] - v[NONE]) / fabs(v[NONE]) * 100;
		else
			q->percent = false;
	}
	q->interaction[q->n++] = v[BOTH] - v[FIRST] - v[SECOND] + v[NONE];
}

/* @views: with C and with D. */
static void quads_collect(struct quads *q, const struct result *r,
			  const struct result views[2],
			  const struct metric *metric)
{
	quads_init(q, r->n_trials + 1);
	for (size_t i = 0; i < r->n_trials; i++) {
		int64_t seed = r->trials[i].seed;
		const struct trial *t[N_SIDES] = {
			[NONE] = trial_find(r, 'A', seed),
			[FIRST] = trial_find(&views[0], 'B', seed),
			[SECOND] = trial_find(&views[1], 'B', seed),
			[BOTH] = trial_find(r, 'B', seed),
		};
		double v[N_SIDES];
		bool known = t[NONE] == &r->trials[i];

		for (int s = 0; s < N_SIDES && known; s++)
			known = t[s] && trial_value(metric, r, t[s], &v[s]);
		if (known)
			quads_add(q, v);
	}
}

static bool interacts(const struct quads *q)
{
	double min = stat_min(q->interaction, q->n);
	double max = stat_max(q->interaction, q->n), ranges = 0;

	for (int s = 0; s < N_SIDES; s++)
		ranges += stat_max(q->v[s], q->n) - stat_min(q->v[s], q->n);
	return (min > 0 || max < 0) &&
	       fabs(stat_median(q->interaction, q->n)) >
	       fmax(ranges, compare_least(stat_median(q->v[NONE], q->n), q->n));
}

static void add_row(struct two_by_two *t, const char *metric,
		    const struct quads *q)
{
	struct two_row *row;

	t->rows = xrealloc(t->rows, t->n_rows + 1, sizeof(*t->rows));
	row = &t->rows[t->n_rows++];
	*row = (struct two_row){
		.metric = xstrdup(metric),
		.a = stat_median(q->v[NONE], q->n),
		.c = stat_median(q->v[FIRST], q->n),
		.d = stat_median(q->v[SECOND], q->n),
		.b = stat_median(q->v[BOTH], q->n),
		.c_change_pct = NAN, .d_change_pct = NAN, .b_change_pct = NAN,
		.interaction = stat_median(q->interaction, q->n),
		.interaction_low = stat_min(q->interaction, q->n),
		.interaction_high = stat_max(q->interaction, q->n),
		.interaction_pct = NAN,
		.n = q->n,
		.interacts = t->valid && interacts(q),
	};
	if (!q->percent)
		return;
	row->c_change_pct = stat_median(q->change[FIRST], q->n);
	row->d_change_pct = stat_median(q->change[SECOND], q->n);
	row->b_change_pct = stat_median(q->change[BOTH], q->n);
	row->interaction_pct = row->interaction / fabs(row->a) * 100;
}

static void add_profiles(struct two_by_two *t)
{
	for (int s = 0; s < 2; s++) {
		profile_free(&t->profile[s]);
		t->profile[s] = (struct profile){ 0 };
	}
	for (size_t i = 0; i < t->n_trials; i++) {
		const struct trial *one = &t->trials[i];

		if (trial_usable(one) && one->profile.windows)
			profile_add(&t->profile[one->side == 'D'],
				    &one->profile);
	}
}

void two_by_two(struct result *r)
{
	struct two_by_two *t = &r->two_by_two;
	struct result views[2];

	two_by_two_forget(t);
	add_profiles(t);
	for (int k = 0; k < 2; k++) {
		views[k] = with_side(r, k);
		check_side(r, &views[k], k);
	}
	t->valid = r->valid && !t->reasons.n;
	for (size_t i = 0; i < r->n_rows; i++) {
		const struct metric *metric = metric_find(r->rows[i].metric);
		struct quads q;

		quads_collect(&q, r, views, metric);
		if (q.n)
			add_row(t, metric->name, &q);
		quads_free(&q);
	}
	for (int k = 0; k < 2; k++)
		free(views[k].trials);
}
