/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The emulated machine: QEMU's TCG on the instruction clock.
 */
#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

/* What the emulator needs beside the guest's memory: translated code. */
#define EMULATOR_BYTES	(256ull << 20)
/* Seconds of wall time.  A sound guest needs less than one for each. */
#define FIRST_LINE	30.0
#define LAST_WORDS	20.0

static int processors(void)
{
	cpu_set_t set;

	if (!sched_getaffinity(0, sizeof(set), &set))
		return CPU_COUNT(&set);
	return sysconf(_SC_NPROCESSORS_ONLN);
}

/*
 * How many guests at a time.  An eighth of the free memory is left alone: a
 * guest that the host kills for want of it has cost more than one that waits.
 */
static int choose_parallel(const struct machine_setup *setup)
{
	uint64_t each = setup->memory + EMULATOR_BYTES;
	uint64_t available = host_memory_free(), fit;
	int n = processors();
	char need[32];

	if (setup->parallel > 0)
		return setup->parallel;
	if (!available)
		return 1;
	fit = (available - available / 8) / each;
	if (fit < 1) {
		progress_note("note: a guest has %s, more than this host has free: it may be killed for it",
			      format_size(setup->memory, need, sizeof(need)));
		return 1;
	}
	if (n > (int64_t)fit)
		n = fit;
	return n > 0 ? n : 1;
}

static int emulated_describe(const struct machine_setup *setup,
			     struct result *r, struct err *err)
{
	char *version = NULL, *mkfs = NULL;

	if (qemu_version(setup->arch, &version, err))
		return -1;
	if (scratch_bytes(setup->job) && scratch_version(&mkfs, err)) {
		free(version);
		return -1;
	}
	free(r->clock);
	free(r->machine);
	free(r->machine_args);
	free(r->cmdline);
	free(r->fs);
	r->clock = xstrdup("instructions");
	r->ns_per_instruction = 1 << NS_PER_INSTRUCTION_SHIFT;
	r->machine = version;
	r->machine_args = qemu_model(setup);
	r->cmdline = kernel_cmdline(setup);
	r->fs = mkfs ? xasprintf("%s on a RAM disk, made by %s", setup->job->fs,
				 mkfs) : xstrdup("none");
	free(mkfs);
	return 0;
}

/* Everything that a guest is started with, for the time of one run. */
struct prepared {
	struct run_dir dir;
	char *initramfs, *cmdline, *plugin;
};

static void unprepare(struct prepared *p)
{
	free(p->plugin);
	free(p->cmdline);
	free(p->initramfs);
	run_dir_remove(&p->dir);
}

/* Where the job's extras are built; one that is not is left out. */
static void find_trees(const struct machine_setup *setup,
		       struct strlist *trees)
{
	for (size_t i = 0; i < setup->job->extras.n; i++) {
		char *name = xasprintf("%s-%s", setup->job->extras.v[i],
				       setup->arch->name), *path;
		struct err ignored = { 0 };

		if (!machine_built_path(name, &path, &ignored)) {
			strlist_add(trees, path);
			free(path);
		}
		free(name);
	}
}

static int prepare(const struct machine_setup *setup, struct prepared *p,
		   struct err *err)
{
	char *name = xasprintf("agent-%s", setup->arch->name);
	char *agent = NULL, *runs = NULL, *cases = NULL;
	struct strlist trees = { 0 };
	int rc = -1;

	if (machine_built_path(name, &agent, err) ||
	    (setup->profile && machine_built_path("plugin.so", &p->plugin, err)) ||
	    (setup->dir && file_mkdirs(setup->dir, err)) || run_dir_make(&p->dir, err))
		goto out;
	if (setup->job->n_cases &&
	    machine_cases_dir(setup->arch, &cases, err))
		goto out;
	if (scratch_bytes(setup->job)) {
		runs = xasprintf("%s/fs.img.runs", p->dir.path);
		if (scratch_make(setup->job, p->dir.path, runs, err))
			goto out;
	}
	p->cmdline = kernel_cmdline(setup);
	p->initramfs = xasprintf("%s/initramfs.cpio", p->dir.path);
	find_trees(setup, &trees);
	rc = initramfs_make(p->initramfs, agent, setup->job, runs, cases,
			    &trees, err);
out:
	strlist_free(&trees);
	free(cases);
	free(runs);
	free(agent);
	free(name);
	return rc;
}

static int check_images(const struct machine_setup *setup,
			const struct image *images, const struct trial *trials,
			size_t n, struct err *err)
{
	bool checked[4] = { false };

	for (size_t i = 0; i < n; i++) {
		int side = trials[i].side - 'A';

		if (!checked[side] &&
		    kernel_check(images[side].kernel, setup->arch, err))
			return -1;
		checked[side] = true;
	}
	return 0;
}

static int emulated_run(const struct machine_setup *setup,
			const struct image *images, struct trial *trials,
			size_t n, struct err *err)
{
	struct prepared p = { .dir = { .lock = { .fd = -1 } } };
	struct guests_config c = {
		.setup = setup, .images = images, .first_line = FIRST_LINE,
		.last_words = LAST_WORDS,
	};
	char *version;
	int rc = -1;

	if (qemu_version(setup->arch, &version, err))
		return -1;
	free(version);
	if (check_images(setup, images, trials, n, err))
		return -1;
	if (setup->share.label)
		progress_begin("%s", setup->share.label);
	else
		progress_begin("run %zu guests", n);
	if (!prepare(setup, &p, err)) {
		c.initramfs = p.initramfs;
		c.cmdline = p.cmdline;
		c.plugin = p.plugin;
		c.dir = p.dir.path;
		c.parallel = choose_parallel(setup);
		rc = guests_run(&c, trials, n, err);
	}
	unprepare(&p);
	progress_end(rc ? NULL : "done");
	return rc;
}

const struct machine_ops machine_emulated = {
	.name = "emulated",
	.describe = emulated_describe,
	.run = emulated_run,
};
