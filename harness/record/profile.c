/* SPDX-License-Identifier: GPL-2.0 */
#include <stdlib.h>
#include <string.h>

#include "json.h"

#define PROFILE_MAX	(64u << 20)
#define NO_PLACE	((size_t)-1)

/* Members that window and function have in common, and those of one only. */
struct field {
	const char *key;
	size_t window, fn;	/* offsets; NO_PLACE: not there */
};

#define BOTH(f)	{ #f, offsetof(struct profile, f), offsetof(struct profile_fn, f) }
#define WINDOW(f) { #f, offsetof(struct profile, f), NO_PLACE }
#define FN(f)	{ #f, NO_PLACE, offsetof(struct profile_fn, f) }

static const struct field fields[] = {
	WINDOW(windows), WINDOW(kernel_instructions), WINDOW(user_instructions),
	WINDOW(exceptions), FN(calls), FN(self), FN(inclusive),
	BOTH(tlbi_address), BOTH(tlbi_range), BOTH(tlbi_all), BOTH(dsb),
	BOTH(atomics),
};

static int64_t *at(void *base, size_t offset)
{
	return (int64_t *)((char *)base + offset);
}

static int64_t value_at(const void *base, size_t offset)
{
	return *(const int64_t *)((const char *)base + offset);
}

static void fn_free(struct profile_fn *f)
{
	free(f->name);
	free(f->inlined_in);
}

void profile_free(struct profile *p)
{
	for (size_t i = 0; i < p->n_fn; i++)
		fn_free(&p->fn[i]);
	free(p->fn);
	memset(p, 0, sizeof(*p));
}

static int same_text(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

static int by_name(const void *va, const void *vb)
{
	const struct profile_fn *a = va, *b = vb;
	int d = strcmp(a->name, b->name);

	return d ? d : same_text(a->inlined_in, b->inlined_in);
}

static int by_self(const void *va, const void *vb)
{
	const struct profile_fn *a = va, *b = vb;

	if (a->self != b->self)
		return a->self < b->self ? 1 : -1;
	return by_name(a, b);
}

void profile_add(struct profile *to, const struct profile *from)
{
	size_t old = to->n_fn;

	if (!to->fn)		/* qsort() takes no NULL */
		to->fn = xmalloc(sizeof(*to->fn));
	for (size_t k = 0; k < ARRAY_SIZE(fields); k++)
		if (fields[k].window != NO_PLACE)
			*at(to, fields[k].window) +=
				value_at(from, fields[k].window);
	qsort(to->fn, old, sizeof(*to->fn), by_name);
	for (size_t i = 0; i < from->n_fn; i++) {
		const struct profile_fn *f = &from->fn[i];
		struct profile_fn *mine = NULL;

		if (old)
			mine = bsearch(f, to->fn, old, sizeof(*to->fn),
				       by_name);
		if (!mine) {
			to->fn = xrealloc(to->fn, to->n_fn + 1,
					  sizeof(*to->fn));
			mine = &to->fn[to->n_fn++];
			*mine = (struct profile_fn){
				.name = xstrdup(f->name),
				.inlined_in = f->inlined_in ?
					xstrdup(f->inlined_in) : NULL,
			};
		}
		for (size_t k = 0; k < ARRAY_SIZE(fields); k++)
			if (fields[k].fn != NO_PLACE)
				*at(mine, fields[k].fn) +=
					value_at(f, fields[k].fn);
	}
	qsort(to->fn, to->n_fn, sizeof(*to->fn), by_self);
}

const struct profile_fn *profile_find(const struct profile *p,
				      const char *name)
{
	for (size_t i = 0; i < p->n_fn; i++)
		if (!strcmp(p->fn[i].name, name))
			return &p->fn[i];
	return NULL;
}

static void fields_to_json(json_t *o, const void *base, bool fn)
{
	for (size_t k = 0; k < ARRAY_SIZE(fields); k++) {
		size_t off = fn ? fields[k].fn : fields[k].window;

		if (off != NO_PLACE)
			json_object_set_new(o, fields[k].key,
					    json_integer(value_at(base, off)));
	}
}

json_t *profile_to_json(const struct profile *p)
{
	json_t *o = json_object(), *a = json_array();

	fields_to_json(o, p, false);
	for (size_t i = 0; i < p->n_fn; i++) {
		json_t *f = json_object();

		json_object_set_new(f, "name", rec_text(p->fn[i].name));
		if (p->fn[i].inlined_in)
			json_object_set_new(f, "inlined_in",
					    rec_text(p->fn[i].inlined_in));
		fields_to_json(f, &p->fn[i], true);
		json_array_append_new(a, f);
	}
	json_object_set_new(o, "schema", json_string(PROFILE_SCHEMA));
	json_object_set_new(o, "functions", a);
	return o;
}

static int fields_from_json(void *base, const json_t *o, bool fn,
			    struct err *err)
{
	for (size_t k = 0; k < ARRAY_SIZE(fields); k++) {
		size_t off = fn ? fields[k].fn : fields[k].window;

		if (off != NO_PLACE &&
		    js_int(o, "profile", fields[k].key, at(base, off), err))
			return -1;
	}
	return 0;
}

int profile_from_json(struct profile *p, const json_t *o, struct err *err)
{
	json_t *a, *f;
	size_t i;

	if (fields_from_json(p, o, false, err) ||
	    js_container(o, "profile", "functions", JSON_ARRAY, &a, err))
		return -1;
	p->fn = xcalloc(json_array_size(a), sizeof(*p->fn));
	json_array_foreach(a, i, f) {
		struct profile_fn *mine = &p->fn[p->n_fn];
		const char *name;

		if (js_string(f, "profile", "name", &name, err))
			return -1;
		mine->name = xstrdup(name);
		p->n_fn++;
		if (json_object_get(f, "inlined_in") &&
		    rec_get_text(f, "profile", "inlined_in", &mine->inlined_in,
				 err))
			return -1;
		if (fields_from_json(mine, f, true, err))
			return -1;
	}
	qsort(p->fn, p->n_fn, sizeof(*p->fn), by_self);
	return 0;
}

static int read_window(const char *line, size_t len, struct profile *p,
		       struct err *err)
{
	json_error_t je;
	json_t *o = json_loadb(line, len, JSON_REJECT_DUPLICATES, &je);
	int rc;

	if (!o)
		return err_set(err, EXIT_RUN, "not JSON: %s", je.text);
	rc = profile_from_json(p, o, err);
	json_decref(o);
	return rc;
}

int profile_read_windows(const char *path, struct profile **windows, size_t *n,
			 struct err *err)
{
	struct profile *list = NULL;
	size_t count = 0, len;
	char *data, *line, *end;

	*windows = NULL;
	*n = 0;
	if (file_read(path, PROFILE_MAX, &data, &len, err))
		return -1;
	for (line = data; *line; line = end + 1) {
		end = strchr(line, '\n');
		/* A line without its end: QEMU died while writing it. */
		if (!end) {
			err_set(err, EXIT_RUN, "it ends in the middle of a line");
			break;
		}
		list = xrealloc(list, count + 1, sizeof(*list));
		memset(&list[count], 0, sizeof(*list));
		count++;
		if (read_window(line, end - line, &list[count - 1], err))
			break;
	}
	free(data);
	if (err->code) {
		err->code = EXIT_RUN;
		err_prefix(err, "profile %s", path);
		for (size_t i = 0; i < count; i++)
			profile_free(&list[i]);
		free(list);
		return -1;
	}
	*windows = list;
	*n = count;
	return 0;
}
