/*
 * The core program's ELF in the kernel's image (kernel/program.c), damaged in any way. Either it is
 * refused, or nothing outside of it is mapped, copied or read, no page is both writable and
 * executable, and what is mapped lies where programs do.
 *
 * Input: the image.
 */
#include "tests/fuzz/rig.h"

#include "abi/layout.h"

/* The kernel's window to physical memory lies where a host process has no memory. */
#define vm_phys vm_phys_of_the_kernel
#include "kernel/vm.h"
#undef vm_phys
static void *vm_phys(uint64_t phys);

#include "kernel/program.c"

uint64_t host_tsc;

#define PAGES_MAX 600
#define MAPS_MAX 16

const uint8_t program_image[1], program_image_end[1];
static struct boot_info all_on_one_node;
struct boot_info *boot_info = &all_on_one_node;

static uint8_t *pages; /* pages given to the program; physical addresses are offsets in it */
static uint64_t pages_used;
static struct map {
	uint64_t virt, bytes;
} maps[MAPS_MAX];
static unsigned map_count;

static void *vm_phys(uint64_t phys)
{
	return pages + phys;
}

_Noreturn void panic(const char *format, ...)
{
	(void)format;
	abort();
}

/* Gives each piece memory of its own, at a physical address that serves only to find it again. */
uint64_t vm_take_pages(uint64_t bytes, const char *what)
{
	(void)what;
	uint64_t at = pages_used;
	assert_true(bytes % PAGE_BYTES == 0);
	pages_used += bytes;
	return at;
}

uint64_t vm_take_pages_near(uint64_t bytes, unsigned node, const char *what)
{
	(void)node;
	return vm_take_pages(bytes, what);
}

void vm_map(vm_space_t space, uint64_t virt, uint64_t phys, uint64_t bytes, unsigned flags)
{
	uint64_t end = virt + bytes;
	(void)space;
	assert_true(bytes && virt % PAGE_BYTES == 0 && bytes % PAGE_BYTES == 0);
	assert_true(virt >= PROGRAM_BASE && end > virt && end <= PROGRAM_STACK_TOP);
	assert_true(flags & VM_USER && !(flags & VM_WRITE && flags & VM_EXEC));
	for (unsigned i = 0; i < map_count; i++)
		assert_true(end <= maps[i].virt || maps[i].virt + maps[i].bytes <= virt);
	assert_true(map_count < MAPS_MAX);
	maps[map_count++] = (struct map){virt, bytes};
	if (flags & VM_WRITE)
		return;
	uint64_t offset = phys + KERNEL_BASE - (uint64_t)image;
	assert_true(offset < image_bytes && bytes <= align_up(image_bytes - offset, PAGE_BYTES));
}

uint64_t watchdog_rflags(void) { return 0; }
void watchdog_start(struct core *c) { (void)c; }

_Noreturn void trap_return(struct trap_frame *f)
{
	(void)f;
	abort();
}

static void use(void)
{
	struct core c = {.id = 1};
	uint64_t offset;
	map_count = 0;
	pages_used = 0;
	program_map(&c);
	if (pages_used <= PAGES_MAX * PAGE_BYTES) {
		pages = malloc(pages_used);
		assert_non_null(pages);
		renew(&c);
		free(pages);
	}
	program_symbol("core_current");
	for (unsigned i = 0; i < 20; i++) {
		const char *name = program_function(PROGRAM_BASE + i * 8, &offset);
		assert_true(!name || strlen(name) < image_bytes);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1); /* of exact size: ASan detects reads past it */
	memcpy(copy, data, size);
	if (read_image(copy, size))
		use();
	free(copy);
	return 0;
}
