#include "tests/unit/rig/vmxnet3_rig.h"

#include "hal/mmio.h"

struct world w;
static char doorbells[2]; /* only their addresses matter */

const struct ring_card ring_card = {
	.kept_back = 1, /* the index in a doorbell would be that of an empty ring */
	.data_offset = BUF_DATA_OFFSET,
	.kinds = 1,
	.kinds_of_a_place = 1,
};

/* The position at or after `from` that has this index. */
static unsigned position_of(unsigned index, unsigned from)
{
	return from + (index - from) % w.size;
}

static unsigned gen_of(unsigned position, unsigned size)
{
	return position / size % 2 == 0;
}

void host_mmio_write(volatile void *a, unsigned bytes, uint32_t v)
{
	assert_true(a == &doorbells[0] || a == &doorbells[1]);
	assert_int_equal(bytes, 4);
	assert_in_range(v, 0, w.size - 1);
	if (a == &doorbells[1]) {
		w.tx_told = position_of(v, w.tx_told);
		w.tx_writes++;
		return;
	}
	w.rx_told = position_of(v, w.rx_told);
	w.rx_writes++;
	for (unsigned i = w.rx_at; i != w.rx_told && !w.hostile; i++) {
		const uint64_t d = bus_of(w.rx_desc) + 16 * (i % w.size);
		const uint32_t word = (uint32_t)load(d + 8, 4);
		assert_int_equal(word >> 31, gen_of(i, w.size));
		assert_int_equal(word & 0x7fffc000, 0); /* a buffer in which a frame begins */
		bus(load(d, 8), word & 0x3fff);
	}
}

/* --- the device --- */

unsigned device_room(void)
{
	return w.rx_told - w.rx_at;
}

uint8_t *device_buffer(void)
{
	const uint64_t d = bus_of(w.rx_desc) + 16 * (w.rx_at % w.size);
	assert_true(device_room() > 0);
	return bus(load(d, 8), load(d + 8, 4) & 0x3fff);
}

void device_write(uint32_t first, uint64_t end)
{
	const unsigned comps = 2 * w.size;
	const uint64_t c = bus_of(w.rx_comp) + 16 * (w.rx_done % comps);
	store(c, 4, first);
	store(c + 4, 4, 0x11223344); /* RSS hash */
	store(c + 8, 8, (end & ~(1ull << 63)) | (uint64_t)gen_of(w.rx_done, comps) << 63);
	w.rx_done++;
}

void device_complete(uint32_t first, uint64_t end)
{
	assert_true(device_room() > 0);
	device_write(first | QUEUE << 16 | w.rx_at % w.size, end);
	w.rx_at++;
}

void device_receive(uint32_t seq)
{
	make_frame(device_buffer(), seq);
	device_complete(WHOLE | 1u << 30, frame_len(seq));
}

unsigned device_waiting(void)
{
	return w.tx_told - w.tx_at;
}

struct sent device_gather(uint8_t *to, unsigned *bytes)
{
	struct sent s = {0};
	for (*bytes = 0;;) {
		assert_int_not_equal(w.tx_at, w.tx_told);
		const uint64_t d = bus_of(w.tx_desc) + 16 * (w.tx_at % w.size);
		const uint32_t word = (uint32_t)load(d + 8, 4), how = (uint32_t)load(d + 12, 4);
		assert_int_equal(word >> 14 & 1, gen_of(w.tx_at, w.size));
		assert_int_equal(word >> 15 & 7, 0); /* reserved */
		if (s.pieces == 0)
			s = (struct sent){word, how, 0};
		else
			assert_int_equal(word >> 18 | (how & ~0x3000u), 0);
		const unsigned len = word & 0x3fff;
		assert_true(len > 0); /* 0 is 16384 */
		memcpy(to + *bytes, bus(load(d, 8), len), len);
		*bytes += len;
		assert_in_range(++s.pieces, 1, (s.how >> 10 & 3) == 3 ? 24 : 16);
		w.tx_at++;
		assert_int_equal(how >> 12 & 1, how >> 13 & 1); /* a completion of each frame, at its end */
		if (how >> 12 & 1) {
			w.ends[w.wanted++] = (w.tx_at - 1) % w.size;
			return s;
		}
	}
}

void device_send(uint32_t seq)
{
	static uint8_t all[BUF_STRIDE_JUMBO];
	unsigned len;
	struct sent s = device_gather(all, &len);
	assert_int_equal((s.how & ~0x3000u) | s.len_word >> 18, 0); /* no offload */
	assert_frame(all, len, seq);
}

void device_tx_write(uint32_t index)
{
	const uint64_t c = bus_of(w.tx_comp) + 16 * (w.tx_done % w.size);
	store(c, 4, index);
	store(c + 12, 4, (uint32_t)gen_of(w.tx_done, w.size) << 31);
	w.tx_done++;
}

void device_report(void)
{
	for (unsigned i = 0; i < w.wanted; i++)
		device_tx_write(w.ends[i]);
	w.wanted = 0;
}

/* --- the machine --- */

static void start_sharing(unsigned size, unsigned buffers, uint32_t stride, uint32_t most)
{
	memset(&w, 0, sizeof w);
	frame_most = 1514;
	const struct vmxnet3_layout l = vmxnet3_layout(size);
	w.rings = hand_begin(&w.pool, w.stack, &w.cnt, l.bytes, buffers, stride);
	w.size = size;
	w.rx_desc = w.rings + l.rx_desc;
	w.rx_comp = w.rings + l.rx_comp;
	w.tx_desc = w.rings + l.tx_desc;
	w.tx_comp = w.rings + l.tx_comp;
	vmxnet3_rx_init(&w.rx, w.rings, size, most);
	vmxnet3_tx_init(&w.tx, w.rings, size);
	w.rx.doorbell = &doorbells[0];
	w.tx.doorbell = &doorbells[1];
	w.rx.port = 3;
	w.rx.queue = QUEUE;
	w.rx.csum = w.rx.vlan = true;
	vmxnet3_rx_fill(&w.rx, &w.pool, &w.cnt);
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
	const unsigned writes = w.rx_writes;
	const unsigned n = vmxnet3_rx_burst(&w.rx, &w.pool, &w.cnt, v, max);
	assert_in_range(n, 0, max);
	assert_in_range(w.rx_writes - writes, 0, 1);
	hand_takes(v, n);
	return n;
}

bool rx_waiting(void)
{
	return vmxnet3_rx_waiting(&w.rx);
}

unsigned rx_left(void)
{
	return vmxnet3_rx_left(w.rings, w.size, w.cnt.rx_place);
}

void release(void)
{
	vmxnet3_rx_release(&w.rx, &w.pool);
	vmxnet3_tx_release(&w.tx, &w.pool);
}

unsigned tx(void)
{
	const unsigned writes = w.tx_writes, n = hand.n < PKT_VECTOR_MAX ? hand.n : PKT_VECTOR_MAX;
	const uint32_t head = w.tx.head;
	const unsigned k = vmxnet3_tx_burst(&w.tx, &w.pool, &w.cnt, hand.pkt, n, &w.broken);
	assert_in_range(k, 0, n);
	assert_int_equal(w.tx_writes - writes, w.tx.head != head);
	hand_gave(k);
	return k;
}

void assert_accounted(void)
{
	assert_hand();
	assert_in_range(w.rx.tail - w.rx.head, 0, w.size - 1);
	for (uint32_t i = w.rx.head; i != w.rx.tail; i++)
		assert_owner(w.rx.owner[i & w.rx.mask]);
	for (uint32_t i = w.tx.tail; i != w.tx.head; i++) {
		const uint32_t owner = w.tx.owner[i & w.tx.mask];
		if (owner != VMXNET3_NONE)
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
