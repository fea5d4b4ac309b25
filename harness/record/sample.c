/* SPDX-License-Identifier: GPL-2.0 */
#include <stdlib.h>

#include "record.h"
#include "json.h"

void sample_free(struct sample *s)
{
	counters_free(&s->counters);
	strlist_free(&s->invalid);
	free(s->survivors);
	s->survivors = NULL;
}

json_t *sample_to_json(const struct sample *s)
{
	json_t *o = json_object(), *orders = json_object();
	char key[16];

	/* Orders that occur, so that a reader needs no zeros counted. */
	for (int i = 0; i < MAX_ORDER_SEEN; i++) {
		if (!s->order_pages[i])
			continue;
		snprintf(key, sizeof(key), "%d", i);
		json_object_set_new(orders, key,
				    json_integer(s->order_pages[i]));
	}
	json_object_set_new(o, "pass", json_integer(s->pass));
	json_object_set_new(o, "counters", counters_to_json(&s->counters));
	json_object_set_new(o, "order_pages", orders);
	json_object_set_new(o, "survivors", rec_text(s->survivors));
	json_object_set_new(o, "invalid", rec_strlist(&s->invalid));
	return o;
}

static int orders_from_json(struct sample *s, const json_t *o,
			    struct err *err)
{
	const char *key;
	json_t *v;

	json_object_foreach((json_t *)o, key, v) {
		int64_t order;

		if (parse_int(key, 0, MAX_ORDER_SEEN - 1, &order) ||
		    !json_is_integer(v) || json_integer_value(v) < 0)
			return err_set(err, EXIT_USAGE,
				       "sample: order_pages \"%.20s\" is wrong",
				       key);
		s->order_pages[order] = json_integer_value(v);
	}
	return 0;
}

int sample_from_json(struct sample *s, const json_t *o, struct err *err)
{
	json_t *counters, *orders;

	if (js_int(o, "sample", "pass", &s->pass, err) ||
	    js_container(o, "sample", "counters", JSON_OBJECT, &counters, err) ||
	    js_container(o, "sample", "order_pages", JSON_OBJECT, &orders, err) ||
	    counters_from_json(&s->counters, counters, "sample", err) ||
	    orders_from_json(s, orders, err) ||
	    rec_get_text(o, "sample", "survivors", &s->survivors, err) ||
	    rec_get_strlist(o, "sample", "invalid", &s->invalid, err))
		return -1;
	return 0;
}
