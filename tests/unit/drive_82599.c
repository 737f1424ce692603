#include "tests/unit/drive_82599.h"

struct ring rx_ring[128], tx_ring[128];
uint8_t f[70000];

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

/* Within the block of a queue, 8.2.3.8 and 8.2.3.9. */
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
	rig_forgive(); /* a tail before its time is one of these */
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
	for (unsigned i = 0; i < 3; i++) { /* line-rate: once to see it, once more to be done */
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

/* --- frames --- */

uint32_t numbered(uint32_t seq, uint32_t bytes)
{
	for (uint32_t i = 0; i < bytes; i++)
		f[i] = (uint8_t)(seq * 31 + i);
	memcpy(f, (uint8_t[]){2, 0, 0x5e, 0, 0x53, 1, 2, 0, 0x5e, 0, 0x53, 2, 0x88, 0xb5}, 14);
	memcpy(f + 14, &seq, 4);
	return bytes;
}

uint16_t slow_sum(const uint8_t *p, uint32_t bytes, uint32_t start)
{
	uint64_t sum = start;
	for (uint32_t i = 0; i < bytes; i++)
		sum += i % 2 ? p[i] : (uint32_t)p[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

uint32_t slow_pseudo(const uint8_t *ip, unsigned version, unsigned protocol, uint32_t length)
{
	uint16_t sum = version == 4 ? slow_sum(ip + 12, 8, 0) : slow_sum(ip + 8, 32, 0);
	return sum + protocol + (length & 0xffff) + (length >> 16);
}

static uint8_t *put(uint8_t *p, uint32_t v, unsigned bytes)
{
	while (bytes--)
		*p++ = (uint8_t)(v >> 8 * bytes);
	return p;
}

static uint8_t *put_network(uint8_t *p, const struct flow *flow, uint32_t length)
{
	uint8_t *ip = p;
	if (flow->version == 4) {
		p = put(p, 0x4500, 2);
		p = put(p, 20 + length, 2);
		p = put(p, 0x1234, 2);
		p = put(p, 0x4000, 2);
		p = put(p, 64u << 8 | flow->protocol, 2);
		p = put(p, 0, 2);
		memcpy(p, flow->src, 4);
		memcpy(p + 4, flow->dst, 4);
		put(ip + 10, 0xffffu ^ slow_sum(ip, 20, 0), 2);
		return p + 8;
	}
	p = put(p, 0x60000000, 4);
	p = put(p, length, 2);
	p = put(p, (uint32_t)flow->protocol << 8 | 64, 2);
	memcpy(p, flow->src, 16);
	memcpy(p + 16, flow->dst, 16);
	return p + 32;
}

uint32_t make_ip(uint8_t *to, const struct flow *flow)
{
	static const uint8_t mac[12] = {0x02, 0, 0x5e, 0, 0x53, 1, 0x02, 0, 0x5e, 0, 0x53, 2};
	uint32_t header = flow->protocol == 6 ? 20 : flow->protocol == 17 ? 8 : 0;
	uint32_t length = header + flow->payload;
	uint8_t *p = to;
	memcpy(p, mac, 12);
	p += 12;
	if (flow->tagged) {
		p = put(p, 0x8100, 2);
		p = put(p, flow->tci, 2);
	}
	p = put(p, flow->version == 4 ? 0x0800 : 0x86dd, 2);
	uint8_t *ip = p;
	uint8_t *l4 = put_network(p, flow, length);
	memset(l4, 0, header);
	for (uint32_t i = 0; i < flow->payload; i++)
		l4[header + i] = (uint8_t)(i * 7 + 3);
	if (header) {
		put(put(l4, flow->sport, 2), flow->dport, 2);
		if (flow->protocol == 6)
			put(l4 + 12, 0x5018, 2);
		else
			put(l4 + 4, length, 2);
		uint32_t pseudo = slow_pseudo(ip, flow->version, flow->protocol, length);
		put(l4 + (flow->protocol == 6 ? 16 : 6), 0xffffu ^ slow_sum(l4, length, pseudo), 2);
	}
	uint32_t bytes = (uint32_t)(l4 - to) + length;
	for (; bytes < 60; bytes++)
		to[bytes] = 0;
	return bytes;
}
