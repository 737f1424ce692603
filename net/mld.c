/* See mld.h. */
#include "net/mld.h"

#include "lib/assert.h"
#include "lib/mem.h"

#define QUERY_V1_LEN 24 /* also of a version 1 Report and Done */
#define QUERY_V2_LEN 28
#define REPORT_V2_LEN 28 /* with one record without sources */

/* Record types of a version 2 report (RFC 3810 5.2.12). */
enum record {
	IS_EXCLUDE = 2,
	TO_INCLUDE = 3,
	TO_EXCLUDE = 4,
};

void mld_init(struct mld *m, const struct mld_ops *ops, void *ctx)
{
	*m = (struct mld){.ops = ops, .ctx = ctx};
}

static struct mld_group *find(struct mld *m, unsigned interface, const struct net_addr *addr)
{
	for (uint32_t i = 0; i < m->groups; i++)
		if (m->group[i].interface == interface && net_addr_equal(&m->group[i].addr, addr))
			return &m->group[i];
	return NULL;
}

/* RFC 3810 6: the all-nodes group, and groups of less than link scope, are never reported. */
static bool is_silent(const struct net_addr *addr)
{
	const struct net_addr all_nodes = IP6_ALL_NODES;
	return net_addr_equal(addr, &all_nodes) || ip6_multicast_scope(addr) < IP6_SCOPE_LINK;
}

static void change_start(struct mld_group *g, uint64_t at_ns)
{
	g->changes_left = is_silent(&g->addr) ? 0 : MLD_ROBUSTNESS;
	g->change_at = at_ns;
	g->answer = false; /* the report of the change also answers the query */
}

int mld_join(struct mld *m, unsigned interface, const struct net_addr *group, uint64_t at_ns)
{
	assert(interface < MLD_INTERFACES_MAX && ip6_is_multicast(group));
	struct mld_group *g = find(m, interface, group);
	if (g && g->joins++ > 0)
		return E_OK;
	if (!g) {
		if (m->groups == MLD_GROUPS_MAX)
			return E_NOMEM;
		g = &m->group[m->groups++];
		*g = (struct mld_group){
		        .addr = *group, .interface = (uint8_t)interface, .joins = 1};
	}
	change_start(g, at_ns);
	return E_OK;
}

void mld_leave(struct mld *m, unsigned interface, const struct net_addr *group, uint64_t now_ns)
{
	struct mld_group *g = find(m, interface, group);
	if (!g || g->joins == 0 || --g->joins > 0)
		return;
	change_start(g, now_ns);
	if (g->changes_left == 0)
		*g = m->group[--m->groups];
}

bool mld_is_joined(const struct mld *m, unsigned interface, const struct net_addr *group)
{
	for (uint32_t i = 0; i < m->groups; i++) {
		const struct mld_group *g = &m->group[i];
		if (g->interface == interface && g->joins && net_addr_equal(&g->addr, group))
			return true;
	}
	return false;
}

void mld_link_up(struct mld *m, unsigned interface, uint64_t at_ns)
{
	assert(interface < MLD_INTERFACES_MAX);
	m->v1_until[interface] = 0; /* another link may have another querier */
	for (uint32_t i = 0; i < m->groups; i++)
		if (m->group[i].interface == interface)
			change_start(&m->group[i], at_ns);
}

/* --- sent messages --- */

/* Builds the message at icmp, version 2 (RFC 3810 5.2) or 1 (RFC 2710 3). Returns its length. */
static unsigned message_build(uint8_t *icmp, const struct mld_group *g, enum record what, bool v1)
{
	memset(icmp, 0, REPORT_V2_LEN);
	if (v1) {
		icmp[0] = what == TO_INCLUDE ? ICMP6_MLD_DONE : ICMP6_MLD_REPORT;
		net_addr_store(icmp + 8, &g->addr);
		return QUERY_V1_LEN;
	}
	icmp[0] = ICMP6_MLD2_REPORT;
	be16_store(icmp + 6, 1); /* number of records */
	icmp[8] = (uint8_t)what;
	net_addr_store(icmp + 12, &g->addr);
	return REPORT_V2_LEN;
}

static void send(struct mld *m, const struct mld_group *g, enum record what, uint64_t now_ns)
{
	uint8_t frame[MLD_FRAME_MAX], mac[ETH_ALEN], group_mac[ETH_ALEN];
	uint8_t *ip = frame + ETH_HLEN;
	const unsigned icmp_at = IP6_HLEN + IP6_ROUTER_ALERT_HLEN;
	bool v1 = now_ns < m->v1_until[g->interface];
	unsigned interface = g->interface;
	struct ip6_build b = {.next = IP6_HOP_BY_HOP, .hop_limit = 1};
	if (!m->ops->source(m->ctx, interface, &b.src, mac))
		return;
	b.dst = IP6_ALL_MLD2_ROUTERS;
	if (v1)
		b.dst = what == TO_INCLUDE ? IP6_ALL_ROUTERS : g->addr;
	unsigned len = message_build(ip + icmp_at, g, what, v1);
	b.payload_len = (uint16_t)(IP6_ROUTER_ALERT_HLEN + len);
	ip6_header_build(ip, &b);
	ip6_router_alert_build(ip + IP6_HLEN, IP6_ICMP6, IP6_ALERT_MLD);
	icmp6_checksum_set(ip, icmp_at);
	ip6_group_mac(group_mac, &b.dst);
	eth_header_build(frame, group_mac, mac, ETH_TYPE_IP6);
	m->ops->count(m->ctx, CNT_mld_tx_report, 1);
	m->ops->tx(m->ctx, interface, frame, ETH_HLEN + icmp_at + len);
}

/* --- received messages --- */

/* Maximum delay of an answer, in ms: RFC 3810 5.1.3 (a floating-point code), RFC 2710 3.4. */
static uint32_t response_ms(const struct icmp6_msg *msg)
{
	uint32_t code = be16_load(msg->icmp + 4);
	if (msg->icmp_len == QUERY_V1_LEN || code < 32768)
		return code;
	return ((code & 0xfff) | 0x1000) << ((code >> 12 & 7) + 3);
}

static void answer_schedule(struct mld *m, struct mld_group *g, uint32_t ms, uint64_t now_ns)
{
	uint64_t at = now_ns + m->ops->random(m->ctx, ms + 1) * 1000000ull;
	if (is_silent(&g->addr) || g->joins == 0)
		return;
	if (!g->answer || at < g->answer_at) /* RFC 3810 6.2: the earlier answer serves both
	                                        queries */
		g->answer_at = at;
	g->answer = true;
}

static enum counter query_input(struct mld *m, unsigned interface, const struct icmp6_msg *msg,
                                uint64_t now_ns)
{
	struct net_addr group = net_addr_load(msg->icmp + 8);
	/* RFC 3810 8.1: 24 octets are version 1, 28 or more are version 2, others are ignored */
	if (msg->icmp_len != QUERY_V1_LEN && msg->icmp_len < QUERY_V2_LEN)
		return CNT_drop_mld_malformed;
	if (msg->icmp_len == QUERY_V1_LEN)
		m->v1_until[interface] = now_ns + MLD_OLDER_QUERIER_NS;
	uint32_t ms = response_ms(msg);
	for (uint32_t i = 0; i < m->groups; i++) {
		struct mld_group *g = &m->group[i];
		if (g->interface == interface &&
		    (net_addr_is_any(&group) || net_addr_equal(&g->addr, &group)))
			answer_schedule(m, g, ms, now_ns);
	}
	return CNT_delivered_mld;
}

enum counter mld_input(struct mld *m, unsigned interface, const uint8_t *ip,
                       const struct ip6_upper *up, const struct icmp6_msg *msg, uint64_t now_ns)
{
	assert(interface < MLD_INTERFACES_MAX);
	struct net_addr src = ip6_src(ip);
	/* RFC 3810 5.1.14, 6.2: link-local source, hop limit 1, router alert; RFC 6398 5.2 */
	bool from_link = ip6_is_link_local(&src) && ip6_hop_limit(ip) == 1 && up->router_alert &&
	                 up->alert == IP6_ALERT_MLD && !up->fragment;
	if (msg->type == ICMP6_MLD2_REPORT || msg->type == ICMP6_MLD_DONE)
		return CNT_drop_mld_type;
	if (!from_link || msg->icmp_len < QUERY_V1_LEN)
		return CNT_drop_mld_malformed;
	if (msg->type == ICMP6_MLD_QUERY)
		return query_input(m, interface, msg, now_ns);
	/* RFC 2710 4: another listener's report suffices for a version 1 querier */
	struct net_addr group = net_addr_load(msg->icmp + 8);
	struct mld_group *g = find(m, interface, &group);
	if (!g || now_ns >= m->v1_until[interface])
		return CNT_drop_mld_type;
	g->answer = false;
	return CNT_delivered_mld;
}

/* --- time --- */

/* Handles one group that may be due; it may be removed. */
static void group_tick(struct mld *m, uint32_t i, uint64_t now_ns)
{
	struct mld_group *g = &m->group[i];
	if (g->changes_left && g->change_at <= now_ns) {
		const struct mld_group copy = *g;
		uint32_t wait_ms = 1 + m->ops->random(m->ctx, MLD_UNSOLICITED_NS / 1000000);
		g->changes_left--;
		g->answer = false; /* the change report also answers a query */
		g->change_at = now_ns + wait_ms * 1000000ull;
		if (g->joins == 0 && g->changes_left == 0)
			*g = m->group[--m->groups];
		send(m, &copy, copy.joins ? TO_EXCLUDE : TO_INCLUDE, now_ns);
	} else if (g->answer && g->answer_at <= now_ns) {
		g->answer = false;
		send(m, g, IS_EXCLUDE, now_ns);
	}
}

void mld_tick(struct mld *m, uint64_t now_ns)
{
	/* backwards: a removed group's place is taken by one that is already done */
	for (uint32_t i = m->groups; i-- > 0;)
		if (i < m->groups)
			group_tick(m, i, now_ns);
}

uint64_t mld_deadline(const struct mld *m)
{
	uint64_t next = UINT64_MAX;
	for (uint32_t i = 0; i < m->groups; i++) {
		const struct mld_group *g = &m->group[i];
		if (g->changes_left && g->change_at < next)
			next = g->change_at;
		if (g->answer && g->answer_at < next)
			next = g->answer_at;
	}
	return next;
}
