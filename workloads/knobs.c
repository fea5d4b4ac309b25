/* SPDX-License-Identifier: GPL-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "knobs.h"

/* One write(2) into the file: replacing it is not what sysfs is for. */
static int poke(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int ret = 0;

	if (fd < 0)
		return errno;
	if (write(fd, value, strlen(value)) < 0)
		ret = errno;
	close(fd);
	return ret;
}

/* "always [madvise] never" takes the word that is chosen, not what it shows. */
static void keep_choice(char *text)
{
	char *open = strchr(text, '['), *end = open ? strchr(open, ']') : NULL;

	if (!end)
		return;
	*end = '\0';
	memmove(text, open + 1, (size_t)(end - open));
}

int knobs_set(struct knobs *k, const char *path, const char *value,
	      struct err *err)
{
	struct knob *knob;
	size_t len;
	int ret;

	if (k->n == KNOBS_MAX)
		return err_set(err, EXIT_RUN, "too many settings to keep: %s",
			       path);
	knob = &k->v[k->n];
	if (file_read(path, 4096, &knob->before, &len, err)) {
		err_clear(err);
		return err_set(err, EXIT_ENVIRONMENT,
			       "this kernel has no setting %s", path);
	}
	keep_choice(knob->before);
	ret = poke(path, value);
	if (ret) {
		free(knob->before);
		return err_sys(err, EXIT_ENVIRONMENT, ret,
			       "can't set %s to %s", path, value);
	}
	knob->path = xstrdup(path);
	k->n++;
	return 0;
}

void knobs_restore(struct knobs *k)
{
	while (k->n) {
		struct knob *knob = &k->v[--k->n];

		poke(knob->path, knob->before);
		free(knob->path);
		free(knob->before);
	}
}
