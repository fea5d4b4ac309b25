/* SPDX-License-Identifier: GPL-2.0 */
/*
 * clear-chunk: what each method makes of each chunk.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sections.h"

#define METHODS_SHOWN	5	/* what fits into 75 columns */

/* "44.1 3% 1.0x": rate, spread, how many times as long a re-read takes. */
static void format_cell(char *buf, size_t len, const struct chunk_cell *c)
{
	char rate[16], spread[16] = "-", hot[16] = "-";

	format_rate(rate, sizeof(rate), c->rate);
	if (isfinite(c->spread_pct))
		snprintf(spread, sizeof(spread), "%.0f%%",
			 fmin(c->spread_pct, 999));
	if (isfinite(c->hot))
		snprintf(hot, sizeof(hot), "%.*fx", c->hot < 9.95 ? 1 : 0,
			 fmin(c->hot, 999));
	snprintf(buf, len, "%s %s %s", rate, spread, hot);
}

static const struct chunk_cell *cell_at(const struct chunk_method *m,
					uint64_t chunk)
{
	for (size_t i = 0; i < m->n; i++)
		if (m->cell[i].chunk == chunk)
			return &m->cell[i];
	return NULL;
}

static void add_table(struct lines *l, const struct chunk_table *t)
{
	const struct chunk_method *first = &t->method[0];
	char line[256], cell[64], size[32];
	size_t n, shown = t->n < METHODS_SHOWN ? t->n : METHODS_SHOWN;

	n = snprintf(line, sizeof(line), "%-4s", "");
	for (size_t k = 0; k < shown; k++)
		n += snprintf(line + n, sizeof(line) - n, " %13.13s",
			      t->method[k].name);
	lines_add(l, RANK_KEEP, "%s", line);
	for (size_t i = 0; i < first->n; i++) {
		n = snprintf(line, sizeof(line), "%-4s",
			     format_size_short(first->cell[i].chunk, size,
					       sizeof(size)));
		for (size_t k = 0; k < shown; k++) {
			const struct chunk_cell *c =
				cell_at(&t->method[k], first->cell[i].chunk);

			snprintf(cell, sizeof(cell), "-");
			if (c)
				format_cell(cell, sizeof(cell), c);
			n += snprintf(line + n, sizeof(line) - n, " %13s",
				      cell);
		}
		/* Where lines are short, every other chunk is left out. */
		lines_add(l, i % 2 ? RANK_ROW : RANK_KEEP, "%s", line);
	}
}

static void add_knee(struct lines *l, const struct chunk_method *m)
{
	const struct chunk_cell *last = &m->cell[m->n - 1];
	char plateau[16], best[16], size[32], at[32], *text;

	format_rate(plateau, sizeof(plateau), m->plateau);
	format_rate(best, sizeof(best), m->cell[m->best].rate);
	format_size_short(m->cell[m->best].chunk, at, sizeof(at));
	/* The last one may be on the way up only. */
	if (m->knee < m->n)
		text = xasprintf("knee at %s%s: %s -> %s GB/s (%s)",
				 m->knee == m->n - 1 ? "or above " : "",
				 format_size_short(m->cell[m->knee].chunk, size,
						   sizeof(size)),
				 plateau, best, at);
	else if (isfinite(m->plateau))
		text = xasprintf("no knee: %s, best %s GB/s (%s)", plateau, best,
				 at);
	else	/* no small chunk to set out from */
		text = xasprintf("best %s GB/s (%s)", best, at);
	lines_add(l, RANK_KEEP, "%-10.10s %-38s LLC set %.1fx%s", m->name, text,
		  last->llc, m->kernels ? " [K]" : "");
	free(text);
}

static void add_streaming(struct lines *l, const struct chunk_table *t)
{
	const struct chunk_method *s = chunk_streaming(t);
	const struct chunk_method *best = &t->method[t->best];

	if (!s)
		return;
	if (s == best) {
		lines_add(l, RANK_NOTE,
			  "best %.1f GB/s by %s, which is a streaming store",
			  best->cell[best->best].rate, best->name);
		return;
	}
	lines_add(l, RANK_NOTE,
		  "best %.1f GB/s by %s: %.2f of the best streaming store, %s",
		  best->cell[best->best].rate, best->name,
		  best->cell[best->best].rate / s->cell[s->best].rate, s->name);
}

static void add_noise(struct lines *l, const struct chunk_table *t)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct chunk_method *m = &t->method[i];

		if (!chunk_noisy(m) || (t->passes < 2 && !m->kernels))
			continue;
		/* The kernel's method is what tune chooses by. */
		if (t->passes > 1)
			lines_add(l, m->kernels ? RANK_KEEP : RANK_MORE,
				  "NOISY: medians of %s are good to %.0f %% only; repeat it on an idle host",
				  m->name, chunk_noise_pct(m));
		else
			lines_add(l, RANK_KEEP,
				  "One pass does not tell noise: take more (--reps)");
	}
}

static int64_t of_sample(const struct trial *t, const char *name)
{
	return counters_value(&t->samples[t->n_samples - 1].counters, name);
}

void section_chunk(struct lines *l, const struct result *r)
{
	const struct trial *trial = chunk_trial(r);
	struct chunk_table t;
	char hot[32], llc[32], largest[32], region[32];
	int64_t bytes;

	if (!trial || !chunk_table(trial, &t))
		return;
	bytes = of_sample(trial, "region.bytes");
	lines_add(l, RANK_KEEP,
		  "region %s, %.0f %% in 2M pages; %s%zu pass%s",
		  format_size_short(bytes, region, sizeof(region)),
		  bytes ? 100.0 * of_sample(trial, "region.huge_bytes") / bytes :
		  0, t.passes > 1 ? "medians of " : "", t.passes,
		  t.passes > 1 ? "es" : "");
	lines_add(l, RANK_KEEP,
		  "GB/s, its spread, and how many times as long re-reading %s takes",
		  format_size_short(of_sample(trial, "hot.bytes"), hot,
				    sizeof(hot)));
	lines_add(l, RANK_KEEP, "after a clear of one chunk (1.0x: it stayed in the cache)");
	add_table(l, &t);
	lines_add(l, RANK_BLANK, "%s", "");
	for (size_t i = 0; i < t.n; i++)
		add_knee(l, &t.method[i]);
	format_size_short(t.method[0].cell[t.method[0].n - 1].chunk, largest,
			  sizeof(largest));
	lines_wrap(l, RANK_NOTE, RANK_NOTE, 2, "", "knee: first chunk above the middle of small chunks' and best rate; [K]: the kernel's method here");
	lines_add(l, RANK_NOTE,
		  "LLC set: re-reading %s after %s were cleared at once",
		  format_size_short(of_sample(trial, "llc.bytes"), llc,
				    sizeof(llc)), largest);
	add_streaming(l, &t);
	add_noise(l, &t);
	chunk_table_free(&t);
}
