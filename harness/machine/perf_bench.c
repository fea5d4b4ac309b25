/* SPDX-License-Identifier: GPL-2.0 */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../workloads/knobs.h"
#include "internal.h"
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
	p->memset_2m = text && strstr(text, "--page") &&
		       !strcmp(params_text(params, "pages"), "2M");
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
	if (p->memset_2m)
		say(p, " on 2M pages");
	choose_chunks(p, params);
	return 0;
}

/* Of clear-chunk all there is; of clear-fault what it does itself. */
static int probe_mmap(struct perf_bench *p, bool fault,
		      const struct params *params, struct err *err)
{
	char *text;
	int rc = run_words("perf bench mem mmap --help", &text, err);
	bool has = text && strstr(text, "--page") && strstr(text, "--function");

	free(text);
	if (rc == -1)
		return -1;
	say(p, has ? ", bench mem mmap" : "; it has no bench mem mmap");
	if (!has)
		return 0;
	if (!fault) {
		add_words(&p->functions_mmap, "demand populate");
		add_words(&p->pages, "4K 2M");
		return 0;
	}
	strlist_add(&p->functions_mmap,
		    strcmp(params_text(params, "how"), "populate") ? "demand" :
								    "populate");
	text = xstrdup(params_text(params, "page"));
	if (str_starts(text, "1g"))
		strlist_add(&p->pages, "1G");
	else if (str_starts(text, "2m"))
		strlist_add(&p->pages, "2M");
	else
		strlist_add(&p->pages, "4K");
	/* perf has no word for them. */
	if (str_ends(text, "-thp"))
		say(p, str_starts(text, "2m") ?
		    " (hugetlb: it knows no transparent huge pages)" :
		    " (4K: it knows no transparent huge pages)");
	free(text);
	return 0;
}

bool perf_bench_has(const char *workload)
{
	return !strcmp(workload, "clear-chunk") ||
	       !strcmp(workload, "clear-fault");
}

int perf_bench_probe(struct perf_bench *p, const char *workload,
		     const struct params *params, struct err *err)
{
	bool fault = !strcmp(workload, "clear-fault");
	uint64_t size = (uint64_t)params_get(params, "size");
	char *text = NULL;
	int rc;

	memset(p, 0, sizeof(*p));
	/* perf takes whole ones, of whole pages. */
	p->bytes = (size + (2 << 20) - 1) & ~(uint64_t)((2 << 20) - 1);
	p->size = xasprintf("%" PRIu64 "MB", p->bytes >> 20);
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
	if (!fault && probe_memset(p, params, err))
		return -1;
	return probe_mmap(p, fault, params, err);
}

/* ---- huge pages for it ------------------------------------------------------------ */

static bool number_in(const char *path, int64_t *value)
{
	struct err ignored = { 0 };
	char *text;
	bool is;

	if (file_read(path, 64, &text, NULL, &ignored))
		return false;
	text[strcspn(text, "\n")] = '\0';
	is = !parse_int(text, 0, INT64_MAX, value);
	free(text);
	return is;
}

/*
 * perf maps hugetlb pages.  Without a pool it fails with exit code 0.  A setting
 * that the kernel can't meet in full is no error of write(2) either.
 */
static void reserve_pool(struct perf_bench *p, struct knobs *k,
			 const char *page)
{
	uint64_t bytes, pages, want, have;
	struct err failed = { 0 };
	char *dir, *path, text[24];
	int64_t now = 0;

	if (parse_size(page, &bytes) || bytes <= 4096 || geteuid())
		return;
	dir = xasprintf("/sys/kernel/mm/hugepages/hugepages-%" PRIu64 "kB",
			bytes >> 10);
	path = xasprintf("%s/nr_hugepages", dir);
	pages = (p->bytes + bytes - 1) / bytes;
	have = host_memory_free();
	if (pages * bytes + pages * bytes / 16 > have) {
		err_set(&failed, EXIT_ENVIRONMENT,
			"%" PRIu64 " pages of %s do not fit into the free memory",
			pages, page);
	} else {
		number_in(path, &now);
		want = (uint64_t)now + pages;
		snprintf(text, sizeof(text), "%" PRIu64, want);
		if (!knobs_set(k, path, text, &failed) &&
		    (!number_in(path, &now) || (uint64_t)now < want))
			err_set(&failed, EXIT_ENVIRONMENT,
				"the kernel found %" PRId64 " pages of %s, not %" PRIu64,
				now, page, want);
	}
	if (failed.code && !p->pool_failed)
		p->pool_failed = xstrdup(failed.text);
	free(path);
	free(dir);
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

/* The last line with something in it; caller frees. */
static char *last_line(char *text)
{
	char *line, *save, *last = NULL;

	for (line = strtok_r(text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save))
		if (line[strspn(line, " \t")])
			last = line + strspn(line, " \t");
	return printable(last ? last : "", last ? strlen(last) : 0, 80);
}

static bool has_failed(const struct perf_bench *p, const char *counter)
{
	for (size_t i = 0; i < p->failed.n; i++)
		if (str_starts(p->failed.v[i], counter))
			return true;
	return false;
}

static int bench(struct perf_bench *p, const struct strlist *args,
		 const char *counter, struct sample *s, struct err *err)
{
	char *text, *line;
	int rc = run_perf(args, &text, err);
	double rate;

	if (rc == -1)
		return -1;
	rate = rc ? NAN : last_number(text);
	/* A number that no memory of this world reaches is none. */
	if (rate > 0 && rate < 1e15) {
		counters_set(&s->counters, counter, (int64_t)rate);
	} else if (!has_failed(p, counter)) {
		/* Not all that fails says so with its exit code. */
		line = text ? last_line(text) : xstrdup("");
		strlist_addf(&p->failed, "%s: %s", counter,
			     *line ? line : "it wrote nothing");
		free(line);
	}
	free(text);
	return 0;
}

/* With a pool for its pages, given back behind it. */
static int bench_with_pool(struct perf_bench *p, const struct strlist *args,
			   const char *page, const char *counter,
			   struct sample *s, struct err *err)
{
	struct knobs knobs = { 0 };
	int rc;

	reserve_pool(p, &knobs, page);
	rc = bench(p, args, counter, s, err);
	knobs_restore(&knobs);
	return rc;
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
	if (p->memset_2m)
		strlist_add(&args, "--page=2MB");
	rc = bench_with_pool(p, &args, p->memset_2m ? "2M" : "4K", counter, s,
			     err);
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
	rc = bench_with_pool(p, &args, page, counter, s, err);
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
	for (size_t i = 0; i < ARRAY_SIZE(same); i++) {
		if (!strlist_has(&p->functions, same[i].function) ||
		    !measured(s, same[i].method))
			continue;
		for (size_t k = 0; k < p->chunks.n; k++)
			if (bench_memset(p, i, p->chunks.v[k], s, err))
				return -1;
	}
	for (size_t i = 0; i < p->functions_mmap.n; i++)
		for (size_t k = 0; k < p->pages.n; k++)
			if (bench_mmap(p, p->functions_mmap.v[i],
				       p->pages.v[k], s, err))
				return -1;
	return 0;
}

void perf_bench_free(struct perf_bench *p)
{
	free(p->what);
	free(p->size);
	strlist_free(&p->functions);
	strlist_free(&p->chunks);
	strlist_free(&p->functions_mmap);
	strlist_free(&p->pages);
	strlist_free(&p->failed);
	free(p->pool_failed);
}
