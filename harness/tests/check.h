/* SPDX-License-Identifier: GPL-2.0 */
/* What the cmocka programs share. */
#ifndef FOLAB_TESTS_CHECK_H
#define FOLAB_TESTS_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/base.h"

/* A directory of its own for one test; the caller frees and removes it. */
static inline char *test_dir(void)
{
	char *dir = xstrdup("/tmp/folab-test-XXXXXX");

	assert_non_null(mkdtemp(dir));
	return dir;
}

static inline void test_dir_remove(char *dir)
{
	struct err err = { 0 };

	assert_int_equal(file_remove_tree(dir, &err), 0);
	free(dir);
}

static inline char *test_file(const char *dir, const char *name,
			      const char *text)
{
	char *path = xasprintf("%s/%s", dir, name);
	struct err err = { 0 };

	assert_int_equal(file_write(path, text, strlen(text), &err), 0);
	return path;
}

/* @err holds that exit code, and a text with @part in it on one line. */
#define assert_err(err, exit, part) do {				\
	assert_int_equal((err)->code, exit);				\
	if (!strstr((err)->text, part))					\
		fail_msg("\"%s\" lacks \"%s\"", (err)->text, part);	\
	assert_null(strchr((err)->text, '\n'));				\
} while (0)

/* A report's text: at most 40 lines of 75 bytes. */
static inline void assert_fits(const char *text)
{
	size_t lines = 0;

	for (; *text; lines++) {
		const char *end = strchr(text, '\n');

		assert_non_null(end);
		if (end - text > 75)
			fail_msg("too long: %.*s", (int)(end - text), text);
		text = end + 1;
	}
	assert_in_range(lines, 1, 40);
}

#endif
