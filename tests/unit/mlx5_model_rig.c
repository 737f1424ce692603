#include "tests/unit/mlx5_model_rig.h"

#include "drivers/mlx5/ring.h"
#include "hal/layout.h"
#include "hal/mmio.h"
#include "tests/unit/guest.h"
#include "tools/nicsim/mlx5/mlx5.h"

#define BAR (MMIO_WINDOW + 0xe0000000u)
#define TSC_HZ 1000000000u /* a tick is a nanosecond */
#define LOOK_NS 1000       /* what a look at the TSC takes */

struct port port;

/* --- what the kernel and the CPU give a driver --- */

uint32_t pci_read(const struct pci_dev *dev, unsigned offset, unsigned size)
{
	assert_ptr_equal(dev, &port.pci);
	assert_int_equal(size, 2);
	assert_int_equal(offset, 4);
	return port.command;
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
	rig_run(LOOK_NS);
	return rig.now;
}

static uint32_t offset_of(const volatile void *a)
{
	uint64_t offset = (uintptr_t)a - BAR;
	assert_true(offset < rig.m->ops->bar_bytes[0]);
	return (uint32_t)offset;
}

uint32_t host_mmio_read(const volatile void *a, unsigned bytes)
{
	assert_int_equal(bytes, 4);
	port.reads++;
	return rig_read(offset_of(a));
}

void host_mmio_write(volatile void *a, unsigned bytes, uint32_t v)
{
	assert_int_equal(bytes, 4);
	port.writes++;
	rig_write(offset_of(a), v);
}

/* The rig's bus is 32 bits wide: two halves, as the PRM allows where 64 are not to be had. */
void host_mmio_write64(volatile void *a, uint64_t v)
{
	port.writes++;
	rig_write(offset_of(a), (uint32_t)v);
	rig_write(offset_of(a) + 4, (uint32_t)(v >> 32));
}

static void *dma_more(size_t bytes)
{
	return rig_mem(rig_alloc(bytes, 4096), bytes);
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

void power(unsigned vectors)
{
	memset(&port, 0, sizeof port);
	rig_start(&connectx5_ops, mode);
	port.pci = (struct pci_dev){.vendor = 0x15b3,
	                            .device = 0x1017,
	                            .msix_vectors = (uint16_t)vectors,
	                            .bar = {{BAR, rig.m->ops->bar_bytes[0]}}};
	port.clock = clock_make(TSC_HZ);
	port.nic = (struct nic){
		.ops = &mlx5_ops, .pci = &port.pci, .clock = &port.clock, .dma_more = dma_more};
}

int port_probe(void)
{
	return mlx5_ops.probe(&port.nic, &port.pci);
}

int port_start(unsigned pairs, uint32_t features, uint32_t stride, unsigned buffers)
{
	struct nic_ring_mem mem[PAIRS];
	size_t bytes = mlx5_ops.ring_bytes(&port.nic);
	assert_in_range(pairs, 1, PAIRS);
	assert_in_range(buffers, 1, POOL_MAX);
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
	memset(&port.shared, 0, sizeof port.shared);
	return mlx5_ops.start(&port.nic, &config, &port.shared);
}

void port_attach(void)
{
	for (unsigned i = 0; i < port.pairs; i++) {
		struct port_pair *p = &port.pair[i];
		p->q = (struct nic_queue){
			.ops = &mlx5_ops, .pool = &p->pool, .cnt = &p->cnt, .port = 5,
			.rx_buffers = UINT32_MAX};
		assert_int_equal(mlx5_ops.attach(&p->q, &port.shared, i, p->mem), E_OK);
	}
}

void port_stop(void)
{
	mlx5_ops.stop(&port.nic);
}

struct nic_link link_now(void)
{
	struct nic_link l;
	mlx5_ops.link(&port.nic, &l);
	return l;
}

void up(unsigned pairs, uint32_t features, uint32_t stride)
{
	power(64);
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

static unsigned accesses(void)
{
	return port.reads + port.writes;
}

unsigned rx(unsigned i, unsigned max)
{
	static struct pkt v[PKT_VECTOR_MAX];
	struct port_pair *p = &port.pair[i];
	unsigned before = accesses(), n = mlx5_ops.rx_burst(&p->q, v, max);
	assert_in_range(n, 0, max);
	assert_int_equal(accesses(), before);
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
	unsigned before = accesses(), k = mlx5_ops.tx_burst(&p->q, p->hands, n);
	assert_in_range(k, 0, n);
	assert_int_equal(accesses(), before + (k > 0));
	p->nhands -= k;
	memmove(p->hands, p->hands + k, p->nhands * sizeof p->hands[0]);
	return k;
}

void slots_send(unsigned i, unsigned n, uint64_t bytes)
{
	unsigned before = accesses();
	mlx5_ops.slots_send(&port.pair[i].q, n, bytes);
	assert_int_equal(accesses(), before + (n > 0));
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
		if (!mlx5_ops.mend(q))
			return false;
		link_now();
		rig_run(1000000);
	}
	return true;
}

/* --- accounts --- */

struct pair_of_driver { /* as in mlx5.c */
	struct mlx5_rx rx;
	struct mlx5_tx tx;
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
		for (uint32_t k = d->rx.head; k != d->rx.tail; k++)
			assert_owner(d->rx.owner[k & d->rx.mask]);
		for (uint32_t k = d->tx.frame_tail; k != d->tx.frame_head && !d->tx.slots; k++) {
			uint32_t owner = d->tx.owner[k & d->tx.mask];
			assert_packet(&(struct pkt){.buf = owner & MLX5_OWNER_BUF,
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
