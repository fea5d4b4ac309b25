/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A letter in a file: one mail, or the first of a mailbox, as git format-patch
 * and b4 write them.
 */
#include <stdlib.h>
#include <string.h>

#include "private.h"

/* What git mailsplit takes for the beginning of the next mail. */
static bool is_separator(const char *text, struct line l)
{
	/* A mailbox may be long, and few lines begin so. */
	return !strncmp(text + l.at, "From ", 5) &&
		span_matches(text, l.at, l.stop,
			     "^From .*[0-9]:[0-9][0-9].* (199|2[0-9]{2})[0-9]");
}

/* The value of header @name in text[at..end), unfolded; NULL: there is none. */
static char *header(const char *text, size_t at, size_t end, const char *name)
{
	size_t len = strlen(name);
	char *value = NULL;

	while (at < end) {
		struct line l = line_at(text, at, end);
		bool more = text[at] == ' ' || text[at] == '\t';
		size_t from = at + (more ? 0 : len + 1);

		if (!more && value)
			break;
		at = l.next;
		if (!more && (l.stop < from || text[from - 1] != ':' ||
			      strncasecmp(text + l.at, name, len)))
			continue;
		if (more && !value)
			continue;
		while (from < l.stop && (text[from] == ' ' || text[from] == '\t'))
			from++;

		char *joined = xasprintf("%s%s%.*s", value ? value : "",
					 value && *value ? " " : "",
					 (int)(l.stop - from), text + from);

		free(value);
		value = joined;
	}
	return value;
}

/* Is the body such that its bytes are its text? */
static int check_encoding(const struct letter *l, size_t head, struct err *err)
{
	char *how = header(l->text, head, l->body, "Content-Transfer-Encoding");
	char *type = header(l->text, head, l->body, "Content-Type");
	int rc = 0;

	if (how && strcasecmp(how, "7bit") && strcasecmp(how, "8bit") &&
	    strcasecmp(how, "binary"))
		rc = err_set(err, EXIT_SKIPPED,
			     "%s: the body is encoded as %s, which folab does not edit; attach to what git format-patch wrote, or to the branch",
			     l->name, how);
	else if (type && strncasecmp(type, "text/plain", 10))
		rc = err_set(err, EXIT_SKIPPED,
			     "%s: the body is %s, which folab does not edit; only text/plain",
			     l->name, type);
	free(how);
	free(type);
	return rc;
}

static int check_cover(const struct letter *l, size_t head, struct err *err)
{
	char *subject = header(l->text, head, l->body, "Subject");
	int rc = 0;

	if (!subject ||
	    !span_matches(subject, 0, strlen(subject),
			  "\\[([^]]*[^]0-9])?0+/[0-9]+[^]0-9]*\\]"))
		rc = err_set(err, EXIT_USAGE,
			     "%s: the first mail is no cover letter, whose subject has [PATCH 0/N] (%s); git format-patch --cover-letter makes one",
			     l->name, subject ? subject : "this has none");
	free(subject);
	return rc;
}

/* Find ->body and ->end. */
static int find_body(struct letter *l, struct err *err)
{
	size_t len = strlen(l->text), at = 0, head = 0;
	struct line line;

	if (str_starts(l->text, "From "))
		head = at = line_at(l->text, 0, len).next;
	while (at < len) {
		line = line_at(l->text, at, len);
		if (line.stop == line.at)
			break;
		if (!span_matches(l->text, line.at, line.stop,
				  "^([!-9;-~]+:|[ \t])"))
			return err_set(err, EXIT_USAGE,
				       "%s is no mail: line \"%.*s\" is no header",
				       l->name, (int)(line.stop - line.at > 60 ?
						      60 : line.stop - line.at),
				       l->text + line.at);
		at = line.next;
	}
	if (at >= len)
		return err_set(err, EXIT_USAGE,
			       "%s is no mail: it has no body behind its headers",
			       l->name);
	l->body = line.next;
	for (l->end = l->body; l->end < len; l->end = line.next) {
		line = line_at(l->text, l->end, len);
		if (is_separator(l->text, line))
			break;
	}
	return check_cover(l, head, err) || check_encoding(l, head, err) ? -1 : 0;
}

static int store(struct letter *l, const char *text, struct strlist *said,
		 struct err *err)
{
	return file_replace(l->path, l->text, text, err);
}

static const struct keeper in_file = { store };

int mail_open(struct letter *l, struct err *err)
{
	size_t len;

	l->keeper = &in_file;
	l->name = xstrdup(l->path);
	if (file_read(l->path, LETTER_MAX, &l->text, &len, err))
		return -1;
	if (strlen(l->text) != len)
		return err_set(err, EXIT_USAGE, "%s is no mail: it has NUL bytes",
			       l->name);
	return find_body(l, err);
}
