/*
 * Bundles of ports (link aggregation, IEEE 802.1AX): what an application sends by a port leaves by one of
 * several, chosen by the hash of its flow (runtime/flow.h), so frames of a flow keep their order.
 *
 * A bundle has the number of one of its ports, which need not be among those in use. core_tx() by that
 * number is to the bundle. The vector is spread when it is flushed: the other ports get their frames by
 * core_tx(), and what remains is the port's own. A frame to a reserved group address, such as a LACPDU, is
 * a matter of the port, and stays.
 *
 * A bundle is one word of 16 buckets, four bits each, which hold numbers of ports. So data cores find the old
 * ports or the new ones, and nothing between. A change moves no flow that it need not move: a port that goes
 * leaves its buckets to the others, and one that comes takes its share from those with most.
 *
 * Without bundles this costs nothing: core_tx_flush() tests one word for captures and bundles together.
 * A worker (runtime/steer.h) leaves the spreading to its owner.
 *
 * Deliberately missing: the room of the other ports in core_tx_full(): TCP on data cores would see losses
 * instead. No application with TCP on data cores has bundles.
 */
#ifndef RUNTIME_BUNDLE_H
#define RUNTIME_BUNDLE_H

#include "lib/types.h"

#define BUNDLE_BUCKETS 16

/* The buckets of a bundle whose ports are now `members`, one bit each and at least one, out of what they
 * were. A number that is no member's counts as free. */
uint64_t bundle_buckets(uint64_t was, uint32_t members);

/* The port for a flow with that hash. */
static inline unsigned bundle_port(uint64_t buckets, uint64_t hash)
{
	return (unsigned)(buckets >> (hash >> 60) * 4 & 15);
}

/* The hash by which a frame of `bytes` bytes in memory is spread: of its flow; of its addresses and type if it
 * is not IP. */
uint64_t bundle_hash(uint64_t seed, const uint8_t *frame, unsigned bytes);

/* On a data core: spreads what is queued for a bundle. */
void bundle_spread(unsigned port);

#endif
