/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The guest's console: what the kernel says about its own health.
 */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

char *printable(const char *s, size_t len, size_t max)
{
	size_t n = len < max ? len : max;
	char *out = xmalloc(n + 1);

	for (size_t i = 0; i < n; i++)
		out[i] = s[i] >= ' ' && s[i] <= '~' ? s[i] : '?';
	out[n] = '\0';
	return out;
}

/* Behind the "[    0.123456] " that printk puts in front. */
static const char *without_stamp(const char *line)
{
	const char *p = line;

	if (*p++ != '[')
		return line;
	p += strspn(p, " ");
	p += strspn(p, "0123456789.");
	if (*p++ != ']')
		return line;
	return p + (*p == ' ');
}

static bool take_phase(struct console *c, const char *text)
{
	static const char mark[] = "folab: phase ";
	const char *name = strstr(text, mark);

	if (!name)
		return false;
	name += sizeof(mark) - 1;
	free(c->phase);
	c->phase = xstrndup(name, 40);
	return true;
}

static void warn(struct console *c, const char *text)
{
	if (c->warnings.n < CONSOLE_MAX_WARNINGS)
		strlist_add(&c->warnings, text);
	else if (c->warnings.n == CONSOLE_MAX_WARNINGS)
		strlist_add(&c->warnings, "more in the console log");
}

static void judge(struct console *c, const char *text)
{
	const char *what;

	switch (klog_judge(text, &what)) {
	case KLOG_FINE:
		break;
	case KLOG_WARNING:
		warn(c, text);
		break;
	case KLOG_OOM:
		/* A case may want it; a workload never does. */
		if (c->oom_allowed)
			break;
		/* fall through */
	case KLOG_LOST:
		if (!c->fatal)
			c->fatal = xasprintf("%s: %s", what, text);
		break;
	}
}

static void take_line(struct console *c)
{
	char **slot = &c->tail[c->n_tail % CONSOLE_TAIL_LINES];
	const char *text;

	while (c->len && c->line[c->len - 1] == ' ')
		c->len--;
	c->line[c->len] = '\0';
	c->len = 0;
	if (!c->line[0])
		return;
	free(*slot);
	*slot = xstrdup(c->line);
	c->n_tail++;
	text = without_stamp(c->line);
	if (!take_phase(c, text))
		judge(c, text);
}

size_t console_feed(struct console *c, const char *data, size_t len)
{
	uint64_t left = CONSOLE_MAX_BYTES - c->bytes;

	if (len > left) {
		len = left;
		c->flood = true;
	}
	c->bytes += len;
	for (size_t i = 0; i < len; i++) {
		char ch = data[i];

		if (ch == '\n')
			take_line(c);
		else if (ch == '\r')
			continue;
		else if (c->len < sizeof(c->line) - 1)
			c->line[c->len++] = ch == '\t' ? ' ' :
				ch >= ' ' && ch <= '~' ? ch : '?';
	}
	return len;
}

void console_end(struct console *c)
{
	take_line(c);
}

char *console_tail(const struct console *c)
{
	size_t first = c->n_tail > CONSOLE_TAIL_LINES ?
		c->n_tail - CONSOLE_TAIL_LINES : 0;
	char *text = xstrdup("");

	for (size_t i = first; i < c->n_tail; i++) {
		char *more = xasprintf("%s%s\n", text,
				       c->tail[i % CONSOLE_TAIL_LINES]);

		free(text);
		text = more;
	}
	return text;
}

void console_free(struct console *c)
{
	for (size_t i = 0; i < CONSOLE_TAIL_LINES; i++)
		free(c->tail[i]);
	strlist_free(&c->warnings);
	free(c->fatal);
	free(c->phase);
	memset(c, 0, sizeof(*c));
}
