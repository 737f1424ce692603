/* See bpdu.h. */
#include "net/stp/bpdu.h"

#define AT_LLC ETH_HLEN
#define AT_BPDU (ETH_HLEN + LLC_LEN)
#define LLC_LEN 3u
#define LENGTH_MAX 1500u /* what is above is a type (IEEE 802.3 3.2.6) */
#define LLC_SAP 0x42 /* DSAP and SSAP of the spanning tree protocols */
#define LLC_UI 0x03

/* Octets of a BPDU (9.3.1 to 9.3.3). */
#define TCN_LEN 4u
#define CONFIG_LEN 35u
#define RST_LEN 36u
_Static_assert(AT_BPDU + RST_LEN <= STP_FRAME_LEN, "every BPDU needs padding");

#define VERSION_STP 0
#define VERSION_RSTP 2

/* Flags (9.3.1, 9.3.3). */
#define FLAG_TC 0x01
#define FLAG_PROPOSAL 0x02
#define FLAG_ROLE_SHIFT 2
#define FLAG_LEARNING 0x10
#define FLAG_FORWARDING 0x20
#define FLAG_AGREEMENT 0x40
#define FLAG_TC_ACK 0x80

/* The bridge group address (802.1D-2004 7.12.6). */
static const uint8_t group_address[ETH_ALEN] = {0x01, 0x80, 0xc2, 0x00, 0x00, 0x00};

/* The octets of the BPDU in a frame that has its addresses and LLC header; 0: it is not one. */
static unsigned bpdu_length(const uint8_t *frame, unsigned n)
{
	if (n < AT_BPDU || !eth_equal(frame, group_address))
		return 0;
	const unsigned length = be16_load(frame + 2 * ETH_ALEN);
	if (length < LLC_LEN || length > n - ETH_HLEN || length > LENGTH_MAX)
		return 0;
	if (frame[AT_LLC] != LLC_SAP || frame[AT_LLC + 1] != LLC_SAP || frame[AT_LLC + 2] != LLC_UI)
		return 0;
	return length - LLC_LEN;
}

static void read_flags(uint8_t flags, struct stp_bpdu *out)
{
	out->tc = flags & FLAG_TC;
	out->tcAck = flags & FLAG_TC_ACK;
	out->role = STP_BPDU_ROLE_DESIGNATED;
	const enum stp_bpdu_role role = flags >> FLAG_ROLE_SHIFT & 3;
	/* 9.2.9: an RST BPDU of unknown role is treated as a Configuration BPDU, which has the
	 * Designated role (17.21.8) and no other flags */
	if (out->type != STP_BPDU_RST || role == STP_BPDU_ROLE_UNKNOWN)
		return;
	out->role = role;
	out->proposal = flags & FLAG_PROPOSAL;
	out->learning = flags & FLAG_LEARNING;
	out->forwarding = flags & FLAG_FORWARDING;
	out->agreement = flags & FLAG_AGREEMENT;
}

/* The fields of a Configuration or RST BPDU of at least CONFIG_LEN octets. */
static void read_fields(const uint8_t *p, struct stp_bpdu *out)
{
	read_flags(p[4], out);
	out->priority = (struct stp_vector){
		.RootBridgeID = be64_load(p + 5),
		.RootPathCost = be32_load(p + 13),
		.DesignatedBridgeID = be64_load(p + 17),
		.DesignatedPortID = be16_load(p + 25),
	};
	out->times = (struct stp_times){
		.MessageAge = be16_load(p + 27),
		.MaxAge = be16_load(p + 29),
		.HelloTime = be16_load(p + 31),
		.ForwardDelay = be16_load(p + 33),
	};
}

/* Do the type, the version and the length go together (9.3.4; 802.1Q-2018 14.5 has the version of an RST BPDU)? */
static bool is_whole(const uint8_t *p, unsigned length)
{
	if (length < TCN_LEN || be16_load(p) != 0)
		return false;
	switch (p[3]) {
	case STP_BPDU_TCN:
		return true;
	case STP_BPDU_CONFIG:
		return length >= CONFIG_LEN;
	case STP_BPDU_RST:
		return length >= RST_LEN && p[2] >= VERSION_RSTP;
	default:
		return false;
	}
}

enum counter stp_bpdu_read(const uint8_t *frame, unsigned n, uint64_t bridge, uint16_t port,
                           struct stp_bpdu *out)
{
	const unsigned length = bpdu_length(frame, n);
	const uint8_t *p = frame + AT_BPDU;
	if (length == 0 || !is_whole(p, length))
		return CNT_drop_stp_malformed;
	*out = (struct stp_bpdu){.type = p[3], .version = p[2]};
	if (out->type == STP_BPDU_TCN)
		return CNT_NONE;
	read_fields(p, out);
	/* 9.3.4 names Configuration BPDUs only. An RST BPDU that comes back is no less our own. The
	 * priorities may have changed since, so addresses and numbers are compared. */
	if (STP_BRIDGE_ADDRESS(out->priority.DesignatedBridgeID) == STP_BRIDGE_ADDRESS(bridge) &&
	    STP_PORT_NUMBER(out->priority.DesignatedPortID) == STP_PORT_NUMBER(port))
		return CNT_drop_stp_own;
	if (out->type == STP_BPDU_CONFIG && out->times.MessageAge >= out->times.MaxAge)
		return CNT_drop_stp_age;
	return CNT_NONE;
}

static uint8_t flags_of(const struct stp_bpdu *b)
{
	unsigned flags = b->tc ? FLAG_TC : 0;
	if (b->type == STP_BPDU_CONFIG) /* the acknowledgement flag of an RST BPDU is 0 (9.3.3) */
		return (uint8_t)(flags | (b->tcAck ? FLAG_TC_ACK : 0));
	flags |= (unsigned)b->role << FLAG_ROLE_SHIFT;
	flags |= b->proposal ? FLAG_PROPOSAL : 0;
	flags |= b->learning ? FLAG_LEARNING : 0;
	flags |= b->forwarding ? FLAG_FORWARDING : 0;
	flags |= b->agreement ? FLAG_AGREEMENT : 0;
	return (uint8_t)flags;
}

void stp_bpdu_write(uint8_t *frame, const uint8_t *source, const struct stp_bpdu *b)
{
	const unsigned length = b->type == STP_BPDU_TCN      ? TCN_LEN
	                        : b->type == STP_BPDU_CONFIG ? CONFIG_LEN
	                                                     : RST_LEN;
	uint8_t *p = frame + AT_BPDU;
	memset(frame, 0, STP_FRAME_LEN); /* protocol identifier, version 1 length, padding */
	eth_header_build(frame, group_address, source, (uint16_t)(LLC_LEN + length));
	frame[AT_LLC] = frame[AT_LLC + 1] = LLC_SAP;
	frame[AT_LLC + 2] = LLC_UI;
	p[2] = b->type == STP_BPDU_RST ? VERSION_RSTP : VERSION_STP;
	p[3] = (uint8_t)b->type;
	if (b->type == STP_BPDU_TCN)
		return;
	p[4] = flags_of(b);
	be64_store(p + 5, b->priority.RootBridgeID);
	be32_store(p + 13, b->priority.RootPathCost);
	be64_store(p + 17, b->priority.DesignatedBridgeID);
	be16_store(p + 25, b->priority.DesignatedPortID);
	be16_store(p + 27, b->times.MessageAge);
	be16_store(p + 29, b->times.MaxAge);
	be16_store(p + 31, b->times.HelloTime);
	be16_store(p + 33, b->times.ForwardDelay);
}
