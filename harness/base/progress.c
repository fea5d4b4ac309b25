/* SPDX-License-Identifier: GPL-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base.h"

#define REDRAW	0.1	/* seconds between two states of the line */

static struct {
	bool quiet, active;
	double start, drawn;
	char label[160];
	uint64_t first;		/* done at the first step, for the rate */
	bool stepped;
} line;

double now_seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static bool on_terminal(void)
{
	static int known = -1;

	if (known < 0) {
		const char *term = getenv("TERM");

		known = isatty(2) && term && strcmp(term, "dumb");
	}
	return known;
}

static int columns(void)
{
	struct winsize w;

	return ioctl(2, TIOCGWINSZ, &w) == 0 && w.ws_col > 20 ? w.ws_col : 80;
}

static void wipe(void)
{
	if (on_terminal() && line.drawn > 0)
		fputs("\r\033[K", stderr);
	line.drawn = 0;
}

static void format_time(double s, char *buf, size_t len)
{
	if (s < 60)
		snprintf(buf, len, "%.0f s", s);
	else
		snprintf(buf, len, "%d min %02d s", (int)(s / 60), (int)s % 60);
}

void progress_quiet(bool quiet)
{
	line.quiet = quiet;
}

void progress_begin(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line.label, sizeof(line.label), fmt, ap);
	va_end(ap);
	line.start = now_seconds();
	line.drawn = 0;
	line.active = true;
	line.stepped = false;
	if (!line.quiet && !on_terminal())
		fprintf(stderr, "%s ...\n", line.label);
}

void progress_step(uint64_t done, uint64_t total, const char *fmt, ...)
{
	char what[200], spent[32], text[600];
	double now = now_seconds();
	va_list ap;
	int n;

	if (!line.stepped) {
		line.stepped = true;
		line.first = done;
	}
	if (line.quiet || !line.active || !on_terminal() ||
	    now - line.drawn < REDRAW)
		return;
	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	format_time(now - line.start, spent, sizeof(spent));
	n = snprintf(text, sizeof(text), "%s: ", line.label);
	if (total)
		n += snprintf(text + n, sizeof(text) - n,
			      "%" PRIu64 "/%" PRIu64 " ", done, total);
	n += snprintf(text + n, sizeof(text) - n, "%s", spent);
	/*
	 * A time to go is told once there is a rate to tell it from: two
	 * seconds and three steps.
	 */
	if (total > done && done >= line.first + 3 && now - line.start > 2) {
		char left[32];

		format_time((now - line.start) * (total - done) /
			    (done - line.first), left, sizeof(left));
		n += snprintf(text + n, sizeof(text) - n, ", about %s to go",
			      left);
	}
	snprintf(text + n, sizeof(text) - n, "  %s", what);
	fprintf(stderr, "\r%.*s\033[K", columns() - 1, text);
	fflush(stderr);
	line.drawn = now;
}

void progress_end(const char *fmt, ...)
{
	char text[300] = "done", spent[32];
	va_list ap;

	if (!line.active)
		return;
	wipe();
	line.active = false;
	if (line.quiet || !fmt)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	format_time(now_seconds() - line.start, spent, sizeof(spent));
	fprintf(stderr, "%s: %s (%s)\n", line.label, text, spent);
}

void progress_note(const char *fmt, ...)
{
	va_list ap;

	wipe();
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}
