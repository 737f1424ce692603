/*
 * Source address verification (RFC 2827, RFC 3704). A source address is likely forged if no route
 * leads to it or, where an interface requires that, none by this interface.
 *
 *     any    "loose" (RFC 3704 2.4): there is a route to the source
 *     rx     "strict" (2.2): the route to the source leaves by the input interface
 *
 * A default route counts as a route. A route to null0 does not, so a source can be blocked by such
 * a route (RFC 5635 4). Our own addresses and broadcast addresses are no valid sources either.
 *
 * Every packet that the filter of its input interface permits is verified, including packets to the
 * machine itself. Exempt are IPv6 packets from link-local addresses, which are unique only on their
 * link, and from the unspecified address: neighbour discovery has its own rules for them, and
 * routers do not forward them. A drop causes no ICMP error, because the source is most likely not
 * the sender.
 */
#include "apps/router/verify.h"
#include "dataplane/trace_note.h"
#include "net/ip4.h"
#include "net/ip6.h"

/* Is one member of group nh good? Any may lead back, because other routers choose the path to
 * us. */
static bool is_good_member(uint32_t nh, unsigned interface, unsigned verify)
{
	const struct dp_state *v = router.dp;
	const uint16_t *member = v->group[nh - NH_GROUP].member;
	for (unsigned i = 0; i < ECMP_MEMBERS_MAX; i++) {
		const uint32_t hop = __atomic_load_n(&member[i], __ATOMIC_RELAXED);
		if (hop == NH_NONE)
			break; /* behind the last */
		int back = dp_interface_of(v, hop);
		if (back == (int)interface || (back >= 0 && verify == VERIFY_ANY))
			return true;
	}
	return false;
}

/* nh: the next hop back to the source. */
static bool is_good(uint32_t nh, unsigned interface, unsigned verify)
{
	if (unlikely(dp_is_group(nh)))
		return is_good_member(nh, interface, verify);
	int back = dp_interface_of(router.dp, nh);
	return back == (int)interface || (back >= 0 && verify == VERIFY_ANY);
}

static uint32_t way_back(const uint8_t *ip, bool six)
{
	if (!six)
		return fib4_lookup(router.dp->fib, ip4_src(ip));
	const uint8_t *src = ip + offsetof(struct ip6_header, src);
	return dp_host6(router.dp, fib6_lookup(router.dp->fib6, src), src);
}

bool router_source_fails(const struct pkt *p, unsigned verify, bool six)
{
	const uint8_t *ip = p->data + ETH_HLEN;
	if (six) {
		const struct net_addr src = ip6_src(ip);
		if (ip6_is_link_local(&src) || net_addr_is_any(&src))
			return false;
	}
	uint32_t nh = way_back(ip, six);
	if (core_traces())
		trace_source(nh);
	return !is_good(nh, p->interface, verify);
}

bool router_forged(struct pkt *p, unsigned verify, bool six)
{
	if (!router_source_fails(p, verify, six))
		return false;
	core_drop(p, six ? CNT_drop_ip6_urpf : CNT_drop_ip4_urpf);
	return true;
}

/* The next hops back to n sources of the vector path, none of which is link-local. */
static void ways_back(const struct pkt *v, uint32_t *nh, unsigned n, bool six)
{
	static uint32_t src[PKT_VECTOR_MAX];
	static const uint8_t *src6[PKT_VECTOR_MAX];
	for (unsigned i = 0; i < n; i++) {
		const uint8_t *ip = v[i].data + ETH_HLEN;
		if (six)
			src6[i] = ip + offsetof(struct ip6_header, src);
		else
			src[i] = ip4_src(ip);
	}
	if (!six) {
		fib4_lookup_batch(router.dp->fib, src, nh, n);
		return;
	}
	fib6_lookup_batch(router.dp->fib6, src6, nh, n);
	for (unsigned i = 0; i < n; i++)
		nh[i] = dp_host6(router.dp, nh[i], src6[i]);
}

unsigned router_verify(struct pkt *v, uint32_t *beside, unsigned n, unsigned verify, bool six)
{
	static uint32_t nh[PKT_VECTOR_MAX];
	unsigned m = 0;
	ways_back(v, nh, n, six);
	if (core_traces() && n)
		trace_source(nh[0]);
	for (unsigned i = 0; i < n; i++) {
		if (unlikely(!is_good(nh[i], v[i].interface, verify))) {
			core_drop(&v[i], six ? CNT_drop_ip6_urpf : CNT_drop_ip4_urpf);
			continue;
		}
		if (beside)
			beside[m] = beside[i];
		v[m++] = v[i];
	}
	return m;
}
