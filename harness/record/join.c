/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Results become one: what sides of several runs measured, beside each other.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"

#define MEMORY_SLACK	0.01	/* firmware takes a bit more or less each boot */

/* ---- may they be compared? -------------------------------------------------------- */

/* The run that the joined result began with, and the one that joins it. */
struct pair {
	const struct result *a, *b;
	const char *a_name, *b_name;
	struct strlist *doubts;
	struct err *err;
};

static bool same_text(const char *a, const char *b)
{
	return !strcmp(a ? a : "", b ? b : "");
}

/* Nobody learns anything from comparing these. */
static int must(const struct pair *p, const char *what, const char *a,
		const char *b)
{
	if (same_text(a, b))
		return 0;
	return err_set(p->err, EXIT_USAGE,
		       "not to be compared: %s is \"%.60s\" in %s, \"%.60s\" in %s",
		       what, a ? a : "", p->a_name, b ? b : "", p->b_name);
}

/* It may be what makes the difference; each is said once. */
static void should(const struct pair *p, const char *what, const char *a,
		   const char *b)
{
	char *begin = xasprintf("%s differs", what);
	bool said = false;

	for (size_t i = 0; i < p->doubts->n && !said; i++)
		said = str_starts(p->doubts->v[i], begin);
	if (!said && !same_text(a, b))
		strlist_addf(p->doubts, "%s: \"%s\" in %s, \"%s\" in %s", begin,
			     a ? a : "", p->a_name, b ? b : "", p->b_name);
	free(begin);
}

static void should_number(const struct pair *p, const char *what, int64_t a,
			  int64_t b, double slack)
{
	char of_a[32], of_b[32];

	if (fabs((double)a - (double)b) <= fabs((double)a) * slack)
		return;
	snprintf(of_a, sizeof(of_a), "%" PRId64, a);
	snprintf(of_b, sizeof(of_b), "%" PRId64, b);
	should(p, what, of_a, of_b);
}

static int same_params(const struct pair *p)
{
	const struct params *a = &p->a->params, *b = &p->b->params;

	for (size_t i = 0; i < a->n; i++) {
		char *what = xasprintf("parameter %s", a->v[i].name);
		int rc = must(p, what, a->v[i].text,
			      params_find(b, a->v[i].name));

		free(what);
		if (rc)
			return -1;
	}
	if (a->n == b->n)
		return 0;
	return err_set(p->err, EXIT_USAGE,
		       "not to be compared: %s has other parameters than %s",
		       p->b_name, p->a_name);
}

static int same_host(const struct pair *p)
{
	const struct host *a = &p->a->host, *b = &p->b->host;

	if (!p->a->has_host || !p->b->has_host)
		return 0;
	if (must(p, "the processor", a->cpu, b->cpu))
		return -1;
	should(p, "hypervisor", a->hypervisor, b->hypervisor);
	should(p, "preemption", a->preempt, b->preempt);
	should(p, "THP", a->thp, b->thp);
	should(p, "governor", a->governor, b->governor);
	should_number(p, "number of processors", a->cpus, b->cpus, 0);
	should_number(p, "number of nodes", a->nodes, b->nodes, 0);
	should_number(p, "memory", a->memory, b->memory, MEMORY_SLACK);
	should_number(p, "last cache", a->llc, b->llc, 0);
	should_number(p, "processor bound to", a->bound_cpu, b->bound_cpu, 0);
	should_number(p, "node bound to", a->bound_node, b->bound_node, 0);
	return 0;
}

static int comparable(const struct pair *p)
{
	const struct result *a = p->a, *b = p->b;

	if (must(p, "workload", a->workload, b->workload) ||
	    must(p, "clock", a->clock, b->clock) || same_params(p) ||
	    same_host(p))
		return -1;
	/* An emulator is a processor, and its options are the speed of its clock. */
	if (!strcmp(a->clock ? a->clock : "", "instructions") &&
	    (must(p, "the machine", a->machine, b->machine) ||
	     must(p, "the machine", a->machine_args, b->machine_args)))
		return -1;
	should(p, "command line of the kernel", a->cmdline, b->cmdline);
	should(p, "file system", a->fs, b->fs);
	should(p, "folab's version", a->folab_version, b->folab_version);
	return 0;
}

/* ---- one side ---------------------------------------------------------------------------- */

static int same_kernel(const struct pair *p, char side, const struct image *a,
		       const struct image *b)
{
	char *what = xasprintf("the kernel of side %c", side);
	int rc = must(p, what, a->release, b->release) ||
		 must(p, what, a->base, b->base) ||
		 must(p, what, a->image_hash, b->image_hash) ? -1 : 0;

	free(what);
	return rc;
}

/* All but what was measured and found. */
static int take_head(struct result *to, const struct result *from,
		     struct err *err)
{
	json_t *o = result_to_json(from), *validity = json_object_get(o, "validity");
	int rc;

	json_object_set_new(o, "trials", json_array());
	json_object_set_new(o, "comparison", json_array());
	json_object_set_new(o, "notes", json_array());
	json_object_set_new(validity, "reasons", json_array());
	json_object_set_new(validity, "differences", json_array());
	json_object_del(o, "further");
	json_object_del(o, "two_by_two");
	json_object_del(o, "selftests");
	json_object_del(o, "cross_check");
	rc = result_from_json(to, o, err);
	json_decref(o);
	for (int s = 0; s < 2; s++) {
		image_free(&to->side[s]);
		to->side[s] = (struct image){ 0 };
	}
	free(to->command);
	to->command = NULL;
	return rc;
}

static void add_trial(struct trial **trials, size_t *n, struct trial *t,
		      char side)
{
	*trials = xrealloc(*trials, *n + 1, sizeof(**trials));
	(*trials)[*n] = *t;
	(*trials)[*n].side = side;
	(*trials)[(*n)++].index = 0;
	memset(t, 0, sizeof(*t));
}

static size_t count(const struct result *r, char side)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n_trials; i++)
		n += r->trials[i].side == side;
	return n;
}

int result_join(struct result *to, char side, const char *to_name,
		struct result *from, char from_side, const char *from_name,
		struct strlist *doubts, struct err *err)
{
	struct pair p = { to, from, to_name, from_name, doubts, err };
	int s = from_side - 'A';
	bool alone = count(from, from_side) == 1;
	struct further *f = NULL;
	struct image *im;

	if (!to->workload && take_head(to, from, err))
		return -1;
	if (comparable(&p))
		return -1;
	if (side > 'B' && to->n_further <= (size_t)(side - 'C')) {
		to->further = xrealloc(to->further, to->n_further + 1,
				       sizeof(*to->further));
		to->further[to->n_further++] = (struct further){ .side = side };
	}
	if (side > 'B')
		f = &to->further[side - 'C'];
	im = f ? &f->image : &to->side[side - 'A'];
	if (im->spec && same_kernel(&p, side, im, &from->side[s]))
		return -1;
	if (!im->spec) {
		*im = from->side[s];
		from->side[s] = (struct image){ 0 };
	}
	for (size_t i = 0; i < from->n_trials; i++) {
		struct trial *t = &from->trials[i];

		if (t->side != from_side)
			continue;
		/* result.json has profiles by side, not by trial. */
		if (alone) {
			t->profile = from->profile[s];
			from->profile[s] = (struct profile){ 0 };
		}
		if (f)
			add_trial(&f->trials, &f->n_trials, t, side);
		else
			add_trial(&to->trials, &to->n_trials, t, side);
	}
	return 0;
}
