/* SPDX-License-Identifier: GPL-2.0 */
/*
 * reclaim_file - reclaim mapped, file-backed folios of a memory cgroup.
 * Private to workloads/.
 */
#ifndef FOLAB_WORKLOADS_RECLAIM_FILE_H
#define FOLAB_WORKLOADS_RECLAIM_FILE_H

#include "workloads.h"

extern const struct workload reclaim_file;

#endif
