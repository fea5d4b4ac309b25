/* SPDX-License-Identifier: GPL-2.0 */
/*
 * build - kernel spec -> source -> series applied -> configured -> image.
 * Everything expensive is kept in the cache, keyed by content.
 */
#ifndef FOLAB_BUILD_H
#define FOLAB_BUILD_H

#include "../record/record.h"

struct build_options {
	int jobs;		/* 0: as many as there are processors */
	/*
	 * One more config fragment, patches/config/NAME.config ("debug",
	 * "host"); NULL: none.
	 */
	const char *fragment;
	bool verbose;		/* the compiler's output to standard error too */
};

/*
 * Make the image that @spec names, for @arch, or find it in the cache.
 * Errors: EXIT_USAGE (no such spec, series, ref, file), EXIT_ENVIRONMENT
 * (source package, compiler, space), EXIT_BUILD (patch, Kconfig, compiler).
 */
int build_kernel(const char *spec, const struct arch *arch,
		 const struct build_options *opt, struct image *image,
		 struct err *err);
/*
 * Is there a patches/config/@name.config that can be added?  EXIT_USAGE with
 * those that there are.
 */
int build_check_fragment(const char *name, struct err *err);
/* Is @spec well-formed, and does what it names exist?  Builds nothing. */
int build_check_spec(const char *spec, const struct arch *arch, struct err *err);
/*
 * What @spec is without its series ("6.12", "git:PATH@REF"), and their names in
 * order; caller frees both.  EXIT_USAGE: not well-formed, or with a mutant.
 */
int build_split_spec(const char *spec, char **base, struct strlist *series,
		     struct err *err);
/* "6.12/young-batch" ... for folab list series: base, name, subject. */
struct series_info {
	char *base, *name, *title;
	int64_t patches;
	char *broken;		/* why it can't be used, then no title; NULL */
};
int build_series(struct series_info **list, size_t *n, struct err *err);
void build_series_free(struct series_info *list, size_t n);

/*
 * The mutants, patches/mutants/NAME.patch, by name: small mistakes in a series
 * that a correctness case must catch.  The kernel with one is VERSION+OF+mutant:NAME;
 * all mutants of a series and architecture are built in one slot, so that each
 * costs only what it touches.
 */
struct mutant_info {
	char *name;
	char *title;
	char *of;		/* series */
	char *caught_by;	/* "PROGRAM.CASE" */
	const struct arch *arch;	/* NULL: any */
	bool debug;		/* shows in the debug config only */
};
int build_mutants(struct mutant_info **list, size_t *n, struct err *err);
void build_mutants_free(struct mutant_info *list, size_t n);

#endif
