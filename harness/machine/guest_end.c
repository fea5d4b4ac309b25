/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The end of a guest: what is left in its pipes, why it failed if it did, and
 * what it measured.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

/* Everything that an ended guest left in its pipes. */
static int take_rest(const struct guests_config *c, struct guest *g,
		     struct err *err)
{
	for (int s = 0; s < N_STREAMS; s++) {
		int rc;

		do {
			rc = guest_take(c, g, s, err);
		} while (rc > 0 && !g->console.flood && !g->channel.broken);
		if (rc < 0)
			return -1;
	}
	console_end(&g->console);
	return 0;
}

/*
 * Is it the host's fault rather than the kernel's?  What the plugin complains
 * of is; what the emulator complains of before anything ran is, if it is about
 * its options or about memory.
 */
static int host_fault(const struct guest *g, int status, struct err *err)
{
	static const char *const signs[] = {
		"-plugin", "load plugin", "cannot set up guest memory",
		"Cannot allocate memory", "/dev/fd/", "invalid option",
	};

	if (str_starts(g->said, PLUGIN_SAYS))
		return err_set(err, EXIT_ENVIRONMENT, "%s", g->said);
	if (!status || g->console.bytes)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(signs); i++)
		if (strstr(g->said, signs[i]))
			return err_set(err, EXIT_ENVIRONMENT,
				       "the emulator can't start: %s", g->said);
	return 0;
}

static char *why_ended(const struct guest *g, const char *program, int status)
{
	const char *colon = g->said[0] ? ": " : "";

	if (WIFSIGNALED(status))
		return xasprintf("%s was killed by signal %d (%s)%s%s%s", program,
				 WTERMSIG(status), strsignal(WTERMSIG(status)),
				 WTERMSIG(status) == 9 ?
				 ", perhaps by the host for want of memory" : "",
				 colon, g->said);
	if (WEXITSTATUS(status))
		return xasprintf("%s ended with exit code %d%s%s", program,
				 WEXITSTATUS(status), colon, g->said);
	return NULL;
}

/* Why the trial failed, NULL if it did not.  Ordered by what explains most. */
static char *why_failed(struct guest *g, const char *program, int status,
			bool timeout)
{
	const struct channel *ch = &g->channel;
	const char *phase = g->console.phase ? g->console.phase : ch->phase;
	char *why;

	if (g->console.fatal)
		return xstrdup(g->console.fatal);
	if (g->console.flood)
		return xasprintf("the guest printed more than %u MiB on its console",
				 CONSOLE_MAX_BYTES >> 20);
	if (ch->error)
		return xasprintf("agent: %s", ch->error);
	if (ch->broken)
		return xasprintf("garbage on the result channel: %s", ch->broken);
	if (timeout)
		return xasprintf("%s%s%s", g->timeout,
				 phase ? "; last phase: " : "",
				 phase ? phase : "");
	why = why_ended(g, program, status);
	if (why)
		return why;
	if (channel_end(&g->channel))
		return xasprintf("the guest powered off, but of its results %s",
				 ch->broken);
	return NULL;
}

static void set_plugin_counters(struct sample *s, const struct profile *p)
{
	const struct { const char *name; int64_t value; } c[] = {
		{ "plugin.kernel_instructions", p->kernel_instructions },
		{ "plugin.user_instructions", p->user_instructions },
		{ "plugin.tlbi_address", p->tlbi_address },
		{ "plugin.tlbi_range", p->tlbi_range },
		{ "plugin.tlbi_all", p->tlbi_all },
		{ "plugin.dsb", p->dsb },
		{ "plugin.atomics", p->atomics },
		{ "plugin.exceptions", p->exceptions },
	};

	for (size_t i = 0; i < ARRAY_SIZE(c); i++)
		counters_set(&s->counters, c[i].name, c[i].value);
}

/* The plugin wrote one profile a window, the agent sent one sample a window. */
static int merge_profile(struct guest *g, struct err *err)
{
	struct trial *t = g->trial;
	struct profile *windows = NULL;
	size_t n = 0;

	if (profile_read_windows(g->profile, &windows, &n, err))
		return err_prefix(err, "profile of %c seed %" PRId64, t->side,
				  t->seed);
	if (n != t->n_samples)
		t->failed = xasprintf("the plugin saw %zu windows, the agent sent %zu samples",
				      n, t->n_samples);
	for (size_t i = 0; i < n; i++) {
		if (!t->failed) {
			set_plugin_counters(&t->samples[i], &windows[i]);
			profile_add(&t->profile, &windows[i]);
		}
		profile_free(&windows[i]);
	}
	free(windows);
	return 0;
}

int guest_finish(const struct guests_config *c, struct guest *g, bool timeout,
		 struct err *err)
{
	struct trial *t = g->trial;
	int status = 0, rc = 0;

	if (timeout)
		guest_stop(g);
	else if (!g->stopped && child_wait(&g->qemu, 0, &status, err))
		return -1;
	if (take_rest(c, g, err))
		return -1;
	if (!g->stopped && host_fault(g, status, err))
		return -1;
	t->failed = why_failed(g, qemu_program(c->setup->arch), status,
			       timeout);
	t->samples = g->channel.samples;
	t->n_samples = g->channel.n_samples;
	g->channel.samples = NULL;
	g->channel.n_samples = 0;
	t->warnings = g->console.warnings;
	g->console.warnings = (struct strlist){ 0 };
	if (!t->failed && g->profile)
		rc = merge_profile(g, err);
	if (t->failed)
		t->console_tail = console_tail(&g->console);
	t->host_seconds = now_seconds() - g->started;
	t->done = true;
	guest_clear(g);
	return rc;
}
