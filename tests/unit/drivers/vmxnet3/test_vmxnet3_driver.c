/*
 * The device half of drivers/vmxnet3/ on the registers of a device modelled with offsets of its own (FreeBSD's
 * if_vmxreg.h): what it refuses and negotiates, what the device finds in shared memory when it is activated, vectors,
 * link, statistics, a device that lies or is gone. test_vmxnet3_ring.c has the rings.
 */
#include "drivers/vmxnet3/vmxnet3.h"
#include "abi/layout.h"
#include "hal/mmio.h"
#include "tests/unit/rig/guest.h"

#define BAR0 (MMIO_WINDOW + 0xf0000000u)
#define BAR1 (MMIO_WINDOW + 0xf0010000u)
#define VECTORS 25
#define RING 0x20000u
#define BUFFERS 600

static struct device {
	uint32_t revisions, upt, revision, command, link, intr, mac[2], low, fields;
	uint64_t shared; /* bus address; 0: none */
	bool promiscuous; /* the test wants that mode */
	bool active, gone, refuses, refuses_fields, random;
	bool masked[VECTORS];
	unsigned tx, rx, resets, told_rx[16], told_tx[16], routed[VECTORS]; /* routed: core + 1 */
	unsigned modes, vlans; /* commands */
} dev;
static struct pci_dev pci;
static struct nic nic;
static struct nic_shared shared;
static struct bufpool pool;
static struct nic_counters cnt;

uint64_t host_clock_tsc(void) { return 0; } /* nothing waits */

uint32_t pci_read(const struct pci_dev *d, unsigned offset, unsigned size)
{
	assert_true(d == &pci && offset == 4 && size == 2);
	return 0;
}

void pci_write(const struct pci_dev *d, unsigned offset, unsigned size, uint32_t value)
{
	assert_true(d == &pci && offset == 4 && size == 2 && (value & 6) == 6);
}

int pci_msix_route(const struct pci_dev *d, unsigned entry, unsigned core)
{
	if (entry >= d->msix_vectors)
		return E_INVAL;
	dev.routed[entry] = core + 1;
	return E_OK;
}

/* --- the device --- */

static uint32_t s32(unsigned at) { return (uint32_t)load(dev.shared + at, 4); }
static uint64_t s64(unsigned at) { return load(dev.shared + at, 8); }
static uint64_t tx_queue(unsigned q) { return s64(40) + 256 * q; }
static uint64_t rx_queue(unsigned q) { return s64(40) + 256 * (dev.tx + q); }

static void check_ring(uint64_t at, unsigned size, unsigned most)
{
	assert_int_equal(at % 512, 0);
	assert_int_equal(size % 32, 0);
	assert_in_range(size, 32, most);
	bus(at, 16 * size);
}

static void check_queues(void)
{
	const unsigned vectors = (unsigned)load(dev.shared + 81, 1);
	assert_int_equal(s64(40) % 128, 0);
	assert_int_equal(s32(52), 256 * (dev.tx + dev.rx));
	for (unsigned q = 0; q < dev.tx; q++) {
		check_ring(load(tx_queue(q) + 16, 8), (unsigned)load(tx_queue(q) + 56, 4), 4096);
		assert_int_equal(load(tx_queue(q) + 64, 4), load(tx_queue(q) + 56, 4));
		check_ring(load(tx_queue(q) + 32, 8), (unsigned)load(tx_queue(q) + 64, 4), 4096);
		assert_int_equal(load(tx_queue(q) + 60, 4), 0); /* no data ring */
		assert_in_range(load(tx_queue(q) + 72, 1), 0, vectors - 1);
	}
	for (unsigned q = 0; q < dev.rx; q++) {
		const unsigned head = (unsigned)load(rx_queue(q) + 56, 4), body = (unsigned)load(rx_queue(q) + 60, 4);
		check_ring(load(rx_queue(q) + 16, 8), head, 4096);
		check_ring(load(rx_queue(q) + 24, 8), body, 4096);
		assert_true(load(rx_queue(q) + 64, 4) >= head + body);
		check_ring(load(rx_queue(q) + 32, 8), (unsigned)load(rx_queue(q) + 64, 4), 8192);
		assert_in_range(load(rx_queue(q) + 72, 1), 0, vectors - 1);
	}
}

static void activate(void)
{
	assert_true(dev.shared != 0 && !dev.active);
	assert_int_equal(s32(0), 0xbabefee1);
	assert_int_equal(s32(16), dev.revision);
	assert_int_equal(s32(20), 1);
	assert_in_range(s32(56), 60, 9000);
	assert_int_equal(load(dev.shared + 60, 2), 1); /* pieces */
	dev.tx = (unsigned)load(dev.shared + 62, 1);
	dev.rx = (unsigned)load(dev.shared + 63, 1);
	assert_in_range(dev.tx, 1, 8);
	assert_true(dev.rx >= dev.tx && dev.rx <= 16 && (dev.rx & (dev.rx - 1)) == 0);
	assert_int_equal(load(dev.shared + 108, 4) & 1, 1); /* no interrupt before the vectors are set */
	/* own address, broadcast, all multicast; all stations */
	assert_int_equal(s32(120), 1 | 4 | 8 | (dev.promiscuous ? 16 : 0));
	for (unsigned i = 0; i < 128; i++)
		assert_int_equal(s32(136 + 4 * i), UINT32_MAX);
	check_queues();
	dev.active = !dev.refuses;
}

static void rss(void)
{
	assert_int_equal(s64(24) >> 1 & 1, dev.tx > 1);
	if (dev.tx == 1)
		return;
	assert_int_equal(s32(648), 1);
	assert_int_equal(s32(652), 176);
	const uint64_t at = s64(656);
	assert_int_equal(load(at, 8), 0xf | 1 << 16 | 40ull << 32 | 32ull << 48);
	assert_int_equal(load(at + 8, 8), 0xc20e5b25da565a6d);
	for (unsigned i = 0; i < 32; i++)
		assert_int_equal(load(at + 48 + i, 1), i % dev.tx);
}

static void commanded(uint32_t command)
{
	dev.command = command;
	switch (command) {
	case 0xcafe0000:
		activate();
		rss();
		break;
	case 0xcafe0001: dev.active = false; break;
	case 0xcafe0002:
		dev.active = false;
		dev.shared = 0;
		memset(dev.masked, true, sizeof dev.masked);
		dev.resets++;
		break;
	case 0xcafe0003: dev.modes += dev.active; break;
	case 0xcafe0005: dev.vlans += dev.active; break;
	case 0xcafe0010:
		assert_true(dev.active && dev.revision == 8 && dev.tx > 1);
		dev.fields = s32(704);
		break;
	case 0xf00d0000: case 0xf00d0001: case 0xf00d0002: case 0xf00d0003: case 0xf00d0004: case 0xf00d0008:
		break;
	default: fail_msg("command %x", command);
	}
}

static uint32_t result(void)
{
	switch (dev.command) {
	case 0xcafe0000: return !dev.active;
	case 0xcafe0010: return dev.refuses_fields;
	case 0xf00d0002: return dev.link;
	case 0xf00d0003: return dev.mac[0];
	case 0xf00d0004: return dev.mac[1];
	case 0xf00d0008: return dev.intr;
	default: return 0;
	}
}

uint32_t host_mmio_read(const volatile void *a, unsigned bytes)
{
	assert_int_equal(bytes, 4);
	if (dev.gone)
		return UINT32_MAX;
	if (dev.random && random_below(16) == 0)
		return (uint32_t)random64();
	if (dev.random && (uintptr_t)a - BAR1 == 0x20)
		return random_below(2) ? (uint32_t)random64() : 0;
	switch ((uintptr_t)a - BAR1) {
	case 0: return dev.revisions;
	case 8: return dev.upt;
	case 0x20: return result();
	default: fail_msg("reads %p", (const void *)(uintptr_t)a); return 0;
	}
}

void host_mmio_write(volatile void *a, unsigned bytes, uint32_t v)
{
	const uint64_t at = (uintptr_t)a - BAR1, queue = (uintptr_t)a - BAR0;
	assert_int_equal(bytes, 4);
	if (dev.gone || dev.random)
		return;
	if (queue < 0x1000) {
		assert_int_equal(queue % 8, 0);
		assert_true(dev.active); /* others are ignored */
		if (queue < 8 * VECTORS)
			dev.masked[queue / 8] = v & 1;
		else if (queue >= 0x800)
			dev.told_rx[(queue - 0x800) / 8] = v + 1;
		else
			dev.told_tx[(queue - 0x600) / 8] = v + 1;
		return;
	}
	switch (at) {
	case 0: assert_true((v & (v - 1)) == 0 && v & dev.revisions); dev.revision = v; break;
	case 8: assert_int_equal(v, 1); break;
	case 0x10: dev.low = v; dev.shared = 0; break;
	case 0x18: dev.shared = dev.low | (uint64_t)v << 32; break;
	case 0x20: commanded(v); break;
	case 0x28: dev.mac[0] = v; break;
	case 0x30: dev.mac[1] = v; break;
	case 0x40: store(dev.shared + 696, 4, s32(696) & ~v); break;
	default: fail_msg("writes %p", (void *)(uintptr_t)a);
	}
}

/* --- the machine --- */

static void power(uint32_t revisions, unsigned vectors)
{
	static uint32_t stack[BUFFERS];
	static struct clock hz;
	dev = (struct device){.revisions = revisions, .upt = 1, .link = 10000 << 16 | 1,
	                      .mac = {0x563412 << 8 | 0x02, 0x9a78}};
	pci = (struct pci_dev){.vendor = 0x15ad, .device = 0x07b0, .bdf = 0x18, .msix_vectors = (uint16_t)vectors};
	pci.bar[0] = (struct pci_bar){BAR0, 0x1000};
	pci.bar[1] = (struct pci_bar){BAR1, 0x1000};
	hz = clock_make(1000000000);
	memset(bus(GUEST_PAGE, GUEST_BYTES / 2), 0, GUEST_BYTES / 2);
	nic = (struct nic){.pci = &pci, .clock = &hz, .dma = bus(GUEST_PAGE, NIC_DMA_BYTES)};
	shared = (struct nic_shared){0};
	cnt = (struct nic_counters){0};
	bufpool_init(&pool, bus(0x800000, BUFFERS * BUF_STRIDE_STANDARD), stack, BUFFERS, BUF_STRIDE_STANDARD);
}

static uint8_t *ring_of(unsigned pair) { return bus(0x10000 + RING * pair, RING); }
static int probe(void) { return vmxnet3_ops.probe(&nic, &pci); }

static int start_with(unsigned pairs, uint32_t buf_bytes, uint32_t features)
{
	struct nic_ring_mem mem[8];
	assert_in_range(vmxnet3_ops.ring_bytes(&nic), 1, RING);
	for (unsigned i = 0; i < pairs && i < 8; i++)
		mem[i] = (struct nic_ring_mem){ring_of(i), RING, 10 + i, &cnt};
	return vmxnet3_ops.start(&nic, &(struct nic_config){pairs, features, buf_bytes, mem}, &shared);
}

static int start(unsigned pairs) { return start_with(pairs, BUF_STRIDE_STANDARD, ~(uint32_t)NIC_PROMISC); }

static struct nic_queue attached(unsigned pair)
{
	struct nic_queue q = {.ops = &vmxnet3_ops, .pool = &pool, .cnt = &cnt, .rx_buffers = 100};
	assert_int_equal(vmxnet3_ops.attach(&q, &shared, pair, ring_of(pair)), E_OK);
	return q;
}

static void up(uint32_t revisions, unsigned pairs)
{
	power(revisions, VECTORS);
	assert_int_equal(probe(), E_OK);
	assert_int_equal(start(pairs), E_OK);
	assert_int_equal(shared.pairs, pairs);
}

/* --- tests --- */

static void revisions(void **s)
{
	(void)s;
	static const struct {
		uint32_t offered, chosen;
		unsigned vectors, pairs;
	} rows[] = {
		{1, 1, 25, 8}, {2, 2, 25, 8}, {3, 2, 25, 8}, {7, 2, 25, 8}, {15, 8, 25, 8}, {0x1ff, 8, 25, 8},
		{15, 8, 10, 8}, {15, 8, 5, 3}, {15, 8, 3, 1}, {15, 8, 2, 1}, {15, 8, 0, 1},
	};
	for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
		power(rows[i].offered, rows[i].vectors);
		assert_int_equal(probe(), E_OK);
		assert_int_equal(dev.revision, rows[i].chosen);
		assert_int_equal(nic.pairs_max, rows[i].pairs);
		assert_int_equal(!!(nic.features & NIC_RSS), rows[i].pairs > 1 && rows[i].chosen > 1);
		assert_memory_equal(nic.mac, ((uint8_t[]){2, 0x12, 0x34, 0x56, 0x78, 0x9a}), 6);
		assert_false(dev.active);
		assert_int_equal(start(nic.pairs_max), E_OK);
		assert_int_equal(dev.fields, rows[i].chosen == 8 && nic.pairs_max > 1 ? 0xf : 0);
		assert_true(dev.modes && dev.vlans);
	}
}

static void refused(void **s)
{
	(void)s;
	for (unsigned kind = 0; kind < 8; kind++) {
		power(15, VECTORS);
		switch (kind) {
		case 0: dev.revisions = 4; break; /* revision 3 alone: not known */
		case 1: dev.revisions = 0; break;
		case 2: dev.upt = 2; break;
		case 3: dev.gone = true; break;
		case 4: dev.mac[0] |= 1; break;
		case 5: dev.mac[0] = dev.mac[1] = 0; break;
		case 6: pci.bar[0].addr = 0; break;
		default: pci.bar[1].bytes = 2048;
		}
		assert_true(probe() < 0);
		assert_non_null(nic.error);
	}
	for (unsigned kind = 0; kind < 5; kind++) {
		power(15, VECTORS);
		assert_int_equal(probe(), E_OK);
		dev.refuses = kind == 0;
		dev.refuses_fields = kind == 1;
		dev.gone = kind == 2;
		assert_true(start_with(kind == 3 ? 9 : 2, kind == 4 ? 1000 : BUF_STRIDE_STANDARD, 0) < 0);
		assert_non_null(nic.error);
		assert_true(dev.gone || (!dev.active && dev.shared == 0));
	}
}

/* Any number of pairs, and both sizes of buffers: activate() checks what the device is told. */
static void starts(void **s)
{
	(void)s;
	for (unsigned pairs = 1; pairs <= 8; pairs++) {
		power(15, VECTORS);
		assert_int_equal(probe(), E_OK);
		assert_int_equal(start_with(pairs, BUF_STRIDE_JUMBO, NIC_RX_CSUM), E_OK);
		assert_int_equal(dev.tx, pairs);
		assert_int_equal(s64(24) & ~2ull, 1);
		assert_int_equal(s32(56), 9000);
		assert_int_equal(shared.features, NIC_RX_CSUM);
		vmxnet3_ops.stop(&nic);
		assert_false(dev.active);
		assert_int_equal(dev.shared, 0);
		assert_int_equal(start_with(pairs, BUF_STRIDE_STANDARD, NIC_VLAN), E_OK);
		assert_int_equal(s64(24) & ~2ull, 4);
		assert_int_equal(s32(56), BUF_STRIDE_STANDARD - BUF_DATA_OFFSET - NIC_FRAME_OVERHEAD);
		assert_int_equal(dev.mac[0], 0x56341202); /* written again */
		struct nic_queue q = {.ops = &vmxnet3_ops, .pool = &(struct bufpool){.stride = BUF_STRIDE_JUMBO}};
		assert_int_equal(vmxnet3_ops.attach(&q, &shared, 0, ring_of(0)), E_INVAL);
	}
}

/* Vectors of queues are masked until a core sleeps, that of events never, that of transmit queues always. */
static void vectors(void **s)
{
	(void)s;
	for (unsigned mode = 0; mode < 2; mode++) {
		power(15, VECTORS);
		dev.intr = mode << 2;
		assert_int_equal(probe(), E_OK);
		assert_int_equal(start(3), E_OK);
		assert_int_equal(load(dev.shared + 80, 1), mode == 0); /* they mask themselves */
		assert_int_equal(load(dev.shared + 81, 1), 5);
		assert_int_equal(load(dev.shared + 82, 1), 3);
		assert_int_equal(s32(108), 0);
		for (unsigned q = 0; q < 3; q++) {
			assert_int_equal(dev.routed[q], 10 + q + 1);
			assert_int_equal(load(rx_queue(q) + 72, 1), q);
			assert_int_equal(load(tx_queue(q) + 72, 1), 4);
			assert_true(dev.masked[q]);
		}
		assert_int_equal(dev.routed[3], 1);
		assert_int_equal(dev.routed[4], 0);
		assert_false(dev.masked[3]);
		assert_true(dev.masked[4]);
		struct nic_queue q = attached(1);
		assert_false(vmxnet3_ops.rx_interrupt(&q, true));
		assert_false(dev.masked[1]);
		vmxnet3_ops.rx_interrupt(&q, false);
		assert_true(dev.masked[1]);
		assert_true(dev.masked[0] && dev.masked[2]);
		assert_int_equal(cnt.irq_arms, 1);
	}
	/* Too few: polled, and never asleep. */
	power(1, 2);
	assert_int_equal(probe(), E_OK);
	assert_int_equal(start(1), E_OK);
	struct nic_queue q = attached(0);
	assert_true(vmxnet3_ops.rx_interrupt(&q, true));
	assert_true(dev.masked[0]);
	assert_int_equal(dev.routed[0], 0);
}

static void promiscuous(void **state)
{
	(void)state;
	power(7, VECTORS);
	assert_int_equal(probe(), E_OK);
	dev.promiscuous = true;
	assert_int_equal(start_with(1, BUF_STRIDE_STANDARD, NIC_PROMISC), E_OK);
	assert_true(dev.active && dev.modes > 0);
}

/* A frame each way on the last of three pairs, of four receive queues. */
static void traffic(void **s)
{
	(void)s;
	struct pkt v[4];
	up(15, 3);
	assert_int_equal(dev.rx, 4);
	struct nic_queue q = attached(2);
	assert_int_equal(dev.told_rx[2], 100 + 1);
	assert_int_equal(load(load(rx_queue(2) + 24, 8) + 8, 4), 0); /* nothing in the second ring */
	const uint64_t desc = load(rx_queue(2) + 16, 8), comp = load(rx_queue(2) + 32, 8);
	make_frame(bus(load(desc, 8), 2000), 5);
	store(comp, 4, 1u << 14 | 1u << 15 | 2u << 16);
	store(comp + 8, 8, 1ull << 63 | frame_len(5));
	assert_true(vmxnet3_ops.rx_interrupt(&q, true));
	assert_int_equal(vmxnet3_ops.rx_left(&shared, 2, ring_of(2), cnt.rx_place), 1);
	assert_int_equal(vmxnet3_ops.rx_burst(&q, v, 4), 1);
	assert_frame(v[0].data, v[0].len, 5);
	assert_int_equal(vmxnet3_ops.rx_left(&shared, 2, ring_of(2), cnt.rx_place), 0);
	assert_int_equal(vmxnet3_ops.tx_burst(&q, v, 1), 1);
	assert_int_equal(dev.told_tx[2], 1 + 1);
	const uint64_t sent = load(tx_queue(2) + 16, 8);
	assert_frame(bus(load(sent, 8), frame_len(5)), load(sent + 8, 4) & 0x3fff, 5);
	const uint32_t free = pool.free;
	store(load(tx_queue(2) + 32, 8) + 12, 4, 1u << 31);
	vmxnet3_ops.tx_burst(&q, NULL, 0);
	assert_int_equal(pool.free, free + 1);
	assert_int_equal(cnt.mmio_reads, 0);
}

static void links(void **s)
{
	(void)s;
	struct nic_link l;
	up(15, 2);
	vmxnet3_ops.link(&nic, &l);
	assert_true(l.up && l.mbps == 10000 && !l.gone && l.why == NULL);
	dev.link = 10000 << 16;
	dev.masked[2] = true;
	store(dev.shared + 696, 4, 4);
	vmxnet3_ops.link(&nic, &l);
	assert_true(!l.up && l.mbps == 0 && !l.gone);
	assert_int_equal(s32(696), 0);
	assert_false(dev.masked[2]);
	/* A stopped queue is reported once, each of its directions. */
	for (unsigned i = 0; i < 4; i++) {
		if (i % 2 == 0)
			store((i ? tx_queue(1) : rx_queue(1)) + 80, 1, 1);
		store(dev.shared + 696, 4, 1);
		vmxnet3_ops.link(&nic, &l);
		assert_true((l.why != NULL) == (i % 2 == 0));
	}
	struct nic_stats sum = {0};
	vmxnet3_ops.stats(&nic, &sum);
	vmxnet3_ops.stats(&nic, &sum);
	assert_int_equal(sum.queue_errors, 2);
	dev.link = UINT32_MAX;
	vmxnet3_ops.link(&nic, &l);
	assert_false(l.gone); /* it still has revisions */
	dev.gone = true;
	vmxnet3_ops.link(&nic, &l);
	assert_true(l.gone && !l.up);
	vmxnet3_ops.stop(&nic);
}

static void statistics(void **s)
{
	(void)s;
	struct nic_stats sum = {0};
	up(15, 2);
	for (unsigned q = 0; q < 2; q++) {
		store(rx_queue(q) + 152, 8, 10 + q); /* out of buffers */
		store(rx_queue(q) + 160, 8, 20 + q);
		store(tx_queue(q) + 152, 8, 40 + q); /* errors */
		store(tx_queue(q) + 160, 8, 80 + q); /* discarded */
	}
	vmxnet3_ops.stats(&nic, &sum);
	store(rx_queue(1) + 152, 8, 111);
	vmxnet3_ops.stats(&nic, &sum);
	assert_int_equal(sum.rx_no_desc, 10 + 111);
	assert_int_equal(sum.rx_error, 20 + 21);
	assert_int_equal(sum.tx_error, 40 + 41 + 80 + 81);
	dev.gone = true;
	vmxnet3_ops.stats(&nic, &sum);
	assert_int_equal(sum.rx_no_desc, 121);
	dev.gone = false;
	vmxnet3_ops.stop(&nic);
	assert_int_equal(start(2), E_OK); /* counts from 0 again */
	store(rx_queue(0) + 152, 8, 3);
	vmxnet3_ops.stats(&nic, &sum);
	assert_int_equal(sum.rx_no_desc, 124);
}

/* Any answer to any read, and any contents of the shared memory. */
static void lies(void **s)
{
	(void)s;
	seed_random("lies");
	unsigned probed = 0, started = 0;
	for (unsigned i = 0; i < 1500; i++) {
		struct nic_link l;
		struct nic_stats sum = {0};
		power(15, random_below(VECTORS + 1));
		dev.random = true;
		if (probe() < 0)
			continue;
		probed++;
		assert_in_range(nic.pairs_max, 1, 8);
		if (start(1 + random_below(nic.pairs_max)) < 0)
			continue;
		started++;
		random_fill(nic.dma, NIC_DMA_BYTES);
		vmxnet3_ops.link(&nic, &l);
		vmxnet3_ops.stats(&nic, &sum);
		vmxnet3_ops.stop(&nic);
	}
	assert_true(probed > 50 && started > 10 && started < probed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(revisions), cmocka_unit_test(refused),    cmocka_unit_test(starts),
		cmocka_unit_test(vectors),   cmocka_unit_test(traffic),    cmocka_unit_test(links),
		cmocka_unit_test(statistics), cmocka_unit_test(lies),      cmocka_unit_test(promiscuous),
	};
	return cmocka_run_group_tests(tests, guest_map, NULL);
}
