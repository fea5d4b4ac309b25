/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What stands behind the numbers: which folios, how many bytes, and whether
 * both kernels did the same.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sections.h"

#define PAGE_BYTES	4096
#define DIFFS_SHOWN	3
#define NOTES_SHOWN	6
#define NODES_SEEN	8	/* of NUMA; the workload takes as many */

static void append(char **text, char *more)
{
	char *joined = xasprintf("%s%s%s", *text, **text ? ", " : "", more);

	free(*text);
	free(more);
	*text = joined;
}

/* Sum of a counter over all samples of @side, and how many have it. */
static double total(const struct result *r, int side, const char *name,
		    size_t *n)
{
	double sum = 0;
	int64_t v;

	*n = 0;
	for (size_t i = 0; i < r->n_trials; i++) {
		const struct trial *t = &r->trials[i];

		if (t->side != 'A' + side || !t->done || t->failed)
			continue;
		for (size_t j = 0; j < t->n_samples; j++) {
			if (!counters_get(&t->samples[j].counters, name, &v))
				continue;
			sum += v;
			(*n)++;
		}
	}
	return sum;
}

static double total_order(const struct result *r, int side, int order)
{
	double sum = 0;

	for (size_t i = 0; i < r->n_trials; i++) {
		const struct trial *t = &r->trials[i];

		if (t->side != 'A' + side || !t->done || t->failed)
			continue;
		for (size_t j = 0; j < t->n_samples; j++)
			sum += t->samples[j].order_pages[order];
	}
	return sum;
}

/*
 * "0: 1.2%, 4: 98.8%; contpte 97.0%".  Counters tell contpte pages of one
 * mapper, but mapped pages of all.  NULL: not known.
 */
static char *orders_of(const struct result *r, int side)
{
	double all = 0, mapped, contpte;
	size_t n_mapped, n_contpte;
	char *text = xstrdup(""), *longer;
	const char *of = params_find(&r->params, "mappers");
	int64_t mappers = 1;

	for (int o = 0; o < MAX_ORDER_SEEN; o++)
		all += total_order(r, side, o);
	if (all <= 0) {
		free(text);
		return NULL;
	}
	for (int o = 0; o < MAX_ORDER_SEEN; o++) {
		double pages = total_order(r, side, o);

		if (pages && pages < all / 1000)
			append(&text, xasprintf("%d: <0.1%%", o));
		else if (pages)
			append(&text, xasprintf("%d: %.1f%%", o,
						pages / all * 100));
	}
	if (of)
		parse_int(of, 1, INT64_MAX, &mappers);
	mapped = total(r, side, "pages.mapped", &n_mapped) / mappers;
	contpte = total(r, side, "pages.contpte", &n_contpte);
	if (r->side[side].arch && r->side[side].arch->contpte && mapped > 0 &&
	    n_contpte == n_mapped) {
		longer = xasprintf("%s; contpte %.1f%%", text,
				   contpte / mapped * 100);
		free(text);
		text = longer;
	}
	return text;
}

static void add_orders(struct lines *l, const struct result *r)
{
	char *a = orders_of(r, 0), *b = orders_of(r, 1);

	if (a && b && !strcmp(a, b)) {
		lines_wrap(l, RANK_KEEP, RANK_MORE, 2,
			   "pages by folio order: ", a);
	} else {
		if (a)
			lines_wrap(l, RANK_KEEP, RANK_MORE, 2,
				   "pages by folio order, A: ", a);
		if (b)
			lines_wrap(l, RANK_KEEP, RANK_MORE, 2,
				   "pages by folio order, B: ", b);
	}
	free(a);
	free(b);
}

static void add_bytes(struct lines *l, const struct result *r)
{
	double mib[2], asked;
	size_t n[2], n_asked;

	for (int s = 0; s < 2; s++) {
		mib[s] = total(r, s, "memcg.pgsteal", &n[s]);
		if (!n[s])
			return;
		mib[s] = mib[s] / n[s] * PAGE_BYTES / (1 << 20);
	}
	asked = total(r, 0, "reclaim.asked", &n_asked);
	if (!n_asked)
		return;
	lines_add(l, RANK_KEEP,
		  "reclaimed (mean): A %.2f MiB, B %.2f MiB, asked %.2f MiB",
		  mib[0], mib[1], asked / n_asked / (1 << 20));
}

/* What the harness adds to what it measures, at worst. */
static void add_overhead(struct lines *l, const struct result *r)
{
	double worst = -1, of = 0, own, all;

	if (subject_of(r->workload) != SUBJECT_RECLAIM)
		return;
	for (size_t i = 0; i < r->n_trials; i++)
		for (size_t k = 0; k < r->trials[i].n_samples; k++)
			if (window_overhead(&r->trials[i].samples[k], &own,
					    &all) &&
			    own / all > worst) {
				worst = own / all;
				of = own;
			}
	if (worst >= 0)
		lines_add(l, RANK_SAME,
			  "folab's own in the window: %.0f instructions, %.5f %% at most",
			  of, worst * 100);
}

/* "0: 25.0%, 1: 75.0%" of both sides' pages; NULL: not known. */
static char *nodes_of(const struct result *r)
{
	char *text = xstrdup(""), name[40];
	double on[NODES_SEEN], all = 0;
	size_t n;

	for (int node = 0; node < NODES_SEEN; node++) {
		snprintf(name, sizeof(name), "pages.node%d", node);
		on[node] = total(r, 0, name, &n) + total(r, 1, name, &n);
		all += on[node];
	}
	for (int node = 0; node < NODES_SEEN; node++)
		if (on[node])
			append(&text, xasprintf("%d: %.1f%%", node,
						on[node] / all * 100));
	if (*text)
		return text;
	free(text);
	return NULL;
}

static void add_nodes(struct lines *l, const struct result *r)
{
	const char *text = params_find(&r->params, "node");
	char *nodes = nodes_of(r), *label;
	int64_t node;

	if (nodes && text && !parse_int(text, 0, NODES_SEEN - 1, &node)) {
		label = xasprintf("bound to NUMA node %" PRId64 "; pages by node: ",
				  node);
		lines_wrap(l, RANK_KEEP, RANK_MORE, 2, label, nodes);
		free(label);
	} else if (nodes && strchr(nodes, ',')) {
		lines_wrap(l, RANK_KEEP, RANK_MORE, 2, "pages by NUMA node: ",
			   nodes);
	}
	free(nodes);
}

/*
 * What was proven of the memory that was faulted in.  A run that is not valid
 * has said already what was not.
 */
static void add_cleared(struct lines *l, const struct result *r)
{
	double pages, faults, soiled, threads;
	size_t n, n_soiled, n_threads;

	if (subject_of(r->workload) != SUBJECT_CLEAR || !r->valid)
		return;
	pages = total(r, 0, "clear.pages", &n) + total(r, 1, "clear.pages", &n);
	soiled = total(r, 0, "clear.soiled_pages", &n_soiled) +
		 total(r, 1, "clear.soiled_pages", &n_soiled);
	faults = total(r, 0, "clear.faults", &n);
	threads = total(r, 0, "clear.threads", &n_threads);
	if (!pages || !n || !n_threads)
		return;
	lines_add(l, RANK_KEEP,
		  "A fault a folio, %.0f a window; every byte read as cleared,",
		  faults / n);
	lines_add(l, RANK_KEEP,
		  "and %.1f%% of the frames held something else before.",
		  soiled / pages * 100);
	add_nodes(l, r);
	if (threads / n_threads > 1)
		lines_wrap(l, RANK_NOTE, RANK_NOTE, 3, "note: ",
			   "the threads took turns on one processor: this is what they cost together, and tells nothing of contention or scaling");
}

/* "none" and so on, of what the guests of @side said of themselves. */
static const char *model_of(const struct result *r, int side)
{
	static const char *const models[] = { "none", "voluntary", "full",
					      "lazy" };
	size_t n;
	double model = total(r, side, "latency.preempt", &n);

	for (size_t i = 0; n && i < ARRAY_SIZE(models); i++)
		if (model / n == (double)i)
			return models[i];
	return "not known";
}

/* What a delay is without a load. */
static void add_delays(struct lines *l, const struct result *r)
{
	double us[2];
	size_t n;

	for (int s = 0; s < 2; s++) {
		us[s] = total(r, s, "latency.idle_max_ns", &n);
		if (!n)
			return;
		us[s] = us[s] / n / 1e3;
	}
	lines_add(l, RANK_KEEP,
		  "with nothing cleared: A %.1f us, B %.1f us; preempt: A %s, B %s",
		  us[0], us[1], model_of(r, 0), model_of(r, 1));
}

static bool told_before(const struct result *r, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (!strcmp(r->diffs[k].text, r->diffs[i].text))
			return true;
	return false;
}

/* "  seed 3: ", or of several that differ alike "  3 seeds (1, 2, 5): ". */
static char *seeds_like(const struct result *r, size_t i)
{
	char list[40] = "", *label;
	size_t n = 0, len = 0;

	for (size_t k = i; k < r->n_diffs; k++) {
		if (strcmp(r->diffs[k].text, r->diffs[i].text))
			continue;
		if (len < sizeof(list))
			len += snprintf(list + len, sizeof(list) - len,
					"%s%" PRId64, n ? ", " : "",
					r->diffs[k].seed);
		n++;
	}
	if (n == 1)
		label = xasprintf("  seed %s: ", list);
	else if (len < 20)
		label = xasprintf("  seeds %s: ", list);
	else
		label = xasprintf("  %zu seeds: ", n);
	return label;
}

static void add_decisions(struct lines *l, const struct result *r)
{
	size_t shown;
	char *text;

	if (!r->alike_of) {
		if (subject_of(r->workload) == SUBJECT_RECLAIM)
			lines_add(l, RANK_KEEP,
				  "Whether the two kernels decided alike can't be known.");
		return;
	}
	text = xasprintf("The two kernels decided alike with %" PRId64 " of %" PRId64 " seeds%s",
			 r->alike, r->alike_of,
			 r->n_diffs ? "; else:" :
			 " (counts, surviving pages).");
	lines_wrap(l, RANK_KEEP, RANK_KEEP, 2, "", text);
	free(text);
	shown = 0;
	for (size_t i = 0; i < r->n_diffs; i++) {
		char *label;

		if (told_before(r, i))
			continue;
		if (shown++ >= DIFFS_SHOWN)
			continue;
		label = seeds_like(r, i);
		text = clean_text(r->diffs[i].text, "");
		lines_wrap(l, shown > 1 ? RANK_DIFF : RANK_KEEP, RANK_MORE, 2,
			   label, text);
		free(text);
		free(label);
	}
	if (shown > DIFFS_SHOWN)
		lines_add(l, RANK_DIFF, "  and %zu more (result.json has all)",
			  shown - DIFFS_SHOWN);
}

void section_notes(struct lines *l, const struct result *r)
{
	for (size_t i = 0; i < r->notes.n && i < NOTES_SHOWN; i++) {
		char *text = clean_text(r->notes.v[i], "");

		lines_wrap(l, RANK_NOTE, RANK_NOTE, 3, "note: ", text);
		free(text);
	}
	if (r->notes.n > NOTES_SHOWN)
		lines_add(l, RANK_NOTE, "note: and %zu more in result.json",
			  r->notes.n - NOTES_SHOWN);
}

void section_facts(struct lines *l, const struct result *r)
{
	lines_add(l, RANK_BLANK, "%s", "");
	add_orders(l, r);
	add_bytes(l, r);
	add_overhead(l, r);
	add_cleared(l, r);
	add_delays(l, r);
	add_decisions(l, r);
	section_selftests(l, r);
	section_notes(l, r);
}
