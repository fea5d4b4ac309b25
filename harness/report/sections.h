/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Private to report: the parts of the text, from top to bottom.  Each adds its
 * lines, or none if the result has nothing for it.
 */
#ifndef FOLAB_REPORT_SECTIONS_H
#define FOLAB_REPORT_SECTIONS_H

#include "../analyse/analyse.h"
#include "lines.h"

/*
 * What goes first when there are more than 40 lines: the higher, the earlier.
 * A list of functions shrinks to its start before anything else is touched.
 */
enum rank {
	RANK_KEEP = 0,
	RANK_REASON = 5,	/* reasons behind the first */
	RANK_FOOTNOTE = 10,
	RANK_NOTE = 20,
	RANK_DIFF = 30,
	RANK_PROVENANCE = 40,	/* what is in result.json too */
	RANK_ROW = 50,
	RANK_FUNCTIONS = 60,	/* the first functions and their heading */
	RANK_MORE = 70,		/* further lines of long texts */
	RANK_BLANK = 80,
	RANK_SAME = 85,		/* counts that are the same on both sides */
	RANK_FUNCTION = 90,	/* functions behind the first, + index */
};

/* section_head.c: what was done, to what, and whether it may claim anything */
void section_title(struct lines *l, const struct result *r);
/* "dirty=0 lru=classic ...": by name, since a result read back is so.  Caller frees. */
char *params_line(const struct params *p);
void section_invalid(struct lines *l, const struct result *r);
void section_sides(struct lines *l, const struct result *r);

/* section_rows.c: metrics, verdict (@side: what is called B here), footnotes */
void section_rows(struct lines *l, const struct result *r, char side);
void section_verdict(struct lines *l, const struct result *r, char side);
/* What a row is called: its metric's title, or its name. */
const char *row_title(const struct row *row);
void section_footnotes(struct lines *l, const struct result *r);

/* section_further.c: sides behind B, each compared with A */
void section_further(struct lines *l, const struct result *r);
void section_further_words(struct lines *l, const struct result *r);

/* section_variants.c: rows with other parameters, or on another architecture */
void section_variants(struct lines *l, const struct result *r);
void section_variants_words(struct lines *l, const struct result *r);

/* section_two_by_two.c: each of two series alone, and both */
void section_two_by_two(struct lines *l, const struct result *r);

/* section_functions.c: where the instructions went */
void section_functions(struct lines *l, const struct result *r);
/*
 * Instructions per page by function, on a real clock percent of the samples; by
 * falling difference.  NULL: not known, or nothing is claimed.  Caller frees.
 */
struct function_cost {
	const char *name;	/* the profile's */
	double self[2], inclusive[2];
};
struct function_cost *functions_of(const struct result *r, size_t *n);
/* of one side: samples, ftrace's calls and times */
void section_samples(struct lines *l, const struct result *r);
void section_calls(struct lines *l, const struct result *r);

/* section_facts.c: folio orders, bytes, decisions, notes */
void section_facts(struct lines *l, const struct result *r);
void section_notes(struct lines *l, const struct result *r);

/* section_selftests.c: did B break any (at the top); how many ran */
void section_broken(struct lines *l, const struct result *r);
void section_selftests(struct lines *l, const struct result *r);

/* section_tail.c: provenance; of a run on this host: the host, the command */
void section_tail(struct lines *l, const struct result *r);
void section_host(struct lines *l, const struct result *r);
void section_again(struct lines *l, const struct result *r);

/* single.c: the text of a run that has no side B */
void single_text(struct lines *l, const struct result *r);
/* Were the figures of a real clock, with its noise? */
bool on_real_clock(const struct result *r);
/* ".0079", "< .0001" */
void format_p(char *buf, size_t len, double p);
/* A word for a rate: "44.1". */
void format_rate(char *buf, size_t len, double rate);
/* Trial of clear-chunk, NULL: there is none. */
const struct trial *chunk_trial(const struct result *r);

/* section_chunk.c: clear-chunk's table, knees, what the clear evicts */
void section_chunk(struct lines *l, const struct result *r);

/* section_perf.c: ours beside those of perf bench */
void section_perf(struct lines *l, const struct result *r);

/* html_charts.c: pieces of the page; text is written as XML wants it */
void html_text(FILE *to, const char *text);
void html_samples(FILE *to, const struct result *r, const struct row *row,
		  const struct metric *m, char side);
void html_functions(FILE *to, const struct result *r);
void html_orders(FILE *to, const struct result *r);
void html_chunks(FILE *to, const struct result *r);

/* tune_text.c, plot.c: folab tune */
void tune_text(struct lines *l, const struct result *r);
void plot_text(struct lines *l, const struct chunk_table *table,
	       const struct tune *tune);

#endif
