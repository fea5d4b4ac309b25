/* SPDX-License-Identifier: GPL-2.0 */
#include <stdlib.h>
#include <string.h>

#include "../report/report.h"
#include "cmd.h"

#define CHECK_MAX	(256u << 20)	/* bytes of what folab check kept */

static const char help[] =
"usage: folab report DIR [--format=text|html|json|ktap|junit] [--row=NAME]\n"
"\n"
"Print the report of the run in DIR.  The text is the same, byte for byte,\n"
"as DIR/report.txt.\n"
"\n"
"  -f, --format=FORMAT  text (default): at most 40 lines of 75 columns for a\n"
"                       posting; html: one page with charts, as report.html;\n"
"                       json: what result.json holds; ktap, junit: a\n"
"                       test for validity, decisions and each metric, and the\n"
"                       selftests if they ran\n"
"  -r, --row=NAME       the report of one row of folab ab --rows, as of a run of\n"
"                       its own\n"
"  -h, --help           this text\n"
"\n"
"DIR may also be what folab check -o has written: ktap (default there), junit.\n"
"\n"
"examples:\n"
"  folab report results/reference/reclaim-file-arm64\n"
"  folab report DIR -f junit > folab.xml\n";

/* What folab check kept in @dir for @format; NULL: it keeps none such. */
static char *check_file(const char *dir, const char *format)
{
	if (!strcmp(format, "ktap"))
		return xasprintf("%s/check.ktap", dir);
	if (!strcmp(format, "junit"))
		return xasprintf("%s/check.xml", dir);
	return NULL;
}

static bool is_check(const char *dir)
{
	char *result = xasprintf("%s/result.json", dir);
	char *ktap = check_file(dir, "ktap");
	bool is = !file_exists(result) && file_exists(ktap);

	free(ktap);
	free(result);
	return is;
}

/* @format NULL: the default. */
static int print_check(const char *dir, const char *format, struct err *err)
{
	char *path = check_file(dir, format ? format : "ktap"), *text;
	size_t len;
	int rc;

	if (!path)
		return err_set(err, EXIT_USAGE,
			       "%s is of folab check, which has no format %s; there are ktap and junit",
			       dir, format);
	rc = file_read(path, CHECK_MAX, &text, &len, err);
	free(path);
	if (rc)
		return -1;
	fwrite(text, 1, len, stdout);
	free(text);
	return 0;
}

/* The result that is asked for, @r's own or a row's; NULL with @err set. */
static const struct result *result_of(const struct result *r, const char *row,
				      const char *dir, struct err *err)
{
	const struct variant *v;
	char list[600] = "none";
	size_t n = 0;

	if (!row)
		return r;
	v = variant_find(r, row);
	if (v)
		return v->r;
	for (size_t i = 0; i < r->n_variants && n < sizeof(list); i++)
		n += snprintf(list + n, sizeof(list) - n, "%s%s", i ? ", " : "",
			      r->variants[i].name);
	err_set(err, EXIT_USAGE, "--row: no row \"%.60s\" in %s; there are: %s",
		row, dir, list);
	return NULL;
}

static int print_result(const char *dir, const char *format, const char *row,
			struct err *err)
{
	const struct result *wanted;
	struct result r;
	char *text;

	if (result_read(dir, &r, err))
		return -1;
	wanted = result_of(&r, row, dir, err);
	if (wanted) {
		text = report_format(format ? format : "text")(wanted);
		fputs(text, stdout);
		free(text);
	}
	result_free(&r);
	return wanted ? 0 : -1;
}

int cmd_report(int argc, char **argv)
{
	static const struct option options[] = {
		{ "format", required_argument, NULL, 'f' },
		{ "row", required_argument, NULL, 'r' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 }
	};
	const char *format = NULL, *row = NULL, *dir;
	struct err err = { 0 };
	int c, rc;

	while ((c = getopt_long(argc, argv, "f:r:h", options, NULL)) != -1) {
		switch (c) {
		case 'f':
			format = optarg;
			if (!report_format(format)) {
				err_set(&err, EXIT_USAGE,
					"no format \"%s\"; there are text, html, json, ktap and junit",
					format);
				return cmd_fail(&err);
			}
			break;
		case 'r':
			row = optarg;
			break;
		case 'h':
			fputs(help, stdout);
			return EXIT_OK;
		default:
			return cmd_usage("report");
		}
	}
	if (argc - optind != 1) {
		err_set(&err, EXIT_USAGE, "folab report takes one DIR");
		return cmd_fail(&err);
	}
	dir = argv[optind];
	rc = !row && is_check(dir) ? print_check(dir, format, &err) :
		print_result(dir, format, row, &err);
	return rc ? cmd_fail(&err) : EXIT_OK;
}
