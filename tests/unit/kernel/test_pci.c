/*
 * kernel/pci.c: where core programs see the BARs of network devices, on a bus with a few of them. Hostile
 * devices are tests/fuzz/fuzz_pci.c's.
 */
#include "tests/unit/rig/host.h"

#include "hal/mmio.h"
#include "lib/bytes.h"

#include "kernel/pci_config.c"
#include "kernel/pci.c"
#include "kernel/pci_report.c"
#define address_of address_of_function
#include "kernel/pci_errors.c"
#undef address_of

#define ECAM_PHYS 0xb0000000ull
#define ECAM_VIRT 0x10000000000ull /* used only to tell addresses apart */
#define DEVICES 4

static uint8_t space[DEVICES][4096];
static pci_address_t place[DEVICES]; /* of device n; by default n on bus 0 */
static uint64_t size[DEVICES];       /* of its BAR 0, of 64 bits */
static struct boot memory = {.ram = {{0, 0x80000000}}, .ram_count = 1};
static struct acpi tables = {.ecam = {{.base = ECAM_PHYS}}, .ecams = 1};
static struct iommu_units units;
static struct boot_info found;

static struct {
	uint64_t virt, phys, bytes;
} mapped[DEVICES];
static unsigned mappings;

/* Each ECAM region has 256 MiB of the addresses, as if its first bus were 0. DEVICES: there is no device. */
static unsigned device_at(const volatile void *a)
{
	const uint64_t offset = (uint64_t)a - ECAM_VIRT;
	const struct acpi_ecam *e = &tables.ecam[offset >> 28];
	unsigned n = 0;
	assert_true(offset >> 28 < tables.ecams && (offset >> 20 & 255) <= (unsigned)(e->last_bus - e->first_bus));
	const pci_address_t at = (pci_address_t)e->segment << 16 | (e->first_bus + (offset >> 20 & 255)) << 8 | (offset >> 12 & 255);
	while (n < DEVICES && (place[n] != at || raw32_load(space[n]) == 0))
		n++;
	return n;
}

uint32_t host_mmio_read(const volatile void *a, unsigned bytes)
{
	const uint64_t offset = (uint64_t)a & 4095;
	const unsigned device = device_at(a);
	uint32_t v = UINT32_MAX;
	if (device < DEVICES)
		memcpy(&v, space[device] + offset, bytes);
	return v & UINT32_MAX >> (32 - 8 * bytes);
}

void host_mmio_write(volatile void *a, unsigned bytes, uint32_t v)
{
	const uint64_t at = (uint64_t)a & 4095;
	const unsigned device = device_at(a);
	assert_true(device < DEVICES);
	if (at == CFG_BAR0)
		v = (v & (uint32_t)-size[device]) | 4;
	if (at == CFG_BAR0 + 4)
		v &= (uint32_t)(-size[device] >> 32);
	if (at > CFG_BAR0 + 4)
		v = 0;
	if (at >= CFG_BAR0)
		memcpy(space[device] + at, &v, bytes);
}

void *vm_map_device(uint64_t phys, uint64_t bytes)
{
	unsigned i = 0;
	while (i < tables.ecams && tables.ecam[i].base + ((uint64_t)tables.ecam[i].first_bus << 20) != phys)
		i++;
	assert_true(i < tables.ecams && bytes == (tables.ecam[i].last_bus - tables.ecam[i].first_bus + 1ull) << 20);
	return (void *)(ECAM_VIRT + ((uint64_t)i << 28));
}

void vm_map(vm_space_t of, uint64_t virt, uint64_t phys, uint64_t bytes, unsigned flags)
{
	assert_true(of == 1 && flags == (VM_USER | VM_WRITE | VM_DEVICE) && mappings < DEVICES);
	mapped[mappings].virt = virt;
	mapped[mappings].phys = phys;
	mapped[mappings++].bytes = bytes;
}

bool boot_has_ram(const struct boot *b, uint64_t start, uint64_t end)
{
	return start < b->ram[0].end && b->ram[0].start < end;
}

static char said[300];
static unsigned prints;

void console_print(const char *format, ...)
{
	__builtin_va_list args;
	__builtin_va_start(args, format);
	vsnprintf(said, sizeof said, format, args);
	__builtin_va_end(args);
	prints++;
}

static void put(unsigned device, uint64_t at, uint64_t bytes)
{
	const uint32_t low = (uint32_t)at | 4, high = (uint32_t)(at >> 32);
	size[device] = bytes;
	place[device] = device << 3;
	memset(space[device], 0, sizeof space[device]);
	memcpy(space[device] + CFG_VENDOR, &(uint32_t){0x10c98086}, 4);
	space[device][CFG_CLASS + 1] = CLASS_NETWORK;
	memcpy(space[device] + CFG_BAR0, &low, 4);
	memcpy(space[device] + CFG_BAR0 + 4, &high, 4);
}

static void scan(void)
{
	memset(&found, 0, sizeof found);
	memset(priv, 0, sizeof priv);
	memset(walked, 0, sizeof walked);
	mappings = 0;
	pci_init(&tables, &units, &memory, &found);
	pci_map_bars(1, true);
}

/* Xeon servers have 64-bit BARs at 56 TiB, which is more than the window of core programs has. */
static void bars_anywhere(void **s)
{
	(void)s;
	static const uint64_t at[DEVICES] = {0x380000000000, 0xc0000000, 0x37ffff000000, 0x3ffffffe0000};
	static const uint64_t bytes[DEVICES] = {0x2000000, 0x20000, 0x1000000, 0x20000};
	for (unsigned n = 0; n < DEVICES; n++)
		put(n, at[n], bytes[n]);
	scan();
	if (phys_end < 1ull << 46)
		skip(); /* this CPU cannot address them either */
	assert_int_equal(found.pci_count, DEVICES);
	assert_int_equal(mappings, DEVICES);
	for (unsigned n = 0; n < DEVICES; n++) {
		const struct pci_bar *bar = &found.pci[n].bar[0];
		assert_int_equal(bar->bytes, bytes[n]);
		assert_true(bar->addr >= MMIO_WINDOW && bar->addr + bar->bytes <= MEMORY_WINDOW);
		assert_int_equal(bar->addr % bar->bytes, 0);
		assert_true(mapped[n].virt == bar->addr && mapped[n].phys == at[n] && mapped[n].bytes == bytes[n]);
		for (unsigned k = 0; k < n; k++)
			assert_false(overlap(bar->addr, bar->bytes, found.pci[k].bar[0].addr, bytes[k]));
	}
}

/* Small BARs may share a page; core programs then see one page, not two. */
static void bars_in_one_page(void **s)
{
	(void)s;
	put(0, 0xc0001000, 256);
	put(1, 0xc0001800, 1024);
	put(2, 0xc0002000, 256);
	put(3, 0xc0001900, 256); /* in that of device 1 */
	scan();
	assert_int_equal(found.pci[1].bar[0].addr, found.pci[0].bar[0].addr + 0x800);
	assert_int_equal(found.pci[2].bar[0].addr, found.pci[0].bar[0].addr + 0x1000);
	assert_int_equal(found.pci[3].bar[0].addr, 0);
	assert_int_equal(mappings, 3);
}

/* What the CPU cannot address is left out. */
static void beyond_the_cpu(void **s)
{
	(void)s;
	for (unsigned n = 0; n < DEVICES; n++)
		put(n, 0xc0000000 + n * 0x100000, 0x20000);
	put(1, 1ull << 52, 0x20000);
	put(2, (1ull << 52) - 0x20000, 0x20000);
	scan();
	assert_int_equal(found.pci[1].bar[0].addr, 0);
	assert_int_equal(found.pci[2].bar[0].addr != 0, phys_end == 1ull << 52);
}

/* A bridge on a bus, to `below`. */
static void put_bridge(unsigned device, pci_address_t at, uint8_t below)
{
	put(device, 0, 0);
	place[device] = at;
	space[device][CFG_CLASS + 1] = CLASS_BRIDGE_PCI >> 8;
	space[device][CFG_CLASS] = CLASS_BRIDGE_PCI & 255;
	space[device][CFG_HEADER] = 1;
	space[device][CFG_SECONDARY_BUS] = space[device][CFG_SUBORDINATE_BUS] = below;
}

static void check_place(const struct pci_dev *d, unsigned segment, unsigned bdf)
{
	assert_int_equal(d->segment, segment);
	assert_int_equal(d->bdf, bdf);
}

/* Host bridges in two segments; in one of them two, of which no register tells. The same bus number in both
 * segments is two buses. */
static void segments_and_host_bridges(void **s)
{
	(void)s;
	tables = (struct acpi){.ecam = {{.base = ECAM_PHYS, .last_bus = 0x3f},
	                                {.base = 0x400000000000, .segment = 2, .first_bus = 0x10, .last_bus = 0x80}},
	                       .ecams = 2};
	put(0, 0xc0000000, 0x20000);
	put(1, 0xc0100000, 0x20000);
	place[1] = 0x2000; /* bus 0x20: another host bridge */
	put_bridge(2, 2u << 16 | 0x1100, 0x20);
	put(3, 0xc0200000, 0x20000);
	place[3] = 2u << 16 | 0x2008;
	scan();
	assert_int_equal(found.pci_count, 3);
	check_place(&found.pci[0], 0, 0);
	check_place(&found.pci[1], 0, 0x2000);
	check_place(&found.pci[2], 2, 0x2008);
	assert_int_equal(found.hardware.functions, 4);
	assert_int_equal(found.hardware.function[2].segment, 2);
	assert_int_equal(found.hardware.function[2].header, 1);
	assert_int_equal(pci_config_read(2, CFG_VENDOR, 4), 0x10c98086);
	assert_int_equal(pci_config_read(2, 0x1000, 4), E_INVAL);
	for (unsigned n = 0; n < 3; n++)
		assert_true(found.pci[n].bar[0].addr);
	memset(space, 0, sizeof space);
	memset(place, 0, sizeof place);
	tables = (struct acpi){.ecam = {{.base = ECAM_PHYS}}, .ecams = 1};
}

static void put_aer(unsigned device)
{
	space[device][CFG_COMMAND + 2] = CFG_STATUS_CAPS >> 16;
	space[device][CFG_CAPS] = 0x40;
	space[device][0x40] = CAP_EXPRESS;
	raw32_store(space[device] + CFG_EXTENDED, 0x14820003); /* another capability before */
	raw32_store(space[device] + 0x148, 1u << 16 | CAP_AER);
}

static void set_errors(unsigned device, uint32_t corrected, uint32_t uncorrectable_bits)
{
	raw32_store(space[device] + 0x148 + AER_CORRECTABLE, corrected);
	raw32_store(space[device] + 0x148 + AER_UNCORRECTABLE, uncorrectable_bits);
}

static uint32_t left(unsigned device)
{
	return raw32_load(space[device] + 0x148 + AER_CORRECTABLE) | raw32_load(space[device] + 0x148 + AER_UNCORRECTABLE);
}

static void start_errors(bool hest)
{
	for (unsigned n = 0; n < DEVICES; n++)
		put(n, 0xc0000000 + n * 0x100000, 0x20000);
	put_aer(1);
	set_errors(1, 1, 1u << 20); /* of an earlier system: they do not count */
	scan();
	memcpy(found.hardware.table[0].signature, hest ? "HEST" : "HPET", 5);
	found.hardware.tables = 1;
	prints = 0;
	pci_errors_init(&found.hardware);
	assert_true(found.hardware.error_reporting && found.hardware.function[1].reports_errors);
	assert_false(found.hardware.function[0].reports_errors);
	assert_int_equal(left(1) != 0, hest);
	const int64_t before = pci_errors_look();
	assert_int_equal(pci_errors_look(), before);
	assert_int_equal(prints, 0);
}

static void errors(void **s)
{
	(void)s;
	start_errors(false);
	set_errors(1, 1u << 6 | 1u << 7, 0);
	const int64_t before = pci_errors_look();
	const struct hardware_function *f = &found.hardware.function[1];
	assert_true(f->errors[0] == 2 && f->errors[1] == 0 && f->error_bits[0] == 0xc0 && left(1) == 0);
	assert_int_equal(prints, 1);
	assert_string_equal(said, "pci 00:01.0: PCI Express reports corrected errors: bad TLP, bad DLLP (further ones are "
	                          "counted, see show hardware)\n");
	set_errors(1, 1u << 6, 1u << 14);
	assert_int_equal(pci_errors_look(), before + 2);
	assert_true(f->errors[0] == 3 && f->errors[1] == 1 && prints == 2 && strstr(said, "uncorrectable errors: completion timeout"));
	set_errors(1, UINT32_MAX, UINT32_MAX); /* the card has gone */
	assert_int_equal(pci_errors_look(), before + 2);
	assert_int_equal(prints, 2);
}

/* Firmware owns the registers: nothing is written, and a bit that stays set counts once. */
static void errors_of_firmware(void **s)
{
	(void)s;
	start_errors(true);
	set_errors(1, 1 | 1u << 6, 1u << 20);
	pci_errors_look();
	pci_errors_look();
	const struct hardware_function *f = &found.hardware.function[1];
	assert_true(f->errors[0] == 1 && f->error_bits[0] == 1u << 6 && f->errors[1] == 0);
	assert_int_equal(left(1), 1 | 1u << 6 | 1u << 20);
	set_errors(1, 0, 0); /* firmware has cleared them */
	pci_errors_look();
	set_errors(1, 1u << 6, 0);
	pci_errors_look();
	assert_int_equal(f->errors[0], 2);
}

/* NVMe, and virtio-blk of either age, are disks, whose BARs are mapped for the control core only; another mass storage is not
 * listed. There are BOOT_DISKS_MAX at most. */
static void disks_are_listed(void **s)
{
	(void)s;
	tables = (struct acpi){.ecam = {{.base = ECAM_PHYS}}, .ecams = 1};
	for (unsigned n = 0; n < DEVICES; n++) {
		put(n, 0xc0000000 + n * 0x100000, 0x20000);
		space[n][CFG_CLASS + 1] = 1;
	}
	space[0][CFG_CLASS] = 8;
	space[0][CFG_REVISION + 1] = 2;
	memcpy(space[1], &(uint32_t){0x10421af4}, 4);
	memcpy(space[2], &(uint32_t){0x10011af4}, 4);
	space[3][CFG_CLASS + 1] = CLASS_NETWORK;
	scan();
	assert_int_equal(found.pci_count, 4);
	for (unsigned n = 0; n < DEVICES; n++)
		assert_int_equal(found.pci[n].kind, n == 3 ? PCI_NETWORK : PCI_DISK);
	assert_int_equal(mappings, 4);
	mappings = 0;
	pci_map_bars(1, false);
	assert_int_equal(mappings, 1);
	assert_int_equal(mapped[0].phys, 0xc0300000);
	space[0][CFG_REVISION + 1] = 1; /* another interface */
	memcpy(space[1], &(uint32_t){0x10481af4}, 4); /* virtio-scsi */
	space[2][CFG_HEADER] = 1;
	scan();
	assert_int_equal(found.pci_count, 1);
	disks = BOOT_DISKS_MAX;
	put(0, 0xc0000000, 0x20000);
	memcpy(space[0], &(uint32_t){0x10421af4}, 4);
	struct hardware_bar bars[PCI_BARS] = {0};
	assert_int_equal(add_function(0, PCI_DISK, bars), HARDWARE_NOT_LISTED);
	assert_int_not_equal(add_function(0, PCI_NETWORK, bars), HARDWARE_NOT_LISTED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bars_anywhere),
		cmocka_unit_test(bars_in_one_page),
		cmocka_unit_test(beyond_the_cpu),
		cmocka_unit_test(segments_and_host_bridges),
		cmocka_unit_test(disks_are_listed),
		cmocka_unit_test(errors),
		cmocka_unit_test(errors_of_firmware),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
