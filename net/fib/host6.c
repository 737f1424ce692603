/* See host6.h. */
#include "net/fib/host6.h"

#include "lib/assert.h"
#include "lib/bytes.h"
#include "lib/mem.h"

struct host6_slot {
	uint32_t nh;
	uint32_t interface;
	uint64_t addr[2]; /* in wire order */
	uint64_t unused;  /* pads to two slots per cache line */
};

struct host6 {
	uint64_t key[2];
	uint32_t places; /* range of a hash; HOST6_WINDOW - 1 slots follow the last */
	uint32_t shift;  /* right shift that keeps a hash's upper bits */
	uint32_t unused[10];
	struct host6_slot slot[];
};
_Static_assert(sizeof(struct host6) == CACHE_LINE, "slots begin with a cache line");

/* A power of two, at least four times the hosts. */
static uint32_t places_for(uint32_t hosts)
{
	uint32_t n = 64;
	while (n / 4 < hosts && n < 1u << 30)
		n *= 2;
	return n;
}

static size_t slots_of(const struct host6 *t)
{
	return (size_t)t->places + HOST6_WINDOW - 1;
}

size_t host6_shared_bytes(uint32_t hosts)
{
	return sizeof(struct host6) +
	       (places_for(hosts) + HOST6_WINDOW - 1) * sizeof(struct host6_slot);
}

size_t host6_private_bytes(uint32_t hosts)
{
	return (places_for(hosts) + HOST6_WINDOW - 1) * sizeof(bool);
}

void host6_init(struct host6_writer *w, uint32_t hosts, void *shared, void *priv,
                const uint64_t key[2])
{
	struct host6 *t = shared;
	memset(shared, 0, host6_shared_bytes(hosts));
	memset(priv, 0, host6_private_bytes(hosts));
	t->key[0] = key[0];
	t->key[1] = key[1] | 1; /* odd, as a multiplier */
	t->places = places_for(hosts);
	t->shift = 64 - (uint32_t)__builtin_ctz(t->places);
	*w = (struct host6_writer){.table = t, .rests = priv};
}

/*
 * Each half is multiplied by a secret factor. With that alone, hosts numbered consecutively lie at
 * equal distances. Some keys make that distance so short that a window holds only part of the
 * hosts: one key in fifty refused hosts by the hundred. The final steps of SplitMix64 (Steele, Lea
 * and Flood, 2014) scatter them. There is one more step than seems necessary, because with one
 * fewer such keys remain.
 */
static uint32_t place_of(const struct host6 *t, unsigned interface, const uint64_t addr[2])
{
	uint64_t h = (addr[0] ^ t->key[0] ^ interface) * t->key[1];
	h = ((h ^ h >> 32) + addr[1]) * (t->key[0] | 1);
	h = (h ^ h >> 32) * 0x9e3779b97f4a7c15u;
	h = (h ^ h >> 29) * 0xbf58476d1ce4e5b9u;
	return (uint32_t)(h >> t->shift);
}

static bool is_at(const struct host6_slot *s, unsigned interface, const uint64_t addr[2])
{
	return s->interface == interface && s->addr[0] == addr[0] && s->addr[1] == addr[1];
}

static struct host6_slot *find(const struct host6_writer *w, unsigned interface,
                               const uint64_t addr[2])
{
	struct host6_slot *s = &w->table->slot[place_of(w->table, interface, addr)];
	for (unsigned i = 0; i < HOST6_WINDOW; i++)
		if (s[i].nh != FIB_NH_NONE && is_at(&s[i], interface, addr))
			return &s[i];
	return NULL;
}

static void addr_words(uint64_t out[2], const struct net_addr *a)
{
	memcpy(out, a->w, sizeof a->w);
}

int host6_insert(struct host6_writer *w, unsigned interface, const struct net_addr *addr,
                 uint32_t nh)
{
	uint64_t words[2];
	assert(nh != FIB_NH_NONE);
	addr_words(words, addr);
	struct host6_slot *s = find(w, interface, words);
	if (!s) {
		uint32_t i = place_of(w->table, interface, words), end = i + HOST6_WINDOW;
		while (i < end && (w->table->slot[i].nh != FIB_NH_NONE || w->rests[i]))
			i++;
		if (i == end)
			return E_NOMEM;
		s = &w->table->slot[i];
		s->interface = interface;
		s->addr[0] = words[0];
		s->addr[1] = words[1];
		w->count++;
	}
	__atomic_store_n(&s->nh, nh, __ATOMIC_RELEASE);
	return E_OK;
}

int host6_remove(struct host6_writer *w, unsigned interface, const struct net_addr *addr)
{
	uint64_t words[2];
	addr_words(words, addr);
	struct host6_slot *s = find(w, interface, words);
	if (!s)
		return E_NOENT;
	__atomic_store_n(&s->nh, FIB_NH_NONE, __ATOMIC_RELEASE);
	w->rests[s - w->table->slot] = true;
	w->resting++;
	w->count--;
	return E_OK;
}

void host6_reclaim(struct host6_writer *w)
{
	if (w->resting)
		memset(w->rests, 0, slots_of(w->table) * sizeof *w->rests);
	w->resting = 0;
}

bool host6_next(const struct host6 *t, size_t bytes, uint32_t *cursor, struct host6_entry *out)
{
	if (bytes < sizeof *t || slots_of(t) > (bytes - sizeof *t) / sizeof t->slot[0])
		return false;
	for (; *cursor < slots_of(t); ++*cursor) {
		const struct host6_slot *s = &t->slot[*cursor];
		if (s->nh == FIB_NH_NONE)
			continue;
		++*cursor;
		out->nh = s->nh;
		out->interface = s->interface;
		memcpy(out->addr.w, s->addr, sizeof out->addr.w);
		return true;
	}
	return false;
}

uint32_t host6_lookup(const struct host6 *t, unsigned interface, const uint8_t *addr)
{
	const uint64_t words[2] = {raw64_load(addr), raw64_load(addr + 8)};
	const struct host6_slot *s = &t->slot[place_of(t, interface, words)];
	for (unsigned i = 0; i < HOST6_WINDOW; i++) {
		uint32_t nh = __atomic_load_n(&s[i].nh, __ATOMIC_ACQUIRE);
		if (nh != FIB_NH_NONE && is_at(&s[i], interface, words))
			return nh;
	}
	return FIB_NH_NONE;
}
