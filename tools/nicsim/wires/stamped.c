#include "tools/nicsim/wires/stamped.h"

#include "tools/nicsim/packet/bytes.h"
#include "tools/nicsim/packet/headers.h"
#include "tools/nicsim/wires/judge.h"

#define TAG     4
#define HEADERS 18 /* minimum for headers_parse */

/* Bytes between the IP header and the stamp. */
static uint32_t l4_bytes(uint8_t protocol)
{
	switch (protocol) {
	case IP_TCP:
		return 20;
	case IP_UDP:
	case IP_ICMP:
	case IP_ICMP6:
		return 8;
	}
	return 0;
}

bool stamped_find(const uint8_t *data, uint32_t bytes, struct stamped *s)
{
	struct headers h;
	uint32_t tags = 0;
	while (tags < STAMPED_TAGS * TAG && bytes >= tags + TAG + HEADERS &&
	       (be16(data + 12 + tags) == 0x8100 || be16(data + 12 + tags) == 0x88a8))
		tags += TAG;
	if (bytes < tags + HEADERS)
		return false;
	/* parsed as if there were no tags: the addresses before them are not used */
	headers_parse(data + tags, bytes - tags, &h);
	if (h.l3 == 0 || h.tagged || h.extended || h.fragment)
		return false;
	s->tags = (uint16_t)tags;
	s->l3 = (uint16_t)(tags + h.l3);
	s->l4 = (uint16_t)(s->l3 + (h.version == 4 ? 20 : 40));
	s->stamp = (uint16_t)(s->l4 + l4_bytes(h.protocol));
	s->end = (uint16_t)(tags + h.end);
	s->version = h.version;
	s->protocol = h.protocol;
	if (s->end < s->stamp + sizeof(struct stamp))
		return false;
	return sum_load16(data + s->stamp) == STAMP_MAGIC;
}
