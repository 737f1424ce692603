/*
 * The I226 model against a guest that writes anything anywhere, to registers and memory alike, while frames arrive,
 * time passes and bus mastering comes and goes. The model may report any violations; ASan, UBSan and the rig's
 * checked DMA tell whether it stays within its bounds. Afterwards a reset must make it work again.
 */
#include "tests/unit/rig/drive_i226.h"
#include "tests/unit/rig/intel_fuzz.h"

/* Offsets of known registers, more often than the rest of the 1 MiB. */
static uint32_t some_offset(void)
{
	const struct reg_row *rows = intel_i226_ops.regs;
	static unsigned count;
	while (rows[count].name)
		count++;
	if (random_below(20) == 0)
		return random_below(0x40000) * 4;
	if (random_below(3) == 0)
		return (random_below(2) ? RDBAL : TDBAL) + random_below(4 * 64) / 4 * 4;
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
		return RXDCTL_ENABLE | 2;
	default:
		return rig_read(offset) ^ 1u << random_below(32);
	}
}

/* Half of a queue's set-up, mostly correct, so that rings run and then meet garbage. */
static void some_set_up(void)
{
	const unsigned q = random_below(4);
	for (unsigned receive = 0; receive < 2; receive++) {
		const uint32_t b = (receive ? RDBAL : TDBAL) + 64 * q;
		rig_write(b + Q_DCTL, 0);
		rig_write(b + Q_BAL, random_below(RIG_MEMORY / 4096) * 4096);
		rig_write(b + Q_BAH, 0);
		rig_write(b + Q_LEN, 128 * (1 + random_below(64)));
		rig_write(b + Q_HEAD, 0);
		rig_write(b + Q_TAIL, 0);
		if (receive)
			rig_write(SRRCTL + 64 * q, (1 + random_below(16)) | random_below(2) << 25);
		rig_write(b + Q_DCTL, RXDCTL_ENABLE);
		rig_run(2000);
		rig_write(b + Q_TAIL, random_below(512));
	}
	rig_write(CTRL, CTRL_SLU | random_below(2) * CTRL_VME);
	rig_write(RCTL, RCTL_ALL);
	rig_write(TCTL, TCTL_EN);
}

/* Plausible descriptors, at a page where a ring may lie. */
static void some_memory(void)
{
	uint64_t *d = rig_mem(RIG_NOTHING + random_below(RIG_MEMORY / 4096 - 2) * 4096ull, 4096);
	for (unsigned i = 0; i < 256; i++) {
		d[2 * i] = random_below(RIG_MEMORY + 4096);
		d[2 * i + 1] = random_below(4) ? random_below(4000) | 0x2b300000ull | (uint64_t)random64() << 40 : random64();
		if (random_below(6) == 0)
			d[2 * i + 1] = (d[2 * i + 1] & ~0xf00000ull) | 2u << 20 | 0x20000000;
	}
}

/* As a driver does it, so that the PHY is reached at all. */
static void some_phy(void)
{
	rig_write(SW_FW_SYNC, SYNC_PHY | SYNC_EEP);
	rig_write(MDIC, (1 + random_below(2)) << 26 | random_below(32) << MDIC_REG_SHIFT | random_below(0x10000));
	rig_run(100000);
	rig_write(EERD, random_below(1 << 14) << 2 | EERD_START);
	rig_run(20000);
}

static const struct fuzz_guest guest = {CTRL, some_offset, some_value, some_set_up, some_memory, some_phy};

static void anything(enum rig_mode mode)
{
	unsigned faults = 0;
	rig_start(&intel_i226_ops, mode);
	while (rig.m->ops->faults[faults].name)
		faults++;
	drive_link();
	for (unsigned i = 0; i < 20000; i++) {
		fuzz_step(&guest, faults);
		if (random_below(100) == 0)
			rig.m->masters = !rig.m->masters;
	}
	rig.m->faults = 0;
	rig.m->masters = true;
	i226_set_partner(rig.m, 2500);
	drive_reset(); /* with DMA still in progress */
	rig_write(SWSM, 0);
	drive_sync(~0u, SYNC_PHY);
	rig_run(1000000);
	drive_phy_put(PHY_CONTROL, CONTROL_RESET);
	rig_forgive();
	rig_write(RXPBS, 0xa2);
	drive_all();
	struct flow flow = {.version = 4, .protocol = 6, .payload = 100};
	const uint8_t *data;
	const uint32_t bytes = make_ip(f, &flow);
	assert_true(rig_receive(f, bytes));
	assert_true(drive_received(0, NULL, &data));
	assert_memory_equal(data, f, bytes);
	drive_send(0, f, bytes, 0);
	assert_int_equal(rig_sent_count(), 1);
	rig_stop(NULL);
}

static void strict(void **s)
{
	(void)s;
	seed_random("strict");
	for (unsigned i = 0; i < 10; i++)
		anything(RIG_STRICT);
}

static void line_rate(void **s)
{
	(void)s;
	seed_random("line_rate");
	for (unsigned i = 0; i < 10; i++)
		anything(RIG_LINE_RATE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(strict), cmocka_unit_test(line_rate)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
