/*
 * Configuration space of hostile devices (kernel/pci.c): BARs of any size anywhere, capability
 * lists with cycles, bridges that lead to each other, registers that change at each read. The walk
 * ends. What core programs get does not overlap anything else. Nothing is written except by the
 * walk and its callers.
 *
 * Input: functions, each with its kind, place, BARs and capabilities; then calls.
 */
#include "tests/fuzz/rig.h"

#include "hal/mmio.h"

#include "kernel/pci_config.c"
#include "kernel/pci.c"
#include "kernel/pci_report.c"

#define ECAM_PHYS 0xb0000000ull
#define UNIT_PHYS 0xfed90000ull
#define ECAM_VIRT 0x10000000000ull /* used only to tell addresses apart */
#define TABLE_VIRT 0x20000000000ull
#define FUNCTIONS_MAX 12
#define READS_MAX 200000u /* all places of all buses, and lists that may be there */

static struct function {
	uint16_t bdf;
	bool fickle; /* reads may differ */
	uint8_t space[256];
	uint32_t bar_mask[PCI_BARS];
} functions[FUNCTIONS_MAX];
static unsigned count, reads;
static uint8_t place[65536]; /* number of the first function at a bdf, from 1; 0: none */
static uint64_t table_bytes; /* of the MSI-X table mapped last */

static struct boot memory = {
	.ram = {{0, 0x9fc00}, {0x100000, 0x80000000}, {0x100000000, 0x180000000}},
	.ram_count = 3,
};
static struct acpi tables = {
	.lapic = 0xfee00000,
	.ioapic = {{.addr = 0xfec00000}},
	.ioapics = 1,
	.ecam = {{.base = ECAM_PHYS, .last_bus = 255}},
	.ecams = 1,
};
static struct iommu_units units = {.unit = {{.regs = UNIT_PHYS, .bytes = PAGE_BYTES}}, .units = 1};

/* --- the machine --- */

static struct function *function_at(uint64_t offset)
{
	return place[offset >> 12] ? &functions[place[offset >> 12] - 1] : NULL;
}

uint32_t host_mmio_read(const volatile void *a, unsigned bytes)
{
	uint64_t offset = (uint64_t)a - ECAM_VIRT, at = offset & 4095;
	uint32_t v = UINT32_MAX;
	assert_true(offset < 256ull << 20 && at % bytes == 0);
	assert_in_range(++reads, 1, READS_MAX);
	const struct function *f = function_at(offset);
	if (f && f->fickle && rig_more())
		v = rig_u32();
	else if (f && at < sizeof f->space)
		memcpy(&v, f->space + at, bytes);
	return v & UINT32_MAX >> (32 - 8 * bytes);
}

void host_mmio_write(volatile void *a, unsigned bytes, uint32_t v)
{
	uint64_t offset = (uint64_t)a - ECAM_VIRT, at = offset & 4095;
	if ((uint64_t)a >= TABLE_VIRT) {
		assert_true((uint64_t)a - TABLE_VIRT + bytes <= table_bytes);
		return;
	}
	assert_true(offset < 256ull << 20 && at % bytes == 0);
	struct function *f = function_at(offset);
	if (!f || at >= sizeof f->space || f->fickle)
		return;
	if (at >= CFG_BAR0 && at < CFG_BAR0 + 4 * PCI_BARS) {
		unsigned n = (unsigned)(at - CFG_BAR0) / 4, bar = CFG_BAR0 + 4 * n;
		bool high = n && (f->space[bar - 4] & 7) == 4;
		v = (v & f->bar_mask[n]) | (high ? 0 : f->space[bar] & 15);
	}
	memcpy(f->space + at, &v, bytes);
}

void *vm_map_device(uint64_t phys, uint64_t bytes)
{
	if (phys == ECAM_PHYS)
		return (void *)ECAM_VIRT;
	bool inside = false; /* within a BAR */
	for (unsigned n = 0; n < BOOT_PCI_MAX * PCI_BARS; n++) {
		const struct pci_bar *bar = &info->pci[n / PCI_BARS].bar[n % PCI_BARS];
		uint64_t offset = phys - priv[n / PCI_BARS].bar_phys[n % PCI_BARS];
		inside |= bar->addr && offset < bar->bytes && bytes <= bar->bytes - offset;
	}
	assert_true(inside);
	table_bytes = bytes;
	return (void *)TABLE_VIRT;
}

static bool free_for_all(uint64_t phys, uint64_t bytes)
{
	bool is_free = phys > 0 && !boot_has_ram(&memory, phys, phys + bytes);
	is_free &= phys + bytes <= ECAM_PHYS || phys >= ECAM_PHYS + (256ull << 20);
	is_free &= phys + bytes <= UNIT_PHYS || phys >= UNIT_PHYS + 4096;
	is_free &= phys + bytes <= 0xfee00000 || phys >= 0xfee01000;
	return is_free && (phys + bytes <= 0xfec00000 || phys >= 0xfec01000);
}

void vm_map(vm_space_t space, uint64_t virt, uint64_t phys, uint64_t bytes, unsigned flags)
{
	assert_true(space == 1 && flags == (VM_USER | VM_WRITE | VM_DEVICE));
	bool known = bytes == 0;
	for (unsigned n = 0; n < info->pci_count * PCI_BARS; n++)
		known |= priv[n / PCI_BARS].bar_phys[n % PCI_BARS] - phys ==
		         info->pci[n / PCI_BARS].bar[n % PCI_BARS].addr - virt;
	assert_true(known && phys % PAGE_BYTES == 0 && bytes % PAGE_BYTES == 0 && virt % PAGE_BYTES == 0);
	assert_true(bytes == 0 || (bytes <= 1ull << 30 && free_for_all(phys, bytes)));
}

bool boot_has_ram(const struct boot *b, uint64_t start, uint64_t end)
{
	for (unsigned i = 0; i < b->ram_count; i++)
		if (start < b->ram[i].end && b->ram[i].start < end)
			return true;
	return false;
}

void console_print(const char *format, ...) { (void)format; }

/* --- the input --- */

static void put32(struct function *f, unsigned at, uint32_t v)
{
	memcpy(f->space + at, &v, 4);
}

/* A BAR of 2^n bytes at a multiple of that, of 64 bits if `how` says so, or any; returns its
 * slots. */
static unsigned put_bar(struct function *f, unsigned n)
{
	uint8_t how = rig_u8();
	unsigned log2 = 4 + (how & 63) % 40;
	bool wide = how & 0x40 && n + 1 < PCI_BARS;
	uint64_t mask = ~0ull << log2, at = (uint64_t)rig_u16() << log2;
	if (how & 0x80) {
		mask = rig_u32() | (uint64_t)rig_u32() << 32;
		at = rig_u32() | (uint64_t)rig_u32() << 32;
	}
	put32(f, CFG_BAR0 + 4 * n, (uint32_t)(at & ~15u) | (wide ? 4 : 0));
	f->bar_mask[n] = (uint32_t)mask;
	if (wide) {
		put32(f, CFG_BAR0 + 4 * n + 4, (uint32_t)(at >> 32));
		f->bar_mask[n + 1] = (uint32_t)(mask >> 32);
	}
	return wide ? 2 : 1;
}

static void add_liar(void)
{
	struct function *f = &functions[count++];
	uint8_t kind = rig_u8();
	memset(f, 0, sizeof *f);
	f->fickle = (kind & 15) == 15;
	f->bdf = rig_u16();
	if (!place[f->bdf])
		place[f->bdf] = (uint8_t)count;
	put32(f, CFG_VENDOR, 0x100e8086);
	put32(f, CFG_COMMAND, CFG_STATUS_CAPS);
	f->space[CFG_CLASS + 1] = kind & 1 ? CLASS_NETWORK : CLASS_BRIDGE_PCI >> 8;
	f->space[CFG_CLASS] = kind & 1 ? 0 : CLASS_BRIDGE_PCI & 255;
	f->space[CFG_HEADER] = kind >> 4;
	for (unsigned n = 0; n < PCI_BARS;)
		n += put_bar(f, n);
	if (!(kind & 1))
		f->space[CFG_SECONDARY_BUS] = rig_u8();
	f->space[CFG_CAPS] = rig_u8();
	for (unsigned n = rig_u8() % 16; n--;) {
		unsigned at = rig_u8() & 0xfc;
		if (at >= 0x40)
			put32(f, at, rig_u32());
		if (at >= 0x40 && at < 0xf8)
			put32(f, at + 4, rig_u32());
	}
}

static void check(const struct boot_info *b)
{
	assert_in_range(b->pci_count, 0, BOOT_PCI_MAX);
	for (unsigned d = 1; d < b->pci_count; d++)
		for (unsigned k = 0; k < d; k++)
			assert_true(b->pci[k].bdf != b->pci[d].bdf);
	for (unsigned d = 0; d < b->pci_count; d++)
		for (unsigned n = 0; n < PCI_BARS; n++) {
			const struct pci_bar *bar = &b->pci[d].bar[n];
			uint64_t phys = priv[d].bar_phys[n];
			if (bar->addr == 0)
				continue;
			assert_true(phys + bar->bytes <= phys_end);
			assert_true(bar->addr >= MMIO_WINDOW && bar->addr + bar->bytes <= MEMORY_WINDOW);
			assert_true(bar->addr % bar->bytes == 0);
			assert_true(bar->bytes >= 16 && (bar->bytes & (bar->bytes - 1)) == 0);
			assert_true(phys % bar->bytes == 0 && bar->bytes <= 1ull << 30);
			assert_true( free_for_all(phys, bar->bytes));
			for (unsigned k = 0; k < d * PCI_BARS + n; k++) {
				const struct pci_bar *other = &b->pci[k / PCI_BARS].bar[k % PCI_BARS];
				uint64_t at = priv[k / PCI_BARS].bar_phys[k % PCI_BARS];
				if (other->addr) /* a page there is a page here */
					assert_true((align_down(other->addr, PAGE_BYTES) == align_down(bar->addr, PAGE_BYTES)) ==
					            (align_down(at, PAGE_BYTES) == align_down(phys, PAGE_BYTES)));
				assert_true(bar->addr + bar->bytes <= other->addr ||
				            other->addr + other->bytes <= bar->addr);
			}
		}
}

/* A core program's call to the kernel, with any arguments. */
static void call(void)
{
	uint64_t index = rig_u8(), offset = rig_u16(), size = rig_u8() % 8;
	table_bytes = index < info->pci_count ? info->pci[index].msix_vectors * 16ull : 0;
	switch (rig_u8() % 5) {
	case 0: pci_config_read(index, offset, size); break;
	case 1: pci_config_write(index, offset, size, rig_u32()); break;
	case 2: pci_msix_program(index, offset, 0xfee00000, 0x31); break;
	case 3: pci_msix_aim(index, 0xfee00000, 1); break;
	case 4: pci_buses_behind((uint16_t)offset); break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct boot_info b;
	memset(&b, 0, sizeof b);
	memset(priv, 0, sizeof priv);
	memset(walked, 0, sizeof walked);
	memset(place, 0, sizeof place);
	count = reads = 0;
	rig_input(data, size);
	for (unsigned n = rig_u8() % (FUNCTIONS_MAX + 1); n--;)
		add_liar();
	pci_init(&tables, &units, &memory, &b);
	check(&b);
	pci_map_bars(1, true);
	while (rig_more())
		call();
	return 0;
}
