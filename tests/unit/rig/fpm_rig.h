/* What the tests of net/fpm's decoder share: one frame under construction, the messages read from it.
 * To be included after host.h. */
#ifndef TESTS_UNIT_RIG_FPM_RIG_H
#define TESTS_UNIT_RIG_FPM_RIG_H

#include "net/fpm/fpm.h"
#include "net/ip4.h"
#include "tests/unit/rig/fpm_contract.h"
#include "tests/unit/rig/fpm_frame.h"

#define NLA_NESTED 0x8000
#define NLA_BYTEORDER 0x4000

static struct frame f;
static struct fpm_message m[8]; /* of the last frame that was read */
static unsigned messages;

static inline struct net_addr ip4(unsigned a, unsigned b, unsigned c, unsigned d)
{
	return net_addr_ip4(IP4(a, b, c, d));
}

/* 2001:db8:n::host */
static inline struct net_addr ip6(unsigned n, unsigned host)
{
	return (struct net_addr){{be32_make(0x20010db8).raw, be32_make(n << 16).raw, 0,
	                          be32_make(host).raw}};
}

/* Reads the first frame of n octets into m[]. */
static inline enum fpm_error read_octets(const uint8_t *data, uint32_t n)
{
	uint32_t length;
	messages = 0;
	const enum fpm_error error = fpm_contract(data, n, NULL, &length);
	struct fpm_cursor c = fpm_begin(data, length);
	while (length && messages < ARRAY_LEN(m) && fpm_next(&c, &m[messages]))
		messages++;
	return error;
}

static inline enum fpm_error read_frame(void)
{
	frame_end(&f);
	return read_octets(f.data, f.n);
}

static inline void reads(unsigned n)
{
	assert_int_equal(read_frame(), FPM_OK);
	assert_int_equal(messages, n);
}

/* One route to 10.1.0.0/16, to which the test adds. */
static inline void begin4(uint16_t type)
{
	const struct net_addr dst = ip4(10, 1, 0, 0);
	frame_begin(&f);
	frame_route(&f, type, &dst, 16);
}

static inline void begin6(uint16_t type)
{
	const struct net_addr dst = ip6(1, 0);
	frame_begin(&f);
	frame_route(&f, type, &dst, 48);
}

static inline void begin_object(uint32_t id, uint8_t family)
{
	frame_begin(&f);
	frame_object(&f, RTM_NEWNEXTHOP, id, family);
}

/* An element with a gateway by RTA_GATEWAY. */
static inline uint32_t add_element(struct net_addr gateway, uint8_t flags, uint8_t hops, int ifindex)
{
	const uint32_t at = frame_element(&f, flags, hops, ifindex);
	if (!net_addr_is_any(&gateway))
		frame_address(&f, RTA_GATEWAY, &gateway);
	frame_close(&f, at);
	return at;
}

#endif
