#include "tools/nicsim/packet/headers.h"

#include "tools/nicsim/packet/bytes.h"

enum { IP6_HOPOPTS = 0, IP6_ROUTING = 43, IP6_FRAGMENT = 44, IP6_DSTOPTS = 60 };

/* The bytes a header of this protocol must have; 0: not a known one. */
static uint32_t l4_header(uint8_t protocol)
{
	switch (protocol) {
	case IP_TCP:
		return 20;
	case IP_UDP:
		return 8;
	case IP_SCTP:
		return 12;
	}
	return 0;
}

static void parse_l4(struct headers *h, uint32_t at)
{
	uint32_t header = l4_header(h->protocol);
	if (header && at + header <= h->end)
		h->l4 = (uint16_t)at;
}

static void parse_ip4(const uint8_t *frame, uint32_t bytes, uint32_t at, struct headers *h)
{
	if (bytes < at + 20 || frame[at] >> 4 != 4)
		return;
	uint32_t header = (frame[at] & 15u) * 4, total = be16(&frame[at + 2]);
	if (header < 20 || total < header || total > bytes - at)
		return;
	h->version = 4;
	h->l3 = (uint16_t)at;
	h->end = (uint16_t)(at + total);
	h->extended = header > 20;
	h->fragment = be16(&frame[at + 6]) & 0x3fff; /* MF or an offset */
	h->protocol = frame[at + 9];
	if (!h->fragment)
		parse_l4(h, at + header);
}

static void parse_ip6(const uint8_t *frame, uint32_t bytes, uint32_t at, struct headers *h)
{
	if (bytes < at + 40 || frame[at] >> 4 != 6 || be16(&frame[at + 4]) > bytes - at - 40)
		return;
	h->version = 6;
	h->l3 = (uint16_t)at;
	h->end = (uint16_t)(at + 40 + be16(&frame[at + 4]));
	uint8_t next = frame[at + 6];
	at += 40;
	/* each header is at least eight bytes, so the loop ends with the packet */
	while (next == IP6_HOPOPTS || next == IP6_ROUTING || next == IP6_DSTOPTS ||
	       next == IP6_FRAGMENT) {
		h->extended = true;
		if (at + 8 > h->end)
			break;
		if (next == IP6_FRAGMENT)
			h->fragment = true;
		uint32_t length = next == IP6_FRAGMENT ? 8 : (frame[at + 1] + 1u) * 8;
		next = frame[at];
		if (length > h->end - at)
			break;
		at += length;
	}
	h->protocol = next;
	if (!h->fragment)
		parse_l4(h, at);
}

void headers_parse(const uint8_t *frame, uint32_t bytes, struct headers *h)
{
	*h = (struct headers){0};
	uint32_t at = 14, type = be16(frame + 12);
	if (type == 0x8100) {
		h->tagged = true;
		h->tci = (uint16_t)be16(frame + 14);
		type = be16(frame + 16);
		at = 18;
	}
	if (type == 0x0800)
		parse_ip4(frame, bytes, at, h);
	else if (type == 0x86dd)
		parse_ip6(frame, bytes, at, h);
}
