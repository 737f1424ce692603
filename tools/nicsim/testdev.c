/*
 * model=test: a minimal network card for testing nicsim itself (tests/nicsim). It resembles no real
 * device.
 *
 * BAR 0: a page of registers, a page of doorbells (mapped into the guest in line-rate mode). BAR 2:
 * MSI-X; vector 0 frames received, 1 frames sent, 2 carrier changed. There is one descriptor ring
 * per direction: SIZE entries, a power of two, at BASE. The tails run freely; the guest owns the
 * entries between the device's head and the tail. The device writes `bytes` (received) and then
 * DONE.
 */
#include "tools/nicsim/testdev.h"

#include "tools/nicsim/json.h"

#define RING_MAX 4096

enum {
	ID = 0x00,
	CTRL = 0x04,
	STATUS = 0x08,
	SCRATCH = 0x0c,
	RX_BASE_LO = 0x10, /* RX_BASE_HI, RX_SIZE follow */
	TX_BASE_LO = 0x20,
	RECEIVED = 0x30,
	RX_TAIL = 0x1000,
	TX_TAIL = 0x1004,
};

#define ID_VALUE     0x4e53494du
#define CTRL_ENABLE  1u
#define CTRL_RESET   2u /* clears itself */
#define STATUS_LINK  1u
#define DESC_DONE    1u

struct desc {
	uint64_t address;
	uint32_t bytes, flags;
};

struct ring {
	struct desc *desc; /* valid during one call from outside */
	uint32_t head, tail, size;
};

struct testdev {
	struct ring rx, tx;
};

enum { FAULT_STUCK };

static const struct fault_kind faults[] = {
	[FAULT_STUCK] = {"stuck", NULL, 0, "neither ring is served"},
	{0},
};

static const struct reg_row rows[] = {
	{"ID", ID, 4, 1, REG_RO, 0, "testdev.c"},
	{"CTRL", CTRL, 4, 1, REG_RW, CTRL_ENABLE | CTRL_RESET, "testdev.c"},
	{"STATUS", STATUS, 4, 1, REG_RO, 0, "testdev.c"},
	{"SCRATCH", SCRATCH, 4, 1, REG_RW, UINT32_MAX, "testdev.c"},
	{"BASE_LO", RX_BASE_LO, 0x10, 2, REG_RW, 0xfffffff0, "testdev.c"},
	{"BASE_HI", RX_BASE_LO + 4, 0x10, 2, REG_RW, UINT32_MAX, "testdev.c"},
	{"SIZE", RX_BASE_LO + 8, 0x10, 2, REG_RW, 2 * RING_MAX - 1, "testdev.c"},
	{"RECEIVED", RECEIVED, 4, 1, REG_RC, 0, "testdev.c"},
	{"TAIL", RX_TAIL, 4, 2, REG_RW, UINT32_MAX, "testdev.c"},
	{0},
};

static struct testdev *dev_of(struct model *m)
{
	return m->state;
}

static uint32_t reg(const struct model *m, uint32_t offset)
{
	return __atomic_load_n(&m->bar0[offset / 4], __ATOMIC_ACQUIRE); /* the guest may write */
}

static void create(struct model *m)
{
	m->bar0[ID / 4] = ID_VALUE;
}

static void reset(struct model *m)
{
	for (uint32_t i = 0; i < m->ops->bar_bytes[0] / 4; i++)
		m->bar0[i] = 0;
	*dev_of(m) = (struct testdev){0};
	create(m);
	m->bar0[STATUS / 4] = m->carrier ? STATUS_LINK : 0;
}

static uint64_t read_register(struct model *m, unsigned bar, uint64_t offset, unsigned bytes)
{
	if (bar != 0 || bytes != 4 || offset % 4 != 0)
		return 0;
	uint32_t value = m->bar0[offset / 4];
	if (offset == RECEIVED)
		m->bar0[offset / 4] = 0;
	return value;
}

static void write_register(struct model *m, unsigned bar, uint64_t offset, unsigned bytes,
                           uint64_t value)
{
	if (bar != 0 || bytes != 4 || offset % 4 != 0) {
		model_violation(m, "BAR%u: %u bytes written at 0x%x: registers take 32 bits", bar,
		                bytes, (unsigned)offset);
		return;
	}
	if (offset == ID || offset == STATUS || offset == RECEIVED)
		return;
	if (offset == CTRL && value & CTRL_RESET)
		reset(m);
	else
		m->bar0[offset / 4] = (uint32_t)value;
}

/* Reads the registers of a ring; false when the ring cannot be used. */
static bool look(struct model *m, struct ring *r, uint32_t base, uint32_t tail)
{
	if (!(reg(m, CTRL) & CTRL_ENABLE) || model_fault(m, FAULT_STUCK))
		return false;
	r->size = reg(m, base + 8);
	r->tail = reg(m, tail);
	if (r->tail == r->head || r->size == 0 || r->size > RING_MAX || r->size & (r->size - 1))
		return false;
	if (r->tail - r->head > r->size) {
		model_violation(m, "TAIL[%u]: %u is more than SIZE %u ahead of head %u",
		                tail == TX_TAIL, r->tail, r->size, r->head);
		return false;
	}
	uint64_t at = (uint64_t)reg(m, base + 4) << 32 | (reg(m, base) & 0xfffffff0);
	r->desc = model_dma(m, at, r->size * sizeof(struct desc), DMA_WRITE, "BASE");
	return r->desc != NULL;
}

static void done(struct ring *r, struct desc *d)
{
	__atomic_store_n(&d->flags, DESC_DONE, __ATOMIC_RELEASE);
	r->head++;
}

static unsigned rx_room(struct model *m, unsigned max)
{
	model_enter(m);
	struct ring *r = &dev_of(m)->rx;
	if (!(reg(m, CTRL) & CTRL_ENABLE))
		return max;
	uint32_t room = reg(m, RX_TAIL) - r->head;
	return model_fault(m, FAULT_STUCK) ? 0 : room < max ? room : max;
}

static void receive(struct model *m, const struct frame *v, unsigned n)
{
	model_enter(m);
	struct testdev *t = dev_of(m);
	struct ring *r = &t->rx;
	unsigned i = 0;
	if (!(reg(m, CTRL) & CTRL_ENABLE))
		return;
	if (look(m, r, RX_BASE_LO, RX_TAIL)) {
		for (; i < n && r->head != r->tail; i++) {
			struct desc *d = &r->desc[r->head & (r->size - 1)];
			void *to =
			        model_dma(m, d->address, v[i].bytes, DMA_WRITE, "received frame");
			if (to)
				__builtin_memcpy(to, v[i].data, v[i].bytes);
			d->bytes = v[i].bytes;
			done(r, d);
			m->rx_bytes += v[i].bytes;
		}
		m->rx_frames += i;
		m->bar0[RECEIVED / 4] += i;
		model_irq(m, 0);
	}
	m->rx_missed += n - i;
}

static bool work(struct model *m)
{
	model_enter(m);
	struct ring *r = &dev_of(m)->tx;
	if (!look(m, r, TX_BASE_LO, TX_TAIL))
		return false;
	for (unsigned i = 0; i < FRAME_BURST && r->head != r->tail; i++) {
		struct desc *d = &r->desc[r->head & (r->size - 1)];
		uint32_t bytes = d->bytes; /* one read: the guest may write */
		const void *from = NULL;
		if (bytes == 0 || bytes > FRAME_MAX)
			model_violation(m, "sent frame of %u bytes", bytes);
		else
			from = model_dma(m, d->address, bytes, DMA_READ, "sent frame");
		if (from)
			model_send(m, from, bytes);
		done(r, d);
	}
	model_irq(m, 1);
	return true;
}

/* There are no timers, and only doorbells create work or room. */
static uint64_t deadline(struct model *m)
{
	(void)m;
	return UINT64_MAX;
}

static void carrier(struct model *m)
{
	m->bar0[STATUS / 4] = m->carrier ? STATUS_LINK : 0;
	model_irq(m, 2);
}

static void stats(struct model *m, struct json *j)
{
	json_u64(j, "rx_head", dev_of(m)->rx.head);
	json_u64(j, "tx_head", dev_of(m)->tx.head);
}

static const struct bar_range mapped[] = {{0x1000, 0x1000}, {0, 0}};

const struct model_ops testdev_ops = {
	.name = "test",
	.title = "a device for testing nicsim itself (tools/nicsim/testdev.c)",
	.state_bytes = sizeof(struct testdev),
	.vendor = 0x1af4, /* with a device ID that no driver claims */
	.device = 0x10f0,
	.subsystem_vendor = 0x1af4,
	.subsystem = 1,
	.class_code = 0xff0000,
	.bar_bytes = {[0] = 0x2000, [2] = 0x1000},
	.bar_is_64 = {[0] = true, [2] = true},
	.msix_cap = 0x70,
	.pcie_cap = 0xa0,
	.pm_cap = 0x40,
	.pcie_speed = 2,
	.pcie_lanes = 8,
	.msix_vectors = 3,
	.msix_bar = 2,
	.msix_table = 0,
	.msix_pba = 0x800,
	.mapped = mapped,
	.regs = rows,
	.faults = faults,
	.create = create,
	.reset = reset,
	.read = read_register,
	.write = write_register,
	.rx_room = rx_room,
	.receive = receive,
	.work = work,
	.deadline = deadline,
	.carrier = carrier,
	.stats = stats,
};
