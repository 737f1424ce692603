/* net/dhcp/client4 and lease4 in virtual time: every transition of client4.h, and leases that a server may not lend. */
#include "tests/unit/rig/host.h"

#include "lib/bytes.h"
#include "net/dhcp/client4.h"

#define S 1000000000ull
#define ADDR 0xc0000209u   /* 192.0.2.9 */
#define SERVER 0xc0000201u /* 192.0.2.1 */

static const uint8_t mac[6] = {2, 0, 0, 0, 0, 9}, other_mac[6] = {2, 0, 0, 0, 0, 8};
static struct dhcp_client c;
static uint64_t now;
static uint32_t random_value;
static struct {
	uint8_t message[DHCP4_BYTES_MAX];
	unsigned n, sent, probes, bounds, unbounds;
	uint32_t src, dst;
	bool refuses;
	const char *why;
} seen;

static void op_send(void *ctx, uint32_t src, uint32_t dst, const uint8_t *message, unsigned n)
{
	(void)ctx;
	memcpy(seen.message, message, n);
	seen.n = n;
	seen.src = src;
	seen.dst = dst;
	seen.sent++;
}

static void op_probe(void *ctx, uint32_t addr)
{
	(void)ctx;
	assert_int_equal(addr, ADDR);
	seen.probes++;
}

static bool op_bound(void *ctx, const struct dhcp_lease *l)
{
	(void)ctx;
	assert_int_equal(l->addr, ADDR);
	seen.bounds++;
	return !seen.refuses;
}

static void op_unbound(void *ctx, const char *why)
{
	(void)ctx;
	seen.why = why;
	assert_int_equal(c.lease.addr, ADDR); /* which one it was */
	seen.unbounds++;
}

static uint32_t op_random(void *ctx)
{
	(void)ctx;
	return random_value += 0x9e3779b9u;
}

static const struct dhcp_client_ops ops = {op_send, op_probe, op_bound, op_unbound, op_random};

static int setup(void **state)
{
	(void)state;
	memset(&seen, 0, sizeof seen);
	now = 100 * S;
	random_value = 1;
	dhcp_client_init(&c, &ops, NULL, mac, "pc");
	return 0;
}

/* --- what the client sent --- */

static enum dhcp4_type sent_type(struct dhcp4_options *o)
{
	assert_int_equal(dhcp4_options(seen.message, seen.n, o), CNT_NONE);
	return dhcp4_type(o);
}

/* The last message has this type, and these values of ciaddr, options 50 and 54 (0: none). */
static void expect(enum dhcp4_type type, uint32_t dst, uint32_t ciaddr, uint32_t address, uint32_t server)
{
	struct dhcp4_options o;
	uint32_t value = 0;
	uint8_t id[8];
	assert_int_equal(sent_type(&o), type);
	assert_int_equal(seen.dst, dst);
	assert_int_equal(be32_load(seen.message + DHCP4_CIADDR), ciaddr);
	assert_int_equal(dhcp4_option_u32(&o, DHCP4_OPT_ADDRESS, &value) ? value : 0, address);
	assert_int_equal(dhcp4_option_u32(&o, DHCP4_OPT_SERVER, &value) ? value : 0, server);
	assert_int_equal(dhcp4_option(&o, DHCP4_OPT_CLIENT, id, sizeof id), 7);
	assert_memory_equal(id + 1, mac, 6);
	const bool asks = type == DHCP4_DISCOVER || (type == DHCP4_DHCPREQUEST && ciaddr == 0);
	assert_int_equal(be16_load(seen.message + DHCP4_FLAGS), asks ? DHCP4_BROADCAST : 0);
	assert_int_equal(seen.src, ciaddr);
}

/* --- a server --- */

static struct dhcp4_build reply;
static uint8_t answer[DHCP4_BYTES_MAX];

static void begin(enum dhcp4_type type)
{
	dhcp4_begin(&reply, answer, DHCP4_REPLY, type, c.xid, mac);
	if (type != DHCP4_NAK)
		be32_store(answer + DHCP4_YIADDR, ADDR);
	dhcp4_put_u32(&reply, DHCP4_OPT_SERVER, SERVER);
}

static enum counter deliver(void)
{
	const unsigned n = dhcp4_end(&reply);
	const enum counter fate = dhcp_client_input(&c, answer, n, now);
	dhcp_client_tick(&c, now);
	return fate;
}

static enum counter answers(enum dhcp4_type type, uint32_t lease_s)
{
	begin(type);
	if (type != DHCP4_NAK) {
		dhcp4_put_u32(&reply, DHCP4_OPT_LEASE, lease_s);
		dhcp4_put_u32(&reply, DHCP4_OPT_MASK, 0xffffff00);
	}
	return deliver();
}

/* Time passes to the next deadline. */
static uint64_t step(void)
{
	const uint64_t from = now;
	assert_true(c.due_ns != UINT64_MAX);
	if (c.due_ns > now)
		now = c.due_ns;
	dhcp_client_tick(&c, now);
	assert_true(c.due_ns > now);
	return now - from;
}

static void get_lease(uint32_t lease_s)
{
	dhcp_client_start(&c, 0, now);
	step();
	expect(DHCP4_DISCOVER, 0xffffffff, 0, 0, 0);
	assert_int_equal(answers(DHCP4_OFFER, lease_s), CNT_delivered_dhcp);
	expect(DHCP4_DHCPREQUEST, 0xffffffff, 0, ADDR, SERVER);
	assert_int_equal(answers(DHCP4_ACK, lease_s), CNT_delivered_dhcp);
	assert_int_equal(c.state, DHCP_PROBING);
	while (c.state == DHCP_PROBING)
		step();
	assert_int_equal(c.state, DHCP_BOUND);
	assert_true(c.installed);
}

static void test_lease(void **state)
{
	(void)state;
	const uint64_t from = now;
	get_lease(3600);
	assert_int_equal(seen.sent, 2);
	assert_int_equal(seen.probes, 3);
	assert_int_equal(seen.bounds, 1);
	assert_true(now - from >= 4 * S && now - from <= 7 * S); /* RFC 5227 1.1 */
	assert_true(c.due_ns > from + 1687 * S && c.due_ns < from + 1800 * S); /* from the request on, up to 1/16 earlier */
	step();
	expect(DHCP4_DHCPREQUEST, SERVER, ADDR, 0, 0); /* T1 */
	assert_int_equal(answers(DHCP4_ACK, 3600), CNT_delivered_dhcp);
	assert_int_equal(c.state, DHCP_BOUND);
	assert_true(c.due_ns > now + 1687 * S && c.due_ns < now + 1800 * S);
	assert_int_equal(seen.probes, 3);
	dhcp_client_release(&c, now);
	expect(DHCP4_RELEASE, SERVER, ADDR, 0, SERVER);
	assert_true(c.state == DHCP_OFF && !c.installed && seen.unbounds == 1);
	assert_string_equal(seen.why, "it was given back");
	assert_int_equal(dhcp_client_tick(&c, now + 100000 * S), UINT64_MAX);
}

/* RFC 2131 4.1: 4, 8, 16, 32, 64, 64 s, each plus or minus 1 s. */
static void test_backoff(void **state)
{
	(void)state;
	static const unsigned wait_s[] = {4, 8, 16, 32, 64, 64, 64};
	dhcp_client_start(&c, 0, now);
	step();
	for (unsigned i = 0; i < ARRAY_LEN(wait_s); i++) {
		const uint64_t waited = step();
		assert_true(waited >= (wait_s[i] - 1) * S && waited <= (wait_s[i] + 1) * S);
		expect(DHCP4_DISCOVER, 0xffffffff, 0, 0, 0);
	}
	struct dhcp4_options o;
	char name[8];
	(void)sent_type(&o);
	assert_int_equal(dhcp4_option(&o, DHCP4_OPT_HOSTNAME, (uint8_t *)name, sizeof name), 2);
	assert_true(be16_load(seen.message + DHCP4_SECS) >= 245);
}

/* RFC 2131 3.1, step 3: the requests have the `secs` of the last DISCOVER, so that relay agents treat them alike. */
static void test_secs(void **state)
{
	(void)state;
	dhcp_client_start(&c, 0, now);
	step();
	step();
	const uint16_t secs = be16_load(seen.message + DHCP4_SECS);
	assert_in_range(secs, 3, 5);
	now += 3 * S;
	(void)answers(DHCP4_OFFER, 3600);
	for (unsigned i = 0; i < 3; i++, step()) {
		expect(DHCP4_DHCPREQUEST, 0xffffffff, 0, ADDR, SERVER);
		assert_int_equal(be16_load(seen.message + DHCP4_SECS), secs);
	}
	(void)answers(DHCP4_ACK, 3600);
	dhcp_client_arp(&c, ADDR, 1, other_mac, now);
	expect(DHCP4_DECLINE, 0xffffffff, 0, ADDR, SERVER);
	assert_int_equal(be16_load(seen.message + DHCP4_SECS), 0);
}

/* An offer, and then no answer to the requests. */
static void test_no_answer(void **state)
{
	(void)state;
	dhcp_client_start(&c, 0, now);
	step();
	(void)answers(DHCP4_OFFER, 3600);
	while (c.state == DHCP_REQUESTING) {
		expect(DHCP4_DHCPREQUEST, 0xffffffff, 0, ADDR, SERVER);
		step();
	}
	assert_int_equal(seen.sent, 1 + 4);
	assert_int_equal(c.state, DHCP_INIT);
	step();
	expect(DHCP4_DISCOVER, 0xffffffff, 0, 0, 0);
}

/* The server is gone: T1, T2, the end. */
static void test_expiry(void **state)
{
	(void)state;
	const uint64_t from = now;
	get_lease(3600);
	unsigned unicast = 0, broadcast = 0;
	while (c.installed) {
		step();
		if (c.state == DHCP_RENEWING || c.state == DHCP_REBINDING) {
			expect(DHCP4_DHCPREQUEST, c.state == DHCP_RENEWING ? SERVER : 0xffffffff, ADDR, 0, 0);
			unicast += c.state == DHCP_RENEWING;
			broadcast += c.state == DHCP_REBINDING;
		}
	}
	assert_int_equal(now, from + 3600 * S);
	assert_string_equal(seen.why, "the lease has ended");
	assert_true(unicast >= 4 && unicast <= 6 && broadcast >= 2 && broadcast <= 4); /* halves, at least 60 s */
	assert_int_equal(c.counts.timeouts, 1);
	assert_int_equal(c.state, DHCP_SELECTING);
	expect(DHCP4_DISCOVER, 0xffffffff, 0, ADDR, 0); /* it would like the address again */
	assert_int_equal(answers(DHCP4_OFFER, 3600), CNT_delivered_dhcp);
}

static void test_nak(void **state)
{
	(void)state;
	get_lease(3600);
	dhcp_client_renew(&c, now);
	step();
	assert_int_equal(answers(DHCP4_NAK, 0), CNT_delivered_dhcp);
	assert_true(!c.installed && c.state == DHCP_INIT && c.counts.naks == 1);
	assert_string_equal(seen.why, "a server has refused it");
	assert_true(step() == S);
	expect(DHCP4_DISCOVER, 0xffffffff, 0, 0, 0);
	/* a server that refuses what it has offered is asked less and less often */
	uint64_t last = 0;
	for (unsigned i = 0; i < 4; i++) {
		(void)answers(DHCP4_OFFER, 3600);
		assert_int_equal(c.state, DHCP_REQUESTING);
		assert_int_equal(answers(DHCP4_NAK, 0), CNT_delivered_dhcp);
		const uint64_t waited = step();
		assert_true(waited > last);
		last = waited;
	}
}

static void test_conflict(void **state)
{
	(void)state;
	dhcp_client_start(&c, 0, now);
	step();
	(void)answers(DHCP4_OFFER, 3600);
	(void)answers(DHCP4_ACK, 3600);
	step();
	dhcp_client_arp(&c, ADDR, ADDR, mac, now);            /* our own frame came back */
	dhcp_client_arp(&c, 0, ADDR + 1, other_mac, now);     /* a probe of another address */
	dhcp_client_arp(&c, ADDR + 1, ADDR, other_mac, now);  /* somebody asks who has it */
	assert_int_equal(c.state, DHCP_PROBING);
	dhcp_client_arp(&c, 0, ADDR, other_mac, now);         /* somebody probes it too (RFC 5227 2.1.1) */
	assert_int_equal(c.state, DHCP_INIT);
	expect(DHCP4_DECLINE, 0xffffffff, 0, ADDR, SERVER);
	assert_true(step() == 10 * S && c.counts.declines == 1 && seen.bounds == 0);
	expect(DHCP4_DISCOVER, 0xffffffff, 0, 0, 0);
	(void)answers(DHCP4_OFFER, 3600);
	(void)answers(DHCP4_ACK, 3600);
	dhcp_client_arp(&c, ADDR, 1, other_mac, now);
	assert_int_equal(c.counts.declines, 2);
	/* an address that the machine cannot use */
	seen.refuses = true;
	step();
	(void)answers(DHCP4_OFFER, 3600);
	(void)answers(DHCP4_ACK, 3600);
	while (c.state == DHCP_PROBING)
		step();
	expect(DHCP4_DECLINE, 0xffffffff, 0, ADDR, SERVER);
	assert_false(c.installed);
	/* again and again: less and less often, and never before ten seconds */
	uint64_t last = 10 * S;
	for (unsigned i = 0; i < 8; i++) {
		const uint64_t waited = step();
		expect(DHCP4_DISCOVER, 0xffffffff, 0, 0, 0);
		assert_true(waited + 2 * S >= last && waited >= 10 * S && waited <= 65 * S);
		last = waited;
		(void)answers(DHCP4_OFFER, 3600);
		(void)answers(DHCP4_ACK, 3600);
		while (c.state == DHCP_PROBING)
			step();
	}
	assert_true(last >= 63 * S);
}

static void test_reboot(void **state)
{
	(void)state;
	dhcp_client_start(&c, ADDR, now);
	step();
	expect(DHCP4_DHCPREQUEST, 0xffffffff, 0, ADDR, 0);
	assert_int_equal(answers(DHCP4_ACK, 3600), CNT_delivered_dhcp);
	assert_int_equal(c.state, DHCP_PROBING);
	setup(NULL);
	dhcp_client_start(&c, ADDR, now); /* nobody answers */
	for (unsigned i = 0; c.state == DHCP_REBOOTING; i++) {
		step();
		assert_true(i < 3);
	}
	step();
	expect(DHCP4_DISCOVER, 0xffffffff, 0, ADDR, 0); /* the server may start later than we: it is told the wish */
	assert_true(c.lease.plen == 0 && c.failures == 0);
	setup(NULL);
	get_lease(3600); /* the cable is pulled and put back: the address stays */
	dhcp_client_link_up(&c, now);
	step();
	expect(DHCP4_DHCPREQUEST, 0xffffffff, 0, ADDR, 0);
	assert_true(c.installed);
	step();
	step();
	assert_true(c.state == DHCP_BOUND && c.installed && seen.unbounds == 0); /* 3.2 */
	dhcp_client_link_up(&c, now);
	step();
	assert_int_equal(answers(DHCP4_NAK, 0), CNT_delivered_dhcp);
	assert_false(c.installed);
}

static void test_resume(void **state)
{
	(void)state;
	get_lease(3600);
	const struct dhcp_lease lease = c.lease;
	setup(NULL);
	now += 3000 * S;
	assert_true(dhcp_client_resume(&c, &lease, now));
	assert_true(c.installed && c.state == DHCP_BOUND);
	step();
	expect(DHCP4_DHCPREQUEST, SERVER, ADDR, 0, 0);
	setup(NULL);
	now += 3600 * S;
	assert_false(dhcp_client_resume(&c, &lease, now));
	struct dhcp_lease bad = lease;
	bad.routes = DHCP_LEASE_ROUTES + 1;
	now -= 3600 * S;
	assert_false(dhcp_client_resume(&c, &bad, now));
	bad = lease;
	bad.routes = 1;
	bad.route[0] = (struct dhcp_lease_route){0x0a000000, SERVER, 8};
	assert_true(dhcp_client_resume(&c, &bad, now));
	bad.route[0].plen = 6;
	assert_false(dhcp_client_resume(&c, &bad, now));
	bad.route[0] = (struct dhcp_lease_route){0x0a000000, 0x0a000001, 8};
	assert_false(dhcp_client_resume(&c, &bad, now));
	bad = lease;
	memset(bad.domain, 'a', sizeof bad.domain);
	assert_false(dhcp_client_resume(&c, &bad, now));
	assert_int_equal(c.state, DHCP_INIT);
}

/* While the link is down, no message is sent, whatever the state; the lease ends at its time. */
static void test_link_down(void **state)
{
	(void)state;
	assert_true(dhcp_client_tick_down(&c, now) == UINT64_MAX);
	dhcp_client_start(&c, 0, now);
	assert_true(dhcp_client_tick_down(&c, now + 100 * S) == UINT64_MAX && seen.sent == 0);
	get_lease(3600);
	const unsigned sent = seen.sent;
	const uint64_t end = dhcp_lease_end_ns(&c.lease);
	assert_true(dhcp_client_tick_down(&c, now) == end && dhcp_client_tick_down(&c, end - 1) == end && c.installed);
	assert_true(dhcp_client_tick_down(&c, end) == UINT64_MAX && !c.installed && seen.unbounds == 1);
	assert_int_equal(c.counts.timeouts, 1);
	assert_int_equal(seen.sent, sent);
	now = end + 50 * S;
	dhcp_client_link_up(&c, now);
	step();
	expect(DHCP4_DISCOVER, 0xffffffff, 0, ADDR, 0);
	setup(NULL);
	get_lease(DHCP_LEASE_FOREVER);
	assert_true(dhcp_client_tick_down(&c, now + 1000000 * S) == UINT64_MAX && c.installed);
}

/* Replies that are not for us, or that the state does not wait for. */
static void test_unwanted(void **state)
{
	(void)state;
	dhcp_client_start(&c, 0, now);
	step();
	assert_int_equal(answers(DHCP4_ACK, 3600), CNT_drop_dhcp_unwanted);
	assert_int_equal(answers(DHCP4_NAK, 0), CNT_drop_dhcp_unwanted);
	assert_int_equal(answers(DHCP4_INFORM, 3600), CNT_drop_dhcp_unwanted);
	c.xid++;
	begin(DHCP4_OFFER);
	c.xid--;
	assert_int_equal(deliver(), CNT_drop_dhcp_unwanted);
	begin(DHCP4_OFFER);
	answer[DHCP4_CHADDR + 5]++;
	assert_int_equal(deliver(), CNT_drop_dhcp_unwanted);
	begin(DHCP4_OFFER);
	dhcp4_put(&reply, DHCP4_OPT_CLIENT, "\1\2\0\0\0\0\10", 7); /* RFC 6842: another client's */
	assert_int_equal(deliver(), CNT_drop_dhcp_unwanted);
	begin(DHCP4_OFFER);
	answer[0] = DHCP4_REQUEST;
	assert_int_equal(deliver(), CNT_drop_dhcp_unwanted);
	assert_int_equal(answers(DHCP4_OFFER, 29), CNT_drop_dhcp_malformed);
	assert_int_equal(c.state, DHCP_SELECTING);
	assert_int_equal(answers(DHCP4_OFFER, 30), CNT_delivered_dhcp);
	begin(DHCP4_ACK);
	be32_store(answer + DHCP4_YIADDR, ADDR + 1);
	dhcp4_put_u32(&reply, DHCP4_OPT_LEASE, 3600);
	assert_int_equal(deliver(), CNT_drop_dhcp_unwanted);
	assert_int_equal(c.state, DHCP_REQUESTING);
}

/* --- leases --- */

static bool read_lease(struct dhcp_lease *l)
{
	struct dhcp4_options o;
	const unsigned n = dhcp4_end(&reply);
	assert_int_equal(dhcp4_options(answer, n, &o), CNT_NONE);
	return dhcp_lease_read(answer, &o, l);
}

static void begin_lease(void)
{
	begin(DHCP4_OFFER);
	dhcp4_put_u32(&reply, DHCP4_OPT_LEASE, 1000);
}

static void test_lease_values(void **state)
{
	(void)state;
	struct dhcp_lease l;
	begin_lease();
	assert_true(read_lease(&l) && l.plen == 24 && l.t1_s == 500 && l.t2_s == 875 && l.routes == 0); /* class C */
	begin_lease();
	dhcp4_put_u32(&reply, DHCP4_OPT_MASK, 0xff00ff00);
	assert_false(read_lease(&l));
	begin_lease();
	dhcp4_put_u32(&reply, DHCP4_OPT_MASK, 0xfffffff8);
	be32_store(answer + DHCP4_YIADDR, 0xc0000207); /* the broadcast address */
	assert_false(read_lease(&l));
	begin_lease();
	dhcp4_put_u32(&reply, DHCP4_OPT_T1, 600);
	dhcp4_put_u32(&reply, DHCP4_OPT_T2, 900);
	assert_true(read_lease(&l) && l.t1_s == 600 && l.t2_s == 900);
	begin_lease();
	dhcp4_put_u32(&reply, DHCP4_OPT_T1, 1);
	assert_true(read_lease(&l) && l.t1_s == 500);
	begin(DHCP4_OFFER);
	dhcp4_put_u32(&reply, DHCP4_OPT_LEASE, DHCP_LEASE_FOREVER);
	assert_true(read_lease(&l) && dhcp_lease_end_ns(&l) == UINT64_MAX);
	begin(DHCP4_OFFER); /* no lease time */
	assert_false(read_lease(&l));
	begin_lease();
	dhcp4_put(&reply, DHCP4_OPT_DNS, "\12\0\0\1\0\0\0\0\12\0\0\2", 12);
	dhcp4_put(&reply, DHCP4_OPT_NTP, "\12\0\0\3", 4);
	assert_true(read_lease(&l) && l.dns_count == 2 && l.dns[1] == 0x0a000002 && l.ntp_count == 1);
	begin_lease();
	dhcp4_put(&reply, DHCP4_OPT_DNS, "\12\0\0", 3);
	assert_false(read_lease(&l));
}

/* RFC 2132 3.17, as servers send it; one that is no domain is left out. */
static void test_domain(void **state)
{
	static const struct {
		const char *option;
		unsigned n;
		const char *domain;
	} rows[] = {
		{"lab.Example.net", 15, "lab.example.net"}, {"example\0", 8, "example"}, {"example.net.", 12, "example.net"},
		{"example.net.\0", 13, "example.net"}, {"a..b", 4, ""}, {".a", 2, ""}, {"a b", 3, ""}, {"a\0b", 3, ""},
		{"a\n", 2, ""}, {"\"", 1, ""}, {".", 1, ""}, {"\0", 1, ""}, {"a\xff", 2, ""}};
	struct dhcp_lease l;
	(void)state;
	for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
		begin_lease();
		dhcp4_put(&reply, DHCP4_OPT_DOMAIN, rows[i].option, rows[i].n);
		assert_true(read_lease(&l));
		assert_string_equal(l.domain, rows[i].domain);
	}
	char label[64 + 1 + 64];
	memset(label, 'a', sizeof label);
	for (unsigned n = 62; n <= sizeof label; n++) { /* labels have at most 63 characters, the domain at most 127 */
		label[63] = n > 64 ? '.' : 'a';
		begin_lease();
		dhcp4_put(&reply, DHCP4_OPT_DOMAIN, label, n);
		assert_true(read_lease(&l));
		assert_int_equal(strlen(l.domain), n == 64 || n > 127 ? 0 : n);
	}
}

static void test_routes(void **state)
{
	(void)state;
	struct dhcp_lease l;
	begin_lease();
	dhcp4_put(&reply, DHCP4_OPT_ROUTER, "\300\0\2\1\300\0\2\2", 8);
	assert_true(read_lease(&l) && l.routes == 1 && l.route[0].plen == 0 && l.route[0].via == SERVER);
	/* RFC 3442: then the routers do not count; what is not on the subnet is left out */
	static const uint8_t routes[] = {8, 10, 192, 0, 2, 3, 0, 192, 0, 2, 2, 32, 10, 1, 1, 1, 192, 0, 2, 3,
	                                 24, 10, 2, 2, 198, 51, 100, 1};
	begin_lease();
	dhcp4_put(&reply, DHCP4_OPT_ROUTER, "\300\0\2\1", 4);
	dhcp4_put(&reply, DHCP4_OPT_ROUTES, routes, sizeof routes);
	assert_true(read_lease(&l) && l.routes == 3);
	assert_true(l.route[0].prefix == 0x0a000000 && l.route[0].plen == 8 && l.route[0].via == 0xc0000203);
	assert_true(l.route[1].plen == 0 && l.route[1].via == 0xc0000202);
	assert_true(l.route[2].prefix == 0x0a010101 && l.route[2].plen == 32);
	for (unsigned n = 1; n < sizeof routes; n++) {
		begin_lease();
		dhcp4_put(&reply, DHCP4_OPT_ROUTES, routes, n);
		const bool whole = n == 6 || n == 11 || n == 20;
		assert_int_equal(read_lease(&l), whole);
	}
	/* bits behind the mask are cleared; a router of 0.0.0.0 is on no link that we know */
	begin_lease();
	dhcp4_put(&reply, DHCP4_OPT_ROUTES, "\14\254\37\300\0\2\3\10\12\0\0\0\0", 13);
	assert_true(read_lease(&l) && l.routes == 1 && l.route[0].prefix == 0xac100000 && l.route[0].plen == 12);
	begin_lease();
	dhcp4_put(&reply, DHCP4_OPT_ROUTES, "\41\12\0\0\0\0\300\0\2\1", 10);
	assert_false(read_lease(&l));
}

#define TEST(f) cmocka_unit_test_setup(f, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_lease),  TEST(test_backoff), TEST(test_secs), TEST(test_no_answer), TEST(test_expiry),   TEST(test_nak),          TEST(test_conflict),
		TEST(test_reboot), TEST(test_resume),  TEST(test_unwanted), TEST(test_lease_values), TEST(test_link_down), TEST(test_domain), TEST(test_routes),
	};
	return cmocka_run_group_tests_name("dhcp_client", tests, NULL, NULL);
}
