/* Builds FPM frames from the structures of Linux' uapi headers, which net/fpm does not use. */
#ifndef TESTS_UNIT_RIG_FPM_FRAME_H
#define TESTS_UNIT_RIG_FPM_FRAME_H

#include <linux/netlink.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>

#include "lib/bytes.h"
#include "lib/mem.h"
#include "lib/types.h"
#include "net/addr.h"

#define FRAME_AF_INET 2
#define FRAME_AF_INET6 10
#define FRAME_AF_MPLS 28

struct frame {
	uint32_t n;       /* octets so far */
	uint32_t message; /* offset of the current message */
	uint8_t data[70000];
};

static inline void frame_begin(struct frame *f)
{
	f->n = 4;
	memcpy(f->data, "\1\1\0", 4);
}

/* Writes the frame's length. */
static inline void frame_end(struct frame *f)
{
	be16_store(f->data + 2, (uint16_t)f->n);
}

/* Appends octets and the padding after them; the message's length grows by both, but for padding at its
 * end, as in zebra. Returns the offset of the octets. */
static inline uint32_t frame_add(struct frame *f, const void *p, uint32_t len)
{
	const uint32_t at = f->n;
	memset(f->data + at, 0, NLMSG_ALIGN(len));
	if (len)
		memcpy(f->data + at, p, len);
	f->n += NLMSG_ALIGN(len);
	raw32_store(f->data + f->message, f->n - f->message);
	return at;
}

static inline void frame_message(struct frame *f, uint16_t type, uint16_t flags)
{
	const struct nlmsghdr h = {.nlmsg_type = type, .nlmsg_flags = flags, .nlmsg_seq = 7};
	f->message = f->n;
	frame_add(f, &h, sizeof h);
}

/* Returns the offset of the attribute. */
static inline uint32_t frame_attr(struct frame *f, uint16_t type, const void *p, uint32_t len)
{
	const struct rtattr a = {.rta_len = (uint16_t)(sizeof a + len), .rta_type = type};
	const uint32_t at = frame_add(f, &a, sizeof a);
	frame_add(f, p, len);
	return at;
}

static inline uint32_t frame_u32(struct frame *f, uint16_t type, uint32_t v)
{
	return frame_attr(f, type, &v, sizeof v);
}

static inline uint32_t frame_u16(struct frame *f, uint16_t type, uint16_t v)
{
	return frame_attr(f, type, &v, sizeof v);
}

/* An address in the family's length. */
static inline uint32_t frame_address(struct frame *f, uint16_t type, const struct net_addr *a)
{
	return net_addr_is_ip4(a) ? frame_attr(f, type, &a->w[3], 4) : frame_attr(f, type, a, 16);
}

/* Opens an attribute, or an element of RTA_MULTIPATH, that holds others. */
static inline uint32_t frame_nest(struct frame *f, uint16_t type)
{
	return frame_attr(f, type, NULL, 0);
}

static inline uint32_t frame_element(struct frame *f, uint8_t flags, uint8_t hops, int ifindex)
{
	const struct rtnexthop h = {.rtnh_flags = flags, .rtnh_hops = hops, .rtnh_ifindex = ifindex};
	return frame_add(f, &h, sizeof h);
}

/* Closes it: both structures begin with their length. */
static inline void frame_close(struct frame *f, uint32_t at)
{
	raw16_store(f->data + at, (uint16_t)(f->n - at));
}

/* The head of a route as zebra writes it, to the prefix. */
static inline void frame_route(struct frame *f, uint16_t type, const struct net_addr *dst, uint8_t plen)
{
	const struct rtmsg r = {
		.rtm_family = net_addr_is_ip4(dst) ? FRAME_AF_INET : FRAME_AF_INET6,
		.rtm_dst_len = plen,
		.rtm_table = RT_TABLE_MAIN,
		.rtm_protocol = 186,
		.rtm_type = type == RTM_NEWROUTE ? RTN_UNICAST : RTN_UNSPEC,
	};
	const uint16_t replace = type == RTM_NEWROUTE ? NLM_F_REPLACE : 0;
	frame_message(f, type, NLM_F_REQUEST | NLM_F_CREATE | replace);
	frame_add(f, &r, sizeof r);
	frame_address(f, RTA_DST, dst);
	frame_u32(f, RTA_PRIORITY, 20);
}

/* The current route's struct rtmsg. */
static inline struct rtmsg *frame_rtmsg(struct frame *f)
{
	return (void *)(f->data + f->message + sizeof(struct nlmsghdr));
}

/* The head of a next-hop object. */
static inline void frame_object(struct frame *f, uint16_t type, uint32_t id, uint8_t family)
{
	const struct nhmsg h = {.nh_family = family, .nh_protocol = 11};
	frame_message(f, type, NLM_F_REQUEST | NLM_F_CREATE | NLM_F_REPLACE);
	frame_add(f, &h, sizeof h);
	frame_u32(f, NHA_ID, id);
}

#endif
