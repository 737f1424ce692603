/*
 * What a driver of the ConnectX does, step by step, for tests of the model
 * (tests/unit/nicsim_rig.h): the order of the manual's "Driver Initialization", with the layouts of
 * the model's own table. The product's driver has its own; this one is only as much as the tests
 * need, and can do each step wrong.
 */
#ifndef TESTS_UNIT_DRIVE_MLX5_H
#define TESTS_UNIT_DRIVE_MLX5_H

#include "tests/unit/nicsim_rig.h"
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
	bool sign;           /* makes signatures, and checks the device's */
	unsigned delivery;   /* of the last, by the device */
	/* Called before the doorbell rings, to spoil something: the entry, its first mailboxes in
	 * and out (NULL: there is none). */
	void (*spoil)(uint8_t *entry, uint8_t *in, uint8_t *out);
} cmd;

void cmd_new(uint16_t opcode, uint32_t in_bytes, uint32_t out_bytes);
void cmd_put(struct field f, uint32_t value);
/* A field of a context that begins at byte `at` of the input. */
void cmd_put_at(uint32_t at, struct field f, uint32_t value);
uint32_t cmd_get(struct field f);
/* True when the device has given the entry back; then cmd.delivery and cmd.out are there. */
bool cmd_try(void);
/* The same, which must succeed, with delivery OK; returns the status. */
enum status cmd_run(void);
/* Short ones: a number in the usual place; the result's number. Both must succeed. */
void cmd_simple(uint16_t opcode, uint32_t number);
uint32_t cmd_alloc(uint16_t opcode);

/* --- bring-up --- */

/* From reset until the device takes commands; the same, with power on before. */
void drive_begin(void);
void drive_queue(enum rig_mode mode);
/* ENABLE_HCA, ISSI, pages. */
void drive_enable(void);
/* Gives all pages it wants, of kind PAGES_BOOT or PAGES_INIT. */
void drive_pages(unsigned kind);
void drive_init(void); /* all of the above to INIT_HCA */
int drive_ready(void **state); /* power on and drive_init, as a set-up of cmocka */

/* --- queues --- */

/* A queue in memory, its pages in falling order, so that a page taken for the next is noticed. */
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
/* Of a command under way: the list of pages from byte `at` on, and the input's length. */
void queue_pas(const struct queue *q, uint32_t at);
void dbr_write(const struct queue *q, unsigned at, uint32_t value);

/* CREATE_EQ, of these events, and CREATE_CQ, filled in; the caller may spoil it before cmd_run. */
void eq_command(struct queue *q, unsigned log_size, uint32_t uar, unsigned vector, uint64_t events);
void cq_command(struct queue *q, unsigned log_size, uint32_t uar, uint32_t eqn);
/* Runs what is filled in, which must succeed; the number goes to q->number. */
void queue_run(struct queue *q);

/* The next event or completion, which is taken; NULL: none. */
const uint8_t *eq_next(struct queue *eq);
const uint8_t *cq_next(struct queue *cq);
void eq_ring(const struct queue *eq, bool arm);
/* Tells the device up to where the CQ has been read, and arms it. */
void cq_read_to(const struct queue *cq);
void cq_ring(const struct queue *cq, bool solicited);
void uar_write64(uint32_t uar, uint32_t within, uint32_t first, uint32_t second);

/* --- a working port --- */

#define BUFFER 2048 /* bytes of each receive buffer */
#define RX_LOG 6    /* entries of a receive queue, of one data segment each */
#define TX_LOG 6

extern struct net {
	uint32_t uar, pd, td, mkey /* as an lkey */, tis, counter;
	uint32_t table, group, tir; /* root: all goes to tir, which is of rq[0] */
	struct queue events;        /* EQ: of the port, vector 1 */
	struct queue completions;   /* EQ: of the CQs, vector 2 */
	struct queue rq[4], rx_cq[4];
	struct queue sq, tx_cq;
	uint64_t buffers[4];
} net;

/* All of it, link up, everything accepted; as a set-up of cmocka. */
int drive_net(void **state);
int drive_net_line_rate(void **state);

/* Commands filled in, as above. */
void sq_command(struct queue *q, const struct queue *cq);
void rq_command(struct queue *q, const struct queue *cq, unsigned log_stride);
/* MODIFY_SQ, MODIFY_RQ; returns the status. */
enum status sq_state(const struct queue *q, unsigned from, unsigned to);
enum status rq_state(const struct queue *q, unsigned from, unsigned to);
/* A receive queue with its CQ, ready, filled. */
void drive_rq(unsigned i);
/* The same with a CQ that compresses; all frames go there. */
void drive_compressed(unsigned i, enum mini_format format);
void drive_refill(unsigned i, unsigned n);

struct got {
	const uint8_t *cqe, *data;
	uint32_t bytes;
};
/* The next frame of receive queue i, whose CQ is told so. */
bool drive_received(unsigned i, struct got *got);

/* --- sending: wqe_new, what belongs in, wqe_post; then drive_doorbell --- */

uint8_t *wqe_new(unsigned opcode); /* completion always */
void wqe_inline(const void *data, uint32_t bytes); /* the header, first */
void wqe_data(const void *data, uint32_t bytes);   /* a segment, with a copy of data */
void wqe_inline_data(const void *data, uint32_t bytes);
void wqe_post(void);
void drive_doorbell(void);
/* A frame, whole, by one SEND, with these checksums (ETH_CSUM_...). */
void drive_send(const void *data, uint32_t bytes, unsigned csum);
/* The next completion of the SQ; NULL: none. */
const uint8_t *drive_sent(void);

/* --- flow tables --- */

uint32_t flow_table(uint32_t level, uint32_t log_size, uint32_t miss);
/* A group with this mask (NULL: everything matches). */
uint32_t flow_group(uint32_t table, uint32_t start, uint32_t end, const uint8_t mask[64]);
/* SET_FLOW_TABLE_ENTRY to a TIR or table (kind DEST_TIR, DEST_TABLE), filled in. */
void fte_command(uint32_t table, uint32_t group, uint32_t index, const uint8_t value[64],
                 unsigned kind, uint32_t to);
void flow_root(uint32_t table);

#endif
