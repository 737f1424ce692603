#include "tools/nicsim/pci.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Type 0 header (PCI Local Bus 3.0, 6.1). */
#define VENDOR        0x00
#define DEVICE        0x02
#define COMMAND       0x04
#define COMMAND_BME   0x04
#define STATUS        0x06
#define STATUS_CAPS   0x10
#define REVISION      0x08
#define CACHE_LINE    0x0c
#define BAR0          0x10
#define BAR_64        0x04
#define SUBVENDOR     0x2c
#define SUBSYSTEM     0x2e
#define CAPABILITIES  0x34
#define INTERRUPT     0x3c

/* Capabilities, offsets from their start. */
#define CAP_PM        0x01
#define PM_CAPS       2
#define PM_CSR        4
#define PM_D3HOT      3
#define CAP_PCIE      0x10
#define PCIE_CAPS     2
#define PCIE_DEVCAP   4
#define PCIE_DEVCTL   8
#define DEVCTL_FLR    0x80 /* bit 15: bit 7 of its second byte */
#define PCIE_DEVSTA   10
#define PCIE_LNKCAP   12
#define PCIE_LNKCTL   16
#define PCIE_LNKSTA   18
#define PCIE_DEVCAP2  36
#define PCIE_DEVCTL2  40
#define PCIE_LNKCAP2  44
#define PCIE_LNKCTL2  48
#define CAP_MSIX      0x11
#define MSIX_CONTROL  2
#define MSIX_TABLE    4
#define MSIX_PBA      8

static void put16(uint8_t *at, uint32_t value)
{
	at[0] = (uint8_t)value;
	at[1] = (uint8_t)(value >> 8);
}

static void put32(uint8_t *at, uint32_t value)
{
	put16(at, value);
	put16(at + 2, value >> 16);
}

static void fill_header(struct pci *p)
{
	const struct model_ops *o = p->ops;
	put16(p->config + VENDOR, o->vendor);
	put16(p->config + DEVICE, o->device);
	put16(p->config + STATUS, STATUS_CAPS);
	put32(p->config + REVISION, o->class_code << 8 | o->revision);
	put16(p->config + SUBVENDOR, o->subsystem_vendor);
	put16(p->config + SUBSYSTEM, o->subsystem);
	put16(p->writable + COMMAND, 0x0547); /* I/O, memory, master, parity, SERR, INTx off */
	put16(p->clears + STATUS, 0xf900);    /* error bits */
	p->writable[CACHE_LINE] = 0xff;
	p->writable[INTERRUPT] = 0xff;
	for (unsigned i = 0; i < 6; i++) {
		uint64_t mask = o->bar_bytes[i] ? ~(o->bar_bytes[i] - 1) : 0;
		if (mask == 0)
			continue;
		put32(p->writable + BAR0 + 4 * i, (uint32_t)mask);
		if (o->bar_is_64[i]) {
			p->config[BAR0 + 4 * i] = BAR_64;
			put32(p->writable + BAR0 + 4 * i + 4, (uint32_t)(mask >> 32));
		}
	}
}

/* Appends to the list of capabilities; returns the capability's first byte. */
static uint8_t *add_capability(struct pci *p, uint8_t offset, uint8_t id, uint8_t *link)
{
	p->config[*link] = offset;
	p->config[offset] = id;
	*link = offset + 1;
	return p->config + offset;
}

static void fill_pcie(struct pci *p, uint8_t *cap)
{
	uint8_t *writable = p->writable + p->ops->pcie_cap;
	const uint32_t link = p->ops->pcie_speed | (uint32_t)p->ops->pcie_lanes << 4;
	put16(cap + PCIE_CAPS, 0x0002);       /* version 2, endpoint */
	put32(cap + PCIE_DEVCAP, 0x10008cc2); /* 512 byte payload, role-based errors, FLR */
	put16(cap + PCIE_DEVCTL, 0x2810);     /* relaxed order, no snoop, 512 byte reads */
	put32(cap + PCIE_LNKCAP, 0x00000400u | link); /* ASPM L0s */
	put16(cap + PCIE_LNKSTA, 0x1000u | link);     /* common clock */
	put32(cap + PCIE_DEVCAP2, 0x1f);      /* completion timeouts A to D, can be disabled */
	if (p->ops->pcie_speed >= 3) /* reserved in devices that predate 8 GT/s */
		put32(cap + PCIE_LNKCAP2, (2u << p->ops->pcie_speed) - 2);
	put16(cap + PCIE_LNKCTL2, p->ops->pcie_speed); /* target */
	put16(writable + PCIE_DEVCTL, 0x7fff);
	put16(p->clears + p->ops->pcie_cap + PCIE_DEVSTA, 0x000f);
	put16(writable + PCIE_LNKCTL, 0x00cb);
	put16(writable + PCIE_DEVCTL2, 0x001f);
}

static void fill_capabilities(struct pci *p)
{
	const struct model_ops *o = p->ops;
	uint8_t link = CAPABILITIES, *cap;
	if (o->pm_cap) {
		cap = add_capability(p, o->pm_cap, CAP_PM, &link);
		put16(cap + PM_CAPS, 0x0003); /* version 1.2: D0 and D3 */
		p->writable[o->pm_cap + PM_CSR] = 0x03;
	}
	if (o->msix_cap) {
		cap = add_capability(p, o->msix_cap, CAP_MSIX, &link);
		put16(cap + MSIX_CONTROL, o->msix_vectors - 1);
		put32(cap + MSIX_TABLE, o->msix_table | o->msix_bar);
		put32(cap + MSIX_PBA, o->msix_pba | o->msix_bar);
		put16(p->writable + o->msix_cap + MSIX_CONTROL, 0xc000);
	}
	if (o->pcie_cap)
		fill_pcie(p, add_capability(p, o->pcie_cap, CAP_PCIE, &link));
}

void pci_reset(struct pci *p)
{
	memset(p->config, 0, sizeof p->config);
	memset(p->table, 0, sizeof p->table);
	for (unsigned i = 0; i < VECTORS_MAX; i++)
		p->table[16 * i + 12] = 1; /* 6.8.2.9: masked */
	fill_header(p);
	fill_capabilities(p);
}

void pci_init(struct pci *p, const struct model_ops *ops)
{
	memset(p, 0, sizeof *p);
	p->ops = ops;
	for (unsigned i = 0; i < VECTORS_MAX; i++)
		p->vector_fd[i] = -1;
	pci_reset(p);
}

void pci_read(const struct pci *p, uint32_t offset, void *data, uint32_t bytes)
{
	memcpy(data, p->config + offset, bytes);
}

enum pci_effect pci_write(struct pci *p, uint32_t offset, const void *data, uint32_t bytes)
{
	const uint8_t *v = data;
	uint32_t csr = p->ops->pm_cap ? p->ops->pm_cap + 0u + PM_CSR : UINT32_MAX;
	uint32_t devctl = p->ops->pcie_cap ? p->ops->pcie_cap + 1u + PCIE_DEVCTL : UINT32_MAX;
	bool was_d3 = p->ops->pm_cap && (p->config[csr] & 3) == PM_D3HOT, reset = false;
	for (uint32_t i = 0, at = offset; i < bytes && at < sizeof p->writable; i++, at++) {
		uint8_t *c = &p->config[at];
		*c = (uint8_t)((*c & ~p->writable[at]) | (v[i] & p->writable[at]));
		*c &= (uint8_t)~(v[i] & p->clears[at]);
		reset |= at == devctl && (v[i] & DEVCTL_FLR);
	}
	/* Power Management 1.2, 3.2.4: without No_Soft_Reset, leaving D3hot resets the function. */
	reset |= was_d3 && (p->config[csr] & 3) != PM_D3HOT;
	return reset ? PCI_FUNCTION_RESET : PCI_NOTHING;
}

bool pci_bus_master(const struct pci *p)
{
	return p->config[COMMAND] & COMMAND_BME;
}

bool pci_msix_at(struct pci *p, unsigned bar, uint64_t offset, unsigned bytes, uint8_t **at)
{
	const struct model_ops *o = p->ops;
	uint64_t table = 16ull * o->msix_vectors, pba = (o->msix_vectors + 63) / 64 * 8;
	if (o->msix_cap == 0 || bar != o->msix_bar)
		return false;
	*at = NULL;
	if (offset >= o->msix_table && offset + bytes <= o->msix_table + table) {
		*at = p->table + (offset - o->msix_table);
		return true;
	}
	return offset >= o->msix_pba && offset + bytes <= o->msix_pba + pba;
}

void pci_vector_set(struct pci *p, unsigned vector, int fd)
{
	if (p->vector_fd[vector] >= 0)
		close(p->vector_fd[vector]);
	p->vector_fd[vector] = fd;
	if (fd >= 0) /* the guest's host chose the fd: firing must not block */
		fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

void pci_vectors_clear(struct pci *p)
{
	for (unsigned i = 0; i < VECTORS_MAX; i++)
		pci_vector_set(p, i, -1);
}

void pci_vector_fire(const struct pci *p, unsigned vector)
{
	const uint64_t one = 1;
	if (vector >= VECTORS_MAX || p->vector_fd[vector] < 0)
		return;
	/* This fails only if 2^64 - 1 interrupts are already pending, or if the fd is no
	 * eventfd. */
	if (write(p->vector_fd[vector], &one, sizeof one) != sizeof one)
		return;
}
