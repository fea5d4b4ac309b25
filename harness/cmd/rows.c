/* SPDX-License-Identifier: GPL-2.0 */
#include <stdlib.h>
#include <string.h>

#include "../build/build.h"
#include "../machine/machine.h"
#include "rows.h"

/* ---- which rows ---------------------------------------------------------------- */

static int no_row(const struct scenario *s, const char *name, struct err *err)
{
	char list[600] = "";
	size_t n = 0;

	for (size_t i = 0; i < s->n_rows && n < sizeof(list); i++)
		n += snprintf(list + n, sizeof(list) - n, "%s%s", i ? ", " : "",
			      s->rows[i].name);
	return err_set(err, EXIT_USAGE,
		       "--rows: no row \"%.60s\" in scenario %s; there are: %s",
		       name, s->name, list);
}

/* chosen[i] for each row of @s that @names has; "" has none, which means all. */
static int choose(const struct scenario *s, const char *names, bool *chosen,
		  struct err *err)
{
	char *copy = xstrdup(names), *save, *name;
	bool any = !*names;
	int rc = 0;

	for (name = strtok_r(copy, ",", &save); name && !rc;
	     name = strtok_r(NULL, ",", &save)) {
		size_t i = 0, len;

		any = true;
		name += strspn(name, " ");
		len = strlen(name);
		while (len && name[len - 1] == ' ')
			name[--len] = '\0';
		while (i < s->n_rows && strcmp(s->rows[i].name, name))
			i++;
		if (i < s->n_rows)
			chosen[i] = true;
		else
			rc = no_row(s, name, err);
	}
	free(copy);
	return any ? rc : no_row(s, names, err);
}

/* ---- parts --------------------------------------------------------------------- */

static void part_init(struct part *p, const struct ab *ab,
		      const struct scenario *s, struct result *r)
{
	*p = (struct part){ .ab = *ab, .s = *s, .r = r };
	p->ab.params = (struct strlist){ 0 };
	for (size_t i = 0; i < ab->params.n; i++)
		strlist_add(&p->ab.params, ab->params.v[i]);
}

static int row_init(struct part *p, const struct ab *ab,
		    const struct scenario *s, const struct scenario_row *row,
		    const struct workload *w, struct err *err)
{
	part_init(p, ab, s, NULL);
	p->name = row->name;
	p->ab.rows = p->ab.selftests = NULL;
	if (row->arch)
		p->ab.arch = row->arch;
	for (size_t i = 0; i < row->set.n; i++)
		strlist_add(&p->ab.params, row->set.v[i]);
	if (scenario_row_params(s, row, &p->s.params, err) ||
	    (w->check && w->check(&p->s.params, err)))
		return err_prefix(err, "%s: row \"%s\"", s->path, row->name);
	return 0;
}

/* Is @p the run itself?  Values are looked at, not how they are written. */
static bool is_same(const struct part *p, const struct part *base)
{
	if (p->ab.arch != base->ab.arch)
		return false;
	for (size_t i = 0; i < p->s.params.n; i++)
		if (p->s.params.v[i].value != base->s.params.v[i].value)
			return false;
	return true;
}

static void part_free(struct part *p)
{
	strlist_free(&p->ab.params);
	params_free(&p->s.params);
}

static void add_variant(struct result *r, struct part *p,
			const struct scenario_row *row)
{
	struct variant *v = variant_add(r, row->name);

	for (size_t i = 0; i < row->set.n; i++)
		strlist_add(&v->set, row->set.v[i]);
	if (row->arch)
		strlist_addf(&v->set, "arch=%s", row->arch->name);
	p->r = v->r;
}

static int add_rows(struct part *parts, size_t *n, const struct ab *ab,
		    const struct scenario *s, const bool *chosen,
		    const struct workload *w, struct result *r, struct err *err)
{
	for (size_t i = 0; i < s->n_rows; i++) {
		struct part *p = &parts[*n];

		if (!chosen[i] && *ab->rows)
			continue;
		if (row_init(p, ab, s, &s->rows[i], w, err)) {
			part_free(p);
			return -1;
		}
		if (is_same(p, &parts[0])) {
			progress_note("row %s is what the run itself measures: left out",
				      p->name);
			part_free(p);
			continue;
		}
		add_variant(r, p, &s->rows[i]);
		(*n)++;
	}
	return 0;
}

int parts_make(struct part **parts, size_t *n, const struct ab *ab,
	       const struct scenario *s, const struct workload *w,
	       struct result *r, struct err *err)
{
	bool *chosen = xcalloc(s->n_rows + 1, sizeof(*chosen));
	int rc = 0;

	*parts = xcalloc(s->n_rows + 1, sizeof(**parts));
	part_init(&(*parts)[0], ab, s, r);
	params_copy(&(*parts)[0].s.params, &s->params);
	*n = 1;
	if (ab->rows && !s->n_rows)
		rc = err_set(err, EXIT_USAGE,
			     "--rows: %s has no section [rows]", s->path);
	else if (ab->rows)
		rc = choose(s, ab->rows, chosen, err);
	if (ab->rows && !rc)
		rc = add_rows(*parts, n, ab, s, chosen, w, r, err);
	free(chosen);
	return rc;
}

void parts_free(struct part *parts, size_t n)
{
	for (size_t i = 0; i < n; i++)
		part_free(&parts[i]);
	free(parts);
}

/* ---- can they run --------------------------------------------------------------- */

static int check_arch(const struct part *p, struct err *err)
{
	const struct strlist none = { 0 };
	const struct job job = { 0 };
	const struct machine_setup setup = {
		.arch = p->ab.arch, .job = &job, .cmdline = &none,
	};
	char *name = xasprintf("agent-%s", p->ab.arch->name), *path = NULL;
	int rc = machine_built_path(name, &path, err);

	free(path);
	free(name);
	return rc ? rc : machine_emulated.describe(&setup, p->r, err);
}

int parts_check(const struct part *parts, size_t n, struct err *err)
{
	for (size_t i = 0; i < n; i++) {
		const struct part *p = &parts[i];
		int rc = 0;

		for (int s = 0; s < 2 && !rc; s++)
			rc = build_check_spec(p->ab.spec[s], p->ab.arch, err);
		if (!rc && p->ab.arch != parts[0].ab.arch)
			rc = check_arch(p, err);
		if (rc)
			return p->name ? err_prefix(err, "row \"%s\"", p->name) :
				rc;
	}
	return 0;
}
