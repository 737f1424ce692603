/*
 * Protocols between the two ends of a link, which no bridge or router forwards: their frames go to a
 * reserved group address (IEEE 802.1Q table 8-1) and have no VLAN tag.
 *
 *     protocol   frame                                  destination
 *     STP        an 802.3 length: a BPDU                01:80:c2:00:00:00 (802.1D-2004 7.12.6)
 *     SLOW       EtherType 0x8809: LACP, marker, OAM    :02 (802.3 annex 57A), :00, :03 (802.1AX, Protocol_DA)
 *     LLDP       EtherType 0x88cc                       :0e, :03, :00 (802.1AB 7.1)
 *
 * Only the header is checked here; the module of the protocol checks the rest.
 */
#ifndef NET_LINK_H
#define NET_LINK_H

#include "lib/types.h"

enum link_protocol {
	LINK_STP,
	LINK_SLOW,
	LINK_LLDP,
	LINK_PROTOCOLS,
};
#define LINK_NONE LINK_PROTOCOLS

/* The protocol of a frame of at least ETH_HLEN octets. */
enum link_protocol link_protocol_of(const uint8_t *frame);

/* The last octet of a destination 01:80:c2:00:00:xx; -1: another address. */
int link_group(const uint8_t *dst);

#endif
