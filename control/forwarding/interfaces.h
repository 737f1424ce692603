/* Interfaces of the data-plane state, their routes and links. */
#ifndef CONTROL_FORWARDING_INTERFACES_H
#define CONTROL_FORWARDING_INTERFACES_H

#include "control/config/config.h"
#include "dataplane/state.h"

/* The MTU of a port: that configured, or the usual one if the device takes that (VIRTIO 1.2 5.1.4.1:
 * no more). */
unsigned interface_mtu(const struct config *c, unsigned port);

/* Fills the view's interfaces; then, when the tables are there, enters the routes that follow from
 * their addresses, and the configuration's. */
void interfaces_start(struct view *v);
void interfaces_routes(const struct view *v);

/* The link of a port is up or down, and so is that of its interfaces. */
void interfaces_link(unsigned port, bool up);

#endif
