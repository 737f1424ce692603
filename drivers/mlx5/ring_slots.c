/*
 * See ring.h: a send queue whose WQEs stay (nic_ops.slots_open), for who sends prepared frames
 * again and again.
 *
 * All of a WQE stays but its first two words: the device wants the WQE's index, which counts on
 * with each turn of the ring, and a CQE is asked for at fixed places and in the last of a send.
 */
#include "drivers/mlx5/ring.h"

#include "lib/mem.h"

#define PLAIN_SEGMENTS 3
#define ETHERNET 16 /* where the segment begins in the WQE */
#define DATA 32

static inline uint32_t interval(const struct mlx5_tx *r)
{
	uint32_t quarter = (r->mask + 1) / 4;
	return quarter < MLX5_TX_REPORT ? quarter : MLX5_TX_REPORT;
}

static inline uint8_t *wqe_at(const struct mlx5_tx *r, uint32_t pos)
{
	return r->wqe + (size_t)(pos & r->mask) * MLX5_WQEBB_BYTES;
}

unsigned mlx5_slots_open(struct mlx5_tx *r, struct bufpool *pool, struct nic_counters *cnt,
                         bool *broken)
{
	mlx5_tx_burst(r, pool, cnt, NULL, 0, broken);
	if (*broken || r->tail != r->head)
		return 0;
	r->slots = true;
	r->slot_base = r->head;
	return r->mask + 1;
}

/* With inline headers these lie behind the Ethernet segment's beginning, and the data segment after
 * them: four segments at most (MLX5_INLINE_L2); mlx5.c has no slots where it would be more. */
void mlx5_slots_put(struct mlx5_tx *r, unsigned first, const struct nic_slot *s, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		uint8_t *wqe = wqe_at(r, r->slot_base + first + i), *data = wqe + DATA;
		uint32_t in = r->inline_bytes;
		raw64_store(wqe + ETHERNET, 0);
		raw64_store(wqe + ETHERNET + 8, 0);
		if (unlikely(in)) {
			be16_store(wqe + ETHERNET + MLX5_ETH_INLINE_SIZE, (uint16_t)in);
			memcpy(wqe + ETHERNET + MLX5_ETH_INLINE, s[i].data, in);
			data += MLX5_SEGMENT_BYTES;
		}
		mlx5_put_data(r, data, s[i].data + in, s[i].len - in);
	}
}

/* All of a slot but its control segment stays, and that is written anew with each send. */
COLD void mlx5_slots_pass(struct mlx5_tx *r, struct nic_counters *cnt, uint32_t n)
{
	for (; r->head != n; r->head++) {
		uint8_t *c = wqe_at(r, r->head);
		be32_store(c, (r->head & 0xffff) << MLX5_WQE_INDEX_SHIFT | MLX5_WQE_NOP);
		be32_store(c + 4, r->sqn_word | 1);
		raw64_store(c + 8, r->head + 1 == n ? (uint64_t)MLX5_WQE_CQE << 24 : 0);
	}
	if (n)
		mlx5_tx_publish(r, cnt, n - 1);
}

unsigned mlx5_slots_free(struct mlx5_tx *r, struct nic_counters *cnt, bool *broken)
{
	r->tail += mlx5_tx_completed(r, cnt, broken);
	if (unlikely(*broken))
		return 0;
	uint32_t end = r->tail + r->mask + 1;
	if (r->head - r->tail > r->mask / 2)
		end &= ~(interval(r) - 1); /* a send that ends there asks for no CQE of its own */
	return (int32_t)(end - r->head) > 0 ? end - r->head : 0;
}

void mlx5_slots_send(struct mlx5_tx *r, struct nic_counters *cnt, unsigned n, uint64_t bytes)
{
	uint32_t segments = PLAIN_SEGMENTS + (r->inline_bytes != 0), every = interval(r);
	uint32_t last = r->head + n - 1;
	uint64_t high = (uint64_t)be32_make(r->sqn_word | segments).raw << 32;
	assert(n <= r->tail + r->mask + 1 - r->head);
	if (n == 0)
		return;
	for (uint32_t pos = r->head; pos != last + 1; pos++) {
		uint32_t index = (pos & 0xffff) << MLX5_WQE_INDEX_SHIFT | MLX5_WQE_SEND;
		bool report = (pos & (every - 1)) == every - 1 || pos == last;
		raw64_store(wqe_at(r, pos), high | be32_make(index).raw);
		raw64_store(wqe_at(r, pos) + 8, report ? (uint64_t)MLX5_WQE_CQE << 24 : 0);
	}
	r->head += n;
	cnt->tx_pkts += n;
	cnt->tx_bytes += bytes;
	mlx5_tx_publish(r, cnt, last);
}
