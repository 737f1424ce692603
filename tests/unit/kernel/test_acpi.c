/* kernel/acpi.c: tables as the firmware of servers gives them. Hostile ones are tests/fuzz/fuzz_acpi.c's. */
#include "tests/unit/rig/phys_window.h"

#include "kernel/acpi.c"

#define ROOT 0x7f000000u
#define TABLE 0x7f010000u

static char said[200];
static struct acpi acpi;

void console_print(const char *format, ...)
{
	__builtin_va_list args;
	__builtin_va_start(args, format);
	vsnprintf(said, sizeof said, format, args);
	__builtin_va_end(args);
}

#define HIGH 0x1800000000000ull /* 384 TiB */
#define HIGH_BYTES 0x3000u
static uint8_t high[HIGH_BYTES];
static unsigned maps;
static void *copies[8];

const void *vm_map_firmware(uint64_t phys, uint64_t bytes)
{
	assert_true(phys >= HIGH && phys - HIGH <= HIGH_BYTES && bytes <= HIGH_BYTES - (phys - HIGH));
	assert_true(maps < ARRAY_LEN(copies));
	copies[maps] = malloc(bytes); /* the exact size, so that ASan watches */
	memcpy(copies[maps], high + (phys - HIGH), bytes);
	return copies[maps++];
}

static void sum(uint8_t *at, size_t n, uint8_t *checksum)
{
	*checksum = 0;
	for (size_t i = 0; i < n; i++)
		*checksum = (uint8_t)(*checksum - (at + i == checksum ? 0 : at[i]));
}

static int setup(void **s)
{
	(void)s;
	window_open();
	memset(window + TABLE, 0, 0x1000);
	said[0] = 0;
	return 0;
}

/* Reads one table: `bytes` of it are set, header included. */
static void read_one(const char *name, uint8_t revision, uint32_t bytes)
{
	struct table *t = (struct table *)(void *)(window + TABLE), *root = (struct table *)(void *)(window + ROOT);
	struct rsdp *r = (struct rsdp *)(void *)(window + BIOS_START);
	memcpy(t->signature, name, 4);
	t->bytes = bytes;
	t->revision = revision;
	memcpy(t->oem, "ACME\x01 ", 6);
	sum((uint8_t *)t, bytes, &t->checksum);
	memcpy(root->signature, "XSDT", 4);
	root->bytes = sizeof *root + 8;
	raw64_store(root + 1, TABLE);
	*r = (struct rsdp){.revision = 2, .xsdt = ROOT, .bytes = 36};
	memcpy(r->signature, "RSD PTR ", 8);
	sum((uint8_t *)r, 20, &r->checksum);
	acpi_init(&acpi, &(struct boot){0});
}

static void put_spcr(uint8_t type, uint8_t space, uint8_t access, uint64_t addr, uint8_t baud)
{
	uint8_t *p = window + TABLE;
	p[SPCR_TYPE] = type;
	p[SPCR_SPACE] = space;
	p[SPCR_ACCESS] = access;
	raw64_store(p + SPCR_ADDRESS, addr);
	p[SPCR_BAUD] = baud;
}

static void spcr(void **s)
{
	(void)s;
	put_spcr(0, 1, 1, 0x2f8, 7);
	window[TABLE + SPCR_INTERRUPT] = 3;
	window[TABLE + SPCR_IRQ] = 3;
	raw32_store(window + TABLE + SPCR_GSI, 19);
	read_one("SPCR", 2, SPCR_BYTES);
	assert_true(acpi.serial.addr == 0x2f8 && !acpi.serial.mmio && acpi.serial.baud == 115200);
	assert_true(acpi.serial.has_irq && acpi.serial.irq == 3 && acpi.serial.has_gsi && acpi.serial.gsi == 19);

	put_spcr(0x12, 0, 3, 0x380000001000, 0); /* in memory, above 4 GiB, registers of 32 bits */
	window[TABLE + SPCR_INTERRUPT] = 0;
	read_one("SPCR", 4, SPCR_BYTES + 8);
	assert_true(acpi.serial.addr == 0x380000001000 && acpi.serial.mmio && acpi.serial.wide && acpi.serial.baud == 0);
	assert_true(!acpi.serial.has_irq && !acpi.serial.has_gsi);
	raw32_store(window + TABLE + SPCR_PRECISE_BAUD, 1500000);
	read_one("SPCR", 4, SPCR_BYTES + 8);
	assert_int_equal(acpi.serial.baud, 1500000);
	read_one("SPCR", 2, SPCR_BYTES + 8);
	assert_int_equal(acpi.serial.baud, 0);
}

static void fadt(void **s)
{
	(void)s;
	window[TABLE + 108] = 0x32;
	read_one("FACP", 6, 276);
	assert_true(acpi.rtc_century == 0x32 && !acpi.no_rtc);
	window[TABLE + 109] = 1 << 5;
	read_one("FACP", 6, 276);
	assert_true(acpi.no_rtc);
	read_one("FACP", 1, 110); /* too short */
	assert_true(acpi.rtc_century == 0 && !acpi.no_rtc);
}

static void spcr_that_cannot_be_used(void **s)
{
	(void)s;
	put_spcr(3, 1, 1, 0x2f8, 7); /* an ARM PL011 */
	read_one("SPCR", 2, SPCR_BYTES);
	assert_true(acpi.serial.addr == 0 && strstr(said, "type 03, which is no 16550"));
	put_spcr(0, 1, 1, 0x10000, 7);
	read_one("SPCR", 2, SPCR_BYTES);
	assert_true(acpi.serial.addr == 0 && strstr(said, "impossible address of the console, 10000"));
	said[0] = 0;
	put_spcr(0, 0, 1, 0, 7); /* redirection is off */
	read_one("SPCR", 2, SPCR_BYTES);
	assert_true(acpi.serial.addr == 0 && said[0] == 0);
	put_spcr(0, 1, 1, 0x2f8, 7);
	read_one("SPCR", 2, SPCR_BYTES - 1);
	assert_int_equal(acpi.serial.addr, 0);
}

static void put_ecam(unsigned n, uint64_t base, uint16_t segment, uint8_t first, uint8_t last)
{
	uint8_t *p = window + TABLE + 44 + 16 * n;
	raw64_store(p, base);
	raw16_store(p + 8, segment);
	p[10] = first;
	p[11] = last;
}

/* Two sockets with two segments each, out of order; one entry is there twice, another has its end before
 * its start. */
static void ecams(void **s)
{
	(void)s;
	put_ecam(0, 0x80000000, 0, 0x80, 0xff);
	put_ecam(1, 0x80000000, 0, 0, 0x7f);
	put_ecam(2, 0x2000000000000, 1, 0, 0xff);
	put_ecam(3, 0x80000000, 0, 0x40, 0x50);
	put_ecam(4, 0x90000000, 2, 9, 8);
	read_one("MCFG", 1, 44 + 16 * 5);
	assert_int_equal(acpi.ecams, 3);
	assert_true(acpi.ecam[0].segment == 0 && acpi.ecam[0].first_bus == 0 && acpi.ecam[0].last_bus == 0x7f);
	assert_true(acpi.ecam[1].segment == 0 && acpi.ecam[1].first_bus == 0x80);
	assert_true(acpi.ecam[2].segment == 1 && acpi.ecam[2].base == 0x2000000000000);
	for (unsigned n = 0; n < 20; n++)
		put_ecam(n, 0x80000000, (uint16_t)n, 0, 0);
	read_one("MCFG", 1, 44 + 16 * 20);
	assert_int_equal(acpi.ecams, ACPI_ECAMS_MAX);
	assert_non_null(strstr(said, "more than 16 ECAM regions; that of segment 0013"));
	assert_true(acpi.tables == 1 && acpi.table[0].addr == TABLE && acpi.table[0].revision == 1);
	assert_string_equal(acpi.table[0].signature, "MCFG");
	assert_string_equal(acpi.table[0].oem, "ACME?");
}

static uint32_t madt_bytes;

static uint8_t *madt_entry(uint8_t type, uint8_t bytes)
{
	uint8_t *e = window + TABLE + madt_bytes;
	memset(e, 0, bytes);
	e[0] = type;
	e[1] = bytes;
	madt_bytes += bytes;
	return e;
}

static void madt_core(uint8_t id, uint32_t flags)
{
	uint8_t *e = madt_entry(0, 8);
	e[2] = 0x77; /* the processor's UID */
	e[3] = id;
	raw32_store(e + 4, flags);
}

static void madt_x2apic(uint32_t id, uint32_t flags)
{
	uint8_t *e = madt_entry(9, 16);
	raw32_store(e + 4, id);
	raw32_store(e + 8, flags);
	raw32_store(e + 12, 0x77); /* the processor's UID */
}

static void madt_begin(void)
{
	madt_bytes = 44;
	raw32_store(window + TABLE + 36, 0xfee00000);
}

/* 5.2.12: cores that can be used, each once, in the table's order; interrupt controllers; interrupts that differ. */
static void madt(void **s)
{
	uint8_t *e;
	(void)s;
	madt_begin();
	madt_core(4, 1);
	madt_core(0, 1);
	madt_core(6, 0);    /* not enabled */
	madt_core(8, 2);    /* may be enabled later */
	madt_core(0xff, 1); /* all cores */
	madt_x2apic(4, 1);  /* the first one again */
	madt_x2apic(300, 1);
	madt_x2apic(301, 0);
	madt_x2apic(UINT32_MAX, 1);
	e = madt_entry(1, 12);
	e[2] = 9;
	raw32_store(e + 4, 0xfec00000);
	raw32_store(e + 8, 24);
	e = madt_entry(2, 10);
	e[3] = 4;
	raw32_store(e + 4, 20);
	raw16_store(e + 8, 0xd);
	madt_entry(2, 10)[3] = ACPI_ISA_MAX; /* no such interrupt */
	raw64_store(madt_entry(5, 12) + 4, 0x1fee00000);
	madt_entry(0, 7)[3] = 9; /* too short for what it is */
	madt_entry(77, 3);
	madt_core(10, 1);
	read_one("APIC", 5, madt_bytes);
	assert_int_equal(acpi.cores, 4);
	assert_true(acpi.apic_ids[0] == 4 && acpi.apic_ids[1] == 0 && acpi.apic_ids[2] == 300 && acpi.apic_ids[3] == 10);
	assert_true(acpi.ioapics == 1 && acpi.ioapic[0].id == 9 && acpi.ioapic[0].addr == 0xfec00000 &&
	            acpi.ioapic[0].first_gsi == 24);
	assert_true(acpi.isa[4].gsi == 20 && acpi.isa[4].flags == 0xd && acpi.isa[3].gsi == 3 && acpi.isa[3].flags == 0);
	assert_int_equal(acpi.lapic, 0x1fee00000);

	read_one("APIC", 5, madt_bytes - 1); /* the last entry is not whole */
	assert_int_equal(acpi.cores, 3);
	madt_begin();
	raw64_store(madt_entry(5, 12) + 4, 0xfee00010); /* not a page's address */
	for (unsigned n = 0; n <= CORES_MAX; n++)
		madt_x2apic(n, 1);
	read_one("APIC", 5, madt_bytes);
	assert_true(acpi.cores == CORES_MAX && acpi.apic_ids[CORES_MAX - 1] == CORES_MAX - 1);
	assert_int_equal(acpi.lapic, 0xfee00000);
}

static struct table *put_high(uint32_t at, const char *name, uint32_t bytes)
{
	struct table *t = (struct table *)(void *)(high + at);
	memcpy(t->signature, name, 4);
	t->bytes = bytes;
	return t;
}

/* A server with its tables above 4 GiB, the root table too; one lies across 4 GiB, and one beyond what an
 * address can be. */
static void tables_above_4g(void **s)
{
	(void)s;
	struct table *root = put_high(0, "XSDT", sizeof *root + 5 * 8), *mcfg = put_high(0x1000, "MCFG", 60);
	raw64_store(root + 1, HIGH + 0x1000);
	raw64_store((uint8_t *)(root + 1) + 8, WINDOW_BYTES - 16);
	raw64_store((uint8_t *)(root + 1) + 16, PHYS_END - 16);
	raw64_store((uint8_t *)(root + 1) + 24, UINT64_MAX - 8);
	raw64_store((uint8_t *)(root + 1) + 32, HIGH + 0x2000);
	raw64_store((uint8_t *)mcfg + 44, 0xe0000000);
	((uint8_t *)mcfg)[55] = 0xff;
	sum((uint8_t *)mcfg, 60, &mcfg->checksum);
	put_high(0x2000, "APIC", TABLE_MAX + 1);
	struct rsdp *r = (struct rsdp *)(void *)(window + BIOS_START);
	*r = (struct rsdp){.revision = 2, .xsdt = HIGH, .bytes = 36};
	memcpy(r->signature, "RSD PTR ", 8);
	sum((uint8_t *)r, 20, &r->checksum);
	maps = 0;
	acpi_init(&acpi, &(struct boot){0});
	assert_true(acpi.ecams == 1 && acpi.ecam[0].base == 0xe0000000 && acpi.ecam[0].last_bus == 0xff);
	assert_true(acpi.tables == 2 && acpi.table[0].addr == HIGH + 0x1000 && !acpi.table[0].damaged);
	assert_true(acpi.table[1].damaged && strstr(said, "table at 1800000002000 is damaged"));
	assert_true(maps > 0);
	while (maps)
		free(copies[--maps]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(spcr, setup), cmocka_unit_test_setup(fadt, setup),
		cmocka_unit_test_setup(spcr_that_cannot_be_used, setup),
		cmocka_unit_test_setup(ecams, setup),
		cmocka_unit_test_setup(madt, setup),
		cmocka_unit_test_setup(tables_above_4g, setup),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
