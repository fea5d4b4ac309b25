/* SPDX-License-Identifier: GPL-2.0 */
/*
 * folab check with several kernels: did they do the same?  A case says what has
 * to be alike with case_same(): a line "same: NAME VALUE" among its notes.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"

#define WORD	"same: "

struct said {
	char *name;		/* PROGRAM NAME, with the options of the boot */
	const char *value;	/* of a note */
};

struct list {
	struct said *v;
	size_t n;
};

static void add_said(struct list *l, const struct item *it, const char *text)
{
	size_t len = strcspn(text, " ");

	l->v = xrealloc(l->v, l->n + 1, sizeof(*l->v));
	l->v[l->n++] = (struct said){
		.name = xasprintf("%s%s%s %.*s", it->program->name,
				  it->boot[0] ? " " : "", it->boot, (int)len,
				  text),
		.value = text + len + strspn(text + len, " "),
	};
}

static void add_notes(struct list *l, const struct item *it,
		      const struct strlist *notes)
{
	for (size_t i = 0; i < notes->n; i++)
		if (str_starts(notes->v[i], WORD))
			add_said(l, it, notes->v[i] + strlen(WORD));
}

static void gather(const struct check *ck, struct list *l)
{
	for (size_t i = 0; i < ck->n_runs; i++) {
		const struct case_run *r = &ck->runs[i];

		for (size_t k = 0; k < r->n_tests; k++)
			add_notes(l, &ck->items[i], &r->tests[k].notes);
		add_notes(l, &ck->items[i], &r->notes);
	}
}

static const char *value_of(const struct list *l, const char *name)
{
	for (size_t i = 0; i < l->n; i++)
		if (!strcmp(l->v[i].name, name))
			return l->v[i].value;
	return NULL;
}

/* Names that any kernel told, in the order in which they came. */
static void all_names(const struct list *lists, size_t n, struct strlist *names)
{
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < lists[i].n; k++)
			if (!strlist_has(names, lists[i].v[k].name))
				strlist_add(names, lists[i].v[k].name);
}

static void say(struct case_run *r, char *line)
{
	case_run_line(r, line);
	free(line);
}

static void compare(const struct check *ck, const struct list *lists, size_t n,
		    const char *name, struct case_run *r)
{
	const char *first = value_of(&lists[0], name);
	bool alike = first != NULL;

	for (size_t i = 1; i < n && alike; i++) {
		const char *value = value_of(&lists[i], name);

		alike = value && !strcmp(first, value);
	}
	for (size_t i = 0; i < n && !alike; i++) {
		const char *value = value_of(&lists[i], name);

		say(r, xasprintf("# %s: %s", ck[i].spec,
				 value ? value : "did not say"));
	}
	say(r, xasprintf("%sok %zu %s", alike ? "" : "not ", r->n_tests + 1,
			 name));
}

void check_alike(const struct check *ck, size_t n, struct case_run *r)
{
	struct list *lists = xcalloc(n, sizeof(*lists));
	struct strlist names = { 0 };

	for (size_t i = 0; i < n; i++)
		gather(&ck[i], &lists[i]);
	all_names(lists, n, &names);
	case_run_init(r, "alike", "");
	say(r, xasprintf("1..%zu", names.n ? names.n : 1));
	for (size_t i = 0; i < names.n; i++)
		compare(ck, lists, n, names.v[i], r);
	if (!names.n)
		say(r, xstrdup("ok 1 alike # SKIP no case of these says what has to be the same on all kernels"));
	case_run_end(r, 0, NULL);
	strlist_free(&names);
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < lists[i].n; k++)
			free(lists[i].v[k].name);
		free(lists[i].v);
	}
	free(lists);
}
