/* SPDX-License-Identifier: GPL-2.0 */
/*
 * hot_set - memory that a program keeps in use, to see what is left of it in
 * the caches when something else has passed through them.  Private to
 * workloads/.
 */
#ifndef FOLAB_WORKLOADS_HOT_SET_H
#define FOLAB_WORKLOADS_HOT_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HOT_SET_LINE	64	/* bytes of a cache line, or a part of one */

struct hot_set {
	char *area;
	size_t bytes;
	size_t start, sampled;	/* the lines that hot_set_read() follows */
};

/*
 * @bytes: a multiple of 4096.  At most @sampled lines are read later, picked at
 * random, always alike; each holds the place of the next one, so that no
 * prefetcher knows it earlier.  Aborts without memory.
 */
void hot_set_init(struct hot_set *h, size_t bytes, size_t sampled);
void hot_set_free(struct hot_set *h);
/* Read all of it twice, in order: it is then where it fits. */
void hot_set_warm(const struct hot_set *h);
/* Nanoseconds that reading the sampled lines takes, one after the other. */
int64_t hot_set_read(const struct hot_set *h);

/*
 * Bytes of the data cache of @level that this processor has, or, @level 0, of
 * its last one; 0: the kernel does not say (Documentation/ABI/testing/
 * sysfs-devices-system-cpu).
 */
uint64_t cache_bytes(int level);

#endif
