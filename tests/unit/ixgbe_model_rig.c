#include "tests/unit/ixgbe_model_rig.h"

#include "drivers/ixgbe/ring.h"
#include "hal/layout.h"
#include "hal/mmio.h"
#include "tests/unit/guest.h"
#include "tests/unit/packets.h"
#include "tools/nicsim/82599/82599.h"

#define BAR (MMIO_WINDOW + 0xe0000000u)
#define TSC_HZ 1000000000u /* a tick is a nanosecond */
#define LOOK_NS 1000       /* what a look at the TSC takes */

struct port port;

/* --- what the kernel and the CPU give a driver --- */

static uint32_t command; /* of configuration space */

uint32_t pci_read(const struct pci_dev *dev, unsigned offset, unsigned size)
{
	assert_ptr_equal(dev, &port.pci);
	assert_int_equal(size, 2);
	assert_true(offset == 4 || offset == 0xaa);
	return offset == 4 ? command : 0;
}

void pci_write(const struct pci_dev *dev, unsigned offset, unsigned size, uint32_t value)
{
	assert_ptr_equal(dev, &port.pci);
	assert_int_equal(offset, 4);
	assert_int_equal(size, 2);
	command = value;
}

int pci_msix_route(const struct pci_dev *dev, unsigned entry, unsigned core)
{
	assert_in_range(entry, 0, dev->msix_vectors - 1u);
	port.routed[entry] = core + 1;
	return E_OK;
}

uint64_t host_clock_tsc(void)
{
	rig_run(LOOK_NS);
	return rig.now;
}

void port_remove_at(uint64_t ns)
{
	port.remove_at = ns;
}

static void record(uint64_t offset, uint32_t value, bool write)
{
	assert_true(offset < rig.m->ops->bar_bytes[0]);
	rig.m->removed |= port.remove_at && rig.now >= port.remove_at;
	if (port.traced == TRACE_MAX)
		port.traced = 0; /* who looks at it does so before */
	port.trace[port.traced++] = (struct access){(uint32_t)offset, value, write, rig.now};
}

uint32_t host_mmio_read(const volatile void *a, unsigned bytes)
{
	uint64_t offset = (uintptr_t)a - BAR;
	assert_int_equal(bytes, 4);
	record(offset, 0, false);
	return port.trace[port.traced - 1].value = rig_read((uint32_t)offset);
}

void host_mmio_write(volatile void *a, unsigned bytes, uint32_t v)
{
	uint64_t offset = (uintptr_t)a - BAR;
	assert_int_equal(bytes, 4);
	record(offset, v, true);
	rig_write((uint32_t)offset, v);
}

/* --- life --- */

static enum rig_mode mode;

int strict(void **state)
{
	(void)state;
	mode = RIG_STRICT;
	return 0;
}

int line_rate(void **state)
{
	(void)state;
	mode = RIG_LINE_RATE;
	return 0;
}

void power(uint16_t device, unsigned vectors)
{
	memset(&port, 0, sizeof port);
	rig_start(&intel_82599_ops, mode);
	command = 0;
	port.pci = (struct pci_dev){.vendor = 0x8086,
	                            .device = device,
	                            .msix_vectors = (uint16_t)vectors,
	                            .bar = {{BAR, rig.m->ops->bar_bytes[0]}}};
	port.clock = clock_make(TSC_HZ);
	port.nic = (struct nic){.ops = &ixgbe_ops,
	                        .pci = &port.pci,
	                        .clock = &port.clock,
	                        .dma = rig_mem(rig_alloc(NIC_DMA_BYTES, 4096), NIC_DMA_BYTES)};
}

int port_probe(void)
{
	return ixgbe_ops.probe(&port.nic, &port.pci);
}

int port_start(unsigned pairs, uint32_t features, uint32_t stride, unsigned buffers)
{
	struct nic_ring_mem mem[PAIRS];
	size_t bytes = ixgbe_ops.ring_bytes(&port.nic);
	assert_in_range(pairs, 1, PAIRS);
	assert_in_range(buffers, 1, POOL_MAX);
	rig.brk = RIG_NOTHING + NIC_DMA_BYTES;
	port.pairs = pairs;
	for (unsigned i = 0; i < pairs; i++) {
		struct port_pair *p = &port.pair[i];
		size_t n = (size_t)buffers * stride;
		memset(p, 0, sizeof *p);
		p->mem = rig_mem(rig_alloc(bytes, 4096), bytes);
		memset(p->mem, 0, bytes);
		bufpool_init(&p->pool, rig_mem(rig_alloc(n, 64), n), p->stack, buffers, stride);
		mem[i] = (struct nic_ring_mem){p->mem, bytes, 1 + i, &p->cnt};
	}
	struct nic_config config = {pairs, features, stride, mem};
	return ixgbe_ops.start(&port.nic, &config, &port.shared);
}

void port_attach(void)
{
	for (unsigned i = 0; i < port.pairs; i++) {
		struct port_pair *p = &port.pair[i];
		p->q = (struct nic_queue){
			.ops = &ixgbe_ops, .pool = &p->pool, .cnt = &p->cnt, .port = 5,
			.rx_buffers = UINT32_MAX};
		assert_int_equal(ixgbe_ops.attach(&p->q, &port.shared, i, p->mem), E_OK);
	}
}

void port_stop(void)
{
	ixgbe_ops.stop(&port.nic);
}

struct nic_link link_now(void)
{
	struct nic_link l;
	ixgbe_ops.link(&port.nic, &l);
	return l;
}

void up(unsigned pairs, uint32_t features, uint32_t stride)
{
	power(0x10fb, 64);
	unsigned buffers = pairs > 4 || stride > BUF_STRIDE_STANDARD ? 1500 : POOL_MAX;
	if (port_probe() != E_OK || port_start(pairs, features, stride, buffers) != E_OK)
		fail_msg("%s", port.nic.error);
	port_attach();
	for (unsigned ms = 0; !link_now().up; ms++) {
		assert_true(ms < 5000);
		rig_run(1000000);
	}
}

/* --- traffic --- */

unsigned rx(unsigned i, unsigned max)
{
	static struct pkt v[PKT_VECTOR_MAX];
	struct port_pair *p = &port.pair[i];
	unsigned n = ixgbe_ops.rx_burst(&p->q, v, max);
	assert_in_range(n, 0, max);
	assert_in_range(p->nhands + n, 0, POOL_MAX);
	memcpy(&p->hands[p->nhands], v, n * sizeof v[0]);
	p->nhands += n;
	return n;
}

unsigned rx_all(unsigned i)
{
	unsigned n = 0;
	for (unsigned idle = 0; idle < 20; idle++) {
		unsigned k = rx(i, PKT_VECTOR_MAX);
		n += k;
		idle = k ? 0 : idle;
		rig_run(10000);
	}
	return n;
}

unsigned tx(unsigned i)
{
	struct port_pair *p = &port.pair[i];
	unsigned n = p->nhands < PKT_VECTOR_MAX ? p->nhands : PKT_VECTOR_MAX;
	unsigned k = ixgbe_ops.tx_burst(&p->q, p->hands, n);
	assert_in_range(k, 0, n);
	p->nhands -= k;
	memmove(p->hands, p->hands + k, p->nhands * sizeof p->hands[0]);
	return k;
}

void let_go(unsigned i)
{
	struct port_pair *p = &port.pair[i];
	while (p->nhands)
		pkt_free(&p->pool, &p->hands[--p->nhands]);
}

struct pkt *take(unsigned i, const void *bytes, unsigned len)
{
	struct port_pair *p = &port.pair[i];
	struct pkt *k = &p->hands[p->nhands];
	assert_true(pkt_alloc(&p->pool, k));
	p->nhands++;
	k->len = (uint16_t)len;
	memcpy(k->data, bytes, len);
	return k;
}

int find_access(unsigned from, enum kind kind, uint32_t offset, uint32_t bytes)
{
	for (unsigned i = from; i < port.traced; i++)
		if (port.trace[i].write == (kind == WRITES) && port.trace[i].offset >= offset &&
		    port.trace[i].offset - offset < bytes)
			return (int)i;
	return -1;
}

/* --- frames --- */

uint8_t frame[FRAME_BYTES_MAX];

void ether(uint16_t type)
{
	static const uint8_t to[6] = {0x02, 0x00, 0x5e, 0x00, 0x53, 0x01};
	static const uint8_t from[6] = {0x02, 0, 0, 0, 0, 9};
	memcpy(frame, to, 6);
	memcpy(frame + 6, from, 6);
	put16(frame + 12, type);
}

unsigned make_l4(uint8_t proto, uint32_t src, uint32_t dst, uint16_t sport, uint16_t dport,
                 unsigned n, uint32_t seq)
{
	static uint8_t all[12 + FRAME_BYTES_MAX];
	unsigned l4 = proto == 6 ? 20 : 8, check = proto == 6 ? 16 : 6;
	uint8_t *ip = frame + 14, *h = ip + 20;
	ether(0x0800);
	memset(h, 0, l4);
	put16(h, sport);
	put16(h + 2, dport);
	if (proto == 6) {
		put32(h + 4, seq);
		put16(h + 12, 0x5018);
	} else {
		put16(h + 4, 8 + n);
	}
	for (unsigned i = 0; i < n; i++)
		h[l4 + i] = (uint8_t)(seq + i);
	make_ip(ip, src, dst, proto, NULL, 0, l4 + n);
	memcpy(all, ip + 12, 8);
	all[8] = 0;
	all[9] = proto;
	put16(all + 10, l4 + n);
	memcpy(all + 12, h, l4 + n);
	put16(h + check, slow_csum(all, 12 + l4 + n));
	return 34 + l4 + n;
}

unsigned make_udp(uint32_t seq, unsigned n)
{
	return make_l4(17, 0xc0000201, 0xc6336401 + seq % 251, (uint16_t)(1000 + seq), 53, n, seq);
}

void assert_sent(unsigned len)
{
	struct rig_frame f;
	assert_true(rig_sent(&f));
	assert_int_equal(f.bytes, len);
	assert_memory_equal(f.data, frame, len);
}

/* --- accounts --- */

struct pair_of_driver { /* as in ixgbe.c */
	struct ixgbe_rx rx;
	struct ixgbe_tx tx;
};

void assert_buffers(void)
{
	for (unsigned i = 0; i < port.pairs; i++) {
		const struct port_pair *p = &port.pair[i];
		const struct pair_of_driver *d = (const void *)p->q.priv;
		owners_forget(&p->pool);
		for (uint32_t k = 0; k < p->pool.free; k++)
			assert_owner(p->pool.stack[k]);
		for (unsigned k = 0; k < p->nhands; k++)
			assert_packet(&p->hands[k]);
		if (d->rx.part.data)
			assert_owner(d->rx.part.buf);
		for (uint32_t k = d->rx.head; k != d->rx.tail; k++)
			assert_owner(d->rx.owner[k & d->rx.mask]);
		for (uint32_t k = d->tx.tail; k != d->tx.head; k++) {
			uint32_t owner = d->tx.owner[k & d->tx.mask] & ~IXGBE_REPORTED;
			if (owner != IXGBE_NONE)
				assert_packet(&(struct pkt){.buf = owner & IXGBE_OWNER_BUF,
				                            .flags = (uint8_t)(owner >> 24 & 0x60)});
		}
		if (p->q.ops)
			assert_all_owned();
		assert_int_equal(p->cnt.mmio_reads, 0);
	}
}

int teardown(void **state)
{
	assert_buffers();
	return rig_stop(state);
}

int teardown_forgiving(void **state)
{
	assert_buffers();
	rig_forgive();
	rig.allow_bad_dma = true;
	return rig_stop(state);
}
