/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Private to report: lines of text that fit into a posting, 40 lines of 75
 * bytes (bytes, so that no reader counts more).
 */
#ifndef FOLAB_REPORT_LINES_H
#define FOLAB_REPORT_LINES_H

#include "report.h"

#define REPORT_LINES	40
#define REPORT_COLUMNS	75

/*
 * Each line has a rank: 0 stays; when there are too many lines, those of the
 * highest rank go first, the last of them before the others.
 */
struct lines {
	struct line {
		char *text;
		int rank;
		bool continues;	/* the line above; if dropped, that one says so */
	} *v;
	size_t n;
};

/* One line, formatted; what is too long is cut and ends in "...". */
void lines_add(struct lines *l, int rank, const char *fmt, ...) PRINTF(3, 4);
/*
 * @text over at most @max lines, broken at spaces, "..." if that is not enough.
 * @label stands in front of the first line; the others are indented by its
 * length.  Only the first line has @rank, the others have @rank_more.
 */
void lines_wrap(struct lines *l, int rank, int rank_more, size_t max,
		const char *label, const char *text);
/*
 * A shell command that can be copied: broken between words with a backslash.
 * -1, and nothing added, if it takes more than @max lines.
 */
int lines_command(struct lines *l, size_t max, const char *command);
/* Drop what does not fit; join with newlines.  Frees the lines. */
char *lines_join(struct lines *l);
char *lines_join_all(struct lines *l);	/* however many */

/*
 * A copy for print: what would move the cursor, turn the text round or is not
 * UTF-8 is replaced.  NULL gives @fallback.  To be used on each string of a
 * result for itself, as record does it when it writes them.
 */
char *clean_text(const char *s, const char *fallback);
/* The same, at most @max bytes of it. */
char *clean_start(const char *s, const char *fallback, size_t max);
/* At most 7 bytes, so that columns stay apart: fewer decimals, then 1.2e+11. */
void format_value(char *buf, size_t len, double v, int digits);
/*
 * Percent with a sign, at most 7 bytes.  0 has no sign; what is too small to be
 * seen has one.
 */
void format_pct(char *buf, size_t len, double pct, bool fine);

#endif
