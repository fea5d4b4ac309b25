/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The functions whose own instructions changed most, per page reclaimed or
 * cleared; on a real clock, whose share of the samples did.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sections.h"

#define FUNCTIONS_SHOWN	8
#define FUNCTIONS_KEPT	5	/* until nothing else is left to go */
#define FUNCTION_WIDTH	41
#define CALLS_WIDTH	40
#define CHANGE_SHOWN	0.05	/* rounds to 0.1 */

static int by_name(const void *va, const void *vb)
{
	const struct function_cost *a = va, *b = vb;

	return strcmp(a->name, b->name);
}

static int by_change(const void *va, const void *vb)
{
	const struct function_cost *a = va, *b = vb;
	double of_a = fabs(a->self[1] - a->self[0]);
	double of_b = fabs(b->self[1] - b->self[0]);

	if (of_a != of_b)
		return of_a < of_b ? 1 : -1;
	return strcmp(a->name, b->name);
}

/* 4 KiB pages that the window was about. */
static double pages_of(const struct result *r, const struct sample *s)
{
	double pages = 0;

	if (subject_of(r->workload) != SUBJECT_CLEAR)
		return counters_value(&s->counters, "memcg.pgsteal");
	for (int order = 0; order < MAX_ORDER_SEEN; order++)
		pages += s->order_pages[order];
	return pages;
}

/*
 * Pages of the windows that the profile of @side is of; 0: it can't
 * be known which these are.  A window was profiled if and only if the plugin
 * counted it.
 */
static double pages_profiled(const struct result *r, int side)
{
	double pages = 0;
	int64_t windows = 0, v;

	for (size_t i = 0; i < r->n_trials; i++) {
		const struct trial *t = &r->trials[i];

		if (t->side != 'A' + side || !t->done || t->failed)
			continue;
		for (size_t j = 0; j < t->n_samples; j++) {
			const struct counters *c = &t->samples[j].counters;

			if (!counters_get(c, "plugin.kernel_instructions", &v))
				continue;
			windows++;
			pages += pages_of(r, &t->samples[j]);
		}
	}
	return windows == r->profile[side].windows ? pages : 0;
}

/* Both sides' functions, one entry a name; *n of them.  Caller frees. */
static struct function_cost *merge(const struct result *r, const double pages[2],
			  size_t *n)
{
	size_t all = r->profile[0].n_fn + r->profile[1].n_fn, out = 0;
	struct function_cost *v = xcalloc(all, sizeof(*v));

	*n = 0;
	for (int s = 0; s < 2; s++)
		for (size_t i = 0; i < r->profile[s].n_fn; i++) {
			const struct profile_fn *f = &r->profile[s].fn[i];

			v[*n].name = f->name;
			v[*n].inclusive[s] = f->inclusive / pages[s];
			v[(*n)++].self[s] = f->self / pages[s];
		}
	qsort(v, *n, sizeof(*v), by_name);
	for (size_t i = 0; i < *n; i++) {
		if (out && !strcmp(v[out - 1].name, v[i].name)) {
			for (int s = 0; s < 2; s++) {
				v[out - 1].self[s] += v[i].self[s];
				v[out - 1].inclusive[s] += v[i].inclusive[s];
			}
		} else {
			v[out++] = v[i];
		}
	}
	*n = out;
	qsort(v, *n, sizeof(*v), by_change);
	return v;
}

static void add_function(struct lines *l, int rank, const struct function_cost *f)
{
	char *name = clean_text(f->name, ""), *shown;
	char a[32], b[32], change[32];

	if (strlen(name) > FUNCTION_WIDTH) {
		free(name);
		name = clean_start(f->name, "", FUNCTION_WIDTH - 3);
		shown = xasprintf("%s...", name);
	} else {
		shown = xstrdup(name);
	}
	format_value(a, sizeof(a), f->self[0], 1);
	format_value(b, sizeof(b), f->self[1], 1);
	change[0] = f->self[1] < f->self[0] ? '-' : '+';
	format_value(change + 1, sizeof(change) - 1,
		     fabs(f->self[1] - f->self[0]), 1);
	lines_add(l, rank, "%-*s%11s%11s%11s", FUNCTION_WIDTH, shown, a, b,
		  change);
	free(shown);
	free(name);
}

/* What a function's figures are divided by: pages, or a hundredth of the samples. */
static double divisor(const struct result *r, int side)
{
	if (on_real_clock(r))
		return r->profile[side].kernel_instructions / 100.;
	return pages_profiled(r, side);
}

struct function_cost *functions_of(const struct result *r, size_t *n)
{
	double pages[2] = { divisor(r, 0), divisor(r, 1) };

	*n = 0;
	if (!r->valid || pages[0] <= 0 || pages[1] <= 0 ||
	    !r->profile[0].n_fn || !r->profile[1].n_fn)
		return NULL;
	return merge(r, pages, n);
}

void section_functions(struct lines *l, const struct result *r)
{
	size_t n;
	struct function_cost *v = functions_of(r, &n);

	/* Of what does not change as it is shown there is nothing to tell. */
	while (n && fabs(v[n - 1].self[1] - v[n - 1].self[0]) < CHANGE_SHOWN)
		n--;
	if (n) {
		lines_add(l, RANK_BLANK, "%s", "");
		lines_add(l, RANK_FUNCTIONS, "%-*s%11s%11s%11s", FUNCTION_WIDTH,
			  on_real_clock(r) ?
			  "own % of the samples, largest changes" :
			  "own instructions per page, largest changes", "A",
			  "B", "B - A");
	}
	for (size_t i = 0; i < n && i < FUNCTIONS_SHOWN; i++)
		add_function(l, i < FUNCTIONS_KEPT ? RANK_FUNCTIONS :
						     RANK_FUNCTION + (int)i,
			     &v[i]);
	free(v);
}

/* Shares of the samples, of a run on this host. */
void section_samples(struct lines *l, const struct result *r)
{
	const struct profile *p = &r->profile[0];
	double all = p->kernel_instructions;

	if (all <= 0 || !p->n_fn)
		return;
	lines_add(l, RANK_BLANK, "%s", "");
	lines_add(l, RANK_FUNCTIONS, "%-*s%11s%14s", FUNCTION_WIDTH,
		  "share of the samples in the kernel", "own",
		  "with callees");
	for (size_t i = 0; i < p->n_fn && i < FUNCTIONS_SHOWN; i++) {
		const struct profile_fn *f = &p->fn[i];
		char *name = clean_start(f->name, "", FUNCTION_WIDTH - 1);

		lines_add(l, i < FUNCTIONS_KEPT ? RANK_FUNCTIONS :
						  RANK_FUNCTION + (int)i,
			  "%-*s%9.1f %%%12.1f %%", FUNCTION_WIDTH, name,
			  f->self / all * 100, f->inclusive / all * 100);
		free(name);
	}
}

/* Those with the most time of their own, as ftrace counts it. */
void section_calls(struct lines *l, const struct result *r)
{
	const struct profile *p = &r->calls;

	if (!p->n_fn)
		return;
	lines_add(l, RANK_BLANK, "%s", "");
	lines_add(l, RANK_FUNCTIONS, "%-*s%11s%11s%13s", CALLS_WIDTH,
		  "calls and ms in the kernel, by ftrace", "calls", "own",
		  "with callees");
	for (size_t i = 0; i < p->n_fn && i < FUNCTIONS_SHOWN; i++) {
		const struct profile_fn *f = &p->fn[i];
		char *name = clean_start(f->name, "", CALLS_WIDTH - 1);

		lines_add(l, i < FUNCTIONS_KEPT ? RANK_FUNCTIONS :
						  RANK_FUNCTION + (int)i,
			  "%-*s%11" PRId64 "%11.2f%13.2f", CALLS_WIDTH, name,
			  f->calls, f->self / 1e6, f->inclusive / 1e6);
		free(name);
	}
}
