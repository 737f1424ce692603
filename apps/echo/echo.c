/*
 * UDP echo (RFC 862): a datagram to one of our addresses and echo ports goes back by the way it
 * came, in the buffer it came in. ARP and everything else that is for us goes to the control
 * core, which answers ping and refuses the rest. Nothing is forwarded.
 *
 * A fragment is not echoed: it goes to the control core, which counts it.
 */
#include "apps/echo/echo.h"

#include "control/door.h"
#include "control/plane.h"
#include "control/view.h"
#include "net/ip4.h"
#include "net/udp.h"

static const struct view *view;

static void data_start(void)
{
	view = view_get();
}

static bool is_ours(const struct view_port *port, uint32_t addr)
{
	for (unsigned a = 0; a < port->addresses; a++)
		if (port->addr[a] == addr)
			return true;
	return false;
}

/* RFC 1122 3.2.1.3: neither we nor the broadcast of a subnet of ours can be who asks. */
static enum counter check_source(const struct view_port *port, uint32_t src)
{
	if (is_ours(port, src))
		return CNT_drop_ip4_src_local;
	for (unsigned a = 0; a < port->addresses; a++)
		if (ip4_subnet_broadcast(port->addr[a], port->plen[a]) == src)
			return CNT_drop_ip4_src_martian;
	return CNT_NONE;
}

static bool is_echo_port(uint16_t udp_port)
{
	for (unsigned i = 0; i < view->echo_ports; i++)
		if (view->echo_port[i] == udp_port)
			return true;
	return false;
}

/* Answers a datagram for an echo port; false when the packet is something else, and unchanged. */
static bool echo(struct pkt *p)
{
	uint8_t *ip = p->data + ETH_HLEN, mac[ETH_ALEN];
	struct udp_datagram d;
	if (ip4_proto(ip) != IP4_PROTO_UDP || ip4_is_fragment(ip))
		return false;
	enum counter bad = udp_check(ip, p->len - ETH_HLEN,
	                             p->flags & (PKT_CSUM_OK | PKT_CSUM_PARTIAL), &d);
	if (bad == CNT_NONE && !is_echo_port(d.dst_port))
		return false;
	/* Two echo servers that talk to each other never stop: refuse a source port of ours. */
	if (bad == CNT_NONE && is_echo_port(d.src_port))
		bad = CNT_drop_udp_loop;
	if (bad != CNT_NONE) {
		core_drop(p, bad);
		return true;
	}
	udp_echo_make(ip);
	eth_copy(mac, p->data);
	eth_copy(p->data, p->data + ETH_ALEN);
	eth_copy(p->data + ETH_ALEN, mac);
	count(CNT_delivered_udp);
	count(CNT_udp_tx);
	p->flags |= PKT_OWN; /* the request has been delivered; this is our answer */
	core_tx(p->port, p);
	return true;
}

static void ip4_input(struct pkt *p, const struct view_port *port)
{
	const uint8_t *ip = p->data + ETH_HLEN;
	enum counter bad = ip4_check(ip, p->len - ETH_HLEN);
	if (bad != CNT_NONE)
		core_drop(p, bad);
	else if (eth_is_multicast(p->data))
		core_drop(p, ip4_is_multicast(ip4_dst(ip)) ? CNT_drop_ip4_multicast
		                                      : CNT_drop_ip4_link_bcast);
	else if (!is_ours(port, ip4_dst(ip)))
		core_drop(p, CNT_drop_ip4_not_ours);
	else if ((bad = check_source(port, ip4_src(ip))) != CNT_NONE)
		core_drop(p, bad);
	else if (!echo(p)) {
		pkt_csum_complete(&self.pool, p);
		core_punt(p, PUNT_LOCAL, NH_LOCAL);
	}
}

static void rx_vector(struct pkt *v, unsigned n, unsigned port)
{
	const struct view_port *vp = &view->port[port];
	for (unsigned i = 0; i < n; i++) {
		core_hand_set(&v[i], n);
		if (door_ip4(&v[i], vp))
			ip4_input(&v[i], vp);
	}
	core_hand.data = 0;
}

const struct app echo_app = {
	.control = &plane_hooks,
	.data_start = data_start,
	.rx_vector = rx_vector,
};
