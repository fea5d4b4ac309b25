/* SPDX-License-Identifier: GPL-2.0 */
/*
 * folab ab --two-by-two: which kernels the two other sides are.
 */
#include <stdlib.h>
#include <string.h>

#include "../build/build.h"
#include "two_by_two.h"

/* Series of @b that @a lacks; every one of @a must be in @b. */
static int more_series(const char *const spec[2], const struct strlist *a,
		       const struct strlist *b, struct strlist *more,
		       struct err *err)
{
	for (size_t i = 0; i < a->n; i++)
		if (!strlist_has(b, a->v[i]))
			return err_set(err, EXIT_USAGE,
				       "--two-by-two: kernel A has the series %s that kernel B lacks",
				       a->v[i]);
	for (size_t i = 0; i < b->n; i++)
		if (!strlist_has(a, b->v[i]))
			strlist_add(more, b->v[i]);
	if (more->n == 2)
		return 0;
	return err_set(err, EXIT_USAGE,
		       "--two-by-two takes a kernel B with two series more than kernel A, as -A 6.12 -B 6.12+ONE+TWO; %s has %zu more than %s",
		       spec[1], more->n, spec[0]);
}

int two_by_two_specs(const char *const spec[2], char *alone[2],
		     char *series[2], struct err *err)
{
	struct strlist of[2] = { 0 }, more = { 0 };
	char *base[2] = { NULL, NULL };
	int rc = -1;

	for (int i = 0; i < 2; i++)
		if (build_split_spec(spec[i], &base[i], &of[i], err))
			goto out;
	if (strcmp(base[0], base[1]))
		err_set(err, EXIT_USAGE,
			"--two-by-two: A and B have to be one kernel, with and without series, not %s and %s",
			base[0], base[1]);
	else
		rc = more_series(spec, &of[0], &of[1], &more, err);
	for (int i = 0; i < 2 && !rc; i++) {
		alone[i] = xasprintf("%s+%s", spec[0], more.v[i]);
		series[i] = xstrdup(more.v[i]);
	}
out:
	for (int i = 0; i < 2; i++) {
		free(base[i]);
		strlist_free(&of[i]);
	}
	strlist_free(&more);
	return rc;
}

void two_by_two_split(struct result *r)
{
	struct two_by_two *t = &r->two_by_two;
	size_t kept = 0;

	t->trials = xcalloc(r->n_trials, sizeof(*t->trials));
	for (size_t i = 0; i < r->n_trials; i++) {
		if (r->trials[i].side > 'B')
			t->trials[t->n_trials++] = r->trials[i];
		else
			r->trials[kept++] = r->trials[i];
	}
	r->n_trials = kept;
}
