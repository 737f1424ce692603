/*
 * The rings of vmxnet3 with a hostile device: it writes completions of any contents, in any order, and damages
 * descriptors. After each instruction every buffer has one owner, and received packets are valid (rings.h).
 *
 * Input: size of the ring, buffers, how it is set up; then instructions, each a byte and its operands.
 */
#include "tests/fuzz/rings.h"

#include "tests/unit/rig/vmxnet3_rig.h"

enum op { GOOD = RINGS_OPS, RECEIVED, SENT, GARBAGE, OPS };

/* A receive completion of one of the next descriptors, or of any. */
static void received(void)
{
	const uint8_t how = rig_u8();
	const uint32_t first = how & 1 ? rig_u32() : ((w.rx.head + how % 4) & w.rx.mask) | QUEUE << 16 | (how & 2 ? 0 : WHOLE);
	const uint64_t end = rig_u32();
	device_write(first, end | (uint64_t)rig_u32() << 32);
}

static void garbage(void)
{
	const uint8_t how = rig_u8(), at = rig_u8();
	uint8_t *parts[] = {w.rx_desc + 16 * (at & w.rx.mask), w.rx_comp + 16 * (at & w.rx.mask),
	                    w.tx_desc + 16 * (at & w.tx.mask), w.tx_comp + 16 * (at & w.tx.mask)};
	random_fill(parts[how % 4] + (how >> 2) % 16, 16 - (how >> 2) % 16);
}

static void device(enum op op)
{
	switch (op) {
	case GOOD:
		for (unsigned n = rig_u8() % 16; n; n--, w.rx_at++)
			device_write(((w.rx.head + n) & w.rx.mask) | QUEUE << 16 | WHOLE, 60 + n);
		break;
	case RECEIVED:
		received();
		break;
	case SENT: /* near the right one, or any */
		device_tx_write(rig_u8() & 1 ? rig_u16() : (w.tx.tail + rig_u8() % 64) & w.tx.mask);
		break;
	default:
		garbage();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	rings_input(data, size);
	const uint8_t how = rig_u8();
	start(64u << how % 2, 1 + rig_u8(), how & 16 ? BUF_STRIDE_JUMBO : BUF_STRIDE_STANDARD);
	w.hostile = true;
	w.rx.csum = how & 64;
	w.rx.vlan = how & 128;
	while (rig_more() && !w.broken) {
		const unsigned op = rig_u8() % OPS;
		if (op < RINGS_OPS)
			rings_turn(op);
		else
			device((enum op)op);
	}
	return teardown(NULL);
}
