/* SPDX-License-Identifier: GPL-2.0 */
/*
 * machine - where a kernel runs.  One interface, and behind it "emulated",
 * QEMU's TCG on the instruction clock, and "local", this host with the kernel
 * that it runs.
 */
#ifndef FOLAB_MACHINE_H
#define FOLAB_MACHINE_H

#include "../../workloads/workloads.h"
#include "../record/record.h"

/* What a workload that needs a file system or a memory cgroup gets here. */
struct host_place {
	const char *dir;	/* directory on a file system that is there */
	const char *scratch;	/* else: where the image of one lies; NULL: default */
	bool mount;		/* cgroup2 may be mounted, its controller enabled */
};

/* Another host, by ssh (remote.c). */
struct remote;

/* How the kernel's functions are measured. */
#define FUNCTIONS_SAMPLES	1u	/* perf_event_open(2) */
#define FUNCTIONS_FTRACE	2u	/* ftrace's function profile */

/* Where a run stands that is one of several; for the progress line. */
struct machine_share {
	const char *label;	/* "run 2 of 6, order 0"; NULL: it is all there is */
	size_t before, all;	/* trials: of the runs before it, of all runs */
};

struct machine_setup {
	const struct arch *arch;
	const struct job *job;
	uint64_t memory;	/* bytes of the guest */
	int64_t budget;		/* seconds of wall time before it counts as hung */
	int cpus;		/* of the guest; 0: one, as measuring needs it */
	int parallel;		/* guests at a time; 0: by processors and memory */
	bool profile;		/* load the plugin, for images with symbols */
	const struct strlist *cmdline;	/* more for the kernel command line */
	/* Where consoles go: console-A-1.log, ...; NULL: they are not kept. */
	const char *dir;
	/*
	 * For a job of cases: called with each line of theirs (WIRE_CASE,
	 * WIRE_KTAP, WIRE_CASE_END) as it comes; run one trial at a time then.
	 */
	void (*hear)(void *arg, const struct wire *w);
	void *hear_arg;
	/*
	 * Of the local machine: where its passes run, and what else there is to
	 * do behind each of them, with the pass's sample to add to.
	 */
	bool bind_node, bind_cpu;
	int node, cpu;
	int (*after_pass)(void *arg, int64_t pass, struct sample *s,
			  struct err *err);
	void *after_arg;
	struct host_place place;
	unsigned functions;	/* FUNCTIONS_*: in passes of their own */
	struct machine_share share;	/* of the emulated machine */
	bool silent;		/* the progress line is the caller's */
	/*
	 * Of the remote machine: the host, from remote_open(); whether each
	 * trial boots its side's image; what gets described again once that
	 * runs.
	 */
	struct remote *remote;
	bool boots;
	struct result *about;
};

struct machine_ops {
	const char *name;
	/*
	 * What a run's report has to say of the machine; fills clock,
	 * ns_per_instruction, machine, machine_args, cmdline, fs.
	 */
	int (*describe)(const struct machine_setup *setup, struct result *r,
			struct err *err);
	/*
	 * Run @trials on images[side - 'A'] (two, or four), several at a time, in their
	 * order.  A guest that fails is a trial with ->failed set, not an
	 * error; an error is the host's (EXIT_ENVIRONMENT), a file that is no
	 * kernel (EXIT_USAGE) or an interruption, and then no guest runs any
	 * more.  Progress goes to the progress line.
	 */
	int (*run)(const struct machine_setup *setup,
		   const struct image *images, struct trial *trials, size_t n,
		   struct err *err);
};
extern const struct machine_ops machine_emulated;
/*
 * One side, "running": images[] is not looked at.  A pass that fails is an
 * error, with the code that the workload gave it, not a failed trial: there is
 * no other side that could go on.
 */
extern const struct machine_ops machine_local;
/*
 * Before anything else is done for a run of @w: EXIT_ENVIRONMENT with a line
 * that helps if this host lacks something that it needs.  Where systemd runs
 * and @w makes cgroups, this starts the program again with the arguments that
 * it has, in a scope that systemd delegates, and does not return.
 */
int machine_local_enter(const struct workload *w,
			const struct host_place *place, struct err *err);
/* Its first part, which asks nothing of the host: EXIT_USAGE. */
int machine_place_check(const struct workload *w,
			const struct host_place *place, struct err *err);

/*
 * One side, "running", or, if the setup says so, two that the host boots by
 * kexec, a trial each.  A trial that fails is one of ->failed then: the host
 * came back with another kernel, or not at all, and then no trial behind it is
 * tried.  All else that machine_local says of errors goes for this one.
 */
extern const struct machine_ops machine_remote;
struct remote_options {
	const char *host;	/* [USER@]HOST[:PORT] */
	bool root;		/* what is to be done there needs it */
	int64_t boot_timeout;	/* seconds until it must be back */
	int64_t run_timeout;	/* seconds that the passes of a boot may take */
	bool no_return;		/* it stays in the kernel that it booted last */
};
#define REMOTE_BOOT_TIMEOUT	300
#define REMOTE_RUN_TIMEOUT	3600
/*
 * See that the host is there, what it is, and that no other folab uses it.
 * EXIT_USAGE, EXIT_ENVIRONMENT, EXIT_BUSY.
 */
int remote_open(struct remote **remote, const struct remote_options *opt,
		struct err *err);
const struct arch *remote_arch(const struct remote *r);
const char *remote_boot_id(const struct remote *r);	/* when it was opened */
/*
 * Before anything is built: can this host be told to boot a kernel of ours, and
 * how?  EXIT_ENVIRONMENT.
 */
int remote_can_boot(struct remote *r, struct err *err);
/*
 * Does the kernel have what the host needs to come back: drivers of its root
 * and its network?  EXIT_ENVIRONMENT, with the options that are missing.  What
 * can't be told is one of @notes.
 */
int remote_check_image(struct remote *r, const struct image *im,
		       struct strlist *notes, struct err *err);
/*
 * The host gets its own kernel back, and nothing of ours is left.  What went
 * wrong with that is told on the progress line.
 */
void remote_close(struct remote *r);

/*
 * Path of something that we build ("agent-arm64", "plugin.so"): beside the
 * running program, in the source tree's build/, or installed.  Caller frees.
 */
int machine_built_path(const char *name, char **path, struct err *err);
/* The directory of the built case programs of @arch.  Caller frees. */
int machine_cases_dir(const struct arch *arch, char **path, struct err *err);

#endif
