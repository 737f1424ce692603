/*
 * Windows of PCI-to-PCI bridges: the memory addresses that a bridge passes on to the buses behind it
 * (PCI-to-PCI Bridge Architecture Specification 1.2, Memory Base and Limit, Prefetchable Memory Base and Limit).
 */
#ifndef KERNEL_PCI_BRIDGES_H
#define KERNEL_PCI_BRIDGES_H

#include "abi/hardware.h"
#include "kernel/pci_config.h"

#define PCI_BRIDGES_MAX 256
#define PCI_WINDOW_BYTES 0x100000ull /* windows begin and end at multiples */
#define PCI_LOW_END (4ull << 30)     /* of what 32 bits address */

/* A window: [start, end), physical; start == end: closed. */
struct pci_window {
	uint64_t start, end;
	bool exists; /* the prefetchable one is optional */
	bool wide;   /* it may lie above 4 GiB */
	/* What the closed window must hold; bytes is 0: nothing. kernel/pci_assign.c writes and reads it. */
	struct {
		uint64_t bytes, align;
		bool wide; /* all of it has 64-bit addresses */
	} need;
};

struct pci_bridge {
	pci_address_t at;
	uint8_t below; /* its secondary bus, a higher number than that of the bridge's own bus */
	struct hardware_function *note;
	struct pci_window window[HARDWARE_WINDOWS]; /* enum hardware_window_kind */
};

/* Lists the bridges that hw has, one for each secondary bus, by ascending segment and secondary bus. Reads their
 * windows. Returns the number of bridges; PCI_BRIDGES_MAX + 1: there are too many. */
unsigned pci_bridges_list(struct pci_bridge bridge[PCI_BRIDGES_MAX], struct hardware *hw);

/* Opens a closed window, at multiples of PCI_WINDOW_BYTES. False: the bridge does not keep the addresses; the
 * window is then closed again. */
bool pci_bridge_open(struct pci_bridge *b, unsigned kind, uint64_t start, uint64_t bytes);

/* Closes a window. */
void pci_bridge_close(struct pci_bridge *b, unsigned kind);

/* Has the bridge forward memory accesses both ways. */
void pci_bridge_enable(const struct pci_bridge *b);

/* The bridge that leads to a bus, segment << 8 | bus; NULL: it is a root bus. */
struct pci_bridge *pci_bridge_to(struct pci_bridge *bridge, unsigned bridges, unsigned bus);

#endif
