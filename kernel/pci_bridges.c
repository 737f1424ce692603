/* See pci_bridges.h. Registers: PCI-to-PCI Bridge Architecture Specification 1.2, type 1 header. */
#include "kernel/pci_bridges.h"

#define CFG_WINDOW 0x20             /* Memory Base, Memory Limit: bits 31:20 of the addresses */
#define CFG_PREFETCHABLE 0x24       /* the same; bits 3:0 are 1 if there are upper halves */
#define CFG_PREFETCHABLE_BASE 0x28  /* Prefetchable Base Upper 32 Bits */
#define CFG_PREFETCHABLE_LIMIT 0x2c /* Prefetchable Limit Upper 32 Bits */
#define WINDOW_BITS 0xfff0fff0u
#define WINDOW_WIDE 1u
#define WINDOW_CLOSED 0x0000fff0u /* the base is above the limit */

static uint64_t base_of(uint32_t v) { return (uint64_t)(v & 0xfff0) << 16; }
static uint64_t end_of(uint32_t v) { return (v & 0xfff00000ull) + PCI_WINDOW_BYTES; }

/* A window at 0, as after a reset, counts as closed: memory is there. */
static void set_range(struct pci_window *w, uint64_t start, uint64_t end)
{
	if (start && start < end) {
		w->start = start;
		w->end = end;
	}
}

/* A bridge without prefetchable window has registers that are always 0. */
static bool has_prefetchable(pci_address_t at, uint32_t v)
{
	if (v & WINDOW_BITS)
		return true;
	pci_config_put(at, CFG_PREFETCHABLE, 4, WINDOW_CLOSED);
	return pci_config_get(at, CFG_PREFETCHABLE, 4) & WINDOW_BITS;
}

static void read_windows(struct pci_bridge *b)
{
	struct pci_window *w = b->window;
	const uint32_t mem = pci_config_get(b->at, CFG_WINDOW, 4), pref = pci_config_get(b->at, CFG_PREFETCHABLE, 4);
	w[HARDWARE_WINDOW_MEMORY].exists = true;
	set_range(&w[HARDWARE_WINDOW_MEMORY], base_of(mem), end_of(mem));
	w += HARDWARE_WINDOW_PREFETCHABLE;
	w->exists = has_prefetchable(b->at, pref);
	w->wide = (pref & 15) == WINDOW_WIDE;
	uint64_t base = 0, limit = 0;
	if (w->wide) {
		base = (uint64_t)pci_config_get(b->at, CFG_PREFETCHABLE_BASE, 4) << 32;
		limit = (uint64_t)pci_config_get(b->at, CFG_PREFETCHABLE_LIMIT, 4) << 32;
	}
	set_range(w, base | base_of(pref), limit + end_of(pref));
}

static unsigned order(const struct pci_bridge *b)
{
	return (unsigned)pci_segment(b->at) << 8 | b->below;
}

unsigned pci_bridges_list(struct pci_bridge bridge[PCI_BRIDGES_MAX], struct hardware *hw)
{
	unsigned n = 0;
	for (unsigned i = 0; i < hw->functions; i++) {
		struct hardware_function *f = &hw->function[i];
		struct pci_bridge b = {.at = (pci_address_t)f->segment << 16 | f->bdf, .below = f->first_bus, .note = f};
		if (f->class >> 8 != CLASS_BRIDGE_PCI || f->header != 1 || b.below <= pci_bus(b.at) ||
		    pci_bridge_to(bridge, n, order(&b)))
			continue;
		if (n == PCI_BRIDGES_MAX)
			return PCI_BRIDGES_MAX + 1;
		read_windows(&b);
		unsigned at = n++;
		for (; at && order(&bridge[at - 1]) > order(&b); at--)
			bridge[at] = bridge[at - 1];
		bridge[at] = b;
	}
	return n;
}

static bool put_window(const struct pci_bridge *b, unsigned kind, uint64_t start, uint64_t last)
{
	const uint32_t v = (uint32_t)(start >> 16 & 0xfff0) | (uint32_t)(last & 0xfff00000);
	if (kind == HARDWARE_WINDOW_MEMORY) {
		pci_config_put(b->at, CFG_WINDOW, 4, v);
		return (pci_config_get(b->at, CFG_WINDOW, 4) & WINDOW_BITS) == v;
	}
	/* Closed while its halves change, so that the window is at no time somewhere else. */
	pci_config_put(b->at, CFG_PREFETCHABLE, 4, WINDOW_CLOSED);
	if (b->window[kind].wide) {
		pci_config_put(b->at, CFG_PREFETCHABLE_BASE, 4, (uint32_t)(start >> 32));
		pci_config_put(b->at, CFG_PREFETCHABLE_LIMIT, 4, (uint32_t)(last >> 32));
		if (pci_config_get(b->at, CFG_PREFETCHABLE_BASE, 4) != (uint32_t)(start >> 32) ||
		    pci_config_get(b->at, CFG_PREFETCHABLE_LIMIT, 4) != (uint32_t)(last >> 32))
			return false;
	}
	pci_config_put(b->at, CFG_PREFETCHABLE, 4, v);
	return (pci_config_get(b->at, CFG_PREFETCHABLE, 4) & WINDOW_BITS) == v;
}

void pci_bridge_close(struct pci_bridge *b, unsigned kind)
{
	pci_config_put(b->at, kind == HARDWARE_WINDOW_MEMORY ? CFG_WINDOW : CFG_PREFETCHABLE, 4, WINDOW_CLOSED);
	b->window[kind].start = b->window[kind].end = 0;
}

bool pci_bridge_open(struct pci_bridge *b, unsigned kind, uint64_t start, uint64_t bytes)
{
	if (!put_window(b, kind, start, start + bytes - 1)) {
		pci_bridge_close(b, kind);
		return false;
	}
	b->window[kind].start = b->note->window[kind].start = start;
	b->window[kind].end = b->note->window[kind].end = start + bytes;
	return true;
}

void pci_bridge_enable(const struct pci_bridge *b)
{
	const uint32_t command = pci_config_get(b->at, CFG_COMMAND, 2);
	pci_config_put(b->at, CFG_COMMAND, 2, command | CFG_COMMAND_MEMORY | CFG_COMMAND_MASTER);
}

struct pci_bridge *pci_bridge_to(struct pci_bridge *bridge, unsigned bridges, unsigned bus)
{
	for (unsigned i = 0; i < bridges; i++)
		if (order(&bridge[i]) == bus)
			return &bridge[i];
	return NULL;
}
