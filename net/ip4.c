/* See ip4.h. */
#include "net/ip4.h"

#include "lib/mem.h"

/* Option types (RFC 791 3.1): bit 7 means "copy into every fragment". */
enum ip4_option {
	OPT_END = 0,
	OPT_NOP = 1,
	OPT_RR = 7,
	OPT_TIMESTAMP = 68,
	OPT_LSRR = 131,
	OPT_SSRR = 137,
};
#define OPT_COPIED 0x80

unsigned ip4_options_error(const uint8_t *ip)
{
	unsigned end = ip4_header_len(ip);
	for (unsigned i = IP4_HLEN; i < end && ip[i] != OPT_END;) {
		if (ip[i] == OPT_NOP) {
			i++;
			continue;
		}
		if (end - i < 2)
			return i;
		if (ip[i + 1] < 2 || ip[i + 1] > end - i)
			return i + 1;
		/* RFC 1812 5.3.13.4 allows a configuration that discards source-routed packets; RFC
		 * 7126 4.3, 4.4 recommend it. We always do. */
		if (ip[i] == OPT_LSRR || ip[i] == OPT_SSRR)
			return i;
		i += ip[i + 1];
	}
	return 0;
}

enum counter ip4_check_slow(const uint8_t *ip, unsigned avail)
{
	if (avail < IP4_HLEN)
		return CNT_drop_ip4_short;
	if (ip[0] >> 4 != 4)
		return CNT_drop_ip4_version;
	unsigned header_len = ip4_header_len(ip);
	if (header_len < IP4_HLEN || header_len > avail)
		return CNT_drop_ip4_header_len;
	unsigned total = ip4_total_len(ip);
	if (total < header_len || total > avail)
		return CNT_drop_ip4_total_len;
	if (csum_fold(csum_partial(ip, header_len, 0)) != 0)
		return CNT_drop_ip4_checksum;
	if (ip4_src_is_martian(ip4_src(ip)))
		return CNT_drop_ip4_src_martian;
	if (ip4_dst_is_martian(ip4_dst(ip)))
		return CNT_drop_ip4_dst_martian;
	return ip4_options_error(ip) ? CNT_drop_ip4_options : CNT_NONE;
}

/* Fills a record route option of opt[1] bytes. opt[2]: place of the next address, from 1. */
static void record(uint8_t *opt, uint32_t addr)
{
	if (opt[1] < 3 || opt[2] < 4 || opt[2] + 3 > opt[1])
		return; /* full: forwarded unchanged (RFC 791 3.1) */
	be32_store(opt + opt[2] - 1, addr);
	opt[2] = (uint8_t)(opt[2] + 4);
}

/* Fills a timestamp option likewise. opt[3]: count of hops that found no room (upper 4 bits), and
 * the flag. */
static void stamp(uint8_t *opt, const struct ip4_passage *at)
{
	enum { TIME = 0, ADDRESS_TIME = 1, TIME_OF = 3 };
	if (opt[1] < 4 || opt[2] < 5)
		return;
	const unsigned flag = opt[3] & 15, bytes = flag == TIME ? 4 : 8;
	uint8_t *place = opt + opt[2] - 1;
	if (opt[2] > opt[1] && flag != TIME_OF && opt[3] < 0xf0)
		opt[3] = (uint8_t)(opt[3] + 0x10);
	if (opt[2] - 1 + bytes > opt[1] || (flag > ADDRESS_TIME && flag != TIME_OF))
		return;
	if (flag == TIME_OF && !at->is_ours(be32_load(place)))
		return;
	if (flag == ADDRESS_TIME)
		be32_store(place, at->addr);
	/* RFC 791 3.1: the high bit means that the time is not since midnight */
	be32_store(place + bytes - 4, at->time_ms | 0x80000000u);
	opt[2] = (uint8_t)(opt[2] + bytes);
}

void ip4_options_fill(uint8_t *ip, const struct ip4_passage *at)
{
	const unsigned end = ip4_header_len(ip);
	for (unsigned i = IP4_HLEN; i < end && ip[i] != OPT_END; i += ip[i] == OPT_NOP ? 1 : ip[i + 1])
		if (ip[i] == OPT_RR)
			record(ip + i, at->addr);
		else if (ip[i] == OPT_TIMESTAMP)
			stamp(ip + i, at);
	ip4_checksum_set(ip);
}

void ip4_checksum_set(uint8_t *ip)
{
	raw16_store(ip + 10, 0);
	raw16_store(ip + 10, csum_fold(csum_partial(ip, ip4_header_len(ip), 0)));
}

void ip4_header_build(uint8_t *ip, const struct ip4_build *b)
{
	struct ip4_header h = {
		.version_ihl = 0x45,
		.tos = b->tos,
		.total_len = be16_make((uint16_t)(IP4_HLEN + b->payload_len)),
		.id = be16_make(b->id),
		.flags_offset = be16_make(b->df ? IP4_FLAG_DF : 0),
		.ttl = b->ttl,
		.proto = b->proto,
		.src = be32_make(b->src),
		.dst = be32_make(b->dst),
	};
	memcpy(ip, &h, sizeof h);
	ip4_checksum_set(ip);
}

/* Makes the header of later fragments: only options with the copied bit, padded with END to a
 * multiple of 4 (RFC 791 3.1). Returns its length. */
static unsigned later_header(uint8_t *to, const uint8_t *ip, unsigned header_len)
{
	unsigned len = IP4_HLEN;
	memcpy(to, ip, IP4_HLEN);
	for (unsigned i = IP4_HLEN; i < header_len && ip[i] != OPT_END;) {
		unsigned n = ip[i] == OPT_NOP ? 1 : ip[i + 1];
		if (ip[i] & OPT_COPIED) {
			memcpy(to + len, ip + i, n);
			len += n;
		}
		i += n;
	}
	while (len % 4)
		to[len++] = OPT_END;
	to[0] = (uint8_t)(0x40 | len / 4);
	return len;
}

int ip4_frag_init(struct ip4_frag *it, const uint8_t *ip, unsigned mtu)
{
	unsigned header_len = ip4_header_len(ip);
	unsigned data_len = ip4_total_len(ip) - header_len;
	unsigned offset = (be16_load(ip + 6) & IP4_OFFSET_MASK) * 8u;
	*it = (struct ip4_frag){.ip = ip, .header_len = header_len, .mtu = mtu, .ended = true};
	if (header_len + data_len > mtu) {
		if (ip4_dont_fragment(ip) || mtu < header_len + 8)
			return E_INVAL;
		if (offset + data_len > 65535)
			return E_INVAL;
	}
	it->later_len = later_header(it->later, ip, header_len);
	it->data_len = data_len;
	it->ended = false;
	return E_OK;
}

unsigned ip4_frag_next(struct ip4_frag *it, uint8_t *out, unsigned room)
{
	bool first = it->done == 0;
	unsigned header_len = first ? it->header_len : it->later_len;
	unsigned rest = it->data_len - it->done;
	if (it->ended)
		return 0;
	unsigned n = it->mtu - header_len;
	if (n >= rest)
		n = rest;
	else
		n &= ~7u;
	if (header_len + n > room)
		return 0;
	memcpy(out, first ? it->ip : it->later, header_len);
	memcpy(out + header_len, it->ip + it->header_len + it->done, n);
	it->done += n;
	it->ended = it->done == it->data_len;

	/* RFC 791 3.2: all but the last get MF; the last keeps the source packet's flag */
	uint16_t word = be16_load(it->ip + 6);
	uint16_t offset = (uint16_t)((word & IP4_OFFSET_MASK) + (it->done - n) / 8);
	uint16_t flags = (uint16_t)(word & ~IP4_OFFSET_MASK);
	if (!it->ended)
		flags |= IP4_FLAG_MF;
	be16_store(out + 2, (uint16_t)(header_len + n));
	be16_store(out + 6, flags | offset);
	ip4_checksum_set(out);
	return header_len + n;
}
