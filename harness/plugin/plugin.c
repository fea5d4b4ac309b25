/* SPDX-License-Identifier: GPL-2.0 */
/*
 * plugin - count what the kernel does in the measured window.
 *
 *	-plugin plugin.so,symbols=FILE,out=FILE
 *
 * Outside of the window the guest runs without instrumentation: only user
 * space's translated code is searched for the mark that begins a window
 * (window.h).  There all code is dropped and translated anew, with
 *
 *  - a counter, advanced by each instruction that can be a block's last (it
 *    accesses memory or a system register, or the block ends there), so that
 *    it is known how far a block came that a fault or an access to a device
 *    cut short;
 *  - a call at the beginning of each block, from which attribute.c makes out
 *    calls, returns, exceptions and switches between tasks;
 *  - a call for each access of the function that switches tasks.
 *
 * At the mark that ends it a line is appended to the output, and all is
 * dropped again.  Nothing of this is visible to the guest: the instruction
 * clock counts the guest's instructions, not ours.
 *
 * kernel_instructions are those that the instruction clock and the guest's
 * PMU count: an access that faults counts when it is done, not when it is
 * tried.  A PMU that is read before the window and behind it counts the end of
 * the one read(2) and the beginning of the other in addition: 844 instructions
 * with our 6.12 for arm64, in each window alike, be it of 259 instructions or
 * of 134 million.  It counts 360 less for each 2^31, since Linux stops it while
 * it handles the overflow of its counter.  user_instructions are exact on
 * arm64; on x86_64 the last one before a page of code is fetched for the first
 * time can be missing.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attribute.h"
#include "qemu_api.h"

/* Longer blocks than QEMU makes (its limit is 512 instructions). */
#define MAX_BLOCK	4096

QEMU_EXPORT int qemu_plugin_version = 1;

/* QEMU's translation callback has no argument for us: hence one static. */
static struct plugin {
	qemu_plugin_id_t id;
	const struct plg_arch *arch;
	struct plg_symbols symbols;
	struct plg_attribution attribution;
	int out;		/* file descriptor */
	char *out_path;
	bool scoreboards;	/* API 2 and up */
	struct qemu_plugin_scoreboard *board;
	uint64_t count;		/* API 1: instructions begun */
	uint64_t *counter;	/* where they are counted, NULL: not yet known */
	bool in_window;		/* between the marks */
	bool instrumented;	/* code is translated with instrumentation */
	unsigned int after_begin;	/* of the mark's block, behind the mark */
} pl;

/*
 * QEMU reads the version once the library is loaded, and that is when
 * constructors have run: say the one that this QEMU understands.
 */
static void __attribute__((constructor)) choose_version(void)
{
	if (qemu_plugin_scoreboard_new)
		qemu_plugin_version = 3;
}

static int complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static int complain(const char *fmt, ...)
{
	va_list ap;

	fputs("folab plugin: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	putc('\n', stderr);
	return -1;
}

/* ---- the window ------------------------------------------------------------ */

static uint64_t begun(void)
{
	return pl.counter ? *pl.counter : 0;
}

static void translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb);

/* All code is gone; from now on it is translated as pl.instrumented says. */
static void start_over(qemu_plugin_id_t id)
{
	if (pl.instrumented)
		plg_begin(&pl.attribution, begun());
	else
		plg_attribution_free(&pl.attribution);
	pl.attribution.total.user_instructions = pl.after_begin;
	qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
}

static void write_window(void)
{
	size_t len = 0, done = 0;
	char *text = plg_profile_json(&pl.attribution, &len);
	ssize_t n;

	if (!text) {
		complain("out of memory");
		return;
	}
	while (done < len) {
		n = write(pl.out, text + done, len - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			complain("cannot write %s: %s", pl.out_path,
				 strerror(errno));
			break;
		}
		done += n;
	}
	free(text);
}

/* @data: instructions of the block behind the mark. */
static void on_begin(unsigned int vcpu, void *data)
{
	if (pl.in_window)
		return;
	pl.in_window = true;
	pl.instrumented = true;
	pl.after_begin = (uintptr_t)data;
	qemu_plugin_reset(pl.id, start_over);
}

static void on_end(unsigned int vcpu, void *data)
{
	if (!pl.in_window)
		return;
	pl.in_window = false;
	plg_end(&pl.attribution, begun());
	write_window();
	pl.instrumented = false;
	pl.after_begin = 0;
	qemu_plugin_reset(pl.id, start_over);
}

static void on_block(unsigned int vcpu, void *data)
{
	if (pl.in_window)
		plg_run(&pl.attribution, data, begun());
}

static void on_switch_access(unsigned int vcpu, qemu_plugin_meminfo_t info,
			     uint64_t addr, void *data)
{
	if (pl.in_window)
		plg_switch_access(&pl.attribution,
				  qemu_plugin_mem_is_store(info), addr);
}

/* ---- translation ------------------------------------------------------------ */

static struct plg_op decode(const struct qemu_plugin_insn *insn, uint8_t *size)
{
	uint8_t copy[16];
	const uint8_t *bytes = copy;
	uintptr_t got;

	*size = qemu_plugin_insn_size(insn);
	got = qemu_plugin_insn_data(insn, copy, sizeof(copy));
	if (!pl.scoreboards)
		bytes = (const uint8_t *)got;
	else if (got < *size)
		return pl.arch->decode(copy, got);
	return pl.arch->decode(bytes, *size);
}

/* Outside of a window: look for the mark that begins one. */
static void translate_plain(struct qemu_plugin_tb *tb, size_t n)
{
	uint8_t size;
	size_t i;

	for (i = 0; i < n; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);

		if (qemu_plugin_insn_vaddr(insn) >> 63)
			return;
		if (decode(insn, &size).mark == MARK_BEGIN)
			qemu_plugin_register_vcpu_insn_exec_cb(
				insn, on_begin, QEMU_PLUGIN_CB_NO_REGS,
				(void *)(uintptr_t)(n - 1 - i));
	}
}

/* When @insn begins, @n more have begun than was known before. */
static void count_insns(struct qemu_plugin_insn *insn, uint64_t n)
{
	if (pl.scoreboards) {
		qemu_plugin_u64 entry = { pl.board, 0 };

		qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(
			insn, QEMU_PLUGIN_INLINE_ADD_U64, entry, n);
	} else {
		qemu_plugin_register_vcpu_insn_exec_inline(
			insn, QEMU_PLUGIN_INLINE_ADD_U64, &pl.count, n);
	}
}

static void translate_counted(struct qemu_plugin_tb *tb, size_t n)
{
	struct plg_op ops[MAX_BLOCK];
	uint8_t size[MAX_BLOCK];
	const struct plg_piece *p;
	struct plg_block *block;
	uint64_t start, pending = 0;
	bool switches;
	size_t i;

	start = qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(tb, 0));
	p = plg_symbols_find(&pl.symbols, start);
	switches = p && p->scope->row == pl.attribution.switch_row;
	for (i = 0; i < n; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);

		ops[i] = decode(insn, &size[i]);
		/* before the counter: the mark itself is not counted */
		if (ops[i].mark == MARK_END && !(start >> 63))
			qemu_plugin_register_vcpu_insn_exec_cb(
				insn, on_end, QEMU_PLUGIN_CB_NO_REGS, NULL);
		pending++;
		if (ops[i].access || i == n - 1) {
			count_insns(insn, pending);
			pending = 0;
		}
		/*
		 * Not for what ends a block: QEMU 7.2 leaves its pointer to
		 * the callback behind there, and follows it when it is stale.
		 */
		if (switches && ops[i].access && ops[i].flow == FLOW_NEXT)
			qemu_plugin_register_vcpu_mem_cb(
				insn, on_switch_access, QEMU_PLUGIN_CB_NO_REGS,
				QEMU_PLUGIN_MEM_RW, NULL);
	}
	block = plg_block_new(&pl.attribution, start, ops, size, n);
	qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block,
					     QEMU_PLUGIN_CB_NO_REGS, block);
}

static void translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	size_t n = qemu_plugin_tb_n_insns(tb);

	if (!n)
		return;
	if (!pl.instrumented) {
		translate_plain(tb, n);
		return;
	}
	if (n > MAX_BLOCK) {
		complain("a block of %zu instructions", n);
		abort();
	}
	/* The one vCPU exists by now, and its part of the scoreboard. */
	if (!pl.counter)
		pl.counter = qemu_plugin_scoreboard_find(pl.board, 0);
	translate_counted(tb, n);
}

/* ---- start ------------------------------------------------------------------- */

static int read_symbols(const char *path)
{
	char why[1024];
	size_t i;

	if (plg_symbols_read(&pl.symbols, path, pl.arch->name, why,
			     sizeof(why)))
		return complain("symbols: %s", why);
	for (i = 0; i < 3 && pl.arch->needed[i]; i++) {
		if (plg_symbols_row(&pl.symbols, pl.arch->needed[i]))
			continue;
		complain("symbols: %s: no function %s, is it of another kernel?",
			 path, pl.arch->needed[i]);
		plg_symbols_free(&pl.symbols);
		return -1;
	}
	return 0;
}

static int check_machine(const qemu_info_t *info)
{
	if (!info->system_emulation)
		return complain("needs a system emulator (qemu-system-...)");
	pl.arch = plg_arch_find(info->target_name);
	if (!pl.arch)
		return complain("does not know the architecture %s",
				info->target_name);
	if (info->system.max_vcpus != 1)
		return complain("counts one processor: start QEMU with -smp 1");
	return 0;
}

int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info,
			int argc, char **argv)
{
	const char *symbols = NULL, *out = NULL;
	int i;

	for (i = 0; i < argc; i++) {
		if (!strncmp(argv[i], "symbols=", 8))
			symbols = argv[i] + 8;
		else if (!strncmp(argv[i], "out=", 4))
			out = argv[i] + 4;
		else
			return complain("unknown option %s", argv[i]);
	}
	if (!symbols || !out)
		return complain("needs symbols=FILE and out=FILE");
	if (check_machine(info) || read_symbols(symbols))
		return -1;

	pl.out = open(out, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (pl.out < 0) {
		complain("cannot open %s: %s", out, strerror(errno));
		plg_symbols_free(&pl.symbols);
		return -1;
	}
	pl.id = id;
	pl.out_path = strdup(out);
	pl.scoreboards = qemu_plugin_scoreboard_new != NULL;
	if (pl.scoreboards)
		pl.board = qemu_plugin_scoreboard_new(sizeof(uint64_t));
	else
		pl.counter = &pl.count;
	plg_attribution_init(&pl.attribution, pl.arch, &pl.symbols);
	qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
	return 0;
}
