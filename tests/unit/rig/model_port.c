#include "tests/unit/rig/model_port.h"
#include "tests/unit/rig/spread.h"

#include "abi/layout.h"
#include "hal/mmio.h"

#define BAR (MMIO_WINDOW + 0xe0000000u)
#define TSC_HZ 1000000000u /* a tick is a nanosecond */
#define LOOK_NS 1000       /* least time of a TSC read */
#define DMA_MORE (8u << 20)

struct port port;

/* --- what kernel and CPU provide to a driver --- */

uint32_t pci_read(const struct pci_dev *dev, unsigned offset, unsigned size)
{
	assert_ptr_equal(dev, &port.pci);
	assert_int_equal(size, 2);
	/* command; status: no capabilities; PCIe: Device Status, Device Control 2 */
	assert_true(offset == 4 || offset == 6 || offset == 0xaa || offset == 0xc8);
	if (offset == 0xaa)
		return rig.now < port.pending_until ? 1u << 5 : 0;
	return offset == 4 ? port.command : offset == 0xc8 ? port.completion_timeout : 0;
}

void pci_write(const struct pci_dev *dev, unsigned offset, unsigned size, uint32_t value)
{
	assert_ptr_equal(dev, &port.pci);
	assert_int_equal(offset, 4);
	assert_int_equal(size, 2);
	port.command = (uint16_t)value;
}

int pci_msix_route(const struct pci_dev *dev, unsigned entry, unsigned core)
{
	assert_in_range(entry, 0, dev->msix_vectors - 1u);
	port.routed[entry] = core + 1;
	return E_OK;
}

uint64_t host_clock_tsc(void)
{
	rig_run(look_ns(rig.now, LOOK_NS));
	return rig.now;
}

static struct access *record(const volatile void *a, uint32_t value, bool write)
{
	uint64_t offset = (uintptr_t)a - BAR;
	assert_true(offset < rig.m->ops->bar_bytes[0]);
	rig.m->removed |= port.remove_at && rig.now >= port.remove_at;
	if (port.traced == TRACE_MAX)
		port.traced = 0; /* a test that reads the trace does so before */
	struct access *access = &port.trace[port.traced++];
	*access = (struct access){(uint32_t)offset, value, write, rig.now};
	return access;
}

uint32_t host_mmio_read(const volatile void *a, unsigned bytes)
{
	struct access *access = record(a, 0, false);
	assert_int_equal(bytes, 4);
	port.reads++;
	uint32_t v = rig_read(access->offset);
	return access->value = port.lie ? port.lie(v) : v;
}

static void write_word(volatile void *a, uint32_t v)
{
	rig_write(record(a, v, true)->offset, v);
}

void host_mmio_write(volatile void *a, unsigned bytes, uint32_t v)
{
	assert_int_equal(bytes, 4);
	port.writes++;
	write_word(a, v);
}

/* The rig's bus is 32 bits wide: two halves, as the PRM of mlx5 allows where 64 bits are not
 * available. */
void host_mmio_write64(volatile void *a, uint64_t v)
{
	port.writes++;
	write_word(a, (uint32_t)v);
	write_word((volatile uint8_t *)a + 4, (uint32_t)(v >> 32));
}

static void *dma_more(size_t bytes)
{
	uint64_t at = port.dma_next;
	port.dma_next = (at + bytes + 4095) & ~4095ull;
	assert_true(port.dma_next <= port.rings);
	return rig_mem(at, bytes);
}

/* --- start and end --- */

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

void power(void)
{
	power_of(card.device, 64);
}

void power_of(uint16_t device, unsigned vectors)
{
	memset(&port, 0, offsetof(struct port, trace));
	rig_start(card.model, mode);
	port.pci = (struct pci_dev){.vendor = card.vendor,
	                            .device = device,
	                            .msix_vectors = (uint16_t)vectors,
	                            .bar = {{BAR, rig.m->ops->bar_bytes[0]}}};
	port.clock = clock_make(TSC_HZ);
	port.nic = (struct nic){.ops = card.driver,
	                        .pci = &port.pci,
	                        .clock = &port.clock,
	                        .dma = rig_mem(rig_alloc(NIC_DMA_BYTES, 4096), NIC_DMA_BYTES),
	                        .dma_more = dma_more};
	port.dma_next = rig_alloc(DMA_MORE, 4096);
	port.rings = port.dma_next + DMA_MORE;
}

int port_probe(void)
{
	return card.driver->probe(&port.nic, &port.pci);
}

static struct nic_ring_mem mem[PAIRS];
static struct nic_config config; /* of the last start */

int port_start(unsigned pairs, uint32_t features, uint32_t stride, unsigned buffers)
{
	size_t bytes = card.driver->ring_bytes(&port.nic);
	assert_in_range(pairs, 1, PAIRS);
	assert_in_range(buffers, 1, POOL_MAX);
	rig.brk = port.rings;
	port.pairs = pairs;
	for (unsigned i = 0; i < pairs; i++) {
		struct port_pair *p = &port.pair[i];
		size_t n = (size_t)buffers * stride;
		memset(p, 0, sizeof *p);
		p->mem = rig_mem(rig_alloc(bytes, 4096), bytes);
		memset(p->mem, 0, bytes);
		p->buffers = rig_mem(rig_alloc(n, 64), n);
		bufpool_init(&p->pool, p->buffers, p->stack, buffers, stride);
		mem[i] = (struct nic_ring_mem){p->mem, bytes, 1 + i, &p->cnt};
	}
	config = (struct nic_config){pairs, features, stride, mem};
	memset(&port.shared, 0, sizeof port.shared);
	return card.driver->start(&port.nic, &config, &port.shared);
}

static void attach(unsigned i)
{
	struct port_pair *p = &port.pair[i];
	p->q = (struct nic_queue){.ops = card.driver, .pool = &p->pool, .cnt = &p->cnt, .port = 5,
	                          .rx_buffers = UINT32_MAX};
	assert_int_equal(card.driver->attach(&p->q, &port.shared, i, p->mem), E_OK);
}

void port_attach(void)
{
	for (unsigned i = 0; i < port.pairs; i++)
		attach(i);
}

static uint64_t all_pairs(void)
{
	return (1ull << port.pairs) - 1;
}

int pair_leave(unsigned i)
{
	struct port_pair *p = &port.pair[i];
	uint64_t others = all_pairs() & ~(1ull << i);
	int e = others ? rig_spread(card.driver, &port.nic, others) : E_OK;
	if (e == E_OK)
		e = card.driver->pair_stop(&port.nic, i);
	if (e != E_OK)
		return e;
	p->left = card.driver->rx_left(&port.shared, i, p->mem, p->cnt.rx_place);
	memset(p->mem, 0xa5, mem[i].bytes);
	memset(p->buffers, 0xa5, (size_t)p->pool.count * p->pool.stride);
	p->nhands = 0;
	return E_OK;
}

static void assert_poisoned(const uint8_t *m, size_t bytes)
{
	for (size_t k = 0; k < bytes; k++)
		assert_int_equal(m[k], 0xa5);
}

int pair_return(unsigned i)
{
	struct port_pair *p = &port.pair[i];
	assert_poisoned(p->mem, mem[i].bytes);
	assert_poisoned(p->buffers, (size_t)p->pool.count * p->pool.stride);
	memset(p->mem, 0, mem[i].bytes);
	p->cnt.rx_place = 0;
	bufpool_init(&p->pool, p->buffers, p->stack, p->pool.count, p->pool.stride);
	int e = card.driver->pair_start(&port.nic, &config, i, &port.shared);
	if (e != E_OK)
		return e;
	attach(i);
	return rig_spread(card.driver, &port.nic, all_pairs());
}

void port_stop(void)
{
	card.driver->stop(&port.nic);
}

struct nic_link link_now(void)
{
	struct nic_link l;
	card.driver->link(&port.nic, &l);
	return l;
}

struct nic_link link_within(unsigned ms)
{
	struct nic_link l = link_now();
	for (; !l.up && !l.gone && ms; ms--) {
		rig_run(1000000);
		l = link_now();
	}
	return l;
}

void up(unsigned pairs, uint32_t features, uint32_t stride)
{
	power();
	unsigned buffers = pairs > 4 || stride > STANDARD ? 1500 : POOL_MAX;
	if (port_probe() != E_OK || port_start(pairs, features, stride, buffers) != E_OK)
		fail_msg("%s", port.nic.error);
	port_attach();
	assert_true(link_within(5000).up);
}

/* --- traffic --- */

unsigned rx(unsigned i, unsigned max)
{
	static struct pkt v[PKT_VECTOR_MAX];
	struct port_pair *p = &port.pair[i];
	unsigned reads = port.reads, writes = port.writes;
	unsigned n = card.driver->rx_burst(&p->q, v, max);
	assert_in_range(n, 0, max);
	assert_int_equal(port.reads, reads);
	assert_in_range(port.writes - writes, 0, card.rx_writes);
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
	unsigned reads = port.reads, writes = port.writes;
	unsigned k = card.driver->tx_burst(&p->q, p->hands, n);
	assert_in_range(k, 0, n);
	assert_int_equal(port.reads, reads);
	assert_int_equal(port.writes, writes + (k > 0));
	p->nhands -= k;
	memmove(p->hands, p->hands + k, p->nhands * sizeof p->hands[0]);
	return k;
}

void slots_send(unsigned i, unsigned n, uint64_t bytes)
{
	unsigned reads = port.reads, writes = port.writes;
	card.driver->slots_send(&port.pair[i].q, n, bytes);
	assert_int_equal(port.reads, reads);
	assert_int_equal(port.writes, writes + (n > 0));
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

bool mend(unsigned i)
{
	struct nic_queue *q = &port.pair[i].q;
	for (unsigned looks = 0; q->broken; looks++) {
		assert_true(looks < 50);
		if (!card.driver->mend(q))
			return false;
		link_now();
		rig_run(1000000);
	}
	return true;
}

int find_access(unsigned from, enum kind kind, uint32_t offset, uint32_t bytes)
{
	for (unsigned i = from; i < port.traced; i++)
		if (port.trace[i].write == (kind == WRITES) && port.trace[i].offset >= offset &&
		    port.trace[i].offset - offset < bytes)
			return (int)i;
	return -1;
}

/* --- accounting --- */

void assert_buffers(void)
{
	for (unsigned i = 0; i < port.pairs; i++) {
		const struct port_pair *p = &port.pair[i];
		owners_forget(&p->pool);
		for (uint32_t k = 0; k < p->pool.free; k++)
			assert_owner(p->pool.stack[k]);
		for (unsigned k = 0; k < p->nhands; k++)
			assert_packet(&p->hands[k]);
		if (p->q.ops) {
			card.assert_owners(p);
			assert_all_owned();
		}
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
