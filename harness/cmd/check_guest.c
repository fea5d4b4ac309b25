/* SPDX-License-Identifier: GPL-2.0 */
/*
 * folab check: guests, and what comes from them.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../machine/machine.h"
#include "../report/report.h"
#include "check.h"

#define GUEST_MEMORY	(2048ull << 20)
/* More than one, so that what runs at the same time really does. */
#define GUEST_CPUS	2
#define SCRATCH		(384ull << 20)	/* bytes of the XFS in the guest */
/*
 * Wall time that a guest gets: so much to boot and end, and so much for each
 * second that its programs may take of the guest's own.
 */
#define BOOT_BUDGET	120
#define WALL_PER_SECOND	8
#define HUGE_PAGES	"hugepages=8"	/* of the architecture's 2M */
/*
 * What the debug config costs: instructions for everything that is checked, and
 * memory for KASAN's shadow, stacks of page_owner, page table check.
 * folab.slow= stretches the limits of single cases (workloads/cases/lib).
 */
#define DEBUG_SLOWER	8
#define DEBUG_MEMORY(bytes)	((bytes) / 2 * 3)

/* ---- what comes in ------------------------------------------------------------ */

static struct case_run *running(struct check *ck)
{
	struct case_run *r = ck->n_runs ? &ck->runs[ck->n_runs - 1] : NULL;

	return r && !r->ended ? r : NULL;
}

static struct case_run *begin_run(struct check *ck)
{
	const struct item *it = &ck->items[ck->n_runs];
	struct case_run *r = &ck->runs[ck->n_runs++];
	char *name = ck->label ?
		xasprintf("%s:%s", ck->label, it->program->name) :
		xstrdup(it->program->name);

	case_run_init(r, name, it->boot);
	free(name);
	ck->begun = now_seconds();
	return r;
}

/* It has ended: what no line told before, and the verdict. */
static void show_end(struct check *ck, size_t shown)
{
	struct case_run *r = &ck->runs[ck->n_runs - 1];

	r->seconds = now_seconds() - ck->begun;
	if (!ck->to)
		return;
	for (size_t i = shown; i < r->n_tests; i++)
		ktap_test(ck->to, r, i);
	/* Those of a program without a plan were not shown yet. */
	for (size_t i = 0; i < r->notes.n && r->planned < 0; i++)
		ktap_note(ck->to, false, r->notes.v[i]);
	ktap_run(ck->to, r, ck->before + ck->n_runs);
}

static void take_line(struct check *ck, struct case_run *r, const char *line)
{
	size_t notes = r->notes.n;

	switch (case_run_line(r, line)) {
	case CASE_LINE_PLAN:
		if (ck->to)
			ktap_plan(ck->to, r);
		break;
	case CASE_LINE_TEST:
		if (ck->to)
			ktap_test(ck->to, r, r->n_tests - 1);
		break;
	case CASE_LINE_NOTE:
		if (ck->to && r->planned >= 0 && r->notes.n > notes)
			ktap_note(ck->to, true, r->notes.v[notes]);
		break;
	}
}

static void hear(void *arg, const struct wire *w)
{
	struct check *ck = arg;
	struct case_run *r = running(ck);
	size_t shown;

	if (w->type == WIRE_CASE) {
		begin_run(ck);
	} else if (r && w->type == WIRE_KTAP) {
		take_line(ck, r, w->text);
	} else if (r && w->type == WIRE_CASE_END) {
		shown = r->n_tests;
		case_run_end(r, w->code, w->text);
		show_end(ck, shown);
	}
}

static void show_tail(struct check *ck, const char *tail)
{
	char *copy = xstrdup(tail ? tail : ""), *line, *save = NULL;

	for (line = strtok_r(copy, "\n", &save); line && ck->to;
	     line = strtok_r(NULL, "\n", &save))
		ktap_note(ck->to, false, line);
	free(copy);
}

/*
 * The guest is lost.  The program that ran failed; if none did, the next one
 * is taken for it, since somebody has to be.
 */
static void lose(struct check *ck, const struct trial *t)
{
	struct case_run *r = running(ck);
	size_t shown;
	char *why;

	if (!r)
		r = begin_run(ck);
	shown = r->n_tests;
	why = xasprintf("the guest died: %s", t->failed);
	show_tail(ck, t->console_tail);
	case_run_lost(r, why);
	free(why);
	show_end(ck, shown);
	ck->died = true;
}

/* ---- guests ------------------------------------------------------------------ */

/* Items [first, end) share a guest. */
static size_t end_of_group(const struct check *ck, size_t first)
{
	size_t end = first + 1;

	while (end < ck->n_items &&
	       !check_same_guest(&ck->items[first], &ck->items[end]))
		end++;
	return end;
}

static int64_t fill_job(const struct check *ck, size_t first, size_t end,
			struct job *job)
{
	int64_t seconds = 0, slower = ck->build.fragment ? DEBUG_SLOWER : 1;

	job->fs = xstrdup("xfs");
	job->fs_bytes = ck->items[first].program->scratch;
	if (!job->fs_bytes)
		job->fs_bytes = SCRATCH;
	for (size_t i = first; i < end; i++) {
		const struct item *it = &ck->items[i];
		struct job_case *c = job_add_case(job, it->program->name,
						  it->program->seconds * slower);

		seconds += c->seconds;
		for (size_t k = 0; k < it->args.n; k++)
			strlist_add(&c->args, it->args.v[k]);
		for (size_t k = 0; k < it->program->needs.n; k++)
			job_add_extra(job, it->program->needs.v[k]);
	}
	return BOOT_BUDGET * slower + seconds * WALL_PER_SECOND;
}

static void fill_cmdline(const struct check *ck, const struct item *it,
			 struct strlist *cmdline)
{
	strlist_add(cmdline, HUGE_PAGES);
	if (ck->build.fragment) {
		strlist_add(cmdline, "page_owner=on");
		strlist_addf(cmdline, "folab.slow=%d", DEBUG_SLOWER);
		/*
		 * The APIC's timer is verified by jiffies that the HPET makes,
		 * which a kernel so slow gets wrong; then it does not start
		 * the second processor.
		 */
		if (!strcmp(ck->arch->name, "x86_64"))
			strlist_add(cmdline, "hpet=disable");
	}
	if (it->boot[0])
		strlist_add(cmdline, it->boot);
	for (size_t i = 0; i < ck->boot.n; i++)
		strlist_add(cmdline, ck->boot.v[i]);
}

/* @consoles: where, or NULL. */
static int run_guest(struct check *ck, const char *consoles, size_t first,
		     size_t end, struct trial *t, struct err *err)
{
	const struct item *it = &ck->items[first];
	struct image images[2] = { ck->image, ck->image };
	struct strlist cmdline = { 0 };
	struct job job = { 0 };
	struct machine_setup setup = {
		.arch = ck->arch,
		.job = &job,
		.memory = it->program->memory ? it->program->memory :
			GUEST_MEMORY,
		.cpus = it->program->cpus ? (int)it->program->cpus :
			GUEST_CPUS,
		.parallel = 1,
		.dir = consoles,
		.cmdline = &cmdline,
		.hear = hear,
		.hear_arg = ck,
	};
	int rc;

	if (ck->build.fragment)
		setup.memory = DEBUG_MEMORY(setup.memory);
	setup.budget = fill_job(ck, first, end, &job);
	fill_cmdline(ck, it, &cmdline);
	if (ck->to) {
		char *text = xasprintf("guest: %zu MiB, %d processors%s%s, at most %" PRId64
				       " s of wall time for %zu programs",
				       (size_t)(setup.memory >> 20), setup.cpus,
				       it->boot[0] ? ", " : "", it->boot,
				       setup.budget, end - first);

		ktap_note(ck->to, false, text);
		free(text);
	}
	rc = machine_emulated.run(&setup, images, t, 1, err);
	strlist_free(&cmdline);
	job_free(&job);
	return rc;
}

/* What comes behind a program that took its guest along gets another guest. */
static int run_group(struct check *ck, const char *prefix, size_t end,
		     struct err *err)
{
	while (ck->n_runs < end) {
		size_t first = ck->n_runs;
		struct trial t = { .side = 'A', .seed = ck->seed };
		char *consoles = prefix ?
			xasprintf("%s-%d", prefix, ck->guests++) : NULL;
		int rc = run_guest(ck, consoles, first, end, &t, err);
		bool none = ck->n_runs == first;

		if (!rc && t.failed)
			lose(ck, &t);
		/* One that does not even get so far will not the next time. */
		while (!rc && t.failed && none && ck->n_runs < end)
			lose(ck, &t);
		trial_free(&t);
		free(consoles);
		if (rc)
			return -1;
	}
	return 0;
}

void check_head(const struct check *ck, FILE *to)
{
	char *text = xasprintf("folab " FOLAB_VERSION ": %s%s (%s), %s, seed %" PRId64,
			       ck->spec, ck->build.fragment ? " --debug" : "",
			       ck->image.release ? ck->image.release :
			       "release not known", ck->arch->name, ck->seed);

	ktap_note(to, false, text);
	free(text);
	for (size_t i = 0; i < ck->boot.n; i++) {
		text = xasprintf("boot option: %s", ck->boot.v[i]);
		/* One line, whatever a user's option has in it. */
		for (char *c = text; *c; c++)
			if ((unsigned char)*c < ' ')
				*c = ' ';
		ktap_note(to, false, text);
		free(text);
	}
}

int check_run(struct check *ck, const char *dir, const char *prefix,
	      struct err *err)
{
	char *path = dir ? xasprintf("%s/%s", dir, prefix) : NULL;
	int rc = 0;

	ck->runs = xcalloc(ck->n_items, sizeof(*ck->runs));
	if (ck->to)
		check_head(ck, ck->to);
	while (ck->n_runs < ck->n_items && !rc)
		rc = run_group(ck, path, end_of_group(ck, ck->n_runs), err);
	free(path);
	return rc;
}
