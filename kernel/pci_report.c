/* See pci_report.h. PCIe 5.0: 7.5.3 (PCI Express capability). */
#include "kernel/pci_report.h"

#include "lib/mem.h"

#define EXPRESS_LINK 0x0c   /* 7.5.3.6: 3:0 speed, 9:4 width that the port can */
#define EXPRESS_STATUS 0x12 /* 7.5.3.8: 3:0 speed, 9:4 width in use */
#define SRIOV_TOTAL 0x0e    /* SR-IOV 1.1, 3.3.5 */

/* A BAR that the kernel does not use: its size is not read, which would take the device's registers away
 * for a moment. Returns its slots. */
static unsigned note_bar(struct hardware_function *f, pci_address_t at, unsigned n, unsigned slots)
{
	uint32_t low = pci_config_get(at, CFG_BAR0 + 4 * n, 4), high = 0;
	bool io = low & 1, wide = !io && (low & 6) == 4 && n + 1 < slots;
	if (wide)
		high = pci_config_get(at, CFG_BAR0 + 4 * n + 4, 4);
	f->bar[n].addr = (uint64_t)high << 32 | (low & (io ? ~3u : ~15u));
	f->bar[n].io = io;
	f->bar[n].wide = wide;
	f->bar[n].state = f->bar[n].addr ? HARDWARE_BAR_READ : HARDWARE_BAR_NONE;
	return wide ? 2 : 1;
}

static void note_express(struct hardware_function *f, pci_address_t at)
{
	unsigned cap = pci_find_capability(at, CAP_EXPRESS);
	if (cap) {
		uint32_t can = pci_config_get(at, cap + EXPRESS_LINK, 4);
		uint32_t has = pci_config_get(at, cap + EXPRESS_STATUS, 2);
		f->link_speed_max = can & 15;
		f->link_width_max = can >> 4 & 63;
		f->link_speed = has & 15;
		f->link_width = has >> 4 & 63;
	}
	cap = cap ? pci_find_extended(at, CAP_SRIOV) : 0;
	if (cap)
		f->vfs = (uint16_t)pci_config_get(at, cap + SRIOV_TOTAL, 2);
}

void pci_note(struct hardware *hw, pci_address_t at, uint16_t listed, const struct hardware_bar *bars)
{
	if (hw->functions == HARDWARE_FUNCTIONS_MAX) {
		hw->functions_left_out++;
		return;
	}
	struct hardware_function *f = &hw->function[hw->functions++];
	uint32_t class = pci_config_get(at, CFG_REVISION, 4);
	unsigned cap = pci_find_capability(at, CAP_MSIX);
	*f = (struct hardware_function){
		.segment = pci_segment(at),
		.bdf = pci_bdf(at),
		.vendor = (uint16_t)pci_config_get(at, CFG_VENDOR, 2),
		.device = (uint16_t)pci_config_get(at, CFG_DEVICE, 2),
		.listed = listed,
		.class = class >> 8,
		.revision = (uint8_t)class,
		.header = pci_config_get(at, CFG_HEADER, 1) & HEADER_TYPE,
		.msix_vectors = cap ? (uint16_t)((pci_config_get(at, cap + 2, 2) & 0x7ff) + 1) : 0,
	};
	unsigned slots = f->header == 0 ? PCI_BARS : f->header == 1 ? 2 : 0;
	for (unsigned n = 0; !bars && n < slots;)
		n += note_bar(f, at, n, slots);
	if (bars)
		memcpy(f->bar, bars, sizeof f->bar);
	if (f->header == 0) {
		f->subvendor = (uint16_t)pci_config_get(at, CFG_SUBSYSTEM, 2);
		f->subdevice = (uint16_t)pci_config_get(at, CFG_SUBSYSTEM + 2, 2);
	} else if (f->header == 1) {
		f->first_bus = (uint8_t)pci_config_get(at, CFG_SECONDARY_BUS, 1);
		f->last_bus = (uint8_t)pci_config_get(at, CFG_SUBORDINATE_BUS, 1);
	}
	note_express(f, at);
}
