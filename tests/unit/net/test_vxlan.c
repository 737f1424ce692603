/* net/vxlan: the header, and what may leave by an interface. */
#include "tests/unit/rig/packets.h"

#include "net/eth.h"
#include "net/ip4.h"
#include "net/vxlan.h"

#define MTU 100

static const uint8_t OURS[6] = {2, 0x48, 0x59, 0, 0, 1};
static const uint8_t OTHER[6] = {2, 0xaa, 0, 0, 0, 2};
static const uint8_t EVERYBODY[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

static void header(void **state)
{
	(void)state;
	uint8_t h[VXLAN_HLEN];
	for (uint32_t vni = 1; vni <= VXLAN_VNI_MAX; vni = vni * 5 + 3) {
		vxlan_header_build(h, vni);
		const uint8_t want[] = {8, 0, 0, 0, (uint8_t)(vni >> 16), (uint8_t)(vni >> 8), (uint8_t)vni, 0};
		assert_memory_equal(h, want, sizeof want);
		assert_int_equal(vxlan_vni(h, sizeof h), vni);
		for (unsigned n = 0; n < VXLAN_HLEN; n++) {
			uint8_t *exact = malloc(n ? n : 1);
			memcpy(exact, h, n);
			assert_int_equal(vxlan_vni(exact, n), 0);
			free(exact);
		}
		h[0] = 0xf7; /* the other flags mean nothing (RFC 7348 5) */
		assert_int_equal(vxlan_vni(h, sizeof h), 0);
		memset(h, 0xff, 4);
		h[7] = 0xff;
		assert_int_equal(vxlan_vni(h, sizeof h), vni);
	}
}

static enum vxlan_action action;
static unsigned length;

/* Judges a frame of n octets behind its header. */
static enum counter judge(const uint8_t *dst, const uint8_t *src, unsigned type, const uint8_t *rest,
                          unsigned n)
{
	uint8_t *frame = malloc(ETH_HLEN + n);
	memcpy(frame, dst, 6);
	memcpy(frame + 6, src, 6);
	put16(frame + 12, type);
	memcpy(frame + ETH_HLEN, rest, n);
	length = 0;
	const enum counter c = vxlan_judge(frame, ETH_HLEN + n, OURS, MTU, &action, &length);
	free(frame);
	return c;
}

static void admit(const uint8_t *dst, unsigned type, const uint8_t *rest, unsigned n,
                   enum vxlan_action want, unsigned bytes)
{
	assert_int_equal(judge(dst, OURS, type, rest, n), CNT_NONE);
	assert_int_equal(action, want);
	assert_int_equal(length, ETH_HLEN + bytes);
}

static uint8_t four[128], six[128];

static void make_both(void)
{
	memset(four, 0, sizeof four);
	memset(six, 0, sizeof six);
	make_ip(four, IP4(192, 0, 2, 1), IP4(192, 0, 2, 2), 6, NULL, 0, 20);
	six[0] = 0x60;
	put16(six + 4, 20);
	six[6] = 6;
	six[7] = 1;
	const struct net_addr src = addr6("2001:db8::1"), dst = addr6("2001:db8::2");
	memcpy(six + 8, &src, 16);
	memcpy(six + 24, &dst, 16);
}

static void ways(void **state)
{
	(void)state;
	make_both();
	admit(OURS, ETH_TYPE_IP4, four, 40, VXLAN_ROUTE4, 40);
	admit(OURS, ETH_TYPE_IP4, four, 46, VXLAN_ROUTE4, 40); /* without padding */
	admit(OTHER, ETH_TYPE_IP4, four, 40, VXLAN_SEND, 40);
	admit(EVERYBODY, ETH_TYPE_IP4, four, 40, VXLAN_SEND, 40);
	admit(OURS, ETH_TYPE_IP6, six, 60, VXLAN_ROUTE6, 60);
	admit(OTHER, ETH_TYPE_IP6, six, 70, VXLAN_SEND, 60);
	admit(EVERYBODY, 0x88cc, four, 50, VXLAN_SEND, 50);
	admit(OURS, 0x88cc, four, 0, VXLAN_SEND, 0);
	admit(EVERYBODY, 20, four, 46, VXLAN_SEND, 20); /* IEEE 802.3 */
	admit(EVERYBODY, 0x88cc, four, MTU, VXLAN_SEND, MTU);
}

static void refused(void **state)
{
	(void)state;
	make_both();
	for (unsigned n = 0; n < ETH_HLEN; n++) {
		uint8_t *exact = calloc(1, n ? n : 1);
		assert_int_equal(vxlan_judge(exact, n, OURS, MTU, &action, &length), CNT_drop_vxlan_malformed);
		free(exact);
	}
	assert_int_equal(judge(OURS, OTHER, ETH_TYPE_IP4, four, 40), CNT_drop_vxlan_source);
	assert_int_equal(judge(EVERYBODY, OTHER, 0x88cc, four, 40), CNT_drop_vxlan_source);
	static const unsigned types[] = {ETH_TYPE_ARP, ETH_TYPE_VLAN, 0x88a8};
	for (unsigned i = 0; i < ARRAY_LEN(types); i++)
		assert_int_equal(judge(EVERYBODY, OURS, types[i], four, 40), CNT_drop_vxlan_type);
	for (unsigned n = 0; n < 40; n++)
		assert_int_equal(judge(OURS, OURS, ETH_TYPE_IP4, four, n), CNT_drop_vxlan_malformed);
	for (unsigned n = 0; n < 60; n++)
		assert_int_equal(judge(OURS, OURS, ETH_TYPE_IP6, six, n), CNT_drop_vxlan_malformed);
	four[10] ^= 1;
	assert_int_equal(judge(OURS, OURS, ETH_TYPE_IP4, four, 40), CNT_drop_vxlan_malformed);
	assert_int_equal(judge(EVERYBODY, OURS, 41, four, 40), CNT_drop_vxlan_malformed);
	assert_int_equal(judge(EVERYBODY, OURS, 0x88cc, four, MTU + 1), CNT_drop_vxlan_too_big);
	six[6] = 58;
	for (unsigned type = 0; type < 256; type++) {
		six[40] = (uint8_t)type;
		const bool own = type >= 135 && type <= 137;
		assert_int_equal(judge(OURS, OURS, ETH_TYPE_IP6, six, 60), own ? CNT_drop_vxlan_type : CNT_NONE);
		assert_int_equal(judge(EVERYBODY, OURS, ETH_TYPE_IP6, six, 60),
		                 own ? CNT_drop_vxlan_type : CNT_NONE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(header),
		cmocka_unit_test(ways),
		cmocka_unit_test(refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
