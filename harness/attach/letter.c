/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Blocks in the body of a letter: those that are there are found by their
 * markers, a new one goes below the blurb.
 */
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "private.h"

struct line line_at(const char *text, size_t at, size_t end)
{
	const char *nl = memchr(text + at, '\n', end - at);
	struct line l = { .at = at };

	l.next = nl ? (size_t)(nl - text) + 1 : end;
	l.stop = nl ? (size_t)(nl - text) : end;
	if (nl && l.stop > at && text[l.stop - 1] == '\r')
		l.stop--;
	return l;
}

bool span_matches(const char *text, size_t at, size_t stop, const char *regex)
{
	char *copy = xstrndup(text + at, stop - at);
	regex_t re;
	bool match;

	if (regcomp(&re, regex, REG_EXTENDED | REG_NOSUB))
		abort();
	match = !regexec(&re, copy, 0, NULL, 0);
	regfree(&re);
	free(copy);
	return match;
}

/* The lines of a letter's body, and which of them are of a block. */
struct body {
	const char *text;
	struct line *v;
	size_t n;
	struct old {
		char *key;
		size_t first, last;	/* lines of its markers */
	} *old;
	size_t n_old;
	const char *eol;
};

static bool line_is(const struct body *b, size_t i, const char *regex)
{
	return span_matches(b->text, b->v[i].at, b->v[i].stop, regex);
}

static bool line_starts(const struct body *b, size_t i, const char *prefix)
{
	size_t len = strlen(prefix);

	return b->v[i].stop - b->v[i].at >= len &&
		!memcmp(b->text + b->v[i].at, prefix, len);
}

static bool is_blank(const struct body *b, size_t i)
{
	return line_is(b, i, "^[ \t]*$");
}

static void body_free(struct body *b)
{
	for (size_t i = 0; i < b->n_old; i++)
		free(b->old[i].key);
	free(b->old);
	free(b->v);
}

/* The key in a line that begins with @mark, NULL: it is no such line. */
static char *mark_key(const struct body *b, size_t i, const char *mark)
{
	size_t from = b->v[i].at + strlen(mark);
	size_t tail = b->v[i].stop - strlen(MARK_TAIL);

	if (!line_starts(b, i, mark) || tail <= from ||
	    memcmp(b->text + tail, MARK_TAIL, strlen(MARK_TAIL)))
		return NULL;
	return xstrndup(b->text + from, tail - from);
}

static struct old *find_old(const struct body *b, const char *key)
{
	for (size_t i = 0; i < b->n_old; i++)
		if (!strcmp(b->old[i].key, key))
			return &b->old[i];
	return NULL;
}

static int find_blocks(struct body *b, const char *name, struct err *err)
{
	char *open = NULL;
	size_t first = 0;
	int rc = 0;

	for (size_t i = 0; i < b->n && !rc; i++) {
		char *begin = mark_key(b, i, MARK_BEGIN);
		char *end = mark_key(b, i, MARK_END);

		if (begin && (open || find_old(b, begin))) {
			rc = err_set(err, EXIT_USAGE,
				     "%s: folab:begin %s stands where no block can begin; put the markers right by hand",
				     name, begin);
		} else if (begin) {
			open = begin;
			begin = NULL;
			first = i;
		} else if (end && (!open || strcmp(open, end))) {
			rc = err_set(err, EXIT_USAGE,
				     "%s: folab:end %s ends no block; put the markers right by hand",
				     name, end);
		} else if (end) {
			b->old = xrealloc(b->old, b->n_old + 1, sizeof(*b->old));
			b->old[b->n_old++] = (struct old){ open, first, i };
			open = NULL;
		}
		free(begin);
		free(end);
	}
	if (open && !rc)
		rc = err_set(err, EXIT_USAGE,
			     "%s: folab:begin %s has no folab:end; put the markers right by hand",
			     name, open);
	free(open);
	return rc;
}

static int body_split(struct body *b, const struct letter *l, struct err *err)
{
	const char *nl = strchr(l->text, '\n');

	memset(b, 0, sizeof(*b));
	b->text = l->text;
	b->eol = nl && nl > l->text && nl[-1] == '\r' ? "\r\n" : "\n";
	for (size_t at = l->body; at < l->end; at = b->v[b->n++].next) {
		b->v = xrealloc(b->v, b->n + 1, sizeof(*b->v));
		b->v[b->n] = line_at(l->text, at, l->end);
	}
	if (!find_blocks(b, l->name, err))
		return 0;
	body_free(b);
	return -1;
}

/* ---- the end of the blurb -------------------------------------------------- */

/*
 * Does the shortlog begin at line @i: "Name (2):", two subjects, a blank line, the
 * next name?  git format-patch indents subjects by two spaces, git shortlog by
 * six.  A line of the blurb that only looks like a name is not followed by as
 * many subjects as it says.
 */
static bool is_shortlog(const struct body *b, size_t i)
{
	const char *open = NULL, *subject;
	size_t said, have = 0;

	if (!line_is(b, i, "^[^ ].* \\([1-9][0-9]{0,3}\\):$"))
		return false;
	for (const char *p = b->text + b->v[i].at; p < b->text + b->v[i].stop; p++)
		if (*p == '(')
			open = p;
	said = strtoul(open + 1, NULL, 10);
	subject = i + 1 < b->n && line_is(b, i + 1, "^      [^ ]") ?
		"^      [^ ]" : "^  [^ ]";
	/* A long subject goes on in a line that is indented by more. */
	for (i++; i < b->n && line_is(b, i, "^  +[^ ]"); i++)
		have += line_is(b, i, subject);
	return have == said && (i == b->n || is_blank(b, i));
}

/* " mm/rmap.c | 12 +++---" and so on, up to " 3 files changed". */
static bool is_diffstat(const struct body *b, size_t i)
{
	while (i < b->n && line_is(b, i, "^ .*[^ ] +\\| +([0-9]+|Bin)"))
		i++;
	return i < b->n && line_is(b, i, "^ [0-9]+ files? changed");
}

static size_t skip_old(const struct body *b, size_t i)
{
	for (size_t k = 0; k < b->n_old; k++)
		if (i >= b->old[k].first && i <= b->old[k].last)
			return b->old[k].last + 1;
	return i;
}

/* First line of what is no blurb any more. */
static size_t blurb_stop(const struct body *b)
{
	size_t i = 0, k;

	while (i < b->n) {
		k = skip_old(b, i);
		if (k > i) {
			i = k;
			continue;
		}
		if (line_is(b, i, "^(---|-- |--)$") ||
		    line_starts(b, i, "base-commit: ") ||
		    is_shortlog(b, i) || is_diffstat(b, i))
			break;
		i++;
	}
	return i;
}

static bool is_trailer(const struct body *b, size_t i)
{
	return line_is(b, i, "^([A-Z][A-Za-z]*(-[A-Za-z]+)*-[Bb]y|To|[CcB][Cc]c?|Link|"
		       "Closes|Fixes|Change-[Ii]d|In-Reply-To): [^ ]");
}

/*
 * The line before which a new block goes: below the blurb, above Cc:, To: and
 * Signed-off-by: lines, which b4 and send-email look for at the end.
 */
static size_t new_place(const struct body *b)
{
	size_t stop = blurb_stop(b), place = stop, i = stop;

	for (;;) {
		size_t bottom;

		while (i && is_blank(b, i - 1))
			i--;
		bottom = i;
		while (i && is_trailer(b, i - 1))
			i--;
		if (i == bottom || (i && !is_blank(b, i - 1)))
			return place;
		place = i;
	}
}

/* ---- putting in, taking out ------------------------------------------------- */

static void put_lines(FILE *to, const char *lines, const char *eol)
{
	for (; *lines; lines++) {
		if (*lines == '\n')
			fputs(eol, to);
		else
			fputc(*lines, to);
	}
}

/*
 * From marker to marker, without the end of the last line.  With blank lines
 * inside: b4 takes words with colons in the last paragraph for trailers.
 */
static void put_block(FILE *to, const struct block *b, const char *eol)
{
	fprintf(to, "%s%s%s%s%s", MARK_BEGIN, b->key, MARK_TAIL, eol, eol);
	put_lines(to, b->text, eol);
	fprintf(to, "%s%s%s%s", eol, MARK_END, b->key, MARK_TAIL);
}

/* text[0..from), @block in place of text[from..to) if there is one, the rest. */
static char *splice(const struct letter *l, size_t from, size_t to,
		    const char *before, const struct block *block,
		    const char *after, const char *eol)
{
	char *out;
	size_t len;
	FILE *f = open_memstream(&out, &len);

	if (!f)
		abort();
	fwrite(l->text, 1, from, f);
	fputs(before, f);
	if (block)
		put_block(f, block, eol);
	fputs(after, f);
	fputs(l->text + to, f);
	fclose(f);
	return out;
}

static char *put_new(const struct letter *l, const struct body *b,
		     const struct block *block)
{
	size_t place = new_place(b);
	size_t at = place < b->n ? b->v[place].at : l->end;
	bool blank = !place || is_blank(b, place - 1);
	char *before, *after, *text;

	if (place == b->n && b->n && b->v[b->n - 1].next == b->v[b->n - 1].stop) {
		/* The last line has no end, so that ours gets none. */
		before = xasprintf("%s%s", b->eol, b->eol);
		after = xstrdup("");
	} else if (blank) {
		before = xstrdup("");
		after = xasprintf("%s%s", b->eol, b->eol);
	} else {
		before = xstrdup(b->eol);
		after = xstrdup(b->eol);
	}
	text = splice(l, at, at, before, block, after, b->eol);
	free(before);
	free(after);
	return text;
}

/* Takes back exactly what put_new() did. */
static char *take_out(const struct letter *l, const struct body *b,
		      const struct old *o)
{
	size_t first = o->first, last = o->last;
	size_t from = b->v[first].at, to = b->v[last].next;

	if (b->v[last].next == b->v[last].stop) {
		if (first && is_blank(b, first - 1))
			first--;
		from = first ? b->v[first - 1].stop : b->v[first].at;
	} else if (last + 1 < b->n && is_blank(b, last + 1)) {
		to = b->v[last + 1].next;
	} else if (first && is_blank(b, first - 1)) {
		from = b->v[first - 1].at;
	}
	return splice(l, from, to, "", NULL, "", b->eol);
}

/* One step: the letter's text becomes @text. */
static void step(struct letter *l, char *text)
{
	size_t was = strlen(l->text), is = strlen(text);

	free(l->text);
	l->text = text;
	l->end = l->end + is - was;
}

static int put_in(struct letter *l, const struct block *block,
		  struct strlist *did, struct err *err)
{
	const struct old *o;
	struct body b;
	char *text;

	if (body_split(&b, l, err))
		return -1;
	o = find_old(&b, block->key);
	if (o)
		text = splice(l, b.v[o->first].at, b.v[o->last].stop, "", block,
			      "", b.eol);
	else
		text = put_new(l, &b, block);
	if (strcmp(text, l->text))
		strlist_addf(did, "%s %s", block->key,
			     o ? "replaced" : "put in");
	body_free(&b);
	step(l, text);
	return 0;
}

/* @key NULL: the first that is there.  1: there was one. */
static int remove_one(struct letter *l, const char *key, struct strlist *did,
		      struct err *err)
{
	const struct old *o;
	struct body b;

	if (body_split(&b, l, err))
		return -1;
	o = key ? find_old(&b, key) : b.n_old ? b.old : NULL;
	if (o) {
		char *text = take_out(l, &b, o);

		strlist_addf(did, "%s removed", o->key);
		step(l, text);
	}
	body_free(&b);
	return o != NULL;
}

char *letter_edit(const struct letter *l, const struct edit *e,
		  struct strlist *did, struct err *err)
{
	struct letter now = *l;
	int rc = 0;

	now.text = xstrdup(l->text);
	for (size_t i = 0; i < e->n && rc >= 0; i++)
		rc = e->remove ?
			remove_one(&now, e->blocks[i].key, did, err) :
			put_in(&now, &e->blocks[i], did, err);
	if (e->remove && !e->n)
		while ((rc = remove_one(&now, NULL, did, err)) > 0)
			;
	if (rc >= 0)
		return now.text;
	free(now.text);
	return NULL;
}
