/*
 * IPv4 addresses of interfaces that are not in the configuration: a DHCP server has lent them. They come and go while
 * the ports run, and a start of the ports forgets them, like all tables.
 */
#ifndef CONTROL_FORWARDING_LEASED_H
#define CONTROL_FORWARDING_LEASED_H

#include "net/dhcp/client4.h"

/* Gives the interface the lease's address and routes, which replace those of an earlier lease of the same address.
 * distance: of the routes. False: the address lies in a subnet of another interface, or the table of addresses is
 * full, and nothing has changed. */
bool leased_set(unsigned interface, const struct dhcp_lease *lease, unsigned distance);

/* Takes them away. */
void leased_clear(unsigned interface);

/* At each start of the ports: no interface has such an address. */
void leased_forget(void);

#endif
