/* The console's ping. */
#ifndef CONTROL_HOST_PING_H
#define CONTROL_HOST_PING_H

#include "control/console/shell.h"
#include "control/host/names.h"
#include "net/icmp4.h"
#include "net/icmp6.h"

/* Starts a ping of `times` requests with `bytes` of data and marks the shell busy, or prints why
 * not. Its results are printed there. Only one ping runs at a time, on all consoles together.
 * host: an address or a name, which is looked up first; family: of its address. interface: the link if
 * the address is link-local; UINT32_MAX: none was said. */
void ping_start(struct shell *sh, const char *host, enum names_family family, unsigned interface,
                unsigned times, unsigned bytes);

/* An echo reply or an ICMP error came from that address. It need not be about the ping. */
void ping_reply(uint32_t from, const struct icmp4_msg *m, uint8_t ttl);
void ping_error(uint32_t from, const struct icmp4_msg *m);
void ping_reply6(const struct net_addr *from, const struct icmp6_msg *m, uint8_t hop_limit);
void ping_error6(const struct net_addr *from, const struct icmp6_msg *m);

/* Does what is due; returns core_now_ns() of the next step, UINT64_MAX for none. */
uint64_t ping_timer(void);

#endif
