/*
 * drivers/nvme on a controller modelled from the NVM Express Base Specification 1.4c: start, reads, writes and flushes of any
 * length, limits of the controller, and controllers that do not answer, refuse, lie or are gone. Every wait ends.
 */
#include "drivers/nvme/nvme.h"
#include "abi/layout.h"
#include "hal/mmio.h"
#include "tests/unit/rig/guest.h"

#define BAR (MMIO_WINDOW + 0xf0000000u)
#define DMA (MEMORY_WINDOW + 0x100000u)
#define SECTORS 4096u
#define NAMESPACE 7u

enum way { WELL, NEVER_READY, NEVER_RESET, FATAL, GONE, MUTE, WRONG_ID, REFUSES, REFUSES_FEATURES, NO_NAMESPACE };

static struct {
	enum way way;
	unsigned only;         /* WRONG_ID, REFUSES, MUTE: the command of that number; 0: all */
	uint32_t reg[16];      /* from 0 to 0x3c */
	uint32_t stride;       /* log2 */
	uint16_t command;      /* PCI */
	bool running;
	struct queue {
		uint64_t at, answers;
		uint32_t entries, head, tail, seen;
		bool phase;
	} q[2];
	unsigned commands;     /* so far */
	unsigned mdts, lbads;
	bool protect;
	uint8_t *data;         /* of the disk */
	bool flushed;
	bool random_id;        /* identify returns any bytes */
} dev;
static struct pci_dev pci;
static struct blk disk;
static struct clock tsc;
static uint64_t now;

uint64_t host_clock_tsc(void) { return now += 100000; }

uint32_t pci_read(const struct pci_dev *d, unsigned offset, unsigned size)
{
	assert_ptr_equal(d, &pci);
	return offset == 8 && size == 4 ? 0x01080201 : offset == 4 ? dev.command : 0;
}

void pci_write(const struct pci_dev *d, unsigned offset, unsigned size, uint32_t value)
{
	assert_true(d == &pci && offset == 4 && size == 2 && value & 2);
	dev.command = (uint16_t)value;
}

int pci_msix_route(const struct pci_dev *d, unsigned entry, unsigned core)
{
	(void)d, (void)entry, (void)core;
	return E_INVAL;
}

/* --- the controller --- */

/* It reaches memory only as a bus master. */
static uint8_t *reach(uint64_t at, size_t n)
{
	assert_true(dev.command & 4);
	return bus(at, n);
}

static void identify(uint32_t what, uint32_t name_space, uint8_t *to)
{
	memset(to, 0, 4096);
	if (dev.random_id) {
		random_fill(to, 4096);
		return;
	}
	if (what == 1) {
		memset(to + 24, ' ', 40);
		memcpy(to + 24, "Model \x1b[31m of tests", 21);
		to[77] = (uint8_t)dev.mdts;
	} else if (what == 2) {
		assert_int_equal(name_space, 0);
		to[0] = dev.way == NO_NAMESPACE ? 0 : NAMESPACE;
		to[4] = 9;
	} else {
		assert_int_equal(what, 0);
		assert_int_equal(name_space, NAMESPACE);
		to[26] = 3;
		to[128 + 4 * 3 + 2] = (uint8_t)dev.lbads;
		store(bus_of(to), 8, SECTORS);
		to[99] = dev.protect;
	}
}

static bool transfer(const uint8_t *e, bool write)
{
	const uint64_t first = load(bus_of(e + 40), 8), prp1 = load(bus_of(e + 24), 8), prp2 = load(bus_of(e + 32), 8);
	const uint32_t n = (uint32_t)load(bus_of(e + 48), 2) + 1, bytes = n << dev.lbads, pages = (bytes + 4095) / 4096;
	assert_int_equal(load(bus_of(e + 4), 4), NAMESPACE);
	assert_true(dev.mdts == 0 || bytes <= 4096u << dev.mdts);
	if (first + n > SECTORS)
		return false;
	for (uint32_t i = 0; i < pages; i++) {
		const uint64_t at = i == 0 ? prp1 : pages == 2 ? prp2 : load(prp2 + 8 * (i - 1), 8);
		uint8_t *stored = dev.data + (first << dev.lbads) + i * 4096;
		const uint32_t part = bytes - i * 4096 < 4096 ? bytes - i * 4096 : 4096;
		assert_true(at % 4096 == 0);
		if (write)
			memcpy(stored, reach(at, part), part);
		else
			memcpy(reach(at, part), stored, part);
	}
	return true;
}

/* The status of a command: 0 is success. */
static unsigned execute(unsigned which, const uint8_t *e)
{
	const unsigned opcode = e[0];
	const uint32_t cdw10 = (uint32_t)load(bus_of(e + 40), 4), cdw11 = (uint32_t)load(bus_of(e + 44), 4);
	const uint64_t prp1 = load(bus_of(e + 24), 8);
	if (which == 1) {
		if (opcode == 0)
			dev.flushed = true;
		return opcode == 0 ? 0 : !transfer(e, opcode == 1);
	}
	switch (opcode) {
	case 6:
		identify(cdw10, (uint32_t)load(bus_of(e + 4), 4), reach(prp1, 4096));
		return 0;
	case 9:
		assert_int_equal(cdw10, 7);
		assert_int_equal(cdw11, 0);
		return dev.way == REFUSES_FEATURES;
	case 5:
	case 1:
		assert_int_equal(cdw10 & 0xffff, 1);
		assert_int_equal(cdw11, opcode == 1 ? 1u << 16 | 1 : 1);
		*(opcode == 5 ? &dev.q[1].answers : &dev.q[1].at) = prp1;
		dev.q[1].entries = (cdw10 >> 16) + 1;
		dev.q[1].phase = true;
		assert_true(opcode == 5 || dev.q[1].answers); /* after its completion queue */
		return 0;
	default:
		fail_msg("command %u", opcode);
		return 1;
	}
}

static void run(unsigned which)
{
	struct queue *q = &dev.q[which];
	while (q->head != q->tail) {
		uint8_t *e = reach(q->at + 64 * q->head, 64);
		q->head = (q->head + 1) % q->entries;
		const bool chosen = dev.only == 0 || dev.only == dev.commands + 1;
		dev.commands++;
		if (dev.way == MUTE && chosen)
			continue;
		unsigned status = execute(which, e);
		if (dev.way == REFUSES && chosen)
			status = 0x4002;
		uint8_t *answer = reach(q->answers + 16 * q->seen, 16);
		store(bus_of(answer) + 8, 4, q->head);
		store(bus_of(answer) + 12, 4, (load(bus_of(e + 2), 2) ^ (dev.way == WRONG_ID && chosen)) | (uint32_t)q->phase << 16 | status << 17);
		q->seen = (q->seen + 1) % q->entries;
		q->phase ^= q->seen == 0;
	}
}

uint32_t host_mmio_read(const volatile void *a, unsigned bytes)
{
	const uint64_t at = (uint64_t)(uintptr_t)a - BAR;
	assert_true(bytes == 4 && at % 4 == 0 && at < 0x40);
	if (dev.way == GONE)
		return UINT32_MAX;
	if (at == 0x1c) {
		const bool enabled = dev.reg[5] & 1;
		if (dev.way == NEVER_RESET)
			return 1;
		return dev.way == FATAL && enabled ? 2 : enabled && dev.way != NEVER_READY;
	}
	return dev.reg[at / 4];
}

void host_mmio_write(volatile void *a, unsigned bytes, uint32_t v)
{
	const uint64_t at = (uint64_t)(uintptr_t)a - BAR;
	assert_int_equal(bytes, 4);
	if (at < 0x40) {
		dev.reg[at / 4] = v;
		if (at == 0x14 && v & 1) {
			assert_int_equal(v, 1 | 6 << 16 | 4 << 20);
			assert_true(dev.command & 4);
			dev.q[0] = (struct queue){.at = dev.reg[10] | (uint64_t)dev.reg[11] << 32,
			                          .answers = dev.reg[12] | (uint64_t)dev.reg[13] << 32,
			                          .entries = (dev.reg[9] & 0xfff) + 1, .phase = true};
			assert_int_equal(dev.reg[9] >> 16, dev.reg[9] & 0xfff);
		}
		return;
	}
	const unsigned index = (unsigned)((at - 0x1000) / (4u << dev.stride));
	assert_true((at - 0x1000) % (4u << dev.stride) == 0 && index < 4);
	if (index % 2)
		return;
	assert_true(v < dev.q[index / 2].entries);
	dev.q[index / 2].tail = v;
	run(index / 2);
}

void host_mmio_write64(volatile void *a, uint64_t v)
{
	(void)a, (void)v;
	fail_msg("a write of 64 bits");
}

/* --- tests --- */

static void make(enum way way)
{
	static uint8_t bytes[SECTORS * 4096];
	memset(&dev, 0, sizeof dev);
	memset(&disk, 0, sizeof disk);
	dev.way = way;
	dev.lbads = 9;
	dev.data = bytes;
	dev.reg[0] = 2 << 24 | 1 << 16 | 63; /* CAP: 1 s, contiguous queues, of 64 entries */
	dev.reg[1] = 1 << 5;
	dev.command = 7;
	pci = (struct pci_dev){.vendor = 0x1b36, .device = 0x10, .bar = {{BAR, 0x4000}}};
	tsc = clock_make(2000000000);
	guest_open();
	disk = (struct blk){.pci = &pci, .clock = &tsc, .dma = (uint8_t *)(uintptr_t)DMA, .ops = &nvme_ops};
	memset(disk.dma, 0xa5, BLK_DMA_BYTES);
	assert_true(nvme_ops.match(&pci));
}

static void settle(void)
{
	unsigned steps = 0;
	while (disk.state == BLK_STARTING || disk.state == BLK_BUSY) {
		nvme_ops.step(&disk);
		now += 5000000; /* 2.5 ms */
		assert_true(steps++ < 10000);
	}
}

static void start(void)
{
	nvme_ops.begin(&disk);
	assert_true(!(dev.command & 4) && dev.command & 2);
	settle();
}

static int ask(enum disk_op op, uint64_t at, uint8_t *data, uint32_t bytes)
{
	const struct disk_request r = {op, at, bytes, data};
	nvme_ops.submit(&disk, &r);
	settle();
	return disk.state == BLK_FAILED ? E_TIMEOUT : disk.result;
}

static void starts(void **s)
{
	(void)s;
	for (dev.stride = 0; dev.stride < 5; dev.stride++) {
		const uint32_t stride = dev.stride;
		make(stride == 3 ? REFUSES_FEATURES : WELL);
		dev.stride = stride;
		dev.reg[1] |= stride;
		dev.lbads = 9 + stride % 4;
		dev.protect = stride == 2;
		start();
		assert_int_equal(disk.state, BLK_READY);
		assert_int_equal(disk.sector, 1u << dev.lbads);
		assert_int_equal(disk.sectors, SECTORS);
		assert_int_equal(disk.writable, !dev.protect);
		assert_string_equal(disk.name, "Model  [31m of tests");
		assert_int_equal(ask(DISK_FLUSH, 0, NULL, 0), E_OK); /* by the doorbells of the second queues */
	}
}

/* Any place and length, with any limit of a transfer. */
static void reads_and_writes(void **s)
{
	(void)s;
	static uint8_t data[BLK_REQUEST_MAX], mirror[SECTORS * 4096];
	seed_random("reads_and_writes");
	for (unsigned round = 0; round < 12; round++) {
		make(WELL);
		dev.lbads = 9 + round % 4;
		dev.mdts = round % 5;
		start();
		assert_int_equal(disk.state, BLK_READY);
		random_fill(dev.data, (size_t)SECTORS << dev.lbads);
		memcpy(mirror, dev.data, (size_t)SECTORS << dev.lbads);
		for (unsigned i = 0; i < 60; i++) {
			const uint32_t most = BLK_REQUEST_MAX >> dev.lbads, n = 1 + random_below(most);
			const uint64_t first = random_below(SECTORS - n + 1), at = first << dev.lbads;
			const uint32_t bytes = n << dev.lbads;
			if (random_below(2)) {
				random_fill(data, bytes);
				memcpy(mirror + at, data, bytes);
				assert_int_equal(ask(DISK_WRITE, at, data, bytes), E_OK);
			} else {
				assert_int_equal(ask(DISK_READ, at, data, bytes), E_OK);
				assert_memory_equal(data, mirror + at, bytes);
			}
		}
		assert_memory_equal(dev.data, mirror, (size_t)SECTORS << dev.lbads);
		assert_int_equal(ask(DISK_FLUSH, 0, NULL, 0), E_OK);
		assert_true(dev.flushed);
	}
}

/* A request that the controller refuses fails; the next one is served. */
static void refused(void **s)
{
	(void)s;
	static uint8_t data[4096];
	make(WELL);
	start();
	dev.way = REFUSES;
	dev.only = dev.commands + 1;
	assert_int_equal(ask(DISK_READ, 0, data, 4096), E_DEVICE);
	assert_int_equal(ask(DISK_READ, 0, data, 4096), E_OK);
	assert_int_equal(ask(DISK_READ, 512ull << 32, data, 4096), E_DEVICE); /* the disk has no such sector */
}

static void fails_with(const char *why)
{
	assert_int_equal(disk.state, BLK_FAILED);
	assert_string_equal(disk.why, why);
	assert_true(!(dev.command & 4) && !(dev.reg[5] & 1)); /* it reaches no memory any more */
}

static void bad_start(void **s)
{
	static const struct {
		enum way way;
		const char *why;
	} row[] = {{NEVER_READY, "it does not become ready"}, {NEVER_RESET, "it cannot be reset"}, {FATAL, "it reports a fatal error"},
	           {MUTE, "it does not answer"}, {WRONG_ID, "it answers what was not asked"},
	           {REFUSES, "it refuses a command of the start"}, {NO_NAMESPACE, "it has no namespace"}};
	(void)s;
	for (unsigned i = 0; i < ARRAY_LEN(row); i++) {
		make(row[i].way);
		const uint64_t began = now;
		start();
		fails_with(row[i].why);
		if (row[i].way == NEVER_READY || row[i].way == NEVER_RESET) /* after what CAP.TO allows, 1 s */
			assert_in_range(now - began, tsc.tsc_hz, 2 * tsc.tsc_hz);
	}
	make(GONE);
	start();
	assert_string_equal(disk.why, "the device is gone");
	for (unsigned only = 1; only <= 6; only++) /* each command of the start */
		for (unsigned i = 3; i < 6; i++) {
			make(row[i].way);
			dev.only = only;
			start();
			if (row[i].way == REFUSES && only == 4) /* the number of queues */
				assert_int_equal(disk.state, BLK_READY);
			else
				fails_with(row[i].why);
		}
	nvme_ops.begin(&disk); /* anew */
	dev.way = WELL;
	settle();
	assert_int_equal(disk.state, BLK_READY);
}

static void bad_request(void **s)
{
	static uint8_t data[4096];
	(void)s;
	make(WELL);
	start();
	dev.way = MUTE;
	assert_int_equal(ask(DISK_READ, 0, data, 4096), E_TIMEOUT);
	fails_with("it does not answer");
	make(WELL);
	start();
	nvme_ops.stop(&disk);
	fails_with("it was stopped");
}

static void unfit(void **s)
{
	(void)s;
	for (unsigned i = 0; i < 5; i++) {
		make(WELL);
		if (i == 0)
			dev.reg[1] = 0; /* another command set */
		else if (i == 1)
			dev.reg[1] |= 1 << 16; /* pages of 8 KiB and more */
		else if (i == 2)
			dev.reg[0] = 2 << 24 | 1;
		else
			pci.bar[0].bytes = i == 3 ? 0x1000 : 0x1008;
		nvme_ops.begin(&disk);
		assert_int_equal(disk.state, BLK_FAILED);
		assert_string_equal(disk.why, i < 3 ? "it lacks the NVM command set, pages of 4 KiB, or queues"
		                                    : "its registers do not fit the BAR");
	}
	make(WELL);
	dev.lbads = 13;
	start();
	assert_int_equal(disk.state, BLK_FAILED);
}

/* Identify data of any bytes: it fails, or has figures that hold. */
static void any_identity(void **s)
{
	(void)s;
	seed_random("any_identity");
	for (unsigned round = 0; round < 2000; round++) {
		make(WELL);
		dev.random_id = true;
		start();
		if (disk.state == BLK_FAILED)
			continue;
		assert_true(disk.sector >= 512 && disk.sector <= 4096 && (disk.sector & (disk.sector - 1)) == 0);
		assert_true(disk.sectors && disk.sectors <= UINT64_MAX / disk.sector);
		assert_true(strlen(disk.name) < BLK_NAME_MAX);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(starts),      cmocka_unit_test(reads_and_writes), cmocka_unit_test(refused),
		cmocka_unit_test(bad_start),   cmocka_unit_test(bad_request),      cmocka_unit_test(unfit),
		cmocka_unit_test(any_identity),
	};
	return cmocka_run_group_tests_name("nvme", tests, guest_map, NULL);
}
