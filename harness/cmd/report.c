/* SPDX-License-Identifier: GPL-2.0 */
#include <stdlib.h>

#include "../report/report.h"
#include "cmd.h"

static const char help[] =
"usage: folab report DIR [--format=text|json]\n"
"\n"
"Print the report of the run in DIR.  The text is the same, byte for byte,\n"
"as DIR/report.txt.\n"
"\n"
"  -f, --format=FORMAT  text (default): at most 40 lines of 75 columns for a\n"
"                       posting; json: what result.json holds\n"
"  -h, --help           this text\n"
"\n"
"example: folab report results/reference/reclaim-file-arm64\n";

int cmd_report(int argc, char **argv)
{
	static const struct option options[] = {
		{ "format", required_argument, NULL, 'f' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 }
	};
	report_fn format = report_format("text");
	struct err err = { 0 };
	struct result r;
	char *text;
	int c;

	while ((c = getopt_long(argc, argv, "f:h", options, NULL)) != -1) {
		switch (c) {
		case 'f':
			format = report_format(optarg);
			if (!format) {
				err_set(&err, EXIT_USAGE,
					"no format \"%s\"; there are text and json",
					optarg);
				return cmd_fail(&err);
			}
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
	if (result_read(argv[optind], &r, &err))
		return cmd_fail(&err);
	text = format(&r);
	fputs(text, stdout);
	free(text);
	result_free(&r);
	return EXIT_OK;
}
