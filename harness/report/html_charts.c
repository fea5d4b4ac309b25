/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Charts of the page.  They are drawn here and not by gnuplot: its colours are
 * fixed, and a page has to be read on light and dark.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sections.h"

#define FUNCTIONS_SHOWN	20
#define LANE_WIDTH	460.0	/* of a strip of dots, in its own units */
#define LANE_LEFT	14.0
#define LANE_HEIGHT	15.0
#define CURVE_WIDTH	560.0
#define CURVE_HEIGHT	220.0
#define CURVE_LEFT	44.0
#define CURVE_BOTTOM	24.0
#define COLOURS		6	/* of curves, in the style sheet */

void html_text(FILE *to, const char *text)
{
	char *clean = clean_text(text, "");

	for (const char *c = clean; *c; c++) {
		switch (*c) {
		case '&': fputs("&amp;", to); break;
		case '<': fputs("&lt;", to); break;
		case '>': fputs("&gt;", to); break;
		case '"': fputs("&quot;", to); break;
		default: fputc(*c, to);
		}
	}
	free(clean);
}

/* ---- samples ------------------------------------------------------------------- */

struct dots {
	double *v;
	size_t n;
};

static void collect(struct dots *d, const struct result *r, char side,
		    const struct metric *m)
{
	*d = (struct dots){ 0 };
	for (size_t i = 0; i < r->n_trials; i++) {
		const struct trial *t = &r->trials[i];

		if (t->side != side || !t->done || t->failed)
			continue;
		/* The first pass of several is warm-up. */
		for (size_t k = t->n_samples > 1; k < t->n_samples; k++) {
			double v;

			if (!metric_value(m, r, t, &t->samples[k], &v) ||
			    !isfinite(v))
				continue;
			d->v = xrealloc(d->v, d->n + 1, sizeof(*d->v));
			d->v[d->n++] = v;
		}
	}
}

static void lane(FILE *to, const struct dots *d, double mark, int s, double min,
		 double max, char name)
{
	double y = LANE_HEIGHT * (s + 0.5), scale = LANE_WIDTH / (max - min);

	fprintf(to, "<text class=\"lane\" x=\"0\" y=\"%.1f\">%c</text>", y + 4,
		name);
	for (size_t i = 0; i < d->n; i++)
		fprintf(to, "<circle class=\"dot s%d\" cx=\"%.1f\" cy=\"%.1f\" r=\"3\"/>",
			s, LANE_LEFT + (d->v[i] - min) * scale, y);
	if (isfinite(mark))
		fprintf(to, "<path class=\"mark\" d=\"M%.1f %.1fv%.1f\"/>",
			LANE_LEFT + (mark - min) * scale, y - 6, 12.0);
}

void html_samples(FILE *to, const struct result *r, const struct row *row,
		  const struct metric *m, char side)
{
	bool one = result_one_sided(r);
	double mark[2] = { row->a, row->b }, min = INFINITY, max = -INFINITY;
	struct dots d[2] = { { 0 } };
	char low[32], high[32];

	for (int s = 0; s < (one ? 1 : 2); s++) {
		collect(&d[s], r, 'A' + s, m);
		for (size_t i = 0; i < d[s].n; i++) {
			min = fmin(min, d[s].v[i]);
			max = fmax(max, d[s].v[i]);
		}
		if (d[s].n && isfinite(mark[s])) {
			min = fmin(min, mark[s]);
			max = fmax(max, mark[s]);
		}
	}
	if (d[0].n && max > min) {
		double room = (max - min) * 0.02;

		format_value(low, sizeof(low), metric_shown(m, min), m->digits);
		format_value(high, sizeof(high), metric_shown(m, max),
			     m->digits);
		fprintf(to, "<svg class=\"strip\" viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"samples from %s to %s\">",
			LANE_LEFT + LANE_WIDTH + 4, LANE_HEIGHT * (one ? 1 : 2),
			low, high);
		for (int s = 0; s < (one ? 1 : 2); s++)
			lane(to, &d[s], mark[s], s, min - room, max + room,
			     s ? side : 'A');
		fprintf(to, "</svg><span class=\"scale\"><span>%s</span><span>%s</span></span>\n",
			low, high);
	}
	free(d[0].v);
	free(d[1].v);
}

/* ---- functions -------------------------------------------------------------------- */

/* A bar of @part of the widest; @left: it grows to the left. */
static void bar(FILE *to, double part, const char *colour, bool left,
		double value)
{
	char text[32];

	format_value(text, sizeof(text), value, 1);
	fprintf(to, "<td class=\"bar%s\"><span class=\"fill %s\" style=\"width:%.1f%%\"></span><span class=\"num\">%s</span></td>",
		left ? " left" : "", colour, fmax(part * 100, 0), text);
}

static int by_largest(const void *va, const void *vb)
{
	const struct function_cost *a = va, *b = vb;
	double of_a = fmax(a->self[0], a->self[1]);
	double of_b = fmax(b->self[0], b->self[1]);

	if (of_a != of_b)
		return of_a < of_b ? 1 : -1;
	return strcmp(a->name, b->name);
}

static void mirrored(FILE *to, struct function_cost *v, size_t n,
		     const char *unit)
{
	double most;

	qsort(v, n, sizeof(*v), by_largest);
	most = n ? fmax(v[0].self[0], v[0].self[1]) : 0;
	if (!(most > 0))
		return;
	fprintf(to, "<h3>Where they go: own %s</h3><div class=\"wide\"><table class=\"bars\"><thead><tr><th class=\"left\">A</th><th>function</th><th>B</th></tr></thead><tbody>\n",
		unit);
	for (size_t i = 0; i < n && i < FUNCTIONS_SHOWN; i++) {
		fputs("<tr>", to);
		bar(to, v[i].self[0] / most, "s0", true, v[i].self[0]);
		fputs("<td class=\"fn\">", to);
		html_text(to, v[i].name);
		fputs("</td>", to);
		bar(to, v[i].self[1] / most, "s1", false, v[i].self[1]);
		fputs("</tr>\n", to);
	}
	fputs("</tbody></table></div>\n", to);
}

static void differences(FILE *to, const struct function_cost *v, size_t n,
			const char *unit)
{
	double most = n ? fabs(v[0].self[1] - v[0].self[0]) : 0;

	if (!(most > 0))
		return;
	fprintf(to, "<h3>What changed: own %s, B - A</h3><div class=\"wide\"><table class=\"bars\"><thead><tr><th class=\"left\">less</th><th>function</th><th>more</th></tr></thead><tbody>\n",
		unit);
	for (size_t i = 0; i < n && i < FUNCTIONS_SHOWN; i++) {
		double d = v[i].self[1] - v[i].self[0];

		if (fabs(d) < most / 1000)
			break;
		fputs("<tr>", to);
		if (d < 0)
			bar(to, -d / most, "less", true, d);
		else
			fputs("<td></td>", to);
		fputs("<td class=\"fn\">", to);
		html_text(to, v[i].name);
		fputs("</td>", to);
		if (d > 0)
			bar(to, d / most, "more", false, d);
		else
			fputs("<td></td>", to);
		fputs("</tr>\n", to);
	}
	fputs("</tbody></table></div>\n", to);
}

/* Of one side: samples. */
static void shares(FILE *to, const struct profile *p)
{
	double all = p->kernel_instructions;

	if (!(all > 0) || !p->n_fn)
		return;
	fputs("<h2>Functions</h2><div class=\"wide\"><table class=\"bars\"><thead><tr><th>function</th><th>own, % of the samples</th></tr></thead><tbody>\n",
	      to);
	for (size_t i = 0; i < p->n_fn && i < FUNCTIONS_SHOWN; i++) {
		fputs("<tr><td class=\"fn\">", to);
		html_text(to, p->fn[i].name);
		fputs("</td>", to);
		bar(to, p->fn[i].self / fmax(p->fn[0].self, 1), "s0", false,
		    p->fn[i].self / all * 100);
		fputs("</tr>\n", to);
	}
	fputs("</tbody></table></div>\n", to);
}

void html_functions(FILE *to, const struct result *r)
{
	const char *unit = on_real_clock(r) ? "% of the samples" :
		"instructions per page";
	struct function_cost *v;
	size_t n;

	if (result_one_sided(r)) {
		shares(to, &r->profile[0]);
		return;
	}
	v = functions_of(r, &n);
	if (n) {
		fputs("<h2>Functions</h2>\n", to);
		differences(to, v, n, unit);
		mirrored(to, v, n, unit);
	}
	free(v);
}

/* ---- folio orders --------------------------------------------------------------------- */

static double order_pages(const struct result *r, char side, int order)
{
	double pages = 0;

	for (size_t i = 0; i < r->n_trials; i++)
		for (size_t k = 0; r->trials[i].side == side &&
		     k < r->trials[i].n_samples; k++)
			pages += r->trials[i].samples[k].order_pages[order];
	return pages;
}

void html_orders(FILE *to, const struct result *r)
{
	int sides = result_one_sided(r) ? 1 : 2;
	double all[2] = { 0 };

	for (int s = 0; s < sides; s++)
		for (int o = 0; o < MAX_ORDER_SEEN; o++)
			all[s] += order_pages(r, 'A' + s, o);
	if (!(all[0] > 0))
		return;
	fprintf(to, "<h2>Pages by folio order, %%</h2><div class=\"wide\"><table class=\"bars\"><thead><tr><th class=\"left\">A</th><th>order</th>%s</tr></thead><tbody>\n",
		sides > 1 ? "<th>B</th>" : "");
	for (int o = 0; o < MAX_ORDER_SEEN; o++) {
		double part[2] = { 0 };

		for (int s = 0; s < sides; s++)
			part[s] = all[s] > 0 ?
				order_pages(r, 'A' + s, o) / all[s] : 0;
		if (!part[0] && !part[1])
			continue;
		fputs("<tr>", to);
		bar(to, part[0], "s0", true, part[0] * 100);
		fprintf(to, "<td class=\"fn\">%d</td>", o);
		if (sides > 1)
			bar(to, part[1], "s1", false, part[1] * 100);
		fputs("</tr>\n", to);
	}
	fputs("</tbody></table></div>\n", to);
}

/* ---- clear-chunk ------------------------------------------------------------------------ */

static void curve(FILE *to, const struct chunk_method *m, size_t i, double first,
		  double last, double most)
{
	bool drawn = false;

	fprintf(to, "<path class=\"curve c%zu\" d=\"", i % COLOURS);
	for (size_t k = 0; k < m->n; k++) {
		double x, y;

		if (!isfinite(m->cell[k].rate))
			continue;
		x = CURVE_LEFT + (log2((double)m->cell[k].chunk) - first) /
			(last - first) * CURVE_WIDTH;
		y = CURVE_HEIGHT * (1 - m->cell[k].rate / most) + 8;
		fprintf(to, "%c%.1f %.1f", drawn ? 'L' : 'M', x, y);
		drawn = true;
	}
	fputs("\"/>\n", to);
}

/* Of the first method: all have the same chunks. */
static void ticks(FILE *to, const struct chunk_method *m, double first,
		  double last, double most)
{
	char text[32];

	for (size_t k = 0; k < m->n; k += 1 + m->n / 9) {
		format_size_short(m->cell[k].chunk, text, sizeof(text));
		fprintf(to, "<text class=\"tick\" text-anchor=\"middle\" x=\"%.1f\" y=\"%.1f\">%s</text>",
			CURVE_LEFT + (log2((double)m->cell[k].chunk) - first) /
			(last - first) * CURVE_WIDTH, CURVE_HEIGHT + 24, text);
	}
	for (int k = 0; k <= 4; k++) {
		double y = CURVE_HEIGHT * (1 - k / 4.) + 8;

		format_rate(text, sizeof(text), most * k / 4);
		fprintf(to, "<path class=\"grid\" d=\"M%.1f %.1fh%.1f\"/><text class=\"tick\" text-anchor=\"end\" x=\"%.1f\" y=\"%.1f\">%s</text>\n",
			CURVE_LEFT, y, CURVE_WIDTH, CURVE_LEFT - 6, y + 4,
			text);
	}
}

static void curves(FILE *to, const struct chunk_table *t)
{
	const struct chunk_method *m = &t->method[0];
	double first = log2((double)m->cell[0].chunk), most = 0;
	double last = log2((double)m->cell[m->n - 1].chunk);

	for (size_t i = 0; i < t->n; i++)
		for (size_t k = 0; k < t->method[i].n; k++)
			most = fmax(most, t->method[i].cell[k].rate);
	if (!(last > first) || !(most > 0))
		return;
	fprintf(to, "<h2>GB/s by chunk</h2><div class=\"wide\"><svg class=\"curves\" viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"rate by chunk\">\n",
		CURVE_LEFT + CURVE_WIDTH + 24, CURVE_HEIGHT + CURVE_BOTTOM + 8);
	ticks(to, m, first, last, most);
	for (size_t i = 0; i < t->n; i++)
		curve(to, &t->method[i], i, first, last, most);
	fputs("</svg></div>\n<p class=\"legend\">", to);
	for (size_t i = 0; i < t->n; i++) {
		fprintf(to, "<span><i class=\"key c%zu\"></i>", i % COLOURS);
		html_text(to, t->method[i].name);
		fprintf(to, "%s</span> ", t->method[i].kernels ?
			" (the kernel&#8217;s)" : "");
	}
	fputs("</p>\n", to);
}

void html_chunks(FILE *to, const struct result *r)
{
	const struct trial *trial = result_one_sided(r) ? chunk_trial(r) : NULL;
	struct chunk_table t;

	if (trial && chunk_table(trial, &t)) {
		if (t.n && t.method[0].n)
			curves(to, &t);
		chunk_table_free(&t);
	}
}
