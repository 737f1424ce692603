/*
 * nicsim's generator and judge (tools/nicsim/wires/): what a generator vouches for is true, and
 * frames judged in a row are judged as one by one.
 */
#include "tests/unit/rig/host.h"

#include "tools/nicsim/intel/state.h"
#include "tools/nicsim/json.h"
#include "tools/nicsim/wires/flows.h"
#include "tools/nicsim/wires/judge.h"
#include "tools/nicsim/wires/open.h"

#define ROOM 2048

static const uint8_t mac[6] = {0x02, 0x00, 0x5e, 0x00, 0x53, 0x01};

struct wire *wire_bad(const struct wire_spec *s, const char *word, const char *what)
{
	(void)s;
	fail_msg("%s: %s", word, what);
	return NULL;
}

static struct wire *generator(unsigned port, const char *a, const char *b)
{
	struct wire_spec s = {.argument = "", .option = {a, b}, .options = 2, .port = port};
	memcpy(s.mac, mac, sizeof s.mac);
	struct wire *w = gen_open(&s);
	assert_non_null(w);
	return w;
}

/* --- what a generator vouches for --- */

static void frames_are_as_vouched(void **state)
{
	(void)state;
	static const char *const sizes[] = {"size=64", "size=65", "size=64/67/1518/9000", "size=imix"};
	const struct intel_kind kind = {.ipe = 1u << 31, .l4e = 1u << 30};
	for (unsigned i = 0; i < ARRAY_LEN(sizes); i++) {
		struct wire *w = generator(1, sizes[i], "prefixes=300");
		for (uint64_t now = 1; now < 200; now++) {
			struct frame v[FRAME_BURST];
			const unsigned n = wire_pull(w, v, 1 + random_below(FRAME_BURST), now * 4000000001);
			for (unsigned k = 0; k < n; k++) {
				struct headers h, said;
				assert_int_equal(v[k].flags, FRAME_UDP4);
				const struct checked c = offload_check(&kind, v[k].data, v[k].bytes, &h);
				const struct checked d = offload_vouched(v[k].bytes, &said);
				assert_int_equal(c.status, d.status);
				assert_int_equal(c.ptype, d.ptype);
				assert_true(h.l3 == said.l3 && h.l4 == said.l4 && h.end == said.end);
				assert_true(h.version == said.version && h.protocol == said.protocol);
				assert_false(h.extended || h.fragment || h.tagged);
			}
		}
		w->ops->close(w);
	}
}

/* --- frames in a row --- */

/* A frame as a device under test may return it. */
static uint32_t change(uint8_t *f, uint32_t bytes)
{
	switch (random_below(12)) {
	case 0: /* a bit */
		f[random_below(bytes)] ^= (uint8_t)(1u << random_below(8));
		break;
	case 1: /* cut */
		return 1 + random_below(bytes);
	case 2: /* padded */
		memset(f + bytes, 0, 8);
		return bytes + random_below(8);
	case 3: /* tagged */
		memmove(f + 16, f + 12, bytes - 12);
		memcpy(f + 12, "\x81\0\0\5", 4);
		return bytes + 4;
	case 4: /* without UDP's checksum */
		f[40] = f[41] = 0;
		break;
	case 5: /* ARP */
		memcpy(f + 12, "\x08\x06\0\1\x08\0\6\4\0\1", 10);
		break;
	case 6: /* of another stream */
		f[44] ^= (uint8_t)(1u << random_below(5));
		f[58] ^= f[44];
		break;
	}
	return bytes;
}

#define COUNT 20000

static struct {
	uint8_t bytes[ROOM];
	struct frame frame;
	uint64_t now;
} all[COUNT];

/* Two generators' frames, some changed, lost, exchanged or doubled. */
static void make_all(void)
{
	static const char *const sizes[] = {"size=64/91/200", "size=91", "size=1000"};
	struct wire *w[2] = {generator(2, sizes[random_below(3)], "flows=3"),
	                     generator(5, "size=64", "flows=1")};
	unsigned n = 0;
	const unsigned damage = random_below(4) ? 1 + random_below(100) : 0; /* one in so many */
	for (uint64_t now = 1000000; n < COUNT; now += random_below(3) ? 3000 : 3000000) {
		struct frame v[FRAME_BURST];
		const unsigned k = wire_pull(w[random_below(2)], v, 1 + random_below(FRAME_BURST), now);
		for (unsigned i = 0; i < k && n < COUNT; i++) {
			if (damage && random_below(10 * damage) == 0)
				continue;
			memcpy(all[n].bytes, v[i].data, v[i].bytes);
			all[n].frame.bytes = v[i].bytes;
			if (damage && random_below(damage) == 0)
				all[n].frame.bytes = change(all[n].bytes, v[i].bytes);
			all[n].frame.data = all[n].bytes;
			all[n++].now = now + 1000;
			if (damage && n < COUNT && random_below(10 * damage) == 0) {
				all[n] = all[n - 1];
				all[n].frame.data = all[n].bytes;
				n++;
			}
			if (damage && n > 9 && random_below(10 * damage) == 0)
				for (unsigned b = 0; b < ROOM; b++) {
					const uint8_t byte = all[n - 1].bytes[b];
					all[n - 1].bytes[b] = all[n - 9].bytes[b];
					all[n - 9].bytes[b] = byte;
				}
		}
	}
	for (unsigned i = 0; i < 2; i++)
		w[i]->ops->close(w[i]);
}

/* Nothing has been received yet, and each generator has sent its first `sent` frames. */
static void streams_begin(const uint64_t sent[STREAMS])
{
	for (unsigned i = 0; i < STREAMS; i++) {
		streams[i].sent = 0;
		stream_restart(&streams[i]);
		streams[i].sent = sent[i];
	}
}

static char *results(const struct judge *g)
{
	struct json j;
	json_init(&j);
	json_object(&j, NULL);
	json_u64(&j, "judged", g->judged);
	json_u64(&j, "corrupted", g->corrupted);
	json_u64(&j, "foreign", g->foreign);
	judge_stats(&j);
	json_end(&j);
	assert_non_null(json_text(&j));
	return j.text;
}

static void a_row_is_judged_as_its_frames(void **state)
{
	(void)state;
	for (unsigned round = 0; round < random_rounds(40); round++) {
		static bool foreign[COUNT];
		struct judge one = {0}, row = {0};
		uint64_t sent[STREAMS];
		make_all();
		for (unsigned i = 0; i < STREAMS; i++) /* the last ones are as if never sent */
			sent[i] = streams[i].sent > 50 ? streams[i].sent - random_below(50) : 0;
		streams_begin(sent);
		for (unsigned i = 0; i < COUNT; i++) {
			const uint64_t before = one.foreign;
			judge_frame(&one, all[i].frame.data, all[i].frame.bytes, all[i / 64 * 64].now);
			foreign[i] = one.foreign != before;
		}
		char *expected = results(&one);
		const struct stream seen = streams[2];
		streams_begin(sent);
		judge_fours = __builtin_cpu_supports("avx2") && round % 3; /* a CPU without AVX2 does the same */
		for (unsigned i = 0, n; i < COUNT; i += n) {
			struct frame v[FRAME_BURST];
			/* latencies are those of the 64 frames, in whatever rows they come */
			n = 1 + random_below(FRAME_BURST - i % FRAME_BURST);
			n = n < COUNT - i ? n : COUNT - i;
			for (unsigned k = 0; k < n; k++)
				v[k] = all[i + k].frame;
			const uint64_t others = judge_frames(&row, v, n, all[i / 64 * 64].now);
			for (unsigned k = 0; k < n; k++)
				assert_int_equal(others >> k & 1, foreign[i + k]);
		}
		char *got = results(&row);
		assert_string_equal(got, expected);
		assert_memory_equal(&seen, &streams[2], sizeof seen);
		assert_true(one.judged > COUNT / 2);
		free(got);
		free(expected);
	}
}

/* --- numbers --- */

static struct stream numbered;

static bool is_new(uint64_t number)
{
	return stream_note(&numbered, &(struct stamp){.number = number}, 60);
}

/* A duplicate is recognised up to JUDGE_WINDOW numbers back; what is older counts as new. */
static void duplicates_in_the_window(void **state)
{
	(void)state;
	stream_begin(&numbered, 100);
	assert_true(is_new(100));
	assert_true(is_new(100 + JUDGE_WINDOW - 1));
	assert_false(is_new(100));
	assert_true(is_new(101));
	assert_true(is_new(100 + JUDGE_WINDOW));
	assert_false(is_new(101));
	assert_true(is_new(100)); /* too far back */
	assert_true(is_new(100 + 3 * JUDGE_WINDOW)); /* a gap longer than the window */
	assert_true(is_new(100 + 3 * JUDGE_WINDOW - 1));
	assert_false(is_new(100 + 3 * JUDGE_WINDOW));
	assert_false(is_new(99));
	assert_int_equal(numbered.duplicates, 3);
	assert_int_equal(numbered.reordered, 3);
	assert_int_equal(numbered.received, 7);
	assert_int_equal(numbered.stale, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_are_as_vouched),
		cmocka_unit_test(a_row_is_judged_as_its_frames),
		cmocka_unit_test(duplicates_in_the_window),
	};
	seed_random("nicsim_gen");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
