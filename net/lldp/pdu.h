/*
 * The LLDPDU (IEEE 802.1AB-2016 clause 8), the payload of a frame with EtherType 88-cc: a list of TLVs,
 * each with a header of two octets,
 *
 *     bits 15 to 9  type
 *           8 to 0  length of the information string that follows, in octets
 *
 *     type  name                  information string
 *       1   chassis ID            subtype, 1 to 255 octets; first
 *       2   port ID               the same; second
 *       3   time to live          seconds, 16 bits; third
 *       4   port description      text of up to 255 octets
 *       5   system name           the same
 *       6   system description    the same
 *       7   system capabilities   16 bits what the system is, 16 bits what is enabled
 *       8   management address    length of subtype and address, subtype (an IANA address family), address,
 *                                 numbering, interface number of 32 bits, length of an OID, OID
 *     127   organisation's own    OUI, subtype, its information
 *       0   end of LLDPDU         nothing; the rest of the frame is padding
 *
 * All fields are big-endian. Of organisations' TLVs the port VLAN identifier of 802.1 (802.1Q D.2.1) and
 * the maximum frame size of 802.3 (802.3 79.3.4) are understood.
 *
 * Mandatory TLVs that are missing, out of order, repeated or of invalid length make the whole LLDPDU invalid.
 * An optional TLV is ignored and counted if its length is invalid, if it exceeds the frame (9.2.7.7.2), if it
 * is repeated, or if it enables capabilities that the system does not have.
 *
 * Deliberately missing: the OID of a management address is not kept; other TLVs are counted as unknown.
 */
#ifndef NET_LLDP_PDU_H
#define NET_LLDP_PDU_H

#include "lib/types.h"
#include "net/counters.h"
#include "net/eth.h"

#define LLDP_ETH_TYPE 0x88cc
#define LLDP_PDU_MAX 1500 /* of every Ethernet */
#define LLDP_FRAME_MAX (ETH_HLEN + LLDP_PDU_MAX)
#define LLDP_STRING_MAX 255 /* texts and identifiers */
#define LLDP_ADDRESSES_MAX 8 /* management addresses kept of an LLDPDU, and sent in one */
#define LLDP_ADDRESS_LEN_MAX 31

/* Subtypes of a chassis ID (8.5.2.2) and of a port ID (8.5.3.2). */
enum lldp_chassis_subtype {
	LLDP_CHASSIS_COMPONENT = 1,
	LLDP_CHASSIS_INTERFACE_ALIAS,
	LLDP_CHASSIS_PORT_COMPONENT,
	LLDP_CHASSIS_MAC,
	LLDP_CHASSIS_ADDRESS, /* an IANA address family, then the address */
	LLDP_CHASSIS_INTERFACE,
	LLDP_CHASSIS_LOCAL,
};

enum lldp_port_subtype {
	LLDP_PORT_INTERFACE_ALIAS = 1,
	LLDP_PORT_COMPONENT,
	LLDP_PORT_MAC,
	LLDP_PORT_ADDRESS,
	LLDP_PORT_INTERFACE,
	LLDP_PORT_CIRCUIT,
	LLDP_PORT_LOCAL,
};

/* System capabilities (8.5.8.1, table 8-4). */
enum lldp_capability {
	LLDP_OTHER = 1 << 0,
	LLDP_REPEATER = 1 << 1,
	LLDP_BRIDGE = 1 << 2,
	LLDP_WLAN = 1 << 3,
	LLDP_ROUTER = 1 << 4,
	LLDP_TELEPHONE = 1 << 5,
	LLDP_DOCSIS = 1 << 6,
	LLDP_STATION = 1 << 7, /* an end station, and nothing of the above */
	LLDP_C_VLAN = 1 << 8,
	LLDP_S_VLAN = 1 << 9,
	LLDP_TWO_PORT_RELAY = 1 << 10,
};

/* IANA address family numbers of management addresses. */
enum lldp_family { LLDP_IP4 = 1, LLDP_IP6 = 2, LLDP_MAC = 6 };

#define LLDP_NUMBERING_IFINDEX 2 /* 8.5.9.5 */

/* Octets of somebody else's buffer; at is NULL if the TLV is absent. Text is not terminated, and what a
 * neighbour sends may be any octets. */
struct lldp_string {
	const uint8_t *at;
	uint16_t len;
};

struct lldp_id {
	uint8_t subtype;
	struct lldp_string value; /* 1 to LLDP_STRING_MAX octets */
};

struct lldp_address {
	uint8_t family;           /* enum lldp_family, or another one */
	struct lldp_string value; /* 1 to LLDP_ADDRESS_LEN_MAX octets */
	uint8_t numbering;
	uint32_t number;          /* of the interface */
};

/* The contents of an LLDPDU, with strings that lie in a buffer of the caller's. */
struct lldp_pdu {
	struct lldp_id chassis, port;
	uint16_t ttl_s; /* 0: shutdown, without optional TLVs */
	struct lldp_string port_description, system_name, system_description;
	bool has_capabilities, has_vlan, has_frame_max;
	uint16_t capabilities, enabled; /* enum lldp_capability */
	uint16_t vlan;      /* of untagged frames; 0: the port has none */
	uint16_t frame_max; /* octets with header and FCS */
	uint8_t addresses;
	struct lldp_address address[LLDP_ADDRESSES_MAX];
	/* set by lldp_pdu_read alone */
	uint16_t len;      /* octets without padding behind the end, with a last TLV that was cut off */
	uint16_t identity; /* octets of chassis ID and port ID together, the beginning of the LLDPDU */
	uint16_t unknown;  /* TLVs that are not understood here */
	uint16_t discarded; /* optional TLVs that are invalid or repeated */
};

/* Reads the n octets of an LLDPDU, with padding or without. CNT_NONE: *out is filled and points into
 * pdu. Else CNT_drop_lldp_order or CNT_drop_lldp_length. */
enum counter lldp_pdu_read(const uint8_t *pdu, unsigned n, struct lldp_pdu *out);

/* Writes an LLDPDU of at most LLDP_PDU_MAX octets; returns its length. The strings must be as long as
 * struct lldp_pdu allows; texts beyond LLDP_STRING_MAX are cut. With ttl_s 0 only the mandatory TLVs are
 * written (mibConstrShutdownLLDPDU). Optional TLVs that find no room are left out. */
unsigned lldp_pdu_write(uint8_t *pdu, const struct lldp_pdu *p);

#endif
