/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The order of the steps; each is a file of its own.
 */
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

void analyse(struct result *r)
{
	locale_t c = newlocale(LC_ALL_MASK, "C", NULL), before = uselocale(c);

	forget(r);
	if (result_one_sided(r))
		single(r);
	else
		both_sides(r);
	r->valid = !r->reasons.n;
	for (size_t i = 0; !r->valid && i < r->n_rows; i++)
		r->rows[i].verdict = VERDICT_INVALID;
	if (r->two_by_two.asked)
		two_by_two(r);

	uselocale(before);
	if (c)
		freelocale(c);
}
