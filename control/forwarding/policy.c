/* See policy.h. */
#include "control/config/config.h"
#include "control/config/running.h"
#include "control/forwarding/policy.h"
#include "dataplane/dhcp.h"
#include "dataplane/state.h"

static uint8_t dhcp_of(const struct config_interface *i)
{
	return (uint8_t)((i->dhcp_line && !i->shutdown ? DP_DHCP_CLIENT : 0) | (i->relay_line[0] ? DP_DHCP_RELAY : 0));
}

/* routing: the protocols that any interface may hand over. */
static void set_policy(struct dp_policy *v, const struct config_interface *i, unsigned routing)
{
	for (unsigned six = 0; six < 2; six++) {
		__atomic_store_n(&v->verify[six], i->verify[six], __ATOMIC_RELAXED);
		__atomic_store_n(&v->redirects[six], i->redirects[six], __ATOMIC_RELAXED);
	}
	__atomic_store_n(&v->dhcp, dhcp_of(i), __ATOMIC_RELAXED);
	__atomic_store_n(&v->directed, i->directed, __ATOMIC_RELAXED);
	__atomic_store_n(&v->routing, config_engine_protocols_of(i) & routing, __ATOMIC_RELAXED);
}

void policy_set(void)
{
	struct dp_state *v = dp_get();
	unsigned routing = config_engine_source_of(&running.config) ? ~0u : 0;
	if (running.config.engine.bfd_port) /* the machine has the sessions */
		routing &= ~(1u << ROUTING_BFD);
	for (unsigned interface = 0; interface < running.config.interfaces; interface++)
		set_policy(&v->policy[interface], &running.config.interface[interface], routing);
}
