/*
 * The device of a host and the wire behind it; see tcp_rig.h.
 *
 * The device parses frames with code of its own, because lib/csum.c is among what is tested. The
 * checksum is that of RFC 1071. TSO works as in Ethernet controllers: FIN and PSH go with the last
 * segment, CWR with the first (RFC 3168 6.1.2), the IP identification increments.
 */
#include "tests/unit/rig/tcp_rig.h"

#define HOLD_US 50 /* how long a segment waits that rig.route holds back */

#include <sanitizer/asan_interface.h>

#define ETH_BYTES 14
#define CE 3

/* A frame that the device has not yet read. `then`: its bytes when it was given. */
struct rig_sent {
	struct rig_sent *next;
	struct pkt pkt;
	uint64_t due_us;
	uint32_t len;
	uint8_t then[];
};

/* --- sums --- */

uint32_t wire_sum(const uint8_t *p, size_t n, uint32_t sum)
{
	uint64_t s = 0;
	for (; n >= 4; n -= 4, p += 4) {
		uint32_t w;
		memcpy(&w, p, 4);
		s += w;
	}
	if (n) {
		uint8_t last[4] = {0};
		uint32_t w;
		memcpy(last, p, n);
		memcpy(&w, last, 4);
		s += w;
	}
	while (s >> 16)
		s = (s & 0xffff) + (s >> 16);
	sum += (uint32_t)(s >> 8 | (s & 0xff) << 8);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

static uint32_t pseudo_sum(const uint8_t *ip, unsigned tcp_len)
{
	return ip_is6(ip) ? wire_sum(ip + 8, 32, 6 + tcp_len) : wire_sum(ip + 12, 8, 6 + tcp_len);
}

uint16_t wire_tcp_csum(const uint8_t *ip)
{
	unsigned n = ip_len(ip) - ip_hlen(ip);
	return (uint16_t)~wire_sum(seg_tcp(ip), n, pseudo_sum(ip, n));
}

void wire_csum_set(uint8_t *ip)
{
	if (!ip_is6(ip)) {
		set16(ip + 10, 0);
		set16(ip + 10, (uint16_t)~wire_sum(ip, (ip[0] & 15u) * 4, 0));
	}
	set16(seg_tcp(ip) + 16, 0);
	set16(seg_tcp(ip) + 16, wire_tcp_csum(ip));
}

uint8_t *wire_ip_put(const struct rig *r, uint8_t *ip, uint32_t src, uint32_t dst, unsigned n)
{
	static const uint8_t head4[12] = {0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 6};
	static const uint8_t head6[8] = {0x60, 0, 0, 0, 0, 0, 6, 64};
	if (r->ip6) {
		struct net_addr from = rig_addr(r, src), to = rig_addr(r, dst);
		memcpy(ip, head6, sizeof head6);
		set16(ip + 4, n);
		memcpy(ip + 8, &from, 16);
		memcpy(ip + 24, &to, 16);
		return ip + 40;
	}
	memcpy(ip, head4, sizeof head4);
	set16(ip + 2, 20 + n);
	set32(ip + 12, src);
	set32(ip + 16, dst);
	return ip + 20;
}

static void set_ce(uint8_t *ip)
{
	ip[1] |= (uint8_t)(ip_is6(ip) ? CE << 4 : CE);
	wire_csum_set(ip);
}

uint8_t *seg_option(const uint8_t *ip, uint8_t kind)
{
	uint8_t *o = seg_tcp(ip) + 20, *end = seg_tcp(ip) + seg_hlen(ip);
	while (o < end && *o != 0) {
		if (*o == kind)
			return o;
		if (*o == 1) {
			o++;
			continue;
		}
		if (o + 1 >= end || o[1] < 2)
			break;
		o += o[1];
	}
	return NULL;
}

/* --- the wire --- */

/* When the last byte of n has left, through queue and rate limit; false: the queue is full. */
static bool through_queue(struct rig_host *h, unsigned n, uint8_t *ip, uint64_t *t_ns)
{
	const struct wire *w = &h->wire;
	struct wire_state *s = &h->way;
	*t_ns = h->rig->now_us * 1000;
	if (!w->rate_bps)
		return true;
	uint64_t backlog_ns = s->busy_ns > *t_ns ? s->busy_ns - *t_ns : 0;
	uint64_t queued = backlog_ns * (w->rate_bps / 8) / 1000000000u;
	if (w->queue_bytes && queued + n > w->queue_bytes)
		return false;
	if (w->mark_bytes && queued > w->mark_bytes && ip_ecn(ip) != 0) {
		s->marked++;
		set_ce(ip);
	}
	s->busy_ns = *t_ns + backlog_ns + (uint64_t)n * 8 * 1000000000u / w->rate_bps;
	*t_ns = s->busy_ns;
	return true;
}

/* Changes one byte: the checksum detects any such change. */
static void damage(struct rig *r, struct rig_frame *f)
{
	uint32_t at = chance_below(&r->chance, f->len);
	f->ip[at] ^= (uint8_t)chance_range(&r->chance, 1, 255);
	f->damaged = true;
}

static bool is_lost(struct rig_host *h)
{
	const struct wire *w = &h->wire;
	struct wire_state *s = &h->way;
	struct chance *c = &h->rig->chance;
	if (chance_ppm(c, w->burst_ppm)) {
		s->burst_left = w->burst_segments;
		s->burst_end_us = h->rig->now_us + SECOND; /* or a timer that backs off never ends
		                                              it */
	}
	if (h->rig->now_us > s->burst_end_us)
		s->burst_left = 0;
	if (s->burst_left) {
		s->burst_left--;
		return true;
	}
	return w->cut || chance_ppm(c, w->loss_ppm);
}

static void arrive_later(struct rig_host *h, struct rig_host *to, struct rig_frame *f,
                         uint64_t left_us)
{
	const struct wire *w = &h->wire;
	struct chance *c = &h->rig->chance;
	uint64_t t = left_us + w->delay_us + chance_below(c, w->jitter_us + 1);
	if (t < h->way.last_us)
		t = h->way.last_us;
	h->way.last_us = t;
	if (chance_ppm(c, w->reorder_ppm))
		t += chance_range(c, 1, w->reorder_us + 1);
	rig_event(h->rig, &(struct event){.t_us = t, .kind = EVENT_ARRIVE, .host = to, .frame = f});
}

/* A router on the path has a smaller MTU. True: f ends there. */
static bool ends_at_router(struct rig_host *h, struct rig_frame *f)
{
	const struct wire *w = &h->wire;
	if (!w->mtu || f->len <= w->mtu)
		return false;
	h->way.too_big++;
	rig_check(ip_is6(f->ip) || f->ip[6] & 0x40); /* RFC 1191 3 */
	if (!w->icmp) {
		rig_frame_free(h->rig, f);
		return true;
	}
	f->mtu = w->mtu;
	rig_event(h->rig, &(struct event){.t_us = h->rig->now_us + w->delay_us,
	                                  .kind = EVENT_ICMP, .host = h, .frame = f});
	return true;
}

/* TRACE=1: prints each segment that is sent. */
static void trace(const struct rig_host *h, const uint8_t *ip, const char *fate)
{
	static const char letters[] = "FSRPAUEC";
	if (!h->rig->trace)
		return;
	fprintf(stderr, "%9llu us  %u:%u > %u  ", (unsigned long long)h->rig->now_us, h->index,
	       get16(seg_tcp(ip)), get16(seg_tcp(ip) + 2));
	for (unsigned i = 0; i < 8; i++)
		if (seg_flags(ip) >> i & 1)
			fputc(letters[i], stderr);
	fprintf(stderr, "  %u+%u ack %u win %u", seg_seq(ip), seg_len(ip), seg_ack(ip),
	        get16(seg_tcp(ip) + 14));
	const uint8_t *sack = seg_option(ip, 5);
	for (unsigned i = 0; sack && i < sack[1] / 8u; i++)
		fprintf(stderr, " [%u %u)", get32(sack + 2 + 8 * i), get32(sack + 6 + 8 * i));
	fprintf(stderr, "%s\n", fate);
}

/* One segment enters the wire of h. */
static void wire_segment(struct rig_host *h, struct rig_frame *f)
{
	struct rig *r = h->rig;
	uint64_t left_ns;
	police_segment(h, f->ip, f->len);
	struct rig_host *to = rig_host_of(r, ip_to(f->ip));
	if (h->filter && !h->filter(h, f->ip, f->len))
		to = NULL;
	f->len = ip_len(f->ip);
	h->way.segments++;
	h->way.bytes += f->len;
	if (to && ends_at_router(h, f))
		return;
	if (!to || is_lost(h)) {
		trace(h, f->ip, "  lost");
		h->way.lost++;
		rig_frame_free(r, f);
		return;
	}
	if (chance_ppm(&r->chance, h->wire.ce_ppm) && ip_ecn(f->ip) != 0) {
		h->way.marked++;
		set_ce(f->ip);
	}
	if (!through_queue(h, f->len + ETH_BYTES, f->ip, &left_ns)) {
		trace(h, f->ip, "  queue full");
		h->way.dropped_full++;
		rig_frame_free(r, f);
		return;
	}
	trace(h, f->ip, "");
	if (chance_ppm(&r->chance, h->wire.dup_ppm)) {
		struct rig_frame *twin = rig_frame_new(r, f->len);
		memcpy(twin->ip, f->ip, f->len);
		arrive_later(h, to, twin, left_ns / 1000);
	}
	if (chance_ppm(&r->chance, h->wire.corrupt_ppm)) {
		h->way.corrupted++;
		damage(r, f);
	}
	arrive_later(h, to, f, left_ns / 1000);
}

/* --- the device --- */

/* Copies all bytes of a frame, one piece after the other. */
static void flatten(const struct bufpool *pool, const struct pkt *p, uint8_t *to)
{
	memcpy(to, p->data, p->len);
	to += p->len;
	if (!(p->flags & PKT_CHAIN))
		return;
	const struct pkt_meta *m = pkt_meta(pool, p->buf);
	const struct pkt_frag *f = pkt_frags(pool, p->buf);
	rig_check(m->frags >= 1 && m->frags <= PKT_FRAGS_MAX);
	rig_check(p->data + p->len <= buf_base(pool, p->buf) + BUF_FRAGS_OFFSET);
	unsigned total = 0;
	for (unsigned i = 0; i < m->frags; i++) {
		rig_check(f[i].len >= 1 && f[i].buf < pool->count);
		const bool outside = pkt_meta(pool, f[i].buf)->refs & BUF_REFS_OUTSIDE;
		rig_check(outside ? f[i].offset & BUF_OUTSIDE : f[i].offset >= BUF_META && f[i].offset + f[i].len <= pool->stride);
		rig_check(buf_holders(pool, f[i].buf) >= 1);
		memcpy(to + total, buf_at(pool, f[i].buf, f[i].offset), f[i].len);
		total += f[i].len;
	}
	rig_check_equal(total, m->frag_bytes);
}

/* A frame given to a device may request only what the device supports. */
static void check_request(const struct rig_host *h, const struct pkt *p, uint32_t len)
{
	uint32_t can = h->p.tcp.offload;
	const struct pkt_meta *m = pkt_meta(&h->pool, p->buf);
	rig_check(p->flags & PKT_OWN);
	rig_check(!(p->flags & (PKT_VLAN | PKT_USO)));
	rig_check(!(p->flags & PKT_CHAIN) || (can & TCP_TX_SG));
	rig_check(!(p->flags & PKT_CSUM_PARTIAL) || (can & TCP_TX_CSUM));
	rig_check(p->len >= ETH_BYTES + 40 && p->data >= buf_base(&h->pool, p->buf) + BUF_META);
	rig_check(p->data + p->len <= buf_base(&h->pool, p->buf) + h->pool.stride);
	rig_check(!(p->flags & PKT_SHARED) || m->refs >= 1);
	if (p->flags & PKT_CSUM_PARTIAL) {
		rig_check_equal(m->csum_start, ETH_BYTES + ip_hlen(p->data + ETH_BYTES));
		rig_check_equal(m->csum_offset, 16);
	}
	if (!(p->flags & PKT_TSO)) {
		rig_check(len <= h->p.tcp.mtu + ETH_BYTES);
		return;
	}
	uint32_t tso = p->data[ETH_BYTES] >> 4 == 6 ? TCP_TX_TSO6 : TCP_TX_TSO4;
	rig_check((can & tso) && (p->flags & PKT_CSUM_PARTIAL) && m->mss >= 1);
	rig_check(m->hdr_bytes <= p->len); /* headers lie in the first piece */
	rig_check(m->mss + m->hdr_bytes <= h->p.tcp.mtu + ETH_BYTES);
}

static void send_plain(struct rig_host *h, const uint8_t *ip, unsigned len, bool partial)
{
	struct rig_frame *f = rig_frame_new(h->rig, len);
	memcpy(f->ip, ip, len);
	if (partial) {
		rig_check_equal(get16(seg_tcp(ip) + 16), pseudo_sum(ip, len - ip_hlen(ip)));
		set16(seg_tcp(f->ip) + 16, 0);
		set16(seg_tcp(f->ip) + 16, wire_tcp_csum(f->ip));
	}
	wire_segment(h, f);
}

/* TSO: the headers before every mss bytes of payload. */
static void send_segments(struct rig_host *h, const uint8_t *ip, unsigned len, unsigned mss)
{
	unsigned headers = ip_hlen(ip) + seg_hlen(ip), flags = seg_flags(ip);
	rig_check(!(flags & (SYN | RST)));
	rig_check_equal(get16(seg_tcp(ip) + 16), pseudo_sum(ip, len - ip_hlen(ip)));
	for (unsigned done = 0, i = 0; done < len - headers; i++) {
		unsigned n = len - headers - done < mss ? len - headers - done : mss;
		struct rig_frame *f = rig_frame_new(h->rig, headers + n);
		memcpy(f->ip, ip, headers);
		memcpy(f->ip + headers, ip + headers + done, n);
		if (ip_is6(ip)) {
			set16(f->ip + 4, headers + n - 40);
		} else {
			set16(f->ip + 2, headers + n);
			set16(f->ip + 4, get16(ip + 4) + i);
		}
		set32(seg_tcp(f->ip) + 4, seg_seq(ip) + done);
		done += n;
		unsigned not_here = (done < len - headers ? FIN | PSH : 0) | (i ? CWR : 0);
		seg_tcp(f->ip)[13] &= (uint8_t)~not_here;
		wire_csum_set(f->ip);
		wire_segment(h, f);
	}
}

/* The device reads a frame and releases it. */
static void read_frame(struct rig_host *h, const struct pkt *p)
{
	static uint8_t flat[65536 + 64];
	uint32_t len = pkt_bytes(&h->pool, p) - ETH_BYTES;
	const struct pkt_meta m = *pkt_meta(&h->pool, p->buf);
	uint8_t flags = p->flags;
	flatten(&h->pool, p, flat);
	pkt_free(&h->pool, p);
	uint8_t *ip = flat + ETH_BYTES;
	rig_check_equal(ip_len(ip), len);
	if (flags & PKT_TSO) {
		rig_check_equal(m.hdr_bytes, ETH_BYTES + ip_hlen(ip) + seg_hlen(ip));
		send_segments(h, ip, len, m.mss);
	} else {
		send_plain(h, ip, len, flags & PKT_CSUM_PARTIAL);
	}
}

void wire_device(struct rig_host *h)
{
	static uint8_t now[65536 + 64];
	while (h->sent_first && h->sent_first->due_us <= h->rig->now_us) {
		struct rig_sent *s = h->sent_first;
		h->sent_first = s->next;
		h->sent_n--;
		flatten(&h->pool, &s->pkt, now);
		/* lib/pkt.h, invariant 1: nobody changes what a device may be reading. The Ethernet
		 * header is not written here. */
		rig_check(memcmp(now + ETH_BYTES, s->then + ETH_BYTES, s->len - ETH_BYTES) == 0);
		read_frame(h, &s->pkt);
		free(s);
	}
}

unsigned wire_full(void *ctx, const struct net_addr *remote)
{
	const struct rig_host *h = ctx;
	(void)remote;
	return h->p.device_room && h->sent_n >= h->p.device_room;
}

bool wire_elsewhere(void *ctx, const struct net_addr *local, uint16_t local_port,
                    const struct net_addr *remote, uint16_t remote_port)
{
	struct rig_host *h = ctx;
	(void)local;
	(void)remote;
	return h->rig->elsewhere && h->rig->elsewhere(h, local_port, remote_port);
}

void wire_tx(void *ctx, struct pkt *p)
{
	struct rig_host *h = ctx;
	struct rig *r = h->rig;
	uint32_t len = pkt_bytes(&h->pool, p);
	h->frames++;
	check_request(h, p, len);
	if (!h->p.device_us) {
		read_frame(h, p);
		return;
	}
	struct rig_sent *s = malloc(sizeof *s + len);
	*s = (struct rig_sent){.pkt = *p, .len = len,
	                       .due_us = r->now_us + chance_below(&r->chance, h->p.device_us)};
	flatten(&h->pool, p, s->then);
	if (h->sent_first && h->sent_last->due_us > s->due_us)
		s->due_us = h->sent_last->due_us; /* in ring order */
	if (h->sent_first)
		h->sent_last->next = s;
	else
		h->sent_first = s;
	h->sent_last = s;
	h->sent_n++;
	rig_event(r, &(struct event){.t_us = s->due_us, .kind = EVENT_DEVICE, .host = h});
}

/* --- arrival --- */

void wire_arrive(struct rig_host *to, struct rig_frame *f)
{
	struct rig *r = to->rig;
	if (r->route)
		to = r->route(to, f->ip);
	if (!to) {
		rig_event(r, &(struct event){.t_us = r->now_us + HOLD_US, .kind = EVENT_ARRIVE,
		                             .host = rig_host_of(r, ip_to(f->ip)), .frame = f});
		return;
	}
	if (to->waiting == to->p.ring) {
		to->ring_full++;
		rig_frame_free(r, f);
		return;
	}
	to->ring[to->waiting++] = f;
	if (to->rx_due)
		return;
	to->rx_due = true;
	uint64_t t = r->now_us + chance_below(&r->chance, to->p.batch_us + 1);
	rig_event(r, &(struct event){.t_us = t, .kind = EVENT_RECEIVE, .host = to});
}

/* What precedes tcp_input: the checks of the IP version, and whether the packet is for us. */
static bool is_ip_sound(const struct rig_host *h, const struct rig_frame *f)
{
	const uint8_t *ip = f->ip;
	struct net_addr own = rig_addr(h->rig, h->addr);
	if (h->rig->ip6)
		return f->len > 40 && ip[0] >> 4 == 6 && get16(ip + 4) > 0 && ip_len(ip) <= f->len &&
		       ip[6] == 6 && ip[8] != 0xff && memcmp(ip + 24, &own, 16) == 0;
	return f->len >= 20 && ip[0] == 0x45 && get16(ip + 2) >= 20 && get16(ip + 2) <= f->len &&
	       wire_sum(ip, 20, 0) == 0xffff && ip[9] == 6 && !(get16(ip + 6) & 0x3fff) &&
	       get32(ip + 16) == h->addr;
}

/* Puts a frame into a buffer and poisons the rest. */
static void fill(struct rig_host *h, struct pkt *p, const struct rig_frame *f)
{
	uint8_t *base = buf_base(&h->pool, p->buf);
	unsigned len = f->len;
	memcpy(p->data + ETH_BYTES, f->ip, len);
	if (len < 46 && chance_below(&h->rig->chance, 2)) { /* padding of a short frame */
		memset(p->data + ETH_BYTES + len, 0xa5, 46 - len);
		len = 46;
	}
	p->len = (uint16_t)(ETH_BYTES + len);
	p->flags = h->p.checked && !f->damaged ? PKT_CSUM_OK : 0;
	ASAN_POISON_MEMORY_REGION(p->data + p->len,
	                            (size_t)(base + h->pool.stride - p->data) - p->len);
}

void wire_post(struct rig_host *h)
{
	while (h->posted_n < RIG_POSTED && h->posted_n < h->p.bufs / 3 &&
	       pkt_alloc(&h->pool, &h->posted[h->posted_n]))
		h->posted_n++;
}

void wire_receive(struct rig_host *h)
{
	struct pkt v[PKT_VECTOR_MAX];
	unsigned n = 0, i = 0;
	h->rx_due = false;
	for (; i < h->waiting && n < PKT_VECTOR_MAX; i++) {
		struct rig_frame *f = h->ring[i];
		rig_check(f->len + ETH_BYTES <= buf_room(&h->pool));
		if (!is_ip_sound(h, f)) {
			h->bad++;
		} else if (wire_post(h), h->posted_n == 0) {
			h->no_buffer++;
		} else {
			v[n] = h->posted[--h->posted_n];
			fill(h, &v[n], f);
			n++;
		}
		rig_frame_free(h->rig, f);
	}
	h->waiting -= i;
	memmove(h->ring, h->ring + i, h->waiting * sizeof *h->ring);
	if (h->waiting) {
		h->rx_due = true;
		rig_event(h->rig, &(struct event){.t_us = h->rig->now_us, .kind = EVENT_RECEIVE,
		                                  .host = h});
	}
	h->given += n;
	if (n)
		tcp_input(h->tcp, v, n, h->rig->now_us);
	wire_post(h);
}

void wire_icmp(struct rig_host *to, struct rig_frame *f)
{
	/* RFC 792: the header and 8 bytes; RFC 1812 4.3.2.3: as much as fits 576 */
	unsigned least = ip_hlen(f->ip) + 8, most = ip_is6(f->ip) ? 1232 : 548;
	unsigned quoted = chance_below(&to->rig->chance, 2) ? least : f->len < most ? f->len : most;
	uint8_t *exact = malloc(quoted);
	memcpy(exact, f->ip, quoted);
	tcp_icmp(to->tcp, exact, quoted, TCP_ICMP_TOO_BIG, f->mtu, to->rig->now_us);
	free(exact);
	rig_frame_free(to->rig, f);
}

void rig_inject(struct rig_host *to, const uint8_t *ip, unsigned len)
{
	struct rig_frame *f = rig_frame_new(to->rig, len);
	memcpy(f->ip, ip, len);
	wire_arrive(to, f);
}
