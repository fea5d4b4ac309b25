/* SPDX-License-Identifier: GPL-2.0 */
/*
 * symbols - read the symbol file and flatten it: functions with inlined
 * instances become a list of pieces, each with its innermost scope.
 */
#include <errno.h>
#include <inttypes.h>
#include <search.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbols.h"

#define NAME_LEN	511		/* as long as kallsyms allows */
#define NAME_FMT	"%511s"

/* An F or I line. */
struct range {
	uint64_t start, end;
	struct plg_scope *scope;
	bool cold;
};

struct reader {
	struct plg_symbols *s;
	const char *path;
	unsigned long line;
	char *why;
	size_t why_len;
	struct range *fn, *inl;
	size_t n_fn, n_inl;
	struct plg_scope **instance;	/* by ID; [0] is not used */
	char **instance_name;		/* as the file has it */
	size_t n_instance;
};

static int garbled(struct reader *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static int garbled(struct reader *r, const char *fmt, ...)
{
	va_list ap;
	int n;

	n = snprintf(r->why, r->why_len, "%s:%lu: ", r->path, r->line);
	if (n < 0 || (size_t)n >= r->why_len)
		return -1;
	va_start(ap, fmt);
	vsnprintf(r->why + n, r->why_len - n, fmt, ap);
	va_end(ap);
	return -1;
}

void *plg_checked(void *p)
{
	if (!p) {
		fputs("folab plugin: out of memory\n", stderr);
		abort();
	}
	return p;
}

/* Room for one more in an array that grows by doubling. */
static void *grow(void *v, size_t n, size_t size)
{
	if (n & (n - 1))
		return v;
	return plg_checked(reallocarray(v, n ? n * 2 : 1, size));
}

static int by_name(const void *a, const void *b)
{
	const struct plg_row *x = a, *y = b;
	int c = strcmp(x->name, y->name);

	if (c)
		return c;
	/* The container's rows exist before the instance's. */
	return (x->inlined_in > y->inlined_in) - (x->inlined_in < y->inlined_in);
}

/* Cut the compiler's suffixes; returns whether ".cold" was among them. */
static bool cut_suffix(char *name)
{
	char *dot = *name ? strchr(name + 1, '.') : NULL;
	bool cold;

	if (!dot)
		return false;
	cold = strstr(dot, ".cold") != NULL;
	*dot = '\0';
	return cold;
}

static struct plg_row *row_get(struct plg_symbols *s, const char *name,
			       struct plg_row *inlined_in)
{
	struct plg_row key = { .name = (char *)name, .inlined_in = inlined_in };
	struct plg_row **found = tfind(&key, &s->names, by_name);
	struct plg_row *row;

	if (found)
		return *found;
	row = plg_checked(calloc(1, sizeof(*row)));
	row->name = plg_checked(strdup(name));
	row->inlined_in = inlined_in;
	s->rows = grow(s->rows, s->n_rows, sizeof(*s->rows));
	s->rows[s->n_rows++] = row;
	plg_checked(tsearch(row, &s->names, by_name));
	return row;
}

static struct plg_scope *scope_new(struct plg_symbols *s, struct plg_row *row,
				   struct plg_scope *parent)
{
	struct plg_scope *scope = plg_checked(calloc(1, sizeof(*scope)));

	scope->row = row;
	scope->parent = parent;
	scope->function = parent ? parent->function : scope;
	scope->depth = parent ? parent->depth + 1 : 0;
	s->scopes = grow(s->scopes, s->n_scopes, sizeof(*s->scopes));
	s->scopes[s->n_scopes++] = scope;
	return scope;
}

static struct plg_scope *function_scope(struct plg_symbols *s, const char *name)
{
	struct plg_row *row = row_get(s, name, NULL);

	if (!row->scope)
		row->scope = scope_new(s, row, NULL);
	return row->scope;
}

static int read_function(struct reader *r, const char *text)
{
	struct range f = { 0 };
	char name[NAME_LEN + 1];
	int end = -1;

	if (sscanf(text, "F %" SCNx64 " %" SCNx64 " " NAME_FMT "%n", &f.start,
		   &f.end, name, &end) != 3 || end < 0 || text[end])
		return garbled(r, "not of the form \"F START END NAME\"");
	if (r->n_inl)
		return garbled(r, "an F line behind an I line");
	if (f.start >= f.end)
		return garbled(r, "%s ends before it starts", name);
	if (r->n_fn && f.start < r->fn[r->n_fn - 1].end)
		return garbled(r, "%s overlaps the function before it", name);
	f.cold = cut_suffix(name);
	f.scope = function_scope(r->s, name);
	r->fn = grow(r->fn, r->n_fn, sizeof(*r->fn));
	r->fn[r->n_fn++] = f;
	return 0;
}

static const struct range *function_at(const struct reader *r, uint64_t addr)
{
	size_t lo = 0, hi = r->n_fn;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (r->fn[mid].end <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < r->n_fn && r->fn[lo].start <= addr ? &r->fn[lo] : NULL;
}

/* The scope of instance @id, made at its first line. */
static int instance_get(struct reader *r, uint64_t id, uint64_t parent,
			const char *name, const struct range *line)
{
	struct plg_scope *up = line->scope, *scope;

	if (id == r->n_instance && id) {	/* another range of the last one */
		if (strcmp(r->instance_name[id], name))
			return garbled(r, "instance %" PRIu64 " has two names",
				       id);
		return 0;
	}
	if (id != r->n_instance + 1)
		return garbled(r, "instance %" PRIu64 " out of order", id);
	if (parent >= id)
		return garbled(r, "parent %" PRIu64 " comes behind its instance",
			       parent);
	if (parent)
		up = r->instance[parent];
	if (up->function != line->scope)
		return garbled(r, "parent %" PRIu64 " is in another function",
			       parent);

	scope = scope_new(r->s, row_get(r->s, name, line->scope->row), up);
	scope->entry = line->start;
	scope->entry_end = line->end;
	r->instance = plg_checked(reallocarray(r->instance, id + 1,
					   sizeof(*r->instance)));
	r->instance_name = plg_checked(reallocarray(r->instance_name, id + 1,
						sizeof(*r->instance_name)));
	r->instance[id] = scope;
	r->instance_name[id] = plg_checked(strdup(name));
	r->n_instance = id;
	return 0;
}

static int read_inlined(struct reader *r, const char *text)
{
	char name[NAME_LEN + 1], container[NAME_LEN + 1];
	struct range i = { 0 };
	const struct range *f;
	uint64_t id, parent;
	int end = -1;

	if (sscanf(text, "I %" SCNx64 " %" SCNx64 " %" SCNu64 " %" SCNu64 " "
		   NAME_FMT " " NAME_FMT "%n", &i.start, &i.end, &id, &parent,
		   name, container, &end) != 6 || end < 0 || text[end])
		return garbled(r, "not of the form \"%s\"",
			       "I START END ID PARENT NAME CONTAINER");
	if (i.start >= i.end)
		return garbled(r, "%s ends before it starts", name);
	f = function_at(r, i.start);
	cut_suffix(container);
	cut_suffix(name);
	if (!f || i.end > f->end || strcmp(f->scope->row->name, container))
		return garbled(r, "%s is not within %s", name, container);
	i.scope = f->scope;
	if (instance_get(r, id, parent, name, &i))
		return -1;
	if (r->instance[id]->function != f->scope)
		return garbled(r, "instance %" PRIu64 " has two containers", id);
	i.scope = r->instance[id];
	r->inl = grow(r->inl, r->n_inl, sizeof(*r->inl));
	r->inl[r->n_inl++] = i;
	return 0;
}

static void piece_add(struct plg_symbols *s, const struct range *f,
		      uint64_t start, uint64_t end, struct plg_scope *scope)
{
	struct plg_piece *p;

	if (s->n_pieces) {
		p = &s->pieces[s->n_pieces - 1];
		if (p->end == start && p->scope == scope &&
		    p->fn_start == f->start) {
			p->end = end;
			return;
		}
	}
	s->pieces = grow(s->pieces, s->n_pieces, sizeof(*s->pieces));
	p = &s->pieces[s->n_pieces++];
	p->start = start;
	p->end = end;
	p->scope = scope;
	p->fn_start = f->start;
	p->cold = f->cold;
	p->begins = start == f->start && !f->cold;
}

static int by_start(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

/*
 * The pieces of @f, given the @n instances' ranges in it.  From each address
 * on, the deepest instance rules until one begins or ends.
 */
static void flatten(struct plg_symbols *s, const struct range *f,
		    const struct range *inl, size_t n)
{
	uint64_t at = f->start, next;
	size_t i;

	for (; at < f->end; at = next) {
		struct plg_scope *scope = f->scope;

		next = f->end;
		for (i = 0; i < n; i++) {
			if (inl[i].start > at) {
				if (inl[i].start < next)
					next = inl[i].start;
			} else if (inl[i].end > at) {
				if (inl[i].end < next)
					next = inl[i].end;
				if (inl[i].scope->depth >= scope->depth)
					scope = inl[i].scope;
			}
		}
		piece_add(s, f, at, next, scope);
	}
}

static void flatten_all(struct reader *r)
{
	size_t i, first = 0, n;

	if (r->n_inl)
		qsort(r->inl, r->n_inl, sizeof(*r->inl), by_start);
	for (i = 0; i < r->n_fn; i++) {
		for (n = 0; first + n < r->n_inl &&
		     r->inl[first + n].start < r->fn[i].end; n++)
			;
		flatten(r->s, &r->fn[i], r->inl + first, n);
		first += n;
	}
}

static int read_header(struct reader *r, const char *text, const char *arch)
{
	char want[64];

	snprintf(want, sizeof(want), "folab.symbols/1 %s", arch);
	if (strncmp(text, "folab.symbols/", 14))
		return garbled(r, "not a symbol file");
	if (strcmp(text, want))
		return garbled(r, "is \"%.60s\", wanted \"%s\"", text, want);
	return 0;
}

static int read_lines(struct reader *r, FILE *f, const char *arch)
{
	char text[2 * NAME_LEN + 128];
	size_t n;
	int rc, end;

	while (fgets(text, sizeof(text), f)) {
		r->line++;
		n = strcspn(text, "\n");
		if (text[n] != '\n' || strlen(text) != n + 1)
			return garbled(r, "line too long, or cut short");
		text[n] = '\0';
		if (r->line == 1) {
			rc = read_header(r, text, arch);
		} else if (text[0] == 'F') {
			rc = read_function(r, text);
		} else if (text[0] == 'I') {
			rc = read_inlined(r, text);
		} else if (sscanf(text, "end %zu%n", &n, &end) == 1 &&
			   !text[end]) {
			if (n != r->n_fn + r->n_inl)
				return garbled(r, "%zu lines promised, %zu found",
					       n, r->n_fn + r->n_inl);
			return n ? 0 : garbled(r, "no function in it");
		} else {
			rc = garbled(r, "neither F, I nor end");
		}
		if (rc)
			return -1;
	}
	if (ferror(f))
		return garbled(r, "read failed: %s", strerror(errno));
	return garbled(r, "no \"end\" line: the file is incomplete");
}

static void keep(void *node)
{
}

int plg_symbols_read(struct plg_symbols *s, const char *path,
		     const char *arch, char *why, size_t why_len)
{
	struct reader r = { s, path, 0, why, why_len };
	size_t i;
	int rc;
	FILE *f;

	memset(s, 0, sizeof(*s));
	f = fopen(path, "re");
	if (!f) {
		snprintf(why, why_len, "%s: %s", path, strerror(errno));
		return -1;
	}
	s->unknown = function_scope(s, "[unknown]");
	rc = read_lines(&r, f, arch);
	if (!rc)
		flatten_all(&r);
	fclose(f);
	for (i = 1; i <= r.n_instance; i++)
		free(r.instance_name[i]);
	free(r.instance_name);
	free(r.instance);
	free(r.fn);
	free(r.inl);
	if (rc)
		plg_symbols_free(s);
	return rc;
}

void plg_symbols_free(struct plg_symbols *s)
{
	size_t i;

	tdestroy(s->names, keep);
	for (i = 0; i < s->n_rows; i++) {
		free(s->rows[i]->name);
		free(s->rows[i]);
	}
	for (i = 0; i < s->n_scopes; i++)
		free(s->scopes[i]);
	free(s->rows);
	free(s->scopes);
	free(s->pieces);
	memset(s, 0, sizeof(*s));
}

const struct plg_piece *plg_symbols_find(const struct plg_symbols *s,
					 uint64_t addr)
{
	size_t lo = 0, hi = s->n_pieces;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (s->pieces[mid].end <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo < s->n_pieces && s->pieces[lo].start <= addr)
		return &s->pieces[lo];
	return NULL;
}

struct plg_row *plg_symbols_row(const struct plg_symbols *s, const char *name)
{
	struct plg_row key = { .name = (char *)name };
	struct plg_row **found = tfind(&key, &s->names, by_name);

	return found ? *found : NULL;
}
