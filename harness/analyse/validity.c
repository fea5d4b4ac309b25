/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A run is valid, or it claims nothing.
 *
 * Each rule is one function, looks at one thing in every trial of both sides,
 * and says with side and seed what it found.  A counter that a rule needs and
 * that is not there fails the rule: what can't be checked is not claimed.
 * Values come from a guest that is not trusted, so sums are made in doubles,
 * which don't overflow.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "private.h"

/*
 * Charges are kept per CPU in batches of 64 pages and statistics are flushed
 * by thresholds, so two of the kernel's numbers for the same pages differ by a
 * bit: 2 %, or 1 MiB where 2 % is less.
 */
#define CHARGE_SLACK_PCT	2.0
#define CHARGE_SLACK_BYTES	(1 << 20)

/* At least this part of the pages is in folios of the order asked for. */
#define ORDER_SHARE_MIN		0.7

/* A and B have so much of their pages in folios of other orders at most. */
#define ORDER_DISTANCE_MAX	0.1

/*
 * The PMU counts the writing thread, and a bit more of it: its own start and
 * stop lie outside of the plugin's window.  The plugin counts whatever runs on
 * the processor.  So it may have more, by the time in which the thread did not
 * run: dirty pages wake flushers, and 46 of 122 million instructions were
 * theirs, which the clocks explained to 42 thousand.
 */
#define PROBES_SLACK		20000.0
#define PROBES_SLACK_PCT	0.5

/* What folab itself may execute within the window of a reclaim. */
#define OVERHEAD_MAX_PCT	0.1

void validity_reason(const struct where *w, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	strlist_addf(&w->r->reasons, "%s: %s", w->name, text);
}

static double mib(double bytes)
{
	return bytes / (1 << 20);
}

static bool near_enough(double a, double b)
{
	double slack = fmax(fabs(b) * CHARGE_SLACK_PCT / 100,
			    CHARGE_SLACK_BYTES);

	return fabs(a - b) <= slack;
}

/* The counters of a rule, or the reason that one is missing. */
bool validity_need(const struct where *w, const char *what, const char *name,
		   double *value)
{
	int64_t v;

	if (!counters_get(&w->s->counters, name, &v)) {
		validity_reason(w, "no counter %s: can't tell whether %s",
				name, what);
		return false;
	}
	*value = v;
	return true;
}

static void check_own_reasons(const struct where *w)
{
	for (size_t i = 0; i < w->s->invalid.n; i++)
		validity_reason(w, "%s", w->s->invalid.v[i]);
}

/*
 * The scenario's order is exact for 0; above, readahead begins and ends with
 * smaller folios, so most of the pages must be in folios of that order.
 */
static void check_orders(const struct where *w)
{
	const char *text = params_find(&w->r->params, "order");
	double all = 0, wanted;
	int64_t order;

	for (int i = 0; i < MAX_ORDER_SEEN; i++)
		all += w->s->order_pages[i];
	if (all <= 0) {
		validity_reason(w, "no folio orders seen: can't tell whether folios had the size asked for");
		return;
	}
	if (!text || parse_int(text, 0, MAX_ORDER_SEEN - 1, &order))
		return;		/* the scenario asks for no order */
	wanted = w->s->order_pages[order];
	if (wanted < all * ORDER_SHARE_MIN)
		validity_reason(w, "%.1f %% of the pages are in folios of order %" PRId64 ", at least %.0f %% were asked for",
		       wanted / all * 100, order, ORDER_SHARE_MIN * 100);
}

static void check_charged(const struct where *w)
{
	const char *what = "the file was charged to the test's cgroup";
	double bytes, charged;

	if (!validity_need(w, what, "file.bytes", &bytes) ||
	    !validity_need(w, what, "file.charged", &charged))
		return;
	if (!near_enough(charged, bytes))
		validity_reason(w, "%.1f MiB of a file of %.1f MiB were charged to the test's cgroup",
		       mib(charged), mib(bytes));
}

/*
 * write(2) to memory.reclaim ends well when it got all that it was asked for,
 * with EAGAIN when it got a part.  Both must show in pgsteal and in
 * memory.current.
 */
static void check_reclaimed(const struct where *w)
{
	const char *what = "memory was reclaimed as reported";
	double asked, errnum, before, after, stolen;

	if (!validity_need(w, what, "reclaim.asked", &asked) ||
	    !validity_need(w, what, "reclaim.errno", &errnum) ||
	    !validity_need(w, what, "memory.current_before", &before) ||
	    !validity_need(w, what, "memory.current_after", &after) ||
	    !validity_need(w, what, "memcg.pgsteal", &stolen))
		return;
	stolen *= PAGE_BYTES;
	if (errnum != 0 && errnum != EAGAIN) {
		const char *name = strerrorname_np(errnum);

		validity_reason(w, "memory.reclaim failed: %s", name ? name : "unknown errno");
		return;
	}
	if (stolen <= 0) {
		validity_reason(w, "nothing was reclaimed");
		return;
	}
	if (!errnum && stolen < asked && !near_enough(stolen, asked))
		validity_reason(w, "memory.reclaim reported %.1f MiB, pgsteal rose by %.1f MiB",
		       mib(asked), mib(stolen));
	if (!near_enough(before - after, stolen))
		validity_reason(w, "memory.current fell by %.1f MiB, pgsteal rose by %.1f MiB",
		       mib(before - after), mib(stolen));
}

/* A counter that has to be 0, and what it is if it is not. */
void validity_zeros(const struct where *w, const struct quiet *rules,
			size_t n_rules)
{
	double n;

	for (size_t i = 0; i < n_rules; i++)
		if (validity_need(w, rules[i].what, rules[i].counter, &n) &&
		    n != 0)
			validity_reason(w, "%.0f %s", n, rules[i].found);
}

static void check_quiet(const struct where *w)
{
	static const struct quiet rules[] = {
		{ "vmstat.pgscan_kswapd", "kswapd did not scan",
		  "pages scanned by kswapd" },
		{ "events.oom", "memory was not out",
		  "times out of memory (memory.events oom)" },
		{ "events.oom_kill", "nothing was killed",
		  "processes killed (memory.events oom_kill)" },
		{ "events.max", "memory.max was not hit",
		  "times that memory.max was hit (memory.events max)" },
	};

	validity_zeros(w, rules, ARRAY_SIZE(rules));
}

/* The window is one write(2): the user's instructions in it are folab's own. */
static void check_overhead(const struct where *w)
{
	double own, all;

	if (!window_overhead(w->s, &own, &all) ||
	    own <= all * OVERHEAD_MAX_PCT / 100)
		return;
	validity_reason(w, "%.0f of the window's %.0f instructions are folab's own, more than %g %%",
			own, all, OVERHEAD_MAX_PCT);
}

/* ---- of every workload ----------------------------------------------------- */

static void check_probes(const struct where *w)
{
	const struct counters *c = &w->s->counters;
	int64_t pmu, plugin, wall, sys;
	double slack, others = 0;

	if (!counters_get(c, "pmu.kernel_instructions", &pmu) ||
	    !counters_get(c, "plugin.kernel_instructions", &plugin))
		return;		/* one probe alone can't disagree */
	if (counters_get(c, "time.wall_ns", &wall) &&
	    counters_get(c, "time.sys_ns", &sys) && wall > sys &&
	    w->r->ns_per_instruction > 0)
		others = ((double)wall - sys) / w->r->ns_per_instruction;
	/* There another thread is meant to run, and the scheduler's clock takes
	 * what it waited for the processor as its own time. */
	if (subject_of(w->r->workload) == SUBJECT_LATENCY)
		others = INFINITY;
	slack = PROBES_SLACK + fabs((double)pmu) * PROBES_SLACK_PCT / 100;
	if ((double)plugin - pmu > slack + others ||
	    (double)pmu - plugin > slack)
		validity_reason(w, "the PMU counted %" PRId64 " kernel instructions, the plugin %" PRId64,
		       pmu, plugin);
}

void validity_sample(const struct where *w)
{
	check_own_reasons(w);
	check_probes(w);
	if (subject_of(w->r->workload) == SUBJECT_LATENCY)
		validity_latency(w);
	else if (subject_of(w->r->workload) == SUBJECT_CLEAR)
		validity_cleared(w);
	if (subject_of(w->r->workload) != SUBJECT_RECLAIM)
		return;
	/* Workloads look at these as well, and may have said it already. */
	if (!w->s->invalid.n) {
		check_orders(w);
		check_charged(w);
	}
	check_reclaimed(w);
	check_quiet(w);
	check_overhead(w);
}

static bool is_real(const struct result *r)
{
	return r->clock && !strcmp(r->clock, "real");
}

static void name_trial(const struct trial *t, char *buf, size_t len)
{
	if (t->boot)
		snprintf(buf, len, "%c boot %.20s", t->side, t->boot);
	else
		snprintf(buf, len, "%c seed %" PRId64, t->side, t->seed);
}

static void check_trial(struct result *r, const struct trial *t)
{
	struct where w = { .r = r, .t = t };

	name_trial(t, w.name, sizeof(w.name));
	if (t->failed)
		validity_reason(&w, "%s", t->failed);
	else if (!t->done)
		validity_reason(&w, "it did not run");
	else if (!t->n_samples)
		validity_reason(&w, "it brought no sample");
	if (t->warnings.n)
		validity_reason(&w, "%zu kernel warning%s: %s", t->warnings.n,
		       t->warnings.n > 1 ? "s, the first" : "",
		       t->warnings.v[0]);
	if (!trial_usable(t))
		return;
	/* Samples are taken in one pass alone, which is none of these. */
	if (!is_real(r) && t->profile.windows &&
	    t->profile.windows != (int64_t)t->n_samples)
		validity_reason(&w, "profile of %" PRId64 " windows, but %zu samples",
		       t->profile.windows, t->n_samples);
	for (size_t i = 0; i < t->n_samples; i++) {
		w.s = &t->samples[i];
		if (t->n_samples > 1) {
			size_t len;

			name_trial(t, w.name, sizeof(w.name));
			len = strlen(w.name);
			snprintf(w.name + len, sizeof(w.name) - len,
				 " pass %" PRId64, w.s->pass);
		}
		validity_sample(&w);
	}
}

/* ---- both sides, seed by seed -------------------------------------------- */

/* What the passes of a trial, or of all trials of a side, did. */
struct doing {
	double passes, reclaimed, cleared;	/* bytes, pages */
	double order_pages[MAX_ORDER_SEEN];
};

static void add_doing(struct doing *d, const struct trial *t)
{
	for (size_t i = 0; i < t->n_samples; i++) {
		const struct sample *s = &t->samples[i];

		d->passes++;
		d->reclaimed += counters_value(&s->counters, "memcg.pgsteal") *
				(double)PAGE_BYTES;
		d->cleared += counters_value(&s->counters, "clear.pages");
		for (int o = 0; o < MAX_ORDER_SEEN; o++)
			d->order_pages[o] += s->order_pages[o];
	}
}

/* @what: "seed 3", or "all passes". */
static void check_same_bytes(struct result *r, const char *what,
			     const struct doing *a, const struct doing *b)
{
	double of_a = a->reclaimed / a->passes, of_b = b->reclaimed / b->passes;

	if (fabs(of_b - of_a) <= fabs(of_a) * r->tolerance_pct / 100)
		return;
	strlist_addf(&r->reasons,
		     "%s: A reclaimed %.2f MiB, B %.2f MiB, which is beyond the tolerance of %g %%",
		     what, mib(of_a), mib(of_b), r->tolerance_pct);
}

/*
 * The part of the pages that would have to change to a folio of another order
 * to make the histograms alike: with other folios the cost differs for a
 * reason that is not the patch.
 */
static void check_same_orders(struct result *r, const char *what,
			      const struct doing *a, const struct doing *b)
{
	double all_a = 0, all_b = 0, distance = 0;

	for (int o = 0; o < MAX_ORDER_SEEN; o++) {
		all_a += a->order_pages[o];
		all_b += b->order_pages[o];
	}
	if (all_a <= 0 || all_b <= 0)
		return;		/* check_orders() said so */
	for (int o = 0; o < MAX_ORDER_SEEN; o++)
		distance += fabs(a->order_pages[o] / all_a -
				 b->order_pages[o] / all_b) / 2;
	if (distance > ORDER_DISTANCE_MAX)
		strlist_addf(&r->reasons,
			     "%s: %.0f %% of the pages are in folios of other orders on B than on A",
			     what, distance * 100);
}

static void check_same_cleared(struct result *r, const char *what,
			       const struct doing *a, const struct doing *b)
{
	if (a->cleared / a->passes != b->cleared / b->passes)
		strlist_addf(&r->reasons,
			     "%s: A faulted in %.0f pages, B %.0f",
			     what, a->cleared / a->passes,
			     b->cleared / b->passes);
}

static void check_same(struct result *r, const char *what,
		       const struct doing *a, const struct doing *b)
{
	switch (subject_of(r->workload)) {
	case SUBJECT_RECLAIM:
		check_same_bytes(r, what, a, b);
		check_same_orders(r, what, a, b);
		break;
	case SUBJECT_CLEAR:
		check_same_cleared(r, what, a, b);
		break;
	case SUBJECT_LATENCY:
	case SUBJECT_OTHER:
		break;
	}
}

static bool counted_by_pmu(const struct trial *t)
{
	int64_t v;

	for (size_t i = 0; i < t->n_samples; i++)
		if (!counters_get(&t->samples[i].counters,
				  "pmu.kernel_instructions", &v))
			return false;
	return true;
}

static void check_pair(struct result *r, const struct trial *a,
		       const struct trial *b)
{
	struct doing of_a = { 0 }, of_b = { 0 };
	char what[40];

	if (a->n_samples != b->n_samples) {
		strlist_addf(&r->reasons,
			     "seed %" PRId64 ": A has %zu passes, B %zu",
			     a->seed, a->n_samples, b->n_samples);
		return;
	}
	if (counted_by_pmu(a) != counted_by_pmu(b))
		strlist_addf(&r->reasons,
			     "seed %" PRId64 ": the PMU counted on one side only",
			     a->seed);
	snprintf(what, sizeof(what), "seed %" PRId64, a->seed);
	add_doing(&of_a, a);
	add_doing(&of_b, b);
	check_same(r, what, &of_a, &of_b);
}

/* A trial that is there, usable or not. */
static size_t count_trials(const struct result *r, char side, int64_t seed)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n_trials; i++)
		n += r->trials[i].side == side && r->trials[i].seed == seed;
	return n;
}

static void check_pairs(struct result *r)
{
	for (size_t i = 0; i < r->n_trials; i++) {
		const struct trial *t = &r->trials[i];
		char other = t->side == 'A' ? 'B' : 'A';

		if (!count_trials(r, other, t->seed))
			strlist_addf(&r->reasons,
				     "seed %" PRId64 ": only side %c has a trial",
				     t->seed, t->side);
		if (count_trials(r, t->side, t->seed) > 1)
			strlist_addf(&r->reasons,
				     "%c seed %" PRId64 ": more than one trial",
				     t->side, t->seed);
		if (t->side == 'A' && trial_find(r, 'A', t->seed) == t &&
		    trial_find(r, 'B', t->seed))
			check_pair(r, t, trial_find(r, 'B', t->seed));
	}
}

void validity_check(struct result *r)
{
	if (!r->clock || strcmp(r->clock, "instructions"))
		strlist_addf(&r->reasons,
			     "clock \"%s\": a comparison seed by seed needs the instruction clock",
			     r->clock ? r->clock : "");
	if (!r->n_trials)
		strlist_add(&r->reasons, "there are no trials");
	for (size_t i = 0; i < r->n_trials; i++)
		check_trial(r, &r->trials[i]);
	check_pairs(r);
}

void validity_check_real(struct result *r)
{
	struct doing of[2] = { { 0 }, { 0 } };

	for (size_t i = 0; i < r->n_trials; i++) {
		check_trial(r, &r->trials[i]);
		if (trial_usable(&r->trials[i]))
			add_doing(&of[r->trials[i].side == 'B'], &r->trials[i]);
	}
	for (int s = 0; s < 2; s++)
		if (!of[s].passes)
			strlist_addf(&r->reasons, "side %c has no passes",
				     'A' + s);
	if (of[0].passes && of[1].passes)
		check_same(r, "all passes", &of[0], &of[1]);
}
