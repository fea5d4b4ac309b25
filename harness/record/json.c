/* SPDX-License-Identifier: GPL-2.0 */
#include <math.h>
#include <stdlib.h>

#include "json.h"

json_t *rec_text(const char *s)
{
	json_t *v;
	char *copy;

	if (!s)
		return json_null();
	v = json_string(s);
	if (v)
		return v;
	copy = xstrdup(s);
	for (char *p = copy; *p; p++)
		if ((unsigned char)*p >= 0x80)
			*p = '?';
	v = json_string(copy);
	free(copy);
	return v;
}

int rec_get_text(const json_t *o, const char *where, const char *key,
		 char **value, struct err *err)
{
	const char *s;

	free(*value);
	*value = NULL;
	if (json_is_null(json_object_get(o, key)))
		return 0;
	if (js_string(o, where, key, &s, err))
		return -1;
	*value = xstrdup(s);
	return 0;
}

json_t *rec_strlist(const struct strlist *l)
{
	json_t *a = json_array();

	for (size_t i = 0; i < l->n; i++)
		json_array_append_new(a, rec_text(l->v[i]));
	return a;
}

int rec_get_strlist(const json_t *o, const char *where, const char *key,
		    struct strlist *l, struct err *err)
{
	json_t *a, *v;
	size_t i;

	if (js_container(o, where, key, JSON_ARRAY, &a, err))
		return -1;
	json_array_foreach(a, i, v) {
		if (!json_is_string(v))
			return err_set(err, EXIT_USAGE,
				       "%s: \"%s\" holds something else than strings",
				       where, key);
		strlist_add(l, json_string_value(v));
	}
	return 0;
}

json_t *rec_real(double v)
{
	return isfinite(v) ? json_real(v) : json_null();
}

int rec_get_real(const json_t *o, const char *where, const char *key,
		 double *value, struct err *err)
{
	if (json_is_null(json_object_get(o, key))) {
		*value = NAN;
		return 0;
	}
	return js_number(o, where, key, value, err);
}
