/* See audit.h. There are two passes, because a program's memory is compared with the page tables and
 * memory of all programs, including later ones. */
#include "kernel/audit.h"

#include "abi/layout.h"
#include "kernel/console.h"
#include "kernel/core.h"
#include "kernel/cpu.h"
#include "kernel/panic.h"

extern char kernel_text[], kernel_rodata[], kernel_data[], kernel_end[];
extern char program_image[], program_image_end[];

typedef const char *(*look_fn)(struct audit *a, const struct vm_piece *p);

static bool overlaps(const struct vm_piece *p, uint64_t start, uint64_t end)
{
	return p->phys < end && start < p->phys + p->bytes;
}

static bool inside(const struct vm_piece *p, uint64_t start, uint64_t end)
{
	return p->phys >= start && p->phys + p->bytes <= end;
}

static bool owns(const struct vm_piece *p)
{
	return (p->flags & (VM_USER | VM_WRITE | VM_DEVICE)) == (VM_USER | VM_WRITE);
}

/* --- regions, by physical address --- */

static uint64_t region_begin(const struct region *r)
{
	return r->at - MEMORY_WINDOW;
}

static uint64_t region_end(const struct audit *a, const struct region *r)
{
	return region_begin(r) + r->bytes * (r->kind == REGION_OWN ? a->data_cores : 1);
}

/* The region that contains this address, or NULL; then *next is lowered to the nearest region above. */
static const struct region *region_of(const struct audit *a, uint64_t phys, uint64_t *next)
{
	for (unsigned i = 0; i < a->regions; i++) {
		const struct region *r = &a->region[i];
		if (phys >= region_begin(r) && phys < region_end(a, r))
			return r;
		if (region_begin(r) > phys && region_begin(r) < *next)
			*next = region_begin(r);
	}
	return NULL;
}

/* True if all of the piece is XDP code, where programs see it. */
static bool is_code(const struct audit *a, const struct vm_piece *p)
{
	for (uint64_t at = p->phys, end = p->phys + p->bytes; at < end;) {
		uint64_t next = end;
		const struct region *r = region_of(a, at, &next);
		if (!r || r->kind != REGION_CODE ||
		    p->virt + (at - p->phys) != CODE_WINDOW + r->offset + (at - region_begin(r)))
			return false;
		at = region_end(a, r);
	}
	return true;
}

/* True if the piece overlaps the part that a core other than this one has of the region. */
static bool is_others(const struct audit *a, const struct region *r, const struct vm_piece *p)
{
	for (unsigned d = 0; d < a->data_cores; d++) {
		const uint64_t begin = region_begin(r) + d * r->bytes;
		if (a->first_data_core + d != a->core && overlaps(p, begin, begin + r->bytes))
			return true;
	}
	return false;
}

/* What is wrong with this piece, which overlaps the region; NULL: nothing. */
static const char *wrong_in_region(const struct audit *a, const struct region *r, const struct vm_piece *p)
{
	const bool user = p->flags & VM_USER, control = a->core == 0;
	if (p->flags & VM_TABLE)
		return "a page table, and a program may write it";
	if (r->kind == REGION_CODE && p->flags & VM_WRITE)
		return "XDP code, and writable";
	if (r->kind == REGION_CODE && user && !is_code(a, p))
		return "XDP code, outside its window";
	if ((r->kind == REGION_CONTROL || r->kind == REGION_CONTENT) && owns(p) && !control)
		return "the control core's, and a data core may write it";
	if (r->kind == REGION_OWN && user && !control && is_others(a, r, p))
		return "another core's maps";
	return NULL;
}

static const char *wrong_in_regions(const struct audit *a, const struct vm_piece *p)
{
	const char *wrong = NULL;
	for (unsigned i = 0; i < a->regions && !wrong; i++)
		if (overlaps(p, region_begin(&a->region[i]), region_end(a, &a->region[i])))
			wrong = wrong_in_region(a, &a->region[i], p);
	return wrong;
}

/* --- the two passes --- */

/* Records what a program may write of [at, end), except regions. False: too many pieces. */
static bool record(struct audit *a, uint64_t at, uint64_t end)
{
	while (at < end) {
		uint64_t next = end;
		const struct region *r = region_of(a, at, &next);
		if (r) {
			at = region_end(a, r);
			continue;
		}
		if (a->owned_count == ARRAY_LEN(a->owned))
			return false;
		a->owned[a->owned_count++] = (struct audit_owned){at, next - at, a->core};
		at = next;
	}
	return true;
}

const char *audit_note(struct audit *a, const struct vm_piece *p)
{
	const struct audit_image *i = &a->image;
	const char *wrong = wrong_in_regions(a, p);
	if (wrong || p->flags & VM_TABLE)
		return wrong;
	a->pages += p->bytes / PAGE_BYTES;
	const bool user = p->flags & VM_USER, program = inside(p, i->program, i->program_end);
	if (p->flags & VM_EXEC &&
	    (p->flags & VM_WRITE || !(user ? program || is_code(a, p) : inside(p, i->code, i->constants))))
		return "executable, but not of the image's code";
	if (p->flags & VM_WRITE && overlaps(p, i->code, i->data))
		return "the image's code or constants, and writable";
	if (user && (p->virt >> 47 || (!program && overlaps(p, i->code, i->end))))
		return "the kernel's, and within reach of ring 3";
	if (owns(p) && !record(a, p->phys, p->phys + p->bytes))
		return "one piece of memory too many to compare";
	return NULL;
}

/* The owner of [begin, end), as far as this core may write it: the core itself, or one that has lent it. */
static unsigned owner_for(const struct audit *a, unsigned core, uint64_t begin, uint64_t end)
{
	const struct lent *l = &a->lent[core];
	const bool lent = begin >= l->phys && end <= l->phys + l->bytes;
	return lent ? l->owner : core;
}

/* True if both programs may write where the two pieces overlap, because it is lent to one of them, or by the
 * same owner to both. */
static bool is_lent(const struct audit *a, const struct vm_piece *p, const struct audit_owned *o)
{
	const uint64_t begin = p->phys > o->phys ? p->phys : o->phys;
	const uint64_t end = p->phys + p->bytes < o->phys + o->bytes ? p->phys + p->bytes : o->phys + o->bytes;
	return a->lent && owner_for(a, a->core, begin, end) == owner_for(a, o->core, begin, end);
}

const char *audit_compare(struct audit *a, const struct vm_piece *p)
{
	bool table = p->flags & VM_TABLE;
	for (unsigned i = 0; i < a->owned_count && (table || owns(p)); i++) {
		const struct audit_owned *o = &a->owned[i];
		if (!overlaps(p, o->phys, o->phys + o->bytes))
			continue;
		if (table)
			return "a page table, and a program may write it";
		if (o->core != a->core && !is_lent(a, p, o))
			return "two cores' programs may write it";
	}
	return NULL;
}

struct visit {
	struct audit *a;
	look_fn look;
};

static void visit_piece(void *arg, const struct vm_piece *p)
{
	const struct visit *v = arg;
	const char *wrong = v->look(v->a, p);
	if (wrong)
		panic("page tables: core %u, %016llx, %llu KiB: %s", v->a->core,
		      (unsigned long long)p->virt, (unsigned long long)(p->bytes >> 10), wrong);
}

static void visit_all(struct audit *a, unsigned n, look_fn look)
{
	struct visit v = {a, look};
	for (a->core = 0; a->core < n; a->core++)
		vm_visit(cores[a->core].space, visit_piece, &v);
}

void audit_address_spaces(unsigned n, bool say)
{
	static struct audit a;
	a.owned_count = 0;
	a.pages = 0;
	a.region = boot_info->region;
	a.regions = boot_info->regions;
	a.lent = lent_to;
	a.first_data_core = boot_info->first_data_core;
	a.data_cores = boot_info->data_cores;
	a.image = (struct audit_image){
		.code = (uint64_t)kernel_text - KERNEL_BASE,
		.constants = (uint64_t)kernel_rodata - KERNEL_BASE,
		.program = (uint64_t)program_image - KERNEL_BASE,
		.program_end = align_up((uint64_t)program_image_end, PAGE_BYTES) - KERNEL_BASE,
		.data = (uint64_t)kernel_data - KERNEL_BASE,
		.end = (uint64_t)kernel_end - KERNEL_BASE};
	visit_all(&a, n, audit_note);
	visit_all(&a, n, audit_compare);
	if (!say)
		return;
	uint64_t cr4 = cr4_read();
	console_print("audit: %u address spaces, %llu MiB mapped, nothing writable and executable, "
	              "nothing of two writers; CPU:%s%s%s%s\n",
	              n, (unsigned long long)(a.pages * PAGE_BYTES >> 20),
	              cr0_read() & CR0_WP ? " WP" : "", cr4 & CR4_SMEP ? " SMEP" : "",
	              cr4 & CR4_SMAP ? " SMAP" : "", cr4 & CR4_UMIP ? " UMIP" : "");
}
