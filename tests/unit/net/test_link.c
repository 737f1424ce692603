/* net/link: which link protocol a frame belongs to. */
#include "tests/unit/rig/host.h"

#include "net/eth.h"
#include "net/link.h"

static enum link_protocol of(unsigned group, unsigned type)
{
	uint8_t frame[ETH_HLEN] = {0x01, 0x80, 0xc2, 0, 0, (uint8_t)group};
	be16_store(frame + 12, (uint16_t)type);
	return link_protocol_of(frame);
}

static void groups_and_types(void **state)
{
	(void)state;
	for (unsigned group = 0; group < 256; group++) {
		const bool near = group == 0 || group == 3;
		assert_int_equal(of(group, 0), group ? LINK_NONE : LINK_STP);
		assert_int_equal(of(group, 1500), group ? LINK_NONE : LINK_STP);
		assert_int_equal(of(group, 1501), LINK_NONE);
		assert_int_equal(of(group, 0x8809), near || group == 2 ? LINK_SLOW : LINK_NONE);
		assert_int_equal(of(group, 0x88cc), near || group == 0x0e ? LINK_LLDP : LINK_NONE);
		assert_int_equal(of(group, 0x0800), LINK_NONE);
		assert_int_equal(of(group, 0x8100), LINK_NONE);
	}
}

/* Any other octet of the address makes it another group, or a station. */
static void other_addresses(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 5 * 8; i++) {
		uint8_t frame[ETH_HLEN] = {0x01, 0x80, 0xc2, 0, 0, 0, [12] = 0x88, [13] = 0xcc};
		assert_int_equal(link_group(frame), 0);
		frame[i / 8] ^= (uint8_t)(1u << i % 8);
		assert_int_equal(link_group(frame), -1);
		assert_int_equal(link_protocol_of(frame), LINK_NONE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(groups_and_types),
		cmocka_unit_test(other_addresses),
	};
	return cmocka_run_group_tests_name("net/link", tests, NULL, NULL);
}
