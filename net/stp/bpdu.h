/*
 * BPDUs, the messages of the spanning tree protocols: from a frame to fields and back (IEEE
 * 802.1D-2004 clause 9). All fields are big-endian.
 *
 *     octet 0  destination 01-80-c2-00-00-00, which no bridge forwards (7.12.6)
 *           6  source, the address of the sending port
 *          12  length of what follows but padding
 *          14  LLC: DSAP 0x42, SSAP 0x42, control 0x03 (UI)
 *          17  protocol identifier 0 (2 octets)
 *          19  protocol version: 0 STP, 2 RSTP, 3 and above MSTP and its successors
 *          20  type: 0 Configuration, 2 RST, 0x80 Topology Change Notification (TCN)
 *          21  flags; a TCN ends before them
 *          22  root bridge identifier (8)
 *          30  root path cost (4)
 *          34  bridge identifier of the sender (8)
 *          42  port identifier of the sender (2)
 *          44  message age, max age, hello time, forward delay (2 each), in 1/256 s
 *          52  RST only: version 1 length, 0
 *
 * What follows the fields of an RST BPDU is for MSTP, and ignored. An MSTP bridge is thus taken for an
 * RSTP bridge, as its standard intends (802.1Q-2018 14.6).
 *
 * Invariants
 * 1. stp_bpdu_read reads no octet beyond the given length.
 * 2. After it has returned CNT_NONE, role is not STP_BPDU_ROLE_UNKNOWN unless the type is TCN, and
 *    flags that only RST BPDUs have are false unless the type is RST.
 */
#ifndef NET_STP_BPDU_H
#define NET_STP_BPDU_H

#include "net/counters.h"
#include "net/eth.h"

#define STP_FRAME_LEN ETH_FRAME_MIN /* of every frame sent, with padding */
#define STP_TIME_UNIT 256u          /* a second, in the times of BPDUs (9.2.8) */

enum stp_bpdu_type { STP_BPDU_CONFIG = 0, STP_BPDU_RST = 2, STP_BPDU_TCN = 0x80 };

/* The role of the sending port, as encoded (9.2.9). */
enum stp_bpdu_role {
	STP_BPDU_ROLE_UNKNOWN,
	STP_BPDU_ROLE_ALTERNATE, /* or Backup */
	STP_BPDU_ROLE_ROOT,
	STP_BPDU_ROLE_DESIGNATED,
};

/*
 * A spanning tree priority vector (17.5). A bridge identifier is a number: 4 bits of priority and 12
 * of system identifier extension above the 48-bit address (9.2.5). A port identifier has 4 bits of
 * priority above the 12-bit port number (9.2.7). The lower number is the better.
 */
struct stp_vector {
	uint64_t RootBridgeID;
	uint64_t DesignatedBridgeID;
	uint32_t RootPathCost;
	uint16_t DesignatedPortID;
	uint16_t BridgePortID; /* the receiving port; not in BPDUs */
};

/* In 1/256 s, as on the wire (9.2.8). */
struct stp_times {
	uint16_t MessageAge;
	uint16_t MaxAge;
	uint16_t HelloTime;
	uint16_t ForwardDelay;
};

struct stp_bpdu {
	enum stp_bpdu_type type;
	uint8_t version;
	enum stp_bpdu_role role;
	bool tc, proposal, learning, forwarding, agreement, tcAck; /* flags */
	struct stp_vector priority;
	struct stp_times times;
};

#define STP_BRIDGE_ADDRESS(id) ((id) & 0xffffffffffffull)
#define STP_PORT_NUMBER(id) ((id) & 0xfffu)

/*
 * Decodes a received frame of n octets, untagged, without FCS, and validates it (9.3.4). `bridge` and
 * `port` identify the receiving port. Returns
 *     CNT_NONE                *out is filled
 *     CNT_drop_stp_malformed  another destination, LLC header, protocol or type; too short
 *     CNT_drop_stp_age        Configuration BPDU whose message age has reached its max age
 *     CNT_drop_stp_own        sent by this very port: the wire is a loop
 */
enum counter stp_bpdu_read(const uint8_t *frame, unsigned n, uint64_t bridge, uint16_t port,
                           struct stp_bpdu *out);

/* Writes the STP_FRAME_LEN octets of a frame from the station address `source`. The type says which
 * fields and flags are sent. */
void stp_bpdu_write(uint8_t *frame, const uint8_t *source, const struct stp_bpdu *b);

#endif
