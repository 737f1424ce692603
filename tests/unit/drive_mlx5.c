#include "tests/unit/drive_mlx5.h"

#define BOXES 40 /* CMD_MAX in mailboxes, and some */

struct cmd cmd;
static uint64_t queue, boxes_in, boxes_out;

uint32_t dev_read(uint32_t offset)
{
	return __builtin_bswap32(rig_read(offset));
}

void dev_write(uint32_t offset, uint32_t value)
{
	rig_write(offset, __builtin_bswap32(value));
}

/* --- commands --- */

static uint8_t xor_of(const uint8_t *p, unsigned bytes)
{
	uint8_t x = 0;
	for (unsigned i = 0; i < bytes; i++)
		x ^= p[i];
	return x;
}

void cmd_new(uint16_t opcode, uint32_t in_bytes, uint32_t out_bytes)
{
	memset(cmd.in, 0, sizeof cmd.in);
	memset(cmd.out, 0xee, sizeof cmd.out);
	cmd.in_bytes = in_bytes;
	cmd.out_bytes = out_bytes;
	field_set(cmd.in, IN_OPCODE, opcode);
}

void cmd_put(struct field f, uint32_t value)
{
	cmd_put_at(0, f, value);
}

void cmd_put_at(uint32_t at, struct field f, uint32_t value)
{
	assert_true(f.high == 31 && f.low == 0 ? true : value >> (f.high - f.low) < 2);
	field_set(cmd.in + at, f, value);
}

uint32_t cmd_get(struct field f)
{
	return field_get(cmd.out, f);
}

/* Mailboxes 1 KB apart, for `bytes` beyond the first 16; data NULL: for output. */
static void make_boxes(uint64_t at, const uint8_t *data, uint32_t bytes, uint8_t token)
{
	for (uint32_t done = 16, i = 0; done < bytes; done += 512, i++) {
		uint32_t part = bytes - done < 512 ? bytes - done : 512;
		uint8_t *box = rig_mem(at + 1024 * i, 576);
		assert_in_range(i, 0, BOXES - 1);
		memset(box, data ? 0 : 0xdd, 512);
		memset(box + 512, 0, 64);
		if (data)
			memcpy(box, data + done, part);
		put_be64(box + 0x230, done + 512 < bytes ? at + 1024 * (i + 1) : 0);
		put_be32(box + 0x238, i);
		box[0x23d] = token;
		if (cmd.sign) {
			box[0x23e] = (uint8_t)~xor_of(box + 512, 62);
			box[0x23f] = (uint8_t)~xor_of(box, 575);
		}
	}
}

static void read_boxes(uint64_t at)
{
	for (uint32_t done = 16, i = 0; done < cmd.out_bytes; done += 512, i++) {
		uint32_t part = cmd.out_bytes - done < 512 ? cmd.out_bytes - done : 512;
		const uint8_t *box = rig_mem(at + 1024 * i, 576);
		memcpy(cmd.out + done, box, part);
		if (cmd.sign) {
			assert_int_equal(xor_of(box + 512, 63), 0xff);
			assert_int_equal(xor_of(box, 576), 0xff);
		}
	}
}

bool cmd_try(void)
{
	static uint8_t token;
	uint8_t *entry = rig_mem(queue + 64 * cmd.slot, 64);
	token = (uint8_t)(token + 1 ? token + 1 : 1);
	memset(entry, 0, 64);
	entry[0] = 7;
	put_be32(entry + 4, cmd.in_bytes);
	put_be64(entry + 8, cmd.in_bytes > 16 ? boxes_in : 0);
	memcpy(entry + 0x10, cmd.in, 16);
	put_be64(entry + 0x30, cmd.out_bytes > 16 ? boxes_out : 0);
	put_be32(entry + 0x38, cmd.out_bytes);
	entry[0x3c] = token;
	entry[0x3f] = 1;
	entry[0x3d] = (uint8_t)~xor_of(entry, 64);
	make_boxes(boxes_in, cmd.in, cmd.in_bytes, token);
	make_boxes(boxes_out, NULL, cmd.out_bytes, token);
	if (cmd.spoil)
		cmd.spoil(entry, cmd.in_bytes > 16 ? rig_mem(boxes_in, 576) : NULL,
		          cmd.out_bytes > 16 ? rig_mem(boxes_out, 576) : NULL);
	dev_write(CMD_DOORBELL, 1u << cmd.slot);
	rig_run(1000000);
	if (entry[0x3f] & 1)
		return false;
	cmd.delivery = entry[0x3f] >> 1;
	memcpy(cmd.out, entry + 0x20, 16);
	if (cmd.sign && cmd.delivery == DELIVERY_OK)
		assert_int_equal(xor_of(entry, 64), 0xff);
	if (cmd.delivery == DELIVERY_OK)
		read_boxes(boxes_out);
	return true;
}

enum status cmd_run(void)
{
	assert_true(cmd_try());
	assert_int_equal(cmd.delivery, DELIVERY_OK);
	return cmd_get(OUT_STATUS);
}

void cmd_simple(uint16_t opcode, uint32_t number)
{
	cmd_new(opcode, 16, 16);
	cmd_put(IN_NUMBER, number);
	assert_int_equal(cmd_run(), OK);
}

uint32_t cmd_alloc(uint16_t opcode)
{
	cmd_simple(opcode, 0);
	return cmd_get(OUT_NUMBER);
}

/* --- bring-up --- */

static void wait_ready(void)
{
	for (unsigned i = 0; dev_read(INITIALIZING) >> 31; i++) {
		assert_in_range(i, 0, 1000);
		rig_run(1000000);
	}
}

void drive_queue(enum rig_mode mode)
{
	rig_start(&connectx5_ops, mode);
	memset(&cmd, 0, sizeof cmd);
	queue = rig_alloc(4096, 4096);
	boxes_in = rig_alloc(BOXES * 1024, 1024);
	boxes_out = rig_alloc(BOXES * 1024, 1024);
	assert_int_equal(dev_read(CMDIF_REV) >> 16, 5);
	wait_ready();
	assert_int_equal(dev_read(CMDQ_ADDR_L) & 0xff, 0x56);
	dev_write(CMDQ_ADDR_H, (uint32_t)(queue >> 32));
	dev_write(CMDQ_ADDR_L, (uint32_t)queue);
	wait_ready();
}

void drive_pages(unsigned kind)
{
	cmd_new(QUERY_PAGES, 16, 16);
	cmd_put(IN_OP_MOD, kind);
	assert_int_equal(cmd_run(), OK);
	const uint32_t count = cmd_get(PAGES_COUNT);
	cmd_new(MANAGE_PAGES, 16 + 8 * count, 16);
	cmd_put(IN_OP_MOD, PAGES_GIVE);
	cmd_put(PAGES_COUNT, count);
	for (uint32_t i = 0; i < count; i++)
		put_be64(cmd.in + 16 + 8 * i, rig_alloc(4096, 4096));
	assert_int_equal(cmd_run(), OK);
}

void drive_enable(void)
{
	cmd_simple(ENABLE_HCA, 0);
	cmd_simple(SET_ISSI, 1);
	drive_pages(PAGES_BOOT);
}

void drive_init(void)
{
	drive_enable();
	drive_pages(PAGES_INIT);
	cmd_simple(INIT_HCA, 0);
}

int drive_ready(void **state)
{
	(void)state;
	drive_queue(RIG_STRICT);
	drive_init();
	return 0;
}

/* --- queues --- */

void queue_alloc(struct queue *q, unsigned log_size, unsigned log_stride)
{
	const uint64_t bytes = 1ull << (log_size + log_stride);
	memset(q, 0, sizeof *q);
	q->log_size = log_size;
	q->log_stride = log_stride;
	q->pages = (uint32_t)((bytes + 4095) / 4096);
	assert_in_range(q->pages, 1, 64);
	for (uint32_t i = q->pages; i--;)
		q->page[i] = rig_alloc(4096, 4096);
	q->dbr = rig_alloc(8, 64);
}

uint8_t *queue_at(const struct queue *q, uint32_t index)
{
	const uint32_t at = (index & ((1u << q->log_size) - 1)) << q->log_stride;
	return (uint8_t *)rig_mem(q->page[at / 4096], 4096) + at % 4096;
}

void queue_pas(const struct queue *q, uint32_t at)
{
	for (uint32_t i = 0; i < q->pages; i++)
		put_be64(cmd.in + at + 8 * i, q->page[i]);
	cmd.in_bytes = at + 8 * q->pages;
}

void dbr_write(const struct queue *q, unsigned at, uint32_t value)
{
	put_be32(rig_mem(q->dbr + at, 4), value);
}

void eq_command(struct queue *q, unsigned log_size, uint32_t uar, unsigned vector, uint64_t events)
{
	queue_alloc(q, log_size, 6);
	q->uar = uar;
	for (uint32_t i = 0; i < 1u << log_size; i++)
		queue_at(q, i)[63] = 1;
	cmd_new(CREATE_EQ, 0x110, 0x10);
	cmd_put_at(EQC_AT, EQC_LOG_SIZE, log_size);
	cmd_put_at(EQC_AT, EQC_UAR, uar);
	cmd_put_at(EQC_AT, EQC_INTR, vector);
	put_be64(cmd.in + EQ_EVENTS_AT, events);
	queue_pas(q, EQ_PAS_AT);
}

void cq_command(struct queue *q, unsigned log_size, uint32_t uar, uint32_t eqn)
{
	queue_alloc(q, log_size, 6);
	q->uar = uar;
	for (uint32_t i = 0; i < 1u << log_size; i++)
		queue_at(q, i)[63] = 0xf1;
	cmd_new(CREATE_CQ, 0x110, 0x10);
	cmd_put_at(CQC_AT, CQC_LOG_SIZE, log_size);
	cmd_put_at(CQC_AT, CQC_UAR, uar);
	cmd_put_at(CQC_AT, CQC_EQN, eqn);
	put_be64(cmd.in + CQC_AT + CQC_DBR, q->dbr);
	queue_pas(q, CQ_PAS_AT);
}

void queue_run(struct queue *q)
{
	assert_int_equal(cmd_run(), OK);
	q->number = cmd_get(OUT_NUMBER);
}

static const uint8_t *next(struct queue *q)
{
	const uint8_t *entry = queue_at(q, q->ci);
	if ((entry[63] & 1) != (q->ci >> q->log_size & 1))
		return NULL;
	q->ci++;
	return entry;
}

const uint8_t *eq_next(struct queue *eq)
{
	return next(eq);
}

const uint8_t *cq_next(struct queue *cq)
{
	const uint8_t *entry = queue_at(cq, cq->ci);
	return entry[63] >> 4 == 0xf ? NULL : next(cq); /* as the driver left it */
}

void eq_ring(const struct queue *eq, bool arm)
{
	dev_write(eq->uar * PAGE + (arm ? UAR_EQ_ARM : UAR_EQ_CI),
	          eq->number << 24 | (eq->ci & 0xffffff));
}

void uar_write64(uint32_t uar, uint32_t within, uint32_t first, uint32_t second)
{
	dev_write(uar * PAGE + within, first);
	dev_write(uar * PAGE + within + 4, second);
}

void cq_read_to(const struct queue *cq)
{
	dbr_write(cq, 0, cq->ci & 0xffffff);
}

void cq_ring(const struct queue *cq, bool solicited)
{
	const uint32_t word = (solicited ? CQ_SOLICITED : 0) | (cq->ci & 0xffffff);
	cq_read_to(cq);
	dbr_write(cq, 4, word);
	uar_write64(cq->uar, UAR_CQ_ARM, word, cq->number);
}
