/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which steps have one outcome that the manual pages, or the kernel's code, say.
 */
#include "lib.h"
#include "walk_model.h"

/* Does @ok hold for each page of the step's range? */
static bool all(const struct walk_model *m, const struct walk_step *s,
		bool (*ok)(const struct walk_model *m,
			   const struct walk_vpage *v,
			   const struct walk_step *s))
{
	for (int i = s->at; i < s->at + s->len; i++)
		if (!ok(m, &m->v[s->proc][i], s))
			return false;
	return true;
}

static bool mapped(const struct walk_model *m, const struct walk_vpage *v,
		   const struct walk_step *s)
{
	return v->kind != WALK_NONE;
}

static bool past_end(const struct walk_model *m, const struct walk_vpage *v)
{
	return model_signal(m, v, false) == SIGBUS;
}

/*
 * The kernel makes copies of locked private memory that becomes writable, up to
 * the first page that it can't: so there must be none.
 */
static bool can_protect(const struct walk_model *m, const struct walk_vpage *v,
			const struct walk_step *s)
{
	struct walk_vpage readable = *v;

	readable.prot = PROT_READ;
	return mapped(m, v, s) &&
	       !(v->locked && s->prot & PROT_WRITE && past_end(m, &readable));
}

static bool can_move(const struct walk_model *m, const struct walk_vpage *v,
		     const struct walk_step *s)
{
	/* What is left behind is not locked any more. */
	return mapped(m, v, s) && !(s->advice && v->locked);
}

/*
 * MADV_FREE of pages that another process still has from a fork(2) must leave
 * that one's alone.  Linux 6.12 does not: madvise_free_pte_range() looks whether
 * a folio is shared only if it is dirty or in the swap cache, but a folio that
 * was read back from zram is neither, and is all there is of its content.  That
 * has nothing to do with what is tested here; so such pages are left out.
 */
static bool can_free(const struct walk_model *m, const struct walk_vpage *v)
{
	return v->kind == WALK_ANON && v->maybe != ONE_OF_TWO &&
	       (!v->copy || m->refs[v->copy] == 1);
}

/* These stop with EINVAL at locked memory, half done. */
static bool can_advise(const struct walk_model *m, const struct walk_vpage *v,
		       const struct walk_step *s)
{
	if (s->advice == MADV_DONTFORK || s->advice == MADV_DOFORK)
		return mapped(m, v, s);
	if (s->advice == MADV_FREE && !can_free(m, v))
		return false;
	return mapped(m, v, s) && !v->locked;
}

static bool can_lock(const struct walk_model *m, const struct walk_vpage *v,
		     const struct walk_step *s)
{
	return mapped(m, v, s) && !model_signal(m, v, false);
}

/*
 * What is stored behind the end of a file, but in its last page, may be seen or
 * not: the kernel clears it when it writes the page.
 */
static bool store_known(const struct walk_model *m, const struct walk_step *s)
{
	size_t at = s->pos, end = at + s->bytes, n;

	for (; at < end; at += n) {
		const struct walk_vpage *v =
			&m->v[s->proc][s->at + at / m->page];

		n = m->page - at % m->page;
		if (n > end - at)
			n = end - at;
		if (v->kind == WALK_FILE && !model_signal(m, v, true) &&
		    v->off * m->page + at % m->page + n >
		    m->objects[v->object].bytes)
			return false;
	}
	return true;
}

static bool can_mmap(const struct walk_model *m, const struct walk_step *s)
{
	if (s->kind == WALK_SHMEM)
		return s->object >= WALK_FILES && s->object < WALK_OBJECTS &&
		       !m->objects[s->object].refs && !s->pos &&
		       s->len <= WALK_SHMEM_PAGES;
	if (s->kind == WALK_FILE || s->kind == WALK_COW)
		return s->object < WALK_FILES &&
		       s->pos + s->len <= WALK_FILE_PAGES;
	return s->kind == WALK_ANON;
}

/*
 * More of the same behind a mapping.  Not of shared memory: what is behind its
 * end must not be mapped, but finish_fault() of Linux 6.12 maps all of a large
 * folio that lies across the end.
 */
static bool can_grow(const struct walk_vpage *last, int more)
{
	return !last->locked && (last->kind == WALK_ANON ||
		(walk_is_file(last) && last->off + more < WALK_FILE_PAGES));
}

static bool can_mremap(const struct walk_model *m, const struct walk_step *s)
{
	const struct walk_vpage *last = &m->v[s->proc][s->at + s->len - 1];
	int more = (int)s->bytes, len = s->len + more;

	if (s->to < 0 || s->to + len > WALK_ARENA ||
	    (s->to < s->at + s->len && s->at < s->to + len) ||
	    !all(m, s, can_move))
		return false;
	return !more || (!s->advice && can_grow(last, more));
}

static bool can_do_file(const struct walk_model *m, const struct walk_step *s)
{
	size_t most = WALK_FILE_PAGES * m->page;

	if (s->object < 0 || s->object >= WALK_FILES)
		return false;
	if (s->op == WALK_TRUNCATE)
		return s->bytes <= most;
	return s->op == WALK_DROP ||
	       (s->pos + s->bytes <= most && s->bytes &&
		s->bytes <= WALK_BUF_PAGES * m->page);
}

bool model_possible(const struct walk_model *m, const struct walk_step *s)
{
	if (!m->alive[s->proc] || s->at < 0 || s->len < 0 ||
	    s->at + s->len > WALK_ARENA)
		return false;
	switch (s->op) {
	case WALK_MMAP: return s->len && can_mmap(m, s);
	case WALK_MUNMAP: return s->len;
	case WALK_MPROTECT: return s->len && all(m, s, can_protect);
	case WALK_MREMAP: return s->len && can_mremap(m, s);
	case WALK_MADVISE: return s->len && all(m, s, can_advise);
	case WALK_MLOCK: return s->len && all(m, s, can_lock);
	case WALK_MUNLOCK: return s->len && all(m, s, mapped);
	case WALK_FORK: return !m->alive[s->to];
	case WALK_EXIT: return s->proc;
	case WALK_STORE:
		return s->bytes && s->bytes <= WALK_BUF_PAGES * m->page &&
		       s->at * m->page + s->pos + s->bytes <=
		       WALK_ARENA * m->page && store_known(m, s);
	case WALK_TRUNCATE:
	case WALK_PWRITE:
	case WALK_PREAD:
	case WALK_DROP:
		return can_do_file(m, s);
	}
	return true;	/* accesses, ageing, reclaim */
}
