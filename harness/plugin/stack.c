/* SPDX-License-Identifier: GPL-2.0 */
/*
 * stack - one task's shadow call stack.
 *
 * Frames are matched by return address, not by depth, so that a mistake (a
 * stack that was there before the window, a return that nobody called for)
 * corrects itself at the next return.
 */
#include <stdlib.h>

#include "stack.h"

/* ---- one stack ----------------------------------------------------------- */

struct plg_activation *plg_top_frame(struct plg_stack *st)
{
	size_t i = st->n;

	while (i && st->v[i - 1].kind == KIND_INLINE)
		i--;
	if (!i || st->v[i - 1].kind == KIND_LEVEL)
		return NULL;
	return &st->v[i - 1];
}

struct plg_activation *plg_push(struct plg_stack *st, enum plg_kind kind,
				struct plg_scope *scope, uint64_t ret)
{
	struct plg_activation *e;

	if (st->n == st->room) {
		st->room = st->room ? st->room * 2 : 64;
		st->v = plg_checked(reallocarray(st->v, st->room,
						 sizeof(*st->v)));
	}
	e = &st->v[st->n++];
	*e = (struct plg_activation){ kind, scope, st->clock, ret };
	if (scope)
		scope->row->active++;
	return e;
}

/* Close what is on top; a level is not closed by this. */
static void pop(struct plg_stack *st)
{
	struct plg_activation *e = &st->v[--st->n];
	struct plg_row *row = e->scope->row;

	if (!--row->active)
		row->inclusive += st->clock - e->clock;
}

static void pop_to(struct plg_stack *st, size_t n)
{
	while (st->n > n)
		pop(st);
}

/* Where the activations of the present level begin. */
static size_t level_base(const struct plg_stack *st)
{
	size_t i = st->n;

	while (i && st->v[i - 1].kind != KIND_LEVEL)
		i--;
	return i;
}

/*
 * "active" tells an outermost activation of a function from a recursive one,
 * on the present level only: set it aside while another level runs.
 */
void plg_level_active(struct plg_stack *st, int on)
{
	size_t i = st->n;

	for (; i && st->v[i - 1].kind != KIND_LEVEL; i--)
		st->v[i - 1].scope->row->active += on;
}

void plg_level_push(struct plg_stack *st, struct plg_block *prev, bool whole)
{
	struct plg_activation *e;

	plg_level_active(st, -1);
	e = plg_push(st, KIND_LEVEL, NULL, 0);
	e->prev = prev;
	e->whole = whole;
}

/* Back to what was interrupted.  false: it was user space, nothing is left. */
bool plg_level_pop(struct plg_stack *st, struct plg_block **prev, bool *whole)
{
	pop_to(st, level_base(st));
	if (!st->n)
		return false;
	st->n--;
	st->clock = st->v[st->n].clock;
	*prev = st->v[st->n].prev;
	*whole = st->v[st->n].whole;
	plg_level_active(st, 1);
	return true;
}

void plg_close_all(struct plg_stack *st)
{
	struct plg_block *prev;
	bool whole;

	while (plg_level_pop(st, &prev, &whole))
		;
}

/* ---- scopes: inlined instances of the running frame ----------------------- */

static void open_instances(struct plg_stack *st, struct plg_scope *scope,
			   unsigned int above, uint64_t addr)
{
	if (scope->depth <= above)
		return;
	open_instances(st, scope->parent, above, addr);
	plg_push(st, KIND_INLINE, scope, 0);
	if (addr >= scope->entry && addr < scope->entry_end)
		scope->row->calls++;
}

static bool encloses(const struct plg_scope *outer, const struct plg_scope *s)
{
	while (s && s->depth > outer->depth)
		s = s->parent;
	return s == outer;
}

/* Control is at @addr, in @scope of the running frame's function. */
static void to_scope(struct plg_stack *st, struct plg_scope *scope,
		     uint64_t addr)
{
	struct plg_activation *e = plg_top(st);
	unsigned int depth;

	if (e->scope == scope)
		return;
	while (e->kind == KIND_INLINE && !encloses(e->scope, scope)) {
		pop(st);
		e = plg_top(st);
	}
	depth = e->kind == KIND_INLINE ? e->scope->depth : 0;
	open_instances(st, scope, depth, addr);
}

/* ---- from one block to the next ------------------------------------------- */

void plg_arrive(const struct plg_segment *s)
{
	if (s->begins)
		s->scope->function->row->calls++;
}

void plg_enter(struct plg_stack *st, enum plg_kind kind,
		  const struct plg_segment *s, uint64_t ret)
{
	plg_push(st, kind, s->scope->function, ret);
	to_scope(st, s->scope, s->start);
}

/*
 * A jump or plain sequence to @s.  Out of the running function it is a tail
 * call; back into one that tail-called, that one goes on.
 */
void plg_go(struct plg_stack *st, const struct plg_segment *s)
{
	struct plg_activation *e = plg_top_frame(st);
	size_t i;

	if (!e) {
		plg_arrive(s);
		plg_enter(st, KIND_FRAME, s, 0);
		return;
	}
	if (e->scope != s->scope->function) {
		plg_arrive(s);
		for (i = e - st->v; ; i--) {
			e = &st->v[i];
			if (e->scope == s->scope->function) {
				pop_to(st, i + 1);
				break;
			}
			if (e->kind == KIND_FRAME) {
				plg_enter(st, KIND_TAIL, s, 0);
				return;
			}
		}
	}
	to_scope(st, s->scope, s->start);
}

/* A return to @s. */
void plg_go_back(struct plg_stack *st, const struct plg_segment *s)
{
	size_t base = level_base(st), i;

	for (i = st->n; i > base; i--) {
		if (st->v[i - 1].kind == KIND_FRAME &&
		    st->v[i - 1].ret == s->start) {
			pop_to(st, i - 1);
			plg_go(st, s);
			return;
		}
	}
	/* A return that is a jump in disguise: drop the frame it used up. */
	if (s->begins) {
		struct plg_activation *e = plg_top_frame(st);

		while (e && e->kind == KIND_TAIL) {
			pop_to(st, e - st->v);
			e = plg_top_frame(st);
		}
		if (e && st->n - base > 1)
			pop_to(st, e - st->v);
		plg_go(st, s);
		return;
	}
	/* Unwound by other means, or from before the window. */
	for (i = st->n; i > base; i--) {
		if (st->v[i - 1].scope == s->scope->function) {
			pop_to(st, i);
			to_scope(st, s->scope, s->start);
			return;
		}
	}
	pop_to(st, base);
	plg_enter(st, KIND_FRAME, s, 0);
}

