/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a reader must know of the samples behind a row: some far from the
 * others, a trend, a first pass that is unlike the rest.  None is dropped.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "private.h"

#define FAR		3.5	/* modified Z (Iglewicz and Hoaglin) */
#define SURE		0.01	/* a note is for what chance hardly does */
#define FEW		5	/* groups of less have no trend worth a test */

/* ---- outliers ---------------------------------------------------------------------- */

struct far {
	size_t n, of;
	double times;		/* the farthest: times its boot's median */
	const char *boot;
	char side;
};

/* How far a boot's passes are from its median, in parts of that. */
static double away(const struct boots *b, size_t boot, size_t pass)
{
	double median = b->median[boot];

	return median != 0 ? b->boot[boot].v[pass] / median - 1 :
			     b->boot[boot].v[pass];
}

/* The spread is that of all boots: ten passes tell one badly. */
static void find_far(const struct boots *b, char side, struct far *far)
{
	double *sizes, mad, most = 0;
	size_t n = 0;

	for (size_t i = 0; i < b->n; i++)
		n += b->boot[i].n;
	sizes = xcalloc(n + 1, sizeof(*sizes));
	n = 0;
	for (size_t i = 0; i < b->n; i++)
		for (size_t k = 0; k < b->boot[i].n; k++)
			sizes[n++] = fabs(away(b, i, k));
	far->of += n;
	mad = n ? stat_median(sizes, n) : 0;
	for (size_t i = 0; i < b->n && mad > 0; i++)
		for (size_t k = 0; k < b->boot[i].n; k++) {
			double d = away(b, i, k);

			if (stat_modified_z(d, mad) <= FAR)
				continue;
			far->n++;
			if (fabs(d) > most &&
			    fabs(d) > fabs(far->times - 1)) {
				most = fabs(d);
				far->times = d + 1;
				far->boot = b->name[i];
				far->side = side;
			}
		}
	free(sizes);
}

static void note_far(struct result *r, const struct metric *m,
		     const struct boots b[2])
{
	struct far far = { .times = 1 };

	for (int s = 0; s < 2; s++)
		find_far(&b[s], 'A' + s, &far);
	if (far.n)
		strlist_addf(&r->notes,
			     "%zu of %zu passes are far from their boot's median (modified Z above %g), the farthest %.2f times it (%c%s%.8s); none is left out",
			     far.n, far.of, FAR, far.times, far.side,
			     far.boot ? " boot " : "",
			     far.boot ? far.boot : "");
}

/* ---- drift -------------------------------------------------------------------------- */

static void note_trend(struct result *r, const struct metric *m, char side,
		       const struct boots *b)
{
	struct stat_group medians = { b->median, b->n };
	double direction, p = stat_trend_p(b->boot, b->n, &direction);
	size_t longest = 0;

	for (size_t i = 0; i < b->n; i++)
		if (b->boot[i].n > longest)
			longest = b->boot[i].n;
	if (longest >= FEW && p < SURE)
		strlist_addf(&r->notes,
			     "%c: %s %s from pass to pass of a boot (trend, p %.2g)",
			     side, m->title, direction > 0 ? "rises" : "falls",
			     p);
	p = stat_trend_p(&medians, 1, &direction);
	if (b->n >= FEW && p < SURE)
		strlist_addf(&r->notes,
			     "%c: %s %s from boot to boot (trend, p %.2g)",
			     side, m->title, direction > 0 ? "rises" : "falls",
			     p);
}

/* The first pass that counts is its boot's worst more often than by chance. */
static void note_first(struct result *r, const struct metric *m, char side,
		       const struct boots *b)
{
	size_t worst = 0, of = 0, passes = 0;

	for (size_t i = 0; i < b->n; i++) {
		const struct stat_group *g = &b->boot[i];
		double first = g->v[0];

		if (g->n < 3)
			continue;
		of++;
		passes += g->n;
		worst += m->better < 0 ? first > stat_max(g->v + 1, g->n - 1) :
					 first < stat_min(g->v + 1, g->n - 1);
	}
	if (of && stat_at_least_p(worst, of, (double)of / (double)passes) < SURE)
		strlist_addf(&r->notes,
			     "%c: the first pass behind the warm-up is the worst in %zu of %zu boots: one pass of warm-up is not enough",
			     side, worst, of);
}

/* Boots in the order in which they began: is one side before the other? */
static void note_order(struct result *r)
{
	int64_t first[2] = { INT64_MAX, INT64_MAX }, last[2] = { 0, 0 };
	size_t boots[2], passes;

	for (size_t i = 0; i < r->n_trials; i++) {
		const struct trial *t = &r->trials[i];
		int s = t->side == 'B';

		if (!t->started)
			return;		/* it can't be told */
		if (t->started < first[s])
			first[s] = t->started;
		if (t->started > last[s])
			last[s] = t->started;
	}
	for (int s = 0; s < 2; s++)
		boots_count(r, 'A' + s, &boots[s], &passes);
	if (boots[0] > 1 && boots[1] > 1 &&
	    (last[0] < first[1] || last[1] < first[0]))
		strlist_addf(&r->notes,
			     "all boots of %c came before all of %c: what changed on the host meanwhile looks like a difference; take turns (A B B A)",
			     last[0] < first[1] ? 'A' : 'B',
			     last[0] < first[1] ? 'B' : 'A');
}

void real_notes(struct result *r, const struct metric *metric)
{
	struct boots b[2];

	for (int s = 0; s < 2; s++)
		boots_collect(&b[s], r, metric, 'A' + s);
	note_order(r);
	note_far(r, metric, b);
	for (int s = 0; s < 2; s++) {
		note_trend(r, metric, 'A' + s, &b[s]);
		note_first(r, metric, 'A' + s, &b[s]);
	}
	for (int s = 0; s < 2; s++)
		boots_free(&b[s]);
}
