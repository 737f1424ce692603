/*
 * Network cards and disks on PCI as a driver sees them: identity, mapped BARs, and configuration space
 * through the kernel. The core runtime implements this (runtime/pci.c); on the host the test does.
 */
#ifndef ABI_PCI_H
#define ABI_PCI_H

#include "lib/types.h"

#define PCI_BARS 6
#define PCI_NODE_NONE 0xffff
#define PCI_VENDOR_NONE 0xffff /* read from an empty slot; also the vendor of a port without a device */

struct pci_bar {
	uint64_t addr;  /* virtual address of the mapping, the same in every address space; 0: none */
	uint64_t bytes;
};

enum pci_kind {
	PCI_NETWORK,
	PCI_DISK, /* NVMe, or virtio-blk. Its BARs are mapped for the control core only */
};

struct pci_dev {
	uint16_t index; /* in struct boot_info; identifies the device to the kernel */
	uint16_t segment;
	uint16_t bdf;   /* bus << 8 | device << 3 | function */
	uint16_t vendor;
	uint16_t device;
	uint16_t msix_vectors; /* 0: no MSI-X */
	uint16_t kind;         /* enum pci_kind */
	uint16_t node;         /* NUMA node; PCI_NODE_NONE: not known */
	struct pci_bar bar[PCI_BARS];
};

/* Configuration space; size is 1, 2 or 4, offset a multiple of it, below 256 (4096 with ECAM).
 * A read of a register that does not exist gives all ones; a write to one does nothing. Enters the
 * kernel: start-up only. */
uint32_t pci_read(const struct pci_dev *dev, unsigned offset, unsigned size);
void pci_write(const struct pci_dev *dev, unsigned offset, unsigned size, uint32_t value);

/* Enables memory space and bus mastering (PCI 3.0, 6.2.2: bits 1 and 2 of the command register). */
static inline void pci_enable(const struct pci_dev *dev)
{
	pci_write(dev, 0x04, 2, pci_read(dev, 0x04, 2) | 6);
}

/* Ends bus mastering; memory space stays enabled. Whatever state the device is in, it reaches no memory afterwards. */
static inline void pci_end_dma(const struct pci_dev *dev)
{
	pci_write(dev, 0x04, 2, (pci_read(dev, 0x04, 2) & ~4u) | 2);
}

/* Routes MSI-X table entry `entry` to `core`, whose sleep it ends, and unmasks the entry. E_INVAL: the
 * device has no such entry. Enters the kernel: start-up only. */
int pci_msix_route(const struct pci_dev *dev, unsigned entry, unsigned core);

#endif
