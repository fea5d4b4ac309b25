/* SPDX-License-Identifier: GPL-2.0 */
#include <stdio.h>
#include <string.h>

#include "clear_chunk.h"
#include "clear_fault.h"
#include "clear_latency.h"
#include "reclaim_file.h"
#include "workloads.h"

static const struct workload *const table[] = {
	&reclaim_file,
	&clear_chunk,
	&clear_fault,
	&clear_latency,
};

const struct workload *workload_at(size_t i)
{
	return i < ARRAY_SIZE(table) ? table[i] : NULL;
}

const struct workload *workload_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		if (!strcmp(table[i]->name, name))
			return table[i];
	return NULL;
}

const struct param_spec *workload_params(const char *name)
{
	const struct workload *w = workload_find(name);

	return w ? w->params : NULL;
}

void workload_invalid(struct workload_env *env, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	strlist_add(&env->sample->invalid, text);
}
