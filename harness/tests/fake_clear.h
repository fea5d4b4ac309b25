/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A result as a run of clear-fault leaves it before it is analysed: 256 MiB in
 * 2 MiB folios on arm64, cleared in longer pieces on side B.  Tests then break
 * one thing in it.
 */
#ifndef FOLAB_TESTS_FAKE_CLEAR_H
#define FOLAB_TESTS_FAKE_CLEAR_H

#include "fake_result.h"

static const char *const fake_pages[] = { "4k", "2m-thp", NULL };
static const struct param_spec fake_clear_specs[] = {
	{ "page", PARAM_CHOICE, "2m-thp", 0, 0, fake_pages, "" },
	{ "size", PARAM_SIZE, "256M", 4096, INT64_MAX, NULL, "" },
	{ "threads", PARAM_INT, "1", 1, 64, NULL, "" },
	{ "node", PARAM_INT, "-1", -1, 7, NULL, "" },
	{ NULL },
};

static inline void fake_clear_sample(struct sample *s, char side)
{
	struct counters *c = &s->counters;
	int64_t all = side == 'A' ? 18971070 : 17813059;
	static const struct {
		const char *name;
		int64_t value;
	} same[] = {
		{ "clear.pages", 65536 }, { "clear.order", 9 },
		{ "clear.faults", 128 }, { "clear.threads", 1 },
		{ "clear.nonzero_words", 0 }, { "clear.soiled_pages", 65536 },
		{ "mthp.anon_fault_alloc", 128 },
		{ "mthp.anon_fault_fallback", 0 },
		{ "pages.mapped", 65536 }, { "pages.node0", 65536 },
		{ "pages.pmd", 65536 }, { "pmu.user_instructions", 172479 },
		{ "plugin.user_instructions", 172465 },
		{ "vmstat.pgscan_kswapd", 0 }, { "vmstat.pgscan_direct", 0 },
		{ "vmstat.compact_stall", 0 }, { "vmstat.oom_kill", 0 },
		{ "vmstat.compact_migrate_scanned", 0 },
		{ "vmstat.thp_fault_fallback", 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(same); i++)
		counters_set(c, same[i].name, same[i].value);
	counters_set(c, "pmu.kernel_instructions", all);
	counters_set(c, "plugin.kernel_instructions", all + 4447);
	counters_set(c, "time.sys_ns", side == 'A' ? 38306896 : 35990864);
	s->order_pages[9] = 65536;
}

static inline void fake_clear_trial(struct trial *t, char side, int64_t seed,
				    int64_t index)
{
	int64_t all;

	*t = (struct trial){
		.side = side, .seed = seed, .index = index, .done = true,
	};
	t->samples = xcalloc(1, sizeof(*t->samples));
	t->n_samples = 1;
	fake_clear_sample(&t->samples[0], side);
	all = counters_value(&t->samples[0].counters,
			     "plugin.kernel_instructions");
	t->profile = (struct profile){
		.windows = 1, .kernel_instructions = all,
	};
	fake_fn(&t->profile, side == 'A' ? "clear_page" : "clear_page_range",
		NULL, side == 'A' ? 65536 : 640, all * 90 / 100,
		all * 90 / 100);
	fake_fn(&t->profile, "folio_zero_user", NULL, 128, all * 5 / 100,
		side == 'A' ? (all * 95 + 99) / 100 : all * 94 / 100);
}

static inline void fake_clear_result(struct result *r, int64_t seeds)
{
	static const char *const wanted[] = {
		"clear.instructions_per_page", "clear.instructions_per_folio",
		"clear.sys_seconds", "clear.user_seconds",
		"clear.gigabytes_per_second",
		"clear.user_instructions_per_page",
		"clear.share.folio_zero_user", "clear.faults", "clear.pages",
		"clear.folios",
	};

	fake_result(r, 0);
	free(r->scenario);
	free(r->summary);
	free(r->workload);
	free(r->command);
	free(r->fs);
	free(r->trials);
	params_free(&r->params);
	strlist_free(&r->wanted);
	r->wanted = (struct strlist){ 0 };
	r->scenario = xstrdup("clear-fault");
	r->summary = xstrdup("anonymous memory, cleared as it is faulted in");
	r->workload = xstrdup("clear-fault");
	r->command = xstrdup("folab ab -s clear-fault -a arm64 -A 6.12 -B 6.12+clear-pages --boots 5");
	r->fs = xstrdup("none");
	params_init(&r->params, fake_clear_specs);
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
		strlist_add(&r->wanted, wanted[i]);
	r->n_trials = 2 * seeds;
	r->trials = xcalloc(r->n_trials, sizeof(*r->trials));
	for (size_t i = 0; i < r->n_trials; i++)
		fake_clear_trial(&r->trials[i], i % 2 ? 'B' : 'A', i / 2 + 1,
				 i);
}

#endif
