/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The table of metrics: the one description that text, JSON, "folab list" and
 * the man page's readers draw from.  How a value comes out of counters is
 * harness/analyse/value.c; names are a contract (docs/result.md).
 */
#include <string.h>

#include "record.h"

#define SHARE_PREFIX	"reclaim.share."

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

/* What "folab list metrics" shows for the whole family. */
static const struct metric share_family = {
	.name = SHARE_PREFIX "FUNCTION",
	.title = "share of FUNCTION",
	.unit = "share",
	/* Of a total that changes as well: neither way is better by itself. */
	.better = 0,
	.digits = 3,
	.help = SHARE_HELP,
};

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

static const struct metric *share_find(const char *name)
{
	const char *function = name + strlen(SHARE_PREFIX);
	struct share *s;

	if (!is_function(function))
		return NULL;
	for (s = shares; s; s = s->next)
		if (!strcmp(s->metric.name, name))
			return &s->metric;
	s = xcalloc(1, sizeof(*s));
	s->metric = share_family;
	s->metric.name = xstrdup(name);
	s->metric.title = s->metric.name + strlen(SHARE_PREFIX);
	s->next = shares;
	shares = s;
	return &s->metric;
}

const struct metric *metric_at(size_t i)
{
	if (i < ARRAY_SIZE(metrics))
		return &metrics[i];
	return i == ARRAY_SIZE(metrics) ? &share_family : NULL;
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
	if (str_starts(name, SHARE_PREFIX))
		return share_find(name);
	for (size_t i = 0; i < ARRAY_SIZE(metrics); i++)
		if (!strcmp(metrics[i].name, name))
			return &metrics[i];
	return NULL;
}
