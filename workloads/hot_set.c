/* SPDX-License-Identifier: GPL-2.0 */
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "../harness/base/base.h"
#include "hot_set.h"

#define CACHE_LEAVES	16	/* more than any processor has */

static size_t *line_at(const struct hot_set *h, size_t i)
{
	return (size_t *)(h->area + i * HOT_SET_LINE);
}

/*
 * One ring through @n of the lines, a random one out of each n-th part, in
 * random order (Sattolo's shuffle: it has a single cycle).
 */
static void make_ring(struct hot_set *h, size_t lines, size_t n)
{
	size_t *of = xcalloc(n, sizeof(*of)), *next = xcalloc(n, sizeof(*next));

	for (size_t i = 0; i < n; i++) {
		size_t low = i * lines / n, high = (i + 1) * lines / n;

		of[i] = low + mix64(i) % (high - low);
		next[i] = i;
	}
	for (size_t i = n - 1; i > 0; i--) {
		size_t k = mix64(~i) % i, t = next[i];

		next[i] = next[k];
		next[k] = t;
	}
	for (size_t i = 0; i < n; i++)
		*line_at(h, of[i]) = of[next[i]];
	h->start = of[0];
	h->sampled = n;
	free(next);
	free(of);
}

void hot_set_init(struct hot_set *h, size_t bytes, size_t sampled)
{
	size_t lines = bytes / HOT_SET_LINE;

	/* On 2M pages, or a miss in the TLB passes for one in the cache. */
	if (posix_memalign((void **)&h->area, 2 << 20, bytes))
		abort();
	madvise(h->area, bytes, MADV_HUGEPAGE);
	memset(h->area, 0, bytes);
	h->bytes = bytes;
	make_ring(h, lines, lines < sampled ? lines : sampled);
}

void hot_set_free(struct hot_set *h)
{
	free(h->area);
	memset(h, 0, sizeof(*h));
}

void hot_set_warm(const struct hot_set *h)
{
	size_t sum = 0;

	for (int round = 0; round < 2; round++)
		for (size_t i = 0; i < h->bytes / HOT_SET_LINE; i++)
			sum += *(volatile size_t *)line_at(h, i);
	asm volatile("" : : "r"(sum));
}

int64_t hot_set_read(const struct hot_set *h)
{
	struct timespec a, b;
	size_t at = h->start;

	clock_gettime(CLOCK_MONOTONIC, &a);
	for (size_t i = 0; i < h->sampled; i++)
		at = *(volatile size_t *)line_at(h, at);
	asm volatile("" : : "r"(at));
	clock_gettime(CLOCK_MONOTONIC, &b);
	return (int64_t)(b.tv_sec - a.tv_sec) * 1000000000 +
	       (b.tv_nsec - a.tv_nsec);
}

/* A file of sysfs without its newline; NULL: it is not there. */
static char *leaf_read(int cpu, int leaf, const char *name)
{
	char *path = xasprintf("/sys/devices/system/cpu/cpu%d/cache/index%d/%s",
			       cpu, leaf, name), *text = NULL;
	struct err ignored = { 0 };

	if (!file_read(path, 256, &text, NULL, &ignored))
		text[strcspn(text, "\n")] = '\0';
	free(path);
	return text;
}

uint64_t cache_bytes(int level)
{
	int cpu = sched_getcpu(), best = 0;
	uint64_t bytes = 0;

	for (int leaf = 0; leaf < CACHE_LEAVES; leaf++) {
		char *type = leaf_read(cpu < 0 ? 0 : cpu, leaf, "type");
		char *text = leaf_read(cpu < 0 ? 0 : cpu, leaf, "level");
		char *size = leaf_read(cpu < 0 ? 0 : cpu, leaf, "size");
		uint64_t found;
		int64_t n;

		if (type && text && size && strcmp(type, "Instruction") &&
		    !parse_int(text, 1, 9, &n) && !parse_size(size, &found) &&
		    (level ? n == level : n > best)) {
			best = n;
			bytes = found;
		}
		free(size);
		free(text);
		free(type);
	}
	return bytes;
}
