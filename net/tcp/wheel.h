/*
 * Hierarchical timing wheel: one deadline each for up to millions of records. Setting, moving and
 * dropping one costs a few instructions for any number of records (Varghese and Lauck, "Hashed and
 * Hierarchical Timing Wheels", SOSP 1987, scheme 7). TCP moves a timer with nearly every segment
 * and few timers expire, so a heap's logarithmic cost would be wasted.
 *
 * A tick is a 64-bit number, read as digits of six bits. A record waits at the level of the highest
 * digit in which its tick differs from the wheel's time, in the slot given by that digit of its
 * tick:
 *
 *     time 0x1005, digits 1,0,5    tick 0x1007, digits 1,0,7: level 0, slot 7
 *                                  tick 0x1047, digits 1,1,7: level 1, slot 1, starts at 0x1040
 *                                  tick 0x3000, digits 3,0,0: level 2, slot 3
 *
 * 1. Therefore no slot wraps around. A level holds only digits above the time's own digit, and all
 *    records of a level are due before those of the next. The next slot is found by two lowest-bit
 *    searches.
 * 2. The time moves only to the start of a slot that holds records, or to a tick with none in
 *    between. It skips any interval at once, and 1. stays true without touching a record.
 * 3. When the time reaches the start of its slot, a record is sorted again, into a lower level or
 *    among the due ones: at most once per level. Eleven levels cover all ticks, so there is no
 *    horizon.
 * 4. A record whose node is zero is not pending.
 *
 * The wheel knows no clock and no unit. The caller owns the records. Between wheel_add and the
 * record's expiry or removal, only the wheel writes the node.
 */
#ifndef NET_TCP_WHEEL_H
#define NET_TCP_WHEEL_H

#include "lib/types.h"

#define WHEEL_NONE UINT32_MAX

#define WHEEL_DIGIT_BITS 6
#define WHEEL_SLOTS      (1u << WHEEL_DIGIT_BITS) /* per level: the bits of one word */
#define WHEEL_LEVELS     11u
#define WHEEL_DUE        (WHEEL_LEVELS * WHEEL_SLOTS) /* the slot of due records, behind all
                                                         levels */
#define WHEEL_HEAD       0x80000000u

_Static_assert(WHEEL_LEVELS * WHEEL_DIGIT_BITS >= 64, "the levels cover every tick");

/* Part of each record. Neighbours in the slot's list as index + 1. */
struct wheel_node {
	uint32_t next; /* 0: last */
	uint32_t prev; /* 0: not pending; WHEEL_HEAD | slot: the first */
	uint64_t tick;
};

struct wheel {
	uint64_t now;   /* records in the levels are due after it */
	uint8_t *nodes; /* the node of record 0 */
	size_t stride;
	uint32_t levels;                  /* bit l: level l holds a record */
	uint64_t slots[WHEEL_LEVELS + 1]; /* [l] bit s: slot s of level l holds a record */
	uint32_t head[WHEEL_DUE + 1];     /* index + 1 of a slot's first record; 0: none */
};

_Static_assert(sizeof(struct wheel) < 4096, "a wheel stays small beside a first-level cache");

/*
 * Makes an empty wheel with the time `now`. The records have `stride` bytes and indexes 0 to
 * WHEEL_HEAD - 2, and hold a struct wheel_node at node_offset that is zeroed before its first use.
 */
void wheel_init(struct wheel *w, void *records, size_t stride, size_t node_offset, uint64_t now);

/*
 * Removes one record that is due at `now` and returns its index; WHEEL_NONE: no more. Earlier ticks
 * come first, equal ones in any order. `now` never goes backwards. Between two calls the caller may
 * add and remove any record. A record added as due is returned in the same round, so a caller that
 * adds one after each call never sees WHEEL_NONE.
 */
uint32_t wheel_expire(struct wheel *w, uint64_t now);

/* A tick before which wheel_expire has nothing to return: the start of the slot of the first
 * record, which may be earlier than the record's tick. UINT64_MAX: nothing is pending. */
uint64_t wheel_next(const struct wheel *w);

static inline struct wheel_node *wheel_node(const struct wheel *w, uint32_t index)
{
	return (struct wheel_node *)(void *)(w->nodes + (size_t)index * w->stride);
}

static inline bool wheel_pending(const struct wheel *w, uint32_t index)
{
	return wheel_node(w, index)->prev != 0;
}

/* The slot for a record of this tick: see the head of the file. */
static inline uint32_t wheel_slot(const struct wheel *w, uint64_t tick)
{
	if (tick <= w->now)
		return WHEEL_DUE;
	uint32_t highest_bit = 63 - (uint32_t)__builtin_clzll(tick ^ w->now);
	uint32_t level = highest_bit / WHEEL_DIGIT_BITS;
	uint32_t digit = (uint32_t)(tick >> level * WHEEL_DIGIT_BITS) % WHEEL_SLOTS;
	return level * WHEEL_SLOTS + digit;
}

/* Drops a record's deadline, if it has one. */
static inline void wheel_remove(struct wheel *w, uint32_t index)
{
	struct wheel_node *n = wheel_node(w, index);
	uint32_t next = n->next, prev = n->prev;
	if (!prev)
		return;
	if (next)
		wheel_node(w, next - 1)->prev = prev;
	if (!(prev & WHEEL_HEAD)) {
		wheel_node(w, prev - 1)->next = next;
	} else {
		uint32_t slot = prev & ~WHEEL_HEAD, level = slot / WHEEL_SLOTS;
		w->head[slot] = next;
		if (!next) {
			w->slots[level] &= ~((uint64_t)1 << slot % WHEEL_SLOTS);
			w->levels &= ~((uint32_t)(w->slots[level] == 0) << level);
		}
	}
	n->prev = 0;
}

/* Sets or moves a record's deadline. A tick not after the wheel's time is due at once: the next
 * wheel_expire returns it, even with an unchanged `now`. */
static inline void wheel_add(struct wheel *w, uint32_t index, uint64_t tick)
{
	wheel_remove(w, index);
	struct wheel_node *n = wheel_node(w, index);
	uint32_t slot = wheel_slot(w, tick), level = slot / WHEEL_SLOTS, next = w->head[slot];
	n->tick = tick;
	n->next = next;
	n->prev = WHEEL_HEAD | slot;
	if (next)
		wheel_node(w, next - 1)->prev = index + 1;
	w->head[slot] = index + 1;
	w->slots[level] |= (uint64_t)1 << slot % WHEEL_SLOTS;
	w->levels |= 1u << level;
}

#endif
