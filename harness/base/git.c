/* SPDX-License-Identifier: GPL-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base.h"

/*
 * What a hook, a rebase or the user's shell left in the environment must not
 * move our commands to another repository, nor translate their messages.
 */
static const char *const neutral[] = {
	"env", "-u", "GIT_DIR", "-u", "GIT_WORK_TREE", "-u", "GIT_INDEX_FILE",
	"-u", "GIT_OBJECT_DIRECTORY", "-u", "GIT_ALTERNATE_OBJECT_DIRECTORIES",
	"-u", "GIT_COMMON_DIR", "-u", "GIT_NAMESPACE", "-u", "GIT_PREFIX",
	"LC_ALL=C", "GIT_TERMINAL_PROMPT=0",
};

/* For our own repositories: whatever ~/.gitconfig says, the same trees. */
static const char *const ours[] = {
	"-c", "core.autocrlf=false", "-c", "core.fsmonitor=false",
	"-c", "core.untrackedCache=false", "-c", "core.sparseCheckout=false",
	"-c", "core.checkStat=minimal", "-c", "core.trustctime=false",
	"-c", "core.bare=false", "-c", "checkout.workers=0",
	"-c", "apply.whitespace=nowarn", "-c", "index.threads=true",
};

void git_argv(const struct git *g, struct strlist *argv)
{
	for (size_t i = 0; i < ARRAY_SIZE(neutral); i++)
		strlist_add(argv, neutral[i]);
	if (g->repo) {
		strlist_add(argv, "GIT_CONFIG_GLOBAL=/dev/null");
		strlist_add(argv, "GIT_CONFIG_NOSYSTEM=1");
		strlist_addf(argv, "GIT_DIR=%s", g->repo);
	}
	if (g->index)
		strlist_addf(argv, "GIT_INDEX_FILE=%s", g->index);
	if (g->tree)
		strlist_addf(argv, "GIT_WORK_TREE=%s", g->tree);
	strlist_add(argv, "git");
	if (g->repo)
		for (size_t i = 0; i < ARRAY_SIZE(ours); i++)
			strlist_add(argv, ours[i]);
}

static int run(const struct git *g, bool merge, char **out, struct err *err,
	       va_list ap)
{
	struct strlist argv = { 0 };
	struct child_spec spec = {
		.dir = g->tree ? g->tree : g->dir,
		.output = -1,
	};
	char input[64];
	const char *arg;
	int fd = -1, rc;

	if (g->input) {
		fd = file_of_text(g->input, err);
		if (fd < 0)
			return -1;
		snprintf(input, sizeof(input), "/proc/%d/fd/%d",
			 (int)getpid(), fd);
		spec.input = input;
	}
	git_argv(g, &argv);
	while ((arg = va_arg(ap, const char *)))
		strlist_add(&argv, arg);
	spec.argv = argv.v;
	rc = child_capture(&spec, merge, out, err);
	strlist_free(&argv);
	if (fd >= 0)
		close(fd);
	return rc;
}

bool no_space(const char *text, struct err *err)
{
	if (!strstr(text, "No space left on device") &&
	    !strstr(text, "Disk quota exceeded"))
		return false;
	err_sys(err, EXIT_ENVIRONMENT, ENOSPC, "the cache can't grow");
	return true;
}

void git_complain(char *said, struct err *err)
{
	char *line, *save, *best = NULL;

	if (no_space(said, err))
		return;
	for (line = strtok_r(said, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		if (str_starts(line, "fatal: ") || str_starts(line, "error: "))
			best = line + 7;
		else if (!best)
			best = line;
	}
	err_set(err, EXIT_ENVIRONMENT, "git: %s",
		best ? best : "failed and did not say why");
}

int git_try(const struct git *g, char **out, struct err *err, ...)
{
	va_list ap;
	int rc;

	va_start(ap, err);
	rc = run(g, true, out, err, ap);
	va_end(ap);
	return rc;
}

int git_run(const struct git *g, struct err *err, ...)
{
	char *said = NULL;
	va_list ap;
	int rc;

	va_start(ap, err);
	rc = run(g, true, &said, err, ap);
	va_end(ap);
	if (rc > 0)
		git_complain(said, err);
	free(said);
	return rc ? -1 : 0;
}

int git_text(const struct git *g, char **out, struct err *err, ...)
{
	va_list ap;
	int rc;

	va_start(ap, err);
	rc = run(g, false, out, err, ap);
	va_end(ap);
	return rc;
}

char *git_line(const struct git *g, struct err *err, ...)
{
	char *out = NULL;
	va_list ap;
	int rc;

	va_start(ap, err);
	rc = run(g, false, &out, err, ap);
	va_end(ap);
	if (rc == 0) {
		out[strcspn(out, "\n")] = '\0';
		if (*out)
			return out;
	}
	free(out);
	out = NULL;
	if (rc < 0)
		return NULL;
	/* Once more, for the reason. */
	va_start(ap, err);
	rc = run(g, true, &out, err, ap);
	va_end(ap);
	if (rc >= 0)
		git_complain(out, err);
	free(out);
	return NULL;
}
