/*
 * What a driver of the ConnectX does, step by step, for tests of the model (tests/unit/nicsim_rig.h):
 * the order of the manual's "Driver Initialization", with the layouts of the model's own table. The
 * product's driver has its own; this one is only as much as the tests need, and can do each step
 * wrong.
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

/* Power on, until the device takes commands. */
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

#endif
