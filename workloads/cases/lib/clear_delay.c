/* SPDX-License-Identifier: GPL-2.0 */
#include "lib.h"
#include "clear_delay.h"

int watch_delays(int (*load)(void *arg), void *arg, struct delays *d)
{
	struct err err = { 0 };
	struct watch *w;
	int64_t begin, end;
	int rc;

	*d = (struct delays){ 0 };
	/*
	 * A kernel that checks itself takes longer to wake up the watcher than
	 * for a period: nobody else would ever run.
	 */
	if (watch_start(&w, WATCH_PERIOD_NS * boot_param("slow", 1), &err))
		return case_fail("%s", err.text);
	begin = watch_now();
	rc = load(arg);
	end = watch_now();
	if (watch_end(w, begin, end, d, &err))
		return case_fail("%s", err.text);
	return rc;
}
