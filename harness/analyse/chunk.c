/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The samples of clear-chunk as a table: how fast each method is with each
 * chunk, in the median over the passes, and from which chunk on it is another
 * thing (the knee).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "private.h"

#define PREFIX		"chunk."
#define SUFFIX		".ns"
#define SMALL_CHUNK	(UINT64_C(64) << 10)	/* the plateau's largest */
#define KNEE_GAIN	1.25	/* the best over the plateau, at least */
#define NOISY_PCT	3.0	/* a median's standard error */

/* One counter of a cell in each sample behind the warm-up. */
struct column {
	double *v;
	size_t n;
};

static struct column column(const struct trial *t, const char *cell,
			    const char *what)
{
	char *name = xasprintf(PREFIX "%s.%s", cell, what);
	struct column c = { .v = xcalloc(t->n_samples + 1, sizeof(double)) };

	for (size_t i = trial_first_sample(t); i < t->n_samples; i++) {
		int64_t value;

		if (counters_get(&t->samples[i].counters, name, &value))
			c.v[c.n++] = value;
	}
	free(name);
	return c;
}

/* Median of the quotients of two counters; NAN if a sample lacks one. */
static double median_ratio(const struct trial *t, const char *cell,
			   const char *above, const char *below,
			   double *spread_pct, double *error_pct)
{
	struct column a = column(t, cell, above), b = column(t, cell, below);
	double median = NAN;
	bool known = a.n && a.n == b.n;

	for (size_t i = 0; i < a.n && known; i++) {
		if (b.v[i] <= 0)
			known = false;
		else
			a.v[i] /= b.v[i];
	}
	if (known)
		median = stat_median(a.v, a.n);
	if (spread_pct)
		*spread_pct = known ? stat_stdev_pct(a.v, a.n) : NAN;
	if (error_pct)
		*error_pct = known ? stat_median_error_pct(a.v, a.n) : NAN;
	free(a.v);
	free(b.v);
	return median;
}

static double median_of(const struct trial *t, const char *cell,
			const char *what, double *max)
{
	struct column c = column(t, cell, what);
	double median = c.n ? stat_median(c.v, c.n) : NAN;

	if (max)
		*max = c.n ? stat_max(c.v, c.n) : NAN;
	free(c.v);
	return median;
}

/*
 * "METHOD.SIZE" out of "chunk.METHOD.SIZE.ns"; NULL: another counter, or a
 * method that nobody has: names go into reports as they are.
 */
static char *cell_of(const char *counter, char **method, uint64_t *chunk)
{
	size_t n = strlen(counter);
	char *cell, *dot;

	if (!str_starts(counter, PREFIX) || !str_ends(counter, SUFFIX) ||
	    n <= strlen(PREFIX) + strlen(SUFFIX))
		return NULL;
	cell = xstrndup(counter + strlen(PREFIX),
			n - strlen(PREFIX) - strlen(SUFFIX));
	dot = strchr(cell, '.');
	if (!dot || dot == cell ||
	    strspn(cell, "abcdefghijklmnopqrstuvwxyz0123456789-") !=
	    (size_t)(dot - cell) || parse_size(dot + 1, chunk) || !*chunk) {
		free(cell);
		return NULL;
	}
	*method = xstrndup(cell, dot - cell);
	return cell;
}

static struct chunk_method *method_of(struct chunk_table *table, char *name)
{
	struct chunk_method *m;

	for (size_t i = 0; i < table->n; i++)
		if (!strcmp(table->method[i].name, name)) {
			free(name);
			return &table->method[i];
		}
	table->method = xrealloc(table->method, table->n + 1,
				 sizeof(*table->method));
	m = &table->method[table->n++];
	*m = (struct chunk_method){
		.name = name,
		.streaming = str_starts(name, "nt-"),
	};
	return m;
}

static void add_cell(struct chunk_method *m, const struct trial *t,
		     const char *cell, uint64_t chunk)
{
	struct chunk_cell *c;
	double kernels;

	m->cell = xrealloc(m->cell, m->n + 1, sizeof(*m->cell));
	c = &m->cell[m->n++];
	*c = (struct chunk_cell){ .chunk = chunk };
	/* Bytes a nanosecond are 10^9 bytes a second. */
	c->rate = median_ratio(t, cell, "bytes", "ns", &c->spread_pct,
			       &c->error_pct);
	c->hot = median_ratio(t, cell, "hot_after_ns", "hot_before_ns", NULL,
			      NULL);
	c->llc = median_ratio(t, cell, "llc_after_ns", "llc_before_ns", NULL,
			      NULL);
	c->one = median_of(t, cell, "one_ns", NULL) / 1e9;
	median_of(t, cell, "one_max_ns", &c->one_max);
	c->one_max /= 1e9;
	kernels = median_of(t, cell, "kernels", NULL);
	if (kernels > 0)
		m->kernels = true;
}

static int by_chunk(const void *a, const void *b)
{
	uint64_t x = ((const struct chunk_cell *)a)->chunk;
	uint64_t y = ((const struct chunk_cell *)b)->chunk;

	return (x > y) - (x < y);
}

/* The rule is in docs/clear-chunk.md: keep the two alike. */
static void find_knee(struct chunk_method *m)
{
	double *small = xcalloc(m->n, sizeof(*small));
	size_t n = 0;

	m->knee = m->n;
	for (size_t i = 0; i < m->n; i++) {
		if (!isfinite(m->cell[i].rate))
			continue;
		if (m->cell[i].chunk <= SMALL_CHUNK)
			small[n++] = m->cell[i].rate;
		if (!(m->cell[m->best].rate >= m->cell[i].rate))
			m->best = i;
	}
	m->plateau = n ? stat_median(small, n) : NAN;
	m->middle = (m->plateau + m->cell[m->best].rate) / 2;
	free(small);
	if (!(m->cell[m->best].rate >= m->plateau * KNEE_GAIN))
		return;
	/* One that is fast by chance does not make it: the next has to be, too. */
	for (size_t i = m->n; i-- > 0;)
		if (m->cell[i].rate >= m->middle &&
		    (i + 1 == m->n || m->cell[i + 1].rate >= m->middle))
			m->knee = i;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct chunk_method *)a)->name,
		      ((const struct chunk_method *)b)->name);
}

static void finish(struct chunk_table *table)
{
	double best = 0;

	/* By name, so that the order hangs on nothing else. */
	if (table->n)
		qsort(table->method, table->n, sizeof(*table->method), by_name);
	for (size_t i = 0; i < table->n; i++) {
		struct chunk_method *m = &table->method[i];

		qsort(m->cell, m->n, sizeof(*m->cell), by_chunk);
		find_knee(m);
		if (m->cell[m->best].rate > best) {
			best = m->cell[m->best].rate;
			table->best = i;
		}
	}
}

bool chunk_table(const struct trial *t, struct chunk_table *table)
{
	size_t first = trial_first_sample(t);
	const struct counters *c;

	memset(table, 0, sizeof(*table));
	if (!trial_usable(t))
		return false;
	c = &t->samples[first].counters;
	table->passes = t->n_samples - first;
	for (size_t i = 0; i < c->n; i++) {
		char *method, *cell;
		uint64_t chunk;

		cell = cell_of(c->v[i].name, &method, &chunk);
		if (!cell)
			continue;
		add_cell(method_of(table, method), t, cell, chunk);
		free(cell);
	}
	finish(table);
	return table->n > 0;
}

void chunk_table_free(struct chunk_table *table)
{
	for (size_t i = 0; i < table->n; i++) {
		free(table->method[i].name);
		free(table->method[i].cell);
	}
	free(table->method);
	memset(table, 0, sizeof(*table));
}

bool chunk_best_rate(const struct trial *t, const struct sample *s,
		     double *rate)
{
	struct chunk_table table;
	int64_t bytes, ns;
	bool known = false;

	if (chunk_table(t, &table)) {
		const struct chunk_method *m = &table.method[table.best];
		char size[32], *of_bytes, *of_ns;

		format_size_short(m->cell[m->best].chunk, size, sizeof(size));
		of_bytes = xasprintf(PREFIX "%s.%s.bytes", m->name, size);
		of_ns = xasprintf(PREFIX "%s.%s" SUFFIX, m->name, size);
		known = counters_get(&s->counters, of_bytes, &bytes) &&
			counters_get(&s->counters, of_ns, &ns) && ns > 0;
		if (known)
			*rate = (double)bytes / ns;
		free(of_ns);
		free(of_bytes);
	}
	chunk_table_free(&table);
	return known;
}

double chunk_noise_pct(const struct chunk_method *m)
{
	double *v = xcalloc(m->n + 1, sizeof(*v)), median = NAN;
	size_t n = 0;

	for (size_t i = 0; i < m->n; i++)
		if (isfinite(m->cell[i].error_pct))
			v[n++] = m->cell[i].error_pct;
	if (n)
		median = stat_median(v, n);
	free(v);
	return median;
}

bool chunk_noisy(const struct chunk_method *m)
{
	/* One pass does not tell: that is not quiet. */
	return !(chunk_noise_pct(m) <= NOISY_PCT);
}

const struct chunk_method *chunk_kernels(const struct chunk_table *table)
{
	for (size_t i = 0; i < table->n; i++)
		if (table->method[i].kernels)
			return &table->method[i];
	return NULL;
}

const struct chunk_method *chunk_streaming(const struct chunk_table *table)
{
	const struct chunk_method *best = NULL;

	for (size_t i = 0; i < table->n; i++) {
		const struct chunk_method *m = &table->method[i];

		if (m->streaming && (!best || m->cell[m->best].rate >
					      best->cell[best->best].rate))
			best = m;
	}
	return best;
}
