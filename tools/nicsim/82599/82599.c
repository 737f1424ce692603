/*
 * The Intel 82599ES as a device model, from the "Intel 82599 10 GbE Controller Datasheet", revision
 * 3.3 (spec.h). A port of a board like the X520-DA2: one function, an EEPROM, an SFP+ cage with a
 * 10GBASE-SR module in it.
 *
 * This file: identity, reset, link, semaphores, and the dispatch of register accesses. The other
 * files:
 *
 *   spec.h     registers and bits         intr.c      causes, masks, EITR
 *   state.h    shared state               stats.c     counters
 *   eeprom.c   the EEPROM's contents      limiter.c   rate of a transmit queue
 *   sfp.c      I2C and the module         timesync.c  clock and time stamps
 *   phy.c      MDIO and a PHY             x550.c      what the X550 has instead
 *   tuple.c    5-tuple filters
 *
 * Queues, descriptors, filters and offloads are in intel/.
 *
 * Invariants
 * 1. Nothing from the guest is trusted: every index is reduced, every address goes through
 *    model_dma, and an invalid ring is reported once and ignored until it is enabled again.
 * 2. Registers that the guest maps (line-rate mode) never hold state of the model.
 * 3. A descriptor becomes visible when its last quad-word is stored, with release order.
 *
 * Line-rate mode maps 0x1000-0x1fff (receive queues 0-63) and 0x6000-0x7fff (transmit queues) into
 * the guest as plain memory. Consequences, besides the lost trace: ENABLE reads back at once and
 * takes effect within SCAN_NS; the counters in these pages (QPRC, QPRDC, QBRC, QPTC at 0x6030) stay
 * 0, because they could not clear when read (RXMPC counts the frames that QPRDC would); a queue is
 * idle at most SCAN_NS after ENABLE was cleared, which the wait of 8.2.3.8.6 (100 us) covers.
 *
 * Deliberately missing: SR-IOV and VMDq pools, DCB, RSC (7.11 allows a device never to coalesce),
 * header split (other DESCTYPEs are a violation), flow director matches (filters are accepted but
 * match nothing), LinkSec, IPsec, FCoE, wake-up, legacy interrupts, 1 GbE links.
 */
#include "tools/nicsim/82599/82599.h"

#include "tools/nicsim/82599/state.h"
#include "tools/nicsim/intel/rx_queue.h"

#define RESET_NS 1000          /* 4.2.1.6: CTRL.RST clears itself. LINUX: polls for 10 us only */
#define LINK_NS 20000000       /* from carrier to link */
#define MAC_BYTES (512u << 10) /* BAR 0 */

static const struct reg_row rows[] = {
#define ROW(name, offset, stride, count, access, writable, section)                             \
	{#name, offset, stride, count, access, writable, section},
	INTEL_82599_REGS(ROW)
	{0},
};

/* The first row of an offset counts (reg.h). */
static const struct reg_row x550_rows[] = {
	INTEL_X550_CHANGED_REGS(ROW) INTEL_X550_NEW_REGS(ROW) INTEL_82599_REGS(ROW)
#undef ROW
	{0},
};

static const struct fault_kind faults[FAULTS_OF_82599 + 1] = {
	INTEL_FAULT_ROWS,
	[FAULT_RESET_STUCK] = {"reset-stuck", NULL, 0, "CTRL.RST and LRST never clear"},
	[FAULT_EEPROM_CHECKSUM] = {"eeprom-checksum", NULL, 0, "EEPROM checksum is wrong"},
	[FAULT_NO_DMA_DONE] = {"no-dma-done", NULL, 0, "RDRXCTL.DMAIDONE never sets"},
	[FAULT_SECRX_LATE] = {"secrx-late", "MS", 30, "the receive path is empty MS after SECRXCTRL.RX_DIS"},
	[FAULT_MASTER_STUCK] = {"master-disable-stuck", NULL, 0,
                                "STATUS says GIO master enabled after CTRL.GIO_DIS"},
	[FAULT_STAMP_LOST] = {"stamp-lost", "N", 100, "one time stamp in N is not taken"},
	[FAULT_LINK_LATE] = {"link-late", "N", 5, "no link before the Nth restart since reset (AUTOC)"},
	[FAULT_FIRMWARE_STUCK] = {"firmware-stuck", NULL, 0, "X550: HICR.C never clears"},
	[FAULT_MEMORY_ERROR] = {"memory-error", NULL, 0, "EICR.ECC is set, once"},
	[FAULT_MODULE_OUT] = {"module-out", NULL, 0, "no module is in the SFP+ cage"},
	[FAULTS_OF_82599] = {0},
};

/* --- register values after reset --- */

/* The offset that holds the value, where two offsets are one register. */
static uint32_t canonical(uint32_t at)
{
	if (at >= RAL_ALIAS && at < RAL_ALIAS + 16 * 8)
		return RAL + (at - RAL_ALIAS);
	if (at >= SRRCTL_2100 && at < SRRCTL_2100 + 16 * 4)
		return SRRCTL_1014 + (at - SRRCTL_2100) / 4 * 64;
	if (at >= DCA_RXCTRL_2200 && at < DCA_RXCTRL_2200 + 16 * 4)
		return DCA_RXCTRL_100C + (at - DCA_RXCTRL_2200) / 4 * 64;
	if (at >= PSRTYPE_ALIAS && at < PSRTYPE_ALIAS + 16 * 4)
		return PSRTYPE + (at - PSRTYPE_ALIAS);
	if (at >= RSSRK_ALIAS && at < RSSRK_ALIAS + 10 * 4)
		return RSSRK + (at - RSSRK_ALIAS);
	if (at >= RETA_ALIAS && at < RETA_ALIAS + 32 * 4)
		return RETA + (at - RETA_ALIAS);
	if (at == MRQC_ALIAS)
		return MRQC;
	return at == CTRL_ALIAS ? CTRL : at;
}

/* 8.2.3, initial values; those loaded from the EEPROM are typical of the X520. */
static void reset_registers(struct model *m)
{
	for (const struct reg_row *row = m->ops->regs; row->name; row++)
		for (uint32_t i = 0; i < row->count; i++)
			set(m, row->offset + i * row->stride, 0);
	set(m, STATUS, STATUS_GIO_MASTER);
	set(m, EEC, EEC_PRES | EEC_AUTO_RD | EEC_ADDR_SIZE | 3u << EEC_SIZE_SHIFT);
	set(m, EERD, EERD_DONE);
	set(m, FWSM, FWSM_VALID | FWSM_MODE_NONE);
	set(m, HLREG0, HLREG0_TXCRCEN | HLREG0_RXCRCSTRP | HLREG0_TXPADEN | 1u << 16 |
	                       HLREG0_RXLNGTHERREN);
	set(m, MAXFRS, 1518u << 16);
	for (unsigned q = 0; q < QUEUES; q++)
		set(m, q < 64 ? DCA_RXCTRL_100C + q * 64 : DCA_RXCTRL_64 + (q - 64) * 64, 0xb200);
	set(m, AUTOC, 0xf09c6004); /* 10G serial, SFI; KX and KR advertise PAUSE */
	set(m, PCS1GANA, 0x1a0);   /* full duplex; PAUSE */
	set(m, AUTOC2, 0x000a0000);
	set(m, ANLP1, 0);
	set(m, RXPBSIZE, kind_of(m)->fifo_bytes);
	if (own_of(m)->variant->x550)
		set(m, HICR, HICR_EN);
	set(m, TXPBSIZE, 160u << 10);
	set(m, DTXTCPFLGL, 0x0f76u << 16 | 0x0ff6); /* FIN and PSH only at the end, CWR at the start */
	set(m, DTXTCPFLGH, 0x0f7f);
	set(m, DTXMXSZRQ, 0x10);
	set(m, DMATXCTL, 0x81000000); /* VLAN EtherType 0x8100 */
	set(m, VLNCTRL, 0x8100);
	set(m, SECRXSTAT, SECSTAT_RDY);
	set(m, SECTXSTAT, SECSTAT_RDY);
	set(m, RXMTRL, 0x03190000); /* not 319, the port of PTP events */
	set(m, SECTXMINIFG, 0x1001);
	set(m, SECTXBUFFAF, 0x250);
	if (!model_fault(m, FAULT_NO_DMA_DONE))
		set(m, RDRXCTL, RDRXCTL_DMAIDONE);
	uint8_t *a = m->mac; /* loaded from the EEPROM */
	set(m, RAL, a[0] | (uint32_t)a[1] << 8 | (uint32_t)a[2] << 16 | (uint32_t)a[3] << 24);
	set(m, RAH, RAH_AV | a[4] | (uint32_t)a[5] << 8);
}

/* --- link, 8.2.3.22.19: goes up LINK_NS after signal and a mode that 10GBASE-SR or KX4/KR can have
 *
 *     DOWN --carrier or FLU or restart--> TRAINING --LINK_NS--> UP
 *     UP, TRAINING --no carrier, restart, reset--> DOWN                          --- */

static bool forced_up(const struct model *m)
{
	return get(m, AUTOC) & AUTOC_FLU || get(m, HLREG0) & HLREG0_LPBK;
}

static bool has_signal(const struct model *m)
{
	return m->carrier && !model_fault(m, FAULT_MODULE_OUT);
}

/* LINUX: SDP3 switches the module's laser off, SDP5 tells a module with two speeds which. */
static bool module_sends(const struct model *m, bool slow)
{
	const struct sfp_codes *c = &own_of(m)->module;
	const uint32_t pins = get(m, ESDP);
	if (own_of(m)->phy.there)
		return !phy_low_power(&own_of(m)->phy);
	if (pins & ESDP_SDP3_DATA)
		return false;
	return !(c->ten && c->one) || !(pins & ESDP_SDP5_DIR) || slow == !(pins & ESDP_SDP5_DATA);
}

/* LMS, bits 15:13: 0 and 2 are 1 GbE. */
static bool can_link(const struct model *m)
{
	const struct nic82599 *n = own_of(m);
	if (n->variant->x550) /* its firmware follows the PHY */
		return has_signal(m) && module_sends(m, false);
	const uint32_t lms = get(m, AUTOC) >> AUTOC_LMS_SHIFT & 7;
	const bool slow = lms == 0 || lms == 2;
	if (model_fault(m, FAULT_LINK_LATE) && n->restarts < m->fault_arg[FAULT_LINK_LATE])
		return false;
	return has_signal(m) && slow == n->partner_is_slow && module_sends(m, slow) &&
	       !(get(m, AUTOC2) & AUTOC2_DISABLE);
}

static void link_set(struct model *m, bool up)
{
	struct nic *n = nic_of(m);
	if (n->link == up)
		return;
	n->link = up;
	n->mode_call = 0;
	intr_other(m, EICR_LSC);
}

void link_update(struct model *m)
{
	struct nic *n = nic_of(m);
	if (forced_up(m)) {
		n->link_due = NEVER;
		link_set(m, true);
	} else if (!can_link(m)) {
		n->link_due = NEVER;
		link_set(m, false);
	} else if (!n->link && n->link_due == NEVER) {
		n->link_due = m->now + LINK_NS;
	}
}

static void link_work(struct model *m)
{
	struct nic *n = nic_of(m);
	if (n->link_due > m->now)
		return;
	n->link_due = NEVER;
	link_set(m, true);
}

static void autoc_write(struct model *m, uint32_t value)
{
	set(m, AUTOC, value & ~AUTOC_RESTART_AN);
	if (value & AUTOC_RESTART_AN) {
		/* ANLP1 19:16: the auto-negotiation state machine has left its first state */
		set(m, ANLP1, 1u << 16);
		nic_of(m)->link_due = NEVER;
		own_of(m)->restarts++;
		link_set(m, false);
	}
	link_update(m);
}

static uint32_t links(const struct model *m)
{
	if (!nic_of(m)->link)
		return has_signal(m) ? LINKS_SIGNAL : 0;
	if (own_of(m)->variant->x550)
		return x550_speed(own_of(m)->mbps) | LINKS_UP;
	if (own_of(m)->partner_is_slow)
		return LINKS_SIGNAL | LINKS_SPEED_1G | LINKS_UP | LINKS_KX_AN_COMP;
	return LINKS_SIGNAL | LINKS_10G_ALIGN | LINKS_SPEED_10G | LINKS_UP | LINKS_KX_AN_COMP;
}

/* --- reset, 4.2.1.6 --- */

/* CTRL.RST leaves the link as it is, LRST resets it, too. Either leaves the pins of ESDP; that is an assumption, the
 * worse case for a driver. */
static void reset_all(struct model *m, bool link)
{
	struct nic *n = nic_of(m);
	const uint32_t pins = get(m, ESDP);
	nic_clear(m);
	limiter_reset(m);
	tuple_reset(m);
	intr_reset(m);
	reset_registers(m);
	set(m, ESDP, pins);
	timesync_reset(m);
	if (link) {
		n->link = false;
		n->link_due = NEVER;
		own_of(m)->restarts = 0;
	}
	own_of(m)->command_done = NEVER;
	own_of(m)->sfp = (struct sfp){.scl = true, .sda = true, .out = true};
	link_update(m);
}

static void ctrl_write(struct model *m, uint32_t value)
{
	struct nic *n = nic_of(m);
	if (value & (CTRL_RST | CTRL_LRST)) {
		reset_all(m, value & CTRL_LRST);
		set(m, CTRL, value & (CTRL_RST | CTRL_LRST | CTRL_GIO_DIS));
		n->reset_done = m->now + RESET_NS;
		return;
	}
	set(m, CTRL, value & CTRL_GIO_DIS);
	/* 5.2.5.3.2: STATUS.GIO_MASTER clears when no request is pending; here none ever is */
	bool off = value & CTRL_GIO_DIS && !model_fault(m, FAULT_MASTER_STUCK);
	set(m, STATUS, off ? 0 : STATUS_GIO_MASTER);
}

static void reset_work(struct model *m)
{
	struct nic *n = nic_of(m);
	if (n->reset_done == 0 || n->reset_done > m->now || model_fault(m, FAULT_RESET_STUCK))
		return;
	n->reset_done = 0;
	set(m, CTRL, 0);
}

/* --- registers with side effects --- */

/* X550: the read that finds REGSMP clear takes it (LINUX: ixgbe_get_swfw_sync_semaphore). */
static uint32_t sync_read(struct model *m)
{
	uint32_t old = get(m, SW_FW_SYNC);
	if (own_of(m)->variant->x550)
		set(m, SW_FW_SYNC, old | SYNC_REGSMP);
	return old;
}

/* 8.2.3.22.11, see phy.c. */
static void msca_write(struct model *m, uint32_t value)
{
	struct nic *n = nic_of(m);
	set(m, MSCA, value & ~MSCA_COMMAND);
	if (!(value & MSCA_COMMAND))
		return;
	if (phy_command(m, value)) {
		n->link_due = NEVER;
		link_set(m, false);
	}
	link_update(m);
}

/* 8.2.3.21.12: a command is done when CMD reads 0, here at once. A query finds no filter. */
static void fdircmd_write(struct model *m, uint32_t value)
{
	const uint32_t valid = 1u << 2; /* of a query: a filter was found */
	set(m, FDIRCMD, value & ~(FDIRCMD_CMD | valid));
}

/* Handles registers whose write is a command. False: `at` is not one of them. */
static bool command_write(struct model *m, uint32_t at, uint32_t value)
{
	switch (at) {
	case CTRL:
		ctrl_write(m, value);
		return true;
	case I2CCTL:
		sfp_write(m, value);
		return true;
	case EEC:
		eec_write(m, value);
		return true;
	case EERD: /* LINUX reads an X550 by the firmware only. So nothing answers here, the worse case for a driver */
		if (own_of(m)->variant->x550 && value & EERD_START)
			model_violation(m, "EERD: START, but the X550's shadow RAM is read by the host interface");
		else
			eerd_write(m, value);
		return true;
	case HICR:
		if (!own_of(m)->variant->x550)
			return false;
		host_write(m, value);
		return true;
	case MSCA:
		msca_write(m, value);
		return true;
	case AUTOC:
		autoc_write(m, value);
		return true;
	case FDIRCMD:
		fdircmd_write(m, value);
		return true;
	case RTTDQSEL:
		limiter_select(m, value);
		return true;
	case RTTBCNRC:
		limiter_write(m, value);
		return true;
	}
	return false;
}

/* The value that is stored: some bits belong to the device. */
static uint32_t stored(uint32_t at, uint32_t value, uint32_t old)
{
	switch (at) {
	case MSRWD:
		return (old & 0xffff0000) | (value & 0xffff);
	case FDIRCTRL: /* 8.2.3.21.1: the tables are ready at once */
		return value | FDIRCTRL_INIT_DONE;
	case ESDP: /* SDP2 is an input: the module is present */
		return (value & ~(uint32_t)ESDP_SDP2_DATA) | (old & ESDP_SDP2_DATA);
	case RDRXCTL:
		return (value & ~(uint32_t)RDRXCTL_DMAIDONE) | (old & RDRXCTL_DMAIDONE);
	case CORECTL: /* bit 16 is the command, done at once */
		return value & 0xffff;
	}
	return value;
}

/* Checks the rules of registers, and sets state that is not a register. */
static void take_effect(struct model *m, uint32_t at, uint32_t value, uint32_t old)
{
	struct nic *n = nic_of(m);
	if (at == SW_FW_SYNC && own_of(m)->variant->x550 && !(old & SYNC_REGSMP))
		model_violation(m, "SW_FW_SYNC = 0x%08x without having taken REGSMP", value);
	if (at == MTQC && value != old && !(get(m, RTTDCS) & RTTDCS_ARBDIS)) /* 7.2.1.2.1, 8.2.3.9.15 */
		model_violation(m, "MTQC = 0x%08x while RTTDCS.ARBDIS is clear", value);
	if (at == RXCTRL && !(value & RXCTRL_RXEN)) /* 4.6.7.1: waiting frames are discarded */
		rx_forget(m);
	else if (at == RXCTRL &&
	         !(get(m, RDRXCTL) & RDRXCTL_CRCSTRIP) != !(get(m, HLREG0) & HLREG0_RXCRCSTRP))
		model_violation(m, "RXCTRL.RXEN while RDRXCTL.CRCStrip is not as HLREG0.RXCRCSTRP");
	if (at == SECRXCTRL && value & ~old & SECRXCTRL_RX_DIS)
		own_of(m)->rx_off = m->now;
	const uint32_t most = kind_of(m)->fifo_bytes;
	if (at == RXPBSIZE && value > most)
		model_violation(m, "RXPBSIZE[0] = 0x%08x: more than %u KB", value, most >> 10);
	if (at == RXPBSIZE)
		n->fifo.limit = value < most ? value : most;
	if (at == HLREG0 || at == AUTOC2 || at == ESDP)
		link_update(m);
	if ((at >= RETA && at < MRQC + 4) || (at >= ERETA && at < ERETA + 4 * 96))
		n->rss_stale = true;
	if (at >= FTQF && at < FTQF + 4 * 128)
		tuple_write(m, (at - FTQF) / 4, value);
	if (at >= VFTA && at < MPSAR)
		n->filters_stale = true;
}

static void other_write(struct model *m, uint32_t at, uint32_t value)
{
	const uint32_t old = get(m, at);
	if (command_write(m, at, value) || timesync_write(m, at, value))
		return;
	set(m, at, stored(at, value, old));
	take_effect(m, at, value, old);
}

/* Whether an offset lies in the blocks of receive or transmit queues, and in which queue's. */
static bool rx_queue_at(uint32_t at, unsigned *queue)
{
	bool low = at >= RDBAL && at < RDBAL + 64 * 64, high = at >= RDBAL_64 && at < RDBAL_64 + 64 * 64;
	*queue = low ? (at - RDBAL) / 64 : (at - RDBAL_64) / 64 + 64;
	return low || high;
}

static bool tx_queue_at(uint32_t at, unsigned *queue)
{
	*queue = (at - TDBAL) / 64;
	return at >= TDBAL && at < TDBAL + 64 * QUEUES && (at & 63) != (DCA_TXCTRL & 63);
}

static bool is_interrupt(uint32_t at)
{
	return (at >= EICR && at < IVAR) || (at >= EICS_EX && at < EIAM_EX + 8) ||
	       (at >= EITR_HIGH && at < EITR_HIGH + 4 * 104);
}

static void write32(struct model *m, uint32_t at, uint32_t value)
{
	struct nic *n = nic_of(m);
	unsigned queue;
	at = canonical(at);
	const struct reg_row *row = model_reg(m, at).row;
	if (row == NULL || row->access == REG_RO || row->access == REG_RC)
		return;
	reset_work(m);
	if (n->reset_done) {
		if (at != CTRL)
			model_violation(m, "%s written during reset (CTRL.RST not clear)", row->name);
		return;
	}
	value &= row->writable;
	if (is_interrupt(at))
		intr_write(m, at, value);
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
	struct nic *n = nic_of(m);
	uint32_t value;
	at = canonical(at);
	reset_work(m);
	if (is_interrupt(at))
		return intr_read(m, at);
	if (stats_read(m, at, &value) || timesync_read(m, at, &value))
		return value;
	switch (at) {
	case I2CCTL:
		return sfp_read(m);
	case EERD:
		eerd_work(m);
		break;
	case SECRXSTAT: /* 8.2.3.12.6 */
		if (model_fault(m, FAULT_SECRX_LATE) && get(m, SECRXCTRL) & SECRXCTRL_RX_DIS &&
		    m->now - own_of(m)->rx_off < m->fault_arg[FAULT_SECRX_LATE] * 1000000)
			return 0;
		break;
	case LINKS:
		link_work(m);
		return links(m);
	case STATUS:
		link_work(m);
		return get(m, STATUS) | (n->link ? STATUS_LINK_UP : 0);
	case SWSM:
		return swsm_read(m);
	case SW_FW_SYNC:
		return sync_read(m);
	case HICR:
		host_work(m);
		break;
	}
	return get(m, at);
}

/* --- what intel/ asks for --- */

static void mode(const struct model *m, struct mac_mode *out)
{
	const uint32_t hlreg0 = get(m, HLREG0), fctrl = get(m, FCTRL), mcstctrl = get(m, MCSTCTRL);
	const bool jumbo = hlreg0 & HLREG0_JUMBOEN;
	*out = (struct mac_mode){
		.listens = get(m, RXCTRL) & RXCTRL_RXEN && !(get(m, SECRXCTRL) & SECRXCTRL_RX_DIS),
		.sends = get(m, DMATXCTL) & DMATXCTL_TE,
		.loops = hlreg0 & HLREG0_LPBK,
		.keeps_fcs = !(hlreg0 & HLREG0_RXCRCSTRP),
		.keeps_bad = fctrl & FCTRL_SBP,
		.checks_length = hlreg0 & HLREG0_RXLNGTHERREN,
		.pads = hlreg0 & HLREG0_TXPADEN,
		.stamps = get(m, TSYNCRXCTL) & TSYNC_EN,
		.upe = fctrl & FCTRL_UPE,
		.mpe = fctrl & FCTRL_MPE,
		.bam = fctrl & FCTRL_BAM,
		.mta_on = mcstctrl & MCSTCTRL_MFE,
		.mta_offset = mcstctrl & MCSTCTRL_MO,
		.vlan_on = get(m, VLNCTRL) & VLNCTRL_VFE,
		.tag_type = (uint16_t)(get(m, DMATXCTL) >> 16),
		.longest = jumbo ? get(m, MAXFRS) >> 16 : 1518, /* 8.2.3.22.8, 13 */
		.tag_bytes = 4,
	};
}

static void overrun(struct model *m)
{
	intr_other(m, EICR_RX_MISS);
}

/* --- the contract --- */

static bool nic_work(struct model *m)
{
	struct nic *n = nic_enter(m);
	reset_work(m);
	if (n->reset_done)
		return false;
	eerd_work(m);
	host_work(m);
	link_work(m);
	nic_scan(m);
	bool moved = nic_move(m);
	intr_work(m);
	return moved;
}

static uint64_t nic_deadline(struct model *m)
{
	const struct nic *n = nic_of(m);
	if (n->reset_done)
		return model_fault(m, FAULT_RESET_STUCK) ? NEVER : n->reset_done;
	uint64_t due = nic_earliest(nic_due(m), own_of(m)->irq_due);
	if (!model_fault(m, FAULT_FIRMWARE_STUCK))
		due = nic_earliest(due, own_of(m)->command_done);
	return due;
}

static void nic_carrier(struct model *m)
{
	nic_enter(m);
	link_update(m);
}

static void nic_fault(struct model *m, unsigned index)
{
	nic_enter(m);
	if (index == FAULT_EEPROM_CHECKSUM)
		eeprom_make(m);
	nic_of(m)->hangs |= index == FAULT_SEND_HANGS && model_fault(m, index);
	if (index == FAULT_MEMORY_ERROR && model_fault(m, index))
		intr_other(m, EICR_ECC);
	if (index == FAULT_MODULE_OUT)
		set(m, ESDP, (get(m, ESDP) & ~(uint32_t)ESDP_SDP2_DATA) |
		                     (model_fault(m, index) ? 0 : ESDP_SDP2_DATA));
	if (index == FAULT_MODULE_OUT || index == FAULT_LINK_LATE)
		link_update(m);
	if (index == FAULT_NO_DMA_DONE)
		set(m, RDRXCTL, (get(m, RDRXCTL) & ~(uint32_t)RDRXCTL_DMAIDONE) |
		                        (model_fault(m, index) ? 0 : RDRXCTL_DMAIDONE));
}

static void nic_reset(struct model *m)
{
	nic_enter(m);
	nic_of(m)->reset_done = 0;
	reset_all(m, true);
	set(m, ESDP, model_fault(m, FAULT_MODULE_OUT) ? 0 : ESDP_SDP2_DATA);
}

void intel_82599_set_module(struct model *m, struct sfp_codes codes)
{
	own_of(m)->module = codes;
}

void intel_82599_set_stretch(struct model *m, uint64_t ns)
{
	own_of(m)->stretch_ns = ns;
}

void intel_82599_set_partner(struct model *m, bool slow)
{
	own_of(m)->partner_is_slow = slow;
	nic_carrier(m);
}

void intel_82599_set_phy(struct model *m, uint8_t address)
{
	phy_make(m, address, true);
	nic_carrier(m);
}

uint16_t *intel_82599_eeprom(struct model *m)
{
	return nic_of(m)->eeprom;
}

void intel_x550_set_partner(struct model *m, uint32_t mbps)
{
	own_of(m)->mbps = mbps;
	nic_carrier(m);
}

/* What both chips have. */
#define KIND \
	.rx_base = RDBAL, \
	.rx_base_64 = RDBAL_64, \
	.tx_base = TDBAL, \
	.srrctl = SRRCTL_1014 & 63, \
	.mrqc = MRQC, \
	.rssrk = RSSRK, \
	.reta = RETA, \
	.rxcsum = RXCSUM, \
	.ral = RAL, \
	.rah = RAH, \
	.mta = MTA, \
	.vfta = VFTA, \
	.eerd = EERD, \
	.swsm = SWSM, \
	.tcp_flags = DTXTCPFLGL, \
	.rx_stat_map = RQSMR, \
	.tx_stat_map = TQSM, \
	.queues = QUEUES, \
	.stations = STATIONS, \
	.mrqc_on = MRQC_MRQE, \
	.bsize_mask = SRRCTL_BSIZEPACKET, \
	.drop_en = SRRCTL_DROP_EN, \
	.queue_vme = RXDCTL_VME, \
	.rxe = RXD_RXE, \
	.l4e = RXD_TCPE, \
	.ipe = RXD_IPE, \
	.octets_high = 4, \
	.tx_enable = "DMATXCTL.TE", \
	.mode = mode, \
	.rx_event = intr_rx_queue, \
	.tx_event = intr_tx_queue, \
	.overrun = overrun, \
	.read = read32, \
	.write = write32, \
	.rate_next = limiter_next, \
	.rate_wake = limiter_wake, \
	.rate_charge = limiter_charge, \
	.stamp_sent = timesync_sent, \
	.stamp_may_want = timesync_may_want, \
	.stamp_received = timesync_received, \
	.steers = tuple_any, \
	.steer = tuple_queue

static void power_on(struct model *m, const struct variant *v)
{
	nic_of(m)->kind = &v->kind;
	own_of(m)->variant = v;
	own_of(m)->module = (struct sfp_codes){.ten = 0x10}; /* 10GBASE-SR */
	own_of(m)->mbps = 10000;
	eeprom_make(m);
	nic_reset(m);
}

static void nic_create(struct model *m)
{
	static const struct variant v = {.kind = {KIND, .reta_entries = 128, .reta_mask = 15, .fifo_bytes = FIFO_BYTES},
	                                 .eeprom_last = 0x3f, .eeprom_sections = 0x7ff8};
	power_on(m, &v);
}

static void x550_create(struct model *m)
{
	static const struct variant v = {.x550 = true,
	                                 .kind = {KIND, .reta_entries = RETA_MAX, .ereta = ERETA, .reta_mask = 63,
	                                          .fifo_bytes = 384u << 10},
	                                 .eeprom_last = 0x41, .eeprom_sections = 0x7fcc};
	phy_make(m, 0, false);
	power_on(m, &v);
}

static const struct bar_range mapped[] = {{0x1000, 0x1000}, {0x6000, 0x2000}, {0, 0}};

/* What both chips have. */
#define COMMON \
	.state_bytes = sizeof(struct nic82599), .vendor = 0x8086, .subsystem_vendor = 0x8086, .class_code = 0x020000, \
	.bar_bytes = {[0] = MAC_BYTES, [4] = 16 << 10}, .bar_is_64 = {[0] = true, [4] = true}, .msix_cap = 0x70, \
	.pcie_cap = 0xa0, .pm_cap = 0x40, .msix_vectors = VECTORS, .msix_bar = 4, .msix_table = 0, .msix_pba = 0x2000, \
	.mapped = mapped, .faults = faults, .reset = nic_reset, .read = nic_read, .write = nic_write, \
	.rx_room = nic_rx_room, .receive = nic_receive, .work = nic_work, .deadline = nic_deadline, \
	.carrier = nic_carrier, .fault = nic_fault, .stats = stats_json

const struct model_ops intel_82599_ops = {
	COMMON,
	.name = "82599",
	.title = "Intel 82599ES 10 GbE (8086:10fb)",
	.device = 0x10fb,
	.subsystem = 0x0003,
	.revision = 1,
	.pcie_speed = 2,
	.pcie_lanes = 8,
	.regs = rows,
	.create = nic_create,
};

const struct model_ops intel_x550_ops = {
	COMMON,
	.name = "x550",
	.title = "Intel X550-T 10GBASE-T (8086:1563)",
	.device = 0x1563,
	.subsystem = 0x0001,
	.revision = 1,
	.pcie_speed = 3,
	.pcie_lanes = 4,
	.regs = x550_rows,
	.create = x550_create,
};
