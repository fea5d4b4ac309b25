/* SPDX-License-Identifier: GPL-2.0 */
/*
 * clear-fault - anonymous memory is faulted in, and the kernel clears it.
 *
 * One write a folio, or one madvise(MADV_POPULATE_WRITE) for all, and then
 * reads of what was cleared, as a program would: where the clearing ended
 * decides what is still in a cache.  The window is exactly these; what the
 * program does in it is told apart by its mode.  Frames are filled with bytes
 * that are not zero and given back before, so that a byte that nobody cleared
 * shows.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clear_fault.h"
#include "clear_work.h"

#define MIB		(UINT64_C(1) << 20)
#define GIB		(UINT64_C(1) << 30)
#define THREADS_MAX	64
#define NODES_MAX	8
#define SOIL		UINT64_C(0xa5a5a5a5a5a5a5a5)
#define SOILED_MIN	50		/* percent of the pages */

static const char *const how_choices[] = { "fault", "populate", NULL };
enum { HOW_FAULT, HOW_POPULATE };
static const char *const hint_choices[] = { "first", "middle", "last", NULL };
enum { HINT_FIRST, HINT_MIDDLE, HINT_LAST };
/* As enum clear_touch. */
static const char *const touch_choices[] = {
	"none", "first", "near", "all", "random", NULL
};

static const struct param_spec specs[] = {
	{ "page", PARAM_CHOICE, "2m-thp", 0, 0, clear_page_names,
	  "size and kind of the pages" },
	{ "how", PARAM_CHOICE, "fault", 0, 0, how_choices,
	  "one write a folio, or madvise(MADV_POPULATE_WRITE)" },
	{ "size", PARAM_SIZE, "256M", 4096, INT64_C(1) << 40, NULL,
	  "memory that is faulted in, rounded up to whole folios" },
	{ "hint", PARAM_CHOICE, "middle", 0, 0, hint_choices,
	  "page of a folio that the faulting write goes to" },
	{ "touch", PARAM_CHOICE, "near", 0, 0, touch_choices,
	  "cache lines read after the fault: none, of the first page, of those near to the written one, all, all in random order" },
	{ "threads", PARAM_INT, "1", 1, THREADS_MAX, NULL,
	  "threads that fault, each in a part of its own" },
	{ "node", PARAM_INT, "-1", -1, NODES_MAX - 1, NULL,
	  "NUMA node that memory and threads are bound to, -1: none" },
	{ NULL },
};

struct state {
	struct clear_memory mem;
	struct clear_work work;
	struct knobs knobs;
	struct frames soiled;
	uint64_t folio;		/* bytes */
	size_t threads;
	int64_t thp_before[2];
	bool has_thp[2];
};

static const char *const thp_stats[2] = {
	"anon_fault_alloc", "anon_fault_fallback",
};

/* ---- what the parameters need ------------------------------------------------ */

static const struct clear_page *page_of(const struct params *p)
{
	return clear_page_at((size_t)params_get(p, "page"));
}

static uint64_t bytes_of(const struct params *p)
{
	return clear_page_round(page_of(p), (uint64_t)params_get(p, "size"));
}

static int check(const struct params *p, struct err *err)
{
	uint64_t folios = bytes_of(p) / clear_page_bytes(page_of(p));
	int64_t threads = params_get(p, "threads");

	if ((uint64_t)threads > folios)
		return err_set(err, EXIT_USAGE,
			       "threads = %s, but size = %s is %" PRIu64 " folio%s of page = %s: a thread needs one at least",
			       params_text(p, "threads"), params_text(p, "size"),
			       folios, folios == 1 ? "" : "s",
			       params_text(p, "page"));
	return 0;
}

static int64_t nodes_of(const struct params *p)
{
	int64_t node = params_get(p, "node");

	return node < 0 ? 1 : node < 2 ? 2 : node + 1;
}

/*
 * So much that kswapd never wakes: the memory, once, since what was soiled is
 * given back before; page tables and struct page; the kernel and its
 * watermarks.  Pages of 1 GiB want whole gigabytes in which nothing else lies,
 * and the first, that below the hole at 4 GiB, and the rest are none.  A node
 * has to hold it all.
 */
static uint64_t memory_bytes(const struct params *p)
{
	uint64_t size = bytes_of(p);
	uint64_t bytes = size + size / 32 + 512 * MIB;

	if (page_of(p)->order >= 18)
		bytes = size + 3 * GIB;
	bytes *= (uint64_t)nodes_of(p);
	return (bytes + MIB - 1) / MIB * MIB;
}

/* Nodes of its own for a machine that has none, and what is only given early. */
static void kernel_options(const struct params *p, struct strlist *words)
{
	int64_t node = params_get(p, "node");
	uint64_t folios = bytes_of(p) / clear_page_bytes(page_of(p));

	if (node >= 0)
		strlist_addf(words, "numa=fake=%" PRId64 "U", nodes_of(p));
	if (page_of(p)->order < 18)
		return;
	strlist_add(words, "hugepagesz=1G");
	if (node >= 0)
		strlist_addf(words, "hugepages=%" PRId64 ":%" PRIu64, node,
			     folios);
	else
		strlist_addf(words, "hugepages=%" PRIu64, folios);
}

/* ---- prepare -------------------------------------------------------------------- */

static uint64_t hint_of(const struct params *p)
{
	uint64_t pages = clear_page_bytes(page_of(p)) >> FOLIO_PAGE_SHIFT;

	switch (params_get(p, "hint")) {
	case HINT_MIDDLE:
		return pages / 2 << FOLIO_PAGE_SHIFT;
	case HINT_LAST:
		return (pages - 1) << FOLIO_PAGE_SHIFT;
	}
	return 0;
}

static void set_state(struct workload_env *env, struct state *s)
{
	const struct params *p = env->params;
	uint64_t lines;

	s->mem = (struct clear_memory){
		.page = page_of(p),
		.bytes = bytes_of(p),
		.node = (int)params_get(p, "node"),
	};
	s->folio = clear_page_bytes(s->mem.page);
	s->threads = (size_t)params_get(p, "threads");
	lines = s->folio / CLEAR_LINE_BYTES;
	s->work = (struct clear_work){
		.mem = &s->mem,
		.populate = params_get(p, "how") == HOW_POPULATE,
		.touch = (enum clear_touch)params_get(p, "touch"),
		.folio = s->folio,
		.hint = hint_of(p),
		.scatter = mix64((uint64_t)env->seed) % lines,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.changed = PTHREAD_COND_INITIALIZER,
	};
	env->threads = s->threads > 1;
}

/* Frames that hold something, for the window to get. */
static int soil(struct workload_env *env, struct state *s, struct err *err)
{
	volatile uint64_t *at;
	int ret;

	env->phase(env, "soil");
	if (clear_memory_map(&s->mem, err))
		return -1;
	at = (volatile uint64_t *)s->mem.at;
	for (uint64_t i = 0; i < s->mem.bytes / sizeof(*at); i++)
		at[i] = SOIL;
	ret = frames_add(&s->soiled, &s->mem, err);
	clear_memory_unmap(&s->mem);
	return ret;
}

static int prepare(struct workload_env *env, void **state, struct err *err)
{
	struct state *s = xcalloc(1, sizeof(*s));

	*state = s;
	set_state(env, s);
	if (sysconf(_SC_PAGESIZE) != (long)FOLIO_PAGE_SIZE)
		return err_set(err, EXIT_ENVIRONMENT,
			       "clear-fault needs pages of 4K; this kernel has %ld",
			       sysconf(_SC_PAGESIZE));
	env->phase(env, "prepare");
	if (clear_memory_bind(&s->mem, err) ||
	    clear_memory_settings(&s->mem, &s->knobs, err))
		return -1;
	return soil(env, s, err);
}

/* ---- what came of it ----------------------------------------------------------------- */

static void note_thp(struct workload_env *env, struct state *s)
{
	for (size_t i = 0; i < ARRAY_SIZE(thp_stats); i++) {
		char name[64];
		int64_t after;

		if (!s->has_thp[i] ||
		    !clear_memory_thp_stat(s->mem.page, thp_stats[i], &after))
			continue;
		snprintf(name, sizeof(name), "mthp.%s", thp_stats[i]);
		counters_set(&env->sample->counters, name,
			     after - s->thp_before[i]);
	}
}

static int note_memory(struct workload_env *env, struct state *s,
		       struct err *err)
{
	const struct arch *arch = arch_host();
	bool cont = arch && arch->contpte && s->mem.page->order == 4;
	struct counters *c = &env->sample->counters;
	struct folio_count n;
	int64_t soiled;

	env->phase(env, "count");
	if (folios_count(s->mem.at, s->mem.bytes, cont ? arch->cont_pages : 0,
			 NULL, NULL, &n, err) ||
	    frames_count(&s->soiled, &s->mem, &soiled, err) ||
	    clear_memory_nodes(&s->mem, c, err))
		return -1;
	memcpy(env->sample->order_pages, n.order_pages, sizeof(n.order_pages));
	counters_set(c, "pages.mapped", n.mapped);
	counters_set(c, "pages.pmd", n.pmd);
	if (cont)
		counters_set(c, "pages.contpte", n.contpte);
	counters_set(c, "clear.pages",
		     (int64_t)(s->mem.bytes >> FOLIO_PAGE_SHIFT));
	counters_set(c, "clear.order", s->mem.page->order);
	counters_set(c, "clear.threads", (int64_t)s->threads);
	counters_set(c, "clear.soiled_pages", soiled);
	counters_set(c, "clear.faults", counters_value(c, "rusage.minflt") +
		     counters_value(c, "rusage.majflt"));
	return 0;
}

static void judge_counts(struct workload_env *env, struct state *s)
{
	const struct counters *c = &env->sample->counters;
	int64_t folios = (int64_t)(s->mem.bytes / s->folio);
	int64_t faults = counters_value(c, "clear.faults");
	int64_t thp = counters_value(c, "vmstat.thp_fault_alloc");
	bool pmd = s->mem.page->kind == CLEAR_THP && s->mem.page->order == 9;

	if (faults != folios)
		workload_invalid(env, "%" PRId64 " faults for %" PRId64 " folios",
			faults, folios);
	/* Of the whole machine, so that there may be more. */
	if (counters_value(c, "vmstat.pgfault") < folios)
		workload_invalid(env, "the kernel counted %" PRId64 " faults for %" PRId64 " folios",
			counters_value(c, "vmstat.pgfault"), folios);
	if (thp != (pmd ? folios : 0))
		workload_invalid(env, "thp_fault_alloc rose by %" PRId64 ", not by %" PRId64,
			thp, pmd ? folios : 0);
	if (s->has_thp[0] &&
	    counters_value(c, "mthp.anon_fault_alloc") != folios)
		workload_invalid(env, "anon_fault_alloc of this size rose by %" PRId64 ", not by %" PRId64,
			counters_value(c, "mthp.anon_fault_alloc"), folios);
}

/* Where a binding was asked for, all of it has to be there. */
static void judge_node(struct workload_env *env, struct state *s)
{
	int64_t there, pages = (int64_t)(s->mem.bytes >> FOLIO_PAGE_SHIFT);
	char name[40];

	if (s->mem.node < 0)
		return;
	snprintf(name, sizeof(name), "pages.node%d", s->mem.node);
	there = counters_value(&env->sample->counters, name);
	if (there != pages)
		workload_invalid(env, "%" PRId64 " of %" PRId64 " pages are on node %d",
			there, pages, s->mem.node);
}

static void judge_soil(struct workload_env *env, struct state *s)
{
	int64_t soiled = counters_value(&env->sample->counters,
					"clear.soiled_pages");
	int64_t pages = (int64_t)(s->mem.bytes >> FOLIO_PAGE_SHIFT);

	if (soiled * 100 < pages * SOILED_MIN)
		workload_invalid(env, "%" PRId64 " of %" PRId64 " frames held anything before: zeros prove nothing",
			soiled, pages);
}

static int run(struct workload_env *env, void *state, struct err *err)
{
	struct state *s = state;
	int errnum;

	env->phase(env, "fault");
	if (clear_work_start(&s->work, s->threads, err))
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(thp_stats); i++)
		s->has_thp[i] = clear_memory_thp_stat(s->mem.page, thp_stats[i],
						      &s->thp_before[i]);
	env->window_ready(env);
	if (clear_memory_map(&s->mem, err))
		return -1;

	env->window_begin(env);
	clear_work_do(&s->work);
	env->window_end(env);

	errnum = clear_work_end(&s->work);
	if (errnum)
		return err_sys(err, EXIT_RUN, errnum,
			       "madvise(MADV_POPULATE_WRITE)");
	note_thp(env, s);
	if (note_memory(env, s, err))
		return -1;
	judge_counts(env, s);
	judge_node(env, s);
	judge_soil(env, s);
	return 0;
}

/* ---- verify, clean up ------------------------------------------------------------------ */

int64_t clear_fault_wrong_words(const char *folio, uint64_t bytes,
				int64_t written)
{
	int64_t wrong = 0;

	for (uint64_t at = 0; at < bytes; at += sizeof(uint64_t)) {
		unsigned char mark[sizeof(uint64_t)] = { CLEAR_MARK };
		uint64_t word, want = 0;

		memcpy(&word, folio + at, sizeof(word));
		if (written >= 0 && at == (uint64_t)written)
			memcpy(&want, mark, sizeof(want));
		wrong += word != want;
	}
	return wrong;
}

/* All of it: but for one byte a folio nobody has written there. */
static int verify(struct workload_env *env, void *state, struct err *err)
{
	struct state *s = state;
	int64_t written = s->work.populate ? -1 : (int64_t)s->work.hint;
	int64_t wrong = 0, first = -1;

	env->phase(env, "verify");
	for (uint64_t at = 0; at < s->mem.bytes; at += s->folio) {
		int64_t n = clear_fault_wrong_words(s->mem.at + at, s->folio,
						    written);

		if (n && first < 0)
			first = (int64_t)(at / s->folio);
		wrong += n;
	}
	counters_set(&env->sample->counters, "clear.nonzero_words", wrong);
	if (wrong)
		workload_invalid(env, "%" PRId64 " words of 8 bytes don't read as cleared, the first in folio %" PRId64,
			wrong, first);
	return 0;
}

static void clean_up(struct workload_env *env, void *state)
{
	struct state *s = state;

	if (!s)
		return;
	clear_work_end(&s->work);
	clear_memory_unmap(&s->mem);
	knobs_restore(&s->knobs);
	frames_free(&s->soiled);
	free(s);
}

const struct workload clear_fault = {
	.name = "clear-fault",
	.summary = "fault in anonymous memory, which the kernel clears",
	.params = specs,
	.check = check,
	.memory_bytes = memory_bytes,
	.kernel_options = kernel_options,
	.prepare = prepare,
	.run = run,
	.verify = verify,
	.clean_up = clean_up,
};
