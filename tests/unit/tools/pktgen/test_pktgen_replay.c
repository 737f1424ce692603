/* tools/pktgen/frames/pcap.h and replay.h: captures of both formats and byte orders, with every error, and
 * their layout in memory. The test makes the files, byte by byte. */
#include "tests/unit/rig/host.h"

#include "drivers/nic.h"
#include "tools/pktgen/frames/pcap.h"
#include "tools/pktgen/frames/replay.h"

#define S 1000000000ull
#define T0 (1700000000 * S)

static uint8_t file[1 << 20];
static size_t bytes;
static bool big; /* the file's byte order */

static void put(uint64_t v, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		file[bytes + i] = (uint8_t)(v >> 8 * (big ? n - 1 - i : i));
	bytes += n;
}

/* A packet's data: byte i of packet n. */
static uint8_t octet(unsigned n, unsigned i)
{
	return (uint8_t)(n * 31 + i * 7 + 1);
}

static void put_data(unsigned n, unsigned len)
{
	for (unsigned i = 0; i < len; i++)
		file[bytes++] = octet(n, i);
}

static void classic(uint32_t magic, uint32_t link)
{
	bytes = 0;
	put(magic, 4), put(2, 2), put(4, 2), put(0, 8), put(65535, 4), put(link, 4);
}

static void record(unsigned n, uint64_t seconds, uint32_t part, unsigned len, unsigned wire)
{
	put(seconds, 4), put(part, 4), put(len, 4), put(wire, 4);
	put_data(n, len);
}

static size_t block_at;

static void block(uint32_t type)
{
	block_at = bytes;
	put(type, 4), put(0, 4);
}

static void end_block(void)
{
	size_t end;
	while (bytes % 4)
		file[bytes++] = 0;
	put(bytes + 4 - block_at, 4);
	end = bytes;
	bytes = block_at + 4;
	put(end - block_at, 4);
	bytes = end;
}

static void section(void)
{
	block(0x0a0d0d0a);
	put(0x1a2b3c4d, 4), put(1, 2), put(0, 2), put(UINT64_MAX, 8);
	end_block();
}

/* Options, each with code and value; 0: none. */
static void interface(unsigned link, uint32_t snaplen, unsigned resolution, unsigned fcs, int64_t offset)
{
	block(1);
	put(link, 2), put(0, 2), put(snaplen, 4);
	put(2, 2), put(5, 2), put_data(0, 5), put(0, 3); /* if_name, padded */
	if (resolution)
		put(9, 2), put(1, 2), file[bytes++] = (uint8_t)resolution, put(0, 3);
	if (fcs)
		put(13, 2), put(1, 2), file[bytes++] = (uint8_t)fcs, put(0, 3);
	if (offset)
		put(14, 2), put(8, 2), put((uint64_t)offset, 8);
	put(0, 4);
	end_block();
}

static void enhanced(unsigned n, unsigned at, uint64_t ticks, unsigned len, unsigned wire)
{
	block(6);
	put(at, 4), put(ticks >> 32, 4), put(ticks & 0xffffffff, 4), put(len, 4), put(wire, 4);
	put_data(n, len);
	end_block();
}

static void simple(unsigned n, unsigned len, unsigned wire)
{
	block(3);
	put(wire, 4);
	put_data(n, len);
	end_block();
}

/* A copy that ends where the file ends, for ASan. */
static uint8_t *exact(void)
{
	uint8_t *copy = malloc(bytes ? bytes : 1);
	memcpy(copy, file, bytes);
	return copy;
}

static void expect_packet(struct pcap *p, unsigned n, unsigned len, unsigned wire, uint64_t ns)
{
	struct pcap_packet k;
	assert_int_equal(pcap_next(p, &k), 1);
	assert_int_equal(k.len, len);
	assert_int_equal(k.wire_len, wire);
	assert_true(k.ns == ns);
	for (unsigned i = 0; i < len; i++)
		assert_int_equal(k.data[i], octet(n, i));
}

static void expect_end(struct pcap *p)
{
	struct pcap_packet k;
	assert_int_equal(pcap_next(p, &k), 0);
}

/* Read as a replay, the file fails at that packet for that reason. */
static void expect_bad(const char *why, uint64_t packet)
{
	struct replay_count c;
	uint8_t *copy = exact();
	assert_int_equal(replay_measure(copy, bytes, &c), E_INVAL);
	assert_string_equal(c.why, why);
	assert_true(c.packet == packet);
	free(copy);
}

static void classic_files(void **s)
{
	(void)s;
	static const uint32_t magic[] = {0xa1b2c3d4, 0xa1b23c4d};
	for (unsigned k = 0; k < 4; k++) {
		struct pcap p;
		uint64_t tick = k & 1 ? 1 : 1000;
		big = k & 2;
		classic(magic[k & 1], 1);
		record(0, 1700000000, 5, 60, 60);
		record(1, 1700000001, 999999, 14, 1514);
		record(2, 4294967295, 7, 0, 0);
		uint8_t *copy = exact();
		assert_int_equal(pcap_open(&p, copy, bytes), E_OK);
		expect_packet(&p, 0, 60, 60, T0 + 5 * tick);
		expect_packet(&p, 1, 14, 1514, T0 + S + 999999 * tick);
		expect_packet(&p, 2, 0, 0, 4294967295 * S + 7 * tick);
		expect_end(&p);
		assert_int_equal(p.packet, 3);
		free(copy);
	}
	big = false;
}

static void ng_files(void **s)
{
	(void)s;
	for (unsigned k = 0; k < 2; k++) {
		struct pcap p;
		bytes = 0;
		big = k == 0;
		section();
		interface(1, 80, 0, 0, 0);        /* microseconds; snap length 80 */
		interface(1, 0, 9, 0, -1);        /* nanoseconds, a second earlier */
		interface(1, 0, 0x80 | 20, 0, 0); /* 2^-20 s */
		interface(1, 0, 12, 0, 0);        /* picoseconds */
		block(5), put(0, 8), put(0, 4), end_block(); /* statistics */
		enhanced(0, 0, T0 / 1000 + 5, 61, 61);
		simple(1, 62, 62);
		simple(2, 80, 1514);
		enhanced(3, 1, T0 + 5, 64, 99);
		enhanced(4, 2, 3ull << 19, 65, 65);
		enhanced(5, 3, 7999, 66, 66);
		big = !big; /* another section, with the other byte order */
		section();
		interface(1, 0, 6, 0, 0);
		enhanced(6, 0, 1, 67, 67);
		uint8_t *copy = exact();
		assert_int_equal(pcap_open(&p, copy, bytes), E_OK);
		expect_packet(&p, 0, 61, 61, T0 + 5000);
		expect_packet(&p, 1, 62, 62, T0 + 5000);
		expect_packet(&p, 2, 80, 1514, T0 + 5000);
		expect_packet(&p, 3, 64, 99, T0 + 5 - S);
		expect_packet(&p, 4, 65, 65, 3 * S / 2);
		expect_packet(&p, 5, 66, 66, 7);
		expect_packet(&p, 6, 67, 67, 1000);
		expect_end(&p);
		free(copy);
	}
	big = false;
}

/* The FCS of a capture that has it is removed, and nothing else. */
static void fcs_is_left_away(void **s)
{
	(void)s;
	struct pcap p;
	classic(0xa1b2c3d4, 1 | 1u << 26 | 2u << 28);
	record(0, 0, 0, 64, 64);
	record(1, 0, 0, 62, 64); /* truncated within the FCS */
	record(2, 0, 0, 3, 3);
	assert_int_equal(pcap_open(&p, file, bytes), E_OK);
	expect_packet(&p, 0, 60, 60, 0);
	expect_packet(&p, 1, 60, 60, 0);
	expect_packet(&p, 2, 0, 0, 0);
	for (unsigned fcs = 4; fcs <= 32; fcs += 28) {
		bytes = 0;
		section();
		interface(1, 0, 0, fcs, 0);
		enhanced(0, 0, 0, 64, 64);
		assert_int_equal(pcap_open(&p, file, bytes), E_OK);
		expect_packet(&p, 0, 60, 60, 0);
	}
}

static void one_packet(void)
{
	bytes = 0;
	section();
	interface(1, 0, 0, 0, 0);
	enhanced(0, 0, 0, 60, 60);
}

static void bad_files(void **s)
{
	(void)s;
	bytes = 0;
	expect_bad("it is neither a pcap nor a pcapng file", 0);
	put_data(0, 100);
	expect_bad("it is neither a pcap nor a pcapng file", 0);
	classic(0xa1b2c3d4, 1);
	expect_bad("it has no packets", 0);
	bytes--;
	expect_bad("the file ends within its header", 0);
	classic(0xa1b2c3d4, 113);
	expect_bad("its packets are no Ethernet frames", 0);
	classic(0xa1b2c3d4, 1);
	file[4] = 3;
	expect_bad("it is pcap of an unknown version", 0);
	classic(0xa1b2c3d4, 1);
	record(0, 0, 0, 60, 60);
	record(1, 0, 0, 60, 60);
	bytes--;
	expect_bad("the file ends within the packet", 2);
	bytes -= 60;
	expect_bad("the file ends within the packet's header", 2);
	classic(0xa1b2c3d4, 1);
	record(0, 0, 0, 60, 1514);
	expect_bad("all its packets were cut off when they were captured: capture them whole", 0);
	classic(0xa1b2c3d4, 1);
	record(0, 0, 0, 13, 13);
	expect_bad("it has no packet of a length that can be sent", 0);

	one_packet();
	bytes -= 4;
	expect_bad("the file ends within a block", 0);
	put(97, 4);
	expect_bad("a block's two lengths are not the same", 0);
	one_packet();
	enhanced(1, 1, 0, 60, 60);
	expect_bad("the packet is of an interface that is not described", 2);
	one_packet();
	block(6), put(0, 8), put(0, 4), put(61, 4), put(61, 4), put_data(0, 60), end_block();
	expect_bad("the packet is longer than its block", 2);
	one_packet();
	simple(1, 60, 65);
	expect_bad("the packet is longer than its block", 2);
	one_packet();
	block(6), end_block();
	expect_bad("the packet's block is too short", 2);
	one_packet();
	block(2), put(0, 8), put(0, 8), put(0, 4), end_block();
	expect_bad("it has Packet Blocks, which are obsolete: convert it with editcap", 1);
	one_packet();
	interface(101, 0, 0, 0, 0);
	expect_bad("one of its interfaces is not Ethernet", 1);
	one_packet();
	interface(1, 0, 19, 0, 0);
	expect_bad("an interface's time resolution (if_tsresol) is below 10^-18 or 2^-63 s", 1);
	one_packet();
	interface(1, 0, 0, 16, 0);
	expect_bad("an interface's FCS (if_fcslen) is not that of Ethernet", 1);
	one_packet();
	block(1), put(1, 2), put(0, 6), put(9, 2), put(5, 2), put(0, 4), end_block();
	expect_bad("an option is longer than its block", 1);
	one_packet();
	block(9), put(0, 4), end_block();
	file[block_at + 4] = 11;
	expect_bad("a block's length is invalid", 1);
	file[block_at + 4] = 14;
	expect_bad("a block's length is invalid", 1);
	for (unsigned i = 0; i < PCAP_INTERFACES_MAX; i++)
		i ? interface(1, 0, 0, 0, 0) : one_packet();
	interface(1, 0, 0, 0, 0);
	expect_bad("it has more than 64 interfaces", 1);
	bytes = 0;
	section();
	file[8] = 0;
	expect_bad("a section header has no byte-order magic", 0);
	bytes = 0;
	section();
	file[12] = 2;
	expect_bad("it is pcapng of an unknown version", 0);
}

static uint8_t *lay(struct replay *t, struct replay_count *c, const uint8_t *dst,
                    const uint8_t *src)
{
	uint8_t *copy = exact();
	assert_int_equal(replay_measure(copy, bytes, c), E_OK);
	uint8_t *memory = aligned_alloc(REPLAY_ALIGN, c->memory);
	memset(memory, 0xee, c->memory);
	replay_lay(t, memory, copy, bytes, c, dst, src);
	free(copy);
	return memory;
}

static void frames_are_laid_out(void **s)
{
	(void)s;
	static const unsigned len[] = {14, 42, 59, 60, 61, 1514, 9216};
	static const uint8_t none[NIC_SLOT_ROOM];
	struct replay t;
	struct replay_count c;
	assert_true(REPLAY_ROOM >= NIC_SLOT_ROOM);
	classic(0xa1b2c3d4, 1);
	for (unsigned i = 0; i < ARRAY_LEN(len); i++)
		record(i, 5, 10 * i, len[i], len[i]);
	uint8_t *memory = lay(&t, &c, NULL, NULL);
	assert_int_equal(t.frames, ARRAY_LEN(len));
	assert_int_equal(t.len_max, 9216);
	assert_int_equal(c.filled, 3);
	assert_true(t.bytes == c.bytes && c.bytes == 3 * 60 + 60 + 61 + 1514 + 9216);
	for (uint32_t i = 0; i < t.frames; i++) {
		const uint8_t *data = replay_data(&t, i);
		assert_memory_equal(data - NIC_SLOT_ROOM, none, NIC_SLOT_ROOM);
		assert_int_equal((uintptr_t)data % REPLAY_ALIGN, 0);
		assert_int_equal(t.frame[i].len, len[i] < 60 ? 60 : len[i]);
		for (unsigned k = 0; k < t.frame[i].len; k++)
			assert_int_equal(data[k], k < len[i] ? octet(i, k) : 0);
		assert_true(t.frame[i].ns == i * 10000);
		assert_true(replay_gap_ns(&t, i) == 10000); /* behind the last: the mean */
	}
	free(memory);
}

static void stations_are_replaced(void **s)
{
	(void)s;
	static const uint8_t a[6] = {2, 0, 0, 0, 0, 1}, b[6] = {2, 0, 0, 0, 0, 2};
	struct replay t;
	struct replay_count c;
	classic(0xa1b2c3d4, 1);
	record(0, 0, 0, 60, 60);
	for (unsigned k = 0; k < 4; k++) {
		uint8_t *memory = lay(&t, &c, k & 1 ? a : NULL, k & 2 ? b : NULL);
		const uint8_t *data = replay_data(&t, 0);
		for (unsigned i = 0; i < 60; i++)
			assert_int_equal(data[i], i < 6 && k & 1 ? a[i] : i >= 6 && i < 12 && k & 2 ? b[i - 6] :
			                          octet(0, i));
		assert_true(t.round_ns == 0 && replay_gap_ns(&t, 0) == 0);
		free(memory);
	}
}

static void what_cannot_be_sent_is_left_out(void **s)
{
	(void)s;
	struct replay t;
	struct replay_count c;
	classic(0xa1b23c4d, 1);
	record(0, 1, 0, 96, 1514);      /* truncated: time begins with the first that is sent */
	record(1, 2, 0, 60, 60);
	record(2, 2, 500, 9217, 9217);
	record(3, 1, 999999999, 60, 60); /* before the first */
	record(4, 2, 1000, 13, 13);
	record(5, 2, 3000, 60, 60);
	record(6, 2, 2000, 60, 60);     /* before the previous one */
	record(7, 2, 7000, 96, 9217);   /* truncated, but also too long for any card */
	uint8_t *memory = lay(&t, &c, NULL, NULL);
	assert_int_equal(t.frames, 4);
	assert_true(c.cut == 1 && c.too_long == 2 && c.too_short == 1 && c.older == 2 && c.filled == 0);
	static const unsigned which[] = {1, 3, 5, 6}, ns[] = {0, 0, 3000, 3000};
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(replay_data(&t, i)[0], octet(which[i], 0));
		assert_true(t.frame[i].ns == ns[i]);
	}
	assert_true(c.ns == 3000 && t.round_ns == 4000);
	free(memory);
}

int main(void)
{
	seed_random("test_pktgen_replay");
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(classic_files),
		cmocka_unit_test(ng_files),
		cmocka_unit_test(fcs_is_left_away),
		cmocka_unit_test(bad_files),
		cmocka_unit_test(frames_are_laid_out),
		cmocka_unit_test(stations_are_replaced),
		cmocka_unit_test(what_cannot_be_sent_is_left_out),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
