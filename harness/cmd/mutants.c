/* SPDX-License-Identifier: GPL-2.0 */
/*
 * folab mutants: is each small mistake in patches/mutants/ found by the
 * correctness case that it names?
 *
 * A case that fails proves nothing if it fails without the mistake, too.  So the
 * cases run on the series as it is first, and have to pass there.
 */
#include <stdlib.h>
#include <string.h>

#include "../build/build.h"
#include "check.h"
#include "cmd.h"

static const char help[] =
"usage: folab mutants [OPTION...] [MUTANT...]\n"
"\n"
"Build each mutant of patches/mutants/ (a small mistake in a series) and run the\n"
"correctness case that has to catch it; without MUTANT, all of them.\n"
"\n"
"  -a, --arch=ARCH      only what is of this architecture, or of any\n"
"                       (default: each on its own, those of any on arm64)\n"
"  -j, --jobs=N         compilers at a time (default: one a processor)\n"
"  -l, --list           list them, and the case that has to catch each\n"
"  -q, --quiet          no progress line\n"
"  -h, --help           this text\n"
"\n"
"exit: 0 all were caught; 1 one was not, or does not build; more in man folab\n"
"\n"
"example: folab mutants batch-past-vma\n";

struct mutants {
	const struct arch *arch;	/* NULL: each on its own */
	struct build_options build;
	bool list;
	struct mutant_info *all;
	size_t n_all;
	struct series_info *series;
	size_t n_series;
	struct task *tasks;
	size_t n_tasks;
	size_t passed, failed;
	/* Tests that fail on the series itself, once somebody asked. */
	const struct task *sick_of;
	struct strlist sick;
};

/* A mutant on an architecture. */
struct task {
	const struct mutant_info *mi;
	const struct arch *arch;
	const char *base;	/* "6.12" */
	char *objection;	/* why its case can't prove anything, or NULL */
};

/* ---- what is to do -------------------------------------------------------------- */

static const char *base_of(const struct mutants *m, const struct mutant_info *mi,
			   struct err *err)
{
	for (size_t i = 0; i < m->n_series; i++)
		if (!strcmp(m->series[i].name, mi->of))
			return m->series[i].base;
	err_set(err, EXIT_USAGE, "mutant %s is one of series %s, which is not there",
		mi->name, mi->of);
	return NULL;
}

/* What shares a kernel without mutants stands together. */
static int by_group(const void *a, const void *b)
{
	const struct task *x = a, *y = b;
	int d = strcmp(x->arch->name, y->arch->name);

	if (!d)
		d = x->mi->debug - y->mi->debug;
	if (!d)
		d = strcmp(x->mi->of, y->mi->of);
	return d ? d : strcmp(x->mi->name, y->mi->name);
}

static bool same_group(const struct task *x, const struct task *y)
{
	return x->arch == y->arch && x->mi->debug == y->mi->debug &&
	       !strcmp(x->mi->of, y->mi->of);
}

static int add_task(struct mutants *m, const struct mutant_info *mi,
		    struct err *err)
{
	const struct arch *arch = mi->arch ? mi->arch : m->arch;
	const char *base = base_of(m, mi, err);

	if (!base)
		return -1;
	m->tasks = xrealloc(m->tasks, m->n_tasks + 1, sizeof(*m->tasks));
	m->tasks[m->n_tasks++] = (struct task){
		.mi = mi, .arch = arch ? arch : arch_find("arm64"),
		.base = base,
	};
	return 0;
}

static int choose(struct mutants *m, char **names, size_t n, struct err *err)
{
	for (size_t i = 0; i < m->n_all && !n; i++)
		if ((!m->arch || !m->all[i].arch ||
		     m->arch == m->all[i].arch) &&
		    add_task(m, &m->all[i], err))
			return -1;
	for (size_t k = 0; k < n; k++) {
		const struct mutant_info *mi = NULL;

		for (size_t i = 0; i < m->n_all; i++)
			if (!strcmp(m->all[i].name, names[k]))
				mi = &m->all[i];
		if (!mi)
			return err_set(err, EXIT_USAGE,
				       "no mutant \"%s\"; folab mutants --list tells them",
				       names[k]);
		if (m->arch && mi->arch && m->arch != mi->arch)
			return err_set(err, EXIT_USAGE,
				       "mutant %s is one of %s code", mi->name,
				       mi->arch->name);
		if (add_task(m, mi, err))
			return -1;
	}
	qsort(m->tasks, m->n_tasks, sizeof(*m->tasks), by_group);
	return 0;
}

/* ---- what came of it ------------------------------------------------------------ */

/* Is a test's name what stands behind the program in "PROGRAM.TEST"? */
static bool is_named(const struct case_test *t, const char *name)
{
	const char *last = strrchr(t->name, '.');

	return !strcmp(t->name, name) || (last && !strcmp(last + 1, name));
}

/*
 * What the case "PROGRAM.TEST" says, which may have been several tests: one that
 * fails counts most, then one that passes; NULL: it did not run.
 */
static const struct case_test *result_of(const struct check *ck,
					 const char *name)
{
	static const int weight[] = {
		[CASE_SKIPPED] = 0, [CASE_PASSED] = 1, [CASE_FAILED] = 2,
	};
	size_t len = strcspn(name, ".");
	const struct case_test *best = NULL;

	for (size_t i = 0; i < ck->n_runs; i++) {
		const struct case_run *r = &ck->runs[i];

		if (strlen(r->program) != len || strncmp(r->program, name, len))
			continue;
		for (size_t k = 0; k < r->n_tests; k++) {
			const struct case_test *test = &r->tests[k];

			if (is_named(test, name + len + 1) &&
			    (!best || weight[test->status] > weight[best->status]))
				best = test;
		}
	}
	return best;
}

/* Names of the tests that failed and are not in @known (NULL: in none). */
static void failed_tests(const struct check *ck, const struct strlist *known,
			 struct strlist *names)
{
	for (size_t i = 0; i < ck->n_runs; i++)
		for (size_t k = 0; k < ck->runs[i].n_tests; k++) {
			const struct case_test *t = &ck->runs[i].tests[k];
			bool skip = t->status != CASE_FAILED;

			for (size_t j = 0; known && j < known->n && !skip; j++)
				skip = !strcmp(known->v[j], t->name);
			if (!skip)
				strlist_add(names, t->name);
		}
}

/* "a, b and 3 more".  Caller frees. */
static char *some_of(const struct strlist *l)
{
	if (l->n > 3)
		return xasprintf("%s, %s and %zu more", l->v[0], l->v[1],
				 l->n - 2);
	return xasprintf("%s%s%s%s%s", l->v[0], l->n > 1 ? ", " : "",
			 l->n > 1 ? l->v[1] : "", l->n > 2 ? ", " : "",
			 l->n > 2 ? l->v[2] : "");
}

static void row(struct mutants *m, const struct task *t, const char *seconds,
		const char *why)
{
	printf("%-26s %-7s %-40s %7s  %s%s%s\n", t->mi->name, t->arch->name,
	       t->mi->caught_by, seconds, t->mi->debug ? "debug config: " : "",
	       why ? "NOT CAUGHT: " : "caught", why ? why : "");
	fflush(stdout);
	if (why)
		m->failed++;
	else
		m->passed++;
}

/* ---- running -------------------------------------------------------------------- */

/* No names: all cases that make check runs.  @ck is to be freed in any case. */
static int run_cases(struct mutants *m, const struct task *t,
		     const char *mutant, const struct strlist *names,
		     struct check *ck, struct err *err)
{
	char *spec = xasprintf("%s+%s%s%s", t->base, t->mi->of,
			       mutant ? "+mutant:" : "", mutant ? mutant : "");
	int rc;

	*ck = (struct check){
		.arch = t->arch, .build = m->build, .seed = 1, .quick = true,
	};
	ck->build.fragment = t->mi->debug ? "debug" : NULL;
	rc = check_plan(ck, (int)names->n, names->v, err);
	if (!rc)
		rc = build_kernel(spec, t->arch, &ck->build, &ck->image, err);
	if (!rc)
		rc = check_run(ck, NULL, NULL, err);
	free(spec);
	return rc;
}

/* Why a case that says so of the series itself can't prove anything, or NULL. */
static char *objection_to(const struct task *t, const struct case_test *test)
{
	if (!test)
		return xasprintf("there is no case %s", t->mi->caught_by);
	if (test->status == CASE_FAILED)
		return xasprintf("the case fails on %s+%s itself", t->base,
				 t->mi->of);
	if (test->status == CASE_SKIPPED)
		return xasprintf("the case is skipped: %s",
				 test->why ? test->why : "");
	return NULL;
}

/* A name that leads nowhere is the mutant's fault, not the end of all. */
static int find_case(struct task *t, struct err *err)
{
	struct check ck = { .arch = t->arch };
	char *name = t->mi->caught_by;

	if (check_plan(&ck, 1, &name, err) && err->code == EXIT_USAGE) {
		t->objection = xstrdup(err->text);
		err_clear(err);
	}
	check_free(&ck);
	return err->code ? -1 : 0;
}

/* The cases of @n tasks of one group, on the series without any of the mutants. */
static int control(struct mutants *m, struct task *t, size_t n, struct err *err)
{
	struct strlist names = { 0 };
	struct check ck = { 0 };
	int rc = 0;

	for (size_t i = 0; i < n && !rc; i++) {
		bool again = false;

		rc = find_case(&t[i], err);
		for (size_t k = 0; k < i && !again; k++)
			again = !strcmp(t[i].mi->caught_by, t[k].mi->caught_by);
		if (!again && !t[i].objection)
			strlist_add(&names, t[i].mi->caught_by);
	}
	if (!rc && names.n)
		rc = run_cases(m, t, NULL, &names, &ck, err);
	for (size_t i = 0; i < n && !rc; i++)
		if (!t[i].objection)
			t[i].objection = objection_to(&t[i],
				result_of(&ck, t[i].mi->caught_by));
	check_free(&ck);
	strlist_free(&names);
	return rc;
}

/* Which cases fail on the series of @t even without a mutant. */
static int find_sick(struct mutants *m, const struct task *t, struct err *err)
{
	static const struct strlist all = { 0 };
	struct check ck;
	int rc;

	if (m->sick_of && same_group(m->sick_of, t))
		return 0;
	strlist_free(&m->sick);
	m->sick = (struct strlist){ 0 };
	rc = run_cases(m, t, NULL, &all, &ck, err);
	if (!rc)
		failed_tests(&ck, NULL, &m->sick);
	m->sick_of = rc ? NULL : t;
	check_free(&ck);
	return rc;
}

/* The one that it names does not catch it: is there another one?  Caller frees. */
static char *who_else(struct mutants *m, const struct task *t, struct err *err)
{
	static const struct strlist all = { 0 };
	struct strlist names = { 0 };
	char *who, *why = NULL;
	struct check ck;

	if (find_sick(m, t, err))
		return NULL;
	if (!run_cases(m, t, t->mi->name, &all, &ck, err)) {
		failed_tests(&ck, &m->sick, &names);
		who = names.n ? some_of(&names) : NULL;
		why = who ? xasprintf("its case passes; caught by %s", who) :
			xstrdup("no case of make check sees it");
		free(who);
	}
	strlist_free(&names);
	check_free(&ck);
	return why;
}

/* NULL: its case has caught it.  Errors in @err. */
static char *verdict(struct mutants *m, const struct task *t,
		     const struct check *ck, struct err *err)
{
	const struct case_test *test = result_of(ck, t->mi->caught_by);

	if (!test)
		return xasprintf("the case did not run: %s",
				 ck->n_runs && ck->runs[0].why ?
				 ck->runs[0].why : "no reason given");
	if (test->status == CASE_SKIPPED)
		return objection_to(t, test);
	return test->status == CASE_PASSED ? who_else(m, t, err) : NULL;
}

/* A mutant that does not build has failed; other errors end all. */
static int run_task(struct mutants *m, struct task *t, struct err *err)
{
	struct strlist names = { 0 };
	double began = now_seconds();
	char *why = NULL, seconds[32];
	struct check ck;
	int rc;

	if (t->objection) {
		row(m, t, "-", t->objection);
		return 0;
	}
	strlist_add(&names, t->mi->caught_by);
	rc = run_cases(m, t, t->mi->name, &names, &ck, err);
	snprintf(seconds, sizeof(seconds), "%.0f", now_seconds() - began);
	if (rc && err->code == EXIT_BUILD) {
		why = xstrdup(err->text);
		err_clear(err);
		rc = 0;
	} else if (!rc) {
		why = verdict(m, t, &ck, err);
		rc = err->code ? -1 : 0;
	}
	if (!rc)
		row(m, t, seconds, why);
	free(why);
	check_free(&ck);
	strlist_free(&names);
	return rc;
}

static int run_all(struct mutants *m, struct err *err)
{
	printf("%-26s %-7s %-40s %7s\n", "mutant", "arch", "case", "seconds");
	fflush(stdout);
	for (size_t i = 0; i < m->n_tasks; i++) {
		size_t n = 1;

		while (i + n < m->n_tasks &&
		       same_group(&m->tasks[i], &m->tasks[i + n]))
			n++;
		if ((!i || !same_group(&m->tasks[i - 1], &m->tasks[i])) &&
		    control(m, &m->tasks[i], n, err))
			return -1;
		if (run_task(m, &m->tasks[i], err))
			return -1;
	}
	printf("%zu passed, %zu failed\n", m->passed, m->failed);
	return 0;
}

static void list_all(const struct mutants *m)
{
	for (size_t i = 0; i < m->n_tasks; i++) {
		const struct mutant_info *mi = m->tasks[i].mi;

		printf("%-24s %s\n  of %s, %s%s; caught by %s\n", mi->name,
		       mi->title, mi->of, mi->arch ? mi->arch->name : "any",
		       mi->debug ? ", debug config" : "", mi->caught_by);
	}
}

/* ---- options -------------------------------------------------------------------- */

/* Returns 0 to go on, 1 when all is said (*code), -1 with err. */
static int parse_options(struct mutants *m, int argc, char **argv, int *code,
			 struct err *err)
{
	static const struct option options[] = {
		{ "arch", required_argument, NULL, 'a' },
		{ "jobs", required_argument, NULL, 'j' },
		{ "list", no_argument, NULL, 'l' },
		{ "quiet", no_argument, NULL, 'q' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 }
	};
	int64_t jobs;
	int c;

	while ((c = getopt_long(argc, argv, "a:j:lqh", options, NULL)) != -1) {
		switch (c) {
		case 'a':
			m->arch = arch_find(optarg);
			if (!m->arch)
				return err_set(err, EXIT_USAGE,
					       "no architecture \"%s\"; there are arm64 and x86_64",
					       optarg);
			break;
		case 'j':
			if (parse_int(optarg, 1, 4096, &jobs))
				return err_set(err, EXIT_USAGE,
					       "--jobs %s: must be a whole number from 1",
					       optarg);
			m->build.jobs = jobs;
			break;
		case 'l':
			m->list = true;
			break;
		case 'q':
			progress_quiet(true);
			break;
		case 'h':
			fputs(help, stdout);
			*code = EXIT_OK;
			return 1;
		default:
			*code = cmd_usage("mutants");
			return 1;
		}
	}
	return 0;
}

static void mutants_free(struct mutants *m)
{
	for (size_t i = 0; i < m->n_tasks; i++)
		free(m->tasks[i].objection);
	free(m->tasks);
	strlist_free(&m->sick);
	build_mutants_free(m->all, m->n_all);
	build_series_free(m->series, m->n_series);
}

int cmd_mutants(int argc, char **argv)
{
	struct mutants m = { 0 };
	struct err err = { 0 };
	int code = EXIT_OK, rc;

	rc = parse_options(&m, argc, argv, &code, &err);
	if (rc > 0)
		return code;
	if (!rc)
		rc = build_mutants(&m.all, &m.n_all, &err);
	if (!rc)
		rc = build_series(&m.series, &m.n_series, &err);
	if (!rc)
		rc = choose(&m, argv + optind, argc - optind, &err);
	if (!rc && m.list) {
		list_all(&m);
	} else if (!rc) {
		intr_install();
		rc = run_all(&m, &err);
	}
	if (rc)
		code = cmd_fail(&err);
	else if (m.failed)
		code = EXIT_NO;
	mutants_free(&m);
	return code;
}
