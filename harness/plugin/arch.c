/* SPDX-License-Identifier: GPL-2.0 */
/*
 * arch - where exceptions enter the kernel, and how tasks are switched.
 */
#include <string.h>

#include "arch.h"

/*
 * A vector table is 16 slots of 128 bytes (DDI 0487, D1.4.1): current EL with
 * SP_EL0, with SP_ELx, lower EL in AArch64, in AArch32; in each synchronous,
 * IRQ, FIQ, SError.  The kernel has a second table for processors that need
 * their branch history cleared.
 */
static enum plg_entry entry_arm64(const struct plg_piece *p, uint64_t addr,
				  int *from_user)
{
	const char *name = p->scope->function->row->name;
	uint64_t slot = addr - p->fn_start;

	*from_user = -1;
	if (strcmp(name, "vectors") && strcmp(name, "__bp_harden_el1_vectors"))
		return ENTRY_NONE;
	if (slot % 128)
		return ENTRY_NONE;
	slot = slot / 128 % 16;
	*from_user = slot >= 8;
	return slot % 4 ? ENTRY_EXCEPTION : ENTRY_FAULT;
}

/*
 * The IDT's entries: a stub of a multiple of 8 bytes for each vector of a
 * device, and functions of their own for the rest.  Only two of these are
 * faults whose instruction QEMU's instruction clock does not count.  The
 * linker script has a name of its own for where the stubs begin.
 */
static enum plg_entry entry_x86(const struct plg_piece *p, uint64_t addr,
				int *from_user)
{
	const char *name = p->scope->function->row->name;

	*from_user = -1;
	if (!strcmp(name, "irq_entries_start") ||
	    !strcmp(name, "__irqentry_text_start") ||
	    !strcmp(name, "spurious_entries_start"))
		return (addr - p->fn_start) % 8 ? ENTRY_NONE : ENTRY_EXCEPTION;
	if (addr != p->fn_start)
		return ENTRY_NONE;
	if (!strncmp(name, "entry_SYSCALL_", 14)) {
		*from_user = 1;
		return ENTRY_EXCEPTION;
	}
	if (!strcmp(name, "asm_exc_page_fault") ||
	    !strcmp(name, "asm_exc_general_protection"))
		return ENTRY_FAULT;
	if (!strncmp(name, "asm_exc_", 8) || !strncmp(name, "asm_sysvec_", 11))
		return ENTRY_EXCEPTION;
	return ENTRY_NONE;
}

static const struct plg_arch archs[] = {
	{
		.name = "arm64",
		.target = "aarch64",
		.decode = plg_decode_arm64,
		.entry = entry_arm64,
		.switch_name = "cpu_switch_to",
		.switch_first_store = true,
		.needed = { "vectors", "cpu_switch_to" },
	}, {
		.name = "x86_64",
		.target = "x86_64",
		.decode = plg_decode_x86,
		.entry = entry_x86,
		.switch_name = "__switch_to_asm",
		.needed = { "entry_SYSCALL_64", "__switch_to_asm" },
	},
};

const struct plg_arch *plg_arch_find(const char *target)
{
	size_t i;

	for (i = 0; i < sizeof(archs) / sizeof(archs[0]); i++)
		if (!strcmp(archs[i].target, target))
			return &archs[i];
	return NULL;
}
