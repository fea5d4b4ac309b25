/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The plugin without QEMU: decoding, the symbol file, and whose instructions
 * they are, from a synthetic stream of blocks.
 *
 * The plugin's files are no part of libfolab.a (QEMU loads them), so they are
 * included.
 */
#include "check.h"

#include "../plugin/arch.c"
#include "../plugin/attribute.c"
#include "../plugin/decode_arm64.c"
#include "../plugin/decode_x86.c"
#include "../plugin/json.c"
#include "../plugin/stack.c"
#include "../plugin/symbols.c"

#include "../record/record.h"

/* ---- decoding ------------------------------------------------------------- */

struct insn {
	const char *bytes;	/* hex; arm64: the word as objdump prints it */
	int flow, event, mark;
};

static size_t unhex(const char *hex, uint8_t *to, bool word)
{
	size_t n = strlen(hex) / 2, i;

	for (i = 0; i < n; i++) {
		char two[3] = { hex[2 * i], hex[2 * i + 1], 0 };

		to[word ? n - 1 - i : i] = strtoul(two, NULL, 16);
	}
	return n;
}

static void check_insns(const struct insn *v, size_t n, bool word,
			struct plg_op (*decode)(const uint8_t *, size_t))
{
	uint8_t b[16];
	size_t i, len;

	for (i = 0; i < n; i++) {
		struct plg_op op;

		len = unhex(v[i].bytes, b, word);
		op = decode(b, len);
		if (op.flow != v[i].flow || op.event != v[i].event ||
		    op.mark != v[i].mark)
			fail_msg("%s: flow %d event %d mark %d", v[i].bytes,
				 op.flow, op.event, op.mark);
	}
}

/* Encodings as GNU as makes them, named beside. */
static void decodes_arm64(void **state)
{
	static const struct insn v[] = {
		{ "d5032c1f", FLOW_NEXT, EVENT_NONE, MARK_BEGIN },
		{ "d5032c3f", FLOW_NEXT, EVENT_NONE, MARK_END },
		{ "d503201f", FLOW_NEXT, EVENT_NONE },		/* nop */
		{ "94000010", FLOW_CALL, EVENT_NONE },		/* bl */
		{ "d63f0100", FLOW_CALL, EVENT_NONE },		/* blr x8 */
		{ "d63f091f", FLOW_CALL, EVENT_NONE },		/* blraaz x8 */
		{ "d73f0909", FLOW_CALL, EVENT_NONE },		/* blraa x8, x9 */
		{ "d65f03c0", FLOW_RETURN, EVENT_NONE },	/* ret */
		{ "d65f0bff", FLOW_RETURN, EVENT_NONE },	/* retaa */
		{ "d69f03e0", FLOW_ERET, EVENT_NONE },
		{ "14000004", FLOW_JUMP, EVENT_NONE },		/* b */
		{ "54000041", FLOW_JUMP, EVENT_NONE },		/* b.ne */
		{ "b4000040", FLOW_JUMP, EVENT_NONE },		/* cbz x0 */
		{ "3707ffc0", FLOW_JUMP, EVENT_NONE },		/* tbnz w0, #0 */
		{ "d61f0200", FLOW_JUMP, EVENT_NONE },		/* br x16 */
		{ "d4000001", FLOW_TRAP, EVENT_NONE },		/* svc #0 */
		{ "d4210000", FLOW_TRAP, EVENT_NONE },		/* brk #0x800 */
		{ "d50883e0", FLOW_NEXT, EVENT_TLBI_ADDRESS },	/* vaale1is */
		{ "d50893e0", FLOW_NEXT, EVENT_TLBI_ADDRESS },	/* vaale1isnxs */
		{ "d50882a0", FLOW_NEXT, EVENT_TLBI_RANGE },	/* rvale1is */
		{ "d508831f", FLOW_NEXT, EVENT_TLBI_ALL },	/* vmalle1is */
		{ "d5088341", FLOW_NEXT, EVENT_TLBI_ALL },	/* aside1is */
		{ "d50b7420", FLOW_NEXT, EVENT_NONE },		/* dc zva */
		{ "d5033b9f", FLOW_NEXT, EVENT_DSB },		/* dsb ish */
		{ "d503369f", FLOW_NEXT, EVENT_DSB },		/* dsb nshst */
		{ "d5033fdf", FLOW_NEXT, EVENT_NONE },		/* isb */
		{ "d5033bbf", FLOW_NEXT, EVENT_NONE },		/* dmb ish */
		{ "d503309f", FLOW_NEXT, EVENT_NONE },		/* ssbb */
		{ "f8200041", FLOW_NEXT, EVENT_ATOMIC },	/* ldadd */
		{ "f8208041", FLOW_NEXT, EVENT_ATOMIC },	/* swp */
		{ "f8bfc020", FLOW_NEXT, EVENT_NONE },		/* ldapr */
		{ "c8a07c41", FLOW_NEXT, EVENT_ATOMIC },	/* cas */
		{ "48207c82", FLOW_NEXT, EVENT_ATOMIC },	/* casp */
		{ "c8017c62", FLOW_NEXT, EVENT_ATOMIC },	/* stxr */
		{ "c85f7c62", FLOW_NEXT, EVENT_NONE },		/* ldxr */
		{ "c89ffc20", FLOW_NEXT, EVENT_NONE },		/* stlr */
		{ "f9400020", FLOW_NEXT, EVENT_NONE },		/* ldr */
	};
	uint8_t b[4];

	check_insns(v, ARRAY_SIZE(v), true, plg_decode_arm64);
	unhex("f9400020", b, true);
	assert_true(plg_decode_arm64(b, 4).access);
	unhex("d50b7420", b, true);
	assert_true(plg_decode_arm64(b, 4).access);	/* dc zva can fault */
	unhex("8b020020", b, true);
	assert_false(plg_decode_arm64(b, 4).access);	/* add */
}

static void decodes_x86(void **state)
{
	static const struct insn v[] = {
		{ "0f1f80666f6c62", FLOW_NEXT, EVENT_NONE, MARK_BEGIN },
		{ "0f1f80666f6c65", FLOW_NEXT, EVENT_NONE, MARK_END },
		{ "0f1f8000000000", FLOW_NEXT, EVENT_NONE },
		{ "e800000000", FLOW_CALL, EVENT_NONE },
		{ "ffd0", FLOW_CALL, EVENT_NONE },		/* call *%rax */
		{ "41ff5308", FLOW_CALL, EVENT_NONE },	/* call *8(%r11) */
		{ "c3", FLOW_RETURN, EVENT_NONE },
		{ "f3c3", FLOW_RETURN, EVENT_NONE },
		{ "48cf", FLOW_ERET, EVENT_NONE },		/* iretq */
		{ "480f07", FLOW_ERET, EVENT_NONE },		/* sysretq */
		{ "0f05", FLOW_TRAP, EVENT_NONE },		/* syscall */
		{ "0f0b", FLOW_TRAP, EVENT_NONE },		/* ud2 */
		{ "cc", FLOW_TRAP, EVENT_NONE },
		{ "ebfe", FLOW_JUMP, EVENT_NONE },
		{ "0f8400000000", FLOW_JUMP, EVENT_NONE },
		{ "3e41ffe3", FLOW_JUMP, EVENT_NONE },	/* notrack jmp *%r11 */
		{ "0f0138", FLOW_NEXT, EVENT_TLBI_ADDRESS },	/* invlpg (%rax) */
		{ "0f01f8", FLOW_NEXT, EVENT_NONE },		/* swapgs */
		{ "660f388204d0", FLOW_NEXT, EVENT_TLBI_ALL },	/* invpcid */
		{ "0f22d8", FLOW_NEXT, EVENT_TLBI_ALL },	/* mov %rax, %cr3 */
		{ "0f22e0", FLOW_NEXT, EVENT_NONE },		/* mov %rax, %cr4 */
		{ "0faef0", FLOW_NEXT, EVENT_DSB },		/* mfence */
		{ "0faee8", FLOW_NEXT, EVENT_DSB },		/* lfence */
		{ "0fae38", FLOW_NEXT, EVENT_NONE },		/* clflush */
		{ "f0830424fc", FLOW_NEXT, EVENT_ATOMIC },	/* lock addl */
		{ "f00fb10e", FLOW_NEXT, EVENT_ATOMIC },	/* cmpxchg */
		{ "4887060a", FLOW_NEXT, EVENT_ATOMIC },	/* xchg, memory */
		{ "4887c6", FLOW_NEXT, EVENT_NONE },		/* xchg, register */
		{ "f3ab", FLOW_NEXT, EVENT_NONE },		/* rep stos */
	};
	static const uint8_t cut[] = { 0x66, 0x0f };

	check_insns(v, ARRAY_SIZE(v), false, plg_decode_x86);
	assert_int_equal(plg_decode_x86(cut, 2).flow, FLOW_NEXT);
	assert_int_equal(plg_decode_x86(cut, 0).flow, FLOW_NEXT);
}

/* ---- the symbol file ------------------------------------------------------- */

#define ADDR		0xffff800000000000ULL
#define A(x)		"ffff80000000" #x

/* f at 1000, g at 2000, h at 3000 (entered by falling through g), clones. */
static const char *const sym_arm64 =
	"folab.symbols/1 arm64\n"
	"F " A(0000) " " A(0800) " vectors\n"
	"F " A(0900) " " A(0940) " cpu_switch_to\n"
	"F " A(1000) " " A(1100) " f\n"
	"F " A(2000) " " A(3000) " g\n"
	"F " A(3000) " " A(3100) " h\n"
	"F " A(4000) " " A(4100) " f.part.0\n"
	"F " A(5000) " " A(5100) " f.cold\n"
	"F " A(6000) " " A(6200) " host\n"
	"F " A(7000) " " A(7100) " switcher\n"
	"I " A(6040) " " A(6080) " 1 0 in host\n"
	"I " A(60c0) " " A(60e0) " 1 0 in host\n"
	"I " A(60e8) " " A(60f0) " 1 0 in host\n"
	"I " A(60f0) " " A(60f8) " 1 0 in host\n"
	"I " A(6050) " " A(6060) " 2 1 deep host\n"
	"I " A(60ec) " " A(60f8) " 2 1 deep host\n"
	"end 15\n";

static int read_text(struct plg_symbols *s, const char *text, char *why)
{
	char *dir = test_dir(), *path = test_file(dir, "s", text);
	int rc = plg_symbols_read(s, path, "arm64", why, 256);

	free(path);
	test_dir_remove(dir);
	return rc;
}

/* Each piece of code knows the innermost thing it belongs to. */
static void symbols_flatten(void **state)
{
	static const struct {
		uint64_t addr;
		const char *name;	/* NULL: none */
		bool begins;
	} v[] = {
		{ 0x1000, "f", true }, { 0x10ff, "f", true },
		{ 0x1100, NULL }, { 0x4000, "f", true }, { 0x5000, "f", false },
		{ 0x603f, "host", true }, { 0x6040, "in", false },
		{ 0x604f, "in" }, { 0x6050, "deep" }, { 0x605f, "deep" },
		{ 0x6060, "in" }, { 0x6080, "host", false }, { 0x60c0, "in" },
		{ 0x60e0, "host" }, { 0x60e8, "in" }, { 0x60ec, "deep" },
		{ 0x60f4, "deep" }, { 0x60f8, "host" }, { 0x6200, NULL },
	};
	struct plg_symbols s;
	char why[256];
	size_t i;

	assert_int_equal(read_text(&s, sym_arm64, why), 0);
	for (i = 0; i < ARRAY_SIZE(v); i++) {
		const struct plg_piece *p = plg_symbols_find(&s, ADDR + v[i].addr);

		if (!v[i].name) {
			assert_null(p);
			continue;
		}
		assert_non_null(p);
		assert_string_equal(p->scope->row->name, v[i].name);
		assert_int_equal(p->begins, v[i].begins);
	}
	assert_null(plg_symbols_row(&s, "in"));
	assert_non_null(plg_symbols_row(&s, "host"));
	plg_symbols_free(&s);
}

/* What is wrong is refused, with the line that has it. */
static void symbols_refuse(void **state)
{
#define HEAD "folab.symbols/1 arm64\n"
#define FF "F " A(1000) " " A(1100) " f\n"
	static const char *const v[][2] = {
		{ "", "incomplete" },
		{ "\n", "not a symbol file" },
		{ "\x7f" "ELF\n", "not a symbol file" },
		{ "folab.symbols/1 x86_64\n", "wanted \"folab.symbols/1 arm64\"" },
		{ "folab.symbols/2 arm64\n", "wanted" },
		{ HEAD FF, ":2: no \"end\" line" },
		{ HEAD FF "end 1", "cut short" },
		{ HEAD FF "end 2\n", "2 lines promised, 1 found" },
		{ HEAD "end 0\n", "no function" },
		{ HEAD "F 10 zz f\nend 1\n", ":2: not of the form" },
		{ HEAD "F 10 20\nend 1\n", ":2: not of the form" },
		{ HEAD "F 10 20 f g\nend 1\n", ":2: not of the form" },
		{ HEAD "F 20 10 f\nend 1\n", "ends before it starts" },
		{ HEAD "F 10 20 f\nF 18 30 g\nend 2\n", ":3: g overlaps" },
		{ HEAD FF "x\nend 1\n", ":3: neither" },
		{ HEAD FF "I 0 10 1 0 in f\nend 2\n", "in is not within f" },
		{ HEAD FF "I " A(1000) " " A(1200) " 1 0 in f\n", "not within" },
		{ HEAD FF "I " A(1000) " " A(1010) " 1 0 in g\n", "not within" },
		{ HEAD FF "I " A(1000) " " A(1010) " 2 0 in f\n", "out of order" },
		{ HEAD FF "I " A(1000) " " A(1010) " 0 0 in f\n", "out of order" },
		{ HEAD FF "I " A(1000) " " A(1010) " 1 1 in f\n", "behind its" },
		{ HEAD FF "I " A(1000) " " A(1010) " 1 0 in f\n"
			  "I " A(1020) " " A(1030) " 1 0 on f\n", "two names" },
		{ HEAD FF "I " A(1000) " " A(1010) " 1 0 in f\n" FF, "behind an I" },
	};
	struct plg_symbols s;
	char why[256], *name;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(v); i++) {
		assert_int_equal(read_text(&s, v[i][0], why), -1);
		if (!strstr(why, v[i][1]))
			fail_msg("\"%s\" lacks \"%s\"", why, v[i][1]);
		assert_null(strchr(why, '\n'));
	}
	assert_int_equal(plg_symbols_read(&s, "/nonexistent/s", "arm64", why,
					  sizeof(why)), -1);
	assert_non_null(strstr(why, "/nonexistent/s: No such file"));

	/* A name longer than any kernel's, and a line longer than a buffer. */
	name = xmalloc(100000);
	memset(name, 'n', 99999);
	memcpy(name, HEAD "F 10 20 ", strlen(HEAD "F 10 20 "));
	name[99999] = '\0';
	assert_int_equal(read_text(&s, name, why), -1);
	name[strlen(HEAD) + 700] = '\n';
	assert_int_equal(read_text(&s, name, why), -1);
	free(name);
}

/* ---- attribution -------------------------------------------------------------- */

struct sim {
	struct plg_symbols symbols;
	struct plg_attribution a;
	uint64_t begun;
	const struct plg_arch *arch;
};

static void sim_start(struct sim *s, const char *text, const char *target)
{
	char *dir = test_dir(), *path = test_file(dir, "s", text), why[256];

	memset(s, 0, sizeof(*s));
	s->arch = plg_arch_find(target);
	s->begun = 1000;
	if (plg_symbols_read(&s->symbols, path, s->arch->name, why, sizeof(why)))
		fail_msg("%s", why);
	free(path);
	test_dir_remove(dir);
	plg_attribution_init(&s->a, s->arch, &s->symbols);
	plg_begin(&s->a, s->begun);
}

static void sim_stop(struct sim *s)
{
	plg_attribution_free(&s->a);
	plg_symbols_free(&s->symbols);
}

/*
 * A block of 4-byte instructions, one a letter: . plain, m memory, j jump,
 * c call, r return, e exception return, t trap, A TLBI by address, R by range,
 * L of all, D DSB, X atomic.
 */
static struct plg_block *block(struct sim *s, uint64_t addr, const char *code)
{
	static const char flows[] = "jcret", events[] = "ARLDX";
	static const int flow[] = { FLOW_JUMP, FLOW_CALL, FLOW_RETURN,
				    FLOW_ERET, FLOW_TRAP };
	struct plg_op ops[64];
	uint8_t size[64];
	size_t n = strlen(code), i;

	for (i = 0; i < n; i++) {
		const char *f = strchr(flows, code[i]);
		const char *e = strchr(events, code[i]);

		ops[i] = (struct plg_op){ f ? flow[f - flows] : FLOW_NEXT,
					  e ? e - events : EVENT_NONE,
					  MARK_NONE, code[i] == 'm' };
		size[i] = 4;
	}
	return plg_block_new(&s->a, addr, ops, size, n);
}

/* Run the first @n instructions of it. */
static void run_part(struct sim *s, uint64_t addr, const char *code, size_t n)
{
	plg_run(&s->a, block(s, addr, code), s->begun);
	s->begun += n;
}

static void run(struct sim *s, uint64_t addr, const char *code)
{
	run_part(s, ADDR + addr, code, strlen(code));
}

static void user(struct sim *s, const char *code)
{
	run_part(s, 0x400000, code, strlen(code));
}

/* The window ends; sums that always hold. */
static void finish(struct sim *s, uint64_t kernel)
{
	uint64_t self = 0;
	size_t i;

	plg_end(&s->a, s->begun);
	for (i = 0; i < s->symbols.n_rows; i++) {
		const struct plg_row *row = s->symbols.rows[i];

		self += row->self;
		assert_true(row->inclusive >= row->self);
		assert_true(row->inclusive <= kernel);
		assert_int_equal(row->active, 0);
	}
	assert_int_equal(self, kernel);
	assert_int_equal(s->a.total.kernel_instructions, kernel);
}

static const struct plg_row *row(struct sim *s, const char *name)
{
	size_t i;

	for (i = 0; i < s->symbols.n_rows; i++)
		if (!strcmp(s->symbols.rows[i]->name, name))
			return s->symbols.rows[i];
	fail_msg("no line for %s", name);
	return NULL;
}

static void is(struct sim *s, const char *name, uint64_t calls, uint64_t self,
	       uint64_t inclusive)
{
	const struct plg_row *r = row(s, name);

	if (r->calls != calls || r->self != self || r->inclusive != inclusive)
		fail_msg("%s: calls %" PRIu64 ", self %" PRIu64
			 ", inclusive %" PRIu64, name, r->calls, r->self,
			 r->inclusive);
}

#define SVC	0x400	/* vectors: synchronous from user space */
#define FAULT	0x200	/* synchronous, IRQ from the kernel */
#define IRQ	0x280

/* A call adds to the callee, and to the caller's inclusive count only. */
static void call_and_return(void **state)
{
	struct sim s;

	sim_start(&s, sym_arm64, "aarch64");
	user(&s, "...t");
	run(&s, SVC, ".j");
	run(&s, 0x1000, "..c");
	run(&s, 0x2000, "AARLDXXr");
	run(&s, 0x100c, "c");
	run(&s, 0x2000, "...r");
	run(&s, 0x1010, ".e");
	user(&s, "..");
	finish(&s, 2 + 3 + 8 + 1 + 4 + 2);
	is(&s, "vectors", 1, 2, 20);
	is(&s, "f", 1, 6, 18);
	is(&s, "g", 2, 12, 12);
	assert_int_equal(s.a.total.user_instructions, 6);
	assert_int_equal(s.a.total.exceptions, 1);
	assert_int_equal(row(&s, "g")->events[EVENT_TLBI_ADDRESS], 2);
	assert_int_equal(row(&s, "g")->events[EVENT_TLBI_RANGE], 1);
	assert_int_equal(s.a.total.events[EVENT_TLBI_ALL], 1);
	assert_int_equal(s.a.total.events[EVENT_DSB], 1);
	assert_int_equal(s.a.total.events[EVENT_ATOMIC], 2);
	sim_stop(&s);
}

/* A recursive function's inclusive count holds each instruction once. */
static void recursion(void **state)
{
	struct sim s;

	sim_start(&s, sym_arm64, "aarch64");
	user(&s, "t");
	run(&s, SVC, "j");
	run(&s, 0x1000, "..c");		/* f */
	run(&s, 0x2000, ".c");		/* calls g */
	run(&s, 0x1000, "..c");		/* calls f */
	run(&s, 0x2000, ".r");
	run(&s, 0x100c, "r");
	run(&s, 0x2008, "r");
	run(&s, 0x100c, "e");
	user(&s, ".");
	finish(&s, 1 + 3 + 2 + 3 + 2 + 1 + 1 + 1);
	is(&s, "f", 2, 8, 13);
	is(&s, "g", 2, 5, 9);
	sim_stop(&s);
}

/* A tail call returns for both, and going round in tail calls ends. */
static void tail_calls(void **state)
{
	struct sim s;
	int i;

	sim_start(&s, sym_arm64, "aarch64");
	user(&s, "t");
	run(&s, SVC, "c");
	run(&s, 0x1000, ".j");
	for (i = 0; i < 1000; i++) {
		run(&s, 0x2000, "j");
		run(&s, 0x3000, "j");
	}
	assert_true(s.a.stack->n < 10);
	run(&s, 0x2010, "r");
	run(&s, SVC + 4, ".e");
	user(&s, ".");
	finish(&s, 1 + 2 + 2000 + 1 + 2);
	is(&s, "vectors", 1, 3, 2006);
	is(&s, "f", 1, 2, 2003);
	is(&s, "g", 1000, 1001, 2001);
	is(&s, "h", 1000, 1000, 1000);
	sim_stop(&s);
}

/*
 * One block that runs on into the next function is a tail call too; to a
 * .cold part it is none, and clones add up.
 */
static void neighbours(void **state)
{
	struct sim s;

	sim_start(&s, sym_arm64, "aarch64");
	user(&s, "t");
	run(&s, SVC, "c");
	run(&s, 0x2ff8, "...r");
	run(&s, SVC + 4, "c");
	run(&s, 0x1000, ".j");
	run(&s, 0x5000, ".j");
	run(&s, 0x1010, ".c");
	run(&s, 0x4000, "..r");
	run(&s, 0x1018, "r");
	run(&s, SVC + 8, "e");
	user(&s, ".");
	finish(&s, 1 + 4 + 1 + 2 + 2 + 2 + 3 + 1 + 1);
	is(&s, "g", 0, 2, 4);
	is(&s, "h", 1, 2, 2);
	is(&s, "f", 2, 10, 10);
	sim_stop(&s);
}

/*
 * An interrupt costs nobody but its handler, also between a call and the
 * callee's first instruction, and also where both use the same functions.
 */
static void interrupts(void **state)
{
	struct sim s;

	sim_start(&s, sym_arm64, "aarch64");
	user(&s, "t");
	run(&s, SVC, "c");
	run(&s, 0x1000, ".c");
	run(&s, IRQ, ".c");		/* before g begins */
	run(&s, 0x2000, "..r");		/* uses g itself */
	run(&s, IRQ + 8, "c");
	run(&s, 0x1000, "r");		/* and f */
	run(&s, IRQ + 12, "e");
	run(&s, 0x2000, ".r");		/* now g */
	run(&s, IRQ, "e");		/* after its return */
	run(&s, 0x1008, "r");
	run(&s, SVC + 4, "e");
	user(&s, ".");
	finish(&s, 1 + 2 + 2 + 3 + 1 + 1 + 1 + 2 + 1 + 1 + 1);
	is(&s, "g", 2, 5, 5);
	is(&s, "f", 2, 4, 3 + 2 + 1);
	is(&s, "vectors", 3, 7, (2 + 5) + (4 + 3 + 1) + 1);
	assert_int_equal(s.a.total.exceptions, 3);
	sim_stop(&s);
}

/*
 * What faults counts when it is done; what an access to a device cut short
 * goes on behind.
 */
static void cut_short(void **state)
{
	struct sim s;

	sim_start(&s, sym_arm64, "aarch64");
	user(&s, "t");
	run(&s, SVC, "c");
	run_part(&s, ADDR + 0x1000, ".Xm.c", 3);	/* m faults */
	run(&s, FAULT, "..e");
	run(&s, 0x1008, "m.X.");
	assert_int_equal(s.a.stack->n, 2);	/* the call was not reached */
	run_part(&s, ADDR + 0x1018, ".m.r", 2);	/* a device, then behind it */
	run(&s, 0x1020, ".r");
	run(&s, SVC + 4, ".");
	run(&s, FAULT, "e");			/* not by an access: done */
	run(&s, SVC + 8, "e");
	run(&s, SVC, "e");			/* user's first fetch faults */
	user(&s, ".m");
	run(&s, SVC, "e");
	user(&s, "m.");
	finish(&s, 1 + 2 + 3 + 4 + 2 + 2 + 1 + 1 + 1 + 1 + 1);
	is(&s, "f", 1, 10, 10);
	assert_int_equal(row(&s, "f")->events[EVENT_ATOMIC], 2);
	/* t, the plain one, and the access once */
	assert_int_equal(s.a.total.user_instructions, 1 + 1 + 2);
	assert_int_equal(s.a.total.exceptions, 5);
	sim_stop(&s);
}

static void switch_to(struct sim *s, uint64_t from, uint64_t to)
{
	plg_run(&s->a, block(s, ADDR + 0x900, "mmmr"), s->begun);
	plg_switch_access(&s->a, true, from);
	plg_switch_access(&s->a, true, from + 16);
	plg_switch_access(&s->a, false, to);
	plg_switch_access(&s->a, false, to + 16);
	s->begun += 4;
}

/* A task that sleeps pays for itself, not for who runs meanwhile. */
static void tasks(void **state)
{
	struct sim s;

	sim_start(&s, sym_arm64, "aarch64");
	user(&s, "t");
	run(&s, SVC, "c");
	run(&s, 0x1000, "c");
	run(&s, 0x7000, "c");
	switch_to(&s, 0x10000, 0x20000);
	run(&s, 0x2000, "....c");	/* never seen: amidst g */
	run(&s, 0x3000, ".r");
	run(&s, 0x2014, "c");
	run(&s, 0x7000, "c");
	switch_to(&s, 0x20000, 0x10000);
	run(&s, 0x7004, "r");
	run(&s, 0x1004, "r");
	run(&s, SVC + 4, "e");
	user(&s, ".");
	finish(&s, 1 + 1 + 1 + 4 + 5 + 2 + 1 + 1 + 4 + 3);
	is(&s, "f", 1, 2, 2 + (2 + 4));
	is(&s, "h", 1, 2, 2);
	assert_int_equal(row(&s, "switcher")->calls, 2);
	assert_int_equal(row(&s, "switcher")->self, 3);
	assert_int_equal(row(&s, "cpu_switch_to")->calls, 2);
	assert_int_equal(row(&s, "cpu_switch_to")->self, 8);
	/* g was there before: not called, but its own from now on */
	assert_int_equal(row(&s, "g")->self, 6);
	sim_stop(&s);
}

/* A task's memory that another task got is the other one's from then on. */
static void task_memory_used_again(void **state)
{
	struct sim s;

	sim_start(&s, sym_arm64, "aarch64");
	user(&s, "t");
	run(&s, SVC, "c");
	run(&s, 0x1000, "c");
	run(&s, 0x7000, "c");
	switch_to(&s, 0x10000, 0x20000);	/* a task that ends: */
	switch_to(&s, 0x20000, 0x10000);
	run(&s, 0x7004, "c");
	switch_to(&s, 0x20000, 0x30000);	/* ours is there now */
	switch_to(&s, 0x30000, 0x20000);
	run(&s, 0x7008, "r");
	run(&s, 0x1004, "r");
	run(&s, SVC + 4, "e");
	user(&s, ".");
	finish(&s, 1 + 1 + 1 + 4 + 4 + 1 + 4 + 4 + 3);
	is(&s, "f", 1, 2, 2 + 3 + 2 * 4);
	sim_stop(&s);
}

/* An interrupt that ends in another task, which ends in another interrupt. */
static void preemption(void **state)
{
	struct sim s;

	sim_start(&s, sym_arm64, "aarch64");
	user(&s, "t");
	run(&s, SVC, "c");
	run(&s, 0x1000, "..");
	run(&s, IRQ, "c");
	run(&s, 0x7000, "c");
	switch_to(&s, 0x10000, 0x20000);
	run(&s, 0x7004, "r");		/* preempted before the window */
	run(&s, IRQ + 4, "e");
	run(&s, 0x2004, "..");
	run(&s, IRQ, "c");
	run(&s, 0x7000, "c");
	switch_to(&s, 0x20000, 0x10000);
	run(&s, 0x7004, "r");
	run(&s, IRQ + 4, "e");
	run(&s, 0x1008, "r");
	run(&s, SVC + 4, "e");
	user(&s, ".");
	finish(&s, 1 + 2 + 2 + 4 + 2 + 2 + 2 + 4 + 4);
	is(&s, "f", 1, 3, 3);
	is(&s, "g", 0, 2, 2);
	sim_stop(&s);
}

/*
 * Inlined: entered by its first range, what it calls is its own, instances
 * in it too; and a block may run through several.
 */
static void inlined(void **state)
{
	struct sim s;

	sim_start(&s, sym_arm64, "aarch64");
	user(&s, "t");
	run(&s, SVC, "c");
	run(&s, 0x6000, ".j");
	run(&s, 0x6048, "..X.....");	/* 2 in, 4 deep, 2 in */
	run(&s, 0x6068, ".c");
	run(&s, 0x2000, "...r");
	run(&s, 0x6070, ".j");
	run(&s, 0x60c0, ".j");		/* its other range: still open */
	run(&s, 0x6044, "j");
	run(&s, 0x6100, "c");		/* out */
	run(&s, 0x3000, "r");
	run(&s, 0x6104, "j");
	run(&s, 0x60d0, "j");		/* in by the other: no call */
	run(&s, 0x6050, "j");		/* deep, entered from in */
	run(&s, 0x6180, "r");
	run(&s, SVC + 4, "e");
	user(&s, ".");
	finish(&s, 1 + 2 + 8 + 2 + 4 + 2 + 2 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1);
	is(&s, "in", 1, 4 + 2 + 2 + 2 + 1 + 1, 12 + 4 + 5);
	is(&s, "deep", 2, 5, 5);
	is(&s, "host", 1, 2 + 1 + 1 + 1, 27);
	is(&s, "g", 1, 4, 4);
	assert_string_equal(row(&s, "deep")->inlined_in->name, "host");
	assert_int_equal(row(&s, "deep")->events[EVENT_ATOMIC], 1);
	sim_stop(&s);
}

/* Returns that match no call are borne, and corrected at the next that does. */
static void strange_returns(void **state)
{
	struct sim s;

	sim_start(&s, sym_arm64, "aarch64");
	user(&s, "t");
	run(&s, SVC, "c");
	run(&s, 0x1000, "c");
	run(&s, 0x1080, "c");		/* a thunk: call, then "return" to g */
	run(&s, 0x1090, "r");
	run(&s, 0x2000, "r");
	run(&s, 0x1004, "c");
	run(&s, 0x2000, "c");
	run(&s, 0x3000, "r");
	run(&s, 0x1010, "r");		/* unwound to f by other means */
	run(&s, SVC + 4, "e");
	user(&s, ".");
	finish(&s, 10);
	is(&s, "g", 2, 2, 3);
	is(&s, "h", 1, 1, 1);
	is(&s, "f", 1, 5, 8);
	sim_stop(&s);
}

static const char *const sym_x86 =
	"folab.symbols/1 x86_64\n"
	"F " A(0000) " " A(0100) " entry_SYSCALL_64\n"
	"F " A(0200) " " A(0280) " irq_entries_start\n"
	"F " A(0300) " " A(0340) " asm_exc_page_fault\n"
	"F " A(0400) " " A(0440) " asm_common_interrupt\n"
	"F " A(0900) " " A(0940) " __switch_to_asm\n"
	"F " A(1000) " " A(1100) " f\n"
	"F " A(2000) " " A(3000) " g\n"
	"end 7\n";

/* x86: entries by name, IRET to itself, and where an interrupt came from. */
static void entries_x86(void **state)
{
	struct sim s;

	sim_start(&s, sym_x86, "x86_64");
	user(&s, "t");
	run(&s, 0, "c");
	run(&s, 0x1000, "..");
	run(&s, 0x208, ".j");			/* a device's stub */
	run(&s, 0x400, ".e");
	run_part(&s, ADDR + 0x1008, ".m.", 2);
	run(&s, 0x300, ".e");
	run(&s, 0x100c, "m.e");			/* to itself: no return */
	run(&s, 0x1018, "r");
	run(&s, 4, "e");
	run(&s, 0x200, "j");			/* user space interrupted at once */
	run(&s, 0x400, "e");
	user(&s, "..");
	finish(&s, 1 + 2 + 4 + 1 + 2 + 3 + 1 + 1 + 2);
	is(&s, "f", 1, 7, 7);
	is(&s, "entry_SYSCALL_64", 1, 2, 9);
	is(&s, "irq_entries_start", 2, 3, 6);
	is(&s, "asm_common_interrupt", 2, 3, 3);
	is(&s, "asm_exc_page_fault", 1, 2, 2);
	assert_int_equal(s.a.total.exceptions, 4);
	sim_stop(&s);
}

/*
 * A kernel under test may do anything: whatever the stream, every instruction
 * is counted once, inclusive counts stay in bounds, and memory does too.
 */
static void any_stream(void **state)
{
	static const uint64_t at[] = {
		0x0, SVC, IRQ, FAULT, 0x900, 0x1000, 0x1010, 0x2000, 0x2ffc,
		0x3000, 0x4000, 0x5000, 0x6000, 0x603c, 0x6050, 0x605c, 0x60c0,
		0x60dc, 0x7000, 0x9000,
	};
	static const char kinds[] = ".jcretmX";
	uint64_t kernel = 0;
	struct sim s;
	int i, k;

	srandom(1);
	sim_start(&s, sym_arm64, "aarch64");
	user(&s, "t");
	for (i = 0; i < 200000; i++) {
		char code[9];
		int n = 1 + random() % 8;

		for (k = 0; k < n; k++)
			code[k] = k == n - 1 ? kinds[random() % 8] : '.';
		code[n] = '\0';
		if (random() % 2000 == 0)
			user(&s, code);
		else
			run(&s, at[random() % ARRAY_SIZE(at)], code);
		if (random() % 4 == 0)
			plg_switch_access(&s.a, random() & 1,
					  random() % 100 * 4096);
		kernel = s.begun;
	}
	/* calls without a return */
	for (i = 0; i < 3 * MAX_DEPTH; i++)
		run(&s, 0x1000 + 8 * (i & 1), "c");
	assert_true(s.a.stack->n <= MAX_DEPTH + 8);
	/* more tasks than there can be */
	for (i = 1; i < 2 * MAX_STACKS; i++)
		switch_to(&s, 0x10000ULL * i, 0x10000ULL * (i + 1));
	assert_true(s.a.n_stacks <= MAX_STACKS);
	user(&s, ".");
	kernel = s.begun;
	plg_end(&s.a, s.begun);
	/* An access that "faulted" is taken off, so not all are there. */
	assert_true(s.a.total.kernel_instructions +
		    s.a.total.user_instructions <= kernel - 1000);
	for (i = 0; i < (int)s.symbols.n_rows; i++)
		assert_true(s.symbols.rows[i]->inclusive <= kernel);
	sim_stop(&s);
}

/* What the plugin writes is what record reads; windows are apart. */
static void json_round_trip(void **state)
{
	char *dir = test_dir(), *path = xasprintf("%s/out", dir);
	struct profile *windows;
	struct err err = { 0 };
	struct sim s;
	size_t n, len;
	int i;
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	sim_start(&s, sym_arm64, "aarch64");
	for (i = 1; i <= 2; i++) {
		char *text;

		plg_begin(&s.a, s.begun);
		user(&s, "t");
		run(&s, SVC, "c");
		run(&s, 0x6000, i == 1 ? ".." : "...");
		run(&s, 0x6040, "AX");
		run(&s, 0x6100, "r");
		run(&s, SVC + 4, "e");
		user(&s, ".");
		plg_end(&s.a, s.begun);
		text = plg_profile_json(&s.a, &len);
		assert_non_null(text);
		assert_ptr_equal(strchr(text, '\n'), text + len - 1);
		fputs(text, f);
		free(text);
	}
	fclose(f);
	if (profile_read_windows(path, &windows, &n, &err))
		fail_msg("%s", err.text);
	assert_int_equal(n, 2);
	assert_int_equal(windows[0].kernel_instructions, 7);
	assert_int_equal(windows[1].kernel_instructions, 8);
	assert_int_equal(windows[1].user_instructions, 2);
	assert_int_equal(windows[1].exceptions, 1);
	assert_int_equal(windows[1].tlbi_address, 1);
	assert_int_equal(windows[1].n_fn, 3);
	assert_string_equal(windows[1].fn[0].name, "host");
	assert_int_equal(windows[1].fn[0].inclusive, 6);
	assert_string_equal(windows[1].fn[1].name, "in");
	assert_string_equal(windows[1].fn[1].inlined_in, "host");
	assert_int_equal(windows[1].fn[1].atomics, 1);
	assert_int_equal(windows[1].fn[1].calls, 1);
	for (i = 0; i < 2; i++)
		profile_free(&windows[i]);
	free(windows);
	sim_stop(&s);
	free(path);
	test_dir_remove(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decodes_arm64),
		cmocka_unit_test(decodes_x86),
		cmocka_unit_test(symbols_flatten),
		cmocka_unit_test(symbols_refuse),
		cmocka_unit_test(call_and_return),
		cmocka_unit_test(recursion),
		cmocka_unit_test(tail_calls),
		cmocka_unit_test(neighbours),
		cmocka_unit_test(interrupts),
		cmocka_unit_test(cut_short),
		cmocka_unit_test(tasks),
		cmocka_unit_test(task_memory_used_again),
		cmocka_unit_test(preemption),
		cmocka_unit_test(inlined),
		cmocka_unit_test(strange_returns),
		cmocka_unit_test(entries_x86),
		cmocka_unit_test(any_stream),
		cmocka_unit_test(json_round_trip),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
