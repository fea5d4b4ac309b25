/* SPDX-License-Identifier: GPL-2.0 */
/* Folios that several processes map, and processes that come and go. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/young_util.h"

CASE_PROGRAM("folios mapped by many processes; storms beside reclaim", 90,
	     "quick");
CASES(mappers);

#define ORDER	4
#define HALF	8
#define MAPPERS	16

/* What one process maps of each folio, and touches when it is told. */
struct part {
	size_t first, pages;
	uint64_t touch;		/* pages of the part */
};

struct mapper {
	struct stage *s;
	const struct part *parts;	/* one a folio; .pages 0: not mapped */
	size_t n, shift;
};

static int map_and_touch(struct peer *me, void *arg)
{
	struct mapper *m = arg;
	struct stage *s = m->s;
	unsigned char *room = stage_room(s, m->n), *at[STAGE_FOLIOS];

	for (size_t i = 0; i < m->n; i++) {
		const struct part *p = &m->parts[i];

		at[i] = stage_place(s, room, i, m->shift) + p->first * s->page;
		if (p->pages && !stage_map(s, at[i], (int)i, p->first,
					   p->pages))
			return 1;
	}
	peer_step(me);		/* all have mapped */
	if (area_age(&s->file))
		return 2;
	peer_step(me);		/* all have aged */
	for (size_t i = 0; i < m->n; i++)
		if (m->parts[i].pages)
			stage_touch_mask(s, at[i], m->parts[i].touch);
	peer_step(me);		/* all have touched */
	peer_step(me);		/* looked at */
	return 0;
}

/*
 * @n processes map @folios folios (the first ones of the stage) as told; then
 * comes the look.
 */
static void look_at_mappers(struct __test_metadata *_metadata,
			    struct stage *s, struct mapper *m, size_t n)
{
	struct peer peer[MAPPERS];

	for (size_t i = 0; i < n; i++) {
		ASSERT_EQ(0, peer_start(&peer[i], map_and_touch, &m[i]))
			TH_LOG("%s", case_why());
		ASSERT_EQ(0, peer_meet(&peer[i]));
	}
	for (size_t i = 0; i < n; i++) {
		ASSERT_EQ(0, peer_meet(&peer[i]));
	}
	ASSERT_EQ(0, stage_stock(s)) TH_LOG("%s", case_why());
	for (size_t i = 0; i < n; i++) {
		ASSERT_EQ(0, peer_meet(&peer[i]));
	}
	ASSERT_EQ(0, stage_look(s)) TH_LOG("%s", case_why());
}

/* @folios folios, each of them mapped whole by @n processes. */
static void many(struct __test_metadata *_metadata, struct case_ctx *c,
		 size_t n)
{
	static struct part parts[MAPPERS][MAPPERS + 3];
	struct mapper m[MAPPERS];
	size_t folios = n + 3;
	struct stage s;

	CASE_NEEDS(stage_make(c, &s, ORDER, folios));
	ASSERT_EQ(0, stage_take(&s, folios)) TH_LOG("%s", case_why());
	for (size_t i = 0; i < n; i++) {
		for (size_t f = 0; f < folios; f++)
			parts[i][f] = (struct part){ 0, s.pages, 0 };
		/* Folio i is touched by the i-th, in its last page but i. */
		parts[i][i].touch = (uint64_t)1 << (s.pages - 1 - i);
		/* All touch this one, only first and last touch the next. */
		parts[i][n].touch = 0xffff;
		parts[i][n + 1].touch = i == 0 || i == n - 1 ? 0x8000 : 0;
		m[i] = (struct mapper){ &s, parts[i], folios, i % 4 };
	}
	look_at_mappers(_metadata, &s, m, n);
	for (size_t i = 0; i < n; i++) {
		EXPECT_DECISION(KEPT, &s, (int)i, "one process touched one page");
	}
	EXPECT_DECISION(n > 1 ? ACTIVE : KEPT, &s, (int)n, "all touched all");
	EXPECT_DECISION(n > 1 ? ACTIVE : KEPT, &s, (int)n + 1,
			"first and last process touched the last page");
	EXPECT_DECISION(GONE, &s, (int)n + 2, "nobody touched it");
}

/*
 * (design 6) However many processes map a folio, the one that touched one of its
 * pages keeps it, two make it active, and nobody's lets it go.
 */
CASE(mappers, one, 20)
{
	many(_metadata, c, 1);
}

CASE(mappers, two, 20)
{
	many(_metadata, c, 2);
}

CASE(mappers, sixteen, 30)
{
	many(_metadata, c, MAPPERS);
}

/*
 * (design 6) Processes that map parts of a folio: the search goes on until all
 * mappings are found, neither as many as the folio has pages nor fewer.
 */
CASE(mappers, parts_of_a_folio, 20)
{
	static const struct {
		const char *name;
		struct part a, b;
		enum decision then;
	} row[] = {
		{ "halves, first touched", { 0, 8, 0x80 }, { 8, 8, 0 }, KEPT },
		{ "halves, second touched", { 0, 8, 0 }, { 8, 8, 0x80 }, KEPT },
		{ "halves, both", { 0, 8, 0x01 }, { 8, 8, 0x80 }, ACTIVE },
		{ "halves, none", { 0, 8, 0 }, { 8, 8, 0 }, GONE },
		{ "one page and all others", { 0, 1, 0 }, { 1, 15, 0x4000 }, KEPT },
		{ "all others and one page", { 0, 15, 0 }, { 15, 1, 1 }, KEPT },
		{ "the same half, first", { 4, 8, 0x80 }, { 4, 8, 0 }, KEPT },
		{ "the same half, second", { 4, 8, 0 }, { 4, 8, 0x80 }, KEPT },
		{ "overlap, first", { 0, 12, 0x800 }, { 4, 12, 0 }, KEPT },
		{ "overlap, second", { 0, 12, 0 }, { 4, 12, 0x800 }, KEPT },
		{ "overlap, both", { 0, 12, 0x800 }, { 4, 12, 0x01 }, ACTIVE },
		{ "all and one page", { 0, 16, 0 }, { 15, 1, 1 }, KEPT },
		{ "one page and all", { 0, 1, 0 }, { 0, 16, 0x8000 }, KEPT },
	};
	enum { N = ARRAY_SIZE(row) };
	static struct part parts[2][N];
	struct mapper m[2];
	struct stage s;

	CASE_NEEDS(stage_make(c, &s, ORDER, N));
	ASSERT_EQ(0, stage_take(&s, N)) TH_LOG("%s", case_why());
	for (size_t i = 0; i < N; i++) {
		parts[0][i] = row[i].a;
		parts[1][i] = row[i].b;
	}
	for (size_t i = 0; i < 2; i++)
		m[i] = (struct mapper){ &s, parts[i], N, 1 };
	look_at_mappers(_metadata, &s, m, 2);
	for (size_t i = 0; i < N; i++) {
		EXPECT_DECISION(row[i].then, &s, (int)i, row[i].name);
	}
}

TEST_HARNESS_MAIN
