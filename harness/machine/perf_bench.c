/* SPDX-License-Identifier: GPL-2.0 */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "perf_bench.h"

/*
 * bench/mem-functions.c sets memory to the number of the loop: only the first
 * one clears it, and a processor may know better what to do with zeros (on one,
 * "rep stosb" of zeros was twice as fast as of ones).
 */
#define LOOPS	"1"

/* Their functions beside our methods. */
static const struct {
	const char *method, *function;
} same[] = {
	{ "rep-stosb", "x86-64-stosb" },
	{ "rep-stosq", "x86-64-stosq" },
	{ "memset", "default" },
};

/*
 * Run perf.  Returns its exit status, -1 interrupted, -2 it did not start; *out
 * is what it wrote, NULL on the latter two.
 */
static int run_perf(const struct strlist *args, char **out, struct err *err)
{
	struct child_spec spec = { .argv = args->v };
	struct err failed = { 0 };
	int rc = child_capture(&spec, true, out, &failed);

	if (rc >= 0)
		return rc;
	free(*out);
	*out = NULL;
	return intr_check(err) ? -1 : -2;
}

static void add_words(struct strlist *l, const char *words)
{
	char *copy = xstrdup(words), *save, *word;

	for (word = strtok_r(copy, " ", &save); word;
	     word = strtok_r(NULL, " ", &save))
		strlist_add(l, word);
	free(copy);
}

static int run_words(const char *words, char **out, struct err *err)
{
	struct strlist args = { 0 };
	int rc;

	add_words(&args, words);
	rc = run_perf(&args, out, err);
	strlist_free(&args);
	return rc;
}

static void say(struct perf_bench *p, const char *text)
{
	char *longer = xasprintf("%s%s", p->what ? p->what : "", text);

	free(p->what);
	p->what = longer;
}

/* "\tNAME ... what it is" lines of -f help. */
static void take_functions(struct perf_bench *p, char *text)
{
	char *save, *line;

	for (line = strtok_r(text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		char *end = strstr(line, " ... ");

		if (*line != '\t' || !end)
			continue;
		*end = '\0';
		strlist_add(&p->functions, line + 1);
	}
}

static void add_chunk(struct perf_bench *p, uint64_t chunk)
{
	char name[32];

	format_size_short(chunk, name, sizeof(name));
	if (!strlist_has(&p->chunks, name))
		strlist_add(&p->chunks, name);
}

/* The smallest, a large page, the largest that we clear at once. */
static void choose_chunks(struct perf_bench *p, const struct params *params)
{
	uint64_t size = params_get(params, "size");
	uint64_t from = params_get(params, "from");
	uint64_t to = params_get(params, "to");

	if (!p->chunk_option) {
		add_chunk(p, size);
		if (to < size)
			say(p, "; no chunk of ours is as large as what it clears at once");
		return;
	}
	while (to > size)
		to /= 2;
	add_chunk(p, from);
	if (from <= 2 << 20 && to >= 2 << 20)
		add_chunk(p, 2 << 20);
	add_chunk(p, to);
}

static int probe_memset(struct perf_bench *p, const struct params *params,
			struct err *err)
{
	char *text;
	int rc = run_words("perf bench mem memset --help", &text, err);

	if (rc == -1)
		return -1;
	p->chunk_option = text && strstr(text, "--chunk");
	free(text);
	rc = run_words("perf bench mem memset -f help", &text, err);
	if (rc == -1)
		return -1;
	if (text)
		take_functions(p, text);
	free(text);
	if (!p->functions.n) {
		say(p, ", which has no bench mem memset");
		return 0;
	}
	say(p, p->chunk_option ? ", bench mem memset in chunks" :
	    ", bench mem memset (no --chunk: all of it at once)");
	choose_chunks(p, params);
	return 0;
}

int perf_bench_probe(struct perf_bench *p, const struct params *params,
		     struct err *err)
{
	char *text = NULL;
	int rc;

	memset(p, 0, sizeof(*p));
	p->size = xasprintf("%" PRId64 "MB", params_get(params, "size") >> 20);
	rc = program_exists("perf") ? run_words("perf --version", &text, err) :
		-2;
	if (rc == -1)
		return -1;
	if (rc) {
		say(p, rc == -2 ? "perf is not installed (apt-get install linux-perf)" :
		    "perf does not run here");
		free(text);
		return 0;
	}
	text[strcspn(text, "\n")] = '\0';
	say(p, text);
	free(text);
	if (probe_memset(p, params, err))
		return -1;
	rc = run_words("perf bench mem mmap --help", &text, err);
	if (rc == -1)
		return -1;
	p->mmap = text && strstr(text, "--page") && strstr(text, "--function");
	free(text);
	say(p, p->mmap ? ", bench mem mmap" : "; it has no bench mem mmap");
	return 0;
}

/* The last line that is a number: "-f simple" puts bytes a second there. */
static double last_number(const char *text)
{
	double found = NAN;

	while (text && *text) {
		char *end;
		double v = strtod(text, &end);

		if (end != text && (*end == '\n' || !*end) && v > 0)
			found = v;
		text = strchr(text, '\n');
		text = text ? text + 1 : NULL;
	}
	return found;
}

static int bench(struct perf_bench *p, const struct strlist *args,
		 const char *counter, struct sample *s, struct err *err)
{
	char *text;
	int rc = run_perf(args, &text, err);
	double rate;

	if (rc == -1)
		return -1;
	rate = rc ? NAN : last_number(text);
	/* A number that no memory of this world reaches is none. */
	if (rate > 0 && rate < 1e15)
		counters_set(&s->counters, counter, (int64_t)rate);
	else if (!strlist_has(&p->failed, counter))
		strlist_add(&p->failed, counter);
	free(text);
	return 0;
}

static int bench_memset(struct perf_bench *p, size_t i, const char *chunk,
			struct sample *s, struct err *err)
{
	char *counter = xasprintf("perf.memset.%s.%s.bytes_per_second",
				  same[i].method, chunk);
	struct strlist args = { 0 };
	uint64_t bytes;
	int rc;

	add_words(&args, "perf bench -f simple mem memset -l " LOOPS);
	strlist_addf(&args, "--size=%s", p->size);
	strlist_addf(&args, "--function=%s", same[i].function);
	if (p->chunk_option && !parse_size(chunk, &bytes))
		strlist_addf(&args, "--chunk=%" PRIu64 "KB", bytes >> 10);
	rc = bench(p, &args, counter, s, err);
	strlist_free(&args);
	free(counter);
	return rc;
}

static int bench_mmap(struct perf_bench *p, const char *function,
		      const char *page, struct sample *s, struct err *err)
{
	char *counter = xasprintf("perf.mmap.%s.%s.bytes_per_second", function,
				  page);
	struct strlist args = { 0 };
	int rc;

	add_words(&args, "perf bench -f simple mem mmap");
	strlist_addf(&args, "--size=%s", p->size);
	strlist_addf(&args, "--function=%s", function);
	strlist_addf(&args, "--page=%sB", page);
	rc = bench(p, &args, counter, s, err);
	strlist_free(&args);
	free(counter);
	return rc;
}

/* Did the pass measure that method? */
static bool measured(const struct sample *s, const char *method)
{
	char *prefix = xasprintf("chunk.%s.", method);
	bool found = false;

	for (size_t i = 0; i < s->counters.n && !found; i++)
		found = str_starts(s->counters.v[i].name, prefix);
	free(prefix);
	return found;
}

int perf_bench_pass(struct perf_bench *p, struct sample *s, struct err *err)
{
	static const char *const functions[] = { "demand", "populate" };
	static const char *const pages[] = { "4K", "2M" };

	for (size_t i = 0; i < ARRAY_SIZE(same); i++) {
		if (!strlist_has(&p->functions, same[i].function) ||
		    !measured(s, same[i].method))
			continue;
		for (size_t k = 0; k < p->chunks.n; k++)
			if (bench_memset(p, i, p->chunks.v[k], s, err))
				return -1;
	}
	for (size_t i = 0; p->mmap && i < ARRAY_SIZE(functions); i++)
		for (size_t k = 0; k < ARRAY_SIZE(pages); k++)
			if (bench_mmap(p, functions[i], pages[k], s, err))
				return -1;
	return 0;
}

void perf_bench_free(struct perf_bench *p)
{
	free(p->what);
	free(p->size);
	strlist_free(&p->functions);
	strlist_free(&p->chunks);
	strlist_free(&p->failed);
}
