/* See policy.h. */
#include "control/config/config.h"
#include "control/config/running.h"
#include "control/forwarding/policy.h"
#include "dataplane/state.h"

static void set_policy(struct dp_policy *v, const struct config_interface *i, bool engine)
{
	for (unsigned six = 0; six < 2; six++) {
		__atomic_store_n(&v->verify[six], i->verify[six], __ATOMIC_RELAXED);
		__atomic_store_n(&v->redirects[six], i->redirects[six], __ATOMIC_RELAXED);
	}
	__atomic_store_n(&v->directed, i->directed, __ATOMIC_RELAXED);
	__atomic_store_n(&v->routing, engine ? config_engine_protocols_of(i) : 0, __ATOMIC_RELAXED);
}

void policy_set(void)
{
	struct dp_state *v = dp_get();
	const bool engine = config_engine_source_of(&running.config);
	for (unsigned interface = 0; interface < running.config.interfaces; interface++)
		set_policy(&v->policy[interface], &running.config.interface[interface], engine);
}
