/* See host.h. */
#include "dataplane/host.h"

#include "dataplane/ingress.h"
#include "dataplane/output.h"
#include "dataplane/tcp_data.h"
#include "net/ip.h"
#include "net/tcp/wire.h"
#include "net/udp.h"

static const struct dp_state *dp;
static host_udp udp_hook;

/* The TCP segments of a vector. TCP gets them together, so that one ACK answers all those of a
 * connection. */
static struct pkt segments[PKT_VECTOR_MAX];
static unsigned segment_count;

void host_start(host_udp udp)
{
	dp = dp_get();
	udp_hook = udp;
	segment_count = 0;
	tcp_data_start();
}

void host_tables(void)
{
	dp = dp_get();
	output_start();
}

/* Takes a correct packet to one of our addresses from a valid source. The header of `proto` begins
 * at octet `at` of the IP packet. A fragment has a proto that is neither TCP nor UDP. */
static void upper_input(struct pkt *p, uint8_t proto, unsigned at)
{
	const uint8_t *ip = p->data + ETH_HLEN;
	if (proto == IP_PROTO_TCP && tcp_data && !dp_is_management(dp, ip, at)) {
		segments[segment_count++] = *p;
		return;
	}
	if (proto == IP_PROTO_UDP && udp_hook && udp_hook(p, &dp->services))
		return;
	ingress_punt(p);
}

static void local_input(struct pkt *p)
{
	const uint8_t *ip = p->data + ETH_HLEN;
	upper_input(p, ip4_is_fragment(ip) ? IP6_NO_NEXT : ip4_proto(ip), ip4_header_len(ip));
}

static void ip4_input(struct pkt *p, const struct dp_interface *ifp)
{
	enum counter bad = ingress_host4(p, ifp);
	if (bad != CNT_NONE)
		ingress_refuse4(dp, p, bad);
	else
		local_input(p);
}

/* A segment or datagram for a service must come from one host other than us, and go to one host
 * (RFC 4291 2.5.2, 2.7; RFC 9293 3.9.2.3). Neighbour discovery has rules of its own (net/nd.h). */
static enum counter check_ends6(const struct pkt *p)
{
	const uint8_t *ip = p->data + ETH_HLEN;
	const struct net_addr src = ip6_src(ip), dst = ip6_dst(ip);
	if (net_addr_is_any(&src))
		return CNT_drop_ip6_src_martian;
	if (ingress_is_local6(dp, p->interface, &src))
		return CNT_drop_ip6_src_local;
	if (ip6_is_multicast(&dst))
		return CNT_drop_ip6_multicast;
	return eth_is_multicast(p->data) ? CNT_drop_ip6_link_mcast : CNT_NONE;
}

/* Takes a packet to one of our addresses or groups. A packet for the control core, or one whose
 * headers need an ICMP error, goes there. */
static void local6_input(struct pkt *p)
{
	const uint8_t *ip = p->data + ETH_HLEN;
	struct ip6_upper up = {.proto = ip6_next(ip), .at = IP6_HLEN};
	bool plain = up.proto == IP_PROTO_TCP || up.proto == IP_PROTO_UDP;
	if (unlikely(!plain && (ip6_upper(ip, &up) != CNT_NONE || up.fragment)))
		up.proto = IP6_NO_NEXT;
	enum counter bad = CNT_NONE;
	if (up.proto == IP_PROTO_TCP || up.proto == IP_PROTO_UDP)
		bad = check_ends6(p);
	if (bad != CNT_NONE)
		core_drop(p, bad);
	else
		upper_input(p, up.proto, up.at);
}

static void ip6_input(struct pkt *p)
{
	enum counter bad = ip6_check(p->data + ETH_HLEN, p->len - ETH_HLEN);
	if (bad != CNT_NONE)
		core_drop(p, bad);
	else if (!ingress_local6(dp, p))
		core_drop(p, CNT_drop_ip6_not_ours);
	else
		local6_input(p);
}

/*
 * Prefetches for writing the lines of a frame behind its first, which the driver has prefetched: they have the
 * rest of TCP's header, which an answer writes again, and the payload of a short request. The sender's core owns
 * them. Requests of 64 bytes by virtio on 16, 64 and 256 connections: 490, 470 and 450 -> 405, 390 and 365 TSC
 * cycles each (KVM in software). Fetched for reading, the first line has to be asked for again: 492 and 474.
 */
static inline void prefetch_frame(const struct pkt *p)
{
	const uint8_t *line = (const uint8_t *)((uintptr_t)p->data & ~(uintptr_t)(CACHE_LINE - 1));
	prefetch_write(line + CACHE_LINE);
	if (p->data + p->len > line + 2 * CACHE_LINE)
		prefetch_write(line + 2 * CACHE_LINE);
}

void host_vector(struct pkt *v, unsigned n, unsigned port)
{
	const struct dp_interface *ifp = &dp->interface[port];
	for (unsigned i = 0; i < n; i++)
		prefetch_frame(&v[i]);
	for (unsigned i = 0; i < n; i++) {
		core_current_set(&v[i], n);
		enum ingress ingress = ingress_classify(&v[i], ifp);
		if (ingress == INGRESS_IP4)
			ip4_input(&v[i], ifp);
		else if (ingress == INGRESS_IP6)
			ip6_input(&v[i]);
	}
	if (segment_count) {
		core_current_set(&segments[0], segment_count);
		output_turn();
		tcp_data_input(segments, segment_count);
		segment_count = 0;
	}
	core_current.data = 0;
}
