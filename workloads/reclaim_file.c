/* SPDX-License-Identifier: GPL-2.0 */
/*
 * reclaim-file - one write(2) to memory.reclaim over large folios of the page
 * cache that processes map.
 *
 * A sparse file on XFS is read by a process in the test cgroup, in a pattern
 * that gives folios of the wanted order, then mapped and touched by as many
 * processes as asked for.  All of them sleep while the agent, which stands
 * outside of the cgroup, asks the kernel to reclaim: what is counted is the
 * work of that one thread.  A fresh file and a fresh cgroup each time: charge
 * stays with whoever touched a page first.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "folios.h"
#include "knobs.h"
#include "mapper.h"
#include "memcg_view.h"
#include "reclaim_file.h"

#define MIB			(UINT64_C(1) << 20)
#define XFS_MAX_ORDER		9	/* a PMD; MAX_PAGECACHE_ORDER in 6.12 */
#define XFS_MIN_DEVICE		(320 * MIB)	/* mkfs.xfs wants 300 */
#define FOLIOS_AT_LEAST		32	/* or the first windows weigh too much */
#define ORDER_SHARE_MIN		70	/* percent of the pages */
#define CHARGED_MIN		98	/* percent of the file */
#define VMAS_MAX		65000	/* of a process; vm.max_map_count is 65530 */
#define VMA_BYTES		512	/* one, and its part of the trees */
#define CHECKED_PAGES		2048	/* whose content verify() reads */
#define LRU_GEN			"/sys/kernel/mm/lru_gen/enabled"

static const char *const lru_choices[] = { "classic", "mglru", NULL };
enum { LRU_CLASSIC, LRU_MGLRU };
static const char *const map_choices[] = { "whole", "partial", NULL };
enum { MAP_WHOLE, MAP_PARTIAL };

static const struct param_spec specs[] = {
	{ "size", PARAM_SIZE, "192M", 1 << 20, INT64_C(1) << 40, NULL,
	  "size of the mapped file" },
	{ "reclaim", PARAM_SIZE, "150M", 4096, INT64_C(1) << 40, NULL,
	  "bytes asked of memory.reclaim" },
	{ "order", PARAM_INT, "4", 0, XFS_MAX_ORDER, NULL,
	  "order of the file's folios" },
	{ "mappers", PARAM_INT, "1", 1, 64, NULL,
	  "processes that map the file and touch each page of it" },
	{ "young", PARAM_PERCENT, "100", 0, 100, NULL,
	  "share of PTEs that are young when reclaim begins" },
	{ "map", PARAM_CHOICE, "whole", 0, 0, map_choices,
	  "partial: of each folio only a half is mapped, by VMAs that begin and end in the middle of one" },
	{ "lru", PARAM_CHOICE, "classic", 0, 0, lru_choices,
	  "which LRU reclaims: classic (active, inactive) or mglru" },
	{ "dirty", PARAM_PERCENT, "0", 0, 100, NULL,
	  "share of pages dirtied through the mapping (XFS dirties whole folios)" },
	{ NULL },
};

struct state {
	struct knobs knobs;
	struct memcg *cg;
	char *path;
	struct mapper_file file;
	struct mapper *mappers;
	int64_t n_mappers;
	int64_t kswapd_before;	/* pages that kswapd scanned since boot */
};

/* ---- what the parameters need --------------------------------------------- */

static bool is_partial(const struct params *p)
{
	return params_get(p, "map") == MAP_PARTIAL;
}

/* That a partial mapping takes: one for two folios, and one for the gap behind. */
static uint64_t vmas(const struct params *p)
{
	uint64_t folio = FOLIO_PAGE_SIZE << params_get(p, "order");

	return is_partial(p) ? (uint64_t)params_get(p, "size") / folio + 1 : 0;
}

static int check_partial(const struct params *p, struct err *err)
{
	if (!is_partial(p))
		return 0;
	if (!params_get(p, "order"))
		return err_set(err, EXIT_USAGE,
			       "map = partial wants folios of more than one page: order = 1 at least");
	if (vmas(p) > VMAS_MAX)
		return err_set(err, EXIT_USAGE,
			       "map = partial takes a VMA for each folio, with size = %s and order = %s %llu of them; a process may have %d",
			       params_text(p, "size"), params_text(p, "order"),
			       (unsigned long long)vmas(p), VMAS_MAX);
	return 0;
}

static int check(const struct params *p, struct err *err)
{
	uint64_t size = (uint64_t)params_get(p, "size");
	uint64_t reclaim = (uint64_t)params_get(p, "reclaim");
	uint64_t folio = FOLIO_PAGE_SIZE << params_get(p, "order");
	char text[32];

	if (reclaim > size)
		return err_set(err, EXIT_USAGE,
			       "reclaim = %s is more than size = %s: nothing else can be reclaimed",
			       params_text(p, "reclaim"), params_text(p, "size"));
	if (reclaim % FOLIO_PAGE_SIZE)
		return err_set(err, EXIT_USAGE,
			       "reclaim = %s is not a multiple of the page size, 4K",
			       params_text(p, "reclaim"));
	if (size < FOLIOS_AT_LEAST * folio)
		return err_set(err, EXIT_USAGE,
			       "size = %s is too small for folios of order %lld: at least %s",
			       params_text(p, "size"),
			       (long long)params_get(p, "order"),
			       format_size(FOLIOS_AT_LEAST * folio, text,
					   sizeof(text)));
	if (size % folio)
		return err_set(err, EXIT_USAGE,
			       "size = %s is not a multiple of a folio of order %lld, %s",
			       params_text(p, "size"),
			       (long long)params_get(p, "order"),
			       format_size(folio, text, sizeof(text)));
	return check_partial(p, err);
}

/* Bytes that dirtying may put on the device: XFS dirties whole folios. */
static uint64_t dirty_bytes(const struct params *p)
{
	uint64_t size = (uint64_t)params_get(p, "size");
	uint64_t dirty = (uint64_t)params_get(p, "dirty");
	uint64_t share = (dirty << params_get(p, "order"));

	return share >= 100 ? size : size / 100 * share;
}

static uint64_t fs_bytes(const struct params *p)
{
	uint64_t dirty = dirty_bytes(p);
	uint64_t bytes = XFS_MIN_DEVICE + dirty + dirty / 16;

	return (bytes + MIB - 1) / MIB * MIB;
}

/*
 * So much that kswapd never wakes.  The file and, on the RAM disk, what is
 * dirty; struct page (1/64) and XArray nodes; each mapper's page tables (1/512
 * of the file) and itself; the kernel, its watermarks, which transparent huge
 * pages raise, and the reserve of the lower zones.
 */
static uint64_t memory_bytes(const struct params *p)
{
	uint64_t size = (uint64_t)params_get(p, "size");
	uint64_t mappers = (uint64_t)params_get(p, "mappers");
	uint64_t cache = size + dirty_bytes(p);
	uint64_t mapper = size / 512 + vmas(p) * VMA_BYTES + MIB;
	uint64_t bytes = cache + cache / 32 + mappers * mapper + 512 * MIB;

	return (bytes + MIB - 1) / MIB * MIB;
}

/* ---- prepare -------------------------------------------------------------- */

static int set_lru(struct workload_env *env, struct state *s, struct err *err)
{
	bool mglru = params_get(env->params, "lru") == LRU_MGLRU;

	if (!mglru && !file_exists(LRU_GEN))
		return 0;
	return knobs_set(&s->knobs, LRU_GEN, mglru ? "y" : "n", err);
}

/* Readahead is a setting of the device below the file system. */
static int set_readahead(struct workload_env *env, struct state *s,
			 struct err *err)
{
	char *path, kib[16];
	struct stat st;
	int ret;

	if (stat(env->dir, &st))
		return err_sys(err, EXIT_RUN, errno, "can't stat %s", env->dir);
	path = xasprintf("/sys/class/bdi/%u:%u/read_ahead_kb",
			 major(st.st_dev), minor(st.st_dev));
	if (!file_exists(path)) {
		free(path);
		return err_set(err, EXIT_ENVIRONMENT,
			       "%s is on a file system that reads nothing ahead (of memory, or of the network): it can't be told which folios to make; XFS on a disk can",
			       env->dir);
	}
	snprintf(kib, sizeof(kib), "%d",
		 mapper_readahead_kib((int)params_get(env->params, "order")));
	ret = knobs_set(&s->knobs, path, kib, err);
	free(path);
	return ret;
}

static int make_file(struct state *s, struct err *err)
{
	int fd = open(s->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int ret = 0;

	if (fd < 0)
		return err_sys(err, EXIT_RUN, errno, "can't make %s", s->path);
	if (ftruncate(fd, (off_t)s->file.bytes) || fsync(fd))
		ret = err_sys(err, EXIT_RUN, errno, "can't size %s", s->path);
	close(fd);
	return ret;
}

/* Nothing but the file is to be reclaimed.  A guest of ours has no swap. */
static int forbid_swap(struct state *s, struct err *err)
{
	struct err ignored = { 0 };
	bool swap = false;
	char *text;

	if (!file_read("/proc/swaps", 65536, &text, NULL, &ignored)) {
		char *second = strchr(text, '\n');

		swap = second && second[1];	/* the first line is the title */
		free(text);
	}
	return swap ? memcg_set(s->cg, "swap.max", "0", err) : 0;
}

static int start_mappers(struct state *s, int64_t n, struct err *err)
{
	s->mappers = xcalloc((size_t)n, sizeof(*s->mappers));
	while (s->n_mappers < n) {
		struct mapper *m = &s->mappers[s->n_mappers];

		if (mapper_start(m, &s->file, err))
			return -1;
		s->n_mappers++;
		if (memcg_attach(s->cg, m->pid, err))
			return -1;
	}
	return 0;
}

static int all_mappers(struct state *s, enum mapper_op op, struct err *err)
{
	for (int64_t i = 0; i < s->n_mappers; i++)
		if (mapper_do(&s->mappers[i], op, NULL, err))
			return -1;
	return 0;
}

static int kswapd_scanned(int64_t *pages, struct err *err)
{
	long long n;
	char *text, *at;
	size_t len;

	if (file_read("/proc/vmstat", 1 << 20, &text, &len, err))
		return -1;
	at = strstr(text, "\npgscan_kswapd ");
	*pages = at && sscanf(at, " pgscan_kswapd %lld", &n) == 1 ? n : 0;
	free(text);
	return 0;
}

static int fill(struct workload_env *env, struct state *s, struct err *err)
{
	int64_t before, after;

	env->phase(env, "fill");
	if (memcg_view_stat(s->cg, "file", &before, err) ||
	    mapper_do(&s->mappers[0], MAPPER_FILL, NULL, err) ||
	    memcg_view_stat(s->cg, "file", &after, err))
		return -1;
	counters_set(&env->sample->counters, "file.bytes",
		     (int64_t)s->file.bytes);
	counters_set(&env->sample->counters, "file.charged", after - before);
	if ((uint64_t)(after - before) < s->file.bytes / 100 * CHARGED_MIN)
		workload_invalid(env, "the cgroup was charged %lld of the file's %llu bytes",
			(long long)(after - before),
			(unsigned long long)s->file.bytes);
	return 0;
}

/* The folios that there are, whatever part of each will be mapped. */
static void note_orders(struct workload_env *env, struct state *s,
			const struct folio_count *n)
{
	int64_t pages = (int64_t)(s->file.bytes >> FOLIO_PAGE_SHIFT);
	int64_t wanted = n->order_pages[s->file.order];

	memcpy(env->sample->order_pages, n->order_pages, sizeof(n->order_pages));
	if (wanted * 100 < pages * ORDER_SHARE_MIN)
		workload_invalid(env, "%lld of the file's %lld pages are in folios of order %d, less than %d %%",
			(long long)wanted, (long long)pages, s->file.order,
			ORDER_SHARE_MIN);
}

static int map(struct workload_env *env, struct state *s, struct err *err)
{
	struct folio_count n;

	env->phase(env, "map");
	if (s->file.partial) {
		if (mapper_do(&s->mappers[0], MAPPER_ORDERS, &n, err))
			return -1;
		note_orders(env, s, &n);
	}
	if (all_mappers(s, MAPPER_MAP, err))
		return -1;
	if (s->file.dirty && mapper_do(&s->mappers[0], MAPPER_DIRTY, NULL, err))
		return -1;
	if (s->file.young < 100 && (all_mappers(s, MAPPER_AGE, err) ||
				    all_mappers(s, MAPPER_TOUCH, err)))
		return -1;
	return 0;
}

/*
 * Of each folio a half: in the page tables such folios look like ones of the
 * order below.
 */
static void check_halves(struct workload_env *env, struct state *s,
			 const struct folio_count *n)
{
	int64_t halves = n->order_pages[s->file.order - 1];

	if (halves * 100 < n->mapped * ORDER_SHARE_MIN)
		workload_invalid(env, "%lld of %lld mapped pages are a half of a folio of order %d, less than %d %%",
			(long long)halves, (long long)n->mapped, s->file.order,
			ORDER_SHARE_MIN);
}

/* Prove what the reclaim will meet. */
static int count(struct workload_env *env, struct state *s, struct err *err)
{
	int64_t pages = (int64_t)(s->file.bytes >> FOLIO_PAGE_SHIFT);
	struct counters *c = &env->sample->counters;
	int64_t mapped = 0;
	struct folio_count n;

	env->phase(env, "count");
	for (int64_t i = s->n_mappers - 1; i >= 0; i--) {
		if (mapper_do(&s->mappers[i], MAPPER_COUNT, &n, err))
			return -1;
		mapped += n.mapped;
	}
	/* n is the first mapper's, which stands for all. */
	counters_set(c, "pages.mapped", mapped);
	counters_set(c, "pages.pmd", n.pmd);
	if (s->file.cont_pages)
		counters_set(c, "pages.contpte", n.contpte);
	if (s->file.partial) {
		check_halves(env, s, &n);
		pages /= 2;	/* the file is a whole number of folios */
	} else {
		note_orders(env, s, &n);
	}
	if (mapped != pages * s->n_mappers)
		workload_invalid(env, "%lld pages were mapped before the reclaim, not %lld",
			(long long)mapped, (long long)(pages * s->n_mappers));
	return 0;
}

static int check_kswapd(struct workload_env *env, struct state *s,
			struct err *err)
{
	int64_t after;

	if (kswapd_scanned(&after, err))
		return -1;
	if (after > s->kswapd_before)
		workload_invalid(env, "kswapd scanned %lld pages while the file was filled: the machine has too little memory",
			(long long)(after - s->kswapd_before));
	return 0;
}

static int prepare(struct workload_env *env, void **state, struct err *err)
{
	const struct params *p = env->params;
	struct state *s = xcalloc(1, sizeof(*s));
	const struct arch *arch = arch_host();

	*state = s;
	s->path = xasprintf("%s/file", env->dir);
	s->file = (struct mapper_file) {
		.path = s->path,
		.bytes = (uint64_t)params_get(p, "size"),
		.order = (int)params_get(p, "order"),
		.seed = env->seed,
		.young = (int)params_get(p, "young"),
		.dirty = (int)params_get(p, "dirty"),
		.partial = is_partial(p),
		.cont_pages = arch && arch->contpte ? arch->cont_pages : 0,
	};
	if (sysconf(_SC_PAGESIZE) != (long)FOLIO_PAGE_SIZE)
		return err_set(err, EXIT_ENVIRONMENT,
			       "reclaim-file needs pages of 4K; this kernel has %ld",
			       sysconf(_SC_PAGESIZE));

	env->phase(env, "prepare");
	if (kswapd_scanned(&s->kswapd_before, err) ||
	    set_lru(env, s, err) || set_readahead(env, s, err) ||
	    make_file(s, err) ||
	    memcg_init(err) || memcg_create(env->cgroup, &s->cg, err) ||
	    forbid_swap(s, err) ||
	    start_mappers(s, params_get(p, "mappers"), err))
		return -1;
	if (fill(env, s, err) || map(env, s, err) || count(env, s, err))
		return -1;
	return check_kswapd(env, s, err);
}

/* ---- run ------------------------------------------------------------------ */

/* Which pages of the file are still there; the mapping touches none. */
static int note_survivors(struct workload_env *env, struct state *s,
			  struct err *err)
{
	uint64_t pages = s->file.bytes >> FOLIO_PAGE_SHIFT;
	unsigned char *resident;
	char hex[HASH_HEX];
	int64_t survived = 0;
	struct hash *h;
	int fd, ret = -1;
	void *map;

	fd = open(s->path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_sys(err, EXIT_RUN, errno, "can't open %s", s->path);
	map = mmap(NULL, s->file.bytes, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	if (map == MAP_FAILED)
		return err_sys(err, EXIT_RUN, errno, "can't map %s", s->path);
	resident = xmalloc(pages);
	if (mincore(map, s->file.bytes, resident)) {
		err_sys(err, EXIT_RUN, errno, "mincore");
		goto out;
	}
	for (uint64_t i = 0; i < pages; i++) {
		resident[i] &= 1;
		survived += resident[i];
	}
	h = hash_new();
	hash_add(h, resident, pages);
	hash_end(h, hex);
	free(env->sample->survivors);
	env->sample->survivors = xstrdup(hex);
	counters_set(&env->sample->counters, "pages.survived", survived);
	ret = 0;
out:
	free(resident);
	munmap(map, s->file.bytes);
	return ret;
}

static int run(struct workload_env *env, void *state, struct err *err)
{
	struct state *s = state;
	struct counters *c = &env->sample->counters;
	struct memcg_view before = { 0 }, after = { 0 };
	int64_t asked = params_get(env->params, "reclaim");
	int errnum, ret = -1;

	env->phase(env, "reclaim");
	if (memcg_reclaim_prepare(s->cg, (uint64_t)asked, NULL, err) ||
	    memcg_view_read(s->cg, &before, err))
		goto out;

	env->window_begin(env);
	memcg_reclaim(s->cg, &errnum);
	env->window_end(env);

	if (memcg_view_read(s->cg, &after, err))
		goto out;
	if (errnum && errnum != EAGAIN) {
		err_sys(err, EXIT_RUN, errnum, "write to memory.reclaim");
		goto out;
	}
	counters_set(c, "reclaim.asked", asked);
	counters_set(c, "reclaim.errno", errnum);
	memcg_view_note(&before, &after, c);
	ret = note_survivors(env, s, err);
out:
	memcg_view_free(&before);
	memcg_view_free(&after);
	return ret;
}

/* ---- verify, clean up ----------------------------------------------------- */

static int check_page(struct workload_env *env, struct state *s, int fd,
		      uint64_t page, bool *good, struct err *err)
{
	uint64_t word[FOLIO_PAGE_SIZE / sizeof(uint64_t)];
	uint64_t want = mapper_maps(&s->file, page) &&
			mapper_dirties(page, s->file.dirty) ?
			mapper_pattern(page) : 0;
	ssize_t n = pread(fd, word, sizeof(word),
			  (off_t)(page << FOLIO_PAGE_SHIFT));

	if (n < 0)
		return err_sys(err, EXIT_RUN, errno, "can't read %s", s->path);
	*good = n == sizeof(word) && word[0] == want;
	for (size_t i = 1; *good && i < ARRAY_SIZE(word); i++)
		*good = !word[i];
	if (!*good)
		workload_invalid(env, "page %llu of the file doesn't read as it was written",
			(unsigned long long)page);
	return 0;
}

/*
 * Survivors and reclaimed pages, evenly spread and an odd distance apart, so
 * that each place within a folio has its turn.  The first wrong one tells
 * enough.
 */
static int verify(struct workload_env *env, void *state, struct err *err)
{
	struct state *s = state;
	uint64_t pages = s->file.bytes >> FOLIO_PAGE_SHIFT;
	uint64_t step = (pages / CHECKED_PAGES) | 1;
	bool good = true;
	int fd, ret = 0;

	env->phase(env, "verify");
	fd = open(s->path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_sys(err, EXIT_RUN, errno, "can't open %s", s->path);
	posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	for (uint64_t page = 0; good && !ret && page < pages; page += step)
		ret = check_page(env, s, fd, page, &good, err);
	close(fd);
	return ret;
}

static void clean_up(struct workload_env *env, void *state)
{
	struct state *s = state;
	struct err ignored = { 0 };

	if (!s)
		return;
	while (s->n_mappers)
		mapper_stop(&s->mappers[--s->n_mappers]);
	free(s->mappers);
	if (s->cg)
		memcg_remove(s->cg, &ignored);
	unlink(s->path);
	free(s->path);
	knobs_restore(&s->knobs);
	free(s);
}

const struct workload reclaim_file = {
	.name = "reclaim-file",
	.summary = "reclaim mapped file-backed folios of a memory cgroup",
	.fs = "xfs",
	.memcg = true,
	.params = specs,
	.check = check,
	.fs_bytes = fs_bytes,
	.memory_bytes = memory_bytes,
	.prepare = prepare,
	.run = run,
	.verify = verify,
	.clean_up = clean_up,
};
