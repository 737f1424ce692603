/* See stp_net.h. */
#include "tests/unit/rig/stp_net.h"

#define NODES (NET_BRIDGES_MAX + NET_LANS_MAX)
#define FAR UINT64_MAX

/* --- loops --- */

/* Bridges and LANs are the nodes of a graph, ports that forward are its edges. */
struct sets {
	unsigned parent[NODES];
};

static unsigned find(struct sets *s, unsigned x)
{
	while (s->parent[x] != x)
		x = s->parent[x] = s->parent[s->parent[x]];
	return x;
}

static bool join(struct sets *s, unsigned x, unsigned y)
{
	x = find(s, x);
	y = find(s, y);
	s->parent[x] = y;
	return x != y;
}

/* False: a cycle. */
static bool join_ports(const struct net *n, struct sets *s, bool forwarding_only)
{
	bool tree = true;
	for (unsigned i = 0; i < NODES; i++)
		s->parent[i] = i;
	for (unsigned i = 0; i < n->bridges; i++)
		for (unsigned p = 0; p < STP_PORTS_MAX; p++) {
			const struct net_bridge *b = &n->bridge[i];
			if (b->lan[p] < 0 || !n->lan[b->lan[p]].up)
				continue;
			if (!forwarding_only || b->state[p] == STP_FORWARDING)
				tree &= join(s, i, NET_BRIDGES_MAX + (unsigned)b->lan[p]);
		}
	return tree;
}

static void watch(struct net *n)
{
	struct sets s;
	const bool looped = !join_ports(n, &s, true);
	if (looped && !n->looped) {
		n->loops++;
		n->loop_since_ns = n->now_ns;
	}
	n->looped = looped;
	if (looped && n->now_ns - n->loop_since_ns > n->loop_longest_ns)
		n->loop_longest_ns = n->now_ns - n->loop_since_ns;
}

/* --- frames --- */

struct hand {
	struct net *net;
	unsigned bridge;
};

static struct hand hands[NET_BRIDGES_MAX];

static uint64_t delay_of(const struct net *n)
{
	const uint64_t span = n->delay_max_ns - n->delay_min_ns;
	return n->delay_min_ns + (span ? random64() % span : 0);
}

static void fly(struct net *n, unsigned lan, unsigned end, uint64_t at_ns, const uint8_t *frame)
{
	const struct lan *l = &n->lan[lan];
	if (l->deaf[end] || random_below(100) < n->loss_percent)
		return;
	assert_true(n->flights < FLIGHT_MAX);
	struct flight *f = &n->flight[n->flights++];
	f->at_ns = at_ns;
	f->serial = n->serial++;
	f->bridge = l->bridge[end];
	f->port = l->port[end];
	f->lan = lan;
	f->epoch = n->epoch[lan];
	memcpy(f->frame, frame, STP_FRAME_LEN);
}

static void on_send(void *ctx, unsigned port, const uint8_t *frame)
{
	const struct hand *h = ctx;
	struct net *n = h->net;
	struct net_bridge *b = &n->bridge[h->bridge];
	b->sent[port]++;
	if (b->lan[port] < 0 || !n->lan[b->lan[port]].up)
		return;
	struct lan *l = &n->lan[b->lan[port]];
	unsigned from = 0;
	while (l->bridge[from] != h->bridge || l->port[from] != port)
		from++;
	uint64_t at = n->now_ns + delay_of(n);
	if (at <= l->last_ns[from])
		at = l->last_ns[from] + 1;
	l->last_ns[from] = at;
	for (unsigned i = 0; i < l->ports; i++)
		if (i != from)
			fly(n, (unsigned)b->lan[port], i, at, frame);
}

static void on_state(void *ctx, unsigned port, enum stp_state state)
{
	const struct hand *h = ctx;
	struct net_bridge *b = &h->net->bridge[h->bridge];
	b->changes += b->state[port] != state;
	b->state[port] = state;
	watch(h->net); /* also between two ports of one call */
}

static void on_flush(void *ctx, unsigned port)
{
	const struct hand *h = ctx;
	h->net->bridge[h->bridge].flushed[port]++;
}

static void on_guarded(void *ctx, unsigned port)
{
	const struct hand *h = ctx;
	h->net->bridge[h->bridge].guarded[port]++;
}

static const struct stp_ops ops = {on_send, on_state, on_flush, on_guarded};

/* --- building --- */

void net_init(struct net *n)
{
	memset(n, 0, sizeof *n);
	n->delay_min_ns = 10000;
	n->delay_max_ns = 100000;
	n->now_ns = 5 * SECOND;
}

unsigned net_bridge_add(struct net *n, const struct stp_params *params)
{
	const unsigned i = n->bridges++;
	assert_true(i < NET_BRIDGES_MAX);
	const uint8_t mac[ETH_ALEN] = {2, 0, 0, 0, 0, (uint8_t)(i + 1)};
	struct net_bridge *b = &n->bridge[i];
	for (unsigned p = 0; p < STP_PORTS_MAX; p++)
		b->lan[p] = -1;
	hands[i] = (struct hand){n, i};
	assert_int_equal(stp_init(&b->stp, params, mac, STP_PORTS_MAX, &ops, &hands[i], n->now_ns), 0);
	b->changes = 0;
	return i;
}

static void plug(struct net *n, unsigned lan, unsigned bridge, bool full_duplex)
{
	struct net_bridge *b = &n->bridge[bridge];
	struct lan *l = &n->lan[lan];
	unsigned port = 0;
	while (b->lan[port] >= 0)
		port++;
	assert_true(port < STP_PORTS_MAX && l->ports < LAN_PORTS_MAX);
	b->lan[port] = (int)lan;
	l->bridge[l->ports] = bridge;
	l->port[l->ports++] = port;
	stp_port_link(&b->stp, port, l->up, 1000, full_duplex, n->now_ns);
}

unsigned net_hub(struct net *n)
{
	assert_true(n->lans < NET_LANS_MAX);
	n->lan[n->lans].up = true;
	return n->lans++;
}

void net_hub_join(struct net *n, unsigned lan, unsigned bridge)
{
	plug(n, lan, bridge, false);
}

unsigned net_cable(struct net *n, unsigned a, unsigned b)
{
	const unsigned lan = net_hub(n);
	n->lan[lan].up = false;
	plug(n, lan, a, true);
	plug(n, lan, b, true);
	net_lan_up(n, lan, true);
	return lan;
}

void net_lan_up(struct net *n, unsigned lan, bool up)
{
	struct lan *l = &n->lan[lan];
	l->up = up;
	n->epoch[lan]++;
	for (unsigned i = 0; i < l->ports; i++) {
		struct stp *b = &n->bridge[l->bridge[i]].stp;
		const struct stp_port *p = &b->port[l->port[i]];
		stp_port_link(b, l->port[i], up, 1000, p->fullDuplex || l->ports == 2, n->now_ns);
	}
	watch(n);
}

/* --- events --- */

static void deliver(struct net *n, unsigned which)
{
	const struct flight f = n->flight[which];
	struct net_bridge *b = &n->bridge[f.bridge];
	n->flight[which] = n->flight[--n->flights];
	if (!n->lan[f.lan].up || n->epoch[f.lan] != f.epoch)
		return;
	if (b->old && f.frame[20] == STP_BPDU_RST)
		return;
	uint8_t *exact = malloc(STP_FRAME_LEN);
	memcpy(exact, f.frame, STP_FRAME_LEN);
	stp_input(&b->stp, f.port, exact, STP_FRAME_LEN, n->now_ns);
	free(exact);
}

/* The next frame that may arrive; -1: none. */
static int next_flight(const struct net *n)
{
	int best = -1;
	for (unsigned i = 0; i < n->flights; i++) {
		const struct flight *f = &n->flight[i], *g = &n->flight[best < 0 ? 0 : best];
		if (n->bridge[f->bridge].frozen)
			continue;
		if (best < 0 || f->at_ns < g->at_ns || (f->at_ns == g->at_ns && f->serial < g->serial))
			best = (int)i;
	}
	return best;
}

static uint64_t next_tick(const struct net *n, unsigned *bridge)
{
	uint64_t at = FAR;
	for (unsigned i = 0; i < n->bridges; i++)
		if (!n->bridge[i].frozen && stp_deadline(&n->bridge[i].stp) < at) {
			at = stp_deadline(&n->bridge[i].stp);
			*bridge = i;
		}
	return at;
}

/* False: nothing happens before that time. */
static bool step(struct net *n, uint64_t until_ns)
{
	unsigned bridge = 0;
	const uint64_t tick_ns = next_tick(n, &bridge);
	const int f = next_flight(n);
	const uint64_t flight_ns = f < 0 ? FAR : n->flight[f].at_ns;
	const uint64_t at = tick_ns < flight_ns ? tick_ns : flight_ns;
	if (at > until_ns)
		return false;
	n->now_ns = at > n->now_ns ? at : n->now_ns; /* what waited for a frozen bridge is late */
	if (flight_ns <= tick_ns)
		deliver(n, (unsigned)f);
	else
		stp_tick(&n->bridge[bridge].stp, n->now_ns);
	watch(n);
	return true;
}

void net_run_until(struct net *n, uint64_t at_ns)
{
	while (step(n, at_ns))
		;
	n->now_ns = at_ns;
	watch(n);
}

void net_run(struct net *n, uint64_t ns)
{
	net_run_until(n, n->now_ns + ns);
}

uint64_t net_settle(struct net *n, uint64_t limit_ns)
{
	const uint64_t start = n->now_ns;
	const char *why;
	while (!net_is_tree(n, &why))
		if (!step(n, start + limit_ns))
			return FAR;
	return n->now_ns - start;
}

/* --- the oracle --- */

static bool is_up(const struct net *n, unsigned bridge, unsigned port)
{
	const struct net_bridge *b = &n->bridge[bridge];
	return b->lan[port] >= 0 && n->lan[b->lan[port]].up;
}

/* Least costs from the root, by repeated relaxation. */
static void costs_from(const struct net *n, unsigned root, uint64_t *cost)
{
	for (unsigned i = 0; i < n->bridges; i++)
		cost[i] = i == root ? 0 : FAR;
	for (bool better = true; better;) {
		better = false;
		for (unsigned l = 0; l < n->lans; l++)
			for (unsigned x = 0; n->lan[l].up && x < n->lan[l].ports; x++)
				for (unsigned y = 0; y < n->lan[l].ports; y++) {
					const unsigned from = n->lan[l].bridge[x], to = n->lan[l].bridge[y];
					const uint64_t by =
						n->bridge[to].stp.port[n->lan[l].port[y]].PortPathCost;
					if (cost[from] != FAR && cost[from] + by < cost[to]) {
						cost[to] = cost[from] + by;
						better = true;
					}
				}
	}
}

static const char *judge_bridge(const struct net *n, struct sets *s, unsigned i)
{
	uint64_t cost[NET_BRIDGES_MAX];
	unsigned root = i;
	for (unsigned k = 0; k < n->bridges; k++)
		if (find(s, k) == find(s, i) &&
		    n->bridge[k].stp.BridgeIdentifier < n->bridge[root].stp.BridgeIdentifier)
			root = k;
	struct stp_bridge_status status;
	stp_bridge_status(&n->bridge[i].stp, &status);
	costs_from(n, root, cost);
	if (status.root_id != n->bridge[root].stp.BridgeIdentifier)
		return "a bridge has another root";
	if (status.root_path_cost != cost[i])
		return "a bridge has another path cost";
	if ((status.root_port < 0) != (root == i))
		return "the root has a root port, or another bridge has none";
	return NULL;
}

static const char *judge_lan(const struct net *n, unsigned l)
{
	unsigned designated = 0;
	for (unsigned i = 0; i < n->lan[l].ports; i++) {
		struct stp_port_status status;
		stp_port_status(&n->bridge[n->lan[l].bridge[i]].stp, n->lan[l].port[i], &status);
		designated += status.role == STP_ROLE_DESIGNATED;
		const bool forwards = status.role == STP_ROLE_DESIGNATED || status.role == STP_ROLE_ROOT;
		if (forwards != (status.state == STP_FORWARDING))
			return "a port does not have the state of its role";
	}
	return designated == 1 ? NULL : "a LAN has no designated port, or several";
}

bool net_is_tree(const struct net *n, const char **why)
{
	struct sets all, forwarding;
	join_ports(n, &all, false);
	if (!join_ports(n, &forwarding, true)) {
		*why = "a loop";
		return false;
	}
	for (unsigned i = 0; i < n->bridges; i++)
		if ((*why = judge_bridge(n, &all, i)))
			return false;
	for (unsigned l = 0; l < n->lans; l++)
		if (n->lan[l].up && n->lan[l].ports && (*why = judge_lan(n, l)))
			return false;
	for (unsigned i = 0; i < n->bridges; i++)
		for (unsigned p = 0; p < STP_PORTS_MAX; p++)
			if (is_up(n, i, p) &&
			    find(&forwarding, find(&all, i)) != find(&forwarding, i)) {
				*why = "a bridge is not reached";
				return false;
			}
	return true;
}

void net_assert_tree(const struct net *n)
{
	const char *why = "";
	if (!net_is_tree(n, &why))
		fail_msg("at %llu ms: %s", (unsigned long long)(n->now_ns / MS), why);
}
