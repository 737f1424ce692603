/* examples/impair.c: the impaired link of the peer tests does what it is told, no more and no
 * less. */
#include "tests/unit/rig/host.h"

#include "examples/impair.h"
#include "net/eth.h"
#include "net/ip4.h"

#define FRAMES 20000u
#define LEN 200u
#define HEAD 10u

static uint8_t sent[HEAD + LEN];

/* Frame number n, IPv4 and TCP by its header, ECT(0), with HEAD bytes in front. */
static void make(uint32_t n, uint16_t type)
{
	memset(sent, 0x5a, sizeof sent);
	uint8_t *eth = sent + HEAD;
	be16_store(eth + 12, type);
	ip4_header_build(eth + ETH_HLEN, &(struct ip4_build){
		.src = IP4(192, 0, 2, 1), .dst = IP4(192, 0, 2, 2), .ttl = 64, .tos = 2, .proto = 6,
		.payload_len = LEN - ETH_HLEN - IP4_HLEN});
	be32_store(eth + 100, n);
}

static uint32_t number_of(const uint8_t *frame) { return be32_load(frame + HEAD + 100); }

static struct impair link_of(const char *rules)
{
	struct impair i;
	assert_true(impair_init(&i, rules, 1, HEAD));
	return i;
}

static void done(struct impair *i)
{
	uint32_t len;
	while (impair_take(i, UINT64_MAX, &len))
		;
	assert_int_equal(impair_deadline(i), UINT64_MAX);
	free(i->heap);
}

static void put_all(struct impair *i)
{
	for (uint32_t n = 0; n < FRAMES; n++) {
		make(n, ETH_TYPE_IP4);
		impair_put(i, sent, sizeof sent, n);
	}
}

/* n is about `percent` of all frames: the tolerance, a fifth, is five standard deviations of the
 * rarest. */
static void about(uint64_t n, double percent)
{
	double want = FRAMES * percent / 100;
	assert_true(n > want * 0.8 && n < want * 1.2);
}

static void order_and_bytes(void **state)
{
	(void)state;
	struct impair i = link_of("delay=1");
	uint32_t len, next = 0;
	for (uint32_t n = 0; n < 3000; n++) {
		make(n, ETH_TYPE_IP4);
		impair_put(&i, sent, sizeof sent, n);
		for (const uint8_t *f; (f = impair_take(&i, n, &len)); next++) {
			make(next, ETH_TYPE_IP4);
			assert_int_equal(len, sizeof sent);
			assert_memory_equal(f, sent, len);
			assert_int_equal(next + 1000, n); /* us later */
		}
	}
	assert_int_equal(next, 2000);
	assert_int_equal(impair_deadline(&i), 3000);
	done(&i);
}

static void loss_and_duplicates(void **state)
{
	(void)state;
	struct impair i = link_of("loss=5,duplicate=10,limit=100000");
	static unsigned seen[FRAMES];
	uint64_t missing = 0, twice = 0;
	uint32_t len;
	memset(seen, 0, sizeof seen);
	put_all(&i);
	for (const uint8_t *f; (f = impair_take(&i, FRAMES, &len));)
		seen[number_of(f)]++;
	for (uint32_t n = 0; n < FRAMES; n++) {
		missing += seen[n] == 0;
		twice += seen[n] == 2;
		assert_in_range(seen[n], 0, 2);
	}
	about(missing, 5);
	about(twice, 9.5);
	assert_int_equal(missing, i.counts.lost);
	assert_int_equal(twice, i.counts.duplicated);
	assert_int_equal(i.counts.passed, FRAMES - missing + twice);
	done(&i);
}

static void late_ones(void **state)
{
	(void)state;
	struct impair i = link_of("reorder=3,late=0.1");
	uint32_t len, highest = 0, late = 0;
	put_all(&i);
	for (const uint8_t *f; (f = impair_take(&i, FRAMES + 100, &len));) {
		uint32_t n = number_of(f);
		assert_true(n + 101 > highest); /* one a us */
		if (n < highest)
			late++;
		else
			highest = n;
	}
	assert_in_range(late, i.counts.reordered - 1, i.counts.reordered);
	about(late, 3);
	done(&i);
}

static unsigned bits_changed(const uint8_t *a, const uint8_t *b, unsigned n)
{
	unsigned bits = 0;
	while (n--)
		bits += (unsigned)__builtin_popcount(*a++ ^ *b++);
	return bits;
}

static void damage_is_one_bit(void **state)
{
	(void)state;
	struct impair i = link_of("corrupt=100");
	uint32_t len;
	for (uint32_t n = 0; n < 1000; n++) {
		make(n, ETH_TYPE_IP4);
		impair_put(&i, sent, sizeof sent, 0);
		const uint8_t *f = impair_take(&i, 0, &len);
		assert_int_equal(bits_changed(f, sent, HEAD + ETH_HLEN), 0);
		assert_int_equal(bits_changed(f, sent, sizeof sent), 1);
	}
	done(&i);
}

static void marks(void **state)
{
	(void)state;
	struct impair i = link_of("mark=100");
	uint32_t len;
	for (uint8_t ecn = 0; ecn < 4; ecn++) {
		make(0, ETH_TYPE_IP4);
		sent[HEAD + ETH_HLEN + 1] = ecn;
		ip4_checksum_set(sent + HEAD + ETH_HLEN);
		impair_put(&i, sent, sizeof sent, 0);
		const uint8_t *ip = impair_take(&i, 0, &len) + HEAD + ETH_HLEN;
		assert_int_equal(ip[1], ecn ? 3 : 0);
		/* its checksum is right */
		assert_int_equal(ip4_check(ip, LEN - ETH_HLEN), CNT_NONE);
	}
	assert_int_equal(i.counts.marked, 2);
	done(&i);
}

static void rate_and_limit(void **state)
{
	(void)state;
	/* 210 bytes a frame at 1.68 Mbit/s are 1 ms each */
	struct impair i = link_of("rate=1.68,limit=10");
	uint32_t len;
	for (uint32_t n = 0; n < 15; n++) {
		make(n, ETH_TYPE_IP4);
		impair_put(&i, sent, sizeof sent, 0);
	}
	assert_int_equal(i.counts.overflowed, 5);
	for (uint32_t n = 0; n < 10; n++) {
		assert_int_equal(impair_deadline(&i), 1000 * (n + 1));
		assert_null(impair_take(&i, 1000 * (n + 1) - 1, &len));
		assert_int_equal(number_of(impair_take(&i, 1000 * (n + 1), &len)), n);
	}
	done(&i);
}

static void arp_is_spared(void **state)
{
	(void)state;
	struct impair i = link_of("loss=100,corrupt=100,duplicate=100,delay=1");
	uint32_t len;
	make(0, ETH_TYPE_ARP);
	impair_put(&i, sent, sizeof sent, 0);
	assert_null(impair_take(&i, 999, &len));
	assert_memory_equal(impair_take(&i, 1000, &len), sent, sizeof sent);
	assert_null(impair_take(&i, UINT64_MAX, &len));
	make(0, ETH_TYPE_IP4);
	impair_put(&i, sent, sizeof sent, 0);
	assert_int_equal(i.counts.lost, 1);
	done(&i);
}

static void texts(void **state)
{
	(void)state;
	static const char *const wrong[] = {"loss", "loss=", "loss=x", "loss=-1", "los=1", ",",
	                                    "loss=1;delay=1", "loss=1,,delay=1", "loss=nan",
	                                    "delay=1e300"};
	struct impair i;
	assert_true(impair_init(&i, NULL, 1, 0));
	assert_false(i.on);
	assert_true(impair_init(&i, "loss=0.25,delay=1.5,rate=10", 1, 0));
	assert_true(i.on);
	assert_int_equal(i.rules.loss, 2500);
	assert_int_equal(i.rules.delay_us, 1500);
	assert_int_equal(i.rules.kbit, 10000);
	for (unsigned k = 0; k < ARRAY_LEN(wrong); k++)
		assert_false(impair_init(&i, wrong[k], 1, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(order_and_bytes), cmocka_unit_test(loss_and_duplicates),
		cmocka_unit_test(late_ones),       cmocka_unit_test(damage_is_one_bit),
		cmocka_unit_test(marks),           cmocka_unit_test(rate_and_limit),
		cmocka_unit_test(arp_is_spared),   cmocka_unit_test(texts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
