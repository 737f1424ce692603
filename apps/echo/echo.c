/*
 * The echo application: the small services of RFC 862 (echo), 863 (discard) and 864 (character
 * generator) over UDP and TCP, to our own addresses. ARP and everything else that is for us goes to
 * the control core, which answers ping and refuses the rest. Nothing is forwarded.
 *
 * An answer to a datagram goes back by the way that came, in its buffer; what TCP sends is routed
 * (control/out.h). A fragment is for no service: it goes to the control core, which counts it.
 */
#include "apps/echo/echo.h"

#include "apps/echo/services.h"
#include "control/door.h"
#include "control/out.h"
#include "control/plane.h"
#include "control/tcp_core.h"

static const struct view *view;

/* TCP segments of a vector: they go to TCP together, so that those of one connection are
 * acknowledged by one. */
static struct pkt segments[PKT_VECTOR_MAX];
static unsigned segment_count;

static size_t data_bytes(size_t room)
{
	return tcp_core_bytes(room, services_any(&view_get()->services, SERVICE_TCP));
}

static void data_start(void)
{
	view = view_get();
	segment_count = 0;
	chargen_init();
	tcp_core_start();
	tcp_services_start(&view->services);
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

/* A correct packet to one of our addresses, from somebody who may send. */
static void local_input(struct pkt *p)
{
	const uint8_t *ip = p->data + ETH_HLEN;
	bool whole = !ip4_is_fragment(ip);
	if (whole && tcp_core && ip4_proto(ip) == IP4_PROTO_TCP && !view_is_management(view, ip)) {
		segments[segment_count++] = *p;
		return;
	}
	if (whole && ip4_proto(ip) == IP4_PROTO_UDP && udp_service(p, &view->services))
		return;
	pkt_csum_complete(&self.pool, p);
	core_punt(p, PUNT_LOCAL, NH_LOCAL);
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
	else
		local_input(p);
}

static void ip6_input(struct pkt *p)
{
	enum counter bad = ip6_check(p->data + ETH_HLEN, p->len - ETH_HLEN);
	if (bad != CNT_NONE) {
		core_drop(p, bad);
	} else if (!door_ours6(view, p)) {
		core_drop(p, CNT_drop_ip6_not_ours);
	} else {
		pkt_csum_complete(&self.pool, p);
		core_punt(p, door_kind6(p), NH_LOCAL);
	}
}

static void rx_vector(struct pkt *v, unsigned n, unsigned port)
{
	const struct view_port *vp = &view->port[port];
	for (unsigned i = 0; i < n; i++) {
		core_hand_set(&v[i], n);
		enum door door = door_ip(&v[i], vp);
		if (door == DOOR_IP4)
			ip4_input(&v[i], vp);
		else if (door == DOOR_IP6)
			ip6_input(&v[i]);
	}
	if (segment_count) {
		core_hand_set(&segments[0], segment_count);
		out_turn();
		tcp_core_input(segments, segment_count);
		segment_count = 0;
	}
	core_hand.data = 0;
}

const struct app echo_app = {
	.control = &plane_hooks,
	.data_bytes = data_bytes,
	.data_start = data_start,
	.rx_vector = rx_vector,
	.data_timer = tcp_core_timer,
	.data_msg = tcp_core_msg,
	.answers = true,
};
