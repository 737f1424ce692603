/*
 * The queues of mlx5 with a hostile device: completions of any kind, of the next WQE or of another,
 * compressed or not, in the place the driver polls or elsewhere; queues that fail and are
 * restarted. After each instruction every buffer has one owner, and received packets are valid
 * (rings.h).
 *
 * Input: size of the queues, buffers, how they are set up; then instructions, each a byte and its
 * operands.
 */
#include "tests/fuzz/rings.h"

#include "tests/unit/rig/mlx5_ring_rig.h"

enum op { GOOD = RINGS_OPS, RX_CQE, TX_CQE, MINI, GARBAGE, RESTART, OPS };

/* The place in a CQ at this distance from the one the driver polls next. */
static uint8_t *place(uint8_t *cq, uint32_t at)
{
	return bus(bus_of(cq) + at % w.size * 64, 64);
}

/* PRM, "CQE": WQE counter, byte count, opcode with format and owner. The owner bit is correct for
 * the place `at`, unless `last` says otherwise. */
static void write_cqe(uint8_t *cqe, uint32_t at, uint16_t counter, uint32_t bytes, uint8_t last)
{
	cqe[0x2c] = (uint8_t)(bytes >> 24);
	cqe[0x2d] = (uint8_t)(bytes >> 16);
	cqe[0x2e] = (uint8_t)(bytes >> 8);
	cqe[0x2f] = (uint8_t)bytes;
	cqe[0x3c] = (uint8_t)(counter >> 8);
	cqe[0x3d] = (uint8_t)counter;
	cqe[0x3f] = (uint8_t)(last ^ (at / w.size & 1));
}

/* Correct frames, as many as the driver has given buffers for. */
static void good_frames(void)
{
	uint32_t n = rig_u8() % 16, at = w.rx.cq_head, wqe = w.rx.head;
	for (; n && wqe != w.rx.tail && !w.rx.session.left; n--, at++, wqe++)
		write_cqe(place(w.rx_cq, at), at, (uint16_t)wqe, 60 + n, 0x20);
}

/* A CQE whose counter has this distance from the next WQE's, with an opcode and format. */
static void rx_cqe(void)
{
	uint8_t ahead = rig_u8() % 4, last = rig_u8();
	uint32_t at = w.rx.cq_head + ahead;
	uint8_t *cqe = place(w.rx_cq, at);
	cqe[0x1c] = rig_u8();
	cqe[0x1d] = rig_u8();
	uint16_t counter = (uint16_t)(w.rx.head + (rig_u8() & 1 ? rig_u16() : ahead));
	write_cqe(cqe, at, counter, rig_u8() & 1 ? rig_u32() : rig_u8(), last & 1 ? 0x2c : last & 0xfe);
}

static void tx_cqe(void)
{
	uint8_t ahead = rig_u8() % 4, how = rig_u8();
	uint32_t at = w.tx.cq_head + ahead;
	uint16_t counter = (uint16_t)(how & 1 ? rig_u16() : w.tx.tail + rig_u8());
	write_cqe(place(w.tx_cq, at), at, counter, 0, how & 2 ? rig_u8() : 0);
}

/* Writes the lengths behind a title. */
static void mini_cqes(void)
{
	uint8_t *at = place(w.rx_cq, w.rx.cq_head + rig_u8() % 16);
	random_fill(at, 16 + rig_u8() % 49);
}

static void garbage(void)
{
	uint8_t how = rig_u8();
	uint8_t *cqe = how & 1 ? place(w.rx_cq, w.rx.cq_head + how / 2)
	                       : place(w.tx_cq, w.tx.cq_head + how / 2);
	random_fill(cqe + rig_u8() % 64 / 16 * 16, 16);
}

/* Does what the device half does when a queue has failed (ring_mend.c). */
static void restart(void)
{
	if (w.rx.failed)
		mlx5_rx_restart(&w.rx, &w.pool, &w.cnt);
	if (w.tx.failed)
		mlx5_tx_restart(&w.tx, &w.pool);
	w.sq_at = w.sq_told = w.tx.head;
	w.broken = false;
	assert_accounted();
}

static void device(enum op op)
{
	switch (op) {
	case GOOD: good_frames(); break;
	case RX_CQE: rx_cqe(); break;
	case TX_CQE: tx_cqe(); break;
	case MINI: mini_cqes(); break;
	case GARBAGE: garbage(); break;
	default: break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint32_t inlines[] = {0, MLX5_INLINE_L2, MLX5_INLINE_IP, MLX5_INLINE_L4};
	rings_input(data, size);
	uint8_t how = rig_u8();
	bool compressed = how & 128;
	start_sharing(4 + how % 3, 1 + rig_u8(), BUF_STRIDE_STANDARD, inlines[how >> 2 & 3],
	              compressed ? 0 : 1u << (4 + how % 3));
	w.tx.multi = how & 16 && (how >> 2 & 3) == 0;
	w.rx.csum_mask = how & 32 ? MLX5_CQE_H_OK : 0;
	w.rx.vlan_mask = how & 64 ? MLX5_CQE_H_VLAN : 0;
	if (compressed) {
		mlx5_rx_compressed(&w.rx);
		mlx5_rx_fill(&w.rx, &w.pool, &w.cnt);
	}
	while (rig_more()) {
		unsigned op = rig_u8() % OPS;
		if (w.broken) { /* permanently, or until it is restarted */
			if (!w.rx.failed && !w.tx.failed)
				break;
			restart();
		}
		if (op < RINGS_OPS)
			rings_turn(op);
		else
			device((enum op)op);
		w.sq_at = w.sq_told; /* the device has executed all, or claims so */
	}
	return teardown(NULL);
}
