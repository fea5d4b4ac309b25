/* SPDX-License-Identifier: GPL-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "klog.h"

#define RECORD_MAX	8192	/* one read(2) of /dev/kmsg gives one record */

/*
 * The next record's sequence number and text ("6,339,5140900,-;text", then
 * lines of a dictionary).  0: nothing more, -1: some were dropped.
 */
static int next_record(int fd, char *buf, int64_t *seq, char **text)
{
	long long number;
	ssize_t n;
	char *semi;

	do {
		n = read(fd, buf, RECORD_MAX - 1);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EPIPE ? -1 : 0;
	buf[n] = '\0';
	semi = strchr(buf, ';');
	if (!semi || sscanf(buf, "%*u,%lld,", &number) != 1) {
		*seq = -1;
		*text = buf;
		return 1;
	}
	*seq = number;
	*text = semi + 1;
	(*text)[strcspn(*text, "\n")] = '\0';
	return 1;
}

static int open_log(void)
{
	return open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
}

int64_t klog_now(void)
{
	char buf[RECORD_MAX], *text;
	int64_t seq, last = -1;
	int fd = open_log(), ret;

	if (fd < 0)
		return -1;
	while ((ret = next_record(fd, buf, &seq, &text)))
		if (ret > 0 && seq > last)
			last = seq;
	close(fd);
	return last + 1;
}

bool klog_fault(int64_t since, enum klog but, char *line, size_t len)
{
	char buf[RECORD_MAX], *text;
	bool found = false, first = true;
	const char *what;
	int fd = open_log(), ret;
	int64_t seq;

	if (fd < 0)
		return false;
	while (!found && (ret = next_record(fd, buf, &seq, &text))) {
		if (ret < 0 || (first && seq > since)) {
			snprintf(line, len,
				 "the kernel log overflowed, lines are lost");
			found = true;
		} else if (seq >= since && klog_judge(text, &what) > but) {
			snprintf(line, len, "%s", text);
			found = true;
		}
		first = false;
	}
	close(fd);
	return found;
}

bool klog_has(int64_t since, const char *part)
{
	char buf[RECORD_MAX], *text;
	int fd = open_log(), ret;
	bool found = false;
	int64_t seq;

	if (fd < 0)
		return false;
	while (!found && (ret = next_record(fd, buf, &seq, &text)))
		found = ret > 0 && seq >= since && strstr(text, part);
	close(fd);
	return found;
}
