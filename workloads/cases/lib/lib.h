/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of workloads/cases/lib share; programs include cases.h. */
#ifndef FOLAB_CASES_LIB_H
#define FOLAB_CASES_LIB_H

#define CASES_LIB
#include "cases.h"

#define CGROUPS		"/sys/fs/cgroup"
#define CASE_PREFIX	"folab-case"	/* of cgroups and directories */

/* Settings back, swap off: what knobs.c did, also in a process that died. */
void knobs_put_back(void);
/* Kill what runs in it and wait, then remove it and its children.  0, or -1
 * with case_why(). */
int cg_destroy(const char *cgroup);
int cg_kill(const char *cgroup);	/* all of them, and wait */
/* "name value" of a cgroup's flat file; -1: not there. */
int64_t cg_pair(const char *cgroup, const char *file, const char *name);
void file_forget(struct case_ctx *c, const char *path);

#endif
