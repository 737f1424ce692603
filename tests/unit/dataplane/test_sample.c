/* Sampling of packets (dataplane/sample.h): each packet has the same chance, the pool counts all, the ring loses the oldest and
 * says so by its numbers. */
#include "tests/unit/rig/host.h"

#include "dataplane/sample.c"

struct core_self self;
static struct dp_state *state_memory;
static _Alignas(64) uint8_t shared[CORE_SHARED_ZEROED];
static unsigned wakes;

void *core_published_area(size_t *bytes)
{
	*bytes = sizeof(struct dp_state);
	return state_memory;
}

void *core_shared_area(size_t *bytes)
{
	*bytes = sizeof shared;
	return shared;
}

void core_random(void *out, size_t bytes) { random_fill(out, bytes); }
void core_wake_control(void) { wakes++; }

static int setup(void **s)
{
	(void)s;
	seed_random("sample");
	if (!state_memory)
		state_memory = calloc(1, sizeof *state_memory);
	memset(shared, 0, sizeof shared);
	memset(rate_of, 0, sizeof rate_of);
	wakes = 0;
	return 0;
}

static uint8_t frame[PKT_VECTOR_MAX][64];
static struct pkt v[PKT_VECTOR_MAX];

/* A vector of frames that are numbered from `first` on. */
static void offer(uint32_t first, unsigned n, unsigned port)
{
	for (unsigned i = 0; i < n; i++) {
		const uint32_t number = first + i;
		memcpy(frame[i], &number, sizeof number);
		v[i] = (struct pkt){.data = frame[i], .len = 64};
	}
	sample_vector(v, n, port);
}

static void every_packet(void **s)
{
	(void)s;
	struct sample got;
	uint64_t at = 0;
	state_memory->sample_rate = 1;
	offer(100, 20, 3);
	for (uint32_t i = 0; i < 20; i++) {
		uint32_t number;
		assert_true(sample_next(&dp_shared()->samples, &at, &got));
		memcpy(&number, got.head, sizeof number);
		assert_int_equal(number, 100 + i);
		assert_true(got.number == i + 1 && got.len == 64 && got.kept == 64 && got.port == 3);
	}
	assert_false(sample_next(&dp_shared()->samples, &at, &got));
	assert_int_equal(dp_shared()->samples.pool[3], 20);
	assert_int_equal(wakes, 1);
}

/* Chi-square of the places of samples in a cycle of 64 packets, in vectors of any size: 63 degrees of freedom, and 130 is exceeded
 * once in a million runs. */
static void same_chance(void **s)
{
	(void)s;
	enum { CYCLE = 64, RATE = 16, PACKETS = 1 << 20 };
	static uint32_t hits[CYCLE];
	struct sample got;
	uint64_t at = 0, samples = 0;
	memset(hits, 0, sizeof hits);
	state_memory->sample_rate = RATE;
	for (uint32_t sent = 0; sent < PACKETS;) {
		const unsigned n = 1 + random_below(40);
		offer(sent, n, 0);
		sent += n;
		while (sample_next(&dp_shared()->samples, &at, &got)) {
			uint32_t number;
			memcpy(&number, got.head, sizeof number);
			hits[number % CYCLE]++;
			samples++;
		}
	}
	const double wanted = (double)PACKETS / RATE, each = (double)samples / CYCLE;
	assert_true((double)samples > wanted - 5 * 256 && (double)samples < wanted + 5 * 256);
	double chi = 0;
	for (unsigned i = 0; i < CYCLE; i++)
		chi += ((double)hits[i] - each) * ((double)hits[i] - each) / each;
	assert_true(chi < 130);
}

/* A late reader gets the last SAMPLES_KEPT; a ring that begins anew is read from its beginning; a wrong length is cut. */
static void late_reader(void **s)
{
	(void)s;
	struct sample got;
	uint64_t at = 0, n = 0, first = 0;
	state_memory->sample_rate = 1;
	offer(0, 100, 0);
	for (; sample_next(&dp_shared()->samples, &at, &got); n++)
		first = first ? first : got.number;
	assert_true(n == SAMPLES_KEPT && first == 100 - SAMPLES_KEPT + 1 && at == 100);
	memset(shared, 0, sizeof shared);
	offer(7, 1, 0);
	assert_true(sample_next(&dp_shared()->samples, &at, &got));
	assert_int_equal(at, 1);
	dp_shared()->samples.v[1].kept = 0xffff;
	dp_shared()->samples.count = 2;
	assert_true(sample_next(&dp_shared()->samples, &at, &got));
	assert_int_equal(got.kept, SAMPLE_HEAD_MAX);
}

static void off(void **s)
{
	(void)s;
	state_memory->sample_rate = 0;
	offer(0, 200, 0);
	assert_int_equal(dp_shared()->samples.count, 0);
	assert_int_equal(dp_shared()->samples.pool[0], 0);
	state_memory->sample_rate = 1u << 24;
	offer(0, 200, 0);
	assert_int_equal(dp_shared()->samples.pool[0], 200);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(every_packet, setup),
		cmocka_unit_test_setup(same_chance, setup),
		cmocka_unit_test_setup(late_reader, setup),
		cmocka_unit_test_setup(off, setup),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
