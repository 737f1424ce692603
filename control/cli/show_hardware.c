/* `show hardware`: what the kernel found in the machine, on one page that a bug report can carry. */
#include "control/cli/show.h"
#include "control/console/shell.h"
#include "control/management/hardware.h"

#include "lib/mem.h"

typedef unsigned long long ull;

#define APIC_IDS_A_LINE 16

static const char *or_unknown(const char *text)
{
	return text[0] ? text : "?";
}

static void show_machine(struct shell *sh, const struct hardware *hw, unsigned n)
{
	(void)n;
	const struct boot_info *b = self.info;
	shell_print(sh, "firmware %s, %s, version %s, %s\n", hardware_firmware_word(hw), or_unknown(hw->bios_vendor),
	            or_unknown(hw->bios_version), or_unknown(hw->bios_date));
	shell_print(sh, "machine %s, %s, version %s\n", or_unknown(hw->vendor), or_unknown(hw->product),
	            or_unknown(hw->version));
	shell_print(sh, "board %s, %s\n", or_unknown(hw->board_vendor), or_unknown(hw->board));
	shell_print(sh, "booted by %s, %s\n", b->loader, b->hypervisor ? "as a guest" : "on bare metal");
	shell_print(sh, "build %s\n", b->build_id);
}

static void show_processors(struct shell *sh, const struct hardware *hw, unsigned n)
{
	(void)n;
	const struct boot_info *b = self.info;
	const struct hardware_cpu c = hardware_cpu_of(hw->cpu_signature);
	shell_print(sh, "cpu %s, family %u model %u stepping %u, TSC %llu kHz, addresses of %u bits\n", b->cpu,
	            c.family, c.model, c.stepping, (ull)(b->tsc_hz / 1000), hw->phys_bits);
	shell_print(sh, "features");
	for (unsigned i = 0; i < HARDWARE_FEATURE_COUNT; i++)
		if (hw->cpu_features >> i & 1)
			shell_print(sh, " %s", hardware_feature_word(i));
	shell_print(sh, "\ncores %u in use, %u listed by firmware\n", b->cores, hw->cpus);
}

static void show_apic_ids(struct shell *sh, const struct hardware *hw, unsigned line)
{
	const unsigned first = line * APIC_IDS_A_LINE;
	shell_print(sh, "apic ids of cores from %u:", first);
	for (unsigned i = first; i < first + APIC_IDS_A_LINE && i < self.info->cores; i++)
		shell_print(sh, " %u", hw->apic_id[i]);
	shell_print(sh, "\n");
}

const char *show_iommu_name(void)
{
	return self.info->iommu.kind == BOOT_IOMMU_AMDVI ? "AMD-Vi" : "VT-d";
}

static void show_interrupts(struct shell *sh, const struct hardware *hw, unsigned n)
{
	const struct boot_iommu *i = &self.info->iommu;
	shell_print(sh, "interrupts %s\n", hw->x2apic ? "x2APIC" : "xAPIC");
	for (n = 0; n < hw->ioapics; n++)
		shell_print(sh, "ioapic at %llx, from interrupt %u\n", (ull)hw->ioapic[n].addr,
		            hw->ioapic[n].first_gsi);
	for (n = 0; n < hw->iommus; n++)
		shell_print(sh, "iommu %s at %llx\n", show_iommu_name(), (ull)hw->iommu_regs[n]);
	if (i->units)
		shell_print(sh, "iommu %u units in use, cards behind them %u of %u\n", i->units, i->cards,
		            self.info->pci_count);
	else
		shell_print(sh, "iommu none in use\n");
}

static void show_consoles(struct shell *sh, const struct hardware *hw, unsigned n)
{
	(void)n;
	if (hw->serials)
		shell_print(sh, "console serial %s %llx, ", hw->serial.mmio ? "at memory" : "port",
		            (ull)hw->serial.addr);
	if (hw->serials && hw->serial.baud)
		shell_print(sh, "%u baud\n", hw->serial.baud);
	else if (hw->serials)
		shell_print(sh, "the speed that firmware left\n");
	if (hw->screen)
		shell_print(sh, "console framebuffer at %llx, %u x %u, %u bits a pixel\n", (ull)hw->screen,
		            hw->screen_width, hw->screen_height, hw->screen_bits);
}

static void show_range(struct shell *sh, const struct hardware *hw, unsigned n)
{
	const struct hardware_range *r = &hw->range[n];
	shell_print(sh, "memory %llx to %llx, %llu KiB\n", (ull)r->start, (ull)r->end,
	            (ull)((r->end - r->start) >> 10));
}

static void show_table(struct shell *sh, const struct hardware *hw, unsigned n)
{
	const struct hardware_table *t = &hw->table[n];
	shell_print(sh, "acpi %-4s at %llx, %u bytes, revision %u, %s %s%s\n", t->signature, (ull)t->addr, t->bytes,
	            t->revision, t->oem, t->oem_table, t->damaged ? ", damaged" : "");
}

static void show_ecam(struct shell *sh, const struct hardware *hw, unsigned n)
{
	const struct hardware_ecam *e = &hw->ecam[n];
	shell_print(sh, "ecam segment %04x buses %02x to %02x at %llx\n", e->segment, e->first_bus, e->last_bus,
	            (ull)e->base);
}

static void show_use(struct shell *sh, const struct hardware_function *f)
{
	const struct core_card c = f->listed == HARDWARE_NOT_LISTED ? (struct core_card){.port = UINT32_MAX}
	                                                            : core_card(f->listed);
	if (c.port != UINT32_MAX)
		shell_print(sh, ", eth%u by %s", c.port, c.driver);
	else if (c.driver)
		shell_print(sh, ", %s: %s", c.driver, c.why);
	else if (f->class >> 16 == 2)
		shell_print(sh, ", no driver%s%s", c.name ? ": " : "", c.name ? c.name : "");
	shell_print(sh, "\n");
}

static void show_bar(struct shell *sh, const struct hardware_bar *b, unsigned n)
{
	shell_print(sh, "  bar %u %s %llx", n, b->io ? "ports" : b->wide ? "memory64" : "memory", (ull)b->addr);
	if (b->bytes)
		shell_print(sh, ", %llu bytes", (ull)b->bytes);
	shell_print(sh, ", %s\n", hardware_bar_word(b->state));
}

static void show_window(struct shell *sh, const struct hardware_range *w, unsigned kind)
{
	shell_print(sh, "  window %s %llx, %llu bytes, opened by Hayate\n", hardware_window_word(kind), (ull)w->start,
	            (ull)(w->end - w->start));
}

static void show_link(struct shell *sh, const struct hardware_function *f)
{
	const unsigned now = hardware_link_tenths(f->link_speed), most = hardware_link_tenths(f->link_speed_max);
	shell_print(sh, "  link %u.%u GT/s x%u of %u.%u GT/s x%u\n", now / 10, now % 10, f->link_width, most / 10,
	            most % 10, f->link_width_max);
}

static void show_function(struct shell *sh, const struct hardware *hw, unsigned at)
{
	const struct hardware_function *f = &hw->function[at];
	shell_print(sh, "pci %04x:%02x:%02x.%x %04x:%04x rev %02x class %06x %s", f->segment, f->bdf >> 8,
	            f->bdf >> 3 & 31, f->bdf & 7, f->vendor, f->device, f->revision, f->class,
	            hardware_class_word(f->class));
	show_use(sh, f);
	if (f->subvendor || f->subdevice)
		shell_print(sh, "  subsystem %04x:%04x\n", f->subvendor, f->subdevice);
	if (f->header == 1)
		shell_print(sh, "  buses %02x to %02x\n", f->first_bus, f->last_bus);
	for (unsigned n = 0; n < HARDWARE_WINDOWS; n++)
		if (f->window[n].start < f->window[n].end)
			show_window(sh, &f->window[n], n);
	for (unsigned n = 0; n < PCI_BARS; n++)
		if (f->bar[n].state != HARDWARE_BAR_NONE)
			show_bar(sh, &f->bar[n], n);
	if (f->msix_vectors)
		shell_print(sh, "  msix_vectors %u\n", f->msix_vectors);
	if (f->vfs)
		shell_print(sh, "  virtual_functions %u\n", f->vfs);
	if (f->link_width_max)
		show_link(sh, f);
	if (f->reports_errors)
		shell_print(sh, "  errors corrected %u (bits %x), uncorrectable %u (bits %x)\n", f->errors[0],
		            f->error_bits[0], f->errors[1], f->error_bits[1]);
}

static void show_rest(struct shell *sh, const struct hardware *hw)
{
	if (hw->tables_left_out)
		shell_print(sh, "acpi tables left out: %u\n", hw->tables_left_out);
	if (hw->functions_left_out)
		shell_print(sh, "pci functions left out: %u\n", hw->functions_left_out);
}

struct hardware_stream {
	uint64_t piece;
};
_Static_assert(sizeof(struct hardware_stream) <= SHELL_STREAM_BYTES, "shell_stream keeps it");

/* Prints one piece a call. */
static bool more_hardware(struct shell *sh, void *own)
{
	const struct hardware *hw = &self.info->hardware;
	const struct {
		uint32_t count;
		void (*show)(struct shell *sh, const struct hardware *hw, unsigned n);
	} lists[] = {{1, show_machine}, {1, show_processors},
	             {(self.info->cores + APIC_IDS_A_LINE - 1) / APIC_IDS_A_LINE, show_apic_ids},
	             {1, show_interrupts}, {1, show_consoles}, {hw->ranges, show_range}, {hw->tables, show_table},
	             {hw->ecams, show_ecam}, {hw->functions, show_function}};
	struct hardware_stream *s = own;
	uint64_t n = s->piece++;
	for (unsigned i = 0; i < ARRAY_LEN(lists); n -= lists[i++].count)
		if (n < lists[i].count) {
			lists[i].show(sh, hw, (unsigned)n);
			return true;
		}
	show_rest(sh, hw);
	return false;
}

void show_hardware(struct shell *sh)
{
	shell_stream(sh, more_hardware);
}
