/* SPDX-License-Identifier: GPL-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../report/report.h"
#include "cmd.h"

int cmd_fail(const struct err *err)
{
	struct err interrupted = { 0 };

	progress_end(NULL);
	/* What failed after a signal failed because of it: a write cut short. */
	if (err->code != EXIT_INTERRUPTED && intr_check(&interrupted))
		err = &interrupted;
	progress_note("folab: %s", err->text);
	return err->code;
}

void cmd_begin(void)
{
	int fd;

	/*
	 * A closed 0, 1 or 2 would be taken by the next file that is opened.
	 * Who reads from or writes to one all the same is told: each is opened
	 * the wrong way round.
	 */
	do {
		fd = open("/dev/null", fcntl(0, F_GETFD) < 0 ? O_WRONLY : O_RDONLY);
	} while (fd >= 0 && fd <= 2);
	if (fd > 2)
		close(fd);
}

int cmd_finish(int code)
{
	bool bad = ferror(stdout);	/* then errno is of long ago */

	errno = 0;
	if (fflush(stdout) || bad) {
		fprintf(stderr, "folab: can't write standard output%s%s\n",
			errno ? ": " : "", errno ? strerror(errno) : "");
		return code ? code : EXIT_ENVIRONMENT;
	}
	return code;
}

static int write_report(const char *dir, const char *name, const char *text,
			struct err *err)
{
	char *path = xasprintf("%s/%s", dir, name);
	int rc = file_write(path, text, strlen(text), err);

	free(path);
	return rc;
}

int cmd_write_reports(const char *dir, const struct result *r, const char *text,
		      struct err *err)
{
	char *page = report_html(r);
	int rc = write_report(dir, "report.txt", text, err);

	if (!rc)
		rc = write_report(dir, "report.html", page, err);
	free(page);
	return rc;
}

int cmd_usage(const char *command)
{
	fprintf(stderr, "folab %s --help tells the options\n", command);
	return EXIT_USAGE;
}

int cmd_arch(const char *text, const struct arch **arch, struct err *err)
{
	*arch = arch_find(text);
	if (*arch)
		return 0;
	return err_set(err, EXIT_USAGE,
		       "no architecture \"%s\"; there are arm64 and x86_64",
		       text);
}

void cmd_add_word(FILE *to, const char *word)
{
	char *quoted = shell_word(word);

	fprintf(to, " %s", quoted);
	free(quoted);
}

int cmd_count(const char *name, const char *text, int64_t min, int64_t max,
	      int64_t *value, struct err *err)
{
	if (!parse_int(text, min, max, value))
		return 0;
	return err_set(err, EXIT_USAGE,
		       "--%s %s: must be a whole number from %" PRId64 " to %" PRId64,
		       name, text, min, max);
}

int cmd_machine(const char *text, const char *own, const char **host,
		struct err *err)
{
	bool remote = str_starts(text, "remote:");

	*host = remote ? text + strlen("remote:") : NULL;
	if (remote || !strcmp(text, own))
		return 0;
	return err_set(err, EXIT_USAGE,
		       "--machine %.80s: there are %s and remote:[USER@]HOST[:PORT]",
		       text, own);
}
