/* SPDX-License-Identifier: GPL-2.0 */
/*
 * parse - the formats of cgroup v2's files (Documentation/admin-guide/
 * cgroup-v2.rst).  Private to cgroups/; apart so that they can be tested
 * without a cgroup.
 */
#ifndef FOLAB_CGROUPS_PARSE_H
#define FOLAB_CGROUPS_PARSE_H

#include <stdbool.h>
#include <stdint.h>

/* "max" (INT64_MAX) or a decimal number, then perhaps a newline. */
bool cgroup_parse_number(const char *text, int64_t *value);
/*
 * "pgscan 1234" with perhaps a newline: cuts @line behind the name.  False if
 * it is not such a pair.
 */
bool cgroup_parse_pair(char *line, const char **name, int64_t *value);
/*
 * "some avg10=0.00 avg60=0.00 avg300=0.00 total=1234": microseconds of the
 * line that begins with @kind ("some", "full").
 */
bool cgroup_parse_pressure(const char *line, const char *kind,
			   int64_t *total_us);

#endif
