/* SPDX-License-Identifier: GPL-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lines.h"

static void take(struct lines *l, int rank, char *text)
{
	size_t n = strlen(text);

	while (n && text[n - 1] == ' ')
		text[--n] = '\0';
	l->v = xrealloc(l->v, l->n + 1, sizeof(*l->v));
	l->v[l->n++] = (struct line){ .text = text, .rank = rank };
}

/* The largest length up to @max that does not end inside a character. */
static size_t whole_chars(const char *s, size_t max)
{
	size_t n = max;

	if (strlen(s) <= max)
		return strlen(s);
	while (n && ((unsigned char)s[n] & 0xc0) == 0x80)
		n--;
	return n ? n : max;
}

static char *cut(const char *s, size_t max)
{
	if (strlen(s) <= max)
		return xstrdup(s);
	return xasprintf("%.*s...", (int)whole_chars(s, max - 3), s);
}

void lines_add(struct lines *l, int rank, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	take(l, rank, cut(text, REPORT_COLUMNS));
}

/*
 * How much of @s goes into a line of @width bytes: up to the last space that
 * fits, or all of it, or a piece of a word that is longer than a line.
 */
static size_t piece(const char *s, size_t width)
{
	size_t n;

	if (strlen(s) <= width)
		return strlen(s);
	for (n = width; n; n--)
		if (s[n] == ' ')
			return n;
	return whole_chars(s, width);
}

void lines_wrap(struct lines *l, int rank, int rank_more, size_t max,
		const char *label, const char *text)
{
	size_t indent = strlen(label), width = REPORT_COLUMNS - indent;

	for (size_t i = 0; i < max && (*text || !i); i++) {
		size_t n = piece(text, width);
		char *part;

		if (i + 1 == max)
			part = cut(text, width);
		else
			part = xstrndup(text, n);
		take(l, i ? rank_more : rank,
		     i ? xasprintf("%*s%s", (int)indent, "", part) :
			 xasprintf("%s%s", label, part));
		l->v[l->n - 1].continues = i > 0;
		free(part);
		text += n;
		while (*text == ' ')
			text++;
	}
}

/* Length of the word at @s, with the spaces that are quoted or escaped. */
static size_t word_length(const char *s)
{
	char quote = '\0';
	size_t n;

	for (n = 0; s[n]; n++) {
		if (quote) {
			if (s[n] == '\\' && quote == '"' && s[n + 1])
				n++;
			else if (s[n] == quote)
				quote = '\0';
		} else if (s[n] == '\\' && s[n + 1]) {
			n++;
		} else if (s[n] == '\'' || s[n] == '"') {
			quote = s[n];
		} else if (s[n] == ' ') {
			break;
		}
	}
	return n;
}

#define COMMAND_WIDTH	(REPORT_COLUMNS - 2)	/* room for " \" */

/*
 * A word that is longer than a line: a backslash at its end joins it with the
 * next line, if that one starts in the first column.  Inside quotes, and
 * behind a backslash, that would be another word.
 */
static int break_word(struct strlist *out, char **line, const char *word,
		      size_t n)
{
	if (memchr(word, '\'', n) || memchr(word, '"', n) ||
	    memchr(word, '\\', n))
		return -1;
	if (**line)
		strlist_addf(out, "%s \\", *line);
	free(*line);
	while (n > COMMAND_WIDTH) {
		size_t part = whole_chars(word, COMMAND_WIDTH);

		strlist_addf(out, "%.*s\\", (int)part, word);
		word += part;
		n -= part;
	}
	*line = xstrndup(word, n);
	return 0;
}

static int break_command(struct strlist *out, const char *command)
{
	char *line = xstrdup("");
	int rc = 0;

	while (*command == ' ')
		command++;
	while (*command && !rc) {
		size_t n = word_length(command);

		if (strlen(line) + 1 + n <= COMMAND_WIDTH) {
			char *longer = xasprintf("%s%s%.*s", line,
						 *line ? " " : "  ", (int)n,
						 command);
			free(line);
			line = longer;
		} else if (n + 4 <= COMMAND_WIDTH) {
			strlist_addf(out, "%s \\", line);
			free(line);
			line = xasprintf("    %.*s", (int)n, command);
		} else {
			rc = break_word(out, &line, command, n);
		}
		command += n;
		while (*command == ' ')
			command++;
	}
	strlist_add(out, line);
	free(line);
	return rc;
}

int lines_command(struct lines *l, size_t max, const char *command)
{
	struct strlist out = { 0 };
	int rc = break_command(&out, command);

	if (out.n > max)
		rc = -1;
	for (size_t i = 0; i < out.n && !rc; i++)
		take(l, 0, xstrdup(out.v[i]));
	strlist_free(&out);
	return rc;
}

/* Say at the end of a line that more would follow. */
static void mark(struct line *line)
{
	char *longer;

	if (str_ends(line->text, "..."))
		return;
	if (strlen(line->text) + 4 <= REPORT_COLUMNS)
		longer = xasprintf("%s ...", line->text);
	else
		longer = xasprintf("%.*s...",
				   (int)whole_chars(line->text,
						    REPORT_COLUMNS - 3),
				   line->text);
	free(line->text);
	line->text = longer;
}

static void drop_one(struct lines *l)
{
	size_t victim = l->n - 1;

	for (size_t i = l->n; i-- > 0;)
		if (l->v[i].rank > l->v[victim].rank)
			victim = i;
	if (victim && l->v[victim].continues)
		mark(&l->v[victim - 1]);
	free(l->v[victim].text);
	memmove(&l->v[victim], &l->v[victim + 1],
		(l->n - victim - 1) * sizeof(*l->v));
	l->n--;
}

char *lines_join(struct lines *l)
{
	while (l->n > REPORT_LINES)
		drop_one(l);
	return lines_join_all(l);
}

char *lines_join_all(struct lines *l)
{
	size_t len = 1, at = 0;
	char *text;

	for (size_t i = 0; i < l->n; i++)
		len += strlen(l->v[i].text) + 1;
	text = xmalloc(len);
	for (size_t i = 0; i < l->n; i++) {
		at += sprintf(text + at, "%s\n", l->v[i].text);
		free(l->v[i].text);
	}
	text[at] = '\0';
	free(l->v);
	*l = (struct lines){ 0 };
	return text;
}

/* C1 controls, and marks that turn the direction of what follows. */
static bool moves_text(const unsigned char *s)
{
	if (s[0] == 0xc2)
		return s[1] < 0xa0;
	if (s[0] != 0xe2)
		return false;
	return (s[1] == 0x80 && ((s[2] >= 0x8e && s[2] <= 0x8f) ||
				 (s[2] >= 0xa8 && s[2] <= 0xae))) ||
	       (s[1] == 0x81 && s[2] >= 0xa6 && s[2] <= 0xa9);
}

char *clean_text(const char *s, const char *fallback)
{
	char *copy = xstrdup(s ? s : fallback);
	json_t *utf8 = json_string(copy);

	for (char *p = copy; *p; p++) {
		unsigned char *u = (unsigned char *)p;

		if (*u < 0x20 || *u == 0x7f)
			*p = ' ';
		/* The same as in result.json: see rec_text() of record. */
		else if (!utf8 && *u >= 0x80)
			*p = '?';
		else if (moves_text(u))
			memset(p, '?', *u == 0xc2 ? 2 : 3);
	}
	json_decref(utf8);
	return copy;
}

char *clean_start(const char *s, const char *fallback, size_t max)
{
	char *clean = clean_text(s, fallback);

	clean[whole_chars(clean, max)] = '\0';
	return clean;
}

void format_value(char *buf, size_t len, double v, int digits)
{
	if (!isfinite(v)) {
		snprintf(buf, len, "-");
		return;
	}
	for (; digits >= 0; digits--)
		if (snprintf(buf, len, "%.*f", digits, v) <= 7)
			return;
	snprintf(buf, len, "%.*e", fabs(v) < 1e100 && v > 0 ? 1 : 0, v);
}

void format_pct(char *buf, size_t len, double pct, bool fine)
{
	double size = fabs(pct);
	int digits = 0;

	if (size < 9.995 || (fine && size < 99.995))
		digits = 2;
	else if (size < 99.95 || (fine && size < 999.95))
		digits = 1;
	if (!isfinite(pct))
		snprintf(buf, len, "-");
	else if (size > 9999)
		snprintf(buf, len, "%s", pct > 0 ? ">9999" : "<-9999");
	else if (pct == 0)
		snprintf(buf, len, "0.00");
	else
		snprintf(buf, len, "%+.*f", digits, pct);
}
