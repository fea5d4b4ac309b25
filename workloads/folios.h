/* SPDX-License-Identifier: GPL-2.0 */
/*
 * folios - which folios a mapping consists of, as /proc tells it.  Private to
 * workloads/.
 */
#ifndef FOLAB_WORKLOADS_FOLIOS_H
#define FOLAB_WORKLOADS_FOLIOS_H

#include "../harness/record/record.h"

/* Pages of 4 KiB; x86_64 and arm64 with 4K pages are what folab measures. */
#define FOLIO_PAGE_SHIFT	12
#define FOLIO_PAGE_SIZE		(UINT64_C(1) << FOLIO_PAGE_SHIFT)

struct folio_count {
	int64_t mapped;		/* pages that this process maps */
	int64_t contpte;	/* of those, how many in contpte blocks */
	int64_t pmd;		/* of those, how many by a PMD */
	int64_t order_pages[MAX_ORDER_SEEN];	/* by order of their folio */
};

/*
 * Add one page after the other to a count.  Apart from the reading of /proc,
 * so that it can be tested.  Pages are given in the order of their addresses;
 * the first one's address is a multiple of a contpte block.
 */
struct folio_walk {
	struct folio_count *count;
	unsigned int cont_pages;	/* pages of a contpte block, 0: has none */
	uint64_t folio_pages;		/* seen of the folio that is open */
	uint64_t block_pages;		/* seen of the block that is open */
	uint64_t block_fit;		/* of those, how many fit to the first */
	uint64_t block_pfn;		/* PFN of the block's first page */
	bool block_writable;
};
enum folio_flag {
	FOLIO_PRESENT	= 1,
	FOLIO_HEAD	= 2,	/* first page of a large folio */
	FOLIO_TAIL	= 4,	/* any other page of it */
	FOLIO_WRITABLE	= 8,	/* its PTE permits writing */
};
void folio_walk_page(struct folio_walk *w, uint64_t pfn, unsigned int flags);
void folio_walk_end(struct folio_walk *w);

/*
 * Count what this process maps at @addr (page tables' alignment: 2 MiB),
 * @bytes long.  @writable: pages that were written through the mapping, or
 * NULL.  Sources: Documentation/admin-guide/mm/pagemap.rst.  Needs
 * CAP_SYS_ADMIN, or PFNs read as 0.
 */
int folios_count(const void *addr, uint64_t bytes, unsigned int cont_pages,
		 bool (*writable)(void *arg, uint64_t page), void *arg,
		 struct folio_count *count, struct err *err);

#endif
