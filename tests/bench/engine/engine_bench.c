/*
 * Speed of the routing engine's routes on this host, without TCP: from a frame that has been received to
 * the forwarding table. The image's own objects of net/fpm, control/engine, control/forwarding, net/rib
 * and net/fib, and control_rig.c.
 *
 *   engine_bench [ROUTES4 [ROUTES6]]        1000000 and 200000 unless given
 *   engine_bench -w FOLDER ROUTES4 ROUTES6  writes the frames to files instead, for tests/bench/engine.py:
 *                                           stated.4, changed.4, withdrawn.4, objects.4, by_objects.4,
 *                                           changed_objects.4, the same for 6, and prefixes.4 and .6,
 *                                           lines `PREFIX NUMBER-OF-NEXT-HOP`
 *
 * Each route has a frame of its own, as zebra sends them, and one of 64 next hops. Prefixes resemble the
 * global table's (tests/unit/rig/prefixes.h). SEED: that of the prefixes. Every step is checked: the
 * forwarding table has as many prefixes as it should have.
 */
#include "control/config/running.h"
#include "control/engine/apply.h"
#include "control/forwarding/routes.h"
#include "control/forwarding/tables.h"
#include "lib/bytes.h"
#include "net/ip4.h"
#include "net/fpm/netlink.h"
#include "tests/bench/engine/control_rig.h"
#include "tests/unit/rig/host.h"
#include "tests/unit/rig/prefixes.h"

#define HOPS RIG_HOPS
#define FRAME_MOST 128 /* of one route, or of one object */
#define TURN 256       /* frames between two looks at retired memory, as in a turn of the control core */
#define OBJECT 1000 /* the id of a next-hop object; as many follow as there are next hops */

struct engine_stats engine_stats;

static uint8_t *frames;

/* --- configuration, neighbours --- */

unsigned config_if_port(const struct config *c, const struct config_interface *i) { (void)c; (void)i; return 0; }
unsigned config_if_vid(const struct config_interface *i) { (void)i; return 0; }
bool config_is_svi(const struct config_interface *i) { (void)i; return false; }
bool config_is_channel(const struct config_interface *i) { (void)i; return false; }
unsigned config_channel_of(const struct config *c, unsigned port) { (void)c; (void)port; return 0; }
unsigned config_logical(const struct config *c, unsigned port) { (void)c; return port; }
const struct config_interface *config_logical_interface(const struct config *c, unsigned port)
{
	return &c->interface[port];
}
bool config_logical_shut(const struct config *c, unsigned port) { (void)c; (void)port; return false; }
bool config_is_loopback(const struct config_interface *i) { (void)i; return false; }
int config_lender(const struct config *c, unsigned n) { (void)c; (void)n; return -1; }
uint32_t config_engine_index_of(const struct config_interface *i) { return i->engine_index; }
int config_number(const struct config *c, uint32_t key) { (void)c; return (int)key; }
const uint32_t *config_routes_near(const struct config *c, uint32_t *scratch, uint32_t scratch_words)
{
	(void)c, (void)scratch, (void)scratch_words;
	return NULL;
}
char *config_key_name(char buf[CONFIG_IF_NAME_SIZE], uint32_t key) { (void)key; return buf; }
static void configure(void)
{
	struct config *c = &running.config;
	static const uint32_t addr[2] = {IP4(192, 0, 2, 1), IP4(198, 51, 100, 1)};
	c->interfaces = 2;
	for (unsigned n = 0; n < 2; n++) {
		struct config_interface *i = &c->interface[n];
		i->address_count = i->address6_count = 1;
		i->address[0].addr = addr[n];
		i->address[0].plen = 24;
		i->address6[0].addr = (struct net_addr){{be32_make(0x20010db8).raw, be32_make(n << 16).raw, 0,
		                                         be32_make(1).raw}};
		i->address6[0].plen = 64;
		i->engine_index = 101 + n;
		rig_dp->interface6[n].count = 1;
		rig_dp->interface6[n].addr[0] = i->address6[0].addr;
	}
	c->engine.line = 1;
	rig_interfaces();
}

static void make_tables(uint32_t four, uint32_t six)
{
	const size_t shared = fib4_shared_bytes(four), shared6 = fib6_shared_bytes(six);
	const size_t private = fib4_private_bytes(four, shared), private6 = fib6_private_bytes(six, shared6);
	if (fib4_init(&forwarding.fib, core_private_alloc(shared), shared, core_private_alloc(private),
	              private) != E_OK ||
	    fib6_init(&forwarding.fib6, core_private_alloc(shared6), shared6, core_private_alloc(private6),
	              private6) != E_OK)
		abort();
	printf("memory: IPv4 %zu + %zu KiB, IPv6 %zu + %zu KiB\n", shared >> 10, private >> 10, shared6 >> 10,
	       private6 >> 10);
	const size_t before = rig_taken;
	if (!routes_start() || !engine_apply_prepare())
		abort();
	printf("memory: routes of all sources and the engine's objects %zu KiB\n", (rig_taken - before) >> 10);
	engine_apply_begin();
}

/* --- frames --- */

static uint8_t *put_attribute(uint8_t *at, unsigned type, const void *value, unsigned len)
{
	le16_store(at, (uint16_t)(4 + len));
	le16_store(at + 2, (uint16_t)type);
	memcpy(at + 4, value, len);
	return at + 4 + len;
}

static uint8_t *put_u32(uint8_t *at, unsigned type, uint32_t value)
{
	uint8_t octets[4];
	le32_store(octets, value);
	return put_attribute(at, type, octets, 4);
}

/* The headers before a body that ends at `end`; returns the bytes of the frame. */
static uint32_t put_headers(uint8_t *frame, const uint8_t *end, unsigned type)
{
	const uint32_t length = (uint32_t)(end - frame);
	frame[0] = FPM_VERSION;
	frame[1] = FPM_TYPE_NETLINK;
	be16_store(frame + 2, (uint16_t)length);
	memset(frame + FPM_HEADER_LEN, 0, NLMSG_LEN);
	le32_store(frame + FPM_HEADER_LEN + NLMSG_AT_LENGTH, length - FPM_HEADER_LEN);
	le16_store(frame + FPM_HEADER_LEN + NLMSG_AT_TYPE, (uint16_t)type);
	le16_store(frame + FPM_HEADER_LEN + NLMSG_AT_FLAGS, NLM_F_CREATE | NLM_F_REPLACE | NLM_F_REQUEST);
	return length;
}

static uint8_t *put_gateway(uint8_t *at, unsigned type, unsigned hop, bool six)
{
	uint8_t octets[16] = {0x20, 0x01, 0x0d, 0xb8, 0, 1};
	if (!six)
		be32_store(octets, IP4(198, 51, 100, 2) + hop);
	octets[15] = six ? (uint8_t)(2 + hop) : octets[15];
	return put_attribute(at, type, octets, six ? 16 : 4);
}

enum how { BY_GATEWAY, BY_OBJECT, AWAY };

static uint32_t put_route(uint8_t *frame, const struct prefix6 *p, bool six, enum how how, unsigned hop)
{
	uint8_t *at = frame + FPM_HEADER_LEN + NLMSG_LEN;
	memset(at, 0, RTM_LEN);
	at[RTM_AT_FAMILY] = six ? AF_INET6 : AF_INET;
	at[RTM_AT_DST_LEN] = (uint8_t)p->plen;
	at[RTM_AT_TABLE] = 254;
	at[RTM_AT_PROTOCOL] = 186; /* BGP */
	at[RTM_AT_TYPE] = RTN_UNICAST;
	at = put_attribute(at + RTM_LEN, RTA_DST, p->addr, six ? 16 : 4);
	at = put_u32(at, RTA_PRIORITY, 20);
	if (how == BY_OBJECT)
		at = put_u32(at, RTA_NH_ID, OBJECT + six * HOPS + hop);
	if (how == BY_GATEWAY)
		at = put_u32(put_gateway(at, RTA_GATEWAY, hop, six), RTA_OIF, 102);
	return put_headers(frame, at, how == AWAY ? RTM_DELROUTE : RTM_NEWROUTE);
}

static uint32_t put_object(uint8_t *frame, unsigned number, unsigned hop, bool six)
{
	uint8_t *at = frame + FPM_HEADER_LEN + NLMSG_LEN;
	memset(at, 0, NHMSG_LEN);
	at[0] = six ? AF_INET6 : AF_INET;
	at = put_u32(at + NHMSG_LEN, NHA_ID, OBJECT + six * HOPS + number);
	at = put_u32(put_gateway(at, NHA_GATEWAY, hop, six), NHA_OIF, 102);
	return put_headers(frame, at, RTM_NEWNEXTHOP);
}

/* --- steps --- */

static void settle(void)
{
	routes_settle();
	fib_reclaim(&forwarding.fib);
	fib_reclaim(&forwarding.fib6);
}

/* Applies n frames, as engine.c does. */
static void apply(const uint8_t *at, uint32_t n)
{
	static uint8_t answers[64];
	size_t answered = 0;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t length, where;
		if (fpm_frame(at, FRAME_MOST, &length) != FPM_OK || fpm_check(at, length, &where) != FPM_OK)
			abort();
		engine_apply(at, length, answers, sizeof answers, &answered);
		at += length;
		if (i % TURN == TURN - 1)
			settle();
	}
	settle();
	while (routes_work())
		;
	settle();
}

static void report(const char *what, double began, uint32_t n)
{
	const double s = rig_cpu_s() - began;
	printf("%-48s %9.0f a second %6.0f ns a route\n", what, n / s, s * 1e9 / n);
}

static void expect(bool six, uint32_t prefixes)
{
	const uint32_t n = fib_count(six ? &forwarding.fib6 : &forwarding.fib);
	if (n != prefixes) {
		printf("%u prefixes in the table instead of %u, %u refused\n", n, prefixes, routes_refused());
		exit(1);
	}
}

/* All prefixes, with their next hops `shift` further. */
static void state(const char *what, const struct prefix6 *p, uint32_t n, bool six, enum how how,
                  unsigned shift)
{
	uint8_t *at = frames;
	for (uint32_t i = 0; i < n; i++)
		at += put_route(at, &p[i], six, how, (p[i].nh + shift) % HOPS);
	const double began = rig_cpu_s();
	apply(frames, n);
	report(what, began, n);
	expect(six, how == AWAY ? 0 : n);
}

static void objects(const char *what, uint32_t routes, bool six, unsigned shift)
{
	uint8_t *at = frames;
	for (unsigned i = 0; i < HOPS; i++)
		at += put_object(at, i, (i + shift) % HOPS, six);
	const double began = rig_cpu_s();
	apply(frames, HOPS);
	if (routes)
		report(what, began, routes);
}

static void family(const struct prefix6 *p, uint32_t n, bool six)
{
	printf("IPv%u, %u prefixes\n", six ? 6 : 4, n);
	state("stated", p, n, six, BY_GATEWAY, 0);
	printf("forwarding table: %zu KiB in use\n", fib_bytes(six ? &forwarding.fib6 : &forwarding.fib) >> 10);
	state("stated again", p, n, six, BY_GATEWAY, 0);
	state("another next hop, route by route", p, n, six, BY_GATEWAY, 1);
	state("withdrawn", p, n, six, AWAY, 0);
	objects("", 0, six, 0);
	state("stated, by next-hop objects", p, n, six, BY_OBJECT, 0);
	objects("another next hop, by 64 next-hop objects", n, six, 1);
	expect(six, n);
	state("withdrawn", p, n, six, AWAY, 0);
}

/* --- files --- */

static const char *folder; /* NULL: nothing is written */

static FILE *create(const char *name, bool six)
{
	char path[4096];
	snprintf(path, sizeof path, "%s/%s.%u", folder, name, six ? 6 : 4);
	FILE *f = fopen(path, "w");
	if (!f) {
		perror(path);
		exit(1);
	}
	return f;
}

static void close_written(FILE *f)
{
	if (ferror(f) | fclose(f)) {
		fprintf(stderr, "engine_bench: cannot write into %s\n", folder);
		exit(1);
	}
}

static void write_routes(const char *name, const struct prefix6 *p, uint32_t n, bool six, enum how how,
                         unsigned shift)
{
	FILE *f = create(name, six);
	for (uint32_t i = 0; i < n; i++)
		fwrite(frames, 1, put_route(frames, &p[i], six, how, (p[i].nh + shift) % HOPS), f);
	close_written(f);
}

static void write_objects(const char *name, bool six, unsigned shift)
{
	FILE *f = create(name, six);
	for (unsigned i = 0; i < HOPS; i++)
		fwrite(frames, 1, put_object(frames, i, (i + shift) % HOPS, six), f);
	close_written(f);
}

static void write_prefixes(const struct prefix6 *p, uint32_t n, bool six)
{
	FILE *f = create("prefixes", six);
	for (uint32_t i = 0; i < n; i++) {
		const uint8_t *a = p[i].addr;
		if (!six)
			fprintf(f, "%u.%u.%u.%u", a[0], a[1], a[2], a[3]);
		for (unsigned k = 0; six && k < 16; k += 2)
			fprintf(f, "%s%02x%02x", k ? ":" : "", a[k], a[k + 1]);
		fprintf(f, "/%u %u\n", p[i].plen, p[i].nh % HOPS);
	}
	close_written(f);
}

static void write_family(const struct prefix6 *p, uint32_t n, bool six)
{
	write_routes("stated", p, n, six, BY_GATEWAY, 0);
	write_routes("changed", p, n, six, BY_GATEWAY, 1);
	write_routes("withdrawn", p, n, six, AWAY, 0);
	write_objects("objects", six, 0);
	write_routes("by_objects", p, n, six, BY_OBJECT, 0);
	write_objects("changed_objects", six, 1);
	write_prefixes(p, n, six);
}

static int by_prefix(const void *left, const void *right)
{
	const struct prefix6 *a = left, *b = right;
	const int order = memcmp(a->addr, b->addr, sizeof a->addr);
	return order ? order : (int)a->plen - (int)b->plen;
}

/* Sorted, as zebra walks its table; distinct; none that routes may not have. Returns how many. */
static uint32_t tidy(struct prefix6 *p, uint32_t n, bool six)
{
	uint32_t kept = 0;
	qsort(p, n, sizeof *p, by_prefix);
	for (uint32_t i = 0; i < n; i++) {
		const bool usable = six ? p[i].addr[0] >> 5 == 1 : p[i].plen && p[i].addr[0] < 224 &&
		                                                           p[i].addr[0] != 127;
		if (usable && (!kept || by_prefix(&p[kept - 1], &p[i]) != 0))
			p[kept++] = p[i];
	}
	return kept;
}

int main(int argc, char **argv)
{
	if (argc > 2 && strcmp(argv[1], "-w") == 0) {
		folder = argv[2];
		argv += 2;
		argc -= 2;
	}
	const uint32_t four = argc > 1 ? (uint32_t)atoi(argv[1]) : 1000000;
	const uint32_t six = argc > 2 ? (uint32_t)atoi(argv[2]) : 200000;
	struct prefix *p4;
	struct prefix6 *p6;
	seed_random("engine_bench");
	rig_start();
	frames = core_private_alloc((size_t)FRAME_MOST * (four > six ? four : six));
	const uint32_t n4 = prefixes_make(&p4, four), n6 = prefixes6_make(&p6, six);
	struct prefix6 *p = calloc(n4, sizeof *p);
	for (uint32_t i = 0; i < n4; i++) {
		be32_store(p[i].addr, p4[i].addr);
		p[i].plen = p4[i].plen;
		p[i].nh = p4[i].nh;
	}
	configure();
	const uint32_t used4 = tidy(p, n4, false), used6 = tidy(p6, n6, true);
	if (folder) {
		write_family(p, used4, false);
		write_family(p6, used6, true);
	} else {
		make_tables(used4 + 1024, used6 + 1024);
		family(p, used4, false);
		family(p6, used6, true);
	}
	free(p);
	free(p4);
	free(p6);
	return 0;
}
