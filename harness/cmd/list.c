/* SPDX-License-Identifier: GPL-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../../workloads/workloads.h"
#include "../build/build.h"
#include "../machine/machine.h"
#include "../plan/plan.h"
#include "cmd.h"

static const char help[] =
"usage: folab list [scenarios|workloads|series|cases|metrics]\n"
"\n"
"List what there is; without an argument, all of it.\n"
"\n"
"  -h, --help           this text\n"
"\n"
"example: folab list workloads     (the parameters that -p takes)\n";

static int list_scenarios(struct err *err)
{
	struct strlist names = { 0 };
	int rc = scenario_names(&names, err);

	for (size_t i = 0; i < names.n && !rc; i++) {
		struct scenario s;

		rc = scenario_load(&s, names.v[i], workload_params, err);
		if (rc)
			break;
		printf("%-22s %s\n", s.name, s.summary);
		for (size_t k = 0; k < s.n_rows; k++)
			printf("%s%s%s", k ? ", " : "  rows: ", s.rows[k].name,
			       k + 1 == s.n_rows ? "\n" : "");
		scenario_free(&s);
	}
	strlist_free(&names);
	return rc;
}

static void print_param(const struct param_spec *p)
{
	char low[32], high[32];

	printf("  %-10s ", p->name);
	switch (p->type) {
	case PARAM_SIZE:
		printf("%s to %s", format_size(p->min, low, sizeof(low)),
		       format_size(p->max, high, sizeof(high)));
		break;
	case PARAM_INT:
	case PARAM_PERCENT:
		printf("%" PRId64 " to %" PRId64 "%s", p->min, p->max,
		       p->type == PARAM_PERCENT ? " %" : "");
		break;
	case PARAM_CHOICE:
		for (int i = 0; p->choices[i]; i++)
			printf("%s%s", i ? " or " : "", p->choices[i]);
		break;
	}
	printf(", default %s\n             %s\n", p->fallback, p->help);
}

static int list_workloads(struct err *err)
{
	const struct workload *w;

	for (size_t i = 0; (w = workload_at(i)); i++) {
		printf("%-22s %s\n", w->name, w->summary);
		for (const struct param_spec *p = w->params; p->name; p++)
			print_param(p);
	}
	return 0;
}

static int list_series(struct err *err)
{
	struct series_info *list;
	size_t n;
	int rc = 0;

	if (build_series(&list, &n, err))
		return -1;
	for (size_t i = 0; i < n; i++) {
		char spec[128];

		/* The others are of use all the same. */
		if (list[i].broken) {
			rc = err_set(err, EXIT_USAGE, "%s", list[i].broken);
			continue;
		}
		snprintf(spec, sizeof(spec), "%s+%s", list[i].base,
			 list[i].name);
		printf("%-22s %" PRId64 " patch%s: %s\n", spec,
		       list[i].patches, list[i].patches == 1 ? "" : "es",
		       list[i].title);
	}
	build_series_free(list, n);
	return rc;
}

static int list_cases(struct err *err)
{
	struct case_program *list;
	char *dir;
	size_t n;
	int rc;

	/* They are alike for all architectures. */
	if (machine_cases_dir(arch_find("arm64"), &dir, err))
		return -1;
	rc = case_programs(dir, &list, &n, err);
	free(dir);
	if (rc)
		return -1;
	for (size_t i = 0; i < n; i++)
		if (!list[i].hidden)
			printf("%-22s %s%s\n", list[i].name, list[i].summary,
			       list[i].quick ? " (quick)" : "");
	case_programs_free(list, n);
	return 0;
}

static int list_metrics(struct err *err)
{
	const struct metric *m;

	for (size_t i = 0; (m = metric_at(i)); i++)
		printf("%-32s %s; %s\n", m->name, m->unit, m->help);
	return 0;
}

static const struct list {
	const char *name;
	int (*print)(struct err *err);
} lists[] = {
	{ "scenarios", list_scenarios },
	{ "workloads", list_workloads },
	{ "series", list_series },
	{ "cases", list_cases },
	{ "metrics", list_metrics },
};

static int list_all(struct err *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		printf("%s%s:\n", i ? "\n" : "", lists[i].name);
		if (lists[i].print(err))
			return -1;
	}
	return 0;
}

int cmd_list(int argc, char **argv)
{
	static const struct option options[] = {
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 }
	};
	int (*print)(struct err *err) = NULL;
	struct err err = { 0 };
	int c;

	while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (c != 'h')
			return cmd_usage("list");
		fputs(help, stdout);
		return EXIT_OK;
	}
	if (argc == optind)
		print = list_all;
	for (size_t i = 0; i < ARRAY_SIZE(lists) && argc - optind == 1; i++)
		if (!strcmp(lists[i].name, argv[optind]))
			print = lists[i].print;
	if (!print) {
		err_set(&err, EXIT_USAGE,
			"folab list takes one of scenarios, workloads, series, cases, metrics");
		return cmd_fail(&err);
	}
	return print(&err) ? cmd_fail(&err) : EXIT_OK;
}
