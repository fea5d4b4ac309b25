/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The report as one page.  It refers to nothing outside of itself, has no
 * script, and follows the reader's choice of light or dark.
 */
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sections.h"

#define HASH_SHOWN	12

static const char style[] =
":root{--bg:#fff;--fg:#1a1d21;--dim:#5a626c;--line:#d8dde3;--box:#f5f7f9;"
"--a:#0072b2;--b:#c85a00;--bad:#b3261e;--c2:#007a5a;--c3:#9a4d8a;--c4:#7a6a00;--c5:#3d6f9e;color-scheme:light dark}\n"
"@media(prefers-color-scheme:dark){:root{--bg:#15181c;--fg:#e4e7ea;--dim:#9aa4af;"
"--line:#343b43;--box:#1e2329;--a:#56b4e9;--b:#f0973d;--bad:#ff8a80;--c2:#3ecf9f;--c3:#dd8fcd;--c4:#d4c24a;--c5:#8fb8e0}}\n"
"*{box-sizing:border-box}body{margin:0;background:var(--bg);color:var(--fg);font:15px/1.5 system-ui,sans-serif}\n"
"main{max-width:62rem;margin:0 auto;padding:1.2rem}h1{font-size:1.35rem;line-height:1.3;margin:0 0 .3rem}\n"
"h2{font-size:1.1rem;margin:2.2rem 0 .5rem}h3{font-size:.95rem;margin:1.3rem 0 .4rem;font-weight:600}\n"
"p{margin:.4rem 0}.dim{color:var(--dim);overflow-wrap:anywhere}.verdict{border-left:4px solid var(--a);background:var(--box);padding:.6rem .9rem;margin:1rem 0}\n"
".verdict.bad{border-color:var(--bad)}.verdict p{margin:.15rem 0}.wide{overflow-x:auto}\n"
"table{border-collapse:collapse;font-variant-numeric:tabular-nums}th{font-weight:600;text-align:right;color:var(--dim);font-size:.85rem}\n"
"th,td{padding:.22rem .6rem;border-bottom:1px solid var(--line);vertical-align:middle}td{text-align:right;white-space:nowrap}\n"
"th:first-child,td:first-child{text-align:left}table.rows{width:100%}.word{text-align:left}.slower{color:var(--bad);font-weight:600}.faster{font-weight:600}\n"
"table.bars{width:100%;table-layout:fixed;min-width:34rem}.bars th{text-align:left}.bars th.left{text-align:right}.bars td{border:0;padding:.1rem .4rem}\n"
".bars .fn{text-align:center;font-family:ui-monospace,monospace;font-size:.8rem;white-space:normal;overflow-wrap:anywhere}.bars th:nth-child(2){text-align:center}\n"
".bars td.bar{text-align:left}.bars td.bar.left{direction:rtl;text-align:right}.bar .fill{display:inline-block;height:.8rem;max-width:66%;vertical-align:middle;border-radius:2px}\n"
".bar .num{direction:ltr;unicode-bidi:isolate;font-size:.8rem;padding:0 .4rem}.fill.s0{background:var(--a)}.fill.s1{background:var(--b)}.fill.less{background:var(--c2)}.fill.more{background:var(--bad)}\n"
"figure{margin:1rem 0;max-width:34rem}figcaption{font-size:.9rem}svg{display:block;width:100%;height:auto}.dot{fill-opacity:.45}.dot.s0{fill:var(--a)}.dot.s1{fill:var(--b)}\n"
".mark{stroke:var(--fg);stroke-width:2}.lane,.tick{fill:var(--dim);font-size:11px}.scale{display:flex;justify-content:space-between;color:var(--dim);font-size:.8rem;padding-left:1rem}\n"
".curves{max-width:46rem;min-width:30rem}.grid{stroke:var(--line)}.curve{fill:none;stroke-width:2}.key{display:inline-block;width:.9rem;height:.25rem;vertical-align:middle;margin-right:.3rem}.legend span{margin-right:1rem}\n"
".c0{stroke:var(--a)}.c1{stroke:var(--b)}.c2{stroke:var(--c2)}.c3{stroke:var(--c3)}.c4{stroke:var(--c4)}.c5{stroke:var(--c5)}\n"
".key.c0{background:var(--a)}.key.c1{background:var(--b)}.key.c2{background:var(--c2)}.key.c3{background:var(--c3)}.key.c4{background:var(--c4)}.key.c5{background:var(--c5)}\n"
"table.facts{width:100%}.facts td{white-space:normal;text-align:left;overflow-wrap:anywhere;vertical-align:top}.facts th{text-align:left;white-space:nowrap;vertical-align:top}\n"
"pre{overflow-x:auto;background:var(--box);padding:.8rem;font-size:.8rem;line-height:1.4}ul{padding-left:1.2rem}summary{cursor:pointer;font-weight:600;margin-top:.8rem}\n"
"@media print{main{max-width:none}details{display:none}}\n";

/* ---- the top ------------------------------------------------------------------------ */

static void put_params(FILE *to, const struct params *p)
{
	char *line = params_line(p);

	fputs("<p class=\"dim\">", to);
	html_text(to, line);
	fputs("</p>\n", to);
	free(line);
}

/* The words of the text. */
static void put_verdict(FILE *to, const struct result *r)
{
	struct lines l = { 0 };

	if (r->valid && !result_one_sided(r)) {
		section_verdict(&l, r, 'B');
		section_further_words(&l, r);
		if (r->n_variants)
			section_variants_words(&l, r);
		/* In the text it is a note, which says what could be seen. */
		if (!l.n)
			lines_add(&l, RANK_KEEP, "no difference proven");
	}
	if (!r->valid) {
		fputs("<div class=\"verdict bad\"><p><strong>INVALID: this run claims nothing, because</strong></p><ul>\n",
		      to);
		for (size_t i = 0; i < r->reasons.n; i++) {
			fputs("<li>", to);
			html_text(to, r->reasons.v[i]);
			fputs("</li>\n", to);
		}
		fputs("</ul></div>\n", to);
	} else if (l.n) {
		fputs("<div class=\"verdict\">", to);
		for (size_t i = 0; i < l.n; i++) {
			fputs(l.v[i].continues ? " " : i ? "</p><p>" : "<p>",
			      to);
			html_text(to, l.v[i].text + (l.v[i].continues ?
				strspn(l.v[i].text, " ") : 0));
		}
		fputs("</p></div>\n", to);
	}
	free(lines_join_all(&l));
}

/* ---- tables of rows --------------------------------------------------------------------- */

static void put_value(FILE *to, const struct metric *m, double value)
{
	char text[32];

	format_value(text, sizeof(text), metric_shown(m, value),
		     m ? m->digits : 1);
	fprintf(to, "<td>%s</td>", text);
}

static void put_spread(FILE *to, double pct)
{
	if (isfinite(pct))
		fprintf(to, "<td class=\"dim\">&#177;%.1f%%</td>", pct);
	else
		fputs("<td></td>", to);
}

static void put_change(FILE *to, const struct result *r, const struct row *row)
{
	char p[32], low[32], high[32];

	if (!r->valid || !isfinite(row->change_pct)) {
		fputs("<td>-</td><td>-</td>", to);
		if (on_real_clock(r))
			fputs("<td>-</td>", to);
		return;
	}
	format_pct(low, sizeof(low), row->change_pct, true);
	fputs("<td>", to);
	html_text(to, low);
	fputs(" %</td><td>", to);
	format_pct(low, sizeof(low), row->low_pct, true);
	format_pct(high, sizeof(high), row->high_pct, true);
	html_text(to, low);
	fputs("..", to);
	html_text(to, high);
	fputs("</td>", to);
	if (on_real_clock(r)) {
		format_p(p, sizeof(p), row->p);
		fputs("<td>", to);
		html_text(to, row->has_p ? p : "-");
		fputs("</td>", to);
	}
}

static void put_row(FILE *to, const struct result *r, const struct row *row)
{
	const struct metric *m = metric_find(row->metric);
	const char *word = row->verdict == VERDICT_NONE ? "" :
		verdict_name(row->verdict);

	fputs("<tr><td>", to);
	if (metric_share(row->metric))
		fputs("share of ", to);
	html_text(to, row_title(row));
	fputs("</td>", to);
	put_value(to, m, row->a);
	put_spread(to, row->a_stdev_pct);
	if (!result_one_sided(r)) {
		put_value(to, m, row->b);
		put_spread(to, row->b_stdev_pct);
		put_change(to, r, row);
		fprintf(to, "<td class=\"word %s\">%s</td>",
			row->verdict == VERDICT_SLOWER ? "slower" :
			row->verdict == VERDICT_FASTER ? "faster" : "", word);
	}
	fputs("</tr>\n", to);
}

static void put_rows(FILE *to, const struct result *r, char side)
{
	bool real = on_real_clock(r);

	if (!r->n_rows)
		return;
	fprintf(to, "<div class=\"wide\"><table class=\"rows\"><thead><tr><th>%s</th><th>A</th><th></th>",
		result_one_sided(r) ? "" : real ? "mean of boots&#8217; medians" :
		"medians");
	if (!result_one_sided(r))
		fprintf(to, "<th>%c</th><th></th><th>change</th><th>%s</th>%s<th class=\"word\"></th>",
			side, real ? "95 % interval" : "range over the seeds",
			real ? "<th>p</th>" : "");
	fputs("</tr></thead><tbody>\n", to);
	for (size_t i = 0; i < r->n_rows; i++)
		put_row(to, r, &r->rows[i]);
	fputs("</tbody></table></div>\n", to);
}

static void put_samples(FILE *to, const struct result *r, char side)
{
	bool any = false;

	for (size_t i = 0; i < r->n_rows; i++) {
		const struct metric *m = metric_find(r->rows[i].metric);

		/* Shares are of whole boots. */
		if (!m || !m->better || metric_share(m->name))
			continue;
		if (!any)
			fputs("<h2>Samples</h2><p class=\"dim\">A dot a pass; the line is what the table has.</p>\n",
			      to);
		any = true;
		fputs("<figure><figcaption>", to);
		html_text(to, m->title);
		fputs("</figcaption>", to);
		html_samples(to, r, &r->rows[i], m, side);
		fputs("</figure>\n", to);
	}
}

static void put_further(FILE *to, const struct result *r)
{
	for (size_t i = 0; i < r->n_further; i++) {
		struct result v = further_view(r, &r->further[i]);

		fprintf(to, "<h2>%c against A</h2>\n", r->further[i].side);
		for (size_t k = 0; k < v.reasons.n && !v.valid; k++) {
			fputs("<p class=\"slower\">INVALID: ", to);
			html_text(to, v.reasons.v[k]);
			fputs("</p>\n", to);
		}
		put_rows(to, &v, r->further[i].side);
		put_samples(to, &v, r->further[i].side);
		free(v.trials);
	}
}

static void put_variants(FILE *to, const struct result *r)
{
	for (size_t i = 0; i < r->n_variants; i++) {
		const struct result *v = r->variants[i].r;

		fputs("<details><summary>Row ", to);
		html_text(to, r->variants[i].name);
		fputs("</summary>\n", to);
		for (size_t k = 0; k < v->reasons.n && !v->valid; k++) {
			fputs("<p class=\"slower\">INVALID: ", to);
			html_text(to, v->reasons.v[k]);
			fputs("</p>\n", to);
		}
		put_rows(to, v, 'B');
		fputs("</details>\n", to);
	}
}

/* ---- the rest ---------------------------------------------------------------------------- */

static void put_fact(FILE *to, const char *name, const char *text)
{
	if (!text || !*text)
		return;
	fprintf(to, "<tr><th>%s</th><td>", name);
	html_text(to, text);
	fputs("</td></tr>\n", to);
}

static void put_side(FILE *to, const struct image *im, char side)
{
	char name[40], *text, *hash;

	if (!im->spec)
		return;
	snprintf(name, sizeof(name), "kernel %c", side);
	text = xasprintf("%s%s%s%s", im->spec, im->release ? " (" : "",
			 im->release ? im->release : "",
			 im->release ? ")" : "");
	put_fact(to, name, text);
	free(text);
	put_fact(to, "base", im->base);
	put_fact(to, "compiler", im->compiler);
	hash = clean_start(im->config_hash, "", HASH_SHOWN);
	put_fact(to, "config", hash);
	free(hash);
	for (size_t i = 0; i < im->n_series; i++) {
		hash = clean_start(im->series[i].hash, "", HASH_SHOWN);
		text = xasprintf("%s %s, %" PRId64 " patches",
				 im->series[i].name, hash,
				 im->series[i].patches);
		put_fact(to, "series", text);
		free(text);
		free(hash);
	}
}

static void put_provenance(FILE *to, const struct result *r)
{
	fputs("<h2>Provenance</h2><table class=\"facts\"><tbody>\n", to);
	put_side(to, &r->side[0], 'A');
	if (!result_one_sided(r))
		put_side(to, &r->side[1], 'B');
	for (size_t i = 0; i < r->n_further; i++)
		put_side(to, &r->further[i].image, r->further[i].side);
	put_fact(to, "machine", r->machine);
	put_fact(to, "settings", r->machine_args);
	put_fact(to, "file system", r->fs);
	put_fact(to, "command line", r->cmdline);
	put_fact(to, "again", r->command);
	put_fact(to, "folab", r->folab_version);
	fputs("</tbody></table>\n", to);
}

static void put_notes(FILE *to, const struct result *r)
{
	if (r->alike_of)
		fprintf(to, "<p>The two kernels decided alike with %" PRId64 " of %" PRId64 " seeds.</p>\n",
			r->alike, r->alike_of);
	if (!r->notes.n && !r->n_diffs)
		return;
	fputs("<h2>Notes</h2><ul>\n", to);
	for (size_t i = 0; i < r->n_diffs; i++) {
		fprintf(to, "<li>seed %" PRId64 " decided otherwise: ",
			r->diffs[i].seed);
		html_text(to, r->diffs[i].text);
		fputs("</li>\n", to);
	}
	for (size_t i = 0; i < r->notes.n; i++) {
		fputs("<li>", to);
		html_text(to, r->notes.v[i]);
		fputs("</li>\n", to);
	}
	fputs("</ul>\n", to);
}

static void put_text(FILE *to, const struct result *r)
{
	char *text = report_text(r), *line, *save;

	fputs("<details><summary>The text for a posting</summary><pre>", to);
	/* Line by line: a line feed is none of the characters that print. */
	for (line = strtok_r(text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		html_text(to, line);
		fputc('\n', to);
	}
	fputs("</pre></details>\n", to);
	free(text);
}

/* What the text has, as it has it. */
static void put_lines(FILE *to, const struct result *r, const char *title,
		      void (*section)(struct lines *l, const struct result *r))
{
	struct lines l = { 0 };

	section(&l, r);
	if (l.n)
		fprintf(to, "<h2>%s</h2><pre>", title);
	for (size_t i = 0; i < l.n; i++) {
		html_text(to, l.v[i].text);
		fputc('\n', to);
	}
	if (l.n)
		fputs("</pre>\n", to);
	free(lines_join_all(&l));
}

static void put_page(FILE *to, const struct result *r)
{
	const struct arch *arch = r->side[0].arch;
	const char *machine = arch ? arch->name : "an unknown architecture";

	fputs("<!DOCTYPE html>\n<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\"><head><meta charset=\"utf-8\"/><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/><title>",
	      to);
	html_text(to, r->scenario ? r->scenario : "unnamed");
	fprintf(to, " on %s</title>\n<style>%s</style></head><body><main>\n<h1>",
		machine, style);
	html_text(to, r->scenario ? r->scenario : "unnamed");
	fprintf(to, " on %s", machine);
	if (r->summary && *r->summary)
		fputs(": ", to);
	html_text(to, r->summary);
	fputs("</h1>\n", to);
	put_params(to, &r->params);
	put_verdict(to, r);
	put_lines(to, r, "Selftests that B breaks", section_broken);
	put_rows(to, r, 'B');
	put_lines(to, r, "Two by two", section_two_by_two);
	put_further(to, r);
	put_lines(to, r, "Rows", section_variants);
	put_variants(to, r);
	if (!on_real_clock(r))
		fputs("<p class=\"dim\">Instructions on the emulator&#8217;s clock are not time on hardware.</p>\n",
		      to);
	put_notes(to, r);
	put_lines(to, r, "Selftests", section_selftests);
	html_chunks(to, r);
	html_functions(to, r);
	put_samples(to, r, 'B');
	html_orders(to, r);
	put_provenance(to, r);
	put_text(to, r);
	fputs("</main></body></html>\n", to);
}

char *report_html(const struct result *r)
{
	/* Decimal points, whatever the user's locale: same result, same bytes. */
	locale_t c = newlocale(LC_ALL_MASK, "C", NULL), before = uselocale(c);
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);

	if (!to)
		abort();	/* out of memory */
	put_page(to, r);
	fclose(to);
	uselocale(before);
	if (c)
		freelocale(c);
	return text;
}
