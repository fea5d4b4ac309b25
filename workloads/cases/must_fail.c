/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the machinery has to find: each of these does something wrong, and has
 * to be reported as failed.  Run by harness/tests/guest_check.sh, and only when
 * it is named.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/cases.h"

CASE_PROGRAM("wrong on purpose, to see that it is found", 20, "hidden");
CASES(must_fail);

#define BYTES	(256 << 10)

/* A failed assertion ends the case; what follows is swept up all the same. */
CASE(must_fail, assertion, 10)
{
	struct area a;

	AREA(c, &a, AREA_ANON, BYTES, 0);
	ASSERT_EQ(1, a.order);
}

/* A byte of memory changes behind the case's back. */
CASE(must_fail, memory_content, 10)
{
	struct area a;

	AREA(c, &a, AREA_ANON, BYTES, 0);
	a.at[BYTES / 2] ^= 1;
}

/* A byte of a file does, which no process maps any more. */
CASE(must_fail, file_content, 10)
{
	struct area a;

	AREA(c, &a, AREA_XFS, BYTES, 0);
	a.at[BYTES - 1] ^= 1;
	area_unmap(c, &a);
}

/* Memory stays charged although nobody is left who could have it. */
CASE(must_fail, memory_left, 10)
{
	char buf[4096] = { 1 };
	int fd = open("/dev/folab-left", O_RDWR | O_CREAT | O_TRUNC, 0600);

	ASSERT_LE(0, fd);
	for (int i = 0; i < 64; i++)
		ASSERT_EQ(sizeof(buf), write(fd, buf, sizeof(buf)));
	close(fd);
}

/* The kernel complains, and the case itself does not notice. */
CASE(must_fail, kernel_log, 10)
{
	ASSERT_EQ(0, log_say(4, "BUG: Bad page state in a test of folab"));
}

/* A case takes longer than it may. */
CASE(must_fail, slow, 2)
{
	guest_sleep(100);
}

/* A case is killed. */
CASE(must_fail, killed, 10)
{
	raise(SIGSEGV);
}

/* A program takes longer than it may. */
CASE(must_fail, stuck, 100)
{
	guest_sleep(90);
}

/* The one that has not failed, but not run either. */
CASE(must_fail, lacks, 10)
{
	CASE_NEEDS(case_knob(c, "/sys/kernel/folab-knows-no-such-file", "1"));
}

/* The kernel dies under it. */
CASE(must_fail, panic, 10)
{
	unsigned char *p;

	CASE_NEEDS(case_knob(c, "/proc/sys/vm/panic_on_oom", "2"));
	ASSERT_EQ(0, cg_write(c->cgroup, "memory.max", "8M"));
	p = reserve(64 << 20, 0);
	ASSERT_NE(NULL, p);
	ASSERT_EQ(0, mprotect(p, 64 << 20, PROT_READ | PROT_WRITE));
	memset(p, 1, 64 << 20);
}

/* Where functions lie in it: no two kernels have that in common. */
CASE(must_fail, differs, 10)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	uint64_t hash = 0;
	size_t n = 0;
	int ch;

	ASSERT_NE(NULL, f);
	for (; (ch = getc(f)) != EOF; n++)
		hash = mix64(hash ^ ch);
	fclose(f);
	ASSERT_LT(10000, n);
	case_same("differs", "%016" PRIx64, hash);
}

TEST_HARNESS_MAIN
