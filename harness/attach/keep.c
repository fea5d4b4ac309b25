/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the user named, and which kind of place that is.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "private.h"

/* The one cover letter that git format-patch has put into @dir. */
static char *find_cover(const char *dir, struct err *err)
{
	DIR *d = opendir(dir);
	char *found = NULL;
	struct dirent *de;

	if (!d) {
		err_sys(err, EXIT_ENVIRONMENT, errno, "can't read %s", dir);
		return NULL;
	}
	while ((de = readdir(d))) {
		if (!span_matches(de->d_name, 0, strlen(de->d_name),
				  "^(v[0-9][0-9.]*-)?0000-.*\\.patch$"))
			continue;
		if (found) {
			err_set(err, EXIT_USAGE,
				"%s has several cover letters, %s and %s; name one",
				dir, strrchr(found, '/') + 1, de->d_name);
			free(found);
			found = NULL;
			goto out;
		}
		found = xasprintf("%s/%s", dir, de->d_name);
	}
	if (!found)
		err_set(err, EXIT_USAGE,
			"no cover letter (0000-*.patch) in %s; git format-patch --cover-letter makes one",
			dir);
out:
	closedir(d);
	return found;
}

/*
 * Is there a branch of that name where @repo is?  1, 0, or -1 if git does not
 * even look: it is not there, or the repository is somebody else's.
 */
static int has_branch(const char *repo, const char *branch, struct err *err)
{
	struct git g = { .dir = repo };
	char *ref = xasprintf("refs/heads/%s", branch), *out = NULL;
	int rc = git_try(&g, &out, err, "rev-parse", "--verify", "-q", ref,
			 NULL);

	if (rc > 1 && !strstr(out, "not a git repository")) {
		git_complain(out, err);
		rc = -1;
	}
	free(out);
	free(ref);
	return rc < 0 ? -1 : rc == 0;
}

/* git:PATH@BRANCH; the branch's name may have an @, too. */
static int open_git(struct letter *l, const char *spec, struct err *err)
{
	const char *at = strchr(spec, '@');
	struct stat st;

	while (at) {
		char *path = xstrndup(spec, at - spec);
		int rc = 0;

		if (!stat(path, &st) && S_ISDIR(st.st_mode))
			rc = has_branch(path, at + 1, err);
		if (rc > 0) {
			l->repo = path;
			l->branch = xstrdup(at + 1);
			return branch_open(l, err);
		}
		free(path);
		if (rc < 0)
			return -1;
		at = strchr(at + 1, '@');
	}
	return err_set(err, EXIT_USAGE,
		       "git:%s: no such branch there; it is git:PATH@BRANCH",
		       spec);
}

static int open_target(struct letter *l, const char *target, struct err *err)
{
	struct stat st;
	int rc;

	if (str_starts(target, "git:"))
		return open_git(l, target + 4, err);
	if (!stat(target, &st)) {
		l->path = S_ISDIR(st.st_mode) ? find_cover(target, err) :
			xstrdup(target);
		return l->path ? mail_open(l, err) : -1;
	}
	rc = has_branch(".", target, err);
	if (rc <= 0)
		return rc ? -1 : err_set(err, EXIT_USAGE,
					 "no file, directory or branch \"%s\"",
					 target);
	l->repo = xstrdup(".");
	l->branch = xstrdup(target);
	return branch_open(l, err);
}

int letter_open(struct letter *l, const char *target, struct err *err)
{
	memset(l, 0, sizeof(*l));
	if (!open_target(l, target, err))
		return 0;
	letter_free(l);
	return -1;
}

int letter_store(struct letter *l, const char *text, struct strlist *said,
		 struct err *err)
{
	return l->keeper->store(l, text, said, err);
}

char *letter_diff(const struct letter *l, const char *text, struct err *err)
{
	char *was = NULL, *is = NULL, *out = NULL;
	char *argv[] = { (char *)"diff", (char *)"-u", (char *)"--label",
			 xasprintf("a/%s", l->name), (char *)"--label",
			 xasprintf("b/%s", l->name), (char *)"--", NULL, NULL,
			 NULL };
	struct child_spec spec = { .argv = argv, .output = -1 };
	int a = file_of_text(l->text, err), b = -1, rc;

	if (a >= 0)
		b = file_of_text(text, err);
	if (b < 0)
		goto out;
	was = xasprintf("/proc/%d/fd/%d", (int)getpid(), a);
	is = xasprintf("/proc/%d/fd/%d", (int)getpid(), b);
	argv[7] = was;
	argv[8] = is;
	rc = child_capture(&spec, false, &out, err);
	if (rc > 1) {
		err_set(err, EXIT_ENVIRONMENT, "diff(1) failed (exit code %d)",
			rc);
		free(out);
		out = NULL;
	}
out:
	if (a >= 0)
		close(a);
	if (b >= 0)
		close(b);
	free(was);
	free(is);
	free(argv[3]);
	free(argv[5]);
	return out;
}

void letter_free(struct letter *l)
{
	free(l->name);
	free(l->text);
	free(l->path);
	free(l->repo);
	free(l->branch);
	free(l->commit);
	free(l->tip);
	memset(l, 0, sizeof(*l));
}
