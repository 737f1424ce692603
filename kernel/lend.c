/*
 * See lend.h. Before a loan ends, its borrower has left the ports: it uses none of the memory any more, and
 * a translation that its TLB still holds does no harm. A later loan of the same page has the same
 * translation.
 */
#include "kernel/lend.h"

#include "abi/kcall.h"
#include "abi/layout.h"
#include "kernel/audit.h"
#include "kernel/core.h"
#include "kernel/vm.h"
#include "lib/cmdline.h"

struct lent lent_to[CORES_MAX];

static bool is_data(uint64_t core)
{
	return core < boot_info->cores && boot_info->core[core].roles == CORE_DATA;
}

/* True if the memory is whole pages of the core's arena. */
static bool is_in_arena(uint64_t core, uint64_t at, uint64_t bytes)
{
	const struct core_memory *m = &boot_info->core[core];
	return (at | bytes) % HUGE_BYTES == 0 && at >= m->arena && at - m->arena <= m->arena_bytes &&
	       bytes <= m->arena_bytes - (at - m->arena);
}

static void take_back(unsigned to)
{
	const struct lent *l = &lent_to[to];
	if (l->bytes)
		vm_change(cores[to].space, MEMORY_WINDOW + l->phys, l->bytes, VM_NOTHING);
}

int lend_serve(uint64_t to, uint64_t owner_bytes, uint64_t at)
{
	const uint64_t owner = owner_bytes % KCALL_LEND_UNIT, bytes = owner_bytes - owner;
	const struct lent next = {bytes ? at - MEMORY_WINDOW : 0, bytes, (unsigned)owner};
	if (!is_data(to) || (bytes && (!is_data(owner) || owner == to || !is_in_arena(owner, at, bytes))))
		return E_INVAL;
	if (next.phys == lent_to[to].phys && bytes == lent_to[to].bytes)
		return E_OK;
	if (bytes && vm_tables_missing(cores[to].space, at, bytes) > vm_free())
		return E_NOMEM;
	take_back((unsigned)to);
	lent_to[to] = next;
	if (bytes)
		vm_map(cores[to].space, at, next.phys, bytes, VM_USER | VM_WRITE);
	if (cmdline_number(boot_info->cmdline, "test", 0) == 1) /* as after each change of page tables */
		audit_address_spaces(boot_info->cores, false);
	return E_OK;
}
