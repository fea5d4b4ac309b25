/* SPDX-License-Identifier: GPL-2.0 */
#include "check.h"

#include <sys/stat.h>

#include "../attach/attach.h"

#define BEGIN	"==== folab:begin s/arm64 ====\n\n"
#define END	"\n==== folab:end s/arm64 ====\n"
#define BLOCK	BEGIN "A: 1\n" END

static struct block one = { (char *)"s/arm64", (char *)"A: 1\n" };
static struct block two = { (char *)"s/x86_64", (char *)"B: 2\n" };

static char *edit_with(const char *text, const struct block *b, size_t n,
		       bool remove, struct err *err)
{
	struct letter l = { .name = (char *)"x", .text = (char *)text,
			    .end = strlen(text) };
	struct edit e = { b, n, remove };
	struct strlist did = { 0 };
	char *out = letter_edit(&l, &e, &did, err);

	strlist_free(&did);
	return out;
}

static char *edit(const char *text, const struct block *b, size_t n,
		  bool remove)
{
	struct err err = { 0 };
	char *out = edit_with(text, b, n, remove, &err);

	if (!out)
		fail_msg("%s", err.text);
	return out;
}

#define SHORTLOG	"A U Thor (2):\n  mm: one\n  mm: a subject so long\n" \
			"    that it goes on\n\n B (1):\n"
#define TWO		"A U Thor (2):\n  mm: one\n  mm: two\n\n"
#define STAT		" mm/rmap.c | 12 ++++--\n 1 file changed, 9 insertions(+)\n\n"

/* A block goes below the blurb, whatever comes next, and nothing else moves. */
static void places(void **state)
{
	static const struct {
		const char *before, *after;	/* the block goes in between */
		const char *glue;		/* blank line in front of it */
		const char *tail;		/* and behind */
	} t[] = {
		{ "blurb\n\n", TWO STAT "-- \n2.39.5\n", "", "\n" },
		{ "blurb\n\n", STAT "-- \n2.39.5\n", "", "\n" },
		{ "blurb\n\n", SHORTLOG, "", "\n" },
		/* as git shortlog and b4 indent it */
		{ "blurb\n\n", "A U Thor (1):\n      mm: one\n\n" STAT, "", "\n" },
		{ "blurb\n", "---\nv2: all of it\n\n" TWO, "\n", "" },
		{ "blurb\n\n", "Cc: a@b\nSigned-off-by: c <c@d>\n\n" TWO, "", "\n" },
		{ "blurb\n\n", "Signed-off-by: c <c@d>\n\nTo: a@b\n", "", "\n" },
		{ "blurb\n\n", "base-commit: 12\n", "", "\n" },
		{ "blurb\n", "", "\n", "" },
		{ "blurb\n\n", "", "", "\n" },
		{ "", "", "", "\n" },
		{ "", TWO, "", "\n" },
		/* what looks like a shortlog or a diffstat and is none */
		{ "as in (3):\n  one\n  two\n\nmore\n\n", TWO, "", "\n" },
		{ "Size (2):\n  4K | 1\n\n a | 3\n b | 4\n\nend\n\n", TWO, "", "\n" },
		/* the last line of the blurb is no trailer */
		{ "blurb\nCc: all of you\n", "", "\n", "" },
		{ "Note: this\n", "", "\n", "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		char *letter = xasprintf("%s%s", t[i].before, t[i].after);
		char *want = xasprintf("%s%s" BLOCK "%s%s", t[i].before,
				       t[i].glue, t[i].tail, t[i].after);
		char *got = edit(letter, &one, 1, false);
		char *again = edit(got, &one, 1, false);
		char *gone = edit(got, NULL, 0, true);

		assert_string_equal(got, want);
		assert_string_equal(again, want);
		assert_string_equal(gone, letter);
		free(letter);
		free(want);
		free(got);
		free(again);
		free(gone);
	}
}

/* A last line without an end stays one, and lines end as the others do. */
static void ends(void **state)
{
	char *got = edit("blurb", &one, 1, false), *back, *more;

	assert_string_equal(got, "blurb\n\n" BEGIN "A: 1\n\n==== folab:end s/arm64 ====");
	more = edit(got, &two, 1, false);
	assert_true(str_starts(more, got));
	back = edit(more, &one, 1, true);
	free(got);
	got = edit(back, &two, 1, true);
	assert_string_equal(got, "blurb");
	free(got);
	free(back);
	free(more);

	got = edit("blurb\r\n\r\nA U (1):\r\n  one\r\n", &one, 1, false);
	for (char *p = got; (p = strchr(p, '\n')); p++)
		assert_int_equal(p[-1], '\r');
	assert_non_null(strstr(got, "A: 1\r\n\r\n==== folab:end s/arm64 ====\r\n\r\nA U (1):"));
	back = edit(got, NULL, 0, true);
	assert_string_equal(back, "blurb\r\n\r\nA U (1):\r\n  one\r\n");
	free(got);
	free(back);
}

/*
 * Letters of lines at random, of those that mean something: what was put in can be
 * taken out, and twice is once.
 */
static void any_letter(void **state)
{
	static const char *const lines[] = {
		"", " ", "text", "A U (1):", "A U (2):", "  mm: one",
		"      mm: six", " f | 2 ++", " 1 file changed", "---", "-- ",
		"Cc: a@b", "Signed-off-by: c <c@d>", "Note: x", "base-commit: 1",
		"==== folab:begin ====", "> ==== folab:end s/arm64 ====",
	};
	struct block both[] = { one, two };

	for (uint64_t seed = 0; seed < 5000; seed++) {
		size_t n = mix64(seed) % 9, len;
		const char *eol = seed % 3 ? "\n" : "\r\n";
		char *letter, *got, *again, *gone, *first;
		FILE *to = open_memstream(&letter, &len);

		assert_non_null(to);
		for (size_t i = 0; i < n; i++)
			fprintf(to, "%s%s", lines[mix64(seed * 16 + i + 1) %
						  ARRAY_SIZE(lines)],
				i + 1 == n && seed % 5 == 0 ? "" : eol);
		fclose(to);
		got = edit(letter, both, 2, false);
		again = edit(got, both, 2, false);
		assert_string_equal(got, again);
		gone = edit(got, NULL, 0, true);
		assert_string_equal(gone, letter);
		first = edit(got, &one, 1, true);
		free(gone);
		gone = edit(first, &two, 1, true);
		assert_string_equal(gone, letter);
		free(letter);
		free(got);
		free(again);
		free(gone);
		free(first);
	}
}

/* A later run replaces its own block where it stands, and no other. */
static void several(void **state)
{
	struct block both[] = { one, two };
	struct block newer = { (char *)"s/arm64", (char *)"A: 9\nmore\n" };
	char *got = edit("blurb\n\n" TWO, both, 2, false), *a, *b, *next;

	a = strstr(got, "begin s/arm64");
	b = strstr(got, "begin s/x86_64");
	assert_true(a && b && a < b && b < strstr(got, "A U Thor"));
	next = edit(got, &newer, 1, false);
	assert_null(strstr(next, "A: 1\n"));
	assert_non_null(strstr(next, "A: 9\nmore\n\n==== folab:end s/arm64 ====\n\n==== folab:begin s/x86_64"));
	assert_non_null(strstr(next, "\nB: 2\n"));
	free(got);
	got = edit(next, &newer, 1, true);
	assert_null(strstr(got, "arm64"));
	assert_non_null(strstr(got, "blurb\n\n==== folab:begin s/x86_64"));
	free(next);
	/* The user has moved it: it stays there. */
	next = edit(BLOCK "\nblurb\n", &newer, 1, false);
	assert_string_equal(next, BEGIN "A: 9\nmore\n" END "\nblurb\n");
	free(next);
	/* What stands in a block is no end of the blurb. */
	next = edit(BEGIN "---\n" END "\nblurb\n\n" TWO, &two, 1, false);
	assert_non_null(strstr(next, "blurb\n\n==== folab:begin s/x86_64"));
	free(next);
	free(got);
}

/* Markers that somebody has broken are not guessed at. */
static void broken(void **state)
{
	static const struct { const char *text, *why; } t[] = {
		{ BEGIN "A: 1\n", "has no folab:end" },
		{ "x\n" END, "ends no block" },
		{ BEGIN BLOCK, "no block can begin" },
		{ BLOCK BLOCK, "no block can begin" },
		{ BEGIN "==== folab:end s/x86_64 ====\n", "ends no block" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		struct err err = { 0 };

		assert_null(edit_with(t[i].text, &one, 1, false, &err));
		assert_err(&err, EXIT_USAGE, t[i].why);
		err_clear(&err);
		assert_null(edit_with(t[i].text, NULL, 0, true, &err));
	}
	/* Quoted in a reply, or not ours: no marker. */
	char *got = edit("> " BEGIN "==== folab:begin ====\n", &one, 1, false);

	free(got);
}

/* What a mail is taken for, and why not. */
static void mails(void **state)
{
#define HEAD	"Subject: [PATCH 0/2] x\n"
	static const struct { const char *text; int code; const char *why; } t[] = {
		{ HEAD "\nblurb\n", 0, NULL },
		{ "From 12 Mon Sep 17 00:00:00 2001\n" HEAD "\nb\n", 0, NULL },
		{ "Subject: [RFC PATCH v2\n 00/12] x\n\nb\n", 0, NULL },
		{ "subject:[PATCH mm-new v10 0/3] x\n\nb\n", 0, NULL },
		{ "Subject: [0/3] x\n\nb\n", 0, NULL },
		{ HEAD "Content-Type: text/plain; charset=UTF-8\n"
		  "Content-Transfer-Encoding: 8bit\n\nb\n", 0, NULL },
		{ HEAD "Content-Transfer-Encoding: quoted-printable\n\nb\n",
		  EXIT_SKIPPED, "quoted-printable" },
		{ HEAD "content-transfer-encoding:\n base64\n\nb\n",
		  EXIT_SKIPPED, "base64" },
		{ HEAD "Content-Type: multipart/mixed; boundary=x\n\nb\n",
		  EXIT_SKIPPED, "multipart" },
		{ "Subject: [PATCH 10/12] x\n\nb\n", EXIT_USAGE, "no cover letter" },
		{ "Subject: [PATCH v0/2 1/2] x\n\nb\n", EXIT_USAGE, "no cover letter" },
		{ "Subject: [PATCH] a 0/2 b\n\nb\n", EXIT_USAGE, "no cover letter" },
		{ "To: x\n\nSubject: [PATCH 0/1] x\n", EXIT_USAGE, "this has none" },
		{ HEAD, EXIT_USAGE, "no body" },
		{ "", EXIT_USAGE, "no body" },
		{ "int main(void)\n", EXIT_USAGE, "is no header" },
	};
	char *dir = test_dir();

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		char *path = test_file(dir, "mail", t[i].text);
		struct err err = { 0 };
		struct letter l;
		int rc = letter_open(&l, path, &err);

		if (t[i].code) {
			assert_int_equal(rc, -1);
			assert_err(&err, t[i].code, t[i].why);
		} else {
			assert_int_equal(rc, 0);
			assert_int_equal(l.end, strlen(t[i].text));
			letter_free(&l);
		}
		free(path);
	}
	test_dir_remove(dir);
}

/* Only the first mail of a mailbox is the letter. */
static void mailbox(void **state)
{
	static const char text[] =
		"From 12 Mon Sep 17 00:00:00 2001\n" HEAD "\nblurb\n"
		"From there on it is fine\n\n"
		"From 34 Mon Sep 17 00:00:00 2001\nSubject: [PATCH 1/2] y\n\n---\n";
	char *dir = test_dir(), *path = test_file(dir, "mbox", text), *out;
	struct edit e = { &one, 1, false };
	struct strlist did = { 0 };
	struct err err = { 0 };
	struct letter l;

	assert_int_equal(letter_open(&l, path, &err), 0);
	assert_true(str_starts(l.text + l.end, "From 34 "));
	out = letter_edit(&l, &e, &did, &err);
	assert_non_null(strstr(out, "it is fine\n\n" BLOCK "\nFrom 34 "));
	free(out);
	strlist_free(&did);
	letter_free(&l);
	free(path);
	test_dir_remove(dir);
}

/*
 * No line of a block means anything to git, b4 or a mailbox; a run that claims
 * nothing makes none.
 */
static void blocks(void **state)
{
	struct err err = { 0 };
	struct block b;
	struct result r;

	assert_int_equal(result_read("results/reference/reclaim-file-arm64",
				     &r, &err), 0);
	assert_int_equal(block_make(&b, &r, false, &err), 0);
	assert_string_equal(b.key, "reclaim-file/arm64");
	for (const char *p = b.text; *p; p++)
		assert_true(*p == '\n' || (*p >= ' ' && *p <= '~'));
	for (const char *p = b.text; *p; p = strchr(p, '\n') + 1)
		assert_true(strchr(p, '\n') - p <= 75);
	assert_non_null(strstr(b.text, "+-0.0%"));
	block_free(&b);

	for (const char *const *s = (const char *const []){
			"From me at 1:23 2026", "--- a/mm", "-- x", "#hash",
			"diff --git a b", "==== folab:end reclaim-file/arm64 ====",
			NULL }; *s; s++) {
		/* With what stands in front that fills the line. */
		char *begins = xasprintf("\n %s", *s);

		free(r.summary);
		r.summary = xasprintf("%051d %s", 0, *s);
		assert_int_equal(block_make(&b, &r, false, &err), 0);
		for (const char *p = b.text; *p; p = strchr(p, '\n') + 1)
			if (str_starts(p, *s))
				fail_msg("a line begins with %s", *s);
		if (!strstr(b.text, begins))
			fail_msg("no line begins with a space and %s", *s);
		free(begins);
		block_free(&b);
	}
	free(r.summary);
	r.summary = xstrdup("Größe");
	assert_int_equal(block_make(&b, &r, false, &err), 0);
	assert_non_null(strstr(b.text, "Gr??e"));
	block_free(&b);
	free(r.summary);
	r.summary = xstrdup("x " B4_TRACKING);
	assert_int_equal(block_make(&b, &r, false, &err), -1);
	assert_err(&err, EXIT_USAGE, "cuts a letter in two");
	err_clear(&err);

	r.aa = true;
	assert_int_equal(block_make(&b, &r, false, &err), -1);
	assert_err(&err, EXIT_NO, "with itself");
	err_clear(&err);
	r.aa = r.valid = false;
	strlist_add(&r.reasons, "kswapd was there");
	assert_int_equal(block_make(&b, &r, false, &err), -1);
	assert_err(&err, EXIT_NO, "kswapd was there");
	r.two_by_two.asked = r.valid = true;
	err_clear(&err);
	assert_int_equal(block_make(&b, &r, false, &err), -1);
	assert_err(&err, EXIT_NO, "C or D");
	r.two_by_two.asked = false;
	variant_add(&r, "MGLRU")->r->valid = false;
	err_clear(&err);
	assert_int_equal(block_make(&b, &r, false, &err), -1);
	assert_err(&err, EXIT_NO, "its row MGLRU is not valid");
	result_free(&r);
}

/* A file keeps its mode; a link stays one; who came first is not overwritten. */
static void replacing(void **state)
{
	char *dir = test_dir(), *path = test_file(dir, "f", "old"), *text;
	char *link = xasprintf("%s/l", dir);
	struct err err = { 0 };
	struct stat st;

	assert_int_equal(symlink("f", link), 0);
	assert_int_equal(chmod(path, 0640), 0);
	assert_int_equal(file_replace(link, "old", "new", &err), 0);
	assert_int_equal(lstat(link, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
	assert_int_equal(file_read(path, 100, &text, NULL, &err), 0);
	assert_string_equal(text, "new");
	free(text);
	assert_int_equal(file_replace(path, "old", "newer", &err), -1);
	assert_err(&err, EXIT_ENVIRONMENT, "changed meanwhile");
	assert_int_equal(file_read(path, 100, &text, NULL, &err), 0);
	assert_string_equal(text, "new");
	free(text);
	free(link);
	free(path);
	test_dir_remove(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(places),
		cmocka_unit_test(ends),
		cmocka_unit_test(any_letter),
		cmocka_unit_test(several),
		cmocka_unit_test(broken),
		cmocka_unit_test(mails),
		cmocka_unit_test(mailbox),
		cmocka_unit_test(blocks),
		cmocka_unit_test(replacing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
