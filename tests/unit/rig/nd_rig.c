/* See nd_rig.h. */
#include "tests/unit/rig/nd_rig.h"

struct nd nd;
struct nd_params params;
unsigned counted[CNT_MAX];
static void *mem;

const char *name_of(const struct net_addr *addr)
{
	static const struct { struct net_addr addr; const char *name; } known[] = {
		{IP6(0, 0, 0, 0), "any"}, {IP6(0xff020000, 0, 0, 1), "all"},
		{IP6(0xff020000, 0, 0, 2), "routers"}, {IP6(0xff020000, 0, 0, 0x16), "mld"},
		{US, "us"}, {US1, "us1"}, {LL, "ll"}, {LL1, "ll1"},
	};
	static char text[4][48];
	static unsigned turn;
	char *out = text[turn++ % 4];
	uint32_t w[4];
	for (unsigned i = 0; i < 4; i++)
		w[i] = be32_get((be32_t){addr->w[i]});
	for (unsigned i = 0; i < ARRAY_LEN(known); i++)
		if (net_addr_equal(addr, &known[i].addr))
			return known[i].name;
	if (w[0] == 0xff020000 && w[2] == 1 && w[3] >> 24 == 0xff)
		snprintf(out, 48, "g:%x", w[3] & 0xffffff);
	else if (w[0] == 0x20010db8 && w[1] == 0 && w[2] == 0)
		snprintf(out, 48, "n%x", w[3]);
	else if (w[0] == 0xfe800000 && w[1] == 0 && w[2] == 0)
		snprintf(out, 48, "l%x", w[3]);
	else
		snprintf(out, 48, "%x:%x:%x:%x", w[0], w[1], w[2], w[3]);
	return out;
}

/* --- transmitted frames --- */

/* The ICMPv6 checksum by its definition: 0 if the message's own is correct. */
static uint16_t slow_icmp6_csum(const uint8_t *ip, unsigned at, unsigned len)
{
	uint8_t all[40 + 2048] = {0};
	memcpy(all, ip + 8, 32);
	put32(all + 32, len);
	all[39] = 58;
	memcpy(all + 40, ip + at, len);
	return slow_csum(all, 40 + len);
}

static void say_options(const uint8_t *p, const uint8_t *end)
{
	for (; p < end; p += p[1] * 8) {
		assert_true(p[1] > 0 && p + p[1] * 8 <= end);
		switch (p[0]) {
		case 1:
		case 2:
			say(" mac %02x", p[7]);
			break;
		case 3: {
			struct net_addr a = net_addr_load(p + 16);
			say(" %s/%u%s%s %u %u", name_of(&a), p[2], p[3] & 0x80 ? "L" : "",
			    p[3] & 0x40 ? "A" : "", be32_load(p + 4), be32_load(p + 8));
			break;
		}
		case 5:
			say(" mtu %u", be32_load(p + 4));
			break;
		case 14:
			say(" nonce");
			break;
		case 25:
			say(" rdnss %u %u", be32_load(p + 4), p[1] / 2);
			break;
		default:
			fail();
		}
	}
}

static void say_mld(const uint8_t *icmp, unsigned len)
{
	bool v2 = icmp[0] == 143;
	struct net_addr group = net_addr_load(icmp + (v2 ? 12 : 8));
	assert_int_equal(len, v2 ? 28 : 24);
	if (v2) {
		assert_int_equal(be16_load(icmp + 6), 1);
		assert_int_equal(be16_load(icmp + 10), 0);
		say("%s %s; ", icmp[8] == 2 ? "is" : icmp[8] == 3 ? "leave" : "join", name_of(&group));
	} else {
		say("%s %s; ", icmp[0] == 131 ? "report" : "done", name_of(&group));
	}
}

static void say_nd(const uint8_t *icmp, unsigned len)
{
	struct net_addr target = NET_ADDR_ANY;
	unsigned fixed = icmp[0] >= 135 ? 24 : icmp[0] == 134 ? 16 : 8;
	assert_true(len >= fixed);
	if (icmp[0] >= 135) {
		target = net_addr_load(icmp + 8);
		say(" %s", name_of(&target));
	}
	if (icmp[0] == 136)
		say(" %s%s%s", icmp[4] & 0x80 ? "R" : "", icmp[4] & 0x40 ? "S" : "",
		    icmp[4] & 0x20 ? "O" : "");
	if (icmp[0] == 134)
		say(" hop %u flags %02x life %u reach %u retrans %u", icmp[4], icmp[5],
		    be16_load(icmp + 6), be32_load(icmp + 8), be32_load(icmp + 12));
	say_options(icmp + fixed, icmp + len);
	say("; ");
}

static void on_tx(void *ctx, unsigned port, const uint8_t *f, unsigned len)
{
	(void)ctx;
	static const char *const names[] = {"rs", "ra", "ns", "na"};
	const uint8_t *ip = f + 14;
	struct net_addr src = net_addr_load(ip + 8), dst = net_addr_load(ip + 24);
	unsigned at = ip[6] == 0 ? 48 : 40;
	unsigned icmp_len = len - 14 - at;
	assert_int_equal(be16_load(f + 12), 0x86dd);
	assert_int_equal(be32_load(ip), 0x60000000);
	assert_int_equal(be16_load(ip + 4), len - 54);
	assert_memory_equal(f + 6, port ? our_mac1 : our_mac, 6);
	if (ip[24] == 0xff) {
		assert_true(f[0] == 0x33 && f[1] == 0x33);
		assert_memory_equal(f + 2, ip + 36, 4);
	}
	assert_int_equal(slow_icmp6_csum(ip, at, icmp_len), 0);
	if (at == 48) { /* MLD: hop limit 1, router alert (RFC 3810 5) */
		const uint8_t alert[] = {58, 0, 5, 2, 0, 0, 1, 0};
		assert_memory_equal(ip + 40, alert, 8);
		assert_int_equal(ip[7], 1);
		say("tx%u %s>%s ", port, name_of(&src), name_of(&dst));
		say_mld(ip + at, icmp_len);
		return;
	}
	assert_int_equal(ip[6], 58);
	assert_int_equal(ip[7], 255);
	say("tx%u %s %s>%s", port, names[ip[40] - 133], name_of(&src), name_of(&dst));
	if (ip[24] != 0xff)
		say(" to %02x", f[5]);
	say_nd(ip + at, icmp_len);
}

/* --- the other ops --- */

static void on_count(void *ctx, enum counter c, unsigned n)
{
	(void)ctx;
	counted[c] += n;
}

static void on_address_up(void *ctx, unsigned port, const struct net_addr *a)
{
	(void)ctx;
	assert_true(nd_is_local(&nd, port, a));
	say("address up %s; ", name_of(a));
}

static void on_address_down(void *ctx, unsigned port, const struct net_addr *a)
{
	(void)ctx;
	assert_false(nd_is_local(&nd, port, a));
	say("address down %s; ", name_of(a));
}

static void on_duplicate(void *ctx, unsigned port, const struct net_addr *a, const uint8_t *mac)
{
	(void)ctx;
	assert_false(nd_is_local(&nd, port, a));
	say("duplicate %s %02x; ", name_of(a), mac ? mac[5] : 0);
}

static const struct nd_ops ops = {
	on_tx, on_up, on_down, on_release, on_unreachable, on_lost, on_count, on_removed,
	on_address_up, on_address_down, on_duplicate,
};

/* --- set-up --- */

int rig_bare(void **state)
{
	(void)state;
	params = ND_PARAMS_DEFAULT;
	params.neighbours = 4;
	params.queue = 3;
	params.pending = 8;
	params.frame_max = 100;
	params.start_delay_ns = 0;
	params.router = true;
	params.key = (struct siphash_key){1, 2};
	mem = malloc(nd_memory_bytes(&params));
	neigh_rig_reset();
	memset(counted, 0, sizeof counted);
	assert_int_equal(nd_init(&nd, &params, mem, nd_memory_bytes(&params) - 1, &ops, NULL), E_NOMEM);
	assert_int_equal(nd_init(&nd, &params, mem, nd_memory_bytes(&params), &ops, NULL), 0);
	return 0;
}

int rig_host(void **state)
{
	rig_bare(state);
	nd.params.router = false;
	return 0;
}

int rig_set_up(void **state)
{
	rig_bare(state);
	assert_int_equal(nd_add_local(&nd, 0, &LL, 64, our_mac, 0), 0);
	assert_int_equal(nd_add_local(&nd, 0, &US, 64, our_mac, 0), 0);
	assert_int_equal(nd_add_local(&nd, 1, &LL1, 64, our_mac1, 0), 0);
	assert_int_equal(nd_add_local(&nd, 1, &US1, 64, our_mac1, 0), 0);
	run_to(S(10));
	assert_true(nd_deadline(&nd) == UINT64_MAX);
	hush();
	return 0;
}

int rig_tear_down(void **state)
{
	(void)state;
	struct nd_entry e;
	unsigned cursor = 0, waiting = 0;
	while (nd_next(&nd, &cursor, S(1000000), &e))
		waiting += e.pending;
	assert_int_equal(nd_pending(&nd), waiting);
	assert_int_equal(given, released + refused + lost + waiting);
	for (unsigned port = 0; port < 3; port++)
		nd_flush_interface(&nd, port);
	assert_int_equal(nd_pending(&nd), 0);
	assert_int_equal(given, released + refused + lost);
	free(mem);
	return 0;
}

void run_to(uint64_t t)
{
	uint64_t at;
	while ((at = nd_deadline(&nd)) <= t)
		assert_true(nd_tick(&nd, at) > at);
	nd_tick(&nd, t);
}

void output(int i, uint8_t mark, uint64_t t)
{
	uint8_t f[60];
	neigh_rig_frame(f, mark);
	nd_output(&nd, (unsigned)i, f, sizeof f, t);
}

/* --- received messages --- */

static uint8_t *put_option(uint8_t *p, unsigned type, const uint8_t *six)
{
	if (!six)
		return p;
	p[0] = (uint8_t)type;
	p[1] = 1;
	memcpy(p + 2, six, 6);
	return p + 8;
}

static unsigned make_body(uint8_t *icmp, const struct message *m)
{
	uint8_t *p = icmp + 8;
	if (m->body) {
		memcpy(icmp, m->body, m->body_len);
		return m->body_len;
	}
	memset(icmp, 0, 24);
	icmp[0] = (uint8_t)m->type;
	icmp[1] = (uint8_t)m->code;
	icmp[4] = m->flags;
	if (m->type >= 135) {
		net_addr_store(icmp + 8, &m->target);
		p += 16;
	}
	p = put_option(p, 1, m->source_mac);
	p = put_option(p, 2, m->target_mac);
	p = put_option(p, 14, m->nonce);
	if (m->tail_len)
		memcpy(p, m->tail, m->tail_len);
	return (unsigned)(p - icmp) + m->tail_len;
}

unsigned make_frame(uint8_t *f, const struct message *m)
{
	uint8_t *ip = f + 14, *icmp = ip + (m->alert ? 48 : 40);
	unsigned len = make_body(icmp, m);
	memset(f, 0, 14);
	memcpy(f, our_mac, 6);
	memcpy(f + 6, m->eth_src ? m->eth_src : mac_a, 6);
	put16(f + 12, 0x86dd);
	put32(ip, 0x60000000);
	put16(ip + 4, len + (m->alert ? 8 : 0));
	ip[6] = m->alert ? 0 : 58;
	ip[7] = m->hop_limit ? m->hop_limit : 255;
	net_addr_store(ip + 8, &m->src);
	net_addr_store(ip + 24, &m->dst);
	if (m->alert)
		memcpy(ip + 40, (const uint8_t[]){58, 0, 5, 2, 0, 0, 1, 0}, 8);
	put16(icmp + 2, 0);
	put16(icmp + 2, slow_icmp6_csum(ip, (unsigned)(icmp - ip), len));
	return (unsigned)(icmp - f) + len;
}

enum counter deliver(taker *take, unsigned port, const struct message *m, uint64_t t)
{
	uint8_t big[2048];
	unsigned len = make_frame(big, m);
	uint8_t *f = malloc(len);
	struct ip6_upper up;
	struct icmp6_msg msg;
	memcpy(f, big, len);
	enum counter fate = ip6_check(f + 14, len - 14);
	if (fate == CNT_NONE)
		fate = ip6_upper(f + 14, &up);
	if (fate == CNT_NONE)
		fate = icmp6_input(f + 14, up.at, &msg);
	if (fate == CNT_NONE) {
		up.fragment = m->fragment;
		fate = take(port, f, &up, &msg, t);
	}
	free(f);
	return fate;
}

enum counter take_nd(unsigned port, const uint8_t *frame, const struct ip6_upper *up,
                     const struct icmp6_msg *m, uint64_t t)
{
	return nd_input(&nd, port, frame, up, m, t);
}
