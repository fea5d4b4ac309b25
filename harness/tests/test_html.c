/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The page: whatever a result holds, it is well-formed, needs nothing from
 * outside, and an invalid run claims nothing on it.
 */
#include <math.h>

#include "fake_result.h"

#include "../analyse/analyse.h"
#include "../report/report.h"
#include "check.h"

/* Tags open and close in order, and text has no markup of its own. */
static void assert_well_formed(const char *page)
{
	char open[64][16];
	size_t depth = 0;
	const char *at = strstr(page, "<html");

	assert_non_null(at);
	while ((at = strchr(at, '<'))) {
		const char *end = strchr(at, '>');
		char name[16];
		size_t len;

		assert_non_null(end);
		len = strcspn(at + 1 + (at[1] == '/'), " />");
		assert_true(len > 0 && len < sizeof(name));
		memcpy(name, at + 1 + (at[1] == '/'), len);
		name[len] = '\0';
		if (at[1] == '/') {
			assert_true(depth > 0);
			assert_string_equal(open[--depth], name);
		} else if (end[-1] != '/') {
			assert_true(depth < 64);
			strcpy(open[depth++], name);
		}
		at = end;
	}
	assert_int_equal(depth, 0);
	for (at = page; (at = strchr(at, '&')); at++)
		assert_true(strcspn(at, ";") < 8);
}

static char *page_of(const struct result *r)
{
	char *page = report_html(r), *again = report_html(r);

	assert_string_equal(page, again);
	free(again);
	assert_well_formed(page);
	/* Nothing is fetched. */
	assert_null(strstr(page, "src="));
	assert_null(strstr(page, "href="));
	assert_null(strstr(page, "url("));
	assert_null(strstr(page, "<script"));
	assert_null(strstr(page, ">nan"));
	assert_null(strstr(page, ":nan"));
	assert_null(strstr(page, "\"nan"));
	assert_null(strstr(page, "inf%"));
	return page;
}

static void assert_has(const char *page, const char *part)
{
	if (!strstr(page, part))
		fail_msg("the page lacks \"%s\"", part);
}

static void a_run_is_told(void **state)
{
	struct result r;
	char *page;

	fake_result(&r, 5);
	analyse(&r);
	assert_true(r.valid);
	page = page_of(&r);
	assert_has(page, "B is faster: instructions/page");
	assert_has(page, "decided alike with 5 of 5 seeds");
	for (size_t i = 0; i < r.n_rows; i++) {
		const struct metric *m = metric_find(r.rows[i].metric);
		const char *share = metric_share(r.rows[i].metric);

		assert_has(page, share ? share : m->title);
	}
	assert_has(page, "class=\"dot s1\"");
	assert_has(page, "What changed: own instructions per page");
	assert_has(page, ">contpte_ptep_get<");
	assert_has(page, "Pages by folio order");
	assert_has(page, "The text for a posting");
	free(page);
	result_free(&r);
}

static void nothing_is_markup(void **state)
{
	struct result r;
	char *page;

	fake_result(&r, 5);
	free(r.summary);
	r.summary = xstrdup("<script>alert(1)</script> & \"more\"");
	free(r.cmdline);
	r.cmdline = xstrdup("a=<b> ]]> &amp;");
	for (int s = 0; s < 2; s++)
		for (size_t k = 0; k < r.n_trials; k++) {
			struct profile *p = &r.trials[k].profile;

			if (p->n_fn) {
				free(p->fn[0].name);
				p->fn[0].name = xstrdup("f<int>&");
			}
		}
	analyse(&r);
	page = page_of(&r);
	assert_has(page, "&lt;script&gt;alert(1)&lt;/script&gt; &amp; &quot;more&quot;");
	assert_has(page, "a=&lt;b&gt; ]]&gt; &amp;amp;");
	assert_has(page, "f&lt;int&gt;&amp;");
	free(page);
	result_free(&r);
}

static void an_invalid_run_claims_nothing(void **state)
{
	struct result r;
	char *page;

	fake_result(&r, 5);
	fake_set(&r, 'B', "events.oom", 1);
	analyse(&r);
	assert_false(r.valid);
	page = page_of(&r);
	assert_has(page, "INVALID: this run claims nothing");
	assert_has(page, "times out of memory");
	assert_null(strstr(page, "faster</td>"));
	assert_null(strstr(page, "What changed"));
	assert_null(strstr(page, "-58."));
	free(page);
	result_free(&r);
}

static void odd_results_have_pages(void **state)
{
	struct result r, empty = { 0 };
	struct variant *v;
	char *page;

	page = page_of(&empty);
	free(page);
	/* One seed, no profile, a row that failed, a value beyond measure. */
	fake_result(&r, 1);
	for (size_t k = 0; k < r.n_trials; k++)
		profile_free(&r.trials[k].profile);
	v = variant_add(&r, "<16> mappers");
	fake_result(v->r, 2);
	free(v->r->trials[0].failed);
	v->r->trials[0].failed = xstrdup("panic: <0>");
	analyse(&r);
	r.rows[0].a = 1e300;
	r.rows[0].b = NAN;
	r.rows[0].low_pct = -INFINITY;
	page = page_of(&r);
	assert_has(page, "&lt;16&gt; mappers");
	assert_has(page, "panic: &lt;0&gt;");
	free(page);
	result_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_run_is_told),
		cmocka_unit_test(nothing_is_markup),
		cmocka_unit_test(an_invalid_run_claims_nothing),
		cmocka_unit_test(odd_results_have_pages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
