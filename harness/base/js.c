/* SPDX-License-Identifier: GPL-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base.h"

#define JS_MAX	(256u << 20)

int js_read(const char *path, json_t **root, struct err *err)
{
	json_error_t je;
	char *data;
	size_t len;

	if (file_read(path, JS_MAX, &data, &len, err))
		return -1;
	*root = json_loadb(data, len, JSON_REJECT_DUPLICATES, &je);
	free(data);
	if (!*root)
		return err_set(err, EXIT_USAGE, "%s:%d: not JSON: %s", path,
			       je.line, je.text);
	return 0;
}

int js_write(const char *path, const json_t *root, struct err *err)
{
	char *text = json_dumps(root, JSON_SORT_KEYS | JSON_INDENT(2)), *line;
	int rc;

	if (!text)
		return err_set(err, EXIT_ENVIRONMENT,
			       "can't write %s: no JSON form", path);
	line = xasprintf("%s\n", text);
	rc = file_write(path, line, strlen(line), err);
	free(line);
	free(text);
	return rc;
}

static json_t *member(const json_t *o, const char *where, const char *key,
		      struct err *err)
{
	json_t *v = json_object_get(o, key);

	if (!v)
		err_set(err, EXIT_USAGE, "%s: \"%s\" is missing", where, key);
	return v;
}

static int wrong(const char *where, const char *key, const char *what,
		 struct err *err)
{
	return err_set(err, EXIT_USAGE, "%s: \"%s\" is not %s", where, key,
		       what);
}

int js_string(const json_t *o, const char *where, const char *key,
	      const char **value, struct err *err)
{
	json_t *v = member(o, where, key, err);

	if (!v)
		return -1;
	*value = json_string_value(v);
	return *value ? 0 : wrong(where, key, "a string", err);
}

int js_int(const json_t *o, const char *where, const char *key,
	   int64_t *value, struct err *err)
{
	json_t *v = member(o, where, key, err);

	if (!v)
		return -1;
	if (!json_is_integer(v))
		return wrong(where, key, "an integer", err);
	*value = json_integer_value(v);
	return 0;
}

int js_number(const json_t *o, const char *where, const char *key,
	      double *value, struct err *err)
{
	json_t *v = member(o, where, key, err);

	if (!v)
		return -1;
	if (!json_is_number(v))
		return wrong(where, key, "a number", err);
	*value = json_number_value(v);
	return 0;
}

int js_bool(const json_t *o, const char *where, const char *key, bool *value,
	    struct err *err)
{
	json_t *v = member(o, where, key, err);

	if (!v)
		return -1;
	if (!json_is_boolean(v))
		return wrong(where, key, "true or false", err);
	*value = json_is_true(v);
	return 0;
}

int js_container(const json_t *o, const char *where, const char *key,
		 json_type type, json_t **value, struct err *err)
{
	json_t *v = member(o, where, key, err);

	if (!v)
		return -1;
	if (json_typeof(v) != type)
		return wrong(where, key,
			     type == JSON_OBJECT ? "an object" : "an array",
			     err);
	*value = v;
	return 0;
}
