/*
 * kernel/amdvi with a model of a unit (publication 48882): commands that it executes when the tail is written,
 * events that it logs, and faults: registers that never change, completions that never come, a log that overflows.
 */
#include "tests/unit/rig/host.h"

#include "hal/clock.h"
#include "hal/mmio.h"
#include "kernel/vm.h"

static void *host_phys(uint64_t phys) { return (void *)(uintptr_t)phys; }
static uint32_t model_read32(const volatile void *a);
static uint64_t model_read64(const volatile void *a);
static void model_write64(volatile void *a, uint64_t v);
static uint64_t model_tsc(void);
#define vm_phys host_phys
#define mmio_read32 model_read32
#define mmio_read64 model_read64
#define mmio_write64 model_write64
#define clock_tsc model_tsc
#include "kernel/amdvi.c"

#define UNIT ((volatile uint8_t *)0x100000)

static uint64_t reg[AMDVI_REGS_BYTES / 8];
static uint8_t memory[AMDVI_MEMORY_BYTES] __attribute__((aligned(4096)));
static uint64_t now;
static bool never_stops, never_runs, never_completes;
static struct {
	bool device[AMDVI_FUNCTIONS], interrupts[AMDVI_FUNCTIONS], pages[DOMAINS], all;
} forgotten;
static unsigned executed, most; /* commands; the most between two writes of the tail */

void *vm_map_device(uint64_t phys, uint64_t bytes)
{
	assert_true(phys == (uintptr_t)UNIT && bytes == 0x4000);
	return (void *)(uintptr_t)phys;
}
uint64_t tsc_hz(void) { return 1000000; }
static uint64_t model_tsc(void) { return now++; }

static unsigned offset_of(const volatile void *a, unsigned bytes)
{
	uint64_t offset = (uint64_t)((const volatile uint8_t *)a - UNIT);
	assert_true(offset + bytes <= sizeof reg && offset % bytes == 0);
	return (unsigned)offset;
}

static uint64_t model_read64(const volatile void *a) { return reg[offset_of(a, 8) / 8]; }

static uint32_t model_read32(const volatile void *a)
{
	unsigned at = offset_of(a, 4);
	return (uint32_t)(reg[at / 8] >> at % 8 * 8);
}

static void execute(const uint64_t *c)
{
	executed++;
	switch (c[0] >> 60) {
	case 1:
		assert_int_equal(c[0] & 0x0ff0000000000007ull, 1); /* store, no interrupt */
		if (!never_completes)
			*(uint64_t *)host_phys(c[0] & 0x000ffffffffffff8ull) = c[1];
		return;
	case 2:
		assert_true((c[0] & 0x0fffffffffff0000ull) == 0 && c[1] == 0);
		forgotten.device[c[0] & 0xffff] = true;
		return;
	case 3:
		assert_true((c[0] & 0x0fff0000ffffffffull) == 0 && c[1] == 0x7ffffffffffff003ull);
		forgotten.pages[c[0] >> 32 & 0xffff] = true;
		return;
	case 5:
		assert_true((c[0] & 0x0fffffffffff0000ull) == 0 && c[1] == 0);
		forgotten.interrupts[c[0] & 0xffff] = true;
		return;
	case 8:
		assert_true(c[0] << 4 == 0 && c[1] == 0);
		forgotten.all = true;
		return;
	default:
		fail_msg("command %llx", (unsigned long long)c[0]);
	}
}

static void run_commands(void)
{
	const uint64_t *ring = host_phys(reg[1] & 0x000ffffffffff000ull);
	uint64_t head = reg[REG_COMMAND_HEAD / 8], tail = reg[REG_COMMAND_TAIL / 8];
	unsigned n = 0;
	assert_int_equal(reg[1] >> 56, 8); /* 256 entries */
	assert_true(tail % 16 == 0 && tail < 4096);
	for (; head != tail; head = (head + 16) % 4096, n++)
		execute(ring + head / 8);
	reg[REG_COMMAND_HEAD / 8] = head;
	most = n > most ? n : most;
}

static void set_control(uint64_t v)
{
	uint64_t status = reg[REG_STATUS / 8];
	if ((v & 0x1001) == 0x1001 && !never_runs)
		status |= 0x10;
	else if (!(v & 0x1000) && !never_stops)
		status &= ~0x10ull;
	if ((v & 5) == 5 && !never_runs)
		status |= 8;
	else if (!(v & 4) && !never_stops)
		status &= ~8ull;
	reg[REG_STATUS / 8] = status;
}

static void model_write64(volatile void *a, uint64_t v)
{
	unsigned at = offset_of(a, 8);
	if (at == REG_STATUS) {
		reg[at / 8] &= ~(v & 1);
		return;
	}
	reg[at / 8] = v;
	if (at == REG_CONTROL)
		set_control(v);
	else if (at == REG_COMMANDS)
		reg[REG_COMMAND_HEAD / 8] = reg[REG_COMMAND_TAIL / 8] = 0;
	else if (at == REG_COMMAND_TAIL && reg[REG_STATUS / 8] & 0x10)
		run_commands();
}

/* Logs an event as a unit does; `written`: at once. */
static void log_event(uint64_t low, uint64_t addr, bool written)
{
	uint64_t *tail = &reg[REG_EVENT_TAIL / 8], next = (*tail + 16) % 4096;
	if (next == reg[REG_EVENT_HEAD / 8]) {
		reg[REG_STATUS / 8] |= 1;
		return;
	}
	uint64_t *e = (uint64_t *)host_phys(reg[2] & 0x000ffffffffff000ull) + *tail / 8;
	if (written)
		e[0] = low, e[1] = addr;
	*tail = next;
}

static struct amdvi u;
static const struct amdvi_tables *tables(bool wide, uint8_t flags)
{
	static struct amdvi_tables t;
	t = (struct amdvi_tables){0x200000, (uintptr_t)memory, flags, wide};
	return &t;
}

static int setup(void **s)
{
	(void)s;
	memset(reg, 0, sizeof reg);
	memset(memory, 0, sizeof memory);
	memset(&forgotten, 0, sizeof forgotten);
	never_stops = never_runs = never_completes = false;
	executed = most = 0;
	reg[REG_FEATURES / 8] = 1 << 6; /* IASup */
	return amdvi_open(&u, (uintptr_t)UNIT);
}

static bool each(const bool *b, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (!b[i])
			return false;
	return true;
}

static void starts(void **s)
{
	(void)s;
	reg[REG_CONTROL / 8] = 0x1005; /* firmware left it on */
	reg[REG_STATUS / 8] = 0x19;
	assert_int_equal(amdvi_start(&u, tables(false, 0)), E_OK);
	assert_int_equal(reg[0], 0x200000 | 511); /* 2 MiB */
	assert_int_equal(reg[REG_CONTROL / 8], 0x1405);
	assert_int_equal(reg[REG_STATUS / 8], 0x18);
	assert_true(each(forgotten.device, AMDVI_FUNCTIONS) && forgotten.all);
	assert_int_equal(most, 255); /* the ring is full but for one */
	amdvi_stop(&u);
	assert_int_equal(reg[REG_CONTROL / 8], 0);
	assert_int_equal(amdvi_start(&u, tables(true, 0x0f)), E_OK);
	assert_int_equal(reg[REG_CONTROL / 8], 1ull << 50 | 1 << 17 | 0x1405 | 0xb02);
}

/* An early unit cannot forget all by one command. */
static void starts_early_unit(void **s)
{
	(void)s;
	reg[REG_FEATURES / 8] = 0;
	assert_int_equal(amdvi_open(&u, (uintptr_t)UNIT), E_OK);
	assert_int_equal(amdvi_start(&u, tables(false, 0)), E_OK);
	assert_true(each(forgotten.device, AMDVI_FUNCTIONS) && each(forgotten.interrupts, AMDVI_FUNCTIONS));
	assert_true(each(forgotten.pages, DOMAINS) && !forgotten.all);
}

static void features(void **s)
{
	static const struct {
		uint64_t reg;
		bool wide, maps;
	} row[] = {{0, false, true}, {4, false, true}, {0x80, false, true}, {0x84, true, true}, {0xc00, false, false},
	           {0x800, false, true}};
	(void)s;
	for (unsigned i = 0; i < ARRAY_LEN(row); i++) {
		reg[REG_FEATURES / 8] = row[i].reg;
		assert_int_equal(amdvi_open(&u, (uintptr_t)UNIT), E_OK);
		assert_true(amdvi_knows_wide_ids(&u) == row[i].wide && amdvi_has_maps(&u) == row[i].maps);
	}
	reg[REG_CONTROL / 8] = UINT64_MAX;
	assert_int_equal(amdvi_open(&u, (uintptr_t)UNIT), E_DEVICE);
}

static void forgets(void **s)
{
	const uint16_t bdf[] = {0x10, 0x300, 0xffff};
	(void)s;
	assert_int_equal(amdvi_start(&u, tables(false, 0)), E_OK);
	for (unsigned round = 0; round < 300; round++) { /* many times around the ring */
		memset(&forgotten, 0, sizeof forgotten);
		assert_int_equal(amdvi_forget_pages(&u, 3), E_OK);
		assert_int_equal(amdvi_forget_interrupts(&u, bdf, 3), E_OK);
		for (unsigned d = 0; d < 6; d++)
			assert_int_equal(forgotten.pages[d], d >= 1 && d <= 3);
		assert_true(forgotten.interrupts[0x10] && forgotten.interrupts[0x300] && forgotten.interrupts[0xffff]);
	}
	assert_int_equal(amdvi_forget_pages(&u, 600), E_OK); /* more than the ring holds */
	assert_true(each(forgotten.pages + 1, 600));
}

/* A unit that does not complete: it is waited for once. Then it gets no more commands. */
static void never_completes_a_command(void **s)
{
	(void)s;
	assert_int_equal(amdvi_start(&u, tables(false, 0)), E_OK);
	never_completes = true;
	uint64_t began = now;
	assert_int_equal(amdvi_forget_pages(&u, 1), E_TIMEOUT);
	assert_true(now - began >= WAIT_US && now - began < WAIT_US + 10);
	unsigned before = executed;
	began = now;
	assert_int_equal(amdvi_forget_pages(&u, 600), E_TIMEOUT);
	assert_int_equal(amdvi_forget_interrupts(&u, (uint16_t[]){1}, 1), E_TIMEOUT);
	assert_true(now == began && executed == before);
	setup(NULL);
	never_completes = true;
	assert_int_equal(amdvi_start(&u, tables(false, 0)), E_TIMEOUT);
	assert_int_equal(reg[REG_CONTROL / 8], 0); /* off again */
	assert_int_equal(u.memory, 0);
}

static void never_starts_or_stops(void **s)
{
	(void)s;
	never_runs = true;
	assert_int_equal(amdvi_start(&u, tables(false, 0)), E_TIMEOUT);
	assert_int_equal(reg[REG_CONTROL / 8], 0);
	setup(NULL);
	never_stops = true;
	reg[REG_CONTROL / 8] = 0x1005;
	reg[REG_STATUS / 8] = 0x18;
	assert_int_equal(amdvi_start(&u, tables(false, 0)), E_TIMEOUT);
	assert_int_equal(reg[0], 0); /* its tables were not changed */
}

static void events(void **s)
{
	struct iommu_refusal r;
	bool more = false;
	(void)s;
	assert_int_equal(amdvi_start(&u, tables(false, 0)), E_OK);
	for (unsigned n = 0; n < 600; n++) { /* around the log */
		assert_false(amdvi_take_refusal(&u, &r, &more));
		log_event(2ull << 60 | 1ull << 53 | 0x0300, 0x12345678, true);
		log_event(2ull << 60 | 1ull << 51 | 0x0010, 0xfee00018, true);
		log_event(2ull << 60 | 1ull << 51 | 0x0010, 0x1000, true); /* not a message's address */
		assert_true(amdvi_take_refusal(&u, &r, &more));
		assert_true(r.addr == 0x12345678 && r.bdf == 0x300 && r.reason == 2 && !r.read && !r.interrupt);
		assert_true(amdvi_take_refusal(&u, &r, &more));
		assert_true(r.addr == 0xfee00018 && r.bdf == 0x10 && r.read && r.interrupt);
		assert_true(amdvi_take_refusal(&u, &r, &more));
		assert_true(r.read && !r.interrupt && !more);
	}
}

/* An event that is announced before it is written is read at the next look; one that never comes is passed over. */
static void late_events(void **s)
{
	struct iommu_refusal r;
	bool more = false;
	(void)s;
	assert_int_equal(amdvi_start(&u, tables(false, 0)), E_OK);
	log_event(0, 0, false);
	assert_false(amdvi_take_refusal(&u, &r, &more));
	((uint64_t *)(void *)(memory + EVENTS_AT))[0] = 2ull << 60 | 7;
	assert_true(amdvi_take_refusal(&u, &r, &more));
	assert_int_equal(r.bdf, 7);
	log_event(0, 0, false);
	log_event(2ull << 60 | 9, 0, true);
	assert_false(amdvi_take_refusal(&u, &r, &more));
	assert_true(amdvi_take_refusal(&u, &r, &more) && r.reason == 0);
	assert_true(amdvi_take_refusal(&u, &r, &more) && r.bdf == 9);
	for (unsigned n = 0; n < RING_ENTRIES; n++) {
		log_event(2ull << 60 | n, 0, true);
		assert_true(amdvi_take_refusal(&u, &r, &more) && r.bdf == n);
	}
	log_event(0, 0, false); /* the event that its place had before is not read again */
	assert_false(amdvi_take_refusal(&u, &r, &more));
}

static void overflow(void **s)
{
	struct iommu_refusal r;
	bool more = false;
	unsigned n = 0;
	(void)s;
	assert_int_equal(amdvi_start(&u, tables(false, 0)), E_OK);
	for (unsigned i = 0; i < 300; i++)
		log_event(2ull << 60 | i, 0, true);
	while (amdvi_take_refusal(&u, &r, &more))
		n++;
	assert_true(n == 255 && more);
	assert_int_equal(reg[REG_STATUS / 8], 0x18); /* it logs again */
	assert_int_equal(reg[REG_CONTROL / 8], 0x1405);
	more = false;
	log_event(2ull << 60, 0, true);
	assert_true(amdvi_take_refusal(&u, &r, &more) && !amdvi_take_refusal(&u, &r, &more) && !more);
	reg[REG_EVENT_TAIL / 8] = UINT64_MAX; /* no index: the log's own bounds hold */
	for (unsigned i = 0; i < 1000; i++)
		amdvi_take_refusal(&u, &r, &more);
	assert_true(u.event < 256);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(starts, setup),
		cmocka_unit_test_setup(starts_early_unit, setup),
		cmocka_unit_test_setup(features, setup),
		cmocka_unit_test_setup(forgets, setup),
		cmocka_unit_test_setup(never_completes_a_command, setup),
		cmocka_unit_test_setup(never_starts_or_stops, setup),
		cmocka_unit_test_setup(events, setup),
		cmocka_unit_test_setup(late_events, setup),
		cmocka_unit_test_setup(overflow, setup),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
