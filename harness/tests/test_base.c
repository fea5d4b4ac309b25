/* SPDX-License-Identifier: GPL-2.0 */
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* An error keeps its first cause, is one line, and tells what to do when a
 * disk is full. */
static void errors(void **state)
{
	struct err err = { 0 };

	assert_int_equal(err_set(&err, EXIT_USAGE, "a\nb %d", 1), -1);
	err_set(&err, EXIT_BUILD, "later");
	assert_err(&err, EXIT_USAGE, "a b 1");
	err_prefix(&err, "front");
	assert_string_equal(err.text, "front: a b 1");
	err_clear(&err);
	err_sys(&err, EXIT_BUILD, ENOSPC, "can't write %s", "x");
	assert_err(&err, EXIT_ENVIRONMENT, "free some space");
}

static void sizes(void **state)
{
	static const struct { const char *text; uint64_t bytes; } good[] = {
		{ "0", 0 }, { "4096", 4096 }, { "64K", 65536 },
		{ "192M", 201326592 }, { "8G", 8589934592 },
		{ "1GiB", 1073741824 }, { "5B", 5 },
		{ "18446744073709551615", UINT64_MAX },
	};
	static const char *const bad[] = {
		"", "M", "-1", " 1", "1X", "1MM", "1.5G", "1 M", "0x10",
		"18446744073709551616", "99999999999999P",
	};
	uint64_t v;
	char buf[32];

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		assert_int_equal(parse_size(good[i].text, &v), 0);
		assert_true(v == good[i].bytes);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (!parse_size(bad[i], &v))
			fail_msg("\"%s\" taken as a size", bad[i]);
	assert_string_equal(format_size(201326592, buf, sizeof(buf)), "192 MiB");
	assert_string_equal(format_size(0, buf, sizeof(buf)), "0 B");
	assert_string_equal(format_size(4097, buf, sizeof(buf)), "4097 B");
}

static void integers(void **state)
{
	int64_t v;

	assert_int_equal(parse_int("-3", -5, 5, &v), 0);
	assert_int_equal(v, -3);
	assert_int_equal(parse_int("6", -5, 5, &v), -1);
	assert_int_equal(parse_int("", 0, 5, &v), -1);
	assert_int_equal(parse_int("1x", 0, 5, &v), -1);
	assert_int_equal(parse_int("-", -5, 5, &v), -1);
}

/* A file is replaced whole; nothing stays beside it. */
static void files(void **state)
{
	struct err err = { 0 };
	char *dir = test_dir(), *path, *sub, *data, *list;
	char *argv[] = { "ls", "-A", dir, NULL };
	struct child_spec ls = { .argv = argv };
	size_t len;

	path = test_file(dir, "f", "one");
	assert_int_equal(file_write(path, "two\0x", 5, &err), 0);
	assert_int_equal(file_read(path, 100, &data, &len, &err), 0);
	assert_int_equal(len, 5);
	assert_memory_equal(data, "two\0x", 6);
	free(data);
	assert_int_equal(file_read(path, 4, &data, &len, &err), -1);
	assert_err(&err, EXIT_ENVIRONMENT, "can't read");
	err_clear(&err);
	assert_int_equal(child_capture(&ls, false, &list, &err), 0);
	assert_string_equal(list, "f\n");
	free(list);

	sub = xasprintf("%s/a/b/c", dir);
	assert_int_equal(file_mkdirs(sub, &err), 0);
	assert_int_equal(file_mkdirs(sub, &err), 0);
	free(sub);
	sub = xasprintf("%s/f/x", dir);
	assert_int_equal(file_mkdirs(sub, &err), -1);
	assert_err(&err, EXIT_ENVIRONMENT, "directory");
	free(sub);
	free(path);
	test_dir_remove(dir);
}

/* rm -rf takes the link, not what it points to. */
static void remove_tree_keeps_targets(void **state)
{
	char *dir = test_dir(), *keep = test_dir();
	char *file = test_file(keep, "kept", "x"), *link;
	struct err err = { 0 };

	link = xasprintf("%s/link", dir);
	assert_int_equal(symlink(keep, link), 0);
	assert_int_equal(file_remove_tree(dir, &err), 0);
	assert_true(file_exists(file));
	assert_false(file_exists(dir));
	assert_int_equal(file_remove_tree(dir, &err), 0);
	free(link);
	free(file);
	free(dir);
	test_dir_remove(keep);
}

/* A lock has one holder, and falls with it even on SIGKILL. */
static void locks(void **state)
{
	char *dir = test_dir(), *path = xasprintf("%s/lock", dir);
	struct err err = { 0 };
	struct lock l, m;
	int fds[2];
	pid_t pid;
	char c;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (pid == 0) {
		if (lock_try(&l, path, &err))
			_exit(1);
		(void)!write(fds[1], "x", 1);
		pause();
	}
	assert_int_equal(read(fds[0], &c, 1), 1);
	assert_int_equal(lock_try(&m, path, &err), 1);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_int_equal(lock_try(&m, path, &err), 0);
	/* Whoever removes the file does not leave two holders behind. */
	unlink(path);
	assert_int_equal(lock_try(&l, path, &err), 0);
	assert_int_equal(lock_try(&l, path, &err), 1);
	free(path);
	test_dir_remove(dir);
}

static void children(void **state)
{
	char *say[] = { "sh", "-c", "echo out; echo err >&2; exit 3", NULL };
	char *none[] = { "no-such-program-of-folab", NULL };
	struct child_spec spec = { .argv = say };
	struct err err = { 0 };
	struct child c;
	char *out;

	assert_int_equal(child_capture(&spec, false, &out, &err), 3);
	assert_string_equal(out, "out\n");
	free(out);
	assert_int_equal(child_capture(&spec, true, &out, &err), 3);
	assert_string_equal(out, "out\nerr\n");
	free(out);
	assert_int_equal(child_run(&spec, NULL, EXIT_BUILD, &err), -1);
	assert_err(&err, EXIT_BUILD, "exit code 3: err");
	err_clear(&err);
	spec.argv = none;
	assert_int_equal(child_start(&c, &spec, &err), -1);
	assert_err(&err, EXIT_ENVIRONMENT, "no-such-program-of-folab");
	err_clear(&err);
	assert_int_equal(child_capture(&spec, false, &out, &err), -1);
	assert_err(&err, EXIT_ENVIRONMENT, "no-such-program-of-folab");
}

/* Is @pid a process that runs (not a zombie)? */
static bool alive(pid_t pid)
{
	char path[64], *stat, *state;
	struct err err = { 0 };
	bool running;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (file_read(path, 4096, &stat, NULL, &err))
		return false;
	state = strrchr(stat, ')');
	running = state && state[2] != 'Z' && state[2] != 'X';
	free(stat);
	return running;
}

/* A grandchild's pid from the file that it wrote. */
static pid_t pid_in(const char *path)
{
	struct err err = { 0 };
	char *text = NULL;
	pid_t pid = 0;

	for (int i = 0; i < 500 && !pid; i++) {
		err_clear(&err);
		if (!file_read(path, 100, &text, NULL, &err)) {
			pid = atoi(text);
			free(text);
		}
		usleep(10000);
	}
	assert_true(pid > 0);
	return pid;
}

static void dies(pid_t pid)
{
	for (int i = 0; i < 500 && alive(pid); i++)
		usleep(10000);
	assert_false(alive(pid));
}

/* Stopping a child takes what it started. */
static void stop_takes_the_group(void **state)
{
	char *dir = test_dir(), *file = xasprintf("%s/pid", dir);
	char *script = xasprintf("sleep 100 & echo $! >%s; wait", file);
	char *argv[] = { "sh", "-c", script, NULL };
	struct child_spec spec = { .argv = argv, .output = -1 };
	struct err err = { 0 };
	struct child c;
	int status;
	pid_t pid;

	assert_int_equal(child_start(&c, &spec, &err), 0);
	pid = pid_in(file);
	assert_int_equal(child_wait(&c, 0, &status, &err), 1);
	child_stop(&c, 1);
	dies(pid);
	child_stop(&c, 1);
	free(script);
	free(file);
	test_dir_remove(dir);
}

/* kill -9 of us takes child and grandchild. */
static void nothing_outlives_us(void **state)
{
	char *dir = test_dir(), *file = xasprintf("%s/pid", dir);
	char *script = xasprintf("sleep 100 & echo $! >%s; wait", file);
	char *argv[] = { "sh", "-c", script, NULL };
	struct child_spec spec = { .argv = argv, .output = -1 };
	struct err err = { 0 };
	struct child c;
	pid_t us, pid;

	us = fork();
	if (us == 0) {
		child_start(&c, &spec, &err);
		pause();
	}
	pid = pid_in(file);
	kill(us, SIGKILL);
	waitpid(us, NULL, 0);
	dies(pid);
	free(script);
	free(file);
	test_dir_remove(dir);
}

/* SHA-256 of FIPS 180-4's "abc". */
static void hashes(void **state)
{
	struct hash *h = hash_new();
	char hex[HASH_HEX], other[HASH_HEX];

	hash_add(h, "abc", 3);
	hash_end(h, hex);
	assert_string_equal(hex,
		"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	h = hash_new();
	hash_add_str(h, "a");
	hash_add_str(h, "bc");
	hash_end(h, hex);
	h = hash_new();
	hash_add_str(h, "ab");
	hash_add_str(h, "c");
	hash_end(h, other);
	assert_string_not_equal(hex, other);
}

static int on_key(void *arg, const char *section, const char *key,
		  const char *value, struct err *err)
{
	if (!strcmp(key, "bad"))
		return err_set(err, EXIT_USAGE, "no key \"bad\"");
	*(int *)arg += 1;
	return 0;
}

static char *long_ini(const char *dir)
{
	char *text = xasprintf("[s]\nk = %0250d\n", 1), *path;

	path = test_file(dir, "d.ini", text);
	free(text);
	return path;
}

static void ini_files(void **state)
{
	char *dir = test_dir(), *path;
	struct err err = { 0 };
	int n = 0;

	path = test_file(dir, "a.ini", "[s]\nk = v\n; c\nl = w\n");
	assert_int_equal(ini_read(path, on_key, &n, &err), 0);
	assert_int_equal(n, 2);
	free(path);
	path = test_file(dir, "b.ini", "[s]\nk = v\nbad = 1\n");
	assert_int_equal(ini_read(path, on_key, &n, &err), -1);
	assert_err(&err, EXIT_USAGE, "b.ini:3: no key");
	err_clear(&err);
	free(path);
	path = test_file(dir, "c.ini", "[s]\nwhat is this\n");
	assert_int_equal(ini_read(path, on_key, &n, &err), -1);
	assert_err(&err, EXIT_USAGE, "c.ini:2");
	err_clear(&err);
	free(path);
	/* Not cut in silence, as the library would. */
	path = long_ini(dir);
	assert_int_equal(ini_read(path, on_key, &n, &err), -1);
	assert_err(&err, EXIT_USAGE, "d.ini:2: a line of more than");
	err_clear(&err);
	free(path);
	path = xasprintf("%s/none.ini", dir);
	assert_int_equal(ini_read(path, on_key, &n, &err), -1);
	assert_err(&err, EXIT_USAGE, "none.ini");
	free(path);
	test_dir_remove(dir);
}

static void json_members(void **state)
{
	json_t *o = json_pack("{s:i,s:s,s:[]}", "i", 3, "s", "x", "a");
	struct err err = { 0 };
	const char *s;
	json_t *a;
	int64_t i;

	assert_int_equal(js_int(o, "thing", "i", &i, &err), 0);
	assert_int_equal(js_string(o, "thing", "i", &s, &err), -1);
	assert_err(&err, EXIT_USAGE, "thing: \"i\" is not a string");
	err_clear(&err);
	assert_int_equal(js_int(o, "thing", "none", &i, &err), -1);
	assert_err(&err, EXIT_USAGE, "\"none\" is missing");
	err_clear(&err);
	assert_int_equal(js_container(o, "thing", "a", JSON_OBJECT, &a, &err), -1);
	assert_err(&err, EXIT_USAGE, "not an object");
	json_decref(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(errors),
		cmocka_unit_test(sizes),
		cmocka_unit_test(integers),
		cmocka_unit_test(files),
		cmocka_unit_test(remove_tree_keeps_targets),
		cmocka_unit_test(locks),
		cmocka_unit_test(children),
		cmocka_unit_test(stop_takes_the_group),
		cmocka_unit_test(nothing_outlives_us),
		cmocka_unit_test(hashes),
		cmocka_unit_test(ini_files),
		cmocka_unit_test(json_members),
	};

	return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
