/* SPDX-License-Identifier: GPL-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"

static struct param *find(const struct params *p, const char *key)
{
	for (size_t i = 0; i < p->n; i++)
		if (!strcmp(p->v[i].name, key))
			return &p->v[i];
	return NULL;
}

static int choice(const struct param_spec *s, const char *text, int64_t *value)
{
	for (int64_t i = 0; s->choices[i]; i++) {
		if (!strcmp(s->choices[i], text)) {
			*value = i;
			return 0;
		}
	}
	return -1;
}

static int parse(const struct param_spec *s, const char *text, int64_t *value)
{
	char *number = NULL;
	uint64_t bytes;
	size_t n;
	int rc = -1;

	switch (s->type) {
	case PARAM_SIZE:
		if (parse_size(text, &bytes) || bytes > INT64_MAX ||
		    (int64_t)bytes < s->min || (int64_t)bytes > s->max)
			return -1;
		*value = bytes;
		return 0;
	case PARAM_INT:
		return parse_int(text, s->min, s->max, value);
	case PARAM_PERCENT:
		number = xstrdup(text);
		n = strlen(number);
		if (n && number[n - 1] == '%')
			number[n - 1] = '\0';
		rc = parse_int(number, s->min, s->max, value);
		free(number);
		return rc;
	case PARAM_CHOICE:
		return choice(s, text, value);
	}
	return -1;
}

/* What @s allows, for an error's text. */
static void allowed(const struct param_spec *s, char *buf, size_t len)
{
	char low[32], high[32];
	size_t n = 0;

	switch (s->type) {
	case PARAM_SIZE:
		snprintf(buf, len, "a size from %s to %s, like 192M",
			 format_size(s->min, low, sizeof(low)),
			 format_size(s->max, high, sizeof(high)));
		break;
	case PARAM_INT:
	case PARAM_PERCENT:
		snprintf(buf, len, "a whole number from %" PRId64 " to %" PRId64
			 "%s", s->min, s->max,
			 s->type == PARAM_PERCENT ? " (percent)" : "");
		break;
	case PARAM_CHOICE:
		for (int i = 0; s->choices[i] && n < len; i++)
			n += snprintf(buf + n, len - n, "%s%s",
				      i ? " or " : "", s->choices[i]);
		break;
	}
}

void params_init(struct params *p, const struct param_spec *specs)
{
	size_t n = 0;

	while (specs[n].name)
		n++;
	p->v = xcalloc(n, sizeof(*p->v));
	p->n = n;
	for (size_t i = 0; i < n; i++) {
		p->v[i].spec = &specs[i];
		p->v[i].name = xstrdup(specs[i].name);
		p->v[i].text = xstrdup(specs[i].fallback);
		if (parse(&specs[i], specs[i].fallback, &p->v[i].value))
			abort();	/* a default that its own spec refuses */
	}
}

int params_set(struct params *p, const char *key, const char *text,
	       struct err *err)
{
	struct param *at = find(p, key);
	char what[400];
	size_t n = 0;

	if (!at) {
		what[0] = '\0';
		for (size_t i = 0; i < p->n && n < sizeof(what); i++)
			n += snprintf(what + n, sizeof(what) - n, "%s%s",
				      i ? ", " : "", p->v[i].name);
		return err_set(err, EXIT_USAGE,
			       "no parameter \"%.60s\"; there are: %s", key,
			       what);
	}
	if (parse(at->spec, text, &at->value)) {
		allowed(at->spec, what, sizeof(what));
		return err_set(err, EXIT_USAGE,
			       "parameter %s = \"%.60s\": must be %s", key,
			       text, what);
	}
	free(at->text);
	at->text = xstrdup(text);
	return 0;
}

int64_t params_get(const struct params *p, const char *key)
{
	struct param *at = find(p, key);

	if (!at || !at->spec)
		abort();
	return at->value;
}

const char *params_text(const struct params *p, const char *key)
{
	struct param *at = find(p, key);

	if (!at)
		abort();
	return at->text;
}

const char *params_find(const struct params *p, const char *key)
{
	struct param *at = find(p, key);

	return at ? at->text : NULL;
}

void params_copy(struct params *to, const struct params *from)
{
	to->n = from->n;
	to->v = xcalloc(from->n, sizeof(*to->v));
	for (size_t i = 0; i < from->n; i++) {
		to->v[i] = from->v[i];
		to->v[i].name = xstrdup(from->v[i].name);
		to->v[i].text = xstrdup(from->v[i].text);
	}
}

void params_free(struct params *p)
{
	for (size_t i = 0; i < p->n; i++) {
		free(p->v[i].name);
		free(p->v[i].text);
	}
	free(p->v);
	p->v = NULL;
	p->n = 0;
}

json_t *params_to_json(const struct params *p)
{
	json_t *o = json_object();

	for (size_t i = 0; i < p->n; i++)
		json_object_set_new(o, p->v[i].name,
				    rec_text(p->v[i].text));
	return o;
}

int params_from_json(struct params *p, const json_t *o, struct err *err)
{
	const char *key;
	json_t *v;

	if (!json_is_object(o))
		return err_set(err, EXIT_USAGE, "params: not an object");
	json_object_foreach((json_t *)o, key, v) {
		if (!json_is_string(v))
			return err_set(err, EXIT_USAGE,
				       "params: \"%.60s\" is not a string",
				       key);
		if (params_set(p, key, json_string_value(v), err))
			return -1;
	}
	return 0;
}

int params_from_result(struct params *p, const json_t *o, struct err *err)
{
	const char *key;
	json_t *v;

	if (!json_is_object(o))
		return err_set(err, EXIT_USAGE, "params: not an object");
	p->v = xcalloc(json_object_size(o), sizeof(*p->v));
	json_object_foreach((json_t *)o, key, v) {
		if (!json_is_string(v))
			return err_set(err, EXIT_USAGE,
				       "params: \"%.60s\" is not a string",
				       key);
		p->v[p->n].name = xstrdup(key);
		p->v[p->n++].text = xstrdup(json_string_value(v));
	}
	return 0;
}
