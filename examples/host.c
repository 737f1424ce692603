/* See host.h. */
#define _GNU_SOURCE
#include "examples/inside.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "lib/number.h"

#define BURST 128

static volatile sig_atomic_t told_to_end, asked_for_status;

_Noreturn void assert_fail(const char *expr, const char *file, unsigned line)
{
	fprintf(stderr, "%s:%u: assertion failed: %s\n", file, line, expr);
	abort();
}

_Noreturn void host_fail(const char *why)
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

/* --- sending --- */

void host_op_tx(void *ctx, unsigned port, const uint8_t *frame, unsigned len)
{
	struct host_neighbours *n = ctx;
	(void)port;
	if (!n->host->tap.tun) /* a tun has no neighbours */
		tap_tx_frame(&n->host->tap, frame, len, n->host->now_us);
}

void host_op_up(void *ctx, unsigned index, const uint8_t *mac)
{
	struct host_neighbours *n = ctx;
	n->at[index].up = true;
	eth_copy(n->at[index].mac, mac);
}

void host_op_down(void *ctx, unsigned index)
{
	struct host_neighbours *n = ctx;
	n->at[index].up = false;
}

void host_op_release(void *ctx, unsigned index, uint8_t *frame, unsigned len)
{
	struct host_neighbours *n = ctx;
	eth_header_build(frame, n->at[index].mac, n->host->mac, n->ip->eth_type);
	tap_tx_frame(&n->host->tap, frame, len, n->host->now_us);
}

/* Only our own packets wait for neighbours. TCP detects the loss by its timer. */
void host_op_lost(void *ctx, unsigned index, uint8_t *frame, unsigned len)
{
	struct host_neighbours *n = ctx;
	(void)index, (void)frame, (void)len;
	host_count(n->host, CNT_originated_drop_tx);
}

void host_op_count(void *ctx, enum counter counter, unsigned number)
{
	struct host_neighbours *n = ctx;
	n->host->cnt.v[counter] += number;
}

void host_op_removed(void *ctx, unsigned index)
{
	(void)ctx, (void)index;
}

/* A packet to an unresolved neighbour waits in the table's memory, as plain bytes. One that does not fit
 * is dropped, and TCP retransmits it. */
static void wait_for_neighbour(struct host *h, const struct host_ip *ip, unsigned index,
                               struct pkt *p)
{
	if (p->flags & (PKT_TSO | PKT_CHAIN) || p->len > ETH_HLEN + h->mtu) {
		host_drop(h, p, CNT_originated_drop_tx);
		return;
	}
	pkt_csum_complete(&h->pool, p);
	ip->output(h, index, p->data, p->len);
	pkt_free(&h->pool, p);
}

void host_tx(struct host *h, struct pkt *p)
{
	const uint8_t *packet = p->data + ETH_HLEN;
	const struct host_neighbours *n = &h->neigh[ip_is_ip6(packet) ? OPTION_IP6 : OPTION_IP4];
	if (h->tap.tun) {
		tap_tx(&h->tap, &h->pool, p, h->now_us);
		return;
	}
	int index = n->ip->next_hop(h, packet);
	if (index < 0) {
		host_drop(h, p, CNT_originated_drop_tx);
		return;
	}
	if (!n->at[index].up) {
		wait_for_neighbour(h, n->ip, (unsigned)index, p);
		return;
	}
	n->ip->used(h, (unsigned)index);
	eth_header_build(p->data, n->at[index].mac, h->mac, n->ip->eth_type);
	tap_tx(&h->tap, &h->pool, p, h->now_us);
}

void host_reply(struct host *h, struct pkt *p, uint8_t *ip)
{
	p->data = ip - ETH_HLEN;
	p->len = (uint16_t)(ETH_HLEN + ip_total_len(ip));
	p->flags = (uint8_t)((p->flags & PKT_CSUM_PARTIAL) | PKT_OWN);
	host_tx(h, p);
}

bool host_source(const struct host *h, const struct net_addr *to, struct net_addr *from)
{
	if (!net_addr_is_ip4(to))
		return nd_source(&h->nd, 0, to, from);
	*from = h->address[OPTION_IP4].addr;
	return !net_addr_is_any(from);
}

static void tcp_tx(void *ctx, struct pkt *p)
{
	host_tx(ctx, p);
}

/* --- receiving --- */

bool host_may_complain(struct host *h, bool allowed)
{
	if (!allowed)
		host_count(h, CNT_icmp_err_suppressed);
	else if (!(allowed = icmp_limit_take(&h->icmp_limit, host_now_ns(h))))
		host_count(h, CNT_icmp_err_ratelimited);
	return allowed;
}

void host_udp(struct host *h, struct pkt *p)
{
	struct udp_datagram d;
	enum counter bad = udp_check(p->data + ETH_HLEN, p->len - ETH_HLEN,
	                             p->flags & (PKT_CSUM_OK | PKT_CSUM_PARTIAL), &d);
	if (bad != CNT_NONE)
		host_drop(h, p, bad);
	else if (h->ops->udp && h->ops->udp(h, &d, p))
		host_count(h, CNT_delivered_udp);
	else
		h->neigh[option_family(&d.dst)].ip->refuse_port(h, p);
}

/* Handles a frame and returns true; false: it is a segment for TCP and stays with the caller. */
static bool frame_in(struct host *h, struct pkt *p)
{
	h->received++;
	if (p->len < ETH_HLEN) {
		host_drop(h, p, CNT_drop_eth_short);
		return true;
	}
	if (!h->tap.tun && !eth_is_multicast(p->data) && !eth_equal(p->data, h->mac)) {
		host_drop(h, p, CNT_drop_eth_dst);
		return true;
	}
	switch (be16_load(p->data + 12)) {
	case ETH_TYPE_IP4:
		return host_ip4.input(h, p);
	case ETH_TYPE_IP6:
		return host_ip6.input(h, p);
	case ETH_TYPE_ARP:
		host_drop(h, p, arp_input(&h->arp, 0, p->data, p->len, host_now_ns(h)));
		return true;
	default:
		host_drop(h, p, CNT_drop_eth_type);
		return true;
	}
}

/* Receives a vector of frames; TCP gets its segments in one call. Returns the number of frames. */
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

static void wait_until(struct host *h, uint64_t when_us)
{
	struct pollfd fd = {.fd = h->tap.fd, .events = POLLIN};
	uint64_t now = host_now_us(), left = when_us > now ? when_us - now : 0;
	struct timespec t = {(time_t)(left / 1000000), (long)(left % 1000000 * 1000)};
	sigset_t none;
	sigemptyset(&none); /* signals are unblocked only here, so none is missed */
	ppoll(&fd, 1, when_us == UINT64_MAX ? NULL : &t, &none);
}

static void say_ready(struct host *h)
{
	if (h->ready || h->tentative)
		return;
	h->ready = true;
	puts("{\"ready\":true}");
	fflush(stdout);
}

static bool turn(struct host *h)
{
	uint64_t wake = UINT64_MAX;
	h->now_us = host_now_us();
	bool busy = receive(h) == BURST;
	tcp_tick(h->tcp, h->now_us);
	uint64_t neighbours = u64_min(host_ip4.tick(h), host_ip6.tick(h));
	say_ready(h);
	if (h->ready && h->ops->turn && !h->ops->turn(h, h->now_us, &wake))
		return false;
	tap_tick(&h->tap, h->now_us);
	wake = u64_min(wake, u64_min(tcp_deadline(h->tcp), tap_deadline(&h->tap)));
	if (neighbours != UINT64_MAX)
		wake = u64_min(wake, neighbours / 1000 + 1);
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
	while (!told_to_end && turn(h)) {
		if (asked_for_status)
			host_status(h);
		asked_for_status = 0;
	}
	host_status(h);
	if (h->tap.pcap)
		fclose(h->tap.pcap);
}

/* --- set-up --- */

void *host_memory(size_t bytes)
{
	void *p = aligned_alloc(64, align_up(bytes, 64));
	if (!p)
		host_fail("no memory");
	memset(p, 0, bytes);
	return p;
}

/* Buffers are not touched before use, so a pool may exceed the available memory. */
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
		host_fail("no memory for buffers");
	bufpool_init(&h->pool, base, host_memory(count * sizeof(uint32_t)), count, stride);
}

static struct siphash_key make_key(const struct host_options *o)
{
	struct siphash_key key = {0};
	if (o->key)
		key.k0 = strtoull(o->key, NULL, 0);
	else if (getrandom(&key, sizeof key, 0) != sizeof key)
		host_fail("no random numbers");
	return key;
}

static void make_ip(struct host *h, const struct host_options *o)
{
	static const struct host_ip *const ip[] = {&host_ip4, &host_ip6};
	const struct siphash_key key = make_key(o);
	for (unsigned f = 0; f < OPTION_FAMILIES; f++) {
		h->neigh[f] = (struct host_neighbours){
			.host = h, .ip = ip[f], .at = host_memory(HOST_NEIGHBOURS * sizeof *h->neigh[f].at),
		};
		ip[f]->start(h, &key);
	}
}

static void make_tcp(struct host *h, const struct host_options *o)
{
	static const struct tcp_ops ops = {.tx = tcp_tx};
	struct tcp_params params = o->tcp;
	const struct siphash_key key = make_key(o);
	if (o->newreno)
		params.congestion = CC_NEWRENO;
	if (!o->fastopen)
		params.fastopen_max = 0;
	params.offload = o->sg ? TCP_TX_SG : 0;
	if (o->tap.offload)
		params.offload = TCP_TX_CSUM | TCP_TX_SG | TCP_TX_TSO;
	h->tcp = tcp_init(host_memory(tcp_memory_bytes(&params)), &params, &h->pool, &h->cnt, &key, &ops,
	                  h, h->now_us);
}

void host_open(struct host *h, const struct host_options *o, const struct host_ops *ops)
{
	static const struct option_prefix fallback = {IP6(0, 0, 0xffff, IP4(192, 0, 2, 1)), 24};
	*h = (struct host){.ops = ops, .dad_transmits = o->dad_transmits, .mtu = o->tcp.mtu, .now_us = host_now_us()};
	memcpy(h->address, o->address, sizeof h->address);
	memcpy(h->gateway, o->gateway, sizeof h->gateway);
	if (net_addr_is_any(&h->address[OPTION_IP4].addr) &&
	    net_addr_is_any(&h->address[OPTION_IP6].addr))
		h->address[OPTION_IP4] = fallback;
	eth_copy(h->mac, o->mac);
	if (h->mtu > 9198) /* the project's limit */
		host_fail("the MTU is at most 9198");
	if (!tap_open(&h->tap, &o->tap))
		exit(1);
	make_pool(h, o);
	make_ip(h, o);
	make_tcp(h, o);
	icmp_limit_init(&h->icmp_limit, 1000, 50);
}
