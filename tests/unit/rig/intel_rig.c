#include "tests/unit/rig/intel_rig.h"

#include "hal/mmio.h"

/* 7.1.6.2: byte offsets in a descriptor written back */
enum { RX_STATUS = 8, RX_LENGTH = 12, RX_VLAN = 14 };
/* 7.2.3.2.4 */
enum { TX_CMD = 8, TX_OLINFO = 12 };
#define STATUS_DD 1u
#define STATUS_EOP 2u

struct world w;
static char tails[2]; /* only their addresses matter */

void host_mmio_write(volatile void *a, unsigned bytes, uint32_t v)
{
	assert_true(a == &tails[0] || a == &tails[1]);
	assert_int_equal(bytes, 4);
	assert_in_range(v, 0, w.size - 1);
	if (a == &tails[0]) {
		w.rx_tail = v;
		w.rx_writes++;
		/* The device prefetches at once (7.1.7): a descriptor that is not there yet would
		 * be missed. */
		for (unsigned i = w.rx_head; i != v && !w.hostile; i = (i + 1) % w.size) {
			uint64_t d = bus_of(w.rx_desc) + 16 * i;
			uint64_t addr = load(d, 8);
			bus(addr, w.pool.stride - RX_AT);
			assert_int_equal(load(d + 8, 8), 0); /* DD clear */
		}
	} else {
		w.tx_tail = v;
		w.tx_writes++;
	}
}

/* --- the device --- */

unsigned device_room(void)
{
	return (w.rx_tail - w.rx_head + w.size) % w.size;
}

uint8_t *device_buffer(void)
{
	assert_true(device_room() > 0);
	return bus(load(bus_of(w.rx_desc) + 16 * w.rx_head, 8), w.pool.stride - RX_AT);
}

void device_write_back(uint32_t status, unsigned len, unsigned vlan)
{
	uint64_t d = bus_of(w.rx_desc) + 16 * w.rx_head;
	assert_true(device_room() > 0);
	store(d, 8, 0x1122334455667788); /* RSS hash and types overwrite the address */
	store(d + RX_LENGTH, 2, len);
	store(d + RX_VLAN, 2, vlan);
	store(d + RX_STATUS, 4, status | STATUS_DD);
	w.rx_head = (w.rx_head + 1) % w.size;
}

void device_receive(uint32_t seq)
{
	make_frame(device_buffer(), seq);
	device_write_back(STATUS_EOP, frame_len(seq), 0);
}

/* A context descriptor: the device keeps its contents. False: it is another descriptor. */
static bool take_context(uint64_t d)
{
	uint32_t cmd = (uint32_t)load(d + TX_CMD, 4);
	assert_true(cmd >> 29 & 1); /* DEXT */
	if ((cmd >> 20 & 15) != 2)
		return false;
	assert_int_equal(cmd & ~0x20201e00u, 0); /* DEXT, DTYP, TUCMD only */
	for (unsigned i = 0; i < 4; i++)
		w.context[i] = (uint32_t)load(d + 4 * i, 4);
	w.contexts++;
	return true;
}

struct sent device_gather(uint8_t *to, unsigned *bytes)
{
	struct sent s = {0};
	for (*bytes = 0;;) {
		assert_int_not_equal(w.tx_head, w.tx_tail);
		uint64_t d = bus_of(w.tx_desc) + 16 * w.tx_head;
		w.tx_head = (w.tx_head + 1) % w.size;
		if (s.pieces == 0 && take_context(d))
			continue;
		uint64_t addr = load(d, 8);
		uint32_t cmd = (uint32_t)load(d + TX_CMD, 4), olinfo = (uint32_t)load(d + TX_OLINFO, 4);
		assert_int_equal(cmd >> 20 & 15, 3);
		assert_int_equal(cmd >> 25 & 1, 1); /* IFCS */
		assert_int_equal(olinfo & 0xff, 0); /* STA, IDX, CC */
		if (s.pieces == 0)
			s = (struct sent){addr, cmd, olinfo, 0};
		else
			assert_int_equal(olinfo | ((cmd ^ s.cmd) & 0xf0f00000), 0);
		assert_in_range(cmd & 0xffff, 1, 0xffff);
		const uint8_t *from = bus(addr, cmd & 0xffff);
		if (to)
			memcpy(to + *bytes, from, cmd & 0xffff);
		*bytes += cmd & 0xffff;
		assert_in_range(++s.pieces, 1, 40); /* 7.2.1.1 */
		if (!(cmd >> 24 & 1)) {
			assert_int_equal(cmd >> 27 & 1, 0); /* RS without EOP */
			continue;
		}
		if (cmd >> 27 & 1)
			w.reported = w.tx_head;
		return s;
	}
}

struct sent device_take(void)
{
	unsigned bytes;
	struct sent s = device_gather(NULL, &bytes);
	assert_int_equal(s.pieces, 1);
	assert_int_equal(s.cmd & 0xffff, bytes);
	return s;
}

unsigned device_waiting(void)
{
	return (w.tx_tail - w.tx_head + w.size) % w.size;
}

void device_send(uint32_t seq)
{
	static uint8_t all[BUF_STRIDE_JUMBO];
	unsigned len;
	unsigned contexts = w.contexts;
	struct sent s = device_gather(all, &len);
	assert_int_equal(w.contexts, contexts);
	assert_int_equal(s.cmd & 0xf0000000, 0x20000000);
	assert_int_equal(s.olinfo, len << 14);
	assert_frame(all, len, seq);
}

void device_report(void)
{
	store(bus_of(w.written_head), 4, w.reported);
}

/* --- the machine --- */

static const struct card cards[] = {
	[RIG_82599] = {"82599", 1u << 29, 1u << 30, 1u << 31},
	[RIG_82576] = {"82576", 1u << 31, 1u << 29, 1u << 30},
};
const struct card *card = cards;

void rig_card(unsigned which)
{
	card = &cards[which];
}

const struct ring_card ring_card = {
	.kept_back = 1, /* head == tail would mean empty */
	.data_offset = RX_AT,
	.kinds = 1,
	.kinds_of_a_place = 1,
};

static void start_sharing(unsigned size, unsigned buffers, uint32_t stride, uint32_t most)
{
	memset(&w, 0, sizeof w);
	frame_most = 1514;
	struct intel_layout l = intel_layout(size);
	uint8_t *rings = hand_begin(&w.pool, w.stack, &w.cnt, l.bytes, buffers, stride);
	w.size = size;
	w.rx_desc = rings + l.rx_desc;
	w.tx_desc = rings + l.tx_desc;
	w.written_head = rings + l.written_head;
	intel_rx_init(&w.rx, rings, size, most, &w.pool);
	intel_tx_init(&w.tx, rings, size);
	w.rx.tail_reg = &tails[0];
	w.tx.tail_reg = &tails[1];
	w.rx.port = 3;
	w.rx.bad_mask = card->mac;
	intel_rx_fill(&w.rx, &w.pool, &w.cnt);
}

void start(unsigned size, unsigned buffers, uint32_t stride)
{
	start_sharing(size, buffers, stride, size);
}

void start_kind(unsigned size, unsigned buffers, uint32_t most, unsigned kind)
{
	(void)kind;
	start_sharing(size, buffers, BUF_STRIDE_STANDARD, most);
}

unsigned rx(unsigned max)
{
	static struct pkt v[PKT_VECTOR_MAX];
	unsigned writes = w.rx_writes;
	unsigned n = intel_rx_burst(&w.rx, &w.pool, &w.cnt, v, max);
	assert_in_range(n, 0, max);
	assert_in_range(w.rx_writes - writes, 0, 1);
	hand_takes(v, n);
	return n;
}

bool rx_waiting(void)
{
	return intel_rx_waiting(&w.rx);
}

unsigned rx_left(void)
{
	return intel_rx_left(w.rx_desc, w.size, w.cnt.rx_place); /* they come first */
}

void release(void)
{
	intel_rx_release(&w.rx, &w.pool);
	intel_tx_release(&w.tx, &w.pool);
}

unsigned tx(void)
{
	unsigned writes = w.tx_writes, n = hand.n < PKT_VECTOR_MAX ? hand.n : PKT_VECTOR_MAX;
	unsigned k = intel_tx_burst(&w.tx, &w.pool, &w.cnt, hand.pkt, n, &w.broken);
	assert_in_range(k, 0, n);
	assert_int_equal(w.tx_writes - writes, k > 0);
	hand_gave(k);
	return k;
}

void assert_accounted(void)
{
	assert_hand();
	if (w.rx.part.data)
		assert_owner(w.rx.part.buf);
	assert_in_range(w.rx.told - w.rx.head, 0, w.rx.tail - w.rx.head);
	assert_in_range(w.rx.tail - w.rx.head, 0, w.size - 1);
	for (uint32_t i = w.rx.head; i != w.rx.tail; i++)
		assert_owner(w.rx.owner[i & w.rx.mask]);
	for (uint32_t i = w.tx.tail; i != w.tx.head; i++) {
		uint32_t owner = w.tx.owner[i & w.tx.mask];
		if (owner != INTEL_NONE)
			assert_owner_word(owner);
	}
	assert_all_owned();
}

int teardown(void **state)
{
	(void)state;
	assert_accounted();
	assert_int_equal(w.cnt.mmio_reads, 0);
	assert_int_equal(w.cnt.mmio_writes, w.rx_writes + w.tx_writes);
	return 0;
}
