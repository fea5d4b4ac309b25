/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A base is a commit in a bare repository of ours: a tarball is fed into
 * git fast-import, a user's repository is borrowed from through "alternates".
 * Either way nothing of the user's is ever written to.
 */
#include <archive.h>
#include <archive_entry.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "private.h"

static const char *const suffixes[] = { "xz", "zst", "gz", "bz2" };

void source_free(struct source *src)
{
	free(src->name);
	free(src->title);
	free(src->id);
	free(src->version);
	free(src->repo);
	free(src->rev);
	free(src->tarball);
	free(src->objects);
	memset(src, 0, sizeof(*src));
}

char *hash_of_file(const char *path, struct err *err)
{
	struct hash *h = hash_new();
	char hex[HASH_HEX];
	int rc = hash_add_file(h, path, err);

	hash_end(h, hex);
	return rc ? NULL : xstrdup(hex);
}

/*
 * Hashing 150 MB takes longer than all else in a run that changed nothing, so
 * the hash is kept with what stat(2) said of the file, as git's index does.
 */
static char *tarball_hash(const char *tarball, const char *cache,
			  const char *name, struct err *err)
{
	char *memo = xasprintf("%s/sources/%s.hash", cache, name);
	char *now = NULL, *was = NULL, *hex = NULL;
	struct err ignored = { 0 };
	struct stat st;

	if (stat(tarball, &st)) {
		err_sys(err, EXIT_ENVIRONMENT, errno, "can't read %s", tarball);
		goto out;
	}
	now = xasprintf("%s %" PRIu64 " %" PRIu64 " %" PRIu64 ".%09ld\n",
			tarball, (uint64_t)st.st_ino, (uint64_t)st.st_size,
			(uint64_t)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
	if (!file_read(memo, 8192, &was, NULL, &ignored) &&
	    strlen(was) > HASH_HEX && !strcmp(was + HASH_HEX, now)) {
		hex = xstrndup(was, HASH_HEX - 1);
		goto out;
	}
	hex = hash_of_file(tarball, err);
	if (hex) {
		char *text = xasprintf("%s\n%s", hex, now);

		/* Without the memo it only takes longer the next time. */
		err_clear(&ignored);
		file_write(memo, text, strlen(text), &ignored);
		free(text);
	}
out:
	free(memo);
	free(now);
	free(was);
	return hex;
}

/* Version of the Debian package that the tarball belongs to, NULL: unknown. */
static char *package_version(const char *package)
{
	const char *argv[] = {
		"dpkg-query", "-W", "-f", "${Version}", package, NULL
	};
	struct child_spec spec = { .argv = (char *const *)argv, .output = -1 };
	struct err ignored = { 0 };
	char *out = NULL;

	if (!program_exists(argv[0]))
		return NULL;
	if (child_capture(&spec, false, &out, &ignored) || !*out) {
		free(out);
		return NULL;
	}
	return out;
}

static int find_tarball(struct source *src, const struct spec *spec,
			const char *cache, struct err *err)
{
	const char *dir = getenv("FOLAB_SOURCE_DIR");
	char *hex, *version = NULL;

	if (!dir || !*dir)
		dir = "/usr/src";
	src->version = xstrdup(spec->version);
	src->name = xasprintf("linux-source-%s", spec->version);
	for (size_t i = 0; i < ARRAY_SIZE(suffixes) && !src->tarball; i++) {
		src->tarball = xasprintf("%s/%s.tar.%s", dir, src->name,
					 suffixes[i]);
		if (!file_exists(src->tarball)) {
			free(src->tarball);
			src->tarball = NULL;
		}
	}
	if (!src->tarball)
		return err_set(err, EXIT_ENVIRONMENT,
			       "no source of Linux %s: there is no %s/%s.tar.xz; apt-get install %s",
			       spec->version, dir, src->name, src->name);
	hex = tarball_hash(src->tarball, cache, src->name, err);
	if (!hex)
		return -1;
	if (!strcmp(dir, "/usr/src"))
		version = package_version(src->name);
	if (version)
		src->title = xasprintf("%s %s", src->name, version);
	else
		src->title = xasprintf("%s sha256:%.12s", src->name, hex);
	src->id = xasprintf("tarball %s", hex);
	src->rev = xasprintf("refs/tarball/%s", hex);
	free(version);
	free(hex);
	return 0;
}

/* VERSION and PATCHLEVEL at the top of the commit's Makefile: "6.12". */
static char *version_of_commit(const struct spec *spec, struct err *err)
{
	struct git g = { .dir = spec->path };
	char *file = xasprintf("%s:Makefile", spec->commit), *text = NULL;
	int major = -1, minor = -1, rc;

	rc = git_try(&g, &text, err, "cat-file", "blob", file, NULL);
	free(file);
	if (rc < 0)
		return NULL;
	if (rc == 0) {
		char *line, *save;

		for (line = strtok_r(text, "\n", &save); line;
		     line = strtok_r(NULL, "\n", &save))
			if (sscanf(line, "VERSION = %d", &major) != 1 &&
			    sscanf(line, "PATCHLEVEL = %d", &minor) == 1)
				break;
	}
	free(text);
	if (major < 0 || minor < 0) {
		err_set(err, EXIT_USAGE,
			"kernel \"%s\": commit %.12s of %s is no Linux kernel: its Makefile names no VERSION and PATCHLEVEL",
			spec->text, spec->commit, spec->path);
		return NULL;
	}
	return xasprintf("%d.%d", major, minor);
}

static int find_git(struct source *src, const struct spec *spec,
		    struct err *err)
{
	struct git g = { .dir = spec->path };
	char hex[HASH_HEX];
	struct hash *h;

	src->version = version_of_commit(spec, err);
	if (!src->version)
		return -1;
	src->objects = git_line(&g, err, "rev-parse", "--path-format=absolute",
				"--git-path", "objects", NULL);
	if (!src->objects)
		return -1;
	h = hash_new();
	hash_add_str(h, src->objects);
	hash_end(h, hex);
	src->name = xasprintf("git-%.12s", hex);
	src->title = xasprintf("commit %s", spec->commit);
	src->id = xasprintf("commit %s", spec->commit);
	src->rev = xstrdup(spec->commit);
	return 0;
}

int source_find(struct source *src, const struct spec *spec,
		const char *cache, struct err *err)
{
	char *dir = xasprintf("%s/sources", cache);
	int rc;

	memset(src, 0, sizeof(*src));
	rc = file_mkdirs(dir, err);
	if (!rc && spec->kind == SPEC_GIT)
		rc = find_git(src, spec, err);
	else if (!rc)
		rc = find_tarball(src, spec, cache, err);
	if (!rc)
		src->repo = xasprintf("%s/%s.git", dir, src->name);
	free(dir);
	return rc;
}

/* ---- tarball -> fast-import ---------------------------------------------- */

/* A path as fast-import quotes it. */
static void put_path(FILE *to, const char *path)
{
	fputc('"', to);
	for (; *path; path++) {
		if (*path == '\n') {
			fputs("\\n", to);
			continue;
		}
		if (*path == '"' || *path == '\\')
			fputc('\\', to);
		fputc(*path, to);
	}
	fputc('"', to);
}

static int put_entry(FILE *to, struct archive *a, struct archive_entry *e,
		     const char *path, struct err *err)
{
	const char *link = archive_entry_symlink(e);
	int64_t left = archive_entry_size(e);
	bool exec = archive_entry_perm(e) & 0100;
	static char buf[1 << 18];

	fprintf(to, "M %s inline ", link ? "120000" : exec ? "100755" : "100644");
	put_path(to, path);
	if (link) {
		fprintf(to, "\ndata %zu\n%s\n", strlen(link), link);
		return 0;
	}
	fprintf(to, "\ndata %" PRId64 "\n", left);
	while (left > 0) {
		la_ssize_t n = archive_read_data(a, buf, sizeof(buf));

		if (n <= 0 || n > left)
			return err_set(err, EXIT_ENVIRONMENT, "%s",
				       n < 0 ? archive_error_string(a) :
				       "its length is not what the archive says");
		fwrite(buf, 1, n, to);
		left -= n;
	}
	fputc('\n', to);
	return 0;
}

static int put_archive(FILE *to, struct archive *a, uint64_t size,
		       struct err *err)
{
	struct archive_entry *e;
	uint64_t files = 0;
	int rc;

	while ((rc = archive_read_next_header(a, &e)) == ARCHIVE_OK) {
		const char *path = archive_entry_pathname(e);
		const char *below = path ? strchr(path, '/') : NULL;
		mode_t type = archive_entry_filetype(e);

		/* All is in one folder, "linux-source-6.12/". */
		if (!below || !below[1] || (type != AE_IFREG && type != AE_IFLNK))
			continue;
		if (archive_entry_hardlink(e))
			return err_set(err, EXIT_ENVIRONMENT,
				       "%s is a hard link", path);
		if (put_entry(to, a, e, below + 1, err))
			return err_prefix(err, "%s", path);
		if (ferror(to))
			return err_set(err, EXIT_ENVIRONMENT,
				       "git fast-import went away");
		if (++files % 256 == 0) {
			progress_step(archive_filter_bytes(a, -1), size, "%s",
				      below + 1);
			if (intr_check(err))
				return -1;
		}
	}
	if (rc != ARCHIVE_EOF)
		return err_set(err, EXIT_ENVIRONMENT, "%s",
			       archive_error_string(a));
	if (!files)
		return err_set(err, EXIT_ENVIRONMENT, "there is no file in it");
	return 0;
}

static int put_commit(FILE *to, const struct source *src, struct err *err)
{
	struct archive *a = archive_read_new();
	struct stat st = { 0 };
	int rc;

	archive_read_support_filter_all(a);
	archive_read_support_format_tar(a);
	fprintf(to, "feature done\ncommit %s\n", src->rev);
	fputs("committer folab <folab@localhost> 0 +0000\ndata 0\n", to);
	rc = archive_read_open_filename(a, src->tarball, 1 << 20);
	if (rc == ARCHIVE_OK && !stat(src->tarball, &st))
		rc = put_archive(to, a, st.st_size, err);
	else
		rc = err_set(err, EXIT_ENVIRONMENT, "%s",
			     archive_error_string(a));
	archive_read_free(a);
	if (rc)
		return err_prefix(err, "%s can't be unpacked", src->tarball);
	fputs("done\n", to);
	return 0;
}

/*
 * fast-import's own words, if it has any, beat that it "went away"; but that
 * its input ended early is no news where we stopped for a reason of ours.  They
 * are kept in memory: the disk may be what it complains of.
 */
static void take_words(int fd, struct err *err)
{
	char said[8192];
	ssize_t n = pread(fd, said, sizeof(said) - 1, 0);

	said[n > 0 ? n : 0] = '\0';
	if (!strstr(said, "ends early") &&
	    (strstr(said, "fatal:") || strstr(said, "No space left"))) {
		err_clear(err);
		git_complain(said, err);
	}
}

/*
 * Without "done" at its end fast-import leaves no ref, so a half-read tarball
 * is never taken for a whole one.
 */
static int fast_import(const struct source *src, struct err *err)
{
	struct git g = { .repo = src->repo };
	struct child_spec spec = { 0 };
	struct strlist argv = { 0 };
	struct child child = { 0 };
	int fds[2], status, rc = -1;
	char *input;
	FILE *to;

	if (pipe2(fds, O_CLOEXEC))
		return err_sys(err, EXIT_ENVIRONMENT, errno, "pipe");
	(void)fcntl(fds[1], F_SETPIPE_SZ, 1 << 20);
	git_argv(&g, &argv);
	/* Level 1, no deltas: what counts is the user's time. */
	strlist_add(&argv, "-c");
	strlist_add(&argv, "pack.compression=1");
	strlist_add(&argv, "fast-import");
	strlist_add(&argv, "--quiet");
	strlist_add(&argv, "--depth=0");
	input = xasprintf("/proc/self/fd/%d", fds[0]);
	spec.argv = argv.v;
	spec.input = input;
	spec.output = memfd_create("import", MFD_CLOEXEC);
	if (spec.output < 0) {
		err_sys(err, EXIT_ENVIRONMENT, errno, "memfd_create");
		close(fds[0]);
		close(fds[1]);
		goto out;
	}
	rc = child_start(&child, &spec, err);
	close(fds[0]);
	to = fdopen(fds[1], "w");
	if (!rc)
		rc = put_commit(to, src, err);
	if (fclose(to) && !rc)
		rc = err_set(err, EXIT_ENVIRONMENT, "git fast-import went away");

	if (rc) {
		child_stop(&child, 1);
		if (err->code != EXIT_INTERRUPTED)
			take_words(spec.output, err);
	} else if (child_wait(&child, -1, &status, err)) {
		child_stop(&child, 1);
		rc = -1;
	} else if (status) {
		take_words(spec.output, err);
		rc = err_set(err, EXIT_ENVIRONMENT, "git fast-import failed");
	}
out:
	if (spec.output >= 0)
		close(spec.output);
	strlist_free(&argv);
	free(input);
	return rc;
}

/* ---- our repositories ----------------------------------------------------- */

static void remove_named(const char *repo, const char *sub, const char *prefix)
{
	char *dir = xasprintf("%s/%s", repo, sub);
	DIR *d = opendir(dir);
	struct dirent *de;

	while (d && (de = readdir(d)))
		if (str_starts(de->d_name, prefix))
			unlinkat(dirfd(d), de->d_name, 0);
	if (d)
		closedir(d);
	free(dir);
}

/* Of an import that did not come to its end; we hold the lock. */
static void remove_debris(const struct source *src)
{
	char *stale = xasprintf("%s/%s.lock", src->repo, src->rev);

	remove_named(src->repo, "objects/pack", "tmp_");
	remove_named(src->repo, ".", "fast_import_crash_");
	unlink(stale);
	free(stale);
}

/* Beside it, then renamed: what is there is whole. */
static int make_repo(const struct source *src, struct err *err)
{
	char *tmp = xasprintf("%s.new", src->repo);
	struct git g = { .repo = tmp };
	int rc;

	rc = file_remove_tree(tmp, err);
	if (!rc)
		rc = git_run(&g, err, "-c", "init.defaultBranch=none", "init",
			     "--quiet", "--bare", tmp, NULL);
	if (!rc && src->objects) {
		char *file = xasprintf("%s/objects/info/alternates", tmp);
		char *line = xasprintf("%s\n", src->objects);

		rc = file_write(file, line, strlen(line), err);
		free(file);
		free(line);
	}
	if (!rc && rename(tmp, src->repo))
		rc = err_sys(err, EXIT_ENVIRONMENT, errno, "can't make %s",
			     src->repo);
	if (rc)
		file_remove_tree(tmp, &(struct err){ 0 });
	free(tmp);
	return rc;
}

static bool have_rev(const struct source *src, struct err *err)
{
	struct git g = { .repo = src->repo };
	char *name = xasprintf("%s^{tree}", src->rev), *said = NULL;
	int rc;

	rc = git_try(&g, &said, err, "cat-file", "-e", name, NULL);
	free(said);
	free(name);
	return rc == 0;
}

static void waiting(void *arg)
{
	const struct source *src = arg;

	progress_note("waiting for another folab that unpacks %s", src->name);
}

/* An unpacked tarball takes about three times its size in the repository. */
static int room_for(const struct source *src, const char *cache,
		    struct err *err)
{
	uint64_t free_bytes, need;
	struct stat st;

	if (stat(src->tarball, &st) || file_free_space(cache, &free_bytes, err))
		return err->code ? -1 : 0;
	need = (uint64_t)st.st_size * 3;
	if (free_bytes < need)
		return err_set(err, EXIT_ENVIRONMENT,
			       "%s has %" PRIu64 " MiB free, unpacking %s takes about %" PRIu64 " MiB; free some space, or set XDG_CACHE_HOME",
			       cache, free_bytes >> 20, src->name, need >> 20);
	return 0;
}

int source_import(const struct source *src, const char *cache,
		  struct err *err)
{
	char *path = xasprintf("%s/locks/source-%s", cache, src->name);
	struct lock lock;
	int rc;

	rc = lock_wait(&lock, path, waiting, (void *)src, err);
	free(path);
	if (rc)
		return -1;
	if (!file_exists(src->repo))
		rc = make_repo(src, err);
	if (!rc && !have_rev(src, err)) {
		if (err->code) {
			rc = -1;
		} else if (src->tarball) {
			remove_debris(src);
			rc = room_for(src, cache, err);
			if (!rc) {
				progress_begin("unpack %s", src->name);
				rc = fast_import(src, err);
				progress_end(rc ? NULL : "unpacked");
			}
			if (rc)
				remove_debris(src);
		} else {
			rc = err_set(err, EXIT_ENVIRONMENT,
				     "commit %s can't be read through %s",
				     src->rev, src->objects);
		}
	}
	lock_release(&lock);
	return rc;
}
