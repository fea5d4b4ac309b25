/* SPDX-License-Identifier: GPL-2.0 */
#include <stddef.h>
#include <string.h>

#include "../harness/base/base.h"
#include "parse.h"

/* A decimal number that ends where the line does. */
static bool parse_decimal(const char *text, int64_t *value)
{
	char digits[24];
	size_t len = strcspn(text, "\n");

	if (len >= sizeof(digits) || (text[len] && text[len + 1]))
		return false;
	memcpy(digits, text, len);
	digits[len] = '\0';
	return !parse_int(digits, 0, INT64_MAX, value);
}

bool cgroup_parse_number(const char *text, int64_t *value)
{
	if (!strcmp(text, "max") || !strcmp(text, "max\n")) {
		*value = INT64_MAX;
		return true;
	}
	return parse_decimal(text, value);
}

bool cgroup_parse_pair(char *line, const char **name, int64_t *value)
{
	char *space = strchr(line, ' ');

	if (!space || space == line || !parse_decimal(space + 1, value))
		return false;
	*space = '\0';
	*name = line;
	return true;
}

bool cgroup_parse_pressure(const char *line, const char *kind,
			   int64_t *total_us)
{
	size_t len = strlen(kind);
	const char *total;

	if (strncmp(line, kind, len) || line[len] != ' ')
		return false;
	total = strstr(line + len, " total=");
	return total && parse_decimal(total + strlen(" total="), total_us);
}
