/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A case of a random walk: its settings, its report, and a walk that is shorter
 * and fails as well.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib.h"
#include "walk_run.h"

/* What shrinking may cost; then what is left is printed. */
#define ATTEMPTS	400
#define SECONDS		60	/* of the guest, busy */
#define SWAP		(64 << 20)

static size_t plan_bytes(size_t most)
{
	return sizeof(struct walk_plan) + most * sizeof(struct walk_step);
}

struct walk_plan *walk_plan_new(size_t most)
{
	struct walk_plan *p = mmap(NULL, plan_bytes(most),
				   PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		abort();	/* out of memory */
	p->most = most;
	return p;
}

void walk_plan_free(struct walk_plan *p)
{
	munmap(p, plan_bytes(p->most));
}

/* ---- shrinking -------------------------------------------------------------------- */

static void copy_without(struct walk_plan *to, const struct walk_plan *from,
			 size_t first, size_t n)
{
	to->n = 0;
	for (size_t i = 0; i < from->n; i++)
		if (i < first || i >= first + n)
			to->steps[to->n++] = from->steps[i];
}

/* Nothing behind the step that fails is needed. */
static void cut(struct walk_plan *p, const struct walk_fail *f)
{
	if (f->step + 1 < p->n)
		p->n = f->step + 1;
}

struct budget {
	int attempts;
	double end;
};

static bool spent(struct budget *b)
{
	return b->attempts >= ATTEMPTS || guest_seconds() > b->end;
}

/* Leave out @n steps at a time, the last ones first.  Was any left out? */
static bool leave_out(struct walk *w, struct walk_plan *try, size_t n,
		      struct walk_result *last, struct budget *b)
{
	bool any = false;

	for (size_t at = w->plan->n; at > 0 && !spent(b);) {
		size_t first = at > n ? at - n : 0;

		copy_without(try, w->plan, first, at - first);
		b->attempts++;
		at = first;
		if (walk_once(w, try) || !w->result->fail.failed)
			continue;
		cut(try, &w->result->fail);
		copy_without(w->plan, try, 0, 0);
		*last = *w->result;
		any = true;
		if (at > w->plan->n)
			at = w->plan->n;
	}
	return any;
}

void walk_shrink(struct walk *w)
{
	struct budget b = { .end = guest_seconds() + SECONDS };
	struct walk_plan *try = walk_plan_new(w->plan->most);
	struct walk_result last = *w->result;
	size_t before, n;

	cut(w->plan, &last.fail);
	before = w->plan->n;
	/* Does it fail again?  Then it is worth it. */
	copy_without(try, w->plan, 0, 0);
	if (walk_once(w, try) || !w->result->fail.failed) {
		printf("# the same steps did not fail again\n");
		*w->result = last;
		goto out;
	}
	for (n = (w->plan->n + 1) / 2; n > 1 && !spent(&b); n /= 2)
		leave_out(w, try, n, &last, &b);
	while (!spent(&b) && leave_out(w, try, 1, &last, &b))
		;
	*w->result = last;
	printf("# %zu steps were left of %zu, after %d attempts%s\n",
	       w->plan->n, before, b.attempts,
	       spent(&b) ? "; the budget is spent" : "");
out:
	walk_plan_free(try);
}

/* ---- settings ----------------------------------------------------------------------- */

/* What else may move or write pages at a time of its own. */
static const struct { const char *path, *value; } quiet[] = {
	{ "/proc/sys/vm/dirty_writeback_centisecs", "0" },
	{ "/proc/sys/vm/compaction_proactiveness", "0" },
	{ "/sys/kernel/mm/lru_gen/enabled", NULL },	/* by the seed */
};

int walk_setting(const struct walk *w, int i, char *path, size_t len,
		 const char **value)
{
	static const char *const files[] = { "enabled", "shmem_enabled" };
	size_t k = (size_t)i;
	int order;

	if (k < ARRAY_SIZE(quiet)) {
		snprintf(path, len, "%s", quiet[k].path);
		*value = quiet[k].value ? quiet[k].value :
			w->gen.mglru ? "7" : "0";
		return 0;
	}
	k -= ARRAY_SIZE(quiet);
	if (k >= 2)
		return -1;
	order = k ? w->gen.shmem_order : w->gen.anon_order;
	*value = order ? "always" : "never";
	snprintf(path, len,
		 "/sys/kernel/mm/transparent_hugepage/hugepages-%zukB/%s",
		 (page_bytes() << (order ? order : 4)) >> 10, files[k]);
	return 0;
}

static int set_up(struct walk *w)
{
	const char *value;
	char path[200];
	int rc = case_swap(w->c, SWAP);

	if (!rc)
		rc = case_mglru(w->c, w->gen.mglru);
	for (size_t i = 0; i + 1 < ARRAY_SIZE(quiet) && rc >= 0; i++) {
		walk_setting(w, (int)i, path, sizeof(path), &value);
		rc = case_knob(w->c, path, value);
	}
	if (rc >= 0)
		rc = thp_allow(w->c, AREA_ANON, w->gen.anon_order);
	if (!rc)
		rc = thp_allow(w->c, AREA_SHMEM, w->gen.shmem_order);
	return rc;
}

/*
 * The cgroup of the case gets children: one for who tells and for what the model
 * holds, one for each walk.  So nobody may be in it itself.
 */
static int leave_cgroup(struct walk *w)
{
	int rc = cg_attach("", 0);

	snprintf(w->ctl, sizeof(w->ctl), "%s/ctl", w->c->cgroup);
	if (!rc)
		rc = cg_make(w->ctl);
	if (!rc)
		rc = cg_attach(w->ctl, 0);
	return rc ? case_fail("cgroup %s: %s", w->ctl, strerror(rc)) : 0;
}

/*
 * A page that MADV_PAGEOUT evicts has a shadow of the root cgroup: if it comes
 * back, it is active if fewer pages were evicted meanwhile than the root's sums
 * say that there are, and these are as old as the kernel's timer.  So there are
 * more pages than any walk evicts: the answer is always the same.  What is here
 * stays until the process ends, and no walker inherits it.
 */
#define BALLAST	((size_t)256 << 20)	/* bytes: of anonymous memory, of a file */

static int take_ballast(struct walk *w)
{
	char *path = xasprintf("%s/ballast", w->c->dir);
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	void *anon, *file = MAP_FAILED;

	free(path);
	anon = mmap(NULL, BALLAST, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (fd >= 0 && !ftruncate(fd, BALLAST))
		file = mmap(NULL, BALLAST, PROT_READ, MAP_SHARED, fd, 0);
	if (fd >= 0)
		close(fd);
	if (anon == MAP_FAILED || file == MAP_FAILED)
		return case_fail("ballast: %s", strerror(errno));
	madvise(anon, BALLAST, MADV_HUGEPAGE);
	if (madvise(anon, BALLAST, MADV_POPULATE_WRITE) ||
	    madvise(file, BALLAST, MADV_POPULATE_READ) ||
	    madvise(anon, BALLAST, MADV_DONTFORK) ||
	    madvise(file, BALLAST, MADV_DONTFORK))
		return case_fail("ballast: %s", strerror(errno));
	return 0;
}

/* ---- the case ------------------------------------------------------------------------- */

static void say_same(const struct walk *w)
{
	const struct walk_result *r = w->result;
	char name[40];

	snprintf(name, sizeof(name), "walk.%" PRIu64, w->seed);
	case_same(name, "bytes=%016" PRIx64 " resident=%016" PRIx64
		  " present=%" PRIu64 " swapped=%" PRIu64 " cached=%" PRIu64
		  " anon=%" PRId64 " file=%" PRId64 " shmem=%" PRId64,
		  r->bytes, r->resident, r->present, r->swapped, r->cached,
		  r->anon, r->file, r->shmem);
	/* On the way there a kernel may take another page first. */
	printf("# on the way: %s trace=%016" PRIx64 " after %u reclaims\n",
	       name, r->trace, r->reclaims);
	fflush(stdout);
}

static int failed(struct walk *w)
{
	printf("# walk %" PRIu64 ", step %zu: %s\n", w->seed,
	       w->result->fail.step, w->result->fail.text);
	fflush(stdout);
	walk_shrink(w);
	walk_print(w);
	printf("# the same again: --seed=%" PRId64 " --boot folab.walk_steps=%zu\n",
	       boot_param("seed", 1), w->steps);
	fflush(stdout);
	return -1;
}

int walk_case(struct case_ctx *c, int number, size_t steps, bool planted)
{
	struct walk w = { .c = c, .planted = planted };
	int rc;

	w.seed = (uint64_t)boot_param("seed", 1) * 1000 + (uint64_t)number;
	w.steps = (size_t)boot_param("walk_steps", (int64_t)steps);
	w.loud = boot_param("walk_trace", 0);
	w.jitter = boot_param("walk_jitter", 0);
	gen_begin(&w.gen, w.seed);
	rc = set_up(&w);
	if (!rc)
		rc = leave_cgroup(&w);
	if (!rc)
		rc = take_ballast(&w);
	if (rc)
		return rc;
	w.result = mmap(NULL, sizeof(*w.result), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	w.result->flushed = -1000;	/* not known yet */
	w.plan = walk_plan_new(w.steps * 3 + 10000);
	rc = walk_once(&w, NULL);
	if (rc)
		printf("# %s\n", case_why());
	else if (w.result->fail.failed)
		rc = failed(&w);
	else
		say_same(&w);
	walk_plan_free(w.plan);
	munmap(w.result, sizeof(*w.result));
	return rc;
}
