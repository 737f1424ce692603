/*
 * Packet filters (net/acl/acl.h): `in` between the check of a packet and its look-up, `out` when it
 * is known by which port it leaves.
 *
 *     in    every packet that ip4_check or ip6_check has passed, those to the machine itself too,
 *           and those of which the options alone are wrong; not ARP, which is no IP
 *     out   every packet that is forwarded, when its way is known and before it is cut up or waits
 *           for a neighbour; not those that the machine sends itself
 *
 * Which lists these are may change at any time; a vector is judged by those that were in force when
 * it came (rx_vector).
 *
 * Each packet is asked about once on either side: the vector path asks about those that it is going
 * to send, the slow way about the others. Should an adjacency change just between, it is asked
 * about again, and counted twice.
 */
#include "apps/router/error.h"
#include "apps/router/filter.h"
#include "apps/router/send.h"
#include "apps/router/verify.h"
#include "dataplane/trace_note.h"
#include "net/ip.h"

/* Counts what the list says of packets, which becomes their rule[]. */
static void ask(const struct dp_filter *f, const uint8_t *const *ip, uint32_t *rule, unsigned n)
{
	uint64_t *count = &dp_counted()->filter[f->counts];
	acl_classify(f->acl, ip, rule, n);
	if (core_traces() && n)
		trace_filter(f, rule[0]);
	for (unsigned i = 0; i < n; i++)
		count[rule[i]]++;
}

/* RFC 1812 5.3.8: a packet with a forged source MUST be discarded silently. The `in` list is asked
 * before sources are verified, so the source of what it denies is looked at here. */
static bool may_tell(const struct pkt *p, bool six, enum counter reason)
{
	unsigned verify = reason == CNT_drop_acl_in ? router_verifies(p->interface, six) : 0;
	return !router.filters->interface[p->interface].silent[six] &&
	       !(verify && router_source_fails(p, verify, six));
}

/* The end of a packet that a list denies. reason: where it is not that its ports cannot be told. */
static void deny(struct pkt *p, const struct dp_filter *f, uint32_t rule, enum counter reason)
{
	bool six = ip_is_ip6(p->data + ETH_HLEN);
	bool tell = may_tell(p, six, reason);
	if (rule == acl_rule_count(f->acl) + ACL_UNDETERMINED)
		reason = CNT_drop_acl_undetermined;
	router_deny(p, reason, tell, six);
}

unsigned router_filter_in(struct pkt *v, uint32_t *beside, unsigned n, const struct dp_filter *f)
{
	static const uint8_t *ip[PKT_VECTOR_MAX];
	static uint32_t rule[PKT_VECTOR_MAX];
	unsigned m = 0;
	for (unsigned i = 0; i < n; i++)
		ip[i] = v[i].data + ETH_HLEN;
	ask(f, ip, rule, n);
	for (unsigned i = 0; i < n; i++) {
		if (!acl_permits(f->acl, rule[i])) {
			deny(&v[i], f, rule[i], CNT_drop_acl_in);
			continue;
		}
		if (beside)
			beside[m] = beside[i];
		v[m++] = v[i];
	}
	return m;
}

/* The same for those of n packets that leave by the port with that list: denied[i] is set. */
static void filter_port(struct pkt *v, const uint32_t *nh, unsigned n, unsigned port,
                        const struct dp_filter *f, bool *denied)
{
	static const uint8_t *ip[PKT_VECTOR_MAX];
	static uint32_t rule[PKT_VECTOR_MAX];
	static uint16_t which[PKT_VECTOR_MAX];
	unsigned m = 0;
	for (unsigned i = 0; i < n; i++) {
		const struct adj *a = &router.dp->adj[nh[i]];
		if (a->interface != port || !router_sendable(&v[i], a, ip_total_len(v[i].data + ETH_HLEN)))
			continue;
		ip[m] = v[i].data + ETH_HLEN;
		which[m++] = (uint16_t)i;
	}
	ask(f, ip, rule, m);
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
	for (unsigned port = 0; port < router.dp->ifs; port++) {
		const struct dp_filter *f = &router.filters->interface[port].out[six];
		if (f->acl)
			filter_port(v, nh, n, port, f, denied);
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
	ask(f, &ip, &rule, 1);
	if (acl_permits(f->acl, rule))
		return false;
	deny(p, f, rule, reason);
	return true;
}
