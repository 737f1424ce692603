/* See snoop.h. */
#include "apps/switch/snoop.h"

#include "apps/switch/send.h"
#include "net/icmp_limit.h"
#include "net/snoop/message.h"

/* Hosts answer a query within 10 s, so 1000 old hosts behind a port make 100 reports a second for each group of
 * theirs. */
#define SNOOP_RATE 500
#define SNOOP_BURST 500

static struct icmp_limit limits[NIC_PORTS_MAX]; /* of this core */

static bool permitted(unsigned port)
{
	struct icmp_limit *l = &limits[port];
	if (l->interval_ns == 0)
		icmp_limit_init(l, SNOOP_RATE, SNOOP_BURST);
	return icmp_limit_take(l, core_now_ns());
}

/* The ports that may take a packet of that type, in a VLAN that restricts its family. */
static uint32_t allowed(const struct snoop_packet *packet, unsigned vid, uint32_t routers)
{
	const struct switch_shared *s = switching.shared;
	uint32_t ports = __atomic_load_n(&s->unknown_multicast, __ATOMIC_RELAXED);
	if (packet->type == SNOOP_REPORT)
		return routers;
	if (packet->type != SNOOP_DATA)
		return UINT32_MAX;
	(void)snoop_table_find(&s->groups, snoop_hash(&s->groups, vid, &packet->group), &ports);
	return ports | routers;
}

enum counter snoop_route(struct pkt *p, unsigned tag, unsigned vid, unsigned port, struct snoop_way *way)
{
	const unsigned head = ETH_HLEN + tag;
	const struct switch_snoop s = switch_snoop_load(switching.shared, vid);
	struct snoop_packet packet;
	if (s.on == 0)
		return CNT_NONE;
	pkt_csum_complete(&self.pool, p);
	const enum counter bad = snoop_read(p->data + head, p->len - head, be16_load(p->data + head - 2), &packet);
	if (!(s.on >> packet.family & 1))
		return CNT_NONE;
	if (unlikely(bad != CNT_NONE))
		return bad;
	way->tell = packet.type >= SNOOP_QUERY;
	if (way->tell && !permitted(port))
		return CNT_drop_snoop_limit;
	if (s.restricts >> packet.family & 1) {
		way->ports &= allowed(&packet, vid, s.routers[packet.family]);
		if (way->ports == 0)
			way->why = CNT_drop_snoop_no_listener;
	}
	return CNT_NONE;
}

void snoop_tell(struct pkt *p, unsigned tag, unsigned vid, bool own)
{
	struct pkt copy;
	if (own && !send_copy_of(p, &copy))
		return;
	if (tag)
		vlan_pop(own ? &copy : p);
	if (own)
		core_punt_own(&copy, PUNT_APP, vid | PUNT_APP_OWN);
	else
		core_punt(p, PUNT_APP, vid);
}
