/* SPDX-License-Identifier: GPL-2.0 */
/*
 * decode_arm64 - A64, from "Arm Architecture Reference Manual for A-profile
 * architecture" (DDI 0487), chapter C4, "A64 Instruction Set Encoding".
 */
#include "decode.h"
#include "window.h"

static int is_call(uint32_t insn)
{
	return (insn & 0xfc000000) == 0x94000000 ||	/* BL */
	       (insn & 0xfffffc1f) == 0xd63f0000 ||	/* BLR */
	       (insn & 0xfefff800) == 0xd63f0800;	/* BLRAA, BLRAB, ...Z */
}

static int is_return(uint32_t insn)
{
	return (insn & 0xfffffc1f) == 0xd65f0000 ||	/* RET */
	       (insn & 0xfffffbff) == 0xd65f0bff;	/* RETAA, RETAB */
}

static int is_eret(uint32_t insn)
{
	return insn == 0xd69f03e0 ||			/* ERET */
	       (insn & 0xfffffbff) == 0xd69f0bff;	/* ERETAA, ERETAB */
}

static int is_jump(uint32_t insn)
{
	return (insn & 0xfc000000) == 0x14000000 ||	/* B */
	       (insn & 0xff000000) == 0x54000000 ||	/* B.cond, BC.cond */
	       (insn & 0x7c000000) == 0x34000000 ||	/* CBZ, CBNZ, TBZ, TBNZ */
	       (insn & 0xfffffc1f) == 0xd61f0000 ||	/* BR */
	       (insn & 0xfefff800) == 0xd61f0800;	/* BRAA, BRAB, ...Z */
}

/* SVC, HVC, SMC, BRK, HLT, DCPS, and UDF. */
static int is_trap(uint32_t insn)
{
	return (insn & 0xff000000) == 0xd4000000 ||
	       (insn & 0xffff0000) == 0;
}

/* Loads and stores, cache maintenance that can fault (DC ZVA), MRS and MSR. */
static int is_access(uint32_t insn)
{
	return (insn & 0x0a000000) == 0x08000000 ||
	       (insn & 0xfff8f000) == 0xd5087000 ||
	       (insn & 0xffd00000) == 0xd5100000;
}

/*
 * TLBI is SYS with CRn 8, or 9 for the form without XS.  CRm 2, 5 and 6 are
 * the ranges; of the rest an odd op2 takes an address.  What goes by ASID or
 * VMID counts as "all".
 */
static int tlbi(uint32_t insn)
{
	unsigned int crm = insn >> 8 & 15, op2 = insn >> 5 & 7;

	if ((insn & 0xfff8e000) != 0xd5088000)
		return EVENT_NONE;
	if (crm == 2 || crm == 5 || crm == 6)
		return EVENT_TLBI_RANGE;
	return op2 & 1 ? EVENT_TLBI_ADDRESS : EVENT_TLBI_ALL;
}

/* DSB, also nXS.  SSBB and PSSBB, which share its encoding, are not meant. */
static int is_dsb(uint32_t insn)
{
	unsigned int crm = insn >> 8 & 15;

	if ((insn & 0xfffff3ff) == 0xd503323f)
		return 1;
	return (insn & 0xfffff0ff) == 0xd503309f && crm != 0 && crm != 4;
}

/*
 * Read-modify-writes: LSE's, compare and swap, and of a load-exclusive,
 * store-exclusive pair the store, so that one attempt counts once.
 */
static int is_atomic(uint32_t insn)
{
	if ((insn & 0x3f200c00) == 0x38200000) {	/* LDADD ... SWP */
		unsigned int o3_opc = insn >> 12 & 15;

		return o3_opc <= 8;	/* above: LDAPR, LD64B, ST64B */
	}
	if ((insn & 0xff200c00) == 0x19200000)		/* LSE128 pairs */
		return 1;
	if ((insn & 0x3fa07c00) == 0x08a07c00 ||	/* CAS */
	    (insn & 0xbfa07c00) == 0x08207c00)		/* CASP */
		return 1;
	return (insn & 0x3fe00000) == 0x08000000 ||	/* STXR, STLXR */
	       (insn & 0xbfe00000) == 0x88200000;	/* STXP, STLXP */
}

struct plg_op plg_decode_arm64(const uint8_t *b, size_t len)
{
	struct plg_op op = { FLOW_NEXT, EVENT_NONE, MARK_NONE, false };
	uint32_t insn;

	if (len != 4)
		return op;
	insn = b[0] | b[1] << 8 | b[2] << 16 | (uint32_t)b[3] << 24;

	if (is_call(insn))
		op.flow = FLOW_CALL;
	else if (is_return(insn))
		op.flow = FLOW_RETURN;
	else if (is_eret(insn))
		op.flow = FLOW_ERET;
	else if (is_jump(insn))
		op.flow = FLOW_JUMP;
	else if (is_trap(insn))
		op.flow = FLOW_TRAP;

	op.access = is_access(insn);
	op.event = tlbi(insn);
	if (is_dsb(insn))
		op.event = EVENT_DSB;
	else if (is_atomic(insn))
		op.event = EVENT_ATOMIC;

	if (insn == WINDOW_ARM64_BEGIN)
		op.mark = MARK_BEGIN;
	else if (insn == WINDOW_ARM64_END)
		op.mark = MARK_END;
	return op;
}
