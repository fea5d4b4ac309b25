/* SPDX-License-Identifier: GPL-2.0 */
/*
 * clear_methods - ways to write zeros.  Private to workloads/.
 */
#ifndef FOLAB_WORKLOADS_CLEAR_METHODS_H
#define FOLAB_WORKLOADS_CLEAR_METHODS_H

#include <stdbool.h>
#include <stddef.h>

struct clear_method {
	const char *name;	/* "rep-stosb"; those that stream begin with "nt-" */
	/* Can this processor do it?  NULL: it is another architecture's. */
	bool (*usable)(void);
	/*
	 * Zero @bytes at @p: both multiples of 4096, and more than none.  Ordered
	 * before what is written later, as a page has to be before it is mapped.
	 */
	void (*clear)(void *p, size_t bytes);
};

#define CLEAR_METHODS	7
extern const struct clear_method clear_methods[CLEAR_METHODS];

bool clear_method_usable(const struct clear_method *m);
/*
 * The one that comes closest to what the kernel's clear_page() does on this
 * processor: arch/x86/include/asm/page_64.h, arch/arm64/lib/clear_page.S.
 */
const struct clear_method *clear_method_of_kernel(void);

#endif
