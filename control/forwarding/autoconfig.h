/* What routers advertise, for applications that are no routers. */
#ifndef CONTROL_FORWARDING_AUTOCONFIG_H
#define CONTROL_FORWARDING_AUTOCONFIG_H

#include "net/addr.h"
#include "lib/types.h"

/* Forgets all; the ND table has just been made. */
void autoconfig_init(void);

/* The port takes what its routers advertise. As slaac_start. */
int autoconfig_start(unsigned port);

/* One of our addresses may be used from now on, or no longer: its packets have to find hosts6 or us
 * (routes_own6_advertised). */
void autoconfig_address(unsigned port, const struct net_addr *addr, bool up);

#endif
