/* SPDX-License-Identifier: GPL-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <nettle/sha2.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base.h"

struct hash {
	struct sha256_ctx ctx;
};

struct hash *hash_new(void)
{
	struct hash *h = xmalloc(sizeof(*h));

	sha256_init(&h->ctx);
	return h;
}

void hash_add(struct hash *h, const void *data, size_t len)
{
	sha256_update(&h->ctx, len, data);
}

void hash_add_str(struct hash *h, const char *s)
{
	char len[32];

	snprintf(len, sizeof(len), "%zu:", strlen(s));
	hash_add(h, len, strlen(len));
	hash_add(h, s, strlen(s));
}

int hash_add_file(struct hash *h, const char *path, struct err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	static char buf[1 << 16];
	ssize_t n;

	if (fd < 0)
		return err_sys(err, EXIT_ENVIRONMENT, errno, "can't open %s",
			       path);
	while ((n = read(fd, buf, sizeof(buf))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			break;
		hash_add(h, buf, n);
	}
	if (n < 0)
		err_sys(err, EXIT_ENVIRONMENT, errno, "can't read %s", path);
	close(fd);
	return n < 0 ? -1 : 0;
}

void hash_end(struct hash *h, char hex[HASH_HEX])
{
	uint8_t digest[SHA256_DIGEST_SIZE];

	sha256_digest(&h->ctx, sizeof(digest), digest);
	for (size_t i = 0; i < sizeof(digest); i++)
		snprintf(hex + 2 * i, 3, "%02x", digest[i]);
	free(h);
}
