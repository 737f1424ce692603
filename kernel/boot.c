/*
 * Reads what the loader left: Multiboot2 information (specification 2.0, 3.6) or the PVH
 * start-of-day structure (Xen: public/arch-x86/hvm/start_info.h). Everything is copied, so the
 * loader's memory may be reused, except the module, which stays where it is.
 *
 * Loader data below 4 GiB is read through the boot page tables' physical map.
 */
#include "kernel/boot.h"

#include "kernel/panic.h"
#include "kernel/vm.h"
#include "lib/mem.h"

#define PVH_MAGIC 0x336ec578u
#define MEMORY_USABLE 1

struct pvh_info {
	uint32_t magic, version, flags, modules;
	uint64_t module_list, cmdline, rsdp, memmap;
	uint32_t memmap_entries, reserved;
};
_Static_assert(sizeof(struct pvh_info) == 56, "hvm_start_info, version 1");

struct pvh_module {
	uint64_t addr, bytes, cmdline, reserved;
};
_Static_assert(sizeof(struct pvh_module) == 32, "hvm_modlist_entry");

struct pvh_memory {
	uint64_t addr, bytes;
	uint32_t type, reserved;
};
_Static_assert(sizeof(struct pvh_memory) == 24, "hvm_memmap_table_entry");

enum multiboot2_tag {
	MB2_END = 0,
	MB2_CMDLINE = 1,
	MB2_LOADER = 2,
	MB2_MODULE = 3,
	MB2_MEMORY = 6,
	MB2_FRAMEBUFFER = 8,
	MB2_ACPI_OLD = 14,
	MB2_ACPI_NEW = 15,
};

struct mb2_tag {
	uint32_t type, bytes;
};

struct mb2_module {
	struct mb2_tag tag;
	uint32_t start, end;
};

struct mb2_memory {
	struct mb2_tag tag;
	uint32_t entry_bytes, entry_version;
};

struct mb2_memory_entry {
	uint64_t addr, bytes;
	uint32_t type, reserved;
};
_Static_assert(sizeof(struct mb2_memory_entry) == 24, "Multiboot2, memory map");

struct mb2_framebuffer {
	struct mb2_tag tag;
	uint64_t addr;
	uint32_t pitch, width, height;
	uint8_t bits, type;
	uint16_t reserved;
	uint8_t red_shift, red_bits, green_shift, green_bits, blue_shift, blue_bits;
};
_Static_assert(offsetof(struct mb2_framebuffer, red_shift) == 32, "Multiboot2, framebuffer info");
#define MB2_FRAMEBUFFER_RGB 1

static void copy_text(char *dst, size_t size, const char *src)
{
	size_t n = strlen(src);
	n = n < size ? n : size - 1;
	memcpy(dst, src, n);
	dst[n] = '\0';
}

static void add_ram(struct boot *boot, uint64_t addr, uint64_t bytes)
{
	if (boot->ram_count < BOOT_RANGES_MAX && bytes && addr + bytes > addr)
		boot->ram[boot->ram_count++] = (struct boot_range){addr, addr + bytes};
}

static void parse_pvh(struct boot *boot, uint64_t info)
{
	const struct pvh_info *pvh = vm_phys(info);
	if (pvh->magic != PVH_MAGIC)
		panic("the loader's PVH structure has magic %x", pvh->magic);
	copy_text(boot->loader, sizeof boot->loader, "PVH direct boot");
	if (pvh->cmdline)
		copy_text(boot->cmdline, sizeof boot->cmdline, vm_phys(pvh->cmdline));
	if (pvh->modules) {
		const struct pvh_module *m = vm_phys(pvh->module_list);
		boot->module = (struct boot_range){m->addr, m->addr + m->bytes};
	}
	boot->rsdp = pvh->rsdp;
	const struct pvh_memory *map = vm_phys(pvh->memmap);
	for (uint32_t i = 0; i < pvh->memmap_entries; i++)
		if (map[i].type == MEMORY_USABLE)
			add_ram(boot, map[i].addr, map[i].bytes);
}

static void parse_mb2_memory(struct boot *boot, const struct mb2_memory *m)
{
	const uint8_t *end = (const uint8_t *)m + m->tag.bytes;
	const uint8_t *p = (const uint8_t *)(m + 1);
	for (; m->entry_bytes && p + m->entry_bytes <= end; p += m->entry_bytes) {
		const struct mb2_memory_entry *e = (const void *)p;
		if (e->type == MEMORY_USABLE)
			add_ram(boot, e->addr, e->bytes);
	}
}

static void parse_mb2_tag(struct boot *boot, const struct mb2_tag *tag)
{
	/* ACPI tags hold the RSDP itself, in memory that is taken before acpi_init looks at it. */
	static uint8_t rsdp_copy[64];
	const struct mb2_module *m = (const void *)tag;
	const struct mb2_framebuffer *fb = (const void *)tag;
	const char *text = (const char *)(tag + 1);
	size_t rsdp_bytes = tag->bytes - sizeof *tag;

	switch (tag->type) {
	case MB2_CMDLINE:
		copy_text(boot->cmdline, sizeof boot->cmdline, text);
		break;
	case MB2_LOADER:
		copy_text(boot->loader, sizeof boot->loader, text);
		break;
	case MB2_MODULE:
		if (boot->module.end == 0)
			boot->module = (struct boot_range){m->start, m->end};
		break;
	case MB2_MEMORY:
		parse_mb2_memory(boot, (const void *)tag);
		break;
	case MB2_FRAMEBUFFER:
		if (fb->type == MB2_FRAMEBUFFER_RGB && (fb->bits == 24 || fb->bits == 32))
			boot->fb = (struct boot_framebuffer){
				fb->addr,      fb->pitch,       fb->width,       fb->height,
				fb->bits,      fb->red_shift,   fb->green_shift, fb->blue_shift};
		break;
	case MB2_ACPI_OLD:
	case MB2_ACPI_NEW:
		if (rsdp_bytes <= sizeof rsdp_copy && (tag->type == MB2_ACPI_NEW || !boot->rsdp)) {
			memcpy(rsdp_copy, tag + 1, rsdp_bytes);
			boot->rsdp = (uint64_t)rsdp_copy - KERNEL_BASE;
		}
		break;
	default:
		break;
	}
}

static void parse_multiboot2(struct boot *boot, uint64_t info)
{
	const uint8_t *p = vm_phys(info);
	const uint8_t *end = p + *(const uint32_t *)(const void *)p;
	for (p += 8; p + sizeof(struct mb2_tag) <= end;) {
		const struct mb2_tag *tag = (const void *)p;
		if (tag->type == MB2_END || tag->bytes < sizeof *tag)
			break;
		parse_mb2_tag(boot, tag);
		p += (tag->bytes + 7) & ~7u;
	}
}

void boot_parse(struct boot *boot, enum boot_loader loader, uint64_t info)
{
	if (loader == BOOT_PVH)
		parse_pvh(boot, info);
	else
		parse_multiboot2(boot, info);
}
