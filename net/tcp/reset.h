/*
 * What a machine without a connection, a listener or any TCP at all says to a segment: RFC 9293
 * 3.10.7.1, the state CLOSED. No state here.
 */
#ifndef NET_TCP_RESET_H
#define NET_TCP_RESET_H

#include "lib/types.h"
#include "net/counters.h"

#define TCP_RESET_BYTES 60 /* IPv6 packet with a reset; IPv4's has 40 */

/*
 * The fate of the segment in the packet at ip, which is TCP as ip_parse (net/ip.h) wants it, no
 * fragment, and whole: CNT_drop_tcp_malformed, or CNT_drop_tcp_port; then *out_len is the length of
 * the reset that was built at out (TCP_RESET_BYTES are there), 0 if the segment is one itself.
 * csum_known: the checksum need not be looked at.
 */
enum counter tcp_reset_build(uint8_t *out, unsigned *out_len, const uint8_t *ip, bool csum_known);

#endif
