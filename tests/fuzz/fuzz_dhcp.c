/*
 * net/dhcp: what reads messages from the wire. The low bits of the first octet say what the rest is:
 *     0, 1   a request to, and a reply for, the relay agent of IPv4; bits 4 and 5 are its policy, bit 6 its option 82
 *     2, 3   the same for IPv6
 *     4      records of a length octet and a message to the client, whose xid and hardware address are made right; each
 *            answers what the client has just sent, and time passes, with the link down or not
 */
#include "tests/fuzz/input.h"

#include <string.h>

#include "lib/bytes.h"
#include "net/dhcp/client4.h"
#include "net/dhcp/relay4.h"
#include "net/dhcp/relay6.h"

static void options_of(const uint8_t *in, unsigned len)
{
	struct dhcp4_options o;
	uint8_t value[255];
	uint32_t number;
	if (dhcp4_options(in, len, &o) != CNT_NONE)
		return;
	assert(o.fields >= 1 && o.fields <= 3);
	for (unsigned code = 1; code < 255; code++)
		assert(dhcp4_option(&o, (enum dhcp4_option_code)code, value, sizeof value) <= (int)sizeof value);
	(void)dhcp4_option_u32(&o, DHCP4_OPT_LEASE, &number);
	assert(dhcp4_type(&o) <= DHCP4_INFORM);
}

static void relay4(uint8_t how, const uint8_t *in, unsigned len)
{
	const struct dhcp_relay4 r = {.giaddr = 0xc0000201, .hops_max = DHCP_RELAY4_HOPS_MAX, .insert = how & 64,
	                              .policy = (enum dhcp_relay4_policy)((how >> 4 & 3) % DHCP_RELAY4_POLICIES),
	                              .circuit = "eth0", .circuit_len = 4};
	uint8_t *out = malloc(DHCP4_BYTES_MAX), op;
	struct dhcp_relay4_to to;
	unsigned n = 0;
	bool without;
	options_of(in, len);
	if (dhcp_relay4_check(in, len, &op) == CNT_NONE) {
		const enum counter bad = how & 1 ? dhcp_relay4_reply(&r, in, len, out, &n, &to)
		                                 : dhcp_relay4_request(&r, in, len, out, &n, &without);
		assert(bad != CNT_NONE || (n >= DHCP4_OPTIONS && n <= DHCP4_BYTES_MAX && out[0] == in[0]));
		assert(bad != CNT_NONE || how & 1 || (out[DHCP4_HOPS] == in[DHCP4_HOPS] + 1 && be32_load(out + DHCP4_GIADDR)));
		if (bad == CNT_NONE)
			options_of(out, n);
	}
	free(out);
}

static void relay6(uint8_t how, const uint8_t *in, unsigned len)
{
	const struct dhcp_relay6_from f = {.peer = IP6(0xfe800000, 0, 0, 5), .link = IP6(0x20010db8, 0, 0, 1),
	                                   .name = "eth0", .name_len = 4};
	uint8_t *out = malloc(DHCP_RELAY6_BYTES_MAX);
	struct dhcp_relay6_reply r;
	unsigned n = 0;
	if (how & 1) {
		if (dhcp_relay6_take(in, len, &r) == CNT_NONE)
			assert(r.message > in && r.len && r.message + r.len <= in + len &&
			       (!r.name || (const uint8_t *)r.name + r.name_len <= in + len));
	} else if (dhcp_relay6_forward(&f, in, len, out, &n) == CNT_NONE) {
		assert(n == len + 34 + 8 + 4 && out[0] == 12 && memcmp(out + n - len, in, len) == 0);
	}
	free(out);
}

/* --- the client --- */

#define SECOND 1000000000ull

static bool in_use;

static void op_send(void *ctx, uint32_t src, uint32_t dst, const uint8_t *message, unsigned n)
{
	struct dhcp4_options o;
	(void)ctx;
	assert(n >= DHCP4_BYTES_MIN && n <= DHCP4_BYTES_MAX && dst != 0 && (src == 0 || in_use));
	assert(dhcp4_options(message, n, &o) == CNT_NONE && dhcp4_type(&o));
}

static void op_probe(void *ctx, uint32_t addr)
{
	(void)ctx;
	assert(addr);
}

static bool op_bound(void *ctx, const struct dhcp_lease *l)
{
	(void)ctx;
	assert(l->addr && l->plen && l->plen <= 32 && l->routes <= DHCP_LEASE_ROUTES && l->lease_s >= DHCP_LEASE_MIN_S);
	assert(!l->domain[0] || dhcp_lease_has_domain(l));
	for (unsigned i = 0; i < l->routes; i++)
		assert(l->route[i].plen <= 32 && l->route[i].via);
	in_use = true;
	return true;
}

static void op_unbound(void *ctx, const char *why)
{
	(void)ctx, (void)why;
	assert(in_use);
	in_use = false;
}

static uint32_t op_random(void *ctx)
{
	(void)ctx;
	return 0x12345678;
}

static void client(const uint8_t *data, size_t size)
{
	static const struct dhcp_client_ops ops = {op_send, op_probe, op_bound, op_unbound, op_random};
	static const uint8_t mac[6] = {2, 0, 0, 0, 0, 1};
	struct dhcp_client c;
	uint64_t now = SECOND;
	in_use = false;
	dhcp_client_init(&c, &ops, NULL, mac, "pc");
	dhcp_client_start(&c, 0, now);
	while (size > 1) {
		const unsigned n = (unsigned)(data[0] * 2u < size - 1 ? data[0] * 2u : size - 1);
		uint8_t *exact = malloc(n ? n : 1);
		memcpy(exact, data + 1, n);
		if (n >= DHCP4_OPTIONS) {
			be32_store(exact + DHCP4_XID, c.xid);
			memcpy(exact + DHCP4_CHADDR, mac, 6);
		}
		dhcp_client_tick(&c, now);
		(void)dhcp_client_input(&c, exact, n, now);
		now += (data[0] & 1 ? 3 : 40) * SECOND;
		if ((data[0] & 6) == 6) { /* the link has been down */
			assert(dhcp_client_tick_down(&c, now) > now);
			dhcp_client_link_up(&c, now);
		}
		assert(dhcp_client_tick(&c, now) > now);
		assert(c.installed == in_use && c.state < DHCP_CLIENT_STATES);
		free(exact);
		data += 1 + n;
		size -= 1 + n;
	}
	dhcp_client_release(&c, now);
	assert(!in_use);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1)
		return 0;
	uint8_t *exact = malloc(size > 1 ? size - 1 : 1);
	memcpy(exact, data + 1, size - 1);
	if (data[0] & 4)
		client(exact, size - 1);
	else if (data[0] & 2)
		relay6(data[0], exact, (unsigned)size - 1);
	else
		relay4(data[0], exact, (unsigned)size - 1);
	free(exact);
	return 0;
}
