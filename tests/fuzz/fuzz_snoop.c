/*
 * net/snoop: a VLAN of a switch with a clock. The first octet has the settings (querier, fast leave, off, an
 * address), then instructions follow, each an octet: operation in the low 4 bits, port in the others, and
 * arguments:
 *     0, 1  an IPv4 or IPv6 packet arrives: length, octets. Its checksums are set, so that messages are read,
 *           unless the length has its high bit
 *     2     time passes, in seconds
 *     3     the ports that forward change: two octets
 *     4     the settings change
 * After each the invariants of snoop.h must hold, and the table of groups must agree with them.
 */
#include "tests/fuzz/input.h"

#include "lib/csum.h"
#include "net/icmp6.h"
#include "net/ip4.h"
#include "net/ip6.h"
#include "net/snoop/snoop.h"

#define VID 7
#define S 1000000000ull

static struct snoop snoop;
static struct snoop_table table;
static struct snoop_settings settings;
static uint64_t now;
static uint16_t routers[SNOOP_FAMILIES];
static bool restricts[SNOOP_FAMILIES];

static void on_settings(void *ctx, unsigned vid, enum snoop_family family, struct snoop_settings *out)
{
	(void)ctx;
	(void)family;
	assert(vid == VID);
	*out = settings;
}

static bool on_group(void *ctx, unsigned vid, const struct net_addr *group, uint16_t ports)
{
	(void)ctx;
	assert(vid == VID && !snoop_is_link_group(group));
	const uint64_t hash = snoop_hash(&table, vid, group);
	if (ports)
		return snoop_table_put(&table, hash, ports);
	snoop_table_remove(&table, hash);
	return true;
}

static void on_vlan(void *ctx, unsigned vid, enum snoop_family family, uint16_t r, bool is)
{
	(void)ctx;
	assert(vid == VID && (r != routers[family] || is != restricts[family]));
	routers[family] = r;
	restricts[family] = is;
}

static void on_query(void *ctx, unsigned vid, enum snoop_family family, const struct net_addr *group,
                     uint32_t response_ms, uint16_t ports)
{
	uint8_t frame[SNOOP_QUERY_MAX];
	struct snoop_packet p;
	struct snoop_query_build b = {.family = family, .src = settings.src, .group = *group, .mac = {2},
	                              .response_ms = response_ms, .interval_s = settings.interval_s, .robustness = 2};
	(void)ctx;
	(void)ports; /* of a group some may have gone: the caller knows which ports forward */
	assert(vid == VID && settings.querier && settings.on);
	const unsigned len = snoop_query_write(frame, &b);
	assert(len <= SNOOP_QUERY_MAX);
	if (family == SNOOP_IP4)
		assert(snoop_read(frame + ETH_HLEN, len - ETH_HLEN, ETH_TYPE_IP4, &p) == CNT_NONE && p.type == SNOOP_QUERY);
}

static void on_count(void *ctx, enum counter c)
{
	(void)ctx;
	assert(c == CNT_snoop_refused);
}

static const struct snoop_ops ops = {on_settings, on_group, on_vlan, on_query, on_count};

static void check_group(const struct snoop_group *g)
{
	const struct snoop_vlan *v = &snoop.vlan[g->vlan];
	uint32_t ports = 0;
	assert(v->vid == VID && !snoop_is_link_group(&g->addr));
	assert(snoop_table_find(&table, snoop_hash(&table, VID, &g->addr), &ports) && ports == g->ports);
	assert((g->ports & ~settings.ports) == 0 && (g->asked & ~g->ports) == 0);
	for (unsigned p = 0; p < SNOOP_PORTS; p++)
		assert(!(g->ports >> p & 1) || snoop_deadline(&snoop) <= g->until[p]);
}

static void check(void)
{
	unsigned groups = 0, vlans = 0;
	for (unsigned i = 0; i < SNOOP_GROUPS_MAX; i++) {
		if (snoop.group[i].ports) {
			check_group(&snoop.group[i]);
			groups++;
		}
	}
	assert(groups == snoop.groups);
	for (unsigned family = 0; family < SNOOP_FAMILIES; family++) {
		const struct snoop_vlan *v = snoop_vlan_of(&snoop, VID, (enum snoop_family)family);
		assert((routers[family] & ~settings.ports) == 0);
		vlans += v != NULL;
		assert(v || (!routers[family] && !restricts[family]));
		assert(!v || !restricts[family] || v->querying || v->querier_until > now);
	}
	assert(vlans == snoop.vlans && (settings.on || vlans == 0));
}

static void set(uint8_t choice)
{
	settings.querier = choice & 1;
	settings.src = choice & 2 ? net_addr_ip4(IP4(192, 0, 2, 5)) : NET_ADDR_ANY;
	settings.fast_leave = choice & 4;
	settings.on = !(choice & 8);
	settings.routers = choice & 16 ? 0x8001 : 0;
	settings.interval_s = choice & 32 ? 2 : SNOOP_INTERVAL_S;
	snoop_update(&snoop, VID, SNOOP_IP4, now);
	snoop_update(&snoop, VID, SNOOP_IP6, now);
}

static void fix4(uint8_t *ip, unsigned len)
{
	const unsigned head = len ? ip4_header_len(ip) : 0;
	if (head < IP4_HLEN || len < head + 4)
		return;
	be16_store(ip + 2, (uint16_t)len);
	raw16_store(ip + 10, 0);
	raw16_store(ip + 10, csum_fold(csum_partial(ip, head, 0)));
	raw16_store(ip + head + 2, 0);
	raw16_store(ip + head + 2, csum_fold(csum_partial(ip + head, len - head, 0)));
}

static void fix6(uint8_t *ip, unsigned len)
{
	struct ip6_upper up;
	if (len < IP6_HLEN)
		return;
	be16_store(ip + 4, (uint16_t)(len - IP6_HLEN));
	if (ip6_check(ip, len) == CNT_NONE && ip6_upper(ip, &up) == CNT_NONE && up.proto == IP6_ICMP6 && !up.fragment &&
	    ip6_total_len(ip) >= up.at + ICMP6_HLEN)
		icmp6_checksum_set(ip, up.at);
}

static void arrive(struct input *in, unsigned port, bool six)
{
	struct snoop_packet p;
	const uint8_t how = take8(in);
	const unsigned len = (how & 127u) < in->n ? how & 127u : (unsigned)in->n;
	uint8_t *ip = exactly(in->p, len);
	in->p += len;
	in->n -= len;
	if (!(how & 128) && six)
		fix6(ip, len);
	else if (!(how & 128))
		fix4(ip, len);
	const enum counter why = snoop_read(ip, len, six ? ETH_TYPE_IP6 : ETH_TYPE_IP4, &p);
	assert(why == CNT_NONE || why == CNT_drop_snoop_malformed);
	if (why == CNT_NONE && p.type >= SNOOP_QUERY && settings.ports >> port & 1)
		snoop_input(&snoop, VID, port, &p, now);
	free(ip);
}

static void pass(uint64_t ns)
{
	const uint64_t end = now + ns;
	while (snoop_deadline(&snoop) <= end) {
		if (snoop_deadline(&snoop) > now)
			now = snoop_deadline(&snoop);
		snoop_tick(&snoop, now);
		assert(snoop_deadline(&snoop) > now);
		check();
	}
	now = end;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	const uint64_t key[2] = {1, 2};
	now = S;
	settings.ports = 0xffff;
	memset(routers, 0, sizeof routers);
	memset(restricts, 0, sizeof restricts);
	snoop_table_init(&table, key);
	snoop_init(&snoop, &ops, NULL, key);
	set(take8(&in));
	for (unsigned n = 0; in.n > 0 && n < 64; n++) {
		const uint8_t op = take8(&in);
		switch (op & 15) {
		case 0:
		case 1:
			arrive(&in, op >> 4, op & 1);
			break;
		case 2:
			pass(take8(&in) * S);
			break;
		case 3: {
			const uint16_t was = settings.ports;
			settings.ports = take16(&in);
			snoop_ports_changed(&snoop, (uint16_t)(settings.ports & ~was), now);
			break;
		}
		case 4:
			set(take8(&in));
			break;
		default:
			break;
		}
		check();
	}
	return 0;
}
