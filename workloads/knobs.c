/* SPDX-License-Identifier: GPL-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

static long journal_size(void)
{
	struct stat st;

	return journal && !stat(journal, &st) ? (long)st.st_size : 0;
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

/* Takes @before over. */
static int change(struct knobs *k, const char *path, const char *value,
		  char *before, struct err *err)
{
	int ret = 0;

	if (!k->n)
		k->journal_from = journal_size();
	if (journal)
		ret = note_down(path, before);
	if (!ret)
		ret = file_poke(path, 0, value);
	if (ret) {
		free(before);
		return err_sys(err, EXIT_ENVIRONMENT, ret,
			       "can't set %s to %s", path, value);
	}
	k->v = xrealloc(k->v, k->n + 1, sizeof(*k->v));
	k->v[k->n++] = (struct knob){ xstrdup(path), before };
	return 0;
}

int knobs_set(struct knobs *k, const char *path, const char *value,
	      struct err *err)
{
	char *before;
	size_t len;

	if (file_read(path, 4096, &before, &len, err)) {
		err_clear(err);
		return err_set(err, EXIT_ENVIRONMENT,
			       "this kernel has no setting %s", path);
	}
	return change(k, path, value, chosen(before), err);
}

int knobs_do(struct knobs *k, const char *path, const char *command,
	     const char *undo, struct err *err)
{
	return change(k, path, command, xstrdup(undo), err);
}

void knobs_restore(struct knobs *k)
{
	while (k->n) {
		struct knob *knob = &k->v[--k->n];

		file_poke(knob->path, 0, knob->before);
		free(knob->path);
		free(knob->before);
	}
	if (k->v && journal &&
	    (!k->journal_from || truncate(journal, k->journal_from)))
		unlink(journal);
	free(k->v);
	k->v = NULL;
}
