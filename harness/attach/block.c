/* SPDX-License-Identifier: GPL-2.0 */
#include <stdlib.h>
#include <string.h>

#include "../report/report.h"
#include "private.h"

/*
 * Beginnings of lines that mean something to who reads the letter: mailboxes
 * (From), git am (---, diff, Index:), mail (the signature's --), b4, which drops
 * lines with #, and ourselves (====).
 */
static const char *const special[] = {
	"From ", ">From", "---", "-- ", "diff ", "Index: ", "#", "====",
};

static bool is_special(const char *line)
{
	for (size_t i = 0; i < ARRAY_SIZE(special); i++)
		if (str_starts(line, special[i]))
			return true;
	return false;
}

/*
 * @in as ASCII.  " ±1.0%" becomes "+-1.0%", which keeps the columns; what else
 * is not ASCII can only come from names that the user gave, and becomes "?".
 */
static void put_ascii(FILE *to, const char *in)
{
	static const char spread[] = " ±";

	while (*in) {
		unsigned char c = *in;

		if (str_starts(in, spread)) {
			fputs("+-", to);
			in += strlen(spread);
		} else if (str_starts(in, spread + 1)) {
			fputs("+-", to);
			in += strlen(spread + 1);
		} else {
			/* Bytes of UTF-8 that continue a character say nothing. */
			if ((c & 0xc0) != 0x80)
				fputc(c < 0x80 ? c : '?', to);
			in++;
		}
	}
}

static char *plain_text(const char *report)
{
	char *copy = xstrdup(report), *save, *line, *out;
	size_t len;
	FILE *to = open_memstream(&out, &len);

	if (!to)
		abort();
	for (line = strtok_r(copy, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		if (is_special(line))
			fputc(' ', to);
		put_ascii(to, line);
		fputc('\n', to);
	}
	fclose(to);
	free(copy);
	return out;
}

/* A word: the marker's line is taken apart at spaces. */
static char *key_of(const struct result *r)
{
	const struct arch *arch = r->side[0].arch;
	char *key = arch ? xasprintf("%s/%s", r->scenario, arch->name) :
		xstrdup(r->scenario);

	for (char *p = key; *p; p++)
		if (*p <= ' ' || *p > '~')
			*p = '-';
	return key;
}

/* Why nothing can be claimed by @r; NULL: something can. */
static char *objection(const struct result *r)
{
	if (!r->valid)
		return xasprintf("the run is not valid (%s)",
				 r->reasons.n ? r->reasons.v[0] : "no reason given");
	if (r->two_by_two.asked && !r->two_by_two.valid)
		return xstrdup("the run is not valid for C or D");
	for (size_t i = 0; i < r->n_variants; i++)
		if (!r->variants[i].r->valid)
			return xasprintf("its row %s is not valid",
					 r->variants[i].name);
	if (r->aa)
		return xstrdup("it compares a kernel with itself");
	return NULL;
}

int block_make(struct block *b, const struct result *r, bool force,
	       struct err *err)
{
	char *why = force ? NULL : objection(r), *report;

	memset(b, 0, sizeof(*b));
	if (why) {
		err_set(err, EXIT_NO,
			"%s: %s, so that it can't claim anything; --force attaches it all the same",
			r->scenario, why);
		free(why);
		return -1;
	}
	report = report_text(r);
	b->text = plain_text(report);
	b->key = key_of(r);
	free(report);
	if (strstr(b->text, B4_TRACKING)) {
		block_free(b);
		return err_set(err, EXIT_USAGE,
			       "the report holds \"%s\", with which b4 cuts a letter in two",
			       B4_TRACKING);
	}
	return 0;
}

void block_free(struct block *b)
{
	free(b->key);
	free(b->text);
	memset(b, 0, sizeof(*b));
}
