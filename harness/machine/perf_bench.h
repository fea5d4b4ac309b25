/* SPDX-License-Identifier: GPL-2.0 */
/*
 * perf_bench - the figures of "perf bench mem" of the perf that is installed,
 * taken between our own passes.  A perf that is missing, or can't do it, is a
 * line in ->what, never an error.
 */
#ifndef FOLAB_PERF_BENCH_H
#define FOLAB_PERF_BENCH_H

#include "../record/record.h"

struct perf_bench {
	char *what;		/* for the report: version, what it can and can't */
	char *size;		/* of its memory, as perf takes it: "1024MB" */
	struct strlist functions;	/* of bench mem memset */
	struct strlist chunks;	/* that it is told, as our cells are named; with an
				 * old perf one, which is all of the memory */
	bool chunk_option;
	bool mmap;		/* has bench mem mmap with --page */
	struct strlist failed;	/* what went wrong on the way */
};

/*
 * Ask perf what it has.  @params: of clear-chunk.  EXIT_INTERRUPTED is the only
 * error.
 */
int perf_bench_probe(struct perf_bench *p, const struct params *params,
		     struct err *err);
/*
 * Run what belongs to the cells of @s and add perf.memset.METHOD.SIZE.
 * bytes_per_second, perf.mmap.FUNCTION.PAGE.bytes_per_second to it.
 */
int perf_bench_pass(struct perf_bench *p, struct sample *s, struct err *err);
void perf_bench_free(struct perf_bench *p);

#endif
