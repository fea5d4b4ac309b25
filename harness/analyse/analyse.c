/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The order of the steps; each is a file of its own.
 */
#include <inttypes.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "private.h"

/* Whatever an earlier analysis left. */
static void forget(struct result *r)
{
	for (size_t i = 0; i < r->n_rows; i++)
		free(r->rows[i].metric);
	free(r->rows);
	r->rows = NULL;
	r->n_rows = 0;
	for (size_t i = 0; i < r->n_diffs; i++)
		free(r->diffs[i].text);
	free(r->diffs);
	r->diffs = NULL;
	r->n_diffs = 0;
	strlist_free(&r->reasons);
	r->reasons = (struct strlist){ 0 };
	strlist_free(&r->notes);
	r->notes = (struct strlist){ 0 };
	r->alike = r->alike_of = 0;
	r->valid = false;
}

static void note_same_image(struct result *r)
{
	if (!r->aa && r->side[0].image_hash && r->side[1].image_hash &&
	    !strcmp(r->side[0].image_hash, r->side[1].image_hash))
		strlist_add(&r->notes,
			    "A and B are the same image, byte for byte");
}

static void both_sides(struct result *r)
{
	validity_check(r);
	compare(r);
	if (!r->reasons.n)
		compare_notes(r);
	decide(r);
	note_same_image(r);
}

static void conclude(struct result *r)
{
	r->valid = !r->reasons.n;
	for (size_t i = 0; !r->valid && i < r->n_rows; i++)
		r->rows[i].verdict = VERDICT_INVALID;
}

/* All that analysis has found out about @f was put into its view. */
static void take_from_view(struct further *f, struct result *v)
{
	conclude(v);
	f->rows = v->rows;
	f->n_rows = v->n_rows;
	f->valid = v->valid;
	f->reasons = v->reasons;
	f->notes = v->notes;
	f->alike = v->alike;
	f->alike_of = v->alike_of;
	for (size_t i = 0; i < v->n_diffs; i++) {
		strlist_addf(&f->notes, "seed %" PRId64 " decided otherwise: %s",
			     v->diffs[i].seed, v->diffs[i].text);
		free(v->diffs[i].text);
	}
	free(v->diffs);
	profile_free(&v->profile[0]);
	profile_free(&v->profile[1]);
	free(v->trials);
}

/* B against A, and each further side against A. */
static void all_sides(struct result *r)
{
	bool real = r->clock && !strcmp(r->clock, "real");
	size_t n = r->n_further + 1;
	struct result *view = xcalloc(n, sizeof(*view));
	struct result **all = xcalloc(n, sizeof(*all));

	all[0] = r;
	for (size_t i = 0; i < r->n_further; i++) {
		further_forget(&r->further[i]);
		view[i] = further_view(r, &r->further[i]);
		all[i + 1] = &view[i];
	}
	for (size_t i = 0; i < n; i++)
		(real ? real_rows : both_sides)(all[i]);
	if (real)
		real_verdicts(all, n);
	for (size_t i = 0; i < n && real; i++)
		real_say(all[i]);
	for (size_t i = 0; i < r->n_further; i++)
		take_from_view(&r->further[i], &view[i]);
	free(all);
	free(view);
}

void analyse(struct result *r)
{
	locale_t c = newlocale(LC_ALL_MASK, "C", NULL), before = uselocale(c);

	forget(r);
	if (result_one_sided(r))
		single(r);
	else
		all_sides(r);
	conclude(r);
	if (r->two_by_two.asked)
		two_by_two(r);
	for (size_t i = 0; i < r->n_variants; i++)
		analyse(r->variants[i].r);

	uselocale(before);
	if (c)
		freelocale(c);
}
