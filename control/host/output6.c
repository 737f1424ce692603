/* See output6.h. */
#include "control/host/output6.h"

#include "control/forwarding/neighbour6.h"
#include "control/host/output.h"
#include "net/icmp6.h"
#include "net/ip6.h"

uint32_t local6_next_hop(const struct net_addr *dst, unsigned interface)
{
	const uint8_t *addr = (const uint8_t *)dst->w;
	return ip6_is_link_local(dst) ? dp_on_link6(dp_get(), interface, addr)
	                              : dp_next_hop6(dp_get(), addr);
}

bool local6_source(const struct net_addr *dst, unsigned interface, struct net_addr *src)
{
	uint32_t nh = local6_next_hop(dst, interface);
	int out = dp_interface_of(dp_get(), nh);
	if (nh == NH_LOCAL)
		*src = *dst;
	return nh == NH_LOCAL || (out >= 0 && dp_source6(dp_get(), (unsigned)out, dst, src));
}

/* Sends a packet of ours in fragments (RFC 8200 4.5), with an unpredictable identification (RFC
 * 7739). */
static void output_cut(uint32_t nh, const struct net_addr *dst, const uint8_t *frame, unsigned mtu)
{
	static uint8_t piece[BUF_STRIDE_JUMBO];
	struct ip6_frag it;
	uint32_t id;
	unsigned n;
	core_random(&id, sizeof id);
	if (ip6_frag_init(&it, frame + ETH_HLEN, mtu, id) != E_OK) {
		count(CNT_originated_drop_tx);
		return;
	}
	while ((n = ip6_frag_next(&it, piece + ETH_HLEN, sizeof piece - ETH_HLEN)) > 0) {
		count(CNT_fragments_created);
		neighbour6_output(nh, dst, piece, eth_pad(piece, n + ETH_HLEN), FRAME_OWN, PAIR_ANY);
	}
}

/* own: the packet gets the hop limit of the link by which it leaves. */
static void output(uint8_t *frame, unsigned len, unsigned interface, bool own)
{
	const struct net_addr dst = ip6_dst(frame + ETH_HLEN);
	uint32_t nh = local6_next_hop(&dst, interface);
	int out = dp_interface_of(dp_get(), nh);
	if (out < 0 || !dp_link_is_up(dp_get(), out)) {
		count(CNT_originated_drop_tx);
		return;
	}
	unsigned mtu = dp_get()->interface6[out].mtu;
	if (own)
		dp_hop_limit6(dp_get(), (unsigned)out, frame + ETH_HLEN);
	if (len - ETH_HLEN <= mtu)
		neighbour6_output(nh, &dst, frame, eth_pad(frame, len), FRAME_OWN, PAIR_ANY);
	else
		output_cut(nh, &dst, frame, mtu);
}

void local6_output(uint8_t *frame, unsigned len, unsigned interface)
{
	output(frame, len, interface, true);
}

void local6_output_as_is(uint8_t *frame, unsigned len, unsigned interface)
{
	output(frame, len, interface, false);
}

void local6_error(unsigned interface, const uint8_t *ip, unsigned len, uint8_t type, uint8_t code,
                  uint32_t rest)
{
	struct icmp6_error e = {.type = type, .code = code, .rest = rest};
	const struct net_addr to = ip6_src(ip);
	if (!local_error_permitted(icmp6_error_allowed(ip, len, type, code) &&
	                           local6_source(&to, interface, &e.src)))
		return;
	unsigned n = icmp6_error_build(local_frame + ETH_HLEN, sizeof local_frame - ETH_HLEN, ip, len,
	                               &e);
	count(icmp6_error_counter(type, code));
	local6_output(local_frame, n + ETH_HLEN, interface);
}
