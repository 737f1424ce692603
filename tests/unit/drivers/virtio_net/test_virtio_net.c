/*
 * drivers/virtio_net/virtio_net.c, the device half, on the registers of a device modelled from
 * VIRTIO 1.2 (4.1.4, 5.1) with offsets of its own: what it refuses and negotiates, the order of its
 * start, that every wait ends. test_virtio_ring.c has the rings.
 */
#include "drivers/virtio_net/virtio_net.h"
#include "abi/layout.h"
#include "hal/mmio.h"
#include "tests/unit/rig/guest.h"
#include "tests/unit/rig/packets.h"
#include "tests/unit/rig/spread.h"

#define BAR (MMIO_WINDOW + 0xf0000000u)
#define NET_AT 0x1000u    /* in the BAR: device configuration */
#define NOTIFY_AT 0x3000u /* doorbell of queue q at 4 q */
#define PAIRS 8           /* of the device; its control queue is number 16 */
#define QUEUES (2 * PAIRS + 1)
#define RING 0x20000u
#define BUFFERS 600

/* 5.1.3, 6: feature bits */
enum {
	CSUM, GUEST_CSUM, MTU = 3, MAC = 5, TSO4 = 11, TSO6, ECN, MRG = 15, STATUS, CTRL_VQ, MQ = 22,
	V1 = 32, ACCESS_PLATFORM, IN_ORDER = 35, RESET = 40, USO = 56, RSS = 60
};
#define BIT(n) (1ull << (n))
#define TAKEN \
	(BIT(CSUM) | BIT(GUEST_CSUM) | BIT(MTU) | BIT(MAC) | BIT(MRG) | BIT(STATUS) | \
	 BIT(CTRL_VQ) | BIT(MQ) | BIT(V1) | BIT(ACCESS_PLATFORM) | BIT(IN_ORDER) | BIT(RESET) | \
	 BIT(RSS) | GSO)
#define GSO (BIT(TSO4) | BIT(TSO6) | BIT(ECN) | BIT(USO))

static struct device {
	uint8_t cfg[256], net[0x20];
	uint8_t common[0x18], queue[QUEUES][0x24]; /* 4.1.4.3: before and after queue_select */
	uint64_t offers, accepted;
	enum { WELL, HANGS, NO_FEATURES, NO_QUEUE, NO_VECTOR, FAR_DOORBELL, MUTE, REFUSES,
	       SMALL, KEEPS_QUEUE } state;
	unsigned nstatus, command_bytes, rings[QUEUES], routed[16]; /* routed: core + 1 */
	uint8_t statuses[32], command[512]; /* written so far; class, command, body of the last */
} dev;
static struct pci_dev pci;
static struct nic nic;
static struct nic_shared shared;
static struct bufpool pool;
static struct nic_counters cnt;
static uint64_t now; /* ns */

/* --- kernel and CPU --- */

uint64_t host_clock_tsc(void) { return now += 20000; } /* as if register accesses trap */

uint32_t pci_read(const struct pci_dev *d, unsigned offset, unsigned size)
{
	uint32_t v = 0;
	assert_true(d == &pci && offset % size == 0 && offset + size <= sizeof dev.cfg);
	memcpy(&v, dev.cfg + offset, size);
	return v;
}

void pci_write(const struct pci_dev *d, unsigned offset, unsigned size, uint32_t value)
{
	assert_true(d == &pci && offset == 4 && size == 2 && (value & 6) == 6);
}

int pci_msix_route(const struct pci_dev *d, unsigned entry, unsigned core)
{
	assert_true(entry < d->msix_vectors);
	dev.routed[entry] = core + 1;
	return E_OK;
}

/* --- the device --- */

/* Registers of queue q: size at 0, vector at 2, enabled at 4, notify offset at 6, reset at 0x22. */
static unsigned word(unsigned q, unsigned at)
{
	return dev.queue[q][at] | dev.queue[q][at + 1] << 8;
}

/* Bus address of its descriptors, avail or used (0 to 2). */
static uint64_t part(unsigned q, unsigned k)
{
	uint64_t at;
	memcpy(&at, dev.queue[q] + 8 + 8 * k, 8);
	return at;
}

/* 5.1.6.5: a chain of command (2 bytes), body and, to be written, the answer. Its descriptors
 * follow those of the command before (2.7.9), around the ring of 64. */
static void serve_command(unsigned q)
{
	uint16_t count = (uint16_t)load(part(q, 1) + 2, 2);
	uint64_t d[3], body;
	for (unsigned i = 0; i < 3; i++)
		d[i] = part(q, 0) + 16 * ((3u * (count - 1u) + i) % 64);
	assert_int_equal(load(part(q, 1) + 4 + 2 * ((count - 1) % 64), 2), 3u * (count - 1u) % 64);
	body = load(d[1] + 8, 4);
	assert_int_equal(load(d[0] + 8, 6), 2 | 1ull << 32); /* NEXT */
	assert_int_equal(load(d[0] + 14, 2), (3u * (count - 1u) + 1) % 64);
	assert_int_equal(load(d[1] + 8, 6), body | 1ull << 32);
	assert_int_equal(load(d[1] + 14, 2), (3u * (count - 1u) + 2) % 64);
	assert_int_equal(load(d[2] + 8, 6), 1 | 2ull << 32); /* WRITE */
	assert_true(2 + body <= sizeof dev.command && dev.common[0x14] & 4); /* after DRIVER_OK */
	memcpy(dev.command, bus(load(d[0], 8), 2), 2);
	memcpy(dev.command + 2, bus(load(d[1], 8), body), body);
	dev.command_bytes = (unsigned)(2 + body);
	store(load(d[2], 8), 1, dev.state == REFUSES);
	store(part(q, 2) + 2, 2, dev.state != MUTE ? count : 0);
}

static void power_queue(unsigned q)
{
	memset(dev.queue[q], 0, sizeof dev.queue[q]);
	dev.queue[q][0] = dev.state == SMALL ? 32 : 0;
	dev.queue[q][1] = dev.state == NO_QUEUE || dev.state == SMALL ? 0 : q < 4 ? 2 : 1;
	dev.queue[q][6] = (uint8_t)q;
	dev.queue[q][7] = dev.state == FAR_DOORBELL;
}

/* Address of a register; checks the access width. */
static uint8_t *reg(const volatile void *a, unsigned bytes)
{
	uint64_t at = (uintptr_t)a - BAR;
	if (at >= NET_AT) {
		assert_true(at + bytes <= NET_AT + sizeof dev.net);
		return dev.net + (at - NET_AT);
	}
	assert_true(at < 0x3c && bytes == (at == 0x14 ? 1 : at < 0x10 || (at >= 0x20 && at < 0x38) ? 4 : 2));
	return at < 0x18 ? dev.common + at : dev.queue[dev.common[0x16]] + (at - 0x18);
}

uint32_t host_mmio_read(const volatile void *a, unsigned bytes)
{
	uint32_t v = 0;
	memcpy(&v, reg(a, bytes), bytes);
	return (uintptr_t)a - BAR == 4 ? (uint32_t)(dev.offers >> 32 * dev.common[0]) : v;
}

static void status_written(uint8_t v)
{
	dev.statuses[dev.nstatus++ % sizeof dev.statuses] = v;
	dev.common[0x14] = dev.state == HANGS ? 0x40 : dev.state == NO_FEATURES ? v & ~8 : v;
	for (unsigned q = 0; v == 0 && q < QUEUES; q++)
		power_queue(q);
}

void host_mmio_write(volatile void *a, unsigned bytes, uint32_t v)
{
	uint64_t at = (uintptr_t)a - BAR;
	if (at >= NOTIFY_AT) {
		assert_true(bytes == 2 && v < QUEUES && at == NOTIFY_AT + 4 * v);
		dev.rings[v]++;
		if (v == QUEUES - 1)
			serve_command(v);
		return;
	}
	memcpy(reg(a, bytes), &v, bytes);
	if (at == 0x0c)
		dev.accepted = dev.common[8] ? (uint32_t)dev.accepted | (uint64_t)v << 32 : v;
	else if (at == 0x14)
		status_written((uint8_t)v);
	else if (at == 0x1a && dev.state == NO_VECTOR)
		memset(reg(a, bytes), 0xff, 2);
	else if (at == 0x3a && dev.state != KEEPS_QUEUE)
		power_queue(dev.common[0x16]);
}

/* Makes a capability at `at` (4.1.4) for a structure of this type in BAR 4; the next one
 * follows. */
static void capability(unsigned at, uint8_t type, uint32_t offset, uint32_t bytes)
{
	const uint8_t head[] = {9, type == 2 ? 0 : (uint8_t)(at + 0x18), 20, type, 4};
	const uint32_t where[] = {offset, bytes, 4};
	memcpy(dev.cfg + at, head, sizeof head);
	memcpy(dev.cfg + at + 8, where, sizeof where);
}

static void power(void)
{
	static uint32_t stack[BUFFERS];
	static struct clock hz;
	static const uint8_t net[] = {2, 0, 0x5e, 0, 0x53, 1, 1, 0,  PAIRS, 0, 0x28, 0x23, 0,
	                              0, 0, 0,    0, 40,   128, 0, 0x3f}; /* MTU 9000, key, table */
	dev = (struct device){.offers = UINT64_MAX, .common[0x14] = 0x40, .cfg[0x34] = 0x40};
	memcpy(dev.net, net, sizeof net);
	capability(0x40, 1, 0, 0x3c);
	capability(0x58, 3, 0x2000, 4); /* ISR: not used */
	capability(0x70, 4, NET_AT, sizeof dev.net);
	capability(0x88, 2, NOTIFY_AT, 4 * QUEUES);
	pci = (struct pci_dev){.vendor = 0x1af4, .device = 0x1041, .bdf = 0x18, .msix_vectors = 16};
	pci.bar[4] = (struct pci_bar){BAR, 0x4000};
	hz = clock_make(1000000000);
	memset(bus(GUEST_PAGE, GUEST_BYTES / 2), 0, GUEST_BYTES / 2);
	nic = (struct nic){.pci = &pci, .clock = &hz, .dma = bus(GUEST_PAGE, NIC_DMA_BYTES)};
	shared = (struct nic_shared){0};
	cnt = (struct nic_counters){0};
	bufpool_init(&pool, bus(0x200000, BUFFERS * BUF_STRIDE_STANDARD), stack, BUFFERS,
	             BUF_STRIDE_STANDARD);
}

static uint8_t *ring_of(unsigned pair) { return bus(0x10000 + RING * pair, RING); }
static int probe(void) { return virtio_net_ops.probe(&nic, &pci); }

static int start(unsigned pairs)
{
	struct nic_ring_mem mem[PAIRS];
	assert_in_range(virtio_net_ops.ring_bytes(&nic), 1, RING);
	for (unsigned i = 0; i < pairs; i++)
		mem[i] = (struct nic_ring_mem){ring_of(i), RING, 10 + i, &cnt};
	return virtio_net_ops.start(
		&nic, &(struct nic_config){pairs, nic.features, BUF_STRIDE_STANDARD, mem}, &shared);
}

static struct nic_queue up_and_attach(unsigned pairs, unsigned pair)
{
	struct nic_queue q = {.ops = &virtio_net_ops, .pool = &pool, .cnt = &cnt,
	                     .rx_buffers = UINT32_MAX};
	assert_int_equal(probe(), E_OK);
	assert_int_equal(start(pairs), E_OK);
	assert_int_equal(virtio_net_ops.attach(&q, &shared, pair, ring_of(pair)), E_OK);
	return q;
}

/* --- tests --- */

/* 4.1.4: a structure is missing, or outside of its BAR; then no register is accessed. */
static void needs_its_structures(void **s)
{
	(void)s;
	static const uint8_t row[][2] = {
		{0x34, 0},    {0x43, 9},    {0x73, 9}, {0x8b, 9}, /* list, types */
		{0x44, 5},    {0x44, 6},    {0x8c, 0xff},         /* BAR */
		{0x49, 0x40}, {0x4b, 0x80}, {0x79, 0x40},         /* offset */
		{0x4c, 0x37}, {0x7c, 4},    {0x94, 1},            /* length */
		{0x41, 0x40},                                     /* the list is circular */
	};
	for (unsigned i = 0; i < ARRAY_LEN(row); i++) {
		power();
		dev.cfg[row[i][0]] = row[i][1];
		if (probe() != E_NOTSUP || !nic.error || nic.mmio_reads + nic.mmio_writes)
			fail_msg("row %u", i);
	}
}

static void negotiates(void **s)
{
	(void)s;
	static const struct {
		uint64_t offers, accepts;
		uint16_t mtu, config_bytes;
		int error;
		uint8_t common_bytes; /* 0: the usual number */
	} row[] = {
		{UINT64_MAX, TAKEN, 9000, 0x20, E_OK, 0},
		{UINT64_MAX, TAKEN & ~BIT(RESET), 9000, 0x20, E_OK, 0x3b}, /* has no register for it */
		{BIT(V1), BIT(V1), 9000, 0x20, E_OK, 0},
		{~BIT(V1), 0, 9000, 0x20, E_NOTSUP, 0},
		{~BIT(CTRL_VQ), TAKEN & ~(BIT(CTRL_VQ) | BIT(MQ) | BIT(RSS)), 9000, 0x20, E_OK, 0},
		{UINT64_MAX, TAKEN & ~BIT(MTU), NIC_MTU_MAX + 1, 0x20, E_OK, 0},
		{UINT64_MAX, TAKEN & ~BIT(MTU), 67, 0x20, E_OK, 0},
		{UINT64_MAX, TAKEN & ~BIT(RSS), 9000, 12, E_OK, 0}, /* its fields would lie outside */
		{~BIT(CSUM), TAKEN & ~(BIT(CSUM) | GSO), 9000, 0x20, E_OK, 0},
		{~BIT(TSO4), TAKEN & ~BIT(TSO4), 9000, 0x20, E_OK, 0}, /* each version by itself */
		{~BIT(TSO6), TAKEN & ~BIT(TSO6), 9000, 0x20, E_OK, 0},
		{~(BIT(TSO4) | BIT(TSO6)), TAKEN & ~(BIT(TSO4) | BIT(TSO6) | BIT(ECN)), 9000, 0x20,
		 E_OK, 0},
		{~BIT(ECN), TAKEN & ~BIT(ECN), 9000, 0x20, E_OK, 0},
		{~BIT(USO), TAKEN & ~BIT(USO), 9000, 0x20, E_OK, 0},
	};
	for (unsigned i = 0; i < ARRAY_LEN(row); i++) {
		power();
		dev.offers = row[i].offers;
		dev.cfg[0x7c] = (uint8_t)row[i].config_bytes;
		dev.cfg[0x4c] = row[i].common_bytes ? row[i].common_bytes : 0x3c;
		memcpy(dev.net + 10, &row[i].mtu, 2);
		int e = probe();
		if (e != row[i].error || dev.accepted != row[i].accepts || dev.common[0x14])
			fail_msg("row %u: %d, %llx", i, e, (unsigned long long)dev.accepted);
		if (e != E_OK)
			continue;
		assert_int_equal(nic.mtu_max, dev.accepted & BIT(MTU) ? 9000 : NIC_MTU_MAX);
		assert_int_equal(nic.pairs_max, dev.accepted & BIT(MQ) ? PAIRS : 1);
		assert_int_equal(!memcmp(nic.mac, dev.net, 6), (dev.accepted & BIT(MAC)) != 0);
		assert_int_equal(nic.features & (NIC_SG | NIC_TSO | NIC_USO),
		                 NIC_SG | (dev.accepted & BIT(TSO4) ? NIC_TSO4 : 0) |
		                         (dev.accepted & BIT(TSO6) ? NIC_TSO6 : 0) |
		                         (dev.accepted & BIT(USO) ? NIC_USO : 0));
	}
}

/* 5.1.4.1: 1 to 0x8000 pairs; any other number means one. A station address is not a group's: then
 * it gets one of ours, as if the device gave none. */
static void odd_configuration(void **s)
{
	(void)s;
	static const struct {
		uint16_t pairs, taken;
	} row[] = {{0, 1}, {1, 1}, {0x8000, NIC_PAIRS_MAX}, {0x8001, 1}, {0xffff, 1}};
	for (unsigned i = 0; i < ARRAY_LEN(row); i++) {
		power();
		memcpy(dev.net + 8, &row[i].pairs, 2);
		assert_int_equal(probe(), E_OK);
		assert_int_equal(nic.pairs_max, row[i].taken);
	}
	power();
	dev.net[0] |= 1;
	assert_int_equal(probe(), E_OK);
	assert_memory_equal(nic.mac, ((uint8_t[]){2, 'h', 'y', 0, 0, 0x18}), 6);
}

/* 4.1.4.4: doorbells lie at even addresses. */
static void odd_doorbell(void **s)
{
	(void)s;
	power();
	dev.cfg[0x98] = 1; /* notify_off_multiplier */
	assert_int_equal(probe(), E_OK);
	assert_int_equal(start(1), E_DEVICE);
	assert_non_null(nic.error);
}

/* Refused in time, with a reason, leaving the device reset if possible; once the device works, it
 * starts. */
static void refuses_in_time(void **s)
{
	(void)s;
	static const struct {
		int state, probe, start;
	} row[] = {{HANGS, E_TIMEOUT, E_TIMEOUT}, {NO_FEATURES, E_DEVICE, E_DEVICE},
	           {NO_QUEUE, E_OK, E_DEVICE},    {NO_VECTOR, E_OK, E_DEVICE},
	           {FAR_DOORBELL, E_OK, E_DEVICE}, {MUTE, E_OK, E_TIMEOUT},
	           {REFUSES, E_OK, E_DEVICE}};
	for (unsigned i = 0; i < 2 * ARRAY_LEN(row); i++) {
		bool later = i % 2; /* not in probe but in start */
		uint64_t since = now;
		power();
		if (later)
			assert_int_equal(probe(), E_OK);
		dev.state = row[i / 2].state;
		int e = later ? start(2) : probe();
		assert_int_equal(e, later ? row[i / 2].start : row[i / 2].probe);
		assert_int_equal(nic.error != NULL, e != E_OK);
		virtio_net_ops.stop(&nic);
		assert_true(now - since < 12 * 1000000000ull);
		assert_int_equal(dev.common[0x14] != 0, dev.state == HANGS);
		dev.state = WELL;
		up_and_attach(2, 0);
	}
}

/* 3.1.1, 4.1.5.1.3, 5.1.6.5.6.4. */
static void starts_in_order(void **s)
{
	(void)s;
	power();
	assert_int_equal(probe(), E_OK);
	dev.nstatus = 0;
	assert_int_equal(start(3), E_OK);
	assert_int_equal(dev.nstatus, 5);
	assert_memory_equal(dev.statuses, ((uint8_t[]){0, 1, 3, 11, 15}), 5);
	for (unsigned q = 0; q < QUEUES; q++) {
		bool used = q < 6 || q == QUEUES - 1;
		assert_int_equal(word(q, 4), used);
		for (unsigned k = 0; q < 6 && k < 3; k++)
			assert_in_range(part(q, k) - bus_of(ring_of(q / 2)), 0, RING - 1);
		assert_int_equal(word(q, 2), !used ? 0 : q < 6 && q % 2 == 0 ? 1 + q / 2 : 0xffff);
	}
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(dev.routed[i], i ? 10 + i : 1);
	assert_int_equal(dev.command_bytes, 2 + 8 + 256 + 2 + 1 + 40);
	assert_memory_equal(dev.command, ((uint8_t[]){4, 1, 0x3f, 0, 0, 0, 127, 0, 0, 0}), 10);
	for (unsigned i = 0; i < 128; i++)
		assert_int_equal(dev.command[10 + 2 * i] | dev.command[11 + 2 * i] << 8, i % 3);
	assert_memory_equal(dev.command + 266, ((uint8_t[]){3, 0, 40, 0x6d, 0x5a}), 5);
	dev.offers &= ~BIT(RSS); /* then only the number of pairs is sent */
	assert_int_equal(start(3), E_OK);
	assert_memory_equal(dev.command, ((uint8_t[]){4, 0, 3, 0}), 4);
}

static int pair_start(unsigned pair)
{
	struct nic_ring_mem mem[PAIRS];
	for (unsigned i = 0; i < PAIRS; i++)
		mem[i] = (struct nic_ring_mem){ring_of(i == pair ? PAIRS : i), RING, 10 + i, &cnt};
	return virtio_net_ops.pair_start(
		&nic, &(struct nic_config){3, nic.features, BUF_STRIDE_STANDARD, mem}, pair, &shared);
}

/* 2.6.1: two queues are reset and set up again, with other memory; the others are not affected.
 * Frames are steered away before (5.1.6.5.6.4), and those not hashed go to the first remaining
 * pair. */
static void one_pair_alone(void **s)
{
	(void)s;
	struct device before;
	power();
	assert_int_equal(probe(), E_OK);
	assert_int_equal(start(3), E_OK);
	before = dev;
	for (unsigned round = 0; round < 70; round++) { /* more often than the control queue is long */
		assert_int_equal(rig_spread(&virtio_net_ops, &nic, 6), E_OK);
		assert_memory_equal(dev.command + 6, ((uint8_t[]){127, 0, 1, 0, 1, 0, 2, 0, 1, 0}), 10);
		assert_memory_equal(dev.command + 266, ((uint8_t[]){3, 0, 40}), 3); /* all send */
	}
	assert_int_equal(virtio_net_ops.pair_stop(&nic, 0), E_OK);
	for (unsigned q = 0; q < QUEUES; q++)
		assert_int_equal(word(q, 4), q >= 2 && (q < 6 || q == QUEUES - 1));
	assert_memory_equal(dev.queue[2], before.queue[2], 4 * sizeof dev.queue[0]);
	assert_int_equal(pair_start(0), E_OK);
	for (unsigned q = 0; q < 2; q++) {
		assert_memory_equal(dev.queue[q], before.queue[q], 8); /* size, vector, enabled */
		for (unsigned k = 0; k < 3; k++)
			assert_in_range(part(q, k) - bus_of(ring_of(PAIRS)), 0, RING - 1);
	}
	assert_memory_equal(dev.queue[2], before.queue[2], 4 * sizeof dev.queue[0]);
	assert_int_equal(dev.nstatus, before.nstatus);
	assert_int_equal(rig_spread(&virtio_net_ops, &nic, 7), E_OK);
	assert_memory_equal(dev.command, before.command, sizeof dev.command);
}

/* The device does not support it; supports it but never completes; has no table to spread by. */
static void one_pair_alone_refused(void **s)
{
	(void)s;
	uint64_t since;
	power();
	dev.offers &= ~BIT(RESET);
	assert_int_equal(probe(), E_OK);
	assert_int_equal(start(3), E_OK);
	assert_int_equal(virtio_net_ops.pair_stop(&nic, 1), E_NOTSUP);
	assert_non_null(nic.error);
	power();
	assert_int_equal(probe(), E_OK);
	assert_int_equal(start(3), E_OK);
	dev.state = KEEPS_QUEUE;
	since = now;
	assert_int_equal(virtio_net_ops.pair_stop(&nic, 1), E_TIMEOUT);
	assert_non_null(nic.error);
	assert_true(now - since < 12 * 1000000000ull);
	dev.state = MUTE;
	assert_int_equal(rig_spread(&virtio_net_ops, &nic, 5), E_TIMEOUT);
	power();
	dev.offers &= ~BIT(RSS);
	assert_int_equal(probe(), E_OK);
	assert_int_equal(start(3), E_OK);
	dev.command_bytes = 0;
	assert_int_equal(rig_spread(&virtio_net_ops, &nic, 5), E_NOTSUP);
	assert_int_equal(dev.command_bytes, 0);
}

/* Each queue has the size that its device allows, and its own doorbell; with too few vectors no
 * core may sleep. */
static void attaches(void **s)
{
	(void)s;
	for (unsigned pair = 0; pair < 3; pair++) {
		power();
		pci.msix_vectors = pair ? 16 : 3;
		struct nic_queue q = up_and_attach(3, pair);
		for (unsigned turn = 0; turn < 2; turn++)
			assert_int_equal(virtio_net_ops.rx_burst(&q, NULL, PKT_VECTOR_MAX), 0);
		assert_int_equal(word(2 * pair, 0), pair < 2 ? 512 : 256);
		assert_int_equal(load(part(2 * pair, 1) + 2, 2), word(2 * pair, 0));
		assert_int_equal(dev.rings[2 * pair], 1);
		assert_int_equal(cnt.mmio_writes, 1);
		assert_int_equal(virtio_net_ops.rx_interrupt(&q, true), pair == 0);
		assert_int_equal(dev.routed[0], pair ? 1 : 0);
	}
}

/* 2.7.5: a queue of 32 cannot take a frame in 33 pieces, so NIC_SG is not offered. */
static void small_queues_take_no_chains(void **s)
{
	(void)s;
	for (unsigned small = 0; small < 2; small++) {
		power();
		dev.state = small ? SMALL : WELL;
		up_and_attach(2, 1);
		assert_int_equal((shared.features & NIC_SG) != 0, !small);
		assert_int_equal(shared.features | NIC_SG, nic.features);
	}
}

/* The device completes a partial checksum if it can, otherwise the driver does. */
static void completes_checksums(void **s)
{
	(void)s;
	for (unsigned here = 0; here < 2; here++) {
		struct pkt p;
		power();
		dev.offers = here ? ~BIT(CSUM) : UINT64_MAX;
		struct nic_queue q = up_and_attach(1, 0);
		assert_true(pkt_alloc(&pool, &p));
		p.len = 100;
		p.flags = PKT_CSUM_PARTIAL;
		for (unsigned i = 0; i < p.len; i++)
			p.data[i] = (uint8_t)(i * i);
		put16(p.data + 50, 0x1234); /* sum of the pseudo header */
		*pkt_meta(&pool, p.buf) = (struct pkt_meta){.csum_start = 34, .csum_offset = 16};
		assert_int_equal(virtio_net_ops.tx_burst(&q, &p, 1), 1);
		uint64_t header = load(load(part(1, 0), 8), 8);
		assert_int_equal(header, here ? 0 : 1 | 34ull << 48); /* NEEDS_CSUM */
		assert_int_equal(slow_csum(p.data + 34, 66) == 0x1234, here);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(needs_its_structures), cmocka_unit_test(negotiates),
		cmocka_unit_test(refuses_in_time),      cmocka_unit_test(starts_in_order),
		cmocka_unit_test(attaches),             cmocka_unit_test(completes_checksums),
		cmocka_unit_test(small_queues_take_no_chains),
		cmocka_unit_test(odd_configuration),    cmocka_unit_test(odd_doorbell),
		cmocka_unit_test(one_pair_alone),       cmocka_unit_test(one_pair_alone_refused),
	};
	return cmocka_run_group_tests_name("virtio_net", tests, guest_map, NULL);
}
