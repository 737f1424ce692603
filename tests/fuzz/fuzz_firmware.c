/*
 * The device half of mlx5 with hostile firmware (tests/unit/rig/mlx5_firmware.h): answers and events
 * with any contents, while the device is probed, started, polled, restarted and stopped. The driver
 * accesses only the registers it was given, gives no page that it does not have, and every wait ends.
 *
 * Input: what becomes of each answer, and between them what happens next.
 */
#include "tests/fuzz/rig.h"

#include "tests/unit/rig/mlx5_firmware.h"

enum { LIES_MOST = 16 };

/* Changes bytes of the answer, mostly few, or the entry's status. Zero, as after the end of the
 * input: the answer stays correct. */
static void lie(uint8_t *entry, uint8_t *out, uint32_t out_bytes)
{
	unsigned n = rig_u8();
	if (n == 255)
		entry[0x3f] = rig_u8() & 0xfe;
	if (n > LIES_MOST)
		return;
	while (n--) {
		uint32_t at = rig_u16() % out_bytes;
		out[at] = rig_u8();
	}
}

static void event(void)
{
	static const uint8_t types[] = {0x00, 0x04, 0x05, 0x09, 0x0a, 0x0b, 0x14, 0x15};
	uint8_t eqe[63] = {0}, how = rig_u8();
	eqe[1] = how & 8 ? rig_u8() : types[how % 8];
	eqe[3] = rig_u8();
	random_fill(eqe + 0x20, how & 16 ? 31 : 8);
	fw_raw_event(eqe, how & 32 ? rig_u8() : 0, how >> 6);
}

static void look(void)
{
	struct nic_link l;
	struct nic_stats sum = {0};
	fw.now += 100000000ull + rig_u8() * 10000000ull;
	mlx5_ops.link(&fw.nic, &l);
	host_clock_tsc();
	mlx5_ops.stats(&fw.nic, &sum);
}

/* As runtime/ports.c restarts a port. */
static bool restart(unsigned pairs, struct nic_shared *shared)
{
	if (mlx5_ops.park(&fw.nic) != E_OK)
		fw_stop();
	return fw_start(pairs, shared) == E_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct nic_shared shared;
	static bool mapped;
	if (!mapped)
		assert_int_equal(guest_map(NULL), 0);
	mapped = true;
	rig_input(data, size);
	fw_power(64);
	fw.lie = lie;
	fw.delay_ns = 2000000; /* a wait for what does not come ends soon */
	fw.boot_pages = 20;
	fw.init_pages = 30;
	fw.link = rig_u8() & 1;
	if (fw_probe() != E_OK)
		return 0;
	const unsigned pairs = 1 + rig_u8() % 8;
	if (fw_start(pairs, &shared) != E_OK)
		return 0;
	for (unsigned turns = 0; rig_more() && turns < 200; turns++) {
		const uint8_t what = rig_u8();
		if (what & 1)
			event();
		if (what % 16 == 14 && !restart(pairs, &shared))
			return 0;
		look();
	}
	fw_stop();
	return 0;
}
