/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files of this room share.  The way of a kernel through them:
 *
 *	spec.c		"6.12+young-batch" -> struct spec
 *	source.c	spec -> struct source, a commit in a git repository of ours
 *	series.c	series found, hashed, applied to a scratch index -> a tree
 *	mutant.c	a mistake for the cases to catch, as a series of one patch
 *	config.c	fragments merged; what Kconfig made of them, checked
 *	slot.c		a source and object tree that lives on, so that make has
 *			only that to do which changed
 *	seed.c		how a slot begins: from another one, or empty
 *	make.c		make, its progress, its errors
 *	symbols.c	vmlinux -> symbol file
 *	cache.c		the finished image, by content
 *	given.c		image:PATH, an image that we did not build
 *	build.c		the public functions
 */
#ifndef FOLAB_BUILD_PRIVATE_H
#define FOLAB_BUILD_PRIVATE_H

#include <time.h>

#include "build.h"

/* Part of every key: count it up when the same input makes another image. */
#define RECIPE	"1"

/* ---- spec.c ------------------------------------------------------------- */

enum spec_kind { SPEC_SOURCE, SPEC_GIT, SPEC_IMAGE };

struct spec {
	enum spec_kind kind;
	char *text;		/* as the user wrote it */
	char *version;		/* SOURCE: "6.12" */
	char *path;		/* GIT: the user's repository, IMAGE: the file */
	char *ref;		/* GIT: as written, without series */
	char *commit;		/* GIT: what it stands for, in hex */
	struct strlist series;
	char *mutant;		/* the name behind "+mutant:", or NULL */
};
int spec_parse(struct spec *s, const char *text, struct err *err);
void spec_free(struct spec *s);

/* ---- source.c ----------------------------------------------------------- */

struct source {
	char *name;		/* "linux-source-6.12": repository, lock, slot */
	char *title;		/* "linux-source-6.12 6.12.117-1~deb12u1" */
	char *id;		/* content: "tarball HASH" or "commit HEX" */
	char *version;		/* "6.12": which folder of series is meant */
	char *repo;		/* our repository */
	char *rev;		/* ref or commit in it */
	char *tarball;		/* SOURCE */
	char *objects;		/* GIT: object directory of the user's repository */
};
/* Find it and name its content.  Quick, and unpacks nothing. */
int source_find(struct source *src, const struct spec *spec,
		const char *cache, struct err *err);
/* Make ->rev exist in ->repo. */
int source_import(const struct source *src, const char *cache,
		  struct err *err);
void source_free(struct source *src);

/* ---- series.c ----------------------------------------------------------- */

struct series {
	char *name;
	char *dir;
	struct strlist patches;	/* file names in @dir, in order */
	char **texts;		/* and what is in them */
	size_t *lengths;
	char hash[HASH_HEX];	/* over their contents */
};
/* @name: "NAME", or "NAME:N" for its first N patches. */
int series_load(struct series *s, const char *version, const char *name,
		struct err *err);
void series_free(struct series *s);
/*
 * Apply @n series to @src in the scratch index file @index; *tree gets the
 * id of the tree that comes out.  No working tree is needed or touched; @index
 * is gone afterwards.
 */
int series_apply(const struct source *src, const struct series *s, size_t n,
		 const char *index, char **tree, struct err *err);
/* Of a patch, without "[PATCH 1/3]"; "" if it has none.  Caller frees. */
char *patch_subject(const char *patch);
/* All patches, one behind the other. */
int series_mbox(const struct series *s, const char *path, struct err *err);

/* ---- mutant.c ----------------------------------------------------------- */

/* "mutant:NAME", a series of one patch for a kernel that has @behind. */
int mutant_load(struct series *s, const struct strlist *behind,
		const char *name, struct err *err);

/* ---- config.c ----------------------------------------------------------- */

struct option {
	char *name;		/* "CONFIG_SMP" */
	char *value;		/* "y", "16", "\"-folab\""; "n": not set */
	char *where;		/* "base.config:14" */
	bool optional;
};
struct config {
	struct option *v;
	size_t n;
	char hash[HASH_HEX];	/* of what it asks for; comments don't count */
};
/* @fragment: a further one, NULL: none. */
int config_load(struct config *c, const struct arch *arch, const char *fragment,
		struct err *err);
void config_free(struct config *c);
/* What KCONFIG_ALLCONFIG wants to read. */
int config_write(const struct config *c, const char *path, struct err *err);
/* Is every option in the .config at @path as it was asked for? */
int config_check(const struct config *c, const char *path, struct err *err);

/* ---- one build ----------------------------------------------------------- */

struct build {
	const struct arch *arch;
	const struct build_options *opt;
	char *cache;
	struct spec spec;
	struct source source;
	struct series *series;
	size_t n_series;
	struct config config;
	char *cross;		/* "aarch64-linux-gnu-" or "" */
	char *compiler;		/* first line of --version */
	char key[HASH_HEX];	/* of everything that goes into the image */
	/* the slot */
	char *slot;		/* its name */
	char *dir;		/* CACHE/slots/NAME */
	char *work, *src, *out;	/* DIR/tree, DIR/tree/src, DIR/tree/src/out */
	char *log;		/* DIR/log */
	char *tree;		/* git tree that it has to hold */
	struct lock lock;
	bool fresh;		/* the slot was not there before */
	uint64_t steps;		/* about so many lines will make write */
};

/* ---- slot.c ------------------------------------------------------------- */

/* Name the slot of a build whose spec, source and config are known. */
void slot_name(struct build *b);
/* Take its lock; waits for another folab, and says so. */
int slot_lock(struct build *b, struct err *err);
/* Bring its source to b->tree, seeded from a finished slot if it is new. */
int slot_prepare(struct build *b, struct err *err);
/* The build is through: other slots may start from this one. */
int slot_finish(struct build *b, struct err *err);
/* The build failed: put away what must not be seen by the next one. */
void slot_fail(struct build *b, const struct err *err);
/* Remove what nobody used for a fortnight and nobody holds. */
void slot_prune(const char *cache);

/*
 * For seed.c: the lock of a slot, what to say while waiting for it, and what a
 * slot holds according to its @file "finished" or "before".
 */
struct finished {
	char *slot;
	char *source, *arch, *tree;
	char *fragment;		/* "": none */
	int64_t steps;		/* files with a rule of their own */
	time_t when;
};
char *slot_lock_path(const char *cache, const char *slot);
void slot_waiting(void *slot);
bool finished_read(const char *cache, const char *slot, const char *file,
		   struct finished *f);
void finished_free(struct finished *f);

/* ---- seed.c ------------------------------------------------------------- */

/*
 * Make b->work, which is not there: beside it, renamed when whole.  *seed is
 * what it is a copy of, if it is one.
 */
int seed_work(struct build *b, struct finished *seed, struct err *err);

/* ---- make.c ------------------------------------------------------------- */

/* Compiler and tools: b->cross, b->compiler; EXIT_ENVIRONMENT if missing. */
int make_probe(struct build *b, struct err *err);
int make_config(struct build *b, struct err *err);
int make_image(struct build *b, struct err *err);

/* ---- symbols.c ---------------------------------------------------------- */

/* Write the symbol file @path (docs/symbols.md) from an ELF vmlinux. */
int symbols_from_vmlinux(const char *vmlinux, const struct arch *arch,
			 const char *path, struct err *err);
/* The same from a System.map: no sizes, no inlined functions. */
int symbols_from_map(const char *map, const struct arch *arch,
		     const char *path, struct err *err);

/* ---- cache.c ------------------------------------------------------------ */

/* Fill @im from the entry @key.  0 found, 1 not there, -1 error. */
int cache_find(const char *cache, const char *key, struct image *im,
	       struct err *err);
/* Where the entry of @who is made, emptied.  Caller frees. */
char *cache_begin(const char *cache, const char *who, struct err *err);
/* Write @im's description into @tmp and make it the entry @key. */
int cache_commit(const char *cache, const char *tmp, const char *key,
		 const struct image *im, struct err *err);
void cache_prune(const char *cache);
/* SHA-256 of a file in hex, caller frees; NULL with @err set. */
char *hash_of_file(const char *path, struct err *err);

/* ---- given.c ------------------------------------------------------------ */

/* Is the file at spec->path a whole kernel image for @arch? */
int given_check(const struct spec *spec, const struct arch *arch,
		struct err *err);
int given_image(const struct spec *spec, const struct arch *arch,
		const char *cache, struct image *im, struct err *err);

#endif
