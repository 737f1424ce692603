/*
 * The router's state on a data core, and sending for the slow path. No function here calls another
 * module of apps/router.
 */
#include "apps/router/send.h"
#include "dataplane/ingress.h"

struct router router;

void router_send(struct pkt *p, uint32_t nh)
{
	router.used->second[nh] = (uint32_t)(core_now_ns() >> 30);
	router_send_by(p, &router.dp->adj[nh]);
}

void router_send_own(struct pkt *e, unsigned ip_len, const struct pkt *about, uint32_t nh)
{
	router_set_len(e, ip_len + ETH_HLEN);
	e->interface = about->interface;
	e->flags = PKT_OWN;
	if (router_resolved(&router.dp->adj[nh]))
		router_send(e, nh);
	else
		core_punt_own(e, PUNT_OWN, nh);
}

void router_trim(struct pkt *p, unsigned total, unsigned headers)
{
	unsigned least = total + ETH_HLEN > ETH_FRAME_MIN ? total + ETH_HLEN : ETH_FRAME_MIN;
	if (p->len <= least)
		return;
	ingress_complete(p, headers); /* the checksum may cover what is cut off, or lie in it */
	p->len = (uint16_t)least;
}

/* Applies the present rate of the data-plane state to the limits. */
static void update_limits(void)
{
	const uint32_t rate = __atomic_load_n(&router.dp->icmp_rate, __ATOMIC_RELAXED);
	const uint32_t burst = __atomic_load_n(&router.dp->icmp_burst, __ATOMIC_RELAXED);
	if (rate == router.icmp_rate && burst == router.icmp_burst)
		return;
	for (unsigned i = 0; i < LIMITS; i++)
		icmp_limit_init(&router.limit[i], rate, burst);
	router.icmp_rate = rate;
	router.icmp_burst = burst;
}

bool router_message(struct pkt *e, enum router_limit which)
{
	update_limits();
	if (!icmp_limit_take(&router.limit[which], core_now_ns())) {
		count(which == LIMIT_REDIRECTS ? CNT_redirect_limited : CNT_icmp_err_ratelimited);
		return false;
	}
	if (!pkt_alloc(&self.pool, e)) {
		count(CNT_originated_drop_no_buffer);
		return false;
	}
	return true;
}
