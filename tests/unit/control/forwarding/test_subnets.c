/* control/forwarding/subnets.c against an oracle that asks every address of every interface. */
#include "tests/unit/rig/host.h"

#include "control/forwarding/subnets.c"
#include "net/ip4.h"

struct running running;

/* 172.16.n.0/24 and 10.n.0.0/16, or a /32; of IPv6 a /64, /48 or /128: by interface and
 * address another one, in no order. */
static void add(unsigned interface, unsigned n, unsigned kind)
{
	struct config_interface *i = &running.config.interface[interface];
	static const uint8_t plen4[] = {24, 16, 32}, plen6[] = {64, 48, 128};
	const uint32_t four = kind == 1 ? IP4(10, n % 256, 1, 1) : IP4(172, 16 + n / 256, n % 256, 5);
	if (kind < 3 && i->address_count < CONFIG_ADDRESSES_MAX)
		i->address[i->address_count++] = (struct config_address){.addr = four, .plen = plen4[kind]};
	else if (kind >= 3 && i->address6_count < CONFIG_ADDRESSES_MAX)
		i->address6[i->address6_count++] = (struct config_address6){
			.addr = {{be32_make(0x20010db8).raw, be32_make(kind << 24 | n << 16 | 1).raw, 0,
			          be32_make(n + 1).raw}},
			.plen = plen6[kind - 3]};
}

static int oracle(const struct net_addr *addr)
{
	const bool four = net_addr_is_ip4(addr);
	for (unsigned n = 0; n < running.config.interfaces; n++) {
		const struct config_interface *i = &running.config.interface[n];
		for (unsigned a = 0; four && a < i->address_count; a++)
			if (ip4_in_prefix(net_addr_to_ip4(addr), i->address[a].addr, i->address[a].plen))
				return (int)n;
		for (unsigned a = 0; !four && a < i->address6_count; a++)
			if (ip6_in_prefix(addr, &i->address6[a].addr, i->address6[a].plen))
				return (int)n;
	}
	return E_NOENT;
}

/* Near an address of an interface: in its subnet, or just before it or behind it. */
static struct net_addr near(unsigned interface)
{
	const struct config_interface *i = &running.config.interface[interface];
	const uint32_t by = random_below(3) ? random_below(600) - 300u : (uint32_t)random64();
	if (random_below(2) && i->address_count)
		return net_addr_ip4(i->address[random_below(i->address_count)].addr + by);
	if (i->address6_count == 0)
		return net_addr_ip4(by);
	struct net_addr a = i->address6[random_below(i->address6_count)].addr;
	a.w[random_below(4)] ^= be32_make(1u << random_below(32)).raw;
	return a;
}

static void against_the_oracle(void **state)
{
	unsigned found = 0, tried = 0;
	(void)state;
	seed_random("against_the_oracle");
	for (unsigned round = 0; round < 40; round++) {
		memset(&running, 0, sizeof running);
		running.config.interfaces = round == 0 ? CONFIG_IFS_MAX : random_below(CONFIG_IFS_MAX + 1);
		for (unsigned n = 0; n < 3 * running.config.interfaces && n < 250; n++)
			add(round ? random_below(running.config.interfaces) : n / 2, n, random_below(6));
		subnets_start();
		for (unsigned k = 0; running.config.interfaces && k < 4000; k++, tried++) {
			const struct net_addr a = near(random_below(running.config.interfaces));
			const int want = oracle(&a);
			assert_int_equal(subnet_interface(&a), want);
			found += want >= 0;
		}
	}
	assert_in_range(found, tried / 5, tried - tried / 20);
}

/* As many as can be configured, two of one subnet among them; and none. */
static void all_and_none(void **state)
{
	const struct net_addr addr = net_addr_ip4(IP4(10, 1, 2, 3));
	(void)state;
	memset(&running, 0, sizeof running);
	subnets_start();
	assert_int_equal(subnet_interface(&addr), E_NOENT);
	running.config.interfaces = CONFIG_IFS_MAX;
	for (unsigned n = 0; n < CONFIG_IFS_MAX; n++)
		for (unsigned a = 0; a < CONFIG_ADDRESSES_MAX; a++) {
			struct config_interface *i = &running.config.interface[n];
			i->address[i->address_count++] = (struct config_address){.addr = IP4(10, n, 2, a), .plen = 16};
			i->address6[i->address6_count++] = (struct config_address6){
				.addr = {{be32_make(0x20010db8 + n).raw, a, 0, 1}}, .plen = 32};
		}
	subnets_start();
	for (unsigned n = 0; n < CONFIG_IFS_MAX; n++) {
		const struct net_addr four = net_addr_ip4(IP4(10, n, 255, 1));
		const struct net_addr six = {{be32_make(0x20010db8 + n).raw, 7, 8, 9}};
		assert_int_equal(subnet_interface(&four), n);
		assert_int_equal(subnet_interface(&six), n);
	}
}

/* Subnets that come and go between those of the configuration. Only what was added is removed. */
static void lent(void **state)
{
	const struct net_addr below = net_addr_ip4(IP4(10, 0, 2, 3)), above = net_addr_ip4(IP4(10, 9, 2, 3));
	const struct net_addr own = net_addr_ip4(IP4(10, 5, 0, 1));
	(void)state;
	memset(&running, 0, sizeof running);
	running.config.interfaces = 2;
	running.config.interface[1].address[running.config.interface[1].address_count++] =
		(struct config_address){.addr = IP4(10, 5, 0, 1), .plen = 16};
	subnets_start();
	subnets_add(0, &above, 96 + 24);
	subnets_add(0, &below, 96 + 24);
	const struct {
		unsigned interface;
		struct net_addr addr;
		unsigned plen;
		int below, own, above; /* interfaces afterwards */
	} step[] = {
		{1, below, 96 + 24, 0, 1, 0}, /* not this interface's */
		{0, below, 96 + 16, 0, 1, 0}, /* of another length */
		{0, net_addr_ip4(IP4(9, 0, 0, 1)), 96 + 24, 0, 1, 0}, /* before all */
		{0, below, 96 + 24, E_NOENT, 1, 0},
		{0, below, 96 + 24, E_NOENT, 1, 0}, /* twice */
		{0, above, 96 + 24, E_NOENT, 1, E_NOENT},
	};
	for (unsigned i = 0; i < ARRAY_LEN(step); i++) {
		subnets_remove(step[i].interface, &step[i].addr, step[i].plen);
		assert_int_equal(subnet_interface(&below), step[i].below);
		assert_int_equal(subnet_interface(&own), step[i].own);
		assert_int_equal(subnet_interface(&above), step[i].above);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(against_the_oracle),
		cmocka_unit_test(all_and_none),
		cmocka_unit_test(lent),
	};
	return cmocka_run_group_tests_name("subnets", tests, NULL, NULL);
}
