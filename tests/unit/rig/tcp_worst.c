/* See tcp_worst.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/eth.h"
#include "net/ip.h"
#include "tests/unit/rig/tcp_worst.h"

#define PORT 7
#define PEER_PORT 40000
#define WSCALE 14
#define WINDOW 65535 /* scaled: more than anything here */
#define IRS 1000
#define STEP_US 10

static const uint8_t text[65536];

static void fail(const char *what)
{
	fprintf(stderr, "tcp_worst: %s\n", what);
	abort();
}

/* Of the peer's stream. */
static uint8_t content(uint32_t seq) { return (uint8_t)(seq * 2654435761u >> 13); }

/* --- the application --- */

static void send_all(struct tcp_conn *c)
{
	while (tcp_send(c, text, sizeof text) > 0)
		;
}

static bool on_accept(struct tcp_conn *c)
{
	struct worst *w = tcp_arg(c);
	w->conn = c;
	tcp_set_nodelay(c, true);
	return true;
}

static void on_data(struct tcp_conn *c, struct pkt *p)
{
	struct worst *w = tcp_arg(c);
	for (uint32_t i = 0; i < p->len; i++)
		if (p->data[i] != content(IRS + 1 + w->delivered + i))
			fail("a byte is another than was sent");
	w->delivered += p->len;
	tcp_consumed(c, p->len);
	pkt_free(&w->pool, p);
}

static void on_acked(struct tcp_conn *c, uint32_t bytes)
{
	(void)bytes;
	send_all(c);
}

static const struct tcp_app app = {.accept = on_accept, .data = on_data, .acked = on_acked};

/* --- the wire --- */

static void on_tx(void *ctx, struct pkt *p)
{
	struct worst *w = ctx;
	const uint8_t *ip = p->data + ETH_HLEN, *tcp = ip + IP4_HLEN;
	uint32_t header = (uint32_t)(tcp[12] >> 4) * 4;
	uint32_t bytes = ((uint32_t)ip[2] << 8 | ip[3]) - IP4_HLEN - header;
	uint32_t seq = be32_load(tcp + 4), end = seq + bytes + !!(tcp[13] & TCP_SYN);
	if (w->end == 0 || seq_gt(end, w->end))
		w->end = end;
	w->frames++;
	pkt_free(&w->pool, p);
}

static void input(struct worst *w, uint8_t flags, uint32_t seq, uint32_t ack, uint32_t len,
                  const uint8_t *options, unsigned options_len)
{
	struct pkt p;
	if (!pkt_alloc(&w->pool, &p))
		fail("no buffer is left for the peer");
	const struct net_addr here = net_addr_ip4(IP4(192, 0, 2, 1));
	const struct net_addr there = net_addr_ip4(IP4(192, 0, 2, 2));
	unsigned head = TCP_HLEN + options_len;
	uint8_t *tcp = p.data + ETH_HLEN + IP4_HLEN;
	tcp_header_put(tcp, PEER_PORT, PORT, seq, ack, head, flags, WINDOW, 0);
	if (options_len)
		memcpy(tcp + TCP_HLEN, options, options_len);
	for (uint32_t i = 0; i < len; i++)
		tcp[head + i] = content(seq + i);
	ip_header_put(tcp, head + len, IP4_HLEN, &there, &here, IP_PROTO_TCP, IP_ECN_NOT);
	p.len = (uint16_t)(ETH_HLEN + IP4_HLEN + head + len);
	p.flags = PKT_CSUM_OK;
	w->now_us += STEP_US;
	tcp_input(w->tcp, &p, 1, w->now_us);
	tcp_tick(w->tcp, w->now_us);
	w->next = IRS + 1 + w->delivered;
}

void worst_segment(struct worst *w, uint32_t at, uint32_t len, const struct tcp_sack *sacks,
                   unsigned n)
{
	uint8_t options[40];
	unsigned bytes = n ? tcp_put_sack(options, sacks, n) : 0;
	input(w, TCP_ACK, w->next + at, w->una, len, options, bytes);
}

void worst_ack(struct worst *w, uint32_t bytes)
{
	w->una += bytes;
	input(w, TCP_ACK, w->next, w->una, 0, NULL, 0);
}

void worst_fill(struct worst *w)
{
	struct tcp_info info;
	send_all(w->conn);
	tcp_tick(w->tcp, w->now_us);
	for (;;) { /* slow start: each chunk that is acknowledged lets two go */
		tcp_info(w->conn, &info);
		if (info.unsent < WORST_MSS)
			return;
		worst_ack(w, WORST_MSS);
	}
}

void worst_begin(struct worst *w, uint32_t buffers, uint32_t rcv_buf, uint32_t snd_buf)
{
	static const struct tcp_ops ops = {.tx = on_tx};
	static const struct siphash_key key = {1, 2};
	struct tcp_params p = TCP_PARAMS_DEFAULT;
	*w = (struct worst){.now_us = 1000000, .next = IRS + 1};
	p.connections = 16;
	p.timestamps = false;
	p.rcv_buf = p.rcv_buf_max = rcv_buf;
	p.snd_buf = snd_buf;
	p.reassembly_bufs = buffers / 2;
	p.pool_reserve = 16;
	p.congestion = CC_NEWRENO;
	w->mem = aligned_alloc(64, (tcp_memory_bytes(&p) + 63) / 64 * 64);
	w->bufs = aligned_alloc(64, (size_t)buffers * BUF_STRIDE_STANDARD);
	w->stack = calloc(buffers, sizeof *w->stack);
	if (!w->mem || !w->bufs || !w->stack)
		fail("no memory");
	bufpool_init(&w->pool, w->bufs, w->stack, buffers, BUF_STRIDE_STANDARD);
	w->tcp = tcp_init(w->mem, &p, &w->pool, &w->cnt, &key, &ops, w, w->now_us);
	struct tcp_listen l = {.port = PORT, .app = &app, .arg = w};
	if (tcp_listen(w->tcp, &l) != E_OK)
		fail("nobody listens");

	uint8_t options[12];
	unsigned n = tcp_put_mss(options, WORST_MSS);
	n += tcp_put_sack_ok(options + n);
	n += tcp_put_wscale(options + n, WSCALE);
	input(w, TCP_SYN, IRS, 0, 0, options, n);
	w->una = w->end;
	input(w, TCP_ACK, w->next, w->una, 0, NULL, 0);
	if (!w->conn)
		fail("the connection is not established");
}

void worst_end(struct worst *w)
{
	tcp_abort(w->conn);
	if (w->pool.free != w->pool.count)
		fail("buffers are missing");
	free(w->mem);
	free(w->bufs);
	free(w->stack);
}
