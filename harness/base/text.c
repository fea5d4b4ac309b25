/* SPDX-License-Identifier: GPL-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base.h"

static const char units[] = "KMGTP";

int parse_size(const char *s, uint64_t *bytes)
{
	unsigned long long value;
	const char *unit;
	char *end;
	int shift = 0;

	/* strtoull() would take "-1" and " 1". */
	if (*s < '0' || *s > '9')
		return -1;
	errno = 0;
	value = strtoull(s, &end, 10);
	if (errno)
		return -1;
	if (*end && *end != 'B') {
		unit = strchr(units, *end == 'k' ? 'K' : *end);
		if (!unit)
			return -1;
		shift = 10 * (int)(unit - units + 1);
		end++;
		if (*end == 'i')
			end++;
	}
	if (*end == 'B')
		end++;
	if (*end || value > UINT64_MAX >> shift)
		return -1;
	*bytes = (uint64_t)value << shift;
	return 0;
}

int parse_int(const char *s, int64_t min, int64_t max, int64_t *value)
{
	long long v;
	char *end;

	if (!(*s >= '0' && *s <= '9') && *s != '-')
		return -1;
	errno = 0;
	v = strtoll(s, &end, 10);
	if (errno || *end || end == s || v < min || v > max)
		return -1;
	*value = v;
	return 0;
}

/* The largest unit that divides @bytes, as an index; -1: none does. */
static int largest_unit(uint64_t *bytes)
{
	int u = -1;

	while (*bytes && *bytes % 1024 == 0 && u < (int)sizeof(units) - 2) {
		*bytes /= 1024;
		u++;
	}
	return u;
}

const char *format_size(uint64_t bytes, char *buf, size_t len)
{
	int u = largest_unit(&bytes);

	if (u < 0)
		snprintf(buf, len, "%" PRIu64 " B", bytes);
	else
		snprintf(buf, len, "%" PRIu64 " %ciB", bytes, units[u]);
	return buf;
}

const char *format_size_short(uint64_t bytes, char *buf, size_t len)
{
	int u = largest_unit(&bytes);

	snprintf(buf, len, "%" PRIu64 "%.*s", bytes, u >= 0, &units[u < 0 ? 0 : u]);
	return buf;
}

bool str_starts(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

bool str_ends(const char *s, const char *suffix)
{
	size_t n = strlen(s), m = strlen(suffix);

	return n >= m && strcmp(s + n - m, suffix) == 0;
}

uint64_t mix64(uint64_t x)
{
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

char *shell_word(const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
		"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+:@%./,";
	char *quoted = NULL;
	size_t len;
	FILE *to;

	if (*word && word[strspn(word, plain)] == '\0')
		return xstrdup(word);
	to = open_memstream(&quoted, &len);
	if (!to)
		return xstrdup("''");
	fputc('\'', to);
	for (; *word; word++) {
		if (*word == '\'')
			fputs("'\\''", to);
		else
			fputc(*word, to);
	}
	fputc('\'', to);
	fclose(to);
	return quoted;
}
