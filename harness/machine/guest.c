/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One guest: started, and listened to.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "guest.h"

#define PIPE_BYTES	(1 << 20)	/* the most that anybody may ask for */
#define PROFILE_MAX	(512ull << 20)	/* of the plugin's file */

/* ---- start ---------------------------------------------------------------- */

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void guest_init(struct guest *g)
{
	*g = (struct guest){ .fd = { -1, -1, -1 }, .log = -1 };
}

void guest_clear(struct guest *g)
{
	child_stop(&g->qemu, 0);
	for (int i = 0; i < N_STREAMS; i++)
		close_fd(&g->fd[i]);
	close_fd(&g->log);
	console_free(&g->console);
	channel_free(&g->channel);
	if (g->profile)
		unlink(g->profile);
	free(g->profile);
	free(g->log_path);
	free(g->timeout);
	guest_init(g);
}

/* Pipes whose read ends don't block; write ends in @ends. */
static int open_pipes(struct guest *g, int ends[N_STREAMS], struct err *err)
{
	for (int i = 0; i < N_STREAMS; i++) {
		int p[2];

		if (pipe2(p, O_CLOEXEC))
			return err_sys(err, EXIT_ENVIRONMENT, errno, "pipe");
		g->fd[i] = p[0];
		ends[i] = p[1];
		fcntl(p[0], F_SETFL, O_NONBLOCK);
		/* Less is no harm unless we are kept from reading. */
		fcntl(p[0], F_SETPIPE_SZ, PIPE_BYTES);
	}
	return 0;
}

static int spawn(const struct guests_config *c, struct guest *g,
		 int ends[N_STREAMS], struct err *err)
{
	const struct image *image = &c->images[g->trial->side - 'A'];
	struct guest_config gc = {
		.seed = g->trial->seed,
		.kernel = image->kernel,
		.initramfs = c->initramfs,
		.cmdline = c->cmdline,
		.console_fd = ends[CONSOLE],
		.result_fd = ends[RESULT],
		.plugin = image->symbols ? c->plugin : NULL,
		.symbols = image->symbols,
		.profile = g->profile,
	};
	int keep[] = { ends[CONSOLE], ends[RESULT] };
	struct strlist argv = { 0 };
	struct child_spec spec = {
		.output = ends[SAID],
		.keep_fds = keep,
		.n_keep_fds = ARRAY_SIZE(keep),
		.max_file = PROFILE_MAX,
	};
	int rc;

	qemu_args(c->setup, &gc, &argv);
	spec.argv = argv.v;
	rc = child_start(&g->qemu, &spec, err);
	strlist_free(&argv);
	return rc;
}

/* How long it may take until it has to show the next sign of life. */
static void PRINTF(3, 4) set_deadline(struct guest *g, double seconds,
				      const char *fmt, ...)
{
	char text[200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	free(g->timeout);
	g->timeout = xstrdup(text);
	g->deadline = now_seconds() + seconds;
}

int guest_start(const struct guests_config *c, struct guest *g,
		struct trial *t, struct err *err)
{
	const struct machine_setup *setup = c->setup;
	int ends[N_STREAMS] = { -1, -1, -1 }, rc = -1;
	double patience = c->first_line;

	g->trial = t;
	g->started = now_seconds();
	if (setup->job->n_cases)
		channel_init_cases(&g->channel, setup->job, setup->hear,
				   setup->hear_arg);
	else
		channel_init(&g->channel, setup->job->passes);
	g->console.oom_allowed = setup->job->n_cases;
	g->log_path = xasprintf("%s/console-%c-%" PRId64 ".log",
				setup->dir ? setup->dir : c->dir,
				t->side, t->seed);
	if (c->plugin && c->images[t->side - 'A'].symbols)
		g->profile = xasprintf("%s/profile-%c-%" PRId64, c->dir,
				       t->side, t->seed);
	g->log = open(g->log_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
		      0666);
	if (g->log < 0)
		err_sys(err, EXIT_ENVIRONMENT, errno, "can't write %s",
			g->log_path);
	else if (!open_pipes(g, ends, err) && !spawn(c, g, ends, err))
		rc = 0;
	for (int i = 0; i < N_STREAMS; i++)
		close_fd(&ends[i]);
	if (rc) {
		g->trial = NULL;
		guest_clear(g);
		return -1;
	}
	if (patience > setup->budget)
		patience = setup->budget;
	set_deadline(g, patience,
		     "no console output within %.0f s: is %s a whole kernel for this machine?",
		     patience, c->images[t->side - 'A'].spec);
	return 0;
}

/* ---- what comes in ---------------------------------------------------------- */

void guest_stop(struct guest *g)
{
	child_stop(&g->qemu, 0);
	g->stopped = true;
}

static int log_console(struct guest *g, const char *data, size_t len,
		       struct err *err)
{
	while (len) {
		ssize_t n = write(g->log, data, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(err, EXIT_ENVIRONMENT, errno,
				       "can't write %s", g->log_path);
		data += n;
		len -= n;
	}
	return 0;
}

static int take_console(const struct guests_config *c, struct guest *g,
			const char *data, size_t len, struct err *err)
{
	static const char cut[] = "\n[folab: console log cut]\n";
	size_t keep;

	if (g->console.flood)
		return 0;
	if (!g->console.bytes)
		set_deadline(g, c->setup->budget -
			     (now_seconds() - g->started),
			     "no result after %" PRId64 " s of wall time",
			     c->setup->budget);
	keep = console_feed(&g->console, data, len);
	if (log_console(g, data, keep, err))
		return -1;
	if (g->console.flood) {
		guest_stop(g);
		return log_console(g, cut, sizeof(cut) - 1, err);
	}
	if (g->console.fatal && !g->lost) {
		g->lost = true;
		set_deadline(g, c->last_words,
			     "(stopped after its kernel was lost)");
	}
	return 0;
}

static void take_result(const struct guests_config *c, struct guest *g,
			const char *data, size_t len)
{
	if (channel_feed(&g->channel, data, len)) {
		guest_stop(g);
	} else if ((g->channel.done || g->channel.error) && !g->ending &&
		   !g->lost) {
		g->ending = true;
		set_deadline(g, c->last_words,
			     "did not power off within %.0f s of its last result",
			     c->last_words);
	}
}

/*
 * Keep the last line that holds something; but what the plugin complains of
 * says more than what QEMU makes of it.
 */
static void take_said(struct guest *g, const char *data, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (!g->said_len && str_starts(g->said, PLUGIN_SAYS))
			return;
		if (data[i] == '\n') {
			g->said_len = 0;
			continue;
		}
		if (!g->said_len)
			memset(g->said, 0, sizeof(g->said));
		if (g->said_len < sizeof(g->said) - 1)
			g->said[g->said_len++] = data[i] >= ' ' &&
				data[i] <= '~' ? data[i] : '?';
	}
}

int guest_take(const struct guests_config *c, struct guest *g, enum stream s,
	       struct err *err)
{
	static char buf[64 * 1024];
	ssize_t n;

	if (g->fd[s] < 0)
		return 0;
	n = read(g->fd[s], buf, sizeof(buf));
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0) {
		close_fd(&g->fd[s]);
		return 0;
	}
	if (s == CONSOLE) {
		if (take_console(c, g, buf, n, err))
			return -1;
	} else if (s == RESULT) {
		take_result(c, g, buf, n);
	} else {
		take_said(g, buf, n);
	}
	return 1;
}
