/*
 * Neighbour and router discovery and MLD: the input is a program for the stations on two links, our
 * own side, and the clock.
 *
 * A byte names most addresses in messages (address()), and lengths and checksum are corrected, so
 * that random bytes pass the first checks and get deep. First a byte that says what we are, then
 * instructions (enum op) until the input ends; then everything is flushed.
 *
 * Invariants that are checked:
 * 1. Each frame given ends in one of release, unreachable, lost, or waits: net/nd.h, 1.
 * 2. up and down alternate, no frame is released to a neighbour that is down: net/nd.h, 2.
 * 3. What is sent passes the checks of a receiver, and nothing is sent from an address that is not
 *    VALID.
 * 4. A tick advances the deadline. Work is bounded: the number of frames in a second is limited.
 */
#include "tests/fuzz/input.h"

#include "lib/csum.h"
#include "net/nd.h"
#include "net/ra.h"
#include "net/slaac.h"

#define PORTS 2
#define NEIGHBOURS 8
#define SECOND 1000000000ull

enum op {
	OP_TIME,    /* u16: that many ms, or s (up to 16383) if the top bit is set */
	OP_SOLICIT, /* neighbour solicitation: sender, target, options */
	OP_ADVERT,  /* advertisement: flags, target, options */
	OP_ROUTER,  /* router solicitation or advertisement: 12 octets, options */
	OP_MLD,     /* query or report: type, code, group */
	OP_RAW,     /* any message: length, octets */
	OP_OUTPUT,  /* a frame for a neighbour */
	OP_HINT,    /* used or confirmed */
	OP_PIN,
	OP_ENTRY,   /* made static, forgotten, flushed */
	OP_ADDRESS, /* ours: added, removed; the link came up */
	OP_RA,      /* started, stopped */
	OP_COUNT
};

static struct {
	struct nd nd;
	struct ra ra;
	struct slaac slaac;
	uint64_t now;
	uint64_t second;     /* that `frames` counts */
	unsigned frames;
	unsigned given, ended;
	unsigned pins[NEIGHBOURS];
	bool up[NEIGHBOURS];
	bool router;
} lab;

static _Alignas(8) uint8_t memory[1 << 16];
static const uint8_t our_mac[PORTS][6] = {{2, 0, 0, 0, 0, 1}, {2, 0, 0, 0, 0, 2}};

/* --- the ops --- */

static void on_tx(void *ctx, unsigned port, const uint8_t *frame, unsigned len)
{
	struct ip6_upper up;
	struct icmp6_msg m;
	uint8_t *copy = exactly(frame + ETH_HLEN, len - ETH_HLEN);
	(void)ctx;
	assert(port < PORTS && eth_equal(frame + ETH_ALEN, our_mac[port]));
	assert(ip6_check(copy, len - ETH_HLEN) == CNT_NONE && ip6_upper(copy, &up) == CNT_NONE);
	assert(icmp6_input(copy, up.at, &m) == CNT_NONE);
	struct net_addr src = ip6_src(copy);
	assert(net_addr_is_any(&src) || nd_is_local(&lab.nd, port, &src));
	free(copy);
	/* the most that one instruction can cause: a few for each address, neighbour and group */
	assert(++lab.frames < 1000);
}

static void on_up(void *ctx, unsigned i, const uint8_t *mac)
{
	(void)ctx;
	assert(eth_is_station(mac));
	lab.up[i] = true;
}

static void on_down(void *ctx, unsigned i)
{
	(void)ctx;
	assert(lab.up[i]);
	lab.up[i] = false;
}

static void on_release(void *ctx, unsigned i, uint8_t *frame, unsigned len)
{
	(void)ctx;
	assert(lab.up[i]);
	memset(frame, 0xee, len);
	lab.ended++;
}

static void on_end(void *ctx, unsigned i, uint8_t *frame, unsigned len)
{
	(void)ctx;
	(void)i;
	memset(frame, 0xee, len);
	lab.ended++;
}

static void on_count(void *ctx, enum counter counter, unsigned n)
{
	(void)ctx;
	assert(counter < CNT_MAX && n > 0);
}

static void on_removed(void *ctx, unsigned i)
{
	(void)ctx;
	assert(!lab.up[i] && lab.pins[i] == 0);
}

static void on_address(void *ctx, unsigned port, const struct net_addr *addr)
{
	(void)ctx;
	assert(port < PORTS && ip6_is_unicast(addr));
}

static void on_duplicate(void *ctx, unsigned port, const struct net_addr *addr, const uint8_t *mac)
{
	(void)ctx;
	(void)mac;
	assert(port < PORTS && !nd_is_local(&lab.nd, port, addr));
}

static const struct nd_ops nd_ops = {
	on_tx, on_up, on_down, on_release, on_end, on_end, on_count, on_removed,
	on_address, on_address, on_duplicate,
};

static void on_default(void *ctx, unsigned port, const struct net_addr *router)
{
	(void)ctx;
	assert(port < PORTS && (!router || ip6_is_link_local(router)));
}

static void on_prefix(void *ctx, unsigned port, const struct net_addr *prefix, unsigned plen, bool on)
{
	(void)ctx;
	(void)on;
	assert(port < PORTS && plen > 0 && plen <= 128 && ip6_is_unicast(prefix));
}

static void on_link(void *ctx, unsigned port, unsigned mtu, unsigned hop_limit)
{
	(void)ctx;
	assert(port < PORTS && (mtu == 0 || (mtu >= 1280 && mtu <= 1500)));
	assert(hop_limit == 0 || (hop_limit >= SLAAC_HOP_LIMIT_MIN && hop_limit < 256));
}

static const struct slaac_ops slaac_ops = {on_default, on_prefix, on_link};

/* --- names in the input --- */

/* Addresses of ours and of others, of every class. */
static struct net_addr address(struct input *in)
{
	unsigned b = take8(in), n = b & 15;
	switch (b >> 4 & 7) {
	case 0:
		return IP6(0x20010db8, 0, 0, n);
	case 1:
		return IP6(0xfe800000, 0, 0, n);
	case 2:
		return IP6(0xff020000, 0, 1, 0xff000000 | n);
	case 3:
		return n == 0 ? NET_ADDR_ANY : IP6(0xff020000, 0, 0, n);
	case 4:
		return ip6_link_local_of(our_mac[n % PORTS]);
	case 5:
		return IP6(0x20010db8, 1 + n / 4, 0, n & 3);
	case 6:
		return ip6_eui64(&IP6(0x20010db8, n, 0, 0), our_mac[0]);
	default: {
		struct net_addr a;
		for (unsigned i = 0; i < 4; i++)
			a.w[i] = take32(in);
		return a;
	}
	}
}

static uint8_t *put_options(struct input *in, uint8_t *p)
{
	for (unsigned what = take8(in); what; what &= what - 1) {
		unsigned kind = (unsigned)__builtin_ctz(what);
		static const uint8_t types[8] = {1, 2, 5, 14, 3, 3, 25, 99};
		unsigned bytes = kind == 4 || kind == 5 ? 32 : kind == 6 ? 24 : 8;
		memset(p, 0, bytes);
		p[0] = types[kind];
		p[1] = (uint8_t)(bytes / 8);
		if (bytes == 8) {
			unsigned b = take8(in);
			p[2] = b & 128 ? 0xff : kind == 2 ? 0 : 2;
			p[6] = (uint8_t)(kind == 2 ? 5 : 0);
			p[7] = (uint8_t)b;
			if (kind == 3)
				memcpy(p + 2, lab.nd.local[b % ND_LOCALS_MAX].nonce, 6);
		} else {
			struct net_addr a = address(in);
			p[2] = take8(in) & 128 ? 48 : 64;
			p[3] = take8(in);
			be32_store(p + 4, take16(in));
			be32_store(p + 8, take16(in));
			net_addr_store(p + bytes - 16, &a);
		}
		p += bytes;
	}
	return p;
}

/* --- received messages --- */

static void deliver(struct input *in, unsigned port, const uint8_t *icmp, unsigned len)
{
	uint8_t frame[2048] = {0};
	uint8_t *ip = frame + ETH_HLEN;
	unsigned how = take8(in), at = how & 1 ? 48 : 40;
	struct net_addr src = address(in), dst = address(in);
	struct ip6_upper up;
	struct icmp6_msg m;
	eth_header_build(frame, our_mac[port], (const uint8_t[]){2, 0, 0, 0, 0xaa, how}, ETH_TYPE_IP6);
	ip6_header_build(ip, &(struct ip6_build){
		.src = src,
		.dst = dst,
		.payload_len = (uint16_t)(at - 40 + len),
		.next = how & 1 ? IP6_HOP_BY_HOP : IP6_ICMP6,
		.hop_limit = how & 4 ? 64 : how & 1 ? 1 : 255,
	});
	if (how & 1)
		ip6_router_alert_build(ip + IP6_HLEN, IP6_ICMP6, IP6_ALERT_MLD);
	memcpy(ip + at, icmp, len);
	if (len >= 4 && !(how & 8))
		icmp6_checksum_set(ip, at);
	uint8_t *copy = exactly(frame, ETH_HLEN + at + len);
	ip = copy + ETH_HLEN;
	if (ip6_check(ip, at + len) == CNT_NONE && ip6_upper(ip, &up) == CNT_NONE &&
	    icmp6_input(ip, up.at, &m) == CNT_NONE) {
		enum counter fate;
		bool discovery = m.type == ICMP6_ROUTER_SOLICIT || m.type == ICMP6_ROUTER_ADVERT;
		if (!discovery)
			fate = nd_input(&lab.nd, port, copy, &up, &m, lab.now);
		else if (lab.router)
			fate = ra_input(&lab.ra, port, copy, &up, &m, lab.now);
		else
			fate = slaac_input(&lab.slaac, port, copy, &up, &m, lab.now);
		assert(fate < CNT_NONE);
	}
	free(copy);
}

static void message(struct input *in, enum op op, unsigned port)
{
	uint8_t icmp[1024] = {0}, *end = icmp + 24;
	struct net_addr a;
	switch (op) {
	case OP_SOLICIT:
	case OP_ADVERT:
		icmp[0] = op == OP_SOLICIT ? ICMP6_NEIGHBOUR_SOLICIT : ICMP6_NEIGHBOUR_ADVERT;
		icmp[4] = op == OP_ADVERT ? take8(in) : 0;
		a = address(in);
		net_addr_store(icmp + 8, &a);
		end = put_options(in, end);
		break;
	case OP_ROUTER:
		for (unsigned i = 4; i < 16; i++)
			icmp[i] = take8(in);
		icmp[0] = icmp[4] & 1 ? ICMP6_ROUTER_SOLICIT : ICMP6_ROUTER_ADVERT;
		end = put_options(in, icmp + (icmp[4] & 1 ? 8 : 16));
		break;
	case OP_MLD:
		icmp[0] = (uint8_t)(ICMP6_MLD_QUERY + take8(in) % 3);
		be16_store(icmp + 4, take16(in));
		a = address(in);
		net_addr_store(icmp + 8, &a);
		end += icmp[5] & 1 ? 4 : 0;
		break;
	default: {
		unsigned n = take8(in);
		for (end = icmp; n > 0; n--)
			*end++ = take8(in);
		break;
	}
	}
	deliver(in, port, icmp, (unsigned)(end - icmp));
}

/* --- our own side --- */

static void time_passes(struct input *in)
{
	uint16_t n = take16(in);
	uint64_t until = lab.now + (n & 0x8000 ? (n & 0x3fffu) * SECOND : n * 1000000ull);
	for (unsigned turns = 0; turns < 2000; turns++) {
		uint64_t at = nd_deadline(&lab.nd), ra = ra_deadline(&lab.ra);
		uint64_t slaac = slaac_deadline(&lab.slaac);
		at = ra < at ? ra : at;
		at = slaac < at ? slaac : at;
		if (at > until)
			break;
		lab.now = at > lab.now ? at : lab.now;
		lab.frames = 0;
		assert(nd_tick(&lab.nd, lab.now) > lab.now);
		assert(ra_tick(&lab.ra, lab.now) > lab.now);
		slaac_tick(&lab.slaac, lab.now);
	}
	lab.now = until;
}

static void output(struct input *in, unsigned port)
{
	struct net_addr a = address(in);
	unsigned len = ETH_HLEN + take8(in);
	if (nd_neigh_find(&lab.nd, port, &a) < 0 && !nd_may_ask(&lab.nd, lab.now))
		return;
	int i = nd_neigh_get(&lab.nd, port, &a);
	if (i < 0)
		return;
	uint8_t *frame = calloc(1, len);
	lab.given++;
	nd_output(&lab.nd, (unsigned)i, frame, len, lab.now);
	free(frame);
}

static void hint(struct input *in)
{
	unsigned b = take8(in), i = b % NEIGHBOURS;
	if (b & 64)
		nd_used(&lab.nd, i);
	else
		nd_confirm(&lab.nd, i, lab.now);
}

static void pin(struct input *in)
{
	unsigned b = take8(in), i = b % NEIGHBOURS;
	if (nd_neigh_state(&lab.nd, i) == ND_FREE)
		return;
	if (b & 64 && lab.pins[i] < 3) {
		lab.pins[i]++;
		nd_pin(&lab.nd, i);
	} else if (lab.pins[i]) {
		lab.pins[i]--;
		nd_unpin(&lab.nd, i);
	}
}

static void entry(struct input *in, unsigned port)
{
	unsigned b = take8(in);
	struct net_addr a = address(in);
	if (b & 1)
		nd_set_static(&lab.nd, port, &a, (const uint8_t[]){2, 0, 0, 0, 0xbb, 1});
	else if (b & 2)
		nd_forget(&lab.nd, port, &a);
	else
		nd_flush_interface(&lab.nd, port);
}

static void own_address(struct input *in, unsigned port)
{
	unsigned b = take8(in);
	struct net_addr a = address(in);
	if (b & 1)
		nd_add_local(&lab.nd, port, &a, b & 2 ? 64 : 128, our_mac[port], lab.now);
	else if (b & 2)
		nd_remove_local(&lab.nd, port, &a, lab.now);
	else if (b & 4)
		nd_add_anycast(&lab.nd, port, &a, our_mac[port], lab.now);
	else
		nd_link_up(&lab.nd, port, lab.now);
}

static void advertise(struct input *in, unsigned port)
{
	struct ra_config c = RA_CONFIG_DEFAULT;
	unsigned b = take8(in);
	c.mtu = b & 2 ? 1500 : 0;
	c.prefixes = b >> 2 & 3;
	c.servers = b >> 4 & 3;
	for (unsigned i = 0; i < c.prefixes; i++)
		c.prefix[i] = (struct ra_prefix){IP6(0x20010db8, i, 0, 0), 600, 300, 64, true, true};
	if (!lab.router)
		slaac_link_up(&lab.slaac, port, lab.now);
	else if (b & 1)
		ra_stop(&lab.ra, port, lab.now);
	else
		assert(ra_start(&lab.ra, port, &c, lab.now) == E_OK || lab.nd.mld.groups);
}

static void judge(void)
{
	unsigned waiting = 0, cursor = 0;
	struct nd_entry e;
	while (nd_next(&lab.nd, &cursor, lab.now, &e)) {
		waiting += e.pending;
		bool up = e.state == ND_REACHABLE || e.state == ND_DELAY || e.state == ND_PROBE ||
		          e.state == ND_STATIC;
		assert(up == lab.up[e.index]);
		assert(e.pending == 0 || e.state == ND_INCOMPLETE);
	}
	assert(waiting == nd_pending(&lab.nd) && lab.given == lab.ended + waiting);
}

static void instruction(struct input *in)
{
	unsigned b = take8(in), port = b / OP_COUNT % PORTS;
	enum op op = (enum op)(b % OP_COUNT);
	lab.frames = 0;
	switch (op) {
	case OP_TIME:
		time_passes(in);
		break;
	case OP_OUTPUT:
		output(in, port);
		break;
	case OP_HINT:
		hint(in);
		break;
	case OP_PIN:
		pin(in);
		break;
	case OP_ENTRY:
		entry(in, port);
		break;
	case OP_ADDRESS:
		own_address(in, port);
		break;
	case OP_RA:
		advertise(in, port);
		break;
	default:
		message(in, op, port);
	}
	judge();
}

static void begin(unsigned who)
{
	struct nd_params p = ND_PARAMS_DEFAULT;
	memset(&lab, 0, sizeof lab);
	p.neighbours = NEIGHBOURS;
	p.queue = 3;
	p.pending = 9;
	p.frame_max = 200;
	p.router = lab.router = who & 1;
	p.dad_transmits = who & 2 ? 0 : 1;
	p.start_delay_ns = who & 4 ? 0 : SECOND;
	p.key = (struct siphash_key){1, 2};
	assert(nd_init(&lab.nd, &p, memory, sizeof memory, &nd_ops, NULL) == E_OK);
	ra_init(&lab.ra, &lab.nd);
	slaac_init(&lab.slaac, &lab.nd, &slaac_ops, NULL);
	for (unsigned port = 0; port < PORTS; port++) {
		struct net_addr ours = IP6(0x20010db8, port, 0, 1);
		struct net_addr link_local = ip6_link_local_of(our_mac[port]);
		if (!lab.router)
			assert(slaac_start(&lab.slaac, port, our_mac[port], 1500, 0) == E_OK);
		nd_add_local(&lab.nd, port, &link_local, 64, our_mac[port], 0);
		nd_add_local(&lab.nd, port, &ours, 64, our_mac[port], 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	begin(take8(&in));
	while (in.n)
		instruction(&in);
	for (unsigned port = 0; port < PORTS; port++) {
		nd_flush_interface(&lab.nd, port);
		slaac_stop(&lab.slaac, port, lab.now);
		nd_clear_local(&lab.nd, port, lab.now);
	}
	assert(lab.given == lab.ended && lab.slaac.prefixes == 0 && lab.nd.locals == 0);
	return 0;
}
