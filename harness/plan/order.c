/* SPDX-License-Identifier: GPL-2.0 */
#include "plan.h"

void plan_trials(int64_t n, struct trial **trials, size_t *n_trials)
{
	struct trial *t = xcalloc(2 * n, sizeof(*t));

	for (int64_t i = 0; i < n; i++) {
		/* ABBA: a drift of the host hits both sides alike. */
		bool swapped = i % 2;

		for (int k = 0; k < 2; k++) {
			struct trial *one = &t[2 * i + k];

			one->side = (k == 1) != swapped ? 'B' : 'A';
			one->seed = i + 1;
			one->index = 2 * i + k;
		}
	}
	*trials = t;
	*n_trials = 2 * n;
}
