/* SPDX-License-Identifier: GPL-2.0 */
#include <stdlib.h>
#include <string.h>

#include "json.h"

static const struct {
	const char *key;
	size_t offset;
} texts[] = {
#define FIELD(f)	{ #f, offsetof(struct host, f) }
	FIELD(cpu), FIELD(hypervisor), FIELD(preempt), FIELD(thp), FIELD(governor),
}, numbers[] = {
	FIELD(cpus), FIELD(nodes), FIELD(memory), FIELD(l1d), FIELD(l2), FIELD(llc),
	FIELD(bound_node), FIELD(bound_cpu),
};

static char **text_at(const struct host *h, size_t i)
{
	return (char **)((char *)h + texts[i].offset);
}

static int64_t *number_at(const struct host *h, size_t i)
{
	return (int64_t *)((char *)h + numbers[i].offset);
}

void host_free(struct host *h)
{
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		free(*text_at(h, i));
	memset(h, 0, sizeof(*h));
}

json_t *host_to_json(const struct host *h)
{
	json_t *o = json_object();

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		json_object_set_new(o, texts[i].key, rec_text(*text_at(h, i)));
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		json_object_set_new(o, numbers[i].key,
				    json_integer(*number_at(h, i)));
	return o;
}

int host_from_json(struct host *h, const json_t *o, struct err *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (rec_get_text(o, "host", texts[i].key, text_at(h, i), err))
			return -1;
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		if (js_int(o, "host", numbers[i].key, number_at(h, i), err))
			return -1;
	return 0;
}
