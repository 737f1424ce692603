/*
 * Source address verification (RFC 2827, RFC 3704): a packet from an address to which no way leads
 * back, or where an interface asks for that, none by this interface, is likely forged.
 *
 *     any    "loose" (RFC 3704 2.4): there is a route to the source
 *     rx     "strict" (2.2): and it leaves by the interface the packet came in by
 *
 * A default route is a route here. One to null0 is none, so a source can be blocked by routing it
 * there (RFC 5635 4). The source of a packet from outside is none of our own addresses and no
 * broadcast either.
 *
 * Every packet that the filter of its interface has passed is asked about, those to the machine
 * itself too. Not IPv6's from link-local addresses, which are unique on their link alone, or from
 * none: neighbour discovery has its own rules for them, and nobody forwards them. Nobody is told of
 * what is dropped: the source is most likely not who sent it.
 */
#include "apps/router/verify.h"
#include "dataplane/trace_note.h"
#include "net/ip4.h"
#include "net/ip6.h"

/* By one of several ways back, for which of them others take is theirs to choose. */
static bool is_good_member(uint32_t nh, unsigned port, unsigned verify)
{
	const struct dp_state *v = router.dp;
	const uint16_t *member = v->group[nh - NH_GROUP].member;
	for (unsigned i = 0; i < ECMP_MEMBERS_MAX; i++) {
		int back = dp_interface_of(v, __atomic_load_n(&member[i], __ATOMIC_RELAXED));
		if (back == (int)port || (back >= 0 && verify == VERIFY_ANY))
			return true;
	}
	return false;
}

/* nh: the way back. */
static bool is_good(uint32_t nh, unsigned port, unsigned verify)
{
	if (unlikely(dp_is_group(nh)))
		return is_good_member(nh, port, verify);
	int back = dp_interface_of(router.dp, nh);
	return back == (int)port || (back >= 0 && verify == VERIFY_ANY);
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

/* The ways back to n sources of the vector path: none is link-local. */
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
