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
	uint64_t bytes;		/* of its memory */
	char *size;		/* that, as perf takes it: "1024MB" */
	struct strlist functions;	/* of bench mem memset */
	struct strlist chunks;	/* that it is told, as our cells are named; with an
				 * old perf one, which is all of the memory */
	bool chunk_option;
	bool memset_2m;		/* its memset is told to use pages of 2M, as ours */
	/*
	 * What bench mem mmap is to do, "demand", "populate", on which pages, "4K",
	 * "2M", "1G"; none if it can't.  Larger ones than 4K are of hugetlb.
	 */
	struct strlist functions_mmap, pages;
	struct strlist failed;	/* "COUNTER: perf's own last line" */
	char *pool_failed;	/* why there were not enough huge pages, NULL */
};

/* Is there something in perf bench to set beside that workload? */
bool perf_bench_has(const char *workload);
/*
 * Ask perf what it has for @workload with @params.  EXIT_INTERRUPTED is the
 * only error.
 */
int perf_bench_probe(struct perf_bench *p, const char *workload,
		     const struct params *params, struct err *err);
/*
 * Run what belongs to the cells of @s and add perf.memset.METHOD.SIZE.
 * bytes_per_second, perf.mmap.FUNCTION.PAGE.bytes_per_second to it.  As root,
 * with the huge pages that perf needs reserved meanwhile, through the journal of
 * settings.
 */
int perf_bench_pass(struct perf_bench *p, struct sample *s, struct err *err);
void perf_bench_free(struct perf_bench *p);

#endif
