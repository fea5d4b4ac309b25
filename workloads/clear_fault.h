/* SPDX-License-Identifier: GPL-2.0 */
#ifndef FOLAB_WORKLOADS_CLEAR_FAULT_H
#define FOLAB_WORKLOADS_CLEAR_FAULT_H

#include "workloads.h"

extern const struct workload clear_fault;

/*
 * For tests: words of 8 bytes in @folio that are neither 0 nor, in the one at
 * byte @written (-1: none), what a fault writes there.
 */
int64_t clear_fault_wrong_words(const char *folio, uint64_t bytes,
				int64_t written);

#endif
