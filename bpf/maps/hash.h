/*
 * Hash maps: HASH, LRU_HASH, PERCPU_HASH, LRU_PERCPU_HASH.
 *
 * Memory, in `shared`: a struct hash_core for each core, the buckets, the pool of entries. A bucket is one
 * cache line: 8 slots, each a tag of 16 bits (of the key's hash; 0: the slot is free) and the number of an
 * entry. What does not fit hangs in a chain from the bucket. There are 2 to 4 entries a bucket when the map
 * is full, so that 2 % of the buckets or fewer have a chain. A look-up of a large map misses the cache
 * twice: the bucket, the entry.
 *
 * The pool has map->entries entries and one spare for each core. An entry is in exactly one of these
 * places, and a link to it, its number + 1, is
 * - in a slot or chain of a bucket,
 * - in the free list of some core (any core may take from it: as Linux' pcpu_freelist),
 * - `spare` of a core: each core has one at all times,
 * - `other` of a core, in the middle of an operation.
 * So the map is full exactly when map->entries are in buckets.
 *
 * An update fills the core's spare entry, then locks the bucket, and
 * - if the key is there: stores the link to the new entry over the link to the old one; the old one is the
 *   core's new spare;
 * - if not: takes an entry from a free list as the new spare (an LRU map: evicts one if there is none), and
 *   links the filled one.
 * Per-CPU maps update the core's value in place if the key is there.
 *
 * Readers take no lock. They repeat the look-up if the bucket's version changed meanwhile; each removal
 * changes it before the entry may be reused. So a look-up never returns the entry of another key, and
 * never misses a key that was there all the time. After HASH_RETRIES it takes what it has, as Linux
 * always does.
 *
 * Order of stores, for recovery (hash_recover.c): struct hash_core is the journal of a core. `bucket` and
 * `list` name a lock before it is taken; `other` names an entry before it leaves its place. The links that
 * readers follow change by one store each.
 *
 * Eviction of LRU maps: CLOCK. A look-up sets the entry's `used`; each core has a hand that walks the
 * pool, clears `used`, and evicts the first entry where it was clear, or after HASH_SCAN / 2 entries any.
 */
#ifndef BPF_MAPS_HASH_H
#define BPF_MAPS_HASH_H

#include "bpf/maps/map.h"
#include "bpf/maps/shared.h"
#include "lib/bytes.h"
#include "lib/mem.h"

#define HASH_SLOTS 8
#define HASH_CHAIN 64    /* entries at most in a bucket's chain; one more is refused like a full map */
#define HASH_RETRIES 16
#define HASH_SCAN 256
#define HASH_NONE UINT32_MAX

struct hash_bucket {
	uint16_t tag[HASH_SLOTS];
	uint32_t link[HASH_SLOTS];
	uint32_t lock;
	uint32_t version;
	uint32_t chain; /* link to the first entry of the chain; 0: none */
	uint32_t unused;
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct hash_bucket) == 64, "a cache line");

struct hash_entry {
	uint32_t next;       /* in the chain: a link */
	uint32_t free_next;  /* in a free list: a link. Apart from `next`, which a reader may still need */
	uint32_t generation; /* of a per-CPU map: changes when the entry gets another key */
	uint32_t used;       /* of an LRU map: looked up since the hand passed */
	uint8_t key[];
};
_Static_assert(sizeof(struct hash_entry) == 16, "the key is aligned to 16");

struct hash_core {
	/* the journal: only this core writes it, or the control core after its death */
	uint32_t spare;     /* a link */
	uint32_t other;     /* a link, or 0 */
	uint32_t bucket[2]; /* number + 1 of the buckets it is locking, or 0 */
	uint32_t list;      /* number + 1 of the free list it is locking, or 0 */
	uint32_t hand;
	uint8_t pad[64 - 24];
	/* this core's free list */
	uint32_t lock;
	uint32_t head; /* a link, or 0 */
	uint8_t pad2[64 - 8];
};
_Static_assert(sizeof(struct hash_core) == 128, "two cache lines");

/* A value of a per-CPU map in own[]. If the generation is not the entry's, the value belongs to an earlier
 * key and counts as zero. */
struct hash_own {
	uint64_t generation;
	uint8_t value[];
};

static inline bool hash_is_percpu(uint32_t type)
{
	return type == BPF_MAP_PERCPU_HASH || type == BPF_MAP_LRU_PERCPU_HASH;
}

static inline bool hash_is_lru(uint32_t type)
{
	return type == BPF_MAP_LRU_HASH || type == BPF_MAP_LRU_PERCPU_HASH;
}

/*
 * The hash: keyed multiplication, folded: the upper half of the 128-bit product XOR the lower. SipHash-1-3 of
 * four bytes takes as long as the whole look-up does so. It is no cryptographic function, and an
 * attacker who could see hashes might solve for the key. Those who send packets see none, and what they could
 * gain is bounded: a chain ends at HASH_CHAIN entries, so the worst look-up compares 72 keys.
 */
static inline uint64_t hash_fold(uint64_t a, uint64_t b)
{
	const unsigned __int128 product = (unsigned __int128)a * b;
	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* The n bytes at p as a number, 1 to 8 of them; for n of 4 to 8 by two loads that may overlap. */
static inline uint64_t hash_word(const uint8_t *p, uint32_t n)
{
	if (n == 8)
		return raw64_load(p);
	if (n >= 4)
		return raw32_load(p) | (uint64_t)raw32_load(p + n - 4) << 32;
	return p[0] | (uint64_t)p[n / 2] << 8 | (uint64_t)p[n - 1] << 16;
}

static inline uint64_t hash_of(const struct bpf_map *map, const uint8_t *key, uint32_t n)
{
	const uint64_t k0 = map->hash_key[0], k1 = map->hash_key[1];
	if (n == 4) /* a constant in the look-ups for such keys */
		return hash_fold(raw32_load(key) ^ k0, k1);
	if (n <= 8)
		return hash_fold(hash_word(key, n) ^ k0, k1);
	uint64_t h = k1;
	for (; n > 16; n -= 16, key += 16)
		h = hash_fold(raw64_load(key) ^ k0, raw64_load(key + 8) ^ h);
	/* 1 to 16 bytes are left; of 9 to 16 the two words overlap */
	h = n > 8 ? hash_fold(raw64_load(key) ^ k0, raw64_load(key + n - 8) ^ h) : hash_fold(hash_word(key, n) ^ k0, h);
	return hash_fold(h ^ k0, k1);
}

static inline bool hash_same(const uint8_t *a, const uint8_t *b, uint32_t n)
{
	if (n == 4)
		return raw32_load(a) == raw32_load(b);
	if (n < 8)
		return hash_word(a, n) == hash_word(b, n);
	uint64_t differ = raw64_load(a + n - 8) ^ raw64_load(b + n - 8);
	for (uint32_t i = 0; i + 8 < n; i += 8)
		differ |= raw64_load(a + i) ^ raw64_load(b + i);
	return differ == 0;
}

static inline uint32_t hash_bucket_of(const struct bpf_map *map, uint64_t hash)
{
	return (uint32_t)hash & map->buckets_mask;
}

static inline uint16_t hash_tag(uint64_t hash) { return (uint16_t)(hash >> 48 | 1); }

static inline struct hash_bucket *hash_bucket(const struct bpf_map *map, uint32_t b)
{
	return &((struct hash_bucket *)(void *)map->buckets)[b];
}

/* index is below pool_entries */
static inline struct hash_entry *hash_entry(const struct bpf_map *map, uint32_t index)
{
	return (struct hash_entry *)(void *)(map->pool + (size_t)index * map->entry_stride);
}

static inline struct hash_core *hash_core(const struct bpf_map *map, unsigned core)
{
	return &((struct hash_core *)(void *)map->shared)[core];
}

/* The index in a link that lies in shared memory: at or above pool_entries if the link is 0 or damaged. */
static inline uint32_t hash_index(uint32_t link) { return link - 1; }

/* The slots whose tag is `tag`: bits 0, 2 .. 14. */
static inline uint32_t hash_slots(const struct hash_bucket *b, uint16_t tag)
{
	typedef uint16_t tags __attribute__((vector_size(16)));
	typedef char bytes __attribute__((vector_size(16)));
	const tags equal = (tags)(*(const tags *)(const void *)b->tag == (tags){tag, tag, tag, tag, tag, tag, tag, tag});
	return (uint32_t)__builtin_ia32_pmovmskb128((bytes)equal) & 0x5555;
}

/* The entry of the key, or HASH_NONE. Takes no lock. n is key_bytes. */
static inline __attribute__((always_inline)) uint32_t hash_find(const struct bpf_map *map, const uint8_t *key,
                                                                uint32_t n)
{
	const uint64_t hash = hash_of(map, key, n);
	struct hash_bucket *const b = hash_bucket(map, hash_bucket_of(map, hash));
	uint32_t found = HASH_NONE;
	for (unsigned tries = 0; tries < HASH_RETRIES; tries++) {
		const uint32_t version = get(&b->version);
		found = HASH_NONE;
		for (uint32_t m = hash_slots(b, hash_tag(hash)); m != 0; m &= m - 1) {
			const uint32_t i = hash_index(get(&b->link[__builtin_ctz(m) / 2]));
			if (likely(i < map->pool_entries && hash_same(hash_entry(map, i)->key, key, n))) {
				found = i;
				break;
			}
		}
		if (unlikely(found == HASH_NONE && b->chain)) {
			uint32_t i = hash_index(get(&b->chain));
			for (unsigned steps = 0; steps < HASH_CHAIN && i < map->pool_entries; steps++) {
				if (hash_same(hash_entry(map, i)->key, key, n)) {
					found = i;
					break;
				}
				i = hash_index(get(&hash_entry(map, i)->next));
			}
		}
		loads_done();
		if (likely(get(&b->version) == version))
			break;
	}
	return found;
}

/* The value of a per-CPU map's entry in own[core], after it has been zeroed if it is an earlier key's. */
void *hash_own_value(const struct bpf_map *map, uint32_t index, unsigned core);

/* --- what map.c calls --- */
uint32_t hash_buckets(uint32_t entries);
uint64_t hash_shared_bytes(const struct bpf_map *map);
void hash_init(struct bpf_map *map); /* map has its shape and addresses */
uint32_t hash_find_any(const struct bpf_map *map, const void *key);
/* `core`: whose value, of a per-CPU map; `me`: the core that does it. */
int64_t hash_update(const struct bpf_map *map, const void *key, const void *value, uint64_t flags, unsigned core,
                    unsigned me);
int64_t hash_delete(const struct bpf_map *map, const void *key, unsigned me);
bool hash_next(const struct bpf_map *map, const void *key, void *next);
uint32_t hash_used(const struct bpf_map *map);
void hash_recover(const struct bpf_map *map, unsigned core);

/* --- among hash*.c --- */

/* Where a link is. */
struct hash_place {
	uint32_t *link;   /* NULL: nowhere */
	unsigned slot;    /* HASH_SLOTS: in the chain */
	unsigned chained; /* entries of the chain, if the link is nowhere */
};

/* The place of the link to entry `index` in bucket b. The caller holds the lock or owns the entry. */
struct hash_place hash_place_of(const struct bpf_map *map, struct hash_bucket *b, uint32_t index);

/* Takes the link at `place` out of the bucket, whose lock `me` holds. */
void hash_unlink(const struct bpf_map *map, struct hash_bucket *b, struct hash_place place, uint32_t index);

/* Takes an entry from a free list; it is then `other` of me. HASH_NONE: all lists are empty. */
uint32_t hash_pop(const struct bpf_map *map, unsigned me);
/* Gives `other` of me to a free list. */
void hash_push(const struct bpf_map *map, unsigned me);
/* LRU: evicts an entry, which is then `other` of me. me holds the lock of bucket `locked`. HASH_NONE: there is none. */
uint32_t hash_evict(const struct bpf_map *map, unsigned me, uint32_t locked);

#endif
