/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What cgroup files say is read exactly or not at all; a host without the
 * memory controller of cgroup v2 is told so, and one that has it is used and
 * left as it was.
 */
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include "check.h"

#include "../../cgroups/cgroups.h"
#include "../../cgroups/parse.h"

static void numbers_are_read_exactly(void **state)
{
	int64_t n = -1;

	assert_true(cgroup_parse_number("0\n", &n));
	assert_int_equal(n, 0);
	assert_true(cgroup_parse_number("9223372036854771712\n", &n));
	assert_int_equal(n, INT64_C(9223372036854771712));
	assert_true(cgroup_parse_number("4096", &n));
	assert_int_equal(n, 4096);
	assert_true(cgroup_parse_number("max\n", &n));
	assert_true(n == INT64_MAX);
}

static void what_is_no_number_is_refused(void **state)
{
	static const char *const bad[] = {
		"", "\n", "maximum\n", "12x\n", "12 13\n", "-1\n", "0x10\n",
		"12\n13\n", "9223372036854775808\n", "99999999999999999999999\n",
	};
	int64_t n = -7;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (cgroup_parse_number(bad[i], &n))
			fail_msg("\"%s\" was taken for %lld", bad[i],
				 (long long)n);
	assert_int_equal(n, -7);
}

/* Lines of memory.stat and memory.events of Linux 6.12. */
static void pairs_are_cut(void **state)
{
	char line[] = "workingset_refault_file 17\n";
	char event[] = "oom_kill 0\n";
	const char *name;
	int64_t n;

	assert_true(cgroup_parse_pair(line, &name, &n));
	assert_string_equal(name, "workingset_refault_file");
	assert_int_equal(n, 17);
	assert_true(cgroup_parse_pair(event, &name, &n));
	assert_string_equal(name, "oom_kill");
	assert_int_equal(n, 0);
}

static void what_is_no_pair_is_refused(void **state)
{
	static const char *const bad[] = {
		"pgscan\n", " 12\n", "pgscan \n", "pgscan 12 13\n",
		"anon N0=4096\n", "pgscan -3\n", "",
	};
	const char *name;
	int64_t n;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		char *line = xstrdup(bad[i]);

		if (cgroup_parse_pair(line, &name, &n))
			fail_msg("\"%s\" was taken for a pair", bad[i]);
		assert_string_equal(line, bad[i]);
		free(line);
	}
}

static void pressure_is_the_total(void **state)
{
	const char *some =
		"some avg10=1.50 avg60=0.40 avg300=0.10 total=123456\n";
	const char *full = "full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n";
	int64_t us = -1;

	assert_true(cgroup_parse_pressure(some, "some", &us));
	assert_int_equal(us, 123456);
	assert_true(cgroup_parse_pressure(full, "full", &us));
	assert_int_equal(us, 7);
	assert_false(cgroup_parse_pressure(some, "full", &us));
	assert_false(cgroup_parse_pressure("some avg10=0.00\n", "some", &us));
	assert_false(cgroup_parse_pressure("something total=1\n", "some", &us));
	assert_false(cgroup_parse_pressure("some total=1x\n", "some", &us));
	assert_int_equal(us, 7);
}

/* Read without libcgroup, or the test would believe what it tests. */
static bool host_has_v2_memory(void)
{
	struct err err = { 0 };
	char *text = NULL, *line, *save;
	bool has = false;
	size_t len;

	if (file_read("/proc/mounts", 1 << 20, &text, &len, &err))
		return false;
	for (line = strtok_r(text, "\n", &save); line && !has;
	     line = strtok_r(NULL, "\n", &save)) {
		char at[256], type[64], *path, *controllers;

		if (sscanf(line, "%*s %255s %63s", at, type) != 2 ||
		    strcmp(type, "cgroup2"))
			continue;
		path = xasprintf("%s/cgroup.controllers", at);
		if (!file_read(path, 4096, &controllers, &len, &err)) {
			has = strstr(controllers, "memory") != NULL;
			free(controllers);
		}
		err_clear(&err);
		free(path);
	}
	free(text);
	return has;
}

static void a_host_without_v2_is_told_so(void **state)
{
	struct err err = { 0 };
	int ret = memcg_init(&err);

	if (host_has_v2_memory()) {
		assert_int_equal(ret, 0);
		return;
	}
	assert_int_equal(ret, -1);
	assert_err(&err, EXIT_ENVIRONMENT, "cgroup");
}

static void seen(void *arg, const char *name, int64_t value)
{
	if (!strcmp(name, "file") || !strcmp(name, "max"))
		++*(int *)arg;
}

/* Only where we may: as root, on cgroup v2. */
static void a_cgroup_lives_and_goes(void **state)
{
	char *name = xasprintf("folab-test-%d", getpid());
	struct memcg *cg, *again;
	struct err err = { 0 };
	int64_t value;
	int found = 0;
	pid_t pid;

	if (!host_has_v2_memory() || geteuid()) {
		free(name);
		skip();
	}
	assert_int_equal(memcg_init(&err), 0);
	if (memcg_create(name, &cg, &err)) {
		/* Not writable in a container, say. */
		assert_int_equal(err.code, EXIT_ENVIRONMENT);
		free(name);
		skip();
	}
	assert_int_equal(memcg_set(cg, "max", "1048576", &err), 0);
	assert_int_equal(memcg_get(cg, "max", &value, &err), 0);
	assert_int_equal(value, 1048576);
	assert_int_equal(memcg_set(cg, "max", "much", &err), -1);
	assert_int_equal(memcg_get(cg, "nothing", &value, &err), -1);
	err_clear(&err);
	assert_int_equal(memcg_pairs(cg, "stat", seen, &found, &err), 0);
	assert_int_equal(memcg_pairs(cg, "events", seen, &found, &err), 0);
	assert_int_equal(found, 2);

	pid = fork();
	if (!pid) {
		pause();
		_exit(0);
	}
	assert_int_equal(memcg_attach(cg, pid, &err), 0);
	/* Removed with somebody in it; then the name is free again. */
	assert_int_equal(memcg_remove(cg, &err), 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_int_equal(memcg_create(name, &again, &err), 0);
	assert_int_equal(memcg_remove(again, &err), 0);
	free(name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_read_exactly),
		cmocka_unit_test(what_is_no_number_is_refused),
		cmocka_unit_test(pairs_are_cut),
		cmocka_unit_test(what_is_no_pair_is_refused),
		cmocka_unit_test(pressure_is_the_total),
		cmocka_unit_test(a_host_without_v2_is_told_so),
		cmocka_unit_test(a_cgroup_lives_and_goes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
