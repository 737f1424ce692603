/* See fdb.h. */
#include "net/fdb/inside.h"

#include "lib/assert.h"
#include "lib/mem.h"
#include "lib/number.h"

#define FULL_NUM 4 /* at most four fifths of the slots are used */
#define FULL_DEN 5
#define STEPS_MAX 512 /* slots that a search for room looks at */

_Static_assert(sizeof(struct fdb_own) == 4, "of the writer's part");

/* --- geometry --- */

static uint32_t buckets_for(uint32_t entries)
{
	const uint32_t slots = entries + entries / FULL_NUM * (FULL_DEN - FULL_NUM) + FDB_BUCKET;
	return (slots + FDB_BUCKET - 1) / FDB_BUCKET + 1;
}

size_t fdb_shared_bytes(uint32_t entries)
{
	return sizeof(struct fdb) + (size_t)buckets_for(entries) * CACHE_LINE;
}

size_t fdb_private_bytes(uint32_t entries)
{
	return (size_t)buckets_for(entries) * FDB_BUCKET * sizeof(struct fdb_own);
}

uint32_t fdb_slots(const struct fdb *t) { return t->buckets * FDB_BUCKET; }

void fdb_init(struct fdb_writer *w, uint32_t entries, void *shared, void *own, const uint64_t key[2])
{
	struct fdb *t = shared;
	assert(entries && entries <= FDB_ENTRIES_MAX);
	memset(shared, 0, fdb_shared_bytes(entries));
	memset(own, 0, fdb_private_bytes(entries));
	t->key[0] = key[0];
	t->key[1] = key[1] | 1; /* odd, as a multiplier */
	t->buckets = buckets_for(entries);
	*w = (struct fdb_writer){.table = t, .own = own, .entries_max = entries};
}

/* --- look-up --- */

/* The station in a bucket, as of fdb_lookup. */
static inline uint32_t find_in(const struct fdb *t, uint32_t bucket, uint64_t station)
{
	const uint32_t first = bucket * FDB_BUCKET;
	for (uint32_t i = first; i < first + FDB_BUCKET; i++) {
		const uint64_t word = slot_load(t, i);
		if (is_station(word, station))
			return i << 4 | (uint32_t)(word ^ station);
	}
	return FDB_NONE;
}

uint32_t fdb_lookup(const struct fdb *t, uint64_t station)
{
	const uint64_t h = hash_of(t, station);
	const uint32_t found = find_in(t, first_of(t, h), station);
	return found != FDB_NONE ? found : find_in(t, second_of(t, h), station);
}

#define BATCH_FN static
#define FIND find_in
#define HASH_ALL hash_each
#include "net/fdb/batch.h"

void fdb_lookup_batch(const struct fdb *t, const uint64_t *station, uint32_t *found, unsigned n)
{
	assert(n <= FDB_BATCH_MAX);
#if FDB_VECTORS
	if (t->vector_bits >= 512) {
		fdb_batch_avx512(t, station, found, n);
		return;
	}
	if (t->vector_bits >= 256) {
		fdb_batch_avx2(t, station, found, n);
		return;
	}
#endif
	batch(t, station, found, n);
}

void fdb_use(struct fdb_writer *w, unsigned vector_bits)
{
	w->table->vector_bits = FDB_VECTORS ? vector_bits : 0;
}

/* --- changes --- */

static void slot_store(struct fdb_writer *w, uint32_t i, uint64_t word)
{
	__atomic_store_n(&w->table->slot[i], word, __ATOMIC_RELAXED);
}

static unsigned port_in(uint64_t word) { return word & (FDB_PORTS - 1); }

/* A free slot of the bucket, or FDB_NONE. */
static uint32_t free_in(const struct fdb_writer *w, uint32_t bucket)
{
	for (uint32_t i = bucket * FDB_BUCKET; i < (bucket + 1) * FDB_BUCKET; i++)
		if (w->table->slot[i] == 0)
			return i;
	return FDB_NONE;
}

/* The other bucket of the entry in slot i, which may be the same one. */
static uint32_t other_bucket(const struct fdb_writer *w, uint32_t i)
{
	const uint64_t station = w->table->slot[i] & ~(uint64_t)(FDB_PORTS - 1);
	const uint64_t h = hash_of(w->table, station);
	const uint32_t first = first_of(w->table, h);
	return first == i / FDB_BUCKET ? second_of(w->table, h) : first;
}

/* Slots whose entries may make room: each but the first ones lies in the other bucket of the entry at
 * `from`. */
struct search {
	uint32_t slot[STEPS_MAX];
	uint16_t from[STEPS_MAX];
	unsigned n;
};
#define SEARCH_ROOT 0xffff

static void search_add(struct search *s, uint32_t bucket, unsigned from)
{
	for (uint32_t i = 0; i < FDB_BUCKET && s->n < STEPS_MAX; i++) {
		s->slot[s->n] = bucket * FDB_BUCKET + i;
		s->from[s->n++] = (uint16_t)from;
	}
}

/* Copies the entries of a chain into each other's places, from its end, whose entry goes to `to`. Returns
 * the slot at its beginning, to be overwritten. A chain may pass a slot twice. Its entry has another place
 * then, and the chain is given up, with each entry where it may be: FDB_NONE. */
static uint32_t search_apply(struct fdb_writer *w, const struct search *s, unsigned k, uint32_t to)
{
	for (;; k = s->from[k]) {
		const uint32_t at = s->slot[k];
		if (at == to || other_bucket(w, at) != to / FDB_BUCKET) {
			slot_store(w, to, 0); /* its entry has a copy by now */
			return FDB_NONE;
		}
		w->own[to] = w->own[at];
		w->own[to].seen = w->now; /* its readers' notes stay behind, at the old slot */
		slot_store(w, to, w->table->slot[at]);
		w->moved++;
		if (s->from[k] == SEARCH_ROOT)
			return at;
		/* its parent's entry overwrites it; until then the entry is there twice */
		to = at;
	}
}

/* Breadth first: the shortest chain, and none longer than the steps allow. */
static uint32_t make_room(struct fdb_writer *w, uint32_t first, uint32_t second)
{
	struct search s;
	s.n = 0;
	search_add(&s, first, SEARCH_ROOT);
	search_add(&s, second, SEARCH_ROOT);
	for (unsigned k = 0; k < s.n; k++) {
		const uint32_t bucket = other_bucket(w, s.slot[k]), to = free_in(w, bucket);
		if (to != FDB_NONE)
			return search_apply(w, &s, k, to);
		search_add(&s, bucket, k);
	}
	return FDB_NONE;
}

uint32_t fdb_count(const struct fdb_writer *w)
{
	uint32_t n = w->fixed;
	for (unsigned p = 0; p < FDB_PORTS; p++)
		n += w->learned[p];
	return n;
}

/* A slot for a station that the table does not have; FDB_NONE: no room. */
static uint32_t place(struct fdb_writer *w, uint64_t station)
{
	const uint64_t h = hash_of(w->table, station);
	const uint32_t first = first_of(w->table, h), second = second_of(w->table, h);
	uint32_t i = free_in(w, first);
	if (fdb_count(w) >= w->entries_max)
		return FDB_NONE;
	if (i == FDB_NONE)
		i = free_in(w, second);
	return i == FDB_NONE ? make_room(w, first, second) : i;
}

static uint32_t slot_of(const struct fdb_writer *w, uint64_t station)
{
	const uint32_t found = fdb_lookup(w->table, station);
	return found == FDB_NONE ? FDB_NONE : fdb_found_slot(found);
}

/* May one more entry be learned at that port? */
static bool has_limit_left(const struct fdb_writer *w, unsigned port)
{
	return w->limit[port] == 0 || w->learned[port] < w->limit[port];
}

static enum fdb_result insert(struct fdb_writer *w, uint64_t station, unsigned port, struct fdb_own own)
{
	const uint32_t i = place(w, station);
	if (i == FDB_NONE)
		return FDB_FULL;
	w->own[i] = own;
	slot_store(w, i, station | port);
	if (own.fixed)
		w->fixed++;
	else
		w->learned[port]++;
	return FDB_NEW;
}

enum fdb_result fdb_learn(struct fdb_writer *w, uint64_t station, unsigned port, uint16_t now)
{
	const uint32_t i = slot_of(w, station);
	assert(port < FDB_PORTS && station >> 4);
	w->now = now;
	if (i == FDB_NONE)
		return has_limit_left(w, port)
		               ? insert(w, station, port, (struct fdb_own){.seen = now})
		               : FDB_LIMIT;
	const unsigned was = port_in(w->table->slot[i]);
	if (w->own[i].fixed)
		return FDB_FIXED;
	if (was != port && !has_limit_left(w, port))
		return FDB_LIMIT;
	w->own[i].seen = now;
	if (was == port)
		return FDB_SAME;
	w->learned[was]--;
	w->learned[port]++;
	slot_store(w, i, station | port);
	return FDB_MOVED;
}

static void drop_slot(struct fdb_writer *w, uint32_t i)
{
	if (w->own[i].fixed)
		w->fixed--;
	else
		w->learned[port_in(w->table->slot[i])]--;
	slot_store(w, i, 0);
	w->own[i] = (struct fdb_own){0};
}

enum fdb_result fdb_fix(struct fdb_writer *w, uint64_t station, unsigned port)
{
	const uint32_t i = slot_of(w, station);
	assert(port < FDB_PORTS && station >> 4);
	if (i == FDB_NONE)
		return insert(w, station, port, (struct fdb_own){.fixed = true});
	if (!w->own[i].fixed) {
		w->learned[port_in(w->table->slot[i])]--;
		w->fixed++;
		w->own[i].fixed = true;
	}
	slot_store(w, i, station | port);
	return FDB_NEW;
}

int fdb_remove(struct fdb_writer *w, uint64_t station)
{
	const uint32_t i = slot_of(w, station);
	if (i == FDB_NONE)
		return E_NOENT;
	drop_slot(w, i);
	return E_OK;
}

static uint32_t learned_at(const struct fdb_writer *w, uint32_t port)
{
	return port == FDB_ANY ? fdb_count(w) - w->fixed : w->learned[port];
}

uint32_t fdb_flush(struct fdb_writer *w, uint32_t port, uint32_t vid)
{
	uint32_t n = 0, left = learned_at(w, port);
	for (uint32_t i = 0; left && i < fdb_slots(w->table); i++) {
		const uint64_t word = w->table->slot[i];
		if (word == 0 || w->own[i].fixed || (port != FDB_ANY && port_in(word) != port))
			continue;
		left--;
		if (vid != FDB_ANY && fdb_station_vid(word) != vid)
			continue;
		drop_slot(w, i);
		n++;
	}
	return n;
}

/* --- age --- */

/* Units since `mark`, plus AHEAD: another core's clock may be a little ahead of the writer's. A mark that
 * is further ahead is a very old one. */
#define AHEAD 16
static uint16_t age_of(uint16_t now, uint16_t mark) { return (uint16_t)(now + AHEAD - mark); }

static bool has_aged(uint16_t now, uint16_t mark, uint16_t age)
{
	return age_of(now, mark) > age + AHEAD;
}

/* The younger of two marks. */
static uint16_t younger(uint16_t a, uint16_t b, uint16_t now)
{
	return age_of(now, b) < age_of(now, a) ? b : a;
}

static uint16_t last_use(uint32_t i, uint16_t seen, uint16_t now, const uint16_t *const *used,
                         unsigned readers)
{
	for (unsigned r = 0; r < readers; r++)
		if (used[r])
			seen = younger(seen, __atomic_load_n(&used[r][i], __ATOMIC_RELAXED), now);
	return seen;
}

uint32_t fdb_age(struct fdb_writer *w, uint32_t n, uint16_t now, uint16_t age,
                 const uint16_t *const *used, unsigned readers)
{
	const uint32_t slots = fdb_slots(w->table);
	uint32_t removed = 0;
	assert(age <= FDB_AGE_MAX);
	w->now = now;
	for (n = u32_min(n, slots); n; n--) {
		const uint32_t i = w->age_at;
		struct fdb_own *own = &w->own[i];
		w->age_at = i + 1 < slots ? i + 1 : 0;
		if (w->table->slot[i] == 0 || own->fixed || !has_aged(now, own->seen, age))
			continue;
		own->seen = last_use(i, own->seen, now, used, readers);
		if (!has_aged(now, own->seen, age))
			continue;
		drop_slot(w, i);
		removed++;
	}
	return removed;
}

uint16_t fdb_idle(const struct fdb_writer *w, uint32_t slot, uint16_t now, const uint16_t *const *used,
                  unsigned readers)
{
	const uint16_t age = age_of(now, last_use(slot, w->own[slot].seen, now, used, readers));
	return age > AHEAD ? age - AHEAD : 0;
}

bool fdb_next(const struct fdb_writer *w, uint32_t *cursor, struct fdb_entry *e)
{
	for (; *cursor < fdb_slots(w->table); ++*cursor) {
		const uint32_t i = *cursor;
		const uint64_t word = w->table->slot[i];
		if (word == 0)
			continue;
		*e = (struct fdb_entry){word & ~(uint64_t)(FDB_PORTS - 1), port_in(word), w->own[i].fixed, i};
		++*cursor;
		return true;
	}
	return false;
}
