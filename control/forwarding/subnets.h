/* The subnets of our interfaces, to find the interface of an address. */
#ifndef CONTROL_FORWARDING_SUBNETS_H
#define CONTROL_FORWARDING_SUBNETS_H

#include "net/addr.h"

/* Sets them from running.config. A commit that changes them runs interfaces_start again. */
void subnets_start(void);

/* The interface, in any state, on whose subnet the address lies; E_NOENT: none. IPv4 addresses: as
 * net_addr_ip4. */
int subnet_interface(const struct net_addr *addr);

#endif
