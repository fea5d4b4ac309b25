/* SPDX-License-Identifier: GPL-2.0 */
/* Private to record: what result.c needs of variant.c. */
#ifndef FOLAB_RECORD_VARIANT_H
#define FOLAB_RECORD_VARIANT_H

#include "json.h"

void variants_free(struct result *r);
json_t *variants_to_json(const struct result *r);
int variants_from_json(struct result *r, const json_t *list, struct err *err);

#endif
