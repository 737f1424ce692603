/* Packets for tests, made independently of the code under test: slow and obvious. */
#ifndef TESTS_UNIT_RIG_PACKETS_H
#define TESTS_UNIT_RIG_PACKETS_H

#include <arpa/inet.h>

#include "tests/unit/rig/host.h"

#include "net/addr.h"

/* The checksum by its definition, in host order. */
static inline uint16_t slow_csum(const uint8_t *p, size_t n)
{
	uint32_t sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += i % 2 ? p[i] : (uint32_t)p[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

static inline void put16(uint8_t *p, unsigned v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static inline void put32(uint8_t *p, uint32_t v)
{
	put16(p, v >> 16);
	put16(p + 2, v & 0xffff);
}

static inline void slow_ip_csum(uint8_t *ip)
{
	put16(ip + 10, 0);
	put16(ip + 10, slow_csum(ip, (ip[0] & 15u) * 4));
}

/* Makes an IPv4 packet with nopt bytes of options (a multiple of 4) and n bytes of payload, which
 * are left unchanged. Returns its length. */
static inline unsigned make_ip(uint8_t *ip, uint32_t src, uint32_t dst, uint8_t proto,
                               const uint8_t *opt, unsigned nopt, unsigned n)
{
	memset(ip, 0, 20);
	ip[0] = (uint8_t)(0x45 + nopt / 4);
	put16(ip + 2, 20 + nopt + n);
	put16(ip + 4, 0xbeef);
	ip[8] = 17;
	ip[9] = proto;
	put32(ip + 12, src);
	put32(ip + 16, dst);
	if (nopt)
		memcpy(ip + 20, opt, nopt);
	slow_ip_csum(ip);
	return 20 + nopt + n;
}

/* The UDP checksum of the packet at ip over pseudo header and datagram; 0 if the field is
 * correct. */
static inline uint16_t slow_udp_csum(const uint8_t *ip)
{
	static uint8_t all[12 + 65536];
	const uint8_t *udp = ip + (ip[0] & 15u) * 4;
	unsigned n = (unsigned)udp[4] << 8 | udp[5];
	memcpy(all, ip + 12, 8);
	all[8] = 0;
	all[9] = 17;
	put16(all + 10, n);
	memcpy(all + 12, udp, n);
	return slow_csum(all, 12 + n);
}

/* An IPv6 address from its text, by the C library. */
static inline struct net_addr addr6(const char *text)
{
	struct net_addr a;
	assert_int_equal(inet_pton(AF_INET6, text, &a), 1);
	return a;
}

/* Makes an IPv6 header before n bytes of payload, which are left unchanged. Returns the length. */
static inline unsigned make_ip6(uint8_t *ip, const char *src, const char *dst, uint8_t next,
                                unsigned n)
{
	struct net_addr s = addr6(src), d = addr6(dst);
	put32(ip, 0x60000000);
	put16(ip + 4, n);
	ip[6] = next;
	ip[7] = 33;
	memcpy(ip + 8, &s, 16);
	memcpy(ip + 24, &d, 16);
	return 40 + n;
}

/* The checksum of the n bytes of protocol `proto` at octet `at` of an IPv6 packet, including the
 * pseudo header (RFC 8200 8.1); 0 if its field is correct. */
static inline uint16_t slow_csum6(const uint8_t *ip, unsigned at, unsigned n, uint8_t proto)
{
	static uint8_t all[40 + 65536];
	memcpy(all, ip + 8, 32);
	put32(all + 32, n);
	put32(all + 36, proto);
	memcpy(all + 40, ip + at, n);
	return slow_csum(all, 40 + n);
}

#endif
