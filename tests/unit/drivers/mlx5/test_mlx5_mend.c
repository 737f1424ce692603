/*
 * drivers/mlx5/ring_mend: a queue returns to service while its device keeps lying. Whenever the
 * driver reads a place of the CQ, the device has just written there.
 */
#include "tests/unit/rig/host.h"

#include "drivers/mlx5/ring.h"

#define LOG_SIZE 4
#define SIZE (1u << LOG_SIZE)

static unsigned looks;

/* Every CQE that the driver reads is new: the device has written it meanwhile. */
static bool look(const struct mlx5_cq *cq, uint32_t pos, uint64_t end)
{
	(void)end;
	uint64_t now = (uint64_t)(pos >> cq->log_size & 1) << 56;
	assert_in_range(++looks, 1, SIZE + 1);
	return mlx5_cqe_is_new(cq, pos, now);
}

#define mlx5_cqe_is_new look
#undef fail /* cmocka's */
#include "drivers/mlx5/ring_mend.c"
#undef mlx5_cqe_is_new

/* Not tested here. */
void mlx5_rx_fill(struct mlx5_rx *r, struct bufpool *pool, struct nic_counters *cnt)
{
	(void)r, (void)pool, (void)cnt;
}

void mlx5_tx_free(struct mlx5_tx *r, struct bufpool *pool)
{
	(void)r, (void)pool;
	assert_true(false); /* slots have no buffers */
}

static uint8_t ring[SIZE * MLX5_CQE_BYTES] __attribute__((aligned(64)));
static uint8_t record[8];

static void restarts_end(void **state)
{
	struct mlx5_tx tx = {.cq = {.cqe = ring, .dbr = record, .log_size = LOG_SIZE}, .slots = true};
	struct mlx5_rx rx = {.cq = tx.cq};
	struct bufpool pool = {.count = 0};
	struct nic_counters cnt = {.rx_queue_errors = 0};
	(void)state;
	for (uint32_t head = 0; head < 3 * SIZE; head += 5) {
		looks = 0;
		rx.cq_head = head;
		mlx5_rx_restart(&rx, &pool, &cnt);
		assert_int_equal(rx.cq_head, head + SIZE);
		looks = 0;
		tx.cq_head = head;
		mlx5_tx_restart(&tx, &pool);
		assert_int_equal(tx.cq_head, head + SIZE);
	}
}

/* Every skipped place is marked as unused. */
static void places_are_unused(void **state)
{
	struct mlx5_tx tx = {.cq = {.cqe = ring, .dbr = record, .log_size = LOG_SIZE}, .slots = true};
	struct bufpool pool = {.count = 0};
	(void)state;
	memset(ring, 0, sizeof ring);
	looks = 0;
	mlx5_tx_restart(&tx, &pool);
	for (unsigned i = 0; i < SIZE; i++)
		assert_int_equal(ring[i * MLX5_CQE_BYTES + MLX5_CQE_OP_OWN], 0xf1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(restarts_end),
		cmocka_unit_test(places_are_unused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
