/* SPDX-License-Identifier: GPL-2.0 */
#include <errno.h>
#include <ini.h>
#include <stdlib.h>
#include <string.h>

#include "base.h"

#define INI_MAX	(1u << 20)

struct ini_call {
	ini_fn fn;
	void *arg;
	struct err *err;
};

static int handle(void *user, const char *section, const char *name,
		  const char *value)
{
	struct ini_call *call = user;

	/* inih: non-zero is success, zero makes ini_parse tell the line. */
	if (call->err->code)
		return 1;
	return call->fn(call->arg, section, name, value, call->err) == 0;
}

/*
 * inih cuts a line at INI_MAX_LINE (200 in Debian's) and takes the rest for
 * another: number of the first line that is as long, 0 if there is none.
 */
static int long_line(const char *data)
{
	int n = 1;

	for (; *data; n++) {
		size_t len = strcspn(data, "\n");

		if (len + 2 > INI_MAX_LINE)
			return n;
		data += len + (data[len] == '\n');
	}
	return 0;
}

int ini_read(const char *path, ini_fn fn, void *arg, struct err *err)
{
	struct ini_call call = { fn, arg, err };
	size_t len;
	char *data;
	int line;

	if (file_read(path, INI_MAX, &data, &len, err)) {
		err->code = EXIT_USAGE;
		return -1;
	}
	if (strlen(data) != len) {
		free(data);
		return err_set(err, EXIT_USAGE, "%s: not a text file", path);
	}
	line = long_line(data);
	if (line) {
		free(data);
		return err_set(err, EXIT_USAGE,
			       "%s:%d: a line of more than %d bytes; indent the rest on a line of its own",
			       path, line, INI_MAX_LINE - 2);
	}
	line = ini_parse_string(data, handle, &call);
	free(data);
	if (err->code)
		return err_prefix(err, "%s:%d", path, line);
	if (line > 0)
		return err_set(err, EXIT_USAGE,
			       "%s:%d: neither \"[section]\" nor \"key = value\"",
			       path, line);
	if (line < 0)
		return err_set(err, EXIT_ENVIRONMENT, "can't read %s", path);
	return 0;
}
