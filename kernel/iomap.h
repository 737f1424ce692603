/*
 * Maps from bus addresses to memory, one for each network card or disk: tables of four levels, all by 2 MiB
 * pages, and addresses are physical ones. The kind of IOMMU says which bits its entries have. VT-d units that
 * support only three levels start at the second, which covers the first 512 GiB.
 *
 * A map is made once, of all memory that any card may reach. Afterwards pages are only taken out of it, and
 * put back. The caller has the units forget what they have cached.
 */
#ifndef KERNEL_IOMAP_H
#define KERNEL_IOMAP_H

#include "abi/boot_info.h"
#include "lib/types.h"

/* Bytes of tables for `maps` maps of all memory, and of `more` other pages that iomap_page() gives. */
uint64_t iomap_bytes(unsigned maps, unsigned more);

/* The bits of entries. Bits 51:12 are a physical address. An entry that leads nowhere is 0. */
struct iomap_format {
	uint64_t table[4]; /* table[n]: of an entry that leads to a table of level n, 1 to 3; the top is level 4 */
	uint64_t leaf;     /* of an entry for a page of 2 MiB, at level 2, */
	uint64_t writes;   /* and the bits of it without which cards only read the page */
};

/* Makes empty maps of that format, which stays valid, in `bytes` of zeroed memory at physical address `at`. */
void iomap_init(const struct iomap_format *format, unsigned maps, uint64_t at, uint64_t bytes);

/* Takes a zeroed page from that memory; returns its physical address. */
uint64_t iomap_page(void);

/* Adds whole 2 MiB pages, given by their address in the memory window, to all maps. */
void iomap_add(uint64_t window, uint64_t bytes);

enum iomap_access { IOMAP_NONE, IOMAP_READ, IOMAP_ALL };

/* What the card of map `map` may do with these pages, which were added before. */
void iomap_set(unsigned map, uint64_t window, uint64_t bytes, enum iomap_access access);

/* The table at which a unit of four levels (wide), or three, starts. For three, the map has been filled. */
uint64_t iomap_top(unsigned map, bool wide);

/* Writes all tables from the caches to memory. */
void iomap_flush(void);

#endif
