/* tools/pktgen/measure/judge.h: frames of all kinds, numbers in any order against an obvious oracle, and
 * numbers that do not belong there. */
#include "tests/unit/rig/host.h"

#include "lib/csum.h"
#include "net/ip4.h"
#include "tools/pktgen/measure/judge.h"

#define FRAMES 256
#define FRAME_ROOM 1600
#define START 1000000000000ull
#define SENDERS 4

static struct plan plan;
static struct judge j;
static struct judge_result results[PLAN_STREAMS_MAX], sum;
static struct histogram scratch;
static uint64_t *memory;
static uint8_t frame[FRAMES][FRAME_ROOM];
static struct pkt v[FRAMES], rest[FRAMES];

static int setup(void **s)
{
	(void)s;
	memset(&plan, 0, sizeof plan);
	plan.streams = 3;
	plan.stream[0].port_in = PLAN_PORT_NONE;
	plan.stream[1].port_in = PLAN_PORT_NONE;
	plan.stream[2].port_in = 1;
	memory = calloc(1, judge_bytes(SENDERS));
	judge_init(&j, &plan, SENDERS, memory, results);
	judge_begin(&j, START);
	return 0;
}

static int teardown(void **s)
{
	(void)s;
	free(memory);
	return 0;
}

static void put_stamp(uint8_t *at, uint16_t flow, uint64_t n, uint64_t sent_ns)
{
	struct stamp t = {STAMP_MAGIC, flow, n, (uint32_t)sent_ns, 0};
	t.check = csum_fold(csum_partial(&t, sizeof t, 0));
	memcpy(at, &t, sizeof t);
}

/* A plain frame of 60 bytes. */
static struct pkt make(unsigned slot, uint16_t flow, uint64_t n, uint64_t sent_ns)
{
	uint8_t *d = frame[slot];
	memset(d, 0, 60);
	be16_store(d + 12, 0x0800);
	d[14] = 0x45;
	be16_store(d + 16, 46);
	d[22] = 64;
	d[23] = IP4_PROTO_UDP;
	be32_store(d + 26, 0xc0000201);
	be32_store(d + 30, 0xc6336402);
	raw16_store(d + 24, csum_fold(csum_partial(d + 14, 20, 0)));
	be16_store(d + 38, 26);
	put_stamp(d + 42, flow, n, sent_ns);
	uint32_t sum16 = csum_pseudo4(0xc0000201, 0xc6336402, IP4_PROTO_UDP, 26);
	raw16_store(d + 40, csum_fold(csum_partial(d + 34, 26, sum16)));
	return (struct pkt){.data = d, .len = 60};
}

/* Judges one frame; true if it was recognised as a test frame. */
static bool give(uint16_t flow, uint64_t n, uint64_t now)
{
	v[0] = make(0, flow, n, now - 5000);
	return judge_vector(&j, v, 1, now, rest) == 0;
}

static void all_that_come_in_order(void **s)
{
	(void)s;
	uint64_t now = START + 1000, n = 0;
	for (unsigned round = 0; round < 200; round++, now += 1000) {
		unsigned count = 1 + random_below(FRAMES);
		for (unsigned i = 0; i < count; i++)
			v[i] = make(i, stamp_flow(1, 2), n++, now - 300);
		now += 700;
		assert_int_equal(judge_vector(&j, v, count, now + 1000, rest), 0);
	}
	struct judge_result *r = &results[1];
	assert_int_equal(r->received, n);
	assert_int_equal(r->bytes, n * 60);
	assert_int_equal(r->reordered + r->duplicates + r->corrupted + r->stale + r->strange + r->early, 0);
	assert_int_equal(histogram_count(&r->latency), n);
	assert_int_equal(r->latency.min, 2000);
	assert_int_equal(r->latency.max, 2000);
	assert_int_equal(r->ipdv_count, n - 1);
	assert_int_equal(r->ipdv_sum_ns.low, 0);
	assert_int_equal(judge_lost(n + 7, r), 7);
	assert_int_equal(results[0].received + results[2].received, 0);
}

/* --- position of the stamp --- */

struct layout {
	unsigned tags, v6, proto, options, l4;
};

static unsigned build(uint8_t *d, const struct layout *w, uint64_t n)
{
	unsigned at = 12, ip, l4, hlen = w->v6 ? 40 : 20 + w->options, bytes = w->l4 + STAMP_BYTES + 3;
	memset(d, 0, FRAME_ROOM);
	for (unsigned i = 0; i < w->tags; i++, at += 4)
		be16_store(d + at, i == 0 && w->tags == 2 ? 0x88a8 : 0x8100);
	be16_store(d + at, w->v6 ? 0x86dd : 0x0800);
	ip = at + 2;
	l4 = ip + hlen;
	if (w->v6) {
		d[ip] = 0x60;
		be16_store(d + ip + 4, (uint16_t)bytes);
		d[ip + 6] = (uint8_t)w->proto;
	} else {
		d[ip] = (uint8_t)(0x40 | hlen / 4);
		be16_store(d + ip + 2, (uint16_t)(hlen + bytes));
		d[ip + 9] = (uint8_t)w->proto;
	}
	if (w->proto == 6)
		d[l4 + 12] = (uint8_t)(w->l4 / 4 << 4);
	if (w->proto == 1 || w->proto == 58)
		d[l4] = w->v6 ? 129 : 8;
	put_stamp(d + l4 + w->l4, stamp_flow(0, 0), n, START);
	return l4 + bytes > 60 ? l4 + bytes : 60;
}

static const struct layout layouts[] = {
	{0, 0, 17, 0, 8}, {1, 0, 17, 0, 8}, {2, 0, 17, 0, 8}, {0, 0, 17, 40, 8}, {0, 0, 6, 0, 20},
	{2, 0, 6, 12, 40}, {0, 0, 1, 0, 8}, {0, 0, 253, 0, 0}, {0, 1, 17, 0, 8}, {2, 1, 17, 0, 8},
	{0, 1, 6, 0, 20}, {1, 1, 6, 0, 60}, {0, 1, 58, 0, 8}, {0, 1, 253, 0, 0},
};

static void stamps_are_found_anywhere(void **s)
{
	(void)s;
	for (unsigned i = 0; i < ARRAY_LEN(layouts); i++) {
		unsigned len = build(frame[0], &layouts[i], i);
		v[0] = (struct pkt){.data = frame[0], .len = (uint16_t)len};
		assert_int_equal(judge_vector(&j, v, 1, START + 10, rest), 0);
		assert_int_equal(results[0].received, i + 1);
	}
	assert_int_equal(results[0].reordered + results[0].corrupted, 0);
}

/* Whatever the length: nothing behind it is read (ASan), and only whole IP packets are judged. */
static void short_frames_are_no_test_frames(void **s)
{
	(void)s;
	for (unsigned i = 0; i < ARRAY_LEN(layouts); i++) {
		unsigned whole = build(frame[0], &layouts[i], 0);
		for (unsigned len = 0; len < whole; len++) {
			uint8_t *exact = malloc(len ? len : 1);
			memcpy(exact, frame[0], len);
			v[0] = (struct pkt){.data = exact, .len = (uint16_t)len};
			unsigned others = judge_vector(&j, v, 1, START + 10, rest);
			assert_true(others == 1 || len >= 45);
			if (others == 1)
				assert_memory_equal(&rest[0], &v[0], sizeof v[0]);
			free(exact);
		}
	}
}

static void random_frames_do_no_harm(void **s)
{
	(void)s;
	for (unsigned i = 0; i < 200000; i++) {
		unsigned len = build(frame[0], &layouts[random_below(ARRAY_LEN(layouts))], random64());
		for (unsigned k = random_below(6); k > 0; k--)
			frame[0][12 + random_below(70)] = (uint8_t)random64();
		len -= random_below(4) ? 0 : random_below(len);
		uint8_t *exact = malloc(len ? len : 1);
		memcpy(exact, frame[0], len);
		v[0] = (struct pkt){
		        .data = exact, .len = (uint16_t)len, .interface = (uint8_t)random64()};
		j.verify = random_below(2);
		judge_vector(&j, v, 1, START + random_below(1000), rest);
		free(exact);
	}
}

/* Frames in runs and single frames are judged alike, whatever is between them. */
static void vectors_are_judged_as_single_frames(void **s)
{
	(void)s;
	static struct judge_result alone[3];
	static struct judge one;
	uint64_t *own = calloc(1, judge_bytes(SENDERS)), n = 0, now = START;
	judge_init(&one, &plan, SENDERS, own, alone);
	judge_begin(&one, START);
	for (unsigned round = 0; round < 3000; round++, now += random_below(3000)) {
		unsigned count = 1 + random_below(32), others = 0;
		uint8_t *exact[32];
		for (unsigned i = 0; i < count; i++) {
			struct layout w = layouts[random_below(4) ? round % 2 * 8 : random_below(14)];
			uint64_t late = n - random_below(n < 50 ? (unsigned)n + 1 : 50);
			unsigned len = build(frame[0], &w, random_below(20) ? n++ : late);
			for (unsigned k = random_below(20) ? 0 : 2; k > 0; k--)
				frame[0][12 + random_below(70)] ^= (uint8_t)(1 << random_below(8));
			len -= random_below(20) ? 0 : random_below(len);
			exact[i] = malloc(len ? len : 1);
			memcpy(exact[i], frame[0], len);
			v[i] = (struct pkt){.data = exact[i], .len = (uint16_t)len,
			                    .interface = random_below(9) == 0};
		}
		unsigned together = judge_vector(&j, v, count, now, rest);
		for (unsigned i = 0; i < count; i++)
			others += judge_vector(&one, &v[i], 1, now, rest);
		assert_int_equal(together, others);
		for (unsigned i = 0; i < count; i++)
			free(exact[i]);
	}
	assert_memory_equal(results, alone, sizeof alone);
	assert_memory_equal(memory, own, judge_bytes(SENDERS));
	assert_true(results[0].received > 10000 && results[0].duplicates && results[0].corrupted);
	free(own);
}

static void fragments_and_errors_are_none(void **s)
{
	(void)s;
	v[0] = make(0, 0, 0, START);
	be16_store(frame[0] + 20, 0x2000); /* MF */
	assert_int_equal(judge_vector(&j, v, 1, START + 10, rest), 1);
	be16_store(frame[0] + 20, 0x0001);
	assert_int_equal(judge_vector(&j, v, 1, START + 10, rest), 1);
	be16_store(frame[0] + 20, 0x4000); /* DF */
	assert_int_equal(judge_vector(&j, v, 1, START + 10, rest), 0);
	unsigned len = build(frame[0], &layouts[6], 1);
	frame[0][34] = 3; /* destination unreachable */
	v[0] = (struct pkt){.data = frame[0], .len = (uint16_t)len};
	assert_int_equal(judge_vector(&j, v, 1, START + 10, rest), 1);
	/* Zeros only: their checksum is right, but nothing else is. */
	v[0] = make(0, 0, 0, START);
	memset(frame[0] + 42, 0, STAMP_BYTES);
	assert_int_equal(judge_vector(&j, v, 1, START, rest), 1);
	/* Flows that are not in the plan. */
	assert_false(give(stamp_flow(3, 0), 0, START + 9000));
	assert_false(give(stamp_flow(0, SENDERS), 0, START + 9000));
	assert_false(give(0xffff, 0, START + 9000));
	assert_int_equal(results[0].received, 1);
}

static void corruption_is_seen(void **s)
{
	(void)s;
	for (unsigned bit = 0; bit < STAMP_BYTES * 8; bit++) {
		v[0] = make(0, stamp_flow(1, 0), 5, START);
		frame[0][42 + bit / 8] ^= (uint8_t)(1 << bit % 8);
		judge_vector(&j, v, 1, START + 10, rest);
	}
	assert_int_equal(results[0].received + results[1].received + results[2].received, 0);
	/* A flip in the 16 bits of magic or in 14 of the flow makes the frame foreign; flow 1 and
	 * flow 2 are streams too. */
	assert_in_range(results[1].corrupted, 112, 128);
	/* The rest of the frame only on request, and if the card has not checked it. */
	v[0] = make(0, stamp_flow(1, 0), 0, START);
	frame[0][35] ^= 1;
	judge_vector(&j, v, 1, START + 10, rest);
	assert_int_equal(results[1].received, 1);
	uint64_t before = results[1].corrupted;
	j.verify = true;
	judge_vector(&j, v, 1, START + 10, rest);
	assert_int_equal(results[1].corrupted, before + 1);
	v[0].flags = PKT_CSUM_OK;
	judge_vector(&j, v, 1, START + 10, rest);
	assert_int_equal(results[1].corrupted, before + 1);
	frame[0][22]--; /* TTL: the header's own sum */
	judge_vector(&j, v, 1, START + 10, rest);
	assert_int_equal(results[1].corrupted, before + 2);
	v[0] = make(0, stamp_flow(1, 0), 1, START);
	judge_vector(&j, v, 1, START + 10, rest);
	assert_int_equal(results[1].corrupted, before + 2);
}

/* Corrects the checksum of UDP, TCP or ICMP, with the pseudo header. */
static void sum_l4(uint8_t *d, unsigned l4, unsigned at, unsigned bytes, unsigned proto, bool v6)
{
	uint32_t pseudo = v6 ? csum_pseudo6(d + 22, d + 38, (uint8_t)proto, bytes)
	                     : csum_pseudo4(0xc0000201, 0xc6336402, (uint8_t)proto, (uint16_t)bytes);
	raw16_store(d + l4 + at, 0);
	raw16_store(d + l4 + at, csum_fold(csum_partial(d + l4, bytes, pseudo)));
}

/* Judges one frame with verification: is it intact? */
static bool is_right(const uint8_t *d, unsigned len)
{
	const uint64_t corrupted = results[0].corrupted;
	v[0] = (struct pkt){.data = (uint8_t *)(uintptr_t)d, .len = (uint16_t)len};
	assert_int_equal(judge_vector(&j, v, 1, START + 10, rest), 0);
	assert_in_range(results[0].corrupted, corrupted, corrupted + 1);
	return results[0].corrupted == corrupted;
}

/* RFC 768: a UDP sender may omit the checksum, but not over IPv6 (RFC 8200 8.1); its length is that
 * of IP's payload. */
static void udp_is_verified(void **s)
{
	(void)s;
	uint8_t *d = frame[0];
	j.verify = true;
	for (unsigned v6 = 0; v6 < 2; v6++) {
		const struct layout w = {0, v6, 17, 0, 8};
		const unsigned l4 = v6 ? 54 : 34, bytes = 8 + STAMP_BYTES + 3;
		unsigned len = build(d, &w, v6);
		if (!v6) {
			be32_store(d + 26, 0xc0000201);
			be32_store(d + 30, 0xc6336402);
			raw16_store(d + 24, csum_fold(csum_partial(d + 14, 20, 0)));
		}
		be16_store(d + l4 + 4, (uint16_t)bytes);
		assert_int_equal(is_right(d, len), !v6);
		sum_l4(d, l4, 6, bytes, 17, v6);
		assert_true(is_right(d, len));
		be16_store(d + l4 + 4, (uint16_t)(bytes - 1));
		sum_l4(d, l4, 6, bytes, 17, v6);
		assert_false(is_right(d, len));
	}
}

/* A truncated TCP header; one tag too many. */
static void headers_that_cannot_be(void **s)
{
	(void)s;
	static const struct layout none[] = {
		{0, 0, 6, 0, 16}, {0, 1, 6, 0, 16}, {PLAN_VLANS_MAX + 1, 0, 17, 0, 8}};
	for (unsigned i = 0; i < ARRAY_LEN(none); i++) {
		unsigned len = build(frame[0], &none[i], 0);
		v[0] = (struct pkt){.data = frame[0], .len = (uint16_t)len};
		assert_int_equal(judge_vector(&j, v, 1, START + 10, rest), 1);
	}
}

/* --- numbers --- */

/* The rules in the head of judge.h, without a sliding window: all numbers are kept. */
struct oracle {
	uint8_t seen[1 << 17];
	uint64_t base, next, received, duplicates, reordered, unsure, most;
};

static void oracle_take(struct oracle *o, uint64_t n)
{
	uint8_t *seen = &o->seen[n - o->base];
	if (n >= o->next) {
		o->next = n + 1;
	} else if (*seen && o->next - n <= JUDGE_WINDOW) {
		o->duplicates++;
		return;
	} else {
		o->reordered++;
		o->unsure += o->next - n > JUDGE_WINDOW;
		o->most = o->next - 1 - n > o->most ? o->next - 1 - n : o->most;
	}
	*seen = 1;
	o->received++;
}

static void check_disorder(uint64_t base, unsigned spread)
{
	static struct oracle o;
	memset(&o, 0, sizeof o);
	o.base = o.next = base;
	judge_begin(&j, START);
	j.flow[stamp_flow(0, 1)].next = base; /* as if all before had arrived long ago */
	uint64_t at = base;
	for (unsigned i = 0; i < 50000; i++) {
		uint64_t n = at;
		unsigned what = random_below(100);
		if (what < 70)
			at++;
		else if (what < 80)
			at += random_below(4); /* loss */
		else
			n = at - random_below(at - base > spread ? spread : (uint32_t)(at - base + 1));
		if (n - base >= sizeof o.seen)
			break;
		oracle_take(&o, n);
		assert_true(give(stamp_flow(0, 1), n, START + 6000 + i));
	}
	struct judge_result *r = &results[0];
	assert_true(r->received == o.received && r->duplicates == o.duplicates);
	assert_true(r->reordered == o.reordered && r->unsure == o.unsure && r->reorder_max == o.most);
	assert_true(histogram_count(&r->latency) == r->received && r->strange == 0);
}

static void numbers_in_any_order(void **s)
{
	(void)s;
	check_disorder(0, 100);
	check_disorder(0, JUDGE_WINDOW);
	check_disorder(0, 3 * JUDGE_WINDOW);
	check_disorder((1ull << 32) - 20000, JUDGE_WINDOW + 10);
	check_disorder((1ull << 63) - 20000, 1000);
}

static void jumps_need_a_witness(void **s)
{
	(void)s;
	struct judge_result *r = &results[0];
	for (uint64_t n = 0; n < 10; n++)
		give(0, n, START + 10000);
	/* A stray number has no effect on those that follow. */
	give(0, 1ull << 60, START + 10000);
	give(0, UINT64_MAX, START + 10000);
	for (uint64_t n = 10; n < 20; n++)
		give(0, n, START + 10000);
	assert_true(r->received == 20 && r->strange == 2 && r->reordered == 0);
	/* After an outage of two million frames the second frame behind it confirms both. */
	give(0, 2000000, START + 10000);
	assert_true(r->received == 20 && r->strange == 3);
	give(0, 2000001, START + 10000);
	assert_true(r->received == 22 && r->strange == 2 && r->reordered == 0);
	give(0, 2000000, START + 10000);
	assert_true(r->duplicates == 1);
	give(0, 2000001 + JUDGE_JUMP, START + 10000); /* not too far */
	assert_true(r->received == 23);
	/* At the end of the number space. */
	j.flow[0].next = UINT64_MAX - 1;
	give(0, UINT64_MAX - 1, START + 10000);
	give(0, UINT64_MAX, START + 10000);
	assert_true(r->received == 25);
}

/* --- time --- */

static void latencies_are_exact(void **s)
{
	(void)s;
	uint64_t now = START + (1ull << 33), sum_ns = 0, ipdv = 0, was = 0;
	for (unsigned i = 0; i < 10000; i++, now += random_below(1 << 22)) {
		uint32_t latency = random_below(1u << (1 + random_below(31)));
		v[0] = make(0, 0, i, now - latency);
		judge_vector(&j, v, 1, now, rest);
		sum_ns += latency;
		ipdv += i == 0 ? 0 : latency > was ? latency - was : was - latency;
		was = latency;
	}
	assert_int_equal(results[0].latency.sum.low, sum_ns);
	assert_int_equal(results[0].ipdv_sum_ns.low, ipdv);
	assert_int_equal(results[0].ipdv_count, 9999);
	v[0] = make(0, 0, 10000, now + 50); /* by a clock that is ahead of ours */
	judge_vector(&j, v, 1, now, rest);
	assert_true(results[0].early == 1 && results[0].latency.min == 0 && results[0].received == 10001);
}

/* Frames sent before the run began do not belong to it, whatever their number. */
static void frames_of_another_run_are_stale(void **s)
{
	(void)s;
	v[0] = make(0, 0, 0, START - 1);
	judge_vector(&j, v, 1, START + 100, rest);
	v[0] = make(0, 0, 17, START - 1000000000);
	judge_vector(&j, v, 1, START + 1000000000, rest);
	assert_true(results[0].stale == 2 && results[0].received == 0);
	v[0] = make(0, 0, 0, START);
	judge_vector(&j, v, 1, START + 100, rest);
	assert_true(results[0].received == 1 && results[0].reordered == 0);
	/* Of a run that began 4 s ago, unless it may be a clock that is a little ahead. */
	v[0] = make(0, 0, 5, START - 3000000000);
	judge_vector(&j, v, 1, START + 1000000000, rest);
	v[0] = make(0, 0, 6, START - (1ull << 32) + JUDGE_AHEAD);
	judge_vector(&j, v, 1, START, rest);
	assert_true(results[0].stale == 4 && results[0].early == 0 && results[0].received == 1);
}

static void ports_are_those_of_the_plan(void **s)
{
	(void)s;
	for (unsigned port = 0; port < 3; port++) {
		v[0] = make(0, stamp_flow(2, 0), port, START);
		v[0].interface = (uint8_t)port;
		assert_int_equal(judge_vector(&j, v, 1, START + 10, rest), 0);
	}
	assert_true(results[2].received == 1 && results[2].wrong_port == 2);
}

/* The results of two cores are combined; the highest distance is the higher of both. */
static void results_are_collected(void **s)
{
	(void)s;
	static const uint64_t order[] = {0, 1, 5, 2, 6, 6};
	judge_result_clear(&sum);
	for (unsigned core = 0; core < 2; core++) {
		judge_begin(&j, START);
		for (unsigned i = 0; i < ARRAY_LEN(order) - core; i++)
			give(0, order[i] * (core + 1), START + 6000);
		judge_collect(&sum, &results[0], &scratch);
	}
	assert_true(sum.received == 10 && sum.duplicates == 1 && sum.reordered == 2);
	assert_true(sum.reorder_max == 6 && sum.bytes == 600);
	assert_int_equal(histogram_count(&sum.latency), 10);
}

static void others_keep_their_order(void **s)
{
	(void)s;
	unsigned expected = 0;
	for (unsigned i = 0; i < FRAMES; i++) {
		v[i] = make(i, 0, i - expected, START);
		if (random_below(3) == 0) {
			frame[i][42] ^= 1;
			v[i].buf = ++expected;
		}
	}
	assert_int_equal(judge_vector(&j, v, FRAMES, START + 10, rest), expected);
	for (unsigned i = 0; i < expected; i++)
		assert_int_equal(rest[i].buf, i + 1);
	assert_int_equal(results[0].received, FRAMES - expected);
}

int main(void)
{
	seed_random("test_pktgen_judge");
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(all_that_come_in_order),
		TEST(stamps_are_found_anywhere),
		TEST(short_frames_are_no_test_frames),
		TEST(random_frames_do_no_harm),
		TEST(vectors_are_judged_as_single_frames),
		TEST(fragments_and_errors_are_none),
		TEST(corruption_is_seen),
		TEST(udp_is_verified),
		TEST(headers_that_cannot_be),
		TEST(numbers_in_any_order),
		TEST(jumps_need_a_witness),
		TEST(latencies_are_exact),
		TEST(frames_of_another_run_are_stale),
		TEST(ports_are_those_of_the_plan),
		TEST(results_are_collected),
		TEST(others_keep_their_order),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
