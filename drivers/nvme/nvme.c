/*
 * One namespace of an NVMe controller, the first that is active, by one pair of queues without interrupts. One
 * command at a time.
 *
 * Invariants
 * 1. The controller is a bus master only from the moment that it is disabled and told our queues. stop() ends that
 *    first, so it
 *    reaches no memory afterwards, whatever state it is in.
 * 2. Data passes through our own buffer, and so does all that the controller writes. Nothing it says is an address
 *    or an index.
 */
#include "drivers/nvme/nvme.h"

#include "drivers/nvme/spec.h"
#include "hal/barrier.h"
#include "hal/dma.h"
#include "hal/mmio.h"
#include "lib/assert.h"
#include "lib/bytes.h"
#include "lib/mem.h"
#include "lib/number.h"

#define PAGE 4096u
#define QUEUE_ENTRIES 4u /* of all queues */

/* Places in blk.dma. */
#define AT_ADMIN 0u /* submission queue, then completion queue */
#define AT_IO (2 * PAGE)
#define AT_LIST (4 * PAGE) /* of pages of a transfer: 4.3 */
#define AT_IDENTIFY (5 * PAGE)
#define AT_DATA (8 * PAGE)
_Static_assert(AT_DATA + BLK_REQUEST_MAX <= BLK_DMA_BYTES, "all fits");

enum step {
	DISABLING, ENABLING,
	CONTROLLER, ACTIVE, NAMESPACE, FEATURES, CREATE_CQ, CREATE_SQ, /* a command of that name is under way */
	RUNNING,
};

/* A submission queue with its completion queue. */
struct pair {
	uint32_t at;   /* in blk.dma */
	uint32_t doorbell; /* of the submission queue, in the BAR */
	uint16_t tail, head;
	uint16_t phase;    /* of entries not seen yet: 1 or 0 */
};

struct nvme {
	uint64_t deadline; /* TSC */
	uint32_t step, stride, name_space, most; /* most: bytes of a transfer */
	uint16_t id;       /* of the command under way */
	struct pair admin, io;
	struct disk_request request;
};
_Static_assert(sizeof(struct nvme) <= sizeof((struct blk *)0)->priv, "fits");

static struct nvme *nvme_of(struct blk *b) { return (struct nvme *)(void *)b->priv; }

static volatile uint8_t *reg(const struct blk *b, uint32_t at)
{
	return (volatile uint8_t *)(uintptr_t)b->pci->bar[0].addr + at;
}

static uint32_t reg_read(const struct blk *b, uint32_t at) { return mmio_read32(reg(b, at)); }
static void reg_write(const struct blk *b, uint32_t at, uint32_t v) { mmio_write32(reg(b, at), v); }

static void reg_write64(const struct blk *b, uint32_t at, uint64_t v)
{
	reg_write(b, at, (uint32_t)v);
	reg_write(b, at + 4, (uint32_t)(v >> 32));
}

static uint64_t bus(const struct blk *b, uint32_t at) { return dma_addr(b->dma + at).bus; }

static bool has_registers(const struct blk *b) { return b->pci->bar[0].bytes >= NVME_DOORBELLS; }

static void fail(struct blk *b, const char *why)
{
	pci_end_dma(b->pci);
	if (has_registers(b))
		reg_write(b, NVME_CC, 0);
	b->state = BLK_FAILED;
	b->why = why;
}

static void set_deadline(struct blk *b, uint64_t ns)
{
	nvme_of(b)->deadline = clock_tsc() + clock_ticks(b->clock, ns);
}

static bool is_late(struct blk *b) { return (int64_t)(clock_tsc() - nvme_of(b)->deadline) >= 0; }

/* --- commands --- */

/* Makes an empty entry for a command of that name space, with a data buffer at `data` in blk.dma of at most a page. */
static uint8_t *command(struct blk *b, struct pair *q, unsigned opcode, uint32_t name_space, uint64_t data)
{
	struct nvme *n = nvme_of(b);
	uint8_t *e = b->dma + q->at + q->tail * NVME_SQE_BYTES;
	memset(e, 0, NVME_SQE_BYTES);
	le32_store(e + NVME_SQE_COMMAND, opcode | (uint32_t)++n->id << 16);
	le32_store(e + NVME_SQE_NAMESPACE, name_space);
	le64_store(e + NVME_SQE_PRP1, data);
	return e;
}

/* Tells the controller of it: the register SQyTDBL (3.1). */
static void send(struct blk *b, struct pair *q)
{
	q->tail = (uint16_t)((q->tail + 1) % QUEUE_ENTRIES);
	set_deadline(b, BLK_DEADLINE_NS);
	barrier_write();
	reg_write(b, q->doorbell, q->tail);
}

/* E_AGAIN: the command is under way. E_OK: it has succeeded. E_DEVICE: the controller refused it, or has failed
 * (blk.state). */
static int answer(struct blk *b, struct pair *q)
{
	struct nvme *n = nvme_of(b);
	const uint8_t *e = b->dma + q->at + PAGE + q->head * NVME_CQE_BYTES;
	const uint32_t status = __atomic_load_n((const uint32_t *)(const void *)(e + NVME_CQE_STATUS), __ATOMIC_ACQUIRE);
	if (!(status & NVME_CQE_PHASE) == !!q->phase) {
		if (is_late(b))
			fail(b, "it does not answer");
		return b->state == BLK_FAILED ? E_DEVICE : E_AGAIN;
	}
	if ((status & 0xffff) != n->id) {
		fail(b, "it answers what was not asked");
		return E_DEVICE;
	}
	q->head = (uint16_t)((q->head + 1) % QUEUE_ENTRIES);
	q->phase ^= q->head == 0;
	reg_write(b, q->doorbell + n->stride, q->head);
	return NVME_CQE_ERROR(status) ? E_DEVICE : E_OK;
}

/* --- start --- */

static void identify(struct blk *b, uint32_t what, uint32_t name_space, enum step step)
{
	struct nvme *n = nvme_of(b);
	le32_store(command(b, &n->admin, NVME_IDENTIFY, name_space, bus(b, AT_IDENTIFY)) + NVME_SQE_10, what);
	send(b, &n->admin);
	n->step = step;
}

/* 7.6.1: the steps from a disabled controller to an enabled one. */
static void enable(struct blk *b)
{
	struct nvme *n = nvme_of(b);
	memset(b->dma, 0, BLK_DMA_BYTES);
	n->admin = (struct pair){.at = AT_ADMIN, .doorbell = NVME_DOORBELLS, .phase = 1};
	n->io = (struct pair){.at = AT_IO, .doorbell = NVME_DOORBELLS + 2 * n->stride, .phase = 1};
	pci_enable(b->pci);
	reg_write(b, NVME_AQA, (QUEUE_ENTRIES - 1) << 16 | (QUEUE_ENTRIES - 1));
	reg_write64(b, NVME_ASQ, bus(b, AT_ADMIN));
	reg_write64(b, NVME_ACQ, bus(b, AT_ADMIN + PAGE));
	reg_write(b, NVME_CC, NVME_CC_ENTRIES | NVME_CC_ENABLE);
	n->step = ENABLING;
}

static uint64_t enable_ns(const struct blk *b)
{
	return (NVME_CAP_TIMEOUT(reg_read(b, NVME_CAP)) + 1) * 500000000ull;
}

/* NULL: the controller can be driven. */
static const char *unfit(const struct blk *b)
{
	if (!has_registers(b))
		return "its registers do not fit the BAR";
	const uint32_t low = reg_read(b, NVME_CAP), high = reg_read(b, NVME_CAP + 4);
	const uint64_t doorbells = NVME_DOORBELLS + 4 * (4ull << NVME_CAP_STRIDE(high));
	if (low == UINT32_MAX)
		return "the device is gone";
	if (b->pci->bar[0].bytes < doorbells)
		return "its registers do not fit the BAR";
	if (!NVME_CAP_NVM(high) || NVME_CAP_PAGE_LEAST(high) || NVME_CAP_ENTRIES(low) < QUEUE_ENTRIES - 1)
		return "it lacks the NVM command set, pages of 4 KiB, or queues";
	return NULL;
}

static void begin(struct blk *b)
{
	struct nvme *n = nvme_of(b);
	*n = (struct nvme){.step = DISABLING};
	b->state = BLK_STARTING;
	b->why = NULL;
	pci_end_dma(b->pci);
	const char *why = unfit(b);
	if (why) {
		fail(b, why);
		return;
	}
	n->stride = 4u << NVME_CAP_STRIDE(reg_read(b, NVME_CAP + 4));
	reg_write(b, NVME_CC, 0);
	set_deadline(b, enable_ns(b));
}

/* CSTS.RDY follows CC.EN (3.1.6). */
static void wait_ready(struct blk *b)
{
	struct nvme *n = nvme_of(b);
	const uint32_t status = reg_read(b, NVME_CSTS);
	const bool ready = status & NVME_CSTS_READY;
	if (status == UINT32_MAX) {
		fail(b, "the device is gone");
	} else if (n->step == ENABLING && status & NVME_CSTS_FATAL) {
		fail(b, "it reports a fatal error");
	} else if (ready == (n->step == ENABLING)) {
		if (ready) {
			identify(b, NVME_IDENTIFY_CONTROLLER, 0, CONTROLLER);
			return;
		}
		enable(b);
		set_deadline(b, enable_ns(b));
	} else if (is_late(b)) {
		fail(b, n->step == ENABLING ? "it does not become ready" : "it cannot be reset");
	}
}

static void take_controller(struct blk *b)
{
	const uint8_t *id = b->dma + AT_IDENTIFY;
	const unsigned log2 = id[NVME_ID_TRANSFER];
	unsigned end = 0;
	nvme_of(b)->most = log2 && log2 < 20 ? u32_min(PAGE << log2, BLK_REQUEST_MAX) : BLK_REQUEST_MAX;
	for (unsigned i = 0; i < NVME_ID_MODEL_BYTES; i++) {
		const uint8_t c = id[NVME_ID_MODEL + i];
		b->name[i] = c > ' ' && c < 0x7f ? (char)c : ' ';
		end = b->name[i] != ' ' ? i + 1 : end;
	}
	b->name[end] = '\0';
}

/* False: it cannot be used. */
static bool take_namespace(struct blk *b)
{
	const uint8_t *ns = b->dma + AT_IDENTIFY;
	const uint32_t format = le32_load(ns + NVME_NS_FORMATS + 4 * (ns[NVME_NS_FORMAT] & 15)), log2 = format >> 16 & 0xff;
	if (log2 < 9 || log2 > 12 || (format & 0xffff)) {
		fail(b, "its sectors have metadata, or are not of 512 to 4096 bytes");
		return false;
	}
	b->sector = 1u << log2;
	b->sectors = le64_load(ns + NVME_NS_SIZE);
	b->writable = !(ns[NVME_NS_ATTRIBUTES] & NVME_NS_PROTECTED);
	if (b->sectors == 0 || b->sectors > UINT64_MAX >> log2)
		fail(b, "its size is impossible");
	return b->state != BLK_FAILED;
}

static void ask_for_queues(struct blk *b)
{
	struct nvme *n = nvme_of(b);
	uint8_t *e = command(b, &n->admin, NVME_SET_FEATURES, 0, 0);
	le32_store(e + NVME_SQE_10, NVME_FEATURE_QUEUES);
	le32_store(e + NVME_SQE_11, 0); /* one of each */
	send(b, &n->admin);
	n->step = FEATURES;
}

/* 5.3, 5.4: queue 1 of either kind. */
static void create(struct blk *b, enum nvme_admin what, enum step step)
{
	struct nvme *n = nvme_of(b);
	uint8_t *e = command(b, &n->admin, what, 0, bus(b, what == NVME_CREATE_CQ ? AT_IO + PAGE : AT_IO));
	le32_store(e + NVME_SQE_10, (QUEUE_ENTRIES - 1) << 16 | 1);
	le32_store(e + NVME_SQE_11, NVME_CONTIGUOUS | (what == NVME_CREATE_SQ ? 1u << 16 : 0));
	send(b, &n->admin);
	n->step = step;
}

/* The command of a step has succeeded: the next one. */
static void next(struct blk *b)
{
	struct nvme *n = nvme_of(b);
	switch ((enum step)n->step) {
	case CONTROLLER:
		take_controller(b);
		identify(b, NVME_IDENTIFY_ACTIVE, 0, ACTIVE);
		break;
	case ACTIVE:
		n->name_space = le32_load(b->dma + AT_IDENTIFY);
		if (n->name_space == 0)
			fail(b, "it has no namespace");
		else
			identify(b, NVME_IDENTIFY_NAMESPACE, n->name_space, NAMESPACE);
		break;
	case NAMESPACE:
		if (take_namespace(b))
			ask_for_queues(b);
		break;
	case FEATURES:
		create(b, NVME_CREATE_CQ, CREATE_CQ);
		break;
	case CREATE_CQ:
		create(b, NVME_CREATE_SQ, CREATE_SQ);
		break;
	default:
		n->step = RUNNING;
		b->state = BLK_READY;
		break;
	}
}

/* --- requests --- */

/* Sends the part of the request that one transfer takes. */
static void send_part(struct blk *b)
{
	struct nvme *n = nvme_of(b);
	const struct disk_request *r = &n->request;
	const uint32_t bytes = u32_min(r->bytes, n->most), pages = (bytes + PAGE - 1) / PAGE;
	if (r->op == DISK_FLUSH) {
		command(b, &n->io, NVME_FLUSH, n->name_space, 0);
		send(b, &n->io);
		return;
	}
	if (r->op == DISK_WRITE)
		memcpy(b->dma + AT_DATA, r->data, bytes);
	uint8_t *e = command(b, &n->io, r->op == DISK_WRITE ? NVME_WRITE : NVME_READ, n->name_space, bus(b, AT_DATA));
	for (uint32_t i = 1; i < pages; i++)
		le64_store(b->dma + AT_LIST + 8 * (i - 1), bus(b, AT_DATA + i * PAGE));
	if (pages == 2)
		le64_store(e + NVME_SQE_PRP2, bus(b, AT_DATA + PAGE));
	else if (pages > 2)
		le64_store(e + NVME_SQE_PRP2, bus(b, AT_LIST));
	le32_store(e + NVME_SQE_10, (uint32_t)(r->at / b->sector));
	le32_store(e + NVME_SQE_11, (uint32_t)(r->at / b->sector >> 32));
	le32_store(e + NVME_SQE_12, bytes / b->sector - 1);
	send(b, &n->io);
}

static void submit(struct blk *b, const struct disk_request *r)
{
	assert(b->state == BLK_READY && r->at % b->sector == 0 && r->bytes % b->sector == 0 && r->bytes <= BLK_REQUEST_MAX);
	nvme_of(b)->request = *r;
	b->state = BLK_BUSY;
	send_part(b);
}

static void part_done(struct blk *b, int result)
{
	struct nvme *n = nvme_of(b);
	const uint32_t bytes = u32_min(n->request.bytes, n->most);
	if (blk_part_ended(b, &n->request, bytes, b->dma + AT_DATA, result))
		send_part(b);
}

static void step(struct blk *b)
{
	struct nvme *n = nvme_of(b);
	if (b->state == BLK_FAILED || b->state == BLK_READY)
		return;
	if (n->step <= ENABLING) {
		wait_ready(b);
		return;
	}
	const int result = answer(b, n->step == RUNNING ? &n->io : &n->admin);
	if (result == E_AGAIN || b->state == BLK_FAILED)
		return;
	if (n->step == RUNNING)
		part_done(b, result);
	else if (result == E_OK || n->step == FEATURES) /* a controller with one pair of queues may refuse that feature */
		next(b);
	else
		fail(b, "it refuses a command of the start");
}

static void stop(struct blk *b)
{
	if (b->state != BLK_FAILED)
		fail(b, "it was stopped");
}

/* Mass storage, NVM, NVM Express (PCI Code and ID Assignment Specification 1.11). */
static bool match(const struct pci_dev *dev)
{
	return pci_read(dev, 8, 4) >> 8 == 0x010802 && dev->bar[0].addr;
}

const struct blk_ops nvme_ops = {
	.name = "nvme", .match = match, .begin = begin, .step = step, .submit = submit, .stop = stop};
