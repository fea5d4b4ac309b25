/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel's own make: in an environment that holds nothing of the user's,
 * so that the same input makes the same image, and with its output read line
 * by line for progress and for the first error.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "private.h"

/*
 * DWARF for the objects whose static functions the symbol file has to find
 * where the compiler inlined them.  -g changes no instruction; without the
 * prefix map the build id would depend on where the cache is.
 */
#define WITH_DWARF	"-g -fdebug-prefix-map=`pwd`=."

static const char *const dwarf_objects[] = { "vmscan", "rmap", "memory" };

static const struct {
	const char *program, *package;
} tools[] = {
	{ "git", "git" },
	{ "make", "make" },
	{ "gcc", "gcc" },
	{ "ld", "binutils" },
	{ "flex", "flex" },
	{ "bison", "bison" },
	{ "bc", "bc" },
	{ "cp", "coreutils" },
};

/* "gcc-aarch64-linux-gnu", "gcc-x86-64-linux-gnu": Debian's package. */
static char *compiler_package(const struct arch *arch)
{
	char *name = xasprintf("gcc-%s", arch->triplet), *p;

	for (p = name; *p; p++)
		if (*p == '_')
			*p = '-';
	return name;
}

static char *version_line(const char *program, struct err *err)
{
	const char *argv[] = { "env", "LC_ALL=C", program, "--version", NULL };
	struct child_spec spec = { .argv = (char *const *)argv, .output = -1 };
	char *out = NULL;
	int rc = child_capture(&spec, true, &out, err);

	if (rc == 0) {
		out[strcspn(out, "\n")] = '\0';
		return out;
	}
	if (rc > 0)
		err_set(err, EXIT_ENVIRONMENT, "%s --version failed", program);
	free(out);
	return NULL;
}

int make_probe(struct build *b, struct err *err)
{
	const struct arch *host = arch_host();
	char *cc, *ld, *ld_version = NULL;
	int rc = -1;

	for (size_t i = 0; i < ARRAY_SIZE(tools); i++)
		if (!program_exists(tools[i].program))
			return err_set(err, EXIT_ENVIRONMENT,
				       "building a kernel needs %s: apt-get install %s",
				       tools[i].program, tools[i].package);
	b->cross = host == b->arch ? xstrdup("") :
		   xasprintf("%s-", b->arch->triplet);
	cc = xasprintf("%sgcc", b->cross);
	ld = xasprintf("%sld", b->cross);
	if (!program_exists(cc) || !program_exists(ld)) {
		char *package = compiler_package(b->arch);

		err_set(err, EXIT_ENVIRONMENT,
			"building a kernel for %s needs %s: apt-get install %s",
			b->arch->name, cc, package);
		free(package);
		goto out;
	}
	b->compiler = version_line(cc, err);
	ld_version = b->compiler ? version_line(ld, err) : NULL;
	if (ld_version) {
		struct hash *h = hash_new();

		hash_add_str(h, b->compiler);
		hash_add_str(h, ld_version);
		hash_end(h, b->key);
		rc = 0;
	}
out:
	free(ld_version);
	free(ld);
	free(cc);
	return rc;
}

/* ---- reading what make writes -------------------------------------------------- */

struct reading {
	struct build *b;
	int fd;			/* read end */
	FILE *log;
	char line[4096];
	size_t len;
	uint64_t done;
	char first_error[600];
	bool full;		/* the disk */
};

/* "  CC      mm/rmap.o": a step.  What it makes, or NULL. */
static const char *step_of(const char *line)
{
	size_t word;

	if (line[0] != ' ' || line[1] != ' ' || !isupper((unsigned char)line[2]))
		return NULL;
	word = strcspn(line + 2, " ");
	line += 2 + word;
	return line + strspn(line, " ");
}

static bool is_error(const char *line)
{
	return strstr(line, " error: ") || strstr(line, "fatal error") ||
	       str_starts(line, "make: ***") ||
	       strstr(line, "undefined reference") || str_starts(line, "*** ");
}

static void take_line(struct reading *r)
{
	const char *step;

	r->line[r->len] = '\0';
	r->len = 0;
	if (r->log)
		fprintf(r->log, "%s\n", r->line);
	if (r->b->opt->verbose)
		progress_note("%s", r->line);
	step = step_of(r->line);
	if (step) {
		r->done++;
		if (r->b->steps && r->b->steps <= r->done)
			r->b->steps = r->done + 1;
		progress_step(r->done, r->b->steps, "%s", step);
	}
	if (strstr(r->line, "No space left on device"))
		r->full = true;
	if (!r->first_error[0] && is_error(r->line)) {
		const char *line = r->line;

		while (str_starts(line, "../"))
			line += 3;
		snprintf(r->first_error, sizeof(r->first_error), "%.500s",
			 line);
	}
}

static void take(struct reading *r, const char *buf, ssize_t n)
{
	for (ssize_t i = 0; i < n; i++) {
		if (buf[i] == '\n')
			take_line(r);
		else if (r->len < sizeof(r->line) - 1)
			r->line[r->len++] = buf[i];
	}
}

/* To the end of the pipe; -1: interrupted. */
static int read_all(struct reading *r, struct err *err)
{
	char buf[8192];

	for (;;) {
		struct pollfd p[2] = {
			{ .fd = r->fd, .events = POLLIN },
			{ .fd = intr_fd(), .events = POLLIN },
		};
		ssize_t n;

		if (poll(p, 2, -1) < 0 && errno != EINTR)
			return err_sys(err, EXIT_ENVIRONMENT, errno, "poll");
		if (intr_check(err))
			return -1;
		if (!p[0].revents)
			continue;
		n = read(r->fd, buf, sizeof(buf));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		take(r, buf, n);
	}
	if (r->len)
		take_line(r);
	return 0;
}

static int failed(const struct reading *r, const char *log, struct err *err)
{
	if (r->full)
		return err_sys(err, EXIT_ENVIRONMENT, ENOSPC,
			       "%s can't be built in %s", r->b->spec.text,
			       r->b->cache);
	return err_set(err, EXIT_BUILD, "%s for %s does not build: %s (see %s)",
		       r->b->spec.text, r->b->arch->name,
		       r->first_error[0] ? r->first_error : "make failed", log);
}

static int run_make(struct build *b, char **argv, struct err *err)
{
	struct reading r = { .b = b };
	struct child_spec spec = { .argv = argv, .dir = b->src };
	struct child child = { 0 };
	int fds[2], status = 0, rc;

	if (pipe2(fds, O_CLOEXEC))
		return err_sys(err, EXIT_ENVIRONMENT, errno, "pipe");
	r.log = fopen(b->log, "ae");
	if (r.log)
		setlinebuf(r.log);
	r.fd = fds[0];
	spec.output = fds[1];
	rc = child_start(&child, &spec, err);
	close(fds[1]);
	if (!rc) {
		rc = read_all(&r, err);
		if (!rc)
			rc = child_wait(&child, -1, &status, err);
		if (rc) {
			child_stop(&child, 5);
			rc = -1;
		} else if (status) {
			rc = failed(&r, b->log, err);
		}
	}
	if (r.log)
		fclose(r.log);
	close(fds[0]);
	return rc;
}

static int jobs(const struct build *b)
{
	cpu_set_t set;

	if (b->opt->jobs > 0)
		return b->opt->jobs;
	if (!sched_getaffinity(0, sizeof(set), &set))
		return CPU_COUNT(&set);
	return sysconf(_SC_NPROCESSORS_ONLN);
}

static void pass_on(struct strlist *argv, const char *name)
{
	const char *value = getenv(name);

	if (value)
		strlist_addf(argv, "%s=%s", name, value);
}

/* All of the command up to the target. */
static void command(const struct build *b, struct strlist *argv)
{
	strlist_add(argv, "env");
	strlist_add(argv, "-i");
	pass_on(argv, "PATH");
	pass_on(argv, "HOME");
	pass_on(argv, "TMPDIR");
	strlist_add(argv, "LC_ALL=C");
	strlist_addf(argv, "KCONFIG_ALLCONFIG=%s/allconfig", b->work);
	/* What would tell one build of the same from another. */
	strlist_add(argv, "KBUILD_BUILD_TIMESTAMP=Thu Jan  1 00:00:00 UTC 1970");
	strlist_add(argv, "KBUILD_BUILD_USER=folab");
	strlist_add(argv, "KBUILD_BUILD_HOST=folab");
	strlist_add(argv, "KBUILD_BUILD_VERSION=1");
	strlist_add(argv, "make");
	strlist_addf(argv, "-j%d", jobs(b));
	strlist_add(argv, "O=out");
	strlist_addf(argv, "ARCH=%s", b->arch->kernel);
	strlist_addf(argv, "CROSS_COMPILE=%s", b->cross);
	strlist_add(argv, "LOCALVERSION=");
	for (size_t i = 0; i < ARRAY_SIZE(dwarf_objects); i++)
		strlist_addf(argv, "CFLAGS_%s.o=" WITH_DWARF, dwarf_objects[i]);
}

static int run_target(struct build *b, const char *target, struct err *err)
{
	struct strlist argv = { 0 };
	int rc;

	command(b, &argv);
	strlist_add(&argv, target);
	rc = run_make(b, argv.v, err);
	strlist_free(&argv);
	return rc;
}

int make_config(struct build *b, struct err *err)
{
	char *all = xasprintf("%s/allconfig", b->work);
	char *made = xasprintf("%s/.config", b->out);
	int rc;

	unlink(b->log);
	rc = config_write(&b->config, all, err);
	if (!rc)
		rc = run_target(b, "allnoconfig", err);
	if (!rc && config_check(&b->config, made, err))
		rc = err->code == EXIT_BUILD ?
		     err_prefix(err, "%s for %s", b->spec.text, b->arch->name) :
		     -1;
	free(made);
	free(all);
	return rc;
}

int make_image(struct build *b, struct err *err)
{
	return run_target(b, b->arch->target, err);
}
