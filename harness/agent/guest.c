/* SPDX-License-Identifier: GPL-2.0 */
#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agent.h"

#define RAM_DISK	"/dev/ram0"
#define RUNS		"/fs.img.runs"
#define RUN_MAX		(64u << 20)	/* longer: the archive is broken */
#define PORTS		"/sys/class/virtio-ports"
#define PORT_NAME	"folab"
#define PORT_WAIT_MS	10000
#define SECOND_NODE	"/sys/devices/system/node/node1"

static int mount_at(const char *what, const char *type, const char *where,
		    struct err *err)
{
	if (mkdir(where, 0755) && errno != EEXIST)
		return err_sys(err, EXIT_RUN, errno, "can't make %s", where);
	/* The kernel may have mounted devtmpfs itself. */
	if (mount(what, where, type, 0, NULL) && errno != EBUSY)
		return err_sys(err, EXIT_RUN, errno, "can't mount %s on %s",
			       type, where);
	return 0;
}

int guest_init(struct err *err)
{
	static const struct {
		const char *type, *where;
	} mounts[] = {
		{ "devtmpfs", "/dev" },
		{ "proc", "/proc" },
		{ "sysfs", "/sys" },
		{ "cgroup2", "/sys/fs/cgroup" },
	};
	int fd;

	for (size_t i = 0; i < ARRAY_SIZE(mounts); i++)
		if (mount_at(mounts[i].type, mounts[i].type, mounts[i].where,
			     err))
			return -1;
	/* Not every kernel under test has it, and no workload lives by it. */
	mount("debugfs", "/sys/kernel/debug", "debugfs", 0, NULL);

	/* Ten lines in five seconds is what the kernel log grants otherwise. */
	fd = open("/proc/sys/kernel/printk_devkmsg", O_WRONLY | O_CLOEXEC);
	if (fd >= 0) {
		if (write(fd, "on\n", 3) < 0)
			guest_say("can't lift the limit of /dev/kmsg");
		close(fd);
	}
	return 0;
}

/*
 * With an argument, which says that it has been done.  One node is what libnuma
 * takes for granted where it can't look.
 */
void guest_start_again(char **argv)
{
	char *again[] = { argv[0], (char *)"again", NULL };

	if (!argv[0] || (argv[1] && !strcmp(argv[1], again[1])) ||
	    !file_exists(SECOND_NODE))
		return;
	execv("/proc/self/exe", again);
	guest_say("can't start again: %s", strerror(errno));
}

/* Level 2 is above what "quiet" or a low loglevel= hides. */
void guest_say(const char *fmt, ...)
{
	char text[400] = "<2>folab: ";
	size_t head = strlen(text);
	va_list ap;
	int fd, n;

	va_start(ap, fmt);
	n = vsnprintf(text + head, sizeof(text) - head, fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	fd = open("/dev/kmsg", O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	/* Not dprintf(3): it wants to know its place in the file, and fails. */
	if (write(fd, text, strlen(text)) < 0) {
		/* There is no other place to say so. */
	}
	close(fd);
}

/* ---- scratch file system --------------------------------------------------- */

static int read_all(int fd, void *buf, size_t len, struct err *err)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = read(fd, (char *)buf + done, len - done);

		if (n < 0)
			return err_sys(err, EXIT_RUN, errno, "can't read " RUNS);
		if (n == 0)
			return err_set(err, EXIT_RUN, RUNS " ends early");
		done += (size_t)n;
	}
	return 0;
}

static int copy_run(int from, int to, uint64_t offset, uint64_t len,
		    struct err *err)
{
	char *data;
	ssize_t n;
	int ret;

	if (len > RUN_MAX)
		return err_set(err, EXIT_RUN, RUNS ": a run of %" PRIu64
			       " bytes", len);
	data = xmalloc(len);
	ret = read_all(from, data, len, err);
	if (!ret) {
		n = pwrite(to, data, len, (off_t)offset);
		if (n < 0 && errno != ENOSPC)
			ret = err_sys(err, EXIT_RUN, errno,
				      "can't write to " RAM_DISK);
		else if (n < 0 || (uint64_t)n != len)
			ret = err_set(err, EXIT_RUN, RAM_DISK
				      " is too small for the file system: brd.rd_size on the command line");
	}
	free(data);
	return ret;
}

static int copy_runs(int from, int to, uint64_t device, struct err *err)
{
	uint64_t head[2];

	for (;;) {
		if (read_all(from, head, sizeof(head), err))
			return -1;
		head[0] = le64toh(head[0]);
		head[1] = le64toh(head[1]);
		if (!head[1])
			break;
		if (copy_run(from, to, head[0], head[1], err))
			return -1;
	}
	if (head[0] > device)
		return err_set(err, EXIT_RUN, RAM_DISK " has %" PRIu64
			       " bytes, the file system %" PRIu64
			       ": brd.rd_size on the command line is too small",
			       device, head[0]);
	return 0;
}

static int fill_ram_disk(struct err *err)
{
	int from, to, ret = -1;
	uint64_t device;

	from = open(RUNS, O_RDONLY | O_CLOEXEC);
	if (from < 0)
		return err_sys(err, EXIT_RUN, errno, "can't open " RUNS);
	to = open(RAM_DISK, O_RDWR | O_CLOEXEC);
	if (to < 0) {
		err_sys(err, EXIT_RUN, errno, "can't open " RAM_DISK
			" (CONFIG_BLK_DEV_RAM)");
		goto out_from;
	}
	if (ioctl(to, BLKGETSIZE64, &device)) {
		err_sys(err, EXIT_RUN, errno, "can't tell the size of " RAM_DISK);
		goto out;
	}
	if (copy_runs(from, to, device, err))
		goto out;
	if (fsync(to)) {
		err_sys(err, EXIT_RUN, errno, "can't sync " RAM_DISK);
		goto out;
	}
	/* A second copy in the device's own page cache is of no use. */
	posix_fadvise(to, 0, 0, POSIX_FADV_DONTNEED);
	unlink(RUNS);
	ret = 0;
out:
	close(to);
out_from:
	close(from);
	return ret;
}

int guest_scratch(const struct job *job, struct err *err)
{
	if (!job->fs || !job->fs_bytes)
		return 0;
	if (fill_ram_disk(err))
		return -1;
	return mount_at(RAM_DISK, job->fs, GUEST_SCRATCH, err);
}

/* ---- result channel, the end ------------------------------------------------ */

/* Open the port whose name file says PORT_NAME; -1: not there (yet). */
static int find_port(void)
{
	struct err ignored = { 0 };
	struct dirent *d;
	DIR *dir = opendir(PORTS);
	int fd = -1;

	if (!dir)
		return -1;
	while (fd < 0 && (d = readdir(dir))) {
		char *path = xasprintf(PORTS "/%s/name", d->d_name);
		char *name = NULL;
		size_t len;

		if (d->d_name[0] != '.' &&
		    !file_read(path, 256, &name, &len, &ignored) &&
		    !strcmp(name, PORT_NAME "\n")) {
			free(path);
			path = xasprintf("/dev/%s", d->d_name);
			fd = open(path, O_WRONLY | O_CLOEXEC);
		}
		err_clear(&ignored);
		free(name);
		free(path);
	}
	closedir(dir);
	return fd;
}

int guest_channel(struct err *err)
{
	const struct timespec pause = { .tv_nsec = 1000000 };

	/* No event that a kernel without a network could wait for. */
	for (int ms = 0; ms < PORT_WAIT_MS; ms++) {
		int fd = find_port();

		if (fd >= 0)
			return fd;
		nanosleep(&pause, NULL);
	}
	return err_set(err, EXIT_RUN,
		       "no virtio-serial port \"" PORT_NAME "\" in this machine");
}

void guest_power_off(void)
{
	sync();
	reboot(RB_POWER_OFF);
	/* A machine that can't: with -no-reboot the emulator ends as well. */
	reboot(RB_AUTOBOOT);
	for (;;)
		pause();
}

int64_t guest_seed(void)
{
	struct err ignored = { 0 };
	char *text, *word, *save;
	int64_t seed = 0;

	if (file_read("/proc/cmdline", 65536, &text, NULL, &ignored))
		return 0;
	for (word = strtok_r(text, " \n", &save); word;
	     word = strtok_r(NULL, " \n", &save))
		if (str_starts(word, "folab.seed="))
			parse_int(strchr(word, '=') + 1, 0, INT64_MAX, &seed);
	free(text);
	return seed;
}
