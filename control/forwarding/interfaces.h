/* Interfaces of the data-plane state, their routes and links. */
#ifndef CONTROL_FORWARDING_INTERFACES_H
#define CONTROL_FORWARDING_INTERFACES_H

#include "control/config/config.h"
#include "dataplane/state.h"

/* The MTU of a port: the configured one, else the default, or the device's maximum if that is less
 * (VIRTIO 1.2 5.1.4.1). */
unsigned interface_mtu(const struct config *c, unsigned port);

/* The most that the devices of a port, or of its port channel, take. */
unsigned interface_mtu_most(const struct config *c, unsigned port);

/* Fills the data-plane state's interfaces, and notes their subnets (subnets.h). */
void interfaces_start(struct dp_state *v);

/* Announce the routes that follow from the interfaces' addresses. First, when the tables exist, the
 * connected and local routes; then, when the base has the configured routes too, our IPv6 addresses
 * (routes_own6). */
void interfaces_routes(const struct dp_state *v);
void interfaces_own6(const struct dp_state *v);

/* Is it an address of this machine? IPv4 addresses: as net_addr_ip4; IPv6: only those in use, also
 * link-local ones, of whatever interface. */
bool interfaces_have(const struct net_addr *addr);

/* The default MTU of an interface of the switch, and its maximum: the least of all ports. */
unsigned interface_mtu_svi(const struct config *c);

/* The link of a port is up or down: sets the links of its interfaces. */
void interfaces_link(unsigned port, bool up);

/* The same of the bundle with that number (control/link/bundle.c). */
void interfaces_link_bundle(unsigned port, bool up);

/* The same of interface n of the switch, which says so (apps/switch): some port of its VLAN forwards. */
void interfaces_link_svi(unsigned n, bool up);

#endif
