/*
 * See ring.h: a queue that the device has put into its error state, and its return to service (PRM,
 * "Queue State": RST, RDY, ERR). A CQE with an error has reported it.
 *
 *     here                                       device half (mend.c)
 *     fail      record 0, counted, broken
 *                                                sees the count; the queue to RST and to RDY
 *     restart   buffers back to the pool, all
 *               begins at position 0
 *
 * The record is zeroed while the queue is in ERR: in RDY the device begins at 0 and would otherwise
 * find old WQEs. If the device were asked to flush what is posted (flush_in_error_en), it would
 * read the record in ERR and take 0 for thousands of WQEs. So it is not asked, and nothing needs
 * such CQEs. Buffers are freed once the queue has passed through RST, because the device releases
 * them only then.
 *
 * The CQ continues: it had no error. Its remaining CQEs belong to the WQEs that are given up. It
 * may compress, so places are marked as unused here as well.
 */
#include "drivers/mlx5/ring.h"

#include "hal/barrier.h"

/* Takes the CQE with the error: there is space in the CQ for those of all other WQEs. */
static void fail(struct mlx5_cq *cq, uint32_t *cq_head, uint8_t *record, uint64_t *count)
{
	mlx5_cqe_unuse(cq, (*cq_head)++);
	barrier_write();
	be32_store(cq->dbr + MLX5_DBR_CONSUMER, *cq_head & MLX5_INDEX_MASK);
	be32_store(record, 0);
	barrier_write();
	__atomic_store_n(count, *count + 1, __ATOMIC_RELAXED); /* the device half polls it */
}

/* Places of the CQ that a CQE, new or read, covers: for a title one for each frame. `most` are
 * left. */
static uint32_t places(const uint8_t *cqe, uint64_t end, uint32_t most)
{
	if ((mlx5_cqe_op_own(end) & MLX5_CQE_COMPRESSED) != MLX5_CQE_COMPRESSED)
		return 1;
	uint32_t n = be32_load(cqe + MLX5_CQE_BYTE_COUNT);
	return n == 0 || n > most ? 1 : n; /* an invalid title */
}

/* Goes around at most once: the queue is stopped, and a device that goes on writing is not waited
 * for. */
static uint32_t skip_all(const struct mlx5_cq *cq, uint32_t head)
{
	const uint32_t around = head + (1u << cq->log_size);
	while (head != around) {
		const uint8_t *cqe = mlx5_cqe(cq, head);
		uint64_t end = mlx5_cqe_end(cqe);
		if (!mlx5_cqe_is_new(cq, head, end))
			break;
		for (uint32_t n = places(cqe, end, around - head); n; n--)
			mlx5_cqe_unuse(cq, head++);
	}
	barrier_write();
	be32_store(cq->dbr + MLX5_DBR_CONSUMER, head & MLX5_INDEX_MASK);
	return head;
}

COLD void mlx5_rx_fail(struct mlx5_rx *r, struct nic_counters *cnt)
{
	r->failed = true;
	fail(&r->cq, &r->cq_head, r->dbr + MLX5_DBR_RECEIVE, &cnt->rx_queue_errors);
	mlx5_rx_stand(r, cnt);
}

COLD void mlx5_rx_release(struct mlx5_rx *r, struct bufpool *pool)
{
	for (; r->head != r->tail; r->head++)
		buf_free(pool, r->owner[r->head & r->mask]);
}

COLD void mlx5_rx_restart(struct mlx5_rx *r, struct bufpool *pool, struct nic_counters *cnt)
{
	mlx5_rx_release(r, pool);
	r->cq_head = skip_all(&r->cq, r->cq_head);
	mlx5_rx_stand(r, cnt);
	r->head = r->tail = 0;
	r->failed = false;
	mlx5_rx_fill(r, pool, cnt);
}

unsigned mlx5_rx_left(const void *cqes, unsigned log_size, uint64_t place)
{
	const struct mlx5_cq cq = {.cqe = (uint8_t *)(uintptr_t)cqes, .log_size = log_size};
	const uint32_t around = (uint32_t)place + (1u << log_size);
	uint32_t frames = (uint32_t)(place >> 32), head = (uint32_t)place + frames;
	if (frames >> log_size) /* no queue is that large */
		return 0;
	while (head != around) {
		const uint8_t *cqe = mlx5_cqe(&cq, head);
		uint64_t end = mlx5_cqe_end(cqe);
		bool frame = mlx5_cqe_op_own(end) >> MLX5_CQE_OPCODE_SHIFT == MLX5_CQE_RESP_SEND;
		if (!mlx5_cqe_was_read(head, end) && !(frame && mlx5_cqe_is_new(&cq, head, end)))
			break;
		uint32_t n = places(cqe, end, around - head);
		frames += n;
		head += n;
	}
	return frames;
}

COLD void mlx5_tx_fail(struct mlx5_tx *r, struct nic_counters *cnt)
{
	r->failed = true;
	fail(&r->cq, &r->cq_head, r->dbr + MLX5_DBR_SEND, &cnt->tx_queue_errors);
}

COLD void mlx5_tx_restart(struct mlx5_tx *r, struct bufpool *pool)
{
	if (!r->slots)
		mlx5_tx_free(r, pool);
	r->frame_tail = r->frame_head;
	r->cq_head = skip_all(&r->cq, r->cq_head);
	r->head = r->tail = 0;
	r->failed = false;
}
