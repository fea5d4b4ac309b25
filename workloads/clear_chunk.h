/* SPDX-License-Identifier: GPL-2.0 */
#ifndef FOLAB_WORKLOADS_CLEAR_CHUNK_H
#define FOLAB_WORKLOADS_CLEAR_CHUNK_H

#include "workloads.h"

extern const struct workload clear_chunk;

/* For tests: what is measured as the @i-th of @n cells in a pass. */
size_t clear_chunk_cell(int64_t pass, size_t n, size_t i);
/* The first byte of @bytes at @p that is not @value; @bytes: there is none. */
size_t clear_chunk_differs(const void *p, int value, size_t bytes);

/*
 * Is every byte of a chunk zero afterwards, and none beside it?  Chunk and
 * CLEAR_GUARD bytes on both sides are dirt all over before.  @byte: the first
 * one that is not zero.
 */
#define CLEAR_GUARD	64
enum clear_proof { CLEAR_RIGHT, CLEAR_TOO_LITTLE, CLEAR_TOO_MUCH };
enum clear_proof clear_chunk_prove(void (*clear)(void *p, size_t bytes),
				   char *at, size_t chunk, size_t *byte);

#endif
