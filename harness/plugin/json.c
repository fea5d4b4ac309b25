/* SPDX-License-Identifier: GPL-2.0 */
/*
 * json - a window's profile as one line.
 *
 * The plugin links with nothing but libc, so the line is printed by hand: the
 * form is fixed, and only names need quoting.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attribute.h"

static const char *const event_names[N_EVENTS] = {
	[EVENT_TLBI_ADDRESS] = "tlbi_address",
	[EVENT_TLBI_RANGE] = "tlbi_range",
	[EVENT_TLBI_ALL] = "tlbi_all",
	[EVENT_DSB] = "dsb",
	[EVENT_ATOMIC] = "atomics",
};

static int by_self(const void *a, const void *b)
{
	const struct plg_row *x = *(struct plg_row *const *)a;
	const struct plg_row *y = *(struct plg_row *const *)b;
	int c;

	if (x->self != y->self)
		return x->self < y->self ? 1 : -1;
	c = strcmp(x->name, y->name);
	if (c)
		return c;
	return strcmp(x->inlined_in ? x->inlined_in->name : "",
		      y->inlined_in ? y->inlined_in->name : "");
}

/* A name may hold any byte but space, as the symbol file has it. */
static void quoted(FILE *f, const char *s)
{
	putc('"', f);
	for (; *s; s++) {
		unsigned char c = *s;

		if (c == '"' || c == '\\')
			fprintf(f, "\\%c", c);
		else if (c < 0x20 || c >= 0x7f)
			fprintf(f, "\\u%04x", c);
		else
			putc(c, f);
	}
	putc('"', f);
}

static void events(FILE *f, const uint64_t *v)
{
	int e;

	for (e = 0; e < N_EVENTS; e++)
		fprintf(f, ",\"%s\":%" PRIu64, event_names[e], v[e]);
}

static void function(FILE *f, const struct plg_row *row)
{
	fputs("{\"name\":", f);
	quoted(f, row->name);
	if (row->inlined_in) {
		fputs(",\"inlined_in\":", f);
		quoted(f, row->inlined_in->name);
	}
	fprintf(f, ",\"calls\":%" PRIu64 ",\"self\":%" PRIu64
		",\"inclusive\":%" PRIu64, row->calls, row->self,
		row->inclusive);
	events(f, row->events);
	putc('}', f);
}

char *plg_profile_json(const struct plg_attribution *a, size_t *len)
{
	const struct plg_symbols *s = a->symbols;
	struct plg_row **rows = calloc(s->n_rows, sizeof(*rows));
	char *text = NULL;
	const char *comma = "";
	FILE *f;
	size_t i;

	if (!rows)
		return NULL;
	f = open_memstream(&text, len);
	if (!f) {
		free(rows);
		return NULL;
	}
	memcpy(rows, s->rows, s->n_rows * sizeof(*rows));
	qsort(rows, s->n_rows, sizeof(*rows), by_self);

	fprintf(f, "{\"windows\":1,\"kernel_instructions\":%" PRIu64
		",\"user_instructions\":%" PRIu64,
		a->total.kernel_instructions, a->total.user_instructions);
	events(f, a->total.events);
	fprintf(f, ",\"exceptions\":%" PRIu64 ",\"functions\":[",
		a->total.exceptions);
	for (i = 0; i < s->n_rows; i++) {
		if (!rows[i]->self && !rows[i]->calls && !rows[i]->inclusive)
			continue;
		fputs(comma, f);
		function(f, rows[i]);
		comma = ",";
	}
	fputs("]}\n", f);
	free(rows);
	if (fclose(f)) {
		free(text);
		return NULL;
	}
	return text;
}
