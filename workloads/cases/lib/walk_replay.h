/* SPDX-License-Identifier: GPL-2.0 */
/*
 * walk_replay - main() of a walk that was printed: does its steps, and looks
 * whether what was wrong is wrong again.  Settings are not put back.
 */
#include "walk_exec.h"

struct walk_setting { const char *path, *value; };

/* What has to be, and was not: of the last step, a byte of memory, or of a file. */
enum walk_fault_kind { WALK_REPLY, WALK_BYTE, WALK_FILE_BYTE };
struct walk_fault {
	int kind, proc, at, object, value, sig;
	unsigned int pos;
	struct walk_reply reply;
};

/* As mkswap(8) does, on zram. */
static void walk_swap(size_t page)
{
	uint32_t info[3] = { 1, (uint32_t)((64 << 20) / page - 1), 0 };
	unsigned char *head = calloc(1, page);
	int fd;

	walk_write("/sys/block/zram0/disksize", "64M");
	fd = open("/dev/zram0", O_RDWR | O_CLOEXEC);
	memcpy(head + 1024, info, sizeof(info));
	memcpy(head + page - 10, "SWAPSPACE2", 10);
	if (fd < 0 || pwrite(fd, head, page, 0) != (ssize_t)page || fsync(fd) ||
	    syscall(SYS_swapon, "/dev/zram0", 0))
		printf("# no swap: %s\n", strerror(errno));
	if (fd >= 0)
		close(fd);
	free(head);
}

/* The byte as @proc reads it, or -1 and the signal. */
static int walk_peek(struct walk_exec *x, int proc, int at, unsigned int pos,
		     int *sig)
{
	struct walk_step s = { .op = WALK_CHECK, .proc = proc, .at = at,
			       .len = 1 };

	x->sh->want[at] = 0;
	*sig = 0;
	if (walk_do(x, &s)) {
		*sig = x->sh->reply.sig;
		return -1;
	}
	if (x->sh->seen[at] > 0) {
		*sig = x->sh->seen[at];
		return -1;
	}
	return x->sh->seen[at] == WALK_WRONG ? x->sh->buf[pos] : 0;
}

static int walk_reply_differs(const struct walk_reply *want,
			      const struct walk_reply *seen)
{
	printf("# the last step: %d, %d pages, signal %d; expected %d, %d pages, signal %d\n",
	       seen->ret, seen->pages, seen->sig, want->ret, want->pages,
	       want->sig);
	return memcmp(want, seen, sizeof(*want));
}

static int walk_is_wrong(struct walk_exec *x, const struct walk_fault *f)
{
	unsigned char byte = 0;
	int seen, sig = 0;

	if (f->kind == WALK_REPLY)
		return walk_reply_differs(&f->reply, &x->sh->reply);
	if (f->kind == WALK_FILE_BYTE) {
		if (pread(x->files[f->object], &byte, 1, f->pos) != 1)
			printf("# can't read file %d\n", f->object);
		seen = byte;
	} else {
		seen = walk_peek(x, f->proc, f->at, f->pos, &sig);
	}
	printf("# byte %u of page %d in process %d: seen %d, signal %d; expected %d, signal %d\n",
	       f->pos, f->at, f->proc, seen, sig, f->value, f->sig);
	return seen != f->value || sig != f->sig;
}

static int walk_steps(struct walk_exec *x, const struct walk_step *s, int n,
		      const struct walk_fault *f)
{
	for (int i = 0; i < n; i++) {
		for (int k = 0; k < WALK_ARENA; k++)
			x->sh->want[k] = x->sh->other[k] = WALK_ANY;
		if (walk_do(x, &s[i])) {
			printf("# process %d is gone in step %d\n", s[i].proc, i);
			return 1;
		}
	}
	return walk_is_wrong(x, f);
}

/* argv: directory on XFS, memory cgroup to make. */
static int walk_replay(int argc, char **argv, const struct walk_setting *set,
		       const struct walk_step *s, int n,
		       const struct walk_fault *f, int planted)
{
	const char *dir = argc > 1 ? argv[1] : "/scratch";
	const char *cgroup = argc > 2 ? argv[2] : "/sys/fs/cgroup/walk";
	struct walk_exec x = { .planted = planted };
	int wrong;

	for (; set->path; set++)
		if (walk_write(set->path, set->value))
			printf("# can't set %s\n", set->path);
	x.page = (size_t)sysconf(_SC_PAGESIZE);
	walk_swap(x.page);
	walk_write("/sys/fs/cgroup/cgroup.subtree_control", "+memory");
	syscall(SYS_mkdirat, AT_FDCWD, cgroup, 0755);
	x.pool_bytes = x.page;
	x.pool = mmap(NULL, x.page, PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	printf("TAP version 13\n1..1\n");
	fflush(stdout);
	if (x.pool == MAP_FAILED || walk_begin(&x, dir, cgroup)) {
		printf("not ok 1 walk # can't begin: %s\n", strerror(errno));
		return 2;
	}
	wrong = walk_steps(&x, s, n, f);
	walk_end(&x);
	unlinkat(AT_FDCWD, cgroup, AT_REMOVEDIR);
	printf("%sok 1 walk\n", wrong ? "not " : "");
	return wrong != 0;
}
