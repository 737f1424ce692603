/* Access lists of MAC addresses (net/acl/mac.h), against a comparison of octets. */
#include "tests/unit/rig/host.h"

#include "net/acl/mac.h"

#define RULES 40
#define ROUNDS 3000
#define FRAMES 30

static struct acl_mac_rule rules[RULES];
static uint64_t memory[1024];

/* Few different values, so that rules and frames often agree. */
static void some_mac(uint8_t mac[6])
{
	for (unsigned k = 0; k < 6; k++)
		mac[k] = random_below(4) ? 0 : (uint8_t)(1u << random_below(8));
}

static void some_address(uint8_t mac[6], uint8_t any[6])
{
	const unsigned kind = (unsigned)random_below(3);
	for (unsigned k = 0; k < 6; k++)
		any[k] = kind == 0 ? 0xff : kind == 1 ? 0 : (uint8_t)random64();
	some_mac(mac);
	for (unsigned k = 0; k < 6; k++)
		mac[k] &= (uint8_t)~any[k];
}

static void some_rules(uint32_t n)
{
	memset(rules, 0, sizeof rules);
	for (uint32_t r = 0; r < n; r++) {
		some_address(rules[r].src, rules[r].src_any);
		some_address(rules[r].dst, rules[r].dst_any);
		rules[r].type = random_below(2) ? 0 : (uint16_t)(0x800 + random_below(3));
		rules[r].vid = random_below(2) ? 0 : (uint16_t)(1 + random_below(3));
		rules[r].permit = random_below(2);
	}
}

static bool is_like(const uint8_t *mac, const uint8_t *want, const uint8_t *any)
{
	for (unsigned k = 0; k < 6; k++)
		for (unsigned bit = 0; bit < 8; bit++)
			if (!(any[k] >> bit & 1) && (mac[k] >> bit & 1) != (want[k] >> bit & 1))
				return false;
	return true;
}

static uint32_t oracle(uint32_t n, const uint8_t *frame, uint16_t type, uint16_t vid)
{
	for (uint32_t r = 0; r < n; r++) {
		const struct acl_mac_rule *m = &rules[r];
		if (is_like(frame, m->dst, m->dst_any) && is_like(frame + 6, m->src, m->src_any) &&
		    (!m->type || m->type == type) && (!m->vid || m->vid == vid))
			return r;
	}
	return n;
}

static void test_first_match(void **state)
{
	(void)state;
	unsigned matched = 0;
	seed_random("acl_mac");
	for (unsigned round = 0; round < ROUNDS; round++) {
		const uint32_t n = 1 + (uint32_t)random_below(RULES);
		some_rules(n);
		assert_true(acl_mac_bytes(n) <= sizeof memory);
		memset(memory, 0xa5, sizeof memory);
		const struct acl_mac *a = acl_mac_compile(rules, n, memory);
		const uint8_t *end = (const uint8_t *)memory + acl_mac_bytes(n);
		assert_int_equal(*end, 0xa5);
		for (unsigned f = 0; f < FRAMES; f++) {
			uint8_t frame[12];
			some_mac(frame);
			some_mac(frame + 6);
			const uint16_t type = (uint16_t)(0x800 + random_below(3)), vid = (uint16_t)(1 + random_below(3));
			const uint32_t want = oracle(n, frame, type, vid);
			assert_int_equal(acl_mac_first(a, acl_mac_key(frame, type, vid)), want);
			assert_int_equal(acl_mac_permits(a, want), want < n && rules[want].permit);
			matched += want < n;
		}
	}
	assert_in_range(matched, ROUNDS * FRAMES / 10, ROUNDS * FRAMES * 9 / 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_first_match)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
