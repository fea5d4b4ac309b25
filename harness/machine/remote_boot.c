/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Another host boots a kernel of ours, once: by kexec, so that nothing of its
 * boot loader changes, and whatever goes wrong, a reset gives it its own kernel
 * back.  A word of ours on the command line tells whether it is our kernel that
 * came back, or its own after a panic.
 *
 * Our kernels have no modules and are booted without an initramfs: the root must
 * be a partition that the kernel finds by itself, and the drivers of its disk
 * and its network be built in.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>

#include "remote.h"

#define TOKEN		"folab.boot="
#define ASK_SECONDS	15.0	/* of one question whether it is back */
#define ASK_PAUSE	1	/* seconds between them */
#define PANIC_SECONDS	10	/* after which a kernel of ours reboots */

/* ---- which option a driver is of --------------------------------------------------- */

static const struct {
	const char *driver, *option;
} drivers[] = {
	{ "virtio_blk", "VIRTIO_BLK" }, { "virtio_net", "VIRTIO_NET" },
	{ "virtio_scsi", "SCSI_VIRTIO" }, { "virtio-pci", "VIRTIO_PCI" },
	{ "virtio-mmio", "VIRTIO_MMIO" },
	{ "nvme", "BLK_DEV_NVME" }, { "sd", "BLK_DEV_SD" },
	{ "ahci", "SATA_AHCI" }, { "ata_piix", "ATA_PIIX" },
	{ "megaraid_sas", "MEGARAID_SAS" }, { "mpt3sas", "SCSI_MPT3SAS" },
	{ "hisi_sas_v3_hw", "SCSI_HISI_SAS" }, { "mmcblk", "MMC_BLOCK" },
	{ "xen-blkfront", "XEN_BLKDEV_FRONTEND" },
	{ "e1000", "E1000" }, { "e1000e", "E1000E" }, { "igb", "IGB" },
	{ "igc", "IGC" }, { "ixgbe", "IXGBE" }, { "i40e", "I40E" },
	{ "ice", "ICE" }, { "r8169", "R8169" }, { "tg3", "TIGON3" },
	{ "bnxt_en", "BNXT" }, { "bnx2x", "BNX2X" },
	{ "mlx5_core", "MLX5_CORE_EN" }, { "mlx4_core", "MLX4_EN" },
	{ "ena", "ENA_ETHERNET" }, { "gvnic", "GVE" }, { "vmxnet3", "VMXNET3" },
	{ "hns3", "HNS3_ENET" }, { "hv_netvsc", "HYPERV_NET" },
	{ "thunder-nicvf", "THUNDER_NIC_VF" }, { "amd-xgbe", "AMD_XGBE" },
	{ "bonding", "BONDING" }, { "bridge", "BRIDGE" },
	{ "vlan", "VLAN_8021Q" },
	{ "ext4", "EXT4_FS" }, { "xfs", "XFS_FS" }, { "btrfs", "BTRFS_FS" },
	{ "f2fs", "F2FS_FS" },
};

static const char *option_of(const char *driver)
{
	for (size_t i = 0; i < ARRAY_SIZE(drivers); i++)
		if (!strcmp(drivers[i].driver, driver))
			return drivers[i].option;
	return NULL;
}

static bool built_in(const char *config, const char *option)
{
	char *line = xasprintf("\nCONFIG_%s=y\n", option);
	bool found = strstr(config, line) ||
		     str_starts(config, line + 1);

	free(line);
	return found;
}

/* Options of @list that are not there, to @missing; what is not known, to @notes. */
static size_t check_drivers(const char *config, const struct strlist *list,
			    struct strlist *missing, struct strlist *notes)
{
	size_t there = 0;

	for (size_t i = 0; i < list->n; i++) {
		const char *option = option_of(list->v[i]);

		if (!option)
			strlist_addf(notes, "the host uses the driver %s: folab does not know its option, so nobody has checked that the kernels have it",
				     list->v[i]);
		else if (built_in(config, option))
			there++;
		else
			strlist_addf(missing, "CONFIG_%s (%s)", option,
				     list->v[i]);
	}
	return there;
}

/* The image, and room for what a run writes beside it. */
static int check_space(const struct remote *r, const char *kernel,
		       struct err *err)
{
	const int64_t spare = 16 << 20;
	struct stat st;

	if (stat(kernel, &st) || r->way.free < 0 ||
	    st.st_size + spare <= r->way.free)
		return 0;
	return err_set(err, EXIT_ENVIRONMENT,
		       "%s: %" PRId64 " MiB are free in /var/tmp, and the kernel needs %" PRId64,
		       r->ssh.name, r->way.free >> 20,
		       ((int64_t)st.st_size + spare) >> 20);
}

int remote_check_image(struct remote *r, const struct image *im,
		       struct strlist *notes, struct err *err)
{
	struct strlist missing = { 0 }, net = { 0 }, fs = { 0 };
	char *config, text[300] = "";
	size_t len = 0;

	if (kernel_check(im->kernel, r->arch, err) ||
	    check_space(r, im->kernel, err))
		return -1;
	if (!im->config) {
		strlist_addf(notes, "%s: no .config, so nobody has checked that it has the host's drivers",
			     im->spec);
		return 0;
	}
	if (file_read(im->config, 8u << 20, &config, NULL, err))
		return -1;
	strlist_add(&fs, r->way.fs);
	check_drivers(config, &fs, &missing, notes);
	check_drivers(config, &r->way.disk, &missing, notes);
	check_drivers(config, &r->way.stacked, &missing, notes);
	/* Of several network devices one is enough. */
	if (!check_drivers(config, &r->way.net, &net, notes))
		for (size_t i = 0; i < net.n; i++)
			strlist_add(&missing, net.v[i]);
	for (size_t i = 0; i < missing.n && len < sizeof(text); i++)
		len += snprintf(text + len, sizeof(text) - len, "%s%s",
				i ? ", " : "", missing.v[i]);
	if (missing.n)
		err_set(err, EXIT_ENVIRONMENT,
			"%s would not come back with %s: it lacks %s; --config metal has the usual drivers, and patches/config takes more",
			r->ssh.name, im->spec, text);
	free(config);
	strlist_free(&fs);
	strlist_free(&net);
	strlist_free(&missing);
	return err->code ? -1 : 0;
}

/* ---- what there is to know before ------------------------------------------------------ */

void remote_way_free(struct remote_way *w)
{
	free(w->cmdline);
	free(w->device);
	free(w->partuuid);
	free(w->fs);
	strlist_free(&w->disk);
	strlist_free(&w->net);
	strlist_free(&w->stacked);
}

/*
 * One line a fact.  The root's device by its number in mountinfo, or, where that
 * is one that the file system has made up (btrfs), by its name; then all that
 * has a driver on the way from the device to its controller.
 */
static const char facts[] =
	"command -v kexec > /dev/null && echo kexec yes; "
	"echo disabled $(cat /proc/sys/kernel/kexec_load_disabled 2> /dev/null); "
	"[ -d /run/systemd/system ] && echo systemd yes; "
	"echo \"cmdline $(cat /proc/cmdline)\"; "
	"m=$(grep ' / / \\| /[^ ]* / ' /proc/self/mountinfo | tail -n 1); "
	"set -- ${m%% - *}; n=$3; set -- ${m#* - }; echo fs $1; "
	"b=/sys/dev/block/$n; [ -e $b ] || b=/sys/class/block/${2#/dev/}; "
	"if [ -e $b ]; then p=$(readlink -f $b); d=${p##*/}; echo device $d; "
	"[ -d $p/dm ] && echo mapped yes; [ -d $p/md ] && echo mapped yes; "
	"echo partuuid $(lsblk -n -d -o PARTUUID /dev/$d 2> /dev/null || blkid -s PARTUUID -o value /dev/$d 2> /dev/null); "
	"while [ ${#p} -gt 12 ]; do [ -e $p/driver ] && l=$(readlink $p/driver) && echo disk ${l##*/}; p=${p%/*}; done; fi; "
	"for i in /sys/class/net/*; do [ -e $i/device/driver ] && [ \"$(cat $i/operstate)\" = up ] && l=$(readlink $i/device/driver) && echo net ${l##*/}; done; "
	"while read i a x; do [ $a = 00000000 ] || continue; "
	"[ -d /sys/class/net/$i/bonding ] && echo stacked bonding; "
	"[ -d /sys/class/net/$i/bridge ] && echo stacked bridge; "
	"[ -e /proc/net/vlan/$i ] && echo stacked vlan; done < /proc/net/route; "
	"echo free $(df -Pk /var/tmp | tail -n 1); true";

/* Buses between a device and its controller, which every kernel of ours has. */
static void drop_buses(struct strlist *l)
{
	static const char *const buses[] = { "pcieport", "pci_generic", "scsi" };
	struct strlist kept = { 0 };

	for (size_t i = 0; i < l->n; i++) {
		bool bus = false;

		for (size_t k = 0; k < ARRAY_SIZE(buses); k++)
			bus = bus || !strcmp(l->v[i], buses[k]);
		if (!bus)
			strlist_add(&kept, l->v[i]);
	}
	strlist_free(l);
	*l = kept;
}

int remote_can_boot(struct remote *r, struct err *err)
{
	struct remote_way *w = &r->way;
	const char *name = r->ssh.name;
	char *out, *kexec, *disabled, *systemd, *mapped, *space;
	int rc = 0;

	if (remote_sh(r, facts, &out, err))
		return -1;
	kexec = remote_value(out, "kexec");
	disabled = remote_value(out, "disabled");
	systemd = remote_value(out, "systemd");
	mapped = remote_value(out, "mapped");
	space = remote_value(out, "free");
	if (!space || sscanf(space, "%*s %*s %*s %" SCNd64, &w->free) != 1)
		w->free = -1;
	else
		w->free <<= 10;
	free(space);
	w->systemd = systemd != NULL;
	w->cmdline = remote_value(out, "cmdline");
	w->device = remote_value(out, "device");
	w->partuuid = remote_value(out, "partuuid");
	w->fs = remote_value(out, "fs");
	remote_values(out, "disk", &w->disk);
	remote_values(out, "net", &w->net);
	remote_values(out, "stacked", &w->stacked);
	drop_buses(&w->disk);
	drop_buses(&w->net);
	if (!kexec)
		rc = err_set(err, EXIT_ENVIRONMENT,
			     "%s: no kexec there: apt-get install kexec-tools, or what it is called there",
			     name);
	else if (!disabled)
		rc = err_set(err, EXIT_ENVIRONMENT,
			     "%s: the kernel that runs there can't kexec (CONFIG_KEXEC): folab run -m, reboot by hand, folab compare",
			     name);
	else if (strcmp(disabled, "0"))
		rc = err_set(err, EXIT_ENVIRONMENT,
			     "%s: kernel.kexec_load_disabled is set there until it boots again",
			     name);
	else if (!w->fs || !w->device || mapped)
		rc = err_set(err, EXIT_ENVIRONMENT,
			     "%s: its root is %s%s%s, which a kernel finds with an initramfs only, and folab's kernels have none: folab run -m, boot by hand, folab compare",
			     name, mapped ? "on a mapped device (LVM, RAID, encryption), " : "",
			     w->fs ? w->fs : "nothing that folab knows",
			     w->device ? "" : " without a block device");
	free(mapped);
	free(systemd);
	free(disabled);
	free(kexec);
	free(out);
	return rc;
}

/* ---- the command line ------------------------------------------------------------------- */

static bool is_any(const char *word, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (str_starts(word, list[i]))
			return true;
	return false;
}

/*
 * The host's own, with its consoles, names of network devices and quirks, but
 * for what is its loader's, its initramfs's, or ours.
 */
static char *command_line(const struct remote *r, const struct strlist *more,
			  const char *token)
{
	static const char *const dropped[] = {
		"BOOT_IMAGE=", "initrd=", "root=", "resume=", "rd.", "panic=",
		"crashkernel=", TOKEN,
	};
	const struct remote_way *w = &r->way;
	char *text = NULL, *copy = xstrdup(w->cmdline ? w->cmdline : "");
	char *save, *word;
	bool rw = false;
	size_t len;
	FILE *to = open_memstream(&text, &len);

	if (!to) {
		free(copy);
		return xstrdup("");
	}
	if (w->partuuid)
		fprintf(to, "root=PARTUUID=%s", w->partuuid);
	else
		fprintf(to, "root=/dev/%s", w->device);
	for (word = strtok_r(copy, " ", &save); word;
	     word = strtok_r(NULL, " ", &save)) {
		rw = rw || !strcmp(word, "ro") || !strcmp(word, "rw");
		if (!is_any(word, dropped, ARRAY_SIZE(dropped)))
			fprintf(to, " %s", word);
	}
	for (size_t i = 0; more && i < more->n; i++)
		fprintf(to, " %s", more->v[i]);
	fprintf(to, "%s rootwait panic=%d " TOKEN "%s", rw ? "" : " ro",
		PANIC_SECONDS, token);
	fclose(to);
	free(copy);
	return text;
}

/* ---- off and back ------------------------------------------------------------------------- */

static bool has_word(const char *text, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = text; (at = strstr(at, word)); at++)
		if ((at == text || at[-1] == ' ') &&
		    (!at[len] || at[len] == ' ' || at[len] == '\n'))
			return true;
	return false;
}

/*
 * Until it has booted: 0, and its command line in *cmdline; 1: ->boot_timeout
 * is over; -1: interrupted (@last: goes on then).
 */
static int wait_back(struct remote *r, bool last, char **cmdline,
		     struct err *err)
{
	struct ssh_call call = {
		.script = "echo boot $(cat /proc/sys/kernel/random/boot_id); echo release $(uname -r); echo \"cmdline $(cat /proc/cmdline)\"; echo state $(systemctl is-system-running 2> /dev/null)",
		.seconds = ASK_SECONDS, .last = last,
	};
	const struct timespec pause = { .tv_sec = ASK_PAUSE };
	double end = now_seconds() + (double)r->opt.boot_timeout;
	bool sudo = r->ssh.sudo;

	*cmdline = NULL;
	while (now_seconds() < end) {
		struct err not_yet = { 0 };
		char *out, *boot, *state;
		bool up = false;

		if (!last && intr_check(err))
			return -1;
		if (r->trials)
			progress_step(r->trial, r->trials,
				      "%s boots, %.0f s until it is given up",
				      r->ssh.name, end - now_seconds());
		nanosleep(&pause, NULL);
		/* Nothing that needs it, and it may not be ready. */
		r->ssh.sudo = false;
		if (ssh_run(&r->ssh, &call, &out, &not_yet)) {
			r->ssh.sudo = sudo;
			continue;
		}
		r->ssh.sudo = sudo;
		boot = remote_value(out, "boot");
		state = remote_value(out, "state");
		if (boot && strcmp(boot, r->boot_id)) {
			free(*cmdline);
			*cmdline = remote_value(out, "cmdline");
			free(r->release);
			r->release = remote_value(out, "release");
			/* What it starts would run beside what is measured. */
			up = !state || (strcmp(state, "starting") &&
					strcmp(state, "initializing"));
		}
		if (up) {
			free(r->boot_id);
			r->boot_id = boot;
			boot = NULL;
		}
		free(state);
		free(boot);
		free(out);
		if (up)
			return 0;
	}
	free(*cmdline);
	*cmdline = NULL;
	return 1;
}

/*
 * Away it goes.  The connection may break before the answer is here, which is
 * no failure: whether it has gone is seen when it comes back.
 */
static int leave(struct remote *r, const char *systemd, const char *plain,
		 bool last, struct err *err)
{
	char *script = r->way.systemd ? xstrdup(systemd) :
		xasprintf("(sleep 1; sync; %s) < /dev/null > /dev/null 2>&1 &",
			  plain);
	struct ssh_call call = {
		.script = script, .seconds = REMOTE_SHORT, .last = last,
	};
	struct err broken = { 0 };
	char *out = NULL;
	int rc = ssh_run(&r->ssh, &call, &out, &broken);

	if (rc > 0)
		err_set(err, EXIT_ENVIRONMENT, "%s: %.300s", r->ssh.name,
			out && *out ? out : "it does not reboot");
	free(out);
	free(script);
	if (!last && intr_check(err))
		return -1;
	return rc > 0 ? -1 : 0;
}

static int go(struct remote *r, bool last, struct err *err)
{
	return leave(r, "systemctl --no-block reboot",
		     "reboot -f || echo b > /proc/sysrq-trigger", last, err);
}

static int load(struct remote *r, const char *cmdline, struct err *err)
{
	char *word = shell_word(cmdline);
	/* -s: where only the newer call is allowed. */
	char *script = xasprintf("cd %s && o=$(kexec -l kernel --command-line=%s 2>&1) || kexec -s -l kernel --command-line=%s > /dev/null 2>&1 || { echo \"kexec: $o\"; exit 1; }",
				 r->dir, word, word), *out = NULL;
	int rc = remote_sh(r, script, &out, err);

	free(out);
	free(script);
	free(word);
	return rc;
}

static void make_token(char token[17])
{
	uint64_t n = 0;

	if (getrandom(&n, sizeof(n), 0) != sizeof(n))
		n = mix64((uint64_t)time(NULL));
	snprintf(token, 17, "%016" PRIx64, n);
}

/* A kernel of ours without kexec: back to the host's own one first. */
static int can_load(struct remote *r, bool *can, struct err *err)
{
	char *out;

	if (remote_sh(r, "[ -e /sys/kernel/kexec_loaded ] && echo can yes; true",
		      &out, err))
		return -1;
	*can = strstr(out, "can yes") != NULL;
	free(out);
	return 0;
}

static char *too_late(const struct remote *r, const char *what)
{
	return xasprintf("%s did not come back within %" PRId64 " s %s: see its console; a reset gives it its own kernel back",
			 r->ssh.name, r->opt.boot_timeout, what);
}

static int back_first(struct remote *r, char **why, struct err *err)
{
	char *cmdline;
	int rc;

	if (go(r, false, err))
		return -1;
	rc = wait_back(r, false, &cmdline, err);
	free(cmdline);
	if (rc > 0) {
		r->lost = true;
		*why = too_late(r, "with its own kernel");
	}
	if (!rc)
		r->booted = false;
	return rc;
}

static int prepare(struct remote *r, const struct image *im,
		   const char *cmdline, char **why, struct err *err)
{
	bool can = true;
	int rc = can_load(r, &can, err);

	if (!rc && !can)
		rc = back_first(r, why, err);
	if (rc)
		return rc;
	if (remote_settle(r, err) ||
	    remote_send(r, im->kernel, "kernel", "600", err) ||
	    load(r, cmdline, err))
		return -1;
	return 0;
}

/* It came back: with our kernel? */
static char *wrong_kernel(const struct remote *r, const struct image *im,
			  const char *cmdline, const char *token)
{
	char *word = xasprintf(TOKEN "%s", token), *why = NULL;

	if (!cmdline || !has_word(cmdline, word))
		why = xasprintf("%s came back with %s, not with %s: that did not get as far as its network, panicked, or was reset; see its console",
				r->ssh.name, r->release ? r->release : "?",
				im->release ? im->release : im->spec);
	else if (im->release && r->release && strcmp(im->release, r->release))
		why = xasprintf("%s runs %s, and the image should be %s",
				r->ssh.name, r->release, im->release);
	free(word);
	return why;
}

int remote_boot(struct remote *r, const struct image *im,
		const struct strlist *more, char **why, struct err *err)
{
	char token[17], *cmdline, *came = NULL;
	int rc;

	*why = NULL;
	make_token(token);
	cmdline = command_line(r, more, token);
	rc = prepare(r, im, cmdline, why, err);
	free(cmdline);
	if (rc)
		return rc;
	r->booted = true;
	if (leave(r, "systemctl --no-block kexec", "kexec -e", false, err))
		return -1;
	rc = wait_back(r, false, &came, err);
	if (rc > 0) {
		r->lost = true;
		*why = too_late(r, im->spec);
	} else if (!rc) {
		r->booted = came && strstr(came, TOKEN);
		*why = wrong_kernel(r, im, came, token);
		rc = *why ? 1 : remote_settle(r, err);
	}
	free(came);
	return rc;
}

void remote_go_home(struct remote *r)
{
	struct err err = { 0 };
	char *cmdline = NULL;

	if (r->lost) {
		progress_note("%s has not come back: it needs a hand",
			      r->ssh.name);
		return;
	}
	if (r->opt.no_return) {
		progress_note("%s still runs %s (--no-return)", r->ssh.name,
			      r->release ? r->release : "a kernel of folab's");
		return;
	}
	progress_begin("%s boots its own kernel", r->ssh.name);
	if (go(r, true, &err)) {
		progress_end(NULL);
		progress_note("%s: it still runs %s: reboot it", err.text,
			      r->release ? r->release : "a kernel of folab's");
		return;
	}
	/* Who has interrupted us does not wait for it. */
	if (intr_seen()) {
		progress_end("it has been told to");
		return;
	}
	if (wait_back(r, false, &cmdline, &err))
		progress_note("%s has not come back within %" PRId64 " s: see its console",
			      r->ssh.name, r->opt.boot_timeout);
	progress_end(cmdline ? "it is back" : NULL);
	free(cmdline);
}
