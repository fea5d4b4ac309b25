/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A place for memory cgroups on this host.
 *
 * Where systemd runs, it owns the hierarchy and hands parts of it out: a scope
 * with Delegate=yes, in which it leaves everything to us, and which goes when
 * the last process in it does.  Elsewhere there is the root, whose controller
 * may have to be enabled, and cgroup2 to be mounted: that is changed only when
 * the user says so (--mount), and taken back.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../../cgroups/cgroups.h"
#include "internal.h"

#define SYSTEMD		"/run/systemd/system"	/* sd_booted(3) looks there */
#define SCOPE_ENV	"FOLAB_SCOPE"
#define LEAF		"harness"	/* of the scope: where folab itself runs */
#define BELOW_ROOT	"folab"
#define CGROUP_FS	"/sys/fs/cgroup"

/*
 * There while BELOW_ROOT is; holds ENABLED if the controller was not enabled
 * below the root before.  It outlives a killed run.
 */
#define RECORD		"/run/folab-host.cgroup"
#define ENABLED		"enabled"

static bool has_word(const char *text, const char *word)
{
	size_t len = strlen(word);

	for (; *text; text += strspn(text, " \n")) {
		size_t n = strcspn(text, " \n");

		if (n == len && !strncmp(text, word, n))
			return true;
		text += n;
	}
	return false;
}

static bool file_has_word(const char *path, const char *word)
{
	struct err ignored = { 0 };
	char *text;
	bool has;

	if (file_read(path, 65536, &text, NULL, &ignored))
		return false;
	has = has_word(text, word);
	free(text);
	return has;
}

/* ---- is there a memory controller of v2? --------------------------------------- */

/* Asked of the hierarchy itself, which need not be mounted for that. */
static bool v2_has_memory(void)
{
	struct err ignored = { 0 };
	int fd = mount_detached("cgroup2", NULL, NULL, &ignored);
	char *path;
	bool has;

	if (fd < 0)
		return false;
	path = xasprintf("/proc/self/fd/%d/cgroup.controllers", fd);
	has = file_has_word(path, "memory");
	free(path);
	close(fd);
	return has;
}

/* 0: mounted, 1: could be, -1: the host has none. */
static int find_controller(struct err *err)
{
	struct err missing = { 0 };

	if (!memcg_init(&missing))
		return 0;
	if (v2_has_memory())
		return 1;
	return err_set(err, EXIT_ENVIRONMENT,
		       "no memory controller of cgroup v2 on this host (it is v1's, or off): boot with cgroup_no_v1=memory%s, without cgroup_disable=memory",
		       file_exists(SYSTEMD) ?
		       " systemd.unified_cgroup_hierarchy=1" : "");
}

static int check_plain(const struct host_place *place, int found,
		       struct err *err)
{
	if (place->mount)
		return 0;
	if (found)
		return err_set(err, EXIT_ENVIRONMENT,
			       "cgroup2 is not mounted: mount -t cgroup2 cgroup2 "
			       CGROUP_FS ", or let --mount do it for this run");
	if (file_has_word(CGROUP_FS "/cgroup.subtree_control", "memory"))
		return 0;
	return err_set(err, EXIT_ENVIRONMENT,
		       "the memory controller is not enabled below the root: echo +memory >"
		       CGROUP_FS "/cgroup.subtree_control, or let --mount do it for this run");
}

/* ---- systemd's scope ------------------------------------------------------------- */

/* Path of our own cgroup in the v2 hierarchy; caller frees, NULL: not known. */
static char *own_cgroup(void)
{
	struct err ignored = { 0 };
	char *text, *at, *path = NULL;

	if (file_read("/proc/self/cgroup", 65536, &text, NULL, &ignored))
		return NULL;
	at = str_starts(text, "0::/") ? text : strstr(text, "\n0::/");
	if (at) {
		at = strchr(at, '/') + 1;
		path = xstrndup(at, strcspn(at, "\n"));
	}
	free(text);
	return path;
}

/* The arguments that we were started with; caller frees. */
static int own_arguments(struct strlist *argv, struct err *err)
{
	char *data;
	size_t len;

	if (file_read("/proc/self/cmdline", 1 << 20, &data, &len, err))
		return -1;
	for (size_t at = strlen(data) + 1; at < len;
	     at += strlen(data + at) + 1)
		strlist_add(argv, data + at);
	free(data);
	return 0;
}

static int start_in_scope(struct err *err)
{
	struct strlist argv = { 0 }, own = { 0 };
	char *unit = xasprintf("folab-%d.scope", (int)getpid());
	char self[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n < 0 || own_arguments(&own, err))
		return err_set(err, EXIT_ENVIRONMENT,
			       "can't read /proc/self: is /proc mounted?");
	self[n] = '\0';
	strlist_add(&argv, "systemd-run");
	strlist_add(&argv, "--scope");
	strlist_add(&argv, "--quiet");
	strlist_add(&argv, "--collect");
	strlist_add(&argv, "--property=Delegate=yes");
	strlist_addf(&argv, "--unit=%s", unit);
	strlist_add(&argv, "--");
	strlist_add(&argv, self);
	for (size_t i = 0; i < own.n; i++)
		strlist_add(&argv, own.v[i]);
	setenv(SCOPE_ENV, unit, 1);
	execvp(argv.v[0], argv.v);
	err_sys(err, EXIT_ENVIRONMENT, errno,
		"can't run systemd-run, which delegates a cgroup to us");
	strlist_free(&argv);
	strlist_free(&own);
	free(unit);
	return -1;
}

int host_cgroup_enter(const struct host_place *place, struct err *err)
{
	int found = find_controller(err);
	const char *unit = getenv(SCOPE_ENV);
	char *own;
	int rc;

	if (found < 0)
		return -1;
	if (!file_exists(SYSTEMD))
		return check_plain(place, found, err);
	if (!unit)
		return start_in_scope(err);
	own = own_cgroup();
	rc = own && str_ends(own, unit) ? 0 :
	     err_set(err, EXIT_ENVIRONMENT,
		     "systemd-run has not put folab into the scope %s (the cgroup is /%s): without " SCOPE_ENV " in the environment folab asks again",
		     unit, own ? own : "?");
	free(own);
	return rc;
}

/* A cgroup with processes of its own can't hand controllers down. */
static int move_to_leaf(const char *mount, const char *scope, struct err *err)
{
	char *dir = xasprintf("%s/%s/" LEAF, mount, scope);
	char *procs = xasprintf("%s/cgroup.procs", dir);
	int ret = mkdir(dir, 0755) && errno != EEXIST ? errno :
		  file_poke(procs, 0, "0");

	free(procs);
	free(dir);
	if (ret)
		return err_sys(err, EXIT_ENVIRONMENT, ret,
			       "can't move to a cgroup of our own below %s",
			       scope);
	return 0;
}

/* ---- without systemd ---------------------------------------------------------------- */

/* In a mount namespace of our own, with which it goes. */
static int mount_cgroup2(struct err *err)
{
	if (unshare(CLONE_NEWNS) ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("cgroup2", CGROUP_FS, "cgroup2",
		  MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL))
		return err_sys(err, EXIT_ENVIRONMENT, errno,
			       "can't mount cgroup2 on " CGROUP_FS);
	return memcg_init(err);
}

static int begin_below_root(const char *mount, struct err *err)
{
	char *path = xasprintf("%s/cgroup.subtree_control", mount);
	bool enabled = file_has_word(path, "memory");
	const char *text = enabled ? "" : ENABLED;
	int rc = file_write(RECORD, text, strlen(text), err), ret;

	if (!rc && !enabled) {
		ret = file_poke(path, 0, "+memory");
		if (ret)
			rc = err_sys(err, EXIT_ENVIRONMENT, ret,
				     "can't enable the memory controller in %s",
				     path);
	}
	free(path);
	return rc;
}

static int remove_one(const char *path, const struct stat *st, int type,
		      struct FTW *ftw)
{
	if (type == FTW_DP)
		rmdir(path);
	return 0;
}

/* The cgroup @below and those in it, with what still runs in them. */
static void remove_below(const char *mount, const char *below)
{
	char *dir = xasprintf("%s/%s", mount, below);
	char *kill = xasprintf("%s/cgroup.kill", dir);
	const struct timespec pause = { .tv_nsec = 10000000 };

	if (file_exists(dir)) {
		file_poke(kill, 0, "1");
		/* A killed process is there until it has been taken apart. */
		for (int i = 0; i < 300 && file_exists(dir); i++) {
			nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
			if (file_exists(dir))
				nanosleep(&pause, NULL);
		}
	}
	free(kill);
	free(dir);
}

/*
 * Through a mount of its own: the one that a killed run had has gone with it,
 * what it made in the hierarchy has not.
 */
void host_cgroup_sweep(void)
{
	struct err ignored = { 0 };
	char *mount, *path;
	int fd;

	if (!file_exists(RECORD))
		return;
	fd = mount_detached("cgroup2", NULL, NULL, &ignored);
	if (fd < 0)
		return;
	mount = xasprintf("/proc/self/fd/%d", fd);
	remove_below(mount, BELOW_ROOT);
	if (file_has_word(RECORD, ENABLED)) {
		path = xasprintf("%s/cgroup.subtree_control", mount);
		file_poke(path, 0, "-memory");
		free(path);
	}
	unlink(RECORD);
	free(mount);
	close(fd);
}

int host_cgroup_begin(char **below, struct err *err)
{
	char *mount;
	int found = find_controller(err), rc = 0;

	*below = NULL;
	if (found < 0 || (found && mount_cgroup2(err)))
		return -1;
	mount = memcg_mount(err);
	if (!mount)
		return -1;
	if (file_exists(SYSTEMD)) {
		*below = own_cgroup();
		/* Not the first run of this process: it has moved already. */
		if (*below && str_ends(*below, "/" LEAF))
			(*below)[strlen(*below) - strlen("/" LEAF)] = '\0';
		if (!*below)
			rc = err_set(err, EXIT_ENVIRONMENT,
				     "/proc/self/cgroup does not tell our cgroup");
		else
			rc = move_to_leaf(mount, *below, err);
	} else {
		*below = xstrdup(BELOW_ROOT);
		rc = begin_below_root(mount, err);
	}
	free(mount);
	return rc;
}
