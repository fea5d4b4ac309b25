/* SPDX-License-Identifier: GPL-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "knobs.h"

/* Of a choice, "always [madvise] never", what can be written is the word. */
static char *chosen(char *text)
{
	char *from = strchr(text, '['), *to = from ? strchr(from, ']') : NULL;
	char *word;

	if (!to)
		return text;
	word = xstrndup(from + 1, (size_t)(to - from - 1));
	free(text);
	return word;
}

/* ---- the journal ----------------------------------------------------------- */

static char *journal;

void knobs_journal(const char *path)
{
	free(journal);
	journal = path ? xstrdup(path) : NULL;
}

/* One "PATH VALUE" a line, before the setting is changed.  0, or errno. */
static int note_down(const char *path, const char *before)
{
	int fd = open(journal, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	int ret = 0;

	if (fd < 0)
		return errno;
	if (dprintf(fd, "%s %.*s\n", path, (int)strcspn(before, "\n"),
		    before) < 0)
		ret = errno;
	close(fd);
	return ret;
}

size_t knobs_replay(const char *path)
{
	struct strlist lines = { 0 };
	struct err ignored = { 0 };
	char *text, *save, *line;
	size_t n;

	if (!file_exists(path) || file_read(path, 65536, &text, NULL, &ignored))
		return 0;
	for (line = strtok_r(text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save))
		strlist_add(&lines, line);
	n = lines.n;
	/* Of a setting that was changed twice the first line counts. */
	for (size_t i = n; i > 0; i--) {
		char *value = strchr(lines.v[i - 1], ' ');

		if (!value)
			continue;
		*value++ = '\0';
		file_poke(lines.v[i - 1], 0, value);
	}
	strlist_free(&lines);
	free(text);
	unlink(path);
	return n;
}

/* ---- settings -------------------------------------------------------------- */

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
	knob->before = chosen(knob->before);
	ret = journal ? note_down(path, knob->before) : 0;
	if (!ret)
		ret = file_poke(path, 0, value);
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

		file_poke(knob->path, 0, knob->before);
		free(knob->path);
		free(knob->before);
	}
	if (journal)
		unlink(journal);
}
