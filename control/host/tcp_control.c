/* See tcp_control.h. */
#include "control/host/tcp_control.h"

#include "control/host/output.h"
#include "control/forwarding/fate.h"
#include "control/host/output6.h"
#include "dataplane/state.h"
#include "dataplane/tcp_data.h"
#include "net/icmp4.h"
#include "net/icmp6.h"
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
	p.rcv_buf_max = TCP_CONTROL_RCV_BUF; /* it does not grow by itself: applications have room for so much (stream.h) */
	p.snd_buf = TCP_CONTROL_SND_BUF;
	p.rcv_buf_given = TCP_CONTROL_RCV_GIVEN;
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

/* No offload is used: checksums are complete, packets in one piece. */
static void tx(void *ctx, struct pkt *p)
{
	static uint8_t frame[BUF_STRIDE_JUMBO];
	(void)ctx;
	assert(p->len <= sizeof frame && !(p->flags & (PKT_CHAIN | PKT_TSO | PKT_CSUM_PARTIAL)));
	memcpy(frame, p->data, p->len);
	const uint8_t *ip = frame + ETH_HLEN;
	if (ip_is_ip6(ip)) {
		const struct net_addr src = ip6_src(ip), dst = ip6_dst(ip);
		unsigned interface =
		        ip6_is_link_local(&dst) ? dp_link_of6(dp_get(), &src, &dst) : 0;
		local6_output(frame, p->len, interface < DP_INTERFACES_MAX ? interface : 0);
	} else {
		local_output(frame, p->len);
	}
	pkt_free(&tcp_control_pool, p);
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
	static const struct tcp_ops ops = {.tx = tx, .mtu6 = mtu6, .ours = ours};
	static struct siphash_key key;
	struct tcp_params p = parameters();
	if (!tcp_memory || !pool_memory)
		return;
	start_pool();
	memset(tcp_memory, 0, tcp_bytes);
	p.mtu = dp_mtu(dp_get());
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
	if (tcp_control)
		tcp_tick(tcp_control, core_now_us());
}

uint64_t tcp_control_deadline(void)
{
	const uint64_t now_us = core_now_us(), due_us = tcp_control ? tcp_deadline(tcp_control) : UINT64_MAX;
	if (due_us == UINT64_MAX)
		return UINT64_MAX;
	/* from now: the clocks round differently, and absolute times would drift apart */
	return core_now_ns() + (due_us > now_us ? (due_us - now_us) * 1000 : 0);
}
