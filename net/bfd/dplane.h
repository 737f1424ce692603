/*
 * The protocol between FRRouting's bfdd and a data plane that runs its BFD sessions ("distributed
 * BFD"). bfdd connects by TCP and states its sessions; the data plane reports their states. This room
 * decodes bfdd's messages and writes those to bfdd. No TCP, no clock, no memory but the caller's.
 *
 * A message has a header of 8 octets: version 1, zero, type (16 bits), id (16), length with the
 * header (16). All fields are big-endian.
 *
 *     type                         direction    octets
 *     0 ECHO_REQUEST               both         24     answered by ECHO_REPLY with the same times
 *     1 ECHO_REPLY                 both         24
 *     2 DP_ADD_SESSION             from bfdd   140     adds a session, or changes it
 *     3 DP_DELETE_SESSION          from bfdd   140
 *     4 BFD_STATE_CHANGE           to bfdd      36
 *     5 DP_REQUEST_SESSION_COUNTERS from bfdd   12     bfdd blocks until the answer has its id
 *     6 BFD_SESSION_COUNTERS       to bfdd      80
 *
 * A message of another version, type, direction or length is malformed: where the next one begins is
 * unknown. What a session asks for is not judged here.
 *
 * Invariants
 * 1. bfd_dplane_read reads no octet beyond the given length.
 * 2. struct bfd_dplane_message has copies, no pointers into the input.
 *
 * Specification: none is published. FRR's bfdd/bfddp_packet.h and bfdd/dplane.c, 8.4 to 10.x.
 *
 * Deliberately missing: version 2 (sessions with SBFD and SRv6 fields), the name of the interface,
 * `hold_time` and the echo intervals of a session, which bfdd leaves 0 or which concern the echo
 * function.
 */
#ifndef NET_BFD_DPLANE_H
#define NET_BFD_DPLANE_H

#include "lib/types.h"
#include "net/addr.h"

#define BFD_DPLANE_HEADER 8
#define BFD_DPLANE_MAX 140 /* octets of the longest message from bfdd */
#define BFD_DPLANE_OUT_MAX 80 /* and of the longest to it */

/* Why a message is malformed. */
#define BFD_DPLANE_ERRORS(X) \
	X(VERSION, "the version of the data plane protocol is not 1") \
	X(TYPE, "the message type is unknown, or one that only a data plane sends") \
	X(LENGTH, "the message length is wrong for its type")

enum bfd_dplane_error {
	BFD_DPLANE_OK,
#define BFD_DPLANE_ERROR_ENUM(name, text) BFD_DPLANE_ERR_##name,
	BFD_DPLANE_ERRORS(BFD_DPLANE_ERROR_ENUM)
#undef BFD_DPLANE_ERROR_ENUM
	BFD_DPLANE_ERRORS_END,
};

/* The text in BFD_DPLANE_ERRORS; "no error" for BFD_DPLANE_OK. */
const char *bfd_dplane_error_text(enum bfd_dplane_error e);

enum bfd_dplane_type {
	BFD_DPLANE_ECHO_REQUEST,
	BFD_DPLANE_ECHO_REPLY,
	BFD_DPLANE_ADD,
	BFD_DPLANE_DELETE,
	BFD_DPLANE_STATE,
	BFD_DPLANE_COUNTERS_REQUEST,
	BFD_DPLANE_COUNTERS,
};

enum bfd_dplane_flag {
	BFD_DPLANE_MULTIHOP = 1,
	BFD_DPLANE_DEMAND = 2,
	BFD_DPLANE_CBIT = 4,
	BFD_DPLANE_ECHO = 8,
	BFD_DPLANE_IPV6 = 16,
	BFD_DPLANE_PASSIVE = 32,
	BFD_DPLANE_SHUTDOWN = 64,
};

/* A session as bfdd states it. */
struct bfd_dplane_session {
	uint32_t flags;           /* enum bfd_dplane_flag, and unknown bits */
	struct net_addr src, dst; /* of the family that the flags name; src NET_ADDR_ANY: not stated */
	uint32_t lid;             /* local discriminator */
	uint32_t min_tx_us, min_rx_us;
	uint8_t ttl;              /* least TTL of a received packet */
	uint8_t detect_mult;
	uint32_t ifindex;         /* on the engine; 0: not stated */
};

struct bfd_dplane_message {
	enum bfd_dplane_type type;
	uint16_t id;
	uint32_t length;
	struct bfd_dplane_session session; /* ADD, DELETE */
	uint32_t lid;                      /* COUNTERS_REQUEST */
	uint64_t dp_time, bfdd_time;       /* ECHO_REQUEST, ECHO_REPLY */
};

/* Decodes the first message of the n octets at data. BFD_DPLANE_OK with out->length 0: it is not
 * complete. A wrong header is found as soon as it is complete. */
enum bfd_dplane_error bfd_dplane_read(const uint8_t *data, size_t n, struct bfd_dplane_message *out);

/* What bfdd is told of a session. */
struct bfd_dplane_state {
	uint32_t lid, rid;
	bool remote_cpi, remote_demand;
	uint32_t desired_tx_us, required_rx_us, required_echo_us; /* the peer's */
	uint8_t state;       /* ours, enum bfd_state */
	uint8_t remote_diag, remote_mult;
};

struct bfd_dplane_counters {
	uint32_t lid;
	uint64_t rx_octets, rx_packets, tx_octets, tx_packets; /* control packets */
};

/* Each writes a message of at most BFD_DPLANE_OUT_MAX octets and returns its length. */
unsigned bfd_dplane_write_echo(uint8_t *out, const struct bfd_dplane_message *request);
unsigned bfd_dplane_write_state(uint8_t *out, const struct bfd_dplane_state *s);
unsigned bfd_dplane_write_counters(uint8_t *out, uint16_t id, const struct bfd_dplane_counters *c);

#endif
