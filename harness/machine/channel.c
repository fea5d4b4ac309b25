/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The result channel: JSON lines from a guest that nobody vouches for.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

void channel_init(struct channel *c, int64_t passes)
{
	*c = (struct channel){ .passes = passes };
}

void channel_init_cases(struct channel *c, const struct job *job,
			void (*hear)(void *arg, const struct wire *w),
			void *arg)
{
	*c = (struct channel){ .job = job, .hear = hear, .hear_arg = arg };
}

static int PRINTF(2, 3) broken(struct channel *c, const char *fmt, ...)
{
	va_list ap;

	if (!c->broken) {
		char text[400];

		va_start(ap, fmt);
		vsnprintf(text, sizeof(text), fmt, ap);
		va_end(ap);
		c->broken = printable(text, strlen(text), sizeof(text));
	}
	return -1;
}

static int take_sample(struct channel *c, struct sample *s)
{
	if (c->error)
		return broken(c, "a sample after the agent's error");
	if (s->pass != (int64_t)c->n_samples || s->pass >= c->passes)
		return broken(c, "sample of pass %" PRId64 " where pass %zu of %"
			      PRId64 " was due", s->pass, c->n_samples, c->passes);
	/* What the plugin counts never comes from the guest. */
	for (size_t i = 0; i < s->counters.n; i++) {
		if (str_starts(s->counters.v[i].name, "plugin."))
			return broken(c, "the guest claims to be the plugin: %s",
				      s->counters.v[i].name);
	}
	c->samples = xrealloc(c->samples, c->n_samples + 1,
			      sizeof(*c->samples));
	c->samples[c->n_samples++] = *s;
	memset(s, 0, sizeof(*s));	/* ours now */
	return 0;
}

/* Begin, lines, end, one program after the other, as the job says. */
static int take_case(struct channel *c, const struct wire *w)
{
	if (!c->job)
		return broken(c, "a case where a sample was due");
	if (c->error)
		return broken(c, "a case after the agent's error");
	if (w->type == WIRE_CASE) {
		if (c->in_case || c->cases == c->job->n_cases ||
		    strcmp(w->text, c->job->cases[c->cases].program))
			return broken(c, "case %.60s begins out of turn",
				      w->text);
		c->in_case = true;
	} else if (!c->in_case) {
		return broken(c, "a line of a case, but none has begun");
	} else if (w->type == WIRE_CASE_END) {
		c->in_case = false;
		c->cases++;
	}
	if (c->hear)
		c->hear(c->hear_arg, w);
	return 0;
}

static int take_done(struct channel *c, const struct wire *w)
{
	size_t n = c->job ? c->cases : c->n_samples;

	c->done = true;
	if (w->code == (int64_t)n)
		return 0;
	return broken(c, "the agent says that it sent %" PRId64
		      " %s, %zu came", w->code, c->job ? "cases" : "samples",
		      n);
}

static int take(struct channel *c, struct wire *w)
{
	const char *text = w->text ? w->text : "";

	if (c->done)
		return broken(c, "a line after the last one");
	if (!c->hello && w->type != WIRE_HELLO && w->type != WIRE_ERROR)
		return broken(c, "the first line is not a greeting");
	switch (w->type) {
	case WIRE_HELLO:
		if (c->hello)
			return broken(c, "greeted twice");
		c->hello = true;
		c->release = printable(text, strlen(text), 80);
		return 0;
	case WIRE_PHASE:
		free(c->phase);
		c->phase = printable(text, strlen(text), 40);
		return 0;
	case WIRE_SAMPLE:
		return take_sample(c, &w->sample);
	case WIRE_ERROR:
		if (!c->error)
			c->error = printable(text, strlen(text), 800);
		return 0;
	case WIRE_DONE:
		return take_done(c, w);
	case WIRE_CASE:
	case WIRE_KTAP:
	case WIRE_CASE_END:
		return take_case(c, w);
	case WIRE_PROFILE:
		break;		/* a guest has the plugin's */
	}
	return broken(c, "a line of unknown kind");
}

static int take_line(struct channel *c, const char *line, size_t len)
{
	struct err err = { 0 };
	struct wire w = { 0 };
	int rc;

	if (++c->lines > WIRE_MAX_LINES)
		return broken(c, "more than %d lines", WIRE_MAX_LINES);
	if (wire_parse(line, len, &w, &err))
		return broken(c, "line %" PRId64 " is not a result: %s",
			      c->lines, err.text);
	rc = take(c, &w);
	wire_free(&w);
	return rc;
}

/* Keep what may become a line. */
static int keep(struct channel *c, const char *data, size_t len)
{
	if (c->len + len > WIRE_MAX_LINE)
		return broken(c, "line %" PRId64 " is longer than %d KiB",
			      c->lines + 1, WIRE_MAX_LINE / 1024);
	if (c->len + len > c->room) {
		c->room = (c->len + len) * 2;
		c->line = xrealloc(c->line, c->room, 1);
	}
	if (len)
		memcpy(c->line + c->len, data, len);
	c->len += len;
	return 0;
}

int channel_feed(struct channel *c, const char *data, size_t len)
{
	if (c->broken)
		return -1;
	c->bytes += len;
	if (c->bytes > CHANNEL_MAX_BYTES)
		return broken(c, "more than %u MiB", CHANNEL_MAX_BYTES >> 20);
	while (len) {
		const char *nl = memchr(data, '\n', len);
		size_t n = nl ? (size_t)(nl - data) : len;

		if (keep(c, data, n))
			return -1;
		if (!nl)
			return 0;
		if (take_line(c, c->line ? c->line : "", c->len))
			return -1;
		c->len = 0;
		data += n + 1;
		len -= n + 1;
	}
	return 0;
}

int channel_end(struct channel *c)
{
	if (c->broken)
		return -1;
	if (c->error)
		return 0;
	if (c->len)
		return broken(c, "it ends in the middle of a line");
	if (!c->hello)
		return broken(c, "nothing came");
	if (c->job && (!c->done || c->cases != c->job->n_cases))
		return broken(c, "it ends after %zu of %zu cases", c->cases,
			      c->job->n_cases);
	if (!c->done)
		return broken(c, "it ends after %zu of %" PRId64 " samples",
			      c->n_samples, c->passes);
	if ((int64_t)c->n_samples != c->passes)
		return broken(c, "%zu samples came, %" PRId64 " were asked for",
			      c->n_samples, c->passes);
	return 0;
}

void channel_free(struct channel *c)
{
	for (size_t i = 0; i < c->n_samples; i++)
		sample_free(&c->samples[i]);
	free(c->samples);
	free(c->line);
	free(c->release);
	free(c->phase);
	free(c->error);
	free(c->broken);
	memset(c, 0, sizeof(*c));
}
