/* SPDX-License-Identifier: GPL-2.0 */
/*
 * symbols - the kernel's functions and inlined instances, by address.
 * The file's format and what is counted how: docs/symbols.md.
 */
#ifndef FOLAB_PLUGIN_SYMBOLS_H
#define FOLAB_PLUGIN_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "decode.h"

/* A line of the profile: all functions, or all inlined instances, of a name. */
struct plg_row {
	char *name;
	struct plg_row *inlined_in;	/* NULL: has code of its own */
	uint64_t calls, self, inclusive;
	uint64_t events[N_EVENTS];
	unsigned int active;		/* open on the current level */
	struct plg_scope *scope;	/* without code of its own: NULL */
};

/* Where an instruction belongs: a function, or an inlined instance in it. */
struct plg_scope {
	struct plg_row *row;
	struct plg_scope *parent;	/* enclosing scope, NULL for a function */
	struct plg_scope *function;	/* the outermost, itself for a function */
	unsigned int depth;		/* 0 for a function */
	uint64_t entry, entry_end;	/* first range of an instance */
};

/* Code that belongs to one scope. */
struct plg_piece {
	uint64_t start, end;
	struct plg_scope *scope;
	uint64_t fn_start;	/* of the function's range that it is part of */
	bool cold;		/* that range has no entry: foo.cold */
	bool begins;		/* and this is its beginning */
};

struct plg_symbols {
	struct plg_piece *pieces;	/* by address, no overlap */
	size_t n_pieces;
	struct plg_row **rows;
	size_t n_rows;
	struct plg_scope **scopes;
	size_t n_scopes;
	struct plg_scope *unknown;	/* for code without symbol */
	void *names;			/* search tree of rows */
};

/*
 * Read the file at @path for @arch ("arm64").  0, or -1 with a line in @why
 * that names file and line number.
 */
int plg_symbols_read(struct plg_symbols *s, const char *path,
		     const char *arch, char *why, size_t why_len);
void plg_symbols_free(struct plg_symbols *s);
/* The piece that @addr is in; NULL: no symbol covers it. */
const struct plg_piece *plg_symbols_find(const struct plg_symbols *s,
					 uint64_t addr);
/* @p, or no memory: say so and end QEMU, there is no way on. */
void *plg_checked(void *p);
/* The row of a function with code of its own; NULL: there is none. */
struct plg_row *plg_symbols_row(const struct plg_symbols *s, const char *name);

#endif
