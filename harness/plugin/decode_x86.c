/* SPDX-License-Identifier: GPL-2.0 */
/*
 * decode_x86 - x86_64 in 64-bit mode, from "Intel 64 and IA-32 Architectures
 * Software Developer's Manual", volume 2, appendix A (opcode maps).
 *
 * How x86 maps to the events, which are named after arm64's:
 *	TLBI by address	INVLPG
 *	TLBI by range	nothing: x86 (without INVLPGB) has none
 *	TLBI of all	INVPCID, whose type is only known at run time and with
 *			which Linux flushes whole contexts, and writes to CR3,
 *			context switches' among them
 *	DSB		MFENCE, LFENCE, SFENCE, SERIALIZE; a barrier that Linux
 *			makes of a locked instruction is an atomic
 *	atomic		the LOCK prefix, and XCHG with memory
 * Not counted: flushes by toggling CR4.PGE.
 *
 * Almost any instruction can access memory.  All are taken for such that can
 * fault, but for those behind which a fault is that of the next one's fetch.
 */
#include <stdbool.h>
#include <string.h>

#include "decode.h"
#include "window.h"

struct x86 {
	bool lock, opsize;
	unsigned int rex;
	const uint8_t *at, *end;
};

/* Behind the end: no instruction has such bytes, nothing will match. */
static unsigned int byte(const struct x86 *x, size_t i)
{
	return x->at + i < x->end ? x->at[i] : 0x100;
}

static void prefixes(struct x86 *x)
{
	for (; x->at < x->end; x->at++) {
		switch (*x->at) {
		case 0xf0:
			x->lock = true;
			break;
		case 0x66:
			x->opsize = true;
			break;
		case 0x67: case 0xf2: case 0xf3: case 0x2e: case 0x36:
		case 0x3e: case 0x26: case 0x64: case 0x65:
			break;
		default:
			if ((*x->at & 0xf0) == 0x40)
				x->rex = *x->at++;
			return;
		}
	}
}

static void two_byte(const struct x86 *x, struct plg_op *op)
{
	unsigned int modrm = byte(x, 2), reg = modrm >> 3 & 7;
	bool memory = modrm < 0xc0;

	switch (byte(x, 1)) {
	case 0x01:
		if (memory && reg == 7)				/* INVLPG */
			op->event = EVENT_TLBI_ADDRESS;
		else if (modrm == 0xe8)				/* SERIALIZE */
			op->event = EVENT_DSB;
		break;
	case 0x05: case 0x34: case 0x0b:	/* SYSCALL, SYSENTER, UD2 */
		op->flow = FLOW_TRAP;
		break;
	case 0x07: case 0x35:			/* SYSRET, SYSEXIT */
		op->flow = FLOW_ERET;
		break;
	case 0x22:				/* MOV to a control register */
		if (reg == 3 && !(x->rex & 4))
			op->event = EVENT_TLBI_ALL;
		break;
	case 0x38:
		if (x->opsize && byte(x, 2) == 0x82)		/* INVPCID */
			op->event = EVENT_TLBI_ALL;
		break;
	case 0x80 ... 0x8f:			/* Jcc */
		op->flow = FLOW_JUMP;
		break;
	case 0xae:
		if (!memory && modrm < 0x100 && reg >= 5)	/* fences */
			op->event = EVENT_DSB;
		break;
	}
}

static void one_byte(const struct x86 *x, struct plg_op *op)
{
	unsigned int modrm = byte(x, 1), reg = modrm >> 3 & 7;

	switch (byte(x, 0)) {
	case 0x70 ... 0x7f:			/* Jcc */
	case 0xe0 ... 0xe3:			/* LOOP, JRCXZ */
	case 0xe9: case 0xeb:
		op->flow = FLOW_JUMP;
		break;
	case 0x86: case 0x87:			/* XCHG */
		if (modrm < 0xc0)
			op->event = EVENT_ATOMIC;
		break;
	case 0xc2: case 0xc3: case 0xca: case 0xcb:
		op->flow = FLOW_RETURN;
		break;
	case 0xcc: case 0xcd: case 0xf1:	/* INT3, INT, INT1 */
		op->flow = FLOW_TRAP;
		break;
	case 0xcf:				/* IRET */
		op->flow = FLOW_ERET;
		break;
	case 0xe8:
		op->flow = FLOW_CALL;
		break;
	case 0xff:
		if (reg == 2 || reg == 3)
			op->flow = FLOW_CALL;
		else if (reg == 4 || reg == 5)
			op->flow = FLOW_JUMP;
		break;
	case 0x0f:
		two_byte(x, op);
		break;
	}
}

struct plg_op plg_decode_x86(const uint8_t *bytes, size_t len)
{
	struct plg_op op = { FLOW_NEXT, EVENT_NONE, MARK_NONE, true };
	struct x86 x = { .at = bytes, .end = bytes + len };

	if (len == WINDOW_X86_LEN) {
		if (!memcmp(bytes, WINDOW_X86_BEGIN, len))
			op.mark = MARK_BEGIN;
		else if (!memcmp(bytes, WINDOW_X86_END, len))
			op.mark = MARK_END;
	}
	prefixes(&x);
	one_byte(&x, &op);
	if (op.flow == FLOW_TRAP || op.flow == FLOW_ERET ||
	    op.flow == FLOW_JUMP)
		op.access = false;
	if (x.lock)
		op.event = EVENT_ATOMIC;
	return op;
}
