/*
 * Start of receive (4.6.7), transmit (4.6.8) and interrupts (4.6.3.1, 7.3.4), each in the manual's
 * order.
 *
 * One pool, one packet buffer: no virtualisation, no DCB (4.6.11.3.4). Flow control is off: a
 * router that is too slow shall drop packets, not stop its neighbours.
 *
 * Filters: the station's own address, or all with NIC_PROMISC, broadcast, and all multicast (FCTRL.MPE),
 * whatever MTA says; it is empty.
 */
#include "drivers/ixgbe/device.h"

#include "drivers/intel/ring.h"
#include "hal/dma.h"

#define QUEUE_US 100000
#define SECRX_US 40000 /* as Intel's own drivers (DPDK, ixgbe_disable_sec_rx_path_generic) */
#define FCS_BYTES 4
#define VECTOR_OTHER 0 /* MSI-X entry of all causes but queues; pair q has entry 1 + q */

/* --- receive --- */

/* Initialises the tables that 4.6.7 names, which may hold anything. */
static void clear_filters(struct nic *nic, bool promiscuous)
{
	intel_write_all(nic, IXGBE_RAH, 1, 0); /* entry 0 is the station's, from the EEPROM */
	intel_write_all(nic, IXGBE_RAL, 1, 0);
	intel_write_all(nic, IXGBE_PFUTA, 0, 0);
	intel_write_all(nic, IXGBE_VFTA, 0, 0);
	intel_write_all(nic, IXGBE_PFVLVF, 0, 0);
	intel_write_all(nic, IXGBE_PFVLVFB, 0, 0);
	intel_write_all(nic, IXGBE_MPSAR, 0, 0);
	intel_write_all(nic, IXGBE_MTA, 0, 0);
	intel_write_all(nic, IXGBE_FTQF, 0, 0);
	ixgbe_device(nic)->rules = 0;
	intel_write(nic, IXGBE_MCSTCTRL, 0, 0);
	intel_write(nic, IXGBE_VLNCTRL, 0, IXGBE_VLNCTRL_VET);
	/* All groups, as on a virtio port: data cores know which groups we are in (IPv6 neighbour
	 * discovery needs some, RFC 4861 7.2.1). */
	intel_write(nic, IXGBE_FCTRL, 0,
	            IXGBE_FCTRL_BAM | IXGBE_FCTRL_MPE | (promiscuous ? IXGBE_FCTRL_UPE : 0));
}

/* 4.6.3.2: all zero if flow control is not used. */
static void flow_control_off(struct nic *nic)
{
	intel_write_all(nic, IXGBE_FCTTV, 0, 0);
	intel_write_all(nic, IXGBE_FCRTL, 0, 0);
	intel_write_all(nic, IXGBE_FCRTH, 0, 0);
	intel_write(nic, IXGBE_FCRTV, 0, 0);
	intel_write(nic, IXGBE_FCCFG, 0, 0);
	intel_write(nic, IXGBE_MFLCN, 0, IXGBE_MFLCN_DPF);
}

/* 7.1.2.8: Toeplitz over addresses and ports, and a table of the queues, round robin. */
static void rss(struct nic *nic, unsigned pairs)
{
	intel_rss(nic, pairs);
	intel_write(nic, IXGBE_MRQC, 0,
	            pairs == 1 ? 0
	                       : IXGBE_MRQC_RSS | IXGBE_MRQC_TCP4 | IXGBE_MRQC_IP4 |
	                                 IXGBE_MRQC_IP6 | IXGBE_MRQC_TCP6 | IXGBE_MRQC_UDP4 |
	                                 IXGBE_MRQC_UDP6);
}

/* Starts one queue (4.6.7), without descriptors until its core attaches and moves the tail. */
static int rx_queue(struct nic *nic, const struct nic_config *config, unsigned q)
{
	struct intel_layout l = intel_layout(INTEL_RING_SIZE);
	uint32_t srrctl = (config->buf_bytes - INTEL_RX_OFFSET) / INTEL_RX_UNIT |
	                  IXGBE_SRRCTL_BSIZEHEADER | IXGBE_SRRCTL_DESCTYPE_ONEBUF;
	if (config->pairs > 1) /* a slow core must not stop the others */
		srrctl |= IXGBE_SRRCTL_DROP_EN;
	intel_write_address(nic, IXGBE_RDBAL, IXGBE_RDBAH, q, (uint8_t *)config->mem[q].mem + l.rx_desc);
	intel_write(nic, IXGBE_RDLEN, q, INTEL_RING_SIZE * sizeof(union intel_rx_desc));
	intel_write(nic, IXGBE_RDH, q, 0);
	intel_write(nic, IXGBE_RDT, q, 0);
	intel_write(nic, IXGBE_SRRCTL, q, srrctl);
	intel_clear(nic, IXGBE_DCA_RXCTRL, q, IXGBE_DCA_RXCTRL_OFF);
	intel_set(nic, IXGBE_RXDCTL, q,
	          INTEL_QUEUE_ENABLE | (config->features & NIC_VLAN ? IXGBE_RXDCTL_VME : 0));
	return intel_poll(nic, IXGBE_RXDCTL, q, INTEL_QUEUE_ENABLE, INTEL_UNTIL_SET, QUEUE_US,
	                  "a receive queue does not start (RXDCTL.ENABLE)");
}

int ixgbe_rx_halt(struct nic *nic)
{
	intel_set(nic, IXGBE_SECRXCTRL, 0, IXGBE_SECRXCTRL_RX_DIS);
	return intel_poll(nic, IXGBE_SECRXSTAT, 0, IXGBE_SECRXSTAT_RDY, INTEL_UNTIL_SET, SECRX_US,
	                  "the receive path does not come to rest (SECRXSTAT)");
}

/*
 * The last step of 4.6.7. The data path is halted, because otherwise a frame could be truncated. ERRATUM: frames that
 * arrive meanwhile may hang the receive DMA of an 82599 whose path is not halted. A path that does not come to rest is
 * started all the same, and told by ixgbe_link. Source of both: Intel's own drivers (Linux, ixgbe_enable_rx_dma_82599
 * and ixgbe_disable_rx_buff_generic).
 */
static int rx_enable(struct nic *nic)
{
	intel_set(nic, IXGBE_CTRL_EXT, 0, IXGBE_CTRL_EXT_NS_DIS);
	int e = ixgbe_rx_halt(nic);
	ixgbe_device(nic)->rx_forced = e == E_TIMEOUT;
	if (e != E_OK && e != E_TIMEOUT)
		return e;
	nic->error = NULL; /* ixgbe_link has it */
	intel_write(nic, IXGBE_RXCTRL, 0, IXGBE_RXCTRL_RXEN);
	intel_clear(nic, IXGBE_SECRXCTRL, 0, IXGBE_SECRXCTRL_RX_DIS);
	return E_OK;
}

int ixgbe_rx_start(struct nic *nic, const struct nic_config *config)
{
	clear_filters(nic, config->features & NIC_PROMISC);
	flow_control_off(nic);
	intel_write(nic, IXGBE_RXPBSIZE, 0, ixgbe_device(nic)->chip->rx_buffer_kb << IXGBE_PBSIZE_SHIFT);
	intel_write_all(nic, IXGBE_RXPBSIZE, 1, 0);
	/* 7.1.11: L4 checksums are checked in any case; the descriptor has the RSS hash, no
	 * fragment sum. */
	intel_write(nic, IXGBE_RXCSUM, 0, IXGBE_RXCSUM_IPPCSE | IXGBE_RXCSUM_PCSD);
	rss(nic, config->pairs);
	/* The size of a buffer, and the FCS; the device itself allows a VLAN tag on top. */
	intel_set(nic, IXGBE_HLREG0, 0, IXGBE_HLREG0_RXCRCSTRP | IXGBE_HLREG0_JUMBOEN);
	intel_write(nic, IXGBE_MAXFRS, 0,
	            (config->buf_bytes - BUF_DATA_OFFSET + FCS_BYTES) << IXGBE_MAXFRS_SHIFT);
	uint32_t rdrxctl = intel_read(nic, IXGBE_RDRXCTL, 0) & ~IXGBE_RDRXCTL_RSCFRSTSIZE;
	intel_write(nic, IXGBE_RDRXCTL, 0,
	            rdrxctl | IXGBE_RDRXCTL_CRCSTRIP | IXGBE_RDRXCTL_RSCACKC |
	                    IXGBE_RDRXCTL_FCOE_WRFIX);
	int e = E_OK;
	for (unsigned q = 0; q < config->pairs && e == E_OK; q++)
		e = rx_queue(nic, config, q);
	return e == E_OK ? rx_enable(nic) : e;
}

/* --- transmit --- */

static int tx_queue(struct nic *nic, const struct nic_config *config, unsigned q)
{
	struct intel_layout l = intel_layout(INTEL_RING_SIZE);
	uint8_t *mem = config->mem[q].mem;
	intel_write_address(nic, IXGBE_TDBAL, IXGBE_TDBAH, q, mem + l.tx_desc);
	intel_write(nic, IXGBE_TDLEN, q, INTEL_RING_SIZE * sizeof(union intel_tx_desc));
	intel_write(nic, IXGBE_TDH, q, 0);
	intel_write(nic, IXGBE_TDT, q, 0);
	intel_clear(nic, IXGBE_DCA_TXCTRL, q, IXGBE_DCA_TXCTRL_WRO);
	intel_write(nic, IXGBE_RTTDQSEL, 0, q); /* no limit, whatever the queue had before */
	intel_write(nic, IXGBE_RTTBCNRC, 0, 0);
	intel_write(nic, IXGBE_TXDCTL, q, IXGBE_TXDCTL_PTHRESH | IXGBE_TXDCTL_HTHRESH);
	uint64_t head = dma_addr(mem + l.written_head).bus;
	intel_write(nic, IXGBE_TDWBAH, q, (uint32_t)(head >> 32));
	intel_write(nic, IXGBE_TDWBAL, q, (uint32_t)head | IXGBE_TDWBAL_HEAD_WB_EN);
	if (q == 0)
		intel_set(nic, IXGBE_DMATXCTL, 0, IXGBE_DMATXCTL_TE);
	intel_set(nic, IXGBE_TXDCTL, q, INTEL_QUEUE_ENABLE);
	return intel_poll(nic, IXGBE_TXDCTL, q, INTEL_QUEUE_ENABLE, INTEL_UNTIL_SET, QUEUE_US,
	                  "a transmit queue does not start (TXDCTL.ENABLE)");
}

int ixgbe_tx_start(struct nic *nic, const struct nic_config *config)
{
	intel_set(nic, IXGBE_HLREG0, 0, IXGBE_HLREG0_TXCRCEN | IXGBE_HLREG0_TXPADEN);
	intel_write(nic, IXGBE_DTXTCPFLGL, 0, IXGBE_DTXTCPFLGL_FLAGS);
	intel_write(nic, IXGBE_DTXTCPFLGH, 0, IXGBE_DTXTCPFLGH_FLAGS);
	intel_set(nic, IXGBE_RTTDCS, 0, IXGBE_RTTDCS_ARBDIS); /* while the next registers change */
	intel_write(nic, IXGBE_DTXMXSZRQ, 0, IXGBE_DTXMXSZRQ_MAX);
	intel_write(nic, IXGBE_TXPBSIZE, 0, IXGBE_TXPBSIZE_KB << IXGBE_PBSIZE_SHIFT);
	intel_write_all(nic, IXGBE_TXPBSIZE, 1, 0);
	intel_write(nic, IXGBE_TXPBTHRESH, 0, IXGBE_TXPBTHRESH_KB);
	intel_write_all(nic, IXGBE_TXPBTHRESH, 1, 0);
	intel_write(nic, IXGBE_MTQC, 0, 0);
	intel_clear(nic, IXGBE_RTTDCS, 0, IXGBE_RTTDCS_ARBDIS);
	int e = E_OK;
	for (unsigned q = 0; q < config->pairs && e == E_OK; q++)
		e = tx_queue(nic, config, q);
	return e;
}

/* --- interrupts (7.3) --- */

/*
 * Queue vectors clear their cause and mask themselves when they fire (EIAC, EIAM): a core unmasks
 * its vector before it sleeps. The vector of link changes is never masked; ixgbe_link acknowledges
 * it.
 */
int ixgbe_interrupts_start(struct nic *nic, const struct nic_config *config)
{
	uint32_t queues = ((1u << config->pairs) - 1) << 1;
	int e = pci_msix_route(nic->pci, VECTOR_OTHER, 0);
	for (unsigned q = 0; q < config->pairs && e == E_OK; q++)
		e = pci_msix_route(nic->pci, 1 + q, config->mem[q].core);
	if (e != E_OK)
		return intel_fail(nic, e, "interrupt vectors cannot be routed");
	intel_write(nic, IXGBE_GPIE, 0,
	            IXGBE_GPIE_MULTIPLE_MSIX | IXGBE_GPIE_OCD | IXGBE_GPIE_EIAME |
	                    IXGBE_GPIE_PBA_SUPPORT);
	for (unsigned q = 0; q < config->pairs; q += 2) {
		uint32_t two = IXGBE_IVAR_VALID | (1 + q);
		if (q + 1 < config->pairs)
			two |= (IXGBE_IVAR_VALID | (2 + q)) << IXGBE_IVAR_ODD_SHIFT;
		intel_write(nic, IXGBE_IVAR, q / 2, two);
	}
	intel_write(nic, IXGBE_IVAR_MISC, 0,
	            (IXGBE_IVAR_VALID | VECTOR_OTHER) << IXGBE_IVAR_MISC_OTHER_SHIFT);
	for (unsigned i = 0; i <= config->pairs; i++)
		intel_write(nic, IXGBE_EITR, i, 0); /* no delay: a core that polls has it masked */
	intel_write(nic, IXGBE_EIAC, 0, queues & 0xffff); /* those above clear themselves anyway */
	intel_write(nic, IXGBE_EIAM_EX, 0, queues);
	intel_write(nic, IXGBE_EIMS, 0, IXGBE_EICR_WATCHED);
	return E_OK;
}

int ixgbe_pair_start(struct nic *nic, const struct nic_config *config, unsigned pair)
{
	int e = tx_queue(nic, config, pair);
	return e == E_OK ? rx_queue(nic, config, pair) : e;
}
