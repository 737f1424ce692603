/*
 * The rules for every segment on the wire; see tcp_rig.h. The sender is judged by what the other
 * side has offered so far, which is never less than what the sender can know of it.
 *
 * 1. IP: version, no options, length, checksum, not fragmented, no longer than the link's MTU.
 * 2. TCP: offset, checksum, options well formed, reserved bits 0 (RFC 9293 3.1), no port 0.
 * 3. Flags in valid combinations; SYN-only options only in SYNs (RFC 7323 2.2, 2018 2, 9293 3.7.1).
 * 4. No payload larger than the peer's MSS less our options (RFC 6691 2).
 * 5. Nothing beyond the offered window, except one byte to probe it (RFC 9293 3.8.6.1).
 * 6. An offered window is not taken back (RFC 9293 3.8.6, SHLD-14), except for what its scale
 *    cannot represent (RFC 7323 2.4).
 * 7. Timestamps in all segments if both SYNs had them, otherwise in none (RFC 7323 3.2). RST may
 *    omit them.
 * 8. SACK blocks only if both sides permitted them, none empty (RFC 2018 3).
 * 9. ECT only on new data of connections that negotiated it: not on retransmissions, nor on pure
 *    ACKs (RFC 3168 6.1.4, 6.1.5).
 *
 * Where hosts of one machine overtake each other (rig.overtakes), the window of 6 and the new data of
 * 9 are not judged: they need the order of sending.
 */
#include "tests/unit/rig/tcp_rig.h"

enum { OPT_MSS = 2, OPT_WSCALE = 3, OPT_SACK_OK = 4, OPT_SACK = 5, OPT_TS = 8, OPT_COOKIE = 34 };

/* One direction of a connection, from its last SYN on. */
struct beat {
	uint32_t src, dst;
	uint16_t src_port, dst_port;
	bool used, syn, fin, offered, cookies;
	bool has_ts, has_wscale, has_sack_ok, wants_ecn;
	uint8_t wscale;
	uint16_t mss;
	uint32_t iss;
	uint32_t right;   /* edge of the window that it offered */
	uint32_t next;    /* behind the highest byte it has sent */
};

struct police {
	struct beat *table;
	unsigned size, used;
};

struct police *police_new(void)
{
	struct police *p = calloc(1, sizeof *p);
	p->size = 64;
	p->table = calloc(p->size, sizeof *p->table);
	return p;
}

void police_free(struct police *p)
{
	free(p->table);
	free(p);
}

static struct beat *slot(struct police *p, uint32_t src, uint32_t dst, unsigned sp, unsigned dp)
{
	uint64_t h = ((uint64_t)src << 32 | dst) * 0x9e3779b97f4a7c15u;
	h = (h ^ ((uint64_t)sp << 16 | dp)) * 0xbf58476d1ce4e5b9u;
	for (unsigned i = (unsigned)(h >> 32);; i++) {
		struct beat *b = &p->table[i & (p->size - 1)];
		if (!b->used || (b->src == src && b->dst == dst && b->src_port == sp &&
		                 b->dst_port == dp))
			return b;
	}
}

static void grow(struct police *p)
{
	struct police old = *p;
	p->size *= 2;
	p->table = calloc(p->size, sizeof *p->table);
	for (unsigned i = 0; i < old.size; i++) {
		struct beat *b = &old.table[i];
		if (b->used)
			*slot(p, b->src, b->dst, b->src_port, b->dst_port) = *b;
	}
	free(old.table);
}

static struct beat *beat_of(struct police *p, uint32_t src, uint32_t dst, unsigned sp, unsigned dp)
{
	struct beat *b = slot(p, src, dst, sp, dp);
	if (b->used)
		return b;
	if (2 * p->used > p->size) {
		grow(p);
		b = slot(p, src, dst, sp, dp);
	}
	p->used++;
	*b = (struct beat){.src = src, .dst = dst, .src_port = (uint16_t)sp,
	                   .dst_port = (uint16_t)dp, .used = true};
	return b;
}

static void check_headers(const struct rig_host *h, const uint8_t *ip, unsigned len)
{
	const uint8_t *tcp = seg_tcp(ip);
	const struct net_addr own = rig_addr(h->rig, h->addr);
	rig_check(len >= ip_hlen(ip) + 20 && ip_len(ip) == len && ip_from(ip) == h->addr);
	if (h->rig->ip6) {
		rig_check((get32(ip) & ~(3u << 20)) == 0x60000000u);
		rig_check(ip[6] == 6 && ip[7] > 0 && memcmp(ip + 8, &own, 16) == 0);
		rig_check_equal(get32(ip + 24), IP6_PREFIX);
	} else {
		rig_check(ip[0] == 0x45);
		rig_check_equal(wire_sum(ip, 20, 0), 0xffff);
		rig_check_equal(get16(ip + 6) & 0x3fff, 0);
		rig_check(ip[9] == 6 && ip[8] > 0);
	}
	rig_check(len <= h->p.tcp.mtu);
	rig_check(seg_hlen(ip) >= 20 && seg_hlen(ip) <= len - ip_hlen(ip));
	rig_check_equal(wire_tcp_csum(ip), 0);
	rig_check_equal(tcp[12] & 0x0f, 0);
	rig_check(get16(tcp) != 0 && get16(tcp + 2) != 0);
	unsigned f = seg_flags(ip);
	rig_check(!(f & RST) || !(f & (SYN | FIN)));
	rig_check(!(f & SYN) || !(f & FIN));
	rig_check((f & (SYN | RST | ACK)) != 0);
	rig_check((f & ACK) || get32(tcp + 8) == 0);
	rig_check((f & URG) || get16(tcp + 18) == 0);
}

static unsigned option_len(const uint8_t *o)
{
	switch (*o) {
	case OPT_MSS:
		return 4;
	case OPT_WSCALE:
		return 3;
	case OPT_SACK_OK:
		return 2;
	case OPT_TS:
		return 10;
	case OPT_SACK:
		rig_check(o[1] >= 10 && o[1] <= 34 && o[1] % 8 == 2);
		return o[1];
	case OPT_COOKIE:
		rig_check(o[1] >= 2 && o[1] <= 18 && o[1] % 2 == 0);
		return o[1];
	default:
		rig_fail(__FILE__, __LINE__, "option %u", *o);
	}
}

static void check_options(const uint8_t *ip)
{
	const uint8_t *o = seg_tcp(ip) + 20, *end = seg_tcp(ip) + seg_hlen(ip);
	bool syn = seg_flags(ip) & SYN;
	unsigned seen = 0;
	while (o < end && *o != 0) {
		if (*o == 1) {
			o++;
			continue;
		}
		rig_check(end - o >= 2 && o[1] == option_len(o) && end - o >= o[1]);
		bool only_syn = *o == OPT_MSS || *o == OPT_WSCALE || *o == OPT_SACK_OK ||
		                *o == OPT_COOKIE;
		rig_check(!only_syn || syn);
		rig_check(*o != OPT_SACK || !syn);
		rig_check(*o > 31 || !(seen & 1u << *o));
		seen |= *o > 31 ? 0 : 1u << *o;
		o += o[1];
	}
}

static void see_syn(struct beat *b, const uint8_t *ip)
{
	const uint8_t *mss = seg_option(ip, OPT_MSS), *scale = seg_option(ip, OPT_WSCALE);
	bool again = b->syn && b->iss == seg_seq(ip), wanted = b->wants_ecn;
	*b = (struct beat){.src = b->src, .dst = b->dst, .src_port = b->src_port,
	                   .dst_port = b->dst_port, .used = true, .syn = true,
	                   .iss = seg_seq(ip), .next = again ? b->next : seg_seq(ip) + 1};
	b->mss = mss ? (uint16_t)get16(mss + 2) : 536;
	b->has_wscale = scale;
	b->wscale = scale ? scale[2] : 0;
	rig_check(b->wscale <= 14);
	b->has_ts = seg_option(ip, OPT_TS);
	b->has_sack_ok = seg_option(ip, OPT_SACK_OK);
	/* The answer may be to the first of its SYNs, even if only a later one was without ECN. */
	b->wants_ecn = (seg_flags(ip) & ECE) || (again && wanted);
	if (seg_flags(ip) & ACK) {
		b->offered = true;
		b->right = seg_ack(ip) + get16(seg_tcp(ip) + 14); /* RFC 7323 2.2: not scaled */
	}
}

/* Records the window that the sender of this segment (b) offers, and checks that it does not shrink
 * for its peer (o). */
static void see_window(const struct rig_host *h, struct beat *b, const struct beat *o, const uint8_t *ip)
{
	unsigned scale = b->has_wscale && o->has_wscale ? b->wscale : 0;
	uint32_t right = seg_ack(ip) + ((uint32_t)get16(seg_tcp(ip) + 14) << scale);
	if (b->offered && (int32_t)(right - b->right) < 0) {
		if (!h->rig->overtakes && !o->fin && b->right - right >= 1u << scale)
			rig_fail(__FILE__, __LINE__, "window taken back by %u", b->right - right);
		return;
	}
	b->right = right;
	b->offered = true;
}

static void check_payload(const struct rig_host *h, const struct beat *b, const struct beat *o,
                          const uint8_t *ip)
{
	unsigned n = seg_len(ip), space = n + !!(seg_flags(ip) & FIN);
	uint32_t end = seg_seq(ip) + space;
	if (n && o->syn && n + seg_hlen(ip) - 20 > o->mss)
		rig_fail(__FILE__, __LINE__, "%u bytes of payload, %u of options, MSS %u", n,
		         seg_hlen(ip) - 20, o->mss);
	if (n && !o->syn) /* Fast Open: by the MSS of the connection before (RFC 7413 4.1.3) */
		rig_check(n + seg_hlen(ip) + ip_hlen(ip) <= h->p.tcp.mtu);
	if (space && o->offered && (int32_t)(end - o->right) > 1)
		rig_fail(__FILE__, __LINE__, "sends to %u, may to %u", end - b->iss,
		         o->right - b->iss);
}

static void check_agreed(const struct rig_host *h, const struct beat *b, const struct beat *o,
                         const uint8_t *ip)
{
	unsigned f = seg_flags(ip), n = seg_len(ip);
	if (!(f & RST))
		rig_check(!!seg_option(ip, OPT_TS) == (b->has_ts && o->has_ts));
	const uint8_t *sack = seg_option(ip, OPT_SACK);
	rig_check(!sack || (b->has_sack_ok && o->has_sack_ok));
	for (unsigned i = 0; sack && i < sack[1] / 8u; i++)
		rig_check((int32_t)(get32(sack + 6 + 8 * i) - get32(sack + 2 + 8 * i)) > 0);
	unsigned ecn = ip_ecn(ip);
	if (ecn) {
		rig_check(b->wants_ecn && o->wants_ecn && n > 0 && ecn != 3);
		/* One byte may have been sent before as a window probe. */
		rig_check((int32_t)(seg_seq(ip) + n - b->next) > 0 || n == 1 || h->rig->overtakes);
	}
	rig_check((b->wants_ecn && o->wants_ecn) || !(f & (ECE | CWR)));
}

void police_segment(struct rig_host *h, const uint8_t *ip, unsigned len)
{
	check_headers(h, ip, len);
	check_options(ip);
	struct police *p = h->rig->police;
	unsigned sp = get16(seg_tcp(ip)), dp = get16(seg_tcp(ip) + 2), f = seg_flags(ip);
	beat_of(p, ip_from(ip), ip_to(ip), sp, dp); /* now neither call moves the other's entry */
	struct beat *o = beat_of(p, ip_to(ip), ip_from(ip), dp, sp);
	struct beat *b = beat_of(p, ip_from(ip), ip_to(ip), sp, dp);
	if ((f & (SYN | ACK)) == SYN && o->offered && !(b->syn && b->iss == seg_seq(ip)))
		o->syn = o->offered = o->fin = false; /* the next connection of this name */
	/* The answer to a SYN that the peer never sent but a third host did (data may be
	 * acknowledged). */
	if ((f & (SYN | ACK)) == (SYN | ACK) && o->syn && seg_ack(ip) - (o->iss + 1) > 65535)
		return;
	if (f & SYN)
		see_syn(b, ip);
	check_payload(h, b, o, ip);
	if (f & (SYN | RST) || !b->syn || !o->syn)
		return;
	check_agreed(h, b, o, ip);
	if (f & ACK)
		see_window(h, b, o, ip);
	if ((int32_t)(seg_seq(ip) + seg_len(ip) + !!(f & FIN) - b->next) > 0)
		b->next = seg_seq(ip) + seg_len(ip) + !!(f & FIN);
	b->fin |= f & FIN;
}
