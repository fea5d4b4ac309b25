/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files of this room share.  Nobody else includes this, but for the
 * room's own tests.
 */
#ifndef FOLAB_MACHINE_INTERNAL_H
#define FOLAB_MACHINE_INTERNAL_H

#include "machine.h"

/* ---- result channel (channel.c) ----------------------------------------- */

/* All that one guest may send, in bytes: far above what any job needs. */
#define CHANNEL_MAX_BYTES	(64u << 20)

/*
 * What a guest says on its result channel, taken apart as it comes in.  The
 * guest is not trusted: whatever it sends, memory stays bounded, and the first
 * thing that is not as agreed ends the conversation with @broken set.
 */
struct channel {
	int64_t passes;		/* samples that the job asks for */
	const struct job *job;	/* of cases; NULL: of a workload */
	void (*hear)(void *arg, const struct wire *w);	/* NULL: nobody */
	void *hear_arg;
	char *line;		/* the line that is not complete yet */
	size_t len, room;
	int64_t lines;
	uint64_t bytes;
	bool hello, done;
	size_t cases;		/* that have ended */
	bool in_case;		/* the next one has begun */
	char *release;		/* kernel release, from HELLO */
	char *phase;		/* last phase named, NULL: none */
	char *error;		/* text of the agent's ERROR, NULL: none */
	char *broken;		/* how it broke the agreement, NULL: it did not */
	struct sample *samples;
	size_t n_samples;
};
void channel_init(struct channel *c, int64_t passes);
/* The same for @job's cases. */
void channel_init_cases(struct channel *c, const struct job *job,
			void (*hear)(void *arg, const struct wire *w),
			void *arg);
/* 0, or -1 once the channel is broken; then nothing more is looked at. */
int channel_feed(struct channel *c, const char *data, size_t len);
/* The guest has ended: is everything there?  0, or -1 with ->broken. */
int channel_end(struct channel *c);
void channel_free(struct channel *c);

/* ---- console (console.c) ------------------------------------------------- */

#define CONSOLE_MAX_BYTES	(4u << 20)
#define CONSOLE_TAIL_LINES	25
#define CONSOLE_MAX_WARNINGS	20

/* A guest's console, read line by line. */
struct console {
	char line[512];		/* printable ASCII; what is longer is cut */
	size_t len;
	uint64_t bytes;
	bool flood;		/* more than CONSOLE_MAX_BYTES came */
	bool oom_allowed;	/* the job is one of cases */
	char *fatal;		/* first line that says that the kernel is lost */
	char *phase;		/* last phase that the agent announced */
	struct strlist warnings;
	char *tail[CONSOLE_TAIL_LINES];
	size_t n_tail;		/* lines ever put in */
};
/* How many of the @len bytes belong in the log; the rest is over the limit. */
size_t console_feed(struct console *c, const char *data, size_t len);
void console_end(struct console *c);	/* a last line without newline */
char *console_tail(const struct console *c);	/* caller frees */
void console_free(struct console *c);
/* Copy of @s, @max bytes at most, with only printable ASCII in it. */
char *printable(const char *s, size_t len, size_t max);

/* ---- the emulator's command line (qemu_args.c) ----------------------------- */

#define NS_PER_INSTRUCTION_SHIFT	1	/* -icount shift=1: 2 ns each */

/* Paths of what one guest is started with, and its ends of our pipes. */
struct guest_config {
	int64_t seed;
	const char *kernel, *initramfs, *cmdline;
	int console_fd, result_fd;	/* write ends, inherited by the emulator */
	const char *plugin, *symbols, *profile;	/* NULL: no plugin */
};
/* The program: FOLAB_QEMU if set (tests), else the architecture's. */
const char *qemu_program(const struct arch *arch);
/* Options that decide what the guest counts; no paths.  Caller frees. */
char *qemu_model(const struct machine_setup *setup);
void qemu_args(const struct machine_setup *setup,
	       const struct guest_config *g, struct strlist *argv);
/* First line of --version, with the release checked.  Caller frees. */
int qemu_version(const struct arch *arch, char **version, struct err *err);
/* The kernel command line, the same for both sides.  Caller frees. */
char *kernel_cmdline(const struct machine_setup *setup);
/* Does @path look like a whole kernel image for @arch?  EXIT_USAGE if not. */
int kernel_check(const char *path, const struct arch *arch, struct err *err);

/* ---- what the guest is given (initramfs.c, scratch_fs.c, run_dir.c) --------- */

/* Bytes of the RAM disk that holds the scratch file system, 0: none. */
uint64_t scratch_bytes(const struct job *job);
/* "mkfs.xfs version 6.1.0" without the "version".  Caller frees. */
int scratch_version(char **version, struct err *err);
/*
 * Make the file system and write it to @path as runs: { u64 offset, u64
 * length, data }..., little endian, ended by { size of the device, 0 }.
 * The same size and xfsprogs give the same bytes.  Works in @dir.
 */
int scratch_make(const struct job *job, const char *dir, const char *path,
		 struct err *err);
/* XFS into the file @image, which has the size already. */
int scratch_mkfs(const char *image, struct err *err);
/*
 * A newc archive at @path: the agent as /init, /job.json, /fs.img.runs
 * (@runs, NULL: none), the programs of the job's cases as /cases/PROGRAM (from
 * directory @cases, NULL: no cases), everything in the directories @trees,
 * mount points.  The same input gives the same bytes.
 * On an error a part may be left at @path: it goes with the run_dir.
 */
int initramfs_make(const char *path, const char *agent, const struct job *job,
		   const char *runs, const char *cases,
		   const struct strlist *trees, struct err *err);

/* A directory in the cache that lives as long as we do. */
struct run_dir {
	char *path;
	struct lock lock;
};
/* Make one, after removing those whose owner is dead. */
int run_dir_make(struct run_dir *d, struct err *err);
void run_dir_remove(struct run_dir *d);

/* ---- this host (host_facts.c) --------------------------------------------- */

/* Fill @h; nothing in there fails, it is then not known. */
void host_read(struct host *h);
/* What stands behind "KEY" and a colon at the start of a line; caller frees. */
char *host_value_of(const char *text, const char *key);
/* What stands in brackets, as in "always [madvise] never"; caller frees. */
char *host_chosen_of(const char *text, char open, char close);

uint64_t host_memory_free(void);	/* MemAvailable, bytes; 0: not known */

/* ---- what a workload gets on this host (host_scratch.c, host_cgroup.c) ------ */

#define HOST_SCRATCH_DIR	"/var/tmp"	/* of the image, by default */

/*
 * A new mount of @type that is attached nowhere: the descriptor of its root,
 * with which it goes.  @flag: an option of the file system's, or NULL.
 */
int mount_detached(const char *type, const char *source, const char *flag,
		   struct err *err);

struct host_scratch {
	char *path;		/* of the directory; for us and what we fork */
	int fd;			/* of the mount; -1: none */
	char *made;		/* the directory that we made; NULL: none */
};
/* What it is or would be, for the report; caller frees. */
char *host_scratch_text(const struct workload *w,
			const struct host_place *place);
/* @bytes: of the device, if one is made.  To be removed in any case. */
int host_scratch_make(struct host_scratch *s, const struct host_place *place,
		      uint64_t bytes, struct err *err);
void host_scratch_remove(struct host_scratch *s);
/* What a killed run left.  Under the host's lock. */
void host_scratch_sweep(void);

/*
 * Where memory cgroups can be made below: in a scope that systemd has delegated
 * to us, or in one of our own below the root.  @below: path from the root of the
 * hierarchy, caller frees.
 */
int host_cgroup_begin(char **below, struct err *err);
/* Take back what host_cgroup_begin() did, here or in a run that was killed. */
void host_cgroup_sweep(void);
/* As machine_local_enter(), for the cgroups alone. */
int host_cgroup_enter(const struct host_place *place, struct err *err);

/* ---- functions, by ftrace (host_ftrace.c) -------------------------------------- */

/*
 * In the profile inclusive and self are ns; the first gives calls and time with
 * callees, the second own time alone, so that they add up to one.
 * ftrace.{calls,cpu} (-1: of every processor).
 */
extern const struct watcher watcher_ftrace_with, watcher_ftrace_own;
/* EXIT_ENVIRONMENT, and why, if this host's kernel has no such profile. */
int host_ftrace_check(struct err *err);
/* Adds a file of trace_stat, which it cuts up; @own: of the second. */
void host_ftrace_lines(char *text, bool own, struct profile *p);

/* ---- guests (guests.c) ------------------------------------------------------ */

struct guests_config {
	const struct machine_setup *setup;
	const struct image *images;	/* of the sides, 'A' first */
	const char *initramfs, *cmdline;
	/* NULL: none.  An image without symbols runs without it too. */
	const char *plugin;
	const char *dir;		/* for files that do not stay */
	int parallel;
	double first_line;		/* seconds until the console must speak */
	/* Seconds to power off in, after a panic or the last result. */
	double last_words;
};
int guests_run(const struct guests_config *c, struct trial *trials, size_t n,
	       struct err *err);

#endif
