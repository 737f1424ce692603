/* abi/pci.h for core programs, through the kernel. Start-up only. */
#include "abi/pci.h"

#include "abi/kcall.h"

uint32_t pci_read(const struct pci_dev *dev, unsigned offset, unsigned size)
{
	int64_t v = kcall(KCALL_PCI_READ, dev->index, offset, size);
	return v < 0 ? UINT32_MAX : (uint32_t)v;
}

void pci_write(const struct pci_dev *dev, unsigned offset, unsigned size, uint32_t value)
{
	kcall(KCALL_PCI_WRITE, dev->index, offset | (uint64_t)size << 16, value);
}

int pci_msix_route(const struct pci_dev *dev, unsigned entry, unsigned core)
{
	return (int)kcall(KCALL_MSIX_ROUTE, dev->index, entry, core);
}
