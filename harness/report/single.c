/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The report of a run of one kernel on this host.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sections.h"

void format_rate(char *buf, size_t len, double rate)
{
	if (!isfinite(rate))
		snprintf(buf, len, "-");
	else
		snprintf(buf, len, "%.*f", rate < 99.95 ? 1 : 0, rate);
}

const struct trial *chunk_trial(const struct result *r)
{
	for (size_t i = 0; i < r->n_trials; i++) {
		struct chunk_table table;
		bool is = chunk_table(&r->trials[i], &table);

		chunk_table_free(&table);
		if (is)
			return &r->trials[i];
	}
	return NULL;
}

static void add_rows(struct lines *l, const struct result *r)
{
	for (size_t i = 0; i < r->n_rows; i++) {
		const struct row *row = &r->rows[i];
		const struct metric *m = metric_find(row->metric);
		const char *function = metric_share(row->metric);
		char *name = clean_text(function ? function :
					m ? m->title : row->metric, "");
		char value[32], spread[32] = "";

		format_value(value, sizeof(value), metric_shown(m, row->a),
			     m ? m->digits : 1);
		if (isfinite(row->a_stdev_pct))
			snprintf(spread, sizeof(spread), " ±%.1f%%",
				 row->a_stdev_pct);
		lines_add(l, RANK_KEEP, "%s%s: %s%s",
			  function ? "share of " : "", name, value, spread);
		free(name);
	}
}

void single_text(struct lines *l, const struct result *r)
{
	section_title(l, r);
	section_invalid(l, r);
	section_sides(l, r);
	section_host(l, r);
	lines_add(l, RANK_BLANK, "%s", "");
	add_rows(l, r);
	section_samples(l, r);
	section_calls(l, r);
	section_chunk(l, r);
	section_perf(l, r);
	section_notes(l, r);
	section_again(l, r);
}
