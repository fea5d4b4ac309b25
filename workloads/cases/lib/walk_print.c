/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A walk as a C program: the text of what carries out steps, packed, and the
 * steps.
 */
#include <ctype.h>
#include <inttypes.h>
#include <sys/mman.h>

#include "lib.h"
#include "walk_run.h"

/*
 * Of a packed line.  Of what a test says 200 lines are kept: most of them should be
 * steps.
 */
#define WIDTH	500

#define TEXT(name, file) \
	__asm__(".section .rodata\n" \
		".global walk_text_" #name "\nwalk_text_" #name ":\n" \
		".incbin \"workloads/cases/lib/" file "\"\n" \
		".byte 0\n.previous\n"); \
	extern const char walk_text_##name[]

/* Relative to the top directory, where make runs. */
TEXT(step, "walk_step.h");
TEXT(exec, "walk_exec.h");
TEXT(replay, "walk_replay.h");

/* ---- the text --------------------------------------------------------------------- */

static size_t column;

static void end_line(void)
{
	if (column)
		printf("\n");
	column = 0;
}

/* Code goes on the line that is there, a directive needs its own. */
static void put(const char *text, size_t len)
{
	/* folab takes "#" from the front of a line: so it isn't in front. */
	if (*text == '#') {
		end_line();
		printf("# /**/ %.*s\n", (int)len, text);
		return;
	}
	if (column + len > WIDTH)
		end_line();
	printf("%s%.*s", column ? " " : "# ", (int)len, text);
	column += len + 1;
}

static bool ours(const char *line)
{
	return str_starts(line, "#include \"") ||
	       str_starts(line, "#ifndef FOLAB") ||
	       str_starts(line, "#define FOLAB") || str_starts(line, "#endif");
}

/* Without comments, which stand on lines of their own, and indentation. */
static void pack(const char *text)
{
	bool comment = false;

	while (*text) {
		size_t len = strcspn(text, "\n"), lead = strspn(text, "\t ");
		const char *line = text + lead;

		if (str_starts(line, "/*"))
			comment = true;
		if (!comment && len > lead && !ours(line))
			put(line, len - lead);
		if (comment && len >= 2 && !strncmp(text + len - 2, "*/", 2))
			comment = false;
		text += len + (text[len] == '\n');
	}
	end_line();
}

/* ---- the steps ---------------------------------------------------------------------- */

static const char *const op_names[] = {
	"MMAP", "MUNMAP", "MPROTECT", "MREMAP", "MADVISE", "MLOCK", "MUNLOCK",
	"FORK", "EXIT", "TOUCH", "STORE", "TRUNCATE", "PWRITE", "PREAD", "DROP",
	"AGE", "RECLAIM", "CHECK",
};
const char *walk_op_name(int op)
{
	return op_names[op];
}

static const char *const kind_names[] = {
	"NONE", "FILE", "COW", "SHMEM", "ANON",
};

static const char *advice_name(const struct walk_step *s, char *buf, size_t len)
{
	static const struct { int advice; const char *name; } names[] = {
		{ MADV_DONTNEED, "MADV_DONTNEED" }, { MADV_FREE, "MADV_FREE" },
		{ MADV_PAGEOUT, "21 /* MADV_PAGEOUT */" },
		{ MADV_COLD, "20 /* MADV_COLD */" },
		{ MADV_DONTFORK, "MADV_DONTFORK" },
		{ MADV_DOFORK, "MADV_DOFORK" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(names) && s->op == WALK_MADVISE; i++)
		if (names[i].advice == s->advice)
			return names[i].name;
	snprintf(buf, len, "%d", s->advice);
	return buf;
}

static void field(const char *name, int64_t value)
{
	if (value)
		printf(", .%s = %" PRId64, name, value);
}

static void print_step(const struct walk_step *s)
{
	char buf[24];

	printf("# { WALK_%s, .proc = %d", op_names[s->op], s->proc);
	field("at", s->at);
	field("len", s->len);
	field("to", s->to);
	if (s->kind)
		printf(", .kind = WALK_%s", kind_names[s->kind]);
	field("object", s->object);
	if (s->prot)
		printf(", .prot = PROT_READ%s",
		       s->prot & PROT_WRITE ? " | PROT_WRITE" : "");
	if (s->advice || s->op == WALK_MADVISE)
		printf(", .advice = %s", advice_name(s, buf, sizeof(buf)));
	field("pos", s->pos);
	field("bytes", s->bytes);
	field("seed", s->seed);
	printf(" },\n");
}

static void print_settings(const struct walk *w)
{
	const char *value;
	char path[200];

	printf("# static const struct walk_setting settings[] = {\n");
	for (int i = 0; !walk_setting(w, i, path, sizeof(path), &value); i++)
		printf("# { \"%s\", \"%s\" },\n", path, value);
	printf("# { NULL, NULL } };\n");
}

static void print_main(const struct walk *w)
{
	const struct walk_fail *f = &w->result->fail;

	printf("# int main(int argc, char **argv)\n# {\n"
	       "# static const struct walk_fault fault = { .kind = %d, .proc = %d, .at = %d, .object = %d, .value = %d, .sig = %d, .pos = %u, .reply = { %d, %d, %d } };\n"
	       "# return walk_replay(argc, argv, settings, steps, %zu, &fault, %d);\n# }\n",
	       f->kind, f->proc, f->at, f->object, f->value, f->sig, f->pos,
	       f->reply.ret, f->reply.pages, f->reply.sig, w->plan->n,
	       w->planted);
}

void walk_print(const struct walk *w)
{
	printf("# /* ---- a C program that fails alike begins here ---- */\n"
	       "# /* SPDX-License-Identifier: GPL-2.0 */\n"
	       "# /* %s */\n"
	       "# /* Stripped of \"# \": as a case of folab, workloads/cases/NAME.c; or gcc -static, as root: PROGRAM DIRECTORY-ON-XFS CGROUP-TO-MAKE */\n"
	       "# /**/ #define _GNU_SOURCE\n"
	       "# /**/ #pragma GCC diagnostic ignored \"-Wmisleading-indentation\"\n", w->result->fail.text);
	pack(walk_text_step);
	pack(walk_text_exec);
	pack(walk_text_replay);
	printf("# const char folab_case_program[] __attribute__((used, section(\".folab.case\"))) = \"walk %" PRIu64
	       " again\\n" "120\\n" "cpus=1\\n\";\n", w->seed);
	print_settings(w);
	printf("# static const struct walk_step steps[] = {\n");
	for (size_t i = 0; i < w->plan->n; i++)
		print_step(&w->plan->steps[i]);
	printf("# };\n");
	print_main(w);
	printf("# /* ---- and ends here ---- */\n");
	fflush(stdout);
}
