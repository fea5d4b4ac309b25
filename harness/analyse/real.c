/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Rows on real clocks, where values have noise, and boots differ: pages lie
 * elsewhere, and caches and allocators begin otherwise.  So the boot is what is
 * repeated; passes within one only tell it better.
 *
 *  - A boot counts with the median of its passes behind the warm-up: one pass
 *    that a host disturbed moves nothing.
 *  - The change is that of the boots' geometric means, its 95 % interval Welch's
 *    t of their logarithms; of values that can be 0, arithmetic and no logarithms.
 *  - p is by permutation of the boots, adjusted for the number of rows (Holm).
 *  - A difference is claimed if p is at most 5 % and the interval has no 0 in it.
 *
 * test_real simulates how often such an interval holds the truth, and how often a
 * hierarchical bootstrap's would.  docs/method.md says the same to readers: keep
 * the two alike.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "private.h"

#define ALPHA	0.05

/* ---- boots ---------------------------------------------------------------------- */

/* Runs that don't tell their boot are taken to be of different ones. */
static struct stat_group *boot_of(struct boots *b, const struct trial *t)
{
	for (size_t i = 0; t->boot && i < b->n; i++)
		if (b->name[i] && !strcmp(b->name[i], t->boot))
			return &b->boot[i];
	b->boot = xrealloc(b->boot, b->n + 1, sizeof(*b->boot));
	b->name = xrealloc(b->name, b->n + 1, sizeof(*b->name));
	b->name[b->n] = t->boot;
	b->boot[b->n] = (struct stat_group){ 0 };
	return &b->boot[b->n++];
}

void boots_collect(struct boots *b, const struct result *r,
		   const struct metric *metric, char side)
{
	size_t n;

	*b = (struct boots){ 0 };
	for (size_t i = 0; i < r->n_trials; i++) {
		const struct trial *t = &r->trials[i];
		struct stat_group *g;
		double *v;

		if (t->side != side || !trial_usable(t))
			continue;
		v = trial_values(metric, r, t, &n);
		if (n) {
			g = boot_of(b, t);
			g->v = xrealloc(g->v, g->n + n, sizeof(*g->v));
			memcpy(g->v + g->n, v, n * sizeof(*v));
			g->n += n;
		}
		free(v);
	}
	b->median = xcalloc(b->n + 1, sizeof(*b->median));
	for (size_t i = 0; i < b->n; i++)
		b->median[i] = stat_median(b->boot[i].v, b->boot[i].n);
}

void boots_free(struct boots *b)
{
	for (size_t i = 0; i < b->n; i++)
		free(b->boot[i].v);
	free(b->boot);
	free(b->name);
	free(b->median);
}

void boots_count(const struct result *r, char side, size_t *boots,
		 size_t *passes)
{
	struct boots b = { 0 };

	*passes = 0;
	for (size_t i = 0; i < r->n_trials; i++) {
		const struct trial *t = &r->trials[i];

		if (t->side != side || !trial_usable(t))
			continue;
		boot_of(&b, t);
		*passes += t->n_samples - trial_first_sample(t);
	}
	*boots = b.n;
	boots_free(&b);
}

/* ---- a row ------------------------------------------------------------------------ */

/* What is compared: a value a boot; where a side has one boot, its passes. */
struct units {
	double *v[2];
	size_t n[2];
	double spread_pct[2];	/* of them, before they became logarithms */
	bool logs;
	bool boots;
};

static void units_free(struct units *u)
{
	free(u->v[0]);
	free(u->v[1]);
}

static void units_of(struct units *u, const struct boots b[2])
{
	*u = (struct units){
		.boots = b[0].n > 1 && b[1].n > 1,
		.logs = true,
	};
	for (int s = 0; s < 2; s++) {
		bool one = b[s].n == 1 && !u->boots;
		const double *from = one ? b[s].boot[0].v : b[s].median;

		u->n[s] = one ? b[s].boot[0].n : b[s].n;
		u->v[s] = xcalloc(u->n[s], sizeof(double));
		memcpy(u->v[s], from, u->n[s] * sizeof(double));
		u->spread_pct[s] = stat_stdev_pct(from, u->n[s]);
		u->logs = u->logs && stat_min(from, u->n[s]) > 0;
	}
	for (int s = 0; s < 2 && u->logs; s++)
		for (size_t i = 0; i < u->n[s]; i++)
			u->v[s][i] = log(u->v[s][i]);
}

static double mean(const double *v, size_t n)
{
	double sum = 0;

	/* Not through the sum when all are alike: that one may round. */
	if (stat_min(v, n) == stat_max(v, n))
		return v[0];
	for (size_t i = 0; i < n; i++)
		sum += v[i] / (double)n;
	return sum;
}

/* A difference of units in percent of A, whose mean unit is @a. */
static double percent(const struct units *u, double a, double difference)
{
	if (u->logs)
		return expm1(difference) * 100;
	return a != 0 ? difference / fabs(a) * 100 : difference == 0 ? 0 : NAN;
}

static void fill_row(struct row *row, const struct units *u)
{
	double a = mean(u->v[0], u->n[0]), b = mean(u->v[1], u->n[1]);
	struct welch w;

	row->a = u->logs ? exp(a) : a;
	row->b = u->logs ? exp(b) : b;
	row->change_pct = percent(u, a, b - a);
	row->a_stdev_pct = u->spread_pct[0];
	row->b_stdev_pct = u->spread_pct[1];
	row->low_pct = row->high_pct = row->detectable_pct = NAN;
	if (u->n[0] < 2 || u->n[1] < 2)
		return;
	stat_welch(u->v[0], u->n[0], u->v[1], u->n[1], &w);
	row->low_pct = percent(u, a, b - a - w.half);
	row->high_pct = percent(u, a, b - a + w.half);
	row->detectable_pct = percent(u, a, w.detectable);
	row->has_p = true;
	row->p_alone = u->boots ?
		stat_permutation_p(u->v[0], u->n[0], u->v[1], u->n[1]) :
		stat_mann_whitney_p(u->v[0], u->n[0], u->v[1], u->n[1]);
	row->p = row->p_alone;
}

static void add_row(struct result *r, const struct metric *metric)
{
	struct boots b[2];
	struct units u;
	bool known;

	for (int s = 0; s < 2; s++)
		boots_collect(&b[s], r, metric, 'A' + s);
	known = b[0].n && b[1].n;
	if (known) {
		struct row *row;

		units_of(&u, b);
		r->rows = xrealloc(r->rows, r->n_rows + 1, sizeof(*r->rows));
		row = &r->rows[r->n_rows++];
		*row = (struct row){
			.metric = xstrdup(metric->name),
			.n = (int64_t)(b[0].n < b[1].n ? b[0].n : b[1].n),
			.verdict = metric->better ? VERDICT_SAME :
						    VERDICT_NONE,
		};
		fill_row(row, &u);
		units_free(&u);
	}
	for (int s = 0; s < 2; s++)
		boots_free(&b[s]);
}

/* ---- verdicts ----------------------------------------------------------------------- */

/* Where nothing varies and nothing differs, chance has nothing to find. */
static bool tested(const struct row *row)
{
	return row->has_p && row->verdict != VERDICT_NONE &&
	       !(row->change_pct == 0 && row->detectable_pct == 0);
}

/* The least p that so many boots can give. */
static double least_p(size_t a, size_t b)
{
	double all = 1;

	for (size_t i = 1; i <= a; i++)
		all = all * (double)(b + i) / (double)i;
	/* Of sides of one size the opposite way is as far. */
	return (a == b ? 2 : 1) / all;
}

static void judge(struct row *row, bool boots)
{
	const struct metric *m = metric_find(row->metric);

	if (!boots || row->p > ALPHA ||
	    !(row->low_pct > 0 || row->high_pct < 0))
		return;
	row->verdict = (row->change_pct > 0) == (m->better > 0) ?
		VERDICT_FASTER : VERDICT_SLOWER;
}

void real_verdicts(struct result *const *r, size_t n_results)
{
	struct row **rows = NULL;
	double *p = NULL;
	size_t n = 0;

	for (size_t k = 0; k < n_results; k++)
		for (size_t i = 0; i < r[k]->n_rows; i++) {
			struct row *row = &r[k]->rows[i];

			if (!tested(row))
				continue;
			rows = xrealloc(rows, n + 1, sizeof(*rows));
			p = xrealloc(p, n + 1, sizeof(*p));
			p[n] = row->p_alone;
			rows[n++] = row;
		}
	if (n)
		stat_holm(p, n);
	for (size_t i = 0; i < n; i++) {
		rows[i]->p = p[i];
		judge(rows[i], rows[i]->n > 1);
	}
	free(p);
	free(rows);
}

/* ---- notes ------------------------------------------------------------------------ */

static void note_unproven(struct result *r)
{
	char *list = xstrdup(""), *longer, seen[48];

	for (size_t i = 0; i < r->n_rows; i++) {
		const struct row *row = &r->rows[i];

		if (row->verdict != VERDICT_SAME)
			continue;
		*seen = '\0';
		if (isfinite(row->detectable_pct) && row->n > 1)
			snprintf(seen, sizeof(seen), " (could have seen %.2g %%)",
				 row->detectable_pct);
		longer = xasprintf("%s%s%s%s", list, *list ? ", " : "",
				   metric_find(row->metric)->title, seen);
		free(list);
		list = longer;
	}
	if (*list)
		strlist_addf(&r->notes, "no difference proven: %s", list);
	free(list);
}

static void note_boots(struct result *r)
{
	size_t boots[2], passes, fewest, rows = 0, enough = 2;
	double least;

	for (int s = 0; s < 2; s++)
		boots_count(r, 'A' + s, &boots[s], &passes);
	fewest = boots[0] < boots[1] ? boots[0] : boots[1];
	for (size_t i = 0; i < r->n_rows; i++)
		rows += tested(&r->rows[i]);
	least = fmin(1, least_p(boots[0], boots[1]) * (double)rows);
	while (least_p(enough, enough) * (double)rows > ALPHA)
		enough++;
	if (!rows || (fewest >= 2 && least <= ALPHA))
		return;
	if (fewest < 2)
		strlist_addf(&r->notes,
			     "a side has one boot: interval and p are of its passes, and what a reboot alone changes is in the difference; nothing is claimed below %zu boots a side (%zu row%s)",
			     enough, rows, rows == 1 ? "" : "s");
	else
		strlist_addf(&r->notes,
			     "%zu and %zu boots can prove nothing in %zu row%s: p is %.2g at best; %zu a side can",
			     boots[0], boots[1], rows, rows == 1 ? "" : "s",
			     least, enough);
}

/* ---- all of it ------------------------------------------------------------------------ */

static const struct metric *decider(const struct result *r)
{
	for (size_t i = 0; i < r->n_rows; i++) {
		const struct metric *m = metric_find(r->rows[i].metric);

		if (m->better)
			return m;
	}
	return NULL;
}

void real_rows(struct result *r)
{
	validity_check_real(r);
	sum_profiles(r);
	for (size_t i = 0; i < r->wanted.n; i++) {
		const struct metric *m = metric_find(r->wanted.v[i]);

		if (m)
			add_row(r, m);
	}
	if (!r->n_rows)
		strlist_add(&r->reasons, "no metric is known on both sides");
}

static bool has_row(const struct result *r, const char *metric)
{
	for (size_t i = 0; i < r->n_rows; i++)
		if (!strcmp(r->rows[i].metric, metric))
			return true;
	return false;
}

void real_say(struct result *r)
{
	const struct metric *first = decider(r);
	struct strlist missing = { 0 };

	if (!r->reasons.n) {
		note_unproven(r);
		note_boots(r);
		if (first)
			real_notes(r, first);
	}
	for (size_t i = 0; i < r->wanted.n; i++)
		if (!has_row(r, r->wanted.v[i]))
			strlist_add(&missing, r->wanted.v[i]);
	note_missing(r, &missing);
	strlist_free(&missing);
}
