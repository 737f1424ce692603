/*
 * Which addresses a host bridge passes on to its buses is known to AML only (_CRS), which the kernel does not
 * run. The kernel derives them from what firmware has done, and leaves a card off rather than guess:
 *
 *     root buses   room of a root bus, if functions other than the chipset's own are on it
 *     one          1. between the lowest and the highest address that firmware gave to devices of the bus
 *                  2. below 4 GiB: above all memory there, without the lowest sixteenth, where graphics and
 *                     management memory may hide, and without the last 64 MiB, which are the chipset's
 *                  3. above 4 GiB: from twice the end of memory, at least 8 GiB, so that hot-plugged memory has
 *                     its place, to the end of what the CPU addresses
 *     several      1. only, and only if no other root bus has a device in between
 *
 * Everything that the loader's map lists counts as taken, whatever its type. So do configuration space (ECAM), the
 * interrupt controllers, the IOMMU units, the console, and all BARs and bridge windows.
 */
#include "kernel/pci_room.h"

#define HOLE_END 0xfc000000ull
#define HIGH_START_MIN (8ull << 30)
#define DEVICE_PAGE 4096
#define CLASS_SIGNAL 0x11 /* performance counters */
#define BOUND_MAX 0x10000000ull

/* The end of a BAR. The address is a multiple of a size that was not read. */
static uint64_t bar_end(const struct hardware_bar *b)
{
	const uint64_t bound = b->addr & -b->addr;
	return b->addr + (b->bytes ? b->bytes : bound < BOUND_MAX ? bound : BOUND_MAX);
}

static bool bar_counts(const struct hardware_bar *b)
{
	return b->addr && !b->io && bar_end(b) > b->addr;
}

static unsigned bus_of(pci_address_t at) { return at >> 8; }

static unsigned bus_of_function(const struct hardware_function *f)
{
	return (unsigned)f->segment << 8 | f->bdf >> 8;
}

/* --- what is taken --- */

/* A range that is looked for, and the end of one that overlaps it. */
struct probe {
	uint64_t start, end, until; /* until is 0: nothing has been met */
};

static void meet(struct probe *p, uint64_t start, uint64_t end)
{
	if (p->start < end && start < p->end && end > p->until)
		p->until = end;
}

static void meet_device(struct probe *p, uint64_t at)
{
	if (at)
		meet(p, at, at + DEVICE_PAGE);
}

static void meet_machine(struct probe *p, const struct pci_machine *m)
{
	const struct boot *boot = m->boot;
	const struct acpi *acpi = m->acpi;
	for (unsigned i = 0; i < boot->ram_count; i++)
		meet(p, boot->ram[i].start, boot->ram[i].end);
	for (unsigned i = 0; i < boot->reserved_count; i++)
		meet(p, boot->reserved[i].start, boot->reserved[i].end);
	if (boot->fb.addr)
		meet(p, boot->fb.addr, boot->fb.addr + (uint64_t)boot->fb.pitch * boot->fb.height);
	for (unsigned i = 0; i < acpi->ecams; i++)
		meet(p, acpi->ecam[i].base + ((uint64_t)acpi->ecam[i].first_bus << 20),
		     acpi->ecam[i].base + ((acpi->ecam[i].last_bus + 1ull) << 20));
	meet_device(p, acpi->lapic);
	if (acpi->serial.mmio)
		meet_device(p, acpi->serial.addr & ~(DEVICE_PAGE - 1ull));
	for (unsigned i = 0; i < acpi->ioapics; i++)
		meet_device(p, acpi->ioapic[i].addr);
	for (unsigned i = 0; i < m->iommus->units; i++)
		meet(p, m->iommus->unit[i].regs, m->iommus->unit[i].regs + m->iommus->unit[i].bytes);
}

static void meet_pci(struct probe *p, const struct pci_machine *m, const bool *above)
{
	for (unsigned i = 0; i < m->hw->functions; i++)
		for (unsigned n = 0; n < PCI_BARS; n++) {
			const struct hardware_bar *b = &m->hw->function[i].bar[n];
			if (bar_counts(b))
				meet(p, b->addr, bar_end(b));
		}
	for (unsigned i = 0; i < m->bridges; i++)
		for (unsigned k = 0; k < HARDWARE_WINDOWS && !above[i]; k++)
			meet(p, m->bridge[i].window[k].start, m->bridge[i].window[k].end);
}

uint64_t pci_room_find(const struct pci_machine *m, const bool above[PCI_BRIDGES_MAX], const struct boot_range *in,
                       uint64_t bytes, uint64_t align)
{
	uint64_t start = in->start;
	while (start < in->end) {
		const uint64_t at = (start + align - 1) & ~(align - 1);
		if (at < start || at >= in->end || in->end - at < bytes)
			break;
		struct probe p = {at, at + bytes, 0};
		meet_machine(&p, m);
		meet_pci(&p, m, above);
		if (p.until == 0)
			return at;
		start = p.until; /* above `at` */
	}
	return 0;
}

/* --- what a root bus has --- */

static bool is_root(const struct pci_machine *m, unsigned bus)
{
	return !pci_bridge_to(m->bridge, m->bridges, bus);
}

/* The chipset's own functions, of which processors have whole buses, count only with a BAR. */
static bool wants_memory(const struct hardware_function *f)
{
	const uint32_t class = f->class >> 16;
	bool wants = f->header == 1 || (class != CLASS_BRIDGE && class != CLASS_SYSTEM && class != CLASS_SIGNAL);
	for (unsigned n = 0; n < PCI_BARS; n++)
		wants |= !f->bar[n].io && (f->bar[n].addr || f->bar[n].state == HARDWARE_BAR_UNASSIGNED);
	return wants;
}

static bool is_only_root(const struct pci_machine *m, unsigned bus)
{
	for (unsigned i = 0; i < m->hw->functions; i++) {
		const unsigned of = bus_of_function(&m->hw->function[i]);
		if (of != bus && is_root(m, of) && wants_memory(&m->hw->function[i]))
			return false;
	}
	return true;
}

/* The smallest range within `part` that holds what devices and bridges of root buses have there: of this bus,
 * or of all the others. */
static struct boot_range span(const struct pci_machine *m, unsigned bus, bool others, struct boot_range part)
{
	struct boot_range s = {part.end, part.start};
	for (unsigned i = 0; i < m->hw->functions; i++) {
		const struct hardware_function *f = &m->hw->function[i];
		const unsigned of = bus_of_function(f);
		for (unsigned n = 0; n < PCI_BARS && is_root(m, of) && (of != bus) == others; n++)
			if (bar_counts(&f->bar[n]) && f->bar[n].addr >= part.start && bar_end(&f->bar[n]) <= part.end) {
				s.start = f->bar[n].addr < s.start ? f->bar[n].addr : s.start;
				s.end = bar_end(&f->bar[n]) > s.end ? bar_end(&f->bar[n]) : s.end;
			}
	}
	for (unsigned i = 0; i < m->bridges; i++) {
		const unsigned of = bus_of(m->bridge[i].at);
		for (unsigned k = 0; k < HARDWARE_WINDOWS && is_root(m, of) && (of != bus) == others; k++) {
			const struct pci_window *w = &m->bridge[i].window[k];
			if (w->start < w->end && w->start >= part.start && w->end <= part.end) {
				s.start = w->start < s.start ? w->start : s.start;
				s.end = w->end > s.end ? w->end : s.end;
			}
		}
	}
	return s;
}

/* True if a device of another root bus is within the range. */
static bool is_shared(const struct pci_machine *m, unsigned bus, const struct boot_range *r)
{
	const struct boot_range s = span(m, bus, true, *r);
	return s.start < s.end;
}

static uint64_t memory_end(const struct boot *boot, uint64_t below)
{
	uint64_t end = 0;
	for (unsigned i = 0; i < boot->ram_count; i++)
		if (boot->ram[i].start < below && boot->ram[i].end > end)
			end = boot->ram[i].end;
	return end;
}

static unsigned add(struct boot_range *room, unsigned n, uint64_t start, uint64_t end)
{
	if (start < end)
		room[n++] = (struct boot_range){start, end};
	return n;
}

unsigned pci_room_of_root(const struct pci_machine *m, unsigned bus, struct boot_range room[PCI_ROOMS_MAX])
{
	const uint64_t low = memory_end(m->boot, PCI_LOW_END), all = memory_end(m->boot, UINT64_MAX);
	/* An address below the end of memory is none that firmware assigned. */
	const struct boot_range parts[2] = {{low, PCI_LOW_END}, {all > PCI_LOW_END ? all : PCI_LOW_END, m->phys_end}};
	const bool only = is_only_root(m, bus);
	unsigned n = 0;
	if (m->boot->reserved_lost)
		return 0;
	for (unsigned i = 0; i < 2; i++) {
		const struct boot_range s = span(m, bus, false, parts[i]);
		if (s.start < s.end && (only || !is_shared(m, bus, &s)))
			n = add(room, n, s.start, s.end);
	}
	if (!only)
		return n;
	if (low < HOLE_END)
		n = add(room, n, low + (HOLE_END - low) / 16, HOLE_END);
	const uint64_t high = all > HIGH_START_MIN / 2 ? 2 * all : HIGH_START_MIN;
	return add(room, n, high, m->phys_end);
}
