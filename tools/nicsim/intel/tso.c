/*
 * TCP and UDP segmentation (7.2.4) and the last steps of every frame: VLAN tag, padding, counting,
 * transmission to wire or loopback.
 *
 * n->gather holds headers and payload.
 */
#include "tools/nicsim/intel/state.h"

#include <string.h>

#include "tools/nicsim/packet/bytes.h"
#include "tools/nicsim/packet/segment.h"
#include "tools/nicsim/packet/sum.h"

void tx_emit(struct model *m, unsigned queue, const uint8_t *data, uint32_t bytes,
             const struct tx_context *tag)
{
	struct nic *n = nic_of(m);
	uint8_t *to = n->tagged;
	if (tag != NULL && bytes >= 12) { /* 7.4.3 */
		memcpy(to, data, 12);
		put_be16(to + 12, mode_of(m)->tag_type);
		put_be16(to + 14, tag->vlan);
		memcpy(to + 16, data + 12, bytes - 12);
		data = to;
		bytes += 4;
	}
	if (bytes < 60 && mode_of(m)->pads) {
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
	if (n->kind->rate_charge)
		n->kind->rate_charge(m, queue, bytes + 4);
	unsigned i = tx_stat_index(m, queue);
	n->s.qptc[i]++;
	n->s.qbtc[i] += bytes;
	stats_tx(n, data, bytes);
	if (mode_of(m)->loops)
		rx_loop_back(m, data, bytes);
	else
		model_send(m, data, bytes);
}

/* 7.2.4.2 to 4: checks that the context matches the headers of the packet of `bytes`. */
static bool check(struct model *m, unsigned queue, const struct tx_context *c,
                  const struct segments *s, uint32_t bytes, uint32_t olinfo)
{
	const uint8_t *p = nic_of(m)->gather;
	const char *wrong = NULL;
	if (c->l4t != L4T_TCP && c->l4t != L4T_UDP)
		wrong = "L4T is neither TCP nor UDP";
	else if (c->maclen < 14 || c->iplen < (c->ipv4 ? 20 : 40))
		wrong = "MACLEN or IPLEN too small";
	else if (c->l4len < (s->tcp ? 20 : 8))
		wrong = "L4LEN too small";
	else if (c->mss == 0)
		wrong = "MSS is 0";
	else if (s->headers > bytes)
		wrong = "headers longer than the frame";
	else if (s->payload != bytes - s->headers)
		wrong = "PAYLEN is not the payload of the buffers";
	else if (p[s->l3] >> 4 != (c->ipv4 ? 4 : 6))
		wrong = "TUCMD.IPV4 does not match the header";
	else if (!(olinfo & TXD_TXSM))
		wrong = "TSE without TXSM";
	else if (c->ipv4 && !(olinfo & TXD_IXSM))
		wrong = "TSE of IPv4 without IXSM";
	else if (s->headers + c->mss > TX_FRAME_MAX)
		wrong = "MSS longer than a frame";
	if (wrong)
		model_violation(m, "transmit queue %u, TSO: %s (MACLEN %u IPLEN %u L4LEN %u MSS %u, "
		                "PAYLEN %u, %u bytes)", queue, wrong, c->maclen, c->iplen, c->l4len,
		                c->mss, s->payload, bytes);
	return wrong == NULL;
}

/* 7.2.4.2: software puts the sum of the pseudo header without length into the checksum field; the
 * device adds the length of each segment. */
static bool pseudo_good(const struct model *m, const struct segments *s)
{
	const uint8_t *p = nic_of(m)->gather;
	uint16_t field, want;
	memcpy(&field, p + s->l4 + (s->tcp ? 16 : 6), 2);
	want = sum_fold(sum_pseudo(p + s->l3, s->ipv4 ? 4 : 6, s->tcp ? IP_TCP : IP_UDP, 0));
	return field == want || (field % 0xffff == 0 && want % 0xffff == 0);
}

void tso_send(struct model *m, unsigned queue, const struct tx_context *c, uint32_t bytes,
              uint32_t olinfo, const struct tx_context *tag)
{
	struct nic *n = nic_of(m);
	const struct segments s = {
		.l3 = c->maclen,
		.l4 = c->maclen + c->iplen,
		.headers = c->maclen + c->iplen + c->l4len,
		.payload = olinfo >> TXD_PAYLEN_SHIFT,
		.mss = c->mss,
		.ipv4 = c->ipv4,
		.tcp = c->l4t == L4T_TCP,
		/* 8.2.3.9.3, 4: flags are ANDed with a mask */
		.flags_first = get(m, n->kind->tcp_flags) & 0xfff,
		.flags_middle = get(m, n->kind->tcp_flags) >> 16 & 0xfff,
		.flags_last = get(m, n->kind->tcp_flags + 4) & 0xfff,
	};
	if (!check(m, queue, c, &s, bytes, olinfo))
		return;
	if (!pseudo_good(m, &s))
		model_violation(m, "transmit queue %u, TSO: the checksum field is not the sum of the pseudo "
		                "header without length", queue);
	uint32_t from = 0;
	do {
		uint32_t k = segment_make(&s, n->gather, from, n->segment);
		m->tx_segments += from > 0;
		tx_emit(m, queue, n->segment, k, tag);
		from += s.mss;
	} while (from < s.payload);
}
