/*
 * The Intel I226-V as a device model (spec.h): one function, a flash, a copper PHY of 2.5 Gb/s.
 *
 * This file: identity, reset, semaphores, and the dispatch of register accesses. The other files:
 *
 *   spec.h   registers and bits      phy.c    MDIC, the PHY, the link
 *   state.h  shared state            intr.c   causes, masks, EITR
 *   stats.c  counters
 *
 * Queues, descriptors, filters and offloads are in intel/. The invariants are those of 82599/82599.c.
 *
 * Rules that this file checks: SW_FW_SYNC changes only with SWSM.SWESMBI; EERD is used only with SW_FW_SYNC.SW_EEP_SM;
 * no register is written during a reset.
 *
 * Line-rate mode maps 0xc000-0xcfff (receive queues) and 0xe000-0xefff (transmit queues) into the guest as plain
 * memory. Besides the lost trace: ENABLE reads back at once and takes effect within SCAN_NS; RQDPC stays 0, and MPC
 * counts its frames.
 *
 * Deliberately missing: time stamps, schedules (TSN), flow filters, energy-efficient Ethernet, wake-up, writes of the
 * flash, legacy interrupts, header split, loopback.
 */
#include "tools/nicsim/i226/i226.h"

#include "tools/nicsim/i226/state.h"
#include "tools/nicsim/intel/rx_queue.h"

#define RESET_NS 1000
#define BAR_BYTES (1u << 20)
#define FRAME_STANDARD 1518 /* with FCS; longer ones need RCTL.LPE */

static const struct reg_row rows[] = {
#define ROW(name, offset, stride, count, access, writable, section)                             \
	{#name, offset, stride, count, access, writable, section},
	INTEL_I226_REGS(ROW)
#undef ROW
	{0},
};

static const struct fault_kind faults[FAULTS_OF_I226 + 1] = {
	INTEL_FAULT_ROWS,
	[FAULT_RESET_STUCK] = {"reset-stuck", NULL, 0, "CTRL.RST never clears"},
	[FAULT_EEPROM_CHECKSUM] = {"eeprom-checksum", NULL, 0, "EEPROM checksum is wrong"},
	[FAULT_MASTER_STUCK] = {"master-disable-stuck", NULL, 0,
	                        "STATUS says GIO master enabled after CTRL.GIO_DIS"},
	[FAULT_PHY_STUCK] = {"phy-stuck", NULL, 0, "MDIC.READY never sets"},
	[FAULT_LINK_LATE] = {"link-late", "N", 5, "no link before the Nth restart of negotiation since power-on"},
	[FAULTS_OF_I226] = {0},
};

/* --- reset --- */

static void eeprom_make(struct model *m)
{
	uint16_t *w = nic_of(m)->eeprom;
	for (unsigned i = 0; i < EEPROM_WORDS; i++)
		w[i] = 0xffff;
	for (unsigned i = 0; i < 3; i++)
		w[i] = (uint16_t)(m->mac[2 * i] | m->mac[2 * i + 1] << 8);
	eeprom_seal(m, 0);
	if (model_fault(m, FAULT_EEPROM_CHECKSUM))
		w[0x3f] ^= 0x0101;
}

/* Of the packet buffers, the sizes survive CTRL.RST. */
static void reset_registers(struct model *m, bool power_on)
{
	const uint32_t rxpbs = get(m, RXPBS), txpbs = get(m, TXPBS), phpm = get(m, PHPM);
	for (const struct reg_row *row = rows; row->name; row++)
		for (uint32_t i = 0; i < row->count; i++)
			set(m, row->offset + i * row->stride, 0);
	set(m, STATUS, STATUS_GIO_MASTER);
	set(m, EEC, EEC_PRES | EEC_FLASH | EEC_FLUDONE | 5u << EEC_SIZE_SHIFT);
	set(m, EERD, EERD_DONE);
	set(m, MDIC, MDIC_READY);
	set(m, VET, 0x81008100);
	set(m, RLPML, 9728);
	set(m, DTXTCPFLGL, 0x0f76u << 16 | 0x0ff6); /* FIN and PSH only at the end, CWR at the start */
	set(m, DTXTCPFLGH, 0x0f7f);
	set(m, RXPBS, power_on ? 0x000000a2 : rxpbs);
	set(m, TXPBS, power_on ? 0x04000014 : txpbs);
	set(m, PHPM, power_on ? PHPM_RST_COMP : phpm);
	const uint8_t *a = m->mac; /* loaded from the EEPROM */
	set(m, RAL, a[0] | (uint32_t)a[1] << 8 | (uint32_t)a[2] << 16 | (uint32_t)a[3] << 24);
	set(m, RAH, RAH_AV | a[4] | (uint32_t)a[5] << 8);
}

static void learn_buffer(struct model *m)
{
	nic_of(m)->fifo.limit = (get(m, RXPBS) & RXPBS_KB) << 10;
}

/* The PHY and its link stay as they are. */
static void reset_all(struct model *m, bool power_on)
{
	struct i226 *n = own_of(m);
	nic_clear(m);
	i226_intr_reset(m);
	reset_registers(m, power_on);
	learn_buffer(m);
	n->mdic_done = NEVER;
	i226_link_update(m);
}

static void ctrl_write(struct model *m, uint32_t value)
{
	struct nic *n = nic_of(m);
	const uint32_t old = get(m, CTRL);
	if (value & (CTRL_RST | CTRL_DEV_RST)) {
		reset_all(m, false);
		set(m, CTRL, value & (CTRL_RST | CTRL_DEV_RST | CTRL_GIO_DIS));
		n->reset_done = m->now + RESET_NS;
		return;
	}
	set(m, CTRL, value);
	if (value & CTRL_PHY_RST) {
		if (!(get(m, SW_FW_SYNC) & SYNC_PHY))
			model_violation(m, "CTRL.PHY_RST without SW_FW_SYNC.SW_PHY_SM");
		set(m, PHPM, get(m, PHPM) & ~(uint32_t)PHPM_RST_COMP);
		i226_phy_reset(m);
	} else if (old & CTRL_PHY_RST) {
		set(m, PHPM, get(m, PHPM) | PHPM_RST_COMP);
	}
	/* master disable: STATUS.GIO_MASTER clears when no request is pending; here none ever is */
	const bool off = value & CTRL_GIO_DIS && !model_fault(m, FAULT_MASTER_STUCK);
	set(m, STATUS, off ? 0 : STATUS_GIO_MASTER);
	i226_link_update(m);
}

static void reset_work(struct model *m)
{
	struct nic *n = nic_of(m);
	if (n->reset_done == 0 || n->reset_done > m->now || model_fault(m, FAULT_RESET_STUCK))
		return;
	n->reset_done = 0;
	set(m, CTRL, 0);
	set(m, EEC, get(m, EEC) | EEC_AUTO_RD);
}

/* --- registers --- */

static uint32_t status_read(struct model *m)
{
	uint32_t value = get(m, STATUS);
	if (!nic_of(m)->link)
		return value;
	value |= STATUS_FD | STATUS_LU;
	switch (i226_mbps(m)) {
	case 2500:
		return value | STATUS_SPEED_1000 | STATUS_SPEED_2500;
	case 1000:
		return value | STATUS_SPEED_1000;
	case 100:
		return value | STATUS_SPEED_100;
	}
	return value;
}

static void swsm_write(struct model *m, uint32_t value)
{
	set(m, SWSM, value); /* SWESMBI is granted at once: there is no firmware */
}

static void sync_write(struct model *m, uint32_t value)
{
	if (!(get(m, SWSM) & SWSM_SWESMBI))
		model_violation(m, "SW_FW_SYNC = 0x%08x without SWSM.SWESMBI", value);
	set(m, SW_FW_SYNC, value);
}

static void other_write(struct model *m, uint32_t at, uint32_t value)
{
	switch (at) {
	case CTRL:
		ctrl_write(m, value);
		return;
	case MDIC:
		i226_mdic_write(m, value);
		return;
	case EEC: /* the flash is not written */
		return;
	case EERD:
		if (value & EERD_START && !(get(m, SW_FW_SYNC) & SYNC_EEP))
			model_violation(m, "EERD = 0x%08x without SW_FW_SYNC.SW_EEP_SM", value);
		eerd_write(m, value);
		return;
	case SWSM:
		swsm_write(m, value);
		return;
	case SW_FW_SYNC:
		sync_write(m, value);
		return;
	case PHPM: /* RST_COMP belongs to the device */
		set(m, PHPM, (value & ~(uint32_t)PHPM_RST_COMP) | (get(m, PHPM) & PHPM_RST_COMP));
		return;
	}
	const uint32_t old = get(m, at);
	set(m, at, value);
	if (at == RCTL && old & RCTL_EN && !(value & RCTL_EN)) /* waiting frames are discarded */
		rx_forget(m);
	if (at == RXPBS)
		learn_buffer(m);
	if (at >= RETA && at < RSSRK + 4 * 10)
		nic_of(m)->rss_stale = true;
	if (at >= RAL && at < RAL + 8 * 16)
		nic_of(m)->filters_stale = true;
}

static bool rx_queue_at(uint32_t at, unsigned *queue)
{
	*queue = (at - RDBAL) / 64;
	return at >= RDBAL && at < RDBAL + 64 * I226_QUEUES;
}

static bool tx_queue_at(uint32_t at, unsigned *queue)
{
	*queue = (at - TDBAL) / 64;
	return at >= TDBAL && at < TDBAL + 64 * I226_QUEUES && (at & 63) != (TXCTL & 63);
}

static bool is_drops(uint32_t at)
{
	unsigned queue;
	return rx_queue_at(at, &queue) && (at & 63) == (RQDPC & 63);
}

static void write32(struct model *m, uint32_t at, uint32_t value)
{
	struct nic *n = nic_of(m);
	unsigned queue;
	const struct reg_row *row = model_reg(m, at).row;
	if (row == NULL || row->access == REG_RO || row->access == REG_RC)
		return;
	reset_work(m);
	if (n->reset_done) {
		model_violation(m, "%s written during reset (CTRL.RST not clear)", row->name);
		return;
	}
	value &= row->writable;
	if (i226_is_interrupt(at))
		i226_intr_write(m, at, value);
	else if (is_drops(at))
		n->s.qprdc[(at - RDBAL) / 64] = value;
	else if (rx_queue_at(at, &queue))
		rx_queue_write(m, queue, at & 63, value);
	else if (tx_queue_at(at, &queue))
		tx_write(m, queue, at & 63, value);
	else if (row->access == REG_W1C)
		set(m, at, get(m, at) & ~value);
	else
		other_write(m, at, value);
}

static uint32_t read32(struct model *m, uint32_t at)
{
	uint32_t value;
	reset_work(m);
	if (i226_is_interrupt(at))
		return i226_intr_read(m, at);
	if (i226_stats_read(m, at, &value))
		return value;
	if (is_drops(at) && !m->line_rate)
		return (uint32_t)nic_of(m)->s.qprdc[(at - RDBAL) / 64];
	switch (at) {
	case EERD:
		eerd_work(m);
		break;
	case MDIC:
		i226_phy_work(m);
		break;
	case STATUS:
		i226_phy_work(m);
		return status_read(m);
	case SWSM:
		return swsm_read(m);
	}
	return get(m, at);
}

/* --- what intel/ asks for --- */

static void mode(const struct model *m, struct mac_mode *out)
{
	const uint32_t rctl = get(m, RCTL), tctl = get(m, TCTL);
	const bool jumbo = rctl & RCTL_LPE;
	*out = (struct mac_mode){
		.listens = rctl & RCTL_EN,
		.sends = tctl & TCTL_EN,
		.keeps_fcs = !(rctl & RCTL_SECRC),
		.keeps_bad = rctl & RCTL_SBP,
		.pads = tctl & TCTL_PSP,
		.strips_tag = get(m, CTRL) & CTRL_VME,
		.upe = rctl & RCTL_UPE,
		.mpe = rctl & RCTL_MPE,
		.bam = rctl & RCTL_BAM,
		.mta_on = true,
		.mta_offset = rctl >> RCTL_MO_SHIFT & 3,
		.vlan_on = rctl & RCTL_VFE,
		.tag_type = (uint16_t)get(m, VET),
		.longest = jumbo ? get(m, RLPML) : FRAME_STANDARD,
		.tag_bytes = jumbo ? 0 : 4,
	};
}

static void overrun(struct model *m)
{
	i226_intr_other(m, ICR_RXO);
}

static const struct intel_kind kind = {
	.rx_base = RDBAL,
	.tx_base = TDBAL,
	.srrctl = SRRCTL & 63,
	.mrqc = MRQC,
	.rssrk = RSSRK,
	.reta = RETA,
	.rxcsum = RXCSUM,
	.ral = RAL,
	.rah = RAH,
	.mta = MTA,
	.vfta = VFTA,
	.eerd = EERD,
	.swsm = SWSM,
	.tcp_flags = DTXTCPFLGL,
	.queues = I226_QUEUES,
	.stations = 16,
	.mrqc_on = MRQC_RSS,
	.reta_mask = I226_QUEUES - 1,
	.reta_entries = 128,
	.fifo_bytes = FIFO_BYTES,
	.bsize_mask = SRRCTL_BSIZEPACKET,
	.drop_en = SRRCTL_DROP_EN,
	.rxe = RXD_RXE,
	.l4e = RXD_L4E,
	.ipe = RXD_IPE,
	.octets_high = 32,
	.mode = mode,
	.rx_event = i226_intr_rx,
	.tx_event = i226_intr_tx,
	.overrun = overrun,
	.read = read32,
	.write = write32,
};

/* --- the contract --- */

static bool i226_work(struct model *m)
{
	struct nic *n = nic_enter(m);
	reset_work(m);
	i226_phy_work(m);
	if (n->reset_done)
		return false;
	eerd_work(m);
	nic_scan(m);
	bool moved = nic_move(m);
	i226_intr_work(m);
	return moved;
}

static uint64_t i226_deadline(struct model *m)
{
	const struct nic *n = nic_of(m);
	const struct i226 *own = own_of(m);
	uint64_t due = model_fault(m, FAULT_PHY_STUCK) ? NEVER : own->mdic_done;
	if (n->reset_done)
		return nic_earliest(nic_earliest(due, n->link_due),
		                    model_fault(m, FAULT_RESET_STUCK) ? NEVER : n->reset_done);
	return nic_earliest(due, nic_earliest(nic_due(m), own->irq_due));
}

static void i226_carrier(struct model *m)
{
	nic_enter(m);
	i226_link_update(m);
}

static void i226_fault(struct model *m, unsigned index)
{
	nic_enter(m);
	if (index == FAULT_EEPROM_CHECKSUM)
		eeprom_make(m);
	nic_of(m)->hangs |= index == FAULT_SEND_HANGS && model_fault(m, index);
	if (index == FAULT_LINK_LATE)
		i226_link_update(m);
}

static void i226_reset(struct model *m)
{
	nic_enter(m);
	nic_of(m)->reset_done = 0;
	own_of(m)->phy.restarts = 0;
	reset_all(m, true);
	set(m, EEC, get(m, EEC) | EEC_AUTO_RD);
	i226_phy_reset(m);
}

static void i226_create(struct model *m)
{
	nic_of(m)->kind = &kind;
	own_of(m)->partner_mbps = 2500;
	eeprom_make(m);
	i226_reset(m);
}

uint16_t *i226_eeprom(struct model *m)
{
	return nic_of(m)->eeprom;
}

static const struct bar_range mapped[] = {{0xc000, 0x1000}, {0xe000, 0x1000}, {0, 0}};

const struct model_ops intel_i226_ops = {
	.name = "i226",
	.title = "Intel I226-V 2.5 GbE (8086:125c)",
	.state_bytes = sizeof(struct i226),
	.vendor = 0x8086,
	.device = 0x125c,
	.subsystem_vendor = 0x8086,
	.subsystem = 0x0000,
	.class_code = 0x020000,
	.revision = 4,
	.bar_bytes = {[0] = BAR_BYTES, [3] = 16 << 10},
	.msix_cap = 0x70,
	.pcie_cap = 0xa0,
	.pm_cap = 0x40,
	.pcie_speed = 2,
	.pcie_lanes = 1,
	.msix_vectors = VECTORS,
	.msix_bar = 3,
	.msix_table = 0,
	.msix_pba = 0x2000,
	.mapped = mapped,
	.regs = rows,
	.faults = faults,
	.create = i226_create,
	.reset = i226_reset,
	.read = nic_read,
	.write = nic_write,
	.rx_room = nic_rx_room,
	.receive = nic_receive,
	.work = i226_work,
	.deadline = i226_deadline,
	.carrier = i226_carrier,
	.fault = i226_fault,
	.stats = i226_stats_json,
};
