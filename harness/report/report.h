/* SPDX-License-Identifier: GPL-2.0 */
/*
 * report - the comparison as text for a posting.  Never touches a kernel, and
 * draws everything from a struct result.
 */
#ifndef FOLAB_REPORT_H
#define FOLAB_REPORT_H

#include "../record/record.h"

/*
 * At most 40 lines of 75 columns; of folab tune, which nobody posts, as many as
 * it takes.  Caller frees.
 */
char *report_text(const struct result *r);
/*
 * One page that needs nothing else: tables, samples, profile, provenance, and the
 * text.  Well-formed XML.  Caller frees.
 */
char *report_html(const struct result *r);
/* The comparison as tests, and the selftests that ran.  Caller frees. */
char *report_ktap(const struct result *r);
char *report_junit(const struct result *r);
/* Same result, same bytes.  NULL: no such format. */
typedef char *(*report_fn)(const struct result *r);
report_fn report_format(const char *name);

/* What gnuplot draws the plot of folab tune from.  Caller frees. */
char *report_gnuplot(const struct result *r);

/*
 * Correctness cases as KTAP, a piece at a time: begin; for each program its
 * notes and, once it has said how many, its plan; its tests; its result.
 */
void ktap_begin(FILE *to, size_t programs);
/* @nested: within a program whose plan was printed. */
/* The programs that were planned will not all come, and why (a line of TAP's). */
void ktap_bail(FILE *to, const char *why);
void ktap_note(FILE *to, bool nested, const char *text);
void ktap_plan(FILE *to, const struct case_run *r);	/* and its notes so far */
void ktap_test(FILE *to, const struct case_run *r, size_t i);
void ktap_run(FILE *to, const struct case_run *r, size_t number);
/* One program from its plan to its result, when it is over. */
void ktap_replay(FILE *to, const struct case_run *r, size_t number);
/* As JUnit XML, when they are over: begin, suites as often as need be, end. */
void junit_begin(FILE *to);
void junit_suites(FILE *to, const struct case_run *runs, size_t n);
void junit_end(FILE *to);

#endif
