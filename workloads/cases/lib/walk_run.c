/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One walk: a step, what the model says of it, what the kernel made of it.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "lib.h"
#include "walk_exec.h"
#include "walk_run.h"

struct state {
	struct walk *w;
	struct walk_exec x;
	struct walk_model *m;
	struct walk_plan *plan;	/* where steps go that are made up; or NULL */
	struct walk_result *r;
	size_t step;		/* of the plan */
};

static bool reclaims(const struct walk_step *s)
{
	return s->op == WALK_RECLAIM ||
	       (s->op == WALK_MADVISE && s->advice == MADV_PAGEOUT);
}

static uint64_t resident(struct state *st)
{
	return walk_resident(&st->x, st->m->alive, st->r);
}

/* ---- faults ------------------------------------------------------------------------- */

static int PRINTF(2, 3) wrong(struct state *st, const char *fmt, ...)
{
	struct walk_fail *f = &st->r->fail;
	va_list ap;

	f->failed = true;
	f->step = st->step;
	va_start(ap, fmt);
	vsnprintf(f->text, sizeof(f->text), fmt, ap);
	va_end(ap);
	return -1;
}

static int wrong_byte(struct state *st, const struct walk_step *s, int i,
		      int want_sig)
{
	const struct walk_shared *sh = st->x.sh;
	struct walk_fail *f = &st->r->fail;
	const unsigned char *want;
	size_t at = 0;

	f->kind = 1;
	f->proc = s->proc;
	f->at = i;
	f->sig = want_sig;
	f->value = -1;
	if (want_sig)
		return wrong(st, "walker %d, page %d: reading must bring signal %d, but brought %d",
			     s->proc, i, want_sig, sh->seen[i]);
	want = st->x.pool + (size_t)sh->want[i] * st->x.page;
	f->value = want[0];
	if (sh->seen[i] > 0)
		return wrong(st, "walker %d, page %d: reading brought signal %d",
			     s->proc, i, sh->seen[i]);
	while (at < st->x.page - 1 && sh->buf[at] == want[at])
		at++;
	f->pos = (unsigned int)at;
	f->value = want[at];
	return wrong(st, "walker %d, page %d, byte %zu: %#x instead of %#x",
		     s->proc, i, at, sh->buf[at], want[at]);
}

static int compare_reply(struct state *st, const struct walk_step *s,
			 const struct walk_reply *want)
{
	const struct walk_reply *seen = &st->x.sh->reply;

	if (s->op == WALK_CHECK || !memcmp(seen, want, sizeof(*want)))
		return 0;
	if (s->op == WALK_RECLAIM && seen->ret == -EAGAIN)
		return 0;
	st->r->fail.kind = 0;
	st->r->fail.reply = *want;
	return wrong(st, "%s in walker %d: %d, %d pages, signal %d instead of %d, %d pages, signal %d",
		     walk_op_name(s->op), s->proc, seen->ret, seen->pages, seen->sig, want->ret,
		     want->pages, want->sig);
}

/* ---- looking ------------------------------------------------------------------------ */

/* Unmapped pages of which the neighbours are, too. */
static bool dull(const struct walk_vpage *v, int i)
{
	return !v[i].kind && (i == 0 || !v[i - 1].kind) &&
	       (i == WALK_ARENA - 1 || !v[i + 1].kind);
}

static void before_check(struct state *st, const struct walk_step *s)
{
	struct walk_vpage *v = st->m->v[s->proc];
	struct walk_shared *sh = st->x.sh;

	for (int i = s->at; i < s->at + s->len; i++) {
		sh->want[i] = sh->other[i] = WALK_ANY;
		if (s->len > 1 && dull(v, i))
			sh->want[i] = WALK_SKIP;
		else if (!model_signal(st->m, &v[i], false))
			sh->want[i] = (int)model_content(st->m, &v[i]);
		if (v[i].maybe != SURE)
			sh->other[i] = (int)v[i].other;
	}
}

static int after_check(struct state *st, const struct walk_step *s)
{
	struct walk_vpage *v = st->m->v[s->proc];
	struct walk_shared *sh = st->x.sh;

	for (int i = s->at; i < s->at + s->len; i++) {
		int sig = model_signal(st->m, &v[i], false), seen = sh->seen[i];

		if (sh->want[i] == WALK_SKIP)
			continue;
		if (sig ? seen != sig : seen > 0 || seen == WALK_WRONG)
			return wrong_byte(st, s, i, sig);
		if (s->bytes)
			st->r->bytes = walk_mix(st->r->bytes, sig ? (uint64_t)sig :
					   sh->hash[i]);
		model_seen(st->m, &v[i], seen == WALK_OTHER);
	}
	return 0;
}

static int after_read(struct state *st, const struct walk_step *s)
{
	struct walk_shared *sh = st->x.sh;
	struct walk_fail *f = &st->r->fail;
	long at = model_file_wrong(st->m, s->object, s->pos, sh->buf,
				   (size_t)sh->reply.ret);

	if (at < 0)
		return 0;
	f->kind = 2;
	f->object = s->object;
	f->pos = s->pos + (unsigned int)at;
	f->value = st->x.pool[st->m->objects[s->object].pages[f->pos /
		st->x.page] * st->x.page + f->pos % st->x.page];
	return wrong(st, "file %d, byte %u: %#x instead of %#x", s->object,
		     f->pos, sh->buf[at], f->value);
}

/*
 * folab.walk_trace=1 prints each: the first line that differs between two kernels
 * names the step.  It costs time, which must not matter.
 */
static void after_reclaim(struct state *st)
{
	struct walk_result *r = st->r;

	r->reclaims++;
	if (!st->w->loud && r->reclaims % WALK_TRACE)
		return;
	r->trace = walk_mix(walk_mix(r->trace, resident(st)),
			    (uint64_t)st->x.sh->reply.ret);
	if (st->w->loud)
		printf("# trace %zu: %d, %016" PRIx64 ", %" PRIu64 " present, %" PRIu64 " swapped, %" PRIu64 " cached\n",
		       st->step, st->x.sh->reply.ret, r->trace, r->present,
		       r->swapped, r->cached);
}

/* folab.walk_jitter=N: up to N us between steps, not the same each time. */
static void waste_time(struct state *st)
{
	double end = guest_seconds() + (double)(mix64(st->step) %
		(uint64_t)(st->w->jitter + 1)) * 1e-6;

	while (st->w->jitter && guest_seconds() < end)
		;
}

/* ---- a step --------------------------------------------------------------------------- */

static int do_step(struct state *st, const struct walk_step *s)
{
	struct walk_reply want;

	waste_time(st);
	if (s->op == WALK_CHECK)
		before_check(st, s);
	if (guest_seconds() > st->r->flushed + WALK_FRESH &&
	    walk_wait_for_flush(st->w))
		return wrong(st, "%s", case_why());
	want = model_apply(st->m, s);
	if (walk_do(&st->x, s)) {
		st->r->fail.kind = 0;
		return wrong(st, "%s: walker %d is gone (signal %d)",
			     walk_op_name(s->op), s->proc,
			     st->x.sh->reply.sig);
	}
	if (compare_reply(st, s, &want))
		return -1;
	if (reclaims(s))
		after_reclaim(st);
	if (s->op == WALK_CHECK)
		return after_check(st, s);
	return s->op == WALK_PREAD ? after_read(st, s) : 0;
}

/* One that is made up: it belongs to the plan. */
static int add_step(struct state *st, const struct walk_step *s)
{
	struct walk_plan *p = st->plan;

	if (p) {
		if (p->n == p->most)
			return wrong(st, "more than %zu steps", p->most);
		st->step = p->n;
		p->steps[p->n++] = *s;
	}
	return do_step(st, s);
}

/* Look at everything; @last: and add up what is seen. */
static int check_all(struct state *st, bool last)
{
	unsigned int chunk = (unsigned int)(WALK_BUF_PAGES * st->x.page);

	for (int p = 0; p < WALK_PROCS; p++) {
		struct walk_step s = { .op = WALK_CHECK, .proc = p,
				       .len = WALK_ARENA, .bytes = last };

		if (st->m->alive[p] && add_step(st, &s))
			return -1;
	}
	for (int f = 0; f < WALK_FILES; f++) {
		struct walk_step s = { .op = WALK_PREAD, .object = f,
				       .bytes = chunk };

		for (; s.pos < WALK_FILE_PAGES * st->x.page; s.pos += chunk) {
			if (add_step(st, &s))
				return -1;
			if (last)
				st->r->bytes = walk_mix(st->r->bytes, walk_hash(
					st->x.sh->buf, chunk));
		}
	}
	return 0;
}

/* ---- a walk that is made up --------------------------------------------------------- */

/* Files begin full, in folios of the walk's order. */
static int fill_files(struct state *st)
{
	unsigned int chunk = (unsigned int)(st->x.page << st->w->gen.order);

	for (int f = 0; f < WALK_FILES; f++) {
		struct walk_step s = { .op = WALK_PWRITE, .object = f,
				       .bytes = chunk };

		for (; s.pos < WALK_FILE_PAGES * st->x.page; s.pos += chunk) {
			s.seed = (unsigned int)f + 1;
			if (add_step(st, &s))
				return -1;
		}
	}
	return 0;
}

/* Two pages that the step was about, or may have reached beyond. */
static int spot_check(struct state *st, const struct walk_step *s)
{
	struct walk_gen *g = &st->w->gen;
	struct walk_step look = { .op = WALK_CHECK, .proc = s->proc, .len = 1 };
	int at = s->op == WALK_MREMAP ? s->to : s->at;

	if (s->op == WALK_EXIT || s->op == WALK_AGE)
		return 0;
	if (s->op == WALK_FORK)
		look.proc = s->to;
	/* What is swapped, cold or idle should mostly stay so. */
	if ((reclaims(s) || s->op == WALK_MADVISE) && gen_below(g, 8))
		return 0;
	look.at = at + (int)gen_below(g, (uint64_t)s->len + 2) - 1;
	if (!s->len)
		look.at = s->at + (int)(s->pos / st->x.page);
	if (s->op >= WALK_TRUNCATE || look.at < 0 || look.at >= WALK_ARENA)
		look.at = (int)gen_below(g, WALK_ARENA);
	return add_step(st, &look);
}

static int make_up(struct state *st)
{
	struct walk *w = st->w;
	struct walk_step s;

	gen_begin(&w->gen, w->seed);
	if (fill_files(st))
		return -1;
	for (size_t i = 1; i <= w->steps; i++) {
		gen_step(&w->gen, st->m, &s);
		if (add_step(st, &s) || spot_check(st, &s))
			return -1;
		if (i % WALK_MARK == 0)
			log_say(6, "folab: walk %" PRIu64 " step %zu", w->seed,
				i);
		if (i % WALK_FULL == 0 && i < w->steps && check_all(st, false))
			return -1;
	}
	return 0;
}

static int follow(struct state *st, const struct walk_plan *plan)
{
	for (st->step = 0; st->step < plan->n; st->step++) {
		const struct walk_step *s = &plan->steps[st->step];

		if (model_possible(st->m, s) && do_step(st, s))
			return -1;
	}
	return 0;
}

/* ---- the process that tells --------------------------------------------------------- */

static void report(struct state *st, const char *cgroup)
{
	int64_t page = (int64_t)st->x.page;

	st->r->resident = resident(st);
	walk_flush_counts(&st->x);
	st->r->anon = (cg_pair(cgroup, "memory.stat", "inactive_anon") +
		       cg_pair(cgroup, "memory.stat", "active_anon")) / page;
	st->r->file = cg_pair(cgroup, "memory.stat", "file") / page;
	st->r->shmem = cg_pair(cgroup, "memory.stat", "shmem") / page;
}

static int tell(struct walk *w, const struct walk_plan *plan, const char *dir,
		const char *cgroup)
{
	struct state st = { .w = w, .r = w->result };
	char *path = xasprintf(CGROUPS "/%s", cgroup);
	int rc;

	st.plan = plan ? NULL : w->plan;
	st.x.planted = w->planted;
	st.x.page = page_bytes();
	st.x.pool_bytes = WALK_POOL * st.x.page;
	st.x.pool = mmap(NULL, st.x.pool_bytes, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (st.x.pool == MAP_FAILED)
		return wrong(&st, "mmap: %s", strerror(errno));
	/* Seen through the same huge pages on every kernel: none. */
	madvise(st.x.pool, st.x.pool_bytes, MADV_NOHUGEPAGE);
	if (walk_begin(&st.x, dir, path))
		return wrong(&st, "can't begin: %s", strerror(errno));
	st.m = model_new(st.x.pool, st.x.page);
	rc = plan ? follow(&st, plan) : make_up(&st);
	if (!rc) {
		report(&st, cgroup);
		rc = check_all(&st, true);
	}
	walk_end(&st.x);
	model_free(st.m);
	free(path);
	w->result->done = true;
	return rc;
}

int walk_once(struct walk *w, const struct walk_plan *plan)
{
	char *cgroup = xasprintf("%s/%u", w->c->cgroup, w->runs);
	char *dir = xasprintf("%s/%u", w->c->dir, w->runs++);
	struct err ignored = { 0 };
	int status = 0, rc;
	pid_t pid;

	*w->result = (struct walk_result){ .flushed = w->result->flushed };
	rc = cg_make(cgroup);
	if (!rc && mkdir(dir, 0700))
		rc = errno;
	fflush(stdout);
	pid = rc ? -1 : fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(tell(w, plan, dir, cgroup) ? 1 : 0);
	}
	if (pid > 0)
		waitpid(pid, &status, 0);
	else
		rc = case_fail("can't start a walk: %s",
			       strerror(rc ? rc : errno));
	if (pid > 0 && !w->result->done && !w->result->fail.failed) {
		w->result->fail.failed = true;
		snprintf(w->result->fail.text, sizeof(w->result->fail.text),
			 "the process that tells ended with status %#x", status);
	}
	cg_destroy(cgroup);
	file_remove_tree(dir, &ignored);
	free(cgroup);
	free(dir);
	return rc ? -1 : 0;
}
