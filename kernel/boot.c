/*
 * Reads the loader's information: Multiboot2 (specification 2.0, 3.6) or the PVH start-of-day
 * structure (Xen: public/arch-x86/hvm/start_info.h). Everything is copied, so the loader's memory may
 * be reused, except the module, which stays in place.
 *
 * All of it is untrusted (tests/fuzz/fuzz_boot.c):
 * 1. Only memory below 4 GiB is read, which the boot page tables map. A Multiboot2 tag is read only
 *    within its own length and the length of the whole information.
 * 2. No memory is in two ranges, nor in a range that another entry of the map marks as used.
 * 3. A module must lie in memory and outside the image; a framebuffer must not lie in memory. Others
 *    are ignored, with a message on the console.
 * The parser cannot verify that memory exists where the map lists it.
 */
#include "kernel/boot.h"

#include "kernel/console.h"
#include "kernel/panic.h"
#include "kernel/vm.h"
#include "lib/mem.h"

#define PVH_MAGIC 0x336ec578u
#define PVH_WITH_MAP 1 /* the version that has a memory map */
#define MEMORY_USABLE 1
#define LOADER_END (4ull << 30)
#define RAM_END (DEVICE_BASE - PHYS_BASE) /* end of what the physical map can cover */
#define MAP_ENTRIES_MAX 1024
#define RSDP_BYTES_MIN 20 /* ACPI 5.2.5.3, version 1 */

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

struct memory_entry {
	uint64_t addr, bytes;
	uint32_t type, reserved;
};
_Static_assert(sizeof(struct memory_entry) == 24, "hvm_memmap_table_entry; Multiboot2, memory map");

enum multiboot2_tag {
	MB2_END = 0,
	MB2_CMDLINE = 1,
	MB2_LOADER = 2,
	MB2_MODULE = 3,
	MB2_MEMORY = 6,
	MB2_FRAMEBUFFER = 8,
	MB2_EFI32 = 11,
	MB2_EFI64 = 12,
	MB2_ACPI_OLD = 14,
	MB2_ACPI_NEW = 15,
	MB2_EFI_MAP = 17,
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
#define MB2_FRAMEBUFFER_BYTES 38 /* with the colour fields, without the padding of the structure */
#define FB_SIDE_MAX 16384u       /* pixels */

/* Copies loader data from a physical address; false: the address is 0 or not all below 4 GiB. */
static bool take(void *to, uint64_t phys, size_t bytes)
{
	if (phys == 0 || phys >= LOADER_END || bytes > LOADER_END - phys)
		return false;
	memcpy(to, vm_phys(phys), bytes);
	return true;
}

/* Copies a text of at most `most` bytes; it is cut at the end of dst. */
static void take_text(char *dst, size_t size, uint64_t phys, uint64_t most)
{
	size_t n = 0;
	while (n < size - 1 && n < most && take(&dst[n], phys + n, 1) && dst[n])
		n++;
	dst[n] = '\0';
}

/* --- memory --- */

static void keep_ram(struct boot *boot, uint64_t start, uint64_t end)
{
	if (start >= end)
		return;
	if (boot->ram_count == BOOT_RANGES_MAX)
		console_print("boot: memory in more than %u ranges; %llx to %llx is left out\n",
		              BOOT_RANGES_MAX, (unsigned long long)start, (unsigned long long)end);
	else
		boot->ram[boot->ram_count++] = (struct boot_range){start, end};
}

static bool overlaps(const struct boot_range *r, uint64_t start, uint64_t end)
{
	return start < r->end && r->start < end;
}

bool boot_has_ram(const struct boot *boot, uint64_t start, uint64_t end)
{
	for (unsigned i = 0; i < boot->ram_count; i++)
		if (overlaps(&boot->ram[i], start, end))
			return true;
	return false;
}

static void cut_ram(struct boot *boot, uint64_t start, uint64_t end)
{
	for (unsigned i = 0; i < boot->ram_count;) {
		struct boot_range *r = &boot->ram[i], was = *r;
		if (!overlaps(r, start, end)) {
			i++;
			continue;
		}
		*r = boot->ram[--boot->ram_count];
		keep_ram(boot, was.start, start < was.end ? start : was.end);
		keep_ram(boot, end > was.start ? end : was.start, was.end);
	}
}

/* kernel/pci_room.c puts no device there. */
static void keep_reserved(struct boot *boot, const struct memory_entry *e)
{
	const uint64_t end = e->bytes < UINT64_MAX - e->addr ? e->addr + e->bytes : UINT64_MAX;
	if (e->bytes == 0)
		return;
	if (boot->reserved_count == BOOT_RANGES_MAX)
		boot->reserved_lost = true;
	else
		boot->reserved[boot->reserved_count++] = (struct boot_range){e->addr, end};
}

/* Applies an entry of the loader's map. Usable entries are applied first; the others then remove
 * memory. */
static void map_entry(struct boot *boot, const struct memory_entry *e, bool usable)
{
	if (!usable && e->type != MEMORY_USABLE)
		keep_reserved(boot, e);
	uint64_t end = e->bytes < RAM_END - e->addr ? e->addr + e->bytes : RAM_END;
	if (e->addr >= RAM_END || e->bytes == 0 || (e->type == MEMORY_USABLE) != usable)
		return;
	cut_ram(boot, e->addr, end);
	if (usable)
		keep_ram(boot, e->addr, end);
}

/* Reads the map: n entries, MAP_ENTRIES_MAX at most, each of entry_bytes. */
static void read_map(struct boot *boot, uint64_t at, uint64_t n, uint32_t entry_bytes)
{
	struct memory_entry e;
	if (n > MAP_ENTRIES_MAX)
		console_print("boot: a memory map of %llu entries; %u are read\n",
		              (unsigned long long)n, MAP_ENTRIES_MAX);
	n = n < MAP_ENTRIES_MAX ? n : MAP_ENTRIES_MAX;
	for (unsigned usable = 2; usable--;)
		for (uint64_t i = 0; i < n && take(&e, at + i * entry_bytes, sizeof e); i++)
			map_entry(boot, &e, usable);
}

/* True if all of it lies in memory, possibly across adjacent ranges. */
static bool in_ram(const struct boot *boot, const struct boot_range *what)
{
	uint64_t at = what->start;
	for (unsigned i = 0; i < boot->ram_count && at < what->end; i++)
		if (boot->ram[i].start <= at && at < boot->ram[i].end) {
			at = boot->ram[i].end;
			i = UINT32_MAX; /* start over with the first */
		}
	return at >= what->end;
}

static void check_module(struct boot *boot)
{
	const struct boot_range *m = &boot->module;
	if (m->start == 0 && m->end == 0)
		return;
	if (m->start <= m->end && m->end < RAM_END && in_ram(boot, m) &&
	    !overlaps(m, VM_IMAGE_PHYS, VM_IMAGE_PHYS + vm_image_bytes()))
		return;
	console_print("boot: the module from %llx to %llx is not in memory, or overlaps the image; it is ignored\n",
	              (unsigned long long)m->start, (unsigned long long)m->end);
	boot->module = (struct boot_range){0, 0};
}

static bool fb_sound(const struct boot *boot)
{
	const struct boot_framebuffer *f = &boot->fb;
	uint64_t bytes = (uint64_t)f->pitch * f->height;
	if (f->width > FB_SIDE_MAX || f->height > FB_SIDE_MAX || f->pitch > 8 * FB_SIDE_MAX ||
	    f->pitch < f->width * (f->bits / 8) || f->addr >= RAM_END || bytes > RAM_END - f->addr)
		return false;
	if (boot_has_ram(boot, f->addr, f->addr + bytes))
		return false;
	return f->red_shift <= 24 && f->green_shift <= 24 && f->blue_shift <= 24;
}

static void check_framebuffer(struct boot *boot)
{
	if (boot->fb.addr == 0 || fb_sound(boot))
		return;
	console_print("boot: the framebuffer at %llx has impossible values, or overlaps memory; it is ignored\n",
	              (unsigned long long)boot->fb.addr);
	boot->fb.addr = 0;
}

/* --- PVH --- */

static void parse_pvh(struct boot *boot, uint64_t info)
{
	struct pvh_info pvh = {0};
	struct pvh_module m;
	if (!take(&pvh, info, sizeof pvh) || pvh.magic != PVH_MAGIC)
		panic("the loader's PVH structure has magic %x", pvh.magic);
	if (pvh.version < PVH_WITH_MAP)
		panic("the loader's PVH structure has no memory map");
	memcpy(boot->loader, "PVH direct boot", sizeof "PVH direct boot");
	take_text(boot->cmdline, sizeof boot->cmdline, pvh.cmdline, UINT64_MAX);
	if (pvh.modules && take(&m, pvh.module_list, sizeof m))
		boot->module = (struct boot_range){m.addr, m.addr + m.bytes};
	boot->rsdp = pvh.rsdp < LOADER_END ? pvh.rsdp : 0;
	read_map(boot, pvh.memmap, pvh.memmap_entries, sizeof(struct memory_entry));
}

/* --- Multiboot2: `at` is the address of a tag that lies within the information --- */

static void parse_mb2_memory(struct boot *boot, uint64_t at, uint32_t bytes)
{
	struct mb2_memory m;
	if (boot->ram_count || bytes < sizeof m || !take(&m, at, sizeof m))
		return;
	if (m.entry_bytes >= sizeof(struct memory_entry))
		read_map(boot, at + sizeof m, (bytes - sizeof m) / m.entry_bytes, m.entry_bytes);
}

static void parse_mb2_framebuffer(struct boot *boot, uint64_t at, uint32_t bytes)
{
	struct mb2_framebuffer f = {0};
	if (bytes < MB2_FRAMEBUFFER_BYTES || !take(&f, at, MB2_FRAMEBUFFER_BYTES))
		return;
	if (f.type == MB2_FRAMEBUFFER_RGB && (f.bits == 24 || f.bits == 32))
		boot->fb = (struct boot_framebuffer){f.addr,      f.pitch,       f.width,
		                                     f.height,    f.bits,        f.red_shift,
		                                     f.green_shift, f.blue_shift};
}

/* ACPI tags hold the RSDP itself. Their memory is reused before acpi_init runs, hence the copy. */
static void parse_mb2_rsdp(struct boot *boot, uint64_t at, uint32_t bytes, bool newer)
{
	static uint8_t copy[64];
	if (bytes < RSDP_BYTES_MIN || bytes > sizeof copy || (!newer && boot->rsdp))
		return;
	memset(copy, 0, sizeof copy);
	if (take(copy, at, bytes))
		boot->rsdp = (uint64_t)copy - KERNEL_BASE;
}

/* UEFI's system table, of 32-bit or 64-bit firmware, or its memory map: each shows that the firmware is UEFI. */
static void parse_mb2_uefi(struct boot *boot, const struct mb2_tag *tag, uint64_t text, uint32_t bytes)
{
	boot->uefi = true;
	if (tag->type == MB2_EFI64 && bytes >= sizeof boot->efi_system)
		take(&boot->efi_system, text, sizeof boot->efi_system);
}

static void parse_mb2_tag(struct boot *boot, const struct mb2_tag *tag, uint64_t at)
{
	uint64_t text = at + sizeof *tag;
	uint32_t bytes = tag->bytes - (uint32_t)sizeof *tag;
	struct mb2_module m;
	switch (tag->type) {
	case MB2_CMDLINE:
		take_text(boot->cmdline, sizeof boot->cmdline, text, bytes);
		break;
	case MB2_LOADER:
		take_text(boot->loader, sizeof boot->loader, text, bytes);
		break;
	case MB2_MODULE:
		if (boot->module.end == 0 && tag->bytes >= sizeof m && take(&m, at, sizeof m))
			boot->module = (struct boot_range){m.start, m.end};
		break;
	case MB2_MEMORY:
		parse_mb2_memory(boot, at, tag->bytes);
		break;
	case MB2_FRAMEBUFFER:
		parse_mb2_framebuffer(boot, at, tag->bytes);
		break;
	case MB2_EFI32:
	case MB2_EFI64:
	case MB2_EFI_MAP:
		parse_mb2_uefi(boot, tag, text, bytes);
		break;
	case MB2_ACPI_OLD:
	case MB2_ACPI_NEW:
		parse_mb2_rsdp(boot, text, bytes, tag->type == MB2_ACPI_NEW);
		break;
	default:
		break;
	}
}

static void parse_multiboot2(struct boot *boot, uint64_t info)
{
	uint32_t bytes = 0;
	struct mb2_tag tag;
	if (!take(&bytes, info, sizeof bytes) || bytes > LOADER_END - info)
		panic("the loader's information has %u bytes at %llx", bytes, (unsigned long long)info);
	for (uint64_t at = info + 8, end = info + bytes; at + sizeof tag <= end;) {
		if (!take(&tag, at, sizeof tag) || tag.type == MB2_END || tag.bytes < sizeof tag ||
		    tag.bytes > end - at)
			break;
		parse_mb2_tag(boot, &tag, at);
		at += align_up(tag.bytes, 8);
	}
}

void boot_parse(struct boot *boot, enum boot_loader loader, uint64_t info)
{
	if (loader == BOOT_PVH)
		parse_pvh(boot, info);
	else
		parse_multiboot2(boot, info);
	check_module(boot);
	check_framebuffer(boot);
}
