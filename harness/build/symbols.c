/* SPDX-License-Identifier: GPL-2.0 */
/*
 * vmlinux or System.map -> the symbol file of docs/symbols.md.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "private.h"

/*
 * Where inlined functions are looked for: what make_image() compiles with
 * DWARF.  An image of the user's may have it for everything, and both sides
 * shall be listed alike.
 */
static const char *const units[] = { "mm/vmscan.c", "mm/rmap.c", "mm/memory.c" };

struct symbol {
	uint64_t start, end;	/* end 0: not known */
	const char *name;
	int rank;		/* of those at one address the lowest is kept */
	bool kept;		/* false: only tells where others end */
};

struct symbols {
	struct symbol *v;
	size_t n, room;
};

static void add_symbol(struct symbols *s, struct symbol sym)
{
	if (s->n == s->room) {
		s->room = s->room ? s->room * 2 : 4096;
		s->v = xrealloc(s->v, s->room, sizeof(*s->v));
	}
	s->v[s->n++] = sym;
}

static bool left_out(const char *name)
{
	return !*name || name[0] == '$' || str_starts(name, ".L") ||
	       str_starts(name, "__pfx_") || strpbrk(name, " \t\n");
}

static int by_start(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->kept != y->kept)
		return x->kept ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank - y->rank;
	return strcmp(x->name, y->name);
}

/*
 * Sort, keep one of each address, and cut ends at the next start.  A symbol
 * without size inside of one that has a size is a label, not a function: it
 * must not cut that one in two.
 */
static void settle(struct symbols *s)
{
	uint64_t covered = 0;
	size_t n = 0;

	if (s->n)
		qsort(s->v, s->n, sizeof(*s->v), by_start);
	for (size_t i = 0; i < s->n; i++) {
		struct symbol *sym = &s->v[i];

		if (n && s->v[n - 1].start == sym->start)
			continue;
		if (!sym->end && sym->start < covered)
			continue;
		if (sym->kept && sym->end > covered)
			covered = sym->end;
		s->v[n++] = *sym;
	}
	s->n = n;
	for (size_t i = 0; i + 1 < n; i++)
		if (!s->v[i].end || s->v[i].end > s->v[i + 1].start)
			s->v[i].end = s->v[i + 1].start;
	n = 0;
	for (size_t i = 0; i < s->n; i++)
		if (s->v[i].kept && s->v[i].start < s->v[i].end)
			s->v[n++] = s->v[i];
	s->n = n;
}

static const struct symbol *symbol_at(const struct symbols *s, uint64_t pc)
{
	size_t low = 0, high = s->n;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (s->v[mid].end <= pc)
			low = mid + 1;
		else
			high = mid;
	}
	return low < s->n && s->v[low].start <= pc ? &s->v[low] : NULL;
}

/* ---- ELF --------------------------------------------------------------------- */

static int bind_rank(int bind)
{
	return bind == STB_GLOBAL ? 0 : bind == STB_LOCAL ? 1 : 2;
}

static int read_symtab(Elf *elf, struct symbols *s, struct err *err)
{
	Elf_Scn *scn = NULL, *of;
	GElf_Shdr sh, in;
	Elf_Data *data;
	GElf_Sym sym;

	while ((scn = elf_nextscn(elf, scn)))
		if (gelf_getshdr(scn, &sh) && sh.sh_type == SHT_SYMTAB)
			break;
	data = scn ? elf_getdata(scn, NULL) : NULL;
	if (!data || !sh.sh_entsize)
		return err_set(err, EXIT_USAGE, "it has no symbol table");
	for (size_t i = 1; i < sh.sh_size / sh.sh_entsize; i++) {
		const char *name;
		struct symbol it;
		int type;

		if (!gelf_getsym(data, i, &sym))
			break;
		type = GELF_ST_TYPE(sym.st_info);
		of = elf_getscn(elf, sym.st_shndx);
		name = elf_strptr(elf, sh.sh_link, sym.st_name);
		if (!name || !of || sym.st_shndx == SHN_UNDEF ||
		    sym.st_shndx >= SHN_LORESERVE || !gelf_getshdr(of, &in) ||
		    !(in.sh_flags & SHF_EXECINSTR) ||
		    (type != STT_FUNC && type != STT_NOTYPE))
			continue;
		/* "$x" marks instructions wherever they begin: no boundary */
		if (left_out(name) && !str_starts(name, "__pfx_"))
			continue;
		it = (struct symbol) {
			.start = sym.st_value,
			.end = sym.st_size ? sym.st_value + sym.st_size : 0,
			.name = name,
			.rank = (type == STT_FUNC ? 0 : 3) +
				bind_rank(GELF_ST_BIND(sym.st_info)),
			.kept = !left_out(name),
		};
		add_symbol(s, it);
	}
	/* A section's end bounds what has no size. */
	scn = NULL;
	while ((scn = elf_nextscn(elf, scn)))
		if (gelf_getshdr(scn, &in) && (in.sh_flags & SHF_EXECINSTR))
			add_symbol(s, (struct symbol) {
				.start = in.sh_addr + in.sh_size, .name = "",
			});
	settle(s);
	return 0;
}

/* ---- DWARF --------------------------------------------------------------------- */

struct range {
	uint64_t start, end;
};

struct inlines {
	FILE *to;
	const struct symbols *symbols;
	uint64_t lines;
	uint64_t last_id;
};

static int by_range(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* Non-empty code ranges of @die in order, the one with its entry first. */
static size_t ranges_of(Dwarf_Die *die, struct range **list)
{
	Dwarf_Addr base, start, end, entry;
	ptrdiff_t at = 0;
	size_t n = 0;

	*list = NULL;
	while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
		if (start >= end)
			continue;
		*list = xrealloc(*list, n + 1, sizeof(**list));
		(*list)[n++] = (struct range){ start, end };
	}
	if (!n)
		return 0;
	qsort(*list, n, sizeof(**list), by_range);
	if (dwarf_entrypc(die, &entry))
		return n;
	for (size_t i = 1; i < n; i++) {
		struct range first = (*list)[i];

		if (entry < first.start || entry >= first.end)
			continue;
		memmove(*list + 1, *list, i * sizeof(**list));
		(*list)[0] = first;
		break;
	}
	return n;
}

/* The name of the inlined function if it is one to list: not of a header. */
static const char *listed_name(Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	const char *file;
	Dwarf_Die origin;

	if (!dwarf_attr(die, DW_AT_abstract_origin, &attr) ||
	    !dwarf_formref_die(&attr, &origin))
		return NULL;
	file = dwarf_decl_file(&origin);
	if (!file || !str_ends(file, ".c"))
		return NULL;
	return dwarf_diename(&origin);
}

/* All below @die, which is @container's or the instance @parent's. */
static void list_below(struct inlines *to, Dwarf_Die *die, uint64_t parent,
		       const char *container)
{
	Dwarf_Die child;

	if (dwarf_child(die, &child))
		return;
	do {
		uint64_t id = parent;
		const char *name = NULL;
		struct range *list;
		size_t n;

		switch (dwarf_tag(&child)) {
		case DW_TAG_inlined_subroutine:
			name = listed_name(&child);
			break;
		case DW_TAG_lexical_block:
			break;
		default:
			continue;
		}
		if (name) {
			n = ranges_of(&child, &list);
			if (n)
				id = ++to->last_id;
			for (size_t i = 0; i < n; i++, to->lines++)
				fprintf(to->to, "I %" PRIx64 " %" PRIx64
					" %" PRIu64 " %" PRIu64 " %s %s\n",
					list[i].start, list[i].end, id, parent,
					name, container);
			free(list);
		}
		list_below(to, &child, id, container);
	} while (dwarf_siblingof(&child, &child) == 0);
}

static bool wanted_unit(const char *name)
{
	for (size_t i = 0; name && i < ARRAY_SIZE(units); i++) {
		size_t len = strlen(name), want = strlen(units[i]);

		if (str_ends(name, units[i]) &&
		    (len == want || name[len - want - 1] == '/'))
			return true;
	}
	return false;
}

/* Every function of the unit that has code of its own. */
static void list_unit(struct inlines *to, Dwarf_Die *unit)
{
	Dwarf_Die die;

	if (dwarf_child(unit, &die))
		return;
	do {
		const struct symbol *sym = NULL;
		Dwarf_Addr base, start, end;

		if (dwarf_tag(&die) != DW_TAG_subprogram)
			continue;
		/* gcc puts the part with the entry first, ".cold" behind */
		if (dwarf_ranges(&die, 0, &base, &start, &end) > 0)
			sym = symbol_at(to->symbols, start);
		if (sym)
			list_below(to, &die, 0, sym->name);
	} while (dwarf_siblingof(&die, &die) == 0);
}

static void list_inlined(struct inlines *to, Elf *elf)
{
	Dwarf *dw = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
	Dwarf_Off off = 0, next;
	size_t header;
	Dwarf_Die unit;

	/* Without DWARF there is nothing to list, and no error. */
	if (!dw)
		return;
	while (!dwarf_nextcu(dw, off, &next, &header, NULL, NULL, NULL)) {
		if (dwarf_offdie(dw, off + header, &unit) &&
		    dwarf_tag(&unit) == DW_TAG_compile_unit &&
		    wanted_unit(dwarf_diename(&unit)))
			list_unit(to, &unit);
		off = next;
	}
	dwarf_end(dw);
}

/* ---- writing ------------------------------------------------------------------- */

static int write_file(const struct symbols *s, Elf *elf,
		      const struct arch *arch, const char *path,
		      struct err *err)
{
	struct inlines in = { .symbols = s };
	char *text = NULL;
	size_t len;
	int rc;

	if (!s->n)
		return err_set(err, EXIT_USAGE, "it has no function");
	in.to = open_memstream(&text, &len);
	fprintf(in.to, "folab.symbols/1 %s\n", arch->name);
	for (size_t i = 0; i < s->n; i++, in.lines++)
		fprintf(in.to, "F %" PRIx64 " %" PRIx64 " %s\n", s->v[i].start,
			s->v[i].end, s->v[i].name);
	if (elf)
		list_inlined(&in, elf);
	fprintf(in.to, "end %" PRIu64 "\n", in.lines);
	fclose(in.to);
	rc = file_write(path, text, len, err);
	free(text);
	return rc;
}

int symbols_from_vmlinux(const char *vmlinux, const struct arch *arch,
			 const char *path, struct err *err)
{
	struct symbols s = { 0 };
	GElf_Ehdr eh;
	Elf *elf;
	int fd, rc;

	elf_version(EV_CURRENT);
	fd = open(vmlinux, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_sys(err, EXIT_ENVIRONMENT, errno, "can't open %s",
			       vmlinux);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (!elf || elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &eh))
		rc = err_set(err, EXIT_USAGE, "%s is no ELF file", vmlinux);
	else if (read_symtab(elf, &s, err))
		rc = err_prefix(err, "%s", vmlinux);
	else
		rc = write_file(&s, elf, arch, path, err);
	free(s.v);
	elf_end(elf);
	close(fd);
	return rc;
}

int symbols_from_map(const char *map, const struct arch *arch,
		     const char *path, struct err *err)
{
	struct symbols s = { 0 };
	char *text, *line, *save;
	int rc;

	if (file_read(map, 64u << 20, &text, NULL, err))
		return -1;
	for (line = strtok_r(text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		static const char order[] = "TtWw";
		char *end;
		uint64_t start = strtoull(line, &end, 16);
		const char *kind;

		/* "ffff800080010000 T vectors" */
		if (end == line || end[0] != ' ' || !end[1] || end[2] != ' ') {
			rc = err_set(err, EXIT_USAGE,
				     "%s is no System.map: \"%.40s\"", map,
				     line);
			goto out;
		}
		kind = strchr(order, end[1]);
		add_symbol(&s, (struct symbol) {
			.start = start, .name = end + 3,
			.rank = kind ? (int)(kind - order) : 0,
			.kept = kind && !left_out(end + 3),
		});
	}
	settle(&s);
	rc = write_file(&s, NULL, arch, path, err);
	if (rc && err->code == EXIT_USAGE)
		err_prefix(err, "%s", map);
out:
	free(s.v);
	free(text);
	return rc;
}
