/* SPDX-License-Identifier: GPL-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "clear_work.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE	23	/* Linux 5.14 */
#endif

#define STACK_BYTES	(128 << 10)	/* the agent locks them in memory */
#define NEAR_PAGES	2		/* to each side of the faulting one */

struct clear_part {
	struct clear_work *work;
	uint64_t first, end;	/* folios from first up to end */
	uint64_t seen;		/* all that it read, so that it has to */
	int errnum;		/* of the madvise(2) */
	pthread_t thread;
};

static uint64_t read_line(const char *at, uint64_t line)
{
	return *(const volatile uint64_t *)(at + line * CLEAR_LINE_BYTES);
}

/* A word of each of @n lines. */
static uint64_t read_lines(const char *at, uint64_t n)
{
	uint64_t seen = 0;

	for (uint64_t i = 0; i < n; i++)
		seen |= read_line(at, i);
	return seen;
}

uint64_t clear_work_next(uint64_t line, uint64_t n)
{
	/*
	 * All of them before the first comes again: n is a power of two, the
	 * factor 1 more than a multiple of 4, the summand odd (Knuth, volume 2,
	 * 3.2.1.2, theorem A).
	 */
	return (line * UINT64_C(6364136223846793005) +
		UINT64_C(1442695040888963407)) & (n - 1);
}

static uint64_t read_scattered(const char *at, uint64_t n, uint64_t line)
{
	uint64_t seen = 0;

	for (uint64_t i = 0; i < n; i++) {
		seen |= read_line(at, line);
		line = clear_work_next(line, n);
	}
	return seen;
}

static uint64_t read_near(const struct clear_work *s, const char *folio)
{
	uint64_t reach = NEAR_PAGES << FOLIO_PAGE_SHIFT, seen = 0;
	uint64_t from = s->hint > reach ? s->hint - reach : 0;
	uint64_t to = s->hint + FOLIO_PAGE_SIZE + reach;

	if (to > s->folio)
		to = s->folio;
	for (; from < to; from += FOLIO_PAGE_SIZE)
		seen |= read_lines(folio + from,
				   FOLIO_PAGE_SIZE / CLEAR_LINE_BYTES);
	return seen;
}

static uint64_t touch(const struct clear_work *s, const char *folio)
{
	switch (s->touch) {
	case CLEAR_TOUCH_NONE:
		break;
	case CLEAR_TOUCH_FIRST:
		return read_lines(folio, FOLIO_PAGE_SIZE / CLEAR_LINE_BYTES);
	case CLEAR_TOUCH_NEAR:
		return read_near(s, folio);
	case CLEAR_TOUCH_ALL:
		return read_lines(folio, s->folio / CLEAR_LINE_BYTES);
	case CLEAR_TOUCH_RANDOM:
		return read_scattered(folio, s->folio / CLEAR_LINE_BYTES,
				      s->scatter);
	}
	return 0;
}

static void do_part(struct clear_part *p)
{
	struct clear_work *s = p->work;
	char *from = s->mem->at + p->first * s->folio;
	char *to = s->mem->at + p->end * s->folio;

	if (s->populate &&
	    madvise(from, (size_t)(to - from), MADV_POPULATE_WRITE))
		p->errnum = errno;
	for (char *folio = from; folio < to && !p->errnum; folio += s->folio) {
		if (!s->populate)
			*(volatile char *)(folio + s->hint) = CLEAR_MARK;
		p->seen |= touch(s, folio);
	}
}

/*
 * A thread ends behind the window: its end is not what is measured, and CPU
 * time since the last tick is lost with it.
 */
static void *in_thread(void *arg)
{
	struct clear_part *p = arg;
	struct clear_work *s = p->work;

	pthread_mutex_lock(&s->lock);
	while (s->gate == GATE_SHUT)
		pthread_cond_wait(&s->changed, &s->lock);
	if (s->gate == GATE_OPEN) {
		pthread_mutex_unlock(&s->lock);
		do_part(p);
		pthread_mutex_lock(&s->lock);
		if (++s->n_done == s->n_parts)
			pthread_cond_broadcast(&s->changed);
	}
	while (s->gate != GATE_HOME)
		pthread_cond_wait(&s->changed, &s->lock);
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

int clear_work_start(struct clear_work *s, size_t n, struct err *err)
{
	uint64_t folios = s->mem->bytes / s->folio;
	pthread_attr_t attr;
	int errnum = 0;

	s->n_parts = n;
	s->parts = xcalloc(n, sizeof(*s->parts));
	for (size_t i = 0; i < n; i++)
		s->parts[i] = (struct clear_part){
			.work = s,
			.first = folios * i / n,
			.end = folios * (i + 1) / n,
		};
	if (n == 1)
		return 0;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	while (s->n_threads < n && !errnum) {
		struct clear_part *p = &s->parts[s->n_threads];

		errnum = pthread_create(&p->thread, &attr, in_thread, p);
		s->n_threads += !errnum;
	}
	pthread_attr_destroy(&attr);
	if (errnum)
		return err_sys(err, EXIT_RUN, errnum, "can't start a thread");
	return 0;
}

void clear_work_do(struct clear_work *s)
{
	if (s->n_parts == 1) {
		do_part(&s->parts[0]);
		return;
	}
	pthread_mutex_lock(&s->lock);
	s->gate = GATE_OPEN;
	pthread_cond_broadcast(&s->changed);
	while (s->n_done < s->n_parts)
		pthread_cond_wait(&s->changed, &s->lock);
	pthread_mutex_unlock(&s->lock);
}

int clear_work_end(struct clear_work *s)
{
	int errnum = 0;

	pthread_mutex_lock(&s->lock);
	s->gate = GATE_HOME;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	while (s->n_threads)
		pthread_join(s->parts[--s->n_threads].thread, NULL);
	for (size_t i = 0; i < s->n_parts && !errnum; i++)
		errnum = s->parts[i].errnum;
	free(s->parts);
	s->parts = NULL;
	s->n_parts = 0;
	return errnum;
}
