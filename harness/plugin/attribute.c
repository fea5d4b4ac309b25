/* SPDX-License-Identifier: GPL-2.0 */
/*
 * attribute - from one block to the next: calls, returns, exceptions and
 * switches between tasks.
 */
#include <stdlib.h>
#include <string.h>

#include "stack.h"

/*
 * A kernel under test may do anything, but shall not eat the host's memory:
 * what is deeper than any kernel stack could be is forgotten, and so are
 * sleeping tasks when there are more than a test would start.
 */
#define MAX_DEPTH	65536
#define MAX_STACKS	16384

/* ---- from one block to the next ------------------------------------------- */

static void take_exception(struct plg_attribution *a, struct plg_block *b,
			   struct plg_block *prev, bool whole, bool user)
{
	struct plg_stack *st = a->stack;
	bool from_user = b->from_user < 0 ? user : b->from_user;

	a->total.exceptions++;
	if (from_user)
		plg_close_all(st);
	else
		plg_level_push(st, prev, whole);
	b->segments[0].scope->function->row->calls++;
	plg_enter(st, KIND_FRAME, &b->segments[0], 0);
}

/* x86 synchronises itself by returning to the next instruction with IRET. */
static bool eret_to_self(const struct plg_block *prev, const struct plg_block *b)
{
	return b->start == prev->end && !b->entry &&
	       b->segments[0].scope->function ==
	       prev->segments[prev->n_segments - 1].scope->function;
}

/* Control passes from @prev to @b; @whole: from its end. */
static void pass(struct plg_attribution *a, struct plg_block *prev, bool whole,
		 struct plg_block *b)
{
	struct plg_stack *st = a->stack;
	const struct plg_segment *s = b->segments;
	bool user = !prev || prev->user;
	uint8_t flow;

	if (st->n > MAX_DEPTH)
		plg_close_all(st);
	if (whole && !user && prev->flow == FLOW_ERET &&
	    (b->user || !eret_to_self(prev, b)))
		user = !plg_level_pop(st, &prev, &whole);
	if (b->user) {
		if (st->n)
			plg_close_all(st);
		return;
	}
	if (user && prev && !prev->user && !b->entry) {
		/* A task that was preempted before the window goes on. */
		plg_enter(st, KIND_FRAME, s, 0);
		return;
	}
	if (b->entry || user) {
		take_exception(a, b, prev, whole, user);
		return;
	}

	flow = whole && prev ? prev->flow : FLOW_NEXT;
	if (flow == FLOW_CALL) {
		plg_arrive(s);
		plg_enter(st, KIND_FRAME, s, prev->end);
	} else if (flow == FLOW_RETURN) {
		plg_go_back(st, s);
	} else {
		plg_go(st, s);
	}
}

/* ---- what a block cost ----------------------------------------------------- */

/* Charge the first @done instructions of a block that did not run through. */
static void charge_part(struct plg_attribution *a, struct plg_block *b,
			uint32_t done)
{
	struct plg_stack *st = a->stack;
	uint32_t i, n = 0, k;

	for (i = 0; i < b->n_segments && n < done; i++) {
		struct plg_segment *s = &b->segments[i];
		struct plg_row *row = s->scope->row;

		if (i)
			plg_go(st, s);
		for (k = 0; k < s->n && n < done; k++, n++) {
			uint8_t event = b->ops[n].event;

			row->self++;
			st->clock++;
			if (event < N_EVENTS)
				row->events[event]++;
		}
	}
}

static void charge(struct plg_attribution *a, struct plg_block *b, uint32_t done)
{
	struct plg_stack *st = a->stack;
	uint32_t i;

	if (b->user) {
		a->total.user_instructions += done;
	} else if (done != b->n) {
		charge_part(a, b, done);
	} else {
		b->hits++;
		st->clock += b->segments[0].n;
		for (i = 1; i < b->n_segments; i++) {
			plg_go(st, &b->segments[i]);
			st->clock += b->segments[i].n;
		}
	}
}

/* Instructions of the block before @b that were done.  @b NULL: at the end. */
static uint32_t how_far(const struct plg_attribution *a,
			const struct plg_block *b, uint64_t begun)
{
	const struct plg_block *prev = a->prev;
	uint64_t done = begun - a->begun;

	if (done > prev->n)
		done = prev->n;
	if (!b || b->entry != ENTRY_FAULT || !done)
		return done;
	/* The one that faulted was begun, and will be begun again. */
	if (prev->ops[done - 1].access)
		done--;
	return done;
}

void plg_run(struct plg_attribution *a, struct plg_block *b, uint64_t begun)
{
	struct plg_block *prev = a->prev;
	bool whole = true;

	if (prev) {
		uint64_t done = begun - a->begun;

		if (done != prev->n || b->entry == ENTRY_FAULT)
			done = how_far(a, b, begun);
		whole = done == prev->n;
		charge(a, prev, done);
	}
	a->prev = b;
	a->begun = begun;

	/* Most blocks go on where the one before was. */
	if (prev && !b->user && !prev->user && !b->entry &&
	    (prev->flow <= FLOW_JUMP || !whole) && a->stack->n &&
	    plg_top(a->stack)->scope == b->segments[0].scope)
		return;
	pass(a, prev, whole, b);
	a->switching = b->switches || (a->switching && !b->user && !b->entry);
	if (b->switches)
		a->stored = false;
}

/* ---- tasks ------------------------------------------------------------------ */

static void stacks_free(struct plg_attribution *a)
{
	struct plg_stack *st;

	while ((st = a->stacks)) {
		a->stacks = st->next;
		free(st->v);
		free(st);
	}
	a->n_stacks = 0;
}

/* Becomes the running task's. */
static void stack_new(struct plg_attribution *a, uint64_t key)
{
	struct plg_stack *st = plg_checked(calloc(1, sizeof(*st)));

	if (a->n_stacks == MAX_STACKS)
		stacks_free(a);
	a->n_stacks++;
	a->stack = st;
	st->key = key;
	st->next = a->stacks;
	a->stacks = st;
}

static struct plg_stack *stack_find(struct plg_attribution *a, uint64_t key)
{
	struct plg_stack *st = a->stacks;

	while (st && st->key != key)
		st = st->next;
	return st;
}

void plg_switch_access(struct plg_attribution *a, bool store, uint64_t addr)
{
	struct plg_stack *st = a->stack, *old;

	if (!a->switching)
		return;
	if (store) {
		if (!a->stored || !a->arch->switch_first_store)
			a->store = addr;
		a->stored = true;
		return;
	}
	a->switching = false;
	if (!a->stored || addr == a->store)
		return;

	plg_level_active(st, -1);
	old = stack_find(a, a->store);
	if (old && old != st)
		old->key = 0;	/* its task is gone, the memory used again */
	st->key = a->store;
	a->stack = stack_find(a, addr);
	if (!a->stack)
		stack_new(a, addr);
	plg_level_active(a->stack, 1);
	if (!plg_top_frame(a->stack))
		plg_push(a->stack, KIND_FRAME, a->switch_row->scope, 0);
}

/* ---- a window ---------------------------------------------------------------- */

void plg_attribution_init(struct plg_attribution *a,
			  const struct plg_arch *arch,
			  struct plg_symbols *symbols)
{
	memset(a, 0, sizeof(*a));
	a->arch = arch;
	a->symbols = symbols;
	a->switch_row = plg_symbols_row(symbols, arch->switch_name);
}

void plg_begin(struct plg_attribution *a, uint64_t begun)
{
	size_t i;

	plg_attribution_free(a);
	memset(&a->total, 0, sizeof(a->total));
	for (i = 0; i < a->symbols->n_rows; i++) {
		struct plg_row *row = a->symbols->rows[i];

		row->calls = row->self = row->inclusive = row->active = 0;
		memset(row->events, 0, sizeof(row->events));
	}
	a->begun = begun;
	stack_new(a, 0);
}

/* Cut the block into segments; @b->segments has room for all. */
static void block_segments(struct plg_attribution *a, struct plg_block *b,
			   const uint8_t *size)
{
	const struct plg_piece *p = NULL;
	struct plg_segment *s = NULL;
	uint64_t addr = b->start;
	uint32_t i;

	for (i = 0; i < b->n; addr += size[i++]) {
		struct plg_scope *scope = a->symbols->unknown;
		bool begins = false;

		if (!p || addr < p->start || addr >= p->end)
			p = plg_symbols_find(a->symbols, addr);
		if (p) {
			scope = p->scope;
			begins = p->begins && addr == p->start;
		}
		if (!s || s->scope != scope || begins) {
			s = &b->segments[b->n_segments++];
			*s = (struct plg_segment){ scope, addr, 0, begins };
		}
		s->n++;
		if (b->ops[i].event < N_EVENTS)
			s->events[b->ops[i].event]++;
	}
	b->end = addr;
}

struct plg_block *plg_block_new(struct plg_attribution *a, uint64_t start,
				const struct plg_op *ops, const uint8_t *size,
				uint32_t n)
{
	struct plg_block *b = plg_checked(calloc(1, sizeof(*b)));
	const struct plg_piece *p;
	int from_user = -1;

	b->next = a->blocks;
	a->blocks = b;
	b->start = start;
	b->n = n;
	b->flow = ops[n - 1].flow;
	b->user = !(start >> 63);
	b->ops = plg_checked(malloc(n * sizeof(*ops)));
	memcpy(b->ops, ops, n * sizeof(*ops));
	b->from_user = -1;
	if (b->user)
		return b;

	b->segments = plg_checked(calloc(n, sizeof(*b->segments)));
	block_segments(a, b, size);
	b->segments = plg_checked(reallocarray(b->segments, b->n_segments,
					   sizeof(*b->segments)));
	p = plg_symbols_find(a->symbols, start);
	if (p) {
		b->entry = a->arch->entry(p, start, &from_user);
		b->from_user = from_user;
		b->switches = p->begins && start == p->start && a->switch_row &&
			      p->scope->row == a->switch_row;
	}
	return b;
}

static void fold(struct plg_attribution *a)
{
	struct plg_block *b;
	uint32_t i;
	int e;

	for (b = a->blocks; b; b = b->next) {
		for (i = 0; i < b->n_segments; i++) {
			struct plg_segment *s = &b->segments[i];

			s->scope->row->self += b->hits * s->n;
			for (e = 0; e < N_EVENTS; e++)
				s->scope->row->events[e] +=
					b->hits * s->events[e];
		}
	}
}

void plg_end(struct plg_attribution *a, uint64_t begun)
{
	struct plg_stack *st;
	size_t i;
	int e;

	if (a->prev)
		charge(a, a->prev, how_far(a, NULL, begun));
	a->prev = NULL;
	plg_close_all(a->stack);
	for (st = a->stacks; st; st = st->next) {
		if (st == a->stack)
			continue;
		plg_level_active(st, 1);
		plg_close_all(st);
	}
	fold(a);
	for (i = 0; i < a->symbols->n_rows; i++) {
		const struct plg_row *row = a->symbols->rows[i];

		a->total.kernel_instructions += row->self;
		for (e = 0; e < N_EVENTS; e++)
			a->total.events[e] += row->events[e];
	}
}

void plg_attribution_free(struct plg_attribution *a)
{
	struct plg_block *b;

	while ((b = a->blocks)) {
		a->blocks = b->next;
		free(b->segments);
		free(b->ops);
		free(b);
	}
	stacks_free(a);
	a->stack = NULL;
	a->prev = NULL;
	a->switching = false;
}
