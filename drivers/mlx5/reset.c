/*
 * A function level reset (PCI Express base specification 3.0, 6.6.2): it ends the function's DMA in
 * any state, and its firmware forgets driver, objects and pages. Linux's vfio uses it to pass a
 * ConnectX from one owner to the next.
 *
 * The reset clears configuration space except for the identity. The driver restores it: addresses
 * as the kernel mapped them, request sizes as they suit the buses above. MSI-X stays off until
 * vectors are routed.
 */
#include "drivers/mlx5/device.h"

#include "hal/barrier.h"

#define PENDING_US 1000000
#define RESET_US 100000
#define BACK_US 1000000 /* 6.6.1: until then it may answer with a retry status */

/* PCI 3.0, 6.1 and 6.7 */
#define PCI_VENDOR 0x00
#define PCI_COMMAND 0x04
#define PCI_COMMAND_MASTER 4u
#define PCI_STATUS 0x06
#define PCI_STATUS_CAPS 0x10u
#define PCI_CACHE_LINE 0x0c
#define PCI_BAR0 0x10
#define PCI_CAPABILITIES 0x34
#define PCI_INTERRUPT_LINE 0x3c
#define CAPS_MAX 48
/* PCI Express 3.0, 7.8 */
#define PCI_CAP_EXPRESS 0x10
#define EXPRESS_DEVCAP 0x04
#define EXPRESS_DEVCAP_FLR (1u << 28)
#define EXPRESS_DEVCTL 0x08
#define EXPRESS_DEVCTL_FLR (1u << 15)
#define EXPRESS_DEVSTA 0x0a
#define EXPRESS_DEVSTA_PENDING (1u << 5)
#define EXPRESS_LNKCTL 0x10
#define EXPRESS_DEVCTL2 0x28

struct saved {
	uint32_t bar[PCI_BARS];
	uint32_t command, cache_line, interrupt_line, devctl, lnkctl, devctl2;
};

void mlx5_cut_off(struct nic *nic)
{
	pci_write(nic->pci, PCI_COMMAND, 2,
	          pci_read(nic->pci, PCI_COMMAND, 2) & ~PCI_COMMAND_MASTER);
}

/* 0: there is no such capability. */
static unsigned find_express(const struct pci_dev *dev)
{
	if (!(pci_read(dev, PCI_STATUS, 2) & PCI_STATUS_CAPS))
		return 0;
	unsigned at = pci_read(dev, PCI_CAPABILITIES, 1) & 0xfc;
	for (unsigned i = 0; at >= 0x40 && i < CAPS_MAX; i++) {
		if (pci_read(dev, at, 1) == PCI_CAP_EXPRESS)
			return at;
		at = pci_read(dev, at + 1, 1) & 0xfc;
	}
	return 0;
}

static void save(const struct pci_dev *dev, unsigned express, struct saved *s)
{
	for (unsigned i = 0; i < PCI_BARS; i++)
		s->bar[i] = pci_read(dev, PCI_BAR0 + 4 * i, 4);
	s->command = pci_read(dev, PCI_COMMAND, 2);
	s->cache_line = pci_read(dev, PCI_CACHE_LINE, 1);
	s->interrupt_line = pci_read(dev, PCI_INTERRUPT_LINE, 1);
	s->devctl = pci_read(dev, express + EXPRESS_DEVCTL, 2);
	s->lnkctl = pci_read(dev, express + EXPRESS_LNKCTL, 2);
	s->devctl2 = pci_read(dev, express + EXPRESS_DEVCTL2, 2);
}

/* Writes the command register last, because it makes the function respond at its addresses. */
static void restore(const struct pci_dev *dev, unsigned express, const struct saved *s)
{
	pci_write(dev, express + EXPRESS_DEVCTL, 2, s->devctl);
	pci_write(dev, express + EXPRESS_LNKCTL, 2, s->lnkctl);
	pci_write(dev, express + EXPRESS_DEVCTL2, 2, s->devctl2);
	for (unsigned i = 0; i < PCI_BARS; i++)
		pci_write(dev, PCI_BAR0 + 4 * i, 4, s->bar[i]);
	pci_write(dev, PCI_CACHE_LINE, 1, s->cache_line);
	pci_write(dev, PCI_INTERRUPT_LINE, 1, s->interrupt_line);
	pci_write(dev, PCI_COMMAND, 2, s->command);
}

/* Waits until the bits are as wanted. False: time is over. */
static bool wait_config(struct nic *nic, unsigned offset, uint32_t mask, uint32_t wanted,
                        uint32_t us)
{
	uint64_t end = nic_deadline(nic, us);
	for (;;) {
		bool last = nic_past(end);
		if ((pci_read(nic->pci, offset, 2) & mask) == wanted)
			return true;
		if (last)
			return false;
		cpu_relax();
	}
}

/* The offset of its PCI Express capability if the function has a function level reset, else 0. */
static unsigned find_reset(const struct pci_dev *dev)
{
	const unsigned express = find_express(dev);
	return express && pci_read(dev, express + EXPRESS_DEVCAP, 4) & EXPRESS_DEVCAP_FLR ? express : 0;
}

bool mlx5_can_reset(struct nic *nic)
{
	return !mlx5_gone(nic) && find_reset(nic->pci);
}

int mlx5_revive(struct nic *nic)
{
	struct mlx5_device *d = mlx5_device(nic);
	if (d->revived || mlx5_gone(nic) || mlx5_reset(nic) != E_OK)
		return E_NOTSUP;
	d->revived = true;
	d->dead = d->enabled = d->initialised = d->has_eq = false;
	d->objects = d->base = d->parked = 0;
	d->making = NULL;
	for (unsigned i = 0; i < NIC_PAIRS_MAX; i++)
		d->memory->pair[i].objects = 0;
	for (unsigned i = 0; i < MLX5_SLOTS; i++)
		d->memory->slot[i].busy = false;
	mlx5_pages_forget(nic);
	pci_enable(nic->pci);
	return mlx5_ready_soon(nic);
}

int mlx5_reset(struct nic *nic)
{
	const struct pci_dev *dev = nic->pci;
	unsigned express = find_reset(dev);
	struct saved s;
	if (!express)
		return E_NOTSUP;
	mlx5_cut_off(nic);
	/* Transactions that do not end are cut short: 6.6.2, note */
	wait_config(nic, express + EXPRESS_DEVSTA, EXPRESS_DEVSTA_PENDING, 0, PENDING_US);
	save(dev, express, &s);
	pci_write(dev, express + EXPRESS_DEVCTL, 2, s.devctl | EXPRESS_DEVCTL_FLR);
	for (uint64_t end = nic_deadline(nic, RESET_US); !nic_past(end);)
		cpu_relax();
	if (!wait_config(nic, PCI_VENDOR, 0xffff, dev->vendor, BACK_US))
		return mlx5_fail(nic, E_TIMEOUT, "does not come back from a function level reset");
	restore(dev, express, &s);
	return E_OK;
}
