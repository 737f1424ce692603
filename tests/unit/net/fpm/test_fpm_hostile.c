/* net/fpm and octets that no zebra sends: each way to be malformed, cuts at every octet, random
 * changes. */
#include "tests/unit/rig/host.h"

#include "tests/unit/rig/fpm_rig.h"

/* --- what is malformed --- */

/* A frame whose first message has that netlink length. */
static enum fpm_error with_length(uint32_t length)
{
	begin4(RTM_NEWROUTE);
	frame_u32(&f, RTA_OIF, 1);
	raw32_store(f.data + 4, length);
	return read_frame();
}

static void malformed_messages(void **state)
{
	(void)state;
	begin4(RTM_NEWROUTE);
	frame_u32(&f, RTA_OIF, 1);
	const uint32_t whole = f.n - 4;
	assert_int_equal(with_length(whole), FPM_OK);
	assert_int_equal(with_length(0), FPM_ERR_MESSAGE_LENGTH);
	assert_int_equal(with_length(15), FPM_ERR_MESSAGE_LENGTH);
	assert_int_equal(with_length(27), FPM_ERR_MESSAGE_LENGTH); /* without all of struct rtmsg */
	assert_int_equal(with_length(whole + 1), FPM_ERR_MESSAGE_LENGTH);
	assert_int_equal(with_length(0xffffffff), FPM_ERR_MESSAGE_LENGTH);
	assert_int_equal(with_length(whole << 24), FPM_ERR_BYTE_ORDER);
	assert_int_equal(with_length(whole - 8), FPM_ERR_MESSAGE_LENGTH); /* the next is too short */
	assert_int_equal(with_length(whole - 3), FPM_ERR_ATTRIBUTE);
	frame_begin(&f);
	frame_message(&f, RTM_DELNEXTHOP, 0);
	frame_add(&f, "\0\0\0", 4);
	assert_int_equal(read_frame(), FPM_ERR_MESSAGE_LENGTH);
}

static void malformed_attributes(void **state)
{
	(void)state;
	for (unsigned length = 0; length < 4; length++) {
		begin4(RTM_NEWROUTE);
		raw16_store(f.data + frame_u32(&f, RTA_OIF, 1), (uint16_t)length);
		assert_int_equal(read_frame(), FPM_ERR_ATTRIBUTE);
	}
	begin4(RTM_DELROUTE);
	raw16_store(f.data + frame_u32(&f, 999, 1), 9);
	assert_int_equal(read_frame(), FPM_ERR_ATTRIBUTE);

	/* inside another one */
	begin4(RTM_NEWROUTE);
	const uint32_t nest = frame_nest(&f, RTA_METRICS);
	raw16_store(f.data + frame_u32(&f, RTAX_MTU, 1), 12);
	frame_close(&f, nest);
	frame_u32(&f, RTA_OIF, 1);
	assert_int_equal(read_frame(), FPM_ERR_ATTRIBUTE);

	static const uint16_t numbers[] = {RTA_OIF, RTA_PRIORITY, RTA_TABLE, RTA_NH_ID, RTA_ENCAP_TYPE,
	                                   RTA_GATEWAY, RTA_DST, RTA_VIA};
	for (unsigned i = 0; i < ARRAY_LEN(numbers); i++) {
		begin4(RTM_NEWROUTE);
		frame_attr(&f, numbers[i], "\2\0\0\0\0\0\0\0\0", 9);
		assert_int_equal(read_frame(), FPM_ERR_VALUE_LENGTH);
	}
	/* of the other family */
	const struct net_addr gateway = ip6(0, 1);
	begin4(RTM_NEWROUTE);
	frame_address(&f, RTA_GATEWAY, &gateway);
	assert_int_equal(read_frame(), FPM_ERR_VALUE_LENGTH);
	begin4(RTM_NEWROUTE);
	frame_attr(&f, RTA_VIA, "\12\0\1\2\3\4", 6);
	assert_int_equal(read_frame(), FPM_ERR_VALUE_LENGTH);
	begin4(RTM_NEWROUTE);
	frame_attr(&f, RTA_VIA, "\2", 1);
	assert_int_equal(read_frame(), FPM_ERR_VALUE_LENGTH);
	begin4(RTM_NEWROUTE);
	frame_attr(&f, RTA_VIA, "\3\0\1\2\3\4", 6);
	assert_int_equal(read_frame(), FPM_ERR_GATEWAY);
	begin4(RTM_NEWROUTE);
	frame_attr(&f, RTA_VIA, "\2\0\1\2\3\4", 6);
	frame_attr(&f, RTA_GATEWAY, "\1\2\3\4", 4);
	assert_int_equal(read_frame(), FPM_ERR_GATEWAY);
}

static void malformed_prefixes(void **state)
{
	(void)state;
	begin4(RTM_DELROUTE);
	frame_rtmsg(&f)->rtm_dst_len = 33;
	assert_int_equal(read_frame(), FPM_ERR_PREFIX);
	begin4(RTM_DELROUTE);
	frame_rtmsg(&f)->rtm_src_len = 33;
	assert_int_equal(read_frame(), FPM_ERR_PREFIX);
	begin6(RTM_NEWROUTE);
	frame_rtmsg(&f)->rtm_dst_len = 129;
	assert_int_equal(read_frame(), FPM_ERR_PREFIX);
	begin4(RTM_NEWROUTE);
	frame_rtmsg(&f)->rtm_family = FRAME_AF_INET6;
	assert_int_equal(read_frame(), FPM_ERR_VALUE_LENGTH);
	frame_begin(&f);
	frame_message(&f, RTM_DELROUTE, 0);
	frame_add(&f, &(struct rtmsg){.rtm_family = FRAME_AF_INET, .rtm_dst_len = 1}, 12);
	assert_int_equal(read_frame(), FPM_ERR_PREFIX);
}

static void malformed_hops(void **state)
{
	(void)state;
	static const uint16_t lengths[] = {0, 7, 17, 65535};
	for (unsigned i = 0; i < ARRAY_LEN(lengths); i++) {
		begin4(RTM_NEWROUTE);
		const uint32_t nest = frame_nest(&f, RTA_MULTIPATH);
		raw16_store(f.data + add_element(ip4(192, 0, 2, 1), 0, 0, 1), lengths[i]);
		frame_close(&f, nest);
		assert_int_equal(read_frame(), FPM_ERR_MULTIPATH);
	}
	begin4(RTM_NEWROUTE);
	frame_attr(&f, RTA_MULTIPATH, "\4\0\0\0", 4);
	assert_int_equal(read_frame(), FPM_ERR_MULTIPATH);
	begin4(RTM_NEWROUTE);
	const uint32_t nest = frame_nest(&f, RTA_MULTIPATH);
	const uint32_t at = add_element(ip4(192, 0, 2, 1), 0, 0, 1);
	raw16_store(f.data + at + 8, 9); /* its RTA_GATEWAY */
	frame_close(&f, nest);
	assert_int_equal(read_frame(), FPM_ERR_ATTRIBUTE);
}

static void malformed_objects(void **state)
{
	(void)state;
	begin_object(0, 0);
	frame_attr(&f, NHA_BLACKHOLE, NULL, 0);
	assert_int_equal(read_frame(), FPM_ERR_NEXTHOP_ID);
	frame_begin(&f);
	frame_message(&f, RTM_DELNEXTHOP, 0);
	frame_add(&f, &(struct nhmsg){0}, sizeof(struct nhmsg));
	assert_int_equal(read_frame(), FPM_ERR_NEXTHOP_ID);
	begin_object(1, 0);
	frame_attr(&f, NHA_GROUP, NULL, 0);
	assert_int_equal(read_frame(), FPM_ERR_GROUP);
	begin_object(1, 0);
	frame_attr(&f, NHA_GROUP, &(struct nexthop_grp){0}, 8);
	assert_int_equal(read_frame(), FPM_ERR_GROUP);
	begin_object(1, 0);
	frame_attr(&f, NHA_GROUP, "\1\0\0\0\0\0\0\0\1\0\0", 12);
	assert_int_equal(read_frame(), FPM_ERR_VALUE_LENGTH);
	begin_object(1, 0);
	frame_attr(&f, NHA_GATEWAY, "\1\2\3\4\5", 5);
	assert_int_equal(read_frame(), FPM_ERR_VALUE_LENGTH);
}

/* --- any octets --- */

/* A frame with all that the decoder looks into. */
static void build_rich(void)
{
	const struct net_addr dst = ip6(2, 0), gateway = ip6(0, 9);
	uint8_t via[18] = {FRAME_AF_INET6};
	net_addr_store(via + 2, &gateway);
	begin4(RTM_DELROUTE);
	frame_route(&f, RTM_NEWROUTE, &dst, 48);
	uint32_t nest = frame_nest(&f, RTA_METRICS);
	frame_u32(&f, RTAX_MTU, 1400);
	frame_close(&f, nest);
	frame_u32(&f, RTA_TABLE, 254);
	nest = frame_nest(&f, RTA_MULTIPATH);
	add_element(ip6(3, 1), 0, 0, 2);
	const uint32_t at = frame_element(&f, 0, 0, 2);
	frame_attr(&f, RTA_VIA, via, sizeof via);
	frame_u16(&f, RTA_ENCAP_TYPE, 0);
	frame_close(&f, at);
	frame_close(&f, nest);
	frame_object(&f, RTM_NEWNEXTHOP, 4, FRAME_AF_INET);
	frame_attr(&f, NHA_GROUP, "\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0", 16);
	frame_object(&f, RTM_NEWNEXTHOP, 1, FRAME_AF_INET);
	frame_address(&f, NHA_GATEWAY, &gateway);
	frame_u32(&f, NHA_OIF, 2);
	frame_message(&f, RTM_NEWNEIGH, 0);
	frame_end(&f);
}

/* Each beginning of a stream is incomplete. With its length written into the header, it is malformed
 * unless it ends with a message. */
static void every_cut(void **state)
{
	(void)state;
	build_rich();
	reads(5);
	uint32_t ends[5], n = f.n, whole = 0;
	for (unsigned i = 0; i < 5; i++)
		ends[i] = m[i].offset + m[i].length;
	for (uint32_t cut = 0; cut < n; cut++) {
		uint32_t length;
		build_rich();
		assert_int_equal(fpm_contract(f.data, cut, NULL, &length), FPM_OK);
		assert_int_equal(length, 0);
		be16_store(f.data + 2, (uint16_t)cut);
		const enum fpm_error error = fpm_contract(f.data, cut, NULL, &length);
		const bool end = cut == ends[whole];
		assert_int_equal(error == FPM_OK && length, end);
		whole += end;
	}
	assert_int_equal(whole, 4);
}

/* An octet changed, and the messages' own lengths and types changed. */
static void random_changes(void **state)
{
	(void)state;
	static uint64_t memory[512];
	const struct fpm_nexthops_size room = {8, 16};
	const struct siphash_key key = {random64(), random64()};
	struct fpm_nexthops t;
	uint32_t length, errors = 0, good = 0;
	assert_true(fpm_nexthops_bytes(&room) <= sizeof memory);
	fpm_nexthops_init(&t, memory, &room, &key);
	for (unsigned i = 0; i < 100000; i++) {
		build_rich();
		for (unsigned k = random_below(4); k < 4; k++) {
			const uint32_t at = random_below(f.n);
			f.data[at] = (uint8_t)(random_below(2) ? random64() : f.data[at] + random_below(9) - 4);
		}
		if (random_below(4))
			f.data[0] = f.data[1] = 1;
		if (random_below(4))
			be16_store(f.data + 2, (uint16_t)f.n);
		if (fpm_contract(f.data, f.n, &t, &length))
			errors++;
		else
			good++;
	}
	assert_true(errors > 1000 && good > 1000);
}

int main(void)
{
	seed_random("fpm_hostile");
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(malformed_messages), cmocka_unit_test(malformed_attributes),
		cmocka_unit_test(malformed_prefixes), cmocka_unit_test(malformed_hops),
		cmocka_unit_test(malformed_objects), cmocka_unit_test(every_cut),
		cmocka_unit_test(random_changes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
