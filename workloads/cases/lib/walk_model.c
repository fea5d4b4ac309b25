/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The rules: mmap(2), mremap(2), madvise(2), mlock(2), fork(2), ftruncate(2), as
 * far as they say what is in memory and who may touch it.
 */
#include "lib.h"
#include "walk_model.h"

/* ---- pages of the pool -------------------------------------------------------- */

static unsigned char *bytes_of(const struct walk_model *m, uint32_t i)
{
	return m->pool + (size_t)i * m->page;
}

static uint32_t pool_take(struct walk_model *m)
{
	uint32_t i;

	if (!m->n_free)
		abort();	/* WALK_POOL is too small by design */
	i = m->free[--m->n_free];
	m->refs[i] = 1;
	return i;
}

static uint32_t pool_share(struct walk_model *m, uint32_t i)
{
	if (i)
		m->refs[i]++;
	return i;
}

static void pool_drop(struct walk_model *m, uint32_t *i)
{
	if (*i && !--m->refs[*i])
		m->free[m->n_free++] = *i;
	*i = 0;
}

/* Write into the page at *@i, which nobody else may see. */
static unsigned char *pool_write(struct walk_model *m, uint32_t *i)
{
	uint32_t copy;

	if (*i && m->refs[*i] == 1)
		return bytes_of(m, *i);
	copy = pool_take(m);
	memcpy(bytes_of(m, copy), bytes_of(m, *i), m->page);
	pool_drop(m, i);
	*i = copy;
	return bytes_of(m, copy);
}

struct walk_model *model_new(unsigned char *pool, size_t page)
{
	struct walk_model *m = xcalloc(1, sizeof(*m));

	m->page = page;
	m->pool = pool;
	m->refs = xcalloc(WALK_POOL, sizeof(*m->refs));
	m->free = xcalloc(WALK_POOL, sizeof(*m->free));
	for (uint32_t i = WALK_POOL - 1; i > 0; i--)
		m->free[m->n_free++] = i;
	m->alive[0] = true;
	return m;
}

void model_free(struct walk_model *m)
{
	free(m->refs);
	free(m->free);
	free(m);
}

/* ---- one page ------------------------------------------------------------------- */

static size_t object_pages(const struct walk_model *m, int object)
{
	return (m->objects[object].bytes + m->page - 1) / m->page;
}

static bool beyond_end(const struct walk_model *m, const struct walk_vpage *v)
{
	return v->kind != WALK_ANON && v->kind != WALK_NONE &&
	       v->off >= object_pages(m, v->object);
}

int model_signal(const struct walk_model *m, const struct walk_vpage *v,
		 bool write)
{
	if (v->kind == WALK_NONE || !(v->prot & PROT_READ) ||
	    (write && !(v->prot & PROT_WRITE)))
		return SIGSEGV;
	return beyond_end(m, v) ? SIGBUS : 0;
}

uint32_t model_content(const struct walk_model *m, const struct walk_vpage *v)
{
	if (v->kind == WALK_ANON || (v->kind == WALK_COW && v->own))
		return v->copy;
	return m->objects[v->object].pages[v->off];
}

void model_seen(struct walk_model *m, struct walk_vpage *v, bool other)
{
	if (v->maybe == SURE)
		return;
	if (other) {
		pool_drop(m, &v->copy);
		v->copy = v->other;
		v->other = 0;
		v->maybe = SURE;
	} else if (v->maybe == ONE_OF_TWO) {
		pool_drop(m, &v->other);
		v->maybe = SURE;
	}
}

static void forget_content(struct walk_model *m, struct walk_vpage *v)
{
	pool_drop(m, &v->copy);
	pool_drop(m, &v->other);
	v->own = false;
	v->maybe = SURE;
}

static void unmap_page(struct walk_model *m, struct walk_vpage *v)
{
	struct walk_object *o = &m->objects[v->object];

	forget_content(m, v);
	if (v->kind != WALK_ANON && v->kind != WALK_NONE)
		o->refs--;
	/* Shared memory that nobody maps is gone. */
	if (v->kind == WALK_SHMEM && !o->refs) {
		for (size_t i = 0; i < WALK_FILE_PAGES; i++)
			pool_drop(m, &o->pages[i]);
		o->bytes = 0;
	}
	*v = (struct walk_vpage){ 0 };
}

static void map_page(struct walk_model *m, struct walk_vpage *v,
		     struct walk_vpage how)
{
	if (how.kind != WALK_ANON)
		m->objects[how.object].refs++;
	*v = how;
}

/* A page of a private file mapping gets a copy of its own. */
static void break_cow(struct walk_model *m, struct walk_vpage *v)
{
	if (v->kind != WALK_COW || v->own)
		return;
	v->copy = pool_share(m, m->objects[v->object].pages[v->off]);
	v->own = true;
}

static void store(struct walk_model *m, struct walk_vpage *v, size_t at,
		  const unsigned char *from, size_t n)
{
	uint32_t *slot = &v->copy;

	if (v->kind == WALK_FILE || v->kind == WALK_SHMEM)
		slot = &m->objects[v->object].pages[v->off];
	break_cow(m, v);
	memcpy(pool_write(m, slot) + at, from, n);
	if (v->maybe == SURE)
		return;
	if (n == m->page) {
		pool_drop(m, &v->other);
		v->maybe = SURE;
		return;
	}
	memcpy(pool_write(m, &v->other) + at, from, n);
	v->maybe = ONE_OF_TWO;
}

/* ---- steps ------------------------------------------------------------------------ */

static void do_mmap(struct walk_model *m, const struct walk_step *s)
{
	struct walk_vpage how = {
		.kind = (uint8_t)s->kind, .prot = (uint8_t)s->prot,
		.object = (uint8_t)s->object,
	};

	for (int i = 0; i < s->len; i++)
		unmap_page(m, &m->v[s->proc][s->at + i]);
	if (s->kind == WALK_SHMEM)
		m->objects[s->object].bytes = s->len * m->page;
	for (int i = 0; i < s->len; i++) {
		how.off = (uint16_t)(s->pos + i);
		map_page(m, &m->v[s->proc][s->at + i], how);
	}
}

/* Private memory that is locked gets its copies when it becomes writable. */
static void do_mprotect(struct walk_model *m, const struct walk_step *s)
{
	for (int i = s->at; i < s->at + s->len; i++) {
		struct walk_vpage *v = &m->v[s->proc][i];

		if (v->locked && s->prot & PROT_WRITE &&
		    !(v->prot & PROT_WRITE))
			break_cow(m, v);
		v->prot = (uint8_t)s->prot;
	}
}

static void do_mremap(struct walk_model *m, const struct walk_step *s)
{
	struct walk_vpage *from = m->v[s->proc] + s->at;
	struct walk_vpage *to = m->v[s->proc] + s->to, last;

	for (int i = 0; i < s->len + (int)s->bytes; i++)
		unmap_page(m, &to[i]);
	last = from[s->len - 1];
	for (int i = 0; i < s->len; i++) {
		struct walk_vpage old = from[i];

		to[i] = old;
		from[i] = (struct walk_vpage){ 0 };
		if (s->advice) {	/* MREMAP_DONTUNMAP: mapped, but empty */
			old.copy = old.other = 0;
			old.own = false;
			old.maybe = SURE;
			map_page(m, &from[i], old);
		}
	}
	last.copy = last.other = 0;
	last.own = false;
	last.maybe = SURE;
	for (unsigned int i = 0; i < s->bytes; i++) {
		last.off++;
		map_page(m, &to[s->len + i], last);
	}
}

static void advise_page(struct walk_model *m, struct walk_vpage *v, int advice)
{
	switch (advice) {
	case MADV_DONTNEED:
		forget_content(m, v);
		break;
	case MADV_FREE:
		pool_drop(m, &v->other);
		v->maybe = v->copy ? MAY_GO : SURE;
		break;
	case MADV_DONTFORK:
		v->dontfork = true;
		break;
	case MADV_DOFORK:
		v->dontfork = false;
		break;
	}
}

/* mlock(2) faults in; for memory that may be written, as if it were. */
static void lock_page(struct walk_model *m, struct walk_vpage *v)
{
	v->locked = true;
	if (v->prot & PROT_WRITE)
		break_cow(m, v);
}

static void do_fork(struct walk_model *m, const struct walk_step *s)
{
	for (int i = 0; i < WALK_ARENA; i++) {
		struct walk_vpage v = m->v[s->proc][i];

		if (v.kind == WALK_NONE || v.dontfork)
			continue;
		pool_share(m, v.copy);
		pool_share(m, v.other);
		v.locked = false;
		map_page(m, &m->v[s->to][i], v);
	}
	m->alive[s->to] = true;
}

static void do_exit(struct walk_model *m, int proc)
{
	for (int i = 0; i < WALK_ARENA; i++)
		unmap_page(m, &m->v[proc][i]);
	m->alive[proc] = false;
}

static struct walk_reply do_touch(struct walk_model *m,
				  const struct walk_step *s)
{
	struct walk_reply r = { 0 };

	for (; r.pages < s->len && !r.sig; r.pages += !r.sig)
		r.sig = model_signal(m, &m->v[s->proc][s->at + r.pages], false);
	return r;
}

static struct walk_reply do_store(struct walk_model *m,
				  const struct walk_step *s)
{
	size_t at = s->pos, end = at + s->bytes, n;
	unsigned char *buf = xmalloc(s->bytes + 8);
	struct walk_reply r = { 0 };

	walk_fill(buf, s->bytes, s->seed);
	for (; at < end; at += n, r.pages++) {
		struct walk_vpage *v = &m->v[s->proc][s->at + at / m->page];

		n = m->page - at % m->page;
		if (n > end - at)
			n = end - at;
		r.sig = model_signal(m, v, true);
		if (r.sig)
			break;
		store(m, v, at % m->page, buf + (at - s->pos), n);
	}
	free(buf);
	return r;
}

/* Also private pages go that lie wholly beyond the new end. */
static void do_truncate(struct walk_model *m, const struct walk_step *s)
{
	struct walk_object *o = &m->objects[s->object];
	size_t tail = s->bytes % m->page, first;

	first = (s->bytes + m->page - 1) / m->page;
	if (s->bytes < o->bytes && tail && o->pages[first - 1])
		memset(pool_write(m, &o->pages[first - 1]) + tail, 0,
		       m->page - tail);
	for (size_t i = first; i < WALK_FILE_PAGES; i++)
		pool_drop(m, &o->pages[i]);
	o->bytes = s->bytes;
	for (int p = 0; p < WALK_PROCS; p++) {
		for (int i = 0; i < WALK_ARENA; i++) {
			struct walk_vpage *v = &m->v[p][i];

			if (v->kind == WALK_COW && v->object == s->object &&
			    v->off >= first)
				forget_content(m, v);
		}
	}
}

static void do_pwrite(struct walk_model *m, const struct walk_step *s)
{
	struct walk_object *o = &m->objects[s->object];
	unsigned char *buf = xmalloc(s->bytes + 8);
	size_t at = s->pos, end = at + s->bytes, n;

	walk_fill(buf, s->bytes, s->seed);
	for (; at < end; at += n) {
		n = m->page - at % m->page;
		if (n > end - at)
			n = end - at;
		memcpy(pool_write(m, &o->pages[at / m->page]) + at % m->page,
		       buf + (at - s->pos), n);
	}
	if (end > o->bytes)
		o->bytes = end;
	free(buf);
}

static int file_read_bytes(const struct walk_model *m,
			   const struct walk_step *s)
{
	size_t end = m->objects[s->object].bytes;

	if (s->pos >= end)
		return 0;
	return end - s->pos < s->bytes ? (int)(end - s->pos) : (int)s->bytes;
}

long model_file_wrong(const struct walk_model *m, int object, size_t pos,
		      const unsigned char *buf, size_t bytes)
{
	const struct walk_object *o = &m->objects[object];
	size_t n;

	for (size_t at = 0; at < bytes; at += n) {
		size_t in = (pos + at) % m->page;
		const unsigned char *want =
			bytes_of(m, o->pages[(pos + at) / m->page]) + in;

		n = m->page - in < bytes - at ? m->page - in : bytes - at;
		if (!memcmp(buf + at, want, n))
			continue;
		for (size_t i = 0; i < n; i++)
			if (buf[at + i] != want[i])
				return (long)(at + i);
	}
	return -1;
}

struct walk_reply model_apply(struct walk_model *m, const struct walk_step *s)
{
	struct walk_vpage *v = m->v[s->proc] + s->at;
	struct walk_reply r = { 0 };
	int i;

	switch (s->op) {
	case WALK_MMAP: do_mmap(m, s); break;
	case WALK_MUNMAP:
		for (i = 0; i < s->len; i++)
			unmap_page(m, &v[i]);
		break;
	case WALK_MPROTECT: do_mprotect(m, s); break;
	case WALK_MREMAP: do_mremap(m, s); break;
	case WALK_MADVISE:
		for (i = 0; i < s->len; i++)
			advise_page(m, &v[i], s->advice);
		break;
	case WALK_MLOCK:
		for (i = 0; i < s->len; i++)
			lock_page(m, &v[i]);
		break;
	case WALK_MUNLOCK:
		for (i = 0; i < s->len; i++)
			v[i].locked = false;
		break;
	case WALK_FORK: do_fork(m, s); break;
	case WALK_EXIT: do_exit(m, s->proc); break;
	case WALK_TOUCH: return do_touch(m, s);
	case WALK_STORE: return do_store(m, s);
	case WALK_TRUNCATE: do_truncate(m, s); break;
	case WALK_PWRITE:
		do_pwrite(m, s);
		r.ret = (int)s->bytes;
		break;
	case WALK_PREAD: r.ret = file_read_bytes(m, s); break;
	}
	return r;
}
