/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Did both kernels decide alike: scan, reclaim, activate and refill the same
 * number of pages, and leave the same pages behind?  A patch that makes
 * reclaim cheaper by reclaiming something else is another patch.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "private.h"

/* Part of a window that is worth a note. */
#define WAITING_NOTED	0.02

static const char *const decisions[] = {
	"pgscan", "pgsteal", "pgactivate", "pgrefill",
};

/* "; " and more text behind *text, which may be NULL. */
static void append(char **text, char *more)
{
	char *joined;

	if (!*text) {
		*text = more;
		return;
	}
	joined = xasprintf("%s; %s", *text, more);
	free(*text);
	free(more);
	*text = joined;
}

static char *describe(const char *pass, const char *key, int64_t a, int64_t b)
{
	double change = (double)b - a;

	if (!a)
		return xasprintf("%s%s %" PRId64 " -> %" PRId64, pass, key, a,
				 b);
	change = change / fabs((double)a) * 100;
	return xasprintf("%s%s %" PRId64 " -> %" PRId64 " (%+.*f %%)", pass,
			 key, a, b, fabs(change) < 1 ? 2 : 1, change);
}

/*
 * What is different between two samples goes to *text; false if something is
 * not known.
 */
static bool diff_samples(const struct sample *a, const struct sample *b,
			 bool several, char **text)
{
	bool known = true;
	char pass[40] = "";

	if (several)
		snprintf(pass, sizeof(pass), "pass %" PRId64 " ", a->pass);
	for (size_t i = 0; i < ARRAY_SIZE(decisions); i++) {
		char name[32];
		int64_t of_a, of_b;

		snprintf(name, sizeof(name), "memcg.%s", decisions[i]);
		if (!counters_get(&a->counters, name, &of_a) ||
		    !counters_get(&b->counters, name, &of_b))
			known = false;
		else if (of_a != of_b)
			append(text, describe(pass, decisions[i], of_a, of_b));
	}
	if (!a->survivors || !b->survivors)
		known = false;
	else if (strcmp(a->survivors, b->survivors))
		append(text, xasprintf("%sother pages survived", pass));
	return known;
}

static void add_diff(struct result *r, int64_t seed, char *text)
{
	r->diffs = xrealloc(r->diffs, r->n_diffs + 1, sizeof(*r->diffs));
	r->diffs[r->n_diffs++] = (struct decision_diff){
		.seed = seed,
		.text = text,
	};
}

/*
 * Alike is a seed of which all is known and the same.  One difference is
 * enough to know that it is not; anything else can't be known and is not
 * counted.
 */
static void decide_seed(struct result *r, const struct trial *a,
			const struct trial *b)
{
	bool known = a->n_samples == b->n_samples;
	char *text = NULL;

	for (size_t i = 0; i < a->n_samples && i < b->n_samples; i++)
		if (!diff_samples(&a->samples[i], &b->samples[i],
				  a->n_samples > 1, &text))
			known = false;
	if (text)
		add_diff(r, a->seed, text);
	else if (known)
		r->alike++;
	if (text || known)
		r->alike_of++;
}

static void note_mglru(struct result *r)
{
	const char *lru = params_find(&r->params, "lru");

	if (lru && !strcmp(lru, "mglru") && r->n_diffs)
		strlist_add(&r->notes,
			    "MGLRU counts young PTEs: a patch that batches them changes pgscan by design");
}

/*
 * Reclaim goes by statistics that lag behind until they are flushed: by whoever
 * reads them, and by a work item every two seconds (mm/memcontrol.c,
 * FLUSH_TIME).  A kernel that takes longer meets that work item in its window
 * where a faster one does not, and may then refill its inactive list otherwise.
 */
static void note_flush(struct result *r)
{
	int64_t calls[2] = { 0, 0 };

	for (int side = 0; side < 2; side++) {
		const struct profile_fn *f = profile_find(&r->profile[side],
						"flush_memcg_stats_dwork");

		if (f)
			calls[side] = f->calls;
	}
	if (r->n_diffs && calls[0] != calls[1])
		strlist_addf(&r->notes,
			     "a likely cause: the kernel's flush of memcg statistics, every 2 s, fell %" PRId64 " times into A's windows, %" PRId64 " times into B's",
			     calls[0], calls[1]);
}

/* Partial success is no error, but a reader must know. */
static void note_partial(struct result *r)
{
	size_t partial = 0, all = 0;

	for (size_t i = 0; i < r->n_trials; i++) {
		const struct trial *t = &r->trials[i];

		for (size_t j = 0; j < t->n_samples; j++) {
			partial += counters_value(&t->samples[j].counters,
						  "reclaim.errno") == EAGAIN;
			all++;
		}
	}
	if (partial)
		strlist_addf(&r->notes,
			     "memory.reclaim got only a part of what it was asked for (EAGAIN) in %zu of %zu windows",
			     partial, all);
}

/* Whoever ran while the writing thread waited is in what the plugin counts. */
static void note_waiting(struct result *r)
{
	double most = 0;

	for (size_t i = 0; i < r->n_trials; i++) {
		const struct trial *t = &r->trials[i];

		for (size_t j = 0; j < t->n_samples; j++) {
			const struct counters *c = &t->samples[j].counters;
			int64_t wall, sys;

			if (counters_get(c, "time.wall_ns", &wall) &&
			    counters_get(c, "time.sys_ns", &sys) && wall > 0)
				most = fmax(most, ((double)wall - sys) / wall);
		}
	}
	if (most > WAITING_NOTED)
		strlist_addf(&r->notes,
			     "the writing thread did not run for up to %.0f %% of a window: what others did then is in all that the plugin counted",
			     most * 100);
}

void decide(struct result *r)
{
	if (subject_of(r->workload) != SUBJECT_RECLAIM)
		return;		/* nothing to decide */
	for (size_t i = 0; i < r->n_trials; i++) {
		const struct trial *a = &r->trials[i];
		const struct trial *b = trial_find(r, 'B', a->seed);

		if (a->side == 'A' && b && trial_find(r, 'A', a->seed) == a)
			decide_seed(r, a, b);
	}
	note_mglru(r);
	note_flush(r);
	note_partial(r);
	note_waiting(r);
}
