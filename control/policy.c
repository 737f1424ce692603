/* What interfaces ask of packets, from the configuration into the view. */
#include "control/inside.h"

void policy_set(void)
{
	struct view *v = view_get();
	for (unsigned p = 0; p < plane.config.interfaces; p++)
		for (unsigned six = 0; six < 2; six++)
			__atomic_store_n(&v->policy[p].verify[six],
			                 plane.config.interface[p].verify[six], __ATOMIC_RELAXED);
}
