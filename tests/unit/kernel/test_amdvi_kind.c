/*
 * kernel/amdvi_kind below kernel/iommu: the device table and the maps as an AMD IOMMU reads them (publication
 * 48882). A card reaches its map and raises its interrupts; every other function is refused, except those that
 * firmware still uses.
 */
#include "tests/unit/rig/host.h"

#include "kernel/vm.h"

/* physical memory is the test's own */
static void *host_phys(uint64_t phys) { return (void *)(uintptr_t)phys; }
#define vm_phys host_phys
#include "kernel/iomap.c"
#define mem units_mem /* of the next file */
#include "kernel/amdvi_kind.c"
#include "kernel/iommu.c"

#include "tests/unit/rig/iommu_kernel.h"

#define CARD 0x0010  /* 00:02.0, listed by firmware */
#define FAR 0x0300   /* 03:00.0, a card */
#define USB 0x00e8   /* 00:1d.0, used by firmware */
#define OTHER 0x00f8 /* 00:1f.0, used by nobody */
#define IOAPIC 0x00a0
#define ARENA (3ull << 30)

static struct boot_info info;
struct boot_info *boot_info = &info;
static uint64_t table[AMDVI_FUNCTIONS * 4] __attribute__((aligned(4096)));
static unsigned fails; /* number + 1 of the unit that does not answer */
static bool on[2], knows_wide[2], has_maps;
static struct amdvi_tables given[2];
static unsigned forgotten_domains, forgotten_functions;

static int no_table(const struct acpi *a) { (void)a; return E_NOENT; }
const struct iommu_kind iommu_vtd = {.find = no_table};
unsigned numa_node_of_domain(uint32_t domain) { return domain == UINT32_MAX ? NUMA_NONE : 0; }
uint64_t vm_take_pages(uint64_t bytes, const char *what)
{
	(void)what;
	assert_int_equal(bytes, sizeof table);
	memset(table, 0xff, sizeof table);
	return (uint64_t)(uintptr_t)table;
}

static unsigned number(const struct amdvi *u) { return (unsigned)(u - unit); }
static int answer(const struct amdvi *u) { return fails == number(u) + 1 ? E_TIMEOUT : E_OK; }
int amdvi_open(struct amdvi *u, uint64_t phys) { (void)u, (void)phys; return E_OK; }
bool amdvi_has_maps(const struct amdvi *u) { (void)u; return has_maps; }
bool amdvi_knows_wide_ids(const struct amdvi *u) { return knows_wide[number(u)]; }
int amdvi_start(struct amdvi *u, const struct amdvi_tables *t)
{
	given[number(u)] = *t;
	on[number(u)] = answer(u) == E_OK;
	return answer(u);
}
void amdvi_stop(struct amdvi *u) { on[number(u)] = false; }
int amdvi_forget_pages(struct amdvi *u, unsigned n) { forgotten_domains = n; return answer(u); }
int amdvi_forget_interrupts(struct amdvi *u, const uint16_t *bdf, unsigned n)
{
	forgotten_functions = n;
	assert_true(bdf[0] == CARD && bdf[n - 1] == IOAPIC);
	return answer(u);
}
bool amdvi_take_refusal(struct amdvi *u, struct iommu_refusal *r, bool *more)
{
	(void)u, (void)r, (void)more;
	return false;
}

/* One unit for all, two cards. */
static int setup(void **s)
{
	(void)s;
	fails = 0;
	on[0] = on[1] = knows_wide[0] = knows_wide[1] = active = false;
	has_maps = true;
	next_page = 0;
	said[0] = 0;
	memset(used, 0, sizeof used);
	kind = &iommu_amdvi;
	names_ioapics = true;
	table_error = E_OK;
	ivrs = (struct ivrs){.units = 1, .ranges = 1, .ioapics = 1, .reserveds = 2};
	ivrs.range[0] = (struct ivrs_range){.last = 0xffff, .all = true};
	ivrs.ioapic[0] = (struct ivrs_ioapic){4, 0, IOAPIC};
	ivrs.reserved[0].first = ivrs.reserved[0].last = USB;
	ivrs.reserved[1].first = ivrs.reserved[1].last = CARD;
	info = (struct boot_info){.cores = 1, .pci_count = 2, .pci = {{.bdf = CARD}, {.bdf = FAR}}};
	info.pci[0].msix_vectors = 3;
	info.pci[1].msix_vectors = 64;
	info.published = MEMORY_WINDOW + (1ull << 30);
	info.published_bytes = HUGE_BYTES;
	info.core[0].tables = info.published + HUGE_BYTES;
	info.core[0].tables_bytes = HUGE_BYTES;
	info.core[0].arena = MEMORY_WINDOW + ARENA;
	info.core[0].arena_bytes = 2 * HUGE_BYTES;
	return 0;
}

static const uint32_t blocks[] = {256, 320};
static const struct iommu_interrupts narrow = {0x7000000, 9, false, blocks}, wide = {0x7000000, 9, true, blocks};

static void begin(const struct iommu_interrupts *in)
{
	iommu_prepare();
	assert_int_equal(iommu_start(in), in != NULL);
	assert_int_equal(info.iommu.units, 1);
	assert_int_equal(info.iommu.cards, 2);
	assert_true(on[0] && given[0].devices == (uintptr_t)table);
}

/* The function's entry. None may have V or TV off, or reserved bits on. */
static const uint64_t *entry(uint16_t bdf)
{
	const uint64_t *d = table + 4 * bdf;
	assert_int_equal(d[0] & 3, 3);
	assert_int_equal(d[0] & 0x9ff00000000001fcull, 0);
	assert_int_equal(d[1] >> 16, 0);
	assert_int_equal(d[2] & 0xcff0000000000020ull, 0);
	assert_int_equal(d[3], 0);
	return d;
}

static unsigned mode_of(uint16_t bdf) { return (unsigned)(entry(bdf)[0] >> 9 & 7); }

#define READ 1u /* IR */
#define WRITE 2u /* IW */

/* The translation of such an access to this address; 0: refused. */
static uint64_t walk_for(uint16_t bdf, uint64_t addr, unsigned access)
{
	uint64_t e = entry(bdf)[0];
	unsigned level = mode_of(bdf);
	if (!(e >> 61 & access))
		return 0;
	if (level == 0)
		return addr;
	for (unsigned next = level; next;) {
		const uint64_t *t = host_phys(e & LEVEL_ADDR);
		level = next;
		e = t[addr >> (3 + 9 * level) & 511];
		if ((e & 1) == 0 || !(e >> 61 & access))
			return 0;
		next = (unsigned)(e >> 9 & 7);
		assert_true(next < level);
	}
	return (e & LEVEL_ADDR) | (addr & ((1ull << (3 + 9 * level)) - 1));
}

static uint64_t walk(uint16_t bdf, uint64_t addr)
{
	const uint64_t to = walk_for(bdf, addr, READ);
	assert_int_equal(walk_for(bdf, addr, WRITE), to);
	return to;
}

static void what_a_card_reaches(void **s)
{
	static const uint64_t reached[][2] = {
		{1ull << 30, (1ull << 30) + 2 * HUGE_BYTES}, {ARENA, ARENA + 2 * HUGE_BYTES}};
	(void)s;
	begin(NULL);
	for (unsigned i = 0; i < ARRAY_LEN(reached); i++) {
		for (uint64_t at = reached[i][0]; at < reached[i][1]; at += HUGE_BYTES)
			assert_true(walk(CARD, at) == at && walk(FAR, at + 5) == at + 5);
		assert_int_equal(walk(CARD, reached[i][1] - 1), reached[i][1] - 1);
		assert_int_equal(walk(CARD, reached[i][0] - 1), 0);
		assert_int_equal(walk(CARD, reached[i][1]), 0);
	}
	assert_int_equal(walk(CARD, VM_IMAGE_PHYS), 0);
	assert_int_equal(mode_of(CARD), 4);
	assert_true(entry(CARD)[1] == 1 && entry(FAR)[1] == 2); /* a domain each */
	assert_int_equal(entry(CARD)[2], 0); /* interrupts are not remapped */
	assert_non_null(strstr(said, "iommu: AMD-Vi: 2 of 2 cards reach packet memory only\n"));
}

/* Every other function is refused, and those of firmware are as before. */
static void the_others(void **s)
{
	(void)s;
	begin(&narrow);
	for (unsigned bdf = 0; bdf < AMDVI_FUNCTIONS; bdf++) {
		uint64_t to = walk((uint16_t)bdf, 1ull << 30);
		if (bdf != CARD && bdf != FAR)
			assert_int_equal(to, bdf == USB ? 1ull << 30 : 0);
		if (bdf != CARD && bdf != FAR && bdf != IOAPIC)
			assert_int_equal(entry((uint16_t)bdf)[2], 1); /* interrupts: refused */
	}
	assert_int_equal(walk(USB, 0x1000), 0x1000);
	assert_int_equal(entry(USB)[1], 3);
	assert_int_equal(walk(OTHER, ARENA), 0);
}

static void interrupts(void **s)
{
	(void)s;
	begin(&narrow);
	assert_int_equal(entry(CARD)[2], 2ull << 60 | (0x7000000 + 256 * 4) | 4 << 1 | 1);
	assert_int_equal(entry(FAR)[2], 2ull << 60 | (0x7000000 + 320 * 4) | 6 << 1 | 1);
	assert_int_equal(entry(IOAPIC)[2], 2ull << 60 | 0x7000000 | 8 << 1 | 1);
	assert_false(given[0].wide);
	setup(NULL);
	begin(&wide);
	assert_int_equal(entry(FAR)[2], 2ull << 60 | (0x7000000 + 320 * 16) | 6 << 1 | 1);
	assert_true(given[0].wide);
	assert_int_equal(iommu_ioapic_source(4), IOAPIC);
	assert_int_equal(iommu_ioapic_source(5), -1);
	assert_int_equal(iommu_forget_interrupts(), E_OK);
	assert_int_equal(forgotten_functions, 3);
	fails = 1;
	assert_int_equal(iommu_forget_interrupts(), E_TIMEOUT);
}

/* Wide IDs only if all used units know them. */
static void wide_ids(void **s)
{
	bool is_wide;
	(void)s;
	ivrs.units = 2;
	ivrs.ranges = 2;
	ivrs.range[1] = (struct ivrs_range){.first = FAR, .last = FAR, .unit = 1};
	knows_wide[0] = true;
	iommu_prepare();
	assert_true(iommu_remaps_interrupts(&is_wide) && !is_wide);
	knows_wide[1] = true;
	assert_true(iommu_remaps_interrupts(&is_wide) && is_wide);
	knows_wide[0] = false;
	used[0] = false; /* a unit without a card does not count */
	assert_true(iommu_remaps_interrupts(&is_wide) && is_wide);
}

/* Cards whose requests bear another's ID: its entry, one map if they share it, and no remapping of interrupts. */
static void aliases(void **s)
{
	bool is_wide;
	(void)s;
	ivrs.ranges = 3;
	ivrs.range[1] = (struct ivrs_range){.first = FAR, .last = FAR, .aliased = true, .alias = 0x0308};
	ivrs.range[2] = (struct ivrs_range){.first = CARD, .last = CARD};
	begin(NULL);
	assert_false(iommu_remaps_interrupts(&is_wide));
	assert_int_equal(walk(0x0308, ARENA), ARENA);
	assert_int_equal(walk(FAR, ARENA), 0);
	assert_int_equal(iommu_reserve(0, 1, MEMORY_WINDOW + ARENA, HUGE_BYTES), E_OK);
	assert_int_equal(walk(CARD, ARENA), 0);
	setup(NULL);
	ivrs.ranges = 2;
	ivrs.range[1] = (struct ivrs_range){.last = 0x0fff, .aliased = true, .alias = 0x0308};
	begin(NULL);
	assert_int_equal(walk(0x0308, ARENA), ARENA);
	assert_int_equal(iommu_reserve(0, 1, MEMORY_WINDOW + ARENA, HUGE_BYTES), E_NOTSUP); /* one map */
}

/* A table with one unit for all functions, and an I/O APIC with ID 4. */
static void ioapics(void **s)
{
	static uint8_t bytes[48 + 24 + 4 + 8] = {
		[48] = 0x10, [50] = 36, [52] = 2, [56] = 0, 0, 0xd8, 0xfe, [72] = 1, [76] = 0x48, [80] = 4, 0xa0, 0, 1};
	static struct acpi acpi = {.ivrs = bytes, .ivrs_bytes = sizeof bytes, .ioapics = 2, .ioapic = {{.id = 4}, {.id = 4}}};
	bool is_wide;
	(void)s;
	knows_wide[0] = true;
	for (unsigned named = 0; named < 2; named++) {
		acpi.ioapic[1].id = named ? 4 : 5;
		kind = NULL;
		active = false;
		table_error = E_NOENT;
		next_page = 0;
		const struct iommu_units *list = iommu_find(&acpi);
		assert_true(list->units == 1 && list->unit[0].regs == 0xfed80000 && list->unit[0].bytes == 0x4000);
		assert_int_equal(info.iommu.kind, BOOT_IOMMU_AMDVI);
		iommu_prepare();
		assert_int_equal(iommu_remaps_interrupts(&is_wide), named);
		assert_int_equal(is_wide, named);
	}
	acpi.ivrs_bytes--;
	table_error = E_NOENT;
	assert_int_equal(iommu_find(&acpi)->units, 0);
	assert_int_equal(table_error, E_INVAL);
}

static void rings(void **s)
{
	(void)s;
	begin(NULL);
	assert_int_equal(iommu_reserve(0, 1, MEMORY_WINDOW + ARENA, HUGE_BYTES), E_OK);
	assert_int_equal(forgotten_domains, 2);
	assert_true(walk(CARD, ARENA) == 0 && walk(FAR, ARENA) == ARENA);
	assert_int_equal(iommu_reserve(0, DMA_ALL, MEMORY_WINDOW + ARENA, HUGE_BYTES), E_OK);
	assert_true(walk(CARD, ARENA) == ARENA && walk(FAR, ARENA) == ARENA);
	assert_int_equal(iommu_withdraw(MEMORY_WINDOW + ARENA + HUGE_BYTES, HUGE_BYTES, true), E_OK);
	assert_int_equal(walk_for(CARD, ARENA + HUGE_BYTES, READ), ARENA + HUGE_BYTES);
	assert_int_equal(walk_for(CARD, ARENA + HUGE_BYTES, WRITE), 0);
	fails = 1;
	assert_int_equal(iommu_withdraw(MEMORY_WINDOW + (1ull << 30), HUGE_BYTES, false), E_DEVICE);
	assert_int_equal(walk(CARD, 1ull << 30), 1ull << 30); /* as before */
}

static void not_used(void **s)
{
	(void)s;
	has_maps = false;
	iommu_prepare();
	assert_false(iommu_start(NULL));
	assert_string_equal(said, "iommu: not used: the units lack page tables for hosts\n");
	setup(NULL);
	fails = 1;
	iommu_prepare();
	assert_false(iommu_start(&narrow));
	assert_true(!on[0] && strstr(said, "iommu: not used: a unit does not answer\n"));
	setup(NULL);
	table_error = E_INVAL;
	ivrs.units = 0;
	iommu_prepare();
	assert_string_equal(said, "iommu: not used: the IVRS table is malformed, or has more than there is room for\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(what_a_card_reaches, setup), cmocka_unit_test_setup(the_others, setup),
		cmocka_unit_test_setup(interrupts, setup),          cmocka_unit_test_setup(wide_ids, setup),
		cmocka_unit_test_setup(aliases, setup),             cmocka_unit_test_setup(rings, setup),
		cmocka_unit_test_setup(ioapics, setup),
		cmocka_unit_test_setup(not_used, setup),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
