/* net/dhcp/relay4 and relay6: the cases that tests/packet/test_dhcp_relay.py does not have: option 82 at every place, no
 * room, every length of a message. */
#include "tests/unit/rig/host.h"

#include "lib/bytes.h"
#include "net/dhcp/relay4.h"
#include "net/dhcp/relay6.h"

static const uint8_t mac[6] = {2, 0, 0, 0, 0, 9};
static const struct dhcp_relay4 inserts = {.giaddr = 0xc0000201, .hops_max = 16, .insert = true, .circuit = "eth0",
                                           .circuit_len = 4};
static uint8_t in[DHCP4_BYTES_MAX], out[DHCP4_BYTES_MAX];

static unsigned request(unsigned fill)
{
	static const uint8_t text[255];
	struct dhcp4_build b;
	dhcp4_begin(&b, in, DHCP4_REQUEST, DHCP4_DISCOVER, 7, mac);
	for (unsigned n; fill; fill -= n) {
		n = fill > 250 ? 250 : fill;
		dhcp4_put(&b, DHCP4_OPT_HOSTNAME, text, n);
	}
	return dhcp4_end(&b);
}

/* A request grows by 8 octets beyond the least length; where there is no room it goes without the option. */
static void test_room(void **state)
{
	(void)state;
	for (unsigned fill = 0; fill < 1210; fill++) {
		unsigned n;
		bool without;
		const unsigned len = request(fill);
		assert_int_equal(dhcp_relay4_request(&inserts, in, len, out, &n, &without), CNT_NONE);
		struct dhcp4_options o;
		uint8_t value[8];
		assert_int_equal(dhcp4_options(out, n, &o), CNT_NONE);
		const int found = dhcp4_option(&o, DHCP4_OPT_AGENT, value, sizeof value);
		assert_int_equal(found, without ? E_NOENT : 6);
		assert_true(without ? n == len && len + 8 > DHCP4_BYTES_MAX : n >= DHCP4_BYTES_MIN && n <= len + 8);
	}
}

/* A reply loses our option wherever it stands, and no other one. */
static void test_removed(void **state)
{
	(void)state;
	static const uint8_t agent[] = {1, 4, 'e', 't', 'h', '0'};
	for (unsigned place = 0; place < 4; place++) {
		struct dhcp4_build b;
		struct dhcp_relay4_to to;
		unsigned n;
		dhcp4_begin(&b, in, DHCP4_REPLY, DHCP4_OFFER, 7, mac);
		for (unsigned i = 0; i < 4; i++) {
			if (i == place)
				dhcp4_put(&b, DHCP4_OPT_AGENT, agent, sizeof agent);
			dhcp4_put_u32(&b, (enum dhcp4_option_code)(100 + i), i);
		}
		const unsigned len = dhcp4_end(&b);
		assert_int_equal(dhcp_relay4_reply(&inserts, in, len, out, &n, &to), CNT_NONE);
		struct dhcp4_options o;
		uint8_t value[8];
		assert_int_equal(dhcp4_options(out, n, &o), CNT_NONE);
		assert_int_equal(dhcp4_option(&o, DHCP4_OPT_AGENT, value, sizeof value), E_NOENT);
		assert_int_equal(n, DHCP4_BYTES_MIN);
		const struct dhcp_relay4 other = {.circuit = "eth1", .circuit_len = 4};
		assert_int_equal(dhcp_relay4_reply(&other, in, len, out, &n, &to), CNT_NONE);
		assert_true(n == len && memcmp(in, out, n) == 0);
	}
}

static void test_every_length4(void **state)
{
	(void)state;
	const unsigned len = request(20);
	for (unsigned n = 0; n <= len; n++) {
		uint8_t *exact = malloc(n ? n : 1), op;
		unsigned bytes;
		bool without;
		memcpy(exact, in, n);
		if (dhcp_relay4_check(exact, n, &op) == CNT_NONE)
			(void)dhcp_relay4_request(&inserts, exact, n, out, &bytes, &without);
		else
			assert_true(n < DHCP4_OPTIONS);
		free(exact);
	}
}

/* What a relay agent makes, the next one can take apart, up to the last hop. */
static void test_nested6(void **state)
{
	(void)state;
	static uint8_t a[DHCP_RELAY6_BYTES_MAX], b[DHCP_RELAY6_BYTES_MAX];
	const struct dhcp_relay6_from f = {.peer = IP6(0xfe800000, 0, 0, 5), .link = IP6(0x20010db8, 0, 0, 1),
	                                   .name = "eth0", .name_len = 4};
	unsigned n = 8, hops = 0;
	memcpy(a, "\1\0\0\7\0\1\0", 8);
	for (; dhcp_relay6_forward(&f, a, n, b, &n) == CNT_NONE; hops++) {
		assert_int_equal(b[1], hops);
		memcpy(a, b, n);
	}
	assert_int_equal(hops, 9); /* hop counts 0 to 8 */
	assert_int_equal(dhcp_relay6_forward(&f, a, n, b, &n), CNT_drop_dhcp_hops);
	struct dhcp_relay6_reply r;
	a[0] = DHCP6_RELAY_REPLY; /* the server's answer has the same form; its content is for the next agent */
	a[34 + 8 + 4] = DHCP6_RELAY_REPLY;
	assert_int_equal(dhcp_relay6_take(a, n, &r), CNT_NONE);
	assert_int_equal(r.port, DHCP6_SERVER_PORT);
	assert_int_equal(r.len, n - 46);
	assert_memory_equal(r.name, "eth0", 4);
	for (unsigned len = 0; len < n; len++) {
		uint8_t *exact = malloc(len ? len : 1);
		memcpy(exact, a, len);
		assert_int_equal(dhcp_relay6_take(exact, len, &r), CNT_drop_dhcp_malformed);
		free(exact);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_room),
		cmocka_unit_test(test_removed),
		cmocka_unit_test(test_every_length4),
		cmocka_unit_test(test_nested6),
	};
	return cmocka_run_group_tests_name("dhcp_relay", tests, NULL, NULL);
}
