/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A comparison as tests, for CI systems: is it valid, did both kernels decide
 * alike, is no metric worse; then the correctness cases, if any ran.
 */
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lines.h"

#define PART	"comparison"	/* what these tests are called together */

/* ---- the comparison ------------------------------------------------------------ */

/* Takes over @why. */
static struct case_test *add_test(struct case_run *run, const char *name,
				  enum case_status status, char *why)
{
	struct case_test *t;

	run->tests = xrealloc(run->tests, run->n_tests + 1,
			      sizeof(*run->tests));
	t = &run->tests[run->n_tests++];
	*t = (struct case_test){
		.name = clean_text(name, "unnamed"),
		.status = status,
		.why = why,
	};
	if (status == CASE_FAILED)
		run->status = CASE_FAILED;
	return t;
}

static void add_note(struct case_test *t, const char *text)
{
	char *clean = clean_text(text, "");

	strlist_add(&t->notes, clean);
	free(clean);
}

static void note_reasons(struct case_test *t, const struct result *r)
{
	for (size_t i = 0; i < r->reasons.n; i++)
		add_note(t, r->reasons.v[i]);
	if (!r->reasons.n)
		add_note(t, "it was not analysed");
}

static void add_valid(struct case_run *run, const struct result *r)
{
	struct case_test *t = add_test(run, "valid", r->valid ? CASE_PASSED :
				       CASE_FAILED, NULL);

	if (!r->valid)
		note_reasons(t, r);
}

static void note_alike(struct case_test *t, const char *what,
		       const struct result *r)
{
	char *text = xasprintf("%swith %" PRId64 " of %" PRId64 " seeds", what,
			       r->alike, r->alike_of);

	add_note(t, text);
	free(text);
}

static void add_decisions(struct case_run *run, const struct result *r)
{
	struct case_test *t;
	char *text;

	if (!r->alike_of) {
		add_test(run, "decisions alike", CASE_SKIPPED,
			 xstrdup(subject_of(r->workload) == SUBJECT_CLEAR ?
				 "there is nothing to decide" :
				 "can't be known"));
		return;
	}
	t = add_test(run, "decisions alike", r->alike == r->alike_of ?
		     CASE_PASSED : CASE_FAILED, NULL);
	note_alike(t, "", r);
	for (size_t i = 0; i < r->n_diffs; i++) {
		text = xasprintf("seed %" PRId64 ": %s", r->diffs[i].seed,
				 r->diffs[i].text ? r->diffs[i].text : "");
		add_note(t, text);
		free(text);
	}
}

/* "A 3934.1, B 1207.8 instructions, -69.30 % (-69.30..-69.30 with 5 seeds)" */
static char *figures(const struct row *row, char side)
{
	const struct metric *m = metric_find(row->metric);
	char a[32], b[32], change[120] = "";
	bool same = !row->has_p && row->low_pct == 0 && row->high_pct == 0;

	format_value(a, sizeof(a), row->a, m ? m->digits : 1);
	format_value(b, sizeof(b), row->b, m ? m->digits : 1);
	if (same)
		snprintf(change, sizeof(change), ", the same with each seed");
	else if (row->has_p)
		snprintf(change, sizeof(change),
			 ", %+.2f %% (95 %% interval %+.2f..%+.2f, p %.3g)",
			 row->change_pct, row->low_pct, row->high_pct, row->p);
	else if (isfinite(row->change_pct))
		snprintf(change, sizeof(change),
			 ", %+.2f %% (%+.2f..%+.2f with %" PRId64 " seed%s)",
			 row->change_pct, row->low_pct, row->high_pct, row->n,
			 row->n == 1 ? "" : "s");
	return xasprintf("A %s, %c %s%s%s%s", a, side, b, m && *m->unit ? " " : "",
			 m ? m->unit : "", change);
}

/* @side: what is compared with A; behind B it is in the name. */
static void add_row(struct case_run *run, const struct row *row, bool valid,
		    char side)
{
	enum case_status status = CASE_SKIPPED;
	const char *why = NULL;
	struct case_test *t;
	char *text, *name;

	if (!valid || row->verdict == VERDICT_INVALID)
		why = "the run is not valid";
	else if (row->verdict == VERDICT_NONE)
		why = "not compared: neither way is better";
	else
		status = row->verdict == VERDICT_SLOWER ? CASE_FAILED :
			CASE_PASSED;
	name = side == 'B' ? xstrdup(row->metric) :
		xasprintf("%c: %s", side, row->metric);
	t = add_test(run, name, status, why ? xstrdup(why) : NULL);
	free(name);
	/* A run that is not valid claims nothing, also not in a note. */
	if (!valid)
		return;
	text = figures(row, side);
	add_note(t, text);
	free(text);
}

/* A row with other parameters is one test: valid, and B not slower. */
static void add_variant(struct case_run *run, const struct variant *v)
{
	const struct row *row = result_decider(v->r);
	bool fine = v->r->valid && !(row && row->verdict == VERDICT_SLOWER);
	char *name = xasprintf("row %s", v->name), *text;
	struct case_test *t = add_test(run, name, fine ? CASE_PASSED :
				       CASE_FAILED, NULL);

	free(name);
	if (!v->r->valid) {
		note_reasons(t, v->r);
		return;
	}
	if (row) {
		text = figures(row, 'B');
		add_note(t, text);
		free(text);
	}
	if (v->r->alike_of)
		note_alike(t, "decided alike ", v->r);
}

static bool has_row(const struct result *r, const char *metric)
{
	for (size_t i = 0; i < r->n_rows; i++)
		if (!strcmp(r->rows[i].metric, metric))
			return true;
	return false;
}

static void add_further(struct case_run *run, const struct further *f)
{
	char *name = xasprintf("%c: valid", f->side);
	struct case_test *t = add_test(run, name, f->valid ? CASE_PASSED :
				       CASE_FAILED, NULL);

	for (size_t i = 0; i < f->reasons.n && !f->valid; i++)
		add_note(t, f->reasons.v[i]);
	for (size_t i = 0; i < f->n_rows; i++)
		add_row(run, &f->rows[i], f->valid, f->side);
	free(name);
}

static void compare(const struct result *r, struct case_run *run)
{
	case_run_init(run, PART, "");
	run->ended = true;
	run->status = CASE_PASSED;
	add_valid(run, r);
	add_decisions(run, r);
	for (size_t i = 0; i < r->n_rows; i++)
		add_row(run, &r->rows[i], r->valid, 'B');
	for (size_t i = 0; i < r->wanted.n; i++)
		if (!has_row(r, r->wanted.v[i]))
			add_test(run, r->wanted.v[i], CASE_SKIPPED,
				 xstrdup("not known"));
	for (size_t i = 0; i < r->n_further; i++)
		add_further(run, &r->further[i]);
	for (size_t i = 0; i < r->n_variants; i++)
		add_variant(run, &r->variants[i]);
	run->planned = (int64_t)run->n_tests;
}

/* ---- the cases --------------------------------------------------------------------- */

/* @run as one of side @side: only its name is another.  Free the name. */
static struct case_run of_side(const struct case_run *run, int side)
{
	struct case_run copy = *run;

	copy.program = xasprintf("%c:%s", 'A' + side, run->program);
	return copy;
}

static void each_selftest(const struct selftests *s, FILE *to, size_t number,
			  void (*put)(FILE *to, const struct case_run *run,
				      size_t number))
{
	if (!s->asked)
		return;
	for (int side = 0; side < 2; side++) {
		for (size_t i = 0; i < s->n_runs[side]; i++) {
			struct case_run run = of_side(&s->runs[side][i], side);

			put(to, &run, number++);
			free(run.program);
		}
	}
	if (s->alike.program)
		put(to, &s->alike, number);
}

static size_t count_selftests(const struct selftests *s)
{
	return s->n_runs[0] + s->n_runs[1] + (s->alike.program != NULL);
}

/* ---- KTAP and JUnit ---------------------------------------------------------------- */

static void put_head(FILE *to, const struct result *r)
{
	char *scenario = clean_text(r->scenario, "unnamed");
	char *a = clean_text(r->side[0].spec, "not known");
	char *b = clean_text(r->side[1].spec, "not known");
	const struct arch *arch = r->side[0].arch;
	bool one = result_one_sided(r);
	char *text = xasprintf("%s on %s, %s%s%s%s", scenario,
			       arch ? arch->name : "an unknown architecture",
			       one ? "kernel: " : "A: ", a, one ? "" : ", B: ",
			       one ? "" : b);

	ktap_note(to, false, text);
	free(text);
	free(b);
	free(a);
	free(scenario);
}

/* Tests of the comparison stand at the top, each program of cases below one. */
static void put_ktap(FILE *to, const struct result *r)
{
	struct case_run run;

	compare(r, &run);
	ktap_begin(to, run.n_tests + count_selftests(&r->selftests));
	put_head(to, r);
	for (size_t i = 0; i < run.n_tests; i++) {
		const struct case_test *t = &run.tests[i];
		const struct case_run top = {
			.program = t->name, .boot = (char *)"",
			.planned = -1, .status = t->status, .why = t->why,
			.notes = t->notes,
		};

		ktap_replay(to, &top, i + 1);
	}
	each_selftest(&r->selftests, to, run.n_tests + 1, ktap_replay);
	case_run_free(&run);
}

static void put_suite(FILE *to, const struct case_run *run, size_t number)
{
	(void)number;
	junit_suites(to, run, 1);
}

static void put_junit(FILE *to, const struct result *r)
{
	struct case_run run;

	compare(r, &run);
	junit_begin(to);
	junit_suites(to, &run, 1);
	each_selftest(&r->selftests, to, 0, put_suite);
	junit_end(to);
	case_run_free(&run);
}

/* Decimal points, whatever the user's locale: same result, same bytes. */
static char *as_text(const struct result *r,
		     void (*put)(FILE *to, const struct result *r))
{
	locale_t c = newlocale(LC_ALL_MASK, "C", NULL), before = uselocale(c);
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);

	if (!to)
		abort();	/* out of memory */
	put(to, r);
	fclose(to);
	uselocale(before);
	if (c)
		freelocale(c);
	return text;
}

char *report_ktap(const struct result *r)
{
	return as_text(r, put_ktap);
}

char *report_junit(const struct result *r)
{
	return as_text(r, put_junit);
}
