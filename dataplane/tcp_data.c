/*
 * See tcp_data.h. `show tcp` reads a copy of an instance's state in the shared area of its core.
 * The core makes the copy PUBLISH_US after an event, so it has published its last state before it
 * sleeps for long. Readers (control/cli/show_tcp.c) detect by `sequence` a copy that changed
 * meanwhile.
 */
#include "dataplane/tcp_data.h"

#include "dataplane/output.h"
#include "dataplane/tcp_move.h"
#include "lib/mem.h"
#include "net/icmp4.h"
#include "net/icmp6.h"

#define CONNECTIONS_AUTO_MAX (1u << 20)
#define CONNECTIONS_MIN 16
#define POOL_SHARE 4        /* one buffer in four: limit of reassembly, and reserve of the pool */
#define POOL_RESERVE_MAX 1024
#define HOLDERS 128        /* connections that may hold their most at the same time */
#define BUFFER_MIN 32768
/* Bytes that the connections' tables leave to the packet buffers, unless half of all memory is
 * less: HOLDERS times the usual window, and twice that for packets in the rings of some ports and
 * for connections that hold little. */
#define POOL_BYTES (3ull * HOLDERS * TCP_PARAMS_DEFAULT.rcv_buf)
#define PUBLISH_US 250000
#define PUBLISH_LOOKS 4096 /* records examined for one list */

struct tcp *tcp_data;

static struct tcp_params params;
static size_t own_bytes;     /* of the application, for each connection */
static size_t own_at;        /* where they begin, behind the instance */
static uint32_t asked;       /* connections requested by the configuration; 0: not stated */
static uint64_t publish_us;  /* when to publish; 0: nothing has happened since the last time */

/* --- start --- */

static size_t bytes_for(uint32_t connections)
{
	params.connections = connections;
	params.syn_max = connections / 8 > CONNECTIONS_MIN ? connections / 8 : CONNECTIONS_MIN;
	return ((tcp_memory_bytes(&params) + 63) & ~(size_t)63) + connections * own_bytes;
}

/* The largest number of connections, up to `most`, whose tables fit into `bytes`. */
static uint32_t connections_in(size_t bytes, uint32_t most)
{
	uint32_t fits = 0;
	for (uint32_t step = CONNECTIONS_AUTO_MAX * 4; step; step /= 2)
		if (fits + step <= most && bytes_for(fits + step) <= bytes)
			fits += step;
	return fits;
}

size_t tcp_data_bytes(size_t room, bool wanted, size_t own)
{
	const struct dp_state *v = dp_get();
	params = TCP_PARAMS_DEFAULT;
	params.listeners = SERVICES * SERVICE_PORTS_MAX;
	own_bytes = own;
	asked = v->tcp_connections;
	if (!wanted)
		return params.connections = 0;
	size_t pool = room / 2 < POOL_BYTES ? room / 2 : POOL_BYTES;
	uint32_t n = asked ? connections_in(room - pool, asked)
	                   : connections_in(room / 8, CONNECTIONS_AUTO_MAX);
	if (n == 0)
		return params.connections = 0;
	const size_t bytes = bytes_for(n);
	own_at = bytes - n * own;
	return bytes;
}

/*
 * The bytes that one connection may hold: the usual, or less if buffers are few, so that a hundred
 * peers that do not read leave some for the others.
 */
static uint32_t buffer_bytes(uint32_t usual)
{
	uint64_t share = (uint64_t)self.pool.count * self.pool.stride / HOLDERS;
	return share > usual ? usual : share < BUFFER_MIN ? BUFFER_MIN : (uint32_t)share;
}

/*
 * The offloads that all ports have: TCP does not know by which port a segment leaves. A driver completes
 * a checksum that its device does not, but TCP sums cheaper while it has the segment in hand.
 */
static uint32_t offload(void)
{
	const uint32_t f = core_tx_features(), sg = f & NIC_SG ? TCP_TX_SG : 0;
	if (!(f & NIC_TX_CSUM))
		return sg;
	return TCP_TX_CSUM | sg | (sg && f & NIC_TSO4 ? TCP_TX_TSO4 : 0) |
	       (sg && f & NIC_TSO6 ? TCP_TX_TSO6 : 0);
}

static void tx(void *ctx, struct pkt *p)
{
	(void)ctx;
	output_tx(p);
}

/* tcp_ops.full: TCP's transmit paths ("ways") are the ports. */
static unsigned full(void *ctx, const struct net_addr *remote)
{
	_Static_assert(NIC_PORTS_MAX <= TCP_WAYS, "each port is a way");
	(void)ctx;
	return output_full(remote);
}

static unsigned mtu6(void *ctx, const struct net_addr *remote)
{
	(void)ctx;
	return dp_mtu6(output_state.dp, remote);
}

void tcp_data_start(void)
{
	static const struct tcp_ops ops = {
		.tx = tx, .full = full, .mtu6 = mtu6, .elsewhere = tcp_move_elsewhere};
	uint64_t secret[2];
	size_t bytes;
	void *memory = core_data_memory(&bytes);
	tcp_data = NULL;
	publish_us = 0;
	output_start();
	memset(&dp_shared()->tcp, 0, sizeof dp_shared()->tcp);
	if (params.connections == 0)
		return;
	if (asked > params.connections)
		core_log_at(LOG_WARNING, "core %u: memory for %u TCP connections only", self.id, params.connections);
	params.mtu = dp_mtu(dp_get());
	params.offload = offload();
	params.rcv_buf = buffer_bytes(TCP_PARAMS_DEFAULT.rcv_buf);
	params.rcv_buf_max = params.snd_buf = buffer_bytes(TCP_PARAMS_DEFAULT.rcv_buf_max);
	params.reassembly_bufs = self.pool.count / POOL_SHARE;
	params.pool_reserve = self.pool.count / POOL_SHARE < POOL_RESERVE_MAX
	                              ? self.pool.count / POOL_SHARE
	                              : POOL_RESERVE_MAX;
	core_secret(secret);
	const struct siphash_key key = {secret[0], secret[1]};
	tcp_data = tcp_init(memory, &params, &self.pool, self.counters, &key, &ops, NULL,
	                    core_now_us());
	tcp_move_start();
	publish_us = 1;
}

void *tcp_data_own(uint32_t *connections)
{
	size_t bytes;
	*connections = params.connections;
	return (uint8_t *)core_data_memory(&bytes) + own_at;
}

/* --- the copy for show tcp --- */

static void list_connections(struct dp_tcp *to)
{
	uint32_t cursor = 0, most = tcp_connections(tcp_data);
	const struct tcp_conn *c;
	most = most < DP_TCP_LISTED ? most : DP_TCP_LISTED;
	to->listed = 0;
	while (to->listed < most && cursor < PUBLISH_LOOKS &&
	       (c = tcp_next(tcp_data, &cursor, PUBLISH_LOOKS - cursor)) != NULL)
		tcp_info(c, &to->info[to->listed++]);
}

static void publish(void)
{
	struct dp_tcp *to = &dp_shared()->tcp;
	uint32_t sequence = to->sequence;
	__atomic_store_n(&to->sequence, sequence + 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE); /* odd before anything changes */
	to->capacity = params.connections;
	for (unsigned s = 0; s < DP_TCP_STATES; s++)
		to->count[s] = tcp_count(tcp_data, (enum tcp_state)s);
	list_connections(to);
	__atomic_store_n(&to->sequence, sequence + 2, __ATOMIC_RELEASE);
}

/* --- segments --- */

/* net/tcp knows no interfaces, so its fates are the differences of the counters: two additions for a
 * vector that is delivered whole. */
void tcp_vector_input(struct tcp *t, struct pkt *v, unsigned n, unsigned interface)
{
	const uint64_t *now = self.counters->v;
	uint64_t before[CNT_drop_tcp_reassembly + 1 - CNT_drop_tcp_malformed];
	const uint64_t delivered = now[CNT_delivered_tcp];
	memcpy(before, now + CNT_drop_tcp_malformed, sizeof before);
	tcp_input(t, v, n, core_now_us());
	count_interface(interface, CNT_delivered_tcp, now[CNT_delivered_tcp] - delivered);
	if (likely(now[CNT_delivered_tcp] - delivered == n))
		return;
	for (unsigned i = 0; i < ARRAY_LEN(before); i++)
		count_interface(interface, (enum counter)(CNT_drop_tcp_malformed + i),
		                now[CNT_drop_tcp_malformed + i] - before[i]);
}

/* --- timer and messages --- */

uint64_t tcp_data_timer(void)
{
	uint64_t now = core_now_us();
	if (!tcp_data)
		return UINT64_MAX;
	output_turn();
	if (unlikely(tcp_move_waits()))
		tcp_move_settle();
	tcp_room(tcp_data, now);
	if (tcp_deadline(tcp_data) <= now)
		tcp_tick(tcp_data, now);
	if (publish_us == 0) {
		publish_us = now + PUBLISH_US;
	} else if (now >= publish_us) {
		publish();
		publish_us = 0;
	}
	uint64_t due = unlikely(tcp_move_waits()) ? now : tcp_deadline(tcp_data);
	if (publish_us && publish_us < due)
		due = publish_us;
	if (due == UINT64_MAX)
		return UINT64_MAX;
	return due > now ? core_tsc_after((due - now) * 1000) : self.now_tsc;
}

static void icmp4_error(const uint8_t *ip)
{
	struct icmp4_msg icmp;
	if (icmp4_input(ip, ip4_total_len(ip), &icmp) == CNT_delivered_icmp &&
	    icmp.kind == ICMP4_KIND_ERROR)
		tcp_icmp4(tcp_data, &icmp, core_now_us());
}

static void icmp6_error(const uint8_t *ip)
{
	struct ip6_upper up;
	struct icmp6_msg icmp;
	if (ip6_upper(ip, &up) == CNT_NONE && up.proto == IP6_ICMP6 &&
	    icmp6_input(ip, up.at, &icmp) == CNT_delivered_icmp6 && icmp.kind == ICMP6_KIND_ERROR)
		tcp_icmp6(tcp_data, &icmp, core_now_us());
}

void tcp_data_msg(struct pkt *p, uint32_t arg)
{
	const uint8_t *ip = p->data + ETH_HLEN;
	if (tcp_data && arg == APP_TCP_ERROR) {
		output_turn();
		if (ip_is_ip6(ip))
			icmp6_error(ip);
		else
			icmp4_error(ip);
	}
	pkt_free(&self.pool, p);
}
