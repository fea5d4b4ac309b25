/* SPDX-License-Identifier: GPL-2.0 */
/*
 * machine: whatever a guest or its emulator does, folab says what it was,
 * goes on with the next one, and leaves nothing behind.
 */
#include <archive.h>
#include <archive_entry.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../machine/internal.h"

#define HELLO	"{\"type\":\"hello\",\"schema\":\"folab.wire/1\",\"text\":\"6.12\"}\n"
#define SAMPLE(pass, name) "{\"type\":\"sample\",\"sample\":{\"pass\":" #pass \
	",\"counters\":{\"" name "\":1},\"order_pages\":{},\"invalid\":[]," \
	"\"survivors\":null}}\n"
#define DONE(n)	"{\"type\":\"done\",\"code\":" #n "}\n"

static char scratch[] = "/tmp/folab-test-XXXXXX";

/* ---- result channel -------------------------------------------------------- */

static void expect_channel(const char *text, const char *why)
{
	struct channel c;

	channel_init(&c, 2);
	channel_feed(&c, text, strlen(text));
	channel_end(&c);
	if (!why)
		assert_null(c.broken);
	else if (!c.broken || !strstr(c.broken, why))
		fail_msg("\"%s\" instead of \"%s\"", c.broken, why);
	channel_free(&c);
}

static void channel_accepts_only_what_was_agreed(void **state)
{
	expect_channel(HELLO SAMPLE(0, "a") SAMPLE(1, "a") DONE(2), NULL);
	expect_channel("", "nothing came");
	expect_channel(HELLO, "after 0 of 2 samples");
	expect_channel(SAMPLE(0, "a"), "not a greeting");
	expect_channel(HELLO HELLO, "twice");
	expect_channel(HELLO SAMPLE(1, "a"), "pass 0 of 2 was due");
	expect_channel(HELLO SAMPLE(0, "a") SAMPLE(0, "a"), "pass 1 of 2");
	expect_channel(HELLO SAMPLE(0, "a") SAMPLE(1, "a") SAMPLE(2, "a"),
		       "pass 2 of 2");
	expect_channel(HELLO SAMPLE(0, "a") DONE(1), "1 samples came, 2");
	expect_channel(HELLO SAMPLE(0, "a") SAMPLE(1, "a") DONE(3),
		       "sent 3 samples, 2 came");
	expect_channel(HELLO SAMPLE(0, "a") SAMPLE(1, "a") DONE(2) HELLO,
		       "after the last");
	expect_channel(HELLO SAMPLE(0, "plugin.dsb"), "claims to be the plugin");
	expect_channel(HELLO "{\"type\":\"hel", "middle of a line");
	expect_channel(HELLO "\n", "line 2 is not a result");
	expect_channel(HELLO "[[[[[[", "middle of a line");
}

#define CASE(name)	"{\"type\":\"case\",\"text\":\"" name "\"}\n"
#define KTAP(line)	"{\"type\":\"ktap\",\"text\":\"" line "\"}\n"
#define CASE_END(n)	"{\"type\":\"case_end\",\"code\":" #n ",\"text\":null}\n"

static void count_heard(void *arg, const struct wire *w)
{
	++*(int *)arg;
}

static void expect_cases(const char *text, int heard, const char *why)
{
	struct job job = { 0 };
	struct channel c;
	int n = 0;

	job_add_case(&job, "young", 30);
	job_add_case(&job, "mlock", 30);
	channel_init_cases(&c, &job, count_heard, &n);
	channel_feed(&c, text, strlen(text));
	channel_end(&c);
	if (!why)
		assert_null(c.broken);
	else if (!c.broken || !strstr(c.broken, why))
		fail_msg("\"%s\" instead of \"%s\"", c.broken, why);
	assert_int_equal(n, heard);
	channel_free(&c);
	job_free(&job);
}

static void channel_takes_cases_in_their_order(void **state)
{
	expect_cases(HELLO CASE("young") KTAP("1..1") KTAP("ok 1 a") CASE_END(0)
		     CASE("mlock") CASE_END(4) DONE(2), 6, NULL);
	expect_cases(HELLO, 0, "after 0 of 2 cases");
	expect_cases(HELLO CASE("mlock"), 0, "mlock begins out of turn");
	expect_cases(HELLO CASE("young") CASE("mlock"), 1, "out of turn");
	expect_cases(HELLO KTAP("1..1"), 0, "none has begun");
	expect_cases(HELLO CASE("young") CASE_END(0) CASE_END(0), 2,
		     "none has begun");
	expect_cases(HELLO CASE("young") CASE_END(0) CASE("mlock") CASE_END(0)
		     CASE("young"), 4, "out of turn");
	expect_cases(HELLO CASE("young") CASE_END(0) DONE(2), 2,
		     "sent 2 cases, 1 came");
	expect_cases(HELLO CASE("young") CASE_END(0) DONE(1), 2,
		     "after 1 of 2 cases");
	expect_cases(HELLO SAMPLE(0, "a"), 0, "pass 0 of 0 was due");
	/* And a workload's guest has no cases. */
	expect_channel(HELLO CASE("young"), "a case where a sample was due");
}

static void channel_bounds_its_memory(void **state)
{
	char *chunk = xmalloc(65536);
	struct channel c;
	int n = 0;

	memset(chunk, 'x', 65536);
	channel_init(&c, 2);
	while (!channel_feed(&c, chunk, 65536)) {
		assert_true(++n < 100);
		assert_true(c.room <= 2 * WIRE_MAX_LINE);
	}
	assert_non_null(strstr(c.broken, "longer than 256 KiB"));
	/* Once broken, nothing is looked at. */
	assert_int_equal(channel_feed(&c, HELLO, strlen(HELLO)), -1);
	channel_free(&c);
	free(chunk);
}

/* ---- console --------------------------------------------------------------- */

static void expect_console(const char *text, const char *fatal,
			   const char *warning)
{
	struct console c = { 0 };

	console_feed(&c, text, strlen(text));
	console_end(&c);
	if (!fatal)
		assert_null(c.fatal);
	else
		assert_string_equal(c.fatal, fatal);
	assert_int_equal(c.warnings.n, warning ? 1 : 0);
	if (warning)
		assert_string_equal(c.warnings.v[0], warning);
	console_free(&c);
}

static void console_tells_lost_from_warned(void **state)
{
	expect_console("[    0.1] all is well\n", NULL, NULL);
	expect_console("[   12.345678] Kernel panic - not syncing: x\r\n",
		       "kernel panic: Kernel panic - not syncing: x", NULL);
	/* The first line counts: the panic is only what follows from it. */
	expect_console("[ 1.0] Internal error: Oops: 96000004 [#1] PREEMPT\n"
		       "[ 1.1] Kernel panic - not syncing: Oops\n",
		       "kernel oops: Internal error: Oops: 96000004 [#1] PREEMPT",
		       NULL);
	expect_console("[ 1.0] a invoked oom-killer: gfp_mask=0\n",
		       "the guest ran out of memory: a invoked oom-killer: gfp_mask=0",
		       NULL);
	expect_console("[ 1.0] BUG: Bad rss-counter state mm:x\n", NULL,
		       "BUG: Bad rss-counter state mm:x");
	expect_console("[ 1.0] WARNING: possible circular locking dependency detected",
		       NULL,
		       "WARNING: possible circular locking dependency detected");
	/* The agent may say what it likes. */
	expect_console("folab: phase WARNING: BUG: \n", NULL, NULL);
}

static void console_keeps_phase_and_tail(void **state)
{
	struct console c = { 0 };
	char line[64], *tail;

	for (int i = 0; i < 100; i++) {
		int n = snprintf(line, sizeof(line), "line %d\x1b\xff\n", i);

		console_feed(&c, line, n);
	}
	console_feed(&c, "[ 1.0] folab: phase fill\n", 25);
	assert_string_equal(c.phase, "fill");
	tail = console_tail(&c);
	assert_true(str_starts(tail, "line 76??\n"));
	assert_true(str_ends(tail, "folab: phase fill\n"));
	free(tail);
	console_free(&c);
}

/* ---- initramfs and scratch file system ---------------------------------------- */

static void read_whole(const char *path, char **data, size_t *len)
{
	struct err err = { 0 };

	if (file_read(path, 64 << 20, data, len, &err))
		fail_msg("%s", err.text);
}

static void make_file(const char *name, mode_t mode)
{
	char *path = xasprintf("%s/%s", scratch, name), *dir = xstrdup(path);
	struct err err = { 0 };

	*strrchr(dir, '/') = '\0';
	assert_int_equal(file_mkdirs(dir, &err), 0);
	assert_int_equal(file_write(path, name, strlen(name), &err), 0);
	assert_int_equal(chmod(path, mode), 0);
	free(dir);
	free(path);
}

/* Two; what is in them comes by name, a directory of both once. */
static void make_trees(struct strlist *trees)
{
	make_file("tree1/usr/bin/prog", 0700);
	make_file("tree1/lib/b.so", 0640);
	make_file("tree1/lib/a.so", 0644);
	make_file("tree2/sys/new", 0644);
	strlist_addf(trees, "%s/tree1", scratch);
	strlist_addf(trees, "%s/tree2", scratch);
}

static void initramfs_holds_what_the_guest_needs(void **state)
{
	static const char *const want[] = {
		"dev", "mnt", "proc", "run", "sys", "tmp", "dev/console",
		"init", "job.json", "lib", "lib/a.so", "lib/b.so", "usr",
		"usr/bin", "usr/bin/prog", "sys/new", "fs.img.runs",
	};
	struct strlist trees = { 0 };
	struct job job = { .workload = (char *)"w", .fs = (char *)"xfs",
			   .passes = 3 };
	char *one = xasprintf("%s/one", scratch);
	char *two = xasprintf("%s/two", scratch), *a, *b;
	struct archive *ar = archive_read_new();
	struct archive_entry *e;
	struct err err = { 0 };
	size_t n = 0, la, lb;

	make_trees(&trees);
	assert_int_equal(initramfs_make(one, "/bin/sh", &job, "/etc/passwd",
					NULL, &trees, &err), 0);
	assert_int_equal(initramfs_make(two, "/bin/sh", &job, "/etc/passwd",
					NULL, &trees, &err), 0);
	read_whole(one, &a, &la);
	read_whole(two, &b, &lb);
	assert_int_equal(la, lb);
	assert_memory_equal(a, b, la);
	archive_read_support_format_cpio(ar);
	assert_int_equal(archive_read_open_memory(ar, a, la), ARCHIVE_OK);
	while (archive_read_next_header(ar, &e) == ARCHIVE_OK) {
		assert_true(n < ARRAY_SIZE(want));
		assert_string_equal(archive_entry_pathname(e), want[n++]);
		assert_int_equal(archive_entry_mtime(e), 0);
		if (!strcmp(archive_entry_pathname(e), "init"))
			assert_int_equal(archive_entry_mode(e), S_IFREG | 0755);
		if (!strcmp(archive_entry_pathname(e), "usr/bin/prog"))
			assert_int_equal(archive_entry_mode(e), S_IFREG | 0755);
		if (!strcmp(archive_entry_pathname(e), "lib/b.so"))
			assert_int_equal(archive_entry_mode(e), S_IFREG | 0644);
		if (!strcmp(archive_entry_pathname(e), "dev/console"))
			assert_int_equal(archive_entry_mode(e), S_IFCHR | 0600);
	}
	assert_int_equal(n, ARRAY_SIZE(want));
	archive_read_free(ar);
	free(a);
	free(b);
	/*
	 * A full disk is an error, and said to be one.  By way of a link, so
	 * that nothing here could ever remove the device itself.
	 */
	unlink(one);
	assert_int_equal(symlink("/dev/full", one), 0);
	assert_int_equal(initramfs_make(one, "/bin/sh", &job, NULL, NULL,
					NULL, &err), -1);
	assert_int_equal(err.code, EXIT_ENVIRONMENT);
	assert_non_null(strstr(err.text, "No space left"));
	/* A tree that could lead anywhere on the host is refused. */
	a = xasprintf("%s/tree2/sys/link", scratch);
	assert_int_equal(symlink("/etc/passwd", a), 0);
	free(a);
	err_clear(&err);
	assert_int_equal(initramfs_make(two, "/bin/sh", &job, NULL, NULL,
					&trees, &err), -1);
	assert_non_null(strstr(err.text, "neither file nor directory"));
	strlist_free(&trees);
	free(one);
	free(two);
}

static void scratch_fs_repeats(void **state)
{
	struct job job = { .fs = (char *)"xfs", .fs_bytes = 512ll << 20 };
	char *one = xasprintf("%s/runs1", scratch);
	char *two = xasprintf("%s/runs2", scratch), *a, *b, *p;
	uint64_t head[2], last = 0;
	struct err err = { 0 };
	size_t la, lb;

	if (scratch_make(&job, scratch, one, &err))
		fail_msg("%s", err.text);
	/* Another second, another random generation: neither may show. */
	usleep(1100 * 1000);
	if (scratch_make(&job, scratch, two, &err))
		fail_msg("%s", err.text);
	read_whole(one, &a, &la);
	read_whole(two, &b, &lb);
	assert_int_equal(la, lb);
	assert_memory_equal(a, b, la);
	/* Small, in order, and ended by the size of the device. */
	assert_true(la < 4 << 20);
	assert_memory_equal(a + 16, "XFSB", 4);
	for (p = a; ; p += 16 + head[1]) {
		assert_true(p + 16 <= a + la);
		memcpy(head, p, 16);
		head[0] = le64toh(head[0]);
		head[1] = le64toh(head[1]);
		if (!head[1])
			break;
		assert_true(head[0] >= last && head[0] % 4096 == 0);
		last = head[0] + head[1];
	}
	assert_int_equal(head[0], 512ll << 20);
	assert_ptr_equal(p + 16, a + la);
	free(a);
	free(b);
	free(one);
	free(two);
	job.fs = (char *)"vfat";
	assert_int_equal(scratch_make(&job, scratch, scratch, &err), -1);
	assert_int_equal(err.code, EXIT_USAGE);
}

/* ---- command lines ------------------------------------------------------------- */

static char *joined(const struct strlist *l)
{
	char *text = xstrdup("");

	for (size_t i = 0; i < l->n; i++) {
		char *more = xasprintf("%s %s", text, l->v[i]);

		free(text);
		text = more;
	}
	return text;
}

static void arguments_make_a_boot_repeat(void **state)
{
	static const char *const want[] = {
		" -M virt,dtb-randomness=off ", " -smp 1 ", " -seed 42 ",
		" -icount shift=1,sleep=off ", ",clock=vm ", " -nic none ",
		" -m 13000 ", " -no-reboot ", "ioeventfd=off ", "path=/dev/fd/8 ",
		" -plugin /p,,q,symbols=s,out=o ",
	};
	struct job job = { .fs = (char *)"xfs", .fs_bytes = 512ll << 20 };
	struct strlist more = { 0 }, argv = { 0 };
	struct machine_setup s = {
		.arch = arch_find("arm64"), .job = &job,
		.memory = 13000ull << 20, .cmdline = &more,
	};
	struct guest_config g = {
		.seed = 42, .kernel = "K", .initramfs = "I", .cmdline = "C",
		.console_fd = 8, .result_fd = 9, .plugin = "/p,q",
		.symbols = "s", .profile = "o",
	};
	char *text;

	qemu_args(&s, &g, &argv);
	text = joined(&argv);
	for (size_t i = 0; i < ARRAY_SIZE(want); i++)
		if (!strstr(text, want[i]))
			fail_msg("no \"%s\" in %s", want[i], text);
	free(text);
	strlist_free(&argv);
	strlist_add(&more, "preempt=none");
	text = kernel_cmdline(&s);
	assert_non_null(strstr(text, "nokaslr"));
	assert_non_null(strstr(text, " brd.rd_size=524288 preempt=none"));
	free(text);
	strlist_free(&more);
}

static void expect_kernel(const char *arch, const void *data, size_t len,
			  const char *why)
{
	char *path = xasprintf("%s/kernel", scratch);
	struct err err = { 0 };

	assert_int_equal(file_write(path, data, len, &err), 0);
	if (!why) {
		assert_int_equal(kernel_check(path, arch_find(arch), &err), 0);
	} else {
		assert_int_equal(kernel_check(path, arch_find(arch), &err), -1);
		assert_int_equal(err.code, EXIT_USAGE);
		assert_non_null(strstr(err.text, why));
	}
	free(path);
}

static void kernels_are_looked_at_first(void **state)
{
	unsigned char k[8192] = { 0 };

	expect_kernel("arm64", k, 100, "is truncated");
	expect_kernel("arm64", k, sizeof(k), "no arm64 Image");
	memcpy(k + 56, "ARM\x64", 4);
	expect_kernel("arm64", k, sizeof(k), NULL);
	expect_kernel("x86_64", k, sizeof(k), "no x86 bzImage");
	memcpy(k + 0x202, "HdrS", 4);
	k[0x1f1] = 3;			/* four sectors of setup */
	k[0x1f4] = (8192 - 2048) / 16 % 256;
	k[0x1f5] = (8192 - 2048) / 16 / 256;
	expect_kernel("x86_64", k, sizeof(k), NULL);
	expect_kernel("x86_64", k, sizeof(k) - 16, "is truncated");
}

/* ---- guests, with a fake emulator ------------------------------------------------- */

struct bench {
	struct job job;
	struct strlist cmdline;
	struct machine_setup setup;
	struct image images[2];
	struct guests_config c;
	struct trial trials[4];
	struct err err;
	char *pids;
};

static void bench_init(struct bench *b, const char *fault)
{
	*b = (struct bench){ .job = { .fs = (char *)"xfs", .passes = 2 } };
	b->setup = (struct machine_setup){
		.arch = arch_find("arm64"), .job = &b->job, .budget = 20,
		.memory = 64 << 20, .cmdline = &b->cmdline, .dir = scratch,
		.parallel = 2,
	};
	for (int i = 0; i < 2; i++)
		b->images[i] = (struct image){
			.spec = (char *)"6.12", .kernel = (char *)"K",
			.symbols = (char *)"S", .arch = b->setup.arch,
		};
	b->c = (struct guests_config){
		.setup = &b->setup, .images = b->images, .initramfs = "I",
		.cmdline = "C", .dir = scratch, .parallel = 2,
		.first_line = 20, .last_words = 1,
	};
	for (int i = 0; i < 4; i++)
		b->trials[i] = (struct trial){ .side = 'A' + i % 2,
					       .seed = 1 + i / 2, .index = i };
	b->pids = xasprintf("%s/pids", scratch);
	unlink(b->pids);
	setenv("FOLAB_FAKE_PID", b->pids, 1);
	setenv("FOLAB_FAKE", fault, 1);
}

static int count_fds(void)
{
	int n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* Every process that the fake emulator noted in @path is gone. */
static void expect_gone(const char *path)
{
	char *text, *p;

	read_whole(path, &text, NULL);
	for (p = text; *p; p += strcspn(p, "\n") + 1)
		assert_true(kill(atoi(p), 0) && errno == ESRCH);
	free(text);
}

static void bench_free(struct bench *b)
{
	expect_gone(b->pids);
	for (int i = 0; i < 4; i++)
		trial_free(&b->trials[i]);
	free(b->pids);
}

static void expect_failure(const char *fault, const char *why)
{
	struct bench b;

	bench_init(&b, fault);
	if (guests_run(&b.c, b.trials, 1, &b.err))
		fail_msg("%s: %s", fault, b.err.text);
	assert_true(b.trials[0].done);
	if (!b.trials[0].failed || !strstr(b.trials[0].failed, why))
		fail_msg("%s: \"%s\" instead of \"%s\"", fault,
			 b.trials[0].failed, why);
	assert_non_null(b.trials[0].console_tail);
	bench_free(&b);
}

static void a_sound_guest_gives_samples(void **state)
{
	int fds = count_fds();
	struct bench b;

	bench_init(&b, "good");
	assert_int_equal(guests_run(&b.c, b.trials, 4, &b.err), 0);
	assert_int_equal(count_fds(), fds);
	for (int i = 0; i < 4; i++) {
		assert_true(b.trials[i].done);
		assert_null(b.trials[i].failed);
		assert_int_equal(b.trials[i].n_samples, 2);
		assert_int_equal(counters_value(&b.trials[i].samples[1].counters,
						"x"), 8);
		assert_int_equal(b.trials[i].samples[1].order_pages[4], 16);
		assert_int_equal(b.trials[i].warnings.n, 0);
	}
	bench_free(&b);
}

static void a_warning_is_kept(void **state)
{
	struct bench b;

	bench_init(&b, "warning");
	assert_int_equal(guests_run(&b.c, b.trials, 1, &b.err), 0);
	assert_null(b.trials[0].failed);
	assert_int_equal(b.trials[0].warnings.n, 1);
	assert_true(str_starts(b.trials[0].warnings.v[0], "WARNING: CPU: 0"));
	bench_free(&b);
}

static void a_lost_kernel_is_named(void **state)
{
	expect_failure("panic", "kernel oops: Unable to handle kernel NULL");
	expect_failure("lost", "kernel panic: Kernel panic - not syncing");
	expect_failure("oom", "the guest ran out of memory");
}

static void a_broken_channel_is_named(void **state)
{
	expect_failure("garbage", "garbage on the result channel: line 2");
	expect_failure("endless", "line 2 is longer than 256 KiB");
	expect_failure("lines", "more than 100000 lines");
	expect_failure("short", "1 samples came, 2 were asked for");
	expect_failure("miscount", "sent 3 samples, 2 came");
	expect_failure("middle", "middle of a line");
	expect_failure("silentend", "nothing came");
	expect_failure("agent", "agent: memory.reclaim: no such file");
}

static void a_flood_is_cut(void **state)
{
	char *path = xasprintf("%s/console-A-1.log", scratch);
	struct stat st;

	expect_failure("flood", "printed more than 4 MiB");
	assert_int_equal(stat(path, &st), 0);
	assert_in_range(st.st_size, 4 << 20, (4 << 20) + 100);
	free(path);
}

static void an_ended_emulator_is_named(void **state)
{
	expect_failure("exit", "ended with exit code 7: qemu: hardware error");
	expect_failure("killed", "was killed by signal 9");
	expect_failure("badargs", "could not load kernel");
	expect_failure("stay", "did not power off within 1 s");
}

static void patience_ends(void **state)
{
	struct bench b;

	bench_init(&b, "hang");
	b.setup.budget = 1;
	assert_int_equal(guests_run(&b.c, b.trials, 2, &b.err), 0);
	for (int i = 0; i < 2; i++)
		assert_string_equal(b.trials[i].failed,
				    "no result after 1 s of wall time; last phase: reclaim");
	bench_free(&b);
	bench_init(&b, "silent");
	b.c.first_line = 1;
	b.c.parallel = 1;
	assert_int_equal(guests_run(&b.c, b.trials, 4, &b.err), 0);
	for (int i = 0; i < 4; i++) {
		assert_true(b.trials[i].done);
		assert_true(str_starts(b.trials[i].failed, i < 2 ?
				       "no console output within 1 s" :
				       "not tried: "));
	}
	bench_free(&b);
}

static void host_faults_stop_the_run(void **state)
{
	char *log = xasprintf("%s/console-A-1.log", scratch);
	struct bench b;

	bench_init(&b, "noplugin");
	assert_int_equal(guests_run(&b.c, b.trials, 4, &b.err), -1);
	assert_int_equal(b.err.code, EXIT_ENVIRONMENT);
	assert_non_null(strstr(b.err.text, "-plugin: invalid option"));
	bench_free(&b);

	bench_init(&b, "complain");
	assert_int_equal(guests_run(&b.c, b.trials, 4, &b.err), -1);
	assert_int_equal(b.err.code, EXIT_ENVIRONMENT);
	assert_string_equal(b.err.text, "folab plugin: symbols: no function x");
	bench_free(&b);

	bench_init(&b, "hang");
	unlink(log);
	assert_int_equal(symlink("/dev/full", log), 0);
	assert_int_equal(guests_run(&b.c, b.trials, 4, &b.err), -1);
	assert_int_equal(b.err.code, EXIT_ENVIRONMENT);
	assert_non_null(strstr(b.err.text, "No space left"));
	unlink(log);
	bench_free(&b);
	free(log);
}

static void the_profile_is_merged(void **state)
{
	struct profile p = { .windows = 1, .kernel_instructions = 1000,
			     .dsb = 3 };
	json_t *o = profile_to_json(&p);
	char *window = json_dumps(o, JSON_COMPACT);
	struct bench b;

	setenv("FOLAB_FAKE_WINDOW", window, 1);
	bench_init(&b, "good");
	b.c.plugin = "P";
	if (guests_run(&b.c, b.trials, 1, &b.err))
		fail_msg("%s", b.err.text);
	assert_null(b.trials[0].failed);
	assert_int_equal(b.trials[0].profile.windows, 2);
	assert_int_equal(b.trials[0].profile.kernel_instructions, 2000);
	assert_int_equal(counters_value(&b.trials[0].samples[1].counters,
					"plugin.dsb"), 3);
	bench_free(&b);
	/* A window that the agent knows nothing of: somebody lies. */
	setenv("FOLAB_FAKE_WINDOW", "", 1);
	bench_init(&b, "good");
	b.c.plugin = "P";
	if (!guests_run(&b.c, b.trials, 1, &b.err))
		assert_non_null(b.trials[0].failed);
	bench_free(&b);
	free(window);
	json_decref(o);
}

/* Wait until the fake emulator has noted @n processes. */
static void await_pids(const char *path, int n)
{
	for (int i = 0; i < 2000; i++) {
		int lines = 0;
		char buf[4096];
		int fd = open(path, O_RDONLY | O_CLOEXEC);
		ssize_t len = fd < 0 ? 0 : read(fd, buf, sizeof(buf));

		if (fd >= 0)
			close(fd);
		for (ssize_t k = 0; k < len; k++)
			lines += buf[k] == '\n';
		if (lines >= n)
			return;
		usleep(10000);
	}
	fail_msg("the fake emulator did not start");
}

/* A run of guests that hang, in a process of its own. */
static pid_t hang_in_child(struct bench *b)
{
	pid_t pid;

	bench_init(b, "hang");
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		struct run_dir d;

		intr_install();
		if (run_dir_make(&d, &b->err))
			_exit(99);
		guests_run(&b->c, b->trials, 4, &b->err);
		run_dir_remove(&d);
		_exit(b->err.code);
	}
	await_pids(b->pids, 2);
	return pid;
}

static int count_run_dirs(void)
{
	char *cmd = xasprintf("ls -d %s/folab/runs/run-* 2>/dev/null | wc -l",
			      scratch);
	FILE *f = popen(cmd, "r");
	int n = -1;

	assert_int_equal(fscanf(f, "%d", &n), 1);
	pclose(f);
	free(cmd);
	return n;
}

static void interruption_leaves_nothing(void **state)
{
	struct bench b;
	int status;
	pid_t pid = hang_in_child(&b);

	kill(pid, SIGTERM);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), EXIT_INTERRUPTED);
	assert_int_equal(count_run_dirs(), 0);
	bench_free(&b);
}

static void kill_9_is_cleaned_up_by_the_next_run(void **state)
{
	struct run_dir d;
	struct bench b;
	pid_t pid = hang_in_child(&b);

	/* A directory whose owner lives stays. */
	assert_int_equal(count_run_dirs(), 1);
	assert_int_equal(run_dir_make(&d, &b.err), 0);
	assert_int_equal(count_run_dirs(), 2);
	run_dir_remove(&d);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(count_run_dirs(), 1);
	assert_int_equal(run_dir_make(&d, &b.err), 0);
	assert_int_equal(count_run_dirs(), 1);
	run_dir_remove(&d);
	assert_int_equal(count_run_dirs(), 0);
	/* The kernel kills the guests along with their owner. */
	for (int i = 0; i < 500; i++) {
		char *cmd = xasprintf("! kill -0 $(cat %s) 2>/dev/null", b.pids);
		int alive = system(cmd);

		free(cmd);
		if (!alive)
			break;
		usleep(10000);
	}
	bench_free(&b);
}

/* ---- the whole machine, with a fake emulator ----------------------------------------- */

static void describe_says_what_counts(void **state)
{
	struct result r = { 0 };
	struct bench b;

	bench_init(&b, "good");
	assert_int_equal(machine_emulated.describe(&b.setup, &r, &b.err), 0);
	assert_string_equal(r.clock, "instructions");
	assert_int_equal(r.ns_per_instruction, 2);
	assert_string_equal(r.machine, "QEMU emulator version 7.2.22 (fake)");
	assert_non_null(strstr(r.machine_args, "-icount shift=1,sleep=off"));
	assert_non_null(strstr(r.machine_args, "-seed SEED"));
	result_free(&r);

	setenv("FOLAB_FAKE_VERSION", "6.2.0", 1);
	assert_int_equal(machine_emulated.describe(&b.setup, &r, &b.err), -1);
	assert_int_equal(b.err.code, EXIT_ENVIRONMENT);
	assert_non_null(strstr(b.err.text, "too old"));
	unsetenv("FOLAB_FAKE_VERSION");

	err_clear(&b.err);
	setenv("FOLAB_QEMU", "/no/such/qemu", 1);
	assert_int_equal(machine_emulated.describe(&b.setup, &r, &b.err), -1);
	assert_non_null(strstr(b.err.text, "install the package qemu-system-arm"));
	free(b.pids);
	setenv("FOLAB_QEMU", *state, 1);
}

static void a_kernel_that_is_none_is_refused(void **state)
{
	struct bench b;

	bench_init(&b, "good");
	b.images[0].kernel = b.images[1].kernel = (char *)"/no/such/Image";
	assert_int_equal(machine_emulated.run(&b.setup, b.images, b.trials, 1,
					      &b.err), -1);
	assert_int_equal(b.err.code, EXIT_USAGE);
	assert_non_null(strstr(b.err.text, "/no/such/Image"));
	assert_int_equal(count_run_dirs(), 0);
	free(b.pids);
}

static char fake[PATH_MAX];

static int set_up(void **state)
{
	char *beside = xstrdup(__FILE__), *slash = strrchr(beside, '/');
	char *path;

	*slash = '\0';
	path = xasprintf("%s/fake-qemu", beside);
	free(beside);
	if (!file_exists(path)) {
		free(path);
		path = home_path("harness/tests/fake-qemu");
	}
	if (!realpath(path, fake) || !mkdtemp(scratch))
		return -1;
	free(path);
	setenv("FOLAB_QEMU", fake, 1);
	setenv("XDG_CACHE_HOME", scratch, 1);
	progress_quiet(true);
	*state = fake;
	return 0;
}

static int tear_down(void **state)
{
	struct err err = { 0 };

	return file_remove_tree(scratch, &err);
}

/* ---- this host ---------------------------------------------------------------- */

/* Whatever a kernel may print there; times are in us, with or without a fraction. */
static void trace_stat_is_read(void **state)
{
	static const char with[] =
		"  Function                               Hit    Time            Avg             s^2\n"
		"  --------                               ---    ----            ---             ---\n"
		"  shrink_lruvec                            1    250000.125 us     250000.1 us     0.000 us    \n"
		"  xfs_vm_release [xfs]                     3    7.500 us        2.500 us        0.010 us    \n"
		"  cleanup                                  2    4.000 us        2.000 us        0.000 us    \n"
		"  cleanup                                  5    1.000 us        0.200 us        0.000 us    \n"
		"  long_ago                                 9    12345678 us     1371742 us      0.000 us    \n"
		"  no_time                                  9\n"
		"  broken                                   x    1.000 us\n"
		"  cut";
	static const char own[] =
		"  shrink_lruvec                            1    100.000 us      100.0 us     0.000 us    \n"
		"  cleanup                                  7    5.000 us        0.7 us       0.000 us    \n";
	struct profile p = { 0 };
	const struct profile_fn *f;
	char *text = xstrdup(with);

	host_ftrace_lines(text, false, &p);
	free(text);
	text = xstrdup(own);
	host_ftrace_lines(text, true, &p);
	free(text);
	assert_int_equal(p.n_fn, 4);
	f = profile_find(&p, "shrink_lruvec");
	assert_int_equal(f->calls, 1);
	assert_int_equal(f->inclusive, 250000125);
	assert_int_equal(f->self, 100000);
	assert_string_equal(p.fn[0].name, "shrink_lruvec");
	f = profile_find(&p, "xfs_vm_release");
	assert_int_equal(f->calls, 3);
	assert_int_equal(f->inclusive, 7500);
	/* Two static functions of one name. */
	f = profile_find(&p, "cleanup");
	assert_int_equal(f->calls, 7);
	assert_int_equal(f->inclusive, 5000);
	assert_int_equal(f->self, 5000);
	assert_int_equal(profile_find(&p, "long_ago")->inclusive, 12345678000);
	profile_free(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(channel_accepts_only_what_was_agreed),
		cmocka_unit_test(channel_takes_cases_in_their_order),
		cmocka_unit_test(channel_bounds_its_memory),
		cmocka_unit_test(console_tells_lost_from_warned),
		cmocka_unit_test(console_keeps_phase_and_tail),
		cmocka_unit_test(initramfs_holds_what_the_guest_needs),
		cmocka_unit_test(scratch_fs_repeats),
		cmocka_unit_test(arguments_make_a_boot_repeat),
		cmocka_unit_test(kernels_are_looked_at_first),
		cmocka_unit_test(a_sound_guest_gives_samples),
		cmocka_unit_test(a_warning_is_kept),
		cmocka_unit_test(a_lost_kernel_is_named),
		cmocka_unit_test(a_broken_channel_is_named),
		cmocka_unit_test(a_flood_is_cut),
		cmocka_unit_test(an_ended_emulator_is_named),
		cmocka_unit_test(patience_ends),
		cmocka_unit_test(host_faults_stop_the_run),
		cmocka_unit_test(the_profile_is_merged),
		cmocka_unit_test(interruption_leaves_nothing),
		cmocka_unit_test(kill_9_is_cleaned_up_by_the_next_run),
		cmocka_unit_test(describe_says_what_counts),
		cmocka_unit_test(trace_stat_is_read),
		cmocka_unit_test(a_kernel_that_is_none_is_refused),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
