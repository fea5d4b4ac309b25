/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reclaim beside stress-ng's stressors of memory management, which verify what
 * they do.  Each does a number of operations, not seconds: so what is shown does
 * not depend on the machine, and a stressor that did nothing is seen.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/cases.h"

CASE_PROGRAM("reclaim beside stress-ng: vm, mmap, madvise, mremap, fork, huge pages",
	     240, "needs=stress-ng");
CASES(stress);

#define PROGRAM		"/usr/bin/stress-ng"
#define THP		"/sys/kernel/mm/transparent_hugepage"
#define HUGE_BYTES	(8u << 20)	/* of the one that gets huge pages */
#define NOBODY		65534
#define SWAP		(96u << 20)
/* Of the guest, for one: many times what it needs. */
#define SECONDS		60
#define TIMEOUT		40	/* then stress-ng ends by itself, short of its ops */
#define ROUNDS		10	/* of reclaim that it has to meet, in */
#define RUNS_MAX	3	/* so many runs at most */
#define ARGS_MAX	32
#define LOG_BYTES	65536
#define LOG_LINES	20	/* of it, shown when something is wrong */

/* Exit status: stress-ng(1). */
enum { STRESS_NO_RESOURCE = 3, STRESS_NOT_IMPLEMENTED = 4 };

FIXTURE_VARIANT(stress) {
	const char *stressor;	/* "vm": --vm 1 --vm-ops N */
	const char *ops;
	const char *options;	/* more, between spaces */
	bool huge;		/* it is to get huge pages */
};

/* Each method of writing and reading back, on anonymous memory. */
FIXTURE_VARIANT_ADD(stress, vm) {
	.stressor = "vm",
	.ops = "12000",
	.options = "--vm-bytes 512k",
};

/* The same in huge pages that reclaim splits. */
FIXTURE_VARIANT_ADD(stress, vm_hugepage) {
	.stressor = "vm",
	.ops = "20000",
	.options = "--vm-bytes 8m --vm-madvise hugepage --vm-method zero-one",
	.huge = true,
};

FIXTURE_VARIANT_ADD(stress, mmap) {
	.stressor = "mmap",
	.ops = "6",
	.options = "--mmap-bytes 4m",
};

/* Shared with a file on XFS, so that reclaim meets what msync(2) does. */
FIXTURE_VARIANT_ADD(stress, mmap_file) {
	.stressor = "mmap",
	.ops = "4",
	.options = "--mmap-bytes 2m --mmap-file",
};

FIXTURE_VARIANT_ADD(stress, mmaphuge) {
	.stressor = "mmaphuge",
	.ops = "30",
	.options = "--mmaphuge-mmaps 8",
};

FIXTURE_VARIANT_ADD(stress, madvise) {
	.stressor = "madvise",
	.ops = "4",
	.options = "",
};

FIXTURE_VARIANT_ADD(stress, mremap) {
	.stressor = "mremap",
	.ops = "20",
	.options = "--mremap-bytes 4m",
};

FIXTURE_VARIANT_ADD(stress, fork) {
	.stressor = "fork",
	.ops = "50",
	.options = "--fork-vm",
};

/* Pages that are swapped out and in again, by MADV_PAGEOUT. */
FIXTURE_VARIANT_ADD(stress, pageswap) {
	.stressor = "pageswap",
	.ops = "1000",
	.options = "",
};

/* ---- one run ------------------------------------------------------------------ */

struct run {
	char log[128], yaml[128];	/* paths of what it writes */
	pid_t pid;
	int status;		/* as waitpid(2) gives it */
	int errnum;		/* of a reclaim that failed, 0 */
	int rounds;		/* of reclaim while it ran */
	int64_t stolen;		/* pages reclaimed meanwhile, -1: not known */
	int64_t huge;		/* huge pages that it got by faults */
	int runs;		/* of the stressor */
	int64_t ops;		/* that its metrics tell of, in all runs */
	char *said;		/* its log, "" if there is none */
};

/*
 * Not as root, which it would use: to poison pages (madvise) and to change
 * settings of the kernel behind our back.
 */
static void become_nobody(const struct case_ctx *c)
{
	if (chown(c->dir, NOBODY, NOBODY) || setgid(NOBODY) ||
	    setuid(NOBODY) || chdir(c->dir))
		_exit(125);
}

static void exec_stressor(const struct case_ctx *c, const struct run *r,
			  const FIXTURE_VARIANT(stress) *v)
{
	char many[40], ops[40], timeout[24];
	char *options = xstrdup(v->options), *save = NULL;
	const char *argv[ARGS_MAX] = {
		PROGRAM, many, "1", ops, v->ops, "--verify", "--oomable",
		"--seed", "1", "--timeout", timeout, "--temp-path", c->dir,
		"--metrics", "--yaml", r->yaml,
	};
	int n = 0, fd;

	snprintf(many, sizeof(many), "--%s", v->stressor);
	snprintf(ops, sizeof(ops), "--%s-ops", v->stressor);
	snprintf(timeout, sizeof(timeout), "%d",
		 (int)boot_param("slow", 1) * TIMEOUT);
	while (argv[n])
		n++;
	for (char *word = strtok_r(options, " ", &save);
	     word && n < ARGS_MAX - 1; word = strtok_r(NULL, " ", &save))
		argv[n++] = word;
	become_nobody(c);
	fd = open(r->log, O_CREAT | O_WRONLY | O_TRUNC | O_APPEND, 0600);
	if (fd < 0 || dup2(fd, 1) < 0 || dup2(fd, 2) < 0)
		_exit(126);
	execv(PROGRAM, (char *const *)argv);
	_exit(127);
}

/* Text of @path, "" if there is none; the file goes. */
static char *take_file(const char *path)
{
	struct err ignored = { 0 };
	char *text;

	if (file_read(path, LOG_BYTES, &text, NULL, &ignored))
		text = xstrdup("");
	unlink(path);
	return text;
}

/* "      bogo-ops: 123" of its metrics; -1. */
static int64_t ops_of(const char *yaml)
{
	const char *at = strstr(yaml, "bogo-ops: ");

	return at ? strtoll(at + strlen("bogo-ops: "), NULL, 10) : -1;
}

/* A little of everything, again and again, until it has ended. */
static void reclaim_beside(struct case_ctx *c, struct run *r)
{
	static const char *const asked[] = {
		"256K", "256K swappiness=200", "1M", "1M swappiness=200",
	};

	while (waitpid(r->pid, &r->status, WNOHANG) == 0) {
		int e = case_reclaim_text(c, asked[r->rounds++ % 4]);

		if (e && e != EAGAIN && !r->errnum)
			r->errnum = e;
		guest_sleep(0.001);
	}
}

/* 0, or -1 if it could not even be started. */
static int run_once(struct case_ctx *c, struct run *r,
		    const FIXTURE_VARIANT(stress) *v)
{
	int64_t ops;
	char *yaml;

	r->pid = fork();
	if (!r->pid)
		exec_stressor(c, r, v);
	if (r->pid < 0)
		return case_fail("fork: %s", strerror(errno));
	reclaim_beside(c, r);
	free(r->said);
	r->said = take_file(r->log);
	yaml = take_file(r->yaml);
	ops = ops_of(yaml);
	if (ops > 0)
		r->ops += ops;
	free(yaml);
	r->runs++;
	return 0;
}

/*
 * Once, and again if it was over before it had met enough reclaim: where the
 * kernel's timers are coarse, a round takes longer.
 */
static int run_stressor(struct case_ctx *c, struct run *r,
			const FIXTURE_VARIANT(stress) *v)
{
	int64_t before = case_stat(c, "pgsteal");

	snprintf(r->log, sizeof(r->log), "%s/log", c->dir);
	snprintf(r->yaml, sizeof(r->yaml), "%s/yaml", c->dir);
	do {
		if (run_once(c, r, v))
			return -1;
	} while (!r->status && r->rounds < ROUNDS && r->runs < RUNS_MAX);
	r->stolen = case_stat(c, "pgsteal") - before;
	r->huge = case_stat(c, "thp_fault_alloc");	/* from 0: a new cgroup */
	return 0;
}

/* ---- what it says ---------------------------------------------------------------- */

static int64_t oom_kills(const struct case_ctx *c)
{
	char text[1024], *at;

	if (cg_read(c->cgroup, "memory.events", text, sizeof(text)))
		return -1;
	at = strstr(text, "oom_kill ");
	return at ? strtoll(at + strlen("oom_kill "), NULL, 10) : -1;
}

/*
 * The line of its log that names what it lacked: the last one but for that which
 * says that all is over.
 */
static const char *last_line(char *said)
{
	char *line, *save = NULL, *last = (char *)"it says nothing";

	for (line = strtok_r(said, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save))
		if (!strstr(line, "run completed"))
			last = line;
	return last;
}

/*
 * Why it shows nothing, without that anything is wrong; NULL: it does.  The
 * machine is too small (killed for want of memory, ENOMEM), or lacks something.
 */
static char *no_answer(struct case_ctx *c, struct run *r)
{
	int64_t kills = oom_kills(c);
	int code = WIFEXITED(r->status) ? WEXITSTATUS(r->status) : -1;

	if (kills) {
		/* The kernel log tells of it, too. */
		case_may_warn(c);
		return xasprintf("%" PRId64 " processes killed for want of memory",
				 kills);
	}
	if (code == STRESS_NO_RESOURCE)
		return xasprintf("stress-ng lacks memory or another resource: %s",
				 last_line(r->said));
	if (code == STRESS_NOT_IMPLEMENTED)
		return xasprintf("stress-ng can't do that here: %s",
				 last_line(r->said));
	return NULL;
}

static void show_log(struct __test_metadata *_metadata, char *said)
{
	char *line, *save = NULL;
	int n = 0;

	for (line = strtok_r(said, "\n", &save); line && n++ < LOG_LINES;
	     line = strtok_r(NULL, "\n", &save))
		TH_LOG("%s", line);
}

/* (issue 3) What a stressor verifies holds while its cgroup is reclaimed. */
CASE(stress, verifies, SECONDS)
{
	struct run r = { .stolen = -1 };
	bool good;
	char *why;

	if (access(PROGRAM, X_OK))
		SKIP(return, "no stress-ng in this machine: make stress-ng");
	CASE_NEEDS(case_swap(c, SWAP));
	CASE_NEEDS(case_khugepaged(c, true));
	if (variant->huge && pmd_bytes() > HUGE_BYTES / 2)
		SKIP(return, "huge pages of %zu MiB", pmd_bytes() >> 20);
	if (variant->huge) {
		CASE_NEEDS(case_knob(c, THP "/enabled", "madvise"));
		/* stress-ng reads first, which the zero page would satisfy. */
		CASE_NEEDS(case_knob(c, THP "/use_zero_page", "0"));
	}
	ASSERT_EQ(0, run_stressor(c, &r, variant)) TH_LOG("%s", case_why());
	TH_LOG("%s: %" PRId64 " bogo ops in %d runs of %s, %" PRId64 " KiB reclaimed in %d rounds, %" PRId64 " huge pages",
	       variant->stressor, r.ops, r.runs, variant->ops,
	       r.stolen * (int64_t)page_bytes() / 1024, r.rounds, r.huge);
	why = no_answer(c, &r);
	if (why)
		SKIP(return, "%s", why);
	EXPECT_EQ(0, r.errnum) TH_LOG("memory.reclaim: %s", strerror(r.errnum));
	good = WIFEXITED(r.status) && !WEXITSTATUS(r.status) &&
		strstr(r.said, "successful run completed") &&
		!strstr(r.said, " fail: ");
	if (!good)
		show_log(_metadata, r.said);
	EXPECT_TRUE(good) TH_LOG("wait status 0x%x", r.status);
	/* Otherwise nothing was shown. */
	EXPECT_LT(0, r.ops);
	EXPECT_LT(0, r.stolen);
	if (variant->huge)
		EXPECT_LT(0, r.huge);
	free(r.said);
}

TEST_HARNESS_MAIN
