/* SPDX-License-Identifier: GPL-2.0 */
/*
 * folab ab --two-by-two.  Sides: A has neither of two series, C the first, D the
 * second, B both.
 */
#ifndef FOLAB_CMD_TWO_BY_TWO_H
#define FOLAB_CMD_TWO_BY_TWO_H

#include "../record/record.h"

/* In which order the sides run for a seed; the next one has it reversed. */
#define TWO_BY_TWO_ORDER	"ACDB"

/*
 * The specs of C and D, and the names of their series; caller frees.
 * EXIT_USAGE if B is not A with two series.
 */
int two_by_two_specs(const char *const spec[2], char *alone[2],
		     char *series[2], struct err *err);
/* Trials of C and D move from @r's to its two_by_two's. */
void two_by_two_split(struct result *r);

#endif
