/*
 * The rings of Intel's cards with a hostile device: it writes descriptors back in any order and with any
 * contents, and any head. After each instruction every buffer has one owner, and received packets
 * are valid (rings.h).
 *
 * Input: size of the ring, buffers, how it is set up; then instructions, each a byte and its
 * operands.
 */
#include "tests/fuzz/rings.h"

#include "tests/unit/rig/intel_rig.h"

enum op { GOOD = RINGS_OPS, WRITE_BACK, GARBAGE, HEAD, OPS };

/* One of the driver's next descriptors, or any. */
static uint8_t *rx_descriptor(void)
{
	return w.rx_desc + 16 * ((w.rx.head + rig_u8()) & w.rx.mask);
}

static void good_frames(void)
{
	for (unsigned n = rig_u8() % 16; n && device_room(); n--)
		device_write_back(3, 60 + n, 0);
}

static void garbage(void)
{
	uint8_t how = rig_u8();
	uint8_t *d = how & 1 ? rx_descriptor() : w.tx_desc + 16 * ((w.tx.tail + rig_u8()) & w.tx.mask);
	random_fill(d + (how >> 1) % 16, 16 - (how >> 1) % 16);
}

static void device(enum op op)
{
	switch (op) {
	case GOOD:
		good_frames();
		break;
	case WRITE_BACK:
		if (device_room()) {
			uint32_t status = rig_u32();
			device_write_back(status, rig_u16(), rig_u8());
		}
		break;
	case GARBAGE:
		garbage();
		break;
	default: /* HEAD: near the right one, or any */
		store(bus_of(w.written_head), 4,
		      rig_u8() & 1 ? rig_u32() : (w.tx.tail + rig_u8()) & w.tx.mask);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	rings_input(data, size);
	uint8_t how = rig_u8();
	rig_card(how >> 5 & 1);
	start(64u << how % 2, 1 + rig_u8(), how & 16 ? BUF_STRIDE_JUMBO : BUF_STRIDE_STANDARD);
	w.hostile = true;
	w.rx.csum_mask = how & 64 ? INTEL_RXD_L4I | card->checksum4 | card->checksum3 : 0;
	w.rx.vlan_mask = how & 128 ? INTEL_RXD_VP : 0;
	while (rig_more() && !w.broken) {
		unsigned op = rig_u8() % OPS;
		if (op < RINGS_OPS)
			rings_turn(op);
		else
			device((enum op)op);
	}
	return teardown(NULL);
}
