/* SPDX-License-Identifier: GPL-2.0 */
#include <string.h>

#include "plan.h"

void plan_trials_of(const char *sides, int64_t n, struct trial **trials,
		    size_t *n_trials)
{
	size_t all = strlen(sides), at = 0;
	struct trial *t = xcalloc(all * n, sizeof(*t));

	for (int64_t i = 0; i < n; i++) {
		for (size_t k = 0; k < all; k++, at++) {
			t[at].side = sides[i % 2 ? all - 1 - k : k];
			t[at].seed = i + 1;
			t[at].index = at;
		}
	}
	*trials = t;
	*n_trials = at;
}

void plan_trials(int64_t n, struct trial **trials, size_t *n_trials)
{
	plan_trials_of("AB", n, trials, n_trials);
}
