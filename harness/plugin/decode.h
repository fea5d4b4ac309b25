/* SPDX-License-Identifier: GPL-2.0 */
/*
 * decode - as much of an instruction as the plugin has to know.
 */
#ifndef FOLAB_PLUGIN_DECODE_H
#define FOLAB_PLUGIN_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where control goes behind it. */
enum plg_flow {
	FLOW_NEXT,
	FLOW_JUMP,	/* branch without link, conditional or not */
	FLOW_CALL,
	FLOW_RETURN,
	FLOW_ERET,	/* return from an exception */
	FLOW_TRAP,	/* raises an exception on purpose, and counts as run */
};

/* What is counted of it, beside that it ran. */
enum plg_event {
	EVENT_TLBI_ADDRESS,
	EVENT_TLBI_RANGE,
	EVENT_TLBI_ALL,
	EVENT_DSB,
	EVENT_ATOMIC,
	N_EVENTS,
	EVENT_NONE = N_EVENTS,
};

enum plg_mark { MARK_NONE, MARK_BEGIN, MARK_END };

struct plg_op {
	uint8_t flow;	/* enum plg_flow */
	uint8_t event;	/* enum plg_event */
	uint8_t mark;	/* enum plg_mark */
	/* Of memory or a system register: may fault, and then runs again. */
	bool access;
};

/* @len: all bytes of the one instruction (arm64: 4). */
struct plg_op plg_decode_arm64(const uint8_t *bytes, size_t len);
struct plg_op plg_decode_x86(const uint8_t *bytes, size_t len);

#endif
