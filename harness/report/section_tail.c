/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where the numbers come from, and how to get them again.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sections.h"

#define HASH_SHOWN	12	/* digits, as git shows them */
#define COMMAND_LINES	6

static void field(struct lines *l, size_t max, const char *label,
		  const char *text)
{
	char *clean = clean_text(text, "");

	if (*clean)
		lines_wrap(l, RANK_KEEP, RANK_MORE, max, label, clean);
	free(clean);
}

static char *side_text(const struct image *im)
{
	char *base = clean_text(im->base, "not known");
	char *config = clean_start(im->config_hash, "not known", HASH_SHOWN);
	/* Of a kernel that ran it can't be known. */
	char *text = !im->config_hash && !strcmp(im->spec ? im->spec : "",
						 "running") ?
		xstrdup(base) : xasprintf("%s, config %s", base, config);

	free(config);
	free(base);
	return text;
}

static void add_compilers(struct lines *l, const struct result *r)
{
	const char *a = r->side[0].compiler, *b = r->side[1].compiler;

	if (a && b && !strcmp(a, b)) {
		field(l, 1, "compiler ", a);
	} else {
		field(l, 1, "comp. A  ", a);
		field(l, 1, "comp. B  ", b);
	}
}

static void add_series(struct lines *l, const struct image *im,
		       const char *label)
{
	char *list = xstrdup(""), *longer;

	for (size_t i = 0; i < im->n_series; i++) {
		const struct image_series *s = &im->series[i];
		char *name = clean_text(s->name, "unnamed");
		char *hash = clean_start(s->hash, "not known", HASH_SHOWN);

		longer = xasprintf("%s%s%s %s (%" PRId64 " patch%s)", list,
				   i ? ", " : "", name, hash, s->patches,
				   s->patches == 1 ? "" : "es");
		free(hash);
		free(name);
		free(list);
		list = longer;
	}
	field(l, 2, label, list);
	free(list);
}

static void add_kernels(struct lines *l, const struct result *r)
{
	char *a = side_text(&r->side[0]), *b = side_text(&r->side[1]);

	if (!strcmp(a, b)) {
		field(l, 2, "base     ", a);
	} else {
		field(l, 2, "base A   ", a);
		field(l, 2, "base B   ", b);
	}
	free(a);
	free(b);
	add_compilers(l, r);
	add_series(l, &r->side[0], "series A ");
	add_series(l, &r->side[1], "series B ");
}

static void add_command(struct lines *l, const struct result *r)
{
	char *command = clean_text(r->command, "");
	char *version = clean_text(r->folab_version, "");

	if (*command) {
		lines_add(l, RANK_KEEP, "again    with folab %s:", version);
		if (lines_command(l, COMMAND_LINES, command))
			lines_add(l, RANK_KEEP,
				  "  (too long for here: \"command\" in result.json)");
	}
	free(version);
	free(command);
}

void section_host(struct lines *l, const struct result *r)
{
	const struct host *h = &r->host;

	field(l, 2, "machine  ", r->machine);
	field(l, 2, "         ", r->machine_args);
	if (h->bound_node >= 0)
		lines_add(l, RANK_KEEP, "bound to node %" PRId64,
			  h->bound_node);
	if (h->bound_cpu >= 0)
		lines_add(l, RANK_KEEP, "bound to processor %" PRId64,
			  h->bound_cpu);
}

void section_again(struct lines *l, const struct result *r)
{
	lines_add(l, RANK_BLANK, "%s", "");
	add_command(l, r);
}

void section_tail(struct lines *l, const struct result *r)
{
	lines_add(l, RANK_BLANK, "%s", "");
	add_kernels(l, r);
	field(l, 2, "machine  ", r->machine);
	if (on_real_clock(r))
		field(l, 2, "         ", r->machine_args);
	field(l, 1, "fs       ", r->fs);
	field(l, 2, "cmdline  ", r->cmdline);
	add_command(l, r);
}
