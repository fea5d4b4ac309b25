/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The local machine: this host, its running kernel, real clocks.  Each pass
 * runs in a process of its own, as it does in a guest.
 */
#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <numa.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "../../workloads/knobs.h"
#include "../measure/measure.h"
#include "internal.h"

/* What a pass in a process of its own has to know. */
struct running {
	const struct machine_setup *setup;
	struct host_scratch scratch;
	struct knobs knobs;	/* of the whole run */
	char *cgroup;		/* parent of the passes' cgroups; NULL: none */
	pid_t parent;
	int64_t passes_done, passes;
};

/* ---- describe --------------------------------------------------------------- */

/* "32K", or "?" */
static const char *size_or(int64_t bytes, char *buf, size_t len)
{
	if (bytes <= 0)
		return "?";
	return format_size_short(bytes, buf, len);
}

static char *machine_text(const struct host *h)
{
	char l1[32], l2[32], llc[32];

	return xasprintf("%s, %" PRId64 " processor%s, caches %s %s %s, %.1f GiB, %" PRId64 " node%s",
			 h->cpu ? h->cpu : "a processor without a name",
			 h->cpus, h->cpus == 1 ? "" : "s",
			 size_or(h->l1d, l1, sizeof(l1)),
			 size_or(h->l2, l2, sizeof(l2)),
			 size_or(h->llc, llc, sizeof(llc)),
			 (double)h->memory / (1 << 30), h->nodes,
			 h->nodes == 1 ? "" : "s");
}

static char *settings_text(const struct host *h)
{
	/* What set_governors() will do about it. */
	bool change = h->governor && strcmp(h->governor, "performance") &&
		      !geteuid();

	return xasprintf("preemption %s, THP %s, governor %s%s",
			 h->preempt ? h->preempt : "not known",
			 h->thp ? h->thp : "not known",
			 h->governor ? h->governor : "not known",
			 change ? ", performance while it ran" : "");
}

static void read_cmdline(struct result *r)
{
	struct err ignored = { 0 };

	free(r->cmdline);
	r->cmdline = NULL;
	if (!file_read("/proc/cmdline", 65536, &r->cmdline, NULL, &ignored))
		r->cmdline[strcspn(r->cmdline, "\n")] = '\0';
}

static int local_describe(const struct machine_setup *setup, struct result *r,
			  struct err *err)
{
	struct image *im = &r->side[0];
	struct utsname u;

	uname(&u);
	free(r->clock);
	free(r->machine);
	free(r->machine_args);
	free(r->fs);
	host_free(&r->host);
	host_read(&r->host);
	r->has_host = true;
	r->host.bound_node = setup->bind_node ? setup->node : -1;
	r->host.bound_cpu = setup->bind_cpu ? setup->cpu : -1;
	r->clock = xstrdup("real");
	r->ns_per_instruction = 0;
	r->machine = machine_text(&r->host);
	r->machine_args = settings_text(&r->host);
	r->fs = host_scratch_text(workload_find(setup->job->workload),
				  &setup->place);
	read_cmdline(r);
	image_free(im);
	im->spec = xstrdup("running");
	im->arch = setup->arch;
	im->release = xstrdup(u.release);
	im->base = xstrdup(u.version);
	return 0;
}

/* ---- run -------------------------------------------------------------------- */

/* "size", and a bit for the rest: an OOM kill would end it otherwise. */
static int check_memory(const struct machine_setup *setup, struct err *err)
{
	const struct params *p = &setup->job->params;
	uint64_t want, now = host_memory_free();
	char size[32], have[32];

	if (!now || !params_find(p, "size"))
		return 0;
	want = (uint64_t)params_get(p, "size");
	now -= now % (1 << 20);	/* a number to be read */
	if (want + want / 16 <= now)
		return 0;
	return err_set(err, EXIT_ENVIRONMENT,
		       "size = %s does not fit into %s of free memory; make it smaller with -p size=SIZE",
		       format_size(want, size, sizeof(size)),
		       format_size(now, have, sizeof(have)));
}

/* Refuse what this machine can't give, before anything is made. */
static int check_place(const struct machine_setup *setup, struct err *err)
{
	cpu_set_t allowed;

	if (setup->bind_node) {
		if (numa_available() < 0 && setup->node)
			return err_set(err, EXIT_USAGE,
				       "this kernel knows no NUMA nodes: leave out --node");
		if (numa_available() >= 0 &&
		    !numa_bitmask_isbitset(numa_get_mems_allowed(),
					   setup->node))
			return err_set(err, EXIT_USAGE,
				       "there is no memory on a node %d for this process; this host's highest node is %d",
				       setup->node, numa_max_node());
	}
	CPU_ZERO(&allowed);
	if (setup->bind_cpu &&
	    (setup->cpu >= CPU_SETSIZE ||
	     sched_getaffinity(0, sizeof(allowed), &allowed) ||
	     !CPU_ISSET(setup->cpu, &allowed)))
		return err_set(err, EXIT_USAGE,
			       "this process may not run on processor %d",
			       setup->cpu);
#ifndef FOLAB_AGENT
	if ((setup->functions & FUNCTIONS_FTRACE) && host_ftrace_check(err))
		return -1;
#endif
	return check_memory(setup, err);
}

/* In the process that measures. */
static int bind_place(const struct machine_setup *setup, struct err *err)
{
	cpu_set_t one;

	if (setup->bind_node && numa_available() >= 0) {
		struct bitmask *node = numa_allocate_nodemask();

		numa_bitmask_setbit(node, setup->node);
		/* Not just preferred: memory of another node is no answer. */
		numa_set_bind_policy(1);
		numa_set_membind(node);
		numa_free_nodemask(node);
		if (!setup->bind_cpu && numa_run_on_node(setup->node))
			return err_sys(err, EXIT_ENVIRONMENT, errno,
				       "can't run on node %d", setup->node);
	}
	if (!setup->bind_cpu)
		return 0;
	CPU_ZERO(&one);
	CPU_SET(setup->cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		return err_sys(err, EXIT_ENVIRONMENT, errno,
			       "can't run on processor %d", setup->cpu);
	return 0;
}

static int enter(void *arg, struct err *err)
{
	const struct running *run = arg;

	/*
	 * Asked, not killed, when folab dies: what a workload set has to be put
	 * back.  The process may be an orphan already.
	 */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != run->parent)
		return err_set(err, EXIT_INTERRUPTED, "interrupted");
	return bind_place(run->setup, err);
}

/*
 * Passes behind those that count, each with something that slows what it
 * watches.  ftrace's library is not in the program for another host.
 */
static const struct watched_pass {
	unsigned asked;		/* FUNCTIONS_* */
	const struct watcher *watcher;
	const char *counters;	/* what its counters begin with */
	const char *wall;	/* where the time of its window goes; NULL: nowhere */
} watched_passes[] = {
	{ FUNCTIONS_SAMPLES, &watcher_sampler, "functions.",
	  "functions.wall_ns" },
#ifndef FOLAB_AGENT
	{ FUNCTIONS_FTRACE, &watcher_ftrace_with, "ftrace.", "ftrace.wall_ns" },
	{ FUNCTIONS_FTRACE, &watcher_ftrace_own, "ftrace.", NULL },
#endif
};

/* The @i-th of those that were asked for; NULL: there are no more. */
static const struct watched_pass *watched_pass(unsigned functions, int64_t i)
{
	for (size_t k = 0; k < ARRAY_SIZE(watched_passes); k++)
		if ((functions & watched_passes[k].asked) && i-- == 0)
			return &watched_passes[k];
	return NULL;
}

/* Those that count, and those that are watched. */
static int64_t all_passes(const struct running *run)
{
	int64_t n = 0;

	while (watched_pass(run->setup->functions, n))
		n++;
	return run->passes + n;
}

static bool idle(void *arg)
{
	const struct running *run = arg;

	if (!run->setup->silent)
		progress_step(run->passes_done, all_passes(run),
			      run->passes_done >= run->passes ?
			      "functions" : "pass %" PRId64,
			      run->passes_done + 1);
	return !intr_seen();
}

/*
 * Take the lines of a pass apart: its sample, its profile, or what it could not
 * do.
 */
static int take_lines(const struct lines *l, struct trial *t,
		      struct profile *profile, struct err *err)
{
	const char *at = l->text, *end = l->text + l->len;

	while (at && at < end) {
		const char *eol = memchr(at, '\n', end - at);
		struct wire w = { 0 };

		if (!eol)
			return err_set(err, EXIT_RUN,
				       "a pass ended within a line");
		if (wire_parse(at, eol - at, &w, err))
			return -1;
		at = eol + 1;
		if (w.type == WIRE_SAMPLE) {
			t->samples = xrealloc(t->samples, t->n_samples + 1,
					      sizeof(*t->samples));
			t->samples[t->n_samples++] = w.sample;
			memset(&w.sample, 0, sizeof(w.sample));
		} else if (w.type == WIRE_PROFILE) {
			profile_add(profile, &w.profile);
		} else if (w.type == WIRE_ERROR) {
			err_set(err, (int)w.code, "%s", w.text);
		}
		wire_free(&w);
	}
	return err->code ? -1 : 0;
}

/*
 * A file system without large folios gives none at all, and no further pass
 * changes that.  One that gives too few is a matter of validity.
 */
static int check_folios(const struct machine_setup *setup,
			const struct sample *s, struct err *err)
{
	const char *order = params_find(&setup->job->params, "order");
	int64_t large = 0;

	for (int o = 1; o < MAX_ORDER_SEEN; o++)
		large += s->order_pages[o];
	if (!order || !strcmp(order, "0") || large || !s->order_pages[0])
		return 0;
	return err_set(err, EXIT_ENVIRONMENT,
		       "the file system of %s gives no large folios on this kernel: %s, or measure with -p order=0",
		       setup->place.dir ? setup->place.dir : "the scratch file",
		       setup->place.dir ? "leave out --dir" :
		       "folab ab measures it in guests");
}

/* It is none of the samples: the last of them gets what it cost. */
static void keep_watched(const struct watched_pass *f, struct trial *t)
{
	struct sample *s = &t->samples[t->n_samples - 1];
	const struct counters *from = &s->counters;

	if (t->n_samples < 2)
		return;
	for (size_t i = 0; i < from->n; i++)
		if (str_starts(from->v[i].name, f->counters))
			counters_set(&s[-1].counters, from->v[i].name,
				     from->v[i].value);
	if (f->wall)
		counters_set(&s[-1].counters, f->wall,
			     counters_value(from, "time.wall_ns"));
	sample_free(s);
	t->n_samples--;
}

static int one_pass(struct running *run, const struct workload *w,
		    int64_t pass, struct trial *t, struct err *err)
{
	const struct machine_setup *setup = run->setup;
	const struct watched_pass *more = pass < run->passes ? NULL :
		watched_pass(setup->functions, pass - run->passes);
	struct place place = {
		.dir = run->scratch.path,
		.cgroup = run->cgroup,
		.seed = t->seed,
		.enter = enter,
		.idle = idle,
		.arg = run,
		.watcher = more ? more->watcher : NULL,
	};
	struct err end = { 0 };
	struct lines l = { 0 };
	int64_t samples = 0;
	int rc;

	run->parent = getpid();
	run->passes_done = pass;
	rc = pass_run(setup->job, w, pass, &place, &l, &samples, &end);
	if (take_lines(&l, t, more && more->asked == FUNCTIONS_FTRACE ?
		       &t->calls : &t->profile, err) || intr_check(err))
		rc = -1;
	else if (rc)
		err_set(err, end.code, "%s", end.text);
	lines_drop(&l);
	if (!rc && w->fs)
		rc = check_folios(setup, &t->samples[t->n_samples - 1], err);
	if (!rc && more)
		keep_watched(more, t);
	else if (!rc && setup->after_pass)
		rc = setup->after_pass(setup->after_arg, pass,
				       &t->samples[t->n_samples - 1], err);
	return rc;
}

/*
 * Only root can change settings.  Two runs would each take what the other has
 * set for what was there before, and disturb each other in any case.  A pass
 * that outlives us, to put settings back, has the lock too.
 */
#define GOVERNORS	"/sys/devices/system/cpu/cpufreq/policy*/scaling_governor"
#define HOST_LOCK	"/run/folab-host.lock"
#define HOST_JOURNAL	"/run/folab-host.settings"

static void waiting(void *arg)
{
	progress_note("waiting for another folab that measures on this host");
}

static int begin_settings(struct lock *lock, struct err *err)
{
	size_t n;

	if (geteuid())
		return 0;
	if (lock_wait(lock, HOST_LOCK, waiting, NULL, err))
		return -1;
	host_cgroup_sweep();
	host_scratch_sweep();
	n = knobs_replay(HOST_JOURNAL);
	if (n)
		progress_note("put back %zu settings that a killed run had changed",
			      n);
	knobs_journal(HOST_JOURNAL);
	return 0;
}

/* What a pass that died could not do itself, and what is ours. */
static void end_settings(struct running *run, struct lock *lock)
{
	if (geteuid())
		return;
	knobs_replay(HOST_JOURNAL);
	knobs_restore(&run->knobs);
	knobs_journal(NULL);
	lock_release(lock);
}

/* A processor that changes its speed measures that.  Not all can be told. */
static void set_governors(struct knobs *k)
{
	struct err ignored = { 0 };
	glob_t g;

	if (!glob(GOVERNORS, 0, NULL, &g))
		for (size_t i = 0; i < g.gl_pathc; i++) {
			knobs_set(k, g.gl_pathv[i], "performance", &ignored);
			err_clear(&ignored);
		}
	globfree(&g);
}

/* Whatever the workload needs besides memory. */
static int make_place(struct running *run, const struct workload *w,
		      struct err *err)
{
	const struct machine_setup *setup = run->setup;

	if (!geteuid())
		set_governors(&run->knobs);
	if (w->memcg && host_cgroup_begin(&run->cgroup, err))
		return -1;
	if (!w->fs)
		return 0;
	return host_scratch_make(&run->scratch, &setup->place,
				 w->fs_bytes(&setup->job->params), err);
}

static void leave_place(struct running *run)
{
	host_scratch_remove(&run->scratch);
	host_cgroup_sweep();
	free(run->cgroup);
}

static int run_passes(struct running *run, const struct workload *w,
		      struct trial *trials, size_t n, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < n && !rc; i++) {
		struct trial *t = &trials[i];

		t->done = true;
		for (int64_t pass = 0; pass < all_passes(run) && !rc; pass++)
			rc = one_pass(run, w, pass, t, err);
	}
	return rc;
}

static int local_run(const struct machine_setup *setup,
		     const struct image images[2], struct trial *trials,
		     size_t n, struct err *err)
{
	const struct workload *w = workload_find(setup->job->workload);
	struct running run = {
		.setup = setup,
		.passes = setup->job->passes,
		.scratch.fd = -1,
	};
	struct lock lock = { .fd = -1 };
	int rc = check_place(setup, err);

	if (rc || begin_settings(&lock, err))
		return -1;
	if (!setup->silent)
		progress_begin("run %s, %" PRId64 " passes", w->name,
			       run.passes);
	rc = make_place(&run, w, err);
	if (!rc)
		rc = run_passes(&run, w, trials, n, err);
	leave_place(&run);
	end_settings(&run, &lock);
	if (!setup->silent)
		progress_end(rc ? NULL : "done");
	return rc;
}

/* ---- before all of it ---------------------------------------------------------- */

int machine_place_check(const struct workload *w,
			const struct host_place *place, struct err *err)
{
	if (!w->fs && place->dir)
		return err_set(err, EXIT_USAGE,
			       "--dir: %s needs no file system", w->name);
	if (!w->fs && place->scratch)
		return err_set(err, EXIT_USAGE,
			       "--scratch: %s needs no file system", w->name);
	if (!w->memcg && place->mount)
		return err_set(err, EXIT_USAGE,
			       "--mount: %s needs no memory cgroup", w->name);
	if (place->dir && place->scratch)
		return err_set(err, EXIT_USAGE,
			       "--dir and --scratch: a file system that is there, or a new one, not both");
	return 0;
}

int machine_local_enter(const struct workload *w,
			const struct host_place *place, struct err *err)
{
	if (machine_place_check(w, place, err))
		return -1;
	if (!w->fs && !w->memcg)
		return 0;
	if (geteuid())
		return err_set(err, EXIT_ENVIRONMENT,
			       "%s needs root on this host (a memory cgroup, a scratch file system, settings of the kernel); folab ab measures it in guests, without",
			       w->name);
	return w->memcg ? host_cgroup_enter(place, err) : 0;
}

const struct machine_ops machine_local = {
	.name = "local",
	.describe = local_describe,
	.run = local_run,
};
