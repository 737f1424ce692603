/*
 * drivers/virtio_blk on a device modelled from VIRTIO 1.2 (4.1.4, 5.2) with offsets of its own: start, reads, writes and flushes of
 * any length, limits of the device, and devices that do not answer, refuse or lie. Every wait ends.
 */
#include "drivers/virtio_blk/virtio_blk.h"
#include "abi/layout.h"
#include "hal/mmio.h"
#include "tests/unit/rig/guest.h"

#define BAR (MMIO_WINDOW + 0xf0000000u)
#define CONFIG_AT 0x1000u /* in the BAR */
#define NOTIFY_AT 0x3000u
#define DMA (MEMORY_WINDOW + 0x100000u)
#define UNITS 8192u /* of 512 bytes */
#define BIT(n) (1ull << (n))
#define TAKEN (BIT(1) | BIT(5) | BIT(6) | BIT(9) | BIT(32) | BIT(33))

enum way { WELL, NEVER_RESET, NO_FEATURES, MUTE, WRONG_ID, AHEAD, REFUSES, NO_ID, FAR_DOORBELL, NO_QUEUE, CHANGES };

static struct {
	enum way way;
	unsigned only;        /* MUTE, WRONG_ID, AHEAD, REFUSES: the request of that number; 0: all */
	uint8_t cfg[256], common[0x40], config[24];
	uint16_t command;     /* PCI */
	uint64_t offers, accepted;
	uint16_t seen, used;
	unsigned requests, flushes;
	uint8_t *data;
} dev;
static struct pci_dev pci;
static struct blk disk;
static struct clock tsc;
static uint64_t now;

uint64_t host_clock_tsc(void) { return now += 100000; }

uint32_t pci_read(const struct pci_dev *d, unsigned offset, unsigned size)
{
	uint32_t v = 0;
	assert_true(d == &pci && offset % size == 0 && offset + size <= sizeof dev.cfg);
	memcpy(&v, dev.cfg + offset, size);
	return offset == 4 ? dev.command : v;
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

/* --- the device --- */

/* It reaches memory only as a bus master, and once the driver has said that it is ready. */
static uint8_t *reach(uint64_t at, size_t n)
{
	assert_true(dev.command & 4 && dev.common[0x14] & 4);
	return bus(at, n);
}

static uint64_t part(unsigned k) /* descriptors, avail, used */
{
	uint64_t at;
	memcpy(&at, dev.common + 0x20 + 8 * k, 8);
	return at;
}

static uint32_t block(void)
{
	uint32_t bytes = 512;
	if (dev.accepted & BIT(6))
		memcpy(&bytes, dev.config + 20, 4);
	return bytes;
}

/* 5.2.6: the status of a request, whose data is `n` bytes at `to`. */
static uint8_t execute(uint32_t type, uint64_t unit, uint8_t *to, uint32_t n, bool writes)
{
	uint32_t piece = UINT32_MAX;
	if (dev.accepted & BIT(1))
		memcpy(&piece, dev.config + 8, 4);
	if (type == 8) {
		assert_true(writes && n == 20);
		memcpy(to, "A disk\n of the tests", 20);
		return dev.way == NO_ID ? 2 : 0;
	}
	if (type == 4) {
		assert_true(unit == 0 && n == 0 && dev.accepted & BIT(9));
		dev.flushes++;
		return 0;
	}
	assert_true(type <= 1 && writes == (type == 0) && n && n <= piece && n % block() == 0 && unit % (block() / 512) == 0);
	if (unit >= UNITS || n / 512 > UNITS - unit)
		return 1;
	if (type == 1)
		memcpy(dev.data + 512 * unit, to, n);
	else
		memcpy(to, dev.data + 512 * unit, n);
	return 0;
}

static void serve(void)
{
	const uint16_t avail = (uint16_t)load(part(1) + 2, 2);
	reach(part(1), 4);
	assert_int_equal(load(part(1), 2), 1); /* no interrupts */
	for (; dev.seen != avail; dev.seen++) {
		const uint16_t first = (uint16_t)load(part(1) + 4 + 2 * (dev.seen % 4), 2);
		uint64_t at[3], flags[3];
		uint32_t n[3];
		unsigned pieces = 0;
		for (uint16_t i = first;; i = (uint16_t)load(part(0) + 16 * i + 14, 2)) {
			assert_true(i < 4 && pieces < 3);
			at[pieces] = load(part(0) + 16 * i, 8);
			n[pieces] = (uint32_t)load(part(0) + 16 * i + 8, 4);
			flags[pieces] = load(part(0) + 16 * i + 12, 2);
			if (!(flags[pieces++] & 1))
				break;
		}
		assert_true(pieces >= 2 && n[0] == 16 && !(flags[0] & 2) && n[pieces - 1] == 1 && flags[pieces - 1] & 2);
		const bool chosen = dev.only == 0 || dev.only == dev.requests + 1;
		dev.requests++;
		if (dev.way == MUTE && chosen)
			continue;
		uint8_t status = execute((uint32_t)load(at[0], 4), load(at[0] + 8, 8), pieces == 3 ? reach(at[1], n[1]) : NULL,
		                         pieces == 3 ? n[1] : 0, pieces == 3 && flags[1] & 2);
		if (dev.way == REFUSES && chosen)
			status = 1;
		*reach(at[pieces - 1], 1) = status;
		store(part(2) + 4 + 8 * (dev.used % 4), 4, first + (dev.way == WRONG_ID && chosen));
		store(part(2) + 4 + 8 * (dev.used % 4) + 4, 4, 1);
		dev.used += 1 + (dev.way == AHEAD && chosen);
		store(part(2) + 2, 2, dev.used);
	}
}

static uint8_t *reg(const volatile void *a, unsigned bytes)
{
	const uint64_t at = (uint64_t)(uintptr_t)a - BAR;
	if (at >= CONFIG_AT) {
		assert_true(at + bytes <= CONFIG_AT + sizeof dev.config);
		return dev.config + (at - CONFIG_AT);
	}
	assert_true(at < 0x38 && bytes == (at == 0x14 || at == 0x15 ? 1 : at < 0x10 || at >= 0x20 ? 4 : 2));
	return dev.common + at;
}

uint32_t host_mmio_read(const volatile void *a, unsigned bytes)
{
	uint32_t v = 0;
	memcpy(&v, reg(a, bytes), bytes);
	if ((uintptr_t)a - BAR == 0x15 && dev.way == CHANGES)
		dev.common[0x15]++;
	return (uintptr_t)a - BAR == 4 ? (uint32_t)(dev.offers >> 32 * dev.common[0]) : v;
}

static void status_written(uint8_t v)
{
	if (v == 0 && dev.way != NEVER_RESET) {
		memset(dev.common + 0x16, 0, sizeof dev.common - 0x16);
		dev.common[0x18] = dev.way == NO_QUEUE ? 2 : 128;
		dev.common[0x1e] = dev.way == FAR_DOORBELL ? 200 : 1;
		dev.accepted = 0;
		dev.seen = dev.used = 0;
		dev.common[0x14] = 0;
	} else if (v) {
		assert_true((v & dev.common[0x14]) == dev.common[0x14]); /* 2.1.1: no bit is cleared */
		dev.common[0x14] = dev.way == NO_FEATURES ? v & ~8 : v;
	}
}

void host_mmio_write(volatile void *a, unsigned bytes, uint32_t v)
{
	const uint64_t at = (uint64_t)(uintptr_t)a - BAR;
	if (at >= NOTIFY_AT) {
		assert_true(at == NOTIFY_AT + 4 && bytes == 2 && v == 0);
		serve();
		return;
	}
	assert_true(at < CONFIG_AT);
	if (at == 0x14) {
		status_written((uint8_t)v);
		return;
	}
	if (at == 0x0c)
		dev.accepted |= (uint64_t)v << 32 * dev.common[8];
	if (at == 0x1c)
		assert_true(dev.common[0x18] == 4 && !(dev.common[0x14] & 4));
	memcpy(reg(a, bytes), &v, bytes);
}

void host_mmio_write64(volatile void *a, uint64_t v)
{
	(void)a, (void)v;
	fail_msg("a write of 64 bits");
}

/* --- tests --- */

/* A capability of 4.1.4 at `at`. */
static void capability(unsigned at, unsigned next, uint8_t type, uint32_t offset, uint32_t bytes)
{
	const uint32_t where[2] = {offset, bytes}, multiplier = 4;
	dev.cfg[at] = 9;
	dev.cfg[at + 1] = (uint8_t)next;
	dev.cfg[at + 3] = type;
	memcpy(dev.cfg + at + 8, where, 8);
	memcpy(dev.cfg + at + 16, &multiplier, 4);
}

static void make(enum way way)
{
	static uint8_t bytes[UNITS * 512];
	const uint64_t units = UNITS;
	const uint32_t block_bytes = 512, piece = 4096;
	memset(&dev, 0, sizeof dev);
	memset(&disk, 0, sizeof disk);
	dev.way = way;
	dev.offers = UINT64_MAX & ~(BIT(1) | BIT(5));
	dev.data = bytes;
	dev.command = 7;
	dev.cfg[0x34] = 0x40;
	capability(0x40, 0x60, 1, 0, 0x38);
	capability(0x60, 0x80, 2, NOTIFY_AT, 0x100);
	capability(0x80, 0, 4, CONFIG_AT, sizeof dev.config);
	memcpy(dev.config, &units, 8);
	memcpy(dev.config + 8, &piece, 4);
	memcpy(dev.config + 20, &block_bytes, 4);
	dev.common[0x14] = 15; /* as firmware may leave it */
	pci = (struct pci_dev){.vendor = 0x1af4, .device = 0x1042, .bar = {{BAR, 0x4000}}};
	tsc = clock_make(2000000000);
	guest_open();
	disk = (struct blk){.pci = &pci, .clock = &tsc, .dma = (uint8_t *)(uintptr_t)DMA, .ops = &virtio_blk_ops};
	memset(disk.dma, 0xa5, BLK_DMA_BYTES);
}

static void settle(void)
{
	unsigned steps = 0;
	while (disk.state == BLK_STARTING || disk.state == BLK_BUSY) {
		virtio_blk_ops.step(&disk);
		now += 5000000; /* 2.5 ms */
		assert_true(steps++ < 10000);
	}
}

static void start(void)
{
	virtio_blk_ops.begin(&disk);
	assert_true(!(dev.command & 4) && dev.command & 2);
	settle();
}

static int ask(enum disk_op op, uint64_t at, uint8_t *data, uint32_t bytes)
{
	const struct disk_request r = {op, at, bytes, data};
	virtio_blk_ops.submit(&disk, &r);
	settle();
	return disk.state == BLK_FAILED ? E_TIMEOUT : disk.result;
}

static void matches(void **s)
{
	(void)s;
	make(WELL);
	assert_true(virtio_blk_ops.match(&pci));
	pci.device = 0x1001;
	assert_true(virtio_blk_ops.match(&pci));
	pci.device = 0x1041;
	assert_false(virtio_blk_ops.match(&pci));
	pci = (struct pci_dev){.vendor = 0x1af5, .device = 0x1042};
	assert_false(virtio_blk_ops.match(&pci));
}

static void starts(void **s)
{
	(void)s;
	for (unsigned log2 = 9; log2 <= 12; log2++) {
		const uint32_t bytes = 1u << log2;
		make(log2 == 10 ? NO_ID : WELL);
		memcpy(dev.config + 20, &bytes, 4);
		dev.offers |= log2 == 11 ? BIT(5) : 0;
		start();
		assert_int_equal(disk.state, BLK_READY);
		assert_int_equal(dev.accepted, TAKEN & dev.offers);
		assert_int_equal(disk.sector, bytes);
		assert_int_equal(disk.sectors, UNITS * 512 / bytes);
		assert_int_equal(disk.writable, log2 != 11);
		assert_string_equal(disk.name, log2 == 10 ? "virtio-blk" : "virtio-blk A disk  of the tests");
	}
}

/* Any place and length, with any size of a block and any limit of a piece. */
static void reads_and_writes(void **s)
{
	(void)s;
	static uint8_t data[BLK_REQUEST_MAX], mirror[UNITS * 512];
	seed_random("reads_and_writes");
	for (unsigned round = 0; round < 12; round++) {
		const uint32_t bytes = 512u << round % 4, piece = bytes * (1 + random_below(9)) + random_below(2);
		make(WELL);
		memcpy(dev.config + 20, &bytes, 4);
		memcpy(dev.config + 8, &piece, 4);
		dev.offers |= round % 2 ? BIT(1) : 0;
		start();
		assert_int_equal(disk.state, BLK_READY);
		random_fill(dev.data, sizeof mirror);
		memcpy(mirror, dev.data, sizeof mirror);
		for (unsigned i = 0; i < 60; i++) {
			const uint32_t n = (1 + random_below(BLK_REQUEST_MAX / bytes)) * bytes;
			const uint64_t at = (uint64_t)random_below((UNITS * 512 - n) / bytes + 1) * bytes;
			if (random_below(2)) {
				random_fill(data, n);
				memcpy(mirror + at, data, n);
				assert_int_equal(ask(DISK_WRITE, at, data, n), E_OK);
			} else {
				assert_int_equal(ask(DISK_READ, at, data, n), E_OK);
				assert_memory_equal(data, mirror + at, n);
			}
		}
		assert_memory_equal(dev.data, mirror, sizeof mirror);
		assert_int_equal(ask(DISK_FLUSH, 0, NULL, 0), E_OK);
		assert_int_equal(dev.flushes, 1);
	}
	make(WELL); /* a device without that request has no cache that could lose anything */
	dev.offers &= ~BIT(9);
	start();
	assert_int_equal(ask(DISK_FLUSH, 0, NULL, 0), E_OK);
	assert_int_equal(dev.flushes, 0);
}

/* A request that the device refuses fails; the next one is served. */
static void refused(void **s)
{
	(void)s;
	static uint8_t data[4096];
	make(WELL);
	start();
	dev.way = REFUSES;
	dev.only = dev.requests + 1;
	assert_int_equal(ask(DISK_READ, 0, data, 4096), E_DEVICE);
	assert_int_equal(ask(DISK_READ, 0, data, 4096), E_OK);
}

static void fails_with(const char *why)
{
	assert_int_equal(disk.state, BLK_FAILED);
	assert_string_equal(disk.why, why);
	assert_true(!(dev.command & 4)); /* it reaches no memory any more */
}

static void bad_start(void **s)
{
	static const struct {
		enum way way;
		const char *why;
	} row[] = {{NEVER_RESET, "it cannot be reset"}, {NO_FEATURES, "it refuses the features it offered"},
	           {MUTE, "it does not answer"}, {WRONG_ID, "it answers what was not asked"},
	           {AHEAD, "it answers what was not asked"}, {FAR_DOORBELL, "its doorbell is outside of its BAR"},
	           {NO_QUEUE, "it has no queue of a request's length"}, {CHANGES, "its size is impossible"}};
	(void)s;
	for (unsigned i = 0; i < ARRAY_LEN(row); i++) {
		make(row[i].way);
		start();
		fails_with(row[i].why);
	}
	virtio_blk_ops.begin(&disk); /* anew */
	dev.way = WELL;
	settle();
	assert_int_equal(disk.state, BLK_READY);
}

static void unfit(void **s)
{
	static const struct {
		unsigned at; /* in the configuration; 64: in configuration space */
		uint64_t value;
		uint64_t offers;
		const char *why;
	} row[] = {{0, 0, BIT(32), "its size is impossible"}, {0, 1ull << 56, BIT(32), "its size is impossible"},
	           {20, 256, BIT(32) | BIT(6), "its sectors are not of 512 to 4096 bytes"},
	           {20, 8192, BIT(32) | BIT(6), "its sectors are not of 512 to 4096 bytes"},
	           {20, 1000, BIT(32) | BIT(6), "its sectors are not of 512 to 4096 bytes"},
	           {8, 511, BIT(32) | BIT(1), "it takes no whole sector"},
	           {16, 0, BIT(9), "it does not offer VIRTIO 1.x"}};
	(void)s;
	for (unsigned i = 0; i < ARRAY_LEN(row); i++) {
		make(WELL);
		dev.offers = row[i].offers;
		memcpy(dev.config + row[i].at, &row[i].value, row[i].at == 0 ? 8 : 4);
		start();
		fails_with(row[i].why);
	}
	for (unsigned cap = 0x40; cap <= 0x80; cap += 0x20) { /* a structure is not there, or does not fit */
		make(WELL);
		dev.cfg[cap + 3] = 9;
		start();
		fails_with("it has no modern (VIRTIO 1.x) interface");
		make(WELL);
		dev.cfg[cap + 10] = 1;
		start();
		fails_with("it has no modern (VIRTIO 1.x) interface");
	}
}

static void bad_request(void **s)
{
	static uint8_t data[4096];
	static const enum way ways[] = {MUTE, WRONG_ID, AHEAD};
	(void)s;
	for (unsigned i = 0; i < ARRAY_LEN(ways); i++) {
		make(WELL);
		start();
		dev.way = ways[i];
		assert_int_equal(ask(DISK_READ, 0, data, 4096), E_TIMEOUT);
		fails_with(i == 0 ? "it does not answer" : "it answers what was not asked");
	}
	make(WELL);
	start();
	virtio_blk_ops.stop(&disk);
	fails_with("it was stopped");
}

/* A device that writes anything into what it may write: the request ends, and used.idx is believed only if it can be. */
static void any_answer(void **s)
{
	static uint8_t data[512];
	(void)s;
	seed_random("any_answer");
	for (unsigned round = 0; round < 500; round++) {
		make(WELL);
		start();
		dev.way = MUTE;
		const struct disk_request r = {DISK_READ, 0, sizeof data, data};
		virtio_blk_ops.submit(&disk, &r);
		store(part(2) + 2, 2, random_below(8));
		store(part(2) + 4 + 8 * random_below(4), 4, random_below(3));
		settle();
		assert_true(disk.state == BLK_FAILED || disk.state == BLK_READY);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(matches), cmocka_unit_test(starts),    cmocka_unit_test(reads_and_writes),
		cmocka_unit_test(refused), cmocka_unit_test(bad_start), cmocka_unit_test(unfit),
		cmocka_unit_test(bad_request), cmocka_unit_test(any_answer),
	};
	return cmocka_run_group_tests_name("virtio_blk", tests, guest_map, NULL);
}
