#include "tools/nicsim/packet/segment.h"

#include <string.h>

#include "tools/nicsim/packet/bytes.h"
#include "tools/nicsim/packet/sum.h"

static void fix_ip(const struct segments *s, uint8_t *ip, uint32_t bytes, uint32_t number)
{
	if (!s->ipv4) {
		put_be16(ip + 4, bytes - 40);
		return;
	}
	put_be16(ip + 2, bytes);
	put_be16(ip + 4, be16(ip + 4) + number);
	put_be16(ip + 10, 0);
	uint16_t sum = (uint16_t)~sum_fold(sum_add(0, ip, s->l4 - s->l3));
	memcpy(ip + 10, &sum, 2);
}

static void fix_tcp(const struct segments *s, uint8_t *tcp, uint32_t from)
{
	uint32_t mask = from == 0 ? s->flags_first : s->flags_middle;
	if (s->payload - from <= s->mss)
		mask = s->flags_last;
	put_be32(tcp + 4, be32(tcp + 4) + from);
	put_be16(tcp + 12, be16(tcp + 12) & (mask | 0xf000)); /* above the flags: data offset */
}

static void fix_sum(const struct segments *s, uint8_t *l4, uint32_t bytes)
{
	uint16_t sum = (uint16_t)~sum_fold(sum_add(sum_word(bytes & 0xffff), l4, bytes));
	if (sum == 0 && !s->tcp)
		sum = 0xffff; /* RFC 768 */
	memcpy(l4 + (s->tcp ? 16 : 6), &sum, 2);
}

uint32_t segment_make(const struct segments *s, const uint8_t *whole, uint32_t from, uint8_t *out)
{
	uint32_t payload = s->payload - from < s->mss ? s->payload - from : s->mss;
	uint32_t bytes = s->headers + payload;
	memcpy(out, whole, s->headers);
	memcpy(out + s->headers, whole + s->headers + from, payload);
	fix_ip(s, out + s->l3, bytes - s->l3, from / s->mss);
	if (s->tcp)
		fix_tcp(s, out + s->l4, from);
	else
		put_be16(out + s->l4 + 4, bytes - s->l4);
	fix_sum(s, out + s->l4, bytes - s->l4);
	return bytes;
}
