/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a built program of correctness cases says of itself, in its section
 * .folab.case: see CASE_PROGRAM() of workloads/cases/lib/cases.h.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plan.h"

#define SECTION		".folab.case"
#define SECONDS_MAX	86400
#define CPUS_MAX	16	/* CONFIG_NR_CPUS of our configs */

/* The section's text in *text (caller frees), NULL if there is none. */
static int find_text(Elf *elf, char **text)
{
	Elf_Scn *scn = NULL;
	size_t names;

	*text = NULL;
	if (elf_getshdrstrndx(elf, &names))
		return -1;
	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr head;
		Elf_Data *data;
		const char *name;

		if (!gelf_getshdr(scn, &head))
			return -1;
		name = elf_strptr(elf, names, head.sh_name);
		if (!name || strcmp(name, SECTION))
			continue;
		data = elf_getdata(scn, NULL);
		if (!data || !data->d_buf)
			return -1;
		*text = xstrndup(data->d_buf, data->d_size);
		return 0;
	}
	return 0;
}

static int read_text(const char *path, char **text, struct err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), rc = -1;
	Elf *elf;

	if (fd < 0)
		return err_sys(err, EXIT_ENVIRONMENT, errno, "can't read %s",
			       path);
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (elf)
		rc = find_text(elf, text);
	elf_end(elf);
	close(fd);
	if (rc || !*text)
		return err_set(err, EXIT_ENVIRONMENT,
			       "%s is no program of cases: it lacks CASE_PROGRAM()",
			       path);
	return 0;
}

/* "memory=2G" with @key "memory=". */
static bool size_word(const char *word, const char *key, uint64_t *bytes)
{
	return str_starts(word, key) && !parse_size(word + strlen(key), bytes);
}

/* A comma divides options, two of them are one that belongs to an option. */
static void take_commas(char *word)
{
	char *to = word;

	for (const char *from = word; *from; from++) {
		if (from[0] == ',' && from[1] == ',')
			*to++ = *from++;
		else
			*to++ = *from == ',' ? ' ' : *from;
	}
	*to = '\0';
}

static int take_word(struct case_program *p, char *word, struct err *err)
{
	if (!strcmp(word, "quick")) {
		p->quick = true;
	} else if (!strcmp(word, "hidden")) {
		p->hidden = true;
	} else if (str_starts(word, "needs=") && job_case_name(word + 6)) {
		strlist_add(&p->needs, word + 6);
	} else if (str_starts(word, "boot=")) {
		take_commas(word);
		strlist_add(&p->boots, word + 5);
	} else if (!size_word(word, "memory=", &p->memory) &&
		   !size_word(word, "scratch=", &p->scratch) &&
		   (!str_starts(word, "cpus=") ||
		    parse_int(word + 5, 1, CPUS_MAX, &p->cpus))) {
		return err_set(err, EXIT_ENVIRONMENT, "case %s: no word \"%s\"",
			       p->name, word);
	}
	return 0;
}

/* "SUMMARY\nSECONDS\nWORDS\n" */
static int take_text(struct case_program *p, char *text, struct err *err)
{
	char *line[3], *save = NULL, *word;

	for (int i = 0; i < 3; i++) {
		line[i] = text;
		text += strcspn(text, "\n");
		if (!*text)
			return err_set(err, EXIT_ENVIRONMENT,
				       "case %s: CASE_PROGRAM() has summary, seconds, words",
				       p->name);
		*text++ = '\0';
	}
	p->summary = xstrdup(line[0]);
	if (parse_int(line[1], 1, SECONDS_MAX, &p->seconds))
		return err_set(err, EXIT_ENVIRONMENT,
			       "case %s: \"%s\" seconds", p->name, line[1]);
	for (word = strtok_r(line[2], " ", &save); word;
	     word = strtok_r(NULL, " ", &save))
		if (take_word(p, word, err))
			return -1;
	if (!p->boots.n)
		strlist_add(&p->boots, "");
	return 0;
}

static int load(struct case_program *p, const char *dir, const char *name,
		struct err *err)
{
	char *path = xasprintf("%s/%s", dir, name), *text;
	int rc;

	*p = (struct case_program){ .name = xstrdup(name) };
	rc = read_text(path, &text, err);
	free(path);
	if (rc)
		return -1;
	rc = take_text(p, text, err);
	free(text);
	return rc;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

int case_programs(const char *dir, struct case_program **list, size_t *n,
		  struct err *err)
{
	struct strlist names = { 0 };
	struct dirent *e;
	DIR *d = opendir(dir);
	int rc = 0;

	*list = NULL;
	*n = 0;
	if (!d)
		return err_sys(err, EXIT_ENVIRONMENT, errno, "can't read %s",
			       dir);
	while ((e = readdir(d)))
		if (job_case_name(e->d_name))
			strlist_add(&names, e->d_name);
	closedir(d);
	if (names.n)
		qsort(names.v, names.n, sizeof(*names.v), by_name);
	*list = xcalloc(names.n + 1, sizeof(**list));
	for (size_t i = 0; i < names.n && !rc; i++)
		rc = load(&(*list)[(*n)++], dir, names.v[i], err);
	strlist_free(&names);
	if (rc) {
		case_programs_free(*list, *n);
		*list = NULL;
		*n = 0;
	}
	return rc;
}

void case_programs_free(struct case_program *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(list[i].name);
		free(list[i].summary);
		strlist_free(&list[i].needs);
		strlist_free(&list[i].boots);
	}
	free(list);
}
