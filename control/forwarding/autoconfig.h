/* What routers advertise, for applications that are no routers. */
#ifndef CONTROL_FORWARDING_AUTOCONFIG_H
#define CONTROL_FORWARDING_AUTOCONFIG_H

#include "net/addr.h"
#include "lib/types.h"

/* Forgets all; the ND table has just been made. */
void autoconfig_init(void);

/* The port takes what its routers advertise. As slaac_start. */
int autoconfig_start(unsigned port);

/* One of our addresses may be used from now on, or no longer: sees to a way by which packets to it
 * find hosts6 or us. */
void autoconfig_address(unsigned port, const struct net_addr *addr, bool up);

/* Is this route, which fib6 has, an advertisement's? */
bool autoconfig_made(const struct net_addr *prefix, unsigned plen);

#endif
