/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Private to cmd: the directory that a run writes to.
 *
 * A run works in DIR.partial and takes DIR's place by one rename when it is
 * whole, so that DIR is never half a result.  An earlier result in DIR becomes
 * DIR.old, as perf does it, and an earlier DIR.old goes.  What does not look
 * like our own in any of them is never touched: the run refuses to start.  A
 * lock beside DIR.partial keeps two runs apart; what a killed run left is
 * swept by the next.
 */
#ifndef FOLAB_CMD_OUTDIR_H
#define FOLAB_CMD_OUTDIR_H

#include "../base/base.h"

struct outdir {
	char *path;		/* DIR, absolute or as given */
	char *partial;		/* where to write meanwhile */
	struct lock lock;
	bool keep;		/* partial holds a whole result */
};

/* @path NULL: results/NAME-<date>-<time> in the source tree, or below the
 * current directory when folab is installed. */
int outdir_open(struct outdir *d, const char *path, const char *name,
		struct err *err);
int outdir_commit(struct outdir *d, struct err *err);
/* Also when open or commit failed: removes what is not committed. */
void outdir_close(struct outdir *d);
/*
 * The newest result where outdir_open() puts those of no other path.  Caller
 * frees; NULL with EXIT_USAGE: there is none.
 */
char *outdir_newest(struct err *err);

#endif
