/*
 * See pci_errors.h. A bit that is set several times between two looks counts once.
 *
 * If the ACPI table HEST exists, firmware may handle the errors itself (firmware first, ACPI 6.5, 18.3.2), and
 * its registers must not be cleared behind its back. Which functions it means is partly known to AML (_OSC)
 * only. Then the registers are read, not cleared, and only bits that were not set at the look before count.
 */
#include "kernel/pci_errors.h"

#include "kernel/console.h"
#include "kernel/pci_config.h"
#include "lib/fmt.h"
#include "lib/mem.h"

#define CAP_AER 0x01           /* extended */
#define AER_UNCORRECTABLE 0x04 /* 7.8.4.2: status, write 1 to clear */
#define AER_CORRECTABLE 0x10   /* 7.8.4.5: status, write 1 to clear */

static struct hardware *hw;
static bool firmware_first;
static struct {
	uint16_t cap; /* offset; 0: the function has no such registers */
	uint32_t seen[2]; /* firmware_first: what was set at the last look */
	bool told[2];
} aer[HARDWARE_FUNCTIONS_MAX];

static const char *const uncorrectable[32] = {
	[4] = "data link protocol", [5] = "surprise down", [12] = "poisoned TLP", [13] = "flow control protocol",
	[14] = "completion timeout", [15] = "completer abort", [16] = "unexpected completion",
	[17] = "receiver overflow", [18] = "malformed TLP", [19] = "ECRC", [20] = "unsupported request",
	[21] = "ACS violation", [22] = "internal error", [23] = "blocked multicast TLP",
	[24] = "blocked atomic operation", [25] = "blocked TLP prefix",
};
static const char *const correctable[32] = {
	[0] = "receiver error", [6] = "bad TLP", [7] = "bad DLLP", [8] = "replay number rollover",
	[12] = "replay timer timeout", [13] = "advisory non-fatal error", [14] = "corrected internal error",
	[15] = "header log overflow",
};

static pci_address_t address_of(const struct hardware_function *f)
{
	return (pci_address_t)f->segment << 16 | f->bdf;
}

static void tell(const struct hardware_function *f, const char *const *names, uint32_t bits, const char *kind)
{
	char name[FMT_PCI_MAX], text[200];
	size_t n = 0;
	text[0] = '\0';
	for (unsigned i = 0; i < 32; i++)
		if (bits >> i & 1 && n + 40 < sizeof text)
			n += fmt_format(text + n, sizeof text - n, "%s%s", n ? ", " : "", names[i] ? names[i] : "reserved bit");
	console_print("pci %s: PCI Express reports %s: %s (further ones are counted, see show hardware)\n",
	              fmt_pci(name, f->segment, f->bdf), kind, text);
}

/* Reads a status register; returns the errors that are new. */
static uint32_t take(unsigned i, unsigned offset, unsigned which)
{
	const pci_address_t at = address_of(&hw->function[i]);
	uint32_t bits = pci_config_get(at, aer[i].cap + offset, 4);
	if (bits == UINT32_MAX) /* the card has gone */
		return 0;
	if (firmware_first) {
		uint32_t fresh = bits & ~aer[i].seen[which];
		aer[i].seen[which] = bits;
		return fresh;
	}
	if (bits)
		pci_config_put(at, aer[i].cap + offset, 4, bits);
	return bits;
}

void pci_errors_init(struct hardware *hardware)
{
	hw = hardware;
	memset(aer, 0, sizeof aer);
	firmware_first = false;
	for (unsigned i = 0; i < hw->tables; i++)
		firmware_first |= memcmp(hw->table[i].signature, "HEST", 4) == 0;
	for (unsigned i = 0; i < hw->functions; i++) {
		const pci_address_t at = address_of(&hw->function[i]);
		aer[i].cap = pci_find_capability(at, CAP_EXPRESS) ? (uint16_t)pci_find_extended(at, CAP_AER) : 0;
		if (aer[i].cap) {
			take(i, AER_UNCORRECTABLE, 1);
			take(i, AER_CORRECTABLE, 0);
		}
		hw->function[i].reports_errors = aer[i].cap != 0;
		hw->error_reporting |= aer[i].cap != 0;
	}
}

static unsigned count(unsigned i, uint32_t bits, unsigned which)
{
	struct hardware_function *f = &hw->function[i];
	unsigned n = 0;
	for (uint32_t rest = bits; rest; rest &= rest - 1)
		n++;
	if (n == 0)
		return 0;
	f->errors[which] += n;
	f->error_bits[which] |= bits;
	if (!aer[i].told[which]) {
		aer[i].told[which] = true;
		tell(f, which ? uncorrectable : correctable, bits, which ? "uncorrectable errors" : "corrected errors");
	}
	return n;
}

int64_t pci_errors_look(void)
{
	static int64_t all;
	for (unsigned i = 0; hw && i < hw->functions; i++)
		if (aer[i].cap) {
			all += count(i, take(i, AER_UNCORRECTABLE, 1), 1);
			all += count(i, take(i, AER_CORRECTABLE, 0), 0);
		}
	return all;
}
