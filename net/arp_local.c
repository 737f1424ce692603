/* Our own addresses in ARP, messages sent from them, and their defence (RFC 5227); see arp.h. */
#include "net/arp_inside.h"

#include "lib/mem.h"
#include "net/ip4.h"

static bool local_is(const struct arp_local *l, unsigned interface, uint32_t ip)
{
	return l->interface == interface && l->ip == ip;
}

struct arp_local *arp_local_find(struct arp *a, unsigned interface, uint32_t ip)
{
	for (uint32_t i = 0; i < a->locals; i++)
		if (local_is(&a->local[i], interface, ip))
			return &a->local[i];
	return NULL;
}

bool arp_local_on_any_interface(const struct arp *a, uint32_t ip)
{
	for (uint32_t i = 0; i < a->locals; i++)
		if (a->local[i].ip == ip)
			return true;
	return false;
}

/* Our address on the interface whose subnet contains ip; NULL: ip is not on that link. */
static const struct arp_local *local_towards(const struct arp *a, unsigned interface, uint32_t ip)
{
	for (uint32_t i = 0; i < a->locals; i++) {
		const struct arp_local *l = &a->local[i];
		if (l->interface == interface && ip4_in_prefix(ip, l->ip, l->plen))
			return l;
	}
	return NULL;
}

const struct arp_local *arp_local_first(const struct arp *a, unsigned interface)
{
	for (uint32_t i = 0; i < a->locals; i++)
		if (a->local[i].interface == interface)
			return &a->local[i];
	return NULL;
}

/* --- sent messages --- */

void arp_send(struct arp *a, const struct arp_local *from, uint16_t op, const uint8_t *dst,
              const uint8_t *tha, uint32_t tpa)
{
	uint8_t frame[ARP_FRAME_LEN];
	struct arp_message m = {
		.htype = BE16(ARP_HTYPE_ETHERNET),
		.ptype = BE16(ETH_TYPE_IP4),
		.hlen = ETH_ALEN,
		.plen = 4,
		.op = be16_make(op),
		.spa = be32_make(from->ip),
		.tpa = be32_make(tpa),
	};
	eth_copy(m.sha, from->mac);
	eth_copy(m.tha, tha);
	eth_header_build(frame, dst, from->mac, ETH_TYPE_ARP);
	memcpy(frame + ETH_HLEN, &m, sizeof m);
	a->ops->count(a->ctx, op == ARP_OP_REQUEST ? CNT_arp_tx_request : CNT_arp_tx_reply, 1);
	a->ops->tx(a->ctx, from->interface, frame, sizeof frame);
}

static const uint8_t mac_broadcast[ETH_ALEN] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
static const uint8_t mac_zero[ETH_ALEN];

/* RFC 5227 2.3: a broadcast request whose sender and target address are ours. */
static void send_announcement(struct arp *a, const struct arp_local *l)
{
	arp_send(a, l, ARP_OP_REQUEST, mac_broadcast, mac_zero, l->ip);
}

bool arp_send_request(struct arp *a, const struct neigh *n)
{
	uint32_t ip = net_addr_to_ip4(&n->addr);
	const struct arp_local *l = local_towards(a, n->interface, ip);
	if (!l)
		l = arp_local_first(a, n->interface);
	if (!l)
		return false;
	/* RFC 1122 2.3.2.1 (2): a known neighbour is polled by unicast */
	bool unicast = n->state == ARP_PROBE;
	arp_send(a, l, ARP_OP_REQUEST, unicast ? n->mac : mac_broadcast, mac_zero, ip);
	return true;
}

static void announce_start(struct arp_local *l)
{
	l->announce_left = ARP_ANNOUNCE_NUM;
	l->announce_at = 0;
}

int arp_add_local(struct arp *a, unsigned interface, uint32_t ip, unsigned plen, const uint8_t *mac)
{
	if (interface > 255 || plen > 32 || ip4_src_is_martian(ip) || !eth_is_station(mac))
		return E_INVAL;
	struct arp_local *l = arp_local_find(a, interface, ip);
	if (!l) {
		if (a->locals == ARP_LOCALS_MAX)
			return E_NOMEM;
		l = &a->local[a->locals++];
		*l = (struct arp_local){.ip = ip, .interface = (uint8_t)interface};
	}
	l->plen = (uint8_t)plen;
	eth_copy(l->mac, mac);
	announce_start(l);
	return E_OK;
}

void arp_clear_local(struct arp *a, unsigned interface)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < a->locals; i++)
		if (a->local[i].interface != interface)
			a->local[kept++] = a->local[i];
	a->locals = kept;
}

void arp_announce(struct arp *a, unsigned interface)
{
	for (uint32_t i = 0; i < a->locals; i++)
		if (a->local[i].interface == interface)
			announce_start(&a->local[i]);
}

bool arp_is_on_link(const struct arp *a, unsigned interface, uint32_t ip)
{
	const struct arp_local *l = local_towards(a, interface, ip);
	return l && !ip4_src_is_martian(ip) && ip4_is_subnet_host(ip, l->plen);
}

void arp_local_conflict(struct arp *a, struct arp_local *l, const uint8_t *mac, uint64_t now_ns)
{
	a->ops->count(a->ctx, CNT_arp_conflict, 1);
	if (l->defended && now_ns - l->defended_at < ARP_DEFEND_INTERVAL_NS)
		return;
	l->defended = true;
	l->defended_at = now_ns;
	if (a->ops->conflict)
		a->ops->conflict(a->ctx, l->interface, l->ip, mac);
	send_announcement(a, l);
}

static bool announcement_is_due(const struct arp_local *l, uint64_t now_ns)
{
	return l->announce_left && l->announce_at <= now_ns;
}

void arp_local_tick(struct arp *a, uint64_t now_ns)
{
	for (uint32_t i = 0; i < a->locals; i++) {
		struct arp_local *l = &a->local[i];
		if (!announcement_is_due(l, now_ns))
			continue;
		l->announce_left--;
		l->announce_at = now_ns + ARP_ANNOUNCE_INTERVAL_NS;
		send_announcement(a, l);
	}
}

uint64_t arp_local_deadline(const struct arp *a)
{
	uint64_t next = UINT64_MAX;
	for (uint32_t i = 0; i < a->locals; i++)
		if (a->local[i].announce_left && a->local[i].announce_at < next)
			next = a->local[i].announce_at;
	return next;
}
