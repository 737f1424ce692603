/*
 * kernel/iommu with kernel/vtd_kind: the units' table entries of each device. A card reaches the map and nothing else,
 * even if firmware lists it among the devices that it goes on using. Other such devices are not
 * remapped.
 */
#include "tests/unit/rig/host.h"

#include "kernel/vm.h"

/* physical memory is the test's own */
static void *host_phys(uint64_t phys) { return (void *)(uintptr_t)phys; }
#define vm_phys host_phys
#include "kernel/iomap.c"
#define mem units_mem /* of the next file */
#include "kernel/vtd_kind.c"
#include "kernel/iommu.c"

#include "tests/unit/rig/iommu_kernel.h"

#define CARD 0x0010   /* 00:02.0, listed by firmware */
#define FAR 0x0300    /* 03:00.0, a card */
#define USB 0x00e8    /* 00:1d.0, used by firmware */
#define STORE 0x0500  /* 05:00.0, used by firmware, on a bus without a card */
#define OTHER 0x00f8  /* 00:1f.0, used by nobody */
#define ARENA (3ull << 30)

static struct boot_info info;
struct boot_info *boot_info = &info;
static bool passes;
static unsigned domains;
static unsigned fails; /* number + 1 of the unit that does not start */
static bool on[2];     /* units */
static uint64_t started_root, limits[2];

unsigned pci_buses_behind(uint16_t bdf) { (void)bdf; return 0; }

/* The other kind is not in this test. */
const struct iommu_kind iommu_amdvi;

int vtd_open(struct vtd *u, uint64_t phys) { (void)u, (void)phys; return E_OK; }
static unsigned unit_widths[2];
unsigned vtd_widths(const struct vtd *u) { return unit_widths[u - unit]; }
uint64_t vtd_limit(const struct vtd *u) { return limits[u - unit]; }
unsigned vtd_domains(const struct vtd *u) { (void)u; return domains; }
bool vtd_passes_through(const struct vtd *u) { (void)u; return passes; }
static unsigned invalidated;
int vtd_forget_pages(const struct vtd *u)
{
	invalidated++;
	return fails == u - unit + 1u ? E_TIMEOUT : E_OK;
}
void vtd_stop(struct vtd *u) { on[u - unit] = false; }
static bool remaps[2], knows_wide[2]; /* units: interrupts */
bool vtd_remaps_interrupts(const struct vtd *u) { return remaps[u - unit]; }
bool vtd_knows_wide_ids(const struct vtd *u) { return knows_wide[u - unit]; }
static unsigned forgotten;
int vtd_forget_interrupts(const struct vtd *u)
{
	forgotten |= 1u << (u - unit);
	return fails == u - unit + 1u ? E_TIMEOUT : E_OK;
}
static struct vtd_tables given[2];
int vtd_start(struct vtd *u, const struct vtd_tables *t)
{
	given[u - unit] = *t;
	if (fails == u - unit + 1u)
		return E_TIMEOUT;
	on[u - unit] = true;
	started_root = t->root;
	return E_OK;
}
/* What the units have recorded. */
static struct iommu_refusal refusal[4];
static unsigned refusals;
bool vtd_take_refusal(const struct vtd *u, struct iommu_refusal *r, bool *more)
{
	(void)u, (void)more;
	if (refusals == 0)
		return false;
	*r = refusal[--refusals];
	return true;
}

static void reserve(uint16_t bdf)
{
	dmar.scope[dmar.scopes++] =
		(struct dmar_scope){.bus = (uint8_t)(bdf >> 8), .hops = 1, .devfn = {(uint8_t)bdf}};
}

/* One unit for all, two cards, three devices that firmware goes on using. */
static int setup(void **s)
{
	(void)s;
	passes = true;
	fails = 0;
	on[0] = on[1] = false;
	remaps[0] = remaps[1] = knows_wide[0] = knows_wide[1] = false;
	mem.queues = widths = 0;
	kind = &iommu_vtd;
	active = false;
	domains = 256;
	next_page = 0;
	limits[0] = limits[1] = 1ull << 48;
	unit_widths[0] = unit_widths[1] = VTD_WIDTH_39 | VTD_WIDTH_48;
	started_root = said[0] = 0;
	dmar = (struct dmar){.units = 1, .unit = {{.regs = 0xfed90000, .all = true}}};
	reserve(CARD);
	reserve(USB);
	reserve(STORE);
	table_error = E_OK;
	memset(used, 0, sizeof used);
	info = (struct boot_info){.cores = 1, .pci_count = 2, .pci = {{.bdf = CARD}, {.bdf = FAR}}};
	info.published = MEMORY_WINDOW + (1ull << 30);
	info.published_bytes = HUGE_BYTES;
	info.core[0].tables = info.published + HUGE_BYTES;
	info.core[0].tables_bytes = HUGE_BYTES;
	info.core[0].arena = MEMORY_WINDOW + ARENA;
	info.core[0].arena_bytes = 2 * HUGE_BYTES;
	return 0;
}

/* Both words of a device's context entry, as a unit finds it (9.1, 9.3); NULL: none. */
static const uint64_t *context_of(uint16_t bdf)
{
	const uint64_t *root = host_phys(started_root);
	uint64_t entry = root[2 * (bdf >> 8)];
	const uint64_t *context = host_phys(entry & LEVEL_ADDR);
	if (!(entry & 1) || !(context[2 * (bdf & 255)] & 1))
		return NULL;
	return context + 2 * (bdf & 255);
}

/* The context's type of translation (9.3, TT): 0 by the tables, 2 pass-through. */
static unsigned type_of(uint16_t bdf)
{
	const uint64_t *c = context_of(bdf);
	assert_non_null(c);
	return c[0] >> 2 & 3;
}

static void begin(void)
{
	iommu_prepare();
	assert_false(iommu_start(NULL));
	assert_int_not_equal(started_root, 0);
	assert_int_equal(info.iommu.units, 1);
	assert_int_equal(info.iommu.cards, 2);
}

static void a_card_is_remapped_whatever_firmware_says(void **s)
{
	(void)s;
	begin();
	assert_int_equal(type_of(CARD), 0);
	assert_int_equal(type_of(FAR), 0);
	assert_int_not_equal(context_of(CARD)[0], context_of(FAR)[0]); /* a map each */
	assert_int_equal(context_of(CARD)[1] >> 8, 1);
	assert_int_equal(context_of(FAR)[1] >> 8, 2);
}

static void firmware_s_own_are_not_remapped(void **s)
{
	(void)s;
	begin();
	assert_int_equal(type_of(USB), 2);
	assert_int_equal(type_of(STORE), 2);
	assert_int_equal(context_of(USB)[1] >> 8, 3); /* a domain of their own */
	assert_null(context_of(OTHER));
}

/* A unit without pass-through refuses the device: it supports no such entry. */
static void unit_cannot_let_pass(void **s)
{
	(void)s;
	passes = false;
	begin();
	assert_int_equal(type_of(CARD), 0);
	assert_null(context_of(USB));
	assert_null(context_of(STORE));
}

#define READ_ONLY 1

/* The translation of a card's address (9.8); 0: none; READ_ONLY. */
static uint64_t walk_by(uint16_t card, uint64_t addr)
{
	const uint64_t *t = host_phys(context_of(card)[0] & LEVEL_ADDR);
	for (unsigned shift = (context_of(card)[1] & 7) == 1 ? 30 : 39; shift > 21; shift -= 9) {
		uint64_t entry = t[addr >> shift & 511];
		if ((entry & 3) != 3)
			return 0;
		t = host_phys(entry & LEVEL_ADDR);
	}
	uint64_t leaf = t[addr >> 21 & 511];
	if ((leaf & 3) == 1 && leaf & 0x80)
		return READ_ONLY;
	if ((leaf & 3) != 3 || !(leaf & 0x80))
		return 0;
	return (leaf & LEVEL_ADDR) | (addr & (HUGE_BYTES - 1));
}

static uint64_t walk(uint64_t addr) { return walk_by(CARD, addr); }

/* Each region from its first byte to its last, and not the adjacent pages. */
static void what_a_card_reaches(void **s)
{
	(void)s;
	static const uint64_t reached[][2] = {
		{1ull << 30, (1ull << 30) + 2 * HUGE_BYTES}, {ARENA, ARENA + 2 * HUGE_BYTES}};
	begin();
	for (unsigned i = 0; i < ARRAY_LEN(reached); i++) {
		for (uint64_t at = reached[i][0]; at < reached[i][1]; at += HUGE_BYTES)
			assert_int_equal(walk(at), at);
		assert_int_equal(walk(reached[i][1] - 1), reached[i][1] - 1);
		assert_int_equal(walk(reached[i][0] - 1), 0);
		assert_int_equal(walk(reached[i][1]), 0);
	}
	assert_int_equal(walk(0), 0);
	assert_int_equal(walk(VM_IMAGE_PHYS), 0);
}

static void gone(void **s)
{
	const uint64_t tables = (1ull << 30) + HUGE_BYTES;
	(void)s;
	invalidated = 0;
	assert_int_equal(iommu_withdraw(MEMORY_WINDOW + tables, HUGE_BYTES, false), E_OK); /* no unit is used */
	assert_int_equal(invalidated, 0);
	info.core[0].tables_bytes = 3 * HUGE_BYTES;
	begin();
	assert_int_equal(iommu_withdraw(MEMORY_WINDOW + tables + HUGE_BYTES, HUGE_BYTES, false), E_OK);
	assert_int_equal(invalidated, 1);
	assert_int_equal(walk(tables), tables);
	assert_int_equal(walk(tables + HUGE_BYTES - 1), tables + HUGE_BYTES - 1);
	assert_int_equal(walk(tables + HUGE_BYTES), 0);
	assert_int_equal(walk(tables + 2 * HUGE_BYTES - 1), 0);
	assert_int_equal(walk(tables + 2 * HUGE_BYTES), tables + 2 * HUGE_BYTES);
	assert_int_equal(iommu_withdraw(MEMORY_WINDOW + tables + 2 * HUGE_BYTES, HUGE_BYTES, true), E_OK);
	assert_int_equal(walk(tables + 2 * HUGE_BYTES), READ_ONLY);
	assert_int_equal(walk_by(FAR, tables + 3 * HUGE_BYTES - 1), READ_ONLY);
	assert_int_equal(walk(tables), tables);
	fails = 1; /* the unit does not answer: as before */
	assert_int_equal(iommu_withdraw(MEMORY_WINDOW + tables, HUGE_BYTES, false), E_DEVICE);
	assert_int_equal(walk(tables), tables);
	assert_int_equal(iommu_withdraw(MEMORY_WINDOW + tables, HUGE_BYTES, true), E_DEVICE);
	assert_int_equal(walk(tables), tables);
	assert_int_equal(walk_by(FAR, tables), tables);
}

/* Memory of one card's rings: that card alone reaches it, until all may again. */
static void reserved_for_one(void **s)
{
	const uint64_t at = MEMORY_WINDOW + ARENA;
	(void)s;
	assert_int_equal(iommu_reserve(0, 1, at, HUGE_BYTES), E_NOTSUP); /* no unit is used */
	begin();
	invalidated = 0;
	assert_int_equal(iommu_reserve(0, 1, at, HUGE_BYTES), E_OK);
	assert_int_equal(invalidated, 1);
	assert_int_equal(walk_by(CARD, ARENA), 0);
	assert_int_equal(walk_by(CARD, ARENA + HUGE_BYTES - 1), 0);
	assert_int_equal(walk_by(FAR, ARENA), ARENA);
	assert_int_equal(walk_by(CARD, ARENA + HUGE_BYTES), ARENA + HUGE_BYTES);
	assert_int_equal(iommu_reserve(0, 0xffff, at, HUGE_BYTES), E_OK); /* no device's */
	assert_int_equal(walk_by(CARD, ARENA) | walk_by(FAR, ARENA), 0);
	assert_int_equal(iommu_reserve(0, DMA_ALL, at, 2 * HUGE_BYTES), E_OK);
	assert_int_equal(walk_by(CARD, ARENA), ARENA);
	assert_int_equal(walk_by(FAR, ARENA), ARENA);
	fails = 1;
	assert_int_equal(iommu_reserve(0, 1, at, HUGE_BYTES), E_DEVICE);
}

/* A core gives away whole pages of its own arena, and nothing else. */
static void not_to_be_reserved(void **s)
{
	static const struct {
		unsigned core;
		uint64_t at, bytes;
	} row[] = {
		{0, ARENA, 0}, {0, ARENA + 4096, HUGE_BYTES}, {0, ARENA, HUGE_BYTES + 4096}, {0, ARENA, 3 * HUGE_BYTES},
		{0, ARENA - HUGE_BYTES, HUGE_BYTES}, {0, ARENA + 2 * HUGE_BYTES, HUGE_BYTES},
		{0, ARENA + HUGE_BYTES, 0ull - HUGE_BYTES}, {0, 1ull << 30, HUGE_BYTES} /* published */,
		{1, ARENA, HUGE_BYTES} /* another core's */};
	(void)s;
	info.cores = 2;
	begin();
	invalidated = 0;
	for (unsigned i = 0; i < ARRAY_LEN(row); i++)
		assert_int_equal(iommu_reserve(row[i].core, 1, MEMORY_WINDOW + row[i].at, row[i].bytes), E_INVAL);
	assert_int_equal(invalidated, 0);
	assert_int_equal(walk(ARENA), ARENA);
}

/* A disk reaches what the control core lends it out of its tables, whole pages, and nothing else; no card reaches that. */
static void lent_to_a_disk(void **s)
{
	const uint64_t tables = (1ull << 30) + HUGE_BYTES, at = MEMORY_WINDOW + tables;
	(void)s;
	info.pci[1].kind = PCI_DISK;
	info.core[0].roles = CORE_CONTROL;
	info.core[0].tables_bytes = 3 * HUGE_BYTES;
	begin();
	assert_int_equal(walk_by(FAR, ARENA) | walk_by(FAR, 1ull << 30) | walk_by(FAR, tables), 0);
	assert_int_equal(walk_by(CARD, tables), tables);
	assert_int_equal(iommu_reserve(0, 1, at, HUGE_BYTES), E_OK);
	assert_int_equal(walk_by(FAR, tables), tables);
	assert_int_equal(walk_by(FAR, tables + HUGE_BYTES) | walk_by(CARD, tables), 0);
	assert_int_equal(iommu_reserve(0, 1, at + HUGE_BYTES, HUGE_BYTES), E_OK); /* besides */
	assert_int_equal(walk_by(FAR, tables), tables);
	assert_int_equal(iommu_reserve(0, DMA_ALL, MEMORY_WINDOW + ARENA, 2 * HUGE_BYTES), E_OK); /* cards, not disks */
	assert_int_equal(walk_by(FAR, ARENA), 0);
	assert_int_equal(walk_by(CARD, ARENA), ARENA);
	assert_int_equal(iommu_withdraw(at + 2 * HUGE_BYTES, HUGE_BYTES, true), E_OK);
	assert_int_equal(walk_by(FAR, tables + 2 * HUGE_BYTES), 0);
	assert_int_equal(walk_by(CARD, tables + 2 * HUGE_BYTES), READ_ONLY);
	assert_int_equal(iommu_reserve(0, 1, MEMORY_WINDOW + ARENA, HUGE_BYTES), E_INVAL);
	assert_int_equal(iommu_reserve(0, 1, at + 2 * HUGE_BYTES, 2 * HUGE_BYTES), E_INVAL);
	assert_int_equal(iommu_reserve(0, 1, at + 4096, HUGE_BYTES), E_INVAL);
	info.core[0].roles = CORE_DATA;
	assert_int_equal(iommu_reserve(0, 1, at, HUGE_BYTES), E_INVAL);
}

/* Disks share what they have been lent, and a unit that does not answer brings no disk more than it had. */
static void two_disks(void **s)
{
	const uint64_t tables = (1ull << 30) + HUGE_BYTES, at = MEMORY_WINDOW + tables;
	(void)s;
	info.pci[0].kind = info.pci[1].kind = PCI_DISK;
	info.core[0].roles = CORE_CONTROL;
	info.core[0].tables_bytes = 2 * HUGE_BYTES;
	begin();
	assert_int_equal(iommu_reserve(0, 0, at, HUGE_BYTES), E_OK);
	assert_int_equal(iommu_reserve(0, 1, at, HUGE_BYTES), E_OK);
	assert_int_equal(walk_by(CARD, tables), tables);
	assert_int_equal(walk_by(FAR, tables), tables);
	fails = 1;
	assert_int_equal(iommu_withdraw(at + HUGE_BYTES, HUGE_BYTES, false), E_DEVICE);
	assert_int_equal(walk_by(CARD, tables + HUGE_BYTES) | walk_by(FAR, tables + HUGE_BYTES), 0);
}

/* Units with too few domains: one map for all cards, and nothing to reserve. */
static void few_domains(void **s)
{
	(void)s;
	domains = 4; /* 0, two cards, the devices of firmware */
	begin();
	assert_int_not_equal(context_of(CARD)[0], context_of(FAR)[0]);
	setup(NULL);
	domains = 3;
	begin();
	assert_int_equal(context_of(CARD)[0], context_of(FAR)[0]);
	assert_int_equal(context_of(CARD)[1], context_of(FAR)[1]);
	assert_int_equal(context_of(USB)[1] >> 8, 2);
	assert_int_equal(iommu_reserve(0, 1, MEMORY_WINDOW + ARENA, HUGE_BYTES), E_NOTSUP);
	assert_int_equal(walk(ARENA), ARENA);
	assert_int_equal(iommu_withdraw(MEMORY_WINDOW + (1ull << 30) + HUGE_BYTES, HUGE_BYTES, false), E_OK);
	assert_int_equal(walk((1ull << 30) + HUGE_BYTES), 0);
}

/* Two units: the second serves FAR alone, the first the rest. */
static void two_units(void)
{
	dmar.units = 2;
	dmar.unit[1] = (struct dmar_unit){
		.regs = 0xfed91000, .first_scope = DMAR_SCOPES_MAX - 1, .scopes = 1};
	dmar.scope[DMAR_SCOPES_MAX - 1] = (struct dmar_scope){.bus = FAR >> 8, .hops = 1};
}

/* Without a card behind it a unit stays off, and nothing is reported about its devices. */
static void unit_without_a_card(void **s)
{
	(void)s;
	two_units();
	info.pci[0].bdf = FAR;
	info.pci_count = 1;
	iommu_prepare();
	iommu_start(NULL);
	assert_true(!on[0] && on[1]);
	assert_int_equal(info.iommu.units, 1);
	assert_int_equal(type_of(FAR), 0);
	assert_null(context_of(USB));
	assert_null(context_of(STORE));
}

/* All or none: cards are never remapped only partly. */
static void unit_does_not_start(void **s)
{
	(void)s;
	two_units();
	fails = 2;
	iommu_prepare();
	iommu_start(NULL);
	assert_true(!on[0] && !on[1]);
	assert_int_equal(info.iommu.units, 0);
	assert_string_equal(said, "iommu: not used: a unit does not answer\n");
	assert_int_equal(iommu_look(), 0);
}

/* Cards are given no address that a unit does not support. */
static void memory_beyond_the_unit(void **s)
{
	(void)s;
	limits[0] = ARENA + 2 * HUGE_BYTES;
	limits[1] = 0; /* there is no such unit */
	begin();
	setup(NULL);
	limits[0] = ARENA + 2 * HUGE_BYTES - 1;
	iommu_prepare();
	iommu_start(NULL);
	assert_false(on[0]);
	assert_non_null(strstr(said, "iommu: not used: memory lies beyond"));
	setup(NULL), two_units();
	limits[1] = ARENA; /* the second unit decides, too */
	iommu_prepare();
	iommu_start(NULL);
	assert_true(!on[0] && !on[1]);
	setup(NULL), two_units();
	limits[1] = 0; /* no card is behind it */
	info.pci_count = 1;
	iommu_prepare();
	iommu_start(NULL);
	assert_true(on[0] && !on[1]);
}

/* Units of three levels only: their maps begin at the third, which covers 512 GiB. */
static void three_levels(void **s)
{
	static const struct {
		unsigned first, second, width; /* 9.3, AW */
	} row[] = {{VTD_WIDTH_39, VTD_WIDTH_39, 1}, {VTD_WIDTH_39, VTD_WIDTH_39 | VTD_WIDTH_48, 1},
	           {VTD_WIDTH_48, VTD_WIDTH_48, 2}, {VTD_WIDTH_39 | VTD_WIDTH_48, VTD_WIDTH_48, 2}};
	(void)s;
	for (unsigned i = 0; i < ARRAY_LEN(row); i++) {
		setup(NULL), two_units();
		unit_widths[0] = row[i].first;
		unit_widths[1] = row[i].second;
		iommu_prepare();
		iommu_start(NULL);
		assert_true(on[0] && on[1]);
		assert_int_equal(context_of(CARD)[1] & 7, row[i].width);
		assert_int_equal(walk(ARENA), ARENA);
		assert_int_equal(walk_by(FAR, ARENA), ARENA);
	}
	setup(NULL), two_units();
	unit_widths[0] = VTD_WIDTH_39;
	unit_widths[1] = VTD_WIDTH_48;
	iommu_prepare();
	assert_false(iommu_start(NULL) || on[0] || on[1]);
	assert_non_null(strstr(said, "or a width that they have in common"));
	setup(NULL);
	unit_widths[0] = VTD_WIDTH_39; /* memory ends at 512 GiB for such a unit */
	info.published = MEMORY_WINDOW + (1ull << 39);
	info.core[0].tables = info.published + HUGE_BYTES;
	info.core[0].arena = info.published + 2 * HUGE_BYTES;
	iommu_prepare();
	iommu_start(NULL);
	assert_non_null(strstr(said, "iommu: not used: memory lies beyond"));
}

/* Interrupts are remapped if all used units can, with wide IDs if all used units know them. Each unit has its
 * own queue. */
static void interrupts(void **s)
{
	const struct iommu_interrupts in = {0x7000, 9, true, NULL};
	bool wide;
	(void)s;
	two_units();
	dmar.remaps_interrupts = remaps[0] = true;
	iommu_prepare();
	assert_false(iommu_remaps_interrupts(&wide));
	assert_false(wide);
	assert_true(iommu_start(NULL) == false && on[0] && on[1] && given[0].queue == 0);
	setup(NULL), two_units();
	dmar.remaps_interrupts = remaps[0] = remaps[1] = knows_wide[1] = true;
	iommu_prepare();
	assert_true(iommu_remaps_interrupts(&wide));
	assert_false(wide);
	knows_wide[0] = true;
	assert_true(iommu_remaps_interrupts(&wide) && wide);
	assert_true(iommu_start(&in));
	assert_non_null(strstr(said, "and raise their own interrupts only"));
	for (unsigned n = 0; n < 2; n++) {
		assert_true(given[n].interrupts == in.phys && given[n].interrupts_log2 == in.log2 && given[n].wide);
		assert_int_equal(given[n].queue % PAGE_BYTES, 0);
	}
	assert_true(given[1].queue >= given[0].queue + VTD_QUEUE_BYTES);
	assert_true(iommu_covers(0) && iommu_covers(1));
	forgotten = 0;
	assert_int_equal(iommu_forget_interrupts(), E_OK);
	assert_int_equal(forgotten, 3);
	fails = 2;
	assert_int_equal(iommu_forget_interrupts(), E_TIMEOUT);
	dmar.remaps_interrupts = false; /* firmware says that the platform cannot */
	assert_false(iommu_remaps_interrupts(&wide));
	setup(NULL), two_units();
	dmar.remaps_interrupts = remaps[0] = knows_wide[0] = true;
	info.pci_count = 1; /* no card is behind the second */
	iommu_prepare();
	assert_true(iommu_remaps_interrupts(&wide) && wide);
}

/* The unit of the I/O APIC is used by a card, or not. */
static void ioapic(void **s)
{
	(void)s;
	two_units();
	info.pci[0].bdf = FAR;
	info.pci_count = 1;
	dmar.ioapics = 2;
	dmar.ioapic[0] = (struct dmar_ioapic){4, 0, {.bus = 0xf0, .hops = 1, .devfn = {0xf8}}};
	dmar.ioapic[1] = (struct dmar_ioapic){5, 1, {.bus = 0xf0, .hops = 1, .devfn = {0xf9}}};
	iommu_prepare();
	assert_int_equal(iommu_ioapic_source(4), -1);
	assert_int_equal(iommu_ioapic_source(5), 0xf0f9);
	assert_int_equal(iommu_ioapic_source(6), -1);
}

unsigned numa_node_of_domain(uint32_t domain) { return domain == 9 ? 3 : NUMA_NONE; }

/* A card's node is its unit's, even if the units are not used. */
static void nodes(void **s)
{
	(void)s;
	two_units();
	dmar.unit[0].domain = DMAR_NO_DOMAIN;
	dmar.unit[1].domain = 9;
	iommu_tell_nodes();
	assert_int_equal(info.pci[0].node, PCI_NODE_NONE);
	assert_int_equal(info.pci[1].node, 3);
	dmar.unit[1].domain = 8; /* not in SRAT */
	iommu_tell_nodes();
	assert_int_equal(info.pci[1].node, PCI_NODE_NONE);
	dmar = (struct dmar){.units = 0};
	iommu_tell_nodes();
	assert_int_equal(info.pci[1].node, PCI_NODE_NONE);
}

/* A card of another segment is no unit's, even if it has the bus, device and function of one that is. */
static void another_segment(void **s)
{
	(void)s;
	two_units();
	dmar.unit[1].domain = 9;
	info.pci_count = 3;
	info.pci[2] = (struct pci_dev){.segment = 1, .bdf = FAR};
	iommu_tell_nodes();
	assert_int_equal(info.pci[1].node, 3);
	assert_int_equal(info.pci[2].node, PCI_NODE_NONE);
	iommu_prepare();
	iommu_start(NULL);
	assert_int_equal(info.iommu.cards, 2);
	assert_non_null(strstr(said, "iommu: no unit covers 0001:03:00.0\n"));
	assert_int_equal(context_of(FAR)[1] >> 8, 2); /* the map of info.pci[1] */
	assert_true(iommu_covers(0) && iommu_covers(1) && !iommu_covers(2));
}

/* Accesses that the unit has refused are counted and printed with function, address and reason. */
static void refused_accesses(void **s)
{
	(void)s;
	begin();
	said[0] = 0;
	refusals = 2;
	refusal[0] = (struct iommu_refusal){7, FAR, 0x26, false, true};
	refusal[1] = (struct iommu_refusal){0x12345000, CARD, 5, false, false};
	assert_int_equal(iommu_look(), 2);
	assert_string_equal(said, "iommu: refused: 00:02.0 wrote 12345000: not memory for this device (reason 5; 1 so far)\n"
	                          "iommu: refused: 03:00.0 sent interrupt 7: it is another device's (reason 38; 2 so far)\n");
	assert_int_equal(iommu_look(), 2);
}

/* A malformed table names itself; nothing is used. */
static void malformed(void **s)
{
	(void)s;
	dmar.units = 0;
	table_error = E_INVAL;
	iommu_prepare();
	assert_false(iommu_start(NULL));
	assert_string_equal(said, "iommu: not used: the DMAR table is malformed, or has more than there is room for\n");
}

static void not_wanted(void **s)
{
	(void)s;
	strcpy(info.cmdline, "iommu=off");
	iommu_prepare();
	iommu_start(NULL);
	assert_false(on[0]);
	assert_int_equal(info.iommu.cards, 0);
	setup(NULL);
	strcpy(info.cmdline, "iommu=offer");
	begin();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_card_is_remapped_whatever_firmware_says, setup),
		cmocka_unit_test_setup(firmware_s_own_are_not_remapped, setup),
		cmocka_unit_test_setup(unit_cannot_let_pass, setup),
		cmocka_unit_test_setup(gone, setup),
		cmocka_unit_test_setup(reserved_for_one, setup),
		cmocka_unit_test_setup(not_to_be_reserved, setup),
		cmocka_unit_test_setup(lent_to_a_disk, setup),
		cmocka_unit_test_setup(two_disks, setup),
		cmocka_unit_test_setup(few_domains, setup),
		cmocka_unit_test_setup(what_a_card_reaches, setup),
		cmocka_unit_test_setup(unit_without_a_card, setup),
		cmocka_unit_test_setup(unit_does_not_start, setup),
		cmocka_unit_test_setup(memory_beyond_the_unit, setup),
		cmocka_unit_test_setup(three_levels, setup),
		cmocka_unit_test_setup(interrupts, setup),
		cmocka_unit_test_setup(ioapic, setup),
		cmocka_unit_test_setup(nodes, setup),
		cmocka_unit_test_setup(another_segment, setup),
		cmocka_unit_test_setup(refused_accesses, setup),
		cmocka_unit_test_setup(malformed, setup),
		cmocka_unit_test_setup(not_wanted, setup),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
