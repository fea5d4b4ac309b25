/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a run has to show whose window clears memory (clear-fault), or watches
 * somebody who waits for that (clear-latency).  validity.c has the rules.
 */
#include <inttypes.h>
#include <string.h>

#include "private.h"

/* At least this part of the frames that were cleared held something before. */
#define SOILED_SHARE_MIN	0.5

/* Who faults must find memory, or more than faulting is measured. */
static void check_clear_quiet(const struct where *w)
{
	static const struct quiet rules[] = {
		{ "vmstat.pgscan_kswapd", "kswapd did not scan",
		  "pages scanned by kswapd" },
		{ "vmstat.pgscan_direct", "nobody reclaimed",
		  "pages scanned by who needed memory" },
		{ "vmstat.compact_stall", "nobody compacted",
		  "times that a fault waited for compaction" },
		{ "vmstat.compact_migrate_scanned", "nobody compacted",
		  "pages scanned by compaction" },
		{ "vmstat.oom_kill", "nothing was killed",
		  "processes killed for memory" },
	};

	validity_zeros(w, rules, ARRAY_SIZE(rules));
}

/* All of it in folios of the order asked for: there is no reason for less. */
static void check_clear_orders(const struct where *w, double pages)
{
	double all = 0, wanted, order;

	if (!validity_need(w, "folios had the size asked for", "clear.order",
			   &order))
		return;
	for (int i = 0; i < MAX_ORDER_SEEN; i++)
		all += w->s->order_pages[i];
	wanted = order >= 0 && order < MAX_ORDER_SEEN ?
		w->s->order_pages[(int)order] : 0;
	if (pages <= 0 || wanted != pages || all != pages)
		validity_reason(w, "%.0f of %.0f pages are in folios of order %.0f, and %.0f are there at all",
		       wanted, pages, order, all);
}

static void check_clear_faults(const struct where *w, double pages)
{
	static const struct quiet rules[] = {
		{ "mthp.anon_fault_fallback", "", "folios were refused, and smaller ones taken" },
		{ "vmstat.thp_fault_fallback", "", "huge pages were refused, and small ones taken" },
	};
	double n, order, folios;
	int64_t v;

	if (validity_need(w, "each folio had one fault", "clear.faults", &n) &&
	    validity_need(w, "each folio had one fault", "clear.order", &order) &&
	    order >= 0 && order < MAX_ORDER_SEEN) {
		folios = pages / (1 << (int)order);
		if (n != folios)
			validity_reason(w, "%.0f faults for %.0f folios", n, folios);
	}
	/* Where the kernel has such pages at all. */
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		if (counters_get(&w->s->counters, rules[i].counter, &v) && v)
			validity_reason(w, "%" PRId64 " %s", v, rules[i].found);
}

/* Zeros are a proof where there was something else before. */
static void check_clear_zero(const struct where *w, double pages)
{
	double wrong, soiled;

	if (validity_need(w, "all was cleared", "clear.nonzero_words", &wrong) && wrong)
		validity_reason(w, "%.0f words of 8 bytes were not cleared", wrong);
	if (validity_need(w, "frames held anything before", "clear.soiled_pages",
		 &soiled) && soiled < pages * SOILED_SHARE_MIN)
		validity_reason(w, "only %.0f of %.0f frames held anything before: zeros prove nothing",
		       soiled, pages);
}

void validity_cleared(const struct where *w)
{
	double pages;

	check_clear_quiet(w);
	/* Workloads look at these as well, and may have said it already. */
	if (w->s->invalid.n ||
	    !validity_need(w, "all was faulted in", "clear.pages", &pages))
		return;
	check_clear_orders(w, pages);
	check_clear_faults(w, pages);
	check_clear_zero(w, pages);
}

/* ---- who waits -------------------------------------------------------------- */

/* The workload looks at the same, but then a guest is not to be trusted. */
void validity_latency(const struct where *w)
{
	const char *what = "it was watched from begin to end";
	double seen, due, delay, load;

	if (!validity_need(w, what, "latency.wakeups", &seen) ||
	    !validity_need(w, what, "latency.expected", &due) ||
	    !validity_need(w, what, "latency.max_ns", &delay) ||
	    !validity_need(w, what, "latency.load_ns", &load))
		return;
	if (w->s->invalid.n)
		return;		/* it may have said so */
	if (seen != due || due <= 0)
		validity_reason(w, "%.0f wake-ups of %.0f that were due were seen",
		       seen, due);
	if (delay < 0 || load <= 0)
		validity_reason(w, "a delay of %.0f ns in %.0f ns of clearing", delay,
		       load);
}
