/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a random walk does next.  It depends on the seed and on the model, on
 * nothing that a kernel says: so that two kernels are asked the same.
 */
#include "lib.h"
#include "walk_model.h"

#define TRIES		64	/* for a step that is possible */
#define LONGEST		96	/* pages of a mapping */

static uint64_t next(struct walk_gen *g)
{
	g->state += UINT64_C(0x9e3779b97f4a7c15);
	return mix64(g->state);
}

uint64_t gen_below(struct walk_gen *g, uint64_t n)
{
	return next(g) % n;
}

static bool one_in(struct walk_gen *g, uint64_t n)
{
	return !gen_below(g, n);
}

void gen_begin(struct walk_gen *g, uint64_t seed)
{
	static const int orders[] = { 2, 3, 4, 4, 4, 5, 6 };
	static const int others[] = { 0, 2, 4, 4, 5, 6, 7 };

	*g = (struct walk_gen){ .state = mix64(seed) };
	g->order = orders[gen_below(g, ARRAY_SIZE(orders))];
	g->anon_order = others[gen_below(g, ARRAY_SIZE(others))];
	g->shmem_order = others[gen_below(g, ARRAY_SIZE(others))];
	g->mglru = seed & 1;
}

/* ---- where -------------------------------------------------------------------- */

static int some_proc(struct walk_gen *g, const struct walk_model *m)
{
	int proc;

	do {
		proc = (int)gen_below(g, WALK_PROCS);
	} while (!m->alive[proc]);
	return proc;
}

static int folio(const struct walk_gen *g)
{
	return 1 << g->order;
}

/* Mostly whole folios, else any pages. */
static int some_len(struct walk_gen *g, int most)
{
	int len;

	if (one_in(g, 3))
		len = 1 + (int)gen_below(g, (uint64_t)most);
	else
		len = folio(g) * (1 + (int)gen_below(g, 4));
	return len < most ? len : most;
}

static int some_place(struct walk_gen *g, int len)
{
	int at = (int)gen_below(g, WALK_ARENA);

	/* Around the end of a page table there is always something going on. */
	if (one_in(g, 4))
		at = WALK_ARENA / 4 + (one_in(g, 2) ? WALK_ARENA / 2 : 0) -
			(int)gen_below(g, 2 * (uint64_t)folio(g));
	else if (!one_in(g, 4))
		at &= -folio(g);
	return at + len > WALK_ARENA ? WALK_ARENA - len : at < 0 ? 0 : at;
}

/* A run of pages that are mapped; false: there are none. */
static bool some_mapped(struct walk_gen *g, const struct walk_model *m,
			struct walk_step *s, int most)
{
	const struct walk_vpage *v;
	int first = (int)gen_below(g, WALK_ARENA), n = 0, len;

	s->proc = some_proc(g, m);
	v = m->v[s->proc];
	while (n < WALK_ARENA && !v[(first + n) % WALK_ARENA].kind)
		n++;
	if (n == WALK_ARENA)
		return false;
	s->at = (first + n) % WALK_ARENA;
	if (!one_in(g, 3))
		while (s->at % folio(g) && v[s->at - 1].kind)
			s->at--;
	len = some_len(g, most);
	for (s->len = 0; s->len < len && s->at + s->len < WALK_ARENA &&
	     v[s->at + s->len].kind; s->len++)
		;
	return true;
}

/* ---- what ----------------------------------------------------------------------- */

static int some_prot(struct walk_gen *g)
{
	switch (gen_below(g, 8)) {
	case 0: return PROT_NONE;
	case 1:
	case 2: return PROT_READ;
	}
	return PROT_READ | PROT_WRITE;
}

static bool gen_mmap(struct walk_gen *g, const struct walk_model *m,
		     struct walk_step *s)
{
	static const int kinds[] = {
		WALK_FILE, WALK_FILE, WALK_FILE, WALK_COW, WALK_SHMEM,
		WALK_ANON, WALK_ANON,
	};

	s->proc = some_proc(g, m);
	s->kind = kinds[gen_below(g, ARRAY_SIZE(kinds))];
	s->len = some_len(g, LONGEST);
	s->at = some_place(g, s->len);
	s->prot = one_in(g, 4) ? some_prot(g) : PROT_READ | PROT_WRITE;
	if (s->kind == WALK_SHMEM) {
		s->object = WALK_FILES + (int)gen_below(g, WALK_SHMEMS);
	} else if (s->kind != WALK_ANON) {
		s->object = (int)gen_below(g, WALK_FILES);
		s->pos = (unsigned int)gen_below(g, WALK_FILE_PAGES);
		/* Where folios are folded into contpte blocks, or may not be. */
		if (!one_in(g, 3))
			s->pos = (s->pos & -folio(g)) +
				(s->at & (folio(g) - 1));
	}
	return true;
}

static bool gen_mremap(struct walk_gen *g, const struct walk_model *m,
		       struct walk_step *s)
{
	if (!some_mapped(g, m, s, LONGEST))
		return false;
	if (one_in(g, 4))
		s->bytes = 1 + (unsigned int)gen_below(g, 16);
	else if (one_in(g, 6))
		s->advice = MREMAP_DONTUNMAP;
	s->to = some_place(g, s->len + (int)s->bytes);
	return true;
}

static bool gen_madvise(struct walk_gen *g, const struct walk_model *m,
			struct walk_step *s)
{
	static const int advice[] = {
		MADV_DONTNEED, MADV_DONTNEED, MADV_FREE, MADV_FREE,
		MADV_PAGEOUT, MADV_PAGEOUT, MADV_PAGEOUT, MADV_COLD,
		MADV_COLD, MADV_DONTFORK, MADV_DOFORK, MADV_DOFORK,
	};

	s->advice = advice[gen_below(g, ARRAY_SIZE(advice))];
	return some_mapped(g, m, s, LONGEST);
}

static bool gen_store(struct walk_gen *g, const struct walk_model *m,
		      struct walk_step *s)
{
	unsigned int page = (unsigned int)m->page;

	if (!some_mapped(g, m, s, WALK_BUF_PAGES / 2))
		return false;
	s->seed = (unsigned int)next(g);
	s->bytes = (unsigned int)s->len * page;
	if (one_in(g, 2)) {
		s->pos = (unsigned int)gen_below(g, page);
		s->bytes = 1 + (unsigned int)gen_below(g, one_in(g, 2) ? 64 :
						       2 * page);
	}
	s->len = 0;
	return true;
}

static bool gen_file(struct walk_gen *g, const struct walk_model *m,
		     struct walk_step *s)
{
	unsigned int page = (unsigned int)m->page, most = WALK_FILE_PAGES;
	unsigned int chunk = (unsigned int)folio(g);

	s->proc = some_proc(g, m);
	s->object = (int)gen_below(g, WALK_FILES);
	switch (gen_below(g, 10)) {
	case 0:
		s->op = WALK_TRUNCATE;
		s->bytes = (unsigned int)gen_below(g, most * page + 1);
		if (one_in(g, 2))
			s->bytes = s->bytes / page * page;
		/* Most of the time there is a file to work with. */
		if (!one_in(g, 3) && s->bytes < most / 2 * page)
			s->bytes += most / 2 * page;
		return true;
	case 1:
		s->op = WALK_DROP;
		return true;
	case 2: case 3: case 4: case 5:
		s->op = WALK_PREAD;
		s->bytes = WALK_BUF_PAGES * page;
		s->pos = (unsigned int)gen_below(g, 3) * s->bytes;
		return true;
	}
	/* A write(2) of a folio's size makes a folio of that size. */
	s->op = WALK_PWRITE;
	s->seed = (unsigned int)next(g);
	s->bytes = chunk * page;
	s->pos = (unsigned int)gen_below(g, most / chunk) * s->bytes;
	if (one_in(g, 4)) {
		s->bytes = 1 + (unsigned int)gen_below(g, 3 * page);
		s->pos = (unsigned int)gen_below(g, most * page - s->bytes);
	}
	return true;
}

/* What needs a range and nothing else. */
static bool gen_range(struct walk_gen *g, const struct walk_model *m,
		      struct walk_step *s)
{
	if (s->op == WALK_MPROTECT)
		s->prot = some_prot(g);
	return some_mapped(g, m, s, s->op == WALK_MUNMAP ? 32 : LONGEST);
}

static bool gen_fork(struct walk_gen *g, const struct walk_model *m,
		     struct walk_step *s)
{
	s->proc = some_proc(g, m);
	s->to = 1 + (int)gen_below(g, WALK_PROCS - 1);
	return !m->alive[s->to];
}

static bool gen_exit(struct walk_gen *g, const struct walk_model *m,
		     struct walk_step *s)
{
	s->proc = 1 + (int)gen_below(g, WALK_PROCS - 1);
	return m->alive[s->proc];
}

static bool gen_reclaim(struct walk_gen *g, const struct walk_model *m,
			struct walk_step *s)
{
	static const int swappiness[] = { 0, 1, 60, 100, 200 };

	s->bytes = (unsigned int)((16 + gen_below(g, 240)) * m->page);
	if (one_in(g, 2))
		s->to = 1 + swappiness[gen_below(g, ARRAY_SIZE(swappiness))];
	return true;
}

static bool gen_age(struct walk_gen *g, const struct walk_model *m,
		    struct walk_step *s)
{
	s->proc = some_proc(g, m);
	return true;
}

/* Of a hundred steps so many are of this kind. */
static const struct {
	int share, op;
	bool (*gen)(struct walk_gen *g, const struct walk_model *m,
		    struct walk_step *s);
} kinds_of_step[] = {
	{ 8, WALK_MMAP, gen_mmap },
	{ 3, WALK_MUNMAP, gen_range },
	{ 6, WALK_MPROTECT, gen_range },
	{ 6, WALK_MREMAP, gen_mremap },
	{ 12, WALK_MADVISE, gen_madvise },
	{ 3, WALK_MLOCK, gen_range },
	{ 4, WALK_MUNLOCK, gen_range },
	{ 3, WALK_FORK, gen_fork },
	{ 2, WALK_EXIT, gen_exit },
	{ 18, WALK_TOUCH, gen_range },
	{ 18, WALK_STORE, gen_store },
	{ 9, WALK_PWRITE, gen_file },	/* or another one of files */
	{ 3, WALK_AGE, gen_age },
	{ 5, WALK_RECLAIM, gen_reclaim },
};

static bool gen_one(struct walk_gen *g, const struct walk_model *m,
		    struct walk_step *s)
{
	int dice = (int)gen_below(g, 100);
	size_t i = 0;

	while (dice >= kinds_of_step[i].share)
		dice -= kinds_of_step[i++].share;
	s->op = kinds_of_step[i].op;
	return kinds_of_step[i].gen(g, m, s);
}

void gen_step(struct walk_gen *g, const struct walk_model *m,
	      struct walk_step *s)
{
	for (int i = 0; i < TRIES; i++) {
		*s = (struct walk_step){ 0 };
		if (gen_one(g, m, s) && model_possible(m, s))
			return;
	}
	/* There is always one that is. */
	*s = (struct walk_step){ .op = WALK_AGE };
}
