/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fake_result() with two more sides: C has the gain of B, D a tenth of A's
 * instructions less, so that B would have both if they added up.
 */
#ifndef FOLAB_TESTS_FAKE_TWO_BY_TWO_H
#define FOLAB_TESTS_FAKE_TWO_BY_TWO_H

#include "fake_result.h"

static inline void fake_two_by_two(struct result *r)
{
	struct two_by_two *t = &r->two_by_two;
	size_t n = r->n_trials;

	t->asked = true;
	t->series[0] = xstrdup("young-batch");
	t->series[1] = xstrdup("clear-pages");
	fake_image(&t->side[0], "6.12+young-batch");
	fake_image(&t->side[1], "6.12+clear-pages");
	t->trials = xcalloc(n, sizeof(*t->trials));
	t->n_trials = n;
	for (size_t i = 0; i < n; i++) {
		const struct trial *like = &r->trials[i];
		struct trial *mine = &t->trials[i];

		fake_trial(mine, like->side == 'A' ? 'A' : 'B', like->seed,
			   like->index);
		mine->side = like->side == 'A' ? 'D' : 'C';
	}
}

/* A counter of all samples of @side ('C', 'D'). */
static inline void fake_two_set(struct result *r, char side, const char *name,
				int64_t value)
{
	struct two_by_two *t = &r->two_by_two;

	for (size_t i = 0; i < t->n_trials; i++)
		if (t->trials[i].side == side)
			counters_set(&t->trials[i].samples[0].counters, name,
				     value);
}

static inline void fake_kernel_instructions(struct counters *c, int64_t n)
{
	counters_set(c, "pmu.kernel_instructions", n);
	counters_set(c, "plugin.kernel_instructions", n + 2100);
}

#endif
