/* SPDX-License-Identifier: GPL-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sections.h"

#define REASONS_SHOWN	8

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

char *params_line(const struct params *p)
{
	struct strlist words = { 0 };
	char *line = xstrdup(""), *longer;

	for (size_t i = 0; i < p->n; i++) {
		char *name = clean_text(p->v[i].name, "");
		char *text = clean_text(p->v[i].text, "");

		strlist_addf(&words, "%s=%s", name, text);
		free(text);
		free(name);
	}
	if (words.n)
		qsort(words.v, words.n, sizeof(*words.v), by_name);
	for (size_t i = 0; i < words.n; i++) {
		longer = xasprintf("%s%s%s", line, i ? " " : "", words.v[i]);
		free(line);
		line = longer;
	}
	strlist_free(&words);
	return line;
}

void section_title(struct lines *l, const struct result *r)
{
	char *scenario = clean_text(r->scenario, "unnamed");
	char *summary = clean_text(r->summary, "");
	const struct arch *arch = r->side[0].arch;
	char *params = params_line(&r->params);
	char *title = xasprintf("%s on %s%s%s", scenario,
				arch ? arch->name : "an unknown architecture",
				*summary ? ": " : "", summary);

	lines_wrap(l, RANK_KEEP, RANK_MORE, 2, "", title);
	if (*params)
		lines_wrap(l, RANK_PROVENANCE, RANK_MORE, 2, "  ", params);
	free(title);
	free(params);
	free(summary);
	free(scenario);
}

void section_invalid(struct lines *l, const struct result *r)
{
	if (r->valid)
		return;
	lines_add(l, RANK_BLANK, "%s", "");
	lines_add(l, RANK_KEEP, "INVALID: this run claims nothing, because");
	for (size_t i = 0; i < r->reasons.n && i < REASONS_SHOWN; i++) {
		char *text = clean_text(r->reasons.v[i], "");

		lines_wrap(l, i ? RANK_REASON : RANK_KEEP, RANK_MORE, 2, "- ",
			   text);
		free(text);
	}
	if (!r->reasons.n)
		lines_add(l, RANK_KEEP, "- it was not analysed");
	if (r->reasons.n > REASONS_SHOWN)
		lines_add(l, RANK_KEEP, "- and %zu more (result.json has all)",
			  r->reasons.n - REASONS_SHOWN);
}

/* "6.12 (6.12.117-folab)"; on a real clock ", 5 boots, 50 passes", too. */
static void add_side(struct lines *l, const struct result *r, int s,
		     const char *label)
{
	char *spec = clean_text(r->side[s].spec, "not known");
	char *release = clean_text(r->side[s].release, "");
	char *line, runs[80] = "";
	size_t boots, passes;

	if (on_real_clock(r) && !result_one_sided(r)) {
		boots_count(r, 'A' + s, &boots, &passes);
		snprintf(runs, sizeof(runs), ", %zu boot%s, %zu pass%s", boots,
			 boots == 1 ? "" : "s", passes,
			 passes == 1 ? "" : "es");
	}
	line = xasprintf("%s%s%s%s%s", spec, *release ? " (" : "", release,
			 *release ? ")" : "", runs);
	lines_wrap(l, RANK_KEEP, RANK_MORE, 2, label, line);
	free(line);
	free(release);
	free(spec);
}

void section_sides(struct lines *l, const struct result *r)
{
	bool one = result_one_sided(r);

	lines_add(l, RANK_BLANK, "%s", "");
	for (int s = 0; s < (one ? 1 : 2); s++)
		add_side(l, r, s, one ? "kernel   " : s ? "B: " : "A: ");
	for (size_t i = 0; i < r->n_further; i++) {
		struct result v = further_view(r, &r->further[i]);
		char label[] = { r->further[i].side, ':', ' ', '\0' };

		add_side(l, &v, 1, label);
		free(v.trials);
	}
}
