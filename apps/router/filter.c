/*
 * Packet filters (net/acl/acl.h). `in` lists judge packets between the check and the look-up, `out`
 * lists when the output interface is known.
 *
 *     in    every packet that ip4_check or ip6_check has passed or that has only wrong options,
 *           including packets to the machine itself; not ARP
 *     out   every forwarded packet, after the look-up and before it is fragmented or waits for a
 *           neighbour; not the machine's own packets
 *
 * The lists may change at any time. One vector is judged by the lists that were in use when it
 * arrived (rx_vector).
 *
 * Each list judges a packet once: on the vector path if that is going to send the packet, else on
 * the slow path. If the adjacency changes in between, the `out` list judges and counts the packet
 * twice.
 */
#include "apps/router/error.h"
#include "apps/router/filter.h"
#include "apps/router/send.h"
#include "apps/router/verify.h"
#include "dataplane/filter.h"
#include "net/ip.h"

/* May the sender of a denied packet get an error? RFC 1812 5.3.8: a packet with a forged source
 * MUST be discarded silently. The `in` list is asked before sources are verified, so the source of
 * a packet that it denies is verified here. */
static bool may_tell(const struct pkt *p, bool six, enum counter reason)
{
	unsigned verify = reason == CNT_drop_acl_in ? router_verifies(p->interface, six) : 0;
	return !router.filters->interface[p->interface].silent[six] &&
	       !(verify && router_source_fails(p, verify, six));
}

/* Drops a packet that a list denies. reason: counts the drop, unless the packet's ports cannot be
 * determined. */
static void deny(struct pkt *p, const struct dp_filter *f, uint32_t rule, enum counter reason)
{
	bool six = ip_is_ip6(p->data + ETH_HLEN);
	bool tell = may_tell(p, six, reason);
	router_deny(p, filter_reason(f, rule, reason), tell, six);
}

unsigned router_filter_in(struct pkt *v, uint32_t *beside, unsigned n, const struct dp_filter *f)
{
	static const uint8_t *ip[PKT_VECTOR_MAX];
	static uint32_t rule[PKT_VECTOR_MAX];
	for (unsigned i = 0; i < n; i++)
		ip[i] = v[i].data + ETH_HLEN;
	filter_ask(f, ip, rule, n);
	unsigned m = acl_permits_from(f->acl, rule, n, 0); /* those stay where they are */
	for (unsigned i = m, end; i < n; i = end) {
		deny(&v[i], f, rule[i], CNT_drop_acl_in);
		end = acl_permits_from(f->acl, rule, n, i + 1);
		for (i++; i < end; i++) {
			if (beside)
				beside[m] = beside[i];
			v[m++] = v[i];
		}
	}
	return m;
}

/* Drops those of n packets that f, the `out` list of `interface`, denies, and sets their
 * denied[i]. */
static void filter_interface(struct pkt *v, const uint32_t *nh, unsigned n, unsigned interface,
                             const struct dp_filter *f, bool *denied)
{
	static const uint8_t *ip[PKT_VECTOR_MAX];
	static uint32_t rule[PKT_VECTOR_MAX];
	static uint16_t which[PKT_VECTOR_MAX];
	unsigned m = 0;
	for (unsigned i = 0; i < n; i++) {
		const struct adj *a = &router.dp->adj[nh[i]];
		if (a->interface != interface ||
		    !router_sendable(&v[i], a, ip_total_len(v[i].data + ETH_HLEN)))
			continue;
		ip[m] = v[i].data + ETH_HLEN;
		which[m++] = (uint16_t)i;
	}
	filter_ask(f, ip, rule, m);
	for (unsigned k = 0; k < m; k++) {
		denied[which[k]] = !acl_permits(f->acl, rule[k]);
		if (denied[which[k]])
			deny(&v[which[k]], f, rule[k], CNT_drop_acl_out);
	}
}

unsigned router_filter_out(struct pkt *v, uint32_t *nh, unsigned n, bool six)
{
	bool denied[PKT_VECTOR_MAX] = {false};
	unsigned m = 0;
	for (unsigned i = 0; i < router.dp->ifs; i++) {
		const struct dp_filter *f = &router.filters->interface[i].out[six];
		if (f->acl)
			filter_interface(v, nh, n, i, f, denied);
	}
	for (unsigned i = 0; i < n; i++) {
		if (denied[i])
			continue;
		nh[m] = nh[i];
		v[m++] = v[i];
	}
	return m;
}

bool router_filter_denies(struct pkt *p, const struct dp_filter *f, enum counter reason)
{
	const uint8_t *ip = p->data + ETH_HLEN;
	uint32_t rule;
	filter_ask(f, &ip, &rule, 1);
	if (acl_permits(f->acl, rule))
		return false;
	deny(p, f, rule, reason);
	return true;
}
