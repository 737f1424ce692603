/*
 * What the device determines about the contents of a received frame: packet type, and whether the
 * checksums are right, computed over the received bytes.
 */
#include "tools/nicsim/intel/state.h"
#include "tools/nicsim/packet/bytes.h"
#include "tools/nicsim/packet/sum.h"

/* 7.1.6.2, packet type. A second tag is not parsed (GDV is off). */
static uint32_t packet_type(const struct headers *h)
{
	uint32_t type = 0;
	if (h->version == 4)
		type = h->extended ? PTYPE_IPV4E : PTYPE_IPV4;
	else if (h->version == 6)
		type = h->extended ? PTYPE_IPV6E : PTYPE_IPV6;
	if (h->l4 == 0)
		return type;
	if (h->protocol == IP_TCP)
		return type | PTYPE_TCP;
	return type | (h->protocol == IP_UDP ? PTYPE_UDP : PTYPE_SCTP);
}

static bool l4_sum_good(const uint8_t *frame, const struct headers *h, uint32_t length)
{
	uint64_t sum = sum_pseudo(frame + h->l3, h->version, h->protocol, length);
	return sum_fold(sum_add(sum, frame + h->l4, length)) == 0xffff;
}

/*
 * 7.1.11: IPv4 header, TCP and UDP are checked regardless of RXCSUM. Of a fragment, only the header
 * is checked. A UDP datagram whose sum is 0 has no checksum, so neither L4CS nor UDPCS is set.
 * Options and extension headers are skipped.
 */
static uint32_t checksum_status(const struct intel_kind *k, const uint8_t *frame, const struct headers *h)
{
	uint32_t status = 0;
	if (h->version == 4) {
		uint32_t header = (frame[h->l3] & 15u) * 4;
		status |= RXD_IPCS;
		if (sum_fold(sum_add(0, frame + h->l3, header)) != 0xffff)
			status |= k->ipe;
	}
	if (h->l4 && h->protocol == IP_TCP) {
		status |= RXD_L4CS;
		if (!l4_sum_good(frame, h, h->end - h->l4))
			status |= k->l4e;
	}
	if (h->l4 && h->protocol == IP_UDP && be16(&frame[h->l4 + 6]) != 0) {
		uint32_t length = be16(&frame[h->l4 + 4]);
		status |= RXD_UDPCS | RXD_L4CS;
		if (length < 8 || length > (uint32_t)(h->end - h->l4) || !l4_sum_good(frame, h, length))
			status |= k->l4e;
	}
	return status;
}

/*
 * The fast path: parses and checks untagged, unfragmented IPv4 without options, with TCP or UDP.
 * False: not such a frame; the results are not set.
 */
static inline bool check_plain_ip4(const struct intel_kind *k, const uint8_t *frame, uint32_t bytes,
                                   struct headers *h, struct checked *out)
{
	const uint8_t *ip = frame + 14, *l4 = frame + 34;
	const uint32_t total = be16(ip + 2), protocol = ip[9];
	bool tcp = protocol == IP_TCP;
	if (be16(frame + 12) != 0x0800 || ip[0] != 0x45 || be16(ip + 6) & 0x3fff ||
	    total > bytes - 14 || total < (tcp ? 40 : 28) || (!tcp && protocol != IP_UDP))
		return false;
	const uint32_t length = total - 20;
	/* UDP with another length, or without a sum */
	if (!tcp && (be16(l4 + 4) != length || be16(l4 + 6) == 0))
		return false;
	*h = (struct headers){.l3 = 14,
	                      .l4 = 34,
	                      .end = (uint16_t)(14 + total),
	                      .version = 4,
	                      .protocol = (uint8_t)protocol};
	out->ptype = PTYPE_IPV4 | (tcp ? PTYPE_TCP : PTYPE_UDP);
	out->status = RXD_IPCS | RXD_L4CS | (tcp ? 0 : (uint32_t)RXD_UDPCS);
	if (sum_fold(sum_add(0, ip, 20)) != 0xffff)
		out->status |= k->ipe;
	/* from the source address on: the pseudo header's addresses and the segment are adjacent */
	if (sum_fold(sum_add(sum_word(protocol) + sum_word(length), ip + 12, 8 + length)) != 0xffff)
		out->status |= k->l4e;
	return true;
}

struct checked offload_check(const struct intel_kind *k, const uint8_t *frame, uint32_t bytes,
                             struct headers *h)
{
	struct checked c;
	if (check_plain_ip4(k, frame, bytes, h, &c))
		return c;
	headers_parse(frame, bytes, h);
	c.ptype = packet_type(h);
	c.status = checksum_status(k, frame, h);
	return c;
}

/* 7.1.11.2 (RXCSUM.IPPCSE): the one's complement sum, not inverted, of an IPv4 fragment's
 * payload. */
uint16_t offload_fragment_sum(const uint8_t *frame, const struct headers *h)
{
	uint32_t header = (frame[h->l3] & 15u) * 4;
	return sum_fold(sum_add(0, frame + h->l3 + header, h->end - h->l3 - header));
}
