/* SPDX-License-Identifier: GPL-2.0 */
/*
 * hugetlb: the pool of a size, and what it counts.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib.h"
#include "clear_util.h"

#define HUGE	"/sys/kernel/mm/hugepages/hugepages-%zukB/%s"

/* A number in a file of the size's directory, -1. */
static int64_t pool_number(size_t unit, const char *file)
{
	char *path = xasprintf(HUGE, unit >> 10, file), *text = NULL;
	struct err err = { 0 };
	int64_t n = -1;

	if (!file_read(path, 64, &text, NULL, &err))
		n = strtoll(text, NULL, 10);
	free(text);
	free(path);
	return n;
}

int huge_pool(struct case_ctx *c, size_t unit, size_t pages)
{
	char *path = xasprintf(HUGE, unit >> 10, "nr_hugepages"), text[32];
	int64_t have = pool_number(unit, "nr_hugepages");
	int rc = 0;

	snprintf(text, sizeof(text), "%zu", pages);
	if (have < 0)
		rc = case_lacks("this kernel has no huge pages of %zu KiB",
				unit >> 10);
	else if (have != (int64_t)pages)
		rc = case_knob(c, path, text);
	free(path);
	if (rc)
		return rc;
	have = pool_number(unit, "nr_hugepages");
	if (have != (int64_t)pages)
		return case_fail("of %zu huge pages of %zu KiB the kernel gave %" PRId64,
				 pages, unit >> 10, have);
	return 0;
}

/* ---- counts --------------------------------------------------------------------- */

/* As hugetlb's files in a cgroup name a size. */
static void size_name(size_t unit, char *buf, size_t len)
{
	if (unit >= (size_t)1 << 30)
		snprintf(buf, len, "%zuGB", unit >> 30);
	else if (unit >= (size_t)1 << 20)
		snprintf(buf, len, "%zuMB", unit >> 20);
	else
		snprintf(buf, len, "%zuKB", unit >> 10);
}

int huge_cgroup(struct case_ctx *c)
{
	char text[64];

	/* The case's cgroup is one of the root's. */
	if (cg_write("", "cgroup.subtree_control", "+hugetlb"))
		return case_lacks("this kernel has no hugetlb cgroup");
	if (cg_read(c->cgroup, "hugetlb.2MB.current", text, sizeof(text)) &&
	    cg_read(c->cgroup, "cgroup.controllers", text, sizeof(text)))
		return case_fail("cgroup %s has no controllers", c->cgroup);
	return 0;
}

static int64_t charged(struct case_ctx *c, size_t unit, const char *what)
{
	char size[32], text[64], *file;
	int rc;

	size_name(unit, size, sizeof(size));
	file = xasprintf("hugetlb.%s.%scurrent", size, what);
	rc = cg_read(c->cgroup, file, text, sizeof(text));
	free(file);
	return rc ? -1 : strtoll(text, NULL, 10);
}

int huge_counts(struct case_ctx *c, size_t unit, struct huge_counts *h)
{
	*h = (struct huge_counts){
		.total = pool_number(unit, "nr_hugepages"),
		.free = pool_number(unit, "free_hugepages"),
		.reserved = pool_number(unit, "resv_hugepages"),
		.surplus = pool_number(unit, "surplus_hugepages"),
		.charged = charged(c, unit, ""),
		.charged_reserved = charged(c, unit, "rsvd."),
	};
	if (h->total < 0)
		return case_lacks("this kernel has no huge pages of %zu KiB",
				  unit >> 10);
	return 0;
}
