/* SPDX-License-Identifier: GPL-2.0 */
#include <string.h>
#include <sys/utsname.h>

#include "record.h"

static const struct arch archs[] = {
	{
		.name = "arm64",
		.kernel = "arm64",
		.triplet = "aarch64-linux-gnu",
		.debian = "arm64",
		.image = "arch/arm64/boot/Image",
		.target = "Image",
		.qemu = "qemu-system-aarch64",
		.contpte = true,
		.cont_pages = 16,
	},
	{
		.name = "x86_64",
		.kernel = "x86_64",
		.triplet = "x86_64-linux-gnu",
		.debian = "amd64",
		.image = "arch/x86/boot/bzImage",
		.target = "bzImage",
		.qemu = "qemu-system-x86_64",
	},
};

const struct arch *arch_at(size_t i)
{
	return i < ARRAY_SIZE(archs) ? &archs[i] : NULL;
}

const struct arch *arch_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(archs); i++)
		if (!strcmp(archs[i].name, name))
			return &archs[i];
	return NULL;
}

const struct arch *arch_host(void)
{
	struct utsname u;

	if (uname(&u))
		return NULL;
	return arch_find(strcmp(u.machine, "aarch64") ? u.machine : "arm64");
}
