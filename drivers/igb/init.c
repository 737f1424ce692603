/*
 * Reset (4.5.2 to 4.5.5), start of receive (4.5.9), transmit (4.5.10) and interrupts (7.3), each in the manual's
 * order.
 *
 * One pool: no virtualisation. Flow control is off (link.c). Filters: the station's own address, broadcast, and all
 * multicast (RCTL.MPE): data cores know which groups we are in (IPv6 neighbour discovery needs some, RFC 4861
 * 7.2.1).
 */
#include "drivers/igb/device.h"

#include "drivers/intel/ring.h"
#include "hal/dma.h"

#define MASTER_US 100000
#define RESET_FIRST_LOOK_US 1000 /* 8.2.1: no register access before */
#define RESET_US 100000
#define AUTO_READ_LOOK_US 1000
#define AUTO_READ_LOOKS 10
#define QUEUE_US 100000
#define FCS_BYTES 4
#define TAG_BYTES 4
#define VECTOR_OTHER 0 /* MSI-X entry of all causes but queues; pair q has entry 1 + q */

/* --- reset --- */

static void interrupts_off(struct nic *nic)
{
	intel_write(nic, IGB_IMC, 0, UINT32_MAX);
	intel_write(nic, IGB_EIMC, 0, (1u << igb_device(nic)->chip->vectors) - 1);
	(void)intel_read(nic, IGB_ICR, 0);
}

/* ERRATUM: the bit stays clear in a card without an EEPROM, and in QEMU's. What was read is checked by the
 * EEPROM's sum and the address. Source: Linux igb, which waits as long. */
static void await_eeprom(struct nic *nic)
{
	for (unsigned n = 0; n < AUTO_READ_LOOKS && !(intel_read(nic, IGB_EEC, 0) & IGB_EEC_ARD); n++)
		intel_delay(nic, AUTO_READ_LOOK_US);
}

int igb_reset(struct nic *nic)
{
	if (intel_gone(nic))
		return intel_fail(nic, E_DEVICE, "");
	interrupts_off(nic);
	intel_write(nic, IGB_RCTL, 0, 0);
	intel_write(nic, IGB_TCTL, 0, IGB_TCTL_PSP);
	/* 5.2.3.3, master disable: no request may be pending when the reset comes. */
	intel_set(nic, IGB_CTRL, 0, IGB_CTRL_GIO_DIS);
	int e = intel_poll(nic, IGB_STATUS, 0, IGB_STATUS_GIO, INTEL_UNTIL_CLEAR, MASTER_US,
	                   "DMA does not end (STATUS.GIO)");
	if (e == E_DEVICE)
		return e;
	intel_set(nic, IGB_CTRL, 0, IGB_CTRL_RST);
	intel_delay(nic, RESET_FIRST_LOOK_US);
	e = intel_poll(nic, IGB_CTRL, 0, IGB_CTRL_RST, INTEL_UNTIL_CLEAR, RESET_US,
	               "reset does not complete (CTRL.RST)");
	if (e != E_OK)
		return e;
	await_eeprom(nic);
	interrupts_off(nic);
	/* ERRATUM: queue 0 is enabled after a reset. Source: Linux igb. */
	intel_write(nic, IGB_RXDCTL, 0, 0);
	intel_write(nic, IGB_TXDCTL, 0, 0);
	nic->error = NULL;
	return E_OK;
}

/* --- receive --- */

/* 7.1.1.7: Toeplitz over addresses and ports, and a table of the queues, round robin. */
static void rss(struct nic *nic, unsigned pairs)
{
	intel_rss(nic, pairs);
	intel_write(nic, IGB_MRQC, 0,
	            pairs == 1 ? 0
	                       : IGB_MRQC_RSS | IGB_MRQC_TCP4 | IGB_MRQC_IP4 | IGB_MRQC_TCP6_EX | IGB_MRQC_IP6 |
	                                 IGB_MRQC_TCP6 | IGB_MRQC_UDP4 | IGB_MRQC_UDP6);
}

/* Initialises the tables, which may hold anything. */
static void clear_filters(struct nic *nic)
{
	intel_write_all(nic, IGB_RAH, 1, 0); /* entry 0 is the station's, from the EEPROM */
	intel_write_all(nic, IGB_RAL, 1, 0);
	intel_write_all(nic, IGB_MTA, 0, 0);
	intel_write_all(nic, IGB_UTA, 0, 0);
	intel_write_all(nic, IGB_VFTA, 0, 0);
	intel_write(nic, IGB_VET, 0, IGB_TAG_TYPE | IGB_TAG_TYPE << 16);
}

/* ERRATUM: a reset leaves the sizes that a driver has set for time-sensitive queues. Source: Linux igc. */
static void packet_buffers(struct nic *nic)
{
	if (!igb_device(nic)->chip->fast)
		return;
	intel_write(nic, IGB_RXPBS, 0, IGB_RXPBS_I225);
	intel_write(nic, IGB_TXPBS, 0, IGB_TXPBS_I225);
}

static void flow_control_off(struct nic *nic)
{
	intel_write(nic, IGB_FCTTV, 0, 0);
	intel_write(nic, IGB_FCRTL, 0, 0);
	intel_write(nic, IGB_FCRTH, 0, 0);
	intel_write(nic, IGB_FCRTV, 0, 0);
}

/* Starts one queue, without descriptors until its core attaches and moves the tail. */
static int rx_queue(struct nic *nic, const struct nic_config *config, unsigned q)
{
	struct intel_layout l = intel_layout(INTEL_RING_SIZE);
	uint32_t srrctl = (config->buf_bytes - INTEL_RX_OFFSET) / INTEL_RX_UNIT | IGB_SRRCTL_BSIZEHEADER |
	                  IGB_SRRCTL_DESCTYPE_ONEBUF;
	if (config->pairs > 1) /* a slow core must not stop the others */
		srrctl |= IGB_SRRCTL_DROP_EN;
	intel_write_address(nic, IGB_RDBAL, IGB_RDBAH, q, (uint8_t *)config->mem[q].mem + l.rx_desc);
	intel_write(nic, IGB_RDLEN, q, INTEL_RING_SIZE * sizeof(union intel_rx_desc));
	intel_write(nic, IGB_SRRCTL, q, srrctl);
	intel_write(nic, IGB_RDH, q, 0);
	intel_write(nic, IGB_RDT, q, 0);
	intel_write(nic, IGB_RXDCTL, q,
	            IGB_RXDCTL_PTHRESH | IGB_RXDCTL_HTHRESH | IGB_RXDCTL_WTHRESH | INTEL_QUEUE_ENABLE);
	return intel_poll(nic, IGB_RXDCTL, q, INTEL_QUEUE_ENABLE, INTEL_UNTIL_SET, QUEUE_US,
	                  "a receive queue does not start (RXDCTL.ENABLE)");
}

void igb_rx_halt(struct nic *nic)
{
	intel_clear(nic, IGB_RCTL, 0, IGB_RCTL_EN);
	intel_delay(nic, intel_device(nic)->chip->quiet_us);
}

int igb_rx_start(struct nic *nic, const struct nic_config *config)
{
	clear_filters(nic);
	packet_buffers(nic);
	flow_control_off(nic);
	intel_write(nic, IGB_RXCSUM, 0, IGB_RXCSUM_IPOFLD | IGB_RXCSUM_TUOFLD | IGB_RXCSUM_PCSD);
	rss(nic, config->pairs);
	/* The size of a buffer, a tag that is stripped, and the FCS. */
	intel_write(nic, IGB_RLPML, 0,
	            u32_min(config->buf_bytes - BUF_DATA_OFFSET + TAG_BYTES + FCS_BYTES, IGB_RLPML_MAX));
	if (config->features & NIC_VLAN)
		intel_set(nic, IGB_CTRL, 0, IGB_CTRL_VME);
	else
		intel_clear(nic, IGB_CTRL, 0, IGB_CTRL_VME);
	int e = E_OK;
	for (unsigned q = 0; q < config->pairs && e == E_OK; q++)
		e = rx_queue(nic, config, q);
	if (e == E_OK)
		intel_write(nic, IGB_RCTL, 0,
		            IGB_RCTL_EN | (config->features & NIC_PROMISC ? IGB_RCTL_UPE : 0) | IGB_RCTL_MPE |
		                    IGB_RCTL_LPE | IGB_RCTL_BAM | IGB_RCTL_DPF | IGB_RCTL_SECRC);
	return e;
}

/* --- transmit --- */

static int tx_queue(struct nic *nic, const struct nic_config *config, unsigned q)
{
	struct intel_layout l = intel_layout(INTEL_RING_SIZE);
	uint8_t *mem = config->mem[q].mem;
	intel_write_address(nic, IGB_TDBAL, IGB_TDBAH, q, mem + l.tx_desc);
	intel_write(nic, IGB_TDLEN, q, INTEL_RING_SIZE * sizeof(union intel_tx_desc));
	intel_write(nic, IGB_TDH, q, 0);
	intel_write(nic, IGB_TDT, q, 0);
	intel_clear(nic, IGB_DCA_TXCTRL, q, IGB_DCA_TXCTRL_WRO);
	uint64_t head = dma_addr(mem + l.written_head).bus;
	intel_write(nic, IGB_TDWBAH, q, (uint32_t)(head >> 32));
	intel_write(nic, IGB_TDWBAL, q, (uint32_t)head | IGB_TDWBAL_HEAD_WB_EN);
	intel_write(nic, IGB_TXDCTL, q, IGB_TXDCTL_PTHRESH | IGB_TXDCTL_HTHRESH | INTEL_QUEUE_ENABLE);
	return intel_poll(nic, IGB_TXDCTL, q, INTEL_QUEUE_ENABLE, INTEL_UNTIL_SET, QUEUE_US,
	                  "a transmit queue does not start (TXDCTL.ENABLE)");
}

int igb_tx_start(struct nic *nic, const struct nic_config *config)
{
	int e = E_OK;
	for (unsigned q = 0; q < config->pairs && e == E_OK; q++)
		e = tx_queue(nic, config, q);
	if (e == E_OK)
		intel_set(nic, IGB_TCTL, 0, IGB_TCTL_EN | IGB_TCTL_PSP);
	return e;
}

/* --- interrupts --- */

static void route_queue(struct nic *nic, unsigned q)
{
	const bool by_pairs = igb_device(nic)->chip->ivar_by_pairs;
	const unsigned i = by_pairs ? q / 2 : q % 8, half = by_pairs ? q % 2 : q / 8;
	const uint32_t rest = intel_read(nic, IGB_IVAR, i) & ~(0xffffu << 16 * half);
	intel_write(nic, IGB_IVAR, i, rest | (IGB_IVAR_VALID | (1 + q)) << 16 * half); /* of receive, not of transmit */
}

/*
 * All vectors clear their cause when they fire (EIAC). Those of queues mask themselves (EIAM): a core unmasks
 * its vector before it sleeps. The vector of link changes is never masked; igb_link acknowledges its cause, by
 * reading ICR.
 */
int igb_interrupts_start(struct nic *nic, const struct nic_config *config)
{
	const uint32_t queues = ((1u << config->pairs) - 1) << 1, other = 1u << VECTOR_OTHER;
	int e = pci_msix_route(nic->pci, VECTOR_OTHER, 0);
	for (unsigned q = 0; q < config->pairs && e == E_OK; q++)
		e = pci_msix_route(nic->pci, 1 + q, config->mem[q].core);
	if (e != E_OK)
		return intel_fail(nic, e, "interrupt vectors cannot be routed");
	intel_write(nic, IGB_GPIE, 0,
	            IGB_GPIE_NSICR | IGB_GPIE_MULTIPLE_MSIX | IGB_GPIE_EIAME | IGB_GPIE_PBA_SUPPORT);
	for (unsigned q = 0; q < config->pairs; q++)
		route_queue(nic, q);
	intel_write(nic, IGB_IVAR_MISC, 0, (IGB_IVAR_VALID | VECTOR_OTHER) << IGB_IVAR_MISC_OTHER_SHIFT);
	for (unsigned i = 0; i <= config->pairs; i++)
		intel_write(nic, IGB_EITR, i, 0); /* no delay: a core that polls has it masked */
	intel_write(nic, IGB_EIAC, 0, queues | other);
	intel_write(nic, IGB_EIAM, 0, queues);
	intel_write(nic, IGB_EIMS, 0, other);
	intel_write(nic, IGB_IMS, 0, IGB_IMS_LSC | IGB_IMS_FER);
	return E_OK;
}

int igb_pair_start(struct nic *nic, const struct nic_config *config, unsigned pair)
{
	int e = tx_queue(nic, config, pair);
	return e == E_OK ? rx_queue(nic, config, pair) : e;
}
