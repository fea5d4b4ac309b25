/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a login shell, its start files and sshd print before and behind our
 * script is none of its output: two marks tell it apart, and the second one
 * carries the exit status, so that a connection that breaks is never taken for
 * an end.
 */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ssh.h"

#define BEGIN		"folab:begin"
#define END		"folab:end"
#define OUTPUT_MAX	(64u << 20)	/* bytes */
#define TICK		0.5		/* seconds */

/* ---- the host's name ----------------------------------------------------------- */

static int no_host(const char *text, struct err *err)
{
	return err_set(err, EXIT_USAGE,
		       "\"%.80s\" is no host: [USER@]HOST[:PORT], an IPv6 address in brackets",
		       text);
}

int ssh_parse(struct ssh *s, const char *text, struct err *err)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
		"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.@:[]%";
	char *copy = xstrdup(text), *host, *port = NULL, *at, *end;
	int64_t number;
	int rc = 0;

	*s = (struct ssh){ 0 };
	at = strrchr(copy, '@');
	host = at ? at + 1 : copy;
	if (*host == '[') {
		end = strchr(host, ']');
		if (end && end[1] == ':')
			port = end + 2;
		else if (!end || end[1])
			rc = -1;
		if (end) {
			*end = '\0';
			memmove(host, host + 1, strlen(host));
		}
	} else {
		port = strchr(host, ':');
		if (port)
			*port++ = '\0';
	}
	/* One that begins with a dash would be an option of ssh's. */
	if (rc || copy[strspn(copy, plain)] || *copy == '-' || *host == '-' ||
	    !*host || at == copy || (port && parse_int(port, 1, 65535, &number))) {
		free(copy);
		return no_host(text, err);
	}
	s->name = xstrdup(text);
	s->port = port ? xstrdup(port) : NULL;
	s->target = copy;
	return 0;
}

void ssh_free(struct ssh *s)
{
	free(s->name);
	free(s->target);
	free(s->port);
	*s = (struct ssh){ 0 };
}

/* ---- a call ------------------------------------------------------------------------ */

static void arguments(const struct ssh *s, const char *script,
		      struct strlist *argv)
{
	static const char *const options[] = {
		"BatchMode=yes",	/* no password, no question */
		"ConnectTimeout=10",
		"ServerAliveInterval=5",	/* a host that died is noticed */
		"ServerAliveCountMax=6",
		"LogLevel=ERROR",	/* no banner */
		"ControlMaster=no",	/* it would survive the host's reboot */
		"ControlPath=none",
		"ClearAllForwardings=yes",
		"RequestTTY=no",
	};
	/* A command that comes by ssh may be without these. */
	char *whole = xasprintf("PATH=$PATH:/usr/sbin:/sbin; export PATH; echo "
				BEGIN "; ( %s ) 2>&1; echo " END " $?", script);
	char *word = shell_word(whole);

	strlist_add(argv, "ssh");
	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		strlist_add(argv, "-o");
		strlist_add(argv, options[i]);
	}
	if (s->port) {
		strlist_add(argv, "-p");
		strlist_add(argv, s->port);
	}
	strlist_add(argv, "--");
	strlist_add(argv, s->target);
	/* The login shell may be any: it sees one simple command. */
	strlist_addf(argv, "exec %ssh -c %s", s->sudo ? "sudo -n " : "", word);
	free(word);
	free(whole);
}

/* All that is in @fd, NUL-terminated; caller frees. */
static char *all_of(int fd)
{
	struct stat st;
	size_t len = 0, size;
	char *text;
	ssize_t n;

	size = fstat(fd, &st) ? 0 : (size_t)st.st_size;
	if (size > OUTPUT_MAX)
		size = OUTPUT_MAX;
	text = xmalloc(size + 1);
	while (len < size && (n = pread(fd, text + len, size - len, len)) > 0)
		len += n;
	text[len] = '\0';
	return text;
}

/* Behind the first line @mark of @text; NULL: there is none. */
static char *behind(char *text, const char *mark)
{
	char *at = text;

	while ((at = strstr(at, mark))) {
		if ((at == text || at[-1] == '\n') && at[strlen(mark)] == '\n')
			return at + strlen(mark) + 1;
		at++;
	}
	return NULL;
}

/* The mark at the end: its place, and the status behind it; NULL: not there. */
static char *ending(char *text, int *status)
{
	char *at = NULL, *next = text;

	/* What the script writes may lack a newline in front of it. */
	while ((next = strstr(next, END " ")))
		at = next++;
	if (!at || sscanf(at + strlen(END), "%d", status) != 1)
		return NULL;
	return at;
}

static void last_line(char *text, char *line, size_t len)
{
	char *end = text + strlen(text), *start;

	while (end > text && strchr("\r\n ", end[-1]))
		*--end = '\0';
	start = strrchr(text, '\n');
	snprintf(line, len, "%s", start ? start + 1 : text);
}

/* Words of ssh's and sudo's, and what to do. */
static const struct {
	const char *said, *advice;
} refusals[] = {
	{ "Permission denied", "folab asks for no password: ssh-copy-id gives the host a key of yours" },
	{ "Host key verification failed", "log in there once by hand, so that ssh knows its key" },
	{ "IDENTIFICATION HAS CHANGED", "ssh has another key of it in known_hosts" },
	{ "password is required", "let that user run sudo without (NOPASSWD), or log in as root" },
	{ "not in the sudoers", "log in as root, or as a user who may" },
	{ "sudo: not found", "log in as root" },
	{ "sudo: command not found", "log in as root" },
};

/* It ended, and our script did not: the reason is in the last line, if at all. */
static int refused(const struct ssh *s, char *text, bool began, struct err *err)
{
	const char *advice = NULL;
	char line[300];

	for (size_t i = 0; !began && !advice && i < ARRAY_SIZE(refusals); i++)
		if (strstr(text, refusals[i].said))
			advice = refusals[i].advice;
	last_line(text, line, sizeof(line));
	if (began)
		return err_set(err, EXIT_ENVIRONMENT,
			       "%s: the connection broke%s%s", s->name,
			       *line ? ": " : "", line);
	return err_set(err, EXIT_ENVIRONMENT, "%s: %s%s%s%s", s->name,
		       *line ? line : "ssh ended without a word",
		       advice ? " (" : "", advice ? advice : "",
		       advice ? ")" : "");
}

/* As child_wait(), a little at a time. */
static int wait_for(const struct ssh *s, const struct ssh_call *call,
		    struct child *c, int fd, int *status, struct err *err)
{
	double end = now_seconds() + call->seconds;
	int rc;

	for (;;) {
		struct pollfd p = { .fd = c->pidfd, .events = POLLIN };

		/* One that has ended is waited for, interrupted or not. */
		if (call->last && poll(&p, 1, (int)(TICK * 1000)) <= 0)
			rc = 1;
		else
			rc = child_wait(c, TICK, status, err);
		if (rc <= 0)
			return rc;
		if (now_seconds() > end)
			return err_set(err, EXIT_ENVIRONMENT,
				       "%s: no answer within %.0f s", s->name,
				       call->seconds);
		if (call->tick) {
			char *said = all_of(fd);

			call->tick(call->arg, said);
			free(said);
		}
	}
}

int ssh_run(const struct ssh *s, const struct ssh_call *call, char **out,
	    struct err *err)
{
	struct strlist argv = { 0 };
	struct child_spec spec = { .input = call->input };
	struct child c = { 0 };
	char *text = NULL, *from, *end;
	int status, rc = -1;

	*out = NULL;
	arguments(s, call->script, &argv);
	spec.argv = argv.v;
	spec.output = memfd_create("ssh", MFD_CLOEXEC);
	if (spec.output < 0) {
		strlist_free(&argv);
		return err_set(err, EXIT_ENVIRONMENT,
			       "no memory for what %s says", s->name);
	}
	if (child_start(&c, &spec, err))
		goto done;
	if (wait_for(s, call, &c, spec.output, &status, err)) {
		child_stop(&c, 0.5);
		goto done;
	}
	text = all_of(spec.output);
	from = behind(text, BEGIN);
	end = from ? ending(from, &status) : NULL;
	if (!end) {
		refused(s, from ? from : text, from != NULL, err);
		goto done;
	}
	*end = '\0';
	*out = xstrdup(from);
	rc = status;
done:
	free(text);
	close(spec.output);
	strlist_free(&argv);
	return rc;
}
