/*
 * See iommu.h. What differs between the kinds of units is behind iommu_kind.h; the cards' maps are iomap.c's.
 */
#include "kernel/iommu.h"

#include "abi/kcall.h"
#include "abi/layout.h"
#include "kernel/console.h"
#include "kernel/core.h"
#include "kernel/cpu.h"
#include "kernel/iommu_kind.h"
#include "kernel/lock.h"
#include "kernel/numa.h"
#include "kernel/pci.h"
#include "kernel/regions.h"
#include "kernel/vm.h"
#include "lib/cmdline.h"
#include "lib/mem.h"

#define LOOK_MAX 64    /* most refusals read from a unit per call: it may keep recording */
#define PRINTED_ALL 16 /* refusals printed; after them only each whose number is a power of two */

static const struct iommu_kind *kind; /* NULL: firmware has no table of a kind that we know */
static int table_error = E_NOENT;     /* result of kind->find */
static struct iommu_units listed;
static bool used[IOMMU_UNITS_MAX];
static bool active;             /* the units that `used` marks will remap, or do */
static struct lock queues_lock; /* a unit executes one set of commands at a time */
static unsigned maps;           /* one for each card; 1: all cards share it */
#define TEST_DATA 0x5ca1ab1eu
static volatile uint32_t test_word; /* written only by a device that escapes the IOMMU */

static void give_up(const char *why)
{
	console_print("iommu: not used: %s\n", why);
	active = false;
}

static unsigned units(void) { return kind ? kind->units() : 0; }

/* The units of segment 0 are the only ones that are used; see iommu_kind.h. */
static bool may_be_covered(const struct pci_dev *dev)
{
	return dev->segment == 0;
}

/* The unit that serves the device; -1: none. */
static int unit_of(const struct pci_dev *dev)
{
	return kind && may_be_covered(dev) ? kind->unit_of(dev->bdf) : -1;
}

bool iommu_is_card(uint16_t bdf)
{
	for (unsigned i = 0; i < boot_info->pci_count; i++)
		if (may_be_covered(&boot_info->pci[i]) && boot_info->pci[i].bdf == bdf)
			return true;
	return false;
}

/* Marks the units of the cards; returns how many cards have a unit. */
static unsigned choose_units(void)
{
	unsigned cards = 0;
	for (unsigned i = 0; i < boot_info->pci_count; i++) {
		const struct pci_dev *dev = &boot_info->pci[i];
		int n = unit_of(dev);
		if (n >= 0) {
			used[n] = true;
			cards++;
		} else {
			char name[FMT_PCI_MAX];
			console_print("iommu: no unit covers %s\n", fmt_pci(name, dev->segment, dev->bdf));
		}
	}
	return cards;
}

/* Gives each card a map of its own, if the units have enough domains: one for each map, one for the devices of
 * firmware, and 0. */
static void choose_maps(void)
{
	maps = kind->domains() < boot_info->pci_count + 2 ? 1 : boot_info->pci_count;
}

static unsigned map_of(unsigned card) { return maps > 1 ? card : 0; }
static unsigned domain_of(unsigned map) { return map + 1; }

static void take_memory(void)
{
	uint64_t bytes = iomap_bytes(maps, kind->take_memory());
	iomap_init(kind->maps, maps, vm_take_zeroed_pages(bytes, "the IOMMU's tables"), bytes);
}

bool iommu_remaps_interrupts(bool *wide)
{
	*wide = false;
	return active && kind->remaps_interrupts(wide);
}

const struct irt_kind *iommu_interrupt_kind(void) { return kind->interrupts; }

bool iommu_covers(unsigned index)
{
	return active && unit_of(&boot_info->pci[index]) >= 0;
}

int iommu_ioapic_source(uint8_t id)
{
	return active ? kind->ioapic_source(id) : -1;
}

const struct iommu_units *iommu_find(const struct acpi *acpi)
{
	static const struct iommu_kind *const kinds[] = {&iommu_vtd, &iommu_amdvi};
	for (unsigned i = 0; i < ARRAY_LEN(kinds) && table_error == E_NOENT; i++) {
		table_error = kinds[i]->find(acpi);
		if (table_error != E_NOENT)
			kind = kinds[i];
	}
	boot_info->iommu.kind = kind ? kind->number : BOOT_IOMMU_NONE;
	for (listed.units = 0; listed.units < units(); listed.units++)
		listed.unit[listed.units] = kind->unit(listed.units);
	return &listed;
}

void iommu_tell_nodes(void)
{
	for (unsigned i = 0; i < boot_info->pci_count; i++) {
		struct pci_dev *dev = &boot_info->pci[i];
		int n = unit_of(dev);
		unsigned node = n < 0 ? NUMA_NONE : numa_node_of_domain(kind->proximity((unsigned)n));
		dev->node = node == NUMA_NONE ? PCI_NODE_NONE : (uint16_t)node;
	}
}

void iommu_prepare(void)
{
	char wanted[4];
	if (table_error == E_NOENT)
		return;
	if (cmdline_option(boot_info->cmdline, "iommu", wanted, sizeof wanted) &&
	    memcmp(wanted, "off", sizeof "off") == 0) {
		console_print("iommu: off, as the command line says\n");
		return;
	}
	if (table_error != E_OK) {
		console_print("iommu: not used: the %s table is malformed, or has more than there is room for\n", kind->table);
		return;
	}
	boot_info->iommu.cards = choose_units();
	if (boot_info->iommu.cards == 0)
		return;
	const char *why = kind->open(used);
	if (why) {
		give_up(why);
		return;
	}
	active = true;
	choose_maps();
	take_memory();
}

/* --- the tables --- */

static bool is_disk(uint64_t device)
{
	return device < boot_info->pci_count && boot_info->pci[device].kind == PCI_DISK;
}

/* Is that map a disk's alone? */
static bool is_of_disk(unsigned map) { return maps >= boot_info->pci_count && is_disk(map); }

/* Disks reach nothing but what the control core lends them (lend), unless they share the one map of all. */
static void reach(uint64_t window, uint64_t bytes)
{
	iomap_add(window, bytes);
	for (unsigned n = 0; n < maps; n++)
		if (is_of_disk(n))
			iomap_set(n, window, bytes, IOMAP_NONE);
}

/* Maps all memory that cards may reach; returns the first physical address above it. */
static uint64_t reach_all(void)
{
	const struct core_memory *m = boot_info->core;
	uint64_t most = m[0].tables + m[0].tables_bytes;
	reach(boot_info->published, boot_info->published_bytes);
	reach(m[0].tables, m[0].tables_bytes);
	for (unsigned i = 0; i < boot_info->cores; i++) {
		uint64_t end = m[i].arena + m[i].arena_bytes;
		if (m[i].arena_bytes)
			reach(m[i].arena, m[i].arena_bytes);
		most = end > most ? end : most;
	}
	return most - MEMORY_WINDOW;
}

static void start_units(const struct iommu_interrupts *in)
{
	for (unsigned n = 0; n < units(); n++) {
		int e = used[n] ? kind->start(n, in) : E_OK;
		boot_info->iommu.units += used[n] && e == E_OK;
		if (e == E_OK)
			continue;
		while (n-- > 0)
			if (used[n])
				kind->stop(n);
		boot_info->iommu.units = 0;
		give_up("a unit does not answer");
		return;
	}
}

bool iommu_start(const struct iommu_interrupts *interrupts)
{
	if (!active)
		return false;
	kind->make_tables(interrupts);
	if (reach_all() > kind->limit()) {
		give_up("memory lies beyond the addresses that the units know");
		return false;
	}
	kind->exempt(domain_of(maps));
	for (unsigned i = 0; i < boot_info->pci_count; i++)
		if (may_be_covered(&boot_info->pci[i]))
			kind->install(i, map_of(i), domain_of(map_of(i)), interrupts);
	iomap_flush();
	start_units(interrupts);
	if (active)
		console_print("iommu: %s: %u of %u cards reach packet memory only%s\n", kind->name,
		              boot_info->iommu.cards, boot_info->pci_count,
		              interrupts ? ", and raise their own interrupts only" : "");
	return active && interrupts;
}

int iommu_forget_interrupts(void)
{
	int e = E_OK;
	lock_take(&queues_lock);
	for (unsigned n = 0; n < units() && e == E_OK; n++)
		e = used[n] ? kind->forget_interrupts(n) : E_OK;
	lock_drop(&queues_lock);
	return e;
}

/* --- memory withdrawn later --- */

static int forget_all(void)
{
	int e = E_OK;
	lock_take(&queues_lock);
	for (unsigned n = 0; n < units() && e == E_OK; n++)
		e = used[n] ? kind->forget(n, maps) : E_OK;
	lock_drop(&queues_lock);
	return e == E_OK ? E_OK : E_DEVICE;
}

int iommu_withdraw(uint64_t window, uint64_t bytes, bool readable)
{
	if (!active)
		return E_OK;
	for (unsigned n = 0; n < maps; n++)
		iomap_set(n, window, bytes, readable && !is_of_disk(n) ? IOMAP_READ : IOMAP_NONE);
	if (forget_all() == E_OK)
		return E_OK;
	for (unsigned n = 0; n < maps; n++)
		if (!is_of_disk(n)) /* a region's pages have been lent to none */
			iomap_set(n, window, bytes, IOMAP_ALL);
	return E_DEVICE;
}

/* True if these are whole 2 MiB pages of that memory. */
static bool lies_in(uint64_t at, uint64_t room, uint64_t window, uint64_t bytes)
{
	return bytes && (window | bytes) % HUGE_BYTES == 0 && window >= at && window - at < room &&
	       bytes <= room - (window - at);
}

/* For DMA_ALL and cards: no disk reaches the arenas. */
static int64_t reserve_for(uint64_t device, uint64_t window, uint64_t bytes)
{
	for (unsigned n = 0; n < maps; n++)
		if (!is_of_disk(n))
			iomap_set(n, window, bytes, device == DMA_ALL || device == n ? IOMAP_ALL : IOMAP_NONE);
	return forget_all();
}

/* Disks share pages: what one has been lent before it keeps. */
static int64_t lend(uint64_t disk, uint64_t window, uint64_t bytes)
{
	for (unsigned n = 0; n < maps; n++)
		if (n == disk || !is_of_disk(n))
			iomap_set(n, window, bytes, n == disk ? IOMAP_ALL : IOMAP_NONE);
	return forget_all();
}

int64_t iommu_reserve(unsigned core, uint64_t device, uint64_t window, uint64_t bytes)
{
	const struct core_memory *m = &boot_info->core[core];
	const bool disk = is_disk(device);
	if (disk && (!(m->roles & CORE_CONTROL) || regions_overlap(window, bytes)))
		return E_INVAL;
	if (disk ? !lies_in(m->tables, m->tables_bytes, window, bytes) : !lies_in(m->arena, m->arena_bytes, window, bytes))
		return E_INVAL;
	if (!active || maps < boot_info->pci_count)
		return E_NOTSUP;
	return disk ? lend(device, window, bytes) : reserve_for(device, window, bytes);
}

/* --- refused accesses --- */

static void tell(const struct iommu_refusal *r)
{
	uint64_t n = ++boot_info->iommu.refused;
	char what[48];
	if (n > PRINTED_ALL && n & (n - 1))
		return;
	if (r->interrupt && kind->messages_by_index)
		fmt_format(what, sizeof what, "interrupt %llu", (unsigned long long)r->addr);
	else
		fmt_format(what, sizeof what, r->interrupt ? "an interrupt to %llx" : "%llx", (unsigned long long)r->addr);
	console_print("iommu: refused: %02x:%02x.%x %s %s: %s (reason %u; %llu so far)\n", r->bdf >> 8,
	              r->bdf >> 3 & 31, r->bdf & 7, r->interrupt ? "sent" : r->read ? "read" : "wrote", what,
	              kind->reason(r), r->reason, (unsigned long long)n);
}

int64_t iommu_look(void)
{
	for (unsigned n = 0; n < units() && active; n++) {
		struct iommu_refusal r;
		bool more = false;
		for (unsigned i = 0; used[n] && i < LOOK_MAX && kind->take_refusal(n, &r, &more); i++)
			tell(&r);
		boot_info->iommu.refused += more; /* at least one was not recorded */
	}
	return (int64_t)boot_info->iommu.refused;
}

/* True if the word at this address of the memory window lies in an arena. */
static bool is_an_arena(uint64_t window)
{
	for (unsigned i = 0; i < boot_info->cores; i++)
		if (window % sizeof test_word == 0 && window - boot_info->core[i].arena < boot_info->core[i].arena_bytes)
			return true;
	return false;
}

/* Has the device's interrupts use entry `index`. */
static int test_message(uint64_t device, uint32_t index)
{
	if (!kind)
		return E_INVAL;
	struct message m = kind->interrupts->message(index, index);
	return pci_msix_aim(device, m.address, m.data);
}

int64_t iommu_test(uint64_t device, uint64_t region)
{
	const volatile uint32_t *word = &test_word;
	uint64_t phys = (uint64_t)&test_word - KERNEL_BASE;
	if (cmdline_number(boot_info->cmdline, "test", 0) != 1)
		return E_INVAL;
	if (region - TEST_DMA_MESSAGE < IRT_ENTRIES_MAX)
		return test_message(device, (uint32_t)(region - TEST_DMA_MESSAGE));
	if (region < boot_info->regions) {
		const struct region *r = &boot_info->region[region];
		phys = r->at - MEMORY_WINDOW + r->bytes - sizeof *word;
		word = vm_phys(phys);
	} else if (is_an_arena(region)) {
		phys = region - MEMORY_WINDOW;
		word = vm_phys(phys);
	} else if (region != UINT32_MAX) {
		return E_INVAL;
	}
	int e = pci_msix_aim(device, phys, TEST_DATA);
	return e == E_OK ? *word == TEST_DATA : e;
}
