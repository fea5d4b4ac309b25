/* SPDX-License-Identifier: GPL-2.0 */
/*
 * folab check: which programs run, and which of them in one guest.
 */
#include <stdlib.h>
#include <string.h>

#include "../machine/machine.h"
#include "check.h"

static struct item *add_item(struct check *ck, const struct case_program *p,
			     const char *boot)
{
	struct item *it;

	ck->items = xrealloc(ck->items, ck->n_items + 1, sizeof(*ck->items));
	it = &ck->items[ck->n_items++];
	*it = (struct item){ .program = p, .boot = boot };
	return it;
}

static void add_program(struct check *ck, const struct case_program *p)
{
	for (size_t i = 0; i < p->boots.n; i++)
		add_item(ck, p, p->boots.v[i]);
}

/*
 * One test of it, or (@test NULL) all.  An item without arguments runs all of
 * its program's tests already.
 */
static void narrow(struct item *it, bool fresh, const char *test)
{
	if (!test) {
		strlist_free(&it->args);
		return;
	}
	if (!fresh && !it->args.n)
		return;
	if (!strchr(test, '.')) {
		strlist_add(&it->args, "-t");
		strlist_add(&it->args, test);
		return;
	}
	/*
	 * FIXTURE[.VARIANT].TEST, as KTAP calls it; where the fixture has the
	 * program's name, it may have been given once for both.
	 */
	strlist_add(&it->args, "-r");
	strlist_add(&it->args, test);
	strlist_add(&it->args, "-r");
	strlist_addf(&it->args, "%s.%s", it->program->name, test);
}

static int add_named(struct check *ck, const char *name, struct err *err)
{
	size_t len = strcspn(name, "."), before = ck->n_items;
	const char *test = name[len] ? name + len + 1 : NULL;
	const struct case_program *p = NULL;
	bool fresh = true;

	for (size_t i = 0; i < ck->n_programs && !p; i++)
		if (strlen(ck->programs[i].name) == len &&
		    !strncmp(ck->programs[i].name, name, len))
			p = &ck->programs[i];
	if (!p || (test && !*test))
		return err_set(err, EXIT_USAGE,
			       "no case \"%s\"; folab list cases tells which there are",
			       name);
	for (size_t i = 0; i < before; i++)
		if (ck->items[i].program == p)
			fresh = false;
	if (fresh)
		add_program(ck, p);
	for (size_t i = 0; i < ck->n_items; i++)
		if (ck->items[i].program == p)
			narrow(&ck->items[i], fresh, test);
	return 0;
}

/* Guests in which nothing differs stand together, in the order of names. */
int check_same_guest(const struct item *a, const struct item *b)
{
	const struct case_program *p = a->program, *q = b->program;
	int rc = strcmp(a->boot, b->boot);

	if (rc)
		return rc;
	if (p->memory != q->memory)
		return p->memory < q->memory ? -1 : 1;
	if (p->scratch != q->scratch)
		return p->scratch < q->scratch ? -1 : 1;
	return p->cpus < q->cpus ? -1 : p->cpus > q->cpus;
}

static int by_guest(const void *a, const void *b)
{
	const struct item *x = a, *y = b;
	int rc = check_same_guest(x, y);

	return rc ? rc : strcmp(x->program->name, y->program->name);
}

int check_plan(struct check *ck, int argc, char **argv, struct err *err)
{
	char *dir;
	int rc;

	if (machine_cases_dir(ck->arch, &dir, err))
		return -1;
	rc = case_programs(dir, &ck->programs, &ck->n_programs, err);
	free(dir);
	for (int i = 0; i < argc && !rc; i++)
		rc = add_named(ck, argv[i], err);
	for (size_t i = 0; i < ck->n_programs && !rc && !argc; i++)
		if (!ck->programs[i].hidden &&
		    (!ck->quick || ck->programs[i].quick))
			add_program(ck, &ck->programs[i]);
	if (rc)
		return rc;
	if (!ck->n_items)
		return err_set(err, EXIT_ENVIRONMENT, "there are no cases");
	qsort(ck->items, ck->n_items, sizeof(*ck->items), by_guest);
	return 0;
}
