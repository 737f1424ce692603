/*
 * The PCI side of a port: configuration space and MSI-X, from the identity in struct model_ops. PCI
 * Local Bus 3.0, PCI Express Base 2.1 (7.8), PCI Power Management 1.2.
 *
 * Implements only what software can observe: no extended capabilities, no INTx (pin 0), no MSI, no
 * expansion ROM. BARs can be sized and written, but their values have no effect: the host knows
 * where they are. QEMU keeps the MSI-X masks and table, and passes us an eventfd for every vector
 * to fire.
 */
#ifndef NICSIM_PCI_H
#define NICSIM_PCI_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/nicsim/model.h"

#define PCI_CONFIG_BYTES 4096

struct pci {
	const struct model_ops *ops;
	uint8_t config[PCI_CONFIG_BYTES];
	uint8_t writable[256]; /* bits of each byte that software may change */
	uint8_t clears[256];   /* bits that writing 1 clears */
	uint8_t table[16 * VECTORS_MAX]; /* of MSI-X, as written; QEMU has a copy of its own */
	int vector_fd[VECTORS_MAX];      /* eventfd; -1: the vector is not fired */
};

enum pci_effect { PCI_NOTHING, PCI_FUNCTION_RESET };

void pci_init(struct pci *p, const struct model_ops *ops);
/* Sets the registers to their values after reset; keeps the eventfds of the vectors. */
void pci_reset(struct pci *p);

/* The caller checks that offset + bytes <= PCI_CONFIG_BYTES. */
void pci_read(const struct pci *p, uint32_t offset, void *data, uint32_t bytes);
enum pci_effect pci_write(struct pci *p, uint32_t offset, const void *data, uint32_t bytes);

/* Command register, bit 2: the device may do DMA (and so send MSI-X). */
bool pci_bus_master(const struct pci *p);

/* Whether the MSI-X table or PBA is there; then `at` is the place in `table`, NULL for the PBA
 * (always zero). */
bool pci_msix_at(struct pci *p, unsigned bar, uint64_t offset, unsigned bytes, uint8_t **at);

/* Takes ownership of fd (-1: none) for `vector`. */
void pci_vector_set(struct pci *p, unsigned vector, int fd);
void pci_vectors_clear(struct pci *p);
void pci_vector_fire(const struct pci *p, unsigned vector);

#endif
