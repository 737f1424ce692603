/*
 * Configuration space of PCI functions: by ECAM where firmware describes it (PCIe 7.2.2), else, in segment 0,
 * by the ports of mechanism 1 (PCI 3.0, 3.2.2.3.2), which reach 256 bytes. What it contains is untrusted.
 */
#ifndef KERNEL_PCI_CONFIG_H
#define KERNEL_PCI_CONFIG_H

#include "kernel/acpi.h"

#define CFG_VENDOR 0x00
#define CFG_DEVICE 0x02
#define CFG_COMMAND 0x04
#define CFG_COMMAND_MEMORY 2u
#define CFG_COMMAND_MASTER 4u
#define CFG_STATUS_CAPS (1u << 20)
#define CFG_REVISION 0x08 /* below the class: 31:24 class, 23:16 subclass, 15:8 interface */
#define CFG_CLASS 0x0a    /* class << 8 | subclass */
#define CFG_HEADER 0x0e
#define HEADER_TYPE 0x7fu    /* 0: a device, 1: a bridge */
#define HEADER_SEVERAL 0x80u /* the device has several functions */
#define CFG_BAR0 0x10
#define CFG_SECONDARY_BUS 0x19
#define CFG_SUBORDINATE_BUS 0x1a
#define CFG_SUBSYSTEM 0x2c
#define CFG_CAPS 0x34
#define CFG_EXTENDED 0x100
#define CAP_EXPRESS 0x10
#define CAP_MSIX 0x11
#define CAP_SRIOV 0x10 /* extended; SR-IOV 1.1, 3.3 */
#define VENDOR_NONE 0xffffu
#define CLASS_NETWORK 0x02
#define CLASS_NVME 0x0108 /* non-volatile memory controllers */
#define INTERFACE_NVME 2  /* of these, NVM Express: the byte at CFG_REVISION + 1 */
#define CLASS_BRIDGE_PCI 0x0604
#define CLASS_BRIDGE 0x06
#define CLASS_SYSTEM 0x08 /* interrupt controllers, timers */

/* A function: segment << 16 | bus << 8 | device << 3 | function. */
typedef uint32_t pci_address_t;

static inline uint16_t pci_segment(pci_address_t at) { return (uint16_t)(at >> 16); }
static inline uint16_t pci_bdf(pci_address_t at) { return (uint16_t)at; }
static inline uint8_t pci_bus(pci_address_t at) { return (uint8_t)(at >> 8); }

/* Maps the ECAM regions of `acpi`, whose pointer it keeps. */
void pci_config_init(const struct acpi *acpi);

/* size is 1, 2 or 4, offset a multiple of it, below 4096. Without a function, or beyond what can be reached,
 * a read gives all ones and a write does nothing. */
uint32_t pci_config_get(pci_address_t at, unsigned offset, unsigned size);
void pci_config_put(pci_address_t at, unsigned offset, unsigned size, uint32_t v);

bool pci_config_exists(pci_address_t at);

/* The offset of the first capability of that ID (PCI 3.0, 6.7; PCIe 7.9.3); 0: there is none. */
unsigned pci_find_capability(pci_address_t at, uint8_t id);
unsigned pci_find_extended(pci_address_t at, uint16_t id);

#endif
