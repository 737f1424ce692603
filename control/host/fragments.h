/*
 * Packets to the machine itself that come in fragments (net/reassembly.h), both families, and our
 * own that are larger than a link.
 */
#ifndef CONTROL_HOST_FRAGMENTS_H
#define CONTROL_HOST_FRAGMENTS_H

#include "net/reassembly.h"

/* Nothing is waiting. E_NOMEM. */
int fragments_start(void);

/*
 * A fragment: of IPv4 with up NULL. As reassembly_input4 and _input6 say; CNT_NONE: it is kept, or,
 * with out->ip, the whole packet is there.
 */
enum counter fragments_input(unsigned port, const uint8_t *ip, unsigned len,
                             const struct ip6_upper *up, struct reassembly_result *out);

/* Does what is due; returns core_now_ns() of the next deadline, UINT64_MAX for none. */
uint64_t fragments_timer(void);

/* Fragments that wait for others: a gauge. */
uint32_t fragments_waiting(void);

#endif
