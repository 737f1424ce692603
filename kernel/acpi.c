/*
 * ACPI specification 6.5: 5.2.5 RSDP, 5.2.7 RSDT, 5.2.8 XSDT, 5.2.9 FADT, 5.2.12 MADT; MCFG as in PCI Firmware
 * Specification 3.3, 4.1.2; SPCR as in Microsoft's "Serial Port Console Redirection Table", 1.10. A table with a
 * wrong checksum or length is skipped. So is one that lies across 4 GiB. The tables above, which servers may have,
 * are mapped one by one (vm_map_firmware).
 */
#include "kernel/acpi.h"

#include "kernel/console.h"
#include "kernel/vm.h"
#include "lib/bytes.h"
#include "lib/mem.h"

#define BIOS_START 0xe0000u
#define BIOS_END 0x100000u
#define EBDA_SEGMENT 0x40eu
#define TABLE_MAX 0x100000u
#define TABLES_END (4ull << 30) /* vm_phys reads what ends below */
#define HIGH_MAPS_MAX 128       /* each takes address space and page tables */
#define PHYS_END (1ull << 52)        /* end of physical addresses */
#define ECAM_BUS_BYTES (1ull << 20)
#define ECAM_BASE_MAX (PHYS_END - 256 * ECAM_BUS_BYTES)

struct rsdp {
	char signature[8];
	uint8_t checksum;
	char oem[6];
	uint8_t revision;
	uint32_t rsdt;
	uint32_t bytes;
	uint64_t xsdt;
	uint8_t checksum2;
	uint8_t reserved[3];
} __attribute__((packed));
_Static_assert(sizeof(struct rsdp) == 36, "ACPI 5.2.5.3");

/* 5.2.6 */
struct table {
	char signature[4];
	uint32_t bytes;
	uint8_t revision, checksum;
	char oem[6], oem_table[8];
	uint8_t rest[12];
} __attribute__((packed));
_Static_assert(sizeof(struct table) == 36, "ACPI 5.2.6");

/* 5.2.12: type in byte 0, length in byte 1. parse_madt_entry reads the other fields. */
enum madt_type {
	MADT_LAPIC = 0,         /* 5.2.12.2 */
	MADT_IOAPIC = 1,        /* 5.2.12.3 */
	MADT_OVERRIDE = 2,      /* 5.2.12.5 */
	MADT_LAPIC_ADDRESS = 5, /* 5.2.12.8 */
	MADT_X2APIC = 9,        /* 5.2.12.12 */
};
#define MADT_ENABLED 1u
#define MADT_NOBODY 0xffu /* the broadcast ID, which is no core's */
#define MADT_NOBODY_X2 0xffffffffu

/* FADT, by offset (5.2.9) */
#define FADT_CENTURY 108
#define FADT_BOOT_ARCH 109
#define FADT_NO_CMOS_RTC (1u << 5) /* 5.2.9.3 */

/* SPCR, by offset */
#define SPCR_BYTES 80
#define SPCR_TYPE 36
#define SPCR_SPACE 40 /* Generic Address Structure, ACPI 5.2.3.2 */
#define SPCR_ACCESS 43
#define SPCR_ADDRESS 44
#define SPCR_INTERRUPT 52 /* bit 0: IRQ, bit 1: GSI */
#define SPCR_IRQ 53
#define SPCR_GSI 54
#define SPCR_BAUD 58
#define SPCR_PRECISE_BAUD 80 /* revision 4 */

static unsigned high_maps;

static bool sum_is_zero(const void *p, size_t n)
{
	const uint8_t *b = p;
	uint8_t sum = 0;
	for (size_t i = 0; i < n; i++)
		sum = (uint8_t)(sum + b[i]);
	return sum == 0;
}

static bool is_rsdp(const struct rsdp *r)
{
	return memcmp(r->signature, "RSD PTR ", 8) == 0 && sum_is_zero(r, 20);
}

static const struct rsdp *scan(uint32_t start, uint32_t end)
{
	for (uint32_t a = start; a < end; a += 16)
		if (is_rsdp(vm_phys(a)))
			return vm_phys(a);
	return NULL;
}

static const struct rsdp *find_rsdp(const struct boot *boot)
{
	if (boot->rsdp && boot->rsdp <= TABLES_END - sizeof(struct rsdp) && is_rsdp(vm_phys(boot->rsdp)))
		return vm_phys(boot->rsdp);
	uint32_t ebda = (uint32_t)*(const uint16_t *)vm_phys(EBDA_SEGMENT) << 4;
	const struct rsdp *r = ebda >= 0x400 && ebda < 0xa0000 ? scan(ebda, ebda + 1024) : NULL;
	return r ? r : scan(BIOS_START, BIOS_END);
}

static void add_core(struct acpi *acpi, uint32_t apic_id, uint32_t flags)
{
	if (!(flags & MADT_ENABLED) || acpi->cores == CORES_MAX)
		return;
	for (unsigned i = 0; i < acpi->cores; i++)
		if (acpi->apic_ids[i] == apic_id) /* some firmware lists a core in both forms */
			return;
	acpi->apic_ids[acpi->cores++] = apic_id;
}

static void set_lapic(struct acpi *acpi, uint64_t phys)
{
	if (phys && phys % PAGE_BYTES == 0 && phys < PHYS_END)
		acpi->lapic = phys;
}

static void parse_madt_entry(struct acpi *acpi, const uint8_t *e)
{
	switch (e[0]) {
	case MADT_LAPIC:
		if (e[3] != MADT_NOBODY)
			add_core(acpi, e[3], raw32_load(e + 4));
		break;
	case MADT_X2APIC:
		if (raw32_load(e + 4) != MADT_NOBODY_X2)
			add_core(acpi, raw32_load(e + 4), raw32_load(e + 8));
		break;
	case MADT_IOAPIC:
		if (acpi->ioapics < ACPI_IOAPICS_MAX) {
			acpi->ioapic[acpi->ioapics].id = e[2];
			acpi->ioapic[acpi->ioapics].addr = raw32_load(e + 4);
			acpi->ioapic[acpi->ioapics++].first_gsi = raw32_load(e + 8);
		}
		break;
	case MADT_OVERRIDE:
		if (e[3] < ACPI_ISA_MAX)
			acpi->isa[e[3]] = (struct acpi_isa){raw32_load(e + 4), raw16_load(e + 8)};
		break;
	case MADT_LAPIC_ADDRESS:
		set_lapic(acpi, raw64_load(e + 4));
		break;
	default:
		break;
	}
}

static void parse_madt(struct acpi *acpi, const struct table *t)
{
	static const uint8_t bytes_min[] = {
		[MADT_LAPIC] = 8,          [MADT_IOAPIC] = 12, [MADT_OVERRIDE] = 10,
		[MADT_LAPIC_ADDRESS] = 12, [MADT_X2APIC] = 16};
	const uint8_t *p = (const uint8_t *)(t + 1), *end = (const uint8_t *)t + t->bytes;
	if (t->bytes < sizeof *t + 8)
		return;
	set_lapic(acpi, raw32_load(p));
	for (p += 8; p + 2 <= end && p[1] >= 2 && p + p[1] <= end; p += p[1])
		if (p[0] < ARRAY_LEN(bytes_min) && p[1] >= bytes_min[p[0]])
			parse_madt_entry(acpi, p);
}

static uint32_t ecam_order(const struct acpi_ecam *e)
{
	return (uint32_t)e->segment << 8 | e->first_bus;
}

/* Some firmware lists a region twice; the first counts. */
static void add_ecam(struct acpi *acpi, const struct acpi_ecam *e)
{
	unsigned at = acpi->ecams;
	for (unsigned i = 0; i < acpi->ecams; i++) {
		const struct acpi_ecam *o = &acpi->ecam[i];
		if (o->segment == e->segment && o->first_bus <= e->last_bus && e->first_bus <= o->last_bus)
			return;
	}
	if (acpi->ecams == ACPI_ECAMS_MAX) {
		console_print("acpi: more than %u ECAM regions; that of segment %04x, bus %02x is left out\n",
		              ACPI_ECAMS_MAX, e->segment, e->first_bus);
		return;
	}
	for (acpi->ecams++; at && ecam_order(&acpi->ecam[at - 1]) > ecam_order(e); at--)
		acpi->ecam[at] = acpi->ecam[at - 1];
	acpi->ecam[at] = *e;
}

static void parse_mcfg(struct acpi *acpi, const struct table *t)
{
	const uint8_t *p = (const uint8_t *)(t + 1) + 8, *end = (const uint8_t *)t + t->bytes;
	for (; p + 16 <= end; p += 16) {
		const struct acpi_ecam e = {raw64_load(p), raw16_load(p + 8), p[10], p[11]};
		if (e.first_bus <= e.last_bus && e.base % ECAM_BUS_BYTES == 0 && e.base <= ECAM_BASE_MAX)
			add_ecam(acpi, &e);
	}
}

static void parse_spcr(struct acpi *acpi, const struct table *t)
{
	static const uint32_t bauds[] = {[3] = 9600, [4] = 19200, [6] = 57600, [7] = 115200};
	const uint8_t *p = (const uint8_t *)t;
	if (t->bytes < SPCR_BYTES || acpi->serial.addr)
		return;
	const uint8_t type = p[SPCR_TYPE], space = p[SPCR_SPACE], baud = p[SPCR_BAUD];
	const uint64_t addr = raw64_load(p + SPCR_ADDRESS);
	if (addr == 0)
		return; /* console redirection is off */
	if (type != 0 && type != 1 && type != 0x12) { /* DBG2's subtypes of 16550 */
		console_print("acpi: SPCR's console has type %02x, which is no 16550\n", type);
		return;
	}
	if (space > 1 || addr > (space ? 0xfff8 : PHYS_END - PAGE_BYTES)) {
		console_print("acpi: SPCR has an impossible address of the console, %llx\n", (unsigned long long)addr);
		return;
	}
	acpi->serial = (struct acpi_serial){
		.addr = addr,
		.mmio = space == 0,
		.wide = p[SPCR_ACCESS] == 3,
		.baud = baud < ARRAY_LEN(bauds) ? bauds[baud] : 0,
		.has_irq = p[SPCR_INTERRUPT] & 1 && p[SPCR_IRQ] < ACPI_ISA_MAX,
		.irq = p[SPCR_IRQ],
		.has_gsi = p[SPCR_INTERRUPT] & 2,
		.gsi = raw32_load(p + SPCR_GSI),
	};
	if (t->revision >= 4 && t->bytes >= SPCR_PRECISE_BAUD + 4 && raw32_load(p + SPCR_PRECISE_BAUD))
		acpi->serial.baud = raw32_load(p + SPCR_PRECISE_BAUD);
}

static void parse_fadt(struct acpi *acpi, const struct table *t)
{
	const uint8_t *p = (const uint8_t *)t;
	if (t->bytes < FADT_BOOT_ARCH + 2)
		return;
	acpi->rtc_century = p[FADT_CENTURY];
	acpi->no_rtc = raw16_load(p + FADT_BOOT_ARCH) & FADT_NO_CMOS_RTC;
}

/* Firmware's memory at a physical address; NULL: it cannot be read. */
static const void *readable(uint64_t phys, uint64_t bytes)
{
	if (phys == 0 || phys > PHYS_END - bytes || (phys < TABLES_END && phys > TABLES_END - bytes))
		return NULL;
	if (phys < TABLES_END)
		return vm_phys(phys);
	return high_maps++ < HIGH_MAPS_MAX ? vm_map_firmware(phys, bytes) : NULL;
}

/* The table at an address; NULL if the address or the table's length is invalid. */
static const struct table *table_at(uint64_t phys)
{
	const struct table *t = readable(phys, sizeof *t);
	return t && t->bytes >= sizeof *t && t->bytes <= TABLE_MAX ? readable(phys, t->bytes) : NULL;
}

static void copy_text(char *to, const char *from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] = from[i] >= ' ' && from[i] <= '~' ? from[i] : from[i] ? '?' : ' ';
	while (n && to[n - 1] == ' ')
		n--;
	to[n] = '\0';
}

/* Records the table for reports; NULL: there are too many. */
static struct hardware_table *note_table(struct acpi *acpi, const struct table *t, uint64_t phys)
{
	if (acpi->tables == HARDWARE_TABLES_MAX) {
		acpi->tables_left_out++;
		return NULL;
	}
	struct hardware_table *n = &acpi->table[acpi->tables++];
	*n = (struct hardware_table){.revision = t->revision, .bytes = t->bytes, .addr = phys};
	copy_text(n->signature, t->signature, sizeof t->signature);
	copy_text(n->oem, t->oem, sizeof t->oem);
	copy_text(n->oem_table, t->oem_table, sizeof t->oem_table);
	return n;
}

static void parse_table(struct acpi *acpi, uint64_t phys)
{
	const struct table *head = readable(phys, sizeof *head);
	if (!head)
		return;
	const char *name = head->signature;
	struct hardware_table *note = note_table(acpi, head, phys);
	bool madt = memcmp(name, "APIC", 4) == 0, mcfg = memcmp(name, "MCFG", 4) == 0;
	bool srat = memcmp(name, "SRAT", 4) == 0, slit = memcmp(name, "SLIT", 4) == 0;
	bool spcr = memcmp(name, "SPCR", 4) == 0, ivrs = memcmp(name, "IVRS", 4) == 0;
	bool fadt = memcmp(name, "FACP", 4) == 0;
	if (!madt && !mcfg && !fadt && !srat && !slit && !spcr && !ivrs && memcmp(name, "DMAR", 4))
		return;
	const struct table *t = table_at(phys);
	if (!t || !sum_is_zero(t, t->bytes)) {
		console_print("acpi: table at %llx is damaged, skipped\n", (unsigned long long)phys);
		if (note)
			note->damaged = true;
		return;
	}
	if (madt) {
		parse_madt(acpi, t);
	} else if (fadt) {
		parse_fadt(acpi, t);
	} else if (mcfg) {
		parse_mcfg(acpi, t);
	} else if (srat) {
		acpi->srat = (const uint8_t *)t;
		acpi->srat_bytes = t->bytes;
	} else if (slit) {
		acpi->slit = (const uint8_t *)t;
		acpi->slit_bytes = t->bytes;
	} else if (spcr) {
		parse_spcr(acpi, t);
	} else if (ivrs) {
		acpi->ivrs = (const uint8_t *)t;
		acpi->ivrs_bytes = t->bytes;
	} else {
		acpi->dmar = (const uint8_t *)t;
		acpi->dmar_bytes = t->bytes;
	}
}

void acpi_init(struct acpi *acpi, const struct boot *boot)
{
	*acpi = (struct acpi){.lapic = 0xfee00000, .com1_gsi = UINT32_MAX};
	for (unsigned i = 0; i < ACPI_ISA_MAX; i++)
		acpi->isa[i].gsi = i;
	high_maps = 0;
	const struct rsdp *r = find_rsdp(boot);
	if (!r) {
		console_print("acpi: no tables found; using one core\n");
		return;
	}
	bool wide = r->revision >= 2 && r->xsdt;
	const struct table *root = table_at(wide ? r->xsdt : r->rsdt);
	if (!root) {
		console_print("acpi: the root table is damaged; using one core\n");
		return;
	}
	const uint8_t *p = (const uint8_t *)(root + 1), *end = (const uint8_t *)root + root->bytes;
	for (size_t step = wide ? 8 : 4; p + step <= end; p += step)
		parse_table(acpi, wide ? raw64_load(p) : raw32_load(p));
}
