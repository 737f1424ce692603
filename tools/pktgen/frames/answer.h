/*
 * The generator simulates hosts: it answers ARP requests (RFC 826) and neighbour solicitations (RFC
 * 4861 7.2.4) for the addresses that the plan puts behind a port. A device under test must resolve
 * these addresses before it can send to them.
 *
 * The generator does not answer ARP probes and announcements (RFC 5227 1.1) or duplicate address
 * detection (RFC 4862 5.4.3), so no host loses its own address to the generator.
 */
#ifndef PKTGEN_FRAMES_ANSWER_H
#define PKTGEN_FRAMES_ANSWER_H

#include "lib/types.h"
#include "tools/pktgen/plan.h"

#define ANSWER_BYTES_MAX 86 /* Ethernet, IPv6, advertisement with its option */

/* Does the plan answer for addr (as on the wire) at this port? */
bool answer_covers(const struct plan *plan, unsigned port, const struct net_addr *addr);

/*
 * Writes the answer to a received frame of len bytes into out (ANSWER_BYTES_MAX bytes), sent from
 * `mac`. Returns its length, padded to Ethernet's minimum; 0: the frame needs no answer.
 */
unsigned answer_make(const struct plan *plan, unsigned port, const uint8_t *mac,
                     const uint8_t *frame, unsigned len, uint8_t *out);

#endif
