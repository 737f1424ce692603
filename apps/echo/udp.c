/*
 * Echo, discard and character generator over UDP (RFC 862, 863, 864).
 *
 * The source address of a request may be forged, so its answer must be of no use in an attack:
 *
 * 1. No answer is longer than its request. RFC 864 says 0 to 512 bytes, whatever the request; ours
 *    has as many as the request, at most 512.
 * 2. Two servers that answer each other never stop (CERT CA-1996-01). A request from the port of a
 *    service that answers, here or, by its RFC, on the other side, is dropped as drop_udp_loop.
 */
#include "apps/echo/services.h"
#include "lib/mem.h"
#include "net/ip.h"
#include "net/udp.h"

#define CHARGEN_UDP_MAX 512 /* RFC 864 */

/* Turns the datagram in p into its echo. */
static void make_echo(struct pkt *p)
{
	uint8_t *ip = p->data + ETH_HLEN;
	/* the extension headers are removed, which moves the bytes of a partial checksum */
	if (unlikely(ip_is_ip6(ip) && ip6_next(ip) != IP_PROTO_UDP))
		pkt_csum_complete(&self.pool, p);
	unsigned less = (unsigned)(udp_echo_make(ip) - ip);
	if (unlikely(less)) {
		memmove(p->data + less, p->data, ETH_HLEN);
		p->data += less;
		p->len = (uint16_t)eth_pad(p->data, p->len - less);
	}
}

/* Sends p, an answer in the buffer of its request, by the port and to the station that the request
 * came from. The application has no VLANs, so the interface is the port. */
static void send_back(struct pkt *p)
{
	uint8_t mac[ETH_ALEN];
	eth_copy(mac, p->data);
	eth_copy(p->data, p->data + ETH_ALEN);
	eth_copy(p->data + ETH_ALEN, mac);
	if (unlikely(ip_is_ip6(p->data + ETH_HLEN)))
		dp_hop_limit6(dp_get(), p->interface, p->data + ETH_HLEN);
	count(CNT_udp_tx);
	p->flags |= PKT_OWN; /* the request has been delivered; this is our answer */
	core_tx(p->interface, p);
}

/* Each answer begins with the next line of the pattern. */
static void make_characters(struct pkt *p, const struct udp_datagram *d)
{
	static uint32_t line;
	const struct udp_build b = {.src = d->dst,
	                            .dst = d->src,
	                            .src_port = d->dst_port,
	                            .dst_port = d->src_port,
	                            .ttl = IP4_TTL_DEFAULT,
	                            .df = true};
	unsigned n = d->data_len < CHARGEN_UDP_MAX ? d->data_len : CHARGEN_UDP_MAX;
	uint32_t at = line * CHARGEN_LINE;
	if (at + n > CHARGEN_BYTES)
		at = line = 0;
	line++;
	n = udp_packet_build(p->data + ETH_HLEN, p->len - ETH_HLEN, &b, chargen_text() + at, n);
	p->len = (uint16_t)eth_pad(p->data, n + ETH_HLEN);
	p->flags &= (uint8_t)~(PKT_CSUM_PARTIAL | PKT_CSUM_OK);
}

bool udp_service(struct pkt *p, const struct services *services)
{
	uint8_t *ip = p->data + ETH_HLEN;
	struct udp_datagram d;
	enum service service = SERVICES;
	enum counter bad = udp_check(ip, p->len - ETH_HLEN,
	                             p->flags & (PKT_CSUM_OK | PKT_CSUM_PARTIAL), &d);
	if (bad == CNT_NONE) {
		service = service_of(services, SERVICE_UDP, d.dst_port);
		if (service == SERVICES)
			return false;
		if (service != SERVICE_DISCARD && service_answers(services, d.src_port))
			bad = CNT_drop_udp_loop;
	}
	if (bad != CNT_NONE) {
		core_drop(p, bad);
		return true;
	}
	if (service == SERVICE_DISCARD) {
		core_drop(p, CNT_delivered_udp);
		return true;
	}
	if (service == SERVICE_ECHO)
		make_echo(p);
	else
		make_characters(p, &d);
	count_at(p->interface, CNT_delivered_udp);
	send_back(p);
	return true;
}
