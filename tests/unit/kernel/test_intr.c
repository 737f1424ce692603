/*
 * kernel/irt_vtd: entries and messages as a unit reads them (VT-d 5.1, 9.10), and kernel/intr: which card
 * gets which entry, and which cores can be used.
 */
#include "tests/unit/rig/host.h"

#include "kernel/vm.h"

static void *host_phys(uint64_t phys) { return (void *)(uintptr_t)phys; }
#define vm_phys host_phys
#include "kernel/intr.c"

struct core cores[CORES_MAX];
static struct boot_info info;
struct boot_info *boot_info = &info;
static uint64_t ram[IRT_ENTRIES_MAX][2];
static bool remaps, wide_units, x2apic, covered;
static int starts = 1, ioapic_source, forget_error;
static unsigned forgotten;
static struct message aimed; /* the last MSI-X entry written */
static uint64_t serial_route;
static unsigned serial_routes;
static char said[400];

void console_print(const char *format, ...)
{
	fmt_va_list args;
	__builtin_va_start(args, format);
	fmt_vformat(said, sizeof said, format, args);
	__builtin_va_end(args);
}
bool iommu_remaps_interrupts(bool *wide) { *wide = wide_units; return remaps; }
const struct irt_kind *iommu_interrupt_kind(void) { return &irt_vtd; }
bool iommu_start(const struct iommu_interrupts *in) { return in && starts; }
bool iommu_covers(unsigned index) { (void)index; return covered; }
int iommu_ioapic_source(uint8_t id) { return id == 7 ? ioapic_source : -1; }
int iommu_forget_interrupts(void) { forgotten++; return forget_error; }
bool apic_is_x2apic(void) { return x2apic; }
uint64_t apic_msi_address(uint32_t id) { return 0xfee00000u | id << 12; }
uint32_t apic_msi_data(void) { return VECTOR_WAKE; }
bool apic_has_serial(const struct acpi *acpi, unsigned n) { (void)acpi; return n == 1; }
bool apic_serial_is_level(const struct acpi *acpi) { return acpi->com1_flags; }
void apic_route_serial(const struct acpi *acpi, unsigned n, uint64_t route)
{
	(void)acpi;
	assert_int_equal(n, 1);
	serial_route = route;
	serial_routes++;
}
int64_t pci_msix_program(uint64_t index, uint64_t entry, uint64_t address, uint32_t data)
{
	assert_true(index < info.pci_count && entry < info.pci[index].msix_vectors);
	aimed = (struct message){address, data};
	return E_OK;
}
uint64_t vm_take_zeroed_pages(uint64_t bytes, const char *what)
{
	(void)what;
	assert_true(bytes <= sizeof ram);
	memset(ram, 0, sizeof ram);
	return (uint64_t)(uintptr_t)ram;
}

static const struct acpi acpi = {.ioapics = 2, .ioapic = {{.id = 6}, {.id = 7}}};

static int setup(void **s)
{
	(void)s;
	info = (struct boot_info){.pci_count = 2};
	info.pci[0] = (struct pci_dev){.bdf = 0x0010, .msix_vectors = 3};
	info.pci[1] = (struct pci_dev){.bdf = 0x0300, .msix_vectors = 64};
	remaps = wide_units = x2apic = covered = true;
	starts = 1;
	ioapic_source = 0xf0ff;
	forget_error = E_OK;
	said[0] = 0;
	table = (struct irt){.entries_log2 = 0};
	remapped = false;
	serial_routes = 0;
	for (unsigned i = 0; i < 4; i++)
		cores[i] = (struct core){.id = i, .apic_id = i};
	return 0;
}

static void begin(void)
{
	intr_prepare();
	intr_start(&acpi);
}

/* What a unit makes of a message from `source`: the vector in bits 39:32, the APIC ID in bits 31:0; 0: it is
 * blocked. */
static uint64_t raised(struct message m, uint16_t source)
{
	assert_int_equal(m.address >> 20, 0xfee);
	if (!(m.address & 0x10))
		return 0; /* without an index */
	assert_int_equal(m.address & 8, 0); /* no subhandle */
	uint32_t index = (uint32_t)(m.address >> 5 & 0x7fff) | (uint32_t)(m.address >> 2 & 1) << 15;
	assert_true(index < 1u << table.entries_log2);
	const uint64_t low = ram[index][0], high = ram[index][1];
	if (!(low & 1))
		return 0;
	assert_int_equal(low & 0xff00f0feull & ~0x10ull, 0); /* physical, fixed, remapped */
	assert_int_equal(high >> 16, 4);            /* all 16 bits of the source are compared */
	if ((high & 0xffff) != source)
		return 0;
	return (low >> 16 & 0xff) << 32 | (table.wide ? low >> 32 : low >> 40 & 0xff);
}

static void each_card_its_own(void **s)
{
	(void)s;
	begin();
	for (unsigned d = 0; d < 2; d++)
		for (unsigned e = 0; e < info.pci[d].msix_vectors; e++) {
			forgotten = 0;
			assert_int_equal(intr_route(d, e, 1000 * d + e), E_OK);
			assert_int_equal(forgotten, 1);
			assert_int_equal(raised(aimed, info.pci[d].bdf), (uint64_t)VECTOR_WAKE << 32 | (1000 * d + e));
			assert_int_equal(raised(aimed, info.pci[!d].bdf), 0); /* another card's message */
		}
	assert_int_equal(intr_route(0, 0, 0x12345678), E_OK); /* again, to another core */
	assert_int_equal(raised(aimed, 0x0010), (uint64_t)VECTOR_WAKE << 32 | 0x12345678);
	assert_int_equal(raised(irt_vtd.message(first[0] + 1, 1), 0x0010), (uint64_t)VECTOR_WAKE << 32 | 1);
	assert_int_equal(raised(irt_vtd.message(first[1] + 64, 64), 0x0300), 0); /* nobody's */
	assert_int_equal(intr_route(2, 0, 0), E_INVAL);
	assert_int_equal(intr_route(0, 3, 0), E_INVAL);
	assert_int_equal(intr_route(UINT64_MAX, 0, 0), E_INVAL);
	assert_int_equal(intr_route(0, UINT64_MAX, 0), E_INVAL);
	forget_error = E_TIMEOUT;
	assert_int_equal(intr_route(0, 0, 1), E_TIMEOUT);
}

/* The whole table, and entries for which it has no room. */
static void many_entries(void **s)
{
	(void)s;
	info.pci_count = 33;
	for (unsigned d = 0; d < 33; d++)
		info.pci[d] = (struct pci_dev){.bdf = (uint16_t)(d << 8), .msix_vectors = 2048};
	begin();
	assert_int_equal(table.entries_log2, 16);
	assert_int_equal(intr_route(31, 2046, 5), E_OK); /* index 65535 */
	assert_int_equal(raised(aimed, 31 << 8), (uint64_t)VECTOR_WAKE << 32 | 5);
	assert_int_equal(irt_vtd.message(65535, 0).address, 0xfeeffff4);
	aimed.address = 1;
	assert_int_equal(intr_route(31, 2047, 5), E_INVAL);
	assert_int_equal(intr_route(32, 0, 5), E_INVAL);
	assert_int_equal(aimed.address, 1); /* the card was not told */
	assert_int_equal(irt_log2(1), 8);
	assert_int_equal(irt_log2(256), 8);
	assert_int_equal(irt_log2(257), 9);
}

static void short_ids(void **s)
{
	(void)s;
	wide_units = false;
	begin();
	assert_int_equal(intr_route(0, 0, 254), E_OK);
	assert_int_equal(raised(aimed, 0x0010), (uint64_t)VECTOR_WAKE << 32 | 254);
	assert_int_equal(intr_route(0, 0, 256), E_NOTSUP); /* not core 0 */
	assert_int_equal(raised(aimed, 0x0010), 0);        /* nor the previous core */
	setup(NULL);
	x2apic = false; /* the cores have no wide IDs */
	begin();
	assert_false(table.wide);
}

static void without_remapping(void **s)
{
	(void)s;
	remaps = false;
	begin();
	assert_int_equal(intr_route(1, 1, 254), E_OK);
	assert_true(aimed.address == 0xfeefe000 && aimed.data == VECTOR_WAKE);
	aimed.address = 1;
	assert_int_equal(intr_route(1, 1, 255), E_NOTSUP);
	assert_int_equal(intr_route(1, 1, 256), E_NOTSUP);
	assert_int_equal(aimed.address, 1);
	setup(NULL);
	covered = false; /* this card is behind no unit */
	begin();
	assert_int_equal(intr_route(1, 1, 3), E_OK);
	assert_int_equal(aimed.address, 0xfee03000);
	setup(NULL);
	starts = 0; /* the units did not start */
	begin();
	assert_int_equal(intr_route(1, 1, 3), E_OK);
	assert_int_equal(aimed.address, 0xfee03000);
}

static void serial_line(void **s)
{
	struct acpi level = acpi;
	(void)s;
	cores[0].apic_id = 300;
	begin();
	assert_int_equal(serial_route, 1ull << 48); /* index 0 */
	assert_int_equal(raised(irt_vtd.message(irt_vtd.serial, 0), 0xf0ff), (uint64_t)VECTOR_SERIAL << 32 | 300);
	assert_int_equal(ram[irt_vtd.serial][0] & 0x10, 0); /* edge */
	level.com1_flags = 1;
	intr_start(&level);
	assert_int_equal(ram[irt_vtd.serial][0] & 0x10, 0x10);
	setup(NULL);
	ioapic_source = -1; /* its unit is not used */
	cores[0].apic_id = 9;
	begin();
	assert_int_equal(serial_route, 9ull << 56);
	setup(NULL);
	ioapic_source = -1;
	cores[0].apic_id = 300; /* nothing reaches it */
	begin();
	assert_int_equal(serial_routes, 0);
	assert_int_equal(irt_vtd.redirection(0x8001), 1ull << 49 | 1ull << 48 | 1ull << 11);
}

static void usable_cores(void **s)
{
	(void)s;
	cores[2].apic_id = 255;
	cores[3].apic_id = 256;
	intr_prepare();
	assert_int_equal(intr_cores(4), 4);
	setup(NULL);
	cores[2].apic_id = 255;
	wide_units = false;
	intr_prepare();
	assert_int_equal(intr_cores(4), 2);
	assert_string_equal(said, "smp: 2 of 4 cores are not used: their APIC IDs are above 254, and no IOMMU remaps "
	                          "interrupts to such IDs\n");
	cores[2].apic_id = 254;
	assert_int_equal(intr_cores(3), 3);
	cores[0].apic_id = 300; /* core 0 is always used */
	assert_int_equal(intr_cores(1), 1);
	cores[2].apic_id = 300;
	info.pci_count = 0; /* no card */
	assert_int_equal(intr_cores(4), 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(each_card_its_own, setup),
		cmocka_unit_test_setup(many_entries, setup),
		cmocka_unit_test_setup(short_ids, setup),
		cmocka_unit_test_setup(without_remapping, setup),
		cmocka_unit_test_setup(serial_line, setup),
		cmocka_unit_test_setup(usable_cores, setup),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
