/* See to_engine.h. */
#include "dataplane/to_engine.h"

#include "dataplane/ingress.h"
#include "net/icmp_limit.h"

static struct icmp_limit limits[ROUTING_PROTOCOLS_END]; /* of this core */

void ingress_complete(struct pkt *p, unsigned headers)
{
	const struct pkt_meta *m = pkt_meta(&self.pool, p->buf);
	if (p->flags & PKT_CSUM_PARTIAL && m->csum_start < headers)
		p->flags &= (uint8_t)~PKT_CSUM_PARTIAL;
	pkt_csum_complete(&self.pool, p);
}

static bool permitted(enum routing_protocol r)
{
	struct icmp_limit *l = &limits[r];
	if (l->interval_ns == 0)
		icmp_limit_init(l, routing_desc[r].rate, routing_desc[r].burst);
	return icmp_limit_take(l, core_now_ns());
}

bool to_engine_punt(struct pkt *p, enum routing_protocol r, unsigned headers)
{
	if (r == ROUTING_NONE || !(to_engine_protocols(p->interface) >> r & 1))
		return false;
	if (!permitted(r)) {
		core_drop(p, CNT_drop_engine_limit);
		return true;
	}
	ingress_complete(p, headers);
	core_punt(p, PUNT_ENGINE + (uint32_t)r, 0);
	return true;
}
