/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The forms of a report behind their names, and the text's outline.
 */
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "sections.h"

bool on_real_clock(const struct result *r)
{
	return r->clock && !strcmp(r->clock, "real");
}

void format_p(char *buf, size_t len, double p)
{
	char digits[32];

	if (!(p >= 0.0001)) {
		snprintf(buf, len, "< .0001");
	} else if (p >= 0.995) {
		snprintf(buf, len, "1");
	} else {
		/* Two digits that count, without the 0 before the point. */
		snprintf(digits, sizeof(digits), "%.*f",
			 p >= 0.1 ? 2 : p >= 0.01 ? 3 : 4, p);
		snprintf(buf, len, "%s", digits + 1);
	}
}

static void both_sides(struct lines *l, const struct result *r)
{
	section_title(l, r);
	section_invalid(l, r);
	section_broken(l, r);
	section_sides(l, r);
	section_rows(l, r, 'B');
	section_verdict(l, r, 'B');
	section_further(l, r);
	section_variants(l, r);
	section_two_by_two(l, r);
	section_functions(l, r);
	section_facts(l, r);
	section_footnotes(l, r);
	section_tail(l, r);
}

char *report_text(const struct result *r)
{
	/* Decimal points, whatever the user's locale: same result, same bytes. */
	locale_t c = newlocale(LC_ALL_MASK, "C", NULL), before = uselocale(c);
	struct lines l = { 0 };
	char *text;

	if (r->tune)
		tune_text(&l, r);
	else if (result_one_sided(r))
		single_text(&l, r);
	else
		both_sides(&l, r);
	text = r->tune ? lines_join_all(&l) : lines_join(&l);

	uselocale(before);
	if (c)
		freelocale(c);
	return text;
}

/* The bytes of result.json, as js_write() puts them. */
static char *report_json(const struct result *r)
{
	json_t *o = result_to_json(r);
	char *dump = json_dumps(o, JSON_INDENT(2) | JSON_SORT_KEYS), *text;

	json_decref(o);
	if (!dump)
		return xstrdup("");
	text = xasprintf("%s\n", dump);
	free(dump);
	return text;
}

report_fn report_format(const char *name)
{
	static const struct {
		const char *name;
		report_fn fn;
	} formats[] = {
		{ "text", report_text },
		{ "json", report_json },
		{ "html", report_html },
		{ "ktap", report_ktap },
		{ "junit", report_junit },
	};

	for (size_t i = 0; i < ARRAY_SIZE(formats); i++)
		if (!strcmp(formats[i].name, name))
			return formats[i].fn;
	return NULL;
}
