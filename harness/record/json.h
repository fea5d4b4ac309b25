/* SPDX-License-Identifier: GPL-2.0 */
/* Private to record: pieces that its JSON forms share. */
#ifndef FOLAB_RECORD_JSON_H
#define FOLAB_RECORD_JSON_H

#include "record.h"

/* A string, null for NULL. Bytes that are not UTF-8 become '?'. */
json_t *rec_text(const char *s);
/* The reverse: string or null; @value is replaced, the caller frees. */
int rec_get_text(const json_t *o, const char *where, const char *key,
		 char **value, struct err *err);
json_t *rec_strlist(const struct strlist *l);
int rec_get_strlist(const json_t *o, const char *where, const char *key,
		    struct strlist *l, struct err *err);
/* A number, null if it is not finite: JSON has no other word for it. */
json_t *rec_real(double v);
/* The reverse: null gives NaN. */
int rec_get_real(const json_t *o, const char *where, const char *key,
		 double *value, struct err *err);

/* A row of a comparison; its unit hangs on the clock (result.c). */
json_t *rec_row_to_json(const struct row *row, const char *clock);
int rec_row_from_json(struct row *row, const json_t *o, struct err *err);
/* A side behind A and B (further.c). */
json_t *further_to_json(const struct further *f, const char *clock);
int further_from_json(struct further *f, const json_t *o, struct err *err);

#endif
