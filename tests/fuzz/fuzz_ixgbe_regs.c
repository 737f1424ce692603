/*
 * The device half of ixgbe with a card whose registers lie (drivers/ixgbe/): an 82599, or an X550
 * (x550_regs), with answers of its firmware. The model of the card is sound, but the driver reads anything from its registers: another value each time, stuck bits,
 * or all ones permanently. EEPROM and PHY are read through registers, so they lie as well. Every
 * call ends, with a named error or with a port whose rings work; no buffer is lost.
 *
 * Input: how the port is started; then what becomes of each register that is read.
 */
#include "tests/fuzz/rig.h"

#include "tests/unit/rig/ixgbe_port.h"

#define CALL_NS 60000000000ull /* no call takes longer; some wait several times */

static bool gone; /* no longer answers */
static uint32_t stuck_set, stuck_clear; /* bits, in all registers */

static uint32_t lie(uint32_t value)
{
	uint8_t how = rig_u8();
	gone |= how == 0xff;
	if (gone)
		return UINT32_MAX;
	value = (value | stuck_set) & ~stuck_clear;
	switch (how >> 5) {
	case 7: return rig_u32();
	case 6: stuck_set ^= 1u << how % 32; return value;
	case 5: stuck_clear ^= 1u << how % 32; return value;
	case 4: return value ^ 1u << how % 32;
	default: return value;
	}
}

static uint64_t began;

static void ended(void)
{
	assert_true(rig.now - began < CALL_NS);
	began = rig.now;
}

static void look(void)
{
	struct nic_stats sum = {0};
	link_now();
	ended();
	card.driver->stats(&port.nic, &sum);
	ended();
	rig_run(1000000);
}

/* Frames in both directions; a received frame lies in its buffer. */
static void traffic(void)
{
	for (unsigned i = 0; i < 40; i++) {
		unsigned len = make_udp(i, 18 + i * 13);
		rig_force(frame, len, 0);
		if (i % 2 && port.pair[0].pool.free)
			take(0, frame, len);
	}
	for (unsigned turns = 0; turns < 4; turns++) {
		tx(0);
		rig_run(100000);
		for (unsigned i = 0; i < port.pairs; i++) {
			struct port_pair *p = &port.pair[i];
			for (unsigned n = rx(i, PKT_VECTOR_MAX); n; n--) {
				const struct pkt *k = &p->hands[p->nhands - n];
				assert_true(k->data + k->len <= buf_base(&p->pool, k->buf) + p->pool.stride);
			}
		}
		look();
	}
	assert_buffers();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	rig_input(data, size);
	uint8_t how = rig_u8();
	power();
	rig.allow_bad_dma = true;
	gone = false;
	stuck_set = stuck_clear = 0;
	port.lie = lie;
	began = rig.now;
	int e = port_probe();
	ended();
	if (e == E_OK) {
		assert_in_range(port.nic.pairs_max, 1, NIC_PAIRS_MAX);
		assert_in_range(port.nic.mtu_max, 68, NIC_MTU_MAX);
		e = port_start(1 + how % 4, ALL, STANDARD, 1600);
		ended();
	}
	if (e == E_OK) {
		port_attach();
		look();
		traffic();
		port_stop();
		ended();
	} else {
		assert_non_null(port.nic.error);
	}
	rig_forgive();
	rig_stop(NULL);
	return 0;
}
