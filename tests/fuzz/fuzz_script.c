/*
 * Scripts of the generator (tools/pktgen/script/script.h), the input as it is. The result is either one
 * error with a line of the text, or a plan that script_print prints and script_parse reads back
 * unchanged, and of which every stream can be built. A patched frame equals one that is built for
 * the same number; numbers are taken from the text.
 */
#include "tests/fuzz/input.h"
#include "tests/host/plan_lines.h"

#include "tools/pktgen/frames/frames.h"
#include "tools/pktgen/script/script.h"

#define BUFS 3

static char printed[256 * 1024];
static size_t printed_len;

static void collect(void *ctx, const char *text, size_t len)
{
	(void)ctx;
	assert(len < 200 && printed_len + len < sizeof printed);
	memcpy(printed + printed_len, text, len);
	printed_len += len;
}

static void check_error(const struct text_error *e, const uint8_t *text, size_t len)
{
	uint32_t lines = 1;
	for (size_t i = 0; i < len; i++)
		lines += text[i] == '\n';
	assert(e->line >= 1 && e->line <= lines);
	assert(strlen(e->reason) > 10 && strlen(e->reason) < sizeof e->reason - 1);
	assert(strlen(e->word) < sizeof e->word);
}

static void check_stream(const struct plan_stream *s, uint64_t n)
{
	static const uint8_t mac[6] = {2, 0, 0, 0, 0, 1};
	static struct frames f;
	uint8_t *buf[BUFS], *want;
	uint16_t lens[BUFS];
	assert(frames_init(&f, s, mac, mac, 3, 1, 5) == E_OK);
	want = malloc(frames_len_max(&f));
	for (unsigned i = 0; i < BUFS; i++) {
		buf[i] = malloc(frames_len_max(&f));
		frames_make(&f, buf[i], i, 0);
	}
	frames_patch(&f, buf, BUFS, n, 77);
	frames_lens(&f, n, BUFS, lens);
	for (unsigned i = 0; i < BUFS; i++) {
		assert(frames_make(&f, want, n + i, 77) == lens[i]);
		assert(memcmp(want, buf[i], lens[i]) == 0);
		free(buf[i]);
	}
	free(want);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct plan plan, again, empty;
	struct text_error error;
	uint8_t *copy = exactly(data, size);
	int r = script_parse((const char *)copy, size, &plan, &error);
	if (r != 0) {
		check_error(&error, copy, size);
		assert(memcmp(&plan, &empty, sizeof plan) == 0);
		free(copy);
		return 0;
	}
	uint64_t n = 0;
	for (size_t i = 0; i < size; i++)
		n = n * 31 + copy[i];
	free(copy);
	for (unsigned i = 0; i < plan.streams; i++)
		if (plan.stream[i].replay.file[0] == 0)
			check_stream(&plan.stream[i], n >> 8);
	printed_len = 0;
	script_print(&plan, collect, NULL);
	assert(script_parse(printed, printed_len, &again, &error) == 0);
	forget_lines(&plan);
	forget_lines(&again);
	assert(memcmp(&plan, &again, sizeof plan) == 0);
	script_check_ports(&plan, (unsigned)(n % SCRIPT_PORTS_MAX), &error);
	return 0;
}
