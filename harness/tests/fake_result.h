/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A result as a run of reclaim-file leaves it before it is analysed: 192 MiB,
 * order 4, young flags batched on side B.  Tests then break one thing in it.
 */
#ifndef FOLAB_TESTS_FAKE_RESULT_H
#define FOLAB_TESTS_FAKE_RESULT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../record/record.h"

static const char *const fake_lru[] = { "classic", "mglru", NULL };
static const struct param_spec fake_specs[] = {
	{ "size", PARAM_SIZE, "192M", 1 << 20, INT64_MAX, NULL, "" },
	{ "reclaim", PARAM_SIZE, "150M", 1 << 20, INT64_MAX, NULL, "" },
	{ "order", PARAM_INT, "4", 0, 9, NULL, "" },
	{ "mappers", PARAM_INT, "1", 1, 1000, NULL, "" },
	{ "lru", PARAM_CHOICE, "classic", 0, 0, fake_lru, "" },
	{ NULL },
};

/* Kernel instructions of five seeds, millions. */
static const double fake_a[] = { 155.5, 155.2, 156.6, 157.0, 154.9 };
static const double fake_b[] = { 65.6, 63.6, 64.4, 62.7, 63.6 };

static inline void fake_fn(struct profile *p, const char *name,
			   const char *inlined_in, int64_t calls, int64_t self,
			   int64_t inclusive)
{
	p->fn = xrealloc(p->fn, p->n_fn + 1, sizeof(*p->fn));
	p->fn[p->n_fn++] = (struct profile_fn){
		.name = xstrdup(name),
		.inlined_in = inlined_in ? xstrdup(inlined_in) : NULL,
		.calls = calls,
		.self = self,
		.inclusive = inclusive,
	};
}

static inline void fake_profile(struct profile *p, char side, int64_t all)
{
	*p = (struct profile){ .windows = 1, .kernel_instructions = all };
	if (side == 'A') {
		fake_fn(p, "contpte_ptep_get", NULL, 245000, all * 369 / 1000,
			all * 369 / 1000);
		fake_fn(p, "contpte_ptep_test_and_clear_young", NULL, 120000,
			all * 166 / 1000, all * 166 / 1000);
		fake_fn(p, "page_vma_mapped_walk", NULL, 179000,
			all * 114 / 1000, all * 114 / 1000);
		fake_fn(p, "folio_check_references", "shrink_folio_list", 4000,
			all / 1000, all * 70 / 100);
	} else {
		fake_fn(p, "contpte_test_and_clear_young_ptes", NULL, 8000,
			all * 45 / 1000, all * 45 / 1000);
		fake_fn(p, "contpte_ptep_get", NULL, 21000, all * 100 / 1000,
			all * 100 / 1000);
		fake_fn(p, "page_vma_mapped_walk", NULL, 12000,
			all * 30 / 1000, all * 30 / 1000);
		fake_fn(p, "folio_check_references", "shrink_folio_list", 4000,
			all / 500, all * 21 / 100);
	}
	fake_fn(p, "try_to_unmap_one", NULL, 2400, 3100000, 9000000);
	fake_fn(p, "__free_one_page", NULL, 39000, 4600000, 4600000);
	fake_fn(p, "shrink_folio_list", NULL, 1200, 5000000, all * 95 / 100);
	fake_fn(p, "xas_store", NULL, 2400, 1900000, 2000000);
}

static inline void fake_sample(struct sample *s, char side, int64_t seed)
{
	struct counters *c = &s->counters;
	bool a = side == 'A';
	int64_t all = (a ? fake_a : fake_b)[(seed - 1) % 5] * 1000000;
	static const struct {
		const char *name;
		int64_t value;
	} same[] = {
		{ "reclaim.asked", 150 << 20 },
		{ "reclaim.errno", 0 },
		{ "memory.current_before", 203423744 },
		{ "memory.current_after", 203423744 - 38416 * 4096 + 90112 },
		{ "memcg.pgscan", 87040 },
		{ "memcg.pgsteal", 38416 },
		{ "memcg.pgactivate", 16 },
		{ "memcg.pgrefill", 49152 },
		{ "memcg_before.file", 192 << 20 },
		{ "events.max", 0 },
		{ "events.oom", 0 },
		{ "events.oom_kill", 0 },
		{ "events.high", 0 },
		{ "vmstat.pgscan_kswapd", 0 },
		{ "vmstat.pgsteal_kswapd", 0 },
		{ "file.bytes", 192 << 20 },
		{ "file.charged", 192 << 20 },
		{ "pages.mapped", 49152 },
		{ "pages.contpte", 48000 },
		{ "pages.survived", 49152 - 38416 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(same); i++)
		counters_set(c, same[i].name, same[i].value);
	counters_set(c, "pmu.kernel_instructions", all);
	counters_set(c, "plugin.kernel_instructions", all + 2100);
	counters_set(c, "plugin.user_instructions", 40);
	counters_set(c, "plugin.tlbi_address", a ? 41000 : 2500);
	counters_set(c, "plugin.tlbi_range", a ? 5675 : 2980);
	counters_set(c, "plugin.tlbi_all", 0);
	counters_set(c, "plugin.dsb", a ? 46900 : 10800);
	counters_set(c, "plugin.atomics", a ? 31560 : 15780);
	counters_set(c, "time.sys_ns", all * 2);
	s->order_pages[2] = 96;
	s->order_pages[3] = 1056;
	s->order_pages[4] = 48000;
	s->survivors = xasprintf("%064x", (unsigned int)(0xabc000 + seed));
}

static inline void fake_trial(struct trial *t, char side, int64_t seed,
			      int64_t index)
{
	*t = (struct trial){
		.side = side,
		.seed = seed,
		.index = index,
		.done = true,
	};
	t->samples = xcalloc(1, sizeof(*t->samples));
	t->n_samples = 1;
	fake_sample(&t->samples[0], side, seed);
	fake_profile(&t->profile, side,
		     counters_value(&t->samples[0].counters,
				    "plugin.kernel_instructions"));
}

static inline void fake_image(struct image *im, const char *spec)
{
	*im = (struct image){
		.spec = xstrdup(spec),
		.arch = arch_find("arm64"),
		.release = xstrdup("6.12.117-folab"),
		.base = xstrdup("linux-source-6.12 6.12.117-1~deb12u1"),
		.compiler = xstrdup("aarch64-linux-gnu-gcc (Debian 12.2.0-14) 12.2.0"),
		.config_hash = xstrdup("1f3a5c7e9b2d4f6081a3c5e7092b4d6f8091a2b3c4d5e6f708192a3b4c5d6e7f"),
		.image_hash = xasprintf("%s-image", spec),
	};
}

static inline void fake_result(struct result *r, int64_t seeds)
{
	static const char *const wanted[] = {
		"reclaim.instructions_per_page", "reclaim.sys_seconds",
		"reclaim.tlbi_per_folio", "reclaim.dsb_per_folio",
		"reclaim.share.folio_check_references", "reclaim.pages",
		"reclaim.pgscan",
	};

	*r = (struct result){
		.scenario = xstrdup("reclaim-file"),
		.summary = xstrdup("192 MiB of mapped XFS page cache in 64 KiB folios, 150 MiB reclaimed"),
		.workload = xstrdup("reclaim-file"),
		.clock = xstrdup("instructions"),
		.ns_per_instruction = 2,
		.machine = xstrdup("QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7+deb12u18), virt, cpu max, 1 CPU, 1024 MiB"),
		.machine_args = xstrdup("-icount shift=1,sleep=off"),
		.cmdline = xstrdup("console=ttyAMA0 nokaslr panic=-1 quiet"),
		.command = xstrdup("folab ab -s reclaim-file -a arm64 -A 6.12 -B 6.12+young-batch --boots 5"),
		.folab_version = xstrdup("0.1"),
		.fs = xstrdup("xfs on a RAM disk, made by mkfs.xfs 6.1.0"),
		.tolerance_pct = 1,
	};
	params_init(&r->params, fake_specs);
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
		strlist_add(&r->wanted, wanted[i]);
	fake_image(&r->side[0], "6.12");
	fake_image(&r->side[1], "6.12+young-batch");
	r->side[1].series = xcalloc(1, sizeof(*r->side[1].series));
	r->side[1].n_series = 1;
	r->side[1].series[0] = (struct image_series){
		.name = xstrdup("young-batch"),
		.hash = xstrdup("0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f9"),
		.patches = 4,
	};
	r->n_trials = 2 * seeds;
	r->trials = xcalloc(r->n_trials, sizeof(*r->trials));
	for (size_t i = 0; i < r->n_trials; i++) {
		int64_t seed = i / 2 + 1;

		fake_trial(&r->trials[i], (i % 2) ^ (seed % 2 == 0) ? 'B' : 'A',
			   seed, i);
	}
}

static inline struct trial *fake_find(struct result *r, char side, int64_t seed)
{
	for (size_t i = 0; i < r->n_trials; i++)
		if (r->trials[i].side == side && r->trials[i].seed == seed)
			return &r->trials[i];
	fail();
	return NULL;
}

/* Set a counter of all samples of @side ('A', 'B', 0: both). */
static inline void fake_set(struct result *r, char side, const char *name,
			    int64_t value)
{
	for (size_t i = 0; i < r->n_trials; i++)
		if (!side || r->trials[i].side == side)
			counters_set(&r->trials[i].samples[0].counters, name,
				     value);
}

/* Remove a counter from all samples of @side ('A', 'B', 0: both). */
static inline void fake_unset(struct result *r, char side, const char *name)
{
	for (size_t i = 0; i < r->n_trials; i++) {
		struct counters *c = &r->trials[i].samples[0].counters;

		if (side && r->trials[i].side != side)
			continue;
		for (size_t j = 0; j < c->n; j++) {
			if (strcmp(c->v[j].name, name))
				continue;
			free(c->v[j].name);
			memmove(&c->v[j], &c->v[j + 1],
				(c->n - j - 1) * sizeof(*c->v));
			c->n--;
			break;
		}
	}
}

#endif
