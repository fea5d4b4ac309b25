/* SPDX-License-Identifier: GPL-2.0 */
/*
 * qemu_api - what the plugin uses of QEMU's plugin interface.
 *
 * Distributions' binary packages carry no header for it, so the functions are
 * declared here, from QEMU's documentation ("QEMU TCG Plugins", and the list
 * of changes by API version).  One plugin.so serves two interfaces:
 *
 *	API 1		QEMU 7.2 (and 6.x, 8.x: API 0 and 1 are alike in this)
 *	API 3 and up	QEMU 9.1 and later: counters live in per-vCPU
 *			scoreboards, and instruction bytes are copied out
 *
 * What only one of them has is a weak symbol, NULL under the other.  QEMU 9.0
 * (API 2) has the counters of the one and the bytes of the other: it refuses
 * the plugin with a message of its own.
 */
#ifndef FOLAB_QEMU_API_H
#define FOLAB_QEMU_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QEMU_EXPORT	__attribute__((visibility("default")))
#define QEMU_IMPORT	extern __attribute__((visibility("default")))
#define QEMU_WEAK	QEMU_IMPORT __attribute__((weak))

typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_plugin_scoreboard;

/* Read by QEMU after loading, before qemu_plugin_install(). */
extern QEMU_EXPORT int qemu_plugin_version;

typedef struct qemu_info_t {
	const char *target_name;	/* "aarch64", "x86_64" */
	struct {
		int min, cur;
	} version;
	bool system_emulation;
	union {
		struct {
			int smp_vcpus, max_vcpus;
		} system;
	};
} qemu_info_t;

/* An uint64_t at an offset in each vCPU's part of a scoreboard. */
typedef struct {
	struct qemu_plugin_scoreboard *score;
	size_t offset;
} qemu_plugin_u64;

enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS = 0 };
enum qemu_plugin_mem_rw {
	QEMU_PLUGIN_MEM_R = 1,
	QEMU_PLUGIN_MEM_W = 2,
	QEMU_PLUGIN_MEM_RW = 3,
};
enum qemu_plugin_op { QEMU_PLUGIN_INLINE_ADD_U64 = 0 };
typedef uint32_t qemu_plugin_meminfo_t;

typedef void (*qemu_plugin_simple_cb_t)(qemu_plugin_id_t id);
typedef void (*qemu_plugin_vcpu_udata_cb_t)(unsigned int vcpu, void *data);
typedef void (*qemu_plugin_vcpu_tb_trans_cb_t)(qemu_plugin_id_t id,
					       struct qemu_plugin_tb *tb);
typedef void (*qemu_plugin_vcpu_mem_cb_t)(unsigned int vcpu,
					  qemu_plugin_meminfo_t info,
					  uint64_t vaddr, void *data);

/* Ours; QEMU calls it.  Not zero: QEMU does not start. */
QEMU_EXPORT int qemu_plugin_install(qemu_plugin_id_t id,
				    const qemu_info_t *info, int argc,
				    char **argv);

/* ---- alike in all versions ---- */

/*
 * Drop all callbacks and all translated code as soon as the vCPU is out of
 * the block that it is in, then call @cb.
 */
QEMU_IMPORT void qemu_plugin_reset(qemu_plugin_id_t id,
				   qemu_plugin_simple_cb_t cb);
QEMU_IMPORT void
qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
				      qemu_plugin_vcpu_tb_trans_cb_t cb);
QEMU_IMPORT void
qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb,
				     qemu_plugin_vcpu_udata_cb_t cb,
				     enum qemu_plugin_cb_flags flags,
				     void *data);
QEMU_IMPORT void
qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
				       qemu_plugin_vcpu_udata_cb_t cb,
				       enum qemu_plugin_cb_flags flags,
				       void *data);
QEMU_IMPORT void
qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn,
				 qemu_plugin_vcpu_mem_cb_t cb,
				 enum qemu_plugin_cb_flags flags,
				 enum qemu_plugin_mem_rw rw, void *data);
QEMU_IMPORT size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
QEMU_IMPORT struct qemu_plugin_insn *
qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t i);
QEMU_IMPORT size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
QEMU_IMPORT uint64_t
qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
QEMU_IMPORT bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t info);

/*
 * API 1: a pointer to the bytes; @dest and @len are not looked at.
 * API 3: copies at most @len bytes to @dest, and returns how many.
 * Both fit one register, so that one declaration does for the two.
 */
QEMU_IMPORT uintptr_t qemu_plugin_insn_data(const struct qemu_plugin_insn *insn,
					    void *dest, size_t len);

/* ---- API 1 only ---- */

QEMU_WEAK void
qemu_plugin_register_vcpu_insn_exec_inline(struct qemu_plugin_insn *insn,
					   enum qemu_plugin_op op, void *ptr,
					   uint64_t imm);

/* ---- API 2 and up ---- */

QEMU_WEAK void
qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(
	struct qemu_plugin_insn *insn, enum qemu_plugin_op op,
	qemu_plugin_u64 entry, uint64_t imm);
QEMU_WEAK struct qemu_plugin_scoreboard *
qemu_plugin_scoreboard_new(size_t element_size);
QEMU_WEAK void *qemu_plugin_scoreboard_find(struct qemu_plugin_scoreboard *s,
					    unsigned int vcpu);

#endif
