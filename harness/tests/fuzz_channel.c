/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Fuzz the result channel: whatever bytes a guest sends, the parser neither
 * crashes nor grows, never takes a sample too many, says why it gave up in
 * printable text, and finds the same however the bytes are cut into pieces.
 *
 * Run as it is: a second of inputs from fixed seeds, so that every run is the
 * same ("fuzz_channel SEED ROUNDS" for others).  Built with -DFOLAB_LIBFUZZER
 * and clang's -fsanitize=fuzzer: coverage-guided.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../machine/internal.h"

#define PASSES	3

static uint64_t rng;

static uint64_t rnd(uint64_t below)
{
	rng ^= rng << 13;	/* xorshift64 */
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return rng % below;
}

#define HOLDS(c) do {							\
	if (!(c)) {							\
		fprintf(stderr, "fuzz_channel: does not hold: %s\n", #c);	\
		abort();						\
	}								\
} while (0)

static void check_state(const struct channel *c)
{
	HOLDS(c->len <= WIRE_MAX_LINE);
	HOLDS(c->room <= 2 * WIRE_MAX_LINE);
	HOLDS(c->lines <= WIRE_MAX_LINES + 1);
	HOLDS(c->n_samples <= PASSES);
	for (const char *p = c->broken; p && *p; p++)
		HOLDS(*p >= ' ' && *p <= '~');
	for (const char *p = c->error; p && *p; p++)
		HOLDS(*p >= ' ' && *p <= '~');
}

static void same_text(const char *a, const char *b)
{
	HOLDS(!a == !b && (!a || !strcmp(a, b)));
}

static void same_outcome(const struct channel *a, const struct channel *b)
{
	same_text(a->broken, b->broken);
	same_text(a->error, b->error);
	same_text(a->phase, b->phase);
	HOLDS(a->done == b->done);
	HOLDS(a->n_samples == b->n_samples);
	for (size_t i = 0; i < a->n_samples; i++) {
		json_t *x = sample_to_json(&a->samples[i]);
		json_t *y = sample_to_json(&b->samples[i]);

		HOLDS(x && y && json_equal(x, y));
		json_decref(x);
		json_decref(y);
	}
}

/*
 * A job of cases: the same bytes, and what is heard goes into a case_run, as
 * folab check puts it there.
 */
static void hear(void *arg, const struct wire *w)
{
	struct case_run *r = arg;

	if (w->type == WIRE_CASE) {
		case_run_free(r);
		case_run_init(r, w->text, "");
	} else if (w->type == WIRE_KTAP) {
		case_run_line(r, w->text);
	} else {
		case_run_end(r, w->code, w->text);
		HOLDS(r->planned < 0 || (int64_t)r->n_tests == r->planned);
		HOLDS(r->status == CASE_FAILED || r->n_tests);
	}
	HOLDS(r->n_tests <= CASE_MAX_TESTS);
	HOLDS(r->notes.n <= CASE_MAX_NOTES + 2);
}

static void feed_cases(const uint8_t *data, size_t size)
{
	struct case_run r = { 0 };
	struct channel c;
	struct job job = { 0 };

	job_add_case(&job, "young", 30);
	job_add_case(&job, "mlock", 30);
	case_run_init(&r, "", "");
	channel_init_cases(&c, &job, hear, &r);
	channel_feed(&c, (const char *)data, size);
	check_state(&c);
	if (!channel_end(&c) && !c.error)
		HOLDS(c.done && c.cases == 2 && r.ended);
	HOLDS(!c.n_samples);
	channel_free(&c);
	case_run_free(&r);
	job_free(&job);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct channel whole, pieces;
	size_t at = 0;

	rng = 88172645463325252ull + size;
	channel_init(&whole, PASSES);
	channel_init(&pieces, PASSES);
	channel_feed(&whole, (const char *)data, size);
	check_state(&whole);
	while (at < size) {
		size_t n = 1 + rnd(size < 2000 ? 40 : 9000);

		if (n > size - at)
			n = size - at;
		channel_feed(&pieces, (const char *)data + at, n);
		check_state(&pieces);
		at += n;
	}
	channel_end(&whole);
	channel_end(&pieces);
	check_state(&whole);
	same_outcome(&whole, &pieces);
	/* Complete means: greeted, all samples, or the agent's own error. */
	if (!whole.broken && !whole.error)
		HOLDS(whole.hello && whole.done && whole.n_samples == PASSES);
	channel_free(&whole);
	channel_free(&pieces);
	feed_cases(data, size);
	return 0;
}

#ifndef FOLAB_LIBFUZZER

struct text {
	char *p;
	size_t len, room;
};

static void put(struct text *t, const void *data, size_t len)
{
	if (t->len + len > t->room) {
		t->room = (t->len + len) * 2;
		t->p = xrealloc(t->p, t->room, 1);
	}
	if (len)
		memcpy(t->p + t->len, data, len);
	t->len += len;
}

static void puts_(struct text *t, const char *s)
{
	put(t, s, strlen(s));
}

static void put_line(struct text *t, const struct wire *w)
{
	char *line = wire_format(w);

	puts_(t, line);
	puts_(t, "\n");
	free(line);
}

/* A conversation as it should be. */
static void put_valid(struct text *t)
{
	struct wire hello = { .type = WIRE_HELLO, .text = (char *)"6.12" };
	struct wire phase = { .type = WIRE_PHASE, .text = (char *)"fill" };
	struct wire done = { .type = WIRE_DONE, .code = PASSES };

	put_line(t, &hello);
	for (int i = 0; i < PASSES; i++) {
		struct wire w = { .type = WIRE_SAMPLE };

		put_line(t, &phase);
		w.sample.pass = i;
		counters_set(&w.sample.counters, "memcg.pgscan", rnd(100000));
		counters_set(&w.sample.counters, "reclaim.errno", 11);
		w.sample.order_pages[4] = 49152;
		strlist_add(&w.sample.invalid, "kswapd scanned");
		put_line(t, &w);
		sample_free(&w.sample);
	}
	put_line(t, &done);
}

/* One of a job of cases. */
static void put_cases(struct text *t)
{
	static const char *const programs[] = { "young", "mlock" };
	static const char *const said[] = {
		"TAP version 13", "1..2", "#  RUN           young.a ...",
		"ok 1 young.a", "not ok 2 young.b # SKIP no such thing",
	};
	struct wire hello = { .type = WIRE_HELLO, .text = (char *)"6.12" };
	struct wire done = { .type = WIRE_DONE, .code = 2 };

	put_line(t, &hello);
	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		struct wire w = { .type = WIRE_CASE,
				  .text = (char *)programs[i] };

		put_line(t, &w);
		w.type = WIRE_KTAP;
		for (size_t k = 0; k < ARRAY_SIZE(said); k++) {
			w.text = (char *)said[k];
			put_line(t, &w);
		}
		w = (struct wire){ .type = WIRE_CASE_END, .code = 1 };
		put_line(t, &w);
	}
	put_line(t, &done);
}

static const char *const spice[] = {
	"1..99999999999\n", "ok ", "not ok 1 # SKIP", "1..1000", "\\n", "#",
	"{\"type\":\"case_end\",\"code\":-1,\"text\":null}\n",
	"{\"type\":\"ktap\",\"text\":\"1..1000\"}\n",
	"{", "}", "[", "]", "\"", ":", ",", "null", "true", "-", "1e999", "\n",
	"-9223372036854775809", "18446744073709551616", "0.5", "\\u0000",
	"\\ud800", "\xff\xfe", "\xc0\x80", "{\"type\":\"done\",\"code\":3}\n",
	"{\"type\":\"error\",\"code\":6,\"text\":\"\\u001b[2J\xe2\x82\xac\"}\n",
	"\"pass\":0", "\"counters\":{}", "\"type\":\"sample\"", "\r\n", "\t",
	"{\"type\":\"sample\",\"sample\":{}}\n", "{\"type\":null}\n", "[]\n",
};

/* Change @t in a few places. */
static void mutate(struct text *t)
{
	for (uint64_t n = 1 + rnd(6); n && t->len; n--) {
		size_t at = rnd(t->len), len = rnd(t->len - at) % 64;
		const char *s = spice[rnd(ARRAY_SIZE(spice))];
		struct text out = { 0 };

		switch (rnd(6)) {
		case 0:
			t->p[at] ^= 1 << rnd(8);
			continue;
		case 1:
			t->p[at] = '\0';
			continue;
		case 2:
			t->len = at;		/* cut short */
			continue;
		case 3:				/* something put in */
			put(&out, t->p, at);
			puts_(&out, s);
			put(&out, t->p + at, t->len - at);
			break;
		case 4:				/* something taken out */
			put(&out, t->p, at);
			put(&out, t->p + at + len, t->len - at - len);
			break;
		default:			/* something twice */
			put(&out, t->p, at + len);
			put(&out, t->p + at, t->len - at);
			break;
		}
		free(t->p);
		*t = out;
	}
}

static void put_many(struct text *t, const char *s, size_t bytes)
{
	while (bytes > strlen(s)) {
		puts_(t, s);
		bytes -= strlen(s);
	}
}

static void make_input(struct text *t, uint64_t round)
{
	t->len = 0;
	if (round % 1000 == 1) {		/* huge lines, deep nesting */
		static const char *const unit[] = {
			"[", "{\"a\":", "x", "{\"type\":\"phase\",\"text\":\"x\"}\n",
			"\n", "\"", "1", "[{\"\":", "\\u0041",
		};

		puts_(t, "{\"type\":\"hello\",\"schema\":\"folab.wire/1\",\"text\":\"\"}\n");
		put_many(t, unit[rnd(ARRAY_SIZE(unit))], 1 + rnd(400000));
		puts_(t, "\n");
		return;
	}
	if (round % 5 == 0) {			/* noise */
		for (uint64_t n = rnd(400); n; n--) {
			char ch = rnd(8) ? ' ' + rnd(95) : rnd(256);

			put(t, &ch, 1);
		}
		return;
	}
	if (round % 2)
		put_valid(t);
	else
		put_cases(t);
	if (round % 5 != 1)
		mutate(t);
}

int main(int argc, char **argv)
{
	int64_t seed = 1, rounds = 30000;
	struct text t = { 0 };

	if ((argc > 1 && parse_int(argv[1], 1, INT64_MAX, &seed)) ||
	    (argc > 2 && parse_int(argv[2], 1, INT64_MAX, &rounds))) {
		fprintf(stderr, "usage: fuzz_channel [SEED [ROUNDS]]\n");
		return EXIT_USAGE;
	}
	/* TAP; what does not hold aborts, and the plan stays unfulfilled. */
	puts("1..1");
	fflush(stdout);
	for (int64_t i = 0; i < rounds; i++) {
		/* Each input from its own seed, so that one can be had again. */
		rng = (seed * 1000003 + i) * 2654435761u | 1;
		for (int k = 0; k < 8; k++)
			rnd(2);
		make_input(&t, i);
		LLVMFuzzerTestOneInput((const uint8_t *)t.p, t.len);
	}
	printf("ok 1 - the result channel bears %" PRId64
	       " inputs from seed %" PRId64 "\n", rounds, seed);
	free(t.p);
	return 0;
}
#endif
