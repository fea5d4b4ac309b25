/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Canaries: content that must not change while a page beside it, in physical
 * memory, is cleared.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "lib.h"
#include "clear_util.h"

struct canaries {
	struct clear *k;
	unsigned char *at;
	size_t units;
	int fd;
	uint64_t *pfn;		/* of each unit */
};

static unsigned char *unit_at(const struct canaries *y, size_t i)
{
	return y->at + i * y->k->unit;
}

/* Index of the unit that begins with frame @pfn, -1. */
static int64_t unit_of(const struct canaries *y, uint64_t pfn)
{
	for (size_t i = 0; i < y->units; i++)
		if (y->pfn[i] == pfn)
			return (int64_t)i;
	return -1;
}

/* First byte of it that is not as it was filled, -1. */
static int64_t unit_wrong(const struct canaries *y, size_t i)
{
	const uint64_t all = 0x0101010101010101 * (uint64_t)CLEAR_SOIL;
	const unsigned char *at = unit_at(y, i);
	const uint64_t *w = (const uint64_t *)at;

	for (size_t n = 0; n < y->k->unit / 8; n += 4)
		if ((w[n] ^ all) | (w[n + 1] ^ all) | (w[n + 2] ^ all) |
		    (w[n + 3] ^ all))
			for (n *= 8;; n++)
				if (at[n] != CLEAR_SOIL)
					return (int64_t)n;
	return -1;
}

static int put_content(struct canaries *y, size_t i)
{
	clear_stain(unit_at(y, i), y->k->unit);
	y->pfn[i] = clear_frame(unit_at(y, i), y->k->unit);
	return y->pfn[i] ? 0 :
		case_fail("canary %zu is no folio of %zu bytes", i, y->k->unit);
}

static int give_back(struct canaries *y, size_t i)
{
	int how = y->k->kind == CLEAR_ANON || y->k->kind == CLEAR_HUGE ?
		MADV_DONTNEED : MADV_REMOVE;

	return madvise(unit_at(y, i), y->k->unit, how) ?
		case_fail("madvise: %s", strerror(errno)) : 0;
}

/* Canaries beside the unit @i as it lies now; how many sides, -1: one died. */
static int look_beside(const struct canaries *y, size_t i, size_t hint)
{
	const size_t pages = y->k->pages;
	uint64_t beside[2] = { y->pfn[i] - pages, y->pfn[i] + pages };
	int sides = 0;

	for (int s = 0; s < 2; s++) {
		int64_t n = unit_of(y, beside[s]), wrong;

		if (n < 0)
			continue;
		sides++;
		wrong = unit_wrong(y, (size_t)n);
		if (wrong >= 0)
			return case_fail("fault at page %zu of %zu: byte %" PRId64 " of the unit that lies %s it has changed",
					 hint, pages, wrong,
					 s ? "behind" : "before");
	}
	return sides;
}

/* Give back, fault again at page @hint, look around; sides watched or -1. */
static int disturb(struct canaries *y, size_t i, size_t hint)
{
	int64_t wrong;
	int sides;

	if (give_back(y, i) ||
	    clear_fault(unit_at(y, i), hint, WAY_POPULATE, y->fd))
		return -1;
	y->pfn[i] = clear_frame(unit_at(y, i), y->k->unit);
	if (!y->pfn[i])
		return case_fail("the unit that came back is no folio of %zu bytes",
				 y->k->unit);
	sides = look_beside(y, i, hint);
	wrong = sides < 0 ? -1 : clear_wrong(unit_at(y, i), y->k->unit);
	if (wrong >= 0)
		return case_fail("fault at page %zu of %zu: byte %" PRId64 " is not zero",
				 hint, y->k->pages, wrong);
	if (sides < 0 || put_content(y, i))
		return -1;
	return sides;
}

#define FEW_UNITS	3

static int disturb_all(struct canaries *y, size_t want, int want_sides)
{
	const size_t pages = y->k->pages;
	const size_t hints[] = {
		0, pages - 1, pages / 2, 1 % pages, pages / 2 - (pages > 1),
		pages - 1 - (pages > 1), pages / 4, pages / 4 * 3,
	};
	size_t turn = 0, watched = 0;

	/* A unit with one neighbour is tried at every place, too. */
	for (size_t round = 0; round < 8 && watched < want; round++)
		for (size_t i = 0; i < y->units && (watched < want ||
						    y->units > 8); i++) {
			int sides = disturb(y, i, hints[turn++ % 8]);

			if (sides < 0)
				return -1;
			watched += sides >= want_sides;
		}
	/* So few pages lie where the pool has them. */
	if (!watched && y->units <= FEW_UNITS)
		return case_lacks("no two of the %zu pages lie side by side: there is nothing to watch",
				  y->units);
	if (watched < want)
		return case_fail("only %zu of %zu faults had watched neighbours",
				 watched, turn);
	return 0;
}

int clear_canaries(struct clear *k, size_t units, size_t want, int sides)
{
	struct canaries y = { .k = k, .units = units, .fd = -1 };
	int64_t wrong = -1;
	int rc = 0;

	y.pfn = xcalloc(units, sizeof(*y.pfn));
	y.at = clear_map(k, units, &y.fd);
	if (!y.at)
		rc = case_fail("can't map %zu bytes: %s", units * k->unit,
			       strerror(errno));
	for (size_t i = 0; i < units && !rc; i++)
		rc = put_content(&y, i);
	if (!rc)
		rc = disturb_all(&y, want, sides);
	for (size_t i = 0; i < units && !rc && wrong < 0; i++) {
		wrong = unit_wrong(&y, i);
		if (wrong >= 0)
			rc = case_fail("at the end byte %" PRId64 " of unit %zu of %zu has changed",
				       wrong, i, units);
	}
	free(y.pfn);
	return rc;
}
