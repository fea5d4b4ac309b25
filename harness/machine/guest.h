/* SPDX-License-Identifier: GPL-2.0 */
/*
 * guest - one guest from its start to the verdict on it: an emulator with a
 * pipe for its console, one for its results and one for what the emulator
 * itself has to say.
 */
#ifndef FOLAB_MACHINE_GUEST_H
#define FOLAB_MACHINE_GUEST_H

#include "internal.h"

/* In front of what our plugin complains of. */
#define PLUGIN_SAYS	"folab plugin: "

enum stream { CONSOLE, RESULT, SAID, N_STREAMS };

struct guest {
	struct trial *trial;	/* NULL: slot is free */
	struct child qemu;
	int fd[N_STREAMS];	/* read ends, -1: closed */
	int log;
	char *log_path, *profile;
	struct console console;
	struct channel channel;
	char said[512];		/* the emulator's last line, or the plugin's */
	size_t said_len;
	double started, deadline;
	char *timeout;		/* what it means if the deadline passes */
	bool stopped;		/* by us, before its end */
	bool lost;		/* the kernel is: only the trace is awaited */
	bool ending;		/* all results are there */
};

void guest_init(struct guest *g);	/* a free slot */
void guest_clear(struct guest *g);	/* stops it; a free slot again */
int guest_start(const struct guests_config *c, struct guest *g,
		struct trial *t, struct err *err);
void guest_stop(struct guest *g);
/*
 * Read what is there, one buffer at most so that no guest keeps the others
 * waiting.  1: something came, 0: nothing more now, -1: host error.
 */
int guest_take(const struct guests_config *c, struct guest *g, enum stream s,
	       struct err *err);
/*
 * The guest has ended or was stopped, or, with @timeout, is to be: reap it,
 * fill in its trial, free the slot.
 */
int guest_finish(const struct guests_config *c, struct guest *g, bool timeout,
		 struct err *err);

#endif
