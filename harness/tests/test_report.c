/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Whatever comes in, the text fits into a posting, says first when a run is not
 * valid, and comes out byte for byte the same from result.json.
 */
#include <ctype.h>
#include <dirent.h>
#include <locale.h>
#include <math.h>
#include <unistd.h>

#include "fake_clear.h"

#include "../analyse/analyse.h"
#include "../report/report.h"

#define MAX_LINES	40
#define MAX_COLUMNS	75

/* Lines and bytes a line; no control characters, no blanks at an end. */
static void assert_fits(const char *text)
{
	size_t lines = 0;

	while (*text) {
		const char *end = strchr(text, '\n');

		assert_non_null(end);
		if (end - text > MAX_COLUMNS)
			fail_msg("%d bytes: %.*s", (int)(end - text),
				 (int)(end - text), text);
		if (end > text && end[-1] == ' ')
			fail_msg("blank at the end: %.*s", (int)(end - text),
				 text);
		for (; text < end; text++)
			if (iscntrl((unsigned char)*text))
				fail_msg("control character %d", *text);
		text++;
		lines++;
	}
	if (!lines || lines > MAX_LINES)
		fail_msg("%zu lines", lines);
}

static void assert_utf8(const char *text)
{
	json_t *s = json_string(text);

	assert_non_null(s);
	json_decref(s);
}

static void assert_has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no \"%s\" in\n%s", part, text);
}

/* Text of an analysed result; it always fits. */
static char *text_of(struct result *r)
{
	char *text;

	analyse(r);
	text = report_text(r);
	assert_fits(text);
	assert_utf8(text);
	return text;
}

/* Through result.json and the profiles, and back. */
static void assert_survives(const struct result *r, const char *text)
{
	char dir[] = "/tmp/folab-test-report-XXXXXX", *again;
	struct err err = { 0 };
	struct result back;

	assert_non_null(mkdtemp(dir));
	if (result_write(dir, r, &err) || result_read(dir, &back, &err))
		fail_msg("%s", err.text);
	again = report_text(&back);
	assert_string_equal(text, again);
	free(again);
	result_free(&back);
	assert_int_equal(file_remove_tree(dir, &err), 0);
}

/* ---- what a good report says -------------------------------------------------- */

static void test_good(void **state)
{
	static const char *const parts[] = {
		"reclaim-file on arm64: 192 MiB of mapped",
		"order=4", "A: 6.12 (", "B: 6.12+young-batch (",
		"instructions/page [1]   4047.8 ±0.6%  1655.6 ±1.7% -58.94 %  -60.1..-57.8\n",
		"system seconds [2]      0.3110", "TLBI per folio [3]",
		"DSB per folio [3]",
		"folio_check_references   0.700",
		"B is faster: instructions/page, system seconds",
		"contpte_ptep_get                              1496.9      166.6    -1330.4\n",
		"pages by folio order: 2: 0.2%, 3: 2.1%, 4: 97.7%; contpte 97.7%\n",
		"reclaimed (mean): A 150.06 MiB, B 150.06 MiB, asked 150.00 MiB\n",
		"The two kernels decided alike with 5 of 5 seeds",
		"by the guest's PMU",
		"folio_check_references is inlined into shrink_folio_list",
		"Instructions on the emulator's clock are not time on hardware.\n",
		"base     linux-source-6.12 6.12.117-1~deb12u1, config 1f3a5c7e9b2d\n",
		"compiler aarch64-linux-gnu-gcc (Debian 12.2.0-14) 12.2.0\n",
		"series B young-batch 0a1b2c3d4e5f (4 patches)\n",
		"machine  QEMU emulator version 7.2.22",
		"fs       xfs on a RAM disk",
		"cmdline  console=ttyAMA0 nokaslr",
		"  folab ab -s reclaim-file -a arm64 -A 6.12 -B 6.12+young-batch --boots 5\n",
	};
	struct result r;
	char *text;

	fake_result(&r, 5);
	text = text_of(&r);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		assert_has(text, parts[i]);
	assert_null(strstr(text, "INVALID"));
	assert_survives(&r, text);
	free(text);
	result_free(&r);
}

/* Of clearing: nothing of reclaim, of decisions, or of time on hardware. */
static void test_clear(void **state)
{
	static const char *const parts[] = {
		"clear-fault on arm64: anonymous memory, cleared",
		"page=2m-thp",
		"instructions/page [1]    289.5 ±0.0%   271.8 ±0.0%  -6.10 %",
		"user instr./page [3]",
		"the same on both: faults 128, pages 65536, folios 128\n",
		"B is faster: instructions/page, instructions/folio, system seconds",
		"clear_page                                     260.6        0.0     -260.6\n",
		"pages by folio order: 9: 100.0%\n",
		"A fault a folio, 128 a window; every byte read as cleared,\n"
		"and 100.0% of the frames held something else before.\n",
		"no cache is emulated",
		"note: clear.gigabytes_per_second: not on the instruction clock\n",
	};
	static const char *const not[] = {
		"reclaim", "decide", "alike", "GB/s", "rep stos", "turns", "NUMA",
	};
	struct result r;
	char *text;

	fake_clear_result(&r, 5);
	text = text_of(&r);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		assert_has(text, parts[i]);
	for (size_t i = 0; i < ARRAY_SIZE(not); i++)
		if (strcasestr(text, not[i]))
			fail_msg("\"%s\" in:\n%s", not[i], text);
	assert_survives(&r, text);
	free(text);
	text = report_ktap(&r);
	assert_has(text, "decisions alike # SKIP there is nothing to decide");
	free(text);
	result_free(&r);
}

/* What a reader would otherwise take for more than it is. */
static void test_clear_caveats(void **state)
{
	struct err err = { 0 };
	struct result r;
	char *text;

	fake_clear_result(&r, 5);
	r.side[0].arch = r.side[1].arch = arch_find("x86_64");
	assert_int_equal(params_set(&r.params, "node", "1", &err), 0);
	fake_set(&r, 0, "clear.threads", 4);
	fake_unset(&r, 0, "pages.node0");
	fake_set(&r, 0, "pages.node1", 65536);
	text = text_of(&r);
	assert_has(text, "rep stos");
	assert_has(text, "took turns on one processor");
	assert_has(text, "bound to NUMA node 1; pages by node: 1: 100.0%\n");
	free(text);
	result_free(&r);

	/* An invalid run has not proven what was cleared. */
	fake_clear_result(&r, 5);
	fake_set(&r, 'B', "clear.nonzero_words", 8);
	text = text_of(&r);
	assert_has(text, "INVALID");
	assert_null(strstr(text, "read as cleared"));
	assert_null(strstr(text, "faster"));
	free(text);
	result_free(&r);
}

static void test_invalid(void **state)
{
	struct result r;
	char *text, *invalid, *table;

	fake_result(&r, 5);
	for (int64_t seed = 1; seed <= 5; seed++)
		fake_find(&r, 'B', seed)->failed =
			xstrdup("kernel panic - not syncing: Oops");
	text = text_of(&r);
	invalid = strstr(text, "INVALID: this run claims nothing");
	assert_non_null(invalid);
	assert_has(text, "- B seed 1: kernel panic - not syncing: Oops\n");
	assert_null(strstr(text, "faster"));
	assert_survives(&r, text);
	free(text);
	result_free(&r);

	/* One rule broken: the numbers are shown, but no change. */
	fake_result(&r, 5);
	fake_set(&r, 'B', "events.max", 1);
	text = text_of(&r);
	invalid = strstr(text, "INVALID");
	table = strstr(text, "instructions/page");
	assert_non_null(invalid);
	assert_non_null(table);
	assert_true(invalid < table);
	assert_has(text, "instructions/page [1]   4047.8 ±0.6%  1655.6 ±1.7%        -             -\n");
	assert_null(strstr(text, "faster"));
	assert_null(strstr(text, "own instructions"));
	free(text);
	result_free(&r);
}

/* More reasons than there is room for are counted. */
static void test_many_reasons(void **state)
{
	struct result r;
	char *text;

	fake_result(&r, 100);
	fake_set(&r, 0, "vmstat.pgscan_kswapd", 1);
	text = text_of(&r);
	assert_has(text, "- and 192 more (result.json has all)\n");
	free(text);
	result_free(&r);
}

/* A result that nobody analysed claims nothing. */
static void test_not_analysed(void **state)
{
	struct result r;
	char *text;

	fake_result(&r, 5);
	text = report_text(&r);
	assert_fits(text);
	assert_has(text, "INVALID");
	assert_has(text, "- it was not analysed\n");
	free(text);
	result_free(&r);

	r = (struct result){ 0 };
	text = report_text(&r);
	assert_fits(text);
	assert_has(text, "INVALID");
	free(text);
}

static void test_aa(void **state)
{
	struct result r;
	char *text;

	fake_result(&r, 5);
	r.aa = true;
	for (int64_t seed = 1; seed <= 5; seed++) {
		struct trial *b = fake_find(&r, 'B', seed);
		int64_t index = b->index;

		trial_free(b);
		fake_trial(b, 'A', seed, index);
		b->side = 'B';
	}
	text = text_of(&r);
	assert_has(text, "instructions/page [1]   4047.8 ±0.6%  4047.8 ±0.6%   0.00 %    0.00..0.00\n");
	assert_has(text, "no difference: instructions/page, system seconds, TLBI");
	assert_null(strstr(text, "faster"));
	assert_null(strstr(text, "slower"));
	assert_null(strstr(text, "proven"));
	free(text);
	result_free(&r);
}

static void test_unproven(void **state)
{
	struct result r;
	char *text;

	fake_result(&r, 5);
	for (size_t i = 0; i < r.n_trials; i++)
		counters_set(&r.trials[i].samples[0].counters, "time.sys_ns",
			     300000000 + r.trials[i].index * 1000000);
	text = text_of(&r);
	assert_has(text, "note: no difference proven: system seconds (could have seen");
	assert_null(strstr(text, "faster: system"));
	free(text);
	result_free(&r);
}

static void test_decisions(void **state)
{
	struct result r;
	char *text;

	fake_result(&r, 5);
	fake_set(&r, 'B', "memcg.pgscan", 88128);
	text = text_of(&r);
	assert_has(text, "The two kernels decided alike with 0 of 5 seeds; else:\n"
			 "  seeds 1, 2, 3, 4, 5: pgscan 87040 -> 88128 (+1.2 %)\n");
	assert_survives(&r, text);
	free(text);
	/* Seeds that differ alike share a line. */
	counters_set(&fake_find(&r, 'B', 2)->samples[0].counters,
		     "memcg.pgscan", 87041);
	text = text_of(&r);
	assert_has(text, "  seeds 1, 3, 4, 5: pgscan 87040 -> 88128 (+1.2 %)\n"
			 "  seed 2: pgscan 87040 -> 87041 (+0.00 %)\n");
	free(text);
	for (size_t i = 0; i < r.n_trials; i++) {
		free(r.trials[i].samples[0].survivors);
		r.trials[i].samples[0].survivors = NULL;
		counters_set(&r.trials[i].samples[0].counters, "memcg.pgscan",
			     87040);
	}
	text = text_of(&r);
	assert_has(text, "Whether the two kernels decided alike can't be known.\n");
	free(text);
	result_free(&r);
}

/* Without profile there is no table of functions, and no row of shares. */
static void test_no_profile(void **state)
{
	struct result r;
	char *text;

	fake_result(&r, 5);
	for (size_t i = 0; i < r.n_trials; i++) {
		profile_free(&r.trials[i].profile);
		memset(&r.trials[i].profile, 0, sizeof(struct profile));
	}
	text = text_of(&r);
	assert_null(strstr(text, "own instructions"));
	assert_has(text, "folio_check_references: not known");
	assert_has(text, "B is faster");
	assert_survives(&r, text);
	free(text);
	result_free(&r);
}

/* ---- odd input --------------------------------------------------------------- */

static char *repeat(const char *s, size_t n)
{
	char *all = xcalloc(n, strlen(s) + 1);

	for (size_t i = 0; i < n; i++)
		strcat(all, s);
	return all;
}

static void set(char **field, char *value)
{
	free(*field);
	*field = value;
}

static void test_huge_names(void **state)
{
	struct result r;
	char *text, *name = repeat("folio_", 60);

	fake_result(&r, 5);
	set(&r.side[1].spec, repeat("6.12+long-series-name", 30));
	set(&r.cmdline, repeat("panic=-1 ", 100));
	set(&r.machine, repeat("QEMU", 300));
	set(&r.summary, repeat("word ", 200));
	set(&r.fs, repeat("xfs", 100));
	set(&r.side[0].compiler, repeat("gcc ", 100));
	set(&r.side[0].base, repeat("x", 500));
	for (size_t i = 0; i < r.n_trials; i++)
		fake_fn(&r.trials[i].profile, name, NULL, 1,
			90000000 + 1000000 * (r.trials[i].side == 'A'), 1);
	strlist_addf(&r.wanted, "reclaim.share.%s", name);
	text = text_of(&r);
	assert_has(text, "folio_folio_folio_f...");
	assert_survives(&r, text);
	free(text);
	free(name);
	result_free(&r);
}

/*
 * Run what the report says under a shell in which "folab" prints its arguments:
 * they are those of the command.
 */
static char *arguments(const char *command)
{
	char *script = xasprintf("folab() { printf '<%%s>' \"$@\"; }\n%s\n",
				 command);
	char *argv[] = { "sh", "-c", script, NULL }, *out = NULL;
	struct child_spec spec = { .argv = argv };
	struct err err = { 0 };

	spec.output = -1;
	if (child_capture(&spec, false, &out, &err) < 0)
		fail_msg("%s", err.text);
	free(script);
	return out;
}

static void test_long_command(void **state)
{
	static const char *const commands[] = {
		"folab ab -s reclaim-file -p size=192M -p reclaim=150M -p order=4 -p mappers=16 -p young=100 -p lru=classic",
		"folab ab -B git:/home/somebody/with/a/very/long/path/to/a/linux/tree/that/does/not/fit@refs/heads/topic/young-batch-v2 -p order=4",
		"folab ab -B 'git:/home/some body/linux@topic' -p order=4 -p mappers=16 -o \"a directory\"",
		"folab ab -o a\\ directory\\ whose\\ name\\ is\\ escaped --seeds 5 -p order=4 -p mappers=16",
		"folab ab -o /home/j\u00fcrgen/\u30ab\u30fc\u30cd\u30eb\u30ab\u30fc\u30cd\u30eb\u30ab\u30fc\u30cd\u30eb\u30ab\u30fc\u30cd\u30eb\u30ab\u30fc\u30cd\u30eb\u30ab\u30fc\u30cd\u30eb\u30ab\u30fc\u30cd\u30eb",
	};

	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		char *text, *shown, *want, *got;
		struct result r;

		fake_result(&r, 5);
		set(&r.command, xstrdup(commands[i]));
		text = text_of(&r);
		shown = strstr(text, "again    with folab 0.1:\n");
		assert_non_null(shown);
		shown = strchr(shown, '\n') + 1;
		want = arguments(commands[i]);
		got = arguments(shown);
		assert_string_equal(want, got);
		assert_non_null(strstr(want, "<ab>"));
		free(want);
		free(got);
		free(text);
		result_free(&r);
	}
}

/* What can't be shown as a command that works is not shown as one. */
static void test_unbreakable_command(void **state)
{
	struct result r;
	char *text;

	fake_result(&r, 5);
	set(&r.command, xasprintf("folab ab -o '%s'", "a very long directory name between quotes, which no backslash can break without making it another name"));
	text = text_of(&r);
	assert_has(text, "  (too long for here: \"command\" in result.json)\n");
	free(text);
	set(&r.command, repeat("folab ab -p order=4 ", 60));
	text = text_of(&r);
	assert_has(text, "(too long for here");
	free(text);
	result_free(&r);
}

static void test_odd_characters(void **state)
{
	struct result r;
	char *text;

	fake_result(&r, 3);
	set(&r.summary, xstrdup("a\nb\tc\033[31md\177 \u202egnola \xc2\x9b" "31m \u00e4"));
	set(&r.fs, xstrdup("latin1: \xe4\xf6\xfc"));
	strlist_add(&fake_find(&r, 'A', 1)->warnings, "WARNING\r\nat \033]0;x\007");
	text = text_of(&r);
	assert_has(text, "a b c [31md  ???gnola ??31m \u00e4\n");
	assert_has(text, "latin1: ???\n");
	assert_survives(&r, text);
	free(text);
	result_free(&r);
}

static void test_numbers(void **state)
{
	struct result r;
	char *text;

	fake_result(&r, 5);
	fake_set(&r, 'A', "memcg.pgscan", 123456789012);
	fake_set(&r, 'B', "memcg.pgscan", 123456789013);
	fake_set(&r, 'A', "plugin.dsb", 0);
	fake_set(&r, 'A', "plugin.tlbi_address", 0);
	fake_set(&r, 'A', "plugin.tlbi_range", 1);
	fake_set(&r, 'B', "plugin.tlbi_range", 1000000);
	text = text_of(&r);
	assert_has(text, "pgscan                 1.2e+11 ±0.0% 1.2e+11 ±0.0%  +0.00 %  +0.00..+0.00\n");
	assert_has(text, "DSB per folio [3]         0.00 ±0.0%    4.38 ±0.0%        -");
	assert_has(text, ">9999 %  >9999..>9999\n");
	assert_survives(&r, text);
	free(text);
	result_free(&r);
}

/* Half an instruction in a million is not "0.00" without a sign. */
static void test_tiny_change(void **state)
{
	struct result r;
	char *text;

	fake_result(&r, 5);
	for (size_t i = 0; i < r.n_trials; i++)
		counters_set(&r.trials[i].samples[0].counters, "time.sys_ns",
			     100000000 - (r.trials[i].side == 'B'));
	text = text_of(&r);
	assert_has(text, "-0.00 %  -0.00..-0.00\n");
	free(text);
	result_free(&r);
}

/* Make a locale that writes 1,5; false: this host lacks the sources for it. */
static bool make_locale(const char *dir)
{
	char *path = xasprintf("%s/de_DE.UTF-8", dir);
	char *argv[] = { (char *)"localedef", (char *)"-i", (char *)"de_DE",
			 (char *)"-f", (char *)"UTF-8", path, NULL };
	struct child_spec spec = { .argv = argv, .output = -1 };
	struct err err = { 0 };
	bool made = !child_run(&spec, NULL, EXIT_ENVIRONMENT, &err);

	free(path);
	return made && !setenv("LOCPATH", dir, 1) &&
	       setlocale(LC_ALL, "de_DE.UTF-8");
}

/* Numbers are written with a point, whatever the user's locale. */
static void test_locale(void **state)
{
	char dir[] = "/tmp/folab-test-report-XXXXXX", *plain, *text;
	struct err err = { 0 };
	struct result r;

	fake_result(&r, 5);
	counters_set(&fake_find(&r, 'B', 2)->samples[0].counters,
		     "memcg.pgscan", 88128);
	plain = text_of(&r);
	assert_non_null(mkdtemp(dir));
	if (make_locale(dir)) {
		assert_int_equal(*localeconv()->decimal_point, ',');
		text = text_of(&r);
		assert_string_equal(plain, text);
		assert_int_equal(*localeconv()->decimal_point, ',');
		setlocale(LC_ALL, "C");
		free(text);
	} else {
		/* cmocka's skip() is "not ok" in TAP. */
		print_message("# no sources of a locale here: not tested\n");
	}
	unsetenv("LOCPATH");
	assert_int_equal(file_remove_tree(dir, &err), 0);
	free(plain);
	result_free(&r);
}

static void test_formats(void **state)
{
	struct err err = { 0 };
	struct result r;
	char *json, *file;
	size_t len;
	char dir[] = "/tmp/folab-test-report-XXXXXX", *path;

	assert_ptr_equal(report_format("text"), report_text);
	assert_null(report_format("pdf"));
	assert_null(report_format(""));
	fake_result(&r, 5);
	analyse(&r);
	json = report_format("json")(&r);
	assert_non_null(mkdtemp(dir));
	assert_int_equal(result_write(dir, &r, &err), 0);
	path = xasprintf("%s/result.json", dir);
	assert_int_equal(file_read(path, 1 << 20, &file, &len, &err), 0);
	assert_string_equal(json, file);
	assert_int_equal(file_remove_tree(dir, &err), 0);
	free(path);
	free(file);
	free(json);
	result_free(&r);
}

/* ---- any result -------------------------------------------------------------- */

static uint64_t state_of_random = 88172645463325252;

static uint64_t any(uint64_t below)
{
	state_of_random ^= state_of_random << 13;
	state_of_random ^= state_of_random >> 7;
	state_of_random ^= state_of_random << 17;
	return state_of_random % below;
}

static char *any_text(void)
{
	static const char *const pieces[] = {
		"folio", " ", "  ", "\n", "\t", "'", "\"", "\\", "\u00e4",
		"\u30ab", "\033[0m", "%s%n", "-p order=4 ", "/usr/src/linux",
		"\xff", "\u202e", "0123456789abcdef", "$(x)", "...", "=",
	};
	size_t n = any(4) ? any(12) : any(400);
	char *text = xcalloc(n + 1, 24);

	for (size_t i = 0; i < n; i++)
		strcat(text, pieces[any(ARRAY_SIZE(pieces))]);
	return text;
}

static double any_number(void)
{
	static const double special[] = { 0, -0.0, 1, -1, 1e-300, 1e300, 0.004,
					  -0.004, 99.995, 999.99, 9999.5,
					  -99999, 1e15, 9.995 };

	if (any(10) == 0)
		return NAN;
	if (any(10) == 0)
		return any(2) ? INFINITY : -INFINITY;
	if (any(2))
		return special[any(ARRAY_SIZE(special))];
	return (double)(int64_t)any(UINT64_MAX) / (1 + any(1000000000));
}

static void any_rows(struct result *r)
{
	static const char *const names[] = {
		"reclaim.instructions_per_page", "reclaim.sys_seconds",
		"reclaim.tlbi_per_folio", "reclaim.dsb_per_folio",
		"reclaim.share.folio_check_references", "reclaim.pages",
		"reclaim.share.a_function_with_a_name_longer_than_its_column",
		"clear.instructions_per_page", "clear.share.clear_page",
		"some.metric_of_a_later_folab",
	};

	r->n_rows = any(3) ? any(8) : any(60);
	r->rows = xcalloc(r->n_rows, sizeof(*r->rows));
	for (size_t i = 0; i < r->n_rows; i++)
		r->rows[i] = (struct row){
			.metric = xstrdup(names[any(ARRAY_SIZE(names))]),
			.a = any_number(),
			.b = any_number(),
			.change_pct = any_number(),
			.low_pct = any_number(),
			.high_pct = any_number(),
			.a_stdev_pct = any_number(),
			.b_stdev_pct = any_number(),
			.n = any(100),
			.verdict = any(5),
		};
}

static void any_result(struct result *r)
{
	char **texts[] = { &r->scenario, &r->summary, &r->machine, &r->cmdline,
			   &r->command, &r->fs, &r->folab_version,
			   &r->side[0].spec, &r->side[1].base,
			   &r->side[1].compiler, &r->side[0].config_hash,
			   &r->side[1].series[0].name };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (any(2))
			set(texts[i], any(8) ? any_text() : NULL);
	for (size_t i = 0; i < r->params.n; i++)
		if (any(4) == 0)
			set(&r->params.v[i].text, any_text());
	for (size_t i = 0; i < r->n_trials; i++) {
		struct trial *t = &r->trials[i];

		for (uint64_t k = any(30); k; k--) {
			char *name = any_text();

			/* The symbol file has nothing but text. */
			for (char *p = name; *p; p++)
				if (*p == '\xff')
					*p = 'y';
			fake_fn(&t->profile, name, any(2) ? name : NULL, any(9),
				any(UINT64_MAX) >> (20 + any(40)), 1);
			free(name);
		}
		for (int o = 0; o < MAX_ORDER_SEEN; o++)
			if (any(3) == 0)
				t->samples[0].order_pages[o] = any(1 << 20);
	}
	analyse(r);
	if (any(3)) {
		for (size_t i = 0; i < r->n_rows; i++)
			free(r->rows[i].metric);
		free(r->rows);
		any_rows(r);
	}
	r->valid = any(2);
	for (uint64_t k = any(3) ? any(3) : any(50); k; k--)
		strlist_addf(any(2) ? &r->reasons : &r->notes, "%s",
			     "a reason that is long enough for two lines, since it names what was found and what was wanted, and more");
	for (uint64_t k = any(3) ? 0 : any(20); k; k--) {
		r->diffs = xrealloc(r->diffs, r->n_diffs + 1,
				    sizeof(*r->diffs));
		r->diffs[r->n_diffs++] = (struct decision_diff){
			.seed = any(UINT64_MAX), .text = any_text(),
		};
		r->alike_of++;
	}
}

/* JSON as text and back; without files, which are synced one by one. */
static json_t *through_text(json_t *o)
{
	char *text = json_dumps(o, JSON_SORT_KEYS);
	json_t *back = json_loads(text, 0, NULL);

	assert_non_null(back);
	free(text);
	json_decref(o);
	return back;
}

static void assert_survives_memory(const struct result *r, const char *text)
{
	json_t *o = through_text(result_to_json(r));
	struct result back = { 0 };
	struct err err = { 0 };
	char *again;

	assert_int_equal(result_from_json(&back, o, &err), 0);
	json_decref(o);
	for (int s = 0; s < 2; s++) {
		o = through_text(profile_to_json(&r->profile[s]));
		assert_int_equal(profile_from_json(&back.profile[s], o, &err), 0);
		json_decref(o);
	}
	again = report_text(&back);
	assert_string_equal(text, again);
	free(again);
	result_free(&back);
}

/*
 * Any result fits, is the same when it was read back, and claims nothing if
 * it is not valid.
 */
static void test_any(void **state)
{
	for (int i = 0; i < 1000; i++) {
		struct result r;
		char *text;

		fake_result(&r, 1 + any(7));
		any_result(&r);
		text = report_text(&r);
		assert_fits(text);
		assert_utf8(text);
		assert_has(text, "Instructions on the emulator's clock are not time on hardware.\n");
		if (!r.valid) {
			assert_has(text, "INVALID");
			assert_null(strstr(text, "faster"));
			assert_null(strstr(text, "slower"));
		}
		assert_survives_memory(&r, text);
		free(text);
		result_free(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_clear),
		cmocka_unit_test(test_clear_caveats),
		cmocka_unit_test(test_invalid),
		cmocka_unit_test(test_many_reasons),
		cmocka_unit_test(test_not_analysed),
		cmocka_unit_test(test_aa),
		cmocka_unit_test(test_unproven),
		cmocka_unit_test(test_decisions),
		cmocka_unit_test(test_no_profile),
		cmocka_unit_test(test_huge_names),
		cmocka_unit_test(test_long_command),
		cmocka_unit_test(test_unbreakable_command),
		cmocka_unit_test(test_odd_characters),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_tiny_change),
		cmocka_unit_test(test_locale),
		cmocka_unit_test(test_formats),
		cmocka_unit_test(test_any),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
