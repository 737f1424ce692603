/* Access lists on a data core: what applications that filter packets have in common (net/acl/acl.h). */
#ifndef DATAPLANE_FILTER_H
#define DATAPLANE_FILTER_H

#include "dataplane/state.h"

/*
 * May a list judge the IP packet at ip, of which avail bytes are there? CNT_NONE: its header is whole and
 * correct, which is what acl_classify needs; else the counter of the drop. Addresses that may not be on a
 * wire, and wrong options, are no reason: a switch forwards such packets.
 */
enum counter filter_readable(const uint8_t *ip, unsigned avail, bool six);

/* Stores the answers of f's list for n packets in rule[] (acl_classify), counts them, and notes the first in
 * a trace. The packets have passed filter_readable, ip4_check or ip6_check. */
void filter_ask(const struct dp_filter *f, const uint8_t *const *ip, uint32_t *rule, unsigned n);

/* The counter of a packet that f denies by that answer: `reason`, unless the packet's ports cannot be
 * determined. */
enum counter filter_reason(const struct dp_filter *f, uint32_t rule, enum counter reason);

#endif
