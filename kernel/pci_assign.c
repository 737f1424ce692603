/*
 * See pci_assign.h. Two passes over the buses:
 * 1. From the last bus to the first: a closed window must be as large as all that is to be put behind it. An open
 *    one in which nothing lies, as firmware makes them for empty slots, is closed if it is too small.
 *    Bridges are numbered such that the bus behind a bridge has a higher number than the bus in front of it.
 * 2. From the first bus to the last: BARs and closed windows get addresses from the window of the bridge above,
 *    or from the room of the root bus (kernel/pci_room.c), the ones with the largest alignment first. So what
 *    pass 1 measured fits: both pack the same way.
 *
 * What may lie where (PCI-to-PCI Bridge Architecture Specification 1.2):
 *     memory window        32-bit addresses; anything
 *     prefetchable window  prefetchable BARs only; above 4 GiB if the bridge has upper halves, and if all
 *                          BARs in it have 64 bits
 *     root bus             a BAR of 64 bits may lie above 4 GiB
 * Addresses below 4 GiB come first.
 *
 * Deliberately missing: an open window in which something lies is not enlarged, and a bridge without bus numbers is
 * not numbered.
 */
#include "kernel/pci_assign.h"

#include "kernel/console.h"
#include "kernel/pci_bars.h"
#include "kernel/pci_room.h"
#include "lib/fmt.h"
#include "lib/number.h"

#define ITEMS_MAX 512 /* on one bus; more keep no address */
#define BAR_ROOM_MIN 4096 /* so that no two share a page, which is what programs' maps consist of */

/* What needs an address on a bus: BAR n of a function, or a window of a bridge. */
struct item {
	uint64_t bytes, align;
	bool prefetchable, wide;
	struct hardware_function *f;
	unsigned n;
	struct pci_bridge *bridge; /* NULL: it is a BAR */
};

static struct pci_bridge bridge[PCI_BRIDGES_MAX];
static struct item items[ITEMS_MAX];
static struct pci_machine machine;

static pci_address_t address_of(const struct hardware_function *f)
{
	return (pci_address_t)f->segment << 16 | f->bdf;
}

static bool is_open(const struct pci_window *w) { return w->start < w->end; }

/* The window of `above` in which an item belongs. Behind no bridge there is one kind. */
static unsigned kind_of(const struct pci_bridge *above, const struct item *it)
{
	const struct pci_window *w = above ? &above->window[HARDWARE_WINDOW_PREFETCHABLE] : NULL;
	return w && it->prefetchable && w->exists && (it->wide || !is_open(w) || w->end <= PCI_LOW_END)
	               ? HARDWARE_WINDOW_PREFETCHABLE : HARDWARE_WINDOW_MEMORY;
}

/* Inserts by descending alignment; among equals the first comes first. */
static unsigned add_item(unsigned n, const struct item *it)
{
	if (n == ITEMS_MAX)
		return n;
	unsigned at = n;
	for (; at && items[at - 1].align < it->align; at--)
		items[at] = items[at - 1];
	items[at] = *it;
	return n + 1;
}

/* Collects what needs an address on a bus (segment << 8 | bus) in that window; returns the number of items. */
static unsigned gather(unsigned bus, const struct pci_bridge *above, unsigned kind)
{
	struct hardware *hw = machine.hw;
	unsigned count = 0;
	for (unsigned i = 0; i < hw->functions; i++) {
		struct hardware_function *f = &hw->function[i];
		for (unsigned n = 0; n < PCI_BARS && address_of(f) >> 8 == bus; n++) {
			const struct hardware_bar *b = &f->bar[n];
			const uint64_t room = b->bytes < BAR_ROOM_MIN ? BAR_ROOM_MIN : b->bytes;
			const struct item it = {room, room, b->prefetchable, b->wide, f, n, NULL};
			if (b->state == HARDWARE_BAR_UNASSIGNED && kind_of(above, &it) == kind)
				count = add_item(count, &it);
		}
	}
	for (unsigned i = 0; i < machine.bridges; i++)
		for (unsigned n = 0; n < HARDWARE_WINDOWS && bridge[i].at >> 8 == bus; n++) {
			const struct pci_window *w = &bridge[i].window[n];
			const struct item it = {w->need.bytes, w->need.align, n == HARDWARE_WINDOW_PREFETCHABLE, w->need.wide,
			                        bridge[i].note, n, &bridge[i]};
			if (!is_open(w) && w->need.bytes && kind_of(above, &it) == kind)
				count = add_item(count, &it);
		}
	return count;
}

/* --- pass 1 --- */

static bool overlaps(const struct pci_window *w, uint64_t start, uint64_t end)
{
	return start < w->end && w->start < end;
}

/* True if nothing has an address in the bridge's open window. Bridges below it follow it in the list. */
static bool is_empty(const struct pci_bridge *b, const struct pci_window *w)
{
	const struct hardware *hw = machine.hw;
	for (unsigned i = 0; i < hw->functions; i++)
		for (unsigned n = 0; n < PCI_BARS; n++) {
			const struct hardware_bar *bar = &hw->function[i].bar[n];
			if (bar->addr && !bar->io && overlaps(w, bar->addr, bar->addr + (bar->bytes ? bar->bytes : 1)))
				return false;
		}
	for (const struct pci_bridge *o = b + 1; o < bridge + machine.bridges; o++)
		for (unsigned n = 0; n < HARDWARE_WINDOWS; n++)
			if (is_open(&o->window[n]) && overlaps(w, o->window[n].start, o->window[n].end))
				return false;
	return true;
}

/* Where the n items end if they are packed from `at` on. */
static uint64_t pack(unsigned n, uint64_t at)
{
	for (unsigned i = 0; i < n; i++)
		at = align_up(at, items[i].align) + items[i].bytes;
	return at;
}

static void measure(struct pci_bridge *b, unsigned kind)
{
	struct pci_window *w = &b->window[kind];
	const unsigned n = gather((unsigned)pci_segment(b->at) << 8 | b->below, b, kind);
	if (is_open(w)) {
		if (pack(n, w->start) <= w->end || !is_empty(b, w))
			return;
		pci_bridge_close(b, kind);
	}
	w->need.align = PCI_WINDOW_BYTES;
	w->need.wide = kind == HARDWARE_WINDOW_PREFETCHABLE && w->wide;
	for (unsigned i = 0; i < n; i++) {
		w->need.wide &= items[i].wide;
		if (items[i].align > w->need.align)
			w->need.align = items[i].align;
	}
	w->need.bytes = align_up(pack(n, 0), PCI_WINDOW_BYTES);
}

/* --- pass 2 --- */

/* Has all bridges above the bus forward. `way`: which they are. */
static void enable(const bool way[PCI_BRIDGES_MAX])
{
	for (unsigned i = 0; i < machine.bridges; i++)
		if (way[i])
			pci_bridge_enable(&bridge[i]);
}

/* Writes the address to the device. False: the device does not keep it. */
static bool settle(const struct item *it, uint64_t at, const bool way[PCI_BRIDGES_MAX])
{
	char name[FMT_PCI_MAX];
	fmt_pci(name, it->f->segment, it->f->bdf);
	if (it->bridge) {
		if (!pci_bridge_open(it->bridge, it->n, at, it->bytes)) {
			console_print("pci %s: the bridge does not keep the addresses of its window\n", name);
			return false;
		}
		console_print("pci %s: %s window of %llu KiB opened at %llx\n", name,
		              it->n == HARDWARE_WINDOW_MEMORY ? "memory" : "prefetchable", (unsigned long long)it->bytes >> 10,
		              (unsigned long long)at);
		return true;
	}
	struct hardware_bar *b = &it->f->bar[it->n];
	if (!pci_bar_move(address_of(it->f), it->n, b, at)) {
		console_print("pci %s: BAR %u does not keep its address\n", name, it->n);
		return false;
	}
	b->addr = at;
	b->state = HARDWARE_BAR_ASSIGNED;
	enable(way);
	console_print("pci %s: BAR %u of %llu bytes assigned at %llx\n", name, it->n, (unsigned long long)b->bytes,
	              (unsigned long long)at);
	return true;
}

static void place(const struct item *it, const struct boot_range *room, unsigned rooms, const bool way[PCI_BRIDGES_MAX])
{
	for (unsigned i = 0; i < rooms; i++) {
		struct boot_range r = room[i];
		if (!it->wide && r.end > PCI_LOW_END)
			r.end = PCI_LOW_END;
		const uint64_t at = pci_room_find(&machine, way, &r, it->bytes, it->align);
		if (at) {
			settle(it, at, way); /* another address would not help a device that keeps none */
			return;
		}
	}
}

static unsigned add_window(struct boot_range *room, unsigned n, const struct pci_window *w)
{
	if (is_open(w))
		room[n++] = (struct boot_range){w->start, w->end};
	return n;
}

/* Where the items of a window may lie. Prefetchable ones may use the memory window, too. */
static unsigned rooms_of(unsigned bus, const struct pci_bridge *above, unsigned kind,
                         struct boot_range room[PCI_ROOMS_MAX])
{
	if (!above)
		return pci_room_of_root(&machine, bus, room);
	unsigned n = add_window(room, 0, &above->window[kind]);
	return kind == HARDWARE_WINDOW_MEMORY ? n : add_window(room, n, &above->window[HARDWARE_WINDOW_MEMORY]);
}

static void place_all(unsigned bus, struct pci_bridge *above)
{
	bool way[PCI_BRIDGES_MAX] = {false};
	for (struct pci_bridge *b = above; b; b = pci_bridge_to(bridge, machine.bridges, b->at >> 8))
		way[b - bridge] = true;
	for (unsigned kind = 0; kind < (above ? HARDWARE_WINDOWS : 1u); kind++) {
		struct boot_range room[PCI_ROOMS_MAX];
		const unsigned n = gather(bus, above, kind), rooms = n ? rooms_of(bus, above, kind, room) : 0;
		for (unsigned i = 0; i < n; i++)
			place(&items[i], room, rooms, way);
	}
}

/* Root buses, each once. */
static void place_roots(void)
{
	const struct hardware *hw = machine.hw;
	for (unsigned i = 0; i < hw->functions; i++) {
		const unsigned bus = address_of(&hw->function[i]) >> 8;
		unsigned first = 0;
		while (address_of(&hw->function[first]) >> 8 != bus)
			first++;
		if (first == i && !pci_bridge_to(bridge, machine.bridges, bus))
			place_all(bus, NULL);
	}
}

/* --- what is taken --- */

/* Reads the sizes of BARs that the kernel does not use. Functions of the chipset itself are left alone. */
static void read_sizes(struct hardware_function *f)
{
	struct hardware_bar b;
	const pci_address_t at = address_of(f);
	const uint32_t class = f->class >> 16;
	bool any = false;
	for (unsigned n = 0; n < PCI_BARS; n++)
		any |= f->bar[n].state == HARDWARE_BAR_READ && !f->bar[n].io;
	if (!any || f->header != 0 || class == CLASS_BRIDGE || class == CLASS_SYSTEM)
		return;
	const uint32_t command = pci_decode_stop(at);
	for (unsigned n = 0; n < PCI_BARS;) {
		const unsigned slots = pci_bar_read(at, n, PCI_BARS, &b);
		if (f->bar[n].state == HARDWARE_BAR_READ && b.addr == f->bar[n].addr && (b.bytes & (b.bytes - 1)) == 0)
			f->bar[n].bytes = b.bytes;
		n += slots;
	}
	pci_decode_set(at, command);
}

void pci_assign(struct hardware *hw, const struct acpi *acpi, const struct iommu_units *iommus, const struct boot *boot,
                uint64_t phys_end)
{
	const unsigned bridges = pci_bridges_list(bridge, hw);
	if (hw->functions_left_out || bridges > PCI_BRIDGES_MAX) {
		console_print("pci: too many functions to know which addresses are free\n");
		return;
	}
	for (unsigned i = 0; i < hw->functions; i++)
		read_sizes(&hw->function[i]);
	machine = (struct pci_machine){acpi, iommus, boot, phys_end, hw, bridge, bridges};
	for (unsigned i = bridges; i--;)
		for (unsigned kind = 0; kind < HARDWARE_WINDOWS; kind++)
			measure(&bridge[i], kind);
	place_roots();
	for (unsigned i = 0; i < bridges; i++)
		place_all((unsigned)pci_segment(bridge[i].at) << 8 | bridge[i].below, &bridge[i]);
}
