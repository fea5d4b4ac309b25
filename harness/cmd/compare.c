/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Runs that were made one by one, a side of the same kernel each, are compared
 * as if they had been one.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../analyse/analyse.h"
#include "../report/report.h"
#include "cmd.h"
#include "outdir.h"

static const char help[] =
"usage: folab compare [OPTION...] DIR_A DIR_B\n"
"       folab compare [OPTION...] DIR_A... -- DIR_B... [-- DIR_C...]...\n"
"\n"
"Compare earlier runs: side A with side B, and with C if there is one.  A DIR is\n"
"what folab run has written, or a side of what folab ab has: DIR:A, DIR:B.\n"
"Several of a side are taken together, by boot.\n"
"\n"
"  -o, --output=DIR     result directory (results/compare-SCENARIO-DATE-TIME); an\n"
"                       earlier result in it becomes DIR.old\n"
"  -q, --quiet          nothing on standard error but what went wrong\n"
"  -h, --help           this text\n"
"\n"
"exit: 0 done; 1 B (or C, ...) is slower than A by the scenario's first metric,\n"
"or the comparison is invalid; 2 these can't be compared (says why)\n"
"\n"
"examples:\n"
"  folab compare results/a results/b\n"
"  folab compare a1 a2 a3 a4 -- b1 b2 b3 b4\n"
"  folab compare base:A -- v1:B -- v2:B\n";

struct comparison {
	const char *out;
	char **word;		/* DIRs and "--" */
	int n;
	struct strlist doubts, invalid;
	struct strlist joined;	/* "A /real/path:B" */
};

/* Returns 0 to go on, 1 when all is said (*code), -1 with err. */
static int parse_options(struct comparison *c, int argc, char **argv,
			 int *code, struct err *err)
{
	static const struct option options[] = {
		{ "output", required_argument, NULL, 'o' },
		{ "quiet", no_argument, NULL, 'q' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 }
	};
	int opt;

	/* Up to the first DIR: what follows has "--" of its own. */
	while ((opt = getopt_long(argc, argv, "+o:qh", options, NULL)) != -1) {
		switch (opt) {
		case 'o': c->out = optarg; break;
		case 'q': progress_quiet(true); break;
		case 'h':
			fputs(help, stdout);
			*code = EXIT_OK;
			return 1;
		default:
			*code = cmd_usage("compare");
			return 1;
		}
	}
	c->word = argv + optind;
	c->n = argc - optind;
	for (int i = 0; i < c->n; i++)
		if (c->word[i][0] == '-' && strcmp(c->word[i], "--"))
			return err_set(err, EXIT_USAGE,
				       "%s: options come before the first DIR",
				       c->word[i]);
	return 0;
}

static bool is_directory(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

/* "DIR", or "DIR:B".  *side: '\0' if it is not said. */
static char *split_name(const char *name, char *side)
{
	size_t len = strlen(name);

	*side = '\0';
	if (len > 2 && name[len - 2] == ':' && !is_directory(name) &&
	    (name[len - 1] == 'A' || name[len - 1] == 'B')) {
		*side = name[len - 1];
		len -= 2;
	}
	return xstrndup(name, len);
}

static int read_side(const char *name, struct result *r, char *side,
		     struct err *err)
{
	char *dir = split_name(name, side);
	int rc = result_read(dir, r, err);

	free(dir);
	if (rc)
		return -1;
	if (r->tune)
		rc = err_set(err, EXIT_USAGE,
			     "%s is of folab tune: compare what folab run clear-chunk writes",
			     name);
	else if (result_one_sided(r) && *side == 'B')
		rc = err_set(err, EXIT_USAGE, "%s: that run has one side, A",
			     name);
	else if (!result_one_sided(r) && !*side)
		rc = err_set(err, EXIT_USAGE,
			     "%s has two sides: say %s:A or %s:B", name, name,
			     name);
	if (!*side)
		*side = 'A';
	return rc;
}

/* The same samples twice would look like more than they are. */
static int check_once(struct comparison *c, const char *name, char side,
		      char from, struct err *err)
{
	char ignored, *dir = split_name(name, &ignored);
	char *real = realpath(dir, NULL);
	char *key = xasprintf("%c %s:%c", side, real ? real : dir, from);
	int rc = 0;

	for (size_t i = 0; i < c->joined.n && !rc; i++)
		if (!strcmp(c->joined.v[i], key))
			rc = err_set(err, EXIT_USAGE,
				     "%s is on side %c twice", name, side);
	strlist_add(&c->joined, key);
	free(key);
	free(real);
	free(dir);
	return rc;
}

static int join_one(struct comparison *c, const char *name, char side,
		    struct result *r, struct err *err)
{
	struct result one = { 0 };
	int rc;
	char from;

	if (read_side(name, &one, &from, err) ||
	    check_once(c, name, side, from, err))
		rc = -1;
	else
		rc = result_join(r, side, c->word[0], &one, from, name,
				 &c->doubts, err);
	if (!rc && !one.valid)
		strlist_addf(&c->invalid, "%s is invalid: %s", name,
			     one.reasons.n ? one.reasons.v[0] : "not analysed");
	result_free(&one);
	return rc;
}

static int join_all(struct comparison *c, struct result *r, struct err *err)
{
	bool marks = false, any = false;
	char side = 'A';

	for (int i = 0; i < c->n; i++)
		marks = marks || !strcmp(c->word[i], "--");
	if (!marks && c->n != 2)
		return err_set(err, EXIT_USAGE,
			       "folab compare takes two DIRs, or several with -- between the sides");
	for (int i = 0; i < c->n; i++) {
		bool mark = !strcmp(c->word[i], "--");

		if (mark && !any)
			break;
		if (mark || (!marks && i == 1))
			side++;
		if (side >= 'A' + SIDES_MAX)
			return err_set(err, EXIT_USAGE,
				       "more than %d sides", SIDES_MAX);
		any = !mark;
		if (!mark && join_one(c, c->word[i], side, r, err))
			return -1;
	}
	if (!any || side == 'A')
		return err_set(err, EXIT_USAGE,
			       "a side of the comparison has no DIR");
	return 0;
}

/* Trials keep the order of their sides; seeds tell those of real clocks apart. */
static void number_trials(struct result *r)
{
	bool real = !strcmp(r->clock ? r->clock : "", "real");

	for (size_t i = 0; i < r->n_trials; i++) {
		r->trials[i].index = (int64_t)i;
		if (real)
			r->trials[i].seed = (int64_t)i + 1;
	}
}

static char *command_text(const struct comparison *c)
{
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);

	if (!to)
		return xstrdup("folab compare");
	fputs("folab compare", to);
	for (int i = 0; i < c->n; i++)
		cmd_add_word(to, c->word[i]);
	fclose(to);
	return text;
}

static bool same_kernels(const struct result *r)
{
	const struct image *a = &r->side[0], *b = &r->side[1];

	return a->release && b->release && !strcmp(a->release, b->release) &&
	       !strcmp(a->base ? a->base : "", b->base ? b->base : "") &&
	       !strcmp(a->image_hash ? a->image_hash : "",
		       b->image_hash ? b->image_hash : "");
}

static void judge(struct comparison *c, struct result *r)
{
	r->command = command_text(c);
	r->aa = same_kernels(r);
	number_trials(r);
	analyse(r);
	/* What made a run invalid may not show in its samples. */
	for (size_t i = 0; i < c->invalid.n; i++)
		strlist_add(&r->reasons, c->invalid.v[i]);
	if (c->invalid.n)
		r->valid = false;
	for (size_t i = 0; i < r->n_rows && !r->valid; i++)
		r->rows[i].verdict = VERDICT_INVALID;
	if (r->aa)
		strlist_add(&r->notes, "A and B are the same kernel");
	for (size_t i = 0; i < c->doubts.n; i++)
		strlist_add(&r->notes, c->doubts.v[i]);
}

static bool slower(const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct metric *m = metric_find(rows[i].metric);

		if (m && m->better)
			return rows[i].verdict == VERDICT_SLOWER;
	}
	return false;
}

static int answer(const struct result *r)
{
	bool bad = !r->valid || slower(r->rows, r->n_rows);

	for (size_t i = 0; i < r->n_further; i++)
		bad = bad || !r->further[i].valid ||
		      slower(r->further[i].rows, r->further[i].n_rows);
	return bad ? EXIT_NO : EXIT_OK;
}

static int write_result(struct comparison *c, struct result *r, int *code,
			struct err *err)
{
	struct outdir out = { .lock.fd = -1 };
	char *name = xasprintf("compare-%s", r->scenario);
	char *text = NULL;
	int rc = outdir_open(&out, c->out, name, err);

	if (!rc) {
		text = report_text(r);
		rc = cmd_write_reports(out.partial, r, text, err);
	}
	if (!rc)
		rc = result_write(out.partial, r, err);
	if (!rc)
		rc = intr_check(err);
	if (!rc)
		rc = outdir_commit(&out, err);
	if (!rc) {
		fputs(text, stdout);
		progress_note("result: %s", out.path);
		*code = answer(r);
	}
	outdir_close(&out);
	free(text);
	free(name);
	return rc;
}

int cmd_compare(int argc, char **argv)
{
	struct comparison c = { 0 };
	struct result r = { 0 };
	struct err err = { 0 };
	int code = EXIT_OK, rc;

	rc = parse_options(&c, argc, argv, &code, &err);
	if (!rc) {
		intr_install();
		rc = join_all(&c, &r, &err);
	}
	if (!rc) {
		judge(&c, &r);
		rc = write_result(&c, &r, &code, &err);
	}
	if (rc < 0)
		code = cmd_fail(&err);
	strlist_free(&c.joined);
	strlist_free(&c.doubts);
	strlist_free(&c.invalid);
	result_free(&r);
	return code;
}
