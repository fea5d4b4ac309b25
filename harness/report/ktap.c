/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Runs of cases as KTAP, version 1 (Documentation/dev-tools/ktap.rst), as they
 * happen, and as JUnit XML, when they are over.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"

/* ---- KTAP -------------------------------------------------------------------- */

/* A '#' in a description would begin a directive. */
static void put_name(FILE *to, const char *s)
{
	for (; *s; s++)
		fputc(*s == '#' ? '_' : *s, to);
}

void ktap_begin(FILE *to, size_t programs)
{
	fprintf(to, "KTAP version 1\n1..%zu\n", programs);
}

void ktap_note(FILE *to, bool nested, const char *text)
{
	fprintf(to, "%s# %s\n", nested ? "  " : "", text);
}

void ktap_bail(FILE *to, const char *why)
{
	fprintf(to, "Bail out! %s\n", why);
}

void ktap_plan(FILE *to, const struct case_run *r)
{
	fprintf(to, "  KTAP version 1\n  # Subtest: %s\n  1..%" PRId64 "\n",
		r->program, r->planned);
	for (size_t i = 0; i < r->notes.n; i++)
		ktap_note(to, true, r->notes.v[i]);
}

static void put_result(FILE *to, size_t number, enum case_status status)
{
	fprintf(to, "%s %zu ", status == CASE_FAILED ? "not ok" : "ok", number);
}

static void put_why(FILE *to, enum case_status status, const char *why)
{
	if (status == CASE_SKIPPED)
		fprintf(to, " # SKIP%s%s", why ? " " : "", why ? why : "");
	else if (status == CASE_FAILED && why && str_starts(why, "timeout"))
		fprintf(to, " # TIMEOUT%s", why + strlen("timeout"));
	else if (status == CASE_FAILED && why)
		fprintf(to, " # ERROR %s", why);
	fputc('\n', to);
}

void ktap_test(FILE *to, const struct case_run *r, size_t i)
{
	const struct case_test *t = &r->tests[i];

	fputs("  ", to);
	put_result(to, i + 1, t->status);
	put_name(to, t->name);
	put_why(to, t->status, t->why);
}

void ktap_run(FILE *to, const struct case_run *r, size_t number)
{
	put_result(to, number, r->status);
	put_name(to, r->program);
	if (r->boot[0]) {
		fputc(' ', to);
		put_name(to, r->boot);
	}
	put_why(to, r->status, r->why);
}

void ktap_replay(FILE *to, const struct case_run *r, size_t number)
{
	bool nested = r->planned >= 0;

	if (nested)
		fprintf(to, "  KTAP version 1\n  # Subtest: %s\n  1..%" PRId64 "\n",
			r->program, r->planned);
	for (size_t i = 0; i < r->n_tests; i++) {
		for (size_t k = 0; k < r->tests[i].notes.n; k++)
			ktap_note(to, true, r->tests[i].notes.v[k]);
		ktap_test(to, r, i);
	}
	for (size_t k = 0; k < r->notes.n; k++)
		ktap_note(to, nested, r->notes.v[k]);
	ktap_run(to, r, number);
}

/* ---- JUnit ------------------------------------------------------------------- */

static void put_xml(FILE *to, const char *s)
{
	for (; *s; s++) {
		switch (*s) {
		case '<': fputs("&lt;", to); break;
		case '>': fputs("&gt;", to); break;
		case '&': fputs("&amp;", to); break;
		case '"': fputs("&quot;", to); break;
		default:
			fputc(*s == '\n' || (*s >= ' ' && *s <= '~') ? *s :
			      '?', to);
		}
	}
}

static void put_attribute(FILE *to, const char *name, const char *value)
{
	fprintf(to, " %s=\"", name);
	put_xml(to, value);
	fputc('"', to);
}

static void put_case(FILE *to, const char *suite, const char *name,
		     enum case_status status, const char *why,
		     const struct strlist *notes)
{
	fputs("    <testcase", to);
	put_attribute(to, "classname", suite);
	put_attribute(to, "name", name);
	if (status == CASE_PASSED) {
		fputs("/>\n", to);
		return;
	}
	fprintf(to, ">\n      <%s", status == CASE_SKIPPED ? "skipped" :
		"failure");
	put_attribute(to, "message", why ? why : "failed");
	fputc('>', to);
	for (size_t i = 0; i < notes->n; i++) {
		put_xml(to, notes->v[i]);
		fputc('\n', to);
	}
	fprintf(to, "</%s>\n    </testcase>\n",
		status == CASE_SKIPPED ? "skipped" : "failure");
}

static void put_suite(FILE *to, const struct case_run *r)
{
	char *name = r->boot[0] ? xasprintf("%s %s", r->program, r->boot) :
		xstrdup(r->program);
	/* The program as a whole is a case of its own if something is wrong. */
	bool whole = r->status == CASE_FAILED && r->why;
	size_t failed = whole, skipped = 0;

	for (size_t i = 0; i < r->n_tests; i++) {
		failed += r->tests[i].status == CASE_FAILED;
		skipped += r->tests[i].status == CASE_SKIPPED;
	}
	fputs("  <testsuite", to);
	put_attribute(to, "name", name);
	fprintf(to, " tests=\"%zu\" failures=\"%zu\" errors=\"0\" skipped=\"%zu\" time=\"%.3f\">\n",
		r->n_tests + whole, failed, skipped, r->seconds);
	for (size_t i = 0; i < r->n_tests; i++)
		put_case(to, name, r->tests[i].name, r->tests[i].status,
			 r->tests[i].why, &r->tests[i].notes);
	if (whole)
		put_case(to, name, r->program, CASE_FAILED, r->why, &r->notes);
	fputs("  </testsuite>\n", to);
	free(name);
}

void junit_begin(FILE *to)
{
	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n", to);
}

void junit_suites(FILE *to, const struct case_run *runs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		put_suite(to, &runs[i]);
}

void junit_end(FILE *to)
{
	fputs("</testsuites>\n", to);
}
