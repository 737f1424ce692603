/* The same as output.h for IPv6. `port`: the link meant where an address is link-local. */
#ifndef CONTROL_HOST_OUTPUT6_H
#define CONTROL_HOST_OUTPUT6_H

#include "net/addr.h"
#include "lib/types.h"

void local6_output(uint8_t *frame, unsigned len, unsigned port);

/* rest: as in struct icmp6_error. port: that the packet came by. */
void local6_error(unsigned port, const uint8_t *ip, unsigned len, uint8_t type, uint8_t code,
                  uint32_t rest);

/* Our source address towards dst, dst itself when it is ours; false: there is no way. */
bool local6_source(const struct net_addr *dst, unsigned port, struct net_addr *src);

#endif
