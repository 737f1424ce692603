#include "tests/unit/rig/drive_i226.h"

static struct {
	uint64_t bus, bufs;
	unsigned next, done;
} rx_ring[4], tx_ring[4];

bool drive_becomes(uint32_t offset, uint32_t mask, uint32_t want)
{
	for (unsigned i = 0; i < 25000; i++)
		if ((rig_read(offset) & mask) == want)
			return true;
	return false;
}

void drive_sync(uint32_t clear, uint32_t bits)
{
	assert_true(drive_becomes(SWSM, SWSM_SMBI, 0));
	rig_write(SWSM, SWSM_SMBI | SWSM_SWESMBI);
	assert_true(rig_read(SWSM) & SWSM_SWESMBI);
	rig_write(SW_FW_SYNC, (rig_read(SW_FW_SYNC) & ~clear) | bits);
	rig_write(SWSM, 0);
}

uint16_t drive_phy_get(unsigned reg)
{
	rig_write(MDIC, MDIC_READ | reg << MDIC_REG_SHIFT);
	assert_true(drive_becomes(MDIC, MDIC_READY, MDIC_READY));
	return (uint16_t)rig_read(MDIC);
}

void drive_phy_put(unsigned reg, uint16_t value)
{
	rig_write(MDIC, MDIC_WRITE | reg << MDIC_REG_SHIFT | value);
	assert_true(drive_becomes(MDIC, MDIC_READY, MDIC_READY));
}

void drive_mmd(unsigned device, unsigned reg)
{
	drive_phy_put(PHY_MMD_CONTROL, (uint16_t)device);
	drive_phy_put(PHY_MMD_DATA, (uint16_t)reg);
	drive_phy_put(PHY_MMD_CONTROL, (uint16_t)(0x4000 | device));
}

uint16_t drive_eeprom(unsigned word)
{
	rig_write(EERD, word << 2 | EERD_START);
	assert_true(drive_becomes(EERD, EERD_DONE, EERD_DONE));
	return (uint16_t)(rig_read(EERD) >> 16);
}

static void give_ring(uint32_t block, uint64_t bus)
{
	rig_write(block + Q_BAL, (uint32_t)bus);
	rig_write(block + Q_BAH, (uint32_t)(bus >> 32));
	rig_write(block + Q_LEN, RING * 16);
	rig_write(block + Q_HEAD, 0);
	rig_write(block + Q_TAIL, 0);
}

void drive_refill(unsigned q, unsigned n)
{
	uint64_t *d = rig_mem(rx_ring[q].bus, RING * 16);
	for (; n; n--, rx_ring[q].next = (rx_ring[q].next + 1) % RING) {
		d[2 * rx_ring[q].next] = rx_ring[q].bufs + rx_ring[q].next * BUFFER;
		d[2 * rx_ring[q].next + 1] = 0;
	}
	rig_write(RDT + 64 * q, rx_ring[q].next);
}

void drive_rx(unsigned q, uint32_t srrctl)
{
	memset(&rx_ring[q], 0, sizeof rx_ring[q]);
	rx_ring[q].bus = rig_alloc(RING * 16, 128);
	rx_ring[q].bufs = rig_alloc(RING * BUFFER, 4096);
	give_ring(RDBAL + 64 * q, rx_ring[q].bus);
	rig_write(SRRCTL + 64 * q, 2 | DESCTYPE_ONE_BUFFER << SRRCTL_DESCTYPE_SHIFT | srrctl);
	rig_write(RXDCTL + 64 * q, RXDCTL_ENABLE);
	assert_true(drive_becomes(RXDCTL + 64 * q, RXDCTL_ENABLE, RXDCTL_ENABLE));
	drive_refill(q, RING - 1);
}

void drive_tx(unsigned q)
{
	memset(&tx_ring[q], 0, sizeof tx_ring[q]);
	tx_ring[q].bus = rig_alloc(RING * 16, 128);
	tx_ring[q].bufs = rig_alloc(RING * 16384, 4096);
	give_ring(TDBAL + 64 * q, tx_ring[q].bus);
	rig_write(TXDCTL + 64 * q, TXDCTL_ENABLE);
	assert_true(drive_becomes(TXDCTL + 64 * q, TXDCTL_ENABLE, TXDCTL_ENABLE));
}

void drive_reset(void)
{
	rig_write(CTRL, CTRL_RST);
	assert_true(drive_becomes(CTRL, CTRL_RST, 0));
	assert_true(drive_becomes(EEC, EEC_AUTO_RD, EEC_AUTO_RD));
}

void drive_link(void)
{
	rig_write(CTRL, CTRL_SLU);
	rig_run(100000000);
	assert_true(rig_read(STATUS) & STATUS_LU);
}

void drive_all(void)
{
	drive_reset();
	drive_link();
	drive_rx(0, 0);
	drive_tx(0);
	rig_write(RCTL, RCTL_ALL);
	rig_write(TCTL, TCTL_EN | TCTL_PSP);
}

int drive_strict(void **state)
{
	(void)state;
	rig_start(&intel_i226_ops, RIG_STRICT);
	drive_all();
	return 0;
}

int drive_line_rate(void **state)
{
	(void)state;
	rig_start(&intel_i226_ops, RIG_LINE_RATE);
	drive_all();
	return 0;
}

uint64_t drive_received(unsigned q, uint64_t *low, const uint8_t **data)
{
	const uint64_t *d = rig_mem(rx_ring[q].bus + rx_ring[q].done * 16, 16);
	if (rx_ring[q].done == rx_ring[q].next || !(d[1] & RXD_DD))
		return 0;
	if (low)
		*low = d[0];
	if (data)
		*data = rig_mem(rx_ring[q].bufs + rx_ring[q].done * BUFFER, BUFFER);
	rx_ring[q].done = (rx_ring[q].done + 1) % RING;
	return d[1];
}

void drive_desc(unsigned q, uint64_t low, uint64_t high)
{
	uint64_t *d = rig_mem(tx_ring[q].bus + tx_ring[q].next * 16, 16);
	d[0] = low;
	d[1] = high;
	tx_ring[q].next = (tx_ring[q].next + 1) % RING;
}

void drive_tail(unsigned q)
{
	rig_write(TDT + 64 * q, tx_ring[q].next);
	for (unsigned i = 0; i < 3; i++) { /* line-rate: one turn to see it, one more to do it */
		rig.now += 30000;
		rig_work();
	}
}

void drive_send(unsigned q, const void *data, uint32_t bytes, uint32_t cmd)
{
	const uint64_t at = tx_ring[q].bufs + tx_ring[q].next * 16384ull;
	memcpy(rig_mem(at, bytes), data, bytes);
	cmd |= (unsigned)TXD_DTYP_DATA << TXD_DTYP_SHIFT | TXD_EOP | TXD_IFCS | TXD_RS | TXD_DEXT;
	drive_desc(q, at, bytes | (uint64_t)cmd | (uint64_t)bytes << (32 + TXD_PAYLEN_SHIFT));
	drive_tail(q);
}
