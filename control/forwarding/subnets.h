/* The subnets of our interfaces, and whose an address is. */
#ifndef CONTROL_FORWARDING_SUBNETS_H
#define CONTROL_FORWARDING_SUBNETS_H

#include "net/addr.h"

/* Those of the configuration that runs; a commit that changes them starts the interfaces anew. */
void subnets_start(void);

/* The interface, in any state, on whose subnet the address lies, or E_NOENT. Of IPv4: net_addr_ip4. */
int subnet_interface(const struct net_addr *addr);

#endif
