/* See snooping.h. */
#include "apps/switch/snooping.h"

#include "apps/switch/tables.h"
#include "control/config/running.h"
#include "control/host/punt.h"
#include "control/link/bundle.h"
#include "control/link/link.h"
#include "lib/mem.h"

struct snoop *snooping;
static uint16_t forwarding; /* ports, when the settings were read last */

void snooping_room(void)
{
	if (!snooping)
		snooping = core_private_alloc(sizeof *snooping);
}

/* --- what net/snoop asks and tells --- */

static bool has(const uint64_t *set, unsigned vid) { return set[vid / 64] >> vid % 64 & 1; }

bool snooping_is_on(unsigned vid, enum snoop_family family)
{
	const struct config_snoop *c = &running.config.snoop[family];
	return snooping && running.applied && !c->off && !has(c->vlan_off, vid);
}

/* The address of the machine in that VLAN, as the source of queries. */
static struct net_addr source(unsigned interface, enum snoop_family family)
{
	const struct dp_state *v = dp_get();
	if (interface && family == SNOOP_IP4 && v->interface[interface].addresses)
		return net_addr_ip4(v->interface[interface].addr[0]);
	if (interface && family == SNOOP_IP6 && v->interface6[interface].count)
		return v->interface6[interface].addr[0];
	return NET_ADDR_ANY;
}

static uint16_t static_routers(unsigned vid, enum snoop_family family)
{
	unsigned ports = 0;
	for (unsigned k = 0; k < running.config.mrouter_count; k++) {
		const struct config_mrouter *r = &running.config.mrouter[k];
		if (r->vid == vid && r->family == (unsigned)family)
			ports |= 1u << r->port;
	}
	return (uint16_t)ports;
}

static void on_settings(void *ctx, unsigned vid, enum snoop_family family, struct snoop_settings *out)
{
	const struct config_snoop *c = &running.config.snoop[family];
	const struct switch_vlan vlan = tables.shared->vlan[vid];
	(void)ctx;
	*out = (struct snoop_settings){
		.on = snooping_is_on(vid, family),
		.querier = (c->querier && vlan.interface) || has(c->vlan_querier, vid),
		.fast_leave = has(c->fast_leave, vid),
		.ports = vlan.member & forwarding,
		.routers = static_routers(vid, family),
		.interval_s = c->interval_s ? c->interval_s : SNOOP_INTERVAL_S,
		.src = source(vlan.interface, family),
	};
}

static bool on_group(void *ctx, unsigned vid, const struct net_addr *group, uint16_t ports)
{
	struct snoop_table *t = &tables.shared->groups;
	const uint64_t hash = snoop_hash(t, vid, group);
	(void)ctx;
	if (ports)
		return snoop_table_put(t, hash, ports);
	snoop_table_remove(t, hash);
	return true;
}

static void store(unsigned vid, struct switch_snoop s)
{
	uint64_t word;
	memcpy(&word, &s, sizeof word);
	__atomic_store_n((uint64_t *)(void *)&tables.shared->snoop[vid], word, __ATOMIC_RELAXED);
}

static void on_vlan(void *ctx, unsigned vid, enum snoop_family family, uint16_t routers, bool restricts)
{
	struct switch_snoop s = tables.shared->snoop[vid];
	const unsigned bit = 1u << family;
	(void)ctx;
	s.routers[family] = routers;
	s.restricts = (uint8_t)(restricts ? s.restricts | bit : s.restricts & ~bit);
	store(vid, s);
}

/* Sends a frame without a tag by a port, in the form in which the port sends that VLAN. */
static void send(unsigned port, unsigned vid, const uint8_t *frame, unsigned len)
{
	uint8_t tagged[SNOOP_QUERY_MAX + ETH_TAG_LEN];
	if (tables.shared->vlan[vid].tagged >> port & 1) {
		memcpy(tagged, frame, 2 * ETH_ALEN);
		memcpy(tagged + 2 * ETH_ALEN + ETH_TAG_LEN, frame + 2 * ETH_ALEN, len - 2 * ETH_ALEN);
		eth_tag_build(tagged, vid);
		frame = tagged;
		len += ETH_TAG_LEN;
	}
	count(link_send(bundle_sender(port), frame, len) ? CNT_snoop_tx_query : CNT_originated_drop_tx);
}

static void on_query(void *ctx, unsigned vid, enum snoop_family family, const struct net_addr *group,
                     uint32_t response_ms, uint16_t ports)
{
	uint8_t frame[SNOOP_QUERY_MAX];
	struct snoop_settings set;
	struct snoop_query_build b = {.family = family, .group = *group, .response_ms = response_ms,
	                              .robustness = SNOOP_ROBUSTNESS};
	on_settings(ctx, vid, family, &set);
	b.src = set.src;
	b.interval_s = set.interval_s;
	eth_copy(b.mac, core_port_nic(0)->mac);
	if (tables.shared->vlan[vid].interface)
		eth_copy(b.mac, dp_get()->interface[tables.shared->vlan[vid].interface].mac);
	const unsigned len = snoop_query_write(frame, &b);
	for (unsigned left = ports & set.ports; left; left &= left - 1)
		send((unsigned)__builtin_ctz(left), vid, frame, len);
}

static void on_count(void *ctx, enum counter c)
{
	(void)ctx;
	count(c);
}

static const struct snoop_ops ops = {on_settings, on_group, on_vlan, on_query, on_count};

/* --- frames --- */

static enum counter take(const struct core_msg *m, unsigned vid)
{
	struct snoop_packet p;
	if (!snooping || !tables.shared || m->port >= core_port_count() || m->len < ETH_HLEN || vid < 1 ||
	    vid > SNOOP_VID_MAX)
		return CNT_drop_port_down;
	const unsigned port = dp_get()->logical[m->port]; /* DP_LOGICAL_NONE: in no VLAN */
	const enum counter bad = snoop_read(m->frame + ETH_HLEN, m->len - ETH_HLEN, be16_load(m->frame + 12), &p);
	if (bad != CNT_NONE)
		return bad;
	/* the port may have ceased to forward, or left the VLAN, since */
	if (p.type >= SNOOP_QUERY && (tables.shared->vlan[vid].member & forwarding) >> port & 1)
		snoop_input(snooping, vid, port, &p, core_now_ns());
	return CNT_delivered_snoop;
}

/* A frame that a data core has punted. What it says is untrusted. */
static enum counter input(const struct core_msg *m)
{
	const enum counter fate = take(m, m->arg & ETH_VID_MASK);
	return m->arg & PUNT_APP_OWN ? CNT_NONE : fate;
}

/* --- configuration and ports --- */

/* Tells data cores in which VLANs snooping is on, and net/snoop of VLANs with something configured. */
static void configure(void)
{
	const struct config *c = &running.config;
	uint32_t flood = 0;
	for (unsigned vid = 1; vid <= SNOOP_VID_MAX; vid++) {
		struct switch_snoop s = tables.shared->snoop[vid];
		s.on = 0;
		for (unsigned f = 0; f < SNOOP_FAMILIES; f++) {
			struct snoop_settings set;
			on_settings(NULL, vid, (enum snoop_family)f, &set);
			s.on |= (uint8_t)(set.on << f);
			if (set.on && (set.querier || set.routers))
				snoop_update(snooping, vid, (enum snoop_family)f, core_now_ns());
		}
		s.routers[0] = tables.shared->snoop[vid].routers[0]; /* snoop_update may have changed them */
		s.routers[1] = tables.shared->snoop[vid].routers[1];
		s.restricts = tables.shared->snoop[vid].restricts;
		store(vid, s);
	}
	for (unsigned p = 0; p < core_port_count(); p++)
		flood |= (uint32_t)config_switchport(c, p)->unknown_multicast << p;
	__atomic_store_n(&tables.shared->unknown_multicast, flood, __ATOMIC_RELAXED);
}

void snooping_start(void)
{
	uint64_t key[4];
	forwarding = 0;
	if (!tables.shared || !snooping)
		return;
	core_random(key, sizeof key);
	snoop_table_init(&tables.shared->groups, key);
	snoop_init(snooping, &ops, NULL, key + 2);
	punt_application(input);
	configure();
}

void snooping_changed(void)
{
	if (!tables.shared || !snooping)
		return;
	snoop_ports_changed(snooping, 0, core_now_ns());
	configure();
}

uint64_t snooping_timer(void)
{
	if (!tables.shared || !snooping)
		return UINT64_MAX;
	const uint16_t now_forwarding = switch_ports_load(tables.shared).forwarding;
	const uint64_t now = core_now_ns();
	if (now_forwarding != forwarding) {
		const uint16_t up = now_forwarding & (uint16_t)~forwarding;
		forwarding = now_forwarding;
		snoop_ports_changed(snooping, up, now);
	}
	snoop_tick(snooping, now);
	const uint64_t due = snoop_deadline(snooping);
	return due == SNOOP_NEVER ? UINT64_MAX : core_tsc_after(due > now ? due - now : 0);
}
