/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What this host is, as far as figures hang on it.  What can't be read is left
 * out: many of these files are root's, or a virtual machine's to lack.
 */
#include <ctype.h>
#include <numa.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "../../workloads/hot_set.h"
#include "internal.h"

#define SCHED_PREEMPT	"/sys/kernel/debug/sched/preempt"
#define THP		"/sys/kernel/mm/transparent_hugepage/enabled"
#define GOVERNOR	"/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"
#define VENDOR		"/sys/class/dmi/id/sys_vendor"

/* NULL: it is not there. */
static char *slurp(const char *path, size_t max)
{
	struct err ignored = { 0 };
	char *text = NULL;

	if (file_read(path, max, &text, NULL, &ignored))
		return NULL;
	return text;
}

static char *first_line(const char *path)
{
	char *text = slurp(path, 4096);

	if (text)
		text[strcspn(text, "\n")] = '\0';
	return text;
}

char *host_value_of(const char *text, const char *key)
{
	const char *at = text;
	size_t n;

	while (at && !str_starts(at, key)) {
		at = strchr(at, '\n');
		at = at ? at + 1 : NULL;
	}
	if (!at)
		return NULL;
	at += strlen(key);
	at += strspn(at, " \t:");
	n = strcspn(at, "\n");
	return xstrndup(at, n);
}

char *host_chosen_of(const char *text, char open, char close)
{
	const char *from = strchr(text, open);
	const char *to = from ? strchr(from, close) : NULL;

	return to ? xstrndup(from + 1, to - from - 1) : NULL;
}

static char *chosen_in(const char *path, char open, char close)
{
	char *text = first_line(path), *chosen = NULL;

	if (text)
		chosen = host_chosen_of(text, open, close);
	free(text);
	return chosen;
}

/*
 * A kernel with PREEMPT_DYNAMIC tells which model it runs only in debugfs; its
 * command line says so if somebody chose.
 */
static char *preempt_model(const char *version)
{
	char *model = chosen_in(SCHED_PREEMPT, '(', ')');
	char *cmdline, *at;

	if (model)
		return model;
	cmdline = slurp("/proc/cmdline", 65536);
	at = cmdline ? strstr(cmdline, "preempt=") : NULL;
	if (at && (at == cmdline || at[-1] == ' ')) {
		at += strlen("preempt=");
		model = xstrndup(at, strcspn(at, " \n"));
	}
	free(cmdline);
	if (model)
		return model;
	if (strstr(version, "PREEMPT_RT"))
		return xstrdup("rt");
	if (strstr(version, "PREEMPT_DYNAMIC"))
		return xstrdup("dynamic (not told)");
	if (strstr(version, "PREEMPT_LAZY"))
		return xstrdup("lazy");
	return xstrdup(strstr(version, "PREEMPT") ? "full" :
		       "none or voluntary");
}

/* The word that /proc/cpuinfo of x86 has for it; arm64 has none. */
static bool flag_in_cpuinfo(const char *cpuinfo, const char *flag)
{
	char *flags = host_value_of(cpuinfo, "flags"), *save, *word;
	bool found = false;

	for (word = flags ? strtok_r(flags, " ", &save) : NULL; word && !found;
	     word = strtok_r(NULL, " ", &save))
		found = !strcmp(word, flag);
	free(flags);
	return found;
}

static char *hypervisor(const char *cpuinfo)
{
	char *type = first_line("/sys/hypervisor/type"), *vendor, *text;

	if (type)
		return type;
	if (!flag_in_cpuinfo(cpuinfo, "hypervisor"))
		return NULL;
	vendor = first_line(VENDOR);
	if (!vendor || !*vendor) {
		free(vendor);
		return xstrdup("the processor's hypervisor flag");
	}
	text = xasprintf("the processor's hypervisor flag, %s", vendor);
	free(vendor);
	return text;
}

static char *cpu_name(const char *cpuinfo)
{
	/* x86; the boards of arm64; s390 and others do not matter here. */
	char *name = host_value_of(cpuinfo, "model name"), *part, *implementer;

	if (name)
		return name;
	part = host_value_of(cpuinfo, "CPU part");
	implementer = host_value_of(cpuinfo, "CPU implementer");
	if (part && implementer)
		name = xasprintf("implementer %s, part %s", implementer, part);
	free(implementer);
	free(part);
	return name;
}

void host_read(struct host *h)
{
	char *cpuinfo = slurp("/proc/cpuinfo", 16 << 20);
	struct utsname u;

	uname(&u);
	*h = (struct host){
		.cpu = cpuinfo ? cpu_name(cpuinfo) : NULL,
		.hypervisor = cpuinfo ? hypervisor(cpuinfo) : NULL,
		.preempt = preempt_model(u.version),
		.thp = chosen_in(THP, '[', ']'),
		.governor = first_line(GOVERNOR),
		.cpus = sysconf(_SC_NPROCESSORS_ONLN),
		.nodes = numa_available() < 0 ? 1 : numa_num_configured_nodes(),
		.memory = (int64_t)sysconf(_SC_PHYS_PAGES) *
			sysconf(_SC_PAGESIZE),
		.l1d = cache_bytes(1),
		.l2 = cache_bytes(2),
		.llc = cache_bytes(0),
		.bound_node = -1,
		.bound_cpu = -1,
	};
	free(cpuinfo);
}

/* "MemAvailable:   123 kB" of /proc/meminfo in bytes; 0: not known. */
uint64_t host_memory_free(void)
{
	static const char key[] = "MemAvailable:";
	struct err ignored = { 0 };
	uint64_t kib = 0;
	char *text, *at;

	if (file_read("/proc/meminfo", 65536, &text, NULL, &ignored))
		return 0;
	at = strstr(text, key);
	if (at)
		kib = strtoull(at + sizeof(key) - 1, NULL, 10);
	free(text);
	return kib << 10;
}
