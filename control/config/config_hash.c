/*
 * The hash of the running configuration. It identifies the configuration in the report of a
 * failure, and compares two machines, or a machine and a file. It is SipHash-2-4 with an all-zero
 * key, of the text that config_print writes and `show running-config` shows.
 *
 * Hashing a million routes takes a second. The work is done in slices, when the machine starts and
 * after each commit; there is no hash meanwhile.
 */
#include "runtime/runtime.h"
#include "control/config/config.h"
#include "control/config/config_hash.h"
#include "control/config/running.h"
#include "runtime/events.h"
#include "lib/siphash.h"

#define SLICE_NS 500000ull

static struct {
	bool begun, done;
	uint32_t number; /* running.number of the hashed configuration */
	struct config_cursor at;
	struct siphash24 hash;
} hashing;

static void add(void *ctx, const char *text, size_t len)
{
	siphash24_add(ctx, text, len);
}

static void begin(void)
{
	static const struct siphash_key key; /* no secret: anybody may compute the hash again */
	hashing.begun = true;
	hashing.done = false;
	hashing.number = running.number;
	hashing.at = (struct config_cursor){0};
	hashing.hash = siphash24_begin(&key);
}

uint64_t config_hash_timer(void)
{
	if (!hashing.begun || hashing.number != running.number)
		begin();
	if (hashing.done)
		return UINT64_MAX;
	uint64_t end = clock_tsc() + clock_ticks(&self.clock, SLICE_NS);
	while (config_print_next(&running.config, &hashing.at, add, &hashing.hash))
		if (clock_tsc() > end)
			return core_now_ns();
	hashing.done = true;
	const uint64_t hash = siphash24_end(&hashing.hash);
	core_note_config(hash);
	core_event(EVENT_configuration, hashing.number, hash);
	return UINT64_MAX;
}
