/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The scratch file system of the local machine: XFS on a loop device over a
 * file that has no name, mounted nowhere.
 *
 * fsmount(2) gives a mount that is known by its descriptor alone.  So nobody
 * else sees it, there is no mount point to be chosen, and whatever ends us,
 * kill -9 too, closes the descriptor: the mount goes, with it the loop device
 * (LO_FLAGS_AUTOCLEAR), and with that the blocks of the file.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "internal.h"

#define LOOP_TRIES	16	/* another process may take the free one first */

/* Of the last line that the kernel has to say about @fs; "" if none. */
static void last_word(int fs, char *text, size_t len)
{
	ssize_t n;

	text[0] = '\0';
	while ((n = read(fs, text, len - 1)) > 0)
		text[n] = '\0';
	text[strcspn(text, "\n")] = '\0';
}

int mount_detached(const char *type, const char *source, const char *flag,
		   struct err *err)
{
	char text[256];
	int fs = fsopen(type, FSOPEN_CLOEXEC), fd = -1, saved;

	if (fs < 0)
		return err_sys(err, EXIT_ENVIRONMENT, errno,
			       errno == ENODEV ?
			       "this kernel has no file system %s" :
			       "can't mount %s", type);
	if ((!source ||
	     !fsconfig(fs, FSCONFIG_SET_STRING, "source", source, 0)) &&
	    (!flag || !fsconfig(fs, FSCONFIG_SET_FLAG, flag, NULL, 0)) &&
	    !fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		fd = fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NODEV |
			     MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
	saved = errno;
	if (fd < 0) {
		last_word(fs, text, sizeof(text));
		err_sys(err, EXIT_ENVIRONMENT, saved, "can't mount %s%s%s",
			type, *text ? ", the kernel says: " : "", text);
	}
	close(fs);
	return fd;
}

/* ---- the image and its device ------------------------------------------------ */

static int make_image(const char *dir, uint64_t bytes, struct err *err)
{
	int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd < 0)
		return err_sys(err, EXIT_ENVIRONMENT, errno,
			       "can't make a file without a name in %s (another place: --scratch DIR)",
			       dir);
	if (ftruncate(fd, (off_t)bytes)) {
		err_sys(err, EXIT_ENVIRONMENT, errno,
			"can't size the scratch file in %s", dir);
		close(fd);
		return -1;
	}
	return fd;
}

/*
 * The descriptor of a device, @path, that clears itself when the last one is
 * closed.  Ours is for reading: a kernel may refuse to mount what somebody has
 * open for writing (CONFIG_BLK_DEV_WRITE_MOUNTED).
 */
static int attach(int image, char *path, size_t len, struct err *err)
{
	struct loop_config config = {
		.fd = (uint32_t)image,
		.info.lo_flags = LO_FLAGS_AUTOCLEAR,
	};
	int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
	int fd = -1, reader, failed = errno;

	for (int i = 0; control >= 0 && fd < 0 && i < LOOP_TRIES; i++) {
		int n = ioctl(control, LOOP_CTL_GET_FREE);

		failed = errno;
		if (n < 0)
			break;
		snprintf(path, len, "/dev/loop%d", n);
		fd = open(path, O_RDWR | O_CLOEXEC);
		failed = errno;
		if (fd >= 0 && ioctl(fd, LOOP_CONFIGURE, &config)) {
			failed = errno;
			close(fd);
			fd = -1;
			if (failed != EBUSY)
				break;
		}
	}
	if (control >= 0)
		close(control);
	if (fd < 0)
		return err_sys(err, EXIT_ENVIRONMENT, failed,
			       "can't set up a loop device (CONFIG_BLK_DEV_LOOP; or --dir DIR, on an XFS that is there)");
	reader = open(path, O_RDONLY | O_CLOEXEC);
	failed = errno;
	close(fd);
	if (reader < 0)
		return err_sys(err, EXIT_ENVIRONMENT, failed, "can't open %s",
			       path);
	return reader;
}

static int make_xfs(struct host_scratch *s, const char *dir, uint64_t bytes,
		    struct err *err)
{
	char device[32], *path;
	int image = make_image(dir, bytes, err), loop = -1, rc = -1;

	if (image < 0)
		return -1;
	path = xasprintf("/proc/%d/fd/%d", (int)getpid(), image);
	if (!scratch_mkfs(path, err))
		loop = attach(image, device, sizeof(device), err);
	if (loop >= 0) {
		/* One of the same UUID may be mounted: a guest's, on purpose. */
		s->fd = mount_detached("xfs", device, "nouuid", err);
		rc = s->fd < 0 ? -1 : 0;
		close(loop);
	}
	free(path);
	close(image);
	if (rc)
		return -1;
	s->path = xasprintf("/proc/self/fd/%d", s->fd);
	return 0;
}

/* ---- one that is there --------------------------------------------------------- */

/* What /proc/self/mountinfo calls the file system of the device @dev. */
static char *type_of(dev_t dev)
{
	char *text, *line, *save, *type = NULL;
	struct err ignored = { 0 };

	if (file_read("/proc/self/mountinfo", 1 << 20, &text, NULL, &ignored))
		return xstrdup("file system not known");
	for (line = strtok_r(text, "\n", &save); line && !type;
	     line = strtok_r(NULL, "\n", &save)) {
		char *dash = strstr(line, " - ");
		unsigned int ma, mi;

		if (!dash || sscanf(line, "%*d %*d %u:%u", &ma, &mi) != 2 ||
		    makedev(ma, mi) != dev)
			continue;
		dash += strlen(" - ");
		type = xstrndup(dash, strcspn(dash, " "));
	}
	free(text);
	return type ? type : xstrdup("file system not known");
}

/*
 * One name, so that what a run before us had to leave, killed or without
 * power, goes when the directory is used again; and a record of where it is, so
 * that it also goes when another one is used.  The lock of the host keeps two
 * runs apart.
 */
#define MADE		".folab-scratch"
#define RECORD		"/run/folab-host.scratch"

void host_scratch_sweep(void)
{
	struct err ignored = { 0 };
	char *path;

	if (!file_exists(RECORD) ||
	    file_read(RECORD, 8192, &path, NULL, &ignored))
		return;
	if (str_ends(path, "/" MADE))
		file_remove_tree(path, &ignored);
	free(path);
	unlink(RECORD);
}

static int use_dir(struct host_scratch *s, const char *dir, struct err *err)
{
	char *whole;
	struct stat st;

	if (stat(dir, &st))
		return err_sys(err, EXIT_USAGE, errno, "--dir %s", dir);
	if (!S_ISDIR(st.st_mode))
		return err_set(err, EXIT_USAGE, "--dir %s: not a directory",
			       dir);
	whole = realpath(dir, NULL);
	if (!whole)
		return err_sys(err, EXIT_USAGE, errno, "--dir %s", dir);
	s->made = xasprintf("%s/" MADE, whole);
	free(whole);
	if (file_remove_tree(s->made, err) ||
	    file_write(RECORD, s->made, strlen(s->made), err))
		return -1;
	if (mkdir(s->made, 0700))
		return err_sys(err, EXIT_ENVIRONMENT, errno, "can't make %s",
			       s->made);
	s->path = xstrdup(s->made);
	return 0;
}

static const char *image_dir(const struct host_place *place)
{
	return place->scratch ? place->scratch : HOST_SCRATCH_DIR;
}

char *host_scratch_text(const struct workload *w,
			const struct host_place *place)
{
	char *type, *text;
	struct stat st;

	if (!w->fs)
		return xstrdup("none");
	if (!place->dir)
		return xasprintf("XFS on a loop device over a file in %s",
				 image_dir(place));
	if (stat(place->dir, &st))
		return xasprintf("directory %s", place->dir);
	type = type_of(st.st_dev);
	text = xasprintf("%s, directory %s", type, place->dir);
	free(type);
	return text;
}

int host_scratch_make(struct host_scratch *s, const struct host_place *place,
		      uint64_t bytes, struct err *err)
{
	*s = (struct host_scratch){ .fd = -1 };
	if (place->dir)
		return use_dir(s, place->dir, err);
	return make_xfs(s, image_dir(place), bytes, err);
}

void host_scratch_remove(struct host_scratch *s)
{
	struct err ignored = { 0 };

	if (s->made) {
		file_remove_tree(s->made, &ignored);
		unlink(RECORD);
	}
	if (s->fd >= 0)
		close(s->fd);
	free(s->made);
	free(s->path);
	*s = (struct host_scratch){ .fd = -1 };
}
