/* SPDX-License-Identifier: GPL-2.0 */
/*
 * attribute - whose instructions these are: from the stream of blocks that
 * ran to calls, self and inclusive instructions of each function.
 *
 * Knows nothing of QEMU.  A block is code that the emulator translated as a
 * whole; it runs from its first instruction on, to the end or until one
 * faults.  plg_run() is told of each block when it begins, and by the count of
 * instructions begun so far, how far the one before came.
 */
#ifndef FOLAB_PLUGIN_ATTRIBUTE_H
#define FOLAB_PLUGIN_ATTRIBUTE_H

#include "arch.h"

/* A run of instructions within a block that belong to one scope. */
struct plg_segment {
	struct plg_scope *scope;
	uint64_t start;		/* address of the first */
	uint32_t n;
	bool begins;		/* starts at a function's first instruction */
	uint32_t events[N_EVENTS];
};

struct plg_block {
	struct plg_block *next;
	uint64_t start, end;	/* end: behind the last instruction */
	uint64_t hits;		/* times it ran as a whole */
	uint32_t n;		/* instructions */
	uint8_t flow;		/* enum plg_flow of the last one */
	uint8_t entry;		/* enum plg_entry */
	int8_t from_user;	/* as plg_arch.entry() says */
	bool user;
	bool switches;		/* begins at the function that switches tasks */
	uint32_t n_segments;
	struct plg_segment *segments;
	struct plg_op *ops;
};

struct plg_profile {
	uint64_t kernel_instructions, user_instructions, exceptions;
	uint64_t events[N_EVENTS];	/* the kernel's */
};

struct plg_stack;

struct plg_attribution {
	const struct plg_arch *arch;
	struct plg_symbols *symbols;
	struct plg_profile total;
	/* private */
	struct plg_block *blocks;	/* all that were made in this window */
	struct plg_block *prev;		/* began, not yet accounted for */
	uint64_t begun;			/* instructions, when it began */
	struct plg_stack *stack;	/* of the running task */
	struct plg_stack *stacks;	/* of all tasks seen */
	unsigned int n_stacks;
	struct plg_row *switch_row;
	bool switching;			/* in the switch function, no load yet */
	bool stored;
	uint64_t store;
};

/* @symbols is filled with counts, and must outlive @a. */
void plg_attribution_init(struct plg_attribution *a,
			  const struct plg_arch *arch,
			  struct plg_symbols *symbols);
/* Start a window, all counts at zero.  @begun: value of the counter now. */
void plg_begin(struct plg_attribution *a, uint64_t begun);
/*
 * A block of @n instructions at @start, whose bytes are @size[i] long.  It
 * lives until the window's end.
 */
struct plg_block *plg_block_new(struct plg_attribution *a, uint64_t start,
				const struct plg_op *ops, const uint8_t *size,
				uint32_t n);
/* @b begins now; @begun instructions had been begun before. */
void plg_run(struct plg_attribution *a, struct plg_block *b, uint64_t begun);
/* A load or store of the function that switches tasks. */
void plg_switch_access(struct plg_attribution *a, bool store, uint64_t addr);
/* End the window: everything is in @a->total and in the symbols' rows. */
void plg_end(struct plg_attribution *a, uint64_t begun);
/* Free what a window left; symbols stay. */
void plg_attribution_free(struct plg_attribution *a);

/*
 * The window as one line of JSON with its newline, in the form that
 * record/ reads.  Caller frees; NULL: out of memory.
 */
char *plg_profile_json(const struct plg_attribution *a, size_t *len);

#endif
