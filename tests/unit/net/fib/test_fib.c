/*
 * net/fib against a slow, obvious oracle: a hash of all prefixes, searched from /32 down to /0.
 * Most tests hold for any table behind fib.h; the last ones depend on the trie.
 */
#include "tests/unit/rig/host.h"

#include <pthread.h>
#include <sched.h>

#include "net/fib/fib.h"
#include "tests/unit/rig/fib_paths.h"
#include "tests/unit/rig/prefixes.h"

#define BATCH FIB_BATCH_MAX

/* --- the oracle --- */

struct oracle_slot {
	uint32_t addr;
	uint8_t plen;
	bool in_use;
	uint32_t nh; /* 0: was removed */
};

struct oracle {
	struct oracle_slot *slot;
	uint32_t mask;
	uint32_t count;
};

static uint32_t mask_of(unsigned plen)
{
	return plen ? ~0u << (32 - plen) : 0;
}

static struct oracle oracle_make(uint32_t slots)
{
	struct oracle o = {calloc(slots, sizeof(struct oracle_slot)), slots - 1, 0};
	assert_non_null(o.slot);
	return o;
}

static struct oracle_slot *oracle_slot(const struct oracle *o, uint32_t addr, unsigned plen)
{
	uint64_t h = ((uint64_t)addr << 6 | plen) * 0x9e3779b97f4a7c15u;
	uint32_t i = (uint32_t)(h >> 32) & o->mask;
	while (o->slot[i].in_use && (o->slot[i].addr != addr || o->slot[i].plen != plen))
		i = (i + 1) & o->mask;
	return &o->slot[i];
}

static void oracle_set(struct oracle *o, uint32_t addr, unsigned plen, uint32_t nh)
{
	struct oracle_slot *s = oracle_slot(o, addr, plen);
	uint32_t was = s->in_use ? s->nh : 0;
	o->count += (nh != 0) - (was != 0);
	*s = (struct oracle_slot){addr, (uint8_t)plen, true, nh};
}

static uint32_t oracle_get(const struct oracle *o, uint32_t addr, unsigned plen)
{
	const struct oracle_slot *s = oracle_slot(o, addr, plen);
	return s->in_use ? s->nh : 0;
}

static uint32_t oracle_lookup(const struct oracle *o, uint32_t dst)
{
	for (unsigned plen = 33; plen-- > 0;) {
		uint32_t nh = oracle_get(o, dst & mask_of(plen), plen);
		if (nh)
			return nh;
	}
	return FIB_NH_NONE;
}

/* --- a table and its oracle --- */

struct table {
	struct fib_writer w;
	struct oracle o;
	void *shared, *priv;
	size_t shared_bytes, priv_bytes;
};

static struct table table_of_bytes(size_t shared_bytes, size_t priv_bytes, uint32_t slots)
{
	struct table t = {.o = oracle_make(slots), .shared_bytes = shared_bytes, .priv_bytes = priv_bytes};
	assert_int_equal(posix_memalign(&t.shared, 64, shared_bytes), 0);
	assert_int_equal(posix_memalign(&t.priv, 64, priv_bytes), 0);
	memset(t.shared, 0xa5, shared_bytes);
	memset(t.priv, 0xa5, priv_bytes);
	assert_int_equal(fib4_init(&t.w, t.shared, shared_bytes, t.priv, priv_bytes), 0);
	return t;
}

static struct table table_make(uint32_t routes, uint32_t slots)
{
	size_t shared = fib4_shared_bytes(routes);
	return table_of_bytes(shared, fib4_private_bytes(routes, shared), slots);
}

static void table_free(struct table *t)
{
	free(t->o.slot);
	free(t->shared);
	free(t->priv);
}

static void insert(struct table *t, uint32_t addr, unsigned plen, uint32_t nh)
{
	assert_int_equal(fib4_insert(&t->w, addr, plen, nh), 0);
	oracle_set(&t->o, addr, plen, nh);
}

static void assert_answer(const struct table *t, uint32_t dst)
{
	uint32_t have = fib4_lookup(t->w.fib, dst), want = oracle_lookup(&t->o, dst);
	if (have != want)
		fail_msg("%08x: next hop %u, should be %u", dst, have, want);
}

/* The addresses where a change of addr/plen must show, or must not. */
static void assert_around(const struct table *t, uint32_t addr, unsigned plen)
{
	uint32_t last = addr | ~mask_of(plen);
	assert_answer(t, addr);
	assert_answer(t, last);
	assert_answer(t, addr - 1);
	assert_answer(t, last + 1);
	for (int i = 0; i < 4; i++)
		assert_answer(t, addr | ((uint32_t)random64() & ~mask_of(plen)));
}

/* Batch look-ups by all methods, and single ones, agree with the oracle. */
static void assert_batch(struct table *t, const uint32_t *dst, unsigned n)
{
	uint32_t nh[BATCH + 1], want[BATCH];
	for (unsigned i = 0; i < n; i++) {
		want[i] = oracle_lookup(&t->o, dst[i]);
		assert_int_equal(fib4_lookup(t->w.fib, dst[i]), want[i]);
	}
	for (enum fib_path path = 0; path < FIB_PATHS; path++) {
		if (!fib_path_runs(path))
			continue;
		fib_use(&t->w, path);
		memset(nh, 0xff, n * sizeof *nh);
		nh[n] = 0xfeed;
		fib4_lookup_batch(t->w.fib, dst, nh, n);
		assert_memory_equal(nh, want, n * sizeof *nh);
		assert_int_equal(nh[n], 0xfeed);
	}
}

/* The walk returns every prefix of the oracle once, in order. */
static void assert_walk(const struct table *t)
{
	struct fib_cursor cursor = {0};
	uint64_t before = 0;
	uint32_t n = 0;
	struct fib4_route r;
	while (fib4_next(&t->w, &cursor, &r)) {
		uint64_t key = ((uint64_t)r.prefix << 6 | r.plen) + 1;
		assert_true(key > before);
		before = key;
		assert_int_equal(r.nh, oracle_get(&t->o, r.prefix, r.plen));
		assert_int_equal(r.nh, fib4_get(&t->w, r.prefix, r.plen));
		n++;
	}
	assert_int_equal(n, t->o.count);
	assert_int_equal(n, fib_count(&t->w));
	assert_false(fib4_next(&t->w, &cursor, &r));
}

/* Removes everything; then nothing may be left, and no memory lost. */
static void empty(struct table *t)
{
	struct fib_cursor cursor = {0};
	struct fib4_route r;
	while (fib4_next(&t->w, &cursor, &r)) {
		assert_int_equal(fib4_remove(&t->w, r.prefix, r.plen), 0);
		oracle_set(&t->o, r.prefix, r.plen, 0);
		cursor = (struct fib_cursor){0};
	}
	assert_int_equal(fib_count(&t->w), 0);
	for (uint32_t top = 0; top < 65536; top++)
		assert_int_equal(fib4_lookup(t->w.fib, top << 16 | 0x5555), FIB_NH_NONE);
	fib_reclaim(&t->w);
	assert_int_equal(fib_retired(&t->w), 0);
}

/* --- tests of any table --- */

static void by_hand(void **s)
{
	(void)s;
	struct table t = table_make(100, 1024);
	assert_int_equal(fib4_lookup(t.w.fib, 0x0a000001), FIB_NH_NONE);
	insert(&t, 0, 0, 1);
	insert(&t, 0x0a000000, 8, 2);
	insert(&t, 0x0a010000, 16, 3);
	insert(&t, 0x0a010200, 24, 4);
	insert(&t, 0x0a010203, 32, 5);
	insert(&t, 0x0a010202, 31, 6);
	assert_int_equal(fib4_lookup(t.w.fib, 0x0b000000), 1);
	assert_int_equal(fib4_lookup(t.w.fib, 0x0a020000), 2);
	assert_int_equal(fib4_lookup(t.w.fib, 0x0a010300), 3);
	assert_int_equal(fib4_lookup(t.w.fib, 0x0a010204), 4);
	assert_int_equal(fib4_lookup(t.w.fib, 0x0a010203), 5);
	assert_int_equal(fib4_lookup(t.w.fib, 0x0a010202), 6);
	insert(&t, 0x0a010200, 24, FIB_NH_LIMIT - 1); /* changed, not added */
	assert_int_equal(fib_count(&t.w), 6);
	assert_int_equal(fib4_lookup(t.w.fib, 0x0a010204), FIB_NH_LIMIT - 1);
	assert_int_equal(fib4_remove(&t.w, 0x0a010203, 32), 0);
	oracle_set(&t.o, 0x0a010203, 32, 0);
	assert_int_equal(fib4_lookup(t.w.fib, 0x0a010203), 6);
	assert_int_equal(fib4_remove(&t.w, 0x0a010203, 32), E_NOENT);
	assert_int_equal(fib4_remove(&t.w, 0x0a010202, 31), 0);
	oracle_set(&t.o, 0x0a010202, 31, 0);
	assert_int_equal(fib4_lookup(t.w.fib, 0x0a010202), FIB_NH_LIMIT - 1);
	assert_walk(&t);
	empty(&t);
	table_free(&t);
}

static void bad_arguments(void **s)
{
	(void)s;
	struct table t = table_make(10, 64);
	assert_int_equal(fib4_insert(&t.w, 0x0a000001, 24, 1), E_INVAL);
	assert_int_equal(fib4_insert(&t.w, 1, 0, 1), E_INVAL);
	assert_int_equal(fib4_insert(&t.w, 0, 33, 1), E_INVAL);
	assert_int_equal(fib4_insert(&t.w, 0, 8, FIB_NH_NONE), E_INVAL);
	assert_int_equal(fib4_insert(&t.w, 0, 8, FIB_NH_LIMIT), E_INVAL);
	assert_int_equal(fib4_remove(&t.w, 0, 33), E_NOENT);
	assert_int_equal(fib4_remove(&t.w, 0, 0), E_NOENT);
	assert_int_equal(fib4_remove(&t.w, 0x0a000001, 24), E_NOENT);
	assert_int_equal(fib4_get(&t.w, 0, 0), FIB_NH_NONE);
	assert_int_equal(fib4_get(&t.w, 0, 40), FIB_NH_NONE);
	assert_walk(&t);
	struct fib_writer w;
	size_t shared = fib4_shared_bytes(10), priv = fib4_private_bytes(10, shared);
	assert_int_equal(fib4_init(&w, t.shared, 1000, t.priv, priv), E_NOMEM);
	assert_int_equal(fib4_init(&w, t.shared, shared, t.priv, 100), E_NOMEM);
	table_free(&t);
}

/* Few distinct bits, so that prefixes overlap at all levels and everything is changed
 * repeatedly. */
static uint32_t crowded(void)
{
	uint32_t bits = (uint32_t)random64();
	return 0x0a000000 | (bits & 0x00018181) | (bits & 3 ? bits & 0x3f : bits & 0xff);
}

static void random_changes(void **s)
{
	(void)s;
	static struct prefix past[4000];
	struct table t = table_make(4000, 1 << 20);
	seed_random("random_changes");
	for (unsigned step = 0; step < random_rounds(60000); step++) {
		unsigned plen = random_below(20) ? 6 + random_below(27) : random_below(33);
		uint32_t addr = (random_below(8) ? crowded() : (uint32_t)random64()) & mask_of(plen);
		/* alternates between filling and emptying */
		bool fill = random_below(100) < (step / 5000 % 2 ? 35u : 65u);
		if (fill && t.o.count < 3900) {
			insert(&t, addr, plen, 1 + random_below(1000));
			past[step % ARRAY_LEN(past)] = (struct prefix){.addr = addr, .plen = plen};
		} else {
			/* half of the time one that was inserted before and is likely to be
			 * there */
			unsigned tries = random_below(2) ? 8 : 0;
			for (; tries > 0 && !oracle_get(&t.o, addr, plen); tries--) {
				struct prefix q = past[random_below(ARRAY_LEN(past))];
				addr = q.addr;
				plen = q.plen;
			}
			bool there = oracle_get(&t.o, addr, plen) != 0;
			assert_int_equal(fib4_remove(&t.w, addr, plen), there ? 0 : E_NOENT);
			oracle_set(&t.o, addr, plen, 0);
		}
		assert_around(&t, addr, plen);
		assert_int_equal(fib_count(&t.w), t.o.count);
		if (random_below(50) == 0)
			fib_reclaim(&t.w);
		if (step % 2000 == 0)
			assert_walk(&t);
		if (step % 100 == 0) {
			uint32_t dst[BATCH];
			unsigned n = random_below(BATCH + 1);
			for (unsigned i = 0; i < n; i++)
				dst[i] = random_below(4) ? crowded() : (uint32_t)random64();
			assert_batch(&t, dst, n);
		}
	}
	empty(&t);
	table_free(&t);
}

static void fill_and_check(const struct prefix *p, unsigned n)
{
	struct table t = table_make(n, 1 << 22);
	for (unsigned i = 0; i < n; i++)
		insert(&t, p[i].addr, p[i].plen, p[i].nh);
	assert_int_equal(fib_count(&t.w), t.o.count);
	assert_walk(&t);
	uint32_t dst[BATCH];
	for (int round = 0; round < 200; round++) {
		for (unsigned i = 0; i < BATCH; i++) {
			struct prefix q = p[random_below(n)];
			dst[i] = round % 2 ? (uint32_t)random64()
			                   : q.addr | ((uint32_t)random64() & ~mask_of(q.plen));
		}
		assert_batch(&t, dst, BATCH);
	}
	/* Half of it out, some of it in again, with the default route changing at the same time. */
	for (unsigned i = 0; i < n; i += 2) {
		uint32_t was = oracle_get(&t.o, p[i].addr, p[i].plen);
		assert_int_equal(fib4_remove(&t.w, p[i].addr, p[i].plen), was ? 0 : E_NOENT);
		oracle_set(&t.o, p[i].addr, p[i].plen, 0);
		if (i % 64 == 0)
			assert_around(&t, p[i].addr, p[i].plen);
		if (i % 1024 == 0)
			fib_reclaim(&t.w);
	}
	fib_reclaim(&t.w);
	insert(&t, 0, 0, 65);
	for (unsigned i = 0; i < n; i += 6)
		insert(&t, p[i].addr, p[i].plen, 66);
	for (unsigned i = 0; i < n; i += 97)
		assert_around(&t, p[i].addr, p[i].plen);
	assert_walk(&t);
	for (unsigned i = 0; i < n; i++)
		if (oracle_get(&t.o, p[i].addr, p[i].plen)) {
			assert_int_equal(fib4_remove(&t.w, p[i].addr, p[i].plen), 0);
			oracle_set(&t.o, p[i].addr, p[i].plen, 0);
		}
	assert_int_equal(fib_count(&t.w), 1);
	empty(&t);
	table_free(&t);
}

static void made_up_100k(void **s)
{
	(void)s;
	struct prefix *p;
	seed_random("made_up_100k");
	unsigned n = prefixes_make(&p, 100000);
	fill_and_check(p, n);
	free(p);
}

static void made_up_full(void **s)
{
	(void)s;
	struct prefix *p;
	seed_random("made_up_full");
	unsigned n = prefixes_make(&p, GLOBAL_COUNT);
	fill_and_check(p, n);
	free(p);
}

static void global_table(void **s)
{
	(void)s;
	struct prefix *p;
	seed_random("global_table");
	unsigned n = prefixes_load(&p);
	if (n == 0) {
		printf("global_table: no file of prefixes; made_up_full stands in\n");
		skip();
	}
	printf("global_table: %u prefixes\n", n);
	fill_and_check(p, n);
	free(p);
}

/* Any subset of the table fits into what fib4_shared_bytes returns for it. */
static void thinned_tables_fit(void **s)
{
	(void)s;
	struct prefix *p;
	seed_random("thinned_tables_fit");
	unsigned all = prefixes_load(&p);
	if (all == 0)
		all = prefixes_make(&p, GLOBAL_COUNT);
	for (unsigned n = 1; n < all; n = n * 5 + 3) {
		struct table t = table_make(n, 2);
		for (unsigned i = 0; i < n; i++) {
			struct prefix q = p[random_below(all)];
			assert_int_equal(fib4_insert(&t.w, q.addr, q.plen, 1), 0);
		}
		table_free(&t);
	}
	free(p);
}

/* --- tests that depend on the trie: how many nodes of which size a change needs --- */

#define FIB4_LEAST (64 + (4u << 17)) /* bytes of a table without space for nodes */

/* `kib` more space for nodes than the smallest table has, and `nodes` more nodes of the prefix tree
 * than the root. */
static struct table table_of_room(size_t kib, size_t nodes, uint32_t slots)
{
	size_t shared = FIB4_LEAST + kib * 1024;
	return table_of_bytes(shared, fib4_private_bytes(0, shared) + nodes * 32, slots);
}

static void room_is_given_back(void **s)
{
	(void)s;
	struct table t = table_make(100, 1024);
	size_t empty_bytes = fib_bytes(&t.w);
	insert(&t, 0x0a010200, 24, 4);
	size_t one = fib_bytes(&t.w);
	assert_int_equal(one - empty_bytes, 128); /* as many entries of one byte */
	assert_int_equal(fib_retired(&t.w), 0);
	insert(&t, 0x0a010203, 32, 5); /* words now; and 256 entries of one byte below */
	assert_int_equal(fib_bytes(&t.w) - empty_bytes, 512 + 256);
	assert_int_equal(fib_retired(&t.w), 1);
	insert(&t, 0x0a010202, 31, 256); /* half words there */
	assert_int_equal(fib_bytes(&t.w) - empty_bytes, 512 + 512);
	assert_int_equal(fib4_remove(&t.w, 0x0a010203, 32), 0); /* half of them */
	assert_int_equal(fib_bytes(&t.w) - empty_bytes, 512 + 256);
	assert_int_equal(fib4_remove(&t.w, 0x0a010202, 31), 0); /* none */
	assert_int_equal(fib_bytes(&t.w) - empty_bytes, 256);
	assert_int_equal(fib4_remove(&t.w, 0x0a010200, 24), 0);
	assert_int_equal(fib_bytes(&t.w), empty_bytes);
	assert_int_equal(fib_retired(&t.w), 6);
	table_free(&t);
}

/* A prefix whose next hop does not fit a byte widens all nodes below it, hidden or not, so that
 * nothing is missing when the prefix that hid it is removed. */
static void covers_widen(void **s)
{
	(void)s;
	static const uint32_t cover[] = {255, 256, 60000};
	seed_random("covers_widen");
	for (unsigned c = 0; c < ARRAY_LEN(cover); c++) {
		struct table t = table_make(1000, 4096);
		for (unsigned i = 0; i < 128; i++)
			insert(&t, 0x0a000000 | i << 8, 24, 1 + i);
		insert(&t, 0x0a000081, 32, 200);
		size_t narrow = fib_bytes(&t.w);
		insert(&t, 0x0a000000, 8, cover[c]);
		assert_int_equal(fib_bytes(&t.w) > narrow, cover[c] > 255);
		for (unsigned i = 0; i < 128; i++) {
			assert_around(&t, 0x0a000000 | i << 8, 24);
			assert_int_equal(fib4_remove(&t.w, 0x0a000000 | i << 8, 24), 0);
			oracle_set(&t.o, 0x0a000000 | i << 8, 24, 0);
			assert_around(&t, 0x0a000000 | i << 8, 24);
		}
		empty(&t);
		table_free(&t);
	}
}

/* How many /32, each of which needs two nodes of its own, fit into the empty table; afterwards it
 * is empty again. */
static unsigned capacity(struct table *t)
{
	uint32_t n = 0;
	for (; fib4_insert(&t->w, n << 16 | 0x100, 32, 1) == 0; n++)
		oracle_set(&t->o, n << 16 | 0x100, 32, 1);
	empty(t);
	return n;
}

/* A table that runs out of memory refuses, and is unchanged to the last byte that readers see. When
 * everything is removed, all memory is free again. */
static void out_of_memory(void **s)
{
	(void)s;
	seed_random("out_of_memory");
	for (int round = 0; round < 20; round++) {
		struct table t = table_of_room(2 + random_below(30), random_below(60), 1 << 14);
		uint8_t *before = malloc(t.shared_bytes);
		unsigned refused = 0, fit = capacity(&t);
		for (int step = 0; step < 400; step++) {
			unsigned plen = 14 + random_below(19);
			uint32_t addr = (uint32_t)random64() & 0x0f0f0fff & mask_of(plen);
			memcpy(before, t.shared, t.shared_bytes);
			uint32_t count = fib_count(&t.w), was = fib4_get(&t.w, addr, plen);
			uint32_t nh = random_below(8) ? 7 : 700;
			int rc = fib4_insert(&t.w, addr, plen, nh);
			if (rc == 0) {
				oracle_set(&t.o, addr, plen, nh);
			} else {
				assert_int_equal(rc, E_NOMEM);
				assert_true(was == 0 || (was < 256 && nh >= 256));
				assert_memory_equal(before, t.shared, t.shared_bytes);
				assert_int_equal(fib_count(&t.w), count);
				assert_int_equal(fib4_get(&t.w, addr, plen), was);
				refused++;
			}
			assert_around(&t, addr, plen);
		}
		assert_true(refused > 0);
		assert_walk(&t);
		empty(&t);
		assert_int_equal(capacity(&t), fit);
		free(before);
		table_free(&t);
	}
}

/* Retired memory keeps its contents until fib_reclaim, for readers that still use it. */
static void retired_memory_rests(void **s)
{
	(void)s;
	struct table t = table_of_room(2, 100, 1024);
	insert(&t, 0x0a000001, 32, 1); /* 512 and 256 bytes */
	insert(&t, 0x0b000001, 32, 1);
	assert_int_equal(fib4_insert(&t.w, 0x0c000001, 32, 2), E_NOMEM);
	assert_int_equal(fib4_remove(&t.w, 0x0a000001, 32), 0);
	assert_int_equal(fib_retired(&t.w), 2);
	assert_int_equal(fib4_insert(&t.w, 0x0c000001, 32, 2), E_NOMEM);
	fib_reclaim(&t.w);
	assert_int_equal(fib_retired(&t.w), 0);
	assert_int_equal(fib4_insert(&t.w, 0x0c000001, 32, 2), 0);
	assert_int_equal(fib4_lookup(t.w.fib, 0x0c000001), 2);
	assert_int_equal(fib4_lookup(t.w.fib, 0x0a000001), FIB_NH_NONE);
	table_free(&t);
}

/* A reader on another core while routes come and go: every answer was correct for that address at
 * some time, and none comes from a node that was reused (next hops from 100 up). */
struct reader {
	const struct fib *fib;
	uint64_t loops; /* quiescent points passed */
	bool stop;
	unsigned wrong;
};

static void *read_on(void *arg)
{
	struct reader *r = arg;
	uint32_t dst[BATCH], nh[BATCH];
	for (unsigned i = 0; i < BATCH; i++)
		dst[i] = 0x0a010000 | (i * 0x0101);
	while (!__atomic_load_n(&r->stop, __ATOMIC_RELAXED)) {
		fib4_lookup_batch(r->fib, dst, nh, BATCH);
		for (unsigned i = 0; i < BATCH; i++)
			r->wrong += nh[i] == 0 || nh[i] >= 100 || fib4_lookup(r->fib, dst[i]) - 1 >= 99;
		__atomic_fetch_add(&r->loops, 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

/* Waits until the reader has begun and ended a whole loop. */
static void quiesce(struct reader *r)
{
	uint64_t seen = __atomic_load_n(&r->loops, __ATOMIC_ACQUIRE);
	while (__atomic_load_n(&r->loops, __ATOMIC_ACQUIRE) < seen + 2)
		sched_yield();
}

static void reader_of(enum fib_path path)
{
	struct table t = table_of_room(22, 1000, 2);
	struct reader r = {.fib = t.w.fib};
	pthread_t thread;
	fib_use(&t.w, path);
	assert_int_equal(fib4_insert(&t.w, 0x0a000000, 8, 1), 0);
	assert_int_equal(pthread_create(&thread, NULL, read_on, &r), 0);
	unsigned retired = 0;
	for (int round = 0; round < 500; round++) {
		bool theirs = round % 2;
		for (int k = 0; k < 40; k++) {
			unsigned plen = 15 + random_below(18);
			uint32_t addr = (theirs ? 0x0a010000 : 0x0b000000) | (random64() & 0xffff);
			uint32_t others = random_below(2) ? 100 : 1000;
			fib4_insert(&t.w, addr & mask_of(plen), plen, theirs ? 2 + plen : others + plen);
		}
		struct fib_cursor cursor = {0};
		struct fib4_route q;
		while (fib4_next(&t.w, &cursor, &q))
			if (q.plen > 8)
				assert_int_equal(fib4_remove(&t.w, q.prefix, q.plen), 0);
		retired += fib_retired(&t.w);
		quiesce(&r);
		fib_reclaim(&t.w);
	}
	__atomic_store_n(&r.stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	assert_int_equal(r.wrong, 0);
	assert_true(retired > 5000);
	assert_int_equal(fib_count(&t.w), 1);
	table_free(&t);
}

static void reader_meanwhile(void **s)
{
	(void)s;
	seed_random("reader_meanwhile");
	for (enum fib_path path = 0; path < FIB_PATHS; path++) {
		if (fib_path_runs(path))
			reader_of(path);
		else
			printf("reader_meanwhile: this host has no %s\n", fib_path_name[path]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_hand),          cmocka_unit_test(bad_arguments),
		cmocka_unit_test(random_changes),   cmocka_unit_test(made_up_100k),
		cmocka_unit_test(thinned_tables_fit), cmocka_unit_test(global_table),
		cmocka_unit_test(room_is_given_back), cmocka_unit_test(covers_widen),
		cmocka_unit_test(out_of_memory),
		cmocka_unit_test(retired_memory_rests), cmocka_unit_test(reader_meanwhile),
	};
	const struct CMUnitTest stand_in[] = {cmocka_unit_test(made_up_full)};
	int failed = cmocka_run_group_tests_name("fib", tests, NULL, NULL);
	if (!prefixes_present())
		failed += cmocka_run_group_tests_name("fib, no file", stand_in, NULL, NULL);
	return failed;
}
