#include "tests/unit/rig/drive_82599.h"

struct ring rx_ring[128], tx_ring[128];

/* Polls for 10 ms of the rig's time. */
static bool becomes(uint32_t offset, uint32_t mask, uint32_t want)
{
	for (unsigned i = 0; i < 25000; i++)
		if ((rig_read(offset) & mask) == want)
			return true;
	return false;
}

void drive_up(void)
{
	rig_write(EIMC, 0x7fffffff);
	rig_write(CTRL, CTRL_RST);
	assert_true(becomes(CTRL, CTRL_RST, 0));
	rig_run(10000000);
	rig_write(EIMC, 0x7fffffff);
	rig_write(ESDP, 0); /* the module's laser is on, whatever was written before the reset */
	assert_true(becomes(EEC, EEC_AUTO_RD, EEC_AUTO_RD));
	assert_true(becomes(RDRXCTL, RDRXCTL_DMAIDONE, RDRXCTL_DMAIDONE));
	memset(rx_ring, 0, sizeof rx_ring);
	memset(tx_ring, 0, sizeof tx_ring);
}

void drive_link(void)
{
	rig_run(100000000);
	assert_true(rig_read(LINKS) & LINKS_UP);
}

/* Offsets within the block of a queue, 8.2.3.8 and 8.2.3.9. */
enum { BASE_LOW = 0, BASE_HIGH = 4, LENGTH = 8, HEAD = 0x10, TAIL = 0x18, CONTROL = 0x28 };

static void give_ring(uint32_t block, uint64_t bus, uint32_t bytes, uint32_t head, uint32_t tail)
{
	rig_write(block + BASE_LOW, (uint32_t)bus);
	rig_write(block + BASE_HIGH, (uint32_t)(bus >> 32));
	rig_write(block + LENGTH, bytes);
	rig_write(block + HEAD, head);
	rig_write(block + TAIL, tail);
}

void drive_bad_queue(uint32_t block, uint32_t bytes, uint32_t head, uint32_t tail, const char *text)
{
	rig_write(block + CONTROL, 0);
	give_ring(block, DRIVE_BAD_RING, bytes, head, tail);
	rig_forgive(); /* a premature tail is one of the violations */
	rig_write(block + CONTROL, RXDCTL_ENABLE); /* as TXDCTL_ENABLE */
	rig_run(2000);
	rig_expect_violation(text);
}

void drive_rx(unsigned q)
{
	struct ring *r = &rx_ring[q];
	const uint32_t b = RX_BLOCK(q);
	*r = (struct ring){.bus = rig_alloc(RING * 16, 128), .bufs = rig_alloc(RING * BUFFER, 4096)};
	give_ring(b, r->bus, RING * 16, 0, 0);
	rig_write(b + 0x14, 2u | DESCTYPE_ONE_BUFFER << SRRCTL_DESCTYPE_SHIFT); /* 2 KB */
	rig_write(b + CONTROL, RXDCTL_ENABLE);
	assert_true(becomes(b + CONTROL, RXDCTL_ENABLE, RXDCTL_ENABLE));
	drive_refill(q, RING - 1);
}

void drive_refill(unsigned q, unsigned n)
{
	struct ring *r = &rx_ring[q];
	uint64_t *d = rig_mem(r->bus, RING * 16);
	while (n--) {
		d[2 * r->next] = r->bufs + r->next * BUFFER;
		d[2 * r->next + 1] = 0;
		r->next = (r->next + 1) % RING;
	}
	rig_write(RX_BLOCK(q) + TAIL, r->next);
}

void drive_tx(unsigned q)
{
	struct ring *r = &tx_ring[q];
	const uint32_t b = TX_BLOCK(q);
	*r = (struct ring){.bus = rig_alloc(RING * 16, 128), .bufs = rig_alloc(RING * 16384, 4096)};
	give_ring(b, r->bus, RING * 16, 0, 0);
	rig_write(DMATXCTL, rig_read(DMATXCTL) | DMATXCTL_TE);
	rig_write(b + CONTROL, rig_read(b + CONTROL) | TXDCTL_ENABLE);
	assert_true(becomes(b + CONTROL, TXDCTL_ENABLE, TXDCTL_ENABLE));
}

void drive_rxen(void)
{
	rig_write(RDRXCTL, RDRXCTL_CRCSTRIP); /* as HLREG0.RXCRCSTRP after reset, 8.2.3.8.8 */
	rig_write(RXCTRL, RXCTRL_RXEN);
}

void drive_all(void)
{
	drive_up();
	drive_link();
	rig_write(FCTRL, FCTRL_UPE | FCTRL_MPE | FCTRL_BAM);
	drive_rx(0);
	drive_tx(0);
	drive_rxen();
}

int drive_strict(void **state)
{
	(void)state;
	rig_start(&intel_82599_ops, RIG_STRICT);
	drive_all();
	return 0;
}

int drive_line_rate(void **state)
{
	(void)state;
	rig_start(&intel_82599_ops, RIG_LINE_RATE);
	drive_all();
	return 0;
}

bool drive_received(unsigned q, struct received *out)
{
	struct ring *r = &rx_ring[q];
	const uint64_t *d = rig_mem(r->bus + r->done * 16, 16);
	if (r->done == r->next || !(d[1] & RXD_DD))
		return false;
	out->low = d[0];
	out->status = (uint32_t)d[1];
	out->bytes = d[1] >> 32 & 0xffff;
	out->tag = (uint16_t)(d[1] >> 48);
	out->data = rig_mem(r->bufs + r->done * BUFFER, BUFFER);
	r->done = (r->done + 1) % RING;
	return true;
}

unsigned drive_desc(unsigned q, uint64_t low, uint64_t high)
{
	struct ring *r = &tx_ring[q];
	uint64_t *d = rig_mem(r->bus + r->next * 16, 16);
	unsigned index = r->next;
	d[0] = low;
	d[1] = high;
	r->next = (r->next + 1) % RING;
	return index;
}

void drive_tail(unsigned q)
{
	rig_write(TX_BLOCK(q) + TAIL, tx_ring[q].next);
	for (unsigned i = 0; i < 3; i++) { /* line-rate: one turn to see it, one more to do it */
		rig.now += 30000;
		rig_work();
	}
}

uint64_t drive_tx_status(unsigned q, unsigned index)
{
	const uint64_t *d = rig_mem(tx_ring[q].bus + index * 16, 16);
	return d[1];
}

unsigned drive_data(unsigned q, const void *data, uint32_t bytes, uint32_t cmd, uint32_t olinfo)
{
	uint64_t at = tx_ring[q].bufs + tx_ring[q].next * 16384ull;
	memcpy(rig_mem(at, bytes), data, bytes);
	return drive_desc(q, at, bytes | (uint64_t)cmd | (uint64_t)olinfo << 32);
}

void drive_send(unsigned q, const void *data, uint32_t bytes)
{
	drive_data(q, data, bytes, CMD_FRAME, PAYLEN(bytes));
	drive_tail(q);
}

void drive_context(unsigned q, unsigned idx, uint32_t maclen, uint32_t iplen, bool ipv4, uint32_t l4t,
                   uint32_t l4len, uint32_t mss, uint32_t vlan)
{
	uint64_t low = iplen | maclen << 9 | vlan << 16;
	uint32_t type = 2u << 20 | TXD_DEXT | (ipv4 ? TUCMD_IPV4 : 0) | l4t << 11;
	uint32_t upper = idx << 4 | l4len << 8 | mss << 16;
	drive_desc(q, low, type | (uint64_t)upper << 32);
}
