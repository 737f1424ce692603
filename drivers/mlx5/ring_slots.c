/*
 * See ring.h: sending prepared frames repeatedly (nic_ops.slots_open).
 *
 * A table holds, by slot, the part of a WQE that does not change between sends. Where plain frames
 * share WQEs this is the data segment, which is copied behind those of the other frames. Otherwise
 * it is everything behind the control segment. Unlike descriptors of other cards, a WQE cannot stay
 * in place, because it contains its index, which counts on with each pass of the ring. The copy
 * takes a quarter of the bytes that new indices in WQEs of one frame each would.
 */
#include "drivers/mlx5/ring.h"

#include "lib/mem.h"

#define PLAIN_SEGMENTS 3

static inline uint8_t *slot_of(const struct mlx5_tx *r, uint32_t frame)
{
	uint32_t at = frame & r->mask;
	return r->slot + (size_t)at * (r->multi ? MLX5_SEGMENT_BYTES : MLX5_SLOT_BYTES);
}

unsigned mlx5_slots_open(struct mlx5_tx *r, struct bufpool *pool, struct nic_counters *cnt,
                         bool *broken)
{
	mlx5_tx_burst(r, pool, cnt, NULL, 0, broken);
	if (*broken || r->tail != r->head)
		return 0;
	r->slots = true;
	r->slot_base = r->frame_head;
	return r->mask + 1;
}

/* Inline headers lie in the Ethernet segment from MLX5_ETH_INLINE on, followed by the data segment:
 * at most four segments (MLX5_INLINE_L2). mlx5.c offers no slots where there would be more. */
void mlx5_slots_put(struct mlx5_tx *r, unsigned first, const struct nic_slot *s, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		uint8_t *at = slot_of(r, r->slot_base + first + i);
		uint32_t in = r->inline_bytes;
		if (!r->multi) {
			mlx5_put_plain_eth(at);
			if (in) {
				be16_store(at + MLX5_ETH_INLINE_SIZE, (uint16_t)in);
				memcpy(at + MLX5_ETH_INLINE, s[i].data, in);
				at += MLX5_SEGMENT_BYTES;
			}
			at += MLX5_SEGMENT_BYTES;
		}
		mlx5_put_data(r, at, s[i].data + in, s[i].len - in);
	}
}

unsigned mlx5_slots_free(struct mlx5_tx *r, struct nic_counters *cnt, bool *broken)
{
	r->frame_tail += mlx5_tx_completed(r, cnt, broken);
	return likely(!*broken) ? r->mask + 1 - (r->frame_head - r->frame_tail) : 0;
}

static inline void copy_segment(uint8_t *to, const uint8_t *from)
{
	__builtin_memcpy(to, from, MLX5_SEGMENT_BYTES);
}

/* Puts the next slots, at most n, into one WQE; returns how many. There is room, because a WQE has
 * no more WQEBBs than frames. */
static inline unsigned send_multi(struct mlx5_tx *r, unsigned n)
{
	const unsigned before = PLAIN_SEGMENTS - 1;
	n = u32_min(n, MLX5_TX_SEGMENTS - before);
	for (unsigned done = 0, run; done < n; done += run) {
		uint32_t frame = r->frame_head + done;
		uint8_t *to = mlx5_segment(r, r->head, before + done);
		const uint8_t *from = slot_of(r, frame);
		run = u32_min(n - done, mlx5_frames_to_end(r, to, frame));
		for (unsigned i = 0; i < run; i++)
			copy_segment(to + i * MLX5_SEGMENT_BYTES, from + i * MLX5_SEGMENT_BYTES);
	}
	mlx5_put_plain_eth(mlx5_segment(r, r->head, 1));
	mlx5_close_wqe(r, MLX5_WQE_MULTI, before + n, n);
	return n;
}

static inline unsigned send_single(struct mlx5_tx *r)
{
	unsigned segments = PLAIN_SEGMENTS + (r->inline_bytes != 0);
	const uint8_t *from = slot_of(r, r->frame_head);
	for (unsigned i = 1; i < segments; i++, from += MLX5_SEGMENT_BYTES)
		copy_segment(mlx5_segment(r, r->head, i), from);
	mlx5_close_wqe(r, MLX5_WQE_SEND, segments, 1);
	return 1;
}

void mlx5_slots_send(struct mlx5_tx *r, struct nic_counters *cnt, unsigned n, uint64_t bytes)
{
	uint32_t last = r->head;
	assert(n <= r->mask + 1 - (r->frame_head - r->frame_tail));
	if (n == 0)
		return;
	for (unsigned left = n; left;) {
		last = r->head;
		left -= r->multi ? send_multi(r, left) : send_single(r);
	}
	cnt->tx_pkts += n;
	cnt->tx_bytes += bytes;
	mlx5_tx_publish(r, cnt, last);
}
