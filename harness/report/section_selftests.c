/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Correctness cases that ran on both kernels: whether B broke any, before every
 * number, and how many there were, among the facts.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sections.h"

/* Names between commas, for print.  Caller frees. */
static char *listed(const struct strlist *names)
{
	char *list = xstrdup(""), *longer, *name;

	for (size_t i = 0; i < names->n; i++) {
		name = clean_text(names->v[i], "");
		longer = xasprintf("%s%s%s", list, i ? ", " : "", name);
		free(name);
		free(list);
		list = longer;
	}
	return list;
}

/* "LABEL (2): young.a, young.b"; nothing if there are none. */
static void add_names(struct lines *l, int rank, const char *label,
		      const struct strlist *names)
{
	char *list, *text;

	if (!names->n)
		return;
	list = listed(names);
	text = xasprintf("%s (%zu): %s", label, names->n, list);
	lines_wrap(l, rank, RANK_MORE, 3, "", text);
	free(text);
	free(list);
}

void section_broken(struct lines *l, const struct result *r)
{
	struct strlist broken = { 0 }, otherwise = { 0 };

	if (!r->selftests.asked)
		return;
	selftests_broken(&r->selftests, &broken);
	if (r->selftests.alike.program)
		case_failures(&r->selftests.alike, 1, &otherwise);
	if (broken.n || otherwise.n)
		lines_add(l, RANK_BLANK, "%s", "");
	add_names(l, RANK_KEEP, "SELFTESTS FAIL on B, and not on A", &broken);
	add_names(l, RANK_KEEP, "SELFTESTS END OTHERWISE on B than on A",
		  &otherwise);
	strlist_free(&otherwise);
	strlist_free(&broken);
}

static char *counts_text(struct case_counts c)
{
	return xasprintf("%" PRId64 " passed, %" PRId64 " failed, %" PRId64 " skipped",
			 c.passed, c.failed, c.skipped);
}

/* Those that fail on A too, or only there: nothing that B broke. */
static void add_old_failures(struct lines *l, const struct selftests *s)
{
	struct strlist before = { 0 };

	case_failures(s->runs[0], s->n_runs[0], &before);
	add_names(l, RANK_DIFF, "failed on A", &before);
	strlist_free(&before);
}

void section_selftests(struct lines *l, const struct result *r)
{
	const struct selftests *s = &r->selftests;
	char *asked, *a, *b;

	if (!s->asked)
		return;
	asked = clean_start(s->asked, "", 16);
	a = counts_text(case_counts(s->runs[0], s->n_runs[0]));
	b = counts_text(case_counts(s->runs[1], s->n_runs[1]));
	if (strcmp(a, b)) {
		lines_add(l, RANK_KEEP, "selftests run (%s), A: %s", asked, a);
		lines_add(l, RANK_KEEP, "selftests run (%s), B: %s", asked, b);
	} else {
		lines_add(l, RANK_KEEP, "selftests run (%s), on both: %s",
			  asked, a);
	}
	add_old_failures(l, s);
	free(b);
	free(a);
	free(asked);
}
