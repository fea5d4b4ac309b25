/* SPDX-License-Identifier: GPL-2.0 */
/*
 * folab ab --selftests: what folab check does, on both kernels, into the result.
 */
#include <stdlib.h>
#include <string.h>

#include "../machine/machine.h"
#include "../report/report.h"
#include "selftests.h"

/* ---- which ------------------------------------------------------------------- */

static void add_word(const struct case_program *programs, size_t n,
		     const char *word, struct strlist *names)
{
	bool quick = !strcmp(word, "quick");

	if (!quick && strcmp(word, "all")) {
		strlist_add(names, word);
		return;
	}
	for (size_t i = 0; i < n; i++)
		if (!programs[i].hidden && (!quick || programs[i].quick))
			strlist_add(names, programs[i].name);
}

/* The names that folab check would be given. */
static int find_names(const char *asked, const struct arch *arch,
		      struct strlist *names, struct err *err)
{
	struct case_program *programs;
	char *dir, *words, *word, *save = NULL;
	size_t n;
	int rc;

	if (machine_cases_dir(arch, &dir, err))
		return -1;
	rc = case_programs(dir, &programs, &n, err);
	free(dir);
	if (rc)
		return -1;
	words = xstrdup(asked);
	for (word = strtok_r(words, ",", &save); word;
	     word = strtok_r(NULL, ",", &save))
		add_word(programs, n, word, names);
	free(words);
	case_programs_free(programs, n);
	if (names->n)
		return 0;
	return err_set(err, EXIT_USAGE, "--selftests=%s names no case", asked);
}

int selftests_plan(struct selftest_plan *p, const char *asked,
		   const struct arch *arch, const char *const spec[2],
		   struct err *err)
{
	struct strlist names = { 0 };
	int rc = find_names(asked, arch, &names, err);

	p->asked = asked;
	for (int i = 0; i < 2 && !rc; i++) {
		struct check *ck = &p->side[i];

		ck->spec = spec[i];
		ck->arch = arch;
		ck->seed = 1;
		rc = check_plan(ck, (int)names.n, names.v, err);
	}
	strlist_free(&names);
	return rc;
}

void selftests_plan_free(struct selftest_plan *p)
{
	for (int i = 0; i < 2; i++)
		check_free(&p->side[i]);
}

/* ---- run --------------------------------------------------------------------- */

/* check_free() gets no image: that is the result's. */
static int run_side(struct selftest_plan *p, int i, const char *dir,
		    const struct image *image, struct err *err)
{
	struct check *ck = &p->side[i];
	char *path = xasprintf("%s/selftests-%c.ktap", dir, 'A' + i);
	char *prefix = xasprintf("guest-%c", 'A' + i), *text = NULL;
	size_t len = 0;
	int rc;

	ck->to = open_memstream(&text, &len);
	if (!ck->to)
		abort();	/* out of memory */
	ck->image = *image;
	ktap_begin(ck->to, ck->n_items);
	rc = check_run(ck, dir, prefix, err);
	ck->image = (struct image){ 0 };
	fclose(ck->to);
	ck->to = NULL;
	if (!rc)
		rc = file_write(path, text, len, err);
	p->died |= ck->died;
	free(text);
	free(prefix);
	free(path);
	return rc;
}

static void hand_over(struct check *ck, struct case_run **runs, size_t *n)
{
	*runs = ck->runs;
	*n = ck->n_runs;
	ck->runs = NULL;
	ck->n_runs = 0;
}

int selftests_run(struct selftest_plan *p, const char *dir, struct result *r,
		  struct err *err)
{
	if (!p->asked)
		return 0;
	for (int i = 0; i < 2; i++)
		if (run_side(p, i, dir, &r->side[i], err))
			return -1;
	r->selftests.asked = xstrdup(p->asked);
	check_alike(p->side, 2, &r->selftests.alike);
	for (int i = 0; i < 2; i++)
		hand_over(&p->side[i], &r->selftests.runs[i],
			  &r->selftests.n_runs[i]);
	return 0;
}
