/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Settings of the kernel that a case changes.  What stood there is written to a
 * file first, so that it is put back by whoever comes next if the case dies.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "lib.h"

#define RECORD		"/run/folab-knobs"	/* "PATH VALUE" a line */
#define LRU_GEN		"/sys/kernel/mm/lru_gen/enabled"
#define THP		"/sys/kernel/mm/transparent_hugepage"
#define ZRAM		"zram0"
#define MAX_ORDER	20

/* Its value as one would write it: of "a [b] c" the b.  0, or errno. */
static int peek(const char *path, char *buf, size_t len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *from, *to;
	ssize_t n;

	if (fd < 0)
		return errno;
	n = read(fd, buf, len - 1);
	close(fd);
	if (n < 0)
		return EIO;
	buf[n] = '\0';
	buf[strcspn(buf, "\n")] = '\0';
	from = strchr(buf, '[');
	to = from ? strchr(from, ']') : NULL;
	if (to) {
		*to = '\0';
		memmove(buf, from + 1, strlen(from + 1) + 1);
	}
	return 0;
}

static bool recorded(const char *path)
{
	char *text = NULL, *key = xasprintf("%s ", path);
	struct err err = { 0 };
	bool found = false;

	if (!file_read(RECORD, 65536, &text, NULL, &err))
		for (char *at = text; at && !found; at = strchr(at, '\n')) {
			at += *at == '\n';
			found = str_starts(at, key);
		}
	free(text);
	free(key);
	return found;
}

static int record(const char *path, const char *value)
{
	int fd = open(RECORD, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	if (fd < 0)
		return -1;
	if (dprintf(fd, "%s %s\n", path, value) < 0) {
		close(fd);
		return -1;
	}
	return close(fd);
}

int case_knob(struct case_ctx *c, const char *path, const char *value)
{
	char before[256];
	int ret = peek(path, before, sizeof(before));

	if (ret == ENOENT || ret == ENOTDIR)
		return case_lacks("this kernel has no %s", path);
	if (ret)
		return case_fail("can't read %s: %s", path, strerror(ret));
	if (!strcmp(before, value))
		return 0;
	if (!recorded(path) && record(path, before))
		return case_fail("can't write %s: %s", RECORD, strerror(errno));
	ret = file_poke(path, 0, value);
	if (ret)
		return case_fail("can't write %s to %s: %s", value, path,
				 strerror(ret));
	return 0;
}

static void put_back_one(char *line)
{
	char *value = strchr(line, ' ');

	if (!value)
		return;
	*value++ = '\0';
	if (!strcmp(line, "swap")) {
		if (!swapoff(value))
			file_poke("/sys/block/" ZRAM "/reset", 0, "1");
		return;
	}
	file_poke(line, 0, value);
}

void knobs_put_back(void)
{
	struct err err = { 0 };
	char *text, *at;

	if (!file_exists(RECORD) || file_read(RECORD, 65536, &text, NULL, &err))
		return;
	/* The last one first. */
	while (*text) {
		size_t len = strlen(text);

		if (text[len - 1] == '\n')
			text[len - 1] = '\0';
		at = strrchr(text, '\n');
		put_back_one(at ? at + 1 : text);
		if (!at)
			break;
		at[1] = '\0';
	}
	free(text);
	unlink(RECORD);
}

int case_mglru(struct case_ctx *c, bool on)
{
	char now[64];
	int ret = peek(LRU_GEN, now, sizeof(now));

	if (ret)
		return on ? case_lacks("this kernel has no MGLRU") : 0;
	if (!on == !strtol(now, NULL, 0))
		return 0;
	return case_knob(c, LRU_GEN, on ? "7" : "0");
}

/* ---- swap ------------------------------------------------------------------ */

/* What mkswap(8) writes, version 1 (include/linux/swap.h). */
static int write_header(int fd, size_t pages)
{
	size_t page = page_bytes();
	unsigned char *head = xcalloc(1, page);
	uint32_t info[3] = { 1, (uint32_t)(pages - 1), 0 };
	ssize_t n;

	memcpy(head + 1024, info, sizeof(info));
	memcpy(head + page - 10, "SWAPSPACE2", 10);
	n = pwrite(fd, head, page, 0);
	if (n == (ssize_t)page && fsync(fd))
		n = -1;
	free(head);
	return n == (ssize_t)page ? 0 : -1;
}

int case_swap(struct case_ctx *c, size_t bytes)
{
	char size[32];
	int fd, ret;

	if (!file_exists("/sys/block/" ZRAM))
		return case_lacks("this kernel has no zram");
	snprintf(size, sizeof(size), "%zu", bytes);
	ret = file_poke("/sys/block/" ZRAM "/disksize", 0, size);
	if (ret)
		return case_fail("can't size " ZRAM ": %s", strerror(ret));
	fd = open("/dev/" ZRAM, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return case_fail("can't open /dev/" ZRAM ": %s",
				 strerror(errno));
	ret = write_header(fd, bytes / page_bytes());
	close(fd);
	if (ret || record("swap", "/dev/" ZRAM))
		return case_fail("can't make swap space: %s", strerror(errno));
	if (swapon("/dev/" ZRAM, 0))
		return case_fail("swapon: %s", strerror(errno));
	return 0;
}

/* ---- folio sizes ------------------------------------------------------------- */

/*
 * A write to scan_sleep_millisecs wakes it for one more scan; so that one is
 * made small first.  By default it would come every 10 s, which a slow kernel
 * may need to look at an area's pages one by one.
 */
int case_khugepaged(struct case_ctx *c, bool on)
{
	int rc = case_knob(c, THP "/khugepaged/pages_to_scan",
			   on ? "4096" : "1");

	return rc ? rc : case_knob(c, THP "/khugepaged/scan_sleep_millisecs",
				   on ? "10" : "4294967295");
}

/*
 * khugepaged of 6.12 makes PMD-sized folios of shmem that is allowed any other
 * size.  Its last scan is left out while no kind of memory may have them.
 */
static int no_pmd_folios(struct case_ctx *c)
{
	static const char *const files[] = { "enabled", "shmem_enabled" };
	int rc = 0;

	for (size_t i = 0; i < ARRAY_SIZE(files) && rc >= 0; i++) {
		char *path = xasprintf(THP "/hugepages-%zukB/%s",
				       pmd_bytes() >> 10, files[i]);

		rc = case_knob(c, path, "never");
		free(path);
	}
	return rc < 0 ? rc : 0;
}

int thp_allow(struct case_ctx *c, enum area_kind kind, int order)
{
	const char *file = kind == AREA_ANON ? "enabled" : "shmem_enabled";
	bool found = order == 0;
	int rc;

	if (!file_exists(THP))
		return order ? case_lacks("no transparent huge pages") : 0;
	if (kind == AREA_MEMFD)
		return case_knob(c, THP "/shmem_enabled",
				 order ? "always" : "never");
	for (int o = 1; o < MAX_ORDER; o++) {
		char *path = xasprintf(THP "/hugepages-%zukB/%s",
				       (page_bytes() << o) >> 10, file);

		rc = file_exists(path) ?
			case_knob(c, path, o == order ? "always" : "never") : 1;
		free(path);
		if (rc < 0)
			return rc;
		if (!rc && o == order)
			found = true;
	}
	if (!found)
		return case_lacks("no %s folios of order %d in this kernel",
				  kind == AREA_ANON ? "anonymous" : "shmem",
				  order);
	return order == pmd_order() ? 0 : no_pmd_folios(c);
}

/* ---- the boot ------------------------------------------------------------------ */

bool boot_param_text(const char *name, char *buf, size_t len)
{
	char *text, *word, *save, *key = xasprintf("%s=", name);
	struct err err = { 0 };
	bool found = false;

	if (!file_read("/proc/cmdline", 65536, &text, NULL, &err)) {
		for (word = strtok_r(text, " \n", &save); word;
		     word = strtok_r(NULL, " \n", &save)) {
			if (str_starts(word, "folab."))
				word += 6;
			if (!str_starts(word, key))
				continue;
			snprintf(buf, len, "%s", word + strlen(key));
			found = true;
		}
		free(text);
	}
	free(key);
	return found;
}

int64_t boot_param(const char *name, int64_t missing)
{
	int64_t value;
	char text[64];

	if (boot_param_text(name, text, sizeof(text)) &&
	    !parse_int(text, INT64_MIN, INT64_MAX, &value))
		return value;
	return missing;
}

size_t page_bytes(void)
{
	static size_t bytes;

	if (!bytes)
		bytes = (size_t)sysconf(_SC_PAGESIZE);
	return bytes;
}

size_t pmd_bytes(void)
{
	/* A page table of 8-byte entries fills one page. */
	return page_bytes() / 8 * page_bytes();
}

int pmd_order(void)
{
	return __builtin_ctzl(pmd_bytes() / page_bytes());
}

unsigned int cont_pages(void)
{
#ifdef __aarch64__
	return page_bytes() == 4096 ? 16 : page_bytes() == 16384 ? 128 : 32;
#else
	return 0;
#endif
}
