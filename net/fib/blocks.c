/* See blocks.h. */
#include "net/fib/blocks.h"

#include "lib/assert.h"
#include "lib/mem.h"

/* State of a block's first unit: free blocks have STATE_FREE with the order below it, resting
 * blocks the order alone. 0 for all other units and for blocks in use. */
#define STATE_FREE 0x80

/* Links of the list that a block is in. The scratch of an unused block holds them. */
struct link {
	uint32_t next, prev; /* prev: in free blocks only */
};

#define NONE UINT32_MAX

static struct link *link_of(const struct blocks *b, uint32_t at)
{
	return (struct link *)(void *)&b->scratch[at];
}

void blocks_init(struct blocks *b, uint8_t *memory, uint32_t area)
{
	*b = (struct blocks){.scratch = memory, .state = memory + area, .limit = area, .retired = NONE};
	for (unsigned i = 0; i < BLOCK_ORDERS; i++)
		b->head[i] = NONE;
}

static void push(struct blocks *b, uint32_t at, unsigned order)
{
	uint32_t next = b->head[order];
	*link_of(b, at) = (struct link){next, NONE};
	if (next != NONE)
		link_of(b, next)->prev = at;
	b->head[order] = at;
	b->free.of[order]++;
	b->state[at / BLOCK_UNIT] = (uint8_t)(STATE_FREE | order);
}

static void unlink(struct blocks *b, uint32_t at, unsigned order)
{
	struct link l = *link_of(b, at);
	if (l.prev == NONE)
		b->head[order] = l.next;
	else
		link_of(b, l.prev)->next = l.next;
	if (l.next != NONE)
		link_of(b, l.next)->prev = l.prev;
	b->free.of[order]--;
	b->state[at / BLOCK_UNIT] = 0;
}

/* From the largest order down: each block left over makes two of the next order. */
bool blocks_suffice(const struct blocks *b, const struct block_needs *needs)
{
	uint64_t left = (b->limit - b->fresh) / BLOCK_LARGEST;
	for (unsigned order = BLOCK_ORDERS; order-- > 0;) {
		left += b->free.of[order];
		if (left < needs->of[order])
			return false;
		left = 2 * (left - needs->of[order]);
	}
	return true;
}

uint32_t blocks_take(struct blocks *b, unsigned order)
{
	unsigned have = order;
	b->used += block_bytes(order);
	while (have < BLOCK_ORDERS && b->head[have] == NONE)
		have++;
	uint32_t at;
	if (have < BLOCK_ORDERS) {
		at = b->head[have];
		unlink(b, at, have);
	} else {
		have = BLOCK_ORDERS - 1;
		assert(b->limit - b->fresh >= BLOCK_LARGEST);
		at = b->fresh;
		b->fresh += BLOCK_LARGEST;
		memset(&b->state[at / BLOCK_UNIT], 0, BLOCK_LARGEST / BLOCK_UNIT);
	}
	while (have > order) {
		have--;
		push(b, at + block_bytes(have), have);
	}
	return at;
}

/* Frees a block, merging it with its buddies as long as they are free. */
static void merge(struct blocks *b, uint32_t at, unsigned order)
{
	while (order < BLOCK_ORDERS - 1) {
		uint32_t buddy = at ^ block_bytes(order);
		if (b->state[buddy / BLOCK_UNIT] != (STATE_FREE | order))
			break;
		unlink(b, buddy, order);
		at &= ~block_bytes(order);
		order++;
	}
	push(b, at, order);
}

void blocks_retire(struct blocks *b, uint32_t at, unsigned order)
{
	b->used -= block_bytes(order);
	b->state[at / BLOCK_UNIT] = (uint8_t)order;
	link_of(b, at)->next = b->retired;
	b->retired = at;
	b->retired_count++;
}

void blocks_reclaim(struct blocks *b)
{
	while (b->retired != NONE) {
		uint32_t at = b->retired;
		unsigned order = b->state[at / BLOCK_UNIT];
		b->retired = link_of(b, at)->next;
		b->state[at / BLOCK_UNIT] = 0;
		merge(b, at, order);
	}
	b->retired_count = 0;
}
