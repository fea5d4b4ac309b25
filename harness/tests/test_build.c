/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The build room, on kernels of three source files whose Makefile knows what
 * the real one is asked for: O=, allnoconfig with KCONFIG_ALLCONFIG, objects
 * that are made again only when their source is newer, an image.
 */
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "../build/private.h"

static char *top;		/* of everything this test writes */
static const struct arch *arch;	/* the host's: needs no cross compiler */

/* ---- a kernel of three files ------------------------------------------------- */

static const char kernel_makefile[] =
	"VERSION = 9\n"
	"PATCHLEVEL = 1\n"
	"OBJS := out/a.o out/b.o out/rmap.o\n"
	"allnoconfig:\n"
	"	@mkdir -p out/include/config out/arch/x86/boot out/arch/arm64/boot\n"
	"	@grep -v -F -f Kconfig.drop $(KCONFIG_ALLCONFIG) > out/.config.new\n"
	"	@cmp -s out/.config.new out/.config || cp out/.config.new out/.config\n"
	"	@echo 9.1.0-fake > out/include/config/kernel.release\n"
	"Image bzImage: out/vmlinux\n"
	"	@echo '  OBJCOPY $@'\n"
	"	@cp out/vmlinux $(if $(filter Image,$@),out/arch/arm64/boot,out/arch/x86/boot)/$@\n"
	"out/vmlinux: $(OBJS)\n"
	"	@if [ -e slow ]; then echo $$$$ > out/pid; sleep 1000; fi\n"
	"	@echo '  LD      vmlinux'\n"
	"	@$(CROSS_COMPILE)gcc -nostdlib -static -Wl,-e,start -o $@ $(OBJS)\n"
	/* A command that names a file in full, as tools/ has them. */
	"out/.full.cmd: FORCE\n"
	"	@echo $(CURDIR)/x | cmp -s - $@ || echo $(CURDIR)/x > $@\n"
	"FORCE:\n"
	"out/%.o: mm/%.c out/.config out/.full.cmd\n"
	"	@echo '  CC      mm/$*.o'\n"
	"	@$(CROSS_COMPILE)gcc -O2 $(CFLAGS_$*.o) -c -o $@ ../src/mm/$*.c\n";

static const char rmap_c[] =
	"int volatile seen;\n"
	"int start(void);\n"
	"static int __attribute__((always_inline)) check(int n)\n"
	"{\n"
	"	for (int i = 0; i < n; i++)\n"
	"		seen += i;\n"
	"	return seen;\n"
	"}\n"
	"\n"
	"int rmap_one(int n);\n"
	"int rmap_one(int n)\n"
	"{\n"
	"	return check(n) + 1;\n"
	"}\n"
	"\n"
	"int start(void)\n"
	"{\n"
	"	return rmap_one(3);\n"
	"}\n";

static const char good_patch[] =
	"From 1 Mon Sep 17 00:00:00 2001\n"
	"Subject: [PATCH 1/1] mm: add one more\n"
	"\n"
	"Because.\n"
	"---\n"
	"diff --git a/mm/a.c b/mm/a.c\n"
	"--- a/mm/a.c\n"
	"+++ b/mm/a.c\n"
	"@@ -1 +1,2 @@\n"
	" int a;\n"
	"+int a_too;\n"
	"-- \n"
	"2.39.5\n";

static const char bad_patch[] =
	"Subject: [PATCH] mm: touches what is not there\n"
	"---\n"
	"diff --git a/mm/rmap.c b/mm/rmap.c\n"
	"--- a/mm/rmap.c\n"
	"+++ b/mm/rmap.c\n"
	"@@ -11,4 +11,4 @@ int rmap_one(int n);\n"
	" int rmap_one(int n)\n"
	" {\n"
	"-	return check(n) + 2;\n"
	"+	return check(n) + 3;\n"
	" }\n";

static const char broken_patch[] =
	"Subject: [PATCH] mm: is no C\n"
	"---\n"
	"diff --git a/mm/a.c b/mm/a.c\n"
	"--- a/mm/a.c\n"
	"+++ b/mm/a.c\n"
	"@@ -1 +1,2 @@\n"
	" int a;\n"
	"+int nonsense nonsense;\n";

static const char slow_patch[] =
	"Subject: [PATCH] build: never end\n"
	"---\n"
	"diff --git a/slow b/slow\n"
	"new file mode 100644\n"
	"--- /dev/null\n"
	"+++ b/slow\n"
	"@@ -0,0 +1 @@\n"
	"+yes\n";

/* ---- files ---------------------------------------------------------------------- */

static void put(const char *rel, const char *text)
{
	char *path = xasprintf("%s/%s", top, rel), *dir = xstrdup(path);
	struct err err = { 0 };

	*strrchr(dir, '/') = '\0';
	if (file_mkdirs(dir, &err) ||
	    file_write(path, text, strlen(text), &err))
		fail_msg("%s", err.text);
	free(dir);
	free(path);
}

static void sh(const char *fmt, ...)
{
	va_list ap;
	char *cmd;

	va_start(ap, fmt);
	if (vasprintf(&cmd, fmt, ap) < 0)
		fail();
	va_end(ap);
	if (system(cmd))
		fail_msg("%s", cmd);
	free(cmd);
}

static char *get(const char *path)
{
	struct err err = { 0 };
	char *text;

	if (file_read(path, 1 << 24, &text, NULL, &err))
		fail_msg("%s", err.text);
	return text;
}

static bool there(const char *rel)
{
	char *path = xasprintf("%s/%s", top, rel);
	bool yes = file_exists(path);

	free(path);
	return yes;
}

static void put_series(const char *name, const char *patch)
{
	char *rel = xasprintf("home/patches/linux-9.1/%s/0001-x.patch", name);

	put(rel, patch);
	free(rel);
	rel = xasprintf("home/patches/linux-9.1/%s/series", name);
	put(rel, "# in order\n0001-x.patch\n");
	free(rel);
}

/* What a mutant's message has to say, in order. */
static const char good_fields[] =
	"Mutant-of: good\nCaught-by: young.one\nNeeds-debug: no\nArch: any\n";

static void put_mutant(const char *name, const char *fields, const char *diff)
{
	char *rel = xasprintf("home/patches/mutants/%s.patch", name);
	char *text = xasprintf("From: x <x@x>\nSubject: [PATCH] mm: a mistake\n\nIt is wrong.\n\n%s---\n%s",
			       fields, diff);

	put(rel, text);
	free(text);
	free(rel);
}

static void put_mutants(void)
{
	put_mutant("of_b", good_fields,
		   "--- a/mm/b.c\n+++ b/mm/b.c\n@@ -1 +1,2 @@\n int b;\n+int b_wrong;\n");
	put_mutant("of_rmap", good_fields,
		   "--- a/mm/rmap.c\n+++ b/mm/rmap.c\n@@ -11,4 +11,4 @@\n int rmap_one(int n)\n {\n-	return check(n) + 1;\n+	return check(n) - 1;\n }\n");
	put_mutant("no_c", good_fields,
		   "--- a/mm/b.c\n+++ b/mm/b.c\n@@ -1 +1,2 @@\n int b;\n+int nonsense nonsense;\n");
	put_mutant("old", good_fields,
		   "--- a/mm/b.c\n+++ b/mm/b.c\n@@ -1 +1 @@\n-int gone;\n+int b;\n");
}

static void put_kernel(void)
{
	put("linux-source-9.1/Makefile", kernel_makefile);
	put("linux-source-9.1/Kconfig.drop", "CONFIG_DROPPED\n");
	put("linux-source-9.1/mm/a.c", "int a;\n");
	put("linux-source-9.1/mm/b.c", "int b;\n");
	put("linux-source-9.1/mm/rmap.c", rmap_c);
	sh("cd %s && ln -s a.c linux-source-9.1/mm/link.c && mkdir src && tar -cJf src/linux-source-9.1.tar.xz linux-source-9.1",
	   top);
	sh("cd %s/linux-source-9.1 && git -c init.defaultBranch=main init -q . && git add -A && git -c user.name=x -c user.email=x@x commit -qm one && git tag v+1",
	   top);
}

static int set_up(void **state)
{
	char name[] = "/tmp/folab-kernels-XXXXXX";

	arch = arch_host();
	if (!arch || !mkdtemp(name))
		return -1;
	top = xstrdup(name);
	put("home/patches/config/base.config",
	    "# all of them\nCONFIG_SMP=y\nCONFIG_NAME=\"-x\"\n# CONFIG_OFF is not set\nCONFIG_DROPPED_TOO=y # optional\n");
	put("home/patches/config/arm64.config", "CONFIG_ARM64=y\n");
	put("home/patches/config/x86_64.config", "CONFIG_X86_64=y\n");
	put("home/patches/config/debug.config", "\nCONFIG_DEBUG=y\nCONFIG_DROPPED=y\n");
	put_series("good", good_patch);
	put_series("bad", bad_patch);
	put_series("broken", broken_patch);
	put_mutants();
	put_series("slow", slow_patch);
	put("home/patches/linux-9.1/good/cover", "good: one more\n\nText.\n");
	put_kernel();
	setenv("FOLAB_HOME", xasprintf("%s/home", top), 1);
	setenv("FOLAB_SOURCE_DIR", xasprintf("%s/src", top), 1);
	setenv("XDG_CACHE_HOME", xasprintf("%s/cache", top), 1);
	/* What make check itself leaves there must not reach the kernel. */
	setenv("MAKEFLAGS", "n", 1);
	setenv("CFLAGS", "-nonsense", 1);
	progress_quiet(true);
	intr_install();
	return 0;
}

static int tear_down(void **state)
{
	struct err err = { 0 };

	return file_remove_tree(top, &err);
}

/* Every test begins with a cold cache. */
static int cold(void **state)
{
	sh("rm -rf %s/cache", top);
	return 0;
}

/* ---- building -------------------------------------------------------------------- */

static int build(const char *spec, struct image *im, struct err *err)
{
	static const struct build_options opt;
	static struct image ignored;

	memset(err, 0, sizeof(*err));
	return build_kernel(spec, arch, &opt, im ? im : &ignored, err);
}

static void must_build(const char *spec, struct image *im)
{
	struct err err;

	if (build(spec, im, &err))
		fail_msg("%s: %s", spec, err.text);
}

static void must_fail(const char *spec, int code, const char *text)
{
	struct err err;

	assert_int_equal(build(spec, NULL, &err), -1);
	if (err.code != code || !strstr(err.text, text))
		fail_msg("%s: %d \"%s\", wanted %d \"%s\"", spec, err.code,
			 err.text, code, text);
}

/* What the last build in a slot compiled, "b rmap", in order of name. */
static char *compiled(const char *slot)
{
	static const char *const names[] = { "a", "b", "rmap" };
	char *path = xasprintf("%s/cache/folab/slots/%s.%s/log", top, slot,
			       arch->name);
	char *text = get(path), all[200] = "", line[50];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(line, sizeof(line), "  CC      mm/%s.o\n", names[i]);
		if (strstr(text, line))
			strcat(strcat(all, *all ? " " : ""), names[i]);
	}
	free(text);
	free(path);
	return xstrdup(all);
}

static void assert_compiled(const char *slot, const char *want)
{
	char *got = compiled(slot);

	assert_string_equal(got, want);
	free(got);
}

/* A spec that is not one, or names what is not there, is the user's error. */
static void test_bad_specs(void **state)
{
	static const struct {
		const char *spec;
		int code;
		const char *text;
	} t[] = {
		{ "", EXIT_USAGE, "no kernel" },
		{ "linux", EXIT_USAGE, "a kernel is" },
		{ "6", EXIT_USAGE, "a kernel is" },
		{ "6.", EXIT_USAGE, "a kernel is" },
		{ "6.12x", EXIT_USAGE, "a kernel is" },
		{ "6.12 ", EXIT_USAGE, "a kernel is" },
		{ "9.1+", EXIT_USAGE, "no name of a series" },
		{ "9.1+../x", EXIT_USAGE, "no name of a series" },
		{ "9.1+good+good", EXIT_USAGE, "twice" },
		{ "9.1+good:1+good", EXIT_USAGE, "twice" },
		{ "9.1+good:", EXIT_USAGE, "no part of a series" },
		{ "9.1+good:0", EXIT_USAGE, "no part of a series" },
		{ "9.1+good:1x", EXIT_USAGE, "no part of a series" },
		{ "9.1+:1", EXIT_USAGE, "no part of a series" },
		{ "9.1+good:2", EXIT_USAGE, "has 1 patch, \"good:2\" asks for more" },
		{ "9.1+nope:1", EXIT_USAGE, "no series \"nope\"" },
		{ "9.1+mutant:of_b", EXIT_USAGE, "behind the series" },
		{ "9.1+good+mutant:", EXIT_USAGE, "no name of a mutant" },
		{ "9.1+good+mutant:../x", EXIT_USAGE, "no name of a mutant" },
		{ "9.1+good+mutant:of_b+good", EXIT_USAGE, "no name of a mutant" },
		{ "9.1+good+mutant:nope", EXIT_USAGE, "no mutant \"nope\"" },
		{ "9.1+slow+mutant:of_b", EXIT_USAGE, "one of series good" },
		{ "9.1+nope", EXIT_USAGE, "there is bad, broken, good, slow" },
		{ "8.8", EXIT_ENVIRONMENT, "apt-get install linux-source-8.8" },
		{ "running", EXIT_USAGE, "local machine" },
		{ "git:/nowhere@HEAD", EXIT_USAGE, "no directory /nowhere" },
		{ "git:/tmp", EXIT_USAGE, "lacks a commit" },
		{ "git:/tmp@", EXIT_USAGE, "lacks a commit" },
		{ "image:", EXIT_USAGE, "lacks a path" },
		{ "image:/nowhere", EXIT_USAGE, "No such file" },
		{ "image:/tmp", EXIT_USAGE, "no file" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		struct err err = { 0 };

		must_fail(t[i].spec, t[i].code, t[i].text);
		assert_int_equal(build_check_spec(t[i].spec, arch, &err), -1);
		assert_int_equal(err.code, t[i].code);
	}
}

/* The image's description is whole, and its files are there. */
static void test_builds(void **state)
{
	struct image im;
	struct err err = { 0 };
	char *text, *hash;

	assert_int_equal(build_check_spec("9.1+good", arch, &err), 0);
	must_build("9.1+good", &im);
	assert_string_equal(im.spec, "9.1+good");
	assert_string_equal(im.release, "9.1.0-fake");
	assert_non_null(strstr(im.base, "linux-source-9.1 sha256:"));
	assert_non_null(strstr(im.compiler, "gcc"));
	assert_int_equal(im.n_series, 1);
	assert_string_equal(im.series[0].name, "good");
	assert_int_equal(im.series[0].patches, 1);
	text = get(im.series[0].mbox);
	assert_string_equal(text, good_patch);
	free(text);
	text = get(im.config);
	assert_non_null(strstr(text, "CONFIG_SMP=y\n"));
	free(text);
	hash = hash_of_file(im.kernel, &err);
	assert_string_equal(im.image_hash, hash);
	free(hash);
	/* The patch is in it. */
	sh("nm %s | grep -q ' a_too$'", im.kernel);
	image_free(&im);
}

/* Functions of vmlinux, and where check() was inlined into rmap_one(). */
static void test_symbols(void **state)
{
	char *text, *line, *save, *i_line = NULL, first[60];
	uint64_t start = 0, end = 0, from, to;
	unsigned int lines = 0, told = 0;
	struct image im;

	must_build("9.1", &im);
	text = get(im.symbols);
	snprintf(first, sizeof(first), "folab.symbols/1 %s\n", arch->name);
	assert_true(str_starts(text, first));
	for (line = strtok_r(text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		unsigned long s, e;
		char name[64];

		lines++;
		if (sscanf(line, "F %lx %lx %63s", &s, &e, name) == 3 &&
		    !strcmp(name, "rmap_one")) {
			start = s;
			end = e;
		}
		if (line[0] == 'I' && str_ends(line, " check rmap_one"))
			i_line = line;
		sscanf(line, "end %u", &told);
	}
	assert_true(start && start < end);
	assert_int_equal(lines, told + 2);
	assert_non_null(i_line);
	assert_int_equal(sscanf(i_line, "I %lx %lx", &from, &to), 2);
	assert_true(from >= start && to <= end && from < to);
	free(text);
	image_free(&im);
}

/* What was damaged in the cache is made again, whichever file it was. */
static void test_damaged(void **state)
{
	struct image one, two;
	struct err err = { 0 };
	char *before, *after;

	for (int which = 0; which < 3; which++) {
		must_build("9.1", &one);
		err_clear(&err);
		assert_int_equal(file_read(one.kernel, 1 << 20, &before, NULL,
					   &err), 0);
		if (which == 0)
			assert_int_equal(truncate(one.kernel, 10), 0);
		else if (which == 1)
			assert_int_equal(unlink(one.symbols), 0);
		else
			assert_int_equal(file_write(one.config, "x", 1, &err), 0);
		must_build("9.1", &two);
		assert_int_equal(file_read(two.kernel, 1 << 20, &after, NULL,
					   &err), 0);
		assert_string_equal(before, after);
		assert_true(file_exists(two.symbols));
		free(before);
		free(after);
		image_free(&one);
		image_free(&two);
	}
}

/* Nothing changed: the very entry, and make does not run. */
static void test_unchanged(void **state)
{
	struct image one, two;
	char *log = xasprintf("%s/cache/folab/slots/9.1.%s/log", top,
			      arch->name);

	must_build("9.1", &one);
	unlink(log);
	must_build("9.1", &two);
	assert_false(file_exists(log));
	assert_string_equal(one.kernel, two.kernel);
	image_free(&one);
	image_free(&two);
	free(log);
}

/* B starts from A's tree; then an edited patch costs only what it touches. */
static void test_incremental(void **state)
{
	struct image one, two;

	must_build("9.1", NULL);
	assert_compiled("9.1", "a b rmap");
	must_build("9.1+good", &one);
	assert_compiled("9.1+good", "a");
	put("home/patches/linux-9.1/edit/series", "1.patch\n");
	put("home/patches/linux-9.1/edit/1.patch", good_patch);
	must_build("9.1+edit", NULL);
	assert_compiled("9.1+edit", "a");
	put("home/patches/linux-9.1/edit/1.patch",
	    "diff --git a/mm/b.c b/mm/b.c\n--- a/mm/b.c\n+++ b/mm/b.c\n@@ -1 +1,2 @@\n int b;\n+int b_too;\n");
	must_build("9.1+edit", &two);
	assert_compiled("9.1+edit", "a b");
	assert_string_not_equal(one.image_hash, two.image_hash);
	sh("! nm %s | grep a_too", two.kernel);
	sh("nm %s | grep -q b_too", two.kernel);
	image_free(&two);
	/* A's sources were linked, not shared: they are as they were. */
	must_build("9.1", &two);
	sh("! nm %s | grep _too", two.kernel);
	sh("cd %s/cache/folab/slots/9.1.%s/tree/src && cmp mm/b.c %s/linux-source-9.1/mm/b.c",
	   top, arch->name, top);
	sh("rm -r %s/home/patches/linux-9.1/edit", top);
	image_free(&one);
	image_free(&two);
}

/* The first patches of a series: one more costs what that patch touches. */
static void test_part_of_series(void **state)
{
	struct image one, two;

	must_build("9.1", NULL);
	put("home/patches/linux-9.1/pair/series", "1.patch\n2.patch\n");
	put("home/patches/linux-9.1/pair/1.patch", good_patch);
	put("home/patches/linux-9.1/pair/2.patch",
	    "diff --git a/mm/b.c b/mm/b.c\n--- a/mm/b.c\n+++ b/mm/b.c\n@@ -1 +1,2 @@\n int b;\n+int b_too;\n");
	must_build("9.1+pair:1", &one);
	assert_compiled("9.1+pair_part", "a");
	assert_string_equal(one.series[0].name, "pair:1");
	assert_int_equal(one.series[0].patches, 1);
	sh("nm %s | grep -q a_too && ! nm %s | grep -q b_too", one.kernel,
	   one.kernel);
	must_build("9.1+pair:2", &two);
	assert_compiled("9.1+pair_part", "b");
	assert_int_equal(two.series[0].patches, 2);
	sh("nm %s | grep -q a_too && nm %s | grep -q b_too", two.kernel,
	   two.kernel);
	assert_string_not_equal(one.image_hash, two.image_hash);
	sh("rm -r %s/home/patches/linux-9.1/pair", top);
	image_free(&one);
	image_free(&two);
}

/*
 * Mutants of a series share a slot that starts from the series' own, and each
 * costs what it and the one before touch.
 */
static void test_mutants(void **state)
{
	struct image im, again;

	must_build("9.1+good", NULL);
	/* Newer, and of no use: it would mean compiling a.c as well. */
	must_build("9.1", NULL);
	must_build("9.1+good+mutant:of_b", &im);
	assert_compiled("9.1+good+mutant", "b");
	assert_int_equal(im.n_series, 2);
	assert_string_equal(im.series[1].name, "mutant:of_b");
	assert_string_equal(im.spec, "9.1+good+mutant:of_b");
	sh("nm %s | grep -q a_too && nm %s | grep -q b_wrong", im.kernel,
	   im.kernel);
	sh("grep -q b_wrong %s", im.series[1].mbox);

	must_build("9.1+good+mutant:of_rmap", &again);
	assert_compiled("9.1+good+mutant", "b rmap");
	assert_string_not_equal(im.image_hash, again.image_hash);
	sh("! nm %s | grep b_wrong", again.kernel);
	image_free(&again);

	/* A mutant that fails leaves nothing for the next one. */
	must_fail("9.1+good+mutant:no_c", EXIT_BUILD, "mm/b.c:2:");
	must_fail("9.1+good+mutant:old", EXIT_BUILD,
		  "mutant:old does not apply to linux-source-9.1");
	put_mutant("of_b", good_fields,
		   "--- a/mm/b.c\n+++ b/mm/b.c\n@@ -1 +1,2 @@\n int b;\n+int b_bad;\n");
	must_build("9.1+good+mutant:of_b", &again);
	sh("nm %s | grep -q b_bad", again.kernel);
	image_free(&again);
	image_free(&im);
	sh("cd %s/cache/folab/slots && test $(ls | wc -l) = 3", top);
	put_mutants();
}

static void bad_mutant(const char *fields, const char *text)
{
	struct mutant_info *list;
	struct err err = { 0 };
	size_t n;

	put_mutant("wrong", fields, "");
	assert_int_equal(build_mutants(&list, &n, &err), -1);
	assert_null(list);
	if (err.code != EXIT_USAGE || !strstr(err.text, text))
		fail_msg("%d \"%s\", wanted \"%s\"", err.code, err.text, text);
}

/* A mutant that does not say who catches it can't be told caught. */
static void test_list_mutants(void **state)
{
	struct mutant_info *list;
	struct err err = { 0 };
	size_t n;

	put_mutant("debug",
		   "Mutant-of: good\nCaught-by: a.b.c\nNeeds-debug: yes\nArch: arm64\n",
		   "");
	assert_int_equal(build_mutants(&list, &n, &err), 0);
	assert_int_equal(n, 5);
	assert_string_equal(list[0].name, "debug");
	assert_string_equal(list[0].caught_by, "a.b.c");
	assert_string_equal(list[0].arch->name, "arm64");
	assert_true(list[0].debug);
	assert_string_equal(list[2].name, "of_b");
	assert_string_equal(list[2].title, "mm: a mistake");
	assert_string_equal(list[2].of, "good");
	assert_string_equal(list[2].caught_by, "young.one");
	assert_null(list[2].arch);
	assert_false(list[2].debug);
	build_mutants_free(list, n);

	bad_mutant("Caught-by: a.b\nNeeds-debug: no\nArch: any\n",
		   "no \"Mutant-of: ...\"");
	/* In the message, not in the patch; and with something behind it. */
	bad_mutant("Mutant-of: good\nNeeds-debug: no\nArch: any\n---\nCaught-by: a.b\n",
		   "no \"Caught-by: ...\"");
	bad_mutant("Mutant-of: good\nCaught-by:\nNeeds-debug: no\nArch: any\n",
		   "no \"Caught-by: ...\"");
	bad_mutant("Mutant-of: good\nCaught-by: a\nNeeds-debug: no\nArch: any\n",
		   "no PROGRAM.CASE");
	bad_mutant("Mutant-of: good\nCaught-by: a.b\nNeeds-debug: maybe\nArch: any\n",
		   "\"Needs-debug: maybe\" is unknown");
	bad_mutant("Mutant-of: good\nCaught-by: a.b\nNeeds-debug: no\nArch: sparc\n",
		   "\"Arch: sparc\" is unknown");
	sh("rm %s/home/patches/mutants/wrong.patch %s/home/patches/mutants/debug.patch",
	   top, top);
}

/* The same content makes the same image, wherever the tree came from. */
static void test_reproducible(void **state)
{
	struct image one, two;

	must_build("9.1", NULL);
	must_build("9.1+good", &one);
	cold(NULL);
	must_build("9.1+good", &two);
	assert_string_equal(one.image_hash, two.image_hash);
	assert_string_equal(one.config_hash, two.config_hash);
	image_free(&one);
	image_free(&two);
}

/* Names series, patch, file and hunk, and leaves nothing. */
static void test_does_not_apply(void **state)
{
	struct err err;

	assert_int_equal(build("9.1+bad", NULL, &err), -1);
	assert_int_equal(err.code, EXIT_BUILD);
	assert_non_null(strstr(err.text, "series bad "));
	assert_non_null(strstr(err.text, "0001-x.patch"));
	assert_non_null(strstr(err.text, "mm/rmap.c"));
	assert_non_null(strstr(err.text, "@@ -11,4 +11,4 @@ int rmap_one"));
	sh("test -z \"$(ls -A %s/cache/folab/slots %s/cache/folab/images | grep -v :)\"",
	   top, top);
	/* In an order in which it does. */
	must_fail("9.1+good+bad", EXIT_BUILD, "series bad ");
}

static void test_does_not_compile(void **state)
{
	must_fail("9.1+broken", EXIT_BUILD, "mm/a.c:2:14: error: expected");
	must_fail("9.1+broken", EXIT_BUILD, "/log)");
	sh("test -z \"$(ls -A %s/cache/folab/images)\"", top);
}

/* Kconfig dropped it: the option and its line; "# optional" allows it. */
static void test_dropped_option(void **state)
{
	static const struct build_options debug = { .fragment = "debug" };
	struct image im;
	struct err err = { 0 };

	assert_int_equal(build_kernel("9.1", arch, &debug, &im, &err), -1);
	assert_int_equal(err.code, EXIT_BUILD);
	assert_non_null(strstr(err.text, "CONFIG_DROPPED=y of debug.config:3"));
	put("home/patches/config/debug.config",
	    "\nCONFIG_DEBUG=y\nCONFIG_DROPPED=y # optional\n");
	err_clear(&err);
	assert_int_equal(build_kernel("9.1", arch, &debug, &im, &err), 0);
	image_free(&im);
}

static void test_config_check(void **state)
{
	static const struct {
		const char *asked, *got;
		bool ok;
	} t[] = {
		{ "CONFIG_X=y", "CONFIG_X=y\n", true },
		{ "CONFIG_X=y", "CONFIG_X=m\n", false },
		{ "CONFIG_X=y", "# CONFIG_X is not set\n", false },
		{ "CONFIG_X=y", "CONFIG_XY=y\n", false },
		{ "CONFIG_X=16", "CONFIG_X=16\n", true },
		{ "CONFIG_X=16", "CONFIG_X=8\n", false },
		{ "# CONFIG_X is not set", "", true },
		{ "CONFIG_X=n", "# CONFIG_X is not set\n", true },
		{ "CONFIG_X=n", "CONFIG_X=y\n", false },
		{ "CONFIG_X=n # optional", "CONFIG_X=y\n", true },
		{ "CONFIG_X=\"a b\"", "CONFIG_X=\"a b\"\n", true },
	};
	char *path = xasprintf("%s/dotconfig", top);

	sh("mkdir -p %s/other/patches/config && touch %s/other/patches/config/x86_64.config",
	   top, top);
	setenv("FOLAB_HOME", xasprintf("%s/other", top), 1);
	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		struct err err = { 0 };
		struct config c;

		put("other/patches/config/base.config", t[i].asked);
		put("dotconfig", t[i].got);
		assert_int_equal(config_load(&c, arch_find("x86_64"), false,
					     &err), 0);
		if (config_check(&c, path, &err) != (t[i].ok ? 0 : -1))
			fail_msg("%s, %s: %s", t[i].asked, t[i].got, err.text);
		config_free(&c);
	}
	put("other/patches/config/base.config", "CONFIG_X=y\nnonsense\n");
	{
		struct err err = { 0 };
		struct config c;

		assert_int_equal(config_load(&c, arch_find("x86_64"), false,
					     &err), -1);
		assert_non_null(strstr(err.text, "base.config:2"));
		config_free(&c);
	}
	setenv("FOLAB_HOME", xasprintf("%s/home", top), 1);
	free(path);
}

/* What is missing is named with its package, before anything is unpacked. */
static void test_no_compiler(void **state)
{
	static const char *const has[] = {
		"env", "sh", "git", "make", "gcc", "ld", "flex", "bison", "bc",
		"cp",
	};
	const struct arch *other = arch_find(!strcmp(arch->name, "arm64") ?
					     "x86_64" : "arm64");
	char *path = xstrdup(getenv("PATH")), *bin = xasprintf("%s/bin", top);
	struct err err = { 0 };
	struct image im;

	sh("mkdir %s", bin);
	for (size_t i = 0; i < ARRAY_SIZE(has); i++)
		sh("ln -s $(command -v %s || echo /bin/true) %s/%s", has[i],
		   bin, has[i]);
	setenv("PATH", bin, 1);
	assert_int_equal(build_kernel("9.1", other, NULL, &im, &err), -1);
	setenv("PATH", path, 1);
	assert_int_equal(err.code, EXIT_ENVIRONMENT);
	assert_non_null(strstr(err.text, "apt-get install gcc-"));
	assert_null(strchr(strstr(err.text, "gcc-"), '_'));
	unlink(strcat(strcpy(xmalloc(strlen(bin) + 10), bin), "/flex"));
	setenv("PATH", bin, 1);
	err_clear(&err);
	assert_int_equal(build_kernel("9.1", arch, NULL, &im, &err), -1);
	setenv("PATH", path, 1);
	assert_non_null(strstr(err.text, "apt-get install flex"));
	assert_false(there("cache/folab/sources/linux-source-9.1.git"));
	free(bin);
	free(path);
}

/* git:PATH@REF, with a plus in the ref, with series, and a dirty tree. */
static void test_git(void **state)
{
	char *spec = xasprintf("git:%s/linux-source-9.1@v+1", top), *plus;
	struct image one, two;

	put("linux-source-9.1/mm/a.c", "not committed\n");
	must_build(spec, &one);
	assert_non_null(strstr(one.base, "commit "));
	plus = xasprintf("%s+good", spec);
	must_build(plus, &two);
	assert_int_equal(two.n_series, 1);
	sh("nm %s | grep -q ' a_too$'", two.kernel);
	free(plus);
	plus = xasprintf("git:%s/linux-source-9.1@HEAD~7", top);
	must_fail(plus, EXIT_USAGE, "no commit \"HEAD~7\"");
	free(plus);
	plus = xasprintf("git:%s/linux-source-9.1@--help", top);
	must_fail(plus, EXIT_USAGE, "no commit \"--help\"");
	free(plus);
	plus = xasprintf("%s+nope", spec);
	must_fail(plus, EXIT_USAGE, "no series \"nope\" for Linux 9.1");
	/* Their tree, index and branches are as they were. */
	sh("cd %s/linux-source-9.1 && test \"$(git status --porcelain)\" = ' M mm/a.c' && test \"$(git branch | wc -l)\" = 1 && test ! -e .git/worktrees && git checkout -q mm/a.c",
	   top);
	image_free(&one);
	image_free(&two);
	free(plus);
	free(spec);
}

static void test_truncated_tarball(void **state)
{
	sh("cd %s/src && mv linux-source-9.1.tar.xz whole && head -c 500 whole > linux-source-9.1.tar.xz",
	   top);
	must_fail("9.1", EXIT_ENVIRONMENT, "can't be unpacked");
	sh("cd %s/src && mv whole linux-source-9.1.tar.xz", top);
	must_build("9.1", NULL);
}

/* ---- others, signals, full disks --------------------------------------------------- */

/* Begin a build in a process of its own. */
static pid_t build_apart(const char *spec)
{
	pid_t pid = fork();

	if (pid == 0) {
		struct err err;
		int rc = build(spec, NULL, &err);

		_exit(rc ? err.code : 0);
	}
	return pid;
}

static int ended(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000;
}

static void wait_for(const char *rel)
{
	for (int i = 0; !there(rel); i++) {
		struct timespec ms = { .tv_nsec = 10000000 };

		if (i > 3000)
			fail_msg("no %s after 30 s", rel);
		nanosleep(&ms, NULL);
	}
}

/* Both get it, and it is made once. */
static void test_two_at_once(void **state)
{
	pid_t pid[4];

	for (size_t i = 0; i < ARRAY_SIZE(pid); i++)
		pid[i] = build_apart(i % 2 ? "9.1+good" : "9.1");
	for (size_t i = 0; i < ARRAY_SIZE(pid); i++)
		assert_int_equal(ended(pid[i]), 0);
	sh("test $(ls %s/cache/folab/images | wc -l) = 2", top);
	assert_compiled("9.1", "a b rmap");
}

static char *slow_pid(void)
{
	return xasprintf("cache/folab/slots/9.1+slow.%s/tree/src/out/pid",
			 arch->name);
}

/* make and all below it go with a folab that is killed; the next one works. */
static void test_killed(void **state)
{
	char *rel = slow_pid(), *path = xasprintf("%s/%s", top, rel), *text;
	pid_t pid = build_apart("9.1+slow");
	long maker;

	wait_for(rel);
	text = get(path);
	maker = strtol(text, NULL, 10);
	assert_true(maker > 1);
	kill(pid, SIGKILL);
	assert_int_equal(ended(pid), 1000);
	for (int i = 0; kill(maker, 0) == 0; i++) {
		struct timespec ms = { .tv_nsec = 10000000 };

		if (i > 500)
			fail_msg("%ld still runs", maker);
		nanosleep(&ms, NULL);
	}
	/* A half-written object that looks newer than its source. */
	sh("cd %s/cache/folab/slots/9.1+slow.%s/tree/src/out && head -c 10 b.o > x && mv x b.o",
	   top, arch->name);
	/* A file that git had written, but not yet its index. */
	sh("echo x > %s/cache/folab/slots/9.1+slow.%s/tree/src/mm/stray.h", top,
	   arch->name);
	put_series("slow", good_patch);
	must_build("9.1+slow", NULL);
	sh("cd %s/cache/folab/slots/9.1+slow.%s/tree/src && test ! -e slow && test ! -e mm/stray.h",
	   top, arch->name);
	put_series("slow", slow_patch);
	free(text);
	free(path);
	free(rel);
}

static void test_interrupted(void **state)
{
	char *rel = slow_pid();
	pid_t pid = build_apart("9.1+slow");

	wait_for(rel);
	kill(pid, SIGINT);
	assert_int_equal(ended(pid), EXIT_INTERRUPTED);
	sh("test -z \"$(ls -A %s/cache/folab/images)\"", top);
	must_build("9.1", NULL);
	free(rel);
}

/* Killed at any moment, nothing that is left keeps the next one from working. */
static void test_killed_anywhere(void **state)
{
	for (int ms = 5; ms < 1200; ms = ms * 3 / 2 + 7) {
		struct timespec t = { ms / 1000, ms % 1000 * 1000000L };
		struct image im;
		pid_t pid;

		cold(NULL);
		pid = build_apart("9.1+good");
		nanosleep(&t, NULL);
		kill(pid, SIGKILL);
		ended(pid);
		must_build("9.1+good", &im);
		sh("nm %s | grep -q ' a_too$'", im.kernel);
		sh("test -z \"$(ls -d %s/cache/folab/*/.new* %s/cache/folab/*/*.new 2>/dev/null)\"",
		   top, top);
		image_free(&im);
	}
}

/*
 * Build on a disk of @kib.  0 built, 1 refused with one line that says what to
 * do and nothing half-made left, 2 anything else, 77 not allowed here.
 */
static int build_on_disk(unsigned int kib)
{
	char *dir = xasprintf("%s/cache", top), size[40];
	struct err err = { 0 };
	int rc;

	snprintf(size, sizeof(size), "size=%uk", kib);
	mkdir(dir, 0700);
	if (unshare(CLONE_NEWNS) ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", dir, "tmpfs", 0, size))
		return 77;
	rc = build("9.1", NULL, &err);
	if (!rc)
		return 0;
	if (err.code != EXIT_ENVIRONMENT ||
	    !strstr(err.text, "free some space")) {
		fprintf(stderr, "%u KiB: %d %s\n", kib, err.code, err.text);
		return 2;
	}
	sh("test -z \"$(ls -A %s/folab/images %s/folab/slots 2>/dev/null | grep -v :)\"",
	   dir, dir);
	return 1;
}

/* Wherever the disk gets full on the way. */
static void test_full_disk(void **state)
{
	unsigned int full = 0, kib;
	int rc = 1;

	if (geteuid() != 0)
		skip();
	for (kib = 40; rc == 1 && kib < 100000; kib = kib * 6 / 5) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(build_on_disk(kib));
		rc = ended(pid);
		full += rc == 1;
	}
	if (rc == 77)
		skip();
	assert_int_equal(rc, 0);
	assert_true(full > 3);
}

/* ---- images that are given ----------------------------------------------------------- */

static void put_bytes(const char *rel, const void *data, size_t len)
{
	char *path = xasprintf("%s/%s", top, rel), *dir = xstrdup(path);
	struct err err = { 0 };

	*strrchr(dir, '/') = '\0';
	assert_int_equal(file_mkdirs(dir, &err), 0);
	assert_int_equal(file_write(path, data, len, &err), 0);
	free(dir);
	free(path);
}

static void must_fail_on(const char *name, const char *rel, const char *text)
{
	char *spec = xasprintf("image:%s/%s", top, rel);
	struct image im;
	struct err err = { 0 };

	assert_int_equal(build_kernel(spec, arch_find(name), NULL, &im, &err),
			 -1);
	assert_int_equal(err.code, EXIT_USAGE);
	if (!strstr(err.text, text))
		fail_msg("\"%s\", wanted \"%s\"", err.text, text);
	free(spec);
}

/* An image for arm64: 4 KiB, of which the header says that 5 are needed. */
static void test_given_arm64(void **state)
{
	static char data[4096];
	char *spec = xasprintf("image:%s/tree/arch/arm64/boot/Image", top);
	struct image im;
	struct err err = { 0 };
	char *text;

	memcpy(data + 0x38, "ARM\x64", 4);
	data[0x11] = 0x14;
	strcpy(data + 0x200, "Linux version 9.1.0-mine (me)");
	put_bytes("tree/arch/arm64/boot/Image", data, sizeof(data));
	put("tree/System.map",
	    "ffff800080000000 T _text\nffff800080000010 t one\nffff800080000010 T uno\nffff800080000040 T two\nffff800080001000 D _edata\n");
	put("tree/.config", "CONFIG_X=y\n");
	assert_int_equal(build_kernel(spec, arch_find("arm64"), NULL, &im,
				      &err), 0);
	assert_string_equal(im.release, "9.1.0-mine");
	assert_non_null(im.config);
	text = get(im.symbols);
	assert_string_equal(text, "folab.symbols/1 arm64\n"
		"F ffff800080000000 ffff800080000010 _text\n"
		"F ffff800080000010 ffff800080000040 uno\n"
		"F ffff800080000040 ffff800080001000 two\nend 3\n");
	free(text);
	image_free(&im);
	must_fail_on("x86_64", "tree/arch/arm64/boot/Image",
		     "is an image for arm64, not for x86_64");
	put_bytes("tree/arch/arm64/boot/Image", data, 4000);
	must_fail_on("arm64", "tree/arch/arm64/boot/Image",
		     "truncated: the file has 4000 bytes");
	put_bytes("alone", data, 2000);
	must_fail_on("arm64", "alone", "truncated");
	/* With a header for EFI: one section, 0x800 bytes at 0x700. */
	data[0x3c] = 0x40;
	memcpy(data + 0x40, "PE\0\0", 4);
	data[0x46] = 1;
	data[0x58 + 17] = 0x08;
	data[0x58 + 21] = 0x07;
	put_bytes("alone", data, 0xeff);
	must_fail_on("arm64", "alone", "at least 3840");
	put_bytes("alone", data, 40);
	must_fail_on("arm64", "alone", "no kernel image");
	put_bytes("alone", data, 0);
	must_fail_on("arm64", "alone", "empty");
	put_bytes("alone", "\x7f""ELF", 4);
	must_fail_on("arm64", "alone", "ELF");
	put_bytes("alone", "\x1f\x8b\x08\x00", 4);
	must_fail_on("arm64", "alone", "compressed");
	free(spec);
}

static void test_given_x86(void **state)
{
	static char data[512 * 4 + 4096];
	char *spec = xasprintf("image:%s/bz", top);
	struct image im;
	struct err err = { 0 };

	memcpy(data + 0x202, "HdrS", 4);
	data[0x1f1] = 3;		/* and the boot sector */
	data[0x1f5] = 1;		/* 256 paragraphs */
	data[0x20f] = 0x01;		/* kernel_version: 0x100 + 0x200 */
	strcpy(data + 0x300, "9.1.0-mine (me)");
	put_bytes("bz", data, sizeof(data));
	assert_int_equal(build_kernel(spec, arch_find("x86_64"), NULL, &im,
				      &err), 0);
	assert_string_equal(im.release, "9.1.0-mine");
	assert_null(im.symbols);
	assert_null(im.config);
	image_free(&im);
	put_bytes("bz", data, sizeof(data) - 1);
	must_fail_on("x86_64", "bz", "truncated");
	put_bytes("bz", data, 0x204);
	must_fail_on("x86_64", "bz", "no kernel image");
	free(spec);
}

static void test_list_series(void **state)
{
	struct series_info *list;
	struct err err = { 0 };
	size_t n;

	assert_int_equal(build_series(&list, &n, &err), 0);
	assert_int_equal(n, 4);
	assert_string_equal(list[0].name, "bad");
	assert_string_equal(list[0].base, "9.1");
	assert_string_equal(list[2].title, "good: one more");
	assert_int_equal(list[2].patches, 1);
	build_series_free(list, n);
	put("home/patches/linux-9.1/lost/series", "0001-gone.patch\n");
	/* One that is broken leaves the others. */
	assert_int_equal(build_series(&list, &n, &err), 0);
	assert_int_equal(n, 5);
	assert_string_equal(list[3].name, "lost");
	assert_non_null(strstr(list[3].broken, "0001-gone.patch"));
	assert_null(list[2].broken);
	build_series_free(list, n);
	sh("rm -r %s/home/patches/linux-9.1/lost", top);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_bad_specs, cold),
		cmocka_unit_test_setup(test_builds, cold),
		cmocka_unit_test_setup(test_symbols, cold),
		cmocka_unit_test_setup(test_damaged, cold),
		cmocka_unit_test_setup(test_unchanged, cold),
		cmocka_unit_test_setup(test_incremental, cold),
		cmocka_unit_test_setup(test_part_of_series, cold),
		cmocka_unit_test_setup(test_mutants, cold),
		cmocka_unit_test_setup(test_list_mutants, cold),
		cmocka_unit_test_setup(test_reproducible, cold),
		cmocka_unit_test_setup(test_does_not_apply, cold),
		cmocka_unit_test_setup(test_does_not_compile, cold),
		cmocka_unit_test_setup(test_dropped_option, cold),
		cmocka_unit_test_setup(test_config_check, cold),
		cmocka_unit_test_setup(test_no_compiler, cold),
		cmocka_unit_test_setup(test_git, cold),
		cmocka_unit_test_setup(test_truncated_tarball, cold),
		cmocka_unit_test_setup(test_two_at_once, cold),
		cmocka_unit_test_setup(test_killed, cold),
		cmocka_unit_test_setup(test_interrupted, cold),
		cmocka_unit_test_setup(test_killed_anywhere, cold),
		cmocka_unit_test_setup(test_full_disk, cold),
		cmocka_unit_test_setup(test_given_arm64, cold),
		cmocka_unit_test_setup(test_given_x86, cold),
		cmocka_unit_test_setup(test_list_series, cold),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
