/* See tags.h. A hash table with linear probing; a removed entry is closed by moving later ones. */
#include "control/engine/tags.h"

#include "lib/mem.h"

static uint8_t kind_of(enum fpm_protocol protocol, bool six)
{
	return (uint8_t)((unsigned)protocol << 1 | six);
}

static uint32_t home(const struct tags *t, uint32_t id, uint8_t kind)
{
	const uint64_t word = (uint64_t)kind << 32 | id;
	return (uint32_t)siphash13_words(&t->key, &word, 1) % TAGS_SLOTS;
}

/* The slot of the entry, or the free slot where it would be. There is always a free one. */
static uint32_t look(const struct tags *t, uint32_t id, uint8_t kind)
{
	uint32_t i = home(t, id, kind);
	while (t->slot[i].tag && (t->slot[i].id != id || t->slot[i].kind != kind))
		i = (i + 1) % TAGS_SLOTS;
	return i;
}

void tags_init(struct tags *t, const struct siphash_key *key)
{
	memset(t, 0, sizeof *t);
	t->key = *key;
}

void tags_clear(struct tags *t)
{
	t->used = 0;
	memset(t->taken, 0, sizeof t->taken);
	memset(t->slot, 0, sizeof t->slot);
}

uint16_t tags_find(const struct tags *t, uint32_t id, enum fpm_protocol protocol, bool six)
{
	return t->slot[look(t, id, kind_of(protocol, six))].tag;
}

/* The next number that is not in use. */
static uint16_t next_tag(struct tags *t)
{
	do
		t->last++;
	while (t->last == TAG_NONE || t->taken[t->last / 32] & 1u << t->last % 32);
	t->taken[t->last / 32] |= 1u << t->last % 32;
	return t->last;
}

uint16_t tags_take(struct tags *t, uint32_t id, enum fpm_protocol protocol, bool six)
{
	struct tag_slot *s = &t->slot[look(t, id, kind_of(protocol, six))];
	if (s->tag == TAG_NONE && t->used < TAGS_MAX) {
		*s = (struct tag_slot){id, next_tag(t), kind_of(protocol, six)};
		t->used++;
	}
	return s->tag;
}

void tags_forget(struct tags *t, uint32_t id, enum fpm_protocol protocol, bool six)
{
	uint32_t hole = look(t, id, kind_of(protocol, six));
	const uint16_t tag = t->slot[hole].tag;
	if (tag == TAG_NONE)
		return;
	t->taken[tag / 32] &= ~(1u << tag % 32);
	t->used--;
	for (uint32_t i = (hole + 1) % TAGS_SLOTS; t->slot[i].tag; i = (i + 1) % TAGS_SLOTS) {
		const uint32_t at = home(t, t->slot[i].id, t->slot[i].kind);
		/* may it move to the hole, which is before it? */
		if ((i - at) % TAGS_SLOTS < (i - hole) % TAGS_SLOTS)
			continue;
		t->slot[hole] = t->slot[i];
		hole = i;
	}
	t->slot[hole] = (struct tag_slot){0};
}
