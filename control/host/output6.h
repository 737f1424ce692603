/* The same as output.h for IPv6. `interface`: the link of a link-local address. */
#ifndef CONTROL_HOST_OUTPUT6_H
#define CONTROL_HOST_OUTPUT6_H

#include "net/addr.h"
#include "lib/types.h"

void local6_output(uint8_t *frame, unsigned len, unsigned interface);

/* The same with the hop limit that the packet has. */
void local6_output_as_is(uint8_t *frame, unsigned len, unsigned interface);

/* The next hop of the machine's own packets to dst. */
uint32_t local6_next_hop(const struct net_addr *dst, unsigned interface);

/* rest: as in struct icmp6_error. */
void local6_error(unsigned interface, const uint8_t *ip, unsigned len, uint8_t type, uint8_t code,
                  uint32_t rest);

/* Our source address towards dst, dst itself when it is ours; false: there is none. */
bool local6_source(const struct net_addr *dst, unsigned interface, struct net_addr *src);

#endif
