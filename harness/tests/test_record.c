/* SPDX-License-Identifier: GPL-2.0 */
#include "check.h"

#include <math.h>

#include "../record/record.h"

static const char *const lru[] = { "classic", "mglru", NULL };
static const struct param_spec specs[] = {
	{ "size", PARAM_SIZE, "192M", 4096, 1LL << 40, NULL, "bytes" },
	{ "order", PARAM_INT, "4", 0, 9, NULL, "folio order" },
	{ "young", PARAM_PERCENT, "100", 0, 100, NULL, "share" },
	{ "lru", PARAM_CHOICE, "classic", 0, 0, lru, "which LRU" },
	{ NULL }
};

static const struct param_spec *specs_of(const char *workload)
{
	return strcmp(workload, "w") ? NULL : specs;
}

static void counters(void **state)
{
	struct counters c = { 0 }, d = { 0 };
	struct err err = { 0 };
	int64_t v = 7;
	json_t *o;

	counters_set(&c, "b", 2);
	counters_set(&c, "a", 1);
	counters_set(&c, "c", 3);
	counters_add(&c, "b", 40);
	assert_int_equal(c.n, 3);
	assert_string_equal(c.v[0].name, "a");
	assert_string_equal(c.v[2].name, "c");
	assert_int_equal(counters_value(&c, "b"), 42);
	assert_false(counters_get(&c, "none", &v));
	assert_int_equal(v, 7);
	o = counters_to_json(&c);
	assert_int_equal(counters_from_json(&d, o, "x", &err), 0);
	assert_int_equal(counters_value(&d, "b"), 42);
	json_decref(o);
	o = json_pack("{s:f}", "a", 1.5);
	assert_int_equal(counters_from_json(&d, o, "x", &err), -1);
	assert_err(&err, EXIT_USAGE, "counter \"a\" is not an integer");
	json_decref(o);
	counters_free(&c);
	counters_free(&d);
}

static void parameters(void **state)
{
	struct err err = { 0 };
	struct params p;

	params_init(&p, specs);
	assert_int_equal(params_get(&p, "size"), 192 << 20);
	assert_int_equal(params_set(&p, "lru", "mglru", &err), 0);
	assert_int_equal(params_get(&p, "lru"), 1);
	assert_int_equal(params_set(&p, "young", "50%", &err), 0);
	assert_int_equal(params_get(&p, "young"), 50);
	assert_int_equal(params_set(&p, "ordre", "1", &err), -1);
	assert_err(&err, EXIT_USAGE, "no parameter \"ordre\"; there are: size, order");
	err_clear(&err);
	assert_int_equal(params_set(&p, "order", "10", &err), -1);
	assert_err(&err, EXIT_USAGE, "a whole number from 0 to 9");
	err_clear(&err);
	assert_int_equal(params_set(&p, "size", "17E", &err), -1);
	assert_err(&err, EXIT_USAGE, "a size from 4 KiB to 1 TiB");
	err_clear(&err);
	assert_int_equal(params_set(&p, "lru", "lru", &err), -1);
	assert_err(&err, EXIT_USAGE, "classic or mglru");
	params_free(&p);
}

static void job_there_and_back(void **state)
{
	struct job j = { .workload = xstrdup("w"), .passes = 2,
			 .fs = xstrdup("xfs"), .fs_bytes = 300 << 20 };
	struct job k = { 0 };
	struct err err = { 0 };
	json_t *o;

	params_init(&j.params, specs);
	params_set(&j.params, "order", "0", &err);
	o = job_to_json(&j);
	assert_int_equal(job_from_json(&k, o, specs_of, &err), 0);
	assert_int_equal(params_get(&k.params, "order"), 0);
	assert_int_equal(k.fs_bytes, 300 << 20);
	job_free(&k);
	json_object_set_new(o, "workload", json_string("v"));
	assert_int_equal(job_from_json(&k, o, specs_of, &err), -1);
	assert_err(&err, EXIT_USAGE, "no workload \"v\"");
	job_free(&k);
	json_decref(o);
	job_free(&j);
}

static void fill_sample(struct sample *s)
{
	s->pass = 1;
	counters_set(&s->counters, "memcg.pgsteal", 38400);
	s->order_pages[4] = 49152;
	s->survivors = xstrdup("abc");
	strlist_add(&s->invalid, "too few");
}

static void job_of_cases_there_and_back(void **state)
{
	struct job j = { .fs = xstrdup("xfs"), .fs_bytes = 300 << 20 };
	struct job k = { 0 };
	struct err err = { 0 };
	struct job_case *c;
	json_t *o;

	strlist_add(&job_add_case(&j, "young", 30)->args, "-t");
	strlist_add(&j.cases[0].args, "one_young");
	job_add_case(&j, "mlock", 60);
	o = job_to_json(&j);
	/* A job of a workload says nothing of a mode. */
	assert_string_equal(json_string_value(json_object_get(o, "mode")),
			    "cases");
	assert_int_equal(job_from_json(&k, o, specs_of, &err), 0);
	assert_null(k.workload);
	assert_int_equal(k.n_cases, 2);
	assert_string_equal(k.cases[0].program, "young");
	assert_int_equal(k.cases[0].seconds, 30);
	assert_int_equal(k.cases[0].args.n, 2);
	assert_string_equal(k.cases[0].args.v[1], "one_young");
	assert_string_equal(k.cases[1].program, "mlock");
	job_free(&k);
	json_object_set_new(o, "mode", json_string("case"));
	assert_int_equal(job_from_json(&k, o, specs_of, &err), -1);
	assert_err(&err, EXIT_USAGE, "no mode \"case\"");
	err_clear(&err);
	job_free(&k);
	json_decref(o);
	/* What is not a plain name would be a path in the guest. */
	c = job_add_case(&j, "../init", 60);
	assert_false(job_case_name(c->program));
	o = job_to_json(&j);
	assert_int_equal(job_from_json(&k, o, specs_of, &err), -1);
	assert_err(&err, EXIT_USAGE, "no case \"../init\"");
	job_free(&k);
	json_decref(o);
	job_free(&j);
}

static void wire_of_cases_there_and_back(void **state)
{
	static const struct wire in[] = {
		{ .type = WIRE_CASE, .text = (char *)"young" },
		{ .type = WIRE_KTAP, .text = (char *)"ok 1 a \"#\" \\" },
		{ .type = WIRE_CASE_END, .code = WIRE_TIMEOUT },
		{ .type = WIRE_CASE_END, .code = WIRE_SIGNAL + 9,
		  .text = (char *)"kernel log: BUG" },
	};
	struct err err = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(in); i++) {
		char *line = wire_format(&in[i]);
		struct wire w;

		assert_int_equal(wire_parse(line, strlen(line), &w, &err), 0);
		assert_int_equal(w.type, in[i].type);
		assert_int_equal(w.code, in[i].code);
		if (in[i].text)
			assert_string_equal(w.text, in[i].text);
		else
			assert_null(w.text);
		wire_free(&w);
		free(line);
	}
}

static void wire_there_and_back(void **state)
{
	struct wire w = { .type = WIRE_SAMPLE }, v;
	struct err err = { 0 };
	char *line;

	fill_sample(&w.sample);
	line = wire_format(&w);
	assert_null(strchr(line, '\n'));
	assert_int_equal(wire_parse(line, strlen(line), &v, &err), 0);
	assert_int_equal(v.type, WIRE_SAMPLE);
	assert_int_equal(counters_value(&v.sample.counters, "memcg.pgsteal"), 38400);
	assert_int_equal(v.sample.order_pages[4], 49152);
	assert_string_equal(v.sample.survivors, "abc");
	assert_string_equal(v.sample.invalid.v[0], "too few");
	wire_free(&v);
	/* Every prefix of a line is not a line, and costs nothing. */
	for (size_t n = 0; n < strlen(line); n++) {
		err_clear(&err);
		assert_int_equal(wire_parse(line, n, &v, &err), -1);
		assert_int_equal(err.code, EXIT_RUN);
	}
	free(line);
	wire_free(&w);
	w = (struct wire){ .type = WIRE_ERROR, .text = xstrdup("a\377b"), .code = 3 };
	line = wire_format(&w);
	err_clear(&err);
	assert_int_equal(wire_parse(line, strlen(line), &v, &err), 0);
	assert_string_equal(v.text, "a?b");
	assert_int_equal(v.code, 3);
	wire_free(&v);
	free(line);
	wire_free(&w);
}

static void wire_refuses(void **state)
{
	static const char *const bad[] = {
		"", "null", "[]", "{}", "{\"type\":1}", "{\"type\":\"x\"}",
		"{\"type\":\"hello\",\"schema\":\"folab.wire/9\",\"text\":\"\"}",
		"{\"type\":\"done\"}", "{\"type\":\"done\",\"code\":\"1\"}",
		"{\"type\":\"sample\",\"sample\":[]}",
		"{\"type\":\"sample\",\"sample\":{\"pass\":0,\"counters\":{},\"order_pages\":{\"20\":1},\"survivors\":null,\"invalid\":[]}}",
		"{\"type\":\"sample\",\"sample\":{\"pass\":0,\"counters\":{},\"order_pages\":{\"4\":-1},\"survivors\":null,\"invalid\":[]}}",
		"{\"type\":\"sample\",\"sample\":{\"pass\":0,\"counters\":{},\"order_pages\":{},\"survivors\":null,\"invalid\":[1]}}",
		"{\"type\":\"case\"}", "{\"type\":\"ktap\",\"text\":null}",
		"{\"type\":\"ktap\",\"text\":\"\\u0000\"}",
		"{\"type\":\"case_end\",\"text\":null}",
		"{\"type\":\"done\",\"code\":1} x", "{\"type\":\"done\",\"code\":99999999999999999999}",
	};
	struct err err = { 0 };
	struct wire w;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		err_clear(&err);
		if (!wire_parse(bad[i], strlen(bad[i]), &w, &err))
			fail_msg("taken: %s", bad[i]);
		assert_int_equal(err.code, EXIT_RUN);
	}
}

static void profiles(void **state)
{
	struct profile a = { .windows = 1, .kernel_instructions = 100 }, b = { 0 };
	struct profile *w;
	struct err err = { 0 };
	char *dir = test_dir(), *path, *line, *two;
	json_t *o;
	size_t n;

	a.fn = xcalloc(2, sizeof(*a.fn));
	a.n_fn = 2;
	a.fn[0] = (struct profile_fn){ .name = xstrdup("f"), .self = 60, .calls = 1 };
	a.fn[1] = (struct profile_fn){ .name = xstrdup("g"), .inlined_in = xstrdup("f"),
				       .self = 40, .inclusive = 90 };
	profile_add(&b, &a);
	profile_add(&b, &a);
	assert_int_equal(b.windows, 2);
	assert_int_equal(b.kernel_instructions, 200);
	assert_int_equal(profile_find(&b, "f")->self, 120);
	assert_int_equal(profile_find(&b, "g")->inclusive, 180);
	assert_null(profile_find(&b, "h"));

	o = profile_to_json(&a);
	line = json_dumps(o, JSON_COMPACT);
	two = xasprintf("%s\n%s\n", line, line);
	path = test_file(dir, "profile", two);
	assert_int_equal(profile_read_windows(path, &w, &n, &err), 0);
	assert_int_equal(n, 2);
	assert_string_equal(w[1].fn[0].name, "f");
	assert_string_equal(w[1].fn[1].inlined_in, "f");
	for (size_t i = 0; i < n; i++)
		profile_free(&w[i]);
	free(w);
	free(path);
	two[strlen(two) - 2] = '\0';
	path = test_file(dir, "cut", two);
	assert_int_equal(profile_read_windows(path, &w, &n, &err), -1);
	assert_err(&err, EXIT_RUN, "middle of a line");
	free(path);
	free(two);
	free(line);
	json_decref(o);
	profile_free(&a);
	profile_free(&b);
	test_dir_remove(dir);
}

static void fill_result(struct result *r)
{
	r->scenario = xstrdup("reclaim-file");
	r->workload = xstrdup("w");
	r->clock = xstrdup("instructions");
	r->ns_per_instruction = 2;
	params_init(&r->params, specs);
	strlist_add(&r->wanted, "reclaim.pages");
	r->side[0].arch = r->side[1].arch = arch_find("arm64");
	r->side[1].series = xcalloc(1, sizeof(*r->side[1].series));
	r->side[1].n_series = 1;
	r->side[1].series[0] = (struct image_series){ xstrdup("s"), xstrdup("h"), NULL, 3 };
	r->trials = xcalloc(1, sizeof(*r->trials));
	r->n_trials = 1;
	r->trials[0].side = 'B';
	r->trials[0].seed = 5;
	r->trials[0].done = true;
	r->trials[0].samples = xcalloc(1, sizeof(struct sample));
	r->trials[0].n_samples = 1;
	fill_sample(&r->trials[0].samples[0]);
	r->rows = xcalloc(1, sizeof(*r->rows));
	r->n_rows = 1;
	r->rows[0] = (struct row){ .metric = xstrdup("reclaim.pages"), .a = 1.1, .b = 0.3,
				   .change_pct = NAN, .verdict = VERDICT_SAME };
	r->valid = true;
	r->alike = 4;
	r->alike_of = 5;
	strlist_add(&r->notes, "note");
	r->diffs = xcalloc(1, sizeof(*r->diffs));
	r->n_diffs = 1;
	r->diffs[0] = (struct decision_diff){ 3, xstrdup("pgscan 1 -> 2") };
}

/* What is read back writes the same bytes. */
static void result_there_and_back(void **state)
{
	char *dir = test_dir(), *again = test_dir(), *p, *q, *a, *b;
	static const char *const names[] = { "result.json", "profile-A.json",
					     "profile-B.json" };
	struct result r = { 0 }, s;
	struct err err = { 0 };

	fill_result(&r);
	assert_int_equal(result_write(dir, &r, &err), 0);
	assert_int_equal(result_read(dir, &s, &err), 0);
	assert_int_equal(s.alike, 4);
	assert_true(isnan(s.rows[0].change_pct));
	assert_int_equal(s.trials[0].side, 'B');
	assert_string_equal(params_find(&s.params, "size"), "192M");
	assert_int_equal(result_write(again, &s, &err), 0);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		p = xasprintf("%s/%s", dir, names[i]);
		q = xasprintf("%s/%s", again, names[i]);
		assert_int_equal(file_read(p, 1 << 20, &a, NULL, &err), 0);
		assert_int_equal(file_read(q, 1 << 20, &b, NULL, &err), 0);
		assert_string_equal(a, b);
		free(a);
		free(b);
		free(p);
		free(q);
	}
	result_free(&r);
	result_free(&s);
	test_dir_remove(dir);
	test_dir_remove(again);
}

/* Whatever stands in a directory: an error of one line, never a crash. */
static void result_refuses(void **state)
{
	char *dir = test_dir(), *path, *text, *bad, *at;
	struct result r = { 0 }, s;
	struct err err = { 0 };
	size_t len;

	assert_int_equal(result_read(dir, &s, &err), -1);
	assert_err(&err, EXIT_USAGE, "result.json");
	fill_result(&r);
	err_clear(&err);
	assert_int_equal(result_write(dir, &r, &err), 0);
	path = xasprintf("%s/result.json", dir);
	assert_int_equal(file_read(path, 1 << 20, &text, &len, &err), 0);
	bad = xmalloc(len + 1);
	/* Every key in turn loses its first letter. */
	for (size_t i = 0; i + 2 < len; i++) {
		if (text[i] != '"' || text[i + 1] < 'a' || text[i + 1] > 'z')
			continue;
		memcpy(bad, text, len);
		bad[i + 1] = '_';
		err_clear(&err);
		assert_int_equal(file_write(path, bad, len, &err), 0);
		if (result_read(dir, &s, &err))
			assert_int_equal(err.code, EXIT_USAGE);
		else
			result_free(&s);
	}
	/* A row without a metric is none. */
	at = strstr(text, "\"reclaim.pages\",");
	assert_non_null(at);
	memcpy(at, "null           ,", strlen("\"reclaim.pages\","));
	err_clear(&err);
	assert_int_equal(file_write(path, text, len, &err), 0);
	assert_int_equal(result_read(dir, &s, &err), -1);
	assert_err(&err, EXIT_USAGE, "row: no metric");
	free(bad);
	free(text);
	free(path);
	result_free(&r);
	test_dir_remove(dir);
}

static void architectures(void **state)
{
	assert_non_null(arch_find("arm64"));
	assert_null(arch_find("arm"));
	for (size_t i = 0; arch_at(i); i++)
		assert_ptr_equal(arch_find(arch_at(i)->name), arch_at(i));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counters),
		cmocka_unit_test(parameters),
		cmocka_unit_test(job_there_and_back),
		cmocka_unit_test(job_of_cases_there_and_back),
		cmocka_unit_test(wire_there_and_back),
		cmocka_unit_test(wire_of_cases_there_and_back),
		cmocka_unit_test(wire_refuses),
		cmocka_unit_test(profiles),
		cmocka_unit_test(result_there_and_back),
		cmocka_unit_test(result_refuses),
		cmocka_unit_test(architectures),
	};

	return cmocka_run_group_tests_name("record", tests, NULL, NULL);
}
