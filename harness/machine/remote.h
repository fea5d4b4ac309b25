/* SPDX-License-Identifier: GPL-2.0 */
/* Private to machine: what the files of the remote machine share. */
#ifndef FOLAB_MACHINE_REMOTE_H
#define FOLAB_MACHINE_REMOTE_H

#include "internal.h"
#include "ssh.h"

#define REMOTE_SHORT	30.0	/* seconds that a small command may take */
#define REMOTE_SEND	300.0	/* and one that moves a file */

/* What has to be known to boot it (remote_boot.c). */
struct remote_way {
	bool systemd;
	char *cmdline;		/* of its own kernel */
	char *device;		/* of its root: "vda2" */
	char *partuuid;		/* of that; NULL: it has none */
	char *fs;		/* of its root: "ext4" */
	struct strlist disk;	/* drivers that the root hangs on */
	struct strlist net;	/* drivers of the network devices that are up */
	struct strlist stacked;	/* what its way out is made of: "bonding" */
	int64_t free;		/* bytes in /var/tmp; -1: not known */
};

struct remote {
	struct remote_options opt;
	struct ssh ssh;
	char *boot_id, *own_boot_id;	/* as it is now; when it was opened */
	char *release;		/* uname -r */
	const struct arch *arch;
	char *dir;		/* ours, on the host */
	char *owner;		/* what its lock says of us */
	bool locked;
	bool booted;		/* it runs a kernel of ours */
	bool lost;		/* it did not come back */
	size_t trial, trials;	/* that it boots for; 0: for none */
	struct remote_way way;
	struct run_dir local;
};

/* ---- a session (remote_host.c) -------------------------------------------------- */

/* Its exit status must be 0: else EXIT_ENVIRONMENT with its last line. */
int remote_sh(struct remote *r, const char *script, char **out,
	      struct err *err);
/* The value of the line "KEY value" in @text; NULL: no such line.  Caller frees. */
char *remote_value(const char *text, const char *key);
/* Values of all lines "KEY value", each once. */
void remote_values(const char *text, const char *key, struct strlist *l);
/*
 * ->dir is there, ours, and the program in it; again after each boot, since
 * /var/tmp need not outlive one.  EXIT_BUSY if it is somebody else's.
 */
int remote_settle(struct remote *r, struct err *err);
/* ->dir/@name is the file at @path, sent unless it is there.  @mode: of chmod(1). */
int remote_send(struct remote *r, const char *path, const char *name,
		const char *mode, struct err *err);

/* ---- booting (remote_boot.c) ------------------------------------------------------ */

/*
 * It runs @im with the words @more for its command line: 0; 1: it does not,
 * *why (caller frees) says what came instead, and ->lost is set if nothing did;
 * -1 with err: interrupted, or a matter of the user's.
 */
int remote_boot(struct remote *r, const struct image *im,
		const struct strlist *more, char **why, struct err *err);
/* Its own kernel again. */
void remote_go_home(struct remote *r);
void remote_way_free(struct remote_way *w);

#endif
