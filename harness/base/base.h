/* SPDX-License-Identifier: GPL-2.0 */
/*
 * base - the ground floor: errors, memory, files, child processes, hashes,
 * JSON and ini wrappers, interruption, the progress line.
 *
 * Nothing in here prints, except the progress line, which is made for it.
 * A function that can fail returns 0 or a non-negative value when it worked
 * and -1 after filling in the struct err that it was given.  err may not be
 * NULL unless a comment says so.
 */
#ifndef FOLAB_BASE_H
#define FOLAB_BASE_H

#include <jansson.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define PRINTF(f, a)	__attribute__((format(printf, f, a)))

/* ---- errors (err.c) ---------------------------------------------------- */

/* How folab ends.  docs/folab.1.scd lists these: keep the two alike. */
enum exit_code {
	EXIT_OK		 = 0,
	EXIT_NO		 = 1,	/* it ran, and the answer is "no" */
	EXIT_USAGE	 = 2,	/* option, scenario, parameter or spec is wrong */
	EXIT_ENVIRONMENT = 3,	/* the host lacks something */
	EXIT_SKIPPED	 = 4,	/* not possible here, and said why */
	EXIT_BUILD	 = 5,	/* a series does not apply, a kernel not build */
	EXIT_RUN	 = 6,	/* a guest failed: panic, hang, no result */
	EXIT_BUSY	 = 7,	/* another folab uses that directory */
	EXIT_INTERRUPTED = 130,	/* SIGINT or SIGTERM */
};

/* An error on its way up: one line for the user, and the exit code. */
struct err {
	int code;		/* enum exit_code; 0: no error */
	char text[1024];	/* no newline, no "folab:" in front */
};

/* Set @err and return -1.  Keeps the first error if one is set already. */
int err_set(struct err *err, int code, const char *fmt, ...) PRINTF(3, 4);
/* The same, with ": strerror(errnum)" behind. ENOSPC and EDQUOT add a hint. */
int err_sys(struct err *err, int code, int errnum, const char *fmt, ...)
	PRINTF(4, 5);
/* Put "text: " in front of the error on its way up.  Returns -1. */
int err_prefix(struct err *err, const char *fmt, ...) PRINTF(2, 3);
void err_clear(struct err *err);

/* ---- memory (mem.c): never NULL; out of memory ends the program -------- */

void *xmalloc(size_t size);
void *xcalloc(size_t n, size_t size);
void *xrealloc(void *p, size_t n, size_t size);	/* n * size, checked */
char *xstrdup(const char *s);
char *xstrndup(const char *s, size_t n);
char *xasprintf(const char *fmt, ...) PRINTF(1, 2);

/* A growing list of strings, NULL-terminated at all times once used. */
struct strlist {
	char **v;
	size_t n;
};
void strlist_add(struct strlist *l, const char *s);	/* copies s */
void strlist_addf(struct strlist *l, const char *fmt, ...) PRINTF(2, 3);
bool strlist_has(const struct strlist *l, const char *s);
void strlist_free(struct strlist *l);

/* ---- numbers and text (text.c) ----------------------------------------- */

/*
 * "192M", "8G", "4096", "64K" (powers of 1024, an optional "iB" or "B") to
 * bytes.  -1 if it is not such a number or does not fit.  No err: the caller
 * knows which option it was.
 */
int parse_size(const char *s, uint64_t *bytes);
/* Whole decimal integer in [min, max]; -1 otherwise. */
int parse_int(const char *s, int64_t min, int64_t max, int64_t *value);
/* Bytes to "192 MiB" with the largest unit that divides it, in static-free @buf. */
const char *format_size(uint64_t bytes, char *buf, size_t len);
/* The same as parse_size() takes it, "192M"; of no unit that divides it: "4097". */
const char *format_size_short(uint64_t bytes, char *buf, size_t len);
/* Scatters, and always alike: the finalizer of splitmix64. */
uint64_t mix64(uint64_t x);
/* @word, in quotes if a POSIX shell would not take it as it is; caller frees. */
char *shell_word(const char *word);
bool str_starts(const char *s, const char *prefix);
bool str_ends(const char *s, const char *suffix);

/* ---- files (file.c) ---------------------------------------------------- */

/* Read a whole file of at most @max bytes; NUL-terminated, caller frees. */
int file_read(const char *path, size_t max, char **data, size_t *len,
	      struct err *err);
/*
 * Replace @path: written beside it, synced, renamed.  A reader, or a kill at
 * any moment, sees the old file or the new one.
 */
int file_write(const char *path, const void *data, size_t len,
	       struct err *err);
/*
 * The same for a file of the user's that is there: it keeps its mode and its
 * owner, and a symbolic link stays one, to the new file.  EXIT_ENVIRONMENT if
 * that can't be, or if the file does not hold @old any more: somebody else has
 * written it since.
 */
int file_replace(const char *path, const char *old, const char *text,
		 struct err *err);
/* @text as a file without a name: its fd, to be closed, or -1 with @err set. */
int file_of_text(const char *text, struct err *err);
int file_copy(const char *from, const char *to, struct err *err); /* atomic too */
/*
 * One write(2) of @text into a file that is there, as the files of the kernel
 * want it.  @how: more flags of open(2), such as O_APPEND, or 0.  0, or errno.
 */
int file_poke(const char *path, int how, const char *text);
int file_mkdirs(const char *path, struct err *err);	/* mkdir -p */
/* rm -rf; a missing path is fine.  Never follows a link, never crosses a mount. */
int file_remove_tree(const char *path, struct err *err);
bool file_exists(const char *path);
/* Bytes that an ordinary user may still write on the file system of @path. */
int file_free_space(const char *path, uint64_t *bytes, struct err *err);

/*
 * An advisory lock (flock) on a file that is made if need be and stays.  It
 * falls with its holder, however that one dies.  lock_try: 0 taken, 1 held by
 * somebody else, -1 error.  lock_wait: calls @waiting once if it has to wait;
 * ends early with EXIT_INTERRUPTED.
 */
struct lock { int fd; };
int lock_try(struct lock *l, const char *path, struct err *err);
int lock_wait(struct lock *l, const char *path, void (*waiting)(void *arg),
	      void *arg, struct err *err);
void lock_release(struct lock *l);

/* ${XDG_CACHE_HOME:-~/.cache}/folab, made if need be.  Caller frees. */
char *cache_dir(struct err *err);
/* Where our own data lies (patches, scenarios, plugin, agents): FOLAB_HOME,
 * else the source tree that build/folab stands in, else the installed prefix.
 * Path of @rel below it; caller frees. */
char *home_path(const char *rel);

/* ---- interruption (intr.c) --------------------------------------------- */

/* SIGINT, SIGTERM, SIGHUP are noted, not fatal (one that was ignored stays so);
 * SIGPIPE and SIGXFSZ are ignored. */
void intr_install(void);
bool intr_seen(void);
/* Becomes readable when a signal was noted, for poll(2). */
int intr_fd(void);
/* Sets err to EXIT_INTERRUPTED and returns -1 if a signal was noted, else 0. */
int intr_check(struct err *err);

/* ---- child processes (child.c) ----------------------------------------- */

/*
 * A child is in a process group of its own and dies with us, even when we are
 * killed with SIGKILL; what it started dies too, as long as it stays in the
 * group.  child_stop() takes the whole group.
 */
struct child_spec {
	char *const *argv;	/* NULL-terminated; argv[0] looked up in PATH */
	char *const *env;	/* NAME=VALUE added to ours, NULL-terminated, or NULL */
	const char *dir;	/* working directory, or NULL */
	const char *input;	/* path for standard input, NULL: /dev/null */
	int output;		/* fd for stdout and stderr, -1: /dev/null */
	const int *keep_fds;	/* further fds to pass on at the same numbers */
	size_t n_keep_fds;
	int nice;		/* added to our niceness */
	uint64_t max_file;	/* RLIMIT_FSIZE in bytes, 0: none */
};

struct child {
	pid_t pid;		/* 0: not running */
	int pidfd;		/* readable when it has ended, for poll(2) */
	pid_t guard;		/* kills the group if we die first */
	int guard_fd;
};

int child_start(struct child *c, const struct child_spec *spec,
		struct err *err);
/* Wait at most @seconds (< 0: no limit).  0 ended, *status as from waitpid(2);
 * 1 still running; -1 interrupted or error. */
int child_wait(struct child *c, double seconds, int *status, struct err *err);
/* SIGTERM to the group, SIGKILL after @grace seconds, reaped.  Idempotent. */
void child_stop(struct child *c, double grace);
/*
 * Run to the end.  Output goes to @log (appended) if given.  A non-zero exit
 * is an error with @code whose text holds argv[0], how it ended, and the last
 * line it wrote.
 */
int child_run(const struct child_spec *spec, const char *log, int code,
	      struct err *err);
/* Run and hand back standard output (stderr goes to /dev/null, or into
 * *out too if @merge).  Returns the exit status (0..255), -1 error. */
int child_capture(const struct child_spec *spec, bool merge, char **out,
		  struct err *err);
/* Is a program of that name in PATH? */
bool program_exists(const char *name);

/* ---- git (git.c) ------------------------------------------------------- */

/* Where git works.  @dir for a user's repository, @repo for one of ours. */
struct git {
	const char *dir;
	const char *repo;	/* GIT_DIR */
	const char *index;	/* GIT_INDEX_FILE, or NULL */
	const char *tree;	/* GIT_WORK_TREE, or NULL */
	const char *input;	/* text for standard input, or NULL */
};
/* Exit status, output and messages in *out; -1 with @err set: did not run. */
int git_try(const struct git *g, char **out, struct err *err, ...)
	__attribute__((sentinel));
/* As git_try, but a non-zero exit is an error with git's own last line. */
int git_run(const struct git *g, struct err *err, ...)
	__attribute__((sentinel));
/*
 * Exit status, and standard output alone, all of it, up to a NUL byte, in *out;
 * -1 with @err set: did not run.
 */
int git_text(const struct git *g, char **out, struct err *err, ...)
	__attribute__((sentinel));
/* First line of standard output, caller frees; NULL with @err set. */
char *git_line(const struct git *g, struct err *err, ...)
	__attribute__((sentinel));
/* The arguments that run git at @g, without those of the command itself. */
void git_argv(const struct git *g, struct strlist *argv);
/* Set @err from git's last "fatal:" or "error:" line in @said (cut up). */
void git_complain(char *said, struct err *err);
/* Does @text tell of a full disk?  Then @err is set to that. */
bool no_space(const char *text, struct err *err);

/* ---- content hashes (hash.c) ------------------------------------------- */

#define HASH_HEX	65	/* SHA-256 in hex and the NUL */
struct hash;			/* incremental */
struct hash *hash_new(void);
void hash_add(struct hash *h, const void *data, size_t len);
/* The string and its length, so that "a","bc" differs from "ab","c". */
void hash_add_str(struct hash *h, const char *s);
int hash_add_file(struct hash *h, const char *path, struct err *err);
void hash_end(struct hash *h, char hex[HASH_HEX]);	/* frees h */

/* ---- JSON (js.c): thin over jansson, with errors that name the key ------ */

int js_read(const char *path, json_t **root, struct err *err);
/* Sorted keys, two spaces, trailing newline: the same value, the same bytes. */
int js_write(const char *path, const json_t *root, struct err *err);
/* Typed members.  @where names the object in the error's text. */
int js_string(const json_t *o, const char *where, const char *key,
	      const char **value, struct err *err);
int js_int(const json_t *o, const char *where, const char *key,
	   int64_t *value, struct err *err);
int js_number(const json_t *o, const char *where, const char *key,
	      double *value, struct err *err);
int js_bool(const json_t *o, const char *where, const char *key, bool *value,
	    struct err *err);
/* Type JSON_OBJECT or JSON_ARRAY; borrowed reference. */
int js_container(const json_t *o, const char *where, const char *key,
		 json_type type, json_t **value, struct err *err);

/* ---- ini files (ini.c): thin over inih --------------------------------- */

/* Called for each key; returns 0, or -1 with @err set (file and line are put
 * in front by ini_read). */
typedef int (*ini_fn)(void *arg, const char *section, const char *key,
		      const char *value, struct err *err);
int ini_read(const char *path, ini_fn fn, void *arg, struct err *err);

/* ---- the progress line (progress.c) ------------------------------------ */

/*
 * On a terminal: one line on standard error, redrawn.  Otherwise: a plain
 * line when a step begins and when it ends.  No colour anywhere, so NO_COLOR
 * has nothing to switch off.
 *
 *	progress_begin("build 6.12+young-batch arm64");
 *	progress_step(done, total, "mm/rmap.o");	total 0: not known
 *	progress_end("built, 4 min 3 s");		NULL: nothing to say
 */
void progress_quiet(bool quiet);	/* --quiet */
void progress_begin(const char *fmt, ...) PRINTF(1, 2);
void progress_step(uint64_t done, uint64_t total, const char *fmt, ...)
	PRINTF(3, 4);
void progress_end(const char *fmt, ...) PRINTF(1, 2);
/* A line that stays, above the progress line: diagnostics, warnings. */
void progress_note(const char *fmt, ...) PRINTF(1, 2);

/* Seconds of CLOCK_MONOTONIC. */
double now_seconds(void);

#endif
