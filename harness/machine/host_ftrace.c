/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Calls and time of the kernel's functions on this host: ftrace's function
 * profile (CONFIG_FUNCTION_PROFILER).  It counts by processor, not by task, so
 * that a thread that measures alone is kept on one, and only that one's counts
 * are taken.  It tells either a function's own time or that with its callees,
 * hence two watchers, and a pass for each.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <tracefs.h>
#include <unistd.h>

#include "../../workloads/knobs.h"
#include "../measure/measure.h"
#include "internal.h"

#define ENABLED		"function_profile_enabled"
#define WITH_CALLEES	"options/graph-time"
#define ASLEEP		"options/sleep-time"
#define FTRACE_ON	"/proc/sys/kernel/ftrace_enabled"

struct ftrace {
	bool own;		/* own time; else with callees */
	int cpu;		/* whose counts are taken; -1: every processor's */
	struct knobs knobs;
	char *dir;		/* of tracefs */
};

/* ---- is it there, and free? ------------------------------------------------------ */

/*
 * Where tracefs is; caller frees.  It is not mounted for the run: a run that is
 * killed would leave settings behind that nobody reaches.
 */
static char *tracing_dir(struct err *err)
{
	const char *path = NULL;

	if (tracefs_tracing_dir_is_mounted(false, &path) == 1 && path)
		return xstrdup(path);
	err_set(err, EXIT_ENVIRONMENT,
		"--functions=ftrace: tracefs is not mounted; mount -t tracefs tracefs /sys/kernel/tracing");
	return NULL;
}

/* First character of a setting, '\0': there is none. */
static char setting(const char *path)
{
	struct err ignored = { 0 };
	char *text, c;

	if (file_read(path, 4096, &text, NULL, &ignored))
		return '\0';
	c = *text;
	free(text);
	return c;
}

static char setting_in(const struct ftrace *f, const char *name)
{
	char *path = xasprintf("%s/%s", f->dir, name), c = setting(path);

	free(path);
	return c;
}

static int check(const struct ftrace *f, struct err *err)
{
	char enabled = setting_in(f, ENABLED);

	if (geteuid())
		return err_set(err, EXIT_ENVIRONMENT,
			       "--functions=ftrace: tracing needs root");
	if (!enabled || !setting_in(f, WITH_CALLEES))
		return err_set(err, EXIT_ENVIRONMENT,
			       "--functions=ftrace: this kernel has no function profile with times (CONFIG_FUNCTION_PROFILER, CONFIG_FUNCTION_GRAPH_TRACER); --functions=samples does without");
	if (setting(FTRACE_ON) == '0')
		return err_set(err, EXIT_ENVIRONMENT,
			       "--functions=ftrace: ftrace is off (sysctl kernel.ftrace_enabled=1 turns it on)");
	if (enabled != '0')
		return err_set(err, EXIT_ENVIRONMENT,
			       "--functions=ftrace: somebody uses ftrace's function profile: %s/" ENABLED " is %c",
			       f->dir, enabled);
	return 0;
}

int host_ftrace_check(struct err *err)
{
	struct ftrace f = { .dir = tracing_dir(err) };
	int rc = f.dir ? check(&f, err) : -1;

	free(f.dir);
	return rc;
}

/* ---- one pass ----------------------------------------------------------------------- */

static void ftrace_free(void *state)
{
	struct ftrace *f = state;

	knobs_restore(&f->knobs);
	free(f->dir);
	free(f);
}

/* The processor that this thread stays on from here; -1: it may be anywhere. */
static int stay(void)
{
	int cpu = sched_getcpu();
	cpu_set_t one;

	CPU_ZERO(&one);
	if (cpu < 0 || cpu >= CPU_SETSIZE)
		return -1;
	CPU_SET(cpu, &one);
	return sched_setaffinity(0, sizeof(one), &one) ? -1 : cpu;
}

static int set(struct ftrace *f, const char *name, const char *value,
	       struct err *err)
{
	char *path = xasprintf("%s/%s", f->dir, name);
	int rc = knobs_set(&f->knobs, path, value, err);

	free(path);
	return rc;
}

static struct ftrace *make(bool own, bool threads, struct err *err)
{
	struct ftrace *f = xcalloc(1, sizeof(*f));

	f->own = own;
	f->dir = tracing_dir(err);
	f->cpu = threads ? -1 : stay();
	if (!f->dir || check(f, err) ||
	    set(f, WITH_CALLEES, own ? "0" : "1", err) ||
	    /* Of a thread that waits the time is no function's. */
	    set(f, ASLEEP, "0", err)) {
		ftrace_free(f);
		return NULL;
	}
	return f;
}

static void *make_own(bool threads, struct err *err)
{
	return make(true, threads, err);
}

static void *make_with(bool threads, struct err *err)
{
	return make(false, threads, err);
}

static void ftrace_begin(void *state)
{
	struct err ignored = { 0 };

	/* Without it there are no calls, and take() says so. */
	set(state, ENABLED, "1", &ignored);
}

static void ftrace_end(void *state)
{
	tracefs_instance_file_write(NULL, ENABLED, "0");
}

/* ---- what it counted ------------------------------------------------------------------ */

/*
 * "  schedule   46   4523.521 us   98.337 us  ..."; a module's function has
 * " [module]" behind its name.  False: it is a heading.  The name stays @line's.
 */
static bool parse_line(char *line, bool own, struct profile_fn *fn)
{
	char *save, *name = strtok_r(line, " \t", &save);
	char *hits = name ? strtok_r(NULL, " \t", &save) : NULL;
	char *time, *unit, *end;
	int64_t calls, ns;
	double us;

	if (hits && *hits == '[')
		hits = strtok_r(NULL, " \t", &save);
	time = hits ? strtok_r(NULL, " \t", &save) : NULL;
	unit = time ? strtok_r(NULL, " \t", &save) : NULL;
	if (!unit || strcmp(unit, "us") ||
	    parse_int(hits, 1, INT64_MAX, &calls))
		return false;
	us = strtod(time, &end);
	if (*end || !(us >= 0 && us < 1e15))
		return false;
	ns = (int64_t)(us * 1000 + 0.5);
	/* Both passes call; the calls are those of the one with callees. */
	*fn = (struct profile_fn){
		.name = name,
		.calls = own ? 0 : calls,
		.self = own ? ns : 0,
		.inclusive = own ? 0 : ns,
	};
	return true;
}

static int by_name(const void *va, const void *vb)
{
	const struct profile_fn *a = va, *b = vb;

	return strcmp(a->name, b->name);
}

/* Static functions may share a name: they become one. */
static void fold(struct profile *p)
{
	size_t out = 0;

	if (!p->n_fn)
		return;
	qsort(p->fn, p->n_fn, sizeof(*p->fn), by_name);
	for (size_t i = 1; i < p->n_fn; i++) {
		struct profile_fn *to = &p->fn[out], *from = &p->fn[i];

		if (strcmp(to->name, from->name)) {
			p->fn[++out] = *from;
		} else {
			to->calls += from->calls;
			to->self += from->self;
			to->inclusive += from->inclusive;
		}
	}
	p->n_fn = out + 1;
}

void host_ftrace_lines(char *text, bool own, struct profile *p)
{
	struct profile file = { 0 };	/* its names are in @text */
	size_t room = 0;
	char *line, *save;

	for (line = strtok_r(text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		if (file.n_fn == room) {
			room = room ? room * 2 : 4096;
			file.fn = xrealloc(file.fn, room, sizeof(*file.fn));
		}
		file.n_fn += parse_line(line, own, &file.fn[file.n_fn]);
	}
	fold(&file);
	profile_add(p, &file);
	free(file.fn);
}

static int take_cpu(const struct ftrace *f, int cpu, struct profile *p,
		    struct err *err)
{
	char *name = xasprintf("trace_stat/function%d", cpu);
	char *path = xasprintf("%s/%s", f->dir, name);
	char *text = tracefs_instance_file_read(NULL, name, NULL);
	int rc = 0;

	if (text)
		host_ftrace_lines(text, f->own, p);
	/* A processor that is offline has none. */
	else if (f->cpu >= 0 || file_exists(path))
		rc = err_set(err, EXIT_ENVIRONMENT,
			     "--functions=ftrace: can't read %s", path);
	free(text);
	free(path);
	free(name);
	return rc;
}

static int ftrace_take(void *state, struct profile *p, struct counters *c,
		       struct err *err)
{
	struct ftrace *f = state;
	long n = sysconf(_SC_NPROCESSORS_CONF);
	int64_t calls = 0;

	for (int cpu = 0; cpu < n; cpu++)
		if ((f->cpu < 0 || f->cpu == cpu) &&
		    take_cpu(f, cpu, p, err))
			return -1;
	if (!p->n_fn)
		return err_set(err, EXIT_ENVIRONMENT,
			       "--functions=ftrace: ftrace counted no calls");
	for (size_t i = 0; i < p->n_fn; i++)
		calls += p->fn[i].calls;
	p->windows = !f->own;	/* what both passes tell is of one */
	if (!f->own)
		counters_set(c, "ftrace.calls", calls);
	counters_set(c, "ftrace.cpu", f->cpu);
	return 0;
}

const struct watcher watcher_ftrace_own = {
	.outside = true,
	.make = make_own,
	.begin = ftrace_begin,
	.end = ftrace_end,
	.take = ftrace_take,
	.free = ftrace_free,
};

const struct watcher watcher_ftrace_with = {
	.outside = true,
	.make = make_with,
	.begin = ftrace_begin,
	.end = ftrace_end,
	.take = ftrace_take,
	.free = ftrace_free,
};
