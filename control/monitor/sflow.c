/* See sflow.h. */
#include "control/monitor/sflow.h"

#include "control/config/running.h"
#include "control/console/shell.h"
#include "control/forwarding/tables.h"
#include "control/host/output.h"
#include "control/host/output6.h"
#include "control/host/udp_control.h"
#include "dataplane/sample.h"
#include "dataplane/state.h"
#include "dataplane/xdp.h"
#include "lib/bytes.h"
#include "lib/fmt.h"
#include "lib/mem.h"
#include "lib/number.h"
#include "net/icmp4.h"
#include "net/ip4.h"
#include "net/ip6.h"
#include "net/sflow.h"

#define SAMPLES_PER_TURN 64
#define DELAY_NS 500000000ull /* a sample waits for others at most so long; the specification allows a second */

typedef unsigned long long ull;

static struct {
	uint32_t ports;    /* one bit each: the data sources */
	uint64_t at[CORES_MAX];                  /* next sample of each core */
	uint64_t pool_seen[CORES_MAX][NIC_PORTS_MAX];
	uint64_t pool[NIC_PORTS_MAX];            /* packets that could have been sampled */
	uint64_t last[CORES_MAX][NIC_PORTS_MAX]; /* numbers of the newest samples */
	uint64_t lost[NIC_PORTS_MAX];            /* samples */
	uint32_t flow_sequence[NIC_PORTS_MAX], counter_sequence[NIC_PORTS_MAX];
	uint64_t counters_ns;                    /* when counter samples are due */
	struct sflow_datagram datagram;
	uint64_t send_ns;                        /* by when the datagram is sent; 0: it is empty */
	uint32_t sequence;                       /* of datagrams */
	uint16_t port;                           /* from which they are sent */
	uint64_t started_ns;
	struct sflow_stats stats;
} agent;

const struct sflow_stats *sflow_stats(void) { return &agent.stats; }

/* --- configuration --- */

static enum counter refuse(const struct udp_datagram *d, const struct udp_arrival *from)
{
	(void)d, (void)from;
	return CNT_drop_udp_port;
}

static uint32_t sources(const struct config *c)
{
	uint32_t ports = 0;
	for (unsigned p = 0; p < CONFIG_PORTS_MAX && c->sflow.collectors; p++)
		ports |= (uint32_t)c->interface[p].sflow << p;
	return ports;
}

static uint32_t rate_now(void)
{
	const uint32_t rate = running.config.sflow.rate;
	return rate ? rate : CONFIG_SFLOW_RATE_DEFAULT;
}

static uint64_t interval_ns(void)
{
	const uint32_t s = running.config.sflow.interval_s;
	return (s ? s : CONFIG_SFLOW_INTERVAL_DEFAULT_S) * SECOND_NS;
}

/* What the cores have sampled before this program began, or before there was a collector, is not of now. */
static void skip_samples(void)
{
	for (unsigned d = 0; d < self.info->data_cores; d++) {
		const unsigned core = self.info->first_data_core + d;
		const struct sample_ring *r = &dp_shared_of(core)->samples;
		agent.at[core] = shared_load(&r->count);
		for (unsigned p = 0; p < NIC_PORTS_MAX; p++)
			agent.pool_seen[core][p] = shared_load(&r->pool[p]);
		for (unsigned p = 0; p < NIC_PORTS_MAX; p++)
			agent.last[core][p] = shared_load(&r->taken[p]);
	}
}

void sflow_configure(void)
{
	if (!agent.ports) {
		skip_samples();
		agent.send_ns = 0; /* nor is a datagram that waited when sampling ended */
	}
	agent.ports = sources(&running.config);
	__atomic_store_n(&dp_get()->sample_rate, agent.ports ? rate_now() : 0, __ATOMIC_RELAXED);
	core_sample_ports(agent.ports);
	if (agent.ports && !agent.port) {
		agent.port = udp_listen_any(refuse);
		agent.started_ns = core_now_ns();
	}
	agent.counters_ns = core_now_ns() + interval_ns();
}

/* --- datagrams --- */

/* The agent's address: our own towards the first collector. False: there is none, and nothing can be sent. */
static bool own_address(struct net_addr *own)
{
	const struct net_addr *to = &running.config.sflow.collector[0].addr;
	if (!net_addr_is_ip4(to))
		return local6_source(to, 0, own);
	const uint32_t four = local_source(net_addr_to_ip4(to));
	*own = net_addr_ip4(four);
	return four != 0;
}

static void send_now(void)
{
	const struct config_sflow *s = &running.config.sflow;
	if (!agent.send_ns)
		return;
	agent.send_ns = 0;
	for (unsigned i = 0; i < s->collectors; i++) {
		const struct udp_message m = {.dst = s->collector[i].addr, .src_port = agent.port,
		                              .dst_port = s->collector[i].port, .data = agent.datagram.bytes,
		                              .data_len = agent.datagram.at};
		const bool sent = udp_send(&m);
		agent.stats.datagrams += sent;
		agent.stats.unsent += !sent;
	}
}

static void begin_datagram(void)
{
	struct net_addr own;
	if (!own_address(&own))
		own = net_addr_ip4(0);
	sflow_begin(&agent.datagram, &own, ++agent.sequence, (uint32_t)((core_now_ns() - agent.started_ns) / 1000000));
	agent.send_ns = core_now_ns() + DELAY_NS;
}

static void put_flow(const struct sflow_flow *f)
{
	if (!agent.send_ns)
		begin_datagram();
	if (!sflow_put_flow(&agent.datagram, f)) {
		send_now();
		begin_datagram();
		(void)sflow_put_flow(&agent.datagram, f);
	}
	agent.stats.samples++;
}

static void put_counters(const struct sflow_counters *c)
{
	if (!agent.send_ns)
		begin_datagram();
	if (!sflow_put_counters(&agent.datagram, c)) {
		send_now();
		begin_datagram();
		(void)sflow_put_counters(&agent.datagram, c);
	}
	agent.stats.counters++;
}

/* --- flow samples --- */

/* The output interface of a next hop. A group is several: the packet's own is not known here. */
static uint32_t output_of(const struct dp_state *v, uint32_t nh)
{
	if (nh == NH_LOCAL)
		return SFLOW_INTERNAL;
	if (nh == NH_NONE)
		return SFLOW_DISCARDED(ICMP4_UNREACH_NET);
	if (dp_is_group(nh) || nh < NH_CONNECTED || nh >= NH_MAX)
		return SFLOW_UNKNOWN;
	return dp_ifindex(v->adj[nh].interface);
}

/* Where a router sends the frame by its present tables: what its data core has decided is not part of a sample. */
static uint32_t output(const struct sample *s)
{
	const struct dp_state *v = dp_get();
	const uint8_t *ip = s->head + ETH_HLEN;
	if (core_app_number() != CORE_APP_router || s->port >= v->ifs || s->kept < ETH_HLEN ||
	    memcmp(s->head, v->interface[s->port].mac, ETH_ALEN) != 0)
		return SFLOW_UNKNOWN;
	const uint16_t type = be16_load(s->head + 2 * ETH_ALEN);
	if (type == ETH_TYPE_IP4 && s->kept >= ETH_HLEN + IP4_HLEN)
		return output_of(v, fib4_lookup(v->fib, be32_load(ip + 16)));
	if (type == ETH_TYPE_IP6 && s->kept >= ETH_HLEN + IP6_HLEN && ip[24] != 0xff &&
	    !(ip[24] == 0xfe && (ip[25] & 0xc0) == 0x80))
		return output_of(v, dp_next_hop6(v, ip + 24));
	return SFLOW_UNKNOWN;
}

static void read_pools(unsigned core)
{
	const struct sample_ring *r = &dp_shared_of(core)->samples;
	for (unsigned p = 0; p < NIC_PORTS_MAX; p++) {
		const uint64_t now = shared_load(&r->pool[p]), was = agent.pool_seen[core][p];
		agent.pool[p] += now < was ? now : now - was; /* a restarted program counts from 0 */
		agent.pool_seen[core][p] = now;
	}
}

/* Counts the samples of the port that were overwritten before this one. A core's numbers begin again with its
 * program. */
static void note_lost(unsigned core, const struct sample *s)
{
	uint64_t *last = &agent.last[core][s->port];
	const uint64_t lost = s->number > *last ? s->number - *last - 1 : 0;
	*last = s->number;
	agent.lost[s->port] += lost;
	agent.stats.lost += lost;
}

static void take(unsigned core, const struct sample *s)
{
	if (s->port >= NIC_PORTS_MAX || !(agent.ports >> s->port & 1))
		return;
	note_lost(core, s);
	const uint32_t index = dp_ifindex(s->port);
	const struct sflow_flow f = {.sequence = ++agent.flow_sequence[s->port], .source = index, .rate = rate_now(),
	                             .pool = (uint32_t)agent.pool[s->port], .drops = (uint32_t)agent.lost[s->port],
	                             .input = index, .output = output(s), .length = s->len, .head = s->head,
	                             .kept = s->kept};
	put_flow(&f);
}

/* Reads the samples of a core; true: there are more. */
static bool read_core(unsigned core)
{
	struct sample s;
	unsigned n = 0;
	read_pools(core);
	while (n < SAMPLES_PER_TURN && sample_next(&dp_shared_of(core)->samples, &agent.at[core], &s)) {
		take(core, &s);
		n++;
	}
	return n == SAMPLES_PER_TURN;
}

/* --- counter samples --- */

static void count_port(unsigned p)
{
	struct nic_counters q;
	struct nic_link link;
	const struct nic_stats *d = core_port_stats(p);
	if (!core_port_link(p, &link))
		link = (struct nic_link){0};
	core_port_counters(p, &q);
	const struct sflow_counters c = {
		.sequence = ++agent.counter_sequence[p], .source = dp_ifindex(p), .speed = link.mbps * 1000000ull,
		.admin_up = !running.config.interface[p].shutdown, .oper_up = link.up,
		.promiscuous = core_app()->promiscuous,
		.in_octets = q.rx_bytes, .in_packets = (uint32_t)q.rx_pkts,
		.in_discards = (uint32_t)(d->rx_missed + d->rx_no_desc),
		.in_errors = (uint32_t)(d->rx_crc + d->rx_length + d->rx_error),
		.out_octets = q.tx_bytes, .out_packets = (uint32_t)q.tx_pkts,
		.out_discards = (uint32_t)(q.tx_dropped + q.tx_flushed), .out_errors = (uint32_t)d->tx_error,
		.fcs_errors = (uint32_t)d->rx_crc, .frame_too_longs = (uint32_t)(d->rx_length + q.rx_oversize),
		.internal_receive_errors = (uint32_t)(d->rx_error + q.rx_bad_desc + q.rx_bad_len),
		.internal_transmit_errors = (uint32_t)(d->tx_error + q.tx_bad_desc)};
	put_counters(&c);
}

uint64_t sflow_timer(void)
{
	const uint64_t now = core_now_ns();
	bool more = false;
	if (!agent.ports || !forwarding.ready || !core_ports_running())
		return UINT64_MAX;
	for (unsigned d = 0; d < self.info->data_cores; d++)
		more |= read_core(self.info->first_data_core + d);
	if (now >= agent.counters_ns) {
		for (unsigned p = 0; p < core_port_count(); p++)
			if (agent.ports >> p & 1)
				count_port(p);
		agent.counters_ns = now + interval_ns();
	}
	if (agent.send_ns && now >= agent.send_ns)
		send_now();
	return more ? now : u64_min(agent.counters_ns, agent.send_ns ? agent.send_ns : UINT64_MAX);
}

/* --- the console --- */

void show_sflow(struct shell *sh)
{
	char addr[FMT_ADDR_MAX];
	const struct config_sflow *s = &running.config.sflow;
	const struct sflow_stats *c = &agent.stats;
	if (!agent.ports) {
		shell_print(sh, "sflow is off: it needs `sflow collector`, and `sflow enable` under an interface\n");
		return;
	}
	shell_print(sh, "sampling-rate %u, polling-interval %u\n", rate_now(), (unsigned)(interval_ns() / SECOND_NS));
	for (unsigned i = 0; i < s->collectors; i++)
		shell_print(sh, "collector %s port %u\n", fmt_addr(addr, s->collector[i].addr.w), s->collector[i].port);
	shell_print(sh, "samples %llu, lost %llu, counters %llu, datagrams %llu, unsent %llu\n", (ull)c->samples,
	            (ull)c->lost, (ull)c->counters, (ull)c->datagrams, (ull)c->unsent);
	for (unsigned p = 0; p < core_port_count(); p++)
		if (agent.ports >> p & 1)
			shell_print(sh, "eth%u ifindex %u pool %llu samples %u\n", p, dp_ifindex(p), (ull)agent.pool[p],
			            agent.flow_sequence[p]);
}
