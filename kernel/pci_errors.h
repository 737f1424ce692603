/*
 * PCI Express Advanced Error Reporting (PCIe 5.0, 7.8.4): the status registers of all functions that have
 * them are read from time to time, counted in abi/hardware.h, shown on the console once a function and kind,
 * and cleared. No interrupt is used.
 */
#ifndef KERNEL_PCI_ERRORS_H
#define KERNEL_PCI_ERRORS_H

#include "abi/hardware.h"

/* Finds the registers of the functions in hw, whose pointer it keeps, and clears what the scan of the buses, or
 * an earlier system, has left there. Boot core, after the scan. */
void pci_errors_init(struct hardware *hw);

/* Looks once. Returns how many errors have been counted since boot. One core only. */
int64_t pci_errors_look(void);

#endif
