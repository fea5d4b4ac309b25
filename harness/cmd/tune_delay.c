/* SPDX-License-Identifier: GPL-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../../workloads/workloads.h"
#include "../analyse/analyse.h"
#include "tune_delay.h"

#define WORKLOAD	"clear-latency"
#define PASSES		3
#define AT_LEAST	(UINT64_C(256) << 20)	/* that is cleared in a pass */

static int set_size(struct params *p, const char *key, uint64_t bytes,
		    struct err *err)
{
	char text[32];

	return params_set(p, key, format_size_short(bytes, text, sizeof(text)),
			  err);
}

static int make_job(struct job *job, uint64_t unit, struct err *err)
{
	const struct workload *w = workload_find(WORKLOAD);

	*job = (struct job){ .workload = xstrdup(WORKLOAD), .passes = PASSES };
	params_init(&job->params, w->params);
	if (params_set(&job->params, "how", "model", err) ||
	    set_size(&job->params, "unit", unit, err) ||
	    set_size(&job->params, "size", unit > AT_LEAST ? unit : AT_LEAST,
		     err))
		return -1;
	return w->check ? w->check(&job->params, err) : 0;
}

/* The first objection of a sample; NULL: it has none. */
static const char *objection(const struct trial *t)
{
	for (size_t i = 0; i < t->n_samples; i++)
		if (t->samples[i].invalid.n)
			return t->samples[i].invalid.v[0];
	return NULL;
}

static void keep(struct result *r, struct trial *t, uint64_t unit)
{
	for (size_t i = 0; i < t->n_samples; i++)
		counters_set(&t->samples[i].counters, "latency.unit", unit);
	t->index = r->n_trials;
	r->trials = xrealloc(r->trials, r->n_trials + 1, sizeof(*r->trials));
	r->trials[r->n_trials++] = *t;
	*t = (struct trial){ 0 };
}

/* 0: measured, 1: it can't be and *why says so, -1 interrupted */
static int one_unit(const struct machine_setup *like, struct result *r,
		    uint64_t unit, char **why, struct err *err)
{
	struct machine_setup setup = *like;
	struct trial t = { .side = 'A', .seed = 1 };
	struct err failed = { 0 };
	struct job job;
	int rc;

	setup.job = &job;
	setup.after_pass = NULL;
	setup.silent = true;
	rc = make_job(&job, unit, &failed);
	if (!rc)
		rc = machine_local.run(&setup, r->side, &t, 1, &failed);
	if (intr_check(err))
		rc = -1;
	else if (rc)
		*why = xstrdup(failed.text);
	else if (objection(&t))
		*why = xstrdup(objection(&t));
	else
		keep(r, &t, unit);
	job_free(&job);
	trial_free(&t);
	return err->code ? -1 : *why != NULL;
}

int tune_delays(const struct machine_setup *setup, struct result *r,
		struct strlist *missing, struct err *err)
{
	const struct chunk_method *m;
	struct chunk_table table;
	char *why = NULL;
	int rc = 0;

	if (!workload_find(WORKLOAD))
		return 0;
	m = chunk_table(&r->trials[0], &table) ? chunk_kernels(&table) : NULL;
	if (m)
		progress_begin("delay of each unit");
	for (size_t i = 0; m && i < m->n && !rc; i++) {
		char size[32];

		progress_step(i, m->n, "%s", format_size_short(m->cell[i].chunk,
							       size, sizeof(size)));
		rc = one_unit(setup, r, m->cell[i].chunk, &why, err);
		if (rc > 0)
			strlist_addf(missing,
				     "the worst delay was not measured from a unit of %s on: %s",
				     size, why);
	}
	free(why);
	if (m)
		progress_end(rc ? NULL : "done");
	chunk_table_free(&table);
	return rc < 0 ? -1 : 0;
}
