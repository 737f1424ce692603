/*
 * The command queue ("Command Interface"). When its doorbell rings, the device reads an entry,
 * gathers its input from the entry and a list of mailboxes, executes the command, writes its output
 * back, and clears the ownership bit last.
 *
 * There are two kinds of errors. If the entry is malformed, nothing is executed; the delivery
 * status beside the ownership bit gives the reason, and the error is a violation. If the command
 * fails, its output has a status and a syndrome.
 *
 * Signatures are checked and made once the guest has enabled them (cmdif_checksum): entry and
 * mailboxes XOR to 0xff.
 */
#include <stdarg.h>
#include <string.h>

#include "tools/nicsim/mlx5/state.h"

#define COMMAND_NS 2000 /* from doorbell to completion */

/* --- errors of commands --- */

/* The number of an error, as the firmware has one for each: here a hash of its text (FNV-1a). */
static uint32_t syndrome_of(const char *format)
{
	uint32_t hash = 0x811c9dc5;
	for (; *format; format++)
		hash = (hash ^ (uint8_t)*format) * 0x01000193;
	return hash;
}

enum status refuse(struct model *m, struct command *c, enum status status, const char *format, ...)
{
	char text[160];
	va_list ap;
	va_start(ap, format);
	vsnprintf(text, sizeof text, format, ap);
	va_end(ap);
	field_set(c->out, OUT_SYNDROME, syndrome_of(format));
	if (status != STATUS_BAD_OP)
		model_violation(m, "%s: %s", c->row->name, text);
	return status;
}

/* --- entries and mailboxes --- */

struct entry {
	uint8_t *at; /* in the guest's memory */
	uint8_t copy[CMD_BYTES];
	bool sign;
};

static uint8_t xor_of(const uint8_t *p, unsigned bytes)
{
	uint8_t x = 0;
	while (bytes--)
		x ^= *p++;
	return x;
}

static enum delivery wrong(struct model *m, enum delivery status, const char *what)
{
	model_violation(m, "command entry: %s", what);
	return status;
}

/* Checks a mailbox in the guest's memory. */
static enum delivery check_mailbox(struct model *m, const struct entry *e, const uint8_t *box,
                                   uint32_t number)
{
	if (box[MAILBOX_TOKEN] != e->copy[CMD_TOKEN])
		return wrong(m, DELIVERY_TOKEN, "token of a mailbox is not that of the entry");
	if (be32(box + MAILBOX_NUMBER) != number)
		return wrong(m, DELIVERY_BLOCK_NUMBER, "mailboxes are not numbered from 0");
	if (e->sign && xor_of(box + MAILBOX_DATA, MAILBOX_SIGNATURE - MAILBOX_DATA) != 0xff)
		return wrong(m, DELIVERY_SIGNATURE, "control signature of a mailbox");
	return DELIVERY_OK;
}

/* The mailbox at the bus address; NULL: not a valid place for one. */
static uint8_t *mailbox(struct model *m, uint64_t bus, enum dma_access access)
{
	if (bus == 0 || bus % MAILBOX_ALIGN)
		return NULL;
	return model_dma(m, bus, MAILBOX_BYTES, access, "command mailbox");
}

static enum delivery gather(struct model *m, const struct entry *e, uint32_t bytes)
{
	struct nic *n = nic_of(m);
	uint64_t next = be64(e->copy + CMD_IN_PTR);
	memcpy(n->in, e->copy + CMD_IN, CMD_INLINE);
	for (uint32_t at = CMD_INLINE, number = 0; at < bytes; at += MAILBOX_DATA, number++) {
		const uint8_t *box = mailbox(m, next, DMA_READ);
		if (box == NULL)
			return wrong(m, DELIVERY_IN_POINTER, "input mailbox: none, or unaligned");
		enum delivery d = check_mailbox(m, e, box, number);
		if (d == DELIVERY_OK && e->sign && xor_of(box, MAILBOX_BYTES) != 0xff)
			d = wrong(m, DELIVERY_SIGNATURE, "signature of a mailbox");
		if (d != DELIVERY_OK)
			return d;
		memcpy(n->in + at, box, bytes - at < MAILBOX_DATA ? bytes - at : MAILBOX_DATA);
		next = be64(box + MAILBOX_NEXT);
	}
	return DELIVERY_OK;
}

static void sign_mailbox(uint8_t *box)
{
	box[MAILBOX_CTRL_SIGNATURE] = 0;
	box[MAILBOX_SIGNATURE] = 0;
	box[MAILBOX_CTRL_SIGNATURE] =
		(uint8_t)~xor_of(box + MAILBOX_DATA, MAILBOX_CTRL_SIGNATURE - MAILBOX_DATA);
	box[MAILBOX_SIGNATURE] = (uint8_t)~xor_of(box, MAILBOX_SIGNATURE);
}

/* Checks the output's mailboxes before the command is executed (`write` false), then fills them. */
static enum delivery scatter(struct model *m, const struct entry *e, uint32_t bytes, bool write)
{
	const struct nic *n = nic_of(m);
	uint64_t next = be64(e->copy + CMD_OUT_PTR);
	for (uint32_t at = CMD_INLINE, number = 0; at < bytes; at += MAILBOX_DATA, number++) {
		uint8_t *box = mailbox(m, next, DMA_WRITE);
		if (box == NULL)
			return wrong(m, DELIVERY_OUT_POINTER, "output mailbox: none, or unaligned");
		enum delivery d = check_mailbox(m, e, box, number);
		if (d != DELIVERY_OK)
			return d;
		const uint32_t part = bytes - at < MAILBOX_DATA ? bytes - at : MAILBOX_DATA;
		if (write)
			memcpy(box, n->out + at, part);
		if (write && e->sign)
			sign_mailbox(box);
		next = be64(box + MAILBOX_NEXT);
	}
	return DELIVERY_OK;
}

static enum delivery check_entry(struct model *m, const struct entry *e)
{
	const uint8_t *c = e->copy;
	uint32_t in = be32(c + CMD_INLEN), out = be32(c + CMD_OUTLEN);
	if (c[CMD_TYPE] != CMD_TYPE_PCIE)
		return wrong(m, DELIVERY_BAD_TYPE, "type is not 7");
	if (c[1] | c[2] | c[3] | c[CMD_SIGNATURE + 1])
		return wrong(m, DELIVERY_RESERVED, "reserved bytes are not 0");
	if (e->sign && xor_of(c, CMD_BYTES) != 0xff)
		return wrong(m, DELIVERY_SIGNATURE, "signature");
	if (in < 8 || in > CMD_DATA_MAX)
		return wrong(m, DELIVERY_IN_LENGTH, "input length");
	if (out < 8 || out > CMD_DATA_MAX)
		return wrong(m, DELIVERY_OUT_LENGTH, "output length");
	enum delivery d = gather(m, e, in);
	return d == DELIVERY_OK ? scatter(m, e, out, false) : d;
}

/* --- execution --- */

static void check_reserved(struct model *m, const struct command *c)
{
	const struct input_bits *b = c->row->bits;
	for (uint32_t at = 0; at < c->row->in_bytes && at + 4 <= c->in_bytes; at += 4) {
		uint32_t may = at == 0 ? 0xffff0000 : at == 4 ? 0x0000ffff : 0;
		if (b && b->bits && b->at == at)
			may |= b++->bits;
		const uint32_t row = be32(c->in + at);
		if (row & ~may)
			model_violation(m, "%s: input 0x%x is 0x%08x: bits 0x%08x are reserved",
			                c->row->name, at, row, row & ~may);
	}
}

static enum status check_command(struct model *m, struct command *c)
{
	const enum hca_state state = nic_of(m)->state;
	if (c->in_bytes < c->row->in_bytes)
		return refuse(m, c, STATUS_BAD_INPUT_LENGTH, "input of %u bytes", c->in_bytes);
	if (c->out_bytes < c->row->out_bytes)
		return refuse(m, c, STATUS_BAD_OUTPUT_LENGTH, "output of %u bytes", c->out_bytes);
	if ((c->row->when == WHEN_ENABLED && state == HCA_DISABLED) ||
	    (c->row->when == WHEN_READY && state != HCA_READY))
		return refuse(m, c, STATUS_BAD_SYS_STATE, "not in this state of the HCA");
	check_reserved(m, c);
	return STATUS_OK;
}

static enum status run(struct model *m, struct command *c)
{
	static const struct command_row unknown = {.name = "unknown command"};
	const uint16_t opcode = (uint16_t)field_get(c->in, IN_OPCODE);
	c->row = command_find(opcode);
	if (c->row == NULL) {
		c->row = &unknown;
		return refuse(m, c, STATUS_BAD_OP, "opcode 0x%03x", opcode);
	}
	if (model_fault_strikes(m, FAULT_COMMAND_STATUS)) {
		field_set(c->out, OUT_SYNDROME, syndrome_of("fault command-status"));
		return STATUS_INTERNAL;
	}
	enum status status = check_command(m, c);
	return status == STATUS_OK ? c->row->run(m, c) : status;
}

static void carry_out(struct model *m, struct entry *e)
{
	struct nic *n = nic_of(m);
	struct command c = {.in = n->in,
	                    .out = n->out,
	                    .in_bytes = be32(e->copy + CMD_INLEN),
	                    .out_bytes = be32(e->copy + CMD_OUTLEN)};
	memset(n->out, 0, c.out_bytes < CMD_INLINE ? CMD_INLINE : c.out_bytes);
	enum status status = run(m, &c);
	n->commands++;
	n->commands_refused += status != STATUS_OK;
	field_set(n->out, OUT_STATUS, status);
	memcpy(e->copy + CMD_OUT, n->out, CMD_INLINE);
	scatter(m, e, c.out_bytes, true);
}

static void finish(struct entry *e, enum delivery delivery)
{
	uint8_t last = (uint8_t)(delivery << 1);
	memcpy(e->at + CMD_OUT, e->copy + CMD_OUT, CMD_INLINE);
	if (e->sign) {
		memcpy(e->copy, e->at, CMD_BYTES);
		e->copy[CMD_SIGNATURE] = 0;
		e->copy[CMD_STATUS_OWN] = last;
		e->at[CMD_SIGNATURE] = (uint8_t)~xor_of(e->copy, CMD_BYTES);
	}
	__atomic_store_n(&e->at[CMD_STATUS_OWN], last, __ATOMIC_RELEASE);
}

/* Serves the command in a slot; true when it has completed. */
static bool serve(struct model *m, unsigned slot)
{
	const struct nic *n = nic_of(m);
	struct entry e;
	e.at = model_dma(m, n->queue + slot * CMD_BYTES, CMD_BYTES, DMA_WRITE, "CMDQ_ADDR");
	if (e.at == NULL)
		return false;
	if (!(__atomic_load_n(&e.at[CMD_STATUS_OWN], __ATOMIC_ACQUIRE) & CMD_OWNER_HW)) {
		model_violation(m, "CMD_DOORBELL: entry %u is not the device's", slot);
		return false;
	}
	if (model_fault_strikes(m, FAULT_COMMAND_TIMEOUT))
		return false;
	memcpy(e.copy, e.at, CMD_BYTES);
	e.sign = cap(m, CAP_CMDIF_CHECKSUM) == CHECKSUM_ON;
	enum delivery delivery = DELIVERY_INTERNAL;
	if (!model_fault_strikes(m, FAULT_COMMAND_DELIVERY))
		delivery = check_entry(m, &e);
	if (delivery == DELIVERY_OK)
		carry_out(m, &e);
	finish(&e, delivery);
	return true;
}

/* --- called by other files --- */

void cmd_reset(struct model *m)
{
	struct nic *n = nic_of(m);
	n->queue = 0;
	n->rung = 0;
	n->command_due = NEVER;
}

void cmd_doorbell(struct model *m, uint32_t slots)
{
	struct nic *n = nic_of(m);
	n->rung |= slots;
	if (n->rung && n->command_due == NEVER)
		n->command_due = m->now + COMMAND_NS;
}

void cmd_work(struct model *m)
{
	struct nic *n = nic_of(m);
	if (n->command_due > m->now)
		return;
	const uint32_t slots = n->rung;
	/* CREATE_EQ itself is not reported to the EQ that it creates */
	const bool heard = eq_takes(m, EVENT_COMMAND);
	uint32_t done = 0;
	n->command_due = NEVER;
	n->rung = 0;
	for (unsigned slot = 0; slot < 1u << CMDQ_LOG_SIZE; slot++)
		if (slots >> slot & 1 && serve(m, slot))
			done |= 1u << slot;
	if (done && heard) {
		uint8_t data[EQE_DATA_BYTES] = {0};
		put_be32(data, done);
		eq_event(m, EVENT_COMMAND, 0, data);
	}
}
