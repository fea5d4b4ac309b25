/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The table of metrics: the one description that text, JSON, "folab list" and
 * the man page's readers draw from.  How a value comes out of counters is
 * harness/analyse/value.c; names are a contract (docs/result.md).
 */
#include <string.h>

#include "record.h"

/* In the order of the report. */
static const struct metric metrics[] = {
	{
		.name = "reclaim.instructions_per_page",
		.title = "instructions/page",
		.unit = "instructions",
		.better = -1,
		.digits = 1,
		.help = "kernel instructions in the window (guest PMU, else plugin) / 4 KiB pages reclaimed (memory.stat pgsteal)",
	}, {
		.name = "reclaim.sys_seconds",
		.title = "system seconds",
		.unit = "s of the instruction clock",
		.better = -1,
		.digits = 4,
		.help = "system time of the reclaiming thread in the window, on the guest's clock",
	}, {
		.name = "reclaim.tlbi_per_folio",
		.title = "TLBI per folio",
		.unit = "invalidations",
		.better = -1,
		.digits = 2,
		.help = "TLB invalidations by address, by range and of everything (plugin) / folios reclaimed, which are pages reclaimed x folios / pages of the memory before the window",
	}, {
		.name = "reclaim.dsb_per_folio",
		.title = "DSB per folio",
		.unit = "barriers",
		.better = -1,
		.digits = 2,
		.help = "data synchronization barriers (plugin) / folios reclaimed, counted as for reclaim.tlbi_per_folio",
	}, {
		.name = "reclaim.atomics_per_folio",
		.title = "atomics per folio",
		.unit = "instructions",
		.better = -1,
		.digits = 2,
		.help = "atomic instructions (arm64 LSE and store-exclusive, x86 LOCK and XCHG; plugin) / folios reclaimed, counted as for reclaim.tlbi_per_folio",
	}, {
		.name = "reclaim.pages",
		.title = "pages reclaimed",
		.unit = "pages",
		.better = 0,
		.digits = 0,
		.help = "4 KiB pages reclaimed in the window: memory.stat pgsteal of the test's cgroup",
	}, {
		.name = "reclaim.pgscan",
		.title = "pgscan",
		.unit = "pages",
		.better = 0,
		.digits = 0,
		.help = "pages scanned in the window: memory.stat pgscan of the test's cgroup",
	}, {
		.name = "reclaim.pgsteal",
		.title = "pgsteal",
		.unit = "pages",
		.better = 0,
		.digits = 0,
		.help = "pages reclaimed in the window: memory.stat pgsteal of the test's cgroup",
	}, {
		.name = "reclaim.pgactivate",
		.title = "pgactivate",
		.unit = "pages",
		.better = 0,
		.digits = 0,
		.help = "pages activated in the window: memory.stat pgactivate of the test's cgroup",
	}, {
		.name = "chunk.gigabytes_per_second",
		.title = "best GB/s",
		.unit = "GB/s",
		.better = 1,
		.digits = 2,
		.real_time = true,
		.help = "10^9 bytes zeroed a second by the chunk and method that are fastest in the median over the passes",
	}, {
		.name = "clear.instructions_per_page",
		.title = "instructions/page",
		.unit = "instructions",
		.better = -1,
		.digits = 1,
		.help = "kernel instructions in the window (guest PMU, else plugin) / 4 KiB pages faulted in",
	}, {
		.name = "clear.instructions_per_folio",
		.title = "instructions/folio",
		.unit = "instructions",
		.better = -1,
		.digits = 0,
		.help = "kernel instructions in the window (guest PMU, else plugin) / folios faulted in (pagemap, kpageflags)",
	}, {
		.name = "clear.sys_seconds",
		.title = "system seconds",
		.unit = "s of the instruction clock",
		.better = -1,
		.digits = 4,
		.help = "CPU time of the faulting threads in the window, the kernel's part: what user instructions (guest PMU, else plugin) leave of it on the instruction clock, else as getrusage(2) splits it",
	}, {
		.name = "clear.user_seconds",
		.title = "user seconds",
		.unit = "s of the instruction clock",
		.better = -1,
		.digits = 5,
		.help = "CPU time of the faulting threads in the window, the program's part, which reads what was cleared (touch=): user instructions on the instruction clock, else as getrusage(2) splits it",
	}, {
		.name = "clear.user_instructions_per_page",
		.title = "user instr./page",
		.unit = "instructions",
		.better = -1,
		.digits = 1,
		.help = "user instructions in the window (guest PMU, else plugin) / 4 KiB pages faulted in",
	}, {
		.name = "clear.gigabytes_per_second",
		.title = "GB/s",
		.unit = "GB/s",
		.better = 1,
		.digits = 2,
		.help = "bytes faulted in / wall time of the window / 10^9; not on the instruction clock",
		.real_time = true,
	}, {
		.name = "clear.faults",
		.title = "faults",
		.unit = "faults",
		.better = 0,
		.digits = 0,
		.help = "faults of the window (getrusage minflt and majflt of the faulting threads)",
	}, {
		.name = "clear.pages",
		.title = "pages",
		.unit = "pages",
		.better = 0,
		.digits = 0,
		.help = "4 KiB pages that the window faulted in (pagemap, after it)",
	}, {
		.name = "clear.folios",
		.title = "folios",
		.unit = "folios",
		.better = 0,
		.digits = 0,
		.help = "folios that the window faulted in (pagemap and kpageflags, after it)",
	}, {
		.name = "latency.max_seconds",
		.title = "worst delay (us)",
		.unit = "s of the instruction clock",
		.better = -1,
		.digits = 1,
		.scale = 1e6,
		.help = "longest time from when a SCHED_FIFO thread was due to when it ran, while memory was cleared",
	}, {
		.name = "latency.p999_seconds",
		.title = "99.9 % delay (us)",
		.unit = "s of the instruction clock",
		.better = -1,
		.digits = 1,
		.scale = 1e6,
		.help = "99.9th percentile of these delays; wake-ups that came due while the thread waited count as well",
	}, {
		.name = "latency.max_mib",
		.title = "worst delay (MiB)",
		.unit = "MiB",
		.better = -1,
		.digits = 3,
		.help = "bytes that are cleared in the time of the worst delay: delay x bytes / time that all of them took; knows no clock",
	}, {
		.name = "latency.load_seconds",
		.title = "clearing (ms)",
		.unit = "s of the instruction clock",
		.better = 0,
		.digits = 2,
		.scale = 1e3,
		.help = "time that the clearing took, with the watcher's share",
	}, {
		.name = "latency.wakeups",
		.title = "wake-ups",
		.unit = "wake-ups",
		.better = 0,
		.digits = 0,
		.help = "wake-ups that were due while memory was cleared",
	},
};

#define SHARE_HELP	"instructions of the function and of all it called / kernel instructions in the window (plugin), 0 to 1"

/* Of a total that changes as well: neither way is better by itself. */
#define SHARE_FAMILY(prefix) {						\
	.name = prefix "FUNCTION",					\
	.title = "share of FUNCTION",					\
	.unit = "share",						\
	.better = 0,							\
	.digits = 3,							\
	.help = SHARE_HELP,						\
}

/* What "folab list metrics" shows for each family. */
static const struct metric families[] = {
	SHARE_FAMILY("reclaim.share."),
	SHARE_FAMILY("clear.share."),
};

#define FUNCTION	"FUNCTION"

/*
 * One metric for each function that somebody asked for.  They are few (a
 * scenario names them) and stay to the end of the program.
 */
static struct share {
	struct metric metric;
	struct share *next;
} *shares;

/* A C identifier, with what compilers put behind: "walk_pte_range.isra.0". */
static bool is_function(const char *s)
{
	return *s && strspn(s, "abcdefghijklmnopqrstuvwxyz"
			       "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
			       "0123456789_.$") == strlen(s) &&
	       strlen(s) < 512;
}

/* The family that @name is of, NULL: none. */
static const struct metric *family_of(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(families); i++)
		if (!strncmp(name, families[i].name,
			     strlen(families[i].name) - strlen(FUNCTION)))
			return &families[i];
	return NULL;
}

const char *metric_share(const char *name)
{
	const struct metric *family = family_of(name);

	return family ? name + strlen(family->name) - strlen(FUNCTION) : NULL;
}

static const struct metric *share_find(const char *name)
{
	struct share *s;

	if (!is_function(metric_share(name)))
		return NULL;
	for (s = shares; s; s = s->next)
		if (!strcmp(s->metric.name, name))
			return &s->metric;
	s = xcalloc(1, sizeof(*s));
	s->metric = *family_of(name);
	s->metric.name = xstrdup(name);
	s->metric.title = metric_share(s->metric.name);
	s->next = shares;
	shares = s;
	return &s->metric;
}

const struct metric *metric_at(size_t i)
{
	if (i < ARRAY_SIZE(metrics))
		return &metrics[i];
	i -= ARRAY_SIZE(metrics);
	return i < ARRAY_SIZE(families) ? &families[i] : NULL;
}

const char *metric_unit(const struct metric *m, const char *clock)
{
	if (str_ends(m->unit, " of the instruction clock") && clock &&
	    !strcmp(clock, "real"))
		return "s";
	return m->unit;
}

double metric_shown(const struct metric *m, double value)
{
	return m && m->scale ? value * m->scale : value;
}

const struct metric *metric_find(const char *name)
{
	if (metric_share(name))
		return share_find(name);
	for (size_t i = 0; i < ARRAY_SIZE(metrics); i++)
		if (!strcmp(metrics[i].name, name))
			return &metrics[i];
	return NULL;
}

enum subject subject_of(const char *workload)
{
	if (workload && str_starts(workload, "reclaim"))
		return SUBJECT_RECLAIM;
	if (workload && str_starts(workload, "clear-fault"))
		return SUBJECT_CLEAR;
	if (workload && str_starts(workload, "clear-latency"))
		return SUBJECT_LATENCY;
	return SUBJECT_OTHER;
}
