/* SPDX-License-Identifier: GPL-2.0 */
/*
 * mapper - processes that map the workload's file and do to it what they are
 * told.  They live in the test cgroup, so that what they touch first is
 * charged there; whoever tells them does not.  Private to workloads/.
 *
 * A mapper sleeps in read(2) between two orders and dies with its maker.
 */
#ifndef FOLAB_WORKLOADS_MAPPER_H
#define FOLAB_WORKLOADS_MAPPER_H

#include "folios.h"

enum mapper_op {
	MAPPER_FILL,	/* read(2) the file, so that folios have mapper_order's order */
	MAPPER_ORDERS,	/* count the file's folios by a mapping of all of it */
	MAPPER_MAP,	/* map it and touch each page */
	MAPPER_DIRTY,	/* write into .dirty percent of the pages */
	MAPPER_AGE,	/* clear the young bit of all its PTEs */
	MAPPER_TOUCH,	/* touch .young percent of the pages */
	MAPPER_COUNT,	/* count folios */
};

struct mapper_file {
	const char *path;
	uint64_t bytes;
	int order;		/* wanted folio order */
	int64_t seed;		/* moves the mapping, see mapper_shift() */
	int young, dirty;	/* percent of the pages */
	bool partial;		/* only a half of each folio is mapped */
	unsigned int cont_pages;	/* see folios.h */
};

struct mapper {
	pid_t pid;		/* 0: none */
	int order_fd, reply_fd;
};

/* Start one; it must be told nothing before it is where it should be charged. */
int mapper_start(struct mapper *m, const struct mapper_file *file,
		 struct err *err);
/* Carry out @op and wait.  @count is filled by MAPPER_COUNT and
 * _ORDERS, else NULL. */
int mapper_do(struct mapper *m, enum mapper_op op, struct folio_count *count,
	      struct err *err);
void mapper_stop(struct mapper *m);	/* idempotent */

/* KiB of readahead that make read(2) fill a file with folios of that order. */
int mapper_readahead_kib(int order);
/* Is @page one of the @percent? The same answer every time, pages scattered. */
bool mapper_dirties(uint64_t page, int percent);
bool mapper_touches(uint64_t page, int percent);
/* Bytes behind a PMD's boundary where the mapping begins: a multiple of the
 * folio and of 64 KiB. */
uint64_t mapper_shift(int order, int64_t seed);
/*
 * Does a mapper of @file map @page?  Partly mapped are the second half of a
 * folio and the first half of the next one, by a VMA for the two: it begins and
 * ends in the middle of a folio.
 */
bool mapper_maps(const struct mapper_file *file, uint64_t page);
/* What MAPPER_DIRTY writes at the beginning of a page. */
uint64_t mapper_pattern(uint64_t page);

#endif
