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

enum { OK = STATUS_OK };

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

#endif
