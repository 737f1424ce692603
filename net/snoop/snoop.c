/* See snoop.h. */
#include "net/snoop/snoop.h"

#include "lib/assert.h"
#include "lib/mem.h"
#include "lib/number.h"
#include "net/ip4.h"

#define MS_NS 1000000ull
#define S_NS 1000000000ull

void snoop_init(struct snoop *s, const struct snoop_ops *ops, void *ctx, const uint64_t key[2])
{
	memset(s, 0, sizeof *s);
	s->ops = ops;
	s->ctx = ctx;
	s->key = (struct siphash_key){key[0], key[1]};
	s->due = SNOOP_NEVER;
	memset(s->chain, 0xff, sizeof s->chain);
	for (unsigned i = 0; i < SNOOP_GROUPS_MAX; i++)
		s->group[i].next = i + 1 < SNOOP_GROUPS_MAX ? (uint16_t)(i + 1) : SNOOP_NONE;
}

static void arm(struct snoop *s, uint64_t at)
{
	s->due = u64_min(s->due, at);
}

/* --- VLANs --- */

static struct snoop_vlan *find_vlan(struct snoop *s, unsigned vid, enum snoop_family family)
{
	const unsigned number = s->number[family][vid];
	return number ? &s->vlan[number - 1] : NULL;
}

const struct snoop_vlan *snoop_vlan_of(const struct snoop *s, unsigned vid, enum snoop_family family)
{
	const unsigned number = s->number[family][vid];
	return number ? &s->vlan[number - 1] : NULL;
}

static uint64_t membership_ns(uint32_t robustness, uint32_t interval_s, uint32_t response_ms)
{
	return robustness * (interval_s * S_NS) + response_ms * MS_NS; /* RFC 3376 8.4 */
}

/* RFC 3376 8.3: the response time is less than the interval. */
static uint32_t response_ms(const struct snoop_settings *set)
{
	return set->interval_s >= 20 ? SNOOP_RESPONSE_MS : set->interval_s * 500;
}

static void defaults(struct snoop_vlan *v)
{
	v->member_ns = membership_ns(SNOOP_ROBUSTNESS, v->set.interval_s, response_ms(&v->set));
}

/* NULL: snooping is off, or there is no room. */
static struct snoop_vlan *add_vlan(struct snoop *s, unsigned vid, enum snoop_family family)
{
	struct snoop_settings set;
	struct snoop_vlan *v = find_vlan(s, vid, family);
	if (v)
		return v;
	s->ops->settings(s->ctx, vid, family, &set);
	if (!set.on || s->vlans == SNOOP_VLANS_MAX)
		return NULL;
	for (v = s->vlan; v->vid != 0; v++)
		;
	*v = (struct snoop_vlan){.vid = (uint16_t)vid, .family = (uint8_t)family, .set = set, .restrict_at = SNOOP_NEVER};
	defaults(v);
	s->number[family][vid] = (uint16_t)(v - s->vlan + 1);
	s->vlans++;
	return v;
}

static uint16_t routers_of(const struct snoop_vlan *v, uint64_t now)
{
	unsigned ports = v->set.routers;
	for (unsigned p = 0; p < SNOOP_PORTS; p++)
		ports |= (unsigned)(v->router_until[p] > now) << p;
	return (uint16_t)(ports & v->set.ports);
}

/* Tells of routers and restriction, if they are others than before. */
static void tell_vlan(struct snoop *s, struct snoop_vlan *v, uint64_t now)
{
	const uint16_t routers = routers_of(v, now);
	const bool restricts = v->restrict_at <= now && v->full_until <= now;
	if (routers == v->routers && restricts == v->restricts)
		return;
	v->routers = routers;
	v->restricts = restricts;
	s->ops->vlan(s->ctx, v->vid, (enum snoop_family)v->family, routers, restricts);
}

/* --- groups --- */

static unsigned hash_of(const struct snoop *s, unsigned vlan, const struct net_addr *addr)
{
	const uint64_t w[3] = {vlan, (uint64_t)addr->w[0] << 32 | addr->w[1], (uint64_t)addr->w[2] << 32 | addr->w[3]};
	return (unsigned)(siphash13_words(&s->key, w, 3) % SNOOP_HASHES);
}

static struct snoop_group *find_group(struct snoop *s, const struct snoop_vlan *v, const struct net_addr *addr)
{
	const unsigned vlan = (unsigned)(v - s->vlan);
	for (unsigned i = s->chain[hash_of(s, vlan, addr)]; i != SNOOP_NONE; i = s->group[i].next)
		if (s->group[i].vlan == vlan && net_addr_equal(&s->group[i].addr, addr))
			return &s->group[i];
	return NULL;
}

/* A new group, without ports: the caller gives it one. NULL: there is no room. */
static struct snoop_group *add_group(struct snoop *s, struct snoop_vlan *v, const struct net_addr *addr)
{
	const unsigned vlan = (unsigned)(v - s->vlan), i = s->free;
	if (i == SNOOP_NONE)
		return NULL;
	uint16_t *chain = &s->chain[hash_of(s, vlan, addr)];
	struct snoop_group *g = &s->group[i];
	s->free = g->next;
	*g = (struct snoop_group){.addr = *addr, .vlan = (uint16_t)vlan, .next = *chain};
	*chain = (uint16_t)i;
	s->groups++;
	v->groups++;
	return g;
}

static void remove_group(struct snoop *s, struct snoop_group *g)
{
	uint16_t *link = &s->chain[hash_of(s, g->vlan, &g->addr)];
	const uint16_t i = (uint16_t)(g - s->group);
	while (*link != i) {
		assert(*link != SNOOP_NONE);
		link = &s->group[*link].next;
	}
	*link = g->next;
	s->vlan[g->vlan].groups--;
	s->groups--;
	*g = (struct snoop_group){.next = s->free};
	s->free = i;
}

/* Changes the ports of a group. If none is left it is removed. False: there is no room in the caller's table,
 * and the group is removed. */
static bool set_ports(struct snoop *s, struct snoop_group *g, uint16_t ports)
{
	if (ports == g->ports)
		return true;
	const bool told = s->ops->group(s->ctx, s->vlan[g->vlan].vid, &g->addr, ports);
	g->ports = ports;
	g->asked &= ports;
	if (ports == 0 || !told)
		remove_group(s, g);
	return told;
}

/* A report found no room. */
static void refuse(struct snoop *s, struct snoop_vlan *v, uint64_t now)
{
	s->ops->count(s->ctx, CNT_snoop_refused);
	v->full_until = now + v->member_ns;
	arm(s, v->full_until);
}

static void join(struct snoop *s, struct snoop_vlan *v, unsigned port, const struct net_addr *addr, uint64_t now)
{
	const uint16_t bit = (uint16_t)(1u << port);
	struct snoop_group *g = find_group(s, v, addr);
	if (!g)
		g = add_group(s, v, addr);
	if (!g) {
		refuse(s, v, now);
		return;
	}
	g->until[port] = now + v->member_ns;
	g->asked &= (uint16_t)~bit;
	arm(s, g->until[port]);
	if (!set_ports(s, g, g->ports | bit))
		refuse(s, v, now);
}

/* Ends the membership of these ports at that time, if it does not end before. */
static void shorten(struct snoop *s, struct snoop_group *g, uint16_t ports, uint64_t until)
{
	for (unsigned p = 0; p < SNOOP_PORTS; p++)
		if ((g->ports & ports) >> p & 1)
			g->until[p] = u64_min(g->until[p], until);
	arm(s, until);
}

static void leave(struct snoop *s, struct snoop_vlan *v, unsigned port, const struct net_addr *addr, uint64_t now)
{
	const uint16_t bit = (uint16_t)(1u << port);
	struct snoop_group *g = find_group(s, v, addr);
	if (!g || !(g->ports & bit))
		return;
	if (v->set.fast_leave) {
		(void)set_ports(s, g, (uint16_t)(g->ports & ~bit));
	} else if (v->querying && !(g->asked & bit)) { /* RFC 3376 6.4.2: not again while it is being asked */
		g->asked |= bit;
		g->asks = SNOOP_ROBUSTNESS;
		g->ask_at = now;
		shorten(s, g, bit, now + SNOOP_ROBUSTNESS * (SNOOP_LAST_MEMBER_MS * MS_NS));
		arm(s, now);
	}
}

/* --- queriers --- */

static void query_soon(struct snoop *s, struct snoop_vlan *v, uint64_t now)
{
	v->startup = SNOOP_ROBUSTNESS; /* RFC 3376 8.7 */
	v->query_at = now;
	arm(s, now);
}

/* Begins or ends our own queries. */
static void elect(struct snoop *s, struct snoop_vlan *v, uint64_t now)
{
	const bool other = v->querier_until > now;
	const bool can = v->family == SNOOP_IP4 || !net_addr_is_any(&v->set.src);
	const bool querying = v->set.querier && can && !other;
	if (querying && !v->querying) {
		defaults(v);
		query_soon(s, v, now);
		if (v->restrict_at == SNOOP_NEVER)
			v->restrict_at = now + response_ms(&v->set) * MS_NS + S_NS;
	}
	v->querying = querying;
	if (!querying && !other)
		v->restrict_at = SNOOP_NEVER;
	else if (v->restrict_at > now)
		arm(s, v->restrict_at);
}

/* Is address a lower than b? By the octets of the wire (RFC 2236 3, RFC 3810 7.6.2). */
static bool is_lower(const struct net_addr *a, const struct net_addr *b)
{
	return memcmp(a, b, sizeof *a) < 0;
}

static bool is_elected(const struct snoop_vlan *v, const struct net_addr *src, uint64_t now)
{
	if (v->querying)
		return net_addr_is_any(&v->set.src) || is_lower(src, &v->set.src);
	return v->querier_until <= now || !is_lower(&v->querier, src);
}

/* The querier of the VLAN has asked. */
static void follow(struct snoop *s, struct snoop_vlan *v, unsigned port, const struct net_addr *src,
                   const struct snoop_query *q, uint64_t now)
{
	const uint32_t robustness = q->robustness ? q->robustness : SNOOP_ROBUSTNESS;
	const uint32_t interval_s = q->interval_s ? q->interval_s : SNOOP_INTERVAL_S;
	v->querier = *src;
	v->querier_port = (uint8_t)port;
	v->querier_version = (uint8_t)q->version;
	if (net_addr_is_any(&q->group)) {
		v->member_ns = membership_ns(robustness, interval_s, q->response_ms);
		/* RFC 3376 8.5: with half of the response time */
		v->querier_until = now + membership_ns(robustness, interval_s, q->response_ms / 2);
		if (v->restrict_at == SNOOP_NEVER)
			v->restrict_at = now + q->response_ms * MS_NS + S_NS;
	} else if (v->querier_until <= now) { /* it may have asked all before we could hear */
		v->querier_until = now + membership_ns(robustness, interval_s, SNOOP_RESPONSE_MS / 2);
	}
	arm(s, v->querier_until);
	elect(s, v, now);
}

static void see_router(struct snoop *s, struct snoop_vlan *v, unsigned port, uint64_t until)
{
	v->router_until[port] = u64_max(v->router_until[port], until);
	arm(s, v->router_until[port]);
}

static void query_input(struct snoop *s, struct snoop_vlan *v, unsigned port, const struct snoop_packet *p,
                        uint64_t now)
{
	struct snoop_query q;
	struct snoop_group *g;
	if (net_addr_is_any(&p->src))
		return;
	snoop_query_read(p, &q);
	see_router(s, v, port, now + SNOOP_ROUTER_NS);
	if (is_elected(v, &p->src, now)) {
		follow(s, v, port, &p->src, &q, now);
		see_router(s, v, port, v->querier_until);
	}
	if (v->querying || !net_addr_equal(&p->src, &v->querier) || q.suppress || q.sources)
		return;
	g = net_addr_is_any(&q.group) ? NULL : find_group(s, v, &q.group);
	if (g) /* RFC 3376 6.6.1: last member query time */
		shorten(s, g, (uint16_t)~(1u << port), now + SNOOP_ROBUSTNESS * (q.response_ms * MS_NS));
}

/* --- packets --- */

static void report_input(struct snoop *s, struct snoop_vlan *v, unsigned port, const struct snoop_packet *p,
                         uint64_t now)
{
	struct snoop_record r;
	unsigned cursor = 0;
	while (snoop_record_next(p, &cursor, &r)) {
		if (r.change == SNOOP_JOIN)
			join(s, v, port, &r.group, now);
		else if (r.change == SNOOP_LEAVE)
			leave(s, v, port, &r.group, now);
	}
}

void snoop_input(struct snoop *s, unsigned vid, unsigned port, const struct snoop_packet *p, uint64_t now_ns)
{
	assert(vid >= 1 && vid <= SNOOP_VID_MAX && port < SNOOP_PORTS && p->family < SNOOP_FAMILIES);
	struct snoop_vlan *v = add_vlan(s, vid, p->family);
	if (!v)
		return;
	if (p->type == SNOOP_QUERY)
		query_input(s, v, port, p, now_ns);
	else if (p->type == SNOOP_REPORT)
		report_input(s, v, port, p, now_ns);
	else if (p->type == SNOOP_ROUTER)
		see_router(s, v, port, now_ns + SNOOP_ROUTER_NS);
	tell_vlan(s, v, now_ns);
}

/* --- changes --- */

/* Ends what the ports outside of this set know. */
static void keep_ports(struct snoop *s, struct snoop_vlan *v, uint16_t ports)
{
	const unsigned number = (unsigned)(v - s->vlan);
	for (unsigned p = 0; p < SNOOP_PORTS; p++)
		if (!(ports >> p & 1))
			v->router_until[p] = 0;
	for (unsigned i = 0; v->groups && i < SNOOP_GROUPS_MAX; i++) {
		struct snoop_group *g = &s->group[i];
		if (g->ports && g->vlan == number)
			(void)set_ports(s, g, g->ports & ports);
	}
}

static void remove_vlan(struct snoop *s, struct snoop_vlan *v, uint64_t now)
{
	keep_ports(s, v, 0);
	v->set.routers = 0;
	v->restrict_at = SNOOP_NEVER;
	tell_vlan(s, v, now);
	s->number[v->family][v->vid] = 0;
	s->vlans--;
	*v = (struct snoop_vlan){0};
}

static void read_settings(struct snoop *s, struct snoop_vlan *v, uint64_t now)
{
	const uint32_t interval_s = v->set.interval_s;
	s->ops->settings(s->ctx, v->vid, (enum snoop_family)v->family, &v->set);
	if (!v->set.on) {
		remove_vlan(s, v, now);
		return;
	}
	keep_ports(s, v, v->set.ports);
	if (v->querier_until > now && !(v->set.ports >> v->querier_port & 1))
		v->querier_until = 0;
	if (v->querying && v->set.interval_s != interval_s) {
		defaults(v);
		query_soon(s, v, now);
	}
	elect(s, v, now);
	tell_vlan(s, v, now);
}

void snoop_update(struct snoop *s, unsigned vid, enum snoop_family family, uint64_t now_ns)
{
	struct snoop_vlan *v = add_vlan(s, vid, family);
	if (v)
		read_settings(s, v, now_ns);
}

void snoop_ports_changed(struct snoop *s, uint16_t up, uint64_t now_ns)
{
	for (unsigned i = 0; i < SNOOP_VLANS_MAX; i++) {
		struct snoop_vlan *v = &s->vlan[i];
		if (v->vid == 0)
			continue;
		read_settings(s, v, now_ns);
		if (v->vid && v->querying && v->set.ports & up) /* RFC 4541 2.1.1: after a change of the topology */
			query_soon(s, v, now_ns);
	}
}

/* --- time --- */

static void vlan_tick(struct snoop *s, struct snoop_vlan *v, uint64_t now)
{
	static const struct net_addr all = {{0, 0, 0, 0}};
	if (v->querying && v->query_at <= now) {
		const uint64_t interval = v->set.interval_s * S_NS;
		v->query_at = now + (v->startup > 1 ? interval / 4 : interval); /* RFC 3376 8.6 */
		if (v->startup)
			v->startup--;
		s->ops->query(s->ctx, v->vid, (enum snoop_family)v->family, &all, response_ms(&v->set), v->set.ports);
	}
	if (v->querying)
		arm(s, v->query_at);
	for (unsigned p = 0; p < SNOOP_PORTS; p++)
		if (v->router_until[p] > now)
			arm(s, v->router_until[p]);
	if (v->restrict_at > now)
		arm(s, v->restrict_at);
	if (v->querier_until > now)
		arm(s, v->querier_until);
	if (v->full_until > now)
		arm(s, v->full_until);
	tell_vlan(s, v, now);
}

static void group_tick(struct snoop *s, struct snoop_group *g, uint64_t now)
{
	const struct snoop_vlan *v = &s->vlan[g->vlan];
	unsigned ports = 0;
	if (!v->querying)
		g->asked = 0; /* another querier asks now */
	if (g->asked && g->asks && g->ask_at <= now) {
		g->asks--;
		g->ask_at = now + SNOOP_LAST_MEMBER_MS * MS_NS;
		s->ops->query(s->ctx, v->vid, (enum snoop_family)v->family, &g->addr, SNOOP_LAST_MEMBER_MS, g->asked);
	}
	if (g->asked && g->asks)
		arm(s, g->ask_at);
	for (unsigned p = 0; p < SNOOP_PORTS; p++) {
		if (!(g->ports >> p & 1) || g->until[p] <= now)
			continue;
		ports |= 1u << p;
		arm(s, g->until[p]);
	}
	(void)set_ports(s, g, (uint16_t)ports);
}

void snoop_tick(struct snoop *s, uint64_t now_ns)
{
	if (s->due > now_ns)
		return;
	for (unsigned i = 0; i < SNOOP_VLANS_MAX; i++)
		if (s->vlan[i].vid)
			elect(s, &s->vlan[i], now_ns);
	s->due = SNOOP_NEVER; /* now each timer is armed anew */
	for (unsigned i = 0; i < SNOOP_VLANS_MAX; i++)
		if (s->vlan[i].vid)
			vlan_tick(s, &s->vlan[i], now_ns);
	for (unsigned i = 0; s->groups && i < SNOOP_GROUPS_MAX; i++)
		if (s->group[i].ports)
			group_tick(s, &s->group[i], now_ns);
}
