/* SPDX-License-Identifier: GPL-2.0 */
/*
 * clear-chunk - user-space model of how a kernel clears a large page: a region
 * is zeroed in chunks of 4K, 8K, ... 1G by each method that the processor has.
 *
 * What the length of one stretch changes is up to the processor: told of a
 * long one at once, it need not read, or keep in its caches, lines that are
 * written as a whole.  So two things are measured for each chunk and method:
 *
 *  - how long the whole region takes, chunk by chunk;
 *  - for one chunk at a time, how long it takes (nothing else runs meanwhile on
 *    a kernel that does not preempt: that is its delay) and how much longer a
 *    working set takes to read afterwards than before.
 *
 * Cells (a chunk by a method) take turns, and the next pass goes the same way
 * back: a drift of the machine, or a neighbour, meets all of them alike.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "clear_chunk.h"
#include "clear_methods.h"
#include "hot_set.h"

#define HUGE_PAGE	(UINT64_C(2) << 20)
#define MIB		(UINT64_C(1) << 20)
#define SMALLEST	4096
#define CHUNKS_MAX	32		/* 4K to far above any region, by twos */
#define HOT_LINES	8192		/* of a working set, that are read */
#define HOT_UNKNOWN	(256 << 10)	/* of a processor that names no caches */
#define LLC_UNKNOWN	(4 << 20)
#define LLC_MOST	(32 << 20)	/* reading more takes too long */
#define DIRT		0xa5

static const char *const method_choices[] = {
	"all", "rep-stosb", "rep-stosq", "nt-avx2", "nt-avx512", "dc-zva",
	"stp", "memset", NULL
};

static const char *const page_choices[] = { "2M", "4K", NULL };
enum { PAGES_2M, PAGES_4K };

static const struct param_spec specs[] = {
	{ "size", PARAM_SIZE, "1G", 2 << 20, INT64_C(64) << 30, NULL,
	  "region that is cleared" },
	{ "from", PARAM_SIZE, "4K", SMALLEST, INT64_C(1) << 30, NULL,
	  "smallest chunk; the next ones are twice as large each" },
	{ "to", PARAM_SIZE, "1G", SMALLEST, INT64_C(64) << 30, NULL,
	  "largest chunk; the region at most" },
	{ "pages", PARAM_CHOICE, "2M", 0, 0, page_choices,
	  "what maps the region: 2M (where they can be had) or 4K" },
	{ "method", PARAM_CHOICE, "all", 0, 0, method_choices,
	  "how; all: whatever the processor can do" },
	{ "hot", PARAM_SIZE, "0", 0, 1 << 30, NULL,
	  "working set that is read again after a clear; 0: half of the L2 cache" },
	{ "llc", PARAM_SIZE, "0", 0, 1 << 30, NULL,
	  "a larger one; 0: half of the last-level cache, 32M at most" },
	{ NULL },
};

struct cell {
	const struct clear_method *method;
	uint64_t chunk;
};

struct state {
	char *map, *region;	/* region: on a 2M boundary, with 2M before it */
	size_t map_bytes, bytes;
	struct cell cells[CHUNKS_MAX * CLEAR_METHODS];
	size_t n_cells;
	struct hot_set hot, llc;
	uint64_t turn;		/* where the next single chunk is taken from */
};

/* ---- what the parameters need --------------------------------------------- */

static bool power_of_two(uint64_t v)
{
	return v && !(v & (v - 1));
}

static int check(const struct params *p, struct err *err)
{
	static const char *const chunks[] = { "from", "to" };
	static const char *const sets[] = { "hot", "llc" };
	uint64_t from = params_get(p, "from"), to = params_get(p, "to");

	for (int i = 0; i < 2; i++)
		if (!power_of_two(params_get(p, chunks[i])))
			return err_set(err, EXIT_USAGE,
				       "%s = %s is no power of two, as chunks have to be",
				       chunks[i], params_text(p, chunks[i]));
	for (int i = 0; i < 2; i++)
		if (params_get(p, sets[i]) % SMALLEST)
			return err_set(err, EXIT_USAGE,
				       "%s = %s is not a multiple of the page size, 4K",
				       sets[i], params_text(p, sets[i]));
	if (params_get(p, "size") % HUGE_PAGE)
		return err_set(err, EXIT_USAGE,
			       "size = %s is not a multiple of 2M",
			       params_text(p, "size"));
	if (from > to)
		return err_set(err, EXIT_USAGE,
			       "from = %s is more than to = %s: no chunk is left",
			       params_text(p, "from"), params_text(p, "to"));
	if (from > (uint64_t)params_get(p, "size"))
		return err_set(err, EXIT_USAGE,
			       "from = %s is more than size = %s: no chunk is left",
			       params_text(p, "from"), params_text(p, "size"));
	return 0;
}

static uint64_t fs_bytes(const struct params *p)
{
	return 0;
}

static uint64_t memory_bytes(const struct params *p)
{
	uint64_t size = params_get(p, "size");

	return size + size / 64 + params_get(p, "hot") + params_get(p, "llc") +
	       LLC_MOST + 256 * MIB;
}

/* ---- prepare -------------------------------------------------------------- */

static int choose_cells(const struct params *p, struct state *s,
			struct err *err)
{
	uint64_t to = params_get(p, "to");
	const char *asked = params_text(p, "method");
	bool all = !strcmp(asked, "all");

	for (uint64_t chunk = params_get(p, "from");
	     chunk <= to && chunk <= s->bytes; chunk *= 2)
		for (size_t i = 0; i < CLEAR_METHODS; i++) {
			const struct clear_method *m = &clear_methods[i];

			if ((!all && strcmp(m->name, asked)) ||
			    !clear_method_usable(m))
				continue;
			s->cells[s->n_cells++] = (struct cell){ m, chunk };
		}
	if (!s->n_cells)
		return err_set(err, EXIT_ENVIRONMENT,
			       "this processor can't clear by %s; -p method=all takes what it can",
			       asked);
	return 0;
}

/* "KEY:   123 kB" of a file in /proc in bytes, all lines of it added up. */
static int64_t kib_of(const char *path, const char *key)
{
	struct err ignored = { 0 };
	char *text, *at;
	int64_t sum = 0;

	if (file_read(path, 64 << 20, &text, NULL, &ignored))
		return -1;
	for (at = text; (at = strstr(at, key)); at += strlen(key))
		if (at == text || at[-1] == '\n')
			sum += strtoll(at + strlen(key), NULL, 10) << 10;
	free(text);
	return sum;
}

/* MiB of it that are on large pages; -1 with @err. */
static int map_region(struct state *s, bool huge, struct err *err)
{
	int64_t before, after;
	char size[32];

	s->map_bytes = s->bytes + 3 * HUGE_PAGE;
	s->map = mmap(NULL, s->map_bytes, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (s->map == MAP_FAILED) {
		s->map = NULL;
		return err_sys(err, EXIT_ENVIRONMENT, errno,
			       "can't map a region of %s",
			       format_size(s->bytes, size, sizeof(size)));
	}
	s->region = (char *)(((uintptr_t)s->map + 2 * HUGE_PAGE - 1) &
			     ~(HUGE_PAGE - 1));
	before = kib_of("/proc/self/smaps_rollup", "AnonHugePages:");
	/* Refused where the kernel has no large pages: then it has 4K ones. */
	madvise(s->region, s->bytes, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
	memset(s->region, DIRT, s->bytes);
	after = kib_of("/proc/self/smaps_rollup", "AnonHugePages:");
	return before < 0 || after < before ? 0 : (after - before) >> 20;
}

static size_t set_bytes(const struct params *p, const char *name, int level,
			uint64_t unknown)
{
	uint64_t asked = params_get(p, name), cache = cache_bytes(level);

	if (asked)
		return asked;
	if (!cache)
		return unknown;
	cache = cache / 2 / SMALLEST * SMALLEST;
	return cache < LLC_MOST ? cache : LLC_MOST;
}

static int prepare(struct workload_env *env, void **state, struct err *err)
{
	struct counters *c = &env->sample->counters;
	const struct params *p = env->params;
	struct state *s = xcalloc(1, sizeof(*s));
	int huge;

	*state = s;
	s->bytes = params_get(p, "size");
	env->phase(env, "prepare");
	if (choose_cells(p, s, err))
		return -1;
	huge = map_region(s, params_get(p, "pages") == PAGES_2M, err);
	if (huge < 0)
		return -1;
	hot_set_init(&s->hot, set_bytes(p, "hot", 2, HOT_UNKNOWN), HOT_LINES);
	hot_set_init(&s->llc, set_bytes(p, "llc", 0, LLC_UNKNOWN), HOT_LINES);
	counters_set(c, "region.bytes", s->bytes);
	counters_set(c, "region.huge_bytes", (int64_t)huge << 20);
	counters_set(c, "hot.bytes", s->hot.bytes);
	counters_set(c, "llc.bytes", s->llc.bytes);
	return 0;
}

/* ---- run ------------------------------------------------------------------ */

size_t clear_chunk_cell(int64_t pass, size_t n, size_t i)
{
	/* Two passes each begin at another place, and the second turns round. */
	size_t start = (size_t)(pass / 2) * (n * 5 / 13 + 1) % n;

	return (start + (pass % 2 ? n - 1 - i : i)) % n;
}

size_t clear_chunk_differs(const void *p, int value, size_t bytes)
{
	const unsigned char *at = p;
	unsigned char block[4096];

	memset(block, value, sizeof(block));
	for (size_t done = 0; done < bytes; done += sizeof(block)) {
		size_t n = bytes - done < sizeof(block) ? bytes - done :
			sizeof(block);

		if (memcmp(at + done, block, n))
			for (size_t i = 0; i < n; i++)
				if (at[done + i] != (unsigned char)value)
					return done + i;
	}
	return bytes;
}

static int64_t since(const struct timespec *from)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)(now.tv_sec - from->tv_sec) * 1000000000 +
	       (now.tv_nsec - from->tv_nsec);
}

static void note(struct workload_env *env, const struct cell *cell,
		 const char *what, int64_t value)
{
	char size[32], *name;

	format_size_short(cell->chunk, size, sizeof(size));
	name = xasprintf("chunk.%s.%s.%s", cell->method->name, size, what);
	counters_set(&env->sample->counters, name, value);
	free(name);
}

static void invalid(struct workload_env *env, const struct cell *cell,
		    const char *what, size_t at)
{
	char size[32];

	format_size_short(cell->chunk, size, sizeof(size));
	strlist_addf(&env->sample->invalid, "%s in chunks of %s: byte %zu %s",
		     cell->method->name, size, at, what);
}

/* The whole region; a stamp at both ends shows that it was. */
static void clear_region(struct workload_env *env, struct state *s,
			 const struct cell *cell)
{
	size_t n = s->bytes / cell->chunk, bytes = n * cell->chunk;
	struct timespec from;
	size_t at;

	s->region[0] = s->region[bytes - 1] = DIRT;
	clock_gettime(CLOCK_MONOTONIC, &from);
	for (size_t i = 0; i < n; i++)
		cell->method->clear(s->region + i * cell->chunk, cell->chunk);
	note(env, cell, "ns", since(&from));
	note(env, cell, "bytes", bytes);
	at = s->region[0] ? 0 : bytes - 1;
	if (s->region[at])
		invalid(env, cell, "of the region is not zero", at);
}

/* What one chunk at a time takes, and takes from others. */
struct single {
	int64_t ns, before, after, llc_before, llc_after;
};

static char *next_place(struct state *s, uint64_t chunk)
{
	uint64_t places = s->bytes / chunk;

	return s->region + (mix64(++s->turn) % places) * chunk;
}

enum clear_proof clear_chunk_prove(void (*clear)(void *p, size_t bytes),
				   char *at, size_t chunk, size_t *byte)
{
	enum clear_proof proof = CLEAR_RIGHT;

	memset(at - CLEAR_GUARD, DIRT, chunk + 2 * CLEAR_GUARD);
	clear(at, chunk);
	*byte = clear_chunk_differs(at, 0, chunk);
	if (*byte < chunk)
		proof = CLEAR_TOO_LITTLE;
	else if (clear_chunk_differs(at - CLEAR_GUARD, DIRT, CLEAR_GUARD) <
		 CLEAR_GUARD ||
		 clear_chunk_differs(at + chunk, DIRT, CLEAR_GUARD) <
		 CLEAR_GUARD)
		proof = CLEAR_TOO_MUCH;
	memset(at - CLEAR_GUARD, 0, CLEAR_GUARD);
	memset(at + chunk, 0, CLEAR_GUARD);
	return proof;
}

static void prove_one(struct workload_env *env, struct state *s,
		      const struct cell *cell)
{
	char *at = next_place(s, cell->chunk);
	size_t byte;

	switch (clear_chunk_prove(cell->method->clear, at, cell->chunk, &byte)) {
	case CLEAR_TOO_LITTLE:
		invalid(env, cell, "is not zero", byte);
		break;
	case CLEAR_TOO_MUCH:
		invalid(env, cell, "is the last one, but bytes beside it changed",
			cell->chunk - 1);
		break;
	case CLEAR_RIGHT:
		break;
	}
}

static void clear_one(struct state *s, const struct cell *cell,
		      const struct hot_set *set, int64_t *ns, int64_t *before,
		      int64_t *after)
{
	char *at = next_place(s, cell->chunk);
	struct timespec from;

	hot_set_warm(set);
	*before = hot_set_read(set);
	hot_set_warm(set);
	clock_gettime(CLOCK_MONOTONIC, &from);
	cell->method->clear(at, cell->chunk);
	*ns = since(&from);
	*after = hot_set_read(set);
}

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static int64_t median(int64_t *v, size_t n)
{
	qsort(v, n, sizeof(*v), by_value);
	return v[n / 2];
}

/* How often one chunk is cleared by itself: large ones take their time. */
#define SINGLES	5
static size_t singles(uint64_t chunk)
{
	return chunk >= 256 * MIB ? 1 : chunk >= 32 * MIB ? 3 : SINGLES;
}

static void clear_singles(struct workload_env *env, struct state *s,
			  const struct cell *cell)
{
	const struct hot_set *const sets[] = { &s->hot, &s->llc };
	static const char *const names[2][2] = {
		{ "hot_before_ns", "hot_after_ns" },
		{ "llc_before_ns", "llc_after_ns" },
	};
	size_t n = singles(cell->chunk), all = 0;
	int64_t ns[2 * SINGLES], before[SINGLES], after[SINGLES];

	for (int set = 0; set < 2; set++) {
		for (size_t i = 0; i < n; i++)
			clear_one(s, cell, sets[set], &ns[all++], &before[i],
				  &after[i]);
		note(env, cell, names[set][0], median(before, n));
		note(env, cell, names[set][1], median(after, n));
	}
	note(env, cell, "one_ns", median(ns, all));
	note(env, cell, "one_max_ns", ns[all - 1]);
}

static int run(struct workload_env *env, void *state, struct err *err)
{
	const struct clear_method *kernels = clear_method_of_kernel();
	struct state *s = state;
	int rc = 0;

	env->phase(env, "clear");
	env->window_begin(env);
	for (size_t i = 0; i < s->n_cells && !rc; i++) {
		const struct cell *cell =
			&s->cells[clear_chunk_cell(env->pass, s->n_cells, i)];

		rc = intr_check(err);
		if (rc)
			break;
		clear_region(env, s, cell);
		clear_singles(env, s, cell);
		if (cell->method == kernels)
			note(env, cell, "kernels", 1);
	}
	env->window_end(env);
	return rc;
}

static int verify(struct workload_env *env, void *state, struct err *err)
{
	struct state *s = state;

	env->phase(env, "verify");
	for (size_t i = 0; i < s->n_cells; i++) {
		prove_one(env, s, &s->cells[i]);
		if (intr_check(err))
			return -1;
	}
	return 0;
}

static void clean_up(struct workload_env *env, void *state)
{
	struct state *s = state;

	if (!s)
		return;
	hot_set_free(&s->hot);
	hot_set_free(&s->llc);
	if (s->map)
		munmap(s->map, s->map_bytes);
	free(s);
}

const struct workload clear_chunk = {
	.name = "clear-chunk",
	.summary = "clear memory in chunks of 4K to 1G by each method (user space)",
	.params = specs,
	.check = check,
	.fs_bytes = fs_bytes,
	.memory_bytes = memory_bytes,
	.prepare = prepare,
	.run = run,
	.verify = verify,
	.clean_up = clean_up,
};
