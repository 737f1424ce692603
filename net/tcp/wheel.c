/* See wheel.h. */
#include "net/tcp/wheel.h"

#include "lib/assert.h"

void wheel_init(struct wheel *w, void *records, size_t stride, size_t node_offset, uint64_t now)
{
	*w = (struct wheel){
		.now = now,
		.nodes = (uint8_t *)records + node_offset,
		.stride = stride,
	};
}

/* The index of the lowest set bit; at least one is set. By halves: on 32-bit x86 GCC would call a
 * libgcc function, which is not linked here. */
static uint32_t lowest_bit(uint64_t bits)
{
	uint32_t low = (uint32_t)bits;
	return low ? (uint32_t)__builtin_ctz(low) : 32 + (uint32_t)__builtin_ctz((uint32_t)(bits >> 32));
}

/* The first slot that holds records; *start: its first tick. The wheel must hold a record, and none
 * that is due. */
static uint32_t first_slot(const struct wheel *w, uint64_t *start)
{
	uint32_t level = (uint32_t)__builtin_ctz(w->levels);
	uint32_t digit = lowest_bit(w->slots[level]);
	uint32_t shift = level * WHEEL_DIGIT_BITS;
	/* two shifts: for the highest level the sum exceeds the word */
	uint64_t above = UINT64_MAX << shift << WHEEL_DIGIT_BITS;
	*start = (w->now & above) | (uint64_t)digit << shift;
	return level * WHEEL_SLOTS + digit;
}

/* Moves a slot's whole list to WHEEL_DUE, which is empty. Only the list's first node names the
 * slot. */
static void slot_to_due(struct wheel *w, uint32_t slot)
{
	uint32_t first = w->head[slot], level = slot / WHEEL_SLOTS;
	w->head[slot] = 0;
	w->slots[level] &= ~((uint64_t)1 << slot % WHEEL_SLOTS);
	w->levels &= ~((uint32_t)(w->slots[level] == 0) << level);
	w->head[WHEEL_DUE] = first;
	w->slots[WHEEL_LEVELS] = 1;
	w->levels |= 1u << WHEEL_LEVELS;
	wheel_node(w, first - 1)->prev = WHEEL_HEAD | WHEEL_DUE;
}

uint32_t wheel_expire(struct wheel *w, uint64_t now)
{
	assert(now >= w->now);
	for (;;) {
		/* a slot of a higher level may bring records that are not yet due */
		while (w->head[WHEEL_DUE]) {
			uint32_t index = w->head[WHEEL_DUE] - 1;
			uint64_t tick = wheel_node(w, index)->tick;
			if (tick <= w->now) {
				wheel_remove(w, index);
				return index;
			}
			wheel_add(w, index, tick);
		}
		uint64_t start = UINT64_MAX;
		uint32_t slot = w->levels ? first_slot(w, &start) : WHEEL_DUE;
		if (slot == WHEEL_DUE || start > now) {
			w->now = now;
			return WHEEL_NONE;
		}
		w->now = start;
		slot_to_due(w, slot);
	}
}

uint64_t wheel_next(const struct wheel *w)
{
	uint64_t start = UINT64_MAX;
	if (w->head[WHEEL_DUE])
		return w->now;
	if (w->levels)
		first_slot(w, &start);
	return start;
}
