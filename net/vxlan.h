/*
 * VXLAN (RFC 7348) between this machine and its routing engine: Ethernet frames in UDP. One VXLAN
 * network identifier (VNI) stands for one interface.
 *
 *     octet 0 flags (0x08: the VNI is valid), 1 reserved, 4 VNI (24 bits), 7 reserved, 8 frame
 *
 * Deliberately missing: learning, multicast as the outer destination, the extensions that use the
 * reserved bits, which a receiver ignores (RFC 7348 5).
 */
#ifndef NET_VXLAN_H
#define NET_VXLAN_H

#include "lib/bytes.h"
#include "lib/types.h"
#include "net/counters.h"

#define VXLAN_PORT 4789
#define VXLAN_HLEN 8
#define VXLAN_VNI_MAX 16777215
/* Octets of an outer packet over IPv4 beyond the inner IP packet. */
#define VXLAN_OVERHEAD 50

/* Writes the header of VXLAN_HLEN bytes. */
static inline void vxlan_header_build(uint8_t *out, uint32_t vni)
{
	be32_store(out, 0x08000000u);
	be32_store(out + 4, vni << 8);
}

/* The VNI of a packet of len bytes; 0: the header is missing, or has no VNI. The frame, of any
 * length, follows the header. */
static inline uint32_t vxlan_vni(const uint8_t *data, unsigned len)
{
	return len >= VXLAN_HLEN && data[0] & 0x08 ? be32_load(data + 4) >> 8 : 0;
}

/* What to do with a frame of the routing engine. */
enum vxlan_action {
	VXLAN_SEND,   /* send it by its interface as it is */
	VXLAN_ROUTE4, /* it is an IPv4 packet to be routed: its destination is the interface itself */
	VXLAN_ROUTE6, /* the same of IPv6 */
};

/*
 * Judges a frame of len bytes that the engine wants to send by an interface with that MAC address
 * and MTU. Returns CNT_NONE and sets *action and *length, the bytes of the frame without padding; or
 * the counter of the drop:
 *
 *     drop_vxlan_malformed   no whole Ethernet header, or an IP header or an 802.3 length that is
 *                            wrong (ip4_check, ip6_check)
 *     drop_vxlan_source      another source MAC address
 *     drop_vxlan_type        ARP, neighbour discovery and redirects, which are the router's own; a
 *                            VLAN tag, which would lead to another interface
 *     drop_vxlan_too_big     longer than the MTU
 */
enum counter vxlan_judge(const uint8_t *frame, unsigned len, const uint8_t *mac, unsigned mtu,
                         enum vxlan_action *action, unsigned *length);

#endif
