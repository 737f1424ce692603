/*
 * LACPDUs and Marker PDUs: from a frame to fields and back (IEEE 802.1AX-2014 6.4.2 and 6.5.3). All fields
 * are big-endian. Both are slow protocols: EtherType 0x8809, destination 01-80-c2-00-00-02, which no bridge
 * forwards, and untagged. Octets of a PDU, from the subtype on:
 *
 *     LACPDU                                       Marker PDU
 *      0  subtype 1, version                        0  subtype 2, version
 *      2  Actor TLV: type 1, length 20              2  type 1 (information) or 2 (response), length 16
 *      4  system priority (2), system (6), key (2), 4  requester's port (2), system (6),
 *         port priority (2), port (2), state (1),      transaction (4), padding (2)
 *         reserved (3)                             18  terminator: type 0, length 0; reserved (90)
 *     22  Partner TLV: type 2, length 20; as above
 *     42  Collector TLV: type 3, length 16;
 *         maximum delay (2), reserved (12)
 *     58  terminator: type 0, length 0; reserved (50)
 *
 * Invariants
 * 1. lacp_pdu_read reads no octet beyond the given length.
 * 2. What lacp_pdu_write and lacp_marker_answer write, lacp_pdu_read accepts.
 *
 * Of a received PDU the lengths of the TLVs up to octet 58 must be right, and the type of a Marker PDU. The
 * version, other types, the terminator and reserved octets are not read (6.4.12, 6.5.4.2): a later version has
 * the fields of version 1 first, and more TLVs in the terminator's place.
 */
#ifndef NET_LACP_PDU_H
#define NET_LACP_PDU_H

#include "net/counters.h"
#include "net/eth.h"

#define ETH_TYPE_SLOW 0x8809
#define LACP_PDU_LEN 110u
#define LACP_FRAME_LEN (ETH_HLEN + LACP_PDU_LEN) /* of every frame sent */

/* Octet `state` (6.4.2.3). */
enum lacp_state {
	LACP_ACTIVITY = 0x01, /* sends without being asked */
	LACP_TIMEOUT = 0x02,  /* wants a PDU a second, and waits for three */
	LACP_AGGREGATION = 0x04, /* the link may be in a group */
	LACP_SYNCHRONIZATION = 0x08, /* the port is attached to the right aggregator */
	LACP_COLLECTING = 0x10,
	LACP_DISTRIBUTING = 0x20,
	LACP_DEFAULTED = 0x40, /* uses assumptions about its partner: none has been heard */
	LACP_EXPIRED = 0x80,
};

/* What a PDU says of one end of the link. */
struct lacp_end {
	uint16_t system_priority, key, port_priority, port;
	uint8_t system[ETH_ALEN];
	uint8_t state; /* of enum lacp_state */
};

enum lacp_kind { LACP_KIND_LACPDU, LACP_KIND_MARKER, LACP_KIND_MARKER_RESPONSE };

struct lacp_pdu {
	enum lacp_kind kind;
	struct lacp_end actor, partner; /* as the sender calls them; of a LACPDU only */
};

/* Reads a frame of n octets, untagged, without FCS. CNT_NONE, or the counter of the drop:
 * drop_slow_subtype (another slow protocol) or drop_lacp_malformed. */
enum counter lacp_pdu_read(const uint8_t *frame, unsigned n, struct lacp_pdu *out);

/* Writes a LACPDU of LACP_FRAME_LEN octets, from station `source`. */
void lacp_pdu_write(uint8_t *frame, const uint8_t *source, const struct lacp_end *actor,
                    const struct lacp_end *partner);

/* Writes the response to a marker, LACP_FRAME_LEN octets: the marker itself with another type (6.5.4.2).
 * `marker` is a frame that lacp_pdu_read accepted as LACP_KIND_MARKER. */
void lacp_marker_answer(uint8_t *frame, const uint8_t *source, const uint8_t *marker);

#endif
