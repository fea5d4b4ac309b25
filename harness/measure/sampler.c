/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where the kernel spends the window's time, on a machine that has no plugin:
 * samples of perf_event_open(2) at a fixed frequency, with call chains. Cycles
 * of the PMU if there is one, else the kernel's own clock (cpu-clock), which
 * comes with timer interrupts and so sees no code that has them off.
 */
#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "measure.h"

#define FREQUENCY	10000		/* samples a second of CPU time */
#define RATE_FILE	"/proc/sys/kernel/perf_event_max_sample_rate"
#define BUFFERS		(UINT64_C(64) << 20)	/* bytes, of all processors */
#define BUFFER_MAX	(UINT64_C(16) << 20)	/* of one; a power of two */
#define BUFFER_MIN	(UINT64_C(128) << 10)
#define CHAIN_MAX	128
#define KALLSYMS	"/proc/kallsyms"
#define KALLSYMS_MAX	(64u << 20)

struct symbol {
	uint64_t at;
	const char *name;	/* in ->text */
};

struct cpu_ring {
	int fd;
	struct perf_event_mmap_page *page;	/* NULL: no buffer */
};

struct sampler {
	struct cpu_ring *cpu;
	size_t n_cpus;
	uint64_t bytes;		/* of one buffer */
	bool cycles;		/* of the PMU */
	int64_t frequency;
	char *text;		/* of KALLSYMS, cut into names */
	struct symbol *symbol;	/* by address */
	size_t n_symbols;
	int64_t lost;
	struct profile profile;
	/* Index into profile.fn by symbol, + 1; 0: none yet. */
	uint32_t *fn_of;
	/* Sample that counted a symbol's function last: each counts once. */
	int64_t *seen;
};

/* ---- symbols ------------------------------------------------------------------ */

static int by_address(const void *va, const void *vb)
{
	const struct symbol *a = va, *b = vb;

	if (a->at != b->at)
		return a->at < b->at ? -1 : 1;
	return strcmp(a->name, b->name);
}

/* Text symbols, "ffffffff81000000 T _stext", a module's "\t[name]" dropped. */
static int read_symbols(struct sampler *s, struct err *err)
{
	char *line, *save;
	size_t room = 0;

	if (file_read(KALLSYMS, KALLSYMS_MAX, &s->text, NULL, err))
		return -1;
	for (line = strtok_r(s->text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		char *end, *name;
		uint64_t at = strtoull(line, &end, 16);

		if (end == line || *end != ' ' || !strchr("tTwW", end[1]) ||
		    !end[1] || end[2] != ' ' || !at)
			continue;
		name = end + 3;
		name[strcspn(name, "\t ")] = '\0';
		if (s->n_symbols == room) {
			room = room ? room * 2 : 65536;
			s->symbol = xrealloc(s->symbol, room,
					     sizeof(*s->symbol));
		}
		s->symbol[s->n_symbols++] = (struct symbol){ at, name };
	}
	if (!s->n_symbols)
		return err_set(err, EXIT_ENVIRONMENT,
			       KALLSYMS " tells no addresses: functions need root (kernel.kptr_restrict is 2, or the kernel has no kallsyms)");
	qsort(s->symbol, s->n_symbols, sizeof(*s->symbol), by_address);
	s->fn_of = xcalloc(s->n_symbols, sizeof(*s->fn_of));
	s->seen = xcalloc(s->n_symbols, sizeof(*s->seen));
	return 0;
}

/* The symbol that @ip lies in; n_symbols: none. */
static size_t symbol_of(const struct sampler *s, uint64_t ip)
{
	size_t low = 0, high = s->n_symbols;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (s->symbol[mid].at <= ip)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low)
		return s->n_symbols;
	/* Of several at one address it is always the same that counts. */
	for (low--; low && s->symbol[low - 1].at == s->symbol[low].at; low--)
		;
	return low;
}

/* ---- events --------------------------------------------------------------------- */

static int open_event(struct sampler *s, int cpu, bool threads)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = s->cycles ? PERF_TYPE_HARDWARE : PERF_TYPE_SOFTWARE,
		.config = s->cycles ? PERF_COUNT_HW_CPU_CYCLES :
				      PERF_COUNT_SW_CPU_CLOCK,
		.freq = 1,
		.sample_freq = (uint64_t)s->frequency,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN,
		.disabled = 1,
		.inherit = threads,
		.exclude_user = 1,
		.exclude_hv = 1,
		.exclude_callchain_user = 1,
	};

	return (int)syscall(SYS_perf_event_open, &attr, 0, cpu, -1,
			    PERF_FLAG_FD_CLOEXEC);
}

/* One a processor: an event that threads inherit can't have a buffer else. */
static int open_cpu(struct sampler *s, size_t cpu, bool threads,
		    struct err *err)
{
	struct cpu_ring *ring = &s->cpu[cpu];
	size_t len = (size_t)s->bytes + (size_t)sysconf(_SC_PAGESIZE);
	void *map;

	ring->fd = open_event(s, (int)cpu, threads);
	if (ring->fd < 0 && errno == ENODEV)
		return 0;	/* it is offline */
	if (ring->fd < 0)
		return err_sys(err, EXIT_ENVIRONMENT, errno,
			       "can't sample functions (perf_event_open; root, or kernel.perf_event_paranoid below 2)");
	map = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
	if (map == MAP_FAILED)
		return err_sys(err, EXIT_ENVIRONMENT, errno,
			       "can't map a buffer for samples (kernel.perf_event_mlock_kb)");
	ring->page = map;
	return 0;
}

static void choose_event(struct sampler *s)
{
	struct err ignored = { 0 };
	int64_t most;
	char *text;
	int fd;

	s->frequency = FREQUENCY;
	if (!file_read(RATE_FILE, 64, &text, NULL, &ignored)) {
		text[strcspn(text, "\n")] = '\0';
		if (!parse_int(text, 1, FREQUENCY, &most))
			s->frequency = most;
		free(text);
	}
	s->cycles = true;
	fd = open_event(s, -1, false);
	s->cycles = fd >= 0;
	if (fd >= 0)
		close(fd);
}

static void sampler_free(void *state)
{
	struct sampler *s = state;

	for (size_t i = 0; i < s->n_cpus; i++) {
		if (s->cpu[i].page)
			munmap(s->cpu[i].page, (size_t)s->bytes +
			       (size_t)sysconf(_SC_PAGESIZE));
		if (s->cpu[i].fd >= 0)
			close(s->cpu[i].fd);
	}
	profile_free(&s->profile);
	free(s->cpu);
	free(s->symbol);
	free(s->text);
	free(s->fn_of);
	free(s->seen);
	free(s);
}

static void *sampler_make(bool threads, struct err *err)
{
	struct sampler *s = xcalloc(1, sizeof(*s));
	long n = sysconf(_SC_NPROCESSORS_CONF);

	s->n_cpus = n > 0 ? (size_t)n : 1;
	s->cpu = xcalloc(s->n_cpus, sizeof(*s->cpu));
	for (size_t i = 0; i < s->n_cpus; i++)
		s->cpu[i].fd = -1;
	for (s->bytes = BUFFER_MAX; s->bytes > BUFFER_MIN &&
	     s->bytes * s->n_cpus > BUFFERS; s->bytes /= 2)
		;
	choose_event(s);
	if (read_symbols(s, err))
		goto fail;
	for (size_t i = 0; i < s->n_cpus; i++)
		if (open_cpu(s, i, threads, err))
			goto fail;
	return s;
fail:
	sampler_free(s);
	return NULL;
}

static void all_events(struct sampler *s, unsigned long request)
{
	for (size_t i = 0; i < s->n_cpus; i++)
		if (s->cpu[i].fd >= 0)
			ioctl(s->cpu[i].fd, request, 0);
}

static void sampler_begin(void *state)
{
	all_events(state, PERF_EVENT_IOC_ENABLE);
}

static void sampler_end(void *state)
{
	all_events(state, PERF_EVENT_IOC_DISABLE);
}

/* ---- what they saw ----------------------------------------------------------------- */

static struct profile_fn *fn_of(struct sampler *s, size_t symbol)
{
	struct profile *p = &s->profile;

	if (!s->fn_of[symbol]) {
		p->fn = xrealloc(p->fn, p->n_fn + 1, sizeof(*p->fn));
		p->fn[p->n_fn] = (struct profile_fn){
			.name = xstrdup(s->symbol[symbol].name),
		};
		s->fn_of[symbol] = (uint32_t)++p->n_fn;
	}
	return &p->fn[s->fn_of[symbol] - 1];
}

static void take_chain(struct sampler *s, uint64_t ip, const uint64_t *chain,
		       uint64_t n)
{
	size_t symbol = symbol_of(s, ip);

	s->profile.kernel_instructions++;
	if (symbol < s->n_symbols) {
		fn_of(s, symbol)->self++;
		fn_of(s, symbol)->inclusive++;
		s->seen[symbol] = s->profile.kernel_instructions;
	}
	for (uint64_t i = 0; i < n; i++) {
		/* Markers of the context are the highest addresses. */
		if (chain[i] >= (uint64_t)PERF_CONTEXT_MAX || !chain[i])
			continue;
		/* What follows the call may be the next function's. */
		symbol = symbol_of(s, chain[i] == ip ? ip : chain[i] - 1);
		if (symbol == s->n_symbols ||
		    s->seen[symbol] == s->profile.kernel_instructions)
			continue;
		s->seen[symbol] = s->profile.kernel_instructions;
		fn_of(s, symbol)->inclusive++;
	}
}

/* @record, whole, of at most @len bytes, is of the kernel: checked all the same. */
static void take_record(struct sampler *s, const uint64_t *record, size_t len)
{
	const struct perf_event_header *h = (const void *)record;
	size_t words = len / sizeof(*record);

	if (h->type == PERF_RECORD_LOST && words >= 3)
		s->lost += (int64_t)record[2];
	if (h->type != PERF_RECORD_SAMPLE || words < 3 ||
	    record[2] > words - 3)
		return;
	take_chain(s, record[1], record + 3, record[2]);
}

static void take_ring(struct sampler *s, struct cpu_ring *ring)
{
	const unsigned char *data = (const unsigned char *)ring->page +
				    sysconf(_SC_PAGESIZE);
	uint64_t head = __atomic_load_n(&ring->page->data_head,
					__ATOMIC_ACQUIRE);
	uint64_t at = ring->page->data_tail, mask = s->bytes - 1;
	uint64_t record[(1 << 16) / sizeof(uint64_t)];

	/* No room for one more with a chain: some may not have come in. */
	if (head - at + CHAIN_MAX * sizeof(uint64_t) > s->bytes)
		s->lost++;
	while (head - at >= sizeof(struct perf_event_header)) {
		struct perf_event_header h;

		/* Records are multiples of 8 bytes, so is the buffer. */
		memcpy(&h, data + (at & mask), sizeof(h));
		if (h.size < sizeof(h) || h.size % 8 || h.size > head - at)
			break;
		for (size_t i = 0; i < h.size; i += 8)
			memcpy((char *)record + i, data + ((at + i) & mask), 8);
		take_record(s, record, h.size);
		at += h.size;
	}
	__atomic_store_n(&ring->page->data_tail, head, __ATOMIC_RELEASE);
}

static int sampler_take(void *state, struct profile *p, struct counters *c,
			struct err *err)
{
	struct sampler *s = state;

	for (size_t i = 0; i < s->n_cpus; i++)
		if (s->cpu[i].page)
			take_ring(s, &s->cpu[i]);
	s->profile.windows = 1;
	profile_add(p, &s->profile);
	counters_set(c, "functions.samples", s->profile.kernel_instructions);
	counters_set(c, "functions.lost", s->lost);
	counters_set(c, "functions.hertz", s->frequency);
	counters_set(c, "functions.cycles", s->cycles);
	return 0;
}

const struct watcher watcher_sampler = {
	.make = sampler_make,
	.begin = sampler_begin,
	.end = sampler_end,
	.take = sampler_take,
	.free = sampler_free,
};
