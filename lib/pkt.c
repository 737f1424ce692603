/* The functions of pkt.h that are not inline: software checksums, location of headers, chains. */
#include "lib/pkt.h"

#include "lib/bytes.h"
#include "lib/csum.h"

#define ETHERTYPE_IP4 0x0800
#define ETHERTYPE_IP6 0x86dd
#define ETHERTYPE_VLAN 0x8100
#define ETHERTYPE_SVLAN 0x88a8
#define ETHER_BYTES 14
#define VLAN_BYTES 4
#define IP4_BYTES 20
#define IP6_BYTES 40
#define PROTO_TCP 6
#define PROTO_UDP 17
#define CSUM_OFFSET_TCP 16
#define CSUM_OFFSET_UDP 6

/* Partial sum of a chain's fragments; `odd`: an odd number of bytes precedes them. */
static uint32_t sum_of_frags(const struct bufpool *pool, const struct pkt *p, bool odd)
{
	const struct pkt_frag *f = pkt_frags(pool, p->buf);
	uint32_t sum = 0;
	for (unsigned n = pkt_meta(pool, p->buf)->frags; n; n--, f++) {
		uint32_t part = csum_partial(buf_at(pool, f->buf, f->offset), f->len, 0);
		if (odd) { /* RFC 1071 2(B): bytes at odd offsets count in the other half */
			part = (part & 0xffff) + (part >> 16);
			part = (part & 0xffff) + (part >> 16);
			part = (part & 0xff) << 8 | part >> 8;
		}
		sum = csum_add(sum, part);
		odd ^= f->len & 1;
	}
	return sum;
}

void buf_free_outside(struct bufpool *pool, uint32_t buf)
{
	struct pkt_meta *m = pkt_meta(pool, buf);
	assert(m->refs == BUF_REFS_OUTSIDE && pool->outside[m->outside_kind] > 0);
	pool->outside[m->outside_kind]--;
	buf_free(pool, buf);
}

void pkt_free_parts(struct bufpool *pool, const struct pkt *p)
{
	const struct pkt_frag *f = pkt_frags(pool, p->buf);
	for (unsigned n = p->flags & PKT_CHAIN ? pkt_meta(pool, p->buf)->frags : 0; n; n--, f++)
		buf_put(pool, f->buf);
	if (p->flags & PKT_SHARED)
		buf_put(pool, p->buf);
	else
		buf_free(pool, p->buf);
}

void pkt_csum_complete(const struct bufpool *pool, struct pkt *p)
{
	const struct pkt_meta *m = pkt_meta(pool, p->buf);
	if (!(p->flags & PKT_CSUM_PARTIAL))
		return;
	assert(m->csum_start + m->csum_offset + 2u <= p->len); /* the driver has checked this */
	uint32_t partial = csum_partial(p->data + m->csum_start, p->len - m->csum_start, 0);
	if (p->flags & PKT_CHAIN)
		partial = csum_add(partial, sum_of_frags(pool, p, (p->len - m->csum_start) & 1));
	uint16_t sum = csum_fold(partial);
	/* RFC 768: a UDP checksum of zero is sent as all ones, because zero means no checksum. TCP
	 * (RFC 9293 3.1) has no such rule. */
	if (m->csum_offset == CSUM_OFFSET_UDP && sum == 0)
		sum = 0xffff;
	raw16_store(p->data + m->csum_start + m->csum_offset, sum);
	p->flags = (uint8_t)((p->flags & ~PKT_CSUM_PARTIAL) | PKT_CSUM_OK);
}

bool pkt_find_headers(const struct bufpool *pool, const struct pkt *p, struct pkt_headers *h)
{
	const struct pkt_meta *m = pkt_meta(pool, p->buf);
	uint32_t l3 = ETHER_BYTES, l4 = m->csum_start, proto = 0;
	uint16_t type = 0;
	for (; l3 + IP4_BYTES <= l4; l3 += VLAN_BYTES) {
		type = be16_load(p->data + l3 - 2);
		if (type != ETHERTYPE_VLAN && type != ETHERTYPE_SVLAN)
			break;
	}
	if (l3 + IP4_BYTES > l4)
		return false;
	if (type == ETHERTYPE_IP4)
		proto = p->data[l3 + 9];
	else if (type == ETHERTYPE_IP6 && l4 - l3 == IP6_BYTES)
		proto = p->data[l3 + 6];
	*h = (struct pkt_headers){l3, l4, type == ETHERTYPE_IP4, proto == PROTO_TCP};
	return (proto == PROTO_TCP && m->csum_offset == CSUM_OFFSET_TCP) ||
	       (proto == PROTO_UDP && m->csum_offset == CSUM_OFFSET_UDP);
}
