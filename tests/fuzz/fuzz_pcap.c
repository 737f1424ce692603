/*
 * Captures (tools/pktgen/frames/pcap.h, replay.h), the input as the file. Either it is refused with a
 * reason, or every frame that was counted is laid out whole and in order, with its zeros before it,
 * and with gaps that add up to the cycle.
 */
#include "tests/fuzz/input.h"

#include "tools/pktgen/frames/replay.h"

static void check_frames(const struct replay *t, const uint8_t *memory, const struct replay_count *c)
{
	static const uint8_t none[REPLAY_ROOM];
	uint64_t bytes = 0, ns = 0;
	for (uint32_t i = 0; i < t->frames; i++) {
		const uint8_t *data = replay_data(t, i);
		unsigned len = t->frame[i].len;
		assert(len >= 60 && len <= t->len_max && t->len_max <= 9216);
		assert(memcmp(data - REPLAY_ROOM, none, REPLAY_ROOM) == 0);
		assert(data + len <= memory + c->memory);
		assert(t->frame[i].ns == ns);
		bytes += len;
		ns += replay_gap_ns(t, i);
	}
	assert(bytes == t->bytes && ns == t->round_ns && ns >= c->ns);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t mac[6] = {2, 0, 0, 0, 0, 1};
	struct replay_count c;
	struct replay t;
	uint8_t *copy = exactly(data, size);
	if (replay_measure(copy, size, &c) != E_OK) {
		assert(strlen(c.why) > 10);
	} else {
		uint8_t *memory = aligned_alloc(REPLAY_ALIGN, c.memory);
		replay_lay(&t, memory, copy, size, &c, size & 1 ? mac : NULL, size & 2 ? mac : NULL);
		check_frames(&t, memory, &c);
		free(memory);
	}
	free(copy);
	return 0;
}
