/* SPDX-License-Identifier: GPL-2.0 */
/*
 * analyse - is a run valid, did both kernels decide alike, and what differs.
 */
#ifndef FOLAB_ANALYSE_H
#define FOLAB_ANALYSE_H

#include "../record/record.h"

/*
 * Value of @metric in one sample of a trial of @r; false: it can't be known
 * there.
 */
bool metric_value(const struct metric *metric, const struct result *r,
		  const struct trial *trial, const struct sample *sample,
		  double *value);
/* Fill r's profile[], rows, valid, reasons, notes, alike and diffs from its trials. */
void analyse(struct result *r);

#endif
