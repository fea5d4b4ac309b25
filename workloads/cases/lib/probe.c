/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A probe at a function of the kernel, and what it saw (kprobe events:
 * Documentation/trace/kprobetrace.rst).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "lib.h"

#define TRACING		"/sys/kernel/tracing"
#define EVENT		"folab/call"
#define ENABLE		"events/" EVENT "/enable"

/* 0, or errno. */
static int put(const char *file, int how, const char *text)
{
	char path[128];

	snprintf(path, sizeof(path), TRACING "/%s", file);
	return file_poke(path, how, text);
}

void probe_end(void)
{
	if (!file_exists(TRACING "/" ENABLE))
		return;
	put(ENABLE, 0, "0");
	put("kprobe_events", O_APPEND, "-:" EVENT);
}

int probe_stop(void)
{
	int ret = put(ENABLE, 0, "0");

	return ret ? case_fail("can't stop the probe: %s", strerror(ret)) : 0;
}

int probe_forget(void)
{
	int ret = put("trace", O_TRUNC, "");

	return ret ? case_fail("can't empty the trace: %s", strerror(ret)) : 0;
}

int probe_begin(const char *const *places, size_t n)
{
	int ret = ENOENT;

	if (mount("tracefs", TRACING, "tracefs", 0, NULL) && errno != EBUSY)
		return case_lacks("no tracefs in this kernel");
	if (!file_exists(TRACING "/kprobe_events"))
		return case_lacks("no probes in this kernel (CONFIG_KPROBE_EVENTS)");
	probe_end();
	for (size_t i = 0; ret && i < n; i++) {
		char *text = xasprintf("p:" EVENT " %s", places[i]);

		ret = put("kprobe_events", O_APPEND, text);
		free(text);
	}
	if (ret)
		return case_lacks("no probe at %s: %s", places[n - 1],
				  strerror(ret));
	if (probe_forget())
		return -1;
	ret = put(ENABLE, 0, "1");
	return ret ? case_fail("can't start the probe: %s", strerror(ret)) : 0;
}

/* " name=0x1f" of a line of the trace. */
static bool argument(const char *line, const char *name, uint64_t *value)
{
	char *key = xasprintf(" %s=0x", name);
	const char *at = strstr(line, key);

	if (at)
		*value = strtoull(at + strlen(key), NULL, 16);
	free(key);
	return at;
}

int probe_calls(const char *const names[PROBE_ARGS], struct probe_call *calls,
		int most)
{
	FILE *f = fopen(TRACING "/trace", "re");
	char line[512];
	int n = 0;

	if (!f)
		return case_fail("can't read the trace: %s", strerror(errno));
	while (n < most && fgets(line, sizeof(line), f)) {
		struct probe_call call = { 0 };

		for (int i = 0; i < PROBE_ARGS; i++)
			call.has[i] = names[i] &&
				argument(line, names[i], &call.arg[i]);
		if (call.has[0])
			calls[n++] = call;
	}
	fclose(f);
	return n == most ? case_fail("%d calls or more", most) : n;
}
