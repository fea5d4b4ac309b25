/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Old, new, change, and how far both went over the seeds.  A run that is not
 * valid shows what was counted, and no change.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sections.h"

#define NAME_WIDTH	22
#define ROWS_SHOWN	10
#define ROWS_KEPT	6

/* Footnotes, in the order in which their rows stand in the table of metrics. */
enum footnote {
	FOOT_INSTRUCTIONS, FOOT_SYS, FOOT_USER, FOOT_FOLIOS, FOOT_DELAY,
	FOOT_SHARE, N_FOOT
};

static int footnote_of(const char *metric)
{
	static const struct {
		const char *metric;
		enum footnote footnote;
	} notes[] = {
		{ "reclaim.instructions_per_page", FOOT_INSTRUCTIONS },
		{ "reclaim.sys_seconds", FOOT_SYS },
		{ "reclaim.tlbi_per_folio", FOOT_FOLIOS },
		{ "reclaim.dsb_per_folio", FOOT_FOLIOS },
		{ "clear.instructions_per_page", FOOT_INSTRUCTIONS },
		{ "clear.sys_seconds", FOOT_SYS },
		{ "clear.user_seconds", FOOT_SYS },
		{ "clear.user_instructions_per_page", FOOT_USER },
		{ "latency.max_seconds", FOOT_DELAY },
		{ "latency.max_mib", FOOT_DELAY },
	};

	for (size_t i = 0; i < ARRAY_SIZE(notes); i++)
		if (!strcmp(metric, notes[i].metric))
			return notes[i].footnote;
	return metric_share(metric) ? FOOT_SHARE : -1;
}

/* Number of each footnote that some row needs, from 1; 0: not needed. */
static void number_footnotes(const struct result *r, int number[N_FOOT])
{
	bool used[N_FOOT] = { false };
	int n = 0;

	for (size_t i = 0; i < r->n_rows && i < ROWS_SHOWN; i++) {
		int f = footnote_of(r->rows[i].metric);

		if (f >= 0)
			used[f] = true;
	}
	for (int f = 0; f < N_FOOT; f++)
		number[f] = used[f] ? ++n : 0;
}

/* Rows read back from a file may have a metric that this folab lacks. */
const char *row_title(const struct row *row)
{
	const struct metric *m = metric_find(row->metric);

	return m ? m->title : row->metric;
}

static void format_name(char *buf, size_t len, const struct row *row,
			const int number[N_FOOT])
{
	int f = footnote_of(row->metric);
	char *title = clean_text(row_title(row), "");
	char mark[16] = "";
	int room;

	if (f >= 0 && f != FOOT_SHARE)
		snprintf(mark, sizeof(mark), " [%d]", number[f]);
	room = NAME_WIDTH - (int)strlen(mark);
	if ((int)strlen(title) > room) {
		free(title);
		title = clean_start(row_title(row), "", room - 3);
		snprintf(buf, len, "%s...%s", title, mark);
	} else {
		snprintf(buf, len, "%s%s", title, mark);
	}
	free(title);
}

/* " +-0.6%" with the sign that means both; at most 7 bytes. */
static void format_stdev(char *buf, size_t len, double pct)
{
	if (!isfinite(pct) || pct < 0)
		snprintf(buf, len, "%s", "");
	else if (pct > 999)
		snprintf(buf, len, " >999%%");
	else
		snprintf(buf, len, " ±%.*f%%", pct < 9.95 ? 1 : 0, pct);
}

/*
 * "±" is two bytes and one column.  printf() counts bytes, so a field with it
 * is a byte wider.
 */
static int wider(const char *s)
{
	return strstr(s, "±") != NULL;
}

static void add_row(struct lines *l, const struct result *r,
		    const struct row *row, int rank, const int number[N_FOOT])
{
	const struct metric *m = metric_find(row->metric);
	char name[64], a[32], b[32], sa[32], sb[32], change[32] = "-";
	char low[32], high[32], range[80] = "-";
	int digits = m ? m->digits : 1;

	format_name(name, sizeof(name), row, number);
	format_value(a, sizeof(a), metric_shown(m, row->a), digits);
	format_value(b, sizeof(b), metric_shown(m, row->b), digits);
	format_stdev(sa, sizeof(sa), row->a_stdev_pct);
	format_stdev(sb, sizeof(sb), row->b_stdev_pct);
	if (r->valid && isfinite(row->change_pct)) {
		format_pct(change, sizeof(change), row->change_pct, true);
		strcat(change, " %");
		format_pct(low, sizeof(low), row->low_pct, false);
		format_pct(high, sizeof(high), row->high_pct, false);
		snprintf(range, sizeof(range), "%s..%s", low, high);
	}
	lines_add(l, rank, "%-*s%8s%-*s%8s%-*s%9s%14s", NAME_WIDTH, name, a,
		  6 + wider(sa), sa, b, 6 + wider(sb), sb, change, range);
}

/* A count of which neither way is better, and that did not change. */
static bool is_same(const struct row *row)
{
	const struct metric *m = metric_find(row->metric);

	return m && !m->better && row->low_pct == 0 && row->high_pct == 0;
}

/* These share a line: a column for each side would hold nothing new. */
static void add_same(struct lines *l, const struct result *r)
{
	char *text = NULL, *more, name[64], value[32];
	const int none[N_FOOT] = { 0 };

	for (size_t i = 0; i < r->n_rows; i++) {
		const struct row *row = &r->rows[i];
		const struct metric *m = metric_find(row->metric);

		if (!is_same(row))
			continue;
		format_name(name, sizeof(name), row, none);
		format_value(value, sizeof(value), metric_shown(m, row->a),
			     m->digits);
		more = xasprintf("%s%s%s %s", text ? text : "",
				 text ? ", " : "", name, value);
		free(text);
		text = more;
	}
	if (text)
		lines_wrap(l, RANK_KEEP, RANK_MORE, 2, "the same on both: ",
			   text);
	free(text);
}

static int64_t seeds(const struct result *r)
{
	int64_t n = 0;

	for (size_t i = 0; i < r->n_rows; i++)
		if (r->rows[i].n > n)
			n = r->rows[i].n;
	return n;
}

static void add_heading(struct lines *l, const struct result *r, char side)
{
	char over[40], other[2] = { side, '\0' };

	if (on_real_clock(r))
		snprintf(over, sizeof(over), "95 %% interval");
	else
		snprintf(over, sizeof(over), "%" PRId64 " seed%s", seeds(r),
			 seeds(r) == 1 ? "" : "s");
	lines_add(l, RANK_BLANK, "%s", "");
	lines_add(l, RANK_KEEP, "%-*s%8s%6s%8s%6s%9s%14s", NAME_WIDTH,
		  on_real_clock(r) ? "mean of boots' medians" : "medians", "A",
		  "", other, "", "change", over);
}

void section_rows(struct lines *l, const struct result *r, char side)
{
	int number[N_FOOT];
	size_t hidden = 0;
	bool share = false;

	if (!r->n_rows)
		return;
	number_footnotes(r, number);
	add_heading(l, r, side);
	for (size_t i = 0, n = 0; i < r->n_rows; i++) {
		int rank;

		if (is_same(&r->rows[i]))
			continue;
		if (n >= ROWS_SHOWN) {
			hidden++;
			continue;
		}
		rank = n++ < ROWS_KEPT ? RANK_KEEP : RANK_ROW;
		if (metric_share(r->rows[i].metric)) {
			if (!share)
				lines_add(l, rank,
					  "share of the window, with callees [%d]",
					  number[FOOT_SHARE]);
			share = true;
		} else {
			share = false;
		}
		add_row(l, r, &r->rows[i], rank, number);
	}
	if (hidden)
		lines_add(l, RANK_ROW, "(%zu more rows in result.json)",
			  hidden);
	add_same(l, r);
}

/* ---- verdict --------------------------------------------------------------- */

/*
 * Titles of the rows with @verdict; NULL: none.  Rows that differ without that
 * a difference is proven are for the note that says what could have been seen.
 */
static char *rows_with(const struct result *r, enum verdict verdict)
{
	char *list = NULL, *longer, *title, value[32], p[48];

	for (size_t i = 0; i < r->n_rows; i++) {
		const struct row *row = &r->rows[i];

		if (row->verdict != verdict)
			continue;
		if (verdict == VERDICT_SAME &&
		    (row->has_p || row->low_pct != 0 || row->high_pct != 0))
			continue;
		title = clean_text(row_title(row), "");
		*p = '\0';
		if (row->has_p) {
			format_p(value, sizeof(value), row->p);
			snprintf(p, sizeof(p), " (p %s)", value);
		}
		longer = xasprintf("%s%s%s%s", list ? list : "",
				   list ? ", " : "", title, p);
		free(title);
		free(list);
		list = longer;
	}
	return list;
}

void section_verdict(struct lines *l, const struct result *r, char side)
{
	static const struct {
		enum verdict verdict;
		const char *word;
	} parts[] = {
		{ VERDICT_SLOWER, "slower" },
		{ VERDICT_FASTER, "faster" },
		{ VERDICT_SAME, NULL },
	};

	if (!r->valid)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		char *list = rows_with(r, parts[i].verdict);

		char *label = parts[i].word ?
			xasprintf("%c is %s: ", side, parts[i].word) :
			xstrdup("no difference: ");

		if (list)
			lines_wrap(l, RANK_KEEP, RANK_MORE, 3, label, list);
		free(label);
		free(list);
	}
}

/* ---- footnotes ------------------------------------------------------------- */

static bool any_counter(const struct result *r, const char *name)
{
	int64_t v;

	for (size_t i = 0; i < r->n_trials; i++)
		for (size_t j = 0; j < r->trials[i].n_samples; j++)
			if (counters_get(&r->trials[i].samples[j].counters,
					 name, &v))
				return true;
	return false;
}

/* "; FUNCTION is inlined into CONTAINER" for the functions of the rows. */
static char *inlined(const struct result *r)
{
	char *list = xstrdup(""), *longer, *function, *container;

	for (size_t i = 0; i < r->n_rows && i < ROWS_SHOWN; i++) {
		const struct profile_fn *f = NULL;
		const char *name = metric_share(r->rows[i].metric);

		if (!name)
			continue;
		for (int s = 0; s < 2 && !(f && f->inlined_in); s++)
			f = profile_find(&r->profile[s], name);
		if (!f || !f->inlined_in)
			continue;
		function = clean_text(f->name, "");
		container = clean_text(f->inlined_in, "");
		longer = xasprintf("%s; %s is inlined into %s", list, function,
				   container);
		free(container);
		free(function);
		free(list);
		list = longer;
	}
	return list;
}

/* Clearing on x86 is string instructions, and TCG runs these in a loop. */
static bool counts_strings(const struct result *r)
{
	const struct arch *arch = r->side[0].arch;

	return subject_of(r->workload) == SUBJECT_CLEAR &&
	       arch && !strcmp(arch->name, "x86_64") &&
	       r->clock && !strcmp(r->clock, "instructions");
}

static char *footnote(const struct result *r, enum footnote f)
{
	char *more, *text;

	switch (f) {
	case FOOT_INSTRUCTIONS:
		return xasprintf("Kernel instructions of the window, by the %s, per 4 KiB page%s",
				 on_real_clock(r) ? "PMU" :
				 any_counter(r, "pmu.kernel_instructions") ?
				 "guest's PMU" : "plugin",
				 counts_strings(r) ? "; each iteration of a string instruction (rep stos) counts as one, so what longer ones save on hardware does not show" : "");
	case FOOT_SYS:
		if (on_real_clock(r))
			return xstrdup("CPU time of the measuring threads in the window");
		return xasprintf("On the instruction clock, %" PRId64 " ns an instruction",
				 r->ns_per_instruction);
	case FOOT_USER:
		return xstrdup("What the program itself executes: no cache is emulated, so the order of clearing can't show here");
	case FOOT_FOLIOS:
		return xstrdup("Folios = pages reclaimed / mean pages of a folio");
	case FOOT_DELAY:
		return xstrdup("Of a SCHED_FIFO thread on the same processor; in MiB: what is cleared in that time");
	case FOOT_SHARE:
		more = inlined(r);
		text = on_real_clock(r) ? xstrdup("By sampling") :
			xasprintf("By the plugin%s", more);
		free(more);
		return text;
	default:
		return xstrdup("");
	}
}

void section_footnotes(struct lines *l, const struct result *r)
{
	char *all = xstrdup("");
	int number[N_FOOT];

	number_footnotes(r, number);
	for (int f = 0; f < N_FOOT; f++) {
		char *text, *longer;

		if (!number[f])
			continue;
		text = footnote(r, f);
		longer = xasprintf("%s%s[%d] %s.", all, *all ? " " : "",
				   number[f], text);
		free(text);
		free(all);
		all = longer;
	}
	if (*all || !on_real_clock(r))
		lines_add(l, RANK_BLANK, "%s", "");
	if (*all)
		lines_wrap(l, RANK_FOOTNOTE, RANK_FOOTNOTE, 5, "", all);
	free(all);
	if (r->clock && !strcmp(r->clock, "instructions"))
		lines_add(l, RANK_KEEP,
			  "Instructions on the emulator's clock are not time on hardware.");
}
