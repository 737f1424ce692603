/*
 * The answer of a host without a matching connection or listener, or without TCP at all: RFC 9293
 * 3.10.7.1, the state CLOSED. No state here.
 */
#ifndef NET_TCP_RESET_H
#define NET_TCP_RESET_H

#include "lib/types.h"
#include "net/counters.h"

#define TCP_RESET_BYTES 60 /* IPv6 packet with a reset; 40 for IPv4 */

/*
 * Returns the fate of the segment in the packet at ip, which is unfragmented, complete TCP as
 * required by ip_parse (net/ip.h): CNT_drop_tcp_malformed or CNT_drop_tcp_port. *out_len is the
 * length of the reset built at out (TCP_RESET_BYTES of space), or 0 if the segment is malformed or
 * itself a reset. csum_known: the checksum is not verified.
 */
enum counter tcp_reset_build(uint8_t *out, unsigned *out_len, const uint8_t *ip, bool csum_known);

#endif
