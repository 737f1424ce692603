/*
 * kernel/pci_assign.c and what it uses: addresses for BARs and bridge windows that firmware left out, on machines
 * with registers that can be written where hardware lets them be. check() is the oracle: what lies where.
 */
#include "tests/unit/rig/host.h"

#include "hal/mmio.h"
#include "lib/bytes.h"

#include "kernel/pci_config.c"
#include "kernel/pci.c"
#include "kernel/pci_report.c"

#define ECAM_PHYS 0xb0000000ull
#define ECAM_VIRT 0x10000000000ull /* used only to tell addresses apart */
#define CARDS_MAX 80
#define REGISTERS 64
#define MiB 0x100000ull
#define GiB 0x40000000ull
#define WIDE 4u
#define PREFETCHABLE 8u

static struct card {
	pci_address_t at;
	uint32_t now[REGISTERS], writable[REGISTERS];
	unsigned moves; /* BARs written with an address while memory was decoded */
	bool gone;      /* reads all ones after the first write to a BAR */
	bool forgets;   /* BARs keep no address, but have a size */
} cards[CARDS_MAX];
static unsigned count, reads, writes;
static struct boot memory;
static struct acpi tables;
static struct iommu_units units;
static struct boot_info found;
static char said[16384];

/* --- the machine --- */

static struct card *card_at(const volatile void *a)
{
	const uint64_t offset = (uint64_t)a - ECAM_VIRT;
	struct card *c = cards;
	assert_true(offset < 256 * MiB);
	while (c < cards + count && c->at != offset >> 12)
		c++;
	return c < cards + count ? c : NULL;
}

uint32_t host_mmio_read(const volatile void *a, unsigned bytes)
{
	const unsigned at = (uint64_t)a & 4095;
	const struct card *c = card_at(a);
	uint32_t v = UINT32_MAX;
	reads++;
	if (c && !c->gone)
		v = at / 4 < REGISTERS ? c->now[at / 4] >> at % 4 * 8 : 0;
	return v & UINT32_MAX >> (32 - 8 * bytes);
}

static bool is_bar(const struct card *c, unsigned n)
{
	return n >= CFG_BAR0 / 4 && n < CFG_BAR0 / 4 + ((c->now[3] >> 16 & HEADER_TYPE) ? 2 : PCI_BARS);
}

void host_mmio_write(volatile void *a, unsigned bytes, uint32_t v)
{
	const unsigned at = (uint64_t)a & 4095, n = at / 4;
	struct card *c = card_at(a);
	assert_non_null(c);
	assert_true(n < REGISTERS);
	if (c->gone || (bytes == 4 && v != UINT32_MAX && c->forgets && is_bar(c, n)))
		return;
	writes++;
	if (is_bar(c, n) && c->now[1] & CFG_COMMAND_MEMORY)
		c->moves++;
	const uint32_t mask = c->writable[n] & (UINT32_MAX >> (32 - 8 * bytes)) << at % 4 * 8;
	c->now[n] = (c->now[n] & ~mask) | (v << at % 4 * 8 & mask);
}

void *vm_map_device(uint64_t phys, uint64_t bytes)
{
	assert_true(phys == ECAM_PHYS && bytes == 256 * MiB);
	return (void *)ECAM_VIRT;
}

void vm_map(vm_space_t of, uint64_t virt, uint64_t phys, uint64_t bytes, unsigned flags)
{
	(void)of, (void)virt, (void)phys, (void)bytes, (void)flags;
	fail_msg("nothing is mapped here");
}

bool boot_has_ram(const struct boot *b, uint64_t start, uint64_t end)
{
	for (unsigned i = 0; i < b->ram_count; i++)
		if (start < b->ram[i].end && b->ram[i].start < end)
			return true;
	return false;
}

void console_print(const char *format, ...)
{
	const size_t n = strlen(said);
	__builtin_va_list args;
	__builtin_va_start(args, format);
	vsnprintf(said + n, sizeof said - n, format, args);
	__builtin_va_end(args);
}

/* --- what is in it --- */

/* A machine with 2 GiB of memory and one host bridge, which has no BAR. */
static int start(void **s)
{
	(void)s;
	memset(cards, 0, sizeof cards);
	memset(&found, 0, sizeof found);
	memset(priv, 0, sizeof priv);
	memset(walked, 0, sizeof walked);
	memory = (struct boot){.ram = {{0, 2 * GiB}}, .ram_count = 1};
	tables = (struct acpi){.lapic = 0xfee00000, .ecam = {{.base = ECAM_PHYS, .last_bus = 255}}, .ecams = 1};
	said[0] = '\0';
	count = reads = writes = 0;
	return 0;
}

static struct card *add_card(pci_address_t at, uint16_t class)
{
	struct card *c = &cards[count++];
	assert_true(count <= CARDS_MAX);
	c->at = at;
	c->now[0] = 0x10c98086;
	c->now[2] = (uint32_t)class << 16;
	c->writable[1] = CFG_COMMAND_MEMORY | CFG_COMMAND_MASTER;
	return c;
}

static struct card *add_nic(pci_address_t at) { return add_card(at, CLASS_NETWORK << 8); }

static void set_bar(struct card *c, unsigned n, uint64_t bytes, unsigned flags, uint64_t at)
{
	c->now[4 + n] = (uint32_t)at | flags;
	c->writable[4 + n] = (uint32_t)-bytes & ~15u;
	if (flags & WIDE) {
		c->now[5 + n] = (uint32_t)(at >> 32);
		c->writable[5 + n] = (uint32_t)(-bytes >> 32);
	}
}

/* As after a reset: no window. With `wide` the prefetchable one has upper halves; none: there is no such one. */
enum prefetch { NO_PREFETCH, NARROW, BROAD };
static struct card *add_bridge(pci_address_t at, uint8_t below, uint8_t last, enum prefetch prefetch)
{
	struct card *c = add_card(at, CLASS_BRIDGE_PCI);
	c->now[3] = 1u << 16;
	c->now[6] = (uint32_t)last << 16 | (uint32_t)below << 8;
	c->writable[8] = 0xfff0fff0;
	c->writable[9] = prefetch ? 0xfff0fff0 : 0;
	c->now[9] = prefetch == BROAD ? 0x00010001 : 0;
	c->writable[10] = c->writable[11] = prefetch == BROAD ? UINT32_MAX : 0;
	return c;
}

static void open_window(struct card *c, uint32_t from, uint32_t last)
{
	c->now[8] = from >> 16 | (last & 0xfff00000);
}

static void scan(void)
{
	pci_init(&tables, &units, &memory, &found);
}

/* --- the oracle --- */

static uint64_t bar_of(const struct card *c, unsigned n)
{
	return (c->now[4 + n] & ~15u) | (c->now[4 + n] & WIDE ? (uint64_t)c->now[5 + n] << 32 : 0);
}

static bool passes(const struct card *b, uint64_t from, uint64_t bytes, bool prefetchable)
{
	const uint64_t mem = (uint64_t)(b->now[8] & 0xfff0) << 16, mem_end = (b->now[8] & 0xfff00000) + MiB;
	const uint64_t pre = ((uint64_t)b->now[10] << 32) + ((uint64_t)(b->now[9] & 0xfff0) << 16);
	const uint64_t pre_end = ((uint64_t)b->now[11] << 32) + (b->now[9] & 0xfff00000) + MiB;
	return b->now[1] & CFG_COMMAND_MEMORY && b->now[1] & CFG_COMMAND_MASTER &&
	       ((from >= mem && from + bytes <= mem_end) || (prefetchable && from >= pre && from + bytes <= pre_end));
}

/* BAR n has an address, in the card and for core programs; all bridges above pass it on, and it is decoded. */
static void check(const struct card *c, unsigned n, uint64_t bytes)
{
	const uint64_t at = bar_of(c, n);
	assert_true(at && at % bytes == 0 && c->now[1] & CFG_COMMAND_MEMORY);
	assert_int_equal(c->moves, 0);
	assert_false(boot_has_ram(&memory, at, at + bytes));
	assert_true(at + bytes <= ECAM_PHYS || at >= ECAM_PHYS + 256 * MiB);
	for (const struct card *o = cards; o < cards + count; o++)
		for (unsigned k = 0; k < PCI_BARS && !(o->now[3] >> 16 & 1); k++) {
			if ((o == c && k == n) || !o->writable[4 + k] || (k && o->now[3 + k] & WIDE) || !bar_of(o, k))
				continue;
			const uint64_t size = 1 + (~o->writable[4 + k] & UINT32_MAX); /* of those below 4 GiB */
			assert_false(overlap(at, bytes, bar_of(o, k), size));
		}
	for (unsigned bus = c->at >> 8; bus;) {
		const struct card *b = cards;
		while (b < cards + count && !((b->now[3] >> 16 & 1) && (b->now[6] >> 8 & 255) == bus))
			b++;
		if (b == cards + count)
			break; /* behind another host bridge */
		assert_true(passes(b, at, bytes, c->now[4 + n] & PREFETCHABLE));
		bus = b->at >> 8;
	}
	unsigned d = 0;
	while (d < found.pci_count && found.pci[d].bdf != c->at)
		d++;
	assert_true(d < found.pci_count && found.pci[d].bar[n].bytes == bytes && priv[d].bar_phys[n] == at);
	const struct hardware_function *f = find_note(d);
	assert_true(f->bar[n].state == HARDWARE_BAR_ASSIGNED && f->bar[n].addr == at);
}

static void check_left_off(const struct card *c)
{
	unsigned d = 0;
	while (d < found.pci_count && found.pci[d].bdf != c->at)
		d++;
	assert_true(d < found.pci_count);
	for (unsigned n = 0; n < PCI_BARS; n++)
		assert_true(found.pci[d].bar[n].addr == 0 && found.pci[d].bar[n].bytes == 0);
	assert_false(c->now[1] & CFG_COMMAND_MEMORY);
}

/* --- tests --- */

/* A bridge without bus number is reported, once. */
static void bridge_without_number(void **s)
{
	(void)s;
	add_bridge(0x08, 0, 0, BROAD);
	add_bridge(0x10, 1, 1, BROAD);
	scan();
	assert_string_equal(said, "pci 00:01.0: firmware gave the bus behind this bridge no number: what is there is not seen\n");
}

/* Firmware's BARs stay, and what is between them is used. */
static void holes(void **s)
{
	(void)s;
	struct card *a = add_nic(0x08), *b = add_nic(0x10), *c = add_nic(0x18), *disk = add_card(0x20, 0x0106);
	set_bar(a, 0, 0x20000, 0, 0xe0000000);
	set_bar(disk, 5, 0x40000, 0, 0xe0040000); /* of a size that must be read */
	set_bar(b, 0, 0x20000, 0, 0);
	set_bar(b, 3, 0x100, 0, 0);
	set_bar(c, 0, 0x20000, 0, 0xe0100000);
	scan();
	check(b, 0, 0x20000);
	check(b, 3, 0x100);
	assert_int_equal(bar_of(a, 0), 0xe0000000);
	assert_int_equal(bar_of(c, 0), 0xe0100000);
	assert_int_equal(bar_of(disk, 5), 0xe0040000);
	assert_int_equal(bar_of(b, 0), 0xe0020000);
	assert_int_equal(bar_of(b, 3), 0xe0080000); /* no page has a part of another BAR */
	assert_non_null(strstr(said, "pci 00:02.0: BAR 0 of 131072 bytes assigned at e0020000\n"));
}

/* A BAR that lies in memory, or has a size that cannot be, says nothing of what is the bus's. */
static void nonsense(void **s)
{
	(void)s;
	memory.ram[0].end = GiB;
	memory.ram[1] = (struct boot_range){2 * GiB - 0x1000, 2 * GiB};
	memory.ram_count = 2;
	struct card *a = add_nic(0x08), *b = add_nic(0x10);
	set_bar(a, 0, 0x20000, 0, 0xe0000000);
	set_bar(a, 1, 0x20000, 0, GiB / 2);
	set_bar(a, 2, 0x20000, 0, GiB); /* between two pieces of memory */
	set_bar(b, 0, 0x20000, 0, 0);
	scan();
	check(b, 0, 0x20000);
	assert_int_equal(bar_of(b, 0), 2 * GiB + (0xfc000000 - 2 * GiB) / 16);
}

/* All of it, from the hole below 4 GiB. */
static void nothing_assigned(void **s)
{
	(void)s;
	struct card *nic[8];
	for (unsigned n = 0; n < 8; n++) {
		nic[n] = add_nic((n + 1) << 3);
		set_bar(nic[n], 0, 0x10000u << n, n & 1 ? WIDE | PREFETCHABLE : 0, 0);
		set_bar(nic[n], 4, 0x4000, WIDE, 0);
	}
	scan();
	for (unsigned n = 0; n < 8; n++) {
		check(nic[n], 0, 0x10000u << n);
		check(nic[n], 4, 0x4000);
		assert_true(bar_of(nic[n], 0) < 4 * GiB);
	}
}

/* Below 4 GiB there is room for one card; a BAR of 64 bits may go above. The other stays without. */
static void above_4_gib(void **s)
{
	(void)s;
	memory.ram[0].end = 0xb0000000;
	struct card *wide = add_nic(0x08), *narrow = add_nic(0x10), *late = add_nic(0x18);
	set_bar(narrow, 0, GiB / 2, 0, 0);
	set_bar(wide, 0, GiB, WIDE, 0);
	set_bar(late, 0, GiB, 0, 0);
	scan();
	check(wide, 0, GiB);
	assert_true(bar_of(wide, 0) >= 8 * GiB);
	check(narrow, 0, GiB / 2);
	check_left_off(late);
	assert_non_null(strstr(said, "pci 00:03.0: BAR 0 of 1073741824 bytes was left unassigned by firmware, and there is no "
	                             "room for it: the card is left off\n"));
}

/* A switch: a bridge to a bus with bridges to cards. Windows nest, and have what each kind may have. */
static void nested_bridges(void **s)
{
	(void)s;
	struct card *up = add_bridge(0x08, 1, 4, BROAD);
	add_bridge(0x100, 2, 4, BROAD);
	add_bridge(0x200, 3, 3, BROAD);
	add_bridge(0x208, 4, 4, NARROW);
	struct card *a = add_nic(0x300), *b = add_nic(0x301), *c = add_nic(0x400);
	a->now[3] |= HEADER_SEVERAL << 16;
	set_bar(a, 0, 0x800000, WIDE | PREFETCHABLE, 0);
	set_bar(a, 3, 0x4000, 0, 0);
	set_bar(b, 0, 0x800000, WIDE | PREFETCHABLE, 0);
	set_bar(c, 0, 0x2000000, WIDE | PREFETCHABLE, 0);
	set_bar(c, 2, 0x1000, 0, 0);
	scan();
	check(a, 0, 0x800000);
	check(a, 3, 0x4000);
	check(b, 0, 0x800000);
	check(c, 0, 0x2000000);
	check(c, 2, 0x1000);
	const struct hardware_function *f = &found.hardware.function[0];
	assert_true(f->bdf == 8 && f->window[HARDWARE_WINDOW_MEMORY].end - f->window[HARDWARE_WINDOW_MEMORY].start == 2 * MiB);
	assert_int_equal(f->window[HARDWARE_WINDOW_PREFETCHABLE].end - f->window[HARDWARE_WINDOW_PREFETCHABLE].start, 48 * MiB);
	assert_int_equal(up->now[8] & 0xfff0, f->window[HARDWARE_WINDOW_MEMORY].start >> 16);
}

/* A bridge whose only window is that for all kinds. */
static void bridge_without_prefetchable_window(void **s)
{
	(void)s;
	add_bridge(0x08, 1, 1, NO_PREFETCH);
	struct card *a = add_nic(0x100);
	set_bar(a, 0, 0x400000, WIDE | PREFETCHABLE, 0);
	scan();
	check(a, 0, 0x400000);
}

/* A prefetchable window with 64-bit BARs only may lie above 4 GiB; one in which a BAR has 32 bits may not. */
static void window_above_4_gib(void **s)
{
	(void)s;
	memory.ram[0].end = 0xb0000000;
	struct card *up = add_bridge(0x08, 1, 1, BROAD);
	struct card *down = add_bridge(0x10, 2, 2, BROAD);
	struct card *a = add_nic(0x100), *b = add_nic(0x200);
	set_bar(a, 0, GiB, WIDE | PREFETCHABLE, 0);
	set_bar(b, 0, GiB, PREFETCHABLE, 0);
	scan();
	check(a, 0, GiB);
	assert_true(bar_of(a, 0) >= 8 * GiB && up->now[10] && up->now[11]);
	check_left_off(b);
	assert_int_equal(down->now[1] & CFG_COMMAND_MEMORY, 0);
}

/* A window that firmware opened is used as it is, even if it is too small for all. */
static void open_windows(void **s)
{
	(void)s;
	struct card *up = add_bridge(0x08, 1, 1, NO_PREFETCH);
	struct card *a = add_nic(0x100), *b = add_nic(0x108), *c = add_nic(0x110);
	open_window(up, 0xe0000000, 0xe01fffff);
	set_bar(a, 0, 0x80000, 0, 0xe0080000);
	set_bar(b, 0, 0x100000, 0, 0);
	set_bar(c, 0, 0x100000, 0, 0);
	scan();
	check(b, 0, 0x100000);
	assert_int_equal(bar_of(b, 0), 0xe0100000);
	assert_int_equal(up->now[8], 0xe010e000);
	assert_int_equal(bar_of(a, 0), 0xe0080000);
	check_left_off(c);
}

/* Windows that firmware made for empty slots, and a card that does not fit: they are opened anew, elsewhere if
 * something is behind them. One that is large enough stays. */
static void empty_windows(void **s)
{
	(void)s;
	struct card *up = add_bridge(0x08, 1, 3, NO_PREFETCH);
	struct card *one = add_bridge(0x100, 2, 2, NO_PREFETCH), *two = add_bridge(0x108, 3, 3, NO_PREFETCH);
	struct card *other = add_bridge(0x10, 4, 4, NO_PREFETCH);
	struct card *a = add_nic(0x200), *b = add_nic(0x300), *c = add_nic(0x400);
	open_window(up, 0xe0000000, 0xe01fffff);
	open_window(one, 0xe0000000, 0xe01fffff);
	open_window(other, 0xe0200000, 0xe03fffff);
	set_bar(a, 0, 0x400000, 0, 0);
	set_bar(b, 0, 0x1000, 0, 0);
	set_bar(c, 0, 0x200000, 0, 0);
	scan();
	check(a, 0, 0x400000);
	check(b, 0, 0x1000);
	check(c, 0, 0x200000);
	assert_true(up->now[8] >> 16 != 0xe01f && one->now[8] && two->now[8]);
	assert_int_equal(other->now[8], 0xe030e020);
	const uint64_t at = bar_of(a, 0);
	assert_true(at + 0x400000 <= 0xe0200000 || at >= 0xe0400000);
}

/* Two root buses: which addresses are whose is known of what firmware put there only. */
static void host_bridges(void **s)
{
	(void)s;
	struct card *a = add_nic(0x08), *b = add_nic(0x10), *c = add_nic(0x18);
	struct card *d = add_nic(0x4000), *e = add_nic(0x5000);
	set_bar(a, 0, 0x20000, 0, 0xe0000000);
	set_bar(b, 0, 0x20000, 0, 0);
	set_bar(c, 0, 0x20000, 0, 0xe0100000);
	set_bar(d, 0, 0x20000, 0, 0xe1000000);
	set_bar(e, 0, 0x20000, 0, 0);
	scan();
	check(b, 0, 0x20000);
	assert_int_equal(bar_of(b, 0), 0xe0020000);
	check_left_off(e);
}

/* Their devices lie between each other's: nothing is known of the gaps. */
static void host_bridges_interleaved(void **s)
{
	(void)s;
	struct card *a = add_nic(0x08), *b = add_nic(0x10), *c = add_nic(0x18), *d = add_nic(0x4000);
	set_bar(a, 0, 0x20000, 0, 0xe0000000);
	set_bar(b, 0, 0x20000, 0, 0);
	set_bar(c, 0, 0x20000, 0, 0xe0100000);
	set_bar(d, 0, 0x20000, 0, 0xe0080000);
	scan();
	check_left_off(b);
}

/* What the loader's map reserves is no room; nor is anything if the map was too long to be kept. */
static void reserved(void **s)
{
	(void)s;
	struct card *a = add_nic(0x08);
	set_bar(a, 0, 0x20000, 0, 0);
	memory.reserved[0] = (struct boot_range){0x80000000, 0xdff12345};
	memory.reserved[1] = (struct boot_range){0xdff80000, 0xffffffff};
	memory.reserved_count = 2;
	scan();
	check(a, 0, 0x20000);
	assert_int_equal(bar_of(a, 0), 0xdff20000);
	start(NULL);
	a = add_nic(0x08);
	set_bar(a, 0, 0x20000, 0, 0);
	memory.reserved_lost = true;
	scan();
	check_left_off(a);
}

/* No room at all: memory up to the chipset's devices, 32-bit BARs. */
static void no_room(void **s)
{
	(void)s;
	memory.ram[0].end = 0xb0000000;
	memory.reserved[0] = (struct boot_range){0xb0000000, 0x100000000};
	memory.reserved_count = 1;
	struct card *a = add_nic(0x08);
	add_bridge(0x10, 1, 1, BROAD);
	struct card *b = add_nic(0x100);
	set_bar(a, 0, 0x20000, 0, 0);
	set_bar(b, 0, 0x20000, 0, 0);
	set_bar(b, 2, 0x20000, WIDE | PREFETCHABLE, 0); /* for which there is room above 4 GiB */
	scan();
	check_left_off(a);
	check_left_off(b);
	assert_non_null(strstr(said, "pci 01:00.0: BAR 0 of 131072 bytes was left unassigned"));
	assert_null(strstr(said, "pci 01:00.0: BAR 2 of 131072 bytes was left unassigned"));
}

/* A device that keeps no address, a bridge that keeps no window, and sizes that cannot be. */
static void liars(void **s)
{
	(void)s;
	struct card *a = add_nic(0x08), *b = add_nic(0x10), *ok = add_nic(0x18);
	set_bar(a, 0, 0x20000, 0, 0);
	set_bar(b, 0, 0x20000, 0, 0);
	set_bar(ok, 0, 0x20000, 0, 0);
	a->forgets = true;
	b->writable[4] = 0xff0f0000;
	struct card *up = add_bridge(0x20, 1, 1, NO_PREFETCH), *c = add_nic(0x100);
	up->writable[8] = 0x0ff00ff0;
	set_bar(c, 0, 0x20000, 0, 0);
	scan();
	check(ok, 0, 0x20000);
	assert_int_equal(found.pci[1].bar[0].addr, 0);
	check_left_off(c);
	assert_non_null(strstr(said, "pci 00:04.0: the bridge does not keep the addresses of its window\n"));
	assert_non_null(strstr(said, "pci 00:02.0: BAR 0 of "));
	assert_non_null(strstr(said, "has an impossible size, or an address that is no multiple of it, and is left out"));
	assert_non_null(strstr(said, "pci 00:01.0: BAR 0 does not keep its address\n"));
	check_left_off(a);
}

/* A card that reads all ones takes nothing, and stops nobody. */
static void gone(void **s)
{
	(void)s;
	struct card *a = add_nic(0x08), *b = add_nic(0x10);
	for (unsigned n = 0; n < PCI_BARS; n++)
		a->now[4 + n] = UINT32_MAX;
	set_bar(b, 0, 0x20000, 0, 0);
	scan();
	a->gone = true;
	check(b, 0, 0x20000);
	assert_int_equal(found.pci[0].bar[0].addr, 0);
	start(NULL);
	add_bridge(0x08, 1, 1, BROAD)->now[8] = UINT32_MAX;
	b = add_nic(0x100);
	cards[0].writable[8] = 0; /* its window register reads all ones, whatever is written */
	set_bar(b, 0, 0x20000, 0, 0);
	scan();
	assert_true(bar_of(b, 0) == 0 || bar_of(b, 0) >= 0xfff00000);
}

/* A machine whose firmware assigned everything costs no access more than the discovery itself: as many as if
 * kernel/pci_assign.c did not exist. */
static void nothing_to_do(void **s)
{
	(void)s;
	struct card *up = add_bridge(0x08, 1, 1, BROAD), *a = add_nic(0x100), *disk = add_card(0x10, 0x0106);
	open_window(up, 0xe0000000, 0xe00fffff);
	set_bar(a, 0, 0x20000, 0, 0xe0000000);
	set_bar(disk, 0, 0x1000, 0, 0xe1000000);
	scan();
	assert_int_equal(writes, 2 + 2 * PCI_BARS); /* decoding off and on; each BAR all ones, and back */
	assert_string_equal(said, "");
	assert_int_equal(found.pci[0].bar[0].bytes, 0x20000);
}

/* Random switches and cards: what is assigned obeys the oracle, and with this much room all is. */
static void random_trees(void **s)
{
	(void)s;
	for (unsigned round = 0; round < 300; round++) {
		start(NULL);
		struct card *nic[24];
		struct {
			unsigned n;
			uint64_t bytes;
		} bar[24][PCI_BARS];
		unsigned nics = 0, bars[24] = {0}, buses = random_below(7);
		for (unsigned bus = 1; bus <= buses; bus++)
			add_bridge(random_below(bus) << 8 | bus << 3, (uint8_t)bus, (uint8_t)buses, (enum prefetch)random_below(3));
		for (; nics < 1 + random_below(23); nics++) {
			nic[nics] = add_nic(random_below(buses + 1) << 8 | (nics + 8) << 3);
			for (unsigned n = 0; n + 1 < PCI_BARS;) {
				const unsigned flags = random_below(4) << 2;
				const uint64_t bytes = 16ull << random_below(17);
				set_bar(nic[nics], n, bytes, flags, 0);
				bar[nics][bars[nics]].n = n;
				bar[nics][bars[nics]++].bytes = bytes;
				n += flags & WIDE ? 2 : 1;
			}
		}
		scan();
		for (unsigned i = 0; i < nics; i++)
			for (unsigned k = 0; k < bars[i]; k++)
				check(nic[i], bar[i][k].n, bar[i][k].bytes);
	}
}

int main(void)
{
	seed_random("pci_assign");
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(bridge_without_number, start),
		cmocka_unit_test_setup(holes, start),
		cmocka_unit_test_setup(nonsense, start),
		cmocka_unit_test_setup(nothing_assigned, start),
		cmocka_unit_test_setup(above_4_gib, start),
		cmocka_unit_test_setup(nested_bridges, start),
		cmocka_unit_test_setup(bridge_without_prefetchable_window, start),
		cmocka_unit_test_setup(window_above_4_gib, start),
		cmocka_unit_test_setup(open_windows, start),
		cmocka_unit_test_setup(empty_windows, start),
		cmocka_unit_test_setup(host_bridges, start),
		cmocka_unit_test_setup(host_bridges_interleaved, start),
		cmocka_unit_test_setup(reserved, start),
		cmocka_unit_test_setup(no_room, start),
		cmocka_unit_test_setup(liars, start),
		cmocka_unit_test_setup(gone, start),
		cmocka_unit_test_setup(nothing_to_do, start),
		cmocka_unit_test_setup(random_trees, start),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
