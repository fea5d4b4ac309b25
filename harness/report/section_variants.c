/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The rows that reviewers ask for, by the metric that decides, and in front of
 * them in words whatever is wrong with one: nobody should have to find it in a
 * table.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sections.h"

#define NAME_WIDTH	24
#define ROWS_SHOWN	12
#define ROWS_KEPT	10
#define INVALID_SHOWN	3

/* ---- the words --------------------------------------------------------------- */

static bool has_verdict(const struct result *r, enum verdict verdict)
{
	const struct row *row = result_decider(r);

	return r->valid && row && row->verdict == verdict;
}

/* Names of the rows with @verdict, between commas; NULL: none.  *n: how many. */
static char *names_with(const struct result *r, enum verdict verdict, size_t *n)
{
	char *list = NULL;

	*n = 0;
	for (size_t i = 0; i < r->n_variants; i++) {
		char *name, *longer;

		if (!has_verdict(r->variants[i].r, verdict))
			continue;
		name = clean_text(r->variants[i].name, "unnamed");
		longer = xasprintf("%s%s%s", list ? list : "",
				   list ? ", " : "", name);
		free(name);
		free(list);
		list = longer;
		(*n)++;
	}
	return list;
}

static void add_invalid(struct lines *l, const struct result *r)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n_variants; i++) {
		const struct result *v = r->variants[i].r;
		char *name, *why, *label;

		if (v->valid)
			continue;
		if (n++ >= INVALID_SHOWN)
			continue;
		name = clean_text(r->variants[i].name, "unnamed");
		why = clean_text(v->reasons.n ? v->reasons.v[0] : NULL,
				 "it was not analysed");
		label = xasprintf("INVALID row %s: ", name);
		lines_wrap(l, RANK_KEEP, RANK_MORE, 2, label, why);
		free(label);
		free(why);
		free(name);
	}
	if (n > INVALID_SHOWN)
		lines_add(l, RANK_KEEP, "INVALID: and %zu more rows",
			  n - INVALID_SHOWN);
}

/* Only if there is nothing else to say: "no row is slower: ...". */
static void add_fine(struct lines *l, const struct result *r, size_t faster)
{
	size_t same, valid = 0;

	for (size_t i = 0; i < r->n_variants; i++)
		valid += r->variants[i].r->valid;
	free(names_with(r, VERDICT_SAME, &same));
	if (!valid)
		return;
	lines_add(l, RANK_KEEP,
		  "rows: B is slower in none of %zu; faster in %zu, no difference in %zu",
		  valid, faster, same);
}

void section_variants_words(struct lines *l, const struct result *r)
{
	size_t slower, faster;
	char *list;

	free(names_with(r, VERDICT_FASTER, &faster));
	list = names_with(r, VERDICT_SLOWER, &slower);
	if (list)
		lines_wrap(l, RANK_KEEP, RANK_KEEP, 3, "B is SLOWER in row: ",
			   list);
	else
		add_fine(l, r, faster);
	free(list);
	add_invalid(l, r);
}

/* ---- the table ----------------------------------------------------------------- */

static void format_alike(char *buf, size_t len, const struct result *r)
{
	if (!r->valid)
		snprintf(buf, len, "INVALID");
	else if (r->alike_of)
		snprintf(buf, len, "%" PRId64 " of %" PRId64, r->alike,
			 r->alike_of);
	else
		snprintf(buf, len, "-");
}

static void add_row(struct lines *l, const struct variant *v, int rank)
{
	const struct row *row = result_decider(v->r);
	const struct metric *m = row ? metric_find(row->metric) : NULL;
	char *name = clean_start(v->name, "unnamed", NAME_WIDTH - 1);
	char a[32] = "-", b[32] = "-", change[32] = "-", alike[64];
	char low[32], high[32], range[80] = "-";

	format_alike(alike, sizeof(alike), v->r);
	if (row) {
		format_value(a, sizeof(a), metric_shown(m, row->a), m->digits);
		format_value(b, sizeof(b), metric_shown(m, row->b), m->digits);
	}
	if (row && v->r->valid && isfinite(row->change_pct)) {
		format_pct(change, sizeof(change), row->change_pct, true);
		strcat(change, " %");
		format_pct(low, sizeof(low), row->low_pct, false);
		format_pct(high, sizeof(high), row->high_pct, false);
		snprintf(range, sizeof(range), "%s..%s", low, high);
	}
	lines_add(l, rank, "%-*s%8s%9s%10s%15s%9s", NAME_WIDTH, name, a, b,
		  change, range, alike);
	free(name);
}

/* What the table is of: the run's own first metric, or a row's. */
static const struct metric *metric_of(const struct result *r)
{
	const struct row *row = result_decider(r);

	for (size_t i = 0; i < r->n_variants && !row; i++)
		row = result_decider(r->variants[i].r);
	return row ? metric_find(row->metric) : NULL;
}

static void add_table(struct lines *l, const struct result *r)
{
	const struct metric *m = metric_of(r);
	char head[64];

	snprintf(head, sizeof(head), "rows: %.18s", m ? m->title : "");
	/* The last one to go: two tables have to stay apart. */
	lines_add(l, RANK_KEEP, "%s", "");
	lines_add(l, RANK_KEEP, "%-*s%8s%9s%10s%15s%9s", NAME_WIDTH, head, "A",
		  "B", "change", "range", "alike");
	for (size_t i = 0; i < r->n_variants && i < ROWS_SHOWN; i++)
		add_row(l, &r->variants[i],
			i < ROWS_KEPT ? RANK_KEEP : RANK_ROW);
	if (r->n_variants > ROWS_SHOWN)
		lines_add(l, RANK_ROW, "(%zu more rows in result.json)",
			  r->n_variants - ROWS_SHOWN);
}

/* How a row was not alike, with the first such seed; its own report has all. */
static void add_otherwise(struct lines *l, const struct result *r)
{
	for (size_t i = 0; i < r->n_variants; i++) {
		const struct result *v = r->variants[i].r;
		char *name, *text, *label;

		if (!v->valid || !v->n_diffs)
			continue;
		name = clean_text(r->variants[i].name, "unnamed");
		text = clean_text(v->diffs[0].text, "");
		label = xasprintf("  %s, seed %" PRId64 ": ", name,
				  v->diffs[0].seed);
		lines_wrap(l, RANK_DIFF, RANK_MORE, 2, label, text);
		free(label);
		free(text);
		free(name);
	}
}

void section_variants(struct lines *l, const struct result *r)
{
	if (!r->n_variants)
		return;
	section_variants_words(l, r);
	add_table(l, r);
	add_otherwise(l, r);
}
