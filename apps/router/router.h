/*
 * The router: forwards IPv4 (RFC 1812) and IPv6 (RFC 8200) packets between its interfaces.
 *
 *     forward.c   the vector path, which nearly every packet takes
 *     check.h     its first pass; check_avx2.c: eight frames together
 *     slow.c      the slow path, one packet at a time: IPv4
 *     slow6.c     the same for IPv6
 *     egress.c    the end of the slow path, for both families
 *     filter.c    packet filters, for both paths
 *     verify.c    source address verification, for both paths
 *     redirect.c  ICMP redirects, for both paths
 *     error.c     ICMP errors
 *     send.c      the state of a data core, and sending
 *
 * A module calls only modules that stand below it. Each has a header of its own. The control plane
 * (control/) is shared with the other applications.
 */
#ifndef APPS_ROUTER_ROUTER_H
#define APPS_ROUTER_ROUTER_H

extern const struct app router_app;

#endif
