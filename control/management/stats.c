/* See stats.h. */
#include "control/management/stats.h"

#include "control/forwarding/adjacency.h"
#include "control/host/fragments.h"
#include "control/forwarding/neighbour.h"
#include "control/forwarding/tables.h"
#include "dataplane/state.h"
#include "control/host/tcp_control.h"
#include "lib/mem.h"

uint64_t stats_uptime_ns(void)
{
	return clock_ns(&self.clock, clock_tsc() - self.info->tsc_boot);
}

uint64_t stats_waiting(const struct counters *sum)
{
	uint64_t punted = sum->v[CNT_punted], taken = sum->v[CNT_punt_taken];
	return adjacency_waiting + fragments_waiting() + (punted > taken ? punted - taken : 0);
}

const char *stats_core_state(unsigned core)
{
	static const char *const words[] = {[CORE_OFF] = "off", [CORE_RUNNING] = "running", [CORE_DEAD] = "dead",
	                                    [CORE_FAILED] = "failed"};
	const uint32_t state = self.info->status[core].state;
	assert(state < sizeof words / sizeof words[0]);
	return state == CORE_RUNNING && self.info->sleep[core].asleep ? "asleep" : words[state];
}

const char *stats_role(unsigned core)
{
	uint32_t roles = self.info->core[core].roles;
	if (roles != CORE_DATA)
		return roles == CORE_CONTROL ? "control" : "control+data";
	if (self.info->status[core].state == CORE_DEAD || core_pair_of(core) >= 0)
		return "data";
	return core_steered_from(core) >= 0 ? "worker" : "stand-by";
}

void stats_neighbours(const struct neigh_table *table, uint32_t count[STATS_NEIGH_STATES])
{
	memset(count, 0, STATS_NEIGH_STATES * sizeof *count);
	for (uint32_t i = 0; forwarding.ready && i < table->size.neighbours; i++) {
		assert(table->neigh[i].state < STATS_NEIGH_STATES);
		count[table->neigh[i].state]++;
	}
}

bool stats_tcp(unsigned core, enum tcp_state state, uint32_t *n)
{
	*n = 0;
	bool any = core == self.id && tcp_control;
	if (any)
		*n = tcp_count(tcp_control, state);
	if (self.info->core[core].roles & CORE_DATA) {
		/* single words: they need not be of the same moment */
		const struct dp_tcp *tcp = &dp_shared_of(core)->tcp;
		any |= __atomic_load_n(&tcp->capacity, __ATOMIC_RELAXED) > 0;
		*n += __atomic_load_n(&tcp->count[state], __ATOMIC_RELAXED);
	}
	return any;
}

const char *stats_tcp_state(enum tcp_state state)
{
	static const char *const names[DP_TCP_STATES] = {
		[TCP_CLOSED] = "closed",           [TCP_SYN_SENT] = "syn_sent",
		[TCP_SYN_RECEIVED] = "syn_recv",   [TCP_ESTABLISHED] = "estab",
		[TCP_FIN_WAIT_1] = "fin_wait_1",   [TCP_FIN_WAIT_2] = "fin_wait_2",
		[TCP_CLOSE_WAIT] = "close_wait",   [TCP_CLOSING] = "closing",
		[TCP_LAST_ACK] = "last_ack",       [TCP_TIME_WAIT] = "time_wait",
	};
	return names[state];
}

#define QUEUE(field) offsetof(struct nic_counters, field), false
#define DEVICE(field) offsetof(struct nic_stats, field), true

const struct stats_reason stats_reasons[] = {
	{"no_buffer", QUEUE(rx_no_buffer), false, STATS_EVENT},
	{"bad_length", QUEUE(rx_bad_len), false, STATS_ERROR},
	{"bad_descriptor", QUEUE(rx_bad_desc), false, STATS_ERROR},
	{"oversize", QUEUE(rx_oversize), false, STATS_ERROR},
	{"device_missed", DEVICE(rx_missed), false, STATS_DROP},
	{"device_no_descriptor", DEVICE(rx_no_desc), false, STATS_DROP},
	{"device_crc", DEVICE(rx_crc), false, STATS_ERROR},
	{"device_length", DEVICE(rx_length), false, STATS_ERROR},
	{"device_error", DEVICE(rx_error), false, STATS_ERROR},
	{"unread", DEVICE(rx_unread), false, STATS_DROP},
	{"device_filtered", DEVICE(rx_filtered), false, STATS_EVENT},
	{"no_room", QUEUE(tx_dropped), true, STATS_DROP},
	{"port_restart", QUEUE(tx_flushed), true, STATS_DROP},
	{"unsent", DEVICE(tx_unsent), true, STATS_DROP},
	{"bad_descriptor", QUEUE(tx_bad_desc), true, STATS_ERROR},
	{"device_error", DEVICE(tx_error), true, STATS_ERROR},
};
const unsigned stats_reason_count = ARRAY_LEN(stats_reasons);

uint64_t stats_frames(const struct nic_counters *queue, const struct nic_stats *device, bool sent,
                      enum stats_class class)
{
	uint64_t n = 0;
	for (unsigned i = 0; i < ARRAY_LEN(stats_reasons); i++) {
		const struct stats_reason *row = &stats_reasons[i];
		if (row->sent == sent && row->class == class)
			n += stats_word(row->device ? (const void *)device : queue, row->offset);
	}
	return n;
}

/* --- since the last `clear counters` --- */

static struct {
	uint64_t ns; /* 0: never */
	struct counters all;
	struct nic_counters queue[NIC_PORTS_MAX];
	struct nic_stats device[NIC_PORTS_MAX];
	struct nic_counters carried[DP_INTERFACES_MAX];
	uint64_t fates[DP_INTERFACES_MAX][CNT_FATES];
} before;

/* Fates counted before the ports started, under numbers of interfaces that are not ports. */
static uint64_t others[DP_INTERFACES_MAX - NIC_PORTS_MAX][CNT_FATES];

/* Fates of interface n: of a port since boot, of another interface since the ports started. */
static void fates_of(unsigned n, uint64_t count[CNT_FATES])
{
	core_fates(n, count);
	for (unsigned i = 0; n >= NIC_PORTS_MAX && i < CNT_FATES; i++)
		count[i] -= others[n - NIC_PORTS_MAX][i];
}

void stats_clear(void)
{
	before.ns = stats_uptime_ns();
	core_counters(&before.all);
	for (unsigned p = 0; p < core_port_count(); p++) {
		core_port_counters(p, &before.queue[p]);
		before.device[p] = *core_port_stats(p);
	}
	for (unsigned n = NIC_PORTS_MAX; n < dp_get()->ifs; n++)
		stats_carried(n, &before.carried[n]);
	for (unsigned n = 0; n < DP_INTERFACES_MAX; n++)
		fates_of(n, before.fates[n]);
}

void stats_restart(void)
{
	memset(before.carried, 0, sizeof before.carried);
	for (unsigned n = NIC_PORTS_MAX; n < DP_INTERFACES_MAX; n++) {
		core_fates(n, others[n - NIC_PORTS_MAX]);
		memset(before.fates[n], 0, sizeof before.fates[n]);
	}
}

static void add_carried(struct nic_counters *c, const struct dp_carried *from)
{
	c->rx_pkts += stats_word(from, offsetof(struct dp_carried, rx_pkts));
	c->rx_bytes += stats_word(from, offsetof(struct dp_carried, rx_bytes));
	c->tx_pkts += stats_word(from, offsetof(struct dp_carried, tx_pkts));
	c->tx_bytes += stats_word(from, offsetof(struct dp_carried, tx_bytes));
}

static void add_port(struct nic_counters *c, unsigned port)
{
	struct nic_counters of;
	core_port_counters(port, &of);
	c->rx_pkts += of.rx_pkts;
	c->rx_bytes += of.rx_bytes;
	c->tx_pkts += of.tx_pkts;
	c->tx_bytes += of.tx_bytes;
}

void stats_carried(unsigned n, struct nic_counters *c)
{
	memset(c, 0, sizeof *c);
	if (n < NIC_PORTS_MAX) {
		core_port_counters(n, c);
		return;
	}
	if (dp_is_bundle(dp_get(), n)) {
		for (unsigned p = 0; p < core_port_count(); p++)
			if (dp_get()->bundle_interface[p] == n)
				add_port(c, p);
		return;
	}
	add_carried(c, &adjacency_carried[n]);
	for (unsigned d = 0; d < self.info->data_cores; d++)
		add_carried(c, &dp_counted_of(self.info->first_data_core + d)->carried[n]);
}

bool stats_link_is_up(unsigned n)
{
	const struct dp_interface *ifp = &dp_get()->interface[n];
	struct nic_link link;
	if (dp_is_svi(ifp) || ifp->bundle)
		return dp_link_is_up(dp_get(), n);
	return dp_is_loopback(ifp) || (core_port_link(ifp->port, &link) && link.up);
}

uint64_t stats_cleared_ns(void)
{
	return before.ns;
}

/* Subtracts `then` from `now`, both structures of so many bytes of counters. The packets that a
 * dead core was processing are in no counter once it runs again, so a counter may be less for a
 * moment; the difference is then 0. */
static void subtract(void *now, const void *then, size_t bytes)
{
	uint64_t *a = now;
	const uint64_t *b = then;
	for (size_t i = 0; i < bytes / sizeof *a; i++)
		a[i] = a[i] > b[i] ? a[i] - b[i] : 0;
}

void stats_counters(struct counters *c)
{
	core_counters(c);
	subtract(c, &before.all, sizeof *c);
}

void stats_port(unsigned port, struct nic_counters *queue, struct nic_stats *device)
{
	core_port_counters(port, queue);
	*device = *core_port_stats(port);
	subtract(queue, &before.queue[port], sizeof *queue);
	subtract(device, &before.device[port], sizeof *device);
}

void stats_interface(unsigned n, struct nic_counters *queue, struct nic_stats *device)
{
	if (n < NIC_PORTS_MAX) {
		stats_port(n, queue, device);
		return;
	}
	memset(device, 0, sizeof *device);
	stats_carried(n, queue);
	subtract(queue, &before.carried[n], sizeof *queue);
}

/* All fates less those of interfaces. The latter are read first, so that all of them are in the
 * total. Numbers from dp_state.ifs on have no interface, and so no fates since the ports started. */
static void fates_elsewhere(bool cleared, uint64_t count[CNT_FATES])
{
	uint64_t of[CNT_FATES], known[CNT_FATES] = {0};
	struct counters c;
	for (unsigned n = 0; n < dp_get()->ifs; n++) {
		stats_fates(n, cleared, of);
		for (unsigned i = 0; i < CNT_FATES; i++)
			known[i] += of[i];
	}
	if (cleared)
		stats_counters(&c);
	else
		core_counters(&c);
	memcpy(count, c.v, sizeof known);
	subtract(count, known, sizeof known);
}

void stats_fates(unsigned n, bool cleared, uint64_t count[CNT_FATES])
{
	if (n >= DP_INTERFACES_MAX) {
		fates_elsewhere(cleared, count);
		return;
	}
	fates_of(n, count);
	if (cleared)
		subtract(count, before.fates[n], sizeof before.fates[n]);
}

struct stats_packets stats_packets(unsigned n, bool cleared)
{
	struct stats_packets p = {0};
	uint64_t count[CNT_FATES];
	stats_fates(n, cleared, count);
	p.forwarded = count[CNT_forwarded];
	for (unsigned i = CNT_forwarded + 1; i < CNT_FATES; i++)
		*(counter_desc[i].kind == COUNTER_DROP ? &p.dropped : &p.delivered) += count[i];
	return p;
}

bool stats_fate_next(uint32_t i, enum counter_kind kind, struct stats_fate *d)
{
	static uint64_t count[CNT_FATES];
	static unsigned of; /* the interface of count[]: two pages may be in progress */
	const struct dp_state *v = dp_get();
	const unsigned first = kind == COUNTER_DROP ? CNT_DROP_FIRST : 0;
	const unsigned kinds = (kind == COUNTER_DROP ? CNT_FATES : CNT_DROP_FIRST) - first;
	const unsigned row = i / kinds, fate = first + i % kinds;
	const unsigned n = row < v->ifs ? row : DP_INTERFACES_MAX;
	d->count = 0;
	d->zeros = 0;
	d->last = row == v->ifs && i % kinds == kinds - 1;
	if (row > v->ifs)
		return false;
	if (n != DP_INTERFACES_MAX && !dp_has_link(v, n)) {
		d->zeros = kinds - 1 - i % kinds;
		return true;
	}
	if (i % kinds == 0 || of != n)
		stats_fates(of = n, false, count);
	d->count = count[fate];
	while (fate + d->zeros + 2 < first + kinds && count[fate + d->zeros + 1] == 0)
		d->zeros++; /* but for the interface's last fate: it may be the list's */
	d->name = counter_desc[fate].name;
	d->interface[0] = 0;
	if (n != DP_INTERFACES_MAX)
		memcpy(d->interface, dp_name(v, n), DP_NAME_MAX);
	return true;
}
