/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Two series, each alone and both: do they add up?
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sections.h"

#define NAME_WIDTH	17
#define ROWS_SHOWN	10
#define ROWS_KEPT	6

/* A change in percent, at most 5 bytes: there are four of them in a line. */
static void format_change(char *buf, size_t len, double pct)
{
	double size = fabs(pct);

	if (!isfinite(pct))
		snprintf(buf, len, "-");
	else if (pct == 0)
		snprintf(buf, len, "0.00");
	else if (size > 9999)
		snprintf(buf, len, "%s", pct > 0 ? ">9999" : "<-999");
	else
		snprintf(buf, len, "%+.*f", size < 9.995 ? 2 : size < 99.95,
			 pct);
}

static char *short_name(const char *title)
{
	char *name = clean_text(title, ""), *start;

	if (strlen(name) > NAME_WIDTH) {
		start = clean_start(title, "", NAME_WIDTH - 3);
		free(name);
		name = xasprintf("%s...", start);
		free(start);
	}
	return name;
}

static void add_row(struct lines *l, const struct two_by_two *t,
		    const struct two_row *row, int rank)
{
	const struct metric *m = metric_find(row->metric);
	const double values[] = { row->a, row->c, row->d, row->b };
	const double changes[] = { row->c_change_pct, row->d_change_pct,
				   row->b_change_pct, row->interaction_pct };
	char v[4][32], change[4][32];
	char *name = short_name(m ? m->title : row->metric);

	for (int i = 0; i < 4; i++) {
		format_value(v[i], sizeof(v[i]), metric_shown(m, values[i]),
			     m ? m->digits : 1);
		format_change(change[i], sizeof(change[i]),
			      t->valid ? changes[i] : NAN);
	}
	lines_add(l, rank, "%-*s%8s%8s%6s%8s%6s%8s%6s%8s", NAME_WIDTH, name,
		  v[0], v[1], change[0], v[2], change[1], v[3], change[2],
		  change[3]);
	free(name);
}

/* A count of which neither way is better, and that is the same on all sides. */
static bool is_same(const struct two_row *row)
{
	const struct metric *m = metric_find(row->metric);

	return m && !m->better && row->c == row->a && row->d == row->a &&
	       row->b == row->a;
}

static void add_verdict(struct lines *l, const struct two_by_two *t)
{
	char *list = NULL, *longer;

	for (size_t i = 0; i < t->n_rows; i++) {
		const struct metric *m = metric_find(t->rows[i].metric);

		if (!t->rows[i].interacts || !m)
			continue;
		longer = xasprintf("%s%s%s", list ? list : "",
				   list ? ", " : "", m->title);
		free(list);
		list = longer;
	}
	if (list)
		lines_wrap(l, RANK_KEEP, RANK_MORE, 2, "they interact in: ",
			   list);
	else
		lines_add(l, RANK_KEEP,
			  "the two series add up: no interaction proven");
	free(list);
}

/* "+SERIES" of C or D, beside what the line above said of A and B. */
static char *alone(const struct two_by_two *t, int k)
{
	return clean_text(t->series[k] ? t->series[k] : t->side[k].spec,
			  "not known");
}

static void add_sides(struct lines *l, const struct two_by_two *t)
{
	char *c = alone(t, 0), *d = alone(t, 1);
	char *text = xasprintf("C: A+%s, D: A+%s; inter. = (B - C - D + A) / A",
			       c, d);

	lines_wrap(l, RANK_KEEP, RANK_KEEP, 2, "", text);
	free(text);
	free(d);
	free(c);
}

void section_two_by_two(struct lines *l, const struct result *r)
{
	const struct two_by_two *t = &r->two_by_two;
	size_t n = 0;

	if (!t->asked)
		return;
	/* The last one to go: two tables have to stay apart. */
	lines_add(l, RANK_KEEP, "%s", "");
	lines_add(l, RANK_KEEP, "%-*s%8s%8s%6s%8s%6s%8s%6s%8s", NAME_WIDTH,
		  "two by two", "A", "C", "%", "D", "%", "B", "%", "inter.%");
	for (size_t i = 0; i < t->n_rows; i++) {
		if (is_same(&t->rows[i]))
			continue;
		if (n < ROWS_SHOWN)
			add_row(l, t, &t->rows[i],
				n < ROWS_KEPT ? RANK_KEEP : RANK_ROW);
		n++;
	}
	if (n > ROWS_SHOWN)
		lines_add(l, RANK_ROW, "(%zu more rows in result.json)",
			  n - ROWS_SHOWN);
	add_sides(l, t);
	if (t->valid) {
		add_verdict(l, t);
	} else if (r->valid) {
		char *why = clean_text(t->reasons.n ? t->reasons.v[0] : NULL,
				       "it was not analysed");

		lines_wrap(l, RANK_KEEP, RANK_MORE, 3,
			   "INVALID, claims nothing: ", why);
		free(why);
	}
}
