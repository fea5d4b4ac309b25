/* SPDX-License-Identifier: GPL-2.0 */
#include "check.h"

#include "../plan/plan.h"

static const struct param_spec specs[] = {
	{ "size", PARAM_SIZE, "192M", 4096, 1LL << 40, NULL, "bytes" },
	{ "order", PARAM_INT, "4", 0, 9, NULL, "folio order" },
	{ NULL }
};

static const struct param_spec *specs_of(const char *workload)
{
	return strcmp(workload, "w") ? NULL : specs;
}

static const char good[] =
	"[scenario]\nsummary = x\n  y\nworkload = w\nseeds = 3\ntolerance = 2.5 %\n"
	"[machine]\nmemory = 512M\nbudget = 60\ncmdline = preempt=none quiet\n"
	"[params]\norder = 0\n"
	"[report]\nmetrics = reclaim.pages,\n  reclaim.share.folio_referenced\n";

static int load(const char *text, struct scenario *s, struct err *err)
{
	char *dir = test_dir(), *path = test_file(dir, "mine.ini", text);
	int rc = scenario_load(s, path, specs_of, err);

	free(path);
	test_dir_remove(dir);
	return rc;
}

static void a_scenario(void **state)
{
	struct err err = { 0 };
	struct scenario s;

	if (load(good, &s, &err))
		fail_msg("%s", err.text);
	assert_string_equal(s.name, "mine");
	assert_string_equal(s.summary, "x y");
	assert_int_equal(s.seeds, 3);
	assert_int_equal(s.passes, 1);
	assert_true(s.tolerance_pct == 2.5);
	assert_int_equal(s.memory, 512 << 20);
	assert_int_equal(s.budget, 60);
	assert_string_equal(s.cmdline.v[1], "quiet");
	assert_int_equal(params_get(&s.params, "order"), 0);
	assert_int_equal(params_get(&s.params, "size"), 192 << 20);
	assert_int_equal(s.metrics.n, 2);
	assert_int_equal(scenario_set(&s, "order=9", &err), 0);
	assert_int_equal(params_get(&s.params, "order"), 9);
	assert_int_equal(scenario_set(&s, "order", &err), -1);
	assert_err(&err, EXIT_USAGE, "KEY=VALUE");
	scenario_free(&s);
}

static const char with_rows[] =
	"[rows]\nno order = order=0\nmuch here = size=1G   order=9\n"
	"x86 = arch=x86_64 ; the other one\n[scenario]\nworkload = w\n"
	"[params]\nsize = 64M\n";

/* In the file's order, over the scenario's parameters as they are then. */
static void rows(void **state)
{
	struct err err = { 0 };
	struct params p;
	struct scenario s;

	if (load(with_rows, &s, &err))
		fail_msg("%s", err.text);
	assert_int_equal(s.n_rows, 3);
	assert_string_equal(s.rows[0].name, "no order");
	assert_string_equal(s.rows[0].set.v[0], "order=0");
	assert_null(s.rows[0].arch);
	assert_string_equal(s.rows[2].name, "x86");
	assert_int_equal(s.rows[2].set.n, 0);
	assert_string_equal(s.rows[2].arch->name, "x86_64");
	assert_int_equal(scenario_set(&s, "size=32M", &err), 0);
	assert_int_equal(scenario_row_params(&s, &s.rows[0], &p, &err), 0);
	assert_int_equal(params_get(&p, "order"), 0);
	assert_int_equal(params_get(&p, "size"), 32 << 20);
	params_free(&p);
	assert_int_equal(scenario_row_params(&s, &s.rows[1], &p, &err), 0);
	assert_int_equal(params_get(&p, "size"), 1 << 30);
	params_free(&p);
	assert_int_equal(params_get(&s.params, "order"), 4);
	scenario_free(&s);
}

/* One line that names file, line or key, and what is allowed. */
static void bad_scenarios(void **state)
{
#define W	"[scenario]\nworkload = w\n[rows]\n"
	static const struct { const char *text, *says; } bad[] = {
		{ "", "lacks workload" },
		{ "[scenario]\nworkload = v\n", "no workload \"v\"" },
		{ "[scenario]\nworkload = w\nsed = 1\n", "mine.ini:3: no key \"sed\" in [scenario]" },
		{ "[scenario]\nseeds = 0\n", "seeds = \"0\": must be a whole number from 1" },
		{ "[scenario]\nseeds = many\n", "mine.ini:2" },
		{ "[scenario]\ntolerance = -1\n", "percentage" },
		{ "[scenario]\ntolerance = nan\n", "percentage" },
		{ "[machine]\nmemory = 1K\n", "at least 64M" },
		{ "[machine]\nram = 1G\n", "no key \"ram\"" },
		{ "[parms]\n a = 1\n", "no section [parms]" },
		{ "[report]\nmetrics = reclaim.pagse\n", "no metric \"reclaim.pagse\"" },
		{ "[scenario]\nworkload = w\n[params]\nordr = 1\n", "no parameter \"ordr\"" },
		{ "[scenario]\nworkload = w\n[params]\norder = 11\n", "order = \"11\"" },
		{ "[scenario]\nworkload\n", "mine.ini:2" },
		{ "[scenario]\nworkload = w\nworkload = v\n", "a second workload" },
		{ "[report]\nmetrics = reclaim.pages, reclaim.pages\n", "twice" },
		{ "[machine]\ncmdline = quiet folab.seed=3\n", "folab.* are ours" },
		{ "[row]\na = order=0\n", "report, rows" },
		{ W "a = ordr=1\n", "mine.ini:4: row \"a\": no parameter \"ordr\"" },
		{ W "b = order=0\na = order=11\n", "mine.ini:5: row \"a\": parameter order = \"11\"" },
		{ W "a = order=0\nb = order=1\na = order=2\n", "mine.ini:6: a second row \"a\"" },
		{ W "a = order=0\na = size=1M\n", "mine.ini:5: a second row \"a\"" },
		{ W "a = order=0\n  size=1M\n", "mine.ini:5: a second row \"a\" (a row is one line)" },
		{ W "a = order=0 order=1\n", "order=1: its key stands there twice" },
		{ W "a = arch=vax\n", "mine.ini:4: row \"a\": no architecture \"vax\"; there are: arm64, x86_64" },
		{ W "a = arch=arm64 arch=x86_64\n", "arch stands there twice" },
		{ W "a = order\n", "must be KEY=VALUE" },
		{ W "a = =1\n", "must be KEY=VALUE" },
		{ W "a =\n", "it says nothing" },
		{ W "a, b = order=0\n", "no comma" },
		{ W "12345678901234567890123 = order=0\n", "1 to 22 printable" },
		{ W "\xc3\xa4 = order=0\n", "printable" },
	};
	struct scenario s;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct err err = { 0 };

		assert_int_equal(load(bad[i].text, &s, &err), -1);
		assert_err(&err, EXIT_USAGE, bad[i].says);
	}
}

static void no_scenario(void **state)
{
	struct err err = { 0 };
	struct scenario s;

	assert_int_equal(scenario_load(&s, "./none.ini", specs_of, &err), -1);
	assert_err(&err, EXIT_USAGE, "no scenario file ./none.ini");
	err_clear(&err);
	assert_int_equal(scenario_load(&s, "none", specs_of, &err), -1);
	assert_err(&err, EXIT_USAGE, "no scenario \"none\"; there are: ");
}

/* Both sides see each seed once, in the order A B, B A, ... */
static void trials(void **state)
{
	struct trial *t;
	size_t n;

	plan_trials(3, &t, &n);
	assert_int_equal(n, 6);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(t[i].side, "ABBAAB"[i]);
		assert_int_equal(t[i].seed, (int64_t)i / 2 + 1);
		assert_int_equal(t[i].index, (int64_t)i);
	}
	free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_scenario),
		cmocka_unit_test(rows),
		cmocka_unit_test(bad_scenarios),
		cmocka_unit_test(no_scenario),
		cmocka_unit_test(trials),
	};

	return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
