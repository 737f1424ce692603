/* net/fpm reads what zebra has sent: frames of FRR 8.4.4, 10.3 and 10.7.1 with static routes and BGP,
 * and what they mean. The next-hop objects go into a table, by which the routes are resolved. */
#include "tests/unit/rig/host.h"

#include <arpa/inet.h>

#include "lib/bytes.h"
#include "lib/mem.h"
#include "net/fpm/nexthops.h"

static const struct {
	const char *hex, *meaning;
} rows[] = {
	/* FRR 8.4.4, with next-hop groups */
	{"010100343000000068000105000000005655a6bd02000b0000000000080001001a000000080006000a00"
	 "01030800050002000000",
	 "object 26 via 10.0.1.3 if2\n"},
	{"010100343000000068000105000000005655a6bd02000b0000000000080001001b000000080006000a00"
	 "02030800050003000000",
	 "object 27 via 10.0.2.3 if3\n"},
	{"010100343000000068000105000000005655a6bd02000b0000000000080001001c000000080006000a00"
	 "03030800050004000000",
	 "object 28 via 10.0.3.3 if4\n"},
	{"010100403c00000068000105000000005655a6bd00000b000000000008000100190000001c0002001a00"
	 "0000000000001b000000000000001c00000000000000",
	 "object 25 26 27 28\n"},
	{"010100383400000018000105000000005655a6bd02180000fec400010000000008000100c63364000800"
	 "06001400000008001e0019000000",
	 "route 198.51.100.0/24 table 254 S object 25: via 10.0.1.3 if2 via 10.0.2.3 if3 via 10.0.3.3 if4\n"},
	{"010100383400000068000105000000005655a6bd00000b00000000000800010020000000140002001a00"
	 "0000000000001c00000000000000",
	 "object 32 26 28\n"},
	{"010100642c00000019000104000000005655a6bd02180000fec400000000000008000100c63364000800"
	 "0600140000003400000018000105000000005655a6bd02180000fec400010000000008000100c6336400"
	 "080006001400000008001e0020000000",
	 "delete 198.51.100.0/24 table 254 S\n"
	 "route 198.51.100.0/24 table 254 S object 32: via 10.0.1.3 if2 via 10.0.3.3 if4\n"},
	{"010100282400000068000105000000005655a6bd02000b0000000000080001002200000004000400",
	 "object 34 blackhole\n"},
	{"010100302c00000018000105000000005655a6bd02180000fec400060000000008000100cb0071000800"
	 "060014000000",
	 "route 203.0.113.0/24 table 254 S blackhole\n"},
	{"010100302c00000018000105000000005655a6bd02180000fec400070000000008000100cb0072000800"
	 "060014000000",
	 "route 203.0.114.0/24 table 254 S unreachable\n"},
	{"010100403c00000068000105000000005655a6bd0a000b0000000000080001002b00000014000600fe80"
	 "00000000000000000000000000020800050003000000",
	 "object 43 via fe80::2 if3\n"},
	{"010100403c00000068000105000000005655a6bd0a000b0000000000080001002c00000014000600fe80"
	 "00000000000000000000000000030800050004000000",
	 "object 44 via fe80::3 if4\n"},
	{"010100383400000068000105000000005655a6bd00000b0000000000080001002a000000140002002b00"
	 "0000000000002c00000000000000",
	 "object 42 43 44\n"},
	{"010100444000000018000104000000005655a6bd0a300000fec40001000000001400010020010db80200"
	 "00000000000000000000080006001400000008001e002a000000",
	 "route 2001:db8:200::/48 table 254 S object 42: via fe80::2 if3 via fe80::3 if4\n"},
	{"010100343000000068000105000000005655a6bd02000b00000000000800010030000000080006000a00"
	 "01090800050002000000",
	 "object 48 via 10.0.1.9 if2\n"},
	{"010100403c00000018000105000000005655a6bd0210000000c4000100000000080001000a6300000800"
	 "06001400000008000f00e803000008001e0030000000",
	 "route 10.99.0.0/16 table 1000 S object 48: via 10.0.1.9 if2\n"},
	{"010100343000000068000105000000005655a6bd02000b00040000000800010032000000080006000a00"
	 "09090800050002000000",
	 "object 50 via 10.0.9.9 if2 onlink\n"},
	{"010100343000000068000105000000005655a6bd02000b0000000000080001003e000000080006000a00"
	 "02060800050003000000",
	 "object 62 via 10.0.2.6 if3\n"},
	{"010100383400000018000105000000005655a6bd02180000feba00010000000008000100646401000800"
	 "06001400000008001e003e000000",
	 "route 100.100.1.0/24 table 254 B object 62: via 10.0.2.6 if3\n"},
	{"010100642c00000019000104000000005655a6bd02180000feba00000000000008000100646401000800"
	 "0600140000003400000018000105000000005655a6bd02180000feba0001000000000800010064640100"
	 "080006001400000008001e0040000000",
	 "delete 100.100.1.0/24 table 254 B\n"
	 "route 100.100.1.0/24 table 254 B object 64: missing\n"},
	{"010100403c00000068000105000000005655a6bd0a000b00000000000800010042000000140006002001"
	 "0db80002000000000000000000770800050003000000",
	 "object 66 via 2001:db8:2::77 if3\n"},
	{"010100383400000018000105000000005655a6bd02180000feba00010000000008000100646600000800"
	 "06001400000008001e0042000000",
	 "route 100.102.0.0/24 table 254 B object 66: via 2001:db8:2::77 if3\n"},
	{"010100302c00000019000104000000005655a6bd02180000feba00000000000008000100646401000800"
	 "060014000000",
	 "delete 100.100.1.0/24 table 254 B\n"},
	/* FRR 8.4.4, no fpm use-next-hop-groups */
	{"010100802c0000001900010400000000d2ca0cb102180000fec400000000000008000100c63364000800"
	 "060014000000500000001800010500000000d2ca0cb102180000fec400010000000008000100c6336400"
	 "0800060014000000240009801000000002000000080005000a0001031000000004000000080005000a00"
	 "0303",
	 "delete 198.51.100.0/24 table 254 S\n"
	 "route 198.51.100.0/24 table 254 S via 10.0.1.3 if2 via 10.0.3.3 if4\n"},
	{"01010078740000001800010400000000d2ca0cb10a300000fec40001000000001400010020010db80200"
	 "0000000000000000000008000600140000003c0009801c0000000300000014000500fe80000000000000"
	 "00000000000000021c0000000400000014000500fe800000000000000000000000000003",
	 "route 2001:db8:200::/48 table 254 S via fe80::2 if3 via fe80::3 if4\n"},
	{"010100403c0000001800010500000000d2ca0cb102180000feba00010400000008000100646600000800"
	 "06001400000008000500a9fe00010800040003000000",
	 "route 100.102.0.0/24 table 254 B via 169.254.0.1 if3 onlink\n"},
	{"010100403c0000001800010500000000d2ca0cb102100000fec4000104000000080001000a6200000800"
	 "060014000000080005000a0009090800040002000000",
	 "route 10.98.0.0/16 table 254 S via 10.0.9.9 if2 onlink\n"},
	/* FRR 10.7.1 and 10.3 */
	{"010100504c00000018000105000000000de84ef602180000feba00010400000008000100646600000800"
	 "060014000000160012000a0020010db800020000000000000000007700000800040003000000",
	 "route 100.102.0.0/24 table 254 B via 2001:db8:2::77 if3 onlink\n"},
	{"010100848000000018000105000000000de84ef60a300000fec40001000000001400010020010db80400"
	 "0000000000000000000008000600140000000600150005004ef624001680200001000100000000020400"
	 "0000000020010db80001000000000000000000051400050020010db80001000000000000000000040800"
	 "040002000000",
	 "route 2001:db8:400::/48 table 254 S refused: encap_srv6 via 2001:db8:1::4 if2\n"},
	{"0101006c6800000068000105000000001ab549d00a000b00000000000800010031000000140006002001"
	 "0db800010000000000000000000408000500020000000600070005000000240008802000010001000000"
	 "000204000000000020010db8000100000000000000000005",
	 "object 49 refused: encap_srv6\n"},
	{"01010064600000001800010500000000404b92d802180000fec400010000000008000100c63364000800"
	 "060014000000340009801000000002000000080005000a0001031000000003000000080005000a000203"
	 "1000000004000000080005000a000303",
	 "route 198.51.100.0/24 table 254 S via 10.0.1.3 if2 via 10.0.2.3 if3 via 10.0.3.3 if4\n"},
};

static struct fpm_nexthops table;
static char text[4096];

static void say(const char *format, ...)
{
	const size_t n = strlen(text);
	va_list args;
	va_start(args, format);
	vsnprintf(text + n, sizeof text - n, format, args);
	va_end(args);
}

static const char *address(const struct net_addr *a)
{
	static char out[INET6_ADDRSTRLEN];
	if (net_addr_is_ip4(a))
		return inet_ntop(AF_INET, &a->w[3], out, sizeof out);
	return inet_ntop(AF_INET6, a, out, sizeof out);
}

static void say_hop(const struct fpm_hop *h)
{
	say(" via");
	if (!net_addr_is_any(&h->gateway))
		say(" %s", address(&h->gateway));
	say(" if%u%s", h->ifindex, h->onlink ? " onlink" : "");
	if (h->weight != 1)
		say(" weight %u", h->weight);
}

static void say_route(const struct fpm_message *m)
{
	static const char *const types[] = {"", " blackhole", " unreachable", " prohibit"};
	const struct fpm_route *r = &m->route;
	say("%s %s/%u table %u %c", m->kind == FPM_ROUTE_DELETE ? "delete" : "route", address(&r->addr),
	    r->plen, r->table, fpm_protocol_letter(r->protocol));
	if (m->kind == FPM_ROUTE_DELETE)
		return;
	say("%s", types[r->type]);
	if (m->skip)
		say(" refused: %s", fpm_skip_name(m->skip));
	for (unsigned i = 0; i < r->hops; i++)
		say_hop(&r->hop[i]);
	struct fpm_hops hops;
	if (!r->nexthop_id)
		return;
	say(" object %u:", r->nexthop_id);
	if (!fpm_nexthops_resolve(&table, r->nexthop_id, &hops))
		say(" missing");
	for (unsigned i = 0; i < hops.hops; i++)
		say_hop(&hops.hop[i]);
}

static void say_object(const struct fpm_message *m)
{
	const struct fpm_nexthop *nh = &m->nexthop;
	say("object %u", nh->id);
	if (m->kind != FPM_NEXTHOP_SET) {
		say(" refused: %s", fpm_skip_name(m->skip));
		fpm_nexthops_remove(&table, nh->id);
		return;
	}
	assert_int_equal(fpm_nexthops_set(&table, nh), E_OK);
	if (nh->blackhole)
		say(" blackhole");
	else if (!nh->members)
		say_hop(&nh->hop);
	for (unsigned i = 0; i < nh->members; i++)
		say(" %u", nh->member[i].id);
}

static uint32_t octets(const char *hex, uint8_t *out)
{
	const uint32_t n = (uint32_t)strlen(hex) / 2;
	for (uint32_t i = 0; i < n; i++) {
		const char two[] = {hex[2 * i], hex[2 * i + 1], '\0'};
		out[i] = (uint8_t)strtoul(two, NULL, 16);
	}
	return n;
}

static void zebra_frames(void **state)
{
	(void)state;
	static uint64_t memory[4096];
	static const struct fpm_nexthops_size size = {64, 64};
	static const struct siphash_key key = {1, 2};
	static struct fpm_message m;
	uint8_t frame[512];
	uint32_t length;
	assert_true(fpm_nexthops_bytes(&size) <= sizeof memory);
	fpm_nexthops_init(&table, memory, &size, &key);
	for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
		assert_true(strlen(rows[i].hex) <= 2 * sizeof frame);
		const uint32_t n = octets(rows[i].hex, frame);
		assert_int_equal(fpm_frame(frame, n, &length), FPM_OK);
		assert_int_equal(length, n);
		assert_int_equal(fpm_check(frame, n, NULL), FPM_OK);
		text[0] = '\0';
		for (struct fpm_cursor c = fpm_begin(frame, n); fpm_next(&c, &m); say("\n")) {
			if (m.kind <= FPM_ROUTE_REFUSED)
				say_route(&m);
			else
				say_object(&m);
		}
		assert_string_equal(text, rows[i].meaning);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(zebra_frames)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
