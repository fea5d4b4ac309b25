/* SPDX-License-Identifier: GPL-2.0 */
/*
 * attach - a report's text in the cover letter of a series: what the block looks
 * like, where in a letter it goes, and the three places where a letter lies (a
 * mail in a file, the commit of b4 prep, the description of a branch).
 *
 * Nothing here knows how a figure came about.
 */
#ifndef FOLAB_ATTACH_H
#define FOLAB_ATTACH_H

#include "../record/record.h"

/* ---- block.c: what is put in -------------------------------------------- */

/*
 * The report of one result.  ASCII throughout, so that a letter needs no other
 * encoding than it has, and no line of it means anything to git, b4 or a
 * mailbox.
 */
struct block {
	char *key;		/* "reclaim-file/arm64": a letter has one of each */
	char *text;		/* lines that end with \n, without the markers */
};
/*
 * EXIT_NO if @r supports no claim (invalid, or a kernel against itself) and
 * not @force.
 */
int block_make(struct block *b, const struct result *r, bool force,
	       struct err *err);
void block_free(struct block *b);

/* ---- letter.c: where it goes -------------------------------------------- */

/* b4 keeps its notes below this line; the letter ends above it. */
#define B4_TRACKING	"--- b4-submit-tracking ---"

struct letter {
	char *name;		/* for people: a path, or "branch topic" */
	char *text;		/* the whole file, message or description */
	size_t body, end;	/* the cover's body is text[body..end) */
	const struct keeper *keeper;
	char *path;		/* of the file */
	char *repo, *branch;	/* git's: work tree or repository, "topic" */
	char *commit, *tip;	/* b4's: the cover's commit, the branch's */
};

/* What happens to a letter's blocks. */
struct edit {
	const struct block *blocks;
	size_t n;
	bool remove;	/* them, not put in; n == 0: all that are there */
};
/*
 * The letter's text after @e, caller frees; @did gets a line for each block that
 * was put in, replaced or removed.  All else stays as it is, byte for byte;
 * put in and removed gives the same bytes again.  NULL with EXIT_USAGE if the
 * markers that are there do not make blocks.
 */
char *letter_edit(const struct letter *l, const struct edit *e,
		  struct strlist *did, struct err *err);

/* ---- keep.c: where it lies ---------------------------------------------- */

/*
 * @target: a mail or mailbox whose first message is a cover letter, a directory
 * with the 0000-*.patch of git format-patch, a branch of the repository that we
 * stand in, or git:PATH@BRANCH.  EXIT_USAGE if there is no cover letter,
 * EXIT_SKIPPED if it is encoded in a way that is not edited here.
 */
int letter_open(struct letter *l, const char *target, struct err *err);
/*
 * Store what letter_edit() made, whole or not at all; @said gets what the user
 * has to know of it.  EXIT_SKIPPED if the repository is not in a state for it,
 * EXIT_ENVIRONMENT if it can't be written.
 */
int letter_store(struct letter *l, const char *text, struct strlist *said,
		 struct err *err);
/* The change to @text as a unified diff, "" if there is none.  Caller frees. */
char *letter_diff(const struct letter *l, const char *text, struct err *err);
void letter_free(struct letter *l);

#endif
