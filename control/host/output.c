/* See output.h. */
#include "control/host/output.h"

#include "control/forwarding/neighbour.h"
#include "dataplane/state.h"
#include "net/icmp4.h"
#include "net/icmp_limit.h"
#include "net/ip4.h"

static struct icmp_limit limit;
uint8_t local_frame[LOCAL_FRAME_BYTES];

void local_limit(const struct config *c)
{
	struct dp_state *v = dp_get();
	const unsigned cores = self.info->data_cores;
	icmp_limit_init(&limit, c->icmp_rate, c->icmp_burst);
	__atomic_store_n(&v->icmp_rate, c->icmp_rate / cores + (c->icmp_rate % cores != 0),
	                 __ATOMIC_RELAXED);
	__atomic_store_n(&v->icmp_burst, c->icmp_burst, __ATOMIC_RELAXED);
}

bool local_error_permitted(bool allowed)
{
	const bool permitted = allowed && icmp_limit_take(&limit, core_now_ns());
	if (!permitted)
		count(allowed ? CNT_icmp_err_ratelimited : CNT_icmp_err_suppressed);
	return permitted;
}

uint32_t local_source(uint32_t dst)
{
	const struct dp_state *v = dp_get();
	uint32_t nh = dp_next_hop4(dp_get(), dst);
	int interface = dp_interface_of(v, nh);
	if (nh == NH_LOCAL)
		return dst;
	if (interface < 0)
		return 0;
	const struct dp_interface *ifp = &v->interface[interface];
	for (unsigned a = 0; a < ifp->addresses; a++)
		if (ip4_in_prefix(dst, ifp->addr[a], ifp->plen[a]))
			return ifp->addr[a];
	return ifp->addr[0];
}

/* Sends a packet of ours in fragments. */
static void output_cut(uint32_t nh, uint32_t dst, const uint8_t *frame, unsigned mtu)
{
	static uint8_t piece[BUF_STRIDE_JUMBO];
	struct ip4_frag it;
	unsigned n;
	if (ip4_frag_init(&it, frame + ETH_HLEN, mtu) != E_OK) { /* it has DF */
		count(CNT_originated_drop_tx);
		return;
	}
	while ((n = ip4_frag_next(&it, piece + ETH_HLEN, sizeof piece - ETH_HLEN)) > 0) {
		count(CNT_fragments_created);
		neighbour_output(nh, dst, piece, eth_pad(piece, n + ETH_HLEN), FRAME_OWN, PAIR_ANY);
	}
}

void local_output(uint8_t *frame, unsigned len)
{
	uint32_t dst = ip4_dst(frame + ETH_HLEN);
	uint32_t nh = dp_next_hop4(dp_get(), dst);
	int interface = dp_interface_of(dp_get(), nh);
	if (interface < 0 || !dp_link_is_up(dp_get(), interface)) {
		count(CNT_originated_drop_tx);
		return;
	}
	unsigned mtu = dp_get()->interface[interface].mtu;
	if (len - ETH_HLEN <= mtu)
		neighbour_output(nh, dst, frame, eth_pad(frame, len), FRAME_OWN, PAIR_ANY);
	else
		output_cut(nh, dst, frame, mtu);
}

void local_error(const uint8_t *ip, unsigned len, uint8_t type, uint8_t code)
{
	const struct icmp4_error e = {.src = local_source(ip4_src(ip)), .type = type, .code = code};
	if (!local_error_permitted(icmp4_error_allowed(ip, len) && e.src != 0))
		return;
	unsigned n = icmp4_error_build(local_frame + ETH_HLEN, sizeof local_frame - ETH_HLEN, ip, len,
	                               &e);
	count(icmp4_error_counter(type, code));
	local_output(local_frame, n + ETH_HLEN);
}
