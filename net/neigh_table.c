/* See neigh_table.h. Deadlines are in a binary heap: a tick costs only the entries due, and a
 * change costs the logarithm of the table size. */
#include "net/neigh_table.h"

#include "lib/assert.h"
#include "lib/mem.h"
#include "lib/number.h"

/* A queued frame. */
struct slot {
	uint32_t next;
	uint32_t len;
	uint8_t frame[];
};

static struct slot *slot_at(const struct neigh_table *t, uint32_t slot)
{
	return (struct slot *)(void *)(t->slots + (size_t)slot * t->slot_bytes);
}

/* --- lists --- */

static void list_append(struct neigh_table *t, struct neigh_list *list, uint32_t i)
{
	t->neigh[i].prev = list->tail;
	t->neigh[i].next = NEIGH_NIL;
	if (list->tail == NEIGH_NIL)
		list->head = i;
	else
		t->neigh[list->tail].next = i;
	list->tail = i;
}

static void list_remove(struct neigh_table *t, struct neigh_list *list, uint32_t i)
{
	struct neigh *n = &t->neigh[i];
	if (n->prev == NEIGH_NIL)
		list->head = n->next;
	else
		t->neigh[n->prev].next = n->next;
	if (n->next == NEIGH_NIL)
		list->tail = n->prev;
	else
		t->neigh[n->next].prev = n->prev;
}

/* --- memory --- */

static uint32_t hash_heads(const struct neigh_sizes *s)
{
	uint32_t heads = 1;
	while (heads < s->neighbours)
		heads *= 2;
	return heads;
}

static uint32_t slot_bytes(const struct neigh_sizes *s)
{
	return (uint32_t)align_up(sizeof(struct slot) + s->frame_max, sizeof(uint64_t));
}

/* Offsets of the parts in the memory; returns the total bytes. */
static size_t layout(const struct neigh_sizes *s, size_t *hash, size_t *heap, size_t *slots)
{
	*hash = align_up(s->neighbours * sizeof(struct neigh), sizeof(uint64_t));
	*heap = *hash + align_up(hash_heads(s) * sizeof(uint32_t), sizeof(uint64_t));
	*slots = *heap + align_up(s->neighbours * sizeof(uint32_t), sizeof(uint64_t));
	return *slots + (size_t)s->pending * slot_bytes(s);
}

bool neigh_sizes_are_valid(const struct neigh_sizes *s)
{
	return s->queue && s->queue <= 65535 && s->neighbours && s->neighbours <= 1u << 24 &&
	       s->pending && s->pending <= 1u << 24 && s->frame_max >= ETH_HLEN &&
	       s->frame_max <= 65535;
}

size_t neigh_table_bytes(const struct neigh_sizes *s)
{
	size_t hash, heap, slots;
	return layout(s, &hash, &heap, &slots);
}

void neigh_table_init(struct neigh_table *t, const struct neigh_sizes *s,
                      const struct siphash_key *key, void *mem)
{
	const struct neigh_list empty = {NEIGH_NIL, NEIGH_NIL};
	uint8_t *base = mem;
	size_t hash, heap, slots;
	layout(s, &hash, &heap, &slots);
	*t = (struct neigh_table){
		.size = *s,
		.key = *key,
		.neigh = (struct neigh *)(void *)base,
		.hash = (uint32_t *)(void *)(base + hash),
		.heap = (uint32_t *)(void *)(base + heap),
		.slots = base + slots,
		.slot_bytes = slot_bytes(s),
		.hash_mask = hash_heads(s) - 1,
		.slot_free = NEIGH_NIL,
		.free = empty,
		.evictable = {empty, empty},
	};
	for (uint32_t i = 0; i <= t->hash_mask; i++)
		t->hash[i] = NEIGH_NIL;
	for (uint32_t i = 0; i < s->neighbours; i++) {
		t->neigh[i] = (struct neigh){.heap_pos = NEIGH_NIL, .listed = NEIGH_UNLISTED};
		list_append(t, &t->free, i);
	}
	for (uint32_t i = s->pending; i-- > 0;) {
		slot_at(t, i)->next = t->slot_free;
		t->slot_free = i;
	}
}

/* --- hash --- */

static uint32_t *hash_head(const struct neigh_table *t, unsigned interface,
                           const struct net_addr *addr)
{
	const uint64_t words[] = {
		(uint64_t)addr->w[0] << 32 | addr->w[1],
		(uint64_t)addr->w[2] << 32 | addr->w[3],
		interface,
	};
	return &t->hash[siphash13_words(&t->key, words, ARRAY_LEN(words)) & t->hash_mask];
}

static bool key_is(const struct neigh *n, unsigned interface, const struct net_addr *addr)
{
	return n->interface == interface && net_addr_equal(&n->addr, addr);
}

uint32_t neigh_hash_find(const struct neigh_table *t, unsigned interface,
                         const struct net_addr *addr)
{
	uint32_t i = *hash_head(t, interface, addr);
	while (i != NEIGH_NIL && !key_is(&t->neigh[i], interface, addr))
		i = t->neigh[i].hash_next;
	return i;
}

uint32_t neigh_take(struct neigh_table *t, unsigned interface, const struct net_addr *addr)
{
	uint32_t i = t->free.head;
	assert(interface <= 255);
	if (i == NEIGH_NIL)
		return i;
	list_remove(t, &t->free, i);
	uint32_t *head = hash_head(t, interface, addr);
	t->neigh[i] = (struct neigh){
		.addr = *addr,
		.interface = (uint8_t)interface,
		.hash_next = *head,
		.heap_pos = NEIGH_NIL,
		.listed = NEIGH_UNLISTED,
	};
	*head = i;
	return i;
}

void neigh_hash_remove(struct neigh_table *t, uint32_t i)
{
	uint32_t *link = hash_head(t, t->neigh[i].interface, &t->neigh[i].addr);
	while (*link != i) {
		assert(*link != NEIGH_NIL);
		link = &t->neigh[*link].hash_next;
	}
	*link = t->neigh[i].hash_next;
}

/* --- eviction --- */

void neigh_relist(struct neigh_table *t, uint32_t i, unsigned which)
{
	struct neigh *n = &t->neigh[i];
	if (n->listed == which)
		return;
	if (n->listed != NEIGH_UNLISTED)
		list_remove(t, &t->evictable[n->listed], i);
	n->listed = (uint8_t)which;
	if (which != NEIGH_UNLISTED)
		list_append(t, &t->evictable[which], i);
}

uint32_t neigh_evictable(const struct neigh_table *t)
{
	for (unsigned k = 0; k < NEIGH_EVICTABLE; k++)
		if (t->evictable[k].head != NEIGH_NIL)
			return t->evictable[k].head;
	return NEIGH_NIL;
}

void neigh_free(struct neigh_table *t, uint32_t i)
{
	assert(t->neigh[i].listed == NEIGH_UNLISTED);
	list_append(t, &t->free, i);
}

/* --- deadlines --- */

static void heap_place(struct neigh_table *t, uint32_t pos, uint32_t i)
{
	t->heap[pos] = i;
	t->neigh[i].heap_pos = pos;
}

static uint64_t heap_key(const struct neigh_table *t, uint32_t pos)
{
	return t->neigh[t->heap[pos]].deadline;
}

/* Moves neighbour i from the hole at pos to its place in heap order. */
static void heap_settle(struct neigh_table *t, uint32_t pos, uint32_t i)
{
	uint64_t key = t->neigh[i].deadline;
	while (pos > 0 && heap_key(t, (pos - 1) / 2) > key) {
		heap_place(t, pos, t->heap[(pos - 1) / 2]);
		pos = (pos - 1) / 2;
	}
	for (;;) {
		uint32_t child = 2 * pos + 1;
		if (child + 1 < t->heap_len && heap_key(t, child + 1) < heap_key(t, child))
			child++;
		if (child >= t->heap_len || heap_key(t, child) >= key)
			break;
		heap_place(t, pos, t->heap[child]);
		pos = child;
	}
	heap_place(t, pos, i);
}

void neigh_timer_set(struct neigh_table *t, uint32_t i, uint64_t deadline)
{
	struct neigh *n = &t->neigh[i];
	n->deadline = deadline;
	if (n->heap_pos == NEIGH_NIL)
		heap_place(t, t->heap_len++, i);
	heap_settle(t, n->heap_pos, i);
}

void neigh_timer_clear(struct neigh_table *t, uint32_t i)
{
	uint32_t pos = t->neigh[i].heap_pos;
	if (pos == NEIGH_NIL)
		return;
	t->neigh[i].heap_pos = NEIGH_NIL;
	uint32_t last = t->heap[--t->heap_len];
	if (last != i)
		heap_settle(t, pos, last);
}

/* --- queued frames --- */

static void slot_free(struct neigh_table *t, uint32_t slot)
{
	slot_at(t, slot)->next = t->slot_free;
	t->slot_free = slot;
	assert(t->pending > 0);
	t->pending--;
}

static bool has_room(const struct neigh_table *t, uint32_t i)
{
	return t->neigh[i].queued < t->size.queue && t->slot_free != NEIGH_NIL;
}

static uint32_t pop(struct neigh_table *t, uint32_t i)
{
	struct neigh *n = &t->neigh[i];
	uint32_t slot = n->pend_head;
	n->pend_head = slot_at(t, slot)->next;
	n->queued--;
	return slot;
}

static void push(struct neigh_table *t, uint32_t i, const uint8_t *frame, unsigned len)
{
	struct neigh *n = &t->neigh[i];
	uint32_t slot = t->slot_free;
	struct slot *s = slot_at(t, slot);
	t->slot_free = s->next;
	t->pending++;
	s->next = NEIGH_NIL;
	s->len = len;
	memcpy(s->frame, frame, len);
	if (n->queued++ == 0)
		n->pend_head = slot;
	else
		slot_at(t, n->pend_tail)->next = slot;
	n->pend_tail = slot;
}

void neigh_queue_add(struct neigh_table *t, uint32_t i, uint8_t waits, uint8_t *frame, unsigned len,
                     neigh_frame_op *lost, void *ctx)
{
	bool fits = len <= t->size.frame_max;
	if (fits && !has_room(t, i) && t->neigh[i].queued) {
		uint32_t slot = pop(t, i);
		struct slot *s = slot_at(t, slot);
		lost(ctx, i, s->frame, s->len);
		slot_free(t, slot);
	}
	/* the op may have called back, so the state is checked again */
	if (fits && t->neigh[i].state == waits && has_room(t, i))
		push(t, i, frame, len);
	else
		lost(ctx, i, frame, len);
}

uint32_t neigh_queue_detach(struct neigh_table *t, uint32_t i)
{
	struct neigh *n = &t->neigh[i];
	uint32_t chain = n->queued ? n->pend_head : NEIGH_NIL;
	n->queued = 0;
	return chain;
}

void neigh_chain_end(struct neigh_table *t, uint32_t i, uint32_t chain, neigh_frame_op *op, void *ctx)
{
	while (chain != NEIGH_NIL) {
		struct slot *s = slot_at(t, chain);
		uint32_t next = s->next;
		op(ctx, i, s->frame, s->len);
		slot_free(t, chain);
		chain = next;
	}
}
