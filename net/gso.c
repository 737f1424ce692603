/* See gso.h. */
#include "net/gso.h"

#include "lib/bytes.h"
#include "lib/csum.h"
#include "lib/mem.h"
#include "net/eth.h"
#include "net/ip.h"

#define VLAN_BYTES 4
#define ETHERTYPE_VLAN 0x8100
#define ETHERTYPE_SVLAN 0x88a8
#define TCP_HLEN 20
#define TCP_SEQ 4 /* offsets in the header (RFC 9293, 3.1) */
#define TCP_FLAGS 13
#define TCP_CSUM 16
#define TCP_FIN 0x01
#define TCP_PSH 0x08
#define TCP_CWR 0x80
#define UDP_HLEN 8
#define UDP_LEN 4 /* offsets in the header (RFC 768) */
#define UDP_CSUM 6

/* Where the IP header begins, or 0: none before l4 that is known here. */
static unsigned find_l3(const uint8_t *frame, unsigned l4)
{
	for (unsigned l3 = ETH_HLEN; l3 + IP4_HLEN <= l4; l3 += VLAN_BYTES) {
		uint16_t type = be16_load(frame + l3 - 2);
		if (type == ETH_TYPE_IP4 || type == ETH_TYPE_IP6)
			return l3;
		if (type != ETHERTYPE_VLAN && type != ETHERTYPE_SVLAN)
			break;
	}
	return 0;
}

/* The headers are what the packet says they are. */
static bool fits(const struct gso *g, const struct pkt_meta *m)
{
	const uint8_t *ip = g->pkt.data + g->l3;
	bool tcp = g->pkt.flags & PKT_TSO;
	uint8_t proto = tcp ? IP4_PROTO_TCP : IP4_PROTO_UDP;
	unsigned len = g->l3 ? g->l4 - g->l3 : 0;
	bool ip4 = g->l3 && ip[0] >> 4 == 4 && ip4_header_len(ip) == len && !ip4_is_fragment(ip) &&
	           ip4_proto(ip) == proto;
	bool ip6 = len == IP6_HLEN && ip_is_ip6(ip) && ip6_next(ip) == proto;
	if (!ip4 && !ip6)
		return false;
	return m->csum_offset == (tcp ? TCP_CSUM : UDP_CSUM) &&
	       g->hdr_bytes >= g->l4 + (tcp ? TCP_HLEN : UDP_HLEN);
}

int gso_init(struct gso *g, const struct bufpool *pool, const struct pkt *p)
{
	const struct pkt_meta *m = pkt_meta(pool, p->buf);
	uint32_t bytes = pkt_bytes(pool, p);
	if (!(p->flags & PKT_CSUM_PARTIAL) || !(p->flags & (PKT_TSO | PKT_USO)) || m->mss == 0 ||
	    m->hdr_bytes > p->len || m->hdr_bytes >= bytes || m->csum_start >= m->hdr_bytes ||
	    (uint32_t)m->hdr_bytes + m->mss > buf_room(pool))
		return E_INVAL;
	*g = (struct gso){
		.pool = pool,
		.pkt = *p,
		.payload = bytes - m->hdr_bytes,
		.from = p->data + m->hdr_bytes,
		.here = (uint32_t)p->len - m->hdr_bytes,
		.frag = p->flags & PKT_CHAIN ? pkt_frags(pool, p->buf) : NULL,
		.hdr_bytes = m->hdr_bytes,
		.mss = m->mss,
		.l3 = (uint16_t)find_l3(p->data, m->csum_start),
		.l4 = m->csum_start,
	};
	return fits(g, m) ? E_OK : E_INVAL;
}

/* The next n bytes of the payload. */
static void take(struct gso *g, uint8_t *to, uint32_t n)
{
	while (n) {
		if (g->here == 0) {
			g->from = buf_base(g->pool, g->frag->buf) + g->frag->offset;
			g->here = g->frag->len;
			g->frag++;
		}
		uint32_t part = n < g->here ? n : g->here;
		memcpy(to, g->from, part);
		to += part;
		n -= part;
		g->from += part;
		g->here -= part;
	}
}

/* The sum of the pseudo header of a segment that has `bytes` from its L4 header on. */
static uint32_t pseudo_sum(const uint8_t *ip, uint32_t bytes)
{
	if (ip_is_ip6(ip))
		return csum_pseudo6(ip + 8, ip + 24, ip6_next(ip), bytes);
	return csum_pseudo4(ip4_src(ip), ip4_dst(ip), ip4_proto(ip), (uint16_t)bytes);
}

static void fix_ip(uint8_t *ip, uint32_t bytes, uint32_t number)
{
	if (ip_is_ip6(ip)) {
		be16_store(ip + 4, (uint16_t)(bytes - IP6_HLEN));
		return;
	}
	be16_store(ip + 2, (uint16_t)bytes);
	be16_store(ip + 4, (uint16_t)(be16_load(ip + 4) + number));
	ip4_checksum_set(ip);
}

static void fix_l4(const struct gso *g, uint8_t *l4, uint32_t bytes, uint32_t pseudo, bool last)
{
	bool tcp = g->pkt.flags & PKT_TSO;
	uint8_t *csum = l4 + (tcp ? TCP_CSUM : UDP_CSUM);
	if (tcp) {
		be32_store(l4 + TCP_SEQ, be32_load(l4 + TCP_SEQ) + g->done);
		if (!last)
			l4[TCP_FLAGS] &= (uint8_t)~(TCP_FIN | TCP_PSH);
		if (g->done)
			l4[TCP_FLAGS] &= (uint8_t)~TCP_CWR;
	} else {
		be16_store(l4 + UDP_LEN, (uint16_t)bytes);
	}
	raw16_store(csum, 0);
	uint16_t sum = csum_fold(csum_partial(l4, bytes, pseudo));
	raw16_store(csum, sum || tcp ? sum : 0xffff);
}

bool gso_next(struct gso *g, struct pkt *to)
{
	uint32_t left = g->payload - g->done, n = left < g->mss ? left : g->mss;
	uint32_t bytes = g->hdr_bytes + n;
	if (left == 0)
		return false;
	memcpy(to->data, g->pkt.data, g->hdr_bytes);
	take(g, to->data + g->hdr_bytes, n);
	uint8_t *ip = to->data + g->l3;
	fix_ip(ip, bytes - g->l3, g->done / g->mss);
	fix_l4(g, to->data + g->l4, bytes - g->l4, pseudo_sum(ip, bytes - g->l4), n == left);
	to->len = (uint16_t)bytes;
	to->port = g->pkt.port;
	to->flags = (uint8_t)((g->pkt.flags & (PKT_OWN | PKT_VLAN)) | PKT_CSUM_OK);
	if (g->pkt.flags & PKT_VLAN)
		pkt_meta(g->pool, to->buf)->vlan_tci = pkt_meta(g->pool, g->pkt.buf)->vlan_tci;
	g->done += n;
	return true;
}
