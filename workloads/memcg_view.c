/* SPDX-License-Identifier: GPL-2.0 */
#include <stdlib.h>
#include <string.h>

#include "memcg_view.h"

/* Differences that are told even if they are 0. */
static const char *const always[] = {
	"pgscan", "pgsteal", "pgactivate", "pgdeactivate", "pgrefill", "file",
	"file_mapped", "file_dirty", "pgfault", "pgmajfault", NULL
};

/* What stood there before. */
static const char *const states[] = {
	"file", "file_mapped", "file_dirty", "active_file", "inactive_file",
	"pagetables", NULL
};

static bool is_in(const char *const *list, const char *name)
{
	for (; *list; list++)
		if (!strcmp(*list, name))
			return true;
	return false;
}

static void note(struct counters *to, const char *prefix, const char *name,
		 int64_t value)
{
	char *full = xasprintf("%s.%s", prefix, name);

	counters_set(to, full, value);
	free(full);
}

static void add_pair(void *arg, const char *name, int64_t value)
{
	counters_set(arg, name, value);
}

int memcg_view_read(struct memcg *cg, struct memcg_view *v, struct err *err)
{
	struct err no_psi = { 0 };

	if (memcg_pairs(cg, "stat", add_pair, &v->stat, err) ||
	    memcg_pairs(cg, "events", add_pair, &v->events, err) ||
	    memcg_get(cg, "current", &v->current, err))
		return -1;
	if (memcg_pressure(cg, &v->some_us, &v->full_us, &no_psi))
		v->some_us = v->full_us = -1;
	return 0;
}

void memcg_view_free(struct memcg_view *v)
{
	counters_free(&v->stat);
	counters_free(&v->events);
}

int memcg_view_stat(struct memcg *cg, const char *name, int64_t *value,
		    struct err *err)
{
	struct counters stat = { 0 };
	int ret = memcg_pairs(cg, "stat", add_pair, &stat, err);

	if (!ret)
		*value = counters_value(&stat, name);
	counters_free(&stat);
	return ret;
}

void memcg_view_note(const struct memcg_view *before,
		     const struct memcg_view *after, struct counters *to)
{
	counters_set(to, "memory.current_before", before->current);
	counters_set(to, "memory.current_after", after->current);
	for (size_t i = 0; i < before->stat.n; i++)
		if (is_in(states, before->stat.v[i].name))
			note(to, "memcg_before", before->stat.v[i].name,
			     before->stat.v[i].value);
	for (size_t i = 0; i < after->stat.n; i++) {
		const char *name = after->stat.v[i].name;
		int64_t delta = after->stat.v[i].value -
				counters_value(&before->stat, name);

		if (delta || is_in(always, name))
			note(to, "memcg", name, delta);
	}
	for (size_t i = 0; i < after->events.n; i++)
		note(to, "events", after->events.v[i].name,
		     after->events.v[i].value);
	if (before->some_us >= 0 && after->some_us >= 0) {
		counters_set(to, "pressure.some_us",
			     after->some_us - before->some_us);
		counters_set(to, "pressure.full_us",
			     after->full_us - before->full_us);
	}
}
