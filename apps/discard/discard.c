/*
 * Discard: every IPv4 packet that reaches one of the ports is counted and thrown away, in the
 * spirit of RFC 863 and for any protocol and address. ARP is answered by the control core, so that
 * hosts find their way here. What it is good for: the far end of a link under load, and what a
 * machine can receive. It is also the least that an application is (ARCHITECTURE.md, How to add).
 */
#include "apps/discard/discard.h"

#include "control/door.h"
#include "control/plane.h"
#include "control/view.h"

static const struct view *view;

static void data_start(void)
{
	view = view_get();
}

static void rx_vector(struct pkt *v, unsigned n, unsigned port)
{
	const struct view_port *vp = &view->port[port];
	for (unsigned i = 0; i < n; i++) {
		core_hand_set(&v[i], n);
		if (door_ip4(&v[i], vp))
			core_drop(&v[i], CNT_discarded);
	}
	core_hand.data = 0;
}

const struct app discard_app = {
	.control = &plane_hooks,
	.data_start = data_start,
	.rx_vector = rx_vector,
};
