/*
 * runtime/ring.c, messages of several slots: what comes out of the ring are the bytes of the packet that went in,
 * whatever its pieces; a ring without room takes nothing; a wrong slot costs its packet and nothing else.
 */
#include "tests/unit/rig/host.h"

#include "runtime/ring.c"

#define SLOTS 100u
#define BUFS 120u
#define CORES 2u
#define CONTROL 0u
#define DATA 1u

struct core_self self;
struct core_trace core_trace;
static struct boot_info info;
static uint8_t *shm[CORES];
static uint32_t features = NIC_TSO4;
static struct bufpool from; /* the control core's */
static uint8_t *from_base, *to_base;
static uint32_t from_stack[BUFS], to_stack[BUFS];

/* --- stand-ins --- */

uint32_t core_tx_features(void) { return features; }
static const struct control_hooks hooks;
static const struct app app = {.control = &hooks};
const struct app *core_app(void) { return &app; }
bool core_ports_running(void) { return true; }
void steer_worker_restart(void) {}
int64_t kcall(enum kcall number, uint64_t a, uint64_t b, uint64_t c)
{
	(void)number, (void)a, (void)b, (void)c;
	return 0;
}
void core_event_seldom(enum core_event_number number, uint64_t first, uint64_t second) { (void)number, (void)first, (void)second; }

static void be(unsigned core)
{
	self.id = core;
	self.counters = &core_shm_of(core)->counters;
}

static int setup(void **state)
{
	(void)state;
	for (unsigned i = 0; i < CORES; i++)
		memset(shm[i], 0, 3 * (size_t)CORE_SHM_AREA);
	struct published *s = published_header();
	s->slots = SLOTS;
	s->ports = s->pairs = 1;
	s->buf_stride = BUF_STRIDE_STANDARD;
	s->pair_of[0] = 0;
	s->owner_of[0] = STEER_NOBODY;
	bufpool_init(&from, from_base, from_stack, BUFS, BUF_STRIDE_STANDARD);
	bufpool_init(&self.pool, to_base, to_stack, BUFS, BUF_STRIDE_STANDARD);
	features = NIC_TSO4;
	be(CONTROL);
	return 0;
}

static int group_setup(void **state)
{
	(void)state;
	info.first_data_core = 1;
	info.data_cores = 1;
	info.cores = CORES;
	static struct published published;
	info.published = (uint64_t)(uintptr_t)&published;
	self.info = &info;
	for (unsigned i = 0; i < CORES; i++) {
		shm[i] = aligned_alloc(4096, 3 * (size_t)CORE_SHM_AREA);
		info.core[i].shm = (uint64_t)(uintptr_t)shm[i];
	}
	from_base = aligned_alloc(64, BUFS * (size_t)BUF_STRIDE_STANDARD);
	to_base = aligned_alloc(64, BUFS * (size_t)BUF_STRIDE_STANDARD);
	return 0;
}

static int group_end(void **state)
{
	(void)state;
	for (unsigned i = 0; i < CORES; i++)
		free(shm[i]);
	free(from_base);
	free(to_base);
	return 0;
}

/* --- packets --- */

static uint8_t bytes_in[1 << 17], bytes_out[1 << 17];

static unsigned flat(const struct bufpool *pool, const struct pkt *p, uint8_t *out)
{
	const struct pkt_frag *f = pkt_frags(pool, p->buf);
	unsigned n = p->len;
	memcpy(out, p->data, n);
	for (unsigned i = 0; i < pkt_meta(pool, p->buf)->frags; i++, f++) {
		memcpy(out + n, buf_at(pool, f->buf, f->offset), f->len);
		n += f->len;
	}
	return n;
}

/* A packet of so many pieces of at most `most` bytes, as TCP makes them. */
static struct pkt make(unsigned pieces, unsigned most)
{
	struct pkt p, piece;
	assert_true(pkt_alloc(&from, &p));
	struct pkt_meta *meta = pkt_meta(&from, p.buf);
	p.len = (uint16_t)(54 + 4 * random_below(11));
	p.flags = PKT_OWN | PKT_TSO | PKT_CHAIN | PKT_CSUM_PARTIAL;
	random_fill(p.data, p.len);
	*meta = (struct pkt_meta){.csum_start = 34, .csum_offset = 16, .mss = (uint16_t)(1 + random_below(9000)),
	                          .hdr_bytes = p.len, .frags = (uint8_t)pieces};
	for (unsigned i = 0; i < pieces; i++) {
		const unsigned len = 1 + random_below(most), offset = 64 + random_below(BUF_STRIDE_STANDARD - 64 - len + 1);
		assert_true(pkt_alloc(&from, &piece));
		pkt_meta(&from, piece.buf)->refs = 1;
		random_fill(buf_base(&from, piece.buf) + offset, len);
		pkt_frags(&from, p.buf)[i] = (struct pkt_frag){piece.buf, (uint16_t)offset, (uint16_t)len};
		meta->frag_bytes = (uint16_t)(meta->frag_bytes + len);
	}
	return p;
}

static int inject(const struct pkt *p)
{
	be(CONTROL);
	return core_inject_whole(0, 3, &from, p, 7);
}

static bool take(struct pkt *p)
{
	be(DATA);
	const struct core_msg *m = ring_inject_next();
	assert_non_null(m);
	assert_int_equal(m->kind, 7);
	assert_true(m->flags & PKT_TSO);
	return ring_inject_whole(m, p);
}

static void test_bytes(void **state)
{
	(void)state;
	for (unsigned i = random_rounds(3000); i; i--) {
		be(CONTROL);
		struct pkt out, in = make(1 + random_below(PKT_FRAGS_MAX), random_below(8) ? 1448 : 1 + random_below(2000));
		const unsigned slots = core_inject_slots(&from, &in), room = core_inject_room(0), n = flat(&from, &in, bytes_in);
		assert_int_equal(room, SLOTS);
		assert_int_equal(inject(&in), E_OK);
		assert_int_equal(core_inject_room(0), SLOTS - slots);
		assert_true(take(&out));
		const struct pkt_meta *a = pkt_meta(&from, in.buf), *b = pkt_meta(&self.pool, out.buf);
		assert_int_equal(flat(&self.pool, &out, bytes_out), n);
		assert_memory_equal(bytes_in, bytes_out, n);
		assert_int_equal(pkt_bytes(&self.pool, &out), n);
		assert_int_equal(out.flags, in.flags);
		assert_int_equal(out.interface, 3);
		assert_true(a->mss == b->mss && a->csum_start == b->csum_start && a->csum_offset == b->csum_offset &&
		            a->hdr_bytes == b->hdr_bytes && b->frags == slots - 1);
		assert_null(ring_inject_next());
		pkt_free(&self.pool, &out);
		pkt_free(&from, &in);
		assert_true(self.pool.free == BUFS && from.free == BUFS);
	}
}

/* A ring fills, and takes no part of what does not fit. */
static void test_full(void **state)
{
	unsigned room = SLOTS, waiting = 0;
	struct pkt p = make(20, 1448), out;
	const unsigned slots = core_inject_slots(&from, &p);
	(void)state;
	for (; room >= slots; room -= slots, waiting++)
		assert_int_equal(inject(&p), E_OK);
	assert_int_equal(inject(&p), E_AGAIN);
	assert_int_equal(core_inject_room(0), room);
	for (; waiting; waiting--) {
		assert_true(take(&out));
		pkt_free(&self.pool, &out);
	}
	assert_null(ring_inject_next());
	assert_int_equal(inject(&p), E_OK);
	be(DATA);
	core_shm_of(DATA)->inject_tail += 2 * SLOTS; /* a tail that cannot be: no room */
	be(CONTROL);
	assert_int_equal(core_inject_room(0), 0);
	assert_int_equal(core_inject_room(1), 0);
	pkt_free(&from, &p);
}

static void test_no_buffers(void **state)
{
	struct pkt p = make(20, 1448), out, held[BUFS];
	const unsigned slots = core_inject_slots(&from, &p);
	unsigned n = 0;
	(void)state;
	while (self.pool.free >= slots)
		assert_true(pkt_alloc(&self.pool, &held[n++]));
	assert_int_equal(inject(&p), E_OK);
	assert_int_equal(inject(&p), E_OK);
	assert_false(take(&out));
	assert_int_equal(self.counters->v[CNT_originated_drop_no_buffer], 1);
	pkt_free(&self.pool, &held[--n]);
	assert_true(take(&out));
	pkt_free(&self.pool, &out);
	while (n)
		pkt_free(&self.pool, &held[--n]);
	assert_int_equal(self.pool.free, BUFS);
	assert_null(ring_inject_next());
	pkt_free(&from, &p);
}

/* Without TSO in the devices no packet comes out that asks for it. */
static void test_no_feature(void **state)
{
	struct pkt p = make(3, 1448), out;
	(void)state;
	features = NIC_SG;
	assert_int_equal(inject(&p), E_OK);
	assert_false(take(&out));
	assert_int_equal(self.counters->v[CNT_originated_drop_tx], 1);
	assert_null(ring_inject_next());
	pkt_free(&from, &p);
}

static void test_too_long(void **state)
{
	struct pkt p = make(1, 100);
	(void)state;
	pkt_meta(&from, p.buf)->frag_bytes = 0xffff;
	published_header()->buf_stride = 1500;
	assert_true(core_inject_slots(&from, &p) > 1 + PKT_FRAGS_MAX);
	assert_int_equal(inject(&p), E_INVAL);
	pkt_free(&from, &p);
}

/* Slots that the control core's program has written wrongly. */
static void test_damage(void **state)
{
	unsigned lost = 0;
	(void)state;
	for (unsigned i = random_rounds(3000); i; i--) {
		struct pkt out, p = make(1 + random_below(PKT_FRAGS_MAX), 1448);
		const unsigned slots = core_inject_slots(&from, &p);
		assert_int_equal(inject(&p), E_OK);
		const uint64_t first = core_shm_of(CONTROL)->inject_head[0] - slots;
		struct core_msg *m = slot(inject_ring(0), first + (random_below(2) ? 0 : random_below(slots)));
		switch (random_below(4)) {
		case 0:
			m->len = (uint16_t)random64();
			break;
		case 1:
			m->arg = (uint32_t)random64();
			break;
		case 2:
			m->arg ^= 1u << random_below(32);
			break;
		default:
			m->len ^= (uint16_t)(1u << random_below(16));
			break;
		}
		if (take(&out)) {
			const struct pkt_meta *meta = pkt_meta(&self.pool, out.buf);
			assert_true(meta->mss && meta->csum_start + 18u <= out.len && meta->hdr_bytes == out.len);
			assert_true(meta->frags >= 1 && meta->frags <= PKT_FRAGS_MAX);
			assert_true(flat(&self.pool, &out, bytes_out) <= 0xffff);
			pkt_free(&self.pool, &out);
		} else {
			lost++;
		}
		assert_int_equal(self.pool.free, BUFS);
		assert_int_equal(self.counters->v[CNT_originated_drop_tx], lost);
		assert_true(core_shm_of(DATA)->inject_tail > first && core_shm_of(DATA)->inject_tail <= first + slots);
		ring_inject_skip(); /* what a wrong number of slots has left */
		self.counters->v[CNT_originated_drop_tx] = lost;
		pkt_free(&from, &p);
	}
	assert_true(lost > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_bytes, setup),      cmocka_unit_test_setup(test_full, setup),
		cmocka_unit_test_setup(test_no_buffers, setup), cmocka_unit_test_setup(test_no_feature, setup),
		cmocka_unit_test_setup(test_too_long, setup),   cmocka_unit_test_setup(test_damage, setup),
	};
	seed_random("inject_whole");
	return cmocka_run_group_tests(tests, group_setup, group_end);
}
