/* net/dhcp/dhcp4: options in three fields, in pieces, malformed ones, every length; messages built. */
#include "tests/unit/rig/host.h"

#include "lib/bytes.h"
#include "net/dhcp/dhcp4.h"

static const uint8_t mac[6] = {2, 0, 0, 0, 0, 9};
static uint8_t message[DHCP4_BYTES_MAX];

/* A message whose options are these octets. */
static unsigned with(const void *options, unsigned n)
{
	struct dhcp4_build b;
	dhcp4_begin(&b, message, DHCP4_REPLY, DHCP4_OFFER, 7, mac);
	memcpy(message + DHCP4_OPTIONS, options, n);
	return DHCP4_OPTIONS + n;
}

static struct dhcp4_options read(unsigned len)
{
	struct dhcp4_options o;
	assert_int_equal(dhcp4_options(message, len, &o), CNT_NONE);
	return o;
}

static void test_built(void **state)
{
	(void)state;
	struct dhcp4_build b;
	dhcp4_begin(&b, message, DHCP4_REQUEST, DHCP4_DISCOVER, 0x01020304, mac);
	dhcp4_put_u32(&b, DHCP4_OPT_ADDRESS, 0xc0000209);
	dhcp4_put(&b, DHCP4_OPT_HOSTNAME, "pc", 2);
	assert_int_equal(dhcp4_end(&b), DHCP4_BYTES_MIN);
	/* written by hand from RFC 2131 2 and RFC 2132 */
	static const uint8_t head[] = {1, 1, 6, 0, 1, 2, 3, 4, 0, 0, 0, 0};
	static const uint8_t options[] = {99, 130, 83, 99, 53, 1, 1, 50, 4, 192, 0, 2, 9, 12, 2, 'p', 'c', 255, 0};
	assert_memory_equal(message, head, sizeof head);
	assert_memory_equal(message + DHCP4_CHADDR, mac, 6);
	assert_memory_equal(message + DHCP4_COOKIE, options, sizeof options);
	const struct dhcp4_options o = read(DHCP4_BYTES_MIN);
	uint32_t addr;
	assert_int_equal(dhcp4_type(&o), DHCP4_DISCOVER);
	assert_true(dhcp4_option_u32(&o, DHCP4_OPT_ADDRESS, &addr) && addr == 0xc0000209);
	assert_false(dhcp4_option_u32(&o, DHCP4_OPT_HOSTNAME, &addr));
}

static void test_full(void **state)
{
	(void)state;
	static const uint8_t text[255];
	struct dhcp4_build b;
	dhcp4_begin(&b, message, DHCP4_REQUEST, DHCP4_DISCOVER, 1, mac);
	for (unsigned i = 0; i < 10; i++)
		dhcp4_put(&b, DHCP4_OPT_HOSTNAME, text, 255);
	assert_true(b.full);
	const unsigned n = dhcp4_end(&b);
	assert_true(n <= DHCP4_BYTES_MAX && message[n - 1] == DHCP4_OPT_END);
	(void)read(n);
}

/* RFC 3396: pieces of an option, in the options field, file and sname. RFC 2132 9.3. */
static void test_overload(void **state)
{
	(void)state;
	static const uint8_t options[] = {0, 0, 12, 1, 'a', 52, 1, 3, 12, 1, 'b', 255, 12, 1, 'x'};
	static const uint8_t file[] = {12, 1, 'c', 53, 1, 5, 255}, sname[] = {12, 1, 'd'};
	uint8_t value[4];
	const unsigned len = with(options, sizeof options);
	memcpy(message + DHCP4_FILE, file, sizeof file);
	memcpy(message + DHCP4_SNAME, sname, sizeof sname);
	const struct dhcp4_options o = read(len);
	assert_int_equal(o.fields, 3);
	assert_int_equal(dhcp4_option(&o, DHCP4_OPT_HOSTNAME, value, 4), 4);
	assert_memory_equal(value, "abcd", 4);
	assert_int_equal(dhcp4_option(&o, DHCP4_OPT_HOSTNAME, value, 3), E_NOMEM);
	assert_int_equal(dhcp4_option(&o, DHCP4_OPT_ROUTER, value, 4), E_NOENT);
	assert_int_equal(dhcp4_type(&o), DHCP4_ACK);
	/* only sname */
	message[DHCP4_OPTIONS + 7] = 2;
	const struct dhcp4_options two = read(len);
	assert_int_equal(two.fields, 2);
	assert_int_equal(dhcp4_option(&two, DHCP4_OPT_HOSTNAME, value, 4), 3);
	assert_memory_equal(value, "abd", 3);
}

static void malformed(const void *options, unsigned n)
{
	struct dhcp4_options o;
	const unsigned len = with(options, n);
	assert_int_equal(dhcp4_options(message, len, &o), CNT_drop_dhcp_malformed);
}

static void test_malformed(void **state)
{
	(void)state;
	malformed("\x0c", 1);
	malformed("\x0c\x02" "a", 3);
	malformed("\x34\x01\x00", 3);
	malformed("\x34\x01\x04", 3);
	malformed("\x34\x02\x01\x01", 4);
	const unsigned len = with("\x34\x01\x01", 3);
	struct dhcp4_options o;
	message[DHCP4_FILE] = 12;
	message[DHCP4_FILE + 1] = DHCP4_FILE_BYTES - 1;
	assert_int_equal(dhcp4_options(message, len, &o), CNT_drop_dhcp_malformed);
	message[DHCP4_FILE + 1] = DHCP4_FILE_BYTES - 2;
	assert_int_equal(dhcp4_options(message, len, &o), CNT_NONE);
	message[DHCP4_COOKIE] ^= 1;
	assert_int_equal(dhcp4_options(message, len, &o), CNT_drop_dhcp_malformed);
}

/* Of each length an exact copy, so that ASan sees a read beyond it. */
static void test_every_length(void **state)
{
	(void)state;
	static const uint8_t options[] = {53, 1, 2, 54, 4, 192, 0, 2, 1, 12, 3, 'a', 'b', 'c', 255};
	const unsigned len = with(options, sizeof options);
	for (unsigned n = 0; n <= len; n++) {
		uint8_t *exact = malloc(n ? n : 1), value[8];
		struct dhcp4_options o;
		memcpy(exact, message, n);
		const enum counter bad = dhcp4_options(exact, n, &o);
		const bool whole = n == 240 || n == 243 || n == 249 || n >= 254;
		assert_int_equal(bad, whole ? CNT_NONE : CNT_drop_dhcp_malformed);
		if (whole)
			assert_int_equal(dhcp4_option(&o, DHCP4_OPT_HOSTNAME, value, 8), n >= 254 ? 3 : E_NOENT);
		free(exact);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_built),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_overload),
		cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_every_length),
	};
	return cmocka_run_group_tests_name("dhcp4", tests, NULL, NULL);
}
