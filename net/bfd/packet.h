/*
 * The BFD control packet (RFC 5880 4.1), the payload of a UDP datagram:
 *
 *     octet 0  version (3 bits), diagnostic (5)
 *           1  state (2), poll, final, control plane independent, authentication, demand, multipoint
 *           2  detection multiplier
 *           3  length in octets
 *           4  my discriminator
 *           8  your discriminator
 *          12  desired minimum transmit interval, microseconds
 *          16  required minimum receive interval
 *          20  required minimum echo receive interval
 *
 * All fields are big-endian.
 *
 * Deliberately missing: authentication (RFC 5880 4.2 to 4.4). Packets with it are refused.
 */
#ifndef NET_BFD_PACKET_H
#define NET_BFD_PACKET_H

#include "lib/types.h"
#include "net/counters.h"

#define BFD_PORT_SINGLE_HOP 3784 /* RFC 5881 4 */
#define BFD_PORT_MULTIHOP 4784   /* RFC 5883 5 */
#define BFD_SOURCE_PORT_FIRST 49152 /* RFC 5881 4: source ports end at 65535 */
#define BFD_PACKET_LEN 24
#define BFD_TTL 255 /* of every packet sent, and of single-hop ones received (RFC 5881 5) */

enum bfd_state { BFD_ADMIN_DOWN, BFD_DOWN, BFD_INIT, BFD_UP };

enum bfd_diag {
	BFD_DIAG_NONE,
	BFD_DIAG_EXPIRED,       /* control detection time expired */
	BFD_DIAG_ECHO_FAILED,
	BFD_DIAG_NEIGHBOUR,     /* neighbour signalled session down */
	BFD_DIAG_PLANE_RESET,
	BFD_DIAG_PATH_DOWN,
	BFD_DIAG_CONCATENATED,
	BFD_DIAG_ADMIN_DOWN,
	BFD_DIAG_REVERSE,
};

enum bfd_flag {
	BFD_MULTIPOINT = 0x01,
	BFD_DEMAND = 0x02,
	BFD_AUTH = 0x04,
	BFD_CPI = 0x08, /* control plane independent */
	BFD_FINAL = 0x10,
	BFD_POLL = 0x20,
};

struct bfd_packet {
	enum bfd_state state;
	uint8_t diag;  /* enum bfd_diag, or a value that no RFC defines yet, up to 31 */
	uint8_t flags; /* enum bfd_flag */
	uint8_t detect_mult;
	uint32_t my_discr, your_discr;
	uint32_t desired_tx_us, required_rx_us, required_echo_us;
};

/* Checks the n octets at data as RFC 5880 6.8.6 requires before a session is looked up. CNT_NONE:
 * *out is filled, its my_discr and detect_mult are not 0, and a your_discr of 0 comes with Down or
 * AdminDown. Else the counter of the drop. */
enum counter bfd_packet_read(const uint8_t *data, unsigned n, struct bfd_packet *out);

/* Writes the BFD_PACKET_LEN octets of a packet. */
void bfd_packet_write(uint8_t *out, const struct bfd_packet *p);

/* "admin-down", "down", "init", "up". */
const char *bfd_state_name(enum bfd_state s);

/* A diagnostic in words; "unknown" for undefined values. */
const char *bfd_diag_name(uint8_t diag);

#endif
