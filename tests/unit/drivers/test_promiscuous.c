/*
 * Which frames a port receives: those to its own address and to groups, and with NIC_PROMISC those to
 * any station. Driver and model in one process, once for each card.
 */
#include "tests/unit/rig/model_port.h"
#include "tests/unit/rig/nicsim_frames.h"

#define FEATURES (NIC_RX_CSUM | NIC_TX_CSUM | NIC_RSS)

/* Does a frame to that station arrive? */
static bool arrives(const uint8_t *mac)
{
	const uint32_t bytes = numbered(1, 80);
	memcpy(f, mac, 6);
	rig_force(f, bytes, 0);
	rig_run(100000);
	const unsigned n = rx_all(0);
	let_go(0);
	assert_true(n <= 1);
	return n == 1;
}

static void check(bool promiscuous)
{
	static const uint8_t other[] = {2, 0x11, 0x22, 0x33, 0x44, 0x55};
	static const uint8_t broadcast[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
	static const uint8_t group[] = {0x33, 0x33, 0, 0, 0, 1};
	uint8_t near[6];
	memcpy(near, port.nic.mac, 6);
	near[5] ^= 1;
	assert_true(arrives(port.nic.mac));
	assert_true(arrives(broadcast));
	assert_true(arrives(group));
	assert_int_equal(arrives(other), promiscuous);
	assert_int_equal(arrives(near), promiscuous);
}

static void start_again(uint32_t features)
{
	port_stop();
	assert_int_equal(port_start(1, features, STANDARD, 1000), E_OK);
	port_attach();
	while (!link_now().up)
		rig_run(1000000);
}

static void filters_stations(void **s)
{
	(void)s;
	up(1, FEATURES, STANDARD);
	check(false);
	start_again(FEATURES | NIC_PROMISC);
	check(true);
	start_again(FEATURES);
	check(false);
}

static void promiscuous_at_first(void **s)
{
	(void)s;
	up(1, FEATURES | NIC_PROMISC, STANDARD);
	check(true);
	assert_false(port.shared.features & NIC_PROMISC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(filters_stations, NULL, teardown),
		cmocka_unit_test_setup_teardown(promiscuous_at_first, NULL, teardown),
	};
	return cmocka_run_group_tests(tests, strict, NULL);
}
