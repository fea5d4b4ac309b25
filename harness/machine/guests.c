/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Guests at work: several at a time, in one poll(2) loop.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>

#include "guest.h"

struct run {
	const struct guests_config *c;
	struct trial *trials;
	size_t n, next, finished;
	struct guest *slot;
	size_t n_slots;
	bool mute[4];		/* that side's kernel never said a word */
};

static void show(const struct run *r)
{
	const struct machine_share *share = &r->c->setup->share;
	char text[160] = "";
	int n = 0;

	for (size_t i = 0; i < r->n_slots && n < (int)sizeof(text) - 1; i++) {
		const struct guest *g = &r->slot[i];
		const char *phase = g->console.phase;

		if (!g->trial)
			continue;
		if (!phase)
			phase = g->console.bytes ? "boot" : "start";
		n += snprintf(text + n, sizeof(text) - n, "%s%c seed %" PRId64
			      ": %s", n ? " | " : "", g->trial->side,
			      g->trial->seed, phase);
	}
	/* Of several runs the time to go is that of all that are left. */
	if (share->label)
		progress_step(share->before + r->finished, share->all, "%s",
			      text);
	else
		progress_step(r->finished, r->n, "%s", text);
}

/* A kernel that gave no sign of life is not waited for once a seed. */
static void skip_mute(struct run *r)
{
	while (r->next < r->n && r->mute[r->trials[r->next].side - 'A']) {
		struct trial *t = &r->trials[r->next++];

		t->failed = xstrdup("not tried: this kernel gave no console output with another seed");
		t->done = true;
		r->finished++;
	}
}

static int start_more(struct run *r, struct err *err)
{
	for (size_t i = 0; i < r->n_slots; i++) {
		skip_mute(r);
		if (r->next == r->n)
			break;
		if (r->slot[i].trial)
			continue;
		if (guest_start(r->c, &r->slot[i], &r->trials[r->next], err))
			return -1;
		r->next++;
	}
	return 0;
}

/* Milliseconds until somebody's deadline; the line is redrawn each second. */
static int patience(const struct run *r)
{
	double now = now_seconds(), left = 1.0;

	for (size_t i = 0; i < r->n_slots; i++)
		if (r->slot[i].trial && r->slot[i].deadline - now < left)
			left = r->slot[i].deadline - now;
	return left > 0 ? (int)(left * 1000) + 1 : 0;
}

#define PER_SLOT	(N_STREAMS + 1)

static int attend(struct run *r, struct guest *g, const struct pollfd *p,
		  struct err *err)
{
	bool ended;

	for (int s = 0; s < N_STREAMS; s++)
		if (p[s].revents && guest_take(r->c, g, s, err) < 0)
			return -1;
	ended = g->stopped || p[N_STREAMS].revents;
	if (!ended && now_seconds() < g->deadline)
		return 0;
	if (!ended && !g->console.bytes)
		r->mute[g->trial->side - 'A'] = true;
	if (guest_finish(r->c, g, !ended, err))
		return -1;
	r->finished++;
	return 0;
}

static int turn(struct run *r, struct pollfd *p, struct err *err)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n_slots; i++) {
		const struct guest *g = &r->slot[i];

		for (int s = 0; s < N_STREAMS; s++)
			p[n++] = (struct pollfd){ g->trial ? g->fd[s] : -1,
						  POLLIN, 0 };
		p[n++] = (struct pollfd){ g->trial ? g->qemu.pidfd : -1,
					  POLLIN, 0 };
	}
	p[n++] = (struct pollfd){ intr_fd(), POLLIN, 0 };
	if (poll(p, n, patience(r)) < 0 && errno != EINTR)
		return err_sys(err, EXIT_ENVIRONMENT, errno, "poll");
	if (intr_check(err))
		return -1;
	for (size_t i = 0; i < r->n_slots; i++)
		if (r->slot[i].trial &&
		    attend(r, &r->slot[i], &p[i * PER_SLOT], err))
			return -1;
	return 0;
}

int guests_run(const struct guests_config *c, struct trial *trials, size_t n,
	       struct err *err)
{
	struct run r = { .c = c, .trials = trials, .n = n };
	struct pollfd *p;
	int rc = 0;

	r.n_slots = (size_t)c->parallel < n ? (size_t)c->parallel : n;
	r.slot = xcalloc(r.n_slots, sizeof(*r.slot));
	p = xcalloc(r.n_slots * PER_SLOT + 1, sizeof(*p));
	for (size_t i = 0; i < r.n_slots; i++)
		guest_init(&r.slot[i]);
	while (!rc && r.finished < n) {
		rc = start_more(&r, err);
		if (!rc && r.finished < n) {
			show(&r);
			rc = turn(&r, p, err);
		}
	}
	for (size_t i = 0; i < r.n_slots; i++)
		guest_clear(&r.slot[i]);
	free(p);
	free(r.slot);
	return rc;
}
