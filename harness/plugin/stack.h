/* SPDX-License-Identifier: GPL-2.0 */
/*
 * stack - one task's shadow call stack.
 *
 * It holds open activations.  Its clock counts the instructions charged to it;
 * what an activation cost is the clock when it closes less the clock when it
 * opened.  An exception puts a level on the stack: its handler has the clock
 * to itself, and on the return the clock is put back, so that the interrupted
 * functions never see what it cost.
 */
#ifndef FOLAB_PLUGIN_STACK_H
#define FOLAB_PLUGIN_STACK_H

#include "attribute.h"

enum plg_kind {
	KIND_FRAME,	/* called */
	KIND_TAIL,	/* jumped to by the one below; returns with it */
	KIND_INLINE,
	KIND_LEVEL,	/* an exception was taken here */
};

struct plg_activation {
	enum plg_kind kind;
	struct plg_scope *scope;	/* NULL: level */
	uint64_t clock;
	uint64_t ret;			/* frame: return address, 0: not known */
	struct plg_block *prev;		/* level: what was interrupted */
	bool whole;			/* level: and whether it was done */
};

struct plg_stack {
	struct plg_stack *next;
	uint64_t key;			/* address that names the task */
	uint64_t clock;
	size_t n, room;
	struct plg_activation *v;
};

/* Inline, since most blocks only look here. */
static inline struct plg_activation *plg_top(struct plg_stack *st)
{
	return st->n ? &st->v[st->n - 1] : NULL;
}

/* The frame, tail or not, that is running; NULL: none on this level. */
struct plg_activation *plg_top_frame(struct plg_stack *st);
struct plg_activation *plg_push(struct plg_stack *st, enum plg_kind kind,
				struct plg_scope *scope, uint64_t ret);
/*
 * A row's "active" tells an outermost activation from a recursive one, on the
 * present level only: set it aside (-1) while another level or task runs, and
 * back (1).
 */
void plg_level_active(struct plg_stack *st, int on);
/* An exception; @prev and @whole are kept for the return from it. */
void plg_level_push(struct plg_stack *st, struct plg_block *prev, bool whole);
/* Back to what was interrupted.  false: it was user space, nothing is left. */
bool plg_level_pop(struct plg_stack *st, struct plg_block **prev, bool *whole);
void plg_close_all(struct plg_stack *st);

/* Count a call if @s starts at a function's first instruction. */
void plg_arrive(const struct plg_segment *s);
/* Open the function of @s, and the instances that @s is in. */
void plg_enter(struct plg_stack *st, enum plg_kind kind,
	       const struct plg_segment *s, uint64_t ret);
/*
 * A jump or plain sequence to @s.  Out of the running function it is a tail
 * call; back into one that tail-called, that one goes on.
 */
void plg_go(struct plg_stack *st, const struct plg_segment *s);
/* A return to @s. */
void plg_go_back(struct plg_stack *st, const struct plg_segment *s);

#endif
