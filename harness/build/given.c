/* SPDX-License-Identifier: GPL-2.0 */
/*
 * image:PATH - an image that is already built.  What belongs to it (vmlinux,
 * System.map, .config) is looked for beside it and at the top of the build
 * tree that it lies in.  All of it is copied into the cache, so that a build
 * that goes on in that tree can't change a kernel under a running comparison.
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "private.h"

#define IMAGE_MAX	(1u << 30)

/* Paths of what was found, NULL: nothing. */
struct beside {
	char *vmlinux, *map, *config;
};

static void beside_free(struct beside *b)
{
	free(b->vmlinux);
	free(b->map);
	free(b->config);
}

static void try_one(char **path, const char *dir, const char *name)
{
	struct stat st;
	char *file;

	if (*path)
		return;
	file = xasprintf("%s/%s", dir, name);
	if (!stat(file, &st) && S_ISREG(st.st_mode) && st.st_size)
		*path = file;
	else
		free(file);
}

/* In the image's folder, then three up: TOP/arch/arm64/boot/Image. */
static void look_beside(const char *image, struct beside *b)
{
	char *dir = xstrdup(image), *slash;

	memset(b, 0, sizeof(*b));
	for (int up = 0; up < 4; up++) {
		slash = strrchr(dir, '/');
		if (!slash)
			break;
		*slash = '\0';
		if (up != 0 && up != 3)
			continue;
		try_one(&b->vmlinux, dir, "vmlinux");
		try_one(&b->map, dir, "System.map");
		try_one(&b->config, dir, ".config");
		try_one(&b->config, dir, "config");
	}
	free(dir);
}

static uint64_t le(const char *data, size_t at, size_t bytes)
{
	uint64_t v = 0;

	memcpy(&v, data + at, bytes);
	return le64toh(v);
}

/* Addresses of _text and _edata in a System.map: what an Image is made of. */
static uint64_t extent_of_map(const char *map)
{
	uint64_t text = 0, edata = 0;
	struct err ignored = { 0 };
	char *all, *at;

	if (!map || file_read(map, 64u << 20, &all, NULL, &ignored))
		return 0;
	at = strstr(all, " _text\n");
	if (at && at - all >= 18)
		text = strtoull(at - 18, NULL, 16);
	at = strstr(all, " _edata\n");
	if (at && at - all >= 18)
		edata = strtoull(at - 18, NULL, 16);
	free(all);
	return text && edata > text ? edata - text : 0;
}

/* The same from the program headers of a vmlinux. */
static uint64_t extent_of_vmlinux(const char *vmlinux)
{
	uint64_t low = UINT64_MAX, high = 0;
	size_t n = 0;
	Elf *elf;
	int fd;

	fd = vmlinux ? open(vmlinux, O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0)
		return 0;
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (!elf || elf_getphdrnum(elf, &n))
		n = 0;
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr ph;

		if (!gelf_getphdr(elf, i, &ph) || ph.p_type != PT_LOAD ||
		    !ph.p_filesz)
			continue;
		if (ph.p_vaddr < low)
			low = ph.p_vaddr;
		if (ph.p_vaddr + ph.p_filesz > high)
			high = ph.p_vaddr + ph.p_filesz;
	}
	elf_end(elf);
	close(fd);
	return high > low ? high - low : 0;
}

/* End of the last section in the file, by the header that EFI wants. */
static uint64_t extent_of_pe(const char *data, size_t len)
{
	uint64_t pe = le(data, 0x3c, 4), table, end = 0;
	uint64_t n;

	if (pe + 24 > len || memcmp(data + pe, "PE\0\0", 4))
		return 0;
	n = le(data, pe + 6, 2);
	table = pe + 24 + le(data, pe + 20, 2);
	for (uint64_t at = table; n-- && at + 40 <= len; at += 40) {
		uint64_t its = le(data, at + 16, 4) + le(data, at + 20, 4);

		if (its > end)
			end = its;
	}
	return end;
}

/*
 * Documentation/arch/arm64/booting.rst: "ARM\x64" at 0x38, image_size at 0x10.
 */
static bool is_arm64(const char *data, size_t len)
{
	return len >= 64 && !memcmp(data + 0x38, "ARM\x64", 4);
}

/*
 * image_size counts the BSS, which the file does not hold.  What it does hold
 * is known from the EFI header, vmlinux or System.map.  Without any of these a
 * file of less than half is taken to be cut short: lockdep's BSS is large.
 */
static uint64_t arm64_needs(const char *data, size_t len,
			    const struct beside *b)
{
	uint64_t size = le(data, 0x10, 8), held = extent_of_pe(data, len);

	if (!held)
		held = extent_of_vmlinux(b->vmlinux);
	if (!held)
		held = extent_of_map(b->map);
	return held && held <= size ? held : size / 2;
}

/*
 * Documentation/arch/x86/boot.rst: "HdrS" at 0x202, setup_sects at 0x1f1,
 * syssize at 0x1f4 in paragraphs of 16 bytes.
 */
static bool is_x86(const char *data, size_t len)
{
	return len >= 0x260 && !memcmp(data + 0x202, "HdrS", 4);
}

static uint64_t x86_needs(const char *data)
{
	uint64_t sects = le(data, 0x1f1, 1);

	return ((sects ? sects : 4) + 1) * 512 + le(data, 0x1f4, 4) * 16;
}

/* One line for what is not an image but looks like something known. */
static const char *looks_like(const char *data, size_t len)
{
	if (len >= 4 && !memcmp(data, "\x7f""ELF", 4))
		return "an ELF file (take arch/arm64/boot/Image or arch/x86/boot/bzImage)";
	if (len >= 2 && !memcmp(data, "\x1f\x8b", 2))
		return "compressed (unpack it with gunzip)";
	if (len >= 8 && !memcmp(data + 4, "zimg", 4))
		return "an EFI zboot image (take arch/arm64/boot/Image)";
	return "no kernel image";
}

static int check_data(const struct spec *spec, const struct arch *arch,
		      const char *data, size_t len, const struct beside *b,
		      struct err *err)
{
	bool arm64 = is_arm64(data, len), x86 = is_x86(data, len);
	uint64_t needs;

	if (!arm64 && !x86)
		return err_set(err, EXIT_USAGE, "kernel \"%s\": the file is %s",
			       spec->text, len ? looks_like(data, len) : "empty");
	if (arm64 != !strcmp(arch->name, "arm64"))
		return err_set(err, EXIT_USAGE,
			       "kernel \"%s\" is an image for %s, not for %s",
			       spec->text, arm64 ? "arm64" : "x86_64",
			       arch->name);
	needs = arm64 ? arm64_needs(data, len, b) : x86_needs(data);
	if (len < needs)
		return err_set(err, EXIT_USAGE,
			       "kernel \"%s\" is truncated: the file has %zu bytes, its header tells of %s%" PRIu64,
			       spec->text, len, arm64 ? "at least " : "", needs);
	return 0;
}

static int read_image(const struct spec *spec, char **data, size_t *len,
		      struct err *err)
{
	struct stat st;

	if (stat(spec->path, &st) || !S_ISREG(st.st_mode))
		return err_set(err, EXIT_USAGE, "kernel \"%s\" is no file",
			       spec->text);
	if (file_read(spec->path, IMAGE_MAX, data, len, err)) {
		err->code = EXIT_USAGE;
		return err_prefix(err, "kernel \"%s\"", spec->text);
	}
	return 0;
}

int given_check(const struct spec *spec, const struct arch *arch,
		struct err *err)
{
	struct beside b;
	char *data;
	size_t len;
	int rc;

	if (read_image(spec, &data, &len, err))
		return -1;
	look_beside(spec->path, &b);
	rc = check_data(spec, arch, data, len, &b, err);
	beside_free(&b);
	free(data);
	return rc;
}

/* ---- what it says of itself ------------------------------------------------------ */

/* The word behind "Linux version ", NULL: not found. */
static char *release_of(const char *data, size_t len)
{
	static const char mark[] = "Linux version ";
	const char *at = data, *end = data + len;

	if (is_x86(data, len)) {
		/* kernel_version: an offset to text, less 0x200 */
		size_t off = le(data, 0x20e, 2) + 0x200;
		size_t n = off < len ? strnlen(data + off, len - off) : 0;

		if (!n || off + n >= len)
			return NULL;
		return xstrndup(data + off, strcspn(data + off, " "));
	}
	/* The first is a format string in some versions. */
	while ((at = memmem(at, end - at, mark, sizeof(mark) - 1))) {
		size_t n = 0;

		at += sizeof(mark) - 1;
		while (at + n < end && n < 128 && at[n] > ' ' && at[n] < 0x7f)
			n++;
		if (n && at[0] >= '0' && at[0] <= '9')
			return xstrndup(at, n);
	}
	return NULL;
}

/* Does the note section @scn hold a build id that the image lacks? */
static bool other_id(Elf_Scn *scn, const char *data, size_t len)
{
	Elf_Data *note = elf_getdata(scn, NULL);
	size_t name, desc, at = 0;
	GElf_Nhdr nh;

	while (note && (at = gelf_getnote(note, at, &nh, &name, &desc)))
		if (nh.n_type == NT_GNU_BUILD_ID && nh.n_namesz == 4 &&
		    !memcmp((char *)note->d_buf + name, "GNU", 4) &&
		    !memmem(data, len, (char *)note->d_buf + desc,
			    nh.n_descsz))
			return true;
	return false;
}

/*
 * Does the vmlinux belong to the image?  A tree that was half rebuilt must not
 * make the profile name wrong functions.  An Image holds vmlinux's build id; a
 * bzImage is compressed, but its header repeats "#3 SMP ... date".
 */
static bool same_build(const char *vmlinux, const char *data, size_t len)
{
	int fd = open(vmlinux, O_RDONLY | O_CLOEXEC);
	Elf_Scn *scn = NULL;
	bool same = true;
	GElf_Shdr sh;
	Elf *elf;

	if (fd < 0)
		return false;
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (!elf || elf_kind(elf) != ELF_K_ELF)
		same = false;
	if (same && is_x86(data, len)) {
		size_t off = le(data, 0x20e, 2) + 0x200, size;
		const char *raw = elf_rawfile(elf, &size);
		const char *count = off < len ?
				    memchr(data + off, '#', len - off) : NULL;

		if (raw && count)
			same = memmem(raw, size, count,
				      strnlen(count, data + len - count));
	} else {
		while (same && (scn = elf_nextscn(elf, scn)))
			if (gelf_getshdr(scn, &sh) && sh.sh_type == SHT_NOTE)
				same = !other_id(scn, data, len);
	}
	elf_end(elf);
	close(fd);
	return same;
}

/* "path size time": what a file is, without reading it. */
static void add_stat(struct hash *h, const char *path)
{
	struct stat st;
	char text[100] = "";

	if (path && !stat(path, &st))
		snprintf(text, sizeof(text), "%" PRIu64 " %" PRIu64 ".%09ld",
			 (uint64_t)st.st_size, (uint64_t)st.st_mtim.tv_sec,
			 st.st_mtim.tv_nsec);
	hash_add_str(h, path ? path : "");
	hash_add_str(h, text);
}

static int make_symbols(struct beside *b, const struct arch *arch,
			const char *tmp, const char *data, size_t len,
			struct err *err)
{
	char *path = xasprintf("%s/symbols", tmp);
	int rc = 0;

	if (b->vmlinux && !same_build(b->vmlinux, data, len)) {
		progress_note("%s is not of the same build as the image: not used",
			      b->vmlinux);
	} else if (b->vmlinux) {
		rc = symbols_from_vmlinux(b->vmlinux, arch, path, err);
	} else if (b->map) {
		rc = symbols_from_map(b->map, arch, path, err);
	}
	free(path);
	return rc;
}

static int make_entry(const struct spec *spec, const struct arch *arch,
		      const char *tmp, struct beside *b, const char *data,
		      size_t len, struct image *im, struct err *err)
{
	char *rel = xstrdup(arch->image);
	char *kernel = xasprintf("%s/%s", tmp, basename(rel));
	char *config = xasprintf("%s/config", tmp);
	int rc;

	im->arch = arch;
	im->spec = xstrdup(spec->text);
	im->release = release_of(data, len);
	im->base = xasprintf("image %s", im->release ? im->release :
			     "of unknown release");
	rc = file_write(kernel, data, len, err);
	if (!rc)
		rc = make_symbols(b, arch, tmp, data, len, err);
	if (!rc && b->config)
		rc = file_copy(b->config, config, err);
	if (!rc) {
		im->image_hash = hash_of_file(kernel, err);
		rc = im->image_hash ? 0 : -1;
	}
	if (!rc && b->config) {
		im->config_hash = hash_of_file(config, err);
		rc = im->config_hash ? 0 : -1;
	}
	free(config);
	free(kernel);
	free(rel);
	return rc;
}

static void make_key(const struct arch *arch, const struct beside *b,
		     const char *data, size_t len, char key[HASH_HEX])
{
	struct hash *h = hash_new();

	hash_add_str(h, "image " RECIPE);
	hash_add_str(h, arch->name);
	hash_add(h, data, len);
	add_stat(h, b->vmlinux);
	add_stat(h, b->map);
	add_stat(h, b->config);
	hash_end(h, key);
}

static int make_given(const struct spec *spec, const struct arch *arch,
		      const char *cache, struct beside *b, const char *key,
		      const char *data, size_t len, struct err *err)
{
	struct image im = { 0 };
	char *who = xasprintf("%.16s", key), *tmp, *path;
	struct lock lock;
	int rc = -1;

	path = xasprintf("%s/locks/images", cache);
	if (lock_wait(&lock, path, NULL, NULL, err)) {
		free(path);
		free(who);
		return -1;
	}
	tmp = cache_begin(cache, who, err);
	if (tmp)
		rc = make_entry(spec, arch, tmp, b, data, len, &im, err);
	if (!rc)
		rc = cache_commit(cache, tmp, key, &im, err);
	if (rc && tmp)
		file_remove_tree(tmp, &(struct err){ 0 });
	lock_release(&lock);
	image_free(&im);
	free(tmp);
	free(path);
	free(who);
	return rc;
}

int given_image(const struct spec *spec, const struct arch *arch,
		const char *cache, struct image *im, struct err *err)
{
	char key[HASH_HEX], *data;
	struct beside b;
	size_t len;
	int rc;

	if (read_image(spec, &data, &len, err))
		return -1;
	look_beside(spec->path, &b);
	rc = check_data(spec, arch, data, len, &b, err);
	if (!rc) {
		make_key(arch, &b, data, len, key);
		rc = cache_find(cache, key, im, err);
	}
	if (rc > 0) {
		rc = make_given(spec, arch, cache, &b, key, data, len, err);
		if (!rc)
			rc = cache_find(cache, key, im, err);
	}
	if (!rc) {
		free(im->spec);
		im->spec = xstrdup(spec->text);
	}
	beside_free(&b);
	free(data);
	return rc ? -1 : 0;
}
