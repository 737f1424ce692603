/*
 * NUMA nodes: which memory is near which cores. ACPI 6.5: 5.2.16 (SRAT), 5.2.17 (SLIT). Nodes are numbered
 * from 0 in the order of SRAT's entries; its proximity domains may be any numbers. The tables are untrusted: a
 * malformed SRAT is ignored as a whole. This code does not access the machine:
 * tests/unit/kernel/test_numa.c passes tables that no firmware would write.
 *
 * Missing: the nodes of devices that firmware tells in AML (_PXM) only; memory that is added later; copies of
 * published memory on each node (ARCHITECTURE.md, Address spaces, has the reasons).
 */
#ifndef KERNEL_NUMA_H
#define KERNEL_NUMA_H

#include "abi/boot_info.h"
#include "lib/types.h"

#define NUMA_NONE UINT32_MAX

/* Parses tables whose checksum the caller has verified; the header is included. SRAT comes first. E_INVAL:
 * malformed; E_NOTSUP: more nodes, ranges or cores than there is room for. Then all is one node, or
 * all nodes are equally far from each other. */
int numa_parse_srat(const uint8_t *table, uint32_t bytes);
int numa_parse_slit(const uint8_t *table, uint32_t bytes);

/* The number of nodes; 1 without a table. */
unsigned numa_nodes(void);

/* The node of a core; 0 if the table does not name it. */
unsigned numa_node_of_core(uint32_t apic_id);

/* The node of a proximity domain; NUMA_NONE: the table does not name it. */
unsigned numa_node_of_domain(uint32_t domain);

/* The node of the byte at this physical address; NUMA_NONE if no node has it. */
unsigned numa_node_of_memory(uint64_t phys);

/* The node that is the nth nearest to `node`; n is 0, which is the node itself, to numa_nodes() - 1. */
unsigned numa_nearest(unsigned node, unsigned n);

/* The physical addresses at which memory of a node begins or ends, `n` from 0; UINT64_MAX: no more. */
uint64_t numa_border(unsigned n);

#endif
