/* SPDX-License-Identifier: GPL-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "measure.h"

void lines_keep_raw(struct lines *l, const char *text, size_t len)
{
	if (l->len + len > l->room) {
		l->room = (l->len + len) * 2;
		l->text = xrealloc(l->text, l->room, 1);
	}
	memcpy(l->text + l->len, text, len);
	l->len += len;
}

void lines_keep(struct lines *l, const struct wire *w)
{
	char *line = wire_format(w);

	lines_keep_raw(l, line, strlen(line));
	lines_keep_raw(l, "\n", 1);
	free(line);
}

void lines_keep_error(struct lines *l, const struct err *err)
{
	struct wire w = {
		.type = WIRE_ERROR,
		.text = (char *)err->text,
		.code = err->code,
	};

	lines_keep(l, &w);
}

int lines_write(const struct lines *l, int fd)
{
	size_t done = 0;

	while (done < l->len) {
		ssize_t n = write(fd, l->text + done, l->len - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		done += (size_t)n;
	}
	return 0;
}

void lines_drop(struct lines *l)
{
	free(l->text);
	memset(l, 0, sizeof(*l));
}
