/* SPDX-License-Identifier: GPL-2.0 */
/*
 * record - the data that flows through the house, and its one JSON form.
 *
 * Plan, machine, agent, analyse and report all speak in these structures, so
 * that none of them has to know another.  Whatever is written to a file or
 * sent through a channel is made and read here.
 */
#ifndef FOLAB_RECORD_H
#define FOLAB_RECORD_H

#include "../base/base.h"

#define RESULT_SCHEMA	"folab.result/1"
#define JOB_SCHEMA	"folab.job/1"
#define WIRE_SCHEMA	"folab.wire/1"
#define PROFILE_SCHEMA	"folab.profile/1"

#define MAX_ORDER_SEEN	20	/* folio orders 0..19 are told apart */

/* ---- architectures (arch.c) -------------------------------------------- */

struct arch {
	const char *name;	/* "arm64", "x86_64": what users write */
	const char *kernel;	/* ARCH= of the kernel's makefiles */
	const char *triplet;	/* GNU triplet, "aarch64-linux-gnu" */
	const char *debian;	/* Debian architecture, "arm64" */
	const char *image;	/* built image, relative to the output tree */
	const char *target;	/* make target that builds it */
	const char *qemu;	/* emulator, "qemu-system-aarch64" */
	bool contpte;		/* PTEs can carry the contiguous bit */
	unsigned int cont_pages;	/* pages of a contpte block (4K pages) */
};
const struct arch *arch_find(const char *name);	/* NULL: no such */
const struct arch *arch_at(size_t i);		/* NULL behind the last */
const struct arch *arch_host(void);		/* NULL: not supported as a host */

/* ---- counters: names and 64-bit values, in order of name ---------------- */

struct counter {
	char *name;
	int64_t value;
};
struct counters {
	struct counter *v;
	size_t n;
};
void counters_set(struct counters *c, const char *name, int64_t value);
void counters_add(struct counters *c, const char *name, int64_t value);
/* false: not there (*value untouched). */
bool counters_get(const struct counters *c, const char *name, int64_t *value);
int64_t counters_value(const struct counters *c, const char *name); /* 0 if not there */
void counters_free(struct counters *c);
json_t *counters_to_json(const struct counters *c);
int counters_from_json(struct counters *c, const json_t *o, const char *where,
		       struct err *err);

/*
 * Names of counters in a sample of a reclaim workload.  All are of the
 * measured window (the one write to memory.reclaim) unless said otherwise.
 *
 *  pmu.kernel_instructions, pmu.user_instructions	guest PMU; absent if none
 *  time.wall_ns		guest's CLOCK_MONOTONIC
 *  time.sys_ns			CPU time of the writing thread (its thread clock)
 *  rusage.minflt, rusage.majflt	faults of the thread (not of all the machine)
 *  time.rusage_sys_ns, time.rusage_user_ns		the same by getrusage(2), which
 *				splits by ticks: less exact
 *  plugin.kernel_instructions, plugin.user_instructions
 *  plugin.tlbi_address, .tlbi_range, .tlbi_all, .dsb, .atomics, .exceptions
 *  reclaim.asked		bytes written to memory.reclaim
 *  reclaim.errno		0, or what write(2) failed with (EAGAIN = partial)
 *  memory.current_before, memory.current_after		bytes
 *  memcg.KEY			delta of a memory.stat key (pgscan, pgsteal,
 *				pgactivate, pgrefill, file, file_mapped, ...)
 *  memcg_before.KEY		its value before the window (file, file_mapped,
 *				active_file, inactive_file, file_dirty, pagetables)
 *  events.KEY			memory.events (max, oom, high, ...) over the cgroup's life
 *  pressure.some_us, .full_us	memory.pressure: stall time in the window; absent
 *				if the kernel has no PSI
 *  vmstat.KEY			delta of a /proc/vmstat key
 *				(pgscan_kswapd, pgsteal_kswapd, allocstall_*...)
 *  file.bytes			size of the mapped file
 *  file.charged		rise of memory.stat "file" while filling
 *  pages.mapped		PTEs present over all mappers before the window
 *  pages.contpte		of those of one mapper, how many in contpte blocks
 *  pages.pmd			of those, how many are mapped by a PMD
 *  pages.survived		pages of the file in the page cache afterwards
 *
 * Of clear-fault, besides pmu, time, rusage, plugin, vmstat.  Its window holds
 * instructions of the program as well, so time.sys_ns is CPU time of both modes.
 *
 *  clear.pages			4 KiB pages to be faulted in
 *  clear.order			order that all folios have to have
 *  clear.faults		faults of the window, by getrusage(2)
 *  clear.nonzero_words		words of 8 bytes, afterwards, that are neither 0 nor
 *				what the fault wrote
 *  clear.soiled_pages		pages whose frames held other bytes before
 *  clear.threads		threads that faulted
 *  mthp.anon_fault_alloc, .anon_fault_fallback		deltas of that size's
 *				counters; absent where the page is no THP
 *  pages.nodeN			pages that are on node N, afterwards
 *  pages.mapped, .contpte, .pmd	as above, but afterwards
 */

/* What a workload is about, which decides what rules it is held to. */
enum subject { SUBJECT_OTHER, SUBJECT_RECLAIM, SUBJECT_CLEAR, SUBJECT_LATENCY };
enum subject subject_of(const char *workload);	/* NULL: other */

/* ---- sample: what one pass of a workload measured ----------------------- */

struct sample {
	int64_t pass;			/* 0, 1, ... within one boot */
	struct counters counters;
	/* 4K pages of the workload's memory in folios of each order, before
	 * the window; of memory that is faulted in there, after it */
	int64_t order_pages[MAX_ORDER_SEEN];
	char *survivors;		/* SHA-256 of the mincore bitmap after the window;
					 * NULL: not known */
	struct strlist invalid;		/* why the workload itself calls it invalid */
};
void sample_free(struct sample *s);
json_t *sample_to_json(const struct sample *s);
int sample_from_json(struct sample *s, const json_t *o, struct err *err);

/* ---- profile: where the instructions of the window went ----------------- */

struct profile_fn {
	char *name;		/* "folio_referenced"; inlined: see inlined_in */
	char *inlined_in;	/* for a function without code of its own: the
				 * one that contains it; else NULL */
	int64_t calls;
	int64_t self;		/* kernel instructions */
	int64_t inclusive;	/* with everything it called */
	int64_t tlbi_address, tlbi_range, tlbi_all, dsb, atomics; /* self */
};
struct profile {
	int64_t windows;	/* how many windows were added up */
	int64_t kernel_instructions, user_instructions;
	int64_t tlbi_address, tlbi_range, tlbi_all, dsb, atomics, exceptions;
	struct profile_fn *fn;	/* by falling self, then by name */
	size_t n_fn;
};
void profile_free(struct profile *p);
/* Add @from to @to, function by function. */
void profile_add(struct profile *to, const struct profile *from);
const struct profile_fn *profile_find(const struct profile *p, const char *name);
json_t *profile_to_json(const struct profile *p);
int profile_from_json(struct profile *p, const json_t *o, struct err *err);
/*
 * Read what the plugin wrote: one JSON object per window and line, in the
 * form of profile_to_json().  @windows gets an array of *n profiles.
 */
int profile_read_windows(const char *path, struct profile **windows, size_t *n,
			 struct err *err);

/* ---- parameters: what a workload can be told ---------------------------- */

enum param_type { PARAM_SIZE, PARAM_INT, PARAM_PERCENT, PARAM_CHOICE };

struct param_spec {
	const char *name;
	enum param_type type;
	const char *fallback;		/* default, as a user would write it */
	int64_t min, max;		/* SIZE (bytes), INT, PERCENT */
	const char *const *choices;	/* CHOICE; NULL-terminated */
	const char *help;
};
/* A value, parsed: bytes, integer, percent, or the index of the choice. */
struct param {
	const struct param_spec *spec;	/* NULL: read back from a result */
	char *name;
	char *text;			/* as written */
	int64_t value;
};
struct params {
	struct param *v;		/* one for each spec, in the spec's order */
	size_t n;
};
/* All at their defaults; @specs ends with a NULL name. */
void params_init(struct params *p, const struct param_spec *specs);
/* EXIT_USAGE and a text that names key, value and what is allowed. */
int params_set(struct params *p, const char *key, const char *text,
	       struct err *err);
/* All that a result's parameters still have are names and texts. */
int params_from_result(struct params *p, const json_t *o, struct err *err);
/* The text, NULL if there is no such parameter. */
const char *params_find(const struct params *p, const char *key);
/* The value; asking for a parameter that the workload lacks is a bug: abort. */
int64_t params_get(const struct params *p, const char *key);
const char *params_text(const struct params *p, const char *key);
void params_copy(struct params *to, const struct params *from);
void params_free(struct params *p);
json_t *params_to_json(const struct params *p);	/* {"size": "192M", ...} */
int params_from_json(struct params *p, const json_t *o, struct err *err);

/* ---- job: what the agent is told ---------------------------------------- */

/* A program of correctness cases: /cases/PROGRAM in the initramfs. */
struct job_case {
	char *program;
	int64_t seconds;	/* of the guest, before it is killed */
	struct strlist args;	/* for it: which of its tests */
};

/*
 * /job.json in the initramfs.  The same for both sides and all seeds.  Either
 * there is a workload, or (in JSON "mode": "cases") there are cases.
 */
struct job {
	char *workload;
	struct params params;	/* against the workload's specs */
	int64_t passes;
	char *fs;		/* "xfs" */
	int64_t fs_bytes;	/* size of the scratch file system's device */
	struct job_case *cases;
	size_t n_cases;
	/*
	 * Trees of files that the guest gets as well ("stress-ng"), where they
	 * are built.  Not in the JSON: who runs such a file sees if it is there.
	 */
	struct strlist extras;
};
void job_free(struct job *j);
/* A name that may stand in /cases: letters, digits, "-" and "_". */
bool job_case_name(const char *name);
struct job_case *job_add_case(struct job *j, const char *program,
			      int64_t seconds);
void job_add_extra(struct job *j, const char *name);	/* once, if given twice */
json_t *job_to_json(const struct job *j);
/* @specs_of: specs of a workload by name, NULL if there is none. */
int job_from_json(struct job *j, const json_t *o,
		  const struct param_spec *(*specs_of)(const char *workload),
		  struct err *err);

/* ---- wire: what the agent says, one JSON object a line ------------------- */

#define WIRE_MAX_LINE	(256 * 1024)	/* longer: the guest is broken */
#define WIRE_MAX_LINES	100000

enum wire_type {
	WIRE_HELLO, WIRE_PHASE, WIRE_SAMPLE, WIRE_ERROR, WIRE_DONE,
	/* of a job of cases, as they happen */
	WIRE_CASE, WIRE_KTAP, WIRE_CASE_END,
	/* of the local machine, behind its sample; no guest sends it */
	WIRE_PROFILE,
};
/* Behind an exit status of 0..255: killed by signal code - WIRE_SIGNAL. */
#define WIRE_SIGNAL	256
#define WIRE_TIMEOUT	(-1)	/* killed by the agent after its limit */

struct wire {
	enum wire_type type;
	/*
	 * HELLO: kernel release; PHASE: its name; ERROR: the line; CASE: the
	 * program that starts now; KTAP: a line that it printed; CASE_END: what
	 * the agent objects to (the kernel log), NULL: nothing
	 */
	char *text;
	/*
	 * ERROR: exit code that the host should use; DONE: samples or cases
	 * sent; CASE_END: how it ended
	 */
	int64_t code;
	struct sample sample;	/* SAMPLE */
	struct profile profile;	/* PROFILE */
};
void wire_free(struct wire *w);
/* One line without newline, caller frees. */
char *wire_format(const struct wire *w);
/* @line need not be trusted, nor NUL-terminated within @len, nor UTF-8. */
int wire_parse(const char *line, size_t len, struct wire *w, struct err *err);

/* ---- cases: what a program of correctness cases said ---------------------- */

enum case_status { CASE_PASSED, CASE_FAILED, CASE_SKIPPED };

struct case_test {
	char *name;		/* "young.one_young" */
	enum case_status status;
	char *why;		/* of a skip or a failure, NULL: not said */
	struct strlist notes;	/* diagnostics, without "# " */
};

/* One run of one program, filled line by line: its KTAP (TAP 13) is not trusted. */
struct case_run {
	char *program;
	char *boot;		/* kernel options of its guest, "": none */
	int64_t planned;	/* tests, -1: it did not say */
	struct case_test *tests;
	size_t n_tests;
	char *running;		/* test that has begun and not ended */
	struct strlist notes;	/* seen since the last test ended */
	bool ended;
	enum case_status status;
	char *why;		/* it failed or was skipped as a whole */
	double seconds;		/* of wall time on this host */
};
#define CASE_MAX_TESTS	1000
#define CASE_MAX_NOTES	5000	/* a test; what is more is counted */

void case_run_init(struct case_run *r, const char *program, const char *boot);
void case_run_free(struct case_run *r);
/*
 * What a line turned out to be.  CASE_LINE_TEST: ->tests has one more.
 */
enum case_line { CASE_LINE_NOTE, CASE_LINE_PLAN, CASE_LINE_TEST };
enum case_line case_run_line(struct case_run *r, const char *line);
/*
 * It has ended as CASE_END says (@code, @objection): a test that was running
 * and those of the plan that never ran are added as failed, and the verdict
 * is made.
 */
void case_run_end(struct case_run *r, int64_t code, const char *objection);
/* The kernel died under it, or the agent failed: @why. */
void case_run_lost(struct case_run *r, const char *why);

/*
 * Tests of @runs by how they ended.  A program with which something is wrong as
 * a whole (killed, the kernel log) is one more that failed.
 */
struct case_counts {
	int64_t passed, failed, skipped;
};
struct case_counts case_counts(const struct case_run *runs, size_t n);
/* Names of what failed, with the kernel options of the guest behind them. */
void case_failures(const struct case_run *runs, size_t n,
		   struct strlist *names);

/* ---- selftests: cases that ran on both sides of a comparison (selftests.c) -- */

struct selftests {
	char *asked;		/* "quick", "young,uffd"; NULL: none ran */
	struct case_run *runs[2];	/* of A, of B */
	size_t n_runs[2];
	/* What has to be the same on both, a test each; program NULL: not known */
	struct case_run alike;
};
void selftests_free(struct selftests *s);
/* What fails on B and not on A. */
void selftests_broken(const struct selftests *s, struct strlist *names);
json_t *selftests_to_json(const struct selftests *s);
int selftests_from_json(struct selftests *s, const json_t *o, struct err *err);

/* ---- kernel log (klog.c) ---------------------------------------------------- */

enum klog { KLOG_FINE, KLOG_OOM, KLOG_WARNING, KLOG_LOST };
/*
 * What a line of the kernel log means for the health of the kernel (KLOG_LOST:
 * no result comes after that).  @what gets a few words, or NULL for a warning.
 */
enum klog klog_judge(const char *line, const char **what);

/* ---- image: a kernel that is ready to boot ------------------------------ */

struct image {
	char *spec;		/* as the user named it */
	const struct arch *arch;
	char *kernel;		/* path of the bootable image */
	char *symbols;		/* path of the symbol file for the plugin, NULL: none
				 * (format: docs/symbols.md) */
	char *config;		/* path of its .config, NULL: not known */
	char *release;		/* "6.12.117-folab", NULL: not known */
	char *base;		/* "linux-source-6.12 6.12.117-1~deb12u1", a commit... */
	char *compiler;		/* first line of --version, NULL: not known */
	char *config_hash;	/* SHA-256 of .config; NULL: not known */
	char *image_hash;	/* SHA-256 of the bootable image */
	struct image_series {
		char *name;	/* "young-batch" */
		char *hash;	/* SHA-256 over its patches, in order */
		char *mbox;	/* path: its patches, one behind the other */
		int64_t patches;
	} *series;
	size_t n_series;
};
void image_free(struct image *im);
void image_copy(struct image *to, const struct image *from);
json_t *image_to_json(const struct image *im);	/* without paths of this host */
int image_from_json(struct image *im, const json_t *o, struct err *err);

/* ---- trial: one boot of one side ---------------------------------------- */

struct trial {
	char side;		/* 'A' or 'B'; two by two: 'C' or 'D' */
	int64_t seed;		/* QEMU's -seed */
	/* On a real clock: a word for its boot (NULL: not known), and when it
	 * began (seconds since 1970, 0: not known). */
	char *boot;
	int64_t started;
	int64_t index;		/* place in the order of trials, from 0 */
	bool done;		/* it ran, whatever came of it */
	char *failed;		/* why it failed, NULL: it did not */
	char *console_tail;	/* last lines of the console of a failed trial */
	struct strlist warnings;	/* kernel warnings found on the console */
	double host_seconds;	/* wall time on the host; not in result.json */
	struct sample *samples;
	size_t n_samples;
	struct profile profile;	/* all its windows; windows 0: not profiled */
	struct profile calls;	/* the same by ftrace: times are ns */
};
void trial_free(struct trial *t);
json_t *trial_to_json(const struct trial *t);	/* without profiles */
int trial_from_json(struct trial *t, const json_t *o, struct err *err);

/* ---- metrics: the one description that every output draws from ----------- */

struct metric {
	const char *name;	/* stable: "reclaim.instructions_per_page" */
	const char *title;	/* in the text block: "kernel instructions per page" */
	const char *unit;	/* "instructions" */
	int better;		/* -1: less is better, +1: more, 0: neither */
	int digits;		/* decimals shown */
	double scale;		/* the text shows values times this; 0: as they are */
	const char *help;	/* how it is read: counters, formula */
	bool real_time;		/* of a real clock only: no emulator can tell it */
};
/*
 * NULL behind the last.  The last ones stand for families, "reclaim.share." and
 * whatever else there is: metric_share() finds FUNCTION in their names.
 */
const struct metric *metric_at(size_t i);
/* "reclaim.share.FUNCTION", "clear.share.FUNCTION" are found for any FUNCTION. */
const struct metric *metric_find(const char *name);
/* The FUNCTION of a metric that is a share, NULL: it is none. */
const char *metric_share(const char *name);

/* ---- host: a machine that is none of ours (host.c) ------------------------- */

/* What its figures hang on.  Texts: NULL, and numbers: 0, if not known. */
struct host {
	char *cpu;		/* "AMD EPYC" */
	char *hypervisor;	/* "KVM": this is a virtual machine; NULL: seems none */
	char *preempt;		/* "full", "voluntary", "none", "lazy", "rt", ... */
	char *thp;		/* transparent_hugepage/enabled: "madvise" */
	char *governor;		/* of cpufreq */
	int64_t cpus, nodes;
	int64_t memory;		/* bytes */
	int64_t l1d, l2, llc;	/* bytes of the data caches of one processor */
	int64_t bound_node, bound_cpu;	/* -1: the run was not bound */
};
void host_free(struct host *h);
json_t *host_to_json(const struct host *h);
int host_from_json(struct host *h, const json_t *o, struct err *err);
/* Its unit in a result of @clock: seconds may be of the instruction clock. */
const char *metric_unit(const struct metric *m, const char *clock);
/* @value as the text shows it; @m may be NULL. */
double metric_shown(const struct metric *m, double value);

/* ---- result: everything about one comparison ----------------------------- */

enum verdict {
	VERDICT_NONE,		/* not compared (neither way is better) */
	VERDICT_FASTER,		/* B is better */
	VERDICT_SLOWER,
	VERDICT_SAME,		/* "no difference" */
	VERDICT_INVALID,	/* a run was invalid: nothing is claimed */
};
const char *verdict_name(enum verdict v);	/* "faster", "no difference", ... */

/* A row compares one metric; all numbers in the metric's unit. */
struct row {
	char *metric;		/* its name */
	/* Medians over the seeds; real clock: geometric means of boots' medians. */
	double a, b;
	double change_pct;	/* median of the per-seed changes, percent */
	/* The smallest and largest of them; real clock: the 95 % interval. */
	double low_pct, high_pct;
	double a_stdev_pct, b_stdev_pct;
	int64_t n;		/* seeds compared; real clock: boots of either side */
	bool has_p;		/* false on the instruction clock: p is null */
	double p;		/* adjusted for the number of rows */
	double p_alone;		/* as if it were the only one */
	double detectable_pct;	/* 80 % of such runs would prove it; NAN: not known */
	enum verdict verdict;
};

struct decision_diff {		/* a seed with which the sides decided otherwise */
	int64_t seed;
	char *text;		/* "pgscan 38400 -> 38912 (+1.3 %)" */
};

/* A metric on four sides: medians over the seeds, in its unit. */
struct two_row {
	char *metric;		/* its name */
	double a, c, d, b;
	double c_change_pct, d_change_pct, b_change_pct;	/* from A */
	double interaction;	/* B - C - D + A, median, smallest and largest */
	double interaction_low, interaction_high;
	double interaction_pct;	/* its median in percent of A */
	int64_t n;		/* seeds */
	bool interacts;		/* more than layout and tick can do */
};
/* Side C is A with the first of two series alone, D with the second; B has both. */
struct two_by_two {
	bool asked;
	char *series[2];	/* of C, of D: names */
	struct image side[2];
	struct trial *trials;	/* of sides 'C' and 'D', in their order */
	size_t n_trials;
	struct profile profile[2];
	/* filled by analyse */
	struct two_row *rows;
	size_t n_rows;
	bool valid;		/* then the result is valid as well */
	struct strlist reasons;	/* beside the result's */
};
void two_by_two_free(struct two_by_two *t);
void two_by_two_forget(struct two_by_two *t);	/* what analyse filled */
json_t *two_by_two_to_json(const struct two_by_two *t, const char *clock);
int two_by_two_from_json(struct two_by_two *t, const json_t *o,
			 struct err *err);

/* A side behind A and B, compared with A. */
struct further {
	char side;		/* 'C' and on */
	struct image image;
	struct trial *trials;	/* of that side */
	size_t n_trials;
	/* filled by analyse, as in struct result */
	struct row *rows;
	size_t n_rows;
	bool valid;
	struct strlist reasons, notes;
	int64_t alike, alike_of;
};
#define SIDES_MAX	8	/* 'A' to 'H' */
void further_free(struct further *f);
void further_forget(struct further *f);	/* what analyse filled */

/*
 * A row that reviewers ask for: the same two kernels with other parameters, or
 * on another architecture.  It is a comparison of its own, as folab ab with
 * these parameters makes it, but in the directory of the result it belongs to.
 */
struct variant {
	char *name;		/* "16 mappers" */
	struct strlist set;	/* how it differs: "mappers=16", "arch=x86_64" */
	struct result *r;	/* has no variants of its own */
};
/* DIR/row-N, with N from 1: profiles and consoles of variant N - 1; caller frees. */
char *variant_dir(const char *dir, size_t i);

struct result {
	char *scenario;
	char *summary;		/* the scenario's one line */
	char *workload;
	struct params params;	/* read back: without specs and values */
	char *clock;		/* "instructions" or "real" */
	int64_t ns_per_instruction;	/* instruction clock; 0: real */
	char *machine;		/* "QEMU emulator version 7.2.22 (...), virt, cpu max, ..." */
	char *machine_args;	/* emulator's options that matter for the counts */
	char *cmdline;		/* kernel command line */
	char *command;		/* command that re-creates the run */
	char *folab_version;
	char *fs;		/* "xfs on a RAM disk, made by mkfs.xfs 6.1.0" */
	double tolerance_pct;	/* bytes reclaimed may differ by so much */
	struct strlist wanted;	/* metrics of the report, in order */
	bool aa;		/* a kernel against itself */
	struct image side[2];	/* A, B */
	struct trial *trials;	/* in the order they were planned */
	size_t n_trials;
	struct profile profile[2];	/* side's trials added up */
	struct profile calls;		/* of a run on this host: A's */
	/* filled by analyse */
	struct row *rows;
	size_t n_rows;
	bool valid;
	struct strlist reasons;
	struct strlist notes;	/* facts that the reader must know */
	int64_t alike, alike_of;	/* seeds; alike_of 0: can't be known */
	struct decision_diff *diffs;
	size_t n_diffs;
	struct selftests selftests;
	/* of a run on this host */
	bool has_host;
	struct host host;
	char *cross_check;	/* what else measured: "perf version 6.1"; NULL: none */
	bool tune;		/* folab tune asked */
	double delay_ms;	/* that a unit may take; NAN: as long as it takes */
	struct two_by_two two_by_two;
	struct further *further;
	size_t n_further;
	struct variant *variants;	/* in the scenario's order */
	size_t n_variants;
};
/*
 * @r as if side B were @f, which stays the owner of what is in it: for reading,
 * or with rows, reasons, notes and diffs of its own.  To be freed with free() of
 * ->trials alone.
 */
struct result further_view(const struct result *r, const struct further *f);
/*
 * Side @side of @to gets what side @from_side of @from measured, which is gone
 * from there; several runs of one kernel become one side.  The first to join
 * gives @to, empty before, all else, and must be side 'A'; then sides are joined
 * in their order.  The names are for messages.  EXIT_USAGE if they have other
 * workloads, parameters, clocks or processors, or a side has two kernels;
 * whatever else differs and may be the reason of a difference goes to @doubts.
 */
int result_join(struct result *to, char side, const char *to_name,
		struct result *from, char from_side, const char *from_name,
		struct strlist *doubts, struct err *err);
/* A new one at the end, its result empty; valid until the next call. */
struct variant *variant_add(struct result *r, const char *name);
const struct variant *variant_find(const struct result *r, const char *name);
/*
 * The row that is the answer: the first one of a metric with a better
 * direction.  NULL: there is none.
 */
const struct row *result_decider(const struct result *r);
/* A run of one kernel, that nothing is compared with: it has no side B. */
bool result_one_sided(const struct result *r);
void result_free(struct result *r);
/* profile-A.json, profile-B.json and calls-A.json are files of their own. */
json_t *result_to_json(const struct result *r);
int result_from_json(struct result *r, const json_t *o, struct err *err);
/*
 * DIR/result.json and, of two sides, DIR/profile-{A,B}.json, each replaced
 * whole; of one side what there is of profile-A.json and calls-A.json.  The
 * profiles of variants go into their directories.
 */
int result_write(const char *dir, const struct result *r, struct err *err);
int result_read(const char *dir, struct result *r, struct err *err);

#endif
