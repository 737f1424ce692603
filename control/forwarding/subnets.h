/* The subnets of our interfaces, to find the interface of an address. */
#ifndef CONTROL_FORWARDING_SUBNETS_H
#define CONTROL_FORWARDING_SUBNETS_H

#include "net/addr.h"

/* Sets them from running.config. A commit that changes them runs interfaces_start again. */
void subnets_start(void);

/* A subnet of an address that is not in the configuration; plen counts the bits of an IPv6 address. It overlaps no
 * other one. At most CONFIG_DHCP_CLIENTS_MAX at a time, until subnets_start. */
void subnets_add(unsigned interface, const struct net_addr *addr, unsigned plen);
void subnets_remove(unsigned interface, const struct net_addr *addr, unsigned plen);

/* The interface, in any state, on whose subnet the address lies; E_NOENT: none. IPv4 addresses: as
 * net_addr_ip4. */
int subnet_interface(const struct net_addr *addr);

#endif
