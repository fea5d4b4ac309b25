/* SPDX-License-Identifier: GPL-2.0 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plan.h"

#define SCENARIOS	"workloads/scenarios"

/* A parameter waits until the workload, and with it its specs, is known. */
struct loading {
	struct scenario *s;
	struct strlist keys, values;
};

/* inih hands on a continued line as the same key once more: a text grows. */
static int add_text(char **field, const char *value)
{
	char *text = **field ? xasprintf("%s %s", *field, value) :
		xstrdup(value);

	free(*field);
	*field = text;
	return 0;
}

static int set_workload(struct scenario *s, const char *value,
			struct err *err)
{
	if (s->workload)
		return err_set(err, EXIT_USAGE, "a second workload, \"%.60s\"",
			       value);
	s->workload = xstrdup(value);
	return 0;
}

static int bad_value(const char *key, const char *value, const char *allowed,
		     struct err *err)
{
	return err_set(err, EXIT_USAGE, "%s = \"%.60s\": must be %s", key, value,
		       allowed);
}

static int set_percent(double *field, const char *key, const char *value,
		       struct err *err)
{
	char *end;
	double v = strtod(value, &end);

	end += strspn(end, " ");
	if (*end == '%')
		end++;
	if (end == value || *end || !(v >= 0 && v <= 100))
		return bad_value(key, value, "a percentage, like \"2 %\"", err);
	*field = v;
	return 0;
}

static int set_count(int64_t *field, int64_t max, const char *key,
		     const char *value, struct err *err)
{
	char allowed[80];

	if (!parse_int(value, 1, max, field))
		return 0;
	snprintf(allowed, sizeof(allowed), "a whole number from 1 to %d",
		 (int)max);
	return bad_value(key, value, allowed, err);
}

/* Words between any of @separators. */
static void split(const char *value, const char *separators, struct strlist *l)
{
	char *copy = xstrdup(value), *save, *word;

	for (word = strtok_r(copy, separators, &save); word;
	     word = strtok_r(NULL, separators, &save))
		strlist_add(l, word);
	free(copy);
}

static int set_metrics(struct scenario *s, const char *value, struct err *err)
{
	/* inih hands on a continued line as the same key once more: add. */
	split(value, ", \t\n", &s->metrics);
	for (size_t i = 0; i < s->metrics.n; i++)
		if (!metric_find(s->metrics.v[i]))
			return err_set(err, EXIT_USAGE,
				       "no metric \"%.60s\" (see folab list metrics)",
				       s->metrics.v[i]);
	for (size_t i = 0; i < s->metrics.n; i++)
		for (size_t k = 0; k < i; k++)
			if (!strcmp(s->metrics.v[i], s->metrics.v[k]))
				return err_set(err, EXIT_USAGE,
					       "metric \"%.60s\" stands there twice",
					       s->metrics.v[i]);
	return 0;
}

static int in_scenario(struct scenario *s, const char *key, const char *value,
		       struct err *err)
{
	if (!strcmp(key, "summary"))
		return add_text(&s->summary, value);
	if (!strcmp(key, "workload"))
		return set_workload(s, value, err);
	if (!strcmp(key, "seeds"))
		return set_count(&s->seeds, 1000, key, value, err);
	if (!strcmp(key, "passes"))
		return set_count(&s->passes, 1000, key, value, err);
	if (!strcmp(key, "tolerance"))
		return set_percent(&s->tolerance_pct, key, value, err);
	return 1;
}

static int in_machine(struct scenario *s, const char *key, const char *value,
		      struct err *err)
{
	if (!strcmp(key, "memory")) {
		if (parse_size(value, &s->memory) || s->memory < 64 << 20)
			return bad_value(key, value,
					 "a size of at least 64M, like 1024M",
					 err);
		return 0;
	}
	if (!strcmp(key, "budget"))
		return set_count(&s->budget, 86400, key, value, err);
	if (!strcmp(key, "cmdline")) {
		split(value, " \t\n", &s->cmdline);
		for (size_t i = 0; i < s->cmdline.n; i++)
			if (str_starts(s->cmdline.v[i], "folab."))
				return bad_value(key, s->cmdline.v[i],
						 "the kernel's options; folab.* are ours",
						 err);
		return 0;
	}
	return 1;
}

static int on_key(void *arg, const char *section, const char *key,
		  const char *value, struct err *err)
{
	struct loading *l = arg;
	int rc;

	if (!strcmp(section, "scenario")) {
		rc = in_scenario(l->s, key, value, err);
	} else if (!strcmp(section, "machine")) {
		rc = in_machine(l->s, key, value, err);
	} else if (!strcmp(section, "report")) {
		rc = strcmp(key, "metrics") ? 1 :
			set_metrics(l->s, value, err);
	} else if (!strcmp(section, "params")) {
		strlist_add(&l->keys, key);
		strlist_add(&l->values, value);
		rc = 0;
	} else if (!strcmp(section, "rows")) {
		rc = 0;		/* on_row()'s: it takes the workload to judge them */
	} else {
		return err_set(err, EXIT_USAGE,
			       "no section [%.40s]; there are scenario, machine, params, report, rows",
			       section);
	}
	if (rc > 0)
		return err_set(err, EXIT_USAGE, "no key \"%.60s\" in [%s]", key,
			       section);
	return rc;
}

/* ---- rows ------------------------------------------------------------------- */

/* A name stands in a table, and between commas on the command line. */
static int check_row_name(const struct scenario *s, const char *name,
			  struct err *err)
{
	size_t n = strlen(name);

	for (const char *p = name; *p; p++)
		if (*p < ' ' || *p > '~' || *p == ',')
			n = 0;
	if (!n || n > ROW_NAME_MAX)
		return err_set(err, EXIT_USAGE,
			       "row \"%.60s\": a name has 1 to %d printable ASCII characters, and no comma",
			       name, ROW_NAME_MAX);
	for (size_t i = 0; i < s->n_rows; i++)
		if (!strcmp(s->rows[i].name, name))
			return err_set(err, EXIT_USAGE,
				       "a second row \"%s\" (a row is one line)",
				       name);
	return 0;
}

static int set_param(struct params *p, const char *assignment,
		     const char *what, struct err *err)
{
	const char *eq = strchr(assignment, '=');
	char *key;
	int rc;

	if (!eq || eq == assignment)
		return err_set(err, EXIT_USAGE, "%s %.60s: must be KEY=VALUE",
			       what, assignment);
	key = xstrndup(assignment, eq - assignment);
	rc = params_set(p, key, eq + 1, err);
	free(key);
	return rc;
}

static int set_arch(struct scenario_row *row, const char *name,
		    struct err *err)
{
	char list[200] = "";
	size_t n = 0;

	if (row->arch)
		return err_set(err, EXIT_USAGE, "arch stands there twice");
	row->arch = arch_find(name);
	if (row->arch)
		return 0;
	for (size_t i = 0; arch_at(i) && n < sizeof(list); i++)
		n += snprintf(list + n, sizeof(list) - n, "%s%s", i ? ", " : "",
			      arch_at(i)->name);
	return err_set(err, EXIT_USAGE, "no architecture \"%.60s\"; there are: %s",
		       name, list);
}

/* Has @row a value for the key of @assignment already? */
static bool is_set(const struct scenario_row *row, const char *assignment)
{
	size_t len = strcspn(assignment, "=") + 1;

	for (size_t i = 0; i < row->set.n; i++)
		if (!strncmp(row->set.v[i], assignment, len))
			return true;
	return false;
}

static int fill_row(const struct scenario *s, struct scenario_row *row,
		    const char *value, struct err *err)
{
	struct strlist words = { 0 };
	struct params params = { 0 };
	int rc = 0;

	split(value, " \t", &words);
	for (size_t i = 0; i < words.n && !rc; i++) {
		const char *word = words.v[i];

		if (str_starts(word, "arch="))
			rc = set_arch(row, word + strlen("arch="), err);
		else if (is_set(row, word))
			rc = err_set(err, EXIT_USAGE,
				     "%.60s: its key stands there twice", word);
		else
			strlist_add(&row->set, word);
	}
	if (!rc && !words.n)
		rc = err_set(err, EXIT_USAGE,
			     "it says nothing; there have to be words like order=0 or arch=x86_64");
	if (!rc) {
		rc = scenario_row_params(s, row, &params, err);
		params_free(&params);
	}
	strlist_free(&words);
	return rc;
}

/*
 * The file once more, when the workload is known: what is wrong with a row is
 * told with its line.
 */
static int on_row(void *arg, const char *section, const char *key,
		  const char *value, struct err *err)
{
	struct scenario *s = arg;
	struct scenario_row row = { 0 };

	if (strcmp(section, "rows"))
		return 0;
	if (check_row_name(s, key, err))
		return -1;
	row.name = xstrdup(key);
	s->rows = xrealloc(s->rows, s->n_rows + 1, sizeof(*s->rows));
	s->rows[s->n_rows++] = row;
	if (fill_row(s, &s->rows[s->n_rows - 1], value, err))
		return err_prefix(err, "row \"%s\"", key);
	return 0;
}

int scenario_row_params(const struct scenario *s,
			const struct scenario_row *row, struct params *params,
			struct err *err)
{
	params_copy(params, &s->params);
	for (size_t i = 0; i < row->set.n; i++)
		if (set_param(params, row->set.v[i], "a row's", err))
			return -1;
	return 0;
}

/* ---- the file --------------------------------------------------------------- */

static char *path_of(const char *name)
{
	char *rel, *path;

	if (strchr(name, '/') || str_ends(name, ".ini"))
		return xstrdup(name);
	rel = xasprintf(SCENARIOS "/%s.ini", name);
	path = home_path(rel);
	free(rel);
	return path;
}

static char *name_of(const char *path)
{
	const char *base = strrchr(path, '/');
	size_t n;

	base = base ? base + 1 : path;
	n = strlen(base);
	if (str_ends(base, ".ini"))
		n -= strlen(".ini");
	return xstrndup(base, n);
}

static int fill_params(struct loading *l,
		       const struct param_spec *(*specs_of)(const char *),
		       struct err *err)
{
	struct scenario *s = l->s;
	const struct param_spec *specs;

	if (!s->workload)
		return err_set(err, EXIT_USAGE,
			       "%s: [scenario] lacks workload = NAME", s->path);
	specs = specs_of(s->workload);
	if (!specs)
		return err_set(err, EXIT_USAGE, "%s: no workload \"%.60s\"",
			       s->path, s->workload);
	params_init(&s->params, specs);
	for (size_t i = 0; i < l->keys.n; i++)
		if (params_set(&s->params, l->keys.v[i], l->values.v[i], err))
			return err_prefix(err, "%s", s->path);
	return 0;
}

/* Sets EXIT_USAGE: what is missing is a name that the user gave. */
static int no_such(const char *name, const char *path, struct err *err)
{
	struct strlist names = { 0 };
	char list[400] = "";
	struct err ignored = { 0 };
	size_t n = 0;

	if (strchr(name, '/') || str_ends(name, ".ini"))
		return err_set(err, EXIT_USAGE, "no scenario file %s", path);
	if (!scenario_names(&names, &ignored))
		for (size_t i = 0; i < names.n && n < sizeof(list); i++)
			n += snprintf(list + n, sizeof(list) - n, "%s%s",
				      i ? ", " : "", names.v[i]);
	strlist_free(&names);
	return err_set(err, EXIT_USAGE, "no scenario \"%.60s\"; there are: %s",
		       name, list);
}

int scenario_load(struct scenario *s, const char *name,
		  const struct param_spec *(*specs_of)(const char *workload),
		  struct err *err)
{
	struct loading l = { .s = s };
	int rc;

	memset(s, 0, sizeof(*s));
	s->path = path_of(name);
	s->name = name_of(s->path);
	s->summary = xstrdup("");
	s->seeds = 5;
	s->passes = 1;
	s->budget = 300;
	s->tolerance_pct = 2;
	if (!file_exists(s->path))
		rc = no_such(name, s->path, err);
	else
		rc = ini_read(s->path, on_key, &l, err);
	if (!rc)
		rc = fill_params(&l, specs_of, err);
	if (!rc)
		rc = ini_read(s->path, on_row, s, err);
	strlist_free(&l.keys);
	strlist_free(&l.values);
	if (rc)
		scenario_free(s);
	return rc;
}

int scenario_set(struct scenario *s, const char *assignment, struct err *err)
{
	return set_param(&s->params, assignment, "-p", err);
}

void scenario_free(struct scenario *s)
{
	free(s->name);
	free(s->summary);
	free(s->workload);
	free(s->path);
	params_free(&s->params);
	strlist_free(&s->metrics);
	strlist_free(&s->cmdline);
	for (size_t i = 0; i < s->n_rows; i++) {
		free(s->rows[i].name);
		strlist_free(&s->rows[i].set);
	}
	free(s->rows);
	memset(s, 0, sizeof(*s));
}

static int is_ini(const struct dirent *de)
{
	return de->d_name[0] != '.' && str_ends(de->d_name, ".ini");
}

int scenario_names(struct strlist *names, struct err *err)
{
	char *dir = home_path(SCENARIOS);
	struct dirent **list;
	int n = scandir(dir, &list, is_ini, alphasort);

	if (n < 0)
		err_sys(err, EXIT_ENVIRONMENT, errno,
			"can't read the scenarios in %s", dir);
	for (int i = 0; i < n; i++) {
		char *name = name_of(list[i]->d_name);

		strlist_add(names, name);
		free(name);
		free(list[i]);
	}
	if (n >= 0)
		free(list);
	free(dir);
	return n < 0 ? -1 : 0;
}
