/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Sides behind B: what each of them changes from A.
 */
#include <stdlib.h>
#include <string.h>

#include "sections.h"

#define NOTES_SHOWN	2	/* of a side */

static void add_one(struct lines *l, const struct result *v, char side)
{
	if (!v->valid) {
		char *why = clean_text(v->reasons.n ? v->reasons.v[0] : NULL,
				       "it was not analysed");
		char *label = xasprintf("%c: INVALID, claims nothing: ", side);

		lines_add(l, RANK_BLANK, "%s", "");
		lines_wrap(l, RANK_KEEP, RANK_MORE, 2, label, why);
		free(label);
		free(why);
	}
	section_rows(l, v, side);
	section_verdict(l, v, side);
	for (size_t i = 0; i < v->notes.n && i < NOTES_SHOWN; i++) {
		char *text = clean_text(v->notes.v[i], "");
		char *label = xasprintf("%c: ", side);

		lines_wrap(l, RANK_NOTE, RANK_MORE, 2, label, text);
		free(label);
		free(text);
	}
}

/* Only their verdicts. */
void section_further_words(struct lines *l, const struct result *r)
{
	for (size_t i = 0; i < r->n_further; i++) {
		struct result v = further_view(r, &r->further[i]);

		section_verdict(l, &v, r->further[i].side);
		free(v.trials);
	}
}

void section_further(struct lines *l, const struct result *r)
{
	for (size_t i = 0; i < r->n_further; i++) {
		struct result v = further_view(r, &r->further[i]);

		add_one(l, &v, r->further[i].side);
		free(v.trials);
	}
}
