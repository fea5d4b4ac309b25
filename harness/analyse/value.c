/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How a metric comes out of the counters of a sample and the profile of its
 * trial.  What is not there is not guessed: the value is then not known.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "private.h"

bool trial_usable(const struct trial *t)
{
	return t->done && !t->failed && t->n_samples;
}

const struct trial *trial_find(const struct result *r, char side, int64_t seed)
{
	for (size_t i = 0; i < r->n_trials; i++) {
		const struct trial *t = &r->trials[i];

		if (t->side == side && t->seed == seed && trial_usable(t))
			return t;
	}
	return NULL;
}

size_t trial_first_sample(const struct trial *t)
{
	return t->n_samples > 1 ? 1 : 0;
}

static bool ratio(double above, double below, double *value)
{
	if (below <= 0)
		return false;
	*value = above / below;
	return true;
}

static bool counter(const struct sample *s, const char *name, double *value)
{
	int64_t v;

	if (!counters_get(&s->counters, name, &v))
		return false;
	*value = v;
	return true;
}

static bool kernel_instructions(const struct sample *s, double *n)
{
	return counter(s, "pmu.kernel_instructions", n) ||
	       counter(s, "plugin.kernel_instructions", n);
}

static bool pages_reclaimed(const struct sample *s, double *pages)
{
	return counter(s, "memcg.pgsteal", pages);
}

/*
 * No counter of the kernel tells folios reclaimed (pgsteal is in pages), so
 * they are pages reclaimed by the mean size of a folio before the window.
 * Exact when all folios have one order; else as good as the mix of what was
 * reclaimed is like the mix of what was there.
 */
static bool folios_reclaimed(const struct sample *s, double *folios)
{
	double all_pages = 0, all_folios = 0, pages;

	for (int order = 0; order < MAX_ORDER_SEEN; order++) {
		all_pages += s->order_pages[order];
		all_folios += (double)s->order_pages[order] / (1 << order);
	}
	if (all_pages <= 0 || !pages_reclaimed(s, &pages))
		return false;
	*folios = pages * all_folios / all_pages;
	return true;
}

static bool value_instructions_per_page(const struct sample *s, double *value)
{
	double instructions, pages;

	return kernel_instructions(s, &instructions) &&
	       pages_reclaimed(s, &pages) &&
	       ratio(instructions, pages, value);
}

static bool value_sys_seconds(const struct sample *s, double *value)
{
	double ns;

	return counter(s, "time.sys_ns", &ns) && ratio(ns, 1e9, value);
}

static bool value_tlbi_per_folio(const struct sample *s, double *value)
{
	double address, range, all, folios;

	return counter(s, "plugin.tlbi_address", &address) &&
	       counter(s, "plugin.tlbi_range", &range) &&
	       counter(s, "plugin.tlbi_all", &all) &&
	       folios_reclaimed(s, &folios) &&
	       ratio(address + range + all, folios, value);
}

static bool value_dsb_per_folio(const struct sample *s, double *value)
{
	double dsb, folios;

	return counter(s, "plugin.dsb", &dsb) &&
	       folios_reclaimed(s, &folios) && ratio(dsb, folios, value);
}

static bool value_atomics_per_folio(const struct sample *s, double *value)
{
	double atomics, folios;

	return counter(s, "plugin.atomics", &atomics) &&
	       folios_reclaimed(s, &folios) && ratio(atomics, folios, value);
}

static bool value_pgscan(const struct sample *s, double *value)
{
	return counter(s, "memcg.pgscan", value);
}

static bool value_pgactivate(const struct sample *s, double *value)
{
	return counter(s, "memcg.pgactivate", value);
}

/* ---- clearing -------------------------------------------------------------- */

/* Pages that the window faulted in, as pagemap has them after it. */
static bool pages_cleared(const struct sample *s, double *pages)
{
	*pages = 0;
	for (int order = 0; order < MAX_ORDER_SEEN; order++)
		*pages += s->order_pages[order];
	return *pages > 0;
}

static bool folios_cleared(const struct sample *s, double *folios)
{
	*folios = 0;
	for (int order = 0; order < MAX_ORDER_SEEN; order++)
		*folios += (double)s->order_pages[order] / (1 << order);
	return *folios > 0;
}

static bool faults(const struct sample *s, double *n)
{
	return counter(s, "clear.faults", n);
}

static bool user_instructions(const struct sample *s, double *n)
{
	return counter(s, "pmu.user_instructions", n) ||
	       counter(s, "plugin.user_instructions", n);
}

bool window_overhead(const struct sample *s, double *own, double *all)
{
	double kernel;

	if (!user_instructions(s, own) || !kernel_instructions(s, &kernel))
		return false;
	*all = *own + kernel;
	return *all > 0;
}

static bool value_clear_per_page(const struct sample *s, double *value)
{
	double n, pages;

	return kernel_instructions(s, &n) && pages_cleared(s, &pages) &&
	       ratio(n, pages, value);
}

static bool value_clear_per_folio(const struct sample *s, double *value)
{
	double n, folios;

	return kernel_instructions(s, &n) && folios_cleared(s, &folios) &&
	       ratio(n, folios, value);
}

static bool value_clear_user_per_page(const struct sample *s, double *value)
{
	double n, pages;

	return user_instructions(s, &n) && pages_cleared(s, &pages) &&
	       ratio(n, pages, value);
}

/*
 * CPU time is exact in sum; getrusage(2) splits it by ticks.  On the instruction
 * clock the program's instructions are its time, to the nanosecond.
 */
static bool cpu_seconds(const struct sample *s, int64_t ns_per_instruction,
			bool kernel, double *value)
{
	double all, ns;

	if (!ns_per_instruction)
		return counter(s, kernel ? "time.rusage_sys_ns" :
					   "time.rusage_user_ns", &ns) &&
		       ratio(ns, 1e9, value);
	if (!counter(s, "time.sys_ns", &all) || !user_instructions(s, &ns))
		return false;
	ns *= ns_per_instruction;
	return ratio(kernel ? all - ns : ns, 1e9, value);
}

static bool value_clear_speed(const struct sample *s, double *value)
{
	double ns, pages;

	/* Bytes a nanosecond are 10^9 bytes a second. */
	return counter(s, "time.wall_ns", &ns) && pages_cleared(s, &pages) &&
	       ratio(pages * PAGE_BYTES, ns, value);
}

/* ---- shares, the table ----------------------------------------------------- */

static bool value_max_seconds(const struct sample *s, double *value)
{
	double ns;

	return counter(s, "latency.max_ns", &ns) && ratio(ns, 1e9, value);
}

static bool value_p999_seconds(const struct sample *s, double *value)
{
	double ns;

	return counter(s, "latency.p999_ns", &ns) && ratio(ns, 1e9, value);
}

static bool value_load_seconds(const struct sample *s, double *value)
{
	double ns;

	return counter(s, "latency.load_ns", &ns) && ratio(ns, 1e9, value);
}

static bool value_max_mib(const struct sample *s, double *value)
{
	double delay, load, bytes;

	return counter(s, "latency.max_ns", &delay) &&
	       counter(s, "latency.load_ns", &load) &&
	       counter(s, "latency.bytes", &bytes) &&
	       ratio(delay * (bytes / (1 << 20)), load, value);
}

static bool value_wakeups(const struct sample *s, double *value)
{
	return counter(s, "latency.wakeups", value);
}

/*
 * Over all windows of the trial.  A function that was inlined at several
 * places has an entry for each, so they are added up.  A function that the
 * profile does not name may never have run, or may not exist in that kernel:
 * not known, rather than 0.
 */
static bool value_share(const char *function, const struct trial *t,
			double *value)
{
	const struct profile *p = &t->profile;
	double inclusive = 0;
	bool found = false;

	if (!p->windows)
		return false;
	for (size_t i = 0; i < p->n_fn; i++) {
		if (strcmp(p->fn[i].name, function))
			continue;
		inclusive += p->fn[i].inclusive;
		found = true;
	}
	return found && ratio(inclusive, p->kernel_instructions, value);
}

static const struct {
	const char *name;
	bool (*value)(const struct sample *s, double *value);
} values[] = {
	{ "reclaim.instructions_per_page", value_instructions_per_page },
	{ "reclaim.sys_seconds", value_sys_seconds },
	{ "reclaim.tlbi_per_folio", value_tlbi_per_folio },
	{ "reclaim.dsb_per_folio", value_dsb_per_folio },
	{ "reclaim.atomics_per_folio", value_atomics_per_folio },
	{ "reclaim.pages", pages_reclaimed },
	{ "reclaim.pgscan", value_pgscan },
	{ "reclaim.pgsteal", pages_reclaimed },
	{ "reclaim.pgactivate", value_pgactivate },
	{ "clear.instructions_per_page", value_clear_per_page },
	{ "clear.instructions_per_folio", value_clear_per_folio },
	{ "clear.user_instructions_per_page", value_clear_user_per_page },
	{ "clear.gigabytes_per_second", value_clear_speed },
	{ "clear.faults", faults },
	{ "clear.pages", pages_cleared },
	{ "clear.folios", folios_cleared },
	{ "latency.max_seconds", value_max_seconds },
	{ "latency.p999_seconds", value_p999_seconds },
	{ "latency.max_mib", value_max_mib },
	{ "latency.load_seconds", value_load_seconds },
	{ "latency.wakeups", value_wakeups },
};

bool metric_value(const struct metric *metric, const struct result *r,
		  const struct trial *trial, const struct sample *sample,
		  double *value)
{
	const char *function = metric_share(metric->name);

	if (function)
		return value_share(function, trial, value);
	if (!strcmp(metric->name, "chunk.gigabytes_per_second"))
		return chunk_best_rate(trial, sample, value);
	if (!strcmp(metric->name, "clear.sys_seconds") ||
	    !strcmp(metric->name, "clear.user_seconds"))
		return cpu_seconds(sample, r->ns_per_instruction,
				   !strcmp(metric->name, "clear.sys_seconds"),
				   value);
	for (size_t i = 0; i < ARRAY_SIZE(values); i++)
		if (!strcmp(values[i].name, metric->name))
			return values[i].value(sample, value);
	return false;
}

double *trial_values(const struct metric *metric, const struct result *r,
		     const struct trial *t, size_t *n)
{
	double *v = xcalloc(t->n_samples + 1, sizeof(*v));

	*n = 0;
	for (size_t i = trial_first_sample(t); i < t->n_samples; i++) {
		/* A median of some of the passes would hide the others. */
		if (!metric_value(metric, r, t, &t->samples[i], &v[*n])) {
			*n = 0;
			break;
		}
		++*n;
	}
	return v;
}

bool trial_value(const struct metric *metric, const struct result *r,
		 const struct trial *t, double *value)
{
	size_t n;
	double *v = trial_values(metric, r, t, &n);

	if (n)
		*value = stat_median(v, n);
	free(v);
	return n > 0;
}

double trial_spread_pct(const struct metric *metric, const struct result *r,
			const struct trial *t)
{
	size_t n;
	double *v = trial_values(metric, r, t, &n);
	double spread = n ? stat_stdev_pct(v, n) : NAN;

	free(v);
	return spread;
}
