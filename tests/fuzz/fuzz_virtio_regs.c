/*
 * The device half of virtio-net with a hostile card (drivers/virtio_net/virtio_net.c): its
 * capabilities point anywhere, its registers return anything and another value each time, and it
 * writes into its queues whenever a register is read. No register outside of a BAR is accessed, no
 * more memory than the driver was given, every wait ends, and what the driver publishes keeps its
 * bounds.
 *
 * Input: what is wrong in configuration space; then what becomes of each register that is read;
 * between them what happens next.
 */
#include "drivers/virtio_net/virtio_net.h"
#include "abi/layout.h"
#include "hal/mmio.h"
#include "tests/fuzz/rig.h"
#include "tests/unit/rig/guest.h"
#include "tests/unit/rig/spread.h"

#define BAR (MMIO_WINDOW + 0xf0000000u)
#define BAR_BYTES 0x4000u
#define NET_AT 0x1000u    /* in the BAR: device configuration */
#define NOTIFY_AT 0x3000u /* doorbells, 4 bytes apart */
#define PAIRS 8
#define BUFFERS 600
#define DMA_AT GUEST_PAGE
#define RINGS_AT 0x100000u
#define BUFFERS_AT 0x800000u

static struct {
	uint8_t cfg[256], bar[BAR_BYTES];
	uint16_t answered; /* commands of the control queue */
} dev;
static struct pci_dev pci;
static struct nic nic;
static struct nic_shared shared;
static struct bufpool pool;
static struct nic_counters cnt;
static uint64_t now; /* ns */

/* --- kernel and CPU --- */

uint64_t host_clock_tsc(void)
{
	return now += look_ns(now, 20000);
}

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
	(void)core;
	return entry < d->msix_vectors ? E_OK : E_INVAL;
}

/* --- the device --- */

static uint8_t *reg(const volatile void *a, unsigned bytes)
{
	uint64_t at = (uintptr_t)a - BAR;
	assert_true(at <= BAR_BYTES - bytes && at % bytes == 0);
	return dev.bar + at;
}

/* Writes where the device may: the control queue's page of used entries and the answer behind
 * it. */
static void scribble(void)
{
	unsigned n = 1 + rig_u8() % 8;
	while (n--) {
		uint32_t at = rig_u16() % NIC_DMA_BYTES;
		*bus(DMA_AT + at, 1) = rig_u8();
	}
}

/* The correct value: features by their selector, queues of at most 256. */
static uint32_t truth(uint64_t at, const uint8_t *r, unsigned bytes)
{
	uint32_t v = 0;
	memcpy(&v, r, bytes);
	switch (at) {
	case 0x04: return UINT32_MAX;
	case 0x18: return 256;
	case 0x1e: return 2;
	case 0x3a: return 0;
	default: return v;
	}
}

uint32_t host_mmio_read(const volatile void *a, unsigned bytes)
{
	uint64_t at = (uintptr_t)a - BAR;
	uint32_t v = truth(at, reg(a, bytes), bytes);
	uint8_t how = rig_u8();
	if (how & 0x80)
		scribble();
	if (how & 0x40)
		v = rig_u32();
	else if (how & 0x20)
		v ^= 1u << how % 32;
	return v & UINT32_MAX >> (32 - 8 * bytes);
}

/* A doorbell: if it is the control queue's, the command succeeds, or no answer comes. */
void host_mmio_write(volatile void *a, unsigned bytes, uint32_t v)
{
	uint64_t at = (uintptr_t)a - BAR;
	memcpy(reg(a, bytes), &v, bytes);
	if (at < NOTIFY_AT || rig_u8() & 1)
		return;
	uint16_t count = ++dev.answered;
	memcpy(bus(DMA_AT + 64 * 16 + 6 + 2 * 64 + 2, 2), &count, 2); /* in that region */
	scribble();
}

/* --- power-on --- */

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
	                              0, 0, 0,    0, 40,   128, 0, 0x3f};
	memset(&dev, 0, sizeof dev);
	dev.cfg[0x34] = 0x40;
	memcpy(dev.bar + NET_AT, net, sizeof net);
	capability(0x40, 1, 0, 0x3c);
	capability(0x58, 3, 0x2000, 4); /* ISR: not used */
	capability(0x70, 4, NET_AT, 0x20);
	capability(0x88, 2, NOTIFY_AT, 0x100);
	for (unsigned lies = rig_u8() % 16; lies--;) {
		unsigned at = rig_u8();
		dev.cfg[at] = rig_u8();
	}
	pci = (struct pci_dev){.vendor = 0x1af4, .device = 0x1041, .msix_vectors = rig_u8() % 16};
	pci.bar[4] = (struct pci_bar){BAR, BAR_BYTES};
	hz = clock_make(1000000000);
	guest_open();
	memset(bus(DMA_AT, NIC_DMA_BYTES), 0, NIC_DMA_BYTES);
	guest_close(bus(DMA_AT, 1) + NIC_DMA_BYTES, bus(RINGS_AT, 1));
	nic = (struct nic){.pci = &pci, .clock = &hz, .dma = bus(DMA_AT, NIC_DMA_BYTES)};
	memset(&shared, 0, sizeof shared);
	memset(&cnt, 0, sizeof cnt);
	bufpool_init(&pool, bus(BUFFERS_AT, BUFFERS * BUF_STRIDE_STANDARD), stack, BUFFERS,
	             BUF_STRIDE_STANDARD);
}

/* --- what the driver's users do --- */

static struct nic_ring_mem mem[PAIRS];

static bool start(unsigned pairs)
{
	size_t bytes = virtio_net_ops.ring_bytes(&nic);
	for (unsigned i = 0; i < pairs; i++)
		mem[i] = (struct nic_ring_mem){bus(RINGS_AT + i * bytes, bytes), bytes, 1 + i, &cnt};
	uint8_t *end = bus(RINGS_AT + pairs * bytes, 1);
	guest_close(end, bus(BUFFERS_AT, 1));
	const struct nic_config config = {pairs, nic.features, BUF_STRIDE_STANDARD, mem};
	if (virtio_net_ops.start(&nic, &config, &shared) != E_OK)
		return false;
	if (rig_u8() & 1 && virtio_net_ops.pair_stop(&nic, 0) == E_OK &&
	    virtio_net_ops.pair_start(&nic, &config, 0, &shared) != E_OK)
		return false;
	return true;
}

static void use(unsigned pairs)
{
	struct nic_queue q = {.ops = &virtio_net_ops, .pool = &pool, .cnt = &cnt,
	                      .rx_buffers = UINT32_MAX};
	unsigned pair = rig_u8() % pairs;
	struct pkt v[8];
	struct nic_link link;
	assert_int_equal(shared.pairs, pairs);
	virtio_net_ops.link(&nic, &link);
	rig_spread(&virtio_net_ops, &nic, 1ull << pair);
	virtio_net_ops.attach(&q, &shared, pair, mem[pair].mem);
	virtio_net_ops.rx_burst(&q, v, 8);
	for (unsigned i = 0; i < 8 && pool.free; i++) {
		assert_true(pkt_alloc(&pool, &v[0]));
		v[0].len = 60;
		if (virtio_net_ops.tx_burst(&q, v, 1) == 0)
			pkt_free(&pool, &v[0]);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool mapped;
	if (!mapped)
		assert_int_equal(guest_map(NULL), 0);
	mapped = true;
	rig_input(data, size);
	now = 1000000000;
	power();
	if (virtio_net_ops.probe(&nic, &pci) != E_OK) {
		assert_non_null(nic.error);
		return 0;
	}
	assert_in_range(nic.pairs_max, 1, NIC_PAIRS_MAX);
	assert_in_range(nic.mtu_max, 68, NIC_MTU_MAX);
	unsigned pairs = 1 + rig_u8() % (nic.pairs_max < PAIRS ? nic.pairs_max : PAIRS);
	if (start(pairs))
		use(pairs);
	virtio_net_ops.stop(&nic);
	return 0;
}
