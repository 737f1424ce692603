/*
 * TCP and UDP segmentation (7.2.4) and the last steps of every frame: VLAN tag, padding, counting,
 * wire or loop.
 *
 * n->gather holds headers and payload. Each segment gets the headers, with (7.2.4.5 to 7):
 *   IPv4   total length; identification plus 1 for each; header checksum
 *   IPv6   payload length
 *   TCP    sequence number; FIN and PSH (by DTXTCPFLG) only at the end; checksum
 *   UDP    length; checksum
 */
#include "tools/nicsim/82599/state.h"

#include <string.h>

/* What all segments of one request share. */
struct tso {
	unsigned queue;
	const struct tx_context *c;
	uint32_t headers, l3, l4; /* offsets: L2 is c->maclen bytes */
	uint32_t payload, mss;
	bool tcp, ip_sum, l4_sum;
};

void tx_emit(struct model *m, unsigned queue, const uint8_t *data, uint32_t bytes,
             const struct tx_context *tag)
{
	struct nic *n = nic_of(m);
	uint8_t *to = n->tagged;
	if (tag != NULL && bytes >= 12) { /* 7.4.3: EtherType from DMATXCTL.VT */
		memcpy(to, data, 12);
		put16(to + 12, get(m, DMATXCTL) >> 16);
		put16(to + 14, tag->vlan);
		memcpy(to + 16, data + 12, bytes - 12);
		data = to;
		bytes += 4;
	}
	if (bytes < 60 && get(m, HLREG0) & HLREG0_TXPADEN) {
		if (data != to)
			memcpy(to, data, bytes);
		memset(to + bytes, 0, 60 - bytes);
		data = to;
		bytes = 60;
	}
	if (bytes < 14) {
		model_violation(m, "transmit queue %u: frame of %u bytes", queue, bytes);
		return;
	}
	if (!n->link) /* the MAC drains its buffer into a dead link */
		return;
	unsigned i = tx_stat_index(m, queue);
	n->s.qptc[i]++;
	n->s.qbtc[i] += bytes;
	stats_tx(n, data, bytes);
	if (get(m, HLREG0) & HLREG0_LPBK)
		rx_frame(m, data, bytes, 0);
	else
		model_send(m, data, bytes);
}

/* 7.2.4.2 to 4: do the context and the headers fit together? */
static bool check(struct model *m, const struct tso *t, uint32_t bytes)
{
	const struct tx_context *c = t->c;
	const uint8_t *p = nic_of(m)->gather;
	const char *wrong = NULL;
	if (c->l4t != L4T_TCP && c->l4t != L4T_UDP)
		wrong = "L4T is neither TCP nor UDP";
	else if (c->maclen < 14 || c->iplen < (c->ipv4 ? 20 : 40))
		wrong = "MACLEN or IPLEN too small";
	else if (c->l4len < (t->tcp ? 20 : 8))
		wrong = "L4LEN too small";
	else if (c->mss == 0)
		wrong = "MSS is 0";
	else if (t->headers > bytes || t->headers > 1024)
		wrong = "headers longer than the frame";
	else if (t->payload != bytes - t->headers)
		wrong = "PAYLEN is not the payload of the buffers";
	else if (p[t->l3] >> 4 != (c->ipv4 ? 4 : 6))
		wrong = "TUCMD.IPV4 does not match the header";
	else if (!t->l4_sum)
		wrong = "TSE without TXSM";
	else if (c->ipv4 && !t->ip_sum)
		wrong = "TSE of IPv4 without IXSM";
	else if (t->headers + c->mss > FRAME_MAX - 8)
		wrong = "MSS longer than a frame";
	if (wrong)
		model_violation(m, "transmit queue %u, TSO: %s (MACLEN %u IPLEN %u L4LEN %u MSS %u, "
		                "PAYLEN %u, %u bytes)", t->queue, wrong, c->maclen, c->iplen, c->l4len,
		                c->mss, t->payload, bytes);
	return wrong == NULL;
}

/* 7.2.4.2: software puts the sum of the pseudo header, its length left out, into the checksum field;
 * the device adds the length of each segment. */
static bool pseudo_good(const struct model *m, const struct tso *t)
{
	const uint8_t *p = nic_of(m)->gather;
	uint16_t field, want;
	memcpy(&field, p + t->l4 + (t->tcp ? 16 : 6), 2);
	want = sum_fold(sum_pseudo(p + t->l3, t->c->ipv4 ? 4 : 6, t->tcp ? 6 : 17, 0));
	return field == want || (field % 0xffff == 0 && want % 0xffff == 0);
}

static void fix_ip(const struct tso *t, uint8_t *s, uint32_t bytes, uint32_t number)
{
	uint8_t *ip = s + t->l3;
	if (!t->c->ipv4) {
		put16(ip + 4, bytes - t->l3 - 40);
		return;
	}
	put16(ip + 2, bytes - t->l3);
	put16(ip + 4, be16(ip + 4) + number);
	put16(ip + 10, 0);
	uint16_t sum = (uint16_t)~sum_fold(sum_add(0, ip, t->c->iplen));
	memcpy(ip + 10, &sum, 2);
}

static void fix_l4(struct model *m, const struct tso *t, uint8_t *s, uint32_t bytes, uint32_t from,
                   bool last)
{
	uint8_t *l4 = s + t->l4;
	uint32_t field = t->tcp ? 16 : 6;
	if (t->tcp) {
		/* 8.2.3.9.3, 4: flags are ANDed with a mask for first, middle and last segment */
		uint32_t mask = from == 0 ? get(m, DTXTCPFLGL) : get(m, DTXTCPFLGL) >> 16;
		if (last)
			mask = get(m, DTXTCPFLGH);
		put32(l4 + 4, be32(l4 + 4) + from);
		put16(l4 + 12, be16(l4 + 12) & (mask | 0xf000));
	} else {
		put16(l4 + 4, bytes - t->l4);
	}
	uint8_t length[2];
	put16(length, bytes - t->l4);
	uint32_t sum = sum_add(sum_add(0, length, 2), l4, bytes - t->l4);
	uint16_t result = (uint16_t)~sum_fold(sum);
	if (result == 0 && !t->tcp)
		result = 0xffff;
	memcpy(l4 + field, &result, 2);
}

bool tso_send(struct model *m, unsigned queue, const struct tx_context *c, uint32_t bytes,
              uint32_t payload, uint32_t olinfo, bool tag)
{
	struct nic *n = nic_of(m);
	struct tso t = {.queue = queue, .c = c, .payload = payload, .mss = c->mss};
	t.tcp = c->l4t == L4T_TCP;
	t.l3 = c->maclen;
	t.l4 = c->maclen + c->iplen;
	t.headers = t.l4 + c->l4len;
	t.ip_sum = olinfo & TXD_IXSM;
	t.l4_sum = olinfo & TXD_TXSM;
	if (!check(m, &t, bytes))
		return false;
	if (!pseudo_good(m, &t))
		model_violation(m, "transmit queue %u, TSO: the checksum field is not the sum of the pseudo "
		                "header without length", queue);
	uint32_t number = 0, from = 0;
	do {
		uint32_t k = payload - from < t.mss ? payload - from : t.mss;
		memcpy(n->segment, n->gather, t.headers);
		memcpy(n->segment + t.headers, n->gather + t.headers + from, k);
		fix_ip(&t, n->segment, t.headers + k, number++);
		fix_l4(m, &t, n->segment, t.headers + k, from, from + k == payload);
		tx_emit(m, queue, n->segment, t.headers + k, tag ? c : NULL);
		from += k;
	} while (from < payload);
	return true;
}
