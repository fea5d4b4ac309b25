/* SPDX-License-Identifier: GPL-2.0 */
#include <errno.h>
#include <string.h>

#include "base.h"

/* An error is one line, whatever ended up in it (a guest's text, a path). */
static void one_line(char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < ' ' || *s == 0x7f)
			*s = ' ';
}

int err_set(struct err *err, int code, const char *fmt, ...)
{
	va_list ap;

	if (err->code)
		return -1;
	err->code = code;
	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	one_line(err->text);
	return -1;
}

int err_sys(struct err *err, int code, int errnum, const char *fmt, ...)
{
	char what[sizeof(err->text)];
	const char *hint = "";
	va_list ap;

	if (err->code)
		return -1;
	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	if (errnum == ENOSPC || errnum == EDQUOT) {
		hint = "; free some space there and run it again";
		code = EXIT_ENVIRONMENT;
	}
	return err_set(err, code, "%s: %s%s", what, strerror(errnum), hint);
}

int err_prefix(struct err *err, const char *fmt, ...)
{
	char text[sizeof(err->text)], front[sizeof(err->text)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(front, sizeof(front), fmt, ap);
	va_end(ap);
	memcpy(text, err->text, sizeof(text));
	/* The cause, behind the colon, is worth more than a long front. */
	snprintf(err->text, sizeof(err->text), "%.300s: %.700s", front, text);
	one_line(err->text);
	return -1;
}

void err_clear(struct err *err)
{
	err->code = 0;
	err->text[0] = '\0';
}
