/* See tcp_control.h. */
#include "control/host/tcp_control.h"

#include "control/host/output.h"
#include "control/forwarding/fate.h"
#include "control/forwarding/neighbour.h"
#include "control/host/output6.h"
#include "dataplane/state.h"
#include "dataplane/tcp_data.h"
#include "net/icmp4.h"
#include "net/icmp6.h"
#include "net/ip.h"
#include "net/tcp/wire.h"
#include "lib/mem.h"
#include "lib/number.h"

#define POOL_BYTES (2u << 20)
#define POOL_RESERVE_SHARE 4 /* a quarter of the buffers is for received segments */
#define LISTENERS 8

struct tcp *tcp_control;
struct bufpool tcp_control_pool;

static void *pool_memory, *tcp_memory;
static size_t tcp_bytes;

/* --- start --- */

static struct tcp_params parameters(void)
{
	struct tcp_params p = TCP_PARAMS_DEFAULT;
	p.connections = TCP_CONTROL_CONNECTIONS;
	p.listeners = LISTENERS;
	p.syn_max = TCP_CONTROL_SYN_MAX;
	p.fastopen_max = 0;
	p.reassembly_bufs = 64;
	p.rcv_buf = TCP_CONTROL_RCV_BUF;
	/* it does not grow by itself: applications have room for so much (stream.h) */
	p.rcv_buf_max = TCP_CONTROL_RCV_BUF;
	p.snd_buf = TCP_CONTROL_SND_BUF;
	p.rcv_buf_given = TCP_CONTROL_RCV_GIVEN;
	p.snd_buf_given = TCP_CONTROL_SND_GIVEN;
	p.syn_timeout_ms = 20000;
	/* a vanished peer holds one of few connections */
	p.user_timeout_ms = 30000;
	p.fin_wait2_ms = 10000;
	p.port_first = TCP_CONTROL_PORT_FIRST;
	p.port_last = 65535;
	return p;
}

bool tcp_control_prepare(void)
{
	struct tcp_params p = parameters();
	if (tcp_memory && pool_memory)
		return true;
	tcp_bytes = tcp_memory_bytes(&p);
	if (core_private_left() < POOL_BYTES + tcp_bytes + (1u << 20))
		return false; /* leave the rest to others */
	tcp_memory = tcp_memory ? tcp_memory : core_private_alloc(tcp_bytes);
	pool_memory = pool_memory ? pool_memory : core_private_alloc(POOL_BYTES);
	return tcp_memory && pool_memory;
}

void tcp_control_stop(void)
{
	tcp_control = NULL;
}

/* Makes as many buffers as fit, each large enough for any message. */
static void start_pool(void)
{
	uint32_t stride = core_frame_max() + BUF_DATA_OFFSET;
	uint32_t count = (POOL_BYTES - CACHE_LINE) / (stride + (uint32_t)sizeof(uint32_t));
	uint32_t *stack = pool_memory;
	uintptr_t base = align_up((uintptr_t)(stack + count), CACHE_LINE);
	bufpool_init(&tcp_control_pool, (uint8_t *)base, stack, count, stride);
}

/* --- packets that TCP sends --- */

/* The link of a packet to a link-local address. */
static unsigned interface_of6(const uint8_t *ip)
{
	const struct net_addr src = ip6_src(ip), dst = ip6_dst(ip);
	const unsigned interface = ip6_is_link_local(&dst) ? dp_link_of6(dp_get(), &src, &dst) : 0;
	return interface < DP_INTERFACES_MAX ? interface : 0;
}

static void output(uint8_t *frame, unsigned len)
{
	if (ip_is_ip6(frame + ETH_HLEN))
		local6_output(frame, len, interface_of6(frame + ETH_HLEN));
	else
		local_output(frame, len);
}

/* Copies n bytes of the packet's pieces, from byte `at` of them on. */
static void copy_pieces(uint8_t *to, const struct pkt *p, unsigned at, unsigned n)
{
	const struct pkt_frag *f = pkt_frags(&tcp_control_pool, p->buf);
	for (; at >= f->len; f++)
		at -= f->len;
	for (; n; f++, at = 0) {
		const unsigned part = u32_min(n, f->len - at);
		memcpy(to, buf_at(&tcp_control_pool, f->buf, f->offset) + at, part);
		to += part;
		n -= part;
	}
}

static uint8_t segment[BUF_STRIDE_JUMBO]; /* a frame, while it is sent */

/* Makes the headers of a segment with n bytes of payload, which begins `at` bytes behind those of the packet: its own
 * headers are in the segment already. */
static void finish_segment(const struct pkt *p, unsigned at, unsigned n, bool last)
{
	const struct pkt_meta *meta = pkt_meta(&tcp_control_pool, p->buf);
	const unsigned ip_len = meta->csum_start - ETH_HLEN, l4_len = p->len - meta->csum_start + n;
	uint8_t *tcp = segment + meta->csum_start;
	struct ip_packet as;
	ip_parse(segment + ETH_HLEN, IP4_PROTO_TCP, &as);
	be32_store(tcp + 4, be32_load(tcp + 4) + at);
	if (!last)
		tcp[13] = (uint8_t)(tcp[13] & ~TCP_PSH);
	ip_header_put(tcp, l4_len, ip_len, &as.src, &as.dst, IP4_PROTO_TCP, as.ecn);
	raw16_store(tcp + 16, 0);
	const uint32_t pseudo = ip_pseudo_len(ip_pseudo_sum(&as.src, &as.dst, IP4_PROTO_TCP), l4_len);
	raw16_store(tcp + 16, csum_fold(csum_partial(tcp, l4_len, pseudo)));
}

/* Sends a packet that no device segments for us, as the segments that it stands for. */
static void send_segments(const struct pkt *p)
{
	const struct pkt_meta *meta = pkt_meta(&tcp_control_pool, p->buf);
	const unsigned all = meta->frag_bytes;
	for (unsigned at = 0; at < all; at += meta->mss) {
		const unsigned n = u32_min(meta->mss, all - at);
		memcpy(segment, p->data, p->len);
		copy_pieces(segment + p->len, p, at, n);
		finish_segment(p, at, n, at + n == all);
		output(segment, p->len + n);
	}
}

/* Sends a packet that the device segments. False: it has not been sent. */
static bool send_whole(const struct pkt *p)
{
	uint8_t *ip = p->data + ETH_HLEN;
	if (!ip_is_ip6(ip))
		return neighbour_output_whole(dp_next_hop4(dp_get(), ip4_dst(ip)), &tcp_control_pool, p);
	const struct net_addr dst = ip6_dst(ip);
	const uint32_t nh = local6_next_hop(&dst, interface_of6(ip));
	const int interface = dp_interface_of(dp_get(), nh);
	if (interface >= 0)
		dp_hop_limit6(dp_get(), (unsigned)interface, ip);
	return interface >= 0 && neighbour_output_whole(nh, &tcp_control_pool, p);
}

/* A packet in one frame, but perhaps in pieces. */
static void send_frame(struct pkt *p)
{
	const unsigned bytes = pkt_bytes(&tcp_control_pool, p);
	assert(bytes <= sizeof segment);
	pkt_csum_complete(&tcp_control_pool, p);
	memcpy(segment, p->data, p->len);
	if (p->flags & PKT_CHAIN)
		copy_pieces(segment + p->len, p, 0, bytes - p->len);
	output(segment, bytes);
}

static void tx(void *ctx, struct pkt *p)
{
	(void)ctx;
	if (!(p->flags & PKT_TSO))
		send_frame(p);
	else if (!send_whole(p))
		send_segments(p);
	pkt_free(&tcp_control_pool, p);
}

/*
 * tcp_ops.full: a connection waits while one of the rings to the data cores has no room for the largest packet, and for
 * some other frames of the control core. All connections wait together, because a ring empties in microseconds.
 */
#define ROOM_SLOTS (3 * (1 + PKT_FRAGS_MAX))
#define FULL_NS 20000 /* until the rings are looked at again */
static bool is_full;

static bool rings_are_full(void)
{
	for (unsigned pair = 0; pair < core_data_count(); pair++)
		if (core_inject_room(pair) < ROOM_SLOTS)
			return true;
	return false;
}

static unsigned full(void *ctx, const struct net_addr *remote)
{
	(void)ctx, (void)remote;
	is_full = is_full || rings_are_full();
	return is_full;
}

/* The devices segment if all ports' can: TCP does not know by which port a packet leaves. The generator's ports send by
 * slots, between which core_tx() takes frames in one piece only (core_slots_open). */
static uint32_t offload(void)
{
	const uint32_t f = core_tx_features();
	if (!(f & NIC_SG) || !(f & NIC_TSO) || core_app_number() == CORE_APP_pktgen)
		return 0;
	return TCP_TX_CSUM | TCP_TX_SG | (f & NIC_TSO4 ? TCP_TX_TSO4 : 0) | (f & NIC_TSO6 ? TCP_TX_TSO6 : 0);
}

static unsigned mtu6(void *ctx, const struct net_addr *remote)
{
	(void)ctx;
	return dp_mtu6(dp_get(), remote);
}

/* Not the port of a service on data cores: they keep segments to it (dp_is_management). */
static bool ours(void *ctx, const struct net_addr *local, uint16_t local_port, const struct net_addr *remote,
                 uint16_t remote_port)
{
	(void)ctx, (void)local, (void)remote, (void)remote_port;
	return service_of(&dp_get()->services, SERVICE_TCP, local_port) == SERVICES;
}

void tcp_control_start(void)
{
	static const struct tcp_ops ops = {.tx = tx, .full = full, .mtu6 = mtu6, .ours = ours};
	static struct siphash_key key;
	struct tcp_params p = parameters();
	if (!tcp_memory || !pool_memory)
		return;
	start_pool();
	memset(tcp_memory, 0, tcp_bytes);
	p.mtu = dp_mtu(dp_get());
	p.offload = offload();
	is_full = false;
	p.pool_reserve = tcp_control_pool.count / (2 * POOL_RESERVE_SHARE);
	core_random(&key, sizeof key);
	tcp_control = tcp_init(tcp_memory, &p, &tcp_control_pool, self.counters, &key, &ops, NULL,
	                       core_now_us());
}

/* --- packets and time --- */

uint32_t tcp_control_spare(void)
{
	const uint32_t kept = tcp_control_pool.count / POOL_RESERVE_SHARE;
	return tcp_control_pool.free > kept ? tcp_control_pool.free - kept : 0;
}

bool tcp_control_is_short(void)
{
	return tcp_control_spare() == 0;
}

enum counter tcp_control_input(const uint8_t *ip, unsigned len, uint8_t flags)
{
	struct pkt p;
	if (!pkt_alloc(&tcp_control_pool, &p))
		return CNT_drop_tcp_buffers;
	memcpy(p.data + ETH_HLEN, ip, len);
	p.len = (uint16_t)(len + ETH_HLEN);
	p.flags = flags & PKT_CSUM_OK;
	tcp_vector_input(tcp_control, &p, 1, fate_interface);
	return CNT_NONE;
}

void tcp_control_icmp(const struct icmp4_msg *icmp)
{
	if (tcp_control)
		tcp_icmp4(tcp_control, icmp, core_now_us());
}

void tcp_control_icmp6(const struct icmp6_msg *icmp)
{
	if (tcp_control)
		tcp_icmp6(tcp_control, icmp, core_now_us());
}

void tcp_control_tick(void)
{
	if (!tcp_control)
		return;
	tcp_tick(tcp_control, core_now_us());
	if (is_full && !rings_are_full()) {
		is_full = false;
		tcp_room(tcp_control, core_now_us());
	}
}

uint64_t tcp_control_deadline(void)
{
	const uint64_t now_us = core_now_us(), due_us = tcp_control ? tcp_deadline(tcp_control) : UINT64_MAX;
	if (is_full && tcp_control)
		return core_now_ns() + FULL_NS;
	if (due_us == UINT64_MAX)
		return UINT64_MAX;
	/* from now: the clocks round differently, and absolute times would drift apart */
	return core_now_ns() + (due_us > now_us ? (due_us - now_us) * 1000 : 0);
}
