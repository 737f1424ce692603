#include "tests/unit/rig/mlx5_ring_rig.h"

#include "hal/mmio.h"

#define LKEY 0x00123400u
#define SQN 0xabcdefu

struct world w;
static char doorbell; /* only its address matters */

static uint32_t get(const uint8_t *p, unsigned bytes)
{
	uint32_t v = 0;
	while (bytes--)
		v = v << 8 | *p++;
	return v;
}

static void put(uint8_t *p, unsigned bytes, uint32_t v)
{
	while (bytes--) {
		p[bytes] = (uint8_t)v;
		v >>= 8;
	}
}

static uint8_t *unit(uint32_t pos)
{
	return bus(bus_of(w.sq) + (pos % w.size) * 64, 64);
}

/* --- registers --- */

void host_mmio_write64(volatile void *a, uint64_t v)
{
	uint8_t word[8];
	assert_ptr_equal(a, &doorbell);
	memcpy(word, &v, 8);
	uint32_t told = get(w.sq_dbr + 4, 4);
	assert_in_range(told, 0, 0xffff);
	w.sq_told = w.sq_at + (uint16_t)(told - w.sq_at);
	w.doorbells++;
	/* The doorbell is the beginning of the last WQE, which ends where the doorbell record
	 * says. */
	uint32_t last = w.sq_told - ((word[7] & 63u) + 3) / 4;
	assert_memory_equal(word, unit(last), 8);
	assert_int_equal(get(word + 1, 2), last & 0xffff);
	assert_in_range(w.sq_told - w.sq_at, 1, w.size);
}

void host_mmio_write(volatile void *a, unsigned bytes, uint32_t v)
{
	(void)bytes;
	(void)v;
	fail_msg("the data path writes a register at %p", (volatile void *)a);
}

/* --- the device --- */

static uint8_t *next_cqe(uint8_t *cq, const uint8_t *dbr, uint32_t *at)
{
	assert_true(((*at - get(dbr, 4)) & 0xffffff) < w.size); /* overrun */
	return bus(bus_of(cq) + ((*at)++ % w.size) * 64, 64);
}

static void write_cqe(uint8_t *cqe, uint32_t at, unsigned bytes, uint16_t counter, uint8_t opcode)
{
	put(cqe + 0x2c, 4, bytes);
	put(cqe + 0x38, 4, SQN);
	put(cqe + 0x3c, 2, counter);
	cqe[0x3e] = 0x5a;
	cqe[0x3f] = (uint8_t)(opcode << 4 | (at / w.size & 1));
}

void device_rx_cqe(unsigned bytes, uint16_t counter, uint8_t opcode)
{
	uint32_t at = w.rx_cq_at;
	write_cqe(next_cqe(w.rx_cq, w.rx_cq_dbr, &w.rx_cq_at), at, bytes, counter, opcode);
}

void device_rx_title(unsigned bytes, uint16_t counter, uint8_t format, unsigned places)
{
	uint32_t at = w.rx_cq_at;
	uint8_t *title = next_cqe(w.rx_cq, w.rx_cq_dbr, &w.rx_cq_at);
	while (--places) {
		uint32_t here = w.rx_cq_at;
		uint8_t last = next_cqe(w.rx_cq, w.rx_cq_dbr, &w.rx_cq_at)[0x3f];
		assert_true(last >> 4 == 15 || (last & 1) != (here / w.size & 1)); /* not new */
	}
	write_cqe(title, at, bytes, counter, 2);
	title[0x3f] |= (uint8_t)(format << 2);
}

void device_tx_cqe(uint16_t counter, uint8_t opcode)
{
	uint32_t at = w.tx_cq_at;
	write_cqe(next_cqe(w.tx_cq, w.tx_cq_dbr, &w.tx_cq_at), at, 0, counter, opcode);
}

unsigned device_room(void)
{
	return (uint16_t)(get(w.rq_dbr, 4) - w.rq_at);
}

uint8_t *device_buffer(void)
{
	const uint8_t *wqe = bus(bus_of(w.rq) + (w.rq_at % w.size) * 16, 16);
	assert_in_range(device_room(), 1, w.size);
	assert_int_equal(get(wqe, 4), w.pool.stride - BUF_DATA_OFFSET);
	assert_int_equal(get(wqe + 4, 4), LKEY);
	return bus((uint64_t)get(wqe + 8, 4) << 32 | get(wqe + 12, 4), get(wqe, 4));
}

/* Writes the header fields of the next CQE. */
static void write_headers(uint8_t checks, uint8_t types, uint16_t tag)
{
	uint8_t *cqe = bus(bus_of(w.rx_cq) + (w.rx_cq_at % w.size) * 64, 64);
	memset(cqe, 0x77, 0x38);
	cqe[0x1c] = checks;
	cqe[0x1d] = types;
	put(cqe + 0x1e, 2, tag);
}

void device_complete(unsigned bytes, uint8_t checks, uint8_t types, uint16_t tag)
{
	write_headers(checks, types, tag);
	device_rx_cqe(bytes, (uint16_t)w.rq_at, 2);
	w.rq_at++;
}

void device_receive(uint32_t seq)
{
	make_frame(device_buffer(), seq);
	device_complete(frame_len(seq), 1, 0, 0);
}

void device_session_bytes(unsigned n, unsigned i, uint32_t bytes)
{
	uint32_t place = w.rx_cq_at - n + (i < 8 ? 1 : i / 8 * 8);
	put(bus(bus_of(w.rx_cq) + (place % w.size) * 64, 64) + i % 8 * 8 + 4, 4, bytes);
}

void device_session(uint32_t seq, unsigned n, uint8_t checks, uint8_t types, uint16_t tag)
{
	uint16_t first = (uint16_t)w.rq_at;
	write_headers(checks, types, tag);
	for (unsigned i = 0; i < n; i++, w.rq_at++)
		make_frame(device_buffer(), seq + i);
	device_rx_title(n, first, 3, n);
	for (unsigned i = 1; i < n; i += i == 1 ? 7 : 8)
		random_fill(bus(bus_of(w.rx_cq) + ((w.rx_cq_at - n + i) % w.size) * 64, 64), 64);
	for (unsigned i = 0; i < n; i++)
		device_session_bytes(n, i, frame_len(seq + i));
}

unsigned device_waiting(void)
{
	return w.sq_told - w.sq_at;
}

static unsigned gather_data(const uint8_t *d, uint8_t *to, unsigned most)
{
	uint32_t n = get(d, 4);
	assert_in_range(n, 1, most);
	assert_int_equal(get(d + 4, 4), LKEY);
	memcpy(to, bus((uint64_t)get(d + 8, 4) << 32 | get(d + 12, 4), n), n);
	return n;
}

/* The next frame of a WQE that has many; `segments` in all. */
static struct sent gather_multi(struct sent s, unsigned segments, uint8_t *to, unsigned *bytes)
{
	unsigned i = w.segment ? w.segment : 2;
	assert_int_equal(s.header, 0);
	assert_in_range(segments, 3, 63);
	*bytes = gather_data(unit(w.sq_at + i / 4) + i % 4 * 16, to, SENT_BYTES_MAX);
	s.pieces = 1;
	s.report &= i + 1 == segments;
	if (s.report)
		w.report[w.reports++] = w.sq_at;
	w.segment = i + 1 < segments ? i + 1 : 0;
	w.sq_at += w.segment ? 0 : s.units;
	return s;
}

struct sent device_gather(uint8_t *to, unsigned *bytes)
{
	const uint8_t *c = unit(w.sq_at), *eth = c + 16;
	unsigned segments = get(c + 4, 4) & 63, i = 2, got;
	struct sent s = {.opcode = c[3], .csum = eth[4], .mss = (uint16_t)get(eth + 6, 2)};
	assert_true(device_waiting() > 0);
	assert_int_equal(get(c, 1), 0);
	assert_int_equal(get(c + 1, 2), w.sq_at & 0xffff);
	assert_int_equal(get(c + 4, 4) >> 8, SQN);
	assert_int_equal(get(c + 8, 4) & ~8u, 0);
	assert_int_equal(get(c + 12, 4), 0);
	assert_int_equal(get(eth, 4), 0);
	assert_int_equal(get(eth + 5, 1) | get(eth + 8, 4), 0);
	s.report = c[11] & 8;
	s.header = get(eth + 12, 2);
	s.units = (segments + 3) / 4;
	assert_in_range(s.units, 1, device_waiting());
	if (s.opcode == 0x29)
		return gather_multi(s, segments, to, bytes);
	got = s.header < 2 ? s.header : 2;
	memcpy(to, eth + 14, got);
	for (; got < s.header; i++) {
		unsigned n = s.header - got < 16 ? s.header - got : 16;
		memcpy(to + got, unit(w.sq_at + i / 4) + i % 4 * 16, n);
		got += n;
	}
	for (; i < segments; i++, s.pieces++) {
		const uint8_t *d = unit(w.sq_at + i / 4) + i % 4 * 16;
		got += gather_data(d, to + got, SENT_BYTES_MAX - got);
	}
	if (s.report)
		w.report[w.reports++] = w.sq_at;
	w.sq_at += s.units;
	*bytes = got;
	return s;
}

void device_send(uint32_t seq)
{
	static uint8_t all[SENT_BYTES_MAX];
	unsigned len;
	struct sent s = device_gather(all, &len);
	assert_true(s.opcode == 0x0a || (w.tx.multi && s.opcode == 0x29));
	assert_in_range(s.header, 0, w.tx.inline_bytes);
	assert_int_equal(s.csum | s.mss, 0);
	assert_frame(all, len, seq);
}

void device_report(void)
{
	for (unsigned i = 0; i < w.reports; i++)
		device_tx_cqe((uint16_t)w.report[i], 0);
	w.reports = 0;
}

/* --- the machine --- */

/* The second kind has many frames in a WQE, the third too, but a CPU without AVX2. */
static const uint32_t inlines[] = {0, 0, 0, MLX5_INLINE_L2, MLX5_INLINE_IP, MLX5_INLINE_L4};

const struct ring_card ring_card = {
	.data_offset = BUF_DATA_OFFSET,
	.kinds = ARRAY_LEN(inlines),
	.kinds_of_a_place = 4, /* more inline headers take one WQEBB more */
};

void start_sharing(unsigned log_size, unsigned buffers, uint32_t stride, uint32_t inline_bytes,
                   uint32_t most)
{
	memset(&w, 0, sizeof w);
	frame_most = 1514;
	struct mlx5_layout l = mlx5_layout(log_size);
	uint8_t *rings = hand_begin(&w.pool, w.stack, &w.cnt, l.bytes, buffers, stride);
	w.size = 1u << log_size;
	w.rq = rings + l.rq;
	w.sq = rings + l.sq;
	w.rx_cq = rings + l.rx_cq;
	w.tx_cq = rings + l.tx_cq;
	w.rq_dbr = rings + l.rq_dbr;
	w.sq_dbr = rings + l.sq_dbr;
	w.rx_cq_dbr = rings + l.rx_cq_dbr;
	w.tx_cq_dbr = rings + l.tx_cq_dbr;
	mlx5_rx_init(&w.rx, rings, log_size, &w.pool, LKEY);
	mlx5_tx_init(&w.tx, rings, log_size);
	w.tx.doorbell = &doorbell;
	w.tx.sqn_word = SQN << 8;
	w.tx.lkey = LKEY;
	w.tx.inline_bytes = inline_bytes;
	w.rx.port = 3;
	w.rx.most = most;
	mlx5_rx_fill(&w.rx, &w.pool, &w.cnt);
}

void start(unsigned log_size, unsigned buffers, uint32_t stride, uint32_t inline_bytes)
{
	start_sharing(log_size, buffers, stride, inline_bytes, 1u << log_size);
}

void start_kind(unsigned size, unsigned buffers, uint32_t most, unsigned kind)
{
	start_sharing((unsigned)__builtin_ctz(size), buffers, BUF_STRIDE_STANDARD, inlines[kind],
	              most);
	w.tx.multi = kind == 1 || kind == 2;
	w.tx.eights &= kind != 2;
}

unsigned rx(unsigned max)
{
	static struct pkt v[PKT_VECTOR_MAX];
	unsigned doorbells = w.doorbells;
	unsigned n = mlx5_rx_burst(&w.rx, &w.pool, &w.cnt, v, max, &w.broken);
	assert_in_range(n, 0, max);
	assert_int_equal(w.doorbells, doorbells);
	hand_takes(v, n);
	return n;
}

bool rx_waiting(void)
{
	return mlx5_rx_waiting(&w.rx);
}

unsigned rx_left(void)
{
	return mlx5_rx_left(w.rx_cq, (unsigned)__builtin_ctz(w.size), w.cnt.rx_place);
}

void release(void)
{
	mlx5_rx_release(&w.rx, &w.pool);
	mlx5_tx_free(&w.tx, &w.pool);
}

unsigned tx(void)
{
	unsigned doorbells = w.doorbells, n = hand.n < PKT_VECTOR_MAX ? hand.n : PKT_VECTOR_MAX;
	unsigned k = mlx5_tx_burst(&w.tx, &w.pool, &w.cnt, hand.pkt, n, &w.broken);
	assert_in_range(k, 0, n);
	assert_int_equal(w.doorbells - doorbells, k > 0);
	hand_gave(k);
	return k;
}

void assert_accounted(void)
{
	assert_hand();
	assert_in_range(w.rx.tail - w.rx.head, 0, w.size);
	for (uint32_t i = w.rx.head; i != w.rx.tail; i++)
		assert_owner(w.rx.owner[i & w.rx.mask]);
	for (uint32_t i = w.tx.frame_tail; i != w.tx.frame_head && !w.tx.slots; i++)
		assert_owner_word(w.tx.owner[i & w.tx.mask]);
	assert_all_owned();
}

int teardown(void **state)
{
	(void)state;
	assert_accounted();
	assert_int_equal(w.cnt.mmio_reads, 0);
	assert_int_equal(w.cnt.mmio_writes, w.doorbells);
	return 0;
}
