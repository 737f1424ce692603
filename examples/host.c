/* See host.h. */
#define _GNU_SOURCE
#include "examples/host.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#define NEIGHBOURS 256
#define BURST 128

static volatile sig_atomic_t told_to_end, asked_for_status;

_Noreturn void assert_fail(const char *expr, const char *file, unsigned line)
{
	fprintf(stderr, "%s:%u: assertion failed: %s\n", file, line, expr);
	abort();
}

_Noreturn static void fail(const char *why)
{
	fprintf(stderr, "host: %s\n", why);
	exit(1);
}

uint64_t host_now_us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static void count(struct host *h, enum counter c)
{
	h->cnt.v[c]++;
}

static void drop(struct host *h, struct pkt *p, enum counter why)
{
	count(h, why);
	pkt_free(&h->pool, p);
}

/* --- the way out --- */

static void arp_send(void *ctx, unsigned port, const uint8_t *frame, unsigned len)
{
	struct host *h = ctx;
	(void)port;
	tap_tx_frame(&h->tap, frame, len, h->now_us);
}

static void arp_up(void *ctx, unsigned index, const uint8_t *mac)
{
	struct host *h = ctx;
	h->neigh[index].up = true;
	eth_copy(h->neigh[index].mac, mac);
}

static void arp_down(void *ctx, unsigned index)
{
	struct host *h = ctx;
	h->neigh[index].up = false;
}

static void arp_release(void *ctx, unsigned index, uint8_t *frame, unsigned len)
{
	struct host *h = ctx;
	eth_header_build(frame, h->neigh[index].mac, h->mac, ETH_TYPE_IP4);
	tap_tx_frame(&h->tap, frame, len, h->now_us);
}

/* Of our own packets only: that nobody is there, TCP learns by its timer. */
static void arp_lost(void *ctx, unsigned index, uint8_t *frame, unsigned len)
{
	struct host *h = ctx;
	(void)index, (void)frame, (void)len;
	count(h, CNT_originated_drop_tx);
}

static void arp_count(void *ctx, enum counter counter, unsigned n)
{
	struct host *h = ctx;
	h->cnt.v[counter] += n;
}

static void arp_removed(void *ctx, unsigned index)
{
	(void)ctx, (void)index;
}

static const struct arp_ops arp_ops = {
	.tx = arp_send, .up = arp_up, .down = arp_down, .release = arp_release,
	.unreachable = arp_lost, .lost = arp_lost, .count = arp_count, .removed = arp_removed,
};

/* A packet whose neighbour is asked for waits in ARP's memory, as plain bytes. One that does not
 * fit there is lost, which TCP mends. */
static void wait_for_neighbour(struct host *h, unsigned index, struct pkt *p)
{
	if (p->flags & (PKT_TSO | PKT_CHAIN) || p->len > ETH_HLEN + h->mtu) {
		drop(h, p, CNT_originated_drop_tx);
		return;
	}
	pkt_csum_complete(&h->pool, p);
	arp_output(&h->arp, index, p->data, p->len, h->now_us * 1000);
	pkt_free(&h->pool, p);
}

void host_tx(struct host *h, struct pkt *p)
{
	uint32_t dst = ip4_dst(p->data + ETH_HLEN);
	if (h->tap.tun) {
		tap_tx(&h->tap, &h->pool, p, h->now_us);
		return;
	}
	if (!ip4_in_prefix(dst, h->address.addr, h->address.plen))
		dst = h->gateway;
	int index = dst ? arp_neigh_get(&h->arp, 0, dst) : E_NOENT;
	if (index < 0) {
		drop(h, p, CNT_originated_drop_tx);
		return;
	}
	if (!h->neigh[index].up) {
		wait_for_neighbour(h, (unsigned)index, p);
		return;
	}
	arp_used(&h->arp, (unsigned)index, h->now_us * 1000);
	eth_header_build(p->data, h->neigh[index].mac, h->mac, ETH_TYPE_IP4);
	tap_tx(&h->tap, &h->pool, p, h->now_us);
}

static void tcp_tx(void *ctx, struct pkt *p)
{
	host_tx(ctx, p);
}

/* --- what comes in --- */

static void icmp_error(struct host *h, struct pkt *p, uint8_t code, enum counter why)
{
	const uint8_t *ip = p->data + ETH_HLEN;
	struct icmp4_error e = {.src = h->address.addr, .type = ICMP4_UNREACH, .code = code};
	struct pkt answer;
	if (!icmp4_error_allowed(ip, p->len - ETH_HLEN)) {
		count(h, CNT_icmp_err_suppressed);
	} else if (!icmp_limit_take(&h->icmp_limit, h->now_us * 1000)) {
		count(h, CNT_icmp_err_ratelimited);
	} else if (pkt_alloc(&h->pool, &answer)) {
		unsigned n = icmp4_error_build(answer.data + ETH_HLEN, ICMP4_ERROR_MAX, ip,
		                               p->len - ETH_HLEN, &e);
		answer.len = (uint16_t)(ETH_HLEN + n);
		answer.flags = PKT_OWN;
		count(h, icmp4_error_counter(e.type, e.code));
		host_tx(h, &answer);
	}
	drop(h, p, why);
}

static void icmp_in(struct host *h, struct pkt *p)
{
	uint8_t *ip = p->data + ETH_HLEN;
	struct icmp4_msg m;
	enum counter fate = icmp4_input(ip, p->len - ETH_HLEN, &m);
	if (fate == CNT_delivered_icmp && m.kind == ICMP4_KIND_ECHO_REQUEST) {
		count(h, fate);
		count(h, CNT_icmp_tx_echo_reply);
		icmp4_echo_reply_make(ip, p->len - ETH_HLEN);
		p->flags = PKT_OWN;
		host_tx(h, p);
		return;
	}
	if (fate == CNT_delivered_icmp && m.kind == ICMP4_KIND_ERROR)
		tcp_icmp4(h->tcp, &m, h->now_us);
	drop(h, p, fate);
}

static void udp_in(struct host *h, struct pkt *p)
{
	struct udp_datagram d;
	enum counter bad = udp_check(p->data + ETH_HLEN, p->len - ETH_HLEN,
	                             p->flags & (PKT_CSUM_OK | PKT_CSUM_PARTIAL), &d);
	if (bad != CNT_NONE)
		drop(h, p, bad);
	else if (h->ops->udp && h->ops->udp(h, &d, p))
		count(h, CNT_delivered_udp);
	else
		icmp_error(h, p, ICMP4_UNREACH_PORT, CNT_drop_udp_port);
}

/* What is wrong with an IP packet for a host with this address (RFC 1122 3.2.1, 3.3.6). */
static enum counter ip_check(const struct host *h, const struct pkt *p)
{
	const uint8_t *ip = p->data + ETH_HLEN;
	enum counter bad = ip4_check(ip, p->len - ETH_HLEN);
	if (bad != CNT_NONE)
		return bad;
	if (ip4_is_multicast(ip4_dst(ip)))
		return CNT_drop_ip4_multicast;
	if (eth_is_multicast(p->data))
		return CNT_drop_ip4_link_bcast;
	if (ip4_dst(ip) != h->address.addr)
		return CNT_drop_ip4_not_ours;
	if (ip4_src(ip) == h->address.addr)
		return CNT_drop_ip4_src_local;
	if (ip4_src(ip) == ip4_subnet_broadcast(h->address.addr, h->address.plen))
		return CNT_drop_ip4_src_martian;
	return ip4_is_fragment(ip) ? CNT_drop_fragment_local : CNT_NONE;
}

/* Takes a packet that is not TCP and returns true; of TCP it leaves the packet. */
static bool ip_in(struct host *h, struct pkt *p)
{
	enum counter bad = ip_check(h, p);
	if (bad != CNT_NONE) {
		drop(h, p, bad);
		return true;
	}
	switch (ip4_proto(p->data + ETH_HLEN)) {
	case IP4_PROTO_TCP:
		return false;
	case IP4_PROTO_UDP:
		udp_in(h, p);
		return true;
	case IP4_PROTO_ICMP:
		icmp_in(h, p);
		return true;
	default:
		icmp_error(h, p, ICMP4_UNREACH_PROTO, CNT_drop_ip4_proto);
		return true;
	}
}

/* The same for any frame. */
static bool frame_in(struct host *h, struct pkt *p)
{
	h->received++;
	if (p->len < ETH_HLEN) {
		drop(h, p, CNT_drop_eth_short);
		return true;
	}
	if (!h->tap.tun && !eth_is_multicast(p->data) && !eth_equal(p->data, h->mac)) {
		drop(h, p, CNT_drop_eth_dst);
		return true;
	}
	switch (be16_load(p->data + 12)) {
	case ETH_TYPE_IP4:
		return ip_in(h, p);
	case ETH_TYPE_ARP:
		drop(h, p, arp_input(&h->arp, 0, p->data, p->len, h->now_us * 1000));
		return true;
	default:
		drop(h, p, CNT_drop_eth_type);
		return true;
	}
}

/* A vector of frames; TCP gets its own in one piece. Returns how many there were. */
static unsigned receive(struct host *h)
{
	struct pkt v[BURST];
	unsigned n = tap_rx_burst(&h->tap, &h->pool, v, BURST, h->now_us), segments = 0;
	for (unsigned i = 0; i < n; i++)
		if (!frame_in(h, &v[i]))
			v[segments++] = v[i];
	if (segments)
		tcp_input(h->tcp, v, segments, h->now_us);
	return n;
}

/* --- the loop --- */

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void wait_until(struct host *h, uint64_t when_us)
{
	struct pollfd fd = {.fd = h->tap.fd, .events = POLLIN};
	uint64_t now = host_now_us(), left = when_us > now ? when_us - now : 0;
	struct timespec t = {(time_t)(left / 1000000), (long)(left % 1000000 * 1000)};
	sigset_t none;
	sigemptyset(&none); /* signals come here only, so that none is missed */
	ppoll(&fd, 1, when_us == UINT64_MAX ? NULL : &t, &none);
}

static bool turn(struct host *h)
{
	uint64_t wake = UINT64_MAX;
	h->now_us = host_now_us();
	bool busy = receive(h) == BURST;
	tcp_tick(h->tcp, h->now_us);
	arp_tick(&h->arp, h->now_us * 1000);
	if (h->ops->turn && !h->ops->turn(h, h->now_us, &wake))
		return false;
	tap_tick(&h->tap, h->now_us);
	wake = least(wake, least(tcp_deadline(h->tcp), tap_deadline(&h->tap)));
	if (arp_deadline(&h->arp) != UINT64_MAX)
		wake = least(wake, arp_deadline(&h->arp) / 1000 + 1);
	wait_until(h, busy ? 0 : wake);
	return !h->tap.gone;
}

static void on_signal(int number)
{
	if (number == SIGUSR1)
		asked_for_status = 1;
	else
		told_to_end = 1;
}

void host_run(struct host *h)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGUSR1};
	sigset_t blocked;
	sigemptyset(&blocked);
	for (unsigned i = 0; i < ARRAY_LEN(numbers); i++) {
		sigaddset(&blocked, numbers[i]);
		signal(numbers[i], on_signal);
	}
	sigprocmask(SIG_BLOCK, &blocked, NULL);
	puts("{\"ready\":true}");
	fflush(stdout);
	while (!told_to_end && turn(h)) {
		if (asked_for_status)
			host_status(h);
		asked_for_status = 0;
	}
	host_status(h);
	if (h->tap.pcap)
		fclose(h->tap.pcap);
}

/* --- making one --- */

static void *memory(size_t bytes)
{
	void *p = aligned_alloc(64, (bytes + 63) & ~(size_t)63);
	if (!p)
		fail("no memory");
	memset(p, 0, bytes);
	return p;
}

/* Buffers are not touched before they are used: a pool may be larger than what is there. */
static void make_pool(struct host *h, const struct host_options *o)
{
	uint32_t stride = (ETH_HLEN + 4 + h->mtu + BUF_DATA_OFFSET + 127) & ~127u;
	if (stride < BUF_STRIDE_STANDARD)
		stride = BUF_STRIDE_STANDARD;
	if (o->tap.offload)
		stride = TAP_STRIDE_OFFLOAD;
	uint32_t count = o->buffers ? o->buffers : o->tap.offload ? 8192 : 32768;
	uint8_t *base = aligned_alloc(64, (size_t)count * stride);
	if (!base)
		fail("no memory for buffers");
	bufpool_init(&h->pool, base, memory(count * sizeof(uint32_t)), count, stride);
}

static void make_arp(struct host *h)
{
	struct arp_params params = ARP_PARAMS_DEFAULT;
	params.neighbours = NEIGHBOURS;
	params.frame_max = ETH_HLEN + h->mtu;
	size_t bytes = arp_memory_bytes(&params);
	h->neigh = memory(NEIGHBOURS * sizeof *h->neigh);
	if (arp_init(&h->arp, &params, memory(bytes), bytes, &arp_ops, h) != E_OK ||
	    arp_add_local(&h->arp, 0, h->address.addr, h->address.plen, h->mac) != E_OK)
		fail("ARP does not take the address");
}

static void make_tcp(struct host *h, const struct host_options *o)
{
	static const struct tcp_ops ops = {.tx = tcp_tx};
	struct tcp_params params = o->tcp;
	struct siphash_key key = {0};
	if (o->newreno)
		params.congestion = CC_NEWRENO;
	if (!o->fastopen)
		params.fastopen_max = 0;
	params.offload = o->sg ? TCP_TX_SG : 0;
	if (o->tap.offload)
		params.offload = TCP_TX_CSUM | TCP_TX_SG | TCP_TX_TSO;
	if (o->key)
		key.k0 = strtoull(o->key, NULL, 0);
	else if (getrandom(&key, sizeof key, 0) != sizeof key)
		fail("no random numbers");
	h->tcp = tcp_init(memory(tcp_memory_bytes(&params)), &params, &h->pool, &h->cnt, &key, &ops,
	                  h, h->now_us);
}

void host_open(struct host *h, const struct host_options *o, const struct host_ops *ops)
{
	*h = (struct host){.ops = ops, .address = o->address, .gateway = o->gateway,
	                   .mtu = o->tcp.mtu, .now_us = host_now_us()};
	eth_copy(h->mac, o->mac);
	if (h->mtu < 68 || h->mtu > 9198) /* RFC 791: the least; the project's most */
		fail("the MTU is 68 to 9198");
	if (!tap_open(&h->tap, &o->tap))
		exit(1);
	make_pool(h, o);
	make_arp(h);
	make_tcp(h, o);
	icmp_limit_init(&h->icmp_limit, 1000, 50);
}
