/* Received messages of neighbour discovery, and their effect on neighbours (RFC 4861 7.2); see
 * nd.h. */
#include "lib/assert.h"
#include "net/nd_inside.h"

/* One received message. */
struct rx {
	unsigned interface;
	const uint8_t *ip;
	const uint8_t *eth_src;
	const uint8_t *icmp;
	struct net_addr src, dst, target;
	struct nd_options options;
	uint64_t now_ns;
};

/*
 * Index of the neighbour with that address, which has announced itself, or an error. An entry is
 * made for an address that can be on the link: RFC 4861 7.2.3 and RFC 9131 4.1 say SHOULD. In a
 * full table it evicts another neighbour, at a limited rate, so that forged senders cannot churn
 * the table (RFC 6583). A neighbour without an entry is resolved when a packet for it comes.
 */
static int learn(struct nd *nd, unsigned interface, const struct net_addr *addr, uint64_t now_ns)
{
	int i = nd_neigh_find(nd, interface, addr);
	if (i >= 0 || !nd_is_on_link(nd, interface, addr))
		return i;
	if (nd->table.free.head != NEIGH_NIL || icmp_limit_take(&nd->swaps, now_ns))
		return nd_neigh_get(nd, interface, addr);
	nd->ops->count(nd->ctx, CNT_nd_limited, 1);
	return E_NOMEM;
}

/* Notes the MAC of addr from a message other than an advertisement (RFC 4861 7.2.3); a known
 * neighbour changes only if the MAC differs. Returns the index or an error. */
static int mac_heard(struct nd *nd, unsigned interface, const struct net_addr *addr,
                     const uint8_t *mac, uint64_t now_ns)
{
	int i = learn(nd, interface, addr, now_ns);
	if (i < 0)
		return i;
	const struct neigh *n = &nd->table.neigh[i];
	if (n->state != ND_STATIC && !(nd_neigh_is_cached(n) && eth_equal(n->mac, mac)))
		nd_neigh_unconfirmed(nd, (uint32_t)i, mac, now_ns);
	return i;
}

void nd_learn(struct nd *nd, unsigned interface, const struct net_addr *addr, const uint8_t *mac,
              bool router, uint64_t now_ns)
{
	assert(interface < ND_INTERFACES_MAX);
	int i = mac && eth_is_station(mac) ? mac_heard(nd, interface, addr, mac, now_ns)
	                                   : nd_neigh_find(nd, interface, addr);
	if (i >= 0 && nd->table.neigh[i].state != ND_FREE)
		nd_neigh_set_router(nd, (uint32_t)i, router);
}

/* Another station uses an address of ours. It is only counted: a router cannot give the address up
 * (RFC 4862 5.4.4 leaves that to the operator). */
static enum counter conflict(struct nd *nd)
{
	nd->ops->count(nd->ctx, CNT_nd_conflict, 1);
	return CNT_drop_nd_bad_sender;
}

/* RFC 4861 7.2.4: answers a solicitation for an address of ours. */
static void solicit_answer(struct nd *nd, const struct rx *rx, const struct nd_local *l)
{
	uint8_t mac[ETH_ALEN];
	uint8_t override = l->anycast ? 0 : ND_NA_OVERRIDE; /* 7.2.7 */
	const struct nd_local copy = *l;
	if (net_addr_is_any(&rx->src)) {
		if (icmp_limit_take(&nd->adverts, rx->now_ns))
			nd_send_advert(nd, &copy, &IP6_ALL_NODES, NULL, override);
		else
			nd->ops->count(nd->ctx, CNT_nd_limited, 1);
		return;
	}
	/* The destination MAC is the one in the message, else the one we know, else the frame's
	 * source. For the last case the RFC would have us resolve the asker first; we do not, so
	 * that a solicitation cannot make us send another. */
	int i = nd_neigh_find(nd, rx->interface, &rx->src);
	eth_copy(mac, rx->eth_src);
	if (i >= 0 && nd_neigh_is_cached(&nd->table.neigh[i]))
		eth_copy(mac, nd->table.neigh[i].mac);
	if (rx->options.source_mac)
		eth_copy(mac, rx->options.source_mac);
	if (eth_is_station(mac))
		nd_send_advert(nd, &copy, &rx->src, mac, ND_NA_SOLICITED | override);
}

static enum counter solicit_input(struct nd *nd, const struct rx *rx)
{
	bool dad = net_addr_is_any(&rx->src);
	const uint8_t *mac = rx->options.source_mac;
	/* 7.1.1: from the unspecified address only to a solicited-node group, and without MAC */
	if (dad && (!ip6_is_solicited_node(&rx->dst) || mac))
		return CNT_drop_nd_malformed;
	if (mac && !eth_is_station(mac))
		return CNT_drop_nd_bad_sender;
	const struct nd_local *own = dad ? NULL : nd_local_find(nd, rx->interface, &rx->src);
	if (own) /* our own message came back, or another station has our address */
		return mac && own->state == ND_VALID && !own->anycast && !eth_equal(mac, own->mac)
		               ? conflict(nd) : CNT_drop_nd_bad_sender;
	struct nd_local *l = nd_local_find(nd, rx->interface, &rx->target);
	if (l && l->state == ND_TENTATIVE && dad && !l->anycast) {
		nd_local_probed(nd, l, rx->options.nonce, rx->eth_src);
		return CNT_delivered_nd;
	}
	if (!l || l->state != ND_VALID) /* RFC 4862 5.4.3: solicitations for a tentative address are
	                                   not answered */
		return CNT_drop_nd_not_ours;
	if (mac)
		mac_heard(nd, rx->interface, &rx->src, mac, rx->now_ns);
	/* looked up again: the ops may have changed our addresses */
	l = nd_local_find(nd, rx->interface, &rx->target);
	if (l && l->state == ND_VALID)
		solicit_answer(nd, rx, l);
	return CNT_delivered_nd;
}

/* Handles an advertisement for an address of ours (RFC 4862 5.4.4). */
static enum counter advert_of_ours(struct nd *nd, const struct rx *rx, struct nd_local *l)
{
	const uint8_t *mac = rx->options.target_mac;
	if (l->anycast) /* other owners of the anycast address */
		return CNT_drop_nd_unknown;
	if (l->state == ND_TENTATIVE) {
		nd_local_duplicate(nd, l, mac ? mac : rx->eth_src);
		return CNT_delivered_nd;
	}
	bool own_back = eth_equal(mac ? mac : rx->eth_src, l->mac);
	return l->state == ND_DUPLICATE || own_back ? CNT_drop_nd_unknown : conflict(nd);
}

/* RFC 4861 7.2.5 and appendix C, for a neighbour whose MAC we know. */
static void advert_update(struct nd *nd, uint32_t i, const struct rx *rx)
{
	struct neigh *n = &nd->table.neigh[i];
	uint8_t flags = rx->icmp[4];
	uint8_t mac[ETH_ALEN];
	eth_copy(mac, rx->options.target_mac ? rx->options.target_mac : n->mac);
	bool other = !eth_equal(mac, n->mac);
	if (other && !(flags & ND_NA_OVERRIDE)) {
		/* I: the contents are not believed, but reachability is in doubt */
		eth_copy(mac, n->mac);
		if (n->state == ND_REACHABLE)
			nd_neigh_unconfirmed(nd, i, mac, rx->now_ns);
		return;
	}
	nd_neigh_set_router(nd, i, flags & ND_NA_ROUTER);
	if (flags & ND_NA_SOLICITED)
		nd_neigh_confirmed(nd, i, mac, rx->now_ns);
	else if (other)
		nd_neigh_unconfirmed(nd, i, mac, rx->now_ns);
}

/* For a neighbour whose MAC is unknown; 7.2.5: an advertisement without MAC is ignored. */
static enum counter advert_new(struct nd *nd, uint32_t i, const struct rx *rx)
{
	const struct neigh *n = &nd->table.neigh[i];
	uint8_t flags = rx->icmp[4];
	const uint8_t *mac = rx->options.target_mac;
	if (!mac)
		return CNT_drop_nd_unknown;
	nd_neigh_set_router(nd, i, flags & ND_NA_ROUTER);
	/* only a neighbour that was asked can have answered */
	if (n->state == ND_INCOMPLETE && (flags & ND_NA_SOLICITED))
		nd_neigh_confirmed(nd, i, mac, rx->now_ns);
	else
		nd_neigh_unconfirmed(nd, i, mac, rx->now_ns);
	return CNT_delivered_nd;
}

static enum counter advert_input(struct nd *nd, const struct rx *rx)
{
	const uint8_t *mac = rx->options.target_mac;
	/* 7.1.2: an advertisement to all nodes cannot be solicited */
	if (ip6_is_multicast(&rx->dst) && (rx->icmp[4] & ND_NA_SOLICITED))
		return CNT_drop_nd_malformed;
	if (net_addr_is_any(&rx->src) || (mac && !eth_is_station(mac)))
		return CNT_drop_nd_bad_sender;
	struct nd_local *l = nd_local_find(nd, rx->interface, &rx->target);
	if (l)
		return advert_of_ours(nd, rx, l);
	/* RFC 9131 4.1: a router notes hosts that announce themselves before packets for them
	 * come */
	int i = nd->params.router && mac ? learn(nd, rx->interface, &rx->target, rx->now_ns)
	                                 : nd_neigh_find(nd, rx->interface, &rx->target);
	if (i < 0)
		return CNT_drop_nd_unknown;
	const struct neigh *n = &nd->table.neigh[i];
	if (!nd_neigh_is_cached(n))
		return advert_new(nd, (uint32_t)i, rx);
	if (n->state != ND_STATIC)
		advert_update(nd, (uint32_t)i, rx);
	return CNT_delivered_nd;
}

/* Handles one of the three messages with a target. */
static enum counter neighbour_input(struct nd *nd, unsigned interface, const uint8_t *frame,
                                    const struct ip6_upper *up, const struct icmp6_msg *m,
                                    uint64_t now_ns)
{
	const uint8_t *ip = frame + ETH_HLEN;
	struct rx rx = {
		.interface = interface,
		.ip = ip,
		.eth_src = frame + ETH_ALEN,
		.icmp = m->icmp,
		.src = ip6_src(ip),
		.dst = ip6_dst(ip),
		.now_ns = now_ns,
	};
	unsigned fixed = m->type == ICMP6_REDIRECT ? ND_REDIRECT_LEN : ND_NEIGHBOUR_LEN;
	enum counter bad = nd_check(ip, up, m, fixed, &rx.options);
	if (bad != CNT_NONE)
		return bad;
	if (m->type == ICMP6_REDIRECT)
		return CNT_drop_nd_redirect;
	rx.target = net_addr_load(m->icmp + ND_TARGET);
	if (!ip6_is_unicast(&rx.target)) /* 7.1.1, 7.1.2: the target is not a group; other
	                                    non-unicast addresses belong to no station */
		return CNT_drop_nd_malformed;
	return m->type == ICMP6_NEIGHBOUR_SOLICIT ? solicit_input(nd, &rx) : advert_input(nd, &rx);
}

enum counter nd_input(struct nd *nd, unsigned interface, const uint8_t *frame,
                      const struct ip6_upper *up, const struct icmp6_msg *m, uint64_t now_ns)
{
	assert(interface < ND_INTERFACES_MAX);
	switch (m->type) {
	case ICMP6_NEIGHBOUR_SOLICIT:
	case ICMP6_NEIGHBOUR_ADVERT:
	case ICMP6_REDIRECT:
		return neighbour_input(nd, interface, frame, up, m, now_ns);
	case ICMP6_MLD_QUERY:
	case ICMP6_MLD_REPORT:
	case ICMP6_MLD_DONE:
	case ICMP6_MLD2_REPORT:
		return mld_input(&nd->mld, interface, frame + ETH_HLEN, up, m, now_ns);
	default:
		return CNT_drop_icmp6_type;
	}
}
