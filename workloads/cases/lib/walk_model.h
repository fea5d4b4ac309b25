/* SPDX-License-Identifier: GPL-2.0 */
/*
 * walk_model - what every byte must be, in every walker, after each step.
 *
 * Content is kept in a pool of pages that the walkers see (read only) and compare
 * with.  Page 0 of the pool is all zero; pages are shared by counting, so that a
 * fork(2) costs nothing here either.
 */
#ifndef FOLAB_CASES_WALK_MODEL_H
#define FOLAB_CASES_WALK_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "walk_step.h"

#define WALK_SHMEMS		6
#define WALK_SHMEM_PAGES	128
#define WALK_OBJECTS		(WALK_FILES + WALK_SHMEMS)
#define WALK_POOL		8192	/* pages; more than all can hold at once */

/* After MADV_FREE a page may be zero at any time, until somebody writes. */
enum walk_maybe { SURE, MAY_GO, ONE_OF_TWO };

struct walk_vpage {
	uint8_t kind;		/* enum walk_kind */
	uint8_t object;		/* index into objects[]: files come first */
	uint8_t prot;
	uint8_t maybe;
	bool own;		/* WALK_COW: it has been written to */
	bool locked, dontfork;
	uint16_t off;		/* page of the object */
	uint32_t copy;		/* private content, page of the pool */
	uint32_t other;		/* the other possibility */
};

struct walk_object {
	size_t bytes;		/* EOF */
	uint32_t refs;		/* pages of walkers that map it */
	uint32_t pages[WALK_FILE_PAGES];
};

struct walk_model {
	size_t page;
	unsigned char *pool;	/* WALK_POOL pages */
	uint32_t *refs, *free;
	uint32_t n_free;
	bool alive[WALK_PROCS];
	struct walk_vpage v[WALK_PROCS][WALK_ARENA];
	struct walk_object objects[WALK_OBJECTS];
};

/* @pool: WALK_POOL pages of memory, all zero, shared with the walkers. */
struct walk_model *model_new(unsigned char *pool, size_t page);
void model_free(struct walk_model *m);

/*
 * Is it known what @s does, in this state?  A step that is not possible is left
 * out: so that any part of a walk is a walk.
 */
bool model_possible(const struct walk_model *m, const struct walk_step *s);
/* Do it.  What has to come back from it; ->pages and ->sig of accesses only. */
struct walk_reply model_apply(struct walk_model *m, const struct walk_step *s);

/* Signal that reading (or writing) it brings, 0: none. */
int model_signal(const struct walk_model *m, const struct walk_vpage *v,
		 bool write);
/* Page of the pool that it must be like. */
uint32_t model_content(const struct walk_model *m, const struct walk_vpage *v);
/* Of two possibilities a walker has seen which one it is. */
void model_seen(struct walk_model *m, struct walk_vpage *v, bool other);
/* -1: @buf is what @bytes bytes of the file from @pos on must be, else the
 * offset of the first wrong byte. */
long model_file_wrong(const struct walk_model *m, int object, size_t pos,
		      const unsigned char *buf, size_t bytes);

static inline bool walk_is_file(const struct walk_vpage *v)
{
	return v->kind == WALK_FILE || v->kind == WALK_COW;
}

/* The next step of the random walk @rng (state of the generator) is on. */
struct walk_gen {
	uint64_t state;
	int order;		/* of the folios that it is about */
	int anon_order, shmem_order;
	bool mglru;
};
void gen_begin(struct walk_gen *g, uint64_t seed);
/* A possible step; several that belong together come one by one. */
void gen_step(struct walk_gen *g, const struct walk_model *m,
	      struct walk_step *s);
uint64_t gen_below(struct walk_gen *g, uint64_t n);

#endif
