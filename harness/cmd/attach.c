/* SPDX-License-Identifier: GPL-2.0 */
#include <stdlib.h>
#include <string.h>

#include "../attach/attach.h"
#include "cmd.h"
#include "outdir.h"

static const char help[] =
"usage: folab attach [-r RESULT]... [OPTION...] MBOX|DIR|BRANCH\n"
"\n"
"Put the report of a run into a cover letter, below the blurb, between two lines\n"
"of ====.  The next time it is replaced there; all else in the letter stays, byte\n"
"for byte.  The letter lies in\n"
"\n"
"  MBOX    a mail, or a mailbox that begins with it: 0000-cover-letter.patch\n"
"  DIR     what git format-patch --cover-letter -o DIR has filled\n"
"  BRANCH  a branch of the repository here, or git:PATH@BRANCH: in the commit of\n"
"          b4 prep, else in its description (git branch --edit-description)\n"
"\n"
"  -r, --result=DIR  what folab ab has written (the newest in results/); several:\n"
"                    a block each, one a scenario and architecture\n"
"  -n, --dry-run     print what would change, as a diff, and change nothing\n"
"      --remove      take out all blocks; with -r only those of these results\n"
"      --force       also a run that claims nothing: invalid, or --aa\n"
"  -h, --help        this text\n"
"\n"
"exit: 0 done, or nothing to do; 1 the run claims nothing; 2 no cover letter\n"
"there; 4 not in this encoding, or not in this state of the repository\n"
"\n"
"examples:\n"
"  git format-patch --cover-letter -o out v6.12 && folab attach out\n"
"  folab attach -r results/arm64 -r results/x86_64 my-series\n"
"  folab attach -n my-series\n";

struct attach {
	struct strlist results;
	struct block *blocks;
	bool dry_run, force, remove;
	const char *target;
};

static int parse(struct attach *a, int argc, char **argv, struct err *err)
{
	enum { OPT_REMOVE = 256, OPT_FORCE };
	static const struct option options[] = {
		{ "result", required_argument, NULL, 'r' },
		{ "dry-run", no_argument, NULL, 'n' },
		{ "remove", no_argument, NULL, OPT_REMOVE },
		{ "force", no_argument, NULL, OPT_FORCE },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 }
	};
	int c;

	while ((c = getopt_long(argc, argv, "r:nh", options, NULL)) != -1) {
		switch (c) {
		case 'r':
			strlist_add(&a->results, optarg);
			break;
		case 'n':
			a->dry_run = true;
			break;
		case OPT_REMOVE:
			a->remove = true;
			break;
		case OPT_FORCE:
			a->force = true;
			break;
		case 'h':
			fputs(help, stdout);
			return 1;
		default:
			err->code = cmd_usage("attach");
			return 1;
		}
	}
	if (argc - optind != 1)
		return err_set(err, EXIT_USAGE,
			       "folab attach takes one MBOX, DIR or BRANCH");
	a->target = argv[optind];
	return 0;
}

/* Without -r: the newest result, and the user is told which. */
static int find_results(struct attach *a, struct err *err)
{
	char *newest;

	if (a->results.n || a->remove)
		return 0;
	newest = outdir_newest(err);
	if (!newest)
		return -1;
	progress_note("folab: the result is %s", newest);
	strlist_add(&a->results, newest);
	free(newest);
	return 0;
}

static int make_blocks(struct attach *a, struct err *err)
{
	a->blocks = xcalloc(a->results.n + 1, sizeof(*a->blocks));
	for (size_t i = 0; i < a->results.n; i++) {
		struct result r;
		int rc;

		if (result_read(a->results.v[i], &r, err))
			return -1;
		/* Out it goes, whatever it claims. */
		rc = block_make(&a->blocks[i], &r, a->force || a->remove, err);
		result_free(&r);
		if (rc)
			return err_prefix(err, "%s", a->results.v[i]);
		for (size_t k = 0; k < i; k++)
			if (!strcmp(a->blocks[i].key, a->blocks[k].key))
				return err_set(err, EXIT_USAGE,
					       "%s and %s are both of %s, of which a letter has one block; give one a scenario file of its own",
					       a->results.v[k],
					       a->results.v[i],
					       a->blocks[i].key);
	}
	return 0;
}

static int show(const struct letter *l, const char *text, struct err *err)
{
	char *diff = letter_diff(l, text, err);

	if (!diff)
		return -1;
	fputs(diff, stdout);
	free(diff);
	return 0;
}

static int attach(struct attach *a, struct err *err)
{
	struct edit e = { .remove = a->remove };
	struct strlist did = { 0 }, said = { 0 };
	struct letter l;
	char *text;
	int rc = -1;

	if (find_results(a, err) || make_blocks(a, err))
		return -1;
	e.blocks = a->blocks;
	e.n = a->results.n;
	if (letter_open(&l, a->target, err))
		return -1;
	text = letter_edit(&l, &e, &did, err);
	if (text && a->dry_run) {
		rc = show(&l, text, err);
	} else if (text && !strcmp(text, l.text)) {
		printf("%s: nothing to change\n", l.name);
		rc = 0;
	} else if (text) {
		rc = letter_store(&l, text, &said, err);
		for (size_t i = 0; i < did.n && !rc; i++)
			printf("%s: %s\n", l.name, did.v[i]);
		for (size_t i = 0; i < said.n; i++)
			printf("%s\n", said.v[i]);
	}
	free(text);
	letter_free(&l);
	strlist_free(&did);
	strlist_free(&said);
	return rc;
}

int cmd_attach(int argc, char **argv)
{
	struct attach a = { 0 };
	struct err err = { 0 };
	int rc = parse(&a, argc, argv, &err), code = err.code;

	if (rc == 0) {
		intr_install();
		rc = attach(&a, &err);
	}
	if (rc < 0)
		code = cmd_fail(&err);
	for (size_t i = 0; a.blocks && i < a.results.n; i++)
		block_free(&a.blocks[i]);
	free(a.blocks);
	strlist_free(&a.results);
	return code;
}
