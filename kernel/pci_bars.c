/* See pci_bars.h. */
#include "kernel/pci_bars.h"

#define BAR_IO 1u
#define BAR_TYPE 6u /* 4: 64 bits */
#define BAR_WIDE 4u
#define BAR_PREFETCHABLE 8u
#define BAR_FLAGS 0xfu

uint32_t pci_decode_stop(pci_address_t at)
{
	const uint32_t command = pci_config_get(at, CFG_COMMAND, 2);
	pci_config_put(at, CFG_COMMAND, 2, command & ~CFG_COMMAND_MEMORY);
	return command;
}

void pci_decode_set(pci_address_t at, uint32_t command)
{
	pci_config_put(at, CFG_COMMAND, 2, command);
}

/* The writable bits of a BAR register, which then has its value again. */
static uint32_t writable(pci_address_t at, unsigned offset, uint32_t value)
{
	pci_config_put(at, offset, 4, UINT32_MAX);
	const uint32_t bits = pci_config_get(at, offset, 4);
	pci_config_put(at, offset, 4, value);
	return bits;
}

unsigned pci_bar_read(pci_address_t at, unsigned n, unsigned slots, struct hardware_bar *bar)
{
	const unsigned offset = CFG_BAR0 + 4 * n;
	const uint32_t low = pci_config_get(at, offset, 4);
	const bool wide = (low & (BAR_IO | BAR_TYPE)) == BAR_WIDE && n + 1 < slots;
	*bar = (struct hardware_bar){0};
	if (low & BAR_IO)
		return 1;
	uint64_t addr = low & ~BAR_FLAGS, bits = writable(at, offset, low) & ~BAR_FLAGS;
	if (wide) {
		const uint32_t high = pci_config_get(at, offset + 4, 4);
		addr |= (uint64_t)high << 32;
		bits |= (uint64_t)writable(at, offset + 4, high) << 32;
	} else if (bits) {
		bits |= 0xffffffff00000000ull;
	}
	bar->addr = addr;
	bar->bytes = -bits; /* 0 without writable bits */
	bar->wide = wide;
	bar->prefetchable = low & BAR_PREFETCHABLE;
	return wide ? 2 : 1;
}

static bool put(pci_address_t at, unsigned n, const struct hardware_bar *bar, uint64_t addr)
{
	const unsigned offset = CFG_BAR0 + 4 * n;
	pci_config_put(at, offset, 4, (uint32_t)addr);
	if (bar->wide)
		pci_config_put(at, offset + 4, 4, (uint32_t)(addr >> 32));
	uint64_t kept = pci_config_get(at, offset, 4) & ~BAR_FLAGS;
	if (bar->wide)
		kept |= (uint64_t)pci_config_get(at, offset + 4, 4) << 32;
	return kept == addr;
}

bool pci_bar_move(pci_address_t at, unsigned n, const struct hardware_bar *bar, uint64_t addr)
{
	if (put(at, n, bar, addr))
		return true;
	put(at, n, bar, 0);
	return false;
}
