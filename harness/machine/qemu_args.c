/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The emulator's command line and the kernel's: everything that makes a boot
 * repeat to the instruction stands here.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "internal.h"

/* What differs between the architectures we emulate. */
static const struct model {
	const char *arch;
	const char *package;	/* Debian's, that has the emulator */
	const char *machine, *cpu;
	const char *bus;	/* of the result channel */
	const char *console;	/* on the kernel command line */
	/*
	 * Without an ioeventfd the device works inside of the guest's store
	 * to its doorbell; with one, it works some time later in another
	 * thread while the guest spins, and counts.
	 */
	const char *global;
	const char *one_cpu;	/* on the kernel command line of a guest with one */
} models[] = {
	/*
	 * Without dtb-randomness=off the device tree holds a KASLR and an RNG
	 * seed that -seed does not rule.
	 */
	{ "arm64", "qemu-system-arm", "virt,dtb-randomness=off",
	  "max,pauth-impdef=on", "virtio-serial-device",
	  "console=ttyAMA0 earlycon", "virtio-mmio.ioeventfd=off", "" },
	{ "x86_64", "qemu-system-x86", "q35", "max", "virtio-serial-pci",
	  "console=ttyS0 earlycon=uart8250,io,0x3f8",
	  "virtio-serial-pci.ioeventfd=off",
	  /*
	   * Calibrating the local APIC's timer polls an emulated PIT for 0.4 s
	   * of guest time, which costs several times the rest of a boot; one
	   * processor does as well with the HPET.
	   */
	  " nolapic_timer tsc=reliable" },
};

/* dtb-randomness came with 7.1, inline plugin counters as we use them before. */
#define QEMU_MAJOR	7
#define QEMU_MINOR	2

#define IMAGE_HEAD	4096

static const struct model *model_of(const struct arch *arch)
{
	for (size_t i = 0; i < ARRAY_SIZE(models); i++)
		if (!strcmp(models[i].arch, arch->name))
			return &models[i];
	abort();	/* a row of arch.c without one here */
}

const char *qemu_program(const struct arch *arch)
{
	const char *other = getenv("FOLAB_QEMU");

	return other && *other ? other : arch->qemu;
}

static void model_args(const struct machine_setup *setup, const char *seed,
		       struct strlist *l)
{
	const struct model *m = model_of(setup->arch);

	strlist_add(l, "-M");
	strlist_add(l, m->machine);
	strlist_add(l, "-cpu");
	strlist_add(l, m->cpu);
	strlist_add(l, "-smp");
	strlist_addf(l, "%d", setup->cpus ? setup->cpus : 1);
	strlist_add(l, "-m");
	strlist_addf(l, "%" PRIu64, setup->memory >> 20);
	strlist_add(l, "-accel");
	strlist_add(l, "tcg");
	strlist_add(l, "-icount");
	strlist_addf(l, "shift=%d,sleep=off", NS_PER_INSTRUCTION_SHIFT);
	strlist_add(l, "-rtc");
	strlist_add(l, "base=2024-01-01T00:00:00,clock=vm");
	strlist_add(l, "-seed");
	strlist_add(l, seed);
	strlist_add(l, "-nodefaults");
	strlist_add(l, "-nic");
	strlist_add(l, "none");
	strlist_add(l, "-global");
	strlist_add(l, m->global);
}

char *qemu_model(const struct machine_setup *setup)
{
	struct strlist l = { 0 };
	char *text = NULL;

	model_args(setup, "SEED", &l);
	for (size_t i = 0; i < l.n; i++) {
		char *more = text ? xasprintf("%s %s", text, l.v[i]) :
			xstrdup(l.v[i]);

		free(text);
		text = more;
	}
	strlist_free(&l);
	return text;
}

/* QEMU doubles a comma that is part of a value. */
static char *escaped(const char *value)
{
	char *out = xmalloc(strlen(value) * 2 + 1), *p = out;

	for (; *value; value++) {
		if (*value == ',')
			*p++ = ',';
		*p++ = *value;
	}
	*p = '\0';
	return out;
}

static void add_plugin(const struct guest_config *g, struct strlist *argv)
{
	char *plugin = escaped(g->plugin), *symbols = escaped(g->symbols);
	char *out = escaped(g->profile);

	strlist_add(argv, "-plugin");
	strlist_addf(argv, "%s,symbols=%s,out=%s", plugin, symbols, out);
	free(out);
	free(symbols);
	free(plugin);
}

void qemu_args(const struct machine_setup *setup,
	       const struct guest_config *g, struct strlist *argv)
{
	const struct model *m = model_of(setup->arch);
	char seed[32];

	snprintf(seed, sizeof(seed), "%" PRId64, g->seed);
	strlist_add(argv, qemu_program(setup->arch));
	model_args(setup, seed, argv);
	strlist_add(argv, "-display");
	strlist_add(argv, "none");
	strlist_add(argv, "-no-reboot");
	/*
	 * Both go to pipes, so that a guest can't fill the disk.  A pipe holds
	 * more than a boot's worth: QEMU never waits for us, which the guest
	 * could count.
	 */
	strlist_add(argv, "-chardev");
	strlist_addf(argv, "file,id=console,path=/dev/fd/%d", g->console_fd);
	strlist_add(argv, "-serial");
	strlist_add(argv, "chardev:console");
	strlist_add(argv, "-chardev");
	strlist_addf(argv, "file,id=result,path=/dev/fd/%d", g->result_fd);
	strlist_add(argv, "-device");
	strlist_add(argv, m->bus);
	strlist_add(argv, "-device");
	strlist_add(argv, "virtserialport,chardev=result,name=folab");
	if (g->plugin)
		add_plugin(g, argv);
	strlist_add(argv, "-kernel");
	strlist_add(argv, g->kernel);
	strlist_add(argv, "-initrd");
	strlist_add(argv, g->initramfs);
	strlist_add(argv, "-append");
	/* The agent lays out memory and time by it: see agent.h. */
	strlist_addf(argv, "%s folab.seed=%s", g->cmdline, seed);
}

int qemu_version(const struct arch *arch, char **version, struct err *err)
{
	const struct model *m = model_of(arch);
	const char *program = qemu_program(arch), *at;
	char *argv[] = { (char *)program, (char *)"--version", NULL };
	struct child_spec spec = { .argv = argv, .output = -1 };
	int major = 0, minor = 0, rc;
	char *out = NULL;

	if (!program_exists(program))
		return err_set(err, EXIT_ENVIRONMENT,
			       "no %s on this host: install the package %s",
			       program, m->package);
	rc = child_capture(&spec, true, &out, err);
	if (rc < 0)
		return -1;
	out[strcspn(out, "\n")] = '\0';
	at = strstr(out, "version ");
	if (rc || !at || sscanf(at, "version %d.%d", &major, &minor) != 2) {
		err_set(err, EXIT_ENVIRONMENT,
			"%s --version says nothing of use: %s", program, out);
		goto fail;
	}
	if (major < QEMU_MAJOR || (major == QEMU_MAJOR && minor < QEMU_MINOR)) {
		err_set(err, EXIT_ENVIRONMENT,
			"%s is too old, %d.%d is needed: upgrade the package %s (this is %s)",
			program, QEMU_MAJOR, QEMU_MINOR, m->package, out);
		goto fail;
	}
	*version = printable(out, strlen(out), 200);
	free(out);
	return 0;
fail:
	free(out);
	return -1;
}

char *kernel_cmdline(const struct machine_setup *setup)
{
	const struct model *m = model_of(setup->arch);
	uint64_t fs = scratch_bytes(setup->job);
	char *line, *more;

	line = xasprintf("%s%s nokaslr oops=panic panic=-1", m->console,
			 setup->cpus > 1 ? "" : m->one_cpu);
	if (fs) {
		more = xasprintf("%s brd.rd_nr=1 brd.rd_size=%" PRIu64, line,
				 fs >> 10);
		free(line);
		line = more;
	}
	for (size_t i = 0; setup->cmdline && i < setup->cmdline->n; i++) {
		more = xasprintf("%s %s", line, setup->cmdline->v[i]);
		free(line);
		line = more;
	}
	return line;
}

static uint32_t le32(const unsigned char *p)
{
	return p[0] | p[1] << 8 | p[2] << 16 | (uint32_t)p[3] << 24;
}

/* The x86 boot protocol: Documentation/arch/x86/boot.rst of the kernel. */
static bool check_bzimage(const unsigned char *head, uint64_t size,
			  const char **what)
{
	uint64_t setup = head[0x1f1] ? head[0x1f1] : 4;
	uint64_t whole = (setup + 1) * 512 + 16ull * le32(head + 0x1f4);

	if (memcmp(head + 0x202, "HdrS", 4)) {
		*what = "is no x86 bzImage";
		return false;
	}
	*what = "is truncated";
	return size >= whole;
}

/* Documentation/arch/arm64/booting.rst; the size there includes BSS. */
static bool check_arm64(const unsigned char *head, const char **what)
{
	/* QEMU takes a gzipped Image as well. */
	if (head[0] == 0x1f && head[1] == 0x8b)
		return true;
	*what = "is no arm64 Image";
	return !memcmp(head + 56, "ARM\x64", 4);
}

int kernel_check(const char *path, const struct arch *arch, struct err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	unsigned char head[IMAGE_HEAD] = { 0 };
	const char *what = "is truncated";
	struct stat st;
	bool good;

	if (fd < 0 || fstat(fd, &st) || pread(fd, head, sizeof(head), 0) < 0) {
		err_sys(err, EXIT_USAGE, errno, "can't read the kernel %s",
			path);
		if (fd >= 0)
			close(fd);
		return -1;
	}
	close(fd);
	if (st.st_size < IMAGE_HEAD)
		good = false;
	else if (!strcmp(arch->name, "x86_64"))
		good = check_bzimage(head, st.st_size, &what);
	else
		good = check_arm64(head, &what);
	if (!good)
		return err_set(err, EXIT_USAGE,
			       "the kernel %s %s: it can't be booted", path,
			       what);
	return 0;
}
