/* See disks.h. */
#include "control/storage/disks.h"

#include "lib/fmt.h"
#include "lib/mem.h"
#include "lib/number.h"

#define STARTING_NS 10000000ull /* between two looks, as blk.h says */
#define BUSY_NS 100000ull

struct waiting {
	struct disk_request request;
	void (*done)(void *arg, int error);
	void *arg;
};

struct place {
	struct disk disk;
	struct waiting queue[DISKS_WAITING];
	unsigned first, count; /* of queue; the first has been submitted if `under_way` */
	bool under_way, said;
	uint64_t look_ns; /* while it starts */
};

static struct place places[DISKS_MAX];
static unsigned disks;

static const struct blk_ops *driver_of(const struct pci_dev *dev)
{
	for (unsigned i = 0; i < blk_driver_count; i++)
		if (dev->kind == PCI_DISK && blk_drivers[i]->match(dev))
			return blk_drivers[i];
	return NULL;
}

size_t disks_bytes(void)
{
	size_t bytes = 0;
	for (unsigned i = 0; i < self.info->pci_count; i++)
		if (driver_of(&self.info->pci[i]))
			bytes += BLK_DMA_BYTES;
	return bytes;
}

void disks_start(uint8_t *memory)
{
	disks = 0;
	for (unsigned i = 0; i < self.info->pci_count && disks < DISKS_MAX; i++) {
		const struct pci_dev *dev = &self.info->pci[i];
		const struct blk_ops *ops = driver_of(dev);
		if (!ops)
			continue;
		struct place *p = &places[disks];
		*p = (struct place){.disk.blk = {.ops = ops, .pci = dev, .clock = &self.clock,
		                                 .dma = memory + disks * BLK_DMA_BYTES}};
		disks++;
		ops->begin(&p->disk.blk);
	}
}

unsigned disks_count(void) { return disks; }
const struct disk *disks_get(unsigned n) { return &places[n].disk; }

bool disks_starting(void)
{
	for (unsigned n = 0; n < disks; n++)
		if (places[n].disk.blk.state == BLK_STARTING)
			return true;
	return false;
}

static bool is_possible(const struct blk *b, const struct disk_request *r)
{
	const uint64_t bytes = b->sectors * b->sector;
	if (r->op == DISK_FLUSH)
		return true;
	return (r->op == DISK_READ || (r->op == DISK_WRITE && b->writable)) && r->bytes &&
	       r->bytes <= BLK_REQUEST_MAX && r->bytes % b->sector == 0 && r->at % b->sector == 0 &&
	       r->at < bytes && r->bytes <= bytes - r->at;
}

int disks_ask(unsigned n, const struct disk_request *r, void (*done)(void *arg, int error), void *arg)
{
	struct place *p = n < disks ? &places[n] : NULL;
	if (!p || p->disk.blk.state == BLK_STARTING || p->disk.blk.state == BLK_FAILED)
		return E_DEVICE;
	if (!is_possible(&p->disk.blk, r))
		return E_INVAL;
	if (p->count == DISKS_WAITING)
		return E_AGAIN;
	p->queue[(p->first + p->count++) % DISKS_WAITING] = (struct waiting){*r, done, arg};
	return E_OK;
}

/* The first request has come to its end. */
static void finish(struct place *p, int error)
{
	struct disk *d = &p->disk;
	const struct waiting w = p->queue[p->first];
	const enum disk_op op = w.request.op;
	p->first = (p->first + 1) % DISKS_WAITING;
	p->count--;
	p->under_way = false;
	*(error ? &d->errors : op == DISK_READ ? &d->reads : op == DISK_WRITE ? &d->writes : &d->flushes) += 1;
	w.done(w.arg, error);
}

static void say_failure(struct place *p)
{
	const struct blk *b = &p->disk.blk;
	char at[FMT_PCI_MAX];
	if (p->said)
		return;
	p->said = true;
	core_log_at(LOG_ERR, "disk%u: %s at %s: %s; it is not used any more", (unsigned)(p - places), b->ops->name,
	         fmt_pci(at, b->pci->segment, b->pci->bdf), b->why);
}

/* One disk; returns when to look again. */
static uint64_t look(struct place *p, uint64_t now)
{
	struct blk *b = &p->disk.blk;
	if (b->state == BLK_STARTING && now < p->look_ns)
		return p->look_ns;
	if (b->state == BLK_STARTING || b->state == BLK_BUSY)
		b->ops->step(b);
	if (b->state == BLK_STARTING)
		return p->look_ns = now + STARTING_NS;
	for (unsigned i = 0; b->state == BLK_READY && p->count && i < DISKS_WAITING; i++) {
		if (p->under_way) {
			finish(p, b->result);
		} else {
			p->under_way = true;
			b->ops->submit(b, &p->queue[p->first].request);
		}
	}
	if (b->state == BLK_FAILED) {
		say_failure(p);
		while (p->count)
			finish(p, E_DEVICE);
		return UINT64_MAX;
	}
	return p->count ? now + BUSY_NS : UINT64_MAX;
}

uint64_t disks_turn(void)
{
	uint64_t due = UINT64_MAX;
	for (unsigned n = 0; n < disks; n++)
		due = u64_min(due, look(&places[n], core_now_ns()));
	return due;
}
