/*
 * The steps of a ConnectX driver, one by one, for tests of the model (tests/unit/rig/nicsim_rig.h): in
 * the order of the manual's "Driver Initialization", with the layouts of the model's own table. The
 * product's driver is a different one. This one does only what the tests need, and can do each step
 * wrong.
 */
#ifndef TESTS_UNIT_RIG_DRIVE_MLX5_H
#define TESTS_UNIT_RIG_DRIVE_MLX5_H

#include "tests/unit/rig/nicsim_rig.h"
#include "tools/nicsim/mlx5/mlx5.h"
#include "tools/nicsim/mlx5/spec.h"

#define OK STATUS_OK

/* Big-endian registers. */
uint32_t dev_read(uint32_t offset);
void dev_write(uint32_t offset, uint32_t value);

/* --- commands: cmd_new, fill in cmd.in by cmd_put, cmd_run --- */

#define CMD_MAX (16u << 10)

extern struct cmd {
	uint8_t in[CMD_MAX], out[CMD_MAX];
	uint32_t in_bytes, out_bytes;
	unsigned slot;
	bool sign;           /* computes signatures, and checks the device's */
	unsigned delivery;   /* delivery status of the last command, from the device */
	/* Called before the doorbell is rung, to corrupt something: the entry, its first input and
	 * output mailboxes (NULL: there is none). */
	void (*spoil)(uint8_t *entry, uint8_t *in, uint8_t *out);
} cmd;

void cmd_new(uint16_t opcode, uint32_t in_bytes, uint32_t out_bytes);
void cmd_put(struct field f, uint32_t value);
/* Sets a field of a context that begins at byte `at` of the input. */
void cmd_put_at(uint32_t at, struct field f, uint32_t value);
uint32_t cmd_get(struct field f);
/* True if the device has returned the entry; cmd.delivery and cmd.out are then valid. */
bool cmd_try(void);
/* The same, but the entry must be returned, with delivery OK; returns the status. */
enum status cmd_run(void);
/* Short commands: with a number in the usual place; with a number as result. Both must succeed. */
void cmd_simple(uint16_t opcode, uint32_t number);
uint32_t cmd_alloc(uint16_t opcode);

/* --- bring-up --- */

/* From reset until the device accepts commands; the same, after power-on. */
void drive_begin(void);
void drive_queue(enum rig_mode mode);
/* ENABLE_HCA, ISSI, pages. */
void drive_enable(void);
/* Gives all pages that the device wants, of kind PAGES_BOOT or PAGES_INIT. */
void drive_pages(unsigned kind);
void drive_init(void); /* all of the above up to INIT_HCA */
int drive_ready(void **state); /* power-on and drive_init, as a set-up of cmocka */

/* --- queues --- */

/* A queue in memory, with its pages in descending order, so that a page mistaken for the next one
 * is noticed. */
struct queue {
	uint32_t number;
	unsigned log_size, log_stride;
	uint64_t page[64];
	uint32_t pages;
	uint64_t dbr; /* bus address of the doorbell record */
	uint32_t uar;
	uint32_t ci;  /* of EQ and CQ: entries taken */
	uint32_t pi;  /* of SQ and RQ: entries given */
};

void queue_alloc(struct queue *q, unsigned log_size, unsigned log_stride);
uint8_t *queue_at(const struct queue *q, uint32_t index);
/* Fills in the list of pages of a command under construction, from byte `at` on, and the input's
 * length. */
void queue_pas(const struct queue *q, uint32_t at);
void dbr_write(const struct queue *q, unsigned at, uint32_t value);

/* Fill in CREATE_EQ, for these events, and CREATE_CQ; the caller may corrupt them before
 * cmd_run. */
void eq_command(struct queue *q, unsigned log_size, uint32_t uar, unsigned vector, uint64_t events);
void cq_command(struct queue *q, unsigned log_size, uint32_t uar, uint32_t eqn);
/* Runs the command that was filled in, which must succeed; the number goes to q->number. */
void queue_run(struct queue *q);

/* Takes the next event or completion; NULL: none. */
const uint8_t *eq_next(struct queue *eq);
const uint8_t *cq_next(struct queue *cq);
void eq_ring(const struct queue *eq, bool arm);
/* Tells the device how far the CQ has been read; cq_ring also arms it. */
void cq_read_to(const struct queue *cq);
void cq_ring(const struct queue *cq, bool solicited);
void uar_write64(uint32_t uar, uint32_t within, uint32_t first, uint32_t second);

/* --- a working port --- */

#define BUFFER 2048 /* bytes of each receive buffer */
#define RX_LOG 6    /* entries of a receive queue, of one data segment each */
#define TX_LOG 6

extern struct net {
	uint32_t uar, pd, td, mkey /* as an lkey */, tis, counter;
	uint32_t table, group, tir; /* root: all frames go to tir, which leads to rq[0] */
	struct queue events;        /* EQ for the port, vector 1 */
	struct queue completions;   /* EQ for the CQs, vector 2 */
	struct queue rq[4], rx_cq[4];
	struct queue sq, tx_cq;
	uint64_t buffers[4];
} net;

/* All of this, link up, everything accepted; as a set-up of cmocka. */
int drive_net(void **state);
int drive_net_line_rate(void **state);

/* Fill in commands, as above. */
void sq_command(struct queue *q, const struct queue *cq);
void rq_command(struct queue *q, const struct queue *cq, unsigned log_stride);
/* MODIFY_SQ, MODIFY_RQ; returns the status. */
enum status sq_state(const struct queue *q, unsigned from, unsigned to);
enum status rq_state(const struct queue *q, unsigned from, unsigned to);
/* Makes a receive queue with its CQ, ready, filled. */
void drive_rq(unsigned i);
/* The same with a CQ that compresses; all frames go there. */
void drive_compressed(unsigned i, enum mini_format format);
void drive_refill(unsigned i, unsigned n);

struct got {
	const uint8_t *cqe, *data;
	uint32_t bytes;
};
/* Takes the next frame of receive queue i, and updates its CQ. */
bool drive_received(unsigned i, struct got *got);

/* --- sending: wqe_new, its segments, wqe_post; then drive_doorbell --- */

uint8_t *wqe_new(unsigned opcode); /* always requests a completion */
void wqe_inline(const void *data, uint32_t bytes); /* the header, first */
void wqe_data(const void *data, uint32_t bytes);   /* a segment, with a copy of data */
void wqe_inline_data(const void *data, uint32_t bytes);
void wqe_post(void);
void drive_doorbell(void);
/* Sends a whole frame by one SEND, with these checksums (ETH_CSUM_...). */
void drive_send(const void *data, uint32_t bytes, unsigned csum);
/* Takes the next completion of the SQ; NULL: none. */
const uint8_t *drive_sent(void);

/* --- flow tables --- */

uint32_t flow_table(uint32_t level, uint32_t log_size, uint32_t miss);
/* Makes a group with this mask (NULL: everything matches). */
uint32_t flow_group(uint32_t table, uint32_t start, uint32_t end, const uint8_t mask[64]);
/* Fills in SET_FLOW_TABLE_ENTRY to a TIR or table (kind DEST_TIR, DEST_TABLE). */
void fte_command(uint32_t table, uint32_t group, uint32_t index, const uint8_t value[64],
                 unsigned kind, uint32_t to);
void flow_root(uint32_t table);

#endif
