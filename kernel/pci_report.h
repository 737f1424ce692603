/* The list of PCI functions for reports (abi/hardware.h). */
#ifndef KERNEL_PCI_REPORT_H
#define KERNEL_PCI_REPORT_H

#include "abi/hardware.h"
#include "kernel/pci_config.h"

/* Records a function. `bars`: the PCI_BARS BARs of a function that core programs see as
 * boot_info.pci[listed]; NULL: they are read here, without their sizes. */
void pci_note(struct hardware *hw, pci_address_t at, uint16_t listed, const struct hardware_bar *bars);

#endif
