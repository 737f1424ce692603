/* net/fpm: frames, each kind of message, acknowledgements. Frames are built by
 * tests/unit/rig/fpm_frame.h. */
#include "tests/unit/rig/host.h"

#include "tests/unit/rig/fpm_rig.h"

static void assert_address(const struct net_addr *a, struct net_addr b)
{
	assert_memory_equal(a, &b, sizeof b);
}

static void assert_hop(const struct fpm_hop *h, struct net_addr gateway, uint32_t ifindex,
                       uint32_t weight, bool onlink)
{
	assert_address(&h->gateway, gateway);
	assert_int_equal(h->ifindex, ifindex);
	assert_int_equal(h->weight, weight);
	assert_int_equal(h->onlink, onlink);
}

/* --- frames --- */

static void framing(void **state)
{
	(void)state;
	uint32_t n;
	begin4(RTM_DELROUTE);
	frame_end(&f);
	for (uint32_t i = 0; i < f.n; i++) {
		assert_int_equal(fpm_frame(f.data, i, &n), FPM_OK);
		assert_int_equal(n, 0);
	}
	for (uint32_t i = f.n; i < f.n + 9; i++) {
		assert_int_equal(fpm_frame(f.data, i, &n), FPM_OK);
		assert_int_equal(n, f.n);
	}
	assert_int_equal(fpm_frame((const uint8_t *)"\2", 1, &n), FPM_ERR_VERSION);
	assert_int_equal(fpm_frame((const uint8_t *)"\1\2", 2, &n), FPM_ERR_TYPE);
	assert_int_equal(fpm_frame((const uint8_t *)"\1\1\0", 3, &n), FPM_OK);
	/* an empty frame would never end */
	for (unsigned length = 0; length < 20; length++) {
		const uint8_t header[] = {1, 1, 0, (uint8_t)length};
		assert_int_equal(fpm_frame(header, 4, &n), FPM_ERR_FRAME_LENGTH);
		assert_int_equal(n, 0);
	}
	/* the shortest frame: a message without payload */
	static const uint8_t shortest[20] = {1, 1, 0, 20, 16, 0, 0, 0, 1};
	assert_int_equal(fpm_frame(shortest, sizeof shortest, &n), FPM_OK);
	assert_int_equal(n, sizeof shortest);
	assert_int_equal(read_octets(shortest, sizeof shortest), FPM_OK);
	assert_true(messages == 1 && m[0].kind == FPM_SKIPPED && m[0].skip == FPM_SKIP_CONTROL);
	assert_int_equal(fpm_frame((const uint8_t *)"\1\1\xff\xff", 4, &n), FPM_OK);
	assert_int_equal(n, 0);
	assert_int_equal(fpm_check(f.data, 19, NULL), FPM_ERR_FRAME_LENGTH);
}

static void several_messages(void **state)
{
	(void)state;
	const struct net_addr dst = ip4(10, 1, 0, 0), gateway = ip4(192, 0, 2, 1);
	begin4(RTM_DELROUTE);
	const uint32_t second = f.n;
	frame_route(&f, RTM_NEWROUTE, &dst, 16);
	frame_address(&f, RTA_GATEWAY, &gateway);
	frame_object(&f, RTM_DELNEXTHOP, 9, 0);
	reads(3);
	assert_int_equal(m[0].kind, FPM_ROUTE_DELETE);
	assert_int_equal(m[0].offset, 4);
	assert_int_equal(m[0].length, second - 4);
	assert_int_equal(m[1].kind, FPM_ROUTE_SET);
	assert_int_equal(m[1].offset, second);
	assert_hop(&m[1].route.hop[0], gateway, 0, 1, false);
	assert_int_equal(m[2].kind, FPM_NEXTHOP_DELETE);
	assert_int_equal(m[2].nexthop.id, 9);
	/* the third is malformed, so the whole frame is */
	uint32_t at;
	f.data[m[2].offset + 16 + 8] = 3;
	assert_int_equal(fpm_check(f.data, f.n, &at), FPM_ERR_ATTRIBUTE);
	assert_int_equal(at, m[2].offset);
}

/* The longest frame: 65,535 octets, and thus a last message that is not padded. */
static void longest_frame(void **state)
{
	(void)state;
	uint32_t n, routes = 0;
	frame_begin(&f);
	while (f.n + 64 < FPM_FRAME_MAX - 64) {
		const struct net_addr dst = net_addr_ip4(IP4(10, 0, 0, 0) + routes++);
		frame_route(&f, RTM_NEWROUTE, &dst, 32);
	}
	frame_message(&f, RTM_NEWROUTE, 0);
	frame_add(&f, &(struct rtmsg){.rtm_family = FRAME_AF_INET, .rtm_type = RTN_BLACKHOLE}, 12);
	const uint32_t last = FPM_FRAME_MAX - f.n;
	frame_attr(&f, RTA_METRICS | NLA_NESTED, NULL, 0);
	raw16_store(f.data + f.n - 4, (uint16_t)last);
	raw16_store(f.data + f.n, (uint16_t)(last - 4));
	raw16_store(f.data + f.n + 2, 99);
	f.n = FPM_FRAME_MAX;
	raw32_store(f.data + f.message, f.n - f.message);
	assert_int_equal(read_frame(), FPM_OK);
	struct fpm_cursor c = fpm_begin(f.data, f.n);
	for (n = 0; fpm_next(&c, &m[0]); n++)
		;
	assert_int_equal(n, routes + 1);
	assert_int_equal(m[0].route.type, FPM_BLACKHOLE);
}

/* --- routes --- */

static void route_key(void **state)
{
	(void)state;
	begin4(RTM_NEWROUTE);
	reads(1);
	assert_true(m[0].create && m[0].replace);
	assert_int_equal(m[0].type, RTM_NEWROUTE);
	const struct fpm_route *r = &m[0].route;
	assert_address(&r->addr, ip4(10, 1, 0, 0));
	assert_int_equal(r->plen, 16);
	assert_false(r->six);
	assert_int_equal(r->table, 254);
	assert_int_equal(r->priority, 20);
	assert_int_equal(r->protocol, FPM_BGP);
	assert_int_equal(r->protocol_number, 186);
	/* no hops: zebra says that the route cannot be used */
	assert_int_equal(m[0].kind, FPM_ROUTE_SET);
	assert_int_equal(r->hops, 0);
	assert_int_equal(r->mtu, 0);

	const struct net_addr untidy = ip4(10, 1, 2, 3);
	frame_begin(&f);
	frame_route(&f, RTM_NEWROUTE, &untidy, 16);
	frame_u32(&f, RTA_TABLE, 1000);
	const uint32_t nest = frame_nest(&f, RTA_METRICS | NLA_NESTED);
	frame_u32(&f, RTAX_HOPLIMIT, 9);
	frame_u32(&f, RTAX_MTU, 1400);
	frame_close(&f, nest);
	frame_u32(&f, 500, 1); /* unknown */
	reads(1);
	assert_address(&r->addr, ip4(10, 1, 0, 0));
	assert_int_equal(r->table, 1000);
	assert_int_equal(r->mtu, 1400);

	/* a default route without RTA_DST */
	frame_begin(&f);
	frame_message(&f, RTM_NEWROUTE, 0);
	frame_add(&f, &(struct rtmsg){.rtm_family = FRAME_AF_INET6, .rtm_type = RTN_UNICAST}, 12);
	reads(1);
	assert_false(m[0].create || m[0].replace);
	assert_true(r->six);
	assert_int_equal(r->plen, 0);
	assert_address(&r->addr, NET_ADDR_ANY);
	assert_int_equal(r->protocol, FPM_OTHER);
}

static void route_single(void **state)
{
	(void)state;
	const struct net_addr gateway4 = ip4(192, 0, 2, 1), gateway6 = ip6(0, 1);
	const struct fpm_route *r = &m[0].route;
	begin4(RTM_NEWROUTE);
	frame_address(&f, RTA_GATEWAY, &gateway4);
	frame_u32(&f, RTA_OIF, 7);
	frame_rtmsg(&f)->rtm_flags = RTNH_F_ONLINK;
	reads(1);
	assert_int_equal(r->hops, 1);
	assert_hop(&r->hop[0], gateway4, 7, 1, true);

	begin6(RTM_NEWROUTE);
	frame_address(&f, RTA_GATEWAY | NLA_BYTEORDER, &gateway6);
	reads(1);
	assert_true(r->six);
	assert_int_equal(r->plen, 48);
	assert_hop(&r->hop[0], gateway6, 0, 1, false);

	begin4(RTM_NEWROUTE);
	frame_u32(&f, RTA_OIF, 9);
	reads(1);
	assert_hop(&r->hop[0], NET_ADDR_ANY, 9, 1, false);

	/* RFC 8950: IPv4 by an IPv6 gateway, in struct rtvia */
	uint8_t via[18] = {FRAME_AF_INET6};
	net_addr_store(via + 2, &gateway6);
	begin4(RTM_NEWROUTE);
	frame_attr(&f, RTA_VIA, via, sizeof via);
	frame_u32(&f, RTA_OIF, 3);
	reads(1);
	assert_false(r->six);
	assert_hop(&r->hop[0], gateway6, 3, 1, false);

	begin4(RTM_NEWROUTE);
	frame_address(&f, RTA_GATEWAY, &gateway4);
	frame_u32(&f, RTA_NH_ID, 77);
	reads(1);
	assert_int_equal(r->nexthop_id, 77);
	assert_int_equal(r->hops, 0);
}

static void route_types(void **state)
{
	(void)state;
	static const struct {
		uint8_t type;
		enum fpm_kind kind;
		enum fpm_skip skip;
		enum fpm_route_type meaning;
	} rows[] = {
		{RTN_UNICAST, FPM_ROUTE_SET, FPM_SKIP_NONE, FPM_UNICAST},
		{RTN_BLACKHOLE, FPM_ROUTE_SET, FPM_SKIP_NONE, FPM_BLACKHOLE},
		{RTN_UNREACHABLE, FPM_ROUTE_SET, FPM_SKIP_NONE, FPM_UNREACHABLE},
		{RTN_PROHIBIT, FPM_ROUTE_SET, FPM_SKIP_NONE, FPM_PROHIBIT},
		{RTN_LOCAL, FPM_ROUTE_REFUSED, FPM_SKIP_LOCAL, FPM_UNICAST},
		{RTN_BROADCAST, FPM_ROUTE_REFUSED, FPM_SKIP_BROADCAST, FPM_UNICAST},
		{RTN_ANYCAST, FPM_ROUTE_REFUSED, FPM_SKIP_ANYCAST, FPM_UNICAST},
		{RTN_MULTICAST, FPM_ROUTE_REFUSED, FPM_SKIP_MULTICAST, FPM_UNICAST},
		{RTN_THROW, FPM_ROUTE_REFUSED, FPM_SKIP_THROW, FPM_UNICAST},
		{RTN_NAT, FPM_ROUTE_REFUSED, FPM_SKIP_ROUTE_TYPE, FPM_UNICAST},
		{RTN_UNSPEC, FPM_ROUTE_REFUSED, FPM_SKIP_ROUTE_TYPE, FPM_UNICAST},
	};
	for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
		begin4(RTM_NEWROUTE);
		frame_u32(&f, RTA_OIF, 1);
		frame_rtmsg(&f)->rtm_type = rows[i].type;
		reads(1);
		assert_int_equal(m[0].kind, rows[i].kind);
		assert_int_equal(m[0].skip, rows[i].skip);
		assert_int_equal(m[0].route.type, rows[i].meaning);
		assert_int_equal(m[0].route.plen, 16);
		if (rows[i].meaning != FPM_UNICAST)
			assert_int_equal(m[0].route.hops, 0);
	}
	/* the type of a deletion is 0, and does not matter */
	for (unsigned type = 0; type < 12; type++) {
		begin4(RTM_DELROUTE);
		frame_rtmsg(&f)->rtm_type = (uint8_t)type;
		reads(1);
		assert_int_equal(m[0].kind, FPM_ROUTE_DELETE);
		assert_int_equal(m[0].route.protocol, FPM_BGP);
	}
}

static void route_multipath(void **state)
{
	(void)state;
	const struct fpm_route *r = &m[0].route;
	begin4(RTM_NEWROUTE);
	uint32_t nest = frame_nest(&f, RTA_MULTIPATH | NLA_NESTED);
	add_element(ip4(192, 0, 2, 1), 0, 0, 2);
	add_element(ip4(192, 0, 2, 2), RTNH_F_ONLINK, 255, 3);
	uint8_t via[18] = {FRAME_AF_INET6};
	const struct net_addr gateway6 = ip6(0, 5);
	net_addr_store(via + 2, &gateway6);
	const uint32_t at = frame_element(&f, 0, 4, 4);
	frame_u32(&f, RTA_FLOW, 1);
	frame_attr(&f, RTA_VIA, via, sizeof via);
	frame_close(&f, at);
	add_element(NET_ADDR_ANY, 0, 0, 5);
	frame_close(&f, nest);
	reads(1);
	assert_int_equal(m[0].kind, FPM_ROUTE_SET);
	assert_int_equal(r->hops, 4);
	assert_hop(&r->hop[0], ip4(192, 0, 2, 1), 2, 1, false);
	assert_hop(&r->hop[1], ip4(192, 0, 2, 2), 3, 256, true);
	assert_hop(&r->hop[2], gateway6, 4, 5, false);
	assert_hop(&r->hop[3], NET_ADDR_ANY, 5, 1, false);

	/* empty: zebra found no usable hop */
	begin4(RTM_NEWROUTE);
	frame_nest(&f, RTA_MULTIPATH);
	reads(1);
	assert_int_equal(m[0].kind, FPM_ROUTE_SET);
	assert_int_equal(r->hops, 0);

	/* as many as possible, and one more */
	for (unsigned n = FPM_HOPS_MAX; n <= FPM_HOPS_MAX + 1; n++) {
		begin6(RTM_NEWROUTE);
		nest = frame_nest(&f, RTA_MULTIPATH);
		for (unsigned i = 0; i < n; i++)
			add_element(ip6(9, i + 1), 0, 0, (int)i + 1);
		frame_close(&f, nest);
		reads(1);
		assert_int_equal(m[0].kind, n > FPM_HOPS_MAX ? FPM_ROUTE_REFUSED : FPM_ROUTE_SET);
		assert_int_equal(m[0].skip, n > FPM_HOPS_MAX ? FPM_SKIP_HOPS : FPM_SKIP_NONE);
		assert_address(&r->addr, ip6(1, 0));
	}
}

static void encapsulations(void **state)
{
	(void)state;
	static const struct {
		uint16_t type;
		enum fpm_skip skip;
	} rows[] = {
		{0, FPM_SKIP_ENCAP_OTHER}, {1, FPM_SKIP_ENCAP_MPLS}, {2, FPM_SKIP_ENCAP_OTHER},
		{5, FPM_SKIP_ENCAP_SRV6}, {7, FPM_SKIP_ENCAP_SRV6}, {100, FPM_SKIP_ENCAP_VXLAN},
	};
	for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
		/* of a single hop, of an element, of an object */
		begin4(RTM_NEWROUTE);
		frame_u32(&f, RTA_OIF, 1);
		frame_u16(&f, RTA_ENCAP_TYPE, rows[i].type);
		frame_u32(&f, RTA_ENCAP | NLA_NESTED, 5);
		const struct net_addr dst = ip4(10, 2, 0, 0);
		frame_route(&f, RTM_NEWROUTE, &dst, 16);
		const uint32_t nest = frame_nest(&f, RTA_MULTIPATH);
		add_element(ip4(192, 0, 2, 2), 0, 0, 2);
		const uint32_t at = frame_element(&f, 0, 0, 2);
		frame_u16(&f, RTA_ENCAP_TYPE, rows[i].type);
		frame_u32(&f, RTA_ENCAP, 5);
		frame_close(&f, at);
		frame_close(&f, nest);
		frame_object(&f, RTM_NEWNEXTHOP, 3, FRAME_AF_INET);
		frame_u32(&f, NHA_OIF, 2);
		frame_u16(&f, NHA_ENCAP_TYPE, rows[i].type);
		frame_u32(&f, NHA_ENCAP | NLA_NESTED, 5);
		reads(3);
		for (unsigned k = 0; k < 3; k++) {
			assert_int_equal(m[k].kind, k < 2 ? FPM_ROUTE_REFUSED : FPM_NEXTHOP_REFUSED);
			assert_int_equal(m[k].skip, rows[i].skip);
		}
		assert_address(&m[1].route.addr, dst);
		assert_int_equal(m[2].nexthop.id, 3);
	}
}

/* --- next-hop objects --- */

static void objects(void **state)
{
	(void)state;
	const struct net_addr gateway6 = ip6(0, 1), gateway4 = ip4(192, 0, 2, 1);
	const struct fpm_nexthop *nh = &m[0].nexthop;
	/* IPv4 by IPv6: the object's family is that of the routes */
	begin_object(5, FRAME_AF_INET);
	frame_address(&f, NHA_GATEWAY, &gateway6);
	frame_u32(&f, NHA_OIF, 4);
	reads(1);
	assert_int_equal(m[0].kind, FPM_NEXTHOP_SET);
	assert_int_equal(nh->id, 5);
	assert_int_equal(nh->protocol, FPM_TABLE);
	assert_int_equal(nh->members, 0);
	assert_false(nh->blackhole);
	assert_hop(&nh->hop, gateway6, 4, 1, false);

	begin_object(6, FRAME_AF_INET);
	frame_address(&f, NHA_GATEWAY, &gateway4);
	raw32_store(f.data + f.message + 16 + 4, RTNH_F_ONLINK);
	reads(1);
	assert_hop(&nh->hop, gateway4, 0, 1, true);

	begin_object(7, FRAME_AF_INET6);
	frame_attr(&f, NHA_BLACKHOLE, NULL, 0);
	reads(1);
	assert_true(nh->blackhole);
	assert_hop(&nh->hop, NET_ADDR_ANY, 0, 1, false);

	begin_object(8, FRAME_AF_INET);
	reads(1);
	assert_int_equal(m[0].kind, FPM_NEXTHOP_REFUSED);
	assert_int_equal(m[0].skip, FPM_SKIP_NEXTHOP_EMPTY);

	begin_object(9, 0);
	frame_attr(&f, 11 /* NHA_FDB */, NULL, 0);
	frame_address(&f, NHA_GATEWAY, &gateway4);
	reads(1);
	assert_int_equal(m[0].skip, FPM_SKIP_NEXTHOP_FDB);
}

static void groups(void **state)
{
	(void)state;
	/* the last two octets of the second are the high octet of a weight, and reserved */
	static const uint8_t two[] = {1, 0, 0, 0, 0, 0, 0, 0, 2, 1, 0, 0, 254, 1, 0, 9};
	const struct fpm_nexthop *nh = &m[0].nexthop;
	begin_object(5, 0);
	frame_attr(&f, NHA_GROUP, two, sizeof two);
	const uint32_t nest = frame_nest(&f, 12 /* NHA_RES_GROUP */);
	frame_u32(&f, 2, 120000);
	frame_close(&f, nest);
	frame_u16(&f, NHA_GROUP_TYPE, 1);
	reads(1);
	assert_int_equal(m[0].kind, FPM_NEXTHOP_SET);
	assert_int_equal(nh->members, 2);
	assert_int_equal(nh->member[0].id, 1);
	assert_int_equal(nh->member[0].weight, 1);
	assert_int_equal(nh->member[1].id, 258);
	assert_int_equal(nh->member[1].weight, 511);
	frame_attr(&f, NHA_BLACKHOLE, NULL, 0); /* of no effect beside NHA_GROUP */
	reads(1);
	assert_true(nh->members == 2 && !nh->blackhole);

	struct nexthop_grp many[FPM_HOPS_MAX + 1] = {{0}};
	for (unsigned i = 0; i <= FPM_HOPS_MAX; i++)
		many[i].id = i + 1;
	for (unsigned n = FPM_HOPS_MAX; n <= FPM_HOPS_MAX + 1; n++) {
		begin_object(5, 0);
		frame_attr(&f, NHA_GROUP, many, n * (uint32_t)sizeof many[0]);
		reads(1);
		assert_int_equal(m[0].skip, n > FPM_HOPS_MAX ? FPM_SKIP_HOPS : FPM_SKIP_NONE);
	}
}

/* --- what is skipped --- */

static void skipped(void **state)
{
	(void)state;
	static const struct {
		uint16_t type;
		enum fpm_skip skip;
	} rows[] = {
		{NLMSG_NOOP, FPM_SKIP_CONTROL}, {NLMSG_ERROR, FPM_SKIP_CONTROL},
		{NLMSG_DONE, FPM_SKIP_CONTROL}, {RTM_NEWLINK, FPM_SKIP_LINK},
		{RTM_DELADDR, FPM_SKIP_ADDRESS}, {RTM_GETROUTE, FPM_SKIP_UNKNOWN},
		{RTM_NEWNEIGH, FPM_SKIP_NEIGHBOUR}, {RTM_DELNEIGH, FPM_SKIP_NEIGHBOUR},
		{RTM_NEWRULE, FPM_SKIP_RULE}, {RTM_DELRULE, FPM_SKIP_RULE},
		{RTM_NEWQDISC, FPM_SKIP_TC}, {RTM_NEWTCLASS, FPM_SKIP_TC},
		{RTM_DELTFILTER, FPM_SKIP_TC}, {RTM_GETNEXTHOP, FPM_SKIP_UNKNOWN},
		{65535, FPM_SKIP_UNKNOWN},
		/* the last of each group, and one behind them */
		{15, FPM_SKIP_CONTROL}, {19, FPM_SKIP_LINK}, {23, FPM_SKIP_ADDRESS}, {31, FPM_SKIP_NEIGHBOUR},
		{35, FPM_SKIP_RULE}, {51, FPM_SKIP_TC}, {52, FPM_SKIP_UNKNOWN},
	};
	for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
		frame_begin(&f);
		frame_message(&f, rows[i].type, 0);
		frame_add(&f, "any octets", 10);
		frame_object(&f, RTM_DELNEXTHOP, 1, 0);
		reads(2);
		assert_int_equal(m[0].kind, FPM_SKIPPED);
		assert_int_equal(m[0].skip, rows[i].skip);
		assert_int_equal(m[1].kind, FPM_NEXTHOP_DELETE);
	}
	/* of either kind, for they are other routes than that of the prefix alone */
	for (unsigned i = 0; i < 4; i++) {
		begin6(i & 1 ? RTM_NEWROUTE : RTM_DELROUTE);
		if (i & 2)
			frame_rtmsg(&f)->rtm_family = FRAME_AF_MPLS;
		else
			frame_rtmsg(&f)->rtm_src_len = 48;
		reads(1);
		assert_int_equal(m[0].kind, FPM_SKIPPED);
		assert_int_equal(m[0].skip, i & 2 ? FPM_SKIP_MPLS : FPM_SKIP_SOURCE);
	}
	begin4(RTM_NEWROUTE);
	frame_rtmsg(&f)->rtm_family = 129;
	reads(1);
	assert_int_equal(m[0].skip, FPM_SKIP_FAMILY);
}

/* --- acknowledgements --- */

static void acknowledgements(void **state)
{
	(void)state;
	uint8_t ack[FPM_ACK_MAX];
	const struct net_addr dst = ip4(10, 2, 0, 0);
	begin4(RTM_DELROUTE);
	frame_route(&f, RTM_NEWROUTE, &dst, 16);
	frame_u32(&f, RTA_NH_ID, 5);
	raw16_store(f.data + f.message + 6, NLM_F_REPLACE); /* without NLM_F_REQUEST */
	frame_rtmsg(&f)->rtm_flags = 0x4000 | 0x8000 | RTNH_F_ONLINK; /* RTM_F_OFFLOAD, RTM_F_TRAP: of before */
	reads(2);
	assert_false(fpm_ack_wanted(&m[0]));
	assert_true(fpm_ack_wanted(&m[1]));
	for (unsigned installed = 0; installed < 2; installed++) {
		const uint8_t *message = f.data + m[1].offset;
		const size_t n = fpm_ack_put(ack, sizeof ack, message, m[1].length, installed);
		assert_int_equal(n, 4 + m[1].length);
		/* the same but for the flags, in a frame of its own */
		struct frame want;
		frame_begin(&want);
		want.n += m[1].length;
		memcpy(want.data + 4, message, m[1].length);
		frame_end(&want);
		raw16_store(want.data + 4 + 6, NLM_F_REPLACE | NLM_F_REQUEST);
		want.message = 4;
		frame_rtmsg(&want)->rtm_flags = (installed ? 0x4000 : 0x20000000) | RTNH_F_ONLINK;
		assert_memory_equal(ack, want.data, n);
		assert_int_equal(fpm_ack_put(ack, n - 1, message, m[1].length, installed), 0);
		assert_int_equal(fpm_ack_put(ack, n, message, m[1].length, installed), n);
	}
	begin4(RTM_NEWROUTE);
	frame_rtmsg(&f)->rtm_protocol = RTPROT_KERNEL;
	reads(1);
	assert_false(fpm_ack_wanted(&m[0]));
	/* longer than zebra's input buffer */
	static uint8_t large[9000];
	begin4(RTM_NEWROUTE);
	frame_attr(&f, 999, large, sizeof large);
	reads(1);
	assert_int_equal(fpm_ack_put(f.data + 20000, 20000, f.data + 4, m[0].length, true), 0);
}

static void names(void **state)
{
	(void)state;
	static const struct {
		uint8_t number;
		char letter;
		const char *name;
	} rows[] = {
		{2, 'K', "kernel"}, {4, 'S', "static"}, {11, 'T', "table"}, {42, 'A', "babel"},
		{186, 'B', "bgp"}, {187, 'I', "isis"}, {188, 'O', "ospf"}, {189, 'R', "rip"},
		{190, 'R', "ripng"}, {191, 'N', "nhrp"}, {192, 'E', "eigrp"}, {193, 'L', "ldp"},
		{194, 'D', "sharp"}, {195, 'F', "pbr"}, {196, 'S', "static"}, {197, 'f', "openfabric"},
		{198, '-', "srte"}, {0, '?', "other"}, {185, '?', "other"}, {199, '?', "other"},
		{255, '?', "other"},
	};
	for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
		const enum fpm_protocol p = fpm_protocol_of(rows[i].number);
		assert_string_equal(fpm_protocol_name(p), rows[i].name);
		assert_int_equal(fpm_protocol_letter(p), rows[i].letter);
	}
	assert_string_equal(fpm_error_text(FPM_OK), "no error");
	assert_string_equal(fpm_error_text(FPM_ERR_GROUP), "an empty group, or a member without an id");
	assert_string_equal(fpm_skip_name(FPM_SKIP_NONE), "none");
	for (unsigned i = 0; i < FPM_SKIPS_END; i++)
		for (unsigned k = 0; k < i; k++)
			assert_string_not_equal(fpm_skip_name(i), fpm_skip_name(k));
	assert_string_equal(fpm_skip_name(FPM_SKIP_NEXTHOP_EMPTY), "nexthop_empty");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(framing), cmocka_unit_test(several_messages),
		cmocka_unit_test(longest_frame), cmocka_unit_test(route_key),
		cmocka_unit_test(route_single), cmocka_unit_test(route_types),
		cmocka_unit_test(route_multipath), cmocka_unit_test(encapsulations),
		cmocka_unit_test(objects), cmocka_unit_test(groups), cmocka_unit_test(skipped),
		cmocka_unit_test(acknowledgements), cmocka_unit_test(names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
