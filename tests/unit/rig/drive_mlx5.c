#include "tests/unit/rig/drive_mlx5.h"

#define BOXES 40 /* CMD_MAX in mailboxes, and a few more */

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

/* Makes mailboxes 1 KB apart, for `bytes` beyond the first 16; data NULL: for output. */
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

void drive_begin(void)
{
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

void drive_queue(enum rig_mode mode)
{
	rig_start(&connectx5_ops, mode);
	drive_begin();
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

/* --- a working port --- */

struct net net;

static void wq_command(struct queue *q, uint16_t opcode, const struct queue *cq, unsigned log_size,
                       unsigned log_stride)
{
	const uint32_t wq = CONTEXT_AT + WQ_AT;
	queue_alloc(q, log_size, log_stride);
	cmd_new(opcode, 0x110, 16);
	cmd_put_at(CONTEXT_AT, SQC_CQN, cq->number); /* an RQ has it at the same place */
	cmd_put_at(wq, WQ_TYPE, WQ_CYCLIC);
	cmd_put_at(wq, WQ_PD, net.pd);
	cmd_put_at(wq, WQ_LOG_STRIDE, log_stride);
	cmd_put_at(wq, WQ_LOG_SIZE, log_size);
	put_be64(cmd.in + wq + WQ_DBR, q->dbr);
	queue_pas(q, wq + WQ_PAS);
}

void sq_command(struct queue *q, const struct queue *cq)
{
	wq_command(q, CREATE_SQ, cq, TX_LOG, 6);
	q->uar = net.uar;
	cmd_put_at(CONTEXT_AT, SQC_FLUSH, 1);
	cmd_put_at(CONTEXT_AT, SQC_TIS_COUNT, 1);
	cmd_put_at(CONTEXT_AT, SQC_TIS, net.tis);
	cmd_put_at(CONTEXT_AT + WQ_AT, WQ_UAR, net.uar);
}

void rq_command(struct queue *q, const struct queue *cq, unsigned log_stride)
{
	wq_command(q, CREATE_RQ, cq, RX_LOG, log_stride);
	cmd_put_at(CONTEXT_AT, RQC_COUNTER, net.counter);
}

static enum status modify(uint16_t opcode, uint32_t number, unsigned from, unsigned to)
{
	cmd_new(opcode, 0x110, 16);
	cmd_put(IN_NUMBER, number);
	cmd_put(MODIFY_STATE, from);
	cmd_put_at(CONTEXT_AT, SQC_STATE, to);
	return cmd_run();
}

enum status sq_state(const struct queue *q, unsigned from, unsigned to)
{
	return modify(MODIFY_SQ, q->number, from, to);
}

enum status rq_state(const struct queue *q, unsigned from, unsigned to)
{
	return modify(MODIFY_RQ, q->number, from, to);
}

void drive_refill(unsigned i, unsigned n)
{
	struct queue *q = &net.rq[i];
	for (; n; n--, q->pi++) {
		uint8_t *seg = queue_at(q, q->pi);
		put_be32(seg, BUFFER);
		put_be32(seg + 4, net.mkey);
		put_be64(seg + 8, net.buffers[i] + (q->pi & ((1u << RX_LOG) - 1)) * BUFFER);
	}
	dbr_write(q, DBR_RECEIVE, q->pi & 0xffff);
}

static void ready_rq(unsigned i)
{
	queue_run(&net.rx_cq[i]);
	rq_command(&net.rq[i], &net.rx_cq[i], 4);
	queue_run(&net.rq[i]);
	net.buffers[i] = rig_alloc(BUFFER << RX_LOG, 4096);
	assert_int_equal(rq_state(&net.rq[i], QUEUE_RST, QUEUE_RDY), OK);
	drive_refill(i, 1u << RX_LOG);
}

void drive_rq(unsigned i)
{
	cq_command(&net.rx_cq[i], RX_LOG, net.uar, net.completions.number);
	ready_rq(i);
}

static void drive_sq(void)
{
	cq_command(&net.tx_cq, TX_LOG, net.uar, net.completions.number);
	queue_run(&net.tx_cq);
	sq_command(&net.sq, &net.tx_cq);
	queue_run(&net.sq);
	assert_int_equal(sq_state(&net.sq, QUEUE_RST, QUEUE_RDY), OK);
}

static uint32_t direct_tir(uint32_t rqn)
{
	cmd_new(CREATE_TIR, 0x110, 16);
	cmd_put_at(CONTEXT_AT, TIRC_RQN, rqn);
	cmd_put_at(CONTEXT_AT, TIRC_TD, net.td);
	assert_int_equal(cmd_run(), OK);
	return cmd_get(OUT_NUMBER);
}

void drive_compressed(unsigned i, enum mini_format format)
{
	cq_command(&net.rx_cq[i], RX_LOG, net.uar, net.completions.number);
	cmd_put_at(CQC_AT, CQC_COMPRESS, 1);
	cmd_put_at(CQC_AT, CQC_MINI_FORMAT, format);
	ready_rq(i);
	fte_command(net.table, net.group, 0, NULL, DEST_TIR, direct_tir(net.rq[i].number));
	assert_int_equal(cmd_run(), OK);
}

/* Receives everything except what we send: all of that goes to the wire. */
static void vport_promisc(void)
{
	cmd_new(MODIFY_NIC_VPORT_CONTEXT, 0x200, 16);
	cmd_put(VPORT_SELECT, SELECT_PROMISC | SELECT_NO_LB_UNICAST | SELECT_NO_LB_MULTICAST);
	cmd_put_at(VPORT_MODIFY_AT, VPORT_LOCAL_LB, NO_LB_UNICAST | NO_LB_MULTICAST);
	cmd_put_at(VPORT_MODIFY_AT, VPORT_PROMISC, PROMISC_ALL);
	assert_int_equal(cmd_run(), OK);
}

static void drive_resources(void)
{
	net.uar = cmd_alloc(ALLOC_UAR);
	net.pd = cmd_alloc(ALLOC_PD);
	net.td = cmd_alloc(ALLOC_TRANSPORT_DOMAIN);
	net.counter = cmd_alloc(ALLOC_Q_COUNTER);
	cmd_new(CREATE_MKEY, 0x110, 16);
	cmd_put_at(MKC_AT, MKC_LOCAL_READ, 1);
	cmd_put_at(MKC_AT, MKC_LOCAL_WRITE, 1);
	cmd_put_at(MKC_AT, MKC_QPN, MKEY_NO_QPN);
	cmd_put_at(MKC_AT, MKC_LENGTH64, 1);
	cmd_put_at(MKC_AT, MKC_PD, net.pd);
	cmd_put_at(MKC_AT, MKC_VARIANT, 0x42);
	assert_int_equal(cmd_run(), OK);
	net.mkey = cmd_get(OUT_NUMBER) << 8 | 0x42;
	cmd_new(CREATE_TIS, 0xc0, 16);
	cmd_put_at(CONTEXT_AT, TISC_TD, net.td);
	assert_int_equal(cmd_run(), OK);
	net.tis = cmd_get(OUT_NUMBER);
}

static int drive_all(enum rig_mode mode)
{
	drive_queue(mode);
	drive_init();
	memset(&net, 0, sizeof net);
	drive_resources();
	eq_command(&net.events, 4, net.uar, 1, 1ull << EVENT_PORT | 1ull << EVENT_CQ_ERROR);
	queue_run(&net.events);
	eq_command(&net.completions, 8, net.uar, 2, 0);
	queue_run(&net.completions);
	drive_rq(0);
	drive_sq();
	net.tir = direct_tir(net.rq[0].number);
	net.table = flow_table(0, 4, 0);
	net.group = flow_group(net.table, 0, 15, NULL);
	fte_command(net.table, net.group, 15, NULL, DEST_TIR, net.tir);
	assert_int_equal(cmd_run(), OK);
	flow_root(net.table);
	vport_promisc();
	rig_run(100000000);
	cmd_new(QUERY_VPORT_STATE, 16, 16);
	assert_int_equal(cmd_run(), OK);
	assert_int_equal(cmd_get(VPORT_STATE), 1);
	return 0;
}

int drive_net(void **state)
{
	(void)state;
	return drive_all(RIG_STRICT);
}

int drive_net_line_rate(void **state)
{
	(void)state;
	return drive_all(RIG_LINE_RATE);
}

bool drive_received(unsigned i, struct got *got)
{
	rig_run(1000);
	const uint8_t *cqe = cq_next(&net.rx_cq[i]);
	if (cqe == NULL)
		return false;
	cq_read_to(&net.rx_cq[i]);
	got->cqe = cqe;
	got->bytes = be32(cqe + CQE_BYTE_COUNT);
	const uint32_t entry = be16(cqe + CQE_COUNTER) & ((1u << RX_LOG) - 1);
	got->data = rig_mem(net.buffers[i] + entry * BUFFER, BUFFER);
	return true;
}

/* --- sending --- */

static struct {
	uint8_t bytes[1024];
	uint32_t used;
	uint32_t index; /* for the doorbell, intact even if a test corrupts the WQE */
} wqe;

uint8_t *wqe_new(unsigned opcode)
{
	memset(&wqe, 0, sizeof wqe);
	wqe.index = net.sq.pi & 0xffff;
	field_set(wqe.bytes, WQE_INDEX, wqe.index);
	field_set(wqe.bytes, WQE_OPCODE, opcode);
	field_set(wqe.bytes, WQE_QPN, net.sq.number);
	field_set(wqe.bytes, WQE_COMPLETION, COMPLETION_ALWAYS);
	wqe.used = opcode == WQE_NOP ? 16 : 32;
	return wqe.bytes;
}

void wqe_inline(const void *data, uint32_t bytes)
{
	field_set(wqe.bytes + WQE_ETH, ETH_INLINE, bytes);
	memcpy(wqe.bytes + WQE_ETH + ETH_INLINE_AT, data, bytes);
	wqe.used = (30 + bytes + 15) & ~15u;
}

void wqe_data(const void *data, uint32_t bytes)
{
	const uint64_t at = rig_alloc(bytes, 64);
	uint8_t *seg = wqe.bytes + wqe.used;
	memcpy(rig_mem(at, bytes), data, bytes);
	put_be32(seg, bytes);
	put_be32(seg + 4, net.mkey);
	put_be64(seg + 8, at);
	wqe.used += 16;
}

void wqe_inline_data(const void *data, uint32_t bytes)
{
	uint8_t *seg = wqe.bytes + wqe.used;
	put_be32(seg, 1u << 31 | bytes);
	memcpy(seg + 4, data, bytes);
	wqe.used += (4 + bytes + 15) & ~15u;
}

void wqe_post(void)
{
	field_set(wqe.bytes, WQE_DS_COUNT, wqe.used / 16);
	for (uint32_t at = 0; at < wqe.used; at += 64)
		memcpy(queue_at(&net.sq, net.sq.pi++), wqe.bytes + at, 64);
}

void drive_doorbell(void)
{
	dbr_write(&net.sq, DBR_SEND, net.sq.pi & 0xffff);
	uar_write64(net.uar, UAR_SQ_DB, wqe.index << 8 | WQE_SEND,
	            net.sq.number << 8 | wqe.used / 16);
	rig_run(1000);
}

void drive_send(const void *data, uint32_t bytes, unsigned csum)
{
	uint8_t *w = wqe_new(WQE_SEND);
	field_set(w + WQE_ETH, ETH_CSUM, csum);
	wqe_data(data, bytes);
	wqe_post();
	drive_doorbell();
}

const uint8_t *drive_sent(void)
{
	const uint8_t *cqe = cq_next(&net.tx_cq);
	cq_read_to(&net.tx_cq);
	return cqe;
}

/* --- flow tables --- */

uint32_t flow_table(uint32_t level, uint32_t log_size, uint32_t miss)
{
	cmd_new(CREATE_FLOW_TABLE, 0x40, 16);
	cmd_put(TABLE_LEVEL, level);
	cmd_put(TABLE_LOG_SIZE, log_size);
	cmd_put(TABLE_MISS, miss ? MISS_TABLE : MISS_DEFAULT);
	cmd_put(TABLE_MISS_ID, miss);
	assert_int_equal(cmd_run(), OK);
	return cmd_get(OUT_NUMBER);
}

uint32_t flow_group(uint32_t table, uint32_t start, uint32_t end, const uint8_t mask[64])
{
	cmd_new(CREATE_FLOW_GROUP, 0x400, 16);
	cmd_put(FLOW_TABLE, table);
	cmd_put(GROUP_START, start);
	cmd_put(GROUP_END, end);
	if (mask) {
		cmd_put(GROUP_CRITERIA, CRITERIA_OUTER);
		memcpy(cmd.in + GROUP_MATCH, mask, 64);
	}
	assert_int_equal(cmd_run(), OK);
	return cmd_get(OUT_NUMBER);
}

void fte_command(uint32_t table, uint32_t group, uint32_t index, const uint8_t value[64],
                 unsigned kind, uint32_t to)
{
	cmd_new(SET_FLOW_TABLE_ENTRY, FTE_AT + FTE_LIST + 8, 16);
	cmd_put(FLOW_TABLE, table);
	cmd_put(FTE_INDEX, index);
	cmd_put_at(FTE_AT, FTE_GROUP, group);
	cmd_put_at(FTE_AT, FTE_ACTION, ACTION_FORWARD);
	cmd_put_at(FTE_AT, FTE_DESTINATIONS, 1);
	cmd_put_at(FTE_AT + FTE_LIST, DEST_TYPE, kind);
	cmd_put_at(FTE_AT + FTE_LIST, DEST_ID, to);
	if (value)
		memcpy(cmd.in + FTE_AT + FTE_VALUE, value, 64);
}

void flow_root(uint32_t table)
{
	cmd_new(SET_FLOW_TABLE_ROOT, 0x40, 16);
	cmd_put(FLOW_TABLE, table);
	assert_int_equal(cmd_run(), OK);
}
