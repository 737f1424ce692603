/* Memory BARs of a PCI function: address, size, and how they move (PCI 3.0, 6.2.5). */
#ifndef KERNEL_PCI_BARS_H
#define KERNEL_PCI_BARS_H

#include "abi/hardware.h"
#include "kernel/pci_config.h"

/* Stops the function's memory decoding; returns its command register as it was, for pci_decode_set(). */
uint32_t pci_decode_stop(pci_address_t at);
void pci_decode_set(pci_address_t at, uint32_t command);

/* Reads BAR n of a function that has `slots` BARs, with its size in bytes, which is untrusted and may be no
 * power of two. bytes is 0 if there is no memory BAR; the state stays HARDWARE_BAR_NONE. Returns the number of
 * slots that the BAR uses. The caller has stopped memory decoding. */
unsigned pci_bar_read(pci_address_t at, unsigned n, unsigned slots, struct hardware_bar *bar);

/* Writes the physical address `addr` to BAR n, of which `bar` says if it has 64 bits. False: the function does
 * not keep the address; the BAR is then 0 if the function lets it. The caller has stopped memory decoding. */
bool pci_bar_move(pci_address_t at, unsigned n, const struct hardware_bar *bar, uint64_t addr);

#endif
