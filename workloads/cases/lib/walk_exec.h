/* SPDX-License-Identifier: GPL-2.0 */
/*
 * walk_exec - carries out the steps of a random walk (walk_step.h).
 */
#include "walk_step.h"

static sigjmp_buf walk_env;

static void walk_on_fault(int sig)
{
	siglongjmp(walk_env, sig);
}

static int walk_futex(int *word, int op, int value,
		      const struct timespec *most)
{
	return (int)syscall(SYS_futex, word, op, value, most, NULL, 0);
}

static uint64_t walk_hash(const unsigned char *at, size_t bytes)
{
	const uint64_t *p = (const uint64_t *)at;
	uint64_t h = bytes;

	for (size_t i = 0; i < bytes / 8; i++)
		h = (h ^ p[i]) * UINT64_C(0x9e3779b97f4a7c15) + (h >> 29);
	return h ^ h >> 32;
}

/* ---- in a walker ---- */

static int walk_touch_page(const unsigned char *p)
{
	int sig = sigsetjmp(walk_env, 0);

	if (!sig)
		(void)*(const volatile unsigned char *)p;
	return sig;
}

static int walk_store(unsigned char *p, const unsigned char *from, size_t n)
{
	int sig = sigsetjmp(walk_env, 0);

	if (!sig)
		memcpy(p, from, n);
	return sig;
}

static int walk_look(struct walk_exec *x, int i, int hash)
{
	const unsigned char *p = x->arena + (size_t)i * x->page;
	struct walk_shared *sh = x->sh;
	int sig = sigsetjmp(walk_env, 0);

	if (sig)
		return sig;
	if (hash)
		sh->hash[i] = walk_hash(p, x->page);
	if (sh->want[i] == WALK_ANY)
		return walk_hash(p, x->page) ? WALK_SAME : WALK_OTHER;
	if (!memcmp(p, x->pool + (size_t)sh->want[i] * x->page, x->page))
		return WALK_SAME;
	if (sh->other[i] != WALK_ANY &&
	    !memcmp(p, x->pool + (size_t)sh->other[i] * x->page, x->page))
		return WALK_OTHER;
	memcpy(sh->buf, p, x->page);
	return WALK_WRONG;
}

static void walk_check(struct walk_exec *x, const struct walk_step *s)
{
	for (int i = s->at; i < s->at + s->len; i++) {
		if (x->sh->want[i] == WALK_SKIP)
			continue;
		x->sh->seen[i] = walk_look(x, i, (int)s->bytes);
		x->sh->reply.pages = i;
		if (x->sh->seen[i] == WALK_WRONG)
			return;
	}
}

/* Stores page by page, until one can't be written. */
static void walk_stores(struct walk_exec *x, const struct walk_step *s)
{
	struct walk_reply *r = &x->sh->reply;
	size_t at = s->pos, end = at + s->bytes, n;

	for (; at < end; at += n, r->pages++) {
		n = x->page - at % x->page;
		if (n > end - at)
			n = end - at;
		r->sig = walk_store(x->arena + s->at * x->page + at,
				    x->sh->buf + at - s->pos, n);
		if (r->sig)
			return;
	}
}

static void walk_touches(struct walk_exec *x, const struct walk_step *s)
{
	struct walk_reply *r = &x->sh->reply;

	for (int i = 0; i < s->len && !r->sig; i++) {
		r->sig = walk_touch_page(x->arena + (s->at + i) * x->page);
		r->pages += !r->sig;
	}
}

static int walk_mmap(struct walk_exec *x, const struct walk_step *s)
{
	int shared = s->kind == WALK_FILE || s->kind == WALK_SHMEM;
	int file = s->kind == WALK_FILE || s->kind == WALK_COW;
	int flags = MAP_FIXED | (shared ? MAP_SHARED : MAP_PRIVATE) |
		(file ? 0 : MAP_ANONYMOUS);
	void *p = mmap(x->arena + s->at * x->page, s->len * x->page, s->prot,
		       flags, file ? x->files[s->object] : -1,
		       file ? (off_t)(s->pos * x->page) : 0);

	return p == MAP_FAILED ? -errno : 0;
}

/*
 * A range of several VMAs can't be moved at once: then halve it.  @bytes of the
 * step: so many pages more at the new place.
 */
static int walk_mremap(struct walk_exec *x, int at, int len, int to, int more,
		       int flags)
{
	void *p = mremap(x->arena + at * x->page, len * x->page,
			 (len + more) * x->page,
			 MREMAP_MAYMOVE | MREMAP_FIXED | flags,
			 x->arena + to * x->page);
	int half = len / 2, ret;

	if (p != MAP_FAILED)
		return 0;
	if (errno != EFAULT || len < 2)
		return -errno;
	ret = walk_mremap(x, at, half, to, 0, flags);
	return ret ? ret : walk_mremap(x, at + half, len - half, to + half,
				       more, flags);
}

/* The arena has changed: a call of the kernel's about it.  0 or -errno. */
static int walk_call(struct walk_exec *x, const struct walk_step *s)
{
	unsigned char *at = x->arena + s->at * x->page;
	size_t len = s->len * x->page;
	int ret = 0;

	switch (s->op) {
	case WALK_MMAP: return walk_mmap(x, s);
	case WALK_MUNMAP: ret = munmap(at, len); break;
	case WALK_MPROTECT: ret = mprotect(at, len, s->prot); break;
	case WALK_MADVISE: ret = madvise(at, len, s->advice); break;
	case WALK_MLOCK: ret = mlock(at, len); break;
	case WALK_MUNLOCK: ret = munlock(at, len); break;
	case WALK_MREMAP:
		return walk_mremap(x, s->at, s->len, s->to, (int)s->bytes,
				   s->advice);
	case WALK_TRUNCATE:
		ret = ftruncate(x->files[s->object], s->bytes);
		break;
	case WALK_PWRITE:
		ret = (int)pwrite(x->files[s->object], x->sh->buf, s->bytes,
				  s->pos);
		break;
	case WALK_PREAD:
		ret = (int)pread(x->files[s->object], x->sh->buf, s->bytes,
				 s->pos);
		break;
	case WALK_DROP:
		return -posix_fadvise(x->files[s->object], 0, 0,
				      POSIX_FADV_DONTNEED);
	}
	return ret < 0 ? -errno : ret;
}

/*
 * A mistake of our own, to see that it is found: after memory was moved, the next
 * store of whole pages in the same process changes one byte too much.
 */
static void walk_plant(struct walk_exec *x, const struct walk_step *s)
{
	static int moved;

	if (s->op == WALK_MREMAP)
		moved = 1;
	if (s->op == WALK_STORE && moved && s->bytes >= 4 * x->page &&
	    !x->sh->reply.sig)
		x->arena[(s->at + 1) * x->page + 5] ^= 0x40;
}

/*
 * A walker's own memory, its stack and data, is locked: else it would be
 * reclaimed too, and would count, and which of two processes gets a new copy of a
 * page behind a fork(2) is a matter of who writes first.
 */
static unsigned long walk_own[32][2];

static void walk_find_own(void)
{
	static char text[16384];
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	size_t len = 0, n = 0;
	ssize_t got;
	char *line, *save;

	while (fd >= 0 && len < sizeof(text) - 1 &&
	       (got = read(fd, text + len, sizeof(text) - 1 - len)) > 0)
		len += (size_t)got;
	close(fd);
	for (line = strtok_r(text, "\n", &save); line && n < 32;
	     line = strtok_r(NULL, "\n", &save))
		if (strstr(line, " rw-p ") &&
		    sscanf(line, "%lx-%lx", &walk_own[n][0],
			   &walk_own[n][1]) == 2)
			n++;
}

static void walk_lock_own(void)
{
	for (int i = 0; i < 32 && walk_own[i][1]; i++) {
		void *at = (void *)walk_own[i][0];
		size_t len = walk_own[i][1] - walk_own[i][0];

		madvise(at, len, MADV_NOHUGEPAGE);
		mlock2(at, len, MLOCK_ONFAULT);
	}
}

static void walk_answer(struct walk_exec *x, int me)
{
	__atomic_store_n(&x->sh->turn[me], 0, __ATOMIC_SEQ_CST);
	walk_futex(&x->sh->turn[me], FUTEX_WAKE, 1, NULL);
}

/* Returns which walker we are from now on. */
static int walk_obey(struct walk_exec *x, int me)
{
	const struct walk_step *s = &x->sh->step;
	struct walk_reply *r = &x->sh->reply;
	long pid;
	int to;

	if (s->op == WALK_EXIT)
		_exit(0);
	if (s->op == WALK_FORK) {
		to = s->to;
		pid = syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);
		if (!pid) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			walk_lock_own();
			walk_answer(x, to);
			return to;
		}
		/* Of the two only this one may write the reply. */
		r->ret = pid < 0 ? -errno : (int)pid;
	} else if (s->op == WALK_TOUCH) {
		walk_touches(x, s);
	} else if (s->op == WALK_STORE) {
		walk_stores(x, s);
	} else if (s->op == WALK_CHECK) {
		walk_check(x, s);
	} else {
		r->ret = walk_call(x, s);
	}
	if (x->planted)
		walk_plant(x, s);
	walk_answer(x, me);
	return me;
}

/*
 * Walkers have a real-time priority: so who has answered goes to sleep before it
 * is looked at what it said, and does not run at some moment of a reclaim (MGLRU
 * notes which processes did), and of two behind a fork(2) it is always the same
 * one that runs first.
 */
static void walk_walker(struct walk_exec *x)
{
	struct sigaction act = { .sa_handler = walk_on_fault,
				 .sa_flags = SA_NODEFER };
	int me = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigaction(SIGSEGV, &act, NULL);
	sigaction(SIGBUS, &act, NULL);
	if (x->pool)
		mprotect(x->pool, x->pool_bytes, PROT_READ);
	walk_find_own();
	walk_lock_own();
	walk_answer(x, 0);
	for (;;) {
		/* For any time: who looks around now and then uses memory. */
		while (!__atomic_load_n(&x->sh->turn[me], __ATOMIC_SEQ_CST))
			walk_futex(&x->sh->turn[me], FUTEX_WAIT, 0, NULL);
		me = walk_obey(x, me);
	}
}

/* ---- outside ---- */

static int walk_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), ret = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		ret = -errno;
	close(fd);
	return ret;
}

/* Of the cgroup. */
static int walk_put(struct walk_exec *x, const char *file, const char *text)
{
	char path[300];

	snprintf(path, sizeof(path), "%s/%s", x->cgroup, file);
	return walk_write(path, text);
}

/*
 * Reading cpu.stat has the kernel add up all that its processors count for the
 * cgroup, memory's counts too.  Reclaim looks at the sums, and so does a fault
 * on a page that was evicted: they must not be as old as it happens.
 */
static void walk_flush_counts(struct walk_exec *x)
{
	char buf[4096];

	if (x->counts >= 0 && pread(x->counts, buf, sizeof(buf), 0) < 0)
		x->counts = -1;
}

/*
 * Let the kernel do what it has put off, before a step and not at any time
 * within: whoever walks or tells is SCHED_FIFO, and workers wait while he does.
 * Without a rest now and then they would get a share of the processor all the
 * same.  Whether a page is clean must not depend on when the kernel writes it.
 */
static void walk_settle(struct walk_exec *x, const struct walk_step *s)
{
	const struct timespec rest = { 0, 1000 * 1000 };
	int evicts = s->op == WALK_RECLAIM ||
		(s->op == WALK_MADVISE && s->advice == MADV_PAGEOUT);
	void *p;

	for (int i = 0; i < WALK_FILES && evicts; i++)
		fsync(x->files[i]);
	nanosleep(&rest, NULL);
	/*
	 * Pages wait on the processor's list for the LRU until it is full, or
	 * until anybody unmaps something.
	 */
	p = mmap(NULL, x->page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p != MAP_FAILED)
		munmap(p, x->page);
	walk_flush_counts(x);
}

static int walk_reclaim(struct walk_exec *x, const struct walk_step *s)
{
	char text[80];
	int n = snprintf(text, sizeof(text), "%u", s->bytes);

	if (s->to)
		snprintf(text + n, sizeof(text) - n, " swappiness=%d",
			 s->to - 1);
	return walk_put(x, "memory.reclaim", text);
}

static int walk_age(struct walk_exec *x, const struct walk_step *s)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/clear_refs", x->pid[s->proc]);
	return walk_write(path, "1");
}

/* 0; -1: the walker has died, with its status in ->ret, or does not answer. */
static int walk_wait(struct walk_exec *x, int proc)
{
	const struct timespec second = { 1, 0 };
	struct walk_reply *r = &x->sh->reply;
	int status;

	for (int i = 0; i < WALK_HANG; i++) {
		while (__atomic_load_n(&x->sh->turn[proc], __ATOMIC_SEQ_CST))
			if (walk_futex(&x->sh->turn[proc], FUTEX_WAIT, 1,
				       &second) &&
			    errno == ETIMEDOUT)
				break;
		if (!__atomic_load_n(&x->sh->turn[proc], __ATOMIC_SEQ_CST))
			return 0;
		if (waitpid(x->pid[proc], &status, WNOHANG) == x->pid[proc]) {
			r->ret = status;
			r->sig = WIFSIGNALED(status) ? WTERMSIG(status) : -1;
			x->pid[proc] = 0;
			return -1;
		}
	}
	r->sig = SIGALRM;
	return -1;
}

static int walk_tell(struct walk_exec *x, const struct walk_step *s)
{
	struct walk_shared *sh = x->sh;
	int status;

	if (s->op == WALK_STORE || s->op == WALK_PWRITE)
		walk_fill(sh->buf, s->bytes, s->seed);
	if (s->op == WALK_FORK)
		sh->turn[s->to] = 1;
	__atomic_store_n(&sh->turn[s->proc], 1, __ATOMIC_SEQ_CST);
	walk_futex(&sh->turn[s->proc], FUTEX_WAKE, 1, NULL);
	if (s->op == WALK_EXIT) {
		waitpid(x->pid[s->proc], &status, 0);
		sh->reply.ret = status;
		sh->turn[s->proc] = x->pid[s->proc] = 0;
		return 0;
	}
	if (walk_wait(x, s->proc))
		return -1;
	/* The new one says when it is there. */
	if (s->op == WALK_FORK && sh->reply.ret > 0) {
		x->pid[s->to] = sh->reply.ret;
		sh->reply.ret = 0;
		return walk_wait(x, s->to);
	}
	return 0;
}

/* Carry it out.  0: see sh->reply; -1: the walker is gone. */
static int walk_do(struct walk_exec *x, const struct walk_step *s)
{
	x->sh->step = *s;
	x->sh->reply = (struct walk_reply){ 0 };
	walk_settle(x, s);
	if (s->op == WALK_RECLAIM)
		x->sh->reply.ret = walk_reclaim(x, s);
	else if (s->op == WALK_AGE)
		x->sh->reply.ret = walk_age(x, s);
	else
		return walk_tell(x, s);
	return 0;
}

/*
 * Files in @dir, the first walker in @cgroup.  The arena begins in the middle of
 * what a page table maps, so that there are ends of page tables within.
 */
static int walk_begin(struct walk_exec *x, const char *dir, const char *cgroup)
{
	struct sched_param first = { .sched_priority = 1 };
	size_t bytes;
	char path[300];

	sched_setscheduler(0, SCHED_FIFO, &first);
	x->page = (size_t)sysconf(_SC_PAGESIZE);
	x->arena = (unsigned char *)((UINT64_C(1) << 45) +
				     x->page / 16 * x->page);
	bytes = sizeof(*x->sh) + WALK_BUF_PAGES * x->page;
	x->sh = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (x->sh == MAP_FAILED)
		return -errno;
	memset(x->sh, 0, bytes);
	snprintf(x->cgroup, sizeof(x->cgroup), "%s", cgroup);
	for (int i = 0; i < WALK_FILES; i++) {
		snprintf(path, sizeof(path), "%s/walk%d", dir, i);
		x->files[i] = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
		if (x->files[i] < 0)
			return -errno;
	}
	snprintf(path, sizeof(path), "%s/cpu.stat", cgroup);
	x->counts = open(path, O_RDONLY | O_CLOEXEC);
	x->sh->turn[0] = 1;
	x->pid[0] = fork();
	if (x->pid[0] < 0)
		return -errno;
	if (x->pid[0] > 0)
		return walk_wait(x, 0) ? -ECHILD : 0;
	if (walk_put(x, "cgroup.procs", "0"))
		fprintf(stderr, "# no memory cgroup %s\n", cgroup);
	walk_walker(x);
	return 0;
}

static void walk_end(struct walk_exec *x)
{
	if (x->counts >= 0)
		close(x->counts);
	for (int i = 0; i < WALK_PROCS; i++) {
		if (x->pid[i] <= 0)
			continue;
		kill(x->pid[i], SIGKILL);
		waitpid(x->pid[i], NULL, 0);
	}
}
