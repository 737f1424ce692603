/* Prepares a flow: the constant part of its frames, and the sums of that part; see frames.h. */
#include "tools/pktgen/frames/frames.h"

#include "lib/csum.h"
#include "lib/mem.h"
#include "tools/pktgen/frames/frames_inside.h"

#define ETH_TYPE_VLAN 0x8100    /* IEEE 802.1Q: C-TAG */
#define ETH_TYPE_SERVICE 0x88a8 /* IEEE 802.1Q: S-TAG, the outer one of two */
#define ICMP4_ECHO_REQUEST 8    /* RFC 792 */
#define ICMP6_ECHO_REQUEST 128  /* RFC 4443 4.1 */
#define TCP_WINDOW 0xffff

unsigned frames_least(const struct plan_stream *s)
{
	unsigned payload = frames_payload_at(s), least = payload;
	for (unsigned i = 0; i < s->fields; i++) {
		const struct plan_field *p = &s->field[i];
		unsigned end = p->where == PLAN_PAYLOAD ? payload + p->offset + p->bytes : 0;
		least = end > least ? end : least;
	}
	return least;
}

/* --- the pattern --- */

static void sum_pattern(struct frames *f)
{
	f->pattern_sum[0] = 0;
	for (unsigned i = 0; i < FRAMES_PATTERN_PERIOD / 2; i++) {
		const uint8_t word[2] = {frames_pattern(2 * i), frames_pattern(2 * i + 1)};
		f->pattern_sum[i + 1] = f->pattern_sum[i] + raw16_load(word);
	}
}

/* --- is the stream valid? --- */

static bool sizes_good(const struct plan_stream *s)
{
	const unsigned least = frames_least(s);
	if (s->sizes == 0 || s->sizes > PLAN_SIZES_MAX)
		return false;
	for (unsigned i = 0; i < s->sizes; i++)
		if (s->size[i] < least || s->size[i] < PLAN_FRAME_MIN || s->size[i] > PLAN_FRAME_MAX)
			return false;
	return s->size_mode == PLAN_SIZES_LIST || (s->sizes == 2 && s->size[0] <= s->size[1]);
}

/* Does field n differ in place from the fields before it? Payload fields must not overlap. */
static bool is_apart(const struct plan_stream *s, unsigned n)
{
	const struct plan_field *p = &s->field[n];
	for (unsigned i = 0; i < n; i++) {
		const struct plan_field *q = &s->field[i];
		if (q->where != p->where)
			continue;
		if (p->where != PLAN_PAYLOAD || (p->offset < q->offset + q->bytes &&
		                                 q->offset < p->offset + p->bytes))
			return false;
	}
	return true;
}

static bool field_good(const struct plan_stream *s, const struct plan_field *p)
{
	if (p->count == 0 || (p->mode == PLAN_LIST && p->count > PLAN_LIST_MAX))
		return false;
	switch (p->where) {
	case PLAN_VLAN:
		return s->vlans > 0;
	case PLAN_PORT_SRC:
	case PLAN_PORT_DST:
		return s->proto != PLAN_IP_ONLY;
	case PLAN_PAYLOAD:
		return p->bytes == 1 || p->bytes == 2 || p->bytes == 4 || p->bytes == 8;
	default:
		return true;
	}
}

static bool is_good(const struct plan_stream *s, unsigned sender, unsigned senders)
{
	if (senders == 0 || senders > FRAMES_SENDERS_MAX || sender >= senders ||
	    s->vlans > PLAN_VLANS_MAX || s->fields > PLAN_FIELDS_MAX || !sizes_good(s) ||
	    net_addr_is_ip4(&s->src) == s->v6 || net_addr_is_ip4(&s->dst) == s->v6)
		return false;
	for (unsigned i = 0; i < s->fields; i++)
		if (!field_good(s, &s->field[i]) || !is_apart(s, i))
			return false;
	return true;
}

/* --- headers --- */

static void put_ethernet(struct frames *f, const struct plan_stream *s, const uint8_t *src,
                         const uint8_t *dst)
{
	uint8_t *at = f->head + 2 * ETH_ALEN;
	eth_copy(f->head, dst);
	eth_copy(f->head + ETH_ALEN, src);
	for (unsigned i = 0; i < s->vlans; i++, at += FRAMES_TAG_BYTES) {
		be16_store(at, i + 1 < s->vlans ? ETH_TYPE_SERVICE : ETH_TYPE_VLAN);
		be16_store(at + 2, s->vlan[i]);
	}
	be16_store(at, s->v6 ? ETH_TYPE_IP6 : ETH_TYPE_IP4);
}

static uint8_t ip_proto(const struct plan_stream *s)
{
	switch (s->proto) {
	case PLAN_UDP: return IP_PROTO_UDP;
	case PLAN_TCP: return IP_PROTO_TCP;
	case PLAN_ICMP: return s->v6 ? (uint8_t)IP6_ICMP6 : (uint8_t)IP4_PROTO_ICMP;
	default: return FRAMES_PROTO_NONE;
	}
}

/* Leaves the length, and the checksum of IPv4, zero. IPv4 datagrams are atomic (RFC 6864 4.1): DF
 * is set, the identification is 0. */
static void put_ip(struct frames *f, const struct plan_stream *s)
{
	uint8_t *ip = f->head + f->ip_at;
	if (s->v6) {
		const struct ip6_build b = {.src = s->src, .dst = s->dst, .traffic_class = s->tos,
		                            .next = ip_proto(s), .hop_limit = s->ttl};
		ip6_header_build(ip, &b);
		return;
	}
	const struct ip4_build b = {.src = net_addr_to_ip4(&s->src), .dst = net_addr_to_ip4(&s->dst),
	                            .tos = s->tos, .ttl = s->ttl, .proto = ip_proto(s), .df = true};
	ip4_header_build(ip, &b);
	raw16_store(ip + offsetof(struct ip4_header, total_len), 0);
	raw16_store(ip + offsetof(struct ip4_header, checksum), 0);
}

/* Leaves length and checksum zero. */
static void put_l4(struct frames *f, const struct plan_stream *s)
{
	uint8_t *l4 = f->head + f->l4_at;
	switch (s->proto) {
	case PLAN_UDP:
		be16_store(l4, s->sport);
		be16_store(l4 + 2, s->dport);
		f->l4_csum_at = (uint16_t)(f->l4_at + 6);
		f->len_weight = 2; /* in the header and in the pseudo header */
		break;
	case PLAN_TCP:
		tcp_header_put(l4, s->sport, s->dport, 0, 0, TCP_HLEN, s->tcp_flags, TCP_WINDOW, 0);
		f->l4_csum_at = (uint16_t)(f->l4_at + 16);
		f->len_weight = 1;
		break;
	case PLAN_ICMP:
		l4[0] = s->v6 ? ICMP6_ECHO_REQUEST : ICMP4_ECHO_REQUEST;
		be16_store(l4 + 4, s->sport);
		be16_store(l4 + 6, s->dport);
		f->l4_csum_at = (uint16_t)(f->l4_at + 2);
		f->len_weight = s->v6; /* only ICMPv6 has a pseudo header (RFC 4443 2.3) */
		break;
	default:
		break;
	}
}

/* --- fields --- */

/* The offset of the field in the frame; its length in *bytes. */
static unsigned field_at(const struct plan_stream *s, const struct plan_field *p, uint8_t *bytes)
{
	const unsigned ip = frames_ip_at(s), l4 = frames_l4_at(s);
	const unsigned ports = s->proto == PLAN_ICMP ? l4 + 4 : l4;
	switch (p->where) {
	case PLAN_MAC_DST:
	case PLAN_MAC_SRC:
		*bytes = ETH_ALEN;
		return p->where == PLAN_MAC_DST ? 0 : ETH_ALEN;
	case PLAN_VLAN:
		*bytes = 2;
		return 2 * ETH_ALEN + 2;
	case PLAN_IP_SRC: /* of IPv6 the lower 64 bits */
	case PLAN_IP_DST:
		*bytes = s->v6 ? 8 : 4;
		return ip + (s->v6 ? 8 + 8 : 12) + (p->where == PLAN_IP_DST ? (s->v6 ? 16 : 4) : 0);
	case PLAN_PORT_SRC:
	case PLAN_PORT_DST:
		*bytes = 2;
		return ports + (p->where == PLAN_PORT_DST ? 2 : 0);
	default:
		*bytes = p->bytes;
		return frames_payload_at(s) + p->offset;
	}
}

/* The sum of the pattern's bytes that the field overwrites. */
static uint32_t hole_of(const struct frames *f, const struct frames_field *d)
{
	uint32_t sum = 0;
	const unsigned from = d->at - (f->ip_at - ETH_HLEN);
	for (unsigned i = from; i < from + d->bytes; i++)
		sum += (uint32_t)frames_pattern(i) << (i % 2 ? 8 : 0);
	return sum;
}

static void put_field(struct frames *f, const struct plan_stream *s, const struct plan_field *p,
                      struct frames_field *d)
{
	const bool ip = p->where == PLAN_IP_SRC || p->where == PLAN_IP_DST;
	const bool port = p->where == PLAN_PORT_SRC || p->where == PLAN_PORT_DST;
	d->where = p->where;
	d->mode = p->mode;
	d->first = p->first;
	d->step = p->step;
	d->count = p->count;
	d->seed = p->seed;
	memcpy(d->list, p->list, sizeof d->list);
	d->back = p->count - frames_modulo(f->senders, p->count);
	d->at = (uint16_t)field_at(s, p, &d->bytes);
	d->keep = p->where == PLAN_VLAN ? s->vlan[0] & 0xf000 : 0;
	d->shift = d->at % 2 ? 8 : 0;
	d->in_ip = ip && !s->v6;
	/* the pseudo header has the addresses, but ICMP for IPv4 has no pseudo header (RFC 792) */
	d->in_l4 = f->l4_csum_at != 0 && (port || p->where == PLAN_PAYLOAD ||
	                                  (ip && (s->v6 || s->proto != PLAN_ICMP)));
	f->vary_ip_csum |= d->in_ip;
	f->vary_l4_csum |= d->in_l4;
	if (p->where == PLAN_PAYLOAD)
		f->holes += hole_of(f, d);
	else if (p->where != PLAN_VLAN)
		memset(f->head + d->at, 0, d->bytes);
}

/* --- sums --- */

/* Folds a sum to 16 bits, without the complement. */
static uint32_t fold(uint32_t sum)
{
	return (uint16_t)~csum_fold(sum);
}

/* Sums up the head while fields, lengths and checksums are zero. */
static void sum_head(struct frames *f, const struct plan_stream *s)
{
	const uint8_t *ip = f->head + f->ip_at;
	const unsigned addresses = s->v6 ? 32 : 8;
	if (!s->v6)
		f->ip_base = fold(csum_partial(ip, IP4_HLEN, 0));
	f->l4_base = csum_partial(f->head + f->l4_at, frames_l4_bytes(s->proto), 0);
	if (f->len_weight > 0) {
		f->l4_base = csum_partial(f->head + f->l4_at - addresses, addresses, f->l4_base);
		f->l4_base = csum_add(f->l4_base, be16_make(ip_proto(s)).raw);
	}
	f->l4_base = fold(f->l4_base);
}

static void put_sizes(struct frames *f, const struct plan_stream *s)
{
	f->size_mode = s->size_mode;
	f->sizes = s->sizes;
	f->size_seed = s->size_seed;
	f->size_stride = f->senders % s->sizes;
	f->size_span = s->size_mode == PLAN_SIZES_RANDOM ? s->size[1] - s->size[0] + 1u : 1;
	for (unsigned i = 0; i < s->sizes; i++) {
		f->size[i] = frames_size_of(f, s->size[i]);
		f->vary_sizes |= s->size[i] != s->size[0];
		f->len_max = s->size[i] > f->len_max ? s->size[i] : f->len_max;
	}
	f->vary_ip_csum |= f->vary_sizes && !s->v6;
	f->vary_l4_csum |= f->vary_sizes && f->l4_csum_at != 0;
}

int frames_init(struct frames *f, const struct plan_stream *s, const uint8_t mac_src[6],
                const uint8_t mac_dst[6], unsigned flow, unsigned sender, unsigned senders)
{
	if (!is_good(s, sender, senders))
		return E_INVAL;
	memset(f, 0, sizeof *f);
	f->stamped = s->stamped;
	f->v6 = s->v6;
	f->proto = s->proto;
	f->flow = (uint16_t)flow;
	f->sender = sender;
	f->senders = senders;
	f->ip_at = (uint16_t)frames_ip_at(s);
	f->l4_at = (uint16_t)frames_l4_at(s);
	f->payload_at = (uint16_t)frames_payload_at(s);
	f->stamp_at = (uint16_t)(f->payload_at - STAMP_BYTES);
	sum_pattern(f);
	put_ethernet(f, s, mac_src, mac_dst);
	put_ip(f, s);
	put_l4(f, s);
	f->fields = s->fields;
	for (unsigned i = 0; i < s->fields; i++)
		put_field(f, s, &s->field[i], &f->field[i]);
	sum_head(f, s);
	put_sizes(f, s);
	if (f->stamped) {
		raw16_store(f->head + f->stamp_at + offsetof(struct stamp, magic), STAMP_MAGIC);
		raw16_store(f->head + f->stamp_at + offsetof(struct stamp, flow), f->flow);
	}
	/* from here on the head holds all bytes that are the same in all frames */
	frames_put_size(f, f->head, &f->size[0]);
	if (!f->v6)
		frames_put_ip_csum(f, f->head, f->size[0].ip_sum);
	if (f->l4_csum_at != 0)
		frames_put_l4_csum(f, f->head, f->size[0].l4_sum);
	return E_OK;
}

unsigned frames_make(const struct frames *f, uint8_t *buf, uint64_t n, uint32_t ns)
{
	const unsigned tags = f->ip_at - ETH_HLEN;
	memcpy(buf, f->head, f->payload_at);
	for (unsigned i = f->payload_at; i < f->len_max; i++)
		buf[i] = frames_pattern(i - tags);
	frames_patch(f, &buf, 1, n, ns);
	return frames_len(f, n);
}

/* Does an index that advances by `senders` a frame, modulo count, repeat after `slots` frames? */
static bool comes_round(const struct frames *f, uint64_t count, unsigned slots)
{
	return frames_modulo((uint64_t)slots * f->senders, count) == 0;
}

bool frames_fixed(const struct frames *f, unsigned slots)
{
	if (f->stamped || (f->vary_sizes && (f->size_mode == PLAN_SIZES_RANDOM ||
	                                     !comes_round(f, f->sizes, slots))))
		return false;
	for (unsigned i = 0; i < f->fields; i++) {
		const struct frames_field *d = &f->field[i];
		bool still = d->count == 1 || (d->mode == PLAN_INCREMENT && d->step == 0);
		if (!still && (d->mode == PLAN_RANDOM || !comes_round(f, d->count, slots)))
			return false;
	}
	return true;
}
