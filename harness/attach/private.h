/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of this room share. */
#ifndef FOLAB_ATTACH_PRIVATE_H
#define FOLAB_ATTACH_PRIVATE_H

#include "attach.h"

#define LETTER_MAX	(64u << 20)	/* bytes of a mailbox */
#define MARK_BEGIN	"==== folab:begin "
#define MARK_END	"==== folab:end "
#define MARK_TAIL	" ===="

/* One kind of place for a letter. */
struct keeper {
	int (*store)(struct letter *l, const char *text, struct strlist *said,
		     struct err *err);
};

/* A line in @text: [at, stop) without its end, the next one begins at @next. */
struct line {
	size_t at, stop, next;
};
/* The line at @at of text[0..end); at < end. */
struct line line_at(const char *text, size_t at, size_t end);
/* Does an extended regular expression match @text[@at..@stop)?  Case matters. */
bool span_matches(const char *text, size_t at, size_t stop, const char *regex);

/* A mail or mailbox at @path, with ->path set.  mail.c */
int mail_open(struct letter *l, struct err *err);
/* A branch, with ->repo and ->branch set.  branch.c */
int branch_open(struct letter *l, struct err *err);
/* ->text becomes ->commit's message: the branch is written anew.  rewrite.c */
int rewrite_store(struct letter *l, const char *text, struct strlist *said,
		  struct err *err);

#endif
