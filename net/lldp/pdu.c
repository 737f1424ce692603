/* See pdu.h. */
#include "net/lldp/pdu.h"

#include "lib/assert.h"

enum tlv {
	TLV_END,
	TLV_CHASSIS,
	TLV_PORT,
	TLV_TTL,
	TLV_PORT_DESCRIPTION,
	TLV_SYSTEM_NAME,
	TLV_SYSTEM_DESCRIPTION,
	TLV_CAPABILITIES,
	TLV_ADDRESS,
	TLV_ORGANISATION = 127,
};

#define TLV_HEADER 2
#define TLV_LEN_MASK 0x1ff

/* OUI and subtype together. */
#define ORGANISATION_LEN 4
#define PORT_VLAN 0x0080c201u      /* IEEE 802.1Q D.2.1 */
#define FRAME_SIZE_MAX 0x00120f04u /* IEEE 802.3 79.3.4 */

/* --- reading --- */

static bool read_id(struct lldp_id *id, const uint8_t *at, unsigned len)
{
	if (len < 2 || len > 1 + LLDP_STRING_MAX)
		return false;
	*id = (struct lldp_id){at[0], {at + 1, (uint16_t)(len - 1)}};
	return true;
}

/* The first of its kind counts. */
static bool read_text(struct lldp_string *text, const uint8_t *at, unsigned len)
{
	if (text->at != NULL || len > LLDP_STRING_MAX)
		return false;
	*text = (struct lldp_string){at, (uint16_t)len};
	return true;
}

/* 8.5.8.3: a TLV that enables what the system is not capable of is in error. */
static bool read_capabilities(struct lldp_pdu *out, const uint8_t *at, unsigned len)
{
	if (out->has_capabilities || len != 4 || (be16_load(at + 2) & ~be16_load(at)))
		return false;
	out->has_capabilities = true;
	out->capabilities = be16_load(at);
	out->enabled = be16_load(at + 2);
	return true;
}

/* 8.5.9: length of subtype and address, subtype, address; numbering, number, length of OID, OID. Of more
 * than LLDP_ADDRESSES_MAX addresses the first ones are kept. */
static bool read_address(struct lldp_pdu *out, const uint8_t *at, unsigned len)
{
	const unsigned string = len ? at[0] : 0, behind = 1 + string;
	if (string < 2 || string > 1 + LLDP_ADDRESS_LEN_MAX || len < behind + 6)
		return false;
	const unsigned oid = at[behind + 5];
	if (oid > 128 || len != behind + 6 + oid)
		return false;
	if (out->addresses < LLDP_ADDRESSES_MAX)
		out->address[out->addresses++] = (struct lldp_address){
			.family = at[1],
			.value = {at + 2, (uint16_t)(string - 1)},
			.numbering = at[behind],
			.number = be32_load(at + behind + 1),
		};
	return true;
}

static bool read_u16(bool *has, uint16_t *value, const uint8_t *at, unsigned len)
{
	if (*has || len != ORGANISATION_LEN + 2)
		return false;
	*has = true;
	*value = be16_load(at + ORGANISATION_LEN);
	return true;
}

static bool read_organisation(struct lldp_pdu *out, const uint8_t *at, unsigned len)
{
	if (len < ORGANISATION_LEN)
		return false;
	switch (be32_load(at)) {
	case PORT_VLAN:
		return read_u16(&out->has_vlan, &out->vlan, at, len);
	case FRAME_SIZE_MAX:
		return read_u16(&out->has_frame_max, &out->frame_max, at, len);
	default:
		out->unknown++;
		return true;
	}
}

static bool read_optional(struct lldp_pdu *out, unsigned type, const uint8_t *at, unsigned len)
{
	switch (type) {
	case TLV_PORT_DESCRIPTION:
		return read_text(&out->port_description, at, len);
	case TLV_SYSTEM_NAME:
		return read_text(&out->system_name, at, len);
	case TLV_SYSTEM_DESCRIPTION:
		return read_text(&out->system_description, at, len);
	case TLV_CAPABILITIES:
		return read_capabilities(out, at, len);
	case TLV_ADDRESS:
		return read_address(out, at, len);
	case TLV_ORGANISATION:
		return read_organisation(out, at, len);
	default:
		out->unknown++; /* reserved types (table 8-1) */
		return true;
	}
}

/* The TLV at position `place`, from 1. */
static enum counter read_tlv(struct lldp_pdu *out, unsigned place, unsigned type, const uint8_t *at,
                             unsigned len)
{
	/* 9.2.7.7.1: the first three are the mandatory ones, in this order, and come once */
	if (place <= TLV_TTL ? type != place : type >= TLV_CHASSIS && type <= TLV_TTL)
		return CNT_drop_lldp_order;
	bool good = true;
	switch (type) {
	case TLV_CHASSIS:
		good = read_id(&out->chassis, at, len);
		break;
	case TLV_PORT:
		good = read_id(&out->port, at, len);
		break;
	case TLV_TTL:
		good = len >= 2;
		if (good)
			out->ttl_s = be16_load(at);
		break;
	case TLV_END:
		good = len == 0;
		break;
	default:
		if (!read_optional(out, type, at, len))
			out->discarded++;
	}
	return good ? CNT_NONE : CNT_drop_lldp_length;
}

static bool is_optional(unsigned place, unsigned type)
{
	return place > TLV_TTL && type > TLV_TTL;
}

enum counter lldp_pdu_read(const uint8_t *pdu, unsigned n, struct lldp_pdu *out)
{
	*out = (struct lldp_pdu){0};
	unsigned at = 0, type = TLV_CHASSIS, place = 1;
	for (; at < n && type != TLV_END; place++) {
		type = pdu[at] >> 1;
		const unsigned len = n - at < TLV_HEADER ? LLDP_PDU_MAX : be16_load(pdu + at) & TLV_LEN_MASK;
		at += TLV_HEADER;
		if (at + len > n) {
			if (!is_optional(place, type))
				return CNT_drop_lldp_length;
			out->discarded++; /* 9.2.7.7.2: this TLV alone */
			at = n;
			continue;
		}
		const enum counter bad = read_tlv(out, place, type, pdu + at, len);
		if (bad != CNT_NONE)
			return bad;
		at += len;
		if (type == TLV_PORT)
			out->identity = (uint16_t)at;
		if (type == TLV_TTL && out->ttl_s == 0)
			n = at; /* a shutdown: the rest does not matter */
	}
	/* The end TLV may be missing where the frame ends behind a whole TLV. */
	out->len = (uint16_t)at;
	return place > TLV_TTL ? CNT_NONE : CNT_drop_lldp_order;
}

/* --- writing --- */

struct writer {
	uint8_t *at;
	unsigned len;
};

/* Begins a TLV and returns where its information string goes; NULL: no room is left. */
static uint8_t *put_tlv(struct writer *w, enum tlv type, unsigned len)
{
	if (w->len + TLV_HEADER + len > LLDP_PDU_MAX - TLV_HEADER) /* the end TLV always has its room */
		return NULL;
	uint8_t *tlv = w->at + w->len;
	be16_store(tlv, (uint16_t)((unsigned)type << 9 | len));
	w->len += TLV_HEADER + len;
	return tlv + TLV_HEADER;
}

static void put_id(struct writer *w, enum tlv type, const struct lldp_id *id)
{
	assert(id->value.len > 0 && id->value.len <= LLDP_STRING_MAX);
	uint8_t *to = put_tlv(w, type, 1u + id->value.len);
	assert(to != NULL); /* 258 octets each, at the beginning */
	to[0] = id->subtype;
	memcpy(to + 1, id->value.at, id->value.len);
}

static void put_text(struct writer *w, enum tlv type, const struct lldp_string *text)
{
	const unsigned len = text->len < LLDP_STRING_MAX ? text->len : LLDP_STRING_MAX;
	uint8_t *to = text->at ? put_tlv(w, type, len) : NULL;
	if (to)
		memcpy(to, text->at, len);
}

static void put_capabilities(struct writer *w, const struct lldp_pdu *p)
{
	uint8_t *to = p->has_capabilities ? put_tlv(w, TLV_CAPABILITIES, 4) : NULL;
	if (!to)
		return;
	be16_store(to, p->capabilities);
	be16_store(to + 2, p->enabled);
}

static void put_address(struct writer *w, const struct lldp_address *a)
{
	const unsigned len = a->value.len;
	assert(len > 0 && len <= LLDP_ADDRESS_LEN_MAX);
	uint8_t *to = put_tlv(w, TLV_ADDRESS, 2 + len + 6);
	if (!to)
		return;
	to[0] = (uint8_t)(1 + len);
	to[1] = a->family;
	memcpy(to + 2, a->value.at, len);
	to += 2 + len;
	to[0] = a->numbering;
	be32_store(to + 1, a->number);
	to[5] = 0; /* no OID */
}

static void put_organisation(struct writer *w, uint32_t kind, uint16_t value)
{
	uint8_t *to = put_tlv(w, TLV_ORGANISATION, ORGANISATION_LEN + 2);
	if (!to)
		return;
	be32_store(to, kind);
	be16_store(to + ORGANISATION_LEN, value);
}

static void put_optional(struct writer *w, const struct lldp_pdu *p)
{
	put_text(w, TLV_PORT_DESCRIPTION, &p->port_description);
	put_text(w, TLV_SYSTEM_NAME, &p->system_name);
	put_text(w, TLV_SYSTEM_DESCRIPTION, &p->system_description);
	put_capabilities(w, p);
	for (unsigned i = 0; i < p->addresses; i++)
		put_address(w, &p->address[i]);
	if (p->has_vlan)
		put_organisation(w, PORT_VLAN, p->vlan);
	if (p->has_frame_max)
		put_organisation(w, FRAME_SIZE_MAX, p->frame_max);
}

unsigned lldp_pdu_write(uint8_t *pdu, const struct lldp_pdu *p)
{
	struct writer w = {pdu, 0};
	put_id(&w, TLV_CHASSIS, &p->chassis);
	put_id(&w, TLV_PORT, &p->port);
	be16_store(put_tlv(&w, TLV_TTL, 2), p->ttl_s);
	if (p->ttl_s)
		put_optional(&w, p);
	be16_store(pdu + w.len, TLV_END);
	return w.len + TLV_HEADER;
}
