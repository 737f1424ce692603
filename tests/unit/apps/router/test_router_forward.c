/*
 * apps/router/forward.c against a slow model: random vectors of both versions, by adjacencies of every kind,
 * with and without AVX2. The frames that leave are compared octet by octet, port by port, in their order;
 * the slow path gets the others, unchanged. The FIB is a stand-in: the last octet of a destination is its
 * neighbour.
 */
#include "tests/unit/rig/host.h"

#include "apps/router/forward.c"
#include "hal/vector.h"

#define NEIGHBOURS 64
#define PORTS 4
#define INTERFACE 3
#define ROOM 128 /* octets of a frame that are kept for comparison */

struct core_self self;
struct core_out core_outs[NIC_PORTS_MAX];
struct core_current core_current;
struct core_trace core_trace;
uint64_t core_forwards;
struct router router;
const struct control_hooks control_plane_hooks;

static struct dp_state dp;
static _Alignas(64) uint8_t shared[DP_SHARED_BYTES];
static struct counters counters;
static struct fate_counts fates;
static uint8_t memory[(PKT_VECTOR_MAX + 1) * BUF_STRIDE_STANDARD] __attribute__((aligned(64)));
static uint32_t stack[PKT_VECTOR_MAX];
static const uint8_t ours[ETH_ALEN] = {2, 'r', 'o', 'u', 't', 'e'};
static const uint8_t theirs[ETH_ALEN] = {2, 'o', 't', 'h', 'e', 'r'};

/* What was sent or went the slow way, in order. */
static struct pkt sent[PORTS][2 * CORE_OUT_MAX], slow[PKT_VECTOR_MAX];
static unsigned sents[PORTS], slows, flushes;

/* --- stand-ins --- */

void *core_published_area(size_t *bytes) { return *bytes = sizeof dp, &dp; }
void *core_shared_area(size_t *bytes) { return *bytes = sizeof shared, shared; }
void dp_counted_start(void) {}
uint64_t core_now_ns(void) { return 7ull << 30; }
void router_slow(struct pkt *p, bool asked) { (void)asked, slow[slows++] = *p; }
void trace_way(uint32_t nh, unsigned total) { (void)nh, (void)total, fail(); }

unsigned router_filter_in(struct pkt *v, uint32_t *beside, unsigned n, const struct dp_filter *f)
{
	(void)v, (void)beside, (void)f, fail();
	return n;
}

unsigned router_filter_out(struct pkt *v, uint32_t *nh, unsigned n, bool six)
{
	(void)v, (void)nh, (void)six, fail();
	return n;
}

unsigned router_bundle_in(struct pkt *v, unsigned n, unsigned port)
{
	(void)v, (void)port, fail();
	return n;
}

unsigned router_verify(struct pkt *v, uint32_t *beside, unsigned n, unsigned verify, bool six)
{
	(void)v, (void)beside, (void)verify, (void)six, fail();
	return n;
}

void router_redirect_all(struct pkt *v, const uint32_t *nh, unsigned m, unsigned interface, bool six)
{
	(void)v, (void)nh, (void)m, (void)interface, (void)six, fail();
}

/* One in sixteen is on a link of ours, and there the entry of a host. */
static uint32_t hop6_of(const uint8_t *dst)
{
	return dst[14] % 16 ? NH_NEIGHBOUR6 + dst[15] % NEIGHBOURS : NH_CONNECTED + dst[15] % NEIGHBOURS;
}

void fib4_lookup_batch(const struct fib *fib, const uint32_t *dst, uint32_t *nh, unsigned n)
{
	(void)fib;
	for (unsigned i = 0; i < n; i++)
		nh[i] = NH_NEIGHBOUR + dst[i] % NEIGHBOURS;
}

uint32_t fib6_lookup_frames(const struct fib *fib, const struct pkt *v, unsigned at, const struct fib6_keys *keys,
                            uint32_t *nh, unsigned n)
{
	uint32_t least = UINT32_MAX;
	(void)fib;
	assert_int_equal(at, ETH_HLEN + 24);
	for (unsigned i = 0; i < n; i++) {
		assert_int_equal(keys->high[i], be32_load(v[i].data + at));
		assert_int_equal(keys->low[i], be32_load(v[i].data + at + 4));
		nh[i] = hop6_of(v[i].data + at);
		least = nh[i] < least ? nh[i] : least;
	}
	return least;
}

uint32_t ecmp_hash4(uint64_t seed, const uint8_t *ip) { return (void)ip, fail(), (uint32_t)seed; }
uint32_t ecmp_hash6(uint64_t seed, const uint8_t *ip) { return (void)ip, fail(), (uint32_t)seed; }

uint32_t host6_lookup(const struct host6 *t, unsigned interface, const uint8_t *addr)
{
	(void)t;
	assert_int_equal(interface, addr[15] % NEIGHBOURS);
	return NH_NEIGHBOUR6 + interface;
}

/* The device takes all but the last CORE_OUT_HOLD / 2. */
void core_tx_flush(unsigned port)
{
	struct core_out *o = &core_outs[port];
	const unsigned took = o->n > CORE_OUT_HOLD / 2 ? o->n - CORE_OUT_HOLD / 2 : 0;
	memcpy(&sent[port][sents[port]], o->v, took * sizeof o->v[0]);
	sents[port] += took;
	memmove(o->v, o->v + took, (o->n - took) * sizeof o->v[0]);
	o->n -= took;
	flushes++;
}

/* --- frames --- */

static struct pkt in[PKT_VECTOR_MAX];
static uint8_t was[PKT_VECTOR_MAX][ROOM]; /* as they arrived */

static uint8_t any_octet(void) { return (uint8_t)random64(); }

static void checksum(uint8_t *ip)
{
	ip4_checksum_set(ip);
}

/* A packet that is to be forwarded; returns its length. */
static unsigned write4(uint8_t *ip)
{
	const unsigned payload = random_below(3) ? 26 : random_below(60);
	const struct ip4_build b = {.src = IP4(1 + random_below(126), any_octet(), any_octet(), any_octet()),
	                            .dst = IP4(128 + random_below(111), any_octet(), any_octet(), any_octet()),
	                            .payload_len = (uint16_t)payload,
	                            .id = (uint16_t)random64(),
	                            .tos = any_octet(),
	                            .ttl = (uint8_t)(2 + random_below(254)),
	                            .proto = any_octet()};
	ip4_header_build(ip, &b);
	return IP4_HLEN + payload;
}

static unsigned write6(uint8_t *ip)
{
	const unsigned payload = 1 + random_below(50);
	const struct ip6_build b = {.src = IP6(0x20010db8, random64(), random64(), random64()),
	                            .dst = IP6(0x2a000000, random64(), random64(), random64()),
	                            .payload_len = (uint16_t)payload,
	                            .next = (uint8_t)(1 + random_below(255)),
	                            .hop_limit = (uint8_t)(2 + random_below(254))};
	ip6_header_build(ip, &b);
	return IP6_HLEN + payload;
}

/* Changes one thing, to a value near the limit of what is allowed: the packet may still be a good one. */
static void change(struct pkt *p)
{
	static const uint8_t tops[] = {0, 1, 126, 127, 128, 223, 224, 239, 240, 255};
	uint8_t *f = p->data, *ip = f + ETH_HLEN;
	const unsigned total = ip4_total_len(ip), frame = p->len;
	switch (random_below(14)) {
	case 0: f[random_below(ETH_HLEN)] ^= (uint8_t)(1u << random_below(8)); return;
	case 1: ip[0] = (uint8_t)(0x44 + random_below(3)); break;
	case 2: ip[8] = (uint8_t)random_below(4); break;
	case 3: ip[12] = tops[random_below(sizeof tops)]; break;
	case 4: ip[16] = tops[random_below(sizeof tops)]; break;
	case 5: be16_store(ip + 2, (uint16_t)(frame - ETH_HLEN - 1 + random_below(3))); break;
	case 6: be16_store(ip + 2, (uint16_t)(18 + random_below(4))); break;
	case 7: be16_store(ip + 2, (uint16_t)random64()); break;
	case 8: p->len = (uint16_t)random_below(ETH_HLEN + IP4_HLEN + 2); return;
	case 9: p->len = (uint16_t)(total + ETH_HLEN - 1 + random_below(3)); return;
	case 10: ip[random_below(IP4_HLEN)] ^= (uint8_t)(1u << random_below(8)); return;
	case 11: raw16_store(ip + 10, (uint16_t)(raw16_load(ip + 10) + 1)); return;
	case 12: ip[10] = ip[11] = random_below(2) ? 0xff : 0; return;
	default: p->len = (uint16_t)(p->len + random_below(4)); return;
	}
	checksum(ip);
}

/* The same for IPv6. */
static void change6(struct pkt *p)
{
	static const uint8_t tops[] = {0, 0xfb, 0xfc, 0xfd, 0xfe, 0xff};
	uint8_t *f = p->data, *ip = f + ETH_HLEN, *address = ip + (random_below(2) ? 8 : 24);
	switch (random_below(10)) {
	case 0: f[random_below(ETH_HLEN)] ^= (uint8_t)(1u << random_below(8)); return;
	case 1: ip[0] = (uint8_t)(ip[0] ^ 1u << random_below(8)); return;
	case 2: ip[7] = (uint8_t)random_below(4); return;
	case 3: ip[6] = (uint8_t)random_below(2); return;
	case 4: be16_store(ip + 4, (uint16_t)(p->len - ETH_HLEN - IP6_HLEN - 1 + random_below(3))); return;
	case 5: be16_store(ip + 4, (uint16_t)random_below(2)); return;
	case 6: address[0] = tops[random_below(sizeof tops)]; return;
	case 7: memset(address, 0, 3 + random_below(7)); return;
	case 8: p->len = (uint16_t)random_below(ETH_HLEN + IP6_HLEN + 4); return;
	default: p->len = (uint16_t)(p->len - 1 + random_below(5)); return;
	}
}

static void make(unsigned i, unsigned sixes, unsigned changed)
{
	struct pkt *p = &in[i];
	memset(memory + (size_t)i * BUF_STRIDE_STANDARD, 0, BUF_STRIDE_STANDARD);
	*p = (struct pkt){.data = memory + (size_t)i * BUF_STRIDE_STANDARD + BUF_DATA_OFFSET, .buf = i,
	                  .interface = INTERFACE};
	const bool six = random_below(100) < sixes;
	eth_header_build(p->data, ours, theirs, six ? ETH_TYPE_IP6 : ETH_TYPE_IP4);
	const unsigned total = (six ? write6 : write4)(p->data + ETH_HLEN);
	p->len = (uint16_t)(total + ETH_HLEN < ETH_FRAME_MIN ? ETH_FRAME_MIN : total + ETH_HLEN);
	if (random_below(100) < changed)
		(six ? change6 : change)(p);
	if (random_below(40) == 0) {
		p->flags = PKT_CSUM_PARTIAL;
		pkt_meta(&self.pool, i)->csum_start = ETH_HLEN + IP4_HLEN;
	}
	memcpy(was[i], p->data, ROOM);
}

/* --- the model --- */

static bool good4(const uint8_t *f, unsigned len)
{
	const uint8_t *ip = f + ETH_HLEN;
	return len >= ETH_HLEN + IP4_HLEN && memcmp(f, ours, ETH_ALEN) == 0 &&
	       be16_load(f + 12) == ETH_TYPE_IP4 && ip[0] == 0x45 && ip[8] > 1 &&
	       ip4_check_slow(ip, len - ETH_HLEN) == CNT_NONE && !ip4_is_martian(ip4_dst(ip));
}

static bool good6(const uint8_t *f, unsigned len)
{
	const uint8_t *ip = f + ETH_HLEN;
	return len >= ETH_HLEN + IP6_HLEN && memcmp(f, ours, ETH_ALEN) == 0 &&
	       be16_load(f + 12) == ETH_TYPE_IP6 && ip6_hop_limit(ip) > 1 &&
	       ip6_next(ip) != IP6_HOP_BY_HOP && ip6_check_slow(ip, len - ETH_HLEN) == CNT_NONE &&
	       ip6_check_forward_slow(ip) == CNT_NONE;
}

/* The frame that leaves, and its length; 0: it goes the slow way. */
static unsigned model(unsigned i, bool six, uint8_t *out, const struct adj **by)
{
	const uint8_t *ip = was[i] + ETH_HLEN;
	const unsigned total = six ? ip6_total_len(ip) : ip4_total_len(ip);
	const unsigned least = total + ETH_HLEN < ETH_FRAME_MIN ? ETH_FRAME_MIN : total + ETH_HLEN;
	const unsigned len = in[i].len < least ? in[i].len : least;
	const struct adj *a = six ? &dp.adj[NH_NEIGHBOUR6 + ip[39] % NEIGHBOURS]
	                          : &dp.adj[NH_NEIGHBOUR + ip[19] % NEIGHBOURS];
	*by = a;
	if (a->state != ADJ_FORWARD || total > a->mtu ||
	    (in[i].flags & PKT_CSUM_PARTIAL && len < in[i].len))
		return 0;
	memcpy(out, a->header, a->header_bytes);
	uint8_t *to = out + a->header_bytes;
	memcpy(to, ip, len - ETH_HLEN);
	if (six) {
		to[7]--;
	} else {
		to[8]--;
		checksum(to);
	}
	return len - ETH_HLEN + a->header_bytes;
}

static void assert_sent(unsigned port, unsigned k, unsigned i, const uint8_t *frame, unsigned len)
{
	const struct core_out *o = &core_outs[port];
	assert_true(k < sents[port] + o->n);
	const struct pkt *p = k < sents[port] ? &sent[port][k] : &o->v[k - sents[port]];
	assert_int_equal(p->buf, i);
	assert_int_equal(p->len, len);
	assert_int_equal(p->flags, in[i].flags);
	assert_memory_equal(p->data, frame, len);
}

/* before[port]: packets that were queued when the vector came. */
static void compare(unsigned n, const unsigned *before)
{
	unsigned at[PORTS], slow_at = 0, forwarded = 0, back = 0;
	unsigned tagged[INTERFACE + 1] = {0}, tagged_bytes[INTERFACE + 1] = {0};
	memcpy(at, before, sizeof at);
	bool slow_way[PKT_VECTOR_MAX] = {0};
	for (unsigned k = 0; k < 2 * n; k++) { /* IPv4 first */
		const unsigned i = k % n;
		const bool six = k >= n;
		uint8_t frame[2 * ROOM];
		const struct adj *a;
		if (!(six ? good6 : good4)(was[i], in[i].len)) {
			slow_way[i] |= six && !good4(was[i], in[i].len);
			continue;
		}
		unsigned len = model(i, six, frame, &a);
		slow_way[i] = len == 0;
		if (len) {
			assert_sent(a->port, at[a->port]++, i, frame, len);
			assert_int_equal(router.used->second[a - dp.adj], 7);
			back += a->interface == INTERFACE;
			forwarded++;
			if (in[i].flags)
				assert_int_equal(pkt_meta(&self.pool, i)->csum_start, a->header_bytes + IP4_HLEN);
			if (a->header_bytes > ETH_HLEN) {
				tagged[a->interface]++;
				tagged_bytes[a->interface] += len - ETH_TAG_LEN;
			}
		}
	}
	for (unsigned port = 0; port < PORTS; port++)
		assert_int_equal(at[port], sents[port] + core_outs[port].n);
	for (unsigned i = 0; i <= INTERFACE; i++) {
		assert_int_equal(router.carried[i].tx_pkts, tagged[i]);
		assert_int_equal(router.carried[i].tx_bytes, tagged_bytes[i]);
	}
	for (unsigned k = 0; k < slows; k++) {
		assert_true(slow_way[slow[k].buf]);
		slow_way[slow[k].buf] = false;
		assert_int_equal(slow[k].len, in[slow[k].buf].len);
		assert_memory_equal(slow[k].data, was[slow[k].buf], ROOM);
		slow_at++;
	}
	for (unsigned i = 0; i < n; i++)
		assert_false(slow_way[i]);
	assert_int_equal(slow_at + forwarded, n);
	assert_int_equal(core_forwards, forwarded);
	assert_int_equal(fates.v[INTERFACE][CNT_forwarded], forwarded);
	assert_int_equal(counters.v[CNT_redirect_needed], back);
}

/* --- tests --- */

static bool vlans; /* all interfaces are VLANs, but for odd adjacencies */

static void adjacency_make(struct adj *a, unsigned ports, unsigned odd)
{
	const unsigned interface = random_below(ports);
	*a = (struct adj){.port = (uint8_t)interface, .interface = (uint8_t)interface, .mtu = 1500,
	                  .header_bytes = vlans ? ETH_HLEN + ETH_TAG_LEN : ETH_HLEN, .state = ADJ_FORWARD};
	random_fill(a->header, sizeof a->header);
	if (random_below(100) >= odd)
		return;
	switch (random_below(4)) {
	case 0: a->state = (uint8_t)random_below(ADJ_FORWARD); break;
	case 1: a->header_bytes = vlans ? ETH_HLEN : ETH_HLEN + ETH_TAG_LEN; break;
	case 2: a->mtu = (uint16_t)(40 + random_below(40)); break;
	default: a->interface = INTERFACE; break;
	}
}

static void start(unsigned ports, unsigned odd)
{
	memset(&dp, 0, sizeof dp);
	memset(shared, 0, sizeof shared);
	dp.filters = &dp.filter_set[0];
	dp.interface[INTERFACE].enabled = dp.interface[INTERFACE].enabled6 = true;
	memcpy(dp.interface[INTERFACE].mac, ours, sizeof ours);
	for (unsigned i = 0; i < NEIGHBOURS; i++) {
		adjacency_make(&dp.adj[NH_NEIGHBOUR + i], ports, odd);
		adjacency_make(&dp.adj[NH_NEIGHBOUR6 + i], ports, odd);
	}
	memset(&counters, 0, sizeof counters);
	memset(&fates, 0, sizeof fates);
	self.counters = &counters;
	self.fates = &fates;
	bufpool_init(&self.pool, memory, stack, PKT_VECTOR_MAX, BUF_STRIDE_STANDARD);
	buf_extend(memory, sizeof memory);
	router_app.data_start();
}

static void pass(unsigned n, unsigned held)
{
	struct pkt v[PKT_VECTOR_MAX];
	unsigned before[PORTS];
	for (unsigned port = 0; port < PORTS; port++) {
		core_outs[port].n = before[port] = held;
		sents[port] = 0;
	}
	slows = flushes = 0;
	core_forwards = 0;
	memcpy(v, in, n * sizeof v[0]);
	for (unsigned i = 0; i < n; i++) { /* nothing behind a frame is read */
		const unsigned from = BUF_DATA_OFFSET + v[i].len;
		ASAN_POISON_MEMORY_REGION(memory + (size_t)i * BUF_STRIDE_STANDARD + from,
		                          BUF_STRIDE_STANDARD - from);
	}
	router_app.rx_vector(v, n, INTERFACE);
	buf_extend(memory, sizeof memory);
	compare(n, before);
}

static unsigned any_length(void)
{
	return 1 + (random_below(2) ? random_below(40) : random_below(PKT_VECTOR_MAX));
}

static void rounds(bool avx2, unsigned ports, unsigned odd, unsigned sixes, unsigned changed)
{
	if (avx2 && vector_bits() < 256) {
		print_message("skipped: this CPU has no AVX2\n");
		skip();
	}
	for (unsigned round = 0; round < random_rounds(2000); round++) {
		const unsigned n = any_length();
		start(ports, odd);
		dp.avx2 = avx2;
		for (unsigned i = 0; i < n; i++)
			make(i, sixes, changed);
		pass(n, round % 4 ? 0 : CORE_OUT_HOLD);
	}
}

static void both(unsigned ports, unsigned odd, unsigned sixes, unsigned changed)
{
	rounds(false, ports, odd, sixes, changed);
	rounds(true, ports, odd, sixes, changed);
}

static void test_plain(void **state) { (void)state, both(1, 0, 0, 0); }
static void test_plain_six(void **state) { (void)state, both(1, 0, 100, 0); }
static void test_ports_alternate(void **state) { (void)state, both(PORTS, 0, 20, 0); }
static void test_adjacencies_of_every_kind(void **state) { (void)state, both(2, 30, 30, 0); }
static void test_vlans(void **state)
{
	(void)state;
	vlans = true;
	both(1, 0, 30, 0);
	both(2, 10, 30, 3);
	vlans = false;
}

static void test_one_in_a_hundred_is_bad(void **state) { (void)state, both(1, 0, 0, 1); }
static void test_bad_six(void **state) { (void)state, both(1, 0, 100, 3); }
static void test_many_are_bad(void **state) { (void)state, both(PORTS, 10, 30, 40); }

/* Of a frame, only what is in its first cache line is read. */
static unsigned check_groups(unsigned n, bool six, uint32_t *dst, uint32_t *more, struct lengths *l)
{
	const uint64_t mac = raw64_load((const uint8_t[8]){2, 'r', 'o', 'u', 't', 'e'});
	for (unsigned i = 0; i < n; i++)
		ASAN_POISON_MEMORY_REGION(in[i].data + BUF_FIRST_LINE,
		                          BUF_STRIDE_STANDARD - BUF_DATA_OFFSET - BUF_FIRST_LINE);
	const unsigned good = six ? check6_avx2(in, n, mac, dst, more, l) : check4_avx2(in, n, mac, dst, l);
	buf_extend(memory, sizeof memory);
	return good;
}

/* Groups of good frames are never left to check4 or check6, and the lengths are exact. */
static void groups(bool six)
{
	for (unsigned round = 0; round < random_rounds(2000); round++) {
		const unsigned n = CHECK_LANES + random_below(PKT_VECTOR_MAX - CHECK_LANES + 1);
		const uint64_t mac = raw64_load((const uint8_t[8]){2, 'r', 'o', 'u', 't', 'e'});
		uint32_t dst[PKT_VECTOR_MAX + 1] = {0}, more[PKT_VECTOR_MAX + 1] = {0};
		struct lengths one = {0}, together = {0};
		for (unsigned i = 0; i < n; i++) {
			make(i, six ? 100 : 0, 0);
			in[i].len = (uint16_t)(in[i].len + (random_below(100) == 0));
			assert_true((six ? check6 : check4)(&in[i], mac, &one));
		}
		dst[n] = more[n] = 0xfeed;
		assert_int_equal(check_groups(n, six, dst, more, &together), n);
		assert_int_equal(together.most, one.most);
		assert_int_equal(together.padded, one.padded);
		for (unsigned i = 0; i < n; i++) {
			const uint8_t *to = in[i].data + ETH_HLEN + (six ? 24 : 16);
			assert_int_equal(dst[i], be32_load(to));
			assert_true(!six || more[i] == be32_load(to + 4));
		}
		assert_true(dst[n] == 0xfeed && more[n] == 0xfeed);
		const unsigned bad = random_below(n); /* one wrong frame ends it before the group */
		in[bad].data[ETH_HLEN] ^= 0x10;
		const unsigned from = bad & ~(CHECK_LANES - 1u);
		const unsigned last = n - n % CHECK_LANES; /* the last group overlaps the one before */
		assert_int_equal(check_groups(n, six, dst, more, &together), from < last ? from : last);
	}
}

static void test_groups(void **state)
{
	(void)state;
	if (vector_bits() < 256)
		skip();
	groups(false);
	groups(true);
}

/* A port's places are all taken: its packets are sent before the vector ends. */
static void test_full(void **state)
{
	(void)state;
	start(1, 0);
	for (unsigned i = 0; i < PKT_VECTOR_MAX; i++)
		make(i, 0, 0);
	pass(PKT_VECTOR_MAX, CORE_OUT_HOLD); /* the last place is taken by the last packet */
	assert_int_equal(flushes, 1);
	start(1, 0);
	for (unsigned i = 0; i < PKT_VECTOR_MAX; i++)
		make(i, 0, 0);
	pass(PKT_VECTOR_MAX, CORE_OUT_HOLD - 1);
	assert_int_equal(flushes, 0);
}

/* The interface is shut down, or has no address of one version. */
static void test_disabled(void **state)
{
	(void)state;
	for (unsigned avx2 = 0; avx2 < 2; avx2++) {
		start(1, 0);
		dp.avx2 = avx2;
		dp.interface[INTERFACE].enabled = false;
		for (unsigned i = 0; i < 20; i++)
			make(i, 0, 0);
		struct pkt v[20];
		memcpy(v, in, sizeof v);
		slows = 0;
		router_app.rx_vector(v, 20, INTERFACE);
		assert_int_equal(slows, 20);
	}
}

int main(void)
{
	seed_random("router_forward");
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_plain_six),
		cmocka_unit_test(test_ports_alternate),
		cmocka_unit_test(test_adjacencies_of_every_kind),
		cmocka_unit_test(test_vlans),
		cmocka_unit_test(test_one_in_a_hundred_is_bad),
		cmocka_unit_test(test_bad_six),
		cmocka_unit_test(test_many_are_bad),
		cmocka_unit_test(test_groups),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_disabled),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
