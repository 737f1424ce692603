/*
 * A Mellanox ConnectX-5 as a device model, from the "Mellanox Adapters Programmer's Reference
 * Manual" (spec.h): one physical function of one 100 GbE port.
 *
 * This file: identity, reset, initialisation segment, dispatch of register accesses. The other
 * files:
 *
 *   spec.h, field.h   registers, layouts       cmd.c       the command queue
 *   state.h           shared state             commands.c  the list of commands
 *   caps.c            capabilities             hca.c       bring-up, pages
 *   object.c          numbers of objects, keys ring.c      queues in the guest's memory
 *   eq.c              events                   cq.c        completions
 *   wq.c              SQ and RQ commands       tir.c       TIS, TIR, RQT, hash
 *   flow.c            flow tables              vport.c     addresses, promiscuous modes
 *   eth_port.c        link, port registers     tx.c, rx.c  packets
 *
 * Invariants
 * 1. Nothing from the guest is trusted: a number must name an existing object of the right kind, or
 *    the command is refused; each address goes through model_dma.
 * 2. A command checks everything before it changes anything.
 * 3. The byte with the owner bit, which the guest polls, is stored last, with release order.
 *
 * Line-rate mode maps all UAR pages into the guest as plain memory: doorbells are not seen, and the
 * model reads the doorbell records in memory instead.
 *
 * Deliberately missing: everything but Ethernet (QPs, RDMA, SRQs), virtual functions and the
 * e-switch, striding and linked-list receive queues, LRO, tunnels, cryptography, time stamps of
 * real time, matching of inner headers, flow counters, the vendor-specific capability with which
 * firmware is flashed and dumped.
 */
#include "tools/nicsim/mlx5/mlx5.h"

#include <string.h>

#include "tools/nicsim/json.h"
#include "tools/nicsim/mlx5/state.h"

#define BOOT_NS      20000000 /* from power-on until the firmware accepts a command queue */
#define ACCEPT_NS    1000000  /* from then until the firmware serves the queue */
#define HEARTBEAT_NS 10000000 /* the health counter's step */
#define SCAN_NS      20000    /* line-rate: between reads of the doorbell records of CQs */
#define SECONDS      (1u << 29) /* unit of a time limit: */
#define COMMAND_S    10u /* of a command, */
#define QUEUE_S      2u  /* of the acceptance of the command queue */
#define FW_MAJOR     16u
#define FW_MINOR     35u
#define FW_SUBMINOR  2000u

static const struct reg_row rows[] = {
#define ROW(name, offset, ...) {#name, offset, __VA_ARGS__},
	MLX5_REGS(ROW)
#undef ROW
	{0},
};

static const struct fault_kind faults[FAULTS_OF_MLX5 + 1] = {
	[FAULT_INITIALIZING] = {"initializing-stuck", NULL, 0, "INITIALIZING never clears"},
	[FAULT_SLOW_START] = {"slow-start", "SECONDS", 10,
                              "INITIALIZING clears that long after power-on or a reset"},
	[FAULT_COMMAND_TIMEOUT] = {"command-timeout", "N", 10, "one command in N never ends"},
	[FAULT_COMMAND_STATUS] = {"command-status", "N", 10,
                                  "one command in N fails with an internal error"},
	[FAULT_COMMAND_DELIVERY] = {"command-delivery", "N", 10,
                                    "one command in N is not understood"},
	[FAULT_HEALTH_STUCK] = {"health-stuck", NULL, 0, "the health counter stands still"},
	[FAULT_HEALTH_SYNDROME] = {"health-syndrome", NULL, 0,
                                   "the firmware reports an internal error"},
	[FAULT_FOREIGN_PORT] = {"foreign-port", NULL, 0,
                                "the port is not this function's: port registers are refused"},
	[FAULT_NO_COUNTERS] = {"no-q-counters", NULL, 0, "ALLOC_Q_COUNTER is refused"},
	[FAULT_MIN_INLINE] = {"min-inline", "MODE", 1,
                              "the vport wants headers inline: 1 L2, 2 IP, 3 TCP/UDP"},
	[FAULT_SEND_STUCK] = {"send-stuck", NULL, 0, "send queues are not served"},
	[FAULT_SEND_ERROR] = {"send-error", "N", 100, "one WQE in N fails, and its queue with it"},
	[FAULT_RECEIVE_STUCK] = {"receive-stuck", NULL, 0, "receive queues are not served"},
	[FAULT_RECEIVE_ERROR] = {"receive-error", "N", 100,
                                 "one frame in N fails, and its queue with it"},
	[FAULT_BAD_LENGTH] = {"bad-length", "N", 100,
                              "one completion in N says that a frame has 65535 bytes"},
	[FAULT_COMPLETION_LOST] = {"completion-lost", "N", 100, "one completion in N never comes"},
	[FAULTS_OF_MLX5] = {0},
};

/* --- reset --- */

static void set(struct model *m, uint32_t offset, uint32_t value)
{
	put_be32(registers(m) + offset, value);
}

static void busy(struct model *m, uint64_t ns)
{
	nic_of(m)->ready_due = m->now + ns;
	set(m, INITIALIZING, INITIALIZING_BUSY);
}

static void reset_all(struct model *m)
{
	struct nic *n = nic_of(m);
	hca_reset(m);
	cmd_reset(m);
	caps_reset(m);
	vport_reset(m);
	eth_port_reset(m);
	memset(n->sq_ready, 0, sizeof n->sq_ready);
	memset(n->sq_rung, 0, sizeof n->sq_rung);
	n->send_more = false;
	n->cq_due = n->room_due = n->flush_due = NEVER;
	n->scan_due = m->now;
}

static void nic_reset(struct model *m)
{
	nic_of(m)->born = m->now;
	memset(registers(m), 0, BAR_BYTES);
	set(m, FW_REV, FW_MINOR << 16 | FW_MAJOR);
	set(m, CMDIF_REV, CMDIF_REVISION << 16 | FW_SUBMINOR);
	set(m, CMDQ_ADDR_L, CMDQ_LOG_SIZE << 4 | CMDQ_LOG_STRIDE);
	set(m, HEALTH + HEALTH_FW_VER, FW_MAJOR << 24 | FW_MINOR << 16 | FW_SUBMINOR);
	set(m, CMD_EXEC_TO, SECONDS | COMMAND_S);
	set(m, CMD_EXEC_TO + 4, SECONDS | QUEUE_S);
	busy(m, BOOT_NS);
	reset_all(m);
}

/* The end of a slow start; 0: it is not slow. */
static uint64_t slow_until(const struct model *m)
{
	const struct nic *n = nic_of(m);
	return model_fault(m, FAULT_SLOW_START)
	               ? n->born + m->fault_arg[FAULT_SLOW_START] * 1000000000u
	               : 0;
}

static void ready_work(struct model *m)
{
	struct nic *n = nic_of(m);
	if (n->ready_due == 0 || n->ready_due > m->now || model_fault(m, FAULT_INITIALIZING) ||
	    m->now < slow_until(m))
		return;
	n->ready_due = 0;
	set(m, INITIALIZING, 0);
}

/* --- the initialisation segment --- */

/* Updates the registers that are clocks, before a read. */
static void refresh(struct model *m)
{
	const struct nic *n = nic_of(m);
	const uint64_t timer = cycles(m);
	const uint64_t alive = model_fault(m, FAULT_HEALTH_STUCK) ? n->stuck_at : m->now;
	set(m, TIMER_H, (uint32_t)(timer >> 32));
	set(m, TIMER_L, (uint32_t)timer);
	set(m, HEALTH_COUNTER, (uint32_t)((alive - n->born) / HEARTBEAT_NS));
}

/*
 * The write of the low half completes the queue's address. With nic_interface set,
 * it resets the device: a driver that gets no more answers uses this.
 */
static void queue_write(struct model *m, uint32_t value)
{
	struct nic *n = nic_of(m);
	const uint32_t size = CMDQ_LOG_SIZE << 4 | CMDQ_LOG_STRIDE;
	set(m, CMDQ_ADDR_L, (value & 0xffffff00) | size);
	if (value & CMDQ_INTERFACE) {
		reset_all(m);
		return;
	}
	n->queue = (uint64_t)be32(registers(m) + CMDQ_ADDR_H) << 32 | (value & 0xfffff000);
	busy(m, ACCEPT_NS);
}

static void segment_write(struct model *m, uint32_t at, uint32_t value)
{
	ready_work(m);
	if (nic_of(m)->ready_due) {
		model_violation(m, "%s written while INITIALIZING", model_reg(m, at).row->name);
		return;
	}
	switch (at) {
	case CMDQ_ADDR_H:
		set(m, CMDQ_ADDR_H, value);
		break;
	case CMDQ_ADDR_L:
		queue_write(m, value);
		break;
	case CMD_DOORBELL:
		cmd_doorbell(m, value);
		break;
	}
}

/* --- UAR pages --- */

/* A 64-bit doorbell may arrive as two halves: the second one takes effect. */
static void uar_write(struct model *m, uint32_t at, uint32_t value)
{
	const uint32_t uar = at / PAGE, within = at % PAGE;
	set(m, at, value);
	if (object_find(m, UAR, uar) == NULL)
		model_violation(m, "doorbell in UAR %u, which is not allocated", uar);
	else if (within == UAR_EQ_ARM || within == UAR_EQ_CI)
		eq_doorbell(m, uar, value, within == UAR_EQ_ARM);
	else if (within == UAR_CQ_ARM + 4)
		cq_doorbell(m, uar, be32(registers(m) + at - 4), value);
	else if (within >= UAR_SQ_DB && within % 8 == 4)
		send_doorbell(m, uar, be32(registers(m) + at - 4), value);
}

/* --- the contract --- */

/* Begins every call from outside that may access the guest's memory. */
static struct nic *enter(struct model *m)
{
	struct nic *n = nic_of(m);
	n->call++;
	model_enter(m);
	return n;
}

/* Reads may be of any size: drivers read single bytes of the health buffer. */
static uint64_t nic_read(struct model *m, unsigned bar, uint64_t offset, unsigned bytes)
{
	uint64_t value = 0;
	if (bar != 0 || offset >= UAR_AT || bytes > UAR_AT - offset)
		return 0; /* UAR pages are write-only */
	ready_work(m);
	refresh(m);
	memcpy(&value, registers(m) + offset, bytes);
	return value;
}

static void write32(struct model *m, uint32_t at, uint32_t value)
{
	const struct reg_row *row = model_reg(m, at).row;
	if (row == NULL || row->access == REG_RO)
		return;
	if (at < UAR_AT)
		segment_write(m, at, value);
	else
		uar_write(m, at, value);
}

static void nic_write(struct model *m, unsigned bar, uint64_t offset, unsigned bytes,
                      uint64_t value)
{
	enter(m);
	if (bar != 0 || offset >= BAR_BYTES || bytes > BAR_BYTES - offset)
		return;
	if (bytes < 4 || offset % 4) {
		model_violation(m, "write of %u bytes at 0x%05x: registers take 32 bits, aligned",
		                bytes, (unsigned)offset);
		return;
	}
	for (unsigned i = 0; i < bytes; i += 4)
		write32(m, (uint32_t)offset + i, __builtin_bswap32((uint32_t)(value >> 8 * i)));
}

static unsigned nic_rx_room(struct model *m, unsigned max)
{
	enter(m);
	return receive_room(m, max);
}

static void nic_receive(struct model *m, const struct frame *v, unsigned count)
{
	enter(m);
	receive_frames(m, v, count);
}

static void nic_carrier(struct model *m)
{
	enter(m);
	eth_port_link(m);
}

static bool nic_work(struct model *m)
{
	struct nic *n = enter(m);
	ready_work(m);
	cmd_work(m);
	if (m->line_rate && n->scan_due <= m->now) {
		n->scan_due = m->now + SCAN_NS;
		cq_scan(m);
	}
	eth_port_work(m);
	if (n->room_due <= m->now)
		n->room_due = NEVER;
	receive_work(m);
	bool moved = send_work(m);
	cq_work(m);
	return moved;
}

static uint64_t earliest(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t nic_deadline(struct model *m)
{
	const struct nic *n = nic_of(m);
	uint64_t due = earliest(n->command_due, n->cq_due);
	due = earliest(due, earliest(n->room_due, n->port.link_due));
	due = earliest(due, n->flush_due);
	if (n->send_more && !model_fault(m, FAULT_SEND_STUCK))
		due = m->now;
	if (n->ready_due && !model_fault(m, FAULT_INITIALIZING))
		due = earliest(due, n->ready_due > slow_until(m) ? n->ready_due : slow_until(m));
	return m->line_rate ? earliest(due, n->scan_due) : due;
}

static void nic_destroy(struct model *m)
{
	object_end_all(m);
}

static void nic_fault(struct model *m, unsigned index)
{
	if (index == FAULT_HEALTH_STUCK)
		nic_of(m)->stuck_at = m->now;
	if (index == FAULT_HEALTH_SYNDROME)
		registers(m)[HEALTH + HEALTH_SYNDROME] =
			model_fault(m, index) ? HEALTH_FW_ERROR : 0;
}

static void nic_stats(struct model *m, struct json *j)
{
	const struct nic *n = nic_of(m);
	unsigned objects = 0;
	for (enum kind kind = NO_KIND + 1; kind < KINDS; kind++)
		objects += object_count(m, kind);
	json_u64(j, "commands", n->commands);
	json_u64(j, "commands_refused", n->commands_refused);
	json_u64(j, "pages", n->pages);
	json_u64(j, "objects", objects);
	json_bool(j, "enabled", n->state != HCA_DISABLED);
	json_u64(j, "link_downs", n->link_downs);
	json_bool(j, "pause_sent", n->port.pfcc[4] & 0x80);
	json_bool(j, "pause_obeyed", n->port.pfcc[8] & 0x80);
}

static const struct bar_range mapped[] = {{UAR_AT, BAR_BYTES - UAR_AT}, {0, 0}};

const struct model_ops connectx5_ops = {
	.name = "mlx5",
	.title = "Mellanox ConnectX-5 100 GbE (15b3:1017)",
	.state_bytes = sizeof(struct nic),
	.vendor = 0x15b3,
	.device = 0x1017,
	.subsystem_vendor = 0x15b3,
	.subsystem = 0x0007,
	.class_code = 0x020000,
	.revision = 0,
	.bar_bytes = {[0] = BAR_BYTES},
	.bar_is_64 = {[0] = true},
	.pm_cap = 0x40,
	.pcie_cap = 0x60,
	.msix_cap = 0x9c,
	.pcie_speed = 3,
	.pcie_lanes = 16,
	.msix_vectors = VECTORS,
	.msix_bar = 0,
	.msix_table = MSIX_TABLE,
	.msix_pba = MSIX_PBA,
	.mapped = mapped,
	.regs = rows,
	.faults = faults,
	.create = nic_reset,
	.destroy = nic_destroy,
	.reset = nic_reset,
	.read = nic_read,
	.write = nic_write,
	.rx_room = nic_rx_room,
	.receive = nic_receive,
	.work = nic_work,
	.deadline = nic_deadline,
	.carrier = nic_carrier,
	.fault = nic_fault,
	.stats = nic_stats,
};
