/*
 * TCP: the input is a program for a peer, an application, and the clock.
 *
 * Segments are named relative to the real sequence numbers of a connection, so that most of what
 * random bytes produce passes the first checks and gets deep. First the parameters, then
 * instructions (enum op) until the input ends; then everything is aborted and time passes until
 * nothing waits.
 *
 * Invariants that are checked:
 * 1. Payload at sequence number s is the byte s modulo 256, in both directions: so delivered bytes
 *    count up without a gap, whatever the order and overlap of what arrived.
 * 2. What is sent is a valid packet, with bytes that the application gave.
 * 3. Callbacks come only for existing connections; the deadline advances with each tick.
 * 4. At the end all buffers are back, no connection is left, no timer is armed, and each packet had
 *    a fate.
 */
#include "tests/fuzz/input.h"

#include "lib/csum.h"
#include "net/ip.h"
#include "net/tcp/tcp.h"

#define US (lab.ip6 ? IP6(0x20010db8, 0, 0, 1) : net_addr_ip4(IP4(192, 0, 2, 1)))
#define PEER (lab.ip6 ? IP6(0x20010db8, 0, 0, 2) : net_addr_ip4(IP4(192, 0, 2, 2)))
#define BUFS 96u
#define STRIDE BUF_STRIDE_STANDARD
#define PEERS 4
#define CONNS 24
#define ETH_BYTES 14
#define VECTOR 16

enum { FIN = 1, SYN = 2, RST = 4, PSH = 8, ACK = 16, URG = 32, ECE = 64, CWR = 128 };

enum op {
	OP_TIME,     /* u16: that many times 10 us, ms or s (up to 1023) pass */
	OP_DATA,     /* in order, all acknowledged: u16 length */
	OP_SEGMENT,  /* anything: see segment_any */
	OP_SYN,      /* as a client would: options */
	OP_SYN_ACK,  /* as a server would */
	OP_ACK,      /* of all, or of that many bytes less */
	OP_FIN,
	OP_RST,
	OP_CONNECT,
	OP_SEND,
	OP_SEND_PKT,
	OP_CLOSE,
	OP_ABORT,
	OP_CONSUME,
	OP_OPTION,   /* nodelay, keep-alive, user timeout, urgent, info */
	OP_ICMP,
	OP_STEAL,    /* takes buffers away, or returns them */
	OP_HOLD,     /* collects up to that many segments into one vector */
	OP_SACK,     /* acknowledges with holes */
	OP_COUNT
};

/* The host behind port 1000 + i, and its state. */
struct peer {
	uint16_t port, our_port;
	uint32_t nxt;       /* its next sequence number */
	uint32_t iss, una;  /* of ours: the SYN's number; what the peer has acknowledged */
	uint32_t max;       /* behind the highest byte sent to it */
	uint32_t rcv_nxt;   /* as announced to it */
	uint32_t tsval;     /* newest of ours */
	bool heard, ts;
	uint8_t cookie[18];
};

struct conn {
	struct tcp_conn *c;
	uint32_t sent;      /* bytes given to TCP */
	uint32_t acked;
	uint32_t held;
	uint8_t next;       /* the byte expected next */
	bool any, closed, accepted;
	uint8_t mood;       /* what it does in callbacks */
};

static struct {
	bool ip6;
	struct tcp *tcp;
	struct tcp_params params;
	struct bufpool pool;
	struct counters cnt;
	uint64_t now_us, given;
	struct peer peer[PEERS];
	struct conn conn[CONNS];
	struct pkt held[VECTOR];
	unsigned held_max, held_n;
	struct pkt stolen[BUFS];
	unsigned stolen_n;
	uint64_t time_left_us; /* for the program: at most an hour, so that no input takes seconds */
} lab;

static _Alignas(64) uint8_t buffers[BUFS * STRIDE];
static uint32_t stack[BUFS];

/* --- the application --- */

static const struct tcp_app app;

static struct conn *conn_new(struct tcp_conn *c)
{
	for (unsigned i = 0; i < CONNS; i++)
		if (!lab.conn[i].c) {
			lab.conn[i] = (struct conn){.c = c, .mood = (uint8_t)i};
			return &lab.conn[i];
		}
	return NULL;
}

static struct conn *of(struct tcp_conn *c)
{
	struct conn *k = tcp_arg(c);
	assert(k && k->c == c);
	return k;
}

static void give(struct conn *k, uint32_t n,
                 uint32_t (*send)(struct tcp_conn *c, const void *data, uint32_t n))
{
	static uint8_t bytes[256 + 4096]; /* stays as it is: tcp_send_outside does not copy it */
	for (uint32_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (uint8_t)i;
	uint32_t room = tcp_send_room(k->c);
	uint32_t taken = send(k->c, bytes + k->sent % 256, n < 4096 ? n : 4096);
	assert(taken <= n && taken <= room);
	assert(!k->closed || taken == 0);
	k->sent += taken;
}

static uint32_t send_outside(struct tcp_conn *c, const void *data, uint32_t n)
{
	return tcp_send_outside(c, data, n, 0);
}

static void give_pkt(struct conn *k, uint32_t n, uint32_t offset)
{
	struct pkt p;
	if (!pkt_alloc(&lab.pool, &p))
		return;
	offset = BUF_META + offset % 400;
	n = 1 + n % (STRIDE - offset);
	p.data = buf_base(&lab.pool, p.buf) + offset;
	p.len = (uint16_t)n;
	for (uint32_t i = 0; i < n; i++)
		p.data[i] = (uint8_t)(k->sent + i);
	int error = tcp_send_pkt(k->c, &p);
	assert(error == E_OK || error == E_AGAIN || error == E_INVAL);
	if (error)
		pkt_free(&lab.pool, &p);
	else
		k->sent += n;
}

static void conn_abort(struct conn *k)
{
	struct tcp_conn *c = k->c;
	k->c = NULL;
	tcp_abort(c);
}

static void moody(struct conn *k)
{
	switch (k->mood & 7) {
	case 1:
		give(k, 100, tcp_send);
		break;
	case 2:
		tcp_close(k->c);
		k->closed = true;
		break;
	case 3:
		conn_abort(k);
		break;
	case 4:
		give_pkt(k, 3000, 200);
		break;
	default:
		break;
	}
}

static bool on_accept(struct tcp_conn *c)
{
	struct conn *k = conn_new(c);
	if (!k)
		return false;
	k->accepted = true;
	tcp_set_arg(c, k);
	return true;
}

static void on_connected(struct tcp_conn *c) { moody(of(c)); }

static void on_data(struct tcp_conn *c, struct pkt *p)
{
	struct conn *k = of(c);
	assert(p->len >= 1);
	if (!k->any)
		k->next = p->data[0];
	k->any = true;
	for (unsigned i = 0; i < p->len; i++)
		assert(p->data[i] == k->next++);
	uint32_t n = p->len;
	pkt_free(&lab.pool, p);
	k->held += n;
	if (k->mood & 8) {
		k->held -= n;
		tcp_consumed(c, n);
	}
	if (k->mood & 16)
		moody(k);
}

static void on_acked(struct tcp_conn *c, uint32_t n)
{
	struct conn *k = of(c);
	assert(n <= k->sent - k->acked);
	k->acked += n;
	if (k->mood & 32)
		moody(k);
}

static void on_fin(struct tcp_conn *c)
{
	struct conn *k = of(c);
	if (k->mood & 64) {
		tcp_close(c);
		k->closed = true;
	}
}

static void on_urgent(struct tcp_conn *c)
{
	uint32_t bytes;
	(void)tcp_urgent(c, &bytes);
	(void)of(c);
}

static void on_closed(struct tcp_conn *c, int why)
{
	struct conn *k = of(c);
	assert(why == E_OK || why == E_RESET || why == E_TIMEOUT || why == E_REFUSED);
	k->c = NULL;
}

static const struct tcp_app app = {on_accept, on_connected, on_data, on_acked,
                                   on_fin,    on_urgent,    on_closed};

/* --- what is sent --- */

static struct peer *peer_of(uint16_t port)
{
	return port >= 1000 && port < 1000 + PEERS ? &lab.peer[port - 1000] : NULL;
}

static unsigned find_option(const uint8_t *tcp, uint8_t kind)
{
	unsigned end = (tcp[12] >> 4) * 4u, i = 20;
	while (i < end && tcp[i] != 0) {
		if (tcp[i] == kind)
			return i;
		i += tcp[i] == 1 ? 1u : tcp[i + 1];
	}
	return 0;
}

static void check_payload(const struct peer *p, const uint8_t *tcp, unsigned n)
{
	unsigned header = (tcp[12] >> 4) * 4u;
	uint32_t at = be32_load(tcp + 4) + !!(tcp[13] & SYN) - (p->iss + 1);
	for (unsigned i = header; i < n; i++)
		assert(tcp[i] == (uint8_t)(at + i - header));
}

static void note(struct peer *p, const uint8_t *tcp, unsigned n)
{
	unsigned header = (tcp[12] >> 4) * 4u;
	uint32_t seq = be32_load(tcp + 4);
	uint32_t end = seq + n - header + !!(tcp[13] & SYN) + !!(tcp[13] & FIN);
	/* This peer's port talks to the newest connection that uses it. */
	if (!(tcp[13] & SYN) && p->our_port != be16_load(tcp))
		return;
	p->our_port = be16_load(tcp);
	if (tcp[13] & SYN) {
		p->iss = p->una = seq;
		p->max = end;
		p->heard = true;
		unsigned o = find_option(tcp, 34);
		if (o && tcp[o + 1] <= sizeof p->cookie)
			memcpy(p->cookie, tcp + o, tcp[o + 1]);
	}
	if (tcp[13] & RST)
		return;
	if ((int32_t)(end - p->max) > 0)
		p->max = end;
	if (tcp[13] & ACK)
		p->rcv_nxt = be32_load(tcp + 8);
	unsigned o = find_option(tcp, 8);
	p->ts = o != 0;
	if (o)
		p->tsval = be32_load(tcp + o + 2);
	check_payload(p, tcp, n);
}

static void on_tx(void *ctx, struct pkt *p)
{
	static uint8_t flat[65536 + 64];
	(void)ctx;
	unsigned len = p->len;
	uint8_t flags = p->flags;
	memcpy(flat, p->data, p->len);
	if (flags & PKT_CHAIN) {
		const struct pkt_frag *f = pkt_frags(&lab.pool, p->buf);
		assert(lab.params.offload & TCP_TX_SG);
		for (unsigned i = 0; i < pkt_meta(&lab.pool, p->buf)->frags; i++) {
			memcpy(flat + len, buf_at(&lab.pool, f[i].buf, f[i].offset), f[i].len);
			len += f[i].len;
		}
	}
	pkt_free(&lab.pool, p);
	const struct net_addr us = US, peers = PEER;
	const uint8_t *ip = flat + ETH_BYTES, *tcp = ip + ip_header_bytes(&us);
	unsigned n = len - ETH_BYTES - ip_header_bytes(&us);
	assert(len >= ETH_BYTES + ip_header_bytes(&us) + 20);
	const struct net_addr src = lab.ip6 ? ip6_src(ip) : net_addr_ip4(ip4_src(ip));
	const struct net_addr dst = lab.ip6 ? ip6_dst(ip) : net_addr_ip4(ip4_dst(ip));
	assert((lab.ip6 ? ip6_check : ip4_check)(ip, len - ETH_BYTES) == CNT_NONE);
	assert(ip_total_len(ip) == len - ETH_BYTES && net_addr_equal(&src, &us));
	assert((tcp[12] >> 4) >= 5 && (tcp[12] >> 4) * 4u <= n);
	assert((flags & PKT_TSO) || len - ETH_BYTES <= lab.params.mtu);
	if (!(flags & PKT_CSUM_PARTIAL)) {
		uint32_t sum = lab.ip6 ? csum_pseudo6(&us, &dst, 6, n)
		                       : csum_pseudo4(ip4_src(ip), ip4_dst(ip), 6, (uint16_t)n);
		assert(csum_fold(csum_partial(tcp, n, sum)) == 0);
	}
	struct peer *peer = peer_of(be16_load(tcp + 2));
	if (peer && net_addr_equal(&dst, &peers))
		note(peer, tcp, n);
}

static const struct tcp_ops ops = {.tx = on_tx};

/* --- what is received --- */

struct segment {
	uint32_t seq, ack;
	uint16_t src, dst, wnd, len, up;
	uint8_t flags, ecn, options_len;
	uint8_t options[40];
	bool bad_csum;
};

static void deliver(void)
{
	unsigned n = lab.held_n;
	lab.held_n = 0;
	lab.given += n;
	if (n)
		tcp_input(lab.tcp, lab.held, n, lab.now_us);
}

static void put(const struct segment *s)
{
	struct pkt p;
	if (!pkt_alloc(&lab.pool, &p))
		return;
	unsigned header = 20u + s->options_len;
	const struct net_addr us = US, peer = PEER;
	unsigned ip_len = ip_header_bytes(&us);
	unsigned room = STRIDE - BUF_DATA_OFFSET - ETH_BYTES - ip_len - header;
	unsigned n = s->len < room ? s->len : room;
	uint8_t *tcp = p.data + ETH_BYTES + ip_len;
	be16_store(tcp, s->src);
	be16_store(tcp + 2, s->dst);
	be32_store(tcp + 4, s->seq);
	be32_store(tcp + 8, s->ack);
	tcp[12] = (uint8_t)(header << 2);
	tcp[13] = s->flags;
	be16_store(tcp + 14, s->wnd);
	raw16_store(tcp + 16, 0);
	be16_store(tcp + 18, s->up);
	memcpy(tcp + 20, s->options, s->options_len);
	for (unsigned i = 0; i < n; i++)
		tcp[header + i] = (uint8_t)(s->seq + !!(s->flags & SYN) + i);
	ip_header_put(tcp, header + n, ip_len, &peer, &us, 6, s->ecn & 3);
	uint32_t sum = ip_pseudo_len(ip_pseudo_sum(&peer, &us, 6), header + n);
	raw16_store(tcp + 16, csum_fold(csum_partial(tcp, header + n, sum)) ^ s->bad_csum);
	p.len = (uint16_t)(ETH_BYTES + ip_len + header + n);
	/* What the frame does not fill may not be read. */
	ASAN_POISON_MEMORY_REGION(p.data + p.len,
	                            (size_t)(buf_base(&lab.pool, p.buf) + STRIDE - p.data) - p.len);
	lab.held[lab.held_n++] = p;
	if (lab.held_n >= lab.held_max)
		deliver();
}

static void add_ts(struct segment *s, uint32_t val, uint32_t ecr)
{
	uint8_t *o = s->options + s->options_len;
	be32_store(o, 0x0101080a);
	be32_store(o + 4, val);
	be32_store(o + 8, ecr);
	s->options_len += 12;
}

/* A segment that would be correct now. */
static struct segment right(const struct peer *p, uint8_t flags)
{
	struct segment s = {.seq = p->nxt, .ack = p->max, .src = p->port, .dst = p->our_port,
	                    .wnd = 65535, .flags = flags};
	if (p->ts)
		add_ts(&s, (uint32_t)(lab.now_us / 1000), p->tsval);
	return s;
}

/* A number near the true one, mostly: the high bits of the offset choose a distance in bytes,
 * segments, or windows. */
static uint32_t near(uint32_t base, uint16_t offset)
{
	int32_t d = (int16_t)(offset << 2) >> 2;
	switch (offset >> 14) {
	case 0:
		return base + (uint32_t)(d % 64);
	case 1:
		return base + (uint32_t)d;
	case 2:
		return base + (uint32_t)d * 1460u;
	default:
		return base + (uint32_t)d * 262144u;
	}
}

static void segment_any(struct input *in, struct peer *p)
{
	struct segment s = right(p, take8(in));
	uint8_t how = take8(in);
	if (how & 1)
		s.seq = near(p->nxt, take16(in));
	if (how & 2)
		s.ack = near(how & 4 ? p->una : p->max, take16(in));
	s.wnd = how & 8 ? take16(in) : 65535;
	s.len = how & 16 ? take16(in) % 1600 : 0;
	s.up = s.flags & URG ? take16(in) : 0;
	s.ecn = how & 32 ? take8(in) & 3 : 0;
	if (how & 64) { /* options as they are in the input */
		s.options_len = (take8(in) % 11) * 4u;
		for (unsigned i = 0; i < s.options_len; i++)
			s.options[i] = take8(in);
	} else if ((how & 128) && p->ts) {
		be32_store(s.options + 4, near((uint32_t)(lab.now_us / 1000), take16(in)));
		be32_store(s.options + 8, near(p->tsval, take16(in)));
	}
	if (s.seq == p->nxt && (s.flags & ACK) && !(s.flags & RST))
		p->nxt += s.len + !!(s.flags & FIN) + !!(s.flags & SYN);
	put(&s);
}

static void segment_syn(struct input *in, struct peer *p, uint8_t flags)
{
	uint8_t how = take8(in);
	struct segment s = {.seq = take32(in), .ack = flags & ACK ? p->max : 0, .src = p->port,
	                    .dst = flags & ACK || (how & 128) ? p->our_port : 7, .wnd = 65535,
	                    .flags = (uint8_t)(flags | (how & 1 ? ECE | (flags & ACK ? 0 : CWR) : 0))};
	uint8_t *o = s.options;
	unsigned n = 0;
	if (how & 2) {
		be32_store(o + n, 0x02040000u | take16(in));
		n += 4;
	}
	if (how & 4) {
		be32_store(o + n, 0x01030300u | take8(in));
		n += 4;
	}
	if (how & 8) {
		be32_store(o + n, 0x01010402u);
		n += 4;
	}
	s.options_len = (uint8_t)n;
	if (how & 16)
		add_ts(&s, (uint32_t)(lab.now_us / 1000), flags & ACK ? p->tsval : 0);
	if (how & 32) { /* Fast Open: the cookie that was given, or a request for one */
		unsigned len = p->cookie[1] >= 2 && p->cookie[1] <= 10 ? p->cookie[1] : 2;
		o = s.options + s.options_len;
		memset(o, 1, (len + 3) & ~3u);
		memcpy(o, p->cookie, len);
		o[0] = 34;
		o[1] = (uint8_t)len;
		s.options_len += (len + 3) & ~3u;
	}
	if (how & 64)
		s.len = take16(in) % 1600;
	p->nxt = s.seq + 1 + s.len;
	put(&s);
}

static void segment_sack(struct input *in, struct peer *p)
{
	struct segment s = right(p, ACK);
	unsigned n = 1 + take8(in) % (p->ts ? 3 : 4);
	uint8_t *o = s.options + s.options_len;
	s.ack = near(p->una, take16(in) & 0xbfff);
	o[0] = o[1] = 1;
	o[2] = 5;
	o[3] = (uint8_t)(2 + 8 * n);
	for (unsigned i = 0; i < n; i++) {
		uint32_t start = near(s.ack, take16(in));
		be32_store(o + 4 + 8 * i, start);
		be32_store(o + 8 + 8 * i, start + take16(in) % 6000);
	}
	s.options_len += (uint8_t)(4 + 8 * n);
	put(&s);
}

static void segment_ack(struct input *in, struct peer *p)
{
	struct segment s = right(p, ACK);
	uint32_t less = take8(in) * 97u;
	if (less < p->max - p->una)
		s.ack -= less;
	s.wnd = take16(in);
	p->una = s.ack;
	put(&s);
}

/* --- time --- */

static void pass(uint64_t us)
{
	us = us < lab.time_left_us ? us : lab.time_left_us;
	lab.time_left_us -= us;
	uint64_t until = lab.now_us + us;
	for (unsigned ticks = 0;; ticks++) {
		uint64_t d = tcp_deadline(lab.tcp);
		if (d > until)
			break;
		if (d > lab.now_us)
			lab.now_us = d;
		tcp_tick(lab.tcp, lab.now_us);
		assert(tcp_deadline(lab.tcp) > lab.now_us);
		/* Six connections that look for a buffer every 10 ms are the most that is
		 * legitimate. */
		assert(ticks < us / 1250 + 5000);
	}
	lab.now_us = until;
}

static void icmp(struct input *in, struct peer *p)
{
	uint8_t ip[48];
	uint8_t how = take8(in);
	const struct net_addr us = US, peer = PEER;
	uint8_t *tcp = ip + ip_header_bytes(&us);
	unsigned whole = ip_header_bytes(&us) + 8;
	ip_header_put(tcp, 1480, ip_header_bytes(&us), &us, &peer, 6, 0);
	be16_store(tcp, p->our_port);
	be16_store(tcp + 2, p->port);
	be32_store(tcp + 4, near(how & 2 ? p->una : p->max, take16(in)));
	unsigned len = how & 4 ? take8(in) % (whole + 1) : whole;
	uint8_t *exact = exactly(ip, len);
	tcp_icmp(lab.tcp, exact, len, how & 1 ? TCP_ICMP_UNREACH : TCP_ICMP_TOO_BIG, take16(in),
	         lab.now_us);
	free(exact);
}

/* --- the program --- */

static void api_connect(struct input *in, struct peer *p)
{
	struct conn *k = conn_new((void *)&lab); /* a placeholder until there is one */
	uint8_t how = take8(in);
	uint8_t first[600];
	if (!k)
		return;
	for (unsigned i = 0; i < sizeof first; i++)
		first[i] = (uint8_t)i;
	const struct tcp_open o = {.local = US, .remote = PEER,
	                           .local_port = how & 1 ? 2000 : 0, .remote_port = p->port,
	                           .fastopen = how & 2, .data = first,
	                           .data_len = how & 4 ? take16(in) % sizeof first : 0,
	                           .nodelay = how & 8, .app = &app, .arg = k};
	k->mood = take8(in);
	k->sent = o.data_len;
	k->c = tcp_connect(lab.tcp, &o, lab.now_us, NULL);
}

static void api_option(struct input *in, struct conn *k)
{
	struct tcp_info info;
	uint8_t what = take8(in);
	switch (what % 6) {
	case 0:
		tcp_set_nodelay(k->c, what & 8);
		break;
	case 1:
		tcp_set_keepalive(k->c, what & 8);
		break;
	case 2:
		tcp_set_user_timeout(k->c, take16(in));
		break;
	case 3:
		give(k, what >> 3, tcp_send_urgent);
		break;
	case 4:
		k->mood = take8(in);
		break;
	default:
		tcp_info(k->c, &info);
		assert(info.cwnd >= 1 && info.state != TCP_CLOSED);
	}
}

static void api(struct input *in, enum op op)
{
	struct conn *k = &lab.conn[take8(in) % CONNS];
	uint16_t n = take16(in);
	if (!k->c) /* programs are short: mostly the first is meant */
		for (k = lab.conn; k < lab.conn + CONNS && !k->c; k++)
			;
	if (k == lab.conn + CONNS)
		return;
	switch (op) {
	case OP_SEND:
		give(k, n & 0x7fff, n & 0x8000 ? send_outside : tcp_send);
		break;
	case OP_SEND_PKT:
		give_pkt(k, n, take16(in));
		break;
	case OP_CLOSE:
		tcp_close(k->c);
		k->closed = true;
		break;
	case OP_ABORT:
		conn_abort(k);
		break;
	case OP_CONSUME:
		n = n < k->held ? n : (uint16_t)k->held;
		k->held -= n;
		tcp_consumed(k->c, n);
		break;
	default:
		api_option(in, k);
	}
}

static void steal(uint8_t n)
{
	while (lab.stolen_n > n % BUFS)
		pkt_free(&lab.pool, &lab.stolen[--lab.stolen_n]);
	while (lab.stolen_n < n % BUFS && pkt_alloc(&lab.pool, &lab.stolen[lab.stolen_n]))
		lab.stolen_n++;
}

static void segment(struct input *in, enum op op, struct peer *p)
{
	struct segment s = right(p, ACK);
	switch (op) {
	case OP_DATA:
		s.len = take16(in) % 1500;
		s.flags |= PSH;
		p->nxt += s.len;
		p->una = s.ack;
		put(&s);
		break;
	case OP_SYN:
		segment_syn(in, p, SYN);
		break;
	case OP_SYN_ACK:
		segment_syn(in, p, SYN | ACK);
		break;
	case OP_ACK:
		segment_ack(in, p);
		break;
	case OP_FIN:
		s.flags |= FIN;
		p->nxt++;
		put(&s);
		break;
	case OP_RST:
		s.flags = (uint8_t)(RST | (take8(in) & ACK));
		s.seq = near(p->rcv_nxt, take16(in));
		put(&s);
		break;
	case OP_SACK:
		segment_sack(in, p);
		break;
	default:
		segment_any(in, p);
	}
}

static void step(struct input *in)
{
	uint8_t b = take8(in);
	enum op op = (enum op)(b % OP_COUNT);
	struct peer *p = &lab.peer[b / OP_COUNT % PEERS];
	uint16_t n;
	switch (op) {
	case OP_TIME:
		n = take16(in);
		deliver();
		pass(n >> 15 ? (n & 0x3ffu) * 1000000ull : (n & 0x3fff) * (n >> 14 ? 1000ull : 10ull));
		break;
	case OP_CONNECT:
		api_connect(in, p);
		break;
	case OP_ICMP:
		icmp(in, p);
		break;
	case OP_STEAL:
		steal(take8(in));
		break;
	case OP_HOLD:
		deliver();
		lab.held_max = 1 + take8(in) % VECTOR;
		break;
	case OP_SEND:
	case OP_SEND_PKT:
	case OP_CLOSE:
	case OP_ABORT:
	case OP_CONSUME:
	case OP_OPTION:
		api(in, op);
		break;
	default:
		segment(in, op, p);
	}
}

static void begin(struct input *in)
{
	static const uint32_t offload[] = {0, TCP_TX_CSUM, TCP_TX_CSUM | TCP_TX_SG,
	                                   TCP_TX_CSUM | TCP_TX_SG | TCP_TX_TSO};
	uint8_t how = take8(in), more = take8(in);
	memset(&lab, 0, sizeof lab);
	struct tcp_params *p = &lab.params;
	*p = TCP_PARAMS_DEFAULT;
	p->connections = 6;
	p->listeners = 2;
	p->syn_max = 2;
	p->fastopen_max = 1;
	p->reassembly_bufs = 16;
	p->pool_reserve = 8;
	p->sack = !(how & 1);
	p->timestamps = !(how & 2);
	p->window_scale = !(how & 4);
	p->ecn = !(how & 8);
	p->congestion = how & 16 ? CC_NEWRENO : CC_CUBIC;
	p->offload = offload[how >> 5 & 3];
	p->rcv_buf = how & 128 ? 1 + take16(in) : 65536;
	p->snd_buf = more & 1 ? 1 + take16(in) : 65536;
	p->keepalive_ms = more & 2 ? 10000 : 0;
	p->mtu = more & 4 ? 576 + take16(in) % 925 : 1500;
	lab.ip6 = more & 16;
	lab.held_max = 1;
	lab.time_left_us = 3600000000u;
	lab.now_us = 1000000 + take32(in) * (more & 8 ? 1000ull : 1ull);
	bufpool_init(&lab.pool, buffers, stack, BUFS, STRIDE);
	for (unsigned i = 0; i < PEERS; i++)
		lab.peer[i] = (struct peer){.port = (uint16_t)(1000 + i), .our_port = 7, .nxt = 1u << i};
}

static void end(void)
{
	deliver();
	lab.held_max = 1;
	steal(0);
	for (unsigned i = 0; i < CONNS; i++)
		if (lab.conn[i].c)
			conn_abort(&lab.conn[i]);
	lab.time_left_us = UINT64_MAX;
	pass(3600ull * 1000000 * 4);
	assert(tcp_deadline(lab.tcp) == UINT64_MAX);
	assert(tcp_connections(lab.tcp) == 0);
	assert(lab.pool.free == lab.pool.count);
	uint64_t fates = 0;
	for (unsigned i = 0; i < CNT_MAX; i++)
		fates += counter_desc[i].kind != COUNTER_INFO ? lab.cnt.v[i] : 0;
	assert(fates == lab.given);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	const struct siphash_key key = {1, 2};
	begin(&in);
	size_t bytes = (tcp_memory_bytes(&lab.params) + 63) & ~(size_t)63;
	void *mem = aligned_alloc(64, bytes);
	memset(mem, 0, bytes);
	lab.tcp = tcp_init(mem, &lab.params, &lab.pool, &lab.cnt, &key, &ops, NULL, lab.now_us);
	assert(tcp_listen(lab.tcp, &(struct tcp_listen){.port = 7, .fastopen = true, .app = &app}) ==
	       E_OK);
	while (in.n)
		step(&in);
	end();
	ASAN_UNPOISON_MEMORY_REGION(buffers, sizeof buffers);
	free(mem);
	return 0;
}
