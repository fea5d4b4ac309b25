/* SPDX-License-Identifier: GPL-2.0 */
/*
 * arch - what differs between the architectures, beside the decoding.
 */
#ifndef FOLAB_PLUGIN_ARCH_H
#define FOLAB_PLUGIN_ARCH_H

#include "symbols.h"

/* How control can arrive at an address other than by the code before it. */
enum plg_entry {
	ENTRY_NONE,
	ENTRY_EXCEPTION,	/* trap or interrupt: what came before is done */
	ENTRY_FAULT,		/* the instruction before may not have been done */
};

struct plg_arch {
	const char *name;	/* "arm64", as in the symbol file */
	const char *target;	/* QEMU's name */
	struct plg_op (*decode)(const uint8_t *bytes, size_t len);
	/*
	 * Is @addr, within @p, where the processor goes on an exception?
	 * *from_user: 1 yes, 0 no, -1 the address does not tell.
	 */
	enum plg_entry (*entry)(const struct plg_piece *p, uint64_t addr,
				int *from_user);
	/*
	 * The function that changes stacks.  The address from which it first
	 * loads names the next task; the one it stored to names the task
	 * before: of its stores until then the first, or the last.
	 */
	const char *switch_name;
	bool switch_first_store;
	const char *needed[3];	/* symbols that must be there */
};

/* By QEMU's target name; NULL: not supported. */
const struct plg_arch *plg_arch_find(const char *target);

#endif
