/*
 * See coredump.h. The kernel copies raw data; the control core formats it as text at ring 3. The
 * failed core shall forward again soon, and ring 0 may be emulated (ARCHITECTURE.md, Kernel).
 */
#include "kernel/coredump.h"

#include "kernel/program.h"

_Static_assert(COREDUMP_STATE % 8 == 0, "a piece that fits does so in whole words");

#define PLACES ARRAY_LEN(((struct coredump *)0)->v)

/* The handles in use, as in struct coredump. */
struct span {
	uint32_t next, end;
};

/* Index in v[] of the i-th newest handle, counted from 0; PLACES: there are fewer. */
static uint32_t place_of(const struct span *s, uint32_t i)
{
	if (i < s->next)
		return s->next - 1 - i;
	i -= s->next;
	return s->end > s->next && i < s->end - s->next ? s->end - 1 - i : PLACES;
}

static bool read_pkt(vm_space_t space, uint64_t from, struct coredump_pkt *p)
{
	if (!vm_copy_from_user(space, &p->handle, from, sizeof p->handle))
		return false;
	p->bytes = p->handle.len < COREDUMP_HEADER ? p->handle.len : COREDUMP_HEADER;
	if (!vm_copy_from_user(space, p->header, p->handle.data, p->bytes))
		p->bytes = 0;
	return true;
}

static void copy_pkts(vm_space_t space, uint64_t at, struct crash *to)
{
	struct span s;
	to->pkts = 0;
	if (!vm_copy_from_user(space, &s, at + offsetof(struct coredump, next), sizeof s) ||
	    s.next > PLACES || s.end > PLACES)
		return;
	for (uint32_t i = 0; i < COREDUMP_PKTS; i++) {
		uint64_t place = place_of(&s, i), from = at + place * sizeof(struct coredump_handle);
		if (place == PLACES || !read_pkt(space, from, &to->pkt[to->pkts]))
			break;
		to->pkts++;
	}
}

/* Copies the memory that the program has named, up to the first piece that is invalid. */
static void copy_parts(vm_space_t space, uint64_t at, struct crash *to)
{
	uint64_t parts, from = at + offsetof(struct coredump, part);
	size_t used = 0;
	to->parts = 0;
	if (!vm_copy_from_user(space, &parts, at + offsetof(struct coredump, parts), sizeof parts) ||
	    parts > COREDUMP_PARTS)
		return;
	for (; to->parts < parts; to->parts++, from += sizeof(struct coredump_part)) {
		struct coredump_part *p = &to->part[to->parts];
		if (!vm_copy_from_user(space, p, from, sizeof *p) || p->bytes > sizeof to->state - used ||
		    !vm_copy_from_user(space, to->state + used, p->address, p->bytes))
			break;
		used += align_up(p->bytes, 8);
	}
}

/* Copies the core's events from the address that the program gives. */
static void copy_events(vm_space_t space, struct crash *to)
{
	uint64_t at = program_symbol("core_events"), ring;
	if (!at || !vm_copy_from_user(space, &ring, at, sizeof ring) ||
	    !vm_copy_from_user(space, &to->events, ring, sizeof to->events))
		to->events.count = 0;
}

void coredump_copy(vm_space_t space, struct crash *to)
{
	uint64_t at = program_symbol("core_dump_area");
	to->parts = to->pkts = 0;
	copy_events(space, to);
	if (!at)
		return;
	copy_parts(space, at, to);
	copy_pkts(space, at, to);
}
