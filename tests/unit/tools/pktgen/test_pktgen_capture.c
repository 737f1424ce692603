/*
 * tools/pktgen/measure/capture.h and net/pcapng.h: logs of several cores become one file, which our own
 * reader (pcap.h) parses again. What the reader does not handle (names, flags, statistics) is
 * checked in the bytes.
 */
#include "tests/unit/rig/host.h"

#include "lib/bytes.h"
#include "tools/pktgen/measure/capture.h"
#include "tools/pktgen/frames/pcap.h"

#define LOG_BYTES (64 << 10)
#define S 1000000000ull

static struct capture_file file;
static uint8_t *memory[CAPTURE_LOGS_MAX];
static uint8_t written[1 << 20];
static size_t bytes;
static unsigned blocks, empty; /* places without a block */

static void log_begin(unsigned i, size_t size)
{
	free(memory[i]);
	memory[i] = malloc(size);
	memset(memory[i], 0x5a, size);
	file.log[i] = (struct capture_log){.memory = memory[i], .bytes = size};
}

static void file_begin(unsigned logs)
{
	memset(&file, 0, sizeof file);
	file.epoch_ns = 5 * S;
	file.logs = logs;
	for (unsigned i = 0; i < logs; i++)
		log_begin(i, LOG_BYTES);
}

static void want(unsigned port, uint32_t size, uint64_t frames)
{
	file.port[port] = (struct plan_capture){1, size, frames};
}

static int setup(void **state)
{
	(void)state;
	memset(memory, 0, sizeof memory);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	for (unsigned i = 0; i < CAPTURE_LOGS_MAX; i++)
		free(memory[i]);
	return 0;
}

/* Byte i of frame n. */
static uint8_t octet(unsigned n, unsigned i)
{
	return (uint8_t)(n * 31 + i * 7 + 1);
}

/* Frames first to first + n - 1, of `len` bytes, in one vector. */
static void receive(unsigned log, unsigned port, unsigned first, unsigned n, unsigned len,
                    uint64_t ns)
{
	struct pkt v[PKT_VECTOR_MAX] = {0};
	for (unsigned i = 0; i < n; i++) {
		uint8_t *data = malloc(len);
		for (unsigned k = 0; k < len; k++)
			data[k] = octet(first + i, k);
		v[i] = (struct pkt){.data = data, .len = (uint16_t)len, .interface = (uint8_t)port};
	}
	capture_vector(&file.log[log], &file.port[port], v, n, port, ns);
	for (unsigned i = 0; i < n; i++)
		free(v[i].data);
}

/* Writes the file block by block, each twice, and checks its framing (3.1). */
static void write_file(void)
{
	struct capture_place place;
	static uint8_t block[CAPTURE_BLOCK_MAX], again[CAPTURE_BLOCK_MAX];
	size_t n;
	bytes = blocks = empty = 0;
	for (capture_begin(&place); !capture_is_end(&place); capture_next(&file, &place, n)) {
		n = capture_block(&file, &place, block);
		if (n == 0) {
			assert_true(empty++ < 100000);
			continue;
		}
		blocks++;
		assert_int_equal(place.at, bytes);
		assert_true(n <= sizeof block && n % 4 == 0 && bytes + n <= sizeof written);
		assert_int_equal(raw32_load(block + 4), n);
		assert_int_equal(raw32_load(block + n - 4), n);
		assert_int_equal(capture_block(&file, &place, again), n);
		assert_memory_equal(block, again, n);
		memcpy(written + bytes, block, n);
		bytes += n;
	}
	assert_int_equal(capture_block(&file, &place, block), 0);
}

static struct pcap reader;

static void open_file(void)
{
	write_file();
	assert_int_equal(pcap_open(&reader, written, bytes), E_OK);
}

/* The next packet must be the beginning of frame n. */
static void expect(unsigned n, unsigned kept, unsigned len, uint64_t ns)
{
	struct pcap_packet p;
	assert_int_equal(pcap_next(&reader, &p), 1);
	assert_int_equal(p.len, kept);
	assert_int_equal(p.wire_len, len);
	assert_int_equal(p.ns, ns - file.epoch_ns);
	for (unsigned i = 0; i < kept; i++)
		assert_int_equal(p.data[i], octet(n, i));
}

static void expect_end(void)
{
	struct pcap_packet p;
	assert_int_equal(pcap_next(&reader, &p), 0);
	assert_null(reader.why);
}

/* Block number n of a type; NULL: there are fewer. */
static const uint8_t *find_block(uint32_t type, unsigned n)
{
	for (size_t at = 0; at < bytes; at += raw32_load(written + at + 4))
		if (raw32_load(written + at) == type && n-- == 0)
			return written + at;
	return NULL;
}

/* The value of an option of the block, whose own fields have `fixed` bytes. */
static const uint8_t *find_option(const uint8_t *block, unsigned fixed, uint16_t code, unsigned len)
{
	const uint8_t *o = block + 8 + fixed, *end = block + raw32_load(block + 4) - 4;
	for (; raw16_load(o) != PCAPNG_END; o += 4 + ((raw16_load(o + 2) + 3u) & ~3u)) {
		assert_true(o < end);
		if (raw16_load(o) == code) {
			assert_int_equal(raw16_load(o + 2), len);
			return o + 4;
		}
	}
	assert_true(o + 4 == end && raw16_load(o + 2) == 0);
	return NULL;
}

static void expect_statistics(unsigned interface, uint64_t received, uint64_t dropped,
                              uint64_t delivered)
{
	const uint8_t *b = find_block(PCAPNG_STATISTICS, interface);
	assert_non_null(b);
	assert_int_equal(raw32_load(b + 8), interface);
	assert_int_equal(raw64_load(find_option(b, 12, PCAPNG_STATISTICS_RECEIVED, 8)), received);
	assert_int_equal(raw64_load(find_option(b, 12, PCAPNG_STATISTICS_DROPPED, 8)), dropped);
	assert_int_equal(raw64_load(find_option(b, 12, PCAPNG_STATISTICS_DELIVERED, 8)), delivered);
}

static void test_one(void **state)
{
	(void)state;
	file_begin(1);
	want(1, PLAN_FRAME_MAX, 0);
	file.bps[1] = 10 * S;
	for (unsigned n = 0; n < 20; n++)
		receive(0, 1, n, 1, 60 + n, 7 * S + n);
	receive(0, 1, 20, 1, PLAN_FRAME_MAX, (1ull << 32) + 7 * S);
	open_file();
	for (unsigned n = 0; n < 20; n++)
		expect(n, 60 + n, 60 + n, 7 * S + n);
	expect(20, PLAN_FRAME_MAX, PLAN_FRAME_MAX, (1ull << 32) + 7 * S);
	expect_end();
	assert_int_equal(blocks, 2 + 21 + 1);
	const uint8_t *b = find_block(PCAPNG_INTERFACE, 0);
	assert_memory_equal(find_option(b, 8, PCAPNG_IF_NAME, 4), "eth1", 4);
	assert_int_equal(raw64_load(find_option(b, 8, PCAPNG_IF_SPEED, 8)), 10 * S);
	assert_int_equal(*find_option(b, 8, PCAPNG_IF_TSRESOL, 1), 9);
	b = find_block(PCAPNG_ENHANCED, 3); /* 63 bytes, and one of padding */
	assert_int_equal(raw32_load(find_option(b, 20 + 64, PCAPNG_PACKET_FLAGS, 4)), 1);
	expect_statistics(0, 21, 0, 21);
}

/* Nothing arrived, on two ports: a file with interfaces and their statistics. */
static void test_empty(void **state)
{
	(void)state;
	file_begin(2);
	want(0, 64, 0);
	want(15, PLAN_FRAME_MAX, 3);
	open_file();
	expect_end();
	assert_int_equal(reader.interfaces, 2);
	assert_int_equal(blocks, 5);
	const uint8_t *b = find_block(PCAPNG_INTERFACE, 1);
	assert_memory_equal(find_option(b, 8, PCAPNG_IF_NAME, 5), "eth15", 5);
	assert_null(find_option(b, 8, PCAPNG_IF_SPEED, 8));
	assert_int_equal(raw32_load(find_block(PCAPNG_INTERFACE, 0) + 12), 64);
	expect_statistics(0, 0, 0, 0);
	expect_statistics(1, 0, 0, 0);
}

/* Merged from several cores by time; at equal times by core, and each core's in order. */
static void test_merged(void **state)
{
	(void)state;
	file_begin(3);
	want(2, PLAN_FRAME_MAX, 0);
	want(4, PLAN_FRAME_MAX, 0);
	receive(2, 4, 0, 3, 60, 6 * S);
	receive(0, 2, 3, 2, 61, 6 * S + 1);
	receive(1, 4, 5, 4, 62, 6 * S + 1);
	receive(0, 4, 9, 1, 63, 6 * S + 2);
	receive(2, 2, 10, 2, 64, 8 * S);
	open_file();
	for (unsigned n = 0; n < 12; n++)
		expect(n, n < 3 ? 60 : n < 5 ? 61 : n < 9 ? 62 : n < 10 ? 63 : 64, n < 3 ? 60 : n < 5 ? 61 :
		       n < 9 ? 62 : n < 10 ? 63 : 64, n < 3 ? 6 * S : n < 9 ? 6 * S + 1 :
		       n < 10 ? 6 * S + 2 : 8 * S);
	expect_end();
	static const uint32_t interface[12] = {1, 1, 1, 0, 0, 1, 1, 1, 1, 1, 0, 0};
	for (unsigned n = 0; n < 12; n++)
		assert_int_equal(raw32_load(find_block(PCAPNG_ENHANCED, n) + 8), interface[n]);
	expect_statistics(0, 4, 0, 4);
	expect_statistics(1, 8, 0, 8);
}

static void test_size(void **state)
{
	(void)state;
	file_begin(1);
	want(0, 14, 0);
	receive(0, 0, 0, 1, 14, 6 * S);
	receive(0, 0, 1, 1, 60, 6 * S);
	receive(0, 0, 2, 1, 13, 6 * S);
	open_file();
	expect(0, 14, 14, 6 * S);
	expect(1, 14, 60, 6 * S);
	expect(2, 13, 13, 6 * S);
	expect_end();
}

/* The first frames of a port, whatever the core; another port's continue. */
static void test_frames(void **state)
{
	(void)state;
	file_begin(2);
	want(0, PLAN_FRAME_MAX, 5);
	want(1, PLAN_FRAME_MAX, 2);
	receive(0, 0, 0, 3, 60, 6 * S);
	receive(1, 0, 3, 9, 60, 6 * S + 1);
	receive(0, 0, 12, 9, 60, 6 * S + 2);
	receive(0, 1, 5, 2, 60, 7 * S);
	receive(1, 1, 7, 2, 60, 8 * S);
	assert_int_equal(file.log[1].port[0].kept, 5);
	open_file();
	for (unsigned n = 0; n < 5; n++)
		expect(n, 60, 60, n < 3 ? 6 * S : 6 * S + 1);
	for (unsigned n = 5; n < 7; n++)
		expect(n, 60, 60, 7 * S);
	expect_end();
	expect_statistics(0, 21, 0, 5);
	expect_statistics(1, 4, 0, 2);
}

/* Thousands of unwanted frames before one of another port: no call skips them all. */
static void test_many_unwanted(void **state)
{
	(void)state;
	file_begin(2);
	log_begin(1, 1 << 20);
	want(0, 64, 5000);
	want(1, PLAN_FRAME_MAX, 0);
	for (unsigned i = 0; i < 5000; i += 250)
		receive(1, 0, i, 250, 64, 6 * S + i);
	receive(1, 1, 5000, 1, 60, 8 * S);
	receive(0, 1, 5001, 1, 60, 9 * S);
	file.port[0].frames = 2;
	open_file();
	expect(0, 64, 64, 6 * S);
	expect(1, 64, 64, 6 * S);
	expect(5000, 60, 60, 8 * S);
	expect(5001, 60, 60, 9 * S);
	expect_end();
	assert_in_range(empty, 5000 / 300, 5000 / 100);
	expect_statistics(0, 5000, 0, 2);
}

/* Memory runs out: the first frames are there, the rest is counted, including later short
 * frames. */
static void test_no_room(void **state)
{
	(void)state;
	file_begin(2);
	log_begin(0, 3 * 9232 + 8);
	log_begin(1, 9231);
	want(0, PLAN_FRAME_MAX, 0);
	receive(0, 0, 0, 5, PLAN_FRAME_MAX, 6 * S);
	receive(0, 0, 5, 200, 60, 7 * S);
	receive(1, 0, 205, 1, 60, 8 * S);
	open_file();
	for (unsigned n = 0; n < 3; n++)
		expect(n, PLAN_FRAME_MAX, PLAN_FRAME_MAX, 6 * S);
	expect_end();
	expect_statistics(0, 206, 203, 3);
}

/* Moves a log to memory that ends with its contents, so that ASan detects reads beyond. */
static void log_tighten(unsigned i)
{
	struct capture_log *l = &file.log[i];
	memory[i] = malloc(l->used ? l->used : 1);
	memcpy(memory[i], l->memory, l->used);
	free(l->memory);
	l->memory = memory[i];
}

/* A malformed log: reading ends there, and nothing beyond it is read. */
static void test_hostile(void **state)
{
	(void)state;
	for (unsigned seed = 0; seed < 3000; seed++) {
		file_begin(2);
		want(3, 100, seed % 3);
		srand(seed);
		for (unsigned n = 0; n < 8; n++)
			receive(n % 2, 3, n, 3, 60 + n, 6 * S + n);
		for (unsigned n = 0; n < 4; n++)
			memory[rand() % 2][(unsigned)rand() % 400] = (uint8_t)rand();
		file.log[1].used = seed % 5 ? file.log[1].used : (unsigned)rand() % 1000;
		log_tighten(0);
		log_tighten(1);
		open_file();
		struct pcap_packet p;
		while (pcap_next(&reader, &p) == 1)
			assert_true(p.len <= 100 && p.len <= p.wire_len);
	}
}

/* A record that keeps more bytes than its frame has ends its log (invariant 3 of capture.h). */
static void test_longer_than_frame(void **state)
{
	(void)state;
	file_begin(1);
	want(0, 100, 0);
	receive(0, 0, 0, 3, 60, 6 * S);
	const uint16_t len = 59;
	const size_t record = sizeof(struct capture_record) + 64;
	memcpy(memory[0] + record + offsetof(struct capture_record, len), &len, sizeof len);
	open_file();
	expect(0, 60, 60, 6 * S);
	expect_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one), cmocka_unit_test(test_empty), cmocka_unit_test(test_merged),
		cmocka_unit_test(test_size), cmocka_unit_test(test_frames),
		cmocka_unit_test(test_many_unwanted), cmocka_unit_test(test_no_room),
		cmocka_unit_test(test_hostile), cmocka_unit_test(test_longer_than_frame),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
