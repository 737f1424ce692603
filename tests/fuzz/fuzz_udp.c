/*
 * UDP of net/: the input is a byte that says what to correct, then a packet. An accepted datagram
 * lies within its packet; its echo is a valid datagram, too, and the echo of that is the original.
 */
#include "tests/fuzz/input.h"

#include "lib/csum.h"
#include "net/ip.h"
#include "net/udp.h"

enum mend {
	MEND_UDP = 1,    /* length and checksum of UDP are corrected */
	MEND_LENGTH = 2, /* the total length is set to that of the input */
	MEND_KNOWN = 4,  /* the port says that it has verified the checksum */
	OVER_IP6 = 8,    /* an IPv6 packet; only the version and what MEND_UDP says are corrected */
};

static void mend(uint8_t *ip, size_t n, unsigned what)
{
	if (n < IP4_HLEN || ip4_header_len(ip) < IP4_HLEN || ip4_header_len(ip) > n)
		return;
	unsigned header = ip4_header_len(ip);
	if ((what & MEND_LENGTH) && n <= 65535)
		be16_store(ip + 2, (uint16_t)n);
	unsigned total = ip4_total_len(ip);
	ip[9] = IP4_PROTO_UDP;
	if ((what & MEND_UDP) && total <= n && total >= header + UDP_HLEN) {
		uint16_t len = (uint16_t)(total - header);
		uint8_t *udp = ip + header;
		be16_store(udp + 4, len);
		raw16_store(udp + 6, 0);
		uint32_t sum = csum_pseudo4(ip4_src(ip), ip4_dst(ip), IP4_PROTO_UDP, len);
		raw16_store(udp + 6, csum_fold(csum_partial(udp, len, sum)));
	}
	ip4_checksum_set(ip);
}

static void echo(uint8_t *ip, unsigned len, const struct udp_datagram *d)
{
	struct udp_datagram e;
	udp_echo_make(ip);
	assert(ip4_check(ip, len) == CNT_NONE || ip4_check(ip, len) == CNT_drop_ip4_src_martian ||
	       ip4_check(ip, len) == CNT_drop_ip4_dst_martian);
	assert(udp_check(ip, len, true, &e) == CNT_NONE);
	assert(net_addr_equal(&e.src, &d->dst) && net_addr_equal(&e.dst, &d->src));
	assert(e.src_port == d->dst_port && e.dst_port == d->src_port);
	assert(e.data == d->data && e.data_len == d->data_len);
}

static void build(const struct udp_datagram *d)
{
	static uint8_t out[65600];
	struct udp_datagram e;
	struct udp_build b = {.src = net_addr_ip4(IP4(192, 0, 2, 1)),
	                      .dst = net_addr_ip4(IP4(192, 0, 2, 2)), .src_port = d->dst_port,
	                      .dst_port = d->src_port, .ttl = 64};
	unsigned n = udp_packet_build(out, sizeof out, &b, d->data, d->data_len);
	assert(n == 28 + d->data_len && ip4_check(out, n) == CNT_NONE);
	assert(udp_check(out, n, false, &e) == CNT_NONE && e.data_len == d->data_len);
	assert(memcmp(e.data, d->data, d->data_len) == 0);
	b.src = IP6(0x20010db8, 0, 0, 1);
	b.dst = IP6(0xfe800000, 0, 0, 2);
	n = udp_packet_build(out, sizeof out, &b, d->data, d->data_len);
	assert(n == 48 + d->data_len && ip6_check(out, n) == CNT_NONE);
	assert(udp_check(out, n, false, &e) == CNT_NONE && e.data_len == d->data_len);
	assert(memcmp(e.data, d->data, d->data_len) == 0);
}

/* Corrects the checksum of what udp_check would accept; the input's other bytes stay. */
static void mend6(uint8_t *ip, const struct ip6_upper *up)
{
	uint8_t *udp = ip + up->at;
	unsigned room = ip6_total_len(ip) - up->at;
	if (room < UDP_HLEN)
		return;
	be16_store(udp + 4, (uint16_t)room);
	raw16_store(udp + 6, 0);
	uint32_t sum = csum_pseudo6(ip + 8, ip + 24, IP6_UDP, room);
	uint16_t csum = csum_fold(csum_partial(udp, room, sum));
	raw16_store(udp + 6, csum ? csum : 0xffff);
}

/* The same over IPv6, with the packet as it is; extension headers are not returned. */
static void over_ip6(uint8_t *ip, size_t n, unsigned what)
{
	struct ip6_upper up;
	struct udp_datagram d, e;
	unsigned len = (unsigned)n;
	if (n && what & MEND_UDP)
		ip[0] = (uint8_t)(0x60 | (ip[0] & 15));
	if (ip6_check(ip, len) != CNT_NONE || ip6_upper(ip, &up) != CNT_NONE || up.fragment ||
	    up.proto != IP6_UDP)
		return;
	if (what & MEND_UDP)
		mend6(ip, &up);
	if (udp_check(ip, len, what & MEND_KNOWN, &d) != CNT_NONE)
		return;
	assert(d.data >= ip + up.at && d.data + d.data_len <= ip + len);
	uint8_t *reply = udp_echo_make(ip);
	assert(reply == ip + up.at - IP6_HLEN && ip6_next(reply) == IP6_UDP);
	assert(udp_check(reply, len - (unsigned)(reply - ip), what & MEND_KNOWN, &e) == CNT_NONE);
	assert(net_addr_equal(&e.src, &d.dst) && net_addr_equal(&e.dst, &d.src));
	assert(e.src_port == d.dst_port && e.data == d.data && e.data_len == d.data_len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	unsigned what = take8(&in);
	uint8_t *ip = exactly(in.p, in.n);
	unsigned len = (unsigned)in.n;
	struct udp_datagram d;
	if (in.n && (what & OVER_IP6)) {
		over_ip6(ip, in.n, what);
		free(ip);
		return 0;
	}
	mend(ip, in.n, what);
	if (ip4_check(ip, len) == CNT_NONE && !ip4_is_fragment(ip) &&
	    ip4_proto(ip) == IP4_PROTO_UDP &&
	    udp_check(ip, len, what & MEND_KNOWN, &d) == CNT_NONE) {
		assert(d.data >= ip && d.data + d.data_len <= ip + len);
		if (d.data_len <= 65507)
			build(&d);
		echo(ip, len, &d);
	}
	free(ip);
	return 0;
}
