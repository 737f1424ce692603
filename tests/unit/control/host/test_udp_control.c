/* control/host/udp_control.c: which receiver a datagram reaches, and how a datagram of ours leaves. */
#include "tests/unit/rig/host.h"

#include "control/host/udp_control.c"

#define NEIGHBOUR NH_NEIGHBOUR /* the next hop of all destinations with a route */

struct core_self self;
uint8_t local_frame[LOCAL_FRAME_BYTES];
static uint8_t tables[sizeof(struct dp_state)] __attribute__((aligned(64)));
static struct counters counters;
static const struct net_addr unreachable = {{0xfd, 0, 0, 1}}, router6 = {{0xfe80, 0, 0, 9}};
static uint32_t source4;
static uint16_t next_random[4];
static unsigned randoms, sent, sent_as_is, sent_len, sent_interface;

void *core_published_area(size_t *bytes)
{
	*bytes = sizeof tables;
	return tables;
}

void core_random(void *out, size_t bytes)
{
	assert_int_equal(bytes, sizeof *next_random);
	memcpy(out, &next_random[randoms++], bytes);
}

uint32_t local_source(uint32_t dst) { (void)dst; return source4; }

bool local6_source(const struct net_addr *dst, unsigned interface, struct net_addr *src)
{
	(void)dst;
	(void)interface;
	*src = router6;
	return true;
}

uint32_t local6_next_hop(const struct net_addr *dst, unsigned interface)
{
	(void)interface;
	return net_addr_equal(dst, &unreachable) ? (uint32_t)NH_NONE : NEIGHBOUR;
}

static void leaves(uint8_t *frame, unsigned len, unsigned interface)
{
	assert_ptr_equal(frame, local_frame);
	sent++;
	sent_len = len - ETH_HLEN;
	sent_interface = interface;
}

void local_output(uint8_t *frame, unsigned len) { leaves(frame, len, 0); }
void local6_output(uint8_t *frame, unsigned len, unsigned interface) { leaves(frame, len, interface); }

void local6_output_as_is(uint8_t *frame, unsigned len, unsigned interface)
{
	sent_as_is++;
	leaves(frame, len, interface);
}

/* --- receivers --- */

static unsigned ones, twos;

static enum counter one(const struct udp_datagram *d, const struct udp_arrival *from)
{
	assert_int_equal(from->ttl, 255);
	assert_int_equal(d->src_port, 53);
	ones++;
	return CNT_delivered_udp;
}

static enum counter two(const struct udp_datagram *d, const struct udp_arrival *from)
{
	(void)d;
	(void)from;
	twos++;
	return CNT_drop_udp_malformed;
}

static enum counter arrives(uint16_t port)
{
	const struct udp_datagram d = {.src_port = 53, .dst_port = port};
	const struct udp_arrival from = {.interface = 3, .ttl = 255};
	return udp_control_input(&d, &from);
}

static void a_port_has_one_receiver(void **s)
{
	(void)s;
	assert_int_equal(arrives(123), CNT_drop_udp_port);
	assert_true(udp_listen(123, one));
	assert_true(udp_listen(123, one));
	assert_false(udp_listen(123, two));
	assert_true(udp_listen(124, two));
	assert_int_equal(arrives(123), CNT_delivered_udp);
	assert_int_equal(arrives(124), CNT_drop_udp_malformed);
	assert_true(ones == 1 && twos == 1);
	udp_unlisten(123);
	udp_unlisten(123);
	assert_int_equal(arrives(123), CNT_drop_udp_port);
	assert_int_equal(arrives(124), CNT_drop_udp_malformed);
	udp_unlisten(124);
	assert_false(udp_listen(0, one));
}

static void the_table_is_full(void **s)
{
	(void)s;
	for (uint16_t n = 1; n <= UDP_RECEIVERS; n++)
		assert_true(udp_listen(n, one));
	assert_false(udp_listen(UDP_RECEIVERS + 1, one));
	assert_int_equal(udp_listen_any(one), 0);
	assert_true(udp_listen(UDP_RECEIVERS, one));
	for (uint16_t n = 1; n <= UDP_RECEIVERS; n++)
		udp_unlisten(n);
	assert_true(udp_listen(UDP_RECEIVERS + 1, one));
	udp_unlisten(UDP_RECEIVERS + 1);
}

/* From 49152 on, and never one that is in use. */
static void ephemeral_ports(void **s)
{
	(void)s;
	randoms = 0;
	memcpy(next_random, (const uint16_t[]){0x0005, 0xc005, 0x3fff}, 3 * sizeof *next_random);
	assert_int_equal(udp_listen_any(one), 0xc005);
	assert_int_equal(udp_listen_any(two), 0xffff);
	assert_int_equal(randoms, 3);
	assert_int_equal(arrives(0xc005), CNT_delivered_udp);
	udp_unlisten(0xc005);
	udp_unlisten(0xffff);
}

/* --- datagrams of ours --- */

static const struct net_addr lan6 = {{0xfd, 0, 0, 2}};
static struct fib_writer fib;
static uint8_t fib_shared[1u << 20] __attribute__((aligned(64))), fib_private[16u << 20];

static void route_to(uint32_t addr)
{
	struct dp_state *v = dp_get();
	assert_int_equal(fib4_init(&fib, fib_shared, sizeof fib_shared, fib_private, sizeof fib_private),
	                 E_OK);
	v->fib = fib.fib;
	assert_int_equal(fib4_insert(&fib, addr, 32, NEIGHBOUR), E_OK);
	v->adj[NEIGHBOUR].interface = 1;
}

static void by_the_route(void **s)
{
	(void)s;
	struct udp_message m = {.dst = net_addr_ip4(IP4(192, 0, 2, 2)), .src_port = 50000,
	                        .dst_port = 514, .data = "hello", .data_len = 5};
	struct udp_datagram d;
	self.counters = &counters;
	route_to(IP4(192, 0, 2, 2));
	assert_false(udp_send(&m)); /* no address of ours */
	source4 = IP4(192, 0, 2, 1);
	assert_true(udp_send(&m));
	assert_int_equal(udp_check(local_frame + ETH_HLEN, sent_len, false, &d), CNT_NONE);
	assert_true(net_addr_to_ip4(&d.src) == source4 && d.src_port == 50000 && d.dst_port == 514);
	assert_memory_equal(d.data, "hello", 5);
	assert_int_equal(ip4_ttl(local_frame + ETH_HLEN), IP4_TTL_DEFAULT);
	m.src = net_addr_ip4(IP4(198, 51, 100, 1));
	m.ttl = 3;
	assert_true(udp_send(&m));
	assert_int_equal(ip4_ttl(local_frame + ETH_HLEN), 3);
	assert_int_equal(ip4_src(local_frame + ETH_HLEN), IP4(198, 51, 100, 1));
	m.dst = net_addr_ip4(IP4(8, 8, 8, 8)); /* no route */
	assert_false(udp_send(&m));
	assert_true(sent == 2 && counters.v[CNT_udp_tx] == 2);
}

static void by_the_route6(void **s)
{
	(void)s;
	static const uint8_t long_data[IP6_PACKET_MAX];
	struct udp_message m = {.dst = lan6, .src_port = 50000, .dst_port = 514, .interface = 4,
	                        .data = "hello", .data_len = 5};
	struct udp_datagram d;
	self.counters = &counters;
	sent = 0;
	assert_true(udp_send(&m));
	assert_int_equal(udp_check(local_frame + ETH_HLEN, sent_len, false, &d), CNT_NONE);
	assert_true(net_addr_equal(&d.src, &router6) && net_addr_equal(&d.dst, &lan6));
	assert_true(sent == 1 && sent_as_is == 0 && sent_interface == 4);
	m.ttl = 255; /* stays what it is, whatever the link advertises */
	assert_true(udp_send(&m));
	assert_true(sent_as_is == 1 && ip6_hop_limit(local_frame + ETH_HLEN) == 255);
	m.data = long_data;
	m.data_len = sizeof long_data;
	assert_false(udp_send(&m));
	m.data_len = 5;
	m.dst = unreachable;
	assert_false(udp_send(&m));
	assert_int_equal(sent, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_port_has_one_receiver),
		cmocka_unit_test(the_table_is_full),
		cmocka_unit_test(ephemeral_ports),
		cmocka_unit_test(by_the_route),
		cmocka_unit_test(by_the_route6),
	};
	return cmocka_run_group_tests_name("udp_control", tests, NULL, NULL);
}
