/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The plot of folab tune: as text, and as a script for gnuplot.
 */
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sections.h"

#define ROWS		10
#define COLUMN		3		/* characters a chunk */
#define CHUNKS_MAX	21		/* that fit beside the axis */

/* 1, 2 or 5 times a power of ten: a round one that is not less than @v. */
static double round_up(double v)
{
	double power = pow(10, floor(log10(v)));

	if (v <= power)
		return power;
	if (v <= 2 * power)
		return 2 * power;
	if (v <= 5 * power)
		return 5 * power;
	return 10 * power;
}

/* The row of a rate, from 0 at the bottom; ROWS: it is nowhere. */
static int row_of(double rate, double top)
{
	if (!isfinite(rate) || rate < 0 || rate > top)
		return ROWS + 1;
	return (int)lrint(rate / top * ROWS);
}

static void mark(char *line, const struct chunk_method *m,
		 const struct chunk_method *x, int row, double top, char with)
{
	for (size_t i = 0; m && i < m->n; i++)
		for (size_t k = 0; k < x->n && k < CHUNKS_MAX; k++)
			if (m->cell[i].chunk == x->cell[k].chunk &&
			    row_of(m->cell[i].rate, top) == row)
				line[k * COLUMN + 1] =
					line[k * COLUMN + 1] == ' ' ? with : '#';
}

static void add_axis(struct lines *l, const struct chunk_method *m,
		     const struct tune *tune)
{
	char labels[CHUNKS_MAX * COLUMN + 32] = "", pick[sizeof(labels)];
	size_t n = 0;

	for (size_t i = 0; i < m->n && i < CHUNKS_MAX; i += 2) {
		char size[32];

		n += snprintf(labels + n, sizeof(labels) - n, "%-*s",
			      2 * COLUMN,
			      format_size_short(m->cell[i].chunk, size,
						sizeof(size)));
	}
	lines_add(l, RANK_KEEP, "       +%.*s",
		  (int)((m->n < CHUNKS_MAX ? m->n : CHUNKS_MAX) * COLUMN),
		  "---------------------------------------------------------------");
	lines_add(l, RANK_KEEP, "        %s", labels);
	if (tune->unit < CHUNKS_MAX) {
		int at = (int)tune->unit * COLUMN + 1;

		if (tune->unit < CHUNKS_MAX / 2)
			snprintf(pick, sizeof(pick), "%*s^ recommended", at, "");
		else
			snprintf(pick, sizeof(pick), "%*s ^", at - 1,
				 "recommended");
		lines_add(l, RANK_KEEP, "        %s", pick);
	}
}

void plot_text(struct lines *l, const struct chunk_table *table,
	       const struct tune *tune)
{
	const struct chunk_method *m = tune->method;
	const struct chunk_method *nt = chunk_streaming(table);
	double top = table->method[table->best].cell[
			table->method[table->best].best].rate;
	char line[CHUNKS_MAX * COLUMN + 1];

	if (!(top > 0))
		return;
	top = ceil(top / round_up(top / ROWS)) * round_up(top / ROWS);
	lines_add(l, RANK_KEEP, "GB/s   * %s%s%s%s", m->name, nt ? ", o " : "",
		  nt ? nt->name : "", nt ? ", # both" : "");
	for (int row = ROWS; row >= 0; row--) {
		memset(line, ' ', sizeof(line) - 1);
		line[sizeof(line) - 1] = '\0';
		mark(line, m, m, row, top, '*');
		mark(line, nt, m, row, top, 'o');
		lines_add(l, RANK_KEEP, "%6.1f |%s", top * row / ROWS, line);
	}
	add_axis(l, m, tune);
}

/* ---- gnuplot -------------------------------------------------------------- */

/*
 * Inside single quotes gnuplot takes text as it is; a result that comes from
 * somewhere else must not get out of them.
 */
static void put_text(FILE *to, const char *s)
{
	fputc('\'', to);
	for (; *s; s++)
		fputc(strchr("abcdefghijklmnopqrstuvwxyz"
			     "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
			     "0123456789 .,:;()+-/%", *s) ? *s : '?', to);
	fputc('\'', to);
}

static void put_data(FILE *to, const struct chunk_method *m, size_t number)
{
	fprintf(to, "$m%zu << EOD\n", number);
	for (size_t i = 0; i < m->n; i++) {
		const struct chunk_cell *c = &m->cell[i];
		double spread = isfinite(c->spread_pct) ? c->spread_pct : 0;

		fprintf(to, "%" PRIu64 " %.4f %.4f %.6f\n", c->chunk, c->rate,
			c->rate * spread / 100, c->one * 1e3);
	}
	fputs("EOD\n", to);
}

static void put_axes(FILE *to, const struct result *r,
		     const struct chunk_method *m, const struct tune *tune)
{
	char size[32];

	fputs("set terminal svg size 900,600 font 'sans-serif,13' background 'white'\n"
	      "set encoding utf8\n", to);
	fputs("set title ", to);
	put_text(to, r->machine ? r->machine : "");
	fputs(" noenhanced\nset key left top\nset grid\n"
	      "set logscale x 2\nset xlabel 'unit cleared at once'\n"
	      "set ylabel 'GB/s (median, standard deviation)'\n"
	      "set yrange [0:*]\nset ytics nomirror\n"
	      "set logscale y2\nset y2tics\n"
	      "set y2label 'time of one unit, ms'\nset xtics (", to);
	for (size_t i = 0; i < m->n; i++)
		fprintf(to, "%s'%s' %" PRIu64, i ? ", " : "",
			format_size_short(m->cell[i].chunk, size, sizeof(size)),
			m->cell[i].chunk);
	fputs(") rotate by -45\n", to);
	fprintf(to, "set xrange [%" PRIu64 "*0.8:%" PRIu64 "*1.25]\n",
		m->cell[0].chunk, m->cell[m->n - 1].chunk);
	fprintf(to, "set arrow from %" PRIu64 ", graph 0 to %" PRIu64
		", graph 1 nohead dashtype 2\n", m->cell[tune->unit].chunk,
		m->cell[tune->unit].chunk);
}

char *report_gnuplot(const struct result *r)
{
	locale_t c = newlocale(LC_ALL_MASK, "C", NULL), before = uselocale(c);
	const struct trial *trial = chunk_trial(r);
	struct chunk_table table = { 0 };
	struct tune tune = { 0 };
	char *text = NULL;
	size_t len, own = 0;
	FILE *to = open_memstream(&text, &len);

	if (to && trial && chunk_table(trial, &table))
		tune_choose(&table, r->delay_ms / 1e3, &tune);
	if (tune.method) {
		put_axes(to, r, tune.method, &tune);
		for (size_t i = 0; i < table.n; i++) {
			put_data(to, &table.method[i], i);
			if (&table.method[i] == tune.method)
				own = i;
		}
		fputs("plot ", to);
		for (size_t i = 0; i < table.n; i++) {
			fprintf(to, "$m%zu using 1:2:3 with yerrorlines title ", i);
			put_text(to, table.method[i].name);
			fputs(", \\\n     ", to);
		}
		fprintf(to, "$m%zu using 1:4 axes x1y2 with lines dashtype 3 title ",
			own);
		put_text(to, "time of one unit");
		fputc('\n', to);
	}
	if (to)
		fclose(to);
	chunk_table_free(&table);
	uselocale(before);
	if (c)
		freelocale(c);
	return text ? text : xstrdup("");
}
