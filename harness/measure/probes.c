/* SPDX-License-Identifier: GPL-2.0 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../plugin/window.h"
#include "measure.h"

/* Deltas of these are always told, where the kernel has them. */
static const char *const vmstat_names[] = {
	"allocstall_dma", "allocstall_dma32", "allocstall_movable",
	"allocstall_normal", "compact_free_scanned", "compact_migrate_scanned",
	"compact_stall", "htlb_buddy_alloc_success", "kswapd_high_wmark_hit_quickly",
	"kswapd_low_wmark_hit_quickly", "nr_vmscan_write", "oom_kill",
	"pageoutrun", "pgactivate", "pgdeactivate", "pgfault", "pgmajfault",
	"pgrefill", "pgrotated", "pgscan_direct", "pgscan_khugepaged",
	"pgscan_kswapd", "pgscan_proactive", "pgsteal_direct",
	"pgsteal_khugepaged", "pgsteal_kswapd", "pgsteal_proactive",
	"thp_fault_alloc", "thp_fault_fallback", "thp_fault_fallback_charge",
	"thp_split_page", "workingset_activate_file", "workingset_refault_file",
};

/* What the clocks and the scheduler say. */
struct clocks {
	struct timespec wall, cpu;
	struct rusage usage;
};

struct probes {
	bool threads;			/* of all threads, not only of this one */
	bool ready;			/* probes_ready() is done */
	const struct watcher *watcher;	/* NULL: none */
	void *watching;
	int kernel_fd, user_fd;		/* PMU, -1: has none */
	struct clocks before, after;
	struct counters vmstat_before, vmstat_after;
};

/* ---- PMU -------------------------------------------------------------------- */

/*
 * Instructions in one mode of this thread, @threads: and of those that it will
 * start; counts when its leader does.
 */
static int pmu_open(bool kernel, int leader, bool threads)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_INSTRUCTIONS,
		.disabled = leader < 0,
		.exclude_user = kernel,
		.exclude_kernel = !kernel,
		.exclude_hv = 1,
		.inherit = threads,
	};

	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, leader,
			    PERF_FLAG_FD_CLOEXEC);
}

static void pmu_note(int fd, const char *name, struct counters *c)
{
	uint64_t value;

	if (fd >= 0 && read(fd, &value, sizeof(value)) == sizeof(value))
		counters_set(c, name, (int64_t)value);
}

/* ---- clocks, vmstat ---------------------------------------------------------- */

static void clocks_read(struct clocks *c, bool threads)
{
	clock_gettime(CLOCK_MONOTONIC, &c->wall);
	clock_gettime(threads ? CLOCK_PROCESS_CPUTIME_ID :
				CLOCK_THREAD_CPUTIME_ID, &c->cpu);
	getrusage(threads ? RUSAGE_SELF : RUSAGE_THREAD, &c->usage);
}

static int64_t spec_ns(const struct timespec *from, const struct timespec *to)
{
	return (int64_t)(to->tv_sec - from->tv_sec) * 1000000000 +
	       (to->tv_nsec - from->tv_nsec);
}

static int64_t val_ns(const struct timeval *from, const struct timeval *to)
{
	return ((int64_t)(to->tv_sec - from->tv_sec) * 1000000 +
		(to->tv_usec - from->tv_usec)) * 1000;
}

static void vmstat_read(struct counters *c)
{
	struct err ignored = { 0 };
	char *text, *line, *save;
	size_t len;

	if (file_read("/proc/vmstat", 1 << 20, &text, &len, &ignored))
		return;
	for (line = strtok_r(text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		char *space = strchr(line, ' ');
		int64_t value;

		if (!space)
			continue;
		*space = '\0';
		for (size_t i = 0; i < ARRAY_SIZE(vmstat_names); i++)
			if (!strcmp(line, vmstat_names[i]) &&
			    !parse_int(space + 1, 0, INT64_MAX, &value))
				counters_set(c, line, value);
	}
	free(text);
}

/* ---- the window --------------------------------------------------------------- */

struct probes *probes_new(bool lock_memory, bool threads,
			  const struct watcher *watcher, void *watching,
			  struct err *err)
{
	struct probes *p = xcalloc(1, sizeof(*p));

	p->watcher = watcher;
	p->watching = watching;
	p->threads = threads;
	/* Emulated x86_64 has no PMU; then these counters are left out. */
	p->kernel_fd = pmu_open(true, -1, threads);
	p->user_fd = p->kernel_fd < 0 ? -1 :
		pmu_open(false, p->kernel_fd, threads);
	/* Not on demand, in the window. */
	if (mlockall(MCL_CURRENT) && lock_memory) {
		err_sys(err, EXIT_ENVIRONMENT, errno, "can't lock memory");
		probes_free(p);
		return NULL;
	}
	return p;
}

void probes_ready(struct probes *p)
{
	counters_free(&p->vmstat_before);
	counters_free(&p->vmstat_after);
	vmstat_read(&p->vmstat_before);
	/* What was mapped since probes_new(). */
	mlockall(MCL_CURRENT);
	p->ready = true;
}

void probes_begin(struct probes *p)
{
	if (!p->ready)
		probes_ready(p);
	p->ready = false;
	if (p->watcher && p->watcher->outside)
		p->watcher->begin(p->watching);
	clocks_read(&p->before, p->threads);
	if (p->kernel_fd >= 0) {
		ioctl(p->kernel_fd, PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP);
		ioctl(p->kernel_fd, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
	}
	/* Innermost, or it would see what the probes do themselves. */
	if (p->watcher && !p->watcher->outside)
		p->watcher->begin(p->watching);
	FOLAB_WINDOW_BEGIN();
}

void probes_end(struct probes *p, struct sample *sample)
{
	struct counters *c = &sample->counters;

	FOLAB_WINDOW_END();
	if (p->watcher && !p->watcher->outside)
		p->watcher->end(p->watching);
	if (p->kernel_fd >= 0)
		ioctl(p->kernel_fd, PERF_EVENT_IOC_DISABLE,
		      PERF_IOC_FLAG_GROUP);
	clocks_read(&p->after, p->threads);
	if (p->watcher && p->watcher->outside)
		p->watcher->end(p->watching);
	vmstat_read(&p->vmstat_after);

	pmu_note(p->kernel_fd, "pmu.kernel_instructions", c);
	pmu_note(p->user_fd, "pmu.user_instructions", c);
	counters_set(c, "time.wall_ns",
		     spec_ns(&p->before.wall, &p->after.wall));
	/*
	 * Of a window that is one system call the thread's CPU time is system
	 * time; of any other it is both, and instructions tell how to split it.
	 * getrusage(2) splits the same sum in the proportion of the ticks that
	 * the thread saw in all its life, so that a single tick in user mode
	 * long ago takes a percent from a short window.  Its view is kept.
	 */
	counters_set(c, "time.sys_ns", spec_ns(&p->before.cpu, &p->after.cpu));
	counters_set(c, "time.rusage_sys_ns", val_ns(&p->before.usage.ru_stime,
						     &p->after.usage.ru_stime));
	counters_set(c, "time.rusage_user_ns",
		     val_ns(&p->before.usage.ru_utime,
			    &p->after.usage.ru_utime));
	counters_set(c, "rusage.minflt", p->after.usage.ru_minflt -
		     p->before.usage.ru_minflt);
	counters_set(c, "rusage.majflt", p->after.usage.ru_majflt -
		     p->before.usage.ru_majflt);
	for (size_t i = 0; i < p->vmstat_after.n; i++) {
		const struct counter *v = &p->vmstat_after.v[i];
		char *name = xasprintf("vmstat.%s", v->name);

		counters_set(c, name, v->value -
			     counters_value(&p->vmstat_before, v->name));
		free(name);
	}
}

void probes_free(struct probes *p)
{
	if (!p)
		return;
	munlockall();
	if (p->user_fd >= 0)
		close(p->user_fd);
	if (p->kernel_fd >= 0)
		close(p->kernel_fd);
	counters_free(&p->vmstat_before);
	counters_free(&p->vmstat_after);
	free(p);
}
