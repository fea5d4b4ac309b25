/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How long the clearing of big pages keeps a more important task from its CPU.
 *
 * The bound: the time that this guest takes to clear BATCH bytes, which is the
 * most that a kernel without preemption should clear between two points at which
 * it may be rescheduled (a few milliseconds on hardware: 32M on x86_64; 4M on
 * arm64, and a quarter for what is between), and what waking up takes anyway.  6.12 stops at each 4K page, far below; a kernel that clears
 * 1 GiB in one go is 32 times above or more.
 * Without ERMS (x86), where the clear takes an instruction of the clock a byte.
 */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/clear_delay.h"
#include "lib/clear_util.h"

CASE_PROGRAM("delay of a real-time task while big pages are cleared", 60,
	     "memory=4G cpus=1 "
	     "boot=hugepagesz=1G,hugepages=1,clearcpuid=erms,preempt=none "
	     "boot=hugepagesz=1G,hugepages=1,clearcpuid=erms,preempt=voluntary "
	     "boot=hugepagesz=1G,hugepages=1,clearcpuid=erms,preempt=full");
CASES(clear_delay);

#define MIB		((size_t)1 << 20)
#define GIB		((size_t)1 << 30)
#ifdef __x86_64__
#define BATCH		(32 * MIB)
#else
#define BATCH		(5 * MIB)
#endif
#define SPIN_SECONDS	0.05

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE	23
#endif

FIXTURE_VARIANT(clear_delay) {
	enum clear_kind kind;
	size_t unit, units;
};

#define KIND(name, kind_, unit_, units_) \
	FIXTURE_VARIANT_ADD(clear_delay, name) { \
		.kind = kind_, .unit = unit_, .units = units_ }

KIND(hugetlb_1g, CLEAR_HUGE, GIB, 1);
KIND(hugetlb_2m, CLEAR_HUGE, 2 * MIB, 64);
KIND(thp_2m, CLEAR_ANON, 2 * MIB, 64);

struct memory {
	unsigned char *at;
	size_t bytes;
	const char *model;	/* of preemption */
	double most;		/* seconds of delay: the bound */
	struct delays idle;	/* with nothing cleared */
};

/* All of it in one call, so that the task is not in between in user mode. */
static int clear_it(void *arg)
{
	struct memory *m = arg;

	return madvise(m->at, m->bytes, MADV_POPULATE_WRITE) ?
		case_fail("MADV_POPULATE_WRITE: %s", strerror(errno)) : 0;
}

static int give_back(struct memory *m)
{
	return madvise(m->at, m->bytes, MADV_DONTNEED) ?
		case_fail("MADV_DONTNEED: %s", strerror(errno)) : 0;
}

/* User mode gives way at once. */
static int spin(void *arg)
{
	double end = guest_seconds() + SPIN_SECONDS;

	while (guest_seconds() < end)
		;
	return 0;
}

/* As a kernel would do that clears all of it and can't be stopped. */
static int hold_cpu(void *arg)
{
	struct sched_param first = { .sched_priority = 60 };
	struct sched_param none = { 0 };
	struct memory *m = arg;

	if (sched_setscheduler(0, SCHED_FIFO, &first))
		return case_fail("SCHED_FIFO: %s", strerror(errno));
	clear_stain(m->at, m->bytes);
	return sched_setscheduler(0, SCHED_OTHER, &none) ?
		case_fail("SCHED_OTHER: %s", strerror(errno)) : 0;
}

/* What a delay has to stay below. */
static int find_bound(struct memory *m)
{
	double begin = guest_seconds(), clear;

	if (clear_it(m))
		return -1;
	clear = guest_seconds() - begin;
	if (give_back(m) || watch_delays(spin, NULL, &m->idle))
		return -1;
	m->most = clear * ((double)BATCH / (double)m->bytes) + m->idle.worst;
	return 0;
}

/* The model that was asked for at boot is the one that the kernel has. */
static int has_model(const char **model)
{
	char asked[32];

	*model = preempt_model();
	if (!*model)
		return case_lacks("this kernel's preemption model is fixed");
	if (boot_param_text("preempt", asked, sizeof(asked)) &&
	    strcmp(asked, *model))
		return case_fail("booted with preempt=%s, but it is %s", asked,
				 *model);
	return 0;
}

static int make(struct case_ctx *c, struct memory *m, enum clear_kind kind,
		size_t unit, size_t units)
{
	struct clear k;
	int rc = has_model(&m->model);

	if (!rc)
		rc = clear_begin(c, &k, kind, unit, units);
	if (!rc && kind == CLEAR_ANON)
		rc = thp_allow(c, AREA_ANON, pmd_order());
	if (rc)
		return rc;
	m->bytes = unit * units;
	m->at = clear_map(&k, units, NULL);
	return m->at ? find_bound(m) :
		case_fail("can't map memory: %s", strerror(errno));
}

/*
 * (design 18) While big pages are cleared, a task that is more important waits
 * for its CPU no longer than BATCH takes to clear, whatever the model.
 */
CASE(clear_delay, bounded, 30)
{
	struct delays busy;
	struct memory m;

	CASE_NEEDS(make(c, &m, variant->kind, variant->unit, variant->units));
	ASSERT_EQ(0, watch_delays(clear_it, &m, &busy))
		TH_LOG("%s", case_why());
	TH_LOG("preempt=%s: worst %.1f us, 99.9 %% %.1f us of %zu wake-ups; without %.1f us; bound %.1f us",
	       m.model, busy.worst * 1e6, busy.p999 * 1e6, busy.n,
	       m.idle.worst * 1e6, m.most * 1e6);
	EXPECT_EQ(m.bytes / page_bytes(), pages_present(m.at, m.bytes));
	EXPECT_GT(m.most, busy.worst);
	/* It was watched from the beginning to the end. */
	EXPECT_LT(0, busy.n);
	EXPECT_EQ(busy.expected, busy.n);
}

/*
 * The case above sees what it is for: memory that is cleared by a task that
 * nothing can stop delays the watcher by all of it.
 */
CASE(clear_delay, unbounded_is_seen, 30)
{
	struct delays busy;
	struct memory m;

	CASE_NEEDS(make(c, &m, variant->kind, variant->unit, variant->units));
	ASSERT_EQ(0, clear_it(&m)) TH_LOG("%s", case_why());
	ASSERT_EQ(0, watch_delays(hold_cpu, &m, &busy))
		TH_LOG("%s", case_why());
	TH_LOG("preempt=%s: worst %.1f us of %.1f us; bound %.1f us", m.model,
	       busy.worst * 1e6, busy.load_seconds * 1e6, m.most * 1e6);
	EXPECT_LT(m.most, busy.worst);
	EXPECT_LT(busy.load_seconds * 0.9, busy.worst);
}

TEST_HARNESS_MAIN
