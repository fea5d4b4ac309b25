/* SPDX-License-Identifier: GPL-2.0 */
/*
 * folab tune: one unit, and why.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sections.h"

/* "4.7 ms", "310 us": three digits. */
static void format_time(char *buf, size_t len, double s)
{
	static const struct {
		double of;
		const char *name;
	} units[] = { { 1, "s" }, { 1e-3, "ms" }, { 1e-6, "us" }, { 1e-9, "ns" } };
	size_t u = 0;
	double v;

	if (!isfinite(s)) {
		snprintf(buf, len, "-");
		return;
	}
	while (u + 1 < ARRAY_SIZE(units) && s < units[u].of)
		u++;
	v = s / units[u].of;
	snprintf(buf, len, "%.*f %s", v < 9.995 ? 2 : v < 99.95 ? 1 : 0, v,
		 units[u].name);
}

/* The watcher's figures if there are any, else the longest time of a unit. */
static bool watched(const struct result *r, const struct tune *t)
{
	return isfinite(tune_worst(r, t->method->cell[0].chunk));
}

static double worst_of(const struct result *r, const struct tune *t, size_t i)
{
	const struct chunk_cell *c = &t->method->cell[i];

	return watched(r, t) ? tune_worst(r, c->chunk) : c->one_max;
}

static void add_table(struct lines *l, const struct result *r,
		      const struct tune *t)
{
	const struct chunk_method *m = t->method;
	char *text;

	lines_add(l, RANK_KEEP, "%5s %7s %7s %7s  %8s %8s %7s", "unit",
		  "GB/s", "spread", "of best", "delay",
		  watched(r, t) ? "worst" : "longest", "re-read");
	for (size_t i = 0; i < m->n; i++) {
		const struct chunk_cell *c = &m->cell[i];
		char size[32], delay[32], longest[32], rate[16];
		const char *why = "";

		format_size_short(c->chunk, size, sizeof(size));
		format_rate(rate, sizeof(rate), c->rate);
		format_time(delay, sizeof(delay), c->one);
		format_time(longest, sizeof(longest), worst_of(r, t, i));
		if (i == t->unit && r->valid && !t->shared)
			why = " <- recommended";
		else if (i == m->knee)
			why = " knee";
		lines_add(l, RANK_KEEP,
			  "%5s %7s %6.1f%% %6.0f%%  %8s %8s %6.1fx%s", size,
			  rate, c->spread_pct, 100 * c->rate / t->best, delay,
			  longest, c->hot, why);
	}
	text = xasprintf("delay: time of one unit, in the median: nothing else runs meanwhile on a kernel that does not preempt. %s re-read: how many times as long a working set in L2 takes to read after one unit.",
			 watched(r, t) ?
			 "worst: what a real-time thread waited at most while memory was cleared in this unit (clear-latency, how=model; the median of its passes)." :
			 "longest: that one was seen to take.");
	lines_wrap(l, RANK_KEEP, RANK_KEEP, 6, "", text);
	free(text);
}

static void add_reason(struct lines *l, const struct result *r,
		       const struct tune *t)
{
	const struct chunk_cell *c = &t->method->cell[t->unit];
	char size[32], delay[32], longest[64], limit[32], *text;
	size_t n;

	format_size_short(c->chunk, size, sizeof(size));
	format_time(delay, sizeof(delay), c->one);
	n = snprintf(longest, sizeof(longest), "%s", watched(r, t) ?
		     "worst measured: " : "longest seen: ");
	format_time(longest + n, sizeof(longest) - n, worst_of(r, t, t->unit));
	format_time(limit, sizeof(limit), t->limit);
	if (!isfinite(t->limit))
		text = xasprintf("it is the smallest unit that gets %.0f %% of the best bandwidth, %.1f GB/s by %s; it costs a delay of %s (%s)",
				 TUNE_SHARE * 100, t->best, t->method->name,
				 delay, longest);
	else if (!t->within)
		text = xasprintf("no unit is over within %s: the smallest one comes closest, with a delay of %s and %.0f %% of the best bandwidth, %.1f GB/s by %s",
				 limit, delay, t->share * 100, t->best,
				 t->method->name);
	else
		text = xasprintf("of the units that are over within %s it is the smallest that gets %.0f %% of their best bandwidth: %.1f GB/s by %s, %.0f %% of the best of any unit; it costs a delay of %s (%s)",
				 limit, TUNE_SHARE * 100, c->rate,
				 t->method->name, t->share * 100, delay,
				 longest);
	lines_add(l, RANK_KEEP, "recommended unit: %s (%" PRIu64 " pages of 4K)",
		  size, c->chunk / 4096);
	lines_wrap(l, RANK_KEEP, RANK_KEEP, 6, "  because ", text);
	free(text);
}

/* What a reader has to know before the value is put anywhere. */
static void add_warnings(struct lines *l, const struct result *r,
			 const struct tune *t)
{
	double noise = chunk_noise_pct(t->method);
	char *text;

	if (!isfinite(t->method->plateau))
		lines_wrap(l, RANK_KEEP, RANK_KEEP, 3, "note: ",
			   "no unit of 64K or less was measured, so that a knee can't be told");
	else if (!t->knee)
		lines_wrap(l, RANK_KEEP, RANK_KEEP, 3, "note: ",
			   "no knee: this machine clears large units about as fast as small ones, so that the unit matters little");
	if (t->shared)
		lines_wrap(l, RANK_KEEP, RANK_KEEP, 3, "note: ",
			   "rates and the time of single units disagree by a factor of 2 and more: the processor was taken away in between; repeat it when nothing else runs, or bound to one that is free (--cpu)");
	if (t->noisy) {
		if (isfinite(noise))
			text = xasprintf("noisy: the medians are good to %.0f %% only (standard error), and units that are neighbours may differ by less; repeat it when nothing else runs, or with more --reps",
					 noise);
		else
			text = xstrdup("one pass does not tell noise: take more (--reps)");
		lines_wrap(l, RANK_KEEP, RANK_KEEP, 4, "note: ", text);
		free(text);
	}
	text = xasprintf("user space stands in for the kernel's clear_pages(): %s is what the kernel uses on this processor, on memory that is mapped by 2M pages where it can be",
			 t->method->name);
	lines_wrap(l, RANK_KEEP, RANK_KEEP, 4, "note: ", text);
	free(text);
	section_notes(l, r);
}

void tune_text(struct lines *l, const struct result *r)
{
	const struct trial *trial = chunk_trial(r);
	struct chunk_table table = { 0 };
	struct tune tune = { 0 };

	lines_add(l, RANK_KEEP, "folab tune: the unit in which to clear memory on this machine");
	section_invalid(l, r);
	section_sides(l, r);
	section_host(l, r);
	lines_add(l, RANK_BLANK, "%s", "");
	if (trial && chunk_table(trial, &table))
		tune_choose(&table, r->delay_ms / 1e3, &tune);
	if (tune.method) {
		add_table(l, r, &tune);
		lines_add(l, RANK_BLANK, "%s", "");
		plot_text(l, &table, &tune);
		lines_add(l, RANK_BLANK, "%s", "");
	}
	if (tune.method && r->valid && !tune.shared)
		add_reason(l, r, &tune);
	else
		lines_add(l, RANK_KEEP, "no unit is recommended: %s", !tune.method ?
			  "the kernel's method was not measured" : !r->valid ?
			  "the run is not valid" : "others used this processor");
	if (tune.method)
		add_warnings(l, r, &tune);
	section_perf(l, r);
	section_again(l, r);
	chunk_table_free(&table);
}
