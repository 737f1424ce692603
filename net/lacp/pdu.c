/* See pdu.h. */
#include "net/lacp/pdu.h"

#define SUBTYPE_LACP 1
#define SUBTYPE_MARKER 2
#define VERSION 1
#define TLV_ACTOR 1
#define TLV_PARTNER 2
#define TLV_COLLECTOR 3
#define TLV_END_LEN 20
#define TLV_COLLECTOR_LEN 16
#define TLV_MARKER_LEN 16
#define TYPE_MARKER 1
#define TYPE_MARKER_RESPONSE 2

#define AT_ACTOR 2
#define AT_PARTNER 22
#define AT_COLLECTOR 42
#define AT_MARKER 2
#define AT_MARKER_END 18

/* Slow_Protocols_Multicast. */
static const uint8_t group_address[ETH_ALEN] = {0x01, 0x80, 0xc2, 0x00, 0x00, 0x02};

static void read_end(const uint8_t *tlv, struct lacp_end *out)
{
	out->system_priority = be16_load(tlv + 2);
	eth_copy(out->system, tlv + 4);
	out->key = be16_load(tlv + 10);
	out->port_priority = be16_load(tlv + 12);
	out->port = be16_load(tlv + 14);
	out->state = tlv[16];
}

static void write_end(uint8_t *tlv, unsigned type, const struct lacp_end *e)
{
	tlv[0] = (uint8_t)type;
	tlv[1] = TLV_END_LEN;
	be16_store(tlv + 2, e->system_priority);
	eth_copy(tlv + 4, e->system);
	be16_store(tlv + 10, e->key);
	be16_store(tlv + 12, e->port_priority);
	be16_store(tlv + 14, e->port);
	tlv[16] = e->state;
}

/* 6.4.12: the lengths of TLVs may be validated, their types and the version must not be. */
static enum counter read_lacpdu(const uint8_t *pdu, struct lacp_pdu *out)
{
	if (pdu[AT_ACTOR + 1] != TLV_END_LEN || pdu[AT_PARTNER + 1] != TLV_END_LEN ||
	    pdu[AT_COLLECTOR + 1] != TLV_COLLECTOR_LEN)
		return CNT_drop_lacp_malformed;
	out->kind = LACP_KIND_LACPDU;
	read_end(pdu + AT_ACTOR, &out->actor);
	read_end(pdu + AT_PARTNER, &out->partner);
	return eth_is_station(out->actor.system) ? CNT_NONE : CNT_drop_lacp_malformed;
}

/* 6.5.4.2 likewise; the type says which of the two messages this is. */
static enum counter read_marker(const uint8_t *pdu, struct lacp_pdu *out)
{
	const uint8_t type = pdu[AT_MARKER];
	if ((type != TYPE_MARKER && type != TYPE_MARKER_RESPONSE) || pdu[AT_MARKER + 1] != TLV_MARKER_LEN)
		return CNT_drop_lacp_malformed;
	out->kind = type == TYPE_MARKER ? LACP_KIND_MARKER : LACP_KIND_MARKER_RESPONSE;
	return CNT_NONE;
}

enum counter lacp_pdu_read(const uint8_t *frame, unsigned n, struct lacp_pdu *out)
{
	const uint8_t *pdu = frame + ETH_HLEN;
	*out = (struct lacp_pdu){0};
	if (n <= ETH_HLEN || !eth_equal(frame, group_address) || !eth_is_station(frame + ETH_ALEN) ||
	    be16_load(frame + 2 * ETH_ALEN) != ETH_TYPE_SLOW)
		return CNT_drop_lacp_malformed;
	if (pdu[0] != SUBTYPE_LACP && pdu[0] != SUBTYPE_MARKER)
		return CNT_drop_slow_subtype;
	if (n < LACP_FRAME_LEN)
		return CNT_drop_lacp_malformed;
	return pdu[0] == SUBTYPE_LACP ? read_lacpdu(pdu, out) : read_marker(pdu, out);
}

static uint8_t *write_head(uint8_t *frame, const uint8_t *source, unsigned subtype)
{
	memset(frame, 0, LACP_FRAME_LEN);
	eth_header_build(frame, group_address, source, ETH_TYPE_SLOW);
	frame[ETH_HLEN] = (uint8_t)subtype;
	frame[ETH_HLEN + 1] = VERSION;
	return frame + ETH_HLEN;
}

/* The maximum delay of our collector is 0: it delivers frames as they come (6.2.3.1.1). */
void lacp_pdu_write(uint8_t *frame, const uint8_t *source, const struct lacp_end *actor,
                    const struct lacp_end *partner)
{
	uint8_t *pdu = write_head(frame, source, SUBTYPE_LACP);
	write_end(pdu + AT_ACTOR, TLV_ACTOR, actor);
	write_end(pdu + AT_PARTNER, TLV_PARTNER, partner);
	pdu[AT_COLLECTOR] = TLV_COLLECTOR;
	pdu[AT_COLLECTOR + 1] = TLV_COLLECTOR_LEN;
}

void lacp_marker_answer(uint8_t *frame, const uint8_t *source, const uint8_t *marker)
{
	uint8_t *pdu = write_head(frame, source, SUBTYPE_MARKER);
	memcpy(pdu + AT_MARKER, marker + ETH_HLEN + AT_MARKER, AT_MARKER_END - AT_MARKER);
	pdu[AT_MARKER] = TYPE_MARKER_RESPONSE;
}
