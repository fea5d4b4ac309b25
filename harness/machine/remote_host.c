/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A session with another host: is it there, what is it, does another folab use
 * it; files there and back.
 *
 * All that is ours there lies in one directory, whose lock is a file that says
 * who has it.  The host may be booted in between, so nobody can hold a lock
 * that falls with him; but whoever finds the lock of a process of his own
 * machine can see whether that is alive.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "remote.h"

#define PLACE		"/var/tmp/folab-remote-"	/* and the user's number */
#define LOCK_TRIES	3

/* ---- small commands ---------------------------------------------------------------- */

/* The last line of @text without "folab: ", for a message. */
static const char *last_of(char *text)
{
	char *end = text + strlen(text), *line;

	while (end > text && (end[-1] == '\n' || end[-1] == ' '))
		*--end = '\0';
	line = strrchr(text, '\n');
	line = line ? line + 1 : text;
	return str_starts(line, "folab: ") ? line + strlen("folab: ") : line;
}

int remote_sh(struct remote *r, const char *script, char **out,
	      struct err *err)
{
	struct ssh_call call = { .script = script, .seconds = REMOTE_SHORT };
	int rc = ssh_run(&r->ssh, &call, out, err);

	if (rc <= 0)
		return rc;
	err_set(err, EXIT_ENVIRONMENT, "%s: %.300s", r->ssh.name,
		last_of(*out));
	free(*out);
	*out = NULL;
	return -1;
}

void remote_values(const char *text, const char *key, struct strlist *l)
{
	size_t len = strlen(key);

	for (const char *at = text; at && *at; at = strchr(at, '\n')) {
		char *value;

		at += *at == '\n';
		if (strncmp(at, key, len) || at[len] != ' ')
			continue;
		value = xstrndup(at + len + 1, strcspn(at + len + 1, "\n"));
		if (*value && !strlist_has(l, value))
			strlist_add(l, value);
		free(value);
	}
}

char *remote_value(const char *text, const char *key)
{
	struct strlist all = { 0 };
	char *value;

	remote_values(text, key, &all);
	value = all.n ? xstrdup(all.v[0]) : NULL;
	strlist_free(&all);
	return value;
}

/* ---- the lock ------------------------------------------------------------------------ */

static char *line_of(const char *path)
{
	struct err ignored = { 0 };
	char *text;

	if (file_read(path, 4096, &text, NULL, &ignored))
		return xstrdup("?");
	text[strcspn(text, "\n")] = '\0';
	return text;
}

/* When process @pid of this machine began; caller frees, NULL: there is none. */
static char *began(const char *pid)
{
	char *path = xasprintf("/proc/%s/stat", pid), *text, *at;
	struct err ignored = { 0 };
	int rc = file_read(path, 4096, &text, NULL, &ignored);

	free(path);
	if (rc)
		return NULL;
	/* Field 22; the name, field 2, may hold anything but ends with ")". */
	at = strrchr(text, ')');
	for (int i = 2; at && i < 22; i++) {
		at = strchr(at, ' ');
		at = at ? at + 1 : NULL;
	}
	if (at)
		at = xstrndup(at, strcspn(at, " "));
	free(text);
	return at;
}

/* What this process is, in five words without a quote or a blank in them. */
static char *own_words(void)
{
	char *machine = line_of("/etc/machine-id");
	char *boot = line_of("/proc/sys/kernel/random/boot_id");
	char *pid = xasprintf("%d", (int)getpid()), *start = began(pid);
	char host[65] = "", *text;

	gethostname(host, sizeof(host) - 1);
	text = xasprintf("%s %s %s %s %s", *machine ? machine : "?", boot, pid,
			 start ? start : "?", *host ? host : "?");
	for (char *c = text; *c; c++)
		if (*c == '\'' || *c == '\\' || (unsigned char)*c < ' ')
			*c = '_';
	free(start);
	free(pid);
	free(boot);
	free(machine);
	return text;
}

/* Is who wrote these words @lock a process of this machine that has ended? */
static bool is_dead(const char *own, const char *lock)
{
	char mine[5][80], his[5][80], *start;
	bool dead;

	if (sscanf(own, "%79s %79s %79s %79s %79s", mine[0], mine[1], mine[2],
		   mine[3], mine[4]) != 5 ||
	    sscanf(lock, "%79s %79s %79s %79s %79s", his[0], his[1], his[2],
		   his[3], his[4]) != 5)
		return false;
	if (strcmp(mine[0], his[0]) || strcmp(mine[4], his[4]))
		return false;
	if (strcmp(mine[1], his[1]))
		return strcmp(mine[0], "?") != 0;	/* before a boot */
	start = his[2][strspn(his[2], "0123456789")] ? NULL : began(his[2]);
	dead = !start || strcmp(start, his[3]);
	free(start);
	return dead;
}

static int busy(const struct remote *r, const char *lock, struct err *err)
{
	char pid[80] = "?", host[80] = "?";

	sscanf(lock, "%*s %*s %79s %*s %79s", pid, host);
	return err_set(err, EXIT_BUSY,
		       "%s: process %s on %s uses it; if that is a folab that is gone: rm -r %s %s.lock, there",
		       r->ssh.name, pid, host, r->dir, r->dir);
}

static int take_lock(struct remote *r, struct err *err)
{
	/*
	 * A link(2) is there with all its text, or not at all.  set -C: nothing
	 * that somebody has put at a name in /var/tmp is followed.
	 */
	char *script = xasprintf(
		"d=%s; umask 077; set -C; if [ -e $d ] && { [ -L $d ] || [ ! -O $d ]; }; "
		"then echo \"$d is not ours\"; exit 1; fi; "
		"echo '%s' > $d.$$ && ln $d.$$ $d.lock 2> /dev/null; rm -f $d.$$; "
		"echo \"lock $(cat $d.lock)\"; "
		"[ \"$(cat $d.lock)\" != '%s' ] || mkdir -p $d",
		r->dir, r->owner, r->owner);
	char *drop = xasprintf("rm -rf %s %s.lock", r->dir, r->dir);
	char *out, *lock = NULL;
	int rc = -1;

	r->locked = false;
	for (int i = 0; i < LOCK_TRIES && !r->locked; i++) {
		free(lock);
		lock = NULL;
		if (remote_sh(r, script, &out, err))
			goto done;
		lock = remote_value(out, "lock");
		free(out);
		r->locked = lock && !strcmp(lock, r->owner);
		if (r->locked || !lock || !is_dead(r->owner, lock))
			break;
		if (remote_sh(r, drop, &out, err))
			goto done;
		free(out);
	}
	rc = r->locked ? 0 : busy(r, lock ? lock : "?", err);
done:
	free(lock);
	free(drop);
	free(script);
	return rc;
}

/* ---- files ------------------------------------------------------------------------------ */

int remote_send(struct remote *r, const char *path, const char *name,
		const char *mode, struct err *err)
{
	struct ssh_call call = { .input = path, .seconds = REMOTE_SEND };
	char hex[HASH_HEX], *check, *send, *out;
	struct hash *h = hash_new();
	int rc = hash_add_file(h, path, err);

	hash_end(h, hex);
	if (rc)
		return -1;
	/* hash_add_file() hashes the bytes and nothing else, as sha256sum does. */
	check = xasprintf("[ \"$(sha256sum < %s/%s | cut -c 1-64)\" = %s ] && echo same",
			  r->dir, name, hex);
	send = xasprintf("cd %s && cat > %s.new && [ \"$(sha256sum < %s.new | cut -c 1-64)\" = %s ] && chmod %s %s.new && mv -f %s.new %s",
			 r->dir, name, name, hex, mode, name, name, name);
	call.script = check;
	call.input = NULL;
	rc = ssh_run(&r->ssh, &call, &out, err);
	if (rc > 0) {
		free(out);
		call.script = send;
		call.input = path;
		rc = ssh_run(&r->ssh, &call, &out, err);
		if (rc > 0)
			err_set(err, EXIT_ENVIRONMENT,
				"%s: %s did not arrive whole in %s%s%.200s",
				r->ssh.name, name, r->dir, *out ? ": " : "",
				last_of(out));
	}
	if (rc >= 0)
		free(out);
	free(send);
	free(check);
	return rc ? -1 : 0;
}

/* ---- open and close ----------------------------------------------------------------------- */

static int look(struct remote *r, struct err *err)
{
	char *out, *machine, *uid;
	int rc = remote_sh(r, "echo uid $(id -u); echo machine $(uname -m); echo release $(uname -r); echo boot $(cat /proc/sys/kernel/random/boot_id)",
			   &out, err);

	if (rc)
		return -1;
	machine = remote_value(out, "machine");
	uid = remote_value(out, "uid");
	free(r->boot_id);
	free(r->release);
	r->boot_id = remote_value(out, "boot");
	r->release = remote_value(out, "release");
	free(out);
	if (!machine || !uid || !r->boot_id || !r->release) {
		rc = err_set(err, EXIT_ENVIRONMENT,
			     "%s: it does not tell what it is: is it a Linux, with /proc mounted?",
			     r->ssh.name);
	} else {
		r->arch = arch_find(!strcmp(machine, "aarch64") ? "arm64" :
				    machine);
		if (!r->arch)
			rc = err_set(err, EXIT_ENVIRONMENT,
				     "%s: its processor is %.40s, and folab runs on arm64 and x86_64 hosts only",
				     r->ssh.name, machine);
	}
	/* Once more as root, and then with its number. */
	if (!rc && r->opt.root && strcmp(uid, "0") && !r->ssh.sudo) {
		r->ssh.sudo = true;
		free(machine);
		free(uid);
		return look(r, err);
	}
	if (!rc && !r->dir)
		r->dir = xasprintf(PLACE "%s", uid);
	free(machine);
	free(uid);
	return rc;
}

static int send_program(struct remote *r, struct err *err)
{
	char *name = xasprintf("onhost-%s", r->arch->name), *path = NULL;
	int rc = machine_built_path(name, &path, err);

	if (!rc)
		rc = remote_send(r, path, "onhost", "755", err);
	free(path);
	free(name);
	return rc;
}

int remote_settle(struct remote *r, struct err *err)
{
	return take_lock(r, err) || send_program(r, err) ? -1 : 0;
}

int remote_open(struct remote **remote, const struct remote_options *opt,
		struct err *err)
{
	struct remote *r = xcalloc(1, sizeof(*r));

	r->local.lock.fd = -1;
	r->opt = *opt;
	*remote = NULL;
	if (ssh_parse(&r->ssh, opt->host, err) ||
	    (!program_exists("ssh") &&
	     err_set(err, EXIT_ENVIRONMENT,
		     "no ssh on this host: apt-get install openssh-client")) ||
	    look(r, err))
		goto fail;
	r->owner = own_words();
	r->own_boot_id = xstrdup(r->boot_id);
	if (remote_settle(r, err) || run_dir_make(&r->local, err))
		goto fail;
	*remote = r;
	return 0;
fail:
	remote_close(r);
	return -1;
}

const struct arch *remote_arch(const struct remote *r)
{
	return r->arch;
}

const char *remote_boot_id(const struct remote *r)
{
	return r->own_boot_id;
}

/* Whatever has happened: also when we have been interrupted. */
static void clean_up(struct remote *r)
{
	char *script = xasprintf("rm -rf %s %s.lock", r->dir, r->dir);
	struct ssh_call call = {
		.script = script, .seconds = REMOTE_SHORT, .last = true,
	};
	struct err err = { 0 };
	char *out = NULL;

	if (ssh_run(&r->ssh, &call, &out, &err))
		progress_note("%s: %s and %s.lock are left there (%s)",
			      r->ssh.name, r->dir, r->dir,
			      err.code ? err.text : last_of(out));
	free(out);
	free(script);
}

void remote_close(struct remote *r)
{
	if (!r)
		return;
	if (r->locked && !r->lost)
		clean_up(r);
	if (r->booted)
		remote_go_home(r);
	run_dir_remove(&r->local);
	remote_way_free(&r->way);
	ssh_free(&r->ssh);
	free(r->boot_id);
	free(r->own_boot_id);
	free(r->release);
	free(r->dir);
	free(r->owner);
	free(r);
}
