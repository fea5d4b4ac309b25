/* SPDX-License-Identifier: GPL-2.0 */
/*
 * libcgroup finds the hierarchy, makes and removes the cgroup, moves
 * processes, sets limits and reads files.  The one thing that it can't do is
 * a write(2) that the caller may time and whose errno survives: for
 * memory.reclaim the file is opened here, at the path that libcgroup found.
 */
#include <errno.h>
#include <fcntl.h>
#include <libcgroup.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cgroups.h"
#include "parse.h"

#define CONTROLLER	"memory"

struct memcg {
	char *name;
	struct cgroup *cg;
	int reclaim_fd;		/* memory.reclaim, -1: not prepared */
	char request[128];	/* what will be written to it */
	size_t request_len;
};

static int memcg_error(struct err *err, int code, int ret, const char *what,
		       const char *name)
{
	if (ret == ECGOTHER)
		return err_sys(err, code, cgroup_get_last_errno(),
			       "cgroup %s: can't %s", name, what);
	return err_set(err, code, "cgroup %s: can't %s: %s", name, what,
		       cgroup_strerror(ret));
}

int memcg_init(struct err *err)
{
	char *mount = NULL, *path;
	bool v2;
	int ret;

	ret = cgroup_init();
	if (!ret)
		ret = cgroup_get_subsys_mount_point(CONTROLLER, &mount);
	if (ret)
		return err_set(err, EXIT_ENVIRONMENT,
			       "no memory controller of cgroups found (%s); mount cgroup2 on /sys/fs/cgroup",
			       cgroup_strerror(ret));

	path = xasprintf("%s/cgroup.controllers", mount);
	v2 = file_exists(path);
	free(path);
	if (!v2)
		err_set(err, EXIT_ENVIRONMENT,
			"the memory controller on %s is cgroup v1; boot with cgroup_no_v1=all",
			mount);
	free(mount);
	return v2 ? 0 : -1;
}

char *memcg_mount(struct err *err)
{
	char *mount = NULL;
	int ret = cgroup_get_subsys_mount_point(CONTROLLER, &mount);

	if (!ret)
		return mount;
	err_set(err, EXIT_ENVIRONMENT,
		"can't tell where the memory controller is mounted: %s",
		cgroup_strerror(ret));
	return NULL;
}

int memcg_create(const char *name, struct memcg **out, struct err *err)
{
	struct memcg *cg = xcalloc(1, sizeof(*cg));
	int ret;

	cg->name = xstrdup(name);
	cg->reclaim_fd = -1;
	cg->cg = cgroup_new_cgroup(name);
	if (!cg->cg || !cgroup_add_controller(cg->cg, CONTROLLER)) {
		err_set(err, EXIT_ENVIRONMENT,
			"cgroup %s: libcgroup refuses the name", name);
		goto fail;
	}
	/* Switches the controller on in the parent's subtree_control too. */
	ret = cgroup_create_cgroup(cg->cg, 1);
	if (ret) {
		memcg_error(err, EXIT_ENVIRONMENT, ret, "make it", name);
		goto fail;
	}
	*out = cg;
	return 0;

fail:
	cgroup_free(&cg->cg);
	free(cg->name);
	free(cg);
	return -1;
}

int memcg_attach(struct memcg *cg, pid_t pid, struct err *err)
{
	int ret = cgroup_attach_task_pid(cg->cg, pid);

	if (ret)
		return memcg_error(err, EXIT_RUN, ret, "attach a process",
				   cg->name);
	return 0;
}

int memcg_set(struct memcg *cg, const char *key, const char *value,
	      struct err *err)
{
	struct cgroup *change = cgroup_new_cgroup(cg->name);
	struct cgroup_controller *memory = NULL;
	char *file = xasprintf(CONTROLLER ".%s", key);
	int ret = ECGFAIL;

	/* A structure of its own: libcgroup writes all values that one holds. */
	if (change)
		memory = cgroup_add_controller(change, CONTROLLER);
	if (memory)
		ret = cgroup_add_value_string(memory, file, value);
	if (!ret)
		ret = cgroup_modify_cgroup(change);
	cgroup_free(&change);
	if (ret)
		memcg_error(err, EXIT_RUN, ret, file, cg->name);
	free(file);
	return ret ? -1 : 0;
}

/* Call @line for each line of memory.KEY until it returns false. */
static int memcg_lines(struct memcg *cg, const char *key,
		       bool (*line)(void *arg, char *text), void *arg,
		       struct err *err)
{
	char *file = xasprintf(CONTROLLER ".%s", key);
	void *handle = NULL;
	char text[256];
	int ret;

	ret = cgroup_read_value_begin(CONTROLLER, cg->name, file, &handle,
				      text, sizeof(text));
	while (!ret && line(arg, text))
		ret = cgroup_read_value_next(&handle, text, sizeof(text));
	if (handle)
		cgroup_read_value_end(&handle);
	if (ret && ret != ECGEOF)
		memcg_error(err, EXIT_ENVIRONMENT, ret, file, cg->name);
	free(file);
	return ret && ret != ECGEOF ? -1 : 0;
}

struct number {
	bool found;
	int64_t value;
};

static bool number_line(void *arg, char *text)
{
	struct number *n = arg;

	n->found = cgroup_parse_number(text, &n->value);
	return false;
}

int memcg_get(struct memcg *cg, const char *key, int64_t *value,
	      struct err *err)
{
	struct number n = { false, 0 };

	if (memcg_lines(cg, key, number_line, &n, err))
		return -1;
	if (!n.found)
		return err_set(err, EXIT_RUN,
			       "cgroup %s: memory.%s holds no number",
			       cg->name, key);
	*value = n.value;
	return 0;
}

struct pairs {
	void (*fn)(void *arg, const char *name, int64_t value);
	void *arg;
};

static bool pair_line(void *arg, char *text)
{
	struct pairs *p = arg;
	const char *name;
	int64_t value;

	if (cgroup_parse_pair(text, &name, &value))
		p->fn(p->arg, name, value);
	return true;
}

int memcg_pairs(struct memcg *cg, const char *key,
		void (*fn)(void *arg, const char *name, int64_t value),
		void *arg, struct err *err)
{
	struct pairs p = { fn, arg };

	return memcg_lines(cg, key, pair_line, &p, err);
}

struct pressure {
	int64_t some, full;
};

static bool pressure_line(void *arg, char *text)
{
	struct pressure *p = arg;

	if (!cgroup_parse_pressure(text, "some", &p->some))
		cgroup_parse_pressure(text, "full", &p->full);
	return true;
}

int memcg_pressure(struct memcg *cg, int64_t *some_us, int64_t *full_us,
		   struct err *err)
{
	struct pressure p = { -1, -1 };

	if (memcg_lines(cg, "pressure", pressure_line, &p, err))
		return -1;
	if (p.some < 0 || p.full < 0)
		return err_set(err, EXIT_RUN,
			       "cgroup %s: memory.pressure is not understood",
			       cg->name);
	*some_us = p.some;
	*full_us = p.full;
	return 0;
}

int memcg_reclaim_prepare(struct memcg *cg, uint64_t bytes, const char *options,
			  struct err *err)
{
	char *mount, *path;
	int ret, len;

	len = snprintf(cg->request, sizeof(cg->request), "%llu%s%s",
		       (unsigned long long)bytes, options ? " " : "",
		       options ? options : "");
	if (len < 0 || (size_t)len >= sizeof(cg->request))
		return err_set(err, EXIT_USAGE,
			       "options for memory.reclaim are too long");
	cg->request_len = (size_t)len;

	if (cg->reclaim_fd >= 0)
		return 0;
	mount = memcg_mount(err);
	if (!mount)
		return -1;
	path = xasprintf("%s/%s/memory.reclaim", mount, cg->name);
	free(mount);
	cg->reclaim_fd = open(path, O_WRONLY | O_CLOEXEC);
	ret = errno;
	free(path);
	if (cg->reclaim_fd < 0)
		return err_sys(err, EXIT_ENVIRONMENT, ret,
			       "cgroup %s: can't open memory.reclaim (Linux 5.19 and later have it)",
			       cg->name);
	return 0;
}

void memcg_reclaim(struct memcg *cg, int *errnum)
{
	ssize_t n = write(cg->reclaim_fd, cg->request, cg->request_len);

	*errnum = n < 0 ? errno : 0;
}

int memcg_remove(struct memcg *cg, struct err *err)
{
	int ret = 0;

	if (cg->reclaim_fd >= 0)
		close(cg->reclaim_fd);
	ret = cgroup_delete_cgroup_ext(cg->cg, 0);
	if (ret)
		memcg_error(err, EXIT_RUN, ret, "remove it", cg->name);
	cgroup_free(&cg->cg);
	free(cg->name);
	free(cg);
	return ret ? -1 : 0;
}
