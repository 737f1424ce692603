/* Configuration by routers' advertisements, for applications that are not routers. */
#ifndef CONTROL_FORWARDING_AUTOCONFIG_H
#define CONTROL_FORWARDING_AUTOCONFIG_H

#include "net/addr.h"
#include "lib/types.h"

/* Forgets all that was learnt. Called when the ND table has just been made. */
void autoconfig_init(void);

/* Configures the interface by its routers' advertisements. Errors as slaac_start. */
int autoconfig_start(unsigned interface);

/* One of our addresses may be used from now on, or no longer: adds or removes the route that its
 * packets need (routes_own6_advertised). */
void autoconfig_address(unsigned interface, const struct net_addr *addr, bool up);

#endif
