/* See hardware.h; and the page /api/v1/hardware.json. Class codes: PCI Code and ID Assignment 1.11, 1. */
#include "control/management/hardware.h"
#include "control/management/page.h"

#include "lib/mem.h"

typedef unsigned long long ull;

const char *hardware_firmware_word(const struct hardware *hw)
{
	return hw->firmware == HARDWARE_FIRMWARE_UEFI   ? "UEFI"
	       : hw->firmware == HARDWARE_FIRMWARE_BIOS ? "BIOS"
	                                                : "unknown";
}

const char *hardware_feature_word(unsigned feature)
{
	static const char *const words[] = {
#define X(name, word) word,
		HARDWARE_FEATURES(X)
#undef X
	};
	return words[feature];
}

const char *hardware_class_word(uint32_t class)
{
	static const struct {
		uint16_t class; /* base class and subclass; subclass 0x80: any other of the base class */
		const char *word;
	} words[] = {
		{0x0100, "SCSI controller"}, {0x0101, "IDE controller"}, {0x0104, "RAID controller"},
		{0x0106, "SATA controller"}, {0x0107, "SAS controller"}, {0x0108, "NVMe controller"},
		{0x0180, "storage controller"},
		{0x0200, "Ethernet controller"}, {0x0207, "InfiniBand controller"}, {0x0280, "network controller"},
		{0x0300, "VGA controller"}, {0x0380, "display controller"},
		{0x0480, "multimedia device"}, {0x0580, "memory controller"},
		{0x0600, "host bridge"}, {0x0601, "ISA bridge"}, {0x0604, "PCI bridge"}, {0x0680, "bridge"},
		{0x0700, "serial controller"}, {0x0780, "communication controller"},
		{0x0806, "IOMMU"}, {0x0880, "system peripheral"}, {0x0980, "input device"},
		{0x0c03, "USB controller"}, {0x0c05, "SMBus controller"}, {0x0c07, "IPMI interface"},
		{0x0c80, "serial bus controller"},
		{0x1080, "encryption controller"}, {0x1180, "signal processing controller"},
		{0x1280, "processing accelerator"},
	};
	const uint32_t of = class >> 8;
	for (unsigned i = 0; i < ARRAY_LEN(words); i++)
		if (words[i].class == of || ((words[i].class & 0xff) == 0x80 && words[i].class >> 8 == of >> 8))
			return words[i].word;
	return "device";
}

const char *hardware_bar_word(unsigned state)
{
	static const char *const words[] = {
		[HARDWARE_BAR_NONE] = "none",
		[HARDWARE_BAR_READ] = "not used",
		[HARDWARE_BAR_MAPPED] = "in use",
		[HARDWARE_BAR_ASSIGNED] = "in use, assigned by Hayate",
		[HARDWARE_BAR_UNASSIGNED] = "left out: unassigned, and no room",
		[HARDWARE_BAR_ODD] = "left out: its size cannot be",
		[HARDWARE_BAR_BEYOND] = "left out: beyond what the CPU addresses",
		[HARDWARE_BAR_TAKEN] = "left out: something else is there",
	};
	return state < ARRAY_LEN(words) ? words[state] : "?";
}

const char *hardware_window_word(unsigned kind)
{
	static const char *const words[] = {
#define X(name, word) word,
		HARDWARE_WINDOW_KINDS(X)
#undef X
	};
	return words[kind];
}

unsigned hardware_link_tenths(unsigned speed)
{
	static const uint16_t tenths[] = {0, 25, 50, 80, 160, 320, 640};
	return speed < ARRAY_LEN(tenths) ? tenths[speed] : 0;
}

struct hardware_cpu hardware_cpu_of(uint32_t s)
{
	struct hardware_cpu c = {.family = s >> 8 & 15, .model = s >> 4 & 15, .stepping = s & 15};
	if (c.family == 6 || c.family == 15)
		c.model |= s >> 12 & 0xf0;
	if (c.family == 15)
		c.family += s >> 20 & 255;
	return c;
}

/* --- the page --- */

static void text(struct page_text *t, const char *name, const char *s)
{
	page_print(t, "\"%s\":", name);
	page_json(t, s);
	page_print(t, ",");
}

static bool part_machine(struct page_walk *w, struct page_text *t)
{
	const struct hardware *hw = &self.info->hardware;
	if (w->item)
		return false;
	page_print(t, "{");
	text(t, "boot", self.info->loader);
	text(t, "firmware", hardware_firmware_word(hw));
	text(t, "bios_vendor", hw->bios_vendor);
	text(t, "bios_version", hw->bios_version);
	text(t, "bios_date", hw->bios_date);
	text(t, "vendor", hw->vendor);
	text(t, "product", hw->product);
	text(t, "version", hw->version);
	text(t, "board_vendor", hw->board_vendor);
	text(t, "board", hw->board);
	return true;
}

static bool part_processors(struct page_walk *w, struct page_text *t)
{
	const struct hardware *hw = &self.info->hardware;
	const struct hardware_cpu c = hardware_cpu_of(hw->cpu_signature);
	if (w->item)
		return false;
	text(t, "cpu", self.info->cpu);
	page_print(t, "\"cpu_family\":%u,\"cpu_model\":%u,\"cpu_stepping\":%u,\"cpus\":%u,\"cores\":%u,"
	              "\"address_bits\":%u,\"features\":[",
	           c.family, c.model, c.stepping, hw->cpus, self.info->cores, hw->phys_bits);
	for (unsigned i = 0, n = 0; i < HARDWARE_FEATURE_COUNT; i++)
		if (hw->cpu_features >> i & 1)
			page_print(t, "%s\"%s\"", n++ ? "," : "", hardware_feature_word(i));
	page_print(t, "],\"interrupts\":\"%s\",\"iommus\":%u,\"iommus_used\":%u", hw->x2apic ? "x2APIC" : "xAPIC",
	           hw->iommus, self.info->iommu.units);
	return true;
}

static bool part_apic_ids(struct page_walk *w, struct page_text *t)
{
	page_print(t, "%s", w->item ? "" : ",\"apic_ids\":[");
	if (w->item >= self.info->cores) {
		page_print(t, "]");
		return false;
	}
	page_print(t, "%s%u", page_comma(w), self.info->hardware.apic_id[w->item]);
	return true;
}

static bool part_consoles(struct page_walk *w, struct page_text *t)
{
	const struct hardware *hw = &self.info->hardware;
	if (w->item)
		return false;
	page_print(t, ",\"serial\":");
	if (hw->serials)
		page_print(t, "{\"address\":\"%llx\",\"memory\":%s,\"baud\":%u}", (ull)hw->serial.addr,
		           hw->serial.mmio ? "true" : "false", hw->serial.baud);
	else
		page_print(t, "null");
	page_print(t, ",\"framebuffer\":");
	if (hw->screen)
		page_print(t, "{\"address\":\"%llx\",\"width\":%u,\"height\":%u,\"bits\":%u}", (ull)hw->screen,
		           hw->screen_width, hw->screen_height, hw->screen_bits);
	else
		page_print(t, "null");
	return true;
}

static bool part_memory(struct page_walk *w, struct page_text *t)
{
	const struct hardware *hw = &self.info->hardware;
	page_print(t, "%s", w->item ? "" : ",\n\"memory\":[");
	if (w->item >= hw->ranges) {
		page_print(t, "]");
		return false;
	}
	const struct hardware_range *r = &hw->range[w->item];
	page_print(t, "%s{\"start\":\"%llx\",\"bytes\":%llu}", page_comma(w), (ull)r->start, (ull)(r->end - r->start));
	return true;
}

static bool part_tables(struct page_walk *w, struct page_text *t)
{
	const struct hardware *hw = &self.info->hardware;
	page_print(t, "%s", w->item ? "" : ",\n\"acpi\":[");
	if (w->item >= hw->tables) {
		page_print(t, "],\"acpi_left_out\":%u", hw->tables_left_out);
		return false;
	}
	const struct hardware_table *a = &hw->table[w->item];
	page_print(t, "%s\n{", page_comma(w));
	text(t, "signature", a->signature);
	text(t, "oem", a->oem);
	text(t, "oem_table", a->oem_table);
	page_print(t, "\"revision\":%u,\"address\":\"%llx\",\"bytes\":%u,\"damaged\":%s}", a->revision, (ull)a->addr,
	           a->bytes, a->damaged ? "true" : "false");
	return true;
}

static bool part_ecams(struct page_walk *w, struct page_text *t)
{
	const struct hardware *hw = &self.info->hardware;
	page_print(t, "%s", w->item ? "" : ",\n\"ecam\":[");
	if (w->item >= hw->ecams) {
		page_print(t, "]");
		return false;
	}
	const struct hardware_ecam *e = &hw->ecam[w->item];
	page_print(t, "%s{\"segment\":%u,\"first_bus\":%u,\"last_bus\":%u,\"base\":\"%llx\"}", page_comma(w),
	           e->segment, e->first_bus, e->last_bus, (ull)e->base);
	return true;
}

static void function_bars(struct page_text *t, const struct hardware_function *f)
{
	bool any = false;
	page_print(t, ",\"bars\":[");
	for (unsigned n = 0; n < PCI_BARS; n++) {
		const struct hardware_bar *b = &f->bar[n];
		if (b->state == HARDWARE_BAR_NONE)
			continue;
		page_print(t, "%s{\"bar\":%u,\"address\":\"%llx\",\"bytes\":%llu,\"kind\":\"%s\",\"state\":\"%s\"}",
		           any ? "," : "", n, (ull)b->addr, (ull)b->bytes,
		           b->io ? "io" : b->wide ? "memory64" : "memory", hardware_bar_word(b->state));
		any = true;
	}
	page_print(t, "]");
}

static void function_windows(struct page_text *t, const struct hardware_function *f)
{
	bool any = false;
	page_print(t, ",\"windows_opened\":[");
	for (unsigned n = 0; n < HARDWARE_WINDOWS; n++) {
		const struct hardware_range *w = &f->window[n];
		if (w->start == w->end)
			continue;
		page_print(t, "%s{\"kind\":\"%s\",\"address\":\"%llx\",\"bytes\":%llu}", any ? "," : "",
		           hardware_window_word(n), (ull)w->start, (ull)(w->end - w->start));
		any = true;
	}
	page_print(t, "]");
}

static void function_use(struct page_text *t, const struct hardware_function *f)
{
	if (f->listed == HARDWARE_NOT_LISTED) {
		page_print(t, ",\"port\":null,\"driver\":null,\"why\":null");
		return;
	}
	const struct core_card c = core_card(f->listed);
	if (c.port != UINT32_MAX)
		page_print(t, ",\"port\":\"eth%u\"", c.port);
	else
		page_print(t, ",\"port\":null");
	if (c.driver)
		page_print(t, ",\"driver\":\"%s\",\"why\":", c.driver);
	else
		page_print(t, ",\"driver\":null,\"why\":");
	if (c.why || c.name)
		page_json(t, c.why ? c.why : c.name);
	else
		page_print(t, "null");
}

static bool part_functions(struct page_walk *w, struct page_text *t)
{
	const struct hardware *hw = &self.info->hardware;
	page_print(t, "%s", w->item ? "" : ",\n\"pci\":[");
	if (w->item >= hw->functions) {
		page_print(t, "],\"pci_left_out\":%u}\n", hw->functions_left_out);
		return false;
	}
	const struct hardware_function *f = &hw->function[w->item];
	page_print(t, "%s\n{\"address\":\"%04x:%02x:%02x.%x\",\"vendor\":\"%04x\",\"device\":\"%04x\","
	              "\"subvendor\":\"%04x\",\"subdevice\":\"%04x\","
	              "\"class\":\"%06x\",\"kind\":\"%s\",\"revision\":%u,\"msix_vectors\":%u,\"virtual_functions\":%u",
	           page_comma(w), f->segment, f->bdf >> 8, f->bdf >> 3 & 31, f->bdf & 7, f->vendor, f->device,
	           f->subvendor, f->subdevice, f->class, hardware_class_word(f->class), f->revision, f->msix_vectors,
	           f->vfs);
	if (f->header == 1)
		page_print(t, ",\"first_bus\":%u,\"last_bus\":%u", f->first_bus, f->last_bus);
	if (f->link_width_max)
		page_print(t, ",\"link_tenths_of_gt\":%u,\"link_width\":%u,\"link_tenths_of_gt_max\":%u,"
		              "\"link_width_max\":%u",
		           hardware_link_tenths(f->link_speed), f->link_width, hardware_link_tenths(f->link_speed_max),
		           f->link_width_max);
	if (f->reports_errors)
		page_print(t, ",\"errors_corrected\":%u,\"errors_uncorrectable\":%u", f->errors[0], f->errors[1]);
	function_use(t, f);
	if (f->header == 1)
		function_windows(t, f);
	function_bars(t, f);
	page_print(t, "}");
	return true;
}

const page_part page_hardware[] = {part_machine, part_processors, part_apic_ids, part_consoles, part_memory,
                                   part_tables, part_ecams, part_functions, NULL};
