/* See arp_table.h. Deadlines are in a binary heap, so that a tick costs what is due and a change
 * costs the logarithm of the table. */
#include "net/arp_table.h"

#include "lib/assert.h"
#include "lib/mem.h"

static size_t round_up_8(size_t n)
{
	return (n + 7) & ~(size_t)7;
}

size_t arp_table_layout(struct arp *a, void *mem)
{
	const struct arp_params *p = &a->params;
	uint32_t heads = 1;
	while (heads < p->neighbours)
		heads *= 2;
	a->hash_mask = heads - 1;
	a->slot_bytes = (uint32_t)round_up_8(sizeof(struct arp_slot) + p->frame_max);

	size_t neigh = 0;
	size_t hash = neigh + round_up_8(p->neighbours * sizeof(struct arp_neigh));
	size_t heap = hash + round_up_8(heads * sizeof(uint32_t));
	size_t slots = heap + round_up_8(p->neighbours * sizeof(uint32_t));
	size_t end = slots + (size_t)p->pending * a->slot_bytes;
	if (mem) {
		uint8_t *base = mem;
		a->neigh = (struct arp_neigh *)(void *)(base + neigh);
		a->hash = (uint32_t *)(void *)(base + hash);
		a->heap = (uint32_t *)(void *)(base + heap);
		a->slots = base + slots;
	}
	return end;
}

void arp_table_clear(struct arp *a)
{
	a->free = a->evictable = (struct arp_list){ARP_NIL, ARP_NIL};
	a->heap_len = 0;
	a->pending = 0;
	for (uint32_t i = 0; i <= a->hash_mask; i++)
		a->hash[i] = ARP_NIL;
	for (uint32_t i = 0; i < a->params.neighbours; i++) {
		a->neigh[i] = (struct arp_neigh){.heap_pos = ARP_NIL};
		arp_list_append(a, &a->free, i);
	}
	a->slot_free = ARP_NIL;
	for (uint32_t i = a->params.pending; i-- > 0;) {
		arp_slot_at(a, i)->next = a->slot_free;
		a->slot_free = i;
	}
}

/* --- hash --- */

static uint32_t *hash_head(const struct arp *a, unsigned port, uint32_t ip)
{
	uint32_t h = (ip ^ port << 24) * 0x9e3779b1u; /* Fibonacci hashing: the top bits mix best */
	return &a->hash[(h >> 8 ^ h >> 20) & a->hash_mask];
}

uint32_t arp_hash_find(const struct arp *a, unsigned port, uint32_t ip)
{
	uint32_t i = *hash_head(a, port, ip);
	while (i != ARP_NIL && (a->neigh[i].ip != ip || a->neigh[i].port != port))
		i = a->neigh[i].hash_next;
	return i;
}

void arp_hash_add(struct arp *a, uint32_t i)
{
	uint32_t *head = hash_head(a, a->neigh[i].port, a->neigh[i].ip);
	a->neigh[i].hash_next = *head;
	*head = i;
}

void arp_hash_remove(struct arp *a, uint32_t i)
{
	uint32_t *link = hash_head(a, a->neigh[i].port, a->neigh[i].ip);
	while (*link != i) {
		assert(*link != ARP_NIL);
		link = &a->neigh[*link].hash_next;
	}
	*link = a->neigh[i].hash_next;
}

/* --- lists --- */

void arp_list_append(struct arp *a, struct arp_list *list, uint32_t i)
{
	a->neigh[i].prev = list->tail;
	a->neigh[i].next = ARP_NIL;
	if (list->tail == ARP_NIL)
		list->head = i;
	else
		a->neigh[list->tail].next = i;
	list->tail = i;
}

void arp_list_remove(struct arp *a, struct arp_list *list, uint32_t i)
{
	struct arp_neigh *n = &a->neigh[i];
	if (n->prev == ARP_NIL)
		list->head = n->next;
	else
		a->neigh[n->prev].next = n->next;
	if (n->next == ARP_NIL)
		list->tail = n->prev;
	else
		a->neigh[n->next].prev = n->prev;
}

/* --- deadlines --- */

static void heap_place(struct arp *a, uint32_t pos, uint32_t i)
{
	a->heap[pos] = i;
	a->neigh[i].heap_pos = pos;
}

static uint64_t heap_key(const struct arp *a, uint32_t pos)
{
	return a->neigh[a->heap[pos]].deadline;
}

/* Moves neighbour i from the hole at pos to where the heap order wants it. */
static void heap_settle(struct arp *a, uint32_t pos, uint32_t i)
{
	uint64_t key = a->neigh[i].deadline;
	while (pos > 0 && heap_key(a, (pos - 1) / 2) > key) {
		heap_place(a, pos, a->heap[(pos - 1) / 2]);
		pos = (pos - 1) / 2;
	}
	for (;;) {
		uint32_t child = 2 * pos + 1;
		if (child + 1 < a->heap_len && heap_key(a, child + 1) < heap_key(a, child))
			child++;
		if (child >= a->heap_len || heap_key(a, child) >= key)
			break;
		heap_place(a, pos, a->heap[child]);
		pos = child;
	}
	heap_place(a, pos, i);
}

void arp_timer_set(struct arp *a, uint32_t i, uint64_t deadline)
{
	struct arp_neigh *n = &a->neigh[i];
	n->deadline = deadline;
	if (n->heap_pos == ARP_NIL)
		heap_place(a, a->heap_len++, i);
	heap_settle(a, n->heap_pos, i);
}

void arp_timer_clear(struct arp *a, uint32_t i)
{
	uint32_t pos = a->neigh[i].heap_pos;
	if (pos == ARP_NIL)
		return;
	a->neigh[i].heap_pos = ARP_NIL;
	uint32_t last = a->heap[--a->heap_len];
	if (last != i)
		heap_settle(a, pos, last);
}

/* --- waiting frames --- */

void arp_slot_free(struct arp *a, uint32_t slot)
{
	arp_slot_at(a, slot)->next = a->slot_free;
	a->slot_free = slot;
	assert(a->pending > 0);
	a->pending--;
}

bool arp_queue_has_room(const struct arp *a, uint32_t i)
{
	return a->neigh[i].queued < a->params.queue && a->slot_free != ARP_NIL;
}

uint32_t arp_queue_pop(struct arp *a, uint32_t i)
{
	struct arp_neigh *n = &a->neigh[i];
	uint32_t slot = n->pend_head;
	n->pend_head = arp_slot_at(a, slot)->next;
	n->queued--;
	return slot;
}

void arp_queue_push(struct arp *a, uint32_t i, const uint8_t *frame, unsigned len)
{
	struct arp_neigh *n = &a->neigh[i];
	uint32_t slot = a->slot_free;
	struct arp_slot *s = arp_slot_at(a, slot);
	a->slot_free = s->next;
	a->pending++;
	s->next = ARP_NIL;
	s->len = len;
	memcpy(s->frame, frame, len);
	if (n->queued++ == 0)
		n->pend_head = slot;
	else
		arp_slot_at(a, n->pend_tail)->next = slot;
	n->pend_tail = slot;
}

uint32_t arp_queue_detach(struct arp *a, uint32_t i)
{
	struct arp_neigh *n = &a->neigh[i];
	uint32_t chain = n->queued ? n->pend_head : ARP_NIL;
	n->queued = 0;
	return chain;
}
