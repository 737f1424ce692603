/* See audit.h. There are two passes, because a program's memory is compared with the page tables and
 * memory of all programs, including later ones. */
#include "kernel/audit.h"

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

const char *audit_note(struct audit *a, const struct vm_piece *p)
{
	const struct audit_image *i = &a->image;
	if (p->flags & VM_TABLE)
		return NULL;
	a->pages += p->bytes / PAGE_BYTES;
	const bool user = p->flags & VM_USER, program = inside(p, i->program, i->program_end);
	if (p->flags & VM_EXEC &&
	    (p->flags & VM_WRITE || !(user ? program : inside(p, i->code, i->constants))))
		return "executable, but not of the image's code";
	if (p->flags & VM_WRITE && overlaps(p, i->code, i->data))
		return "the image's code or constants, and writable";
	if (user && (p->virt >> 47 || (!program && overlaps(p, i->code, i->end))))
		return "the kernel's, and within reach of ring 3";
	if (!owns(p))
		return NULL;
	if (a->owned_count == ARRAY_LEN(a->owned))
		return "one piece of memory too many to compare";
	a->owned[a->owned_count++] = (struct audit_owned){p->phys, p->bytes, a->core};
	return NULL;
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
		if (o->core != a->core)
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

void audit_address_spaces(unsigned n)
{
	static struct audit a;
	a.image = (struct audit_image){
		.code = (uint64_t)kernel_text - KERNEL_BASE,
		.constants = (uint64_t)kernel_rodata - KERNEL_BASE,
		.program = (uint64_t)program_image - KERNEL_BASE,
		.program_end = align_up((uint64_t)program_image_end, PAGE_BYTES) - KERNEL_BASE,
		.data = (uint64_t)kernel_data - KERNEL_BASE,
		.end = (uint64_t)kernel_end - KERNEL_BASE};
	visit_all(&a, n, audit_note);
	visit_all(&a, n, audit_compare);
	uint64_t cr4 = cr4_read();
	console_print("audit: %u address spaces, %llu MiB mapped, nothing writable and executable, "
	              "nothing of two writers; CPU:%s%s%s%s\n",
	              n, (unsigned long long)(a.pages * PAGE_BYTES >> 20),
	              cr0_read() & CR0_WP ? " WP" : "", cr4 & CR4_SMEP ? " SMEP" : "",
	              cr4 & CR4_SMAP ? " SMAP" : "", cr4 & CR4_UMIP ? " UMIP" : "");
}
