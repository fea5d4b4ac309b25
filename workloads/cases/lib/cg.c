/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Cgroups as the cases need them: any file of any of them, and the errno that
 * the kernel gave.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib.h"

#define KILL_SECONDS	10
#define FLUSH_SECONDS	2.1	/* memcg's periodic flush, every 2 s */

static char *cg_path(const char *cgroup, const char *file)
{
	return xasprintf(CGROUPS "/%s/%s", cgroup, file);
}

int cg_write(const char *cgroup, const char *file, const char *text)
{
	char *path = cg_path(cgroup, file);
	int ret = file_poke(path, 0, text);

	free(path);
	return ret;
}

int cg_read(const char *cgroup, const char *file, char *buf, size_t len)
{
	char *path = cg_path(cgroup, file);
	int fd = open(path, O_RDONLY | O_CLOEXEC), ret = 0;
	size_t done = 0;
	ssize_t n;

	free(path);
	if (fd < 0)
		return errno;
	while (done < len - 1) {
		n = read(fd, buf + done, len - 1 - done);
		if (n < 0)
			ret = errno;
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	buf[done] = '\0';
	close(fd);
	return ret;
}

int cg_make(const char *cgroup)
{
	char *path = cg_path(cgroup, ""), *parent = xstrdup(cgroup);
	char *slash = strrchr(parent, '/');
	int ret = 0;

	if (slash)
		*slash = '\0';
	cg_write(slash ? parent : "", "cgroup.subtree_control", "+memory");
	if (mkdir(path, 0755) && errno != EEXIST)
		ret = errno;
	free(parent);
	free(path);
	return ret;
}

int cg_remove(const char *cgroup)
{
	char *path = cg_path(cgroup, "");
	int ret = rmdir(path) ? errno : 0;

	free(path);
	return ret;
}

int cg_attach(const char *cgroup, pid_t pid)
{
	char text[32];

	snprintf(text, sizeof(text), "%d", pid ? pid : getpid());
	return cg_write(cgroup, "cgroup.procs", text);
}

int64_t cg_pair(const char *cgroup, const char *file, const char *name)
{
	char buf[16384], *at = buf;
	size_t len = strlen(name);

	if (cg_read(cgroup, file, buf, sizeof(buf)))
		return -1;
	while (at && *at) {
		if (!strncmp(at, name, len) && at[len] == ' ')
			return strtoll(at + len, NULL, 10);
		at = strchr(at, '\n');
		at = at ? at + 1 : NULL;
	}
	return -1;
}

int cg_kill(const char *cgroup)
{
	double end = guest_seconds() + KILL_SECONDS;

	while (cg_pair(cgroup, "cgroup.events", "populated") == 1) {
		cg_write(cgroup, "cgroup.kill", "1");
		if (guest_seconds() > end)
			return case_fail("processes in cgroup %s would not die",
					 cgroup);
		guest_sleep(0.002);
	}
	return 0;
}

static int destroy_children(const char *cgroup)
{
	char *path = cg_path(cgroup, "");
	DIR *dir = opendir(path);
	struct dirent *d;
	int ret = 0;

	free(path);
	if (!dir)
		return 0;
	while (!ret && (d = readdir(dir))) {
		char *child;

		if (d->d_type != DT_DIR || d->d_name[0] == '.')
			continue;
		child = xasprintf("%s/%s", cgroup, d->d_name);
		ret = cg_destroy(child);
		free(child);
	}
	closedir(dir);
	return ret;
}

int cg_destroy(const char *cgroup)
{
	double end = guest_seconds() + KILL_SECONDS;
	int ret;

	if (cg_kill(cgroup) || destroy_children(cgroup))
		return -1;
	/* The last process may still be on its way out: EBUSY. */
	while ((ret = cg_remove(cgroup)) == EBUSY && guest_seconds() < end)
		guest_sleep(0.002);
	if (ret && ret != ENOENT)
		return case_fail("can't remove cgroup %s: %s", cgroup,
				 strerror(ret));
	return 0;
}

/* ---- the case's own ---------------------------------------------------------- */

int case_reclaim_text(struct case_ctx *c, const char *text)
{
	return cg_write(c->cgroup, "memory.reclaim", text);
}

int case_reclaim(struct case_ctx *c, uint64_t bytes)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)bytes);
	return case_reclaim_text(c, text);
}

int64_t case_current(struct case_ctx *c)
{
	char text[64];

	if (cg_read(c->cgroup, "memory.current", text, sizeof(text)))
		return -1;
	return strtoll(text, NULL, 10);
}

void case_reclaim_all(struct case_ctx *c, int rounds)
{
	int64_t before, after = case_current(c);
	int idle = 0;

	/* The first round may only take the young bits away. */
	for (int i = 0; i < rounds && idle < 3; i++) {
		before = after;
		case_reclaim(c, 1ull << 40);
		after = case_current(c);
		idle = after < before ? 0 : idle + 1;
	}
}

int64_t case_stat(struct case_ctx *c, const char *name)
{
	double end = guest_seconds() + FLUSH_SECONDS;

	/*
	 * Small changes stay in per-CPU counts until a flush whose timer does
	 * not wake an idle processor: so wake it.
	 */
	while (guest_seconds() < end)
		guest_sleep(0.1);
	return cg_pair(c->cgroup, "memory.stat", name);
}
