/*
 * The models of the 82599 and the X550 against a guest that writes anything anywhere, to registers and memory alike,
 * while frames arrive and time passes. They may report any violations; ASan, UBSan and the
 * rig's checked DMA tell whether they stay within their bounds. Afterwards a reset must make them
 * work again.
 */
#include "tests/unit/rig/drive_82599.h"
#include "tests/unit/rig/intel_fuzz.h"

/* Offsets of known registers, more often than the rest of the 512 KiB. */
static uint32_t some_offset(void)
{
	const struct reg_row *rows = rig.m->ops->regs;
	unsigned count = 0;
	while (rows[count].name)
		count++;
	if (random_below(20) == 0)
		return random_below(0x20000) * 4;
	if (random_below(3) == 0) {
		static const uint32_t queue[] = {0x1000, 0x1008, 0x1010, 0x1014, 0x1018, 0x1028,
		                                 0x6000, 0x6008, 0x6010, 0x6018, 0x6028, 0x6038};
		return queue[random_below(12)] + 64 * random_below(3);
	}
	const struct reg_row *r = &rows[random_below(count)];
	return r->offset + random_below(r->count) * r->stride;
}

static uint32_t some_value(uint32_t offset)
{
	switch (random_below(6)) {
	case 0:
		return (uint32_t)random64();
	case 1:
		return 1u << random_below(32);
	case 2:
		return random_below(64);
	case 3:
		return random_below(1 << 14) * 4096;
	case 4:
		return 0x02000000 | (offset < 0x2000 ? 2 : 0);
	default:
		return rig_read(offset) ^ 1u << random_below(32);
	}
}

/* Half of a queue's set-up, mostly correct, so that rings run and then meet garbage. */
static void some_set_up(void)
{
	unsigned q = random_below(3);
	for (unsigned rx = 0; rx < 2; rx++) {
		uint32_t b = rx ? RX_BLOCK(q) : TX_BLOCK(q);
		rig_write(b + 0x28, 0);
		rig_write(b, random_below(RIG_MEMORY / 4096) * 4096);
		rig_write(b + 4, 0);
		rig_write(b + 8, 128 * (1 + random_below(64)));
		rig_write(b + 0x10, 0);
		rig_write(b + 0x18, 0);
		if (rx)
			rig_write(b + 0x14, (1 + random_below(16)) | random_below(2) << 25);
		rig_write(b + 0x28, 1u << 25);
		rig_run(2000);
		rig_write(b + 0x18, random_below(512));
	}
	rig_write(RXCTRL, 1);
	rig_write(DMATXCTL, 1);
	rig_write(FCTRL, 0x700);
}

/* Plausible descriptors, at a page where a ring may lie. */
static void some_memory(void)
{
	uint64_t at = RIG_NOTHING + random_below(RIG_MEMORY / 4096 - 2) * 4096ull;
	uint64_t *d = rig_mem(at, 4096);
	for (unsigned i = 0; i < 256; i++) {
		d[2 * i] = random_below(RIG_MEMORY + 4096);
		d[2 * i + 1] = random64();
		if (random_below(4))
			d[2 * i + 1] = random_below(4000) | CMD_FRAME | (uint64_t)random_below(1 << 12) << 46 |
			               (uint64_t)random_below(1 << 12) << 32;
		if (random_below(6) == 0)
			d[2 * i + 1] = (d[2 * i + 1] & ~0xf00000ull) | 2u << 20 | 0x20000000;
	}
}

/* What was written to a PHY outlives a reset. X550: its vendor's register 30.0 may have it in low power, without a link. */
static void phy_on(void)
{
	const uint32_t command = 1u << 30, write = 1u << 26, device = 30u << 16; /* 8.2.3.22.11 */
	rig_write(MSCA, command | device); /* the address, 0 */
	rig_run(1000000);
	rig_write(MSRWD, 0);
	rig_write(MSCA, command | write | device);
	rig_run(1000000);
}

static const struct fuzz_guest guest = {CTRL, some_offset, some_value, some_set_up, some_memory, NULL};

static void anything(const struct model_ops *ops, enum rig_mode mode)
{
	unsigned faults = 0;
	rig_start(ops, mode);
	while (rig.m->ops->faults[faults].name)
		faults++;
	drive_link();
	for (unsigned i = 0; i < random_rounds(20000); i++)
		fuzz_step(&guest, faults);
	rig.m->faults = 0;
	drive_up(); /* with DMA still in progress */
	phy_on();
	rig_forgive();
	rig_write(HLREG0, 0x00012c03 & ~(uint32_t)HLREG0_LPBK);
	drive_all();
	{
		struct flow flow = {.version = 4, .protocol = 6, .payload = 100};
		uint32_t bytes = make_ip(f, &flow);
		assert_true(rig_receive(f, bytes));
		struct received r;
		assert_true(drive_received(0, &r));
		assert_memory_equal(r.data, f, bytes);
		drive_send(0, f, bytes);
		assert_int_equal(rig_sent_count(), 1);
	}
	rig_stop(NULL);
}

static void strict(void **s)
{
	(void)s;
	seed_random("strict");
	for (unsigned i = 0; i < 10; i++)
		anything(i % 2 ? &intel_x550_ops : &intel_82599_ops, RIG_STRICT);
}

static void line_rate(void **s)
{
	(void)s;
	seed_random("line_rate");
	for (unsigned i = 0; i < 10; i++)
		anything(i % 2 ? &intel_x550_ops : &intel_82599_ops, RIG_LINE_RATE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(strict), cmocka_unit_test(line_rate)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
