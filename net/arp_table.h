/* The containers of the neighbour table, for net/arp.c alone: hash, lists, deadlines, waiting
 * frames. They know nothing of states but FREE, and call no ops. */
#ifndef NET_ARP_TABLE_H
#define NET_ARP_TABLE_H

#include "net/arp.h"

#define ARP_NIL UINT32_MAX

/* A frame that waits. */
struct arp_slot {
	uint32_t next;
	uint32_t len;
	uint8_t frame[];
};

static inline struct arp_slot *arp_slot_at(const struct arp *a, uint32_t slot)
{
	return (struct arp_slot *)(void *)(a->slots + (size_t)slot * a->slot_bytes);
}

/* Lays the table out in mem; parameters have been checked. Returns the bytes used; with a NULL
 * mem it only counts them. */
size_t arp_table_layout(struct arp *a, void *mem);

/* All neighbours FREE, all slots free. */
void arp_table_clear(struct arp *a);

/* Neighbour (port, ip) or ARP_NIL. */
uint32_t arp_hash_find(const struct arp *a, unsigned port, uint32_t ip);
void arp_hash_add(struct arp *a, uint32_t i);
void arp_hash_remove(struct arp *a, uint32_t i);

void arp_list_append(struct arp *a, struct arp_list *list, uint32_t i);
void arp_list_remove(struct arp *a, struct arp_list *list, uint32_t i);

/* Sets or moves the deadline of a neighbour; clear takes it away, if there is one. */
void arp_timer_set(struct arp *a, uint32_t i, uint64_t deadline);
void arp_timer_clear(struct arp *a, uint32_t i);

/* True when one more frame can be queued for the neighbour now. */
bool arp_queue_has_room(const struct arp *a, uint32_t i);

/* Copies a frame (of at most params.frame_max bytes) to the end of the neighbour's queue, which
 * has room. */
void arp_queue_push(struct arp *a, uint32_t i, const uint8_t *frame, unsigned len);

/* Takes the oldest frame off the neighbour's queue, which is not empty; its slot is still in use. */
uint32_t arp_queue_pop(struct arp *a, uint32_t i);

/* Takes the whole queue off the neighbour: a chain of slots through next, still in use. */
uint32_t arp_queue_detach(struct arp *a, uint32_t i);

void arp_slot_free(struct arp *a, uint32_t slot);

#endif
