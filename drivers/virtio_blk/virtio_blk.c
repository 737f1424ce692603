/*
 * A virtio block device (VIRTIO 1.2: 3.1 initialisation, 4.1 PCI, 5.2 block device) by one queue without
 * interrupts. One request at a time.
 *
 * Negotiated when offered: flush, read only, size of a block, longest piece, access by bus addresses. Everything
 * else is of no use to one request at a time.
 *
 * Invariants
 * 1. The device is a bus master only from the moment that it has been reset. stop() ends that first, so it reaches
 *    no memory
 *    afterwards, whatever state it is in.
 * 2. Data passes through our own buffer, and so does all that the device writes. Of what it writes, used.idx and
 *    the used entry
 *    are compared with the only values that they can have.
 */
#include "drivers/virtio_blk/virtio_blk.h"

#include "drivers/virtio/transport.h"
#include "drivers/virtio_blk/spec.h"
#include "hal/barrier.h"
#include "hal/dma.h"
#include "hal/mmio.h"
#include "lib/assert.h"
#include "lib/bytes.h"
#include "lib/mem.h"
#include "lib/number.h"

#define FEATURES_WANTED \
	(VIRTIO_BLK_F_SIZE_MAX | VIRTIO_BLK_F_RO | VIRTIO_BLK_F_BLK_SIZE | VIRTIO_BLK_F_FLUSH | VIRTIO_F_VERSION_1 | \
	 VIRTIO_F_ACCESS_PLATFORM)
#define RESET_NS 5000000000ull /* the standard sets no bound; a host may leave QEMU without a CPU */
#define ENTRIES 4u

/* Places in blk.dma. */
#define AT_DESC 0u
#define AT_AVAIL 256u
#define AT_USED 512u
#define AT_HEAD 1024u
#define AT_STATUS 2048u
#define AT_ID 3072u
#define AT_DATA 8192u
_Static_assert(AT_DATA + BLK_REQUEST_MAX <= BLK_DMA_BYTES, "all fits");

enum step { RESETTING, IDENTIFYING, RUNNING };

struct virtio_blk {
	struct virtio_transport t;
	volatile uint8_t *doorbell;
	uint64_t deadline; /* TSC */
	uint64_t features;
	uint32_t step, most; /* most: bytes of a piece */
	uint16_t head; /* avail.idx; used.idx follows it */
	struct disk_request request;
};
_Static_assert(sizeof(struct virtio_blk) <= sizeof((struct blk *)0)->priv, "fits");

static struct virtio_blk *of(struct blk *b) { return (struct virtio_blk *)(void *)b->priv; }
static uint64_t bus(const struct blk *b, uint32_t at) { return dma_addr(b->dma + at).bus; }
static uint8_t status_read(struct blk *b) { return (uint8_t)virtio_get(&of(b)->t, VIRTIO_DEVICE_STATUS, 1); }

static void status_add(struct blk *b, uint8_t bits)
{
	virtio_put(&of(b)->t, VIRTIO_DEVICE_STATUS, 1, status_read(b) | bits);
}

static void fail(struct blk *b, const char *why)
{
	pci_end_dma(b->pci);
	if (of(b)->t.common)
		virtio_put(&of(b)->t, VIRTIO_DEVICE_STATUS, 1, 0);
	b->state = BLK_FAILED;
	b->why = why;
}

static void set_deadline(struct blk *b, uint64_t ns) { of(b)->deadline = clock_tsc() + clock_ticks(b->clock, ns); }
static bool is_late(struct blk *b) { return (int64_t)(clock_tsc() - of(b)->deadline) >= 0; }

/* --- requests --- */

static void put_desc(struct blk *b, unsigned n, uint32_t at, uint32_t bytes, uint16_t flags)
{
	struct virtq_desc *d = (struct virtq_desc *)(void *)(b->dma + AT_DESC) + n;
	*d = (struct virtq_desc){bus(b, at), bytes, flags, (uint16_t)(n + 1)};
}

/* Sends a request whose data is `bytes` bytes at `at` in blk.dma, 0: none; `in`: the device writes them. */
static void send(struct blk *b, enum virtio_blk_type type, uint64_t sector, uint32_t at, uint32_t bytes, bool in)
{
	struct virtio_blk *d = of(b);
	struct virtq_avail *avail = (struct virtq_avail *)(void *)(b->dma + AT_AVAIL);
	unsigned n = 0;
	memset(b->dma + AT_HEAD, 0, VIRTIO_BLK_HEAD_BYTES);
	le32_store(b->dma + AT_HEAD + VIRTIO_BLK_TYPE, type);
	le64_store(b->dma + AT_HEAD + VIRTIO_BLK_SECTOR, sector);
	b->dma[AT_STATUS] = 0xff;
	put_desc(b, n++, AT_HEAD, VIRTIO_BLK_HEAD_BYTES, VIRTQ_DESC_F_NEXT);
	if (bytes)
		put_desc(b, n++, at, bytes, VIRTQ_DESC_F_NEXT | (in ? VIRTQ_DESC_F_WRITE : 0));
	put_desc(b, n, AT_STATUS, 1, VIRTQ_DESC_F_WRITE);
	avail->ring[d->head % ENTRIES] = 0; /* the chain begins at descriptor 0 */
	d->head++;
	set_deadline(b, BLK_DEADLINE_NS);
	__atomic_store_n(&avail->idx, d->head, __ATOMIC_RELEASE);
	barrier_full();
	mmio_write16(d->doorbell, 0);
}

/* E_AGAIN: the request is under way. E_OK: it has succeeded. E_DEVICE: the device refused it, or has failed
 * (blk.state). */
static int answer(struct blk *b)
{
	const struct virtio_blk *d = of(b);
	const struct virtq_used *used = (const struct virtq_used *)(const void *)(b->dma + AT_USED);
	const uint16_t idx = __atomic_load_n(&used->idx, __ATOMIC_ACQUIRE);
	if (idx == (uint16_t)(d->head - 1)) {
		if (is_late(b))
			fail(b, "it does not answer");
		return b->state == BLK_FAILED ? E_DEVICE : E_AGAIN;
	}
	if (idx != d->head || used->ring[(idx - 1u) % ENTRIES].id != 0) {
		fail(b, "it answers what was not asked");
		return E_DEVICE;
	}
	return b->dma[AT_STATUS] == VIRTIO_BLK_S_OK ? E_OK : E_DEVICE;
}

/* --- start --- */

/* 3.1.1, steps 2 to 6. NULL: the features are agreed on. */
static const char *negotiate(struct blk *b)
{
	struct virtio_blk *d = of(b);
	uint64_t offered;
	status_add(b, VIRTIO_STATUS_ACKNOWLEDGE);
	status_add(b, VIRTIO_STATUS_DRIVER);
	virtio_put(&d->t, VIRTIO_DEVICE_FEATURE_SELECT, 4, 0);
	offered = virtio_get(&d->t, VIRTIO_DEVICE_FEATURE, 4);
	virtio_put(&d->t, VIRTIO_DEVICE_FEATURE_SELECT, 4, 1);
	offered |= (uint64_t)virtio_get(&d->t, VIRTIO_DEVICE_FEATURE, 4) << 32;
	d->features = offered & FEATURES_WANTED;
	if (!(d->features & VIRTIO_F_VERSION_1))
		return "it does not offer VIRTIO 1.x";
	for (unsigned half = 0; half < 2; half++) {
		virtio_put(&d->t, VIRTIO_DRIVER_FEATURE_SELECT, 4, half);
		virtio_put(&d->t, VIRTIO_DRIVER_FEATURE, 4, (uint32_t)(d->features >> 32 * half));
	}
	status_add(b, VIRTIO_STATUS_FEATURES_OK);
	return status_read(b) & VIRTIO_STATUS_FEATURES_OK ? NULL : "it refuses the features it offered";
}

static uint32_t config32(struct blk *b, enum virtio_blk_config at) { return mmio_read32(of(b)->t.config + at); }

/* 2.5.1: the configuration may change while it is read. */
static bool read_capacity(struct blk *b, uint64_t *units)
{
	for (unsigned i = 0; i < 4; i++) {
		const uint32_t before = virtio_get(&of(b)->t, VIRTIO_CONFIG_GENERATION, 1);
		*units = config32(b, VIRTIO_BLK_CFG_CAPACITY) | (uint64_t)config32(b, VIRTIO_BLK_CFG_CAPACITY + 4) << 32;
		if (virtio_get(&of(b)->t, VIRTIO_CONFIG_GENERATION, 1) == before)
			return true;
	}
	return false;
}

/* NULL: what it says of itself is possible. */
static const char *learn(struct blk *b)
{
	struct virtio_blk *d = of(b);
	uint64_t units;
	b->sector = d->features & VIRTIO_BLK_F_BLK_SIZE ? config32(b, VIRTIO_BLK_CFG_BLK_SIZE) : VIRTIO_BLK_UNIT;
	if (b->sector < 512 || b->sector > 4096 || b->sector & (b->sector - 1))
		return "its sectors are not of 512 to 4096 bytes";
	d->most = d->features & VIRTIO_BLK_F_SIZE_MAX ? config32(b, VIRTIO_BLK_CFG_SIZE_MAX) : BLK_REQUEST_MAX;
	d->most = (uint32_t)align_down(u32_min(d->most, BLK_REQUEST_MAX), b->sector);
	if (d->most == 0)
		return "it takes no whole sector";
	if (!read_capacity(b, &units) || units > UINT64_MAX / VIRTIO_BLK_UNIT || units * VIRTIO_BLK_UNIT < b->sector)
		return "its size is impossible";
	b->sectors = units * VIRTIO_BLK_UNIT / b->sector;
	b->writable = !(d->features & VIRTIO_BLK_F_RO);
	return NULL;
}

static void put_address(struct blk *b, enum virtio_common low, uint32_t at)
{
	virtio_put(&of(b)->t, low, 4, (uint32_t)bus(b, at));
	virtio_put(&of(b)->t, low + 4, 4, (uint32_t)(bus(b, at) >> 32));
}

/* 4.1.5.1.3 */
static const char *start_queue(struct blk *b)
{
	struct virtio_blk *d = of(b);
	virtio_put(&d->t, VIRTIO_QUEUE_SELECT, 2, 0);
	const uint32_t most = virtio_get(&d->t, VIRTIO_QUEUE_SIZE, 2);
	if (most < ENTRIES || most > 0x8000)
		return "it has no queue of a request's length";
	virtio_put(&d->t, VIRTIO_QUEUE_SIZE, 2, ENTRIES);
	virtio_put(&d->t, VIRTIO_QUEUE_MSIX_VECTOR, 2, VIRTIO_NO_VECTOR);
	put_address(b, VIRTIO_QUEUE_DESC_LO, AT_DESC);
	put_address(b, VIRTIO_QUEUE_DRIVER_LO, AT_AVAIL);
	put_address(b, VIRTIO_QUEUE_DEVICE_LO, AT_USED);
	d->doorbell = virtio_doorbell(&d->t, virtio_get(&d->t, VIRTIO_QUEUE_NOTIFY_OFF, 2));
	if (!d->doorbell)
		return "its doorbell is outside of its BAR";
	virtio_put(&d->t, VIRTIO_QUEUE_ENABLE, 2, 1);
	return NULL;
}

static void begin(struct blk *b)
{
	struct virtio_blk *d = of(b);
	memset(d, 0, sizeof *d);
	b->state = BLK_STARTING;
	b->why = NULL;
	pci_end_dma(b->pci);
	if (!virtio_find(&d->t, b->pci, VIRTIO_BLK_CFG_BYTES)) {
		d->t.common = NULL; /* not all is there: nothing is touched */
		fail(b, "it has no modern (VIRTIO 1.x) interface");
		return;
	}
	virtio_put(&d->t, VIRTIO_DEVICE_STATUS, 1, 0);
	set_deadline(b, RESET_NS);
}

/* 4.1.4.3.2: the reset is complete when the status reads 0. The rest of the start follows at once. */
static void wait_reset(struct blk *b)
{
	const bool late = is_late(b); /* taken before the read, so that a late read still counts */
	if (status_read(b) != 0) {
		if (late)
			fail(b, "it cannot be reset");
		return;
	}
	memset(b->dma, 0, BLK_DMA_BYTES);
	const char *why = negotiate(b);
	if (!why)
		why = learn(b);
	if (!why)
		why = start_queue(b);
	if (why) {
		fail(b, why);
		return;
	}
	((struct virtq_avail *)(void *)(b->dma + AT_AVAIL))->flags = VIRTQ_AVAIL_F_NO_INTERRUPT;
	pci_enable(b->pci);
	status_add(b, VIRTIO_STATUS_DRIVER_OK);
	of(b)->step = IDENTIFYING;
	send(b, VIRTIO_BLK_T_GET_ID, 0, AT_ID, VIRTIO_BLK_ID_BYTES, true);
}

/* 5.2.6: a device that does not support this request has no ID. */
static void identified(struct blk *b, int result)
{
	static const char kind[] = "virtio-blk ";
	unsigned n = sizeof kind - 1;
	memcpy(b->name, kind, n);
	for (unsigned i = 0; result == E_OK && i < VIRTIO_BLK_ID_BYTES && b->dma[AT_ID + i]; i++) {
		const uint8_t c = b->dma[AT_ID + i];
		b->name[n++] = c > ' ' && c < 0x7f ? (char)c : ' ';
	}
	while (b->name[n - 1] == ' ')
		n--;
	b->name[n] = '\0';
	of(b)->step = RUNNING;
	b->state = BLK_READY;
}
_Static_assert(sizeof "virtio-blk " + VIRTIO_BLK_ID_BYTES <= BLK_NAME_MAX, "fits");

/* --- requests of the control core --- */

/* Sends the part of the request that one piece takes. */
static void send_part(struct blk *b)
{
	const struct disk_request *r = &of(b)->request;
	const uint32_t bytes = u32_min(r->bytes, of(b)->most);
	if (r->op == DISK_FLUSH) {
		send(b, VIRTIO_BLK_T_FLUSH, 0, 0, 0, false);
		return;
	}
	if (r->op == DISK_WRITE)
		memcpy(b->dma + AT_DATA, r->data, bytes);
	send(b, r->op == DISK_WRITE ? VIRTIO_BLK_T_OUT : VIRTIO_BLK_T_IN, r->at / VIRTIO_BLK_UNIT, AT_DATA, bytes,
	     r->op == DISK_READ);
}

static void submit(struct blk *b, const struct disk_request *r)
{
	assert(b->state == BLK_READY && r->at % b->sector == 0 && r->bytes % b->sector == 0 && r->bytes <= BLK_REQUEST_MAX);
	/* 5.2.5.1: if a device offers no flush, the driver may assume that completed writes are stored. 5.2.6.2
	 * does not oblige the device to that. */
	if (r->op == DISK_FLUSH && !(of(b)->features & VIRTIO_BLK_F_FLUSH)) {
		b->result = E_OK;
		return;
	}
	of(b)->request = *r;
	b->state = BLK_BUSY;
	send_part(b);
}

static void part_done(struct blk *b, int result)
{
	const uint32_t bytes = u32_min(of(b)->request.bytes, of(b)->most);
	if (blk_part_ended(b, &of(b)->request, bytes, b->dma + AT_DATA, result))
		send_part(b);
}

static void step(struct blk *b)
{
	if (b->state == BLK_FAILED || b->state == BLK_READY)
		return;
	if (of(b)->step == RESETTING) {
		wait_reset(b);
		return;
	}
	const int result = answer(b);
	if (result == E_AGAIN || b->state == BLK_FAILED)
		return;
	if (of(b)->step == RUNNING)
		part_done(b, result);
	else
		identified(b, result);
}

static void stop(struct blk *b)
{
	if (b->state != BLK_FAILED)
		fail(b, "it was stopped");
}

static bool match(const struct pci_dev *dev)
{
	return dev->vendor == VIRTIO_VENDOR &&
	       (dev->device == VIRTIO_DEVICE_BLK || dev->device == VIRTIO_DEVICE_BLK_TRANSITIONAL);
}

const struct blk_ops virtio_blk_ops = {
	.name = "virtio_blk", .match = match, .begin = begin, .step = step, .submit = submit, .stop = stop};
