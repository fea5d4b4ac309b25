/* SPDX-License-Identifier: GPL-2.0 */
#ifndef FOLAB_WORKLOADS_CLEAR_LATENCY_H
#define FOLAB_WORKLOADS_CLEAR_LATENCY_H

#include "workloads.h"

extern const struct workload clear_latency;

#endif
