/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Private to machine: commands on another host, through the user's own ssh(1),
 * with its configuration, keys and known hosts.  No password is ever asked for,
 * and every call has an end.
 */
#ifndef FOLAB_MACHINE_SSH_H
#define FOLAB_MACHINE_SSH_H

#include "../base/base.h"

struct ssh {
	char *name;		/* as the user wrote it, for messages */
	char *target;		/* "user@host", "host" */
	char *port;		/* NULL: ssh knows */
	bool sudo;		/* commands run as root, by sudo -n */
};
/* [USER@]HOST[:PORT], an IPv6 address in brackets.  EXIT_USAGE if it is not. */
int ssh_parse(struct ssh *s, const char *text, struct err *err);
void ssh_free(struct ssh *s);

struct ssh_call {
	const char *script;	/* for sh(1) on the host; no newline in it */
	const char *input;	/* path of its standard input; NULL: empty */
	double seconds;		/* after which it is given up */
	/* Now and then, with what it has written until then; or NULL. */
	void (*tick)(void *arg, const char *said);
	void *arg;
	bool last;		/* goes on when we have been interrupted */
};
/*
 * Run it.  The script's exit status, and what it wrote, on either stream, in
 * *out (caller frees); -1 with *out NULL and EXIT_ENVIRONMENT: the host can't
 * be reached, or refuses, or has not ended in time; the text says which.
 */
int ssh_run(const struct ssh *s, const struct ssh_call *call, char **out,
	    struct err *err);

#endif
