/*
 * tools/pktgen/frames*.c against a slow, obvious oracle, which builds frame n from nothing by code
 * of its own: random streams of all kinds, numbers at random and in sequence, patched buffers
 * against built ones, checksums by a naive reader of the frame, the result of frames_fixed against
 * the frames, and nicsim's judge.
 */
#include "tests/unit/rig/host.h"

#include "hal/vector.h"
#include "tests/unit/rig/pktgen_nicsim.h"
#include "tools/pktgen/frames/frames.h"
#include "tools/pktgen/frames/frames_inside.h"
#include "tools/pktgen/wide.h"

static const uint8_t mac_a[6] = {0x02, 0, 0, 0, 0, 1}, mac_b[6] = {0x02, 0, 0, 0, 0, 2};

/* --- the oracle --- */

static uint64_t oracle_random(uint64_t seed, uint64_t m, uint64_t count)
{
	uint64_t z = seed;
	z += (m + 1) * 0x9e3779b97f4a7c15u;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	z = z ^ (z >> 31);
	return (uint64_t)(((unsigned __int128)z * count) >> 64);
}

static uint64_t oracle_value(const struct plan_field *p, uint64_t m)
{
	if (p->mode == PLAN_RANDOM)
		return p->first + oracle_random(p->seed, m, p->count);
	if (p->mode == PLAN_LIST)
		return p->list[m % p->count];
	return p->first + m % p->count * p->step;
}

static unsigned oracle_len(const struct plan_stream *s, uint64_t m)
{
	if (s->size_mode == PLAN_SIZES_RANDOM)
		return s->size[0] + (unsigned)oracle_random(s->size_seed, m, s->size[1] - s->size[0] + 1u);
	return s->size[m % s->sizes];
}

static unsigned put(uint8_t *out, unsigned at, uint64_t v, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		out[at + i] = (uint8_t)(v >> 8 * (bytes - 1 - i));
	return at + bytes;
}

/* Sums big-endian words, adding carries back one by one. */
static uint16_t naive_sum(const uint8_t *p, unsigned n, uint16_t start)
{
	uint32_t sum = start;
	for (unsigned i = 0; i < n; i++) {
		sum += i % 2 ? p[i] : (uint32_t)p[i] << 8;
		sum = (sum & 0xffff) + (sum >> 16);
	}
	return (uint16_t)sum;
}

static uint16_t naive_pseudo(const uint8_t *ip, unsigned l4_len, uint8_t proto)
{
	bool v6 = ip[0] >> 4 == 6;
	uint16_t sum = naive_sum(v6 ? ip + 8 : ip + 12, v6 ? 32 : 8, 0);
	uint8_t tail[4] = {0, proto, (uint8_t)(l4_len >> 8), (uint8_t)l4_len};
	return naive_sum(tail, 4, sum);
}

static unsigned oracle_stamp(uint8_t *out, unsigned at, unsigned flow, uint64_t n, uint32_t ns)
{
	uint16_t w[9] = {0x4e53, (uint16_t)flow};
	for (unsigned i = 0; i < 4; i++)
		w[2 + i] = (uint16_t)(n >> 16 * i);
	w[6] = (uint16_t)ns;
	w[7] = (uint16_t)(ns >> 16);
	uint32_t sum = 0;
	for (unsigned i = 0; i < 8; i++) {
		sum += w[i];
		sum = (sum & 0xffff) + (sum >> 16);
	}
	w[8] = (uint16_t)(0xffff - sum);
	for (unsigned i = 0; i < 9; i++) {
		out[at++] = (uint8_t)w[i];
		out[at++] = (uint8_t)(w[i] >> 8);
	}
	return at;
}

/* The headers up to the payload, fields as at m; checksums and lengths zero. */
struct oracle_at {
	unsigned ip, l4, payload;
};

static const struct plan_field *varies(const struct plan_stream *s, enum plan_where where)
{
	for (unsigned i = 0; i < s->fields; i++)
		if (s->field[i].where == where)
			return &s->field[i];
	return NULL;
}

static uint64_t either(const struct plan_stream *s, enum plan_where where, uint64_t m,
                       uint64_t fixed)
{
	const struct plan_field *p = varies(s, where);
	return p ? oracle_value(p, m) : fixed;
}

static uint64_t mac_number(const uint8_t *mac)
{
	uint64_t v = 0;
	for (unsigned i = 0; i < 6; i++)
		v = v << 8 | mac[i];
	return v;
}

static unsigned put_address(uint8_t *out, unsigned at, const struct plan_stream *s,
                            const struct net_addr *a, enum plan_where where, uint64_t m)
{
	uint8_t b[16];
	memcpy(b, a, 16);
	uint64_t high = 0, low = 0;
	for (unsigned i = 0; i < 8; i++) {
		high = high << 8 | b[i];
		low = low << 8 | b[8 + i];
	}
	if (s->v6)
		return put(out, put(out, at, high, 8), either(s, where, m, low), 8);
	return put(out, at, either(s, where, m, low & 0xffffffff), 4);
}

static const uint8_t protos4[] = {17, 6, 1, 253}, protos6[] = {17, 6, 58, 253};

static unsigned put_ip(uint8_t *out, unsigned at, const struct plan_stream *s, unsigned total,
                       uint64_t m)
{
	if (s->v6) {
		at = put(out, at, 6u << 28 | (uint32_t)s->tos << 20, 4);
		at = put(out, at, total - 40, 2);
		at = put(out, at, protos6[s->proto], 1);
		at = put(out, at, s->ttl, 1);
	} else {
		at = put(out, at, 0x4500u | s->tos, 2);
		at = put(out, at, total, 2);
		at = put(out, at, 0x00004000, 4);
		at = put(out, at, s->ttl, 1);
		at = put(out, at, protos4[s->proto], 1);
		at = put(out, at, 0, 2);
	}
	at = put_address(out, at, s, &s->src, PLAN_IP_SRC, m);
	return put_address(out, at, s, &s->dst, PLAN_IP_DST, m);
}

static unsigned put_l4(uint8_t *out, unsigned at, const struct plan_stream *s, unsigned len,
                       uint64_t m)
{
	uint64_t a = either(s, PLAN_PORT_SRC, m, s->sport), b = either(s, PLAN_PORT_DST, m, s->dport);
	if (s->proto == PLAN_UDP)
		return put(out, put(out, put(out, put(out, at, a, 2), b, 2), len, 2), 0, 2);
	if (s->proto == PLAN_TCP) {
		at = put(out, put(out, put(out, at, a, 2), b, 2), 0, 8);
		at = put(out, at, 0x5000u | s->tcp_flags, 2);
		return put(out, put(out, at, 0xffff, 2), 0, 4);
	}
	if (s->proto == PLAN_ICMP)
		return put(out, put(out, put(out, at, s->v6 ? 0x80000000 : 0x08000000, 4), a, 2), b, 2);
	return at;
}

/* Frame n of a flow; its length. */
static unsigned oracle(uint8_t *out, const struct plan_stream *s, unsigned flow, unsigned sender,
                       unsigned senders, uint64_t n, uint32_t ns)
{
	uint64_t m = sender + n * senders;
	unsigned len = oracle_len(s, m);
	unsigned at = put(out, 0, either(s, PLAN_MAC_DST, m, mac_number(mac_b)), 6);
	at = put(out, at, either(s, PLAN_MAC_SRC, m, mac_number(mac_a)), 6);
	for (unsigned i = 0; i < s->vlans; i++) {
		uint64_t id = s->vlan[i] & 0xfff;
		at = put(out, at, i == 0 && s->vlans == 2 ? 0x88a8 : 0x8100, 2);
		at = put(out, at, (s->vlan[i] & 0xf000) | (i == 0 ? either(s, PLAN_VLAN, m, id) : id), 2);
	}
	at = put(out, at, s->v6 ? 0x86dd : 0x0800, 2);
	unsigned ip = at;
	unsigned l4 = at = put_ip(out, at, s, len - ip, m);
	at = put_l4(out, at, s, len - l4, m);
	if (s->stamped)
		at = oracle_stamp(out, at, flow, n, ns);
	for (unsigned i = at; i < len; i++)
		out[i] = (uint8_t)((i - 4 * s->vlans) * 167 + 13);
	for (unsigned i = 0; i < s->fields; i++)
		if (s->field[i].where == PLAN_PAYLOAD)
			put(out, at + s->field[i].offset, oracle_value(&s->field[i], m), s->field[i].bytes);
	if (!s->v6)
		put(out, ip + 10, (uint16_t)~naive_sum(out + ip, 20, 0), 2);
	uint8_t proto = (s->v6 ? protos6 : protos4)[s->proto];
	uint16_t pseudo = proto == 1 ? 0 : naive_pseudo(out + ip, len - l4, proto);
	uint16_t sum = (uint16_t)~naive_sum(out + l4, len - l4, pseudo);
	if (s->proto == PLAN_UDP)
		put(out, l4 + 6, sum == 0 ? 0xffff : sum, 2);
	else if (s->proto != PLAN_IP_ONLY)
		put(out, l4 + (s->proto == PLAN_TCP ? 16 : 2), sum, 2);
	return len;
}

/* --- a reader that knows nothing of streams: lengths and checksums of any frame --- */

static void check_frame(const uint8_t *f, unsigned len)
{
	unsigned at = 12;
	while ((f[at] == 0x81 && f[at + 1] == 0) || (f[at] == 0x88 && f[at + 1] == 0xa8))
		at += 4;
	const uint8_t *ip = f + at + 2;
	bool v6 = f[at] == 0x86;
	assert_int_equal(ip[0] >> 4, v6 ? 6 : 4);
	unsigned total = v6 ? 40u + ip[4] * 256u + ip[5] : ip[2] * 256u + ip[3];
	assert_int_equal(total, len - at - 2);
	if (!v6)
		assert_int_equal(naive_sum(ip, 20, 0), 0xffff);
	uint8_t proto = v6 ? ip[6] : ip[9];
	const uint8_t *l4 = ip + (v6 ? 40 : 20);
	unsigned l4_len = total - (v6 ? 40 : 20);
	if (proto == 253)
		return;
	if (proto == 17) {
		assert_int_equal(l4[4] * 256u + l4[5], l4_len);
		assert_true(l4[6] != 0 || l4[7] != 0);
	}
	uint16_t pseudo = proto == 1 ? 0 : naive_pseudo(ip, l4_len, proto);
	assert_int_equal(naive_sum(l4, l4_len, pseudo), 0xffff);
}

/* --- random streams --- */

static uint64_t pick_count(unsigned bits)
{
	uint64_t max = bits == 64 ? UINT64_MAX : (1ull << bits);
	switch (random_below(5)) {
	case 0: return 1 + random_below(3);
	case 1: return 1 + random_below(bits < 8 ? 3 : 200);
	case 2: return max;
	case 3: return max - random_below(2);
	default: return 1 + random64() % max;
	}
}

/* A field whose values fit `bits`. */
static void pick_values(struct plan_field *p, unsigned bits)
{
	uint64_t max = bits == 64 ? UINT64_MAX : (1ull << bits) - 1;
	p->mode = (enum plan_mode)random_below(3);
	p->seed = random_below(2) ? random64() : random_below(4);
	if (p->mode == PLAN_LIST) {
		p->count = 1 + random_below(PLAN_LIST_MAX);
		for (unsigned i = 0; i < p->count; i++)
			p->list[i] = random64() & max;
		return;
	}
	p->count = pick_count(bits);
	uint64_t firsts = p->count > max ? 1 : max - p->count + 2; /* 0: any */
	p->first = firsts ? random64() % firsts : random64();
	p->step = 1;
	if (p->mode == PLAN_INCREMENT && p->count < 100 && bits >= 16 && random_below(2)) {
		p->first = random_below(1000);
		p->step = random_below(600);
	}
}

static unsigned bits_of(const struct plan_stream *s, const struct plan_field *p)
{
	switch (p->where) {
	case PLAN_MAC_SRC:
	case PLAN_MAC_DST: return 48;
	case PLAN_VLAN: return 12;
	case PLAN_IP_SRC:
	case PLAN_IP_DST: return s->v6 ? 64 : 32;
	case PLAN_PAYLOAD: return 8u * p->bytes;
	default: return 16;
	}
}

static void pick_fields(struct plan_stream *s)
{
	unsigned want = random_below(3) ? random_below(PLAN_FIELDS_MAX + 1) : random_below(2);
	unsigned payload_end = 0;
	for (unsigned i = 0; i < want; i++) {
		struct plan_field *p = &s->field[s->fields];
		p->where = (enum plan_where)random_below(PLAN_PAYLOAD + 1);
		if ((p->where != PLAN_PAYLOAD && varies(s, p->where)) ||
		    (p->where == PLAN_VLAN && s->vlans == 0) ||
		    ((p->where == PLAN_PORT_SRC || p->where == PLAN_PORT_DST) &&
		     s->proto == PLAN_IP_ONLY))
			continue;
		if (p->where == PLAN_PAYLOAD) {
			p->bytes = (uint8_t)(1u << random_below(4));
			p->offset = (uint16_t)(payload_end + random_below(4));
			payload_end = p->offset + p->bytes;
		}
		pick_values(p, bits_of(s, p));
		s->fields++;
	}
}

static uint16_t pick_size(unsigned least)
{
	if (least < PLAN_FRAME_MIN)
		least = PLAN_FRAME_MIN;
	switch (random_below(4)) {
	case 0: return (uint16_t)least;
	case 1: return (uint16_t)(least + random_below(20));
	case 2: return (uint16_t)(least + random_below(1514 - least));
	default: return random_below(8) ? (uint16_t)(least + random_below(400)) : PLAN_FRAME_MAX;
	}
}

static void pick_sizes(struct plan_stream *s)
{
	unsigned least = frames_least(s);
	s->size_seed = random64();
	if (random_below(4) == 0) {
		s->size_mode = PLAN_SIZES_RANDOM;
		s->sizes = 2;
		uint16_t a = pick_size(least), b = pick_size(least);
		s->size[0] = a < b ? a : b;
		s->size[1] = a < b ? b : a;
		return;
	}
	s->sizes = random_below(2) ? 1 : (uint8_t)(1 + random_below(PLAN_SIZES_MAX));
	for (unsigned i = 0; i < s->sizes; i++)
		s->size[i] = pick_size(least);
}

static void pick_stream(struct plan_stream *s)
{
	memset(s, 0, sizeof *s);
	s->proto = (enum plan_proto)random_below(4);
	s->v6 = random_below(2);
	s->stamped = random_below(4) != 0;
	s->vlans = (uint8_t)random_below(3);
	s->ttl = (uint8_t)random64();
	s->tos = (uint8_t)random64();
	s->tcp_flags = (uint8_t)random64();
	s->sport = (uint16_t)random64();
	s->dport = (uint16_t)random64();
	for (unsigned i = 0; i < s->vlans; i++)
		s->vlan[i] = (uint16_t)random64();
	if (s->v6) {
		random_fill(&s->src, 16);
		random_fill(&s->dst, 16);
	} else {
		s->src = net_addr_ip4((uint32_t)random64());
		s->dst = net_addr_ip4((uint32_t)random64());
	}
	pick_fields(s);
	pick_sizes(s);
}

/* --- tests --- */

#define BUFS 150
static uint8_t *bufs[BUFS];
static uint8_t want[PLAN_FRAME_MAX];

/* Buffers of exactly the size that a flow requires. */
static void new_buffers(const struct frames *f)
{
	for (unsigned i = 0; i < BUFS; i++) {
		free(bufs[i]);
		bufs[i] = malloc(frames_len_max(f));
		memset(bufs[i], 0xa5, frames_len_max(f));
	}
}

static uint64_t pick_number(void)
{
	static const uint64_t corners[] = {100, 0xfffe, 0xffff, 0x10000, 0xfffffff0, 0xffffffff,
	                                   0xfffffffffff0, 0xffffffffffff};
	switch (random_below(3)) {
	case 0: return corners[random_below(8)] - (random_below(2) ? random_below(100) % 90 : 0);
	case 1: return random_below(100000);
	default: return random64() >> (10 + random_below(54));
	}
}

static void compare(const struct plan_stream *s, unsigned flow, unsigned sender, unsigned senders,
                    uint64_t n, uint32_t ns, const uint8_t *buf, unsigned len)
{
	unsigned good = oracle(want, s, flow, sender, senders, n, ns);
	assert_int_equal(len, good);
	for (unsigned i = 0; i < good; i++)
		if (buf[i] != want[i])
			fail_msg("n %llu proto %d v6 %d vlans %u stamped %d fields %u len %u: byte %u is "
			         "%02x, not %02x", (unsigned long long)n, s->proto, s->v6, s->vlans,
			         s->stamped, s->fields, good, i, buf[i], want[i]);
	check_frame(buf, len);
}

static void one_stream(const struct plan_stream *s)
{
	static struct frames f, before;
	uint16_t lens[BUFS];
	unsigned most = random_below(2) ? 8 : FRAMES_SENDERS_MAX;
	unsigned senders = random_below(2) ? 1 : 1 + random_below(most);
	unsigned sender = random_below(senders), flow = (uint16_t)random64();
	assert_int_equal(frames_init(&f, s, mac_a, mac_b, flow, sender, senders), E_OK);
	if (random_below(3))
		frames_use(&f, vector_bits());
	before = f;
	new_buffers(&f);
	for (unsigned i = 0; i < BUFS; i++) {
		uint64_t n = pick_number();
		uint32_t ns = (uint32_t)random64();
		unsigned len = frames_make(&f, bufs[i], n, ns);
		compare(s, flow, sender, senders, n, ns, bufs[i], len);
		assert_int_equal(frames_len(&f, n), len);
	}
	for (unsigned round = 0; round < 4; round++) {
		uint64_t n = pick_number();
		uint32_t ns = (uint32_t)random64();
		unsigned count = random_below(BUFS + 1), first = random_below(BUFS - count + 1);
		frames_patch(&f, bufs + first, count, n, ns);
		frames_lens(&f, n, count, lens);
		for (unsigned i = 0; i < count; i++)
			compare(s, flow, sender, senders, n + i, ns, bufs[first + i], lens[i]);
	}
	assert_memory_equal(&f, &before, sizeof f);
}

static void test_oracle(void **state)
{
	(void)state;
	static struct plan_stream s;
	seed_random("oracle");
	for (int i = 0; i < 400; i++) {
		pick_stream(&s);
		one_stream(&s);
	}
}

/* Each protocol, family, number of tags, with and without stamp: each field alone in each mode, at
 * the minimum size and an odd one. */
static void test_table(void **state)
{
	(void)state;
	static struct plan_stream s;
	seed_random("table");
	for (unsigned kind = 0; kind < 4 * 2 * 3 * 2; kind++)
		for (unsigned where = 0; where <= PLAN_PAYLOAD; where++)
			for (unsigned mode = 0; mode < 3; mode++) {
				do
					pick_stream(&s);
				while (s.proto != kind % 4 || s.v6 != (kind / 4) % 2 ||
				       s.vlans != kind / 8 % 3 || s.stamped != (kind / 24) % 2);
				struct plan_field *p = &s.field[0];
				memset(p, 0, sizeof *p);
				p->where = (enum plan_where)where;
				p->bytes = where == PLAN_PAYLOAD ? (uint8_t)(1u << random_below(4)) : 0;
				p->offset = where == PLAN_PAYLOAD ? (uint16_t)random_below(3) : 0;
				do
					pick_values(p, bits_of(&s, p));
				while (p->mode != mode);
				s.fields = 1;
				s.size_mode = PLAN_SIZES_LIST;
				s.sizes = 2;
				unsigned least = frames_least(&s);
				s.size[0] = (uint16_t)(least < 60 ? 60 : least);
				s.size[1] = (uint16_t)(s.size[0] | 1);
				if ((where == PLAN_VLAN && s.vlans == 0) ||
				    ((where == PLAN_PORT_SRC || where == PLAN_PORT_DST) &&
				     s.proto == PLAN_IP_ONLY)) {
					struct frames f;
					int r = frames_init(&f, &s, mac_a, mac_b, 0, 0, 1);
					assert_int_equal(r, E_INVAL);
					continue;
				}
				one_stream(&s);
			}
}

/* A UDP checksum of zero is sent as ffff; random ports produce one. */
static void test_zero_checksum(void **state)
{
	(void)state;
	static struct frames f;
	static uint8_t buf[60];
	uint8_t *one = buf;
	struct plan_stream s = {.proto = PLAN_UDP, .ttl = 64, .sizes = 1, .size = {60}, .fields = 1,
	                        .src = net_addr_ip4(IP4(192, 0, 2, 1)),
	                        .dst = net_addr_ip4(IP4(192, 0, 2, 2)),
	                        .field[0] = {.where = PLAN_PORT_SRC, .mode = PLAN_INCREMENT, .step = 1,
	                                     .count = 65536}};
	unsigned full = 0;
	assert_int_equal(frames_init(&f, &s, mac_a, mac_b, 0, 0, 1), E_OK);
	frames_make(&f, buf, 0, 0);
	for (unsigned n = 0; n < 65536; n++) {
		frames_patch(&f, &one, 1, n, 0);
		check_frame(buf, 60);
		full += buf[40] == 0xff && buf[41] == 0xff;
	}
	assert_int_equal(full, 1);
}

/* Check words through their whole cycle, and numbers across 2^16, 2^32, 2^48. */
static void test_stamps_turn(void **state)
{
	(void)state;
	static struct frames f;
	struct plan_stream s = {.proto = PLAN_UDP, .ttl = 64, .sizes = 1, .size = {60}, .stamped = true,
	                        .src = net_addr_ip4(1), .dst = net_addr_ip4(2)};
	assert_int_equal(frames_init(&f, &s, mac_a, mac_b, 513, 0, 1), E_OK);
	new_buffers(&f);
	for (unsigned i = 0; i < BUFS; i++)
		frames_make(&f, bufs[i], 0, 0);
	static const uint64_t starts[] = {0, (1ull << 32) - 30000, (1ull << 48) - 30000};
	for (unsigned k = 0; k < ARRAY_LEN(starts); k++)
		for (uint64_t n = starts[k]; n < starts[k] + 75000; n += BUFS) {
			frames_patch(&f, bufs, BUFS, n, (uint32_t)n);
			for (unsigned i = 0; i < BUFS; i++)
				compare(&s, 513, 0, 1, n + i, (uint32_t)n, bufs[i], 60);
		}
}

/* What frames_fixed returns is true of the frames, and false for streams with different values. */
static void test_fixed(void **state)
{
	(void)state;
	static struct frames f;
	static uint8_t a[PLAN_FRAME_MAX], b[PLAN_FRAME_MAX];
	seed_random("fixed");
	unsigned fixed = 0, moving = 0;
	for (int round = 0; round < 3000; round++) {
		struct plan_stream s = {.proto = PLAN_UDP, .ttl = 64, .src = net_addr_ip4(1),
		                        .dst = net_addr_ip4(2), .sizes = (uint8_t)(1 + random_below(6)),
		                        .fields = (uint8_t)random_below(3)};
		for (unsigned i = 0; i < s.sizes; i++)
			s.size[i] = (uint16_t)(60 + i);
		for (unsigned i = 0; i < s.fields; i++)
			s.field[i] = (struct plan_field){.where = i ? PLAN_IP_SRC : PLAN_PORT_DST, .step = 1,
			                                 .mode = PLAN_INCREMENT,
			                                 .count = 1 + random_below(9)};
		unsigned slots = 1u << random_below(4), senders = 1 + random_below(4);
		unsigned sender = random_below(senders);
		assert_int_equal(frames_init(&f, &s, mac_a, mac_b, 0, sender, senders), E_OK);
		bool same = true;
		for (uint64_t n = 0; n < 200; n++) {
			unsigned x = frames_make(&f, a, n, 0), y = frames_make(&f, b, n + slots, 0);
			same &= x == y && memcmp(a, b, x) == 0;
		}
		assert_int_equal(frames_fixed(&f, slots), same);
		fixed += same;
		moving += !same;
	}
	assert_true(fixed > 100 && moving > 100);
	struct plan_stream s = {.proto = PLAN_UDP, .src = net_addr_ip4(1), .dst = net_addr_ip4(2),
	                        .sizes = 1, .size = {60}, .stamped = true};
	assert_int_equal(frames_init(&f, &s, mac_a, mac_b, 0, 0, 1), E_OK);
	assert_false(frames_fixed(&f, 1024));
	s.stamped = false;
	s.fields = 1;
	s.field[0] = (struct plan_field){.mode = PLAN_RANDOM, .count = 2};
	assert_int_equal(frames_init(&f, &s, mac_a, mac_b, 0, 0, 1), E_OK);
	assert_false(frames_fixed(&f, 1024));
	s.field[0] = (struct plan_field){.mode = PLAN_INCREMENT, .count = 1ull << 40, .step = 1};
	assert_int_equal(frames_init(&f, &s, mac_a, mac_b, 0, 0, 1), E_OK);
	assert_false(frames_fixed(&f, 1024));
}

/* Flows that share a stream send together exactly that stream. */
static void test_shares(void **state)
{
	(void)state;
	static struct frames all, part;
	static struct plan_stream s;
	static uint8_t a[PLAN_FRAME_MAX], b[PLAN_FRAME_MAX];
	seed_random("shares");
	for (int round = 0; round < 200; round++) {
		pick_stream(&s);
		s.stamped = false; /* numbers are the flows' own */
		unsigned senders = 1 + random_below(7), sender = random_below(senders);
		assert_int_equal(frames_init(&all, &s, mac_a, mac_b, 0, 0, 1), E_OK);
		assert_int_equal(frames_init(&part, &s, mac_a, mac_b, 0, sender, senders), E_OK);
		for (uint64_t n = 0; n < 20; n++) {
			unsigned x = frames_make(&part, a, n, 0);
			unsigned y = frames_make(&all, b, sender + n * senders, 0);
			assert_int_equal(x, y);
			assert_memory_equal(a, b, x);
		}
	}
}

/* nicsim's judge, written from its own manual, finds every byte correct. */
static void test_nicsim(void **state)
{
	(void)state;
	static struct frames f;
	static struct plan_stream s;
	seed_random("nicsim");
	for (int round = 0; round < 200; round++) {
		do
			pick_stream(&s);
		while (s.v6 || s.proto != PLAN_UDP || !s.stamped || s.vlans == 2 ||
		       varies(&s, PLAN_PAYLOAD));
		s.vlan[0] &= 0xfff;
		unsigned flow = random_below(NICSIM_FLOWS);
		nicsim_expect(10000);
		assert_int_equal(frames_init(&f, &s, mac_a, mac_b, flow, 0, 1), E_OK);
		new_buffers(&f);
		for (unsigned n = 0; n < BUFS; n++)
			assert_true(nicsim_admits(bufs[n], frames_make(&f, bufs[n], n, 7), flow));
		frames_patch(&f, bufs, BUFS, BUFS, 8);
		for (unsigned n = 0; n < BUFS; n++)
			assert_true(nicsim_admits(bufs[n], frames_len(&f, BUFS + n), flow));
		bufs[3][frames_len(&f, BUFS + 3) - 1] ^= 1;
		assert_false(nicsim_admits(bufs[3], frames_len(&f, BUFS + 3), flow));
	}
}

/* Impossible streams are refused. */
static void test_refused(void **state)
{
	(void)state;
	static struct frames f;
	static const struct plan_stream good = {
		.proto = PLAN_UDP, .sizes = 1, .size = {60}, .stamped = true, .fields = 1,
		.src = {{0, 0, BYTES_SWAP32(0xffff), 1}}, .dst = {{0, 0, BYTES_SWAP32(0xffff), 2}},
		.field[0] = {.where = PLAN_PORT_SRC, .count = 1}};
	struct plan_stream s = good;
	assert_int_equal(frames_init(&f, &s, mac_a, mac_b, 0, 255, 256), E_OK);
	assert_int_equal(frames_init(&f, &s, mac_a, mac_b, 0, 0, 0), E_INVAL);
	assert_int_equal(frames_init(&f, &s, mac_a, mac_b, 0, 2, 2), E_INVAL);
	assert_int_equal(frames_init(&f, &s, mac_a, mac_b, 0, 0, 257), E_INVAL);
#define REFUSED(...) do { \
	s = good; \
	__VA_ARGS__; \
	assert_int_equal(frames_init(&f, &s, mac_a, mac_b, 0, 0, 1), E_INVAL); \
} while (0)
	REFUSED(s.size[0] = 59);
	REFUSED(s.size[0] = PLAN_FRAME_MAX + 1);
	REFUSED(s.sizes = 0);
	REFUSED(s.sizes = PLAN_SIZES_MAX + 1);
	REFUSED(s.vlans = 1); /* 64 bytes on the wire have no space for tag and stamp */
	REFUSED(s.vlans = 3);
	REFUSED(s.proto = PLAN_TCP);
	REFUSED(s.v6 = true);
	REFUSED(s.src = IP6(0x20010db8, 0, 0, 1));
	REFUSED(s.size_mode = PLAN_SIZES_RANDOM);
	REFUSED(s.size_mode = PLAN_SIZES_RANDOM, s.sizes = 2, s.size[0] = 80, s.size[1] = 70);
	REFUSED(s.field[0].count = 0);
	REFUSED(s.field[0].mode = PLAN_LIST, s.field[0].count = PLAN_LIST_MAX + 1);
	REFUSED(s.field[0].where = PLAN_VLAN);
	REFUSED(s.field[0].where = PLAN_PAYLOAD, s.field[0].bytes = 1); /* no space behind the stamp */
	REFUSED(s.size[0] = 90, s.field[0].where = PLAN_PAYLOAD, s.field[0].bytes = 3);
	REFUSED(s.fields = 2, s.field[1] = s.field[0]);
	REFUSED(s.size[0] = 90, s.fields = 2, s.field[0].where = PLAN_PAYLOAD, s.field[0].bytes = 4,
	        s.field[1] = s.field[0], s.field[1].offset = 3);
	REFUSED(s.fields = PLAN_FIELDS_MAX + 1);
	REFUSED(s.proto = PLAN_IP_ONLY);
}

/* Arithmetic for which 32-bit machines have no instruction equals the host's. */
static void test_arithmetic(void **state)
{
	(void)state;
	seed_random("arithmetic");
	for (int i = 0; i < 100000; i++) {
		uint64_t n = random64() >> random_below(64), d = random64() >> random_below(64);
		d = d ? d : 1;
		assert_int_equal(frames_modulo(n, d), n % d);
		assert_int_equal(wide_mul(n, d).high, (uint64_t)((unsigned __int128)n * d >> 64));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_oracle), cmocka_unit_test(test_table),
		cmocka_unit_test(test_zero_checksum), cmocka_unit_test(test_stamps_turn),
		cmocka_unit_test(test_fixed), cmocka_unit_test(test_shares),
		cmocka_unit_test(test_nicsim), cmocka_unit_test(test_refused),
		cmocka_unit_test(test_arithmetic),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
