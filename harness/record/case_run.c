/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a program of the kselftest harness prints (TAP 13, or KTAP), line by
 * line:
 *
 *	TAP version 13
 *	1..2
 *	# Starting 2 tests from 1 test cases.
 *	#  RUN           young.one_young ...
 *	# young.c:30:one_young:Expected 0 (0) == rc (11)
 *	#          FAIL  young.one_young
 *	not ok 1 young.one_young
 *	#  RUN           young.none_young ...
 *	#      SKIP      no folios of that order
 *	#            OK  young.none_young
 *	ok 2 young.none_young # SKIP no folios of that order
 *	# FAILED: 1 / 2 tests passed.
 *	# Totals: pass:0 fail:1 xfail:0 xpass:0 skip:1 error:0
 */
#include <stdlib.h>
#include <string.h>

#include "record.h"

#define EXIT_STATUS_SKIP	4	/* KSFT_SKIP */

void case_run_init(struct case_run *r, const char *program, const char *boot)
{
	*r = (struct case_run){
		.program = xstrdup(program),
		.boot = xstrdup(boot),
		.planned = -1,
	};
}

void case_run_free(struct case_run *r)
{
	for (size_t i = 0; i < r->n_tests; i++) {
		free(r->tests[i].name);
		free(r->tests[i].why);
		strlist_free(&r->tests[i].notes);
	}
	free(r->tests);
	free(r->program);
	free(r->boot);
	free(r->running);
	free(r->why);
	strlist_free(&r->notes);
	memset(r, 0, sizeof(*r));
}

/* Copy of at most @len bytes, printable, trimmed on both sides. */
static char *clean(const char *s, size_t len)
{
	char *out;
	size_t n;

	while (len && (*s == ' ' || *s == '\t')) {
		s++;
		len--;
	}
	while (len && (s[len - 1] == ' ' || s[len - 1] == '\r'))
		len--;
	out = xmalloc(len + 1);
	for (n = 0; n < len && s[n]; n++)
		out[n] = s[n] == '\t' ? ' ' : s[n] >= ' ' && s[n] <= '~' ? s[n] :
			'?';
	out[n] = '\0';
	return out;
}

static void note(struct case_run *r, char *text)
{
	if (r->notes.n < CASE_MAX_NOTES)
		strlist_add(&r->notes, text);
	else if (r->notes.n == CASE_MAX_NOTES)
		strlist_add(&r->notes, "(more was said)");
	free(text);
}

/* Takes over @name and @why. */
static void add_test(struct case_run *r, char *name, enum case_status status,
		     char *why)
{
	struct case_test *t;

	r->tests = xrealloc(r->tests, r->n_tests + 1, sizeof(*r->tests));
	t = &r->tests[r->n_tests++];
	*t = (struct case_test){ name, status, why, r->notes };
	r->notes = (struct strlist){ 0 };
	free(r->running);
	r->running = NULL;
}

/* "#  RUN           NAME ..."; other chatter of the harness is no news. */
static bool harness_line(struct case_run *r, const char *text)
{
	static const char *const chatter[] = {
		"OK  ", "FAIL  ", "SKIP  ", "Starting ", "PASSED: ", "FAILED: ",
		"Totals: ",
	};
	const char *end = strstr(text, " ...");

	if (str_starts(text, "RUN  ") && end) {
		free(r->running);
		r->running = clean(text + 3, end - text - 3);
		return true;
	}
	for (size_t i = 0; i < ARRAY_SIZE(chatter); i++)
		if (str_starts(text, chatter[i]))
			return true;
	return false;
}

static void take_note(struct case_run *r, const char *text)
{
	char *copy = clean(text, strlen(text));

	if (!*copy || str_starts(copy, "TAP version ") ||
	    str_starts(copy, "KTAP version ") || harness_line(r, copy))
		free(copy);
	else
		note(r, copy);
}

static bool starts_nocase(const char *s, const char *word)
{
	return !strncasecmp(s, word, strlen(word));
}

/* Behind "ok " or "not ok ": "1 NAME # SKIP reason". */
static void take_test(struct case_run *r, const char *text, bool ok)
{
	enum case_status status = ok ? CASE_PASSED : CASE_FAILED;
	const char *hash;
	char *name, *why = NULL;

	text += strspn(text, " ");
	text += strspn(text, "0123456789");
	text += strspn(text, " -");
	hash = strstr(text, " #");
	name = clean(text, hash ? (size_t)(hash - text) : strlen(text));
	if (hash) {
		hash += 2;
		hash += strspn(hash, " ");
		if (ok && starts_nocase(hash, "SKIP")) {
			status = CASE_SKIPPED;
			hash += 4;
		}
		why = clean(hash, strlen(hash));
	}
	if (why && !*why) {
		free(why);
		why = NULL;
	}
	if (!*name) {
		free(name);
		name = xstrdup("(unnamed)");
	}
	add_test(r, name, status, why);
}

enum case_line case_run_line(struct case_run *r, const char *line)
{
	int64_t plan;

	if (str_starts(line, "1..") && r->planned < 0 &&
	    !parse_int(line + 3, 0, CASE_MAX_TESTS, &plan)) {
		r->planned = plan;
		return CASE_LINE_PLAN;
	}
	/* Without a plan, or behind its end, there is no test to have ended. */
	if ((int64_t)r->n_tests < r->planned) {
		bool ok = str_starts(line, "ok ");

		if (ok || str_starts(line, "not ok ")) {
			take_test(r, line + (ok ? 3 : 7), ok);
			return CASE_LINE_TEST;
		}
	}
	take_note(r, line + strspn(line, "# "));
	return CASE_LINE_NOTE;
}

/* Tests that the plan had and that brought no result. */
static void add_missing(struct case_run *r, const char *why)
{
	if (r->running && (int64_t)r->n_tests < r->planned) {
		char *name = r->running;

		r->running = NULL;
		add_test(r, name, CASE_FAILED, xstrdup(why));
	}
	while ((int64_t)r->n_tests < r->planned)
		add_test(r, xasprintf("%s.%zu", r->program, r->n_tests + 1),
			 CASE_FAILED, xstrdup("did not run"));
}

static void verdict(struct case_run *r, char *why)
{
	size_t skipped = 0;

	r->ended = true;
	r->why = why;
	r->status = why ? CASE_FAILED : CASE_PASSED;
	for (size_t i = 0; i < r->n_tests; i++) {
		if (r->tests[i].status == CASE_FAILED)
			r->status = CASE_FAILED;
		else if (r->tests[i].status == CASE_SKIPPED)
			skipped++;
	}
	if (r->status == CASE_PASSED && skipped && skipped == r->n_tests) {
		r->status = CASE_SKIPPED;
		r->why = xstrdup(r->tests[0].why ? r->tests[0].why :
				 "no reason given");
	}
}

void case_run_end(struct case_run *r, int64_t code, const char *objection)
{
	char *why = NULL;

	if (code == WIRE_TIMEOUT)
		why = xstrdup("timeout");
	else if (code > WIRE_SIGNAL)
		why = xasprintf("killed by signal %lld",
				(long long)(code - WIRE_SIGNAL));
	else if (r->planned < 0)
		why = xasprintf("ended with exit code %lld, and without a plan",
				(long long)code);
	else if (r->planned == 0)
		why = xstrdup("no such test");
	else if ((int64_t)r->n_tests < r->planned)
		why = xasprintf("ended with exit code %lld after %zu of %lld tests",
				(long long)code, r->n_tests,
				(long long)r->planned);
	add_missing(r, why ? why : "");
	if (!why && objection && *objection)
		why = clean(objection, strlen(objection));
	else if (objection && *objection)
		note(r, clean(objection, strlen(objection)));
	verdict(r, why);
	/* Failed by its own word, but all its tests went well. */
	if (r->status != CASE_FAILED && code && code != EXIT_STATUS_SKIP) {
		free(r->why);
		r->why = xasprintf("ended with exit code %lld",
				   (long long)code);
		r->status = CASE_FAILED;
	}
}

void case_run_lost(struct case_run *r, const char *why)
{
	add_missing(r, why);
	verdict(r, clean(why, strlen(why)));
}
