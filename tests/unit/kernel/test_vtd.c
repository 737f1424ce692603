/*
 * kernel/vtd with a model of a remapping unit (VT-d, rev. 3.0, chapters 6 and 10): commands that take effect when they
 * are written, invalidation by registers and by the queue, and faults: a bit that never changes, a queue that is never
 * read, records of refused accesses.
 */
#include "tests/unit/rig/host.h"

#include "hal/clock.h"
#include "hal/mmio.h"
#include "kernel/vm.h"

static void *host_phys(uint64_t phys) { return (void *)(uintptr_t)phys; }
static uint32_t model_read32(const volatile void *a);
static uint64_t model_read64(const volatile void *a);
static void model_write32(volatile void *a, uint32_t v);
static void model_write64(volatile void *a, uint64_t v);
static uint64_t model_tsc(void);
#define vm_phys host_phys
#define mmio_read32 model_read32
#define mmio_read64 model_read64
#define mmio_write32 model_write32
#define mmio_write64 model_write64
#define clock_tsc model_tsc
#include "kernel/vtd.c"

#define UNIT ((volatile uint8_t *)0x100000)
#define IOTLB_AT 0x118u  /* ECAP.IRO 0x11: the invalidate register follows one of 8 bytes */
#define RECORDS_AT 0x220u /* CAP.FRO 0x22 */
#define RECORDS 4u
#define CAP ((0x22ull << 24) | ((RECORDS - 1ull) << 40) | (1ull << 34) | (47ull << 16) | (4ull << 8) | 2)
#define ECAP (0x11ull << 8)
#define NEVER_ICC (1u << 28) /* in `never`: registers instead of command bits */
#define NEVER_IVT (1u << 29)
#define NEVER_PMEN (1u << 0)

static uint32_t reg[REGS_BYTES / 4];
static uint8_t memory[VTD_QUEUE_BYTES] __attribute__((aligned(4096)));
static uint64_t now;
static uint32_t never;  /* command bits that do not take effect; NEVER_ */
static bool never_reads; /* the queue */
static char events[100]; /* a letter for each thing the unit was made to do */

void *vm_map_device(uint64_t phys, uint64_t bytes)
{
	assert_true(phys == (uintptr_t)UNIT && bytes == sizeof reg);
	return (void *)(uintptr_t)phys;
}
uint64_t tsc_hz(void) { return 1000000; }
static uint64_t model_tsc(void) { return now++; }

static void note(char c)
{
	const size_t n = strlen(events);
	if (n + 1 < sizeof events)
		events[n] = c, events[n + 1] = '\0';
}

static unsigned offset_of(const volatile void *a, unsigned bytes)
{
	const uint64_t offset = (uint64_t)((const volatile uint8_t *)a - UNIT);
	assert_true(offset + bytes <= sizeof reg && offset % bytes == 0);
	return (unsigned)offset;
}

static uint64_t get64(unsigned at) { return reg[at / 4] | (uint64_t)reg[at / 4 + 1] << 32; }

static void set64(unsigned at, uint64_t v)
{
	reg[at / 4] = (uint32_t)v;
	reg[at / 4 + 1] = (uint32_t)(v >> 32);
}

static uint32_t model_read32(const volatile void *a) { return reg[offset_of(a, 4) / 4]; }
static uint64_t model_read64(const volatile void *a) { return get64(offset_of(a, 8)); }

/* 10.4.4: only one bit changes at a time. The table pointers and the flush are commands, the others states. */
static void command_written(uint32_t v)
{
	static const struct {
		uint32_t bit;
		char on, off; /* off 0: a command without state */
	} row[] = {{1u << 31, 'T', 't'}, {1u << 30, 'R', 0}, {1u << 27, 'W', 0}, {1u << 26, 'Q', 'q'},
	           {1u << 25, 'I', 'i'}, {1u << 24, 'P', 0}, {1u << 23, 'F', 'f'}};
	uint32_t *status = &reg[0x1c / 4], changed = (v ^ *status) & 0x96ffffffu;
	changed |= v & ~0x96ffffffu;
	assert_true(changed != 0 && (changed & (changed - 1)) == 0);
	for (unsigned i = 0; i < ARRAY_LEN(row); i++) {
		if (changed != row[i].bit)
			continue;
		note(row[i].off && !(v & changed) ? row[i].off : row[i].on);
		if (changed == 1u << 27)
			*status = never & changed ? *status | changed : *status & ~changed;
		else if (!(never & changed))
			*status = v & changed ? *status | changed : *status & ~changed;
		if (!(*status & 1u << 26))
			set64(0x80, 0); /* 10.4.21 */
		return;
	}
	fail_msg("command %x", v);
}

/* 6.5.2: descriptors of two words, from head to tail. */
static void run_queue(void)
{
	const uint64_t *ring = host_phys(get64(0x90) & ~0xfffull);
	uint64_t head = get64(0x80), tail = get64(0x88);
	assert_true(reg[0x1c / 4] & 1u << 26 && tail % 16 == 0 && tail < 4096 && (get64(0x90) & 0xfff) == 0);
	for (; head != tail && !never_reads; head = (head + 16) % 4096) {
		const uint64_t *d = ring + head / 8;
		switch (d[0] & 15) {
		case 1:
			assert_true(d[0] == 0x11 && d[1] == 0);
			note('C');
			break;
		case 2:
			assert_true(d[0] == 0xd2 && d[1] == 0); /* global, with both drains */
			note('B');
			break;
		case 4:
			assert_true(d[0] == 4 && d[1] == 0);
			note('E');
			break;
		case 5:
			assert_true((d[0] & 0xffffffffu) == 0x25 && d[1] % 4 == 0);
			*(uint32_t *)host_phys(d[1]) = (uint32_t)(d[0] >> 32);
			break;
		default:
			fail_msg("descriptor %llx", (unsigned long long)d[0]);
		}
	}
	set64(0x80, head);
}

static void model_write32(volatile void *a, uint32_t v)
{
	const unsigned at = offset_of(a, 4);
	if (at == 0x18) {
		command_written(v);
	} else if (at == 0x34) {
		reg[at / 4] &= ~(v & 1); /* W1C */
	} else if (at == 0x64) {
		assert_int_equal(v, 0);
		note('p');
		reg[at / 4] = never & NEVER_PMEN;
	} else if (at == 0x88) {
		reg[at / 4] = v;
		run_queue();
	} else {
		assert_true(at >= RECORDS_AT && at < RECORDS_AT + 16 * RECORDS && at % 16 == 12 && v == 1u << 31);
		reg[at / 4] &= ~v; /* W1C */
	}
}

/* 10.4.7, 10.4.8.1: the highest bit is clear when it is done. Not while the queue is on (6.5.1). */
static void model_write64(volatile void *a, uint64_t v)
{
	const unsigned at = offset_of(a, 8);
	if (at == 0x28 || at == IOTLB_AT) {
		assert_false(reg[0x1c / 4] & 1u << 26);
		assert_true(v == (at == 0x28 ? 5ull << 61 : 1ull << 63 | 1ull << 60 | 3ull << 48));
		note(at == 0x28 ? 'C' : 'B');
		v &= never & (at == 0x28 ? NEVER_ICC : NEVER_IVT) ? UINT64_MAX : ~(1ull << 63);
	} else {
		assert_true(at == 0x20 || at == 0x88 || at == 0x90 || at == 0xb8);
	}
	set64(at, v);
}

static struct vtd u;

static int open_unit(uint64_t cap, uint64_t ecap)
{
	memset(reg, 0, sizeof reg);
	memset(memory, 0, sizeof memory);
	events[0] = '\0';
	never = 0;
	never_reads = false;
	reg[0] = 0x10;
	set64(0x08, cap);
	set64(0x10, ecap);
	return vtd_open(&u, (uintptr_t)UNIT);
}

static int setup(void **s)
{
	(void)s;
	return open_unit(CAP, ECAP);
}

static const struct vtd_tables *tables(bool queue)
{
	static struct vtd_tables t;
	t = (struct vtd_tables){.root = 0x200000};
	if (queue)
		t = (struct vtd_tables){0x200000, (uintptr_t)memory, 0x300000, 9, true};
	return &t;
}

static void capabilities(void **s)
{
	static const struct {
		uint64_t cap, ecap;
		unsigned widths, domains;
		uint64_t limit;
		bool interrupts, wide, passes;
	} row[] = {
		{0, 0, 0, 16, 2, false, false, false},
		{4ull << 8 | 6, 0, 0, 65536, 2, false, false, false}, /* no pages of 2 MiB */
		{1ull << 34 | 31ull << 8 | 38ull << 16, 2, 6, 16, 1ull << 39, false, false, false},
		{1ull << 34 | 2ull << 8 | 47ull << 16 | 4, 8, 2, 4096, 1ull << 48, false, false, false},
		{1ull << 34 | 4ull << 8 | 56ull << 16 | 7ull << 35, 0x0a, 4, 16, 1ull << 57, true, false, false},
		{1ull << 34 | 4ull << 8, 0x5a, 4, 16, 2, true, true, true},
	};
	(void)s;
	for (unsigned i = 0; i < ARRAY_LEN(row); i++) {
		assert_int_equal(open_unit(row[i].cap, row[i].ecap), E_OK);
		assert_int_equal(vtd_widths(&u), row[i].widths);
		assert_int_equal(vtd_domains(&u), row[i].domains);
		assert_int_equal(vtd_limit(&u), row[i].limit);
		assert_true(vtd_remaps_interrupts(&u) == row[i].interrupts && vtd_knows_wide_ids(&u) == row[i].wide &&
		            vtd_passes_through(&u) == row[i].passes);
	}
	reg[0] = 0;
	assert_int_equal(vtd_open(&u, (uintptr_t)UNIT), E_DEVICE);
	reg[0] = UINT32_MAX;
	assert_int_equal(vtd_open(&u, (uintptr_t)UNIT), E_DEVICE);
}

/* The order of 6.5.1, 10.4.4 and 10.4.6: the pointer, caches of contexts, then of translations, then translation. */
static void starts_by_registers(void **s)
{
	(void)s;
	assert_int_equal(vtd_start(&u, tables(false)), E_OK);
	assert_string_equal(events, "RCBT");
	assert_int_equal(get64(0x20), 0x200000);
	events[0] = '\0';
	assert_int_equal(vtd_forget_pages(&u), E_OK);
	assert_string_equal(events, "B");
	events[0] = '\0';
	vtd_stop(&u);
	assert_string_equal(events, "t");
	/* writes are buffered, and firmware protects a region of memory */
	assert_int_equal(open_unit(CAP | 1 << 4 | 1 << 5, ECAP), E_OK);
	reg[0x64 / 4] = 0x80000001;
	assert_int_equal(vtd_start(&u, tables(false)), E_OK);
	assert_string_equal(events, "RWCBTp");
}

static void starts_with_interrupts(void **s)
{
	(void)s;
	assert_int_equal(vtd_start(&u, tables(true)), E_OK);
	assert_string_equal(events, "QPEIRCBT");
	assert_int_equal(get64(0x90), (uintptr_t)memory);
	assert_int_equal(get64(0xb8), 0x300000 | 1 << 11 | 8); /* 512 entries, 32-bit IDs */
	for (unsigned round = 0; round < 300; round++) { /* many times around the queue */
		events[0] = '\0';
		assert_int_equal(vtd_forget_pages(&u), E_OK);
		assert_int_equal(vtd_forget_interrupts(&u), E_OK);
		assert_string_equal(events, "BE");
	}
	events[0] = '\0';
	vtd_stop(&u);
	assert_string_equal(events, "tiq");
	assert_int_equal(u.queue, 0);
}

/* What firmware left on is turned off before anything changes, the queue when it is empty. */
static void left_on_by_firmware(void **s)
{
	(void)s;
	reg[0x1c / 4] = 0x86800000;
	set64(0x88, 0x120);
	set64(0x80, 0x120);
	assert_int_equal(vtd_start(&u, tables(true)), E_OK);
	assert_string_equal(events, "tiqfQPEIRCBT");
	setup(NULL);
	reg[0x1c / 4] = 1u << 26;
	set64(0x88, 0x120);
	const uint64_t began = now;
	assert_int_equal(vtd_start(&u, tables(true)), E_TIMEOUT);
	assert_true(now - began >= WAIT_US && now - began < 3 * WAIT_US);
	assert_string_equal(events, "q"); /* its tables were not changed */
}

/* A unit that does not follow a command is off again, as far as it follows, and is waited for a bounded time. */
static void never_follows(void **s)
{
	static const struct {
		bool queue;
		uint32_t left, never;
		const char *events;
	} row[] = {
		{false, 0, 1u << 31, "RWCBT"},
		{false, 0, 1u << 30, "R"},
		{false, 0, 1u << 27, "RW"},
		{false, 0, NEVER_ICC, "RWC"},
		{false, 0, NEVER_IVT, "RWCB"},
		{false, 0, NEVER_PMEN, "RWCBTpt"},
		{true, 0, 1u << 26, "Q"},
		{true, 0, 1u << 25, "QPEIq"},
		{true, 0, 1u << 24, "QPq"},
		{false, 1u << 31, 1u << 31, "tt"},
		{true, 1u << 26, 1u << 26, "qq"},
		{true, 1u << 23, 1u << 23, "ff"},
	};
	(void)s;
	for (unsigned i = 0; i < ARRAY_LEN(row); i++) {
		const uint64_t began = now;
		assert_int_equal(open_unit(CAP | 1 << 4 | 1 << 6, ECAP), E_OK);
		reg[0x1c / 4] = row[i].left;
		never = row[i].never;
		if (vtd_start(&u, tables(row[i].queue)) != E_TIMEOUT)
			fail_msg("row %u", i);
		assert_string_equal(events, row[i].events);
		assert_true(now - began >= WAIT_US && now - began < 4 * WAIT_US);
		assert_int_equal(u.queue, 0);
	}
	setup(NULL);
	assert_int_equal(vtd_start(&u, tables(true)), E_OK);
	never_reads = true;
	assert_int_equal(vtd_forget_pages(&u), E_TIMEOUT);
	assert_int_equal(vtd_forget_interrupts(&u), E_TIMEOUT);
}

static void put_record(unsigned n, uint64_t low, uint64_t high)
{
	set64(RECORDS_AT + 16 * n, low);
	set64(RECORDS_AT + 16 * n + 8, high | 1ull << 63);
}

/* 10.4.14, 10.4.9 */
static void refusals(void **s)
{
	struct iommu_refusal r;
	bool more = false;
	(void)s;
	assert_true(!vtd_take_refusal(&u, &r, &more) && !more);
	put_record(0, 0x12345fff, 5ull << 32 | 0x0010);
	put_record(1, 0x1000, 1ull << 62 | 6ull << 32 | 0x0300);
	put_record(RECORDS - 1, 7ull << 48, 0x26ull << 32 | 0xffff);
	put_record(RECORDS, 0, 5ull << 32); /* beyond the last: not read */
	assert_true(vtd_take_refusal(&u, &r, &more));
	assert_true(r.addr == 0x12345000 && r.bdf == 0x10 && r.reason == 5 && !r.read && !r.interrupt);
	assert_true(vtd_take_refusal(&u, &r, &more));
	assert_true(r.addr == 0x1000 && r.bdf == 0x300 && r.reason == 6 && r.read && !r.interrupt);
	assert_true(vtd_take_refusal(&u, &r, &more));
	assert_true(r.addr == 7 && r.bdf == 0xffff && r.reason == 0x26 && r.interrupt);
	reg[0x34 / 4] = 1;
	assert_true(!vtd_take_refusal(&u, &r, &more) && more);
	assert_int_equal(reg[0x34 / 4], 0); /* it records again */
	assert_true(!vtd_take_refusal(&u, &r, &more) && !more);
	put_record(2, 0x2fff000, 0x1full << 32);
	assert_true(vtd_take_refusal(&u, &r, &more) && !r.interrupt);
	put_record(2, 3ull << 48, 0x20ull << 32);
	assert_true(vtd_take_refusal(&u, &r, &more) && r.interrupt && r.addr == 3);
	put_record(2, 0x2000, 0x30ull << 32);
	assert_true(vtd_take_refusal(&u, &r, &more) && !r.interrupt && r.addr == 0x2000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(capabilities, setup),
		cmocka_unit_test_setup(starts_by_registers, setup),
		cmocka_unit_test_setup(starts_with_interrupts, setup),
		cmocka_unit_test_setup(left_on_by_firmware, setup),
		cmocka_unit_test_setup(never_follows, setup),
		cmocka_unit_test_setup(refusals, setup),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
