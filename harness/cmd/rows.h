/* SPDX-License-Identifier: GPL-2.0 */
/*
 * folab ab --rows: which comparisons there are to make, and whether they can be.
 */
#ifndef FOLAB_CMD_ROWS_H
#define FOLAB_CMD_ROWS_H

#include "../../workloads/workloads.h"
#include "../machine/machine.h"
#include "../plan/plan.h"

/* What the user asked of folab ab. */
struct ab {
	const char *scenario, *out, *selftests, *fragment;
	const char *rows;	/* names between commas, "": all; NULL: none */
	const char *spec[2];
	const struct arch *arch;
	struct strlist params;
	int64_t boots, reps, jobs;
	bool aa, no_profile, two_by_two, arch_given;
	struct remote_options there;	/* ->host NULL: in the emulator */
	struct remote *remote;		/* open while it is used */
};

/*
 * One comparison: the scenario's own, or one of its rows, as if the user had asked
 * for that alone.
 */
struct part {
	const char *name;	/* the row's; NULL: it is the scenario's own */
	struct ab ab;		/* ->params are its own */
	struct scenario s;	/* ->params are its own, all else is shared */
	struct result *r;
};

/*
 * parts[0] is @s itself with @r; the rows that ab->rows names follow, each a
 * variant of @r.  One that would change nothing of the run is left out, and a
 * line says so.  EXIT_USAGE for a name that there is not, and parameters that
 * the workload refuses.  To be freed in any case.
 */
int parts_make(struct part **parts, size_t *n, const struct ab *ab,
	       const struct scenario *s, const struct workload *w,
	       struct result *r, struct err *err);
void parts_free(struct part *parts, size_t n);
/*
 * Before anything is built: kernels for all architectures of the parts, and
 * emulators and agents for those that are not the run's own.
 */
int parts_check(const struct part *parts, size_t n, struct err *err);

#endif
