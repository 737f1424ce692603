/* net/lldp/pdu: octets written, round trips, validation, every length, random TLVs. */
#include "tests/unit/rig/host.h"

#include "net/lldp/pdu.h"

static const uint8_t mac[] = {2, 0, 0, 0, 0, 9}, ip4[] = {192, 0, 2, 1};
static const uint8_t ip6[] = {0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};

#define TEXT(s) {(const uint8_t *)(s), sizeof(s) - 1}

static const struct lldp_pdu full = {
	.chassis = {LLDP_CHASSIS_MAC, {mac, sizeof mac}},
	.port = {LLDP_PORT_INTERFACE, TEXT("eth0")},
	.ttl_s = 121,
	.port_description = TEXT("up"),
	.system_name = TEXT("r1"),
	.system_description = TEXT("Hayate"),
	.has_capabilities = true,
	.capabilities = LLDP_BRIDGE | LLDP_ROUTER,
	.enabled = LLDP_ROUTER,
	.addresses = 2,
	.address = {{LLDP_IP4, {ip4, sizeof ip4}, LLDP_NUMBERING_IFINDEX, 1},
	            {LLDP_IP6, {ip6, sizeof ip6}, LLDP_NUMBERING_IFINDEX, 0x01020304}},
	.has_vlan = true,
	.vlan = 10,
	.has_frame_max = true,
	.frame_max = 1518,
};

/* Written by hand from clause 8. */
static const uint8_t octets[] = {
	0x02, 7, 4, 2, 0, 0, 0, 0, 9,
	0x04, 5, 5, 'e', 't', 'h', '0',
	0x06, 2, 0, 121,
	0x08, 2, 'u', 'p',
	0x0a, 2, 'r', '1',
	0x0c, 6, 'H', 'a', 'y', 'a', 't', 'e',
	0x0e, 4, 0, 0x14, 0, 0x10,
	0x10, 12, 5, 1, 192, 0, 2, 1, 2, 0, 0, 0, 1, 0,
	0x10, 24, 17, 2, 0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 1, 2, 3, 4, 0,
	0xfe, 6, 0, 0x80, 0xc2, 1, 0, 10,
	0xfe, 6, 0, 0x12, 0x0f, 4, 0x05, 0xee,
	0, 0,
};

static void expect_octets(const struct lldp_string *a, const struct lldp_string *b)
{
	assert_int_equal(a->at == NULL, b->at == NULL);
	assert_int_equal(a->len, b->len);
	if (a->len)
		assert_memory_equal(a->at, b->at, a->len);
}

static void expect_same(const struct lldp_pdu *a, const struct lldp_pdu *b)
{
	assert_int_equal(a->chassis.subtype, b->chassis.subtype);
	expect_octets(&a->chassis.value, &b->chassis.value);
	assert_int_equal(a->port.subtype, b->port.subtype);
	expect_octets(&a->port.value, &b->port.value);
	assert_int_equal(a->ttl_s, b->ttl_s);
	expect_octets(&a->port_description, &b->port_description);
	expect_octets(&a->system_name, &b->system_name);
	expect_octets(&a->system_description, &b->system_description);
	assert_int_equal(a->has_capabilities, b->has_capabilities);
	assert_int_equal(a->capabilities, b->capabilities);
	assert_int_equal(a->enabled, b->enabled);
	assert_int_equal(a->has_vlan, b->has_vlan);
	assert_int_equal(a->vlan, b->vlan);
	assert_int_equal(a->has_frame_max, b->has_frame_max);
	assert_int_equal(a->frame_max, b->frame_max);
	assert_int_equal(a->addresses, b->addresses);
	for (unsigned i = 0; i < a->addresses; i++) {
		assert_int_equal(a->address[i].family, b->address[i].family);
		expect_octets(&a->address[i].value, &b->address[i].value);
		assert_int_equal(a->address[i].numbering, b->address[i].numbering);
		assert_int_equal(a->address[i].number, b->address[i].number);
	}
}

static void test_octets(void **state)
{
	(void)state;
	uint8_t out[LLDP_PDU_MAX + 1];
	memset(out, 0xee, sizeof out);
	assert_int_equal(lldp_pdu_write(out, &full), sizeof octets);
	assert_memory_equal(out, octets, sizeof octets);
	assert_int_equal(out[sizeof octets], 0xee);

	struct lldp_pdu read;
	assert_int_equal(lldp_pdu_read(octets, sizeof octets, &read), CNT_NONE);
	expect_same(&full, &read);
	assert_int_equal(read.len, sizeof octets);
	assert_int_equal(read.identity, 16);
	assert_int_equal(read.unknown + read.discarded, 0);
}

static void test_shutdown(void **state)
{
	(void)state;
	uint8_t out[LLDP_PDU_MAX];
	struct lldp_pdu pdu = full, read;
	pdu.ttl_s = 0;
	const unsigned len = lldp_pdu_write(out, &pdu);
	assert_int_equal(len, 9 + 7 + 4 + 2);
	assert_int_equal(lldp_pdu_read(out, len, &read), CNT_NONE);
	assert_int_equal(read.ttl_s, 0);
	assert_null(read.system_name.at);
	out[len - 1] = 77; /* what stands behind does not matter */
	assert_int_equal(lldp_pdu_read(out, len, &read), CNT_NONE);
	assert_int_equal(read.len, len - 2);
}

/* Padding is ignored, and the end TLV may be missing. A shorter frame is refused if it ends in a mandatory
 * TLV or in the end TLV. If it ends in another one, that one is discarded and the others count (9.2.7.7.2). */
static void test_every_length(void **state)
{
	(void)state;
	struct lldp_pdu read;
	uint8_t padded[sizeof octets + 40];
	memset(padded, 0xff, sizeof padded);
	memcpy(padded, octets, sizeof octets);
	assert_int_equal(lldp_pdu_read(padded, sizeof padded, &read), CNT_NONE);
	assert_int_equal(read.len, sizeof octets);
	for (unsigned n = 0; n <= sizeof octets; n++) {
		bool edge = false;
		for (unsigned at = 0; at <= n && at < sizeof octets; at += 2u + octets[at + 1])
			edge |= at == n;
		edge |= n == sizeof octets;
		uint8_t *exact = malloc(n ? n : 1);
		memcpy(exact, octets, n);
		const enum counter want = !edge && (n < 20 || n == sizeof octets - 1) ? CNT_drop_lldp_length :
		                          n < 20 ? CNT_drop_lldp_order : CNT_NONE;
		assert_int_equal(lldp_pdu_read(exact, n, &read), want);
		if (want == CNT_NONE) {
			assert_int_equal(read.discarded, !edge);
			assert_int_equal(read.len, n);
			assert_int_equal(read.system_name.at != NULL, n >= 28);
			assert_int_equal(read.addresses, n >= 82 ? 2 : n >= 56 ? 1 : 0);
		}
		free(exact);
	}
}

/* The mandatory TLVs, then `more`. */
static enum counter read_with(const void *more, unsigned n, struct lldp_pdu *out)
{
	static uint8_t pdu[LLDP_PDU_MAX];
	memcpy(pdu, octets, 20);
	memcpy(pdu + 20, more, n);
	return lldp_pdu_read(pdu, 20 + n, out);
}

static void test_order(void **state)
{
	(void)state;
	static const struct { unsigned a, b, c; } orders[] = {{0, 16, 9}, {9, 0, 16}, {0, 0, 9}, {16, 0, 9}, {9, 9, 16}};
	static const unsigned size[] = {9, [9] = 7, [16] = 4};
	struct lldp_pdu read;
	for (unsigned i = 0; i < ARRAY_LEN(orders); i++) {
		uint8_t pdu[64];
		unsigned n = 0;
		const unsigned order[] = {orders[i].a, orders[i].b, orders[i].c};
		for (unsigned k = 0; k < 3; k++) {
			memcpy(pdu + n, octets + order[k], size[order[k]]);
			n += size[order[k]];
		}
		memset(pdu + n, 0, 2);
		assert_int_equal(lldp_pdu_read(pdu, n + 2, &read), CNT_drop_lldp_order);
	}
	/* each again behind the others; an optional one too early; the end at once */
	assert_int_equal(read_with(octets, 9, &read), CNT_drop_lldp_order);
	assert_int_equal(read_with(octets + 9, 7, &read), CNT_drop_lldp_order);
	assert_int_equal(read_with(octets + 16, 4, &read), CNT_drop_lldp_order);
	assert_int_equal(lldp_pdu_read(octets + 20, sizeof octets - 20, &read), CNT_drop_lldp_order);
	assert_int_equal(lldp_pdu_read((const uint8_t[]){0, 0}, 2, &read), CNT_drop_lldp_order);
}

static void test_mandatory_lengths(void **state)
{
	(void)state;
	static uint8_t pdu[LLDP_PDU_MAX];
	struct lldp_pdu read;
	for (unsigned len = 0; len < 512; len++) {
		const bool good = len >= 2 && len <= 256;
		memset(pdu, 1, sizeof pdu);
		be16_store(pdu, (uint16_t)(1 << 9 | len));
		memcpy(pdu + 2 + len, octets + 9, 11);
		assert_int_equal(lldp_pdu_read(pdu, 2 + len + 11, &read), good ? CNT_NONE : CNT_drop_lldp_length);
		memcpy(pdu, octets, 9);
		be16_store(pdu + 9, (uint16_t)(2 << 9 | len));
		memcpy(pdu + 11 + len, octets + 16, 4);
		assert_int_equal(lldp_pdu_read(pdu, 11 + len + 4, &read), good ? CNT_NONE : CNT_drop_lldp_length);
		assert_true(!good || read.identity == 11 + len);
		memcpy(pdu, octets, 16);
		be16_store(pdu + 16, (uint16_t)(3 << 9 | len));
		assert_int_equal(lldp_pdu_read(pdu, 18 + len, &read), len >= 2 ? CNT_NONE : CNT_drop_lldp_length);
	}
	assert_int_equal(read_with((const uint8_t[]){0, 1, 0}, 3, &read), CNT_drop_lldp_length); /* end */
	assert_int_equal(read_with((const uint8_t[]){0, 2, 0}, 3, &read), CNT_drop_lldp_length); /* beyond the frame */
	assert_int_equal(read_with((const uint8_t[]){6, 3, 0, 1}, 4, &read), CNT_drop_lldp_length); /* a second TTL */
}

/* An optional TLV with an invalid length, or repeated, is ignored. What follows counts. */
static void test_optional(void **state)
{
	(void)state;
	static const struct { unsigned type, good_min, good_max; } kinds[] = {
		{4, 0, 255}, {5, 0, 255}, {6, 0, 255}, {7, 4, 4},
	};
	struct lldp_pdu read;
	for (unsigned k = 0; k < ARRAY_LEN(kinds); k++) {
		for (unsigned len = 0; len < 512; len++) {
			uint8_t more[1100] = {0};
			be16_store(more, (uint16_t)(kinds[k].type << 9 | len));
			be16_store(more + 2 + len, (uint16_t)(kinds[k].type << 9 | len)); /* repeated */
			memcpy(more + 2 * (2 + len), "\xfe\6\0\x80\xc2\1\0\7", 8);
			assert_int_equal(read_with(more, 2 * (2 + len) + 8, &read), CNT_NONE);
			const bool good = len >= kinds[k].good_min && len <= kinds[k].good_max;
			assert_int_equal(read.discarded, good ? 1 : 2);
			assert_true(read.has_vlan && read.vlan == 7);
		}
	}
}

/* 8.5.8.3: what is enabled is also among what the system is capable of. Else the TLV is in error. */
static void test_capabilities(void **state)
{
	(void)state;
	struct lldp_pdu read;
	for (unsigned bit = 0; bit < 16; bit++) {
		uint8_t more[] = {0x0e, 4, 0, 0, 0, 0};
		be16_store(more + 4, (uint16_t)(1u << bit));
		assert_int_equal(read_with(more, sizeof more, &read), CNT_NONE);
		assert_int_equal(read.discarded, 1);
		assert_false(read.has_capabilities);
		be16_store(more + 2, (uint16_t)(1u << bit));
		assert_int_equal(read_with(more, sizeof more, &read), CNT_NONE);
		assert_int_equal(read.discarded, 0);
		assert_int_equal(read.enabled, 1u << bit);
	}
}

static void test_addresses(void **state)
{
	(void)state;
	struct lldp_pdu read;
	/* length of the TLV and of its parts disagree: all but one OID length, string length */
	for (unsigned string = 0; string < 40; string++) {
		for (unsigned len = 0; len < 60; len++) {
			uint8_t more[64] = {0x10, (uint8_t)len, (uint8_t)string, 1};
			assert_int_equal(read_with(more, 2 + len, &read), CNT_NONE);
			const bool good = string >= 2 && string <= 32 && len == 1 + string + 6;
			assert_int_equal(read.addresses, good);
			assert_int_equal(read.discarded, !good);
		}
	}
	/* an OID of its length, and of one more than is there */
	uint8_t oid[] = {0x10, 15, 5, 1, 192, 0, 2, 9, 2, 0, 0, 0, 3, 3, 1, 3, 6};
	assert_int_equal(read_with(oid, sizeof oid, &read), CNT_NONE);
	assert_int_equal(read.addresses, 1);
	assert_int_equal(read.address[0].number, 3);
	oid[13] = 4;
	assert_int_equal(read_with(oid, sizeof oid, &read), CNT_NONE);
	assert_int_equal(read.discarded, 1);
	/* more than are kept */
	uint8_t many[14 * (LLDP_ADDRESSES_MAX + 2)];
	for (unsigned i = 0; i < LLDP_ADDRESSES_MAX + 2; i++)
		memcpy(many + 14 * i, octets + 42, 14);
	assert_int_equal(read_with(many, sizeof many, &read), CNT_NONE);
	assert_int_equal(read.addresses, LLDP_ADDRESSES_MAX);
	assert_int_equal(read.discarded, 0);
}

static void test_organisations(void **state)
{
	(void)state;
	struct lldp_pdu read;
	static const uint8_t unknown[] = {0xfe, 4, 0, 0x12, 0x0f, 1, 0xfe, 5, 1, 2, 3, 4, 5, 0x12, 0, 0xfc, 1, 9};
	assert_int_equal(read_with(unknown, sizeof unknown, &read), CNT_NONE);
	assert_int_equal(read.unknown, 4); /* with two of reserved types, 9 and 126 */
	static const uint8_t wrong[] = {0xfe, 3, 0, 0x80, 0xc2, 0xfe, 5, 0, 0x80, 0xc2, 1, 0, 0xfe, 7, 0, 0x12, 0x0f, 4, 1, 2, 3};
	assert_int_equal(read_with(wrong, sizeof wrong, &read), CNT_NONE);
	assert_int_equal(read.discarded, 3);
	assert_false(read.has_vlan || read.has_frame_max);
}

/* What does not fit is left out, and the result is valid. */
static void test_no_room(void **state)
{
	(void)state;
	static uint8_t text[300], out[LLDP_PDU_MAX + 1];
	memset(text, 'x', sizeof text);
	struct lldp_pdu pdu = full, read;
	const struct lldp_string longest = {text, sizeof text};
	pdu.chassis.value = pdu.port.value = (struct lldp_string){text, LLDP_STRING_MAX};
	pdu.port_description = pdu.system_name = pdu.system_description = longest;
	pdu.addresses = LLDP_ADDRESSES_MAX;
	for (unsigned i = 0; i < LLDP_ADDRESSES_MAX; i++)
		pdu.address[i] = (struct lldp_address){9, {text, LLDP_ADDRESS_LEN_MAX}, 2, 1};
	memset(out, 0xee, sizeof out);
	const unsigned len = lldp_pdu_write(out, &pdu);
	assert_true(len > LLDP_PDU_MAX - 45 && len <= LLDP_PDU_MAX);
	assert_int_equal(out[LLDP_PDU_MAX], 0xee);
	assert_int_equal(lldp_pdu_read(out, len, &read), CNT_NONE);
	assert_int_equal(read.discarded, 0);
	assert_int_equal(read.system_description.len, LLDP_STRING_MAX);
	assert_true(read.addresses > 0 && read.addresses < LLDP_ADDRESSES_MAX);
}

/* Whatever is read is written as it was understood. */
static void test_random(void **state)
{
	(void)state;
	seed_random("lldp_pdu");
	static uint8_t pdu[400], out[LLDP_PDU_MAX];
	for (unsigned round = 0; round < 20000; round++) {
		unsigned n = 20;
		memcpy(pdu, octets, n);
		while (n < 300) {
			const unsigned len = random_below(20);
			random_fill(pdu + n, 2 + len);
			be16_store(pdu + n, (uint16_t)((random_below(8) ? 1 + random_below(10) : 127) << 9 | len));
			if (random_below(3) == 0)
				pdu[n + 2] = (uint8_t)random_below(len + 1);
			n += 2 + len;
		}
		if (random_below(2))
			pdu[random_below(n)] ^= (uint8_t)(1 << random_below(8));
		struct lldp_pdu a, b;
		if (lldp_pdu_read(pdu, n, &a) != CNT_NONE || a.ttl_s == 0)
			continue;
		assert_int_equal(lldp_pdu_read(out, lldp_pdu_write(out, &a), &b), CNT_NONE);
		expect_same(&a, &b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_octets),            cmocka_unit_test(test_shutdown),
		cmocka_unit_test(test_every_length),      cmocka_unit_test(test_order),
		cmocka_unit_test(test_mandatory_lengths), cmocka_unit_test(test_optional),
		cmocka_unit_test(test_addresses),         cmocka_unit_test(test_organisations),
		cmocka_unit_test(test_no_room),           cmocka_unit_test(test_random),
		cmocka_unit_test(test_capabilities),
	};
	return cmocka_run_group_tests_name("lldp_pdu", tests, NULL, NULL);
}
