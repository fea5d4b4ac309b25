/* SPDX-License-Identifier: GPL-2.0 */
#include <stdlib.h>
#include <string.h>

#include "record.h"

/* Index of @name, or where it belongs. */
static size_t place(const struct counters *c, const char *name, bool *found)
{
	size_t low = 0, high = c->n;

	*found = false;
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		int d = strcmp(c->v[mid].name, name);

		if (d == 0) {
			*found = true;
			return mid;
		}
		if (d < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static struct counter *slot(struct counters *c, const char *name)
{
	bool found;
	size_t i = place(c, name, &found);

	if (!found) {
		c->v = xrealloc(c->v, c->n + 1, sizeof(*c->v));
		memmove(c->v + i + 1, c->v + i, (c->n - i) * sizeof(*c->v));
		c->v[i].name = xstrdup(name);
		c->v[i].value = 0;
		c->n++;
	}
	return &c->v[i];
}

void counters_set(struct counters *c, const char *name, int64_t value)
{
	slot(c, name)->value = value;
}

void counters_add(struct counters *c, const char *name, int64_t value)
{
	struct counter *at = slot(c, name);

	/* Unsigned: what a guest says must not overflow into undefined. */
	at->value = (int64_t)((uint64_t)at->value + (uint64_t)value);
}

bool counters_get(const struct counters *c, const char *name, int64_t *value)
{
	bool found;
	size_t i = place(c, name, &found);

	if (found)
		*value = c->v[i].value;
	return found;
}

int64_t counters_value(const struct counters *c, const char *name)
{
	int64_t value = 0;

	counters_get(c, name, &value);
	return value;
}

void counters_free(struct counters *c)
{
	for (size_t i = 0; i < c->n; i++)
		free(c->v[i].name);
	free(c->v);
	c->v = NULL;
	c->n = 0;
}

json_t *counters_to_json(const struct counters *c)
{
	json_t *o = json_object();

	for (size_t i = 0; i < c->n; i++)
		json_object_set_new(o, c->v[i].name,
				    json_integer(c->v[i].value));
	return o;
}

int counters_from_json(struct counters *c, const json_t *o, const char *where,
		       struct err *err)
{
	const char *key;
	json_t *v;

	if (!json_is_object(o))
		return err_set(err, EXIT_USAGE, "%s: not an object", where);
	json_object_foreach((json_t *)o, key, v) {
		if (!json_is_integer(v))
			return err_set(err, EXIT_USAGE,
				       "%s: counter \"%.60s\" is not an integer",
				       where, key);
		counters_set(c, key, json_integer_value(v));
	}
	return 0;
}
