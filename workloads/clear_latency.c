/* SPDX-License-Identifier: GPL-2.0 */
/*
 * clear-latency - how long the clearing of huge pages keeps a more important
 * task from its processor.
 *
 * how=kernel: one madvise(2) has the kernel clear huge pages, on the processor
 * of a watcher (watch.h).  How long it can't be stopped depends on kernel and
 * preemption model.
 *
 * how=model: the same in user space, for machines whose kernel is as it is.  A
 * thread clears memory in units, each at a priority above the watcher's, and
 * lets it run in between: what a kernel does that can be rescheduled between
 * units only.
 *
 * The instruction clock counts each step of a string instruction.  With ERMS an
 * x86_64 kernel clears by "rep stosb", a byte a step, which makes 1 GiB take two
 * seconds; without by "rep stosq", eight bytes a step, which is nearer to what
 * hardware does.  So guests go without.  latency.max_mib tells the delay in a unit
 * that knows no clock.
 */
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "clear_latency.h"
#include "clear_methods.h"
#include "folios.h"
#include "knobs.h"
#include "watch.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE	23
#endif
#ifndef MAP_HUGE_SHIFT
#define MAP_HUGE_SHIFT		26
#endif

#define MIB		(UINT64_C(1) << 20)
#define GIB		(UINT64_C(1) << 30)
#define PIECE		(64 * MIB)
#define IDLE_NS		50000000
#define THP		"/sys/kernel/mm/transparent_hugepage/enabled"
#define RT_RUNTIME	"/proc/sys/kernel/sched_rt_runtime_us"
/*
 * The kernel, its watermarks, struct pages, the agent.  Gigantic pages have to
 * be whole and aligned, where neither the kernel nor the initramfs lies.
 */
#define OTHER_BYTES	(512 * MIB)
#define GIGANTIC_BYTES	(3 * GIB)

static const char *const page_choices[] = {
	"1g-hugetlb", "2m-hugetlb", "2m-thp", NULL,
};
enum { PAGE_1G, PAGE_2M, PAGE_THP };
static const char *const how_choices[] = { "kernel", "model", NULL };
enum { HOW_KERNEL, HOW_MODEL };
/* The last four also are the values of the counter latency.preempt. */
static const char *const preempt_choices[] = {
	"any", "none", "voluntary", "full", "lazy", NULL,
};
enum { PREEMPT_ANY, PREEMPT_NONE };

static const struct param_spec specs[] = {
	{ "how", PARAM_CHOICE, "kernel", 0, 0, how_choices,
	  "who clears: the kernel, or a model of it in user space" },
	{ "page", PARAM_CHOICE, "1g-hugetlb", 0, 0, page_choices,
	  "pages that the kernel clears" },
	{ "size", PARAM_SIZE, "1G", 2 << 20, INT64_C(1) << 36, NULL,
	  "memory that is cleared in one go" },
	{ "unit", PARAM_SIZE, "0", 0, INT64_C(1) << 36, NULL,
	  "how=model: bytes cleared without letting the watcher run; 0: all" },
	{ "preempt", PARAM_CHOICE, "any", 0, 0, preempt_choices,
	  "the kernel's preemption model (any: as it is)" },
	{ NULL },
};

struct state {
	struct knobs knobs;
	struct watch *watch;
	unsigned char *base, *at;	/* what was mapped, and its aligned part */
	uint64_t mapped, bytes, unit;
	bool model;
	struct delays idle, busy;
};

/* ---- what the parameters need --------------------------------------------- */

static bool is_model(const struct params *p)
{
	return params_get(p, "how") == HOW_MODEL;
}

static uint64_t page_size(const struct params *p)
{
	return params_get(p, "page") == PAGE_1G ? GIB : 2 * MIB;
}

static uint64_t model_unit(const struct params *p)
{
	uint64_t unit = (uint64_t)params_get(p, "unit");

	return unit ? unit : (uint64_t)params_get(p, "size");
}

static int check(const struct params *p, struct err *err)
{
	const char *by = is_model(p) ? "unit" : "page";
	uint64_t size = (uint64_t)params_get(p, "size");
	uint64_t unit = is_model(p) ? model_unit(p) : page_size(p);

	if (!is_model(p) && params_get(p, "unit"))
		return err_set(err, EXIT_USAGE,
			       "unit = %s is for how=model: a kernel has its own",
			       params_text(p, "unit"));

	if (unit % FOLIO_PAGE_SIZE || size % FOLIO_PAGE_SIZE)
		return err_set(err, EXIT_USAGE,
			       "unit = %s, size = %s: not multiples of the page size, 4K",
			       params_text(p, "unit"), params_text(p, "size"));
	if (size % unit)
		return err_set(err, EXIT_USAGE,
			       "size = %s is not a multiple of %s = %s",
			       params_text(p, "size"), by, params_text(p, by));
	return 0;
}

static uint64_t fs_bytes(const struct params *p)
{
	return 0;
}

static uint64_t memory_bytes(const struct params *p)
{
	uint64_t size = (uint64_t)params_get(p, "size");

	if (!is_model(p) && params_get(p, "page") == PAGE_1G)
		return size + GIGANTIC_BYTES;
	return size + size / 32 + OTHER_BYTES;
}

static void kernel_options(const struct params *p, struct strlist *options)
{
	if (params_get(p, "preempt") != PREEMPT_ANY)
		strlist_addf(options, "preempt=%s", params_text(p, "preempt"));
	if (!is_model(p))
		strlist_add(options, "x86_64:clearcpuid=erms");
	/* Pages of 1 GiB are hard to find once memory is in use. */
	if (!is_model(p) && params_get(p, "page") == PAGE_1G) {
		strlist_add(options, "hugepagesz=1G");
		strlist_addf(options, "hugepages=%" PRId64,
			     params_get(p, "size") >> 30);
	}
}

/* ---- prepare -------------------------------------------------------------- */

static int pool_number(uint64_t page, const char *file, int64_t *n,
		       struct err *err)
{
	char *path = xasprintf("/sys/kernel/mm/hugepages/hugepages-%" PRIu64 "kB/%s",
			       page >> 10, file), *text;
	int rc = 0;

	if (file_read(path, 64, &text, NULL, err)) {
		err_clear(err);
		rc = err_set(err, EXIT_ENVIRONMENT,
			     "this kernel has no huge pages of %" PRIu64 " KiB",
			     page >> 10);
	} else {
		*n = strtoll(text, NULL, 10);
		free(text);
	}
	free(path);
	return rc;
}

/* So many free pages in the pool, those that the boot left or new ones. */
static int fill_pool(struct state *s, uint64_t page, struct err *err)
{
	int64_t need = (int64_t)(s->bytes / page), have, all;
	char *path, text[32];
	int rc;

	if (pool_number(page, "free_hugepages", &have, err) ||
	    pool_number(page, "nr_hugepages", &all, err))
		return -1;
	if (have >= need)
		return 0;
	path = xasprintf("/sys/kernel/mm/hugepages/hugepages-%" PRIu64 "kB/nr_hugepages",
			 page >> 10);
	snprintf(text, sizeof(text), "%" PRId64, all + need - have);
	rc = knobs_set(&s->knobs, path, text, err);
	free(path);
	if (rc || pool_number(page, "free_hugepages", &have, err))
		return -1;
	if (have >= need)
		return 0;
	return err_set(err, EXIT_ENVIRONMENT,
		       "there are %" PRId64 " of %" PRId64 " huge pages of %" PRIu64 " KiB: boot with hugepagesz=%s hugepages=%" PRId64,
		       have, need, page >> 10, page == GIB ? "1G" : "2M", need);
}

static int allow_thp(struct state *s, struct err *err)
{
	char *text;
	bool never;

	if (file_read(THP, 256, &text, NULL, err)) {
		err_clear(err);
		return err_set(err, EXIT_ENVIRONMENT,
			       "this kernel has no transparent huge pages");
	}
	never = strstr(text, "[never]");
	free(text);
	return never ? knobs_set(&s->knobs, THP, "madvise", err) : 0;
}

static int map(struct state *s, uint64_t page, bool hugetlb, struct err *err)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS;

	if (hugetlb)
		flags |= MAP_HUGETLB | __builtin_ctzl(page) << MAP_HUGE_SHIFT;
	/* hugetlb is aligned as it is. */
	s->mapped = hugetlb ? s->bytes : s->bytes + page;
	s->base = mmap(NULL, s->mapped, PROT_READ | PROT_WRITE, flags, -1, 0);
	if (s->base == MAP_FAILED) {
		s->base = NULL;
		return err_sys(err, EXIT_RUN, errno, "can't map %s",
			       hugetlb ? "huge pages" : "memory");
	}
	s->at = (unsigned char *)(((uintptr_t)s->base + page - 1) & ~(page - 1));
	/* Not for the watcher, who locks all of its memory. */
	if (madvise(s->base, s->mapped, MADV_DONTFORK) ||
	    (!hugetlb && madvise(s->at, s->bytes, MADV_HUGEPAGE) &&
	     !s->model))
		return err_sys(err, EXIT_RUN, errno, "madvise");
	return 0;
}

/* User mode gives way at once. */
static int idle_delay(struct state *s, struct err *err)
{
	int64_t begin, end;

	if (watch_start(&s->watch, WATCH_PERIOD_NS, err))
		return -1;
	begin = watch_now();
	do {
		end = watch_now();
	} while (end < begin + IDLE_NS);
	begin = watch_end(s->watch, begin, end, &s->idle, err);
	s->watch = NULL;
	return (int)begin;
}

static int set_priority(int policy, int priority, struct err *err)
{
	struct sched_param p = { .sched_priority = priority };

	if (!sched_setscheduler(0, policy, &p))
		return 0;
	return err_sys(err, EXIT_ENVIRONMENT, errno,
		       "can't change this thread's priority (CAP_SYS_NICE)");
}

/* Piece by piece: who asks us to stop does not wait for all of it. */
static int populate(struct state *s, struct err *err)
{
	for (uint64_t at = 0; at < s->bytes; at += PIECE) {
		uint64_t bytes = s->bytes - at < PIECE ? s->bytes - at : PIECE;

		if (intr_check(err))
			return -1;
		if (madvise(s->at + at, bytes, MADV_POPULATE_WRITE))
			return err_sys(err, EXIT_RUN, errno,
				       "MADV_POPULATE_WRITE");
	}
	return 0;
}

static int prepare_model(struct state *s, struct err *err)
{
	if (map(s, 2 * MIB, false, err) || populate(s, err))
		return -1;
	/* Or the kernel takes the processor from both after 0.95 s of it. */
	return file_exists(RT_RUNTIME) ?
		knobs_set(&s->knobs, RT_RUNTIME, "-1", err) : 0;
}

static int prepare_kernel(struct state *s, const struct params *p,
			  struct err *err)
{
	return params_get(p, "page") == PAGE_THP ? allow_thp(s, err) :
		fill_pool(s, page_size(p), err);
}

static int prepare(struct workload_env *env, void **state, struct err *err)
{
	const struct params *p = env->params;
	struct state *s = xcalloc(1, sizeof(*s));

	*state = s;
	s->model = is_model(p);
	s->bytes = (uint64_t)params_get(p, "size");
	s->unit = model_unit(p);
	env->phase(env, "prepare");
	if (idle_delay(s, err))
		return -1;
	return s->model ? prepare_model(s, err) : prepare_kernel(s, p, err);
}

/* ---- run ------------------------------------------------------------------ */

/* All of it in one call, so that user mode does not lie in between. */
static int by_kernel(struct state *s, struct err *err)
{
	return madvise(s->at, s->bytes, MADV_POPULATE_WRITE) ?
		err_sys(err, EXIT_RUN, errno, "MADV_POPULATE_WRITE") : 0;
}

static int by_model(struct state *s, struct err *err)
{
	const struct clear_method *m = clear_method_of_kernel();

	for (uint64_t at = 0; at < s->bytes; at += s->unit) {
		if (intr_check(err))
			return -1;
		if (set_priority(SCHED_FIFO, WATCH_PRIORITY + 1, err))
			return -1;
		m->clear(s->at + at, s->unit);
		if (set_priority(SCHED_OTHER, 0, err))
			return -1;
	}
	return 0;
}

static int run(struct workload_env *env, void *state, struct err *err)
{
	const struct params *p = env->params;
	bool hugetlb = params_get(p, "page") != PAGE_THP;
	struct state *s = state;
	int64_t begin, end;
	int rc;

	env->phase(env, "clear");
	if (watch_start(&s->watch, WATCH_PERIOD_NS, err))
		return -1;
	env->window_begin(env);
	/* Not before: what is mapped when a window begins gets locked, and filled. */
	rc = s->model ? 0 : map(s, page_size(p), hugetlb, err);
	begin = watch_now();
	if (!rc)
		rc = s->model ? by_model(s, err) : by_kernel(s, err);
	end = watch_now();
	env->window_end(env);
	if (watch_end(s->watch, begin, end, &s->busy, err))
		rc = -1;
	s->watch = NULL;
	return rc;
}

/* ---- verify --------------------------------------------------------------- */

static int64_t ns(double seconds)
{
	return (int64_t)(seconds * 1e9 + 0.5);
}

static void set_counters(struct workload_env *env, const struct state *s)
{
	struct counters *c = &env->sample->counters;

	counters_set(c, "latency.max_ns", ns(s->busy.worst));
	counters_set(c, "latency.p999_ns", ns(s->busy.p999));
	counters_set(c, "latency.wakeups", (int64_t)s->busy.n);
	counters_set(c, "latency.expected", (int64_t)s->busy.expected);
	counters_set(c, "latency.load_ns", ns(s->busy.load_seconds));
	counters_set(c, "latency.idle_max_ns", ns(s->idle.worst));
	counters_set(c, "latency.bytes", (int64_t)s->bytes);
	counters_set(c, "latency.period_ns", WATCH_PERIOD_NS);
}

static void check_preempt(struct workload_env *env)
{
	const char *is = preempt_model();
	const char *asked = params_text(env->params, "preempt");
	struct strlist *invalid = &env->sample->invalid;

	for (int i = PREEMPT_NONE; is && preempt_choices[i]; i++)
		if (!strcmp(is, preempt_choices[i]))
			counters_set(&env->sample->counters, "latency.preempt",
				     i - PREEMPT_NONE);
	if (params_get(env->params, "preempt") == PREEMPT_ANY)
		return;
	if (!is)
		strlist_addf(invalid,
			     "can't tell whether the preemption model is %s: the kernel does not say; preempt=any takes it as it is",
			     asked);
	else if (strcmp(is, asked))
		strlist_addf(invalid,
			     "the kernel's preemption model is %s, not %s; preempt=any takes it as it is",
			     is, asked);
}

static int check_folios(struct workload_env *env, struct state *s,
			struct err *err)
{
	int order = __builtin_ctzll(page_size(env->params) >> FOLIO_PAGE_SHIFT);
	int64_t pages = (int64_t)(s->bytes >> FOLIO_PAGE_SHIFT);
	struct folio_count n;

	if (folios_count(s->at, s->bytes, 0, NULL, NULL, &n, err))
		return -1;
	memcpy(env->sample->order_pages, n.order_pages, sizeof(n.order_pages));
	if (n.order_pages[order] != pages)
		strlist_addf(&env->sample->invalid,
			     "%" PRId64 " of %" PRId64 " pages are in folios of order %d, all were meant to be",
			     n.order_pages[order], pages, order);
	return 0;
}

static int verify(struct workload_env *env, void *state, struct err *err)
{
	struct state *s = state;

	env->phase(env, "verify");
	set_counters(env, s);
	if (s->busy.n < s->busy.expected || !s->busy.n)
		strlist_addf(&env->sample->invalid,
			     "%zu wake-ups of %zu that were due were seen",
			     s->busy.n, s->busy.expected);
	check_preempt(env);
	return s->model ? 0 : check_folios(env, s, err);
}

static void clean_up(struct workload_env *env, void *state)
{
	struct state *s = state;
	struct err ignored = { 0 };

	if (!s)
		return;
	if (s->watch)
		watch_end(s->watch, 0, 0, NULL, &ignored);
	if (s->model)
		set_priority(SCHED_OTHER, 0, &ignored);
	if (s->base)
		munmap(s->base, s->mapped);
	knobs_restore(&s->knobs);
	free(s);
}

const struct workload clear_latency = {
	.name = "clear-latency",
	.summary = "wake-up delay of a real-time task while huge pages are cleared",
	.params = specs,
	.check = check,
	.fs_bytes = fs_bytes,
	.memory_bytes = memory_bytes,
	.kernel_options = kernel_options,
	.prepare = prepare,
	.run = run,
	.verify = verify,
	.clean_up = clean_up,
};
