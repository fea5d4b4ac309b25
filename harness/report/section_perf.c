/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The cross-check: what perf bench measured between our passes, beside ours.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sections.h"

#define MEMSET		"perf.memset."
#define RATE		".bytes_per_second"
#define PAIRS_MAX	1000

/* Nothing but what our own names are made of: they are printed as they are. */
static bool is_plain(const char *name)
{
	return strspn(name, "abcdefghijklmnopqrstuvwxyz"
			    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._") ==
	       strlen(name);
}

/* "METHOD.SIZE" of one of perf's counters; NULL: another counter. */
static char *cell_of(const char *name)
{
	size_t n = strlen(name);

	if (!str_starts(name, MEMSET) || !str_ends(name, RATE) ||
	    n <= strlen(MEMSET) + strlen(RATE))
		return NULL;
	return xstrndup(name + strlen(MEMSET),
			n - strlen(MEMSET) - strlen(RATE));
}

/* 10^9 bytes a second of ours in @s; NAN: has none. */
static double ours_of(const struct sample *s, const char *cell)
{
	char *bytes = xasprintf("chunk.%s.bytes", cell);
	char *ns = xasprintf("chunk.%s.ns", cell);
	double rate = NAN;
	int64_t b, n;

	if (counters_get(&s->counters, bytes, &b) &&
	    counters_get(&s->counters, ns, &n) && n > 0)
		rate = (double)b / n;
	free(ns);
	free(bytes);
	return rate;
}

/* Cells, and those of them in which we were not below perf in all passes. */
struct score {
	size_t cells, not_below;
};

/* Pass by pass: perf's was taken right behind ours. */
static void add_pair(struct lines *l, const struct trial *t, const char *cell,
		     struct score *score)
{
	double ours[PAIRS_MAX], perf[PAIRS_MAX], ratio[PAIRS_MAX];
	char *name = xasprintf(MEMSET "%s" RATE, cell);
	size_t n = 0;

	/* The first pass is warm-up here too. */
	for (size_t i = t->n_samples > 1; i < t->n_samples && n < PAIRS_MAX;
	     i++) {
		const struct sample *s = &t->samples[i];
		double mine = ours_of(s, cell);
		int64_t theirs;

		if (!isfinite(mine) ||
		    !counters_get(&s->counters, name, &theirs) || theirs <= 0)
			continue;
		ours[n] = mine;
		perf[n] = theirs / 1e9;
		ratio[n] = ours[n] / perf[n];
		n++;
	}
	free(name);
	score->cells += n > 0;
	/* Below in every pass is below; else the noise is as large. */
	score->not_below += n > 0 && stat_max(ratio, n) >= 1;
	if (n)
		lines_add(l, RANK_NOTE,
			  "  %-16s ours %5.1f  perf %5.1f GB/s  ours/perf %.2f (%.2f..%.2f)",
			  cell, stat_median(ours, n), stat_median(perf, n),
			  stat_median(ratio, n), stat_min(ratio, n),
			  stat_max(ratio, n));
}

/*
 * The kernel's own clearing.  Of clear-fault, ours is beside it; its window may
 * read what was cleared (touch=), perf's does not.
 */
static void add_mmap(struct lines *l, const struct result *r,
		     const struct trial *t, const char *name)
{
	const struct metric *rate_of = metric_find("clear.gigabytes_per_second");
	double v[PAIRS_MAX], ours[PAIRS_MAX], ratio[PAIRS_MAX];
	size_t n = 0, pairs = 0;
	int64_t rate;

	for (size_t i = t->n_samples > 1; i < t->n_samples && n < PAIRS_MAX;
	     i++) {
		const struct sample *s = &t->samples[i];

		if (!counters_get(&s->counters, name, &rate) || rate <= 0)
			continue;
		v[n] = rate / 1e9;
		if (subject_of(r->workload) == SUBJECT_CLEAR &&
		    metric_value(rate_of, r, t, s, &ours[pairs])) {
			ratio[pairs] = ours[pairs] / v[n];
			pairs++;
		}
		n++;
	}
	if (n && pairs == n)
		lines_add(l, RANK_NOTE,
			  "  %.*s: ours %.2f  perf %.2f GB/s  ours/perf %.2f (%.2f..%.2f)",
			  (int)(strlen(name) - strlen("perf.") - strlen(RATE)),
			  name + strlen("perf."), stat_median(ours, n),
			  stat_median(v, n), stat_median(ratio, n),
			  stat_min(ratio, n), stat_max(ratio, n));
	else if (n)
		lines_add(l, RANK_NOTE, "  %.*s: perf %.1f GB/s (%.1f..%.1f)",
			  (int)(strlen(name) - strlen("perf.") - strlen(RATE)),
			  name + strlen("perf."), stat_median(v, n),
			  stat_min(v, n), stat_max(v, n));
}

void section_perf(struct lines *l, const struct result *r)
{
	const struct trial *chunks = chunk_trial(r);
	const struct trial *t = chunks;
	const struct counters *c;
	struct score score = { 0 };
	char *clean, *text;

	if (!r->cross_check)
		return;
	if (!t && r->n_trials && r->trials[0].n_samples)
		t = &r->trials[0];
	clean = clean_text(r->cross_check, "");
	/* perf maps its memory as malloc(3) gives it. */
	text = xasprintf("cross-check: %s%s", clean,
			 chunks && !strstr(clean, "on 2M pages") && r->host.thp && strcmp(r->host.thp, "always") ?
			 "; perf's memory is on 4K pages, ours too with -p pages=4K" :
			 "");
	lines_wrap(l, RANK_NOTE, RANK_NOTE, 3, "", text);
	free(text);
	free(clean);
	c = t ? &t->samples[t->n_samples - 1].counters : NULL;
	for (size_t i = 0; c && i < c->n; i++) {
		const char *name = c->v[i].name;
		char *cell = is_plain(name) ? cell_of(name) : NULL;

		if (cell)
			add_pair(l, t, cell, &score);
		else if (is_plain(name) && str_starts(name, "perf.mmap.") &&
			 str_ends(name, RATE))
			add_mmap(l, r, t, name);
		free(cell);
	}
	if (score.cells)
		lines_add(l, RANK_NOTE,
			  "  ours is not below perf's in %zu of %zu cells (below: in each pass)",
			  score.not_below, score.cells);
}
