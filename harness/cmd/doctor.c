/* SPDX-License-Identifier: GPL-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../build/build.h"
#include "../machine/machine.h"
#include "cmd.h"

static const char help[] =
"usage: folab doctor\n"
"\n"
"Tell line by line what this host can and cannot do, and what to install.\n"
"Exit 3 if something lacks that folab ab needs for arm64.\n"
"\n"
"  -h, --help           this text\n";

/* "ok" and "-- " lines; @needed: counts for the exit code. */
static int missing;

static void PRINTF(3, 4) line(bool ok, bool needed, const char *fmt, ...)
{
	va_list ap;

	printf("%-7s ", ok ? "ok" : needed ? "MISSING" : "no");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	if (!ok && needed)
		missing++;
}

/* First line of a program's --version; NULL if it does not run. */
static char *version_of(const char *program)
{
	char *argv[] = { (char *)program, (char *)"--version", NULL };
	struct child_spec spec = { .argv = argv };
	struct err err = { 0 };
	char *out = NULL;

	if (!program_exists(program) ||
	    child_capture(&spec, true, &out, &err) != 0) {
		free(out);
		return NULL;
	}
	out[strcspn(out, "\n")] = '\0';
	return out;
}

static void check_program(const char *program, const char *package,
			  bool needed)
{
	char *version = version_of(program);

	if (version)
		line(true, needed, "%s: %s", program, version);
	else
		line(false, needed, "%s: apt-get install %s", program, package);
	free(version);
}

static void check_arch(const struct arch *arch)
{
	bool needed = !strcmp(arch->name, "arm64");
	char *name = xasprintf("agent-%s", arch->name), *agent = NULL, *gcc;
	struct err err = { 0 };

	check_program(arch->qemu, needed ? "qemu-system-arm" :
		      "qemu-system-x86", needed);
	gcc = arch == arch_host() ? xstrdup("gcc") :
		xasprintf("%s-gcc", arch->triplet);
	check_program(gcc, needed ? "gcc-aarch64-linux-gnu" :
		      "gcc-x86-64-linux-gnu", needed);
	if (!machine_built_path(name, &agent, &err))
		line(true, needed, "%s guests: the agent is built",
		     arch->name);
	else
		line(false, needed, "%s guests: no agent; make agents",
		     arch->name);
	free(gcc);
	free(agent);
	free(name);
}

static void check_host(void)
{
	long pages = sysconf(_SC_AVPHYS_PAGES), page = sysconf(_SC_PAGESIZE);
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct err err = { 0 };
	char *cache = cache_dir(&err);
	uint64_t space;

	line(true, true, "processors: %ld, memory free now: %.1f GiB", cpus,
	     (double)pages * page / (1 << 30));
	if (!cache || file_free_space(cache, &space, &err))
		line(false, true, "cache: %s", err.text);
	else
		line(space >> 30 >= 6, true,
		     "cache: %s, %.0f GiB free (a kernel's trees take about 2)",
		     cache, (double)space / (1 << 30));
	free(cache);
}

static void check_plugin(void)
{
	struct err err = { 0 };
	char *plugin = NULL;

	if (!machine_built_path("plugin.so", &plugin, &err))
		line(true, true, "instruction profile: the plugin is built");
	else
		line(false, true, "instruction profile: no plugin; make");
	free(plugin);
}

int cmd_doctor(int argc, char **argv)
{
	static const struct option options[] = {
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 }
	};
	const struct arch *arch;
	struct err err = { 0 };
	int c;

	while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (c != 'h')
			return cmd_usage("doctor");
		fputs(help, stdout);
		return EXIT_OK;
	}
	intr_install();
	check_host();
	if (build_check_spec("6.12+young-batch", arch_find("arm64"), &err))
		line(false, true, "kernel 6.12+young-batch: %s", err.text);
	else
		line(true, true, "kernel 6.12+young-batch: source and series are here");
	check_program("git", "git", true);
	check_program("make", "make", true);
	check_program("flex", "flex", true);
	check_program("bison", "bison", true);
	check_program("bc", "bc", true);
	/* An ordinary user's PATH lacks sbin, where it lies; ab looks there. */
	if (program_exists("mkfs.xfs") || program_exists("/sbin/mkfs.xfs") ||
	    program_exists("/usr/sbin/mkfs.xfs"))
		line(true, true, "mkfs.xfs: here");
	else
		line(false, true, "mkfs.xfs: apt-get install xfsprogs");
	check_plugin();
	for (size_t i = 0; (arch = arch_at(i)); i++)
		check_arch(arch);
	check_program("gnuplot", "gnuplot-nox", false);
	check_program("perf", "linux-perf", false);
	line(true, false,
	     "runs on this host's own kernel: folab run clear-chunk, folab tune; what needs a file system or a cgroup runs in guests only");
	return missing ? EXIT_ENVIRONMENT : EXIT_OK;
}
