/*
 * drivers/mlx5/ring*.c on one side, a device that executes WQEs and writes CQEs step by step on the
 * other, guest memory and one doorbell between them. The device here uses offsets of its own from
 * the PRM ("Work Queue Elements", "Completion Queue Entries") and shares no layout with the driver.
 * Guest memory around the queues is poisoned. A read of a register fails the test, as does a write
 * of anything but eight bytes to the doorbell.
 *
 * Every test ends in a teardown that finds each buffer with exactly one owner: pool, a queue, or
 * the test.
 */
#ifndef TESTS_UNIT_RIG_MLX5_RING_RIG_H
#define TESTS_UNIT_RIG_MLX5_RING_RIG_H

#include "drivers/mlx5/ring.h"
#include "tests/unit/rig/ring_rig.h"

#define SENT_BYTES_MAX 70000

/* A sent WQE as the device read it. */
struct sent {
	uint8_t opcode, csum;
	uint16_t mss;
	unsigned header;   /* inline bytes */
	unsigned pieces;   /* data segments */
	unsigned units;    /* of 64 bytes */
	bool report;
};

extern struct world {
	struct bufpool pool;
	uint32_t stack[BUFS_MAX];
	struct nic_counters cnt;
	struct mlx5_rx rx;
	struct mlx5_tx tx;
	bool broken;
	unsigned size;
	uint8_t *rq, *sq, *rx_cq, *tx_cq, *rq_dbr, *sq_dbr, *rx_cq_dbr, *tx_cq_dbr;
	/* the device; positions count on without limit */
	uint32_t rq_at, sq_at;       /* next WQE to be executed */
	unsigned segment;            /* next segment of a WQE with many frames; 0: none is begun */
	uint32_t sq_told;            /* by the doorbell */
	uint32_t rx_cq_at, tx_cq_at; /* next CQE to be written */
	unsigned doorbells;
	unsigned reports;            /* executed WQEs that requested a CQE and have none yet, */
	uint32_t report[4096];       /* and where they began */
} w;

/* Zeroed queues of 2^log_size, a fresh pool, first fill. */
void start(unsigned log_size, unsigned buffers, uint32_t stride, uint32_t inline_bytes);

/* The same, with `most` buffers in the RQ. */
void start_sharing(unsigned log_size, unsigned buffers, uint32_t stride, uint32_t inline_bytes,
                   uint32_t most);

/* Completes the next WQE: bytes, the three bytes of checks, header types and tag. */
void device_complete(unsigned bytes, uint8_t checks, uint8_t types, uint16_t tag);
/* Completes good frames in one compressed session, whose title has these checks, types and tag. */
void device_session(uint32_t seq, unsigned n, uint8_t checks, uint8_t types, uint16_t tag);
/* Sets the byte count of frame i in the session written last, of n frames. */
void device_session_bytes(unsigned n, unsigned i, uint32_t bytes);
/* Writes a bare CQE, for a hostile device: WQE counter, opcode; the owner bit is correct. */
void device_rx_cqe(unsigned bytes, uint16_t counter, uint8_t opcode);
/* The same with a format (0 to 3), for that many places, but with nothing in the others. */
void device_rx_title(unsigned bytes, uint16_t counter, uint8_t format, unsigned places);
void device_tx_cqe(uint16_t counter, uint8_t opcode);

/* The device executes its next WQE, or the next frame of one with many; copies the frame's
 * bytes. */
struct sent device_gather(uint8_t *to, unsigned *bytes);

#endif
